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

use atomvet_trace::{BarrierId, Event, EventId, LockId, Op, ThreadId, VarId};

use self::block_path::BlockPaths;
use self::cycle::Cycles;
pub use self::serial::SerialOrder;
pub use self::shape::Shape;
use crate::graph::slot;
use crate::lower::Lowered;
use crate::{Block, Config, Finding, Findings};

mod block_path;
mod cycle;
mod places;
mod serial;
mod shape;
mod sources;

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

/// What is known about why a finding holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// The shortest cycle, closed by the event that completed the violation.
    pub witness: Witness,
    /// Where synchronization closes that cycle, a cycle of accesses alone that the block closes later, if
    /// there is one: what the lock was held for tells more than the lock.
    pub by_data: Option<Witness>,
}

impl Explanation {
    /// What is best shown to a person.
    pub fn clearest(&self) -> &Witness {
        self.by_data.as_ref().unwrap_or(&self.witness)
    }

    /// The name of the anomaly.
    pub fn shape(&self) -> Shape {
        self.clearest().shape()
    }
}

impl From<Witness> for Explanation {
    fn from(witness: Witness) -> Self {
        Explanation { witness, by_data: None }
    }
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
///
/// Some checkers blame the block that completes a cycle, violated or not. A request for such a block
/// is not answered; asked again without the block, it gets the cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The violated block, if one is blamed.
    pub block: Option<Block>,
    /// The outermost block around it, or the transaction that completed the cycle.
    pub transaction: Block,
    /// The event that completed the violation.
    pub event: EventId,
}

impl From<&Finding> for Request {
    fn from(finding: &Finding) -> Request {
        Request { block: finding.block, transaction: finding.transaction, event: finding.event.at }
    }
}

/// Whether an operation has no effect on what threads do later that are not looked at yet.
#[inline]
fn is_local(op: Op) -> bool {
    matches!(op, Op::Read(..) | Op::Write(..) | Op::Update(..) | Op::Begin(_) | Op::End)
}

/// Finds witnesses in one more pass over the trace.
#[derive(Debug)]
pub struct Replay {
    requests: usize,
    /// Violated blocks, and which requests they answer.
    blocks: Lowered<BlockPaths>,
    of_blocks: Vec<usize>,
    /// Some blocks that began are known to it.
    knows_blocks: bool,
    /// Cycles without a violated block, and which requests they answer.
    cycles: Lowered<Cycles>,
    of_cycles: Vec<usize>,
    /// Per thread, how many blocks are open, for as long as cycles are looked for.
    depths: Vec<u32>,
}

impl Replay {
    /// Wants a witness for each request.
    pub fn new(config: &Config, requests: &[Request]) -> Self {
        let blamed = |blamed: bool| -> (Vec<usize>, Vec<Request>) {
            (requests.iter().copied().enumerate()).filter(|(_, r)| r.block.is_some() == blamed).unzip()
        };
        let (of_blocks, blocks) = blamed(true);
        let (of_cycles, cycles) = blamed(false);
        Replay {
            requests: requests.len(),
            blocks: Lowered::with(BlockPaths::new(blocks), config),
            of_blocks,
            knows_blocks: false,
            cycles: Lowered::with(Cycles::new(cycles), config),
            of_cycles,
            depths: Vec::new(),
        }
    }

    /// Takes the next events of the same trace.
    pub fn events(&mut self, first: EventId, block: &[Event]) {
        let mut nothing = Findings::default();
        for (i, &event) in block.iter().enumerate() {
            let at = EventId(first.0 + i as u64);
            if !self.of_blocks.is_empty() {
                self.block_event(at, event, &mut nothing);
            }
            if !self.of_cycles.is_empty() && !self.cycles.rules_mut().is_done() {
                self.cycle_event(at, event, &mut nothing);
            }
        }
    }

    /// Blocks inside others, which are most of those that real programs have, are no transactions: their begins and ends are to
    /// cycles but steps of their thread.
    #[inline]
    fn cycle_event(&mut self, at: EventId, mut event: Event, nothing: &mut Findings) {
        let depth = slot(&mut self.depths, event.thread.index());
        let before = *depth;
        match event.op {
            Op::Begin(_) => *depth += 1,
            Op::End => *depth = before.saturating_sub(1),
            _ => {}
        }
        let is_nested = matches!(event.op, Op::Begin(_) | Op::End) && before.min(*depth) > 0;
        if is_nested {
            event.op = Op::Local;
        }
        if !is_nested || self.cycles.is_due(event.thread) {
            self.cycles.rules_mut().enter(at, event);
            self.cycles.event(at, event, nothing);
        }
        self.cycles.rules_mut().leave(at);
    }

    #[inline]
    fn block_event(&mut self, at: EventId, event: Event, nothing: &mut Findings) {
        let is_idle = self.blocks.rules_mut().is_idle(at);
        if !is_idle || !is_local(event.op) || self.blocks.is_due(event.thread) {
            self.blocks.event(at, event, nothing);
            self.knows_blocks |= matches!(event.op, Op::Begin(_));
        } else if self.knows_blocks {
            self.knows_blocks = false;
            self.blocks.forget_blocks();
            self.blocks.rules_mut().forget_blocks();
        }
    }

    /// Whether everything is found that there is, with the events up to `at`: the rest of the trace need not
    /// be read.
    pub fn is_done(&mut self, at: EventId) -> bool {
        self.blocks.rules_mut().is_done(at) && self.cycles.rules_mut().is_done()
    }

    /// The explanations, one per request in their order.
    pub fn finish(self) -> Vec<Option<Explanation>> {
        let mut witnesses = vec![None; self.requests];
        let blocks = self.blocks.into_rules().into_explanations();
        let cycles = self.cycles.into_rules().into_explanations();
        let answers = self.of_blocks.into_iter().chain(self.of_cycles).zip(blocks.into_iter().chain(cycles));
        for (request, witness) in answers {
            witnesses[request] = witness;
        }
        witnesses
    }
}
