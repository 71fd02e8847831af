//! Stamps that do not fit into a granule's words, kept aside so that none is lost.
//!
//! Three things bring stamps here: bytes of one granule with different epochs (two `int`s that are written under two
//! locks), more readers than slots, and updates of a commuting kind (atomic additions do not conflict with each other, so
//! each thread's last one has to be known). Most granules have none; the flag in the word of the last write says so.
//!
//! A granule's stamps are a list of nodes in an arena. All functions expect the caller to hold the granule's stripe
//! (`shadow.rs`). At most one stamp per thread, operation and byte is kept, so a list is bounded by the threads that use the
//! granule.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use crate::access::Operation;
use crate::epoch::{Bytes, Stamp};
use crate::memory::Words;
use crate::spin;

const STAMPS: usize = 3;
const NEXT: usize = 3;
const NODE: usize = 4;
/// Granules in a row of which it is known whether anything was kept for one of them.
pub(crate) const REGION: usize = 1 << 12;
const NODE_NUMBER: u64 = (1 << READ_SHIFT) - 1;
const READ_SHIFT: u32 = 56;

/// The stamps kept aside, of all granules.
#[derive(Debug)]
pub struct Older {
    /// Per granule, the number of its first node, 0 for none; above it, a bit for each byte whose value was read by an atomic
    /// load.
    heads: Words,
    /// A bit for each [`REGION`] whose heads were ever written.
    regions: Words,
    /// Nodes of 3 stamps and the number of the next node. Node 0 is not used.
    nodes: Words,
    /// Guards the two below.
    allocating: AtomicU64,
    /// The first free node; 0 for none.
    free: AtomicU64,
    /// The first node that was never used.
    fresh: AtomicU64,
    /// Stamps that were lost because all nodes were in use.
    lost: AtomicU64,
}

impl Older {
    /// Whether anything was ever kept for the granules around this one.
    pub(crate) fn was_used_near(&self, granule: usize) -> bool {
        let region = granule / REGION;
        self.regions[region / 64].load(Relaxed) >> (region % 64) & 1 == 1
    }

    fn note_use_near(&self, granule: usize) {
        if !self.was_used_near(granule) {
            let region = granule / REGION;
            self.regions[region / 64].fetch_or(1 << (region % 64), Relaxed);
        }
    }

    /// Room for the granules of a plane and so many nodes; none if there is no memory.
    pub fn new(heads: Words, nodes: usize) -> Option<Older> {
        Some(Older {
            regions: Words::reserve(heads.len().div_ceil(REGION * 64))?,
            heads,
            nodes: Words::reserve(nodes * NODE)?,
            allocating: AtomicU64::new(0),
            free: AtomicU64::new(0),
            fresh: AtomicU64::new(1),
            lost: AtomicU64::new(0),
        })
    }

    /// How many stamps were lost because there was no room.
    pub fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }

    fn word(&self, node: u64, word: usize) -> &AtomicU64 {
        &self.nodes[node as usize * NODE + word]
    }

    fn first_node(&self, granule: usize) -> u64 {
        self.heads[granule].load(Relaxed) & NODE_NUMBER
    }

    fn set_first_node(&self, granule: usize, node: u64) {
        let head = &self.heads[granule];
        // Not one step: `note_read` changes other bits, and the holder of the stripe alone changes these.
        head.fetch_and(!NODE_NUMBER, Relaxed);
        head.fetch_or(node, Relaxed);
        self.note_use_near(granule);
    }

    /// The value of these bytes is read: from now on, their updates do not commute.
    #[inline(always)]
    pub fn note_read(&self, granule: usize, bytes: Bytes) {
        if bytes.0 & !self.bytes_read(granule).0 != 0 {
            self.heads[granule].fetch_or((bytes.0 as u64) << READ_SHIFT, Relaxed);
            self.note_use_near(granule);
        }
    }

    /// The bytes whose value was read, as far as it was noted.
    #[inline(always)]
    pub fn bytes_read(&self, granule: usize) -> Bytes {
        Bytes((self.heads[granule].load(Relaxed) >> READ_SHIFT) as u8)
    }

    /// These bytes begin a new life, in which nobody has read them.
    pub fn forget_reads(&self, granule: usize, bytes: Bytes) {
        if self.bytes_read(granule).overlaps(bytes) {
            self.heads[granule].fetch_and(!((bytes.0 as u64) << READ_SHIFT), Relaxed);
        }
    }

    /// The granule begins a new life: nothing is known of it.
    pub fn forget(&self, granule: usize) {
        self.clear(granule);
        self.heads[granule].store(0, Relaxed);
    }

    fn nodes_of(&self, granule: usize) -> impl Iterator<Item = u64> {
        let first = self.first_node(granule);
        let next = |&node: &u64| Some(self.word(node, NEXT).load(Relaxed));
        core::iter::successors(Some(first), next).take_while(|&node| node != 0)
    }

    fn stamps_of(&self, granule: usize) -> impl Iterator<Item = &AtomicU64> {
        self.nodes_of(granule).flat_map(move |node| (0..STAMPS).map(move |i| self.word(node, i)))
    }

    /// The granule's stamps.
    pub fn all(&self, granule: usize) -> impl Iterator<Item = (Operation, Stamp)> {
        self.stamps_of(granule).map(|word| word.load(Relaxed)).filter(|&word| word != 0).map(unpack)
    }

    /// Replaces each stamp by what `change` makes of it; an empty one is removed. Whether any is left.
    pub fn change(&self, granule: usize, mut change: impl FnMut(Operation, Stamp) -> Stamp) -> bool {
        let mut left = false;
        for word in self.stamps_of(granule) {
            let old = word.load(Relaxed);
            if old == 0 {
                continue;
            }
            let (operation, stamp) = unpack(old);
            let new = change(operation, stamp);
            word.store(if new.is_empty() { 0 } else { pack(operation, new) }, Relaxed);
            left |= !new.is_empty();
        }
        if !left {
            self.clear(granule);
        }
        left
    }

    /// Adds a stamp, which may be of two times.
    pub fn add_both(&self, granule: usize, operation: Operation, stamp: Stamp) {
        for stamp in stamp.single() {
            if !stamp.is_empty() {
                self.add(granule, operation, stamp);
            }
        }
    }

    /// Adds a stamp of one time. It replaces earlier ones of its thread and operation for the same bytes.
    pub fn add(&self, granule: usize, operation: Operation, stamp: Stamp) {
        let mut stamp = stamp.plain();
        debug_assert!(stamp.earlier() == Bytes(0));
        self.change(granule, |other_operation, other| {
            if other_operation != operation || other.index() != stamp.index() {
                other
            } else if other.epoch() == stamp.epoch() {
                stamp = Stamp(stamp.0 | other.0);
                Stamp::NONE
            } else {
                other.without(stamp.bytes())
            }
        });
        let place = self.stamps_of(granule).find(|word| word.load(Relaxed) == 0);
        let place = place.or_else(|| {
            let node = self.allocate()?;
            self.word(node, NEXT).store(self.first_node(granule), Relaxed);
            self.set_first_node(granule, node);
            Some(self.word(node, 0))
        });
        match place {
            Some(place) => place.store(pack(operation, stamp), Relaxed),
            None => self.lost.store(self.lost() + 1, Relaxed),
        }
    }

    /// Removes all stamps of the granule.
    pub fn clear(&self, granule: usize) {
        let _held = spin::lock(&self.allocating);
        let mut node = self.first_node(granule);
        self.set_first_node(granule, 0);
        while node != 0 {
            let next = self.word(node, NEXT).load(Relaxed);
            for stamp in 0..STAMPS {
                self.word(node, stamp).store(0, Relaxed);
            }
            self.word(node, NEXT).store(self.free.load(Relaxed), Relaxed);
            self.free.store(node, Relaxed);
            node = next;
        }
    }

    fn allocate(&self) -> Option<u64> {
        let _held = spin::lock(&self.allocating);
        let free = self.free.load(Relaxed);
        if free != 0 {
            self.free.store(self.word(free, NEXT).load(Relaxed), Relaxed);
            return Some(free);
        }
        let fresh = self.fresh.load(Relaxed);
        let there = (fresh as usize) < self.nodes.len() / NODE;
        there.then(|| {
            self.fresh.store(fresh + 1, Relaxed);
            fresh
        })
    }
}

/// Here the operation stands where other words have the bytes of the time before.
fn pack(operation: Operation, stamp: Stamp) -> u64 {
    stamp.with_earlier(Bytes(operation as u8)).0
}

fn unpack(word: u64) -> (Operation, Stamp) {
    let stamp = Stamp(word);
    (Operation::from_word(u64::from(stamp.earlier().0)), stamp.with_earlier(Bytes(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::Epoch;

    fn stamp(index: usize, time: u64, bytes: u8) -> Stamp {
        Stamp::new(Epoch::new(index, time), Bytes(bytes))
    }

    #[test]
    fn a_later_stamp_replaces_earlier_ones_of_its_thread_and_operation() {
        let older = Older::new(Words::reserve(4).expect("memory"), 16).expect("memory");
        older.add(1, Operation::Read, stamp(1, 5, 0xf));
        older.add(1, Operation::Read, stamp(1, 6, 0x3));
        older.add(1, Operation::Read, stamp(2, 9, 0x3));
        older.add(1, Operation::Add, stamp(1, 7, 0x3));
        older.add(1, Operation::Read, stamp(1, 6, 0x4));
        let mut all: Vec<_> = older.all(1).collect();
        all.sort_by_key(|(operation, stamp)| (*operation as u8, stamp.0));
        let expected = [
            (Operation::Read, stamp(1, 5, 0x8)),
            (Operation::Read, stamp(2, 9, 0x3)),
            (Operation::Read, stamp(1, 6, 0x7)),
            (Operation::Add, stamp(1, 7, 0x3)),
        ];
        let mut expected = expected.to_vec();
        expected.sort_by_key(|(operation, stamp)| (*operation as u8, stamp.0));
        assert_eq!(all, expected);
        assert_eq!(older.all(2).count(), 0);
    }

    #[test]
    fn nodes_are_used_again() {
        let older = Older::new(Words::reserve(4).expect("memory"), 4).expect("memory");
        for round in 0..100 {
            for thread in 1..=9 {
                older.add(round % 4, Operation::Read, stamp(thread, 1, 0xf));
            }
            assert_eq!(older.all(round % 4).count(), 9);
            assert!(!older.change(round % 4, |_, _| Stamp::NONE));
        }
        assert_eq!(older.lost(), 0);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let older = Older::new(Words::reserve(4).expect("memory"), 2).expect("memory");
        (1..=5).for_each(|thread| older.add(0, Operation::Read, stamp(thread, 1, 0xf)));
        assert_eq!((older.all(0).count(), older.lost()), (3, 2));
    }
}
