//! 2-blocks: two accesses of a unit on two variables, and two of others that conflict with them.
//!
//! With `e1`, `e2` of the unit that is judged and `f1`, `f2` of another thread, in their orders, there are three
//! ways to order the two conflicts oppositely:
//!
//! ```text
//! parallel     e1(x)  f1(x)  f2(y)  e2(y)
//! crossing     e1(x)  f1(y)  f2(x)  e2(y)     f1 and f2 in one unit
//! interlocked  e1(x)  f1(y)  e2(y)  f2(x)     the same; only where neither unit can enclose the other
//! ```
//!
//! All four are uninitialised reads or last writes of their units. Parallel also where `f1` and `f2` are in
//! two units of which the first is before the second: later in the same thread, or after fork, join or
//! barrier. What lies between must not need a lock that is held from `e1` to `e2`.
//!
//! Cost: quadratic in the ends of a unit; for each pair one look per thread, and a walk over the two
//! groups of accesses where locks do not rule the pair out. Units that do the same in the same period
//! are judged once.

use rustc_hash::FxHashMap;

use super::accesses::{Accesses, Group, Partner};
use super::locksets::LockSetId;
use super::{MOST_PATTERNS, Sketch};
use crate::predictive::Execution;
use crate::predictive::execution::{Unit, UnitId};
use crate::predictive::periods::PeriodId;
use crate::predictive::stacks::{Section, exclusive};

/// What was found out about 2-blocks.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// Units by what they do, with the ways in which the first of them can be broken.
    judged: FxHashMap<Vec<u32>, Vec<Sketch>>,
    /// How many 2-blocks were judged.
    pub(super) blocks: u64,
    steps: u64,
}

impl Pairs {
    /// How many steps were taken since this was asked last.
    pub(super) fn take_steps(&mut self) -> u64 {
        std::mem::take(&mut self.steps)
    }

    /// The ways in which a unit can be broken by two variables. Stops early if told to, and then gives none.
    pub(super) fn judge(
        &mut self,
        accesses: &mut Accesses<'_>,
        id: UnitId,
        mut keep_going: impl FnMut(u64) -> bool,
    ) -> Option<Vec<Sketch>> {
        let unit = accesses.execution.unit(id);
        let ends = ends(accesses, unit);
        if ends.len() < 2 {
            return Some(Vec::new());
        }
        let key = key(accesses, unit, &ends);
        self.steps += key.len() as u64;
        if let Some(known) = self.judged.get(&key) {
            let at_home = |sketch: &Sketch| sketch.moved_to(&ends);
            return Some(known.iter().map(at_home).collect());
        }
        let mut found = Vec::new();
        for (place, &second) in ends.iter().enumerate() {
            for &first in &ends[..place] {
                self.blocks += 1;
                self.steps += 4;
                self.judge_pair(accesses, unit, first, second, &mut found);
                self.steps += std::mem::take(&mut accesses.steps);
                if self.steps > 1 << 16 && !keep_going(self.take_steps()) {
                    return None;
                }
            }
        }
        // Those that enclose come first: they break the block for sure.
        found.sort_by_key(|&(distance, ref sketch): &(u64, Sketch)| (!sketch.encloses(), distance));
        found.truncate(MOST_PATTERNS);
        let found: Vec<Sketch> = found.into_iter().map(|(_, sketch)| sketch).collect();
        let places = found.iter().map(|sketch| sketch.as_places(&ends)).collect();
        self.judged.insert(key, places);
        Some(found)
    }

    fn judge_pair(
        &mut self,
        accesses: &mut Accesses<'_>,
        unit: &Unit,
        first: u32,
        second: u32,
        found: &mut Vec<(u64, Sketch)>,
    ) {
        let (e1, e2) = (accesses.access(first), accesses.access(second));
        if e1.location == e2.location {
            return;
        }
        for holding in accesses.gaps(first, second) {
            let pair = Pair { accesses, unit, first, second, holding };
            if !is_open_somewhere(accesses, second, holding) {
                continue;
            }
            let may_interlock = pair.may_interlock(&mut self.steps);
            if !may_interlock && !is_open_somewhere(accesses, first, holding) {
                continue;
            }
            let groups1 = accesses.groups(e1.location);
            for group2 in accesses.groups(e2.location) {
                self.steps += 2;
                if !pair.is_open(group2, second) {
                    continue;
                }
                if let Ok(same) = groups1.binary_search_by_key(&group2.thread, |group| group.thread) {
                    found.extend(pair.in_one_thread(&groups1[same], group2, &mut self.steps));
                    if may_interlock {
                        found.extend(pair.interlocked(&groups1[same], group2, &mut self.steps));
                    }
                }
                if accesses.has_order_of_threads {
                    for group1 in groups1.iter().filter(|group| group.thread != group2.thread) {
                        self.steps += 2;
                        if pair.is_open(group1, first) {
                            found.extend(pair.in_two_threads(group1, group2, &mut self.steps));
                        }
                    }
                }
            }
        }
    }
}

/// A 2-block of a unit, and what it holds at some moment between the two.
struct Pair<'a> {
    accesses: &'a Accesses<'a>,
    unit: &'a Unit,
    first: u32,
    second: u32,
    holding: LockSetId,
}

impl Pair<'_> {
    fn is_open(&self, group: &Group, end: u32) -> bool {
        group.thread != self.unit.thread && is_open(self.accesses, group, end, self.holding)
    }

    /// Whether an access of another thread conflicts with an end, and can be there while the locks are held.
    fn is_partner(&self, end: u32, other: u32) -> bool {
        let accesses = self.accesses;
        conflict(accesses, end, other) && !accesses.locksets.exclude(self.holding, accesses.held(other))
    }

    /// Both accesses enclosed, and both of one thread.
    fn in_one_thread(&self, group1: &Group, group2: &Group, steps: &mut u64) -> Option<(u64, Sketch)> {
        let Pair { accesses, unit, first, second, holding } = *self;
        if !self.is_open(group1, first) {
            return None;
        }
        let mut of_first = accesses.concurrent_accesses(group1, unit.period).iter().copied().peekable();
        let mut of_second = accesses.concurrent_accesses(group2, unit.period).iter().copied().peekable();
        let (mut last1, mut last2) = (None, None);
        let mut best: Option<(u64, Sketch)> = None;
        let step = 1 + accesses.locksets.locks(holding).len() as u64;
        let free = |from: u32, to: u32| {
            let between = accesses.access(from).step..accesses.access(to).step;
            holding == LockSetId::EMPTY || !accesses.needs(group1.thread, between, holding)
        };
        loop {
            *steps += step;
            // Of one thread, so that the numbers are in its order.
            let next = match (of_first.peek(), of_second.peek()) {
                (Some(f1), Some(f2)) if f1 < f2 => of_first.next(),
                (_, Some(_)) => of_second.next(),
                (_, None) => of_first.next(),
            };
            let Some(next) = next else { return best };
            let is_of_first = accesses.access(next).location == accesses.access(first).location;
            let sketch = if is_of_first {
                if !self.is_partner(first, next) {
                    continue;
                }
                last1 = Some(next);
                let same_unit = |&f1: &u32| accesses.access(f1).unit == accesses.access(next).unit;
                let before: Option<u32> = last2.filter(same_unit).filter(|&f1| free(f1, next));
                before.map(|f1| Sketch::crossing(first, f1, next, second))
            } else {
                if !self.is_partner(second, next) {
                    continue;
                }
                last2 = Some(next);
                let before: Option<u32> = last1.filter(|&f1| free(f1, next));
                before.map(|f1| Sketch::parallel(first, f1, next, second))
            };
            *steps += 4 * step;
            let Some(sketch) = sketch else { continue };
            let (at, here) = (accesses.access(next).at.0, accesses.access(second).at.0);
            let distance = at.abs_diff(here);
            if best.as_ref().is_none_or(|&(nearest, _)| distance < nearest) {
                best = Some((distance, sketch));
            } else if at > here {
                return best;
            }
        }
    }

    /// Both accesses enclosed, the first of one thread and before the second, of another.
    fn in_two_threads(&self, group1: &Group, group2: &Group, steps: &mut u64) -> Option<(u64, Sketch)> {
        let Pair { accesses, unit, first, second, holding } = *self;
        let periods = &accesses.execution.periods;
        let period_of = |number: u32| accesses.unit_of(number).period;
        let partners = |group: &Group, end: u32| -> Vec<u32> {
            let members = accesses.concurrent_accesses(group, unit.period).iter().copied();
            members.filter(|&other| self.is_partner(end, other)).collect()
        };
        *steps += u64::from(group1.members.end - group1.members.start);
        *steps += u64::from(group2.members.end - group2.members.start);
        let (of_first, of_second) = (partners(group1, first), partners(group2, second));
        let same_period = |one: &u32, other: &u32| period_of(*one) == period_of(*other);
        // The last of each period and the first of each period have the least between them.
        for f1 in of_first.chunk_by(same_period).filter_map(|chunk| chunk.last().copied()) {
            let after = of_second.partition_point(|&f2| !periods.before(period_of(f1), period_of(f2)));
            for f2 in of_second[after..].chunk_by(same_period).map(|chunk| chunk[0]) {
                *steps += 8;
                let (start, end): (PeriodId, PeriodId) = (period_of(f1), period_of(f2));
                let later = accesses.access(f1).step..u32::MAX;
                let earlier = 0..accesses.access(f2).step;
                let ends = |period| period == start || periods.before(period, end);
                let begins = |period| period == end || periods.before(start, period);
                if !accesses.needs_in(group1.thread, later, holding, ends)
                    && !accesses.needs_in(group2.thread, earlier, holding, begins)
                {
                    let distance = accesses.access(f2).at.0.abs_diff(accesses.access(second).at.0);
                    return Some((distance, Sketch::parallel(first, f1, f2, second)));
                }
            }
        }
        None
    }

    /// Whether somebody might be interlocked with the pair: takes a lock that is held all the time, while
    /// holding one that is held at some time only.
    fn may_interlock(&self, steps: &mut u64) -> bool {
        let Pair { accesses, unit, first, second, holding } = *self;
        let stacks = &accesses.execution.stacks;
        let (e1, e2) = (accesses.access(first), accesses.access(second));
        let entered = accesses.execution.entered_in(unit).iter().copied();
        let between = entered.filter(|&section| (e1.step..e2.step).contains(&stacks.section(section).start));
        let mut some_time = stacks.held(e1.stack).chain(between).inspect(|_| *steps += 1);
        some_time.any(|section| accesses.takes_under(stacks.section(section).lock, holding))
    }

    /// The first access of a unit enclosed, and the second of the judged unit enclosed in the other,
    /// where neither can be enclosed as a whole.
    fn interlocked(&self, group1: &Group, group2: &Group, steps: &mut u64) -> Option<(u64, Sketch)> {
        let Pair { accesses, unit, first, second, holding } = *self;
        let of_first = accesses.concurrent_accesses(group1, unit.period);
        for &f1 in accesses.concurrent_accesses(group2, unit.period) {
            *steps += 2;
            if !self.is_partner(second, f1) {
                continue;
            }
            let in_unit = accesses.access(f1).unit;
            let after = of_first.partition_point(|&f2| f2 < f1);
            for &f2 in of_first[after..].iter().take_while(|&&f2| accesses.access(f2).unit == in_unit) {
                *steps += 8;
                let between = accesses.access(f1).step..accesses.access(f2).step;
                if conflict(accesses, first, f2)
                    && accesses.needs(group1.thread, between, holding)
                    && self.is_enclosed_in_part(f1, f2)
                {
                    let distance = accesses.access(f1).at.0.abs_diff(accesses.access(second).at.0);
                    return Some((distance, Sketch::interlocked(first, f1, second, f2)));
                }
            }
        }
        None
    }

    /// Whether another unit's pair can enclose the second access, but not both.
    fn is_enclosed_in_part(&self, f1: u32, f2: u32) -> bool {
        let Pair { accesses, unit, first, second, .. } = *self;
        let Execution { stacks, .. } = accesses.execution;
        let (f1, f2) = (accesses.access(f1), accesses.access(f2));
        let (e1, e2) = (accesses.access(first), accesses.access(second));
        let held = || stacks.held12(f1.stack, f2.stack).map(|section| stacks.section(section));
        let keeps_out = |stack| {
            let path = stacks.path(stack);
            held().any(|section| stacks.excludes(path, section.lock, section.mode))
        };
        let entered = accesses.execution.entered_in(unit).iter().map(|&section| stacks.section(section));
        let mut between = entered.filter(|section| (e1.step..e2.step).contains(&section.start));
        let needs = |section: &Section| {
            held().any(|own| own.lock == section.lock && exclusive(own.mode, section.mode))
        };
        !keeps_out(e2.stack) && (keeps_out(e1.stack) || between.any(needs))
    }
}

/// Whether a partner of an end might be in the group and have the locks it needs.
fn is_open(accesses: &Accesses<'_>, group: &Group, end: u32, holding: LockSetId) -> bool {
    let open = |kind| accesses.is_open(group, kind, holding);
    open(Partner::LastWrite) || accesses.role(end).is_last_write() && open(Partner::UninitialisedRead)
}

/// The same of any group.
fn is_open_somewhere(accesses: &Accesses<'_>, end: u32, holding: LockSetId) -> bool {
    let location = accesses.access(end).location;
    let open = |kind| accesses.is_open_somewhere(location, kind, holding);
    open(Partner::LastWrite) || accesses.role(end).is_last_write() && open(Partner::UninitialisedRead)
}

/// Whether both accesses might have a partner in other threads that can be there in one of the gaps.
pub(in crate::predictive) fn can_be_left(
    accesses: &Accesses<'_>,
    unit: &Unit,
    first: u32,
    second: u32,
    gaps: &[LockSetId],
) -> bool {
    let has_partner = |end: u32, holding: LockSetId| {
        if !is_open_somewhere(accesses, end, holding) {
            return false;
        }
        let mut groups = accesses.groups(accesses.access(end).location).iter();
        groups.any(|group| group.thread != unit.thread && is_open(accesses, group, end, holding))
    };
    gaps.iter().any(|&holding| has_partner(first, holding))
        && gaps.iter().any(|&holding| has_partner(second, holding))
}

/// Whether the order of two ends of units matters to what others see.
pub(in crate::predictive) fn conflict(accesses: &Accesses<'_>, one: u32, other: u32) -> bool {
    let (role, role2) = (accesses.role(one), accesses.role(other));
    let matters = role.is_uninitialised_read() && role2.is_last_write()
        || role.is_last_write() && role2.is_uninitialised_read()
        || role.is_final_write() && role2.is_final_write();
    matters && accesses.access(one).touch.conflicts(accesses.access(other).touch)
}

/// The uninitialised reads and last writes of a unit; of those that differ in nothing but their place, the
/// first and the last, which are the best for enclosing others.
pub(in crate::predictive) fn ends(accesses: &Accesses<'_>, unit: &Unit) -> Vec<u32> {
    let mut ends: Vec<u32> = Vec::new();
    let mut seen = FxHashMap::default();
    for number in unit.accesses.clone().filter(|&number| accesses.role(number).is_end()) {
        let access = accesses.access(number);
        let key = (access.location, access.stack, accesses.role(number));
        let place: usize = *seen.entry(key).and_modify(|place| *place += 1).or_insert(0);
        if place >= 2 {
            let same = |&other: &u32| {
                let access = accesses.access(other);
                (access.location, access.stack, accesses.role(other)) == key
            };
            if let Some(last) = ends.iter().rposition(same) {
                ends.remove(last);
            }
        }
        ends.push(number);
    }
    ends
}

/// What the verdict about a unit depends on: two with the same key do the same under the same locks.
fn key(accesses: &Accesses<'_>, unit: &Unit, ends: &[u32]) -> Vec<u32> {
    let execution = accesses.execution;
    let entered = execution.entered_in(unit);
    let root = execution.stacks.path(unit.root).0;
    let mut key = vec![unit.period.0, root];
    for &end in ends {
        let access = accesses.access(end);
        let role = accesses.role(end);
        let what = u32::from(role.is_uninitialised_read())
            | u32::from(role.is_last_write()) << 1
            | u32::from(super::accesses::touch_code(access.touch)) << 2;
        key.extend([access.location.0, what, execution.stacks.path(access.stack).0]);
        // Which of the unit's sections these are.
        let sections = execution.stacks.held(access.stack);
        key.extend(
            sections.filter_map(|section| entered.binary_search(&section).ok()).map(|place| place as u32),
        );
        key.push(u32::MAX);
    }
    if !accesses.is_nested[accesses.access(ends[0]).unit.0 as usize] {
        // What is held between accesses matters too: such units are rare, and each is judged.
        key.push(unit.block.begin.0 as u32);
    }
    key
}
