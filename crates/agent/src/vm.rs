//! What is known of the JVM once it runs.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::OnceLock;

use crate::jni::{Object, Ti};
use crate::options::Options;

/// A pointer that is set once.
pub(crate) struct Once(AtomicPtr<c_void>);

impl Once {
    const fn new() -> Once {
        Once(AtomicPtr::new(core::ptr::null_mut()))
    }

    pub(crate) fn get(&self) -> *mut c_void {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn set(&self, pointer: *mut c_void) {
        self.0.store(pointer, Ordering::Release);
    }
}

static TI: Once = Once::new();
/// The hook class.
pub(crate) static HOOKS: Once = Once::new();
/// The loader of the JDK's other classes.
pub(crate) static PLATFORM_LOADER: Once = Once::new();
/// Methods of the hook class that the agent calls.
pub(crate) static THREAD_ENDS: Once = Once::new();
pub(crate) static WAITS: Once = Once::new();
/// Classes are rewritten from now on.
pub(crate) static READY: AtomicBool = AtomicBool::new(false);

static OPTIONS: OnceLock<Options> = OnceLock::new();

pub(crate) fn remember(ti: Ti, options: Options) {
    TI.set(ti.cast());
    // Called once.
    let _ = OPTIONS.set(options);
}

pub(crate) fn ti() -> Ti {
    TI.get().cast()
}

pub(crate) fn options() -> &'static Options {
    OPTIONS.get_or_init(Options::default)
}

/// The hook class, as an object.
pub(crate) fn hooks() -> Object {
    HOOKS.get()
}
