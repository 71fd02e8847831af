//! The functions behind those that this library interposes.
//!
//! Some have several versions in glibc, of which programs that were linked against ThreadSanitizer's runtime
//! would get the oldest, because they ask for none; so the version is named here. See `interpose/forward.rs`.

use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlvsym(library: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// A function further down the line of libraries, looked up when it is first needed.
#[repr(C)]
pub(crate) struct Real {
    function: AtomicPtr<c_void>,
    name: &'static core::ffi::CStr,
    version: Option<&'static core::ffi::CStr>,
}

impl Real {
    pub(crate) const fn new(
        name: &'static core::ffi::CStr,
        version: Option<&'static core::ffi::CStr>,
    ) -> Real {
        Real { function: AtomicPtr::new(core::ptr::null_mut()), name, version }
    }

    /// Its address; null if there is none.
    #[inline(always)]
    pub(crate) fn get(&self) -> *mut c_void {
        let function = self.function.load(Ordering::Relaxed);
        if function.is_null() { self.look_up() } else { function }
    }

    /// It, as what it is. Its users call it as libc declares it, in unsafe code.
    #[inline(always)]
    pub(crate) fn function<F: Copy>(&self) -> F {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: a function pointer; it can only be called unsafely.
        unsafe { core::mem::transmute_copy(&self.get()) }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn look_up(&self) -> *mut c_void {
        const NEXT: *mut c_void = usize::MAX as *mut c_void;
        // SAFETY: the names end with zeros.
        let function = unsafe {
            let versioned = match self.version {
                Some(version) => dlvsym(NEXT, self.name.as_ptr(), version.as_ptr()),
                None => core::ptr::null_mut(),
            };
            if versioned.is_null() { dlsym(NEXT, self.name.as_ptr()) } else { versioned }
        };
        self.function.store(function, Ordering::Relaxed);
        function
    }
}

/// Calls the real function of a name: `real!(sem_post@"GLIBC_2.34": fn(usize) -> c_int)(semaphore)`.
macro_rules! real {
    ($name:literal $(@ $version:literal)?: fn($($argument:ty),* $(,)?) $(-> $result:ty)?) => {{
        static REAL: $crate::real::Real = $crate::real::Real::new($name, real!(@version $($version)?));
        REAL.function::<unsafe extern "C" fn($($argument),*) $(-> $result)?>()
    }};
    (@version) => { None };
    (@version $version:literal) => { Some($version) };
}
pub(crate) use real;

/// Looks up what must not be looked up in the middle of something.
pub(crate) fn resolve_all() {
    crate::interpose::memory::prepare();
}
