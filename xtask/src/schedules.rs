//! How many of the violations that truly have a schedule get one, and how many that are predicted are none: commit-node's
//! patterns, the search and the independent judge of schedules, against all interleavings.
//!
//! With the recorded values a schedule must never be wrong. A relaxed one must never be wrong for programs that do the same
//! whatever they read. Each program is looked at a second time with some of its reads as branches: there a
//! relaxed schedule may be wrong, and it is counted how often it is.

use std::collections::BTreeSet;

use atomvet_check::enumerate::{Limits, Truth, violable_with_branches};
use atomvet_check::predictive::predicted::Prediction;
use atomvet_check::predictive::schedule::{self, Goal, Outcome, Recorded, Values};
use atomvet_check::registry::Entry;
use atomvet_check::{Config, Findings, notation};
use atomvet_trace::{Event, EventId, Names, Op};

/// Steps that the search for one schedule may take: what `atomvet check` grants.
const BUDGET: u64 = 2_000_000;

/// So many of a hundred reads are branches.
const BRANCHES: u64 = 30;

/// The figures of one column.
#[derive(Default)]
pub(crate) struct Schedules {
    /// Units that some schedule breaks with the recorded values; those for which one was found.
    pub(crate) with_recorded_values: Share,
    /// Units that some schedule breaks; those for which one was found, relaxed or not.
    pub(crate) with_any_values: Share,
    /// Units with a relaxed schedule only, in programs with branches; those that can be violated there.
    pub(crate) with_branches: Share,
    /// What must not be: a schedule that does not hold, or one for a unit that has none.
    pub(crate) wrong: Vec<String>,
}

/// Some, of all.
#[derive(Default)]
pub(crate) struct Share {
    some: usize,
    all: usize,
}

impl Share {
    fn add(&mut self, all: &[EventId], some: &BTreeSet<EventId>) {
        self.all += all.len();
        self.some += all.iter().filter(|unit| some.contains(unit)).count();
    }

    pub(crate) fn percent(&self) -> String {
        format!("{:.2}%", 100.0 * self.some as f64 / self.all.max(1) as f64)
    }
}

impl Schedules {
    /// Looks for schedules for all that a checker finds in a program.
    pub(crate) fn judge(
        &mut self,
        entry: &Entry,
        (seed, events): (u64, &[Event]),
        truth: &Truth,
        limits: &Limits,
    ) {
        let config = Config::default();
        let out = entry.run(&config, events, Findings::all_instances(&config));
        let recorded = Recorded::new(&config, events);
        let (mut as_recorded, mut relaxed) = (BTreeSet::new(), BTreeSet::new());
        for violation in &out.predicted.violations {
            let goals: Vec<Goal> =
                violation.patterns.iter().filter_map(|pattern| recorded.goal(pattern)).collect();
            let search = |values: Values| {
                goals.iter().map(|goal| goal.with(values)).find_map(|goal| {
                    match recorded.search(&goal, BUDGET).0 {
                        Outcome::Found(schedule) => Some((schedule, goal)),
                        Outcome::None | Outcome::OutOfBudget => None,
                    }
                })
            };
            let found = search(Values::AsRecorded).or_else(|| search(Values::Relaxed));
            let Some((schedule, goal)) = found else { continue };
            let Some(begin) = unit(events, truth, violation) else { continue };
            let is_relaxed = goal.values == Values::Relaxed;
            let possible = if is_relaxed { &truth.violable } else { &truth.schedulable };
            let problem = match schedule::verify(&config, events, &schedule, &goal) {
                Err(problem) => Some(problem),
                Ok(_) => (!possible.contains(&begin)).then(|| "it has none".to_owned()),
            };
            self.wrong.extend(problem.map(|problem| {
                let (values, program) = (goal.values, notation::show(events, &Names::default()));
                format!("  schedule ({values:?}) for the unit at event {}: {problem}: {program}", begin.0)
            }));
            if is_relaxed { &mut relaxed } else { &mut as_recorded }.insert(begin);
        }
        relaxed.retain(|unit| !as_recorded.contains(unit));
        self.with_recorded_values.add(&truth.schedulable, &as_recorded);
        if !relaxed.is_empty()
            && let Some(violable) = violable_with_branches(events, &branches(events, seed), limits)
        {
            let relaxed: Vec<EventId> = relaxed.iter().copied().collect();
            self.with_branches.add(&relaxed, &violable.into_iter().collect());
        }
        as_recorded.append(&mut relaxed);
        self.with_any_values.add(&truth.violable, &as_recorded);
    }
}

/// The unit that a violation is of. (A block that a fork, join or barrier splits is several units: the one with the first access.)
fn unit(events: &[Event], truth: &Truth, violation: &Prediction) -> Option<EventId> {
    let first = violation.patterns.first()?.moments.first()?.event;
    let of_thread = |unit: &&EventId| events[unit.0 as usize].thread == first.thread && **unit <= first.at;
    Some(truth.violable.iter().filter(of_thread).max().copied().unwrap_or(violation.transaction.begin))
}

/// Per event: whether it decides what its thread does next. The same for the same seed.
fn branches(events: &[Event], seed: u64) -> Vec<bool> {
    let mixed = |at: u64| (seed << 16 ^ at).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let is_branch = |(at, event): (u64, &Event)| {
        matches!(event.op, Op::Read(..) | Op::Update(..)) && mixed(at) % 100 < BRANCHES
    };
    (0..).zip(events).map(is_branch).collect()
}
