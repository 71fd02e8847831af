//! The `atomvet` command: owns all process I/O, exit statuses, progress and Ctrl-C.
//!
//! ```text
//! spool ──► pipeline ──► examine ──► json | text ──► output
//!            (reader thread, meter)      one file per command drives this
//! ```

mod algorithms;
mod aside;
mod baseline;
mod cc;
mod check;
mod compare;
mod configuration;
mod convert;
mod demo;
mod examine;
mod explain;
mod generate;
mod grid;
mod idioms;
mod interrupt;
mod json;
mod list;
mod meter;
mod output;
mod pipeline;
mod predicted;
mod progress;
mod refine;
mod report;
mod run;
mod say;
mod spec;
mod spool;
mod stats;
mod status;
mod suggest;
mod tally;
mod text;
mod traces;
mod visible;
mod why;
mod writer;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand, ValueEnum};

use crate::status::Status;

#[global_allocator]
static ALLOCATOR: meter::Counting = meter::Counting;

/// Tells whether the code you believe to be atomic really is.
///
/// Reads recorded executions of multithreaded programs and checks whether the blocks that should
/// be atomic were: exactly, with the interleaving that broke them and the reason for every step.
#[derive(Parser, Debug)]
#[command(name = "atomvet", version, propagate_version = true, subcommand_required = true, arg_required_else_help = true, after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Start here:
  atomvet demo                        a bug in a small bank, found and explained
  atomvet check trace.std             is every block atomic? (text or binary, .gz and .zst as well)
  atomvet check --format json - < t   from a pipe, for a program
  atomvet check --predict trace.std   would another schedule break a block?
  atomvet compare trace.std           every algorithm on one trace
  atomvet refine a.std b.std -o spec.toml && atomvet check --spec spec.toml c.std

Exit status: 0 clean; 1 violations; 2 wrong use or bad input; 3 nothing was observed
(no events, no block, or one thread only). `atomvet explain` says what the words mean.";

#[derive(Subcommand, Debug)]
enum Command {
    /// Run a program and check it live: which of its functions are not atomic, and why
    #[command(after_help = RUN_HELP)]
    Run(Box<run::Args>),
    /// Compile C so that `run` can watch it: a drop-in for gcc and clang
    #[command(after_help = CC_HELP)]
    Cc(cc::Args),
    /// Compile C++ so that `run` can watch it: a drop-in for g++ and clang++
    #[command(name = "c++", after_help = CC_HELP)]
    Cpp(cc::Args),
    /// Check traces: which blocks are not atomic, and why
    #[command(after_help = CHECK_HELP)]
    Check(check::Args),
    /// Run every algorithm on a trace and compare what they say and cost
    #[command(after_help = COMPARE_HELP)]
    Compare(compare::Args),
    /// Render findings that were kept as JSON: HTML, SARIF, JUnit, Graphviz, Perfetto
    #[command(after_help = REPORT_HELP)]
    Report(report::Args),
    /// Write the findings of today to a file, so that `check --baseline` fails on new ones only
    #[command(after_help = BASELINE_HELP)]
    Baseline(baseline::Args),
    /// Print which blocks were seen violated and which not, as a specification
    #[command(after_help = REFINE_HELP)]
    Refine(refine::Args),
    /// Print what a trace consists of
    Stats(stats::Args),
    /// Convert a trace between the text and the binary format
    #[command(after_help = CONVERT_HELP)]
    Convert(convert::Args),
    /// Generate a trace: random or realistic, with or without a violation
    #[command(after_help = GEN_HELP)]
    Gen(generate::Args),
    /// Explain a word of a report, a shape, an algorithm, an exit status
    Explain(explain::Args),
    /// List the algorithms: papers, guarantees, costs
    List(list::Args),
    /// Check a trace that ships with the program, and say what to try next
    Demo(demo::Args),
}

const RUN_HELP: &str = "\
Examples:
  gcc -g -fsanitize=thread bank.c -o bank && atomvet run -- ./bank
  make CC=\"atomvet cc\" CXX=\"atomvet c++\" && atomvet run -- ./test_suite
  atomvet run --refine spec.toml -- ./test_suite && atomvet run --spec spec.toml -- ./test_suite
  atomvet run --record run.atv -- ./prog && atomvet check --split-at-waits --commuting-updates run.atv

Every function of your own code should be atomic, but for main and what threads are started with, unless
a specification or annotations (atomvet.h) say otherwise. The report goes to standard error: standard output is the
program's. If the program fails by itself and nothing else is wrong, the exit status is 2.
docs/native.md says what is seen, what is not, and what it costs.";

const CC_HELP: &str = "\
Examples:
  make CC=\"atomvet cc\" CXX=\"atomvet c++\"
  ATOMVET_CC=clang-14 atomvet cc -O2 -o prog prog.c

ATOMVET_CC and ATOMVET_CXX name the compiler [default: gcc and g++]. What is made runs as usual without
`atomvet run`.";

const CHECK_HELP: &str = "\
Examples:
  atomvet check trace.std
  atomvet check --predict --schedules shown trace.std    what could happen in another schedule
  atomvet check --algo regiontrack,velodrome --verify trace.atv
  atomvet check --spec spec.toml --format json -o report.json run1.atv run2.atv
  atomvet check --format text --format html --format sarif -o report trace.atv    report.html, report.sarif
  zcat trace.gz | atomvet check -

A bad trace among several is reported and the others are still checked.
Ctrl-C reports what was found so far, marked partial; a second Ctrl-C ends at once.";

const COMPARE_HELP: &str = "\
Example:
  atomvet compare --format json trace.atv

Missed and wrong count blocks by instance, against the exact algorithm.";

const REPORT_HELP: &str = "\
Examples:
  atomvet check --format json -o findings.json trace.std
  atomvet report findings.json --format html -o findings.html
  atomvet report findings.json --format sarif --format junit -o findings
  atomvet report findings.json --format dot | dot -Tsvg > cycles.svg";

const BASELINE_HELP: &str = "\
Examples:
  atomvet baseline run1.atv run2.atv -o atomvet.baseline && atomvet check --baseline atomvet.baseline run3.atv
  atomvet baseline findings.json -o atomvet.baseline        from a report in JSON";

const REFINE_HELP: &str = "\
Example:
  atomvet refine run1.atv run2.atv -o spec.toml
  atomvet check --spec spec.toml run3.atv";

const CONVERT_HELP: &str = "\
Examples:
  atomvet convert trace.std -o trace.atv
  atomvet convert trace.atv -o - | head
  atomvet convert --to text - -o trace.txt < trace.atv";

const GEN_HELP: &str = "\
Examples:
  atomvet gen --seed 7 -o small.std
  atomvet gen --mode two-phase --events 10000000 --threads 16 -o big.atv

The same options and seed give the same bytes.";

/// For whom a result is written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs: documented in docs/json.md.
    Json,
}

fn main() -> ExitCode {
    if let Some(status) = cc::intercept() {
        return status;
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(help) if help.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // It goes to standard error: nobody is left to tell if this fails.
            let _ = help.print();
            return Status::BadInput.into();
        }
        Err(error) if error.use_stderr() => {
            let message = error.render().to_string();
            say::error(message.trim_start_matches("error: ").trim_end());
            return Status::BadInput.into();
        }
        Err(help) => {
            return ended(output::ended_early(help.print()).map(|()| Status::Clean).map_err(Into::into));
        }
    };
    ended(interrupt::install().and_then(|()| match &arguments.command {
        Command::Run(args) => run::run(args),
        Command::Cc(_) | Command::Cpp(_) => {
            anyhow::bail!("no arguments for the compiler; see `atomvet help cc`")
        }
        Command::Check(args) => check::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Baseline(args) => baseline::run(args),
        Command::Refine(args) => refine::run(args),
        Command::Report(args) => report::run(args),
        Command::Stats(args) => stats::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Gen(args) => generate::run(args),
        Command::Explain(args) => explain::run(args),
        Command::List(args) => list::run(args),
        Command::Demo(args) => demo::run(args),
    }))
}

fn ended(run: anyhow::Result<Status>) -> ExitCode {
    match run {
        Ok(status) => status.into(),
        Err(error) => {
            say::error(format!("{error:#}"));
            Status::BadInput.into()
        }
    }
}
