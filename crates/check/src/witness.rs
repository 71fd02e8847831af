//! Why a verdict holds: the shortest cycle, step by step.
//!
//! A witness is data, found by replaying the trace after a checker has said *what* is violated;
//! [`crate::verify`], which shares no code with this file or with the checkers, confirms it.
//!
//! ```text
//! block:   T1: [ r(x)            w(x) ]      3 → 5 read-write on x, 5 → 8 write-write on x
//!          T2:         w(x)
//! cycle:   entering and leaving a transaction may be in the "wrong" order; a step
//!          "same-transaction" then leads from where it was entered back to where it is left.
//! ```

use atomvet_trace::{BarrierId, Event, EventId, LockId, ThreadId, VarId};

use crate::{Block, Config};

/// A cycle that proves a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// The violated block in which the cycle starts and ends; none for a cycle through
    /// transactions as wholes, which starts and ends in one transaction.
    pub block: Option<Block>,
    /// Each step starts where the one before it ended. The first starts in the block or transaction
    /// in which the last ends.
    pub steps: Vec<Step>,
}

/// One event comes before another, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The earlier event (for [`Because::SameTransaction`], the one where it was entered).
    pub from: EventId,
    /// The later event (for [`Because::SameTransaction`], the one where it is left).
    pub to: EventId,
    /// What orders them.
    pub because: Because,
}

/// What orders two events.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Because {
    /// They access a variable.
    Access(VarId, Touch, Touch),
    /// They operate on a lock.
    Lock(LockId),
    /// The first forks the thread of the second.
    Fork(ThreadId),
    /// The second joins the thread of the first.
    Join(ThreadId),
    /// The first arrives at a barrier that the second's thread leaves.
    Barrier(BarrierId),
    /// They are of one thread.
    ProgramOrder(ThreadId),
    /// They are of one transaction. Orders nothing, but a transaction is one step of a serial
    /// order.
    SameTransaction(ThreadId),
}

/// How an event touches a variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Touch {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
    /// Reads and writes it.
    Update,
}

/// What a witness is wanted for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The violated block, if one is blamed.
    pub block: Option<Block>,
    /// The outermost block around it, or the transaction that completed the cycle.
    pub transaction: Block,
    /// The event that completed the violation.
    pub event: EventId,
}

impl Witness {
    /// The name of the anomaly.
    pub fn shape(&self) -> Shape {
        todo!()
    }
}

/// A named anomaly.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// The block read, another wrote, the block wrote: the other write is lost.
    LostUpdate,
}

impl Shape {
    /// All of them, for documentation.
    pub const ALL: &[Shape] = &[Shape::LostUpdate];

    /// Its name, as in every output.
    pub fn name(self) -> &'static str {
        todo!()
    }

    /// What happens, in a sentence.
    pub fn meaning(self) -> &'static str {
        todo!()
    }

    /// What usually mends it, in a sentence.
    pub fn remedy(self) -> &'static str {
        todo!()
    }
}

/// Finds witnesses in one more pass over the trace.
pub struct Replay {}

impl Replay {
    /// Wants a witness for each request.
    pub fn new(_config: &Config, _requests: &[Request]) -> Self {
        todo!()
    }

    /// Takes the next events of the same trace.
    pub fn events(&mut self, _first: EventId, _block: &[Event]) {
        todo!()
    }

    /// The witnesses, one per request in their order.
    pub fn finish(self) -> Vec<Option<Witness>> {
        todo!()
    }
}

/// Finds a serial order of the transactions, in one pass. Memory grows with their number.
pub struct SerialOrder {}

impl SerialOrder {
    /// At the start of a trace.
    pub fn new(_config: &Config) -> Self {
        todo!()
    }

    /// Takes the next events.
    pub fn events(&mut self, _first: EventId, _block: &[Event]) {
        todo!()
    }

    /// The transactions in an equivalent serial order, each by its first event; none if there is
    /// no such order.
    pub fn finish(self) -> Option<Vec<EventId>> {
        todo!()
    }
}
