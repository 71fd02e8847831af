//! Executes a program step by step, in the preferred order as far as that is possible: which thread takes which step, and
//! which events that makes.
//!
//! This knows Java's rules (who can take a lock, whose element a queue gives, where an exception is caught), and nothing of
//! how the checker sees them. Every step is taken by one thread while all others wait for their turn.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::happening::{Execution, Happening, Location};
use super::locks::Lock;
use super::memory::{self, CAPTURED, Memory};
use super::program::{self, Mode, Program, Statement};
use super::vocabulary::Effect;

/// Tells statements of a program apart.
pub(crate) fn address(statement: &Statement) -> usize {
    std::ptr::from_ref(statement).addr()
}

/// Executes a program. Nothing if threads wait for ever, or if it takes too many steps.
pub(crate) fn execute(program: &Program) -> Option<Execution> {
    let mut world = World::new(program);
    let mut preferred = program.preferred.iter().copied();
    loop {
        let goes_on = |thread: &usize| world.can_go_on(*thread);
        let next = match preferred.next() {
            Some(thread) if thread < world.actors.len() => Some(thread).filter(goes_on),
            Some(_) => None,
            None => match (0..world.actors.len()).find(goes_on) {
                Some(thread) => Some(thread),
                None => return world.finish(),
            },
        };
        if let Some(thread) = next {
            world.step(thread);
        }
        if world.execution.order.len() > MOST_STEPS {
            return None;
        }
    }
}

const MOST_STEPS: usize = 400;

/// A part of the program that a thread is in.
#[derive(Clone)]
struct Frame<'p> {
    what: What,
    rest: &'p [Statement],
    /// The statement that led here, if there is one.
    by: Option<&'p Statement>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Thread,
    Task(usize),
    Method(usize),
    Hold(usize, Mode),
    Try,
    Initialiser(usize),
}

#[derive(Default)]
struct Actor<'p> {
    frames: Vec<Frame<'p>>,
    started: bool,
    /// Waits for a notification or at the barrier.
    waits: bool,
    /// Per method that it is in, the object that it has got from whoever started it, and has passed on.
    captured: Vec<usize>,
}

/// A task that waits for its worker.
#[derive(Clone)]
struct Submitted {
    task: usize,
    /// What the worker receives.
    sent: usize,
    captured: usize,
}

struct World<'p> {
    program: &'p Program,
    actors: Vec<Actor<'p>>,
    locks: Vec<Lock>,
    queues: Vec<VecDeque<(usize, usize)>>,
    /// Per semaphore, what the next to acquire a permit receives, if anything.
    semaphores: Vec<VecDeque<Option<usize>>>,
    /// Per latch: its count, and what each thread sent there last.
    latches: Vec<(usize, BTreeMap<usize, usize>)>,
    arrived: Vec<usize>,
    /// Per executor: tasks that its worker has not begun.
    submitted: Vec<VecDeque<Submitted>>,
    /// Tasks that are done, and what those who wait for them receive.
    done: BTreeMap<usize, usize>,
    /// Classes that are initialised, or about to be, and by whom.
    initialising: BTreeMap<usize, usize>,
    initialised: BTreeSet<usize>,
    /// Per object, the lock that its monitor is.
    monitors: BTreeMap<usize, usize>,
    memory: Memory,
    execution: Execution,
}

impl<'p> World<'p> {
    fn new(program: &'p Program) -> World<'p> {
        let mut actors: Vec<Actor<'p>> = Vec::new();
        for (thread, body) in program.threads.iter().enumerate() {
            let frame = Frame { what: What::Thread, rest: body, by: None };
            let started = !program.is_started_inside(thread);
            actors.push(Actor { frames: vec![frame], started, waits: false, captured: vec![CAPTURED] });
        }
        actors.resize_with(program.threads.len() + program.executors.len(), Actor::default);
        let permits = |&number: &usize| VecDeque::from(vec![None; number]);
        World {
            program,
            actors,
            locks: program.locks.iter().map(|&kind| Lock::new(kind)).collect(),
            queues: vec![VecDeque::new(); program.queues.len()],
            semaphores: program.semaphores.iter().map(permits).collect(),
            latches: program.latches.iter().map(|&count| (count, BTreeMap::new())).collect(),
            arrived: Vec::new(),
            submitted: vec![VecDeque::new(); program.executors.len()],
            done: BTreeMap::new(),
            initialising: BTreeMap::new(),
            initialised: BTreeSet::new(),
            monitors: BTreeMap::new(),
            memory: Memory::new(program),
            execution: Execution::default(),
        }
    }

    fn happens(&mut self, thread: usize, happening: Happening) {
        self.execution.happenings.push((thread, happening));
    }

    fn is_worker(&self, thread: usize) -> bool {
        thread >= self.program.threads.len()
    }

    /// Nobody can take a step. Nothing if that is not because all have come to their ends.
    fn finish(mut self) -> Option<Execution> {
        let is_over = self.submitted.iter().all(VecDeque::is_empty)
            && (0..self.actors.len()).all(|thread| {
                let actor = &self.actors[thread];
                (actor.started || self.is_worker(thread)) && !actor.waits && self.next(thread).is_none()
            });
        (0..self.actors.len()).filter(|_| is_over).for_each(|thread| self.advance(thread));
        is_over.then_some(self.execution)
    }

    /// Whether there is a step that the thread can take now.
    fn can_go_on(&self, thread: usize) -> bool {
        let actor = &self.actors[thread];
        if !actor.started && !self.is_worker(thread) || actor.waits {
            return false;
        }
        let Some(next) = self.next(thread) else { return false };
        match next {
            Next::Leave => true,
            Next::Statement(statement) => self.is_possible(thread, statement),
        }
    }

    /// The next step of a thread, behind all that takes none.
    fn next(&self, thread: usize) -> Option<Next<'p>> {
        let mut frames = self.actors[thread].frames.clone();
        if self.is_worker(thread) && frames.is_empty() {
            let executor = thread - self.program.threads.len();
            let task = self.submitted[executor].front()?.task;
            frames.push(Frame { what: What::Task(task), rest: &self.program.tasks[task], by: None });
        }
        loop {
            let frame = frames.last_mut()?;
            let Some((statement, rest)) = frame.rest.split_first() else {
                if self.program.ends_in_step(frame.what) {
                    return Some(Next::Leave);
                }
                frames.pop();
                continue;
            };
            let inner = match statement {
                Statement::Try { body } => Frame { what: What::Try, rest: body, by: None },
                Statement::Call { method } if self.program.methods[*method].synchronized.is_none() => {
                    Frame { what: What::Method(*method), rest: &self.program.methods[*method].body, by: None }
                }
                _ => return Some(Next::Statement(statement)),
            };
            frame.rest = rest;
            frames.push(inner);
        }
    }

    fn is_possible(&self, thread: usize, statement: &Statement) -> bool {
        match *statement {
            Statement::Hold { lock, mode, .. } => self.locks[lock].can_be_taken(thread, mode),
            Statement::Call { method } => match self.program.methods[method].synchronized {
                Some(lock) => self.locks[lock].can_be_taken(thread, Mode::Exclusive),
                None => true,
            },
            Statement::HoldItem { slot, .. } => match self.monitors.get(&self.memory.object(slot)) {
                Some(&lock) => self.locks[lock].can_be_taken(thread, Mode::Exclusive),
                None => true,
            },
            Statement::Initialise { class } => {
                self.initialised.contains(&class) || !self.initialising.contains_key(&class)
            }
            Statement::Wait { lock } => self.locks[lock].can_wait(thread),
            Statement::Notify { lock } => self.locks[lock].is_held_by(thread),
            Statement::Take { queue } => !self.queues[queue].is_empty(),
            Statement::Acquire { semaphore } => !self.semaphores[semaphore].is_empty(),
            Statement::AwaitLatch { latch } => self.latches[latch].0 == 0,
            // A fork-join pool gives tasks of several threads to its worker in any order.
            Statement::Submit { executor, .. }
                if self.program.executors[executor] == program::Executor::ForkJoin =>
            {
                let worker = self.program.threads.len() + executor;
                self.submitted[executor].is_empty() && self.actors[worker].frames.is_empty()
            }
            Statement::Get { task } => self.done.contains_key(&task),
            Statement::Join { thread } => {
                let actor = &self.actors[thread];
                actor.started && !actor.waits && self.next(thread).is_none()
            }
            _ => true,
        }
    }

    fn step(&mut self, thread: usize) {
        self.execution.order.push(thread);
        self.advance(thread);
        let frames = &mut self.actors[thread].frames;
        let mut within: Vec<usize> = frames.iter().filter_map(|frame| frame.by).map(address).collect();
        let next = frames.last().and_then(|frame| frame.rest.first());
        within.extend(next.map(address));
        self.execution.within.push(within);
        let Some(frame) = frames.last_mut() else { return };
        let Some((statement, rest)) = frame.rest.split_first() else {
            self.leave(thread);
            return;
        };
        frame.rest = rest;
        self.perform(thread, statement);
    }

    /// Does what takes no step.
    fn advance(&mut self, thread: usize) {
        if self.is_worker(thread) && self.actors[thread].frames.is_empty() {
            let executor = thread - self.program.threads.len();
            let Some(Submitted { task, sent, captured }) = self.submitted[executor].pop_front() else {
                return;
            };
            self.actors[thread].captured = vec![captured];
            if !self.actors[thread].started {
                self.actors[thread].started = true;
            }
            self.happens(thread, Happening::Receive(sent));
            self.actors[thread].frames.push(Frame {
                what: What::Task(task),
                rest: &self.program.tasks[task],
                by: None,
            });
        }
        while let Some(frame) = self.actors[thread].frames.last_mut() {
            let Some((statement, rest)) = frame.rest.split_first() else {
                if self.program.ends_in_step(frame.what) {
                    return;
                }
                self.leave(thread);
                continue;
            };
            match statement {
                Statement::Try { body } => {
                    frame.rest = rest;
                    self.actors[thread].frames.push(Frame {
                        what: What::Try,
                        rest: body,
                        by: Some(statement),
                    });
                }
                Statement::Call { method } if self.program.methods[*method].synchronized.is_none() => {
                    frame.rest = rest;
                    self.enter(thread, *method, statement);
                }
                _ => return,
            }
        }
    }

    fn enter(&mut self, thread: usize, method: usize, by: &'p Statement) {
        self.happens(thread, Happening::Begin(method));
        let rest = &self.program.methods[method].body;
        let frame = Frame { what: What::Method(method), rest, by: Some(by) };
        let captured = self.captured(thread);
        self.actors[thread].captured.push(captured);
        self.actors[thread].frames.push(frame);
    }

    /// Leaves the innermost part that the thread is in.
    fn leave(&mut self, thread: usize) -> Option<What> {
        let frame = self.actors[thread].frames.pop()?;
        match frame.what {
            What::Hold(lock, mode) => self.release(thread, lock, mode),
            What::Method(method) => {
                self.actors[thread].captured.pop();
                self.happens(thread, Happening::End);
                if let Some(lock) = self.program.methods[method].synchronized {
                    self.release(thread, lock, Mode::Exclusive);
                }
            }
            What::Task(task) => {
                let sent = self.memory.number();
                self.happens(thread, Happening::Send(sent));
                self.done.insert(task, sent);
            }
            What::Initialiser(class) => {
                self.initialised.insert(class);
                self.happens(thread, Happening::Split);
            }
            What::Thread | What::Try => {}
        }
        Some(frame.what)
    }

    fn acquire(&mut self, thread: usize, lock: usize, mode: Mode) {
        if self.locks[lock].take(thread, mode) {
            self.happens(thread, Happening::Acquire(lock, mode));
        }
    }

    fn release(&mut self, thread: usize, lock: usize, mode: Mode) {
        if self.locks[lock].release(thread, mode) {
            self.happens(thread, Happening::Release(lock, mode));
            if let Some(waiter) = self.locks[lock].wake() {
                self.actors[waiter].waits = false;
            }
        }
    }

    fn perform(&mut self, thread: usize, statement: &'p Statement) {
        match *statement {
            Statement::Access { variable, operation } => self.access(thread, variable, operation),
            Statement::Call { method } => {
                if let Some(lock) = self.program.methods[method].synchronized {
                    self.acquire(thread, lock, Mode::Exclusive);
                }
                self.enter(thread, method, statement);
            }
            Statement::Hold { lock, mode, ref body } => {
                self.acquire(thread, lock, mode);
                let frame = Frame { what: What::Hold(lock, mode), rest: body, by: Some(statement) };
                self.actors[thread].frames.push(frame);
            }
            Statement::HoldItem { slot, ref body } => {
                self.happens(thread, Happening::Access(Location::Variable(slot), Effect::Read));
                let object = self.memory.object(slot);
                let lock = *self.monitors.entry(object).or_insert_with(|| {
                    self.locks.push(Lock::new(program::Lock::Monitor));
                    self.locks.len() - 1
                });
                self.acquire(thread, lock, Mode::Exclusive);
                let what = What::Hold(lock, Mode::Exclusive);
                self.actors[thread].frames.push(Frame { what, rest: body, by: Some(statement) });
            }
            Statement::Wait { lock } => {
                if self.locks[lock].wait(thread) {
                    self.actors[thread].waits = true;
                    self.happens(thread, Happening::Wait(lock));
                }
            }
            Statement::Notify { lock } => self.locks[lock].notify(),
            Statement::Throw => {
                while let Some(what) = self.leave(thread) {
                    if matches!(what, What::Try) {
                        break;
                    }
                }
            }
            Statement::Put { queue } => {
                let (object, sent) = (self.memory.number(), self.memory.number());
                self.item(thread, object, Effect::Write);
                self.happens(thread, Happening::Send(sent));
                self.queues[queue].push_back((object, sent));
            }
            Statement::Take { queue } => {
                let Some((object, sent)) = self.queues[queue].pop_front() else { return };
                self.happens(thread, Happening::Receive(sent));
                self.item(thread, object, Effect::Read);
                self.item(thread, object, Effect::Write);
            }
            Statement::Acquire { semaphore } => {
                match self.semaphores[semaphore].pop_front().flatten() {
                    Some(sent) => self.happens(thread, Happening::Receive(sent)),
                    None => self.happens(thread, Happening::Split),
                };
            }
            Statement::Release { semaphore } => {
                let sent = self.memory.number();
                self.happens(thread, Happening::Send(sent));
                self.semaphores[semaphore].push_back(Some(sent));
            }
            Statement::CountDown { latch } => {
                let sent = self.memory.number();
                self.happens(thread, Happening::Send(sent));
                let (count, senders) = &mut self.latches[latch];
                *count = count.saturating_sub(1);
                senders.insert(thread, sent);
            }
            Statement::AwaitLatch { latch } => {
                self.happens(thread, Happening::Split);
                let senders = self.latches[latch].1.clone();
                for (_, sent) in senders.into_iter().filter(|(sender, _)| *sender != thread) {
                    self.happens(thread, Happening::Receive(sent));
                }
            }
            Statement::Barrier => {
                self.happens(thread, Happening::Arrive);
                self.arrived.push(thread);
                self.actors[thread].waits = true;
                if self.arrived.len() == self.program.parties() {
                    for thread in std::mem::take(&mut self.arrived) {
                        self.actors[thread].waits = false;
                    }
                }
            }
            Statement::Submit { executor, task } => {
                let worker = self.program.threads.len() + executor;
                let sent = self.memory.number();
                let is_first = !self.actors[worker].started && self.submitted[executor].is_empty();
                if is_first {
                    self.happens(thread, Happening::Fork(worker));
                }
                self.happens(thread, Happening::Send(sent));
                let captured = self.captured(thread);
                self.submitted[executor].push_back(Submitted { task, sent, captured });
            }
            Statement::Get { task } => {
                if let Some(&sent) = self.done.get(&task) {
                    self.happens(thread, Happening::Receive(sent));
                }
            }
            Statement::Start { thread: started } => {
                let object = self.memory.number();
                self.item(thread, object, Effect::Write);
                if let Some(captured) = self.actors[thread].captured.last_mut() {
                    *captured = object;
                }
                self.happens(thread, Happening::Fork(started));
                self.actors[started].captured = vec![object];
                self.actors[started].started = true;
            }
            Statement::Join { thread: ended } => {
                // What takes no step is done by now.
                self.advance(ended);
                self.happens(thread, Happening::Join(ended));
            }
            Statement::Initialise { class } => {
                let rest = &self.program.classes[class];
                if !rest.is_empty() && self.initialising.insert(class, thread).is_none() {
                    self.happens(thread, Happening::Split);
                    let frame = Frame { what: What::Initialiser(class), rest, by: Some(statement) };
                    self.actors[thread].frames.push(frame);
                }
            }
            Statement::Try { .. } | Statement::Collect => {}
        }
    }

    /// The object that a method has got from its caller.
    fn captured(&self, thread: usize) -> usize {
        self.actors[thread].captured.last().copied().unwrap_or(CAPTURED)
    }

    /// The field that objects come with.
    fn item(&mut self, thread: usize, object: usize, effect: Effect) {
        self.happens(thread, Happening::Access(memory::field(object), effect));
    }

    fn access(&mut self, thread: usize, variable: usize, operation: usize) {
        let captured = self.captured(thread);
        for (location, effect) in self.memory.access(self.program, variable, operation, captured) {
            self.happens(thread, Happening::Access(location, effect));
        }
    }
}

/// A step that a thread can take next.
enum Next<'p> {
    Statement(&'p Statement),
    /// Releases a lock, or ends a task.
    Leave,
}

impl Program {
    /// Whether it takes a step to leave a part of it.
    fn ends_in_step(&self, what: What) -> bool {
        match what {
            What::Hold(..) | What::Task(_) | What::Initialiser(_) => true,
            What::Method(method) => self.methods[method].synchronized.is_some(),
            What::Thread | What::Try => false,
        }
    }
}
