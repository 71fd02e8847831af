//! The JSON contract, `atomvet-report/1`. `docs/json.md` says what each field means and how the
//! version changes; `tests/cli/json.rs` holds this file to it.

use std::fmt;

use atomvet_check::Kind;
use atomvet_check::witness::{Because, Step, Touch, Witness};
use atomvet_check::{Block, Stats};
use atomvet_trace::wellformed::Repair;
use atomvet_trace::{Error, ErrorKind, Names, Place, RegionId};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::examine::{Examined, Verdict, Violation, site, word};
use crate::predicted;
use crate::spec::Spec;

/// The name and version of the contract.
pub(crate) const SCHEMA: &str = "atomvet-report/1";

/// A whole report.
#[derive(Serialize)]
pub(crate) struct Report<T> {
    /// Always first, so that a reader knows what it reads.
    pub(crate) schema: &'static str,
    /// One entry per trace, in the order given.
    pub(crate) traces: Vec<T>,
}

/// One trace: checked, or not readable.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Entry<T> {
    /// It was read.
    Whole(T),
    /// It was not.
    Failed(Failed),
}

/// A trace that could not be read.
#[derive(Serialize)]
pub(crate) struct Failed {
    trace: String,
    error: ErrorEntry,
}

#[derive(Serialize)]
struct ErrorEntry {
    kind: &'static str,
    message: String,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<u64>,
    problem: String,
    help: String,
}

impl Failed {
    /// What is wrong with a trace.
    pub(crate) fn new(trace: &str, error: &Error) -> Failed {
        let (mut line, mut column, mut offset, mut event) = (None, None, None, None);
        match error.place {
            Place::Whole => {}
            Place::Line(l, c) => (line, column) = (Some(l), Some(c)),
            Place::Offset(o) => offset = Some(o),
            Place::Event(e, o) => (event, offset) = (Some(e), Some(o)),
        }
        let kind = match error.kind {
            ErrorKind::Io => "io",
            ErrorKind::Syntax => "syntax",
            ErrorKind::Version => "version",
            ErrorKind::Truncated => "truncated",
            ErrorKind::Discipline => "discipline",
        };
        let error = ErrorEntry {
            kind,
            message: error.to_string(),
            file: error.file.clone(),
            line,
            column,
            offset,
            event,
            problem: error.problem.clone(),
            help: error.help.clone(),
        };
        Failed { trace: trace.to_owned(), error }
    }
}

impl Failed {
    /// A trace that was not looked at, because the command was interrupted before.
    pub(crate) fn interrupted(trace: &str) -> Failed {
        let problem = "was not looked at: interrupted".to_owned();
        let error = Error {
            file: trace.to_owned(),
            place: Place::Whole,
            kind: ErrorKind::Io,
            problem,
            help: "check it again".to_owned(),
        };
        let failed = Failed::new(trace, &error);
        Failed { error: ErrorEntry { kind: "interrupted", ..failed.error }, ..failed }
    }
}

/// A trace that was checked.
#[derive(Serialize)]
pub(crate) struct TraceEntry {
    trace: String,
    #[serde(flatten)]
    coverage: Coverage,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    unused_spec: Option<Vec<String>>,
    checkers: Vec<CheckerEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    serial_order: Option<Option<Vec<Transaction>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    serial_order_verified: Option<bool>,
}

/// What the verdicts speak of.
#[derive(Serialize)]
pub(crate) struct Coverage {
    pub(crate) events: u64,
    pub(crate) threads: u64,
    pub(crate) variables: u64,
    pub(crate) locks: u64,
    pub(crate) blocks: u64,
    pub(crate) outermost_blocks: u64,
    pub(crate) unary: u64,
    pub(crate) transactions: u64,
    pub(crate) repairs: u64,
    pub(crate) repaired: Map<u64>,
    pub(crate) partial: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) partial_reason: Option<String>,
    pub(crate) observed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'static str>,
}

impl Coverage {
    /// What a pass has read.
    pub(crate) fn new(pass: &crate::pipeline::Pass) -> Coverage {
        let nothing = pass.tally.nothing_observed();
        Coverage {
            events: pass.tally.events,
            threads: pass.tally.threads,
            variables: pass.names.variables.len() as u64,
            locks: pass.names.locks.len() as u64,
            blocks: pass.tally.blocks,
            outermost_blocks: pass.tally.outermost_blocks,
            unary: pass.tally.unary,
            transactions: pass.tally.transactions(),
            repairs: pass.repairs.total,
            repaired: Map(pass
                .repairs
                .kinds
                .iter()
                .map(|(repair, number)| (repair_name(*repair), *number))
                .collect()),
            partial: pass.partial.is_some(),
            partial_reason: pass.partial.as_ref().map(|p| p.reason()),
            observed: nothing.is_none(),
            reason: nothing.map(|n| n.name()),
        }
    }
}

fn repair_name(repair: Repair) -> &'static str {
    match repair {
        Repair::ReleaseNotHeld => "release-not-held",
        Repair::EndWithoutBegin => "end-without-begin",
        Repair::AcquireHeld => "acquire-held",
        Repair::WaitNotHeld => "wait-not-held",
        Repair::WaitLostLock => "wait-lost-lock",
        Repair::BadFork => "bad-fork",
        Repair::BadJoin => "bad-join",
        Repair::AfterJoin => "event-after-join",
    }
}

/// What an algorithm says, in the words of its world.
#[derive(Serialize)]
#[serde(untagged)]
enum CheckerEntry {
    Observed(ObservedEntry),
    Predictive(predicted::json::CheckerEntry),
}

#[derive(Serialize)]
struct ObservedEntry {
    name: &'static str,
    kind: &'static str,
    serializable: bool,
    first_cycle_event: Option<u64>,
    violations: Vec<ViolationEntry>,
    stats: Map<u64>,
    seconds: f64,
    peak_bytes: u64,
}

#[derive(Serialize)]
struct ViolationEntry {
    strength: &'static str,
    block: Option<BlockEntry>,
    innermost: bool,
    transaction: BlockEntry,
    event: u64,
    op: &'static str,
    site: Option<String>,
    shape: Option<&'static str>,
    witness: Vec<StepEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_witness: Option<Vec<StepEntry>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verify_error: Option<String>,
    fingerprint: String,
    count: u64,
}

/// A block.
#[derive(Serialize)]
pub(crate) struct BlockEntry {
    begin_event: u64,
    thread: String,
    label: Option<String>,
    site: Option<String>,
}

#[derive(Serialize)]
struct StepEntry {
    from: u64,
    to: u64,
    because: String,
    on: String,
}

#[derive(Serialize)]
struct Transaction {
    event: u64,
    thread: String,
    block: bool,
    label: Option<String>,
    site: Option<String>,
}

impl TraceEntry {
    /// What was found in a trace.
    pub(crate) fn new(examined: &Examined, spec: Option<&Spec>) -> TraceEntry {
        let names = &examined.pass.names;
        let serial = examined.serial_order.as_ref();
        TraceEntry {
            trace: examined.trace.clone(),
            coverage: Coverage::new(&examined.pass),
            seconds: examined.seconds,
            unused_spec: spec.map(|spec| unused(spec, &examined.pass.used)),
            checkers: examined.verdicts.iter().map(|verdict| checker(verdict, names)).collect(),
            serial_order: serial.map(|serial| {
                let order = serial.order.as_ref()?;
                Some(order.iter().map(|&(at, event)| transaction(at.0, event, names)).collect())
            }),
            serial_order_verified: serial.and_then(|s| s.judgement.as_ref()).map(Result::is_ok),
        }
    }
}

/// The entries of a specification that no block had.
pub(crate) fn unused(spec: &Spec, used: &[bool]) -> Vec<String> {
    spec.atomic.iter().zip(used).filter(|(_, used)| !**used).map(|(name, _)| name.clone()).collect()
}

fn checker(verdict: &Verdict, names: &Names) -> CheckerEntry {
    if verdict.info.kind == Kind::Predictive {
        return CheckerEntry::Predictive(predicted::json::checker(verdict, names));
    }
    CheckerEntry::Observed(ObservedEntry {
        name: verdict.info.name,
        kind: kind(verdict.info.kind),
        serializable: verdict.first_cycle.is_none(),
        first_cycle_event: verdict.first_cycle.map(|at| at.0),
        violations: verdict.violations.iter().map(|v| violation(v, names)).collect(),
        stats: Map::from(&verdict.stats),
        seconds: verdict.seconds,
        peak_bytes: verdict.peak_bytes,
    })
}

/// Whether verdicts speak of what happened or of what could have.
pub(crate) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Observed => "observed",
        Kind::Predictive => "predictive",
    }
}

fn violation(violation: &Violation, names: &Names) -> ViolationEntry {
    let finding = &violation.finding;
    let explanation = violation.explanation.as_ref();
    let steps = |witness: &Witness| witness.steps.iter().map(|s| step(s, names)).collect();
    let (verified, verify_error) = match &violation.judgement {
        None => (None, None),
        Some(Ok(())) => (Some(true), None),
        Some(Err(problem)) => (Some(false), Some(problem.clone())),
    };
    ViolationEntry {
        strength: finding.strength.name(),
        block: finding.block.map(|b| block(b, names)),
        innermost: finding.innermost,
        transaction: block(finding.transaction, names),
        event: finding.event.at.0,
        op: word(finding.event.op),
        site: site(names, finding.event.site).map(str::to_owned),
        shape: explanation.map(|e| e.shape().name()),
        witness: explanation.map(|e| steps(&e.witness)).unwrap_or_default(),
        data_witness: explanation.and_then(|e| e.by_data.as_ref()).map(steps),
        verified,
        verify_error,
        fingerprint: format!("{:016x}", violation.fingerprint),
        count: finding.count,
    }
}

/// What is known of a block.
pub(crate) fn block(block: Block, names: &Names) -> BlockEntry {
    BlockEntry {
        begin_event: block.begin.0,
        thread: names.threads.get(block.thread).to_owned(),
        label: (block.region != RegionId::NONE).then(|| names.regions.get(block.region).to_owned()),
        site: site(names, block.site).map(str::to_owned),
    }
}

fn step(step: &Step, names: &Names) -> StepEntry {
    StepEntry {
        from: step.from.0,
        to: step.to.0,
        because: because(step.because),
        on: on(step.because, names).to_owned(),
    }
}

/// What orders two events, as one word.
pub(crate) fn because(because: Because) -> String {
    let touch = |touch: Touch| match touch {
        Touch::Read => "read",
        Touch::Write => "write",
        Touch::Update => "update",
    };
    match because {
        Because::Access(_, first, second) => format!("{}-{}", touch(first), touch(second)),
        Because::Lock(_) => "release-acquire".to_owned(),
        Because::Fork(_) => "fork".to_owned(),
        Because::Join(_) => "join".to_owned(),
        Because::Barrier(_) => "barrier".to_owned(),
        Because::ProgramOrder(_) => "program-order".to_owned(),
        Because::SameTransaction(_) => "same-transaction".to_owned(),
    }
}

/// The name of what orders two events.
pub(crate) fn on(because: Because, names: &Names) -> &str {
    match because {
        Because::Access(variable, ..) => names.variables.get(variable),
        Because::Lock(lock) => names.locks.get(lock),
        Because::Barrier(barrier) => names.barriers.get(barrier),
        Because::Fork(thread)
        | Because::Join(thread)
        | Because::ProgramOrder(thread)
        | Because::SameTransaction(thread) => names.threads.get(thread),
    }
}

fn transaction(at: u64, event: atomvet_trace::Event, names: &Names) -> Transaction {
    let label = match event.op {
        atomvet_trace::Op::Begin(region) if region != RegionId::NONE => {
            Some(names.regions.get(region).to_owned())
        }
        _ => None,
    };
    Transaction {
        event: at,
        thread: names.threads.get(event.thread).to_owned(),
        block: matches!(event.op, atomvet_trace::Op::Begin(_)),
        label,
        site: site(names, event.site).map(str::to_owned),
    }
}

/// Named figures as an object that keeps their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Map<T>(pub(crate) Vec<(&'static str, T)>);

impl From<&Stats> for Map<u64> {
    fn from(stats: &Stats) -> Self {
        Map(stats.0.clone())
    }
}

impl<T: Serialize> Serialize for Map<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// The text of a report.
pub(crate) fn render(report: &impl Serialize) -> Result<String, fmt::Error> {
    // Our structures have string keys only and no failing serializers, so this does not fail.
    let mut text = serde_json::to_string_pretty(report).map_err(|_| fmt::Error)?;
    text.push('\n');
    Ok(text)
}
