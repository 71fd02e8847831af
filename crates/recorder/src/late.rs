//! Accesses without a record that get one late, if at all; `shadow.rs` says when and why that is right.

use core::sync::atomic::Ordering;

use crate::handover::{self, Marked};
use crate::planes::{
    GRANULE, is_of_writes, is_own_group, shares_its_planes, summarise, summary_of_others, word_of_group,
};
use crate::ring::Kind;
use crate::shadow::{
    Access, BYTES, FOREIGN, FORGOTTEN, HISTORY, KEPT_BY_LATE, LATE, LATE_READ, LATE_WRITE, PAST, QUIET, WHEN,
    bytes_of, change, has_heard, has_met, left, quiet_at, record, stripe,
};
use crate::stream::{self, Late};
use crate::thread::{self, BARE, Bare, FRAMES, Frame, RECENT, Thread};
use crate::{atomics, planes};

/// A read that no record of this period covers.
#[inline(never)]
pub(crate) fn read_late(address: usize, size: usize, place: usize) {
    be_late(Access::Read, address, size, place);
}

/// A write that no record of this period covers.
#[inline(never)]
pub(crate) fn write_late(address: usize, size: usize, place: usize) {
    be_late(Access::Write, address, size, place);
}

/// Such an access is late, unless it conflicts with one of another thread's that this one has not heard of.
#[inline(always)]
fn be_late(access: Access, address: usize, size: usize, place: usize) {
    let Some(thread) = thread::current() else { return record(access, address, size, place) };
    if thread.ignoring != 0 {
        return;
    }
    let bytes = bytes_of(address, size);
    let own = access.own(thread, address);
    let mut known = own.load(Ordering::Relaxed);
    let is_another_s = known != 0 && !thread::is_since(known, thread.birth);
    if is_another_s || (address & (GRANULE - 1)) + size > GRANULE {
        return record(access, address, size, place);
    }
    summarise(thread, access, address);
    if !known & quiet_at(bytes) != 0 {
        let (is_atomic, has_atomics) = atomics::are_at(address, size);
        let is_foreign = has_foreigners(thread, access, address);
        let others = if is_atomic { None } else { make_way(thread, access, address, bytes) };
        let Some(others) = others.filter(|others| comes_after(known, *others, is_foreign, bytes)) else {
            return record(access, address, size, place);
        };
        if !is_foreign && !has_atomics {
            known |= becomes_quiet(access, known, others);
        }
    }
    // A period is kept for all bytes of a word together.
    let kept = KEPT_BY_LATE[usize::from(thread::is_since(known, thread.key))];
    known |= forgotten_record(known, kept, bytes);
    let late = if access == Access::Write { LATE_WRITE } else { LATE_READ };
    own.store(thread.key | late | known & kept | bytes, Ordering::Relaxed);
    remember(thread, access, known, address, size, place);
}

/// Where a thread's word is quiet, given those of others and all that matters of what they do not show any more. Where its own
/// word has bytes, whatever that was comes before.
///
/// For writes, that is everywhere or nowhere. A thread that notes an access to one quarter may put back the mark of another, which is just
/// being taken away; so of two threads that write to a word, neither may believe itself alone, and who looks takes it away again. For
/// the same reason nobody believes itself alone who has just taken such marks away.
#[inline(always)]
fn becomes_quiet(access: Access, own: u64, others: u64) -> u64 {
    if access == Access::Write {
        return if others == 0 { QUIET } else { 0 };
    }
    let loud = if others & HISTORY != 0 { others | !own } else { others };
    QUIET & !others & !quiet_at(loud & BYTES)
}

/// Whether a thread comes after all that it cannot see any more of what others did: its own word has the bytes if nobody has done
/// anything to them since.
#[inline(always)]
fn comes_after(own: u64, others: u64, is_foreign: bool, bytes: u64) -> bool {
    own & bytes == bytes || !is_foreign && others & HISTORY == 0
}

/// All words of other threads that matter to an access, in one, with their history if the thread does not come after that. What conflicts with
/// the access is taken from them; marks are returned all the same. Nothing if the thread has not heard of that: that takes more.
///
/// If two threads do this at the same moment, one may put back what the other takes away. They race then, or access different
/// bytes of a word. Bytes do not outlive the period; what becomes of marks, see [`becomes_quiet`].
#[inline(always)]
fn make_way(thread: &Thread, access: Access, address: usize, bytes: u64) -> Option<u64> {
    let mut groups = summary_of_others(thread, address);
    if access == Access::Read {
        groups &= 0xf;
    }
    let mut found = 0;
    while groups != 0 {
        let bit = groups.trailing_zeros() as usize;
        groups &= groups - 1;
        let word = word_of_group(bit, address);
        // Where nothing conflicts with an access, it is quiet: so most likely something will be taken away.
        planes::prefetch(&raw const *word as usize);
        let mut there = word.load(Ordering::Relaxed);
        if thread.owns(there) {
            continue;
        }
        let conflicts = bytes | if is_of_writes(bit) { QUIET } else { quiet_at(bytes) };
        if there & conflicts != 0 {
            let is_told = access == Access::Write || there & PAST != 0;
            if !is_told || is_own_group(thread, bit) || !has_heard(thread, there) {
                return None;
            }
            let less = match access {
                // The other bytes will be read next, and nobody will ask for a record of theirs.
                Access::Read if there & BYTES & !bytes != 0 && is_over(there) => there & !(QUIET | BYTES),
                Access::Read => there & !conflicts,
                Access::Write => left(there & !conflicts, bytes),
            };
            change(word, there, less, conflicts);
            found |= there & QUIET;
            there = less;
        }
        let is_known = there & HISTORY != 0 && has_met(thread, there);
        found |= if is_known { there & !HISTORY } else { there };
    }
    Some(found)
}

/// Whether others who shared the thread's own words may have done something that conflicts with an access of its. There may be an
/// order before that, unless its own word covers it, and it must not be late then.
#[inline(always)]
pub(crate) fn has_foreigners(thread: &Thread, access: Access, address: usize) -> bool {
    if !shares_its_planes(thread) {
        return false;
    }
    let own = |access: Access| access.own(thread, address).load(Ordering::Relaxed);
    let (read, written) = (own(Access::Read), own(Access::Write));
    // What nobody of the group has written, or only before what this thread comes after, may be read by all.
    let reads_matter =
        || access == Access::Write || written != 0 && !thread.owns(written) && !has_heard(thread, written);
    written & FOREIGN != 0 || read & FOREIGN != 0 && reads_matter()
}

/// What is to be added to a word that keeps so much, if accesses that are on record are forgotten thereby: who conflicts with
/// them has an order before it, and must not be late.
#[inline(always)]
pub(crate) fn forgotten_record(known: u64, kept: u64, bytes: u64) -> u64 {
    if known & LATE == 0 && known & BYTES & !bytes & !kept != 0 { FORGOTTEN } else { 0 }
}

/// Marks an access as late that was just noted as recorded.
#[inline(always)]
pub(crate) fn mark_late(thread: &mut Thread, access: Access, address: usize, size: usize, place: usize) {
    let (reads, writes) = (Access::Read.own(thread, address), Access::Write.own(thread, address));
    for (own, concerned) in [(reads, true), (writes, access == Access::Write)] {
        if concerned {
            own.store(own.load(Ordering::Relaxed) | LATE, Ordering::Relaxed);
        }
    }
    remember(thread, access, 0, address, size, place);
}

/// Keeps what is needed to record a late access after all. Where a thread is alone on its own stack, as its word tells, that is
/// nothing: programs do little else when they hold no lock.
#[inline(always)]
fn remember(thread: &mut Thread, access: Access, word: u64, address: usize, size: usize, place: usize) {
    remember_place(thread, address, place);
    let count = thread.bare_count as usize;
    let is_private = !word & quiet_at(bytes_of(address, size)) == 0
        && (thread.stack_low..thread.stack_high).contains(&address);
    if count < BARE && thread.locks == 0 && thread.depth > 0 && !is_private {
        let (key, writes) = (thread.key, access == Access::Write);
        thread.bare[count] = Bare { address, place, key, size: size as u32, writes };
        thread.bare_count += 1;
    }
}

/// Keeps where an access without a record was made.
#[inline(always)]
pub(crate) fn remember_place(thread: &mut Thread, address: usize, place: usize) {
    thread.recent[(address >> 3) % RECENT] = (address & !7, place);
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
    thread.keep_others_out();
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
        let is_there = known & (WHEN | LATE) == key | LATE && !known & bytes_of(address, size as usize) == 0;
        let recorded = known & !LATE;
        if is_there && own.compare_exchange(known, recorded, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            stream::record_in(thread, open, access.kind(), size as u8, address as u64, place);
        }
        stripe.unlock();
    }
    thread.let_others();
}

/// How far down blocks are looked through for an access, of which there are many.
const DEPTH: usize = 64;

/// How many of a thread's blocks were open in the period `when` and still are; nothing if that would take long to find out.
#[inline(always)]
fn open_since(thread: &Thread, when: u64) -> Option<usize> {
    open_in(thread.frames, thread.depth.min(FRAMES), when, DEPTH)
}

/// How many of these frames were there in the period `when`. Numbers of periods grow, so it is the outer ones. Nothing if it is not
/// found among so many.
#[inline(always)]
pub(crate) fn open_in(frames: *const Frame, depth: usize, when: u64, most: usize) -> Option<usize> {
    let further = depth.saturating_sub(most);
    // SAFETY: there is room for so many frames.
    let is_older = |&open: &usize| open == 0 || unsafe { (*frames.add(open - 1)).entered } <= when;
    (further..=depth).rev().find(is_older)
}

/// Records a late access on behalf of the thread that made it, if that is still where it was. True if so.
///
/// The other thread goes on meanwhile, so what is read here may be torn. It is believed only if nothing has changed before and
/// after, and after the place of the record among all others was taken: what the other thread records itself, it
/// records later. It announces no blocks meanwhile, nor does anybody else on its behalf.
#[cold]
#[inline(never)]
pub(crate) fn act_for(late: u64, kind: Kind, address: usize, bytes: u64) -> bool {
    if bytes == 0 {
        return false;
    }
    let when = late & WHEN;
    let other = thread::of_index(thread::index_of(late));
    if other.is_null() {
        return false;
    }
    // SAFETY: what is known about threads lives for ever.
    let on_behalf = unsafe { &(*other).on_behalf };
    // A stripe is held, and its owner may wait for it.
    if !(0..TRIES).any(|_| on_behalf.try_lock()) {
        return false;
    }
    // SAFETY: as above; and nobody else does anything on its behalf now.
    let is_recorded = unsafe { act_alone_for(other, when, kind, address, bytes) };
    on_behalf.unlock();
    is_recorded
}

/// How often to ask for the right to act for another thread, which has it itself for a moment.
const TRIES: u32 = 1000;

/// # Safety
/// It is a thread's, and nobody else does anything on its behalf.
unsafe fn act_alone_for(other: *const Thread, when: u64, kind: Kind, address: usize, bytes: u64) -> bool {
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
        if (&raw const (*other).unmarked_count).read_volatile() > 0
            && handover::mark_for(other) != Marked::Yes
        {
            return false;
        }
        let before = now();
        let (_, depth, announced) = before;
        let depth = (depth as usize).min(FRAMES);
        let frames = (*other).frames;
        let Some(open) = open_in(frames, depth, when, DEPTH) else { return false };
        // Read now: once the record is made, the thread may be in another block.
        let entered = if open == 0 { 0 } else { (*frames.add(open - 1)).entered };
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
            kind,
            place: if at & !7 == address & !7 { place } else { 0 },
        };
        let start = address & !(GRANULE - 1);
        if !stream::record_late(&late, start, bytes as u16, || now() == before) {
            return false;
        }
        if open > announced {
            (&raw const (*other).announced_by_other).cast_mut().write_volatile(entered);
        }
    }
    true
}

/// Whether nobody can be asked any more to record what a word tells of.
#[inline(always)]
pub(crate) fn is_over(other: u64) -> bool {
    let thread = thread::of_index(thread::index_of(other));
    // SAFETY: what is known about threads lives for ever.
    other & LATE == 0
        || thread.is_null()
        || unsafe { (&raw const (*thread).received).read_volatile() } > other & WHEN
}
