//! From addresses to variables.
//!
//! A variable is what the program accesses as one: bytes of one aligned word of 8. Words are independent, and so
//! are fields that share one. Where accesses of different widths overlap, the variable is split, and the wider
//! access becomes several events. (The piece that keeps the first byte keeps the history.)
//!
//! A table per stretch of the program's memory, with 4 bytes for each of its words; the stretches of late are found without
//! hashing.

use std::ops::RangeInclusive;

use atomvet_trace::VarId;
use rustc_hash::FxHashMap;

/// A stretch is 1 KiB: what programs use lies close together, but not in whole pages.
const STRETCH_SHIFT: u32 = 10;
const WORDS: usize = 1 << (STRETCH_SHIFT - 3);

/// How many stretches are found without hashing.
const RECENT: usize = 64;

/// What is known about one word: 0 is nothing. Else the high bits have the [`SHAPES`] number of its only variable, which the low
/// bits name; or they are 0, and the low bits are one more than an index of `split`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Word(u32);

const LOW_BITS: u32 = 28;
const LOW: u32 = (1 << LOW_BITS) - 1;

/// By the bytes that a variable is made of, a number for those that most are: aligned ones of 1, 2, 4 and 8. 0 for all others.
const SHAPES: [u8; 256] = {
    let mut shapes = [0; 256];
    let (mut shape, mut size) = (1, 1);
    while size <= 8 {
        let mut offset = 0;
        while offset < 8 {
            shapes[((1 << size) - 1) << offset] = shape;
            (shape, offset) = (shape + 1, offset + size);
        }
        size *= 2;
    }
    shapes
};

/// The inverse.
const MASKS: [u8; 16] = {
    let mut masks = [0; 16];
    let mut mask = 0;
    while mask < 256 {
        masks[SHAPES[mask] as usize] = mask as u8;
        mask += 1;
    }
    masks
};

impl Word {
    const UNKNOWN: Word = Word(0);

    /// One variable of the bytes in the mask, if that can be said so.
    fn one(variable: VarId, mask: u8) -> Option<Word> {
        let shape = u32::from(SHAPES[usize::from(mask)]);
        (shape != 0 && variable.0 <= LOW).then_some(Word(shape << LOW_BITS | variable.0))
    }

    /// The only variable, if it is of exactly these bytes.
    #[inline]
    fn of(self, mask: u8) -> Option<VarId> {
        let shape = u32::from(SHAPES[usize::from(mask)]);
        (shape != 0 && self.0 >> LOW_BITS == shape).then_some(VarId(self.0 & LOW))
    }

    fn read(self) -> Known {
        match (self.0 >> LOW_BITS, self.0 & LOW) {
            (0, 0) => Known::Nothing,
            (0, entry) => Known::Several(entry as usize - 1),
            (shape, variable) => Known::One(VarId(variable), MASKS[shape as usize]),
        }
    }
}

/// The same, spelt out.
enum Known {
    /// Nothing.
    Nothing,
    /// One variable, of the bytes in the mask.
    One(VarId, u8),
    /// Several: an index of `split`.
    Several(usize),
}

/// All variables of a program.
pub(crate) struct Variables {
    stretches: FxHashMap<u64, u32>,
    tables: Vec<[Word; WORDS]>,
    /// Stretches of late and their tables, each at its number modulo how many there are.
    recent: [(u64, u32); RECENT],
    /// Per byte of a split word, its variable.
    split: Vec<[Option<VarId>; 8]>,
    count: u32,
}

impl Default for Variables {
    fn default() -> Self {
        Variables {
            stretches: FxHashMap::default(),
            tables: Vec::new(),
            // No stretch has this number.
            recent: [(u64::MAX, 0); RECENT],
            split: Vec::new(),
            count: 0,
        }
    }
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
        let table = self.table(address >> STRETCH_SHIFT);
        let index = (address as usize >> 3) % WORDS;
        let word = self.tables[table as usize][index];
        match word.of(mask) {
            Some(variable) => found.push(variable),
            None => self.find_other(table, index, address, mask, found, &mut named),
        }
    }

    #[inline]
    fn table(&mut self, stretch: u64) -> u32 {
        match self.recent[stretch as usize % RECENT] {
            (known, table) if known == stretch => table,
            _ => self.find_table(stretch),
        }
    }

    fn find_table(&mut self, stretch: u64) -> u32 {
        let tables = &mut self.tables;
        let table = *self.stretches.entry(stretch).or_insert_with(|| {
            tables.push([Word::UNKNOWN; WORDS]);
            tables.len() as u32 - 1
        });
        self.recent[stretch as usize % RECENT] = (stretch, table);
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

    /// A word of which nothing is known yet, or that has several variables, or will have them.
    #[inline(never)]
    fn find_other(
        &mut self,
        table: u32,
        index: usize,
        address: u64,
        mask: u8,
        found: &mut Vec<VarId>,
        named: &mut impl FnMut(VarId, u64),
    ) {
        let start = address & !7;
        let entry = match self.tables[table as usize][index].read() {
            Known::Several(entry) => entry,
            Known::One(variable, bytes) => self.split_word(table, index, variable, bytes),
            Known::Nothing => {
                let variable = self.new_variable(address, named);
                found.push(variable);
                match Word::one(variable, mask) {
                    Some(word) => self.tables[table as usize][index] = word,
                    None => {
                        self.split_word(table, index, variable, mask);
                    }
                }
                return;
            }
        };
        let mut bytes = self.split[entry];
        let wanted = |i: usize| mask >> i & 1 != 0;
        // Mostly whole variables are accessed.
        let is_whole =
            |i: usize| bytes[i].is_some() && (0..8).all(|other| wanted(other) || bytes[other] != bytes[i]);
        if (0..8).filter(|&i| wanted(i)).all(is_whole) {
            for variable in (0..8).filter(|&i| wanted(i)).filter_map(|i| bytes[i]) {
                if !found.contains(&variable) {
                    found.push(variable);
                }
            }
            return;
        }
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

    /// Gives a word that has a variable of these bytes an entry of `split`.
    fn split_word(&mut self, table: u32, index: usize, variable: VarId, bytes: u8) -> usize {
        let byte = |i: u32| (bytes >> i & 1 != 0).then_some(variable);
        self.split.push([0, 1, 2, 3, 4, 5, 6, 7].map(byte));
        let entries = u32::try_from(self.split.len()).ok().filter(|&entries| entries <= LOW);
        // So many split words take 17 GiB here alone.
        self.tables[table as usize][index] = Word(entries.expect("fewer than 2^28 split words"));
        self.split.len() - 1
    }

    /// All variables between two addresses.
    pub(crate) fn between(&self, start: u64, end: u64, found: &mut Vec<VarId>) {
        for (table, words) in self.tables_between(start, end) {
            for word in &self.tables[table as usize][words] {
                match word.read() {
                    Known::Nothing => {}
                    Known::One(variable, _) => found.push(variable),
                    Known::Several(entry) => {
                        let before = found.len();
                        for variable in self.split[entry].into_iter().flatten() {
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
        let tables: Vec<_> = self.tables_between(start, end).collect();
        for (table, words) in tables {
            self.tables[table as usize][words].fill(Word::UNKNOWN);
        }
    }

    /// The tables with words between two addresses, in order, and which words those are.
    fn tables_between(&self, start: u64, end: u64) -> impl Iterator<Item = (u32, RangeInclusive<usize>)> {
        let (first, last) = (start >> STRETCH_SHIFT, end.saturating_sub(1) >> STRETCH_SHIFT);
        let is_empty = end <= start;
        // Of a stretch of memory larger than all that is known, what is known is looked through.
        let is_vast = !is_empty && last - first >= self.stretches.len() as u64;
        let near = if is_empty || is_vast { RangeInclusive::new(1, 0) } else { first..=last };
        let mut known = Vec::new();
        if is_vast {
            known.extend(self.stretches.keys().filter(|stretch| (first..=last).contains(stretch)));
            known.sort_unstable();
        }
        let of = |address: u64| (address as usize >> 3) % WORDS;
        near.chain(known).filter_map(move |stretch| {
            let from = if stretch == first { of(start) } else { 0 };
            let words = from..=if stretch == last { of(end - 1) } else { WORDS - 1 };
            Some((*self.stretches.get(&stretch)?, words))
        })
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
    fn bytes_of_any_shape_are_a_variable() {
        // Across the middle of a word, and of an odd size.
        assert_eq!(accesses(&[(2, 4), (2, 4), (0, 1), (1, 1)]), [[0], [0], [1], [2]]);
        assert_eq!(accesses(&[(1, 3), (1, 3), (1, 1), (2, 2)]), [[0], [0], [0], [1]]);
    }

    #[test]
    fn shapes_and_masks_go_both_ways() {
        let mut shapes = 0;
        for mask in 1..=255 {
            if let Some(word) = Word::one(VarId(LOW), mask) {
                shapes += 1;
                assert!(matches!(word.read(), Known::One(VarId(LOW), found) if found == mask));
                assert!((1..=255).all(|other| word.of(other).is_some() == (other == mask)));
            }
        }
        assert_eq!(shapes, 15);
        assert_eq!(Word::one(VarId(LOW + 1), 1), None);
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
