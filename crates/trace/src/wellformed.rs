//! Lock, fork, join, begin and end discipline, checked once in front of all checkers.

use crate::{Event, EventId, Names};

/// What to do with a trace that breaks the discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Discipline {
    /// Stop with an error.
    #[default]
    Strict,
    /// Repair as `docs/event-model.md` says, and count.
    Lenient,
}

/// What a thread, lock or block is in the middle of, and what was repaired.
#[derive(Debug, Default)]
pub struct Wellformed {
    discipline: Discipline,
    /// Repairs made so far.
    pub repairs: u64,
}

/// Event `index` of the block breaks a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// Its index in the block that was checked.
    pub index: usize,
    /// Which rule, and how: a lowercase fragment.
    pub problem: String,
    /// What to do next.
    pub help: String,
}

impl Wellformed {
    /// At the start of a trace.
    pub fn new(discipline: Discipline) -> Self {
        Wellformed { discipline, repairs: 0 }
    }

    /// Checks the next events of the trace, which start at position `first`, in place: re-entrant
    /// lock operations become [`crate::Op::Reacquire`] and [`crate::Op::Rerelease`], events that a
    /// repair leaves out become [`crate::Op::Skip`].
    pub fn check(&mut self, _first: EventId, _block: &mut [Event], _names: &Names) -> Result<(), Broken> {
        let _ = self.discipline;
        todo!()
    }
}
