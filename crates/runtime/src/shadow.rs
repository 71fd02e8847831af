//! The filter: which accesses need no record. Nearly all.
//!
//! For every 8 bytes of the program's memory there are four words, in four planes; a thread uses the plane of
//! its index modulo 4. A word says which bytes its thread has recorded as read and as written, in which
//! period, with no conflicting access of another thread since:
//!
//! ```text
//! word = index (14) | period (32) | foreign (1) | own (1) | written bytes (8) | read bytes (8)
//! ```
//!
//! An access that its thread's own word covers changes no verdict, because all blocks that are open now were
//! open when the record was made, nothing was received since (`thread.rs`), and so the record stands for it.
//! That costs two loads and two compares, no store, no lock.
//!
//! Any other access takes the lock of its stripe, takes away from the others' words what conflicts with it, and is
//! recorded under the lock, which makes the order of records the order of conflicting accesses.
//!
//! The two flags remember writes that the bytes no longer show: `own`, the word's thread wrote here once;
//! `foreign`, somebody did who had to share the word. They decide only whether an access receives something from
//! another thread and so begins a period; to believe so in error costs a record and is otherwise harmless.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::lock::Spin;
use crate::ring::Kind;
use crate::thread::{self, Thread};
use crate::{stream, sys};

/// Addresses are told apart by this many bits: programs, heaps, libraries and stacks of Linux do not meet.
const ADDRESS_BITS: u32 = 44;
const PLANE_BYTES: usize = 1 << ADDRESS_BITS;
const PLANES: usize = 4;
const WORD_OFFSET: usize = PLANE_BYTES - 8;

const STRIPES: usize = 1024;
static STRIPE_LOCKS: [Spin; STRIPES] = [const { Spin::new() }; STRIPES];

static mut BASE: usize = 0;

const READ_BYTES: u64 = 0xff;
const WRITTEN_BYTES: u64 = 0xff00;
const OWN: u64 = 1 << 16;
const FOREIGN: u64 = 1 << 17;
const WRITES_BEFORE: u64 = WRITTEN_BYTES | OWN | FOREIGN;

/// How memory is accessed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Reserves the planes. False if the address space is too small.
pub(crate) fn reserve() -> bool {
    let base = sys::reserve(PLANE_BYTES * PLANES);
    // SAFETY: called once, before any thread records.
    unsafe { BASE = base as usize };
    !base.is_null()
}

/// Where the words of a thread are.
pub(crate) fn plane(index: usize) -> usize {
    // SAFETY: written once, before any thread records.
    unsafe { BASE + index % PLANES * PLANE_BYTES }
}

/// Which bits of a word an access of `size` bytes at `address` needs.
#[inline(always)]
fn needed(access: Access, address: usize, size: usize) -> u64 {
    let bytes = ((1u64 << size) - 1) << (address & 7);
    match access {
        Access::Read => bytes,
        Access::Write => bytes << 8,
    }
}

/// # Safety
/// The plane is one of the reserved ones.
#[inline(always)]
unsafe fn word(plane: usize, address: usize) -> &'static AtomicU64 {
    // SAFETY: every masked address is inside a plane.
    unsafe { &*((plane + (address & WORD_OFFSET)) as *const AtomicU64) }
}

/// Whether a record covers this access of at most 8 bytes within one word.
#[inline(always)]
pub(crate) fn is_covered(thread: &Thread, access: Access, address: usize, size: usize) -> bool {
    if thread.plane == 0 {
        return false;
    }
    // SAFETY: the plane is set.
    let record = unsafe { word(thread.plane, address) }.load(Ordering::Relaxed);
    thread::is_since(record, thread.key) && !record & needed(access, address, size) == 0
}

/// The compiler's hook for an access that does not cross a word.
#[inline(always)]
pub(crate) fn access(access: Access, address: usize, size: usize, place: usize) {
    // SAFETY: the memory is this thread's.
    let thread = unsafe { &mut *thread::current() };
    thread.seen += 1;
    if !is_covered(thread, access, address, size) {
        record(access, address, size, place);
    }
}

/// An access of any length. Large ones are many of small ones.
#[inline(never)]
pub(crate) fn access_range(access: Access, address: usize, size: usize, place: usize) {
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
    if take_over(thread, access, address, size) {
        let kind = if access == Access::Read { Kind::Read } else { Kind::Write };
        stream::record(thread, kind, size as u8, address as u64, place);
    }
    stripe.unlock();
    thread.busy = 0;
}

/// The runtime is at work from here on, unless it is already, or wants to know nothing.
#[inline(always)]
pub(crate) fn enter(thread: &mut Thread) -> bool {
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

#[inline(always)]
pub(crate) fn stripe(address: usize) -> &'static Spin {
    &STRIPE_LOCKS[(address >> 3) % STRIPES]
}

/// Under the lock of the stripe: whether the access needs a record; if so, it is noted as recorded, and what
/// conflicts with it in the words of others is no longer.
#[inline(always)]
pub(crate) fn take_over(thread: &mut Thread, access: Access, address: usize, size: usize) -> bool {
    let needed_bits = needed(access, address, size);
    let bytes = needed(Access::Read, address, size);
    // SAFETY: threads that record have a plane.
    let own_word = unsafe { word(thread.plane, address) };
    let own = own_word.load(Ordering::Relaxed);
    let mine = thread::is_since(own, thread.birth);
    let covered_once = mine && !own & needed_bits == 0;
    if covered_once && thread::is_since(own, thread.key) {
        return false;
    }
    let conflicting = match access {
        Access::Read => bytes << 8,
        Access::Write => bytes | bytes << 8,
    };
    let mut receives = false;
    let my_plane = thread.plane;
    for index in 0..PLANES {
        let other_plane = plane(index);
        if other_plane == my_plane {
            continue;
        }
        // SAFETY: `plane` gives reserved ones.
        let other_word = unsafe { word(other_plane, address) };
        let other = other_word.load(Ordering::Relaxed);
        if other == 0 {
            continue;
        }
        receives |= conflicts(thread, other, conflicting, access);
        if other & conflicting != 0 {
            other_word.store(without(other, conflicting, access), Ordering::Relaxed);
        }
    }
    let mut flags = 0;
    if mine {
        flags |= own & (FOREIGN | OWN);
        if own & WRITTEN_BYTES != 0 {
            flags |= OWN;
        }
    } else if own != 0 {
        receives |= conflicts(thread, own, conflicting, access);
        if own & WRITES_BEFORE != 0 {
            flags |= FOREIGN;
        }
    }
    if receives && !covered_once {
        thread.receive();
    }
    let kept = if thread::is_since(own, thread.key) { own & (READ_BYTES | WRITTEN_BYTES) } else { 0 };
    own_word.store(thread.key | flags | kept | needed_bits | bytes, Ordering::Relaxed);
    true
}

/// Whether an access is ordered after what another thread's word tells, in a way that is news to `thread`.
#[inline(always)]
fn conflicts(thread: &Thread, other: u64, conflicting: u64, access: Access) -> bool {
    let before = match access {
        Access::Read => WRITTEN_BYTES & conflicting | OWN | FOREIGN,
        Access::Write => conflicting | OWN | FOREIGN,
    };
    if other & before == 0 {
        return false;
    }
    // What the creator did before the creation is no news.
    let by_creator = other >= thread.parent_birth && other < thread.parent_last;
    other & FOREIGN != 0 || !by_creator
}

/// What is left of another's word.
#[inline(always)]
fn without(other: u64, conflicting: u64, access: Access) -> u64 {
    match access {
        Access::Read => other & !conflicting | OWN,
        Access::Write => {
            let left = other & !conflicting;
            if left & (READ_BYTES | WRITTEN_BYTES | OWN | FOREIGN) == 0 { 0 } else { left }
        }
    }
}

/// Memory begins a new life: no word speaks of it any more.
pub(crate) fn forget(address: usize, bytes: usize) {
    const PAGE: usize = 4096;
    let (start, end) = (address & !7, (address + bytes + 7) & !7);
    let large = 16 * PAGE;
    let (first_page, last_page) = ((start + PAGE - 1) & !(PAGE - 1), end & !(PAGE - 1));
    for index in 0..PLANES {
        let plane = plane(index);
        let clear = |from: usize, to: usize| {
            for address in (from..to).step_by(8) {
                // SAFETY: `plane` gives reserved ones.
                let word = unsafe { word(plane, address) };
                if word.load(Ordering::Relaxed) != 0 {
                    word.store(0, Ordering::Relaxed);
                }
            }
        };
        if bytes < large {
            clear(start, end);
        } else {
            clear(start, first_page);
            sys::forget_pages(plane + (first_page & WORD_OFFSET), last_page - first_page);
            clear(last_page, end);
        }
    }
}

/// Whether any thread has recorded an access of this memory, or it is too long to look.
pub(crate) fn is_known(address: usize, bytes: usize) -> bool {
    const LONG: usize = 1 << 16;
    bytes >= LONG
        || (0..PLANES).any(|index| {
            let plane = plane(index);
            // SAFETY: `plane` gives reserved ones.
            (address & !7..address + bytes)
                .step_by(8)
                .any(|a| unsafe { word(plane, a) }.load(Ordering::Relaxed) != 0)
        })
}

/// In a new process: nobody holds a stripe.
pub(crate) fn reset_locks() {
    STRIPE_LOCKS.iter().for_each(Spin::reset);
}
