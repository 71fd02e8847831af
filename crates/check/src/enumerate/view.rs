//! Does every complete interleaving look like a serial one: every read sees the same write, and the same
//! writes are the last?
//!
//! First all serial ones, unit after unit, in each order that thread order, fork, join and barriers allow:
//! the set of what they look like. Then all interleavings, each with the set of the serial ones that still
//! look the same. Two interleavings that are at the same positions, with the same last writers and the
//! same set, have the same future.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::lattice::Lattice;
use super::steps::{MOST_VARIABLES, PerThread, Step};
use super::{Budget, Search};

/// The last writer of each variable.
type Writers = [u8; MOST_VARIABLES];

/// What an execution looks like: the writer that each reading step sees, in the order of threads and steps,
/// and the last writers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Looks {
    sources: SmallVec<[u8; 16]>,
    writers: Writers,
}

/// Whether every complete interleaving looks like a serial one.
pub(super) fn is_view_atomic(lattice: &Lattice, budget: &mut Budget) -> Option<bool> {
    let reads = Reads::new(lattice);
    let serial = serial(lattice, &reads, budget)?;
    let mut sets = Sets::default();
    let everything = sets.number(full(serial.len()));
    let start = (PerThread::default(), Writers::default(), everything);
    let found_other = budget.search(start, |(at, writers, alike), next| {
        if lattice.is_complete(at) {
            let looks_like = |number: usize| serial[number].writers == *writers;
            let serially = members(&sets.known[*alike]).any(looks_like);
            return if serially { Search::Goes } else { Search::Found };
        }
        for (thread, step) in lattice.moves(at) {
            let (mut at, mut writers, mut alike) = (*at, *writers, *alike);
            let place = usize::from(at[thread]);
            at[thread] += 1;
            if !lattice.can_complete(&at) {
                continue;
            }
            if let Some(source) = access(step, &mut writers) {
                let read = reads.number[thread][place];
                alike = sets.restrict(alike, read, source, &serial);
                if sets.known[alike].iter().all(|&word| word == 0) {
                    return Search::Found;
                }
            }
            next.push((at, writers, alike));
        }
        Search::Goes
    })?;
    Some(!found_other)
}

/// Accesses; gives the writer seen, if it reads.
fn access(step: &Step, writers: &mut Writers) -> Option<u8> {
    let access = step.access?;
    let seen = writers[access.variable];
    if access.writes {
        writers[access.variable] = step.number;
    }
    access.reads.then_some(seen)
}

/// The numbers of the reading steps.
struct Reads {
    /// Per thread and step; meaningless for steps that do not read.
    number: Vec<Vec<usize>>,
    count: usize,
}

impl Reads {
    fn new(lattice: &Lattice) -> Reads {
        let mut count = 0;
        let mut number = |step: &Step| {
            count += usize::from(step.access.is_some_and(|access| access.reads));
            count.saturating_sub(1)
        };
        let number = lattice.steps.threads.iter().map(|own| own.iter().map(&mut number).collect()).collect();
        Reads { number, count }
    }
}

/// What the serial executions look like, without repetition.
fn serial(lattice: &Lattice, reads: &Reads, budget: &mut Budget) -> Option<Vec<Looks>> {
    let nothing = Looks { sources: SmallVec::from_elem(0, reads.count), writers: Writers::default() };
    let mut complete = FxHashSet::default();
    budget.search((PerThread::default(), nothing), |(at, looks), next| {
        if lattice.is_complete(at) {
            complete.insert(looks.clone());
        }
        for (thread, own) in lattice.steps.threads.iter().enumerate() {
            let Some(first) = own.get(usize::from(at[thread])) else { continue };
            let unit = &lattice.steps.units[first.unit].steps;
            let (mut at, mut looks) = (*at, looks.clone());
            let mut possible = true;
            let places = usize::from(unit.start)..usize::from(unit.end);
            for (place, step) in places.clone().zip(&own[places]) {
                possible &= step.needs.iter().zip(&at).all(|(needs, at)| needs <= at);
                at[thread] += 1;
                if let Some(source) = access(step, &mut looks.writers) {
                    looks.sources[reads.number[thread][place]] = source;
                }
            }
            if possible {
                next.push((at, looks));
            }
        }
        Search::Goes
    })?;
    Some(complete.into_iter().collect())
}

/// A set of serial executions, as bits.
type Set = SmallVec<[u64; 4]>;

/// Sets with numbers.
#[derive(Default)]
struct Sets {
    known: Vec<Set>,
    number_of: FxHashMap<Set, usize>,
    restricted: FxHashMap<(usize, usize, u8), usize>,
}

impl Sets {
    fn number(&mut self, set: Set) -> usize {
        let known = &mut self.known;
        *self.number_of.entry(set).or_insert_with_key(|set| {
            known.push(set.clone());
            known.len() - 1
        })
    }

    /// Those of the set in which the read sees this writer.
    fn restrict(&mut self, set: usize, read: usize, source: u8, serial: &[Looks]) -> usize {
        if let Some(&known) = self.restricted.get(&(set, read, source)) {
            return known;
        }
        let mut fewer: Set = SmallVec::from_elem(0, self.known[set].len());
        for number in members(&self.known[set]).filter(|&number| serial[number].sources[read] == source) {
            fewer[number / 64] |= 1 << (number % 64);
        }
        let fewer = self.number(fewer);
        self.restricted.insert((set, read, source), fewer);
        fewer
    }
}

fn full(size: usize) -> Set {
    let mut set: Set = SmallVec::from_elem(0, size.div_ceil(64));
    (0..size).for_each(|number| set[number / 64] |= 1 << (number % 64));
    set
}

fn members(set: &Set) -> impl Iterator<Item = usize> {
    set.iter().enumerate().flat_map(|(word, &bits)| {
        (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
    })
}
