//! A recorded trace as a small program: per thread its steps, what each must wait for, and which units
//! they make.
//!
//! What an event must wait for is of two kinds. Locks: whether they are free depends on where the other
//! threads are, and on nothing else, because each thread's locks are known at each of its positions. And
//! fork, join and barriers: those orders are the same in all interleavings, so each step just says how
//! many steps of each other thread come before it.
//!
//! Events that nobody else can notice (begin, end, re-entrant lock operations, …) are no steps.
//! [`Grain::Coarse`] goes further: acquires, one access, releases are one step. An acquire can always
//! happen later, just before what its thread does next, and a release earlier, just after what its
//! thread did last, without keeping anybody from anything. (Only deadlocks would get lost.)

use std::ops::Range;

use atomvet_trace::{Event, EventId, LockId, Mode, Op, ThreadId, VarId};

/// More threads are refused.
pub(super) const MOST_THREADS: usize = 8;
/// More variables (lives of them, that is) are refused.
pub(super) const MOST_VARIABLES: usize = 16;
/// More steps are refused: steps have numbers of one byte, with some to spare.
const MOST_STEPS: usize = 250;

/// A number per thread, such as how many of its steps are done.
pub(super) type PerThread = [u8; MOST_THREADS];

/// What becomes a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Grain {
    /// Each event that others can notice.
    Fine,
    /// Acquires, one access, fork, join, barrier or wait, releases: all in one.
    Coarse,
}

/// A set of locks per mode, as bits.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Locks {
    exclusive: u64,
    shared: u64,
}

impl Locks {
    fn of(lock: usize, mode: Mode) -> Locks {
        match mode {
            Mode::Exclusive => Locks { exclusive: 1 << lock, shared: 0 },
            Mode::Shared => Locks { exclusive: 0, shared: 1 << lock },
        }
    }

    fn add(&mut self, other: Locks) {
        self.exclusive |= other.exclusive;
        self.shared |= other.shared;
    }

    fn remove(&mut self, other: Locks) {
        self.exclusive &= !other.exclusive;
        self.shared &= !other.shared;
    }

    /// Whether these can be taken while another thread holds those.
    pub(super) fn can_be_taken_beside(self, held: Locks) -> bool {
        self.exclusive & (held.exclusive | held.shared) == 0 && self.shared & held.exclusive == 0
    }
}

/// A read, a write, or both in one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Access {
    /// Its event's index in the trace.
    pub(super) event: usize,
    /// Which variable, in which of its lives: a dense number.
    pub(super) variable: usize,
    pub(super) reads: bool,
    pub(super) writes: bool,
}

/// Something that a thread does in one go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Its number in the program, from 1 on. 0 stands for the initial value where a writer is meant.
    pub(super) number: u8,
    pub(super) unit: usize,
    pub(super) access: Option<Access>,
    /// How many steps of each thread come before it because of fork, join and barriers.
    pub(super) needs: PerThread,
    /// Threads of which even something after those steps comes before it, though no step.
    pub(super) needs_more: u8,
    pub(super) takes: Locks,
    /// What its thread holds after it.
    pub(super) holds: Locks,
    /// The recorded writer of what it reads.
    pub(super) source: u8,
}

/// Events of one thread that should happen as one.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) first_event: EventId,
    pub(super) thread: usize,
    /// Which of its thread's steps.
    pub(super) steps: Range<u8>,
    pub(super) accesses: usize,
}

/// A program.
#[derive(Debug)]
pub(super) struct Steps {
    /// Per thread.
    pub(super) threads: Vec<Vec<Step>>,
    pub(super) units: Vec<Unit>,
}

impl Steps {
    /// None if the trace is too large to be a small program.
    pub(super) fn new(events: &[Event], grain: Grain) -> Option<Steps> {
        let moments = moments(events)?;
        let threads = moments.iter().map(|moment| moment.thread + 1).max().unwrap_or(0);
        let mut steps = Steps { threads: vec![Vec::new(); threads], units: units(&moments) };
        // Per thread and event of it: how many steps there are with it.
        let mut steps_with: Vec<Vec<u8>> = vec![Vec::new(); threads];
        let mut building: Vec<Building> = vec![Building::Nothing; threads];
        let mut held = vec![Locks::default(); threads];
        let mut last_writer = [0; MOST_VARIABLES];
        let mut count = 0;
        for moment in &moments {
            let thread = moment.thread;
            let own = &mut steps.threads[thread];
            held[thread].add(moment.takes);
            held[thread].remove(moment.gives);
            if moment.is_noticed() {
                let fits = grain == Grain::Coarse
                    && match building[thread] {
                        Building::Nothing => false,
                        Building::Taking => true,
                        Building::Done => !moment.takes_or_acts() && !moment.waits_for_others,
                    };
                if !fits {
                    count += 1;
                    own.push(Step {
                        number: u8::try_from(count).ok().filter(|&n| usize::from(n) <= MOST_STEPS)?,
                        unit: moment.unit,
                        access: None,
                        needs: PerThread::default(),
                        needs_more: 0,
                        takes: Locks::default(),
                        holds: Locks::default(),
                        source: 0,
                    });
                }
                let acts_or_gives = moment.acts || !moment.gives.is_empty();
                building[thread] = if acts_or_gives { Building::Done } else { Building::Taking };
                let step = own.last_mut()?;
                step.takes.add(moment.takes);
                step.holds = held[thread];
                (step.needs, step.needs_more) = needs(thread, &moment.past, &steps_with);
                if moment.acts {
                    step.unit = moment.unit;
                }
                if let Some(access) = moment.access {
                    step.access = Some(access);
                    if access.reads {
                        step.source = last_writer[access.variable];
                    }
                    if access.writes {
                        last_writer[access.variable] = step.number;
                    }
                }
            }
            steps_with[thread].push(own.len() as u8);
        }
        steps.place_units();
        Some(steps)
    }

    /// Says which steps the units have. Those without any keep an empty range.
    fn place_units(&mut self) {
        for (thread, own) in self.threads.iter().enumerate() {
            for (at, step) in (0..).zip(own) {
                let unit = &mut self.units[step.unit];
                if unit.steps.is_empty() {
                    unit.steps = at..at;
                }
                (unit.thread, unit.steps.end) = (thread, at + 1);
                unit.accesses += usize::from(step.access.is_some());
            }
        }
    }
}

/// What a step that is being put together consists of so far.
#[derive(Clone, Copy)]
enum Building {
    Nothing,
    /// Acquires only.
    Taking,
    /// Whatever acts, or releases.
    Done,
}

/// How many steps of the other threads are in the past of an event, and of which of them more is.
fn needs(thread: usize, past: &[usize; MOST_THREADS], steps_with: &[Vec<u8>]) -> (PerThread, u8) {
    let (mut needs, mut more) = (PerThread::default(), 0);
    for (other, with) in steps_with.iter().enumerate().filter(|&(other, _)| other != thread) {
        if let Some(last) = past[other].checked_sub(1) {
            needs[other] = with[last];
            // The event before is in the same steps: so the last one is in none.
            let is_step = last.checked_sub(1).map_or(0, |before| with[before]) != with[last];
            more |= u8::from(!is_step) << other;
        }
    }
    (needs, more)
}

/// An event, with what has to be known about it.
#[derive(Clone, Debug)]
struct Moment {
    /// A dense number.
    thread: usize,
    op: Op,
    event: EventId,
    access: Option<Access>,
    takes: Locks,
    gives: Locks,
    /// It is neither a lock operation nor private to its thread.
    acts: bool,
    /// It comes directly after events of other threads, because of fork, join or barrier.
    waits_for_others: bool,
    /// Per thread, how many of its events come before because of program order, fork, join and barrier.
    past: [usize; MOST_THREADS],
    unit: usize,
}

impl Moment {
    fn takes_or_acts(&self) -> bool {
        self.acts || !self.takes.is_empty()
    }

    /// Whether it is a step or part of one. What leaves a barrier is, even if it does nothing else: what follows
    /// must not become part of the step before the barrier.
    fn is_noticed(&self) -> bool {
        self.takes_or_acts() || !self.gives.is_empty() || self.waits_for_others
    }
}

impl Locks {
    fn is_empty(self) -> bool {
        self.exclusive == 0 && self.shared == 0
    }
}

/// Numbers things in the order in which they are first asked for.
struct Numbers<T> {
    known: Vec<T>,
    most: usize,
}

impl<T: PartialEq> Numbers<T> {
    fn new(most: usize) -> Self {
        Numbers { known: Vec::new(), most }
    }

    fn of(&mut self, thing: T) -> Option<usize> {
        let at = self.known.iter().position(|known| *known == thing);
        let at = at.unwrap_or_else(|| {
            self.known.push(thing);
            self.known.len() - 1
        });
        (at < self.most).then_some(at)
    }
}

fn moments(events: &[Event]) -> Option<Vec<Moment>> {
    let mut threads: Numbers<ThreadId> = Numbers::new(MOST_THREADS);
    let mut variables: Numbers<(VarId, usize)> = Numbers::new(MOST_VARIABLES);
    let mut locks: Numbers<LockId> = Numbers::new(u64::BITS as usize);
    let mut moments: Vec<Moment> = Vec::with_capacity(events.len());
    for (i, event) in events.iter().enumerate().filter(|(_, event)| event.op != Op::Skip) {
        let (mut access, mut takes, mut gives) = (None, Locks::default(), Locks::default());
        let thread = threads.of(event.thread)?;
        let previous = moments.iter().rfind(|moment| moment.thread == thread);
        if let Some(Op::Wait(lock)) = previous.map(|moment| moment.op) {
            takes = Locks::of(locks.of(lock)?, Mode::Exclusive);
        }
        match event.op {
            Op::Read(x, _) | Op::Write(x, _) | Op::Update(x, _) => {
                let begins_life = |op: Op| matches!(op, Op::Alloc(y) | Op::Free(y) if x == y);
                let life = events[..i].iter().filter(|event| begins_life(event.op)).count();
                access = Some(Access {
                    event: i,
                    variable: variables.of((x, life))?,
                    reads: !matches!(event.op, Op::Write(..)),
                    writes: !matches!(event.op, Op::Read(..)),
                });
            }
            Op::Acquire(lock, mode) => takes.add(Locks::of(locks.of(lock)?, mode)),
            Op::Release(lock, mode) => gives = Locks::of(locks.of(lock)?, mode),
            Op::Wait(lock) => gives = Locks::of(locks.of(lock)?, Mode::Exclusive),
            _ => {}
        }
        let acts =
            access.is_some() || matches!(event.op, Op::Fork(_) | Op::Join(_) | Op::Barrier(_) | Op::Wait(_));
        moments.push(Moment {
            thread,
            op: event.op,
            event: EventId(i as u64),
            access,
            takes,
            gives,
            acts,
            waits_for_others: false,
            past: [0; MOST_THREADS],
            unit: 0,
        });
    }
    order(&mut moments, &threads.known);
    divide(&mut moments);
    Some(moments)
}

/// The order that fork, join and barriers make, in every interleaving.
fn order(moments: &mut [Moment], threads: &[ThreadId]) {
    let episodes = episodes(moments);
    for i in 0..moments.len() {
        let this = &moments[i];
        let name = threads[this.thread];
        let previous = (0..i).rfind(|&j| moments[j].thread == this.thread);
        let left = previous.and_then(|j| episodes[j]);
        let (mut past, mut waits_for_others) = ([0; MOST_THREADS], false);
        for (j, earlier) in moments[..i].iter().enumerate() {
            let other = earlier.thread != this.thread;
            // A thread's name can be used again, once it was joined; and it can be joined once it was forked.
            let same_target = match (earlier.op, this.op) {
                (Op::Join(u), Op::Fork(v)) | (Op::Fork(u), Op::Join(v)) => u == v,
                _ => false,
            };
            let waits = other
                && (earlier.op == Op::Fork(name)
                    || this.op == Op::Join(threads[earlier.thread])
                    || (left.is_some() && left == episodes[j])
                    || same_target);
            waits_for_others |= waits;
            if waits || Some(j) == previous {
                for (count, &earlier_count) in past.iter_mut().zip(&earlier.past) {
                    *count = earlier_count.max(*count);
                }
                past[earlier.thread] = past[earlier.thread].max(earlier.past[earlier.thread] + 1);
            }
        }
        (moments[i].past, moments[i].waits_for_others) = (past, waits_for_others);
    }
}

/// Per event, the barrier episode it is an arrival in: the position of the first arrival.
fn episodes(moments: &[Moment]) -> Vec<Option<usize>> {
    let mut episode_of: Vec<Option<usize>> = vec![None; moments.len()];
    for i in 0..moments.len() {
        if let Op::Barrier(_) = moments[i].op {
            // The last episode of this barrier is still open if none of its members has had an event since.
            let latest = (0..i).rev().filter(|&j| moments[j].op == moments[i].op).find_map(|j| episode_of[j]);
            let open = latest.filter(|&episode| {
                let members = (episode..i).filter(|&j| episode_of[j] == Some(episode));
                let mut went_on =
                    members.map(|j| moments[j + 1..=i].iter().any(|m| m.thread == moments[j].thread));
                !went_on.any(|went_on| went_on)
            });
            episode_of[i] = Some(open.unwrap_or(i));
        }
    }
    episode_of
}

/// Which unit each event belongs to.
///
/// ```text
/// [ … ]                 a transaction        acq(l) … rel(l)   a critical section outside
/// fork, barrier         the last event of their unit           join   the first of the next one
/// acq(l) … [ … ] … rel(l)     three units: what is around the transaction are pieces of the section
/// acq(l) … wait(l) … rel(l)   two sections
/// ```
fn divide(moments: &mut [Moment]) {
    #[derive(Clone, Copy, Default)]
    struct Inside {
        blocks: usize,
        sections: usize,
        waits: bool,
        unit: Option<usize>,
    }
    let mut inside = [Inside::default(); MOST_THREADS];
    let mut units = 0;
    for moment in moments {
        let this = &mut inside[moment.thread];
        this.sections += usize::from(std::mem::take(&mut this.waits));
        match moment.op {
            Op::Join(_) => this.unit = None,
            Op::Begin(_) => {
                if this.blocks == 0 {
                    this.unit = None;
                }
                this.blocks += 1;
            }
            Op::Acquire(..) => this.sections += 1,
            _ => {}
        }
        moment.unit = this.unit.unwrap_or(units);
        units = units.max(moment.unit + 1);
        this.unit = Some(moment.unit);
        match moment.op {
            Op::Fork(_) | Op::Barrier(_) => this.unit = None,
            Op::End => {
                this.blocks = this.blocks.saturating_sub(1);
                if this.blocks == 0 {
                    this.unit = None;
                }
            }
            Op::Release(..) | Op::Wait(_) => {
                this.sections = this.sections.saturating_sub(1);
                this.waits = matches!(moment.op, Op::Wait(_));
            }
            _ => {}
        }
        if this.blocks == 0 && this.sections == 0 {
            this.unit = None;
        }
    }
}

fn units(moments: &[Moment]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for moment in moments {
        if moment.unit == units.len() {
            units.push(Unit { first_event: moment.event, thread: moment.thread, steps: 0..0, accesses: 0 });
        }
    }
    units
}
