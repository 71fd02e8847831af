//! The functions of a JVM that are used, by their places in its two tables (JNI and JVMTI 1.2 specifications).
//!
//! Every function here may be called in a thread of the JVM only, with what the JVM gave that thread.

use core::ffi::{c_char, c_void};

/// A reference to an object; null for null.
pub(crate) type Object = *mut c_void;
/// A thread's way into the JVM.
pub(crate) type Env = *mut *const [*const c_void; 240];
/// An agent's way into the JVM.
pub(crate) type Ti = *mut *const [*const c_void; 160];

/// Calls a function of a table.
macro_rules! call {
    ($table:expr, $index:expr, fn($($type:ty),*) $(-> $result:ty)?, $($argument:expr),*) => {{
        let table = $table;
        // SAFETY: the table has this function at this place, with these parameters; who calls gives what they ask for.
        unsafe {
            let function = core::mem::transmute::<*const c_void,
                unsafe extern "system" fn(*mut c_void $(, $type)*) $(-> $result)?>((**table)[$index]);
            function(table.cast() $(, $argument)*)
        }
    }};
}

/// Defines a class of the boot loader; null if that cannot be.
pub(crate) fn define_class(env: Env, name: &core::ffi::CStr, bytes: &[u8]) -> Object {
    call!(
        env,
        5,
        fn(*const c_char, Object, *const u8, i32) -> Object,
        name.as_ptr(),
        core::ptr::null_mut(),
        bytes.as_ptr(),
        bytes.len() as i32
    )
}

pub(crate) fn clear_exception(env: Env) {
    call!(env, 17, fn(),)
}

pub(crate) fn has_exception(env: Env) -> bool {
    call!(env, 228, fn() -> u8,) != 0
}

pub(crate) fn new_global(env: Env, object: Object) -> Object {
    call!(env, 21, fn(Object) -> Object, object)
}

pub(crate) fn new_weak_global(env: Env, object: Object) -> Object {
    call!(env, 226, fn(Object) -> Object, object)
}

pub(crate) fn new_local(env: Env, object: Object) -> Object {
    call!(env, 25, fn(Object) -> Object, object)
}

pub(crate) fn delete_local(env: Env, object: Object) {
    call!(env, 23, fn(Object), object)
}

pub(crate) fn is_same(env: Env, a: Object, b: Object) -> bool {
    call!(env, 24, fn(Object, Object) -> u8, a, b) != 0
}

pub(crate) fn find_class(env: Env, name: &core::ffi::CStr) -> Object {
    call!(env, 6, fn(*const c_char) -> Object, name.as_ptr())
}

pub(crate) fn static_method(
    env: Env,
    class: Object,
    name: &core::ffi::CStr,
    signature: &core::ffi::CStr,
) -> *mut c_void {
    call!(
        env,
        113,
        fn(Object, *const c_char, *const c_char) -> *mut c_void,
        class,
        name.as_ptr(),
        signature.as_ptr()
    )
}

/// Calls a static method without a result, with at most one argument, a reference.
pub(crate) fn call_static(env: Env, class: Object, method: *mut c_void, argument: Object) {
    let arguments = [argument as u64];
    call!(env, 143, fn(Object, *mut c_void, *const u64), class, method, arguments.as_ptr())
}

/// Calls a static method without parameters that gives a reference.
pub(crate) fn call_static_object(env: Env, class: Object, method: *mut c_void) -> Object {
    let arguments = [0u64];
    call!(env, 116, fn(Object, *mut c_void, *const u64) -> Object, class, method, arguments.as_ptr())
}

/// A string of zero-terminated modified UTF-8.
pub(crate) fn new_string(env: Env, text: &core::ffi::CStr) -> Object {
    call!(env, 167, fn(*const c_char) -> Object, text.as_ptr())
}

/// The text of a string, in modified UTF-8.
pub(crate) fn string(env: Env, text: Object) -> Vec<u8> {
    let chars = call!(env, 169, fn(Object, *mut u8) -> *const c_char, text, core::ptr::null_mut());
    if chars.is_null() {
        return Vec::new();
    }
    // SAFETY: the JVM's text, zero-terminated.
    let bytes = unsafe { core::ffi::CStr::from_ptr(chars) }.to_bytes().to_vec();
    call!(env, 170, fn(Object, *const c_char), text, chars);
    bytes
}

/// An array of objects, filled; null if there is no room for it.
pub(crate) fn new_strings(env: Env, texts: &[Vec<u8>]) -> Object {
    let class = find_class(env, c"java/lang/String");
    let length = texts.len() as i32;
    let array = call!(env, 172, fn(i32, Object, Object) -> Object, length, class, core::ptr::null_mut());
    if array.is_null() {
        return array;
    }
    for (index, text) in texts.iter().enumerate() {
        let text = std::ffi::CString::new(text.as_slice()).unwrap_or_default();
        let string = new_string(env, &text);
        call!(env, 174, fn(Object, i32, Object), array, index as i32, string);
        delete_local(env, string);
    }
    delete_local(env, class);
    array
}

/// An agent's way into the JVM, from the JVM itself; null if it has none.
///
/// # Safety
/// `vm` is what the JVM gave the agent.
pub(crate) unsafe fn agent_env(vm: *mut *const [*const c_void; 8]) -> Ti {
    const VERSION: i32 = 0x3001_0200;
    const GET_ENV: usize = 6;
    let mut ti: Ti = core::ptr::null_mut();
    let failed = call!(vm, GET_ENV, fn(*mut Ti, i32) -> i32, &raw mut ti, VERSION);
    if failed == 0 { ti } else { core::ptr::null_mut() }
}

/// What an agent may ask for, as bits.
pub(crate) const ALL_CLASS_HOOK_EVENTS: u64 = 1 << 26;
pub(crate) const MONITOR_EVENTS: u64 = 1 << 28;
pub(crate) const RETRANSFORM: u64 = 1 << 37;
pub(crate) const RETRANSFORM_ANY: u64 = 1 << 38;

/// Zero if it worked; so do all functions below.
pub(crate) fn add_capabilities(ti: Ti, bits: u64) -> i32 {
    let capabilities = [bits, 0];
    call!(ti, 141, fn(*const u64) -> i32, capabilities.as_ptr())
}

/// Functions that the JVM calls, by the number of their event less 50.
pub(crate) type Callbacks = [*const c_void; 38];

pub(crate) fn set_callbacks(ti: Ti, callbacks: &Callbacks) -> i32 {
    call!(ti, 121, fn(*const Callbacks, i32) -> i32, callbacks, size_of::<Callbacks>() as i32)
}

pub(crate) fn enable_event(ti: Ti, event: i32) -> i32 {
    call!(ti, 1, fn(i32, i32, Object) -> i32, 1, event, core::ptr::null_mut())
}

pub(crate) fn allocate(ti: Ti, bytes: usize) -> *mut u8 {
    let mut memory = core::ptr::null_mut();
    let failed = call!(ti, 45, fn(i64, *mut *mut u8) -> i32, bytes as i64, &raw mut memory);
    if failed == 0 { memory } else { core::ptr::null_mut() }
}

pub(crate) fn deallocate(ti: Ti, memory: *mut u8) {
    call!(ti, 46, fn(*mut u8) -> i32, memory);
}

/// A text that the JVM has allocated.
fn take_text(ti: Ti, text: *mut c_char) -> Vec<u8> {
    if text.is_null() {
        return Vec::new();
    }
    // SAFETY: the JVM's text, zero-terminated.
    let bytes = unsafe { core::ffi::CStr::from_ptr(text) }.to_bytes().to_vec();
    deallocate(ti, text.cast());
    bytes
}

/// All classes, as local references.
pub(crate) fn loaded_classes(ti: Ti) -> Vec<Object> {
    let (mut count, mut classes) = (0, core::ptr::null_mut::<Object>());
    let failed = call!(ti, 77, fn(*mut i32, *mut *mut Object) -> i32, &raw mut count, &raw mut classes);
    if failed != 0 || count == 0 {
        return Vec::new();
    }
    // SAFETY: the JVM's array, so long.
    let all = unsafe { core::slice::from_raw_parts(classes, count as usize) }.to_vec();
    deallocate(ti, classes.cast());
    all
}

pub(crate) fn retransform(ti: Ti, classes: &[Object]) -> i32 {
    call!(ti, 151, fn(i32, *const Object) -> i32, classes.len() as i32, classes.as_ptr())
}

pub(crate) fn is_modifiable(ti: Ti, class: Object) -> bool {
    let mut modifiable = 0u8;
    call!(ti, 44, fn(Object, *mut u8) -> i32, class, &raw mut modifiable) == 0 && modifiable != 0
}

/// As `Ljava/lang/Object;`, in modified UTF-8.
pub(crate) fn class_signature(ti: Ti, class: Object) -> Vec<u8> {
    let mut text = core::ptr::null_mut();
    let failed = call!(
        ti,
        47,
        fn(Object, *mut *mut c_char, *mut *mut c_char) -> i32,
        class,
        &raw mut text,
        core::ptr::null_mut()
    );
    if failed == 0 { take_text(ti, text) } else { Vec::new() }
}

pub(crate) fn class_loader(ti: Ti, class: Object) -> Object {
    let mut loader = core::ptr::null_mut();
    call!(ti, 56, fn(Object, *mut Object) -> i32, class, &raw mut loader);
    loader
}

/// A number for an object that does not change.
pub(crate) fn hash_code(ti: Ti, object: Object) -> i32 {
    let mut hash = 0;
    call!(ti, 57, fn(Object, *mut i32) -> i32, object, &raw mut hash);
    hash
}

/// A field: its name, descriptor and modifiers.
pub(crate) type Field = (Vec<u8>, Vec<u8>, i32);

/// The fields that a class declares.
pub(crate) fn class_fields(ti: Ti, class: Object) -> Vec<Field> {
    let (mut count, mut fields) = (0, core::ptr::null_mut::<*mut c_void>());
    let failed = call!(
        ti,
        52,
        fn(Object, *mut i32, *mut *mut *mut c_void) -> i32,
        class,
        &raw mut count,
        &raw mut fields
    );
    if failed != 0 || count == 0 {
        return Vec::new();
    }
    // SAFETY: the JVM's array, so long.
    let ids = unsafe { core::slice::from_raw_parts(fields, count as usize) }.to_vec();
    deallocate(ti, fields.cast());
    let field = |id: *mut c_void| {
        let (mut name, mut signature, mut modifiers) = (core::ptr::null_mut(), core::ptr::null_mut(), 0);
        call!(
            ti,
            59,
            fn(Object, *mut c_void, *mut *mut c_char, *mut *mut c_char, *mut *mut c_char) -> i32,
            class,
            id,
            &raw mut name,
            &raw mut signature,
            core::ptr::null_mut()
        );
        call!(ti, 61, fn(Object, *mut c_void, *mut i32) -> i32, class, id, &raw mut modifiers);
        (take_text(ti, name), take_text(ti, signature), modifiers)
    };
    ids.into_iter().map(field).collect()
}
