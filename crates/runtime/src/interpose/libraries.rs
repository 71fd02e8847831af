//! Libraries that are loaded later. `dlopen` itself stays libc's, because what it finds depends on who calls it;
//! instrumented libraries call `__tsan_init` when they are loaded.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

use crate::process;

/// The start of libc's `struct dl_phdr_info`.
#[repr(C)]
struct Loaded {
    address: usize,
    name: usize,
    segments: usize,
    segment_count: u16,
    times_loaded: u64,
}

unsafe extern "C" {
    fn dl_iterate_phdr(
        callback: unsafe extern "C" fn(*const Loaded, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

static TIMES_LOADED: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" fn first(library: *const Loaded, _: usize, times: *mut c_void) -> c_int {
    // SAFETY: libc gives a library, and `notice_new` a number.
    unsafe { *times.cast::<u64>() = (*library).times_loaded };
    1
}

/// Renews the copy of the memory map if libraries were loaded since the last time.
pub(crate) fn notice_new() {
    let mut times = 0u64;
    // SAFETY: the callback gets the number's address back.
    unsafe { dl_iterate_phdr(first, (&raw mut times).cast()) };
    if TIMES_LOADED.swap(times, Ordering::Relaxed) != times {
        process::renew_maps();
    }
}
