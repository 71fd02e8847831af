//! What `load.rs` asks of this library.

use crate::{names, process, ring};

/// Whether the program is checked from now on.
pub(crate) fn begin() -> bool {
    if !process::open() {
        return false;
    }
    names::open();
    let asks_for_locks = std::env::var_os(ring::LIVE_CONFLICTS).is_some();
    if asks_for_locks {
        names::write(
            "e the agent does not check conflicts of locks live; give --conflicts data, or --record as well\n",
        );
    }
    !asks_for_locks
}
