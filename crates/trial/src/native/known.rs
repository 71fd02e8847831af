//! What the checker is known to get wrong, each with a small program. Where a mode has to be exact, random programs do without it
//! until it is right: then it is switched on here, and stays on.

/// Something that programs may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feature {
    /// Accesses of different widths overlap, and only their own order counts: they race, or are atomic. A variable of several
    /// bytes is split when some of them are first accessed alone, and the new parts do not have its history
    /// (`crates/cli/src/run/variables.rs`). Nothing is blamed in a recording:
    ///
    /// ```text
    /// T1:                             write 4 bytes at 112
    /// T2: [ post s   (T1 takes s)                           write 1 byte at 114 ]
    /// ```
    MixedWidths,
    /// Atomic updates of memory that is also accessed plainly. Updates commute until the first read of the value; the live checker
    /// forgets a plain read once a plain write comes after it (`docs/live.md`, Limits):
    ///
    /// ```text
    /// T1: read 0
    /// T2:        write 0  [ add to 0             read 16 ]
    /// T3:                            add to 0..16, write 16
    /// ```
    UpdatesOfData,
}

impl Feature {
    pub(super) fn is_on(self) -> bool {
        match self {
            Feature::MixedWidths | Feature::UpdatesOfData => false,
        }
    }
}
