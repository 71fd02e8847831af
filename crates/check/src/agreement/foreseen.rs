//! What must hold of predictions on any trace, whatever is true of it: each schedule that is found holds, and
//! what a precise algorithm finds, a coarser one finds too.

use std::collections::BTreeSet;

use atomvet_trace::{Event, EventId};

use crate::predictive::predicted::Reason;
use crate::predictive::schedule::{self, Outcome, Recorded};
use crate::registry;
use crate::{Config, Findings, Kind};

/// Each finds all that the one before it finds: a unit that movers show to be atomic has one commit node (PPoPP'06
/// Theorem 6.1), and each test for races calls every access racy that the one before it does.
const COARSER: [&str; 4] = ["commit-node", "reduction-pairwise", "reduction", "reduction-common-lock"];

/// Steps for one schedule.
const BUDGET: u64 = 20_000;

/// Runs every predictive checker on a well-formed trace; an error says what does not hold.
pub fn foresee(config: &Config, events: &[Event]) -> Result<(), String> {
    let recorded = Recorded::new(config, events);
    let mut found: Vec<(&str, BTreeSet<EventId>)> = Vec::new();
    for entry in registry::of_kind(Kind::Predictive) {
        let name = entry.info.name;
        let predicted = entry.run(config, events, Findings::all_instances(config)).predicted;
        for violation in &predicted.violations {
            if violation.patterns.is_empty() {
                return Err(format!("{name}: a violation without a pattern"));
            }
            let goals = violation.patterns.iter().filter_map(|pattern| recorded.goal(pattern));
            for goal in goals.filter(|_| violation.reason == Reason::Pattern).take(3) {
                if let (Outcome::Found(schedule), _) = recorded.search(&goal, BUDGET) {
                    schedule::verify(config, events, &schedule, &goal)
                        .map_err(|problem| format!("{name}: the schedule for {goal:?} fails: {problem}"))?;
                }
            }
        }
        found.push((name, predicted.violations.iter().map(|v| v.transaction.begin).collect()));
    }
    let of = |name: &str| found.iter().find(|(other, _)| *other == name).map(|(_, units)| units);
    for pair in COARSER.windows(2) {
        let (Some(precise), Some(coarse)) = (of(pair[0]), of(pair[1])) else { continue };
        if let Some(unit) = precise.difference(coarse).next() {
            return Err(format!("{} finds the unit at {unit:?}, {} does not", pair[0], pair[1]));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::{self, Random};

    #[test]
    fn predictions_agree_on_random_traces() {
        let mut random = Random(7);
        for round in 0..3000 {
            let config = Config {
                commuting_updates: round % 2 == 1,
                split_at_waits: round % 4 >= 2,
                ..Config::default()
            };
            let events = random::trace(&mut random, 10 + round % 50);
            if let Err(problem) = foresee(&config, &events) {
                panic!("{config:?}: {problem}\n{}", crate::notation::show(&events, &Default::default()));
            }
        }
    }
}
