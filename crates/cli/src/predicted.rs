//! What predictive algorithms say about a trace, with the schedules that show it.
//!
//! ```text
//! pass 1       Findings.predicted ──► Foreseen: folded by fingerprint
//! once more    the events, if anything could have a schedule ──► search ──► verify ──► --schedules DIR
//! at the end   what has no schedule is left out and counted, unless it was asked for
//! ```

pub(crate) mod json;
mod search;

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::Context;
use atomvet_check::predictive::Effort;
use atomvet_check::predictive::effort::{Done, Keep, Watch};
use atomvet_check::predictive::predicted::{Deadlock, Moment, Prediction, Race, Reason};
use atomvet_check::registry::Entry;
use atomvet_check::{Findings, Here, Kind, Stats, Strength};
use atomvet_trace::{Names, Op, RegionId, SiteId};
use xxhash_rust::xxh3::xxh3_64;

use crate::aside::Aside;
use crate::examine::{Judgement, site, word};
use crate::idioms::Benign;
use crate::interrupt::{self, Overdue};
use crate::memory;
use crate::progress::Work;

pub(crate) use search::schedules;

/// How prediction is done.
#[derive(Clone, Debug)]
pub(crate) struct Predicting {
    /// Steps that an algorithm may take.
    pub(crate) steps: u64,
    /// Where schedules are written to, if anywhere.
    pub(crate) schedules: Option<PathBuf>,
    /// What is shown.
    pub(crate) shown: Shown,
}

/// What `--predict` asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Predict {
    /// What a schedule shows
    Schedules,
    /// All that the locks alone allow
    Locks,
}

/// What is shown if `--predict` says this and these algorithms were named: who names an algorithm that predicts wants to know what
/// it says.
pub(crate) fn shown(predict: Option<Predict>, named: &[&Entry]) -> Shown {
    let names_one = named.iter().any(|entry| entry.info.kind == Kind::Predictive);
    if predict == Some(Predict::Schedules) && !names_one { Shown::WithSchedule } else { Shown::ByLocks }
}

/// Which predictions are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    /// Those with a schedule. The others are counted.
    WithSchedule,
    /// All that the algorithms say, taking only locks and the order of threads into account.
    ByLocks,
}

impl Default for Predicting {
    fn default() -> Self {
        let steps = atomvet_check::predictive::effort::DEFAULT_STEPS;
        Predicting { steps, schedules: None, shown: Shown::ByLocks }
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
}

/// What one predictive algorithm says about a trace.
#[derive(Default)]
pub(crate) struct Foreseen {
    /// Blocks that are not atomic in some interleaving.
    pub(crate) violations: Vec<Foreboding>,
    /// Data races.
    pub(crate) races: Vec<Told<Race>>,
    /// Potential deadlocks.
    pub(crate) deadlocks: Vec<Told<Deadlock>>,
    /// Whether everything was judged.
    pub(crate) complete: bool,
    /// Why nothing was judged.
    pub(crate) not_judged: Option<&'static str>,
    /// What was found and does not count.
    pub(crate) aside: ForeseenAside,
    /// What is not shown, because no schedule shows it.
    pub(crate) left_out: LeftOut,
}

/// How much is not shown, because no schedule shows it: possible by locks alone.
#[derive(Clone, Copy, Default)]
pub(crate) struct LeftOut {
    pub(crate) violations: u64,
    pub(crate) deadlocks: u64,
    pub(crate) races: u64,
    /// So many of them were not decided: the search was cut off, or not made.
    pub(crate) undecided: u64,
}

impl LeftOut {
    fn add(&mut self, search: Search) {
        self.undecided += u64::from(matches!(search, Search::NotTried | Search::OutOfBudget));
    }
}

/// A race or deadlock and what is known about it.
pub(crate) struct Told<T> {
    pub(crate) what: T,
    /// The same for the same mistake in every run.
    pub(crate) fingerprint: u64,
    pub(crate) proof: Proof,
}

/// What was predicted and does not count, with the reasons.
#[derive(Default)]
pub(crate) struct ForeseenAside {
    pub(crate) violations: Vec<(Foreboding, Aside)>,
    pub(crate) races: Vec<(Told<Race>, Aside)>,
    pub(crate) deadlocks: Vec<(Told<Deadlock>, Aside)>,
}

/// A predicted violation and what is known about it.
pub(crate) struct Foreboding {
    /// What the checker said; if there is a schedule, the first pattern is the one that it shows.
    pub(crate) prediction: Prediction,
    /// The same for the same mistake in every run.
    pub(crate) fingerprint: u64,
    /// It is not predicted without the accesses that idioms name.
    pub(crate) is_benign: bool,
    /// Whether a schedule shows it.
    pub(crate) proof: Proof,
}

/// Whether a schedule was looked for, and what became of it.
#[derive(Default)]
pub(crate) struct Proof {
    pub(crate) search: Search,
    /// Where the schedule was written to.
    pub(crate) schedule: Option<PathBuf>,
    /// What the independent judge says about the schedule, if there is one.
    pub(crate) judgement: Option<Judgement>,
    /// The reads that see another write in it than recorded.
    pub(crate) relaxed: Vec<RelaxedRead>,
}

impl Proof {
    /// How sure a finding is that locks and threads allow.
    pub(crate) fn strength(&self) -> Strength {
        match self.search {
            Search::Found => Strength::Scheduled,
            Search::Relaxed => Strength::Relaxed,
            _ => Strength::Predicted,
        }
    }

    fn is_shown(&self) -> bool {
        self.strength() < Strength::Predicted
    }
}

/// A read that sees another write in a schedule than recorded.
pub(crate) struct RelaxedRead {
    pub(crate) read: Here,
    /// The outermost block that it is in.
    pub(crate) block: Option<(RegionId, SiteId)>,
}

/// What became of the search for a schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Search {
    /// There was none.
    #[default]
    NotTried,
    /// There was none: no block of the pattern would be violated in a schedule, though together they have no serial order.
    NoGoal,
    /// One was found.
    Found,
    /// One was found in which the pattern's blocks see other values than recorded.
    Relaxed,
    /// No reordering in which the program reads what it read, but for that, shows it.
    None,
    /// No reordering that locks, fork, join and barriers allow shows it, whatever the program reads.
    Impossible,
    /// None was found in as many steps as were granted.
    OutOfBudget,
}

impl Search {
    /// As shown in every output.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Search::NotTried | Search::NoGoal => "not tried",
            Search::Found => "found",
            Search::Relaxed => "relaxed",
            Search::None => "none",
            Search::Impossible => "impossible",
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
                proof: Proof::default(),
            });
        }
        fold.seen.clear();
        for race in predicted.races {
            let fingerprint = of_race(&race, names);
            match fold.first(fingerprint, foreseen.races.len()) {
                Some(first) => foreseen.races[first].what.count += race.count,
                None => foreseen.races.push(Told { what: race, fingerprint, proof: Proof::default() }),
            }
        }
        fold.seen.clear();
        for deadlock in predicted.deadlocks {
            let fingerprint = of_deadlock(&deadlock, names);
            match fold.first(fingerprint, foreseen.deadlocks.len()) {
                Some(first) => foreseen.deadlocks[first].what.count += deadlock.count,
                None => {
                    foreseen.deadlocks.push(Told { what: deadlock, fingerprint, proof: Proof::default() })
                }
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

    /// Leaves out what no schedule shows, and counts it.
    pub(crate) fn leave_out_what_locks_alone_allow(&mut self) {
        let out = &mut self.left_out;
        self.violations.retain(|foreboding| {
            let shown = foreboding.proof.is_shown();
            if !shown {
                out.violations += 1;
                out.add(foreboding.proof.search);
            }
            shown
        });
        self.deadlocks.retain(|told| {
            let shown = told.proof.is_shown();
            if !shown {
                out.deadlocks += 1;
                out.add(told.proof.search);
            }
            shown
        });
        self.races.retain(|told| {
            let shown = told.proof.is_shown();
            out.races += u64::from(!shown);
            shown
        });
    }

    /// Whether something is wrong. (A race is not: not every trace tells which accesses are atomic, and ThreadSanitizer is the tool for races.)
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

/// Makes the directory for schedules, before any work is done.
pub(crate) fn make_directory(directory: &std::path::Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory).with_context(|| {
        format!("{}: cannot be made; give --schedules a directory that you may write to", directory.display())
    })
}
