//! Sets of locks with their modes, each kept once: a set is a number, and whether two of them keep their
//! holders apart is a walk over two short sorted lists.

use std::cmp::Ordering;

use atomvet_trace::{LockId, Mode};
use rustc_hash::FxHashMap;

use crate::predictive::stacks::{PathId, Stacks, exclusive};

/// A set of locks, each held shared or exclusively.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(in crate::predictive) struct LockSetId(u32);

impl LockSetId {
    /// No lock.
    pub(in crate::predictive) const EMPTY: LockSetId = LockSetId(0);
}

/// All sets of locks that were asked for.
#[derive(Debug)]
pub(in crate::predictive) struct LockSets {
    /// Sorted by lock, each lock once.
    sets: Vec<Box<[(LockId, Mode)]>>,
    number_of: FxHashMap<Box<[(LockId, Mode)]>, LockSetId>,
    intersections: FxHashMap<(LockSetId, LockSetId), LockSetId>,
    /// Per path, its locks.
    of_path: Vec<LockSetId>,
}

impl LockSets {
    /// The sets of all paths.
    pub(in crate::predictive) fn new(stacks: &Stacks) -> LockSets {
        let mut sets = LockSets {
            sets: Vec::new(),
            number_of: FxHashMap::default(),
            intersections: FxHashMap::default(),
            of_path: Vec::new(),
        };
        sets.intern(&mut Vec::new());
        let mut locks = Vec::new();
        for path in 0..stacks.path_count() as u32 {
            locks.clear();
            locks.extend(stacks.locks(PathId(path)));
            let set = sets.intern(&mut locks);
            sets.of_path.push(set);
        }
        sets
    }

    /// The number of a set; puts the locks in order.
    pub(in crate::predictive) fn intern(&mut self, locks: &mut Vec<(LockId, Mode)>) -> LockSetId {
        // Whoever holds a lock in both modes keeps out what the exclusive one keeps out.
        locks.sort_unstable_by_key(|&(lock, mode)| (lock, mode == Mode::Shared));
        locks.dedup_by_key(|&mut (lock, _)| lock);
        if let Some(&known) = self.number_of.get(locks.as_slice()) {
            return known;
        }
        let id = LockSetId(self.sets.len() as u32);
        self.sets.push(locks.as_slice().into());
        self.number_of.insert(locks.as_slice().into(), id);
        id
    }

    /// The locks of a path.
    #[inline]
    pub(in crate::predictive) fn of_path(&self, path: PathId) -> LockSetId {
        self.of_path[path.0 as usize]
    }

    /// The locks of a set, sorted.
    #[inline]
    pub(in crate::predictive) fn locks(&self, set: LockSetId) -> &[(LockId, Mode)] {
        &self.sets[set.0 as usize]
    }

    /// Whether two threads cannot hold these sets at the same time.
    #[inline]
    pub(in crate::predictive) fn exclude(&self, one: LockSetId, other: LockSetId) -> bool {
        let (mut one, mut other) = (self.locks(one), self.locks(other));
        while let ([(lock, mode), rest @ ..], [(lock2, mode2), rest2 @ ..]) = (one, other) {
            match lock.cmp(lock2) {
                Ordering::Less => one = rest,
                Ordering::Greater => other = rest2,
                Ordering::Equal if exclusive(*mode, *mode2) => return true,
                Ordering::Equal => (one, other) = (rest, rest2),
            }
        }
        false
    }

    /// What both sets keep out: the locks of both, exclusive where both are.
    pub(in crate::predictive) fn intersection(&mut self, one: LockSetId, other: LockSetId) -> LockSetId {
        if one == other {
            return one;
        }
        let key = (one.min(other), one.max(other));
        if let Some(&known) = self.intersections.get(&key) {
            return known;
        }
        let of_other = self.locks(other);
        let weaker = |&(lock, mode): &(LockId, Mode)| {
            let at = of_other.binary_search_by_key(&lock, |&(lock, _)| lock).ok()?;
            Some((lock, if mode == Mode::Shared { mode } else { of_other[at].1 }))
        };
        let mut common = self.locks(one).iter().filter_map(weaker).collect();
        let id = self.intern(&mut common);
        self.intersections.insert(key, id);
        id
    }
}
