//! Sparse rows of times: a table from lanes to times in which most times are 0.
//!
//! A row is a radix tree of blocks of 16 words, one cache line each. A block at level 0 holds 16 times; a block
//! above holds the numbers of 16 blocks below. Block 0 is all zeros: it is the empty row and every empty part of
//! a row, so looking up a time needs no test for absence.
//!
//! Rows are used in one of two ways, never both in one table:
//! - *shared* ([`SparseRows::joined`], [`SparseRows::with`]): a row never changes. A new row shares every block
//!   with the old ones that it has in common with them. [`SparseRows::copy`] keeps what is still needed.
//! - *owned* ([`SparseRows::raise`], [`SparseRows::raise_all`], [`SparseRows::release`]): a row is changed in
//!   place, and its blocks are reused after it is released.
//!
//! Cost: `levels` loads per lookup, for 16^`levels` lanes.

/// A time of a thread.
type Time = u32;

/// The number of a block: a row, or a part of one.
pub(crate) type Row = u32;

/// The row without a time.
pub(crate) const EMPTY: Row = 0;

const BITS: u32 = 4;
/// How many words a block has.
pub(crate) const FAN: usize = 1 << BITS;

type Block = [u32; FAN];

/// A table of sparse rows.
#[derive(Debug)]
pub(crate) struct SparseRows {
    blocks: Vec<Block>,
    free: Vec<u32>,
    levels: u32,
}

impl SparseRows {
    /// For lanes below `lanes`; no rows but [`EMPTY`].
    pub(crate) fn new(lanes: usize) -> Self {
        let mut rows = SparseRows { blocks: vec![[0; FAN]], free: Vec::new(), levels: 1 };
        while !rows.fits(lanes) {
            rows.levels += 1;
        }
        rows
    }

    /// Whether rows can hold lanes below `lanes`. If not, [`SparseRows::deepen`] them.
    pub(crate) fn fits(&self, lanes: usize) -> bool {
        lanes <= FAN << (BITS * (self.levels - 1))
    }

    /// Makes room for 16 times as many lanes. All rows must be given.
    pub(crate) fn deepen<'a>(&mut self, rows: impl Iterator<Item = &'a mut Row>) {
        self.levels += 1;
        let mut last = (EMPTY, EMPTY);
        for row in rows {
            if *row != EMPTY {
                if *row != last.0 {
                    let mut block = [0; FAN];
                    block[0] = *row;
                    last = (*row, self.add(block));
                }
                *row = last.1;
            }
        }
    }

    /// Words in all blocks, free ones included.
    pub(crate) fn words(&self) -> usize {
        self.blocks.len() * FAN
    }

    /// The time of a lane.
    #[inline]
    pub(crate) fn get(&self, row: Row, lane: usize) -> Time {
        let mut at = row;
        for level in (1..self.levels).rev() {
            at = self.blocks[at as usize][digit(lane, level)];
        }
        self.blocks[at as usize][digit(lane, 0)]
    }

    fn add(&mut self, block: Block) -> Row {
        match self.free.pop() {
            Some(at) => {
                self.blocks[at as usize] = block;
                at
            }
            None => {
                self.blocks.push(block);
                (self.blocks.len() - 1) as Row
            }
        }
    }
}

/// Shared rows.
impl SparseRows {
    /// The row with the larger time of each lane, but 0 for lanes whose larger time is below `keep_from`; only
    /// parts in which `a` and `b` differ are looked at. `keep_from` has an entry for each lane and ends at a
    /// multiple of [`FAN`].
    pub(crate) fn joined(&mut self, a: Row, b: Row, keep_from: &[Time]) -> Row {
        self.joined_in(a, b, self.levels - 1, 0, keep_from)
    }

    fn joined_in(&mut self, a: Row, b: Row, level: u32, base: usize, keep_from: &[Time]) -> Row {
        if a == b || b == EMPTY {
            return a;
        }
        if a == EMPTY {
            return b;
        }
        let (mine, theirs) = (self.blocks[a as usize], self.blocks[b as usize]);
        let mut joined = [0; FAN];
        if level == 0 {
            for (i, (joined, keep)) in joined.iter_mut().zip(&keep_from[base..base + FAN]).enumerate() {
                let larger = mine[i].max(theirs[i]);
                *joined = if larger >= *keep { larger } else { 0 };
            }
        } else {
            for i in 0..FAN {
                let base = base + (i << (BITS * level));
                joined[i] = self.joined_in(mine[i], theirs[i], level - 1, base, keep_from);
            }
        }
        match joined {
            _ if joined == mine => a,
            _ if joined == theirs => b,
            _ if joined == [0; FAN] => EMPTY,
            _ => self.add(joined),
        }
    }

    /// The row with another time of a lane.
    pub(crate) fn with(&mut self, row: Row, lane: usize, time: Time) -> Row {
        self.with_in(row, lane, time, self.levels - 1)
    }

    fn with_in(&mut self, at: Row, lane: usize, time: Time, level: u32) -> Row {
        let mut block = self.blocks[at as usize];
        let word = &mut block[digit(lane, level)];
        *word = if level == 0 { time } else { self.with_in(*word, lane, time, level - 1) };
        self.add(block)
    }

    /// Copies a row into `to`, with each time replaced by what `f` says of it. `copied` is what was copied
    /// before, by block, [`NOT_COPIED`] for the others: rows still share what they did.
    pub(crate) fn copy(
        &self,
        row: Row,
        to: &mut SparseRows,
        copied: &mut [Row],
        f: &dyn Fn(usize, Time) -> Time,
    ) -> Row {
        self.copy_in(row, self.levels - 1, 0, to, copied, f)
    }

    fn copy_in(
        &self,
        at: Row,
        level: u32,
        base: usize,
        to: &mut SparseRows,
        copied: &mut [Row],
        f: &dyn Fn(usize, Time) -> Time,
    ) -> Row {
        if at == EMPTY || copied[at as usize] != NOT_COPIED {
            return if at == EMPTY { EMPTY } else { copied[at as usize] };
        }
        let mut block = self.blocks[at as usize];
        for (i, word) in block.iter_mut().enumerate().filter(|(_, word)| **word != 0) {
            let base = base + (i << (BITS * level));
            *word =
                if level == 0 { f(base, *word) } else { self.copy_in(*word, level - 1, base, to, copied, f) };
        }
        let new = if block == [0; FAN] { EMPTY } else { to.add(block) };
        copied[at as usize] = new;
        new
    }

    /// How many blocks there are: how long `copied` is for [`SparseRows::copy`].
    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// A table for as many lanes, without rows.
    pub(crate) fn emptied(&self) -> SparseRows {
        SparseRows { blocks: vec![[0; FAN]], free: Vec::new(), levels: self.levels }
    }
}

/// See [`SparseRows::copy`].
pub(crate) const NOT_COPIED: Row = Row::MAX;

/// Owned rows.
impl SparseRows {
    /// Raises the time of a lane to `time`, which is not 0, unless it is later already. Whether it was 0.
    pub(crate) fn raise(&mut self, row: &mut Row, lane: usize, time: Time) -> bool {
        let mut at = self.own(*row);
        *row = at;
        for level in (1..self.levels).rev() {
            let child = self.own(self.blocks[at as usize][digit(lane, level)]);
            self.blocks[at as usize][digit(lane, level)] = child;
            at = child;
        }
        let word = &mut self.blocks[at as usize][digit(lane, 0)];
        let was_empty = *word == 0;
        *word = (*word).max(time);
        was_empty
    }

    fn own(&mut self, at: Row) -> Row {
        if at == EMPTY { self.add([0; FAN]) } else { at }
    }

    /// Raises every time of `row` to that of `other`. Calls `new` with each lane whose time was 0.
    pub(crate) fn raise_all(&mut self, row: &mut Row, other: Row, new: &mut dyn FnMut(usize)) {
        *row = self.raise_in(*row, other, self.levels - 1, 0, new);
    }

    fn raise_in(&mut self, at: Row, other: Row, level: u32, base: usize, new: &mut dyn FnMut(usize)) -> Row {
        if other == EMPTY {
            return at;
        }
        let at = self.own(at);
        let theirs = self.blocks[other as usize];
        for (i, theirs) in theirs.into_iter().enumerate().filter(|(_, theirs)| *theirs != 0) {
            let mine = self.blocks[at as usize][i];
            let base = base + (i << (BITS * level));
            self.blocks[at as usize][i] = if level == 0 {
                if mine == 0 {
                    new(base);
                }
                mine.max(theirs)
            } else {
                self.raise_in(mine, theirs, level - 1, base, new)
            };
        }
        at
    }

    /// Empties a row.
    pub(crate) fn release(&mut self, row: &mut Row) {
        self.release_in(std::mem::replace(row, EMPTY), self.levels - 1);
    }

    fn release_in(&mut self, at: Row, level: u32) {
        if at == EMPTY {
            return;
        }
        if level > 0 {
            self.blocks[at as usize].into_iter().for_each(|child| self.release_in(child, level - 1));
        }
        self.free.push(at);
    }

    /// Replaces each time that is not 0 by what `f` says of it, which is not 0 either.
    pub(crate) fn replace(&mut self, row: Row, f: &mut dyn FnMut(usize, Time) -> Time) {
        self.replace_in(row, self.levels - 1, 0, f);
    }

    fn replace_in(&mut self, at: Row, level: u32, base: usize, f: &mut dyn FnMut(usize, Time) -> Time) {
        for i in 0..FAN {
            let (word, base) = (self.blocks[at as usize][i], base + (i << (BITS * level)));
            match (word, level) {
                (0, _) => {}
                (_, 0) => self.blocks[at as usize][i] = f(base, word),
                _ => self.replace_in(word, level - 1, base, f),
            }
        }
    }
}

#[inline(always)]
fn digit(lane: usize, level: u32) -> usize {
    lane >> (BITS * level) & (FAN - 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::oracle::random::Random;

    const LANES: usize = 300;

    fn listed(rows: &SparseRows, row: Row) -> BTreeMap<usize, Time> {
        (0..LANES).map(|lane| (lane, rows.get(row, lane))).filter(|(_, time)| *time != 0).collect()
    }

    /// Random shared rows against maps.
    #[test]
    fn shared_rows_are_joined_like_maps() {
        let mut random = Random(1);
        let mut rows = SparseRows::new(LANES);
        let mut known = vec![(EMPTY, BTreeMap::new())];
        let keep_from = vec![0; LANES.next_multiple_of(FAN)];
        for step in 0..4_000 {
            let (row, map) = known[random.below(known.len())].clone();
            let (other, theirs) = known[random.below(known.len())].clone();
            let (lane, time) = (random.below(LANES), 1 + random.below(50) as Time);
            let new = if step % 3 == 0 {
                let row = rows.with(row, lane, time);
                let mut map = map;
                map.insert(lane, time);
                (row, map)
            } else {
                let row = rows.joined(row, other, &keep_from);
                let mut map = map;
                theirs.into_iter().for_each(|(lane, time)| {
                    let mine = map.entry(lane).or_insert(0);
                    *mine = time.max(*mine);
                });
                (row, map)
            };
            assert_eq!(listed(&rows, new.0), new.1);
            assert_eq!(rows.get(new.0, lane), new.1.get(&lane).copied().unwrap_or(0));
            known.push(new);
        }
        // What is copied has everything but what was dropped, and is no larger than before.
        let mut fresh = rows.emptied();
        let mut copied = vec![NOT_COPIED; rows.len()];
        for (row, map) in &known {
            let f = |lane: usize, time: Time| if lane.is_multiple_of(2) { 0 } else { time + 7 };
            let new = rows.copy(*row, &mut fresh, &mut copied, &f);
            let odd = map.iter().filter(|(lane, _)| *lane % 2 == 1).map(|(lane, time)| (*lane, time + 7));
            assert_eq!(listed(&fresh, new), odd.collect());
        }
        assert!(fresh.len() <= rows.len());
    }

    #[test]
    fn a_join_drops_what_is_below_the_bound() {
        let mut rows = SparseRows::new(LANES);
        let a = rows.with(EMPTY, 3, 5);
        let a = rows.with(a, 4, 9);
        let b = rows.with(EMPTY, 5, 6);
        let mut keep_from = vec![0; LANES.next_multiple_of(FAN)];
        keep_from[3] = 6;
        let joined = rows.joined(a, b, &keep_from);
        assert_eq!(listed(&rows, joined), BTreeMap::from([(4, 9), (5, 6)]));
        assert_eq!(rows.joined(joined, b, &keep_from), joined);
    }

    #[test]
    fn owned_rows_are_raised_and_reused() {
        let mut random = Random(2);
        let mut rows = SparseRows::new(LANES);
        let mut owned = vec![(EMPTY, BTreeMap::<usize, Time>::new()); 20];
        for step in 0..20_000 {
            let (a, b) = (random.below(owned.len()), random.below(owned.len()));
            let (lane, time) = (random.below(LANES), 1 + random.below(50) as Time);
            if step % 50 == 0 {
                rows.release(&mut owned[a].0);
                owned[a].1.clear();
            } else if step % 10 == 0 && a != b {
                let (other, theirs) = owned[b].clone();
                let (row, map) = &mut owned[a];
                let mut new = Vec::new();
                rows.raise_all(row, other, &mut |lane| new.push(lane));
                let absent: Vec<usize> =
                    theirs.keys().copied().filter(|lane| !map.contains_key(lane)).collect();
                assert_eq!(new, absent);
                for (lane, time) in theirs {
                    let mine = map.entry(lane).or_insert(0);
                    *mine = time.max(*mine);
                }
            } else {
                let (row, map) = &mut owned[a];
                assert_eq!(rows.raise(row, lane, time), !map.contains_key(&lane));
                let mine = map.entry(lane).or_insert(0);
                *mine = time.max(*mine);
            }
            assert_eq!(listed(&rows, owned[a].0), owned[a].1);
        }
        rows.deepen(owned.iter_mut().map(|(row, _)| row));
        assert!(rows.fits(LANES * 10));
        for (row, map) in &mut owned {
            assert_eq!(listed(&rows, *row), *map);
            rows.replace(*row, &mut |_, time| time + 1);
            assert!(map.iter().all(|(lane, time)| rows.get(*row, *lane) == time + 1));
        }
    }
}
