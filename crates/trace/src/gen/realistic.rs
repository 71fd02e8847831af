//! Large traces of a program that keeps its locking discipline, so that they are serializable by
//! construction, with violations where they are asked for.
//!
//! ```text
//! T1: begin(A) acq(l2) w(v) acq(l5) r(u) w(v) rel(l5) rel(l2) end
//! T2:                          begin(B) acq(l2) ……………………  blocked on l2; others run
//! ```
//!
//! **Why serializable.** A block takes all its locks before it gives the first back, and touches a
//! shared variable only under the variable's lock. So nothing reaches the block from other threads
//! after its last acquire, and nothing leaves it before its first release, which is later: no
//! event of another thread lies between two of its events. Blocks in the order of their last
//! acquires are a serial order. Private variables, forks before everything and joins after
//! everything change nothing about it. Locks are taken in ascending order, so nobody deadlocks.
//!
//! **Injected violations.** A block of one thread, another thread's block in its middle, both on a
//! variable that nothing else uses and under no lock. The argument above still holds for all
//! other blocks, since it asks nothing of what other threads do among themselves.
//!
//! **A static program.** Each label has a fixed set of sites: where its block begins and ends,
//! where it locks, unlocks, reads and writes. Code outside of blocks has sites of its own.
//!
//! **Cost.** A thread plans one transaction at a time; events are copied from the plans: 40 to 65
//! million events per second (`cargo run --release -p atomvet-trace --example speed`).

use super::prng::Prng;
use super::{BLOCK, Config, Injected, Kind, Start, Violation};
use crate::{Event, EventId, LockId, Mode, Names, Op, RegionId, SiteId, ThreadId, VarId};

/// What the shortest plan has: begin, acquire, access, release, end.
const SHORTEST_PLAN: u64 = 5;
/// What an injected violation has: four events of its block, three of the other.
const INJECTION: u64 = 7;
/// How many locks a transaction takes at most.
const MOST_LOCKS: usize = 3;
/// Out of how many transactions of [`Kind::ThreadLocal`] one uses shared variables.
const SHARED_ONE_OUT_OF: u32 = 16;
const NOBODY: u32 = u32::MAX;

/// Sites per label: begin, end, then three each of acquire and release, then four each of read
/// and write.
const SITES: u32 = 16;
const BEGIN: u32 = 0;
const END: u32 = 1;
const ACQUIRE: u32 = 2;
const RELEASE: u32 = 5;
const READ: u32 = 8;
const WRITE: u32 = 12;

/// The fewest events that a configuration can have.
pub(super) fn fewest_events(config: &Config) -> u64 {
    forks(config) * 2 + config.inject.len() as u64 * INJECTION + SHORTEST_PLAN
}

fn forks(config: &Config) -> u64 {
    match config.start {
        Start::Together => 0,
        Start::ForkJoin => u64::from(config.threads) - 1,
    }
}

/// The program and its scheduler.
#[derive(Clone, Debug)]
pub(super) struct Realistic {
    config: Config,
    layout: Layout,
    prng: Prng,
    /// Events handed out before the current block.
    emitted: u64,
    /// Events that are neither handed out, nor part of a plan, nor set aside for forks, joins and
    /// injections. Plans are cut from it until it is 0. Never from 1 to `SHORTEST_PLAN - 1`.
    unplanned: u64,
    threads: Vec<Thread>,
    locks: Vec<Lock>,
    /// Threads that can go on, in no order.
    runnable: Vec<u32>,
    /// The index in `runnable` of the thread whose burst it is.
    current: usize,
    /// How many events are left of the burst.
    burst: u32,
    /// The next thread to fork; then, when all is done, to join.
    next_fork: u32,
    next_join: u32,
    /// How many of `config.inject` have begun.
    injections: usize,
    /// A thread in the middle of an injected block. It is not in `runnable`, and holds no lock.
    victim: Option<Victim>,
    injected: Vec<Injected>,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    /// The transaction, or lone accesses, it is in the middle of.
    plan: Vec<Event>,
    /// The next event of it.
    next: usize,
}

#[derive(Clone, Debug)]
struct Lock {
    holder: u32,
    /// Threads whose next event is an acquire of it, and that are not in `runnable`.
    waiters: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Victim {
    thread: u32,
    begin: EventId,
    label: u32,
}

/// Which variables there are. Those that lock `l` guards are `l`, `l + locks`, `l + 2 * locks`, …
/// up to `shared`. Then come the private ones, `private` for each thread in turn; then the one
/// that injections are about.
#[derive(Clone, Copy, Debug)]
struct Layout {
    locks: u32,
    shared: u32,
    private: u32,
    injection: VarId,
    /// Each lock guards this many variables, the first `one_more` locks one more.
    per_lock: u32,
    one_more: u32,
}

impl Layout {
    fn new(config: &Config) -> Layout {
        let Config { variables, threads, .. } = *config;
        let locks = config.locks_used();
        let private = match config.kind {
            Kind::ThreadLocal => ((variables - locks) / 16 * 15 / threads).max(1),
            _ => 0,
        };
        let shared = variables - private * threads;
        let (per_lock, one_more) = (shared / locks, shared % locks);
        Layout { locks, shared, private, injection: VarId(variables), per_lock, one_more }
    }

    /// One of the variables that a lock guards.
    #[inline]
    fn guarded(&self, lock: u32, prng: &mut Prng) -> u32 {
        lock + self.locks * prng.below(self.per_lock + u32::from(lock < self.one_more))
    }
}

impl Realistic {
    pub(super) fn new(config: &Config, names: &mut Names) -> Realistic {
        let layout = Layout::new(config);
        name_everything(config, layout, names);
        let mut realistic = Realistic {
            config: config.clone(),
            layout,
            prng: Prng::new(0),
            emitted: 0,
            unplanned: 0,
            threads: vec![Thread::default(); config.threads as usize],
            locks: vec![Lock { holder: NOBODY, waiters: Vec::new() }; layout.locks as usize],
            runnable: Vec::new(),
            current: 0,
            burst: 0,
            next_fork: 0,
            next_join: 0,
            injections: 0,
            victim: None,
            injected: Vec::new(),
        };
        realistic.reset(config.seed);
        realistic
    }

    pub(super) fn reset(&mut self, seed: u64) {
        let config = &self.config;
        self.prng = Prng::new(seed);
        self.emitted = 0;
        self.unplanned = config.events - (fewest_events(config) - SHORTEST_PLAN);
        for thread in &mut self.threads {
            thread.plan.clear();
            thread.next = 0;
        }
        for lock in &mut self.locks {
            lock.holder = NOBODY;
            lock.waiters.clear();
        }
        self.runnable.clear();
        self.runnable.extend(0..config.threads);
        (self.current, self.burst) = (0, 0);
        let no_forks = if config.start == Start::ForkJoin { 1 } else { config.threads };
        (self.next_fork, self.next_join) = (no_forks, no_forks);
        self.injections = 0;
        self.victim = None;
        self.injected.clear();
    }

    pub(super) fn injected(&self) -> &[Injected] {
        &self.injected
    }

    /// Appends the next events to an empty block.
    pub(super) fn fill(&mut self, block: &mut Vec<Event>) {
        let main = self.config.labels * SITES;
        while self.next_fork < self.config.threads && block.len() < BLOCK {
            block.push(event(0, Op::Fork(ThreadId(self.next_fork)), main + BEGIN));
            self.next_fork += 1;
        }
        while block.len() < BLOCK && !self.runnable.is_empty() {
            self.run(block);
        }
        while self.runnable.is_empty() && self.next_join < self.config.threads && block.len() < BLOCK {
            block.push(event(0, Op::Join(ThreadId(self.next_join)), main + END));
            self.next_join += 1;
        }
        self.emitted += block.len() as u64;
    }

    /// Lets the current thread go on until its burst is over, it is blocked or the block is full.
    fn run(&mut self, block: &mut Vec<Event>) {
        if self.burst == 0 {
            self.current = self.prng.below(self.runnable.len() as u32) as usize;
            self.burst = self.prng.between(1, 2 * self.config.burst - 1);
        }
        let thread = self.runnable[self.current];
        let mut state = &mut self.threads[thread as usize];
        while self.burst > 0 && block.len() < BLOCK {
            let Some(&event) = state.plan.get(state.next) else {
                if !self.between_transactions(thread, block) {
                    return self.stop_current();
                }
                state = &mut self.threads[thread as usize];
                continue;
            };
            match event.op {
                Op::Acquire(lock, _) => {
                    let lock = &mut self.locks[lock.index()];
                    if lock.holder != NOBODY {
                        lock.waiters.push(thread);
                        return self.stop_current();
                    }
                    lock.holder = thread;
                }
                Op::Release(lock, _) => {
                    let lock = &mut self.locks[lock.index()];
                    lock.holder = NOBODY;
                    if !lock.waiters.is_empty() {
                        // One is enough: whoever has the lock next wakes the next.
                        let lucky = self.prng.below(lock.waiters.len() as u32) as usize;
                        self.runnable.push(lock.waiters.swap_remove(lucky));
                    }
                }
                _ => {}
            }
            block.push(event);
            state.next += 1;
            self.burst -= 1;
        }
    }

    /// Takes the current thread out of the runnable ones.
    fn stop_current(&mut self) {
        self.runnable.swap_remove(self.current);
        self.burst = 0;
    }

    /// Gives a thread something to do; false if it is done, or stopped in an injected block.
    fn between_transactions(&mut self, thread: u32, block: &mut Vec<Event>) -> bool {
        let now = self.emitted + block.len() as u64;
        if let Some(victim) = self.victim.take() {
            self.complete_injection(victim, thread, block);
            self.runnable.push(victim.thread);
        } else if self.config.inject.get(self.injections).is_some_and(|&at| at <= now || self.unplanned == 0)
        {
            let victim = self.begin_injection(thread, block);
            if self.runnable.len() > 1 {
                // The next thread to come here is the other one.
                self.victim = Some(victim);
                return false;
            }
            // Everybody else is done. One of them comes back for this.
            let other = if thread == 0 { 1 } else { 0 };
            self.complete_injection(victim, other, block);
        }
        if self.unplanned == 0 {
            return self.injections < self.config.inject.len();
        }
        self.plan(thread);
        true
    }

    fn begin_injection(&mut self, thread: u32, block: &mut Vec<Event>) -> Victim {
        self.injections += 1;
        let label = self.prng.below(self.config.labels);
        let begin = EventId(self.emitted + block.len() as u64);
        let (first, ..) = accesses(self.config.violation);
        block.push(event(thread, Op::Begin(RegionId(label)), label * SITES + BEGIN));
        block.push(access(thread, self.layout.injection, first, label * SITES));
        Victim { thread, begin, label }
    }

    fn complete_injection(&mut self, victim: Victim, other: u32, block: &mut Vec<Event>) {
        let (_, middle, last) = accesses(self.config.violation);
        let variable = self.layout.injection;
        let label = self.prng.below(self.config.labels);
        block.push(event(other, Op::Begin(RegionId(label)), label * SITES + BEGIN));
        block.push(access(other, variable, middle, label * SITES + 1));
        block.push(event(other, Op::End, label * SITES + END));
        let Victim { thread, begin, label } = victim;
        let at = EventId(self.emitted + block.len() as u64);
        block.push(access(thread, variable, last, label * SITES + 2));
        block.push(event(thread, Op::End, label * SITES + END));
        self.injected.push(Injected { begin, event: at, label: RegionId(label), variable });
    }

    /// Plans a transaction, or some accesses outside all blocks, and takes it off `unplanned`.
    fn plan(&mut self, thread: u32) {
        let config = &self.config;
        let prng = &mut self.prng;
        let count = prng.between(config.shortest_transaction, config.longest_transaction);
        let unary = prng.percent(config.unary_percent);
        let private = config.kind == Kind::ThreadLocal && prng.below(SHARED_ONE_OUT_OF) > 0;
        let mut locks = [0; MOST_LOCKS];
        let picked = match (private, unary) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => prng.between(1, count.min(MOST_LOCKS as u32).min(self.layout.locks)) as usize,
        };
        let mut taken = pick_ascending(&mut locks[..picked], self.layout.locks, prng);
        let blocks = if unary { 0 } else { prng.between(1, config.nesting.min(count)) };
        let mut shape = Shape { blocks, count };

        // What is left behind this plan is enough for another one, or is nothing.
        if shape.size(taken) > self.unplanned {
            taken = &taken[..taken.len().min(1)];
            shape = Shape { blocks: blocks.min(1), count: 0 };
            shape.count = (self.unplanned - shape.size(taken)) as u32;
        }
        let rest = self.unplanned - shape.size(taken);
        if rest < SHORTEST_PLAN {
            shape.count += rest as u32;
        }
        self.unplanned -= shape.size(taken);
        self.write_plan(thread, shape, taken);
    }

    /// Blocks open one inside the other in the first half of the accesses and close in the second
    /// half; locks are taken evenly among the accesses, and all given back at the end.
    fn write_plan(&mut self, thread: u32, shape: Shape, locks: &[u32]) {
        let Realistic { config, layout, prng, threads, .. } = self;
        let Thread { plan, next } = &mut threads[thread as usize];
        plan.clear();
        *next = 0;
        let Shape { blocks, count } = shape;
        let outermost = prng.below(config.labels);
        // The block that is open at a depth, 1 being outermost; no block has the last sites.
        let label = |depth: u32| match depth {
            0 => config.labels,
            _ => (outermost + (depth - 1) * 7) % config.labels,
        };
        let (mut opened, mut open, mut held) = (0, 0, 0);
        let mut sites = label(0) * SITES;
        // Divisions are slow: the next access at which something else happens is kept instead.
        let mut next_begin = if blocks > 0 { 0 } else { count };
        let mut next_end = if blocks > 1 { closes_at(blocks - 1, shape) } else { count };
        let mut next_acquire = if locks.is_empty() { count } else { 0 };
        for i in 0..count {
            while i == next_begin {
                opened += 1;
                open += 1;
                sites = label(open) * SITES;
                plan.push(event(thread, Op::Begin(RegionId(label(open))), sites + BEGIN));
                next_begin = if opened < blocks { opens_at(opened, shape) } else { count };
            }
            while i == next_acquire {
                let lock = LockId(locks[held]);
                plan.push(event(thread, Op::Acquire(lock, Mode::Exclusive), sites + ACQUIRE + held as u32));
                held += 1;
                next_acquire = match locks.len() {
                    all if held < all => (held as u64 * u64::from(count) / all as u64) as u32,
                    _ => count,
                };
            }
            let variable = match held {
                0 => layout.shared + thread * layout.private + prng.below(layout.private),
                1 => layout.guarded(locks[0], prng),
                _ => layout.guarded(locks[prng.below(held as u32) as usize], prng),
            };
            let what = if prng.percent(config.read_percent) { Access::Read } else { Access::Write };
            plan.push(access(thread, VarId(variable), what, sites + i % 4));
            while i == next_end {
                plan.push(event(thread, Op::End, sites + END));
                open -= 1;
                sites = label(open) * SITES;
                next_end = if open > 1 { closes_at(open - 1, shape) } else { count };
            }
        }
        for (position, &lock) in locks.iter().enumerate().rev() {
            let op = Op::Release(LockId(lock), Mode::Exclusive);
            plan.push(event(thread, op, sites + RELEASE + position as u32));
        }
        if open == 1 {
            plan.push(event(thread, Op::End, sites + END));
        }
    }
}

/// How large a plan is.
#[derive(Clone, Copy)]
struct Shape {
    /// Blocks, each inside the one before. 0: outside of all blocks.
    blocks: u32,
    /// Accesses.
    count: u32,
}

impl Shape {
    /// Events in all.
    fn size(self, locks: &[u32]) -> u64 {
        2 * (u64::from(self.blocks) + locks.len() as u64) + u64::from(self.count)
    }
}

/// The access before which block `index` opens: the first for the outermost, and less than half
/// of the way for all.
fn opens_at(index: u32, shape: Shape) -> u32 {
    (u64::from(index) * u64::from(shape.count) / (2 * u64::from(shape.blocks))) as u32
}

/// The access behind which block `index` closes: as far from the end as it opens from the start,
/// and so after all have opened.
fn closes_at(index: u32, shape: Shape) -> u32 {
    shape.count - 1 - opens_at(index, shape)
}

/// Fills `picked` with locks; returns the different ones among them, in ascending order.
fn pick_ascending<'a>(picked: &'a mut [u32], locks: u32, prng: &mut Prng) -> &'a [u32] {
    for lock in picked.iter_mut() {
        *lock = prng.below(locks);
    }
    picked.sort_unstable();
    let mut distinct = 0;
    for i in 0..picked.len() {
        if distinct == 0 || picked[i] != picked[distinct - 1] {
            picked[distinct] = picked[i];
            distinct += 1;
        }
    }
    &picked[..distinct]
}

#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
}

/// What the violated block, the other one, and the violated block again do.
fn accesses(violation: Violation) -> (Access, Access, Access) {
    match violation {
        Violation::LostUpdate => (Access::Read, Access::Write, Access::Write),
        Violation::UnrepeatableRead => (Access::Read, Access::Write, Access::Read),
        Violation::IntermediateRead => (Access::Write, Access::Read, Access::Write),
        Violation::OverwrittenWrite => (Access::Write, Access::Write, Access::Read),
    }
}

#[inline]
fn event(thread: u32, op: Op, site: u32) -> Event {
    Event { thread: ThreadId(thread), op, site: SiteId(site) }
}

/// `site` is the first of the label's sites plus which read or write of the label it is.
#[inline]
fn access(thread: u32, variable: VarId, access: Access, site: u32) -> Event {
    match access {
        Access::Read => event(thread, Op::read(variable), site + READ),
        Access::Write => event(thread, Op::write(variable), site + WRITE),
    }
}

/// Names in the order of the ids that the plans use.
fn name_everything(config: &Config, layout: Layout, names: &mut Names) {
    for lock in 0..layout.locks {
        names.locks.intern(&format!("object{lock}.lock"));
    }
    for variable in 0..layout.shared {
        names.variables.intern(&format!("object{}.f{}", variable % layout.locks, variable / layout.locks));
    }
    for thread in 0..if layout.private > 0 { config.threads } else { 0 } {
        for variable in 0..layout.private {
            names.variables.intern(&format!("local{thread}.f{variable}"));
        }
    }
    if !config.inject.is_empty() {
        names.variables.intern("injected.f0");
    }
    for label in 0..=config.labels {
        // Eight methods to a class; behind the last one, the code that is in no block.
        let (class, method) = match label {
            _ if label == config.labels => ("Main".to_owned(), 0),
            _ => (format!("Class{}", label / 8), label % 8),
        };
        if label < config.labels {
            names.regions.intern(&format!("{class}.method{method}"));
        }
        for site in 0..SITES {
            // Lines in the order of the code: begin, acquires, accesses, releases, end.
            let line = match site {
                BEGIN => 1,
                END => 20,
                ACQUIRE..RELEASE => 2 + site - ACQUIRE,
                RELEASE..READ => 19 - (site - RELEASE),
                _ => 5 + site - READ,
            };
            names.sites.intern(&format!("{class}.java:{}", 20 * method + line));
        }
    }
}
