//! `longjmp` and exceptions: functions that they leave end without a word. Where a jump goes is in its argument, as glibc writes it.

use core::arch::{asm, naked_asm};
use core::ffi::c_int;

use crate::real::real;

/// Leaves all functions below the one that called `setjmp`.
fn leave_below(environment: *const u64) {
    /// Where glibc keeps the stack pointer in a `jmp_buf`.
    const STACK_POINTER: usize = 6;
    let guard: u64;
    // SAFETY: a `jmp_buf` is longer than that; glibc's guard is at a fixed place of the thread's control block.
    let mangled = unsafe {
        asm!("mov {}, qword ptr fs:[0x30]", out(reg) guard, options(nostack, readonly, pure));
        *environment.add(STACK_POINTER)
    };
    atomvet_recorder::blocks::jump((mangled.rotate_right(0x11) ^ guard) as usize);
}

macro_rules! jumps {
    ($($function:ident $name:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $function(environment: *const u64, value: c_int) {
                leave_below(environment);
                // SAFETY: the caller's arguments. Nothing here has a destructor.
                unsafe { real!($name: fn(*const u64, c_int))(environment, value) }
            }
        )*
    };
}

jumps! {
    longjmp c"longjmp";
    _longjmp c"_longjmp";
    siglongjmp c"siglongjmp";
    __longjmp_chk c"__longjmp_chk";
}

/// An exception is caught: functions that it has passed, and that had nothing to clean up, may not have said so.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn __cxa_begin_catch(exception: usize) -> usize {
    naked_asm!("lea rsi, [rsp + 8]", "jmp {}", sym begin_catch)
}

extern "C" fn begin_catch(exception: usize, stack: usize) -> usize {
    atomvet_recorder::blocks::jump(stack);
    // SAFETY: the caller's argument.
    unsafe { real!(c"__cxa_begin_catch": fn(usize) -> usize)(exception) }
}
