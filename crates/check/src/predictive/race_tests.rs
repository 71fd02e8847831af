//! The race engines against the definitions of their papers, by brute force, on small random traces.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use atomvet_trace::{Event, LockId, Mode, Op, VarId};

use crate::oracle::random::{self, Random};
use crate::{Config, Findings, notation, registry};

type Pairs = BTreeSet<(usize, usize)>;

fn found(name: &str, events: &[Event]) -> Pairs {
    let config = Config::default();
    let Some(entry) = registry::find(name) else { panic!("there is no {name}") };
    let races = entry.run(&config, events, Findings::all_instances(&config)).predicted.races;
    races.iter().map(|race| (race.first.event.at.0 as usize, race.second.event.at.0 as usize)).collect()
}

fn check(name: &str, text: &str, expected: &[(usize, usize)]) {
    let (events, _) = notation::parse(text);
    assert_eq!(found(name, &events), expected.iter().copied().collect(), "{name} on {text}");
}

#[test]
fn what_locks_hide_in_this_order() {
    let hidden = "1:w(x) 1:acq(m) 1:rel(m) 2:acq(m) 2:rel(m) 2:r(x)";
    check("race-hb", hidden, &[]);
    check("race-sync-preserving", hidden, &[(0, 5)]);
    // The read of y is in the way: it must see T1's write.
    let needed = "1:w(x) 1:acq(m) 1:w(y) 1:rel(m) 2:acq(m) 2:r(y) 2:rel(m) 2:r(x)";
    check("race-hb", needed, &[]);
    check("race-sync-preserving", needed, &[]);
}

#[test]
fn atomics_do_not_race_and_publish() {
    for name in ["race-hb", "race-sync-preserving"] {
        check(name, "1:aw(x) 2:ar(x) 2:aw(x)", &[]);
        check(name, "1:w(d) 1:aw(x) 2:ar(x) 2:r(d)", &[]);
        check(name, "1:aw(x) 1:w(d) 2:ar(x) 2:r(d)", &[(1, 3)]);
        check(name, "1:aw(x) 2:r(x)", &[(0, 1)]);
    }
}

#[test]
fn forks_joins_and_shared_locks_order() {
    for name in ["race-hb", "race-sync-preserving"] {
        check(name, "1:w(x) 1:fork(2) 2:w(x) 1:join(2) 1:w(x)", &[]);
        check(name, "1:fork(2) 1:w(x) 2:r(x)", &[(1, 2)]);
        check(name, "1:racq(m) 1:r(x) 1:rrel(m) 2:racq(m) 2:w(x) 2:rrel(m)", &[(1, 4)]);
        check(name, "1:racq(m) 1:r(x) 1:rrel(m) 2:acq(m) 2:w(x) 2:rel(m)", &[]);
    }
}

/// Accesses, locks, forks and joins: what the definitions below speak of.
fn simple(seed: u64) -> Option<Vec<Event>> {
    let events = random::trace(&mut Random(seed), 6 + seed as usize % 9);
    let is_simple = |event: &Event| {
        matches!(
            event.op,
            Op::Read(..) | Op::Write(..) | Op::Acquire(..) | Op::Release(..) | Op::Fork(_) | Op::Join(_)
        ) || matches!(event.op, Op::Begin(_) | Op::End | Op::Local)
    };
    events.iter().all(is_simple).then_some(events)
}

fn touches(event: &Event) -> Option<(VarId, bool)> {
    match event.op {
        Op::Read(x, _) => Some((x, false)),
        Op::Write(x, _) => Some((x, true)),
        _ => None,
    }
}

fn conflicting(one: &Event, other: &Event) -> bool {
    let (Some((x, writes)), Some((y, writes_too))) = (touches(one), touches(other)) else { return false };
    let both_atomic = one.op.is_atomic() && other.op.is_atomic();
    one.thread != other.thread && x == y && (writes || writes_too) && !both_atomic
}

fn lock(event: &Event) -> Option<(LockId, Mode, bool)> {
    match event.op {
        Op::Acquire(lock, mode) => Some((lock, mode, true)),
        Op::Release(lock, mode) => Some((lock, mode, false)),
        _ => None,
    }
}

fn exclude(one: Mode, other: Mode) -> bool {
    one == Mode::Exclusive || other == Mode::Exclusive
}

/// An atomic read that comes after an atomic write of the same variable.
fn published(one: &Event, other: &Event) -> bool {
    match (touches(one), touches(other)) {
        (Some((x, true)), Some((y, false))) => x == y && one.op.is_atomic() && other.op.is_atomic(),
        _ => false,
    }
}

/// Whether one event comes before another by synchronization alone.
fn happens_before(events: &[Event]) -> Vec<Vec<bool>> {
    let direct = |i: usize, j: usize| {
        let (one, other) = (&events[i], &events[j]);
        let by_lock = match (lock(one), lock(other)) {
            (Some((l, mode, false)), Some((m, its_mode, true))) => l == m && exclude(mode, its_mode),
            _ => false,
        };
        one.thread == other.thread
            || by_lock
            || published(one, other)
            || one.op == Op::Fork(other.thread)
            || other.op == Op::Join(one.thread)
    };
    let mut before = vec![vec![false; events.len()]; events.len()];
    for j in 0..events.len() {
        for i in (0..j).rev() {
            before[i][j] = direct(i, j) || (i + 1..j).any(|k| before[i][k] && before[k][j]);
        }
    }
    before
}

#[test]
fn happens_before_is_as_defined() {
    let (mut traces, mut races) = (0, 0);
    for seed in 0..40_000 {
        let Some(events) = simple(seed) else { continue };
        let before = happens_before(&events);
        let mut expected = Pairs::new();
        for j in 0..events.len() {
            // The last access of each other thread and way.
            let mut last = BTreeMap::new();
            for i in (0..j).filter(|&i| conflicting(&events[i], &events[j])) {
                last.insert((events[i].thread, touches(&events[i]), events[i].op.is_atomic()), i);
            }
            expected.extend(last.values().filter(|&&i| !before[i][j]).map(|&i| (i, j)));
        }
        assert_eq!(found("race-hb", &events), expected, "{}", notation::show(&events, &Default::default()));
        traces += 1;
        races += expected.len();
    }
    assert!(traces > 5_000 && races > 2_000, "{traces} traces, {races} races");
}

/// A prefix of each thread, in some order: how many events of each are done, and who wrote each variable last.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct State {
    done: Vec<bool>,
    last: BTreeMap<VarId, usize>,
}

/// Whether some sync-preserving correct reordering has both accesses enabled.
fn can_meet(events: &[Event], one: usize, other: usize) -> bool {
    let mut seen = HashSet::new();
    let mut open = vec![State { done: vec![false; events.len()], last: BTreeMap::new() }];
    while let Some(state) = open.pop() {
        let next = |i: usize| !state.done[i] && is_next(events, &state, i);
        if next(one) && next(other) {
            return true;
        }
        for i in
            (0..events.len()).filter(|&i| i != one && i != other && next(i) && allowed(events, &state, i))
        {
            let mut after = state.clone();
            after.done[i] = true;
            if let Some((x, true)) = touches(&events[i]) {
                after.last.insert(x, i);
            }
            if seen.insert(after.clone()) {
                open.push(after);
            }
        }
    }
    false
}

/// All that its thread does before, and the forks of its thread, are done.
fn is_next(events: &[Event], state: &State, i: usize) -> bool {
    (0..i).all(|j| {
        let before = events[j].thread == events[i].thread || events[j].op == Op::Fork(events[i].thread);
        !before || state.done[j]
    })
}

/// It does what it did in the trace.
fn allowed(events: &[Event], state: &State, i: usize) -> bool {
    match events[i].op {
        Op::Read(x, _) => {
            let saw = (0..i).rev().find(|&j| matches!(events[j].op, Op::Write(y, _) if y == x));
            state.last.get(&x).copied() == saw
        }
        Op::Join(child) => (0..i).all(|j| events[j].thread != child || state.done[j]),
        Op::Acquire(wanted, mode) => {
            let sections =
                |j: &usize| matches!(events[*j].op, Op::Acquire(l, m) if l == wanted && exclude(m, mode));
            let others = |j: &usize| events[*j].thread != events[i].thread;
            (0..events.len()).filter(|j| state.done[*j]).filter(sections).filter(others).all(|j| {
                let Op::Acquire(_, its_mode) = events[j].op else { return true };
                let same = |k: &usize| events[*k].thread == events[j].thread;
                let release =
                    (j..events.len()).filter(same).find(|&k| events[k].op == Op::Release(wanted, its_mode));
                j < i && release.is_some_and(|release| state.done[release])
            })
        }
        _ => true,
    }
}

#[test]
fn sync_preserving_races_are_as_defined() {
    let (mut traces, mut races) = (0, 0);
    for seed in 0..12_000 {
        let Some(events) = simple(seed) else { continue };
        let mut expected = Pairs::new();
        for j in 0..events.len() {
            // The earliest access of each other thread and way.
            let mut met = HashSet::new();
            for i in (0..j).filter(|&i| conflicting(&events[i], &events[j])) {
                let way = (events[i].thread, touches(&events[i]), events[i].op.is_atomic());
                if !met.contains(&way) && can_meet(&events, i, j) {
                    met.insert(way);
                    expected.insert((i, j));
                }
            }
        }
        let ours = found("race-sync-preserving", &events);
        assert_eq!(ours, expected, "{}", notation::show(&events, &Default::default()));
        // The first race by happens-before is one that can happen.
        if let Some((_, second)) = found("race-hb", &events).iter().min_by_key(|(_, second)| *second) {
            assert!(
                expected.iter().any(|(_, other)| other == second),
                "{}",
                notation::show(&events, &Default::default())
            );
        }
        traces += 1;
        races += expected.len();
    }
    assert!(traces > 1_500 && races > 500, "{traces} traces, {races} races");
}
