//! The conflict forest and the view forest with all their inter-edges (PPoPP'06 section 3, as corrected).
//!
//! A node of a unit's access tree is its interval of steps: the whole unit for locks that were held before it
//! began, acquire to release for a critical section, one step for an access. "Wholly before" is then a comparison
//! of two numbers, also where locks are not released in the reverse order of their acquisition.
//!
//! ```text
//! conflict forest: every two conflicting accesses of concurrent units
//! view forest:     a read and the writes it could see; the writes that could swap under a read; final writes
//! ```
//!
//! *Deviation*: a commuting update is the last word on nothing, so where a rule takes an edge away because of
//! another write of the same unit, that write must not be one.
//!
//! *Cost*: O(accesses²) per location for the conflict forest, up to O(accesses³) for the view forest: see
//! `condense.rs`.

use std::ops::Range;

use rustc_hash::FxHashSet;

use crate::predictive::Execution;
use crate::predictive::effort::{Done, Effort, Keep};
use crate::predictive::execution::{Access, Touch, UnitId};
use crate::predictive::stacks::Meet;

/// Which forest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::predictive) enum Rule {
    Conflict,
    View,
}

/// An end of an inter-edge.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::predictive) struct End {
    pub(in crate::predictive) unit: UnitId,
    /// The node, by its end and its start.
    pub(in crate::predictive) node: (u32, u32),
    /// The access in it.
    pub(in crate::predictive) own: u32,
    /// The access at the other end.
    pub(in crate::predictive) theirs: u32,
}

/// The inter-edges of a forest.
#[derive(Debug)]
pub(in crate::predictive) struct Forest {
    /// Both ends of all edges, by unit and node.
    ends: Vec<End>,
}

/// An edge is kept, so it counts as much as so many steps: memory is bounded as well.
const EDGE: u64 = 100;

impl Forest {
    /// The forest of some accesses, given in ascending order. None if the effort does not allow it.
    pub(in crate::predictive) fn new(
        execution: &Execution,
        kept: &[u32],
        rule: Rule,
        effort: &mut Effort,
    ) -> Option<Forest> {
        let mut by_location: Vec<Vec<u32>> = vec![Vec::new(); execution.locations.len()];
        for &index in kept {
            let location = execution.accesses[index as usize].location;
            if !execution.location(location).is_local() {
                by_location[location.0 as usize].push(index);
            }
        }
        let mut ends = Vec::new();
        for (done, accesses) in (0..).zip(&by_location) {
            let of = by_location.len() as u64;
            let done = Done { what: "variables compared", done, of };
            let mut edges = Edges { execution, accesses, joined: FxHashSet::default(), ends: &mut ends };
            match rule {
                Rule::Conflict => edges.conflict(effort, done)?,
                Rule::View => edges.view(effort, done)?,
            }
        }
        ends.sort_unstable();
        ends.dedup();
        Some(Forest { ends })
    }

    /// How many inter-edges there are.
    pub(in crate::predictive) fn len(&self) -> usize {
        self.ends.len() / 2
    }

    /// The ends of inter-edges in a unit, by node.
    pub(in crate::predictive) fn of(&self, unit: UnitId) -> &[End] {
        let start = self.ends.partition_point(|end| end.unit < unit);
        let end = self.ends.partition_point(|end| end.unit <= unit);
        &self.ends[start..end]
    }
}

/// The edges of one location.
struct Edges<'a> {
    execution: &'a Execution,
    /// All of its accesses; those of a unit are next to each other, in program order.
    accesses: &'a [u32],
    /// Pairs of accesses that have an edge as writes.
    joined: FxHashSet<(u32, u32)>,
    ends: &'a mut Vec<End>,
}

impl Edges<'_> {
    fn conflict(&mut self, effort: &mut Effort, done: Done) -> Option<()> {
        for (at, &one) in self.accesses.iter().enumerate() {
            if effort.spend((self.accesses.len() - at) as u64, done) == Keep::Stop {
                return None;
            }
            for &other in &self.accesses[at + 1..] {
                if self.concurrent(one, other) && self.conflicts(one, other) {
                    let (node, other_node) = self.nodes(one, other);
                    if !self.is_shielded(one, &node) && !self.is_shielded(other, &other_node) {
                        self.edge((one, node), (other, other_node));
                    }
                }
            }
        }
        Some(())
    }

    fn view(&mut self, effort: &mut Effort, done: Done) -> Option<()> {
        let accesses = self.accesses;
        let touch = |index: u32| self.execution.accesses[index as usize].touch;
        let reads: Vec<u32> = accesses.iter().copied().filter(|&e| touch(e).reads()).collect();
        let writes: Vec<u32> = accesses.iter().copied().filter(|&f| touch(f).writes()).collect();
        // What was joined for one read need not be joined again for another one that sees the same.
        let mut seen = FxHashSet::default();
        for read in reads {
            let made = self.ends.len();
            let partners = self.view_of_read(read, &writes);
            let own = self.own_before(read).next_back();
            let mut older = Vec::new();
            if own.is_none() {
                older = self.maximal_before(read, &writes);
                self.join_all(&older);
            }
            let mut steps = accesses.len() as u64;
            if let Some(own) = own {
                for &f in &partners {
                    self.join(f, own);
                }
            }
            if !seen.contains(&(older.clone(), partners.clone())) {
                steps += ((older.len() + partners.len()) * partners.len()) as u64;
                for &f in &partners {
                    for &s in &older {
                        self.join(f, s);
                    }
                }
                self.join_all(&partners);
                seen.insert((older, partners));
            }
            steps += EDGE * (self.ends.len() - made) as u64;
            if effort.spend(steps, done) == Keep::Stop {
                return None;
            }
        }
        let made = self.ends.len();
        let finals: Vec<u32> = writes.iter().copied().filter(|&f| self.is_final(f, &writes)).collect();
        self.join_all(&finals);
        let steps = (finals.len() * (finals.len() + writes.len())) as u64;
        let steps = steps + EDGE * (self.ends.len() - made) as u64;
        (effort.spend(steps, done) == Keep::Going).then_some(())
    }

    /// Makes the edges between a read and the writes it could see; gives those writes.
    fn view_of_read(&mut self, read: u32, writes: &[u32]) -> Vec<u32> {
        let mut partners = Vec::new();
        for &write in writes {
            if self.concurrent(read, write) && self.conflicts(read, write) {
                let (node, other) = self.nodes(read, write);
                let overwritten = (self.own_after(write)).any(|later| {
                    is_last_word(self.access(later)) && other.contains(&self.access(later).step)
                });
                if !overwritten && !self.has_write_inside(read, &node) {
                    self.edge((read, node), (write, other));
                    partners.push(write);
                }
            }
        }
        partners
    }

    /// The last writes before a read that no other such write comes after.
    fn maximal_before(&self, read: u32, writes: &[u32]) -> Vec<u32> {
        let unit = self.access(read).unit;
        let before: Vec<u32> = (writes.iter().copied())
            .filter(|&write| self.execution.before(self.access(write).unit, unit))
            .collect();
        let comes_after = |later: u32, write: u32| self.is_after(later, write);
        (before.iter().copied())
            .filter(|&write| !before.iter().any(|&later| comes_after(later, write)))
            .collect()
    }

    /// No write comes after this one in its unit or in a unit after that.
    fn is_final(&self, write: u32, writes: &[u32]) -> bool {
        !writes.iter().any(|&later| self.is_after(later, write))
    }

    fn is_after(&self, later: u32, earlier: u32) -> bool {
        let (one, other) = (self.access(earlier).unit, self.access(later).unit);
        if one == other { earlier < later } else { self.execution.before(one, other) }
    }

    fn join_all(&mut self, writes: &[u32]) {
        for (at, &one) in writes.iter().enumerate() {
            for &other in &writes[at + 1..] {
                self.join(one, other);
            }
        }
    }

    /// An edge between two writes, if they conflict and are concurrent.
    fn join(&mut self, one: u32, other: u32) {
        let pair = (one.min(other), one.max(other));
        if self.concurrent(one, other) && self.conflicts(one, other) && self.joined.insert(pair) {
            let (node, other_node) = self.nodes(one, other);
            self.edge((one, node), (other, other_node));
        }
    }

    fn edge(&mut self, one: (u32, Range<u32>), other: (u32, Range<u32>)) {
        for ((own, node), (theirs, _)) in [(&one, &other), (&other, &one)] {
            let unit = self.access(*own).unit;
            self.ends.push(End { unit, node: (node.end, node.start), own: *own, theirs: *theirs });
        }
    }

    /// The nodes that an edge of two accesses joins: the accesses if no lock keeps them apart, else the
    /// sections of the outermost lock of the first that does. A read comes first; if both are
    /// reads or neither is, the order matters only to locks that are taken in both orders.
    fn nodes(&self, one: u32, other: u32) -> (Range<u32>, Range<u32>) {
        let stacks = &self.execution.stacks;
        let key = |index: u32| (self.access(index).touch.writes(), stacks.path(self.access(index).stack));
        if key(one) > key(other) {
            let (other_node, node) = self.nodes(other, one);
            return (node, other_node);
        }
        match stacks.meet(key(one).1, key(other).1) {
            Some(Meet { level, other_level }) => {
                (self.at_level(one, level), self.at_level(other, other_level))
            }
            None => (self.leaf(one), self.leaf(other)),
        }
    }

    fn at_level(&self, index: u32, level: u32) -> Range<u32> {
        let access = self.access(index);
        match self.execution.stacks.at_level(access.stack, level) {
            Some(section) => self.execution.node_steps(self.execution.unit(access.unit), section),
            None => self.leaf(index),
        }
    }

    fn leaf(&self, index: u32) -> Range<u32> {
        let step = self.access(index).step;
        step..step + 1
    }

    /// A read with a write of its own unit before it in the node: nobody comes in between.
    fn is_shielded(&self, index: u32, node: &Range<u32>) -> bool {
        self.access(index).touch == Touch::Read && self.has_write_inside(index, node)
    }

    fn has_write_inside(&self, index: u32, node: &Range<u32>) -> bool {
        *node != self.leaf(index)
            && self.own_before(index).any(|own| {
                let own = self.access(own);
                is_last_word(own) && node.contains(&own.step)
            })
    }

    /// The writes of the same unit before an access, in program order.
    fn own_before(&self, index: u32) -> impl DoubleEndedIterator<Item = u32> + '_ {
        let start = self.accesses.partition_point(|&other| other < index);
        let unit = self.access(index).unit;
        let same =
            self.accesses[..start].iter().rev().take_while(|&&own| self.access(own).unit == unit).count();
        self.accesses[start - same..start].iter().copied().filter(|&own| self.access(own).touch.writes())
    }

    /// The writes of the same unit after an access.
    fn own_after(&self, index: u32) -> impl Iterator<Item = u32> + '_ {
        let start = self.accesses.partition_point(|&other| other <= index);
        let unit = self.access(index).unit;
        let rest = self.accesses[start..].iter().copied();
        rest.take_while(move |&own| self.access(own).unit == unit)
            .filter(|&own| self.access(own).touch.writes())
    }

    fn access(&self, index: u32) -> &Access {
        &self.execution.accesses[index as usize]
    }

    fn concurrent(&self, one: u32, other: u32) -> bool {
        self.execution.concurrent(self.access(one).unit, self.access(other).unit)
    }

    fn conflicts(&self, one: u32, other: u32) -> bool {
        self.access(one).touch.conflicts(self.access(other).touch)
    }
}

/// A write after which what others wrote before does not matter, or was seen by it.
fn is_last_word(access: &Access) -> bool {
    matches!(access.touch, Touch::Write | Touch::Update(_))
}

/// What the page says, word for word: is a unit left from a communication node and entered again at one
/// that is wholly later?
#[cfg(test)]
pub(in crate::predictive) fn is_violated(execution: &Execution, forest: &Forest, unit: UnitId) -> bool {
    let ends = forest.of(unit);
    let unit_of = |end: &End| execution.accesses[end.theirs as usize].unit;
    ends.iter().any(|left| {
        let mut reached = vec![unit_of(left)];
        let mut at = 0;
        while at < reached.len() {
            let from = reached[at];
            let neighbours = forest.of(from).iter().map(unit_of);
            let later = execution.units().map(|(id, _)| id).filter(|&id| execution.before(from, id));
            for next in neighbours.chain(later).collect::<Vec<_>>() {
                if execution.concurrent(unit, next) && !reached.contains(&next) {
                    reached.push(next);
                }
            }
            at += 1;
        }
        (ends.iter()).any(|entered| left.node.0 <= entered.node.1 && reached.contains(&unit_of(entered)))
    })
}
