//! Random small traces: the search finds a schedule if and only if an enumeration of all merges does. The rules
//! are told here once more, for a schedule as a list, with no state.

use atomvet_trace::{Event, EventId, LockId, Mode, Op, ThreadId};

use super::super::pattern::Pattern;
use super::super::search::Verdict;
use super::super::{Goal, Outcome, Recorded, verify};
use crate::oracle::random::{Random, trace};
use crate::{Config, notation};

/// What an access finds: the event that began the life of its variable, and the event that wrote the value. Nobody
/// else sees what a diverging update writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct View {
    life: Option<usize>,
    value: Option<Result<usize, Diverged>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Diverged;

/// Who holds which locks, and who waits for one.
#[derive(Default)]
struct Locks {
    held: Vec<(ThreadId, LockId, Mode)>,
    waiting: Vec<(ThreadId, LockId)>,
}

struct Enumeration<'a> {
    events: &'a [Event],
    recorded_views: Vec<View>,
    episodes: Vec<(Op, Vec<usize>)>,
    order: Vec<(usize, usize)>,
    wanted: Vec<usize>,
}

impl<'a> Enumeration<'a> {
    fn new(events: &'a [Event], goal: &Goal) -> Self {
        let index = |event: EventId| event.0 as usize;
        let all: Vec<usize> = (0..events.len()).filter(|&event| events[event].op != Op::Skip).collect();
        let order: Vec<_> = goal.order.iter().map(|&(a, b)| (index(a), index(b))).collect();
        let mut enumeration = Enumeration {
            events,
            recorded_views: vec![View::default(); events.len()],
            episodes: Vec::new(),
            wanted: order.iter().flat_map(|&(a, b)| [a, b]).chain([index(goal.block)]).collect(),
            order,
        };
        for (at, &event) in all.iter().enumerate() {
            enumeration.recorded_views[event] = enumeration.view(&all[..at], event);
            if let Op::Barrier(_) = events[event].op {
                let closed = |members: &[usize]| members.iter().any(|&m| enumeration.next(m) <= event);
                let op = events[event].op;
                let open = enumeration.episodes.iter().rposition(|(b, members)| *b == op && !closed(members));
                match open {
                    Some(open) => enumeration.episodes[open].1.push(event),
                    None => enumeration.episodes.push((op, vec![event])),
                }
            }
        }
        enumeration
    }

    fn thread(&self, event: usize) -> ThreadId {
        self.events[event].thread
    }

    /// The next event of the same thread.
    fn next(&self, event: usize) -> usize {
        let is_next = |&e: &usize| self.thread(e) == self.thread(event) && self.events[e].op != Op::Skip;
        (event + 1..self.events.len()).find(is_next).unwrap_or(usize::MAX)
    }

    fn view(&self, before: &[usize], event: usize) -> View {
        let Some(x) = variable(self.events[event].op) else { return View::default() };
        let mut view = View::default();
        for (at, &e) in before.iter().enumerate().filter(|&(_, &e)| variable(self.events[e].op) == Some(x)) {
            match self.events[e].op {
                Op::Alloc(_) | Op::Free(_) => view = View { life: Some(e), value: None },
                Op::Write(_) => view.value = Some(Ok(e)),
                // While views are recorded nothing has diverged: they are taken in order.
                Op::Update(..) => {
                    let diverged = self.view(&before[..at], e) != self.recorded_views[e];
                    view.value = Some(if diverged { Err(Diverged) } else { Ok(e) });
                }
                _ => {}
            }
        }
        view
    }

    fn locks(&self, schedule: &[usize]) -> Locks {
        let Locks { mut held, mut waiting } = Locks::default();
        for &event in schedule {
            let me = self.thread(event);
            if let Some(at) = waiting.iter().position(|&(thread, _)| thread == me) {
                let (_, lock) = waiting.remove(at);
                held.push((me, lock, Mode::Exclusive));
            }
            match self.events[event].op {
                Op::Acquire(lock, mode) => held.push((me, lock, mode)),
                Op::Release(lock, mode) => held.retain(|&section| section != (me, lock, mode)),
                Op::Wait(lock) => {
                    held.retain(|&section| section != (me, lock, Mode::Exclusive));
                    waiting.push((me, lock));
                }
                _ => {}
            }
        }
        Locks { held, waiting }
    }

    fn is_possible(&self, schedule: &[usize], event: usize) -> bool {
        let Event { thread, op, .. } = self.events[event];
        let happened = |e: usize| schedule.contains(&e);
        let before = || (0..event).filter(|&e| self.events[e].op != Op::Skip);
        // The thread did not diverge.
        let last = schedule.iter().rposition(|&e| self.thread(e) == thread);
        if let Some(last) = last
            && matches!(self.events[schedule[last]].op, Op::Read(_) | Op::Update(..))
            && self.view(&schedule[..last], schedule[last]) != self.recorded_views[schedule[last]]
        {
            return false;
        }
        if self.view(schedule, event).life != self.recorded_views[event].life {
            return false;
        }
        let turns = |of: ThreadId| {
            before().filter(move |&e| self.events[e].op == Op::Fork(of) || self.events[e].op == Op::Join(of))
        };
        if turns(thread).any(|e| !happened(e)) {
            return false;
        }
        if let Op::Fork(child) | Op::Join(child) = op
            && turns(child).any(|e| !happened(e))
        {
            return false;
        }
        if let Op::Join(child) = op
            && before().any(|e| self.thread(e) == child && !happened(e))
        {
            return false;
        }
        let Locks { held, waiting } = self.locks(schedule);
        let others_hold = |lock: LockId, mode: Mode| {
            held.iter().any(|&(t, l, m)| {
                t != thread && l == lock && (m == Mode::Exclusive || mode == Mode::Exclusive)
            })
        };
        if waiting.iter().any(|&(t, lock)| t == thread && others_hold(lock, Mode::Exclusive)) {
            return false;
        }
        if let Op::Acquire(lock, mode) = op
            && others_hold(lock, mode)
        {
            return false;
        }
        for (at, (barrier, members)) in self.episodes.iter().enumerate() {
            let leaves = members.iter().any(|&member| self.next(member) == event);
            if leaves && members.iter().any(|&member| !happened(member)) {
                return false;
            }
            if members.contains(&event) {
                let previous = self.episodes[..at].iter().rfind(|(b, _)| b == barrier);
                let left = |members: &[usize]| {
                    members.iter().any(|&m| happened(self.next(m)) || self.next(m) == event)
                };
                if previous.is_some_and(|(_, members)| !left(members)) {
                    return false;
                }
            }
        }
        self.order.iter().all(|&(a, b)| b != event || happened(a) && a != b)
    }

    fn exists(&self, schedule: &mut Vec<usize>) -> bool {
        if self.wanted.iter().all(|event| schedule.contains(event)) {
            return true;
        }
        for event in 0..self.events.len() {
            let of_thread =
                |e: &usize| self.thread(*e) == self.thread(event) && self.events[*e].op != Op::Skip;
            let is_next =
                (0..self.events.len()).filter(of_thread).find(|e| !schedule.contains(e)) == Some(event);
            if !is_next || !self.is_possible(schedule, event) {
                continue;
            }
            schedule.push(event);
            if self.exists(schedule) {
                return true;
            }
            schedule.pop();
        }
        false
    }
}

fn variable(op: Op) -> Option<u32> {
    match op {
        Op::Read(x) | Op::Write(x) | Op::Update(x, _) | Op::Alloc(x) | Op::Free(x) => Some(x.0),
        _ => None,
    }
}

/// A block and e1 · f · e2 around it that violate it wherever they happen in this order.
fn violation(random: &mut Random, config: &Config, events: &[Event], views: &[View]) -> Option<Goal> {
    let conflict = |a: usize, b: usize| {
        let commute = config.commuting_updates
            && events[a].op == events[b].op
            && matches!(events[a].op, Op::Update(_, kind) if kind.commutes());
        let writes = |e: usize| matches!(events[e].op, Op::Write(_) | Op::Update(..));
        let accesses = |e: usize| writes(e) || matches!(events[e].op, Op::Read(_));
        accesses(a)
            && accesses(b)
            && (writes(a) || writes(b))
            && variable(events[a].op) == variable(events[b].op)
            && views[a].life == views[b].life
            && !commute
    };
    let n = events.len();
    let mut goals = Vec::new();
    for block in (0..n).filter(|&e| matches!(events[e].op, Op::Begin(_))) {
        let thread = events[block].thread;
        let mut depth = 0;
        let mut members = Vec::new();
        for e in (block..n).filter(|&e| events[e].thread == thread) {
            members.push(e);
            match events[e].op {
                Op::Begin(_) => depth += 1,
                Op::End => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        for (&e1, &e2) in
            members.iter().flat_map(|a| members.iter().map(move |b| (a, b))).filter(|(a, b)| a < b)
        {
            for f in (0..n).filter(|&f| events[f].thread != thread && conflict(e1, f) && conflict(f, e2)) {
                goals.push([block, e1, f, e2].map(|e| EventId(e as u64)));
            }
        }
    }
    if goals.is_empty() {
        return None;
    }
    let [block, e1, f, e2] = random.pick(&goals);
    Some(Goal { block, order: vec![(e1, f), (f, e2)] })
}

const SEEDS: u64 = 40_000;

/// Any events in any order.
fn anything(random: &mut Random, events: &[Event]) -> Goal {
    let mut event = || EventId(random.below(events.len()) as u64);
    Goal { block: event(), order: vec![(event(), event()), (event(), event())] }
}

/// What a goal's order means for its block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shows {
    Violation,
    Nothing,
}

/// Checks the search of one goal. Returns whether there is a schedule.
fn check(config: &Config, events: &[Event], goal: &Goal, shows: Shows) -> Result<bool, String> {
    let recorded = Recorded::new(config, events);
    let judge = |schedule: &[EventId]| match verify(config, events, schedule, goal) {
        Err(problem)
            if shows == Shows::Violation || !problem.contains("the goal's block is not violated") =>
        {
            Err(format!("{problem}: {schedule:?}"))
        }
        _ => Ok(()),
    };
    let expected = Enumeration::new(events, goal).exists(&mut Vec::new());
    let outcome = recorded.search(goal, u64::MAX).0;
    if matches!(outcome, Outcome::Found(_)) != expected || outcome == Outcome::OutOfBudget {
        return Err(format!("{outcome:?}, but a schedule exists: {expected}"));
    }
    if let Outcome::Found(schedule) = outcome {
        judge(&schedule)?;
    }
    // Wherever the cut is, what is found is right; from the start, what is not found is too.
    let Some(pattern) = Pattern::new(&recorded, goal) else { return Ok(expected) };
    for cut in 0..=pattern.events[0] {
        match recorded.search_from(cut, &pattern, &mut u64::MAX.clone()) {
            Verdict::Exhausted if cut > 0 || !expected => {}
            Verdict::Found(found) if expected => {
                let schedule: Vec<_> = recorded.replayed(cut).chain(found).map(super::super::id).collect();
                judge(&schedule).map_err(|problem| format!("cut at {cut}: {problem}"))?;
            }
            verdict => return Err(format!("cut at {cut}: {verdict:?}, but a schedule exists: {expected}")),
        }
    }
    Ok(expected)
}

#[test]
fn found_if_and_only_if_there_is_one() {
    // How many goals of each kind are impossible, and possible.
    let mut counts = [[0; 2]; 2];
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let length = 5 + random.below(6);
        let events = trace(&mut random, length);
        let config = Config { commuting_updates: seed % 2 == 0, ..Config::default() };
        let nothing = Goal { block: EventId(0), order: vec![] };
        let views = Enumeration::new(&events, &nothing).recorded_views;
        let pattern = violation(&mut random, &config, &events, &views);
        let any = Some(anything(&mut random, &events));
        let any = any.filter(|_| !events.iter().any(|event| event.op == Op::Skip));
        for (goal, shows) in [(pattern, Shows::Violation), (any, Shows::Nothing)] {
            let Some(goal) = goal else { continue };
            match check(&config, &events, &goal, shows) {
                Ok(possible) => counts[shows as usize][usize::from(possible)] += 1,
                Err(problem) => {
                    let shown = notation::show(&events, &atomvet_trace::Names::default());
                    panic!("seed {seed}: {problem}; {goal:?} of {shown}");
                }
            }
        }
    }
    assert!(counts.as_flattened().iter().all(|&count| count > 500), "{counts:?}");
}
