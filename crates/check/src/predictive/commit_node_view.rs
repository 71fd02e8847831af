//! Commit nodes over the view forest: which transactions are not view-serializable in some interleaving?
//!
//! As `commit_node.rs`, after the same paper (PPoPP 2006, sections 3.3 and 4), but writes that nobody sees may change
//! places: inter-edges join a read and the writes that it could see, the writes that could then
//! take each other's place, and the final writes. Few blocks that are not conflict-serializable are
//! view-serializable; those that are (blind writes) are not reported.
//!
//! *Guarantee*: misses no transaction that is to blame for an interleaving that is not view-serializable and that
//! locks, fork, join and barriers allow; has more false alarms than `commit-node` has with respect to
//! conflicts, as the forest does not say which write a read sees.
//!
//! *Cost*: all inter-edges are made, up to the third power of the number of accesses of a variable, after trimming and
//! de-duplication (`condense.rs`). For executions in which the same few transactions run again and again
//! that is small; for others the effort sets the limit, and what was not judged is said.

use std::ops::Range;

use crate::predictive::commit_node::condense::Condensed;
use crate::predictive::commit_node::forest::{End, Forest, Rule};
use crate::predictive::commit_node::patterns::{self, Partners, Sketch};
use crate::predictive::commit_node::search::{Candidate, Found, Hops, Search, Span};
use crate::predictive::commit_node::window::{Spread, Window};
use crate::predictive::commit_node::{report, second_look};
use crate::predictive::effort::{Done, Keep};
use crate::predictive::execution::{UnitId, UnitKind};
use crate::predictive::{Effort, Execution, Judge, Predicted};
use crate::{Blame, Config, Info, Kind, Stats};

/// The checker `commit-node-view`.
#[derive(Debug)]
pub struct CommitNodeView;

impl Judge for CommitNodeView {
    const INFO: Info = Info {
        name: "commit-node-view",
        kind: Kind::Predictive,
        paper: "Wang, Stoller: Accurate and Efficient Runtime Detection of Atomicity Errors in Concurrent \
                Programs, PPoPP 2006, view forest; with thread order",
        guarantee: "misses no transaction that some interleaving allowed by locks, fork, join and barriers makes not \
                    view-serializable; sometimes reports one that none does",
        blame: Blame::More,
        tells_first_event: false,
        cost: "O(1) per event, then up to O(n³) for n different accesses of a variable, and a search per \
               transaction with two separate commit nodes; stops at a limit, and says so",
    };

    fn new(_config: &Config) -> Self {
        CommitNodeView
    }

    fn judge(self, execution: &Execution, effort: &mut Effort, out: &mut Predicted) -> Stats {
        let units = execution.units.len() as u64;
        let condensed = Condensed::new(execution);
        let kept = condensed.accesses.len() as u64;
        let mut stats =
            vec![("units", units), ("accesses", execution.accesses.len() as u64), ("kept accesses", kept)];
        let Some(forest) = Forest::new(execution, &condensed.accesses, Rule::View, effort) else {
            stats.push(("not judged", units));
            return Stats(stats);
        };
        let edges = forest.len() as u64;
        let mut judging = Judging::new(execution, &forest);
        judging.all(&condensed, effort);
        let Judging { mut violated, candidates, searches, not_judged, .. } = judging;
        let cleared = second_look(execution, &mut violated, effort, |_| Some(forest));
        report(execution, &mut violated, out);
        stats.extend([
            ("inter-edges", edges),
            ("candidates", candidates),
            ("searches", searches),
            ("cleared by a second look", cleared),
            ("violated units", violated.len() as u64),
        ]);
        if not_judged > 0 {
            stats.push(("not judged", not_judged));
        }
        Stats(stats)
    }
}

struct Judging<'a> {
    execution: &'a Execution,
    forest: &'a Forest,
    spread: Spread,
    candidate: Candidate,
    search: Search,
    candidates: u64,
    searches: u64,
    not_judged: u64,
    violated: Vec<(UnitId, Vec<Sketch>)>,
}

impl<'a> Judging<'a> {
    fn new(execution: &'a Execution, forest: &'a Forest) -> Self {
        Judging {
            execution,
            forest,
            spread: Spread::new(execution),
            candidate: Candidate::default(),
            search: Search::new(execution.periods.threads()),
            candidates: 0,
            searches: 0,
            not_judged: 0,
            violated: Vec::new(),
        }
    }

    /// Judges all units that were kept, period by period, and gives the others their twins' verdicts.
    fn all(&mut self, condensed: &Condensed, effort: &mut Effort) {
        let execution = self.execution;
        let mut units: Vec<UnitId> = (execution.units())
            .filter(|&(id, unit)| unit.kind != UnitKind::Single && condensed.twin[id.0 as usize] == id)
            .map(|(id, _)| id)
            .collect();
        units.sort_by_key(|&id| execution.unit(id).period);
        let (mut judged, of) = (0, units.len() as u64);
        'all: for same in units.chunk_by(|&a, &b| execution.unit(a).period == execution.unit(b).period) {
            let window = self.spread.window(execution, execution.unit(same[0]).period);
            let mut hops = None;
            for &id in same {
                if let Some(found) = self.one(id, &window, &mut hops) {
                    let sketches = self.sketches(id, found);
                    self.violated.push((id, sketches));
                }
                judged += 1;
                let done = Done { what: "transactions judged", done: judged, of };
                if effort.spend(std::mem::take(&mut self.search.steps), done) == Keep::Stop {
                    self.not_judged = of - judged;
                    break 'all;
                }
            }
        }
        self.tell_twins(condensed);
    }

    fn one(&mut self, unit: UnitId, window: &Window, hops: &mut Option<Hops>) -> Option<Found> {
        self.build(unit);
        if !self.candidate.is_split() {
            return None;
        }
        self.candidates += 1;
        if let Some(found) = self.search.run(&self.candidate, None) {
            return Some(found);
        }
        self.searches += 1;
        let hops = hops.get_or_insert_with(|| {
            let (hops, steps) = self.hops(window);
            self.search.steps += steps;
            hops
        });
        self.search.run(&self.candidate, Some(hops))
    }

    /// Makes the communication nodes of a unit.
    fn build(&mut self, unit: UnitId) {
        let execution = self.execution;
        let mut ends: Vec<&End> = self.forest.of(unit).iter().collect();
        let thread = |end: &End| thread_of(execution, end.theirs);
        let unit = |end: &End| execution.accesses[end.theirs as usize].unit.0;
        ends.sort_by_key(|end| (end.node, thread(end)));
        self.search.steps += ends.len() as u64;
        let candidate = &mut self.candidate;
        candidate.clear();
        for node in ends.chunk_by(|a, b| a.node == b.node) {
            for same in node.chunk_by(|a, b| thread(a) == thread(b)) {
                let first = same.iter().map(|end| unit(end)).min().unwrap_or(0);
                let last = same.iter().map(|end| unit(end)).max().unwrap_or(0);
                candidate.spans.push(Span { thread: thread(same[0]), first, last });
            }
            let (end, start) = node[0].node;
            candidate.add(start..end, node.iter().map(|end| end.own));
        }
        candidate.complete();
    }

    /// The hops among the units of a window, and the steps that they took.
    fn hops(&self, window: &Window) -> (Hops, u64) {
        let execution = self.execution;
        let mut steps = 0;
        let hops = Hops::new(execution, &self.spread, window, |period, targets, hop| {
            for &unit in self.spread.of_period(execution, period).iter().rev() {
                for end in self.forest.of(UnitId(unit)) {
                    steps += 1;
                    let (thread, to) =
                        (thread_of(execution, end.theirs), execution.accesses[end.theirs as usize].unit.0);
                    if targets.units[thread as usize].contains(&to) {
                        hop(unit, thread as usize, to, (end.own, end.theirs));
                    }
                }
            }
        });
        (hops, steps)
    }

    fn sketches(&mut self, unit: UnitId, found: Found) -> Vec<Sketch> {
        let execution = self.execution;
        let mut ends: Vec<&End> = self.forest.of(unit).iter().collect();
        ends.sort_by_key(|end| (end.node, end.own, thread_of(execution, end.theirs), end.theirs));
        let theirs = ends.iter().map(|end| end.theirs).collect();
        let mut partners = EndPartners { execution, ends, theirs };
        let mut sketches = patterns::direct(execution, &self.candidate, &mut partners);
        if sketches.is_empty() {
            let sketch = patterns::found(execution, &self.candidate, &self.search, found, &mut partners);
            sketches.extend(sketch);
        }
        sketches
    }

    /// A unit that was left out is broken in the same way as its twin.
    fn tell_twins(&mut self, condensed: &Condensed) {
        let execution = self.execution;
        self.violated.sort_unstable_by_key(|&(id, _)| id);
        let judged = self.violated.len();
        for (id, _) in execution.units() {
            let twin = condensed.twin[id.0 as usize];
            if twin == id {
                continue;
            }
            let Ok(at) = self.violated[..judged].binary_search_by_key(&twin, |&(id, _)| id) else { continue };
            let mut sketches = self.violated[at].1.clone();
            for sketch in &mut sketches {
                if let Some((own, _)) = sketch.first_mut() {
                    *own = condensed.counterpart(execution, *own, id);
                }
                if let Some((_, own)) = sketch.last_mut() {
                    *own = condensed.counterpart(execution, *own, id);
                }
            }
            self.violated.push((id, sketches));
        }
    }
}

struct EndPartners<'a> {
    execution: &'a Execution,
    /// By node, own access, thread and access at the other end.
    ends: Vec<&'a End>,
    /// The accesses at the other ends.
    theirs: Vec<u32>,
}

impl Partners for EndPartners<'_> {
    fn lists(&mut self, candidate: &Candidate, node: usize, access: u32, thread: u32) -> Vec<Range<u32>> {
        let steps = &candidate.nodes[node].steps;
        let wanted = ((steps.end, steps.start), access, thread);
        let key = |end: &&End| (end.node, end.own, thread_of(self.execution, end.theirs));
        let first = self.ends.partition_point(|end| key(end) < wanted) as u32;
        let last = self.ends.partition_point(|end| key(end) <= wanted) as u32;
        Some(first..last).filter(|list| !list.is_empty()).into_iter().collect()
    }

    fn members(&self, list: &Range<u32>) -> &[u32] {
        &self.theirs[list.start as usize..list.end as usize]
    }
}

fn thread_of(execution: &Execution, access: u32) -> u32 {
    execution.unit(execution.accesses[access as usize].unit).thread.0
}
