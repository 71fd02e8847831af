//! A trace being written, to a reader that may go away.

use std::io;
use std::ops::ControlFlow;

use anyhow::Context;
use atomvet_trace::{Conventions, Event, Format, Names};

use crate::output::Output;

/// Writes events to an output.
pub(crate) struct Writer {
    /// What errors say.
    problem: String,
    to: atomvet_trace::Output<Output>,
}

impl Writer {
    /// At the start of a trace that says this about itself.
    pub(crate) fn new(format: Format, conventions: &Conventions, output: Output) -> anyhow::Result<Writer> {
        let problem = format!("{}: cannot be written", output.shown());
        let to = atomvet_trace::Output::new(format, conventions, output).with_context(|| problem.clone())?;
        Ok(Writer { problem, to })
    }

    /// Writes the next events. Breaks if the reader at the other end has seen enough.
    pub(crate) fn write(&mut self, names: &Names, events: &[Event]) -> anyhow::Result<ControlFlow<()>> {
        match self.to.write(names, events) {
            Ok(()) => Ok(ControlFlow::Continue(())),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
            Err(error) => Err(error).context(self.problem.clone()),
        }
    }

    /// Writes a line that readers skip. The binary format has none.
    pub(crate) fn comment(&mut self, text: &str) -> anyhow::Result<()> {
        match self.to.comment(text) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(error).context(self.problem.clone())
            }
            _ => Ok(()),
        }
    }

    /// The trace is whole.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        match self.to.finish() {
            Ok(output) => output.finish(),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(error).context(self.problem),
        }
    }
}
