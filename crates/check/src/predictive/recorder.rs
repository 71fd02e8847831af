//! Records an execution: cuts it into units, keeps every access with the locks held at it.
//!
//! An event costs O(1), besides the clocks at fork, join and barrier. Memory grows with the number of accesses
//! (40 bytes) and acquires (60 bytes): the algorithms are off-line.

use atomvet_trace::{LockId, Mode, Op, RegionId, ThreadId, VarId};

use super::execution::{
    Access, BlockId, Execution, Location, LocationId, Nested, Touch, Unit, UnitId, UnitKind,
};
use super::periods::PeriodId;
use super::stacks::{Section, SectionId, StackId};
use crate::lower::{self, Channel, ChannelKind};
use crate::{Block, Here};

/// An execution in the making.
#[derive(Debug, Default)]
pub struct Recorder {
    threads: Vec<Thread>,
    /// Per channel that is not a lock, how many periods of each thread went into it.
    sent: Vec<Vec<u32>>,
    /// Per variable, its current life.
    current: Vec<Option<LocationId>>,
    execution: Execution,
}

#[derive(Debug, Default)]
struct Thread {
    /// How many steps it has made: accesses, acquires and releases.
    steps: u32,
    /// What it holds.
    stack: StackId,
    /// Its open blocks, outermost first.
    open: Vec<BlockId>,
    /// The unit at work, if it has had a step.
    unit: Option<UnitId>,
    /// The accesses and sections of that unit.
    accesses: Vec<Access>,
    entered: Vec<SectionId>,
    /// The period at work, if it has had a unit.
    period: Option<PeriodId>,
    /// How many periods of each thread are before the current one.
    clock: Vec<u32>,
}

/// What a unit starts with. (After a wait, the event at which the lock is taken again may be an access.)
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Access,
    Acquire,
}

impl Recorder {
    /// An outermost block begins.
    pub fn begin(&mut self, here: Here, block: Block) {
        // A critical section around the block was a unit up to here.
        self.end_unit(here.thread);
        self.nest(here, block);
    }

    /// The outermost block ends.
    pub fn end(&mut self, here: Here) {
        self.end_unit(here.thread);
        self.thread(here.thread).open.clear();
    }

    /// A block begins inside another.
    pub fn nest(&mut self, here: Here, block: Block) {
        let id = BlockId(self.execution.blocks.len() as u32);
        let thread = self.thread(here.thread);
        let outer = thread.open.last().copied();
        thread.open.push(id);
        self.execution.blocks.push(Nested { block, outer });
    }

    /// The innermost block ends.
    pub fn unnest(&mut self, here: Here) {
        self.thread(here.thread).open.pop();
    }

    /// A variable is accessed.
    pub fn access(&mut self, here: Here, variable: VarId, access: lower::Access) {
        let touch = match (access, here.op) {
            (lower::Access::Read, _) => Touch::Read,
            (lower::Access::Commuting(kind), _) => Touch::Commuting(kind),
            (lower::Access::Write, Op::Update(_, kind)) => Touch::Update(kind),
            (lower::Access::Write, _) => Touch::Write,
        };
        let location = self.location(variable, here.thread, touch);
        let unit = self.unit(here, First::Access);
        let thread = &mut self.threads[here.thread.index()];
        thread.accesses.push(Access {
            at: here.at,
            site: here.site,
            location,
            touch,
            atomic: here.op.is_atomic(),
            stack: thread.stack,
            step: thread.steps,
            unit,
            block: thread.open.last().copied(),
        });
        thread.steps += 1;
        if self.execution.units[unit.0 as usize].kind == UnitKind::Single {
            self.end_unit(here.thread);
        }
    }

    /// A release, or something that ends a period: a fork, an arrival at a barrier.
    pub fn send(&mut self, here: Here, channel: Channel, mode: Mode) {
        if let ChannelKind::Lock(lock) = channel.kind {
            return self.release(here, lock, mode);
        }
        self.end_period(here.thread);
        let slot = channel.slot as usize;
        if slot >= self.sent.len() {
            self.sent.resize_with(slot + 1, Vec::new);
        }
        let clock = &self.threads[here.thread.index()].clock;
        join(&mut self.sent[slot], clock);
    }

    /// An acquire, or the start of a period after what was sent.
    pub fn receive(&mut self, here: Here, channel: Channel, mode: Mode) {
        if let ChannelKind::Lock(lock) = channel.kind {
            return self.acquire(here, lock, mode);
        }
        self.end_period(here.thread);
        let sent = self.sent.get(channel.slot as usize).map_or(&[][..], Vec::as_slice);
        join(&mut self.threads[here.thread.index()].clock, sent);
    }

    /// All of another thread goes before what follows.
    pub fn join(&mut self, here: Here, child: ThreadId) {
        self.end_period(child);
        self.end_period(here.thread);
        let ended = self.thread(child).clock.clone();
        join(&mut self.thread(here.thread).clock, &ended);
    }

    /// From now on a variable is another one.
    pub fn new_life(&mut self, variable: VarId) {
        if let Some(current) = self.current.get_mut(variable.index()) {
            *current = None;
        }
    }

    /// What was done to a variable in this life was done in private.
    pub fn escape(&mut self, variable: VarId) {
        if let Some(id) = self.current.get_mut(variable.index()).and_then(Option::take) {
            self.execution.locations[id.0 as usize].private = true;
        }
    }

    /// Nothing will be received from a channel.
    pub fn close(&mut self, channel: Channel) {
        if let Some(sent) = self.sent.get_mut(channel.slot as usize) {
            *sent = Vec::new();
        }
    }

    /// The execution is over.
    pub fn finish(mut self) -> Execution {
        for thread in 0..self.threads.len() {
            self.end_unit(ThreadId(thread as u32));
        }
        self.execution
    }

    fn acquire(&mut self, here: Here, lock: LockId, mode: Mode) {
        self.unit(here, First::Acquire);
        let thread = &mut self.threads[here.thread.index()];
        let section = Section {
            lock,
            mode,
            thread: here.thread,
            period: thread.period.unwrap_or(PeriodId(0)),
            acquired: here.at,
            site: here.site,
            outer: thread.stack,
            start: thread.steps,
            end: u32::MAX,
            released: here.at,
            release_site: here.site,
        };
        thread.steps += 1;
        let id = SectionId(self.execution.stacks.sections().len() as u32);
        thread.stack = self.execution.stacks.enter(section);
        thread.entered.push(id);
    }

    fn release(&mut self, here: Here, lock: LockId, mode: Mode) {
        let Recorder { threads, execution, .. } = self;
        let Some(thread) = threads.get_mut(here.thread.index()) else { return };
        if let Some((rest, _)) = execution.stacks.leave(thread.stack, lock, mode, thread.steps, here) {
            thread.stack = rest;
            thread.steps += 1;
        }
        if thread.stack == StackId::EMPTY && thread.open.is_empty() {
            self.end_unit(here.thread);
        }
    }

    /// The unit at work; a new one, if none is.
    fn unit(&mut self, here: Here, first: First) -> UnitId {
        let period = self.period(here.thread);
        let Recorder { threads, execution, .. } = self;
        let thread = &mut threads[here.thread.index()];
        if let Some(unit) = thread.unit {
            return unit;
        }
        let (kind, block) = match thread.open.first() {
            Some(outermost) => (UnitKind::Transaction, execution.blocks[outermost.0 as usize].block),
            None => {
                let is_single = thread.stack == StackId::EMPTY && first == First::Access;
                let kind = if is_single { UnitKind::Single } else { UnitKind::Section };
                let Here { at, thread, site, .. } = here;
                (kind, Block { begin: at, thread, region: RegionId::NONE, site })
            }
        };
        let id = UnitId(execution.units.len() as u32);
        thread.unit = Some(id);
        execution.units.push(Unit {
            kind,
            thread: here.thread,
            period,
            block,
            accesses: 0..0,
            entered: 0..0,
            root: thread.stack,
            steps: thread.steps..thread.steps,
        });
        id
    }

    fn end_unit(&mut self, thread: ThreadId) {
        let Recorder { threads, execution, .. } = self;
        let Some(thread) = threads.get_mut(thread.index()) else { return };
        let Some(id) = thread.unit.take() else { return };
        let unit = &mut execution.units[id.0 as usize];
        unit.steps.end = thread.steps;
        let first = execution.accesses.len() as u32;
        execution.accesses.append(&mut thread.accesses);
        unit.accesses = first..execution.accesses.len() as u32;
        let first = execution.entered.len() as u32;
        execution.entered.append(&mut thread.entered);
        unit.entered = first..execution.entered.len() as u32;
    }

    fn period(&mut self, thread: ThreadId) -> PeriodId {
        let state = self.thread(thread);
        if let Some(period) = state.period {
            return period;
        }
        let Recorder { threads, execution, .. } = self;
        let state = &mut threads[thread.index()];
        let period = execution.periods.start(thread, &state.clock);
        state.period = Some(period);
        period
    }

    /// What follows in this thread is another period and another unit.
    fn end_period(&mut self, thread: ThreadId) {
        self.end_unit(thread);
        let state = self.thread(thread);
        if state.period.take().is_some() {
            if thread.index() >= state.clock.len() {
                state.clock.resize(thread.index() + 1, 0);
            }
            state.clock[thread.index()] += 1;
        }
    }

    fn location(&mut self, variable: VarId, thread: ThreadId, touch: Touch) -> LocationId {
        if variable.index() >= self.current.len() {
            self.current.resize(variable.index() + 1, None);
        }
        let locations = &mut self.execution.locations;
        let id = *self.current[variable.index()].get_or_insert_with(|| {
            locations.push(Location {
                variable,
                first_thread: None,
                several_threads: false,
                written: false,
                private: false,
            });
            LocationId(locations.len() as u32 - 1)
        });
        let location = &mut locations[id.0 as usize];
        location.several_threads |= *location.first_thread.get_or_insert(thread) != thread;
        location.written |= touch.writes();
        id
    }

    fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        if thread.index() >= self.threads.len() {
            self.threads.resize_with(thread.index() + 1, Thread::default);
        }
        &mut self.threads[thread.index()]
    }
}

/// The larger of each.
fn join(clock: &mut Vec<u32>, other: &[u32]) {
    if other.len() > clock.len() {
        clock.resize(other.len(), 0);
    }
    for (own, &other) in clock.iter_mut().zip(other) {
        *own = (*own).max(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::predictive::record;

    /// Every unit as `thread kind accesses`, with the locks held at each access.
    #[track_caller]
    fn check(trace: &str, expected: &[&str]) {
        let (events, names) = crate::notation::parse(trace);
        let execution = record(&Config::default(), &events);
        let mut found = Vec::new();
        for (_, unit) in execution.units() {
            let mut text = format!("{} {:?}", unit.thread.0, unit.kind);
            for access in execution.accesses_of(unit) {
                let locks = execution.locks_held(access.stack);
                let locks: Vec<&str> = locks.iter().map(|&lock| names.locks.get(lock)).collect();
                let variable = execution.location(access.location).variable;
                text += &format!(" {:?}({}){}", access.touch, names.variables.get(variable), locks.join("+"));
            }
            found.push(text);
        }
        assert_eq!(found, expected, "{trace}");
    }

    #[test]
    fn units_are_transactions_sections_and_single_accesses() {
        check(
            "1:r(x) 1:b 1:acq(l) 1:w(x) 1:rel(l) 1:b 1:r(x) 1:e 1:e 1:acq(l) 1:acq(m) 1:w(y) 1:rel(m) 1:w(x) 1:rel(l)",
            &["1 Single Read(x)", "1 Transaction Write(x)l Read(x)", "1 Section Write(y)l+m Write(x)l"],
        );
    }

    #[test]
    fn a_block_inside_a_critical_section_is_a_unit_of_its_own() {
        check(
            "1:acq(l) 1:r(x) 1:b 1:w(x) 1:e 1:r(x) 1:rel(l)",
            &["1 Section Read(x)l", "1 Transaction Write(x)l", "1 Section Read(x)l"],
        );
    }

    #[test]
    fn fork_join_and_barrier_end_units_and_order_them() {
        let trace = "1:b 1:w(x) 1:fork(2) 1:w(y) 1:e 2:r(x) 1:join(2) 1:r(z)";
        check(
            trace,
            &["1 Transaction Write(x)", "1 Transaction Write(y)", "2 Single Read(x)", "1 Single Read(z)"],
        );
        let execution = record(&Config::default(), &crate::notation::parse(trace).0);
        let [before, beside, child, after] = [0, 1, 2, 3].map(UnitId);
        assert!(execution.before(before, child) && execution.before(child, after));
        assert!(execution.concurrent(beside, child) && !execution.concurrent(before, child));
        let periods = &execution.periods;
        let of_child = execution.unit(child).period;
        assert_eq!(periods.concurrent_with(of_child, ThreadId(1)), 1..2);
        assert_eq!(periods.first_after(of_child, ThreadId(1)), 2);
    }

    #[test]
    fn a_barrier_separates_what_is_on_its_two_sides() {
        let execution = record(
            &Config::default(),
            &crate::notation::parse("1:w(x) 2:w(y) 1:barrier(b) 2:barrier(b) 1:r(y) 2:r(x)").0,
        );
        let [one, two, one_after, two_after] = [0, 1, 2, 3].map(UnitId);
        assert!(execution.concurrent(one, two) && execution.concurrent(one_after, two_after));
        assert!(execution.before(one, two_after) && execution.before(two, one_after));
    }

    #[test]
    fn a_wait_leaves_the_critical_section_and_enters_another() {
        let execution = record(
            &Config::default(),
            &crate::notation::parse("1:b 1:acq(l) 1:r(x) 1:wait(l) 1:r(x) 1:rel(l) 1:e").0,
        );
        let [one, other] = execution.accesses[..] else { panic!("two accesses") };
        assert_eq!(execution.stacks.held12(one.stack, other.stack).count(), 0);
        assert_eq!(execution.stacks.path(one.stack), execution.stacks.path(other.stack));
    }

    #[test]
    fn locks_may_be_released_in_any_order() {
        let (events, names) =
            crate::notation::parse("1:b 1:acq(l) 1:acq(m) 1:r(x) 1:rel(l) 1:r(x) 1:rel(m) 1:e");
        let execution = record(&Config::default(), &events);
        let [one, other] = execution.accesses[..] else { panic!("two accesses") };
        let common: Vec<_> = execution.stacks.held12(one.stack, other.stack).collect();
        assert_eq!(common.len(), 1);
        assert_eq!(names.locks.get(execution.stacks.section(common[0]).lock), "m");
    }

    #[test]
    fn what_was_private_or_of_another_life_is_another_location() {
        let execution = record(
            &Config::default(),
            &crate::notation::parse("1:w(x) 1:escape(x) 2:r(x) 1:w(x) 1:free(x) 1:w(x) 2:r(y) 1:r(y)").0,
        );
        let local: Vec<bool> = execution.locations.iter().map(Location::is_local).collect();
        assert_eq!(local, [true, false, true, true]);
    }

    #[test]
    fn the_outermost_common_lock_is_where_two_paths_meet() {
        let trace =
            "1:acq(a) 1:acq(l) 1:acq(m) 1:r(x) 1:rel(m) 1:rel(l) 1:rel(a) 2:acq(m) 2:acq(b) 2:acq(l) 2:r(x)";
        let execution = record(&Config::default(), &crate::notation::parse(trace).0);
        let [one, other] = [0, 1].map(|i: usize| execution.stacks.path(execution.accesses[i].stack));
        let meet = execution.stacks.meet(one, other).unwrap();
        assert_eq!((meet.level, meet.other_level), (1, 2));
        let back = execution.stacks.meet(other, one).unwrap();
        assert_eq!((back.level, back.other_level), (0, 2));
    }
}
