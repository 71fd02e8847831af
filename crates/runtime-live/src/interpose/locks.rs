//! Mutexes, read-write locks, spin locks and condition variables.
//!
//! With data conflicts nothing is asked of locks but that waits split blocks. With lock conflicts an acquire is a conflicting
//! access when the lock is held, a release before it is released.

use core::arch::naked_asm;
use core::cell::Cell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

use super::{checking, synchronise};
use crate::real::real;
use crate::recording;
use crate::ring::Kind;

thread_local! {
    /// Read-write locks that this thread holds shared with others; it may hold more, which then count as exclusive.
    static SHARED: [Cell<usize>; 8] = const { [const { Cell::new(0) }; 8] };
}

/// A lock was taken.
fn taken(kind: Kind, lock: usize, place: usize) {
    if kind == Kind::AcquireShared {
        SHARED.with(|held| held.iter().find(|held| held.get() == 0).map(|free| free.set(lock)));
    }
    synchronise(kind, lock, place);
}

/// A lock is about to be released.
fn released(lock: usize, place: usize) {
    let is_shared = SHARED.with(|held| held.iter().find(|held| held.get() == lock).map(|held| held.set(0)));
    if is_shared.is_none() {
        return synchronise(Kind::Release, lock, place);
    }
    checking(|engine, thread| {
        recording::synchronised(thread, Kind::Release, lock, place);
        engine.lock_shared(thread.checked(), lock as u64, place as u64);
    });
}

/// A wait on a condition is over.
fn waited(lock: usize, place: usize) {
    checking(|engine, thread| engine.lock(thread.checked(), lock as u64, place as u64));
}

/// Only for the function that waits for a mutex as long as it takes.
macro_rules! wait_a_moment {
    (mutex_lock, $lock:ident) => {
        wait_a_moment($lock)
    };
    ($body:ident, $lock:ident) => {};
}

/// Waits until a mutex is free, but not long. Locks are held longer than without us, because what is done under them is checked,
/// and two calls of the kernel for every taking of a lock that is held for a moment would cost more than the checks.
///
/// # Safety
/// It is a mutex.
#[inline(always)]
unsafe fn wait_a_moment(mutex: usize) {
    const TIMES: u32 = 200;
    // As the GNU C library lays them out: 0 if nobody has it, and 0 if it is of the usual kind.
    // SAFETY: as above; a moment later both may be different, which does not matter.
    let (owned, kind) = unsafe { (&*(mutex as *const AtomicU32), &*((mutex + 16) as *const AtomicU32)) };
    if owned.load(Ordering::Relaxed) != 0 && kind.load(Ordering::Relaxed) == 0 {
        let is_free = |_| {
            core::hint::spin_loop();
            owned.load(Ordering::Relaxed) == 0
        };
        let _ = (0..TIMES).any(is_free);
    }
}

/// The lock's last owner died: it is held all the same.
const OWNER_DIED: c_int = 130;

/// `name(lock)`, `name(lock, time)` and `name(lock, clock, time)`, which take a lock.
macro_rules! taking {
    ($($function:ident $body:ident $name:literal: $kind:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $function(lock: usize, a: usize, b: usize) -> c_int {
                naked_asm!("mov rcx, [rsp]", "jmp {}", sym $body)
            }
            extern "C" fn $body(lock: usize, a: usize, b: usize, place: usize) -> c_int {
                // SAFETY: the caller's arguments, for the function that the caller meant.
                let result = unsafe {
                    wait_a_moment!($body, lock);
                    real!($name: fn(usize, usize, usize) -> c_int)(lock, a, b)
                };
                if result == 0 || result == OWNER_DIED {
                    taken(Kind::$kind, lock, place);
                }
                result
            }
        )*
    };
}

taking! {
    pthread_mutex_lock mutex_lock c"pthread_mutex_lock": Acquire;
    pthread_mutex_trylock mutex_trylock c"pthread_mutex_trylock": Acquire;
    pthread_mutex_timedlock mutex_timedlock c"pthread_mutex_timedlock": Acquire;
    pthread_mutex_clocklock mutex_clocklock c"pthread_mutex_clocklock": Acquire;
    pthread_rwlock_wrlock rwlock_wrlock c"pthread_rwlock_wrlock": Acquire;
    pthread_rwlock_trywrlock rwlock_trywrlock c"pthread_rwlock_trywrlock": Acquire;
    pthread_rwlock_timedwrlock rwlock_timedwrlock c"pthread_rwlock_timedwrlock": Acquire;
    pthread_rwlock_clockwrlock rwlock_clockwrlock c"pthread_rwlock_clockwrlock": Acquire;
    pthread_rwlock_rdlock rwlock_rdlock c"pthread_rwlock_rdlock": AcquireShared;
    pthread_rwlock_tryrdlock rwlock_tryrdlock c"pthread_rwlock_tryrdlock": AcquireShared;
    pthread_rwlock_timedrdlock rwlock_timedrdlock c"pthread_rwlock_timedrdlock": AcquireShared;
    pthread_rwlock_clockrdlock rwlock_clockrdlock c"pthread_rwlock_clockrdlock": AcquireShared;
    pthread_spin_lock spin_lock c"pthread_spin_lock": Acquire;
    pthread_spin_trylock spin_trylock c"pthread_spin_trylock": Acquire;
}

/// Functions that give a lock back.
macro_rules! giving {
    ($($function:ident $body:ident $name:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $function(lock: usize) -> c_int {
                naked_asm!("mov rsi, [rsp]", "jmp {}", sym $body)
            }
            extern "C" fn $body(lock: usize, place: usize) -> c_int {
                released(lock, place);
                // SAFETY: the caller's argument, for the function that the caller meant.
                unsafe { real!($name: fn(usize) -> c_int)(lock) }
            }
        )*
    };
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn pthread_mutex_unlock(lock: usize) -> c_int {
    naked_asm!("mov rsi, [rsp]", "jmp {}", sym mutex_unlock)
}

extern "C" fn mutex_unlock(lock: usize, place: usize) -> c_int {
    synchronise(Kind::Release, lock, place);
    // SAFETY: the caller's argument.
    unsafe { real!(c"pthread_mutex_unlock": fn(usize) -> c_int)(lock) }
}

giving! {
    pthread_rwlock_unlock rwlock_unlock c"pthread_rwlock_unlock";
    pthread_spin_unlock spin_unlock c"pthread_spin_unlock";
}

/// Waits on a condition; `$clock` stands for a further argument of one of them.
macro_rules! waiting {
    ($($function:ident $body:ident $name:literal $version:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $function(condition: usize, lock: usize, a: usize, b: usize) -> c_int {
                naked_asm!("mov r8, [rsp]", "jmp {}", sym $body)
            }
            extern "C" fn $body(condition: usize, lock: usize, a: usize, b: usize, place: usize) -> c_int {
                synchronise(Kind::Wait, lock, place);
                let wait = real!($name @ $version: fn(usize, usize, usize, usize) -> c_int);
                // SAFETY: the caller's arguments, for the function that the caller meant.
                let result = unsafe { wait(condition, lock, a, b) };
                waited(lock, place);
                result
            }
        )*
    };
}

waiting! {
    pthread_cond_wait cond_wait c"pthread_cond_wait" c"GLIBC_2.3.2";
    pthread_cond_timedwait cond_timedwait c"pthread_cond_timedwait" c"GLIBC_2.3.2";
    pthread_cond_clockwait cond_clockwait c"pthread_cond_clockwait" c"GLIBC_2.34";
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn pthread_barrier_wait(barrier: usize) -> c_int {
    naked_asm!("mov rsi, [rsp]", "jmp {}", sym barrier_wait)
}

extern "C" fn barrier_wait(barrier: usize, place: usize) -> c_int {
    let mut episode = 0;
    checking(|engine, thread| {
        recording::synchronised(thread, Kind::Barrier, barrier, place);
        episode = engine.arrive(thread.checked(), barrier as u64);
    });
    // SAFETY: the caller's argument.
    let result = unsafe { real!(c"pthread_barrier_wait": fn(usize) -> c_int)(barrier) };
    checking(|engine, thread| engine.leave(thread.checked(), barrier as u64, episode, place as u64));
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_barrier_init(barrier: usize, attributes: usize, threads: u32) -> c_int {
    // SAFETY: the caller's arguments.
    let result = unsafe {
        real!(c"pthread_barrier_init": fn(usize, usize, u32) -> c_int)(barrier, attributes, threads)
    };
    if result == 0 {
        checking(|engine, _| engine.barrier(barrier as u64, u64::from(threads)));
    }
    result
}
