use atomvet_trace::{Names, Op};

use super::*;
use crate::Findings;
use crate::enumerate::programs::{Column, Operations, program};
use crate::enumerate::{Limits, enumerate};
use crate::notation::show;
use crate::predictive::record;

/// Every cycle as `thread has/wants`, one after the other.
#[track_caller]
fn check(trace: &str, expected: &[&str]) {
    let (events, names) = crate::notation::parse(trace);
    let config = Config::default();
    let mut out = Findings::all_instances(&config);
    Deadlock.judge(&record(&config, &events), &mut out.effort, &mut out.predicted);
    let lock = |moment: &crate::predictive::predicted::Moment| match moment.event.op {
        Op::Acquire(lock, Mode::Exclusive) => names.locks.get(lock).to_owned(),
        Op::Acquire(lock, Mode::Shared) => format!("shared {}", names.locks.get(lock)),
        other => panic!("{other:?} is no acquire"),
    };
    let cycles = out.predicted.deadlocks.iter().map(|deadlock| {
        let waiting = deadlock.cycle.iter();
        let waiting =
            waiting.map(|w| format!("{} has {} wants {}", w.thread.0, lock(&w.has), lock(&w.wants)));
        waiting.collect::<Vec<_>>().join(", ")
    });
    assert_eq!(cycles.collect::<Vec<_>>(), expected, "{trace}");
    assert!(out.predicted.violations.is_empty() && out.predicted.races.is_empty());
}

/// `1:a{b}` as events: thread 1 takes a, then b inside it, and gives both back.
fn nest(thread: u32, locks: &[&str]) -> String {
    let acquires = locks.iter().map(|lock| format!("{thread}:acq({lock}) "));
    let releases = locks.iter().rev().map(|lock| format!("{thread}:rel({lock}) "));
    acquires.chain(releases).collect()
}

#[test]
fn opposite_orders() {
    let trace = nest(1, &["a", "b"]) + &nest(2, &["b", "a"]);
    check(&trace, &["1 has a wants b, 2 has b wants a"]);
    check(&(nest(1, &["a", "b"]) + &nest(2, &["a", "b"])), &[]);
}

#[test]
fn one_thread_does_not_wait_for_itself() {
    check(&(nest(1, &["a", "b"]) + &nest(1, &["b", "a"])), &[]);
}

#[test]
fn a_gate_lets_only_one_in() {
    check(&(nest(1, &["g", "a", "b"]) + &nest(2, &["g", "b", "a"])), &[]);
    check(&(nest(1, &["g", "a", "b"]) + &nest(2, &["h", "b", "a"])), &["1 has a wants b, 2 has b wants a"]);
}

#[test]
fn a_gate_held_shared_by_both_lets_both_in() {
    let gate = |thread: u32, mode: &str, locks: &[&str]| {
        let close = if mode == "racq" { "rrel" } else { "rel" };
        format!("{thread}:{mode}(g) {}{thread}:{close}(g) ", nest(thread, locks))
    };
    let both = gate(1, "racq", &["a", "b"]) + &gate(2, "racq", &["b", "a"]);
    check(&both, &["1 has a wants b, 2 has b wants a"]);
    check(&(gate(1, "racq", &["a", "b"]) + &gate(2, "acq", &["b", "a"])), &[]);
}

#[test]
fn cycles_of_three_and_more_threads() {
    let three = nest(1, &["a", "b"]) + &nest(2, &["b", "c"]) + &nest(3, &["c", "a"]);
    check(&three, &["1 has a wants b, 2 has b wants c, 3 has c wants a"]);
    let two_threads = nest(1, &["a", "b"]) + &nest(2, &["b", "c"]) + &nest(1, &["c", "a"]);
    check(&two_threads, &[]);
    // Two of the three share a gate.
    let gate = nest(1, &["g", "a", "b"]) + &nest(2, &["b", "c"]) + &nest(3, &["g", "c", "a"]);
    check(&gate, &[]);
    let philosophers = |count: u32| -> String {
        (0..count).map(|i| nest(i, &[&format!("f{i}"), &format!("f{}", (i + 1) % count)])).collect()
    };
    for count in [5, 6, 40] {
        let (events, _) = crate::notation::parse(&philosophers(count));
        let mut out = Findings::all_instances(&Config::default());
        Deadlock.judge(&record(&Config::default(), &events), &mut out.effort, &mut out.predicted);
        let lengths: Vec<usize> = out.predicted.deadlocks.iter().map(|found| found.cycle.len()).collect();
        assert_eq!(lengths, [count as usize]);
    }
}

#[test]
fn what_is_ordered_by_fork_join_or_barrier_does_not_meet() {
    let (one, other) = (nest(1, &["a", "b"]), nest(2, &["b", "a"]));
    check(&format!("{one} 1:fork(2) {other}"), &[]);
    check(&format!("1:fork(2) {other} 1:join(2) {one}"), &[]);
    check(&format!("{one} 1:barrier(q) 2:barrier(q) 1:r(x) {other}"), &[]);
    check(&format!("1:fork(2) {other} {one} 1:join(2)"), &["2 has b wants a, 1 has a wants b"]);
    // Pairwise, and not only neighbours: 1 is over before 3 starts.
    let (two, three) = (nest(2, &["b", "c"]), nest(3, &["c", "a"]));
    check(&format!("{two} {one} 1:fork(3) {three}"), &[]);
}

#[test]
fn read_locks_do_not_block_each_other() {
    check("1:racq(a) 1:racq(b) 1:rrel(b) 1:rrel(a) 2:racq(b) 2:racq(a) 2:rrel(a) 2:rrel(b)", &[]);
    check(
        "1:racq(a) 1:acq(b) 1:rel(b) 1:rrel(a) 2:racq(b) 2:acq(a) 2:rel(a) 2:rrel(b)",
        &["1 has shared a wants b, 2 has shared b wants a"],
    );
    // The second wants a shared, and the first has it shared.
    check("1:racq(a) 1:acq(b) 1:rel(b) 1:rrel(a) 2:acq(b) 2:racq(a) 2:rrel(a) 2:rel(b)", &[]);
    check(
        "1:racq(a) 1:racq(b) 1:rrel(b) 1:rrel(a) 2:acq(b) 2:acq(a) 2:rel(a) 2:rel(b)",
        &["1 has shared a wants shared b, 2 has b wants a"],
    );
}

#[test]
fn two_who_have_a_lock_shared_and_want_it_exclusively() {
    let upgrade = |thread: u32| format!("{thread}:racq(l) {thread}:acq(l) {thread}:rel(l) {thread}:rrel(l) ");
    check(&(upgrade(1) + &upgrade(2)), &["1 has shared l wants l, 2 has shared l wants l"]);
    check(&(upgrade(1) + &upgrade(2) + &upgrade(3)), &["1 has shared l wants l, 2 has shared l wants l"]);
    check(&upgrade(1), &[]);
}

#[test]
fn a_lock_taken_back_after_a_wait_is_wanted() {
    check(
        "1:acq(l) 1:acq(m) 1:wait(l) 1:r(x) 1:rel(m) 1:rel(l) 2:acq(l) 2:acq(m) 2:rel(m) 2:rel(l)",
        &["1 has m wants l, 2 has l wants m"],
    );
}

#[test]
fn rv03_example_10() {
    check(
        "1:acq(l1) 1:acq(l2) 1:rel(l2) 1:w(x) 1:w(x) 1:rel(l1) 2:acq(l2) 2:acq(l1) 2:rel(l1) 2:w(x) 2:rel(l2)",
        &["1 has l1 wants l2, 2 has l2 wants l1"],
    );
}

#[test]
fn locks_need_not_be_nested() {
    let trace = "1:acq(a) 1:acq(b) 1:rel(a) 1:acq(c) 1:rel(b) 1:rel(c) 2:acq(c) 2:acq(a) 2:rel(a) 2:rel(c)";
    check(trace, &[]);
    check(
        &(trace.to_owned() + " 2:acq(c) 2:acq(b) 2:rel(b) 2:rel(c)"),
        &["1 has b wants c, 2 has c wants b"],
    );
}

#[test]
fn a_search_that_is_cut_short_says_so() {
    // Everybody takes all locks in all orders.
    let mut trace = String::new();
    for thread in 1..8 {
        for one in 0..7 {
            for other in (0..7).filter(|&other| other != one) {
                trace += &nest(thread, &[&format!("l{one}"), &format!("l{other}")]);
            }
        }
    }
    let (events, _) = crate::notation::parse(&trace);
    let mut out = Findings::all_instances(&Config::default());
    let mut effort = Effort::new(500, None);
    let stats = Deadlock.judge(&record(&Config::default(), &events), &mut effort, &mut out.predicted);
    assert!(stats.0.iter().any(|&(name, figure)| name == "not judged" && figure > 0));
    assert!(out.predicted.deadlocks.iter().all(|found| found.cycle.len() == 2));
    let stats = Deadlock.judge(&record(&Config::default(), &events), &mut out.effort, &mut out.predicted);
    assert_eq!(out.predicted.deadlocks.len(), MOST_CYCLES);
    assert!(stats.0.iter().any(|&(name, figure)| name == "not judged" && figure > 0));
}

#[test]
fn random_programs_get_stuck_where_a_deadlock_is_found_and_nowhere_else() {
    let mut stuck = 0;
    for seed in 0..300 {
        for column in Column::ALL {
            let operations = if seed % 2 == 0 { Operations::Plain } else { Operations::Rich };
            let events = program(column, operations, seed);
            let Some(truth) = enumerate(&events, &Limits { states: 200_000 }) else { continue };
            let mut out = Findings::all_instances(&Config::default());
            Deadlock.judge(&record(&Config::default(), &events), &mut out.effort, &mut out.predicted);
            let found = !out.predicted.deadlocks.is_empty();
            stuck += u32::from(found);
            // Waits for threads and barriers are not seen.
            let waits = events.iter().any(|event| matches!(event.op, Op::Join(_) | Op::Barrier(_)));
            assert!(
                found == truth.deadlock_possible || waits && !found,
                "found: {found} in {}",
                show(&events, &Names::default())
            );
        }
    }
    assert!(stuck > 20, "only {stuck} programs can get stuck");
}
