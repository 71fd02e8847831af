//! Functions and annotations as blocks.
//!
//! Two compilers' hooks end here. `-fsanitize=thread` calls `__tsan_func_entry` with the *caller's* return address, so the
//! function itself is known only by where the hook returns to; inlined functions have none. `-finstrument-functions` names
//! the function and survives inlining.
//!
//! A block may be left without a word (`longjmp`). So a frame keeps its stack pointer, and frames below the present one
//! are dead.

use core::arch::naked_asm;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU64, Ordering};

use atomvet_live::blocks::Call;
use atomvet_live::engine::Engine;
use atomvet_live::table::Table;

use crate::ring::{Block, LOW};
use crate::thread::{self, Thread};
use crate::{process, recording, reloaded, stream};

/// Enters a block, in a frame at `stack`.
#[inline(always)]
pub(crate) fn enter(block: u64, stack: usize, place: usize) {
    let Some(thread) = Thread::recording() else { return };
    let Some(engine) = process::engine() else { return };
    let done = thread.at_work(|thread| {
        if (thread.checked().blocks().innermost_stack() as usize) < stack {
            drop_dead(engine, thread, stack);
        }
        recording::entering(thread, block, place);
        let function = reloaded::told_apart(block);
        engine.begin(thread.checked(), &Call { function, site: place as u64, stack: stack as u64 });
    });
    // Its end will find the same: a signal handler is over before the work that it interrupted goes on.
    if done.is_none() {
        stream::count_lost_in_handler();
    }
}

/// Does something with the open blocks of a thread.
#[inline(always)]
fn change(thread: &Thread, something: impl FnOnce(&'static Engine<Table>, &Thread)) {
    if let Some(engine) = process::engine() {
        thread.at_work(|thread| something(engine, thread));
    }
}

/// Leaves the innermost block.
#[inline(always)]
pub(crate) fn leave(thread: &Thread) {
    change(thread, |engine, thread| engine.end(thread.checked()));
}

/// Takes frames away that stand below `stack`: whatever was there has been left.
#[cold]
#[inline(never)]
fn drop_dead(engine: &Engine<Table>, thread: &Thread, stack: usize) {
    // On another stack (a signal's, a coroutine's) nothing can be said.
    let own = thread.stack();
    if !own.contains(&stack) {
        return;
    }
    while let Some(call) = thread.checked().blocks().innermost()
        && (call.stack as usize) < stack
        && own.contains(&(call.stack as usize))
    {
        engine.end(thread.checked());
    }
}

/// The thread goes on at a place further up its stack. If a signal handler leaves for it that has interrupted this library, that
/// work is not finished.
pub(crate) fn jump(stack: usize) {
    if let Some(thread) = thread::current() {
        thread.abandon_work();
        change(thread, |engine, thread| drop_dead(engine, thread, stack));
    }
}

/// All blocks end with their thread.
pub(crate) fn leave_all(thread: &Thread) {
    change(thread, |engine, thread| {
        while thread.checked().has_open_blocks() {
            engine.end(thread.checked());
        }
    });
}

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
    change(thread, |engine, thread| {
        if let Some(innermost) = thread.checked().blocks().innermost()
            && innermost.site as usize != returns_to
        {
            if (innermost.stack as usize) < stack {
                drop_dead(engine, thread, stack);
            }
            leave_annotations(engine, thread);
        }
        engine.end(thread.checked());
    });
}

/// An annotation ends with its function at the latest.
#[inline(always)]
fn leave_annotations(engine: &Engine<Table>, thread: &Thread) {
    while let Some(call) = thread.checked().blocks().innermost()
        && call.function >> 48 == Block::Label as u64
    {
        engine.end(thread.checked());
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
    let block = reloaded::told_apart((Block::Function as u64) << 48 | function as u64 & LOW);
    change(thread, |engine, thread| match thread.checked().blocks().innermost() {
        Some(call) if call.function != block => leave_until(engine, thread, |other| other == block),
        _ => engine.end(thread.checked()),
    });
}

/// Leaves everything from the innermost block on that is meant. Nothing happens if there is no such block: it was entered unseen.
#[cold]
#[inline(never)]
fn leave_until(engine: &Engine<Table>, thread: &Thread, is_meant: impl Fn(u64) -> bool) {
    let blocks = thread.checked().blocks();
    let told_apart = blocks.depth().min(atomvet_live::blocks::DEEPEST);
    let Some(found) = (0..told_apart).rev().find(|&frame| is_meant(blocks.function(frame))) else { return };
    while blocks.depth() > found {
        engine.end(thread.checked());
    }
}

/// `ATOMVET_BEGIN` of `atomvet.h`.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn atomvet_begin(label: *const c_char) {
    naked_asm!("mov rsi, [rsp]", "lea rdx, [rsp + 8]", "jmp {}", sym annotation_entered)
}

unsafe extern "C" fn annotation_entered(label: *const c_char, place: usize, stack: usize) {
    if Thread::recording().is_none() {
        return;
    }
    // SAFETY: the header asks for a string.
    let text = if label.is_null() { b"" } else { unsafe { CStr::from_ptr(label) }.to_bytes() };
    enter((Block::Label as u64) << 48 | known_label(text), stack, place);
}

/// Labels whose text is in the table, by hash.
static KNOWN_LABELS: [AtomicU64; 4096] = [const { AtomicU64::new(0) }; 4096];

/// The hash of a label, whose text is made known.
fn known_label(text: &[u8]) -> u64 {
    let hash = text.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let hash = (hash ^ hash >> 48) & LOW | 1;
    let known = &KNOWN_LABELS[hash as usize % KNOWN_LABELS.len()];
    if known.load(Ordering::Acquire) != hash
        && let Some(engine) = process::engine()
    {
        engine.findings.add_label(hash, text);
        recording::label(hash, text);
        known.store(hash, Ordering::Release);
    }
    hash
}

/// A new process has a new table, which has no labels yet.
pub(crate) fn forget_labels() {
    KNOWN_LABELS.iter().for_each(|known| known.store(0, Ordering::Relaxed));
}

/// `ATOMVET_END`: ends the innermost annotation, and whatever was left without a word inside it.
#[unsafe(no_mangle)]
unsafe extern "C" fn atomvet_end() {
    if let Some(thread) = Thread::recording() {
        change(thread, |engine, thread| {
            leave_until(engine, thread, |block| block >> 48 == Block::Label as u64);
        });
    }
}

/// `ATOMVET_HINT_READ`: what is read until the counterpart decides nothing, because it is read again under a lock.
#[unsafe(no_mangle)]
extern "C" fn atomvet_hint_begin() {
    if let Some(thread) = Thread::recording() {
        thread.ignore(true);
    }
}

/// The end of a hint read.
#[unsafe(no_mangle)]
extern "C" fn atomvet_hint_end() {
    if let Some(thread) = thread::current() {
        thread.ignore(false);
    }
}
