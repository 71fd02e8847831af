//! Seeded generators of traces: small arbitrary ones for tests, large realistic ones for
//! benchmarks and demonstrations.
//!
//! Every trace is well-formed in the strict sense and has exactly the number of events that was
//! asked for. The same configuration gives the same events on every platform and in every
//! release; a golden hash in the tests stands guard. Nothing is kept of what was handed out: memory
//! grows with threads, locks and names, not with events.
//!
//! | mode | what it is | verdict |
//! |---|---|---|
//! | [`Kind::Random`] | any legal next step, see `random.rs` | either |
//! | [`Kind::TwoPhaseLocking`] | blocks take their locks before they give one back, see `realistic.rs` | serializable |
//! | [`Kind::GlobalLock`] | the same with one lock for everything | serializable |
//! | [`Kind::ThreadLocal`] | nearly everything private | serializable |
//!
//! The last three can have violations injected: every [`Injected`] block is then violated, no
//! other block is.

use crate::{Event, EventId, Names, RegionId, VarId};

mod prng;
mod random;
mod realistic;

use random::Random;
use realistic::Realistic;

/// What to generate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// What the trace looks like.
    pub kind: Kind,
    /// Another seed, another trace.
    pub seed: u64,
    /// How many events, exactly.
    pub events: u64,
    /// How many threads.
    pub threads: u32,
    /// How many locks. [`Kind::GlobalLock`] uses one, whatever this says.
    pub locks: u32,
    /// How many variables, private ones included.
    pub variables: u32,
    /// How many labels of blocks. A random trace may have 0: no block has a label then.
    pub labels: u32,
    /// How deep blocks nest at most; 1 is no nesting.
    pub nesting: u32,
    /// Random: which operations may occur.
    pub features: Features,
    /// Realistic: the least number of accesses of a transaction.
    pub shortest_transaction: u32,
    /// Realistic: the largest number of accesses of a transaction. All between are equally likely.
    /// (The last transaction planned may be shorter or longer, to meet the number of events.)
    pub longest_transaction: u32,
    /// Realistic: how many of 100 accesses read.
    pub read_percent: u32,
    /// Realistic: how many of 100 accesses are outside every block (but race-free all the same).
    pub unary_percent: u32,
    /// Realistic: how many events a thread has in a row, on average, until another one runs.
    pub burst: u32,
    /// Realistic: where threads come from.
    pub start: Start,
    /// Realistic: where violations are injected: at the given event numbers or as soon as two
    /// threads are between transactions after that. In ascending order. Needs two threads.
    pub inject: Vec<u64>,
    /// Realistic: what is injected.
    pub violation: Violation,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            kind: Kind::TwoPhaseLocking,
            seed: 0,
            events: 1_000_000,
            threads: 8,
            locks: 64,
            variables: 4096,
            labels: 100,
            nesting: 2,
            features: Features::ALL,
            shortest_transaction: 2,
            longest_transaction: 20,
            read_percent: 75,
            unary_percent: 10,
            burst: 8,
            start: Start::ForkJoin,
            inject: Vec::new(),
            violation: Violation::LostUpdate,
        }
    }
}

impl Config {
    /// A small random trace, dense in conflicts: the diet of the oracle tests.
    pub fn small_random(features: Features) -> Config {
        Config {
            kind: Kind::Random,
            features,
            events: 20,
            threads: 3,
            locks: 2,
            variables: 2,
            labels: 3,
            nesting: 3,
            ..Config::default()
        }
    }

    /// Injects `count` violations, evenly spread over the trace.
    pub fn inject_evenly(&mut self, count: u32) {
        let place = |i: u32| u128::from(self.events) * u128::from(i) / (u128::from(count) + 1);
        self.inject = (1..=count).map(|i| u64::try_from(place(i)).unwrap_or(self.events)).collect();
    }

    /// Injects one violation at `percent` of the trace.
    pub fn inject_at_percent(&mut self, percent: u32) {
        let place = u128::from(self.events) * u128::from(percent.min(100)) / 100;
        self.inject = vec![u64::try_from(place).unwrap_or(self.events)];
    }

    fn locks_used(&self) -> u32 {
        if self.kind == Kind::GlobalLock { 1 } else { self.locks }
    }

    /// The first parameter that is out of range, and its range.
    fn validate(&self) -> Result<(), String> {
        let within = |name: &str, value: u64, least: u64, most: u64| {
            if (least..=most).contains(&value) {
                Ok(())
            } else {
                Err(format!("{name} is {value}, expected {least} to {most}"))
            }
        };
        within("nesting", self.nesting.into(), 1, 64)?;
        if self.kind == Kind::Random {
            within("threads", self.threads.into(), 1, 256)?;
            within("locks", self.locks.into(), 0, 1024)?;
            within("variables", self.variables.into(), 1, 1 << 20)?;
            within("labels", self.labels.into(), 0, 1 << 16)?;
            return within("injections", self.inject.len() as u64, 0, 0)
                .map_err(|error| format!("{error}: a random trace takes none"));
        }
        within("threads", self.threads.into(), 1, 1 << 16)?;
        within("locks", self.locks.into(), 1, 1 << 24)?;
        let private = if self.kind == Kind::ThreadLocal { self.threads } else { 0 };
        within("variables", self.variables.into(), (self.locks_used() + private).into(), 1 << 28)?;
        within("labels", self.labels.into(), 1, 1 << 16)?;
        within("shortest transaction", self.shortest_transaction.into(), 1, 1 << 20)?;
        let shortest = self.shortest_transaction.into();
        within("longest transaction", self.longest_transaction.into(), shortest, 1 << 20)?;
        within("read percent", self.read_percent.into(), 0, 100)?;
        within("unary percent", self.unary_percent.into(), 0, 100)?;
        within("burst", self.burst.into(), 1, 1 << 20)?;
        if !self.inject.is_empty() {
            within("threads", self.threads.into(), 2, 1 << 16)
                .map_err(|error| format!("{error}: an injected violation takes two"))?;
        }
        if !self.inject.is_sorted() {
            return Err("injections are not in ascending order".to_owned());
        }
        within("the place of an injection", self.inject.last().copied().unwrap_or(0), 0, self.events)?;
        within("events", self.events, realistic::fewest_events(self), u64::MAX >> 1)
    }
}

/// What a trace looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Arbitrary, but well-formed. Small parameters make it dense in conflicts.
    Random,
    /// Every transaction takes the locks it needs, in ascending order, uses what they guard, and
    /// gives them back.
    TwoPhaseLocking,
    /// The same with one lock that guards everything.
    GlobalLock,
    /// Almost only private variables; a few transactions use shared ones under a lock.
    ThreadLocal,
}

/// Where the threads of a realistic trace come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// All are there from the start.
    Together,
    /// The first forks all others before anything else, and joins them after everything else.
    ForkJoin,
}

/// How an injected violation comes about: what the violated block does to a variable, what
/// another block does to it in between, and what the violated block does then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Violation {
    /// Read, *write*, write: the other's write is overwritten unseen.
    LostUpdate,
    /// Read, *write*, read: two reads of one block differ.
    UnrepeatableRead,
    /// Write, *read*, write: the other saw what was never meant to be seen.
    IntermediateRead,
    /// Write, *write*, read: the block does not read what it wrote.
    OverwrittenWrite,
}

/// An injected violation. Its block is violated; the blocks that nothing was injected into are not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Injected {
    /// Where the violated block begins.
    pub begin: EventId,
    /// The event of the block that completes the violation.
    pub event: EventId,
    /// The label of the block.
    pub label: RegionId,
    /// The variable it is about. Nothing else in the trace uses it.
    pub variable: VarId,
}

/// Which operations a random trace may have, besides reads, writes and blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features(u16);

impl Features {
    /// Only reads, writes and blocks, every access in a block, no nesting, all threads from the start.
    pub const NONE: Features = Features(0);
    /// Events outside all blocks.
    pub const UNARY: Features = Features(1);
    /// Blocks in blocks.
    pub const NESTING: Features = Features(1 << 1);
    /// Exclusive locks.
    pub const LOCKS: Features = Features(1 << 2);
    /// Re-entered locks.
    pub const REENTRANT: Features = Features(1 << 3);
    /// Shared locks, and one thread holding a lock in both modes.
    pub const SHARED: Features = Features(1 << 4);
    /// Waits.
    pub const WAIT: Features = Features(1 << 5);
    /// Barriers.
    pub const BARRIER: Features = Features(1 << 6);
    /// Threads that are forked and joined; some are idle.
    pub const FORK_JOIN: Features = Features(1 << 7);
    /// Threads that are forked again after their join.
    pub const FORK_AGAIN: Features = Features(1 << 8);
    /// Atomic updates of all kinds.
    pub const UPDATE: Features = Features(1 << 9);
    /// Alloc and free.
    pub const LIVES: Features = Features(1 << 10);
    /// Blocks without a label among those that have one.
    pub const UNLABELLED: Features = Features(1 << 11);
    /// Everything.
    pub const ALL: Features = Features((1 << 12) - 1);
    /// What the papers speak of: r w acq rel fork join begin end.
    pub const PAPER: Features = Features(Self::UNARY.0 | Self::NESTING.0 | Self::LOCKS.0 | Self::FORK_JOIN.0);

    /// Whether all of `features` are among these.
    pub fn has(self, features: Features) -> bool {
        self.0 & features.0 == features.0
    }

    /// These and `features`.
    #[must_use]
    pub fn with(self, features: Features) -> Features {
        Features(self.0 | features.0)
    }

    /// These but not `features`.
    #[must_use]
    pub fn without(self, features: Features) -> Features {
        Features(self.0 & !features.0)
    }
}

/// A trace in the making.
#[derive(Clone, Debug)]
pub struct Generator {
    names: Names,
    machine: Machine,
}

#[derive(Clone, Debug)]
enum Machine {
    Random(Box<Random>),
    Realistic(Box<Realistic>),
}

/// About how many events a block has: 128 KiB, which stays in a processor's cache.
const BLOCK: usize = 8192;

impl Generator {
    /// Starts a trace. An error names the parameter that is out of range.
    pub fn new(config: &Config) -> Result<Generator, String> {
        config.validate()?;
        let mut names = Names::default();
        for thread in 0..config.threads {
            names.threads.intern(&format!("T{thread}"));
        }
        let machine = match config.kind {
            Kind::Random => Machine::Random(Box::new(Random::new(config, &mut names))),
            _ => Machine::Realistic(Box::new(Realistic::new(config, &mut names))),
        };
        Ok(Generator { names, machine })
    }

    /// Starts over with another seed. Much cheaper than a new generator: names are kept.
    pub fn reset(&mut self, seed: u64) {
        match &mut self.machine {
            Machine::Random(random) => random.reset(seed),
            Machine::Realistic(realistic) => realistic.reset(seed),
        }
    }

    /// What the ids in the events are called. All names are there from the start.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Replaces `block` by the next events; false when there are no more.
    pub fn next_block(&mut self, block: &mut Vec<Event>) -> bool {
        block.clear();
        match &mut self.machine {
            Machine::Random(random) => random.fill(block),
            Machine::Realistic(realistic) => realistic.fill(block),
        }
        !block.is_empty()
    }

    /// The whole rest of the trace. For small traces: the others are better taken in blocks.
    pub fn collect(&mut self) -> Vec<Event> {
        let (mut events, mut block) = (Vec::new(), Vec::new());
        while self.next_block(&mut block) {
            events.append(&mut block);
        }
        events
    }

    /// The violations injected so far.
    pub fn injected(&self) -> &[Injected] {
        match &self.machine {
            Machine::Random(_) => &[],
            Machine::Realistic(realistic) => realistic.injected(),
        }
    }
}

#[cfg(test)]
mod tests;
