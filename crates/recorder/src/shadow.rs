//! The filter: which accesses need no record. Nearly all.
//!
//! For every 16 bytes of the program's memory there are eight words of 8, in eight planes: four for reads and four for
//! writes. A thread uses the pair of its index modulo 4. A word says which bytes its thread has read, or written, in
//! which period, with no conflicting access of another thread since.
//!
//! ```text
//! word = index (12) | period (32) | quiet (1) | foreign (1) | past (1) | late (1) | bytes (16)
//! ```
//!
//! **Covered.** An access that the thread's own word covers in the current period changes no verdict: all blocks that
//! are open now were open at the first such access, and nothing was received since (`thread.rs`). That costs two
//! loads and two compares, no lock.
//!
//! **Late.** An access that conflicts with nothing that its thread has not heard of cannot be the end of an order that
//! matters, only the start of one: a record would matter only to a conflicting access of another thread that is
//! yet to come. So the thread notes it in its word, marked *late*, and goes on: one store. That nothing
//! conflicts is seen by the word itself if it is *quiet*, which others undo when they come; otherwise by the others' words.
//!
//! A conflicting access that finds the mark makes the record first, on behalf of the other thread, in those blocks that
//! were open at the access and still are, if that thread has received nothing since; then it stands for the access
//! exactly. If not, the record is left out. What it would have ordered is then ordered by the synchronisation between
//! the two accesses; only if there was none, in a program with a data race, is an order lost. Accesses that no lock
//! protects are the ones that race, so the first few of them in a block are recorded before their thread receives
//! something or leaves the block (`bare`).
//!
//! **Recorded.** Any other access takes the lock of its stripe, takes away from the others' words what conflicts with it, and
//! is recorded under the lock, which makes the order of records the order of conflicting accesses.
//!
//! Two flags remember what the bytes no longer show: `past`, the word's thread (or one that it comes after) was here
//! once; `foreign`, somebody did something here who had to share the word. They decide only whether an access
//! receives something from another thread and so begins a period; to believe so in error is harmless.
//!
//! **Everything.** Where a record of every access is asked for, no word is ever written, so that none covers anything, and
//! what is not covered is recorded.
//!
//! `crates/cli/tests/filter` puts all of this on trial: random schedules against their whole traces.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::handover;
use crate::lock::Spin;
use crate::ring::Kind;
use crate::stream::{self, Late};
use crate::sys;
use crate::thread::{self, BARE, Bare, FRAMES, Frame, HEARD, RECENT, Thread};

/// Addresses are told apart by this many bits.
pub const ADDRESS_BITS: u32 = 43;
const ADDRESSES: usize = 1 << ADDRESS_BITS;
/// Bytes of the program that a word is about.
const GRANULE: usize = 16;
/// What is left of an address, before it is divided by 2 for its word.
pub const ADDRESS_MASK: usize = ADDRESSES - GRANULE;
const PLANE_BYTES: usize = ADDRESSES / 2;
/// Groups of threads. Each has a plane for reads, and behind those one for writes.
const PLANES: usize = 4;
const TO_WRITES: usize = PLANE_BYTES * PLANES;
/// Behind the planes, a byte for every 64 of the program says which planes were ever written to there (four bits for
/// the planes of writes, four for those of reads), so that nobody looks into the others. Most memory is one thread's, and
/// a look at an empty word would cost a miss in the cache, if not a page.
const TO_SUMMARY: usize = TO_WRITES * 2;
const SUMMARY_BYTES: usize = ADDRESSES / 64;
/// Behind that, a plane of words about locks, see `handover.rs`.
const TO_LOCKS: usize = TO_SUMMARY + SUMMARY_BYTES;

const STRIPES: usize = 1024;
static STRIPE_LOCKS: [Spin; STRIPES] = [const { Spin::new() }; STRIPES];

static mut BASE: usize = 0;

/// Every access is recorded. Decided before the first.
static RECORDS_ALL: AtomicBool = AtomicBool::new(false);

/// Every access is to be recorded from now on.
pub fn record_all() {
    RECORDS_ALL.store(true, Ordering::Relaxed);
}

/// Whether every access is recorded.
#[inline(always)]
pub fn records_all() -> bool {
    RECORDS_ALL.load(Ordering::Relaxed)
}

const BYTES: u64 = 0xffff;
/// The access has no record of its own yet.
const LATE: u64 = 1 << 16;
/// The thread accessed more than these bytes once.
const PAST: u64 = 1 << 17;
/// Another thread did, one that shares the word.
const FOREIGN: u64 = 1 << 18;
/// Of a word for reads: no other thread has written any of its bytes that its thread has not heard of. Of one for writes:
/// no other thread has a word here at all. Who changes that takes the mark away.
pub const QUIET: u64 = 1 << 19;
/// What a late access keeps of its word if that is of an earlier period, and if it is of this one.
pub const KEPT_BY_LATE: [u64; 2] = [QUIET | FOREIGN | PAST, QUIET | FOREIGN | PAST | BYTES];
/// What it adds.
pub const LATE_READ: u64 = LATE;
/// What a late write adds: bytes that it did not keep were written all the same.
pub const LATE_WRITE: u64 = LATE | PAST;
/// All of a word that says when.
const WHEN: u64 = !(thread::STEP - 1);

/// How memory is accessed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It is read.
    Read,
    /// It is written.
    Write,
}

impl Access {
    #[inline(always)]
    fn kind(self) -> Kind {
        match self {
            Access::Read => Kind::Read,
            Access::Write => Kind::Write,
        }
    }

    /// The thread's own word for this kind of access.
    #[inline(always)]
    fn own(self, thread: &Thread, address: usize) -> &'static AtomicU64 {
        // SAFETY: threads have planes.
        unsafe {
            match self {
                Access::Read => word(thread.plane, address),
                Access::Write => word(thread.write_plane, address),
            }
        }
    }
}

/// Reserves the planes. False if the address space is too small.
pub fn reserve() -> bool {
    /// Between low programs and the others, so that what is mapped later stays where it would be.
    const USUALLY_FREE: usize = 0x1000_0000_0000;
    let base = sys::reserve_at(USUALLY_FREE, TO_LOCKS + PLANE_BYTES);
    // SAFETY: called once, before any thread records.
    unsafe { BASE = base as usize };
    !base.is_null()
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

/// Before the word about a lock is written to: where nobody has been, nobody looks for words that are to be forgotten.
#[inline(always)]
pub(crate) fn summarise_lock(thread: &Thread, lock: usize) {
    summarise(thread, Access::Write, lock);
}

/// Which bytes of a word an access of `size` bytes at `address` is about.
#[inline(always)]
fn bytes_of(address: usize, size: usize) -> u64 {
    ((1u64 << size) - 1) << (address & (GRANULE - 1))
}

/// The word of a plane for an address. Linux puts programs and their heaps at 0x555… to 0x565…, or low, and libraries
/// and stacks from 0x7ff… down; in the lower 43 bits they would meet only after 680 GB of the latter.
///
/// # Safety
/// The plane is one of the reserved ones.
#[inline(always)]
unsafe fn word(plane: usize, address: usize) -> &'static AtomicU64 {
    // SAFETY: every such offset is inside a plane.
    unsafe { &*((plane + (address & ADDRESS_MASK) / 2) as *const AtomicU64) }
}

/// Which planes have something about the 64 bytes around an address.
#[inline(always)]
fn summary(address: usize) -> &'static AtomicU8 {
    // SAFETY: every such offset is inside the reserved memory.
    unsafe { &*((BASE + TO_SUMMARY + (address & (ADDRESSES - 1)) / 64) as *const AtomicU8) }
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

/// Which planes have something about the 64 bytes around an address that may be another thread's.
#[inline(always)]
fn summary_of_others(thread: &Thread, address: usize) -> u8 {
    let known = summary(address).load(Ordering::Relaxed);
    let group = thread.index as usize % PLANES;
    if MEMBERS[group].load(Ordering::Relaxed) == 1 { known & !(0x11 << group) } else { known }
}

/// Before the thread's own word is first written to.
#[inline(always)]
fn summarise(thread: &Thread, access: Access, address: usize) {
    let (summary, bit) = (summary(address), summary_bit(thread, access));
    if summary.load(Ordering::Relaxed) & bit == 0 {
        summary.fetch_or(bit, Ordering::Relaxed);
    }
}

/// Where the thread's own word for an access is.
pub fn place_of_word(thread: &Thread, access: Access, address: usize) -> usize {
    &raw const *access.own(thread, address) as usize
}

/// Whether a record covers this access of at most 8 bytes within one word.
#[inline(always)]
pub fn is_covered(thread: &Thread, access: Access, address: usize, size: usize) -> bool {
    let record = access.own(thread, address).load(Ordering::Relaxed);
    thread::is_since(record, thread.key) && !record & bytes_of(address, size) == 0
}

/// The compiler's hook for an access that does not cross a word.
#[inline(always)]
pub fn access(access: Access, address: usize, size: usize, place: usize) {
    let Some(thread) = thread::current() else { return record(access, address, size, place) };
    thread.seen += 1;
    if !is_covered(thread, access, address, size) {
        uncovered(access, address, size, place);
    }
}

/// The rest of [`access`].
#[inline(always)]
pub fn uncovered(access: Access, address: usize, size: usize, place: usize) {
    if records_all() {
        return record(access, address, size, place);
    }
    match access {
        Access::Read => read_late(address, size, place),
        Access::Write => write_late(address, size, place),
    }
}

/// A read that no record of this period covers. It is late, unless another thread has written there and this one has not
/// heard of it.
#[inline(never)]
fn read_late(address: usize, size: usize, place: usize) {
    let Some(thread) = thread::current() else { return record(Access::Read, address, size, place) };
    let bytes = bytes_of(address, size);
    let own = Access::Read.own(thread, address);
    let mut known = own.load(Ordering::Relaxed);
    let is_own = thread::is_since(known, thread.birth);
    if !is_own || known & QUIET == 0 {
        if known != 0 && !is_own || (address & (GRANULE - 1)) + size > GRANULE {
            return record(Access::Read, address, size, place);
        }
        let written = written_by_others(thread, address);
        if written & QUIET != 0 || written & bytes != 0 && known & bytes != bytes {
            return record(Access::Read, address, size, place);
        }
        if written == 0 {
            known |= QUIET;
        }
    }
    if thread.ignoring == 0 {
        // A period is kept for all bytes of a word together.
        let kept = KEPT_BY_LATE[usize::from(thread::is_since(known, thread.key))];
        summarise(thread, Access::Read, address);
        own.store(thread.key | LATE_READ | known & kept | bytes, Ordering::Relaxed);
        remember(thread, Access::Read, address, size, place);
    }
}

/// Which bytes around an address another thread has written, in a way that matters to a read; and whether one believes that
/// it is alone here.
#[inline(always)]
fn written_by_others(thread: &Thread, address: usize) -> u64 {
    let mut groups = summary_of_others(thread, address) & 0xf;
    let mut found = 0;
    while groups != 0 {
        // SAFETY: a reserved plane.
        let written = unsafe { word(plane_of_writes(groups.trailing_zeros() as usize), address) };
        let written = written.load(Ordering::Relaxed);
        if !thread::is_since(written, thread.birth) {
            let unheard = written & FOREIGN != 0 || written & PAST != 0 && !has_met(thread, written);
            found |= written & QUIET | if unheard { BYTES } else { written & BYTES };
        }
        groups &= groups - 1;
    }
    found
}

/// Whether the thread comes after what another's word tells of, because there is a record of that period that it comes
/// after, or it was created later.
#[inline(always)]
fn has_heard(thread: &Thread, other: u64) -> bool {
    let by_creator = other >= thread.parent_birth && other < thread.parent_last;
    other & FOREIGN == 0 && (by_creator || is_noted(&thread.heard, other))
}

/// Whether the thread comes after a period of another's, by whatever record.
#[inline(always)]
pub(crate) fn is_after(thread: &Thread, key: u64) -> bool {
    has_heard(thread, key) || is_noted(&thread.behind, key)
}

/// Whether it does, or has met that period before and there was nothing to come after.
#[inline(always)]
fn has_met(thread: &Thread, other: u64) -> bool {
    has_heard(thread, other) || other & FOREIGN == 0 && is_noted(&thread.met, other)
}

#[inline(always)]
fn is_noted(periods: &[u64; HEARD], other: u64) -> bool {
    let noted = periods[thread::index_of(other) % HEARD];
    thread::index_of(noted) == thread::index_of(other) && noted >= other & WHEN
}

#[inline(always)]
pub(crate) fn note_period(periods: &mut [u64; HEARD], other: u64) {
    if !is_noted(periods, other) {
        periods[thread::index_of(other) % HEARD] = other & WHEN;
    }
}

/// Whether an access to these bytes receives something that its thread had not heard of from what another's word tells of,
/// which is recorded if it is not and still can be.
#[inline(always)]
fn is_news(thread: &mut Thread, other: u64, access: Access, address: usize, bytes: u64) -> bool {
    let conflict = other & bytes;
    if conflict | other & (PAST | FOREIGN) == 0 || has_heard(thread, other) {
        return false;
    }
    if conflict != 0 && (other & LATE == 0 || act_for(other, access, address, conflict)) {
        note_period(&mut thread.heard, other);
        return true;
    }
    let is_new = !has_met(thread, other);
    note_period(&mut thread.met, other);
    is_new
}

/// A write that no record of this period covers. It is late where no other thread has a word, and if one of an earlier
/// period covers it and nobody has read it since.
#[inline(never)]
fn write_late(address: usize, size: usize, place: usize) {
    let Some(thread) = thread::current() else { return record(Access::Write, address, size, place) };
    let bytes = bytes_of(address, size);
    let own = Access::Write.own(thread, address);
    let mut known = own.load(Ordering::Relaxed);
    let is_own = thread::is_since(known, thread.birth);
    if known != 0 && !is_own || (address & (GRANULE - 1)) + size > GRANULE {
        return record(Access::Write, address, size, place);
    }
    if known & QUIET == 0 {
        let others = words_of_others(thread, address);
        if others == 0 {
            known |= QUIET;
        } else if !known & bytes != 0 || others & bytes != 0 {
            return record(Access::Write, address, size, place);
        }
    }
    if thread.ignoring == 0 {
        let kept = KEPT_BY_LATE[usize::from(thread::is_since(known, thread.key))];
        summarise(thread, Access::Write, address);
        own.store(thread.key | LATE_WRITE | known & kept | bytes, Ordering::Relaxed);
        remember(thread, Access::Write, address, size, place);
    }
}

/// All words of other threads for an address, in one.
#[inline(always)]
fn words_of_others(thread: &Thread, address: usize) -> u64 {
    let mut known = summary_of_others(thread, address);
    let mut found = 0;
    while known != 0 {
        let number = known.trailing_zeros() as usize;
        let plane = if number < PLANES { plane_of_writes(number) } else { plane(number) };
        // SAFETY: a reserved plane.
        let word = unsafe { word(plane, address) }.load(Ordering::Relaxed);
        if !thread::is_since(word, thread.birth) {
            found |= word;
        }
        known &= known - 1;
    }
    found
}

/// Keeps what is needed to record a late access after all.
#[inline(always)]
fn remember(thread: &mut Thread, access: Access, address: usize, size: usize, place: usize) {
    thread.recent[(address >> 3) % RECENT] = (address & !7, place);
    let count = thread.bare_count as usize;
    if count < BARE && thread.locks == 0 && thread.depth > 0 {
        let (key, writes) = (thread.key, access == Access::Write);
        thread.bare[count] = Bare { address, place, key, size: size as u32, writes };
        thread.bare_count += 1;
    }
}

/// Before the thread receives something, leaves a block in which something is recorded, or announces one that was entered
/// since: late accesses that no lock protected, and that may race, are recorded while they can be, in the blocks that were
/// open then.
#[inline]
pub fn record_bare(thread: &mut Thread) {
    if thread.bare_count > 0 {
        record_some_bare(thread);
    }
    if thread.unmarked_count > 0 {
        handover::mark(thread);
    }
}

#[inline(never)]
fn record_some_bare(thread: &mut Thread) {
    // What is recorded below asks for this again.
    let count = core::mem::replace(&mut thread.bare_count, 0) as usize;
    for i in 0..count {
        let Bare { address, place, key, size, writes } = thread.bare[i];
        let stripe = stripe(address);
        let Some(open) = open_since(thread, key) else { continue };
        handover::mark_outside(thread, open);
        // Another stripe may be held, so there is no waiting.
        if key < thread.received || thread.announced_in_effect() > open || !stripe.try_lock() {
            continue;
        }
        let access = if writes { Access::Write } else { Access::Read };
        let own = access.own(thread, address);
        let known = own.load(Ordering::Relaxed);
        if known & (WHEN | LATE) == key | LATE && !known & bytes_of(address, size as usize) == 0 {
            own.store(known & !LATE, Ordering::Relaxed);
            stream::record_in(thread, open, access.kind(), size as u8, address as u64, place);
        }
        stripe.unlock();
    }
}

/// How many of a thread's blocks were open in the period `when` and still are; nothing if that would take long to find out.
/// Numbers of periods grow, so it is the outer ones.
#[inline(always)]
fn open_since(thread: &Thread, when: u64) -> Option<usize> {
    open_in(thread.frames, thread.depth.min(FRAMES), when)
}

#[inline(always)]
fn open_in(frames: *const Frame, depth: usize, when: u64) -> Option<usize> {
    /// How far down the blocks are looked through.
    const DEPTH: usize = 64;
    let further = depth.saturating_sub(DEPTH);
    // SAFETY: there is room for so many frames.
    let is_older = |&open: &usize| open == 0 || unsafe { (*frames.add(open - 1)).entered } <= when;
    (further..=depth).rev().find(is_older)
}

/// An access of any length. Large ones are many of small ones.
#[inline(never)]
pub fn access_range(access: Access, address: usize, size: usize, place: usize) {
    let end = address.wrapping_add(size);
    let mut at = address;
    while at < end {
        let length = (8 - (at & 7)).min(end - at);
        self::access(access, at, length, place);
        at += length;
    }
}

/// The slow path of [`access`]; may cross words.
#[cold]
#[inline(never)]
fn record(access: Access, address: usize, size: usize, place: usize) {
    if (address & 7) + size > 8 {
        return access_range(access, address, size, place);
    }
    let Some(thread) = Thread::recording() else { return };
    if !enter(thread) {
        return;
    }
    let stripe = stripe(address);
    stripe.lock();
    let need = if records_all() { Need::Record } else { take_over(thread, access, address, size) };
    match need {
        Need::None => {}
        Need::Late => mark_late(thread, access, address, size, place),
        Need::Record => stream::record(thread, access.kind(), size as u8, address as u64, place),
    }
    stripe.unlock();
    thread.busy = 0;
}

/// The runtime is at work from here on, unless it is already, or wants to know nothing.
#[inline(always)]
pub fn enter(thread: &mut Thread) -> bool {
    if thread.busy != 0 {
        stream::count_lost_in_handler();
        return false;
    }
    if thread.ignoring != 0 {
        return false;
    }
    thread.busy = 1;
    true
}

/// The lock that orders accesses to an address.
#[inline(always)]
pub fn stripe(address: usize) -> &'static Spin {
    &STRIPE_LOCKS[address / GRANULE % STRIPES]
}

/// Under the lock of the stripe: what becomes of an access. It is noted, and what conflicts with it in the words of
/// others is no longer.
#[inline(always)]
pub fn take_over(thread: &mut Thread, access: Access, address: usize, size: usize) -> Need {
    let bytes = bytes_of(address, size);
    let own = access.own(thread, address).load(Ordering::Relaxed);
    let covered_once = thread::is_since(own, thread.birth) && !own & bytes == 0;
    if covered_once && thread::is_since(own, thread.key) && own & LATE == 0 {
        return Need::None;
    }
    let known = summary_of_others(thread, address);
    let mut receives = false;
    for index in 0..PLANES {
        if known >> index & 0x11 != 0 {
            receives |= take_from(thread, access, index, address, bytes);
        }
    }
    receives &= !covered_once;
    if receives {
        record_bare(thread);
        thread.receive();
    }
    note(thread, Access::Read, address, bytes);
    if access == Access::Write {
        note(thread, Access::Write, address, bytes);
    }
    if receives { Need::Record } else { Need::Late }
}

/// What an access needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing: it is covered.
    None,
    /// A record only if another thread asks for it.
    Late,
    /// A record.
    Record,
}

/// Marks an access as late that was just noted as recorded.
#[inline(always)]
fn mark_late(thread: &mut Thread, access: Access, address: usize, size: usize, place: usize) {
    let (reads, writes) = (Access::Read.own(thread, address), Access::Write.own(thread, address));
    for (own, concerned) in [(reads, true), (writes, access == Access::Write)] {
        if concerned {
            own.store(own.load(Ordering::Relaxed) | LATE, Ordering::Relaxed);
        }
    }
    remember(thread, access, address, size, place);
}

/// Takes from a group's words what conflicts with an access. True if the thread receives something from one of the group that
/// it had not heard of.
fn take_from(thread: &mut Thread, access: Access, index: usize, address: usize, bytes: u64) -> bool {
    let birth = thread.birth;
    let not_mine = |word: &AtomicU64| {
        let word = word.load(Ordering::Relaxed);
        if thread::is_since(word, birth) { 0 } else { word }
    };
    // SAFETY: reserved planes.
    let (reads, writes) = unsafe { (word(plane(index), address), word(plane_of_writes(index), address)) };
    let is_own_group = plane(index) == thread.plane;
    let written = not_mine(writes);
    // Reads do not conflict with each other, and looking for them costs a cache miss per group.
    let look_at_reads = access == Access::Write || is_own_group || written & LATE != 0;
    let read = if look_at_reads { not_mine(reads) } else { 0 };
    if read | written == 0 {
        return false;
    }
    if is_own_group {
        // This thread needs the words for itself: what is late in them is recorded while it can be.
        for (word, access) in [(written, Access::Write), (read, Access::Read)] {
            if word & LATE != 0 {
                act_for(word, access, address, word & BYTES);
            }
        }
    }
    let writes_to_it = access == Access::Write;
    let write_is_news = is_news(thread, written, Access::Write, address, bytes);
    let read_is_news = writes_to_it && is_news(thread, read, Access::Read, address, bytes);
    if written & (bytes | QUIET) != 0 {
        let written = written & !QUIET;
        let less = match access {
            Access::Write => left(written, bytes),
            // The other bytes will be read next, and nobody will ask for a record of theirs.
            Access::Read if is_over(written) => written & !BYTES | PAST,
            Access::Read => written & !bytes | PAST,
        };
        writes.store(less, Ordering::Relaxed);
    }
    if writes_to_it && read & (bytes | PAST | FOREIGN | QUIET) != 0 {
        reads.store(left(read & !QUIET, bytes), Ordering::Relaxed);
    }
    write_is_news || read_is_news
}

/// Whether nobody can be asked any more to record what a word tells of.
#[inline(always)]
fn is_over(other: u64) -> bool {
    let thread = thread::of_index(thread::index_of(other));
    // SAFETY: what is known about threads lives for ever.
    other & LATE == 0
        || thread.is_null()
        || unsafe { (&raw const (*thread).received).read_volatile() } > other & WHEN
}

/// What a write leaves of another's word. All that came before comes before the write now, and who comes after the
/// write need not know it; a write of the whole word leaves nothing at all.
#[inline(always)]
fn left(word: u64, bytes: u64) -> u64 {
    let left = word & !bytes;
    if bytes == BYTES || left & (BYTES | PAST | FOREIGN) == 0 { 0 } else { left }
}

/// Notes an access as recorded in the thread's own word.
#[inline(always)]
fn note(thread: &Thread, access: Access, address: usize, bytes: u64) {
    summarise(thread, access, address);
    let own = access.own(thread, address);
    let known = own.load(Ordering::Relaxed);
    let mut noted = thread.key | bytes;
    if thread::is_since(known, thread.birth) {
        noted |= known & (PAST | FOREIGN | QUIET);
        if access == Access::Write && known & BYTES != 0 {
            noted |= PAST;
        }
        if thread::is_since(known, thread.key) {
            let others = known & BYTES & !bytes;
            noted |= others | if others == 0 { 0 } else { known & LATE };
        }
    } else if known != 0 {
        // Who comes after this thread comes after what it has heard of.
        noted |= if has_heard(thread, known) { PAST } else { FOREIGN };
    }
    own.store(noted, Ordering::Relaxed);
}

/// Records a late access on behalf of the thread that made it, if that is still where it was. True if so.
///
/// The other thread goes on meanwhile, so what is read here may be torn. It is believed only if nothing has changed before and
/// after, and after the place of the record among all others was taken: what the other thread records itself, it
/// records later. Should it make the same announcement at this moment, that begins another instance of the block.
#[cold]
#[inline(never)]
fn act_for(late: u64, access: Access, address: usize, bytes: u64) -> bool {
    if bytes == 0 {
        return false;
    }
    let when = late & WHEN;
    let other = thread::of_index(thread::index_of(late));
    if other.is_null() {
        return false;
    }
    // SAFETY: what is known about threads lives for ever; every field is read on its own, as it is at some moment.
    unsafe {
        let now = || {
            let read = |field: *const u64| field.read_volatile();
            (
                read(&raw const (*other).newest),
                read((&raw const (*other).depth).cast()),
                (*other).announced_in_effect(),
            )
        };
        // Locks that it gave back in outer blocks come first.
        if (&raw const (*other).unmarked_count).read_volatile() > 0 && !handover::mark_for(other) {
            return false;
        }
        let before = now();
        let (_, depth, announced) = before;
        let depth = (depth as usize).min(FRAMES);
        let frames = (*other).frames;
        let Some(open) = open_in(frames, depth, when) else { return false };
        let received = (&raw const (*other).received).read_volatile();
        let birth = (&raw const (*other).birth).read_volatile();
        let is_same_index = thread::index_of(birth) == thread::index_of(when);
        if announced > open || received > when || birth > when || !is_same_index || now() != before {
            return false;
        }
        let (at, place) = (&raw const (*other).recent[(address >> 3) % RECENT]).read_volatile();
        let late = Late {
            serial: (*other).serial,
            frames,
            announced,
            open,
            kind: access.kind(),
            place: if at & !7 == address & !7 { place } else { 0 },
        };
        let start = address & !(GRANULE - 1);
        if !stream::record_late(&late, start, bytes as u16, || now() == before) {
            return false;
        }
        if open > announced {
            let said = ((*frames.add(open - 1)).entered, open);
            (&raw const (*other).announced_by_other).cast_mut().write_volatile(said);
        }
    }
    true
}

/// Memory begins a new life: no word speaks of it any more.
pub fn forget(address: usize, bytes: usize) {
    /// What a page of words is about.
    const PAGE: usize = 2 * 4096;
    const LARGE: usize = 16 * PAGE;
    let (start, end) = (address & !(GRANULE - 1), (address + bytes + GRANULE - 1) & !(GRANULE - 1));
    if bytes < LARGE {
        return clear(start, end);
    }
    let (first_page, last_page) = ((start + PAGE - 1) & !(PAGE - 1), end & !(PAGE - 1));
    clear(start, first_page);
    clear(last_page, end);
    let of_groups = (0..PLANES).flat_map(|index| [plane(index), plane_of_writes(index)]);
    for plane in of_groups.chain([plane_of_locks()]) {
        // SAFETY: a reserved plane.
        let words = unsafe { word(plane, first_page) };
        sys::forget_pages(&raw const *words as usize, (last_page - first_page) / 2);
    }
}

/// In a new process: nobody is left who has given a lock back.
pub fn forget_locks() {
    sys::forget_pages(plane_of_locks(), PLANE_BYTES);
}

fn clear(from: usize, to: usize) {
    for word in words(from, to) {
        if word.load(Ordering::Relaxed) != 0 {
            word.store(0, Ordering::Relaxed);
        }
    }
}

/// All words for a stretch of memory that may say something.
fn words(from: usize, to: usize) -> impl Iterator<Item = &'static AtomicU64> {
    (from & !(GRANULE - 1)..to).step_by(GRANULE).flat_map(|address| {
        let known = summary(address).load(Ordering::Relaxed);
        let groups = (0..PLANES).filter(move |index| known >> index & 0x11 != 0);
        let planes = groups.flat_map(|index| [plane(index), plane_of_writes(index)]);
        let planes = planes.chain((known != 0).then(plane_of_locks));
        // SAFETY: reserved planes.
        planes.map(move |plane| unsafe { word(plane, address) })
    })
}

/// Whether any thread has accessed this memory, or it is too long to look, or words do not tell.
pub fn is_known(address: usize, bytes: usize) -> bool {
    const LONG: usize = 1 << 16;
    bytes >= LONG
        || records_all()
        || words(address, address + bytes).any(|word| word.load(Ordering::Relaxed) != 0)
}

/// In a new process: nobody holds a stripe.
pub fn reset_locks() {
    STRIPE_LOCKS.iter().for_each(Spin::reset);
}
