//! Random programs whose violated blocks are known by brute force, and the comparison of a checker's findings with them.
//!
//! ```text
//! seed ──► program ──► events in a total order ──► truth: violated blocks per label ┐
//!             │                                                                      ├─► equal, or reduce and show
//!             └──► runs in that order under the checker ──► report (JSON) ──► blamed ┘
//! ```
//!
//! Nothing here uses the checkers' code: agreement of two computations that share a mistake would mean nothing.

pub mod blamed;
pub mod jvm;
mod library;
pub mod native;
pub mod random;
pub mod reduce;
pub mod truth;
