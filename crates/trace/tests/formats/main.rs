//! The trace formats from outside: reading, writing, round trips, damage.

mod binary;
mod common;
mod conventions;
mod input;
mod text;
