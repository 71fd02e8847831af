//! `atomvet report`: findings that were kept as JSON, rendered; and where `check`, `run` and this command put renderings.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use atomvet_report::model::{self, Report};
use atomvet_report::sources::Sources;
use atomvet_report::{Format, render};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::configuration::Configuration;
use crate::output::Output;
use crate::spool::called;
use crate::status::Status;

/// Options of `report`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A report as `--format json` of `check` and `run` writes it; - is standard input
    #[arg(value_name = "FINDINGS")]
    findings: PathBuf,
    /// How it is shown; may be given several times, with -o
    #[arg(long, required = true, value_name = "FORMAT", value_parser = formats())]
    format: Vec<Format>,
    #[command(flatten)]
    destination: Destination,
}

/// Where renderings go, and where source text comes from.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Destination {
    /// Write to this file; with several formats, to this name with .json, .html, .sarif, .junit.xml, .dot or
    /// .perfetto.json behind
    #[arg(short, value_name = "FILE", help_heading = "What is shown")]
    output: Option<PathBuf>,
    /// Take source excerpts (html) and relative paths (sarif) from files below this directory, and no others; may be
    /// given several times [default: the working directory]
    #[arg(long, value_name = "DIR", help_heading = "What is shown")]
    source_root: Vec<PathBuf>,
}

/// How the findings of a check are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    /// For people, on a terminal.
    Text,
    /// As a rendering of the JSON contract.
    As(Format),
}

/// A way to show findings, by its name.
pub(crate) fn shown_named(name: &str) -> Option<Shown> {
    if name == "text" { Some(Shown::Text) } else { format_named(name).map(Shown::As) }
}

/// The ways to show findings by their names.
pub(crate) fn shown() -> impl TypedValueParser<Value = Shown> {
    let names = Format::ALL.iter().map(|format| format.name());
    PossibleValuesParser::new(["text"].into_iter().chain(names))
        .try_map(|name| shown_named(&name).ok_or("is no format"))
}

/// Where a report goes that no `-o` sends elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Voice {
    /// Standard output.
    Output,
    /// Standard error: standard output belongs to the program that is run.
    Error,
}

/// Everything that a check writes, opened before the work is done: nothing appears before it is whole.
pub(crate) struct Renderings {
    text: Option<Output>,
    others: Vec<(Format, Output)>,
    destination: Destination,
}

impl Renderings {
    /// Opens what the command line asks for or, where it says nothing, the configuration.
    pub(crate) fn open(
        asked: &[Shown],
        destination: &Destination,
        configuration: &Configuration,
        inputs: &[&Path],
        voice: Voice,
    ) -> anyhow::Result<Renderings> {
        let mut destination = destination.clone();
        if destination.source_root.is_empty() {
            destination.source_root.clone_from(&configuration.source_roots);
        }
        // Where the configuration's formats go says nothing about other formats.
        if asked.is_empty() && destination.output.is_none() {
            destination.output.clone_from(&configuration.output);
        }
        let shown = if asked.is_empty() { &configuration.format[..] } else { asked };
        let shown = if shown.is_empty() { &[Shown::Text] } else { shown };
        destination.check()?;
        let as_text = shown.contains(&Shown::Text);
        let formats = shown.iter().filter_map(|shown| match shown {
            Shown::Text => None,
            Shown::As(format) => Some(*format),
        });
        let formats: Vec<Format> = formats.collect();
        let spoken = || match voice {
            Voice::Output => Output::stdout(),
            Voice::Error => Output::stderr(),
        };
        // Text among several goes where people are; alone, it goes where -o says.
        let text = match destination.output.as_deref().filter(|_| formats.is_empty()) {
            _ if !as_text => None,
            Some(file) => Some(Output::create(Some(file), inputs)?),
            None => Some(spoken()),
        };
        let others = match (&formats[..], &destination.output) {
            ([], _) => Vec::new(),
            ([one], None) if !as_text => vec![(*one, spoken())],
            _ => {
                let naming = if as_text { Naming::Endings } else { Naming::AsGiven };
                destination.open(&formats, naming, inputs)?
            }
        };
        Ok(Renderings { text, others, destination })
    }

    /// Whether text for people is wanted.
    pub(crate) fn has_text(&self) -> bool {
        self.text.is_some()
    }

    /// Whether anything is made from the JSON contract.
    pub(crate) fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    /// Writes everything. The report is asked for only if it is needed.
    pub(crate) fn write(self, text: &str, report: impl FnOnce() -> Report) -> anyhow::Result<()> {
        if let Some(output) = self.text {
            output.write_all_of(text)?;
        }
        if !self.others.is_empty() {
            self.destination.write(&report(), self.others)?;
        }
        Ok(())
    }
}

/// What `-o` means for a single format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Naming {
    /// The name of the file.
    AsGiven,
    /// What stands before the format's ending, because there is text besides.
    Endings,
}

/// The formats by their names.
pub(crate) fn formats() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.iter().map(|format| format.name());
    PossibleValuesParser::new(names).try_map(|name| format_named(&name).ok_or("is no format"))
}

/// A format by its name.
pub(crate) fn format_named(name: &str) -> Option<Format> {
    Format::ALL.iter().copied().find(|format| format.name() == name)
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    args.destination.check()?;
    let outputs = args.destination.open(&args.format, Naming::AsGiven, &[args.findings.as_path()])?;
    let given = args.findings.to_string_lossy();
    let mut bytes = Vec::new();
    let read = if given == "-" {
        std::io::stdin().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(&args.findings).map(|read| bytes = read)
    };
    read.with_context(|| format!("{}: cannot be read", called(&given)))?;
    let report = model::read(&String::from_utf8_lossy(&bytes))
        .map_err(|problem| anyhow!("{}: {problem}", called(&given)))?;
    args.destination.write(&report, outputs)?;
    Ok(Status::Clean)
}

impl Destination {
    /// Opens a file per format, or standard output for a single one. Nothing appears before it is whole.
    pub(crate) fn open(
        &self,
        formats: &[Format],
        naming: Naming,
        inputs: &[&Path],
    ) -> anyhow::Result<Vec<(Format, Output)>> {
        let mut wanted: Vec<Format> = Vec::new();
        for &format in formats {
            if !wanted.contains(&format) {
                wanted.push(format);
            }
        }
        if let ([one], Naming::AsGiven) = (&wanted[..], naming) {
            return Ok(vec![(*one, Output::create(self.output.as_deref(), inputs)?)]);
        }
        let base = self.output.as_ref().filter(|base| base.as_os_str() != "-");
        let Some(base) = base.filter(|_| !wanted.is_empty()) else {
            bail!(
                "several formats need files; give -o NAME, and each is written to NAME with its own ending"
            );
        };
        let files = wanted.into_iter().map(|format| {
            let mut name = base.clone().into_os_string();
            name.push(format!(".{}", format.extension()));
            Ok((format, Output::create(Some(Path::new(&name)), inputs)?))
        });
        files.collect()
    }

    /// Renders a report into each of the files.
    pub(crate) fn write(&self, report: &Report, outputs: Vec<(Format, Output)>) -> anyhow::Result<()> {
        let here = [PathBuf::from(".")];
        let mut sources = Sources::below(if self.source_root.is_empty() { &here } else { &self.source_root });
        for (format, output) in outputs {
            output.write_all_of(&render(report, format, &mut sources))?;
        }
        Ok(())
    }

    /// Makes sure that the folders for source text exist: a wrong one would silently have no text.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        match self.source_root.iter().find(|root| !root.is_dir()) {
            Some(root) => bail!("{}: is no directory; give --source-root one", root.display()),
            None => Ok(()),
        }
    }
}
