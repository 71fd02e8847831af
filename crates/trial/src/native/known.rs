//! What the checker is known to get wrong, each with a small program. Where a mode has to be exact, random programs do without it
//! until it is right: then it is switched on here, and stays on.

/// Something that programs may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feature {
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
            Feature::UpdatesOfData => false,
        }
    }
}
