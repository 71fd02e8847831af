//! The independent judge of witnesses and serial orders: naive, and sharing no code with what it
//! judges. It knows `docs/event-model.md` and nothing else.
//!
//! A witness is accepted only if its steps form a path, every step joins two events that the model
//! orders directly, for the reason given, and the path proves what it claims: that a block is
//! violated (begin → another thread → the block), or that the transactions form a cycle.
//! Cost: O(1) per event of the trace; memory grows with the events that witnesses name and with what
//! is live (threads, open blocks, variables, barriers), not with the trace.

use atomvet_trace::{Conflicts, Event, EventId, LockId, Mode, Op, VarId};

use crate::witness::{Because, Step, Touch, Witness};
use crate::{Block, Config};

mod serial;
#[cfg(test)]
mod tests;
mod walk;

use walk::{Situation, Walk};

/// Confirms witnesses in one pass over the trace.
#[derive(Debug)]
pub struct Verifier {
    config: Config,
    witnesses: Vec<Witness>,
    walk: Walk,
    /// All events that a witness names, in order, each once.
    wanted: Vec<EventId>,
    /// What was seen there: as long as `wanted`. None: not yet, or there is no event.
    seen: Vec<Option<Seen>>,
    /// The first of `wanted` that is still to come.
    next: usize,
}

/// An event that a witness names.
#[derive(Clone, Debug)]
struct Seen {
    situation: Situation,
    /// The begins of the blocks it is in.
    blocks: Vec<EventId>,
}

impl Verifier {
    /// Judges these witnesses.
    pub fn new(config: &Config, witnesses: &[Witness]) -> Self {
        let mut wanted = Vec::new();
        for witness in witnesses {
            wanted.extend(witness.block.map(|block| block.begin));
            wanted.extend(witness.steps.iter().flat_map(|step| [step.from, step.to]));
        }
        wanted.sort_unstable();
        wanted.dedup();
        let seen = vec![None; wanted.len()];
        Verifier {
            config: *config,
            witnesses: witnesses.to_vec(),
            walk: Walk::new(config),
            wanted,
            seen,
            next: 0,
        }
    }

    /// Takes the next events of the trace.
    pub fn events(&mut self, first: EventId, block: &[Event]) {
        for (at, &event) in (first.0..).map(EventId).zip(block) {
            while self.wanted.get(self.next).is_some_and(|&wanted| wanted < at) {
                self.next += 1;
            }
            let Some(&wanted) = self.wanted.get(self.next) else { return };
            let situation = self.walk.step(at, event);
            if wanted == at
                && let Some(situation) = situation
            {
                let blocks = self.walk.blocks(event.thread).to_vec();
                self.seen[self.next] = Some(Seen { situation, blocks });
            }
        }
    }

    /// One judgement per witness, in their order; an error says what does not hold.
    pub fn finish(self) -> Vec<Result<(), String>> {
        self.witnesses.iter().map(|witness| self.judge(witness)).collect()
    }

    fn judge(&self, witness: &Witness) -> Result<(), String> {
        let (Some(first), Some(last)) = (witness.steps.first(), witness.steps.last()) else {
            return Err("the witness has no steps".to_owned());
        };
        for (number, step) in witness.steps.iter().enumerate() {
            let named = |problem| format!("step {number} ({:?} → {:?}): {problem}", step.from, step.to);
            self.step(step).map_err(named)?;
            if witness.block.is_some() && matches!(step.because, Because::SameTransaction(_)) {
                return Err(named(
                    "the events of a block's witness are all ordered, not just together".into(),
                ));
            }
            if number > 0 && witness.steps[number - 1].to != step.from {
                return Err(named("it does not start where the step before it ended".into()));
            }
        }
        let (start, end) = (self.seen(first.from)?, self.seen(last.to)?);
        match witness.block {
            Some(block) => self.violates(witness, block, start, end),
            None => self.closes_cycle(witness, start, end),
        }
    }

    /// The path leads from the block through another thread back into it.
    fn violates(&self, witness: &Witness, block: Block, start: &Seen, end: &Seen) -> Result<(), String> {
        let begin = self.seen(block.begin)?.situation.event;
        if begin != (Event { thread: block.thread, op: Op::Begin(block.region), site: block.site }) {
            return Err(format!("{:?} does not begin the block that the witness names", block.begin));
        }
        for (seen, which) in [(start, "starts"), (end, "ends")] {
            if !seen.blocks.contains(&block.begin) {
                return Err(format!(
                    "the witness {which} outside the block that begins with {:?}",
                    block.begin
                ));
            }
        }
        if start.situation.cuts != end.situation.cuts {
            return Err(
                "the witness starts and ends in two pieces of the block, between which it waits".into()
            );
        }
        for step in &witness.steps {
            if self.seen(step.to)?.situation.event.thread != block.thread {
                return Ok(());
            }
        }
        Err("no event of another thread is on the way".into())
    }

    /// The path leads from a transaction through another one back into it.
    fn closes_cycle(&self, witness: &Witness, start: &Seen, end: &Seen) -> Result<(), String> {
        let transaction = start.situation.transaction;
        if !start.situation.in_block {
            return Err("the cycle starts at an event outside every block".into());
        }
        if end.situation.transaction != transaction {
            return Err("the cycle ends in another transaction than it starts in".into());
        }
        for step in &witness.steps {
            if self.seen(step.to)?.situation.transaction != transaction {
                return Ok(());
            }
        }
        Err("no event of another transaction is on the way".into())
    }

    fn seen(&self, at: EventId) -> Result<&Seen, String> {
        let index = self.wanted.binary_search(&at).ok();
        index
            .and_then(|index| self.seen[index].as_ref())
            .ok_or_else(|| format!("the trace has no event {at:?}"))
    }

    /// The two events really are ordered (or together), for the reason given.
    fn step(&self, step: &Step) -> Result<(), String> {
        let (from, to) = (&self.seen(step.from)?.situation, &self.seen(step.to)?.situation);
        if let Because::SameTransaction(thread) = step.because {
            require(
                from.event.thread == thread && to.event.thread == thread,
                "an event is of another thread",
            )?;
            require(
                from.in_block && to.in_block,
                "an event outside every block is alone in its transaction",
            )?;
            return require(from.transaction == to.transaction, "the events are of two transactions");
        }
        require(step.from < step.to, "the first event is not earlier")?;
        if let Because::ProgramOrder(thread) = step.because {
            return require(
                from.event.thread == thread && to.event.thread == thread,
                "an event is of another thread",
            );
        }
        require(from.event.thread != to.event.thread, "within a thread only program order counts")?;
        match step.because {
            Because::Access(x, first, second) => self.access(x, (first, from), (second, to)),
            Because::Lock(_) | Because::Barrier(_) if self.config.conflicts == Conflicts::Data => {
                Err("of synchronization, and only data conflicts".into())
            }
            Because::Lock(lock) => {
                let (before, after) = (modes(from, lock), modes(to, lock));
                require(
                    before != NO_MODE && after != NO_MODE,
                    "an event is no outermost operation on the lock",
                )?;
                let exclusive =
                    before.contains(&Some(Mode::Exclusive)) || after.contains(&Some(Mode::Exclusive));
                require(exclusive, "both hold the lock shared")
            }
            Because::Fork(child) => {
                require(from.event.op == Op::Fork(child), "the first event does not fork the thread")?;
                require(to.event.thread == child, "the second event is not of the forked thread")
            }
            Because::Join(child) => {
                require(to.event.op == Op::Join(child), "the second event does not join the thread")?;
                require(from.event.thread == child, "the first event is not of the joined thread")
            }
            Because::Barrier(barrier) => {
                require(
                    from.event.op == Op::Barrier(barrier),
                    "the first event does not arrive at the barrier",
                )?;
                require(to.leaves.is_some(), "the second event does not leave a barrier")?;
                require(from.arrives == to.leaves, "the events belong to two episodes")
            }
            Because::ProgramOrder(_) | Because::SameTransaction(_) => Ok(()),
        }
    }

    fn access(
        &self,
        x: VarId,
        (first, from): (Touch, &Situation),
        (second, to): (Touch, &Situation),
    ) -> Result<(), String> {
        let touches_as_said = |touch, op| match op {
            Op::Read(y, _) => x == y && touch == Touch::Read,
            Op::Write(y, _) => x == y && touch == Touch::Write,
            Op::Update(y, _) => x == y && touch == Touch::Update,
            _ => false,
        };
        require(touches_as_said(first, from.event.op), "the first event does not touch the variable so")?;
        require(touches_as_said(second, to.event.op), "the second event does not touch the variable so")?;
        require(from.life == to.life, "the variable has begun a new life in between")?;
        require(first != Touch::Read || second != Touch::Read, "two reads do not conflict")?;
        if let (Op::Update(_, kind), Op::Update(_, other)) = (from.event.op, to.event.op) {
            let commute = self.config.commuting_updates && kind == other && kind.commutes();
            require(!commute, "the two updates commute")?;
        }
        Ok(())
    }
}

const NO_MODE: [Option<Mode>; 2] = [None, None];

/// In which modes an event operates on a lock: by itself, and by ending a wait.
fn modes(situation: &Situation, lock: LockId) -> [Option<Mode>; 2] {
    let itself = match situation.event.op {
        Op::Acquire(l, mode) | Op::Release(l, mode) if l == lock => Some(mode),
        Op::Wait(l) if l == lock => Some(Mode::Exclusive),
        _ => None,
    };
    [itself, (situation.regains == Some(lock)).then_some(Mode::Exclusive)]
}

fn require(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}

/// Confirms that `order` (transactions, each by its first event) lists every transaction of the
/// trace once and keeps the order of all pairs of events that the event model orders.
pub fn serial_order(config: &Config, events: &[Event], order: &[EventId]) -> Result<(), String> {
    serial::check(config, events, order)
}
