//! What was found, in memory that the command shares: whatever becomes of the program, it is there.
//!
//! ```text
//! header      counters, see [`Counter`]
//! entered     functions by path, see `entered.rs`
//! counts      per thread, how often it entered the functions of late, see `entered.rs`
//! findings    violated functions and how, see `found.rs`
//! labels      texts of annotated blocks
//! ```
//!
//! An entry is claimed by one compare-and-swap and marked whole when it is written.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::engine::{Engine, Findings, Violation};
use crate::memory::Words;
use crate::thread::Thread;
use crate::{entered, found};

/// The first word of a table. Changes with the layout.
pub const MAGIC: u64 = 0x3230_6576_696c_7661;

/// Numbers in the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Counter {
    /// [`MAGIC`].
    Magic = 0,
    /// The process that writes.
    Process,
    /// Threads that were started.
    Threads,
    /// Threads that could not be followed: too many at once.
    LostThreads,
    /// Accesses in signal handlers that interrupted the checker.
    LostInHandlers,
    /// Block instances that were taken off trial.
    OffTrial,
    /// Violated instances for which the table had no room.
    LostFindings,
    /// Entered functions for which it had none.
    LostFunctions,
    /// Words of labels.
    LabelsEnd,
    /// Copies of the memory map made.
    Maps,
    /// Findings made.
    Findings,
    /// Times that blocks were split at a wait.
    Splits,
    /// Thread indexes up to here were in use.
    Indexes,
}

const HEADER: usize = 64;
const LABELS: usize = 1 << 15;
const TO_ENTERED: usize = HEADER;
const TO_COUNTS: usize = TO_ENTERED + entered::WORDS;
const TO_FINDINGS: usize = TO_COUNTS + entered::COUNT_WORDS;
const TO_LABELS: usize = TO_FINDINGS + found::WORDS;

/// How many words a table has.
pub const WORDS: usize = TO_LABELS + LABELS;

/// The first word of an entry: nothing, or one of these.
const CLAIMED: u64 = 1;
const WRITTEN: u64 = 2;

/// A part of the table: entries of the same size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    first: usize,
    pub(crate) entries: usize,
    pub(crate) words: usize,
}

/// Entered functions.
pub(crate) const ENTERED: Part = Part { first: TO_ENTERED, entries: entered::ENTRIES, words: entered::ENTRY };
/// Violated functions.
pub(crate) const FOUND: Part = Part { first: TO_FINDINGS, entries: found::ENTRIES, words: found::ENTRY };

/// The table.
#[derive(Debug)]
pub struct Table(pub Words);

impl Table {
    /// A copy of a table that another process has written; none if it is none, or of another version.
    pub fn read(bytes: &[u8]) -> Option<Table> {
        Table::read_parts(bytes.len() as u64, [(0, bytes)])
    }

    /// The same of parts, each with the byte where it begins; everything else is zero. `length` is that of the whole.
    pub fn read_parts<B: AsRef<[u8]>>(
        length: u64,
        parts: impl IntoIterator<Item = (usize, B)>,
    ) -> Option<Table> {
        let table = Table(Words::reserve(WORDS)?);
        for (first, bytes) in parts {
            let words = table.0.get(first / 8..)?;
            for (word, bytes) in words.iter().zip(bytes.as_ref().chunks_exact(8)) {
                let value = u64::from_le_bytes(bytes.try_into().ok()?);
                // Pages that are not touched take no memory.
                if value != 0 {
                    word.store(value, Relaxed);
                }
            }
        }
        (length == WORDS as u64 * 8 && table.get(Counter::Magic) == MAGIC).then_some(table)
    }

    /// A number of the header.
    pub fn counter(&self, counter: Counter) -> &AtomicU64 {
        &self.0[counter as usize]
    }

    /// Its value.
    pub fn get(&self, counter: Counter) -> u64 {
        self.counter(counter).load(Acquire)
    }

    pub(crate) fn add(&self, counter: Counter, more: u64) {
        self.counter(counter).fetch_add(more, Relaxed);
    }

    /// The words in which a thread counts.
    #[inline(always)]
    pub(crate) fn counts(&self, thread: usize) -> &[AtomicU64] {
        let first = TO_COUNTS + thread * entered::THREAD_WORDS;
        &self.0[first..first + entered::THREAD_WORDS]
    }

    /// The entry that is meant, looked for from where `hash` says; a free one is claimed and filled. None if there is no room.
    pub(crate) fn entry(
        &self,
        part: Part,
        hash: u64,
        is_meant: impl Fn(usize) -> bool,
        fill: impl FnOnce(usize),
    ) -> Option<usize> {
        const TRIES: usize = 64;
        let start = (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        for i in 0..TRIES {
            let entry = part.first + (start + i) % part.entries * part.words;
            let state = &self.0[entry];
            if state.load(Acquire) == 0 && state.compare_exchange(0, CLAIMED, Acquire, Relaxed).is_ok() {
                fill(entry);
                state.store(WRITTEN, Release);
                return Some(entry);
            }
            while state.load(Acquire) == CLAIMED {
                core::hint::spin_loop();
            }
            if is_meant(entry) {
                return Some(entry);
            }
        }
        None
    }

    /// Writes an entry anew, unless somebody else is at it.
    pub(crate) fn rewrite(&self, entry: usize, write: impl FnOnce()) {
        let state = &self.0[entry];
        if state.compare_exchange(WRITTEN, CLAIMED, Acquire, Relaxed).is_ok() {
            write();
            state.store(WRITTEN, Release);
        }
    }

    /// The entries that are written.
    pub(crate) fn written(&self, part: Part) -> impl Iterator<Item = usize> {
        let entries = (0..part.entries).map(move |i| part.first + i * part.words);
        entries.filter(|&entry| self.0[entry].load(Acquire) == WRITTEN)
    }

    /// Keeps the text of a label under its hash.
    pub fn add_label(&self, hash: u64, text: &[u8]) {
        let words = 2 + text.len().div_ceil(8);
        let at = self.counter(Counter::LabelsEnd).fetch_add(words as u64, Relaxed) as usize;
        if at + words > LABELS {
            return;
        }
        self.0[TO_LABELS + at + 1].store(text.len() as u64, Relaxed);
        for (i, part) in text.chunks(8).enumerate() {
            let mut bytes = [0; 8];
            bytes[..part.len()].copy_from_slice(part);
            self.0[TO_LABELS + at + 2 + i].store(u64::from_le_bytes(bytes), Relaxed);
        }
        self.0[TO_LABELS + at].store(hash, Release);
    }

    /// The text of the label with this hash.
    pub fn label(&self, hash: u64) -> Option<Vec<u8>> {
        let end = (self.get(Counter::LabelsEnd) as usize).min(LABELS);
        let mut at = 0;
        while at + 2 <= end {
            let length = self.0[TO_LABELS + at + 1].load(Relaxed) as usize;
            let words = length.div_ceil(8);
            if self.0[TO_LABELS + at].load(Acquire) == hash && at + 2 + words <= end {
                let text =
                    (0..words).flat_map(|i| self.0[TO_LABELS + at + 2 + i].load(Relaxed).to_le_bytes());
                return Some(text.take(length).collect());
            }
            at = at.saturating_add(2).saturating_add(words);
        }
        None
    }
}

impl Findings for Table {
    fn violated(&self, engine: &Engine<Self>, thread: &Thread, violation: &Violation) {
        self.add_finding(engine, thread, violation);
    }

    fn started(&self, thread: &Thread) {
        self.counter(Counter::Indexes).fetch_max(thread.index() as u64 + 1, Relaxed);
    }

    fn off_trial(&self, path: u64) {
        self.add(Counter::OffTrial, 1);
        self.count_off_trial(path);
    }

    #[inline(always)]
    fn entered(&self, thread: &Thread) {
        self.count_entry(thread);
    }

    fn split(&self) {
        self.add(Counter::Splits, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_kept_by_hash() {
        let table = Table(Words::reserve(WORDS).expect("memory"));
        table.add_label(5, b"transfer of money");
        table.add_label(6, b"");
        assert_eq!(table.label(5).as_deref(), Some(&b"transfer of money"[..]));
        assert_eq!(table.label(6).as_deref(), Some(&b""[..]));
        assert_eq!(table.label(7), None);
    }
}
