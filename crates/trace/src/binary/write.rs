//! Writes the binary format.

use std::io::{self, Write};

use xxhash_rust::xxh3::xxh3_64;
use zstd::bulk::Compressor;

use super::{BLOCK_HEADER, BlockHeader, EVENTS, EVENTS_PER_BLOCK, LONGEST_NAME, Limits, opening, seal};
use crate::names::{Id, Table};
use crate::{Conventions, Event, Names, opcode};

/// Names are put into a block of their own beyond this many bytes for each event that a block may have, so that blocks stay small.
const NAMES_PER_EVENT: usize = 4;

/// Writes a trace. Call [`Writer::finish`]: a trace without its end marker counts as cut off.
pub struct Writer<W> {
    sink: W,
    /// How many events make up a block.
    block_size: usize,
    compressor: Compressor<'static>,
    /// How many more bytes may be put into blocks as they are.
    stored: u64,
    /// How many events wait for their block to be full, and the columns of a full one. Those are as long all the time, so that
    /// they are not filled with zeros for each block.
    waiting: usize,
    codes: Vec<u8>,
    threads: Vec<u32>,
    targets: Vec<u32>,
    sites: Vec<u32>,
    /// Per kind of name, those that wait.
    names: [NewNames; 6],
    /// Blocks written.
    blocks: u32,
    /// Events written.
    events: u64,
    /// Kept for their memory.
    unpacked: Vec<u8>,
    packed: Vec<u8>,
}

#[derive(Default)]
struct NewNames {
    /// How many names of this kind were taken over so far, waiting or written.
    known: usize,
    /// How many of them wait, and their bytes, each with its length in front.
    waiting: u32,
    bytes: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Starts a trace that says nothing about itself.
    pub fn new(sink: W) -> io::Result<Self> {
        Writer::with_block_size(sink, &Conventions::default(), EVENTS_PER_BLOCK)
    }

    /// Starts a trace with so many events in a block. Small blocks take less memory to write and to read, and more room.
    pub fn with_block_size(mut sink: W, conventions: &Conventions, events: usize) -> io::Result<Self> {
        sink.write_all(&opening(conventions))?;
        let block_size = events.clamp(1, EVENTS_PER_BLOCK);
        Ok(Writer {
            sink,
            block_size,
            compressor: Compressor::new(1)?,
            stored: 0,
            waiting: 0,
            codes: vec![0; block_size],
            threads: vec![0; block_size],
            targets: vec![0; block_size],
            sites: vec![0; block_size],
            names: Default::default(),
            blocks: 0,
            events: 0,
            unpacked: Vec::new(),
            packed: Vec::new(),
        })
    }

    /// The first so many bytes are not compressed: for a trace that is soon read again and then gone. That is a tenth to a fifth of
    /// the work of `atomvet run`, and takes three to ten times as much room.
    pub fn store_first(self, bytes: u64) -> Self {
        Writer { stored: bytes, ..self }
    }

    /// Appends events, and all names that are new. `names` only ever grows from call to call.
    /// An event whose id has no name, and a name that is empty or longer than
    /// [`LONGEST_NAME`], is an error of kind [`io::ErrorKind::InvalidData`].
    pub fn write(&mut self, names: &Names, events: &[Event]) -> io::Result<()> {
        self.add_names(0, &names.threads)?;
        self.add_names(1, &names.variables)?;
        self.add_names(2, &names.locks)?;
        self.add_names(3, &names.barriers)?;
        self.add_names(4, &names.regions)?;
        self.add_names(5, &names.sites)?;
        let limits = Limits::new(names);
        let mut rest = events;
        while !rest.is_empty() {
            let room = self.block_size - self.waiting;
            let fitting;
            (fitting, rest) = rest.split_at(room.min(rest.len()));
            self.add_events(&limits, fitting)?;
            if self.waiting == self.block_size {
                self.flush_block()?;
            }
        }
        Ok(())
    }

    /// Appends events, for which there is room, to the columns.
    fn add_events(&mut self, limits: &Limits, events: &[Event]) -> io::Result<()> {
        let encode = |event: &Event| {
            let (code, target) = opcode::encode(event.op)?;
            // No site is the largest id there is; it becomes 0.
            Some((code, event.thread.0, target, event.site.0.wrapping_add(1)))
        };
        let allowed =
            |(code, thread, target, site): (u8, u32, u32, u32)| limits.allow(code, thread, target, site);
        let start = self.waiting;
        let columns = (self.codes[start..].iter_mut().zip(&mut self.threads[start..]))
            .zip(self.targets[start..].iter_mut().zip(&mut self.sites[start..]));
        let (mut written, mut all_right) = (0, true);
        for (row, event) in columns.zip(events.iter().filter_map(encode)) {
            let ((code, thread), (target, site)) = row;
            (*code, *thread, *target, *site) = event;
            // Looked at in the end: no jump for each event.
            all_right &= allowed(event);
            written += 1;
        }
        let is_wrong = |event: &&Event| encode(event).is_some_and(|event| !allowed(event));
        if !all_right && let Some(event) = events.iter().find(is_wrong) {
            return Err(invalid(format!("{event:?} has an id without a name")));
        }
        self.waiting += written;
        Ok(())
    }

    /// Writes what waits, as a block of its own, and flushes the sink: for a reader at the other
    /// end of a pipe.
    pub fn flush(&mut self) -> io::Result<()> {
        self.flush_block()?;
        self.sink.flush()
    }

    /// Writes what waits and the end marker, and gives the sink back.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush_block()?;
        self.sink.write_all(&seal::end(self.blocks, self.events))?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    fn add_names<I: Id>(&mut self, kind: usize, table: &Table<I>) -> io::Result<()> {
        while self.names[kind].known < table.len() {
            let new = &mut self.names[kind];
            let name = table.get(I::from_index(new.known as u32));
            if name.is_empty() || name.len() > LONGEST_NAME {
                return Err(invalid(format!("a name of {} bytes cannot be written", name.len())));
            }
            put_number(&mut new.bytes, name.len() as u32);
            new.bytes.extend_from_slice(name.as_bytes());
            new.known += 1;
            new.waiting += 1;
            if self.names.iter().map(|names| names.bytes.len()).sum::<usize>()
                >= self.block_size * NAMES_PER_EVENT
            {
                self.flush_block()?;
            }
        }
        Ok(())
    }

    fn flush_block(&mut self) -> io::Result<()> {
        let names = self.names.iter().map(|names| names.waiting).sum();
        let events = self.waiting;
        if events == 0 && names == 0 {
            return Ok(());
        }
        let unpacked = &mut self.unpacked;
        unpacked.clear();
        unpacked.resize(BEFORE, 0);
        for names in &mut self.names {
            put_number(unpacked, names.waiting);
            unpacked.append(&mut names.bytes);
            names.waiting = 0;
        }
        unpacked.extend_from_slice(&self.codes[..events]);
        for column in [&self.threads, &self.targets, &self.sites] {
            put_column(unpacked, &column[..events]);
        }
        let length = unpacked.len() - BEFORE;
        let is_stored = length as u64 <= self.stored;
        let packed = if is_stored {
            self.stored -= length as u64;
            store(unpacked);
            &unpacked[BLOCK_HEADER..]
        } else {
            self.packed.clear();
            self.packed.reserve(zstd::zstd_safe::compress_bound(length));
            self.compressor.compress_to_buffer(&unpacked[BEFORE..], &mut self.packed)?;
            &self.packed[..]
        };
        let header = BlockHeader {
            tag: EVENTS,
            number: self.blocks,
            events: events as u32,
            names,
            packed: packed.len() as u32,
            unpacked: length as u32,
            first: self.events,
            checksum: xxh3_64(packed),
        };
        if is_stored {
            // All of it at once: to write costs more by the call than by the byte.
            unpacked[..BLOCK_HEADER].copy_from_slice(&header.to_bytes());
            self.sink.write_all(unpacked)?;
        } else {
            self.sink.write_all(&header.to_bytes())?;
            self.sink.write_all(packed)?;
        }
        self.blocks = self.blocks.checked_add(1).ok_or_else(|| invalid("too many blocks".to_owned()))?;
        self.events += events as u64;
        self.waiting = 0;
        Ok(())
    }
}

/// How many bytes stand before those of a block that is stored: its header, and the head of a zstd frame with that of its first block.
const BEFORE: usize = BLOCK_HEADER + FRAME_HEAD + 3;
const FRAME_HEAD: usize = 9;

/// Makes bytes, of which there is at least one behind [`BEFORE`] others, a zstd frame (RFC 8878, 3.1.1) that has them as they are:
/// magic, a descriptor that says that the length follows in four bytes, the length, and raw blocks.
fn store(bytes: &mut Vec<u8>) {
    const LARGEST_BLOCK: usize = 1 << 17;
    let length = bytes.len() - BEFORE;
    let head = |start: usize| {
        let size = LARGEST_BLOCK.min(length - start);
        let is_last = u32::from(start + size == length);
        let [low, middle, high, _] = ((size as u32) << 3 | is_last).to_le_bytes();
        [low, middle, high]
    };
    // The last first, so that the others stay where they are. There is one only if blocks are small.
    for start in (0..length).step_by(LARGEST_BLOCK).skip(1).rev() {
        bytes.splice(BEFORE + start..BEFORE + start, head(start));
    }
    let (frame, first) = bytes[BLOCK_HEADER..BEFORE].split_at_mut(FRAME_HEAD);
    frame[..5].copy_from_slice(&[0x28, 0xb5, 0x2f, 0xfd, 0b1010_0000]);
    frame[5..].copy_from_slice(&(length as u32).to_le_bytes());
    first.copy_from_slice(&head(0));
}

/// Seven bits per byte, the lowest first; the high bit says that more follow.
fn put_number(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// As many planes of bytes as the largest value needs, the lowest bytes first. High planes are
/// nearly constant and cost nearly nothing once compressed.
fn put_column(out: &mut Vec<u8>, values: &[u32]) {
    let all = values.iter().fold(0, |all, value| all | value);
    let planes = (u32::BITS - all.leading_zeros()).div_ceil(8);
    out.push(planes as u8);
    for plane in 0..planes {
        out.extend(values.iter().map(|value| (value >> (8 * plane)) as u8));
    }
}

fn invalid(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}
