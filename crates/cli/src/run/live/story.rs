//! What led to a finding of the live checker, as a few events: the begins of the open blocks, the accesses of its witness in
//! their order, the ends. From these the report makes its steps, as from a trace.
//!
//! ```text
//! witness, the closing step first        events
//! T2 wrote y  → T1 reads y               T1: begin  w(x)              r(y) end
//! T1 wrote x  → T2 reads x               T2:              r(x)  w(y)
//! ```
//!
//! A finding's events are independent of those before: all of a witness comes after the begin of its block. Where the
//! witness is not whole, there are only the block and the event that completed the violation.

use atomvet_check::{Block, Finding, Here, Strength};
use atomvet_live::access::{Access, Operation};
use atomvet_live::found::Finding as Found;
use atomvet_live::witness::Step;
use atomvet_trace::{
    AccessKind, Event, EventId, LockId, Mode, Op, RegionId, SiteId, ThreadId, UpdateKind, VarId,
};

/// Names for what a story is about.
pub(super) trait Cast {
    /// A thread by its index.
    fn thread(&mut self, index: usize) -> ThreadId;
    /// The variable at an address.
    fn variable(&mut self, address: u64) -> VarId;
    /// The lock at an address.
    fn lock(&mut self, address: u64) -> LockId;
    /// The place of an access.
    fn site(&mut self, place: u64) -> SiteId;
    /// The block that another thread was in at an access; nothing if it was in none, or that is not known.
    fn block(&mut self, path: u64, place: u64) -> Option<(RegionId, SiteId)>;
}

/// A finding that counts.
pub(super) struct Case<'a> {
    pub(super) found: &'a Found,
    /// The open blocks, the outermost first, the violated one last.
    pub(super) open: Vec<(RegionId, SiteId)>,
}

/// The events of all findings, one after the other.
#[derive(Default)]
pub(super) struct Story {
    pub(super) events: Vec<Event>,
}

/// Which of two dependent accesses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Earlier,
    Later,
}

impl Story {
    /// Tells a finding, and returns it as the checkers would.
    pub(super) fn tell(&mut self, case: &Case<'_>, cast: &mut impl Cast) -> Option<Finding> {
        let Case { found, open } = case;
        let thread = cast.thread(found.thread);
        let mut blocks = Vec::new();
        for &(region, site) in open {
            let begin = self.push(thread, Op::Begin(region), site);
            blocks.push(Block { begin, thread, region, site });
        }
        let (&transaction, &block) = (blocks.first()?, blocks.last()?);
        if found.is_whole {
            found.steps.iter().rev().for_each(|step| self.step(found.thread, step, cast));
        }
        let (closing, site) = match found.steps.first() {
            Some(step) => (side(step, Side::Later, cast), cast.site(step.to_access.site)),
            None => (Op::Local, cast.site(found.closes_at)),
        };
        let at = match self.events.last() {
            Some(last) if found.is_whole && last.thread == thread => EventId(self.events.len() as u64 - 1),
            _ => self.push(thread, closing, site),
        };
        let event = Here { at, thread, op: closing, site };
        blocks.iter().for_each(|_| _ = self.push(thread, Op::End, SiteId::NONE));
        let (strength, innermost, count) = (Strength::Observed, found.is_innermost, found.count);
        Some(Finding { strength, block: Some(block), innermost, transaction, event, count })
    }

    fn push(&mut self, thread: ThreadId, op: Op, site: SiteId) -> EventId {
        self.events.push(Event { thread, op, site });
        EventId(self.events.len() as u64 - 1)
    }

    /// Both accesses of a dependence, unless the step before has told the first.
    fn step(&mut self, own: usize, step: &Step, cast: &mut impl Cast) {
        for (side_of, index, access, path) in [
            (Side::Earlier, step.from.index(), &step.from_access, 0),
            (Side::Later, step.to, &step.to_access, step.to_path),
        ] {
            let (thread, op) = (cast.thread(index), side(step, side_of, cast));
            let site = cast.site(access.site);
            let event = Event { thread, op, site };
            let told = self.events.iter().rev().find(|told| told.op != Op::End);
            if side_of == Side::Earlier && told.is_some_and(|told| is_same(told, &event)) {
                continue;
            }
            let block = if index == own { None } else { cast.block(path, access.site) };
            if let Some((region, site)) = block {
                self.push(thread, Op::Begin(region), site);
            }
            self.push(thread, op, site);
            if block.is_some() {
                self.push(thread, Op::End, SiteId::NONE);
            }
        }
    }
}

/// One of two dependent accesses as an operation. It is on what both have in common: ranges may be more than that.
fn side(step: &Step, side: Side, cast: &mut impl Cast) -> Op {
    let (from, to) = (&step.from_access, &step.to_access);
    let access = if side == Side::Earlier { from } else { to };
    let mode = if access.operation == Operation::SharedLock { Mode::Shared } else { Mode::Exclusive };
    match (to.operation, side) {
        (Operation::Fork, Side::Earlier) => Op::Fork(cast.thread(step.to)),
        (Operation::Join, Side::Later) => Op::Join(cast.thread(step.from.index())),
        (Operation::Fork, Side::Later) | (Operation::Join, Side::Earlier) => Op::Local,
        (Operation::Lock | Operation::SharedLock, Side::Earlier) => Op::Release(cast.lock(to.address), mode),
        (Operation::Lock | Operation::SharedLock, Side::Later) => Op::Acquire(cast.lock(to.address), mode),
        _ => {
            let variable = cast.variable(from.address.max(to.address));
            // Updates of one kind conflict only once the value was read: then their order matters.
            let update = if from.operation == to.operation { UpdateKind::Other } else { kind(access) };
            match access.operation {
                Operation::Read => Op::Read(variable, AccessKind::Plain),
                Operation::Write => Op::Write(variable, AccessKind::Plain),
                Operation::Unknown => Op::Local,
                _ => Op::Update(variable, update),
            }
        }
    }
}

fn kind(access: &Access) -> UpdateKind {
    match access.operation {
        Operation::Add => UpdateKind::Add,
        Operation::And => UpdateKind::And,
        Operation::Or => UpdateKind::Or,
        Operation::Xor => UpdateKind::Xor,
        Operation::Min => UpdateKind::Min,
        Operation::Max => UpdateKind::Max,
        _ => UpdateKind::Other,
    }
}

/// Whether two events are one access, which depends on an access before it, and on which one after it depends.
fn is_same(one: &Event, other: &Event) -> bool {
    let is_alike = match (one.op, other.op) {
        (Op::Update(one, _), Op::Update(other, _)) => one == other,
        (one, other) => one == other,
    };
    is_alike && one.thread == other.thread && one.site == other.site
}

#[cfg(test)]
mod tests {
    use atomvet_live::epoch::Epoch;

    use super::*;

    /// Everything has the number that it has in the checker.
    struct Numbers;

    impl Cast for Numbers {
        fn thread(&mut self, index: usize) -> ThreadId {
            ThreadId(index as u32)
        }

        fn variable(&mut self, address: u64) -> VarId {
            VarId(address as u32)
        }

        fn lock(&mut self, address: u64) -> LockId {
            LockId(address as u32)
        }

        fn site(&mut self, place: u64) -> SiteId {
            SiteId(place as u32)
        }

        fn block(&mut self, path: u64, _place: u64) -> Option<(RegionId, SiteId)> {
            (path != 0).then_some((RegionId(path as u32), SiteId::NONE))
        }
    }

    fn access(operation: Operation, address: u64, site: u64) -> Access {
        Access { address, bytes: 8, site, operation }
    }

    fn step(from: (usize, Access), to: (usize, Access), to_path: u64) -> Step {
        Step { from: Epoch::new(from.0, 1), from_access: from.1, to: to.0, to_access: to.1, to_path }
    }

    fn told(steps: Vec<Step>, is_whole: bool) -> (Vec<(u32, Op)>, Finding) {
        let found = Found {
            path: 9,
            closes_at: 3,
            count: 2,
            number: 0,
            maps: 1,
            is_innermost: true,
            thread: 1,
            frames: vec![(9, 0)],
            steps,
            is_whole,
        };
        let mut story = Story::default();
        let open = vec![(RegionId(8), SiteId::NONE), (RegionId(9), SiteId::NONE)];
        let finding = story.tell(&Case { found: &found, open }, &mut Numbers).expect("it has a block");
        (story.events.iter().map(|event| (event.thread.0, event.op)).collect(), finding)
    }

    #[test]
    fn an_access_that_takes_part_in_two_steps_is_told_once() {
        use Operation::{Read, Write};
        let write = access(Write, 64, 2);
        let steps = vec![
            step((2, write), (1, access(Read, 64, 3)), 0),
            step((1, access(Read, 64, 1)), (2, write), 7),
        ];
        let (events, finding) = told(steps, true);
        let x = VarId(64);
        let expected = [
            (1, Op::Begin(RegionId(8))),
            (1, Op::Begin(RegionId(9))),
            (1, Op::Read(x, AccessKind::Plain)),
            (2, Op::Begin(RegionId(7))),
            (2, Op::Write(x, AccessKind::Plain)),
            (2, Op::End),
            (1, Op::Read(x, AccessKind::Plain)),
            (1, Op::End),
            (1, Op::End),
        ];
        assert_eq!(events, expected);
        assert_eq!(
            (finding.event.at, finding.event.op, finding.count),
            (EventId(6), Op::Read(x, AccessKind::Plain), 2)
        );
        assert_eq!(finding.block.map(|block| block.begin), Some(EventId(1)));
        assert_eq!(finding.transaction.begin, EventId(0));
    }

    #[test]
    fn a_witness_that_is_not_whole_is_not_told() {
        let steps = vec![step((2, Access::NONE), (1, access(Operation::Read, 64, 3)), 0)];
        let (events, finding) = told(steps, false);
        assert_eq!(events.len(), 5);
        assert_eq!(
            (finding.event.at, finding.event.op),
            (EventId(2), Op::Read(VarId(64), AccessKind::Plain))
        );
    }
}
