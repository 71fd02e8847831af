//! The command as a user sees it: every test runs the binary.

mod bounds;
mod check;
mod commands;
mod common;
mod conventions;
mod diff;
mod docs;
mod everyday;
mod experiment;
mod json;
mod many;
mod predict;
mod process;
mod report;
mod schema;
mod text;
