//! An independent judge of schedules. It shares no rule with the search: what a schedule is, is told here once more,
//! in the plainest words, on top of the readers' well-formedness check and of RegionTrack.
//!
//! Cost: linear in the recording, with hash tables; meant for the few schedules that are found.

use atomvet_trace::wellformed::{Discipline, Wellformed};
use atomvet_trace::{BarrierId, Event, EventId, Names, Op, ThreadId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Goal, as_trace};
use crate::lower::Lowered;
use crate::observed::regiontrack::RegionTrack;
use crate::{Checker as _, Config, Findings};

/// Whether a schedule is one, and shows its goal. An error says what does not hold.
///
/// It must be a prefix of each thread's recorded events, in order, that locks, waits, forks, joins, barriers and the
/// lives of variables allow; all reads see what they saw, but for the last event of each thread; the goal's events are in
/// it, in the goal's order; and RegionTrack finds the goal's block violated in it. (A critical section outside
/// every block counts as one: see [`Recorded::trace`](super::Recorded::trace).)
pub fn verify(config: &Config, recorded: &[Event], schedule: &[EventId], goal: &Goal) -> Result<(), String> {
    let schedule = indices(recorded, schedule)?;
    prefix_of_each_thread(recorded, &schedule)?;
    let at: FxHashMap<usize, usize> = schedule.iter().enumerate().map(|(at, &event)| (event, at)).collect();
    threads_start_and_end(recorded, &schedule, &at)?;
    barriers_meet(recorded, &schedule)?;
    values_are_seen(recorded, &schedule)?;
    goal_is_kept(goal, &at)?;
    let ids: Vec<EventId> = schedule.iter().map(|&event| EventId(event as u64)).collect();
    let (trace, block) = as_trace(recorded, &ids, goal);
    is_well_formed(&trace)?;
    let block = block.ok_or("the goal's block does not begin in the schedule")?;
    is_violated(config, &trace, block)
}

fn indices(recorded: &[Event], schedule: &[EventId]) -> Result<Vec<usize>, String> {
    let index = |id: &EventId| {
        let index = usize::try_from(id.0).ok().filter(|&index| index < recorded.len());
        index.ok_or_else(|| format!("event {} was not recorded", id.0))
    };
    schedule.iter().map(index).collect()
}

fn prefix_of_each_thread(recorded: &[Event], schedule: &[usize]) -> Result<(), String> {
    let mut of_thread: FxHashMap<ThreadId, Vec<usize>> = FxHashMap::default();
    for (event, Event { thread, op, .. }) in recorded.iter().enumerate() {
        if *op != Op::Skip {
            of_thread.entry(*thread).or_default().push(event);
        }
    }
    let mut done: FxHashMap<ThreadId, usize> = FxHashMap::default();
    for &event in schedule {
        let thread = recorded[event].thread;
        let done = done.entry(thread).or_default();
        let expected = of_thread.get(&thread).and_then(|events| events.get(*done));
        if expected != Some(&event) {
            return Err(format!("event {event} is not the next of its thread, which is {expected:?}"));
        }
        *done += 1;
    }
    Ok(())
}

/// In the schedule, in which `then` is.
fn happened_before(schedule_at: &FxHashMap<usize, usize>, first: usize, then: usize) -> Result<(), String> {
    let second = schedule_at[&then];
    match schedule_at.get(&first) {
        Some(&first) if first < second => Ok(()),
        _ => Err(format!("event {then} happens without event {first} before it")),
    }
}

/// What comes after a fork or join of a thread in the recording does so in the schedule: the thread's own events, and
/// further forks and joins of it. A join comes after all that the thread did before it.
fn threads_start_and_end(
    recorded: &[Event],
    schedule: &[usize],
    at: &FxHashMap<usize, usize>,
) -> Result<(), String> {
    let mut last_of: FxHashMap<ThreadId, usize> = FxHashMap::default();
    let mut turned: FxHashMap<ThreadId, usize> = FxHashMap::default();
    let scheduled: FxHashSet<usize> = schedule.iter().copied().collect();
    for (event, &Event { thread, op, .. }) in recorded.iter().enumerate() {
        if op == Op::Skip {
            continue;
        }
        if scheduled.contains(&event) {
            if let Some(&turn) = turned.get(&thread) {
                happened_before(at, turn, event)?;
            }
            if let Op::Fork(child) | Op::Join(child) = op
                && let Some(&turn) = turned.get(&child)
            {
                happened_before(at, turn, event)?;
            }
            if let Op::Join(child) = op
                && let Some(&last) = last_of.get(&child)
            {
                happened_before(at, last, event)?;
            }
        }
        last_of.insert(thread, event);
        if let Op::Fork(child) | Op::Join(child) = op {
            turned.insert(child, event);
        }
    }
    Ok(())
}

/// Who arrives together in the recording does so in the schedule, and everybody has arrived when somebody leaves.
fn barriers_meet(recorded: &[Event], schedule: &[usize]) -> Result<(), String> {
    let episode_of = episodes(recorded, 0..recorded.len());
    let (mut expected, mut arrived) = (FxHashMap::default(), FxHashMap::default());
    for episode in episode_of.values() {
        *expected.entry(episode).or_insert(0) += 1;
    }
    let mut inside: FxHashMap<ThreadId, &usize> = FxHashMap::default();
    for event in schedule {
        let thread = recorded[*event].thread;
        if let Some(episode) = inside.remove(&thread)
            && arrived.get(episode) != expected.get(episode)
        {
            return Err(format!("with event {event} its thread leaves a barrier before all have arrived"));
        }
        if let Some(episode) = episode_of.get(event) {
            *arrived.entry(episode).or_insert(0) += 1;
            inside.insert(thread, episode);
        }
    }
    let (mut here_to_there, mut there_to_here) = (FxHashMap::default(), FxHashMap::default());
    for (event, here) in episodes(recorded, schedule.iter().copied()) {
        let there = episode_of[&event];
        if *here_to_there.entry(here).or_insert(there) != there
            || *there_to_here.entry(there).or_insert(here) != here
        {
            return Err(format!("event {event} meets others at the barrier than recorded"));
        }
    }
    Ok(())
}

/// For each arrival, the episode it is in: the arrivals at a barrier until one of them leaves.
fn episodes(recorded: &[Event], order: impl Iterator<Item = usize>) -> FxHashMap<usize, usize> {
    let mut of_arrival = FxHashMap::default();
    let mut gathering: FxHashMap<BarrierId, usize> = FxHashMap::default();
    let mut inside: FxHashMap<ThreadId, (BarrierId, usize)> = FxHashMap::default();
    for event in order {
        let Event { thread, op, .. } = recorded[event];
        if op == Op::Skip {
            continue;
        }
        if let Some((barrier, episode)) = inside.remove(&thread)
            && gathering.get(&barrier) == Some(&episode)
        {
            gathering.remove(&barrier);
        }
        if let Op::Barrier(barrier) = op {
            let episode = *gathering.entry(barrier).or_insert(event);
            of_arrival.insert(event, episode);
            inside.insert(thread, (barrier, episode));
        }
    }
    of_arrival
}

/// What an access finds: the alloc or free that began the life of its variable, and the event whose value is there. A
/// diverging update leaves a value of its own, which is that of no event.
type Found = (Option<usize>, Option<Value>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    Of(usize),
    Unknown,
}

fn values_are_seen(recorded: &[Event], schedule: &[usize]) -> Result<(), String> {
    let mut state: FxHashMap<VarId, Found> = FxHashMap::default();
    let mut as_recorded: Vec<Found> = Vec::with_capacity(recorded.len());
    for (event, &Event { op, .. }) in recorded.iter().enumerate() {
        as_recorded.push(access(&mut state, event, op));
    }
    state.clear();
    // A thread's last event stays here.
    let last: FxHashMap<ThreadId, usize> =
        schedule.iter().map(|&event| (recorded[event].thread, event)).collect();
    for &event in schedule {
        let Event { thread, op, .. } = recorded[event];
        let found = access(&mut state, event, op);
        let expected = as_recorded[event];
        if found.0 != expected.0 {
            return Err(format!("event {event} happens in another life of its variable"));
        }
        let (Op::Read(x) | Op::Update(x, _)) = op else { continue };
        if found.1 == expected.1 {
            continue;
        }
        if last[&thread] != event {
            return Err(format!("event {event} sees another write than recorded, and its thread goes on"));
        }
        if let Op::Update(..) = op {
            state.insert(x, (found.0, Some(Value::Unknown)));
        }
    }
    Ok(())
}

fn access(state: &mut FxHashMap<VarId, Found>, event: usize, op: Op) -> Found {
    let (Op::Read(x) | Op::Write(x) | Op::Update(x, _) | Op::Alloc(x) | Op::Free(x)) = op else {
        return (None, None);
    };
    let variable = state.entry(x).or_default();
    let found = *variable;
    match op {
        Op::Read(_) => {}
        Op::Alloc(_) | Op::Free(_) => *variable = (Some(event), None),
        _ => variable.1 = Some(Value::Of(event)),
    }
    found
}

fn goal_is_kept(goal: &Goal, at: &FxHashMap<usize, usize>) -> Result<(), String> {
    let place = |event: EventId| {
        let place = usize::try_from(event.0).ok().and_then(|event| at.get(&event));
        place.ok_or_else(|| format!("event {} of the goal does not happen", event.0))
    };
    place(goal.block)?;
    for &(first, second) in &goal.order {
        if place(first)? >= place(second)? {
            return Err(format!("event {} does not happen before event {}", first.0, second.0));
        }
    }
    Ok(())
}

/// Locks, waits, forks, joins, begins and ends, by the check that stands in front of all checkers.
fn is_well_formed(trace: &[Event]) -> Result<(), String> {
    let mut checked = trace.to_vec();
    let names = numbers_as_names(trace);
    let mut wellformed = Wellformed::new(Discipline::Strict);
    wellformed.check(EventId(0), &mut checked, &names).map_err(|broken| {
        format!("step {} of the schedule is not possible: {}", broken.index, broken.problem)
    })
}

/// Enough names for every thread and lock of the trace.
fn numbers_as_names(trace: &[Event]) -> Names {
    let (mut threads, mut locks) = (0, 0);
    for event in trace {
        threads = threads.max(event.thread.0 + 1);
        match event.op {
            Op::Fork(child) | Op::Join(child) => threads = threads.max(child.0 + 1),
            Op::Acquire(lock, _)
            | Op::Release(lock, _)
            | Op::Reacquire(lock, _)
            | Op::Rerelease(lock, _)
            | Op::Wait(lock) => locks = locks.max(lock.0 + 1),
            _ => {}
        }
    }
    let mut names = Names::default();
    for thread in 0..threads {
        names.threads.intern(&format!("thread {thread}"));
    }
    for lock in 0..locks {
        names.locks.intern(&format!("lock {lock}"));
    }
    names
}

fn is_violated(config: &Config, trace: &[Event], block: EventId) -> Result<(), String> {
    let mut findings = Findings::all_instances(config);
    let mut checker = Lowered::<RegionTrack>::new(config);
    for (at, &event) in (0..).zip(trace) {
        checker.event(EventId(at), event, &mut findings);
    }
    let _ = checker.finish(&mut findings);
    let violated =
        findings.list.iter().any(|finding| finding.block.is_some_and(|found| found.begin == block));
    violated.then_some(()).ok_or_else(|| "the goal's block is not violated in the schedule".to_owned())
}
