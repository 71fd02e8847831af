//! Which periods of others a thread comes after: per thread, all from its first to some last one.
//!
//! Threads are told apart by their index, modulo how many are kept, and those that had the same index one after the other by when the
//! present one was born. To know too little is harmless.

use crate::shadow::WHEN;
use crate::thread;

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
        if thread::index_of(noted.last) != thread::index_of(span.last) || noted.last < span.last {
            *noted = span;
        }
    }
}
