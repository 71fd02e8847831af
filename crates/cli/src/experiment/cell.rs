//! The child's side: one algorithm on one trace, measured, as a line of JSON on standard output.

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::Context;
use atomvet_check::registry::Entry;
use atomvet_check::{Analysis, Findings, Kind};
use atomvet_trace::{Event, Mode, Names, Op};

use super::record::Measure;
use crate::check::Understanding;
use crate::configuration::{Configuration, Given};
use crate::conventions::InForce;
use crate::meter::Meter;
use crate::pipeline::{self, Partial, Pass, Reading, Told};
use crate::predicted::Predicting;
use crate::spool::{Again, Source};
use crate::status::Status;
use crate::{json, memory, say};

/// A checker is asked after so many events whether it has found something, or takes too much memory.
const BETWEEN_LOOKS: usize = 64;

/// What the child is told.
pub(crate) struct Cell<'a> {
    /// None only reads the trace, and counts.
    pub(crate) algorithm: Option<&'static Entry>,
    /// The trace.
    pub(crate) trace: &'a Path,
    /// Which blocks count.
    pub(crate) spec: Option<&'a Path>,
    /// Stop at the first violation.
    pub(crate) first_violation: bool,
    /// How events are understood.
    pub(crate) understanding: Understanding,
    /// Steps that a predictive algorithm may take.
    pub(crate) steps: u64,
}

/// Measures it.
pub(crate) fn run(cell: &Cell<'_>) -> anyhow::Result<Status> {
    let configuration = Given::only(cell.spec).read(None)?;
    let mut source = Source::new(cell.trace, Again::No)?;
    let in_force = cell.understanding.in_force(&mut source, &configuration)?;
    let (pass, measure) = match cell.algorithm {
        Some(entry) => check(cell, entry, &mut source, in_force, &configuration)?,
        None => count(cell, &mut source, &configuration)?,
    };
    if let Some(partial) = &pass.partial
        && !matches!(partial, Partial::CutOff(_))
    {
        say::error(partial.reason());
        return Ok(Status::BadInput);
    }
    let coverage = json::coverage(&pass);
    let measure = Measure {
        events: coverage.events.unwrap_or_default(),
        threads: coverage.threads,
        locks: coverage.locks.unwrap_or_default(),
        variables: coverage.variables.unwrap_or_default(),
        blocks: coverage.blocks,
        transactions: coverage.transactions.unwrap_or_default(),
        ..measure
    };
    crate::output::Output::stdout().write_all_of(&(serde_json::to_string(&measure)? + "\n"))?;
    Ok(Status::Clean)
}

fn check(
    cell: &Cell<'_>,
    entry: &'static Entry,
    source: &mut Source,
    in_force: InForce,
    configuration: &Configuration,
) -> anyhow::Result<(Pass, Measure)> {
    if entry.info.kind == Kind::Predictive && !in_force.allow_prediction() {
        anyhow::bail!(
            "the trace leaves out accesses that its own verdict does not need; record it with --record-all"
        );
    }
    let mut meter = Meter::new(0);
    let mut analysis: Option<Box<dyn Analysis>> = Some(meter.measure(|| (entry.new)(&in_force.config)));
    let mut findings = Findings::folded(&in_force.config);
    findings.effort = Predicting { steps: cell.steps, ..Predicting::default() }.effort(entry.info.name);
    let reading = Reading {
        discipline: cell.understanding.discipline(),
        spec: configuration.spec.as_ref(),
        objects: Told::to(analysis.iter().map(|analysis| &**analysis)),
        commuting: Told::if_asked(in_force.config.commuting_updates),
        ..Reading::default()
    };
    // Whoever reads ahead frees memory at the end, so what was seen in between counts.
    let mut out_of_memory = false;
    let pass = pipeline::run(source, reading, |slice| {
        let Some(analysis) = &mut analysis else { return ControlFlow::Break(()) };
        if !slice.objects.is_empty() {
            meter.measure(|| analysis.objects(slice.first_variable, slice.objects));
        }
        let mut first = slice.first;
        for events in slice.events.chunks(BETWEEN_LOOKS) {
            meter.measure(|| analysis.events(first, events, &mut findings));
            first.0 += events.len() as u64;
            out_of_memory = memory::is_exceeded();
            if out_of_memory || cell.first_violation && findings.first_cycle.is_some() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })?;
    let figures = match analysis.take() {
        Some(analysis) if !out_of_memory => meter.measure(|| analysis.finish(&mut findings)),
        _ => anyhow::bail!("{}", Partial::OutOfMemory.reason()),
    };
    let mut measure = measured(&findings, entry.info.kind, &pass.names);
    measure.figures = figures.0.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect();
    (measure.seconds, measure.peak) = (meter.seconds(), meter.peak_bytes());
    Ok((pass, measure))
}

fn measured(findings: &Findings, kind: Kind, names: &Names) -> Measure {
    let mut measure = Measure {
        serializable: (kind == Kind::Observed).then_some(findings.first_cycle.is_none()),
        first_event: findings.first_cycle.map(|at| at.0),
        races: findings.predicted.races.len() as u64,
        deadlocks: findings.predicted.deadlocks.len() as u64,
        incomplete: findings.effort.is_stopped(),
        ..Measure::default()
    };
    for finding in &findings.list {
        let Some(block) = finding.block else {
            measure.unblamed += finding.count;
            continue;
        };
        let name = names.block(block.region, block.site);
        if block.begin == finding.transaction.begin {
            *measure.outermost.entry(name.clone()).or_default() += finding.count;
        }
        *measure.blamed.entry(name).or_default() += finding.count;
    }
    for violation in &findings.predicted.violations {
        let block = violation.patterns.first().map_or(violation.transaction, |pattern| pattern.block);
        *measure.blamed.entry(names.block(block.region, block.site)).or_default() += violation.count;
    }
    measure
}

/// What the trace consists of, without any checker.
fn count(
    cell: &Cell<'_>,
    source: &mut Source,
    configuration: &Configuration,
) -> anyhow::Result<(Pass, Measure)> {
    let mut meter = Meter::new(0);
    let mut counts = Counts::default();
    let discipline = cell.understanding.discipline();
    let reading = Reading { discipline, spec: configuration.spec.as_ref(), ..Reading::default() };
    let pass = pipeline::run(source, reading, |slice| {
        meter.measure(|| slice.events.iter().for_each(|event| counts.add(event)));
        ControlFlow::Continue(())
    })
    .context("the trace cannot be read")?;
    let figures = [
        ("reads", counts.reads),
        ("writes", counts.writes),
        ("lock operations", counts.lock_operations),
        ("ends", counts.ends),
        ("most locks held", counts.most_held),
    ];
    let measure = Measure {
        seconds: meter.seconds(),
        figures: figures.map(|(name, number)| (name.to_owned(), number)).into(),
        ..Measure::default()
    };
    Ok((pass, measure))
}

/// What papers count in traces.
#[derive(Default)]
struct Counts {
    reads: u64,
    writes: u64,
    lock_operations: u64,
    ends: u64,
    /// Locks that each thread holds.
    held: Vec<u64>,
    most_held: u64,
}

impl Counts {
    fn add(&mut self, event: &Event) {
        let thread = event.thread.index();
        if thread >= self.held.len() {
            self.held.resize(thread + 1, 0);
        }
        let held = &mut self.held[thread];
        match event.op {
            Op::Read(..) => self.reads += 1,
            Op::Write(..) => self.writes += 1,
            Op::Update(..) => (self.reads, self.writes) = (self.reads + 1, self.writes + 1),
            Op::Acquire(_, Mode::Exclusive | Mode::Shared) => {
                self.lock_operations += 1;
                *held += 1;
                self.most_held = self.most_held.max(*held);
            }
            Op::Release(..) => {
                self.lock_operations += 1;
                *held = held.saturating_sub(1);
            }
            Op::Reacquire(..) | Op::Rerelease(..) | Op::Wait(_) => self.lock_operations += 1,
            Op::End => self.ends += 1,
            _ => {}
        }
    }
}
