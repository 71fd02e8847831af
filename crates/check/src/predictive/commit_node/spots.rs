//! Which units are neighbours in the conflict forest, for the search through other units.
//!
//! Which nodes an inter-edge joins does not matter there: two units are neighbours if they are concurrent
//! and have conflicting accesses. (An edge that a shield takes away leaves that of the write.) So all
//! accesses of a location that have the same touch and are of one period are one *spot*: whoever reaches
//! the period early enough can leave from its last one, and whoever conflicts with it reaches its first
//! one. That is the de-duplication of the paper, at the level of accesses.

use std::ops::Range;

use crate::predictive::Execution;
use crate::predictive::execution::{LocationId, Touch};
use crate::predictive::periods::PeriodId;

use super::classes::rank;
use super::search::Hops;
use super::window::{Spread, Window};

#[derive(Debug)]
struct Spot {
    location: LocationId,
    touch: Touch,
    /// Its first and last access.
    first: u32,
    last: u32,
}

/// The spots of a location in one thread with one touch.
#[derive(Debug)]
struct Lane {
    thread: usize,
    touch: Touch,
    spots: Range<usize>,
}

/// All spots of an execution.
#[derive(Debug)]
pub(super) struct Spots {
    /// By location, thread, touch and period.
    spots: Vec<Spot>,
    lanes: Vec<Lane>,
    /// Per location, its lanes.
    of_location: Vec<Range<usize>>,
    /// Per period, its spots, those with later last accesses first.
    of_period: Vec<Vec<u32>>,
}

impl Spots {
    pub(super) fn new(execution: &Execution) -> Spots {
        let mut sorted = Vec::with_capacity(execution.accesses.len());
        for (index, access) in (0_u32..).zip(&execution.accesses) {
            if !execution.location(access.location).is_local() {
                let thread = execution.unit(access.unit).thread;
                sorted.push((access.location.0, thread.0, rank(access.touch), index));
            }
        }
        sorted.sort_unstable();
        let mut built = Spots {
            spots: Vec::new(),
            lanes: Vec::new(),
            of_location: vec![0..0; execution.locations.len()],
            of_period: vec![Vec::new(); execution.periods.len()],
        };
        let period = |index: u32| execution.unit(execution.accesses[index as usize].unit).period;
        for lane in sorted.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)) {
            let (location, thread, _, first) = lane[0];
            let touch = execution.accesses[first as usize].touch;
            let start = built.spots.len();
            for spot in lane.chunk_by(|a, b| period(a.3) == period(b.3)) {
                let (first, last) = (spot[0].3, spot[spot.len() - 1].3);
                built.of_period[period(first).0 as usize].push(built.spots.len() as u32);
                built.spots.push(Spot { location: LocationId(location), touch, first, last });
            }
            let lanes = &mut built.of_location[location as usize];
            if lanes.end == 0 {
                lanes.start = built.lanes.len();
            }
            lanes.end = built.lanes.len() + 1;
            built.lanes.push(Lane { thread: thread as usize, touch, spots: start..built.spots.len() });
        }
        for spots in &mut built.of_period {
            spots.sort_unstable_by_key(|&spot| std::cmp::Reverse(built.spots[spot as usize].last));
        }
        built
    }

    /// The hops among the units of a window; gives the steps that it took as well.
    pub(super) fn hops(&self, execution: &Execution, spread: &Spread, window: &Window) -> (Hops, u64) {
        let unit = |access: u32| execution.accesses[access as usize].unit.0;
        let mut steps = 0;
        let hops = Hops::new(execution, spread, window, |period: PeriodId, targets, hop| {
            for &spot in &self.of_period[period.0 as usize] {
                let spot = &self.spots[spot as usize];
                let lanes = &self.lanes[self.of_location[spot.location.0 as usize].clone()];
                steps += lanes.len() as u64;
                for lane in lanes.iter().filter(|lane| lane.touch.conflicts(spot.touch)) {
                    let units = &targets.units[lane.thread];
                    let spots = &self.spots[lane.spots.clone()];
                    let next = spots.partition_point(|spot| unit(spot.first) < units.start);
                    if let Some(to) = spots.get(next)
                        && unit(to.first) < units.end
                    {
                        hop(unit(spot.last), lane.thread, unit(to.first), (spot.last, to.first));
                    }
                }
            }
        });
        (hops, steps)
    }
}
