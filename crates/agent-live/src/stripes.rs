//! Locks that order accesses to variables that no lock has to protect: volatile fields, atomics, collections. A thread holds the stripe
//! of a variable from before the access until it is over, so that stamps are in the order of the accesses.
//!
//! Java code runs while a stripe is held, and releases it: `AtomvetHooks.finish`. A thread holds one at a time, and takes none of
//! the program's locks meanwhile. Who waits does so in native code, where it delays no garbage collection, as long as it takes.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::thread;

/// Each alone in its cache line.
#[repr(align(64))]
struct Stripe(AtomicU64);

const STRIPES: usize = 1 << 12;
static ALL: [Stripe; STRIPES] = [const { Stripe(AtomicU64::new(0)) }; STRIPES];

/// The stripe of an address.
fn stripe(address: i64) -> &'static AtomicU64 {
    &ALL[address as usize / 4 % STRIPES].0
}

/// Takes the stripe of an address: where the hook class writes 0 to release it.
pub(crate) fn hold(address: i64) -> i64 {
    const SPINS: u32 = 64;
    let mut tries = 0;
    loop {
        let held = hold_or_holder(address);
        if held > 0 {
            return held;
        }
        tries += 1;
        if tries % SPINS == 0 { std::thread::yield_now() } else { core::hint::spin_loop() }
    }
}

/// The same if nobody has it; otherwise the JVM's number of the thread that has it, negated.
pub(crate) fn hold_or_holder(address: i64) -> i64 {
    let stripe = stripe(address);
    match stripe.compare_exchange(0, thread::key() as u64, Acquire, Relaxed) {
        Ok(_) => &raw const *stripe as i64,
        Err(holder) => -(holder as i64),
    }
}
