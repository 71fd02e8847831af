//! What each thread knew, when: the vector clocks of the past, in memory bounded by what is still
//! referred to.
//!
//! Every thread counts its own *times*. An *epoch* (thread, time) stands for "what that thread had
//! done by then", and [`History::clock`] gives the vector clock that goes with it. Consecutive times
//! between which the thread learnt nothing share one row.
//!
//! Rows are only ever added, until [`History::compact`]: given every time that is still named
//! somewhere, it drops the rest and renumbers the times of each thread densely, keeping their order.
//! That bounds memory by live state, and times never run out however long the trace.

/// A time of a thread; 0 is before its first event.
pub(crate) type Time = u32;

/// The clocks of all threads, past and present.
#[derive(Debug)]
pub(crate) struct History {
    /// Components per row: a power of two, at least the number of threads.
    width: usize,
    threads: Vec<Thread>,
    /// Words in all rows and times; `compact` is due when it exceeds `budget`.
    words: usize,
    budget: usize,
    least_budget: usize,
    /// What [`History::compact`] works with, per thread. Kept for its memory.
    ranks: Vec<Vec<Time>>,
    /// Times given out and left behind: the subregions of the RegionTrack paper.
    pub(crate) subregions: u64,
    /// How often `compact` ran.
    pub(crate) compactions: u64,
}

#[derive(Debug, Clone)]
struct Thread {
    /// Rows of `width` components, oldest first, at least one: the last is what the thread knows now.
    /// A thread knows all of itself: its own component is always `ALL`.
    rows: Vec<Time>,
    /// The row of each time. As long as `now + 1`.
    row_of: Vec<u32>,
    /// The current time has been given out, so its row must not change any more.
    used: bool,
}

/// Later than every time.
const ALL: Time = Time::MAX;

impl Thread {
    fn new(thread: usize, width: usize) -> Self {
        let mut rows = vec![0; width];
        rows[thread] = ALL;
        Thread { rows, row_of: vec![0, 0], used: false }
    }
}

/// Words below which compacting is not worth the walk: 256 KiB, so that the history stays in the cache.
const LEAST_BUDGET: usize = 1 << 16;

impl History {
    pub(crate) fn new() -> Self {
        History::with_budget(LEAST_BUDGET)
    }

    /// For tests: compacts as soon as `words` are in use.
    pub(crate) fn with_budget(words: usize) -> Self {
        History {
            width: 4,
            threads: Vec::new(),
            words: 0,
            budget: words,
            least_budget: words,
            ranks: Vec::new(),
            subregions: 0,
            compactions: 0,
        }
    }

    /// Components per row.
    #[inline(always)]
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Makes room for threads `0..count`; true if rows got wider.
    pub(crate) fn grow(&mut self, count: usize) -> bool {
        let wider = count > self.width;
        if wider {
            let width = count.next_power_of_two();
            for thread in &mut self.threads {
                thread.rows = widen(&thread.rows, self.width, width, 0);
            }
            self.width = width;
        }
        self.threads.extend((self.threads.len()..count).map(|thread| Thread::new(thread, self.width)));
        self.words = self.threads.iter().map(|t| t.rows.len() + t.row_of.len()).sum();
        self.budget = self.budget.max(2 * self.words);
        wider
    }

    /// The current time of a thread, not to be stored in an epoch.
    #[inline(always)]
    pub(crate) fn now(&self, thread: usize) -> Time {
        (self.threads[thread].row_of.len() - 1) as Time
    }

    /// The current time of a thread, to be stored: what it knows at that time is now fixed.
    #[inline(always)]
    pub(crate) fn stamp(&mut self, thread: usize) -> Time {
        let thread = &mut self.threads[thread];
        thread.used = true;
        (thread.row_of.len() - 1) as Time
    }

    /// Enters a time that was never stored before.
    #[inline]
    pub(crate) fn advance(&mut self, thread: usize) {
        let thread = &mut self.threads[thread];
        if thread.used {
            thread.used = false;
            thread.row_of.push(thread.row_of[thread.row_of.len() - 1]);
            self.words += 1;
            self.subregions += 1;
        }
    }

    /// What `thread` knows of each thread now; all of itself.
    #[inline(always)]
    pub(crate) fn knowledge(&self, thread: usize) -> &[Time] {
        let rows = &self.threads[thread].rows;
        &rows[rows.len() - self.width..]
    }

    /// What `thread` knew at `time` of the other threads.
    #[inline]
    pub(crate) fn clock(&self, thread: usize, time: Time) -> &[Time] {
        let thread = &self.threads[thread];
        let start = thread.row_of[time as usize] as usize * self.width;
        &thread.rows[start..start + self.width]
    }

    /// `thread` learns what `other` knew at `time`, and enters a time that was never stored before.
    pub(crate) fn learn(&mut self, thread: usize, other: usize, time: Time) {
        debug_assert_ne!(thread, other);
        let width = self.width;
        let [learner, teacher] = self.threads.get_disjoint_mut([thread, other]).expect("two threads");
        if learner.used {
            learner.used = false;
            learner.row_of.push(learner.row_of[learner.row_of.len() - 1]);
            self.words += 1;
            self.subregions += 1;
        }
        let mut last = learner.rows.len() - width;
        let now = learner.row_of.len() - 1;
        if learner.row_of[now] == learner.row_of[now - 1] {
            // Earlier times go by the last row: it must stay as it is.
            learner.rows.extend_from_within(last..);
            last += width;
            learner.row_of[now] = (last / width) as u32;
            self.words += width;
        }
        let start = teacher.row_of[time as usize] as usize * width;
        let known = &teacher.rows[start..start + width];
        let row = &mut learner.rows[last..last + width];
        let of_other = row[other].max(time);
        for (mine, theirs) in row.iter_mut().zip(known) {
            *mine = (*mine).max(*theirs);
        }
        row[other] = of_other;
        row[thread] = ALL;
    }

    /// Whether so much has piled up that [`History::compact`] should be run.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.words > self.budget
    }

    /// Forgets every time that `visit` does not name, and renumbers the others.
    ///
    /// `visit` must call its argument on every stored (thread, time), in any order and as often as it
    /// likes; it is run twice, and on the second run the times are replaced by their new numbers.
    /// `walk` is what that costs, roughly, in words.
    pub(crate) fn compact(&mut self, walk: usize, mut visit: impl FnMut(&mut dyn FnMut(usize, &mut Time))) {
        // rank[t][n]: first whether time n of t is named; then how many named times are <= n, which
        // is n's new number if it is named, and otherwise keeps every comparison with named ones.
        let mut rank = std::mem::take(&mut self.ranks);
        rank.resize_with(self.threads.len(), Vec::new);
        for (ranks, thread) in rank.iter_mut().zip(&self.threads) {
            ranks.clear();
            ranks.resize(thread.row_of.len(), 0);
        }
        visit(&mut |thread, time| rank[thread][*time as usize] = 1);
        for ranks in &mut rank {
            ranks[0] = 0;
            *ranks.last_mut().expect("time 0 at least") = 1;
            let mut sum = 0;
            for r in ranks {
                sum += *r;
                *r = sum;
            }
        }
        visit(&mut |thread, time| *time = rank[thread][*time as usize]);
        // As much room as all threads together need again soon. To give it back and take it again each time would be most of
        // the work.
        let room = self.least_budget / self.threads.len().max(1);
        for (thread, ranks) in self.threads.iter_mut().zip(&rank) {
            thread.keep(self.width, ranks, &rank);
            thread.rows.shrink_to(room.max(2 * thread.rows.len()));
            thread.row_of.shrink_to(room.max(2 * thread.row_of.len()));
        }
        rank.iter_mut().for_each(|ranks| ranks.shrink_to(room));
        self.ranks = rank;
        self.words = self.threads.iter().map(|t| t.rows.len() + t.row_of.len()).sum();
        self.budget = self.least_budget.max(2 * self.words + walk);
        self.compactions += 1;
    }
}

impl Thread {
    /// Keeps the times at which `ranks` steps up, and the rows they need, in place.
    fn keep(&mut self, width: usize, ranks: &[Time], all: &[Vec<Time>]) {
        let (mut times, mut kept, mut last_row) = (1, 0, None);
        self.row_of[0] = 0;
        for time in 1..ranks.len() {
            if ranks[time] == ranks[time - 1] {
                continue;
            }
            let row = self.row_of[time] as usize;
            if last_row != Some(row) {
                last_row = Some(row);
                self.rows.copy_within(row * width..(row + 1) * width, kept * width);
                for (component, ranks) in self.rows[kept * width..].iter_mut().take(width).zip(all) {
                    if *component != ALL {
                        *component = ranks[*component as usize];
                    }
                }
                kept += 1;
            }
            self.row_of[times] = (kept - 1) as u32;
            times += 1;
        }
        self.rows.truncate(kept * width);
        self.row_of.truncate(times);
    }
}

/// Rows of `width` components made `wider`, new components filled with `fill`.
pub(crate) fn widen(rows: &[Time], width: usize, wider: usize, fill: Time) -> Vec<Time> {
    let mut out = Vec::with_capacity(rows.len() / width * wider);
    for row in rows.chunks_exact(width) {
        out.extend_from_slice(row);
        out.resize(out.len() + wider - width, fill);
    }
    out
}
