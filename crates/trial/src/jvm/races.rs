//! Whether an execution has a data race, by the Java memory model: two conflicting plain accesses that synchronisation does
//! not order. Vector clocks.

use std::collections::BTreeMap;

use super::happening::{Execution, Happening, Location};
use super::program::{Mode, Program};
use super::vocabulary::{Effect, needs_order};

type Clock = BTreeMap<usize, u64>;

fn join(clock: &mut Clock, other: &Clock) {
    for (&thread, &time) in other {
        let known = clock.entry(thread).or_default();
        *known = time.max(*known);
    }
}

#[derive(Default)]
struct Races {
    threads: BTreeMap<usize, Clock>,
    /// Per lock: what its exclusive holders and its shared holders did.
    locks: BTreeMap<usize, [Clock; 2]>,
    signals: BTreeMap<usize, Clock>,
    barrier: Clock,
    /// What a thread learns when it goes on.
    next: BTreeMap<usize, Next>,
    /// What the writers of variables that synchronise did before.
    published: BTreeMap<Location, Clock>,
    reads: BTreeMap<Location, Clock>,
    writes: BTreeMap<Location, Clock>,
}

#[derive(Clone, Copy)]
enum Next {
    Reacquires(usize),
    Leaves,
}

/// Whether it has one.
pub(crate) fn has_race(program: &Program, execution: &Execution) -> bool {
    let mut races = Races::default();
    execution.happenings.iter().any(|&(thread, happening)| races.step(program, thread, happening))
}

impl Races {
    fn step(&mut self, program: &Program, thread: usize, happening: Happening) -> bool {
        let mine = self.threads.entry(thread).or_default();
        *mine.entry(thread).or_default() += 1;
        match self.next.remove(&thread) {
            Some(Next::Reacquires(lock)) => {
                let [exclusive, shared] = self.locks.entry(lock).or_default();
                join(mine, exclusive);
                join(mine, shared);
            }
            Some(Next::Leaves) => join(mine, &self.barrier),
            None => {}
        }
        match happening {
            Happening::Access(location, effect) => return self.access(program, thread, location, effect),
            Happening::Acquire(lock, mode) => {
                let [exclusive, shared] = self.locks.entry(lock).or_default();
                join(mine, exclusive);
                if mode == Mode::Exclusive {
                    join(mine, shared);
                }
            }
            Happening::Release(lock, mode) => {
                let clocks = self.locks.entry(lock).or_default();
                join(&mut clocks[usize::from(mode == Mode::Shared)], mine);
            }
            Happening::Wait(lock) => {
                join(&mut self.locks.entry(lock).or_default()[0], mine);
                self.next.insert(thread, Next::Reacquires(lock));
            }
            Happening::Arrive => {
                join(&mut self.barrier, mine);
                self.next.insert(thread, Next::Leaves);
            }
            Happening::Fork(started) => {
                let clock = mine.clone();
                join(self.threads.entry(started).or_default(), &clock);
            }
            Happening::Join(ended) => {
                let clock = self.threads.get(&ended).cloned().unwrap_or_default();
                join(self.threads.entry(thread).or_default(), &clock);
            }
            Happening::Send(signal) => {
                self.signals.insert(signal, mine.clone());
            }
            Happening::Receive(signal) => {
                if let Some(clock) = self.signals.get(&signal) {
                    join(mine, clock);
                }
            }
            Happening::Begin(_) | Happening::End | Happening::Split => {}
        }
        false
    }

    fn access(&mut self, program: &Program, thread: usize, location: Location, effect: Effect) -> bool {
        let is_plain = match location {
            Location::Variable(variable) => needs_order(program.variables[variable]),
            Location::Item { volatile, .. } => !volatile,
            Location::Element { .. } => true,
        };
        let (reads, writes) = (effect != Effect::Write, effect != Effect::Read);
        let mine = self.threads.entry(thread).or_default();
        if !is_plain {
            let published = self.published.entry(location).or_default();
            if reads {
                join(mine, published);
            }
            if writes {
                join(published, mine);
            }
            return false;
        }
        let is_known = |clock: &Clock| clock.iter().all(|(other, time)| mine.get(other) >= Some(time));
        let earlier_writes = self.writes.entry(location).or_default();
        let earlier_reads = self.reads.entry(location).or_default();
        let races = !is_known(earlier_writes) || writes && !is_known(earlier_reads);
        let now = mine[&thread];
        let list = if writes { earlier_writes } else { earlier_reads };
        list.insert(thread, now);
        races
    }
}
