//! Known-benign idioms: accesses that may be left out of account because of how they are used.
//!
//! A finding is benign by an idiom if it is none any more once the accesses that the idiom names have become
//! [`Op::Local`]. So an idiom never judges: it names accesses, and the trace without them is checked as ever.
//!
//! ```text
//! Search (one pass) ──► Accesses ──► take_out (second pass) ──► any checker
//! ```
//!
//! | idiom | what it names |
//! |---|---|
//! | hint reads | a read in a block that its thread repeats, before the block ends and with no side effect in between, while it holds a lock that it has taken since |
//! | retry loops | the reads of failed rounds: in a block, from the first read of x up to the last read of x at the place of the `rmw(x)` that ends the loop, if the thread does nothing but read there |
//! | single-writer counters | reads of a variable by others, if one thread alone counts it up, at least twice, and nobody else writes it once it is shared |
//! | same-value writes | writes of the value that is there already, where the trace tells them from others (`same(x)`) |
//! | commuting updates | nothing is taken out: the trace is checked as with [`Config::commuting_updates`] |
//!
//! `docs/benign.md` says the same for users, with examples. Guarantee: what is named is named by these definitions (random
//! tests hold the search to a naive reading of them); whether the program really only takes a hint is what the user
//! vouches for by switching an idiom on. Deviation: of a thread that only reads for very long, the latest reads are remembered.
//!
//! Cost: a few table lookups per event; a bit per event and idiom for what is named.

mod search;
#[cfg(test)]
mod tests;

use atomvet_trace::{Event, EventId, Op, ThreadId, UpdateKind, VarId};
use rustc_hash::FxHashMap;

use crate::Config;

pub use search::Search;

/// How many idioms there are.
const NUMBER: usize = 5;

/// A way to use shared variables that looks wrong and is not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Idiom {
    /// Reads that are repeated under a lock.
    HintReads,
    /// Failed rounds of a loop around compare-exchange.
    RetryLoops,
    /// Counters that one thread counts and others look at.
    SingleWriterCounters,
    /// Writes that change nothing.
    SameValueWrites,
    /// Updates that give the same in either order.
    CommutingUpdates,
}

impl Idiom {
    /// All of them.
    pub const ALL: &[Idiom; NUMBER] = &[
        Idiom::HintReads,
        Idiom::RetryLoops,
        Idiom::SingleWriterCounters,
        Idiom::SameValueWrites,
        Idiom::CommutingUpdates,
    ];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Idiom::HintReads => "hint-reads",
            Idiom::RetryLoops => "retry-loops",
            Idiom::SingleWriterCounters => "single-writer-counters",
            Idiom::SameValueWrites => "same-value-writes",
            Idiom::CommutingUpdates => "commuting-updates",
        }
    }

    /// What is benign, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Idiom::HintReads => {
                "The read is a hint: its thread reads the variable again under a lock before it acts."
            }
            Idiom::RetryLoops => {
                "The read belongs to a failed round of a compare-exchange loop, which had no effect."
            }
            Idiom::SingleWriterCounters => {
                "The variable is a counter that one thread counts; others look at it and need no exact value."
            }
            Idiom::SameValueWrites => "The write changed nothing: it wrote the value that was there already.",
            Idiom::CommutingUpdates => {
                "The updates are of one commuting kind: in either order they leave the same value."
            }
        }
    }

    fn index(self) -> usize {
        match self {
            Idiom::HintReads => 0,
            Idiom::RetryLoops => 1,
            Idiom::SingleWriterCounters => 2,
            Idiom::SameValueWrites => 3,
            Idiom::CommutingUpdates => 4,
        }
    }
}

/// The accesses of a trace that idioms name.
#[derive(Default, Debug)]
pub struct Accesses {
    /// Per idiom, the events that it names. Those of counters, writes and updates are known once they were taken out.
    named: [Bits; NUMBER],
    /// Which lives of variables are counters, and who counts. Lives count from 0.
    counters: FxHashMap<(VarId, u32), ThreadId>,
    /// Per variable, its life at the event that is taken out next.
    lives: Lives,
    /// Whether commuting updates are named.
    updates: bool,
    /// Whether same-value writes are.
    same_values: bool,
}

impl Accesses {
    /// Makes the named accesses among the next events local. To be called for the whole trace, in order.
    pub fn take_out(&mut self, first: EventId, events: &mut [Event]) {
        for (at, event) in (first.0..).zip(events) {
            let takes_out = match event.op {
                Op::Alloc(x) | Op::Free(x) => {
                    self.lives.end(x);
                    false
                }
                Op::Read(x, _) => {
                    let counter = self.counters.get(&(x, self.lives.of(x)));
                    if counter.is_some_and(|writer| *writer != event.thread) {
                        self.named[Idiom::SingleWriterCounters.index()].set(at);
                    }
                    self.idiom_of(EventId(at)).is_some()
                }
                Op::Update(_, UpdateKind::Same) if self.same_values => {
                    self.named[Idiom::SameValueWrites.index()].set(at);
                    true
                }
                Op::Update(_, kind) if kind.commutes() && self.updates => {
                    self.named[Idiom::CommutingUpdates.index()].set(at);
                    false
                }
                _ => false,
            };
            if takes_out {
                event.op = Op::Local;
            }
        }
    }

    /// How the trace is to be understood without the named accesses.
    pub fn config(&self, config: &Config) -> Config {
        Config { commuting_updates: config.commuting_updates || self.updates, ..*config }
    }

    /// The idiom that names an event.
    pub fn idiom_of(&self, at: EventId) -> Option<Idiom> {
        Idiom::ALL.iter().copied().find(|idiom| self.named[idiom.index()].has(at.0))
    }
}

/// A set of event numbers.
#[derive(Default, Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn set(&mut self, at: u64) {
        let word = (at / 64) as usize;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (at % 64);
    }

    fn has(&self, at: u64) -> bool {
        self.0.get((at / 64) as usize).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
}

/// How many lives of each variable have ended.
#[derive(Default, Debug)]
struct Lives(Vec<u32>);

impl Lives {
    fn of(&self, x: VarId) -> u32 {
        self.0.get(x.index()).copied().unwrap_or(0)
    }

    fn end(&mut self, x: VarId) {
        if x.index() >= self.0.len() {
            self.0.resize(x.index() + 1, 0);
        }
        self.0[x.index()] += 1;
    }
}
