//! Locks of the runtime's own: a few instructions inside, no libc, no allocation.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;

/// A spin lock that lets others run when it takes long. Not fair, which nobody relies on.
pub struct Spin(AtomicU32);

impl Default for Spin {
    fn default() -> Self {
        Spin::new()
    }
}

impl Spin {
    /// One that nobody holds.
    pub const fn new() -> Spin {
        Spin(AtomicU32::new(0))
    }

    /// Takes it, however long that takes.
    #[inline(always)]
    pub fn lock(&self) {
        if self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.wait();
        }
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) {
        let mut tries = 0;
        while self.0.load(Ordering::Relaxed) != 0
            || self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            tries += 1;
            if tries % 64 == 0 { sys::pause() } else { core::hint::spin_loop() }
        }
    }

    /// Takes it if nobody has it.
    #[inline(always)]
    pub fn try_lock(&self) -> bool {
        self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Gives it back.
    #[inline(always)]
    pub fn unlock(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// Frees a lock whose holder does not exist in this process.
    pub fn reset(&self) {
        self.unlock();
    }
}

/// Something that only the holder of its lock sees.
pub struct Guarded<T> {
    lock: Spin,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through `Held`, of which the lock allows one at a time.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// Guards a value.
    pub const fn new(value: T) -> Self {
        Guarded { lock: Spin::new(), value: UnsafeCell::new(value) }
    }

    /// The value, until what is returned is dropped.
    pub fn lock(&self) -> Held<'_, T> {
        self.lock.lock();
        Held(self)
    }

    /// See [`Spin::reset`].
    pub fn reset(&self) {
        self.lock.reset();
    }
}

/// The right to use what a lock guards, until dropped.
pub struct Held<'a, T>(&'a Guarded<T>);

impl<T> Deref for Held<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this thread holds the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread holds the lock.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        self.0.lock.unlock();
    }
}
