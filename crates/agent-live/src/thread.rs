//! The threads of the JVM: which of the checker's threads each is, and what is known of those that start and end.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use atomvet_live::blocks::Root;
use atomvet_live::epoch::Epoch;
use atomvet_live::table::Counter;
use atomvet_live::thread::Thread;

use crate::{process, ring};

thread_local! {
    static CURRENT: Cell<Option<&'static Thread>> = const { Cell::new(None) };
    /// The JVM's number of the running thread.
    static KEY: Cell<i64> = const { Cell::new(0) };
}

/// The JVM's number of its first thread.
const FIRST: i64 = 1;

/// By the JVM's number: threads that are about to begin, and the last epochs of those that have ended. By the checker's: their
/// names.
#[derive(Default)]
struct Others {
    unborn: HashMap<i64, &'static Thread>,
    ended: HashMap<i64, Epoch>,
    names: HashMap<usize, String>,
}

static OTHERS: Mutex<Option<Others>> = Mutex::new(None);

fn with_others<R>(act: impl FnOnce(&mut Others) -> R) -> R {
    let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
    act(others.get_or_insert_default())
}

/// The running thread, if it is followed.
#[inline]
pub(crate) fn current() -> Option<&'static Thread> {
    CURRENT.get()
}

/// The JVM's number of the running thread.
pub(crate) fn key() -> i64 {
    KEY.get()
}

/// In the words of blocks that the running thread enters: whether it is another than the first.
pub(crate) fn elsewhere() -> u64 {
    if KEY.get() == FIRST { 0 } else { ring::ELSEWHERE }
}

/// Follows the running thread from now on: as the child that its creator announced, or as one of which nothing is known.
pub(crate) fn attach(key: i64, name: String) -> Option<&'static Thread> {
    let engine = process::engine()?;
    let announced = with_others(|others| others.unborn.remove(&key));
    let thread = announced.or_else(|| engine.start(None));
    let counter = if thread.is_some() { Counter::Threads } else { Counter::LostThreads };
    engine.findings.0.counter(counter).fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    if let Some(thread) = thread {
        // Of the callers of a block it only matters whether there are any: see `roles.rs`.
        thread.blocks().start_over(Root::Main);
        with_others(|others| others.names.insert(thread.index(), name));
    }
    CURRENT.set(thread);
    KEY.set(key);
    thread
}

/// The name of a thread, by its index.
pub(crate) fn name(index: usize) -> Option<String> {
    with_others(|others| others.names.get(&index).cloned())
}

/// A thread is about to start another.
pub(crate) fn fork(parent: &Thread, key: i64) {
    if let Some(child) = process::engine().and_then(|engine| engine.start(Some(parent))) {
        with_others(|others| others.unborn.insert(key, child));
    }
}

/// It was not started after all.
pub(crate) fn is_not_started(key: i64) {
    if let (Some(engine), Some(child)) = (process::engine(), with_others(|others| others.unborn.remove(&key)))
    {
        engine.finish(child);
    }
}

/// A thread has waited for the end of another.
pub(crate) fn join(thread: &Thread, key: i64, site: i32) {
    let Some(engine) = process::engine() else { return };
    engine.split(thread);
    let last = with_others(|others| {
        // One that did nothing that has a hook is not attached: it ends here.
        let idle = others.unborn.remove(&key).map(|idle| engine.finish(idle));
        idle.or_else(|| others.ended.get(&key).copied())
    });
    if let Some(last) = last {
        engine.join(thread, last, site as u64);
    }
}

/// The running thread ends.
pub(crate) fn end() {
    let (Some(engine), Some(thread)) = (process::engine(), CURRENT.take()) else { return };
    while thread.has_open_blocks() {
        engine.end(thread);
    }
    let last = engine.finish(thread);
    with_others(|others| others.ended.insert(KEY.get(), last));
}
