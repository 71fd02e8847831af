//! The judge of the predictive checkers: all interleavings of a small program.
//!
//! A recorded, well-formed, complete trace is taken as a program: what each thread does, in its order.
//! Looked at is every interleaving of it that locks (exclusive, shared, re-entrant, given back while
//! waiting), fork, join and barriers (with the recorded arrivals in each episode) allow. Values are
//! ignored, as in the algorithms judged: whether the program would still do the same is asked for
//! [`Truth::schedulable`] only.
//!
//! Definitions are those of "Common ground" in the design of the predictive algorithms. Units: a
//! transaction; an outermost critical section outside of every transaction; a single event outside
//! both. Fork, join and barrier end a unit: fork and barrier are its last event, join is the first of
//! the next. A transaction inside a critical section makes the rest of that two units, and a wait outside of
//! transactions leaves its section. Data conflicts
//! order units, and so do threads, fork, join and barriers; locks only decide what is possible.
//!
//! The method is explicit search of states, each visited once. A state is how far each thread is, and what
//! the question needs to know of the way there; each file says why that is enough. The tests compare
//! with one interleaving after the other, straight from the definitions. Two shortcuts are theorems:
//! a unit that is violated makes a cycle of units; and what is conflict-serializable is view-serializable.
//!
//! Cost: exponential in the number of threads. Programs of 10 to 13 accesses take 0.3 ms on average
//! (`cargo xtask predict`, without any checker: 25,000 of them in 8.3 s).

mod lattice;
#[cfg(test)]
mod naive;
pub mod programs;
mod steps;
#[cfg(test)]
mod tests;
mod view;
mod violable;

use std::hash::Hash;

use atomvet_trace::{Event, EventId};
use rustc_hash::FxHashSet;

use lattice::Lattice;
use steps::{Grain, Steps};

/// How much is searched before giving up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// So many states, for all questions together.
    pub states: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { states: 10_000_000 }
    }
}

/// What is true of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Truth {
    /// Some interleaving gets to where no thread can go on and not all are done.
    pub deadlock_possible: bool,
    /// In every complete interleaving, the graph of units has no cycle.
    pub conflict_atomic: bool,
    /// Every complete interleaving looks like one in which the units come one after the other: reads see the
    /// same writes, and the last write of each variable is the same.
    pub view_atomic: bool,
    /// The units, by their first events, of which in some interleaving (complete or not) one event happens
    /// before an event of another unit, and that before a later event of the unit.
    pub violable: Vec<EventId>,
    /// Those of them to which that happens though every read sees the write that was recorded, other than
    /// reads with which their thread stops.
    pub schedulable: Vec<EventId>,
}

/// Judges a program by a complete, well-formed trace of it, in which re-entrant lock operations are marked.
/// None if it has more than 8 threads, 16 variables or 250 steps, or more states than allowed.
pub fn enumerate(events: &[Event], limits: &Limits) -> Option<Truth> {
    let mut budget = Budget { left: limits.states };
    let fine = Lattice::new(Steps::new(events, Grain::Fine)?, &mut budget)?;
    let coarse = Lattice::new(Steps::new(events, Grain::Coarse)?, &mut budget)?;
    let deadlock_possible = fine.has_deadlock();
    let (mut violable, mut schedulable) = (Vec::new(), Vec::new());
    let all_steer = vec![true; events.len()];
    // Both grains have the same units, of different steps.
    for (unit, fine_unit) in coarse.steps.units.iter().zip(&fine.steps.units) {
        if unit.accesses > 1 && violable::is_violable(&coarse, unit, &mut budget)? {
            violable.push(unit.first_event);
            if violable::is_schedulable(&fine, fine_unit, &all_steer, &mut budget)? {
                schedulable.push(unit.first_event);
            }
        }
    }
    // A violated unit is in a cycle, and where nothing gets stuck, all comes to its end.
    let surely_cyclic = !violable.is_empty() && !deadlock_possible;
    let conflict_atomic = !surely_cyclic && !coarse.has_cycle(&mut budget)?;
    let view_atomic = conflict_atomic || view::is_view_atomic(&coarse, &mut budget)?;
    Some(Truth { deadlock_possible, conflict_atomic, view_atomic, violable, schedulable })
}

/// The units that can be violated in a program with branches: a read for which `steers` says so decides what its thread does
/// next. Where it sees another write than recorded, or one whose value came from such a read, its thread is not followed any
/// further. All other reads only decide what their thread writes. None as in [`enumerate`].
pub fn violable_with_branches(events: &[Event], steers: &[bool], limits: &Limits) -> Option<Vec<EventId>> {
    let mut budget = Budget { left: limits.states };
    let fine = Lattice::new(Steps::new(events, Grain::Fine)?, &mut budget)?;
    let mut violable = Vec::new();
    for unit in fine.steps.units.iter().filter(|unit| unit.accesses > 1) {
        if violable::is_schedulable(&fine, unit, steers, &mut budget)? {
            violable.push(unit.first_event);
        }
    }
    Some(violable)
}

/// How many states may still be visited.
struct Budget {
    left: u64,
}

/// Whether what is looked for was found.
enum Search {
    Goes,
    Found,
}

impl Budget {
    fn spend(&mut self, states: u64) -> Option<()> {
        self.left = self.left.checked_sub(states)?;
        Some(())
    }

    /// Whether `expand`, which puts the next states into the list, finds something in a state that can be
    /// reached from `start`. None if the budget is used up.
    fn search<S: Clone + Eq + Hash>(
        &mut self,
        start: S,
        mut expand: impl FnMut(&S, &mut Vec<S>) -> Search,
    ) -> Option<bool> {
        let mut seen = FxHashSet::default();
        let (mut waiting, mut next) = (vec![start.clone()], Vec::new());
        seen.insert(start);
        while let Some(state) = waiting.pop() {
            self.spend(1)?;
            if let Search::Found = expand(&state, &mut next) {
                return Some(true);
            }
            for state in next.drain(..) {
                if seen.insert(state.clone()) {
                    waiting.push(state);
                }
            }
        }
        Some(false)
    }
}
