//! Semaphores, barriers and publications, where operations on locks conflict: what these order, as in `docs/event-model.md`.
//!
//! ```text
//! semaphore     the n-th take depends on the n-th post; counts that were there from the start go first
//! barrier       who leaves depends on all who arrived in the same episode
//! publication   who observes depends on what each publisher did last
//! ```
//!
//! With data conflicts nothing here is called: only waits matter then, and they split blocks. So this is exact rather than fast: one
//! lock, one list per object. Nodes of epochs that nobody will ask for any more are used again. What finds no room orders nothing.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use crate::epoch::Epoch;
use crate::memory::Words;
use crate::spin;

/// Objects in use at a time, and epochs kept for them.
const OBJECTS: usize = 1 << 16;
const NODES: usize = 1 << 24;

const ADDRESS: usize = 0;
const KIND: usize = 1;
/// Counts that were there from the start; threads that take part in an episode.
const INITIAL: usize = 2;
/// Arrivals ever.
const ARRIVED: usize = 3;
const FIRST: usize = 4;
const LAST: usize = 5;
/// The list of the odd episodes.
const ODD: usize = 6;
const OBJECT: usize = 8;

/// What an object is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(crate) enum Kind {
    Semaphore = 1,
    Barrier = 2,
    Publication = 3,
}

/// All objects.
#[derive(Debug)]
pub(crate) struct Signals {
    objects: Words,
    /// Which of them are in use.
    used: Words,
    used_end: AtomicU64,
    /// Pairs: an epoch, and the number of the next node, 0 for none. Node 0 is not used.
    nodes: Words,
    lock: AtomicU64,
    free: AtomicU64,
    fresh: AtomicU64,
}

impl Signals {
    pub(crate) fn new() -> Option<Signals> {
        Some(Signals {
            objects: Words::reserve(OBJECTS * OBJECT)?,
            used: Words::reserve(OBJECTS)?,
            used_end: AtomicU64::new(0),
            nodes: Words::reserve(NODES * 2)?,
            lock: AtomicU64::new(0),
            free: AtomicU64::new(0),
            fresh: AtomicU64::new(1),
        })
    }

    /// An object begins its life with so many counts, or participants.
    pub(crate) fn initialise(&self, address: u64, kind: Kind, initial: u64) {
        let _held = spin::lock(&self.lock);
        if let Some(object) = self.find(address, kind) {
            self.begin(object, initial);
        }
    }

    /// Whatever is in this memory is over.
    pub(crate) fn forget(&self, address: u64, bytes: u64) {
        if self.used_end.load(Relaxed) == 0 {
            return;
        }
        let _held = spin::lock(&self.lock);
        let used = self.used[..self.used_end.load(Relaxed) as usize].iter();
        for object in used.map(|object| object.load(Relaxed) as usize) {
            if self.get(object, ADDRESS).wrapping_sub(address) < bytes {
                self.begin(object, 0);
            }
        }
    }

    fn begin(&self, object: usize, initial: u64) {
        for list in [FIRST, ODD] {
            self.empty(object, list);
        }
        for (word, value) in [(LAST, 0), (INITIAL, initial), (ARRIVED, 0)] {
            self.set(object, word, value);
        }
    }

    /// A semaphore is counted up.
    pub(crate) fn post(&self, address: u64, epoch: Epoch) {
        let _held = spin::lock(&self.lock);
        let Some(object) = self.find(address, Kind::Semaphore) else { return };
        let Some(node) = self.node(epoch) else { return };
        match self.get(object, LAST) {
            0 => self.set(object, FIRST, node),
            last => self.next(last).store(node, Relaxed),
        }
        self.set(object, LAST, node);
    }

    /// A semaphore is counted down: the post that made it possible, if there was one.
    pub(crate) fn take(&self, address: u64) -> Option<Epoch> {
        let _held = spin::lock(&self.lock);
        let object = self.find(address, Kind::Semaphore)?;
        let (initial, first) = (self.get(object, INITIAL), self.get(object, FIRST));
        if initial > 0 {
            self.set(object, INITIAL, initial - 1);
            return None;
        }
        let epoch = (first != 0).then(|| Epoch::from_word(self.epoch(first).load(Relaxed)))?;
        self.set(object, FIRST, self.next(first).load(Relaxed));
        if self.get(object, FIRST) == 0 {
            self.set(object, LAST, 0);
        }
        self.release(first);
        Some(epoch)
    }

    /// A thread arrives at a barrier: the episode, for [`Signals::leave`].
    pub(crate) fn arrive(&self, address: u64, epoch: Epoch) -> u64 {
        let _held = spin::lock(&self.lock);
        let Some(object) = self.find(address, Kind::Barrier) else { return 0 };
        let (arrived, threads) = (self.get(object, ARRIVED), self.get(object, INITIAL).max(1));
        let episode = arrived / threads;
        if arrived % threads == 0 {
            // Whoever was in the last episode but one has left it: all of its threads have arrived once more since.
            self.empty(object, list_of(episode));
        }
        self.set(object, ARRIVED, arrived + 1);
        self.push(object, list_of(episode), epoch);
        episode
    }

    /// Those who arrived in an episode.
    pub(crate) fn leave(&self, address: u64, episode: u64, each: impl FnMut(Epoch)) {
        let _held = spin::lock(&self.lock);
        if let Some(object) = self.find(address, Kind::Barrier) {
            self.each(object, list_of(episode), each);
        }
    }

    /// A thread makes known what it has done: this replaces what it made known before.
    pub(crate) fn publish(&self, address: u64, epoch: Epoch) {
        let _held = spin::lock(&self.lock);
        let Some(object) = self.find(address, Kind::Publication) else { return };
        let nodes = self.nodes_of(object, FIRST);
        let own = nodes
            .map(|node| self.epoch(node))
            .find(|of| Epoch::from_word(of.load(Relaxed)).index() == epoch.index());
        match own {
            Some(own) => own.store(epoch.word(), Relaxed),
            None => self.push(object, FIRST, epoch),
        }
    }

    /// What was made known.
    pub(crate) fn published(&self, address: u64, each: impl FnMut(Epoch)) {
        let _held = spin::lock(&self.lock);
        if let Some(object) = self.find(address, Kind::Publication) {
            self.each(object, FIRST, each);
        }
    }

    fn get(&self, object: usize, word: usize) -> u64 {
        self.objects[object + word].load(Relaxed)
    }

    fn set(&self, object: usize, word: usize, value: u64) {
        self.objects[object + word].store(value, Relaxed);
    }

    fn epoch(&self, node: u64) -> &AtomicU64 {
        &self.nodes[node as usize * 2]
    }

    fn next(&self, node: u64) -> &AtomicU64 {
        &self.nodes[node as usize * 2 + 1]
    }

    /// The object of a kind at an address, which begins now if it is not known.
    fn find(&self, address: u64, kind: Kind) -> Option<usize> {
        let start = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        for i in 0..OBJECTS {
            let object = (start + i) % OBJECTS * OBJECT;
            let there = self.get(object, ADDRESS);
            if there == address && self.get(object, KIND) == kind as u64 {
                return Some(object);
            }
            if there == 0 {
                self.set(object, ADDRESS, address);
                self.set(object, KIND, kind as u64);
                self.used[self.used_end.fetch_add(1, Relaxed) as usize].store(object as u64, Relaxed);
                return Some(object);
            }
        }
        None
    }

    fn push(&self, object: usize, list: usize, epoch: Epoch) {
        if let Some(node) = self.node(epoch) {
            self.next(node).store(self.get(object, list), Relaxed);
            self.set(object, list, node);
        }
    }

    fn nodes_of(&self, object: usize, list: usize) -> impl Iterator<Item = u64> {
        let next = |&node: &u64| Some(self.next(node).load(Relaxed));
        core::iter::successors(Some(self.get(object, list)), next).take_while(|&node| node != 0)
    }

    fn each(&self, object: usize, list: usize, each: impl FnMut(Epoch)) {
        let nodes = self.nodes_of(object, list);
        nodes.map(|node| Epoch::from_word(self.epoch(node).load(Relaxed))).for_each(each);
    }

    fn empty(&self, object: usize, list: usize) {
        let mut node = self.get(object, list);
        self.set(object, list, 0);
        while node != 0 {
            let next = self.next(node).load(Relaxed);
            self.release(node);
            node = next;
        }
    }

    fn release(&self, node: u64) {
        self.next(node).store(self.free.load(Relaxed), Relaxed);
        self.free.store(node, Relaxed);
    }

    fn node(&self, epoch: Epoch) -> Option<u64> {
        let mut node = self.free.load(Relaxed);
        if node == 0 {
            node = self.fresh.load(Relaxed);
            if node as usize == NODES {
                return None;
            }
            self.fresh.store(node + 1, Relaxed);
        } else {
            self.free.store(self.next(node).load(Relaxed), Relaxed);
        }
        self.epoch(node).store(epoch.word(), Relaxed);
        self.next(node).store(0, Relaxed);
        Some(node)
    }
}

fn list_of(episode: u64) -> usize {
    if episode.is_multiple_of(2) { FIRST } else { ODD }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(each: impl FnOnce(&mut dyn FnMut(Epoch))) -> Vec<Epoch> {
        let mut found = Vec::new();
        each(&mut |epoch| found.push(epoch));
        found.sort_unstable_by_key(|epoch| epoch.word());
        found
    }

    #[test]
    fn the_nth_take_depends_on_the_nth_post_after_the_counts_from_the_start() {
        let signals = Signals::new().expect("memory");
        let [first, second] = [Epoch::new(1, 5), Epoch::new(2, 7)];
        signals.initialise(64, Kind::Semaphore, 1);
        signals.post(64, first);
        assert_eq!(signals.take(64), None);
        signals.post(64, second);
        assert_eq!([signals.take(64), signals.take(64), signals.take(64)], [Some(first), Some(second), None]);
        signals.post(64, second);
        signals.initialise(64, Kind::Semaphore, 0);
        assert_eq!(signals.take(64), None, "what was posted before is over");
    }

    #[test]
    fn who_leaves_a_barrier_depends_on_its_episode_only() {
        let signals = Signals::new().expect("memory");
        signals.initialise(64, Kind::Barrier, 2);
        let epoch = |index, time| Epoch::new(index, time);
        assert_eq!([signals.arrive(64, epoch(1, 1)), signals.arrive(64, epoch(2, 1))], [0, 0]);
        // The first is at the next episode before the second has left.
        assert_eq!(signals.arrive(64, epoch(1, 2)), 1);
        assert_eq!(all(|each| signals.leave(64, 0, each)), [epoch(1, 1), epoch(2, 1)]);
        assert_eq!(signals.arrive(64, epoch(2, 2)), 1);
        assert_eq!(signals.arrive(64, epoch(2, 3)), 2);
        assert_eq!(all(|each| signals.leave(64, 1, each)), [epoch(1, 2), epoch(2, 2)]);
    }

    #[test]
    fn an_observer_depends_on_what_each_publisher_did_last() {
        let signals = Signals::new().expect("memory");
        for epoch in [Epoch::new(1, 1), Epoch::new(2, 4), Epoch::new(1, 9)] {
            signals.publish(64, epoch);
        }
        assert_eq!(all(|each| signals.published(64, each)), [Epoch::new(1, 9), Epoch::new(2, 4)]);
    }
}
