//! Is every interleaving of a group explained by a serial order?
//!
//! What an interleaving looks like is what each read sees and what is left of each location in the end. All
//! serial orders are gone through first. Then all interleavings, with the serial orders that have looked the same so
//! far; where these, the positions of the threads and the values are the same, the future is the same, so
//! it is gone through once.
//!
//! A value is known by who wrote it. Updates that commute are added to it, in whatever order.

use atomvet_trace::EventId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::group::Group;
use crate::predictive::blocks::accesses::Accesses;
use crate::predictive::execution::{LocationId, Touch};

/// More serial orders than these are not gone through.
const MOST_ORDERS: usize = 2_000;
/// More states than these are not gone through for one group.
const MOST_STATES: usize = 100_000;

/// What is to be said about a group.
#[derive(Debug)]
pub(super) enum Verdict {
    /// Every interleaving is explained.
    Atomic,
    /// This order of accesses is not.
    Broken(Vec<u32>),
    /// There was too much to look at.
    NotJudged,
}

/// What some accesses made of a location: the writer, then the updates that commute, in groups of one kind.
#[derive(Debug, Default)]
struct Values {
    known: Vec<Vec<u32>>,
    number_of: FxHashMap<Vec<u32>, u32>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    at: Vec<u8>,
    /// Per location.
    values: Vec<u32>,
    alike: u32,
}

struct Serial {
    /// Per read of the group, the value seen.
    seen: Vec<u32>,
    values: Vec<u32>,
}

/// Judges a group; tells how many steps that took.
pub(super) fn judge(accesses: &Accesses<'_>, group: &Group) -> (Verdict, u64) {
    let Some(orders) = group.serial_orders(accesses, MOST_ORDERS) else {
        return (Verdict::NotJudged, MOST_ORDERS as u64);
    };
    let mut search = Search::new(accesses, group);
    search.steps += orders.len() as u64 * group.units.len() as u64 * 8;
    search.go_through_serial(&orders);
    let everything = search.number_of_set((0..search.serial.len() as u32).collect());
    let start = State {
        at: vec![0; group.threads.len()],
        values: vec![0; search.locations.len()],
        alike: everything,
    };
    let verdict = search.go_through(start);
    (verdict, search.steps)
}

struct Search<'a> {
    accesses: &'a Accesses<'a>,
    group: &'a Group,
    locations: FxHashMap<LocationId, usize>,
    /// The numbers of the reads.
    reads: FxHashMap<u32, usize>,
    values: Values,
    /// What serial orders look like, each once.
    serial: Vec<Serial>,
    /// Sets of serial orders, each once.
    sets: Vec<Vec<u32>>,
    set_numbers: FxHashMap<Vec<u32>, u32>,
    steps: u64,
}

impl<'a> Search<'a> {
    fn new(accesses: &'a Accesses<'a>, group: &'a Group) -> Search<'a> {
        let (mut locations, mut reads) = (FxHashMap::default(), FxHashMap::default());
        for (number, _) in group.threads.iter().flatten().filter_map(|step| step.access) {
            let access = accesses.access(number);
            let next = locations.len();
            locations.entry(access.location).or_insert(next);
            if access.touch.reads() && !matches!(access.touch, Touch::Commuting(_)) {
                let next = reads.len();
                reads.insert(number, next);
            }
        }
        let mut values = Values::default();
        // What was there before.
        values.number(Vec::new());
        Search {
            accesses,
            group,
            locations,
            reads,
            values,
            serial: Vec::new(),
            sets: Vec::new(),
            set_numbers: FxHashMap::default(),
            steps: 0,
        }
    }

    fn go_through_serial(&mut self, orders: &[Vec<usize>]) {
        let mut known = FxHashSet::default();
        for order in orders {
            let mut looks = Serial { seen: vec![0; self.reads.len()], values: vec![0; self.locations.len()] };
            for number in order.iter().flat_map(|&unit| self.group.accesses_of(unit)) {
                if let Some((read, value)) = self.access(number, &mut looks.values) {
                    looks.seen[read] = value;
                }
            }
            if known.insert((looks.seen.clone(), looks.values.clone())) {
                self.serial.push(looks);
            }
        }
    }

    /// Does an access; if it reads, tells which read it is and what it sees.
    fn access(&mut self, number: u32, values: &mut [u32]) -> Option<(usize, u32)> {
        let access = self.accesses.access(number);
        let value = &mut values[self.locations[&access.location]];
        let seen = *value;
        match access.touch {
            Touch::Read => {}
            Touch::Write | Touch::Update(_) => *value = self.values.number(vec![number]),
            Touch::Commuting(_) => {
                let mut now = self.values.known[seen as usize].clone();
                now.push(number);
                let same_kind = |&other: &u32| self.accesses.access(other).touch == access.touch;
                let run = now.iter().rev().take_while(|other| same_kind(other)).count();
                let first = now.len() - run;
                now[first..].sort_unstable();
                *value = self.values.number(now);
            }
        }
        self.reads.get(&number).map(|&read| (read, seen))
    }

    /// Depth first, with the way there.
    fn go_through(&mut self, start: State) -> Verdict {
        let mut known: FxHashSet<State> = FxHashSet::default();
        let mut way: Vec<(State, usize, Option<u32>)> = vec![(start.clone(), 0, None)];
        known.insert(start);
        while let Some((state, next_thread, _)) = way.last_mut() {
            let thread = *next_thread;
            *next_thread += 1;
            let state = state.clone();
            let group = self.group;
            if thread == 0 && self.is_complete(&state) {
                let same_end = |&order: &u32| self.serial[order as usize].values == state.values;
                if !self.sets[state.alike as usize].iter().any(same_end) {
                    return Verdict::Broken(way.iter().filter_map(|&(.., access)| access).collect());
                }
            }
            if thread >= group.threads.len() {
                way.pop();
                continue;
            }
            self.steps += 4;
            let place = usize::from(state.at[thread]);
            if place >= group.threads[thread].len() || !group.can_go(thread, &state.at) {
                continue;
            }
            let number = group.threads[thread][place].access.map(|(number, _)| number);
            let next = self.next(state, thread, number);
            self.steps += 16;
            if known.len() >= MOST_STATES {
                return Verdict::NotJudged;
            }
            if known.insert(next.clone()) {
                way.push((next, 0, number));
            }
        }
        Verdict::Atomic
    }

    fn is_complete(&self, state: &State) -> bool {
        let mut threads = state.at.iter().zip(&self.group.threads);
        threads.all(|(&at, steps)| usize::from(at) == steps.len())
    }

    fn next(&mut self, mut state: State, thread: usize, number: Option<u32>) -> State {
        state.at[thread] += 1;
        let Some(number) = number else { return state };
        if let Some((read, seen)) = self.access(number, &mut state.values) {
            let set = &self.sets[state.alike as usize];
            self.steps += set.len() as u64;
            let alike =
                set.iter().copied().filter(|&order| self.serial[order as usize].seen[read] == seen).collect();
            state.alike = self.number_of_set(alike);
        }
        state
    }

    fn number_of_set(&mut self, set: Vec<u32>) -> u32 {
        let sets = &mut self.sets;
        *self.set_numbers.entry(set).or_insert_with_key(|set| {
            sets.push(set.clone());
            sets.len() as u32 - 1
        })
    }
}

impl Values {
    fn number(&mut self, value: Vec<u32>) -> u32 {
        let known = &mut self.known;
        *self.number_of.entry(value).or_insert_with_key(|value| {
            known.push(value.clone());
            known.len() as u32 - 1
        })
    }
}

/// Why an order of accesses breaks a unit: a way out of it and back into it.
#[derive(Debug)]
pub(super) struct Blame {
    /// The place of the unit in the group.
    pub(super) unit: usize,
    /// The way, from an access of the unit to a later one.
    pub(super) accesses: Vec<u32>,
    /// Where the unit's second access is among them.
    pub(super) second: usize,
    /// Which of them, as places, conflict with the next one of the way.
    pub(super) order: Vec<(usize, usize)>,
}

/// The unit with the shortest way out and back; if there is none, one that is in a cycle.
pub(super) fn blame(accesses: &Accesses<'_>, group: &Group, path: &[u32]) -> Option<Blame> {
    let unit_of = |place: usize| accesses.access(path[place]).unit;
    let conflict = |one: usize, other: usize| {
        let (one, other) = (accesses.access(path[one]), accesses.access(path[other]));
        one.location == other.location && one.touch.conflicts(other.touch)
    };
    let is_before = |one: usize, other: usize| {
        unit_of(one) == unit_of(other)
            || accesses.execution.before(unit_of(one), unit_of(other))
            || conflict(one, other)
    };
    let mut best: Option<Vec<usize>> = None;
    for start in 0..path.len() {
        // Breadth first through other units.
        let mut from: Vec<Option<usize>> = vec![None; path.len()];
        let mut reached = vec![start];
        let mut done = 0;
        while let Some(&place) = reached.get(done) {
            done += 1;
            for next in place + 1..path.len() {
                let back_home = unit_of(next) == unit_of(start);
                if from[next].is_some() || !is_before(place, next) || back_home && place == start {
                    continue;
                }
                from[next] = Some(place);
                if !back_home {
                    reached.push(next);
                    continue;
                }
                let mut way = vec![next];
                while let Some(&Some(before)) = way.last().map(|&last| &from[last]) {
                    way.push(before);
                }
                way.reverse();
                if best.as_ref().is_none_or(|best| way.len() < best.len()) {
                    best = Some(way);
                }
            }
        }
    }
    let (way, second) = match best {
        Some(way) => {
            let second = way.len() - 1;
            (way, second)
        }
        // Nobody encloses: all that happens from the first access of some unit on.
        None => {
            let start = (0..path.len())
                .find(|&place| (place + 1..path.len()).any(|later| unit_of(later) == unit_of(place)))?;
            let way: Vec<usize> = (start..path.len()).collect();
            let second = way.iter().rposition(|&place| unit_of(place) == unit_of(start))?;
            (way, second)
        }
    };
    let pairs = (0..way.len()).flat_map(|one| (one + 1..way.len()).map(move |other| (one, other)));
    let order = pairs
        .filter(|&(one, other)| unit_of(way[one]) != unit_of(way[other]) && conflict(way[one], way[other]))
        .collect();
    let home = unit_of(way[0]);
    Some(Blame {
        unit: group.units.iter().position(|&unit| unit == home)?,
        accesses: way.iter().map(|&place| path[place]).collect(),
        second,
        order,
    })
}

/// How far apart two accesses are in the trace.
pub(super) fn distance(one: EventId, other: EventId) -> u64 {
    one.0.abs_diff(other.0)
}
