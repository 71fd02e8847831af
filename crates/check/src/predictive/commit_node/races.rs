//! Data races: leaves of the conflict forest with inter-edges.
//!
//! One race is reported per two classes and two threads, and of its pairs of accesses the nearest in the trace.

use std::ops::ControlFlow;

use crate::predictive::effort::{Done, Keep};
use crate::predictive::{Effort, Execution, Predicted};

use super::classes::{Classes, Lane};
use super::window::Spread;

pub(super) fn report(
    execution: &Execution,
    classes: &Classes,
    spread: &Spread,
    effort: &mut Effort,
    out: &mut Predicted,
) {
    let mut compared = 0;
    classes.unguarded(|one, other| {
        let members = (classes.members(&one.members), classes.members(&other.members));
        if let Some((first, second)) = nearest(execution, spread, other.thread as usize, members) {
            let [first, second] = [first, second].map(|index| &execution.accesses[index as usize]);
            let variable = execution.location(first.location).variable;
            out.race(variable, execution.moment(first), execution.moment(second));
        }
        compared += 1;
        let steps = cost(one) + cost(other);
        match effort.spend(steps, Done { what: "pairs of accesses compared", done: compared, of: compared }) {
            Keep::Going => ControlFlow::Continue(()),
            Keep::Stop => ControlFlow::Break(()),
        }
    });
}

fn cost(lane: &Lane) -> u64 {
    4 * lane.members.len() as u64
}

/// Two accesses of concurrent units that are nearest in the trace.
fn nearest(
    execution: &Execution,
    spread: &Spread,
    other_thread: usize,
    (ones, others): (&[u32], &[u32]),
) -> Option<(u32, u32)> {
    let access = |index: u32| &execution.accesses[index as usize];
    let period = |index: u32| execution.unit(access(index).unit).period;
    let mut best: Option<(u64, (u32, u32))> = None;
    for ones in ones.chunk_by(|&a, &b| period(a) == period(b)) {
        let thread = atomvet_trace::ThreadId(other_thread as u32);
        let periods = execution.periods.concurrent_with(period(ones[0]), thread);
        let units = spread.units(execution, other_thread, &periods);
        let first = others.partition_point(|&other| access(other).unit.0 < units.start);
        let last = others.partition_point(|&other| access(other).unit.0 < units.end);
        // Both lists are in the order of the trace: one pass looks at each access and its neighbours.
        let others = &others[first..last];
        let mut next = 0;
        for &one in ones {
            let at = access(one).at;
            while next < others.len() && access(others[next]).at < at {
                next += 1;
            }
            for &other in &others[next.saturating_sub(1)..others.len().min(next + 1)] {
                let away = access(other).at.0.abs_diff(at.0);
                if best.is_none_or(|(nearest, _)| away < nearest) {
                    best = Some((away, (one, other)));
                }
            }
        }
    }
    best.map(|(_, pair)| pair)
}
