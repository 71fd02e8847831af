use super::naive::naive;
use super::programs::{Column, Operations, Size, sized_program};
use super::*;
use crate::notation::{parse, show};

/// What is expected of a program: `deadlock`, `conflict` and `view` for what is possible or holds.
#[track_caller]
fn check(text: &str, holds: &[&str], violable: &[u64], schedulable: &[u64]) {
    let (events, _) = parse(text);
    let ids = |ids: &[u64]| ids.iter().copied().map(EventId).collect();
    let expected = Truth {
        deadlock_possible: holds.contains(&"deadlock"),
        conflict_atomic: holds.contains(&"conflict"),
        view_atomic: holds.contains(&"view"),
        violable: ids(violable),
        schedulable: ids(schedulable),
    };
    assert_eq!(enumerate(&events, &Limits::default()), Some(expected), "{text}");
}

const ATOMIC: &[&str] = &["conflict", "view"];

#[test]
fn the_order_of_units_in_a_thread_matters() {
    check("1:b 1:r(x) 1:r(y) 1:e 2:b 2:w(y) 2:e 2:b 2:w(x) 2:e", ATOMIC, &[], &[]);
}

#[test]
fn the_same_units_the_other_way_round_can_be_split() {
    check("1:b 1:r(x) 1:r(y) 1:e 2:b 2:w(x) 2:e 2:b 2:w(y) 2:e", &[], &[0], &[0]);
}

#[test]
fn examples_of_reduction_and_blocks() {
    // (1)
    check("1:b 1:r(x) 1:w(x) 1:e 2:b 2:r(x) 2:e", ATOMIC, &[], &[]);
    // (3), as writes of x and y under a lock each.
    let set_xy = "1:b 1:acq(l) 1:w(x) 1:rel(l) 1:acq(l) 1:w(y) 1:rel(l) 1:e \
                  2:b 2:acq(l) 2:w(x) 2:rel(l) 2:acq(l) 2:w(y) 2:rel(l) 2:e";
    check(set_xy, &[], &[0, 8], &[0, 8]);
    // (5)
    let check_then_act =
        "1:b 1:acq(l) 1:w(x) 1:rel(l) 1:e 2:b 2:acq(l) 2:r(x) 2:rel(l) 2:acq(l) 2:w(x) 2:rel(l) 2:e";
    check(check_then_act, &[], &[5], &[]);
    // (7)
    check("1:b 1:w(x) 1:w(x) 1:e 2:b 2:w(x) 2:e", &["view"], &[0], &[0]);
    // (8)
    let reads_then_writes = "1:b 1:acq(l) 1:r(x) 1:rel(l) 1:w(y) 1:e 2:b 2:acq(l) 2:r(x) 2:rel(l) 2:w(y) 2:e";
    check(reads_then_writes, ATOMIC, &[], &[]);
    // (9)
    let both_initialised = "1:b 1:acq(l) 1:w(x) 1:r(x) 1:rel(l) 1:acq(l) 1:w(x) 1:rel(l) 1:e \
                            2:b 2:acq(l) 2:w(x) 2:r(x) 2:rel(l) 2:acq(l) 2:w(x) 2:rel(l) 2:e";
    check(both_initialised, &["view"], &[0, 9], &[0, 9]);
    // (13)
    let final_write = "1:b 1:acq(l) 1:r(x) 1:w(x) 1:rel(l) 1:w(x) 1:e 2:b 2:acq(l) 2:w(x) 2:rel(l) 2:e";
    check(final_write, &[], &[0], &[0]);
    // (15)
    let initialised_reads = "1:b 1:acq(l) 1:w(x) 1:r(x) 1:r(x) 1:rel(l) 1:e \
                             2:b 2:acq(l) 2:w(x) 2:rel(l) 2:acq(l) 2:w(x) 2:rel(l) 2:e";
    check(initialised_reads, &["view"], &[7], &[7]);
    // (16): each two of the three are atomic.
    let (one, two, three) = ("1:b 1:w(x) 1:w(y) 1:e", "2:b 2:r(x) 2:w(z) 2:e", "3:b 3:r(z) 3:r(y) 3:e");
    check(&[one, two, three].join(" "), &[], &[0], &[0]);
    // If T2 did not see what T1 wrote, that it does may steer it elsewhere.
    check(&[two, three, one].join(" "), &[], &[8], &[]);
    for (first, second) in [(one, two), (two, three), (one, three)] {
        check(&[first, second].join(" "), ATOMIC, &[], &[]);
    }
}

#[test]
fn a_pair_can_be_worse_than_the_whole() {
    let inner = "1:b 1:acq(l) 1:r(x) 1:w(x) 1:rel(l) 1:e 2:b 2:w(x) 2:e";
    check(inner, &[], &[0], &[0]);
    check(&[inner, "3:b 3:acq(l) 3:w(x) 3:rel(l) 3:e"].join(" "), &["view"], &[0], &[0]);
}

#[test]
fn deadlocks_and_gates() {
    check(
        "1:acq(a) 1:acq(b) 1:rel(b) 1:rel(a) 2:acq(b) 2:acq(a) 2:rel(a) 2:rel(b)",
        &["deadlock", "conflict", "view"],
        &[],
        &[],
    );
    let gated = "1:acq(g) 1:acq(a) 1:acq(b) 1:rel(b) 1:rel(a) 1:rel(g) 2:acq(g) 2:acq(b) 2:acq(a) 2:rel(a) 2:rel(b) 2:rel(g)";
    check(gated, ATOMIC, &[], &[]);
    // (10): w(y) of T2 cannot come between, though the locks held there are others.
    let detour = "1:b 1:acq(a) 1:acq(b) 1:rel(b) 1:r(y) 1:r(y) 1:rel(a) 1:e \
                  2:b 2:acq(b) 2:acq(a) 2:rel(a) 2:w(y) 2:rel(b) 2:e";
    check(detour, &["deadlock", "conflict", "view"], &[], &[]);
    let shared = "1:racq(a) 1:racq(b) 1:rrel(b) 1:rrel(a) 2:racq(b) 2:racq(a) 2:rrel(a) 2:rrel(b)";
    check(shared, ATOMIC, &[], &[]);
    // Joined by somebody who has the lock that the thread needs.
    check(
        "0:fork(1) 1:acq(a) 1:rel(a) 0:acq(a) 0:join(1) 0:rel(a)",
        &["deadlock", "conflict", "view"],
        &[],
        &[],
    );
}

#[test]
fn fork_join_and_barrier_order_and_end_units() {
    let twice = "1:b 1:r(x) 1:w(x) 1:e";
    check(&format!("0:w(x) {twice}"), &[], &[1], &[]);
    check(&format!("0:w(x) 0:fork(1) {twice}"), ATOMIC, &[], &[]);
    check(&format!("0:fork(1) {twice} 0:w(x)"), &[], &[1], &[1]);
    check(&format!("0:fork(1) {twice} 0:join(1) 0:w(x)"), ATOMIC, &[], &[]);
    check(&format!("0:w(x) 0:barrier(q) 1:barrier(q) {twice}"), ATOMIC, &[], &[]);
    check(&format!("0:w(x) 0:barrier(q) 1:barrier(p) {twice}"), &[], &[3], &[]);
    // The barrier cuts the block in two, and nothing of the other thread fits into either.
    check("1:b 1:r(x) 1:barrier(q) 2:barrier(q) 2:w(x) 1:w(x) 1:e", ATOMIC, &[], &[]);
    check("1:b 1:r(x) 1:fork(2) 2:w(x) 1:w(x) 1:e", ATOMIC, &[], &[]);
    // The second piece begins with its first event after the fork, or with the join itself.
    check("1:b 1:fork(2) 1:r(x) 1:w(x) 1:e 2:w(x)", &[], &[2], &[2]);
    check("1:b 1:fork(2) 1:join(2) 1:r(x) 1:w(x) 1:e 3:w(x)", &[], &[2], &[2]);
}

#[test]
fn critical_sections_outside_are_units() {
    check("1:acq(l) 1:r(x) 1:w(x) 1:rel(l) 2:w(x)", &[], &[0], &[0]);
    check("1:acq(l) 1:r(x) 1:w(x) 1:rel(l) 2:acq(l) 2:w(x) 2:rel(l)", ATOMIC, &[], &[]);
    check("1:r(x) 1:w(x) 2:w(x)", ATOMIC, &[], &[]);
    // What is before the transaction in the section is a unit of its own.
    check("1:acq(l) 1:r(x) 1:b 1:w(x) 1:e 1:rel(l) 2:w(x)", ATOMIC, &[], &[]);
}

#[test]
fn locks_that_are_shared_reentered_or_waited_for() {
    let two_reads = "1:b 1:racq(l) 1:r(x) 1:r(x) 1:rrel(l) 1:e";
    check(&format!("{two_reads} 2:racq(l) 2:w(x) 2:rrel(l)"), &[], &[0], &[0]);
    check(&format!("{two_reads} 2:acq(l) 2:w(x) 2:rel(l)"), ATOMIC, &[], &[]);
    let reentered = "1:b 1:acq(l) 1:reacq(l) 1:r(x) 1:rerel(l) 1:w(x) 1:rel(l) 1:e";
    check(&format!("{reentered} 2:acq(l) 2:w(x) 2:rel(l)"), ATOMIC, &[], &[]);
    let waits = "1:b 1:acq(l) 1:r(x) 1:wait(l) 1:w(x) 1:rel(l) 1:e";
    check(&format!("{waits} 2:acq(l) 2:w(x) 2:rel(l)"), &[], &[0], &[0]);
    // Outside of transactions, these are two critical sections.
    check("1:acq(l) 1:r(x) 1:wait(l) 1:w(x) 1:rel(l) 2:acq(l) 2:w(x) 2:rel(l)", ATOMIC, &[], &[]);
    check("1:acq(l) 1:wait(l) 1:r(x) 1:w(x) 1:rel(l) 2:w(x)", &[], &[2], &[2]);
}

#[test]
fn updates_are_indivisible_and_lives_are_different_variables() {
    check("1:b 1:rmw(x) 1:e 2:b 2:rmw(x) 2:e", ATOMIC, &[], &[]);
    check("1:b 1:rmw(x) 1:rmw(x) 1:e 2:rmw(x)", &[], &[0], &[0]);
    check("1:b 1:r(x) 1:alloc(x) 1:w(x) 1:e 2:w(x)", ATOMIC, &[], &[]);
}

#[test]
fn a_schedule_keeps_what_was_read_before() {
    // T1 read what T2 wrote, so it can go on only after that.
    check("2:w(x) 1:b 1:r(x) 1:w(x) 1:e", &[], &[1], &[]);
    // The last event of a thread may read anything.
    check("2:w(x) 2:w(x) 1:b 1:r(x) 1:r(x) 1:e", &[], &[2], &[]);
    check("2:w(x) 1:b 1:r(x) 1:r(x) 1:e 2:w(x)", &[], &[1], &[1]);
    // Joined, a thread is not at its last event, if only its block had to end.
    check("0:fork(1) 0:w(x) 1:b 1:r(x) 1:e 2:b 2:r(y) 2:w(y) 2:e 0:join(1) 0:w(y)", &[], &[5], &[5]);
    check("0:fork(1) 2:b 2:r(y) 2:w(x) 2:w(y) 2:e 1:b 1:r(x) 1:e 0:join(1) 0:w(y)", &[], &[1], &[1]);
}

#[test]
fn what_is_too_large_is_refused() {
    let (events, _) = parse("1:b 1:r(x) 1:r(x) 1:e 2:w(x)");
    assert_eq!(enumerate(&events, &Limits { states: 3 }), None);
    let many: String = (0..9).map(|thread| format!("{thread}:r(x) ")).collect();
    assert_eq!(enumerate(&parse(&many).0, &Limits::default()), None);
}

#[test]
fn the_search_agrees_with_one_interleaving_after_the_other() {
    let mut judged = [0; 6];
    for seed in 0..1000 {
        let column = Column::ALL[seed as usize % 5];
        let operations = if seed / 5 % 2 == 0 { Operations::Plain } else { Operations::Rich };
        let events = sized_program(column, operations, Size::Tiny, seed);
        let Some(expected) = naive(&events, 400) else { continue };
        let truth = enumerate(&events, &Limits::default());
        assert_eq!(truth.as_ref(), Some(&expected), "{}", show(&events, &Default::default()));
        let counts = [
            true,
            expected.deadlock_possible,
            !expected.conflict_atomic,
            !expected.view_atomic,
            expected.violable.len() > expected.schedulable.len(),
            !expected.schedulable.is_empty(),
        ];
        judged.iter_mut().zip(counts).for_each(|(sum, counts)| *sum += usize::from(counts));
    }
    assert!(judged.iter().all(|&count| count >= 2), "too few of a kind: {judged:?}");
}

#[test]
fn what_follows_a_barrier_is_no_part_of_what_comes_before_it() {
    // The re-entrant release does nothing but leave the barrier.
    let trace = "0:r(1) 0:barrier(0) 1:acq(2) 1:reacq(2) 1:rmw(1) 1:barrier(0) 1:rerel(2) 1:rel(2)";
    let truth = enumerate(&parse(trace).0, &Limits::default()).unwrap();
    assert!(truth.conflict_atomic && truth.view_atomic && truth.violable.is_empty());
}

#[test]
fn a_branch_is_not_followed_where_it_reads_something_else() {
    let (events, _) = parse("1:b 1:r(x) 1:w(x) 1:e 2:b 2:r(x) 2:w(x) 2:e");
    let violable = |branch: Option<usize>| {
        let steers: Vec<bool> = (0..events.len()).map(|event| Some(event) == branch).collect();
        violable_with_branches(&events, &steers, &Limits::default()).expect("it is small")
    };
    assert_eq!(violable(None), [EventId(0), EventId(4)]);
    assert_eq!(violable(Some(1)), [EventId(0), EventId(4)]);
    // T2 reads what T1 wrote, and would stop if it read anything else.
    assert_eq!(violable(Some(5)), []);
}
