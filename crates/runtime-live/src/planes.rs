//! Memory that begins a new life.

use crate::process;

/// Nothing is known any more of the variables in a stretch of memory.
pub(crate) fn forget(address: usize, bytes: usize) -> bool {
    if let Some(engine) = process::engine() {
        engine.new_life(address as u64, bytes as u64);
    }
    false
}
