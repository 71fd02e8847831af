//! From what locks allow to what can happen: a schedule for each finding, verified before it is shown.
//!
//! Three searches, each only if the one before it found nothing: with the values that were recorded; with other values of the
//! pattern's own variables; with any values, which tells what the locks forbid from what the values do.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atomvet_check::Here;
use atomvet_check::predictive::predicted::Reason;
use atomvet_check::predictive::schedule::{Goal, Outcome, Recorded, Values};
use atomvet_trace::{Event, EventId, Format, Names, VarId};

use super::{Foreboding, Proof, RelaxedRead, Search};
use crate::budget::Budget;
use crate::conventions::InForce;
use crate::examine::{Options, Verdict, Wanted};
use crate::output::Output;
use crate::pipeline::{self, Pass, Told, Until};
use crate::progress::Work;
use crate::say;
use crate::spool::{self, Source};
use crate::writer::Writer;

/// A trace longer than this is not searched for schedules: its events would not fit into memory with what is
/// known about each.
const MOST_EVENTS: u64 = 50_000_000;

/// Looks for a schedule for everything predicted that could be shown, and writes those that were found; for no longer than
/// `limit`.
pub(crate) fn schedules(
    source: &mut Source,
    options: &Options<'_>,
    limit: Duration,
    pass: &Pass,
    verdicts: &mut [Verdict],
) -> Result<(), atomvet_trace::Error> {
    if options.witnesses == Wanted::None || !verdicts.iter().any(has_goal) || source.ensure_kept().is_err() {
        return Ok(());
    }
    if pass.tally.events > MOST_EVENTS {
        say::note(format!(
            "{}: no schedules were looked for: they take traces of at most {} events",
            spool::called(&source.given),
            crate::grid::grouped(MOST_EVENTS)
        ));
        return Ok(());
    }
    let budget = Budget::last(limit);
    let until = Until::Event(EventId(pass.tally.events), budget);
    let mut events: Vec<Event> = Vec::new();
    let read = pipeline::run(source, options.reading(until, Told::No), |slice| {
        events.extend_from_slice(slice.events);
        ControlFlow::Continue(())
    })?;
    if read.partial.is_some() {
        say_stopped(&source.given);
        return Ok(());
    }
    let in_force = options.in_force.for_prediction();
    let recorded = Recorded::new(&in_force.config, &events);
    let stage = Stage { options, in_force, events: &events, recorded, names: &pass.names };
    let mut work = Work::new("schedules");
    for verdict in verdicts.iter_mut() {
        let foreseen = &mut verdict.foreseen;
        let of = (foreseen.violations.len() + foreseen.deadlocks.len() + foreseen.races.len()) as u64;
        let mut done = 0;
        let mut goes_on = || {
            work.at("findings", done, of);
            done += 1;
            !budget.is_spent()
        };
        let all_searched = foreseen.violations.iter_mut().all(|foreboding| {
            stage.violation(foreboding);
            goes_on()
        }) && foreseen.deadlocks.iter_mut().all(|told| {
            let goal = Goal::deadlock(&told.what);
            told.proof = stage.search(goal.as_slice(), told.fingerprint).0;
            goes_on()
        }) && foreseen.races.iter_mut().all(|told| {
            told.proof = stage.race(&Goal::race(&told.what));
            goes_on()
        });
        if !all_searched {
            say_stopped(&source.given);
            return Ok(());
        }
    }
    Ok(())
}

fn has_goal(verdict: &Verdict) -> bool {
    let foreseen = &verdict.foreseen;
    !foreseen.races.is_empty()
        || !foreseen.deadlocks.is_empty()
        || foreseen.violations.iter().any(|foreboding| foreboding.prediction.reason == Reason::Pattern)
}

fn say_stopped(given: &str) {
    say::note(format!(
        "{}: not every schedule was looked for: interrupted, or the time was spent (--explain-seconds sets it)",
        spool::called(given)
    ));
}

/// What a search needs.
struct Stage<'a> {
    options: &'a Options<'a>,
    in_force: InForce,
    events: &'a [Event],
    recorded: Recorded<'a>,
    names: &'a Names,
}

impl Stage<'_> {
    fn violation(&self, foreboding: &mut Foreboding) {
        let prediction = &mut foreboding.prediction;
        let Some(shown) = prediction.patterns.first().map(|pattern| pattern.block) else { return };
        if prediction.reason != Reason::Pattern {
            return;
        }
        // Events that are close to each other have short searches.
        let mut nearest: Vec<usize> = (0..prediction.patterns.len()).collect();
        nearest.sort_by_key(|&i| prediction.patterns[i].span());
        let (mut goals, mut of) = (Vec::new(), Vec::new());
        for i in nearest {
            let pattern = &prediction.patterns[i];
            // A schedule has to show what the finding says: this block.
            let is_it = (pattern.block.region, pattern.block.site) == (shown.region, shown.site);
            if let Some(goal) = self.recorded.goal(pattern).filter(|_| is_it) {
                goals.push(goal);
                of.push(i);
            }
        }
        let (mut proof, found) = self.search(&goals, foreboding.fingerprint);
        if proof.search == Search::Impossible && goals.len() < prediction.patterns.len() {
            // Not every pattern is one that a schedule could show.
            proof.search = Search::None;
        }
        if let Some(found) = found {
            prediction.patterns.swap(0, of[found]);
        }
        prediction.strength = proof.strength();
        foreboding.proof = proof;
    }

    /// A schedule for one of these goals, the first that has one; which one, too.
    fn search(&self, goals: &[Goal], fingerprint: u64) -> (Proof, Option<usize>) {
        let mut proof = Proof::default();
        if goals.is_empty() {
            proof.search = Search::NoGoal;
            return (proof, None);
        }
        let mut undecided = false;
        for values in [Values::AsRecorded, Values::Relaxed, Values::Any] {
            let mut left = self.steps();
            let mut cut_off = false;
            for (i, goal) in goals.iter().enumerate() {
                let goal = goal.with(values);
                let (outcome, spent) = self.recorded.search(&goal, left);
                left = left.saturating_sub(spent);
                match outcome {
                    Outcome::None => {}
                    Outcome::OutOfBudget => cut_off = true,
                    Outcome::Found(_) if values == Values::Any => {
                        proof.search = if undecided { Search::OutOfBudget } else { Search::None };
                        return (proof, None);
                    }
                    Outcome::Found(schedule) => {
                        self.prove(&mut proof, &schedule, &goal, fingerprint);
                        return (proof, Some(i));
                    }
                }
                if left == 0 {
                    cut_off |= i + 1 < goals.len();
                    break;
                }
            }
            undecided |= cut_off;
        }
        proof.search = if undecided { Search::OutOfBudget } else { Search::Impossible };
        (proof, None)
    }

    /// A race is shown with the recorded values, or not at all.
    fn race(&self, goal: &Goal) -> Proof {
        let mut proof = Proof::default();
        match self.recorded.search(goal, self.steps()).0 {
            Outcome::None => proof.search = Search::None,
            Outcome::OutOfBudget => proof.search = Search::OutOfBudget,
            Outcome::Found(schedule) => self.judge(&mut proof, &schedule, goal),
        }
        proof
    }

    /// Steps that the search for one schedule may take.
    fn steps(&self) -> u64 {
        (self.options.predicting.steps / 1000).max(1)
    }

    fn prove(&self, proof: &mut Proof, schedule: &[EventId], goal: &Goal, fingerprint: u64) {
        self.judge(proof, schedule, goal);
        if proof.is_shown() {
            proof.schedule = self.write(schedule, goal, &proof.relaxed, fingerprint);
        }
    }

    /// Asks the independent judge.
    fn judge(&self, proof: &mut Proof, schedule: &[EventId], goal: &Goal) {
        match self.recorded.verify(&self.in_force.config, schedule, goal) {
            Ok(relaxed) => {
                proof.search = if relaxed.is_empty() { Search::Found } else { Search::Relaxed };
                proof.relaxed = relaxed.into_iter().filter_map(|read| self.relaxed(read)).collect();
                proof.judgement = Some(Ok(()));
            }
            Err(problem) => proof.judgement = Some(Err(problem)),
        }
    }

    fn relaxed(&self, at: EventId) -> Option<RelaxedRead> {
        let Event { thread, op, site } = *self.events.get(usize::try_from(at.0).ok()?)?;
        let block = self.recorded.outermost_block(at);
        Some(RelaxedRead { read: Here { at, thread, op, site }, block })
    }

    /// Writes a schedule as a trace, if that is wanted. A failure is told, and the finding stays.
    fn write(
        &self,
        schedule: &[EventId],
        goal: &Goal,
        relaxed: &[RelaxedRead],
        fingerprint: u64,
    ) -> Option<PathBuf> {
        let directory = self.options.predicting.schedules.as_ref()?;
        let path = directory.join(format!("{fingerprint:016x}.std"));
        match self.write_to(&path, schedule, goal, relaxed) {
            Ok(()) => Some(path),
            Err(error) => {
                say::error(format!("{error:#}"));
                None
            }
        }
    }

    /// A comment stands before each read that sees another write than recorded.
    fn write_to(
        &self,
        path: &Path,
        schedule: &[EventId],
        goal: &Goal,
        relaxed: &[RelaxedRead],
    ) -> anyhow::Result<()> {
        let first_new = VarId(u32::try_from(self.names.variables.len()).unwrap_or(u32::MAX));
        let trace = self.recorded.trace(schedule, goal, first_new);
        let mut names = self.names.clone();
        for (variable, life) in &trace.lives {
            let name = format!("{}#{life}", names.variables.get(*variable));
            names.variables.append(&name);
        }
        let output = Output::create(Some(path), &[] as &[PathBuf])?;
        let mut writer = Writer::new(Format::Text, &self.in_force.to_record(), output)?;
        let mut from = 0;
        for (i, id) in trace.recorded.iter().enumerate() {
            if relaxed.iter().any(|relaxed| relaxed.read.at == *id) {
                let _ = writer.write(&names, &trace.events[from..i])?;
                writer.comment("relaxed: the next read saw another write in the recording")?;
                from = i;
            }
        }
        let _ = writer.write(&names, &trace.events[from..])?;
        writer.finish()
    }
}
