//! Runs programs under the checker and compares what it blames with what is violated.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::LazyLock;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::generate::{self, Kind, Style, events};
use super::known::Feature;
use super::live;
use super::program::{LABELS, NUMBERS, Program, Step, label_name};
use crate::blamed::{Counts, Difference, blamed};
use crate::random::Random;
use crate::reduce::Reducer;
use crate::truth::{Commuting, Conflicts, Conventions, Label, violated};

/// Programs per process of the walker, for most engines; each may have a child.
pub const PER_PROCESS: usize = 50;
const _: () = assert!(2 * PER_PROCESS <= NUMBERS);

/// What is put on trial.
pub struct Engine {
    /// The command.
    pub atomvet: PathBuf,
    /// A runtime in place of the command's own, tried without the command where it judges by itself.
    pub runtime: Option<PathBuf>,
}

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many programs of each kind: race-free, racy, and either recorded in full.
    pub programs: usize,
    /// Where random numbers start.
    pub seed: u64,
    /// How many programs run in one process, at most [`PER_PROCESS`].
    pub per_process: usize,
}

/// What came of it.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    /// Programs that were run, children included.
    pub programs: usize,
    /// Executions of blocks that were violated.
    pub violated: usize,
    /// Those of them that were blamed.
    pub blamed: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { programs, violated, blamed } = self;
        write!(f, "{programs} programs, {violated} executions of blocks violated, {blamed} of them blamed")
    }
}

/// The results per mode.
pub type Tallies = [(Mode, Tally); 3];

/// What is compared with the truth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The findings of `run` on race-free programs, which are exact.
    RaceFree,
    /// The findings of `run` on racy programs, which are true.
    Racy,
    /// The findings of `run` when it records everything, and of `check` in that recording, which are exact.
    Recorded,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::RaceFree => "race-free, live",
            Mode::Racy => "racy, live",
            Mode::Recorded => "recorded in full",
        })
    }
}

/// How a batch is run.
#[derive(Clone, Copy, Debug)]
struct Setting {
    mode: Mode,
    conventions: Conventions,
    /// Built by `gcc -fsanitize=thread` instead of `atomvet cc`.
    is_built_by_gcc: bool,
    /// What `run` records is checked again.
    is_recorded: bool,
    /// Only the blocks that are counted are blocks; otherwise every function is.
    has_specification: bool,
    /// Labels were met before.
    are_labels_known: bool,
}

/// Runs the whole trial.
///
/// # Errors
/// With a reduced program, if the checker is wrong on one; or if something cannot be run.
pub fn run(engine: &Engine, options: &Options) -> anyhow::Result<Tallies> {
    let mut bench = Bench::new(engine)?;
    let mut tallies = [Mode::RaceFree, Mode::Racy, Mode::Recorded].map(|mode| (mode, Tally::default()));
    for (mode, tally) in &mut tallies {
        let most = options.per_process.clamp(1, PER_PROCESS);
        for batch in 0..options.programs.div_ceil(most) {
            let size = most.min(options.programs - batch * most);
            let seed = options.seed.wrapping_mul(1_000_000).wrapping_add(batch as u64 * 10 + *mode as u64);
            if let Err(error) = bench.try_batch(*mode, seed, size, tally) {
                bench.folder.disable_cleanup(true);
                let kept = bench.folder.path().display();
                return Err(error.context(format!(
                    "{mode}, seed {seed}; the last programs and the walker are kept in {kept}"
                )));
            }
        }
    }
    Ok(tallies)
}

/// What runs programs: the walker, built in both ways, in a folder of its own.
struct Bench<'e> {
    engine: &'e Engine,
    folder: tempfile::TempDir,
}

impl<'e> Bench<'e> {
    fn new(engine: &'e Engine) -> anyhow::Result<Bench<'e>> {
        let bench = Bench { engine, folder: tempfile::tempdir()? };
        for (name, text) in [
            ("steps.c", include_str!("steps.c")),
            ("steps.h", include_str!("steps.h")),
            ("walker.c", include_str!("walker.c")),
            ("atomvet.h", include_str!("../../../../include/atomvet.h")),
            ("blocks.toml", "atomic = [\"p*_f*\", \"p*_b*\"]\n"),
        ] {
            std::fs::write(bench.path(name), text)?;
        }
        let run = |command: &mut Command| -> anyhow::Result<()> {
            let output = command.current_dir(bench.folder.path()).output()?;
            let errors = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "{command:?} fails: {errors}");
            Ok(())
        };
        let atomvet = &engine.atomvet;
        run(Command::new("gcc").args(["-O1", "-g", "-c", "steps.c"]))?;
        run(Command::new(atomvet).args(["cc", "-O1", "-g", "-c", "walker.c", "-o", "walker.o"]))?;
        run(Command::new(atomvet).args(["cc", "-pthread", "walker.o", "steps.o", "-o", "walker"]))?;
        run(Command::new("gcc")
            .args(["-fsanitize=thread", "-O1", "-g", "-I.", "-pthread", "walker.c", "steps.o"])
            .args(["-o", "walker-gcc"]))?;
        Ok(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn try_batch(&self, mode: Mode, seed: u64, size: usize, tally: &mut Tally) -> anyhow::Result<()> {
        let mut random = Random::new(seed);
        let setting = setting(&mut random, mode);
        let programs: Vec<Program> = (0..size)
            .map(|_| {
                let kind = kind(&mut random, mode);
                generate::program(&mut random, kind)
            })
            .collect();
        let expected = truth(&programs, setting.conventions);
        let found = self.blamed(&programs, setting)?;
        tally.programs += programs.len() + programs.iter().filter(|program| program.child.is_some()).count();
        tally.violated += expected.values().sum::<usize>();
        tally.blamed += found.live.values().sum::<usize>();
        let Some(problem) = problem(&found, &expected, mode) else { return Ok(()) };
        let reduced = self.reduce(programs, setting);
        let shown: String = reduced.iter().map(|program| format!("{program}\n")).collect();
        let expected = truth(&reduced, setting.conventions);
        let found = self.blamed(&reduced, setting);
        bail!("{problem}\n{setting:?}\nreduced:\n{shown}violated: {expected:?}\nblamed: {found:?}")
    }

    /// The programs that are needed for a wrong verdict, each as small as possible.
    fn reduce(&self, programs: Vec<Program>, setting: Setting) -> Vec<Program> {
        let is_wrong = |programs: &[Program]| match self.blamed(programs, setting) {
            Ok(found) => problem(&found, &truth(programs, setting.conventions), setting.mode).is_some(),
            Err(_) => false,
        };
        let whole = Reducer { group: &|_| 0, repair: &|programs| programs, budget: 100 };
        let mut programs = whole.reduce(programs, is_wrong);
        let budget = 400 / programs.len();
        for (at, is_child) in (0..programs.len()).flat_map(|at| [(at, false), (at, true)]) {
            let Some(program) = part(&mut programs[at], is_child).cloned() else { continue };
            let repair = |steps| generate::repair(&program.setup, steps);
            let reducer = Reducer { group: &|step: &Step| step.thread as u64, repair: &repair, budget };
            let with = |steps: &[Step]| {
                let mut all = programs.clone();
                if let Some(program) = part(&mut all[at], is_child) {
                    program.steps = steps.to_vec();
                }
                all
            };
            let steps = reducer.reduce(program.steps.clone(), |steps| is_wrong(&with(steps)));
            programs = with(&steps);
        }
        programs
    }

    /// What the checker blames.
    fn blamed(&self, programs: &[Program], setting: Setting) -> anyhow::Result<Found> {
        let mut text = String::new();
        for (at, program) in programs.iter().enumerate() {
            program.encode(2 * at, &mut text);
        }
        std::fs::write(self.path("programs"), text)?;
        let runtime = self.engine.runtime.as_ref();
        if let Some(runtime) = runtime.filter(|_| setting.mode != Mode::Recorded) {
            let walker = if setting.is_built_by_gcc { "walker-gcc" } else { "walker" };
            let mut command = Command::new(self.path(walker));
            command.arg(self.path("programs")).args(setting.are_labels_known.then_some("known"));
            let mut live = live::blamed(runtime, &mut command, &self.path("run"))?;
            live.retain(|name, _| is_counted(name));
            return Ok(Found { live, recorded: None });
        }
        let mut command = Command::new(&self.engine.atomvet);
        command.args(["run", "--format", "json", "-o"]).arg(self.path("report.json"));
        if !setting.conventions.split_at_waits {
            command.arg("--strict-waits");
        }
        if setting.conventions.commuting == Commuting::Never {
            command.arg("--strict-atomics");
        }
        if setting.conventions.conflicts == Conflicts::Locks {
            command.args(["--conflicts", "locks"]);
        }
        if setting.has_specification {
            command.arg("--spec").arg(self.path("blocks.toml"));
        }
        if let Some(runtime) = runtime {
            command.env("ATOMVET_RUNTIME", runtime);
        }
        if setting.is_recorded {
            for old in self.recordings()? {
                std::fs::remove_file(old)?;
            }
            command.arg("--record").arg(self.path("trace.atv"));
        }
        let walker = if setting.is_built_by_gcc { "walker-gcc" } else { "walker" };
        command.arg("--").arg(self.path(walker)).arg(self.path("programs"));
        command.args(setting.are_labels_known.then_some("known"));
        let output = finish(&mut command)?;
        ensure!(
            output.stdout == b"done\n",
            "the walker did not come to its end: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let report = std::fs::read(self.path("report.json"))?;
        let lost = lost(&report)?;
        ensure!(lost == 0, "the checker lost {lost} threads, findings or accesses");
        let live = counted(&report)?;
        let mut recorded = None;
        if setting.is_recorded {
            // The traces say under which conventions they were recorded.
            let mut command = Command::new(&self.engine.atomvet);
            command.args(["check", "--format", "json", "-o"]).arg(self.path("report.json"));
            finish(command.args(self.recordings()?))?;
            recorded = Some(counted(&std::fs::read(self.path("report.json"))?)?);
        }
        Ok(Found { live, recorded })
    }

    /// The traces that were recorded, one per process.
    fn recordings(&self) -> anyhow::Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(self.folder.path())?;
        let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
        Ok(paths.into_iter().filter(|path| path.to_string_lossy().contains("trace.atv")).collect())
    }
}

/// Violated executions that were found, per block.
#[derive(Debug)]
struct Found {
    /// By `run`.
    live: Counts,
    /// By `check` in what `run` recorded.
    recorded: Option<Counts>,
}

/// What is wrong with what was found, if anything is.
fn problem(found: &Found, expected: &Counts, mode: Mode) -> Option<String> {
    let difference = Difference::between(&found.live, expected);
    let misses = mode != Mode::Racy && !difference.missed.is_empty();
    if misses || !difference.in_vain.is_empty() {
        return Some(format!("run blames other executions than are violated: {difference:?}"));
    }
    let difference = Difference::between(found.recorded.as_ref()?, &found.live);
    (!difference.is_none())
        .then(|| format!("check blames other executions in the recording than run did: {difference:?}"))
}

/// The counts of a report for the labels that programs have.
fn counted(report: &[u8]) -> anyhow::Result<Counts> {
    let mut counts = blamed(report)?;
    counts.retain(|name, _| is_counted(name));
    Ok(counts)
}

/// How much a run says that it could not follow.
fn lost(report: &[u8]) -> anyhow::Result<u64> {
    let report: Value = serde_json::from_slice(report)?;
    let traces = report["traces"].as_array().context("the report has no traces")?;
    let kinds = [
        "lost_threads",
        "lost_in_handlers",
        "lost_orders",
        "unknown_joins",
        "lost_findings",
        "lost_functions",
    ];
    let numbers = traces.iter().flat_map(|trace| kinds.map(|kind| trace["program"][kind].as_u64()));
    Ok(numbers.map(Option::unwrap_or_default).sum())
}

/// The program, or its child.
fn part(program: &mut Program, is_child: bool) -> Option<&mut Program> {
    if is_child { program.child.as_deref_mut() } else { Some(program) }
}

/// Whether a block is one that the truth speaks of.
fn is_counted(name: &str) -> bool {
    static NAMES: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let names = (0..NUMBERS).flat_map(|number| (0..LABELS).map(move |label| label_name(number, label)));
        names.collect()
    });
    NAMES.contains(name)
}

fn finish(command: &mut Command) -> anyhow::Result<Output> {
    let output = command.output().with_context(|| format!("{command:?} cannot be run"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(matches!(output.status.code(), Some(0 | 1)), "{command:?}: {}: {errors}", output.status);
    Ok(output)
}

fn truth(programs: &[Program], conventions: Conventions) -> Counts {
    let mut counts = Counts::new();
    for (at, program) in programs.iter().enumerate() {
        let forks = add_truth(program, 2 * at, 1, conventions, &mut counts);
        if let Some(child) = &program.child {
            add_truth(child, 2 * at + 1, forks, conventions, &mut counts);
        }
    }
    counts
}

/// Adds the violated executions of a program that is run so often. Returns how often its child is run.
fn add_truth(
    program: &Program,
    number: usize,
    times: usize,
    conventions: Conventions,
    counts: &mut Counts,
) -> usize {
    let (events, forks) = events(program);
    for (Label(label), count) in violated(&events, conventions) {
        if times > 0 {
            counts.insert(label_name(number, label as usize), count * times);
        }
    }
    forks
}

fn kind(random: &mut Random, mode: Mode) -> Kind {
    let style = match mode {
        Mode::RaceFree => Style::RaceFree,
        Mode::Racy => Style::Racy,
        Mode::Recorded => *random.choose(&[Style::RaceFree, Style::Racy]),
    };
    Kind { style, updates_data: mode != Mode::RaceFree || Feature::UpdatesOfData.is_on() }
}

fn setting(random: &mut Random, mode: Mode) -> Setting {
    let is_recorded = mode == Mode::Recorded;
    let conventions = if is_recorded {
        let commuting = if random.chance(1, 3) { Commuting::UntilFirstRead } else { Commuting::Never };
        Conventions { conflicts: Conflicts::Locks, split_at_waits: random.chance(1, 2), commuting }
    } else {
        // What the checker in the program judges by.
        Conventions { conflicts: Conflicts::Data, split_at_waits: true, commuting: Commuting::UntilFirstRead }
    };
    Setting {
        mode,
        conventions,
        is_recorded,
        is_built_by_gcc: random.chance(1, 3),
        has_specification: random.chance(2, 3),
        are_labels_known: random.chance(1, 2),
    }
}
