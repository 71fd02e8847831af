//! Violated functions, and how: a part of the table that the command shares.
//!
//! One entry per function, closing site and, near the bottom of the stack, way in which the function was reached. It counts
//! exactly, and keeps the open blocks and the steps of a witness. Findings come in storms (2.4 million dependences in one test
//! program): a witness is walked for the first instances only, until one is whole; after that they are counted.

use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;

use crate::access::{Access, Operation};
use crate::blocks::SUSPENDED;
use crate::engine::{Engine, Findings, Violation};
use crate::epoch::Epoch;
use crate::table::{Counter, FOUND, Table};
use crate::thread::Thread;
use crate::witness::{MOST_STEPS, Step, Witness};

pub(crate) const ENTRIES: usize = 1 << 13;
pub(crate) const ENTRY: usize = 136;
pub(crate) const WORDS: usize = ENTRIES * ENTRY;

/// How many of the open blocks a finding lists, from the violated one outwards.
pub const MOST_FRAMES: usize = 20;

const PATH: usize = 1;
const CLOSES_AT: usize = 2;
const COUNT: usize = 3;
const NUMBER: usize = 4;
const MAPS: usize = 5;
const IS_INNERMOST: usize = 6;
const THREAD: usize = 7;
const FRAME_COUNT: usize = 8;
const STEP_COUNT: usize = 9;
const IS_WHOLE: usize = 10;
const FRAMES: usize = 11;
const STEPS: usize = FRAMES + 2 * MOST_FRAMES;
const STEP: usize = 10;
const _: () = assert!(STEPS + STEP * MOST_STEPS <= ENTRY);

/// After so many instances without a whole witness, nobody looks for one any more.
const TRIES: u64 = 64;

/// A function that is violated, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// How the function was reached; see `blocks.rs`.
    pub path: u64,
    /// Where the event is that completes the violation.
    pub closes_at: u64,
    /// How many of its instances were violated at this site first.
    pub count: u64,
    /// Findings are numbered as they are made.
    pub number: u64,
    /// How many copies of the memory map there were then.
    pub maps: u64,
    /// Whether no block inside this one was violated by the same dependence.
    pub is_innermost: bool,
    /// The index of the violated block's thread.
    pub thread: usize,
    /// The open blocks, from the violated one outwards: function, and where it was called.
    pub frames: Vec<(u64, u64)>,
    /// The dependences, the closing one first.
    pub steps: Vec<Step>,
    /// Whether they lead all the way back to the block, with every site known.
    pub is_whole: bool,
}

impl Table {
    /// Counts a violated instance. If its steps were written down, where they are: see [`Table::finding`].
    pub fn add_finding<F: Findings>(
        &self,
        engine: &Engine<F>,
        thread: &Thread,
        violation: &Violation,
    ) -> Option<usize> {
        let (path, site) = (thread.blocks().path(violation.frame), violation.access.site);
        let word = |entry: usize, word: usize| &self.0[entry + word];
        let is_meant =
            |entry| word(entry, PATH).load(Relaxed) == path && word(entry, CLOSES_AT).load(Relaxed) == site;
        let is_explained = Cell::new(false);
        let fill = |entry| {
            word(entry, PATH).store(path, Relaxed);
            word(entry, CLOSES_AT).store(site, Relaxed);
            word(entry, NUMBER).store(self.counter(Counter::Findings).fetch_add(1, Relaxed), Relaxed);
            self.explain(entry, engine, thread, violation);
            is_explained.set(true);
        };
        let Some(entry) = self.entry(FOUND, path.rotate_left(17) ^ site, is_meant, fill) else {
            self.add(Counter::LostFindings, 1);
            return None;
        };
        let before = word(entry, COUNT).fetch_add(1, Relaxed);
        if violation.innermost && word(entry, IS_INNERMOST).load(Relaxed) == 0 {
            word(entry, IS_INNERMOST).store(1, Relaxed);
        }
        if (1..TRIES).contains(&before) && word(entry, IS_WHOLE).load(Relaxed) == 0 {
            self.rewrite(entry, || {
                self.explain(entry, engine, thread, violation);
                is_explained.set(true);
            });
        }
        is_explained.get().then_some(entry)
    }

    fn explain<F: Findings>(&self, entry: usize, engine: &Engine<F>, thread: &Thread, violation: &Violation) {
        let put = |word: usize, value: u64| self.0[entry + word].store(value, Relaxed);
        let frames = (0..=violation.frame).rev().map(|frame| thread.blocks().call(frame));
        let frames = frames.filter(|call| call.function != SUSPENDED).take(MOST_FRAMES);
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
                words.into_iter().chain([step.to as u64, what(to), to.address, to.site, step.to_path]);
            words.enumerate().for_each(|(j, word)| put(STEPS + STEP * i + j, word));
            put(STEP_COUNT, i as u64 + 1);
        }
        put(THREAD, thread.index() as u64);
        put(MAPS, self.get(Counter::Maps));
        // To start a thread, or to end, is no access.
        let has_site = |step: &Step| {
            step.from_access.operation != Operation::Unknown
                || matches!(step.to_access.operation, Operation::Fork | Operation::Join)
        };
        let has_all_sites = witness.steps().all(has_site);
        put(IS_WHOLE, u64::from(witness.is_whole && has_all_sites));
    }

    /// The findings, in the order in which they were made.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.written(FOUND).map(|entry| self.finding(entry)).collect();
        findings.sort_unstable_by_key(|finding| finding.number);
        findings
    }

    /// A finding, by where it is written down.
    pub fn finding(&self, entry: usize) -> Finding {
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
                to_path: word(at + 8),
            }
        };
        let count = |counted: usize, most: usize| (word(counted) as usize).min(most);
        let frame = |i: usize| (word(FRAMES + 2 * i), word(FRAMES + 2 * i + 1));
        Finding {
            path: word(PATH),
            closes_at: word(CLOSES_AT),
            count: word(COUNT),
            number: word(NUMBER),
            maps: word(MAPS),
            is_innermost: word(IS_INNERMOST) != 0,
            thread: word(THREAD) as usize,
            frames: (0..count(FRAME_COUNT, MOST_FRAMES)).map(frame).collect(),
            steps: (0..count(STEP_COUNT, MOST_STEPS)).map(step).collect(),
            is_whole: word(IS_WHOLE) != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Call;
    use crate::engine::Config;
    use crate::memory::Words;
    use crate::table;

    fn access(address: u64, site: u64, operation: Operation) -> Access {
        Access { address, bytes: 8, site, operation }
    }

    #[test]
    fn a_lost_update_is_found_with_its_steps() {
        let table = Table(Words::reserve(table::WORDS).expect("memory"));
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
        let findings = engine.findings.findings();
        let [inner, outer] = &findings[..] else { panic!("{findings:?}") };
        for (finding, frames) in [(inner, &[(8, 80), (7, 70)][..]), (outer, &[(7, 70)])] {
            assert_eq!((finding.count, finding.is_whole, &finding.frames[..]), (3, true, frames));
            let sites = finding.steps.iter().map(|step| (step.from_access.site, step.to_access.site));
            assert_eq!(sites.collect::<Vec<_>>(), [(2, 3), (1, 2)]);
        }
        assert!(inner.is_innermost && !outer.is_innermost);
    }
}
