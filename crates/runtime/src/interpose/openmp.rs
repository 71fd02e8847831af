//! OpenMP as gcc compiles it. Teams wait for work in libgomp, which is not instrumented, so that starting and
//! finishing a parallel region, its barriers and its critical sections have to be told apart here.

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};

use super::synchronise;
use crate::process;
use crate::real::real;
use crate::ring::Kind;

type Body = unsafe extern "C" fn(*mut c_void);

/// What a team works on. Lives on the stack of its master, who waits for the team.
struct Region {
    body: Body,
    argument: *mut c_void,
}

/// One member of a team, the master among them.
unsafe extern "C" fn member(region: *mut c_void) {
    let object = region as usize;
    synchronise(Kind::Observe, object, 0);
    // SAFETY: the master waits until all members are done.
    unsafe {
        let Region { body, argument } = *region.cast::<Region>();
        body(argument);
    }
    synchronise(Kind::Publish, object, 0);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_parallel(body: Body, argument: *mut c_void, threads: u32, flags: u32) {
    let real = real!(c"GOMP_parallel": fn(Body, *mut c_void, u32, u32));
    if !process::has_started() {
        // SAFETY: the caller's arguments.
        return unsafe { real(body, argument, threads, flags) };
    }
    let mut region = Region { body, argument };
    let object = (&raw mut region).cast::<c_void>();
    synchronise(Kind::Publish, object as usize, 0);
    // SAFETY: the caller's arguments, but for the function, which calls the caller's.
    unsafe { real(member, object, threads, flags) };
    // The master waits for the others.
    synchronise(Kind::Await, object as usize, 0);
}

/// Critical sections: the unnamed one has no object, so that a number has to do.
const UNNAMED: usize = 0x10;

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn GOMP_critical_start() {
    naked_asm!("mov rdi, [rsp]", "jmp {}", sym critical_start)
}

extern "C" fn critical_start(place: usize) {
    // SAFETY: no arguments.
    unsafe { real!(c"GOMP_critical_start": fn())() };
    synchronise(Kind::Acquire, UNNAMED, place);
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn GOMP_critical_end() {
    naked_asm!("mov rdi, [rsp]", "jmp {}", sym critical_end)
}

extern "C" fn critical_end(place: usize) {
    synchronise(Kind::Release, UNNAMED, place);
    // SAFETY: no arguments.
    unsafe { real!(c"GOMP_critical_end": fn())() };
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn GOMP_critical_name_start(name: usize) {
    naked_asm!("mov rsi, [rsp]", "jmp {}", sym critical_name_start)
}

extern "C" fn critical_name_start(name: usize, place: usize) {
    // SAFETY: the caller's argument.
    unsafe { real!(c"GOMP_critical_name_start": fn(usize))(name) };
    synchronise(Kind::Acquire, name, place);
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn GOMP_critical_name_end(name: usize) {
    naked_asm!("mov rsi, [rsp]", "jmp {}", sym critical_name_end)
}

extern "C" fn critical_name_end(name: usize, place: usize) {
    synchronise(Kind::Release, name, place);
    // SAFETY: the caller's argument.
    unsafe { real!(c"GOMP_critical_name_end": fn(usize))(name) };
}

/// Atomic blocks that the hardware cannot do.
const ATOMIC: usize = 0x18;

#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_atomic_start() {
    // SAFETY: no arguments.
    unsafe { real!(c"GOMP_atomic_start": fn())() };
    synchronise(Kind::Acquire, ATOMIC, 0);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_atomic_end() {
    synchronise(Kind::Release, ATOMIC, 0);
    // SAFETY: no arguments.
    unsafe { real!(c"GOMP_atomic_end": fn())() };
}

/// Barriers of teams: one object per team is not to be had, so one serves all teams. Teams that run at the same
/// time then wait for each other on record, which orders too much; nested parallelism is rare.
const TEAM_BARRIER: usize = 0x20;

macro_rules! barriers {
    ($($function:ident $name:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $function() -> c_int {
                synchronise(Kind::Barrier, TEAM_BARRIER, 0);
                // SAFETY: no arguments.
                unsafe { real!($name: fn() -> c_int)() }
            }
        )*
    };
}

barriers! {
    GOMP_barrier c"GOMP_barrier";
    GOMP_barrier_cancel c"GOMP_barrier_cancel";
    GOMP_loop_end c"GOMP_loop_end";
    GOMP_sections_end c"GOMP_sections_end";
}

macro_rules! omp_locks {
    ($($set:ident $set_name:literal $unset:ident $unset_name:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $set(lock: usize) {
                // SAFETY: the caller's argument.
                unsafe { real!($set_name: fn(usize))(lock) };
                synchronise(Kind::Acquire, lock, 0);
            }
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $unset(lock: usize) {
                synchronise(Kind::Release, lock, 0);
                // SAFETY: the caller's argument.
                unsafe { real!($unset_name: fn(usize))(lock) };
            }
        )*
    };
}

omp_locks! {
    omp_set_lock c"omp_set_lock" omp_unset_lock c"omp_unset_lock";
    omp_set_nest_lock c"omp_set_nest_lock" omp_unset_nest_lock c"omp_unset_nest_lock";
}
