//! Reads the binary format, and believes nothing it reads.

use std::io::{self, Read};

use xxhash_rust::xxh3::xxh3_64;
use zstd::bulk::Decompressor;

use super::{
    BLOCK_HEADER, BlockHeader, CONVENTIONS, END, EVENTS, EVENTS_PER_BLOCK, FILE_HEADER, LARGEST_PAYLOAD,
    LONGEST_NAME, Limits, MAGIC, VERSION, short_checksum,
};
use crate::conventions::{HELP, LONGEST};
use crate::names::{Id, Table};
use crate::{Conventions, Error, ErrorKind, Event, Names, Place, SiteId, ThreadId, opcode};

/// Events are put together in pieces of this size, whose columns stay in the first-level cache.
const PIECE: usize = 1024;

/// Reads a trace, block by block.
pub struct Reader<R> {
    source: R,
    /// What errors call the input.
    file: String,
    /// Bytes taken from the source.
    offset: u64,
    state: State,
    decompressor: Decompressor<'static>,
    /// Known once the file header is read.
    conventions: Conventions,
    names: Names,
    /// How many names of each kind the blocks so far have had: fewer than `names` where those are known from before.
    met: [usize; 6],
    /// Blocks read so far, including those without events.
    blocks: u32,
    /// Events read so far.
    events: u64,
    /// Where the last block that had events started, and the number of its first event.
    block_offset: u64,
    block_first: u64,
    /// Kept for their memory.
    packed: Vec<u8>,
    unpacked: Vec<u8>,
}

#[derive(Clone)]
enum State {
    /// The file header comes next.
    Start,
    /// A block or the end marker comes next.
    Blocks,
    /// The end marker was read, and nothing is behind it.
    Done,
    /// What every further call returns.
    Failed(Error),
}

impl<R: Read> Reader<R> {
    /// Reads from `source`, which errors call `file`.
    pub fn new(file: &str, source: R) -> Result<Self, Error> {
        let decompressor =
            Decompressor::new().map_err(|error| Error::reading(file, Place::Whole, &error, 0))?;
        Ok(Reader {
            source,
            file: file.to_owned(),
            offset: 0,
            state: State::Start,
            decompressor,
            conventions: Conventions::default(),
            names: Names::default(),
            met: [0; 6],
            blocks: 0,
            events: 0,
            block_offset: 0,
            block_first: 0,
            packed: Vec::new(),
            unpacked: Vec::new(),
        })
    }

    /// Replaces `block` by the next events; false when there are no more. After an error, every
    /// call returns that error.
    pub fn next_block(&mut self, block: &mut Vec<Event>) -> Result<bool, Error> {
        block.clear();
        let result = self.try_next_block(block);
        if let Err(error) = &result {
            block.clear();
            self.state = State::Failed(error.clone());
        }
        result
    }

    /// The names of an earlier reading of the same trace: they need not be gathered again. To be called before the first block.
    pub fn know(&mut self, names: Names) {
        self.names = names;
    }

    /// What the trace says about itself. What is wrong with its start, the first block will tell.
    pub fn conventions(&mut self) -> Conventions {
        if let State::Start = self.state
            && let Err(error) = self.start()
        {
            self.state = State::Failed(error);
        }
        self.conventions
    }

    /// The names met so far.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Gives the names away.
    pub fn into_names(self) -> Names {
        self.names
    }

    /// Where event `index` of the last block stands.
    pub fn place(&self, index: usize) -> Place {
        Place::Event(self.block_first + index as u64, self.block_offset)
    }

    fn try_next_block(&mut self, block: &mut Vec<Event>) -> Result<bool, Error> {
        loop {
            match &self.state {
                State::Start => self.start()?,
                State::Blocks => {
                    if !self.block(block)? {
                        self.state = State::Done;
                    } else if !block.is_empty() {
                        return Ok(true);
                    }
                }
                State::Done => return Ok(false),
                State::Failed(error) => return Err(error.clone()),
            }
        }
    }

    /// Reads all that stands before the first block.
    fn start(&mut self) -> Result<(), Error> {
        if self.file_header()? >= 2 {
            self.conventions = self.read_conventions()?;
        }
        self.state = State::Blocks;
        Ok(())
    }

    fn read_conventions(&mut self) -> Result<Conventions, Error> {
        const FRONT: usize = 8;
        const WHAT: &str = "the conventions";
        let start = self.offset;
        let mut section = vec![0; FRONT];
        let read = self.read(&mut section)?;
        if read < FRONT {
            return Err(self.truncated(read, FRONT, WHAT));
        }
        let (words, _) = section.as_chunks::<4>();
        let (tag, length) = (words[0], u32::from_le_bytes(words[1]));
        if tag != CONVENTIONS {
            let problem = format!("found `{}`, expected `INFO`", tag.escape_ascii());
            return Err(self.syntax(start, problem, "record the trace again"));
        }
        self.claim(start + 4, length, LONGEST, "bytes of conventions")?;
        let end = FRONT + length as usize;
        let mut rest = vec![0; length as usize + 8];
        let read = self.read(&mut rest)?;
        if read < rest.len() {
            return Err(self.truncated(read, rest.len(), WHAT));
        }
        section.extend_from_slice(&rest);
        let (section, checksum) = section.split_at(end);
        if xxh3_64(section).to_le_bytes() != *checksum {
            return Err(self.damaged(start, WHAT));
        }
        let Ok(text) = std::str::from_utf8(&section[FRONT..]) else {
            let problem = "found conventions that are not UTF-8, expected text".to_owned();
            return Err(self.syntax(start + FRONT as u64, problem, "record the trace again"));
        };
        Conventions::parse(text).map_err(|unknown| Error {
            kind: ErrorKind::Version,
            ..self.syntax(start + (FRONT + unknown.at) as u64, unknown.problem, HELP)
        })
    }

    /// Reads the file header; returns the version.
    fn file_header(&mut self) -> Result<u32, Error> {
        let mut header = [0; FILE_HEADER];
        let read = self.read(&mut header)?;
        // What is there of a header says more than that some of it is missing.
        let magic = read.min(MAGIC.len());
        if header[..magic] != MAGIC[..magic] {
            let problem = format!("found the bytes {:02x?}, expected {MAGIC:02x?}", &header[..magic]);
            return Err(self.syntax(0, problem, "check that this is a trace that atomvet wrote"));
        }
        if read < FILE_HEADER {
            return Err(self.truncated(read, FILE_HEADER, "the file header"));
        }
        let (words, _) = header.as_chunks::<4>();
        let version = u32::from_le_bytes(words[2]);
        if version > VERSION {
            return Err(Error {
                file: self.file.clone(),
                place: Place::Offset(8),
                kind: ErrorKind::Version,
                problem: format!("found version {version} of the format, expected at most {VERSION}"),
                help: "upgrade atomvet, or convert the trace to text with the one that wrote it".to_owned(),
            });
        }
        if words[3] != short_checksum(&header[..12]) || version == 0 {
            return Err(self.damaged(0, "the file header"));
        }
        Ok(version)
    }

    /// Reads one block; false if it is the end marker.
    fn block(&mut self, block: &mut Vec<Event>) -> Result<bool, Error> {
        let start = self.offset;
        let mut bytes = [0; BLOCK_HEADER];
        let read = self.read(&mut bytes)?;
        if read < BLOCK_HEADER {
            return Err(self.truncated(read, BLOCK_HEADER, "the next block or the end marker"));
        }
        let Some(header) = BlockHeader::from_bytes(&bytes) else {
            return Err(self.damaged(start, &format!("the header of block {}", self.blocks)));
        };
        if header.tag != EVENTS && header.tag != END {
            let problem = format!("found a block `{}`, expected `EVTS` or `END.`", header.tag.escape_ascii());
            return Err(self.syntax(start, problem, "record the trace again"));
        }
        if header.number != self.blocks {
            let problem = format!("found block {}, expected block {}", header.number, self.blocks);
            return Err(self.syntax(
                start + 4,
                problem,
                "part of the trace is missing: copy or record it again",
            ));
        }
        if header.first != self.events {
            let problem = format!("found event number {}, expected {}", header.first, self.events);
            return Err(self.syntax(
                start + 24,
                problem,
                "part of the trace is missing: copy or record it again",
            ));
        }
        if header.tag == END {
            self.end(start, header)?;
            return Ok(false);
        }
        self.claim(start + 8, header.events, EVENTS_PER_BLOCK, "events in a block")?;
        self.claim(
            start + 16,
            header.packed,
            zstd::zstd_safe::compress_bound(LARGEST_PAYLOAD),
            "packed bytes",
        )?;
        self.claim(start + 20, header.unpacked, LARGEST_PAYLOAD, "unpacked bytes")?;

        self.payload(start, header)?;
        let unpacked = std::mem::take(&mut self.unpacked);
        let mut rest = &unpacked[..];
        let what =
            self.new_names(&mut rest, header).and_then(|()| self.columns(&mut rest, header, start, block));
        self.unpacked = unpacked;
        what.map_err(|wrong| self.wrong(start, wrong))?;
        if header.events > 0 {
            self.block_offset = start;
            self.block_first = self.events;
        }
        self.blocks += 1;
        self.events += u64::from(header.events);
        Ok(true)
    }

    /// Checks the end marker, and that nothing follows it.
    fn end(&mut self, start: u64, header: BlockHeader) -> Result<(), Error> {
        let BlockHeader { events, names, packed, unpacked, checksum, .. } = header;
        if [events, names, packed, unpacked] != [0; 4] || checksum != xxh3_64(&[]) {
            let problem = "found an end marker with contents, expected an empty one".to_owned();
            return Err(self.syntax(start, problem, "record the trace again"));
        }
        let end = self.offset;
        if self.read(&mut [0])? != 0 {
            let problem = "found more bytes behind the end marker, expected nothing".to_owned();
            return Err(self.syntax(end, problem, "cut the file off here; traces cannot be concatenated"));
        }
        Ok(())
    }

    /// Reads and unpacks what follows a block's header.
    fn payload(&mut self, start: u64, header: BlockHeader) -> Result<(), Error> {
        self.packed.clear();
        let length = u64::from(header.packed);
        let result = self.source.by_ref().take(length).read_to_end(&mut self.packed);
        self.offset += self.packed.len() as u64;
        result.map_err(|error| self.reading(&error))?;
        let (read, length) = (self.packed.len(), header.packed as usize);
        if read < length {
            return Err(self.truncated(read, length, &format!("block {}", self.blocks)));
        }
        if xxh3_64(&self.packed) != header.checksum {
            return Err(self.damaged(start + BLOCK_HEADER as u64, &format!("block {}", self.blocks)));
        }
        // Unpacking stops at the length that the header claims, which is bounded.
        self.unpacked.clear();
        self.unpacked.reserve(header.unpacked as usize);
        let unpacked = self.decompressor.decompress_to_buffer(&self.packed, &mut self.unpacked);
        if unpacked.ok() != Some(header.unpacked as usize) {
            let problem = format!("found a block that does not unpack to {} bytes", header.unpacked);
            return Err(self.syntax(start + BLOCK_HEADER as u64, problem, "record the trace again"));
        }
        Ok(())
    }

    fn new_names(&mut self, rest: &mut &[u8], header: BlockHeader) -> Result<(), Wrong> {
        let names = &mut self.names;
        let [threads, variables, locks, barriers, regions, sites] = &mut self.met;
        let counts = [
            new_names_of(rest, threads, &mut names.threads)?,
            new_names_of(rest, variables, &mut names.variables)?,
            new_names_of(rest, locks, &mut names.locks)?,
            new_names_of(rest, barriers, &mut names.barriers)?,
            new_names_of(rest, regions, &mut names.regions)?,
            new_names_of(rest, sites, &mut names.sites)?,
        ];
        let found = counts.iter().map(|&count| u64::from(count)).sum::<u64>();
        if found != u64::from(header.names) {
            return Err(Wrong::Contents(format!("found {found} new names, expected {}", header.names)));
        }
        Ok(())
    }

    fn columns(
        &mut self,
        rest: &mut &[u8],
        header: BlockHeader,
        start: u64,
        block: &mut Vec<Event>,
    ) -> Result<(), Wrong> {
        let count = header.events as usize;
        let codes = take(rest, count)?;
        let threads = Column::new(rest, count)?;
        let targets = Column::new(rest, count)?;
        let sites = Column::new(rest, count)?;
        if !rest.is_empty() {
            return Err(Wrong::Contents(format!(
                "found {} bytes behind the last column, expected none",
                rest.len()
            )));
        }
        let limits = Limits::new(&self.names);
        block.reserve(count);
        let mut piece = [[0; PIECE]; 3];
        for (i, codes) in codes.chunks(PIECE).enumerate() {
            let [thread_ids, target_ids, site_ids] = &mut piece;
            threads.unpack(i * PIECE, &mut thread_ids[..codes.len()]);
            targets.unpack(i * PIECE, &mut target_ids[..codes.len()]);
            sites.unpack(i * PIECE, &mut site_ids[..codes.len()]);
            let rows = codes.iter().zip(&*thread_ids).zip(&*target_ids).zip(&*site_ids);
            let mut all_right = true;
            block.extend(rows.clone().map(|(((&code, &thread), &target), &site)| {
                all_right &= limits.allow(code, thread, target, site);
                let op = opcode::decode(code, target);
                // Site 0 becomes the largest id, which stands for none.
                Event { thread: ThreadId(thread), op, site: SiteId(site.wrapping_sub(1)) }
            }));
            if !all_right {
                let mut rows = rows.enumerate();
                let wrong = rows.find(|(_, (((code, thread), target), site))| {
                    !limits.allow(**code, **thread, **target, **site)
                });
                let Some((index, (((&code, &thread), &target), &site))) = wrong else { continue };
                let event = self.events + (i * PIECE + index) as u64;
                let problem = limits.complain(code, thread, target, site);
                return Err(Wrong::Event(Place::Event(event, start), problem));
            }
        }
        Ok(())
    }

    /// Fills the buffer as far as the source goes.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.source.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.reading(&error)),
            }
        }
        self.offset += filled as u64;
        Ok(filled)
    }

    /// Refuses a header that claims more than a block may have.
    fn claim(&self, offset: u64, claimed: u32, most: usize, what: &str) -> Result<(), Error> {
        if claimed as usize <= most {
            return Ok(());
        }
        let problem = format!("found {claimed} {what}, expected at most {most}");
        Err(self.syntax(offset, problem, "record the trace again"))
    }

    fn reading(&self, error: &io::Error) -> Error {
        Error::reading(&self.file, Place::Offset(self.offset), error, self.events)
    }

    fn truncated(&self, found: usize, expected: usize, what: &str) -> Error {
        let events = self.events;
        Error {
            file: self.file.clone(),
            place: Place::Offset(self.offset),
            kind: ErrorKind::Truncated,
            problem: format!(
                "the trace ends too early, after {events} whole events: found {found} of the {expected} bytes of {what}"
            ),
            help: "it was cut off: copy or record it again".to_owned(),
        }
    }

    fn damaged(&self, offset: u64, what: &str) -> Error {
        let problem = format!("found {what} with a wrong checksum, after {} whole events", self.events);
        self.syntax(offset, problem, "the trace is damaged: copy or record it again")
    }

    fn wrong(&self, start: u64, wrong: Wrong) -> Error {
        let help = "whatever wrote this trace has a bug: record it with another version";
        match wrong {
            Wrong::Contents(problem) => self.syntax(start, format!("block {}: {problem}", self.blocks), help),
            Wrong::Event(place, problem) => Error { place, ..self.syntax(start, problem, help) },
        }
    }

    fn syntax(&self, offset: u64, problem: String, help: &str) -> Error {
        Error {
            file: self.file.clone(),
            place: Place::Offset(offset),
            kind: ErrorKind::Syntax,
            problem,
            help: help.to_owned(),
        }
    }
}

/// What is wrong inside a block whose checksums are right.
enum Wrong {
    /// With the block.
    Contents(String),
    /// With one event.
    Event(Place, String),
}

/// A column of up to four planes of bytes, the lowest bytes first.
struct Column<'a> {
    planes: [&'a [u8]; 4],
    count: usize,
}

impl<'a> Column<'a> {
    fn new(rest: &mut &'a [u8], events: usize) -> Result<Self, Wrong> {
        let count = usize::from(take(rest, 1)?[0]);
        if count > 4 {
            return Err(Wrong::Contents(format!(
                "found a column of {count} bytes per event, expected at most 4"
            )));
        }
        let mut planes: [&[u8]; 4] = [&[]; 4];
        for plane in &mut planes[..count] {
            *plane = take(rest, events)?;
        }
        Ok(Column { planes, count })
    }

    /// The values from `start` on.
    fn unpack(&self, start: usize, values: &mut [u32]) {
        let end = start + values.len();
        let [a, b, c, d] = self.planes.map(|plane| plane.get(start..end).unwrap_or_default());
        match self.count {
            0 => values.fill(0),
            1 => {
                for (value, &a) in values.iter_mut().zip(a) {
                    *value = u32::from(a);
                }
            }
            2 => {
                for ((value, &a), &b) in values.iter_mut().zip(a).zip(b) {
                    *value = u32::from_le_bytes([a, b, 0, 0]);
                }
            }
            3 => {
                for (((value, &a), &b), &c) in values.iter_mut().zip(a).zip(b).zip(c) {
                    *value = u32::from_le_bytes([a, b, c, 0]);
                }
            }
            _ => {
                for ((((value, &a), &b), &c), &d) in values.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                    *value = u32::from_le_bytes([a, b, c, d]);
                }
            }
        }
    }
}

/// The names of one kind that a block adds to those met before; how many there are.
fn new_names_of<I: Id>(rest: &mut &[u8], met: &mut usize, table: &mut Table<I>) -> Result<u32, Wrong> {
    let count = number(rest)?;
    for _ in 0..count {
        let length = number(rest)? as usize;
        if length == 0 || length > LONGEST_NAME {
            return Err(Wrong::Contents(format!(
                "found a name of {length} bytes, expected 1 to {LONGEST_NAME}"
            )));
        }
        let name = take(rest, length)?;
        *met += 1;
        if *met <= table.len() {
            // It is known from before.
            continue;
        }
        let Ok(name) = std::str::from_utf8(name) else {
            return Err(Wrong::Contents("found a name that is not UTF-8, expected text".to_owned()));
        };
        let known = table.len();
        table.intern(name);
        if table.len() == known {
            return Err(Wrong::Contents(format!("found the name `{name}` twice, expected it once")));
        }
    }
    Ok(count)
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], Wrong> {
    let too_short = || Wrong::Contents(format!("found {} bytes left, expected {count} or more", rest.len()));
    let (taken, left) = rest.split_at_checked(count).ok_or_else(too_short)?;
    *rest = left;
    Ok(taken)
}

/// The inverse of `put_number` in `write.rs`.
fn number(rest: &mut &[u8]) -> Result<u32, Wrong> {
    let mut number = 0_u64;
    for shift in (0..35).step_by(7) {
        let byte = take(rest, 1)?[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            let too_large =
                |_| Wrong::Contents(format!("found the number {number}, expected at most {}", u32::MAX));
            return u32::try_from(number).map_err(too_large);
        }
    }
    Err(Wrong::Contents("found a number of more than 5 bytes, expected fewer".to_owned()))
}
