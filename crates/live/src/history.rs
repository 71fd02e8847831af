//! The join history of a thread index: what its clock learned, when, from whom and where.
//!
//! The clock of thread `s` at time `n` is never stored. A thread that depends on `(s, n)` already knows the clock of `s` at
//! the time up to which it knows `s`, so it needs only what `s` learned in between:
//!
//! ```text
//! joins of s    time 3: learned t2@9    time 5: learned t4@2, t1@7    time 8: learned t2@11
//! t1 knows s@4 and depends on s@6:      └── only this one ──┘
//! ```
//!
//! An entry has the time at which it takes effect, the epoch that was depended on, the variable and the access's site, and
//! the list of epochs that were news. Entries and news are in two rings; when one is full, its oldest entries are dropped
//! (`engine.rs` says why that changes no verdict). The owner appends while others read: they check afterwards that what
//! they read had not been dropped.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU64, fence};

use crate::access::{Access, Operation};
use crate::epoch::Epoch;
use crate::memory::Words;

const TIME: usize = 0;
const SOURCE: usize = 1;
const ADDRESS: usize = 2;
const SITE: usize = 3;
const WHAT: usize = 4;
const PATH: usize = 5;
const NEWS: usize = 6;
const NEWS_END: usize = 7;
const WORDS: usize = 8;

/// One join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Join {
    /// The thread's time from which on it has effect.
    pub time: u64,
    /// The epoch that the thread depends on.
    pub source: Epoch,
    /// What made it depend.
    pub access: Access,
    /// How the thread came there, see [`crate::blocks::Blocks::way_in`]; 0 if no block was open.
    pub path: u64,
    /// Positions of what was news, in the ring of news.
    news: (u64, u64),
}

impl Join {
    /// A join; what was news is known to the history.
    pub fn new(time: u64, source: Epoch, access: Access, path: u64) -> Join {
        Join { time, source, access, path, news: (0, 0) }
    }
}

/// A ring of joins and a ring of what they brought.
#[derive(Debug)]
pub struct History {
    entries: Words,
    news: Words,
    /// Entries ever appended.
    end: AtomicU64,
    /// Entries ever dropped: the oldest that is kept.
    first: AtomicU64,
    /// News ever appended; the owner's.
    news_end: AtomicU64,
}

impl History {
    /// An empty history that keeps so many entries and news, both powers of two; none if there is no memory.
    pub fn new(entries: usize, news: usize) -> Option<History> {
        debug_assert!(entries.is_power_of_two() && news.is_power_of_two());
        Some(History {
            entries: Words::reserve(entries * WORDS)?,
            news: Words::reserve(news)?,
            end: AtomicU64::new(0),
            first: AtomicU64::new(0),
            news_end: AtomicU64::new(0),
        })
    }

    fn capacity(&self) -> u64 {
        (self.entries.len() / WORDS) as u64
    }

    fn word(&self, entry: u64, word: usize) -> &AtomicU64 {
        &self.entries[(entry & (self.capacity() - 1)) as usize * WORDS + word]
    }

    fn news_word(&self, position: u64) -> &AtomicU64 {
        &self.news[position as usize & (self.news.len() - 1)]
    }

    /// Adds what a join found to be news. The next [`History::append`] makes an entry of all that was added since the last.
    /// Entries that have to go are handed to `dropped`, one epoch at a time.
    pub fn add_news(&self, epoch: Epoch, dropped: impl FnMut(Epoch)) {
        let position = self.news_end.load(Relaxed);
        let oldest = |entry| self.word(entry, NEWS).load(Relaxed);
        self.drop_while(dropped, |entry| position - oldest(entry) >= self.news.len() as u64);
        self.news_word(position).store(epoch.word(), Relaxed);
        self.news_end.store(position + 1, Relaxed);
    }

    /// Appends the entry. Everything in it is visible to a thread that sees a stamp of its time or a later one.
    pub fn append(&self, join: &Join, dropped: impl FnMut(Epoch)) {
        self.drop_while(dropped, |entry| self.end.load(Relaxed) - entry >= self.capacity());
        let entry = self.end.load(Relaxed);
        let news = if entry == 0 { 0 } else { self.word(entry - 1, NEWS_END).load(Relaxed) };
        let Access { address, bytes, site, operation } = join.access;
        let what = operation as u64 | bytes << 8;
        let words = [join.time, join.source.word(), address, site, what, join.path];
        let words = words.into_iter().chain([news, self.news_end.load(Relaxed)]);
        for (i, word) in words.enumerate() {
            self.word(entry, i).store(word, Relaxed);
        }
        self.end.store(entry + 1, Release);
    }

    fn drop_while(&self, mut dropped: impl FnMut(Epoch), too_old: impl Fn(u64) -> bool) {
        let (mut first, end) = (self.first.load(Relaxed), self.end.load(Relaxed));
        while first < end && too_old(first) {
            self.news_of(&self.read(first)).for_each(&mut dropped);
            first += 1;
            self.first.store(first, Relaxed);
        }
        // Readers that find one of the words stored from here on also find the entry dropped.
        fence(Release);
    }

    fn read(&self, entry: u64) -> Join {
        let word = |word| self.word(entry, word).load(Relaxed);
        Join {
            time: word(TIME),
            source: Epoch::from_word(word(SOURCE)),
            access: Access {
                address: word(ADDRESS),
                bytes: word(WHAT) >> 8,
                site: word(SITE),
                operation: Operation::from_word(word(WHAT) & 0xff),
            },
            path: word(PATH),
            news: (word(NEWS), word(NEWS_END)),
        }
    }

    fn news_of(&self, join: &Join) -> impl Iterator<Item = Epoch> {
        (join.news.0..join.news.1).map(|position| Epoch::from_word(self.news_word(position).load(Relaxed)))
    }

    /// Whether the entry is kept, after all that was read of it.
    fn is_kept(&self, entry: u64) -> bool {
        fence(Acquire);
        self.first.load(Relaxed) <= entry
    }

    /// The first kept entry whose time is at least `time`, by bisection: times never decrease.
    fn first_at(&self, time: u64, end: u64) -> u64 {
        let (mut low, mut high) = (self.first.load(Acquire), end);
        while low < high {
            let middle = low.midpoint(high);
            if self.word(middle, TIME).load(Relaxed) < time { low = middle + 1 } else { high = middle }
        }
        // What was dropped meanwhile may have been read wrongly; all that is kept is later.
        low.max(self.first.load(Relaxed))
    }

    /// What the thread learned after time `after`, up to and including time `until`.
    pub fn learned(&self, after: u64, until: u64, mut learn: impl FnMut(Epoch)) {
        let end = self.end.load(Acquire);
        for entry in self.first_at(after + 1, end)..end {
            let join = self.read(entry);
            if !self.is_kept(entry) {
                continue;
            }
            if join.time > until {
                return;
            }
            for epoch in self.news_of(&join) {
                if !self.is_kept(entry) {
                    break;
                }
                learn(epoch);
            }
        }
    }

    /// The join up to time `until` by which the thread first learned of thread `index` at `time` or later.
    pub fn join_that_learned(&self, index: usize, time: u64, until: u64) -> Option<Join> {
        let end = self.end.load(Acquire);
        let entries = (self.first.load(Acquire)..end).map(|entry| (entry, self.read(entry)));
        let kept =
            entries.filter(|(entry, _)| self.is_kept(*entry)).take_while(|(_, join)| join.time <= until);
        let told =
            |join: &Join| self.news_of(join).any(|epoch| epoch.index() == index && epoch.time() >= time);
        kept.filter(|(_, join)| told(join)).find(|(entry, _)| self.is_kept(*entry)).map(|(_, join)| join)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(history: &History, after: u64, until: u64) -> Vec<(usize, u64)> {
        let mut all = Vec::new();
        history.learned(after, until, |epoch| all.push((epoch.index(), epoch.time())));
        all
    }

    fn join(history: &History, time: u64, news: &[(usize, u64)]) -> Vec<Epoch> {
        let mut dropped = Vec::new();
        for &(index, time) in news {
            history.add_news(Epoch::new(index, time), |epoch| dropped.push(epoch));
        }
        let source = Epoch::new(news[0].0, news[0].1);
        history.append(&Join::new(time, source, Access::NONE, 0), |epoch| dropped.push(epoch));
        dropped
    }

    #[test]
    fn only_what_was_learned_in_between_is_told() {
        let history = History::new(8, 8).expect("memory");
        join(&history, 3, &[(2, 9)]);
        join(&history, 5, &[(4, 2), (1, 7)]);
        join(&history, 8, &[(2, 11)]);
        assert_eq!(learned(&history, 4, 6), [(4, 2), (1, 7)]);
        assert_eq!(learned(&history, 0, 8), [(2, 9), (4, 2), (1, 7), (2, 11)]);
        assert_eq!(learned(&history, 5, 7), []);
        assert_eq!(history.join_that_learned(1, 6, 8).map(|join| join.time), Some(5));
        assert_eq!(history.join_that_learned(2, 10, 7), None);
    }

    #[test]
    fn the_oldest_entries_are_dropped_when_a_ring_is_full() {
        let history = History::new(2, 64).expect("memory");
        assert_eq!(join(&history, 1, &[(1, 1)]), []);
        assert_eq!(join(&history, 2, &[(1, 2)]), []);
        assert_eq!(join(&history, 3, &[(1, 3)]), [Epoch::new(1, 1)]);
        assert_eq!(learned(&history, 0, 9), [(1, 2), (1, 3)]);

        let history = History::new(64, 4).expect("memory");
        assert_eq!(join(&history, 1, &[(1, 1), (2, 1)]), []);
        assert_eq!(join(&history, 2, &[(3, 1), (4, 1)]), []);
        assert_eq!(join(&history, 3, &[(5, 1)]), [Epoch::new(1, 1), Epoch::new(2, 1)]);
        assert_eq!(learned(&history, 0, 9), [(3, 1), (4, 1), (5, 1)]);
    }
}
