//! `atomvet convert`: from text to binary and back. Judges syntax only, unless asked.

use std::path::{Path, PathBuf};

use anyhow::bail;
use atomvet_trace::wellformed::Wellformed;
use atomvet_trace::{ErrorKind, EventId, Format};
use clap::ValueEnum;

use crate::output::Output;
use crate::progress::Progress;
use crate::say;
use crate::spool::{Again, Source};
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

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let format = TraceFormat::choose(args.to, &args.output, "--to")?;
    let mut source = Source::new(&args.input, Again::No)?;
    let mut progress = Progress::new(&source.given, source.length());
    let mut input = source.open()?;
    let output = Output::create(Some(&args.output), std::slice::from_ref(&args.input))?;
    let mut writer = Writer::new(format, &input.conventions(), output)?;
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
        position += block.len() as u64;
        if writer.write(input.names(), &block)?.is_break() {
            return Ok(Status::Clean);
        }
        progress.at(input.bytes_read(), position);
    }
    writer.finish()?;
    Ok(Status::Clean)
}
