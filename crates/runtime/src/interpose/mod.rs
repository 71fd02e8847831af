//! Functions of libc and others that this library defines in their place, to see threads, synchronisation and
//! memory come and go. Each does what the real one does, by calling it.

pub(crate) mod annotations;
mod c11;
mod forward;
mod jumps;
pub(crate) mod libraries;
mod locks;
pub(crate) mod memory;
mod openmp;
mod semaphores;
mod strings;
pub(crate) mod threads;

use crate::ring::Kind;
use crate::thread::Thread;
use crate::{atomics, late, planes, process, shadow, stream};

/// Records a synchronisation, if anything is recorded. Before the first event of an instrumented file nothing is.
#[inline]
pub(crate) fn synchronise(kind: Kind, object: usize, place: usize) {
    recording(|thread| {
        if receives(kind) {
            late::record_bare(thread);
            thread.receive();
        }
        stream::record(thread, kind, 0, object as u64, place);
        match kind {
            Kind::Acquire | Kind::AcquireShared => thread.locks += 1,
            Kind::Release => thread.locks = thread.locks.saturating_sub(1),
            Kind::NotData => atomics::always_record(object),
            _ => {}
        }
    });
}

/// Does something with the running thread that may make records.
#[inline]
pub(crate) fn recording(something: impl FnOnce(&mut Thread)) {
    if !process::has_started() {
        return;
    }
    let Some(thread) = Thread::recording() else { return };
    if thread.busy == 0 {
        thread.busy = 1;
        something(thread);
        thread.busy = 0;
    }
}

fn receives(kind: Kind) -> bool {
    // What a thread is given by a wait or at a barrier, it has at its next event. What it did before blocks are split or
    // suspended covers nothing afterwards.
    use Kind::{Acquire, AcquireShared, Await, Barrier, Join, Observe, Resume, Split, Suspend, Take, Wait};
    matches!(
        kind,
        Acquire | AcquireShared | Await | Barrier | Join | Observe | Resume | Split | Suspend | Take | Wait
    )
}

/// Records that memory begins a new life.
pub(crate) fn new_life(address: usize, bytes: usize) {
    if !process::has_started() || address == 0 || bytes == 0 {
        return;
    }
    let Some(thread) = Thread::recording() else { return };
    if thread.busy != 0 {
        return;
    }
    thread.busy = 1;
    if planes::forget(address, bytes) || shadow::records_all() {
        stream::record_pair(thread, Kind::NewLife, address as u64, bytes as u64);
    }
    thread.busy = 0;
}
