//! The trial of native programs: random C programs, walked through in a forced order under `atomvet run`.
//!
//! - Programs without races: what `run` blames is exactly what is violated, execution by execution.
//! - Programs with races: what `run` blames is violated; what it misses is counted.
//! - Recordings (`--record`): what `check` blames is exactly what is violated, races or not.

mod generate;
mod judge;
mod known;
pub mod live;
mod program;
mod world;

pub use judge::{Engine, Mode, Options, PER_PROCESS, Tallies, Tally, run};
