//! Predictions in the JSON contract; `docs/json.md` says what each field means.

use atomvet_check::predictive::predicted::{Deadlock, Moment, Race, Reason, Waiting};
use atomvet_trace::{LockId, Names};
use serde::Serialize;

use super::Foreboding;
use crate::examine::{Verdict, site, word};
use crate::json::{BlockEntry, Map, block, kind};

#[derive(Serialize)]
pub(crate) struct CheckerEntry {
    name: &'static str,
    kind: &'static str,
    atomic: bool,
    complete: bool,
    violations: Vec<ViolationEntry>,
    races: Vec<RaceEntry>,
    deadlocks: Vec<DeadlockEntry>,
    stats: Map<u64>,
    seconds: f64,
    peak_bytes: u64,
}

#[derive(Serialize)]
struct ViolationEntry {
    strength: &'static str,
    reason: &'static str,
    block: BlockEntry,
    transaction: BlockEntry,
    shape: Option<&'static str>,
    variables: Vec<String>,
    events: Vec<EventEntry>,
    order: Vec<(usize, usize)>,
    locks: Vec<String>,
    schedule: Option<String>,
    search: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    verify_error: Option<String>,
    fingerprint: String,
    count: u64,
}

#[derive(Serialize)]
struct EventEntry {
    event: u64,
    thread: String,
    op: &'static str,
    on: Option<String>,
    site: Option<String>,
    locks: Vec<String>,
}

#[derive(Serialize)]
struct RaceEntry {
    variable: String,
    events: [EventEntry; 2],
    fingerprint: String,
    count: u64,
}

#[derive(Serialize)]
struct DeadlockEntry {
    cycle: Vec<WaitingEntry>,
    fingerprint: String,
    count: u64,
}

#[derive(Serialize)]
struct WaitingEntry {
    thread: String,
    has: EventEntry,
    wants: EventEntry,
    gates: Vec<String>,
}

/// What a predictive algorithm says.
pub(crate) fn checker(verdict: &Verdict, names: &Names) -> CheckerEntry {
    let foreseen = &verdict.foreseen;
    CheckerEntry {
        name: verdict.info.name,
        kind: kind(verdict.info.kind),
        atomic: foreseen.violations.is_empty(),
        complete: foreseen.complete,
        violations: foreseen.violations.iter().map(|foreboding| violation(foreboding, names)).collect(),
        races: foreseen.races.iter().map(|(race, print)| self::race(race, *print, names)).collect(),
        deadlocks: (foreseen.deadlocks.iter())
            .map(|(deadlock, print)| self::deadlock(deadlock, *print, names))
            .collect(),
        stats: Map::from(&verdict.stats),
        seconds: verdict.seconds,
        peak_bytes: verdict.peak_bytes,
    }
}

fn violation(foreboding: &Foreboding, names: &Names) -> ViolationEntry {
    let prediction = &foreboding.prediction;
    let shown = prediction.patterns.first();
    let is_pattern = prediction.reason == Reason::Pattern;
    ViolationEntry {
        strength: prediction.strength.name(),
        reason: if is_pattern { "pattern" } else { "movers" },
        block: block(shown.map_or(prediction.transaction, |pattern| pattern.block), names),
        transaction: block(prediction.transaction, names),
        shape: shown.filter(|_| is_pattern).map(|pattern| pattern.shape().name()),
        variables: (shown.iter().flat_map(|pattern| pattern.variables()))
            .map(|variable| names.variables.get(variable).to_owned())
            .collect(),
        events: shown.iter().flat_map(|pattern| &pattern.moments).map(|m| moment(m, names)).collect(),
        order: shown.map(|pattern| pattern.order.clone()).unwrap_or_default(),
        locks: shown.filter(|_| is_pattern).map(|p| locks(&p.missing_locks(), names)).unwrap_or_default(),
        schedule: foreboding.schedule.as_ref().map(|path| path.display().to_string()),
        search: foreboding.search.name(),
        verify_error: foreboding.judgement.as_ref().and_then(|judgement| judgement.clone().err()),
        fingerprint: format!("{:016x}", foreboding.fingerprint),
        count: prediction.count,
    }
}

fn moment(moment: &Moment, names: &Names) -> EventEntry {
    let event = moment.event;
    EventEntry {
        event: event.at.0,
        thread: names.threads.get(event.thread).to_owned(),
        op: word(event.op),
        on: event.op.target_name(names).map(str::to_owned),
        site: site(names, event.site).map(str::to_owned),
        locks: locks(&moment.held, names),
    }
}

fn locks(locks: &[LockId], names: &Names) -> Vec<String> {
    locks.iter().map(|&lock| names.locks.get(lock).to_owned()).collect()
}

fn race(race: &Race, fingerprint: u64, names: &Names) -> RaceEntry {
    RaceEntry {
        variable: names.variables.get(race.variable).to_owned(),
        events: [moment(&race.first, names), moment(&race.second, names)],
        fingerprint: format!("{fingerprint:016x}"),
        count: race.count,
    }
}

fn deadlock(deadlock: &Deadlock, fingerprint: u64, names: &Names) -> DeadlockEntry {
    DeadlockEntry {
        cycle: deadlock.cycle.iter().map(|w| waiting(w, names)).collect(),
        fingerprint: format!("{fingerprint:016x}"),
        count: deadlock.count,
    }
}

fn waiting(waiting: &Waiting, names: &Names) -> WaitingEntry {
    WaitingEntry {
        thread: names.threads.get(waiting.thread).to_owned(),
        has: moment(&waiting.has, names),
        wants: moment(&waiting.wants, names),
        gates: locks(&waiting.gates(), names),
    }
}
