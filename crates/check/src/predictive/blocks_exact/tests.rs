use crate::Config;
use crate::enumerate::programs::Operations;
use crate::predictive::blocks::tests::{figures, has_wait, judge, judge_trace};
use crate::predictive::blocks_exact::BlocksExact;

#[track_caller]
fn check(threads: &[&str], expected: &[&str]) {
    let (found, stats) = judge::<BlocksExact>(threads, &Config::default());
    assert_eq!(found, expected, "{threads:?}");
    assert_eq!(stats.0.last(), Some(&("components not judged", 0)), "{threads:?}");
}

#[test]
fn cycles_over_three_threads() {
    // RV'03 (16), TSE'06 (6).
    check(
        &["b w(x) w(y) e", "b r(x) w(z) e", "b r(z) r(y) e"],
        &["1:w(x) 2:r(x) 2:w(z) 3:r(z) 3:r(y) 1:w(y)"],
    );
    // A lock around the first, which the others do not need.
    check(
        &["b acq(l) w(x) w(y) rel(l) e", "b r(x) w(z) e", "b r(z) r(y) e"],
        &["1:w(x) 2:r(x) 2:w(z) 3:r(z) 3:r(y) 1:w(y)"],
    );
    // And which all of them need.
    let locked =
        ["b acq(l) w(x) w(y) rel(l) e", "b acq(l) r(x) w(z) rel(l) e", "b acq(l) r(z) r(y) rel(l) e"];
    check(&locked, &[]);
    // A cycle of which no unit encloses the others: 2 before 1, as it reads x too early; 1 before 3; 3 before 2.
    check(
        &["b acq(l) w(x) w(y) rel(l) e", "b acq(l) r(x) rel(l) w(z) e", "b r(z) r(y) e"],
        &["2:r(x) 1:w(x) 1:w(y) 3:r(z) 2:w(z) 3:r(y)"],
    );
    // With accesses outside of transactions, in the order of their thread.
    check(&["b w(x) w(y) e", "r(x) w(z)", "r(z) r(y)"], &["1:w(x) 2:r(x) 2:w(z) 3:r(z) 3:r(y) 1:w(y)"]);
    check(&["b w(x) w(y) e", "w(z) r(x)", "r(z) r(y)"], &[]);
}

#[test]
fn pairs_are_found_as_by_blocks() {
    check(&["b r(x) w(x) e", "b w(x) e"], &["1:r(x) 2:w(x) 1:w(x)"]);
    // Of the pair only one is broken, and the rest is looked at without it.
    check(
        &["b w(x) w(y) e", "b r(x) w(z) e", "b r(z) r(y) e", "b r(q) w(q) e", "w(q)"],
        &["4:r(q) 5:w(q) 4:w(q)", "1:w(x) 2:r(x) 2:w(z) 3:r(z) 3:r(y) 1:w(y)"],
    );
}

#[test]
fn updates_that_commute_make_no_cycle() {
    let threads = ["b add(x) w(y) e", "b add(x) w(z) e", "b r(z) r(y) e"];
    let commuting = Config { commuting_updates: true, ..Config::default() };
    assert_eq!(judge::<BlocksExact>(&threads, &commuting).0, [""; 0]);
    assert_eq!(judge::<BlocksExact>(&threads, &Config::default()).0.len(), 1);
}

/// Nine readers of everything make too many serial orders; the cycle is found in a group of three.
#[test]
fn a_large_component_is_searched_in_part_and_said_to_be() {
    let mut trace = String::from("1:b 1:w(x) 1:w(y) 1:e 2:b 2:r(x) 2:w(z) 2:e 3:b 3:r(z) 3:r(y) 3:e");
    for thread in 4..13 {
        trace += &format!(" {thread}:r(x) {thread}:r(z) {thread}:r(x)");
    }
    let (found, stats) = judge_trace::<BlocksExact>(&trace, &Config::default());
    assert_eq!(found, ["1:w(x) 2:r(x) 2:w(z) 3:r(z) 3:r(y) 1:w(y)"]);
    assert_eq!(stats.0.last(), Some(&("components not judged", 1)));
}

/// Without potential for deadlock, and where every component is judged, nothing is missed.
#[test]
fn random_programs() {
    let is_judged = |stats: &crate::Stats| stats.0.last() == Some(&("components not judged", 0));
    let plain = figures::<BlocksExact>(400, Operations::Plain, |_, stats| !is_judged(stats));
    assert!(plain.iter().all(|&(missed, _)| missed == 0), "{plain:?}");
    let rich =
        figures::<BlocksExact>(250, Operations::Rich, |events, stats| has_wait(events) || !is_judged(stats));
    assert!(rich.iter().all(|&(missed, _)| missed == 0), "{rich:?}");
}
