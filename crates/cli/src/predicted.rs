//! What predictive algorithms say about a trace, with the schedules that show it.
//!
//! ```text
//! pass 1       Findings.predicted ──► Foreseen: folded by fingerprint
//! once more    the events, if any violation could have a schedule ──► search ──► verify ──► --schedules DIR
//! ```

pub(crate) mod json;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use atomvet_check::predictive::Effort;
use atomvet_check::predictive::effort::{Done, Keep, Watch};
use atomvet_check::predictive::predicted::{Deadlock, Moment, Prediction, Race, Reason};
use atomvet_check::predictive::schedule::{self, Goal, Outcome, Recorded};
use atomvet_check::{Findings, Stats, Strength};
use atomvet_trace::{Event, EventId, Format, Names, Op};
use xxhash_rust::xxh3::xxh3_64;

use crate::aside::Aside;
use crate::budget::Budget;
use crate::examine::{Judgement, Options, Verdict, Wanted, site, word};
use crate::idioms::Benign;
use crate::interrupt::{self, Overdue};
use crate::output::Output;
use crate::pipeline::{self, Pass, Told, Until};
use crate::progress::Work;
use crate::spool::Source;
use crate::writer::Writer;
use crate::{memory, say};

/// How prediction is done.
#[derive(Clone, Debug)]
pub(crate) struct Predicting {
    /// Steps that an algorithm may take.
    pub(crate) steps: u64,
    /// Where schedules are written to, if anywhere.
    pub(crate) schedules: Option<PathBuf>,
}

impl Default for Predicting {
    fn default() -> Self {
        Predicting { steps: atomvet_check::predictive::effort::DEFAULT_STEPS, schedules: None }
    }
}

impl Predicting {
    /// What one algorithm may spend, with a bar on the terminal and an ear for signals.
    pub(crate) fn effort(&self, algorithm: &'static str) -> Effort {
        let work = std::sync::Mutex::new(Work::new(algorithm));
        let watch: Watch = std::sync::Arc::new(move |Done { what, done, of }| {
            if let Ok(mut work) = work.lock() {
                work.at(what, done, of);
            }
            let stop = interrupt::is_overdue(Overdue::WithMoreToCome) || memory::is_exceeded();
            if stop { Keep::Stop } else { Keep::Going }
        });
        Effort::new(self.steps, Some(watch))
    }

    /// Steps that the search for one schedule may take.
    fn steps_per_schedule(&self) -> u64 {
        (self.steps / 1000).max(1)
    }
}

/// A trace longer than this is not searched for schedules: its events would not fit into memory with what is
/// known about each.
const MOST_EVENTS: u64 = 50_000_000;

/// What one predictive algorithm says about a trace.
#[derive(Default)]
pub(crate) struct Foreseen {
    /// Blocks that are not atomic in some interleaving.
    pub(crate) violations: Vec<Foreboding>,
    /// Data races, with their fingerprints.
    pub(crate) races: Vec<(Race, u64)>,
    /// Potential deadlocks, with their fingerprints.
    pub(crate) deadlocks: Vec<(Deadlock, u64)>,
    /// Whether everything was judged.
    pub(crate) complete: bool,
    /// Why nothing was judged.
    pub(crate) not_judged: Option<&'static str>,
    /// What was found and does not count.
    pub(crate) aside: ForeseenAside,
}

/// What was predicted and does not count, with the reasons.
#[derive(Default)]
pub(crate) struct ForeseenAside {
    pub(crate) violations: Vec<(Foreboding, Aside)>,
    pub(crate) races: Vec<(Race, u64, Aside)>,
    pub(crate) deadlocks: Vec<(Deadlock, u64, Aside)>,
}

/// A predicted violation and what is known about it.
pub(crate) struct Foreboding {
    /// What the checker said; if there is a schedule, the first pattern is the one that it shows.
    pub(crate) prediction: Prediction,
    /// The same for the same mistake in every run.
    pub(crate) fingerprint: u64,
    /// It is not predicted without the accesses that idioms name.
    pub(crate) is_benign: bool,
    /// Whether a schedule was looked for, and what became of it.
    pub(crate) search: Search,
    /// Where the schedule was written to.
    pub(crate) schedule: Option<PathBuf>,
    /// What the independent judge says about the schedule, if there is one.
    pub(crate) judgement: Option<Judgement>,
}

/// What became of the search for a schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Search {
    /// There was none.
    NotTried,
    /// One was found.
    Found,
    /// No reordering in which the program reads what it read shows the pattern.
    None,
    /// None was found in as many steps as were granted.
    OutOfBudget,
}

impl Search {
    /// As shown in every output.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Search::NotTried => "not tried",
            Search::Found => "found",
            Search::None => "none",
            Search::OutOfBudget => "out of budget",
        }
    }
}

impl Foreseen {
    /// Takes what a checker found, folded by fingerprint if it was folded by the checker.
    pub(crate) fn new(findings: Findings, stats: &Stats, folded: bool, names: &Names) -> Foreseen {
        let complete = all_judged(&findings, stats);
        let predicted = findings.predicted;
        let mut foreseen = Foreseen { complete, ..Foreseen::default() };
        let mut fold = Fold { folded, seen: HashMap::new() };
        for prediction in predicted.violations {
            let fingerprint = of_prediction(&prediction, names);
            if let Some(first) = fold.first(fingerprint, foreseen.violations.len()) {
                let same = &mut foreseen.violations[first].prediction;
                same.count += prediction.count;
                same.patterns.extend(prediction.patterns);
                continue;
            }
            foreseen.violations.push(Foreboding {
                prediction,
                fingerprint,
                is_benign: false,
                search: Search::NotTried,
                schedule: None,
                judgement: None,
            });
        }
        fold.seen.clear();
        for race in predicted.races {
            let fingerprint = of_race(&race, names);
            match fold.first(fingerprint, foreseen.races.len()) {
                Some(first) => foreseen.races[first].0.count += race.count,
                None => foreseen.races.push((race, fingerprint)),
            }
        }
        fold.seen.clear();
        for deadlock in predicted.deadlocks {
            let fingerprint = of_deadlock(&deadlock, names);
            match fold.first(fingerprint, foreseen.deadlocks.len()) {
                Some(first) => foreseen.deadlocks[first].0.count += deadlock.count,
                None => foreseen.deadlocks.push((deadlock, fingerprint)),
            }
        }
        foreseen
    }

    /// Nothing, because nothing could be relied upon.
    pub(crate) fn not_judged(why: &'static str) -> Foreseen {
        Foreseen { not_judged: Some(why), ..Foreseen::default() }
    }

    /// Sets aside what is benign and owes that to an access that an idiom names.
    pub(crate) fn set_benign_aside(&mut self, benign: &Benign) {
        for foreboding in std::mem::take(&mut self.violations) {
            let idiom = if foreboding.is_benign { benign.label_prediction(&foreboding) } else { None };
            match idiom {
                Some(idiom) => self.aside.violations.push((foreboding, Aside::Benign(Some(idiom)))),
                None => self.violations.push(foreboding),
            }
        }
    }

    /// Whether something is wrong. (A race is not: a trace does not tell which accesses are atomic operations.)
    pub(crate) fn is_bad(&self) -> bool {
        !self.violations.is_empty() || !self.deadlocks.is_empty()
    }
}

/// Whether an algorithm judged everything that it saw.
pub(crate) fn all_judged(findings: &Findings, stats: &Stats) -> bool {
    let all_judged = stats.0.iter().all(|&(name, number)| !name.ends_with("not judged") || number == 0);
    all_judged && !findings.effort.is_stopped()
}

struct Fold {
    folded: bool,
    seen: HashMap<u64, usize>,
}

impl Fold {
    /// The finding that this one is folded into; none if it is to be kept as the next one.
    fn first(&mut self, fingerprint: u64, next: usize) -> Option<usize> {
        let first = *self.seen.entry(fingerprint).or_insert(next);
        (self.folded && first != next).then_some(first)
    }
}

fn of_prediction(prediction: &Prediction, names: &Names) -> u64 {
    let rule = match prediction.reason {
        Reason::Pattern => "block-not-atomic",
        Reason::Movers => "block-not-reducible",
    };
    let Some(shown) = prediction.patterns.first() else { return 0 };
    let name = names.block(shown.block.region, shown.block.site);
    let mut parts = vec![rule, &name, site(names, shown.block.site).unwrap_or("")];
    parts.extend(shown.moments.iter().flat_map(|moment| place(moment, names)));
    hash(&parts)
}

fn of_race(race: &Race, names: &Names) -> u64 {
    let [one, other] = [place(&race.first, names), place(&race.second, names)];
    let (one, other) = if one <= other { (one, other) } else { (other, one) };
    // Without a place in the source, a race is known by its variable.
    let variable =
        if one[1].is_empty() || other[1].is_empty() { names.variables.get(race.variable) } else { "" };
    hash(&["data-race", variable, one[0], one[1], other[0], other[1]])
}

fn of_deadlock(deadlock: &Deadlock, names: &Names) -> u64 {
    let mut parts: Vec<[&str; 2]> = (deadlock.cycle.iter())
        .map(|waiting| {
            let Op::Acquire(lock, _) = waiting.wants.event.op else { return ["", ""] };
            [names.locks.get(lock), site(names, waiting.wants.event.site).unwrap_or("")]
        })
        .collect();
    parts.sort_unstable();
    let mut all = vec!["deadlock"];
    all.extend(parts.iter().flatten());
    hash(&all)
}

/// What a moment does and where: the same in every run.
fn place<'a>(moment: &Moment, names: &'a Names) -> [&'a str; 2] {
    [word(moment.event.op), site(names, moment.event.site).unwrap_or("")]
}

/// As `docs/json.md` says.
fn hash(parts: &[&str]) -> u64 {
    let text: String = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
    xxh3_64(text.as_bytes())
}

/// Looks for a schedule for every predicted violation that will be shown, and writes those that were found; for no longer than
/// `limit`.
pub(crate) fn schedules(
    source: &mut Source,
    options: &Options<'_>,
    limit: Duration,
    pass: &Pass,
    verdicts: &mut [Verdict],
) -> Result<(), atomvet_trace::Error> {
    let shown = match options.witnesses {
        Wanted::None => 0,
        Wanted::All => usize::MAX,
    };
    let wanted = verdicts.iter().flat_map(|verdict| verdict.foreseen.violations.iter().take(shown));
    if !wanted.into_iter().any(|foreboding| foreboding.prediction.reason == Reason::Pattern) {
        return Ok(());
    }
    if source.ensure_kept().is_err() {
        return Ok(());
    }
    if pass.tally.events > MOST_EVENTS {
        say::note(format!(
            "{}: no schedules were looked for: they take traces of at most {} events",
            crate::spool::called(&source.given),
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
    let stage =
        Stage { options, events: &events, recorded: Recorded::new(&options.in_force.config, &events), pass };
    let mut work = Work::new("schedules");
    for verdict in verdicts.iter_mut() {
        let of = verdict.foreseen.violations.len().min(shown) as u64;
        for (done, foreboding) in (0..).zip(verdict.foreseen.violations.iter_mut().take(shown)) {
            if budget.is_spent() {
                say_stopped(&source.given);
                return Ok(());
            }
            work.at("violations", done, of);
            stage.search(foreboding);
        }
    }
    Ok(())
}

fn say_stopped(given: &str) {
    say::note(format!(
        "{}: not every schedule was looked for: interrupted, or the time was spent (--explain-seconds sets it)",
        crate::spool::called(given)
    ));
}

/// What a search needs.
struct Stage<'a> {
    options: &'a Options<'a>,
    events: &'a [Event],
    recorded: Recorded<'a>,
    pass: &'a Pass,
}

impl Stage<'_> {
    fn search(&self, foreboding: &mut Foreboding) {
        let prediction = &mut foreboding.prediction;
        if prediction.reason != Reason::Pattern {
            return;
        }
        let Some(shown) = prediction.patterns.first().map(|pattern| pattern.block) else { return };
        let mut left = self.options.predicting.steps_per_schedule();
        foreboding.search = Search::None;
        for i in 0..prediction.patterns.len() {
            let pattern = &prediction.patterns[i];
            // A schedule has to show what the finding says: this block.
            let is_it = (pattern.block.region, pattern.block.site) == (shown.region, shown.site);
            let Some(goal) = self.recorded.goal(pattern).filter(|_| is_it) else { continue };
            let (outcome, spent) = self.recorded.search(&goal, left);
            left = left.saturating_sub(spent);
            match outcome {
                Outcome::None => {}
                Outcome::OutOfBudget => foreboding.search = Search::OutOfBudget,
                Outcome::Found(schedule) => {
                    let judgement =
                        schedule::verify(&self.options.in_force.config, self.events, &schedule, &goal);
                    if judgement.is_ok() {
                        prediction.strength = Strength::Scheduled;
                        prediction.patterns.swap(0, i);
                        foreboding.search = Search::Found;
                        foreboding.schedule = self.write(&schedule, &goal, foreboding.fingerprint);
                    }
                    foreboding.judgement = Some(judgement);
                    return;
                }
            }
            if left == 0 {
                foreboding.search = Search::OutOfBudget;
                return;
            }
        }
    }

    /// Writes a schedule as a trace, if that is wanted. A failure is told, and the finding stays.
    fn write(&self, schedule: &[EventId], goal: &Goal, fingerprint: u64) -> Option<PathBuf> {
        let directory = self.options.predicting.schedules.as_ref()?;
        let path = directory.join(format!("{fingerprint:016x}.std"));
        let written = Output::create(Some(&path), &[] as &[PathBuf])
            .and_then(|output| Writer::new(Format::Text, &self.options.in_force.to_record(), output))
            .and_then(|mut writer| {
                let _ = writer.write(&self.pass.names, &self.recorded.trace(schedule, goal))?;
                writer.finish()
            });
        match written {
            Ok(()) => Some(path),
            Err(error) => {
                say::error(format!("{error:#}"));
                None
            }
        }
    }
}

/// Makes the directory for schedules, before any work is done.
pub(crate) fn make_directory(directory: &std::path::Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory).with_context(|| {
        format!("{}: cannot be made; give --schedules a directory that you may write to", directory.display())
    })
}
