//! `atomvet check`: are the blocks of these traces atomic?

use std::path::{Path, PathBuf};

use atomvet_check::Config;
use atomvet_report::Format;
use atomvet_report::model::{self, Entry, Report};
use atomvet_trace::wellformed::Discipline;

use crate::examine::{Examined, Instances, Options, Serial, Verify, Wanted, examine};
use crate::pipeline::{Partial, Pass};
use crate::predicted::{self, Predicting};
use crate::report::{Destination, formats};
use crate::spec::Spec;
use crate::spool::{Again, called};
use crate::status::Status;
use crate::{algorithms, json, say, traces};

/// How traces are understood, whatever is done with them.
#[derive(clap::Args, Debug, Clone, Copy)]
pub(crate) struct Understanding {
    /// Repair broken lock, fork, join, begin and end discipline instead of refusing the trace;
    /// every output counts the repairs
    #[arg(long, help_heading = "How events are understood")]
    pub(crate) lenient: bool,
    /// A wait, join or barrier inside a block splits it: the pieces are judged
    #[arg(long, help_heading = "How events are understood")]
    pub(crate) split_at_waits: bool,
    /// Two atomic updates of one kind (add, or, and, xor, min, max) do not conflict
    #[arg(long, help_heading = "How events are understood")]
    pub(crate) commuting_updates: bool,
}

impl Understanding {
    /// For the checkers.
    pub(crate) fn config(self) -> Config {
        Config { commuting_updates: self.commuting_updates, split_at_waits: self.split_at_waits }
    }

    /// For the reader.
    pub(crate) fn discipline(self) -> Discipline {
        if self.lenient { Discipline::Lenient } else { Discipline::Strict }
    }
}

/// Options of `check`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Traces, text or binary, plain or compressed; - is standard input
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Algorithms, by name and with commas between, or all (see `atomvet list`) [default:
    /// regiontrack]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "What is checked")]
    algo: Vec<String>,
    /// Also look for violations in other schedules of the same execution, with commit-node (or the
    /// predictive algorithms that --algo names)
    #[arg(long, help_heading = "Prediction")]
    predict: bool,
    /// Write each schedule that shows a predicted violation as a trace into this directory
    #[arg(long, value_name = "DIR", help_heading = "Prediction")]
    schedules: Option<PathBuf>,
    /// Steps that each predictive algorithm may take, in millions; a thousandth of it for the search for
    /// one schedule
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=1_000_000), help_heading = "Prediction")]
    budget: u64,
    /// Check only the blocks that this specification lists (`atomvet refine` makes one)
    #[arg(long, value_name = "FILE", help_heading = "What is checked")]
    spec: Option<PathBuf>,
    #[command(flatten)]
    understanding: Understanding,
    /// For people (text, html), for programs (json) or for other tools; may be given several times, with -o
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(), help_heading = "What is shown")]
    format: Vec<Format>,
    /// One finding per violating block instance instead of one per mistake with a count
    #[arg(long, help_heading = "What is shown")]
    all_instances: bool,
    /// Have an independent verifier confirm every witness and serial order that is shown
    #[arg(long, help_heading = "What is shown")]
    verify: bool,
    /// For a serializable trace, show an equivalent serial order; memory grows with the trace
    #[arg(long, help_heading = "What is shown")]
    serial_order: bool,
    #[command(flatten)]
    destination: Destination,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let mut algorithms = algorithms::select(&args.algo)?;
    if args.predict || args.schedules.is_some() {
        algorithms::add_predictive(&mut algorithms);
    }
    let spec = args.spec.as_deref().map(Spec::read).transpose()?;
    let inputs: Vec<&Path> = args.traces.iter().chain(&args.spec).map(PathBuf::as_path).collect();
    args.destination.check()?;
    let outputs = args.destination.open(&args.format, &inputs)?;
    if let Some(directory) = &args.schedules {
        predicted::make_directory(directory)?;
    }
    let options = Options {
        algorithms,
        config: args.understanding.config(),
        discipline: args.understanding.discipline(),
        spec: spec.as_ref(),
        instances: if args.all_instances { Instances::All } else { Instances::Folded },
        witnesses: Wanted::All,
        verify: if args.verify { Verify::Yes } else { Verify::No },
        serial_order: if args.serial_order { Serial::Yes } else { Serial::No },
        predicting: Predicting { steps: args.budget * 1_000_000, schedules: args.schedules.clone() },
    };
    let (entries, status) = traces::each(&args.traces, Again::Yes, |source| {
        let examined = examine(source, &options)?;
        Ok((json::trace(&examined, spec.as_ref()), judge(&examined, spec.as_ref())))
    });
    let report = Report { schema: model::SCHEMA.to_owned(), traces: entries, set_aside: None };
    // What could not be read was told already; a program is told again.
    let is_told = |format: Format| format == Format::Text && report.traces.iter().all(Entry::is_failed);
    let outputs = outputs.into_iter().filter(|(format, _)| !is_told(*format)).collect();
    args.destination.write(&report, outputs)?;
    Ok(status)
}

/// What a checked trace means for the exit status, and what has to be said besides the report.
pub(crate) fn judge(examined: &Examined, spec: Option<&Spec>) -> Status {
    if let Some(spec) = spec {
        let unused = json::unused(spec, &examined.pass.used);
        if !unused.is_empty() {
            say::note(format!(
                "{}: never entered, though the specification lists them: {}",
                called(&examined.trace),
                unused.join(", ")
            ));
        }
    }
    let errors = examined.internal_errors();
    for error in &errors {
        say::error(format!(
            "{}: INTERNAL ERROR: {error}; please report it with the trace",
            called(&examined.trace)
        ));
    }
    if !errors.is_empty() {
        return Status::BadInput;
    }
    let coverage = coverage_status(&examined.trace, &examined.pass);
    let unfinished = examined.verdicts.iter().filter(|verdict| !verdict.foreseen.complete);
    let unfinished: Vec<&str> = unfinished.map(|verdict| verdict.info.name).collect();
    if !unfinished.is_empty() {
        say::note(format!(
            "{}: not everything was judged by {}: a bound was hit or the budget was spent (--budget raises it), or \
             it was interrupted",
            called(&examined.trace),
            unfinished.join(", ")
        ));
    }
    match coverage {
        _ if examined.violated() => Status::Violations,
        // What was not looked at is not clean.
        Status::Clean if !unfinished.is_empty() => Status::BadInput,
        coverage => coverage,
    }
}

/// What may be wrong with how much was read: says so, too.
pub(crate) fn coverage_status(trace: &str, pass: &Pass) -> Status {
    let trace = called(trace);
    if let Some(partial) = &pass.partial {
        let judged = match partial {
            Partial::Interrupted => format!("; only the first {} events are judged", pass.tally.events),
            Partial::Unexplained | Partial::CutOff(_) => String::new(),
        };
        say::note(format!("{trace}: partial: {}{judged}", partial.reason()));
        // Lenient reading asked for as much of a cut-off input as there is; an interruption did not.
        if !matches!(partial, Partial::CutOff(_)) {
            return Status::BadInput;
        }
    }
    match pass.tally.nothing_observed() {
        None => Status::Clean,
        Some(nothing) => {
            say::note(format!("{trace}: nothing was observed: {}; {}", nothing.name(), nothing.help()));
            Status::NothingObserved
        }
    }
}
