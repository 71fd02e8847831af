//! Predictions in the JSON contract; `docs/json.md` says what each field means.

use atomvet_check::predictive::predicted::{Deadlock, Moment, Race, Reason, Waiting};
use atomvet_report::model;
use atomvet_trace::{LockId, Names};

use super::{Foreboding, LeftOut, Proof, RelaxedRead, Told};
use crate::aside::Aside;
use crate::examine::{Verdict, site, word};
use crate::json::{block, kind};

/// What a predictive algorithm says.
pub(crate) fn checker(verdict: &Verdict, names: &Names) -> model::Predictive {
    let foreseen = &verdict.foreseen;
    let aside = &foreseen.aside;
    model::Predictive {
        name: verdict.info.name.to_owned(),
        kind: kind(verdict.info.kind).to_owned(),
        atomic: foreseen.violations.is_empty() && aside.violations.is_empty(),
        complete: foreseen.complete,
        not_judged: foreseen.not_judged.map(str::to_owned),
        violations: (foreseen.violations.iter().map(|foreboding| (foreboding, None)))
            .chain(aside.violations.iter().map(|(foreboding, aside)| (foreboding, Some(aside))))
            .map(|(foreboding, aside)| violation(foreboding, aside, names))
            .collect(),
        races: (foreseen.races.iter().map(|told| (told, None)))
            .chain(aside.races.iter().map(|(told, aside)| (told, Some(aside))))
            .map(|(told, aside)| race(told, aside, names))
            .collect(),
        deadlocks: (foreseen.deadlocks.iter().map(|told| (told, None)))
            .chain(aside.deadlocks.iter().map(|(told, aside)| (told, Some(aside))))
            .map(|(told, aside)| deadlock(told, aside, names))
            .collect(),
        left_out: left_out(&foreseen.left_out),
        stats: verdict.stats.0.iter().copied().collect(),
        seconds: verdict.seconds,
        peak_bytes: verdict.peak_bytes,
    }
}

fn violation(foreboding: &Foreboding, aside: Option<&Aside>, names: &Names) -> model::Prediction {
    let prediction = &foreboding.prediction;
    let shown = prediction.patterns.first();
    let is_pattern = prediction.reason == Reason::Pattern;
    let (suppression, idiom) = aside.map(Aside::parts).unwrap_or_default();
    model::Prediction {
        strength: prediction.strength.name().to_owned(),
        reason: if is_pattern { "pattern" } else { "movers" }.to_owned(),
        block: block(shown.map_or(prediction.transaction, |pattern| pattern.block), names),
        transaction: block(shown.map_or(prediction.transaction, |pattern| pattern.transaction), names),
        shape: shown.filter(|_| is_pattern).map(|pattern| pattern.shape().name().to_owned()),
        variables: (shown.iter().flat_map(|pattern| pattern.variables()))
            .map(|variable| names.variables.get(variable).to_owned())
            .collect(),
        events: shown.iter().flat_map(|pattern| &pattern.moments).map(|m| moment(m, names)).collect(),
        order: shown.map(|pattern| pattern.order.clone()).unwrap_or_default(),
        locks: shown.filter(|_| is_pattern).map(|p| locks(&p.missing_locks(), names)).unwrap_or_default(),
        schedule: schedule(&foreboding.proof),
        search: foreboding.proof.search.name().to_owned(),
        relaxed: relaxed(&foreboding.proof, names),
        verify_error: verify_error(&foreboding.proof),
        fingerprint: format!("{:016x}", foreboding.fingerprint),
        count: prediction.count,
        suppression,
        idiom,
    }
}

fn moment(moment: &Moment, names: &Names) -> model::Moment {
    let event = moment.event;
    model::Moment {
        event: event.at.0,
        thread: names.threads.get(event.thread).to_owned(),
        op: word(event.op).to_owned(),
        on: event.op.target_name(names).map(str::to_owned),
        site: site(names, event.site).map(str::to_owned),
        locks: locks(&moment.held, names),
    }
}

fn locks(locks: &[LockId], names: &Names) -> Vec<String> {
    locks.iter().map(|&lock| names.locks.get(lock).to_owned()).collect()
}

fn race(told: &Told<Race>, aside: Option<&Aside>, names: &Names) -> model::Race {
    let race = &told.what;
    model::Race {
        variable: names.variables.get(race.variable).to_owned(),
        events: [moment(&race.first, names), moment(&race.second, names)],
        search: told.proof.search.name().to_owned(),
        fingerprint: format!("{:016x}", told.fingerprint),
        count: race.count,
        suppression: aside.and_then(|aside| aside.parts().0),
    }
}

fn deadlock(told: &Told<Deadlock>, aside: Option<&Aside>, names: &Names) -> model::Deadlock {
    model::Deadlock {
        cycle: told.what.cycle.iter().map(|w| waiting(w, names)).collect(),
        strength: told.proof.strength().name().to_owned(),
        schedule: schedule(&told.proof),
        search: told.proof.search.name().to_owned(),
        relaxed: relaxed(&told.proof, names),
        verify_error: verify_error(&told.proof),
        fingerprint: format!("{:016x}", told.fingerprint),
        count: told.what.count,
        suppression: aside.and_then(|aside| aside.parts().0),
    }
}

fn schedule(proof: &Proof) -> Option<String> {
    proof.schedule.as_ref().map(|path| path.display().to_string())
}

fn verify_error(proof: &Proof) -> Option<String> {
    proof.judgement.as_ref().and_then(|judgement| judgement.clone().err())
}

fn relaxed(proof: &Proof, names: &Names) -> Vec<model::RelaxedRead> {
    let read = |relaxed: &RelaxedRead| model::RelaxedRead {
        event: relaxed.read.at.0,
        thread: names.threads.get(relaxed.read.thread).to_owned(),
        on: relaxed.read.op.target_name(names).unwrap_or("").to_owned(),
        site: site(names, relaxed.read.site).map(str::to_owned),
        block: relaxed.block.map(|(region, site)| names.block(region, site)),
    };
    proof.relaxed.iter().map(read).collect()
}

/// None if nothing is.
fn left_out(left_out: &LeftOut) -> Option<model::LeftOut> {
    let LeftOut { violations, deadlocks, races, undecided } = *left_out;
    (violations + deadlocks + races > 0).then_some(model::LeftOut { violations, deadlocks, races, undecided })
}

fn waiting(waiting: &Waiting, names: &Names) -> model::Waiting {
    model::Waiting {
        thread: names.threads.get(waiting.thread).to_owned(),
        has: moment(&waiting.has, names),
        wants: moment(&waiting.wants, names),
        gates: locks(&waiting.gates(), names),
    }
}
