//! Waits for futexes, by which the C++ library makes `std::future`, `std::latch`, `std::barrier`, `std::counting_semaphore` and the
//! waits of atomics: they split blocks. What is there already is not waited for, and splits none.
//!
//! Locks wait for futexes, too, and splitting there would hide what is wrong. Those of libc make no call that is seen here; others mostly
//! use another operation than the C++ library. `syscall` itself must not have a frame of ours around it: `vfork` returns twice.

use core::arch::naked_asm;
use core::ffi::c_long;

use super::synchronise;
use crate::real::Real;
use crate::ring::Kind;

static SYSCALL: Real = Real::new(c"syscall", None);

const FUTEX: c_long = 202;
const WAIT: usize = 0;
const WAIT_BITSET: usize = 9;
const PRIVATE: usize = 128;
const REAL_TIME: usize = 256;

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn syscall() {
    naked_asm!(
        "mov rax, [rip + {real}]",
        "test rax, rax",
        "jnz 2f",
        "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9",
        "sub rsp, 8",
        "call {look_up}",
        "add rsp, 8",
        "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
        "2:",
        "cmp rdi, {futex}",
        "je {body}",
        "jmp rax",
        real = sym SYSCALL, look_up = sym look_up, futex = const FUTEX, body = sym futex,
    )
}

extern "C" fn look_up() -> usize {
    SYSCALL.look_up() as usize
}

type Call = unsafe extern "C" fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long;

/// The last argument is on the stack, as it would be for `syscall`.
unsafe extern "C" fn futex(
    number: c_long,
    word: usize,
    operation: usize,
    value: usize,
    time: usize,
    other: usize,
    last: usize,
) -> c_long {
    // SAFETY: the caller's arguments.
    let result = unsafe { SYSCALL.function::<Call>()(number, word, operation, value, time, other, last) };
    const WAIT_PRIVATE: usize = WAIT | PRIVATE;
    const WAIT_UNTIL: usize = WAIT_BITSET | REAL_TIME;
    if matches!(operation, WAIT | WAIT_PRIVATE | WAIT_UNTIL) {
        synchronise(Kind::Split, word, 0);
    }
    result
}
