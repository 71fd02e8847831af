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

/// Objects by their bases.
#[derive(Default)]
pub(super) struct Objects {
    stretches: BTreeMap<u64, Vec<(u64, Object)>>,
    count: usize,
}

impl Objects {
    /// An object is at `base` from now on.
    pub(super) fn add(&mut self, base: u64, object: Object) {
        let stretch = self.stretches.entry(base >> STRETCH).or_default();
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

    #[cold]
    fn forget_half(&mut self) {
        while self.count > MOST / 2
            && let Some((_, oldest)) = self.stretches.pop_first()
        {
            self.count -= oldest.len();
        }
    }

    /// The last object that begins at an address or before, and its base.
    pub(super) fn around(&self, address: u64) -> Option<(u64, Object)> {
        let begins_before = |stretch: &Vec<(u64, Object)>| {
            let after = stretch.partition_point(|object| object.0 <= address);
            Some(stretch[after.checked_sub(1)?])
        };
        let stretches = self.stretches.range(..=address >> STRETCH).rev();
        // In that of the address itself all may begin behind it.
        stretches.take(2).find_map(|(_, stretch)| begins_before(stretch))
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
