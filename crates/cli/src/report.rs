//! `atomvet report`: findings that were kept as JSON, rendered; and where `check`, `run` and this command put renderings.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use atomvet_report::model::{self, Entry, Report};
use atomvet_report::sources::Sources;
use atomvet_report::{Format, render, text};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::configuration::Configuration;
use crate::output::Output;
use crate::spool::called;
use crate::status::Status;
use crate::text::{Looks, Onto};
use crate::{aside, bounded, say};

/// Options of `report`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A report that `--format json` wrote; - is standard input
    #[arg(value_name = "FINDINGS")]
    findings: PathBuf,
    /// The format; may be given several times together with -o
    #[arg(long, required = true, value_name = "FORMAT", value_parser = formats())]
    format: Vec<Format>,
    #[command(flatten)]
    destination: Destination,
}

/// Where renderings go, where source text comes from, and how text looks.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Destination {
    /// Write the report to this file
    ///
    /// With several formats, each file gets the suffix .json, .html, .sarif, .junit.xml, .dot or .perfetto.json; text is still
    /// written to the terminal.
    #[arg(short, value_name = "FILE", help_heading = "What is shown")]
    output: Option<PathBuf>,
    /// Look for source files below this directory
    ///
    /// Source excerpts (text, html) and relative paths (sarif) are taken from files below it, and from no others. May be given
    /// several times. [default: the working directory]
    #[arg(long, value_name = "DIR", help_heading = "What is shown")]
    source_root: Vec<PathBuf>,
    #[command(flatten)]
    looks: Looks,
}

/// Where a report goes that no `-o` sends elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Voice {
    /// Standard output.
    Output,
    /// Standard error: standard output belongs to the program that is run.
    Error,
}

impl Voice {
    fn output(self) -> Output {
        match self {
            Voice::Output => Output::stdout(),
            Voice::Error => Output::stderr(),
        }
    }
}

/// Everything that a check writes, opened before the work is done: nothing appears before it is whole.
pub(crate) struct Renderings {
    outputs: Vec<(Format, Output)>,
    destination: Destination,
    voice: Voice,
}

impl Renderings {
    /// Opens what the command line asks for or, where it says nothing, the configuration.
    pub(crate) fn open(
        asked: &[Format],
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
        destination.looks.max_findings = destination.looks.max_findings.or(configuration.max_findings);
        let formats = if asked.is_empty() { &configuration.format[..] } else { asked };
        let formats = if formats.is_empty() { &[Format::Text] } else { formats };
        destination.check()?;
        let outputs = destination.open(formats, inputs, voice)?;
        Ok(Renderings { outputs, destination, voice })
    }

    /// Writes everything. Findings whose file cannot be written are shown as text instead, all of them, since to find them again may
    /// take hours.
    pub(crate) fn write(self, report: &Report) -> anyhow::Result<()> {
        // What could not be read was told already; a program is told again.
        let is_told = |format: Format| format == Format::Text && report.traces.iter().all(Entry::is_failed);
        let outputs = self.outputs.into_iter().filter(|(format, _)| !is_told(*format));
        let outputs: Vec<_> = outputs.collect();
        // The text has them.
        if outputs.iter().all(|(format, _)| *format != Format::Text) {
            report.set_aside.iter().for_each(aside::say_unused);
        }
        let is_spoken =
            |(format, output): &(Format, Output)| *format == Format::Text && output.onto() != Onto::File;
        let is_spoken = outputs.iter().any(is_spoken);
        let mut failed = self.destination.write(report, outputs);
        let Some((onto, _)) = failed.first() else { return Ok(()) };
        if !is_spoken || *onto != Onto::File {
            // What cannot be written to standard output goes to standard error.
            let output = if *onto == Onto::Stdout { Output::stderr() } else { self.voice.output() };
            let mut destination = self.destination;
            destination.looks.max_findings = Some(usize::MAX);
            failed.extend(destination.write(report, vec![(Format::Text, output)]));
        }
        one_of(failed)
    }
}

/// Says all of these but the first, which is returned.
fn one_of(failed: Vec<(Onto, anyhow::Error)>) -> anyhow::Result<()> {
    let mut errors = failed.into_iter().map(|(_, error)| error);
    let first = errors.next();
    errors.for_each(|error| say::error(format!("{error:#}")));
    first.map_or(Ok(()), Err)
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
    let outputs = args.destination.open(&args.format, &[args.findings.as_path()], Voice::Output)?;
    let given = args.findings.to_string_lossy();
    let bytes = bounded::report(&args.findings)
        .map_err(|error| anyhow!("{}: cannot be read: {error}", called(&given)))?;
    let report = model::read(&String::from_utf8_lossy(&bytes))
        .map_err(|problem| anyhow!("{}: {problem}", called(&given)))?;
    one_of(args.destination.write(&report, outputs))?;
    Ok(Status::Clean)
}

impl Destination {
    /// Opens a file per format, and `voice` for a single one without a file. Text among several is spoken too: that is
    /// where people are. Nothing appears before it is whole.
    fn open(
        &self,
        formats: &[Format],
        inputs: &[&Path],
        voice: Voice,
    ) -> anyhow::Result<Vec<(Format, Output)>> {
        let mut wanted: Vec<Format> = Vec::new();
        for &format in formats {
            if !wanted.contains(&format) {
                wanted.push(format);
            }
        }
        if let [one] = &wanted[..] {
            let output = match &self.output {
                Some(file) => Output::create(Some(file), inputs)?,
                None => voice.output(),
            };
            return Ok(vec![(*one, output)]);
        }
        let base = self.output.as_ref().filter(|base| base.as_os_str() != "-");
        let Some(base) = base.filter(|_| !wanted.is_empty()) else {
            bail!(
                "several formats need files; give -o NAME, and each is written to NAME with its own ending"
            );
        };
        let files = wanted.into_iter().map(|format| {
            if format == Format::Text {
                return Ok((format, voice.output()));
            }
            let mut name = base.clone().into_os_string();
            name.push(format!(".{}", format.extension()));
            Ok((format, Output::create(Some(Path::new(&name)), inputs)?))
        });
        files.collect()
    }

    /// Renders a report into each of the files; those that could not be written.
    fn write(&self, report: &Report, outputs: Vec<(Format, Output)>) -> Vec<(Onto, anyhow::Error)> {
        let here = [PathBuf::from(".")];
        let mut sources = Sources::below(if self.source_root.is_empty() { &here } else { &self.source_root });
        let mut failed = Vec::new();
        for (format, output) in outputs {
            let onto = output.onto();
            let rendered = match format {
                Format::Text => text::render(report, &mut sources, &self.looks.options(output.onto())),
                other => render(report, other, &mut sources),
            };
            failed.extend(output.write_all_of(&rendered).err().map(|error| (onto, error)));
        }
        failed
    }

    /// Makes sure that the folders for source text exist: a wrong one would silently have no text.
    fn check(&self) -> anyhow::Result<()> {
        match self.source_root.iter().find(|root| !root.is_dir()) {
            Some(root) => bail!("{}: is no directory; give --source-root one", root.display()),
            None => Ok(()),
        }
    }
}
