use atomvet_trace::Event;

use super::*;
use crate::enumerate::programs::{Column, Operations, program};
use crate::enumerate::{Limits, enumerate};
use crate::notation::{parse, show};
use crate::predictive::record;

/// What a race test finds: every suspicion as `begin of the block: first, second; next break`, and every race as
/// `race of x: one, other`.
fn found(test: RaceTest, trace: &str) -> Vec<String> {
    let (events, names) = parse(trace);
    let config = Config { commuting_updates: true, ..Config::default() };
    let mut out = Predicted::default();
    judge(test, &record(&config, &events), &mut Effort::default(), &mut out);
    let place = |moment: &Moment| {
        let Here { thread, op, site, .. } = moment.event;
        let held: Vec<&str> = moment.held.iter().map(|&lock| names.locks.get(lock)).collect();
        let held = if held.is_empty() { String::new() } else { format!(" holding {}", held.join("+")) };
        show(&[Event { thread, op, site }], &names) + &held
    };
    let violations = out.violations.iter().map(|violation| {
        assert_eq!((violation.strength, violation.reason), (Strength::Suspected, Reason::Movers));
        let begin = violation.patterns[0].block.begin.0;
        let breaks = violation.patterns.iter().map(|pattern| {
            let places: Vec<String> = pattern.moments.iter().map(place).collect();
            places.join(", ")
        });
        format!("#{begin}: {}", breaks.collect::<Vec<_>>().join("; "))
    });
    let races = out.races.iter().map(|race| {
        format!(
            "race of {}: {}, {}",
            names.variables.get(race.variable),
            place(&race.first),
            place(&race.second)
        )
    });
    violations.chain(races).collect()
}

#[track_caller]
fn check(trace: &str, expected: &[&str]) {
    assert_eq!(found(RaceTest::Pairwise, trace), expected, "{trace}");
}

/// Which of pairwise, multi-lockset and common lock suspect something.
#[track_caller]
fn suspect(trace: &str, expected: [bool; 3]) {
    let tests = [RaceTest::Pairwise, RaceTest::MultiLockset, RaceTest::CommonLock];
    let suspected = tests.map(|test| found(test, trace).iter().any(|text| text.starts_with('#')));
    assert_eq!(suspected, expected, "{trace}");
}

/// Threads with one transaction each, written `w(x) acq(l) …`, one after the other.
fn threads(transactions: &[&str]) -> String {
    let with_thread = |(thread, text): (usize, &&str)| {
        let words = text.split_whitespace().map(|word| format!("{}:{word} ", thread + 1));
        format!("{0}:b {1}{0}:e ", thread + 1, words.collect::<String>())
    };
    transactions.iter().enumerate().map(with_thread).collect()
}

#[test]
fn rv03_example_3_and_5_are_not_atomic() {
    suspect(&threads(&["acq(l) w(x) rel(l) acq(l) w(y) rel(l)"; 2]), [true; 3]);
    suspect(&threads(&["acq(l) w(x) rel(l)", "acq(l) r(x) rel(l) acq(l) w(x) rel(l)"]), [true; 3]);
}

#[test]
fn rv03_example_4_only_reads() {
    suspect(&threads(&["acq(l) r(x) r(y) rel(l)", "acq(l) r(x) rel(l) acq(l) r(y) rel(l)"]), [false; 3]);
}

#[test]
fn rv03_example_6_shows_that_a_common_lock_is_less_precise() {
    suspect(&threads(&["acq(l) w(x) rel(l) r(x)", "acq(l) r(x) rel(l)"]), [false, true, true]);
}

#[test]
fn rv03_examples_7_8_9_are_false_alarms() {
    suspect(&threads(&["w(x) w(x)", "w(x)"]), [true; 3]);
    // With x read only, the section is dropped, and the alarm with it; so somebody writes x.
    let eight = "acq(l) r(x) rel(l) w(y)";
    suspect(&threads(&[eight, eight]), [false; 3]);
    suspect(&threads(&[eight, eight, "acq(l) w(x) rel(l)"]), [true; 3]);
    suspect(&threads(&["acq(l) w(x) r(x) rel(l) acq(l) w(x) rel(l)"; 2]), [true; 3]);
}

#[test]
fn rv03_examples_11_and_14_in_one_section() {
    suspect(&threads(&["acq(l1) r(x) acq(l2) w(x) r(x) rel(l2) rel(l1)"; 2]), [false; 3]);
    suspect(&threads(&["acq(l1) r(x) r(x) r(x) rel(l1)", "acq(l1) w(x) rel(l1)"]), [false; 3]);
}

#[test]
fn rv03_example_13_is_not_atomic() {
    check(
        &threads(&["acq(l) r(x) w(x) rel(l) w(x)", "acq(l) w(x) rel(l)"]),
        &["#0: 1:rel(l) holding l, 1:w(x)", "race of x: 1:w(x), 2:w(x) holding l"],
    );
}

#[test]
fn tse06_figure_2() {
    let (one, two, three) =
        ("acq(o1) acq(o2) w(x) w(x) rel(o2) rel(o1)", "acq(o2) r(x) rel(o2)", "acq(o1) r(x) rel(o1)");
    // Common lock finds a race; as it is the write that is called racy, twice, also a suspect.
    suspect(&threads(&[three, two, one]), [false, false, true]);
    let prime = "r(x) acq(o1) acq(o2) w(x) rel(o2) rel(o1)";
    suspect(&threads(&[three, two, prime]), [false, true, true]);
}

#[test]
fn tse06_sections_of_local_accesses_are_dropped_repeatedly() {
    let section = "acq(l) r(x) rel(l)";
    suspect(&threads(&[&format!("{section} {section} w(y)"), &format!("{section} w(y)")]), [false; 3]);
    let nested = "acq(l) acq(m) r(x) rel(m) acq(m) rel(m) rel(l)";
    suspect(&threads(&[&format!("{nested} w(y) {nested}"), &format!("{nested} w(y) {nested}")]), [false; 3]);
    // Not nested: neither section is without the other's operations.
    let crossed = "acq(l) acq(m) rel(l) rel(m)";
    suspect(&threads(&[&format!("{crossed} {crossed}"), crossed]), [true; 3]);
    // A section that reads what others write is not dropped, though the read does not race.
    suspect(&threads(&["acq(l) r(x) rel(l) w(y)", "acq(l) w(x) rel(l) w(y)"]), [true; 3]);
}

#[test]
fn mod_count_is_a_false_alarm() {
    // Where a variable races as a whole, so does the read of modCount++; pairwise, only its write does.
    suspect(&threads(&["acq(l) r(m) w(m) rel(l)", "r(m)"]), [false, true, true]);
    // With two that count, the read beside them is pairwise enough for an alarm: its place in the block is wrong.
    let count = "acq(l) r(m) w(m) rel(l)";
    check(
        &threads(&[count, count, "r(m) acq(l) w(n) rel(l)", "acq(l) r(n) rel(l)"]),
        &["#12: 3:r(m), 3:acq(l)", "race of m: 2:w(m) holding l, 3:r(m)"],
    );
}

#[test]
fn both_places_are_shown_with_the_locks_held_and_further_breaks_too() {
    let section = "acq(m) w(x) rel(m)";
    check(
        &threads(&[&format!("acq(l) {section} {section} rel(l) {section}"), section]),
        &["#0: 1:rel(m) holding l+m, 1:acq(m) holding l; 1:rel(m) holding l+m, 1:acq(m)"],
    );
    let trace = threads(&["w(x) w(x) w(x)", "w(x)"]);
    check(&trace, &["#0: 1:w(x), 1:w(x); 1:w(x), 1:w(x)", "race of x: 1:w(x), 2:w(x)"]);
}

#[test]
fn locks_that_nobody_meets_move_both_ways() {
    let twice = |lock: &str| format!("acq({lock}) w(x) rel({lock}) acq({lock}) w(x) rel({lock})");
    // Only one thread uses it; the accesses hold l in both.
    suspect(&threads(&[&format!("acq(l) {} rel(l)", twice("m")), "acq(l) w(x) rel(l)"]), [false; 3]);
    // Always inside p.
    let protected = format!("acq(p) {} rel(p)", twice("m"));
    suspect(&threads(&[&protected, &protected]), [false; 3]);
    suspect(&threads(&[&protected, &protected, "acq(m) rel(m)"]), [true; 3]);
    // p is not held to the end of m.
    suspect(&threads(&[&protected, "acq(p) acq(m) w(x) rel(p) rel(m)"]), [true; 3]);
    // p does not keep the other out.
    let shared = format!("racq(p) {} rrel(p)", twice("m"));
    suspect(&threads(&[&shared, &shared]), [true; 3]);
    // Nobody takes it exclusively.
    let read = "acq(l) racq(m) w(x) rrel(m) racq(m) w(x) rrel(m) rel(l)";
    suspect(&threads(&[read, read]), [false; 3]);
    // Re-entered.
    let reentered = "acq(l) w(x) reacq(l) w(x) rerel(l) w(x) rel(l)";
    suspect(&threads(&[reentered, reentered]), [false; 3]);
}

#[test]
fn read_locks_keep_writers_out_and_readers_not() {
    suspect(&threads(&["racq(l) r(x) r(x) rrel(l)", "acq(l) w(x) rel(l)"]), [false; 3]);
    suspect(
        &threads(&["racq(l) r(x) w(x) rrel(l)", "racq(l) r(x) w(x) rrel(l)", "acq(l) rel(l)"]),
        [true; 3],
    );
    suspect(&threads(&["racq(l) r(x) rrel(l) racq(l) r(x) rrel(l)", "acq(l) w(x) rel(l)"]), [true; 3]);
}

#[test]
fn updates_are_one_step_and_some_commute() {
    suspect(&threads(&["rmw(x)", "rmw(x)"]), [false; 3]);
    suspect(&threads(&["rmw(x) rmw(x)", "rmw(x)"]), [true; 3]);
    suspect(&threads(&["r(x) rmw(x)", "rmw(x)"]), [true; 3]);
    check(&threads(&["add(x) add(x)", "add(x)"]), &[]);
    suspect(&threads(&["add(x) or(x)", "add(x)"]), [false, true, true]);
}

#[test]
fn what_cannot_run_at_the_same_time_does_not_race() {
    let twice = "1:b 1:w(x) 1:w(x) 1:e ";
    suspect(&format!("{twice} 1:fork(2) 2:w(x)"), [false; 3]);
    suspect(&format!("1:fork(2) 2:w(x) 1:join(2) {twice}"), [false; 3]);
    suspect(&format!("{twice} 1:barrier(q) 2:barrier(q) 2:w(x) 1:r(x)"), [false; 3]);
    suspect(&format!("1:fork(2) {twice} 2:w(x) 1:join(2)"), [true; 3]);
    // Before an escape, and in another life.
    suspect(&format!("{twice} 1:escape(x) 2:w(x)"), [false; 3]);
    suspect(&format!("{twice} 1:free(x) 2:w(x)"), [false; 3]);
    // A fork ends a unit.
    suspect("1:b 1:w(x) 1:fork(3) 1:w(x) 1:e 2:w(x)", [false; 3]);
}

#[test]
fn lock_operations_that_nobody_can_run_beside_move_both_ways() {
    let block = "1:b 1:acq(l) 1:w(x) 1:rel(l) 1:acq(l) 1:w(x) 1:rel(l) 1:e ";
    let other = "2:acq(l) 2:w(x) 2:rel(l) ";
    suspect(&format!("{block} 1:fork(2) {other} 1:join(2) {block}"), [false; 3]);
    suspect(&format!("1:fork(2) {block} {other} 1:join(2)"), [true; 3]);
    // Taken before the fork, given back after it.
    suspect(
        &format!("1:acq(l) 1:fork(2) 1:b 1:w(x) 1:rel(l) 1:acq(l) 1:w(x) 1:rel(l) 1:e {other}"),
        [true; 3],
    );
    // Given back between units: when is not known.
    suspect(&format!("{block} 1:fork(2) 2:acq(l) 2:b 2:w(x) 2:e 2:rel(l)"), [true; 3]);
}

#[test]
fn locks_taken_before_the_unit() {
    let other = "2:acq(l) 2:w(x) 2:rel(l) ";
    suspect(&format!("1:acq(l) 1:b 1:w(x) 1:w(x) 1:e 1:rel(l) {other}"), [false; 3]);
    check(
        &format!("1:acq(l) 1:b 1:w(x) 1:rel(l) 1:acq(l) 1:w(x) 1:e 1:rel(l) {other}"),
        &["#1: 1:rel(l) holding l, 1:acq(l)"],
    );
}

#[test]
fn a_wait_is_a_release_and_an_acquire() {
    check(
        "1:b 1:acq(l) 1:r(x) 1:wait(l) 1:w(x) 1:rel(l) 1:e 2:acq(l) 2:w(x) 2:rel(l)",
        &["#0: 1:rel(l) holding l, 1:acq(l)"],
    );
}

#[test]
fn critical_sections_outside_of_blocks_are_judged_and_single_accesses_are_not() {
    let section = "1:acq(m) 1:w(x) 1:rel(m) ";
    check(
        &format!("1:acq(l) {section} {section} 1:rel(l) 2:acq(m) 2:w(x) 2:rel(m)"),
        &["#0: 1:rel(m) holding l+m, 1:acq(m) holding l"],
    );
    check("1:w(x) 1:w(x) 2:w(x)", &["race of x: 1:w(x), 2:w(x)"]);
}

#[test]
fn the_innermost_block_with_both_places_is_blamed() {
    let (section, other) = ("1:acq(l) 1:w(x) 1:rel(l) ", "2:acq(l) 2:w(x) 2:rel(l)");
    check(&format!("1:b 1:b {section}{section} 1:e 1:e {other}"), &["#1: 1:rel(l) holding l, 1:acq(l)"]);
    check(&format!("1:b 1:b {section} 1:e {section} 1:e {other}"), &["#0: 1:rel(l) holding l, 1:acq(l)"]);
}

#[test]
fn a_race_is_shown_with_the_nearest_accesses_once_for_each_two_places() {
    let mut trace = String::new();
    for _ in 0..3 {
        trace += "1:w(x)@a 1:acq(l) 1:w(x)@b 1:rel(l) 2:acq(m) 2:r(x)@c 2:rel(m) ";
    }
    check(
        &trace,
        &["race of x: 1:w(x)@a, 2:r(x)@c holding m", "race of x: 1:w(x)@b holding l, 2:r(x)@c holding m"],
    );
    let three = threads(&[
        "acq(a) acq(b) w(x) rel(b) rel(a)",
        "acq(b) acq(c) w(x) rel(c) rel(b)",
        "acq(c) acq(a) w(x) rel(a) rel(c)",
    ]);
    check(&three, &[]);
    let shown = found(RaceTest::MultiLockset, &three);
    assert_eq!(shown, ["race of x: 1:w(x) holding a+b, 2:w(x) holding b+c"]);
}

#[test]
fn a_race_found_in_one_period_only_concerns_that_period() {
    // Thread 1 writes before and after the fork; only what comes after can meet thread 2.
    check(
        "1:b 1:w(x) 1:w(x) 1:e 1:fork(2) 1:b 1:w(x) 1:w(x) 1:e 2:w(x)",
        &["#5: 1:w(x), 1:w(x)", "race of x: 1:w(x), 2:w(x)"],
    );
}

#[test]
fn work_that_is_cut_short_says_so() {
    let (events, _) = parse(&threads(&["w(x) w(x)", "w(x)"]));
    let execution = record(&Config::default(), &events);
    for (steps, not_judged) in [(3, 2), (11, 1)] {
        let mut out = Predicted::default();
        let stats = judge(RaceTest::Pairwise, &execution, &mut Effort::new(steps, None), &mut out);
        assert!(stats.0.contains(&("not judged", not_judged)), "{steps}: {stats:?}");
    }
}

#[test]
fn no_unit_of_a_random_program_that_can_be_violated_is_missed() {
    let tests = [RaceTest::Pairwise, RaceTest::MultiLockset, RaceTest::CommonLock];
    let mut violable = 0;
    for seed in 0..150 {
        for column in Column::ALL {
            for operations in [Operations::Plain, Operations::Rich] {
                if operations == Operations::Rich && column == Column::Fork {
                    continue;
                }
                let events = program(column, operations, seed);
                let Some(truth) = enumerate(&events, &Limits { states: 200_000 }) else { continue };
                if truth.deadlock_possible {
                    continue;
                }
                let execution = record(&Config::default(), &events);
                let suspects = tests.map(|test| {
                    let mut out = Predicted::default();
                    judge(test, &execution, &mut Effort::default(), &mut out);
                    out.violations.iter().map(|found| found.transaction.begin).collect::<Vec<_>>()
                });
                let text = || show(&events, &atomvet_trace::Names::default());
                assert!(
                    truth.conflict_atomic || suspects.iter().all(|found| !found.is_empty()),
                    "{}",
                    text()
                );
                // What the cheaper tests find is more.
                let [pairwise, multi, common] = &suspects;
                assert!(pairwise.iter().all(|block| multi.contains(block)), "{}", text());
                assert!(multi.iter().all(|block| common.contains(block)), "{}", text());
                // A piece of a block that is not its first one has another first event.
                let known = |begin| execution.units.iter().any(|unit| unit.block.begin == begin);
                for unit in truth.violable.into_iter().filter(|&begin| known(begin)) {
                    violable += 1;
                    assert!(pairwise.contains(&unit), "{unit:?} of {}", text());
                }
            }
        }
    }
    assert!(violable > 500, "only {violable} units can be violated");
}
