//! What `load.rs` asks of this library.

use crate::{names, process};

/// Whether the program is checked from now on.
pub(crate) fn begin() -> bool {
    let begins = process::open();
    if begins {
        names::open();
    }
    begins
}
