//! Blocks, and then every interleaving of what is left (TSE 2006, Theorem 4.4; RV 2003, §5.4).
//!
//! First all pairs, as `blocks` does. Cycles that need three and more units are looked for among the units that no
//! pair breaks: these fall into components that share variables or threads, and of each component every interleaving
//! of its uninitialised reads, last writes and lock operations is compared with every serial order.
//!
//! **Guarantee.** Where all components are judged, nothing is missed: an execution without a finding is view-atomic,
//! if there is no potential for deadlock. The theorem's "iff" holds in that direction only: that a pair
//! is not atomic does not make the whole so, as `blocks` shows, and findings of pairs are reported as
//! they are. Of units that a pair breaks it is not asked whether they take part in longer cycles.
//!
//! **Bounds.** The search is exponential. A component in which no unit can be left and entered again in the
//! middle has no cycle, and is judged without a search. One that is too large is not judged, but for groups
//! of three units that have such a unit in them; the figure "components not judged" says so.
//!
//! **Deviations.** Non-transactional accesses and ordered units take part, as in `blocks`.

mod group;
mod search;
#[cfg(test)]
mod tests;

use rustc_hash::{FxHashMap, FxHashSet};

use super::blocks::accesses::Accesses;
use super::blocks::{self, pairs};
use crate::predictive::effort::{Done, Keep};
use crate::predictive::execution::{UnitId, UnitKind};
use crate::predictive::predicted::Reason;
use crate::predictive::{Effort, Execution, Judge, Predicted};
use crate::{Blame, Config, Info, Kind, Stats, Strength};
use group::Group;
use search::Verdict;

/// The checker `blocks-exact`.
#[derive(Debug)]
pub struct BlocksExact;

impl Judge for BlocksExact {
    const INFO: Info = Info {
        name: "blocks-exact",
        kind: Kind::Predictive,
        paper: "Wang, Stoller: Run-time analysis for atomicity, RV 2003; Runtime analysis of atomicity for \
                multithreaded programs, TSE 2006, Theorem 4.4",
        guarantee: "as blocks, and where no component is left unjudged (figure: components not judged) nothing is \
                    missed: without a finding and without potential for deadlock, every interleaving is explained by \
                    some serial order. False alarms as those of blocks",
        blame: Blame::More,
        tells_first_event: false,
        cost: "as blocks, then exponential in the size of a component of units that share variables: at most 2,000 \
               serial orders and 100,000 states each, and the effort for all",
    };

    fn new(_config: &Config) -> Self {
        BlocksExact
    }

    fn judge(self, execution: &Execution, effort: &mut Effort, out: &mut Predicted) -> Stats {
        let mut accesses = Accesses::new(execution);
        let found = blocks::find(&mut accesses, effort);
        found.report(execution, out);
        let mut exact = Exact {
            broken: found.broken.iter().map(|&(unit, _)| unit).collect(),
            can_be_left: left_units(&mut accesses, effort),
            accesses: &accesses,
            groups: 0,
            not_judged: 0,
        };
        let components = components(&accesses, &exact.broken);
        let of = components.len() as u64;
        for (number, component) in (0..).zip(components) {
            let done = Done { what: "components judged", done: number, of };
            exact.judge_component(component, effort, done, out);
        }
        let mut stats = found.stats;
        stats.0.extend([
            ("components", of),
            ("groups searched", exact.groups),
            ("components not judged", exact.not_judged),
        ]);
        stats
    }
}

/// More units than these are too many for a search of all of them together.
const MOST_UNITS: usize = 16;
/// So many groups of three are looked at for one unit.
const MOST_GROUPS: u64 = 64;
/// So many partners of one access, nearest first.
const MOST_PARTNERS: usize = 8;

struct Exact<'a> {
    accesses: &'a Accesses<'a>,
    broken: FxHashSet<UnitId>,
    /// Units that another can leave and enter again in the middle, with the pairs of accesses; none if that
    /// was not found out.
    can_be_left: Option<FxHashMap<UnitId, Vec<(u32, u32)>>>,
    groups: u64,
    not_judged: u64,
}

impl Exact<'_> {
    fn judge_component(
        &mut self,
        component: Vec<UnitId>,
        effort: &mut Effort,
        done: Done,
        out: &mut Predicted,
    ) {
        let Some(can_be_left) = &self.can_be_left else {
            self.not_judged += 1;
            return;
        };
        let candidates: Vec<UnitId> =
            component.iter().copied().filter(|unit| can_be_left.contains_key(unit)).collect();
        if candidates.is_empty() {
            return;
        }
        if component.len() <= MOST_UNITS {
            match self.judge_group(component, effort, done, out) {
                Judged::Yes => return,
                Judged::No => {}
            }
        }
        self.not_judged += 1;
        for unit in candidates {
            self.judge_around(unit, effort, done, out);
        }
    }

    /// Searches a group, and what is left of it when the unit to blame is taken out, and so on.
    fn judge_group(
        &mut self,
        mut units: Vec<UnitId>,
        effort: &mut Effort,
        done: Done,
        out: &mut Predicted,
    ) -> Judged {
        let execution = self.accesses.execution;
        while units.len() > 1 {
            if effort.spend(1, done) == Keep::Stop {
                return Judged::No;
            }
            let Some(group) = Group::new(self.accesses, units.clone()) else { return Judged::No };
            self.groups += 1;
            let (verdict, steps) = search::judge(self.accesses, &group);
            let keep = effort.spend(steps, done);
            let path = match verdict {
                Verdict::Atomic => return Judged::Yes,
                Verdict::NotJudged => return Judged::No,
                Verdict::Broken(path) => path,
            };
            let Some(blame) = search::blame(self.accesses, &group, &path) else { return Judged::Yes };
            let id = group.units[blame.unit];
            let unit = execution.unit(id);
            let pattern = blocks::pattern(execution, unit, &blame.accesses, blame.second, blame.order);
            out.violation(Strength::Predicted, Reason::Pattern, unit.block, vec![pattern]);
            self.broken.insert(id);
            units.retain(|&other| other != id);
            if keep == Keep::Stop {
                return Judged::No;
            }
        }
        Judged::Yes
    }

    /// Searches groups of a unit and two others, one that it is left to and one that it is entered from.
    fn judge_around(&mut self, unit: UnitId, effort: &mut Effort, done: Done, out: &mut Predicted) {
        let pairs = self.can_be_left.as_ref().and_then(|units| units.get(&unit)).cloned().unwrap_or_default();
        let last_group = self.groups + MOST_GROUPS;
        let mut seen = FxHashSet::default();
        for (first, second) in pairs {
            let (left_to, entered_from) = (self.partners(first), self.partners(second));
            for &one in &left_to {
                for &other in entered_from.iter().filter(|&&other| other != one) {
                    let keep = effort.spend(16, done);
                    if keep == Keep::Stop || self.groups >= last_group || self.broken.contains(&unit) {
                        return;
                    }
                    if !seen.insert((one.min(other), one.max(other))) || !self.are_linked(one, other) {
                        continue;
                    }
                    self.judge_group(vec![unit, one, other], effort, done, out);
                }
            }
        }
    }

    /// The units of some accesses that conflict with one, nearest first, those of each thread that differ in
    /// what they do to the location.
    fn partners(&self, number: u32) -> Vec<UnitId> {
        let accesses = self.accesses;
        let access = accesses.access(number);
        let period = accesses.unit_of(number).period;
        let mut found = Vec::new();
        for group in accesses.groups(access.location) {
            for class in accesses.concurrent_classes(group, period) {
                let members = &accesses.by_class[class.members.start as usize..class.members.end as usize];
                let after = members.partition_point(|&other| accesses.access(other).at < access.at);
                let around = [after.checked_sub(1), Some(after)].into_iter().flatten();
                let near = around.filter_map(|place| members.get(place)).copied();
                let partner = near.filter(|&other| pairs::conflict(accesses, number, other));
                found.extend(partner.map(|other| {
                    let other = accesses.access(other);
                    (search::distance(other.at, access.at), other.unit)
                }));
            }
        }
        found.retain(|(_, unit)| !self.broken.contains(unit));
        found.sort_unstable();
        found.truncate(MOST_PARTNERS);
        found.into_iter().map(|(_, unit)| unit).collect()
    }

    /// Whether two units conflict, or one is before the other.
    fn are_linked(&self, one: UnitId, other: UnitId) -> bool {
        let accesses = self.accesses;
        let numbers = |unit: UnitId| accesses.execution.unit(unit).accesses.clone();
        accesses.execution.before(one, other)
            || accesses.execution.before(other, one)
            || numbers(one).any(|a| {
                let location = accesses.access(a).location;
                numbers(other)
                    .any(|b| accesses.access(b).location == location && pairs::conflict(accesses, a, b))
            })
    }
}

/// Whether all interleavings were looked at.
enum Judged {
    Yes,
    No,
}

/// Units that no pair breaks and that have something to show, by the variables that they share and by their order.
fn components(accesses: &Accesses<'_>, broken: &FxHashSet<UnitId>) -> Vec<Vec<UnitId>> {
    let execution = accesses.execution;
    let mut leader: Vec<u32> = (0..execution.units.len() as u32).collect();
    fn find(leader: &mut [u32], mut unit: u32) -> u32 {
        while leader[unit as usize] != unit {
            leader[unit as usize] = leader[leader[unit as usize] as usize];
            unit = leader[unit as usize];
        }
        unit
    }
    let mut last_of: Vec<Option<u32>> = vec![None; execution.locations.len()];
    let mut members = vec![false; execution.units.len()];
    for &number in &accesses.in_order {
        let access = accesses.access(number);
        if !accesses.role(number).is_end() || broken.contains(&access.unit) {
            continue;
        }
        members[access.unit.0 as usize] = true;
        if let Some(last) = last_of[access.location.0 as usize].replace(access.unit.0) {
            let (one, other) = (find(&mut leader, last), find(&mut leader, access.unit.0));
            leader[one as usize] = other;
        }
    }
    // Cycles also go through the order of units: of one thread, or, with forks and joins, of any two.
    let mut last_of: Vec<Option<u32>> = vec![None; execution.periods.threads()];
    for unit in (0..execution.units.len() as u32).filter(|&unit| members[unit as usize]) {
        let thread = execution.unit(UnitId(unit)).thread.index();
        let slot = if accesses.has_order_of_threads { 0 } else { thread };
        if let Some(last) = last_of[slot].replace(unit) {
            let (one, other) = (find(&mut leader, last), find(&mut leader, unit));
            leader[one as usize] = other;
        }
    }
    let mut by_leader: FxHashMap<u32, Vec<UnitId>> = FxHashMap::default();
    for unit in (0..execution.units.len() as u32).filter(|&unit| members[unit as usize]) {
        by_leader.entry(find(&mut leader, unit)).or_default().push(UnitId(unit));
    }
    let mut components: Vec<Vec<UnitId>> = by_leader.into_values().filter(|units| units.len() > 2).collect();
    components.sort_unstable();
    components
}

/// The units with two ends of which each has a partner that does not need what is held from the one to the
/// other. On every cycle there is such a unit. None if the effort is spent.
fn left_units(
    accesses: &mut Accesses<'_>,
    effort: &mut Effort,
) -> Option<FxHashMap<UnitId, Vec<(u32, u32)>>> {
    let execution = accesses.execution;
    let of = execution.units.len() as u64;
    let mut left = FxHashMap::default();
    for (id, unit) in execution.units().filter(|(_, unit)| unit.kind != UnitKind::Single) {
        let ends = pairs::ends(accesses, unit);
        let mut found = Vec::new();
        for (place, &second) in ends.iter().enumerate() {
            for &first in &ends[..place] {
                let done = Done { what: "units looked at for cycles", done: u64::from(id.0), of };
                if effort.spend(16 + std::mem::take(&mut accesses.steps), done) == Keep::Stop {
                    return None;
                }
                let gaps = accesses.gaps(first, second);
                if pairs::can_be_left(accesses, unit, first, second, &gaps) {
                    found.push((first, second));
                }
            }
        }
        if !found.is_empty() {
            left.insert(id, found);
        }
    }
    Some(left)
}
