//! What the checker has no use for, or counts.

use atomvet_live::table::Counter;

use crate::ring::Kind;
use crate::thread::Thread;
use crate::{process, recording, reloaded};

/// Records of two numbers: libraries that come and go, and the first permits of semaphores.
pub(crate) fn record_pair(thread: &Thread, kind: Kind, first: u64, second: u64) {
    recording::pair(thread, kind, first, second);
    if kind == Kind::Unloaded {
        reloaded::unloaded(first, second);
    }
    if let (Kind::SemaphoreInit, Some(engine)) = (kind, process::engine()) {
        engine.semaphore(first, second);
    }
}

/// A thread could not be followed.
pub(crate) fn count_lost_thread() {
    recording::count_lost_thread();
    count(Counter::LostThreads);
}

/// Adds one to a counter of the table.
pub(crate) fn count(counter: Counter) {
    if let Some(engine) = process::engine() {
        engine.findings.counter(counter).fetch_add(1, core::sync::atomic::Ordering::Relaxed);
    }
}

/// An access in a signal handler that interrupted this library: it is not checked.
#[cold]
#[inline(never)]
pub(crate) fn count_lost_in_handler() {
    recording::count_lost_in_handler();
    count(Counter::LostInHandlers);
}
