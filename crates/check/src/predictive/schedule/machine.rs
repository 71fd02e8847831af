//! The state of a schedule in the making: which step is possible, making it, and taking it back.

use atomvet_trace::Mode;

use super::pattern::Pattern;
use super::recorded::{NEVER, Recorded, index};
use super::window::{Action, Freedom, Lock, Readers, Step, Window};

/// A state of the search.
#[derive(Debug)]
pub(super) struct Machine<'a> {
    recorded: &'a Recorded<'a>,
    window: &'a Window,
    pattern: &'a Pattern,
    /// Per thread of the recording: how many of its events have happened.
    done: Vec<u32>,
    /// Per lane: its last step was a read that diverged.
    frozen: Vec<bool>,
    /// Per variable: the version that a read sees now; `NEVER` if a diverging update made it.
    version: Vec<u32>,
    locks: Vec<Lock>,
    /// Per version: steps to come that want to see it.
    readers: Vec<Readers>,
    /// How many events of the goal are still to come.
    to_come: usize,
    /// The steps made so far.
    trail: Vec<Made>,
    /// Tells this state from others, for all that matters to what can follow: how far each thread is, and
    /// the versions that are seen. (Locks, lives and the rest follow from how far threads are.)
    key: u128,
}

/// A step that was made, with what it takes to take it back.
#[derive(Clone, Copy, Debug)]
struct Made {
    lane: u32,
    version: u32,
}

/// Whether a lane's next step can be made now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ready {
    /// It can, and nothing speaks for waiting.
    Free,
    /// It can, and it might be wrong to.
    Choice,
    /// The same, and it would be the last of its thread.
    Diverges,
    Blocked,
}

impl<'a> Machine<'a> {
    /// At the cut.
    pub(super) fn new(recorded: &'a Recorded<'a>, window: &'a Window, pattern: &'a Pattern) -> Self {
        let mut machine = Machine {
            recorded,
            window,
            pattern,
            done: window.done.clone(),
            frozen: vec![false; window.lanes.len()],
            version: (0..window.variables).collect(),
            locks: window.locks.clone(),
            readers: window.readers.clone(),
            to_come: pattern.events.len(),
            trail: Vec::new(),
            key: 0,
        };
        machine.key = (0..window.variables).fold(0, |key, variable| key ^ machine.version_key(variable));
        machine
    }

    pub(super) fn key(&self) -> u128 {
        self.key
    }

    pub(super) fn goal_is_reached(&self) -> bool {
        self.to_come == 0
    }

    /// How many steps were made.
    pub(super) fn made(&self) -> usize {
        self.trail.len()
    }

    /// The events of the steps, in order.
    pub(super) fn schedule(&self) -> Vec<u32> {
        let mut next: Vec<usize> = vec![0; self.window.lanes.len()];
        let event = |made: &Made| {
            let at = &mut next[index(made.lane)];
            *at += 1;
            self.window.lanes[index(made.lane)].steps[*at - 1].event
        };
        self.trail.iter().map(event).collect()
    }

    pub(super) fn happened(&self, event: u32) -> bool {
        self.recorded.happened(&self.done, event)
    }

    /// The lane's next step.
    pub(super) fn next(&self, lane: u32) -> Option<&'a Step> {
        self.window.lanes[index(lane)].steps.get(self.steps_made(lane))
    }

    fn steps_made(&self, lane: u32) -> usize {
        let thread = index(self.window.lanes[index(lane)].thread);
        index(self.done[thread] - self.window.done[thread])
    }

    /// The version that a step would hide from steps that want to see it, but may do without.
    pub(super) fn hides_something(&self, step: &Step) -> bool {
        match step.action {
            Action::Write { variable, .. } => self.all_readers(self.version[index(variable)]) > 0,
            Action::Update { variable, wants, .. } => {
                let version = self.version[index(variable)];
                self.all_readers(version) > u32::from(version == wants)
            }
            _ => false,
        }
    }

    /// What the rules say to the lane's next step.
    pub(super) fn ready(&self, lane: u32) -> Ready {
        let Some(step) = self.next(lane).filter(|_| !self.frozen[index(lane)]) else { return Ready::Blocked };
        if !self.order_allows(step)
            || !self.recorded.gate_is_open(&self.done, step.event)
            || !self.recorded.barrier_is_open(&self.done, step.event)
            || !self.recorded.is_alive(&self.done, step.event)
            || !self.locks_allow(lane, step)
        {
            return Ready::Blocked;
        }
        let ready = match step.freedom {
            Freedom::Free => Ready::Free,
            Freedom::Choice => Ready::Choice,
        };
        match step.action {
            Action::Happen | Action::Acquire { .. } | Action::Release { .. } => ready,
            Action::Read { variable, wants } => {
                match (self.version[index(variable)] == wants, self.may_be_last(lane)) {
                    (true, _) => ready,
                    // The thread has nothing to do afterwards that could matter.
                    (false, Last::Always) => ready,
                    (false, Last::Maybe) => Ready::Diverges,
                    (false, Last::No) => Ready::Blocked,
                }
            }
            Action::Write { variable, .. } => {
                let needed = self.needing(self.version[index(variable)]) > 0;
                if needed { Ready::Blocked } else { ready }
            }
            Action::Update { variable, wants, makes } => {
                let version = self.version[index(variable)];
                let last = self.may_be_last(lane);
                let own = u32::from(version == wants && last == Last::No);
                if self.needing(version) > own {
                    return Ready::Blocked;
                }
                if version == wants {
                    return ready;
                }
                if last == Last::No || self.needing(makes) > 0 { Ready::Blocked } else { Ready::Diverges }
            }
        }
    }

    fn order_allows(&self, step: &Step) -> bool {
        let Pattern { last, never, .. } = self.pattern;
        if last.is_some_and(|(first, second)| self.happened(first) && step.event != second)
            || never.contains(&step.event)
        {
            return false;
        }
        !step.in_goal || self.pattern.before(step.event).all(|first| self.happened(first))
    }

    fn locks_allow(&self, lane: u32, step: &Step) -> bool {
        if step.retakes != NEVER && !self.is_available(lane, step.retakes, Mode::Exclusive) {
            return false;
        }
        match step.action {
            Action::Acquire { lock, mode } => self.is_available(lane, lock, mode),
            _ => true,
        }
    }

    fn is_available(&self, lane: u32, lock: u32, mode: Mode) -> bool {
        let thread = self.window.lanes[index(lane)].thread;
        let Lock { id, exclusive, shared } = self.locks[index(lock)];
        let others_share = || {
            let mut sections = self.recorded.sections_after(thread, self.done[index(thread)]);
            let mine = sections.any(|section| section.lock == id && section.mode == Mode::Shared);
            shared > u32::from(mine)
        };
        (exclusive == NEVER || exclusive == thread)
            && (mode == Mode::Shared || shared == 0 || !others_share())
    }

    fn may_be_last(&self, lane: u32) -> Last {
        let lane_steps = &self.window.lanes[index(lane)];
        let made = self.steps_made(lane) + 1;
        match made {
            _ if made < index(lane_steps.required) => Last::No,
            _ if made == lane_steps.steps.len() => Last::Always,
            _ => Last::Maybe,
        }
    }

    fn needing(&self, version: u32) -> u32 {
        self.readers.get(index(version)).map_or(0, |readers| readers.needing)
    }

    fn all_readers(&self, version: u32) -> u32 {
        self.readers.get(index(version)).map_or(0, |readers| readers.all)
    }

    /// Makes the lane's next step, which must be possible.
    pub(super) fn step(&mut self, lane: u32) {
        let Some(step) = self.next(lane) else { return };
        let needing = self.may_be_last(lane) == Last::No;
        self.key ^= self.progress_key(lane);
        let mut made = Made { lane, version: NEVER };
        if step.retakes != NEVER {
            self.locks[index(step.retakes)].exclusive = self.window.lanes[index(lane)].thread;
        }
        match step.action {
            Action::Happen => {}
            Action::Acquire { lock, mode } => self.take(lane, lock, mode),
            Action::Release { lock, mode } => self.give_back(lock, mode),
            Action::Read { variable, wants } => {
                self.key ^= self.version_key(variable);
                self.count_reader(wants, needing, Count::Down);
                self.frozen[index(lane)] = self.version[index(variable)] != wants;
                self.key ^= self.version_key(variable);
            }
            Action::Write { variable, makes, .. } => {
                self.key ^= self.version_key(variable);
                made.version = std::mem::replace(&mut self.version[index(variable)], makes);
                self.key ^= self.version_key(variable);
            }
            Action::Update { variable, wants, makes, .. } => {
                self.key ^= self.version_key(variable);
                self.count_reader(wants, needing, Count::Down);
                let diverges = self.version[index(variable)] != wants;
                let makes = if diverges { NEVER } else { makes };
                self.frozen[index(lane)] = diverges;
                made.version = std::mem::replace(&mut self.version[index(variable)], makes);
                self.key ^= self.version_key(variable);
            }
        }
        self.done[index(self.window.lanes[index(lane)].thread)] += 1;
        self.to_come -= usize::from(step.in_goal);
        self.key ^= self.progress_key(lane);
        self.trail.push(made);
    }

    /// Takes the last step back.
    pub(super) fn undo(&mut self) {
        let Some(Made { lane, version }) = self.trail.pop() else { return };
        self.key ^= self.progress_key(lane);
        self.done[index(self.window.lanes[index(lane)].thread)] -= 1;
        self.frozen[index(lane)] = false;
        let Some(step) = self.next(lane) else { return };
        let needing = self.may_be_last(lane) == Last::No;
        self.to_come += usize::from(step.in_goal);
        match step.action {
            Action::Happen => {}
            Action::Acquire { lock, mode } => self.give_back(lock, mode),
            Action::Release { lock, mode } => self.take(lane, lock, mode),
            Action::Read { variable, wants } => {
                self.key ^= self.version_key(variable);
                self.count_reader(wants, needing, Count::Up);
                self.key ^= self.version_key(variable);
            }
            Action::Write { variable, .. } => {
                self.key ^= self.version_key(variable);
                self.version[index(variable)] = version;
                self.key ^= self.version_key(variable);
            }
            Action::Update { variable, wants, .. } => {
                self.key ^= self.version_key(variable);
                self.version[index(variable)] = version;
                self.count_reader(wants, needing, Count::Up);
                self.key ^= self.version_key(variable);
            }
        }
        if step.retakes != NEVER {
            self.locks[index(step.retakes)].exclusive = NEVER;
        }
        self.key ^= self.progress_key(lane);
    }

    fn take(&mut self, lane: u32, lock: u32, mode: Mode) {
        match mode {
            Mode::Exclusive => self.locks[index(lock)].exclusive = self.window.lanes[index(lane)].thread,
            Mode::Shared => self.locks[index(lock)].shared += 1,
        }
    }

    fn give_back(&mut self, lock: u32, mode: Mode) {
        let lock = &mut self.locks[index(lock)];
        match mode {
            Mode::Exclusive => lock.exclusive = NEVER,
            Mode::Shared => lock.shared = lock.shared.saturating_sub(1),
        }
    }

    fn count_reader(&mut self, version: u32, needing: bool, count: Count) {
        let Some(readers) = self.readers.get_mut(index(version)) else { return };
        let add = |to: &mut u32, number: u32| match count {
            Count::Up => *to += number,
            Count::Down => *to -= number,
        };
        add(&mut readers.all, 1);
        add(&mut readers.needing, u32::from(needing));
    }

    /// The part of the key that says how far a lane is.
    fn progress_key(&self, lane: u32) -> u128 {
        let made = self.steps_made(lane) as u64 * 2 + u64::from(self.frozen[index(lane)]);
        mixed(u64::from(lane), made)
    }

    /// The part of the key that says what a variable holds. What nobody wants to see does not matter.
    fn version_key(&self, variable: u32) -> u128 {
        let version = self.version[index(variable)];
        if self.all_readers(version) == 0 {
            return 0;
        }
        mixed(u64::from(variable) | 1 << 32, version.into())
    }
}

/// Whether a lane's next step may be its last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    No,
    Maybe,
    /// It is anyhow.
    Always,
}

#[derive(Clone, Copy)]
enum Count {
    Up,
    Down,
}

/// 128 bits that are different for different pairs, as far as anybody will ever see.
fn mixed(a: u64, b: u64) -> u128 {
    // Two rounds of splitmix64, from different starts.
    let mix = |start: u64| {
        let z = start.wrapping_add(a.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(b);
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u128::from(z ^ (z >> 31))
    };
    mix(0x1234_5678_9abc_def1) << 64 | mix(a.rotate_left(17) ^ b.rotate_left(40))
}
