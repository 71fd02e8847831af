//! From what was found to the JSON contract, whose types are in `atomvet_report::model`.

use std::collections::HashMap;

use atomvet_check::Block;
use atomvet_check::Kind;
use atomvet_check::witness::{Because, Step, Touch, Witness};
use atomvet_report::model;
use atomvet_trace::wellformed::Repair;
use atomvet_trace::{Error, ErrorKind, Event, EventId, Names, Place, RegionId};

use crate::aside::Aside;
use crate::examine::{Examined, Scene, Verdict, Violation, site, word};
use crate::pipeline::Pass;
use crate::predicted;
use crate::spec::Spec;

/// What is wrong with a trace.
pub(crate) fn failed(trace: &str, error: &Error) -> model::Failed {
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
    let error = model::ErrorEntry {
        kind: kind.to_owned(),
        message: error.to_string(),
        file: error.file.clone(),
        line,
        column,
        offset,
        event,
        problem: error.problem.clone(),
        help: error.help.clone(),
    };
    model::Failed { trace: trace.to_owned(), error }
}

/// A trace that was not looked at, because the command was interrupted before.
pub(crate) fn interrupted(trace: &str) -> model::Failed {
    let problem = "was not looked at: interrupted".to_owned();
    let error = Error {
        file: trace.to_owned(),
        place: Place::Whole,
        kind: ErrorKind::Io,
        problem,
        help: "check it again".to_owned(),
    };
    let mut failed = failed(trace, &error);
    failed.error.kind = "interrupted".to_owned();
    failed
}

/// What a pass has read.
pub(crate) fn coverage(pass: &Pass) -> model::Coverage {
    let nothing = pass.tally.nothing_observed();
    // A program that judges itself counts its blocks and threads.
    let counted = |figure: u64| (!pass.tally.is_live).then_some(figure);
    model::Coverage {
        events: counted(pass.tally.events),
        threads: pass.tally.threads,
        variables: counted(pass.names.variables.len() as u64),
        locks: counted(pass.names.locks.len() as u64),
        blocks: pass.tally.blocks,
        outermost_blocks: counted(pass.tally.outermost_blocks),
        unary: counted(pass.tally.unary),
        transactions: counted(pass.tally.transactions()),
        ignored_accesses: Some(pass.ignored_accesses).filter(|number| *number > 0),
        repairs: pass.repairs.total,
        repaired: pass.repairs.kinds.iter().map(|(repair, number)| (repair_name(*repair), *number)).collect(),
        partial: pass.partial.is_some(),
        partial_reason: pass.partial.as_ref().map(|p| p.reason()),
        observed: nothing.is_none(),
        reason: nothing.map(|n| n.name().to_owned()),
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

/// What was found in a trace.
pub(crate) fn trace(examined: &Examined, spec: Option<&Spec>) -> model::Trace {
    let names = &examined.pass.names;
    let serial = examined.serial_order.as_ref();
    model::Trace {
        trace: examined.trace.clone(),
        coverage: coverage(&examined.pass),
        status: None,
        conventions: Some(examined.in_force.model()),
        program: None,
        seconds: examined.seconds,
        unused_spec: spec.map(|spec| unused(spec, &examined.pass.used)),
        entered: entered(examined),
        checkers: examined.verdicts.iter().map(|verdict| checker(verdict, examined)).collect(),
        serial_order: serial.map(|serial| {
            let order = serial.order.as_ref()?;
            Some(order.iter().map(|&(at, event)| transaction(at.0, event, names)).collect())
        }),
        serial_order_verified: serial.and_then(|s| s.judgement.as_ref()).map(Result::is_ok),
    }
}

/// The blocks that were entered, and what was found about each.
fn entered(examined: &Examined) -> Vec<model::Entered> {
    let names = &examined.pass.names;
    let mut found: HashMap<String, (u64, u64)> = HashMap::new();
    for verdict in &examined.verdicts {
        let mut here: HashMap<String, (u64, u64)> = HashMap::new();
        for finding in verdict.violations.iter().map(|violation| &violation.finding) {
            if let Some(block) = finding.block {
                here.entry(names.block(block.region, block.site)).or_default().0 += finding.count;
            }
        }
        for prediction in verdict.foreseen.violations.iter().map(|foreboding| &foreboding.prediction) {
            let block = prediction.patterns.first().map_or(prediction.transaction, |pattern| pattern.block);
            here.entry(names.block(block.region, block.site)).or_default().1 += prediction.count;
        }
        for (name, (violated, predicted)) in here {
            let most = found.entry(name).or_default();
            *most = (most.0.max(violated), most.1.max(predicted));
        }
    }
    let blocks = examined.entered.by_name(names).into_iter().map(|(block, executions)| {
        let (violated, predicted) = found.get(&block).copied().unwrap_or_default();
        model::Entered { block, executions, violated, predicted }
    });
    blocks.collect()
}

/// The entries of a specification that no block had.
pub(crate) fn unused(spec: &Spec, used: &[bool]) -> Vec<String> {
    spec.atomic.iter().zip(used).filter(|(_, used)| !**used).map(|(name, _)| name.clone()).collect()
}

fn checker(verdict: &Verdict, examined: &Examined) -> model::Checker {
    let names = &examined.pass.names;
    if verdict.info.kind == Kind::Predictive {
        return model::Checker::Predictive(predicted::json::checker(verdict, names));
    }
    model::Checker::Observed(model::Observed {
        name: verdict.info.name.to_owned(),
        kind: kind(verdict.info.kind).to_owned(),
        serializable: match verdict.first_cycle {
            Some(_) => Some(false),
            None => (!examined.pass.tally.is_live).then_some(true),
        },
        first_cycle_event: verdict.first_cycle.map(|at| at.0),
        violations: (verdict.violations.iter().chain(&verdict.set_aside))
            .map(|v| violation(v, names, &examined.scene))
            .collect(),
        stats: verdict.stats.0.iter().copied().collect(),
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

fn violation(violation: &Violation, names: &Names, scene: &Scene) -> model::Violation {
    let finding = &violation.finding;
    let explanation = violation.explanation.as_ref();
    let steps = |witness: &Witness| witness.steps.iter().map(|s| step(s, names)).collect();
    let (verified, verify_error) = match &violation.judgement {
        None => (None, None),
        Some(Ok(())) => (Some(true), None),
        Some(Err(problem)) => (Some(false), Some(problem.clone())),
    };
    let (suppression, idiom) = violation.aside.as_ref().map(Aside::parts).unwrap_or_default();
    model::Violation {
        strength: finding.strength.name().to_owned(),
        block: finding.block.map(|b| block(b, names)),
        innermost: finding.innermost,
        transaction: block(finding.transaction, names),
        event: finding.event.at.0,
        op: word(finding.event.op).to_owned(),
        site: site(names, finding.event.site).map(str::to_owned),
        shape: explanation.map(|e| e.shape().name().to_owned()),
        witness: explanation.map(|e| steps(&e.witness)).unwrap_or_default(),
        data_witness: explanation.and_then(|e| e.by_data.as_ref()).map(steps),
        events: events(violation, names, scene),
        verified,
        verify_error,
        fingerprint: format!("{:016x}", violation.fingerprint),
        count: finding.count,
        suppression,
        idiom,
    }
}

/// What the events are that an entry names by number, in the order of the trace.
fn events(violation: &Violation, names: &Names, scene: &Scene) -> Vec<model::SceneEvent> {
    let finding = &violation.finding;
    let explanation = violation.explanation.as_ref();
    let witnesses = explanation.iter().flat_map(|e| [Some(&e.witness), e.by_data.as_ref()]).flatten();
    let mut wanted: Vec<EventId> =
        witnesses.flat_map(|witness| &witness.steps).flat_map(|step| [step.from, step.to]).collect();
    wanted.extend(finding.block.map(|block| block.begin));
    wanted.extend([finding.transaction.begin, finding.event.at]);
    wanted.sort_unstable();
    wanted.dedup();
    let mut told: Vec<model::SceneEvent> = Vec::new();
    // The last event listed of each block, with how many events of the block come before it.
    let mut listed: HashMap<EventId, (EventId, u64)> = HashMap::new();
    for at in wanted {
        let Some(&(event, outermost)) = scene.0.get(&at) else { continue };
        let (mut skipped, mut before) = (0, Vec::new());
        if let (Some(block), Some(known)) = (outermost, scene.1.get(&at)) {
            let (last, number) = listed.insert(block.begin, (at, known.number)).unwrap_or((block.begin, 0));
            skipped = known.number.saturating_sub(number + 1);
            let since = known.last.iter().filter(|(local, _)| *local > last);
            before = since.map(|&(local, event)| local_event(local, event, names)).collect();
        }
        told.push(model::SceneEvent {
            event: at.0,
            thread: names.threads.get(event.thread).to_owned(),
            op: word(event.op).to_owned(),
            on: event.op.target_name(names).map(str::to_owned),
            site: site(names, event.site).map(str::to_owned),
            block: outermost.map(|b| block(b, names)),
            locks: locks(scene, at, names),
            skipped,
            before,
        });
    }
    told
}

fn locks(scene: &Scene, at: EventId, names: &Names) -> Vec<String> {
    let held = scene.1.get(&at).into_iter().flat_map(|before| &before.locks);
    held.map(|&lock| names.locks.get(lock).to_owned()).collect()
}

fn local_event(at: EventId, event: Event, names: &Names) -> model::LocalEvent {
    model::LocalEvent {
        event: at.0,
        op: word(event.op).to_owned(),
        on: event.op.target_name(names).map(str::to_owned),
        site: site(names, event.site).map(str::to_owned),
    }
}

/// What is known of a block.
pub(crate) fn block(block: Block, names: &Names) -> model::Block {
    model::Block {
        begin_event: block.begin.0,
        thread: names.threads.get(block.thread).to_owned(),
        label: (block.region != RegionId::NONE).then(|| names.regions.get(block.region).to_owned()),
        site: site(names, block.site).map(str::to_owned),
    }
}

fn step(step: &Step, names: &Names) -> model::Step {
    model::Step {
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

fn transaction(at: u64, event: Event, names: &Names) -> model::Transaction {
    let label = match event.op {
        atomvet_trace::Op::Begin(region) if region != RegionId::NONE => {
            Some(names.regions.get(region).to_owned())
        }
        _ => None,
    };
    model::Transaction {
        event: at,
        thread: names.threads.get(event.thread).to_owned(),
        block: matches!(event.op, atomvet_trace::Op::Begin(_)),
        label,
        site: site(names, event.site).map(str::to_owned),
    }
}
