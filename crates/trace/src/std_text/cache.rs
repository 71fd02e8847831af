//! What the fields of recent lines stood for, so that most fields of a text trace need neither
//! parsing nor an interner.
//!
//! A field that is at most 23 bytes long is held, with the byte that ends it, in three words;
//! these are the key of a direct-mapped table. A hit costs a few word operations and one load.
//! With it, text is read twice as fast: 21 instead of 10 million events/s
//! (`cargo run --release -p atomvet-trace --example format_speed`).

/// How many bytes of text a field and its end may take.
pub(crate) const WINDOW: usize = 24;

/// A field together with the byte that ends it, padded with zeros. Two fields with the same key
/// are the same text, because the end is in the key and not in the field. (Three words by name,
/// not an array: they stay in registers.)
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Key {
    first: u64,
    second: u64,
    third: u64,
}

/// The length of the field at the front of `window`, without its end, and its key. Nothing if
/// the end is not in the window.
#[inline(always)]
pub(crate) fn field(window: &[u8; WINDOW], end: u8) -> Option<(usize, Key)> {
    let (words, _) = window.as_chunks::<8>();
    let [first, second, third] = [0, 1, 2].map(|i| u64::from_le_bytes(words[i]));
    if let Some((length, first)) = up_to(first, end) {
        return Some((length, Key { first, second: 0, third: 0 }));
    }
    if let Some((length, second)) = up_to(second, end) {
        return Some((8 + length, Key { first, second, third: 0 }));
    }
    let (length, third) = up_to(third, end)?;
    Some((16 + length, Key { first, second, third }))
}

/// How many bytes of a word stand before its first byte `end`, and the word with nothing behind
/// that byte.
#[inline(always)]
fn up_to(word: u64, end: u8) -> Option<(usize, u64)> {
    // Each byte equal to `end` becomes zero; the lowest high bit left marks the first of them.
    let zero = word ^ u64::from_le_bytes([end; 8]);
    let marks = zero.wrapping_sub(u64::from_le_bytes([0x01; 8])) & !zero & u64::from_le_bytes([0x80; 8]);
    let bit = marks.trailing_zeros();
    (marks != 0).then(|| (bit as usize / 8, word & (u64::MAX >> (63 - bit))))
}

/// What fields stood for when they were last parsed.
#[derive(Debug)]
pub(crate) struct Cache<V> {
    /// A power of two of slots. No field has the key of zeros, with which all start.
    slots: Vec<(Key, V)>,
    /// How far a hash is shifted to become a slot's index.
    shift: u32,
}

impl<V: Copy> Cache<V> {
    /// A cache of `2^bits` slots, all empty.
    pub(crate) fn new(bits: u32, nothing: V) -> Self {
        Cache { slots: vec![(Key::default(), nothing); 1 << bits], shift: 64 - bits }
    }

    #[inline(always)]
    fn slot(&self, key: Key) -> usize {
        let mixed = key.first ^ key.second.rotate_left(23) ^ key.third.rotate_left(41);
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    #[inline(always)]
    pub(crate) fn get(&self, key: Key) -> Option<V> {
        let (found, value) = &self.slots[self.slot(key)];
        // One test of all words: three would be three branches.
        let difference = (found.first ^ key.first) | (found.second ^ key.second) | (found.third ^ key.third);
        (difference == 0).then_some(*value)
    }

    pub(crate) fn put(&mut self, key: Key, value: V) {
        let slot = self.slot(key);
        self.slots[slot] = (key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_wherever_it_ends() {
        for length in 0..WINDOW {
            // The bytes next to `|` in value are those that a borrow could confuse.
            let mut window = [b'}'; WINDOW];
            window[length] = b'|';
            let (found, key) = field(&window, b'|').expect("the end is there");
            assert_eq!(found, length);
            let mut expected = window;
            expected[length + 1..].fill(0);
            let words = [key.first, key.second, key.third];
            assert_eq!(words.map(u64::to_le_bytes).as_flattened(), expected);
        }
        assert_eq!(field(&[b'}'; WINDOW], b'|'), None);
        assert_eq!(field(&[0x80; WINDOW], b'\n'), None);
    }

    #[test]
    fn a_zero_byte_does_not_confuse_keys() {
        let window = |text: &[u8]| {
            let mut window = [b'x'; WINDOW];
            window[..text.len()].copy_from_slice(text);
            field(&window, b'|').expect("the end is there").1
        };
        assert_ne!(window(b"a|"), window(b"a\0|"));
        assert_ne!(window(b"|"), Key::default());
    }

    #[test]
    fn what_was_put_is_found_until_it_is_replaced() {
        let mut cache = Cache::new(1, 0);
        let keys: Vec<Key> = (1..100).map(|i| Key { first: i, second: i, third: 0 }).collect();
        for (i, &key) in keys.iter().enumerate() {
            assert_eq!(cache.get(key), None);
            cache.put(key, i);
            assert_eq!(cache.get(key), Some(i));
        }
    }
}
