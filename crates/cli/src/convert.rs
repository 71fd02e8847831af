//! `atomvet convert`: from text to binary and back, from other tools' logs, and to what RAPID reads. Judges syntax only, unless asked.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use atomvet_trace::foreign::{self, Foreign};
use atomvet_trace::rapid::ForRapid;
use atomvet_trace::wellformed::Wellformed;
use atomvet_trace::{Conventions, Error, ErrorKind, EventId, Format, Place};
use clap::ValueEnum;

use crate::output::Output;
use crate::progress::Progress;
use crate::say;
use crate::spool::{Again, Source, called};
use crate::status::Status;
use crate::writer::Writer;

/// Options of `convert`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The trace, in any format; - is standard input
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Where to write; - is standard output
    #[arg(short, value_name = "OUT")]
    output: PathBuf,
    /// Format to write
    ///
    /// [default: by the file name: .std and .txt are text, .atv is binary; text on standard output]
    #[arg(long, value_enum)]
    to: Option<TraceFormat>,
    /// Read an uncompressed log of another tool
    ///
    /// Without it, the input is in one of atomvet's own formats, which are recognised by content.
    #[arg(long, value_enum, value_name = "LOG", conflicts_with_all = ["check", "lenient"])]
    from: Option<From>,
    /// Write text that RAPID reads
    ///
    /// RAPID has fewer operations, and sites are numbers; docs/trace-formats.md has what becomes of the others.
    #[arg(long)]
    rapid: bool,
    /// Reject a malformed trace
    ///
    /// Checks that locks, forks, joins, begins and ends match.
    #[arg(long)]
    check: bool,
    /// Write the complete part of a cut-off trace
    #[arg(long)]
    lenient: bool,
}

/// A trace format.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TraceFormat {
    /// One event per line.
    Text,
    /// Compressed blocks.
    Binary,
}

impl TraceFormat {
    /// The format that was asked for, or the one that the name of a file asks for.
    pub(crate) fn choose(asked: Option<TraceFormat>, path: &Path, option: &str) -> anyhow::Result<Format> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        Ok(match (asked, extension) {
            (Some(TraceFormat::Text), _) => Format::Text,
            (Some(TraceFormat::Binary), _) => Format::Binary,
            (None, Some("atv")) => Format::Binary,
            (None, Some("std" | "txt")) => Format::Text,
            (None, _) if path == Path::new("-") => Format::Text,
            (None, _) => bail!(
                "{}: the name does not tell the format; end it in .std or .atv, or give {option} text or {option} binary",
                path.display()
            ),
        })
    }
}

/// A log of another tool.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum From {
    /// RAPID's CSV: one column per thread.
    Csv,
    /// RoadRunner's textual log.
    Roadrunner,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let format = TraceFormat::choose(args.to, &args.output, "--to")?;
    if args.rapid && format != Format::Text {
        bail!("RAPID reads text; leave out --rapid, or write to a file that ends in .std");
    }
    if let Some(from) = args.from {
        return convert_log(args, from, format);
    }
    let mut source = Source::new(&args.input, Again::No)?;
    let mut progress = Progress::new(&source.given, source.length());
    let mut input = source.open()?;
    let output = Output::create(Some(&args.output), std::slice::from_ref(&args.input))?;
    let mut rapid = args.rapid.then(ForRapid::default);
    let mut translated = Vec::new();
    // RAPID reads no comments, in which a text says how it was recorded.
    let conventions = if args.rapid { Conventions::default() } else { input.conventions() };
    let mut writer = Writer::new(format, &conventions, output)?;
    let mut discipline = args.check.then(Wellformed::default);
    let (mut block, mut checked, mut position) = (Vec::new(), Vec::new(), 0);
    loop {
        match input.next_block(&mut block) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) if error.kind == ErrorKind::Truncated && args.lenient => {
                say::note(format!("{error}; what is written is not the whole trace"));
                break;
            }
            Err(error) => return Err(error.into()),
        }
        if let Some(discipline) = &mut discipline {
            // The check marks re-entrant locking in place; what is written is what was read.
            checked.clone_from(&block);
            (discipline.check(EventId(position), &mut checked, input.names()))
                .map_err(|broken| source.broken(input.place(broken.index), broken))?;
        }
        let written = match &mut rapid {
            None => writer.write(input.names(), &block)?,
            Some(rapid) => {
                translated.clear();
                rapid
                    .translate(&block, &mut translated)
                    .map_err(|(index, what)| no_rapid(&source, input.place(index), what))?;
                writer.write(rapid.names(), &translated)?
            }
        };
        position += block.len() as u64;
        if written.is_break() {
            return Ok(Status::Clean);
        }
        progress.at(input.bytes_read(), position);
    }
    writer.finish()?;
    Ok(Status::Clean)
}

fn no_rapid(source: &Source, place: Place, what: &str) -> Error {
    Error {
        file: called(&source.given).to_owned(),
        place,
        kind: ErrorKind::Discipline,
        problem: format!("RAPID has no {what}"),
        help: "check this trace with atomvet, or leave out --rapid".to_owned(),
    }
}

/// Converts a log of another tool.
fn convert_log(args: &Args, from: From, format: Format) -> anyhow::Result<Status> {
    let name = args.input.display().to_string();
    let source: Box<dyn BufRead> = match name.as_str() {
        "-" => Box::new(std::io::stdin().lock()),
        _ => {
            let file = File::open(&args.input)
                .with_context(|| format!("{name}: cannot be opened; check the name"))?;
            Box::new(BufReader::with_capacity(1 << 16, file))
        }
    };
    let log = match from {
        From::Csv => Foreign::Csv,
        From::Roadrunner => Foreign::RoadRunner,
    };
    let mut reader = foreign::Reader::new(log, called(&name), source);
    let output = Output::create(Some(&args.output), std::slice::from_ref(&args.input))?;
    let mut writer = Writer::new(format, &Conventions::default(), output)?;
    let mut rapid = args.rapid.then(ForRapid::default);
    let (mut block, mut translated) = (Vec::new(), Vec::new());
    while reader.next_block(&mut block)? {
        let written = match &mut rapid {
            None => writer.write(reader.names(), &block)?,
            Some(rapid) => {
                translated.clear();
                // These logs have no operation that RAPID does not have.
                let _ = rapid.translate(&block, &mut translated);
                writer.write(rapid.names(), &translated)?
            }
        };
        if written.is_break() {
            return Ok(Status::Clean);
        }
    }
    writer.finish()?;
    Ok(Status::Clean)
}
