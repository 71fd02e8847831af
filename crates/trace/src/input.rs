//! Opens a trace, whatever it is: text or binary, plain, gzip or zstd, file or pipe. The format is
//! recognised by content, never by name. And writes either format.
//!
//! ```text
//! file ──► count bytes ──► [gzip] ──► [zstd] ──► text | binary ──► blocks of Event
//! ```

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use crate::conventions::{DIRECTIVE, HELP, LONGEST, Unknown};
use crate::{Conventions, Error, ErrorKind, Event, Names, Place, binary, std_text};

type Source = Box<dyn Read + Send>;

/// How a trace is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// See [`std_text`].
    Text,
    /// See [`binary`].
    Binary,
}

/// A trace being read, block by block.
pub struct Input {
    reader: Reader,
    /// Of a text trace.
    conventions: Conventions,
    /// Counted below all decompression.
    bytes_read: Arc<AtomicU64>,
}

enum Reader {
    Text(std_text::Reader<Source>),
    Binary(binary::Reader<Source>),
}

impl Input {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Input, Error> {
        let name = path.display().to_string();
        let failed = |problem: String, help: &str| Error {
            file: name.clone(),
            place: Place::Whole,
            kind: ErrorKind::Io,
            problem,
            help: help.to_owned(),
        };
        let file = File::open(path).map_err(|error| {
            let help = match error.kind() {
                io::ErrorKind::NotFound => "check the name",
                io::ErrorKind::PermissionDenied => "check who may read it",
                _ => "check that it can be read",
            };
            failed(format!("cannot open the trace: {error}"), help)
        })?;
        // A directory opens, but cannot be read.
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            let problem = "found a directory, expected a trace".to_owned();
            return Err(failed(problem, "name the files in it"));
        }
        Input::from_reader(&name, Box::new(file))
    }

    /// Reads from a pipe. `name` is what errors call it. Waits for the first bytes, by which the
    /// format is recognised.
    pub fn from_reader(name: &str, bytes: Box<dyn Read + Send>) -> Result<Input, Error> {
        let bytes_read = Arc::new(AtomicU64::new(0));
        let mut source: Source = Box::new(Counted { source: bytes, count: Arc::clone(&bytes_read) });
        let mut layers = Vec::new();
        let failed = |error| {
            let place = Place::Offset(bytes_read.load(Ordering::Relaxed));
            Error::reading(name, place, &error, 0)
        };
        loop {
            let (contents, sniffed) = sniff(source).map_err(failed)?;
            let packing = match contents {
                Contents::Text => {
                    let (first, sniffed) = first_line(sniffed).map_err(failed)?;
                    let conventions = text_conventions(name, &first)?;
                    let reader = Reader::Text(std_text::Reader::new(name, sniffed));
                    return Ok(Input { reader, conventions, bytes_read: Arc::clone(&bytes_read) });
                }
                Contents::Binary => {
                    let reader = Reader::Binary(binary::Reader::new(name, sniffed)?);
                    let conventions = Conventions::default();
                    return Ok(Input { reader, conventions, bytes_read: Arc::clone(&bytes_read) });
                }
                Contents::Packed(packing) => packing,
            };
            if layers.contains(&packing) {
                return Err(Error {
                    file: name.to_owned(),
                    place: Place::Whole,
                    kind: ErrorKind::Syntax,
                    problem: format!("found {0} inside {0}, expected a trace", packing.name()),
                    help: "unpack it first".to_owned(),
                });
            }
            layers.push(packing);
            source = packing.unpack(sniffed).map_err(failed)?;
        }
    }

    /// Replaces `block` by the next events; false when there are no more. Events are raw: see
    /// [`crate::wellformed`].
    ///
    /// What is whole before an error is handed on first. After an error, every call returns it.
    pub fn next_block(&mut self, block: &mut Vec<Event>) -> Result<bool, Error> {
        match &mut self.reader {
            Reader::Text(reader) => reader.next_block(block),
            Reader::Binary(reader) => reader.next_block(block),
        }
    }

    /// What the trace says about itself. If its start is damaged, that is nothing, and the first block tells why.
    pub fn conventions(&mut self) -> Conventions {
        match &mut self.reader {
            Reader::Text(_) => self.conventions,
            Reader::Binary(reader) => reader.conventions(),
        }
    }

    /// The names of an earlier reading of the same trace: they need not be gathered again. To be called before the first block.
    pub fn know(&mut self, names: Names) {
        match &mut self.reader {
            Reader::Text(reader) => reader.know(names),
            Reader::Binary(reader) => reader.know(names),
        }
    }

    /// The names met so far.
    pub fn names(&self) -> &Names {
        match &self.reader {
            Reader::Text(reader) => reader.names(),
            Reader::Binary(reader) => reader.names(),
        }
    }

    /// Gives the names away.
    pub fn into_names(self) -> Names {
        match self.reader {
            Reader::Text(reader) => reader.into_names(),
            Reader::Binary(reader) => reader.into_names(),
        }
    }

    /// Where event `index` of the last block stands. Lines and offsets are those of the trace
    /// itself, unpacked.
    pub fn place(&self, index: usize) -> Place {
        match &self.reader {
            Reader::Text(reader) => reader.place(index),
            Reader::Binary(reader) => reader.place(index),
        }
    }

    /// Bytes consumed from the file or pipe so far (compressed bytes, if it is compressed).
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// How the trace is stored, below any compression.
    pub fn format(&self) -> Format {
        match self.reader {
            Reader::Text(_) => Format::Text,
            Reader::Binary(_) => Format::Binary,
        }
    }
}

/// A trace being written in either format.
pub enum Output<W: Write> {
    /// See [`std_text`].
    Text(std_text::Writer<W>),
    /// See [`binary`].
    Binary(Box<binary::Writer<W>>),
}

impl<W: Write> Output<W> {
    /// Starts a trace in `sink`, which needs no buffer of its own.
    pub fn new(format: Format, conventions: &Conventions, sink: W) -> io::Result<Self> {
        Ok(match format {
            Format::Text => Output::Text(std_text::Writer::with_conventions(sink, conventions)),
            Format::Binary => {
                let writer = binary::Writer::with_block_size(sink, conventions, binary::EVENTS_PER_BLOCK)?;
                Output::Binary(Box::new(writer))
            }
        })
    }

    /// Appends events. `names` only ever grows from call to call. Re-entrant lock operations are
    /// written as plain ones, and [`crate::Op::Skip`] is left out. A name that the format cannot
    /// express is an error of kind [`io::ErrorKind::InvalidData`].
    pub fn write(&mut self, names: &Names, events: &[Event]) -> io::Result<()> {
        match self {
            Output::Text(writer) => writer.write(names, events),
            Output::Binary(writer) => writer.write(names, events),
        }
    }

    /// Writes a line that readers skip, where the format has such lines.
    pub fn comment(&mut self, text: &str) -> io::Result<()> {
        match self {
            Output::Text(writer) => writer.comment(text),
            Output::Binary(_) => Ok(()),
        }
    }

    /// Hands everything on to the sink, and flushes it: for a reader at the other end of a pipe.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Text(writer) => writer.flush(),
            Output::Binary(writer) => writer.flush(),
        }
    }

    /// Writes what is left and gives the sink back.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Output::Text(writer) => writer.finish(),
            Output::Binary(writer) => writer.finish(),
        }
    }
}

/// What the first bytes of an input announce.
enum Contents {
    Packed(Packing),
    Text,
    Binary,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
        }
    }

    fn unpack(self, packed: Source) -> io::Result<Source> {
        let bytes: Source = match self {
            Packing::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, packed))),
            Packing::Zstd => Box::new(zstd::stream::read::Decoder::new(packed)?),
        };
        Ok(Box::new(Unpacked { bytes, packing: self }))
    }
}

/// Reads until there are so many bytes in front of a source, or it ends.
fn peek(source: &mut Source, first: &mut Vec<u8>, wanted: usize) -> io::Result<()> {
    let missing = wanted.saturating_sub(first.len()) as u64;
    source.by_ref().take(missing).read_to_end(first)?;
    Ok(())
}

/// The first line of a text, without the byte order mark and its end, if it is what a trace says about itself. Nothing is
/// consumed.
fn first_line(mut source: Source) -> io::Result<(Vec<u8>, Source)> {
    let (mark, directive) = (std_text::BYTE_ORDER_MARK.as_bytes(), DIRECTIVE.as_bytes());
    let mut first = Vec::new();
    peek(&mut source, &mut first, directive.len())?;
    let start = if first.starts_with(mark) { mark.len() } else { 0 };
    peek(&mut source, &mut first, start + directive.len())?;
    let mut line = Vec::new();
    if first[start..].starts_with(directive) {
        while first.len() < start + LONGEST && !first.ends_with(b"\n") {
            let known = first.len();
            peek(&mut source, &mut first, known + 1)?;
            if first.len() == known {
                break;
            }
        }
        let text = &first[start..];
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        line.extend_from_slice(text.strip_suffix(b"\r").unwrap_or(text));
    }
    Ok((line, Box::new(Cursor::new(first).chain(source))))
}

/// What a text trace says about itself on its first line.
fn text_conventions(name: &str, line: &[u8]) -> Result<Conventions, Error> {
    let text = String::from_utf8_lossy(line);
    let Some(said) = text.strip_prefix(DIRECTIVE) else { return Ok(Conventions::default()) };
    let too_long =
        Unknown { at: 0, problem: format!("found a line of {LONGEST} bytes or more, expected fewer") };
    let parsed = if line.len() < LONGEST { Conventions::parse(said) } else { Err(too_long) };
    parsed.map_err(|unknown| {
        let column = said.get(..unknown.at).unwrap_or(said).chars().count() + DIRECTIVE.len() + 1;
        Error {
            file: name.to_owned(),
            place: Place::Line(1, column as u64),
            kind: ErrorKind::Version,
            problem: unknown.problem,
            help: HELP.to_owned(),
        }
    })
}

/// Looks at the first bytes without consuming them.
fn sniff(mut source: Source) -> io::Result<(Contents, Source)> {
    let mut first = Vec::new();
    peek(&mut source, &mut first, binary::MAGIC.len())?;
    // A binary trace that was cut off inside its first bytes is still one. No text starts so.
    let contents = if !first.is_empty() && binary::MAGIC.starts_with(&first) {
        Contents::Binary
    } else if first.starts_with(&[0x1f, 0x8b]) {
        Contents::Packed(Packing::Gzip)
    } else if first.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Contents::Packed(Packing::Zstd)
    } else {
        Contents::Text
    };
    Ok((contents, Box::new(Cursor::new(first).chain(source))))
}

/// Counts what passes through.
struct Counted {
    source: Source,
    count: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// What a decompressor gives, with errors as [`Error::reading`] wants them.
struct Unpacked {
    bytes: Source,
    packing: Packing,
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer).map_err(|error| {
            let named = error.get_ref().is_some_and(|inner| inner.is::<Named>());
            if error.kind() == io::ErrorKind::Interrupted || error.raw_os_error().is_some() || named {
                return error;
            }
            let packing = self.packing.name();
            match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    io::Error::new(error.kind(), Named(format!("the {packing} data ends too early")))
                }
                // The decompressors have no kind of their own for this.
                _ => io::Error::new(
                    io::ErrorKind::InvalidData,
                    Named(format!("the {packing} data is damaged ({error})")),
                ),
            }
        })
    }
}

/// The words for an error, which an outer layer leaves alone.
#[derive(Debug)]
struct Named(String);

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Named {}
