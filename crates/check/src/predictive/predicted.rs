//! What predictive checkers find, as data: violations, data races and potential deadlocks.

use std::hash::Hash;
use std::mem::{Discriminant, discriminant};

use atomvet_trace::{LockId, Op, RegionId, SiteId, ThreadId, VarId};
use rustc_hash::FxHashMap;

use crate::witness::{Shape, Touch};
use crate::{Block, Here, Strength};

/// An event of a finding and the locks that its thread holds there, in the order in which they were taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moment {
    /// The event.
    pub event: Here,
    /// The locks.
    pub held: Vec<LockId>,
}

/// A way in which a block could be broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// The block that it breaks: the innermost one that has the first and the last moment.
    pub block: Block,
    /// The outermost block around that, or the critical section outside every block.
    pub transaction: Block,
    /// What would happen, in this order. The first and the last are of the broken block's thread.
    pub moments: Vec<Moment>,
    /// Pairs of moments (as indices) whose order makes it a violation: the accesses conflict.
    pub order: Vec<(usize, usize)>,
}

impl Pattern {
    /// The name of the anomaly.
    pub fn shape(&self) -> Shape {
        let conflict = |&(first, second): &(usize, usize)| {
            let (variable, first) = touched(self.moments.get(first)?.event.op)?;
            let (_, second) = touched(self.moments.get(second)?.event.op)?;
            Some((variable, first, second))
        };
        match &self.order[..] {
            [out, back] => (conflict(out).zip(conflict(back)))
                .map_or(Shape::LongerCycle, |(out, back)| Shape::of(out, back)),
            _ => Shape::LongerCycle,
        }
    }

    /// Whether its conflicts lead out of the block and back into it, each from where the one before it led to: then
    /// the block itself is violated wherever they are in this order. Otherwise some other transaction on the way is left
    /// before it is entered, and no serial order exists though each block alone could be atomic.
    pub fn is_chain(&self) -> bool {
        let event = |i: usize| self.moments.get(i).map(|moment| moment.event);
        self.order.windows(2).all(|pair| match (event(pair[0].1), event(pair[1].0)) {
            (Some(into), Some(out)) => into.thread != out.thread || into.at <= out.at,
            _ => false,
        })
    }

    /// The variables that it is about, in the order of their first access.
    pub fn variables(&self) -> Vec<VarId> {
        let mut variables = Vec::new();
        for (variable, _) in self.moments.iter().filter_map(|moment| touched(moment.event.op)) {
            if !variables.contains(&variable) {
                variables.push(variable);
            }
        }
        variables
    }

    /// How far its moments are from each other in the recording. A schedule for events that are close is found soon.
    pub fn span(&self) -> u64 {
        let at = || self.moments.iter().map(|moment| moment.event.at.0);
        at().max().unwrap_or(0) - at().min().unwrap_or(0)
    }

    /// The locks that would keep the others out if the block held one of them from its first to its last
    /// moment: what others hold where they come in, those first that the block itself uses.
    pub fn missing_locks(&self) -> Vec<LockId> {
        let (Some(first), Some(last)) = (self.moments.first(), self.moments.last()) else {
            return Vec::new();
        };
        let others = self.moments.iter().filter(|moment| moment.event.thread != first.event.thread);
        let mut locks: Vec<LockId> = Vec::new();
        for &lock in others.flat_map(|moment| &moment.held) {
            if !locks.contains(&lock) {
                locks.push(lock);
            }
        }
        locks.sort_by_key(|lock| !(first.held.contains(lock) || last.held.contains(lock)));
        locks
    }
}

fn touched(op: Op) -> Option<(VarId, Touch)> {
    match op {
        Op::Read(variable, _) => Some((variable, Touch::Read)),
        Op::Write(variable, _) => Some((variable, Touch::Write)),
        Op::Update(variable, _) => Some((variable, Touch::Update)),
        _ => None,
    }
}

/// Why a block is thought not to be atomic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reason {
    /// The pattern can happen: its moments in that order are no serial execution.
    Pattern,
    /// The moments of the pattern are the two places that break the order right-movers, one
    /// non-mover, left-movers. They need not be conflicting, nor need anybody come between them.
    Movers,
}

/// A block that is not atomic in some interleaving.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prediction {
    /// How sure.
    pub strength: Strength,
    /// Why.
    pub reason: Reason,
    /// The outermost block around the first instance, or the critical section outside every block.
    pub transaction: Block,
    /// How it could be broken, in one way or several, in this instance or another; never empty. The first is the one to show.
    pub patterns: Vec<Pattern>,
    /// How many instances were folded into this one, the first.
    pub count: u64,
}

/// Two conflicting accesses that no lock and no order of threads keeps apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Race {
    /// Of what.
    pub variable: VarId,
    /// The earlier one in the trace.
    pub first: Moment,
    /// The later one.
    pub second: Moment,
    /// How many pairs were folded into this one, the first.
    pub count: u64,
}

/// A thread in a potential deadlock: has one lock and wants the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// Who.
    pub thread: ThreadId,
    /// The acquire of the lock that it has.
    pub has: Moment,
    /// The acquire of the lock that it wants, and that the next one has. What it holds there besides are the
    /// gates.
    pub wants: Moment,
}

impl Waiting {
    /// What it holds besides: somebody who needs one of these as well cannot be there at the same time.
    pub fn gates(&self) -> Vec<LockId> {
        let Op::Acquire(has, _) = self.has.event.op else { return Vec::new() };
        self.wants.held.iter().copied().filter(|&lock| lock != has).collect()
    }
}

/// Threads that could wait for each other for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deadlock {
    /// Each wants what the next one has, the last what the first has.
    pub cycle: Vec<Waiting>,
    /// How many instances were folded into this one, the first.
    pub count: u64,
}

/// Where predictive checkers put what they find.
#[derive(Debug, Default)]
pub struct Predicted {
    /// Blocks that are not atomic in some interleaving, in the order of their first instances.
    pub violations: Vec<Prediction>,
    /// Data races.
    pub races: Vec<Race>,
    /// Potential deadlocks.
    pub deadlocks: Vec<Deadlock>,
    fold: Option<Folds>,
}

/// The patterns that are kept of all instances of one finding, those whose events are closest. One of them may have a schedule.
const MOST_PATTERNS: usize = 24;

/// What a moment is in every run.
type Spot = (Discriminant<Op>, SiteId);

#[derive(Debug, Default)]
struct Folds {
    violations: FxHashMap<(Reason, RegionId, SiteId, Vec<Spot>), usize>,
    races: FxHashMap<(Option<VarId>, Spot, Spot), usize>,
    deadlocks: FxHashMap<Vec<(LockId, SiteId)>, usize>,
}

impl Predicted {
    /// Folds instances that differ only in when and who.
    pub(crate) fn folded() -> Self {
        Predicted { fold: Some(Folds::default()), ..Predicted::default() }
    }

    /// Nothing was found.
    pub fn is_empty(&self) -> bool {
        self.violations.is_empty() && self.races.is_empty() && self.deadlocks.is_empty()
    }

    /// A block that is not atomic in some interleaving; `patterns` is not empty.
    pub fn violation(
        &mut self,
        strength: Strength,
        reason: Reason,
        transaction: Block,
        patterns: Vec<Pattern>,
    ) {
        let Some(shown) = patterns.first() else { return };
        let spots = shown.moments.iter().map(spot).collect();
        let key = (reason, shown.block.region, shown.block.site, spots);
        let fold = self.fold.as_mut().map(|fold| &mut fold.violations);
        if let Some(first) = seen(fold, key, &mut self.violations) {
            first.count += 1;
            first.patterns.extend(patterns);
            if first.patterns.len() > MOST_PATTERNS {
                // The first one is what the finding is known by.
                first.patterns[1..].sort_by_key(Pattern::span);
                first.patterns.truncate(MOST_PATTERNS);
            }
            return;
        }
        self.violations.push(Prediction { strength, reason, transaction, patterns, count: 1 });
    }

    /// Two accesses that race, in either order.
    pub fn race(&mut self, variable: VarId, one: Moment, other: Moment) {
        let (first, second) = if one.event.at <= other.event.at { (one, other) } else { (other, one) };
        let (spot1, spot2) = (spot(&first), spot(&second));
        // Without a place in the source, a race is known by its variable.
        let known = first.event.site != SiteId::NONE && second.event.site != SiteId::NONE;
        let fold = self.fold.as_mut().map(|fold| &mut fold.races);
        if let Some(race) = seen(fold, ((!known).then_some(variable), spot1, spot2), &mut self.races) {
            race.count += 1;
            return;
        }
        self.races.push(Race { variable, first, second, count: 1 });
    }

    /// Threads that could wait for each other for ever.
    pub fn deadlock(&mut self, mut cycle: Vec<Waiting>) {
        // The same cycle, wherever it was entered: the earliest acquire comes first.
        let start = (0..cycle.len()).min_by_key(|&i| cycle[i].wants.event.at).unwrap_or(0);
        cycle.rotate_left(start);
        let mut key: Vec<(LockId, SiteId)> = (cycle.iter())
            .filter_map(|waiting| match waiting.wants.event.op {
                Op::Acquire(lock, _) => Some((lock, waiting.wants.event.site)),
                _ => None,
            })
            .collect();
        key.sort_unstable();
        let fold = self.fold.as_mut().map(|fold| &mut fold.deadlocks);
        if let Some(deadlock) = seen(fold, key, &mut self.deadlocks) {
            deadlock.count += 1;
            return;
        }
        self.deadlocks.push(Deadlock { cycle, count: 1 });
    }
}

fn spot(moment: &Moment) -> Spot {
    (discriminant(&moment.event.op), moment.event.site)
}

/// The finding with this key, if there is one; the next one gets the key.
fn seen<'a, K: Eq + Hash, T>(
    fold: Option<&mut FxHashMap<K, usize>>,
    key: K,
    list: &'a mut [T],
) -> Option<&'a mut T> {
    let next = list.len();
    let first = *fold?.entry(key).or_insert(next);
    list.get_mut(first)
}
