//! Reduction, off-line: is every unit a sequence of right-movers, at most one non-mover, left-movers?
//!
//! After Wang and Stoller, "Run-Time Analysis for Atomicity" (RV 2003) §4 and "Runtime Analysis of Atomicity
//! for Multithreaded Programs" (IEEE TSE 2006) §3, with Theorem 3.4 applied repeatedly. `races.rs` tells
//! which accesses race, by one of three tests; `movers.rs` is the rest. All are told by the whole execution.
//!
//! *Guarantee*: if every unit has that form and no deadlock is possible, every interleaving that locks,
//! fork, join and barriers allow is conflict-serializable; and a unit of that form is never violated. The
//! converse does not hold: a unit without the form is a suspect, and often innocent. An example where variables race as
//! a whole is `[l{r(x) w(x)}] [r(x)]`: modCount++ beside a look at modCount. Pairwise, only the write races.
//!
//! *Cost*: that of the race test (see there) plus O(1) per step of a unit.

use atomvet_trace::Op;

use super::effort::{Done, Keep};
use super::execution::{UnitId, UnitKind};
use super::lockset::Locksets;
use super::movers::{Automaton, BothMovers, Break, Step};
use super::predicted::{Moment, Pattern, Reason};
use super::races::{RaceTest, races};
use super::stacks::SectionId;
use super::{Effort, Execution, Judge, Predicted};
use crate::{Blame, Block, Config, Here, Info, Kind, Stats, Strength};

/// So many breaks of a unit are shown.
const MOST_BREAKS: usize = 8;

/// Judges all units by a race test.
fn judge(test: RaceTest, execution: &Execution, effort: &mut Effort, out: &mut Predicted) -> Stats {
    let units = execution.units.len() as u64;
    let locksets = Locksets::new(&execution.stacks);
    let Some(races) = races(execution, &locksets, test, effort, out) else {
        return Stats(vec![("units", units), ("not judged", units)]);
    };
    let both_movers = BothMovers::new(execution);
    let mut automaton = Automaton::default();
    let (mut judged, mut broken) = (0, 0);
    for (id, unit) in execution.units() {
        let done = Done { what: "units judged", done: judged, of: units };
        if effort.spend(1 + unit.steps.len() as u64, done) == Keep::Stop {
            break;
        }
        judged += 1;
        if unit.kind == UnitKind::Single {
            continue;
        }
        let breaks = automaton.breaks(execution, unit, &races, &both_movers);
        let patterns: Vec<Pattern> =
            breaks.take(MOST_BREAKS).map(|found| pattern(execution, id, found)).collect();
        if !patterns.is_empty() {
            broken += 1;
            out.violation(Strength::Suspected, Reason::Movers, unit.block, patterns);
        }
    }
    let mut stats = Stats(vec![
        ("units", units),
        ("shared variables", races.shared_locations),
        ("classes of accesses", races.classes),
        ("racy accesses", races.racy_accesses),
        ("locks that are both-movers", both_movers.count()),
        ("critical sections dropped", automaton.dropped),
        ("units without the form", broken),
    ]);
    if judged < units {
        stats.0.push(("not judged", units - judged));
    }
    stats
}

fn pattern(execution: &Execution, unit: UnitId, (first, second): Break) -> Pattern {
    let moments = vec![moment(execution, unit, first), moment(execution, unit, second)];
    let block = innermost(execution, unit, &moments[0].event, &moments[1].event);
    Pattern { block, transaction: execution.unit(unit).block, moments, order: Vec::new() }
}

fn moment(execution: &Execution, unit: UnitId, step: Step) -> Moment {
    match step {
        Step::Acquire(section) => execution.entering(execution.stacks.section(section)),
        Step::Release(section) => leaving(execution, unit, section),
        Step::Racy(access) => execution.moment(&execution.accesses[access as usize]),
        // Neither breaks anything.
        Step::Local | Step::Both => {
            let Block { begin: at, thread, site, .. } = execution.unit(unit).block;
            Moment { event: Here { at, thread, op: Op::Local, site }, held: Vec::new() }
        }
    }
}

/// The release of a section in a unit, with what is held up to then.
fn leaving(execution: &Execution, unit: UnitId, left: SectionId) -> Moment {
    let unit = execution.unit(unit);
    let left = execution.stacks.section(left);
    let mut before: Vec<SectionId> = execution.stacks.held(unit.root).collect();
    before.reverse();
    let sections = before.into_iter().chain(execution.entered_in(unit).iter().copied());
    let held =
        sections.map(|id| execution.stacks.section(id)).filter(|s| s.start < left.end && left.end <= s.end);
    let op = Op::Release(left.lock, left.mode);
    let event = Here { at: left.released, thread: left.thread, op, site: left.release_site };
    Moment { event, held: held.map(|section| section.lock).collect() }
}

/// The innermost block that is known to have both events in it: it began before the first, and some access
/// at or after the second is in it.
fn innermost(execution: &Execution, unit: UnitId, first: &Here, second: &Here) -> Block {
    let unit = execution.unit(unit);
    let accesses = execution.accesses_of(unit);
    let later = accesses.get(accesses.partition_point(|access| access.at < second.at));
    let mut at = later.and_then(|access| access.block);
    while let Some(nested) = at.map(|id| execution.blocks[id.0 as usize]) {
        if nested.block.begin < first.at {
            return nested.block;
        }
        at = nested.outer;
    }
    unit.block
}

/// The checker `reduction`.
#[derive(Debug)]
pub struct Reduction;

impl Judge for Reduction {
    const INFO: Info = Info {
        name: "reduction",
        kind: Kind::Predictive,
        paper: "Wang, Stoller: Runtime Analysis of Atomicity for Multithreaded Programs, IEEE TSE 2006, \
                Theorem 3.4 applied repeatedly; races by the multi-lockset test of section 3.4",
        guarantee: "if it finds nothing and no deadlock is possible, every block is atomic in every interleaving \
                    of this execution that locks, fork, join and barriers allow; what it finds is a suspicion, \
                    often false: a variable is racy as a whole, unless its writes have a lock in common and every \
                    read holds one of those",
        blame: Blame::More,
        tells_first_event: false,
        cost: "O(n log n) for n accesses; memory O(events)",
    };

    fn new(_config: &Config) -> Self {
        Reduction
    }

    fn judge(self, execution: &Execution, effort: &mut Effort, out: &mut Predicted) -> Stats {
        judge(RaceTest::MultiLockset, execution, effort, out)
    }
}

/// The checker `reduction-pairwise`.
#[derive(Debug)]
pub struct ReductionPairwise;

impl Judge for ReductionPairwise {
    const INFO: Info = Info {
        name: "reduction-pairwise",
        kind: Kind::Predictive,
        paper: "Wang, Stoller: Runtime Analysis of Atomicity for Multithreaded Programs, IEEE TSE 2006, \
                Theorem 3.4 applied repeatedly; races pairwise (RV 2003, Theorem 4.3)",
        guarantee: "as reduction, with fewer false suspicions: only an access that can meet a conflicting one without a \
                    common lock is racy",
        blame: Blame::More,
        tells_first_event: false,
        cost: "O(n log n) for n accesses, and for variables that fail the multi-lockset test pairs of classes of \
               accesses; memory O(events)",
    };

    fn new(_config: &Config) -> Self {
        ReductionPairwise
    }

    fn judge(self, execution: &Execution, effort: &mut Effort, out: &mut Predicted) -> Stats {
        judge(RaceTest::Pairwise, execution, effort, out)
    }
}

/// The checker `reduction-common-lock`.
#[derive(Debug)]
pub struct ReductionCommonLock;

impl Judge for ReductionCommonLock {
    const INFO: Info = Info {
        name: "reduction-common-lock",
        kind: Kind::Predictive,
        paper: "Wang, Stoller: Run-Time Analysis for Atomicity, RV 2003, Theorem 4.4 for races (as Eraser does), with \
                TSE 2006, Theorem 3.4 applied repeatedly",
        guarantee: "as reduction, with still more false suspicions: a variable is racy as a whole, unless one lock \
                    is held at all of its accesses",
        blame: Blame::More,
        tells_first_event: false,
        cost: "O(n log n) for n accesses; memory O(events)",
    };

    fn new(_config: &Config) -> Self {
        ReductionCommonLock
    }

    fn judge(self, execution: &Execution, effort: &mut Effort, out: &mut Predicted) -> Stats {
        judge(RaceTest::CommonLock, execution, effort, out)
    }
}

#[cfg(test)]
mod tests;
