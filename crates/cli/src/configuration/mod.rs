//! The configuration: what is atomic, which options, which idioms, which findings do not count.
//!
//! ```text
//! atomvet.toml, here or above   (--config FILE names another, --no-config none)
//!   ◄── --spec FILE             the same format: its lists and options win, its suppressions are added
//!         ◄── command line      wins over both
//! ```
//!
//! `docs/specification.md` says what may stand in it; `parse.rs` is the one parser.

pub(crate) mod parse;
pub(crate) mod suppress;

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use atomvet_check::idioms::Idiom;
use atomvet_report::Format;

use self::parse::{File, position};
use crate::aside::Known;
use crate::baseline::Baseline;
use crate::idioms::Named;
use crate::java::Blocks;
use crate::spec::{Lists, Spec};
use crate::{bounded, say};

/// The file that is looked for.
const NAME: &str = "atomvet.toml";

/// Where the configuration is.
#[derive(clap::Args, Debug)]
pub(crate) struct Where {
    /// Read the configuration from this file
    ///
    /// [default: atomvet.toml in the working directory or the nearest directory above it]
    #[arg(long, value_name = "FILE", conflicts_with = "no_config", help_heading = "What is checked")]
    config: Option<PathBuf>,
    /// Read no configuration
    #[arg(long, help_heading = "What is checked")]
    no_config: bool,
}

/// Where the configuration is, and what the command line adds to it.
#[derive(clap::Args, Debug)]
pub(crate) struct Given {
    #[command(flatten)]
    place: Where,
    /// Check only the blocks that this specification lists
    ///
    /// `atomvet refine` and `atomvet run --refine` write one; docs/specification.md describes it.
    #[arg(long, value_name = "FILE", help_heading = "What is checked")]
    spec: Option<PathBuf>,
    /// Set aside findings that this idiom explains
    ///
    /// Idioms: hint-reads, retry-loops, single-writer-counters, same-value-writes, commuting-updates; see docs/benign.md.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "Suppressions and idioms")]
    idiom: Vec<Named>,
    /// Turn off an idiom that the configuration turns on
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "Suppressions and idioms")]
    no_idiom: Vec<Named>,
}

/// Which findings are known already.
#[derive(clap::Args, Debug)]
pub(crate) struct Since {
    /// Fail only on findings that this file does not list
    ///
    /// `atomvet baseline` writes one.
    #[arg(long, value_name = "FILE", help_heading = "Suppressions and idioms")]
    pub(crate) baseline: Option<PathBuf>,
}

/// What is configured.
#[derive(Default, Debug)]
pub(crate) struct Configuration {
    /// What is atomic and what is not, if anything was said about that.
    pub(crate) spec: Option<Spec>,
    /// `--algo`.
    pub(crate) algorithm: Vec<String>,
    /// `--format`.
    pub(crate) format: Vec<Format>,
    /// `-o`, for `format`.
    pub(crate) output: Option<PathBuf>,
    /// `--source-root`.
    pub(crate) source_roots: Vec<PathBuf>,
    /// `--strict-waits`, or its contrary.
    pub(crate) strict_waits: Option<bool>,
    /// `--strict-atomics`, or its contrary.
    pub(crate) strict_atomics: Option<bool>,
    /// `--max-findings`.
    pub(crate) max_findings: Option<usize>,
    /// `--blocks`.
    pub(crate) blocks: Option<Blocks>,
    /// Idioms that are switched on.
    pub(crate) idioms: Vec<Idiom>,
    /// Findings that do not count.
    pub(crate) known: Known,
    /// The files that were read, which no output may overwrite.
    pub(crate) files: Vec<PathBuf>,
}

impl Given {
    /// A specification and nothing else.
    pub(crate) fn only(spec: Option<&Path>) -> Given {
        Given {
            place: Where { config: None, no_config: true },
            spec: spec.map(Path::to_owned),
            idiom: Vec::new(),
            no_idiom: Vec::new(),
        }
    }

    /// Reads what there is. A baseline is read if the command heeds one.
    pub(crate) fn read(&self, since: Option<&Since>) -> anyhow::Result<Configuration> {
        let mut configuration = Configuration::default();
        let mut lists = Lists::default();
        let mut baseline = None;
        self.place.add_to(&mut configuration, &mut lists, &mut baseline)?;
        if let Some(path) = &self.spec {
            let file = read(path, "`atomvet refine` makes such a file")?;
            if file.lists == Lists::default() {
                bail!(
                    "{}:1:1: says nothing about blocks; expected `atomic = [\"name\", …]` or `not-atomic = […]`",
                    path.display()
                );
            }
            configuration.add(path, file, &mut lists, &mut baseline);
        }
        for Named(idiom) in &self.idiom {
            configuration.switch(*idiom, true);
        }
        for Named(idiom) in &self.no_idiom {
            configuration.switch(*idiom, false);
        }
        if let Some(since) = since {
            baseline = since.baseline.clone().or(baseline);
            configuration.files.extend(baseline.clone());
            configuration.known.baseline = baseline.as_deref().map(Baseline::read).transpose()?;
        }
        configuration.spec = (lists != Lists::default()).then(|| Spec::new(lists));
        Ok(configuration)
    }
}

impl Where {
    /// Reads what a command needs that judges no findings.
    pub(crate) fn read(&self) -> anyhow::Result<Configuration> {
        let mut configuration = Configuration::default();
        self.add_to(&mut configuration, &mut Lists::default(), &mut None)?;
        Ok(configuration)
    }

    fn add_to(
        &self,
        configuration: &mut Configuration,
        lists: &mut Lists,
        baseline: &mut Option<PathBuf>,
    ) -> anyhow::Result<()> {
        let Some(path) = self.find() else { return Ok(()) };
        let file = read(&path, "docs/specification.md says what stands in it")?;
        if self.config.is_none() {
            say::note(format!("configuration: {}", path.display()));
        }
        configuration.add(&path, file, lists, baseline);
        Ok(())
    }

    /// The file that applies, if any.
    fn find(&self) -> Option<PathBuf> {
        if self.config.is_some() || self.no_config {
            return self.config.clone();
        }
        // Shown as few steps up as possible: nobody wants to read whole paths.
        let here = std::env::current_dir().ok()?;
        let up = here.ancestors().position(|directory| directory.join(NAME).is_file())?;
        Some(std::iter::repeat_n("..", up).collect::<PathBuf>().join(NAME))
    }
}

impl Configuration {
    /// What a file says wins over what earlier ones said.
    fn add(&mut self, path: &Path, file: File, lists: &mut Lists, baseline: &mut Option<PathBuf>) {
        let directory = path.parent().unwrap_or(Path::new(""));
        let there = |name: String| directory.join(name);
        let File { lists: new, options, idioms, suppress } = file;
        if new.atomic.is_some() {
            lists.atomic = new.atomic;
        }
        lists.not_atomic.extend(new.not_atomic);
        lists.ignored_variables.extend(new.ignored_variables);
        if !options.algorithm.is_empty() {
            self.algorithm = options.algorithm;
        }
        if !options.format.is_empty() {
            (self.format, self.output) = (options.format, None);
        }
        if !options.source_roots.is_empty() {
            self.source_roots = options.source_roots.into_iter().map(there).collect();
        }
        self.output = options.output.map(there).or(self.output.take());
        *baseline = options.baseline.map(there).or(baseline.take());
        self.strict_waits = options.strict_waits.or(self.strict_waits);
        self.strict_atomics = options.strict_atomics.or(self.strict_atomics);
        self.max_findings = options.max_findings.or(self.max_findings);
        self.blocks = options.blocks.or(self.blocks);
        for (Named(idiom), on) in idioms {
            self.switch(idiom, on);
        }
        self.known.suppress.extend(suppress);
        self.files.push(path.to_owned());
    }

    fn switch(&mut self, idiom: Idiom, on: bool) {
        self.idioms.retain(|other| *other != idiom);
        if on {
            self.idioms.push(idiom);
        }
    }
}

/// Reads one file.
fn read(path: &Path, help: &str) -> anyhow::Result<File> {
    let shown = path.display().to_string();
    let bytes = bounded::file(path, bounded::SETTINGS)
        .map_err(|error| anyhow!("{shown}: cannot be read: {error}; {help}"))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        let (line, column) = position(&before);
        anyhow!("{shown}:{line}:{column}: is not UTF-8; a configuration is a TOML text")
    })?;
    parse::parse(&shown, &text).map_err(|problem| anyhow!(problem))
}
