//! Accesses under way: what makes the order of records the order of accesses.
//!
//! An access that no record covers is noted, or recorded, before it is made. Nobody whose access conflicts with it may come
//! in between, or else the records would say the opposite of what happened. There are two ways to keep others out:
//!
//! - **Stripes.** An access that comes as far as the agent holds the lock of its stripe until it is over.
//! - **Cells.** A late access where a word is quiet (`crates/recorder/src/shadow.rs`) is noted by the hook class alone, in a
//!   word that others only take something away from. Its thread says in its cell where the access is, and then
//!   changes the word by compare-and-set. Who conflicts with it holds the stripe, takes the mark away, likewise by
//!   compare-and-set, and then looks at the cell. Of the two changes one comes first: if it is the owner's, the other
//!   sees its cell, and waits; if not, the owner's fails, and it takes the other way. So threads that have a piece of
//!   memory to themselves, or only read it, never write to memory of each other's.
//!
//! Where a thread has no word yet, the hook class makes one that is quiet (`isFirst`), if nobody else has one. Both ways begin with a bit in
//! the summary of what is known about this memory, so that of two threads that are there for the first time at once, one sees the other's
//! bit, or the other sees its word.
//!
//! The end of an access is one store in both ways: of 0 to where its thread's cell says (`accessed` of the hook class).
//!
//! Covered accesses keep nobody out: should another thread's access come between the check and the access, an
//! order from that one to this one is lost, but never one invented.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::lock::Spin;
use crate::ring::Kind;
use crate::shadow::Access;
use crate::thread::{self, Thread};
use crate::{atomics, planes, shadow, sys};

/// What a thread is accessing. The hook class knows how it is laid out.
#[derive(Default)]
#[repr(C, align(64))]
struct Cell {
    /// Where a 0 is to be written when the access is over: a stripe, or `place` below. 0 if none is under way.
    end: AtomicU64,
    /// Which memory a late access is about, see [`place`]; 0 if none is under way.
    place: AtomicU32,
    /// How many blocks are open, how many of them the recorder knows, and their sites: for the hook class alone, which finds them here
    /// sooner than in an object of Java's. Then the recorder's thread.
    _depth: u32,
    _known: u32,
    _blocks: u64,
    _recorder: u64,
    /// What the word of writes said before an atomic was accessed again, and what it says since.
    before: AtomicU64,
    written: AtomicU64,
}

/// Cells are found by the JVM's number of a thread, which it never uses twice; so many are told apart.
const CELLS: usize = 1 << 26;
static ALL_CELLS: AtomicPtr<Cell> = AtomicPtr::new(core::ptr::null_mut());
/// The cells of threads by their index in the filter.
static CELLS_BY_INDEX: [AtomicPtr<Cell>; 1 << 12] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; 1 << 12];

/// Reserves the cells. False if there is no room.
pub(crate) fn reserve() -> bool {
    let cells = sys::reserve(CELLS * size_of::<Cell>());
    ALL_CELLS.store(cells.cast(), Ordering::Release);
    !cells.is_null()
}

/// Where the cells are, and which part of a thread's number tells them apart.
pub(crate) fn cells() -> (usize, usize) {
    (ALL_CELLS.load(Ordering::Acquire) as usize, CELLS - 1)
}

/// A thread has this number in the JVM.
pub(crate) fn begins(thread: &Thread, number: i64) {
    let cells = ALL_CELLS.load(Ordering::Acquire);
    // SAFETY: one of the reserved cells.
    let cell = unsafe { cells.add(number as usize % CELLS) };
    CELLS_BY_INDEX[thread.index as usize].store(cell, Ordering::Release);
}

/// A lock that is held across an access.
#[repr(align(64))]
struct Stripe(AtomicU32);

/// Few enough to stay in a cache, of which they take a line each; two threads need the same one at the same time too rarely
/// to matter.
const STRIPES: usize = 1024;
/// All bytes of a word of the filter have the same one.
pub(crate) const STRIPE_SHIFT: usize = 4;
static STRIPE_LOCKS: [Stripe; STRIPES] = [const { Stripe(AtomicU32::new(0)) }; STRIPES];

/// Where the stripes are, and which part of an address tells them apart.
pub(crate) fn stripes() -> (usize, usize) {
    (&raw const STRIPE_LOCKS as usize, STRIPES - 1)
}

/// Holds the stripe of an address; 0 if it cannot be had.
pub(crate) fn hold(address: i64) -> i64 {
    let stripe = &STRIPE_LOCKS[(address as usize >> STRIPE_SHIFT) % STRIPES].0;
    let is_free = || stripe.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
    if is_free() || comes_true(is_free) { &raw const *stripe as i64 } else { 0 }
}

/// The same for who may be waited for by the one who holds it: 0 after some hundred microseconds.
pub(crate) fn hold_briefly(address: i64) -> i64 {
    const TRIES: u32 = 300;
    let stripe = &STRIPE_LOCKS[(address as usize >> STRIPE_SHIFT) % STRIPES].0;
    let is_free = || stripe.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
    let is_held = (0..TRIES).any(|tries| {
        if tries > TRIES / 2 {
            sys::pause();
        }
        is_free()
    });
    if is_held { &raw const *stripe as i64 } else { 0 }
}

/// Late accesses of others that conflict with this one are over when this returns, and no others begin before the stripe is
/// given back, which the thread holds.
pub(crate) fn stop_others(thread: &Thread, access: Access, address: usize, size: usize) {
    for (word, quiet) in planes::words_in_the_way(thread, access, address, size) {
        disturb(word, quiet, address);
    }
}

/// Locks what orders accesses to an atomic. Nobody else accesses it again without that from then on, in a way that concerns this access: not even
/// where the stripe of this file is not held, because a function of the program's ran in the meantime, or its owner was kept from running for long.
pub(crate) fn lock_atomic(thread: &Thread, access: Access, address: usize) -> &'static Spin {
    let stripe = shadow::stripe(address);
    stripe.lock();
    while atomics::marks_in_the_way(thread, access, address).next().is_some() {
        stripe.unlock();
        stop_repeating(thread, access, address);
        stripe.lock();
    }
    stripe
}

/// The same of accesses to an atomic that others have begun again.
pub(crate) fn stop_repeating(thread: &Thread, access: Access, address: usize) {
    for (word, marks) in atomics::marks_in_the_way(thread, access, address) {
        disturb(word, marks, address);
    }
}

/// An access to an atomic that needs neither a record nor a stripe is under way from here on, as a late access; where its end is to be told. Nothing
/// if it needs more than that.
#[inline(always)]
pub(crate) fn begin_again(
    thread: &mut Thread,
    kind: Kind,
    address: usize,
    size: usize,
    place: usize,
) -> Option<i64> {
    let cell = cell_of(thread.index as usize)?;
    let begin = |before, written| {
        cell.before.store(before, Ordering::Relaxed);
        cell.written.store(written, Ordering::Relaxed);
        cell.place.store(self::place(address), Ordering::Relaxed);
    };
    if atomics::access_again(thread, kind, address, size, place, begin) {
        return Some(&raw const cell.place as i64);
    }
    cell.place.store(0, Ordering::Release);
    None
}

/// The access that was begun again, and is still under way, did not write.
pub(crate) fn was_read(thread: &Thread, address: usize) {
    if let Some(cell) = cell_of(thread.index as usize) {
        let [before, written] = [&cell.before, &cell.written].map(|word| word.load(Ordering::Relaxed));
        atomics::was_read(address, before, written);
    }
}

fn cell_of(index: usize) -> Option<&'static Cell> {
    // SAFETY: cells are there for ever.
    unsafe { CELLS_BY_INDEX[index].load(Ordering::Acquire).as_ref() }
}

/// A word is not quiet any more in these quarters, and its thread knows it.
fn disturb(word: &AtomicU64, quiet: u64, address: usize) {
    let known = word.fetch_and(!quiet, Ordering::AcqRel);
    if known & quiet != 0 {
        wait_for(thread::index_of(known), address);
    }
}

/// What a cell says of a late access to this address; the hook class does the same. Never 0.
fn place(address: usize) -> u32 {
    (address >> STRIPE_SHIFT) as u32 | 1 << 31
}

#[inline]
fn wait_for(index: usize, address: usize) {
    if let Some(cell) = cell_of(index) {
        let is_over = || cell.place.load(Ordering::Acquire) != place(address);
        // If it is not over after all, the order is as it is.
        let _ = is_over() || comes_true(is_over);
    }
}

/// Waits for something that another thread does before or after its access. It may be stuck, loading the class of the
/// field it accesses: then false, after a while.
#[cold]
fn comes_true(something: impl Fn() -> bool) -> bool {
    const SPINS: u32 = 200;
    const PAUSES: u32 = 2_000;
    const NAPS: u32 = 2_000;
    (0..SPINS + PAUSES + NAPS).any(|tries| {
        match tries {
            0..SPINS => core::hint::spin_loop(),
            SPINS..PAUSES => sys::pause(),
            _ => sys::sleep(50),
        }
        something()
    })
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::AtomicBool;

    use super::*;
    use crate::shadow::QUIET;

    /// What `isLate` of the hook class does.
    fn begin_late(cell: &Cell, word: &AtomicU64, address: usize) -> bool {
        let known = word.load(Ordering::Relaxed);
        cell.place.store(place(address), Ordering::Relaxed);
        let is_late = known & QUIET != 0
            && word.compare_exchange(known, known, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        if !is_late {
            cell.place.store(0, Ordering::Release);
        }
        is_late
    }

    /// What `isFirst` of the hook class does.
    fn begin_first(cell: &Cell, word: &AtomicU64, summary: &AtomicU32, quiet: u64, address: usize) -> bool {
        const BYTES: u64 = 0xff;
        cell.place.store(place(address), Ordering::Relaxed);
        summary.fetch_or(MINE, Ordering::SeqCst);
        let change = |from, to| word.compare_exchange(from, to, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        let is_first =
            change(0, quiet) && summary.load(Ordering::SeqCst) & THEIRS == 0 && change(quiet, quiet | BYTES);
        if !is_first {
            word.fetch_and(!QUIET, Ordering::SeqCst);
            cell.place.store(0, Ordering::Release);
        }
        is_first
    }

    const MINE: u32 = 1;
    const THEIRS: u32 = 2;

    #[test]
    fn of_two_that_come_first_one_waits_for_the_other() {
        const INDEX: usize = 8;
        const ADDRESS: usize = 0x45670;
        const ROUNDS: u32 = 50_000;
        let quiet = (INDEX as u64) << thread::INDEX_SHIFT | QUIET;
        let cell = Cell::default();
        CELLS_BY_INDEX[INDEX].store((&raw const cell).cast_mut(), Ordering::Release);
        let (word, summary, is_inside) = (AtomicU64::new(0), AtomicU32::new(0), AtomicBool::new(false));
        let (begun, done) = (AtomicU32::new(0), AtomicU32::new(0));
        let wait = |count: &AtomicU32, round| {
            while count.load(Ordering::Acquire) != round {
                std::thread::yield_now();
            }
        };
        let (mut first, mut met) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    wait(&begun, round);
                    (0..round % 20).for_each(|_| core::hint::spin_loop());
                    // As the agent's `access` does.
                    summary.fetch_or(THEIRS, Ordering::Relaxed);
                    if word.load(Ordering::Relaxed) & QUIET != 0 {
                        disturb(&word, QUIET, ADDRESS);
                    }
                    is_inside.store(true, Ordering::Relaxed);
                    (0..10).for_each(|_| core::hint::spin_loop());
                    is_inside.store(false, Ordering::Relaxed);
                    done.store(round, Ordering::Release);
                }
            });
            for round in 1..=ROUNDS {
                word.store(0, Ordering::Relaxed);
                summary.store(0, Ordering::Relaxed);
                begun.store(round, Ordering::Release);
                (0..round / 20 % 20).for_each(|_| core::hint::spin_loop());
                if begin_first(&cell, &word, &summary, quiet, ADDRESS) {
                    first += 1;
                    met += u32::from((0..10).any(|_| is_inside.load(Ordering::Relaxed)));
                    cell.place.store(0, Ordering::Release);
                }
                wait(&done, round);
            }
        });
        CELLS_BY_INDEX[INDEX].store(core::ptr::null_mut(), Ordering::Release);
        assert!(first > 0, "nobody was ever first");
        assert_eq!(met, 0, "another thread was there during the first access");
    }

    #[test]
    fn nobody_comes_between_a_note_and_its_access() {
        const INDEX: usize = 7;
        const ADDRESS: usize = 0x12340;
        const VISITS: u32 = 50_000;
        let quiet = (INDEX as u64) << thread::INDEX_SHIFT | QUIET;
        let cell = Cell::default();
        CELLS_BY_INDEX[INDEX].store((&raw const cell).cast_mut(), Ordering::Release);
        let (word, is_inside, is_over) =
            (AtomicU64::new(quiet), AtomicBool::new(false), AtomicBool::new(false));
        let (has_been_late, mut met) = (AtomicBool::new(false), 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // However long it takes the other thread to come for the first time.
                let mut visits = 0;
                while visits < VISITS || !has_been_late.load(Ordering::Relaxed) {
                    visits += 1;
                    disturb(&word, QUIET, ADDRESS);
                    is_inside.store(true, Ordering::Relaxed);
                    (0..10).for_each(|_| core::hint::spin_loop());
                    is_inside.store(false, Ordering::Relaxed);
                    word.store(quiet, Ordering::Release);
                }
                is_over.store(true, Ordering::Relaxed);
            });
            while !is_over.load(Ordering::Relaxed) {
                if begin_late(&cell, &word, ADDRESS) {
                    has_been_late.store(true, Ordering::Relaxed);
                    met += u32::from((0..10).any(|_| is_inside.load(Ordering::Relaxed)));
                    cell.place.store(0, Ordering::Release);
                }
            }
        });
        CELLS_BY_INDEX[INDEX].store(core::ptr::null_mut(), Ordering::Release);
        assert_eq!(met, 0, "another thread was there during a late access");
    }
}
