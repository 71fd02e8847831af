//! Semaphores, `pthread_once` and the guards of C++ static variables.
//!
//! A post is recorded before it happens, a successful wait afterwards. What once-only initialisation did is made
//! known to whoever finds it done. It belongs to no block: whoever comes first has to do it, and comes before the others in
//! no other sense. So it splits the blocks of the thread that does it, before and after, and those of others where they come to know of it.

use core::arch::naked_asm;
use core::cell::Cell;
use core::ffi::{c_int, c_void};

use super::synchronise;
use crate::real::real;
use crate::ring::Kind;
use crate::thread::Thread;
use crate::{process, stream};

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_init(semaphore: usize, shared: c_int, value: u32) -> c_int {
    // SAFETY: the caller's arguments.
    let result = unsafe {
        real!(c"sem_init" @ c"GLIBC_2.34": fn(usize, c_int, u32) -> c_int)(semaphore, shared, value)
    };
    if result == 0 {
        initialised(semaphore, value);
    }
    result
}

fn initialised(semaphore: usize, value: u32) {
    if process::has_started()
        && let Some(thread) = Thread::recording()
    {
        thread.at_work(|thread| {
            stream::record_pair(thread, Kind::SemaphoreInit, semaphore as u64, u64::from(value));
        });
    }
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn sem_post(semaphore: usize) -> c_int {
    naked_asm!("mov rsi, [rsp]", "jmp {}", sym post)
}

extern "C" fn post(semaphore: usize, place: usize) -> c_int {
    synchronise(Kind::Post, semaphore, place);
    // SAFETY: the caller's argument.
    unsafe { real!(c"sem_post" @ c"GLIBC_2.34": fn(usize) -> c_int)(semaphore) }
}

macro_rules! counting_down {
    ($($function:ident $body:ident $name:literal $version:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $function(semaphore: usize, a: usize, b: usize) -> c_int {
                naked_asm!("mov rcx, [rsp]", "jmp {}", sym $body)
            }
            extern "C" fn $body(semaphore: usize, a: usize, b: usize, place: usize) -> c_int {
                // SAFETY: the caller's arguments, for the function that the caller meant.
                let result = unsafe { real!($name @ $version: fn(usize, usize, usize) -> c_int)(semaphore, a, b) };
                if result == 0 {
                    synchronise(Kind::Take, semaphore, place);
                }
                result
            }
        )*
    };
}

counting_down! {
    sem_wait wait c"sem_wait" c"GLIBC_2.34";
    sem_trywait trywait c"sem_trywait" c"GLIBC_2.34";
    sem_timedwait timedwait c"sem_timedwait" c"GLIBC_2.34";
    sem_clockwait clockwait c"sem_clockwait" c"GLIBC_2.34";
}

type Function = unsafe extern "C" fn();

/// Which initialisation this thread is in: `pthread_once` passes its function no argument.
struct Once {
    control: Cell<usize>,
    function: Cell<Option<Function>>,
}

thread_local! {
    static ONCE: Once = const { Once { control: Cell::new(0), function: Cell::new(None) } };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_once(control: usize, function: Function) -> c_int {
    // SAFETY: the caller's arguments, but for the function, which calls the caller's.
    unsafe { once(control, function, |f| real!(c"pthread_once": fn(usize, Function) -> c_int)(control, f)) }
}

/// Once-only initialisation by the given real function.
///
/// # Safety
/// `function` may be called.
pub(crate) unsafe fn once(control: usize, function: Function, real: impl FnOnce(Function) -> c_int) -> c_int {
    if !process::has_started() {
        return real(function);
    }
    let outer = ONCE.with(|once| (once.control.replace(control), once.function.replace(Some(function))));
    let result = real(initialise);
    ONCE.with(|once| {
        once.control.set(outer.0);
        once.function.set(outer.1);
    });
    synchronise(Kind::Await, control, 0);
    result
}

unsafe extern "C" fn initialise() {
    let (control, function) = ONCE.with(|once| (once.control.get(), once.function.get()));
    synchronise(Kind::Split, control, 0);
    if let Some(function) = function {
        // SAFETY: the caller of `once` says so.
        unsafe { function() };
    }
    synchronise(Kind::Publish, control, 0);
    synchronise(Kind::Split, control, 0);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cxa_guard_acquire(guard: usize) -> c_int {
    synchronise(Kind::NotData, guard, 0);
    // SAFETY: the caller's argument.
    let to_be_done = unsafe { real!(c"__cxa_guard_acquire": fn(usize) -> c_int)(guard) };
    synchronise(if to_be_done == 0 { Kind::Await } else { Kind::Split }, guard, 0);
    to_be_done
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cxa_guard_release(guard: usize) {
    synchronise(Kind::Publish, guard, 0);
    // SAFETY: the caller's argument.
    unsafe { real!(c"__cxa_guard_release": fn(usize))(guard) }
    synchronise(Kind::Split, guard, 0);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cxa_guard_abort(guard: usize) {
    // SAFETY: the caller's argument.
    unsafe { real!(c"__cxa_guard_abort": fn(usize))(guard) }
    synchronise(Kind::Split, guard, 0);
}

/// A named semaphore: its value is the kernel's business; it counts from what it has now.
#[unsafe(no_mangle)]
unsafe extern "C" fn sem_open(name: *const c_void, flags: c_int, mode: u32, value: u32) -> usize {
    let real = real!(c"sem_open" @ c"GLIBC_2.34": fn(*const c_void, c_int, u32, u32) -> usize);
    // SAFETY: the caller's arguments; those it did not give are not looked at.
    let semaphore = unsafe { real(name, flags, mode, value) };
    if semaphore != 0 {
        let mut now: c_int = 0;
        // SAFETY: the semaphore was just opened.
        unsafe {
            real!(c"sem_getvalue" @ c"GLIBC_2.34": fn(usize, *mut c_int) -> c_int)(semaphore, &raw mut now)
        };
        initialised(semaphore, now.max(0) as u32);
    }
    semaphore
}
