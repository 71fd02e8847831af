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

use atomvet_trace::{BarrierId, EventId, LockId, ThreadId, VarId};

use crate::Block;

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
