//! The filter: which accesses need no record. Nearly all.
//!
//! For every 16 bytes of the program's memory there are eight words of 8, in eight planes: four for reads and four for
//! writes. A thread uses the pair of its index modulo 4. A word says which bytes its thread has read, or written, in
//! which period, with no conflicting access of another thread since.
//!
//! ```text
//! word = index (12) | period (28) | quiet (4) | forgotten (1) | foreign (1) | past (1) | late (1) | bytes (16)
//! ```
//!
//! **Covered.** An access that the thread's own word covers in the current period changes no verdict: all blocks that
//! are open now were open at the first such access, and nothing was received since (`thread.rs`). That costs two
//! loads and two compares, no lock.
//!
//! **Late.** An access that conflicts with nothing that its thread has not heard of cannot be the end of an order that
//! matters, only the start of one: a record would matter only to a conflicting access of another thread that is
//! yet to come. So the thread notes it in its word, marked *late*, and goes on: one store. That nothing
//! conflicts is seen by the word itself if it is *quiet* at these bytes, which others undo when they come; otherwise by the others'
//! words. Of reads, that is told per quarter of a word: that others write one field says nothing about the next. Of writes, it is all or
//! nothing (`becomes_quiet` in `late.rs` says why).
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
//! Three flags remember what the bytes no longer show: `past`, the word's thread (or one that it comes after) was here
//! once; `forgotten`, there is a record of that; `foreign`, somebody did something here who had to share the word. They decide
//! only whether an access receives something from another thread and so begins a period; to believe so in error is harmless.
//!
//! **Everything.** Where a record of every access is asked for, no word is ever written, so that none covers anything, and
//! what is not covered is recorded.
//!
//! `cargo xtask trial native` puts all of this on trial: random programs, judged by brute force.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::late::{
    act_for, forgotten_record, has_foreigners, is_over, mark_late, read_late, record_bare, write_late,
};
use crate::lock::Spin;
use crate::planes::{GRANULE, PLANES, plane, plane_of_writes, summarise, summary_of_others, word};
use crate::ring::Kind;
use crate::thread::{self, Thread};
use crate::{atomics, planes, stream};

const STRIPES: usize = 1024;
/// In a line of the cache each.
#[repr(align(64))]
struct Stripe(Spin);
static STRIPE_LOCKS: [Stripe; STRIPES] = [const { Stripe(Spin::new()) }; STRIPES];

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

pub(crate) const BYTES: u64 = 0xffff;
/// The access has no record of its own yet.
pub(crate) const LATE: u64 = 1 << 16;
/// The thread accessed more than these bytes once.
pub(crate) const PAST: u64 = 1 << 17;
/// Another thread did, one that shares the word.
pub(crate) const FOREIGN: u64 = 1 << 18;
/// The thread did, and there is a record of it.
pub(crate) const FORGOTTEN: u64 = 1 << 19;
/// Where the mark of a word's first quarter is.
pub const QUIET_SHIFT: u32 = 20;
/// A mark per quarter of a word. Of a word for reads: no other thread has written any of these bytes that its thread has not heard of,
/// nor may it do so unseen. Of one for writes, where all are marked or none: no other thread has a word here at all. Who changes that takes
/// the mark away.
pub const QUIET: u64 = 0xf << QUIET_SHIFT;
/// What bytes do not show.
pub(crate) const HISTORY: u64 = PAST | FOREIGN | FORGOTTEN;
/// What a late access keeps of its word if that is of an earlier period, and if it is of this one.
pub const KEPT_BY_LATE: [u64; 2] = [QUIET | HISTORY, QUIET | HISTORY | BYTES];
/// What it adds.
pub const LATE_READ: u64 = LATE;
/// What a late write adds: bytes that it did not keep were written all the same.
pub const LATE_WRITE: u64 = LATE | PAST;
/// All of a word that says when.
pub(crate) const WHEN: u64 = !(thread::STEP - 1);

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
    pub(crate) fn kind(self) -> Kind {
        match self {
            Access::Read => Kind::Read,
            Access::Write => Kind::Write,
        }
    }

    /// The thread's own word for this kind of access.
    #[inline(always)]
    pub(crate) fn own(self, thread: &Thread, address: usize) -> &'static AtomicU64 {
        // SAFETY: threads have planes.
        unsafe {
            match self {
                Access::Read => word(thread.plane, address),
                Access::Write => word(thread.write_plane, address),
            }
        }
    }
}

/// Which bytes of a word an access of `size` bytes at `address` is about.
#[inline(always)]
pub(crate) fn bytes_of(address: usize, size: usize) -> u64 {
    ((1u64 << size) - 1) << (address & (GRANULE - 1))
}

/// The marks of the quarters that some of these bytes are in.
#[inline(always)]
pub(crate) fn quiet_at(bytes: u64) -> u64 {
    let pairs = bytes | bytes >> 1;
    let quarters = (pairs | pairs >> 2) & 0x1111;
    // The bits 0, 4, 8 and 12 are moved next to each other.
    ((quarters * 0x1248) >> 12 & 0xf) << QUIET_SHIFT
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

/// Whether the thread comes after what another's word tells of, because there is a record of that period that it comes
/// after, or it was created later.
#[inline(always)]
pub(crate) fn has_heard(thread: &Thread, other: u64) -> bool {
    let by_creator = other >= thread.parent_birth && other < thread.parent_last;
    other & FOREIGN == 0 && (by_creator || thread.heard.contain(other))
}

/// Whether the thread comes after a period of another's, by whatever record.
#[inline(always)]
pub(crate) fn is_after(thread: &Thread, key: u64) -> bool {
    has_heard(thread, key) || thread.behind.contain(key)
}

/// Whether it does, or has met that period before and there was nothing to come after.
#[inline(always)]
pub(crate) fn has_met(thread: &Thread, other: u64) -> bool {
    has_heard(thread, other) || other & (FOREIGN | FORGOTTEN) == 0 && thread.met.contain(other)
}

/// Whether a thread comes after what its access conflicts with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comes {
    /// It does.
    After,
    /// That is for the command to say: the access may commute with the others.
    Perhaps,
}

/// Whether an access to these bytes receives something that its thread had not heard of from what another's word tells of,
/// which is recorded if it is not and still can be.
#[inline(always)]
fn is_news(
    thread: &mut Thread,
    comes: Comes,
    other: u64,
    access: Access,
    address: usize,
    (bytes, doubtful): (u64, u64),
) -> bool {
    let conflict = other & bytes;
    if conflict | other & HISTORY == 0 || has_heard(thread, other) {
        return false;
    }
    let certain = conflict & !doubtful;
    if conflict != 0 && (other & LATE == 0 || act_for(other, access.kind(), address, certain)) {
        if comes == Comes::After {
            thread.heard.note(other);
        }
        return true;
    }
    let is_new = !has_met(thread, other);
    thread.met.note(other);
    is_new
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
pub(crate) fn record(access: Access, address: usize, size: usize, place: usize) {
    if (address & 7) + size > 8 {
        return access_range(access, address, size, place);
    }
    let Some(thread) = Thread::recording() else { return };
    if !enter(thread) {
        return;
    }
    let stripe = stripe(address);
    stripe.lock();
    let is_atomic = planes::may_have_atomics(address) && atomics::meet(thread, access, address, size, place);
    match take_over(thread, Comes::After, access, address, size) {
        Need::None => {}
        Need::Late if !is_atomic => mark_late(thread, access, address, size, place),
        Need::Late | Need::Record => {
            stream::record(thread, access.kind(), size as u8, address as u64, place);
        }
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
    &STRIPE_LOCKS[address / GRANULE % STRIPES].0
}

/// Nobody can access some memory any more, and something else will be there: no word speaks of it, and who is just recording what one spoke of is done.
pub fn begin_anew(address: usize, bytes: usize) {
    planes::begin_anew(address, bytes);
    for at in (address..address + bytes).step_by(GRANULE).take(STRIPES) {
        stripe(at).lock();
        stripe(at).unlock();
    }
}

/// Under the lock of the stripe: what becomes of an access. It is noted, and what conflicts with it in the words of
/// others is no longer.
#[inline(always)]
pub(crate) fn take_over(
    thread: &mut Thread,
    comes: Comes,
    access: Access,
    address: usize,
    size: usize,
) -> Need {
    if records_all() {
        return Need::Record;
    }
    let bytes = bytes_of(address, size);
    let own = access.own(thread, address).load(Ordering::Relaxed);
    let covered_once = thread::is_since(own, thread.birth) && !own & bytes == 0;
    if covered_once && thread::is_since(own, thread.key) && own & LATE == 0 {
        return Need::None;
    }
    let known = summary_of_others(thread, address);
    let mut receives = has_foreigners(thread, access, address);
    let doubtful = doubtful(thread, known, address);
    for index in 0..PLANES {
        if known >> index & 0x11 != 0 {
            receives |= take_from(thread, comes, access, index, address, (bytes, doubtful));
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

/// Under the lock of the stripe, after an access to an atomic was taken over: the words of `atomics.rs` are to tell of it from now on,
/// not these. False if there are plain accesses of other threads that would matter to a write.
pub(crate) fn leave_to_atomics(thread: &Thread, access: Access, address: usize, size: usize) -> bool {
    let (known, bytes) = (planes::summary_of_all(address), bytes_of(address, size));
    let words = || {
        let planes = (0..PLANES).flat_map(|i| [(plane(i), 0x10 << i), (plane_of_writes(i), 1 << i)]);
        // SAFETY: reserved planes.
        let words = planes.map(move |(plane, bit)| (bit, unsafe { word(plane, address) }));
        words.filter(move |(bit, _)| known & bit != 0)
    };
    let take_away = |taken: u64| {
        for (_, word) in words() {
            if word.load(Ordering::Relaxed) & taken != 0 {
                word.fetch_and(!taken, Ordering::AcqRel);
            }
        }
    };
    // Nobody may believe to be alone here.
    take_away(QUIET);
    // Reads of others keep a read from being all there is, and so does every write that it may have read.
    let is_in_the_way = |(bit, word): (u8, &AtomicU64)| {
        let there = word.load(Ordering::Relaxed);
        let is_write = bit & 0xf != 0;
        is_write && there & (bytes | HISTORY) != 0 || there & bytes != 0 && !thread.owns(there)
    };
    if access == Access::Read && words().any(is_in_the_way) {
        return false;
    }
    take_away(bytes);
    true
}

/// Under the lock of the stripe: the thread's own words cover nothing of these bytes any more, but there is a record.
pub(crate) fn forget_own(thread: &Thread, address: usize, size: usize) {
    for access in [Access::Read, Access::Write] {
        access.own(thread, address).fetch_and(!bytes_of(address, size), Ordering::Relaxed);
    }
    Access::Write.own(thread, address).fetch_or(FORGOTTEN, Ordering::Relaxed);
}

/// What an access needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing: it is covered.
    None,
    /// A record only if another thread asks for it.
    Late,
    /// A record.
    Record,
}

/// Which bytes two threads have words for that conflict, although the second of them ought to have taken them from the first: it
/// did not look, because a mark had come back (`becomes_quiet`). Nobody can tell any more which one it was.
#[inline(always)]
fn doubtful(thread: &Thread, known: u8, address: usize) -> u64 {
    let groups = known | known >> PLANES;
    if (groups & 0xf).count_ones() < 2 {
        return 0;
    }
    let (mut written, mut accessed, mut twice) = (0, 0, 0);
    for index in (0..PLANES).filter(|index| groups >> index & 1 != 0) {
        let [reads, writes] = [plane(index), plane_of_writes(index)].map(|plane| {
            // SAFETY: a reserved plane.
            let word = unsafe { word(plane, address) }.load(Ordering::Relaxed);
            if thread.owns(word) { 0 } else { word & BYTES }
        });
        twice |= writes & accessed | reads & written;
        written |= writes;
        accessed |= reads | writes;
    }
    twice
}

/// Takes from a group's words what conflicts with an access. True if the thread receives something from one of the group that
/// it had not heard of.
fn take_from(
    thread: &mut Thread,
    comes: Comes,
    access: Access,
    index: usize,
    address: usize,
    (bytes, doubtful): (u64, u64),
) -> bool {
    let not_mine = |word: &AtomicU64| {
        let word = word.load(Ordering::Relaxed);
        if thread.owns(word) { 0 } else { word }
    };
    // SAFETY: reserved planes.
    let (reads, writes) = unsafe { (word(plane(index), address), word(plane_of_writes(index), address)) };
    let is_own_group = plane(index) == thread.plane;
    let quiet = if is_own_group { QUIET } else { quiet_at(bytes) };
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
                act_for(word, access.kind(), address, word & BYTES & !doubtful);
            }
        }
    }
    let writes_to_it = access == Access::Write;
    let write_is_news = is_news(thread, comes, written, Access::Write, address, (bytes, doubtful));
    let read_is_news = writes_to_it && is_news(thread, comes, read, Access::Read, address, (bytes, doubtful));
    if written & (bytes | QUIET) != 0 {
        let less = match access {
            Access::Write => left(written & !QUIET, bytes),
            // The other bytes will be read next, and nobody will ask for a record of theirs.
            Access::Read if is_over(written) => written & !(QUIET | BYTES) | PAST,
            Access::Read => written & !(QUIET | bytes) | PAST,
        };
        change(writes, written, less, bytes | QUIET);
    }
    if writes_to_it && read & (bytes | HISTORY | quiet) != 0 {
        change(reads, read, left(read & !quiet, bytes), bytes | quiet);
    }
    write_is_news || read_is_news
}

/// Changes another's word, unless its thread has noted something else meanwhile, where the word was quiet: then no more than what conflicts with
/// an access is taken away.
#[inline(always)]
pub(crate) fn change(word: &AtomicU64, from: u64, to: u64, conflicts: u64) {
    if word.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        word.fetch_and(!conflicts, Ordering::Relaxed);
        word.fetch_or(to & PAST, Ordering::Relaxed);
    }
}

/// What a write leaves of another's word. All that came before comes before the write now, and who comes after the
/// write need not know it; a write of the whole word leaves nothing at all.
#[inline(always)]
pub(crate) fn left(word: u64, bytes: u64) -> u64 {
    let left = word & !bytes;
    if bytes == BYTES || left & (BYTES | HISTORY | QUIET) == 0 { 0 } else { left }
}

/// Notes an access as recorded in the thread's own word.
#[inline(always)]
fn note(thread: &Thread, access: Access, address: usize, bytes: u64) {
    summarise(thread, access, address);
    let own = access.own(thread, address);
    let known = own.load(Ordering::Relaxed);
    let mut noted = thread.key | bytes;
    if thread::is_since(known, thread.birth) {
        noted |= known & (HISTORY | QUIET);
        if access == Access::Write && known & BYTES != 0 {
            noted |= PAST;
        }
        noted |=
            forgotten_record(known, KEPT_BY_LATE[usize::from(thread::is_since(known, thread.key))], bytes);
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

/// In a new process: nobody holds a stripe.
pub fn reset_locks() {
    STRIPE_LOCKS.iter().for_each(|stripe| stripe.0.reset());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_in_a_quarter() {
        for bytes in 0..=BYTES {
            let quarters = (0..4).filter(|quarter| bytes >> (quarter * 4) & 0xf != 0);
            let quiet = quarters.fold(0, |all, quarter| all | 1 << (QUIET_SHIFT + quarter));
            assert_eq!(quiet_at(bytes), quiet, "{bytes:#x}");
        }
    }
}
