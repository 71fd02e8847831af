//! The contract that everything in atomvet shares: events, names, the formats they are stored
//! in, and the discipline a trace keeps.
//!
//! ```text
//! bytes ──► input ──► std_text | binary ──► wellformed ──► blocks of Event ──► checkers
//!                                  gen ──────────┘
//! ```
//!
//! Checkers see [`Event`]s only: 16 bytes each, dense ids instead of names. [`Names`] turns ids
//! back into what the trace called them.

pub mod binary;
pub mod commuting;
pub mod conventions;
pub mod error;
pub mod event;
pub mod foreign;
pub mod r#gen;
pub mod input;
pub mod names;
pub mod objects;
mod opcode;
pub mod rapid;
pub mod std_text;
pub mod wellformed;

pub use conventions::{Accesses, Conflicts, Conventions, Updates, Waits};
pub use error::{Error, ErrorKind, Place};
pub use event::{
    AccessKind, BarrierId, Event, EventId, LockId, Mode, Op, RegionId, SiteId, ThreadId, UpdateKind, VarId,
};
pub use input::{Format, Input, Output};
pub use names::Names;
