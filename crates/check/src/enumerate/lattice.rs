//! How far the threads of a program can be, all of it: which positions can be reached, where each thread
//! can go from there, and from where the program can still come to its end.

use super::steps::{Locks, MOST_THREADS, MOST_VARIABLES, PerThread, Step, Steps};
use super::{Budget, Search};

/// All positions of a program.
#[derive(Debug)]
pub(super) struct Lattice {
    pub(super) steps: Steps,
    /// What one step of each thread adds to the number of a position.
    strides: [usize; MOST_THREADS],
    /// Per position, the threads whose next step is possible, as bits; 0 for what cannot be reached.
    moves: Vec<u8>,
    /// Per position, whether the program can come to its end from there.
    can_complete: Vec<bool>,
    has_deadlock: bool,
    /// Per thread, how far it was, and variable: the last write and the last access of it, counted from 1.
    last_accesses: Vec<Vec<[(u8, u8); MOST_VARIABLES]>>,
}

impl Lattice {
    /// None if there are more positions than the budget has left.
    pub(super) fn new(steps: Steps, budget: &mut Budget) -> Option<Lattice> {
        let (mut strides, mut size) = ([0; MOST_THREADS], 1_usize);
        for (stride, own) in strides.iter_mut().zip(&steps.threads) {
            *stride = size;
            size = size.checked_mul(own.len() + 1)?;
        }
        budget.spend(size as u64)?;
        let last_accesses = steps.threads.iter().map(|own| last_accesses(own)).collect();
        let (moves, can_complete) = (vec![0; size], vec![false; size]);
        let mut lattice = Lattice { steps, strides, moves, can_complete, has_deadlock: false, last_accesses };
        lattice.explore();
        Some(lattice)
    }

    /// Every step leads to a position of a larger number, so once upwards finds what can be reached and
    /// once downwards from where the end can be.
    fn explore(&mut self) {
        let size = self.moves.len();
        let mut reached = vec![false; size];
        reached[0] = true;
        for position in 0..size {
            if reached[position] {
                let at = self.threads_at(position);
                for thread in 0..self.steps.threads.len() {
                    if self.is_possible(&at, thread) {
                        self.moves[position] |= 1 << thread;
                        reached[position + self.strides[thread]] = true;
                    }
                }
            }
        }
        for position in (0..size).rev() {
            let mut next = bits(self.moves[position]).map(|thread| position + self.strides[thread]);
            self.can_complete[position] = position + 1 == size || next.any(|next| self.can_complete[next]);
            self.has_deadlock |= reached[position] && self.moves[position] == 0 && position + 1 != size;
        }
    }

    fn threads_at(&self, position: usize) -> PerThread {
        let mut at = PerThread::default();
        for ((at, own), stride) in at.iter_mut().zip(&self.steps.threads).zip(self.strides) {
            *at = (position / stride % (own.len() + 1)) as u8;
        }
        at
    }

    fn is_possible(&self, at: &PerThread, thread: usize) -> bool {
        let Some(step) = self.steps.threads[thread].get(usize::from(at[thread])) else { return false };
        let arrived = step.needs.iter().zip(at).all(|(needs, at)| needs <= at);
        arrived
            && (0..self.steps.threads.len())
                .filter(|&other| other != thread)
                .all(|other| step.takes.can_be_taken_beside(self.held(at, other)))
    }

    fn held(&self, at: &PerThread, thread: usize) -> Locks {
        let last =
            at[thread].checked_sub(1).and_then(|last| self.steps.threads[thread].get(usize::from(last)));
        last.map_or(Locks::default(), |last| last.holds)
    }

    fn position(&self, at: &PerThread) -> usize {
        at.iter().zip(self.strides).map(|(&at, stride)| usize::from(at) * stride).sum()
    }

    /// The threads that can go on, with their next steps.
    pub(super) fn moves(&self, at: &PerThread) -> impl Iterator<Item = (usize, &Step)> {
        let at = *at;
        bits(self.moves[self.position(&at)])
            .map(move |thread| (thread, &self.steps.threads[thread][usize::from(at[thread])]))
    }

    /// Whether the program can come to its end.
    pub(super) fn can_complete(&self, at: &PerThread) -> bool {
        self.can_complete[self.position(at)]
    }

    /// Whether the program is at its end.
    pub(super) fn is_complete(&self, at: &PerThread) -> bool {
        self.position(at) + 1 == self.moves.len()
    }

    /// Whether the threads can get to where none can go on before all are done.
    pub(super) fn has_deadlock(&self) -> bool {
        self.has_deadlock
    }

    /// For the next step of a thread: per other thread, its last step that comes before because of an
    /// access of the same variable, fork, join or barrier; counted from 1.
    pub(super) fn directly_before(&self, at: &PerThread, thread: usize, step: &Step) -> PerThread {
        let mut before = step.needs;
        if let Some(access) = step.access {
            for (other, last_accesses) in self.last_accesses.iter().enumerate() {
                let (last_write, last_access) = last_accesses[usize::from(at[other])][access.variable];
                let last = if access.writes { last_access } else { last_write };
                before[other] = before[other].max(last);
            }
        }
        before[thread] = 0;
        before
    }

    /// Whether some interleaving has a cycle of units, and comes to its end.
    pub(super) fn has_cycle(&self, budget: &mut Budget) -> Option<bool> {
        // Per thread that is in the middle of a unit: per thread the first step of the first unit that is
        // reached from there by a path of units. All later ones of that thread are reached as well. Only
        // of the units that are running does it matter, because only they can still get an edge.
        type State = (PerThread, [PerThread; MOST_THREADS]);
        let start: State = (PerThread::default(), [[NOT; MOST_THREADS]; MOST_THREADS]);
        budget.search(start, |(at, reached), next| {
            for (thread, step) in self.moves(at) {
                let before = self.directly_before(at, thread, step);
                let (mut at, mut reached) = (*at, *reached);
                let unit = &self.steps.units[step.unit].steps;
                if at[thread] == unit.start {
                    reached[thread][thread] = unit.start;
                }
                at[thread] += 1;
                let from_here = reached[thread];
                if reaches(&from_here, &before) {
                    if self.can_complete(&at) {
                        return Search::Found;
                    }
                    continue;
                }
                for row in &mut reached {
                    // Units that reached this one before gain nothing, and lose nothing, by this.
                    if reaches(row, &before) {
                        row.iter_mut().zip(from_here).for_each(|(one, other)| *one = other.min(*one));
                    }
                }
                if at[thread] == unit.end {
                    reached[thread] = [NOT; MOST_THREADS];
                }
                next.push((at, reached));
            }
            Search::Goes
        })
    }
}

/// No step is reached.
pub(super) const NOT: u8 = u8::MAX;

/// Whether one of the steps `before`, counted from 1, is at or after the first one reached of its thread.
pub(super) fn reaches(first_reached: &PerThread, before: &PerThread) -> bool {
    first_reached.iter().zip(before).any(|(first, before)| first < before)
}

/// The positions of the ones.
fn bits(set: u8) -> impl Iterator<Item = usize> {
    (0..MOST_THREADS).filter(move |bit| set >> bit & 1 == 1)
}

fn last_accesses(own: &[Step]) -> Vec<[(u8, u8); MOST_VARIABLES]> {
    let mut now = [(0, 0); MOST_VARIABLES];
    let mut all = vec![now];
    for (count, step) in (1..).zip(own) {
        if let Some(access) = step.access {
            let (last_write, last_access) = &mut now[access.variable];
            *last_access = count;
            if access.writes {
                *last_write = count;
            }
        }
        all.push(now);
    }
    all
}
