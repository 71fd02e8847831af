//! Lock, fork, join, begin and end discipline, checked once in front of all checkers.
//!
//! Implements "Well-formed traces" and "Lenient reading" of `docs/event-model.md`, and rewrites
//! re-entrant lock operations, so that no checker has to count depths of its own.
//!
//! **Guarantee.** What leaves [`Wellformed::check`] keeps every rule of that page, with two
//! exceptions that only lenient reading makes and counts: a thread that goes on after a `wait`
//! without its lock, and a thread that goes on after its `join`.
//!
//! **Left-out events are no events.** A thread whose only events were left out may still be
//! forked. The one thing a left-out event does is to end a `wait` of its thread: whether the event
//! is to be left out may depend on the lock that comes back. No checker sees a difference, because
//! nobody else can have the lock between that event and the thread's next one.
//!
//! **Cost per event.** An access, begin or end of a running thread costs one load and a compare
//! (or an increment), about 1 ns; a lock operation one more table entry, 3.3 ns per event where
//! every fourth is one (`cargo run --release -p atomvet-trace --example speed`). A shared lock is
//! searched linearly through its holders of the moment. Memory grows with threads and locks only.

use crate::{Event, EventId, LockId, Mode, Names, Op, ThreadId};

/// What to do with a trace that breaks the discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Discipline {
    /// Stop with an error.
    #[default]
    Strict,
    /// Repair as `docs/event-model.md` says, and count.
    Lenient,
}

/// What a thread, lock or block is in the middle of, and what was repaired.
#[derive(Debug, Default)]
pub struct Wellformed {
    discipline: Discipline,
    /// Repairs made so far, of all kinds. See [`Wellformed::repairs_by_kind`].
    pub repairs: u64,
    by_kind: [u64; Repair::ALL.len()],
    /// What the events were that were not left out.
    pub figures: Figures,
    /// Per thread: it has had an event, runs and is in no wait, so that an access of it breaks no rule. As long
    /// as `open_blocks` and `threads`.
    calm: Vec<bool>,
    /// Per thread: how many blocks are open.
    open_blocks: Vec<u64>,
    /// Per thread: what the slow path needs.
    threads: Vec<Thread>,
    locks: Vec<Lock>,
}

/// What events consist of. They are counted here because it is known here which blocks are open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Blocks entered.
    pub blocks: u64,
    /// Those of them that are inside no other.
    pub outermost_blocks: u64,
    /// Events outside every block.
    pub unary: u64,
    /// Threads that did something.
    pub threads: u64,
}

impl Figures {
    /// Counts an event that is neither left out nor, outside every block, an end.
    #[inline(always)]
    fn count(&mut self, op: Op, open_before: u64) {
        let begins = u64::from(matches!(op, Op::Begin(_)));
        let is_outside = u64::from(open_before == 0);
        self.blocks += begins;
        self.outermost_blocks += begins & is_outside;
        self.unary += is_outside & !begins;
    }
}

/// Event `index` of the block breaks a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// Its index in the block that was checked.
    pub index: usize,
    /// Which rule, and how: a lowercase fragment.
    pub problem: String,
    /// What to do next.
    pub help: String,
}

/// What lenient reading does to an event that breaks a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repair {
    /// A release of a lock that its thread does not hold in that mode was left out.
    ReleaseNotHeld,
    /// An end without a begin was left out.
    EndWithoutBegin,
    /// An acquire of a lock that another thread holds was left out.
    AcquireHeld,
    /// A wait on a lock that its thread does not hold was left out.
    WaitNotHeld,
    /// A thread went on after a wait while another held the lock: it goes on without the lock.
    WaitLostLock,
    /// A fork of the thread itself, or of one that runs already, was left out.
    BadFork,
    /// A join of the thread itself, of an unknown thread or of one joined already was left out.
    BadJoin,
    /// A thread had an event after its join: it counts as running again.
    AfterJoin,
}

impl Repair {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [Repair; 8] = [
        Repair::ReleaseNotHeld,
        Repair::EndWithoutBegin,
        Repair::AcquireHeld,
        Repair::WaitNotHeld,
        Repair::WaitLostLock,
        Repair::BadFork,
        Repair::BadJoin,
        Repair::AfterJoin,
    ];

    /// What was repaired, and how: a lowercase fragment.
    pub fn describe(self) -> &'static str {
        match self {
            Repair::ReleaseNotHeld => "release of a lock not held, left out",
            Repair::EndWithoutBegin => "end without a begin, left out",
            Repair::AcquireHeld => "acquire of a lock held by another thread, left out",
            Repair::WaitNotHeld => "wait without the lock, left out",
            Repair::WaitLostLock => "lock taken by another thread after a wait, thread goes on without it",
            Repair::BadFork => "fork of a thread that runs already, left out",
            Repair::BadJoin => "join of a thread that does not run, left out",
            Repair::AfterJoin => "event of a thread after its join, thread counts as running",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Repair::WaitLostLock => {
                "fix the recorder, or read with --lenient to let the thread go on without the lock"
            }
            Repair::AfterJoin => {
                "fix the recorder, or read with --lenient to count the thread as running again"
            }
            _ => "fix the recorder, or read with --lenient to leave the event out",
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    life: Life,
    /// It has had an event.
    is_active: bool,
    /// The lock that comes back with the thread's next event, and how often it is held then.
    waits: Option<(LockId, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Life {
    /// Never forked, no event: it may be there from the start, or be forked later.
    #[default]
    Unknown,
    /// Since its fork, or else since its first event.
    Runs(u64),
    /// At this event.
    Joined(u64),
}

#[derive(Debug, Default)]
struct Lock {
    /// Who holds it exclusively. Nobody else holds it shared then.
    exclusive: Option<Holder>,
    /// Who holds it shared; each thread at most once.
    shared: Vec<Holder>,
}

/// A thread that holds a lock in one mode.
#[derive(Clone, Copy, Debug)]
struct Holder {
    thread: ThreadId,
    /// How often; at least once.
    depth: u64,
    /// The event that took the lock, or took it back after a wait.
    since: u64,
}

impl Wellformed {
    /// At the start of a trace.
    pub fn new(discipline: Discipline) -> Self {
        Wellformed { discipline, ..Wellformed::default() }
    }

    /// Checks the next events of the trace, which start at position `first`, in place: re-entrant
    /// lock operations become [`crate::Op::Reacquire`] and [`crate::Op::Rerelease`], events that a
    /// repair leaves out become [`crate::Op::Skip`]. Ids must be dense and known
    /// to `names`: tables grow to the largest. After an error the trace is over; the events before the broken one are checked.
    pub fn check(&mut self, first: EventId, block: &mut [Event], names: &Names) -> Result<(), Broken> {
        let mut figures = self.figures;
        let mut result = Ok(());
        for (index, event) in block.iter_mut().enumerate() {
            let thread = event.thread.index();
            if self.calm.get(thread) == Some(&true) {
                // Which of these it is comes in no order that a branch predictor could learn: one path.
                let open = &mut self.open_blocks[thread];
                let ends = u64::from(matches!(event.op, Op::End));
                if keeps_order(event.op) & (ends <= *open) {
                    figures.count(event.op, *open);
                    *open = *open + u64::from(matches!(event.op, Op::Begin(_))) - ends;
                    continue;
                }
            }
            let open = self.open_blocks.get(thread).copied().unwrap_or(0);
            match self.step(first.0 + index as u64, *event) {
                Ok(op) => event.op = op,
                Err(broken) => {
                    let problem = self.problem(broken, *event, names);
                    result = Err(Broken { index, problem, help: broken.help().to_owned() });
                    break;
                }
            }
            if event.op != Op::Skip {
                figures.count(event.op, open);
                figures.threads += u64::from(!std::mem::replace(&mut self.threads[thread].is_active, true));
            }
        }
        self.figures = figures;
        result
    }

    /// Repairs made so far, per kind; kinds that never happened are left out.
    pub fn repairs_by_kind(&self) -> impl Iterator<Item = (Repair, u64)> {
        Repair::ALL.into_iter().zip(self.by_kind).filter(|&(_, count)| count > 0)
    }

    /// One event, in full. Returns what becomes of its operation, or which rule it breaks. In the
    /// latter case all that [`Wellformed::problem`] asks for is still as it was.
    #[inline(never)]
    fn step(&mut self, at: u64, event: Event) -> Result<Op, Repair> {
        let Event { thread, op, .. } = event;
        if op == Op::Skip {
            return Ok(op);
        }
        self.know(thread);
        if self.calm[thread.index()] {
            return self.operation(at, thread, op).or_else(|rule| self.repair(rule).map(|()| Op::Skip));
        }
        let Thread { life, waits, .. } = self.threads[thread.index()];
        if matches!(life, Life::Joined(_)) && self.discipline == Discipline::Strict {
            return Err(Repair::AfterJoin);
        }
        if let Some((lock, depth)) = waits {
            self.take_back(at, thread, lock, depth)?;
        }
        self.calm[thread.index()] = matches!(life, Life::Runs(_));
        let op = match self.operation(at, thread, op) {
            Ok(op) => op,
            Err(rule) => {
                // What is left out is not its first event.
                self.calm[thread.index()] &= self.threads[thread.index()].is_active;
                return self.repair(rule).map(|()| Op::Skip);
            }
        };
        if matches!(life, Life::Joined(_)) {
            self.repair(Repair::AfterJoin)?;
        }
        if !matches!(life, Life::Runs(_)) {
            let state = &mut self.threads[thread.index()];
            state.life = Life::Runs(at);
            self.calm[thread.index()] = state.waits.is_none();
        }
        Ok(op)
    }

    /// The rules, one operation each.
    #[inline]
    fn operation(&mut self, at: u64, thread: ThreadId, op: Op) -> Result<Op, Repair> {
        match op {
            // Operations that were checked before are checked as what they were made from.
            Op::Acquire(lock, mode) | Op::Reacquire(lock, mode) => self.acquire(at, thread, lock, mode),
            Op::Release(lock, mode) | Op::Rerelease(lock, mode) => self.release(thread, lock, mode),
            Op::Wait(lock) => self.wait(thread, lock),
            Op::Fork(child) => self.fork(at, thread, child),
            Op::Join(child) => self.join(at, thread, child),
            Op::Begin(_) => {
                self.open_blocks[thread.index()] += 1;
                Ok(op)
            }
            Op::End => {
                let open = &mut self.open_blocks[thread.index()];
                *open = open.checked_sub(1).ok_or(Repair::EndWithoutBegin)?;
                Ok(op)
            }
            Op::Read(..) | Op::Write(..) | Op::Update(..) => Ok(op),
            Op::Barrier(_) | Op::Alloc(_) | Op::Free(_) | Op::Escape(_) | Op::Local | Op::Skip => Ok(op),
        }
    }

    #[inline]
    fn acquire(&mut self, at: u64, thread: ThreadId, id: LockId, mode: Mode) -> Result<Op, Repair> {
        let lock = self.lock(id);
        if lock.obstacle(thread, mode).is_some() {
            return Err(Repair::AcquireHeld);
        }
        if let Some(mine) = lock.held_by(thread, mode) {
            mine.depth += 1;
            return Ok(Op::Reacquire(id, mode));
        }
        let holder = Holder { thread, depth: 1, since: at };
        match mode {
            Mode::Exclusive => lock.exclusive = Some(holder),
            Mode::Shared => lock.shared.push(holder),
        }
        Ok(Op::Acquire(id, mode))
    }

    #[inline]
    fn release(&mut self, thread: ThreadId, id: LockId, mode: Mode) -> Result<Op, Repair> {
        let lock = self.lock(id);
        let Some(mine) = lock.held_by(thread, mode) else {
            return Err(Repair::ReleaseNotHeld);
        };
        mine.depth -= 1;
        if mine.depth > 0 {
            return Ok(Op::Rerelease(id, mode));
        }
        match mode {
            Mode::Exclusive => lock.exclusive = None,
            Mode::Shared => lock.shared.retain(|holder| holder.thread != thread),
        }
        Ok(Op::Release(id, mode))
    }

    fn wait(&mut self, thread: ThreadId, id: LockId) -> Result<Op, Repair> {
        let lock = self.lock(id);
        match lock.exclusive {
            Some(mine) if mine.thread == thread && lock.shared.is_empty() => {
                lock.exclusive = None;
                self.threads[thread.index()].waits = Some((id, mine.depth));
                self.calm[thread.index()] = false;
                Ok(Op::Wait(id))
            }
            _ => Err(Repair::WaitNotHeld),
        }
    }

    /// The thread's next event after a wait: the lock is its own again.
    fn take_back(&mut self, at: u64, thread: ThreadId, id: LockId, depth: u64) -> Result<(), Repair> {
        let lock = self.lock(id);
        if lock.obstacle(thread, Mode::Exclusive).is_some() {
            self.repair(Repair::WaitLostLock)?;
        } else {
            lock.exclusive = Some(Holder { thread, depth, since: at });
        }
        self.threads[thread.index()].waits = None;
        Ok(())
    }

    fn fork(&mut self, at: u64, thread: ThreadId, child: ThreadId) -> Result<Op, Repair> {
        self.know(child);
        let state = &mut self.threads[child.index()];
        if child == thread || matches!(state.life, Life::Runs(_)) {
            return Err(Repair::BadFork);
        }
        // Not calm before its first event, which is looked at closely.
        state.life = Life::Runs(at);
        Ok(Op::Fork(child))
    }

    fn join(&mut self, at: u64, thread: ThreadId, child: ThreadId) -> Result<Op, Repair> {
        self.know(child);
        let state = &mut self.threads[child.index()];
        if child == thread || !matches!(state.life, Life::Runs(_)) {
            return Err(Repair::BadJoin);
        }
        state.life = Life::Joined(at);
        self.calm[child.index()] = false;
        Ok(Op::Join(child))
    }

    /// Strict: the rule is broken. Lenient: counts, and the caller goes on.
    #[cold]
    fn repair(&mut self, rule: Repair) -> Result<(), Repair> {
        if self.discipline == Discipline::Strict {
            return Err(rule);
        }
        self.repairs += 1;
        self.by_kind[rule as usize] += 1;
        Ok(())
    }

    /// What is wrong with an event that has just been found to break a rule.
    #[cold]
    fn problem(&self, rule: Repair, event: Event, names: &Names) -> String {
        let Event { thread, op, .. } = event;
        let me = names.threads.get(thread);
        let lock = |id: LockId| names.locks.get(id);
        let held = |holder: Option<(Holder, Mode)>| match holder {
            None => "nobody holds".to_owned(),
            Some((holder, mode)) => {
                let who = if holder.thread == thread { "it" } else { names.threads.get(holder.thread) };
                format!("{who} holds{} since event {}", shared(mode), holder.since)
            }
        };
        let Thread { life, waits, .. } = self.threads[thread.index()];
        match (rule, op) {
            (Repair::AfterJoin, _) => match life {
                Life::Joined(at) => format!("{me} has an event, but event {at} joined it"),
                Life::Unknown | Life::Runs(_) => unreachable!("only a joined thread breaks this rule"),
            },
            (Repair::WaitLostLock, _) => {
                let (id, _) = waits.expect("only a waiting thread breaks this rule");
                let holder = self.locks[id.index()].obstacle(thread, Mode::Exclusive);
                format!("{me} goes on after its wait on {}, which {}", lock(id), held(holder))
            }
            (_, Op::Acquire(id, mode) | Op::Reacquire(id, mode)) => {
                let holder = self.locks[id.index()].obstacle(thread, mode);
                format!("{me} acquires {}{}, which {}", lock(id), shared(mode), held(holder))
            }
            (_, Op::Release(id, mode) | Op::Rerelease(id, mode)) => {
                let holder = self.locks[id.index()].holder_to_name(thread);
                format!("{me} releases {}{}, which {}", lock(id), shared(mode), held(holder))
            }
            (_, Op::Wait(id)) => {
                let holder = self.locks[id.index()].holder_to_name(thread);
                format!("{me} waits on {}, which {}", lock(id), held(holder))
            }
            (_, Op::Fork(child)) if child == thread => format!("{me} forks itself"),
            (_, Op::Join(child)) if child == thread => format!("{me} joins itself"),
            (_, Op::Fork(child) | Op::Join(child)) => {
                let other = names.threads.get(child);
                match self.threads[child.index()].life {
                    Life::Runs(since) => format!("{me} forks {other}, which runs since event {since}"),
                    Life::Joined(at) => format!("{me} joins {other}, which event {at} joined already"),
                    Life::Unknown => {
                        format!("{me} joins {other}, which was not forked and has had no event")
                    }
                }
            }
            _ => format!("{me} ends a block, but has none open"),
        }
    }

    /// Makes room for a thread.
    #[inline]
    fn know(&mut self, thread: ThreadId) {
        if thread.index() >= self.threads.len() {
            let threads = thread.index() + 1;
            self.calm.resize(threads, false);
            self.open_blocks.resize(threads, 0);
            self.threads.resize_with(threads, Thread::default);
        }
    }

    #[inline]
    fn lock(&mut self, lock: LockId) -> &mut Lock {
        if lock.index() >= self.locks.len() {
            self.locks.resize_with(lock.index() + 1, Lock::default);
        }
        &mut self.locks[lock.index()]
    }
}

impl Lock {
    /// Another thread that keeps `thread` from taking the lock in `mode`.
    #[inline]
    fn obstacle(&self, thread: ThreadId, mode: Mode) -> Option<(Holder, Mode)> {
        if let Some(holder) = self.exclusive
            && holder.thread != thread
        {
            return Some((holder, Mode::Exclusive));
        }
        if mode == Mode::Shared {
            return None;
        }
        self.shared.iter().find(|holder| holder.thread != thread).map(|&holder| (holder, Mode::Shared))
    }

    #[inline]
    fn held_by(&mut self, thread: ThreadId, mode: Mode) -> Option<&mut Holder> {
        match mode {
            Mode::Exclusive => self.exclusive.as_mut().filter(|holder| holder.thread == thread),
            Mode::Shared => self.shared.iter_mut().find(|holder| holder.thread == thread),
        }
    }

    /// The holder that tells most about why `thread` cannot give the lock back: the thread
    /// itself, in the mode that was not expected, and else any other.
    fn holder_to_name(&self, thread: ThreadId) -> Option<(Holder, Mode)> {
        let shared = self.shared.iter().map(|&holder| (holder, Mode::Shared));
        let exclusive = self.exclusive.iter().map(|&holder| (holder, Mode::Exclusive));
        let holders = || shared.clone().chain(exclusive.clone());
        holders().find(|(holder, _)| holder.thread == thread).or_else(|| holders().next())
    }
}

/// Whether an operation of a thread that runs and is in no wait breaks no rule, but perhaps that an end has a begin.
#[inline(always)]
fn keeps_order(op: Op) -> bool {
    use Op::{Acquire, Fork, Join, Reacquire, Release, Rerelease, Skip, Wait};
    !matches!(
        op,
        Acquire(..) | Release(..) | Reacquire(..) | Rerelease(..) | Wait(_) | Fork(_) | Join(_) | Skip
    )
}

fn shared(mode: Mode) -> &'static str {
    match mode {
        Mode::Exclusive => "",
        Mode::Shared => " shared",
    }
}

#[cfg(test)]
mod tests;
