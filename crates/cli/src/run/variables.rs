//! From addresses to variables.
//!
//! A variable is what the program accesses as one: bytes of one aligned word of 8. Words are independent, and so
//! are fields that share one.
//!
//! Where accesses of different widths overlap, the variable is *cut*: it is not used any more, and its pieces are new variables.
//! Its events concern the pieces, which is known only now; they are corrected when the recording is complete (`pieces.rs`).
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
const RECENT: usize = 512;

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
#[derive(Clone, Copy)]
enum Known {
    /// Nothing.
    Nothing,
    /// One variable, of the bytes in the mask.
    One(VarId, u8),
    /// Several: an index of `split`.
    Several(usize),
}

impl Known {
    fn only(self) -> Option<VarId> {
        match self {
            Known::One(variable, _) => Some(variable),
            Known::Nothing | Known::Several(_) => None,
        }
    }
}

/// A word of several variables, or of one that has an odd shape.
#[derive(Clone, Copy)]
struct Split {
    /// Per byte its variable, where there is one.
    variables: [VarId; 8],
    /// Per byte the mask of all bytes that this variable has; 0 where there is none.
    shapes: [u8; 8],
}

impl Split {
    /// Of one variable.
    fn one(variable: VarId, mask: u8) -> Split {
        let shapes = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| if mask >> i & 1 != 0 { mask } else { 0 });
        Split { variables: [variable; 8], shapes }
    }

    /// Gives bytes to a variable, which has no others.
    fn give(&mut self, variable: VarId, mask: u8) {
        for i in bytes(mask) {
            (self.variables[i], self.shapes[i]) = (variable, mask);
        }
    }

    /// The variables that have any of these bytes, by the first of those, each with the mask of all its bytes.
    fn pieces(&self, mask: u8) -> impl Iterator<Item = (VarId, u8)> {
        let mut left = mask;
        std::iter::from_fn(move || {
            while left != 0 {
                let first = left.trailing_zeros() as usize;
                let shape = self.shapes[first];
                left &= !(shape | 1 << first);
                if shape != 0 {
                    return Some((self.variables[first], shape));
                }
            }
            None
        })
    }

    /// Whether all of these bytes belong to variables, and those have no others. Mostly whole variables are accessed.
    fn is_whole(&self, mask: u8) -> bool {
        bytes(mask).all(|i| self.shapes[i] != 0 && self.shapes[i] & !mask == 0)
    }
}

/// The numbers of the bytes in a mask.
fn bytes(mask: u8) -> impl Iterator<Item = usize> {
    (0..8).filter(move |i| mask >> i & 1 != 0)
}

/// Which bytes of its word are accessed.
#[inline]
fn mask(address: u64, size: u64) -> u8 {
    (((1_u32 << size.min(8)) - 1) << (address & 7)) as u8
}

/// Where its word is in the table of its stretch.
#[inline]
fn index(address: u64) -> usize {
    (address as usize >> 3) % WORDS
}

/// Variables that were cut, and their two pieces each.
#[derive(Default, Debug)]
pub(crate) struct Cuts {
    pieces: FxHashMap<VarId, [VarId; 2]>,
    /// Pieces that begin where the variable did, and the variable.
    heirs: FxHashMap<VarId, VarId>,
}

impl Cuts {
    /// Whether no variable was cut.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The variable itself, or the last pieces that it was cut into.
    pub(crate) fn last_pieces(&self, variable: VarId, found: &mut Vec<VarId>) {
        match self.pieces.get(&variable) {
            None => found.push(variable),
            Some(pieces) => pieces.iter().for_each(|&piece| self.last_pieces(piece, found)),
        }
    }

    /// The first variable that began where this one does: its name is free.
    pub(crate) fn named_as(&self, mut variable: VarId) -> VarId {
        while let Some(&cut) = self.heirs.get(&variable) {
            variable = cut;
        }
        variable
    }
}

/// A variable that is met for the first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct New {
    pub(crate) variable: VarId,
    pub(crate) address: u64,
    /// What it is a piece of.
    pub(crate) cut: Option<Cut>,
}

/// The variable that another is a piece of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cut {
    pub(crate) variable: VarId,
    /// Both begin at the same byte.
    pub(crate) same_start: bool,
}

/// All variables of a program.
pub(crate) struct Variables {
    stretches: FxHashMap<u64, u32>,
    tables: Vec<[Word; WORDS]>,
    /// Stretches of late and their tables, each at its number modulo how many there are.
    recent: [(u64, u32); RECENT],
    split: Vec<Split>,
    /// What became of those that were cut.
    pub(crate) cuts: Cuts,
    count: u32,
    /// How many of those there may be.
    most_split: u32,
    /// There is no room for another split word, and some access was taken for one to the whole word.
    pub(crate) is_exhausted: bool,
}

impl Default for Variables {
    fn default() -> Self {
        Variables {
            stretches: FxHashMap::default(),
            tables: Vec::new(),
            // No stretch has this number.
            recent: [(u64::MAX, 0); RECENT],
            split: Vec::new(),
            cuts: Cuts::default(),
            count: 0,
            most_split: LOW,
            is_exhausted: false,
        }
    }
}

impl Variables {
    /// The variable of `size` bytes at `address`, if they are in one word, which has no other. Most have not.
    #[inline]
    pub(crate) fn find_only(&mut self, address: u64, size: u64) -> Option<VarId> {
        if (address & 7) + size > 8 {
            return None;
        }
        let table = self.table(address >> STRETCH_SHIFT);
        self.tables[table as usize][index(address)].of(mask(address, size))
    }

    /// The variables of `size` bytes at `address`, which are in one word, in `found`. New ones are numbered
    /// on and told to `named`.
    pub(crate) fn find(
        &mut self,
        address: u64,
        size: u64,
        found: &mut Vec<VarId>,
        mut named: impl FnMut(New),
    ) {
        match self.find_only(address, size) {
            Some(variable) => found.push(variable),
            None => self.find_other(address, mask(address, size), found, &mut named),
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

    fn new_variable(&mut self, address: u64, cut: Option<Cut>, named: &mut impl FnMut(New)) -> VarId {
        let variable = VarId(self.count);
        self.count += 1;
        named(New { variable, address, cut });
        variable
    }

    /// A number for something that is a variable to the checkers only.
    pub(crate) fn artificial(&mut self) -> VarId {
        self.count += 1;
        VarId(self.count - 1)
    }

    /// A word of which nothing is known yet, or that has several variables, or will have them.
    #[inline(never)]
    fn find_other(&mut self, address: u64, mask: u8, found: &mut Vec<VarId>, named: &mut impl FnMut(New)) {
        let start = address & !7;
        let (table, index) = (self.table(address >> STRETCH_SHIFT) as usize, index(address));
        let word = self.tables[table][index].read();
        let entry = match word {
            Known::Several(entry) => Some(entry),
            Known::One(variable, bytes) => self.split_word(table, index, variable, bytes),
            Known::Nothing => {
                let variable = self.new_variable(address, None, named);
                found.push(variable);
                match Word::one(variable, mask) {
                    Some(word) => self.tables[table][index] = word,
                    None => {
                        self.split_word(table, index, variable, mask);
                    }
                }
                return;
            }
        };
        let Some(entry) = entry else {
            found.extend(word.only());
            return;
        };
        if !self.split[entry].is_whole(mask) {
            self.cut(entry, start, mask, named);
        }
        found.extend(self.split[entry].pieces(mask).map(|(variable, _)| variable));
    }

    /// Cuts variables that reach across an edge of an access, and makes new ones of bytes that have none.
    fn cut(&mut self, entry: usize, start: u64, mask: u8, named: &mut impl FnMut(New)) {
        let mut split = self.split[entry];
        let pieces: Vec<(VarId, u8)> = split.pieces(0xff).collect();
        for (variable, shape) in pieces {
            let (inside, outside) = (shape & mask, shape & !mask);
            if inside == 0 || outside == 0 {
                continue;
            }
            let start_of_all = shape.trailing_zeros();
            let pieces = [inside, outside].map(|bytes| {
                let first = bytes.trailing_zeros();
                let same_start = first == start_of_all;
                let cut = Some(Cut { variable, same_start });
                let piece = self.new_variable(start + u64::from(first), cut, named);
                split.give(piece, bytes);
                if same_start {
                    self.cuts.heirs.insert(piece, variable);
                }
                piece
            });
            self.cuts.pieces.insert(variable, pieces);
        }
        let mut fresh = 0_u8;
        for i in bytes(mask) {
            if split.shapes[i] == 0 {
                fresh |= 1 << i;
            }
            let is_last = i == 7 || mask >> (i + 1) & 1 == 0 || split.shapes[i + 1] != 0;
            if fresh != 0 && is_last {
                let variable = self.new_variable(start + u64::from(fresh.trailing_zeros()), None, named);
                split.give(variable, fresh);
                fresh = 0;
            }
        }
        self.split[entry] = split;
    }

    /// Gives a word that has a variable of these bytes an entry of `split`, if there is room.
    fn split_word(&mut self, table: usize, index: usize, variable: VarId, bytes: u8) -> Option<usize> {
        let entry = self.split.len();
        let Some(word) = u32::try_from(entry + 1).ok().filter(|&word| word <= self.most_split) else {
            self.is_exhausted = true;
            return None;
        };
        self.split.push(Split::one(variable, bytes));
        self.tables[table][index] = Word(word);
        Some(entry)
    }

    /// All variables between two addresses.
    pub(crate) fn between(&self, start: u64, end: u64, found: &mut Vec<VarId>) {
        self.each_table(start, end, |table, words| {
            for word in &self.tables[table as usize][words] {
                match word.read() {
                    Known::Nothing => {}
                    Known::One(variable, _) => found.push(variable),
                    Known::Several(entry) => {
                        found.extend(self.split[entry].pieces(0xff).map(|(variable, _)| variable));
                    }
                }
            }
        });
    }

    /// What is accessed between two addresses from now on is other variables. (The old ones keep their numbers.)
    pub(crate) fn forget(&mut self, start: u64, end: u64) {
        let mut tables = Vec::new();
        self.each_table(start, end, |table, words| tables.push((table, words)));
        for (table, words) in tables {
            self.tables[table as usize][words].fill(Word::UNKNOWN);
        }
    }

    /// Tells the tables with words between two addresses, in order, and which words those are.
    #[inline]
    fn each_table(&self, start: u64, end: u64, mut tell: impl FnMut(u32, RangeInclusive<usize>)) {
        if end <= start {
            return;
        }
        let (first, last) = (start >> STRETCH_SHIFT, (end - 1) >> STRETCH_SHIFT);
        let mut visit = |stretch: u64, table: u32| {
            let from = if stretch == first { index(start) } else { 0 };
            let to = if stretch == last { index(end - 1) } else { WORDS - 1 };
            tell(table, from..=to);
        };
        // Of a stretch of memory larger than all that is known, what is known is looked through.
        if last - first >= self.stretches.len() as u64 {
            let is_between = |known: &(&u64, &u32)| (first..=last).contains(known.0);
            let mut known: Vec<_> = self.stretches.iter().filter(is_between).collect();
            known.sort_unstable();
            known.into_iter().for_each(|(&stretch, &table)| visit(stretch, table));
            return;
        }
        for stretch in first..=last {
            match self.recent[stretch as usize % RECENT] {
                (known, table) if known == stretch => visit(stretch, table),
                _ => {
                    if let Some(&table) = self.stretches.get(&stretch) {
                        visit(stretch, table);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accesses(accesses: &[(u64, u64)]) -> Vec<Vec<u32>> {
        let mut variables = Variables::default();
        let find = |&(address, size): &(u64, u64)| {
            let mut found = Vec::new();
            variables.find(address, size, &mut found, |_| {});
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
    fn a_narrow_access_cuts_a_wide_variable() {
        let found = accesses(&[(0, 8), (0, 4), (4, 4), (0, 8), (4, 2)]);
        assert_eq!(found, [vec![0], vec![1], vec![2], vec![1, 2], vec![3]]);
        assert_eq!(accesses(&[(0, 8), (2, 2), (0, 8)]), [vec![0], vec![1], vec![2, 1]]);
    }

    #[test]
    fn bytes_of_any_shape_are_a_variable() {
        // Across the middle of a word, and of an odd size.
        assert_eq!(accesses(&[(2, 4), (2, 4), (0, 1), (1, 1)]), [[0], [0], [1], [2]]);
        assert_eq!(accesses(&[(1, 3), (1, 3), (1, 1), (2, 2)]), [[0], [0], [1], [2]]);
    }

    #[test]
    fn what_is_cut_is_known_by_its_last_pieces() {
        let mut variables = Variables::default();
        let mut met = Vec::new();
        for (address, size) in [(0, 8), (4, 4), (0, 2)] {
            variables.find(address, size, &mut Vec::new(), |new| met.push(new));
        }
        let cut: Vec<_> = met.iter().map(|new| (new.address, new.cut.map(|cut| cut.variable.0))).collect();
        assert_eq!(cut, [(0, None), (4, Some(0)), (0, Some(0)), (0, Some(2)), (2, Some(2))]);
        let last = |variable| {
            let mut found = Vec::new();
            variables.cuts.last_pieces(VarId(variable), &mut found);
            found.into_iter().map(|variable| variable.0).collect::<Vec<_>>()
        };
        assert_eq!([last(0), last(1), last(2)], [vec![1, 3, 4], vec![1], vec![3, 4]]);
        assert_eq!([1, 3, 4].map(|variable| variables.cuts.named_as(VarId(variable)).0), [1, 0, 4]);
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
    fn where_no_word_can_be_split_any_more_that_is_told() {
        let mut variables = Variables { most_split: 1, ..Variables::default() };
        let mut find = |address, size| {
            let mut found = Vec::new();
            variables.find(address, size, &mut found, |_| {});
            (found.into_iter().map(|variable| variable.0).collect::<Vec<_>>(), variables.is_exhausted)
        };
        assert_eq!([find(0, 8), find(0, 4), find(8, 8)].map(|(_, is_exhausted)| is_exhausted), [false; 3]);
        assert_eq!(
            [find(8, 4), find(4, 4), find(16, 3)],
            [(vec![3], true), (vec![2], true), (vec![4], true)]
        );
    }

    #[test]
    fn a_stretch_finds_all_variables_in_it() {
        let mut variables = Variables::default();
        let mut found = Vec::new();
        for address in [0, 8, 4096, 1 << 30] {
            variables.find(address, 8, &mut found, |_| {});
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
            variables.find(address, 4, &mut found, |_| {});
            if address == 24 {
                variables.forget(8, 20);
            }
            found.into_iter().map(|variable| variable.0).collect::<Vec<_>>()
        };
        let found = [0, 8, 12, 16, 24, 0, 8, 12, 16, 24].map(&mut find);
        assert_eq!(found, [[0], [1], [2], [3], [4], [0], [5], [6], [7], [4]]);
    }
}
