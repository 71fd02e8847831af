//! Where the words of the filter are: planes of memory that follow the program's, one word of 8 bytes for every 16, or for every
//! 8 where it is about atomics.
//!
//! A thread has a plane for its reads and one for its writes, which it shares with all threads of its group. Nothing takes room before
//! it is written to. Memory that begins a new life has its words cleared.

use core::arch::asm;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::shadow::{self, Access};
use crate::sys;
use crate::thread::Thread;

/// Addresses are told apart by this many bits.
pub const ADDRESS_BITS: u32 = 43;
const ADDRESSES: usize = 1 << ADDRESS_BITS;
/// Bytes of the program that a word is about.
pub(crate) const GRANULE: usize = 16;
/// What is left of an address, before it is divided by 2 for its word.
pub const ADDRESS_MASK: usize = ADDRESSES - GRANULE;
const PLANE_BYTES: usize = ADDRESSES / 2;
/// Groups of threads. Each has a plane for reads, and behind those one for writes.
pub(crate) const PLANES: usize = 4;
const TO_WRITES: usize = PLANE_BYTES * PLANES;
/// Behind the planes, two bytes for every 64 of the program say which planes were ever written to there (four bits for
/// the planes of writes, four for those of reads, one each for those of atomics and locks), so that nobody looks into the others. Most
/// memory is one thread's, and a look at an empty word would cost a miss in the cache, if not a page.
const TO_SUMMARY: usize = TO_WRITES * 2;
const SUMMARY_BYTES: usize = ADDRESSES / 32;
/// The bits of atomics and locks.
const ATOMICS: u16 = 1 << 8;
const LOCKS: u16 = 1 << 9;
/// Behind that, a plane of words about locks, see `handover.rs`.
const TO_LOCKS: usize = TO_SUMMARY + SUMMARY_BYTES;
/// Behind that, planes of words about atomics, one for writes and some for reads, each word about 8 bytes; see `atomics.rs`.
const TO_ATOMICS: usize = TO_LOCKS + PLANE_BYTES;
/// One bit of the address less tells as much apart as above: the halves of the address space do not meet either.
const ATOMIC_PLANE_BYTES: usize = ADDRESSES / 2;
/// How many threads' reads of an atomic are told apart.
pub(crate) const READERS: usize = 4;
/// Behind that, a byte for every stretch of the program's memory: which planes have pages for it, by the bits of a summary.
const TO_STRETCHES: usize = TO_ATOMICS + ATOMIC_PLANE_BYTES * (1 + READERS);
/// As much as words in four pages are about.
const STRETCH: usize = 4 * PAGE;
const ALL_BYTES: usize = TO_STRETCHES + ADDRESSES / STRETCH;

static mut BASE: usize = 0;

/// Reserves the planes. False if the address space is too small.
pub fn reserve() -> bool {
    /// Between low programs and the others, so that what is mapped later stays where it would be.
    const USUALLY_FREE: usize = 0x1000_0000_0000;
    let base = sys::reserve_at(USUALLY_FREE, ALL_BYTES);
    // SAFETY: called once, before any thread records.
    unsafe { BASE = base as usize };
    !base.is_null()
}

/// What words are about is dense, as the bases of a JVM's objects are: memory is given to words of accesses in large pages, which come
/// with a fault each. A small page costs two, because it is read first, and the second one stops all threads of the program.
pub fn be_dense() {
    // SAFETY: written once, before any thread records.
    sys::prefer_large_pages(unsafe { BASE }, TO_LOCKS);
}

/// Where the words for the reads of a thread are.
pub fn plane(index: usize) -> usize {
    // SAFETY: written once, before any thread records.
    unsafe { BASE + index % PLANES * PLANE_BYTES }
}

/// Where those for its writes are.
pub fn plane_of_writes(index: usize) -> usize {
    // SAFETY: written once, before any thread records.
    unsafe { BASE + TO_WRITES + index % PLANES * PLANE_BYTES }
}

/// Where words about locks are.
fn plane_of_locks() -> usize {
    // SAFETY: written once, before any thread records.
    unsafe { BASE + TO_LOCKS }
}

/// The word about a lock, which is longer than what a word is about.
#[inline(always)]
pub(crate) fn word_of_lock(lock: usize) -> &'static AtomicU64 {
    // SAFETY: a reserved plane.
    unsafe { word(plane_of_locks(), lock) }
}

/// The word of a plane for an address. Linux puts programs and their heaps at 0x555… to 0x565…, or low, and libraries
/// and stacks from 0x7ff… down; in the lower 43 bits they would meet only after 680 GB of the latter.
///
/// # Safety
/// The plane is one of the reserved ones.
#[inline(always)]
pub(crate) unsafe fn word(plane: usize, address: usize) -> &'static AtomicU64 {
    // SAFETY: every such offset is inside a plane.
    unsafe { &*((plane + (address & ADDRESS_MASK) / 2) as *const AtomicU64) }
}

/// The word about the writes of the atomic in 8 bytes.
#[inline(always)]
pub(crate) fn word_of_atomic(address: usize) -> &'static AtomicU64 {
    atomic_word(0, address)
}

/// The word about its reads by a thread of this index.
#[inline(always)]
pub(crate) fn word_of_reader(index: usize, address: usize) -> &'static AtomicU64 {
    atomic_word(1 + index % READERS, address)
}

#[inline(always)]
fn atomic_word(number: usize, address: usize) -> &'static AtomicU64 {
    let offset = TO_ATOMICS + number * ATOMIC_PLANE_BYTES + (address & (ATOMIC_PLANE_BYTES - 8));
    // SAFETY: every such offset is inside the reserved memory, which is written once, before any thread records.
    unsafe { &*((BASE + offset) as *const AtomicU64) }
}

/// Whether there may be atomics in the 64 bytes around an address.
#[inline(always)]
pub(crate) fn may_have_atomics(address: usize) -> bool {
    summary(address).load(Ordering::Relaxed) & ATOMICS != 0
}

/// There is one.
pub(crate) fn summarise_atomic(address: usize) {
    add_to_summary(address, ATOMICS);
}

#[inline(always)]
fn add_to_summary(address: usize, bit: u16) {
    let summary = summary(address);
    if summary.load(Ordering::Relaxed) & bit == 0 {
        summary.fetch_or(bit, Ordering::Relaxed);
    }
}

/// Which planes have something about the 64 bytes around an address.
#[inline(always)]
fn summary(address: usize) -> &'static AtomicU16 {
    // SAFETY: every such offset is inside the reserved memory.
    unsafe { &*((BASE + TO_SUMMARY + (address & (ADDRESSES - 1)) / 64 * 2) as *const AtomicU16) }
}

/// The same, but for atomics.
#[inline(always)]
pub(crate) fn summary_of_all(address: usize) -> u8 {
    summary(address).load(Ordering::Relaxed) as u8
}

/// The bit of a thread's plane in a summary.
#[inline(always)]
fn summary_bit(thread: &Thread, access: Access) -> u8 {
    let group = thread.index % PLANES as u32;
    match access {
        Access::Read => 0x10 << group,
        Access::Write => 1 << group,
    }
}

/// Threads that were ever in each group.
static MEMBERS: [AtomicU32; PLANES] = [const { AtomicU32::new(0) }; PLANES];

/// A thread gets an index: it shares planes with all others of its group, now and before.
pub fn join_group(index: usize) {
    MEMBERS[index % PLANES].fetch_add(1, Ordering::Relaxed);
}

/// Where the summaries are, two bytes each, for what has no part in the recorder's code.
pub fn summaries() -> usize {
    // SAFETY: written once, before any thread records.
    unsafe { BASE + TO_SUMMARY }
}

/// Where it is told how many threads have, or had, the same planes as this one, itself included. Where no words are written,
/// nobody is ever alone.
pub fn members(thread: &Thread) -> &'static AtomicU32 {
    static MANY: AtomicU32 = AtomicU32::new(u32::MAX);
    if shadow::records_all() { &MANY } else { &MEMBERS[thread.index as usize % PLANES] }
}

/// The bits of a summary that a thread adds before it first writes to a word, and those which say that others may have been there in a
/// way that matters to it.
pub fn first_bits(thread: &Thread, access: Access) -> (u16, u16) {
    let own = summary_bit(thread, access);
    let others = match access {
        Access::Read => 0xf & !summary_bit(thread, Access::Write),
        Access::Write => !(0x11 << (thread.index as usize % PLANES)),
    };
    (u16::from(own), u16::from(others) | ATOMICS)
}

/// Whether another thread has, or had, the same planes.
#[inline(always)]
pub(crate) fn shares_its_planes(thread: &Thread) -> bool {
    MEMBERS[thread.index as usize % PLANES].load(Ordering::Relaxed) > 1
}

/// Which planes have something about the 64 bytes around an address that may be another thread's.
#[inline(always)]
pub(crate) fn summary_of_others(thread: &Thread, address: usize) -> u8 {
    let known = summary_of_all(address);
    let own = 0x11 << (thread.index as usize % PLANES);
    if shares_its_planes(thread) { known } else { known & !own }
}

/// The words of other threads that an access takes something from, or has to share: those that may be quiet and must not
/// stay so, and where.
pub fn words_in_the_way(
    thread: &Thread,
    access: Access,
    address: usize,
    size: usize,
) -> impl Iterator<Item = (&'static AtomicU64, u64)> {
    let known = summary_of_others(thread, address);
    let quiet = shadow::quiet_at(shadow::bytes_of(address, size));
    let own_group = thread.index as usize % PLANES;
    let planes = (0..PLANES).flat_map(move |group| {
        let is_known = |bit: u8| known & bit << group != 0;
        let heeds_reads = access == Access::Write || group == own_group;
        let of_reads = if group == own_group { shadow::QUIET } else { quiet };
        let reads = (heeds_reads && is_known(0x10)).then(|| (plane(group), of_reads));
        reads.into_iter().chain(is_known(1).then(|| (plane_of_writes(group), shadow::QUIET)))
    });
    // SAFETY: reserved planes.
    let words = planes.map(move |(plane, quiet)| (unsafe { word(plane, address) }, quiet));
    words.filter(|(word, quiet)| {
        let word = word.load(Ordering::Relaxed);
        word & quiet != 0 && !thread.owns(word)
    })
}

/// Whether nobody but this thread has accessed some memory plainly, as far as is known.
pub fn is_alone(thread: &Thread, address: usize, bytes: usize) -> bool {
    let own = 0x11 << (thread.index as usize % PLANES);
    let is_own = |word: &AtomicU64| {
        let word = word.load(Ordering::Relaxed);
        word == 0 || thread.owns(word) && word & shadow::FOREIGN == 0
    };
    summaries_of(address, bytes).all(|known| known & !own == 0)
        && (!shares_its_planes(thread)
            || granules(address, bytes)
                .flat_map(|at| [Access::Read, Access::Write].map(|access| access.own(thread, at)))
                .all(is_own))
}

/// A number that changes when somebody writes to some memory in a new period; 0 if nobody has.
pub fn written(address: usize, bytes: usize) -> u64 {
    const WRITES: u8 = (1 << PLANES) - 1;
    let known = summaries_of(address, bytes).fold(0, |all, known| all | known & WRITES);
    let groups = (0..PLANES).filter(|group| known >> group & 1 != 0);
    let words = groups.flat_map(|group| {
        // SAFETY: reserved planes.
        granules(address, bytes).map(move |at| unsafe { word(plane_of_writes(group), at) })
    });
    // From one to the next all bits of the sum move on.
    words.fold(0, |sum, word| {
        (sum ^ word.load(Ordering::Relaxed) & shadow::WHEN).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

fn summaries_of(address: usize, bytes: usize) -> impl Iterator<Item = u8> {
    (address & !63..address + bytes).step_by(64).map(|line| summary(line).load(Ordering::SeqCst) as u8)
}

fn granules(address: usize, bytes: usize) -> impl Iterator<Item = usize> {
    (address & !(GRANULE - 1)..address + bytes).step_by(GRANULE)
}

/// Before the thread's own word is first written to.
#[inline(always)]
pub fn summarise(thread: &Thread, access: Access, address: usize) {
    let bit = summary_bit(thread, access);
    if summary_of_all(address) & bit == 0 {
        summarise_first(thread, access, address, bit);
    }
}

/// The same where no word was written to so far. Pages are given to a plane by the stretch: a page that is read before it is first
/// written to costs two faults, the second of which stops all other threads.
#[cold]
#[inline(never)]
fn summarise_first(thread: &Thread, access: Access, address: usize, bit: u8) {
    summary(address).fetch_or(u16::from(bit), Ordering::Relaxed);
    let is_on_stack = (thread.stack_low..thread.stack_high).contains(&address);
    let known = stretch(address);
    if !is_on_stack && known.load(Ordering::Relaxed) & bit == 0 {
        known.fetch_or(bit, Ordering::Relaxed);
        let first = access.own(thread, address & !(STRETCH - 1));
        sys::populate_pages(&raw const *first as usize, STRETCH / 2);
    }
}

#[inline(always)]
fn stretch(address: usize) -> &'static AtomicU8 {
    // SAFETY: every such offset is inside the reserved memory.
    unsafe { &*((BASE + TO_STRETCHES + (address & (ADDRESSES - 1)) / STRETCH) as *const AtomicU8) }
}

/// Before the word about a lock is written to.
#[inline(always)]
pub(crate) fn summarise_lock(lock: usize) {
    add_to_summary(lock, LOCKS);
}

/// Asks for the line of the cache at an address, to write to it: what is read first would otherwise be asked for twice, if another
/// thread has it.
#[inline(always)]
pub fn prefetch(address: usize) {
    // SAFETY: changes nothing, whatever the address is.
    unsafe { asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags)) };
}

/// Asks for the word about a lock that is about to be taken.
#[inline(always)]
pub fn prefetch_lock(lock: usize) {
    prefetch(&raw const *word_of_lock(lock) as usize);
}

/// The word that a bit of a summary stands for.
#[inline(always)]
pub(crate) fn word_of_group(bit: usize, address: usize) -> &'static AtomicU64 {
    let plane = if is_of_writes(bit) { plane_of_writes(bit) } else { plane(bit) };
    // SAFETY: a reserved plane.
    unsafe { word(plane, address) }
}

/// Whether it is a word for writes.
#[inline(always)]
pub(crate) fn is_of_writes(bit: usize) -> bool {
    bit < PLANES
}

/// Whether it is one of the thread's own.
#[inline(always)]
pub(crate) fn is_own_group(thread: &Thread, bit: usize) -> bool {
    (bit ^ thread.index as usize).is_multiple_of(PLANES)
}

/// What a page of words is about.
const PAGE: usize = 2 * 4096;

/// Memory begins a new life: no word speaks of it any more. False if none did.
pub fn forget(address: usize, bytes: usize) -> bool {
    const LARGE: usize = 16 * PAGE;
    let (start, end) = (address & !(GRANULE - 1), (address + bytes + GRANULE - 1) & !(GRANULE - 1));
    if bytes < LARGE {
        return clear(start, end);
    }
    let (first_page, last_page) = ((start + PAGE - 1) & !(PAGE - 1), end & !(PAGE - 1));
    clear(start, first_page);
    clear(last_page, end);
    forget_accesses(first_page, last_page - first_page);
    forget_in(plane_of_locks(), first_page, last_page - first_page);
    // Nobody has looked.
    true
}

/// The same where nobody can be accessing the memory any more: who comes there next is the first one, as far as the memory has the 64 bytes
/// of a summary to itself.
pub(crate) fn begin_anew(address: usize, bytes: usize) {
    forget(address, bytes);
    let first = (address + 63) & !63;
    (first..(address + bytes) & !63).step_by(64).for_each(|line| summary(line).store(0, Ordering::Relaxed));
}

/// Words about whole pages of memory will be written by this thread soon.
pub fn expect_accesses(thread: &Thread, address: usize, bytes: usize) {
    for plane in [thread.plane, thread.write_plane] {
        // SAFETY: a reserved plane.
        let words = unsafe { word(plane, address) };
        sys::populate_pages(&raw const *words as usize, bytes / 2);
    }
}

/// Nobody has accessed whole pages of memory. Who held the locks there is not forgotten.
pub fn forget_accesses(address: usize, bytes: usize) {
    for plane in (0..PLANES).flat_map(|index| [plane(index), plane_of_writes(index)]) {
        forget_in(plane, address, bytes);
    }
    // Those of reads first: what they say is worth nothing without the others.
    for number in (0..=READERS).rev() {
        sys::forget_pages(&raw const *atomic_word(number, address) as usize, bytes);
    }
    (address & !(STRETCH - 1)..address + bytes)
        .step_by(STRETCH)
        .for_each(|at| stretch(at).store(0, Ordering::Relaxed));
}

fn forget_in(plane: usize, address: usize, bytes: usize) {
    // SAFETY: a reserved plane.
    let words = unsafe { word(plane, address) };
    sys::forget_pages(&raw const *words as usize, bytes / 2);
}

/// In a new process: nobody is left who has given a lock back or accessed an atomic.
pub fn forget_silence() {
    sys::forget_pages(plane_of_locks(), PLANE_BYTES + ATOMIC_PLANE_BYTES * (1 + READERS));
}

/// True if there was anything to clear.
fn clear(from: usize, to: usize) -> bool {
    let mut at = from;
    let mut found = false;
    while at < to {
        let next = ((at | 63) + 1).min(to);
        let known = summary(at).load(Ordering::Relaxed);
        if known != 0 {
            found |= clear_known(known, at, next);
        }
        at = next;
    }
    found
}

/// The same, where some planes have something.
fn clear_known(known: u16, from: usize, to: usize) -> bool {
    let groups = (0..PLANES).flat_map(|i| [(0x10 << i, plane(i)), (1 << i, plane_of_writes(i))]);
    let mut found = false;
    for (bit, plane) in groups.chain([(LOCKS, plane_of_locks())]) {
        if known & bit != 0 {
            for address in (from..to).step_by(GRANULE) {
                // SAFETY: a reserved plane.
                found |= clear_word(unsafe { word(plane, address) });
            }
        }
    }
    if known & ATOMICS != 0 {
        for address in (from..to).step_by(8) {
            for number in 0..=READERS {
                found |= clear_word(atomic_word(number, address));
            }
        }
    }
    found
}

#[inline(always)]
fn clear_word(word: &AtomicU64) -> bool {
    let is_known = word.load(Ordering::Relaxed) != 0;
    if is_known {
        word.store(0, Ordering::Relaxed);
    }
    is_known
}
