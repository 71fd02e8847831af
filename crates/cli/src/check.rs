//! `atomvet check`: are the blocks of these traces atomic?

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::ensure;
use atomvet_check::{Config, Kind};
use atomvet_report::Format;
use atomvet_report::model::{self, Report};
use atomvet_trace::Error;
use atomvet_trace::wellformed::Discipline;

use crate::aside::{Count, Rules};
use crate::budget::{self, Explaining};
use crate::configuration::{Configuration, Given, Since};
use crate::conventions::{self, InForce};
use crate::examine::{Examined, Instances, Options, Serial, Verify, Wanted, examine};
use crate::grid::{bytes, grouped};
use crate::inputs::Inputs;
use crate::pipeline::{Partial, Pass};
use crate::predicted::{self, Foreseen, Predict, Predicting};
use crate::report::{Destination, Renderings, Voice, formats};
use crate::spec::Spec;
use crate::spool::{Again, Source, called};
use crate::status::Status;
use crate::traces::{Company, Looked};
use crate::{algorithms, json, say, traces};

/// How the events of traces are read and understood.
#[derive(clap::Args, Debug, Clone, Copy)]
pub(crate) struct Understanding {
    /// Repair a malformed trace instead of rejecting it
    ///
    /// Repairs unmatched locks, forks, joins, begins and ends, and reads a cut-off trace up to the last complete event. Every output
    /// says how many repairs were made.
    #[arg(long, help_heading = "Event semantics")]
    pub(crate) lenient: bool,
    #[command(flatten)]
    pub(crate) conventions: conventions::Asked,
}

impl Understanding {
    /// The conventions under which a trace is judged: where nobody says otherwise, those of the papers.
    pub(crate) fn in_force(
        self,
        source: &mut Source,
        configuration: &Configuration,
    ) -> Result<InForce, Error> {
        Ok(self.conventions.in_force(source.conventions()?, configuration, Config::default()))
    }

    /// As options for another process.
    pub(crate) fn arguments(self) -> Vec<String> {
        let lenient = self.lenient.then(|| "--lenient".to_owned());
        lenient.into_iter().chain(self.conventions.arguments()).collect()
    }

    /// For the reader.
    pub(crate) fn discipline(self) -> Discipline {
        if self.lenient { Discipline::Lenient } else { Discipline::Strict }
    }
}

/// Options of `check`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    /// Check N traces at the same time [default: one per core]
    ///
    /// Each trace takes one thread; with 1, one thread reads and another checks.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096), help_heading = "Limits")]
    jobs: Option<u16>,
    /// Use these algorithms [default: regiontrack]
    ///
    /// Names as in `atomvet list`, or all, observed, predictive.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "What is checked")]
    algo: Vec<String>,
    /// Also look for violations in other schedules of the same run
    ///
    /// Reports violations for which a schedule was found. With =locks, reports all that the locks alone allow, as the papers'
    /// algorithms do. The algorithm is commit-node unless --algo names others.
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "schedules", help_heading = "Prediction")]
    predict: Option<Predict>,
    /// Write the schedule of each predicted violation to this directory, as a trace
    #[arg(long, value_name = "DIR", help_heading = "Prediction")]
    schedules: Option<PathBuf>,
    /// Million steps that each predictive algorithm may take
    ///
    /// The search for one schedule may take a thousandth of them.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=1_000_000), help_heading = "Prediction")]
    budget: u64,
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    since: Since,
    #[command(flatten)]
    understanding: Understanding,
    /// Format of the report [default: text]
    ///
    /// May be given several times together with -o.
    #[arg(long, value_name = "FORMAT", value_parser = formats(), help_heading = "What is shown")]
    format: Vec<Format>,
    /// Leave witnesses, entered blocks and figures out of the JSON
    ///
    /// For tables of many traces.
    #[arg(long, help_heading = "What is shown")]
    brief: bool,
    /// Report every violated block instance, not one per mistake
    #[arg(long, help_heading = "What is shown")]
    all_instances: bool,
    /// Have independent code verify every witness and serial order shown
    #[arg(long, help_heading = "What is shown")]
    verify: bool,
    /// Show an equivalent serial order of a serializable trace
    ///
    /// Memory grows with the length of the trace.
    #[arg(long, help_heading = "What is shown")]
    serial_order: bool,
    #[command(flatten)]
    destination: Destination,
    /// Explain findings for at most N seconds
    ///
    /// The remaining findings are reported without a witness. [default: 10 plus twice the time of the check]
    #[arg(long, value_name = "N", value_parser = budget::seconds, help_heading = "What is shown")]
    explain_seconds: Option<f64>,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let configuration = args.given.read(Some(&args.since))?;
    let names = if args.algo.is_empty() { &configuration.algorithm } else { &args.algo };
    let mut algorithms = algorithms::select(names)?;
    let predict = args.predict.or(args.schedules.as_ref().map(|_| Predict::Schedules));
    let shown = predicted::shown(predict, &algorithms);
    if predict.is_some() {
        algorithms::add_predictive(&mut algorithms);
    }
    ensure!(
        !args.brief || args.format.iter().all(|format| *format == Format::Json) && !args.format.is_empty(),
        "--brief leaves out what other formats show; use it with --format json alone"
    );
    let given = args.inputs.expand()?;
    let files = given.iter().flatten().chain(&args.inputs.files_from).chain(&configuration.files);
    let inputs: Vec<&Path> = files.map(PathBuf::as_path).collect();
    let renderings =
        Renderings::open(&args.format, &args.destination, &configuration, &inputs, Voice::Output)?;
    if let Some(directory) = &args.schedules {
        predicted::make_directory(directory)?;
    }
    let spec = configuration.spec.as_ref();
    let options = Options {
        algorithms,
        in_force: InForce::papers(),
        discipline: args.understanding.discipline(),
        spec,
        instances: if args.all_instances { Instances::All } else { Instances::Folded },
        witnesses: Wanted::All,
        verify: if args.verify { Verify::Yes } else { Verify::No },
        serial_order: if args.serial_order { Serial::Yes } else { Serial::No },
        predicting: Predicting { steps: args.budget * 1_000_000, schedules: args.schedules.clone(), shown },
        explaining: Explaining::from_option(args.explain_seconds),
        aside: Rules { known: Some(&configuration.known), idioms: &configuration.idioms },
    };
    let count = Mutex::new(Count::default());
    let (entries, status) = traces::each_at_once(&given, Again::Yes, jobs(args.jobs), |source, company| {
        let in_force = args.understanding.in_force(source, &configuration)?;
        let examined = examine(source, &Options { in_force, ..options.clone() })?;
        let is_short = examined.pass.partial == Some(Partial::OutOfMemory);
        if is_short && company == Company::Others && source.is_file() {
            return Ok(Looked::NeedsMemory);
        }
        count.lock().unwrap_or_else(PoisonError::into_inner).add(&examined);
        let status = judge(&examined, spec);
        let trace = model::Trace { status: Some(status.code()), ..json::trace(&examined, spec) };
        let trace = if args.brief { atomvet_report::brief(trace) } else { trace };
        Ok(Looked::Done(trace, status))
    });
    let count = count.into_inner().unwrap_or_else(PoisonError::into_inner);
    let set_aside = count.finish(&configuration.known, &configuration.idioms);
    renderings.write(&Report { schema: model::SCHEMA.to_owned(), traces: entries, set_aside })?;
    Ok(status)
}

/// How many traces are checked at once: as asked for, or one per core.
fn jobs(asked: Option<u16>) -> usize {
    asked.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
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
    if examined.pass.ignored_accesses > 0 {
        say::note(format!(
            "{}: {} accesses are left out, because the specification ignores their variables",
            called(&examined.trace),
            grouped(examined.pass.ignored_accesses)
        ));
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
    if examined.pass.partial == Some(Partial::OutOfMemory) {
        say_what_took_memory(examined);
        return coverage;
    }
    let of = |is_it: &dyn Fn(&Foreseen) -> bool| -> Vec<&str> {
        let those = examined.verdicts.iter().filter(|verdict| is_it(&verdict.foreseen));
        those.map(|verdict| verdict.info.name).collect()
    };
    if let Some(why) = examined.verdicts.iter().find_map(|verdict| verdict.foreseen.not_judged) {
        let names = of(&|foreseen| foreseen.not_judged.is_some()).join(", ");
        say::note(format!("{}: not judged by {names}: {why}", called(&examined.trace)));
    }
    let unfinished = of(&|foreseen| !foreseen.complete && foreseen.not_judged.is_none());
    if !unfinished.is_empty() {
        say::note(format!(
            "{}: not everything was judged by {}: a bound was hit or the budget was spent (--budget raises it), or \
             it was interrupted",
            called(&examined.trace),
            unfinished.join(", ")
        ));
    }
    let undecided = |foreseen: &Foreseen| !foreseen.complete || foreseen.left_out.undecided > 0;
    match coverage {
        _ if examined.violated() => Status::Violations,
        // What was not judged is not clean.
        Status::Clean if examined.verdicts.iter().any(|verdict| undecided(&verdict.foreseen)) => {
            Status::NothingObserved
        }
        coverage => coverage,
    }
}

/// The memory limit was reached: says which algorithm took most.
fn say_what_took_memory(examined: &Examined) {
    let Some(most) = examined.verdicts.iter().max_by_key(|verdict| verdict.peak_bytes) else { return };
    let help = match most.info.kind {
        Kind::Observed => "`atomvet list` tells what the other algorithms keep",
        Kind::Predictive => "prediction keeps the whole execution, and the observed algorithms do not",
    };
    let (name, took) = (most.info.name, bytes(most.peak_bytes));
    say::note(format!("{}: {name} took {took}, the most of all algorithms; {help}", called(&examined.trace)));
}

/// What may be wrong with how much was read: says so, too.
pub(crate) fn coverage_status(trace: &str, pass: &Pass) -> Status {
    let trace = called(trace);
    if let Some(partial) = &pass.partial {
        let judged = match partial {
            Partial::Interrupted | Partial::OutOfMemory => {
                format!("; only the first {} events are judged", grouped(pass.tally.events))
            }
            Partial::CutOff(_) => "; what comes after that is not judged".to_owned(),
            Partial::Unexplained(_) => String::new(),
        };
        match partial {
            Partial::OutOfMemory => {
                say::error(format!("{trace}: {}{judged}; give more with --memory SIZE", partial.reason()));
            }
            _ => say::note(format!("{trace}: partial: {}{judged}", partial.reason())),
        }
        // Lenient reading asked for as much of a cut-off input as there is; an interruption did not.
        if !matches!(partial, Partial::CutOff(_)) {
            return Status::BadInput;
        }
        if pass.tally.nothing_observed().is_none() {
            return Status::NothingObserved;
        }
    }
    match pass.tally.nothing_observed() {
        None => Status::Clean,
        Some(nothing) => {
            let help = nothing.help(&pass.thread_entries);
            say::note(format!("{trace}: nothing was observed: {}; {help}", nothing.name()));
            Status::NothingObserved
        }
    }
}
