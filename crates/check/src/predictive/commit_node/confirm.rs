//! A second look at units that hold a lock from the node they are left from to the node they are entered at:
//! can anybody get from the one to the other without that lock?
//!
//! ```text
//! t:  l{ w(x)                      w(y) }
//! u:           r(x)  l{ }  r(y)             not possible: u has to wait for l in between
//! ```
//!
//! The search of `search.rs` knows units and not what they need on the way. Where a way only goes forwards (each
//! unit on it is entered before it is left, in program order), all of it happens between the two nodes, so it
//! must do without the locks that t holds there. Where some unit on the way is left before it is
//! entered, nothing is known about when the rest happens, and the way is taken as possible: no
//! violation is lost. Locks that t took before a fork are kept from all that the new thread does.
//!
//! *Cost*: a search over all inter-edges for each edge of such a unit. It is done for small executions only
//! ([`MOST_ACCESSES`]); in others the unit stays violated.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::forest::{End, Forest};
use super::patterns::Sketch;
use crate::predictive::Execution;
use crate::predictive::execution::{Unit, UnitId};
use crate::predictive::periods::PeriodId;
use crate::predictive::stacks::{SectionId, exclusive};

/// Executions with more accesses than this are not looked at again.
pub(in crate::predictive) const MOST_ACCESSES: usize = 2_000;

/// A search that takes more steps than this gives up, and the unit stays violated.
const MOST_STEPS: u64 = 1_000_000;

/// What the second look says.
#[derive(Debug)]
pub(in crate::predictive) enum Confirmed {
    /// This way is possible.
    Possible(Sketch),
    /// No way is.
    Impossible,
    /// It would take too long to say.
    Unknown,
}

/// Whether nothing is held from the first to the last access of a sketch: then it needs no second look.
pub(in crate::predictive) fn is_free(execution: &Execution, sketch: &Sketch) -> bool {
    let (Some(&(e1, _)), Some(&(_, e2))) = (sketch.first(), sketch.last()) else { return false };
    held(execution, e1, e2).is_empty()
        && !sketch.iter().any(|&(first, second)| must_precede(execution, second, first))
}

/// Whether one access comes before another in every interleaving, because its thread took a lock before it started
/// the other's and still holds it, and the other's has had that lock since.
fn must_precede(execution: &Execution, one: u32, other: u32) -> bool {
    let (one, other) = (&execution.accesses[one as usize], &execution.accesses[other as usize]);
    let unit = execution.unit(other.unit);
    execution.stacks.held(one.stack).any(|section| {
        let held = execution.stacks.section(section);
        let after = first_step_after(execution, held.period, unit);
        execution.stacks.sections().iter().any(|section| {
            section.thread == unit.thread
                && section.lock == held.lock
                && exclusive(section.mode, held.mode)
                && (after..=other.step).contains(&section.start)
        })
    })
}

/// The first step of a unit's thread that is after a period of another thread.
fn first_step_after(execution: &Execution, period: PeriodId, unit: &Unit) -> u32 {
    let periods = &execution.periods;
    let after = periods.of_thread(unit.thread).get(periods.first_after(period, unit.thread) as usize);
    let Some(&after) = after else { return u32::MAX };
    let units = execution.units.iter().filter(|unit| unit.period == after);
    units.map(|unit| unit.steps.start).min().unwrap_or(u32::MAX)
}

/// The sections around two accesses of a unit.
fn held(execution: &Execution, one: u32, other: u32) -> Vec<SectionId> {
    let stack = |index: u32| execution.accesses[index as usize].stack;
    execution.stacks.held12(stack(one), stack(other)).collect()
}

/// Looks at the units of one execution.
pub(in crate::predictive) struct Confirm<'a> {
    execution: &'a Execution,
    forest: &'a Forest,
    /// Per thread its sections, by their starts.
    sections: Vec<Vec<SectionId>>,
    steps: u64,
}

/// How much of a way is known to happen between the two nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Way {
    /// All, and it does without the locks.
    Clear,
    /// All, and it does not.
    Blocked,
    /// Not all.
    Loose,
}

/// How a unit on the way is entered.
#[derive(Clone, Copy)]
struct Entry<'a> {
    end: &'a End,
    /// The way so far.
    way: Way,
    /// The entry of the unit before it, by its place, and the access at which that was left.
    from: Option<(usize, u32)>,
}

impl<'a> Confirm<'a> {
    pub(in crate::predictive) fn new(execution: &'a Execution, forest: &'a Forest) -> Self {
        let mut sections = vec![Vec::new(); execution.periods.threads()];
        for (id, section) in (0..).map(SectionId).zip(execution.stacks.sections()) {
            sections[section.thread.index()].push(id);
        }
        Confirm { execution, forest, sections, steps: 0 }
    }

    /// Whether a unit can be left and entered again.
    pub(in crate::predictive) fn unit(&mut self, unit: UnitId) -> Confirmed {
        self.steps = 0;
        let ends = self.forest.of(unit);
        for left in ends {
            let entered: Vec<&End> = ends.iter().filter(|end| left.node.0 <= end.node.1).collect();
            let mut locks: Vec<Vec<SectionId>> =
                entered.iter().map(|end| held(self.execution, left.own, end.own)).collect();
            locks.sort_unstable();
            locks.dedup();
            for held in &locks {
                match self.way(unit, left, held) {
                    None => return Confirmed::Unknown,
                    Some(Some(sketch)) => return Confirmed::Possible(sketch),
                    Some(None) => {}
                }
            }
        }
        Confirmed::Impossible
    }

    /// A way out of the unit at one end and back where exactly these sections are held throughout; None if
    /// there are too many to look at.
    fn way(&mut self, unit: UnitId, left: &End, locks: &[SectionId]) -> Option<Option<Sketch>> {
        let execution = self.execution;
        let first = self.reverse(left)?;
        if must_precede(execution, left.theirs, left.own) {
            return Some(None);
        }
        let mut entries = vec![Entry { end: first, way: Way::Clear, from: None }];
        let mut seen = FxHashSet::default();
        let mut at = 0;
        while at < entries.len() {
            let Entry { end: entry, way, .. } = entries[at];
            for (leaving_unit, _) in execution.units() {
                let is_next = leaving_unit == entry.unit || execution.before(entry.unit, leaving_unit);
                if !is_next || !execution.concurrent(unit, leaving_unit) {
                    continue;
                }
                for leaving in self.forest.of(leaving_unit) {
                    self.steps += 1;
                    if self.steps > MOST_STEPS {
                        return None;
                    }
                    let next_unit = execution.accesses[leaving.theirs as usize].unit;
                    if next_unit != unit && !execution.concurrent(unit, next_unit) {
                        continue;
                    }
                    if must_precede(execution, leaving.theirs, leaving.own) {
                        continue;
                    }
                    let way = self.pass(entry, leaving, way, locks);
                    let Some(next) = self.reverse(leaving) else { continue };
                    if next_unit == unit {
                        let is_back = left.node.0 <= next.node.1
                            && way != Way::Blocked
                            && held(execution, left.own, next.own) == locks;
                        if is_back {
                            return Some(Some(sketch(left, &entries, at, (leaving.own, next.own))));
                        }
                    } else if seen.insert((next.own, next.node, way)) {
                        entries.push(Entry { end: next, way, from: Some((at, leaving.own)) });
                    }
                }
            }
            at += 1;
        }
        Some(None)
    }

    /// What a way is after a unit was entered at one end, and it or one after it was left at another.
    fn pass(&self, entry: &End, leaving: &End, way: Way, locks: &[SectionId]) -> Way {
        let execution = self.execution;
        let ((entry_end, entry_start), (leaving_end, _)) = (entry.node, leaving.node);
        let (from, to) = (execution.unit(entry.unit), execution.unit(leaving.unit));
        debug_assert!(entry_start < entry_end, "a node has steps");
        if way == Way::Loose || (from.thread == to.thread && leaving_end <= entry_start) {
            return Way::Loose;
        }
        let is_clear = locks.iter().all(|&lock| {
            if from.thread == to.thread {
                return self.is_clear(from, entry_start..leaving_end, lock);
            }
            let period_end = self.last_step(from);
            let starts = first_step_after(self.execution, from.period, to);
            self.is_clear(from, entry_start..period_end, lock) && self.is_clear(to, starts..leaving_end, lock)
        });
        if is_clear { way } else { Way::Blocked }
    }

    /// Whether a thread does without a lock in these steps, and since the section was entered in all that is
    /// known to come after that.
    fn is_clear(&self, unit: &Unit, steps: Range<u32>, section: SectionId) -> bool {
        let execution = self.execution;
        let held = execution.stacks.section(section);
        let start = steps.start.min(first_step_after(self.execution, held.period, unit));
        !self.sections[unit.thread.index()].iter().any(|&other| {
            let other = execution.stacks.section(other);
            let overlaps = other.start < steps.end && start <= other.end;
            overlaps && other.lock == held.lock && exclusive(other.mode, held.mode)
        })
    }

    /// The last step of a unit's period.
    fn last_step(&self, unit: &Unit) -> u32 {
        let units = self.execution.units.iter().filter(|other| other.period == unit.period);
        units.map(|unit| unit.steps.end).max().unwrap_or(unit.steps.end)
    }

    /// The other end of an inter-edge.
    fn reverse(&self, end: &End) -> Option<&'a End> {
        let unit = self.execution.accesses[end.theirs as usize].unit;
        self.forest.of(unit).iter().find(|other| other.own == end.theirs && other.theirs == end.own)
    }
}

/// The conflicts of a way that ended.
fn sketch(left: &End, entries: &[Entry<'_>], last: usize, back: (u32, u32)) -> Sketch {
    let mut conflicts = vec![back];
    let mut at = last;
    while let Entry { end, from: Some((before, out)), .. } = entries[at] {
        conflicts.push((out, end.own));
        at = before;
    }
    conflicts.push((left.own, left.theirs));
    conflicts.reverse();
    conflicts
}
