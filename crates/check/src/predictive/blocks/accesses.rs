//! What the block-based algorithms know of each access, and where they look for partners of it.
//!
//! ```text
//! location ──► groups, one per thread ──► classes: same period, same locks, same role
//! ```
//!
//! A group knows what locks all of its accesses have in common. In a program that keeps its locking
//! discipline that is enough to pass over it, whatever its size.

use std::ops::Range;

use atomvet_trace::{LockId, Mode, ThreadId};
use rustc_hash::FxHashSet;

use super::locksets::{LockSetId, LockSets};
use crate::predictive::Execution;
use crate::predictive::execution::{Access, LocationId, Touch, Unit, UnitId, UnitKind};
use crate::predictive::periods::{PeriodId, Periods};
use crate::predictive::stacks::{PathId, exclusive};

/// What an access is in its unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(in crate::predictive) struct Role(u8);

impl Role {
    const UNINITIALISED: u8 = 1;
    const LAST: u8 = 2;
    const FINAL: u8 = 4;

    /// Reads what the unit did not write before.
    #[inline]
    pub(in crate::predictive) fn is_uninitialised_read(self) -> bool {
        self.0 & Role::UNINITIALISED != 0
    }

    /// Writes what the unit does not write again.
    #[inline]
    pub(in crate::predictive) fn is_last_write(self) -> bool {
        self.0 & Role::LAST != 0
    }

    /// Writes what the unit does not write again, nor, after an access outside of transactions, the
    /// accesses that follow it up to the next transaction or the end of the period.
    #[inline]
    pub(in crate::predictive) fn is_final_write(self) -> bool {
        self.0 & Role::FINAL != 0
    }

    /// Reads or writes what others can see of the unit.
    #[inline]
    pub(in crate::predictive) fn is_end(self) -> bool {
        self.0 & (Role::UNINITIALISED | Role::LAST) != 0
    }
}

/// Kinds of partners, each with the locks that all of them in a group have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::predictive) enum Partner {
    /// Any write.
    Write,
    /// An uninitialised read.
    UninitialisedRead,
    /// A last write.
    LastWrite,
}

/// The accesses of one location by one thread.
#[derive(Clone, Debug)]
pub(in crate::predictive) struct Group {
    pub(in crate::predictive) thread: ThreadId,
    /// A range of [`Accesses::in_order`] and, of the same accesses, of [`Accesses::by_class`].
    pub(in crate::predictive) members: Range<u32>,
    /// A range of [`Accesses::classes`].
    pub(in crate::predictive) classes: Range<u32>,
    /// Per kind of partner, the locks at all of them; none if there is none of the kind.
    common: [Option<LockSetId>; 3],
}

/// Accesses of a group that no question tells apart.
#[derive(Clone, Debug)]
pub(in crate::predictive) struct Class {
    pub(in crate::predictive) period: PeriodId,
    pub(in crate::predictive) locks: LockSetId,
    pub(in crate::predictive) touch: Touch,
    pub(in crate::predictive) role: Role,
    /// A range of [`Accesses::by_class`].
    pub(in crate::predictive) members: Range<u32>,
}

/// A critical section, as sorted in [`Accesses::sections`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Use {
    lock: LockId,
    thread: ThreadId,
    start: u32,
    is_shared: bool,
    period: PeriodId,
}

/// All accesses of an execution, by what they are.
#[derive(Debug)]
pub(in crate::predictive) struct Accesses<'a> {
    pub(in crate::predictive) execution: &'a Execution,
    pub(in crate::predictive) locksets: LockSets,
    /// Per access; nothing for accesses of local locations.
    pub(in crate::predictive) roles: Vec<Role>,
    /// Per location, its groups, by thread.
    groups_of: Vec<Range<u32>>,
    groups: Vec<Group>,
    /// Per location, what all of its groups have in common.
    common_of: Vec<[Option<LockSetId>; 3]>,
    pub(in crate::predictive) classes: Vec<Class>,
    /// Accesses of locations that are not local, by location, thread and position.
    pub(in crate::predictive) in_order: Vec<u32>,
    /// The same by location, thread, period, locks, touch, role and position.
    pub(in crate::predictive) by_class: Vec<u32>,
    /// All critical sections, by lock, thread and position.
    sections: Vec<Use>,
    /// The pairs of locks of which somebody takes the second while holding the first.
    nestings: FxHashSet<(LockId, LockId)>,
    /// Some period is before one of another thread.
    pub(in crate::predictive) has_order_of_threads: bool,
    /// What was found out about the unit asked about last: what it holds after each of its releases.
    valleys: Vec<(u32, LockSetId)>,
    valleys_of: Option<UnitId>,
    /// Steps that were taken to find gaps, and that nobody accounted for yet.
    pub(in crate::predictive) steps: u64,
    /// Per unit, whether its critical sections are nested in each other.
    pub(in crate::predictive) is_nested: Vec<bool>,
}

impl<'a> Accesses<'a> {
    pub(in crate::predictive) fn new(execution: &'a Execution) -> Accesses<'a> {
        let locksets = LockSets::new(&execution.stacks);
        let sections = (execution.stacks.sections().iter())
            .map(|section| Use {
                lock: section.lock,
                thread: section.thread,
                start: section.start,
                is_shared: section.mode == Mode::Shared,
                period: section.period,
            })
            .collect();
        let mut accesses = Accesses {
            execution,
            locksets,
            roles: roles(execution),
            groups_of: Vec::new(),
            groups: Vec::new(),
            common_of: Vec::new(),
            classes: Vec::new(),
            in_order: Vec::new(),
            by_class: Vec::new(),
            sections,
            nestings: nestings(execution),
            has_order_of_threads: has_order_of_threads(&execution.periods),
            valleys: Vec::new(),
            valleys_of: None,
            steps: 0,
            is_nested: execution.units.iter().map(|unit| is_nested(execution, unit)).collect(),
        };
        accesses.sections.sort_unstable();
        accesses.sort();
        accesses
    }

    fn sort(&mut self) {
        let execution = self.execution;
        let is_shared = |access: &Access| !execution.location(access.location).is_local();
        let shared = (0..).zip(&execution.accesses).filter(|(_, access)| is_shared(access));
        let mut keyed: Vec<_> = shared
            .map(|(number, access): (u32, &Access)| {
                let unit = execution.unit(access.unit);
                let locks = self.locksets.of_path(execution.stacks.path(access.stack));
                let class = (unit.period, locks, touch_code(access.touch), self.roles[number as usize]);
                (access.location, unit.thread, class, number)
            })
            .collect();
        keyed.sort_unstable_by_key(|&(location, thread, _, number)| (location, thread, number));
        self.in_order = keyed.iter().map(|&(.., number)| number).collect();
        keyed.sort_unstable();
        self.by_class = keyed.iter().map(|&(.., number)| number).collect();
        self.groups_of.resize(execution.locations.len(), 0..0);
        self.common_of.resize(execution.locations.len(), [None; 3]);
        let mut first = 0;
        for group in keyed.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            let (location, thread, ..) = group[0];
            let first_class = self.classes.len() as u32;
            let members = first..first + group.len() as u32;
            for class in group.chunk_by(|one, other| one.2 == other.2) {
                let (period, locks, _, role) = class[0].2;
                let touch = execution.accesses[class[0].3 as usize].touch;
                let members = first..first + class.len() as u32;
                first = members.end;
                self.classes.push(Class { period, locks, touch, role, members });
            }
            let classes = first_class..self.classes.len() as u32;
            let mut common = [None; 3];
            for class in &self.classes[classes.start as usize..classes.end as usize] {
                for kind in [Partner::Write, Partner::UninitialisedRead, Partner::LastWrite] {
                    if is_partner(class, kind) {
                        let common = &mut common[kind as usize];
                        let so_far = common.unwrap_or(class.locks);
                        *common = Some(self.locksets.intersection(so_far, class.locks));
                    }
                }
            }
            for (of_all, of_group) in self.common_of[location.0 as usize].iter_mut().zip(common) {
                let Some(of_group) = of_group else { continue };
                *of_all = Some(self.locksets.intersection(of_all.unwrap_or(of_group), of_group));
            }
            let number = self.groups.len() as u32;
            let groups = &mut self.groups_of[location.0 as usize];
            *groups = if groups.end == 0 { number..number + 1 } else { groups.start..number + 1 };
            self.groups.push(Group { thread, members, classes, common });
        }
    }

    /// The accesses of a location, one group per thread, in the order of the threads.
    #[inline]
    pub(in crate::predictive) fn groups(&self, location: LocationId) -> &[Group] {
        let Range { start, end } = self.groups_of[location.0 as usize];
        &self.groups[start as usize..end as usize]
    }

    /// Whether some partner of that kind might be in the group while another thread holds these locks.
    #[inline]
    pub(in crate::predictive) fn is_open(&self, group: &Group, kind: Partner, holding: LockSetId) -> bool {
        group.common[kind as usize].is_some_and(|common| !self.locksets.exclude(holding, common))
    }

    /// Whether some partner of that kind might be in some group while another thread holds these locks. In
    /// a program that keeps its locking discipline, this answers for all groups at once.
    #[inline]
    pub(in crate::predictive) fn is_open_somewhere(
        &self,
        location: LocationId,
        kind: Partner,
        holding: LockSetId,
    ) -> bool {
        let common = self.common_of[location.0 as usize][kind as usize];
        common.is_some_and(|common| !self.locksets.exclude(holding, common))
    }

    /// The classes of a group that can run at the same time as a period of another thread.
    pub(in crate::predictive) fn concurrent_classes(&self, group: &Group, period: PeriodId) -> &[Class] {
        let classes = &self.classes[group.classes.start as usize..group.classes.end as usize];
        let (first, last) = (classes.first(), classes.last());
        let periods = &self.execution.periods;
        let is_concurrent =
            |class: Option<&Class>| class.is_some_and(|class| periods.concurrent(class.period, period));
        // Those that can are a range, so this is the common case.
        if is_concurrent(first) && is_concurrent(last) {
            return classes;
        }
        let range = periods.concurrent_with(period, group.thread);
        let start = classes.partition_point(|class| periods.index(class.period) < range.start);
        let end = classes.partition_point(|class| periods.index(class.period) < range.end);
        &classes[start..end.max(start)]
    }

    /// The accesses of a group that can run at the same time as a period of another thread, in order.
    pub(in crate::predictive) fn concurrent_accesses(&self, group: &Group, period: PeriodId) -> &[u32] {
        let Execution { periods, .. } = self.execution;
        let members = &self.in_order[group.members.start as usize..group.members.end as usize];
        let range = periods.concurrent_with(period, group.thread);
        let index = |&number: &u32| periods.index(self.unit_of(number).period);
        let start = members.partition_point(|number| index(number) < range.start);
        let end = members.partition_point(|number| index(number) < range.end);
        &members[start..end.max(start)]
    }

    #[inline]
    pub(in crate::predictive) fn access(&self, number: u32) -> &'a Access {
        &self.execution.accesses[number as usize]
    }

    #[inline]
    pub(in crate::predictive) fn role(&self, number: u32) -> Role {
        self.roles[number as usize]
    }

    #[inline]
    pub(in crate::predictive) fn unit_of(&self, number: u32) -> &'a Unit {
        self.execution.unit(self.access(number).unit)
    }

    /// The locks held at an access.
    #[inline]
    pub(in crate::predictive) fn held(&self, number: u32) -> LockSetId {
        self.locksets.of_path(self.execution.stacks.path(self.access(number).stack))
    }

    /// The locks that a thread cannot but hold at some moment between two accesses of a unit, in one way or
    /// several. Where critical sections are nested, there is a moment at which only those are held that are
    /// held all the time.
    pub(in crate::predictive) fn gaps(&mut self, first: u32, second: u32) -> Vec<LockSetId> {
        let execution = self.execution;
        let stacks = &execution.stacks;
        let (e1, e2) = (self.access(first), self.access(second));
        let mut locks = Vec::new();
        let mut gaps = Vec::with_capacity(1);
        if self.is_nested[e1.unit.0 as usize] {
            let held12 = stacks.held12(e1.stack, e2.stack).map(|section| stacks.section(section));
            locks.extend(held12.map(|section| (section.lock, section.mode)));
            gaps.push(self.locksets.intern(&mut locks));
            return gaps;
        }
        self.find_valleys(e1.unit);
        let after = self.valleys.partition_point(|&(step, _)| step < e1.step);
        let valleys = self.valleys[after..].iter().take_while(|&&(step, _)| step < e2.step);
        gaps.push(self.locksets.of_path(stacks.path(e1.stack)));
        for &(_, held) in valleys {
            self.steps += 1;
            if held == LockSetId::EMPTY {
                return vec![held];
            }
            if !gaps.contains(&held) {
                gaps.push(held);
            }
        }
        gaps
    }

    /// What the unit holds after each release.
    fn find_valleys(&mut self, id: UnitId) {
        if self.valleys_of.replace(id) == Some(id) {
            return;
        }
        let Execution { stacks, .. } = self.execution;
        let unit = self.execution.unit(id);
        let entered = self.execution.entered_in(unit).iter().copied();
        let sections: Vec<_> =
            stacks.held(unit.root).chain(entered).map(|section| stacks.section(section)).collect();
        let mut changes: Vec<_> =
            sections.iter().flat_map(|&section| [(section.start, section), (section.end, section)]).collect();
        changes.sort_unstable_by_key(|&(step, _)| step);
        let mut held: Vec<(LockId, Mode)> = Vec::new();
        self.valleys.clear();
        for (step, section) in changes.into_iter().take_while(|&(step, _)| step < unit.steps.end) {
            self.steps += 4 + held.len() as u64;
            let lock = (section.lock, section.mode);
            if step == section.start {
                held.push(lock);
            } else if let Some(place) = held.iter().position(|&other| other == lock) {
                held.remove(place);
                let locks = self.locksets.intern(&mut held.clone());
                self.valleys.push((step, locks));
            }
        }
    }

    /// Whether somebody takes one of these locks while holding another one.
    pub(in crate::predictive) fn takes_under(&self, outer: LockId, inner: LockSetId) -> bool {
        self.locksets.locks(inner).iter().any(|&(lock, _)| self.nestings.contains(&(outer, lock)))
    }

    /// Whether a thread, between two of its steps, takes a lock that cannot be had while somebody holds these.
    pub(in crate::predictive) fn needs(
        &self,
        thread: ThreadId,
        steps: Range<u32>,
        holding: LockSetId,
    ) -> bool {
        self.uses(thread, steps, holding).next().is_some()
    }

    /// The same, for those of its steps only that are in a period about which a test is true.
    pub(in crate::predictive) fn needs_in(
        &self,
        thread: ThreadId,
        steps: Range<u32>,
        holding: LockSetId,
        test: impl Fn(PeriodId) -> bool,
    ) -> bool {
        self.uses(thread, steps, holding).any(|used| test(used.period))
    }

    fn uses(&self, thread: ThreadId, steps: Range<u32>, holding: LockSetId) -> impl Iterator<Item = &Use> {
        self.locksets.locks(holding).iter().flat_map(move |&(lock, mode)| {
            let from = (lock, thread, steps.start);
            let first = self.sections.partition_point(|used| (used.lock, used.thread, used.start) < from);
            let (end, sections) = (steps.end, &self.sections[first..]);
            let inside = sections
                .iter()
                .take_while(move |used| (used.lock, used.thread) == (lock, thread) && used.start < end);
            inside.filter(move |used| {
                exclusive(mode, if used.is_shared { Mode::Shared } else { Mode::Exclusive })
            })
        })
    }
}

fn is_partner(class: &Class, kind: Partner) -> bool {
    match kind {
        Partner::Write => class.touch.writes(),
        Partner::UninitialisedRead => class.role.is_uninitialised_read(),
        Partner::LastWrite => class.role.is_last_write(),
    }
}

/// Equal where no question tells two touches apart.
pub(in crate::predictive) fn touch_code(touch: Touch) -> u8 {
    match touch {
        Touch::Read => 0,
        Touch::Write => 1,
        Touch::Update(_) => 2,
        Touch::Commuting(kind) => 3 + kind as u8,
    }
}

/// Per access, its role. Updates that commute are as if they were not there for what comes before and after:
/// the value goes through them.
fn roles(execution: &Execution) -> Vec<Role> {
    let mut roles = vec![Role::default(); execution.accesses.len()];
    // Per location, the unit that was seen to write it; and, in reverse, the run.
    let mut written_by = vec![u32::MAX; execution.locations.len()];
    let sets_value = |touch: Touch| matches!(touch, Touch::Write | Touch::Update(_));
    for (id, unit) in execution.units() {
        for number in unit.accesses.clone().map(|number| number as usize) {
            let Access { location, touch, .. } = execution.accesses[number];
            let writer = &mut written_by[location.0 as usize];
            if touch.reads() && *writer != id.0 {
                roles[number].0 |= Role::UNINITIALISED;
            }
            if sets_value(touch) {
                *writer = id.0;
            }
        }
    }
    // A run is a transaction, or what is between two of them in one period.
    written_by.fill(u32::MAX);
    let mut run = 0;
    for units in by_thread(execution) {
        let mut later: Option<&Unit> = None;
        for unit in units.into_iter().rev() {
            let same_run = |later: &Unit| {
                (later.kind, unit.kind) == (UnitKind::Single, UnitKind::Single) && later.period == unit.period
            };
            if !later.is_some_and(same_run) {
                run += 1;
            }
            later = Some(unit);
            for number in unit.accesses.clone().rev().map(|number| number as usize) {
                let Access { location, touch, .. } = execution.accesses[number];
                let writer = &mut written_by[location.0 as usize];
                if touch.writes() && *writer != run {
                    roles[number].0 |= Role::FINAL | Role::LAST;
                }
                if touch.writes() && unit.kind == UnitKind::Single {
                    roles[number].0 |= Role::LAST;
                }
                if sets_value(touch) {
                    *writer = run;
                }
            }
        }
    }
    for (role, access) in roles.iter_mut().zip(&execution.accesses) {
        if execution.location(access.location).is_local() {
            *role = Role::default();
        }
    }
    roles
}

fn by_thread(execution: &Execution) -> Vec<Vec<&Unit>> {
    let mut threads = vec![Vec::new(); execution.periods.threads()];
    for unit in &execution.units {
        threads[unit.thread.index()].push(unit);
    }
    threads
}

fn has_order_of_threads(periods: &Periods) -> bool {
    let threads = 0..periods.threads() as u32;
    let all = (0..periods.len() as u32).map(PeriodId);
    let mut pairs = all.flat_map(|period| threads.clone().map(move |thread| (period, ThreadId(thread))));
    pairs.any(|(period, thread)| periods.concurrent_with(period, thread).start > 0)
}

fn nestings(execution: &Execution) -> FxHashSet<(LockId, LockId)> {
    let stacks = &execution.stacks;
    let paths = (0..stacks.path_count() as u32).map(PathId);
    paths
        .flat_map(|path| {
            let inner = stacks.locks(path).next();
            stacks.locks(path).skip(1).filter_map(move |(outer, _)| Some((outer, inner?.0)))
        })
        .collect()
}

/// No section of the unit outlives one that was held when it was entered.
fn is_nested(execution: &Execution, unit: &Unit) -> bool {
    let stacks = &execution.stacks;
    execution.entered_in(unit).iter().all(|&section| {
        let section = stacks.section(section);
        stacks.held(section.outer).all(|outer| stacks.section(outer).end >= section.end)
    })
}
