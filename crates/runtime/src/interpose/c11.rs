//! C11 threads. glibc makes them of its POSIX ones without calling the functions that can be interposed.

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};

use super::{semaphores, synchronise, threads};
use crate::real::real;
use crate::ring::Kind;

unsafe extern "C" fn first_function(room: *mut c_void) -> c_int {
    let birth = threads::born(room as usize);
    threads::begin(&birth);
    let (start, argument) = birth.start_and_argument();
    // SAFETY: what the creator asked for.
    unsafe { core::mem::transmute::<usize, unsafe extern "C" fn(usize) -> c_int>(start)(argument) }
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn thrd_create(handle: *mut usize, start: usize, argument: usize) -> c_int {
    naked_asm!("mov rcx, [rsp]", "jmp {}", sym create)
}

extern "C" fn create(handle: *mut usize, start: usize, argument: usize, place: usize) -> c_int {
    let real = real!(c"thrd_create": fn(*mut usize, usize, usize) -> c_int);
    let Some((room, serial)) = threads::announce(start, argument, place) else {
        // SAFETY: the caller's arguments.
        return unsafe { real(handle, start, argument) };
    };
    // SAFETY: the caller's arguments, but for the function, which calls the caller's.
    let result = unsafe { real(handle, first_function as *const () as usize, room) };
    threads::created(room, serial, result, handle);
    result
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn thrd_join(handle: usize, result: *mut c_int) -> c_int {
    naked_asm!("mov rdx, [rsp]", "jmp {}", sym join)
}

extern "C" fn join(handle: usize, value: *mut c_int, place: usize) -> c_int {
    let serial = threads::find(handle);
    // SAFETY: the caller's arguments.
    let result = unsafe { real!(c"thrd_join": fn(usize, *mut c_int) -> c_int)(handle, value) };
    if result == 0 {
        threads::joined(serial, place);
    }
    result
}

macro_rules! taking {
    ($($function:ident $body:ident $name:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $function(lock: usize, time: usize) -> c_int {
                naked_asm!("mov rdx, [rsp]", "jmp {}", sym $body)
            }
            extern "C" fn $body(lock: usize, time: usize, place: usize) -> c_int {
                // SAFETY: the caller's arguments, for the function that the caller meant.
                let result = unsafe { real!($name: fn(usize, usize) -> c_int)(lock, time) };
                if result == 0 {
                    synchronise(Kind::Acquire, lock, place);
                }
                result
            }
        )*
    };
}

taking! {
    mtx_lock mutex_lock c"mtx_lock";
    mtx_trylock mutex_trylock c"mtx_trylock";
    mtx_timedlock mutex_timedlock c"mtx_timedlock";
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn mtx_unlock(lock: usize) -> c_int {
    naked_asm!("mov rsi, [rsp]", "jmp {}", sym mutex_unlock)
}

extern "C" fn mutex_unlock(lock: usize, place: usize) -> c_int {
    synchronise(Kind::Release, lock, place);
    // SAFETY: the caller's argument.
    unsafe { real!(c"mtx_unlock": fn(usize) -> c_int)(lock) }
}

macro_rules! waiting {
    ($($function:ident $body:ident $name:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $function(condition: usize, lock: usize, time: usize) -> c_int {
                naked_asm!("mov rcx, [rsp]", "jmp {}", sym $body)
            }
            extern "C" fn $body(condition: usize, lock: usize, time: usize, place: usize) -> c_int {
                synchronise(Kind::Wait, lock, place);
                // SAFETY: the caller's arguments, for the function that the caller meant.
                unsafe { real!($name: fn(usize, usize, usize) -> c_int)(condition, lock, time) }
            }
        )*
    };
}

waiting! {
    cnd_wait condition_wait c"cnd_wait";
    cnd_timedwait condition_timedwait c"cnd_timedwait";
}

#[unsafe(no_mangle)]
unsafe extern "C" fn call_once(flag: usize, function: unsafe extern "C" fn()) {
    let real = real!(c"call_once": fn(usize, unsafe extern "C" fn()));
    // SAFETY: the caller's arguments, but for the function, which calls the caller's.
    unsafe {
        semaphores::once(flag, function, |f| {
            real(flag, f);
            0
        });
    }
}
