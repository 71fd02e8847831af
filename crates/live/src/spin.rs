//! A spin lock in a word: a few instructions inside, no libc, no allocation. It lets others run when it takes long.

use core::sync::atomic::{AtomicU64, Ordering};

/// Takes the lock, however long that takes. Not fair, which nobody relies on.
#[inline(always)]
pub fn lock(word: &AtomicU64) -> Held<'_> {
    while word.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
        wait(word);
    }
    Held(word)
}

#[cold]
#[inline(never)]
fn wait(word: &AtomicU64) {
    let mut tries = 0;
    while word.load(Ordering::Relaxed) != 0 {
        tries += 1;
        if tries % 64 == 0 { std::thread::yield_now() } else { core::hint::spin_loop() }
    }
}

/// Holds a lock until dropped.
#[derive(Debug)]
pub struct Held<'a>(&'a AtomicU64);

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}
