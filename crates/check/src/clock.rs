//! Vector clocks: one time per thread, joined component by component.
//!
//! A component that a clock does not have is 0, so that threads may appear at any time. Two forms:
//! [`Clock`], a value of its own, for code that wants to be simple; and [`Rows`], many clocks as
//! the rows of one table, for code that wants to be fast. Times are 64 bits wide: a thread that
//! advanced its time a billion times a second would need centuries to reach the end.

/// A vector clock with as many components as it ever needed.
#[derive(Clone, Default, Debug)]
pub(crate) struct Clock(Vec<u64>);

impl Clock {
    /// The time of a thread, as far as this clock knows.
    pub(crate) fn get(&self, thread: usize) -> u64 {
        self.0.get(thread).copied().unwrap_or(0)
    }

    /// Advances the time of a thread by one.
    pub(crate) fn increment(&mut self, thread: usize) {
        if thread >= self.0.len() {
            self.0.resize(thread + 1, 0);
        }
        self.0[thread] += 1;
    }

    /// Whether `later` knows all that this clock knows (⊑).
    pub(crate) fn is_before(&self, later: &Clock) -> bool {
        self.0.iter().enumerate().all(|(thread, &time)| time <= later.get(thread))
    }

    /// Learns all that `other` knows (⊔).
    pub(crate) fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, &theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = theirs.max(*mine);
        }
    }

    /// The memory that its components take.
    pub(crate) fn bytes(&self) -> u64 {
        size_of_val(self.0.as_slice()) as u64
    }
}

/// A row is a whole number of lanes, so that loops over rows have no ragged end.
const LANE: usize = 8;

/// Vector clocks as the rows of a table. Rows are taken and given back; all have the same width.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Row `i` is `cells[i * width..][..width]`.
    cells: Vec<u64>,
    /// Components per row: a power of two, at least [`LANE`].
    width: usize,
    /// Rows that nobody holds.
    free: Vec<u32>,
}

impl Default for Rows {
    fn default() -> Self {
        Rows { cells: Vec::new(), width: LANE, free: Vec::new() }
    }
}

impl Rows {
    /// How many components each row has.
    #[inline(always)]
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// How many rows there are, free ones included.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.cells.len() / self.width
    }

    /// How many rows somebody holds.
    #[inline]
    pub(crate) fn held(&self) -> usize {
        self.len() - self.free.len()
    }

    /// The memory that the rows take.
    pub(crate) fn bytes(&self) -> u64 {
        size_of_val(self.cells.as_slice()) as u64
    }

    /// A clock.
    #[inline(always)]
    pub(crate) fn row(&self, row: u32) -> &[u64] {
        &self.cells[row as usize * self.width..][..self.width]
    }

    /// A clock, to be changed.
    #[inline(always)]
    pub(crate) fn row_mut(&mut self, row: u32) -> &mut [u64] {
        &mut self.cells[row as usize * self.width..][..self.width]
    }

    /// Two clocks, the first to be changed.
    #[inline]
    pub(crate) fn two(&mut self, changed: u32, other: u32) -> (&mut [u64], &[u64]) {
        let (changed, other, width) = (changed as usize, other as usize, self.width);
        if changed < other {
            let (low, high) = self.cells.split_at_mut(other * width);
            (&mut low[changed * width..][..width], &high[..width])
        } else {
            let (low, high) = self.cells.split_at_mut(changed * width);
            (&mut high[..width], &low[other * width..][..width])
        }
    }

    /// One component of a clock.
    #[inline(always)]
    pub(crate) fn get(&self, row: u32, thread: usize) -> u64 {
        self.row(row)[thread]
    }

    /// Hands out a row with unspecified contents.
    #[inline]
    pub(crate) fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| self.add())
    }

    /// A new row of zeros at the end, as if it was held from the start.
    #[cold]
    pub(crate) fn add(&mut self) -> u32 {
        let row = self.len() as u32;
        self.cells.resize(self.cells.len() + self.width, 0);
        row
    }

    /// Takes back every row that is not marked. `marked` has one entry per row.
    pub(crate) fn keep_only(&mut self, marked: &[bool]) {
        self.free.clear();
        // Low rows are handed out first, which keeps what is in use close together.
        self.free.extend((0..self.len() as u32).rev().filter(|&row| !marked[row as usize]));
    }

    /// Makes room for `threads` components in every row. Costs a copy of the table, so it
    /// doubles.
    pub(crate) fn widen(&mut self, threads: usize) {
        if threads <= self.width {
            return;
        }
        let width = threads.next_power_of_two();
        let mut cells = vec![0; self.len() * width];
        for (new, old) in cells.chunks_exact_mut(width).zip(self.cells.chunks_exact(self.width)) {
            new[..self.width].copy_from_slice(old);
        }
        (self.cells, self.width) = (cells, width);
    }
}

/// `to := to ⊔ from`, for rows of one width. Whether that changed `to`.
#[inline]
pub(crate) fn join(to: &mut [u64], from: &[u64]) -> bool {
    let mut changed = 0;
    for (to, from) in lanes_mut(to).iter_mut().zip(lanes(from)) {
        for i in 0..LANE {
            let joined = to[i].max(from[i]);
            changed |= joined ^ to[i];
            to[i] = joined;
        }
    }
    changed != 0
}

/// `to := to ⊔ from`, and `passed(i)` for each component that came from below `bar[i]` and is not
/// below it now.
#[inline]
pub(crate) fn join_over(to: &mut [u64], from: &[u64], bar: &[u64], mut passed: impl FnMut(usize)) {
    for (lane, ((to, from), bar)) in lanes_mut(to).iter_mut().zip(lanes(from)).zip(lanes(bar)).enumerate() {
        let mut over = 0;
        for i in 0..LANE {
            let joined = to[i].max(from[i]);
            over |= u32::from((to[i] < bar[i]) & (joined >= bar[i])) << i;
            to[i] = joined;
        }
        each_bit(over, |bit| passed(lane * LANE + bit));
    }
}

/// `to := from`, and `over(i)` for each component that is not below `bar[i]`.
#[inline]
pub(crate) fn copy_over(to: &mut [u64], from: &[u64], bar: &[u64], mut over: impl FnMut(usize)) {
    for (lane, ((to, from), bar)) in lanes_mut(to).iter_mut().zip(lanes(from)).zip(lanes(bar)).enumerate() {
        let mut bits = 0;
        for i in 0..LANE {
            bits |= u32::from(from[i] >= bar[i]) << i;
        }
        *to = *from;
        each_bit(bits, |bit| over(lane * LANE + bit));
    }
}

#[inline(always)]
fn each_bit(mut bits: u32, mut f: impl FnMut(usize)) {
    while bits != 0 {
        f(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

#[inline(always)]
fn lanes(row: &[u64]) -> &[[u64; LANE]] {
    row.as_chunks().0
}

#[inline(always)]
fn lanes_mut(row: &mut [u64]) -> &mut [[u64; LANE]] {
    row.as_chunks_mut().0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_grow_and_compare() {
        let (mut a, mut b) = (Clock::default(), Clock::default());
        assert!(a.is_before(&b));
        a.increment(3);
        assert!(!a.is_before(&b) && b.is_before(&a));
        b.increment(0);
        assert!(!a.is_before(&b) && !b.is_before(&a));
        b.join(&a);
        assert!(a.is_before(&b));
        assert_eq!((b.get(0), b.get(1), b.get(3), b.get(9), b.bytes()), (1, 0, 1, 0, 32));
    }

    #[test]
    fn rows_keep_their_contents_when_they_widen() {
        let mut rows = Rows::default();
        let (a, b) = (rows.take(), rows.take());
        rows.row_mut(a)[7] = 5;
        rows.row_mut(b)[0] = 6;
        rows.widen(9);
        assert_eq!((rows.width(), rows.len()), (16, 2));
        assert_eq!((rows.get(a, 7), rows.get(b, 0), rows.get(b, 15)), (5, 6, 0));
        rows.keep_only(&[false, true]);
        assert_eq!((rows.held(), rows.take(), rows.take()), (1, a, 2));
    }

    #[test]
    fn joins_say_what_they_changed() {
        let mut rows = Rows::default();
        rows.widen(16);
        let (a, b) = (rows.take(), rows.take());
        rows.row_mut(a).copy_from_slice(&[1; 16]);
        rows.row_mut(b)[2] = 1;
        rows.row_mut(b)[9] = 4;
        let mut bar = [u64::MAX; 16];
        bar[2] = 1;
        bar[9] = 3;
        let mut seen = Vec::new();
        let (to, from) = rows.two(a, b);
        join_over(to, from, &bar, |i| seen.push(i));
        assert_eq!(seen, [9]);
        assert_eq!(rows.get(a, 9), 4);
        let (to, from) = rows.two(a, b);
        assert!(!join(to, from));
        let (to, from) = rows.two(b, a);
        assert!(join(to, from));
        assert_eq!(rows.row(a), rows.row(b));
        seen.clear();
        let (to, from) = rows.two(b, a);
        copy_over(to, from, &bar, |i| seen.push(i));
        assert_eq!(seen, [2, 9]);
    }
}
