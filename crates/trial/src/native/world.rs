//! What holds at some step of a program: which actions are possible, and which events they make.
//!
//! No step waits for anything that the order does not provide: locks are taken when they are free, semaphores when they have
//! a permit. A thread that waits on a condition or at the barrier does nothing until others let it go on, and there is always
//! a thread that can. Such a thread holds nothing, so every lock is held by a thread that can release it.

use std::collections::{BTreeSet, VecDeque};

use super::program::{
    Action, AtomicOperation, Guard, INITIALISATIONS, LOCKS, LockKind, Place, SEMAPHORES, SLOT_BYTES, SLOTS,
    Setup, Step,
};
use crate::truth::{self, Access, Bytes, Episode, Event, Label, Operation, Signal, Update};

/// Threads call handlers inside each other at most so deep, and blocks.
const MOST_HANDLERS: usize = 2;
const MOST_BLOCKS: usize = 5;
/// A mutex is taken again at most so often.
const MOST_TIMES: usize = 3;

/// What holds at some step.
pub(super) struct World<'s> {
    setup: &'s Setup,
    /// By number; the first one is nobody.
    threads: Vec<Thread>,
    locks: Vec<Lock>,
    semaphores: Vec<Semaphore>,
    initialisations: [Initialisation; INITIALISATIONS],
    slots: [Option<u64>; SLOTS],
    /// Who owns each zone, if it has an owner.
    owners: Vec<Owner>,
    arrived: BTreeSet<usize>,
    /// How often all have met at the barrier.
    phase: usize,
    allocations: u64,
    signals: u32,
    /// The steps taken so far, and the events that they made.
    pub(super) steps: Vec<Step>,
    pub(super) events: Vec<Event>,
    /// How often the child was run.
    pub(super) forks: usize,
}

#[derive(Clone, Default)]
struct Thread {
    state: State,
    /// What is to be ended, the innermost last.
    frames: Vec<Frame>,
    /// It was let go on, and may not have taken its mutex yet.
    is_resuming: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Absent,
    Runs,
    Waits,
    Ended,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    Block,
    Handler,
}

#[derive(Clone, Default)]
struct Lock {
    holder: Option<usize>,
    times: usize,
    readers: BTreeSet<usize>,
    /// Who waits on its condition, and whether that was signalled.
    waiter: Option<usize>,
    is_signalled: bool,
    /// The waiter may not have released it yet.
    is_being_released: bool,
}

struct Semaphore {
    holder: Option<usize>,
    /// What each permit tells those who take it.
    permits: VecDeque<Option<Signal>>,
}

#[derive(Clone, Default)]
struct Initialisation {
    done: Option<Signal>,
    known_to: BTreeSet<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Thread(usize),
    /// Whoever loads the flag next.
    Anybody,
}

/// Addresses of what is neither static memory nor allocated.
const FLAGS: u64 = 0x1000;
const INITIALISED: u64 = 0x2000;
const ALLOCATIONS: u64 = 0x10000;

impl<'s> World<'s> {
    pub(super) fn new(setup: &'s Setup) -> World<'s> {
        let mut threads = vec![Thread::default(); setup.threads + 1];
        for thread in &mut threads[1..=setup.initial] {
            thread.state = State::Runs;
        }
        World {
            setup,
            threads,
            locks: vec![Lock::default(); LOCKS.len()],
            semaphores: SEMAPHORES
                .map(|permits| Semaphore { holder: None, permits: vec![None; permits].into() })
                .into(),
            initialisations: Default::default(),
            slots: Default::default(),
            owners: vec![Owner::Thread(1); setup.zones.len()],
            arrived: BTreeSet::new(),
            phase: 0,
            allocations: 0,
            signals: 0,
            steps: Vec::new(),
            events: Vec::new(),
            forks: 0,
        }
    }

    /// Takes a step if it is possible.
    pub(super) fn take(&mut self, step: Step) -> bool {
        let is_possible = self.is_possible(step.thread, step.action);
        if is_possible {
            self.steps.push(step);
            self.threads[step.thread].is_resuming = false;
            self.perform(step.thread, step.action);
        }
        is_possible
    }

    pub(super) fn can_run(&self, thread: usize) -> bool {
        self.threads[thread].state == State::Runs
    }

    fn is_possible(&self, thread: usize, action: Action) -> bool {
        let Some(me) = self.threads.get(thread) else { return false };
        if me.state != State::Runs {
            return false;
        }
        let in_handler = me.frames.contains(&Frame::Handler);
        match action {
            Action::Begin(_) => me.frames.len() < MOST_BLOCKS,
            Action::End => me.frames.last() == Some(&Frame::Block),
            Action::Return => me.frames.last() == Some(&Frame::Handler),
            Action::Read(place, length) => self.may_access(thread, place, length, How::Read),
            Action::Write(place, length) | Action::Set(place, length) => {
                self.may_access(thread, place, length, How::Write)
            }
            Action::Copy(to, from, length) => {
                self.may_access(thread, to, length, How::Write)
                    && self.may_access(thread, from, length, How::Read)
                    && !self.overlap(to, from, length)
            }
            Action::Atomic(_, place, width, _) => {
                let (Place::Arena(offset) | Place::Slot(_, offset)) = place;
                offset.is_multiple_of(width) && self.may_access(thread, place, width, How::Atomic)
            }
            // A handler calls nothing that may be called in it by nobody.
            _ if in_handler => false,
            Action::Lock(lock) => self.can_lock(thread, lock),
            Action::TryLock(lock) => self.can_lock(thread, lock) && !self.locks[lock].is_being_released,
            Action::FailToLock(lock) => {
                let lock = &self.locks[lock];
                lock.holder.is_some_and(|holder| holder != thread && !self.threads[holder].is_resuming)
                    || lock.holder.is_none() && !lock.readers.is_empty() && !lock.readers.contains(&thread)
            }
            Action::ReadLock(lock) => {
                let state = &self.locks[lock];
                LOCKS[lock] == LockKind::ReadWrite
                    && state.holder.is_none()
                    && !state.readers.contains(&thread)
            }
            Action::Unlock(lock) => {
                self.locks[lock].holder == Some(thread) || self.locks[lock].readers.contains(&thread)
            }
            Action::Wait(lock) => {
                self.has_condition(thread, lock)
                    && self.locks[lock].waiter.is_none()
                    && !self.holds_anything_but(thread, Some(lock))
                    && !self.is_last_to_run(thread)
            }
            Action::TimedWait(lock) => self.has_condition(thread, lock) && self.locks[lock].waiter.is_none(),
            Action::Signal(lock) => {
                let state = &self.locks[lock];
                state.holder == Some(thread) && state.waiter.is_some() && !state.is_signalled
            }
            Action::Arrive => {
                let is_last = self.arrived.len() + 1 == self.setup.parties;
                let mut parties = 1..=self.setup.parties;
                thread <= self.setup.parties
                    && self.setup.parties > 1
                    && parties.all(|party| self.threads[party].state != State::Ended)
                    && !self.holds_anything_but(thread, None)
                    && (is_last || !self.is_last_to_run(thread))
            }
            Action::Take(semaphore) => !self.semaphores[semaphore].permits.is_empty(),
            Action::Post(semaphore) => {
                SEMAPHORES[semaphore] == 0 || self.semaphores[semaphore].holder == Some(thread)
            }
            Action::Once(_) => true,
            Action::Create(other) => {
                self.threads.get(other).is_some_and(|other| other.state == State::Absent)
            }
            Action::Join(other) => {
                let can_end = self
                    .threads
                    .get(other)
                    .is_some_and(|other| other.state == State::Runs && other.frames.is_empty());
                // A thread that does nothing, or nothing after the barrier, calls functions all the same: whether those are
                // events is no matter of ours.
                let last = self.events.iter().rev().find(|event| event.thread == truth::Thread(other as u32));
                let last = last.map(|event| event.operation);
                let did_something = !matches!(last, None | Some(Operation::Leave(_)));
                can_end
                    && did_something
                    && other != thread
                    && !self.holds_anything_but(other, None)
                    // Who meets others at the barrier has to be there.
                    && (self.arrived.is_empty() || other > self.setup.parties)
            }
            Action::HandOver(zone) => self.is_handed_over(zone) && self.owners[zone] == Owner::Thread(thread),
            Action::TakeOver(zone) => self.is_handed_over(zone) && self.owners[zone] == Owner::Anybody,
            Action::Allocate(slot) => self.slots[slot].is_none() && self.may_move(thread, slot),
            Action::Free(slot) | Action::Reallocate(slot) => {
                self.slots[slot].is_some() && self.may_move(thread, slot)
            }
            // What is open is open in the new process, too.
            Action::Fork => me.frames.is_empty(),
            Action::Interrupt(other) => self.threads.get(other).is_some_and(|other| {
                let handlers = other.frames.iter().filter(|frame| **frame == Frame::Handler).count();
                other.state == State::Runs && handlers < MOST_HANDLERS && other.frames.len() < MOST_BLOCKS
            }),
        }
    }

    fn can_lock(&self, thread: usize, lock: usize) -> bool {
        let state = &self.locks[lock];
        match state.holder {
            Some(holder) => {
                holder == thread && LOCKS[lock] == LockKind::Recursive && state.times < MOST_TIMES
            }
            None => state.readers.is_empty(),
        }
    }

    fn has_condition(&self, thread: usize, lock: usize) -> bool {
        let state = &self.locks[lock];
        matches!(LOCKS[lock], LockKind::Mutex | LockKind::Recursive)
            && state.holder == Some(thread)
            && state.times == 1
    }

    fn is_handed_over(&self, zone: usize) -> bool {
        self.setup.zones.get(zone).is_some_and(|zone| zone.guard == Guard::Owner)
    }

    fn holds_anything_but(&self, thread: usize, exception: Option<usize>) -> bool {
        let mut locks = self.locks.iter().enumerate();
        locks.any(|(lock, state)| {
            let is_held = state.holder == Some(thread) || state.readers.contains(&thread);
            is_held && Some(lock) != exception
        }) || self.semaphores.iter().any(|semaphore| semaphore.holder == Some(thread))
    }

    fn is_last_to_run(&self, thread: usize) -> bool {
        let mut others = self.threads.iter().enumerate().filter(|(other, _)| *other != thread);
        others.all(|(_, other)| other.state != State::Runs)
    }

    /// Whether this is inside one zone or allocation, and no race.
    fn may_access(&self, thread: usize, place: Place, length: usize, how: How) -> bool {
        match place {
            Place::Arena(start) => {
                let end = start + length;
                let zones = self.setup.zones.iter().enumerate();
                let mut touched = zones.filter(|(_, zone)| zone.start < end && start < zone.end).peekable();
                touched.peek().is_some()
                    && end <= self.setup.zones.last().map_or(0, |zone| zone.end)
                    && touched.all(|(number, zone)| self.allows(thread, zone.guard, number, how))
            }
            Place::Slot(slot, start) => {
                let zone = &self.setup.slots[slot];
                self.slots[slot].is_some()
                    && start + length <= SLOT_BYTES
                    && self.allows(thread, zone.guard, 0, how)
            }
        }
    }

    /// Whether memory may come and go.
    fn may_move(&self, thread: usize, slot: usize) -> bool {
        self.allows(thread, self.setup.slots[slot].guard, 0, How::Write)
    }

    fn allows(&self, thread: usize, guard: Guard, zone: usize, how: How) -> bool {
        match guard {
            Guard::Lock(lock) => {
                let state = &self.locks[lock];
                state.holder == Some(thread) || how == How::Read && state.readers.contains(&thread)
            }
            Guard::Semaphore => self.semaphores[0].holder == Some(thread),
            Guard::Turn => (zone + self.phase) % self.setup.parties + 1 == thread,
            Guard::Owner => self.owners[zone] == Owner::Thread(thread),
            Guard::Atomic => how == How::Atomic,
            Guard::Nothing => true,
        }
    }

    fn overlap(&self, to: Place, from: Place, length: usize) -> bool {
        let (to, from) = (self.address(to), self.address(from));
        to < from + length as u64 && from < to + length as u64
    }

    fn address(&self, place: Place) -> u64 {
        match place {
            Place::Arena(offset) => offset as u64,
            Place::Slot(slot, offset) => self.slots[slot].unwrap_or_default() + offset as u64,
        }
    }

    fn event(&mut self, thread: usize, operation: Operation) {
        self.events.push(Event { thread: truth::Thread(thread as u32), operation });
    }

    fn access(&mut self, thread: usize, access: Access, place: Place, length: usize) {
        let bytes = Bytes { address: self.address(place), length: length as u64 };
        self.event(thread, Operation::Access(access, bytes));
    }

    fn signal(&mut self) -> Signal {
        self.signals += 1;
        Signal(self.signals)
    }

    fn perform(&mut self, thread: usize, action: Action) {
        match action {
            Action::Begin(label) => {
                self.threads[thread].frames.push(Frame::Block);
                self.event(thread, Operation::Begin(Label(label as u32)));
            }
            Action::End => {
                self.threads[thread].frames.pop();
                self.event(thread, Operation::End);
            }
            Action::Return => {
                self.threads[thread].frames.pop();
            }
            Action::Read(place, length) => self.access(thread, Access::Read, place, length),
            Action::Write(place, length) | Action::Set(place, length) => {
                self.access(thread, Access::Write, place, length);
            }
            Action::Copy(to, from, length) => {
                self.access(thread, Access::Read, from, length);
                self.access(thread, Access::Write, to, length);
            }
            Action::Atomic(operation, place, width, _) => {
                self.access(thread, effect(operation), place, width);
            }
            Action::Lock(lock) | Action::TryLock(lock) => {
                let state = &mut self.locks[lock];
                (state.holder, state.times) = (Some(thread), state.times + 1);
                state.is_being_released = false;
                if state.times == 1 {
                    self.event(thread, Operation::Acquire(truth::Lock(lock as u32)));
                }
            }
            Action::FailToLock(_) => {}
            Action::ReadLock(lock) => {
                self.locks[lock].readers.insert(thread);
                self.event(thread, Operation::AcquireShared(truth::Lock(lock as u32)));
            }
            Action::Unlock(lock) => self.unlock(thread, lock),
            Action::Wait(lock) => {
                self.event(thread, Operation::Release(truth::Lock(lock as u32)));
                let state = &mut self.locks[lock];
                *state = Lock { waiter: Some(thread), is_being_released: true, ..Lock::default() };
                self.threads[thread].state = State::Waits;
            }
            Action::TimedWait(lock) => {
                let lock = truth::Lock(lock as u32);
                self.event(thread, Operation::Release(lock));
                self.event(thread, Operation::Split);
                self.event(thread, Operation::Acquire(lock));
            }
            Action::Signal(lock) => self.locks[lock].is_signalled = true,
            Action::Arrive => self.arrive(thread),
            Action::Take(semaphore) => {
                self.event(thread, Operation::Split);
                let state = &mut self.semaphores[semaphore];
                if SEMAPHORES[semaphore] > 0 {
                    state.holder = Some(thread);
                }
                if let Some(signal) = state.permits.pop_front().flatten() {
                    self.event(thread, Operation::Receive(signal));
                }
            }
            Action::Post(semaphore) => {
                let signal = self.signal();
                self.event(thread, Operation::Send(signal));
                let state = &mut self.semaphores[semaphore];
                state.holder = None;
                state.permits.push_back(Some(signal));
            }
            Action::Once(number) => self.initialise(thread, number),
            Action::Create(other) => {
                self.event(thread, Operation::Fork(truth::Thread(other as u32)));
                self.threads[other].state = State::Runs;
                for zone in (1..self.owners.len()).step_by(2) {
                    self.hand_over(zone, thread, other);
                }
            }
            Action::Join(other) => {
                self.event(thread, Operation::Split);
                self.event(thread, Operation::Join(truth::Thread(other as u32)));
                self.threads[other].state = State::Ended;
                for zone in 0..self.owners.len() {
                    self.hand_over(zone, other, thread);
                }
            }
            Action::HandOver(zone) | Action::TakeOver(zone) => {
                let (access, owner) = match action {
                    Action::HandOver(_) => (Access::Write, Owner::Anybody),
                    _ => (Access::Read, Owner::Thread(thread)),
                };
                self.owners[zone] = owner;
                let bytes = Bytes { address: FLAGS + 8 * zone as u64, length: 8 };
                self.event(thread, Operation::Access(access, bytes));
            }
            Action::Allocate(slot) | Action::Reallocate(slot) => {
                self.allocations += 1;
                self.slots[slot] = Some(ALLOCATIONS * self.allocations);
            }
            Action::Free(slot) => self.slots[slot] = None,
            Action::Fork => self.forks += 1,
            Action::Interrupt(other) => self.threads[other].frames.push(Frame::Handler),
        }
    }

    fn hand_over(&mut self, zone: usize, from: usize, to: usize) {
        if self.owners[zone] == Owner::Thread(from) {
            self.owners[zone] = Owner::Thread(to);
        }
    }

    fn unlock(&mut self, thread: usize, lock: usize) {
        let state = &mut self.locks[lock];
        let number = truth::Lock(lock as u32);
        if state.readers.remove(&thread) {
            self.event(thread, Operation::ReleaseShared(number));
            return;
        }
        state.times -= 1;
        if state.times > 0 {
            return;
        }
        state.holder = None;
        // A thread that was signalled has its mutex again as soon as it is free: nobody else takes it before.
        let resumed = if state.is_signalled { state.waiter.take() } else { None };
        if let Some(waiter) = resumed {
            *state = Lock { holder: Some(waiter), times: 1, ..Lock::default() };
        }
        self.event(thread, Operation::Release(number));
        if let Some(waiter) = resumed {
            self.threads[waiter].state = State::Runs;
            self.threads[waiter].is_resuming = true;
            self.event(waiter, Operation::Split);
            self.event(waiter, Operation::Acquire(number));
        }
    }

    fn arrive(&mut self, thread: usize) {
        let episode = Episode(self.phase as u32);
        self.event(thread, Operation::Arrive(episode));
        self.threads[thread].state = State::Waits;
        self.arrived.insert(thread);
        if self.arrived.len() == self.setup.parties {
            self.phase += 1;
            for thread in std::mem::take(&mut self.arrived) {
                self.threads[thread].state = State::Runs;
                self.event(thread, Operation::Split);
                self.event(thread, Operation::Leave(episode));
            }
        }
    }

    /// Once-only initialisation splits the blocks of the thread that does it, before and after, and those of each thread
    /// that first finds it done.
    fn initialise(&mut self, thread: usize, number: usize) {
        let bytes = Bytes { address: INITIALISED + 8 * number as u64, length: 4 };
        let is_news = self.initialisations[number].known_to.insert(thread);
        if is_news {
            self.event(thread, Operation::Split);
        }
        match self.initialisations[number].done {
            None => {
                self.event(thread, Operation::Access(Access::Write, bytes));
                let signal = self.signal();
                self.initialisations[number].done = Some(signal);
                self.event(thread, Operation::Send(signal));
                self.event(thread, Operation::Split);
            }
            Some(signal) if is_news => self.event(thread, Operation::Receive(signal)),
            Some(_) => {}
        }
        self.event(thread, Operation::Access(Access::Read, bytes));
    }

    /// Lets everything come to an end: handlers return, locks are released, waiting threads go on, blocks are left.
    pub(super) fn finish(&mut self) {
        let threads = self.setup.threads;
        for thread in 1..=threads {
            while self.threads[thread].frames.contains(&Frame::Handler) {
                let innermost = self.threads[thread].frames.last();
                let action = if innermost == Some(&Frame::Block) { Action::End } else { Action::Return };
                self.take(Step { thread, action });
            }
        }
        // Whoever was signalled has something to release when others have.
        for thread in (0..=LOCKS.len()).flat_map(|_| 1..=threads) {
            self.release_all(thread);
        }
        for lock in 0..LOCKS.len() {
            let runs = (1..=threads).find(|&thread| self.can_run(thread));
            if let (Some(thread), Some(waiter)) = (runs, self.locks[lock].waiter) {
                for action in [Action::Lock(lock), Action::Signal(lock), Action::Unlock(lock)] {
                    self.take(Step { thread, action });
                }
                self.release_all(waiter);
            }
        }
        if !self.arrived.is_empty() {
            let missing: Vec<usize> =
                (1..=self.setup.parties).filter(|party| !self.arrived.contains(party)).collect();
            for thread in missing {
                self.take(Step { thread, action: Action::Arrive });
            }
        }
        for thread in 1..=threads {
            while self.take(Step { thread, action: Action::End }) {}
        }
        debug_assert!(self.threads.iter().all(|thread| thread.frames.is_empty()), "all blocks are left");
    }

    fn release_all(&mut self, thread: usize) {
        for lock in 0..LOCKS.len() {
            while self.take(Step { thread, action: Action::Unlock(lock) }) {}
        }
        if self.semaphores[0].holder == Some(thread) {
            self.take(Step { thread, action: Action::Post(0) });
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Read,
    Write,
    Atomic,
}

fn effect(operation: AtomicOperation) -> Access {
    // The compiler's hooks do not tell whether a result is used.
    let update = |kind| Access::Update { kind, is_result_used: false };
    match operation {
        AtomicOperation::Load | AtomicOperation::FailingCompareExchange => Access::Read,
        AtomicOperation::Store => Access::Write,
        AtomicOperation::Exchange | AtomicOperation::FetchNand | AtomicOperation::CompareExchange => {
            Access::ReadWrite
        }
        AtomicOperation::FetchAdd | AtomicOperation::FetchSub => update(Update::Add),
        AtomicOperation::FetchAnd => update(Update::And),
        AtomicOperation::FetchOr => update(Update::Or),
        AtomicOperation::FetchXor => update(Update::Xor),
    }
}
