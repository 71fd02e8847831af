//! Puts records into the ring that the command reads. See `crates/ring`.
//!
//! Blocks are announced late: when something is recorded inside. A block in which nothing is recorded is never
//! heard of, which changes no verdict, because the begin and the end of a block are ordered with nothing
//! but their own thread. An end travels with the thread's next record for the same reason.

use core::sync::atomic::{AtomicPtr, Ordering};

use crate::ring::{Block, CAPACITY, COUNTERS, HEADER_BYTES, Header, Kind, LOW, Slot};
use crate::sys;
use crate::thread::{FRAMES, Thread};

/// The ring; null while nobody wants records.
static RING: AtomicPtr<Header> = AtomicPtr::new(core::ptr::null_mut());

/// How long to sleep while the ring is full, in microseconds, and after how many sleeps to ask whether anybody
/// reads it at all.
const NAP: usize = 50;
const NAPS_BETWEEN_DOUBTS: u32 = 1000;

/// Where records go from now on; null for nowhere.
pub(crate) fn open(ring: *mut Header) {
    RING.store(ring, Ordering::Release);
}

/// The ring, if there is one.
#[inline(always)]
pub(crate) fn header() -> Option<&'static Header> {
    // SAFETY: a ring stays mapped for ever.
    unsafe { RING.load(Ordering::Acquire).as_ref() }
}

/// Records something that `thread` does.
#[inline]
pub(crate) fn record(thread: &mut Thread, kind: Kind, size: u8, operand: u64, place: usize) {
    let Some(header) = header() else { return };
    let block = announce(header, thread);
    let ended = core::mem::take(&mut thread.ended);
    let what = (kind as u64) << 56 | u64::from(size) << 48 | operand & LOW;
    put(header, thread.serial, what, place_word(header, thread.serial, ended, place), block);
    header.seen[thread.index as usize % COUNTERS].store(thread.seen, Ordering::Relaxed);
}

/// Records something that needs a second operand and is not about any block.
pub(crate) fn record_pair(thread: &mut Thread, kind: Kind, first: u64, second: u64) {
    let Some(header) = header() else { return };
    put(header, thread.serial, (kind as u64) << 56 | first & LOW, 0, second);
}

/// Records a label's text.
pub(crate) fn record_label(thread: &mut Thread, hash: u64, text: &[u8]) {
    let Some(header) = header() else { return };
    let mut rest = text;
    loop {
        let length = rest.len().min(16);
        let mut part = [0; 16];
        part[..length].copy_from_slice(&rest[..length]);
        rest = &rest[length..];
        let what = (Kind::Label as u64) << 56 | (length as u64) << 48 | hash & LOW;
        let (a, b) = part.split_at(8);
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        put(header, thread.serial, what, word(a), word(b));
        if length < 16 {
            return;
        }
    }
}

/// Announces all open blocks that were not, and returns the innermost of them for the record at hand.
#[inline(always)]
fn announce(header: &Header, thread: &mut Thread) -> u64 {
    let open = thread.depth.min(FRAMES);
    if thread.announced == open { 0 } else { announce_some(header, thread, open) }
}

#[inline(never)]
fn announce_some(header: &Header, thread: &mut Thread, open: usize) -> u64 {
    let mut last = 0;
    for i in thread.announced..open {
        // SAFETY: the first `depth` frames are there.
        let frame = unsafe { *thread.frames.add(i) };
        let is_label = frame.block >> 48 == Block::Label as u64;
        if i + 1 == open && !is_label {
            last = frame.block;
        } else {
            let ended = core::mem::take(&mut thread.ended);
            let place = place_word(header, thread.serial, ended, if is_label { frame.place } else { 0 });
            put(header, thread.serial, 0, place, frame.block);
        }
    }
    thread.announced = open;
    last
}

/// How many blocks ended, and a place. More ends than fit go ahead in records of their own.
#[inline(always)]
fn place_word(header: &Header, serial: u32, ended: u64, place: usize) -> u64 {
    const MOST: u64 = 0xffff;
    let mut ended = ended;
    while ended > MOST {
        put(header, serial, 0, MOST << 48, 0);
        ended -= MOST;
    }
    ended << 48 | place as u64 & LOW
}

#[inline(always)]
fn put(header: &Header, serial: u32, what: u64, place: u64, block: u64) {
    let number = header.head.0.fetch_add(1, Ordering::Relaxed);
    if number >= header.tail.0.load(Ordering::Acquire) + CAPACITY && !wait_for_room(header, number) {
        return;
    }
    // SAFETY: the slots follow the header, and the number is taken modulo how many there are.
    let slot = unsafe {
        let slots = (&raw const *header).byte_add(HEADER_BYTES).cast::<Slot>();
        &*slots.add((number % CAPACITY) as usize)
    };
    slot.what.store(what, Ordering::Relaxed);
    slot.place.store(place, Ordering::Relaxed);
    slot.block.store(block, Ordering::Relaxed);
    slot.turn.store((number / CAPACITY + 1) << 32 | u64::from(serial), Ordering::Release);
}

/// False if nobody reads any more: then nothing is recorded any more, and the program goes on.
#[cold]
#[inline(never)]
fn wait_for_room(header: &Header, number: u64) -> bool {
    let mut naps = 0;
    while number >= header.tail.0.load(Ordering::Acquire) + CAPACITY {
        let reader = header.reader.load(Ordering::Acquire);
        let in_doubt = naps == NAPS_BETWEEN_DOUBTS;
        if header.closed.load(Ordering::Acquire) != 0 || in_doubt && reader != 0 && !sys::exists(reader) {
            open(core::ptr::null_mut());
            return false;
        }
        naps = if in_doubt { 0 } else { naps + 1 };
        sys::sleep(NAP);
    }
    true
}

/// An access in a signal handler that interrupted the runtime.
#[cold]
pub(crate) fn count_lost_in_handler() {
    if let Some(header) = header() {
        header.lost_in_handlers.fetch_add(1, Ordering::Relaxed);
    }
}

/// A thread that cannot be recorded.
#[cold]
pub(crate) fn count_lost_thread() {
    if let Some(header) = header() {
        header.lost_threads.fetch_add(1, Ordering::Relaxed);
    }
}

/// A join of a thread that started unseen.
#[cold]
pub(crate) fn count_unknown_join() {
    if let Some(header) = header() {
        header.unknown_joins.fetch_add(1, Ordering::Relaxed);
    }
}

/// What threads that had this counter before have seen.
pub(crate) fn seen_before(counter: usize) -> u64 {
    header().map_or(0, |header| header.seen[counter].load(Ordering::Relaxed))
}
