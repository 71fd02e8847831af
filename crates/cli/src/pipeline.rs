//! One pass over a trace, on two threads.
//!
//! ```text
//! reader thread:  Input ──► Wellformed ──► Filter ──► Counter ──►╮ bounded channel
//! this thread:    consume(slice of a block) ◄───────────────────╯
//!                       ╰──► empty blocks go back and are filled again
//! ```
//!
//! The wall time of a pass is the larger of reading and checking, not their sum, and nothing is
//! allocated per block. Ctrl-C ends a pass after the slice at hand, however much was read ahead;
//! what the pass tells is then about the slices that were consumed.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

use atomvet_check::Analysis;
use atomvet_trace::objects::Objects;
use atomvet_trace::wellformed::{Discipline, Repair, Wellformed};
use atomvet_trace::{Error, ErrorKind, Event, EventId, Format, Names, VarId};

use crate::interrupt;
use crate::progress::Progress;
use crate::spec::{Filter, Spec};
use crate::spool::Source;
use crate::tally::{Counter, Tally};

/// How to read.
#[derive(Clone, Copy, Default)]
pub(crate) struct Reading<'a> {
    /// What to do with broken discipline.
    pub(crate) discipline: Discipline,
    /// Which blocks count; all, if there is none.
    pub(crate) spec: Option<&'a Spec>,
    /// When to stop before the end.
    pub(crate) until: Until,
    /// Whether somebody heeds the objects that variables belong to.
    pub(crate) objects: Told,
}

/// Whether something is told that costs time and memory to find out.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Told {
    /// It is not.
    #[default]
    No,
    /// It is.
    Yes,
}

impl Told {
    /// Of objects, if one of these checkers heeds them.
    pub(crate) fn to<'a>(mut checkers: impl Iterator<Item = &'a dyn Analysis>) -> Told {
        if checkers.any(|checker| checker.heeds_objects()) { Told::Yes } else { Told::No }
    }
}

/// How far a pass goes.
#[derive(Clone, Copy, Default)]
pub(crate) enum Until {
    /// To the end, or to Ctrl-C.
    #[default]
    End,
    /// Over the events before this position, which an earlier pass has seen, or to a Ctrl-C that
    /// comes after that pass (the one that may have ended it does not end this one).
    Event(EventId, Interrupted),
}

impl Until {
    /// Whether Ctrl-C asks for the end of such a pass.
    fn interrupted(self) -> bool {
        !matches!(self, Until::Event(_, Interrupted::Before)) && interrupt::requested()
    }
}

/// Whether Ctrl-C was pressed before a pass.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupted {
    /// It was: go on all the same.
    Before,
    /// It was not.
    Never,
}

/// Some events in the order of the trace.
pub(crate) struct Slice<'a> {
    /// The position of the first event.
    pub(crate) first: EventId,
    /// The events, checked and filtered.
    pub(crate) events: &'a [Event],
    /// The first variable of `objects`.
    pub(crate) first_variable: VarId,
    /// Of the variables that are new; see [`atomvet_check::Checker::objects`].
    pub(crate) objects: &'a [VarId],
}

/// A block on its way from the reader.
#[derive(Default)]
struct Batch {
    events: Vec<Event>,
    /// The figures of the trace after each slice of `events`.
    tallies: Vec<Tally>,
    first_variable: u32,
    objects: Vec<VarId>,
}

/// What a pass has read.
#[derive(Debug)]
pub(crate) struct Pass {
    /// The names of the trace.
    pub(crate) names: Names,
    /// What it is written in.
    pub(crate) format: Format,
    /// What it consists of.
    pub(crate) tally: Tally,
    /// What was repaired, by kind.
    pub(crate) repairs: Repairs,
    /// Per entry of the specification, whether it was used.
    pub(crate) used: Vec<bool>,
    /// Accesses that the specification leaves out.
    pub(crate) ignored_accesses: u64,
    /// Why the pass did not reach the end of the trace, if it did not.
    pub(crate) partial: Option<Partial>,
}

/// Repairs of a lenient reading.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repairs {
    /// All of them.
    pub(crate) total: u64,
    /// The same, by kind.
    pub(crate) kinds: Vec<(Repair, u64)>,
}

/// Why only a part of a trace was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Partial {
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-C after the verdicts were complete: witnesses are missing.
    Unexplained,
    /// The input is cut off, and lenient reading takes what there is.
    CutOff(String),
}

impl Partial {
    /// Why, in words.
    pub(crate) fn reason(&self) -> String {
        match self {
            Partial::Interrupted => "interrupted".to_owned(),
            Partial::Unexplained => "interrupted while the witnesses were looked for".to_owned(),
            Partial::CutOff(problem) => format!("the input is cut off: {problem}"),
        }
    }
}

/// Blocks that may wait for the checkers. More would only take memory.
const WAITING: usize = 4;

/// Events that are consumed at once: few enough for a prompt answer to Ctrl-C even where an event
/// costs a millisecond, as it does with thousands of threads and some algorithms.
const SLICE: usize = 1024;

/// Reads the trace and hands its events to `consume`, on the calling thread, until that has enough.
pub(crate) fn run(
    source: &mut Source,
    reading: Reading<'_>,
    consume: impl FnMut(&Slice<'_>) -> ControlFlow<()>,
) -> Result<Pass, Error> {
    run_knowing(source, reading, None, consume)
}

/// The same for a trace that was read before, whose names are lent to the reader: to gather them again would take as much
/// memory once more. After an error they are gone. Of the figures, only events are counted.
pub(crate) fn run_again(
    source: &mut Source,
    reading: Reading<'_>,
    names: &mut Names,
    consume: impl FnMut(&Slice<'_>) -> ControlFlow<()>,
) -> Result<Pass, Error> {
    let mut pass = run_knowing(source, reading, Some(std::mem::take(names)), consume)?;
    *names = std::mem::take(&mut pass.names);
    Ok(pass)
}

fn run_knowing(
    source: &mut Source,
    reading: Reading<'_>,
    known: Option<Names>,
    mut consume: impl FnMut(&Slice<'_>) -> ControlFlow<()>,
) -> Result<Pass, Error> {
    let (full_sender, full) = sync_channel::<Batch>(WAITING);
    let (empty, empty_receiver) = channel::<Batch>();
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || read(source, reading, known, &full_sender, &empty_receiver));
        let mut consumed = Tally::default();
        let mut interrupted = false;
        'batches: for batch in full {
            let mut objects = &batch.objects[..];
            for (events, tally) in batch.events.chunks(SLICE).zip(&batch.tallies) {
                if reading.until.interrupted() {
                    interrupted = true;
                    break 'batches;
                }
                let first = EventId(consumed.events);
                let slice = Slice { first, events, first_variable: VarId(batch.first_variable), objects };
                let enough = consume(&slice).is_break();
                consumed = *tally;
                objects = &[];
                if enough {
                    break 'batches;
                }
            }
            // The reader may have ended already.
            let _ = empty.send(batch);
        }
        let mut pass = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        pass.tally = consumed;
        if interrupted {
            pass.partial = Some(Partial::Interrupted);
        }
        Ok(pass)
    })
}

fn read(
    source: &mut Source,
    reading: Reading<'_>,
    known: Option<Names>,
    full: &SyncSender<Batch>,
    empty: &Receiver<Batch>,
) -> Result<Pass, Error> {
    let mut progress = Progress::new(&source.given, source.length());
    let mut input = source.open()?;
    let count = if known.is_some() { Counter::number } else { Counter::count };
    if let Some(names) = known {
        input.know(names);
    }
    let mut wellformed = Wellformed::new(reading.discipline);
    let mut filter = reading.spec.map(Filter::new);
    let mut counter = Counter::default();
    let mut objects = Objects::default();
    let mut partial = None;
    loop {
        let first = EventId(counter.tally.events);
        let left = match reading.until {
            Until::End => u64::MAX,
            Until::Event(end, _) => end.0.saturating_sub(first.0),
        };
        if left == 0 {
            break;
        }
        if reading.until.interrupted() {
            partial = Some(Partial::Interrupted);
            break;
        }
        let mut batch = empty.try_recv().unwrap_or_default();
        match input.next_block(&mut batch.events) {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) if reading.until.interrupted() => {
                partial = Some(Partial::Interrupted);
                break;
            }
            Err(error) if error.kind == ErrorKind::Truncated && reading.discipline == Discipline::Lenient => {
                partial = Some(Partial::CutOff(error.problem));
                break;
            }
            Err(error) => return Err(error),
        }
        batch.events.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        if batch.events.is_empty() {
            // A block of names only: they are told with the next events.
            continue;
        }
        if !input.is_checked() {
            (wellformed.check(first, &mut batch.events, input.names()))
                .map_err(|broken| source.broken(input.place(broken.index), broken))?;
        }
        if let Some(filter) = &mut filter {
            filter.apply(&mut batch.events, input.names());
        }
        batch.tallies.clear();
        batch.tallies.extend(batch.events.chunks(SLICE).map(|events| count(&mut counter, events)));
        batch.objects.clear();
        if reading.objects == Told::Yes {
            let (first_variable, new) = objects.new_variables(input.names());
            batch.first_variable = first_variable.0;
            batch.objects.extend_from_slice(new);
        }
        progress.at(input.bytes_read(), counter.tally.events);
        if full.send(batch).is_err() {
            break;
        }
    }
    let repairs = Repairs { total: wellformed.repairs, kinds: wellformed.repairs_by_kind().collect() };
    let ignored_accesses = filter.as_ref().map_or(0, |filter| filter.ignored_accesses);
    let used = filter.map(Filter::used).unwrap_or_default();
    let tally = counter.tally;
    Ok(Pass {
        format: input.format(),
        names: input.into_names(),
        tally,
        repairs,
        used,
        ignored_accesses,
        partial,
    })
}
