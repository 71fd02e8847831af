//! Predictions in the JSON contract; `docs/json.md` says what each field means.

use atomvet_check::predictive::predicted::{Deadlock, Moment, Race, Reason, Waiting};
use atomvet_report::model;
use atomvet_trace::{LockId, Names};

use super::Foreboding;
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
        races: (foreseen.races.iter().map(|(race, print)| (race, print, None)))
            .chain(aside.races.iter().map(|(race, print, aside)| (race, print, Some(aside))))
            .map(|(race, print, aside)| self::race(race, *print, aside, names))
            .collect(),
        deadlocks: (foreseen.deadlocks.iter().map(|(deadlock, print)| (deadlock, print, None)))
            .chain(aside.deadlocks.iter().map(|(deadlock, print, aside)| (deadlock, print, Some(aside))))
            .map(|(deadlock, print, aside)| self::deadlock(deadlock, *print, aside, names))
            .collect(),
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
        transaction: block(prediction.transaction, names),
        shape: shown.filter(|_| is_pattern).map(|pattern| pattern.shape().name().to_owned()),
        variables: (shown.iter().flat_map(|pattern| pattern.variables()))
            .map(|variable| names.variables.get(variable).to_owned())
            .collect(),
        events: shown.iter().flat_map(|pattern| &pattern.moments).map(|m| moment(m, names)).collect(),
        order: shown.map(|pattern| pattern.order.clone()).unwrap_or_default(),
        locks: shown.filter(|_| is_pattern).map(|p| locks(&p.missing_locks(), names)).unwrap_or_default(),
        schedule: foreboding.schedule.as_ref().map(|path| path.display().to_string()),
        search: foreboding.search.name().to_owned(),
        verify_error: foreboding.judgement.as_ref().and_then(|judgement| judgement.clone().err()),
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

fn race(race: &Race, fingerprint: u64, aside: Option<&Aside>, names: &Names) -> model::Race {
    model::Race {
        variable: names.variables.get(race.variable).to_owned(),
        events: [moment(&race.first, names), moment(&race.second, names)],
        fingerprint: format!("{fingerprint:016x}"),
        count: race.count,
        suppression: aside.and_then(|aside| aside.parts().0),
    }
}

fn deadlock(deadlock: &Deadlock, fingerprint: u64, aside: Option<&Aside>, names: &Names) -> model::Deadlock {
    model::Deadlock {
        cycle: deadlock.cycle.iter().map(|w| waiting(w, names)).collect(),
        fingerprint: format!("{fingerprint:016x}"),
        count: deadlock.count,
        suppression: aside.and_then(|aside| aside.parts().0),
    }
}

fn waiting(waiting: &Waiting, names: &Names) -> model::Waiting {
    model::Waiting {
        thread: names.threads.get(waiting.thread).to_owned(),
        has: moment(&waiting.has, names),
        wants: moment(&waiting.wants, names),
        gates: locks(&waiting.gates(), names),
    }
}
