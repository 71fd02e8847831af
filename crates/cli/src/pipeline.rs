//! One pass over a trace, on two threads.
//!
//! ```text
//! reader thread:  Input ──► Wellformed ──► Commuting ──► Filter ──► Counter ──►╮ bounded channel
//! this thread:    consume(slice of a block) ◄─────────────────────────────────╯
//!                       ╰──► empty blocks go back and are filled again
//! ```
//!
//! The wall time of a pass is the larger of reading and checking, not their sum, and nothing is
//! allocated per block. Ctrl-C ends a pass after the slice at hand, however much was read ahead;
//! what the pass tells is then about the slices that were consumed.
//!
//! One thread does both where a second would not help: for a small trace, and where other traces are checked at the same time.
//!
//! A program that runs is waited for most of the time. As long as one thread keeps up with it, this one does both: two would wake
//! each other up for every block, and move it from one core's cache to the other's.

use std::ops::ControlFlow;
use std::sync::mpsc::{channel, sync_channel};

use atomvet_check::Analysis;
use atomvet_trace::commuting::Commuting;
use atomvet_trace::objects::Objects;
use atomvet_trace::wellformed::{Discipline, Repair, Wellformed};
use atomvet_trace::{Error, ErrorKind, Event, EventId, Format, Names, VarId};

use crate::budget::Budget;
use crate::progress::Progress;
use crate::spec::{Filter, Spec};
use crate::spool::{Opened, Source};
use crate::tally::{Counter, Tally};
use crate::{interrupt, memory};

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
    /// Whether somebody heeds which updates commute.
    pub(crate) commuting: Told,
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
    /// What somebody asks for.
    pub(crate) fn if_asked(asked: bool) -> Told {
        if asked { Told::Yes } else { Told::No }
    }

    /// Of objects, if one of these checkers heeds them.
    pub(crate) fn to<'a>(mut checkers: impl Iterator<Item = &'a dyn Analysis>) -> Told {
        Told::if_asked(checkers.any(|checker| checker.heeds_objects()))
    }
}

/// How far a pass goes.
#[derive(Clone, Copy, Default)]
pub(crate) enum Until {
    /// To the end, or to Ctrl-C.
    #[default]
    End,
    /// Over the events before this position, which an earlier pass has seen, as long as there is time.
    Event(EventId, Budget),
}

impl Until {
    /// Why such a pass has to end now, if it has.
    fn has_to_end(self) -> Option<Partial> {
        let interrupted = match self {
            Until::End => interrupt::requested(),
            Until::Event(_, budget) => budget.is_spent(),
        };
        match interrupted {
            true => Some(Partial::Interrupted),
            false => memory::is_exceeded().then_some(Partial::OutOfMemory),
        }
    }
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
    /// How many of them are consumed at once.
    slice: usize,
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
    /// Functions of a live program that were entered and are no blocks by default, because threads start with them.
    pub(crate) thread_entries: Vec<String>,
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
    /// A signal, or the time was spent.
    Interrupted,
    /// The verdicts are complete, but witnesses are missing: why.
    Unexplained(String),
    /// The input is cut off, and lenient reading takes what there is.
    CutOff(String),
    /// The memory limit was reached.
    OutOfMemory,
}

impl Partial {
    /// Why, in words.
    pub(crate) fn reason(&self) -> String {
        match self {
            Partial::Interrupted => "interrupted".to_owned(),
            Partial::Unexplained(why) => why.clone(),
            Partial::CutOff(problem) => format!("the input is cut off: {problem}"),
            Partial::OutOfMemory => format!("the memory limit of {} was reached", memory::limit_text()),
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
    consume: impl FnMut(&Slice<'_>) -> ControlFlow<()>,
) -> Result<Pass, Error> {
    let mut reader = Reader::open(source, reading, known)?;
    let reads_on = reader.input.is_checked();
    let mut consumer = Consumer {
        consume,
        until: reading.until,
        consumed: Tally::default(),
        partial: None,
        reads_on,
        discards: false,
    };
    let mut batch = Batch::default();
    let is_over = loop {
        if reader.source.wants_reader() && !reader.input.keeps_up() {
            break false;
        }
        if !reader.next(&mut batch)? || consumer.take(&batch).is_break() {
            break true;
        }
    };
    let mut pass = if is_over { reader.finish() } else { run_apart(reader, &mut consumer)? };
    pass.tally = consumer.consumed;
    pass.partial = consumer.partial.or(pass.partial);
    Ok(pass)
}

/// Goes on with a reader on a thread of its own.
fn run_apart<F: FnMut(&Slice<'_>) -> ControlFlow<()>>(
    mut reader: Reader<'_>,
    consumer: &mut Consumer<F>,
) -> Result<Pass, Error> {
    let (full_sender, full) = sync_channel::<Batch>(WAITING);
    let (empty, empty_receiver) = channel::<Batch>();
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            loop {
                let mut batch = empty_receiver.try_recv().unwrap_or_default();
                if !reader.next(&mut batch)? || full_sender.send(batch).is_err() {
                    return Ok(reader.finish());
                }
            }
        });
        for batch in full {
            if consumer.take(&batch).is_break() {
                break;
            }
            // The reader may have ended already.
            let _ = empty.send(batch);
        }
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Hands events on, and knows how far they were.
struct Consumer<F> {
    consume: F,
    until: Until,
    /// The figures of what was consumed.
    consumed: Tally,
    /// Why it ended early, if it did.
    partial: Option<Partial>,
    /// A program waits until its events are read: they are, though nobody wants them any more.
    reads_on: bool,
    /// Events are read and not handed on.
    discards: bool,
}

impl<F: FnMut(&Slice<'_>) -> ControlFlow<()>> Consumer<F> {
    /// Hands the events of a batch on, and tells whether more are wanted.
    fn take(&mut self, batch: &Batch) -> ControlFlow<()> {
        let mut objects = &batch.objects[..];
        for (events, tally) in batch.events.chunks(batch.slice).zip(&batch.tallies) {
            if self.discards {
                return ControlFlow::Continue(());
            }
            if let Some(partial) = self.until.has_to_end() {
                self.partial = Some(partial);
                return self.end();
            }
            let first = EventId(self.consumed.events);
            let slice = Slice { first, events, first_variable: VarId(batch.first_variable), objects };
            let enough = (self.consume)(&slice);
            self.consumed = *tally;
            objects = &[];
            if enough.is_break() {
                return self.end();
            }
        }
        ControlFlow::Continue(())
    }

    fn end(&mut self) -> ControlFlow<()> {
        self.discards = self.reads_on && self.partial != Some(Partial::Interrupted);
        if self.discards { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// A trace on its way to the checkers.
struct Reader<'a> {
    source: &'a mut Source,
    reading: Reading<'a>,
    input: Opened,
    /// [`Counter::count`], or [`Counter::number`] where an earlier pass has counted.
    count: fn(&mut Counter, &[Event]) -> Tally,
    wellformed: Wellformed,
    commuting: Commuting,
    filter: Option<Filter<'a>>,
    counter: Counter,
    objects: Objects,
    progress: Progress,
    partial: Option<Partial>,
}

impl<'a> Reader<'a> {
    fn open(source: &'a mut Source, reading: Reading<'a>, known: Option<Names>) -> Result<Self, Error> {
        let what = match reading.until {
            Until::End => source.given.clone(),
            Until::Event(..) => format!("explaining {}", source.given),
        };
        let progress = Progress::new(&what, source.length());
        let mut input = source.open()?;
        let count = if known.is_some() { Counter::number } else { Counter::count };
        if let Some(names) = known {
            input.know(names);
        }
        Ok(Reader {
            source,
            reading,
            input,
            count,
            wellformed: Wellformed::new(reading.discipline),
            commuting: Commuting::default(),
            filter: reading.spec.map(Filter::new),
            counter: Counter::default(),
            objects: Objects::default(),
            progress,
            partial: None,
        })
    }

    /// Reads the next events; false if there are no more to be read.
    fn next(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        let Reader { source, reading, input, .. } = self;
        let first = EventId(self.counter.tally.events);
        let left = match reading.until {
            Until::End => u64::MAX,
            Until::Event(end, _) => end.0.saturating_sub(first.0),
        };
        if left == 0 {
            return Ok(false);
        }
        // A block of names only has no events: they are told with the next ones.
        batch.events.clear();
        while batch.events.is_empty() {
            if let Some(partial) = reading.until.has_to_end()
                && !(partial == Partial::OutOfMemory && input.is_checked())
            {
                self.partial = Some(partial);
                return Ok(false);
            }
            match input.next_block(&mut batch.events) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(_) if reading.until.has_to_end() == Some(Partial::Interrupted) => {
                    self.partial = Some(Partial::Interrupted);
                    return Ok(false);
                }
                Err(error)
                    if error.kind == ErrorKind::Truncated && reading.discipline == Discipline::Lenient =>
                {
                    self.partial = Some(Partial::CutOff(error.problem));
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        batch.events.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        if !input.is_checked() {
            (self.wellformed.check(first, &mut batch.events, input.names()))
                .map_err(|broken| source.broken(input.place(broken.index), broken))?;
            if reading.commuting == Told::Yes {
                self.commuting.resolve(&mut batch.events);
            }
        }
        if let Some(filter) = &mut self.filter {
            filter.apply(&mut batch.events, input.names());
        }
        batch.tallies.clear();
        let counter = &mut self.counter;
        match input.figures() {
            // Ctrl-C is the program's concern while it runs: there is no need for small slices.
            Some(figures) if self.filter.is_none() => {
                batch.slice = batch.events.len();
                batch.tallies.push(counter.know(&batch.events, figures));
            }
            _ => {
                batch.slice = SLICE;
                let tallies = batch.events.chunks(SLICE).map(|events| (self.count)(counter, events));
                batch.tallies.extend(tallies);
            }
        }
        batch.objects.clear();
        if reading.objects == Told::Yes {
            let (first_variable, new) = self.objects.new_variables(input.names());
            batch.first_variable = first_variable.0;
            batch.objects.extend_from_slice(new);
        }
        self.progress.at(input.bytes_read(), self.counter.tally.events);
        Ok(true)
    }

    /// What was read.
    fn finish(self) -> Pass {
        let Reader { wellformed, filter, input, .. } = self;
        Pass {
            format: input.format(),
            names: input.into_names(),
            tally: self.counter.tally,
            repairs: Repairs { total: wellformed.repairs, kinds: wellformed.repairs_by_kind().collect() },
            ignored_accesses: filter.as_ref().map_or(0, |filter| filter.ignored_accesses),
            used: filter.map(Filter::used).unwrap_or_default(),
            partial: self.partial,
            thread_entries: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use atomvet_trace::wellformed::Figures;
    use atomvet_trace::{Op, RegionId, SiteId};

    use super::*;
    use crate::run::copy::Readable;
    use crate::spool::Live;

    /// A program that enters a block in each of its batches, of which so many are read in time.
    struct Program {
        names: Names,
        wellformed: Wellformed,
        made: usize,
        in_time: usize,
    }

    const BATCHES: usize = 20;
    const IN_A_BATCH: usize = 3000;

    impl Live for Program {
        fn next_block(&mut self, block: &mut Vec<Event>) -> Result<bool, Error> {
            let thread = self.names.threads.intern("main");
            let event = |op| Event { thread, op, site: SiteId::NONE };
            block.clear();
            block.extend([Op::Begin(RegionId::NONE), Op::End].map(event));
            block.resize_with(IN_A_BATCH, || event(Op::Local));
            self.wellformed.check(EventId(0), block, &self.names).expect("nothing is wrong with it");
            self.made += 1;
            Ok(self.made <= BATCHES)
        }

        fn names(&self) -> &Names {
            &self.names
        }

        fn into_names(self: Box<Self>) -> Names {
            self.names
        }

        fn bytes_read(&self) -> u64 {
            0
        }

        fn figures(&self) -> Figures {
            self.wellformed.figures
        }

        fn keeps_up(&self) -> bool {
            self.made < self.in_time
        }
    }

    #[test]
    fn a_program_is_read_whole_whoever_reads_it() {
        for in_time in [0, 1, BATCHES / 2, BATCHES, usize::MAX] {
            let program =
                Program { names: Names::default(), wellformed: Wellformed::default(), made: 0, in_time };
            let mut source = Source::running("program", Box::new(program), Readable::none());
            let mut next = 0;
            let pass = run(&mut source, Reading::default(), |slice| {
                assert_eq!(slice.first.0, next);
                next += slice.events.len() as u64;
                ControlFlow::Continue(())
            });
            let Tally { events, blocks, outermost_blocks, unary, threads, .. } =
                pass.expect("it is read").tally;
            let (all, batches) = ((BATCHES * IN_A_BATCH) as u64, BATCHES as u64);
            assert_eq!((next, events), (all, all));
            assert_eq!([blocks, outermost_blocks, unary, threads], [batches, batches, all - 2 * batches, 1]);
        }
    }
}
