//! What every instrumented file calls before anything else.

use crate::interpose::libraries;
use crate::process::{has_started, is_recording};

/// The hook.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __tsan_init() {
    if has_started() {
        libraries::notice();
    } else {
        is_recording();
    }
}
