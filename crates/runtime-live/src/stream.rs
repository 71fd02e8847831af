//! What the recorder wrote down and the checker has no use for, or counts.

use atomvet_live::table::Counter;

use crate::process;
use crate::ring::Kind;
use crate::thread::Thread;

/// Records of two numbers: libraries that come and go, and the first permits of semaphores.
pub(crate) fn record_pair(_thread: &mut Thread, _kind: Kind, _first: u64, _second: u64) {}

/// A thread could not be followed.
pub(crate) fn count_lost_thread() {
    count(Counter::LostThreads);
}

/// Adds one to a counter of the table.
pub(crate) fn count(counter: Counter) {
    if let Some(engine) = process::engine() {
        engine.findings.counter(counter).fetch_add(1, core::sync::atomic::Ordering::Relaxed);
    }
}
