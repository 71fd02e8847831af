//! A recorded execution, cut into units: what every off-line algorithm judges.
//!
//! ```text
//! unit = a transaction (an outermost block)
//!      | an outermost critical section outside every transaction, treated as one
//!      | a single access outside both
//! ```
//!
//! Fork, join and barrier end a unit: what follows in the same block is another unit of it. Locks that were
//! taken before a unit began are held by all of it, and sit on its root.

use std::ops::Range;

use atomvet_trace::{AccessKind, EventId, LockId, Op, SiteId, ThreadId, UpdateKind, VarId};

use super::periods::{PeriodId, Periods};
use super::predicted::Moment;
use super::stacks::{Section, SectionId, StackId, Stacks};
use crate::{Block, Here};

/// A unit of an execution. Ids grow with the unit's begin in the recorded trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UnitId(pub u32);

/// A variable in one of its lives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocationId(pub u32);

/// A block, outermost or nested, one execution of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockId(pub u32);

/// What kind of unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitKind {
    /// A transaction, or a piece of one.
    Transaction,
    /// A critical section outside every transaction.
    Section,
    /// An access outside both.
    Single,
}

/// A sequence of events of one thread that is judged as a whole.
#[derive(Clone, Debug)]
pub struct Unit {
    /// What kind.
    pub kind: UnitKind,
    /// Its thread.
    pub thread: ThreadId,
    /// The period it is in.
    pub period: PeriodId,
    /// Its block: for a critical section, as if the block began with the acquire; for a single
    /// access, with that.
    pub block: Block,
    /// Its accesses, in program order.
    pub accesses: Range<u32>,
    /// The sections entered in it, in program order: a range of [`Execution::entered`].
    pub entered: Range<u32>,
    /// What was held when it began.
    pub root: StackId,
    /// Its steps among those of its thread: all of its accesses, acquires and releases are in this range.
    pub steps: Range<u32>,
}

/// How an access touches a variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Touch {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes in one indivisible step.
    Update(UpdateKind),
    /// The same, and commutes with updates of the same kind.
    Commuting(UpdateKind),
}

impl Touch {
    /// Whether the value matters to it.
    #[inline]
    pub fn reads(self) -> bool {
        self != Touch::Write
    }

    /// Whether it changes the value.
    #[inline]
    pub fn writes(self) -> bool {
        self != Touch::Read
    }

    /// Whether the order of two accesses of one variable matters.
    #[inline]
    pub fn conflicts(self, other: Touch) -> bool {
        match (self, other) {
            (Touch::Read, Touch::Read) => false,
            (Touch::Commuting(one), Touch::Commuting(other)) => one != other,
            _ => true,
        }
    }
}

/// An access of a shared variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Where in the trace.
    pub at: EventId,
    /// Where in the source.
    pub site: SiteId,
    /// What is accessed.
    pub location: LocationId,
    /// How.
    pub touch: Touch,
    /// The program makes it with an atomic operation.
    pub atomic: bool,
    /// What is held.
    pub stack: StackId,
    /// Its step among those of its thread.
    pub step: u32,
    /// Its unit.
    pub unit: UnitId,
    /// The innermost block around it, if there is one.
    pub block: Option<BlockId>,
}

/// A variable in one of its lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location {
    /// Which variable.
    pub variable: VarId,
    /// The thread that accessed it first.
    pub(super) first_thread: Option<ThreadId>,
    /// Another thread accessed it too.
    pub(super) several_threads: bool,
    /// It was written.
    pub(super) written: bool,
    /// It escaped later, and this is its private part.
    pub(super) private: bool,
}

impl Location {
    /// Accessed by one thread only, never written, or not yet escaped: no order of accesses matters.
    pub fn is_local(&self) -> bool {
        !self.several_threads || !self.written || self.private
    }
}

/// One execution of a block, and the block around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nested {
    /// The block.
    pub block: Block,
    /// Around it.
    pub outer: Option<BlockId>,
}

/// A whole execution.
#[derive(Debug, Default)]
pub struct Execution {
    /// All units, in the order in which they begin. Units without any access of a location that is not
    /// local are there too.
    pub units: Vec<Unit>,
    /// All accesses, unit by unit. Accesses of local locations are there too.
    pub accesses: Vec<Access>,
    /// The sections of all units, unit by unit.
    pub entered: Vec<SectionId>,
    /// All critical sections.
    pub stacks: Stacks,
    /// What cannot run at the same time.
    pub periods: Periods,
    /// All variables in all their lives.
    pub locations: Vec<Location>,
    /// All blocks.
    pub blocks: Vec<Nested>,
}

impl Execution {
    /// A unit.
    #[inline]
    pub fn unit(&self, id: UnitId) -> &Unit {
        &self.units[id.0 as usize]
    }

    /// Every unit with its id.
    pub fn units(&self) -> impl Iterator<Item = (UnitId, &Unit)> {
        (0..).map(UnitId).zip(&self.units)
    }

    /// The accesses of a unit.
    pub fn accesses_of(&self, unit: &Unit) -> &[Access] {
        &self.accesses[unit.accesses.start as usize..unit.accesses.end as usize]
    }

    /// The sections entered in a unit.
    pub fn entered_in(&self, unit: &Unit) -> &[SectionId] {
        &self.entered[unit.entered.start as usize..unit.entered.end as usize]
    }

    /// A location.
    #[inline]
    pub fn location(&self, id: LocationId) -> &Location {
        &self.locations[id.0 as usize]
    }

    /// Whether two units can run at the same time.
    #[inline]
    pub fn concurrent(&self, one: UnitId, other: UnitId) -> bool {
        self.periods.concurrent(self.unit(one).period, self.unit(other).period)
    }

    /// Whether the first unit ends before the second begins, in every interleaving.
    #[inline]
    pub fn before(&self, one: UnitId, other: UnitId) -> bool {
        let (first, second) = (self.unit(one), self.unit(other));
        if first.thread == second.thread {
            one < other
        } else {
            self.periods.before(first.period, second.period)
        }
    }

    /// The steps of a section as a node of a unit's tree: what of it is in the unit.
    pub fn node_steps(&self, unit: &Unit, section: SectionId) -> Range<u32> {
        let section = self.stacks.section(section);
        section.start.max(unit.steps.start)..section.end.saturating_add(1).min(unit.steps.end)
    }

    /// An access as findings show it.
    pub fn moment(&self, access: &Access) -> Moment {
        let variable = self.location(access.location).variable;
        let kind = if access.atomic { AccessKind::Atomic } else { AccessKind::Plain };
        let op = match access.touch {
            Touch::Read => Op::Read(variable, kind),
            Touch::Write => Op::Write(variable, kind),
            Touch::Update(kind) | Touch::Commuting(kind) => Op::Update(variable, kind),
        };
        let event = Here { at: access.at, thread: self.unit(access.unit).thread, op, site: access.site };
        Moment { event, held: self.locks_held(access.stack) }
    }

    /// The acquire of a section as findings show it, with what was held before.
    pub fn entering(&self, section: &Section) -> Moment {
        let op = Op::Acquire(section.lock, section.mode);
        let event = Here { at: section.acquired, thread: section.thread, op, site: section.site };
        Moment { event, held: self.locks_held(section.outer) }
    }

    /// The locks of a stack, in the order in which they were taken.
    pub fn locks_held(&self, stack: StackId) -> Vec<LockId> {
        let mut locks: Vec<LockId> =
            self.stacks.locks(self.stacks.path(stack)).map(|(lock, _)| lock).collect();
        locks.reverse();
        locks
    }

    /// The innermost block that has both events in it: what a pattern of these two breaks.
    pub fn innermost(&self, one: &Access, other: &Access) -> Option<Block> {
        let mut at = one.block;
        while let Some(id) = at {
            let Nested { block, outer } = self.blocks[id.0 as usize];
            let mut inside = other.block;
            while let Some(inner) = inside {
                if inner == id {
                    return Some(block);
                }
                inside = self.blocks[inner.0 as usize].outer;
            }
            at = outer;
        }
        None
    }
}
