//! Locks that order accesses to variables that no lock has to protect: volatile fields, atomics, collections. A thread holds the stripe
//! of a variable from before the access until it is over, so that stamps are in the order of the accesses.
//!
//! Java code runs while a stripe is held, and releases it: `AtomvetHooks.finish`. A thread holds one at a time, and takes none of
//! the program's locks meanwhile. Who waits does so in native code, where it delays no garbage collection, as long as it takes.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use atomvet_live::spin;

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
    let stripe = stripe(address);
    core::mem::forget(spin::lock(stripe));
    &raw const *stripe as i64
}

/// The same; 0 if it cannot be had soon.
pub(crate) fn hold_briefly(address: i64) -> i64 {
    const TRIES: usize = 1000;
    let stripe = stripe(address);
    let is_taken = (0..TRIES).any(|_| {
        let taken = stripe.compare_exchange(0, 1, Acquire, Relaxed).is_ok();
        if !taken {
            std::thread::yield_now();
        }
        taken
    });
    if is_taken { &raw const *stripe as i64 } else { 0 }
}
