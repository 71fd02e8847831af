//! Which transactions the running ones reach: the part of RegionTrack that finds cycles without a violated block.
//!
//! For each running transaction r and each thread s: the start of the first transaction of s that r reaches. All
//! later transactions of s are reached, too, by program order. If r reaches the running transaction of t, then r
//! reaches all that t reaches: so what t reaches is added to r once, when r reaches t for the first time.
//!
//! Like the [history](crate::history), this is a dense table for few lanes. For many lanes it is sparse, and
//! `reached_by` gives the rows in which a lane occurs: the cost of a new dependence is then proportional to the
//! transactions that it concerns, not to all that are running.

use crate::history::{Time, widen};
use crate::sparse::{EMPTY, FAN, Row, SparseRows};

/// No transaction of that thread is reached: later than every time.
const NEVER: Time = Time::MAX;

/// What the running transactions reach.
#[derive(Debug, Default)]
pub(super) struct Reach {
    /// Lanes with a running transaction, in no order.
    running: Vec<u32>,
    /// By lane: its place in `running`, or `NOWHERE`.
    place: Vec<u32>,
    /// Row r, of `width` components: the starts reached by the transaction of r, or `NEVER`. Meaningful only
    /// while r runs a transaction.
    dense: Vec<Time>,
    /// 0 if there are too many lanes for a dense table.
    width: usize,
    sparse: Option<Box<Sparse>>,
    /// A copy of a dense row.
    scratch: Vec<Time>,
}

const NOWHERE: u32 = u32::MAX;

#[derive(Debug)]
struct Sparse {
    rows: SparseRows,
    /// By lane: its row. A start is stored as `NEVER - start`, so that an earlier start is the larger number and
    /// 0 stands for `NEVER`. Empty unless the lane runs a transaction.
    row: Vec<Row>,
    /// By lane: the rows in which it occurs, as the lanes of these rows. Some may be there twice, and rows in which
    /// it does not occur any more are removed when they are met.
    reached_by: Vec<Vec<u32>>,
    /// By lane: only times from this one on are of any use to others.
    keep_from: Vec<Time>,
    /// Transactions to which something is added.
    found: Vec<u32>,
}

/// A dependence: what was done in lane `source` up to `time` comes before the event at hand, in lane `sink`.
#[derive(Clone, Copy)]
pub(super) struct Dependence {
    pub(super) source: usize,
    pub(super) time: Time,
    pub(super) sink: usize,
    /// When the source's running transaction started, if it runs one.
    pub(super) source_started: Option<Time>,
    /// When the transaction of the event at hand started.
    pub(super) sink_started: Time,
}

impl Reach {
    /// How many transactions are running.
    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    /// A transaction starts.
    #[inline]
    pub(super) fn begin(&mut self, lane: usize, start: Time) {
        self.place[lane] = self.running.len() as u32;
        self.running.push(lane as u32);
        match &mut self.sparse {
            None => self.dense[lane * self.width..(lane + 1) * self.width].fill(NEVER),
            Some(sparse) => sparse.set_keep(lane, Some(start)),
        }
    }

    /// The running transaction of a lane ends.
    #[inline]
    pub(super) fn end(&mut self, lane: usize) {
        let place = std::mem::replace(&mut self.place[lane], NOWHERE);
        self.running.swap_remove(place as usize);
        if let Some(&moved) = self.running.get(place as usize) {
            self.place[moved as usize] = place;
        }
        if let Some(sparse) = &mut self.sparse {
            sparse.rows.release(&mut sparse.row[lane]);
            sparse.set_keep(lane, None);
        }
    }

    /// Whether the running transaction of `lane` reaches what `other` did at `time`.
    #[inline]
    pub(super) fn reaches(&self, lane: usize, other: usize, time: Time) -> bool {
        match &self.sparse {
            None => self.dense[lane * self.width + other] <= time,
            Some(sparse) => sparse.start(lane, other) <= time,
        }
    }

    /// Makes room for lanes `0..count`, with rows of `width` components or, if that is 0, sparse ones.
    pub(super) fn grow(&mut self, count: usize, width: usize) {
        self.place.resize(count, NOWHERE);
        if width > 0 {
            if width != self.width {
                self.dense = widen(&self.dense, self.width.max(1), width, NEVER);
                self.width = width;
            }
            self.dense.resize(count * width, NEVER);
            return;
        }
        let Reach { sparse, running, dense, width, .. } = self;
        let sparse = sparse.get_or_insert_with(|| {
            let mut sparse = Box::new(Sparse::new(count));
            for &r in running.iter() {
                let row = &dense[r as usize * *width..(r as usize + 1) * *width];
                for (s, &start) in row.iter().enumerate().filter(|(_, start)| **start != NEVER) {
                    sparse.add(r, s, start);
                }
            }
            (*dense, *width) = (Vec::new(), 0);
            sparse
        });
        sparse.grow(count);
    }

    /// Whatever reaches the source of a new dependence also reaches the transaction of its sink, and all that this reaches.
    pub(super) fn spread(&mut self, new: Dependence, sink_runs: bool) {
        let from_running = new.source_started.is_some_and(|start| start <= new.time);
        if from_running && self.reaches(new.source, new.sink, new.sink_started) {
            // The sink is reached already by the source, and so by all that reach the source.
            return;
        }
        let Reach { running, dense, width, sparse, scratch, .. } = self;
        if let Some(sparse) = sparse {
            sparse.spread(new, sink_runs);
            return;
        }
        let (width, t, s) = (*width, new.sink, new.source);
        scratch.clear();
        for &r in running.iter() {
            let r = r as usize;
            let reaches = if r == s { from_running } else { dense[r * width + s] <= new.time };
            // See the head of the file for those that reach the sink already.
            if !reaches || r == t || dense[r * width + t] <= new.sink_started {
                continue;
            }
            if scratch.is_empty() {
                match sink_runs {
                    true => scratch.extend_from_slice(&dense[t * width..(t + 1) * width]),
                    false => scratch.resize(width, NEVER),
                }
                scratch[t] = new.sink_started;
            }
            for (mine, theirs) in dense[r * width..(r + 1) * width].iter_mut().zip(&*scratch) {
                *mine = (*mine).min(*theirs);
            }
        }
    }

    /// How many times are kept here, roughly.
    pub(super) fn words(&self) -> usize {
        self.sparse.as_ref().map_or(self.dense.len(), |sparse| sparse.rows.words())
    }

    /// Calls `visit` with the lane of every time that is kept here, and replaces the time.
    pub(super) fn visit(&mut self, visit: &mut dyn FnMut(usize, &mut Time)) {
        match &mut self.sparse {
            None => {
                for &r in &self.running {
                    let row = &mut self.dense[r as usize * self.width..(r as usize + 1) * self.width];
                    for (s, time) in row.iter_mut().enumerate().filter(|(_, time)| **time != NEVER) {
                        visit(s, time);
                    }
                }
            }
            Some(sparse) => {
                let Sparse { rows, row, .. } = &mut **sparse;
                for &row in row.iter() {
                    rows.replace(row, &mut |s, stored| {
                        let mut time = NEVER - stored;
                        visit(s, &mut time);
                        NEVER - time
                    });
                }
            }
        }
    }

    /// By lane: only times from these on are of any use to others, since a running transaction has them or reaches
    /// them. (Knowing others spares work at best.) Nothing if rows are dense.
    pub(super) fn keep_from(&self) -> &[Time] {
        self.sparse.as_ref().map_or(&[], |sparse| &sparse.keep_from)
    }

    /// Whatever is known of a lane is of use from now on, until a transaction begins or ends in it.
    pub(super) fn keep_all(&mut self, lane: usize) {
        if let Some(sparse) = &mut self.sparse {
            sparse.keep_from[lane] = 0;
        }
    }

    /// Finds out again from which times on lanes are of use, given the start of each lane's running transaction.
    /// `free` lanes are kept.
    pub(super) fn renew(
        &mut self,
        started: impl Fn(usize) -> Option<Time>,
        free: impl Iterator<Item = usize>,
    ) {
        let Some(sparse) = &mut self.sparse else { return };
        for lane in 0..sparse.row.len() {
            sparse.clean(lane);
            sparse.set_keep(lane, started(lane));
        }
        let keep_from = &mut sparse.keep_from;
        free.for_each(|lane| keep_from[lane] = 0);
    }
}

impl Sparse {
    fn new(count: usize) -> Self {
        let mut sparse = Sparse {
            rows: SparseRows::new(count),
            row: Vec::new(),
            reached_by: Vec::new(),
            keep_from: Vec::new(),
            found: Vec::new(),
        };
        sparse.grow(count);
        // Until the next `renew`.
        sparse.keep_from.fill(0);
        sparse
    }

    fn grow(&mut self, count: usize) {
        while !self.rows.fits(count) {
            self.rows.deepen(self.row.iter_mut());
        }
        self.row.resize(count, EMPTY);
        self.reached_by.resize(count, Vec::new());
        self.keep_from.resize(count.next_multiple_of(FAN), NEVER);
    }

    fn start(&self, r: usize, s: usize) -> Time {
        NEVER - self.rows.get(self.row[r], s)
    }

    fn set_keep(&mut self, lane: usize, started: Option<Time>) {
        self.keep_from[lane] = if self.reached_by[lane].is_empty() { started.unwrap_or(NEVER) } else { 0 };
    }

    fn add(&mut self, r: u32, s: usize, start: Time) {
        if self.rows.raise(&mut self.row[r as usize], s, NEVER - start) {
            self.occurs(r, s);
        }
    }

    /// Lane `s` occurs in row `r` now.
    fn occurs(&mut self, r: u32, s: usize) {
        self.keep_from[s] = 0;
        if self.reached_by[s].len() == self.reached_by[s].capacity() {
            self.clean(s);
        }
        self.reached_by[s].push(r);
    }

    /// Leaves the rows in which lane `s` occurs, each once.
    fn clean(&mut self, s: usize) {
        let mut reached_by = std::mem::take(&mut self.reached_by[s]);
        reached_by.sort_unstable();
        reached_by.dedup();
        reached_by.retain(|&r| self.start(r as usize, s) != NEVER);
        reached_by.shrink_to(2 * reached_by.len());
        self.reached_by[s] = reached_by;
    }

    fn spread(&mut self, new: Dependence, sink_runs: bool) {
        let (t, s) = (new.sink, new.source);
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        if new.source_started.is_some_and(|start| start <= new.time) {
            found.push(s as u32);
        }
        let mut reached_by = std::mem::take(&mut self.reached_by[s]);
        let before = reached_by.len();
        reached_by.retain(|&r| {
            let start = self.start(r as usize, s);
            if start <= new.time {
                found.push(r);
            }
            start != NEVER
        });
        let is_empty = reached_by.is_empty();
        self.reached_by[s] = reached_by;
        if is_empty && before > 0 {
            self.set_keep(s, new.source_started);
        }
        for &r in &found {
            if r as usize == t || self.start(r as usize, t) <= new.sink_started {
                continue;
            }
            self.add(r, t, new.sink_started);
            if sink_runs {
                let mut row = self.row[r as usize];
                let mut lanes = Vec::new();
                self.rows.raise_all(&mut row, self.row[t], &mut |lane| lanes.push(lane));
                self.row[r as usize] = row;
                lanes.into_iter().for_each(|lane| self.occurs(r, lane));
            }
        }
        self.found = found;
    }
}
