//! A trace being written, to a reader that may go away.

use std::io;
use std::ops::ControlFlow;

use atomvet_trace::{Event, Format, Names};

use crate::output::Output;

/// Writes events to an output.
pub(crate) struct Writer(atomvet_trace::Output<Output>);

impl Writer {
    /// At the start of a trace.
    pub(crate) fn new(format: Format, output: Output) -> io::Result<Writer> {
        atomvet_trace::Output::new(format, output).map(Writer)
    }

    /// Writes the next events. Breaks if the reader at the other end has seen enough.
    pub(crate) fn write(&mut self, names: &Names, events: &[Event]) -> io::Result<ControlFlow<()>> {
        match self.0.write(names, events) {
            Ok(()) => Ok(ControlFlow::Continue(())),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
            Err(error) => Err(error),
        }
    }

    /// The trace is whole.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        match self.0.finish() {
            Ok(output) => output.finish(),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
