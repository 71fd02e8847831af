//! Random small programs, each recorded in one execution that comes to its end: what predictive checkers
//! are tried on.
//!
//! The columns are those of the table in the design of the predictive algorithms. About half of the programs
//! of each are not atomic. Every other program is recorded thread after thread, the rest in random order.

use atomvet_trace::{BarrierId, Event, LockId, Mode, Op, RegionId, SiteId, ThreadId, UpdateKind, VarId};

/// What kind of programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    /// Two threads, one transaction each.
    Two,
    /// Three or four threads, one transaction each.
    Sep,
    /// Several transactions per thread.
    Po,
    /// And accesses and critical sections outside of transactions.
    E,
    /// And fork, join and barriers.
    Fork,
}

impl Column {
    /// In the order of the table.
    pub const ALL: [Column; 5] = [Column::Two, Column::Sep, Column::Po, Column::E, Column::Fork];

    /// Its heading in the table.
    pub fn name(self) -> &'static str {
        match self {
            Column::Two => "two",
            Column::Sep => "sep",
            Column::Po => "po",
            Column::E => "E",
            Column::Fork => "fork",
        }
    }
}

/// What programs are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operations {
    /// Reads, writes, exclusive locks in nested blocks: what the table is about.
    Plain,
    /// And, some in each program: updates, read-write locks, locks released in any order, re-entered locks,
    /// waits, nested blocks, several lives of a variable.
    Rich,
}

/// How large programs are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// Some 8 to 14 accesses: for checkers.
    Small,
    /// Some 3 to 6: all interleavings can be looked at one by one.
    Tiny,
}

/// The program of this seed, recorded.
pub fn program(column: Column, operations: Operations, seed: u64) -> Vec<Event> {
    sized_program(column, operations, Size::Small, seed)
}

/// The program of this seed and size, recorded.
pub fn sized_program(column: Column, operations: Operations, size: Size, seed: u64) -> Vec<Event> {
    let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ (column as u64) << 32);
    loop {
        let threads = Author::new(column, operations, &mut dice).write(size);
        let turns = if seed.is_multiple_of(2) { Turns::AsLongAsPossible } else { Turns::Random };
        // What gets stuck is thrown away: perhaps it always does.
        if let Some(events) = record(&threads, turns, &mut dice) {
            return events;
        }
    }
}

/// A tiny generator of numbers (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn from(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most + 1 - least)
    }

    /// True in so many of a hundred cases.
    fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Writes one program.
struct Author<'a> {
    dice: &'a mut Dice,
    column: Column,
    variables: usize,
    locks: usize,
    /// How many of a hundred units are in one critical section as a whole.
    careful: usize,
    /// How many of a hundred accesses, or groups of them, are in a critical section.
    locked: usize,
    /// How many of a hundred accesses write.
    writing: usize,
    rich: Rich,
    threads: Vec<Vec<Op>>,
}

/// What a program is made of besides the plain operations.
#[derive(Default)]
struct Rich {
    updates: bool,
    shared_locks: bool,
    crossed_locks: bool,
    reentered_locks: bool,
    waits: bool,
    nested_blocks: bool,
    lives: bool,
}

impl<'a> Author<'a> {
    fn new(column: Column, operations: Operations, dice: &'a mut Dice) -> Self {
        let mut some = |percent| operations == Operations::Rich && dice.percent(percent);
        let rich = Rich {
            updates: some(40),
            shared_locks: some(40),
            crossed_locks: some(40),
            reentered_locks: some(30),
            waits: some(20),
            nested_blocks: some(20),
            lives: some(10),
        };
        Author {
            column,
            variables: dice.from(1, 3),
            locks: if dice.percent(10) { 0 } else { dice.from(1, 3) },
            careful: [10, 50, 80, 100][dice.below(4)],
            locked: [20, 50, 80][dice.below(3)],
            writing: [15, 35, 60][dice.below(3)],
            rich,
            threads: Vec::new(),
            dice,
        }
    }

    fn write(mut self, size: Size) -> Vec<Vec<Op>> {
        // Threads; pieces of each; accesses of each piece.
        let (threads, pieces, accesses) = match (size, self.column) {
            (Size::Small, Column::Two) => ((2, 2), (1, 1), (3, 7)),
            (Size::Small, Column::Sep) => ((3, 4), (1, 1), (2, 4)),
            (Size::Small, Column::Po) => ((2, 3), (2, 3), (1, 3)),
            (Size::Small, Column::E | Column::Fork) => ((2, 3), (2, 4), (1, 3)),
            (Size::Tiny, Column::Two) => ((2, 2), (1, 1), (1, 3)),
            (Size::Tiny, Column::Sep) => ((3, 3), (1, 1), (1, 2)),
            (Size::Tiny, _) => ((2, 3), (1, 2), (1, 2)),
        };
        let threads = self.dice.from(threads.0, threads.1);
        for _ in 0..threads {
            let mut own = Vec::new();
            for _ in 0..self.dice.from(pieces.0, pieces.1) {
                let count = self.dice.from(accesses.0, accesses.1);
                self.piece(&mut own, count);
            }
            self.threads.push(own);
        }
        if self.column == Column::Fork {
            self.synchronize();
        }
        self.threads
    }

    /// A transaction, or something outside.
    fn piece(&mut self, own: &mut Vec<Op>, count: usize) {
        let outside = matches!(self.column, Column::E | Column::Fork) && self.dice.percent(40);
        if outside {
            return match self.dice.percent(50) {
                true => self.accesses(own, 1, &mut Vec::new()),
                false => self.section(own, count, &mut Vec::new()),
            };
        }
        own.push(Op::Begin(RegionId::NONE));
        let nested = self.rich.nested_blocks && self.dice.percent(30);
        if nested {
            self.accesses(own, 1, &mut Vec::new());
            own.push(Op::Begin(RegionId::NONE));
        }
        match self.dice.percent(self.careful) {
            true => self.section(own, count, &mut Vec::new()),
            false => self.accesses(own, count, &mut Vec::new()),
        }
        own.extend((0..=usize::from(nested)).map(|_| Op::End));
    }

    /// So many accesses, some of them in critical sections.
    fn accesses(&mut self, own: &mut Vec<Op>, count: usize, held: &mut Vec<LockId>) {
        let mut left = count;
        while left > 0 {
            let together = self.dice.from(1, left);
            if self.dice.percent(self.locked / (1 + held.len())) {
                self.section(own, together, held);
                left -= together;
            } else {
                own.push(self.access());
                left -= 1;
            }
        }
    }

    /// So many accesses under a lock that is not held; just so many accesses, if there is no such lock.
    fn section(&mut self, own: &mut Vec<Op>, count: usize, held: &mut Vec<LockId>) {
        let Some(lock) = self.free_lock(held) else {
            own.extend((0..count).map(|_| self.access()));
            return;
        };
        let mode = self.mode();
        own.push(Op::Acquire(lock, mode));
        held.push(lock);
        let reentered = self.rich.reentered_locks && self.dice.percent(30);
        if reentered {
            own.push(Op::Reacquire(lock, mode));
        }
        self.accesses(own, count, held);
        if self.rich.waits && mode == Mode::Exclusive && self.dice.percent(30) {
            own.push(Op::Wait(lock));
            own.push(self.access());
        }
        if reentered {
            own.push(Op::Rerelease(lock, mode));
        }
        match self.free_lock(held).filter(|_| self.rich.crossed_locks && self.dice.percent(50)) {
            Some(next) => self.hand_over(own, (lock, mode), next),
            None => own.push(Op::Release(lock, mode)),
        }
        held.pop();
    }

    /// Takes the next lock before it gives the one it has back.
    fn hand_over(&mut self, own: &mut Vec<Op>, (lock, mode): (LockId, Mode), next: LockId) {
        let next_mode = self.mode();
        own.push(Op::Acquire(next, next_mode));
        own.push(self.access());
        own.push(Op::Release(lock, mode));
        own.push(self.access());
        own.push(Op::Release(next, next_mode));
    }

    /// The first lock is the favourite, so that threads agree on one.
    fn free_lock(&mut self, held: &[LockId]) -> Option<LockId> {
        let free: Vec<LockId> =
            (0..self.locks as u32).map(LockId).filter(|lock| !held.contains(lock)).collect();
        let favourite = self.dice.percent(50);
        free.get(if favourite { 0 } else { self.dice.below(free.len()) }).copied()
    }

    fn mode(&mut self) -> Mode {
        let shared = self.rich.shared_locks && self.dice.percent(40);
        if shared { Mode::Shared } else { Mode::Exclusive }
    }

    fn access(&mut self) -> Op {
        let variable = VarId(self.dice.below(self.variables) as u32);
        if self.rich.lives && self.dice.percent(15) {
            return if self.dice.percent(50) { Op::Alloc(variable) } else { Op::Free(variable) };
        }
        if self.rich.updates && self.dice.percent(30) {
            return Op::Update(variable, UpdateKind::Other);
        }
        if self.dice.percent(self.writing) { Op::write(variable) } else { Op::read(variable) }
    }

    /// Puts forks, joins and barriers somewhere.
    fn synchronize(&mut self) {
        let threads = self.threads.len();
        for child in 1..threads {
            if self.dice.percent(60) {
                let parent = self.dice.below(child);
                let fork = self.insert(parent, 0, Op::Fork(ThreadId(child as u32)));
                if self.dice.percent(50) {
                    let joining = if self.dice.percent(80) { parent } else { self.dice.below(child) };
                    let from = if joining == parent { fork + 1 } else { 0 };
                    self.insert(joining, from, Op::Join(ThreadId(child as u32)));
                }
            }
        }
        if self.dice.percent(50) {
            let left_out = if threads > 2 { self.dice.below(threads + 1) } else { threads };
            for thread in (0..threads).filter(|&thread| thread != left_out) {
                self.insert(thread, 0, Op::Barrier(BarrierId(0)));
            }
        }
    }

    /// Puts an operation somewhere behind so many others, seldom into a critical section; tells where.
    fn insert(&mut self, thread: usize, from: usize, op: Op) -> usize {
        let anywhere = self.dice.percent(10);
        let own = &mut self.threads[thread];
        let depth = |ops: &[Op]| {
            let count = |wanted: fn(&Op) -> bool| ops.iter().filter(|op| wanted(op)).count();
            count(|op| matches!(op, Op::Acquire(..))) - count(|op| matches!(op, Op::Release(..)))
        };
        let places: Vec<usize> =
            (from..=own.len()).filter(|&at| anywhere || depth(&own[..at]) == 0).collect();
        let at = places.get(self.dice.below(places.len())).copied().unwrap_or(own.len());
        own.insert(at, op);
        at
    }
}

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turns {
    /// Each thread goes on as long as it can.
    AsLongAsPossible,
    Random,
}

/// An execution to the end; none if it gets stuck.
fn record(threads: &[Vec<Op>], turns: Turns, dice: &mut Dice) -> Option<Vec<Event>> {
    let mut at = vec![0; threads.len()];
    let mut events: Vec<Event> = Vec::new();
    while at.iter().zip(threads).any(|(&at, own)| at < own.len()) {
        let able: Vec<usize> = (0..threads.len()).filter(|&thread| is_able(threads, &at, thread)).collect();
        let last = events.last().map(|event| event.thread.index());
        let thread = match last.filter(|last| turns == Turns::AsLongAsPossible && able.contains(last)) {
            Some(last) => last,
            None => *able.get(dice.below(able.len()))?,
        };
        let op = threads[thread][at[thread]];
        events.push(Event { thread: ThreadId(thread as u32), op, site: SiteId::NONE });
        at[thread] += 1;
    }
    Some(events)
}

fn is_able(threads: &[Vec<Op>], at: &[usize], thread: usize) -> bool {
    let Some(&op) = threads[thread].get(at[thread]) else { return false };
    let did = |other: usize, op: Op| threads[other][..at[other]].contains(&op);
    let others = || (0..threads.len()).filter(move |&other| other != thread);
    let previous = at[thread].checked_sub(1).map(|previous| threads[thread][previous]);
    let fork = Op::Fork(ThreadId(thread as u32));
    let started = !threads.iter().any(|own| own.contains(&fork)) || others().any(|other| did(other, fork));
    let released = match previous {
        Some(barrier @ Op::Barrier(_)) => {
            others().filter(|&other| threads[other].contains(&barrier)).all(|other| did(other, barrier))
        }
        Some(Op::Wait(lock)) => others().all(|other| !holds(&threads[other][..at[other]], lock, &ANY_MODE)),
        _ => true,
    };
    let free = match op {
        Op::Acquire(lock, mode) => {
            let excluded: &[Mode] = if mode == Mode::Shared { &[Mode::Exclusive] } else { &ANY_MODE };
            others().all(|other| !holds(&threads[other][..at[other]], lock, excluded))
        }
        Op::Join(child) => at[child.index()] == threads[child.index()].len(),
        _ => true,
    };
    started && released && free
}

const ANY_MODE: [Mode; 2] = [Mode::Exclusive, Mode::Shared];

/// Whether a thread that has done this holds the lock.
fn holds(done: &[Op], lock: LockId, modes: &[Mode]) -> bool {
    let waits = done.last() == Some(&Op::Wait(lock));
    !waits
        && modes.iter().any(|&mode| {
            let count = |op| done.iter().filter(|&&other| other == op).count();
            count(Op::Acquire(lock, mode)) > count(Op::Release(lock, mode))
        })
}

#[cfg(test)]
mod tests {
    use atomvet_trace::wellformed::{Discipline, Wellformed};
    use atomvet_trace::{EventId, Names};

    use super::*;
    use crate::notation::{parse, show};

    #[test]
    fn programs_are_well_formed_and_complete() {
        for seed in 0..2000 {
            for column in Column::ALL {
                let events = program(column, Operations::Rich, seed);
                // Errors name things, so they must have names.
                let (unchecked, names) = parse(&show(&events, &Names::default()));
                let mut checked = unchecked.clone();
                let result = Wellformed::new(Discipline::Strict).check(EventId(0), &mut checked, &names);
                assert!(result.is_ok() && checked == unchecked, "{result:?} in {}", show(&unchecked, &names));
                let count = |op: fn(&Op) -> bool| events.iter().filter(|event| op(&event.op)).count();
                assert_eq!(count(|op| matches!(op, Op::Begin(_))), count(|op| *op == Op::End));
                let acquires = count(|op| matches!(op, Op::Acquire(..)));
                assert_eq!(acquires, count(|op| matches!(op, Op::Release(..))));
            }
        }
    }
}
