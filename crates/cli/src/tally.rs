//! What a trace consists of, counted once, behind the specification: the figures that say how
//! much a verdict speaks of. Cost: one table lookup per event, and no jump that depends on what the event is: those come in no
//! order that a branch predictor could learn.

use atomvet_trace::wellformed::Figures;
use atomvet_trace::{Event, Op};

use crate::spec::quoted;

/// The figures of one trace, or of its first events.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// All events, those taken out included: event numbers go up to here.
    pub(crate) events: u64,
    /// Blocks entered.
    pub(crate) blocks: u64,
    /// Those of them that are inside no other.
    pub(crate) outermost_blocks: u64,
    /// Events outside every block.
    pub(crate) unary: u64,
    /// Threads that did something.
    pub(crate) threads: u64,
    /// Of a program that judges itself, the other figures are not known.
    pub(crate) is_live: bool,
}

/// Counts.
#[derive(Default)]
pub(crate) struct Counter {
    /// What was counted so far.
    pub(crate) tally: Tally,
    /// Per thread, one more than how many blocks it is in; 0 before its first event.
    depths: Vec<u32>,
}

impl Counter {
    /// Counts the next events, and tells the figures up to there.
    pub(crate) fn count(&mut self, events: &[Event]) -> Tally {
        let Counter { tally: so_far, depths } = self;
        let mut tally = Tally { events: so_far.events + events.len() as u64, ..*so_far };
        // The thread at hand; its depth is put back when another one comes.
        let (mut current, mut depth) = (usize::MAX, 0_u32);
        for event in events {
            let thread = event.thread.index();
            if thread != current {
                if let Some(known) = depths.get_mut(current) {
                    *known = depth;
                }
                if thread >= depths.len() {
                    depths.resize(thread + 1, 0);
                }
                (current, depth) = (thread, depths[thread]);
            }
            let is_event = !matches!(event.op, Op::Skip);
            let begins = matches!(event.op, Op::Begin(_));
            let ends = matches!(event.op, Op::End);
            tally.threads += u64::from(is_event & (depth == 0));
            depth = depth.max(u32::from(is_event));
            let is_outside = depth == 1;
            tally.blocks += u64::from(begins);
            tally.outermost_blocks += u64::from(begins & is_outside);
            tally.unary += u64::from(is_event & !begins & !ends & is_outside);
            // Behind the discipline check an end always has a begin.
            depth = depth + u32::from(begins) - u32::from(ends & !is_outside);
        }
        if let Some(known) = depths.get_mut(current) {
            *known = depth;
        }
        *so_far = tally;
        tally
    }

    /// Takes over what others have counted, the next events included.
    pub(crate) fn know(&mut self, events: &[Event], figures: Figures) -> Tally {
        let Figures { blocks, outermost_blocks, unary, threads } = figures;
        let events = self.tally.events + events.len() as u64;
        self.tally = Tally { events, blocks, outermost_blocks, unary, threads, is_live: false };
        self.tally
    }

    /// Only numbers the next events, where an earlier pass has counted them.
    pub(crate) fn number(&mut self, events: &[Event]) -> Tally {
        self.tally.events += events.len() as u64;
        self.tally
    }
}

impl Tally {
    /// Of a program that judges itself: its events are not counted, only its threads and the blocks that they entered.
    pub(crate) fn of_live(threads: u64, blocks: u64) -> Tally {
        Tally { threads, blocks, is_live: true, ..Tally::default() }
    }

    /// Outermost blocks and lone events.
    pub(crate) fn transactions(&self) -> u64 {
        self.outermost_blocks + self.unary
    }

    /// Why nothing could be wrong with such a trace, if nothing could.
    pub(crate) fn nothing_observed(&self) -> Option<Nothing> {
        if self.events == 0 && self.threads == 0 {
            Some(Nothing::NoEvents)
        } else if self.blocks == 0 {
            Some(Nothing::NoBlock)
        } else if self.threads < 2 {
            Some(Nothing::OneThread)
        } else {
            None
        }
    }
}

/// Why there was nothing to observe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Nothing {
    /// The trace is empty.
    NoEvents,
    /// Nothing in it is meant to be atomic.
    NoBlock,
    /// Nobody could interfere.
    OneThread,
}

impl Nothing {
    /// As in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Nothing::NoEvents => "no events",
            Nothing::NoBlock => "no block",
            Nothing::OneThread => "one thread only",
        }
    }

    /// What to do about it. `thread_entries` are the functions that were not checked because threads start with them.
    pub(crate) fn help(self, thread_entries: &[String]) -> String {
        match self {
            Nothing::NoEvents => "the trace is empty: check that the program was recorded".to_owned(),
            Nothing::NoBlock if !thread_entries.is_empty() => format!(
                "a thread's entry function is not checked by default, and no other function did anything that concerns \
                 several threads; left out: {}; to check them, put this line into atomvet.toml: {}",
                listed(thread_entries),
                atomic_line(thread_entries)
            ),
            Nothing::NoBlock => {
                "nothing in the trace is meant to be atomic: mark blocks with begin and end, or list \
                other ones in the specification"
                    .to_owned()
            }
            Nothing::OneThread => {
                "nobody could interfere: record a run in which several threads work".to_owned()
            }
        }
    }
}

/// How many names a message lists.
const LISTED: usize = 20;

/// Names in a message.
pub(crate) fn listed(names: &[String]) -> String {
    let mut list = names.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > LISTED {
        list.push_str(&format!(" and {} more", names.len() - LISTED));
    }
    list
}

/// The line of a specification that makes blocks of these functions. Beyond what a line can hold, of all.
pub(crate) fn atomic_line(names: &[String]) -> String {
    match names.len() {
        0..=LISTED => {
            format!("atomic = [{}]", names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "))
        }
        _ => "atomic = [\"*\"]".to_owned(),
    }
}
