//! What is recorded of locks: that one changed hands and its new owner learned something.
//!
//! Taking a lock puts a thread behind whoever gave it back last. If that was the thread itself, or another one behind whose
//! period of then it is already, nothing is new. Otherwise a record says behind which period it comes now. The taking itself is
//! *silent* in any case, and so is the giving-back that belongs to it.
//!
//! All that may ever be asked about a silent one is where it stands among the records of its thread. Between two things that the
//! thread receives that is all the same, as long as the same blocks are open: one record, a *mark*, stands for all of them. The
//! thread makes it before it receives something or announces a block that it entered since. Who takes the lock before that
//! makes the mark on behalf of the thread. A block that is left meanwhile does not need it: all that comes before the block came
//! before the silent one, so whether that is the last thing in the block or the first after it is all the same to everybody. In the same
//! way a thread says that it comes behind another before those of its blocks that have nothing on record yet.
//!
//! ```text
//! T1   [ take L  give back L ]   [ take M  give back M ]        (mark)  receives …
//! T2                                                                    … take L: behind the mark; take M: not new
//! ```
//!
//! For every lock a word of the filter's memory says who gave it back last:
//!
//! ```text
//! word = index (12) | period (28) | (18) | never silent (1) | times taken (4) | recorded (1)
//! ```
//!
//! Only its owner writes it. The first few times that a lock is taken and given back are recorded as such: reports about small programs
//! tell of locks, not of marks. So are those before and after a thread waits for a condition.

use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use crate::ring::Kind;
use crate::stream::{self, Behalf, MOST_BLOCKS};
use crate::sys;
use crate::thread::{self, FRAMES, Frame, INDEX_SHIFT, SILENT, STEP, Thread, UNMARKED};
use crate::{late, planes, shadow};

/// The giving-back has a record of its own.
const RECORDED: u64 = 1;
const TIME: u64 = 2;
const TIMES: u64 = 15 * TIME;
const ALWAYS: u64 = 32;

/// How often a lock is taken before it may be silent.
static PATIENCE: AtomicU64 = AtomicU64::new(8 * TIME);
/// How much more often a thread takes locks over before it matters no more in which function.
const TOLD: u64 = 128;

/// Locks may be silent from the start: for tests, which are short.
pub fn have_no_patience() {
    PATIENCE.store(0, Ordering::Relaxed);
}

/// A period, as it is told to the command: index and number in 32 bits each.
fn told(key: u64) -> u64 {
    let period = (key & ((1 << INDEX_SHIFT) - 1)) / STEP;
    (thread::index_of(key) as u64) << 32 | period
}

/// The running thread has taken a lock, exclusively.
#[inline]
pub fn taken(thread: &mut Thread, lock: usize, place: usize) {
    thread.locks += 1;
    let last = planes::word_of_lock(lock).load(Ordering::Relaxed);
    let is_behind = is_behind(thread, last);
    let silent = thread.silent_count as usize;
    if may_be_silent(last) && silent < SILENT && (is_behind || last & RECORDED == 0) {
        if !is_behind {
            come_behind(thread, last, false, place);
        }
        thread.silent[silent] = lock;
        thread.silent_count += 1;
        return;
    }
    come_behind(thread, last, is_behind, place);
    stream::record(thread, Kind::Acquire, 0, lock as u64, place);
}

/// Whether a lock may be taken without a record.
#[inline(always)]
fn may_be_silent(last: u64) -> bool {
    is_well_known(last) && last & ALWAYS == 0 && !shadow::records_all()
}

/// The running thread, which waited for a condition, has the lock again: its next record says so, but not after what.
pub fn waited(thread: &mut Thread, lock: usize, place: usize) {
    let last = planes::word_of_lock(lock).load(Ordering::Relaxed);
    if !is_behind(thread, last) {
        come_behind(thread, last, false, place);
    }
}

/// The thread receives what whoever gave a lock back last has done.
fn come_behind(thread: &mut Thread, last: u64, is_behind: bool, place: usize) {
    late::record_bare(thread);
    thread.receive();
    let is_on_record = come_behind_period(thread, last, is_behind || last & RECORDED != 0, place);
    if is_on_record && is_well_known(last) {
        // What the lock protects needs no records besides.
        thread.heard.note(last);
    }
}

/// Whether a lock was taken so often that reports have enough of it, and of what it protects.
#[inline(always)]
fn is_well_known(last: u64) -> bool {
    last & TIMES >= PATIENCE.load(Ordering::Relaxed)
}

/// A thread that receives something just now comes behind a period of another's: by its mark, unless by some record. False if
/// neither is to be had.
pub(crate) fn come_behind_period(thread: &mut Thread, period: u64, by_record: bool, place: usize) -> bool {
    if !by_record {
        if !is_marked(period) {
            return false;
        }
        thread.keep_others_out();
        let open = blocks_for_handover(thread);
        stream::record_in(thread, open, Kind::Behind, 0, told(period), place);
        thread.let_others();
    }
    thread.behind.note(period);
    true
}

/// In how many of the open blocks a handover is recorded. It would be the first thing on record in those that are not announced, and may
/// as well be the last one before them: whoever comes after something in them comes after this, and what comes before it does not come
/// after anything in them. But the first ones are recorded where they are, because reports tell in which function that was; and so are
/// those in many blocks, or else there would be too many for anybody else to announce.
fn blocks_for_handover(thread: &mut Thread) -> usize {
    let (all, announced) = (thread.depth.min(FRAMES), thread.announced_in_effect());
    let is_told = u64::from(thread.handovers) * TIME < PATIENCE.load(Ordering::Relaxed) * TOLD;
    thread.handovers += u32::from(is_told);
    if is_told || all.saturating_sub(announced) > MOST_BLOCKS / 2 { all } else { announced }
}

/// A lock is never to be silent.
pub fn always_record(lock: usize) {
    planes::summarise_lock(lock);
    planes::word_of_lock(lock).fetch_or(ALWAYS, Ordering::Relaxed);
}

/// The running thread is about to give a lock back that it holds exclusively.
#[inline]
pub fn given_back(thread: &mut Thread, lock: usize, place: usize) {
    thread.locks = thread.locks.saturating_sub(1);
    let word = planes::word_of_lock(lock);
    let before = word.load(Ordering::Relaxed);
    let times = (before & TIMES) + TIME;
    let mut now = thread.key | before & ALWAYS | times.min(TIMES);
    let is_silent = forget_silent(thread, lock);
    if !is_silent {
        stream::record(thread, Kind::Release, 0, lock as u64, place);
    }
    if is_silent || may_be_silent(now) {
        // Who takes it next needs a mark, and then no record.
        leave_out(thread, place);
    } else {
        now |= RECORDED;
    }
    planes::summarise_lock(lock);
    word.store(now, Ordering::Relaxed);
}

/// The running thread is about to give a lock back to wait for a condition, which is always on record.
pub fn waits(thread: &mut Thread, lock: usize, place: usize) {
    while forget_silent(thread, lock) {
        stream::record(thread, Kind::Acquire, 0, lock as u64, place);
    }
    let word = planes::word_of_lock(lock);
    let kept = word.load(Ordering::Relaxed) & (TIMES | ALWAYS);
    planes::summarise_lock(lock);
    word.store(thread.key | kept | RECORDED, Ordering::Relaxed);
}

/// Whether the thread comes after a giving-back already.
#[inline(always)]
fn is_behind(thread: &Thread, last: u64) -> bool {
    thread::index_of(last) == 0 || thread.owns(last) || shadow::is_after(thread, last)
}

/// Whether the innermost holding of a lock is silent. It is none any more then.
#[inline(always)]
fn forget_silent(thread: &mut Thread, lock: usize) -> bool {
    let silent = &mut thread.silent[..thread.silent_count as usize];
    let is_held = match silent {
        [.., last] if *last == lock => true,
        _ => put_last(silent, lock),
    };
    thread.silent_count -= u32::from(is_held);
    is_held
}

/// Puts the last one of these that is a certain lock behind all others; false if there is none.
#[inline(never)]
fn put_last(silent: &mut [usize], lock: usize) -> bool {
    let Some(at) = silent.iter().rposition(|&silent| silent == lock) else { return false };
    silent[at..].rotate_left(1);
    true
}

/// Something is left out of the records in this period: a mark will be needed.
#[inline]
pub(crate) fn leave_out(thread: &mut Thread, place: usize) {
    let (key, count) = (thread.key, thread.unmarked_count as usize);
    let last = if count == 0 { thread.marked } else { thread.unmarked[count - 1] };
    // Others have made no mark beyond that one; it would take long to look at what they have done.
    if key > last || key < last && !is_marked_up_to(thread, key) {
        note_unmarked(thread);
    }
    thread.left_out_at = place;
}

fn note_unmarked(thread: &mut Thread) {
    // Those for which the same blocks are open by now have one mark. Others who look meanwhile find what was before, or what is
    // after, or a period twice; they keep the thread from nothing but a change of how many there are.
    let count = thread.unmarked_count as usize;
    let open = |at: usize| open_since(thread, thread.unmarked[at]);
    if count > 0 && open(count - 1) == thread.depth.min(FRAMES) {
        thread.unmarked[count - 1] = thread.unmarked[count - 1].max(thread.key);
    } else if count > 1 && open(count - 1) == open(count - 2) {
        thread.unmarked[count - 2] = thread.unmarked[count - 1];
        compiler_fence(Ordering::SeqCst);
        thread.unmarked[count - 1] = thread.key;
    } else {
        add_unmarked(thread);
    }
}

#[inline(never)]
fn add_unmarked(thread: &mut Thread) {
    thread.keep_others_out();
    if thread.unmarked_count as usize == UNMARKED {
        mark(thread);
    }
    let count = thread.unmarked_count as usize;
    thread.unmarked[count] = thread.key;
    thread.unmarked_count += 1;
    thread.let_others();
}

/// How many blocks were open in the period `when` and still are.
fn open_since(thread: &Thread, when: u64) -> usize {
    open_in(thread.frames, thread.depth.min(FRAMES), when)
}

fn open_in(frames: *const Frame, depth: usize, when: u64) -> usize {
    late::open_in(frames, depth, when, depth).unwrap_or(0)
}

/// The same for periods of which older ones come first: fewer blocks, or the same ones, are open since then.
fn open_in_each(frames: *const Frame, depth: usize, periods: &[u64]) -> [usize; UNMARKED] {
    let mut open_in_each = [0; UNMARKED];
    let mut open = depth;
    for (&when, there) in periods.iter().zip(&mut open_in_each).rev() {
        open = open_in(frames, open, when);
        *there = open;
    }
    open_in_each
}

/// Makes the marks that the thread has left out so far.
pub fn mark(thread: &mut Thread) {
    mark_outside(thread, FRAMES);
}

/// Makes those for which at most so many blocks are open.
#[cold]
#[inline(never)]
pub(crate) fn mark_outside(thread: &mut Thread, most: usize) {
    thread.keep_others_out();
    let unmarked = &thread.unmarked[..thread.unmarked_count as usize];
    let open_in_each = open_in_each(thread.frames, thread.depth.min(FRAMES), unmarked);
    let mut open_in_each = &open_in_each[..unmarked.len()];
    while let Some(&open) = open_in_each.first().filter(|&&open| open <= most) {
        // Blocks were left meanwhile: periods for which the same ones are open by now have one mark, of the last of them.
        let count = open_in_each.iter().take_while(|&&other| other == open).count();
        open_in_each = &open_in_each[count..];
        let key = thread.unmarked[count - 1];
        // All of them, because for some a function would be called that has hooks.
        thread.unmarked = core::array::from_fn(|at| *thread.unmarked.get(at + count).unwrap_or(&0));
        thread.unmarked_count -= count as u32;
        // What another thread has announced for this one, it has marked before.
        if !is_marked_up_to(thread, key) && thread.announced_in_effect() <= open {
            let place = if thread.unmarked_count == 0 { thread.left_out_at } else { 0 };
            stream::record_in(thread, open, Kind::Mark, 0, told(key), place);
        }
        compiler_fence(Ordering::SeqCst);
        thread.marked = thread.marked.max(key);
    }
    thread.let_others();
}

#[inline(always)]
fn is_marked_up_to(thread: &Thread, key: u64) -> bool {
    thread.marked.max(thread.marked_by_other.load(Ordering::Relaxed)) >= key
}

/// Whether there is a mark for a period of another thread's, or can be made on its behalf. If not, an order is lost, and counted:
/// because nobody reads records any more, the other thread is in more blocks than are announced at once, or it is kept from
/// running for long in the middle of its own.
#[cold]
#[inline(never)]
fn is_marked(last: u64) -> bool {
    /// So often at once, then with naps of 50 microseconds in between.
    const AT_ONCE: u32 = 1_000;
    const TRIES: u32 = 20_000;
    let key = last & !(STEP - 1);
    let other = thread::of_index(thread::index_of(key));
    for tries in 1..TRIES {
        if stream::header().is_none() || other.is_null() {
            return false;
        }
        // SAFETY: what is known about threads lives for ever; every field is read on its own.
        unsafe {
            let birth = (&raw const (*other).birth).read_volatile();
            let marked = (&raw const (*other).marked).read_volatile();
            let by_other = (*other).marked_by_other.load(Ordering::Relaxed);
            // Who ends, or goes on under another index, makes its marks before.
            if birth > key || thread::index_of(birth) != thread::index_of(key) || marked.max(by_other) >= key
            {
                return true;
            }
            if (*other).on_behalf.try_lock() {
                let outcome = mark_for(other);
                (*other).on_behalf.unlock();
                if outcome == Marked::Never {
                    break;
                }
            }
        }
        match tries {
            ..AT_ONCE if tries % 64 == 0 => sys::pause(),
            ..AT_ONCE => {}
            _ => sys::sleep(50),
        }
    }
    stream::count_lost_order();
    false
}

/// What another thread's marks depend on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    newest: u64,
    depth: usize,
    announced: usize,
    unmarked: [u64; UNMARKED],
    unmarked_count: usize,
    left_out_at: usize,
}

/// What came of marks on behalf of another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marked {
    /// They are made.
    Yes,
    /// The thread has changed something meanwhile.
    NotYet,
    /// It is in too many blocks that were not announced.
    Never,
}

/// Makes another thread's marks.
///
/// # Safety
/// It is a thread's, and nobody else does anything on its behalf.
pub(crate) unsafe fn mark_for(other: *const Thread) -> Marked {
    // SAFETY: as above: whatever is read may be of different moments, and is believed if it is the same twice.
    let now = || unsafe {
        State {
            newest: (&raw const (*other).newest).read_volatile(),
            depth: (&raw const (*other).depth).read_volatile().min(FRAMES),
            announced: (*other).announced_in_effect(),
            unmarked: (&raw const (*other).unmarked).read_volatile(),
            unmarked_count: ((&raw const (*other).unmarked_count).read_volatile() as usize).min(UNMARKED),
            left_out_at: (&raw const (*other).left_out_at).read_volatile(),
        }
    };
    let before = now();
    compiler_fence(Ordering::SeqCst);
    // SAFETY: fields that never change while the thread lives.
    let (serial, frames) = unsafe { ((*other).serial, (*other).frames) };
    let mut marks = [(0, 0); UNMARKED];
    let mut count = 0;
    let unmarked = &before.unmarked[..before.unmarked_count];
    for (&key, open) in unmarked.iter().zip(open_in_each(frames, before.depth, unmarked)) {
        if count > 0 && marks[count - 1].0 == open {
            marks[count - 1].1 = told(key).max(marks[count - 1].1);
        } else if before.announced <= open {
            marks[count] = (open, told(key));
            count += 1;
        }
    }
    let open = marks[..count].last().map_or(0, |mark| mark.0);
    // Read now: once the records are made, the thread may be in another block.
    // SAFETY: there is room for so many frames.
    let entered = if open == 0 { 0 } else { unsafe { (*frames.add(open - 1)).entered } };
    compiler_fence(Ordering::SeqCst);
    if before.unmarked_count == 0 || now() != before {
        return Marked::NotYet;
    }
    if open.saturating_sub(before.announced) > MOST_BLOCKS {
        return Marked::Never;
    }
    let behalf = Behalf { serial, frames, announced: before.announced, place: before.left_out_at };
    if count > 0 && !stream::record_marks(&behalf, &marks[..count], || now() == before) {
        return Marked::NotYet;
    }
    let last = before.unmarked[before.unmarked_count - 1];
    // SAFETY: the thread reads it back with care.
    unsafe {
        if open > before.announced {
            (&raw const (*other).announced_by_other).cast_mut().write_volatile(entered);
        }
        (*other).marked_by_other.fetch_max(last, Ordering::Relaxed);
    }
    Marked::Yes
}
