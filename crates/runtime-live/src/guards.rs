//! The guards of C++ static variables. Compiled code looks at a guard itself, by an atomic load, and calls the library only where
//! there is something to do. Who finds the variable initialised may have waited for that, or would have.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const ROOM: usize = 1 << 12;

/// Guards that the library was called for, each near the place that its address says.
static GUARDS: [AtomicUsize; ROOM] = [const { AtomicUsize::new(0) }; ROOM];

fn places(address: usize) -> impl Iterator<Item = &'static AtomicUsize> {
    const TRIES: usize = 16;
    let start = address.wrapping_mul(0x9e37_79b9_7f4a_7c15_usize) >> 52;
    (0..TRIES).map(move |i| &GUARDS[(start + i) % ROOM])
}

/// This is one. (Where there is no room, it is taken for data.)
pub(crate) fn add(address: usize) {
    let is_there = |place: &AtomicUsize| match place.compare_exchange(0, address, Relaxed, Relaxed) {
        Ok(_) => true,
        Err(other) => other == address,
    };
    let _ = places(address).any(is_there);
}

/// Whether this is one.
#[inline]
pub(crate) fn is_one(address: usize) -> bool {
    let found =
        places(address).map(|place| place.load(Relaxed)).find(|&other| other == 0 || other == address);
    found == Some(address)
}
