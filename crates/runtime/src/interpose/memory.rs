//! Memory that is given back: whatever comes to stand there is another variable. Only the end of a life is
//! recorded; the next one begins there.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use super::new_life;
use crate::process;
use crate::real::{Real, real};

static FREE: Real = Real::new(c"free", None);
static USABLE: Real = Real::new(c"malloc_usable_size", None);
static LOOKING: AtomicBool = AtomicBool::new(false);

/// Looks up what would call itself otherwise.
pub(crate) fn prepare() {
    LOOKING.store(true, Ordering::Relaxed);
    FREE.look_up();
    USABLE.look_up();
    LOOKING.store(false, Ordering::Relaxed);
}

fn size_of_allocation(pointer: *mut c_void) -> usize {
    // SAFETY: the allocator that made it tells.
    unsafe { USABLE.function::<unsafe extern "C" fn(*mut c_void) -> usize>()(pointer) }
}

fn gone(pointer: *mut c_void) {
    if !pointer.is_null() && process::has_started() {
        new_life(pointer as usize, size_of_allocation(pointer));
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(pointer: *mut c_void) {
    if LOOKING.load(Ordering::Relaxed) && !process::has_started() {
        // The dynamic linker gives back an error message while we ask it for this very function: let it be.
        return;
    }
    gone(pointer);
    // SAFETY: the caller's argument.
    unsafe { FREE.function::<unsafe extern "C" fn(*mut c_void)>()(pointer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(pointer: *mut c_void, bytes: usize) -> *mut c_void {
    gone(pointer);
    // SAFETY: the caller's arguments.
    unsafe { real!(c"realloc": fn(*mut c_void, usize) -> *mut c_void)(pointer, bytes) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(address: *mut c_void, bytes: usize) -> c_int {
    if process::has_started() {
        new_life(address as usize, bytes);
    }
    // SAFETY: the caller's arguments.
    unsafe { real!(c"munmap": fn(*mut c_void, usize) -> c_int)(address, bytes) }
}
