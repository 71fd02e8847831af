//! Commit nodes over the conflict forest: which transactions are not conflict-serializable in some
//! interleaving?
//!
//! Computes, for each transaction of an execution, whether it can be left from one node of its access tree and
//! entered again at a later one, after Liqiang Wang and Scott D. Stoller, "Accurate and Efficient
//! Runtime Detection of Atomicity Errors in Concurrent Programs" (PPoPP 2006), sections 3 and 4.
//!
//! ```text
//! access tree of a unit: root / a node per critical section / a leaf per access; a node is its steps
//! inter-edge:            conflicting accesses of concurrent units; between the accesses themselves if no lock
//!                        keeps them apart, else between the sections of the outermost such lock
//! communication node:    has an inter-edge                  (a leaf that has one is in a data race)
//! t is violated iff      it has communication nodes n wholly before m, and neighbours of n lead to neighbours of m
//! ```
//!
//! *Guarantee*: misses no transaction that is to blame for a non-serializable interleaving that locks, fork, join
//! and barriers allow, if values do not steer the program elsewhere. A potential deadlock, or a way through
//! other units that no single interleaving takes, can make a false alarm.
//!
//! *Deviations*: the way from n to m goes along the order of threads forwards only (in print, thread
//! order is ignored, which misses violations); nodes are intervals, so locks may be released in any order;
//! an update is a write to which the value before it matters, so it has the edges of a write. Forest and search are those
//! of `forest.rs`, but no edge is ever made: see `classes.rs`, `spots.rs` and `search.rs`. The paper's
//! trimming and de-duplication are built in there: only the first and the last member of a class or spot matter.
//!
//! *Cost*: O(accesses · log) to sort them into classes. A transaction all of whose nodes overlap (as
//! with two-phase locking) costs its accesses times the locks held at them. Any other costs in addition, for each
//! class and period, the classes of the same location; and if it is not violated by a single other thread,
//! the staircases of its period, which are made once per period.

pub(in crate::predictive) mod classes;
pub(in crate::predictive) mod condense;
pub(in crate::predictive) mod confirm;
pub(in crate::predictive) mod forest;
pub(in crate::predictive) mod patterns;
mod races;
pub(in crate::predictive) mod search;
mod spots;
#[cfg(test)]
mod tests;
pub(in crate::predictive) mod window;

use std::ops::Range;

use self::classes::{Classes, LEAF};
use self::confirm::{Confirm, Confirmed};
use self::forest::{Forest, Rule};
use self::patterns::{Partners, Sketch};
use self::search::{Candidate, Search, Span};
use self::spots::Spots;
use self::window::{Spread, Window};
use crate::predictive::effort::{Done, Keep};
use crate::predictive::execution::{Access, Unit, UnitId, UnitKind};
use crate::predictive::predicted::Reason;
use crate::predictive::{Effort, Execution, Judge, Predicted, deadlock};
use crate::{Blame, Config, Info, Kind, Stats, Strength};

/// What the search for potential deadlocks may take. (The checker `deadlock` may take all there is.)
const DEADLOCK_STEPS: u64 = 20_000_000;

/// The checker `commit-node`.
#[derive(Debug)]
pub struct CommitNode;

impl Judge for CommitNode {
    const INFO: Info = Info {
        name: "commit-node",
        kind: Kind::Predictive,
        paper: "Wang, Stoller: Accurate and Efficient Runtime Detection of Atomicity Errors in Concurrent \
                Programs, PPoPP 2006, conflict forest; with thread order",
        guarantee: "misses no transaction that some interleaving allowed by locks, fork, join and barriers makes \
                    non-serializable; rarely reports one that none does",
        blame: Blame::More,
        tells_first_event: false,
        cost: "O(1) per event, then O(accesses · log) and a search per transaction with two separate commit \
               nodes; memory grows with the number of accesses",
    };

    fn new(_config: &Config) -> Self {
        CommitNode
    }

    fn judge(self, execution: &Execution, effort: &mut Effort, out: &mut Predicted) -> Stats {
        let mut judging = Judging::new(execution);
        judging.all(effort);
        let all: Vec<u32> = (0..execution.accesses.len() as u32).collect();
        let cleared = second_look(execution, &mut judging.violated, effort, |effort| {
            Forest::new(execution, &all, Rule::Conflict, effort)
        });
        report(execution, &mut judging.violated, out);
        races::report(execution, &judging.classes, &judging.spread, effort, out);
        let mut share = Effort::new(DEADLOCK_STEPS.min(effort.left()), None);
        deadlock::find(execution, &mut share, out);
        let mut stats = vec![
            ("units", execution.units.len() as u64),
            ("classes", judging.classes.len() as u64),
            ("candidates", judging.candidates),
            ("searches", judging.searches),
            ("cleared by a second look", cleared),
            ("violated units", judging.violated.len() as u64),
        ];
        if judging.not_judged > 0 {
            stats.push(("not judged", judging.not_judged));
        }
        if share.is_stopped() {
            stats.push(("search for deadlocks cut off", 1));
        }
        Stats(stats)
    }
}

/// Looks again at units that hold a lock throughout all ways that were sketched, and drops those for which
/// no way is possible; gives their number.
pub(in crate::predictive) fn second_look(
    execution: &Execution,
    violated: &mut Vec<(UnitId, Vec<Sketch>)>,
    effort: &mut Effort,
    forest: impl FnOnce(&mut Effort) -> Option<Forest>,
) -> u64 {
    let is_sure = |sketches: &[Sketch]| sketches.iter().any(|sketch| confirm::is_free(execution, sketch));
    if execution.accesses.len() > confirm::MOST_ACCESSES || violated.iter().all(|(_, s)| is_sure(s)) {
        return 0;
    }
    let Some(forest) = forest(effort) else { return 0 };
    let mut confirm = Confirm::new(execution, &forest);
    let before = violated.len();
    violated.retain_mut(|(unit, sketches)| {
        if is_sure(sketches) {
            return true;
        }
        match confirm.unit(*unit) {
            Confirmed::Possible(sketch) => {
                sketches.insert(0, sketch);
                true
            }
            Confirmed::Impossible => false,
            Confirmed::Unknown => true,
        }
    });
    (before - violated.len()) as u64
}

/// Reports violated units in the order in which they began.
pub(in crate::predictive) fn report(
    execution: &Execution,
    violated: &mut [(UnitId, Vec<Sketch>)],
    out: &mut Predicted,
) {
    violated.sort_unstable_by_key(|&(unit, _)| unit);
    for (unit, sketches) in violated {
        let patterns =
            sketches.iter().filter_map(|sketch| patterns::pattern(execution, *unit, sketch)).collect();
        let transaction = execution.unit(*unit).block;
        out.violation(Strength::Predicted, Reason::Pattern, transaction, patterns);
    }
}

/// Where a class has neighbours: the level of its lock path, and who.
#[derive(Clone, Copy, Debug)]
struct Reach {
    level: u32,
    span: Span,
}

#[derive(Debug)]
struct Judging<'a> {
    execution: &'a Execution,
    spread: Spread,
    classes: Classes,
    /// Made when first needed.
    spots: Option<Spots>,
    /// What is concurrent with the period at work.
    window: Window,
    /// Per class, where its reaches in the period at work are, if they are known.
    reach_of: Vec<Option<Range<u32>>>,
    /// The classes whose reaches are known.
    known: Vec<u32>,
    reaches: Vec<Reach>,
    candidate: Candidate,
    search: Search,
    candidates: u64,
    searches: u64,
    not_judged: u64,
    violated: Vec<(UnitId, Vec<Sketch>)>,
}

impl<'a> Judging<'a> {
    fn new(execution: &'a Execution) -> Self {
        let classes = Classes::new(execution);
        Judging {
            execution,
            spread: Spread::new(execution),
            spots: None,
            window: Window::default(),
            reach_of: vec![None; classes.len()],
            known: Vec::new(),
            reaches: Vec::new(),
            candidate: Candidate::default(),
            search: Search::new(execution.periods.threads()),
            candidates: 0,
            searches: 0,
            not_judged: 0,
            violated: Vec::new(),
            classes,
        }
    }

    /// Judges all units, period by period.
    fn all(&mut self, effort: &mut Effort) {
        let execution = self.execution;
        let mut units: Vec<(UnitId, &Unit)> = (execution.units())
            .filter(|(_, unit)| unit.kind != UnitKind::Single && self.classes.may_be_split(execution, unit))
            .collect();
        self.candidates = units.len() as u64;
        units.sort_by_key(|&(_, unit)| unit.period);
        let mut judged = 0;
        for same in units.chunk_by(|one, other| one.1.period == other.1.period) {
            self.window = self.spread.window(execution, same[0].1.period);
            for &class in &self.known {
                self.reach_of[class as usize] = None;
            }
            self.known.clear();
            self.reaches.clear();
            let mut hops = None;
            for &(id, unit) in same {
                let steps = self.build(unit);
                let mut found = None;
                if self.candidate.is_split() {
                    found = self.search.run(&self.candidate, None);
                    if found.is_none() {
                        let hops = hops.get_or_insert_with(|| {
                            let spots = self.spots.get_or_insert_with(|| Spots::new(execution));
                            let (hops, steps) = spots.hops(execution, &self.spread, &self.window);
                            self.search.steps += steps;
                            hops
                        });
                        self.searches += 1;
                        found = self.search.run(&self.candidate, Some(hops));
                    }
                }
                if let Some(found) = found {
                    let sketches = self.sketches(unit, found);
                    self.violated.push((id, sketches));
                }
                judged += 1;
                let steps = steps + std::mem::take(&mut self.search.steps);
                let done = Done { what: "transactions judged", done: judged, of: self.candidates };
                if effort.spend(steps, done) == Keep::Stop {
                    self.not_judged = self.candidates - judged;
                    return;
                }
            }
        }
    }

    /// Makes the communication nodes of a unit; gives the steps that it took.
    fn build(&mut self, unit: &Unit) -> u64 {
        let execution = self.execution;
        let mut steps = 0;
        // Per node, access and thread: who is reached.
        let mut entries: Vec<(u32, u32, u32, Span)> = Vec::new();
        for index in unit.accesses.clone() {
            let Some(class) = self.classes.of(index) else { continue };
            steps += 1 + self.know(class);
            let access = &execution.accesses[index as usize];
            let Some(reaches) = self.reach_of[class as usize].clone() else { continue };
            let mut node = (LEAF, access.step..access.step + 1);
            for reach in &self.reaches[reaches.start as usize..reaches.end as usize] {
                if reach.level != node.0 {
                    let Some(steps) = level_steps(execution, unit, access, reach.level) else { continue };
                    node = (reach.level, steps);
                }
                entries.push((node.1.end, node.1.start, index, reach.span));
            }
        }
        steps += entries.len() as u64;
        entries.sort_by_key(|&(end, start, index, span)| (end, start, span.thread, index));
        let candidate = &mut self.candidate;
        candidate.clear();
        for node in entries.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            for same in node.chunk_by(|a, b| a.3.thread == b.3.thread) {
                let first = same.iter().map(|entry| entry.3.first).min().unwrap_or(0);
                let last = same.iter().map(|entry| entry.3.last).max().unwrap_or(0);
                candidate.spans.push(Span { thread: same[0].3.thread, first, last });
            }
            candidate.add(node[0].1..node[0].0, node.iter().map(|&(_, _, index, _)| index));
        }
        candidate.complete();
        steps
    }

    /// Finds out where a class has neighbours, leaf first; gives the steps that it took.
    fn know(&mut self, class: u32) -> u64 {
        if self.reach_of[class as usize].is_some() {
            return 0;
        }
        let execution = self.execution;
        let start = self.reaches.len();
        let unit = |member: u32| execution.accesses[member as usize].unit.0;
        let mut found: Vec<(u32, u32, Range<u32>)> = Vec::new();
        self.classes.neighbours(execution, class, &self.window, |level, thread, members| {
            found.push((level, thread, members));
        });
        for (level, thread, members) in &found {
            let members = self.classes.members(members);
            let (first, last) = (unit(members[0]), unit(members[members.len() - 1]));
            self.reaches.push(Reach { level: *level, span: Span { thread: *thread, first, last } });
        }
        let new = &mut self.reaches[start..];
        new.sort_unstable_by_key(|reach| (std::cmp::Reverse(reach.level), reach.span.thread));
        // One reach per level and thread.
        let mut kept = 0;
        for next in 1..new.len() {
            let (last, reach) = (new[kept], new[next]);
            if (last.level, last.span.thread) == (reach.level, reach.span.thread) {
                new[kept].span.first = last.span.first.min(reach.span.first);
                new[kept].span.last = last.span.last.max(reach.span.last);
            } else {
                kept += 1;
                new[kept] = reach;
            }
        }
        if !new.is_empty() {
            self.reaches.truncate(start + kept + 1);
        }
        self.reach_of[class as usize] = Some(start as u32..self.reaches.len() as u32);
        self.known.push(class);
        self.classes.cost(class) + found.len() as u64
    }

    /// How a unit that is violated could be broken.
    fn sketches(&mut self, unit: &Unit, found: search::Found) -> Vec<Sketch> {
        let mut partners = ClassPartners {
            execution: self.execution,
            unit,
            window: &self.window,
            classes: &self.classes,
            steps: 0,
        };
        let mut sketches = patterns::direct(self.execution, &self.candidate, &mut partners);
        if sketches.is_empty() {
            sketches.extend(patterns::found(
                self.execution,
                &self.candidate,
                &self.search,
                found,
                &mut partners,
            ));
        }
        self.search.steps += partners.steps;
        sketches
    }
}

struct ClassPartners<'a> {
    execution: &'a Execution,
    unit: &'a Unit,
    window: &'a Window,
    classes: &'a Classes,
    steps: u64,
}

impl Partners for ClassPartners<'_> {
    fn lists(&mut self, candidate: &Candidate, node: usize, access: u32, thread: u32) -> Vec<Range<u32>> {
        let Some(class) = self.classes.of(access) else { return Vec::new() };
        let execution = self.execution;
        let own = &execution.accesses[access as usize];
        let wanted = &candidate.nodes[node].steps;
        let mut found = Vec::new();
        self.classes.neighbours(execution, class, self.window, |level, of, members| {
            if of == thread && level_steps(execution, self.unit, own, level).as_ref() == Some(wanted) {
                found.push(members);
            }
        });
        self.steps += self.classes.cost(class);
        found
    }

    fn members(&self, list: &Range<u32>) -> &[u32] {
        self.classes.members(list)
    }
}

/// The steps of the node at a level above an access, or of the access itself.
fn level_steps(execution: &Execution, unit: &Unit, access: &Access, level: u32) -> Option<Range<u32>> {
    if level == LEAF {
        return Some(access.step..access.step + 1);
    }
    let section = execution.stacks.at_level(access.stack, level)?;
    Some(execution.node_steps(unit, section))
}
