//! The exact checker inside a running program: epoch RegionTrack in shadow memory.
//!
//! ```text
//! access ──► shadow word = now? ── yes ──► nothing to do               one load, one compare
//!                 │ no
//!                 ▼
//!            rule: which stamps conflict? ──► join ──► history ──► a block began before? ──► findings
//!                 │                           clock
//!                 ▼
//!            stamp the granule with the present epoch
//! ```
//!
//! Paper: RegionTrack (TOSEM 2021), with epochs instead of vector clocks per variable. It computes verdict 2 of
//! `docs/event-model.md`: which block instances are not serializable in the execution that is running.
//!
//! Guarantee: exact for programs without data races. Where plain accesses race, an edge may be lost and none is ever
//! invented. `docs/live.md` states the obligations behind this, each with its argument.
//!
//! Cost: a repeated access in the same epoch is one load and one compare. The first access to a granule in an epoch stamps
//! it. Only a *new* dependence between two threads walks a history, and only a violation builds a witness.
//!
//! The crate has no dependencies, never allocates from the program's heap, never unwinds and never takes a lock on the
//! fast path: it runs inside programs that crash, fork and receive signals.

pub mod access;
mod accesses;
mod atomics;
pub mod blocks;
pub mod clock;
pub mod engine;
pub mod entered;
pub mod epoch;
pub mod found;
pub mod history;
pub mod memory;
pub mod older;
pub mod rule;
pub mod shadow;
mod signals;
pub mod sites;
pub mod spin;
pub mod table;
pub mod thread;
pub mod threads;
pub mod witness;
