use atomvet_trace::{Event, EventId, Names, VarId};

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::DoubleChecker;
use crate::lower::Lowered;
use crate::notation::{parse, show};
use crate::oracle::judge;
use crate::oracle::random::{Random, trace};
use crate::predictive::Effort;
use crate::predictive::effort::Keep;
use crate::{Checker, Config, Findings, Stats};

/// Runs the checker with `objects[i]` as the object of variable i.
fn run(config: &Config, objects: &[VarId], events: &[Event]) -> (Findings, Stats) {
    let mut out = Findings::all_instances(config);
    let mut checker = <Lowered<DoubleChecker> as Checker>::new(config);
    Checker::objects(&mut checker, VarId(0), objects);
    for (i, &event) in events.iter().enumerate() {
        checker.event(EventId(i as u64), event, &mut out);
    }
    let stats = checker.finish(&mut out);
    (out, stats)
}

fn figure(stats: &Stats, name: &str) -> u64 {
    stats.0.iter().find(|(known, _)| *known == name).expect("a figure of that name").1
}

fn blamed(out: &Findings) -> Vec<EventId> {
    out.list.iter().filter_map(|finding| Some(finding.block?.begin)).collect()
}

#[track_caller]
fn check(text: &str, first_cycle: Option<u64>, expected: &[u64]) -> Stats {
    let (events, _) = parse(text);
    let (out, stats) = run(&Config::default(), &[], &events);
    assert_eq!(out.first_cycle, first_cycle.map(EventId), "{text}");
    let expected: Vec<EventId> = expected.iter().copied().map(EventId).collect();
    assert_eq!(blamed(&out), expected, "{text}");
    stats
}

#[test]
fn the_traces_of_the_papers() {
    check("1:b 1:w(x) 2:b 2:r(x) 2:e 3:b 3:w(z) 3:e 1:r(z) 1:e", None, &[]);
    check("1:b 2:b 1:w(x) 2:r(x) 2:w(y) 1:r(y) 1:e 2:e", Some(5), &[0]);
    check("1:b 1:w(a) 0:w(b) 0:r(a) 1:r(b) 1:e", None, &[]);
    check("0:b 0:fork(1) 0:join(1) 0:e", None, &[]);
    check("1:b 1:r(x) 2:w(x) 1:w(x) 1:e", Some(3), &[0]);
    let alpha3 = "1:b 1:r(x) 2:b 2:w(y) 2:w(x) 3:b 3:r(y) 3:r(x) 2:e 2:b 3:e 3:b 3:w(z) 1:r(z) 1:e 2:e 3:e";
    check(alpha3, Some(13), &[0]);
}

#[test]
fn atomic_blocks_that_complete_a_cycle_are_blamed() {
    check("1:b 2:b 1:w(x) 2:w(y) 1:r(y) 2:r(x) 1:e 2:e", Some(5), &[1]);
    check("1:b 1:w(x) 2:b 2:w(y) 2:r(x) 2:e 3:b 3:r(y) 3:w(z) 3:e 1:r(z) 1:e", Some(10), &[0]);
    let alpha1 = "1:b 1:w(x) 2:b 2:w(y) 2:r(x) 3:b 3:r(y) 3:r(q) 2:e 2:b 3:e 3:b 3:w(z) 1:r(z) 1:e 2:e 3:e";
    check(alpha1, Some(13), &[0]);
}

#[test]
fn a_cycle_of_objects_need_not_be_one_of_variables() {
    // T1: [ w(p.x)          w(p.x) ]
    // T2:          w(p.y)
    let (events, _) = parse("1:b 1:w(p.x) 2:b 2:w(p.y) 2:e 1:w(p.x) 1:e");
    let (out, stats) = run(&Config::default(), &[VarId(0), VarId(0)], &events);
    assert!(out.list.is_empty());
    assert_eq!(figure(&stats, "imprecise components"), 1);
    assert_eq!(figure(&stats, "false components"), 1);
    let (_, stats) = run(&Config::default(), &[VarId(0), VarId(1)], &events);
    assert_eq!(figure(&stats, "imprecise components"), 0);
}

#[test]
fn logs_are_dropped_with_their_transactions() {
    let block = "1:b 1:acq(l) 1:r(x) 1:w(x) 1:rel(l) 1:e 2:b 2:acq(l) 2:r(x) 2:w(x) 2:rel(l) 2:e ";
    let stats = check(&block.repeat(100), None, &[]);
    assert_eq!(figure(&stats, "logged accesses"), 800);
    assert_eq!(figure(&stats, "most logged accesses at once"), 4);
    assert_eq!(figure(&stats, "most live nodes"), 1);
    // A component is dropped, too, and what depends on it.
    let cycle = "1:b 1:r(x) 2:b 2:w(x) 2:e 1:w(x) 1:e ";
    let (events, _) = parse(&cycle.repeat(100));
    let (out, stats) = run(&Config::default(), &[], &events);
    assert_eq!(out.list.len(), 100);
    assert_eq!(figure(&stats, "imprecise components"), 100);
    assert_eq!(figure(&stats, "most live nodes"), 2);
}

#[test]
fn an_undisturbed_repetition_is_logged_once() {
    let stats = check("1:b 1:w(x) 1:r(x) 1:w(x) 1:r(y) 1:r(y) 1:w(y) 1:e", None, &[]);
    assert_eq!(figure(&stats, "logged accesses"), 3);
    // A disturbed one is not: here the second read of x is what completes the cycle.
    check("1:b 1:r(x) 2:w(x) 1:r(x) 1:e", Some(3), &[0]);
    // T0: [      w(y)             w(x) ]     two unary reads of x with a dependence between them, which
    // T1:   r(x)      r(y) r(x)              phase 1 does not see (it has that edge): both are logged
    check("0:w(x) 0:b 0:w(y) 1:r(x) 1:r(y) 1:r(x) 0:w(x) 0:e", Some(6), &[1]);
    // The same within one object, which changes hands only once.
    let (events, _) = parse("0:b 0:w(p.y) 1:w(p.x) 1:r(p.y) 1:r(p.x) 0:r(p.x) 0:w(p.x) 0:e");
    let (out, _) = run(&Config::default(), &[VarId(0), VarId(0)], &events);
    assert_eq!(blamed(&out), [EventId(0)]);
    assert_eq!(out.first_cycle, Some(EventId(6)));
}

/// Compares with the oracle; returns how many blocks it blames and how many are violated.
fn compare(config: &Config, objects: &[VarId], events: &[Event]) -> (usize, usize, Stats) {
    let shown = || format!("{config:?}, {objects:?}: {}", show(events, &Names::default()));
    let verdict = judge(config, events);
    let (out, stats) = run(config, objects, events);
    assert_eq!(out.first_cycle, verdict.first_cycle_event, "{}", shown());
    let blamed = blamed(&out);
    for block in &verdict.violated_transactions {
        assert!(blamed.contains(block), "{block:?} in {}", shown());
    }
    for (i, block) in blamed.iter().enumerate() {
        assert!(!blamed[..i].contains(block), "{block:?} twice in {}", shown());
    }
    assert!(out.list.is_sorted_by_key(|finding| finding.event.at), "{}", shown());
    assert_eq!(out.list.is_empty(), verdict.serializable, "{}", shown());
    (blamed.len(), verdict.violated_transactions.len(), stats)
}

#[test]
fn agrees_with_the_oracle() {
    let mut random = Random(20_140_609);
    let (mut blamed, mut violated, mut refuted) = (0, 0, 0);
    for round in 0..30_000 {
        let length = 5 + random.below(if round % 10 == 0 { 60 } else { 25 });
        let events = trace(&mut random, length);
        let config = Config {
            commuting_updates: round % 2 == 1,
            split_at_waits: round / 2 % 2 == 1,
            ..Config::default()
        };
        let objects: &[VarId] = match round / 4 % 3 {
            0 => &[],
            1 => &[VarId(0), VarId(0), VarId(0)],
            _ => &[VarId(0), VarId(1), VarId(0)],
        };
        let cut = random.below(events.len() + 1);
        compare(&config, objects, &events[..cut]);
        let (ours, all, stats) = compare(&config, objects, &events);
        blamed += ours;
        violated += all;
        refuted += figure(&stats, "false components");
    }
    // The dice are worth something only if all kinds of answers occur.
    assert!(violated > 2000 && blamed > violated, "{blamed} blamed, {violated} violated");
    assert!(refuted > 1000, "{refuted} components refuted");
}

/// A block of thread 0 that stays open and reads what 40,000 blocks of two other threads write.
fn one_long_block() -> Vec<Event> {
    let mut text = String::from("0:b 0:w(x) ");
    for i in 0..40_000 {
        let t = 1 + i % 2;
        text += &format!("{t}:b {t}:w(x) {t}:e 0:r(x) ");
    }
    parse(&text).0
}

/// How often somebody was asked whether to go on, and what was found.
fn run_watched(events: &[Event], answer: Keep) -> (u64, Findings) {
    let asked = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&asked);
    let config = Config::default();
    let mut out = Findings::all_instances(&config);
    out.effort = Effort::new(
        0,
        Some(Arc::new(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
            answer
        })),
    );
    let mut checker = <Lowered<DoubleChecker> as Checker>::new(&config);
    for (i, &event) in events.iter().enumerate() {
        checker.event(EventId(i as u64), event, &mut out);
    }
    let _ = checker.finish(&mut out);
    (asked.load(Ordering::Relaxed), out)
}

#[test]
fn one_long_block_costs_what_its_events_cost() {
    let (asked, out) = run_watched(&one_long_block(), Keep::Going);
    assert_eq!(blamed(&out), [EventId(0)]);
    // At the start only: the next time would be after millions of steps.
    assert_eq!(asked, 1);
}

#[test]
fn a_long_replay_ends_when_somebody_wants_it_to() {
    let (asked, out) = run_watched(&one_long_block(), Keep::Stop);
    assert!(asked == 1 && out.effort.is_stopped() && blamed(&out).is_empty());
}
