//! The directed search: is a transaction left from one node and entered again at a later one?
//!
//! t is violated iff, for communication nodes n wholly before m of t, a path leads from a neighbour of
//! n to a neighbour of m through units concurrent with t, along inter-edges both ways and along `before`
//! forward only. (PPoPP'06 Theorem 4.3, with the order of threads that the print leaves out.)
//!
//! *Suffixes.* What can be reached in another thread is closed under "later in that thread", so one number
//! per thread says it: the first unit that is reached. Of all neighbours of n in a thread only the
//! first one matters, and of those of m only the last. Of all inter-edges from one thread to another it is
//! enough to know, for every unit, the first one that can be reached from it or from a later one: a
//! staircase ([`Hops`]).
//!
//! *Cost*: of a candidate, its nodes times threads, and threads² · log per node with which more is reached.

use std::ops::Range;

use crate::predictive::Execution;
use crate::predictive::periods::PeriodId;

use super::window::{Spread, Window};

/// The neighbours of a node in one thread: their first and last unit.
#[derive(Clone, Copy, Debug)]
pub(in crate::predictive) struct Span {
    pub(in crate::predictive) thread: u32,
    pub(in crate::predictive) first: u32,
    pub(in crate::predictive) last: u32,
}

/// A communication node.
#[derive(Clone, Debug)]
pub(in crate::predictive) struct Node {
    /// Its steps: its identity within its unit.
    pub(in crate::predictive) steps: Range<u32>,
    pub(in crate::predictive) spans: Range<usize>,
    /// Its accesses with neighbours, in program order: a range of [`Candidate::owns`].
    pub(in crate::predictive) owns: Range<usize>,
}

/// A unit with its communication nodes.
#[derive(Default, Debug)]
pub(in crate::predictive) struct Candidate {
    /// By their ends.
    pub(in crate::predictive) nodes: Vec<Node>,
    pub(in crate::predictive) spans: Vec<Span>,
    pub(in crate::predictive) owns: Vec<u32>,
    /// Indices of nodes, by their starts.
    by_start: Vec<usize>,
}

/// What connects two units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::predictive) enum Link {
    /// Two accesses that conflict, the one that is left from first.
    Conflict(u32, u32),
    /// The order of threads.
    Before,
}

impl Link {
    /// The two accesses.
    pub(in crate::predictive) fn conflict(self) -> Option<(u32, u32)> {
        match self {
            Link::Conflict(out, into) => Some((out, into)),
            Link::Before => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Stair {
    /// From this unit or an earlier one of its thread …
    from: u32,
    /// … this one is reached.
    to: u32,
    link: Link,
}

/// Staircases for each two threads: where one gets from a thread to another.
#[derive(Debug)]
pub(in crate::predictive) struct Hops {
    threads: usize,
    /// Per from-thread and to-thread; both `from` and `to` fall.
    stairs: Vec<Vec<Stair>>,
}

/// How a thread was reached.
#[derive(Clone, Copy, Debug)]
pub(in crate::predictive) enum Reached {
    /// As a neighbour of a node.
    From { node: usize, thread: usize },
    /// From another thread, which was reached in an earlier way.
    By { earlier: usize, link: Link },
}

/// The scratch of searches.
#[derive(Debug)]
pub(in crate::predictive) struct Search {
    /// Per thread the first unit reached, or [`NOWHERE`], and the way in which it was.
    first: Vec<(u32, usize)>,
    /// All ways so far; later ones refer to earlier ones.
    pub(in crate::predictive) ways: Vec<Reached>,
    dirty: Vec<usize>,
    pub(in crate::predictive) steps: u64,
}

/// A unit later than all.
const NOWHERE: u32 = u32::MAX;

/// The node that is entered, the thread that it is entered from, and the way in which that is reached.
#[derive(Clone, Copy, Debug)]
pub(in crate::predictive) struct Found {
    pub(in crate::predictive) node: usize,
    pub(in crate::predictive) thread: usize,
    pub(in crate::predictive) way: usize,
}

impl Candidate {
    pub(in crate::predictive) fn clear(&mut self) {
        self.nodes.clear();
        self.spans.clear();
        self.owns.clear();
    }

    /// Adds a node, with the spans that were added since the last one.
    pub(in crate::predictive) fn add(&mut self, steps: Range<u32>, owns: impl Iterator<Item = u32>) {
        let spans = self.nodes.last().map_or(0, |node| node.spans.end)..self.spans.len();
        let start = self.owns.len();
        let mut owns: Vec<u32> = owns.collect();
        owns.sort_unstable();
        owns.dedup();
        self.owns.append(&mut owns);
        self.nodes.push(Node { steps, spans, owns: start..self.owns.len() });
    }

    /// All nodes are there.
    pub(in crate::predictive) fn complete(&mut self) {
        self.nodes.sort_unstable_by_key(|node| (node.steps.end, node.steps.start));
        self.by_start.clear();
        self.by_start.extend(0..self.nodes.len());
        self.by_start.sort_unstable_by_key(|&node| self.nodes[node].steps.start);
    }

    /// Whether some node is wholly before another: there is more than one commit node.
    pub(in crate::predictive) fn is_split(&self) -> bool {
        match (self.nodes.first(), self.by_start.last()) {
            (Some(first_to_end), Some(&last_to_start)) => {
                first_to_end.steps.end <= self.nodes[last_to_start].steps.start
            }
            _ => false,
        }
    }

    pub(in crate::predictive) fn spans(&self, node: usize) -> &[Span] {
        &self.spans[self.nodes[node].spans.clone()]
    }

    /// The accesses of a node that have neighbours.
    pub(in crate::predictive) fn owns(&self, node: usize) -> &[u32] {
        &self.owns[self.nodes[node].owns.clone()]
    }

    /// The nodes in the order of their starts.
    pub(in crate::predictive) fn by_start(&self) -> impl Iterator<Item = usize> + '_ {
        self.by_start.iter().copied()
    }
}

impl Hops {
    /// The hops among the units of a window. `of_period` adds, through its last argument, the
    /// inter-edges that leave the units of a period, by falling units: unit, thread, unit, the two accesses.
    pub(in crate::predictive) fn new(
        execution: &Execution,
        spread: &Spread,
        window: &Window,
        mut of_period: impl FnMut(PeriodId, &Window, &mut dyn FnMut(u32, usize, u32, (u32, u32))),
    ) -> Hops {
        let periods = &execution.periods;
        let threads = periods.threads();
        let mut stairs = vec![Vec::new(); threads * threads];
        for thread in 0..threads {
            let own = periods.of_thread(atomvet_trace::ThreadId(thread as u32));
            let row = &mut stairs[thread * threads..(thread + 1) * threads];
            for &period in own[as_range(&window.periods[thread])].iter().rev() {
                let mut targets = spread.window(execution, period);
                for (other, stairs) in row.iter_mut().enumerate() {
                    let (target, allowed) = (&mut targets.periods[other], &window.periods[other]);
                    let after = target.end.max(allowed.start)..allowed.end;
                    if other != thread && !after.is_empty() {
                        let to = spread.units(execution, other, &after).start;
                        step_down(stairs, Stair { from: spread.last(period), to, link: Link::Before });
                    }
                    *target = target.start.max(allowed.start)..target.end.min(allowed.end);
                    targets.units[other] = spread.units(execution, other, target);
                }
                of_period(period, &targets, &mut |from, other, to, (out, into)| {
                    step_down(&mut row[other], Stair { from, to, link: Link::Conflict(out, into) });
                });
            }
        }
        Hops { threads, stairs }
    }

    /// The first unit of a thread that can be reached from a unit of another or from a later one.
    fn hop(&self, thread: usize, from: u32, other: usize) -> Option<&Stair> {
        let stairs = &self.stairs[thread * self.threads + other];
        let below = stairs.partition_point(|stair| stair.from >= from);
        stairs[..below].last()
    }
}

fn step_down(stairs: &mut Vec<Stair>, stair: Stair) {
    if stairs.last().is_none_or(|last| stair.to < last.to) {
        stairs.push(stair);
    }
}

fn as_range(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

impl Search {
    pub(in crate::predictive) fn new(threads: usize) -> Search {
        Search { first: vec![(NOWHERE, 0); threads], ways: Vec::new(), dirty: Vec::new(), steps: 0 }
    }

    /// Looks for a way out of the unit and back into a later node; without hops, only for one that
    /// stays in one thread.
    pub(in crate::predictive) fn run(&mut self, candidate: &Candidate, hops: Option<&Hops>) -> Option<Found> {
        self.first.fill((NOWHERE, 0));
        self.ways.clear();
        self.dirty.clear();
        let mut left = 0;
        for node in candidate.by_start() {
            let start = candidate.nodes[node].steps.start;
            while left < candidate.nodes.len() && candidate.nodes[left].steps.end <= start {
                for span in candidate.spans(left) {
                    let thread = span.thread as usize;
                    self.reach(thread, span.first, Reached::From { node: left, thread });
                }
                self.steps += candidate.spans(left).len() as u64;
                left += 1;
            }
            if let Some(hops) = hops {
                self.close(hops);
            }
            let spans = candidate.spans(node);
            self.steps += 1 + spans.len() as u64;
            for span in spans {
                let thread = span.thread as usize;
                let (first, way) = self.first[thread];
                if first <= span.last {
                    return Some(Found { node, thread, way });
                }
            }
        }
        None
    }

    fn reach(&mut self, thread: usize, unit: u32, by: Reached) {
        if unit < self.first[thread].0 {
            self.first[thread] = (unit, self.ways.len());
            self.ways.push(by);
            self.dirty.push(thread);
        }
    }

    fn close(&mut self, hops: &Hops) {
        while let Some(thread) = self.dirty.pop() {
            let (from, way) = self.first[thread];
            for other in 0..hops.threads {
                if let Some(&Stair { to, link, .. }) = hops.hop(thread, from, other) {
                    self.reach(other, to, Reached::By { earlier: way, link });
                }
            }
            self.steps += hops.threads as u64;
        }
    }

    /// Where a way starts (a node, and the thread of its neighbours), and its links, first to last.
    pub(in crate::predictive) fn way(&self, mut way: usize) -> (usize, usize, Vec<Link>) {
        let mut links = Vec::new();
        loop {
            match self.ways[way] {
                Reached::From { node, thread } => {
                    links.reverse();
                    return (node, thread, links);
                }
                Reached::By { earlier, link } => {
                    links.push(link);
                    way = earlier;
                }
            }
        }
    }
}
