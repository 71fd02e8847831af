use atomvet_trace::{Event, EventId};

use super::condense::{self, Condensed};
use super::forest::{self, Forest, Rule};
use super::*;
use crate::Findings;
use crate::notation;
use crate::oracle::random::{self, Random};
use crate::predictive::commit_node_view::CommitNodeView;
use crate::predictive::record;

/// The units that a checker reports, by the begins of their blocks.
fn reported<J: Judge>(config: &Config, execution: &Execution) -> Vec<EventId> {
    let mut out = Findings::all_instances(config).predicted;
    J::new(config).judge(execution, &mut Effort::default(), &mut out);
    let mut found: Vec<EventId> =
        out.violations.iter().map(|violation| violation.transaction.begin).collect();
    found.sort_unstable();
    found
}

/// The same with nothing but the explicit forest of some accesses.
fn expected(execution: &Execution, rule: Rule, kept: &[u32]) -> Vec<EventId> {
    let forest = Forest::new(execution, kept, rule, &mut Effort::default()).unwrap();
    let mut found: Vec<EventId> = (execution.units())
        .filter(|&(id, unit)| {
            unit.kind != UnitKind::Single && forest::is_violated(execution, &forest, id)
        })
        .map(|(_, unit)| unit.block.begin)
        .collect();
    found.sort_unstable();
    found
}

fn random_executions(seed: u64, count: usize, mut judge: impl FnMut(&Config, &[Event], &Execution)) {
    let mut random = Random(seed);
    for round in 0..count {
        let config = Config { commuting_updates: random.below(2) == 0, split_at_waits: false };
        let events = random::trace(&mut random, 10 + round % 60);
        judge(&config, &events, &record(&config, &events));
    }
}

#[test]
fn the_conflict_forest_without_edges_judges_as_the_one_with_edges() {
    let (mut violated, mut clean) = (0, 0);
    random_executions(1, 6000, |config, events, execution| {
        let expected = expected(execution, Rule::Conflict, &condense::shared(execution));
        let shown = || notation::show(events, &Default::default());
        assert_eq!(reported::<CommitNode>(config, execution), expected, "{}", shown());
        violated += expected.len();
        clean += execution.units.len() - expected.len();
    });
    assert!(violated > 1000 && clean > 1000, "{violated} {clean}");
}

#[test]
fn the_view_forest_judges_as_its_edges_say() {
    random_executions(2, 3000, |config, events, execution| {
        let expected = expected(execution, Rule::View, &condense::shared(execution));
        let shown = || notation::show(events, &Default::default());
        assert_eq!(reported::<CommitNodeView>(config, execution), expected, "{}", shown());
    });
}

#[test]
fn trimming_and_leaving_out_duplicates_keep_every_verdict() {
    let mut left_out = [0, 0];
    random_executions(3, 3000, |_, events, execution| {
        let all = condense::shared(execution);
        let trimmed = condense::trimmed(execution);
        let unique = condense::without_duplicates(execution, all.clone());
        let both = Condensed::new(execution);
        left_out[0] += all.len() - trimmed.len();
        left_out[1] += all.len() - unique.accesses.len();
        for rule in [Rule::Conflict, Rule::View] {
            let shown = || format!("{rule:?} {}", notation::show(events, &Default::default()));
            let verdict = |kept: &[u32]| {
                let forest = Forest::new(execution, kept, rule, &mut Effort::default()).unwrap();
                move |id: UnitId| forest::is_violated(execution, &forest, id)
            };
            let (truth, of_trimmed) = (verdict(&all), verdict(&trimmed));
            let (of_unique, of_both) = (verdict(&unique.accesses), verdict(&both.accesses));
            for (id, unit) in execution.units() {
                if unit.kind != UnitKind::Single {
                    assert_eq!(of_trimmed(id), truth(id), "trimmed: {id:?} {}", shown());
                    assert_eq!(of_unique(unique.twin[id.0 as usize]), truth(id), "unique: {id:?} {}", shown());
                    assert_eq!(of_both(both.twin[id.0 as usize]), truth(id), "both: {id:?} {}", shown());
                }
            }
        }
    });
    assert!(left_out[0] > 1000 && left_out[1] > 500, "{left_out:?}");
}
