//! What is wrong with an input, where, and what to do about it.

use std::{fmt, io};

/// Bad input. Displayed as `file:line:column: problem; what to do`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// The input, as the user named it.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// What kind of trouble.
    pub kind: ErrorKind,
    /// What was found and what was expected: a lowercase fragment.
    pub problem: String,
    /// What to do next; may be empty.
    pub help: String,
}

/// What kind of trouble an [`Error`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// The input cannot be opened or read.
    Io,
    /// It is not what the format says.
    Syntax,
    /// It was written by a newer version.
    Version,
    /// It ends too early. All that is whole was handed on before.
    Truncated,
    /// The events break the discipline of `docs/event-model.md`.
    Discipline,
}

/// A position in an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The input as a whole.
    Whole,
    /// Line and column, both from 1. The column counts characters.
    Line(u64, u64),
    /// Bytes from the start.
    Offset(u64),
    /// The number of an event, from 0, and the byte offset of the block that holds it.
    Event(u64, u64),
}

impl std::error::Error for Error {}

impl Error {
    /// The input cannot be read on from `place`. Readers of compressed data say by the kind of
    /// the error that it ends too early ([`io::ErrorKind::UnexpectedEof`]) or is damaged
    /// ([`io::ErrorKind::InvalidData`]); everything else is trouble with the file or pipe.
    pub fn reading(file: &str, place: Place, error: &io::Error, events: u64) -> Error {
        let (kind, help) = match error.kind() {
            io::ErrorKind::UnexpectedEof => (ErrorKind::Truncated, "it was cut off: copy or record it again"),
            io::ErrorKind::InvalidData => (ErrorKind::Syntax, "it is damaged: copy or record it again"),
            _ => (ErrorKind::Io, "check the file or pipe it comes from"),
        };
        let problem = format!("cannot read on after {events} events: {error}");
        Error { file: file.to_owned(), place, kind, problem, help: help.to_owned() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        match self.place {
            Place::Whole => {}
            Place::Line(line, column) => write!(f, ":{line}:{column}")?,
            Place::Offset(offset) => write!(f, ": byte {offset}")?,
            Place::Event(event, offset) => write!(f, ": event {event} (in the block at byte {offset})")?,
        }
        write!(f, ": {}", self.problem)?;
        if !self.help.is_empty() {
            write!(f, "; {}", self.help)?;
        }
        Ok(())
    }
}
