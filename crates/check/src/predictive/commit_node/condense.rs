//! Leaves out what cannot change a verdict (PPoPP'06 section 5, as corrected).
//!
//! *Trimming*: of the accesses of a location that have the same parent node, the first two reads, the first
//! write and the last write are enough. (Two reads that are communication nodes themselves show all that a third
//! could; a middle write is neither the first to be seen nor final.) Here updates count by themselves, as they are
//! both, and so does each kind of commuting ones, as they conflict with different accesses; and atomic accesses,
//! as they do not race with each other.
//!
//! *De-duplication*: of the identical units of a period, the first and the last are enough: the first is reached
//! last and reaches most, the last is reached first. All of them have the same verdict.
//!
//! *Cost*: O(accesses · locks held), hashed.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::predictive::Execution;
use crate::predictive::execution::{Access, Touch, Unit, UnitId, UnitKind};
use crate::predictive::periods::PeriodId;
use crate::predictive::stacks::SectionId;

use super::classes::kind;

/// What is left of an execution.
#[derive(Debug)]
pub(in crate::predictive) struct Condensed {
    /// Accesses, ascending; those of local locations are left out.
    pub(in crate::predictive) accesses: Vec<u32>,
    /// Per unit, a unit that is kept and has the same verdict.
    pub(in crate::predictive) twin: Vec<UnitId>,
    /// The accesses before units were left out.
    trimmed: Vec<u32>,
}

impl Condensed {
    /// Trims all units, then leaves out those that are identical.
    pub(in crate::predictive) fn new(execution: &Execution) -> Condensed {
        without_duplicates(execution, trimmed(execution))
    }

    /// The access of a unit that corresponds to one of its twin.
    pub(in crate::predictive) fn counterpart(&self, execution: &Execution, access: u32, unit: UnitId) -> u32 {
        let place = |index: u32| self.trimmed.partition_point(|&other| other < index);
        let twin = execution.unit(unit_of(execution, access));
        let offset = place(access) - place(twin.accesses.start);
        let at = place(execution.unit(unit).accesses.start) + offset;
        self.trimmed.get(at).copied().unwrap_or(access)
    }
}

/// All accesses that matter to somebody else.
pub(in crate::predictive) fn shared(execution: &Execution) -> Vec<u32> {
    (0..execution.accesses.len() as u32)
        .filter(|&index| !execution.location(execution.accesses[index as usize].location).is_local())
        .collect()
}

/// The accesses that trimming leaves.
pub(in crate::predictive) fn trimmed(execution: &Execution) -> Vec<u32> {
    let mut kept = Vec::new();
    // Per parent, location and touch: how many are kept, and the last one, unless it is kept.
    let mut met: FxHashMap<_, (u32, Option<u32>)> = FxHashMap::default();
    let mut unit = None;
    for index in shared(execution) {
        let access = &execution.accesses[index as usize];
        if unit.replace(access.unit) != Some(access.unit) {
            kept.extend(met.drain().filter_map(|(_, (_, last))| last));
        }
        let (firsts, keeps_last) = match access.touch {
            Touch::Read => (2, false),
            Touch::Write => (1, true),
            Touch::Update(_) | Touch::Commuting(_) => (2, true),
        };
        let (count, last) = met.entry((access.stack, access.location, kind(access))).or_default();
        if *count < firsts {
            *count += 1;
            kept.push(index);
        } else if keeps_last {
            *last = Some(index);
        }
    }
    kept.extend(met.into_values().filter_map(|(_, last)| last));
    kept.sort_unstable();
    kept
}

/// Of all units that are the same in one period, the first and the last.
pub(in crate::predictive) fn without_duplicates(execution: &Execution, trimmed: Vec<u32>) -> Condensed {
    let mut firsts: FxHashMap<(PeriodId, Vec<u32>), (UnitId, UnitId)> = FxHashMap::default();
    let mut twin: Vec<UnitId> = (0..execution.units.len() as u32).map(UnitId).collect();
    for same in trimmed.chunk_by(|&a, &b| unit_of(execution, a) == unit_of(execution, b)) {
        let id = unit_of(execution, same[0]);
        let unit = execution.unit(id);
        match firsts.entry((unit.period, shape(execution, unit, same))) {
            Entry::Vacant(entry) => {
                entry.insert((id, id));
            }
            Entry::Occupied(mut entry) => {
                let (first, last) = entry.get_mut();
                twin[id.0 as usize] = *first;
                *last = id;
            }
        }
    }
    let mut kept = vec![false; execution.units.len()];
    for (first, last) in firsts.into_values() {
        kept[first.0 as usize] = true;
        kept[last.0 as usize] = true;
        twin[last.0 as usize] = last;
    }
    let accesses =
        trimmed.iter().copied().filter(|&index| kept[unit_of(execution, index).0 as usize]).collect();
    Condensed { accesses, twin, trimmed }
}

fn unit_of(execution: &Execution, index: u32) -> UnitId {
    execution.accesses[index as usize].unit
}

/// What a unit does, without when: its accesses and sections, with the order of their steps.
fn shape(execution: &Execution, unit: &Unit, accesses: &[u32]) -> Vec<u32> {
    let own: Vec<&Access> = accesses.iter().map(|&index| &execution.accesses[index as usize]).collect();
    let mut sections: Vec<SectionId> =
        own.iter().flat_map(|access| execution.stacks.held(access.stack)).collect();
    sections.sort_unstable();
    sections.dedup();
    let nodes: Vec<_> = sections.iter().map(|&section| execution.node_steps(unit, section)).collect();
    // Steps that matter, so that loops of different lengths look the same once they are trimmed.
    let mut steps: Vec<u32> = own.iter().flat_map(|access| [access.step, access.step + 1]).collect();
    steps.extend(nodes.iter().flat_map(|node| [node.start, node.end]));
    steps.sort_unstable();
    steps.dedup();
    let place = |step: u32| steps.partition_point(|&other| other < step) as u32;
    let mut shape = vec![u32::from(unit.kind == UnitKind::Single), own.len() as u32];
    for access in own {
        let path = execution.stacks.path(access.stack);
        shape.extend([access.location.0, kind(access), path.0, place(access.step)]);
    }
    for (&section, node) in sections.iter().zip(nodes) {
        let section = execution.stacks.section(section);
        let mode = u32::from(section.mode == atomvet_trace::Mode::Shared);
        shape.extend([section.lock.0, mode, place(node.start), place(node.end)]);
    }
    shape
}
