//! Which periods of others a thread comes after: per thread, all from its first to some last one.
//!
//! Threads are told apart by their index, modulo how many are kept, and those that had the same index one after the other by when the
//! present one was born. To know too little is harmless.

use crate::shadow::WHEN;
use crate::thread::{self, STEP};

/// How many threads are told apart.
const THREADS: usize = 64;

/// Periods of other threads.
#[derive(Clone, Copy)]
pub struct Periods([Span; THREADS]);

/// Keys of one thread.
#[derive(Clone, Copy)]
struct Span {
    first: u64,
    last: u64,
}

impl Periods {
    /// None at all.
    pub const NONE: Periods = Periods([Span { first: 0, last: 0 }; THREADS]);

    /// Whether the period of a key, or of a word, is among them.
    #[inline(always)]
    pub fn contain(&self, key: u64) -> bool {
        let Span { first, last } = self.0[thread::index_of(key) % THREADS];
        (first..=last).contains(&(key & WHEN))
    }

    /// Notes a period, with all earlier ones of its thread.
    #[inline(always)]
    pub fn note(&mut self, key: u64) {
        if !self.contain(key) {
            let (birth, last) = (thread::birth_of(thread::index_of(key)), key & WHEN);
            // What is older than its index's present owner was done by one of whom nothing else is known.
            self.note_span(Span { first: if birth <= last { birth } else { last }, last });
        }
    }

    /// Notes all that a thread has done which is over.
    pub fn note_life(&mut self, birth: u64, last: u64) {
        self.note_span(Span { first: birth, last });
    }

    /// Notes what another thread came after.
    pub fn note_all(&mut self, others: &Periods) {
        others.0.iter().filter(|span| span.last != 0).for_each(|&span| self.note_span(span));
    }

    #[inline(always)]
    fn note_span(&mut self, span: Span) {
        let noted = &mut self.0[thread::index_of(span.last) % THREADS];
        if thread::index_of(noted.last) == thread::index_of(span.last) {
            if noted.last >= span.last {
                return;
            }
            // The next owner of an index begins where the last one has ended.
            if (noted.first..=noted.last + STEP).contains(&span.first) {
                noted.last = span.last;
                return;
            }
        }
        *noted = span;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::INDEX_SHIFT;

    fn key(index: u64, period: u64) -> u64 {
        (index << INDEX_SHIFT) + period * STEP
    }

    #[test]
    fn owners_of_one_index_are_told_apart() {
        let mut heard = Periods::NONE;
        heard.note_life(key(5, 10), key(5, 20));
        assert!(heard.contain(key(5, 10)) && heard.contain(key(5, 20) | 1));
        assert!(!heard.contain(key(5, 9)), "a former owner's");
        assert!(!heard.contain(key(5, 21)) && !heard.contain(key(69, 15)));
        heard.note_life(key(5, 21), key(5, 30));
        assert!(
            heard.contain(key(5, 10)) && heard.contain(key(5, 30)),
            "the next owner's, after all of the last one's"
        );
        heard.note_life(key(5, 40), key(5, 50));
        assert!(heard.contain(key(5, 45)) && !heard.contain(key(5, 25)), "one in between was not heard of");
    }

    #[test]
    fn what_another_came_after_is_added() {
        let (mut heard, mut others) = (Periods::NONE, Periods::NONE);
        heard.note_life(key(64, 1), key(64, 9));
        others.note_life(key(7, 1), key(7, 4));
        heard.note_all(&others);
        assert!(heard.contain(key(7, 3)) && heard.contain(key(64, 5)));
    }
}
