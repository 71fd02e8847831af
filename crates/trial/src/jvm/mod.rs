//! Random Java programs, run in a forced order under `atomvet java`.
//!
//! ```text
//! generate ─► program ─► execute ─► order ─► source ─► javac ─► atomvet java ─► blamed ┐
//!                            └────► happenings ─► events ─► truth ─────────────────────┴─► equal?
//! ```
//!
//! - Without a data race, what is blamed is what is violated: as many executions of each method.
//! - With one, what is blamed is violated; some of what is violated may be missed.
//! - A recording of everything is equal to the truth, race or not.
//!
//! `live.rs` runs them with the agent on the live checker instead, without the command. Then only accesses to data conflict.

mod declarations;
mod events;
mod execute;
mod generate;
mod happening;
mod known;
pub mod live;
mod locks;
mod memory;
mod program;
mod races;
mod run;
mod shrink;
mod source;
mod trial;
mod vocabulary;

pub use run::{Setting, Tools, Way};
pub use trial::{Failure, Outcome, Trial};
