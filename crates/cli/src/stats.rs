//! `atomvet stats`: what a trace consists of.

use std::ops::ControlFlow;
use std::path::PathBuf;

use atomvet_report::model;
use atomvet_trace::wellformed::Discipline;
use atomvet_trace::{Error, Event, Mode, Op};
use serde::Serialize;

use crate::check::coverage_status;
use crate::examine::word;
use crate::grid::{Align, grid, grouped};
use crate::output::Output;
use crate::pipeline::{self, Pass, Reading};
use crate::refine::Entered;
use crate::spool::{Again, Source, called};
use crate::status::Status;
use crate::visible::{visible, visible_within};
use crate::{Format, json, traces};

/// Options of `stats`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Traces, text or binary, plain or compressed; - is standard input
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Show N labels, the most entered first
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Repair a malformed trace instead of rejecting it
    #[arg(long)]
    lenient: bool,
    /// Format of the figures
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the figures to a file
    #[arg(short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Serialize)]
struct TraceEntry {
    trace: String,
    input_format: &'static str,
    /// What the trace says about itself, in the words of the formats; nothing if it does not.
    recorded: Option<String>,
    #[serde(flatten)]
    coverage: model::Coverage,
    barriers: u64,
    labels: u64,
    sites: u64,
    nesting_depth: u64,
    longest_transaction: u64,
    operations: model::Figures,
    top_labels: Vec<Label>,
}

#[derive(Serialize)]
struct Label {
    label: String,
    entered: u64,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let output = Output::create(args.output.as_deref(), &args.traces)?;
    let discipline = if args.lenient { Discipline::Lenient } else { Discipline::Strict };
    let (entries, status) = traces::each(&args.traces, Again::No, |source| {
        let (pass, entry) = profile(source, discipline, args.top)?;
        // That a trace has nothing to check is a figure like any other here.
        let status = match coverage_status(&source.given, &pass) {
            Status::NothingObserved => Status::Clean,
            other => other,
        };
        Ok((entry, status))
    });
    let report = match args.format {
        Format::Text => traces::texts(&entries, text),
        Format::Json => model::write(&model::Report {
            schema: "atomvet-stats/1".to_owned(),
            traces: entries,
            set_aside: None,
        }),
    };
    output.write_all_of(&report)?;
    Ok(status)
}

/// Figures that only this command wants.
#[derive(Default)]
struct Profile {
    operations: Vec<(&'static str, u64)>,
    /// Per thread, how many blocks it is in, and how many events its transaction has so far.
    threads: Vec<(u64, u64)>,
    nesting_depth: u64,
    longest_transaction: u64,
    entered: Entered,
}

impl Profile {
    fn count(&mut self, events: &[Event]) {
        self.entered.count(events);
        for event in events {
            if event.op == Op::Skip {
                continue;
            }
            let kind = kind(event.op);
            match self.operations.iter_mut().find(|(name, _)| *name == kind) {
                Some((_, number)) => *number += 1,
                None => self.operations.push((kind, 1)),
            }
            let thread = event.thread.index();
            if thread >= self.threads.len() {
                self.threads.resize(thread + 1, (0, 0));
            }
            let (depth, length) = &mut self.threads[thread];
            if *depth == 0 {
                *length = 0;
            }
            *length += 1;
            match event.op {
                Op::Begin(_) => *depth += 1,
                Op::End => *depth = depth.saturating_sub(1),
                _ => {}
            }
            self.nesting_depth = self.nesting_depth.max(*depth);
            self.longest_transaction = self.longest_transaction.max(*length);
        }
    }
}

fn kind(op: Op) -> &'static str {
    match op {
        Op::Reacquire(_, Mode::Exclusive) => "acq (re-entrant)",
        Op::Rerelease(_, Mode::Exclusive) => "rel (re-entrant)",
        Op::Reacquire(_, Mode::Shared) => "racq (re-entrant)",
        Op::Rerelease(_, Mode::Shared) => "rrel (re-entrant)",
        other => word(other),
    }
}

fn profile(source: &mut Source, discipline: Discipline, top: usize) -> Result<(Pass, TraceEntry), Error> {
    let mut profile = Profile::default();
    let reading = Reading { discipline, ..Reading::default() };
    let said = source.conventions()?;
    let pass = pipeline::run(source, reading, |slice| {
        profile.count(slice.events);
        ControlFlow::Continue(())
    })?;
    let mut labels: Vec<Label> = (profile.entered.by_name(&pass.names).into_iter())
        .map(|(label, entered)| Label { label, entered })
        .collect();
    let number_of_labels = labels.len() as u64;
    labels.sort_by(|a, b| b.entered.cmp(&a.entered).then_with(|| a.label.cmp(&b.label)));
    labels.truncate(top);
    profile.operations.sort_by_key(|(name, number)| (std::cmp::Reverse(*number), *name));
    let entry = TraceEntry {
        trace: source.given.clone(),
        input_format: match pass.format {
            atomvet_trace::Format::Text => "text",
            atomvet_trace::Format::Binary => "binary",
        },
        recorded: (!said.is_empty()).then(|| said.to_string()),
        coverage: json::coverage(&pass),
        barriers: pass.names.barriers.len() as u64,
        labels: number_of_labels,
        sites: pass.names.sites.len() as u64,
        nesting_depth: profile.nesting_depth,
        longest_transaction: profile.longest_transaction,
        operations: profile.operations.into_iter().collect(),
        top_labels: labels,
    };
    Ok((pass, entry))
}

fn text(entry: &TraceEntry) -> String {
    let coverage = &entry.coverage;
    let mut text = visible(called(&entry.trace)).into_owned();
    if let Some(reason) = &coverage.partial_reason {
        text.push_str(&format!(" (PARTIAL: {})", visible(reason)));
    }
    text.push('\n');
    let figures = [
        ("events", coverage.events.unwrap_or_default()),
        ("threads", coverage.threads),
        ("variables", coverage.variables.unwrap_or_default()),
        ("locks", coverage.locks.unwrap_or_default()),
        ("barriers", entry.barriers),
        ("blocks", coverage.blocks),
        ("outermost blocks", coverage.outermost_blocks.unwrap_or_default()),
        ("unary events", coverage.unary.unwrap_or_default()),
        ("transactions", coverage.transactions.unwrap_or_default()),
        ("nesting depth", entry.nesting_depth),
        ("longest transaction, in events", entry.longest_transaction),
        ("labels", entry.labels),
        ("sites", entry.sites),
        ("repairs", coverage.repairs),
    ];
    let mut rows = vec![vec!["format".to_owned(), entry.input_format.to_owned()]];
    for pair in entry.recorded.iter().flat_map(|said| said.split(' ')) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        rows.push(vec![format!("recorded with {key}"), value.to_owned()]);
    }
    rows.extend(figures.iter().map(|(name, number)| vec![(*name).to_owned(), grouped(*number)]));
    rows.extend(coverage.repaired.0.iter().map(|(name, number)| vec![format!("  {name}"), grouped(*number)]));
    text.push_str(&grid(2, &[("", Align::Left), ("", Align::Right)], &rows));
    if !entry.operations.0.is_empty() {
        text.push('\n');
        let rows: Vec<_> =
            entry.operations.0.iter().map(|(name, n)| vec![(*name).to_owned(), grouped(*n)]).collect();
        text.push_str(&grid(2, &[("operation", Align::Left), ("events", Align::Right)], &rows));
    }
    if !entry.top_labels.is_empty() {
        text.push('\n');
        let rows: Vec<_> =
            entry.top_labels.iter().map(|l| vec![visible_within(&l.label, 60), grouped(l.entered)]).collect();
        text.push_str(&grid(2, &[("block", Align::Left), ("entered", Align::Right)], &rows));
        let more = entry.labels - entry.top_labels.len() as u64;
        if more > 0 {
            text.push_str(&format!("  … and {} more; --top N shows N\n", grouped(more)));
        }
    }
    text
}
