//! The `atomvet` command: owns all process I/O, exit statuses, progress and Ctrl-C.
//!
//! ```text
//! spool ──► pipeline ──► examine ──► json | text ──► output
//!            (reader thread, meter)      one file per command drives this
//! ```

mod algorithms;
mod aside;
mod baseline;
mod bounded;
mod budget;
mod cc;
mod check;
mod compare;
mod completions;
mod configuration;
mod conventions;
mod convert;
mod demo;
mod diff;
mod examine;
mod experiment;
mod explain;
mod footprint;
mod generate;
mod grid;
mod help;
mod idioms;
mod inputs;
mod interrupt;
mod java;
mod json;
mod list;
mod man;
mod memory;
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
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::status::Status;

#[global_allocator]
static ALLOCATOR: meter::Counting = meter::Counting;

/// Finds atomicity bugs: code that is meant to run as one step and does not.
///
/// Runs multithreaded programs, or reads recorded runs of them, and checks which functions were not atomic. Every finding shows the
/// interleaving that broke the function, and why no serial order explains it.
#[derive(Parser, Debug)]
#[command(name = "atomvet", version, propagate_version = true, subcommand_required = true, arg_required_else_help = true, after_help = help::MORE, after_long_help = help::AFTER)]
struct Arguments {
    /// Limit memory to SIZE, such as 2G [default: half of what is available]
    ///
    /// Beyond the limit, what was found is reported, and the exit status is 2.
    #[arg(long, global = true, value_name = "SIZE", value_parser = memory::size, help_heading = "Limits")]
    memory: Option<memory::Size>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run a program and check it live: which of its functions are not atomic, and why
    #[command(after_help = help::MORE, after_long_help = help::RUN, mut_args(help::without_java))]
    Run(Box<run::Args>),
    /// Run a Java program and check it live: which of its methods are not atomic, and why
    #[command(after_help = help::MORE, after_long_help = help::JAVA, mut_arg("program", |arg| arg.value_name("ARGUMENTS").help("The arguments of java: options of the JVM, -jar or the class, its arguments")))]
    Java(Box<run::Args>),
    /// Compile C so that `run` can watch it: a drop-in for gcc and clang
    #[command(after_help = help::MORE, after_long_help = help::CC)]
    Cc(cc::Args),
    /// Compile C++ so that `run` can watch it: a drop-in for g++ and clang++
    #[command(name = "c++", after_help = help::MORE, after_long_help = help::CC)]
    Cpp(cc::Args),
    /// Check traces: which blocks are not atomic, and why
    #[command(after_help = help::MORE, after_long_help = help::CHECK)]
    Check(check::Args),
    /// Run all algorithms, or some, on a trace and compare what they say and cost
    #[command(after_help = help::MORE, after_long_help = help::COMPARE)]
    Compare(compare::Args),
    /// Measure algorithms on traces and programs: tables, plots and data for papers
    #[command(after_help = help::MORE, after_long_help = help::EXPERIMENT)]
    Experiment(Box<experiment::Args>),
    /// Render findings that were kept as JSON: HTML, SARIF, JUnit, Graphviz, Perfetto
    #[command(after_help = help::MORE, after_long_help = help::REPORT)]
    Report(report::Args),
    /// Write the findings of today to a file, so that `check --baseline` fails on new ones only
    #[command(after_help = help::MORE, after_long_help = help::BASELINE)]
    Baseline(baseline::Args),
    /// Compare two reports: findings that are new, gone, or still there
    #[command(after_help = help::MORE, after_long_help = help::DIFF)]
    Diff(diff::Args),
    /// Print which blocks were seen violated and which not, as a specification
    #[command(after_help = help::MORE, after_long_help = help::REFINE)]
    Refine(refine::Args),
    /// Print what a trace consists of
    #[command(after_help = help::MORE, after_long_help = help::STATS)]
    Stats(stats::Args),
    /// Convert a trace between the text and the binary format
    #[command(after_help = help::MORE, after_long_help = help::CONVERT)]
    Convert(convert::Args),
    /// Generate a trace: random or realistic, with or without a violation
    #[command(after_help = help::MORE, after_long_help = help::GEN)]
    Gen(generate::Args),
    /// Explain a word of a report, an anomaly, a strength, an algorithm, an exit status
    #[command(after_help = help::MORE, after_long_help = help::EXPLAIN)]
    Explain(explain::Args),
    /// List the algorithms: papers, guarantees, costs
    #[command(after_help = help::MORE, after_long_help = help::LIST)]
    List(list::Args),
    /// Build and run a small buggy program that ships with atomvet, and show the report: start here
    #[command(after_help = help::MORE, after_long_help = help::DEMO)]
    Demo(demo::Args),
    /// Print a script that completes atomvet's commands and options in a shell
    #[command(after_help = help::MORE, after_long_help = help::COMPLETIONS)]
    Completions(completions::Args),
    /// Print a manual page, or write all of them to a directory
    #[command(after_help = help::MORE, after_long_help = help::MAN)]
    Man(man::Args),
}

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
    let parsed = command().try_get_matches().and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
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
    output::survive_file_size_limit();
    memory::limit(arguments.memory);
    ended(interrupt::install().and_then(|()| match arguments.command {
        Command::Run(args) => run::run(&args),
        Command::Java(args) => run::run_java(args),
        Command::Cc(_) | Command::Cpp(_) => {
            anyhow::bail!("no arguments for the compiler; see `atomvet help cc`")
        }
        Command::Check(args) => check::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Experiment(args) => experiment::run(&args, arguments.memory),
        Command::Baseline(args) => baseline::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Refine(args) => refine::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Gen(args) => generate::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::List(args) => list::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }))
}

/// The command line that is understood, for those who parse, complete or describe it.
pub(crate) fn command() -> clap::Command {
    help::grouped(Arguments::command())
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
