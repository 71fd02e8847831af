//! `atomvet gen`: generated traces, streamed. The same options and seed give the same bytes.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use atomvet_trace::r#gen::{Config, Features, Generator, Kind, Start, Violation};
use atomvet_trace::{Conventions, Format};
use clap::ValueEnum;

use crate::convert::TraceFormat;
use crate::output::Output;
use crate::status::Status;
use crate::suggest::did_you_mean;
use crate::writer::Writer;

const REALISTIC: &str = "Of the modes but random";
const RANDOM: &str = "Of mode random";

/// Options of `gen`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// What the trace looks like
    #[arg(long, value_enum, default_value_t = Mode::Random)]
    mode: Mode,
    /// Seed of the random generator
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Number of events [default: 20 for random, 1000000 for the others]
    #[arg(long, value_name = "N")]
    events: Option<u64>,
    /// Number of threads [default: 3 for random, 8 for the others]
    #[arg(long, value_name = "N")]
    threads: Option<u32>,
    /// Number of locks [default: 2 for random, 64 for the others]
    #[arg(long, value_name = "N")]
    locks: Option<u32>,
    /// Number of variables [default: 2 for random, 4096 for the others]
    #[arg(long, value_name = "N")]
    variables: Option<u32>,
    /// Number of block labels [default: 3 for random, 100 for the others]
    #[arg(long, value_name = "N")]
    labels: Option<u32>,
    /// Deepest nesting of blocks; 1 is no nesting [default: 3 for random, 2 for the others]
    #[arg(long, value_name = "N")]
    nesting: Option<u32>,
    /// Operations besides reads, writes and blocks [default: all]
    ///
    /// unary, nesting, locks, reentrant, shared, wait, barrier, fork-join, fork-again, update, lives, unlabelled; or all, none, paper
    /// (those of the papers).
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = RANDOM)]
    features: Vec<String>,
    /// Fewest accesses in a transaction [default: 2]
    #[arg(long, value_name = "N", help_heading = REALISTIC)]
    shortest_transaction: Option<u32>,
    /// Most accesses in a transaction [default: 20]
    #[arg(long, value_name = "N", help_heading = REALISTIC)]
    longest_transaction: Option<u32>,
    /// Percentage of accesses that are reads [default: 75]
    #[arg(long, value_name = "PERCENT", help_heading = REALISTIC)]
    read_percent: Option<u32>,
    /// Percentage of accesses outside every block [default: 10]
    #[arg(long, value_name = "PERCENT", help_heading = REALISTIC)]
    unary_percent: Option<u32>,
    /// Average number of events of one thread in a row [default: 8]
    #[arg(long, value_name = "N", help_heading = REALISTIC)]
    burst: Option<u32>,
    /// How threads start [default: fork-join]
    #[arg(long, value_enum, help_heading = REALISTIC)]
    start: Option<StartMode>,
    /// Inject N violations, evenly spread
    #[arg(long, value_name = "N", conflicts_with_all = ["inject_at", "inject_at_percent"], help_heading = REALISTIC)]
    inject: Option<u32>,
    /// Inject a violation at each of these event numbers, or soon after
    #[arg(long, value_name = "EVENT,…", value_delimiter = ',', conflicts_with = "inject_at_percent", help_heading = REALISTIC)]
    inject_at: Vec<u64>,
    /// Inject one violation at this percentage of the trace
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=100), help_heading = REALISTIC)]
    inject_at_percent: Option<u32>,
    /// What is injected [default: lost-update]
    #[arg(long, value_enum, help_heading = REALISTIC)]
    violation: Option<Injection>,
    /// Format to write
    ///
    /// [default: by the file name: .std and .txt are text, .atv is binary; text on standard output]
    #[arg(long, value_enum)]
    format: Option<TraceFormat>,
    /// Where to write; - is standard output
    #[arg(short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

/// What a trace looks like.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Any legal next step: small and dense in conflicts
    Random,
    /// Transactions take the locks they need before they give one back: serializable
    TwoPhase,
    /// The same with one lock for everything
    GlobalLock,
    /// Nearly everything is private to a thread
    ThreadLocal,
}

/// Where threads come from.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum StartMode {
    /// All are there from the start
    Together,
    /// The first forks all others, and joins them at the end
    ForkJoin,
}

/// What is injected: what the violated block does, with another thread's access in between.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Injection {
    /// Read, other write, write
    LostUpdate,
    /// Read, other write, read
    UnrepeatableRead,
    /// Write, other read, write
    IntermediateRead,
    /// Write, other write, read
    OverwrittenWrite,
}

const FEATURES: &[(&str, Features)] = &[
    ("unary", Features::UNARY),
    ("nesting", Features::NESTING),
    ("locks", Features::LOCKS),
    ("reentrant", Features::REENTRANT),
    ("shared", Features::SHARED),
    ("wait", Features::WAIT),
    ("barrier", Features::BARRIER),
    ("fork-join", Features::FORK_JOIN),
    ("fork-again", Features::FORK_AGAIN),
    ("update", Features::UPDATE),
    ("lives", Features::LIVES),
    ("unlabelled", Features::UNLABELLED),
    ("all", Features::ALL),
    ("paper", Features::PAPER),
    ("none", Features::NONE),
];

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let config = config(args)?;
    let format = TraceFormat::choose(args.format, &args.output, "--format")?;
    let to_stdout = args.output == Path::new("-");
    if format == Format::Binary && to_stdout && std::io::stdout().is_terminal() {
        bail!("a binary trace would garble the terminal; give -o FILE, or --format text");
    }
    let mut generator = Generator::new(&config)
        .map_err(|problem| anyhow!("such a trace cannot be made: {problem}; see `atomvet gen --help`"))?;
    let mut writer =
        Writer::new(format, &Conventions::default(), Output::create(Some(&args.output), &[] as &[&Path])?)?;
    let mut block = Vec::new();
    while generator.next_block(&mut block) {
        if writer.write(generator.names(), &block)?.is_break() {
            return Ok(Status::Clean);
        }
    }
    writer.finish()?;
    Ok(Status::Clean)
}

/// The first option given that the mode has no use for.
fn useless(args: &Args) -> Option<&'static str> {
    let of_other_modes = match args.mode {
        Mode::Random => &[
            ("--shortest-transaction", args.shortest_transaction.is_some()),
            ("--longest-transaction", args.longest_transaction.is_some()),
            ("--read-percent", args.read_percent.is_some()),
            ("--unary-percent", args.unary_percent.is_some()),
            ("--burst", args.burst.is_some()),
            ("--start", args.start.is_some()),
            ("--inject", args.inject.is_some()),
            ("--inject-at", !args.inject_at.is_empty()),
            ("--inject-at-percent", args.inject_at_percent.is_some()),
            ("--violation", args.violation.is_some()),
        ][..],
        _ => &[("--features", !args.features.is_empty())],
    };
    of_other_modes.iter().find(|(_, given)| *given).map(|(option, _)| *option)
}

fn config(args: &Args) -> anyhow::Result<Config> {
    if let Some(option) = useless(args) {
        bail!("{option} has no effect in this mode; choose another --mode, or leave it out");
    }
    let kind = match args.mode {
        Mode::Random => Kind::Random,
        Mode::TwoPhase => Kind::TwoPhaseLocking,
        Mode::GlobalLock => Kind::GlobalLock,
        Mode::ThreadLocal => Kind::ThreadLocal,
    };
    let defaults = match kind {
        Kind::Random => Config::small_random(Features::ALL),
        _ => Config::default(),
    };
    let mut config = Config {
        kind,
        seed: args.seed,
        events: args.events.unwrap_or(defaults.events),
        threads: args.threads.unwrap_or(defaults.threads),
        locks: args.locks.unwrap_or(defaults.locks),
        variables: args.variables.unwrap_or(defaults.variables),
        labels: args.labels.unwrap_or(defaults.labels),
        nesting: args.nesting.unwrap_or(defaults.nesting),
        features: features(&args.features)?,
        shortest_transaction: args.shortest_transaction.unwrap_or(defaults.shortest_transaction),
        longest_transaction: args.longest_transaction.unwrap_or(defaults.longest_transaction),
        read_percent: args.read_percent.unwrap_or(defaults.read_percent),
        unary_percent: args.unary_percent.unwrap_or(defaults.unary_percent),
        burst: args.burst.unwrap_or(defaults.burst),
        start: match args.start {
            Some(StartMode::Together) => Start::Together,
            Some(StartMode::ForkJoin) | None => Start::ForkJoin,
        },
        inject: args.inject_at.clone(),
        violation: match args.violation {
            Some(Injection::LostUpdate) | None => Violation::LostUpdate,
            Some(Injection::UnrepeatableRead) => Violation::UnrepeatableRead,
            Some(Injection::IntermediateRead) => Violation::IntermediateRead,
            Some(Injection::OverwrittenWrite) => Violation::OverwrittenWrite,
        },
    };
    if let Some(number) = args.inject {
        config.inject_evenly(number);
    }
    if let Some(percent) = args.inject_at_percent {
        config.inject_at_percent(percent);
    }
    Ok(config)
}

fn features(names: &[String]) -> anyhow::Result<Features> {
    if names.is_empty() {
        return Ok(Features::ALL);
    }
    let mut features = Features::NONE;
    for name in names {
        match FEATURES.iter().find(|(known, _)| known == name) {
            Some((_, feature)) => features = features.with(*feature),
            None => {
                let known: Vec<&str> = FEATURES.iter().map(|(name, _)| *name).collect();
                let suggestion = did_you_mean(name, known.iter().copied());
                bail!("no feature is called {name:?}; {suggestion}there are {}", known.join(", "));
            }
        }
    }
    Ok(features)
}
