//! How often each function was entered, exactly, by path (see `blocks.rs`): a part of the table that the command shares.
//!
//! A thread counts the functions of late in words of its own, each at the place that its path hashes to; another function that
//! wants the place has the count added up. So a call costs a load, a compare and a store, and a crash loses nothing.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use crate::blocks::{Blocks, Call};
use crate::epoch::INDEXES;
use crate::table::{Counter, ENTERED, Table};
use crate::thread::Thread;

pub(crate) const ENTRIES: usize = 1 << 15;
pub(crate) const ENTRY: usize = 8;
pub(crate) const WORDS: usize = ENTRIES * ENTRY;

/// Functions of late that a thread counts by itself: a path and a number each.
pub const RECENT_BITS: u32 = 10;
/// What a path is multiplied with: the upper bits of the product, [`RECENT_BITS`], say which pair is its own.
pub const HASH: u64 = 0x9e37_79b9_7f4a_7c15;
pub(crate) const THREAD_WORDS: usize = 2 << RECENT_BITS;
pub(crate) const COUNT_WORDS: usize = INDEXES * THREAD_WORDS;

/// The first word of a path's pair.
#[inline(always)]
fn place_of(path: u64) -> usize {
    (path.wrapping_mul(HASH) >> (64 - RECENT_BITS)) as usize * 2
}

const PATH: usize = 1;
const FUNCTION: usize = 2;
const CALLER: usize = 3;
const SITE: usize = 4;
const MAPS: usize = 5;
const COUNT: usize = 6;
const OFF_TRIAL: usize = 7;

/// A function that was entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entered {
    /// By what it is counted.
    pub path: u64,
    /// The function.
    pub function: u64,
    /// The path of its caller; 0 if it is deeper in the stack than paths tell.
    pub caller: u64,
    /// Where it was called first.
    pub site: u64,
    /// How many copies of the memory map there were then.
    pub maps: u64,
    /// How often it was entered.
    pub count: u64,
    /// How many of its instances, or pieces of them, were off trial for a part of their time.
    pub off_trial: u64,
}

impl Table {
    /// Counts the innermost block of a thread, which has just been entered.
    #[inline(always)]
    pub(crate) fn count_entry(&self, thread: &Thread) {
        let Some(frame) = thread.blocks().innermost_frame() else { return };
        let path = thread.blocks().path(frame);
        let place = place_of(path);
        let counts = self.counts(thread.index());
        if counts[place].load(Relaxed) == path {
            counts[place + 1].store(counts[place + 1].load(Relaxed) + 1, Relaxed);
        } else {
            let Call { function, site, .. } = thread.blocks().call(frame);
            self.count_anew(thread, frame, function, site);
        }
    }

    /// Where a thread counts by itself, for hooks that do so: pairs of a path and a number, each at [`place_of`] its path.
    pub fn recent(&self, thread: &Thread) -> *const AtomicU64 {
        self.counts(thread.index()).as_ptr()
    }

    /// Counts a function that the thread enters below so many open blocks, and gives it the place that its path hashes to.
    #[cold]
    #[inline(never)]
    pub fn count_anew(&self, thread: &Thread, frame: usize, function: u64, site: u64) {
        let blocks = thread.blocks();
        let new = blocks.path_of(function, frame);
        let place = place_of(new);
        let [path, count] = [0, 1].map(|word| &self.counts(thread.index())[place + word]);
        let before = path.load(Relaxed);
        if before == new {
            count.store(count.load(Relaxed) + 1, Relaxed);
            return;
        }
        if before != 0 {
            // It is there already: nothing is filled in.
            self.add_entered(before, count.load(Relaxed), |_| {});
        }
        count.store(1, Relaxed);
        path.store(new, Relaxed);
        let caller = if Blocks::is_whole(new) { blocks.caller_path(frame) } else { 0 };
        self.add_entered(new, 0, |entry| {
            let words =
                [(FUNCTION, function), (CALLER, caller), (SITE, site), (MAPS, self.get(Counter::Maps))];
            words.into_iter().for_each(|(word, value)| self.0[entry + word].store(value, Relaxed));
        });
    }

    fn add_entered(&self, path: u64, count: u64, fill: impl FnOnce(usize)) {
        let is_meant = |entry: usize| self.0[entry + PATH].load(Relaxed) == path;
        let fill = |entry: usize| {
            self.0[entry + PATH].store(path, Relaxed);
            fill(entry);
        };
        match self.entry(ENTERED, path, is_meant, fill) {
            Some(entry) => _ = self.0[entry + COUNT].fetch_add(count, Relaxed),
            None if count == 0 => self.add(Counter::LostFunctions, 1),
            None => {}
        }
    }

    /// Counts an instance that was off trial for a part of its time.
    #[cold]
    pub(crate) fn count_off_trial(&self, path: u64) {
        let is_meant = |entry: usize| self.0[entry + PATH].load(Relaxed) == path;
        let fill = |entry: usize| self.0[entry + PATH].store(path, Relaxed);
        if let Some(entry) = self.entry(ENTERED, path, is_meant, fill) {
            self.0[entry + OFF_TRIAL].fetch_add(1, Relaxed);
        }
    }

    fn indexes(&self) -> usize {
        (self.get(Counter::Indexes) as usize).min(INDEXES)
    }

    /// How many thread indexes entered any function.
    pub fn active_threads(&self) -> usize {
        (0..self.indexes())
            .filter(|&thread| self.counts(thread).iter().any(|word| word.load(Relaxed) != 0))
            .count()
    }

    /// The functions that were entered.
    pub fn entered(&self) -> Vec<Entered> {
        let mut entered: Vec<Entered> = self
            .written(ENTERED)
            .map(|entry| {
                let word = |word: usize| self.0[entry + word].load(Relaxed);
                Entered {
                    path: word(PATH),
                    function: word(FUNCTION),
                    caller: word(CALLER),
                    site: word(SITE),
                    maps: word(MAPS),
                    count: word(COUNT),
                    off_trial: word(OFF_TRIAL),
                }
            })
            .collect();
        entered.sort_unstable_by_key(|entered| entered.path);
        for thread in 0..self.indexes() {
            for place in self.counts(thread).chunks_exact(2) {
                let (path, count) = (place[0].load(Relaxed), place[1].load(Relaxed));
                if let Ok(at) = entered.binary_search_by_key(&path, |entered| entered.path) {
                    entered[at].count += count;
                }
            }
        }
        entered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Config, Engine};
    use crate::memory::Words;
    use crate::table;

    #[test]
    fn every_entry_is_counted() {
        let table = Table(Words::reserve(table::WORDS).expect("memory"));
        let config = Config { address_bits: 20, ..Config::PROGRAM };
        let engine = Engine::new(&config, table).expect("memory");
        let first = engine.start(None).expect("a thread");
        let second = engine.start(Some(first)).expect("a thread");
        // More functions than a thread counts by itself, from two threads.
        for round in 0..3 {
            for function in 1..=2_000 {
                for thread in [first, second] {
                    engine.begin(thread, &Call { function: 1 << 20, site: 7, stack: 0 });
                    engine.begin(thread, &Call { function: function * 16, site: 8 + round, stack: 0 });
                    engine.end(thread);
                    engine.end(thread);
                }
            }
        }
        let entered = engine.findings.entered();
        let total = |function| {
            let of_function = entered.iter().filter(|entered| entered.function == function);
            of_function.map(|entered| entered.count).sum::<u64>()
        };
        assert_eq!(total(1 << 20), 12_000);
        assert!((1..=2_000).all(|function| total(function * 16) == 6));
        assert_eq!(engine.findings.get(Counter::LostFunctions), 0);
        // In the second thread, the outer function is the bottom of the stack, and calls the others.
        let outer = entered.iter().find(|entered| entered.function == 1 << 20 && entered.caller == 2);
        let outer = outer.expect("the outer function");
        assert_eq!((outer.count, outer.site), (6_000, 7));
        assert_eq!(entered.iter().filter(|entered| entered.caller == outer.path).count(), 2_000);
    }
}
