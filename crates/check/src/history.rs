//! What each thread knew, when: the vector clocks of the past, in memory bounded by what is still
//! referred to.
//!
//! Every thread counts its own *times*. An *epoch* (thread, time) stands for "what that thread had
//! done by then", and [`History::known_at`] gives each component of the vector clock that goes with it. Consecutive times
//! between which the thread learnt nothing share one row.
//!
//! Up to [`DENSE_LANES`] threads, a row is a vector with a component per thread. With more threads, rows are
//! sparse and share what they have in common ([`SparseRows`]), and components that the caller says nobody will
//! ask for are dropped: a row is as large as what is live and communicates.
//!
//! Rows are only ever added, until [`History::compact`]: given every time that is still named
//! somewhere, it drops the rest and renumbers the times of each thread densely, keeping their order.
//! That bounds memory by live state, and times never run out however long the trace.

use crate::sparse::{EMPTY, FAN, NOT_COPIED, Row, SparseRows};

/// A time of a thread; 0 is before its first event.
pub(crate) type Time = u32;

/// How many threads have rows with a component for each. Measured with `examples/many_threads.rs`.
const DENSE_LANES: usize = 64;

/// The clocks of all threads, past and present.
#[derive(Debug)]
pub(crate) struct History {
    /// Components per row: a power of two, at least the number of threads. 0 if rows are sparse.
    width: usize,
    /// More threads than this have sparse rows.
    dense_lanes: usize,
    threads: Vec<Thread>,
    sparse: SparseRows,
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
    /// A thread knows all of itself: its own component is always `ALL`. Empty if rows are sparse.
    rows: Vec<Time>,
    /// The row of each time: its place in `rows`, or its number in `sparse`. As long as `now + 1`.
    row_of: Vec<u32>,
    /// The sparse row that the thread joined last: all that is in it, the thread knows.
    joined: Row,
    /// The current time has been given out, so its row must not change any more.
    used: bool,
}

/// Later than every time.
const ALL: Time = Time::MAX;

impl Thread {
    fn new(thread: usize, width: usize) -> Self {
        let mut rows = vec![0; width];
        rows[thread] = ALL;
        Thread { rows, row_of: vec![0, 0], joined: EMPTY, used: false }
    }

    fn sparse() -> Self {
        Thread { rows: Vec::new(), row_of: vec![EMPTY; 2], joined: EMPTY, used: false }
    }

    /// Enters a new time if the current one has been given out. Whether it did.
    #[inline(always)]
    fn advance(&mut self) -> bool {
        let advances = std::mem::take(&mut self.used);
        if advances {
            self.row_of.push(self.row_of[self.row_of.len() - 1]);
        }
        advances
    }
}

/// Words below which compacting is not worth the walk: 256 KiB, so that the history stays in the cache.
const LEAST_BUDGET: usize = 1 << 16;

impl History {
    pub(crate) fn new() -> Self {
        History::with(LEAST_BUDGET, DENSE_LANES)
    }

    /// Compacts as soon as `words` are in use, and has sparse rows with more than `dense_lanes` threads.
    pub(crate) fn with(words: usize, dense_lanes: usize) -> Self {
        History {
            width: 4,
            dense_lanes,
            threads: Vec::new(),
            sparse: SparseRows::new(FAN),
            words: 0,
            budget: words,
            least_budget: words,
            ranks: Vec::new(),
            subregions: 0,
            compactions: 0,
        }
    }

    /// Components per row, none if rows are sparse.
    #[inline(always)]
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Words in all rows and times.
    #[cfg(test)]
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// Makes room for threads `0..count`. [`History::width`] may be another one afterwards.
    pub(crate) fn grow(&mut self, count: usize) {
        if self.width > 0 && count > self.dense_lanes {
            self.make_sparse(count);
        } else if self.width > 0 && count > self.width {
            let width = count.next_power_of_two();
            for thread in &mut self.threads {
                thread.rows = widen(&thread.rows, self.width, width, 0);
            }
            self.words = self.threads.iter().map(|t| t.rows.len() + t.row_of.len()).sum();
            self.width = width;
        }
        while self.width == 0 && !self.sparse.fits(count) {
            self.sparse.deepen(self.threads.iter_mut().flat_map(|thread| &mut thread.row_of));
            self.threads.iter_mut().for_each(|thread| thread.joined = EMPTY);
        }
        for thread in self.threads.len()..count {
            let thread = if self.width > 0 { Thread::new(thread, self.width) } else { Thread::sparse() };
            self.words += thread.rows.len() + thread.row_of.len();
            self.threads.push(thread);
        }
        if self.width > 0 {
            self.budget = self.budget.max(2 * self.words);
        }
    }

    #[cold]
    fn make_sparse(&mut self, count: usize) {
        self.sparse = SparseRows::new(count);
        for (lane, thread) in self.threads.iter_mut().enumerate() {
            let rows = std::mem::take(&mut thread.rows);
            let numbers: Vec<Row> = (rows.chunks_exact(self.width))
                .map(|row| {
                    let others = row.iter().enumerate().filter(|(i, time)| *i != lane && **time != 0);
                    others.fold(EMPTY, |row, (i, &time)| self.sparse.with(row, i, time))
                })
                .collect();
            thread.row_of.iter_mut().for_each(|row| *row = numbers[*row as usize]);
        }
        self.width = 0;
        self.words = self.sparse.words() + self.threads.iter().map(|t| t.row_of.len()).sum::<usize>();
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
        if self.threads[thread].advance() {
            self.words += 1;
            self.subregions += 1;
        }
    }

    /// What `thread` knows of `other` now; all of itself. Nothing if there is no such other thread.
    #[inline(always)]
    pub(crate) fn known(&self, thread: usize, other: usize) -> Option<Time> {
        if self.width == 0 {
            return self.known_sparse(thread, other);
        }
        let rows = &self.threads[thread].rows;
        rows[rows.len() - self.width..].get(other).copied()
    }

    fn known_sparse(&self, thread: usize, other: usize) -> Option<Time> {
        if thread == other {
            return Some(ALL);
        }
        let row_of = &self.threads[thread].row_of;
        (other < self.threads.len()).then(|| self.sparse.get(row_of[row_of.len() - 1], other))
    }

    /// For sparse rows: whether all that `other` knew at `time` is known to `thread`, as far as that is cheap to
    /// tell.
    #[inline]
    pub(crate) fn knows_row(&self, thread: usize, other: usize, time: Time) -> bool {
        let row = self.threads[other].row_of[time as usize];
        let thread = &self.threads[thread];
        row == EMPTY || row == thread.joined || row == thread.row_of[thread.row_of.len() - 1]
    }

    /// What `thread` knew at `time` of `other`, another thread.
    #[inline]
    pub(crate) fn known_at(&self, thread: usize, time: Time, other: usize) -> Time {
        let thread = &self.threads[thread];
        let row = thread.row_of[time as usize];
        if self.width == 0 {
            return self.sparse.get(row, other);
        }
        thread.rows[row as usize * self.width + other]
    }

    /// `thread` learns what `other` knew at `time`, and enters a time that was never stored before. For dense
    /// rows.
    pub(crate) fn learn(&mut self, thread: usize, other: usize, time: Time) {
        debug_assert_ne!(thread, other);
        let width = self.width;
        let [learner, teacher] = self.threads.get_disjoint_mut([thread, other]).expect("two threads");
        if learner.advance() {
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

    /// The same for sparse rows. Of every thread, only times from `keep_from` on are kept. If `thread` learns
    /// nothing that is kept, it may stay at its time.
    pub(crate) fn learn_sparse(&mut self, thread: usize, other: usize, time: Time, keep_from: &[Time]) {
        let theirs = self.threads[other].row_of[time as usize];
        let learner = &mut self.threads[thread];
        let mine = learner.row_of[learner.row_of.len() - 1];
        let before = self.sparse.words();
        let mut row = mine;
        if theirs != learner.joined {
            row = self.sparse.joined(mine, theirs, keep_from);
            learner.joined = theirs;
        }
        if time >= keep_from[other] && self.sparse.get(row, other) < time {
            row = self.sparse.with(row, other, time);
        }
        self.words += self.sparse.words() - before;
        if row != mine {
            if learner.advance() {
                self.words += 1;
                self.subregions += 1;
            }
            let now = learner.row_of.len() - 1;
            learner.row_of[now] = row;
        }
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
    /// `walk` is what that costs, roughly, in words. For sparse rows, only times from `keep_from` on are kept of
    /// what a thread knows of others.
    pub(crate) fn compact(
        &mut self,
        walk: usize,
        keep_from: &[Time],
        mut visit: impl FnMut(&mut dyn FnMut(usize, &mut Time)),
    ) {
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
        if self.width == 0 {
            self.keep_sparse(&rank, keep_from);
        } else {
            for (thread, ranks) in self.threads.iter_mut().zip(&rank) {
                thread.keep(self.width, ranks, &rank);
            }
        }
        for thread in &mut self.threads {
            thread.rows.shrink_to(room.max(2 * thread.rows.len()));
            thread.row_of.shrink_to(room.max(2 * thread.row_of.len()));
        }
        rank.iter_mut().for_each(|ranks| ranks.shrink_to(room));
        self.ranks = rank;
        self.words = self.threads.iter().map(|t| t.rows.len() + t.row_of.len()).sum();
        if self.width == 0 {
            self.words += self.sparse.words();
        }
        self.budget = self.least_budget.max(2 * self.words + walk);
        self.compactions += 1;
    }

    /// Keeps the times at which `ranks` step up, and the sparse rows they need.
    fn keep_sparse(&mut self, ranks: &[Vec<Time>], keep_from: &[Time]) {
        let old = std::mem::replace(&mut self.sparse, SparseRows::new(FAN));
        let mut new = old.emptied();
        let mut copied = vec![NOT_COPIED; old.len()];
        let renumbered = |lane: usize, time: Time| match keep_from.get(lane) {
            Some(&keep) if time >= keep => ranks[lane][time as usize],
            _ => 0,
        };
        for (thread, ranks) in self.threads.iter_mut().zip(ranks) {
            let mut times = 1;
            thread.row_of[0] = EMPTY;
            for time in 1..ranks.len() {
                if ranks[time] != ranks[time - 1] {
                    let row = thread.row_of[time];
                    thread.row_of[times] = old.copy(row, &mut new, &mut copied, &renumbered);
                    times += 1;
                }
            }
            thread.row_of.truncate(times);
            thread.joined = EMPTY;
        }
        self.sparse = new;
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
