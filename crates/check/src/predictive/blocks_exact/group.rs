//! A few units as threads of steps: what is left of them when only uninitialised reads, last writes and
//! synchronization are kept (UR-FW in the paper).
//!
//! A step is some acquires, then an access or none, then some releases. Acquires move to the right and
//! releases to the left in every interleaving, so no order of accesses is lost by making one step of them.

use atomvet_trace::{LockId, Mode};
use rustc_hash::FxHashSet;

use crate::predictive::blocks::accesses::Accesses;
use crate::predictive::execution::{LocationId, UnitId};
use crate::predictive::stacks::exclusive;

/// How many steps a group may have in one thread.
const MOST_STEPS: usize = 200;

/// What a thread does at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    acquires: Vec<(LockId, Mode)>,
    releases: Vec<(LockId, Mode)>,
    /// An access, and the place of its unit in the group.
    pub(super) access: Option<(u32, usize)>,
    /// What the thread holds after it.
    held: Vec<(LockId, Mode)>,
}

/// Some units, ready to be interleaved.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) units: Vec<UnitId>,
    /// Per thread, its steps.
    pub(super) threads: Vec<Vec<Step>>,
    /// Per unit, its thread and how far that is when the unit is over.
    ends: Vec<(usize, usize)>,
    /// Per unit, those that come before it, of other threads.
    before: Vec<Vec<usize>>,
}

impl Group {
    /// None if it is too large.
    pub(super) fn new(accesses: &Accesses<'_>, mut units: Vec<UnitId>) -> Option<Group> {
        let execution = accesses.execution;
        units.sort_unstable();
        let mut of_thread: Vec<_> = units.iter().map(|&unit| execution.unit(unit).thread).collect();
        of_thread.sort_unstable();
        of_thread.dedup();
        let shared_locations = of_several_units(accesses, &units);
        let mut group =
            Group { threads: Vec::new(), ends: vec![(0, 0); units.len()], before: Vec::new(), units };
        for &thread in &of_thread {
            let own = |&(_, unit): &(usize, &UnitId)| execution.unit(*unit).thread == thread;
            let own: Vec<(usize, UnitId)> =
                group.units.iter().enumerate().filter(own).map(|(place, &unit)| (place, unit)).collect();
            let steps = steps(accesses, &own, &shared_locations);
            if steps.len() > MOST_STEPS {
                return None;
            }
            for &(place, _) in &own {
                let is_own = |step: &Step| step.access.is_some_and(|(_, unit)| unit == place);
                let end = steps.iter().rposition(is_own).map_or(0, |last| last + 1);
                group.ends[place] = (group.threads.len(), end);
            }
            group.threads.push(steps);
        }
        for &unit in &group.units {
            let earlier = |&(_, other): &(usize, &UnitId)| {
                execution.unit(*other).thread != execution.unit(unit).thread && execution.before(*other, unit)
            };
            let before = group.units.iter().enumerate().filter(earlier).map(|(place, _)| place);
            group.before.push(before.collect());
        }
        Some(group)
    }

    /// Whether the next step of a thread is possible, with each thread so far.
    pub(super) fn can_go(&self, thread: usize, at: &[u8]) -> bool {
        let step = &self.threads[thread][usize::from(at[thread])];
        let is_over = |&unit: &usize| {
            let (thread, end) = self.ends[unit];
            usize::from(at[thread]) >= end
        };
        let free = |&(lock, mode): &(LockId, Mode)| {
            let others = (0..self.threads.len()).filter(|&other| other != thread && at[other] > 0);
            let mut held = others.flat_map(|other| &self.threads[other][usize::from(at[other]) - 1].held);
            !held.any(|&(other, other_mode)| other == lock && exclusive(mode, other_mode))
        };
        step.access.is_none_or(|(_, unit)| self.before[unit].iter().all(is_over))
            && step.acquires.iter().all(free)
    }

    /// Every order of the units, one after the other, that threads, fork, join and barriers allow; none if
    /// there are more than so many.
    pub(super) fn serial_orders(&self, accesses: &Accesses<'_>, most: usize) -> Option<Vec<Vec<usize>>> {
        let count = self.units.len();
        let goes_before =
            |one: usize, other: usize| accesses.execution.before(self.units[one], self.units[other]);
        let mut orders = Vec::new();
        let mut waiting: Vec<Vec<usize>> = vec![Vec::new()];
        while let Some(order) = waiting.pop() {
            if orders.len() + waiting.len() > most {
                return None;
            }
            if order.len() == count {
                orders.push(order);
                continue;
            }
            let left = || (0..count).filter(|unit| !order.contains(unit));
            for next in left().filter(|&next| !left().any(|other| goes_before(other, next))) {
                let mut longer = order.clone();
                longer.push(next);
                waiting.push(longer);
            }
        }
        Some(orders)
    }

    /// The accesses of a unit, in order.
    pub(super) fn accesses_of(&self, unit: usize) -> impl Iterator<Item = u32> {
        let (thread, _) = self.ends[unit];
        let steps = self.threads[thread].iter().filter_map(|step| step.access);
        steps.filter(move |&(_, of)| of == unit).map(|(access, _)| access)
    }
}

/// The locations of which ends of several units are in the group.
fn of_several_units(accesses: &Accesses<'_>, units: &[UnitId]) -> FxHashSet<LocationId> {
    let (mut once, mut several) = (FxHashSet::default(), FxHashSet::default());
    for &unit in units {
        let numbers = accesses.execution.unit(unit).accesses.clone();
        let ends = numbers.filter(|&number| accesses.role(number).is_end());
        let own: FxHashSet<LocationId> = ends.map(|number| accesses.access(number).location).collect();
        several.extend(own.iter().copied().filter(|&location| !once.insert(location)));
    }
    several
}

/// What a thread does in its units of the group.
fn steps(accesses: &Accesses<'_>, own: &[(usize, UnitId)], shared: &FxHashSet<LocationId>) -> Vec<Step> {
    enum Doing {
        Acquire(LockId, Mode),
        Access(u32, usize),
        Release(LockId, Mode),
    }
    let execution = accesses.execution;
    let (mut sections, mut doing) = (Vec::new(), Vec::new());
    for &(place, unit) in own {
        let unit = execution.unit(unit);
        sections.extend(execution.stacks.held(unit.root));
        sections.extend(execution.entered_in(unit));
        for number in unit.accesses.clone().filter(|&number| accesses.role(number).is_end()) {
            let access = accesses.access(number);
            if shared.contains(&access.location) {
                doing.push((access.step, Doing::Access(number, place)));
            }
        }
    }
    sections.sort_unstable();
    sections.dedup();
    for section in sections.into_iter().map(|section| execution.stacks.section(section)) {
        doing.push((section.start, Doing::Acquire(section.lock, section.mode)));
        doing.push((section.end, Doing::Release(section.lock, section.mode)));
    }
    doing.sort_by_key(|&(step, _)| step);
    let mut steps: Vec<Step> = vec![Step::default()];
    let mut held: Vec<(LockId, Mode)> = Vec::new();
    for (_, doing) in doing {
        let last = steps.last().cloned().unwrap_or_default();
        let goes_on = match doing {
            Doing::Acquire(..) | Doing::Access(..) => last.access.is_none() && last.releases.is_empty(),
            Doing::Release(..) => true,
        };
        if !goes_on {
            steps.push(Step::default());
        }
        let Some(step) = steps.last_mut() else { continue };
        match doing {
            Doing::Acquire(lock, mode) => {
                step.acquires.push((lock, mode));
                held.push((lock, mode));
            }
            Doing::Access(number, place) => step.access = Some((number, place)),
            Doing::Release(lock, mode) => {
                step.releases.push((lock, mode));
                if let Some(place) = held.iter().rposition(|&own| own == (lock, mode)) {
                    held.remove(place);
                }
            }
        }
        step.held.clone_from(&held);
    }
    steps
}
