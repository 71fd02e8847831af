//! A small concurrent C program as data: its memory, and what its threads do, step by step in a total order.
//!
//! `world.rs` says which steps are possible and which events they make; `walker.c` takes them.

use std::fmt;

/// Locks by number: what each is. The same list is in `walker.c`.
pub(super) const LOCKS: [LockKind; 6] = [
    LockKind::Mutex,
    LockKind::Mutex,
    LockKind::Recursive,
    LockKind::Spin,
    LockKind::ReadWrite,
    LockKind::ReadWrite,
];
/// Semaphores by number: the permits that each has at first. The first one is used as a lock.
pub(super) const SEMAPHORES: [usize; 2] = [1, 0];
/// How many once-only initialisations there are.
pub(super) const INITIALISATIONS: usize = 2;
/// How many pointers to allocated memory there are.
pub(super) const SLOTS: usize = 3;
/// The bytes of each allocation.
pub(super) const SLOT_BYTES: usize = 48;
/// The bytes of static memory that a program has.
pub(super) const ARENA_BYTES: usize = 128;
/// Labels of blocks: those with even numbers are functions, the others annotations.
pub(super) const LABELS: usize = 6;

/// What a lock is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LockKind {
    /// A mutex, with a condition variable.
    Mutex,
    /// A recursive mutex.
    Recursive,
    /// A spin lock.
    Spin,
    /// A read-write lock.
    ReadWrite,
}

/// What keeps accesses of a zone, or of an allocation, from racing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Guard {
    /// This lock is held; its read side is enough for reads.
    Lock(usize),
    /// The first semaphore's permit.
    Semaphore,
    /// Between two meetings at the barrier it belongs to one thread, then to the next.
    Turn,
    /// One thread owns it, and hands it over: by creating and joining threads, and through an atomic flag.
    Owner,
    /// Atomic operations alone.
    Atomic,
    /// Nothing does.
    Nothing,
}

/// Bytes of static memory that are guarded together. Zones lie next to each other, at any address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Zone {
    /// The first byte.
    pub(super) start: usize,
    /// The end.
    pub(super) end: usize,
    /// By what.
    pub(super) guard: Guard,
}

/// Where an access begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// In static memory.
    Arena(usize),
    /// In the memory that a pointer refers to.
    Slot(usize, usize),
}

/// An atomic operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AtomicOperation {
    Load,
    Store,
    Exchange,
    FetchAdd,
    FetchSub,
    FetchAnd,
    FetchOr,
    FetchXor,
    FetchNand,
    /// A compare-exchange that finds what it expects.
    CompareExchange,
    /// One that does not.
    FailingCompareExchange,
}

impl AtomicOperation {
    /// Whether two of them commute, as long as nobody has read the value.
    pub(super) fn commutes(self) -> bool {
        use AtomicOperation::{FetchAdd, FetchAnd, FetchOr, FetchSub, FetchXor};
        matches!(self, FetchAdd | FetchSub | FetchAnd | FetchOr | FetchXor)
    }

    /// All of them, in the order of their numbers in `walker.c`.
    pub(super) const ALL: [AtomicOperation; 11] = [
        AtomicOperation::Load,
        AtomicOperation::Store,
        AtomicOperation::Exchange,
        AtomicOperation::FetchAdd,
        AtomicOperation::FetchSub,
        AtomicOperation::FetchAnd,
        AtomicOperation::FetchOr,
        AtomicOperation::FetchXor,
        AtomicOperation::FetchNand,
        AtomicOperation::CompareExchange,
        AtomicOperation::FailingCompareExchange,
    ];
}

/// What a thread does in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    /// Enters a block.
    Begin(usize),
    /// Leaves the innermost block.
    End,
    /// A plain load of some bytes.
    Read(Place, usize),
    /// A plain store of some bytes.
    Write(Place, usize),
    /// `memset` of some bytes.
    Set(Place, usize),
    /// `memcpy` to the first place from the second.
    Copy(Place, Place, usize),
    /// An atomic operation on so many bytes, with memory order 0 (relaxed) to 3 (sequentially consistent).
    Atomic(AtomicOperation, Place, usize, usize),
    /// Takes a lock.
    Lock(usize),
    /// Takes a lock by the function that does not wait.
    TryLock(usize),
    /// Fails to take it so, because another thread holds it.
    FailToLock(usize),
    /// Takes the read side of a lock.
    ReadLock(usize),
    /// Releases a lock, in whichever mode it is held.
    Unlock(usize),
    /// Waits on the condition of a mutex until another thread signals it.
    Wait(usize),
    /// Waits there until a time that has passed.
    TimedWait(usize),
    /// Signals it.
    Signal(usize),
    /// Arrives at the barrier.
    Arrive,
    /// Counts a semaphore down.
    Take(usize),
    /// Counts it up.
    Post(usize),
    /// `pthread_once`, and a read of what it has initialised.
    Once(usize),
    /// Creates a thread.
    Create(usize),
    /// Waits for its end.
    Join(usize),
    /// Stores to the flag of a zone that the thread owns: whoever loads it owns the zone next.
    HandOver(usize),
    /// Loads that flag.
    TakeOver(usize),
    /// Allocates memory for a pointer.
    Allocate(usize),
    /// Frees it.
    Free(usize),
    /// `realloc` of it.
    Reallocate(usize),
    /// `fork()`: the program's child runs in the new process.
    Fork,
    /// Sends a signal to a thread, whose handler takes its next steps.
    Interrupt(usize),
    /// The handler returns.
    Return,
}

/// A thread's next step. Threads are numbered from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    /// Who.
    pub(super) thread: usize,
    /// What.
    pub(super) action: Action,
}

/// What a program has besides its steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Setup {
    /// The zones of its static memory, which they fill.
    pub(super) zones: Vec<Zone>,
    /// The memory of each pointer, as one zone.
    pub(super) slots: Vec<Zone>,
    /// How many threads there may be.
    pub(super) threads: usize,
    /// How many of them are there from the start.
    pub(super) initial: usize,
    /// How many of those meet at the barrier.
    pub(super) parties: usize,
}

/// A program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Program {
    /// What it has.
    pub(super) setup: Setup,
    /// What it does.
    pub(super) steps: Vec<Step>,
    /// What runs in the processes that it forks.
    pub(super) child: Option<Box<Program>>,
}

/// How many programs, children included, the walker has labels for.
pub(super) const NUMBERS: usize = 128;

/// The name of a block as the report has it, by the number of its program.
pub(super) fn label_name(program: usize, label: usize) -> String {
    let kind = if label.is_multiple_of(2) { 'f' } else { 'b' };
    format!("p{program}_{kind}{label}")
}

impl Program {
    /// As `walker.c` reads it; the child follows its parent and has the next number.
    pub(super) fn encode(&self, number: usize, text: &mut String) {
        use fmt::Write as _;
        let Setup { threads, initial, parties, .. } = self.setup;
        let child = usize::from(self.child.is_some());
        let _ = writeln!(text, "P {number} {threads} {initial} {parties} {child} {}", self.steps.len());
        let mut open = vec![Vec::new(); threads + 1];
        for step in &self.steps {
            let (word, [mut a, b, c, d, e]) = step.action.encode();
            match step.action {
                Action::Begin(label) => open[step.thread].push(label),
                // The walker leaves a function in another way than an annotated block.
                Action::End => a = open[step.thread].pop().unwrap_or_default(),
                _ => {}
            }
            let _ = writeln!(text, "{} {word} {a} {b} {c} {d} {e}", step.thread);
        }
        if let Some(child) = &self.child {
            child.encode(number + 1, text);
        }
    }
}

impl Place {
    /// Zone or pointer (0 for static memory), and offset.
    fn encode(self) -> (usize, usize) {
        match self {
            Place::Arena(offset) => (0, offset),
            Place::Slot(slot, offset) => (slot + 1, offset),
        }
    }
}

impl Action {
    fn encode(self) -> (char, [usize; 5]) {
        let one = |word, a| (word, [a, 0, 0, 0, 0]);
        let access = |word, place: Place, length| {
            let (slot, offset) = place.encode();
            (word, [slot, offset, length, 0, 0])
        };
        match self {
            Action::Begin(label) => one('B', label),
            Action::End => one('E', 0),
            Action::Read(place, width) => access('r', place, width),
            Action::Write(place, width) => access('w', place, width),
            Action::Set(place, length) => access('s', place, length),
            Action::Copy(to, from, length) => {
                let ((a, b), (c, d)) = (to.encode(), from.encode());
                ('c', [a, b, c, d, length])
            }
            Action::Atomic(operation, place, width, order) => {
                let (slot, offset) = place.encode();
                let number = AtomicOperation::ALL.iter().position(|other| *other == operation);
                ('A', [slot, offset, width, number.unwrap_or_default(), order])
            }
            Action::Lock(lock) => one('l', lock),
            Action::TryLock(lock) => one('t', lock),
            Action::FailToLock(lock) => one('x', lock),
            Action::ReadLock(lock) => one('R', lock),
            Action::Unlock(lock) => one('u', lock),
            Action::Wait(lock) => one('W', lock),
            Action::TimedWait(lock) => one('D', lock),
            Action::Signal(lock) => one('S', lock),
            Action::Arrive => one('b', 0),
            Action::Take(semaphore) => one('-', semaphore),
            Action::Post(semaphore) => one('+', semaphore),
            Action::Once(number) => one('o', number),
            Action::Create(thread) => one('C', thread),
            Action::Join(thread) => one('J', thread),
            Action::HandOver(zone) => one('>', zone),
            Action::TakeOver(zone) => one('<', zone),
            Action::Allocate(slot) => one('m', slot),
            Action::Free(slot) => one('f', slot),
            Action::Reallocate(slot) => one('M', slot),
            Action::Fork => one('F', 0),
            Action::Interrupt(thread) => one('K', thread),
            Action::Return => one('Q', 0),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setup { threads, initial, parties, .. } = self.setup;
        writeln!(f, "{threads} threads, {initial} at first, {parties} at the barrier")?;
        for Zone { start, end, guard, .. } in &self.setup.zones {
            writeln!(f, "bytes {start}..{end}: {guard:?}")?;
        }
        for (slot, zone) in self.setup.slots.iter().enumerate() {
            writeln!(f, "slot {slot}: {:?}", zone.guard)?;
        }
        for step in &self.steps {
            writeln!(f, "T{} {:?}", step.thread, step.action)?;
        }
        if let Some(child) = &self.child {
            writeln!(f, "in the child:\n{child}")?;
        }
        Ok(())
    }
}
