//! For one unit: can another unit come between, as verdict 2 of `docs/event-model.md` has it, but without
//! the order that locks make?
//!
//! ```text
//! T1: [ r(x)           w(x) ]        the unit's first event happens before w(x) of T2, and
//! T2:           w(x)                 that before the unit's last event
//! ```

use super::lattice::{Lattice, NOT, reaches};
use super::steps::{MOST_THREADS, MOST_VARIABLES, PerThread, Unit};
use super::{Budget, Search};

/// Whether it is violated in some interleaving, complete or not.
pub(super) fn is_violable(lattice: &Lattice, unit: &Unit, budget: &mut Budget) -> Option<bool> {
    let start = (PerThread::default(), [NOT; MOST_THREADS]);
    budget.search(start, |(at, after), next| {
        for (thread, step) in lattice.moves(at) {
            let before = lattice.directly_before(at, thread, step);
            let (mut at, mut after) = (*at, *after);
            match advance(unit, thread, &before, &mut at, &mut after) {
                Advance::Violates => return Search::Found,
                Advance::Over => {}
                Advance::Goes => next.push((at, after)),
            }
        }
        Search::Goes
    })
}

/// Whether it is violated in some interleaving in which every read that steers its thread sees the write that was recorded, or
/// is the last event of its thread. What a thread writes after it read something else is not what was
/// recorded, for whoever reads it. `steers` is per event of the trace.
pub(super) fn is_schedulable(
    lattice: &Lattice,
    unit: &Unit,
    steers: &[bool],
    budget: &mut Budget,
) -> Option<bool> {
    /// Written by a thread that read something else.
    const OTHER_VALUE: u8 = u8::MAX;
    // Besides: the last writer of each variable; the threads that may not go on, and those that read something else, as bits.
    let start = (PerThread::default(), [NOT; MOST_THREADS], [0; MOST_VARIABLES], 0_u8, 0_u8);
    budget.search(start, |(at, after, writers, stopped, astray), next| {
        for (thread, step) in lattice.moves(at) {
            let ended_early = (0..MOST_THREADS).filter(|&other| step.needs_more >> other & 1 == 1);
            let waits_forever = |other: usize| stopped >> other & 1 == 1 && at[other] == step.needs[other];
            if stopped >> thread & 1 == 1 || ended_early.into_iter().any(waits_forever) {
                continue;
            }
            let before = lattice.directly_before(at, thread, step);
            let (mut at, mut after, mut writers) = (*at, *after, *writers);
            let (mut stopped, mut astray) = (*stopped, *astray);
            if let Some(access) = step.access {
                let as_recorded = !access.reads || writers[access.variable] == step.source;
                match steers.get(access.event) {
                    _ if as_recorded => {}
                    Some(false) => astray |= 1 << thread,
                    _ => stopped |= 1 << thread,
                }
                if access.writes {
                    let as_recorded = as_recorded && astray >> thread & 1 == 0;
                    writers[access.variable] = if as_recorded { step.number } else { OTHER_VALUE };
                }
            }
            match advance(unit, thread, &before, &mut at, &mut after) {
                Advance::Violates => return Search::Found,
                Advance::Goes if stopped >> unit.thread & 1 == 0 => {
                    next.push((at, after, writers, stopped, astray));
                }
                Advance::Over | Advance::Goes => {}
            }
        }
        Search::Goes
    })
}

enum Advance {
    Goes,
    /// The unit is done, and was not violated.
    Over,
    Violates,
}

/// Does the next step of a thread. `after` has per thread the first step that happens after the unit's
/// first one; whatever the thread does later happens after it, too.
fn advance(
    unit: &Unit,
    thread: usize,
    before: &PerThread,
    at: &mut PerThread,
    after: &mut PerThread,
) -> Advance {
    let here = at[thread];
    at[thread] += 1;
    if thread != unit.thread {
        if reaches(after, before) {
            after[thread] = here.min(after[thread]);
        }
        return Advance::Goes;
    }
    if here == unit.steps.start {
        after[thread] = here;
    } else if reaches(after, before) {
        return Advance::Violates;
    }
    if at[thread] == unit.steps.end { Advance::Over } else { Advance::Goes }
}
