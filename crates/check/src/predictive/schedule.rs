//! stub
#![allow(missing_docs)]
use crate::Config;
use atomvet_trace::{Event, EventId};
pub struct Goal {
    pub block: EventId,
    pub order: Vec<(EventId, EventId)>,
}
pub enum Outcome {
    Found(Vec<EventId>),
    None,
    OutOfBudget,
}
pub struct Recorded<'a>(&'a [Event]);
impl<'a> Recorded<'a> {
    pub fn new(_: &Config, events: &'a [Event]) -> Self {
        Recorded(events)
    }
    pub fn search(&self, _: &Goal, _: u64) -> (Outcome, u64) {
        (Outcome::None, 0)
    }
    pub fn trace(&self, _: &[EventId], _: &Goal) -> Vec<Event> {
        Vec::new()
    }
}
pub fn verify(_: &Config, _: &[Event], _: &[EventId], _: &Goal) -> Result<(), String> {
    Ok(())
}
