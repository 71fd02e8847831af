//! An independent judge of schedules. It shares no rule with the search: what a schedule is, is told here once more,
//! in the plainest words, on top of the readers' well-formedness check and of RegionTrack.
//!
//! Cost: linear in the recording up to the schedule's latest event, in a few passes.

use atomvet_trace::wellformed::{Discipline, Wellformed};
use atomvet_trace::{BarrierId, Event, EventId, LockId, Mode, Names, Op, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::{Goal, Shows, Values, trace};
use crate::lower::Lowered;
use crate::observed::regiontrack::RegionTrack;
use crate::{Checker as _, Config, Findings};

/// Whether a schedule is one, and shows its goal. An error says what does not hold.
///
/// It must be a prefix of each thread's recorded events, in order, that locks, waits, forks, joins, barriers and the
/// lives of variables allow; all reads see what they saw, but for the last event of each thread and what the goal allows; the
/// goal's events are in it, in the goal's order; and it shows what the goal says. For a violation, RegionTrack finds the goal's
/// block violated in it. (A critical section outside every block counts as one: see [`Recorded::trace`](super::Recorded::trace).)
///
/// Returns the reads that see another write than recorded and after which their thread goes on.
pub fn verify(
    config: &Config,
    recorded: &[Event],
    schedule: &[EventId],
    goal: &Goal,
) -> Result<Vec<EventId>, String> {
    let schedule = indices(recorded, schedule)?;
    // Nothing depends on what was recorded later, but for what threads would do next, and where their blocks end.
    let whole = recorded;
    let recorded = &recorded[..schedule.iter().max().map_or(0, |last| last + 1)];
    prefix_of_each_thread(recorded, &schedule)?;
    let mut at = vec![None; recorded.len()];
    for (place, &event) in schedule.iter().enumerate() {
        at[event] = Some(place);
    }
    threads_start_and_end(recorded, &at)?;
    barriers_meet(recorded, &schedule)?;
    let life_of = lives(recorded);
    lives_are_kept(recorded, &life_of, &at)?;
    let may_differ = may_differ(config, recorded, &life_of, goal)?;
    let relaxed = values_are_seen(recorded, &life_of, &schedule, &may_differ, goal)?;
    order_is_kept(goal, &at)?;
    let ids: Vec<EventId> = schedule.iter().map(|&event| EventId(event as u64)).collect();
    let variables = recorded.iter().filter_map(|event| variable(event.op)).max().map_or(0, |x| x.0 + 1);
    let trace = trace::of_schedule(recorded, &ids, goal, VarId(variables));
    is_well_formed(&trace.events)?;
    match &goal.shows {
        Shows::Violation { .. } => {
            let block = trace.block.ok_or("the goal's block does not begin in the schedule")?;
            is_violated(config, &trace.events, block)?;
        }
        Shows::Race => ends_with_race(recorded, &life_of, &schedule, goal)?,
        Shows::Deadlock { waiting } => nobody_goes_on(whole, &schedule, waiting)?,
    }
    Ok(relaxed)
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

/// A variable in one of its lives: the event that began the life, if one did, and the variable.
type Life = (Option<usize>, VarId);

/// Per event: the life that it accesses, frees or (an alloc) begins.
fn lives(recorded: &[Event]) -> Vec<Option<Life>> {
    let mut began: FxHashMap<VarId, usize> = FxHashMap::default();
    let life = |(event, &Event { op, .. }): (usize, &Event)| {
        let x = variable(op)?;
        if let Op::Alloc(_) = op {
            began.insert(x, event);
        }
        let life = (began.get(&x).copied(), x);
        if let Op::Free(_) = op {
            began.insert(x, event);
        }
        Some(life)
    };
    recorded.iter().enumerate().map(life).collect()
}

/// What is done to a life is done after it began, and before it is freed.
fn lives_are_kept(recorded: &[Event], life_of: &[Option<Life>], at: &Places) -> Result<(), String> {
    let mut freed: FxHashMap<Life, usize> = FxHashMap::default();
    for (event, &life) in life_of.iter().enumerate() {
        if let (Op::Free(_), Some(life)) = (recorded[event].op, life) {
            freed.insert(life, event);
        }
    }
    for (event, &life) in life_of.iter().enumerate() {
        let (Some(place), Some(life)) = (at[event], life) else { continue };
        let has_begun = life.0.is_none_or(|begin| at[begin].is_some_and(|begin| begin <= place));
        let is_over = freed.get(&life).is_some_and(|&free| at[free].is_some_and(|free| free < place));
        if !has_begun || is_over {
            return Err(format!("event {event} happens in another life of its variable"));
        }
    }
    Ok(())
}

/// Per event: whether it may see another write than recorded, though its thread goes on.
fn may_differ(
    config: &Config,
    recorded: &[Event],
    life_of: &[Option<Life>],
    goal: &Goal,
) -> Result<Vec<bool>, String> {
    let all = |differ: bool| Ok(vec![differ; recorded.len()]);
    let index = |id: EventId| usize::try_from(id.0).unwrap_or(usize::MAX);
    match (goal.values, &goal.shows) {
        (Values::AsRecorded, _) => all(false),
        (Values::Any, _) => all(true),
        (Values::Relaxed, Shows::Deadlock { waiting }) => {
            let between = |event: usize, &(has, wants): &(EventId, EventId)| {
                let thread = recorded.get(index(has)).map(|has| has.thread);
                index(has) < event && event < index(wants) && Some(recorded[event].thread) == thread
            };
            Ok((0..recorded.len()).map(|event| waiting.iter().any(|w| between(event, w))).collect())
        }
        (Values::Relaxed, Shows::Violation { .. } | Shows::Race) => {
            let units = units(config, recorded);
            let own: Vec<usize> = goal.order.iter().flat_map(|&(a, b)| [index(a), index(b)]).collect();
            if own.iter().any(|&event| event >= recorded.len()) {
                return Err("an event of the goal does not happen".to_owned());
            }
            let may = |event: usize| {
                own.iter().any(|&own| life_of[own].is_some() && life_of[own] == life_of[event])
                    && own.iter().any(|&own| {
                        recorded[own].thread == recorded[event].thread && units[own] == units[event]
                    })
            };
            Ok((0..recorded.len()).map(may).collect())
        }
    }
}

/// Per event: a number for the outermost block or critical section that it is in, different from those of all other
/// blocks and sections of its thread. Where waits split blocks, each piece has its own.
fn units(config: &Config, recorded: &[Event]) -> Vec<usize> {
    #[derive(Clone, Copy, Default)]
    struct Thread {
        number: usize,
        blocks: usize,
        locks: usize,
        waits_for_lock: bool,
        /// For a lock, or at a barrier.
        waits: bool,
    }
    let mut threads = vec![Thread::default(); threads(recorded)];
    let mut numbers = Vec::with_capacity(recorded.len());
    for event in recorded {
        let me = &mut threads[event.thread.index()];
        if event.op == Op::Skip {
            numbers.push(me.number);
            continue;
        }
        let outside = me.blocks == 0 && me.locks == 0;
        me.locks += usize::from(std::mem::take(&mut me.waits_for_lock));
        let split = std::mem::take(&mut me.waits) || matches!(event.op, Op::Join(_));
        if outside || split && config.split_at_waits {
            me.number += 1;
        }
        numbers.push(me.number);
        match event.op {
            Op::Begin(_) => me.blocks += 1,
            Op::End => me.blocks = me.blocks.saturating_sub(1),
            Op::Acquire(..) => me.locks += 1,
            Op::Release(..) => me.locks = me.locks.saturating_sub(1),
            Op::Wait(_) => {
                me.locks = me.locks.saturating_sub(1);
                (me.waits_for_lock, me.waits) = (true, true);
            }
            Op::Barrier(_) => me.waits = true,
            _ => {}
        }
    }
    numbers
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    /// What an event wrote.
    Of(usize),
    /// What a diverging update wrote.
    Unknown,
}

/// Who wrote what is there; nobody, if it is the initial value.
type Memory = FxHashMap<Life, Value>;

fn values_are_seen(
    recorded: &[Event],
    life_of: &[Option<Life>],
    schedule: &[usize],
    may_differ: &[bool],
    goal: &Goal,
) -> Result<Vec<EventId>, String> {
    let mut memory = Memory::default();
    let as_recorded: Vec<Option<Value>> = (0..recorded.len())
        .map(|event| access(&mut memory, event, recorded[event].op, life_of[event]))
        .collect();
    let mut memory = Memory::default();
    // A thread's last event stays here, unless it has to go on to a lock that it wants.
    let mut last = vec![Some(0); threads(recorded)];
    schedule.iter().for_each(|&event| last[recorded[event].thread.index()] = Some(event));
    if let Shows::Deadlock { waiting } = &goal.shows {
        for (has, _) in waiting {
            let has = usize::try_from(has.0).ok().and_then(|has| recorded.get(has));
            has.into_iter().for_each(|has| last[has.thread.index()] = None);
        }
    }
    let mut relaxed = Vec::new();
    for &event in schedule {
        let Event { thread, op, .. } = recorded[event];
        let found = access(&mut memory, event, op, life_of[event]);
        let (Op::Read(..) | Op::Update(..)) = op else { continue };
        if found == as_recorded[event] {
            continue;
        }
        if may_differ[event] {
            if last[thread.index()] != Some(event) {
                relaxed.push(EventId(event as u64));
            }
            continue;
        }
        if last[thread.index()] != Some(event) {
            return Err(format!("event {event} sees another write than recorded, and its thread goes on"));
        }
        if let (Op::Update(..), Some(life)) = (op, life_of[event]) {
            memory.insert(life, Value::Unknown);
        }
    }
    Ok(relaxed)
}

fn variable(op: Op) -> Option<VarId> {
    match op {
        Op::Read(x, _) | Op::Write(x, _) | Op::Update(x, _) | Op::Alloc(x) | Op::Free(x) => Some(x),
        _ => None,
    }
}

/// What an event finds; does what it does.
fn access(memory: &mut Memory, event: usize, op: Op, life: Option<Life>) -> Option<Value> {
    let life = life?;
    let found = memory.get(&life).copied();
    if let Op::Write(..) | Op::Update(..) = op {
        memory.insert(life, Value::Of(event));
    }
    found
}

fn order_is_kept(goal: &Goal, at: &Places) -> Result<(), String> {
    let place = |event: EventId| {
        let place = usize::try_from(event.0).ok().and_then(|event| *at.get(event)?);
        place.ok_or_else(|| format!("event {} of the goal does not happen", event.0))
    };
    if let Shows::Violation { block } = goal.shows {
        place(block)?;
    }
    for &(first, second) in &goal.order {
        if place(first)? >= place(second)? {
            return Err(format!("event {} does not happen before event {}", first.0, second.0));
        }
    }
    Ok(())
}

/// The schedule ends with the goal's two events, which are of two threads, conflict, and are not both atomic.
fn ends_with_race(
    recorded: &[Event],
    life_of: &[Option<Life>],
    schedule: &[usize],
    goal: &Goal,
) -> Result<(), String> {
    let (&[.., first, second], &[(wanted, other)]) = (schedule, &goal.order[..]) else {
        return Err("a race is two events".to_owned());
    };
    let writes = |event: usize| matches!(recorded[event].op, Op::Write(..) | Op::Update(..));
    let accesses = |event: usize| writes(event) || matches!(recorded[event].op, Op::Read(..));
    let is_race = [first as u64, second as u64] == [wanted.0, other.0]
        && recorded[first].thread != recorded[second].thread
        && accesses(first)
        && accesses(second)
        && (writes(first) || writes(second))
        && !(recorded[first].op.is_atomic() && recorded[second].op.is_atomic())
        && life_of[first] == life_of[second];
    is_race.then_some(()).ok_or_else(|| "the schedule does not end with the race".to_owned())
}

/// The next event of each of these threads takes a lock that another one of them holds.
fn nobody_goes_on(
    recorded: &[Event],
    schedule: &[usize],
    waiting: &[(EventId, EventId)],
) -> Result<(), String> {
    let mut held: Vec<(ThreadId, LockId, Mode)> = Vec::new();
    let mut waits: FxHashMap<ThreadId, LockId> = FxHashMap::default();
    let mut last: FxHashMap<ThreadId, usize> = FxHashMap::default();
    for &event in schedule {
        let Event { thread, op, .. } = recorded[event];
        held.extend(waits.remove(&thread).map(|lock| (thread, lock, Mode::Exclusive)));
        let mut give_back = |lock: LockId, mode: Mode| {
            if let Some(at) = held.iter().position(|&section| section == (thread, lock, mode)) {
                held.remove(at);
            }
        };
        match op {
            Op::Acquire(lock, mode) => held.push((thread, lock, mode)),
            Op::Release(lock, mode) => give_back(lock, mode),
            Op::Wait(lock) => {
                give_back(lock, Mode::Exclusive);
                waits.insert(thread, lock);
            }
            _ => {}
        }
        last.insert(thread, event);
    }
    let event = |id: EventId| usize::try_from(id.0).ok().filter(|&event| event < recorded.len());
    let wants: Vec<usize> = waiting.iter().filter_map(|&(_, wants)| event(wants)).collect();
    let threads: Vec<ThreadId> = wants.iter().map(|&wants| recorded[wants].thread).collect();
    if wants.len() < waiting.len() || wants.len() < 2 {
        return Err("a deadlock is of two threads or more".to_owned());
    }
    for &wants in &wants {
        let Event { thread, op, .. } = recorded[wants];
        let after = last.get(&thread).map_or(0, |last| last + 1);
        let is_next = |event: &Event| event.thread == thread && event.op != Op::Skip;
        if after + recorded[after..].iter().position(is_next).unwrap_or(usize::MAX - after) != wants {
            return Err(format!("event {wants} is not the next of its thread at the end"));
        }
        let lock = match (waits.get(&thread), op) {
            (Some(&lock), _) => (lock, Mode::Exclusive),
            (None, Op::Acquire(lock, mode)) => (lock, mode),
            _ => return Err(format!("event {wants} takes no lock")),
        };
        let excludes = |&(holder, other, mode): &(ThreadId, LockId, Mode)| {
            holder != thread
                && threads.contains(&holder)
                && other == lock.0
                && (mode == Mode::Exclusive || lock.1 == Mode::Exclusive)
        };
        if !held.iter().any(excludes) {
            return Err(format!("event {wants} need not wait for any of the others"));
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
