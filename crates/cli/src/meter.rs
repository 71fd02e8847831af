//! How much memory and time each checker takes, measured and not guessed.
//!
//! The process's allocator counts every allocation on the account that is current in the
//! allocating thread. Around every call of a checker its account is current, so its bytes are
//! told apart from those of the reader and of the other checkers in the same pass. What a checker
//! frees it has also allocated, so its account never mixes with another. A checker works on one
//! thread, and each thread has accounts of its own: several traces can be checked at once.
//!
//! Cost: a few thread-local accesses and one relaxed atomic operation per allocation; none per event.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::memory;

/// The system's allocator, counting.
pub(crate) struct Counting;

/// How many things can be measured in one pass.
const ACCOUNTS: usize = 32;

struct Balance {
    live: Cell<i64>,
    peak: Cell<i64>,
}

thread_local! {
    static BALANCES: [Balance; ACCOUNTS] =
        const { [const { Balance { live: Cell::new(0), peak: Cell::new(0) } }; ACCOUNTS] };

    /// The account that this thread's allocations count on; `ACCOUNTS` is none.
    static CURRENT: Cell<usize> = const { Cell::new(ACCOUNTS) };
}

fn count(bytes: i64) {
    memory::count(bytes);
    let account = CURRENT.try_with(Cell::get).unwrap_or(ACCOUNTS);
    with_balance(account, |balance| {
        let live = balance.live.get() + bytes;
        balance.live.set(live);
        balance.peak.set(balance.peak.get().max(live));
    });
}

/// Looks at an account of this thread, if it has one of that number.
fn with_balance<T>(account: usize, look: impl FnOnce(&Balance) -> T) -> Option<T> {
    if account >= ACCOUNTS {
        return None;
    }
    BALANCES.try_with(|balances| balances.get(account).map(look)).ok().flatten()
}

fn signed(size: usize) -> i64 {
    // A layout is never larger than `isize::MAX`.
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// Ends the process if the system refused so many bytes: nobody who asked could go on.
fn given(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() {
        memory::refused(signed(size));
    }
    pointer
}

// SAFETY: every call is handed on to the system's allocator unchanged; counting neither allocates
// nor unwinds, because the thread-local is const-initialised and has no destructor. (Above the memory limit it ends the
// process, and allocates before it does: such allocations are counted, and nothing else comes of them.)
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(signed(layout.size()));
        // SAFETY: the caller keeps the contract of `alloc`.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(signed(layout.size()));
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-signed(layout.size()));
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // While a large block moves, both copies may exist; the system mostly remaps instead, so
        // only the difference is counted.
        count(signed(new_size) - signed(layout.size()));
        // SAFETY: the caller keeps the contract of `realloc`.
        given(unsafe { System.realloc(pointer, layout, new_size) }, new_size)
    }
}

/// The time and memory of one of several things that run in turns.
#[derive(Debug)]
pub(crate) struct Meter {
    account: usize,
    spent: Duration,
}

impl Meter {
    /// A meter on an account of its own; what was measured on that account before is forgotten.
    /// Accounts beyond the table's end measure time only.
    pub(crate) fn new(account: usize) -> Meter {
        with_balance(account, |balance| {
            balance.live.set(0);
            balance.peak.set(0);
        });
        Meter { account, spent: Duration::ZERO }
    }

    /// Runs `work` at this meter's expense.
    pub(crate) fn measure<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let before = CURRENT.replace(self.account.min(ACCOUNTS));
        let start = Instant::now();
        let result = work();
        self.spent += start.elapsed();
        CURRENT.set(before);
        result
    }

    /// Seconds of work so far.
    pub(crate) fn seconds(&self) -> f64 {
        self.spent.as_secs_f64()
    }

    /// The most bytes that were in use at once so far.
    pub(crate) fn peak_bytes(&self) -> u64 {
        with_balance(self.account, |balance| u64::try_from(balance.peak.get()).unwrap_or(0)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_only_what_is_measured() {
        let mut first = Meter::new(30);
        let mut second = Meter::new(31);
        let elsewhere = vec![0_u8; 1 << 20];
        let big = first.measure(|| vec![1_u8; 100_000]);
        let small = second.measure(|| vec![1_u8; 1_000]);
        first.measure(|| drop(big));
        let again = first.measure(|| vec![1_u8; 50_000]);
        assert_eq!((first.peak_bytes(), second.peak_bytes()), (100_000, 1_000));
        drop((elsewhere, small, again));
    }
}
