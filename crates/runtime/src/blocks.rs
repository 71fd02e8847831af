//! Functions and annotations as blocks.
//!
//! Two compilers' hooks end here. `-fsanitize=thread` calls `__tsan_func_entry` with the *caller's* return
//! address, so that the function itself is known only by where the hook returns to; inlined functions have
//! none. `-finstrument-functions` names the function and survives inlining.
//!
//! `longjmp` leaves without a word: see `interpose/jumps.rs`.

use core::arch::naked_asm;
use core::ffi::{CStr, c_char};

use atomvet_recorder::blocks::{drop_dead, enter, innermost, leave, make_known, overflow_left};

use crate::ring::{Block, LOW};
use crate::thread::{self, FRAMES, Thread};

/// The hook of `-fsanitize=thread`. Its stack pointer is that of the function, plus the return address.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn __tsan_func_entry(caller: usize) {
    naked_asm!("mov rsi, [rsp]", "lea rdx, [rsp + 8]", "jmp {}", sym function_entered)
}

unsafe extern "C" fn function_entered(caller: usize, inside: usize, stack: usize) {
    enter((Block::Inside as u64) << 48 | inside as u64 & LOW, stack, caller);
}

/// Its counterpart. Compilers may jump here instead of calling: then it returns to the function's caller.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn __tsan_func_exit() {
    naked_asm!("mov rdi, [rsp]", "lea rsi, [rsp + 8]", "jmp {}", sym function_left)
}

unsafe extern "C" fn function_left(returns_to: usize, stack: usize) {
    let Some(thread) = thread::current() else { return };
    let Some(innermost) = innermost(thread) else { return overflow_left(thread) };
    if innermost.place != returns_to {
        drop_dead(thread, stack);
        leave_annotations(thread);
    }
    leave(thread);
}

/// An annotation ends with its function at the latest.
#[inline(always)]
fn leave_annotations(thread: &mut Thread) {
    while let Some(frame) = innermost(thread)
        && frame.block >> 48 == Block::Label as u64
    {
        leave(thread);
    }
}

/// The hook of `-finstrument-functions`.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn __cyg_profile_func_enter(function: usize, caller: usize) {
    naked_asm!("lea rdx, [rsp + 8]", "jmp {}", sym named_function_entered)
}

unsafe extern "C" fn named_function_entered(function: usize, caller: usize, stack: usize) {
    enter((Block::Function as u64) << 48 | function as u64 & LOW, stack, caller);
}

/// Its counterpart.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cyg_profile_func_exit(function: usize, _caller: usize) {
    let Some(thread) = thread::current() else { return };
    let Some(frame) = innermost(thread) else { return overflow_left(thread) };
    let block = (Block::Function as u64) << 48 | function as u64 & LOW;
    if frame.block == block || leave_until(thread, block) {
        leave(thread);
    }
}

/// Frames above the function that is left are dead. False if it was entered unseen.
#[cold]
#[inline(never)]
fn leave_until(thread: &mut Thread, block: u64) -> bool {
    let open = thread.depth;
    // SAFETY: the first `depth` frames are there.
    let found = (0..open).rev().find(|&i| unsafe { (*thread.frames.add(i)).block } == block);
    let Some(found) = found else { return false };
    while thread.depth > found + 1 {
        leave(thread);
    }
    true
}

/// `ATOMVET_BEGIN` of `atomvet.h`.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn atomvet_begin(label: *const c_char) {
    naked_asm!("mov rsi, [rsp]", "lea rdx, [rsp + 8]", "jmp {}", sym annotation_entered)
}

unsafe extern "C" fn annotation_entered(label: *const c_char, place: usize, stack: usize) {
    let Some(thread) = Thread::recording() else { return };
    // SAFETY: the header asks for a string.
    let text = if label.is_null() { b"" } else { unsafe { CStr::from_ptr(label) }.to_bytes() };
    let hash = make_known(thread, text);
    enter((Block::Label as u64) << 48 | hash, stack, place);
}

/// `ATOMVET_END`: ends the innermost annotation, and whatever was left without a word inside it.
#[unsafe(no_mangle)]
unsafe extern "C" fn atomvet_end() {
    let Some(thread) = Thread::recording() else { return };
    // SAFETY: the first `depth` frames are there.
    let is_label = |i: &usize| unsafe { (*thread.frames.add(*i)).block } >> 48 == Block::Label as u64;
    if let Some(found) = (0..thread.depth.min(FRAMES)).rev().find(is_label) {
        while thread.depth > found {
            leave(thread);
        }
    }
}

/// `ATOMVET_HINT_READ`: what is read until the counterpart decides nothing, because it is read again under a
/// lock.
#[unsafe(no_mangle)]
extern "C" fn atomvet_hint_begin() {
    if let Some(thread) = Thread::recording() {
        thread.ignoring += 1;
    }
}

/// The end of a hint read.
#[unsafe(no_mangle)]
extern "C" fn atomvet_hint_end() {
    if let Some(thread) = thread::current() {
        thread.ignoring = thread.ignoring.saturating_sub(1);
    }
}
