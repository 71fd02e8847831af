//! Puts records into the ring that the command reads. See `crates/ring`.
//!
//! Blocks are announced late: when something is recorded inside. A block in which nothing is recorded is never
//! heard of, which changes no verdict, because the begin and the end of a block are ordered with nothing
//! but their own thread. For the same reason nobody says when a block ends: every record tells how many blocks that
//! were announced are still open.

use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use crate::late;
use crate::ring::writer::{Writer, fill, place as place_of};
use crate::ring::{Block, COUNTERS, Header, Kind, LOW};
use crate::thread::{FRAMES, Frame, Thread};

/// Where records go.
static WRITER: Writer = Writer::new();

/// Where records go from now on; null for nowhere.
pub fn open(ring: *mut Header) {
    WRITER.open(ring);
}

/// The ring, if there is one.
#[inline(always)]
pub fn header() -> Option<&'static Header> {
    WRITER.header()
}

/// Records something that `thread` does.
#[inline]
pub fn record(thread: &mut Thread, kind: Kind, size: u8, operand: u64, place: usize) {
    let open = thread.depth.min(FRAMES);
    if thread.announced != open {
        // What was done before the blocks to announce were entered is not done inside.
        late::record_bare(thread);
    }
    record_in(thread, open, kind, size, operand, place);
}

/// Records something that `thread` has done when only the first `open` of its blocks were open. No further ones may be
/// announced.
#[inline(always)]
pub(crate) fn record_in(thread: &mut Thread, open: usize, kind: Kind, size: u8, operand: u64, place: usize) {
    let Some(header) = header() else { return };
    let (depth, block) = announce(header, thread, open);
    let what = (kind as u64) << 56 | u64::from(size) << 48 | operand & LOW;
    WRITER.put(header, thread.serial, what, place_of(depth, place), block);
    header.seen[place_of_counter(thread.index as usize)].store(thread.seen, Ordering::Relaxed);
}

/// Records something that needs a second operand and is not about any block.
pub fn record_pair(thread: &mut Thread, kind: Kind, first: u64, second: u64) {
    let Some(header) = header() else { return };
    WRITER.put(header, thread.serial, (kind as u64) << 56 | first & LOW, 0, second);
}

/// Records a label's text.
pub fn record_label(thread: &mut Thread, hash: u64, text: &[u8]) {
    if let Some(header) = header() {
        WRITER.put_label(header, thread.serial, hash, text);
    }
}

/// Announces the first `open` blocks that were not, and returns the innermost of them for the record at hand, with how many
/// are announced around it.
#[inline(always)]
fn announce(header: &Header, thread: &mut Thread, open: usize) -> (usize, u64) {
    if thread.announced == open {
        return (open, 0);
    }
    thread.keep_others_out();
    // Before a place for a record is taken: see `record_late`.
    let announced = core::mem::replace(&mut thread.announced, open);
    compiler_fence(Ordering::SeqCst);
    let on_behalf = thread.announced_on_behalf(announced);
    let announced = if on_behalf <= open { on_behalf } else { announced };
    let last = announce_some(header, thread.serial, thread.frames, announced, open);
    thread.let_others();
    last
}

#[inline(never)]
fn announce_some(
    header: &Header,
    serial: u32,
    frames: *const Frame,
    announced: usize,
    open: usize,
) -> (usize, u64) {
    for depth in announced..open {
        // SAFETY: there is room for so many frames, and whoever calls knows that these are there.
        let frame = unsafe { *frames.add(depth) };
        if depth + 1 == open && !needs_place(&frame, depth) {
            return (depth, frame.block);
        }
        WRITER.put(header, serial, 0, place_of(depth, frame.place), frame.block);
    }
    (open, 0)
}

/// A thread on whose behalf marks are made.
pub(crate) struct Behalf {
    /// The other thread.
    pub(crate) serial: u32,
    pub(crate) frames: *const Frame,
    /// How many of its blocks were announced.
    pub(crate) announced: usize,
    /// Where it did what the last mark stands for.
    pub(crate) place: usize,
}

/// Records marks, each with how many blocks were open and its period, if what they rest on is still true once the places for the
/// records are taken, as for [`record_late`]. False if not.
pub(crate) fn record_marks(
    behalf: &Behalf,
    marks: &[(usize, u64)],
    is_still_true: impl Fn() -> bool,
) -> bool {
    let Some(header) = header() else { return false };
    let deepest = marks.iter().map(|mark| mark.0).fold(behalf.announced, usize::max);
    let count = (deepest - behalf.announced + marks.len()) as u64;
    let first = header.head.0.fetch_add(count, Ordering::SeqCst);
    compiler_fence(Ordering::SeqCst);
    if WRITER.has_no_room(header, first + count - 1) {
        return false;
    }
    let (mut number, mut announced) = (first, behalf.announced);
    let mut is_true = is_still_true();
    for (number_of_mark, &(open, period)) in marks.iter().enumerate() {
        while announced < open {
            // SAFETY: there is room for so many frames; what is read here is believed if nothing has changed since.
            let frame = unsafe { behalf.frames.add(announced).read_volatile() };
            compiler_fence(Ordering::SeqCst);
            is_true = is_true && is_still_true();
            if is_true {
                fill(header, number, behalf.serial, 0, place_of(announced, frame.place), frame.block);
                number += 1;
            }
            announced += 1;
        }
        if is_true {
            let what = (Kind::Mark as u64) << 56 | period & LOW;
            let place = if number_of_mark + 1 == marks.len() { behalf.place } else { 0 };
            fill(header, number, behalf.serial, what, place_of(open, place), 0);
            number += 1;
        }
    }
    for unused in number..first + count {
        fill(header, unused, behalf.serial, 0, place_of(FRAMES, 0), 0);
    }
    is_true
}

/// An access that another thread has made without a record, in a block that it has not left. See `shadow.rs`.
pub(crate) struct Late {
    /// The other thread.
    pub(crate) serial: u32,
    pub(crate) frames: *const Frame,
    /// How many of its blocks were announced, and how many were open at the access.
    pub(crate) announced: usize,
    pub(crate) open: usize,
    pub(crate) kind: Kind,
    pub(crate) place: usize,
}

/// How many blocks are announced on behalf of another thread: together they have to fit into the ring.
pub(crate) const MOST_BLOCKS: usize = 1024;

/// Records it now, for the bytes from `start` that are in the mask, one record per stretch in 8 aligned bytes, if that is
/// still true once the places for the records are taken. False if not.
///
/// The other thread changes what it says about itself before it takes a place for a record, by the same locked instruction as
/// here: so if nothing has changed after that, its next record comes later.
pub(crate) fn record_late(late: &Late, start: usize, bytes: u16, is_still_true: impl Fn() -> bool) -> bool {
    let Some(header) = header() else { return false };
    let blocks = late.open - late.announced;
    if blocks > MOST_BLOCKS {
        return false;
    }
    let count = (blocks as u64) + u64::from(bytes.count_ones());
    let first = header.head.0.fetch_add(count, Ordering::SeqCst);
    compiler_fence(Ordering::SeqCst);
    if WRITER.has_no_room(header, first + count - 1) {
        return false;
    }
    let mut number = first;
    let mut is_true = true;
    for depth in late.announced..late.open {
        // SAFETY: there is room for so many frames; what is read here is believed if nothing has changed since.
        let frame = unsafe { late.frames.add(depth).read_volatile() };
        compiler_fence(Ordering::SeqCst);
        is_true = is_true && is_still_true();
        if is_true {
            fill(header, number, late.serial, 0, place_of(depth, frame.place), frame.block);
            number += 1;
        }
    }
    is_true = is_true && is_still_true();
    for half in [0, 8] {
        let mut rest = if is_true { (bytes >> half) as u8 } else { 0 };
        while rest != 0 {
            let offset = rest.trailing_zeros();
            let size = (!(rest >> offset)).trailing_zeros();
            let operand = start as u64 + u64::from(half + offset);
            let what = (late.kind as u64) << 56 | u64::from(size) << 48 | operand & LOW;
            fill(header, number, late.serial, what, place_of(late.open, late.place), 0);
            number += 1;
            rest &= !((((1u32 << size) - 1) << offset) as u8);
        }
    }
    for unused in number..first + count {
        fill(header, unused, late.serial, 0, place_of(FRAMES, 0), 0);
    }
    is_true
}

/// Whether a block is announced with its own place: where an annotation stands, and where the outermost functions
/// are called, of which the function that the thread was made for may be inlined and have no hooks.
fn needs_place(frame: &Frame, depth: usize) -> bool {
    const OUTERMOST: usize = 3;
    let flavour = frame.block >> 48;
    flavour == Block::Label as u64 || flavour == Block::Inside as u64 && depth < OUTERMOST
}

/// An access in a signal handler that interrupted the runtime.
#[cold]
pub fn count_lost_in_handler() {
    if let Some(header) = header() {
        header.lost_in_handlers.fetch_add(1, Ordering::Relaxed);
    }
}

/// A lock changed hands, and it cannot be told after what.
#[cold]
pub fn count_lost_order() {
    if let Some(header) = header() {
        header.lost_orders.fetch_add(1, Ordering::Relaxed);
    }
}

/// A thread that cannot be recorded.
#[cold]
pub fn count_lost_thread() {
    if let Some(header) = header() {
        header.lost_threads.fetch_add(1, Ordering::Relaxed);
    }
}

/// A join of a thread that started unseen.
#[cold]
pub fn count_unknown_join() {
    if let Some(header) = header() {
        header.unknown_joins.fetch_add(1, Ordering::Relaxed);
    }
}

/// Where it is counted what the thread of an index has seen.
pub fn counter(index: u32) -> Option<&'static AtomicU64> {
    header().map(|header| &header.seen[place_of_counter(index as usize)])
}

/// What threads that had the counter of this index before have seen.
pub fn seen_before(index: usize) -> u64 {
    header().map_or(0, |header| header.seen[place_of_counter(index)].load(Ordering::Relaxed))
}

/// Threads that run at the same time have neighbouring indexes, and counters in different lines of the cache.
#[inline(always)]
fn place_of_counter(index: usize) -> usize {
    const IN_A_LINE: usize = 8;
    const LINES: usize = COUNTERS / IN_A_LINE;
    index % LINES * IN_A_LINE + index / LINES % IN_A_LINE
}
