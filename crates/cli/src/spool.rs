//! Where events come from, and how to read them again.
//!
//! A file is opened again for the witness pass. A pipe can be read once only, so it is copied to
//! a temporary file (which has no name, and so never stays behind) while it is read. The copying
//! thread also keeps a silent pipe from holding up Ctrl-C.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use atomvet_trace::wellformed::{Broken, Figures};
use atomvet_trace::{Conventions, Error, ErrorKind, Event, Format, Input, Names, Place};

use crate::interrupt;
use crate::run::copy::Readable;
use crate::traces::Company;

/// To start a thread takes as long as to read so many bytes.
const SMALL: u64 = 32 * 1024;

/// Whether standard input was opened already: there is only one.
static STDIN_TAKEN: AtomicBool = AtomicBool::new(false);

/// Whether a trace will be read a second time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// Yes: what cannot be rewound is copied.
    Yes,
    /// No.
    No,
}

/// A trace as the user named it.
pub(crate) struct Source {
    /// The path as given; `-` is standard input.
    pub(crate) given: String,
    kind: Kind,
    again: Again,
    /// Opened already, by [`Source::conventions`].
    opened: Option<Opened>,
    company: Company,
}

enum Kind {
    File(PathBuf),
    /// A pipe not yet read, or standard input if there is no path.
    Pipe(Option<PathBuf>),
    /// The copy of a pipe, with a position of its own.
    Copied(File),
    /// A pipe that was read and not copied.
    Spent,
    /// A program that runs; its copy is read the next time.
    Running(Box<dyn Live>, Readable),
    /// That copy.
    Recorded(Readable),
}

/// Events that are made while they are read.
pub(crate) trait Live: Send {
    /// As [`Input::next_block`].
    fn next_block(&mut self, block: &mut Vec<Event>) -> Result<bool, Error>;
    /// As [`Input::names`].
    fn names(&self) -> &Names;
    /// As [`Input::into_names`].
    fn into_names(self: Box<Self>) -> Names;
    /// As [`Input::bytes_read`].
    fn bytes_read(&self) -> u64;
    /// What the events consist of that were read so far.
    fn figures(&self) -> Figures;
    /// Whether the events are read about as fast as they are made.
    fn keeps_up(&self) -> bool;
}

/// A trace being read.
pub(crate) enum Opened {
    /// Bytes.
    Stored(Box<Input>),
    /// A program.
    Running(Box<dyn Live>),
}

impl Opened {
    /// See [`Input::next_block`].
    pub(crate) fn next_block(&mut self, block: &mut Vec<Event>) -> Result<bool, Error> {
        match self {
            Opened::Stored(input) => input.next_block(block),
            Opened::Running(live) => live.next_block(block),
        }
    }

    /// See [`Input::know`]. A program that runs was never read before.
    pub(crate) fn know(&mut self, names: Names) {
        if let Opened::Stored(input) = self {
            input.know(names);
        }
    }

    /// See [`Input::conventions`].
    pub(crate) fn conventions(&mut self) -> Conventions {
        match self {
            Opened::Stored(input) => input.conventions(),
            Opened::Running(_) => Conventions::default(),
        }
    }

    /// See [`Input::names`].
    pub(crate) fn names(&self) -> &Names {
        match self {
            Opened::Stored(input) => input.names(),
            Opened::Running(live) => live.names(),
        }
    }

    /// See [`Input::into_names`].
    pub(crate) fn into_names(self) -> Names {
        match self {
            Opened::Stored(input) => input.into_names(),
            Opened::Running(live) => live.into_names(),
        }
    }

    /// See [`Input::place`].
    pub(crate) fn place(&self, index: usize) -> Place {
        match self {
            Opened::Stored(input) => input.place(index),
            Opened::Running(_) => Place::Whole,
        }
    }

    /// Whether its events have been through a check of the discipline, and say which lock operations are re-entrant.
    pub(crate) fn is_checked(&self) -> bool {
        matches!(self, Opened::Running(_))
    }

    /// What the events consist of that were read so far, if that is known anyway.
    pub(crate) fn figures(&self) -> Option<Figures> {
        match self {
            Opened::Stored(_) => None,
            Opened::Running(live) => Some(live.figures()),
        }
    }

    /// Whether it is waited for most of the time, and not read as fast as can be.
    pub(crate) fn keeps_up(&self) -> bool {
        match self {
            Opened::Stored(_) => false,
            Opened::Running(live) => live.keeps_up(),
        }
    }

    /// See [`Input::bytes_read`].
    pub(crate) fn bytes_read(&self) -> u64 {
        match self {
            Opened::Stored(input) => input.bytes_read(),
            Opened::Running(live) => live.bytes_read(),
        }
    }

    /// See [`Input::format`].
    pub(crate) fn format(&self) -> Format {
        match self {
            Opened::Stored(input) => input.format(),
            Opened::Running(_) => Format::Binary,
        }
    }
}

impl Source {
    /// A trace at a path, or standard input for `-`.
    pub(crate) fn new(path: &Path, again: Again) -> Result<Source, Error> {
        let given = path.to_string_lossy().into_owned();
        let kind = if given == "-" {
            Kind::Pipe(None)
        } else {
            let metadata = std::fs::metadata(path).map_err(|error| {
                let help = match error.kind() {
                    io::ErrorKind::NotFound => "check the path, or give - for standard input",
                    _ => "check the permissions of the path",
                };
                input_error(&given, format!("cannot be opened: {error}"), help)
            })?;
            if metadata.is_dir() {
                let help = "name the trace files in it";
                return Err(input_error(&given, "is a directory, and a trace is a file".into(), help));
            }
            if metadata.is_file() { Kind::File(path.to_owned()) } else { Kind::Pipe(Some(path.to_owned())) }
        };
        Ok(Source { given, kind, again, opened: None, company: Company::Alone })
    }

    /// The same trace, looked at while others are.
    pub(crate) fn in_company(self, company: Company) -> Source {
        Source { company, ..self }
    }

    /// Whether it is faster to read it on a thread of its own.
    pub(crate) fn wants_reader(&self) -> bool {
        let is_small = || matches!(self.kind, Kind::File(_)) && self.length().is_some_and(|n| n < SMALL);
        self.company == Company::Alone && !is_small()
    }

    /// Whether it can be opened again from its path.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.kind, Kind::File(_))
    }

    /// A program that runs and, as soon as its events are read, their copy in a file.
    pub(crate) fn running(name: &str, live: Box<dyn Live>, copy: Readable) -> Source {
        let (given, kind) = (name.to_owned(), Kind::Running(live, copy));
        Source { given, kind, again: Again::Yes, opened: None, company: Company::Alone }
    }

    /// What a program did, in a file.
    pub(crate) fn recorded(name: &str, recording: Readable) -> Source {
        let (given, kind) = (name.to_owned(), Kind::Recorded(recording));
        Source { given, kind, again: Again::Yes, opened: None, company: Company::Alone }
    }

    /// What the trace says about itself, before it is opened. (Of a program that runs, its caller knows.)
    pub(crate) fn conventions(&mut self) -> Result<Conventions, Error> {
        if let Kind::Running(..) = self.kind {
            return Ok(Conventions::default());
        }
        let mut input = self.open_stored()?;
        let conventions = input.conventions();
        self.opened = Some(Opened::Stored(Box::new(input)));
        Ok(conventions)
    }

    /// Opens it from its start.
    pub(crate) fn open(&mut self) -> Result<Opened, Error> {
        if let Some(opened) = self.opened.take() {
            return Ok(opened);
        }
        if let Kind::Running(..) = self.kind
            && let Kind::Running(live, copy) = std::mem::replace(&mut self.kind, Kind::Spent)
        {
            self.kind = Kind::Recorded(copy);
            return Ok(Opened::Running(live));
        }
        self.open_stored().map(|input| Opened::Stored(Box::new(input)))
    }

    fn open_stored(&mut self) -> Result<Input, Error> {
        let name = called(&self.given);
        match &mut self.kind {
            Kind::File(path) => Input::open(path),
            Kind::Pipe(path) => {
                if path.is_none() && STDIN_TAKEN.swap(true, Ordering::Relaxed) {
                    return Err(input_error(name, "was read already".into(), "give - once only"));
                }
                let path = path.clone();
                let open = move || -> io::Result<Box<dyn Read + Send>> {
                    match path {
                        None => Ok(Box::new(io::stdin())),
                        Some(path) => {
                            let cannot =
                                |e: io::Error| io::Error::new(e.kind(), format!("cannot be opened: {e}"));
                            Ok(Box::new(File::open(path).map_err(cannot)?))
                        }
                    }
                };
                let (copy, next) = match self.again {
                    Again::No => (None, Kind::Spent),
                    Again::Yes => {
                        let (write, read) = temporary().map_err(|e| {
                            let help = "set TMPDIR to a directory with room for it, or check a file instead of a pipe";
                            input_error(name, format!("cannot be copied to a temporary file: {e}"), help)
                        })?;
                        (Some(write), Kind::Copied(read))
                    }
                };
                let input = Input::from_reader(name, Box::new(Piped::new(open, copy)))?;
                self.kind = next;
                Ok(input)
            }
            Kind::Copied(copy) => {
                let rewound = copy.seek(SeekFrom::Start(0)).and_then(|_| copy.try_clone());
                from_copy(name, rewound, "check a file instead of a pipe")
            }
            Kind::Recorded(copy) => from_copy(name, copy.file(), NO_ROOM),
            Kind::Spent | Kind::Running(..) => {
                Err(input_error(name, "was read already".into(), "check a file instead of a pipe"))
            }
        }
    }

    /// An error about an event that breaks the discipline.
    pub(crate) fn broken(&self, place: Place, broken: Broken) -> Error {
        let Broken { problem, help, .. } = broken;
        Error { file: called(&self.given).to_owned(), place, kind: ErrorKind::Discipline, problem, help }
    }

    /// Its size in bytes, if that is known.
    pub(crate) fn length(&self) -> Option<u64> {
        match &self.kind {
            Kind::File(path) => std::fs::metadata(path).ok().map(|m| m.len()),
            // What is being copied may have more to come.
            Kind::Copied(_) if self.opened.is_some() => None,
            Kind::Copied(copy) => copy.metadata().ok().map(|m| m.len()),
            Kind::Recorded(copy) => copy.file().and_then(|file| file.metadata()).ok().map(|m| m.len()),
            Kind::Pipe(_) | Kind::Spent | Kind::Running(..) => None,
        }
    }

    /// Fails if it cannot be read again: what a program did cannot, if there was no room for a copy.
    pub(crate) fn ensure_kept(&self) -> io::Result<()> {
        match &self.kind {
            Kind::Recorded(copy) => copy.file().map(drop),
            _ => Ok(()),
        }
    }
}

fn from_copy(name: &str, copy: io::Result<File>, help: &str) -> Result<Input, Error> {
    let bytes =
        copy.map_err(|e| input_error(name, format!("its temporary copy cannot be read: {e}"), help))?;
    Input::from_reader(name, Box::new(bytes))
}

/// What to do if there is no room for a copy.
pub(crate) const NO_ROOM: &str = "set TMPDIR to a directory with room";

/// What people read instead of a trace's path as given.
pub(crate) fn called(given: &str) -> &str {
    if given == "-" { "standard input" } else { given }
}

fn input_error(file: &str, problem: String, help: &str) -> Error {
    Error { file: file.to_owned(), place: Place::Whole, kind: ErrorKind::Io, problem, help: help.to_owned() }
}

/// A file without a name, to write and, independently, to read.
pub(crate) fn temporary() -> io::Result<(File, File)> {
    let named = tempfile::NamedTempFile::new()?;
    let read = named.reopen()?;
    Ok((named.into_file(), read))
}

/// The bytes of a pipe, fetched by a thread of their own.
struct Piped {
    full: Receiver<io::Result<Vec<u8>>>,
    empty: SyncSender<Vec<u8>>,
    chunk: Vec<u8>,
    position: usize,
}

/// Bytes fetched at once, and how many such chunks may wait.
const CHUNK: usize = 256 * 1024;
const WAITING: usize = 4;

/// How long a silent pipe may hold up Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

impl Piped {
    /// To open a named pipe may take as long as to read it: the thread does that too.
    fn new(
        open: impl FnOnce() -> io::Result<Box<dyn Read + Send>> + Send + 'static,
        mut copy: Option<File>,
    ) -> Piped {
        let (full_sender, full) = sync_channel(WAITING);
        let (empty, empty_receiver) = sync_channel::<Vec<u8>>(WAITING + 2);
        // Not joined: it may wait for a pipe that nobody writes to, and ends with the process.
        std::thread::spawn(move || {
            let mut bytes = match open() {
                Ok(bytes) => bytes,
                Err(error) => {
                    // Who does not listen any more does not care.
                    let _ = full_sender.send(Err(error));
                    return;
                }
            };
            loop {
                let mut chunk = empty_receiver.try_recv().unwrap_or_default();
                chunk.resize(CHUNK, 0);
                let fetched = loop {
                    match bytes.read(&mut chunk) {
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        other => break other,
                    }
                };
                let message = fetched.and_then(|length| {
                    chunk.truncate(length);
                    if let Some(copy) = &mut copy {
                        copy.write_all(&chunk).map_err(|error| {
                            io::Error::new(
                                error.kind(),
                                format!("its temporary copy cannot be written: {error}"),
                            )
                        })?;
                    }
                    Ok(chunk)
                });
                let last = message.as_ref().map_or(true, Vec::is_empty);
                if full_sender.send(message).is_err() || last {
                    return;
                }
            }
        });
        Piped { full, empty, chunk: Vec::new(), position: 0 }
    }
}

impl Read for Piped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position == self.chunk.len() {
            let next = loop {
                match self.full.recv_timeout(PATIENCE) {
                    Ok(next) => break next?,
                    Err(RecvTimeoutError::Disconnected) => return Ok(0),
                    Err(RecvTimeoutError::Timeout) if interrupt::requested() => {
                        return Err(io::Error::other("interrupted"));
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            };
            // A full queue of empties only means that one chunk is not reused.
            let _ = self.empty.try_send(std::mem::replace(&mut self.chunk, next));
            self.position = 0;
        }
        let left = &self.chunk[self.position..];
        let length = left.len().min(buffer.len());
        buffer[..length].copy_from_slice(&left[..length]);
        self.position += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_arrives_whole_and_is_copied() {
        let text: Vec<u8> = (0..CHUNK * 3 + 17).map(|i| (i % 251) as u8).collect();
        let (write, mut read) = temporary().expect("a temporary file");
        let bytes = text.clone();
        let mut piped = Piped::new(|| Ok(Box::new(io::Cursor::new(bytes))), Some(write));
        let (mut arrived, mut copied) = (Vec::new(), Vec::new());
        piped.read_to_end(&mut arrived).expect("reads");
        read.read_to_end(&mut copied).expect("reads");
        assert!(arrived == text && copied == text);
    }
}
