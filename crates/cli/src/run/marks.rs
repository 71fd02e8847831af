//! Marks: what stands in the events for locks that a thread gave back without a record (`crates/recorder/src/handover.rs`).
//!
//! A mark is for a period of a thread, `index in the filter << 32 | when`, and a variable that is written there. Who takes such a lock
//! reads the variable of the first mark for its period or a later one. So many are kept per index; who asks for an older
//! one is told that it is forgotten, never given a later one.

use std::collections::VecDeque;

use atomvet_trace::VarId;
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
    /// For which periods, which only grow, and what was written then.
    kept: VecDeque<(u64, VarId)>,
    /// The last period of those that were forgotten.
    forgotten: u64,
}

impl Marks {
    /// Makes a mark, unless there is one for that period or a later one. `new` is asked for its variable, given that of a mark that is
    /// forgotten for it.
    pub(crate) fn make(&mut self, period: u64, new: impl FnOnce(Option<VarId>) -> VarId) {
        let marks = self.of_index.entry(period >> 32).or_default();
        if marks.kept.back().is_some_and(|last| last.0 >= period) {
            return;
        }
        let oldest = if marks.kept.len() > MOST { marks.kept.pop_front() } else { None };
        if let Some((period, _)) = oldest {
            marks.forgotten = period;
        }
        marks.kept.push_back((period, new(oldest.map(|(_, variable)| variable))));
    }

    /// The variable of the first mark for a period or a later one; nothing if that is forgotten.
    pub(crate) fn first_since(&self, period: u64) -> Option<VarId> {
        let marks = self.of_index.get(&(period >> 32)).filter(|marks| period > marks.forgotten)?;
        let at = marks.kept.partition_point(|mark| mark.0 < period);
        marks.kept.get(at).map(|mark| mark.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_mark_that_is_late_enough_counts() {
        let mut marks = Marks::default();
        for (variable, period) in [(0, 3), (1, 7), (2, 5), (3, 7), (4, 9), (5, 1 << 32 | 4)] {
            marks.make(period, |oldest| {
                assert_eq!(oldest, None);
                VarId(variable)
            });
        }
        let found = [1, 3, 4, 7, 8, 9, 10, 1 << 32].map(|period| marks.first_since(period).map(|v| v.0));
        assert_eq!(found, [Some(0), Some(0), Some(1), Some(1), Some(4), Some(4), None, Some(5)]);
    }

    #[test]
    fn what_is_forgotten_is_not_taken_for_a_later_one() {
        let mut marks = Marks::default();
        let mut reused = 0;
        for period in 1..=MOST as u64 + 11 {
            marks.make(period, |oldest| {
                reused += usize::from(oldest.is_some());
                oldest.unwrap_or(VarId(period as u32))
            });
        }
        assert_eq!(reused, 10);
        assert_eq!(marks.first_since(10), None);
        assert_eq!(marks.first_since(11), Some(VarId(11)));
    }
}
