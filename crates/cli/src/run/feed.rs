//! A running program as a source of events.
//!
//! ```text
//! ring ──► translate ──► lenient discipline, commuting updates ──► the checkers
//!                                                            └──► a copy, for the witnesses and for --record
//! ```
//!
//! The discipline is made good here, before the copy is written: what a program does outside our sight (a lock taken by
//! code that is not instrumented) would otherwise make the copy a trace that `check` refuses. The checkers and
//! the copy get the same events, so that both give the same findings.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use atomvet_trace::binary::Writer;
use atomvet_trace::commuting::Commuting;
use atomvet_trace::wellformed::{Discipline, Figures, Wellformed};
use atomvet_trace::{Conventions, Error, ErrorKind, Event, EventId, Names, Op, Place};

use atomvet_ring::CAPACITY;

use super::copy::Copy;
use super::directory::is_over;
use super::ring::{Program, Ring};
use super::translate::{Seen, Translator};
use super::{live, pieces};
use crate::footprint;
use crate::spool::Live;

/// Records that are read at once, and events after which a block is handed on: more would take more memory, and fewer have both
/// sides wait for each other more often.
const RECORDS: u64 = 1 << 10;
const EVENTS: usize = 1 << 13;

/// After so many events, and whenever there are four times as many, code and memory are given back that were needed at the start
/// only: to resolve the first symbols takes more than all that comes after.
const FIRST_SHRINK: u64 = 1 << 14;

/// Events in a block of the copy: few, since somebody waits for the memory that the program and this process need.
pub(super) const COPIED: usize = 1 << 13;

/// How many bytes of it are not compressed, if it is deleted in the end: 20 million events. To compress them takes a fifth of the
/// work of short runs, and for longer ones the file would become too large.
const STORED: u64 = 128 << 20;

/// How long to sleep when there is nothing to read: as long as it takes to fill a quarter of the ring at the rate of late,
/// within these bounds. Busy programs do not wait for us then, and idle ones do not wake us up in vain. (Waking up every
/// 200 µs for a few hundred records cost a quarter of the time of short programs.)
const NAPS: [Duration; 2] = [Duration::from_micros(100), Duration::from_millis(8)];
const WANTED: u64 = CAPACITY / 4;

/// Who reads so many records without ever having read them all does not keep up with the program.
const MOST_AT_A_TIME: u64 = 4 * CAPACITY;

/// How long a block may wait to be full: to hand on every few events has two threads wake each other up for each.
const PATIENCE: Duration = Duration::from_millis(100);

/// How often to ask whether the program still runs. Of the program itself we are told, so this is for those that it starts, and
/// for what it becomes by executing another.
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(200);

/// What a stream was, in the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    /// What there was to understand.
    pub(crate) seen: Seen,
    /// Updates that commute.
    pub(crate) commuting_updates: u64,
    /// Accesses of the program, recorded or not.
    pub(crate) accesses: u64,
    /// Accesses in signal handlers that were lost.
    pub(crate) lost_in_handlers: u64,
    /// Threads that could not be recorded.
    pub(crate) lost_threads: u64,
    /// Locks that changed hands while it was not known any more after what.
    pub(crate) lost_orders: u64,
    /// Joins of threads whose start was not seen.
    pub(crate) unknown_joins: u64,
    /// Repairs of the discipline.
    pub(crate) repairs: u64,
    /// What ran and was not recorded, so that the verdict does not speak of it.
    pub(crate) unwatched: Vec<String>,
    /// Files of the user's that call no hooks.
    pub(crate) not_instrumented: Vec<String>,
    /// Functions that were entered and are no blocks by default, because threads start with them, by name.
    pub(crate) thread_entries: Vec<String>,
    /// Why a JVM's agent could not begin.
    pub(crate) failure: Option<String>,
    /// Why the recording that was asked for is not there, or not whole.
    pub(crate) not_recorded: Option<String>,
    /// The program went on when we stopped listening.
    pub(crate) cut_off: bool,
    /// Of a program that judges itself.
    pub(crate) live: Option<live::Figures>,
}

impl Summary {
    /// Of a program that judges itself.
    pub(crate) fn of_live(splits: u64, blocks_in_threads: bool) -> Summary {
        Summary { seen: Seen { splits, blocks_in_threads, ..Seen::default() }, ..Summary::default() }
    }
}

/// See the head of this file.
pub(crate) struct Feed {
    ring: Ring,
    translator: Translator,
    wellformed: Wellformed,
    commuting: Commuting,
    copy: Option<Writer<Copy>>,
    /// Nobody reads the events before all are written.
    is_recorded_first: bool,
    events: u64,
    /// When to give back what is no longer needed.
    shrink_at: u64,
    /// Set when nobody waits for this program any more.
    give_up: Arc<AtomicBool>,
    /// What was known of it when it was last asked for. Once it has ended, it has.
    program: Program,
    asked: Instant,
    /// How long the next nap is, and how much was read at the last one.
    nap: Duration,
    napped_at: u64,
    summary: Sender<Summary>,
    name: String,
}

impl Feed {
    /// Reads `ring` and writes what it says to `copy` as well, as a trace under these conventions.
    pub(crate) fn new(
        name: &str,
        ring: Ring,
        translator: Translator,
        conventions: &Conventions,
        copy: Copy,
        give_up: Arc<AtomicBool>,
        summary: Sender<Summary>,
    ) -> Result<Feed, Error> {
        let stored = if copy.is_recording() { 0 } else { STORED };
        let copy =
            Writer::with_block_size(copy, conventions, COPIED).map_err(|error| copy_error(name, &error))?;
        let copy = Some(copy.store_first(stored));
        let wellformed = Wellformed::new(Discipline::Lenient);
        let (asked, name) = (Instant::now(), name.to_owned());
        let nap = NAPS[0];
        Ok(Feed {
            ring,
            translator,
            wellformed,
            commuting: Commuting::default(),
            copy,
            is_recorded_first: false,
            events: 0,
            shrink_at: FIRST_SHRINK,
            give_up,
            program: Program::Runs,
            asked,
            nap,
            napped_at: 0,
            summary,
            name,
        })
    }

    /// Records the program until it has ended.
    pub(crate) fn record(mut self) -> Result<(), Error> {
        self.is_recorded_first = true;
        let mut block = Vec::new();
        while self.next_block(&mut block)? {
            // They are in the recording, and nobody here asks for them: programs may have millions.
            self.translator.names.variables.forget_texts();
        }
        Ok(())
    }

    /// Whether more records may come, asked now and then.
    fn program(&mut self) -> Program {
        if self.give_up.load(Ordering::Relaxed) {
            self.program = Program::Ended;
        }
        if self.program == Program::Runs && self.asked.elapsed() >= BETWEEN_QUESTIONS {
            self.asked = Instant::now();
            if has_ended(&self.ring) {
                self.program = Program::Ended;
            }
        }
        self.program
    }

    /// Appends the events of what is there, until there are enough for a block.
    fn read(&mut self, block: &mut Vec<Event>, program: Program) {
        let Feed { translator, ring, .. } = self;
        while block.len() < EVENTS && ring.drain(RECORDS, program, |record| translator.record(&record, block))
        {
        }
    }

    /// Repairs a block's discipline, resolves which of its updates commute, and writes the copy of it.
    fn complete(&mut self, block: &mut Vec<Event>) -> Result<(), Error> {
        if self.translator.is_exhausted() {
            return Err(exhausted_error(&self.name));
        }
        let repairs = self.wellformed.repairs;
        (self.wellformed.check(EventId(self.events), block, &self.translator.names)).map_err(|broken| {
            // A lenient reading repairs everything.
            let Error { file, place, kind, .. } = copy_error(&self.name, &std::io::Error::other(""));
            Error { file, place, kind, problem: broken.problem, help: broken.help }
        })?;
        if self.wellformed.repairs > repairs {
            block.retain(|event| event.op != Op::Skip);
        }
        if !self.is_recorded_first {
            self.commuting.resolve(block);
        }
        self.events += block.len() as u64;
        if self.events >= self.shrink_at {
            self.shrink_at = 4 * self.events;
            footprint::shrink();
        }
        if let Some(copy) = &mut self.copy {
            copy.write(&self.translator.names, block).map_err(|error| copy_error(&self.name, &error))?;
        }
        Ok(())
    }

    /// Waits for more, and tells how long.
    fn sleep(&mut self) -> Duration {
        let read = self.ring.position() - self.napped_at;
        self.napped_at = self.ring.position();
        self.nap = if read > WANTED { self.nap / 2 } else { self.nap * 5 / 4 };
        self.nap = self.nap.clamp(NAPS[0], NAPS[1]);
        std::thread::sleep(self.nap);
        self.nap
    }

    fn finish(&mut self, cut_off: bool) -> Result<(), Error> {
        let not_recorded = match self.copy.take() {
            Some(copy) => {
                let mut copy = copy.finish().map_err(|error| copy_error(&self.name, &error))?;
                let (cuts, names) = self.translator.cuts();
                if !cuts.is_empty() {
                    copy.replace(|old, new| pieces::complete(old, cuts, names, new));
                }
                copy.finish()
            }
            None => None,
        };
        self.ring.close();
        self.translator.finish();
        let header = self.ring.header();
        let summary = Summary {
            seen: self.translator.seen,
            commuting_updates: self.commuting.updates,
            accesses: self.ring.seen().max(self.translator.seen.accesses),
            lost_in_handlers: header.lost_in_handlers.load(Ordering::Relaxed),
            lost_threads: header.lost_threads.load(Ordering::Relaxed),
            lost_orders: header.lost_orders.load(Ordering::Relaxed) + self.translator.seen.lost_orders,
            unknown_joins: header.unknown_joins.load(Ordering::Relaxed),
            repairs: self.wellformed.repairs,
            unwatched: self.translator.symbols.unwatched(),
            not_instrumented: self.translator.symbols.not_instrumented(),
            thread_entries: self.translator.thread_entries(),
            failure: self.translator.symbols.failure(),
            not_recorded,
            cut_off,
            live: None,
        };
        // Who wants to know waits for it; if nobody does, it is not needed.
        let _ = self.summary.send(summary);
        Ok(())
    }
}

impl Live for Feed {
    fn next_block(&mut self, block: &mut Vec<Event>) -> Result<bool, Error> {
        block.clear();
        if self.copy.is_none() {
            return Ok(false);
        }
        let mut waited = Duration::ZERO;
        loop {
            // Asked before reading: what was written before the end is read after it.
            let program = self.program();
            self.read(block, program);
            let is_full = block.len() >= EVENTS;
            let is_over = !is_full && program == Program::Ended;
            if !block.is_empty() && (is_full || is_over || waited >= PATIENCE) {
                self.complete(block)?;
                if !block.is_empty() {
                    return Ok(true);
                }
            }
            if is_over {
                self.finish(self.give_up.load(Ordering::Relaxed) && !has_ended(&self.ring))?;
                return Ok(false);
            }
            if !is_full {
                waited += self.sleep();
            }
        }
    }

    fn names(&self) -> &Names {
        &self.translator.names
    }

    fn into_names(mut self: Box<Self>) -> Names {
        std::mem::take(&mut self.translator.names)
    }

    fn figures(&self) -> Figures {
        self.wellformed.figures
    }

    fn keeps_up(&self) -> bool {
        self.ring.position() - self.napped_at < MOST_AT_A_TIME
    }

    fn bytes_read(&self) -> u64 {
        self.ring.position() * size_of::<atomvet_ring::Slot>() as u64
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        // Whatever went wrong here, the program must not wait for us; and what was recorded so far is a whole trace.
        if self.copy.is_some() {
            let _ = self.finish(true);
        }
        self.ring.close();
    }
}

/// Whether the program has ended, or has executed another.
fn has_ended(ring: &Ring) -> bool {
    if is_over(ring.header().program.load(Ordering::Relaxed)) {
        return true;
    }
    let name = ring.path().file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let next = name
        .rsplit_once('.')
        .and_then(|(process, number)| Some(format!("{process}.{}.ring", number.parse::<u64>().ok()? + 1)));
    next.is_some_and(|next| ring.path().with_file_name(next).exists())
}

fn exhausted_error(name: &str) -> Error {
    Error {
        file: name.to_owned(),
        place: Place::Whole,
        kind: ErrorKind::Io,
        problem: "more words of its memory are accessed in parts than can be told apart (268,435,455)"
            .to_owned(),
        help: "check a shorter run of it, or one on less data".to_owned(),
    }
}

fn copy_error(name: &str, error: &std::io::Error) -> Error {
    Error {
        file: name.to_owned(),
        place: Place::Whole,
        kind: ErrorKind::Io,
        problem: format!("its events cannot be written as a trace: {error}"),
        help: "please report this as a bug of atomvet".to_owned(),
    }
}
