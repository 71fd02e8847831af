//! Random schedules: what threads do, step by step, for the program `walker` and as the trace that it makes.
//!
//! Nobody has to wait for what a schedule does not say: locks are taken when they are free, semaphores when they count. Who
//! waits on a condition or at a barrier does nothing until others have let it go on; there is always one who can.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;

use super::Random;

const VARIABLES: u64 = 12;
/// As many of each kind, by numbers from 0.
const OBJECTS: u64 = 3;

/// How variables are accessed, and how threads synchronise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// Under the mutex that each has.
    Locked,
    /// By atomic operations, with mutexes as well.
    Atomic,
    /// The same, with synchronisation of all kinds.
    AtomicAndSynchronised,
    /// By additions, and a few other atomic operations.
    Counting,
    /// Anyhow, with mutexes as well.
    Racy,
    /// The same, by plain accesses and atomic operations.
    RacyAndAtomic,
    /// Under mutexes, read-write locks and semaphores, or by turns between barriers; with conditions and initialisations.
    Synchronised,
    /// Anyhow, with all of these.
    RacyAndSynchronised,
}

impl Style {
    pub(super) fn is_racy(self) -> bool {
        matches!(self, Style::Racy | Style::RacyAndAtomic | Style::RacyAndSynchronised)
    }

    fn has_all_kinds(self) -> bool {
        matches!(self, Style::Synchronised | Style::AtomicAndSynchronised | Style::RacyAndSynchronised)
    }
}

/// A schedule, for the program and as a trace.
#[derive(Default)]
pub(super) struct Schedule {
    pub(super) threads: u64,
    pub(super) steps: String,
    pub(super) trace: String,
}

/// What holds at some step. Threads have numbers from 1; 0 is nobody.
struct World {
    style: Style,
    schedule: Schedule,
    blocks: u64,
    threads: Vec<Thread>,
    /// Whether its value was read.
    read: [bool; VARIABLES as usize],
    mutexes: [Mutex; OBJECTS as usize],
    locks: [ReadWriteLock; OBJECTS as usize],
    semaphores: [Semaphore; OBJECTS as usize],
    initialisations: [Initialisation; OBJECTS as usize],
    /// Who waits at the barrier, and how often all have met there.
    arrived: BTreeSet<u64>,
    phase: u64,
    signals: u64,
}

#[derive(Clone, Default)]
struct Thread {
    depth: u32,
    waits: bool,
}

#[derive(Default)]
struct Mutex {
    holder: u64,
    /// Who waits on its condition, and whether that was signalled.
    waiter: u64,
    signalled: bool,
}

#[derive(Default)]
struct ReadWriteLock {
    writer: u64,
    readers: BTreeSet<u64>,
}

/// Counts from 1 and is used like a lock.
#[derive(Default)]
struct Semaphore {
    holder: u64,
    /// What the next to take it reads; nothing at first.
    posts: VecDeque<u64>,
}

#[derive(Default)]
struct Initialisation {
    known_to: BTreeSet<u64>,
}

/// A random schedule.
pub(super) fn schedule(random: &mut Random, style: Style) -> Schedule {
    let threads = 2 + random.below(if style == Style::Locked { 2 } else { 5 });
    let mut world = World::new(style, threads);
    // Few variables and threads that go on for a while make for orders that matter.
    let used = 1 + random.below(VARIABLES);
    let mut thread = 1;
    let steps = if style.has_all_kinds() { 150 + random.below(150) } else { 40 + random.below(80) };
    for _ in 0..steps {
        if random.below(3) == 0 || world.thread(thread).waits {
            thread = 1 + random.below(threads);
        }
        if world.thread(thread).waits {
            continue;
        }
        // Blocks that give locks back and take them again are what is wrong where there are no races.
        let choice = random.below(10);
        let synchronises = matches!(style, Style::Locked | Style::Synchronised) && choice > 6;
        match if synchronises { 3 } else { choice } {
            0 | 1 => world.begin(thread),
            2 => world.end(thread),
            3 | 4 => {
                let kind = if style.has_all_kinds() { random.below(7) } else { 0 };
                world.synchronise(thread, kind, random.below(OBJECTS));
            }
            _ => {
                let (variable, operation) = (random.below(used), random.below(60));
                world.access(thread, variable, operation);
            }
        }
    }
    world.finish()
}

impl World {
    fn new(style: Style, threads: u64) -> World {
        let mut trace = String::new();
        for thread in 1..=threads {
            let _ = writeln!(trace, "main|fork(T{thread})|0");
        }
        World {
            style,
            schedule: Schedule { threads, steps: String::new(), trace },
            blocks: 0,
            threads: vec![Thread::default(); threads as usize + 1],
            read: [false; VARIABLES as usize],
            mutexes: Default::default(),
            locks: Default::default(),
            semaphores: Default::default(),
            initialisations: Default::default(),
            arrived: BTreeSet::new(),
            phase: 0,
            signals: 0,
        }
    }

    fn thread(&mut self, thread: u64) -> &mut Thread {
        &mut self.threads[thread as usize]
    }

    fn step(&mut self, thread: u64, step: char, operand: u64) {
        let _ = writeln!(self.schedule.steps, "{thread} {step} {operand}");
    }

    fn event(&mut self, thread: u64, event: impl std::fmt::Display) {
        let _ = writeln!(self.schedule.trace, "T{thread}|{event}|0");
    }

    /// Blocks are split here, and nobody else is concerned.
    fn split(&mut self, thread: u64) {
        self.event(thread, format_args!("barrier(own{thread})"));
    }

    fn begin(&mut self, thread: u64) {
        if self.thread(thread).depth < 4 {
            self.blocks += 1;
            let block = self.blocks;
            self.thread(thread).depth += 1;
            self.step(thread, 'B', block);
            self.event(thread, format_args!("begin(b{block})"));
        }
    }

    fn end(&mut self, thread: u64) {
        if self.thread(thread).depth > 0 {
            self.thread(thread).depth -= 1;
            self.step(thread, 'E', 0);
            self.event(thread, "end");
        }
    }

    fn access(&mut self, thread: u64, variable: u64, operation: u64) {
        let operations: &[(char, &str)] = match self.style {
            Style::Atomic | Style::AtomicAndSynchronised => {
                &[('L', "r"), ('L', "r"), ('S', "w"), ('X', "rmw")]
            }
            Style::RacyAndAtomic => &[('r', "r"), ('w', "w"), ('L', "r"), ('S', "w"), ('X', "rmw")],
            Style::Counting if variable.is_multiple_of(3) => {
                &[('A', "add"), ('A', "add"), ('L', "r"), ('S', "w"), ('X', "rmw")]
            }
            // Written more than once, and read late if at all.
            Style::Counting if operation == 59 => &[('L', "r")],
            Style::Counting => &[('A', "add"), ('A', "add"), ('A', "add"), ('A', "add"), ('S', "w")],
            _ => &[('r', "r"), ('w', "w")],
        };
        let (step, mut event) = operations[operation as usize % operations.len()];
        // Updates commute until the value is read.
        let read = &mut self.read[variable as usize];
        match event {
            "add" if *read => event = "rmw",
            "r" | "rmw" => *read = true,
            _ => {}
        }
        if self.may_access(thread, variable, event == "w") {
            self.step(thread, step, variable);
            self.event(thread, format_args!("{event}(x{variable})"));
        }
    }

    /// Whether this is no race.
    fn may_access(&self, thread: u64, variable: u64, writes: bool) -> bool {
        let object = (variable % OBJECTS) as usize;
        let has_mutex = self.mutexes[object].holder == thread;
        match (self.style, variable / OBJECTS) {
            (Style::Atomic | Style::AtomicAndSynchronised | Style::Counting, _) => true,
            (Style::Racy | Style::RacyAndAtomic | Style::RacyAndSynchronised, _) => true,
            (Style::Locked, _) | (Style::Synchronised, 0) => has_mutex,
            (Style::Synchronised, 1) => {
                let lock = &self.locks[object];
                lock.writer == thread || !writes && lock.readers.contains(&thread)
            }
            (Style::Synchronised, 2) => self.semaphores[object].holder == thread,
            (Style::Synchronised, _) => (variable + self.phase) % self.schedule.threads + 1 == thread,
        }
    }

    fn synchronise(&mut self, thread: u64, kind: u64, object: u64) {
        match kind {
            0 => self.lock_or_unlock(thread, object),
            1 => self.share_or_unlock(thread, object),
            2 => self.write_lock_or_unlock(thread, object),
            3 => self.take_or_post(thread, object),
            4 => self.initialise(thread, object),
            5 => self.signal_or_wait(thread, object),
            _ => self.arrive(thread),
        }
    }

    fn lock_or_unlock(&mut self, thread: u64, object: u64) {
        let mutex = &mut self.mutexes[object as usize];
        if mutex.holder == thread {
            mutex.holder = 0;
            self.step(thread, 'u', object);
            self.event(thread, format_args!("rel(l{object})"));
            self.go_on(object);
        } else if mutex.holder == 0 {
            mutex.holder = thread;
            self.step(thread, 'a', object);
            self.event(thread, format_args!("acq(l{object})"));
        }
    }

    /// Who was signalled has its mutex again as soon as it is free.
    fn go_on(&mut self, object: u64) {
        let mutex = &mut self.mutexes[object as usize];
        if mutex.signalled {
            let waiter = std::mem::take(&mut mutex.waiter);
            (mutex.signalled, mutex.holder) = (false, waiter);
            self.thread(waiter).waits = false;
        }
    }

    fn share_or_unlock(&mut self, thread: u64, object: u64) {
        let lock = &mut self.locks[object as usize];
        if lock.readers.remove(&thread) {
            self.step(thread, 'V', object);
            self.event(thread, format_args!("rrel(m{object})"));
        } else if lock.writer == 0 {
            lock.readers.insert(thread);
            self.step(thread, 'R', object);
            self.event(thread, format_args!("racq(m{object})"));
        }
    }

    fn write_lock_or_unlock(&mut self, thread: u64, object: u64) {
        let lock = &mut self.locks[object as usize];
        if lock.writer == thread {
            lock.writer = 0;
            self.step(thread, 'V', object);
            self.event(thread, format_args!("rel(m{object})"));
        } else if lock.writer == 0 && lock.readers.is_empty() {
            lock.writer = thread;
            self.step(thread, 'W', object);
            self.event(thread, format_args!("acq(m{object})"));
        }
    }

    fn take_or_post(&mut self, thread: u64, object: u64) {
        let semaphore = &mut self.semaphores[object as usize];
        if semaphore.holder == thread {
            self.signals += 1;
            let signal = self.signals;
            semaphore.holder = 0;
            semaphore.posts.push_back(signal);
            self.step(thread, 'p', object);
            self.event(thread, format_args!("w(s{signal})"));
        } else if semaphore.holder == 0 {
            semaphore.holder = thread;
            let post = semaphore.posts.pop_front();
            self.step(thread, 't', object);
            self.split(thread);
            if let Some(signal) = post {
                self.event(thread, format_args!("r(s{signal})"));
            }
        }
    }

    fn initialise(&mut self, thread: u64, object: u64) {
        let initialisation = &mut self.initialisations[object as usize];
        let is_first = initialisation.known_to.is_empty();
        let is_news = initialisation.known_to.insert(thread);
        self.step(thread, 'o', object);
        if is_news {
            self.split(thread);
        }
        if is_first {
            self.event(thread, format_args!("w(i{object})"));
            self.event(thread, format_args!("w(o{object})"));
            self.split(thread);
        } else if is_news {
            self.event(thread, format_args!("r(o{object})"));
        }
        self.event(thread, format_args!("r(i{object})"));
    }

    fn holds_anything_but(&self, thread: u64, object: u64) -> bool {
        self.mutexes.iter().enumerate().any(|(i, mutex)| mutex.holder == thread && i as u64 != object)
            || self.locks.iter().any(|lock| lock.writer == thread || lock.readers.contains(&thread))
            || self.semaphores.iter().any(|semaphore| semaphore.holder == thread)
    }

    fn is_last_to_go_on(&self, thread: u64) -> bool {
        (1..=self.schedule.threads).all(|other| other == thread || self.threads[other as usize].waits)
    }

    fn signal_or_wait(&mut self, thread: u64, object: u64) {
        let mutex = &self.mutexes[object as usize];
        if mutex.holder != thread {
            return;
        }
        if mutex.waiter != 0 {
            self.mutexes[object as usize].signalled = true;
            self.step(thread, 's', object);
        } else if !self.holds_anything_but(thread, object) && !self.is_last_to_go_on(thread) {
            self.mutexes[object as usize] = Mutex { holder: 0, waiter: thread, signalled: false };
            self.thread(thread).waits = true;
            self.step(thread, 'c', object);
            self.event(thread, format_args!("wait(l{object})"));
        }
    }

    fn arrive(&mut self, thread: u64) {
        let is_last = self.arrived.len() as u64 + 1 == self.schedule.threads;
        if self.holds_anything_but(thread, OBJECTS) || self.is_last_to_go_on(thread) && !is_last {
            return;
        }
        self.step(thread, 'b', 0);
        self.event(thread, "barrier(all)");
        self.arrived.insert(thread);
        self.thread(thread).waits = true;
        if is_last {
            self.phase += 1;
            for thread in std::mem::take(&mut self.arrived) {
                self.thread(thread).waits = false;
            }
        }
    }

    /// Everything is given back, and everybody goes on to the end.
    fn finish(mut self) -> Schedule {
        // More than once: who was signalled has something to give back when others have.
        let threads = self.schedule.threads;
        for thread in (0..=OBJECTS).flat_map(|_| 1..=threads) {
            self.give_back(thread);
        }
        let goes_on = (1..=threads).find(|&thread| !self.threads[thread as usize].waits);
        for object in 0..OBJECTS {
            if let Some(thread) = goes_on.filter(|_| self.mutexes[object as usize].waiter != 0) {
                let waiter = self.mutexes[object as usize].waiter;
                self.lock_or_unlock(thread, object);
                self.signal_or_wait(thread, object);
                self.lock_or_unlock(thread, object);
                self.give_back(waiter);
            }
        }
        if !self.arrived.is_empty() {
            let missing: Vec<u64> = (1..=threads).filter(|thread| !self.arrived.contains(thread)).collect();
            missing.into_iter().for_each(|thread| self.arrive(thread));
        }
        for thread in 1..=threads {
            while self.threads[thread as usize].depth > 0 {
                self.end(thread);
            }
        }
        self.schedule
    }

    fn give_back(&mut self, thread: u64) {
        for object in 0..OBJECTS {
            if self.mutexes[object as usize].holder == thread {
                self.lock_or_unlock(thread, object);
            }
            if self.locks[object as usize].writer == thread {
                self.write_lock_or_unlock(thread, object);
            }
            if self.locks[object as usize].readers.contains(&thread) {
                self.share_or_unlock(thread, object);
            }
            if self.semaphores[object as usize].holder == thread {
                self.take_or_post(thread, object);
            }
        }
    }
}
