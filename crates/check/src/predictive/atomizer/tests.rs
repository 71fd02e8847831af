use super::*;
use crate::lower::Lowered;
use crate::notation::{parse, show};
use crate::{Analysis as _, Checker};
use atomvet_trace::{Event, EventId};

/// Every suspicion as `begin of the block: first, second` of its two places.
#[track_caller]
fn check(trace: &str, expected: &[&str]) {
    let (events, names) = parse(trace);
    let config = Config::default();
    let mut out = Findings::all_instances(&config);
    let mut checker = Lowered::<Atomizer>::new(&config);
    checker.events(EventId(0), &events, &mut out);
    Checker::finish(checker, &mut out);
    let found = out.predicted.violations.iter().map(|found| {
        let pattern = &found.patterns[0];
        let places = pattern.moments.iter().map(|moment| {
            let Here { thread, op, site, .. } = moment.event;
            show(&[Event { thread, op, site }], &names)
        });
        format!("#{}: {}", pattern.block.begin.0, places.collect::<Vec<_>>().join(", "))
    });
    assert_eq!(found.collect::<Vec<_>>(), expected, "{trace}");
}

/// Both threads have used the variable and the lock, and the first does again.
const SHARED: &str = "1:acq(l) 1:w(x) 1:rel(l) 2:acq(l) 2:w(x) 2:rel(l) 1:acq(l) 1:w(x) 1:rel(l) ";

#[test]
fn two_critical_sections_in_a_block() {
    check(
        &(SHARED.to_owned() + "2:b 2:acq(l) 2:r(x) 2:rel(l) 2:acq(l) 2:w(x) 2:rel(l) 2:e"),
        &["#9: 2:rel(l), 2:acq(l)"],
    );
    check(&(SHARED.to_owned() + "2:b 2:acq(l) 2:r(x) 2:w(x) 2:rel(l) 2:e"), &[]);
}

#[test]
fn a_section_of_local_accesses_is_not_dropped() {
    check(
        &(SHARED.to_owned() + "2:b 2:acq(l) 2:r(y) 2:rel(l) 2:acq(l) 2:w(x) 2:rel(l) 2:e"),
        &["#9: 2:rel(l), 2:acq(l)"],
    );
}

#[test]
fn a_block_is_suspected_when_it_goes_wrong_and_once() {
    let trace = "1:w(x) 2:w(x) 1:w(x) 2:b 2:r(x) 2:w(x) 2:w(x) 2:e 2:b 2:w(x) 2:e";
    check(trace, &["#3: 2:r(x), 2:w(x)"]);
}

#[test]
fn ownership_hides_the_first_two_threads() {
    // Not seen: the accesses of both owners race. The third change of hands is seen.
    check("1:b 1:r(x) 1:w(x) 1:e 2:b 2:r(x) 2:w(x) 2:e", &[]);
    check(
        "1:b 1:r(x) 1:w(x) 1:e 2:b 2:r(x) 2:w(x) 2:e 1:b 1:r(x) 1:w(x) 1:w(x) 1:e",
        &["#8: 1:w(x), 1:w(x)"],
    );
}

#[test]
fn a_read_needs_a_lock_of_the_writes_and_a_write_a_lock_of_all() {
    // The writes hold a and b, the reads one of them.
    let writes = "1:acq(a) 1:acq(b) 1:w(x) 1:rel(b) 1:rel(a) ";
    let read = |lock: &str| format!("2:b 2:acq({lock}) 2:r(x) 2:r(x) 2:rel({lock}) 2:e ");
    check(&(writes.to_owned() + &read("a") + writes + &read("b") + &read("a")), &[]);
    // Now no lock was held at all accesses, so the next write races; the on-line form cannot take that back.
    let again = "1:b 1:acq(a) 1:acq(b) 1:w(x) 1:w(x) 1:rel(b) 1:rel(a) 1:e";
    let trace = writes.to_owned() + &read("a") + writes + &read("b") + &read("a") + again;
    check(&trace, &["#28: 1:w(x), 1:w(x)"]);
}

#[test]
fn shared_locks_do_not_protect_writes() {
    let write = |thread: u32| {
        format!("{thread}:b {thread}:racq(l) {thread}:w(x) {thread}:w(x) {thread}:rrel(l) {thread}:e ")
    };
    check(&(write(1) + &write(2) + &write(1)), &["#12: 1:w(x), 1:w(x)"]);
}

#[test]
fn locks_of_one_thread_and_protected_locks_move_both_ways() {
    check("1:b 1:acq(l) 1:rel(l) 1:acq(l) 1:rel(l) 1:e", &[]);
    let protected = |thread: u32| {
        let inner = format!("{thread}:acq(l) {thread}:rel(l) ").repeat(2);
        format!("{thread}:b {thread}:acq(p) {inner}{thread}:rel(p) {thread}:e ")
    };
    check(&(protected(1) + &protected(2) + &protected(1)), &[]);
    // Taken without p once: not protected from then on.
    check(&(protected(1) + "2:acq(l) 2:rel(l) " + &protected(1)), &["#10: 1:rel(l), 1:acq(l)"]);
    // p is given back before l.
    let crossed = "2:acq(p) 2:acq(l) 2:rel(p) 2:rel(l) ";
    check(&(protected(1) + crossed + &protected(1)), &["#12: 1:rel(l), 1:acq(l)"]);
}

#[test]
fn critical_sections_outside_of_blocks_are_judged() {
    let trace = SHARED.to_owned() + "2:acq(m) 2:rel(m) 1:acq(m) 1:acq(l) 1:rel(l) 1:acq(l) 1:rel(l) 1:rel(m)";
    check(&trace, &["#11: 1:rel(l), 1:acq(l)"]);
}

#[test]
fn a_wait_gives_the_lock_back_and_a_fork_ends_the_unit() {
    check(&(SHARED.to_owned() + "1:b 1:acq(l) 1:wait(l) 1:r(y) 1:rel(l) 1:e"), &["#9: 1:wait(l), 1:r(y)"]);
    check(&(SHARED.to_owned() + "1:b 1:acq(l) 1:rel(l) 1:fork(3) 1:acq(l) 1:rel(l) 1:e"), &[]);
}

#[test]
fn the_innermost_block_with_both_places_is_blamed() {
    let section = "2:acq(l) 2:w(x) 2:rel(l) ";
    check(&format!("{SHARED} 2:b 2:b {section}{section} 2:e 2:e"), &["#10: 2:rel(l), 2:acq(l)"]);
    check(&format!("{SHARED} 2:b 2:b {section} 2:e {section} 2:e"), &["#9: 2:rel(l), 2:acq(l)"]);
}

#[test]
fn another_life_is_another_variable() {
    check("1:w(x) 2:w(x) 1:free(x) 1:b 1:w(x) 1:w(x) 1:e", &[]);
    check("1:w(x) 2:w(x) 1:escape(x) 1:b 1:w(x) 1:w(x) 1:e", &[]);
}

#[test]
fn what_the_whole_execution_shows_is_missed() {
    // The lock is one thread's until the block is over.
    let block = "1:b 1:acq(l) 1:w(x) 1:rel(l) 1:acq(l) 1:w(x) 1:rel(l) 1:e ";
    check(&(block.to_owned() + "2:acq(l) 2:w(x) 2:rel(l) "), &[]);
    check(&(block.to_owned() + "2:acq(l) 2:w(x) 2:rel(l) " + block), &["#11: 1:rel(l), 1:acq(l)"]);
}
