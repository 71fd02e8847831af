//! Code that stands where other code stood before: functions there are other functions, though they have the addresses of those.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use crate::ring::LOW;

/// Stretches from which a library was unloaded lie between these.
static FIRST: AtomicU64 = AtomicU64::new(u64::MAX);
static END: AtomicU64 = AtomicU64::new(0);
/// How often that happened.
static TIMES: AtomicU64 = AtomicU64::new(0);

/// The bit of a block word from which on it says how often code was unloaded where it is.
const SHIFT: u32 = 52;

/// A library is gone.
pub(crate) fn unloaded(start: u64, bytes: u64) {
    TIMES.fetch_add(1, Relaxed);
    FIRST.fetch_min(start, Relaxed);
    END.fetch_max(start + bytes, Relaxed);
}

/// A function's block word, different from those of functions that were at its address before.
#[inline(always)]
pub(crate) fn told_apart(block: u64) -> u64 {
    let address = block & LOW;
    if address < END.load(Relaxed) && address >= FIRST.load(Relaxed) {
        return block | TIMES.load(Relaxed) << SHIFT;
    }
    block
}
