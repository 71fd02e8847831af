//! `atomvet compare`: algorithms on the same trace, in one pass, beside the exact one.
//!
//! What was observed is compared by instance of a block. Algorithms that know outermost blocks only are held to those:
//! they miss a violated outermost block that they do not blame, and are wrong about a block that
//! they blame and that is not violated.
//!
//! What is predicted is compared by name, since it is about other executions of the blocks: an algorithm misses a block
//! that was violated before everybody's eyes and that it does not predict to be.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use atomvet_check::registry::CHECKERS;
use atomvet_check::{Blame, Kind};
use atomvet_report::model;
use atomvet_trace::{EventId, Names};
use serde::Serialize;

use crate::aside::Rules;
use crate::budget::Explaining;
use crate::check::{Understanding, judge};
use crate::configuration::Given;
use crate::conventions::InForce;
use crate::examine::{Examined, Instances, Options, Serial, Verdict, Verify, Wanted, examine};
use crate::grid::{Align, bytes, grid, grouped, plural, seconds};
use crate::output::Output;
use crate::predicted::Predicting;
use crate::spool::{Again, called};
use crate::status::Status;
use crate::visible::visible;
use crate::{Format, algorithms, json, traces};

/// Options of `compare`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Traces, text or binary, plain or compressed; - is standard input
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Compare these algorithms [default: all]
    ///
    /// Names as in `atomvet list`, or observed, predictive, all. The exact algorithm, regiontrack, is always included.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "What is checked")]
    algo: Vec<String>,
    /// Add commit-node if --algo names no predictive algorithm
    #[arg(long, help_heading = "Prediction")]
    predict: bool,
    /// Million steps that each predictive algorithm may take
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=1_000_000), help_heading = "Prediction")]
    budget: u64,
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    understanding: Understanding,
    /// Format of the table
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the table to a file
    #[arg(short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Serialize)]
struct TraceEntry {
    trace: String,
    #[serde(flatten)]
    coverage: model::Coverage,
    conventions: model::Conventions,
    exact: &'static str,
    /// Those that judge what was observed.
    algorithms: Vec<Row>,
    /// Those that predict.
    predictive: Vec<Predicted>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    serializable: bool,
    first_cycle_event: Option<u64>,
    /// Null, like the next two, for an algorithm that judges the trace only.
    blocks_blamed: Option<u64>,
    missed: Option<u64>,
    wrong: Option<u64>,
    cycles_without_blame: u64,
    stats: model::Figures,
    seconds: f64,
    peak_bytes: u64,
}

#[derive(Serialize)]
struct Predicted {
    name: &'static str,
    complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_judged: Option<&'static str>,
    /// Predicted violations. Null, like the next two, for an algorithm that judges no blocks, and if nothing was judged.
    violations: Option<u64>,
    /// How many different blocks they are about.
    blocks: Option<u64>,
    /// Blocks that were seen violated and are not among these.
    missed: Option<u64>,
    races: u64,
    deadlocks: u64,
    stats: model::Figures,
    seconds: f64,
    peak_bytes: u64,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let configuration = args.given.read(None)?;
    let inputs: Vec<&Path> = args.traces.iter().chain(&configuration.files).map(PathBuf::as_path).collect();
    let output = Output::create(args.output.as_deref(), &inputs)?;
    let everything = ["all".to_owned()];
    let mut algorithms =
        algorithms::select_to_compare(if args.algo.is_empty() { &everything } else { &args.algo })?;
    // The registry has the exact algorithm, which is the default, first.
    let exact = &CHECKERS[0];
    algorithms.retain(|entry| entry.info.name != exact.info.name);
    algorithms.insert(0, exact);
    if args.predict {
        algorithms::add_predictive(&mut algorithms);
    }
    let spec = configuration.spec.as_ref();
    let options = Options {
        algorithms,
        in_force: InForce::papers(),
        discipline: args.understanding.discipline(),
        spec,
        instances: Instances::All,
        witnesses: Wanted::None,
        explaining: Explaining::AsUsual,
        verify: Verify::No,
        serial_order: Serial::No,
        predicting: Predicting { steps: args.budget * 1_000_000, ..Predicting::default() },
        aside: Rules { known: Some(&configuration.known), idioms: &configuration.idioms },
    };
    let again = if configuration.idioms.is_empty() { Again::No } else { Again::Yes };
    let (entries, status) = traces::each(&args.traces, again, |source| {
        let in_force = args.understanding.in_force(source, &configuration)?;
        let examined = examine(source, &Options { in_force, ..options.clone() })?;
        Ok((entry(&examined), judge(&examined, spec)))
    });
    let report = match args.format {
        Format::Text => traces::texts(&entries, table),
        Format::Json => model::write(&model::Report {
            schema: "atomvet-compare/1".to_owned(),
            traces: entries,
            set_aside: None,
        }),
    };
    output.write_all_of(&report)?;
    Ok(status)
}

fn entry(examined: &Examined) -> TraceEntry {
    let exact = &examined.verdicts[0];
    let of_kind = |kind: Kind| examined.verdicts.iter().filter(move |verdict| verdict.info.kind == kind);
    let violated = violated_names(exact, &examined.pass.names);
    TraceEntry {
        trace: examined.trace.clone(),
        coverage: json::coverage(&examined.pass),
        conventions: examined.in_force.model(),
        exact: exact.info.name,
        algorithms: of_kind(Kind::Observed).map(|verdict| row(verdict, exact)).collect(),
        predictive: of_kind(Kind::Predictive)
            .map(|verdict| predicted(verdict, &violated, &examined.pass.names))
            .collect(),
    }
}

/// The names of the blocks that are violated according to the exact algorithm.
fn violated_names(exact: &Verdict, names: &Names) -> BTreeSet<String> {
    let blocks = exact.violations.iter().filter_map(|violation| violation.finding.block);
    blocks.map(|block| names.block(block.region, block.site)).collect()
}

fn predicted(verdict: &Verdict, violated: &BTreeSet<String>, names: &Names) -> Predicted {
    let foreseen = &verdict.foreseen;
    let judged = foreseen.not_judged.is_none() && verdict.info.blame != Blame::None;
    let predictions = foreseen.violations.iter().map(|foreboding| &foreboding.prediction);
    let blocks: BTreeSet<String> = predictions
        .clone()
        .map(|prediction| prediction.patterns.first().map_or(prediction.transaction, |pattern| pattern.block))
        .map(|block| names.block(block.region, block.site))
        .collect();
    let judged = |number: u64| judged.then_some(number);
    Predicted {
        name: verdict.info.name,
        complete: foreseen.complete,
        not_judged: foreseen.not_judged,
        violations: judged(predictions.map(|prediction| prediction.count).sum()),
        blocks: judged(blocks.len() as u64),
        missed: judged(violated.difference(&blocks).count() as u64),
        races: foreseen.races.len() as u64,
        deadlocks: foreseen.deadlocks.len() as u64,
        stats: verdict.stats.0.iter().copied().collect(),
        seconds: verdict.seconds,
        peak_bytes: verdict.peak_bytes,
    }
}

fn row(verdict: &Verdict, exact: &Verdict) -> Row {
    let blamed = blamed(verdict, |_| true);
    let violated = self::blamed(exact, |_| true);
    let held_to = match verdict.info.blame {
        Blame::Exact => violated.clone(),
        Blame::Some | Blame::More | Blame::None => self::blamed(exact, |outermost| outermost),
    };
    let judged = |number: usize| (verdict.info.blame != Blame::None).then_some(number as u64);
    Row {
        name: verdict.info.name,
        serializable: verdict.first_cycle.is_none(),
        first_cycle_event: verdict.first_cycle.map(|at| at.0),
        blocks_blamed: judged(blamed.len()),
        missed: judged(held_to.difference(&blamed).count()),
        wrong: judged(blamed.difference(&violated).count()),
        cycles_without_blame: verdict.violations.iter().filter(|v| v.finding.block.is_none()).count() as u64,
        stats: verdict.stats.0.iter().copied().collect(),
        seconds: verdict.seconds,
        peak_bytes: verdict.peak_bytes,
    }
}

/// The blamed blocks by where they begin; `wanted` is asked whether to count outermost ones
/// (true) and nested ones (false).
fn blamed(verdict: &Verdict, wanted: impl Fn(bool) -> bool) -> HashSet<EventId> {
    let findings = verdict.violations.iter().map(|violation| &violation.finding);
    findings
        .filter_map(|finding| Some((finding.block?, finding.transaction)))
        .filter(|(block, transaction)| wanted(block.begin == transaction.begin))
        .map(|(block, _)| block.begin)
        .collect()
}

fn or_dash(number: Option<u64>) -> String {
    number.map_or("-".to_owned(), grouped)
}

fn table(entry: &TraceEntry) -> String {
    let coverage = &entry.coverage;
    let partial =
        coverage.partial_reason.as_ref().map(|reason| format!("; PARTIAL, {reason}")).unwrap_or_default();
    let repairs = match coverage.repairs {
        0 => String::new(),
        repairs => format!(", {}", plural(repairs, "repair")),
    };
    let heading = format!(
        "{}: {}, {}, {}{repairs}; {}{partial}\n",
        visible(called(&entry.trace)),
        plural(coverage.events.unwrap_or_default(), "event"),
        plural(coverage.threads, "thread"),
        plural(coverage.blocks, "block"),
        entry.conventions.words()
    );
    let rows: Vec<Vec<String>> = (entry.algorithms.iter())
        .map(|row| {
            vec![
                row.name.to_owned(),
                if row.serializable { "yes" } else { "no" }.to_owned(),
                or_dash(row.first_cycle_event),
                or_dash(row.blocks_blamed),
                or_dash(row.missed),
                or_dash(row.wrong),
                seconds(row.seconds),
                bytes(row.peak_bytes),
            ]
        })
        .collect();
    let columns = [
        ("algorithm", Align::Left),
        ("serializable?", Align::Left),
        ("known at event", Align::Right),
        ("blocks blamed", Align::Right),
        ("missed", Align::Right),
        ("wrong", Align::Right),
        ("time", Align::Right),
        ("peak memory", Align::Right),
    ];
    let note = format!(
        "blocks blamed, missed and wrong: by instance, against {}, which is exact; the others know outermost\n\
         blocks only; - where an algorithm judges the trace and no blocks\n",
        entry.exact
    );
    heading + &grid(2, &columns, &rows) + &note + &predicted_table(entry)
}

/// What other schedules would do.
fn predicted_table(entry: &TraceEntry) -> String {
    if entry.predictive.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = (entry.predictive.iter())
        .map(|row| {
            let judged = match (row.not_judged, row.complete) {
                (Some(_), _) => "no",
                (None, false) => "in part",
                (None, true) => "yes",
            };
            vec![
                row.name.to_owned(),
                judged.to_owned(),
                or_dash(row.violations),
                or_dash(row.blocks),
                or_dash(row.missed),
                grouped(row.deadlocks),
                grouped(row.races),
                seconds(row.seconds),
                bytes(row.peak_bytes),
            ]
        })
        .collect();
    let columns = [
        ("algorithm", Align::Left),
        ("judged?", Align::Left),
        ("predicted", Align::Right),
        ("blocks", Align::Right),
        ("missed", Align::Right),
        ("deadlocks", Align::Right),
        ("races", Align::Right),
        ("time", Align::Right),
        ("peak memory", Align::Right),
    ];
    let why = match entry.predictive.iter().find_map(|row| row.not_judged) {
        Some(why) => format!("not judged: {why}\n"),
        None => String::new(),
    };
    let note = "other schedules of the same execution: violations predicted, the blocks they are about, and the blocks\n\
                that were seen violated and are not among these\n";
    format!("\n{}{note}{why}", grid(2, &columns, &rows))
}
