//! Marks: what stands in the events for locks that a thread gave back, and atomics that it accessed, without a record
//! (`crates/recorder/src/{handover,atomics}.rs`).
//!
//! A mark is for a period of a thread, `index in the filter << 32 | when`, and a variable that is written there. Who comes after it
//! reads the variable of the first mark for its period or a later one. So many are kept per index; who asks for an older
//! one is told that it is forgotten, never given a later one.

use std::collections::VecDeque;

use atomvet_trace::{ThreadId, VarId};
use rustc_hash::FxHashMap;

/// How many are kept per index.
const MOST: usize = 1 << 12;

/// The marks of all threads.
#[derive(Default)]
pub(crate) struct Marks {
    of_index: FxHashMap<u64, OfIndex>,
}

#[derive(Default)]
struct OfIndex {
    /// Their periods only grow.
    kept: VecDeque<Mark>,
    /// The last period of those that were forgotten.
    forgotten: u64,
}

struct Mark {
    period: u64,
    /// What was written there, by whom, and whether anybody has read it.
    variable: VarId,
    by: ThreadId,
    is_read: bool,
}

/// What a new mark may write to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    /// Nothing yet.
    None,
    /// The variable of a mark that is forgotten for it, which nobody else has used.
    Own(VarId),
    /// The same, but others have.
    Used(VarId),
}

impl Marks {
    /// Makes a mark of a thread, unless there is one for that period or a later one. `new` is asked for its variable.
    pub(crate) fn make(&mut self, period: u64, by: ThreadId, new: impl FnOnce(Room) -> VarId) {
        let marks = self.of_index.entry(period >> 32).or_default();
        if marks.kept.back().is_some_and(|last| last.period >= period) {
            return;
        }
        let mut room = Room::None;
        if marks.kept.len() > MOST
            && let Some(oldest) = marks.kept.pop_front()
        {
            marks.forgotten = oldest.period;
            let is_own = oldest.by == by && !oldest.is_read;
            room = if is_own { Room::Own(oldest.variable) } else { Room::Used(oldest.variable) };
        }
        marks.kept.push_back(Mark { period, variable: new(room), by, is_read: false });
    }

    /// The variable of the first mark for a period or a later one, to be read; nothing if that is forgotten.
    pub(crate) fn first_since(&mut self, period: u64) -> Option<VarId> {
        let marks = self.of_index.get_mut(&(period >> 32)).filter(|marks| period > marks.forgotten)?;
        let at = marks.kept.partition_point(|mark| mark.period < period);
        let mark = marks.kept.get_mut(at)?;
        mark.is_read = true;
        Some(mark.variable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_mark_that_is_late_enough_counts() {
        let mut marks = Marks::default();
        for (variable, period) in [(0, 3), (1, 7), (2, 5), (3, 7), (4, 9), (5, 1 << 32 | 4)] {
            marks.make(period, ThreadId(0), |room| {
                assert_eq!(room, Room::None);
                VarId(variable)
            });
        }
        let found = [1, 3, 4, 7, 8, 9, 10, 1 << 32].map(|period| marks.first_since(period).map(|v| v.0));
        assert_eq!(found, [Some(0), Some(0), Some(1), Some(1), Some(4), Some(4), None, Some(5)]);
    }

    #[test]
    fn what_is_forgotten_is_not_taken_for_a_later_one() {
        let mut marks = Marks::default();
        let mut reused = Vec::new();
        for period in 1..=MOST as u64 + 11 {
            // The index has another thread in the end; the second mark is read.
            let by = ThreadId(u32::from(period > MOST as u64 + 6));
            marks.make(period, by, |room| match room {
                Room::None => VarId(period as u32),
                Room::Own(variable) | Room::Used(variable) => {
                    reused.push(room);
                    variable
                }
            });
            if period == 2 {
                assert_eq!(marks.first_since(2), Some(VarId(2)));
            }
        }
        let own = |number| Room::Own(VarId(number));
        let used = |number| Room::Used(VarId(number));
        assert_eq!(reused[..4], [own(1), used(2), own(3), own(4)]);
        assert_eq!(reused[4..], [own(5), used(6), used(7), used(8), used(9), used(10)]);
        assert_eq!(marks.first_since(10), None);
        assert_eq!(marks.first_since(11), Some(VarId(11)));
    }
}
