//! `atomvet experiment`: algorithms × traces or programs × repetitions, as tables, figures and data.
//!
//! ```text
//! plan ──► cells ──► runner: one process per cell ──► results file, a line per cell ──► table ──► text, Markdown,
//!                    (`experiment --cell` is one)      what it has is not run again               LaTeX, CSV, …
//! ```

mod cell;
mod page;
mod papers;
mod parquet;
mod plan;
mod plots;
mod record;
mod runner;
mod table;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};

use self::plan::{Plan, Subject};
use self::record::Results;
use self::table::Table;
use crate::check::Understanding;
use crate::output::Output;
use crate::status::Status;
use crate::{algorithms, grid, interrupt, memory, say};

/// What an experiment is written as.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    /// Columns for a terminal
    Text,
    /// A table in Markdown
    Markdown,
    /// A table in LaTeX (package booktabs)
    Latex,
    /// One line per cell
    Csv,
    /// One row per cell, for data frames
    Parquet,
    /// A page with plots, for a browser
    Html,
    /// The papers' tables in Markdown, with their published figures
    Papers,
}

/// Options of `experiment`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A plan (a file whose name ends in .toml), and traces, text or binary
    #[arg(required = true, value_name = "PLAN.toml|TRACE")]
    inputs: Vec<PathBuf>,
    /// Algorithms, by name and with commas between, or all, observed or predictive [default: as the plan says, or observed]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "What is measured")]
    algo: Vec<String>,
    /// Measure each cell so often; medians count [default: as the plan says, or 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "What is measured")]
    repetitions: Option<u32>,
    /// Check only the blocks that this specification lists
    #[arg(long, value_name = "FILE", help_heading = "What is measured")]
    spec: Option<PathBuf>,
    /// Stop at the first violation, as the papers' tools do
    #[arg(long, help_heading = "What is measured")]
    first_violation: bool,
    /// Steps that each predictive algorithm may take, in millions
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=1_000_000), help_heading = "What is measured")]
    budget: u64,
    #[command(flatten)]
    understanding: Understanding,
    /// Stop a cell after so many seconds [default: as the plan says, or never]
    #[arg(long, value_name = "SECONDS", value_parser = crate::budget::seconds, help_heading = "Limits")]
    timeout: Option<f64>,
    /// Run so many cells at once; they disturb each other's times
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Limits")]
    jobs: u16,
    /// The file to which each cell is written when it is done, and whose cells are not run again [default: the plan's name with
    /// .jsonl; without a plan atomvet-experiment.jsonl]
    #[arg(long, value_name = "FILE", help_heading = "What is kept")]
    results: Option<PathBuf>,
    /// What the result is written as; may be given several times, with -o
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text", help_heading = "What is shown")]
    format: Vec<Format>,
    /// Write the papers' tables, with their published figures beside yours: --format papers
    #[arg(long, conflicts_with = "format", help_heading = "What is shown")]
    papers: bool,
    /// Write to this file; with several formats, to this name with .txt, .md, .tex, .csv, .parquet or .html behind
    #[arg(short, value_name = "FILE", help_heading = "What is shown")]
    output: Option<PathBuf>,
    /// The algorithm that speed-up is relative to [default: the first one]
    #[arg(long, value_name = "NAME", help_heading = "What is shown")]
    reference: Option<String>,
    /// Measure one cell, in this process
    #[arg(long, hide = true)]
    cell: bool,
}

/// Runs it.
pub(crate) fn run(args: &Args, memory: Option<memory::Size>) -> anyhow::Result<Status> {
    if args.cell {
        return one_cell(args);
    }
    let plan = plan(args, memory)?;
    plan.check()?;
    let reference = args.reference.as_deref().or(plan.algorithms.first().map(|entry| entry.info.name));
    if let Some(name) = &args.reference {
        ensure!(
            plan.algorithms.iter().any(|entry| entry.info.name == name),
            "--reference {name} is none of the algorithms that are measured"
        );
    }
    let mut formats = if args.papers { vec![Format::Papers] } else { args.format.clone() };
    formats.dedup();
    ensure!(formats.len() == 1 || args.output.is_some(), "several formats need -o, which names the files");
    let mut inputs: Vec<PathBuf> = args.inputs.clone();
    inputs.extend(plan.spec.clone());
    inputs.push(plan.results.clone());
    let outputs = (formats.iter())
        .map(|format| {
            let path = args.output.clone().map(|mut path| {
                if formats.len() > 1 {
                    path.as_mut_os_string().push(format!(".{}", format.extension()));
                }
                path
            });
            Output::create(path.as_deref(), &inputs)
        })
        .collect::<anyhow::Result<Vec<Output>>>()?;
    interrupt::keep_findings();
    let (records, whole) = measure(&plan, usize::from(args.jobs))?;
    let table = Table::new(records, reference);
    for (format, output) in formats.iter().zip(outputs) {
        output.write_bytes(&format.render(&table))?;
    }
    Ok(if whole { Status::Clean } else { Status::BadInput })
}

/// What is asked for: a plan, and options that win over it.
fn plan(args: &Args, memory: Option<memory::Size>) -> anyhow::Result<Plan> {
    let is_plan = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    let plans: Vec<&PathBuf> = args.inputs.iter().filter(is_plan).collect();
    ensure!(plans.len() <= 1, "there are {} plans; give one, or name its traces", plans.len());
    let mut plan = match plans.first() {
        Some(path) => plan::read(path)?,
        None => Plan { repetitions: 1, results: "atomvet-experiment.jsonl".into(), ..Plan::default() },
    };
    plan.subjects.extend(args.inputs.iter().filter(|path| !is_plan(path)).cloned().map(Subject::Trace));
    if !args.algo.is_empty() {
        plan.algorithms = algorithms::select_to_compare(&args.algo)?;
    }
    if plan.algorithms.is_empty() {
        plan.algorithms = algorithms::select_to_compare(&["observed".to_owned()])?;
    }
    plan.repetitions = args.repetitions.unwrap_or(plan.repetitions);
    plan.timeout = args.timeout.or(plan.timeout);
    plan.memory = memory.map(|size| size.bytes().to_string()).or(plan.memory);
    plan.spec = args.spec.clone().or(plan.spec);
    plan.first_violation |= args.first_violation;
    plan.understanding.extend(args.understanding.arguments());
    plan.steps = args.budget * 1_000_000;
    plan.results = args.results.clone().unwrap_or(plan.results);
    Ok(plan)
}

/// Measures what the results file does not have yet. Tells all cells, and whether that is really all of them.
fn measure(plan: &Plan, at_once: usize) -> anyhow::Result<(Vec<record::Record>, bool)> {
    let cells = plan.cells()?;
    let (mut results, mut known) = Results::open(&plan.results)?;
    let missing: Vec<plan::Cell> =
        cells.iter().filter(|cell| !known.contains_key(&cell.key)).cloned().collect();
    let there = cells.len() - missing.len();
    if there > 0 {
        say::note(format!(
            "{}: {} of {} cells are there already",
            plan.results.display(),
            there,
            cells.len()
        ));
    }
    let bar = bar(missing.len() as u64);
    runner::run(plan, missing, at_once, |record| {
        results.add(&record)?;
        bar.set_message(format!(
            "{} {}",
            record.algorithm,
            crate::visible::visible_within(&record.subject, 40)
        ));
        bar.inc(1);
        known.insert(record.key.clone(), record);
        Ok(())
    })?;
    bar.finish_and_clear();
    let records: Vec<record::Record> = cells.iter().filter_map(|cell| known.remove(&cell.key)).collect();
    let whole = records.len() == cells.len();
    if !whole {
        let (done, of) = (grid::grouped(records.len() as u64), grid::grouped(cells.len() as u64));
        say::error(format!(
            "interrupted after {done} of {of} cells; run the same command again to measure the others"
        ));
    }
    Ok((records, whole))
}

/// How far it is, on a terminal.
fn bar(cells: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(cells);
    // A bar without our template is still a bar.
    if let Ok(style) = ProgressStyle::with_template("{pos}/{len} cells {wide_bar} {msg} {eta} left") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// The child's side of [`runner`].
fn one_cell(args: &Args) -> anyhow::Result<Status> {
    let is_trace = args.algo.len() == 1 && args.algo[0] == plan::TRACE;
    cell::run(&cell::Cell {
        algorithm: if is_trace { None } else { algorithms::select_to_compare(&args.algo)?.first().copied() },
        trace: &args.inputs[0],
        spec: args.spec.as_deref(),
        first_violation: args.first_violation,
        understanding: args.understanding,
        steps: args.budget * 1_000_000,
    })
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Format::Text => "txt",
            Format::Markdown => "md",
            Format::Latex => "tex",
            Format::Csv => "csv",
            Format::Parquet => "parquet",
            Format::Html => "html",
            Format::Papers => "papers.md",
        }
    }

    fn render(self, table: &Table) -> Vec<u8> {
        let text = match self {
            Format::Parquet => return parquet::write(&table.flat().collect::<Vec<_>>()),
            Format::Text => table.text(),
            Format::Markdown => table.markdown(),
            Format::Latex => table.latex(),
            Format::Csv => table.csv(),
            Format::Html => page::html(table, ""),
            Format::Papers => papers::tables(table),
        };
        text.into_bytes()
    }
}
