//! What the recorder asks of this library.

use atomvet_recorder::process::{Host, has_started, is_recording};

use crate::interpose::{libraries, threads};
use crate::real;

#[unsafe(no_mangle)]
static ATOMVET_HOST: Host = Host {
    before: real::resolve_all,
    after,
    in_child,
    stack_bounds: threads::stack_bounds,
    thread_started: threads::say_farewell_later,
};

fn after() {
    threads::prepare();
    libraries::notice();
}

fn in_child() {
    threads::reset_locks();
    libraries::reset_locks();
}

/// What every instrumented file calls before anything else.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __tsan_init() {
    if has_started() {
        libraries::notice()
    } else {
        is_recording();
    }
}
