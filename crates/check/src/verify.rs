//! The independent judge of witnesses and serial orders: naive, and sharing no code with what it
//! judges. It knows `docs/event-model.md` and nothing else.

use atomvet_trace::{Event, EventId};

use crate::Config;
use crate::witness::Witness;

/// Confirms witnesses in one pass over the trace.
pub struct Verifier {}

impl Verifier {
    /// Judges these witnesses.
    pub fn new(_config: &Config, _witnesses: &[Witness]) -> Self {
        todo!()
    }

    /// Takes the next events of the trace.
    pub fn events(&mut self, _first: EventId, _block: &[Event]) {
        todo!()
    }

    /// One judgement per witness, in their order; an error says what does not hold.
    pub fn finish(self) -> Vec<Result<(), String>> {
        todo!()
    }
}

/// Confirms that `order` (transactions, each by its first event) lists every transaction of the
/// trace once and keeps the order of all pairs of events that the event model orders.
pub fn serial_order(_config: &Config, _events: &[Event], _order: &[EventId]) -> Result<(), String> {
    todo!()
}
