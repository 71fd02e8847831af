//! Checkers of what could have happened: would another schedule of the recorded execution violate a block?

pub mod schedule;
