//! What cannot run at the same time because of fork, join and barriers.
//!
//! Each of these ends a *period* of its thread. A period is before another if it must end before the
//! other starts, in every interleaving (TSE'06 §6, PPoPP'06 §7.4; vector clocks instead of their graphs).
//! A question costs O(1); memory is one clock per period, threads wide.

use std::ops::Range;

use atomvet_trace::ThreadId;

/// A period of a thread, dense over the execution.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PeriodId(pub u32);

#[derive(Debug)]
struct Period {
    thread: ThreadId,
    /// Its number among the periods of its thread.
    index: u32,
    /// Per thread, how many of its periods are before this one. Missing entries are 0; the own entry is
    /// `index`.
    clock: Box<[u32]>,
}

/// All periods of an execution.
#[derive(Debug, Default)]
pub struct Periods {
    periods: Vec<Period>,
    /// Per thread, its periods in order.
    by_thread: Vec<Vec<PeriodId>>,
}

impl Periods {
    /// A new period of a thread starts, after so many periods of each thread.
    pub(super) fn start(&mut self, thread: ThreadId, clock: &[u32]) -> PeriodId {
        if thread.index() >= self.by_thread.len() {
            self.by_thread.resize_with(thread.index() + 1, Vec::new);
        }
        let own = &mut self.by_thread[thread.index()];
        let id = PeriodId(self.periods.len() as u32);
        let index = own.len() as u32;
        own.push(id);
        self.periods.push(Period { thread, index, clock: clock.into() });
        id
    }

    /// How many there are; their ids are dense.
    pub fn len(&self) -> usize {
        self.periods.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.periods.is_empty()
    }

    /// The periods of a thread, in order.
    pub fn of_thread(&self, thread: ThreadId) -> &[PeriodId] {
        self.by_thread.get(thread.index()).map_or(&[], Vec::as_slice)
    }

    /// How many threads there are; some may have no period.
    pub fn threads(&self) -> usize {
        self.by_thread.len()
    }

    /// Whose period it is.
    #[inline]
    pub fn thread(&self, period: PeriodId) -> ThreadId {
        self.periods[period.0 as usize].thread
    }

    /// Its number among the periods of its thread.
    #[inline]
    pub fn index(&self, period: PeriodId) -> u32 {
        self.periods[period.0 as usize].index
    }

    /// Whether `first` ends before `second` starts in every interleaving. A period is not before itself.
    #[inline]
    pub fn before(&self, first: PeriodId, second: PeriodId) -> bool {
        let Period { thread, index, .. } = self.periods[first.0 as usize];
        let second = &self.periods[second.0 as usize];
        if second.thread == thread {
            return index < second.index;
        }
        second.clock.get(thread.index()).is_some_and(|&ended| index < ended)
    }

    /// Whether two periods are of different threads and neither is before the other.
    #[inline]
    pub fn concurrent(&self, one: PeriodId, other: PeriodId) -> bool {
        self.thread(one) != self.thread(other) && !self.before(one, other) && !self.before(other, one)
    }

    /// The periods of another thread that are concurrent with this one, as numbers among its periods: those
    /// before it come first, those after it last.
    pub fn concurrent_with(&self, period: PeriodId, thread: ThreadId) -> Range<u32> {
        let periods = self.of_thread(thread);
        if self.thread(period) == thread {
            return 0..0;
        }
        let clock = &self.periods[period.0 as usize].clock;
        let first = clock.get(thread.index()).copied().unwrap_or(0);
        let last = periods.partition_point(|&other| !self.before(period, other)) as u32;
        first..last.max(first)
    }

    /// The first period of a thread that is after this one, as a number among its periods.
    pub fn first_after(&self, period: PeriodId, thread: ThreadId) -> u32 {
        self.of_thread(thread).partition_point(|&other| !self.before(period, other)) as u32
    }
}
