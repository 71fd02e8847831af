//! `atomvet demo`: a trace that ships with the program, checked, and what to try next.

use std::fmt::Write;

use atomvet_check::Config;
use atomvet_check::registry::CHECKERS;
use atomvet_trace::wellformed::Discipline;

use crate::examine::{Instances, Options, Serial, Verify, Wanted, examine};
use crate::output::Output;
use crate::predicted::Predicting;
use crate::spool::Source;
use crate::status::Status;
use crate::text;

/// The trace.
const BANK: &str = include_str!("../../../tests/corpus/demo-bank.std");

/// What errors and reports call it.
const NAME: &str = "demo-bank.std";

/// Options of `demo`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Print the trace itself instead of checking it
    #[arg(long)]
    trace: bool,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let text = if args.trace { BANK.to_owned() } else { story()? };
    Output::stdout().write_all_of(&text)?;
    Ok(Status::Clean)
}

fn story() -> anyhow::Result<String> {
    let options = Options {
        algorithms: CHECKERS.iter().take(1).collect(),
        config: Config::default(),
        discipline: Discipline::Strict,
        spec: None,
        instances: Instances::Folded,
        witnesses: Wanted::Shown(usize::MAX),
        verify: Verify::Yes,
        serial_order: Serial::No,
        predicting: Predicting::default(),
    };
    let examined = examine(&mut Source::embedded(NAME, BANK.as_bytes()), &options)?;
    let mut text = "\
A bank with three tellers, recorded while it ran. Every access of the balance is under the lock, so
there is no data race. But deposit takes the lock twice, once to read and once to write:

"
    .to_owned();
    for line in BANK.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "   {line}");
    }
    text.push_str("\nThis is what `atomvet check` says about it:\n\n");
    text.push_str(&text::report(&examined, usize::MAX));
    text.push_str(
        "
What to try next:
   atomvet demo --trace > bank.std               keep the trace
   atomvet check bank.std                        check it: exit status 1, because something is not atomic
   atomvet check --algo all --verify bank.std    every algorithm, every witness confirmed independently
   atomvet compare bank.std                      the algorithms side by side
   atomvet refine bank.std                       which blocks were atomic and which not: a specification
   atomvet explain serializable                  what the words mean
",
    );
    Ok(text)
}
