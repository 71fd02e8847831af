//! How many of the violations that truly have a schedule get one: commit-node's patterns, the search and the
//! independent judge of schedules, against all interleavings.

use std::collections::BTreeSet;

use atomvet_check::enumerate::Truth;
use atomvet_check::predictive::schedule::{self, Outcome, Recorded};
use atomvet_check::registry::Entry;
use atomvet_check::{Config, Findings, notation};
use atomvet_trace::{Event, EventId, Names};

/// Steps that the search for one schedule may take: what `atomvet check` grants.
const BUDGET: u64 = 2_000_000;

/// The figures of one column.
#[derive(Default)]
pub(crate) struct Schedules {
    /// Units that some schedule breaks.
    pub(crate) schedulable: usize,
    /// Those for which one was found.
    pub(crate) shown: usize,
    /// What must not be: a schedule that does not hold, or one for a unit that has none.
    pub(crate) wrong: Vec<String>,
}

impl Schedules {
    /// Looks for schedules for all that a checker finds in a program.
    pub(crate) fn judge(&mut self, entry: &Entry, events: &[Event], truth: &Truth) {
        let config = Config::default();
        let out = entry.run(&config, events, Findings::all_instances(&config));
        let recorded = Recorded::new(&config, events);
        let mut shown = BTreeSet::new();
        for violation in &out.predicted.violations {
            let found =
                violation.patterns.iter().filter_map(|pattern| recorded.goal(pattern)).find_map(|goal| {
                    match recorded.search(&goal, BUDGET).0 {
                        Outcome::Found(schedule) => Some((schedule, goal)),
                        Outcome::None | Outcome::OutOfBudget => None,
                    }
                });
            let Some((schedule, goal)) = found else { continue };
            // A block that a fork, join or barrier splits is several units: the one with the first access.
            let Some(first) = violation.patterns.first().and_then(|pattern| pattern.moments.first()) else {
                continue;
            };
            let of_thread = |unit: &&EventId| events[unit.0 as usize].thread == first.event.thread;
            let units = truth.violable.iter().filter(of_thread).filter(|unit| **unit <= first.event.at);
            let begin = units.max().copied().unwrap_or(violation.transaction.begin);
            let program = || notation::show(events, &Names::default());
            if let Err(problem) = schedule::verify(&config, events, &schedule, &goal) {
                self.wrong.push(format!(
                    "  schedule for the unit at event {}: {problem}: {}",
                    begin.0,
                    program()
                ));
            } else if truth.violable.contains(&begin) && !truth.schedulable.contains(&begin) {
                self.wrong.push(format!(
                    "  schedule for the unit at event {}, which has none: {}",
                    begin.0,
                    program()
                ));
            }
            shown.insert(begin);
        }
        self.schedulable += truth.schedulable.len();
        self.shown += truth.schedulable.iter().filter(|unit| shown.contains(unit)).count();
    }

    /// The share that was found, in percent.
    pub(crate) fn percent(&self) -> f64 {
        100.0 * self.shown as f64 / self.schedulable.max(1) as f64
    }
}
