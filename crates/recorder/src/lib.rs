//! Records what the threads of a watched program do. Part of what such a program loads: `crates/runtime` for native
//! programs, `crates/agent` for a JVM.
//!
//! ```text
//! accesses ──► shadow: is it covered by a record? ──► stream ──► ring ──► the command
//! locks, threads, … ─────────────────────────────────┘
//! blocks: a stack per thread, announced when something is recorded inside
//! ```
//!
//! It judges nothing: the command reads the records and does. Without a directory for them in the environment
//! ([`ring::DIRECTORY`]) it does nothing at all.
//!
//! Rules of the house: nothing here allocates, unwinds, or changes `errno`; nothing takes a lock on the path of an
//! access that is covered; what cannot be done is said in one line, and the program goes on.

pub use atomvet_ring as ring;
pub use atomvet_ring::sys;

pub mod atomics;
pub mod blocks;
pub mod handover;
pub mod late;
pub mod lock;
pub mod periods;
pub mod planes;
pub mod process;
pub mod shadow;
pub mod stream;
pub mod thread;
