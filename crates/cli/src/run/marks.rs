//! Marks: what stands in the events for locks that a thread gave back, and atomics that it accessed, without a record
//! (`crates/recorder/src/{handover,atomics}.rs`).
//!
//! A mark is for a period of a thread, `index in the filter << 32 | when`, and a variable that is written there. Who comes after it
//! reads the variable of the first mark for its period or a later one.
//!
//! A mark can be forgotten if the block that it is in was over before every block that is open now began: nothing can come to be before
//! that block any more, so no order from there ever closes a cycle. (That the mark is older is not enough: something in an open block may
//! have come before the end of the mark's.) In programs with blocks that stay open for long,
//! marks become many; of those, so many are kept per index, and who asks for an older one is told that it is
//! lost, never given a later one.

use atomvet_trace::{ThreadId, VarId};

/// How many are kept per index at most.
const MOST: usize = 1 << 17;
/// How many there are before any are forgotten.
const FEW: usize = 256;
/// How many of the latest are looked at one by one. (In a table of locks that two threads share, three quarters ask for the last one
/// of all, and one of 50 for one before the third.)
const LATEST: usize = 8;

/// The marks of all threads.
#[derive(Default)]
pub(crate) struct Marks {
    /// Few: there are as many as threads that the filter tells apart.
    of_index: Vec<OfIndex>,
}

#[derive(Default)]
struct OfIndex {
    /// Their periods only grow.
    kept: Vec<Mark>,
    /// Their variables, where they are forgotten.
    spare: Vec<Room>,
    /// The last period of those that were forgotten, and of those that should not have been.
    forgotten: u64,
    lost: u64,
    /// How many there have to be before it is looked again which can be forgotten.
    enough: usize,
    /// What was found then.
    over: Over,
}

/// Marks that were made before a time were in blocks that were over at another.
#[derive(Default)]
struct Over {
    before: u64,
    at: u64,
}

struct Mark {
    period: u64,
    /// When it was made.
    time: u64,
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
    /// The variable of a forgotten mark of this thread, which nobody else has used.
    Own(VarId, ThreadId),
    /// That of another.
    Used(VarId),
}

/// What there is to come after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Before {
    /// What was written there is to be read.
    Mark(VarId),
    /// Nothing that could matter.
    Nothing,
    /// It is not known any more.
    Lost,
}

impl Marks {
    /// Makes a mark of a thread, unless there is one for that period or a later one. `new` is asked for its variable, and
    /// `oldest_open` when the oldest block began that is open now, if there are so many marks that it matters.
    pub(crate) fn make(
        &mut self,
        (period, time): (u64, u64),
        by: ThreadId,
        oldest_open: impl FnOnce() -> u64,
        new: impl FnOnce(Room) -> VarId,
    ) {
        let index = index(period);
        if index >= self.of_index.len() {
            self.of_index.resize_with(index + 1, OfIndex::default);
        }
        let marks = &mut self.of_index[index];
        if marks.kept.last().is_some_and(|last| last.period >= period) {
            return;
        }
        if marks.kept.len() >= marks.enough.max(FEW) {
            marks.forget(time, oldest_open());
        }
        let room = match marks.spare.pop() {
            Some(Room::Own(variable, owner)) if owner != by => Room::Used(variable),
            room => room.unwrap_or(Room::None),
        };
        marks.kept.push(Mark { period, time, variable: new(room), by, is_read: false });
    }

    /// What comes before somebody who comes after a period.
    pub(crate) fn first_since(&mut self, period: u64) -> Before {
        let Some(marks) = self.of_index.get_mut(index(period)) else { return Before::Lost };
        if period <= marks.forgotten {
            return if period <= marks.lost { Before::Lost } else { Before::Nothing };
        }
        let at = marks.position(period);
        let Some(mark) = marks.kept.get_mut(at) else { return Before::Lost };
        mark.is_read = true;
        Before::Mark(mark.variable)
    }
}

/// Of a period; they are operands of records, so that it has 16 bits at most.
fn index(period: u64) -> usize {
    usize::from((period >> 32) as u16)
}

impl OfIndex {
    /// Where the first mark for a period or a later one is; behind all if there is none.
    #[inline]
    fn position(&self, period: u64) -> usize {
        let latest = self.kept.len().saturating_sub(LATEST);
        match self.kept[latest..].iter().rposition(|mark| mark.period < period) {
            Some(before) => latest + before + 1,
            None => self.kept[..latest].partition_point(|mark| mark.period < period),
        }
    }

    fn forget(&mut self, now: u64, oldest_open: u64) {
        let most = if self.kept.len() < MOST { MOST } else { MOST / 4 * 3 };
        let mut over = 0;
        if self.over.at < oldest_open {
            over = self.kept.partition_point(|mark| mark.time < self.over.before);
            // What is older than all open blocks is in none of them.
            self.over = Over { before: oldest_open.min(now), at: now };
        }
        let forgotten = over.max(self.kept.len().saturating_sub(most));
        if forgotten > over {
            self.lost = self.kept[forgotten - 1].period;
        }
        for mark in self.kept.drain(..forgotten) {
            self.forgotten = mark.period;
            let Mark { variable, by, is_read, .. } = mark;
            self.spare.push(if is_read { Room::Used(variable) } else { Room::Own(variable, by) });
        }
        self.enough = MOST.min(2 * self.kept.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: ThreadId = ThreadId(0);

    fn make(marks: &mut Marks, period: u64, oldest_open: u64) -> Room {
        let mut found = Room::None;
        marks.make(
            (period, period),
            T,
            || oldest_open,
            |room| {
                found = room;
                match room {
                    Room::None => VarId(period as u32),
                    Room::Own(variable, _) | Room::Used(variable) => variable,
                }
            },
        );
        found
    }

    #[test]
    fn the_first_mark_that_is_late_enough_counts() {
        let mut marks = Marks::default();
        for period in [3, 7, 5, 7, 9, 1 << 32 | 4] {
            assert_eq!(make(&mut marks, period, 0), Room::None);
        }
        let found = [1, 3, 4, 7, 8, 9, 1 << 32].map(|period| marks.first_since(period));
        assert_eq!(found, [3, 3, 7, 7, 9, 9, 4].map(|variable| Before::Mark(VarId(variable))));
        assert_eq!(marks.first_since(10), Before::Lost);
        assert_eq!(marks.first_since(2 << 32), Before::Lost);
    }

    #[test]
    fn marks_are_found_however_many_came_after() {
        let mut marks = Marks::default();
        let periods = || (1..=FEW as u64 / 2).map(|number| 2 * number);
        periods().for_each(|period| assert_eq!(make(&mut marks, period, 0), Room::None));
        for period in periods() {
            let found = [period - 1, period].map(|period| marks.first_since(period));
            assert_eq!(found, [Before::Mark(VarId(period as u32)); 2]);
        }
        assert_eq!(marks.first_since(FEW as u64 + 1), Before::Lost);
    }

    /// Marks of the periods and times up to the last before it is looked again what is over. It was looked once, when a block was open
    /// since the time 5; gives what comes next, and when that was.
    fn made_while_a_block_is_open(marks: &mut Marks) -> (u64, u64) {
        let (looked, next) = (FEW as u64 + 1, 2 * FEW as u64 + 1);
        (1..next).for_each(|period| assert_eq!(make(marks, period, 5), Room::None));
        (next, looked)
    }

    #[test]
    fn what_a_block_may_have_come_before_is_kept() {
        let mut marks = Marks::default();
        let (next, looked) = made_while_a_block_is_open(&mut marks);
        assert_eq!(make(&mut marks, next, looked), Room::None);
        assert_eq!(marks.first_since(1), Before::Mark(VarId(1)));
    }

    #[test]
    fn what_is_over_is_forgotten_and_its_variables_are_used_again() {
        let mut marks = Marks::default();
        let (after, looked) = made_while_a_block_is_open(&mut marks);
        assert_eq!(marks.first_since(3), Before::Mark(VarId(3)));
        assert_eq!(make(&mut marks, after, looked + 1), Room::Own(VarId(4), T));
        assert_eq!(make(&mut marks, after + 1, 5), Room::Used(VarId(3)));
        assert_eq!([4, 5].map(|period| marks.first_since(period)), [Before::Nothing, Before::Mark(VarId(5))]);
        // Another thread has the index by now.
        let mut room = Room::None;
        marks.make(
            (after + 2, after + 2),
            ThreadId(1),
            || 5,
            |found| {
                room = found;
                VarId(0)
            },
        );
        assert_eq!(room, Room::Used(VarId(2)));
    }

    #[test]
    fn what_is_lost_is_not_taken_for_a_later_one() {
        let mut marks = Marks::default();
        for period in 1..=MOST as u64 + 1 {
            make(&mut marks, period, 0);
        }
        let quarter = MOST as u64 / 4;
        assert_eq!([1, quarter].map(|period| marks.first_since(period)), [Before::Lost; 2]);
        assert_eq!(marks.first_since(quarter + 1), Before::Mark(VarId(quarter as u32 + 1)));
    }
}
