//! Blocks: a stack of those that are open per thread, nothing else until something is recorded inside.
//!
//! A native block may be left without a word (`longjmp`, and so may other things). So a frame keeps its stack pointer, and
//! frames below the present one are dead.

use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use crate::ring::{Kind, LOW};
use crate::thread::{self, FRAMES, Frame, Thread};
use crate::{late, shadow, stream};

/// The innermost open block, unless it is deeper than what is kept or there is none.
#[inline(always)]
pub fn innermost(thread: &Thread) -> Option<Frame> {
    if thread.depth.wrapping_sub(1) < FRAMES {
        // SAFETY: the first `depth` frames are there.
        Some(unsafe { *thread.frames.add(thread.depth - 1) })
    } else {
        None
    }
}

/// A block is left that is deeper than what is kept.
#[cold]
#[inline(never)]
pub fn overflow_left(thread: &mut Thread) {
    thread.depth = thread.depth.saturating_sub(1);
}

/// Enters a block, in a frame at `stack`; see [`Frame::place`]. The usual case calls nothing before it returns, so that nothing need
/// be saved.
#[inline(always)]
pub fn enter(block: u64, stack: usize, place: usize) {
    match thread::current() {
        Some(thread) if is_usual(thread, block, stack) => push(thread, block, stack, place),
        _ => enter_slowly(block, stack, place),
    }
}

/// Whether all that there is to do is to remember the block.
#[inline(always)]
fn is_usual(thread: &Thread, block: u64, stack: usize) -> bool {
    // There is a block around it, and room for one more.
    thread.depth.wrapping_sub(1) < FRAMES - 1
        // SAFETY: the first `depth` frames are there.
        && unsafe { (*thread.frames.add(thread.depth - 1)).stack } >= stack
        && (thread.depth > 1 || thread.introduced != 0)
        && is_known_here(block)
}

#[cold]
#[inline(never)]
fn enter_slowly(block: u64, stack: usize, place: usize) {
    let Some(thread) = Thread::recording() else { return };
    if let Some(frame) = innermost(thread)
        && frame.stack < stack
    {
        drop_dead(thread, stack);
    }
    let depth = thread.depth;
    if depth >= FRAMES {
        thread.new_period();
        thread.depth = depth + 1;
        return;
    }
    push(thread, block, stack, place);
    if depth == 1 && thread.introduced == 0 || !is_known(block) {
        introduce(thread);
    }
}

#[inline(always)]
fn push(thread: &mut Thread, block: u64, stack: usize, place: usize) {
    let key = thread.key;
    match thread.next_key() {
        Some(entered) => {
            thread.key = entered;
            add_frame(thread, block, stack, place, key);
        }
        None => push_under_another_index(thread, block, stack, place, key),
    }
}

/// Enters a block for which there was no number left.
#[cold]
#[inline(never)]
fn push_under_another_index(thread: &mut Thread, block: u64, stack: usize, place: usize, key: u64) {
    thread.use_up_index();
    add_frame(thread, block, stack, place, key);
}

/// Adds a frame for a block that begins with the thread's period; `key` is that before.
#[inline(always)]
fn add_frame(thread: &mut Thread, block: u64, stack: usize, place: usize, key: u64) {
    let (depth, entered) = (thread.depth, thread.key);
    let frame = Frame { block, stack, place, key, entered, bare_count: u64::from(thread.bare_count) };
    // In this order: another thread that looks at this one now finds the new period in no block yet (`act_for` in
    // `late.rs`); and a signal handler that came in between has used the room, perhaps when half of the frame was
    // written. It began a period of its own, which shows in the newest one; this block begins after that.
    // SAFETY: there is room for so many; and the thread's own field, which a signal handler may have changed.
    unsafe {
        thread.frames.add(depth).write(frame);
        compiler_fence(Ordering::SeqCst);
        thread.depth = depth + 1;
        compiler_fence(Ordering::SeqCst);
        if (&raw const thread.newest).read_volatile() != entered {
            enter_again(thread, block, stack, place, key);
        }
    }
}

/// Enters the innermost block once more, after what a signal handler did meanwhile.
#[cold]
#[inline(never)]
fn enter_again(thread: &mut Thread, block: u64, stack: usize, place: usize, key: u64) {
    thread.new_period();
    let frame =
        Frame { block, stack, place, key, entered: thread.key, bare_count: u64::from(thread.bare_count) };
    // SAFETY: there are so many.
    unsafe { thread.frames.add(thread.depth - 1).write_volatile(frame) };
}

/// Functions that were announced once, by where they would be in a table without collisions.
static KNOWN_FUNCTIONS: [AtomicU64; FUNCTIONS + PLACES] = [const { AtomicU64::new(0) }; FUNCTIONS + PLACES];
const FUNCTIONS: usize = 1 << 16;
/// How many places a function may be at. Beyond, it counts as known.
const PLACES: usize = 4;

#[inline(always)]
fn function_place(block: u64) -> usize {
    (block ^ block >> 16) as usize % FUNCTIONS
}

#[inline(always)]
fn is_known_here(block: u64) -> bool {
    KNOWN_FUNCTIONS[function_place(block)].load(Ordering::Relaxed) == block
}

fn is_known(block: u64) -> bool {
    is_known_here(block) || is_known_elsewhere(block)
}

#[inline(never)]
fn is_known_elsewhere(block: u64) -> bool {
    for place in &KNOWN_FUNCTIONS[function_place(block)..][..PLACES] {
        match place.compare_exchange(0, block, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return false,
            Err(there) if there == block => return true,
            Err(_) => {}
        }
    }
    true
}

/// A thread that works on its own for ever would never be heard of, nor would a function in which nothing happens that
/// concerns others: the first block of each is announced.
#[cold]
#[inline(never)]
fn introduce(thread: &mut Thread) {
    thread.introduced = 1;
    if shadow::enter(thread) {
        stream::record(thread, Kind::Nothing, 0, 0, 0);
        thread.busy = 0;
    }
}

/// Takes frames away that stand below `stack`: whatever was there has been left.
#[cold]
#[inline(never)]
pub fn drop_dead(thread: &mut Thread, stack: usize) {
    // On another stack (a signal's, a coroutine's) nothing can be said.
    let known = |pointer: usize| (thread.stack_low..thread.stack_high).contains(&pointer);
    if !known(stack) {
        return;
    }
    while let Some(frame) = innermost(thread)
        && frame.stack < stack
        && (thread.stack_low..thread.stack_high).contains(&frame.stack)
    {
        leave(thread);
    }
}

/// The thread goes on at a place further up its stack.
pub fn jump(stack: usize) {
    if let Some(thread) = thread::current() {
        drop_dead(thread, stack);
    }
}

/// Leaves the innermost block.
#[inline(always)]
pub fn leave(thread: &mut Thread) {
    let Some(frame) = innermost(thread) else { return overflow_left(thread) };
    // SAFETY: the thread's own field, which others write.
    let by_other = unsafe { (&raw const thread.announced_by_other).read_volatile() };
    let is_announced = frame.entered <= by_other || thread.announced >= thread.depth;
    let has_received = frame.entered < thread.received && u64::from(thread.bare_count) > frame.bare_count;
    if is_announced || has_received {
        return leave_recorded(thread, &frame);
    }
    pop(thread, &frame);
}

/// Leaves the innermost block, which may be announced, or be because of what was accessed in it after something was received.
#[inline(never)]
fn leave_recorded(thread: &mut Thread, frame: &Frame) {
    if thread.bare_count > 0 && thread.busy == 0 {
        thread.busy = 1;
        late::record_bare(thread);
        thread.busy = 0;
    }
    // If it was announced, so were those around it, whoever did it.
    thread.announced = thread.announced_in_effect().min(thread.depth - 1);
    pop(thread, frame);
}

#[inline(always)]
fn pop(thread: &mut Thread, frame: &Frame) {
    let depth = thread.depth - 1;
    compiler_fence(Ordering::SeqCst);
    thread.depth = depth;
    compiler_fence(Ordering::SeqCst);
    // A signal handler may have announced it meanwhile.
    if thread.announced > depth {
        thread.announced = depth;
    }
    thread.key = frame.key.max(thread.received);
    thread.bare_count = thread.bare_count.min(frame.bare_count as u32);
}

/// All blocks end with their thread.
pub fn leave_all(thread: &mut Thread) {
    while thread.depth > 0 {
        leave(thread);
    }
}

/// Labels whose text was recorded, by hash.
static KNOWN_LABELS: [AtomicU64; 4096] = [const { AtomicU64::new(0) }; 4096];

/// A new process has a new ring, which has no labels yet.
pub fn forget_labels() {
    for known in KNOWN_LABELS.iter().chain(&KNOWN_FUNCTIONS) {
        known.store(0, Ordering::Relaxed);
    }
}

/// Makes the text of a label known, unless it is; says by which hash.
pub fn make_known(thread: &mut Thread, text: &[u8]) -> u64 {
    let hash = text.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let hash = (hash ^ hash >> 48) & LOW | 1;
    let known = &KNOWN_LABELS[hash as usize % KNOWN_LABELS.len()];
    if known.load(Ordering::Acquire) != hash && shadow::enter(thread) {
        stream::record_label(thread, hash, text);
        known.store(hash, Ordering::Release);
        thread.busy = 0;
    }
    hash
}
