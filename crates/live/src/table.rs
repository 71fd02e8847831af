//! What was found, in memory that the command shares: whatever becomes of the program, it is there.
//!
//! ```text
//! header      counters, see [`Counter`]
//! functions   violated instances, per function (and, near the bottom of the stack, per way it was called)
//! findings    per function and closing site: how often, the open blocks, and the steps of a witness
//! labels      texts of annotated blocks
//! ```
//!
//! An entry is claimed by one compare-and-swap and marked whole when it is written. Findings come in storms (2.4 million
//! dependences in one test program): a witness is walked for the first instances of a function and closing site only, until
//! one is whole; after that they are counted.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::access::{Access, Operation};
use crate::engine::{Engine, Findings, Violation};
use crate::epoch::Epoch;
use crate::memory::Words;
use crate::thread::Thread;
use crate::witness::{MOST_STEPS, Step, Witness};

/// The first word of a table. Changes with the layout.
pub const MAGIC: u64 = 0x3130_6576_696c_7661;

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
    /// Findings for which the table had no room.
    LostFindings,
    /// Words of labels.
    LabelsEnd,
    /// Copies of the memory map made.
    Maps,
}

const HEADER: usize = 64;
const FUNCTIONS: usize = 1 << 13;
const FUNCTION: usize = 8;
const FINDINGS: usize = 1 << 10;
const FINDING: usize = 128;
const LABELS: usize = 1 << 15;
const TO_FUNCTIONS: usize = HEADER;
const TO_FINDINGS: usize = TO_FUNCTIONS + FUNCTIONS * FUNCTION;
const TO_LABELS: usize = TO_FINDINGS + FINDINGS * FINDING;

/// How many words a table has.
pub const WORDS: usize = TO_LABELS + LABELS;

/// How many of the open blocks a finding lists, from the violated one outwards.
pub const MOST_FRAMES: usize = 16;
/// Calls of a function this near to the bottom of the stack are told apart by their callers: they may be a thread's entry.
pub const NEAR_BOTTOM: usize = 4;

const STATE: usize = 0;
const BLOCK: usize = 1;
const CLOSES_AT: usize = 2;
const COUNT: usize = 3;
const THREAD: usize = 4;
const FRAME_COUNT: usize = 5;
const STEP_COUNT: usize = 6;
const IS_WHOLE: usize = 7;
const FRAMES: usize = 8;
const STEPS: usize = FRAMES + 2 * MOST_FRAMES;
const STEP: usize = 10;
const _: () = assert!(STEPS + STEP * MOST_STEPS <= FINDING);

const CLAIMED: u64 = 1;
const WRITTEN: u64 = 2;
/// After so many instances without a whole witness, nobody looks for one any more.
const TRIES: u64 = 64;

/// Violated instances of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instances {
    /// The function.
    pub function: u64,
    /// Its callers, the nearest last; all of them if there are fewer than [`NEAR_BOTTOM`], otherwise none are listed.
    pub callers: Option<Vec<u64>>,
    /// How many.
    pub count: u64,
}

/// A function that is violated, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The index of the violated block's thread.
    pub thread: usize,
    /// How often a block of this function was the innermost that was violated at this site.
    pub count: u64,
    /// The open blocks, from the violated one outwards: function, and where it was called.
    pub frames: Vec<(u64, u64)>,
    /// The dependences, the closing one first.
    pub steps: Vec<Step>,
    /// Whether they lead all the way back to the block.
    pub is_whole: bool,
}

/// The table.
#[derive(Debug)]
pub struct Table(pub Words);

impl Table {
    /// A copy of a table that another process has written; none if it is none, or of another version.
    pub fn read(bytes: &[u8]) -> Option<Table> {
        let words = Words::reserve(WORDS)?;
        for (word, bytes) in words.iter().zip(bytes.chunks_exact(8)) {
            let value = u64::from_le_bytes(bytes.try_into().ok()?);
            // Pages that are not touched take no memory.
            if value != 0 {
                word.store(value, Relaxed);
            }
        }
        let table = Table(words);
        (bytes.len() == WORDS * 8 && table.counter(Counter::Magic).load(Relaxed) == MAGIC).then_some(table)
    }

    /// A number of the header.
    pub fn counter(&self, counter: Counter) -> &AtomicU64 {
        &self.0[counter as usize]
    }

    fn add(&self, counter: Counter, more: u64) {
        self.counter(counter).fetch_add(more, Relaxed);
    }

    /// The first entry, from where `hash` says, that is free or is the one meant; claims it if it is free.
    fn entry(
        &self,
        (first, entries, words): (usize, usize, usize),
        hash: u64,
        is_meant: impl Fn(usize) -> bool,
        fill: impl FnOnce(usize),
    ) -> Option<usize> {
        let start = (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
        for i in 0..64 {
            let entry = first + (start + i) % entries * words;
            let state = &self.0[entry + STATE];
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

    fn count_instance(&self, thread: &Thread, frame: usize) {
        let function = thread.blocks().function(frame);
        let mut key = [function, frame.min(NEAR_BOTTOM) as u64 + 1, 0, 0, 0];
        if frame < NEAR_BOTTOM {
            (0..frame).for_each(|caller| key[2 + caller] = thread.blocks().function(caller));
        }
        let hash = key
            .iter()
            .fold(0u64, |hash, part| (hash.rotate_left(13) ^ part).wrapping_mul(0xff51_afd7_ed55_8ccd));
        let word = |entry: usize, word: usize| &self.0[entry + 1 + word];
        let is_meant = |entry| key.iter().enumerate().all(|(i, part)| word(entry, i).load(Relaxed) == *part);
        let fill = |entry| key.iter().enumerate().for_each(|(i, part)| word(entry, i).store(*part, Relaxed));
        match self.entry((TO_FUNCTIONS, FUNCTIONS, FUNCTION), hash, is_meant, fill) {
            Some(entry) => _ = word(entry, key.len()).fetch_add(1, Relaxed),
            None => self.add(Counter::LostFindings, 1),
        }
    }

    fn add_finding<F: Findings>(&self, engine: &Engine<F>, thread: &Thread, violation: &Violation) {
        let (block, site) = (thread.blocks().function(violation.frame), violation.access.site);
        let is_meant = |entry: usize| {
            self.0[entry + BLOCK].load(Relaxed) == block && self.0[entry + CLOSES_AT].load(Relaxed) == site
        };
        let fill = |entry: usize| {
            self.0[entry + BLOCK].store(block, Relaxed);
            self.0[entry + CLOSES_AT].store(site, Relaxed);
            self.explain(entry, engine, thread, violation);
        };
        let hash = block.rotate_left(17) ^ site;
        let Some(entry) = self.entry((TO_FINDINGS, FINDINGS, FINDING), hash, is_meant, fill) else {
            return self.add(Counter::LostFindings, 1);
        };
        let before = self.0[entry + COUNT].fetch_add(1, Relaxed);
        let state = &self.0[entry + STATE];
        if (1..TRIES).contains(&before)
            && self.0[entry + IS_WHOLE].load(Relaxed) == 0
            && state.compare_exchange(WRITTEN, CLAIMED, Acquire, Relaxed).is_ok()
        {
            self.explain(entry, engine, thread, violation);
            state.store(WRITTEN, Release);
        }
    }

    fn explain<F: Findings>(&self, entry: usize, engine: &Engine<F>, thread: &Thread, violation: &Violation) {
        let put = |word: usize, value: u64| self.0[entry + word].store(value, Relaxed);
        let frames = (0..=violation.frame).rev().take(MOST_FRAMES).map(|frame| thread.blocks().call(frame));
        for (i, call) in frames.enumerate() {
            put(FRAMES + 2 * i, call.function);
            put(FRAMES + 2 * i + 1, call.site);
            put(FRAME_COUNT, i as u64 + 1);
        }
        let witness = Witness::of(engine, thread, violation);
        for (i, step) in witness.steps().enumerate() {
            let what = |access: &Access| access.operation as u64 | access.bytes << 8;
            let (from, to) = (&step.from_access, &step.to_access);
            let words = [step.from.word(), what(from), from.address, from.site];
            let words =
                words.into_iter().chain([step.to as u64, what(to), to.address, to.site, step.to_function]);
            words.enumerate().for_each(|(j, word)| put(STEPS + STEP * i + j, word));
            put(STEP_COUNT, i as u64 + 1);
        }
        put(THREAD, thread.index() as u64);
        let has_all_sites = witness.steps().all(|step| step.from_access.operation != Operation::Unknown);
        put(IS_WHOLE, u64::from(witness.is_whole && has_all_sites));
    }

    /// The violated instances.
    pub fn instances(&self) -> impl Iterator<Item = Instances> {
        let entries = (0..FUNCTIONS).map(|i| TO_FUNCTIONS + i * FUNCTION);
        entries.filter(|entry| self.0[entry + STATE].load(Acquire) == WRITTEN).map(|entry| {
            let word = |word: usize| self.0[entry + 1 + word].load(Relaxed);
            let depth = word(1) as usize - 1;
            let callers = (depth < NEAR_BOTTOM).then(|| (0..depth).map(|caller| word(2 + caller)).collect());
            Instances { function: word(0), callers, count: word(5) }
        })
    }

    /// The findings.
    pub fn findings(&self) -> impl Iterator<Item = Finding> {
        let entries = (0..FINDINGS).map(|i| TO_FINDINGS + i * FINDING);
        entries.filter(|entry| self.0[entry + STATE].load(Acquire) == WRITTEN).map(|entry| {
            let word = |word: usize| self.0[entry + word].load(Relaxed);
            let access = |at: usize| Access {
                operation: Operation::from_word(word(at) & 0xff),
                bytes: word(at) >> 8,
                address: word(at + 1),
                site: word(at + 2),
            };
            let step = |i: usize| {
                let at = STEPS + STEP * i;
                Step {
                    from: Epoch::from_word(word(at)),
                    from_access: access(at + 1),
                    to: word(at + 4) as usize,
                    to_access: access(at + 5),
                    to_function: word(at + 8),
                }
            };
            let count = |counted: usize, most: usize| (word(counted) as usize).min(most);
            Finding {
                thread: word(THREAD) as usize,
                count: word(COUNT),
                frames: (0..count(FRAME_COUNT, MOST_FRAMES))
                    .map(|i| (word(FRAMES + 2 * i), word(FRAMES + 2 * i + 1)))
                    .collect(),
                steps: (0..count(STEP_COUNT, MOST_STEPS)).map(step).collect(),
                is_whole: word(IS_WHOLE) != 0,
            }
        })
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
        let end = (self.counter(Counter::LabelsEnd).load(Acquire) as usize).min(LABELS);
        let mut at = 0;
        while at + 2 <= end {
            let length = self.0[TO_LABELS + at + 1].load(Relaxed) as usize;
            let words = length.div_ceil(8);
            if self.0[TO_LABELS + at].load(Acquire) == hash && at + 2 + words <= end {
                let text =
                    (0..words).flat_map(|i| self.0[TO_LABELS + at + 2 + i].load(Relaxed).to_le_bytes());
                return Some(text.take(length).collect());
            }
            at += 2 + words;
        }
        None
    }
}

impl Findings for Table {
    fn violated(&self, engine: &Engine<Self>, thread: &Thread, violation: &Violation) {
        self.count_instance(thread, violation.frame);
        if violation.innermost {
            self.add_finding(engine, thread, violation);
        }
    }

    fn off_trial(&self, _function: u64) {
        self.add(Counter::OffTrial, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Call;
    use crate::engine::Config;

    fn access(address: u64, site: u64, operation: Operation) -> Access {
        Access { address, bytes: 8, site, operation }
    }

    #[test]
    fn a_lost_update_is_found_with_its_steps() {
        let table = Table(Words::reserve(WORDS).expect("memory"));
        let config = Config { address_bits: 20, ..Config::PROGRAM };
        let engine = Engine::new(&config, table).expect("memory");
        let first = engine.start(None).expect("a thread");
        let second = engine.start(Some(first)).expect("a thread");
        for _ in 0..3 {
            engine.begin(first, &Call { function: 7, site: 70, stack: 0 });
            engine.begin(first, &Call { function: 8, site: 80, stack: 0 });
            engine.read(first, &access(64, 1, Operation::Read));
            engine.write(second, &access(64, 2, Operation::Write));
            engine.write(first, &access(64, 3, Operation::Write));
            engine.end(first);
            engine.end(first);
        }
        let counted: Vec<Instances> = engine.findings.instances().collect();
        assert_eq!(counted.len(), 2);
        assert!(counted.contains(&Instances { function: 8, callers: Some(vec![7]), count: 3 }));
        assert!(counted.contains(&Instances { function: 7, callers: Some(vec![]), count: 3 }));
        let findings: Vec<Finding> = engine.findings.findings().collect();
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!((finding.count, finding.is_whole), (3, true));
        assert_eq!(finding.frames, [(8, 80), (7, 70)]);
        let sites = finding.steps.iter().map(|step| (step.from_access.site, step.to_access.site));
        assert_eq!(sites.collect::<Vec<_>>(), [(2, 3), (1, 2)]);
    }

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
