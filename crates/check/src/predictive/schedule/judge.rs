//! An independent judge of schedules. It shares no rule with the search: what a schedule is, is told here once more,
//! in the plainest words, on top of the readers' well-formedness check and of RegionTrack.
//!
//! Cost: linear in the recording up to the schedule's latest event, in a few passes.

use atomvet_trace::wellformed::{Discipline, Wellformed};
use atomvet_trace::{BarrierId, Event, EventId, Names, Op, VarId};
use rustc_hash::FxHashMap;

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
    // Nothing depends on what was recorded later.
    let recorded = &recorded[..schedule.iter().max().map_or(0, |last| last + 1)];
    prefix_of_each_thread(recorded, &schedule)?;
    let mut at = vec![None; recorded.len()];
    for (place, &event) in schedule.iter().enumerate() {
        at[event] = Some(place);
    }
    threads_start_and_end(recorded, &at)?;
    barriers_meet(recorded, &schedule)?;
    values_are_seen(recorded, &schedule)?;
    goal_is_kept(goal, &at)?;
    let ids: Vec<EventId> = schedule.iter().map(|&event| EventId(event as u64)).collect();
    let (trace, block) = as_trace(recorded, &ids, goal);
    is_well_formed(&trace)?;
    let block = block.ok_or("the goal's block does not begin in the schedule")?;
    is_violated(config, &trace, block)
}

/// Per event: its place in the schedule, if it has one.
type Places = [Option<usize>];

fn indices(recorded: &[Event], schedule: &[EventId]) -> Result<Vec<usize>, String> {
    let index = |id: &EventId| {
        let index = usize::try_from(id.0).ok().filter(|&index| index < recorded.len());
        index.ok_or_else(|| format!("event {} was not recorded", id.0))
    };
    schedule.iter().map(index).collect()
}

/// One more than the largest thread there is.
fn threads(events: &[Event]) -> usize {
    let most = |event: &Event| match event.op {
        Op::Fork(child) | Op::Join(child) => child.index().max(event.thread.index()) + 1,
        _ => event.thread.index() + 1,
    };
    events.iter().map(most).max().unwrap_or(0)
}

fn prefix_of_each_thread(recorded: &[Event], schedule: &[usize]) -> Result<(), String> {
    let mut of_thread: Vec<Vec<usize>> = vec![Vec::new(); threads(recorded)];
    for (event, Event { thread, op, .. }) in recorded.iter().enumerate() {
        if *op != Op::Skip {
            of_thread[thread.index()].push(event);
        }
    }
    let mut done = vec![0; of_thread.len()];
    for &event in schedule {
        let thread = recorded[event].thread.index();
        let expected = of_thread[thread].get(done[thread]);
        if expected != Some(&event) {
            return Err(format!("event {event} is not the next of its thread, which is {expected:?}"));
        }
        done[thread] += 1;
    }
    Ok(())
}

/// What comes after a fork or join of a thread in the recording does so in the schedule: the thread's own events, and
/// further forks and joins of it. A join comes after all that the thread did before it.
fn threads_start_and_end(recorded: &[Event], at: &Places) -> Result<(), String> {
    let mut last_of = vec![None; threads(recorded)];
    let mut turned = vec![None; threads(recorded)];
    for (event, &Event { thread, op, .. }) in recorded.iter().enumerate() {
        if op == Op::Skip {
            continue;
        }
        let child = match op {
            Op::Fork(child) | Op::Join(child) => Some(child.index()),
            _ => None,
        };
        if at[event].is_some() {
            let joined = if let Op::Join(child) = op { last_of[child.index()] } else { None };
            let before: [Option<usize>; 3] =
                [turned[thread.index()], child.and_then(|child| turned[child]), joined];
            for first in before.into_iter().flatten() {
                if at[first].is_none_or(|first| Some(first) > at[event]) {
                    return Err(format!("event {event} happens without event {first} before it"));
                }
            }
        }
        last_of[thread.index()] = Some(event);
        if let Some(child) = child {
            turned[child] = Some(event);
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
    let mut inside = vec![None; threads(recorded)];
    for event in schedule {
        let Event { thread, op, .. } = recorded[*event];
        if let Some(episode) = inside[thread.index()].take()
            && arrived.get(episode) != expected.get(episode)
        {
            return Err(format!("with event {event} its thread leaves a barrier before all have arrived"));
        }
        if let Op::Barrier(_) = op {
            let episode = &episode_of[event];
            *arrived.entry(episode).or_insert(0) += 1;
            inside[thread.index()] = Some(episode);
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
    let mut inside = vec![None; threads(recorded)];
    for event in order {
        let Event { thread, op, .. } = recorded[event];
        if op == Op::Skip {
            continue;
        }
        if let Some((barrier, episode)) = inside[thread.index()].take()
            && gathering.get(&barrier) == Some(&episode)
        {
            gathering.remove(&barrier);
        }
        if let Op::Barrier(barrier) = op {
            let episode = *gathering.entry(barrier).or_insert(event);
            of_arrival.insert(event, episode);
            inside[thread.index()] = Some((barrier, episode));
        }
    }
    of_arrival
}

/// What an access finds.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Found {
    /// The alloc or free that began the life of its variable.
    life: Option<usize>,
    value: Value,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    Initial,
    /// What an event wrote.
    Of(usize),
    /// What a diverging update wrote.
    Unknown,
}

const NEW: Found = Found { life: None, value: Value::Initial };

fn values_are_seen(recorded: &[Event], schedule: &[usize]) -> Result<(), String> {
    let variables = recorded.iter().filter_map(|event| variable(event.op)).max().map_or(0, |x| x.index() + 1);
    let mut state = vec![NEW; variables];
    let as_recorded: Vec<Found> =
        recorded.iter().enumerate().map(|(event, &Event { op, .. })| access(&mut state, event, op)).collect();
    let mut state = vec![NEW; variables];
    // A thread's last event stays here.
    let mut last = vec![0; threads(recorded)];
    schedule.iter().for_each(|&event| last[recorded[event].thread.index()] = event);
    for &event in schedule {
        let Event { thread, op, .. } = recorded[event];
        let (found, expected) = (access(&mut state, event, op), as_recorded[event]);
        if found.life != expected.life {
            return Err(format!("event {event} happens in another life of its variable"));
        }
        let (Op::Read(x) | Op::Update(x, _)) = op else { continue };
        if found.value == expected.value {
            continue;
        }
        if last[thread.index()] != event {
            return Err(format!("event {event} sees another write than recorded, and its thread goes on"));
        }
        if let Op::Update(..) = op {
            state[x.index()].value = Value::Unknown;
        }
    }
    Ok(())
}

fn variable(op: Op) -> Option<VarId> {
    match op {
        Op::Read(x) | Op::Write(x) | Op::Update(x, _) | Op::Alloc(x) | Op::Free(x) => Some(x),
        _ => None,
    }
}

/// What an event finds; does what it does.
fn access(state: &mut [Found], event: usize, op: Op) -> Found {
    let Some(x) = variable(op) else { return NEW };
    let found = state[x.index()];
    match op {
        Op::Read(_) => {}
        Op::Alloc(_) | Op::Free(_) => state[x.index()] = Found { life: Some(event), ..NEW },
        _ => state[x.index()].value = Value::Of(event),
    }
    found
}

fn goal_is_kept(goal: &Goal, at: &Places) -> Result<(), String> {
    let place = |event: EventId| {
        let place = usize::try_from(event.0).ok().and_then(|event| *at.get(event)?);
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
