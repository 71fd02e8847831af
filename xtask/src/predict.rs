//! `cargo xtask predict`: the predictive checkers on random small programs, judged by all interleavings.
//!
//! Reproduces the table of the design page: per checker and kind of program, how many programs that are not
//! atomic it misses, and how many of those that are it calls not atomic. Fails if a bound is broken. The
//! first miss, or false alarm, of a checker that must have none is shrunk and shown.

use std::time::{Duration, Instant};

use anyhow::ensure;
use atomvet_check::enumerate::programs::{Column, Operations, program};
use atomvet_check::enumerate::{Limits, Truth, enumerate};
use atomvet_check::registry::{CHECKERS, Entry};
use atomvet_check::{Config, Findings, Kind, notation};
use atomvet_trace::wellformed::{Discipline, Wellformed};
use atomvet_trace::{Event, EventId, Names, Op};

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
    let mut trials: Vec<Trial> =
        CHECKERS.iter().filter(|entry| entry.info.kind == Kind::Predictive).map(Trial::new).collect();
    let mut columns = [Programs::default(); Column::ALL.len()];
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
        if let Some(truth) = truth.filter(|truth| !truth.deadlock_possible) {
            trials.iter_mut().for_each(|trial| trial.judge(at, seed, &events, &truth));
        }
    }
    print(&columns, &trials, start.elapsed());
    let broken: Vec<String> = trials.iter().flat_map(|trial| trial.broken(&columns)).collect();
    ensure!(broken.is_empty(), "{}", broken.join("\n"));
    ensure!(columns.iter().all(|programs| programs.judged >= 200), "too few programs to mean anything");
    Ok(())
}

fn is_access(event: &Event) -> bool {
    matches!(event.op, Op::Read(_) | Op::Write(_) | Op::Update(..))
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
    /// Those of them that are not atomic, per [`Sense`].
    not_atomic: [u64; 2],
    /// Of the others: units that are violable, and those of them with a schedule.
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
                for sense in [Sense::Conflict, Sense::View] {
                    self.not_atomic[sense as usize] += u64::from(!sense.is_atomic(truth));
                }
                self.violable += truth.violable.len();
                self.schedulable += truth.schedulable.len();
            }
        }
    }
}

/// In which sense a checker says atomic.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sense {
    Conflict,
    View,
}

impl Sense {
    fn of(checker: &str) -> Sense {
        match checker.ends_with("-view") || checker.starts_with("blocks") {
            true => Sense::View,
            false => Sense::Conflict,
        }
    }

    fn is_atomic(self, truth: &Truth) -> bool {
        match self {
            Sense::Conflict => truth.conflict_atomic,
            Sense::View => truth.view_atomic,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Sense::Conflict => "conflict",
            Sense::View => "view",
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

fn bound(checker: &str, column: Column) -> Bound {
    let (missed, false_alarms) = match checker {
        "commit-node" | "blocks" if column == Column::Two => (Some(0), Some(0.0)),
        "commit-node" => (Some(0), Some(0.3)),
        "commit-node-view" => (Some(0), Some(2.0)),
        reduction if reduction.starts_with("reduction") => (Some(0), None),
        _ => (None, None),
    };
    Bound { missed, false_alarms }
}

/// How a checker did.
struct Trial {
    entry: &'static Entry,
    sense: Sense,
    /// Per column.
    missed: [u64; Column::ALL.len()],
    false_alarms: [u64; Column::ALL.len()],
    /// The checker says nothing.
    silent: bool,
    /// Per column, the first wrong verdict that there must not be, shrunk.
    examples: [Option<String>; Column::ALL.len()],
}

impl Trial {
    fn new(entry: &'static Entry) -> Trial {
        let (missed, false_alarms) = Default::default();
        let sense = Sense::of(entry.info.name);
        Trial { entry, sense, missed, false_alarms, silent: false, examples: Default::default() }
    }

    fn judge(&mut self, at: usize, seed: u64, events: &[Event], truth: &Truth) {
        let Some(alarm) = alarms(self.entry, events) else {
            self.silent = true;
            return;
        };
        let atomic = self.sense.is_atomic(truth);
        self.missed[at] += u64::from(!atomic && !alarm);
        self.false_alarms[at] += u64::from(atomic && alarm);
        let bound = bound(self.entry.info.name, Column::ALL[at]);
        let never = if atomic { bound.false_alarms == Some(0.0) } else { bound.missed == Some(0) };
        if alarm == atomic && never && self.examples[at].is_none() {
            let events = self.shrink(events, alarm);
            let what = if alarm { "false alarm" } else { "miss" };
            let program = notation::show(&events, &Names::default());
            self.examples[at] =
                Some(format!("  {what}, column {}, seed {seed}: {program}", Column::ALL[at].name()));
        }
    }

    /// The smallest program found, by leaving out one or two events, of which the verdict is still as wrong.
    fn shrink(&self, events: &[Event], alarm: bool) -> Vec<Event> {
        let still_wrong = |events: &[Event]| {
            let mut checked = events.to_vec();
            let mut discipline = Wellformed::new(Discipline::Strict);
            discipline.check(EventId(0), &mut checked, &Names::default()).is_ok()
                && enumerate(events, &LIMITS)
                    .is_some_and(|truth| !truth.deadlock_possible && self.sense.is_atomic(&truth) == alarm)
                && alarms(self.entry, events) == Some(alarm)
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

    fn false_alarm_percent(&self, at: usize, programs: &Programs) -> f64 {
        let atomic = programs.judged - programs.not_atomic[self.sense as usize];
        100.0 * self.false_alarms[at] as f64 / atomic.max(1) as f64
    }

    fn broken(&self, columns: &[Programs]) -> Vec<String> {
        let mut broken = Vec::new();
        for (at, (column, programs)) in Column::ALL.into_iter().zip(columns).enumerate() {
            let bound = bound(self.entry.info.name, column);
            let percent = self.false_alarm_percent(at, programs);
            let misses = bound.missed.is_some_and(|most| self.missed[at] > most);
            if misses || bound.false_alarms.is_some_and(|most| percent > most) {
                let (name, missed) = (self.entry.info.name, self.missed[at]);
                let column = column.name();
                broken.push(format!(
                    "{name} breaks its bound on {column}: {missed} missed, {percent:.2}% false alarms"
                ));
                broken.extend(self.examples[at].clone());
            }
        }
        broken
    }
}

/// Whether the checker predicts a violation; none if it tells nothing.
fn alarms(entry: &Entry, events: &[Event]) -> Option<bool> {
    let config = Config::default();
    let mut out = Findings::all_instances(&config);
    let mut checker = (entry.new)(&config);
    checker.events(EventId(0), events, &mut out);
    checker.finish(&mut out);
    None
}

fn print(columns: &[Programs], trials: &[Trial], took: Duration) {
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
    row("not conflict-atomic", count(|p| p.not_atomic[0].to_string()));
    row("not view-atomic", count(|p| p.not_atomic[1].to_string()));
    row("violable units", count(|p| p.violable.to_string()));
    row("  with a schedule", count(|p| p.schedulable.to_string()));
    println!("\nmissed; false alarms in percent of the atomic programs");
    for trial in trials {
        let name = format!("{} ({})", trial.entry.info.name, trial.sense.name());
        if trial.silent {
            println!("{name:<36}says nothing");
            continue;
        }
        let cell = |(at, programs): (usize, &Programs)| {
            format!("{}; {:.2}%", trial.missed[at], trial.false_alarm_percent(at, programs))
        };
        row(&name, columns.iter().enumerate().map(cell).collect());
    }
    println!("\n{:.1} s", took.as_secs_f64());
}
