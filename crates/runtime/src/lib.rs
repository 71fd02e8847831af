//! Stands in for ThreadSanitizer's runtime inside the watched program and records what it does.
//!
//! ```text
//! compiler's hooks ──► shadow: is it covered by a record? ──► stream ──► ring ──► the command
//! interposed calls ──────────────────────────────────────────┘
//! ```
//!
//! The library's name is `libtsan.so.2`, so that programs built for ThreadSanitizer load it instead. It judges
//! nothing: the command reads the records and does. Without a directory for them in the environment
//! ([`ring::DIRECTORY`]) it does nothing at all.
//!
//! Rules of the house, as in `crates/recorder`: nothing here allocates, unwinds, or changes `errno`; nothing takes a lock on the path of an
//! access that is covered; what cannot be done is said in one line, and the program goes on.

use atomvet_recorder::{atomics, late, lock, planes, process, ring, shadow, stream, sys, thread};

mod attach;
mod blocks;
mod hooks;
mod host;
mod interpose;
mod presence;
mod real;
