//! Arbitrary well-formed traces: a machine that picks a thread and a legal next operation.
//!
//! Small parameters give what tests want: a few threads at a few variables, so that about half of
//! the traces of some 20 events are not serializable. The trace stops in the middle of things:
//! blocks stay open, locks held, waits unanswered.
//!
//! There is always a thread that can go on: the one that moved last, since only a wait could stop
//! it, and the lock it gave back is still free.

use super::prng::Prng;
use super::{BLOCK, Config, Features};
use crate::{BarrierId, Event, LockId, Mode, Names, Op, RegionId, SiteId, ThreadId, UpdateKind, VarId};

/// How often one thread re-enters a lock at most.
const DEEPEST: u8 = 3;
/// How many places in the source the events are said to come from.
const SITES: u32 = 16;
const BARRIERS: u32 = 2;

/// The machine.
#[derive(Clone, Debug)]
pub(super) struct Random {
    config: Config,
    prng: Prng,
    /// Events still to come.
    left: u64,
    /// How careful this trace is.
    mood: Mood,
    /// What the machine picks from: every kind of step, as often as its weight says.
    steps: Vec<Step>,
    threads: Vec<Thread>,
    /// How often thread `t` holds lock `l`: at `t * locks + l`, exclusively and shared.
    holds: Vec<Hold>,
    /// The thread that moved last.
    last: usize,
}

/// Traces differ: were all drawn from one distribution, nearly all of the long ones would be
/// broken somewhere, and nearly all of the short ones nowhere.
#[derive(Clone, Copy, Debug, Default)]
struct Mood {
    /// How many of 100 writes become reads.
    shy: u32,
    /// How many of 100 steps end an open block, besides what is drawn.
    hasty: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Hold {
    exclusive: u8,
    shared: u8,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    life: Life,
    /// It was forked or has had an event: only then may it be joined.
    known: bool,
    /// How many blocks are open.
    open: u32,
    /// The lock that it waits on. Its depth stays in `holds`; it counts again when this is empty.
    waits: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    /// Somebody has to fork it first.
    ToFork,
    Runs,
    Joined,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Read,
    Write,
    Update,
    Begin,
    End,
    Acquire(Mode),
    Release(Mode),
    Wait,
    Barrier,
    Fork,
    Join,
    Alloc,
    Free,
}

impl Random {
    pub(super) fn new(config: &Config, names: &mut Names) -> Random {
        for variable in 0..config.variables {
            names.variables.intern(&format!("x{variable}"));
        }
        for lock in 0..config.locks {
            names.locks.intern(&format!("l{lock}"));
        }
        for barrier in 0..BARRIERS {
            names.barriers.intern(&format!("b{barrier}"));
        }
        for label in 0..config.labels {
            names.regions.intern(&format!("m{label}"));
        }
        for site in 0..SITES {
            names.sites.intern(&format!("random.c:{}", site + 1));
        }
        let mut random = Random {
            config: config.clone(),
            prng: Prng::new(0),
            left: 0,
            mood: Mood::default(),
            steps: steps(config),
            threads: Vec::new(),
            holds: Vec::new(),
            last: 0,
        };
        random.reset(config.seed);
        random
    }

    pub(super) fn reset(&mut self, seed: u64) {
        self.prng = Prng::new(seed);
        self.left = self.config.events;
        self.last = 0;
        let shy = [0, 0, 50, 90][self.prng.below(4) as usize];
        let hasty = [0, 0, 20, 45][self.prng.below(4) as usize];
        // A short trace needs no care to stay serializable.
        self.mood = if self.config.events < 15 { Mood::default() } else { Mood { shy, hasty } };
        self.holds.clear();
        self.holds.resize((self.config.threads * self.config.locks) as usize, Hold::default());
        self.threads.clear();
        let forks = self.config.features.has(Features::FORK_JOIN);
        for thread in 0..self.config.threads {
            let to_fork = forks && thread > 0 && self.prng.percent(20);
            let life = if to_fork { Life::ToFork } else { Life::Runs };
            self.threads.push(Thread { life, known: false, open: 0, waits: None });
        }
    }

    pub(super) fn fill(&mut self, block: &mut Vec<Event>) {
        let count = self.left.min(BLOCK as u64);
        self.left -= count;
        for _ in 0..count {
            let thread = self.pick_thread();
            // From here on it holds the lock of its wait again.
            self.threads[thread].waits = None;
            self.threads[thread].known = true;
            self.last = thread;
            let op = self.pick_operation(thread);
            let site = SiteId(self.prng.below(SITES));
            block.push(Event { thread: ThreadId(thread as u32), op, site });
        }
    }

    fn pick_thread(&mut self) -> usize {
        for _ in 0..16 {
            let thread = self.prng.below(self.config.threads) as usize;
            let Thread { life, waits, .. } = self.threads[thread];
            let stuck = |lock| self.others_hold(thread, lock, Mode::Exclusive);
            if life == Life::Runs && !waits.is_some_and(stuck) {
                return thread;
            }
        }
        self.last
    }

    fn pick_operation(&mut self, thread: usize) -> Op {
        let outside = self.threads[thread].open == 0;
        // Violations need blocks that are open while others run.
        if outside && (!self.config.features.has(Features::UNARY) || self.prng.percent(65)) {
            return self.begin(thread);
        }
        if !outside && self.prng.percent(self.mood.hasty) {
            self.threads[thread].open -= 1;
            return Op::End;
        }
        for _ in 0..16 {
            let step = self.steps[self.prng.below(self.steps.len() as u32) as usize];
            if let Some(op) = self.try_step(thread, step) {
                return op;
            }
        }
        Op::read(self.variable())
    }

    /// Makes the step, if it is legal.
    fn try_step(&mut self, thread: usize, step: Step) -> Option<Op> {
        match step {
            Step::Read => Some(Op::read(self.variable())),
            Step::Write if self.prng.percent(self.mood.shy) => Some(Op::read(self.variable())),
            Step::Write => Some(Op::write(self.variable())),
            Step::Update => {
                use UpdateKind::*;
                let kind = [Other, Add, Add, Or, And, Xor, Min, Max][self.prng.below(8) as usize];
                Some(Op::Update(self.variable(), kind))
            }
            Step::Alloc => Some(Op::Alloc(self.variable())),
            Step::Free => Some(Op::Free(self.variable())),
            Step::Barrier => Some(Op::Barrier(BarrierId(self.prng.below(BARRIERS)))),
            Step::Begin => {
                let deepest =
                    if self.config.features.has(Features::NESTING) { self.config.nesting } else { 1 };
                (self.threads[thread].open < deepest).then(|| self.begin(thread))
            }
            Step::End => {
                let open = &mut self.threads[thread].open;
                *open = open.checked_sub(1)?;
                Some(Op::End)
            }
            Step::Acquire(mode) => {
                let lock = self.prng.below(self.config.locks) as usize;
                let deepest = if self.config.features.has(Features::REENTRANT) { DEEPEST } else { 1 };
                let legal =
                    !self.others_hold(thread, lock, mode) && *self.depth(thread, lock, mode) < deepest;
                legal.then(|| {
                    *self.depth(thread, lock, mode) += 1;
                    Op::Acquire(LockId(lock as u32), mode)
                })
            }
            Step::Release(mode) => {
                let lock = self.prng.below(self.config.locks) as usize;
                let depth = self.depth(thread, lock, mode);
                *depth = depth.checked_sub(1)?;
                Some(Op::Release(LockId(lock as u32), mode))
            }
            Step::Wait => {
                let lock = self.prng.below(self.config.locks) as usize;
                let Hold { exclusive, shared } = self.holds[self.hold(thread, lock)];
                (exclusive > 0 && shared == 0).then(|| {
                    self.threads[thread].waits = Some(lock);
                    Op::Wait(LockId(lock as u32))
                })
            }
            Step::Fork => {
                let child = self.prng.below(self.config.threads) as usize;
                let again = self.config.features.has(Features::FORK_AGAIN);
                let state = &mut self.threads[child];
                (state.life == Life::ToFork || (state.life == Life::Joined && again)).then(|| {
                    state.life = Life::Runs;
                    state.known = true;
                    Op::Fork(ThreadId(child as u32))
                })
            }
            Step::Join => {
                let child = self.prng.below(self.config.threads) as usize;
                let state = &mut self.threads[child];
                (child != thread && state.known && state.life == Life::Runs).then(|| {
                    state.life = Life::Joined;
                    Op::Join(ThreadId(child as u32))
                })
            }
        }
    }

    fn begin(&mut self, thread: usize) -> Op {
        self.threads[thread].open += 1;
        let labels = self.config.labels;
        let unlabelled =
            labels == 0 || (self.config.features.has(Features::UNLABELLED) && self.prng.percent(15));
        Op::Begin(if unlabelled { RegionId::NONE } else { RegionId(self.prng.below(labels)) })
    }

    fn variable(&mut self) -> VarId {
        VarId(self.prng.below(self.config.variables))
    }

    fn hold(&self, thread: usize, lock: usize) -> usize {
        thread * self.config.locks as usize + lock
    }

    fn depth(&mut self, thread: usize, lock: usize, mode: Mode) -> &mut u8 {
        let hold = self.hold(thread, lock);
        match mode {
            Mode::Exclusive => &mut self.holds[hold].exclusive,
            Mode::Shared => &mut self.holds[hold].shared,
        }
    }

    /// Whether another thread keeps `thread` from taking `lock` in `mode`.
    fn others_hold(&self, thread: usize, lock: usize, mode: Mode) -> bool {
        (0..self.threads.len()).filter(|&other| other != thread).any(|other| {
            let Hold { exclusive, shared } = self.holds[self.hold(other, lock)];
            let waits = self.threads[other].waits == Some(lock);
            (exclusive > 0 && !waits) || (shared > 0 && mode == Mode::Exclusive)
        })
    }
}

/// All steps that the configuration allows, each as often as its weight.
fn steps(config: &Config) -> Vec<Step> {
    use Step::*;
    let weights = [
        (Read, 28, Features::NONE),
        (Write, 28, Features::NONE),
        (Update, 8, Features::UPDATE),
        (Begin, 6, Features::NONE),
        (End, 8, Features::NONE),
        (Acquire(Mode::Exclusive), 8, Features::LOCKS),
        (Release(Mode::Exclusive), 14, Features::LOCKS),
        (Acquire(Mode::Shared), 5, Features::SHARED),
        (Release(Mode::Shared), 6, Features::SHARED),
        (Wait, 5, Features::WAIT.with(Features::LOCKS)),
        (Barrier, 3, Features::BARRIER),
        (Fork, 3, Features::FORK_JOIN),
        (Join, 2, Features::FORK_JOIN),
        (Alloc, 1, Features::LIVES),
        (Free, 1, Features::LIVES),
    ];
    let locks = |step| config.locks > 0 || !matches!(step, Acquire(_) | Release(_) | Wait);
    let allowed = weights.iter().filter(|&&(step, _, needs)| config.features.has(needs) && locks(step));
    allowed.flat_map(|&(step, weight, _)| std::iter::repeat_n(step, weight)).collect()
}
