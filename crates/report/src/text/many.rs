//! What the text says about traces, if there are more of them than anybody reads about one by one: how many had which verdict, a
//! row each for the first of those that are not clean, and the figures of all of them together. Other formats have every trace.

use super::page::{Page, Style};
use super::summary::{called, counted, of_trace};
use crate::layout::{grouped, plural};
use crate::model::{Checker, Coverage, Entry, Report, Trace};
use crate::visible::visible_within;

/// So many traces are told one by one.
pub(super) const MOST_TRACES: usize = 20;

/// Which verdict a trace has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Unreadable,
    Violated,
    NotAll,
    Clean,
}

fn outcome(entry: &Entry) -> Outcome {
    let Entry::Whole(trace) = entry else { return Outcome::Unreadable };
    let (mut found, mut complete) = (false, true);
    for checker in &trace.checkers {
        match checker {
            Checker::Observed(checker) => {
                found |= checker.serializable == Some(false) || !checker.violations.is_empty()
            }
            Checker::Predictive(checker) => {
                found |= !checker.violations.is_empty() || !checker.deadlocks.is_empty();
                complete &= checker.complete;
            }
        }
    }
    match found {
        true => Outcome::Violated,
        false if trace.coverage.partial || !trace.coverage.observed || !complete => Outcome::NotAll,
        false => Outcome::Clean,
    }
}

/// How many traces had which verdict, and those that are not clean.
pub(super) fn verdicts(page: &mut Page, report: &Report) {
    let outcomes: Vec<Outcome> = report.traces.iter().map(outcome).collect();
    let number = |of: Outcome| outcomes.iter().filter(|outcome| **outcome == of).count() as u64;
    let words = [
        (Outcome::Violated, "with findings"),
        (Outcome::Unreadable, "NOT READ"),
        (Outcome::NotAll, "NOT ALL JUDGED, or nothing was observed"),
        (Outcome::Clean, "clean"),
    ];
    let parts: Vec<String> = words
        .iter()
        .map(|(of, what)| (number(*of), what))
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{} {what}", grouped(number)))
        .collect();
    let lead = format!("verdicts on {}:", plural(report.traces.len() as u64, "trace"));
    page.entry((Style::Lead, &lead), &parts.join(", "));
    for of in [Outcome::Unreadable, Outcome::NotAll, Outcome::Violated] {
        let those = report.traces.iter().zip(&outcomes).filter(|(_, outcome)| **outcome == of);
        for (entry, _) in those.take(MOST_TRACES) {
            match entry {
                Entry::Failed(failed) => {
                    let error = visible_within(&failed.error.message, 1000);
                    let lead = format!("verdicts on {}: none,", called(&failed.trace));
                    page.entry((Style::Lead, &lead), &format!("because it could not be read: {error}"));
                }
                Entry::Whole(trace) => of_trace(page, trace),
            }
        }
        if let Some(more) = number(of).checked_sub(MOST_TRACES as u64).filter(|more| *more > 0) {
            let what = words.iter().find(|(other, _)| *other == of).map_or("", |(_, what)| what);
            let line = format!("   … and {} more {what}; --format json has all of them", grouped(more));
            page.line(&[(Style::Faint, &line)]);
        }
    }
    page.gap();
}

/// What the verdicts speak of, all traces together. (Their names are not compared: a variable of two traces counts twice.)
pub(super) fn coverage(page: &mut Page, report: &Report) {
    let traces: Vec<&Trace> = report
        .traces
        .iter()
        .filter_map(|entry| match entry {
            Entry::Whole(trace) => Some(trace),
            Entry::Failed(_) => None,
        })
        .collect();
    let mut all = Coverage::default();
    for Coverage { events, threads, variables, locks, blocks, outermost_blocks, unary, repairs, .. } in
        traces.iter().map(|trace| &trace.coverage)
    {
        let add = |all: &mut Option<u64>, more: &Option<u64>| {
            *all = all.or(Some(0)).zip(*more).map(|(all, more)| all + more)
        };
        add(&mut all.events, events);
        add(&mut all.variables, variables);
        add(&mut all.locks, locks);
        add(&mut all.outermost_blocks, outermost_blocks);
        add(&mut all.unary, unary);
        all.threads += threads;
        all.blocks += blocks;
        all.repairs += repairs;
    }
    let lead = format!("coverage of {}:", plural(traces.len() as u64, "trace"));
    page.entry((Style::Lead, &lead), &counted(&all));
}
