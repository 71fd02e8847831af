//! The conflict forest without its edges: accesses that are alike are told apart only when it matters.
//!
//! A *class* is all accesses of one location with the same touch, all of them atomic or none, the same lock path and the
//! same *shield*.
//! Whether two accesses of two classes have an inter-edge, and between which levels of their lock
//! paths, depends on the classes only; whether they are concurrent depends on their units' periods only. So a pair
//! of classes is looked at once, and its concurrent members are two ends of a sorted list.
//!
//! A read's shield is how many of the sections around it had begun when its unit last wrote the
//! location before it: nobody who needs one of their locks can come in between, so an edge at such a level
//! says nothing that the write's edges do not say. (A commuting update is no shield: it has no edge
//! with another one.)
//!
//! *Cost*: O(accesses · log) to build; a class is compared with all classes of its location.

use std::ops::Range;

use atomvet_trace::{LockId, Mode};

use crate::predictive::Execution;
use crate::predictive::execution::{Access, LocationId, Touch, Unit};
use crate::predictive::stacks::{PathId, Stacks, exclusive};

use super::window::Window;

/// The level of an access itself, below all locks.
pub(in crate::predictive) const LEAF: u32 = u32::MAX;

const NO_CLASS: u32 = u32::MAX;

#[derive(Debug)]
struct Class {
    location: LocationId,
    touch: Touch,
    atomic: bool,
    path: PathId,
    shield: u32,
    lanes: Range<u32>,
}

/// The accesses of a class in one thread.
#[derive(Debug)]
pub(in crate::predictive) struct Lane {
    pub(in crate::predictive) thread: u32,
    pub(in crate::predictive) members: Range<u32>,
}

/// All classes of an execution.
#[derive(Debug)]
pub(in crate::predictive) struct Classes {
    /// Per access; [`NO_CLASS`] for those of local locations.
    of_access: Vec<u32>,
    /// By location.
    classes: Vec<Class>,
    /// Per location, its classes.
    of_location: Vec<Range<u32>>,
    /// Per location: the holders of some lock are all who access it, so no access of it is a
    /// communication node.
    guarded: Vec<bool>,
    /// By class, then thread.
    lanes: Vec<Lane>,
    /// Accesses by class, then thread, then program order.
    members: Vec<u32>,
    locks: Locks,
}

impl Classes {
    pub(in crate::predictive) fn new(execution: &Execution) -> Classes {
        let mut sorted = Vec::with_capacity(execution.accesses.len());
        let shields = shields(execution);
        for (index, (access, shield)) in (0_u32..).zip(execution.accesses.iter().zip(shields)) {
            if !execution.location(access.location).is_local() {
                let path = execution.stacks.path(access.stack);
                let thread = execution.unit(access.unit).thread;
                sorted.push((access.location.0, kind(access), path.0, shield, thread.0, index));
            }
        }
        sorted.sort_unstable();
        let mut built = Classes {
            of_access: vec![NO_CLASS; execution.accesses.len()],
            classes: Vec::new(),
            of_location: vec![0..0; execution.locations.len()],
            guarded: vec![false; execution.locations.len()],
            lanes: Vec::new(),
            members: sorted.iter().map(|&(.., index)| index).collect(),
            locks: Locks::new(&execution.stacks, sorted.iter().map(|&(_, _, path, ..)| PathId(path))),
        };
        let mut at = 0_u32;
        for class in sorted.chunk_by(|a, b| (a.0, a.1, a.2, a.3) == (b.0, b.1, b.2, b.3)) {
            let id = built.classes.len() as u32;
            let first_lane = built.lanes.len() as u32;
            for lane in class.chunk_by(|a, b| a.4 == b.4) {
                let members = at..at + lane.len() as u32;
                at = members.end;
                built.lanes.push(Lane { thread: lane[0].4, members });
            }
            for &(.., index) in class {
                built.of_access[index as usize] = id;
            }
            let (location, _, path, shield, _, index) = class[0];
            let Access { touch, atomic, .. } = execution.accesses[index as usize];
            let of_location = &mut built.of_location[location as usize];
            if of_location.end == 0 {
                of_location.start = id;
            }
            of_location.end = id + 1;
            built.classes.push(Class {
                location: LocationId(location),
                touch,
                atomic,
                path: PathId(path),
                shield,
                lanes: first_lane..built.lanes.len() as u32,
            });
        }
        for location in 0..execution.locations.len() {
            built.guarded[location] = built.has_guard(location);
        }
        built
    }

    /// How many classes there are; their ids are dense.
    pub(in crate::predictive) fn len(&self) -> usize {
        self.classes.len()
    }

    /// The class of an access, none if its location is local.
    pub(in crate::predictive) fn of(&self, access: u32) -> Option<u32> {
        Some(self.of_access[access as usize]).filter(|&class| class != NO_CLASS)
    }

    /// The steps that [`Classes::neighbours`] takes: some for each class of the same location.
    pub(in crate::predictive) fn cost(&self, class: u32) -> u64 {
        16 * self.of_location[self.classes[class as usize].location.0 as usize].len() as u64
    }

    /// The members of a lane, in program order.
    pub(in crate::predictive) fn members(&self, members: &Range<u32>) -> &[u32] {
        &self.members[members.start as usize..members.end as usize]
    }

    /// Calls `found` with the level at which a class has inter-edges and the accesses of a thread
    /// at their other ends, among the units of a window.
    pub(in crate::predictive) fn neighbours(
        &self,
        execution: &Execution,
        class: u32,
        window: &Window,
        mut found: impl FnMut(u32, u32, Range<u32>),
    ) {
        let location = self.classes[class as usize].location;
        for other in self.of_location[location.0 as usize].clone() {
            let Some((level, _)) = self.levels(class, other) else { continue };
            let lanes = self.classes[other as usize].lanes.clone();
            for lane in &self.lanes[lanes.start as usize..lanes.end as usize] {
                let units = &window.units[lane.thread as usize];
                if units.is_empty() {
                    continue;
                }
                let unit = |member: &u32| execution.accesses[*member as usize].unit.0;
                let members = self.members(&lane.members);
                let first = members.partition_point(|member| unit(member) < units.start) as u32;
                let last = members.partition_point(|member| unit(member) < units.end) as u32;
                if first < last {
                    found(level, lane.thread, lane.members.start + first..lane.members.start + last);
                }
            }
        }
    }

    /// The two ends of the inter-edges between accesses of two classes of one location in concurrent
    /// units (`addEdge`): levels of their lock paths, or [`LEAF`] both. None if there is no edge.
    fn levels(&self, one: u32, other: u32) -> Option<(u32, u32)> {
        let (one, other) = (&self.classes[one as usize], &self.classes[other as usize]);
        if !one.touch.conflicts(other.touch) {
            return None;
        }
        let key = |class: &Class| (class.touch.writes(), class.path);
        let (level, other_level) = if key(one) <= key(other) {
            self.locks.meet(one.path, other.path)
        } else {
            let (other_level, level) = self.locks.meet(other.path, one.path);
            (level, other_level)
        };
        let shielded = |class: &Class, level: u32| level != LEAF && level < class.shield;
        (!shielded(one, level) && !shielded(other, other_level)).then_some((level, other_level))
    }

    fn has_guard(&self, location: usize) -> bool {
        let classes = &self.classes[as_range(&self.of_location[location])];
        let Some(first) = classes.first() else { return true };
        let mut guards: Vec<_> = self.locks.of(first.path).iter().map(|&(lock, _)| lock).collect();
        let mut last = None;
        for class in classes {
            if last.replace((class.path, class.touch.writes())) == Some((class.path, class.touch.writes())) {
                continue;
            }
            guards.retain(|&guard| {
                self.locks.of(class.path).iter().any(|&(lock, mode)| {
                    lock == guard && (!class.touch.writes() || exclusive(mode, Mode::Shared))
                })
            });
        }
        !guards.is_empty()
    }

    /// Whether two nodes of a unit may be communication nodes, one wholly before the other: a cheap test
    /// that takes every section with an access for one.
    pub(in crate::predictive) fn may_be_split(&self, execution: &Execution, unit: &Unit) -> bool {
        let (mut first_end, mut last_start) = (u32::MAX, 0);
        for access in execution.accesses_of(unit) {
            let Access { location, step, stack, .. } = *access;
            if execution.location(location).is_local() {
                continue;
            }
            if !self.guarded[location.0 as usize] {
                first_end = first_end.min(step + 1);
                last_start = last_start.max(step);
            }
            for section in execution.stacks.held(stack) {
                let steps = execution.node_steps(unit, section);
                first_end = first_end.min(steps.end);
                last_start = last_start.max(steps.start);
            }
        }
        first_end <= last_start
    }

    /// Calls `found` with each two lanes of different threads whose accesses race if they are concurrent:
    /// they conflict, not both are atomic, and they have no lock in common.
    pub(in crate::predictive) fn unguarded(
        &self,
        mut found: impl FnMut(&Lane, &Lane) -> std::ops::ControlFlow<()>,
    ) {
        for location in 0..self.of_location.len() {
            if self.guarded[location] {
                continue;
            }
            let classes = self.of_location[location].clone();
            for one in classes.clone() {
                for other in one..classes.end {
                    let are_atomic = self.classes[one as usize].atomic && self.classes[other as usize].atomic;
                    if are_atomic || self.levels(one, other) != Some((LEAF, LEAF)) {
                        continue;
                    }
                    let lanes = as_range(&self.classes[one as usize].lanes);
                    let other_lanes = as_range(&self.classes[other as usize].lanes);
                    for lane in lanes {
                        for other_lane in other_lanes.clone() {
                            let (lane, other_lane) = (&self.lanes[lane], &self.lanes[other_lane]);
                            let is_new = one != other || lane.thread < other_lane.thread;
                            if is_new
                                && lane.thread != other_lane.thread
                                && found(lane, other_lane).is_break()
                            {
                                return;
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The locks of paths, outermost first, in one piece: whether two paths meet is asked for each pair of classes
/// of a location.
#[derive(Debug)]
struct Locks {
    all: Vec<(LockId, Mode)>,
    of_path: Vec<Range<u32>>,
}

impl Locks {
    fn new(stacks: &Stacks, paths: impl Iterator<Item = PathId>) -> Locks {
        let mut locks = Locks { all: Vec::new(), of_path: vec![0..0; stacks.path_count()] };
        for path in paths {
            let of_path = &mut locks.of_path[path.0 as usize];
            if of_path.end == 0 {
                let start = locks.all.len();
                locks.all.extend(stacks.locks(path));
                locks.all[start..].reverse();
                *of_path = start as u32..locks.all.len() as u32;
            }
        }
        locks
    }

    fn of(&self, path: PathId) -> &[(LockId, Mode)] {
        &self.all[as_range(&self.of_path[path.0 as usize])]
    }

    /// As [`Stacks::meet`]; [`LEAF`] if they do not.
    fn meet(&self, path: PathId, other: PathId) -> (u32, u32) {
        let others = self.of(other);
        for (level, &(lock, mode)) in (0..).zip(self.of(path)) {
            let same = others.iter().position(|&(found, other)| found == lock && exclusive(mode, other));
            if let Some(other_level) = same {
                return (level, other_level as u32);
            }
        }
        (LEAF, LEAF)
    }
}

/// Per access, its shield.
fn shields(execution: &Execution) -> Vec<u32> {
    let mut last_write: Vec<Option<u32>> = vec![None; execution.locations.len()];
    let mut shields = Vec::with_capacity(execution.accesses.len());
    for (index, access) in (0_u32..).zip(&execution.accesses) {
        let last = &mut last_write[access.location.0 as usize];
        let own = last.map(|last| &execution.accesses[last as usize]).filter(|own| own.unit == access.unit);
        shields.push(match own {
            Some(own) if access.touch == Touch::Read => (execution.stacks.held(access.stack))
                .filter(|&section| execution.stacks.section(section).start <= own.step)
                .count() as u32,
            _ => 0,
        });
        if matches!(access.touch, Touch::Write | Touch::Update(_)) {
            *last = Some(index);
        }
    }
    shields
}

/// Accesses of one location that are of the same kind have the same conflicts, and race with the same others.
pub(in crate::predictive) fn kind(access: &Access) -> u32 {
    rank(access.touch) << 1 | u32::from(access.atomic)
}

/// Touches of the same rank have the same conflicts.
pub(in crate::predictive) fn rank(touch: Touch) -> u32 {
    match touch {
        Touch::Read => 0,
        Touch::Write => 1,
        Touch::Update(_) => 2,
        Touch::Commuting(kind) => 3 + kind as u32,
    }
}

fn as_range(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}
