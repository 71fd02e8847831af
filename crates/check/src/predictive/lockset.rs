//! Sets of locks, each held in a mode: a path without its order.
//!
//! What keeps two accesses apart is which locks are held, not in which order they were taken, so
//! paths that differ only in that are one lockset. Sets are interned and sorted: a question
//! about two of them costs the sum of their sizes, which are small.

use atomvet_trace::{LockId, Mode};
use rustc_hash::FxHashMap;

use super::stacks::{PathId, Stacks, exclusive};

/// A lockset of an execution.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocksetId(pub u32);

/// A lock and how it is held. A lock that a thread holds in both modes is held exclusively.
pub type Held = (LockId, Mode);

/// The locksets of all paths of an execution.
#[derive(Debug)]
pub struct Locksets {
    /// Each sorted by lock, every lock once.
    sets: Vec<Box<[Held]>>,
    /// Per path.
    of_path: Vec<LocksetId>,
}

impl Locksets {
    /// The lockset of every path.
    pub fn new(stacks: &Stacks) -> Locksets {
        let mut ids: FxHashMap<Box<[Held]>, LocksetId> = FxHashMap::default();
        let mut sets = Vec::new();
        let of_path = (0..stacks.path_count() as u32).map(|path| {
            let mut locks: Vec<Held> = stacks.locks(PathId(path)).collect();
            locks.sort_unstable_by_key(|&(lock, mode)| (lock, mode != Mode::Exclusive));
            locks.dedup_by_key(|&mut (lock, _)| lock);
            let set: Box<[Held]> = locks.into();
            *ids.entry(set).or_insert_with_key(|set| {
                sets.push(set.clone());
                LocksetId(sets.len() as u32 - 1)
            })
        });
        let of_path = of_path.collect();
        Locksets { sets, of_path }
    }

    /// The lockset of a path.
    #[inline]
    pub fn of_path(&self, path: PathId) -> LocksetId {
        self.of_path[path.0 as usize]
    }

    /// Its locks, sorted.
    #[inline]
    pub fn locks(&self, set: LocksetId) -> &[Held] {
        &self.sets[set.0 as usize]
    }

    /// How a set holds a lock, if it does.
    #[inline]
    pub fn mode(&self, set: LocksetId, lock: LockId) -> Option<Mode> {
        self.locks(set).iter().find(|held| held.0 == lock).map(|held| held.1)
    }

    /// Whether two threads cannot hold these sets at once.
    pub fn exclude(&self, one: LocksetId, other: LocksetId) -> bool {
        let (mut one, mut other) = (self.locks(one), self.locks(other));
        while let ([(lock1, mode1), rest1 @ ..], [(lock2, mode2), rest2 @ ..]) = (one, other) {
            if lock1 == lock2 && exclusive(*mode1, *mode2) {
                return true;
            }
            if lock1 <= lock2 {
                one = rest1;
            }
            if lock2 <= lock1 {
                other = rest2;
            }
        }
        false
    }
}

/// Locks that everything seen so far held; before anything is seen, all of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Common {
    /// Nothing was seen.
    #[default]
    All,
    /// Only these, sorted.
    Only(Vec<LockId>),
}

impl Common {
    /// Something that holds these locks, given sorted, is seen.
    pub fn narrow(&mut self, held: impl Iterator<Item = LockId> + Clone) {
        match self {
            Common::All => *self = Common::Only(held.collect()),
            Common::Only(locks) => locks.retain(|&lock| held.clone().any(|other| other == lock)),
        }
    }

    /// Whether one of these locks is common to all.
    pub fn has_any(&self, mut held: impl Iterator<Item = LockId>) -> bool {
        match self {
            Common::All => true,
            Common::Only(locks) => held.any(|lock| locks.contains(&lock)),
        }
    }

    /// These locks; none while that means all.
    pub fn known(&self) -> impl Iterator<Item = LockId> + '_ {
        let known: &[LockId] = if let Common::Only(locks) = self { locks } else { &[] };
        known.iter().copied()
    }

    /// A lock turns out not to be held by all.
    pub fn lose(&mut self, lock: LockId) {
        if let Common::Only(locks) = self {
            locks.retain(|&other| other != lock);
        }
    }

    /// Whether something was seen, and no lock is common to all of it.
    pub fn is_empty(&self) -> bool {
        *self == Common::Only(Vec::new())
    }
}

/// The locks that are held exclusively.
pub fn exclusively(held: &[Held]) -> impl Iterator<Item = LockId> + Clone + '_ {
    held.iter().filter(|held| held.1 == Mode::Exclusive).map(|held| held.0)
}

/// The locks, in whatever mode.
pub fn in_any_mode(held: &[Held]) -> impl Iterator<Item = LockId> + Clone + '_ {
    held.iter().map(|held| held.0)
}
