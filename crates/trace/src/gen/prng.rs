//! Pseudo-random numbers that are the same everywhere: xoshiro256++ (Blackman and Vigna, 2018),
//! seeded with splitmix64. Integers only.

/// A stream of numbers that a seed determines.
#[derive(Clone, Debug)]
pub(super) struct Prng([u64; 4]);

impl Prng {
    pub(super) fn new(seed: u64) -> Prng {
        let mut state = seed;
        Prng(std::array::from_fn(|_| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        }))
    }

    #[inline]
    fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.0;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.0 = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// A number below `n`, which is not 0. The bias is below n / 2^32.
    #[inline]
    pub(super) fn below(&mut self, n: u32) -> u32 {
        debug_assert!(n > 0, "there is no number below 0");
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// A number from `least` to `most`, both included.
    #[inline]
    pub(super) fn between(&mut self, least: u32, most: u32) -> u32 {
        least + self.below(most - least + 1)
    }

    /// True `percent` times out of 100.
    #[inline]
    pub(super) fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_algorithm() {
        // The reference code's first outputs for the state 1, 2, 3, 4.
        let mut prng = Prng([1, 2, 3, 4]);
        let expected = [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205];
        assert_eq!(expected.map(|_| prng.next()), expected);
    }

    #[test]
    fn ranges_are_met() {
        let mut prng = Prng::new(7);
        let mut seen = [0; 5];
        for _ in 0..5000 {
            seen[(prng.between(3, 7) - 3) as usize] += 1;
        }
        assert!(seen.iter().all(|count| (850..1150).contains(count)), "{seen:?}");
        assert!(!prng.percent(0) && prng.percent(100));
    }
}
