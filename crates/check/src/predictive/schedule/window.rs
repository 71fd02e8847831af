//! What can matter for a goal after a cut: how far each thread may have to run, and its steps up to there.
//!
//! Before the cut everything happened as recorded. After it, an event is *required* if every schedule that
//! reaches the goal has it: the events of the goal; what comes before them in their threads; the writes that reads
//! among those saw (but for a read that is the last of its thread, which may diverge); forks, joined threads, members of
//! barriers; the release of a lock that is held at the cut and that a required event acquires.
//! An event is *allowed* if it may help: required ones, what those depend on in any case, and the way out of critical
//! sections that others need to enter. From any schedule all else can be left out, and a schedule remains: so
//! a search among allowed events misses nothing.
//!
//! Most steps are *free*: taken as soon as they are possible, without a choice. Whatever reaches the
//! goal from a state also does so after a free step, since such a step takes nothing away from anybody: it writes or frees no
//! variable and takes no lock that another thread in the window uses. A read that sees what it saw is free too, and one that
//! may see anything.
//!
//! Cost: linear in the allowed events.

use atomvet_trace::{LockId, Mode, Op};
use rustc_hash::FxHashMap;

use super::pattern::Pattern;
use super::recorded::{NEVER, Recorded, index};

/// The steps to search among.
#[derive(Debug)]
pub(super) struct Window {
    /// Per thread of the recording: how many of its events are before the cut.
    pub(super) done: Vec<u32>,
    /// Threads that may run, with what they may do.
    pub(super) lanes: Vec<Lane>,
    /// Locks at the cut. Steps know locks by their index here.
    pub(super) locks: Vec<Lock>,
    /// Variables of the window are numbers below this, and so are their versions at the cut; further versions are
    /// those that writes in the window make.
    pub(super) variables: u32,
    /// Per version, how many steps want to see it.
    pub(super) readers: Vec<Readers>,
}

/// A thread that may run.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) thread: u32,
    pub(super) steps: Vec<Step>,
    /// So many of the steps are required.
    pub(super) required: u32,
}

/// What one event does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) event: u32,
    pub(super) action: Action,
    /// The lock that the thread takes back with it after a wait, or `NEVER`.
    pub(super) retakes: u32,
    pub(super) freedom: Freedom,
    /// It is one of the goal's events.
    pub(super) in_goal: bool,
}

/// Whether a step can do any harm to other threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Freedom {
    Free,
    Choice,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// Nothing that changes what others may do, but for having happened.
    Happen,
    /// Sees the version that it wants, or diverges.
    Read {
        variable: u32,
        wants: u32,
    },
    Write {
        variable: u32,
        makes: u32,
    },
    Update {
        variable: u32,
        wants: u32,
        makes: u32,
    },
    Acquire {
        lock: u32,
        mode: Mode,
    },
    Release {
        lock: u32,
        mode: Mode,
    },
}

/// Who holds a lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lock {
    pub(super) id: LockId,
    /// The thread that holds it exclusively, or `NEVER`.
    pub(super) exclusive: u32,
    /// How many threads hold it shared.
    pub(super) shared: u32,
}

/// Steps that want to see a version and were not made.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Readers {
    /// Those that have to see it: required, and not the last of their thread.
    pub(super) needing: u32,
    pub(super) all: u32,
}

impl Window {
    /// The window of a goal whose events are all at or after the cut. None if the steps do not suffice.
    pub(super) fn new(
        recorded: &Recorded<'_>,
        pattern: &Pattern,
        cut: u32,
        steps: &mut u64,
    ) -> Option<Window> {
        let done = done_at(recorded, cut);
        let mut closure = Closure::new(recorded, pattern, &done, cut, steps);
        pattern.events.iter().chain(&pattern.never).for_each(|&event| closure.reach(event));
        closure.close(Tier::Required)?;
        let required = closure.end.clone();
        closure.close(Tier::Allowed)?;
        let allowed = closure.end;
        let mut builder = Builder::new(recorded, pattern, cut, &done, &allowed);
        let lanes = (0..recorded.threads())
            .filter(|&thread| allowed[index(thread)] > done[index(thread)])
            .map(|thread| {
                let (from, to) = (done[index(thread)], allowed[index(thread)]);
                let required = required[index(thread)] - from;
                let events = &recorded.of_thread(thread)[index(from)..index(to)];
                let steps = (0..).zip(events).map(|(at, &event)| {
                    let in_goal = pattern.events.binary_search(&event).is_ok();
                    builder.step(event, at + 1 < required, in_goal)
                });
                Lane { thread, steps: steps.collect(), required }
            })
            .collect();
        let Builder { locks, variables, readers, .. } = builder;
        let locks = locks.states;
        Some(Window { done, lanes, locks, variables: variables.number.len() as u32, readers })
    }
}

/// How far each thread must run in every schedule.
#[derive(Debug)]
pub(super) struct Required {
    /// Per thread: how many of its events are before the cut.
    pub(super) done: Vec<u32>,
    /// Per thread: how many of its events must happen.
    pub(super) end: Vec<u32>,
}

impl Required {
    /// None if the steps do not suffice.
    pub(super) fn new(
        recorded: &Recorded<'_>,
        pattern: &Pattern,
        cut: u32,
        steps: &mut u64,
    ) -> Option<Required> {
        let done = done_at(recorded, cut);
        let mut closure = Closure::new(recorded, pattern, &done, cut, steps);
        // What is held at the cut need not be held in all schedules.
        closure.holders.clear();
        pattern.events.iter().chain(&pattern.never).for_each(|&event| closure.reach(event));
        closure.close(Tier::Required)?;
        let end = closure.end;
        Some(Required { done, end })
    }
}

fn done_at(recorded: &Recorded<'_>, cut: u32) -> Vec<u32> {
    let done = |thread| recorded.of_thread(thread).partition_point(|&event| event < cut) as u32;
    (0..recorded.threads()).map(done).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tier {
    Required,
    Allowed,
}

/// How far threads run, with everything that follows from it.
struct Closure<'a> {
    recorded: &'a Recorded<'a>,
    pattern: &'a Pattern,
    done: &'a [u32],
    cut: u32,
    /// Per thread: how many of its events are in the closure.
    end: Vec<u32>,
    /// Per thread: for how many of them what they depend on is in the closure too.
    closed: Vec<u32>,
    /// Per thread: for how many of them the writes they saw are.
    valued: Vec<u32>,
    /// Threads that are not closed, some of them more than once.
    open: Vec<u32>,
    /// Who holds a lock at the cut, and the release.
    holders: FxHashMap<LockId, Vec<Holder>>,
    /// Threads that acquire a lock in the closure: one, or `MANY`.
    users: FxHashMap<LockId, u32>,
    steps: &'a mut u64,
}

const MANY: u32 = NEVER - 1;

struct Holder {
    thread: u32,
    mode: Mode,
    release: u32,
}

impl<'a> Closure<'a> {
    fn new(
        recorded: &'a Recorded<'a>,
        pattern: &'a Pattern,
        done: &'a [u32],
        cut: u32,
        steps: &'a mut u64,
    ) -> Self {
        let mut holders: FxHashMap<LockId, Vec<Holder>> = FxHashMap::default();
        for (thread, &done) in (0..).zip(done) {
            for section in recorded.sections_after(thread, done) {
                let holder = Holder { thread, mode: section.mode, release: section.release };
                holders.entry(section.lock).or_default().push(holder);
            }
        }
        let [end, closed, valued] = [(); 3].map(|()| done.to_vec());
        let users = FxHashMap::default();
        let open = Vec::new();
        Closure { recorded, pattern, done, cut, end, closed, valued, open, holders, users, steps }
    }

    /// Puts an event, and those of its thread before it, into the closure.
    fn reach(&mut self, event: u32) {
        if event == NEVER || event < self.cut {
            return;
        }
        let thread = self.recorded.thread(event);
        let end = &mut self.end[index(thread)];
        if *end <= self.recorded.position[index(event)] {
            *end = self.recorded.position[index(event)] + 1;
            self.open.push(thread);
        }
    }

    /// None if the steps do not suffice.
    fn close(&mut self, tier: Tier) -> Option<()> {
        if tier == Tier::Allowed {
            // All again, with more rules.
            self.closed.copy_from_slice(self.done);
            self.open.extend(0..self.recorded.threads());
        }
        loop {
            while let Some(thread) = self.open.pop() {
                self.close_thread(index(thread), tier)?;
            }
            if tier == Tier::Allowed {
                self.leave_sections();
            }
            if self.open.is_empty() {
                return Some(());
            }
        }
    }

    fn close_thread(&mut self, thread: usize, tier: Tier) -> Option<()> {
        let events = self.recorded.of_thread(thread as u32);
        while self.closed[thread] < self.end[thread] {
            let event = events[index(self.closed[thread])];
            self.closed[thread] += 1;
            *self.steps = self.steps.checked_sub(1)?;
            if !self.pattern.never.contains(&event) {
                self.depend(event, tier);
            }
        }
        while self.valued[thread] + 1 < self.end[thread] {
            let event = events[index(self.valued[thread])];
            self.valued[thread] += 1;
            self.reach(self.pattern.sees(self.recorded, event));
        }
        // Somebody may need what the last event of a thread writes, and then it must not diverge.
        if tier == Tier::Allowed && self.end[thread] > self.done[thread] {
            let last = events[index(self.end[thread] - 1)];
            if let Op::Update(..) = self.recorded.op(last) {
                self.reach(self.pattern.sees(self.recorded, last));
            }
        }
        Some(())
    }

    /// What an event cannot happen without, besides what it sees.
    fn depend(&mut self, event: u32, tier: Tier) {
        let recorded = self.recorded;
        if let Some(location) = recorded.locations.get(index(recorded.location[index(event)])) {
            self.reach(location.begin);
        }
        if let Some(gate) = recorded.gate(event) {
            self.reach(gate.started_by);
            self.reach(gate.previous);
            if gate.joined_events > 0 {
                self.reach(recorded.of_thread(gate.joined.0)[index(gate.joined_events - 1)]);
            }
            if let Some(left) = recorded.episodes.get(index(gate.leaves)) {
                left.arrivals.iter().for_each(|&arrival| self.reach(arrival));
            }
            if let Some(before) = recorded.episodes.get(index(gate.after_episode))
                && tier == Tier::Allowed
            {
                // Somebody has to leave it, whoever that is.
                for &arrival in &before.arrivals {
                    let of_thread = recorded.of_thread(recorded.thread(arrival));
                    let next = of_thread.get(index(recorded.position[index(arrival)]) + 1);
                    self.reach(next.copied().unwrap_or(NEVER));
                }
            }
            if let Some(lock) = gate.retakes {
                self.acquire(event, lock, Mode::Exclusive);
            }
        }
        if let Op::Acquire(lock, mode) = recorded.op(event) {
            self.acquire(event, lock, mode);
        }
    }

    fn acquire(&mut self, event: u32, lock: LockId, mode: Mode) {
        let me = self.recorded.thread(event);
        let user = self.users.entry(lock).or_insert(me);
        if *user != me {
            *user = MANY;
        }
        let Some(holders) = self.holders.get(&lock) else { return };
        let conflicts = |holder: &&Holder| {
            holder.thread != me && (holder.mode == Mode::Exclusive || mode == Mode::Exclusive)
        };
        let releases: Vec<u32> = holders.iter().filter(conflicts).map(|holder| holder.release).collect();
        releases.into_iter().for_each(|release| self.reach(release));
    }

    /// Threads may go on until they are out of the sections whose locks others acquire.
    fn leave_sections(&mut self) {
        let recorded = self.recorded;
        for thread in 0..recorded.threads() {
            for section in recorded.sections_after(thread, self.end[index(thread)]) {
                let user = self.users.get(&section.lock);
                if user.is_some_and(|&user| user != thread) {
                    self.reach(section.release);
                }
            }
        }
    }
}

/// Makes steps of events.
struct Builder<'a> {
    recorded: &'a Recorded<'a>,
    pattern: &'a Pattern,
    cut: u32,
    variables: Variables,
    locks: Locks,
    /// The versions made in the window, by the event that makes them.
    versions: FxHashMap<u32, u32>,
    readers: Vec<Readers>,
}

#[derive(Default)]
struct Variables {
    /// By location.
    number: FxHashMap<u32, u32>,
    uses: Vec<Uses>,
}

#[derive(Default)]
struct Locks {
    number: FxHashMap<LockId, u32>,
    states: Vec<Lock>,
    uses: Vec<Uses>,
}

/// Which threads use something.
#[derive(Clone, Copy)]
struct Uses {
    /// One, or `MANY`.
    thread: u32,
    /// A variable: some of them write it.
    written: bool,
}

impl Uses {
    const NONE: Uses = Uses { thread: NEVER, written: false };

    fn add(&mut self, thread: u32, written: bool) {
        self.thread = if self.thread == NEVER || self.thread == thread { thread } else { MANY };
        self.written |= written;
    }
}

impl<'a> Builder<'a> {
    fn new(
        recorded: &'a Recorded<'a>,
        pattern: &'a Pattern,
        cut: u32,
        done: &[u32],
        allowed: &[u32],
    ) -> Self {
        let mut builder = Builder {
            recorded,
            pattern,
            cut,
            variables: Variables::default(),
            locks: Locks::default(),
            versions: FxHashMap::default(),
            readers: Vec::new(),
        };
        let mut makers = Vec::new();
        for (thread, (&done, &allowed)) in (0..).zip(done.iter().zip(allowed)) {
            for section in recorded.sections_after(thread, done) {
                let lock = builder.locks.get(section.lock);
                builder.locks.uses[index(lock)].add(thread, false);
                let state = &mut builder.locks.states[index(lock)];
                match section.mode {
                    Mode::Exclusive => state.exclusive = thread,
                    Mode::Shared => state.shared += 1,
                }
            }
            for &event in &recorded.of_thread(thread)[index(done)..index(allowed)] {
                builder.count_uses(event, thread, &mut makers);
            }
        }
        let variables = builder.variables.number.len() as u32;
        builder.versions = makers.into_iter().zip(variables..).collect();
        builder.readers = vec![Readers::default(); index(variables) + builder.versions.len()];
        builder
    }

    fn count_uses(&mut self, event: u32, thread: u32, makers: &mut Vec<u32>) {
        if let Some(lock) = self.recorded.gate(event).and_then(|gate| gate.retakes) {
            let lock = self.locks.get(lock);
            self.locks.uses[index(lock)].add(thread, false);
        }
        match self.recorded.op(event) {
            Op::Read(..) => self.variables.add(self.recorded.location[index(event)], thread, false),
            Op::Write(..) | Op::Update(..) => {
                self.variables.add(self.recorded.location[index(event)], thread, true);
                makers.push(event);
            }
            // Ends what others may still do.
            Op::Free(_) => self.variables.add(self.recorded.location[index(event)], thread, true),
            Op::Acquire(lock, _) | Op::Release(lock, _) | Op::Wait(lock) => {
                let lock = self.locks.get(lock);
                self.locks.uses[index(lock)].add(thread, false);
            }
            _ => {}
        }
    }

    fn step(&mut self, event: u32, needing: bool, in_goal: bool) -> Step {
        let recorded = self.recorded;
        let retakes = recorded.gate(event).and_then(|gate| gate.retakes);
        let retakes = retakes.map_or(NEVER, |lock| self.locks.get(lock));
        let action = match recorded.op(event) {
            Op::Read(..) | Op::Write(..) | Op::Update(..) => self.access(event, needing),
            Op::Acquire(lock, mode) => Action::Acquire { lock: self.locks.get(lock), mode },
            Op::Release(lock, mode) => Action::Release { lock: self.locks.get(lock), mode },
            Op::Wait(lock) => Action::Release { lock: self.locks.get(lock), mode: Mode::Exclusive },
            _ => Action::Happen,
        };
        let contended = |lock: u32| self.locks.uses[index(lock)].thread == MANY;
        let freed = match recorded.op(event) {
            Op::Free(_) => Some(self.variables.get(recorded.location[index(event)])),
            _ => None,
        };
        let shared = |variable: u32| {
            let Uses { thread, written } = self.variables.uses[index(variable)];
            thread == MANY && written
        };
        let choice = retakes != NEVER && contended(retakes)
            // From then on, only the other access of the race may happen.
            || self.pattern.last.is_some_and(|(first, _)| first == event)
            || match action {
                Action::Happen => freed.is_some_and(shared),
                Action::Release { .. } | Action::Read { .. } => false,
                Action::Acquire { lock, .. } => contended(lock),
                Action::Write { variable, .. } | Action::Update { variable, .. } => shared(variable),
            };
        let freedom = if choice { Freedom::Choice } else { Freedom::Free };
        Step { event, action, retakes, freedom, in_goal }
    }

    fn access(&mut self, event: u32, needing: bool) -> Action {
        let recorded = self.recorded;
        let variable = self.variables.get(recorded.location[index(event)]);
        let makes = self.versions.get(&event).copied().unwrap_or(NEVER);
        let relaxed = self.pattern.is_relaxed(recorded, event);
        let op = recorded.op(event);
        if matches!(op, Op::Write(..)) || relaxed {
            // What a relaxed read sees does not matter.
            let reads = matches!(op, Op::Read(..));
            return if reads { Action::Happen } else { Action::Write { variable, makes } };
        }
        let wants = self.version(variable, recorded.seen[index(event)]);
        if let Some(readers) = self.readers.get_mut(index(wants)) {
            readers.all += 1;
            readers.needing += u32::from(needing);
        }
        match op {
            Op::Update(..) => Action::Update { variable, wants, makes },
            _ => Action::Read { variable, wants },
        }
    }

    /// The version that an event makes: the one at the cut, one of the window, or `NEVER` if the
    /// event is not allowed.
    fn version(&self, variable: u32, made_by: u32) -> u32 {
        if made_by == NEVER || made_by < self.cut {
            return variable;
        }
        self.versions.get(&made_by).copied().unwrap_or(NEVER)
    }
}

impl Variables {
    fn get(&mut self, location: u32) -> u32 {
        let next = self.uses.len() as u32;
        let number = *self.number.entry(location).or_insert(next);
        if number == next {
            self.uses.push(Uses::NONE);
        }
        number
    }

    fn add(&mut self, location: u32, thread: u32, written: bool) {
        let number = self.get(location);
        self.uses[index(number)].add(thread, written);
    }
}

impl Locks {
    fn get(&mut self, lock: LockId) -> u32 {
        let next = self.states.len() as u32;
        let number = *self.number.entry(lock).or_insert(next);
        if number == next {
            self.states.push(Lock { id: lock, exclusive: NEVER, shared: 0 });
            self.uses.push(Uses::NONE);
        }
        number
    }
}
