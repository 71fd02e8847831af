//! What the recorder asks of this library.

use atomvet_recorder::process::Host;

use crate::{atomics, names, process};

/// Whether the program is recorded from now on.
pub(crate) fn begin() -> bool {
    atomics::mean_all_reads();
    process::is_recording()
}

#[unsafe(no_mangle)]
static ATOMVET_HOST: Host = Host {
    before: || {},
    after: names::open,
    in_child: || {},
    // Blocks of a JVM's are left with a word; no stack pointer is needed.
    stack_bounds: || (0, 0),
    // The JVM tells when a thread ends.
    thread_started: || {},
};
