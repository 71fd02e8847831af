//! Functions that copy, fill and compare memory: accesses, wherever they are called from, but for what
//! `libraries.rs` leaves out.

use core::arch::naked_asm;
use core::ffi::{c_char, c_int, c_void};

use super::libraries::concerns_nobody;
use crate::real::real;
use crate::shadow::{self, Access};
use crate::thread;

/// The running thread records, and is not in the runtime itself.
#[inline(always)]
fn is_watched() -> bool {
    thread::current().is_some_and(|thread| !thread.is_busy())
}

fn touch(access: Access, address: *const c_void, bytes: usize, place: usize) {
    if is_watched() && !concerns_nobody(access, address as usize, place) {
        shadow::access_range(access, address as usize, bytes, place);
    }
}

type Copy = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;

macro_rules! with_three_arguments {
    ($($function:ident $body:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $function(a: usize, b: usize, c: usize) -> usize {
                naked_asm!("mov rcx, [rsp]", "jmp {}", sym $body)
            }
        )*
    };
}

with_three_arguments! {
    memcpy copy;
    memmove copy_overlapping;
    memset fill;
    __tsan_memcpy copy;
    __tsan_memmove copy_overlapping;
    __tsan_memset fill;
    memcmp compare;
    memchr find_byte;
    strcpy copy_text;
    strncpy copy_some_text;
    strcat append_text;
    strncat append_some_text;
    strcmp compare_text;
    strncmp compare_some_text;
    strlen length_of_text;
    strnlen length_of_some_text;
    strchr find_in_text;
    strrchr find_last_in_text;
    strdup duplicate_text;
}

unsafe extern "C" fn copy(to: *mut c_void, from: *const c_void, bytes: usize, place: usize) -> *mut c_void {
    touch(Access::Read, from, bytes, place);
    touch(Access::Write, to, bytes, place);
    let real: Copy = real!(c"memcpy" @ c"GLIBC_2.14": fn(*mut c_void, *const c_void, usize) -> *mut c_void);
    // SAFETY: the caller's arguments.
    unsafe { real(to, from, bytes) }
}

unsafe extern "C" fn copy_overlapping(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    place: usize,
) -> *mut c_void {
    touch(Access::Read, from, bytes, place);
    touch(Access::Write, to, bytes, place);
    let real: Copy = real!(c"memmove": fn(*mut c_void, *const c_void, usize) -> *mut c_void);
    // SAFETY: the caller's arguments.
    unsafe { real(to, from, bytes) }
}

unsafe extern "C" fn fill(to: *mut c_void, byte: c_int, bytes: usize, place: usize) -> *mut c_void {
    touch(Access::Write, to, bytes, place);
    // SAFETY: the caller's arguments.
    unsafe { real!(c"memset": fn(*mut c_void, c_int, usize) -> *mut c_void)(to, byte, bytes) }
}

unsafe extern "C" fn compare(a: *const c_void, b: *const c_void, bytes: usize, place: usize) -> c_int {
    touch(Access::Read, a, bytes, place);
    touch(Access::Read, b, bytes, place);
    // SAFETY: the caller's arguments.
    unsafe { real!(c"memcmp": fn(*const c_void, *const c_void, usize) -> c_int)(a, b, bytes) }
}

unsafe extern "C" fn find_byte(a: *const c_void, byte: c_int, bytes: usize, place: usize) -> *mut c_void {
    // SAFETY: the caller's arguments.
    let found = unsafe { real!(c"memchr": fn(*const c_void, c_int, usize) -> *mut c_void)(a, byte, bytes) };
    let looked_at = if found.is_null() { bytes } else { found as usize - a as usize + 1 };
    touch(Access::Read, a, looked_at, place);
    found
}

/// # Safety
/// A text, as the caller's caller says.
unsafe fn length(text: *const c_char) -> usize {
    // SAFETY: a text.
    unsafe { real!(c"strlen": fn(*const c_char) -> usize)(text) }
}

/// # Safety
/// A text or at least `most` bytes.
unsafe fn length_within(text: *const c_char, most: usize) -> usize {
    // SAFETY: a text.
    unsafe { real!(c"strnlen": fn(*const c_char, usize) -> usize)(text, most) }
}

unsafe extern "C" fn copy_text(to: *mut c_char, from: *const c_char, _: usize, place: usize) -> *mut c_char {
    // SAFETY: the caller's arguments.
    unsafe {
        let bytes = length(from) + 1;
        touch(Access::Read, from.cast(), bytes, place);
        touch(Access::Write, to.cast(), bytes, place);
        real!(c"strcpy": fn(*mut c_char, *const c_char) -> *mut c_char)(to, from)
    }
}

unsafe extern "C" fn copy_some_text(
    to: *mut c_char,
    from: *const c_char,
    most: usize,
    place: usize,
) -> *mut c_char {
    // SAFETY: the caller's arguments.
    unsafe {
        let bytes = most.min(length_within(from, most) + 1);
        touch(Access::Read, from.cast(), bytes, place);
        touch(Access::Write, to.cast(), most, place);
        real!(c"strncpy": fn(*mut c_char, *const c_char, usize) -> *mut c_char)(to, from, most)
    }
}

unsafe extern "C" fn append_text(
    to: *mut c_char,
    from: *const c_char,
    _: usize,
    place: usize,
) -> *mut c_char {
    // SAFETY: the caller's arguments.
    unsafe {
        let (before, bytes) = (length(to), length(from) + 1);
        touch(Access::Read, from.cast(), bytes, place);
        touch(Access::Read, to.cast(), before, place);
        touch(Access::Write, to.add(before).cast(), bytes, place);
        real!(c"strcat": fn(*mut c_char, *const c_char) -> *mut c_char)(to, from)
    }
}

unsafe extern "C" fn append_some_text(
    to: *mut c_char,
    from: *const c_char,
    most: usize,
    place: usize,
) -> *mut c_char {
    // SAFETY: the caller's arguments.
    unsafe {
        let (before, bytes) = (length(to), length_within(from, most));
        touch(Access::Read, from.cast(), bytes, place);
        touch(Access::Read, to.cast(), before, place);
        touch(Access::Write, to.add(before).cast(), bytes + 1, place);
        real!(c"strncat": fn(*mut c_char, *const c_char, usize) -> *mut c_char)(to, from, most)
    }
}

unsafe extern "C" fn compare_text(a: *const c_char, b: *const c_char, _: usize, place: usize) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe {
        if is_watched() {
            touch(Access::Read, a.cast(), length(a) + 1, place);
            touch(Access::Read, b.cast(), length(b) + 1, place);
        }
        real!(c"strcmp": fn(*const c_char, *const c_char) -> c_int)(a, b)
    }
}

unsafe extern "C" fn compare_some_text(
    a: *const c_char,
    b: *const c_char,
    most: usize,
    place: usize,
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe {
        if is_watched() {
            for text in [a, b] {
                touch(Access::Read, text.cast(), most.min(length_within(text, most) + 1), place);
            }
        }
        real!(c"strncmp": fn(*const c_char, *const c_char, usize) -> c_int)(a, b, most)
    }
}

unsafe extern "C" fn length_of_text(text: *const c_char, _: usize, _: usize, place: usize) -> usize {
    // SAFETY: the caller's argument.
    let bytes = unsafe { length(text) };
    touch(Access::Read, text.cast(), bytes + 1, place);
    bytes
}

unsafe extern "C" fn length_of_some_text(text: *const c_char, most: usize, _: usize, place: usize) -> usize {
    // SAFETY: the caller's arguments.
    let bytes = unsafe { length_within(text, most) };
    touch(Access::Read, text.cast(), most.min(bytes + 1), place);
    bytes
}

unsafe extern "C" fn find_in_text(text: *const c_char, byte: c_int, _: usize, place: usize) -> *mut c_char {
    // SAFETY: the caller's arguments.
    unsafe {
        let found = real!(c"strchr": fn(*const c_char, c_int) -> *mut c_char)(text, byte);
        if is_watched() {
            let bytes = if found.is_null() { length(text) } else { found as usize - text as usize };
            touch(Access::Read, text.cast(), bytes + 1, place);
        }
        found
    }
}

unsafe extern "C" fn find_last_in_text(
    text: *const c_char,
    byte: c_int,
    _: usize,
    place: usize,
) -> *mut c_char {
    // SAFETY: the caller's arguments.
    unsafe {
        touch(Access::Read, text.cast(), length(text) + 1, place);
        real!(c"strrchr": fn(*const c_char, c_int) -> *mut c_char)(text, byte)
    }
}

unsafe extern "C" fn duplicate_text(text: *const c_char, _: usize, _: usize, place: usize) -> *mut c_char {
    // SAFETY: the caller's argument.
    unsafe {
        touch(Access::Read, text.cast(), length(text) + 1, place);
        real!(c"strdup": fn(*const c_char) -> *mut c_char)(text)
    }
}
