//! From addresses to variables.
//!
//! A variable is what the program accesses as one: bytes of one aligned word of 8. Words are independent, and so
//! are fields that share one. Where accesses of different widths overlap, the variable is split, and the wider
//! access becomes several events. (The piece that keeps the first byte keeps the history.)
//!
//! A table per page of the program's memory; the page of the last access is found without hashing.

use std::ops::RangeInclusive;

use atomvet_trace::VarId;
use rustc_hash::FxHashMap;

const PAGE_SHIFT: u32 = 12;
const WORDS: usize = 512;

/// What is known about one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    /// Nothing.
    Unknown,
    /// One variable, of the bytes in the mask.
    One(VarId, u8),
    /// Several: an index of `split`.
    Several(u32),
}

/// All variables of a program.
#[derive(Default)]
pub(crate) struct Variables {
    pages: FxHashMap<u64, u32>,
    tables: Vec<Box<[Word; WORDS]>>,
    /// The page of the last access and its table.
    last: Option<(u64, u32)>,
    /// Per byte of a split word, its variable.
    split: Vec<[Option<VarId>; 8]>,
    count: u32,
}

impl Variables {
    /// The variables of `size` bytes at `address`, which are in one word, in `found`. New ones are numbered
    /// on and told to `named` with their addresses.
    #[inline]
    pub(crate) fn find(
        &mut self,
        address: u64,
        size: u8,
        found: &mut Vec<VarId>,
        mut named: impl FnMut(VarId, u64),
    ) {
        let offset = (address & 7) as u32;
        let mask = (((1u32 << size.min(8)) - 1) << offset) as u8;
        let table = self.table(address >> PAGE_SHIFT);
        let index = (address as usize >> 3) % WORDS;
        match self.tables[table as usize][index] {
            Word::One(variable, bytes) if bytes == mask => found.push(variable),
            Word::Unknown => {
                let variable = self.new_variable(address, &mut named);
                self.tables[table as usize][index] = Word::One(variable, mask);
                found.push(variable);
            }
            word => self.find_split(table, index, word, address & !7, mask, found, &mut named),
        }
    }

    fn table(&mut self, page: u64) -> u32 {
        if let Some((last, table)) = self.last
            && last == page
        {
            return table;
        }
        let tables = &mut self.tables;
        let table = *self.pages.entry(page).or_insert_with(|| {
            tables.push(Box::new([Word::Unknown; WORDS]));
            tables.len() as u32 - 1
        });
        self.last = Some((page, table));
        table
    }

    fn new_variable(&mut self, address: u64, named: &mut impl FnMut(VarId, u64)) -> VarId {
        let variable = VarId(self.count);
        self.count += 1;
        named(variable, address);
        variable
    }

    /// A number for something that is a variable to the checkers only.
    pub(crate) fn artificial(&mut self) -> VarId {
        self.count += 1;
        VarId(self.count - 1)
    }

    #[expect(clippy::too_many_arguments, reason = "one word in full, called from one place")]
    #[cold]
    fn find_split(
        &mut self,
        table: u32,
        index: usize,
        word: Word,
        start: u64,
        mask: u8,
        found: &mut Vec<VarId>,
        named: &mut impl FnMut(VarId, u64),
    ) {
        let entry = match word {
            Word::Several(entry) => entry as usize,
            Word::One(variable, bytes) => {
                let byte = |i: u32| (bytes >> i & 1 != 0).then_some(variable);
                self.split.push([0, 1, 2, 3, 4, 5, 6, 7].map(byte));
                self.tables[table as usize][index] = Word::Several(self.split.len() as u32 - 1);
                self.split.len() - 1
            }
            Word::Unknown => return,
        };
        let mut bytes = self.split[entry];
        let wanted = |i: usize| mask >> i & 1 != 0;
        // Variables that reach across an edge of the access are cut there.
        for i in 0..8 {
            let Some(variable) = bytes[i] else { continue };
            let first = bytes.iter().position(|v| *v == Some(variable)).unwrap_or(i);
            if wanted(i) != wanted(first) {
                let piece = self.new_variable(start + i as u64, named);
                let side = wanted(i);
                for (j, byte) in bytes.iter_mut().enumerate() {
                    if *byte == Some(variable) && wanted(j) == side {
                        *byte = Some(piece);
                    }
                }
            }
        }
        let mut fresh = None;
        for i in (0..8).filter(|&i| wanted(i)) {
            let variable = match bytes[i] {
                Some(variable) => {
                    fresh = None;
                    variable
                }
                None => match fresh {
                    Some(variable) => variable,
                    None => self.new_variable(start + i as u64, named),
                },
            };
            if bytes[i].is_none() {
                bytes[i] = Some(variable);
                fresh = Some(variable);
            }
            if !found.contains(&variable) {
                found.push(variable);
            }
        }
        self.split[entry] = bytes;
    }

    /// All variables between two addresses.
    pub(crate) fn between(&self, start: u64, end: u64, found: &mut Vec<VarId>) {
        for (table, words) in self.tables_between(start, end) {
            for word in &self.tables[table as usize][words] {
                match *word {
                    Word::Unknown => {}
                    Word::One(variable, _) => found.push(variable),
                    Word::Several(entry) => {
                        let before = found.len();
                        for variable in self.split[entry as usize].into_iter().flatten() {
                            if !found[before..].contains(&variable) {
                                found.push(variable);
                            }
                        }
                    }
                }
            }
        }
    }

    /// What is accessed between two addresses from now on is other variables. (The old ones keep their numbers.)
    pub(crate) fn forget(&mut self, start: u64, end: u64) {
        for (table, words) in self.tables_between(start, end) {
            self.tables[table as usize][words].fill(Word::Unknown);
        }
    }

    /// The tables with words between two addresses, in order, and which words those are.
    fn tables_between(&self, start: u64, end: u64) -> Vec<(u32, RangeInclusive<usize>)> {
        if end <= start {
            return Vec::new();
        }
        let (first, last) = (start >> PAGE_SHIFT, (end - 1) >> PAGE_SHIFT);
        let mut pages: Vec<(u64, u32)> = if last - first < self.pages.len() as u64 {
            (first..=last).filter_map(|page| Some((page, *self.pages.get(&page)?))).collect()
        } else {
            let all = self.pages.iter().map(|(&page, &table)| (page, table));
            all.filter(|(page, _)| (first..=last).contains(page)).collect()
        };
        pages.sort_unstable();
        let of = |address: u64| (address as usize >> 3) % WORDS;
        let words = |page: u64| {
            let from = if page == first { of(start) } else { 0 };
            from..=if page == last { of(end - 1) } else { WORDS - 1 }
        };
        pages.into_iter().map(|(page, table)| (table, words(page))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accesses(accesses: &[(u64, u8)]) -> Vec<Vec<u32>> {
        let mut variables = Variables::default();
        let find = |&(address, size): &(u64, u8)| {
            let mut found = Vec::new();
            variables.find(address, size, &mut found, |_, _| {});
            found.into_iter().map(|variable| variable.0).collect()
        };
        accesses.iter().map(find).collect()
    }

    #[test]
    fn neighbours_are_different_variables() {
        assert_eq!(accesses(&[(0, 4), (4, 4), (0, 4), (8, 4), (4, 4)]), [[0], [1], [0], [2], [1]]);
    }

    #[test]
    fn a_wide_access_covers_the_narrow_ones() {
        assert_eq!(accesses(&[(0, 2), (4, 2), (0, 8)]), [vec![0], vec![1], vec![0, 2, 1, 3]]);
    }

    #[test]
    fn a_narrow_access_splits_a_wide_variable() {
        // The first piece keeps the history.
        let found = accesses(&[(0, 8), (0, 4), (4, 4), (0, 8), (4, 2)]);
        assert_eq!(found, [vec![0], vec![0], vec![1], vec![0, 1], vec![1]]);
        assert_eq!(accesses(&[(0, 8), (2, 2), (0, 8)]), [vec![0], vec![1], vec![0, 1]]);
    }

    #[test]
    fn a_stretch_finds_all_variables_in_it() {
        let mut variables = Variables::default();
        let mut found = Vec::new();
        for address in [0, 8, 4096, 1 << 30] {
            variables.find(address, 8, &mut found, |_, _| {});
        }
        let between = |start, end| {
            let mut found = Vec::new();
            variables.between(start, end, &mut found);
            found.into_iter().map(|variable| variable.0).collect::<Vec<_>>()
        };
        assert_eq!(between(0, 8), [0]);
        assert_eq!(between(8, 4097), [1, 2]);
        assert_eq!(between(0, 1 << 40), [0, 1, 2, 3]);
        assert!(between(16, 16).is_empty());
    }

    #[test]
    fn what_is_forgotten_has_other_variables() {
        let mut variables = Variables::default();
        let mut find = |address| {
            let mut found = Vec::new();
            variables.find(address, 4, &mut found, |_, _| {});
            if address == 24 {
                variables.forget(8, 20);
            }
            found.into_iter().map(|variable| variable.0).collect::<Vec<_>>()
        };
        let found = [0, 8, 12, 16, 24, 0, 8, 12, 16, 24].map(&mut find);
        assert_eq!(found, [[0], [1], [2], [3], [4], [0], [5], [6], [7], [4]]);
    }
}
