//! Traces as bytes: a versioned format of our own, small, fast, and readable from a pipe.
//!
//! ```text
//! file header │ [conventions] │ block │ block │ … │ end marker
//!               └ header (48 bytes) │ zstd( new names │ operations │ threads │ targets │ sites )
//! ```
//!
//! Blocks hold up to [`EVENTS_PER_BLOCK`] events as columns, and the names that they are the
//! first to use, so ids are those of the writer. Every byte is covered by a checksum, and an end
//! marker tells a whole trace from one that was cut off. The layout is written down, with a
//! worked example, in `docs/trace-formats.md`.
//!
//! Cost per event: about 3 bytes stored and 10 ns to read; that page says how this was measured.
//! Reading allocates no more than [`LARGEST_PAYLOAD`] for a block, whatever its header claims.

mod read;
#[cfg(test)]
mod tests;
mod write;

use xxhash_rust::xxh3::xxh3_64;

pub use read::Reader;
pub use write::Writer;

use crate::names::{Id, Table};
use crate::opcode::{OPERATIONS, Target};
use crate::{Conventions, Names};

/// The first bytes of every file. The first is no text, and the line ends after the letters
/// are spoilt by whatever translates line ends.
pub const MAGIC: [u8; 8] = *b"\x93ATV\r\n\x1a\n";

/// The newest version that is read. It is written for traces that say something about themselves; others get version 1,
/// which differs in nothing else.
pub const VERSION: u32 = 2;

/// The most events that a block holds.
pub const EVENTS_PER_BLOCK: usize = 1 << 16;

/// The most bytes that a block unpacks to.
pub const LARGEST_PAYLOAD: usize = 8 << 20;

/// The longest name, in bytes.
pub const LONGEST_NAME: usize = 1 << 20;

const FILE_HEADER: usize = 16;
const BLOCK_HEADER: usize = 48;
const CONVENTIONS: [u8; 4] = *b"INFO";
const EVENTS: [u8; 4] = *b"EVTS";
const END: [u8; 4] = *b"END.";

/// The file header.
fn file_header(version: u32) -> [u8; FILE_HEADER] {
    let mut bytes = [0; FILE_HEADER];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&version.to_le_bytes());
    let check = short_checksum(&bytes[..12]);
    bytes[12..].copy_from_slice(&check);
    bytes
}

/// All that stands before the first block.
fn opening(conventions: &Conventions) -> Vec<u8> {
    if conventions.is_empty() {
        return file_header(1).to_vec();
    }
    let text = conventions.to_string();
    let length = u32::try_from(text.len()).unwrap_or_default();
    let section = [&CONVENTIONS[..], &length.to_le_bytes(), text.as_bytes()].concat();
    [&file_header(2)[..], &section, &xxh3_64(&section).to_le_bytes()].concat()
}

fn short_checksum(bytes: &[u8]) -> [u8; 4] {
    let [a, b, c, d, ..] = xxh3_64(bytes).to_le_bytes();
    [a, b, c, d]
}

/// What stands in front of a block, or at the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct BlockHeader {
    /// [`EVENTS`] or [`END`].
    tag: [u8; 4],
    /// Counts blocks from 0.
    number: u32,
    events: u32,
    /// How many names the block adds.
    names: u32,
    /// The length of what follows.
    packed: u32,
    /// The length of what that unpacks to.
    unpacked: u32,
    /// The number of the first event, from 0; at the end, the number of all events.
    first: u64,
    /// Of the packed bytes.
    checksum: u64,
}

impl BlockHeader {
    fn to_bytes(self) -> [u8; BLOCK_HEADER] {
        let mut bytes = [0; BLOCK_HEADER];
        bytes[..4].copy_from_slice(&self.tag);
        let words = [self.number, self.events, self.names, self.packed, self.unpacked];
        for (place, word) in bytes[4..24].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[24..32].copy_from_slice(&self.first.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.checksum.to_le_bytes());
        let check = xxh3_64(&bytes[..40]);
        bytes[40..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Nothing if the header's own checksum is wrong.
    fn from_bytes(bytes: &[u8; BLOCK_HEADER]) -> Option<BlockHeader> {
        let (words, _) = bytes.as_chunks::<4>();
        let (long_words, _) = bytes.as_chunks::<8>();
        let word = |i: usize| u32::from_le_bytes(words[i]);
        let long_word = |i: usize| u64::from_le_bytes(long_words[i]);
        (long_word(5) == xxh3_64(&bytes[..40])).then(|| BlockHeader {
            tag: words[0],
            number: word(1),
            events: word(2),
            names: word(3),
            packed: word(4),
            unpacked: word(5),
            first: long_word(3),
            checksum: long_word(4),
        })
    }
}

/// Files put together by hand, with checksums that are right whatever the contents: for fuzzing,
/// which would not get past the checksums otherwise.
#[doc(hidden)]
pub mod seal {
    use super::{BlockHeader, END, EVENTS, xxh3_64};

    /// What every file of version 1 starts with.
    pub fn file_header() -> [u8; super::FILE_HEADER] {
        super::file_header(1)
    }

    /// A block with this header and this payload, which need not fit.
    pub fn block(number: u32, events: u32, names: u32, first: u64, payload: &[u8]) -> Vec<u8> {
        let packed = zstd::bulk::compress(payload, 1).unwrap_or_default();
        let (length, unpacked) = (packed.len() as u32, payload.len() as u32);
        let checksum = xxh3_64(&packed);
        let header =
            BlockHeader { tag: EVENTS, number, events, names, packed: length, unpacked, first, checksum };
        [&header.to_bytes()[..], &packed].concat()
    }

    /// The end marker of a trace with this many blocks and events.
    pub fn end(number: u32, first: u64) -> [u8; super::BLOCK_HEADER] {
        let checksum = xxh3_64(&[]);
        let nothing =
            BlockHeader { tag: END, number, events: 0, names: 0, packed: 0, unpacked: 0, first, checksum };
        nothing.to_bytes()
    }
}

/// How large thread, target and site may be; what a writer keeps to and a reader insists on.
struct Limits {
    threads: u32,
    /// One more than the largest site, because 0 stands for none.
    sites: u32,
    /// By operation code. 0 for codes that do not exist, so that no target is right for them.
    targets: [u32; 256],
}

impl Limits {
    fn new(names: &Names) -> Self {
        let mut targets = [0; 256];
        for (limit, operation) in targets.iter_mut().zip(OPERATIONS) {
            *limit = match operation.target {
                Target::Nothing => 1,
                Target::Variable => count(&names.variables),
                Target::Lock => count(&names.locks),
                Target::Thread => count(&names.threads),
                Target::Barrier => count(&names.barriers),
                Target::Region => count(&names.regions),
            };
        }
        Limits { threads: count(&names.threads), sites: count(&names.sites) + 1, targets }
    }

    #[inline(always)]
    fn allow(&self, code: u8, thread: u32, target: u32, site: u32) -> bool {
        (thread < self.threads) & (site < self.sites) & (target < self.targets[usize::from(code)])
    }

    /// What is wrong with an event that is not allowed.
    #[cold]
    fn complain(&self, code: u8, thread: u32, target: u32, site: u32) -> String {
        let Some(operation) = OPERATIONS.get(usize::from(code)) else {
            return format!("found operation code {code}, expected at most {}", OPERATIONS.len() - 1);
        };
        if thread >= self.threads {
            return format!("found thread {thread}, expected one of the {} named so far", self.threads);
        }
        if site >= self.sites {
            return format!("found site {site}, expected one of the {} named so far", self.sites - 1);
        }
        let (keyword, limit) = (operation.keyword, self.targets[usize::from(code)]);
        match operation.target {
            Target::Nothing => format!("found target {target} of `{keyword}`, expected 0"),
            what => {
                let what = what.describe();
                format!("found target {target} of `{keyword}`, expected {what} of the {limit} named so far")
            }
        }
    }
}

fn count<I: Id>(table: &Table<I>) -> u32 {
    // A table hands out fewer ids than a u32 has values.
    table.len() as u32
}
