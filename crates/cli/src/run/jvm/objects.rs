//! Which object of a JVM's is at an address.

use std::collections::BTreeMap;

/// How many are kept. Of the oldest a variable that nobody has named yet is a number.
const MOST: usize = 4 << 20;
/// Objects are told apart in stretches of memory of so many bits. In most of them there are those of one thread, in their order.
const STRETCH: u32 = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Object {
    pub(super) class: u32,
    /// Which of its class it is; 0 is the class itself.
    pub(super) number: u32,
}

/// How many stretches are found without a search. Each thread allocates in one at a time.
const RECENT: usize = 64;

/// Objects by their bases.
pub(super) struct Objects {
    /// Per stretch, its place in `contents`.
    stretches: BTreeMap<u64, usize>,
    /// The objects of each stretch, by their bases; empty where it was forgotten.
    contents: Vec<Vec<(u64, Object)>>,
    /// Stretches of late and their places, each at its number modulo how many there are.
    recent: [(u64, usize); RECENT],
    count: usize,
}

/// No stretch has this number.
const NONE: (u64, usize) = (u64::MAX, 0);

impl Default for Objects {
    fn default() -> Self {
        Objects { stretches: BTreeMap::new(), contents: Vec::new(), recent: [NONE; RECENT], count: 0 }
    }
}

impl Objects {
    /// An object is at `base` from now on.
    pub(super) fn add(&mut self, base: u64, object: Object) {
        let place = match self.recent[(base >> STRETCH) as usize % RECENT] {
            (known, place) if known == base >> STRETCH => place,
            _ => self.find(base >> STRETCH),
        };
        let stretch = &mut self.contents[place];
        if stretch.last().is_none_or(|last| last.0 < base) {
            stretch.push((base, object));
        } else {
            match stretch.binary_search_by_key(&base, |known| known.0) {
                Ok(at) => {
                    stretch[at].1 = object;
                    return;
                }
                Err(at) => stretch.insert(at, (base, object)),
            }
        }
        self.count += 1;
        if self.count > MOST {
            self.forget_half();
        }
    }

    fn find(&mut self, stretch: u64) -> usize {
        let contents = &mut self.contents;
        let place = *self.stretches.entry(stretch).or_insert_with(|| {
            contents.push(Vec::new());
            contents.len() - 1
        });
        self.recent[stretch as usize % RECENT] = (stretch, place);
        place
    }

    #[cold]
    fn forget_half(&mut self) {
        while self.count > MOST / 2
            && let Some((_, oldest)) = self.stretches.pop_first()
        {
            self.count -= std::mem::take(&mut self.contents[oldest]).len();
        }
        self.recent = [NONE; RECENT];
    }

    /// The last object that begins at an address or before, and its base.
    pub(super) fn around(&self, address: u64) -> Option<(u64, Object)> {
        let begins_before = |stretch: &Vec<(u64, Object)>| {
            let after = stretch.partition_point(|object| object.0 <= address);
            Some(stretch[after.checked_sub(1)?])
        };
        let stretches = self.stretches.range(..=address >> STRETCH).rev();
        // In that of the address itself all may begin behind it.
        stretches.take(2).find_map(|(_, &place)| begins_before(&self.contents[place]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_wherever_they_begin() {
        let mut objects = Objects::default();
        let object = |number| Object { class: 1, number };
        let bases = [0x1_0000, 0x1_0040, 0x9_0000, 0x9_0020, 0x1_0020, 0x3_fff0, 0x1_0040];
        for (number, base) in bases.into_iter().enumerate() {
            objects.add(base, object(number as u32));
        }
        let found = |address| objects.around(address).map(|(base, object)| (base, object.number));
        assert_eq!(found(0xffff), None);
        assert_eq!(found(0x1_003f), Some((0x1_0020, 4)));
        assert_eq!(found(0x1_0050), Some((0x1_0040, 6)));
        assert_eq!(found(0x4_0008), Some((0x3_fff0, 5)));
        assert_eq!(found(0x9_0010), Some((0x9_0000, 2)));
        assert_eq!(found(0xff_0000), Some((0x9_0020, 3)));
        assert_eq!(objects.count, 6);
    }
}
