//! Hand-made traces, and random ones against an enumeration of all schedules.

use atomvet_trace::{Event, EventId, VarId};

use super::{Goal, Outcome, Recorded, Shows, Values, verify};
use crate::{Config, notation};

mod random;

const ENOUGH: u64 = 1_000_000;

/// A trace whose block begins at the site `B`, and events by the names of their sites, to happen in this order.
fn read(trace: &str, order: &str) -> (Vec<Event>, Goal) {
    let (events, names) = notation::parse(trace);
    let find = |site: &str| {
        let site = names.sites.find(site).expect("a site of the trace");
        EventId(events.iter().position(|event| event.site == site).expect("an event") as u64)
    };
    let chain: Vec<EventId> = order.split_whitespace().map(find).collect();
    let order = chain.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let goal = Goal { shows: Shows::Violation { block: find("B") }, order, values: Values::AsRecorded };
    (events, goal)
}

fn search(events: &[Event], goal: &Goal) -> Outcome {
    Recorded::new(&Config::default(), events).search(goal, ENOUGH).0
}

/// The schedule, as the numbers of its events.
#[track_caller]
fn found(trace: &str, order: &str) -> Vec<u64> {
    let (events, goal) = read(trace, order);
    let Outcome::Found(schedule) = search(&events, &goal) else { panic!("no schedule of {trace}") };
    assert_eq!(verify(&Config::default(), &events, &schedule, &goal), Ok(vec![]), "{schedule:?} of {trace}");
    schedule.into_iter().map(|event| event.0).collect()
}

#[track_caller]
fn none(trace: &str, order: &str) {
    let (events, goal) = read(trace, order);
    assert_eq!(search(&events, &goal), Outcome::None, "{trace}");
}

#[test]
fn a_lost_update_from_a_serial_run() {
    let trace = "1:b@B 1:acq(l) 1:r(x)@e1 1:rel(l) 1:acq(l) 1:w(x)@e2 1:rel(l) 1:e \
                 2:b 2:acq(l) 2:w(x)@f 2:rel(l) 2:e";
    assert_eq!(found(trace, "e1 f e2"), [0, 8, 1, 2, 3, 9, 10, 11, 4, 5]);
    // The same in the other order, where the block runs second.
    found(
        "2:acq(l) 2:w(x)@f 2:rel(l) 1:b@B 1:acq(l) 1:w(x)@e1 1:rel(l) 1:acq(l) 1:w(x)@e2 1:rel(l) 1:e",
        "e1 f e2",
    );
}

#[test]
fn patterns_of_one_variable() {
    // R w R: the second read diverges, and nothing comes after it.
    assert_eq!(found("1:b@B 1:r(x)@e1 1:r(x)@e2 1:e 2:w(x)@f", "e1 f e2"), [0, 1, 4, 2]);
    // W r W: the read in the middle saw something else, but it is the last of its thread.
    assert_eq!(found("1:b@B 1:w(x)@e1 1:w(x)@e2 1:e 2:r(x)@f 2:w(y)", "e1 f e2"), [0, 1, 4, 2]);
    // W w R.
    assert_eq!(found("1:b@B 1:w(x)@e1 1:r(x)@e2 1:w(x) 1:e 2:w(x)@f", "e1 f e2"), [0, 1, 5, 2]);
    // R u W: the update diverges.
    assert_eq!(found("1:b@B 1:r(x)@e1 1:w(x)@e2 1:e 2:rmw(x)@f", "e1 f e2"), [0, 1, 4, 2]);
}

#[test]
fn a_lock_held_throughout_forbids_it() {
    none("1:b@B 1:acq(l) 1:r(x)@e1 1:w(x)@e2 1:rel(l) 1:e 2:acq(l) 2:w(x)@f 2:rel(l)", "e1 f e2");
    none("1:b@B 1:racq(l) 1:r(x)@e1 1:w(x)@e2 1:rrel(l) 1:e 2:acq(l) 2:w(x)@f 2:rel(l)", "e1 f e2");
    found("1:b@B 1:racq(l) 1:r(x)@e1 1:w(x)@e2 1:rrel(l) 1:e 2:racq(l) 2:w(x)@f 2:rrel(l)", "e1 f e2");
    // Re-entered, it is held all the same.
    none(
        "1:b@B 1:acq(l) 1:reacq(l) 1:r(x)@e1 1:rerel(l) 1:w(x)@e2 1:rel(l) 1:e 2:acq(l) 2:w(x)@f 2:rel(l)",
        "e1 f e2",
    );
    // A third thread that holds the lock at first has to give it back.
    let trace = "3:acq(l) 1:b@B 1:r(x)@e1 1:w(x)@e2 1:e 3:w(z) 3:rel(l) 2:acq(l) 2:w(x)@f 2:rel(l)";
    found(trace, "e1 f e2");
}

#[test]
fn a_read_before_the_pattern_must_see_what_it_saw() {
    // The flag that lets thread 2 go on is set after the block.
    none("1:b@B 1:r(x)@e1 1:w(x)@e2 1:w(flag) 1:e 2:r(flag) 2:w(x)@f", "e1 f e2");
    found("1:w(flag) 1:b@B 1:r(x)@e1 1:w(x)@e2 1:e 2:r(flag) 2:w(x)@f", "e1 f e2");
    // A counter: the second increment cannot see what it saw if it comes in between.
    none("1:b@B 1:r(x)@e1 1:w(x)@e2 1:e 2:b 2:r(x) 2:w(x)@f 2:e", "e1 f e2");
    // What a diverging update writes is not what was seen of it.
    none("1:b@B 1:w(x)@e1 1:w(x)@e2 1:e 2:rmw(x)@f 3:r(x) 3:w(y)@last", "e1 f last e2");
}

#[test]
fn a_value_still_needed_is_not_overwritten() {
    // Thread 3 has to see thread 2's first write before f overwrites it, and the block waits for thread 3.
    let trace = "2:w(x) 3:r(x) 3:w(y) 1:r(y) 1:b@B 1:w(x)@e1 1:w(x)@e2 1:e 2:w(x)@f";
    found(trace, "e1 f e2");
}

#[test]
fn forks_and_joins_are_kept() {
    found("0:fork(1) 0:fork(2) 1:b@B 1:r(x)@e1 1:w(x)@e2 1:e 2:w(x)@f 0:join(1)", "e1 f e2");
    none("1:b@B 1:r(x)@e1 1:w(x)@e2 1:fork(2) 1:e 2:w(x)@f", "e1 f e2");
    none("2:w(x)@f 1:join(2) 1:b@B 1:w(x)@e1 1:w(x)@e2 1:e", "e1 f e2");
    // A joined thread may end with a read that diverges, but not go on after one.
    found("2:r(x)@f 3:join(2) 3:w(y)@g 1:b@B 1:w(x)@e1 1:r(y)@e2 1:e", "e1 f g e2");
    none("2:r(x)@f 2:r(z) 3:join(2) 3:w(y)@g 1:b@B 1:w(x)@e1 1:r(y)@e2 1:e", "e1 f g e2");
    // Forked again, a thread starts after its join.
    none("0:fork(2) 2:r(y) 0:join(2) 0:b@B 0:w(x)@e1 0:w(x)@e2 0:e 0:fork(2) 2:w(x)@f", "e1 f e2");
}

#[test]
fn barriers_are_kept() {
    none("1:b@B 1:r(x)@e1 1:w(x)@e2 1:e 1:barrier(b) 2:barrier(b) 2:w(x)@f", "e1 f e2");
    found("1:b@B 1:r(x)@e1 1:barrier(b) 2:barrier(b) 1:w(x)@e2 1:e 2:w(x)@f", "e1 f e2");
    // A thread that arrives again leaves with that.
    found("1:barrier(b) 1:barrier(b) 1:b@B 1:r(x)@e1 1:w(x)@e2 1:e 2:w(x)@f", "e1 f e2");
    // Thread 3 meets the others only at the next episode.
    none(
        "1:barrier(b) 2:barrier(b) 1:b@B 1:r(x)@e1 1:w(x)@e2 1:e 1:barrier(b) 3:barrier(b) 3:w(x)@f",
        "e1 f e2",
    );
}

#[test]
fn a_wait_gives_the_lock_back() {
    let trace = "1:b@B 1:acq(l) 1:r(x)@e1 1:wait(l) 1:w(x)@e2 1:rel(l) 1:e 2:acq(l) 2:w(x)@f 2:rel(l)";
    found(trace, "e1 f e2");
    none("1:b@B 1:acq(l) 1:wait(l) 1:r(x)@e1 1:w(x)@e2 1:rel(l) 1:e 2:acq(l) 2:w(x)@f 2:rel(l)", "e1 f e2");
}

#[test]
fn an_access_stays_in_its_life() {
    // f is of another life than the block's accesses, and so of another variable.
    let (events, goal) = read("1:b@B 1:r(x)@e1 1:w(x)@e2 1:e 2:alloc(x) 2:w(x)@f", "e1 f e2");
    let Outcome::Found(schedule) = search(&events, &goal) else { panic!("lives may overlap") };
    let judgement = verify(&Config::default(), &events, &schedule, &goal);
    assert!(judgement.unwrap_err().contains("not violated"));
    found("2:alloc(x) 1:b@B 1:r(x)@e1 1:w(x)@e2 1:e 2:w(x)@f 2:free(x)", "e1 f e2");
    // Before the alloc, or after the free: not in its life.
    none("1:b@B 1:w(y)@e1 1:w(y)@e2 1:alloc(x) 1:e 2:w(x) 2:r(y)@f", "e1 f e2");
    none("1:b@B 1:w(y)@e1 1:w(x)@e2 1:e 2:free(x) 2:r(y)@f", "e1 f e2");
}

#[test]
fn an_address_that_is_used_again_orders_nothing() {
    // Thread 1 frees what thread 2 then gets: the block's second part could come after that as well.
    let trace = "1:b@B 1:r(x)@e1 1:alloc(p) 1:w(p) 1:free(p) 1:w(x)@e2 1:e \
                 2:alloc(p) 2:w(p) 2:r(p) 2:w(x)@f 2:free(p)";
    found(trace, "e1 f e2");
    let (events, goal) = read(trace, "e1 f e2");
    let recorded = Recorded::new(&Config::default(), &events);
    // Both lives of p at once: the second one is shown as another variable.
    let schedule: Vec<EventId> = [0, 1, 2, 3, 7, 8, 9, 10, 4, 5].map(EventId).to_vec();
    assert_eq!(verify(&Config::default(), &events, &schedule, &goal), Ok(vec![]));
    let trace = recorded.trace(&schedule, &goal, VarId(2));
    assert_eq!(trace.lives, [(VarId(1), 4)]);
    let (_, mut names) = notation::parse("1:r(x) 1:r(p)");
    names.variables.intern("p#4");
    let shown = notation::show(&trace.events[3..7], &names);
    assert_eq!(shown, "1:w(p) 2:alloc(p#4) 2:w(p#4) 2:r(p#4)");
}

/// The relaxed schedule, as the numbers of its events, and the reads that see another write.
#[track_caller]
fn relaxed(trace: &str, order: &str) -> (Vec<u64>, Vec<u64>) {
    none(trace, order);
    let (events, goal) = read(trace, order);
    let goal = goal.with(Values::Relaxed);
    let Outcome::Found(schedule) = search(&events, &goal) else { panic!("no schedule of {trace}") };
    let relaxed = verify(&Config::default(), &events, &schedule, &goal).expect("a schedule");
    let numbers = |ids: Vec<EventId>| ids.into_iter().map(|id| id.0).collect();
    (numbers(schedule), numbers(relaxed))
}

#[track_caller]
fn none_relaxed(trace: &str, order: &str) {
    let (events, goal) = read(trace, order);
    assert_eq!(search(&events, &goal.with(Values::Relaxed)), Outcome::None, "{trace}");
    let Outcome::Found(_) = search(&events, &goal.with(Values::Any)) else {
        panic!("locks allow it: {trace}")
    };
}

#[test]
fn a_lost_update_has_a_schedule_if_the_blocks_do_the_same_with_another_value() {
    let trace = "1:b@B 1:r(x)@e1 1:w(x)@e2 1:e 2:b 2:r(x) 2:w(x)@f 2:e";
    assert_eq!(relaxed(trace, "e1 f e2"), (vec![0, 1, 4, 5, 6, 2], vec![5]));
    // An update in such a block counts as a write.
    let trace = "1:b@B 1:r(x)@e1 1:w(x)@e2 1:e 2:b 2:rmw(x) 2:w(x)@f 2:e";
    assert_eq!(relaxed(trace, "e1 f e2").1, [5]);
    // Critical sections outside every block are blocks.
    let trace = "1:b@B 1:r(x)@e1 1:w(x)@e2 1:e 2:acq(l) 2:r(x) 2:w(x)@f 2:rel(l)";
    assert_eq!(relaxed(trace, "e1 f e2").1, [5]);
}

#[test]
fn reads_of_others_and_outside_the_blocks_keep_their_values() {
    // Thread 2 works on what thread 1 hands over.
    none_relaxed("1:b@B 1:r(x)@e1 1:w(x)@e2 1:w(full) 1:e 2:b 2:r(full) 2:r(x) 2:w(x)@f 2:e", "e1 f e2");
    // It looked at x before its block, too.
    none_relaxed("1:b@B 1:r(x)@e1 1:w(x)@e2 1:e 2:r(x) 2:b 2:w(x)@f 2:e", "e1 f e2");
    // Thread 3, whose block is not in the pattern, saw the value.
    none_relaxed(
        "1:b@B 1:r(x)@e1 1:w(x)@e2 1:e 3:b 3:r(x) 3:w(y) 3:e 2:b 2:r(y) 2:r(x) 2:w(x)@f 2:e",
        "e1 f e2",
    );
}

#[test]
fn where_waits_split_blocks_only_reads_of_the_same_piece_are_relaxed() {
    let (events, goal) =
        read("1:b@B 1:r(x)@e1 1:w(x)@e2 1:e 2:b 2:acq(l) 2:r(x) 2:wait(l) 2:w(x)@f 2:rel(l) 2:e", "e1 f e2");
    let goal = goal.with(Values::Relaxed);
    for (split_at_waits, found) in [(false, true), (true, false)] {
        let config = Config { split_at_waits, ..Config::default() };
        let outcome = Recorded::new(&config, &events).search(&goal, ENOUGH).0;
        assert_eq!(matches!(outcome, Outcome::Found(_)), found, "{outcome:?}");
    }
}

#[test]
fn two_atomic_accesses_are_no_race() {
    let (events, goal) = read("1:b@B 1:aw(x)@e 2:ar(x)@f", "e f");
    let goal = Goal { shows: Shows::Race, ..goal };
    let schedule = [EventId(0), EventId(1), EventId(2)];
    assert!(verify(&Config::default(), &events, &schedule, &goal).is_err());
    assert_eq!(race("1:b@B 1:aw(x)@e 2:r(x)@f"), Some(vec![0, 1, 2]));
}

/// Searches a schedule that ends with the accesses at `e` and `f`.
#[track_caller]
fn race(trace: &str) -> Option<Vec<u64>> {
    let (events, goal) = read(trace, "e f");
    let goal = Goal { shows: Shows::Race, ..goal };
    match search(&events, &goal) {
        Outcome::Found(schedule) => {
            assert_eq!(verify(&Config::default(), &events, &schedule, &goal), Ok(vec![]), "{trace}");
            Some(schedule.into_iter().map(|event| event.0).collect())
        }
        Outcome::None => None,
        Outcome::OutOfBudget => panic!("out of budget: {trace}"),
    }
}

#[test]
fn a_race_is_two_accesses_next_to_each_other() {
    assert_eq!(race("1:b@B 1:w(x)@e 1:w(y) 2:r(z) 2:w(x)@f"), Some(vec![0, 3, 1, 4]));
    assert_eq!(race("1:b@B 1:acq(l) 1:w(x)@e 1:rel(l) 2:acq(l) 2:w(x)@f 2:rel(l)"), None);
    // Published by a flag, or through a lock and a value.
    assert_eq!(race("1:b@B 1:w(x)@e 1:w(flag) 2:r(flag) 2:r(x)@f"), None);
    assert_eq!(race("1:b@B 1:w(x)@e 1:acq(l) 1:w(q) 1:rel(l) 2:acq(l) 2:r(q) 2:rel(l) 2:r(x)@f"), None);
    assert_eq!(race("1:b@B 1:w(x)@e 1:fork(2) 2:r(x)@f"), None);
    assert_eq!(
        race("1:b@B 1:w(x)@e 1:acq(l) 1:rel(l) 2:acq(l) 2:rel(l) 2:r(x)@f"),
        Some(vec![0, 4, 5, 1, 6])
    );
}

/// Searches a schedule in which the threads that take their second locks at the sites `a` and `b` wait for each other.
#[track_caller]
fn deadlock(trace: &str, values: Values) -> Option<Vec<u64>> {
    let (events, goal) = read(trace, "a1 a b1 b");
    let waiting = vec![goal.order[0], goal.order[2]];
    let goal = Goal { shows: Shows::Deadlock { waiting }, order: Vec::new(), values };
    match search(&events, &goal) {
        Outcome::Found(schedule) => {
            let relaxed = verify(&Config::default(), &events, &schedule, &goal).expect("a schedule");
            assert_eq!(relaxed.is_empty(), values == Values::AsRecorded, "{trace}");
            Some(schedule.into_iter().map(|event| event.0).collect())
        }
        Outcome::None => None,
        Outcome::OutOfBudget => panic!("out of budget: {trace}"),
    }
}

#[test]
fn a_deadlock_is_threads_that_hold_what_the_others_want() {
    let trace = "1:b@B 1:acq(l)@a1 1:acq(m)@a 1:rel(m) 1:rel(l) 2:acq(m)@b1 2:acq(l)@b 2:rel(l) 2:rel(m)";
    assert_eq!(deadlock(trace, Values::AsRecorded), Some(vec![0, 1, 5]));
    // What thread 2 does depends on what thread 1 did afterwards.
    let trace = "1:b@B 1:acq(l)@a1 1:acq(m)@a 1:w(x) 1:rel(m) 1:rel(l) \
                 2:r(x) 2:acq(m)@b1 2:acq(l)@b 2:rel(l) 2:rel(m)";
    assert_eq!(deadlock(trace, Values::AsRecorded), None);
    assert_eq!(deadlock(trace, Values::Relaxed), None);
    // It reads it under its first lock: it may do the same with another value.
    let trace = "1:b@B 1:acq(l)@a1 1:acq(m)@a 1:w(x) 1:rel(m) 1:rel(l) \
                 2:acq(m)@b1 2:r(x) 2:acq(l)@b 2:rel(l) 2:rel(m)";
    assert_eq!(deadlock(trace, Values::AsRecorded), None);
    assert_eq!(deadlock(trace, Values::Relaxed), Some(vec![0, 1, 6, 7]));
}

#[test]
fn a_cycle_over_three_threads() {
    let trace = "1:b@B 1:r(x)@e1 1:r(y)@e2 1:e 2:b 2:w(x)@f1 2:w(z)@f2 2:e 3:b 3:w(z)@g1 3:w(y)@g2 3:e";
    found(trace, "e1 f1 f2 g1 g2 e2");
    // Locks in the way, taken one after the other.
    let trace = "1:b@B 1:acq(l) 1:r(x)@e1 1:rel(l) 1:acq(m) 1:r(y)@e2 1:rel(m) 1:e \
                 2:acq(l) 2:w(x)@f1 2:rel(l) 2:acq(k) 2:w(z)@f2 2:rel(k) \
                 3:acq(k) 3:w(z)@g1 3:acq(m) 3:w(y)@g2 3:rel(m) 3:rel(k)";
    found(trace, "e1 f1 f2 g1 g2 e2");
}

#[test]
fn a_critical_section_outside_every_block_is_made_a_block() {
    let trace = "1:acq(l)@B 1:w(x)@e1 1:w(x)@e2 1:rel(l) 2:r(x)@f";
    assert_eq!(found(trace, "e1 f e2"), [0, 1, 4, 2]);
    let (events, goal) = read(trace, "e1 f e2");
    let (_, names) = notation::parse(trace);
    let recorded = Recorded::new(&Config::default(), &events);
    let shown = |schedule: &[u64]| {
        let schedule: Vec<EventId> = schedule.iter().map(|&event| EventId(event)).collect();
        notation::show(&recorded.trace(&schedule, &goal, VarId(9)).events, &names)
    };
    assert_eq!(shown(&[0, 1, 4, 2]), "1:b@B 1:acq(l)@B 1:w(x)@e1 2:r(x)@f 1:w(x)@e2");
    assert_eq!(shown(&[0, 1, 2, 3, 4]), "1:b@B 1:acq(l)@B 1:w(x)@e1 1:w(x)@e2 1:rel(l) 1:e 2:r(x)@f");
    // A wait ends it: what comes in between is no violation.
    let (events, goal) = read("1:acq(l)@B 1:w(x)@e1 1:wait(l) 1:w(x)@e2 1:rel(l) 2:r(x)@f", "e1 f e2");
    let Outcome::Found(schedule) = search(&events, &goal) else { panic!("it is possible") };
    let judgement = verify(&Config::default(), &events, &schedule, &goal);
    assert!(judgement.unwrap_err().contains("not violated"));
}

#[test]
fn a_budget_is_kept() {
    let (events, goal) = read("1:b@B 1:r(x)@e1 1:r(x)@e2 1:e 2:w(x)@f", "e1 f e2");
    let recorded = Recorded::new(&Config::default(), &events);
    let mut outcomes = Vec::new();
    for budget in 0..40 {
        let (outcome, used) = recorded.search(&goal, budget);
        assert!(used <= budget, "{used} of {budget} steps");
        outcomes.push(outcome);
    }
    let too_few = outcomes.iter().take_while(|&outcome| *outcome == Outcome::OutOfBudget).count();
    assert!((5..30).contains(&too_few), "{too_few}");
    assert!(outcomes[too_few..].iter().all(|outcome| matches!(outcome, Outcome::Found(_))));
}

#[test]
fn a_goal_deep_in_a_long_trace_is_near_all_the_same() {
    // Threads increment a counter in turns: every read depends on all that happened before.
    let turns = |count: usize, threads: &[u32]| {
        let turn = |t: u32| format!("{t}:b {t}:acq(l) {t}:r(n) {t}:w(n) {t}:rel(l) {t}:e ");
        threads.iter().cycle().take(count).map(|&thread| turn(thread)).collect::<String>()
    };
    let search = |between: &[u32]| {
        let block = "1:b@B 1:acq(l) 1:r(x)@e1 1:rel(l) 1:acq(l) 1:w(x)@e2 1:rel(l) 1:e ";
        let other = "2:b 2:acq(l) 2:w(x)@f 2:rel(l) 2:e ";
        let all = turns(5_000, &[0, 1, 2, 3]);
        let (events, goal) = read(&(all.clone() + block + &turns(10, between) + other + &all), "e1 f e2");
        let (outcome, steps) = Recorded::new(&Config::default(), &events).search(&goal, ENOUGH);
        assert!(steps < 500, "{steps} steps");
        if let Outcome::Found(schedule) = &outcome {
            assert_eq!(verify(&Config::default(), &events, schedule, &goal), Ok(vec![]));
        }
        outcome
    };
    assert!(matches!(search(&[2, 3]), Outcome::Found(_)));
    // What thread 2 reads before f, thread 1 writes after the block.
    assert_eq!(search(&[1, 2]), Outcome::None);
}

#[test]
fn events_that_are_none_are_in_no_schedule() {
    let (events, goal) = read("1:skip@e1 1:b@B 1:w(x)@f", "e1 f");
    assert_eq!(search(&events, &goal), Outcome::None);
    let goal =
        Goal { shows: Shows::Violation { block: EventId(9) }, order: vec![], values: Values::AsRecorded };
    assert_eq!(search(&events, &goal), Outcome::None);
    assert_eq!(found("1:skip 1:b@B 1:r(x)@e1 2:skip 1:r(x)@e2 1:e 2:w(x)@f", "e1 f e2"), [1, 2, 6, 4]);
}

/// What the judge says to a schedule, given by the numbers of its events.
fn judged(trace: &str, order: &str, schedule: &[u64]) -> String {
    let (events, goal) = read(trace, order);
    let schedule: Vec<EventId> = schedule.iter().map(|&event| EventId(event)).collect();
    match verify(&Config::default(), &events, &schedule, &goal) {
        Ok(_) => "accepted".to_owned(),
        Err(problem) => problem,
    }
}

#[track_caller]
fn refused(trace: &str, order: &str, schedule: &[u64], because: &str) {
    let problem = judged(trace, order, schedule);
    assert!(problem.contains(because), "{problem}");
}

#[test]
fn the_judge_refuses_what_is_no_schedule() {
    let trace = "1:b@B 1:r(x)@e1 1:r(x)@e2 1:e 2:w(x)@f";
    let order = "e1 f e2";
    assert_eq!(judged(trace, order, &[0, 1, 4, 2]), "accepted");
    assert_eq!(judged(trace, "e1 f", &[0, 1, 4, 2]), "accepted");
    refused(trace, order, &[1, 0, 4, 2], "not the next of its thread");
    refused(trace, order, &[0, 4, 2], "not the next of its thread");
    refused(trace, order, &[0, 1, 4, 4, 2], "not the next of its thread");
    refused(trace, order, &[0, 1, 4, 9], "was not recorded");
    refused(trace, order, &[0, 1, 4], "event 2 of the goal does not happen");
    refused(trace, order, &[0, 1, 2, 4], "does not happen before");
    // The second read saw another write, and the block goes on.
    refused(trace, order, &[0, 1, 4, 2, 3], "sees another write");
    refused("1:w(x)@B 2:r(x) 2:r(y)", "B", &[1, 2, 0], "sees another write");
    refused("1:b@B 2:skip", "B", &[0, 1], "not the next");
}

#[test]
fn the_judge_refuses_what_synchronization_forbids() {
    refused("1:acq(l)@B 1:rel(l) 2:acq(l) 2:rel(l)", "B", &[0, 2, 1], "holds since");
    refused("1:acq(l)@B 1:wait(l) 1:rel(l) 2:acq(l) 2:rel(l)", "B", &[], "does not happen");
    refused("1:acq(l)@B 1:wait(l) 2:acq(l) 2:rel(l) 1:rel(l)", "B", &[0, 1, 2, 4], "goes on after its wait");
    refused("1:b@B 1:fork(2) 2:r(x)", "B", &[0, 2], "without event 1");
    refused("1:b@B 2:r(x) 1:join(2)", "B", &[0, 2], "without event 1");
    refused("1:b@B 1:barrier(b) 2:barrier(b) 1:e 2:r(x)", "B", &[0, 1, 3, 2], "before all have arrived");
    let twice = "1:barrier(b) 2:barrier(b) 1:b@B 3:barrier(b) 4:barrier(b) 3:r(x)";
    refused(twice, "B", &[0, 1, 3, 2], "meets others");
    refused("1:b@B 1:w(x) 2:free(x) 2:w(x)", "B", &[0, 2, 1], "another life");
    refused("1:b@B 1:alloc(x) 2:w(x)", "B", &[0, 2], "another life");
    refused("1:b@B 1:free(x) 2:w(x)", "B", &[0, 2], "another life");
}

#[test]
fn the_judge_refuses_what_shows_nothing() {
    refused("1:b@B 1:r(x)@e1 1:r(x)@e2 2:r(x)@f", "e1 f e2", &[0, 1, 3, 2], "not violated");
    refused("1:b 1:r(x)@B 1:r(x)@e2 2:w(x)@f", "B f e2", &[0, 1, 3, 2], "not violated");
}

#[test]
fn commuting_updates_violate_nothing() {
    let (events, goal) = read("1:b@B 1:add(x)@e1 1:add(x)@e2 1:e 2:add(x)@f", "e1 f e2");
    let schedule: Vec<EventId> = [0, 1, 4, 2].map(EventId).to_vec();
    let judge = |commuting_updates| {
        verify(&Config { commuting_updates, ..Config::default() }, &events, &schedule, &goal)
    };
    assert_eq!(judge(false), Ok(vec![]));
    assert!(judge(true).unwrap_err().contains("not violated"));
}

#[test]
fn what_is_left_of_a_recording_still_holds_the_lock_of_a_wait() {
    let trace = "1:b 1:acq(l) 1:wait(l) 1:r(z) 1:r(x)@f 1:rel(l) 1:e 2:acq(l) 2:w(y) 2:rel(l) 2:w(x)@e";
    let (events, _) = notation::parse(trace);
    let config = Config::default();
    let order = vec![(EventId(10), EventId(4))];
    let goal = Goal { shows: Shows::Race, order, values: Values::AsRecorded };
    let recorded = Recorded::new(&config, &events);
    let ids = |schedule: &[u64]| schedule.iter().copied().map(EventId).collect::<Vec<_>>();
    // The other thread takes the lock after T1 has it again, and before.
    assert_eq!(recorded.verify_tail(&config, &ids(&[0, 1, 2, 3, 7, 8, 9, 10, 4]), &goal), None);
    assert_eq!(recorded.verify_tail(&config, &ids(&[0, 1, 2, 7, 8, 9, 3, 10, 4]), &goal), Some(vec![]));
}
