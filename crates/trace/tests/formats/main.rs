//! The trace formats from outside: reading, writing, round trips, damage.

mod binary;
mod common;
mod input;
mod text;
