//! A schedule as a trace of its own, which observed checkers can judge and `--schedules` writes.
//!
//! A life of a variable that the schedule interleaves with another one gets a name of its own: the first life that occurs
//! keeps the variable's id, each further one gets a new id. A blamed critical section outside every block gets a begin and an end.

use atomvet_trace::{Event, EventId, Op, RegionId, VarId};
use rustc_hash::FxHashMap;

use super::{Goal, Shows};

/// The events of a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// The events, in the schedule's order.
    pub events: Vec<Event>,
    /// Per event: the recorded one that it is. A begin or end that was added is the event next to it.
    pub recorded: Vec<EventId>,
    /// The variables beyond those of the recording, by growing ids: each is one of those in the life of this number (the first
    /// is 1).
    pub lives: Vec<(VarId, u32)>,
    /// Where the goal's block begins, if it has one and it does.
    pub block: Option<EventId>,
}

/// Events that were not recorded are left out. New variables have ids from `first_new` on.
pub(super) fn of_schedule(recorded: &[Event], schedule: &[EventId], goal: &Goal, first_new: VarId) -> Trace {
    let find = |id: EventId| usize::try_from(id.0).ok().and_then(|id| recorded.get(id)).copied();
    let block = match goal.shows {
        Shows::Violation { block } => Some(block),
        Shows::Race | Shows::Deadlock { .. } => None,
    };
    let section = match block.and_then(find) {
        Some(Event { thread, op: Op::Acquire(lock, mode), .. }) => Some((thread, lock, mode)),
        _ => None,
    };
    let mut lives = Lives::new(recorded, schedule, first_new);
    let mut trace = Trace { events: Vec::new(), recorded: Vec::new(), lives: Vec::new(), block: None };
    let mut inside = false;
    for &id in schedule {
        let Some(mut event) = find(id) else { continue };
        if let Some(x) = variable(&mut event.op) {
            *x = lives.name(id, *x);
        }
        let mut add = |op: Op| {
            trace.events.push(Event { op, ..event });
            trace.recorded.push(id);
        };
        let of_section = |(thread, lock, mode)| {
            event.thread == thread && (event.op == Op::Release(lock, mode) || event.op == Op::Wait(lock))
        };
        let ends = inside && section.is_some_and(of_section);
        inside &= !ends;
        let waits = matches!(event.op, Op::Wait(_));
        if ends && waits {
            add(Op::End);
        }
        let begins = Some(id) == block;
        if begins && section.is_some() {
            add(Op::Begin(RegionId::NONE));
            inside = true;
        }
        add(event.op);
        if ends && !waits {
            add(Op::End);
        }
        if begins {
            // One back from the acquire, or the begin itself.
            let back = if section.is_some() { 2 } else { 1 };
            trace.block = Some(EventId((trace.events.len() - back) as u64));
        }
    }
    trace.lives = lives.new;
    trace
}

fn variable(op: &mut Op) -> Option<&mut VarId> {
    match op {
        Op::Read(x, _) | Op::Write(x, _) | Op::Update(x, _) | Op::Alloc(x) | Op::Free(x) | Op::Escape(x) => {
            Some(x)
        }
        _ => None,
    }
}

/// Which life each access of a schedule is in, and what it is called.
struct Lives {
    /// The life of each access, alloc and free of the schedule, from 1 on.
    of_event: FxHashMap<EventId, u32>,
    names: FxHashMap<(VarId, u32), VarId>,
    first: FxHashMap<VarId, u32>,
    new: Vec<(VarId, u32)>,
    next: u32,
}

impl Lives {
    fn new(recorded: &[Event], schedule: &[EventId], first_new: VarId) -> Lives {
        let last = schedule.iter().max().map_or(0, |last| last.0.saturating_add(1));
        let last = usize::try_from(last).unwrap_or(usize::MAX).min(recorded.len());
        let mut current: FxHashMap<VarId, u32> = FxHashMap::default();
        let mut of_event = FxHashMap::default();
        for (at, event) in (0..).map(EventId).zip(&recorded[..last]) {
            let mut op = event.op;
            let Some(&mut x) = variable(&mut op) else { continue };
            let life = current.entry(x).or_insert(1);
            if let Op::Alloc(_) = op {
                *life += 1;
            }
            // The others are in the first one.
            if *life > 1 {
                of_event.insert(at, *life);
            }
            if let Op::Free(_) = op {
                *life += 1;
            }
        }
        let (names, first) = (FxHashMap::default(), FxHashMap::default());
        Lives { of_event, names, first, new: Vec::new(), next: first_new.0 }
    }

    fn name(&mut self, event: EventId, x: VarId) -> VarId {
        let life = self.of_event.get(&event).copied().unwrap_or(1);
        if *self.first.entry(x).or_insert(life) == life {
            return x;
        }
        *self.names.entry((x, life)).or_insert_with(|| {
            self.new.push((x, life));
            self.next += 1;
            VarId(self.next - 1)
        })
    }
}
