use atomvet_trace::{Event, EventId};

use super::condense::{self, Condensed};
use super::confirm::{Confirm, Confirmed};
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

/// The same with nothing but the explicit forest of some accesses, and a second look at every unit.
fn expected(execution: &Execution, rule: Rule, kept: &[u32]) -> Vec<EventId> {
    let forest = Forest::new(execution, kept, rule, &mut Effort::default()).unwrap();
    let mut confirm = Confirm::new(execution, &forest);
    let mut found: Vec<EventId> = (execution.units())
        .filter(|&(id, unit)| unit.kind != UnitKind::Single && forest::is_violated(execution, &forest, id))
        .filter(|&(id, _)| !matches!(confirm.unit(id), Confirmed::Impossible))
        .map(|(_, unit)| unit.block.begin)
        .collect();
    found.sort_unstable();
    found
}

fn random_executions(seed: u64, count: usize, mut judge: impl FnMut(&Config, &[Event], &Execution)) {
    let mut random = Random(seed);
    for round in 0..count {
        let config =
            Config { commuting_updates: random.below(2) == 0, split_at_waits: false, ..Config::default() };
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
                    assert_eq!(
                        of_unique(unique.twin[id.0 as usize]),
                        truth(id),
                        "unique: {id:?} {}",
                        shown()
                    );
                    assert_eq!(of_both(both.twin[id.0 as usize]), truth(id), "both: {id:?} {}", shown());
                }
            }
        }
    });
    assert!(left_out[0] > 1000 && left_out[1] > 500, "{left_out:?}");
}

/// What `commit-node` and `commit-node-view` say: the labels of violated blocks.
#[track_caller]
fn check(trace: &str, conflict: &[&str], view: &[&str]) {
    let (events, names) = notation::parse(trace);
    let config = Config { commuting_updates: true, ..Config::default() };
    let execution = record(&config, &events);
    let labels = |begins: Vec<EventId>| -> Vec<String> {
        begins
            .iter()
            .map(|begin| match events[begin.0 as usize].op {
                atomvet_trace::Op::Begin(region) => names.regions.get(region).to_owned(),
                _ => "section".to_owned(),
            })
            .collect()
    };
    assert_eq!(labels(reported::<CommitNode>(&config, &execution)), conflict, "conflict: {trace}");
    assert_eq!(labels(reported::<CommitNodeView>(&config, &execution)), view, "view: {trace}");
}

#[test]
fn a_transaction_beside_two_of_one_thread_is_judged_by_their_order() {
    check("1:b(t) 1:r(x) 1:r(y) 1:e 2:b(u) 2:w(x) 2:e 2:b(v) 2:w(y) 2:e", &["t"], &["t"]);
    check("1:b(t) 1:r(x) 1:r(y) 1:e 2:b(u) 2:w(y) 2:e 2:b(v) 2:w(x) 2:e", &[], &[]);
}

#[test]
fn two_commit_nodes_without_a_way_from_one_to_the_other_are_no_violation() {
    // PPoPP 2006, Figure 7.
    let figure_7 = "1:b(t) 1:acq(l) 1:w(x) 1:rel(l) 1:acq(l) 1:w(y) 1:rel(l) 1:e \
                    2:b(u) 2:acq(l) 2:r(x) 2:rel(l) 2:e 3:b(v) 3:acq(l) 3:r(y) 3:rel(l) 3:e";
    check(figure_7, &[], &[]);
    // What the two do after and before them makes the way, and only in this order.
    check(&format!("3:r(z) {figure_7} 2:w(z)"), &["t"], &["t"]);
    check(&format!("2:r(z) {figure_7} 3:w(z)"), &[], &[]);
}

#[test]
fn a_way_leads_through_several_threads() {
    // RV 2003, (16): no two of the three can be violated.
    let trace = "1:b(t) 1:w(x) 1:w(y) 1:e 2:b(u) 2:r(x) 2:w(z) 2:e 3:b(v) 3:r(z) 3:r(y) 3:e";
    check(trace, &["t", "u", "v"], &["t", "u", "v"]);
    let (events, _) = notation::parse(trace);
    let execution = record(&Config::default(), &events);
    let mut out = Predicted::default();
    CommitNode.judge(&execution, &mut Effort::default(), &mut out);
    let moments: Vec<u64> =
        out.violations[0].patterns[0].moments.iter().map(|moment| moment.event.at.0).collect();
    assert_eq!(moments, [1, 5, 6, 9, 10, 2]);
    assert_eq!(out.violations[0].patterns[0].order, [(0, 1), (2, 3), (4, 5)]);
}

#[test]
fn a_single_critical_section_is_one_node() {
    check("1:b(t) 1:acq(l) 1:r(x) 1:w(x) 1:rel(l) 1:e 2:b(u) 2:acq(l) 2:w(x) 2:rel(l) 2:e", &[], &[]);
    check(
        "1:b(t) 1:acq(l) 1:r(x) 1:rel(l) 1:acq(l) 1:w(x) 1:rel(l) 1:e 2:b(u) 2:acq(l) 2:w(x) 2:rel(l) 2:e",
        &["t"],
        &["t"],
    );
    // Readers do not keep each other out.
    check(
        "1:b(t) 1:racq(l) 1:r(x) 1:w(y) 1:rrel(l) 1:e 2:b(u) 2:racq(l) 2:w(x) 2:r(y) 2:rrel(l) 2:e",
        &["t", "u"],
        &["t", "u"],
    );
}

#[test]
fn blind_writes_may_change_places_in_the_view_forest() {
    check("1:b(t) 1:w(x) 1:w(x) 1:e 2:b(u) 2:w(x) 2:e", &["t"], &[]);
    check("1:b(t) 1:w(x) 1:w(x) 1:e 2:b(u) 2:r(x) 2:e", &["t"], &["t"]);
}

#[test]
fn overlapping_sections_that_are_not_nested_are_no_two_commit_nodes() {
    let others = "2:b(u) 2:acq(k) 2:w(x) 2:rel(k) 2:acq(l) 2:w(y) 2:rel(l) 2:e";
    check(&format!("1:b(t) 1:acq(k) 1:r(x) 1:acq(l) 1:rel(k) 1:r(y) 1:rel(l) 1:e {others}"), &["u"], &["u"]);
    check(
        &format!("1:b(t) 1:acq(k) 1:r(x) 1:rel(k) 1:acq(l) 1:r(y) 1:rel(l) 1:e {others}"),
        &["t", "u"],
        &["t", "u"],
    );
}

#[test]
fn a_commuting_update_does_not_shield_a_read_from_another_one() {
    let other = "2:b(u) 2:acq(l) 2:add(x) 2:rel(l) 2:acq(l) 2:w(y) 2:rel(l) 2:e";
    let trace = format!("1:b(t) 1:acq(l) 1:add(x) 1:r(x) 1:rel(l) 1:acq(l) 1:r(y) 1:rel(l) 1:e {other}");
    check(&trace, &["t", "u"], &["t", "u"]);
    check(&trace.replace("1:r(x)", "1:add(x)"), &[], &[]);
}

#[test]
fn what_fork_and_join_order_is_no_partner() {
    check("1:w(x) 1:fork(2) 2:b(t) 2:r(x) 2:r(x) 2:e 1:join(2) 1:w(x)", &[], &[]);
    check("1:fork(2) 2:b(t) 2:r(x) 2:r(x) 2:e 1:w(x) 1:join(2)", &["t"], &["t"]);
}

#[test]
fn leaves_with_edges_are_races_the_nearest_of_each_two_classes() {
    let (events, _) =
        notation::parse("1:w(x) 1:w(x) 2:r(x) 1:acq(l) 1:w(y) 1:rel(l) 2:acq(l) 2:w(y) 2:rel(l)");
    let execution = record(&Config::default(), &events);
    let mut out = Predicted::default();
    CommitNode.judge(&execution, &mut Effort::default(), &mut out);
    let races: Vec<_> =
        out.races.iter().map(|race| (race.first.event.at.0, race.second.event.at.0)).collect();
    assert_eq!(races, [(1, 2)]);
    assert!(out.violations.is_empty());
}

#[test]
fn two_atomic_accesses_do_not_race_even_if_plain_ones_are_beside_them() {
    let (events, _) = notation::parse("1:aw(x) 2:ar(x) 2:add(x) 1:w(x) 1:w(y) 1:w(y) 2:ar(y)");
    let execution = record(&Config::default(), &events);
    let mut out = Predicted::default();
    CommitNode.judge(&execution, &mut Effort::default(), &mut out);
    let mut races: Vec<_> =
        out.races.iter().map(|race| (race.first.event.at.0, race.second.event.at.0)).collect();
    races.sort_unstable();
    assert_eq!(races, [(1, 3), (2, 3), (5, 6)]);
}

#[test]
fn work_that_was_cut_short_says_so() {
    let (events, _) = notation::parse("1:b(t) 1:r(x) 1:r(x) 1:e 2:b(u) 2:w(x) 2:w(x) 2:e");
    let execution = record(&Config::default(), &events);
    for judge in [
        |execution: &Execution, effort: &mut Effort, out: &mut Predicted| {
            CommitNode.judge(execution, effort, out)
        },
        |execution: &Execution, effort: &mut Effort, out: &mut Predicted| {
            CommitNodeView.judge(execution, effort, out)
        },
    ] {
        let Stats(figures) = judge(&execution, &mut Effort::new(1, None), &mut Predicted::default());
        assert!(figures.iter().any(|&(name, value)| name == "not judged" && value > 0), "{figures:?}");
    }
}

#[test]
fn no_program_that_some_interleaving_breaks_is_missed() {
    use crate::enumerate::programs::{Column, Operations, program};
    use crate::enumerate::{Limits, enumerate};
    let mut broken = 0;
    for seed in 0..150 {
        for (column, operations) in Column::ALL
            .into_iter()
            .flat_map(|column| [(column, Operations::Plain), (column, Operations::Rich)])
        {
            let events = program(column, operations, seed);
            let Some(truth) = enumerate(&events, &Limits { states: 100_000 }) else { continue };
            let execution = record(&Config::default(), &events);
            let shown =
                || format!("{column:?} {operations:?} {}", notation::show(&events, &Default::default()));
            if !truth.conflict_atomic {
                broken += 1;
                assert!(!reported::<CommitNode>(&Config::default(), &execution).is_empty(), "{}", shown());
            }
            if !truth.view_atomic {
                assert!(
                    !reported::<CommitNodeView>(&Config::default(), &execution).is_empty(),
                    "{}",
                    shown()
                );
            }
        }
    }
    assert!(broken > 300, "{broken}");
}
