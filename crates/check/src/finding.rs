//! A finding is data: which block, completed by which event, how sure. Text is made of it last,
//! outside this crate.

use std::mem::Discriminant;

use atomvet_trace::{EventId, Mode, Op, RegionId, SiteId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Config;
use crate::predictive::{Effort, Predicted};

/// One execution of a block that should be atomic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Block {
    /// Where it begins in the trace: its identity.
    pub begin: EventId,
    /// Its thread.
    pub thread: ThreadId,
    /// Its label.
    pub region: RegionId,
    /// Where it begins in the source.
    pub site: SiteId,
}

/// The event being looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Here {
    /// Its position in the trace.
    pub at: EventId,
    /// Its thread.
    pub thread: ThreadId,
    /// What it does.
    pub op: Op,
    /// Where in the source.
    pub site: SiteId,
}

/// How sure a finding is, the surest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Strength {
    /// It happened in the recorded execution.
    Observed,
    /// A reordering of the recorded execution in which it happens is at hand.
    Scheduled,
    /// The same, but some reads of the pattern's own variables see another write than recorded: it happens if their blocks do
    /// the same with another value.
    Relaxed,
    /// Locks and the order of threads allow it.
    Predicted,
    /// Nothing was found that rules it out.
    Suspected,
}

impl Strength {
    /// As shown in every output.
    pub fn name(self) -> &'static str {
        match self {
            Strength::Observed => "observed",
            Strength::Scheduled => "predicted, with schedule",
            Strength::Relaxed => "predicted, with other values",
            Strength::Predicted => "predicted",
            Strength::Suspected => "suspected",
        }
    }
}

/// A violation, or several that differ only in when they happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// How sure.
    pub strength: Strength,
    /// The block that is not atomic; none if the trace is not serializable but no single block
    /// can be blamed.
    pub block: Option<Block>,
    /// No block inside this one was violated by the same event.
    pub innermost: bool,
    /// The outermost block that was running, in the thread that completed the cycle.
    pub transaction: Block,
    /// The event that completed the violation.
    pub event: Here,
    /// How many instances were folded into this finding, which is the first of them.
    pub count: u64,
}

/// Instances of a violation that share this are the same finding to a user.
type Key = (Option<(RegionId, SiteId)>, (RegionId, SiteId), (Discriminant<Op>, Option<Mode>), SiteId);

/// What was reported about the latest transaction of a thread that was reported at all.
#[derive(Clone, Default, Debug)]
struct Reported {
    transaction: Option<EventId>,
    /// Blocks by their begins; none for a cycle without one.
    blocks: FxHashSet<Option<EventId>>,
}

/// Where checkers put what they find.
#[derive(Default, Debug)]
pub struct Findings {
    /// All findings so far, in the order in which they were completed.
    pub list: Vec<Finding>,
    /// The first event at which the checker knew that the trace is not serializable.
    pub first_cycle: Option<EventId>,
    /// What predictive checkers found.
    pub predicted: Predicted,
    /// What predictive checkers may spend.
    pub effort: Effort,
    fold: Option<FxHashMap<Key, usize>>,
    /// Per thread; kept only where pieces of one block are judged separately. A thread's
    /// transactions are reported in their order, so the latest is enough.
    once: Option<Vec<Reported>>,
}

impl Findings {
    /// Folds instances of the same violation into one finding with a count.
    pub fn folded(config: &Config) -> Self {
        Findings {
            fold: Some(FxHashMap::default()),
            predicted: Predicted::folded(),
            ..Findings::all_instances(config)
        }
    }

    /// Keeps one finding per violating instance, and folds what is predicted. Memory grows with the number of instances.
    pub fn block_instances(config: &Config) -> Self {
        Findings { fold: None, ..Findings::folded(config) }
    }

    /// Keeps one finding per violating instance. Memory grows with their number.
    pub fn all_instances(config: &Config) -> Self {
        let once = config.split_at_waits.then(Vec::new);
        Findings { once, ..Findings::default() }
    }

    /// The trace stops being serializable here, if it did not before.
    pub fn not_serializable(&mut self, at: EventId) {
        self.first_cycle.get_or_insert(at);
    }

    /// `block` is not atomic, and `event` shows it. `transaction` is the outermost block around
    /// it.
    pub fn violation(&mut self, block: Block, innermost: bool, transaction: Block, event: Here) {
        self.add(Some(block), innermost, transaction, event);
    }

    /// The trace is not serializable, `event` of `transaction` shows it, and no block is known to
    /// be to blame.
    pub fn cycle(&mut self, transaction: Block, event: Here) {
        self.add(None, true, transaction, event);
    }

    /// The event that completed `block`'s violation also violates a block inside it.
    pub(crate) fn not_innermost(&mut self, block: Block, event: Here) {
        let by_the_event = self.list.iter_mut().rev().take_while(|finding| finding.event == event);
        by_the_event.filter(|finding| finding.block == Some(block)).for_each(|outer| outer.innermost = false);
    }

    #[cold]
    fn add(&mut self, block: Option<Block>, innermost: bool, transaction: Block, event: Here) {
        self.not_serializable(event.at);
        if let Some(once) = &mut self.once
            && !is_new(once, block, transaction)
        {
            return;
        }
        if let Some(fold) = &mut self.fold {
            let key = (
                block.map(|b| (b.region, b.site)),
                (transaction.region, transaction.site),
                (std::mem::discriminant(&event.op), mode(event.op)),
                event.site,
            );
            let first = *fold.entry(key).or_insert(self.list.len());
            if let Some(finding) = self.list.get_mut(first) {
                finding.count += 1;
                return;
            }
        }
        let strength = Strength::Observed;
        self.list.push(Finding { strength, block, innermost, transaction, event, count: 1 });
    }
}

/// Whether the block, or a cycle through the transaction, was not reported yet. It is now.
fn is_new(once: &mut Vec<Reported>, block: Option<Block>, transaction: Block) -> bool {
    let thread = transaction.thread.index();
    if thread >= once.len() {
        once.resize(thread + 1, Reported::default());
    }
    let Reported { transaction: latest, blocks } = &mut once[thread];
    if latest.replace(transaction.begin) != Some(transaction.begin) {
        blocks.clear();
    }
    blocks.insert(block.map(|block| block.begin))
}

/// A shared and an exclusive lock operation are two kinds of events.
fn mode(op: Op) -> Option<Mode> {
    match op {
        Op::Acquire(_, mode) | Op::Release(_, mode) | Op::Reacquire(_, mode) | Op::Rerelease(_, mode) => {
            Some(mode)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use atomvet_trace::LockId;

    use super::*;

    fn block(thread: u32, begin: u64) -> Block {
        Block { begin: EventId(begin), thread: ThreadId(thread), region: RegionId(0), site: SiteId::NONE }
    }

    fn acquire(at: u64, mode: Mode) -> Here {
        let op = Op::Acquire(LockId(0), mode);
        Here { at: EventId(at), thread: ThreadId(0), op, site: SiteId::NONE }
    }

    #[test]
    fn instances_that_differ_only_in_when_and_who_are_one_finding() {
        let mut out = Findings::folded(&Config::default());
        out.cycle(block(0, 1), acquire(2, Mode::Exclusive));
        out.cycle(block(1, 3), acquire(4, Mode::Exclusive));
        out.cycle(block(0, 5), acquire(6, Mode::Shared));
        out.violation(block(0, 7), true, block(0, 7), acquire(8, Mode::Shared));
        let counts: Vec<_> = out.list.iter().map(|finding| (finding.event.at.0, finding.count)).collect();
        assert_eq!(counts, [(2, 2), (6, 1), (8, 1)]);
        assert_eq!(out.first_cycle, Some(EventId(2)));
    }

    #[test]
    fn pieces_of_a_block_are_one_instance() {
        let mut out = Findings::all_instances(&Config { split_at_waits: true, ..Config::default() });
        for (thread, begin) in [(0, 1), (1, 2), (0, 1), (1, 2), (0, 5)] {
            let (block, here) = (block(thread, begin), acquire(9, Mode::Exclusive));
            out.cycle(block, here);
            out.violation(block, true, block, here);
            out.violation(block, true, block, here);
        }
        assert_eq!(out.list.len(), 6);
    }
}
