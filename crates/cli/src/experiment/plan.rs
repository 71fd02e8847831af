//! What an experiment consists of: algorithms × subjects × repetitions, from a TOML file, from options, or both.
//!
//! ```toml
//! traces = ["a.std", "b.atv"]            # beside this file
//! algorithms = ["regiontrack", "velodrome"]
//! repetitions = 3
//! timeout = 60                           # seconds for one cell
//! spec = "spec.toml"
//! first-violation = true
//!
//! [[program]]
//! name = "bank"
//! command = ["./bank", "100"]            # built by `atomvet cc`; or java with its arguments
//! base = ["./bank-plain", "100"]         # the same program, built as usual
//! ```

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, anyhow, bail, ensure};
use atomvet_check::registry::Entry;
use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64;

use crate::{algorithms, bounded};

/// The pseudo-algorithm that only reads a trace, and tells what it consists of.
pub(crate) const TRACE: &str = "trace";

/// The pseudo-algorithm that runs a program without atomvet.
pub(crate) const BASE: &str = "base";

/// The pseudo-algorithm that runs a program with hooks that do nothing.
pub(crate) const EMPTY: &str = "empty-hooks";

/// A plan as it is written.
#[derive(Deserialize, Default, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct File {
    traces: Vec<PathBuf>,
    algorithms: Vec<String>,
    repetitions: Option<u32>,
    timeout: Option<f64>,
    memory: Option<String>,
    spec: Option<PathBuf>,
    first_violation: bool,
    lenient: bool,
    strict_waits: Option<bool>,
    strict_atomics: Option<bool>,
    results: Option<PathBuf>,
    program: Vec<Program>,
}

/// A program to run.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    /// What tables call it.
    pub(crate) name: String,
    /// What `atomvet run` is given.
    pub(crate) command: Vec<String>,
    /// The same without hooks.
    #[serde(default)]
    pub(crate) base: Vec<String>,
}

impl Program {
    /// Whether it is started by `java`.
    pub(crate) fn is_java(&self) -> bool {
        self.command
            .first()
            .is_some_and(|first| Path::new(first).file_stem().is_some_and(|stem| stem == "java"))
    }
}

/// What is measured.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    /// A recorded run.
    Trace(PathBuf),
    /// A program.
    Program(Program),
}

impl Subject {
    /// What tables call it.
    pub(crate) fn name(&self) -> String {
        match self {
            Subject::Trace(path) => path.display().to_string(),
            Subject::Program(program) => program.name.clone(),
        }
    }
}

/// A whole experiment.
#[derive(Default)]
pub(crate) struct Plan {
    /// What is measured.
    pub(crate) subjects: Vec<Subject>,
    /// By what, in the order of the tables.
    pub(crate) algorithms: Vec<&'static Entry>,
    /// How often.
    pub(crate) repetitions: u32,
    /// Seconds for one cell; no limit if there is none.
    pub(crate) timeout: Option<f64>,
    /// `--memory` of one cell.
    pub(crate) memory: Option<String>,
    /// Which blocks count.
    pub(crate) spec: Option<PathBuf>,
    /// Stop at the first violation.
    pub(crate) first_violation: bool,
    /// Steps that a predictive algorithm may take.
    pub(crate) steps: u64,
    /// `--lenient`, `--split-at-waits` and the like.
    pub(crate) understanding: Vec<String>,
    /// Where each cell is written when it is done.
    pub(crate) results: PathBuf,
}

/// One measurement: a row of the results.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// Which of the plan's subjects.
    pub(crate) subject: usize,
    /// A checker, or one of [`TRACE`], [`BASE`] and [`EMPTY`].
    pub(crate) algorithm: &'static str,
    /// From 1.
    pub(crate) repetition: u32,
    /// The same for the same cell with the same inputs.
    pub(crate) key: String,
}

/// Reads a plan. Paths in it are beside it.
pub(crate) fn read(path: &Path) -> anyhow::Result<Plan> {
    let shown = path.display();
    let bytes = bounded::file(path, bounded::SETTINGS).with_context(|| format!("{shown}: cannot be read"))?;
    let text =
        String::from_utf8(bytes).map_err(|_| anyhow!("{shown}: is not UTF-8; a plan is a TOML text"))?;
    let file: File = toml::from_str(&text).map_err(|error| {
        let line =
            error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        anyhow!("{shown}:{line}: {}; docs/experiment.md says what stands in a plan", error.message())
    })?;
    let directory = path.parent().unwrap_or(Path::new(""));
    let mut understanding = Vec::new();
    if file.lenient {
        understanding.push("--lenient".to_owned());
    }
    let convention =
        |strict: Option<bool>, yes: &str, no: &str| strict.map(|s| (if s { yes } else { no }).to_owned());
    understanding.extend(convention(file.strict_waits, "--strict-waits", "--split-at-waits"));
    understanding.extend(convention(file.strict_atomics, "--strict-atomics", "--commuting-updates"));
    for program in &file.program {
        ensure!(!program.command.is_empty(), "{shown}: program {:?} has no command", program.name);
    }
    if let Some(memory) = &file.memory {
        crate::memory::size(memory).map_err(|problem| anyhow!("{shown}: memory {memory:?} {problem}"))?;
    }
    let traces = file.traces.into_iter().map(|trace| Subject::Trace(directory.join(trace)));
    Ok(Plan {
        subjects: traces.chain(file.program.into_iter().map(Subject::Program)).collect(),
        algorithms: if file.algorithms.is_empty() {
            Vec::new()
        } else {
            algorithms::select_to_compare(&file.algorithms)?
        },
        repetitions: file.repetitions.unwrap_or(1),
        timeout: file.timeout,
        memory: file.memory,
        spec: file.spec.map(|spec| directory.join(spec)),
        first_violation: file.first_violation,
        steps: 0,
        understanding,
        results: directory.join(
            file.results
                .unwrap_or_else(|| path.with_extension("jsonl").file_name().unwrap_or_default().into()),
        ),
    })
}

impl Plan {
    /// Says what cannot be done before anything is done.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        ensure!(
            !self.subjects.is_empty(),
            "there is nothing to measure; name traces, or a plan that lists some"
        );
        ensure!(self.repetitions >= 1, "repetitions must be at least 1");
        if let Some(timeout) = self.timeout {
            ensure!(timeout > 0.0 && timeout < 1e9, "the timeout must be a number of seconds above 0");
        }
        let mut names: Vec<String> = self.subjects.iter().map(Subject::name).collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            bail!("{} is given twice; name each trace and each program once", pair[0]);
        }
        Ok(())
    }

    /// All cells: for each subject and repetition what it consists of, or what it costs without a checker, then each algorithm.
    pub(crate) fn cells(&self) -> anyhow::Result<Vec<Cell>> {
        let mut common = vec![
            format!("{:?} {:?} {} {}", self.timeout, self.memory, self.first_violation, self.steps),
            self.understanding.join(" "),
            stamp(&std::env::current_exe()?),
        ];
        common.extend(self.spec.as_deref().map(stamp));
        let mut cells = Vec::new();
        for (index, subject) in self.subjects.iter().enumerate() {
            let (inputs, pseudo): (String, &[&'static str]) = match subject {
                Subject::Trace(path) => (stamp(path), &[TRACE]),
                Subject::Program(program) => {
                    let (command, base) = (&program.command, &program.base);
                    let files: Vec<String> =
                        command.iter().chain(base).map(|word| stamp(Path::new(word))).collect();
                    let has_base = program.is_java() || !base.is_empty();
                    (files.join(" "), if has_base { &[BASE, EMPTY] } else { &[EMPTY] })
                }
            };
            for repetition in 1..=self.repetitions {
                // What a trace consists of does not change.
                let pseudo = pseudo.iter().filter(|name| **name != TRACE || repetition == 1).copied();
                for algorithm in pseudo.chain(self.algorithms.iter().map(|entry| entry.info.name)) {
                    let what = format!("{} {inputs} {algorithm} {repetition} {common:?}", subject.name());
                    let key = format!("{:016x}", xxh3_64(what.as_bytes()));
                    cells.push(Cell { subject: index, algorithm, repetition, key });
                }
            }
        }
        Ok(cells)
    }
}

/// A file as it is now: its name, length and time of change. What is no file is its name alone.
fn stamp(path: &Path) -> String {
    let there = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    let changed = there.as_ref().and_then(|there| there.modified().ok()).unwrap_or(SystemTime::UNIX_EPOCH);
    let since = changed.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{}:{}:{}", path.display(), there.map_or(0, |there| there.len()), since.as_nanos())
}
