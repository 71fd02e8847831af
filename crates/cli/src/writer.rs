//! A trace being written, in either format.

use std::io;
use std::ops::ControlFlow;

use atomvet_trace::{Event, Names, binary, std_text};

use crate::convert::TraceFormat;
use crate::output::Output;

/// Writes events to an output.
pub(crate) enum Writer {
    /// One event per line.
    Text(Box<std_text::Writer<Output>>),
    /// Compressed blocks.
    Binary(Box<binary::Writer<Output>>),
}

impl Writer {
    /// At the start of a trace.
    pub(crate) fn new(format: TraceFormat, output: Output) -> io::Result<Writer> {
        Ok(match format {
            TraceFormat::Text => Writer::Text(Box::new(std_text::Writer::new(output))),
            TraceFormat::Binary => Writer::Binary(Box::new(binary::Writer::new(output)?)),
        })
    }

    /// Writes the next events. Breaks if the reader at the other end has seen enough.
    pub(crate) fn write(&mut self, names: &Names, events: &[Event]) -> io::Result<ControlFlow<()>> {
        let result = match self {
            Writer::Text(writer) => writer.write(names, events),
            Writer::Binary(writer) => writer.write(names, events),
        };
        match result {
            Ok(()) => Ok(ControlFlow::Continue(())),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
            Err(error) => Err(error),
        }
    }

    /// The trace is whole.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let output = match self {
            Writer::Text(writer) => writer.finish(),
            Writer::Binary(writer) => writer.finish(),
        };
        match output {
            Ok(output) => output.finish(),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
