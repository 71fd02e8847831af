//! `atomvet report`: findings that were kept as JSON, rendered; and where `check` and this command put renderings.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use atomvet_report::model::{self, Report};
use atomvet_report::sources::Sources;
use atomvet_report::{Format, render, text};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::output::Output;
use crate::spool::called;
use crate::status::Status;
use crate::text::Looks;

/// Options of `report`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A report as `atomvet check --format json` writes it; - is standard input
    #[arg(value_name = "FINDINGS")]
    findings: PathBuf,
    /// How it is shown; may be given several times, with -o
    #[arg(long, required = true, value_name = "FORMAT", value_parser = formats())]
    format: Vec<Format>,
    #[command(flatten)]
    destination: Destination,
}

/// Where renderings go, where source text comes from, and how text looks.
#[derive(clap::Args, Debug)]
pub(crate) struct Destination {
    /// Write to this file; with several formats, to this name with .json, .html, .sarif, .junit.xml, .dot or
    /// .perfetto.json behind (text then goes to standard output)
    #[arg(short, value_name = "FILE", help_heading = "What is shown")]
    output: Option<PathBuf>,
    /// Take source excerpts (text, html) and relative paths (sarif) from files below this directory, and no others; may be
    /// given several times [default: the working directory]
    #[arg(long, value_name = "DIR", help_heading = "What is shown")]
    source_root: Vec<PathBuf>,
    #[command(flatten)]
    looks: Looks,
}

/// The formats by their names.
pub(crate) fn formats() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.iter().map(|format| format.name());
    let named = |name: &str| Format::ALL.iter().copied().find(|format| format.name() == name);
    PossibleValuesParser::new(names).try_map(move |name| named(&name).ok_or("is no format"))
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    args.destination.check()?;
    let outputs = args.destination.open(&args.format, &[args.findings.as_path()])?;
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
    /// Opens a file per format, or standard output for a single one. Text among several goes to standard output, where
    /// people are. Nothing appears before it is whole.
    pub(crate) fn open(&self, formats: &[Format], inputs: &[&Path]) -> anyhow::Result<Vec<(Format, Output)>> {
        let mut wanted: Vec<Format> = Vec::new();
        for &format in formats {
            if !wanted.contains(&format) {
                wanted.push(format);
            }
        }
        if let [one] = &wanted[..] {
            return Ok(vec![(*one, Output::create(self.output.as_deref(), inputs)?)]);
        }
        let base = self.output.as_ref().filter(|base| base.as_os_str() != "-");
        let Some(base) = base.filter(|_| !wanted.is_empty()) else {
            bail!(
                "several formats need files; give -o NAME, and each is written to NAME with its own ending"
            );
        };
        let files = wanted.into_iter().map(|format| {
            if format == Format::Text {
                return Ok((format, Output::stdout()));
            }
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
            let rendered = match format {
                Format::Text => text::render(report, &mut sources, &self.looks.options(output.onto())),
                other => render(report, other, &mut sources),
            };
            output.write_all_of(&rendered)?;
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
