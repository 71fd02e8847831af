//! Checkers of what happened: is the recorded interleaving serializable, and which blocks are not
//! atomic in it? One file per algorithm.

pub mod aerodrome;
pub mod aerodrome_basic;
pub mod doublechecker;
pub mod regiontrack;
pub mod regiontrack_printed;
pub mod velodrome;
