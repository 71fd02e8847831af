//! Accesses to data, from the hooks to the checker.

use atomvet_live::access::{Access as Accessed, Operation};

use crate::{process, recording, stream, thread};

/// What is done to data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    Read,
    Write,
}

/// An access of up to 8 bytes that the fast path did not recognise as a repetition.
#[inline(always)]
pub(crate) fn uncovered(access: Access, address: usize, bytes: usize, place: usize) {
    check(access, address, bytes, place);
}

/// An access of up to 8 bytes.
pub(crate) fn access(access: Access, address: usize, bytes: usize, place: usize) {
    check(access, address, bytes, place);
}

/// An access.
pub(crate) fn access_range(access: Access, address: usize, bytes: usize, place: usize) {
    check(access, address, bytes, place);
}

#[inline(always)]
fn check(access: Access, address: usize, bytes: usize, place: usize) {
    let Some(thread) = thread::watched() else { return };
    let Some(engine) = process::engine() else { return };
    let done = thread.at_work(|thread| {
        let operation = if access == Access::Read { Operation::Read } else { Operation::Write };
        recording::accessed(thread, operation, address, bytes, place);
        let accessed =
            Accessed { address: address as u64, bytes: bytes as u64, site: place as u64, operation };
        match access {
            Access::Read => engine.read(thread.checked(), &accessed),
            Access::Write => engine.write(thread.checked(), &accessed),
        }
    });
    if done.is_none() {
        stream::count_lost_in_handler();
    }
}
