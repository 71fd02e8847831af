//! What the checker is known to get wrong, each with a small program. Where a mode has to be exact, random programs do without it
//! until it is right: then it is switched on here, and stays on.

/// Something that programs may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feature {
    /// Accesses of different widths overlap, and only their own order counts: they race, or are atomic. A variable of several
    /// bytes is split when some of them are first accessed alone, and the new parts do not have its history
    /// (`crates/cli/src/run/variables.rs`). Nothing is blamed in a recording of everything:
    ///
    /// ```text
    /// T1:                             write 4 bytes at 112
    /// T2: [ post s   (T1 takes s)                           write 1 byte at 114 ]
    /// ```
    ///
    /// nor live, with atomics:
    ///
    /// ```text
    /// T1:                             atomic store of 4 bytes at 12
    /// T2: [ atomic load at 12                                         atomic nand of 2 bytes at 14 ]
    /// ```
    MixedWidths,
    /// Threads create others while the recorder's numbers of periods run out (a runtime of the tests, `few_periods`). Batches
    /// of race-free programs that do so were blamed in vain; the cause is not known, and reduced programs were not blamed.
    CreatedWhileNumbersRunOut,
}

impl Feature {
    pub(super) fn is_on(self) -> bool {
        match self {
            Feature::MixedWidths | Feature::CreatedWhileNumbersRunOut => false,
        }
    }
}
