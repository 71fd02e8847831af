//! Blocks: pairs of accesses of a transaction, and what others could put between them.
//!
//! Wang, Stoller: Run-time analysis for atomicity, RV 2003, §5; the same authors, TSE 2006, §4.
//! [`single`] has the blocks of one variable (Theorem 4.2), [`pairs`] those of two (Theorem 4.3), with
//! uninitialised reads (what the unit did not write before) and last writes (what it does not write again).
//!
//! **Guarantee.** The question is view-atomicity: is there an interleaving, with respect to locks, fork, join
//! and barriers, that no serial order of the units explains? Two transactions: exact, if there is no
//! potential for deadlock and critical sections are nested. More: cycles that need three or more
//! threads are missed (`blocks-exact` looks for them), and a pair can be a false alarm, because a third unit
//! hides the order of two writes:
//!
//! ```text
//! T1: [ l{ r(x)         w(x) } ]               with T2 and T1 alone no serial order will do;
//! T2:            [w(x)]                        T3's write is the last one anyway
//! T3:                              [l{w(x)}]
//! ```
//!
//! **Deviations.** W r W needs an uninitialised read (print: any, against its examples (9) and (15)). A unit
//! with one access of a variable has a block there whatever else it does. Accesses outside of transactions
//! are partners; so are pairs of two units that come one after the other. Locks may be shared, and released in
//! any order: then a unit has several gaps between two accesses, and a pair of partners must fit into
//! one of them. The unit that encloses is blamed.
//!
//! **Cost.** One variable: O(1) per access and thread where a common lock rules partners out, else one look at
//! each class of partners, once per class of blocks. Two variables: see [`pairs`]; bounded by the effort.

pub(super) mod accesses;
pub(super) mod locksets;
pub(super) mod pairs;
mod single;
#[cfg(test)]
pub(super) mod tests;

use crate::predictive::effort::{Done, Keep};
use crate::predictive::execution::{Unit, UnitId, UnitKind};
use crate::predictive::predicted::{Pattern, Reason};
use crate::predictive::{Effort, Execution, Judge, Predicted};
use crate::{Blame, Config, Info, Kind, Stats, Strength};
use accesses::Accesses;
use pairs::Pairs;
use single::Single;

/// The checker `blocks`.
#[derive(Debug)]
pub struct Blocks;

impl Judge for Blocks {
    const INFO: Info = Info {
        name: "blocks",
        kind: Kind::Predictive,
        paper: "Wang, Stoller: Run-time analysis for atomicity, RV 2003; Runtime analysis of atomicity for \
                multithreaded programs, TSE 2006",
        guarantee: "asks whether some interleaving that locks, fork, join and barriers allow is explained by no serial \
                    order; exact for two transactions without potential for deadlock; misses cycles that need three \
                    or more threads; false alarms where a third unit hides the order of two writes (some 0 to 4% \
                    of random programs). The values read might steer the program elsewhere",
        blame: Blame::More,
        tells_first_event: false,
        cost: "O(1) per access and thread for one variable where a common lock rules partners out, else one look per \
               class of partners; two variables: quadratic in the variables of a transaction, per thread, bounded by \
               the effort (figure: not judged). Memory grows with the accesses: about 120 bytes each",
    };

    fn new(_config: &Config) -> Self {
        Blocks
    }

    fn judge(self, execution: &Execution, effort: &mut Effort, out: &mut Predicted) -> Stats {
        let mut accesses = Accesses::new(execution);
        let found = find(&mut accesses, effort);
        found.report(execution, out);
        found.stats
    }
}

/// How many patterns are given of each unit.
const MOST_PATTERNS: usize = 8;

/// Accesses in an order that breaks the unit of the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sketch {
    accesses: Vec<u32>,
    shape: Shape,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    Between,
    Parallel,
    Crossing,
    Interlocked,
}

impl Sketch {
    fn between(first: u32, middle: u32, second: u32) -> Sketch {
        Sketch { accesses: vec![first, middle, second], shape: Shape::Between }
    }

    fn parallel(first: u32, f1: u32, f2: u32, second: u32) -> Sketch {
        Sketch { accesses: vec![first, f1, f2, second], shape: Shape::Parallel }
    }

    fn crossing(first: u32, f1: u32, f2: u32, second: u32) -> Sketch {
        Sketch { accesses: vec![first, f1, f2, second], shape: Shape::Crossing }
    }

    fn interlocked(first: u32, f1: u32, second: u32, f2: u32) -> Sketch {
        Sketch { accesses: vec![first, f1, second, f2], shape: Shape::Interlocked }
    }

    fn encloses(&self) -> bool {
        self.shape != Shape::Interlocked
    }

    /// Where the unit's second access is.
    fn second(&self) -> usize {
        if self.encloses() { self.accesses.len() - 1 } else { 2 }
    }

    /// With the unit's own accesses as places among its ends.
    fn as_places(&self, ends: &[u32]) -> Sketch {
        let place = |number: u32| ends.partition_point(|&end| end < number) as u32;
        self.with_own(place)
    }

    /// The same pattern of another unit that does the same.
    fn moved_to(&self, ends: &[u32]) -> Sketch {
        self.with_own(|place| ends[place as usize])
    }

    fn with_own(&self, change: impl Fn(u32) -> u32) -> Sketch {
        let mut changed = self.clone();
        for place in [0, self.second()] {
            changed.accesses[place] = change(changed.accesses[place]);
        }
        changed
    }

    fn pattern(&self, execution: &Execution, unit: &Unit) -> Pattern {
        let order = match self.shape {
            Shape::Between => vec![(0, 1), (1, 2)],
            Shape::Parallel => vec![(0, 1), (2, 3)],
            Shape::Crossing => vec![(0, 2), (1, 3)],
            Shape::Interlocked => vec![(0, 3), (1, 2)],
        };
        pattern(execution, unit, &self.accesses, self.second(), order)
    }
}

/// A pattern that breaks a unit: its first moment and the one at `second` are the unit's.
pub(super) fn pattern(
    execution: &Execution,
    unit: &Unit,
    accesses: &[u32],
    second: usize,
    order: Vec<(usize, usize)>,
) -> Pattern {
    let access = |number: u32| &execution.accesses[number as usize];
    let block = execution.innermost(access(accesses[0]), access(accesses[second]));
    Pattern {
        block: block.unwrap_or(unit.block),
        transaction: unit.block,
        moments: accesses.iter().map(|&number| execution.moment(access(number))).collect(),
        order,
    }
}

/// The units that can be broken, and how.
pub(super) struct Found {
    /// In the order of the units.
    pub(super) broken: Vec<(UnitId, Vec<Sketch>)>,
    pub(super) stats: Stats,
}

impl Found {
    pub(super) fn report(&self, execution: &Execution, out: &mut Predicted) {
        for (id, sketches) in &self.broken {
            let unit = execution.unit(*id);
            let patterns = sketches.iter().map(|sketch| sketch.pattern(execution, unit)).collect();
            out.violation(Strength::Predicted, Reason::Pattern, unit.block, patterns);
        }
    }
}

/// Judges all units, first with one variable, then those that are left with two.
pub(super) fn find(accesses: &mut Accesses<'_>, effort: &mut Effort) -> Found {
    let execution = accesses.execution;
    let of = execution.units.len() as u64;
    let mut sketches: Vec<Vec<Sketch>> = vec![Vec::new(); execution.units.len()];
    let mut single = Single::new(accesses);
    let judged =
        || execution.units().filter(|(_, unit)| unit.kind != UnitKind::Single && unit.accesses.len() > 1);
    for (id, unit) in judged() {
        let done = Done { what: "units judged, one variable", done: u64::from(id.0), of };
        if effort.spend(1 + single.take_steps(), done) == Keep::Stop {
            break;
        }
        sketches[id.0 as usize] = single.judge(accesses, unit);
    }
    let mut pairs = Pairs::default();
    let mut not_judged = 0;
    for (id, _) in judged() {
        if !sketches[id.0 as usize].is_empty() {
            continue;
        }
        let done = Done { what: "units judged, two variables", done: u64::from(id.0), of };
        let stopped = effort.spend(1 + single.take_steps() + pairs.take_steps(), done) == Keep::Stop;
        let found = if stopped {
            None
        } else {
            pairs.judge(accesses, id, |steps| effort.spend(steps, done) == Keep::Going)
        };
        match found {
            Some(found) => sketches[id.0 as usize] = found,
            None => not_judged += 1,
        }
    }
    let stats = Stats(vec![
        ("units", of),
        ("blocks", single.judged()),
        ("2-blocks", pairs.blocks),
        ("not judged", not_judged),
    ]);
    let broken = (0..).map(UnitId).zip(sketches).filter(|(_, sketches)| !sketches.is_empty()).collect();
    Found { broken, stats }
}
