//! Programs and libraries that `atomvet cc` has linked bring hooks of their own, which do nothing alone (`linked/`). Here they
//! are directed to this library.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::hooks::plain::LAYOUT;
use crate::{host, process, sys, thread};

/// A slot of `linked/`: where its hook goes on, and the name under which this library exports that.
#[repr(C)]
struct Slot {
    function: AtomicPtr<c_void>,
    name: *const c_char,
}

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Fills the slots of a module, if the program is under test. The hooks of a module that does not say how threads are laid out, as
/// the first versions did not, stay as they are, all of them: a part would tell of blocks without ends.
#[unsafe(no_mangle)]
unsafe extern "C" fn atomvet_attach(first: *mut Slot, end: *mut Slot) {
    // The dynamic linker may allocate when it is asked for names: those functions have to be known.
    host::__tsan_init();
    if !process::has_started() {
        return;
    }
    // SAFETY: the caller has slots from `first` to `end`, with names that end with zeros.
    let slots = unsafe { core::slice::from_raw_parts(first.cast_const(), end.offset_from_unsigned(first)) };
    // SAFETY: as above.
    if slots.iter().any(|slot| unsafe { layout(slot) }.is_some()) {
        // SAFETY: as above.
        slots.iter().for_each(|slot| unsafe { fill(slot) });
    } else {
        complain_of_another_version();
    }
}

/// The layout that the hooks of a module go by, if this slot tells it.
///
/// # Safety
/// The slot's name ends with a zero.
unsafe fn layout(slot: &Slot) -> Option<&[u8]> {
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(slot.name) }.to_bytes().strip_prefix(b"atomvet_thread_")
}

/// # Safety
/// The slot's name ends with a zero.
unsafe fn fill(slot: &Slot) {
    // SAFETY: as the caller says.
    if let Some(layout) = unsafe { layout(slot) } {
        // Hooks of another layout find no thread, and go on in this library each time.
        if layout == decimal(LAYOUT, &mut [0; 10]) {
            slot.function.store(core::ptr::without_provenance_mut(thread::offset()), Ordering::Relaxed);
        }
        return;
    }
    // SAFETY: as the caller says. The hooks of modules are hidden, so what is found in all libraries is exported here.
    let function = unsafe { dlsym(core::ptr::null_mut(), slot.name) };
    if !function.is_null() {
        slot.function.store(function, Ordering::Relaxed);
    }
}

/// What such a module does is not seen.
#[cold]
fn complain_of_another_version() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        sys::complain("the program was linked by another version of `atomvet cc`; build it again");
    }
}

fn decimal(number: u32, digits: &mut [u8; 10]) -> &[u8] {
    let (mut rest, mut first) = (number, digits.len());
    while rest != 0 || first == digits.len() {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    &digits[first..]
}
