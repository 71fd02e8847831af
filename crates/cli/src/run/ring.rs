//! The command's end of a ring. See `crates/ring`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Context, ensure};
use atomvet_ring::{ATOMIC, Block, CAPACITY, FILE_BYTES, HEADER_BYTES, Header, Kind, LOW, MAGIC, Slot};
use atomvet_trace::AccessKind;
use memmap2::{MmapOptions, MmapRaw};

/// A record as it was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// The thread's serial number.
    pub(crate) thread: u32,
    /// What it says.
    pub(crate) kind: Kind,
    /// How many bytes are accessed, see [`Record::length`], or are in a part of a label.
    pub(crate) size: u8,
    /// An address, or another operand.
    pub(crate) operand: u64,
    /// How many announced blocks are open around it, and where it happened.
    pub(crate) place: u64,
    /// A block that begins before, or a second operand.
    pub(crate) block: u64,
}

impl Record {
    /// How many announced blocks of the thread are open around it.
    pub(crate) fn depth(&self) -> usize {
        (self.place >> 48) as usize
    }

    /// How many bytes are accessed.
    pub(crate) fn length(&self) -> u64 {
        match self.size & !ATOMIC {
            0 => self.block,
            size => u64::from(size),
        }
    }

    /// Whether an access is atomic.
    pub(crate) fn access_kind(&self) -> AccessKind {
        if self.size & ATOMIC == 0 { AccessKind::Plain } else { AccessKind::Atomic }
    }

    /// Where it happened: a return address, or 0.
    pub(crate) fn address(&self) -> u64 {
        self.place & LOW
    }
}

/// How a block is identified.
pub(crate) fn flavour(block: u64) -> Block {
    // The bits above tell apart what was at one address at different times.
    match block >> 48 & 0xf {
        1 => Block::Function,
        2 => Block::Inside,
        3 => Block::Label,
        _ => Block::None,
    }
}

/// A ring that is being read.
pub(crate) struct Ring {
    map: MmapRaw,
    /// How many slots were looked at.
    next: u64,
    /// The ring's path.
    path: PathBuf,
}

/// How many slots are read before the program is told that they are free.
const BETWEEN_TELLING: u64 = 1024;

impl Ring {
    /// Opens a ring that has appeared.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Ring> {
        let shown = path.display();
        let file = File::options().read(true).write(true).open(path);
        let file = file.with_context(|| format!("{shown}: cannot be opened"))?;
        let map = MmapOptions::new().len(FILE_BYTES).map_raw(&file);
        let map = map.with_context(|| format!("{shown}: cannot be mapped"))?;
        ensure!(map.len() >= FILE_BYTES, "{shown}: is too short");
        let ring = Ring { map, next: 0, path: path.to_owned() };
        ensure!(ring.header().magic == MAGIC, "{shown}: was made by another version of atomvet");
        ring.header().reader.store(std::process::id(), Ordering::Release);
        Ok(ring)
    }

    /// The ring's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its header.
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the file is long enough, its fields are plain numbers, and all that change are atomic.
        unsafe { &*self.map.as_ptr().cast() }
    }

    fn slot(&self, number: u64) -> &Slot {
        // SAFETY: the number is taken modulo how many there are, and the file is long enough for those.
        unsafe { &*self.map.as_ptr().add(HEADER_BYTES).cast::<Slot>().add((number % CAPACITY) as usize) }
    }

    /// Hands the records that are there to `take`, at most so many; true if there were any.
    pub(crate) fn drain(&mut self, most: u64, program: Program, mut take: impl FnMut(Record)) -> bool {
        let first = self.next;
        let end = match program {
            Program::Runs => u64::MAX,
            Program::Ended => self.header().head.0.load(Ordering::Acquire),
        };
        while self.next < end && self.next - first < most {
            let slot = self.slot(self.next);
            let turn = slot.turn.load(Ordering::Acquire);
            if turn >> 32 != self.next / CAPACITY + 1 {
                match program {
                    Program::Runs => break,
                    // Its thread died before it could write it.
                    Program::Ended => {
                        self.next += 1;
                        continue;
                    }
                }
            }
            let what = slot.what.load(Ordering::Relaxed);
            let record = Record {
                thread: turn as u32,
                kind: Kind::ALL.get((what >> 56) as usize).copied().unwrap_or(Kind::Nothing),
                size: (what >> 48) as u8,
                operand: what & LOW,
                place: slot.place.load(Ordering::Relaxed),
                block: slot.block.load(Ordering::Relaxed),
            };
            self.next += 1;
            take(record);
            if self.next.is_multiple_of(BETWEEN_TELLING) {
                self.header().tail.0.store(self.next, Ordering::Release);
            }
        }
        self.header().tail.0.store(self.next, Ordering::Release);
        self.next != first
    }

    /// How many slots were looked at.
    pub(crate) fn position(&self) -> u64 {
        self.next
    }

    /// The program goes on without us.
    pub(crate) fn close(&self) {
        self.header().closed.store(1, Ordering::Release);
    }

    /// Accesses that the program has made, as far as known.
    pub(crate) fn seen(&self) -> u64 {
        self.header().seen.iter().map(|seen| seen.load(Ordering::Relaxed)).sum()
    }
}

/// Whether more records may come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Program {
    /// They may.
    Runs,
    /// What is not there by now never will be.
    Ended,
}
