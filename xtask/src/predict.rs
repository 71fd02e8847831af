//! `cargo xtask predict`: the predictive checkers on random small programs, judged by all interleavings.
//!
//! Reproduces the table of the design page: per checker and kind of program, how many programs that are not
//! atomic it misses, and how many of those that are it calls not atomic. Fails if a bound is broken, and shows
//! the first wrong verdicts, shrunk.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use atomvet_check::enumerate::programs::{Column, Operations, program};
use atomvet_check::enumerate::{Limits, Truth, enumerate};
use atomvet_check::registry::{self, Entry};
use atomvet_check::{Config, Findings, Kind, notation};
use atomvet_trace::wellformed::{Discipline, Wellformed};
use atomvet_trace::{Event, EventId, Names, Op};

use crate::schedules::{Schedules, Share};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many programs, of all columns together
    #[arg(long, default_value_t = 25_000)]
    pub(crate) programs: u64,
    /// Stop after so many seconds, whatever was reached
    #[arg(long)]
    pub(crate) seconds: Option<u64>,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Programs with read-write locks, updates, waits and more, which the table does not have
    #[arg(long)]
    pub(crate) rich: bool,
}

/// Programs that would take longer are left out, and counted.
const LIMITS: Limits = Limits { states: 2_000_000 };

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let start = Instant::now();
    let deadline = options.seconds.map(|seconds| start + Duration::from_secs(seconds));
    let operations = if options.rich { Operations::Rich } else { Operations::Plain };
    // Those that find races alone have judges of their own, in crates/check/src/predictive/race_tests.rs.
    let judges = registry::of_kind(Kind::Predictive).filter(|entry| !entry.info.name.starts_with("race-"));
    let mut trials: Vec<Trial> = judges.map(|entry| Trial::new(entry, operations)).collect();
    let mut columns = [Programs::default(); Column::ALL.len()];
    let recommended = registry::of_kind(Kind::Predictive).next().context("no predictive checker")?;
    let mut schedules: [Schedules; Column::ALL.len()] = Default::default();
    // The columns take turns, so that a run that is cut off has as many of each.
    for turn in 0..options.programs {
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            break;
        }
        let at = (turn % Column::ALL.len() as u64) as usize;
        let seed = options.seed + turn / Column::ALL.len() as u64;
        let events = program(Column::ALL[at], operations, seed);
        let truth = enumerate(&events, &LIMITS);
        columns[at].accesses += events.iter().filter(|event| is_access(event)).count();
        columns[at].count(truth.as_ref());
        if let Some(truth) = truth {
            trials.iter_mut().for_each(|trial| trial.judge(at, seed, &events, &truth));
            schedules[at].judge(recommended, (seed, &events), &truth, &LIMITS);
        }
    }
    print(&columns, &trials, &schedules, start.elapsed());
    let mut broken: Vec<String> = trials.iter().flat_map(Trial::broken).collect();
    broken.extend(schedules.iter().flat_map(|of_column| of_column.wrong.iter().take(MOST_EXAMPLES).cloned()));
    ensure!(broken.is_empty(), "bounds are broken\n{}", broken.join("\n"));
    ensure!(columns.iter().all(|programs| programs.judged >= 200), "too few programs to mean anything");
    Ok(())
}

fn is_access(event: &Event) -> bool {
    matches!(event.op, Op::Read(..) | Op::Write(..) | Op::Update(..))
}

/// What a column is made of.
#[derive(Clone, Copy, Default)]
struct Programs {
    /// Of all programs.
    accesses: usize,
    /// With more states than the limit.
    too_large: u64,
    deadlock: u64,
    /// The others.
    judged: u64,
    not_conflict_atomic: u64,
    not_view_atomic: u64,
    /// Of those: units that are violable, and those of them with a schedule.
    violable: usize,
    schedulable: usize,
}

impl Programs {
    fn all(&self) -> u64 {
        self.judged + self.deadlock + self.too_large
    }

    fn count(&mut self, truth: Option<&Truth>) {
        match truth {
            None => self.too_large += 1,
            Some(truth) if truth.deadlock_possible => self.deadlock += 1,
            Some(truth) => {
                self.judged += 1;
                self.not_conflict_atomic += u64::from(!truth.conflict_atomic);
                self.not_view_atomic += u64::from(!truth.view_atomic);
                self.violable += truth.violable.len();
                self.schedulable += truth.schedulable.len();
            }
        }
    }
}

/// What a checker judges.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sense {
    Conflict,
    View,
    Deadlock,
}

impl Sense {
    fn of(checker: &str) -> Sense {
        match checker {
            "deadlock" => Sense::Deadlock,
            "commit-node-view" | "blocks" | "blocks-exact" => Sense::View,
            _ => Sense::Conflict,
        }
    }

    /// Whether the program is fine. None if that is not the question: atomicity is judged only where there
    /// is no deadlock.
    fn is_fine(self, truth: &Truth) -> Option<bool> {
        match self {
            Sense::Deadlock => Some(!truth.deadlock_possible),
            _ if truth.deadlock_possible => None,
            Sense::Conflict => Some(truth.conflict_atomic),
            Sense::View => Some(truth.view_atomic),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Sense::Conflict => "conflict",
            Sense::View => "view",
            Sense::Deadlock => "all programs",
        }
    }
}

/// What a checker must keep in a column: the most misses, and the most false alarms in percent of the atomic
/// programs. None where nothing is promised.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Bound {
    missed: Option<u64>,
    false_alarms: Option<f64>,
}

fn bound(checker: &str, column: Column, operations: Operations) -> Bound {
    let (missed, false_alarms) = match checker {
        "commit-node" | "blocks" if column == Column::Two => (Some(0), Some(0.0)),
        "commit-node" => (Some(0), Some(0.3)),
        "commit-node-view" => (Some(0), Some(2.0)),
        reduction if reduction.starts_with("reduction") => (Some(0), None),
        _ => (None, None),
    };
    // Locks that are not nested are beyond the papers: nothing may be missed, false alarms are not promised.
    Bound { missed, false_alarms: false_alarms.filter(|_| operations == Operations::Plain) }
}

/// So many wrong verdicts of a checker are shown for a column in which it breaks a bound.
const MOST_EXAMPLES: usize = 4;

/// How a checker did.
struct Trial {
    entry: &'static Entry,
    operations: Operations,
    sense: Sense,
    /// Per column.
    scores: [Score; Column::ALL.len()],
}

/// How a checker did in one column.
#[derive(Default)]
struct Score {
    /// Programs that are fine.
    fine: u64,
    missed: u64,
    false_alarms: u64,
    /// The checker gave up.
    undecided: u64,
    /// The first wrong verdicts where something is promised: the seed, the program, what the checker said.
    examples: Vec<(u64, Vec<Event>, bool)>,
}

impl Score {
    fn false_alarm_percent(&self) -> f64 {
        100.0 * self.false_alarms as f64 / self.fine.max(1) as f64
    }
}

impl Trial {
    fn new(entry: &'static Entry, operations: Operations) -> Trial {
        Trial { entry, operations, sense: Sense::of(entry.info.name), scores: Default::default() }
    }

    fn judge(&mut self, at: usize, seed: u64, events: &[Event], truth: &Truth) {
        let Some(fine) = self.sense.is_fine(truth) else { return };
        let score = &mut self.scores[at];
        score.fine += u64::from(fine);
        let Some(alarm) = self.sense.alarms(self.entry, events) else {
            score.undecided += 1;
            return;
        };
        score.missed += u64::from(!fine && !alarm);
        score.false_alarms += u64::from(fine && alarm);
        let bound = bound(self.entry.info.name, Column::ALL[at], self.operations);
        let promised = if fine { bound.false_alarms.is_some() } else { bound.missed.is_some() };
        if alarm == fine && promised && score.examples.len() < MOST_EXAMPLES {
            score.examples.push((seed, events.to_vec(), alarm));
        }
    }

    /// The smallest program found, by leaving out one or two events, of which the verdict is still as wrong.
    fn shrink(&self, events: &[Event], alarm: bool) -> Vec<Event> {
        let still_wrong = |events: &[Event]| {
            let (events, names) = notation::parse(&notation::show(events, &Names::default()));
            let mut checked = events.clone();
            is_closed(&events)
                && Wellformed::new(Discipline::Strict).check(EventId(0), &mut checked, &names).is_ok()
                && checked == events
                && enumerate(&events, &LIMITS).and_then(|truth| self.sense.is_fine(&truth)) == Some(alarm)
                && self.sense.alarms(self.entry, &events) == Some(alarm)
        };
        let mut events = events.to_vec();
        'smaller: loop {
            for first in 0..events.len() {
                // A begin goes with its end, an acquire with its release: so two at a time as well.
                for second in first..events.len() {
                    let mut fewer = events.clone();
                    fewer.remove(second);
                    if first != second {
                        fewer.remove(first);
                    }
                    if still_wrong(&fewer) {
                        events = fewer;
                        continue 'smaller;
                    }
                }
            }
            return events;
        }
    }

    /// The bounds that it breaks.
    fn broken(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for (column, score) in Column::ALL.into_iter().zip(&self.scores) {
            let (name, column_name) = (self.entry.info.name, column.name());
            let bound = bound(name, column, self.operations);
            let (missed, percent) = (score.missed, score.false_alarm_percent());
            let misses = bound.missed.is_some_and(|most| missed > most);
            if misses || bound.false_alarms.is_some_and(|most| percent > most) {
                broken.push(format!("{name} on {column_name}: {missed} missed, {percent:.2}% false alarms"));
                broken.extend(score.examples.iter().map(|(seed, events, alarm)| {
                    let what = if *alarm { "false alarm" } else { "miss" };
                    let program = notation::show(&self.shrink(events, *alarm), &Names::default());
                    format!("  {what} with seed {seed}: {program}")
                }));
            }
        }
        broken
    }
}

/// Blocks have ended and locks are released.
fn is_closed(events: &[Event]) -> bool {
    let balance = |event: &Event| match event.op {
        Op::Begin(_) | Op::Acquire(..) => 1,
        Op::End | Op::Release(..) => -1,
        _ => 0,
    };
    events.iter().map(balance).sum::<i32>() == 0
}

impl Sense {
    /// Whether the checker finds something; none if it gave up before it did.
    fn alarms(self, entry: &Entry, events: &[Event]) -> Option<bool> {
        let config = Config::default();
        let out = entry.run(&config, events, Findings::all_instances(&config));
        let found = match self {
            Sense::Deadlock => !out.predicted.deadlocks.is_empty(),
            Sense::Conflict | Sense::View => !out.predicted.violations.is_empty(),
        };
        (found || !out.effort.is_stopped()).then_some(found)
    }
}

fn print(columns: &[Programs], trials: &[Trial], schedules: &[Schedules], took: Duration) {
    let row = |name: &str, cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>13}")).collect();
        println!("{name:<36}{}", cells.join(""));
    };
    let count = |figure: fn(&Programs) -> String| columns.iter().map(figure).collect();
    row("", Column::ALL.iter().map(|column| column.name().to_owned()).collect());
    row("programs", count(|p| p.all().to_string()));
    let average = |p: &Programs| p.accesses as f64 / p.all().max(1) as f64;
    row("accesses per program", columns.iter().map(|p| format!("{:.1}", average(p))).collect());
    row("with deadlock, counted apart", count(|p| p.deadlock.to_string()));
    row("too large, left out", count(|p| p.too_large.to_string()));
    row("not conflict-atomic", count(|p| p.not_conflict_atomic.to_string()));
    row("not view-atomic", count(|p| p.not_view_atomic.to_string()));
    row("violable units", count(|p| p.violable.to_string()));
    row("  with a schedule", count(|p| p.schedulable.to_string()));
    println!("\nmissed; false alarms in percent of the programs that are fine");
    for trial in trials {
        let cell = |score: &Score| {
            let undecided =
                if score.undecided > 0 { format!("?{} ", score.undecided) } else { String::new() };
            format!("{undecided}{}; {:.2}%", score.missed, score.false_alarm_percent())
        };
        let name = format!("{} ({})", trial.entry.info.name, trial.sense.name());
        row(&name, trial.scores.iter().map(cell).collect());
    }
    println!(
        "\nschedules that are found and verified (commit-node's findings; none is wrong but in the last row)"
    );
    let share = |of: fn(&Schedules) -> &Share| schedules.iter().map(|column| of(column).percent()).collect();
    row("with a schedule: found", share(|column| &column.with_recorded_values));
    row("violable: found, or relaxed", share(|column| &column.with_any_values));
    row("relaxed, with branches: right", share(|column| &column.with_branches));
    println!("\n{:.1} s", took.as_secs_f64());
}
