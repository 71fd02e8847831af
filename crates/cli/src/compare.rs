//! `atomvet compare`: every algorithm on the same trace, in one pass, judged by the exact one.
//!
//! Blocks are compared by instance. Algorithms that know outermost blocks only are held to those:
//! they miss a violated outermost block that they do not blame, and are wrong about a block that
//! they blame and that is not violated.

use std::collections::HashSet;
use std::path::PathBuf;

use atomvet_check::registry;
use atomvet_check::{Blame, Kind};
use atomvet_report::model;
use atomvet_trace::EventId;
use serde::Serialize;

use crate::aside::Rules;
use crate::budget::Explaining;
use crate::check::{Understanding, judge};
use crate::examine::{Examined, Instances, Options, Serial, Verdict, Verify, Wanted, examine};
use crate::grid::{Align, bytes, grid, grouped, plural, seconds};
use crate::output::Output;
use crate::predicted::Predicting;
use crate::spool::{Again, called};
use crate::status::Status;
use crate::visible::visible;
use crate::{Format, json, traces};

/// Options of `compare`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Traces, text or binary, plain or compressed; - is standard input
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    understanding: Understanding,
    /// For people or for programs
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
    exact: &'static str,
    algorithms: Vec<Row>,
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

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let output = Output::create(args.output.as_deref(), &args.traces)?;
    let options = Options {
        algorithms: registry::of_kind(Kind::Observed).collect(),
        config: args.understanding.config(),
        discipline: args.understanding.discipline(),
        spec: None,
        instances: Instances::All,
        witnesses: Wanted::None,
        verify: Verify::No,
        serial_order: Serial::No,
        predicting: Predicting::default(),
        explaining: Explaining::AsUsual,
        aside: Rules::default(),
    };
    let (entries, status) = traces::each(&args.traces, Again::No, |source| {
        let examined = examine(source, &options)?;
        Ok((entry(&examined), judge(&examined, None)))
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
    // The registry has the exact algorithm, which is the default, first.
    let exact = &examined.verdicts[0];
    let rows = examined.verdicts.iter().map(|verdict| row(verdict, exact)).collect();
    TraceEntry {
        trace: examined.trace.clone(),
        coverage: json::coverage(&examined.pass),
        exact: exact.info.name,
        algorithms: rows,
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
        "{}: {}, {}, {}{repairs}{partial}\n",
        visible(called(&entry.trace)),
        plural(coverage.events, "event"),
        plural(coverage.threads, "thread"),
        plural(coverage.blocks, "block")
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
    heading + &grid(2, &columns, &rows) + &note
}
