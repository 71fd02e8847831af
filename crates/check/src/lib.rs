//! Atomicity checkers: events in, findings out. Pure: no I/O, no printing, no clock, so that the
//! same code runs over a trace and inside a live process.
//!
//! ```text
//! Event ──► lower ──► Rules (observed/*.rs) ──► Findings ──► witness ──► verify
//! ```
//!
//! An algorithm for observed traces implements [`Rules`], the operations that the papers speak
//! of; [`lower`] reduces everything richer (waits, barriers, read-write locks, …) to them, once
//! for all. [`registry`] is the one table of all checkers.

pub mod agreement;
mod clock;
pub mod enumerate;
pub mod finding;
mod graph;
mod history;
pub mod idioms;
pub mod lower;
pub mod notation;
pub mod observed;
pub mod oracle;
pub mod predictive;
mod prefetch;
pub mod registry;
mod sparse;
pub mod verify;
pub mod witness;

use atomvet_trace::{Conflicts, Event, EventId, VarId};

pub use finding::{Block, Finding, Findings, Here, Strength};
pub use lower::{Access, Channel, ChannelKind, Observed, Rules};

/// What a checker is: shown by the command, the documentation and the tests alike.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name that selects it.
    pub name: &'static str,
    /// What world its verdicts speak of.
    pub kind: Kind,
    /// Where it was published.
    pub paper: &'static str,
    /// What its verdict means, and what it does not.
    pub guarantee: &'static str,
    /// What the blocks it blames have to do with those that are violated.
    pub blame: Blame,
    /// It knows that a trace is not serializable at the first event at which that is so.
    pub tells_first_event: bool,
    /// What an event costs, and what memory grows with.
    pub cost: &'static str,
}

/// How the blocks that a checker blames relate to those that truly are violated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blame {
    /// Exactly those, nested ones included.
    Exact,
    /// Some of the outermost ones, and no others.
    Some,
    /// All of the outermost ones, and perhaps others.
    More,
    /// It blames no block.
    None,
}

/// Whether a checker judges what happened or what could have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The recorded interleaving.
    Observed,
    /// Other interleavings of the recorded execution.
    Predictive,
}

/// How events are to be understood.
#[derive(Clone, Copy, Debug, Default)]
pub struct Config {
    /// Two updates of one commuting kind do not conflict with each other.
    pub commuting_updates: bool,
    /// A wait, join or barrier restarts every open block of its thread: the pieces are judged.
    pub split_at_waits: bool,
    /// With data conflicts, locks and barriers order nothing.
    pub conflicts: Conflicts,
}

/// A checker over raw events. May assume a well-formed trace.
pub trait Checker: Sized + Send + 'static {
    /// What this checker is.
    const INFO: Info;
    /// It heeds [`Checker::objects`]; what others would be told need not be found out.
    const HEEDS_OBJECTS: bool = false;
    /// A checker that has seen nothing.
    fn new(config: &Config) -> Self;
    /// Takes the next event.
    fn event(&mut self, at: EventId, event: Event, out: &mut Findings);
    /// Told of events a little ahead, so that memory can be fetched.
    #[inline(always)]
    fn prefetch(&self, _event: Event) {}
    /// Told, before events that use them, to which object each new variable belongs: variable
    /// `first` to `objects[0]`, and so on. An object is named by its first variable.
    fn objects(&mut self, _first: VarId, _objects: &[VarId]) {}
    /// The trace is over, or cut off: reports what is left and the figures of its paper.
    fn finish(self, out: &mut Findings) -> Stats;
    /// There is no memory to go on: reports what is known without much work.
    fn stop(self, out: &mut Findings) -> Stats;
}

/// A [`Checker`] behind a pointer: one dynamic call per block of events, a static loop inside.
pub trait Analysis: Send {
    /// What this checker is.
    fn info(&self) -> &'static Info;
    /// Takes the events from position `first` on.
    fn events(&mut self, first: EventId, block: &[Event], out: &mut Findings);
    /// See [`Checker::HEEDS_OBJECTS`].
    fn heeds_objects(&self) -> bool;
    /// See [`Checker::objects`].
    fn objects(&mut self, first: VarId, objects: &[VarId]);
    /// See [`Checker::finish`].
    fn finish(self: Box<Self>, out: &mut Findings) -> Stats;
    /// See [`Checker::stop`].
    fn stop(self: Box<Self>, out: &mut Findings) -> Stats;
}

/// How far ahead of an event its memory is asked for.
const PREFETCH_DISTANCE: usize = 8;

impl<C: Checker> Analysis for C {
    fn info(&self) -> &'static Info {
        &C::INFO
    }

    fn events(&mut self, first: EventId, block: &[Event], out: &mut Findings) {
        for (i, &event) in block.iter().enumerate() {
            if let Some(&ahead) = block.get(i + PREFETCH_DISTANCE) {
                self.prefetch(ahead);
            }
            self.event(EventId(first.0 + i as u64), event, out);
        }
    }

    fn heeds_objects(&self) -> bool {
        C::HEEDS_OBJECTS
    }

    fn objects(&mut self, first: VarId, objects: &[VarId]) {
        Checker::objects(self, first, objects);
    }

    fn finish(self: Box<Self>, out: &mut Findings) -> Stats {
        Checker::finish(*self, out)
    }

    fn stop(self: Box<Self>, out: &mut Findings) -> Stats {
        Checker::stop(*self, out)
    }
}

/// Named figures, in the order in which they are shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats(pub Vec<(&'static str, u64)>);
