//! `atomvet gen`.
use crate::status::Status;

/// Options of `gen`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

/// Runs it.
pub(crate) fn run(_args: &Args) -> anyhow::Result<Status> {
    Ok(Status::Clean)
}
