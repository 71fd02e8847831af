//! Shadow memory: the words of every granule of 4 bytes.
//!
//! One plane of words for the last write, one per slot for reads, one for the lists of stamps kept aside. A granule's word is
//! at the same place in each. Read-shared data has its reads in different planes, so its readers do not write to one
//! cache line: a common word cost 51 times the uninstrumented time on a matrix multiplication, separate planes 13.
//!
//! The planes are where programs map nothing by themselves, so that what is mapped later stays where it would be without us.
//! Addresses are told apart by 42 bits. Linux puts programs and their heaps at 0x555… to 0x565…, or low, and libraries
//! and stacks from 0x7ff… down; these would meet only after 2 TB of the latter.
//!
//! A *stripe* is a lock for the granules of some addresses. It orders slow paths that may meet in a program without races:
//! accesses to different bytes of a granule, and stamps kept aside. Accesses to whole granules need none.

use core::ops::Range;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use crate::epoch::{Bytes, SLOTS, Stamp};
use crate::memory::Words;
use crate::older::{Older, REGION};
use crate::spin::{self, Held};

/// Bytes of a granule.
pub const GRANULE: u64 = 4;

const STRIPES: usize = 1024;
/// Granules in a row that have the same stripe: an atomic object of up to 16 bytes has one.
const PER_STRIPE: usize = (STRIPE / GRANULE) as usize;
/// Their bytes.
pub(crate) const STRIPE: u64 = 16;
/// From so many granules on, a range is cleared by giving its memory back, where nothing is kept aside.
const LONG: u64 = 1 << 16;
/// Words of a cache line.
const LINE: usize = 8;

/// The planes.
#[derive(Debug)]
pub struct Shadow {
    mask: u64,
    writes: Words,
    reads: [Words; SLOTS],
    older: Older,
    /// Each lock alone in its cache line.
    stripes: Words,
}

/// The slots that may have read stamps.
fn slots(write: Stamp, in_use: u32) -> impl Iterator<Item = usize> {
    let slots = crate::rule::slots_to_check(write, in_use);
    (0..SLOTS).filter(move |slot| slots >> slot & 1 == 1)
}

impl Shadow {
    /// Planes for addresses of so many bits, one after another from an address on if that is free; none if the address space
    /// is too small.
    pub fn new(at: usize, address_bits: u32, older_nodes: usize) -> Option<Shadow> {
        let granules = 1usize << (address_bits - GRANULE.trailing_zeros());
        let plane = |number: usize| Words::reserve_near(at + number * granules * 8, granules);
        Some(Shadow {
            mask: granules as u64 - 1,
            writes: plane(0)?,
            reads: [plane(1)?, plane(2)?, plane(3)?, plane(4)?, plane(5)?, plane(6)?, plane(7)?, plane(8)?],
            older: Older::new(plane(9)?, older_nodes)?,
            stripes: Words::reserve(STRIPES * LINE)?,
        })
    }

    /// The granule of an address.
    #[inline(always)]
    pub fn granule(&self, address: u64) -> usize {
        ((address / GRANULE) & self.mask) as usize
    }

    /// The word of a granule's last write.
    #[inline(always)]
    pub fn write(&self, granule: usize) -> &AtomicU64 {
        &self.writes[granule]
    }

    /// The word of a granule's reads in a slot.
    #[inline(always)]
    pub fn read(&self, slot: usize, granule: usize) -> &AtomicU64 {
        &self.reads[slot][granule]
    }

    /// Stamps kept aside. The caller holds the granule's stripe.
    #[inline(always)]
    pub fn older(&self) -> &Older {
        &self.older
    }

    /// Locks a granule's stripe.
    #[inline(always)]
    pub fn lock(&self, granule: usize) -> Held<'_> {
        spin::lock(&self.stripes[granule / PER_STRIPE % STRIPES * LINE])
    }

    /// A new variable begins at each of these addresses: nothing is known of them. Threads have used these slots.
    pub fn clear(&self, address: u64, bytes: u64, in_use: u32) {
        let end = address.saturating_add(bytes);
        let (first, last) = (address.div_ceil(GRANULE), end / GRANULE);
        if first > last {
            return self.clear_bytes(address, end, in_use);
        }
        self.clear_bytes(address, first * GRANULE, in_use);
        let mut granules = first..last;
        if last - first >= LONG {
            granules = self.clear_long(first, last, in_use);
        }
        self.clear_each(granules, in_use);
        self.clear_bytes(last * GRANULE, end, in_use);
    }

    fn clear_each(&self, granules: Range<u64>, in_use: u32) {
        for granule in granules {
            let granule = (granule & self.mask) as usize;
            let write = Stamp(self.write(granule).load(Relaxed));
            // Every read stamp has a mark in the word of the last write, so an empty word says that there is none either.
            if write != Stamp::NONE {
                self.clear_granule(granule, write, in_use);
            }
        }
    }

    /// Clears a long range but for its end. The stack of a new thread is one: of its 8 MB, which others had before, little was used.
    fn clear_long(&self, first: u64, last: u64, in_use: u32) -> Range<u64> {
        let mut at = first;
        while at < last {
            let end = (at / REGION as u64 + 1) * REGION as u64;
            let (granule, end) = ((at & self.mask) as usize, end.min(last));
            if self.older.was_used_near(granule) {
                self.clear_each(at..end, in_use);
            }
            at = end;
        }
        let (granule, count) = ((first & self.mask) as usize, (last - first) as usize);
        if granule + count > self.writes.len() {
            return first..last;
        }
        self.writes.clear(granule, count);
        for slot in (0..SLOTS).filter(|slot| in_use >> slot & 1 == 1) {
            self.reads[slot].clear(granule, count);
        }
        last..last
    }

    fn clear_granule(&self, granule: usize, write: Stamp, in_use: u32) {
        for slot in slots(write, in_use) {
            self.read(slot, granule).store(0, Relaxed);
        }
        if write.has_older() || self.older.bytes_read(granule) != Bytes(0) {
            let _held = self.lock(granule);
            self.older.forget(granule);
        }
        self.write(granule).store(0, Relaxed);
    }

    /// The same for some bytes of one granule, from one address to another.
    #[inline(always)]
    fn clear_bytes(&self, first: u64, end: u64, in_use: u32) {
        if first < end {
            self.clear_part(first, end, in_use);
        }
    }

    #[inline(never)]
    fn clear_part(&self, first: u64, end: u64, in_use: u32) {
        let granule = self.granule(first);
        let bytes = Bytes::range((first % GRANULE) as usize, (end - first) as usize);
        let _held = self.lock(granule);
        let write = Stamp(self.write(granule).load(Relaxed));
        for slot in slots(write, in_use) {
            let read = self.read(slot, granule);
            read.store(Stamp(read.load(Relaxed)).without(bytes).0, Relaxed);
        }
        self.older.change(granule, |_, kept| kept.without(bytes));
        self.older.forget_reads(granule, bytes);
        // The flags stay: they may cost a slow path, and tell of nothing that is not there.
        self.write(granule).store(write.plain().without(bytes).0 | write.flags(), Relaxed);
    }
}
