//! Programs and libraries that `atomvet cc` has linked bring hooks of their own, which do nothing alone (`linked/`). Here they
//! are directed to this library.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// A slot of `linked/`: where its hook goes on, and the name under which this library exports that.
#[repr(C)]
struct Slot {
    function: AtomicPtr<c_void>,
    name: *const c_char,
}

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Fills the slots of a module. A name that this library does not have belongs to an older or newer one: that hook stays
/// as it is. The slot of the running thread is another runtime's: the fast paths leave everything to this one.
#[unsafe(no_mangle)]
unsafe extern "C" fn atomvet_attach(first: *mut Slot, end: *mut Slot) {
    let mut at = first;
    while at < end {
        // SAFETY: the caller has slots from `first` to `end`, with names that end with zeros. The hooks of modules are
        // hidden, so that what is found in all libraries is exported here.
        unsafe {
            let is_function = !CStr::from_ptr((*at).name).to_bytes().starts_with(b"atomvet_thread_");
            let function =
                if is_function { dlsym(core::ptr::null_mut(), (*at).name) } else { core::ptr::null_mut() };
            if !function.is_null() {
                (*at).function.store(function, Ordering::Relaxed);
            }
            at = at.add(1);
        }
    }
    super::host::__tsan_init();
}
