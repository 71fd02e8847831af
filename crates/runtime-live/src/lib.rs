//! Stands in for ThreadSanitizer's runtime inside a program under test and checks it where it runs.
//!
//! ```text
//! compiler's hooks ──► fast path: one load, one compare ──► crates/live: the exact checker ──► table ──► the command
//! interposed calls ──► threads, locks, waits, memory ──────────┘
//! ```
//!
//! The library's name is `libtsan.so.2`, so that programs built for ThreadSanitizer load it instead. It replaces
//! `crates/runtime` and the recorder once it passes every trial; until then the interposed functions are shared with that
//! crate by path, and the modules below offer them what the recorder did.
//!
//! Nothing here allocates from the program's heap, unwinds, or changes `errno`. What cannot be done is said in one line,
//! and the program goes on.

// The shared files name the recorder; here this crate is meant.
extern crate self as atomvet_recorder;

pub(crate) use atomvet_ring as ring;
pub(crate) use atomvet_ring::sys;

mod attach;
pub(crate) mod blocks;
pub(crate) mod guards;
mod hooks;
mod host;
mod interpose;
#[expect(dead_code, unreachable_pub, reason = "shared with the recorder until that goes")]
#[path = "../../recorder/src/lock.rs"]
pub(crate) mod lock;
pub(crate) mod planes;
#[path = "../../runtime/src/presence.rs"]
mod presence;
pub(crate) mod process;
#[path = "../../runtime/src/real.rs"]
mod real;
pub(crate) mod recording;
pub(crate) mod reloaded;
pub(crate) mod shadow;
pub(crate) mod stream;
pub(crate) mod thread;
