//! Random small traces: the search finds a schedule if and only if an enumeration of all merges does. The rules
//! are told here once more, for a schedule as a list, with no state.

use atomvet_trace::{Event, EventId, LockId, Mode, Op, ThreadId};

use super::super::pattern::Pattern;
use super::super::search::Verdict;
use super::super::{Goal, Outcome, Recorded, Shows, Values, verify};
use crate::oracle::random::{Random, trace};
use crate::{Config, Findings, notation, registry};

/// The event that wrote the value that an access finds. Nobody else sees what a diverging update writes.
type View = Option<Result<usize, Diverged>>;

/// A variable, and the event that began its life.
type Life = (u32, Option<usize>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Diverged;

/// Who holds which locks, and who waits for one.
#[derive(Default)]
struct Locks {
    held: Vec<(ThreadId, LockId, Mode)>,
    waiting: Vec<(ThreadId, LockId)>,
}

struct Enumeration<'a> {
    config: Config,
    events: &'a [Event],
    goal: &'a Goal,
    recorded_views: Vec<View>,
    episodes: Vec<(Op, Vec<usize>)>,
    order: Vec<(usize, usize)>,
    wanted: Vec<usize>,
}

impl<'a> Enumeration<'a> {
    fn new(config: &Config, events: &'a [Event], goal: &'a Goal) -> Self {
        let all: Vec<usize> = (0..events.len()).filter(|&event| events[event].op != Op::Skip).collect();
        let order: Vec<_> = goal.order.iter().map(|&(a, b)| (index(a), index(b))).collect();
        let block = if let Shows::Violation { block } = goal.shows { Some(index(block)) } else { None };
        let mut enumeration = Enumeration {
            config: *config,
            events,
            goal,
            recorded_views: vec![View::default(); events.len()],
            episodes: Vec::new(),
            wanted: order.iter().flat_map(|&(a, b)| [a, b]).chain(block).collect(),
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

    fn life(&self, event: usize) -> Option<Life> {
        let x = variable(self.events[event].op)?;
        let begins = |&e: &usize| match self.events[e].op {
            Op::Alloc(y) => y.0 == x,
            Op::Free(y) => y.0 == x && e < event,
            _ => false,
        };
        Some((x, (0..=event).rev().find(begins)))
    }

    fn view(&self, before: &[usize], event: usize) -> View {
        let life = self.life(event)?;
        let mut view = None;
        for (at, &e) in before.iter().enumerate().filter(|&(_, &e)| self.life(e) == Some(life)) {
            match self.events[e].op {
                Op::Write(..) => view = Some(Ok(e)),
                Op::Update(..) => {
                    view = Some(if self.diverges(&before[..at], e) { Err(Diverged) } else { Ok(e) })
                }
                _ => {}
            }
        }
        view
    }

    /// While views are recorded nothing has diverged: they are taken in order.
    fn diverges(&self, before: &[usize], event: usize) -> bool {
        matches!(self.events[event].op, Op::Read(..) | Op::Update(..))
            && !self.may_see_anything(event)
            && self.view(before, event) != self.recorded_views[event]
    }

    fn may_see_anything(&self, event: usize) -> bool {
        match (self.goal.values, &self.goal.shows) {
            (Values::AsRecorded, _) => false,
            (Values::Any, _) => true,
            (Values::Relaxed, Shows::Deadlock { waiting }) => waiting.iter().any(|&(has, wants)| {
                self.thread(index(has)) == self.thread(event) && index(has) < event && event < index(wants)
            }),
            (Values::Relaxed, _) => {
                let own = || self.order.iter().flat_map(|&(a, b)| [a, b]);
                own().any(|e| self.life(e).is_some() && self.life(e) == self.life(event))
                    && own().any(|e| self.in_one_unit(e, event))
            }
        }
    }

    /// One of them is the other; or they are in one block or critical section, and where waits split blocks, in one piece.
    fn in_one_unit(&self, one: usize, other: usize) -> bool {
        let (first, last) = (one.min(other), one.max(other));
        let thread = self.thread(one);
        if thread != self.thread(other) {
            return false;
        }
        let of_thread = |e: &usize| self.thread(*e) == thread && self.events[*e].op != Op::Skip;
        let (mut blocks, mut locks) = (0, 0);
        for e in (0..=last).filter(of_thread) {
            let op = self.events[e].op;
            if e > first && self.config.split_at_waits && matches!(op, Op::Join(_)) {
                return false;
            }
            // Between two events, from the first to the last: still inside?
            if e > first && blocks == 0 && locks == 0 {
                return false;
            }
            let previous = (0..e).rfind(of_thread).map(|e| self.events[e].op);
            locks += i32::from(matches!(previous, Some(Op::Wait(_))));
            match op {
                Op::Begin(_) => blocks += 1,
                Op::End => blocks -= 1,
                Op::Acquire(..) => locks += 1,
                Op::Release(..) | Op::Wait(_) => locks -= 1,
                _ => {}
            }
            let waits = matches!(op, Op::Wait(_) | Op::Barrier(_));
            if first <= e && e < last && self.config.split_at_waits && waits {
                return false;
            }
        }
        true
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
        if last.is_some_and(|last| self.diverges(&schedule[..last], schedule[last])) {
            return false;
        }
        if let Some((x, begin)) = self.life(event) {
            let is_freed =
                |&e: &usize| matches!(self.events[e].op, Op::Free(_)) && self.life(e) == Some((x, begin));
            if begin.is_some_and(|begin| begin != event && !happened(begin)) || schedule.iter().any(is_freed)
            {
                return false;
            }
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

    fn is_shown(&self, schedule: &[usize]) -> bool {
        let all_happened = || self.wanted.iter().all(|event| schedule.contains(event));
        match &self.goal.shows {
            Shows::Violation { .. } => all_happened(),
            Shows::Race => all_happened() && schedule.ends_with(&[self.order[0].0, self.order[0].1]),
            Shows::Deadlock { waiting } => waiting.iter().all(|&(_, wants)| {
                let before = |e: usize| {
                    e < index(wants)
                        && self.thread(e) == self.thread(index(wants))
                        && self.events[e].op != Op::Skip
                };
                let thread = self.thread(index(wants));
                let last = schedule.iter().rposition(|&e| self.thread(e) == thread);
                !schedule.contains(&index(wants))
                    && !last.is_some_and(|last| self.diverges(&schedule[..last], schedule[last]))
                    && (0..self.events.len()).all(|e| !before(e) || schedule.contains(&e))
            }),
        }
    }

    fn exists(&self, schedule: &mut Vec<usize>) -> bool {
        if self.is_shown(schedule) {
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

fn index(event: EventId) -> usize {
    event.0 as usize
}

fn variable(op: Op) -> Option<u32> {
    match op {
        Op::Read(x, _) | Op::Write(x, _) | Op::Update(x, _) | Op::Alloc(x) | Op::Free(x) => Some(x.0),
        _ => None,
    }
}

/// A block and e1 · f · e2 around it that violate it wherever they happen in this order.
fn violation(random: &mut Random, config: &Config, recorded: &Enumeration<'_>) -> Option<Goal> {
    let events = recorded.events;
    let conflict = |a: usize, b: usize| {
        let commute = config.commuting_updates
            && events[a].op == events[b].op
            && matches!(events[a].op, Op::Update(_, kind) if kind.commutes());
        let writes = |e: usize| matches!(events[e].op, Op::Write(..) | Op::Update(..));
        let accesses = |e: usize| writes(e) || matches!(events[e].op, Op::Read(..));
        accesses(a)
            && accesses(b)
            && (writes(a) || writes(b))
            && recorded.life(a) == recorded.life(b)
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
    let values = random.pick(&[Values::AsRecorded, Values::Relaxed, Values::Any]);
    Some(Goal { shows: Shows::Violation { block }, order: vec![(e1, f), (f, e2)], values })
}

const SEEDS: u64 = 40_000;

/// Any events in any order.
fn anything(random: &mut Random, events: &[Event]) -> Goal {
    let mut event = || EventId(random.below(events.len()) as u64);
    let shows = Shows::Violation { block: event() };
    let order = vec![(event(), event()), (event(), event())];
    Goal { shows, order, values: random.pick(&[Values::AsRecorded, Values::Relaxed]) }
}

/// Two conflicting accesses.
fn race(random: &mut Random, recorded: &Enumeration<'_>) -> Option<Goal> {
    let events = recorded.events;
    let writes = |e: usize| matches!(events[e].op, Op::Write(..) | Op::Update(..));
    let accesses = |e: &usize| writes(*e) || matches!(events[*e].op, Op::Read(..));
    let all = || (0..events.len()).filter(accesses);
    let pairs: Vec<(usize, usize)> = all().flat_map(|a| all().map(move |b| (a, b))).collect();
    let conflict = |&(a, b): &(usize, usize)| {
        events[a].thread != events[b].thread
            && (writes(a) || writes(b))
            && !(events[a].op.is_atomic() && events[b].op.is_atomic())
            && recorded.life(a) == recorded.life(b)
    };
    let pairs: Vec<(usize, usize)> = pairs.into_iter().filter(conflict).collect();
    let (a, b) = if pairs.is_empty() { return None } else { random.pick(&pairs) };
    let order = vec![(EventId(a as u64), EventId(b as u64))];
    Some(Goal { shows: Shows::Race, order, values: Values::AsRecorded })
}

/// Two threads, one after the other, that take two locks in different orders and access what they share, up to three times.
fn nested_locks(random: &mut Random) -> Vec<Event> {
    let mut text = String::new();
    let mut accesses = 0;
    for (thread, [outer, inner]) in [["a", "b"], ["b", "a"]].into_iter().enumerate() {
        for step in ["", &format!("acq({outer})"), &format!("acq({inner})"), "rel", ""] {
            match step {
                "" => {}
                "rel" => text += &format!("{thread}:rel({inner}) {thread}:rel({outer}) "),
                _ => text += &format!("{thread}:{step} "),
            }
            let access = random.pick(&["", "r(x)", "w(x)", "rmw(x)"]);
            if !access.is_empty() && accesses < 3 {
                accesses += 1;
                text += &format!("{thread}:{access} ");
            }
        }
    }
    notation::parse(&text).0
}

/// A deadlock that is possible by locks alone.
fn deadlock(random: &mut Random, config: &Config, events: &[Event]) -> Option<Goal> {
    let predicted =
        registry::find("deadlock")?.run(config, events, Findings::all_instances(config)).predicted;
    let values = random.pick(&[Values::AsRecorded, Values::Relaxed, Values::Any]);
    predicted.deadlocks.first().and_then(Goal::deadlock).map(|goal| goal.with(values))
}

/// What a goal's order means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Means {
    Violation,
    Nothing,
    Race,
    Deadlock,
}

/// What the judge says, of the whole recording. It must accept whatever it accepts of the shorter one, for this schedule and others.
fn verified(
    config: &Config,
    recorded: &Recorded<'_>,
    schedule: &[EventId],
    goal: &Goal,
) -> Result<Result<Vec<EventId>, String>, String> {
    let whole = verify(config, recorded.events, schedule, goal);
    let mut others = vec![schedule.to_vec()];
    for at in 0..schedule.len() {
        let mut other = schedule.to_vec();
        other.remove(at);
        others.push(other);
        for to in 0..at {
            let mut other = schedule.to_vec();
            other.swap(to, at);
            others.push(other);
            let mut other = schedule.to_vec();
            other.insert(at, schedule[to]);
            others.push(other);
        }
    }
    for other in others {
        if let Some(shorter) = recorded.verify_tail(config, &other, goal) {
            let whole = verify(config, recorded.events, &other, goal);
            if whole.as_ref() != Ok(&shorter) {
                return Err(format!("{whole:?} of the whole, {shorter:?} of what is left: {other:?}"));
            }
        }
    }
    Ok(whole)
}

/// Checks the search of one goal. Returns whether there is a schedule.
fn check(config: &Config, events: &[Event], goal: &Goal, means: Means) -> Result<bool, String> {
    let recorded = Recorded::new(config, events);
    let judge = |schedule: &[EventId]| match verified(config, &recorded, schedule, goal)? {
        Err(problem) if means != Means::Nothing || !problem.contains("the goal's block is not violated") => {
            Err(format!("{problem}: {schedule:?}"))
        }
        _ => Ok(()),
    };
    let expected = Enumeration::new(config, events, goal).exists(&mut Vec::new());
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
    let mut counts = [[0; 2]; 4];
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let length = 5 + random.below(6);
        let events = trace(&mut random, length);
        let config =
            Config { commuting_updates: seed % 2 == 0, split_at_waits: seed % 8 >= 6, ..Config::default() };
        let nothing =
            Goal { shows: Shows::Violation { block: EventId(0) }, order: vec![], values: Values::AsRecorded };
        let recorded = Enumeration::new(&config, &events, &nothing);
        let pattern = violation(&mut random, &config, &recorded);
        // Where waits split blocks, a block that is left and entered again need not be violated.
        let pattern = pattern.filter(|_| !config.split_at_waits);
        let any = Some(anything(&mut random, &events));
        let any = any.filter(|_| !events.iter().any(|event| event.op == Op::Skip));
        let race = race(&mut random, &recorded);
        let nested = nested_locks(&mut random);
        let deadlock = deadlock(&mut random, &config, &nested).filter(|_| seed % 16 < 2);
        let goals = [
            (pattern, Means::Violation, &events),
            (any, Means::Nothing, &events),
            (race, Means::Race, &events),
            (deadlock, Means::Deadlock, &nested),
        ];
        for (goal, means, events) in goals {
            let Some(goal) = goal else { continue };
            match check(&config, events, &goal, means) {
                Ok(possible) => counts[means as usize][usize::from(possible)] += 1,
                Err(problem) => {
                    let shown = notation::show(events, &atomvet_trace::Names::default());
                    panic!("seed {seed}: {problem}; {goal:?} of {shown}");
                }
            }
        }
    }
    assert!(counts.as_flattened().iter().all(|&count| count > 100), "{counts:?}");
}
