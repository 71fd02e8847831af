//! The trial itself: batches of programs, compared with the truth.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::events::events;
use super::execute::execute;
use super::generate::{Style, generate};
use super::program::Program;
use super::races::has_race;
use super::run::{Setting, Tools, Way, class, compile};
use super::shrink::shrink;
use super::source::source;
use crate::blamed::{Counts, Difference};
use crate::random::Random;
use crate::truth::{Commuting, Conflicts, Conventions, violated};

/// Which programs are tried, and how.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What is needed to run them.
    pub tools: Tools,
    /// A directory for sources, classes and reports.
    pub directory: PathBuf,
    /// The first program; the others have the numbers after it.
    pub seed: u64,
    /// How many.
    pub programs: usize,
}

/// How many programs share a JVM, and the conventions.
const AT_ONCE: u64 = 100;

/// How much was seen.
#[derive(Clone, Copy, Default, Debug)]
pub struct Outcome {
    /// All programs.
    pub programs: usize,
    /// Those of them without a data race.
    pub race_free: usize,
    /// Executions of methods that are violated, in programs without a data race.
    pub violated: usize,
    /// The same in the other programs.
    pub violated_racy: usize,
    /// Those of them that are blamed.
    pub blamed_racy: usize,
}

/// A program on which the checker is wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed of the program.
    pub seed: u64,
    /// How it was checked.
    pub way: Way,
    /// What it had in common with others.
    pub setting: Setting,
    /// Whether its execution has no data race.
    pub is_race_free: bool,
    /// What differs.
    pub difference: Difference,
    program: Program,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Outcome { programs, race_free, violated, violated_racy, blamed_racy } = self;
        write!(
            f,
            "{programs} programs, {race_free} without a race: {violated} executions violated; with a race: {blamed_racy} of \
             {violated_racy} blamed"
        )
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let way = match self.way {
            Way::Live => "live",
            Way::Recording => "recorded",
        };
        let race = if self.is_race_free { "without" } else { "with" };
        write!(f, "seed {} ({way}, {race} a race)", self.seed)?;
        for (method, (blamed, violated)) in self.difference.in_vain.iter().chain(&self.difference.missed) {
            write!(f, ", {method} blamed {blamed} times and violated {violated} times")?;
        }
        Ok(())
    }
}

/// Settings take turns. The seed tells them, so that a program fails by itself as it fails among others.
fn setting(seed: u64, is_live: bool) -> Setting {
    let batch = seed / AT_ONCE;
    let mut conventions = Conventions {
        conflicts: Conflicts::Locks,
        split_at_waits: batch % 4 < 2,
        commuting: if batch.is_multiple_of(2) { Commuting::Never } else { Commuting::UntilFirstRead },
    };
    if is_live {
        // Its defaults, for now.
        let commuting = Commuting::UntilFirstRead;
        conventions = Conventions { conflicts: Conflicts::Data, split_at_waits: true, commuting };
    }
    let collectors = ["-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"];
    Setting { conventions, collector: collectors[(batch % 3) as usize] }
}

impl Trial {
    /// Tries all of them, both live and by a recording. `progress` hears of each batch.
    ///
    /// # Errors
    /// If they cannot be compiled or run.
    pub fn run(&self, mut progress: impl FnMut(&Outcome)) -> anyhow::Result<(Outcome, Vec<Failure>)> {
        let mut outcome = Outcome::default();
        let mut failures = Vec::new();
        let seeds: Vec<u64> = (0..self.programs as u64).map(|number| self.seed + number).collect();
        for seeds in seeds.chunk_by(|one, other| one / AT_ONCE == other / AT_ONCE) {
            let is_live = self.tools.agent.is_some();
            let setting = setting(seeds[0], is_live);
            let programs: Vec<Program> = seeds.iter().map(|&seed| program(seed, is_live)).collect();
            let directory = self.directory.join(format!("seed{}", seeds[0]));
            let judged = judge(&self.tools, &directory, &programs, setting)?;
            for ((judged, &seed), program) in judged.into_iter().zip(seeds).zip(programs) {
                outcome.count(&judged);
                for (way, difference) in judged.wrong() {
                    let is_race_free = judged.is_race_free;
                    let program = program.clone();
                    failures.push(Failure { seed, way, setting, is_race_free, difference, program });
                }
            }
            let _ = std::fs::remove_dir_all(&directory);
            progress(&outcome);
        }
        Ok((outcome, failures))
    }

    /// The failing program made smaller, as text: what is wrong, and its source.
    ///
    /// # Errors
    /// If smaller ones cannot be compiled or run.
    pub fn reduce(&self, failure: &Failure) -> anyhow::Result<String> {
        let directory = self.directory.join("smaller");
        let (way, setting) = (failure.way, failure.setting);
        let misses = failure.difference.in_vain.is_empty();
        let is_like = |judged: &Judged| {
            judged.is_race_free == failure.is_race_free
                && judged.wrong().iter().any(|(other, difference)| {
                    *other == way
                        && (if misses {
                            !difference.missed.is_empty()
                        } else {
                            !difference.in_vain.is_empty()
                        })
                })
        };
        let smallest = shrink(failure.program.clone(), |programs| {
            let judged = judge(&self.tools, &directory, programs, setting);
            let _ = std::fs::remove_dir_all(&directory);
            Ok(judged?.iter().map(is_like).collect())
        })?;
        let execution = execute(&smallest).context("it does not end")?;
        let judged = judge(&self.tools, &directory, std::slice::from_ref(&smallest), setting)?;
        let _ = std::fs::remove_dir_all(&directory);
        let steps: Vec<String> = execution
            .happenings
            .iter()
            .map(|(thread, happening)| format!("    T{thread} {happening:?}\n"))
            .collect();
        let source = source(&smallest, &class(0), &execution.order);
        let wrong = judged[0].wrong();
        Ok(format!("{setting:?}\nby itself: {wrong:?}\n{}\n{source}", steps.concat()))
    }
}

/// The program of a seed.
fn program(seed: u64, is_live: bool) -> Program {
    let style = if seed % 4 == 3 { Style::Racy } else { Style::Ordered };
    let splits = setting(seed, is_live).conventions.split_at_waits;
    generate(&mut Random::new(seed), style, splits, is_live)
}

/// The truth about a program, and what is blamed in it.
struct Judged {
    is_race_free: bool,
    violated: Counts,
    live: Counts,
    /// Nothing if nothing is recorded.
    recorded: Option<Counts>,
}

impl Judged {
    /// What must not be.
    fn wrong(&self) -> Vec<(Way, Difference)> {
        let mut wrong = Vec::new();
        let mut live = Difference::between(&self.live, &self.violated);
        if !self.is_race_free {
            live.missed.clear();
        }
        if !live.is_none() {
            wrong.push((Way::Live, live));
        }
        if let Some(recorded) = &self.recorded {
            let recorded = Difference::between(recorded, &self.violated);
            if !recorded.is_none() {
                wrong.push((Way::Recording, recorded));
            }
        }
        wrong
    }
}

fn judge(
    tools: &Tools,
    directory: &Path,
    programs: &[Program],
    setting: Setting,
) -> anyhow::Result<Vec<Judged>> {
    std::fs::create_dir_all(directory).with_context(|| format!("{} cannot be made", directory.display()))?;
    let compiled = compile(tools, directory, programs)?;
    let live = compiled.blamed(tools, Way::Live, setting)?;
    let recorded = match tools.agent {
        Some(_) => vec![None; programs.len()],
        None => compiled.blamed(tools, Way::Recording, setting)?.into_iter().map(Some).collect(),
    };
    let mut judged = Vec::new();
    for ((program, live), recorded) in programs.iter().zip(live).zip(recorded) {
        let execution = execute(program).context("a program does not end")?;
        let violated = violated(&events(program, &execution), setting.conventions);
        let violated = violated.into_iter().map(|(label, count)| (format!("b{}", label.0), count)).collect();
        judged.push(Judged { is_race_free: !has_race(program, &execution), violated, live, recorded });
    }
    Ok(judged)
}

impl Outcome {
    fn count(&mut self, judged: &Judged) {
        self.programs += 1;
        let sum = |counts: &Counts| counts.values().sum::<usize>();
        if judged.is_race_free {
            self.race_free += 1;
            self.violated += sum(&judged.violated);
        } else {
            self.violated_racy += sum(&judged.violated);
            self.blamed_racy += sum(&judged.live);
        }
    }
}
