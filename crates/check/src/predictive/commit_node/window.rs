//! What can run at the same time as a period, as ranges of units: one per thread.
//!
//! The units of a thread have growing ids, and the periods that are concurrent with a given one are
//! consecutive, so a range of ids says it all. (Ids in between that belong to other threads do no harm:
//! whoever asks has a unit of that thread in hand.)

use std::ops::Range;

use atomvet_trace::ThreadId;

use crate::predictive::Execution;
use crate::predictive::periods::PeriodId;

/// Where the periods of an execution are among its units.
#[derive(Debug)]
pub(in crate::predictive) struct Spread {
    /// Per period its first and its last unit.
    ends: Vec<(u32, u32)>,
    /// Per thread, its units.
    by_thread: Vec<Vec<u32>>,
}

/// Per thread, the units that are concurrent with something.
#[derive(Debug, Default, Clone)]
pub(in crate::predictive) struct Window {
    /// Ids of units; empty if none is.
    pub(in crate::predictive) units: Vec<Range<u32>>,
    /// The same as numbers among the periods of that thread.
    pub(in crate::predictive) periods: Vec<Range<u32>>,
}

impl Spread {
    pub(in crate::predictive) fn new(execution: &Execution) -> Spread {
        let mut ends = vec![(u32::MAX, 0); execution.periods.len()];
        let mut by_thread = vec![Vec::new(); execution.periods.threads()];
        for (id, unit) in execution.units() {
            by_thread[unit.thread.index()].push(id.0);
            let (first, last) = &mut ends[unit.period.0 as usize];
            *first = (*first).min(id.0);
            *last = id.0;
        }
        Spread { ends, by_thread }
    }

    /// The last unit of a period.
    pub(in crate::predictive) fn last(&self, period: PeriodId) -> u32 {
        self.ends[period.0 as usize].1
    }

    /// The units of a period, in order.
    pub(in crate::predictive) fn of_period(&self, execution: &Execution, period: PeriodId) -> &[u32] {
        let (first, last) = self.ends[period.0 as usize];
        let own = &self.by_thread[execution.periods.thread(period).index()];
        &own[own.partition_point(|&unit| unit < first)..own.partition_point(|&unit| unit <= last)]
    }

    /// The units of some consecutive periods of a thread.
    pub(in crate::predictive) fn units(
        &self,
        execution: &Execution,
        thread: usize,
        periods: &Range<u32>,
    ) -> Range<u32> {
        if periods.is_empty() {
            return 0..0;
        }
        let own = execution.periods.of_thread(ThreadId(thread as u32));
        let (first, last) = (own[periods.start as usize], own[periods.end as usize - 1]);
        self.ends[first.0 as usize].0..self.ends[last.0 as usize].1 + 1
    }

    /// What is concurrent with a period.
    pub(in crate::predictive) fn window(&self, execution: &Execution, period: PeriodId) -> Window {
        let mut window = Window::default();
        for thread in 0..execution.periods.threads() {
            let periods = execution.periods.concurrent_with(period, ThreadId(thread as u32));
            window.units.push(self.units(execution, thread, &periods));
            window.periods.push(periods);
        }
        window
    }
}
