//! Functions of libc and others that this library defines in their place, to see threads, waits and memory come and go.
//! Each does what the real one does, by calling it.

#[path = "../../../runtime/src/interpose/annotations.rs"]
pub(crate) mod annotations;
#[path = "../../../runtime/src/interpose/c11.rs"]
mod c11;
#[path = "../../../runtime/src/interpose/forward.rs"]
mod forward;
mod futex;
#[path = "../../../runtime/src/interpose/jumps.rs"]
mod jumps;
#[path = "../../../runtime/src/interpose/libraries.rs"]
pub(crate) mod libraries;
mod locks;
#[path = "../../../runtime/src/interpose/memory.rs"]
pub(crate) mod memory;
#[path = "../../../runtime/src/interpose/openmp.rs"]
mod openmp;
#[path = "../../../runtime/src/interpose/semaphores.rs"]
mod semaphores;
#[path = "../../../runtime/src/interpose/strings.rs"]
mod strings;
pub(crate) mod threads;

use atomvet_live::engine::Engine;
use atomvet_live::table::Table;

use crate::ring::Kind;
use crate::thread::Thread;
use crate::{guards, planes, process, recording};

/// Tells the checker of a synchronisation. With data conflicts only waits matter, which split blocks.
#[inline]
pub(crate) fn synchronise(kind: Kind, object: usize, place: usize) {
    use Kind::{
        Acquire, AcquireShared, Await, Barrier, NotData, Observe, Post, Publish, Release, ReleaseExclusive,
        Resume, Split, Suspend, Take, Wait,
    };
    checking(|engine, thread| {
        recording::synchronised(thread, kind, object, place);
        let (thread, object, place) = (thread.checked(), object as u64, place as u64);
        match kind {
            Acquire | Release | ReleaseExclusive => engine.lock(thread, object, place),
            // Until the thread goes on, it does nothing.
            Wait => {
                engine.lock(thread, object, place);
                engine.split(thread);
            }
            AcquireShared => engine.lock_shared(thread, object, place),
            Await => engine.finds_done(thread, object, place),
            // Those of OpenMP: pthread's say when they are left.
            Barrier | Split => engine.split(thread),
            Post => engine.post(thread, object),
            Take => engine.take(thread, object, place),
            Publish => engine.publish(thread, object),
            Observe => engine.observe(thread, object, place),
            Suspend => engine.suspend(thread, object),
            Resume => engine.resume(thread),
            NotData => guards::add(object as usize),
            _ => {}
        }
    });
}

/// Does something with the checker and the running thread.
#[inline]
pub(crate) fn checking(something: impl FnOnce(&'static Engine<Table>, &Thread)) {
    if !process::has_started() {
        return;
    }
    let (Some(thread), Some(engine)) = (Thread::recording(), process::engine()) else { return };
    thread.at_work(|thread| something(engine, thread));
}

/// Memory begins a new life.
pub(crate) fn new_life(address: usize, bytes: usize) {
    if address != 0 && bytes != 0 {
        checking(|_, thread| {
            recording::pair(thread, Kind::NewLife, address as u64, bytes as u64);
            planes::forget(address, bytes);
        });
    }
}
