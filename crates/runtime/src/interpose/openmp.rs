//! OpenMP as gcc compiles it. Teams wait for work in libgomp, which is not instrumented, so that starting and
//! finishing a parallel region, its barriers and its critical sections have to be told apart here.

use core::arch::naked_asm;
use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::mem::offset_of;

use atomvet_recorder::blocks;

use super::synchronise;
use crate::real::{Real, real};
use crate::ring::{Block, Kind, LOW};
use crate::{process, thread};

type Body = unsafe extern "C" fn(*mut c_void);

/// What a team works on. Lives on the stack of its master, who waits for the team.
#[derive(Clone, Copy)]
#[repr(C)]
struct Region {
    body: Body,
    argument: *mut c_void,
}

thread_local! {
    /// The region of the innermost team that this thread is in; 0 if it is alone.
    static TEAM: Cell<usize> = const { Cell::new(0) };
}

/// One member of a team, the master among them.
unsafe extern "C" fn member(region: *mut c_void) {
    let object = region as usize;
    let outer = TEAM.replace(object);
    synchronise(Kind::Observe, object, 0);
    // SAFETY: the master waits until all members are done.
    let Region { body, argument } = unsafe { *region.cast::<Region>() };
    // Bodies have no hooks, and what they call is not what a thread was made for.
    let stack = &raw const outer as usize;
    blocks::enter((Block::Function as u64) << 48 | body as usize as u64 & LOW, stack, 0);
    // SAFETY: as the program wants it.
    unsafe { body(argument) };
    blocks::jump(stack);
    if let Some(thread) = thread::current() {
        blocks::leave(thread);
    }
    synchronise(Kind::Publish, end_of(object), 0);
    TEAM.set(outer);
}

/// What members make known when they are done. Other members, which may start later, do not come after that.
fn end_of(region: usize) -> usize {
    region + offset_of!(Region, argument)
}

/// Functions that have a team work on a body: the body, its argument, and up to six that differ.
macro_rules! parallel {
    ($($function:ident $name:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $function(
                body: Body, argument: *mut c_void, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize,
            ) -> usize {
                type Function = unsafe extern "C" fn(
                    Body, *mut c_void, usize, usize, usize, usize, usize, usize) -> usize;
                static REAL: Real = Real::new($name, None);
                let real = REAL.function::<Function>();
                // SAFETY: the caller's arguments, but for the function, which calls the caller's. What the caller did
                // not give is not looked at.
                let work = |body, argument| unsafe { real(body, argument, a, b, c, d, e, f) };
                parallel(body, argument, work)
            }
        )*
    };
}

parallel! {
    GOMP_parallel c"GOMP_parallel";
    GOMP_parallel_reductions c"GOMP_parallel_reductions";
    GOMP_parallel_sections c"GOMP_parallel_sections";
    GOMP_parallel_loop_static c"GOMP_parallel_loop_static";
    GOMP_parallel_loop_dynamic c"GOMP_parallel_loop_dynamic";
    GOMP_parallel_loop_guided c"GOMP_parallel_loop_guided";
    GOMP_parallel_loop_runtime c"GOMP_parallel_loop_runtime";
    GOMP_parallel_loop_nonmonotonic_dynamic c"GOMP_parallel_loop_nonmonotonic_dynamic";
    GOMP_parallel_loop_nonmonotonic_guided c"GOMP_parallel_loop_nonmonotonic_guided";
    GOMP_parallel_loop_nonmonotonic_runtime c"GOMP_parallel_loop_nonmonotonic_runtime";
    GOMP_parallel_loop_maybe_nonmonotonic_runtime c"GOMP_parallel_loop_maybe_nonmonotonic_runtime";
}

fn parallel(body: Body, argument: *mut c_void, work: impl FnOnce(Body, *mut c_void) -> usize) -> usize {
    if !process::has_started() {
        return work(body, argument);
    }
    let mut region = Region { body, argument };
    let object = (&raw mut region).cast::<c_void>();
    synchronise(Kind::Publish, object as usize, 0);
    // Its blocks go on afterwards: what it does as a member of the team, it does beside the others.
    synchronise(Kind::Suspend, object as usize, 0);
    let result = work(member, object);
    synchronise(Kind::Observe, end_of(object as usize), 0);
    synchronise(Kind::Resume, object as usize, 0);
    result
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

/// Barriers are the team's. Outside of every team there is nobody to wait for, and any object will do.
fn arrive() {
    synchronise(Kind::Barrier, TEAM.get().max(ALONE), 0);
}

const ALONE: usize = 0x20;

macro_rules! barriers {
    ($($function:ident $name:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $function() -> c_int {
                arrive();
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
    GOMP_loop_end_cancel c"GOMP_loop_end_cancel";
    GOMP_sections_end c"GOMP_sections_end";
    GOMP_sections_end_cancel c"GOMP_sections_end_cancel";
}

macro_rules! omp_locks {
    ($($set:ident $set_name:literal $test:ident $test_name:literal $unset:ident $unset_name:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $test(lock: usize) -> c_int {
                // SAFETY: the caller's argument.
                let has_it = unsafe { real!($test_name: fn(usize) -> c_int)(lock) };
                if has_it != 0 {
                    synchronise(Kind::Acquire, lock, 0);
                }
                has_it
            }
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
    omp_set_lock c"omp_set_lock" omp_test_lock c"omp_test_lock" omp_unset_lock c"omp_unset_lock";
    omp_set_nest_lock c"omp_set_nest_lock" omp_test_nest_lock c"omp_test_nest_lock"
        omp_unset_nest_lock c"omp_unset_nest_lock";
}
