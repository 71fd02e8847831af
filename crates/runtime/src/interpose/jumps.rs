//! `longjmp`: functions that it leaves end without a word. Where it goes is in its argument, as glibc writes it.

use core::arch::asm;
use core::ffi::c_int;

use crate::blocks;
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
    blocks::jump((mangled.rotate_right(0x11) ^ guard) as usize);
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
