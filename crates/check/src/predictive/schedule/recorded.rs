//! What the search has to know of a recording, gathered in one pass: for every event which ones it depends
//! on, whatever the schedule.
//!
//! Events are numbered in 32 bits here, which keeps the tables at 32 bytes per event.

use atomvet_trace::{BarrierId, Event, LockId, Mode, Op, ThreadId, VarId};

use crate::Config;

/// No event, section, gate, …
pub(super) const NEVER: u32 = u32::MAX;

/// A number of this module as an index into a table.
#[inline(always)]
pub(super) fn index(number: u32) -> usize {
    number as usize
}

/// A recorded trace with all that a search needs, made once and used for many goals.
#[derive(Debug)]
pub struct Recorded<'a> {
    pub(super) events: &'a [Event],
    /// The events of all threads, thread by thread, each in its order. `Skip` is no event.
    by_thread: Vec<u32>,
    /// Where each thread starts in `by_thread`; one more at the end.
    starts: Vec<u32>,
    /// Per event: its index among the events of its thread. `NEVER` for `Skip`.
    pub(super) position: Vec<u32>,
    /// Per access: the write or update whose value its variable had before it. `NEVER` for the initial value.
    pub(super) seen: Vec<u32>,
    /// Per access, alloc and free: the variable in one of its lives, in `locations`. An alloc begins its location, a free
    /// ends it.
    pub(super) location: Vec<u32>,
    pub(super) locations: Vec<Location>,
    /// Per event: the innermost of the sections that its thread is in right after it, in `stack`.
    pub(super) held: Vec<u32>,
    pub(super) stack: Vec<Held>,
    pub(super) sections: Vec<Section>,
    /// Per event: what it has to wait for besides locks and values, in `gates`.
    pub(super) gate: Vec<u32>,
    pub(super) gates: Vec<Gate>,
    pub(super) episodes: Vec<Episode>,
    /// Per event: where the outermost block or critical section around it begins, whichever is first (or its piece
    /// begins, where waits split blocks); itself if it is in none.
    pub(super) unit: Vec<u32>,
    /// Per event: since when its thread is in some block or critical section (or waits in one) right after it; `NEVER` if it is in none.
    pub(super) opened: Vec<u32>,
    /// The forks and joins.
    pub(super) turns: Vec<u32>,
}

/// A variable in one of its lives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Location {
    /// The alloc or free with which the life began, or `NEVER`.
    pub(super) begin: u32,
    /// The free that ended it, or `NEVER`. (Where an alloc follows without a free, nothing ended it.)
    pub(super) freed: u32,
}

/// A section that a thread is in, and the rest of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) section: u32,
    pub(super) below: u32,
}

/// From an acquire (or the first event after a wait) to its release (or the next wait).
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    pub(super) lock: LockId,
    pub(super) mode: Mode,
    pub(super) acquire: u32,
    pub(super) release: u32,
}

/// What an event waits for besides locks and values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    /// The last fork or join of its own thread, if that is after the thread's event before.
    pub(super) started_by: u32,
    /// A fork or join comes after the fork or join before of the same thread.
    pub(super) previous: u32,
    /// A join: so many events of its thread come before it. (0 for all others.)
    pub(super) joined: ThreadId,
    pub(super) joined_events: u32,
    /// Its thread leaves this barrier episode with it.
    pub(super) leaves: u32,
    /// It arrives in an episode, and this one, of the same barrier, was left by somebody before.
    pub(super) after_episode: u32,
    /// Its thread takes back this lock, which it waited on.
    pub(super) retakes: Option<LockId>,
}

const OPEN: Gate = Gate {
    started_by: NEVER,
    previous: NEVER,
    joined: ThreadId(0),
    joined_events: 0,
    leaves: NEVER,
    after_episode: NEVER,
    retakes: None,
};

/// A barrier episode.
#[derive(Clone, Debug)]
pub(super) struct Episode {
    pub(super) arrivals: Vec<u32>,
    barrier: BarrierId,
    /// The episode of the same barrier before, or `NEVER`.
    previous: u32,
}

impl<'a> Recorded<'a> {
    /// Goes through a well-formed trace.
    pub fn new(config: &Config, events: &'a [Event]) -> Self {
        // The tables of more events would not fit in any machine's memory.
        let events = &events[..events.len().min(index(NEVER))];
        let mut pass = Pass::new(config, events);
        for (at, &event) in (0..).zip(events) {
            if event.op != Op::Skip {
                pass.event(at, event);
            }
        }
        pass.recorded
    }

    pub(super) fn threads(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// The events of a thread.
    pub(super) fn of_thread(&self, thread: u32) -> &[u32] {
        let thread = index(thread);
        &self.by_thread[index(self.starts[thread])..index(self.starts[thread + 1])]
    }

    pub(super) fn op(&self, event: u32) -> Op {
        self.events[index(event)].op
    }

    pub(super) fn thread(&self, event: u32) -> u32 {
        self.events[index(event)].thread.0
    }

    /// The event before this one in its thread.
    pub(super) fn previous(&self, event: u32) -> Option<u32> {
        let before = self.position[index(event)].checked_sub(1)?;
        self.of_thread(self.thread(event)).get(index(before)).copied()
    }

    pub(super) fn gate(&self, event: u32) -> Option<&Gate> {
        self.gates.get(index(self.gate[index(event)]))
    }

    pub(super) fn is_event(&self, event: u32) -> bool {
        self.position.get(index(event)).is_some_and(|&position| position != NEVER)
    }

    /// Whether an event, if it is one, is among the first `done` events of its thread.
    pub(super) fn happened(&self, done: &[u32], event: u32) -> bool {
        event == NEVER || self.position[index(event)] < done[index(self.thread(event))]
    }

    /// Whether an access happens in its life, if it happens after the first `done` events of each thread. Two lives of an address
    /// are two variables: the allocator could have given the second one another address, so neither waits for the other.
    pub(super) fn is_alive(&self, done: &[u32], event: u32) -> bool {
        let Some(location) = self.locations.get(index(self.location[index(event)])) else { return true };
        location.begin == event
            || self.happened(done, location.begin)
                && (location.freed == NEVER
                    || location.freed == event
                    || !self.happened(done, location.freed))
    }

    /// Whether all that an event has to come after besides locks and values is among the first `done` events of each
    /// thread.
    pub(super) fn gate_is_open(&self, done: &[u32], event: u32) -> bool {
        let Some(gate) = self.gate(event) else { return true };
        self.happened(done, gate.started_by)
            && self.happened(done, gate.previous)
            && done[gate.joined.index()] >= gate.joined_events
            && (self.episodes.get(index(gate.leaves)))
                .is_none_or(|episode| episode.arrivals.iter().all(|&arrival| self.happened(done, arrival)))
    }

    /// Whether an event, if it arrives at a barrier, opens or joins an episode of its own there: somebody has left the
    /// one before.
    pub(super) fn barrier_is_open(&self, done: &[u32], event: u32) -> bool {
        let Some(gate) = self.gate(event) else { return true };
        // With this event too its thread leaves what it arrived at before.
        let left = |&arrival: &u32| {
            let thread = self.thread(arrival);
            let done = done[index(thread)] + u32::from(thread == self.thread(event));
            done > self.position[index(arrival)] + 1
        };
        let before = self.episodes.get(index(gate.after_episode));
        before.is_none_or(|episode| episode.arrivals.iter().any(left))
    }

    /// The sections that a thread is in after its first `done` events, innermost first.
    pub(super) fn sections_after(&self, thread: u32, done: u32) -> impl Iterator<Item = Section> {
        let last = done.checked_sub(1).map(|last| self.of_thread(thread)[index(last)]);
        self.sections_from(last.map_or(NEVER, |last| self.held[index(last)]))
    }

    fn sections_from(&self, mut top: u32) -> impl Iterator<Item = Section> {
        std::iter::from_fn(move || {
            let held = self.stack.get(index(top))?;
            top = held.below;
            Some(self.sections[index(held.section)])
        })
    }
}

/// The state of the pass, after some events.
struct Pass<'a> {
    recorded: Recorded<'a>,
    split_at_waits: bool,
    threads: Vec<Thread>,
    variables: Vec<Variable>,
    locks: Vec<Lock>,
    barriers: Vec<Barrier>,
}

#[derive(Clone, Copy)]
struct Thread {
    /// How many events it has had.
    done: u32,
    /// The innermost section it is in, in `Recorded::stack`.
    held: u32,
    open_blocks: u32,
    unit: u32,
    opened: u32,
    /// The last fork or join of it.
    forked_or_joined: u32,
    /// The same, until its next event.
    started_by: u32,
    /// The episode that its next event leaves.
    leaves: u32,
    waits: Option<LockId>,
}

const NEW_THREAD: Thread = Thread {
    done: 0,
    held: NEVER,
    open_blocks: 0,
    unit: NEVER,
    opened: NEVER,
    forked_or_joined: NEVER,
    started_by: NEVER,
    leaves: NEVER,
    waits: None,
};

#[derive(Clone, Copy)]
struct Variable {
    version: u32,
    location: u32,
}

/// How many sections of a lock are open.
#[derive(Clone, Copy, Default)]
struct Lock {
    open: u32,
}

#[derive(Clone, Copy)]
struct Barrier {
    /// The latest episode.
    episode: u32,
    /// Nobody has left it.
    gathering: bool,
}

impl<'a> Pass<'a> {
    fn new(config: &Config, events: &'a [Event]) -> Self {
        let mut counts: Vec<u32> = Vec::new();
        for event in events {
            let mut know = |thread: ThreadId| {
                if thread.index() >= counts.len() {
                    counts.resize(thread.index() + 1, 0);
                }
            };
            know(event.thread);
            if let Op::Fork(child) | Op::Join(child) = event.op {
                know(child);
            }
            counts[event.thread.index()] += u32::from(event.op != Op::Skip);
        }
        let mut starts = vec![0; counts.len() + 1];
        for (thread, count) in counts.iter().enumerate() {
            starts[thread + 1] = starts[thread] + count;
        }
        let table = || vec![NEVER; events.len()];
        let recorded = Recorded {
            events,
            by_thread: vec![NEVER; index(starts[counts.len()])],
            starts,
            position: table(),
            seen: table(),
            location: table(),
            locations: Vec::new(),
            held: table(),
            stack: Vec::new(),
            sections: Vec::new(),
            gate: table(),
            gates: Vec::new(),
            episodes: Vec::new(),
            unit: table(),
            opened: table(),
            turns: Vec::new(),
        };
        let threads = vec![NEW_THREAD; counts.len()];
        let (variables, locks, barriers) = (Vec::new(), Vec::new(), Vec::new());
        Pass { recorded, split_at_waits: config.split_at_waits, threads, variables, locks, barriers }
    }

    fn event(&mut self, at: u32, Event { thread, op, .. }: Event) {
        let me = thread.index();
        let mut gate = OPEN;
        let mut gated = self.starts_again(at, me, &mut gate);
        match op {
            Op::Read(x, _) => {
                self.access(at, x);
            }
            Op::Write(x, _) | Op::Update(x, _) => self.access(at, x).version = at,
            Op::Alloc(x) => {
                self.new_life(at, x);
                self.access(at, x);
            }
            Op::Free(x) => {
                let ended = self.access(at, x).location;
                self.recorded.locations[index(ended)].freed = at;
                self.new_life(at, x);
            }
            Op::Acquire(lock, mode) => self.enter(at, me, lock, mode),
            Op::Release(lock, mode) => self.leave(at, me, lock, mode),
            Op::Wait(lock) => {
                self.leave(at, me, lock, Mode::Exclusive);
                self.threads[me].waits = Some(lock);
            }
            Op::Fork(child) | Op::Join(child) => {
                let child_state = &mut self.threads[child.index()];
                gate.previous = std::mem::replace(&mut child_state.forked_or_joined, at);
                child_state.started_by = at;
                self.recorded.turns.push(at);
                gated |= gate.previous != NEVER;
                if op == Op::Join(child) {
                    (gate.joined, gate.joined_events) = (child, child_state.done);
                    gated = true;
                }
            }
            Op::Barrier(barrier) => {
                gate.after_episode = self.arrive(at, me, barrier);
                gated |= gate.after_episode != NEVER;
            }
            Op::Begin(_) => self.threads[me].open_blocks += 1,
            Op::End => {
                let open = &mut self.threads[me].open_blocks;
                *open = open.saturating_sub(1);
            }
            _ => {}
        }
        let (state, recorded, here) = (&mut self.threads[me], &mut self.recorded, index(at));
        if gated {
            recorded.gate[here] = recorded.gates.len() as u32;
            recorded.gates.push(gate);
        }
        recorded.by_thread[index(recorded.starts[me] + state.done)] = at;
        recorded.position[here] = state.done;
        recorded.held[here] = state.held;
        state.done += 1;
        let inside = state.open_blocks > 0 || state.held != NEVER;
        let joins = self.split_at_waits && matches!(op, Op::Join(_));
        if (state.unit == NEVER || joins) && inside {
            state.unit = at;
        }
        recorded.unit[here] = state.unit.min(at);
        let waits = self.split_at_waits && matches!(op, Op::Wait(_) | Op::Barrier(_));
        if !inside || waits {
            state.unit = NEVER;
        }
        state.opened = if inside || state.waits.is_some() { state.opened.min(at) } else { NEVER };
        recorded.opened[here] = state.opened;
    }

    /// What the event before left for this one to do. Says whether there was anything.
    fn starts_again(&mut self, at: u32, me: usize, gate: &mut Gate) -> bool {
        let state = &mut self.threads[me];
        gate.started_by = std::mem::replace(&mut state.started_by, NEVER);
        gate.leaves = std::mem::replace(&mut state.leaves, NEVER);
        if gate.leaves != NEVER {
            // The first to leave an episode closes it.
            let barrier = self.recorded.episodes[index(gate.leaves)].barrier;
            let barrier = &mut self.barriers[barrier.index()];
            barrier.gathering &= barrier.episode != gate.leaves;
        }
        if let Some(lock) = state.waits.take()
            // Else it goes on without the lock: a repair of lenient reading.
            && self.lock(lock).open == 0
        {
            gate.retakes = Some(lock);
            self.enter(at, me, lock, Mode::Exclusive);
        }
        gate.started_by != NEVER || gate.leaves != NEVER || gate.retakes.is_some()
    }

    fn access(&mut self, at: u32, x: VarId) -> &mut Variable {
        if self.variables.get(x.index()).is_none_or(|variable| variable.location == NEVER) {
            self.new_life(NEVER, x);
        }
        let variable = &mut self.variables[x.index()];
        self.recorded.seen[index(at)] = variable.version;
        self.recorded.location[index(at)] = variable.location;
        variable
    }

    fn new_life(&mut self, begin: u32, x: VarId) {
        if x.index() >= self.variables.len() {
            self.variables.resize(x.index() + 1, Variable { version: NEVER, location: NEVER });
        }
        let location = self.recorded.locations.len() as u32;
        self.recorded.locations.push(Location { begin, freed: NEVER });
        self.variables[x.index()] = Variable { version: NEVER, location };
    }

    fn lock(&mut self, lock: LockId) -> &mut Lock {
        if lock.index() >= self.locks.len() {
            self.locks.resize(lock.index() + 1, Lock::default());
        }
        &mut self.locks[lock.index()]
    }

    fn enter(&mut self, at: u32, me: usize, lock: LockId, mode: Mode) {
        self.lock(lock).open += 1;
        let section = self.recorded.sections.len() as u32;
        self.recorded.sections.push(Section { lock, mode, acquire: at, release: NEVER });
        self.push(me, section);
    }

    fn push(&mut self, me: usize, section: u32) {
        let held = &mut self.threads[me].held;
        let below = std::mem::replace(held, self.recorded.stack.len() as u32);
        self.recorded.stack.push(Held { section, below });
    }

    /// Takes the section out of the stack; those above it are put back.
    fn leave(&mut self, at: u32, me: usize, lock: LockId, mode: Mode) {
        let mut above = Vec::new();
        let mut top = self.threads[me].held;
        while let Some(&Held { section, below }) = self.recorded.stack.get(index(top)) {
            let found = &mut self.recorded.sections[index(section)];
            if found.lock == lock && found.mode == mode {
                found.release = at;
                self.threads[me].held = below;
                above.into_iter().rev().for_each(|section| self.push(me, section));
                let open = &mut self.lock(lock).open;
                *open = open.saturating_sub(1);
                return;
            }
            above.push(section);
            top = below;
        }
    }

    /// Returns the episode before.
    fn arrive(&mut self, at: u32, me: usize, id: BarrierId) -> u32 {
        if id.index() >= self.barriers.len() {
            self.barriers.resize(id.index() + 1, Barrier { episode: NEVER, gathering: false });
        }
        let (barrier, episodes) = (&mut self.barriers[id.index()], &mut self.recorded.episodes);
        if !barrier.gathering {
            let episode = episodes.len() as u32;
            episodes.push(Episode { arrivals: Vec::new(), barrier: id, previous: barrier.episode });
            *barrier = Barrier { episode, gathering: true };
        }
        let episode = &mut episodes[index(barrier.episode)];
        episode.arrivals.push(at);
        self.threads[me].leaves = barrier.episode;
        episode.previous
    }
}
