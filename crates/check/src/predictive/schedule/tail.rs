//! Verifying a schedule without going through all that comes before it differs from the recording.
//!
//! Up to some event a schedule is the recording. What happened there is a fact, so only its outcome has to be known: which blocks
//! are open, which locks are held, what each variable holds that is accessed later. A *shorter recording* has the events that
//! make these so, and all events from there on:
//!
//! ```text
//! recorded   T1: b  acq(l) r(x) w(x)  acq(m) rel(m)  rel(l)  r(y)  e │ b  r(x) …
//!            T2:                                       b acq(m) r(y) │ w(x) …
//! shorter    T1:                w(x)                                 │ b  r(x) …
//!            T2:                                       b acq(m)      │ w(x) …
//! ```
//!
//! The judge is asked about that one. *Guarantee*: what it accepts, it accepts of the whole recording. Each order between two events
//! in the shorter one is an order between them in the whole one, so a block that is violated is violated there; locks, lives
//! and values are as they were. What it does not accept is put before it again, as a whole.
//!
//! Cost: linear in what is kept, besides one comparison for each event before the cut.

use atomvet_trace::{Event, EventId, Op};

use super::recorded::{NEVER, Recorded, index};
use super::{Goal, Shows, id, judge};
use crate::Config;

impl Recorded<'_> {
    /// As [`judge::verify`] does. `config` is the one that this was made with.
    pub fn verify(&self, config: &Config, schedule: &[EventId], goal: &Goal) -> Result<Vec<EventId>, String> {
        self.verify_tail(config, schedule, goal)
            .map_or_else(|| judge::verify(config, self.events, schedule, goal), Ok)
    }

    /// None if the shorter recording does not suffice to accept the schedule.
    pub(super) fn verify_tail(
        &self,
        config: &Config,
        schedule: &[EventId],
        goal: &Goal,
    ) -> Option<Vec<EventId>> {
        let of_goal = events_of(goal);
        let last = schedule.iter().chain(&of_goal).max()?;
        let end = u32::try_from(last.0).ok().filter(|&end| index(end) < self.events.len())?;
        let (same, cut) = self.common_start(schedule, *of_goal.iter().min()?);
        let mut kept = self.outcome(cut, end)?;
        let before = kept.len();
        kept.extend(cut..=end);
        let renumbered = |at: EventId| {
            let at = u32::try_from(at.0).ok()?;
            kept.binary_search(&at).ok().map(|at| EventId(at as u64))
        };
        let events: Vec<Event> = kept.iter().map(|&event| self.events[index(event)]).collect();
        let shorter: Option<Vec<EventId>> = (0..before as u64)
            .map(|at| Some(EventId(at)))
            .chain(schedule[same..].iter().map(|&at| renumbered(at)))
            .collect();
        let pair = |&(one, other): &(EventId, EventId)| renumbered(one).zip(renumbered(other));
        let shows = match &goal.shows {
            Shows::Violation { block } => Shows::Violation { block: renumbered(*block)? },
            Shows::Race => Shows::Race,
            Shows::Deadlock { waiting } => {
                Shows::Deadlock { waiting: waiting.iter().map(pair).collect::<Option<_>>()? }
            }
        };
        let order = goal.order.iter().map(pair).collect::<Option<_>>()?;
        let goal = Goal { shows, order, values: goal.values };
        let relaxed = judge::verify(config, &events, &shorter?, &goal).ok()?;
        relaxed.into_iter().map(|at| kept.get(at.0 as usize).copied().map(id)).collect()
    }

    /// How many events of the schedule are the recording's first ones, but for those from `most` on; and the first event that is
    /// not among them.
    fn common_start(&self, schedule: &[EventId], most: EventId) -> (usize, u32) {
        let mut same = 0;
        for event in (0..).take_while(|&event| u64::from(event) < most.0) {
            if !self.is_event(event) {
                continue;
            }
            if schedule.get(same) != Some(&id(event)) {
                return (same, event);
            }
            same += 1;
        }
        (same, u32::try_from(most.0).unwrap_or(NEVER))
    }

    /// The events before a cut that matter to those from there to `end`, sorted. None if a thread is at a barrier, or was at one in
    /// a block that is still open.
    fn outcome(&self, cut: u32, end: u32) -> Option<Vec<u32>> {
        let mut kept = self.turns[..self.turns.partition_point(|&turn| turn < cut)].to_vec();
        for thread in 0..self.threads() {
            let events = self.of_thread(thread);
            let done = events.partition_point(|&event| event < cut);
            let Some(&last) = events[..done].last() else { continue };
            if let Op::Barrier(_) = self.op(last) {
                return None;
            }
            let Some(&opened) = self.position.get(index(self.opened[index(last)])) else { continue };
            let mut waited = false;
            for &event in &events[index(opened)..done] {
                let op = self.op(event);
                match op {
                    Op::Barrier(_) => return None,
                    // Whatever comes after a wait takes the lock again.
                    _ if waited => kept.push(event),
                    Op::Read(..) | Op::Write(..) | Op::Update(..) => {}
                    Op::Alloc(_) | Op::Free(_) | Op::Escape(_) => {}
                    _ => kept.push(event),
                }
                waited = matches!(op, Op::Wait(_));
            }
        }
        for event in cut..=end {
            if let Some(location) = self.locations.get(index(self.location[index(event)])) {
                kept.extend(
                    [location.begin, self.seen[index(event)]].into_iter().filter(|&event| event < cut),
                );
            }
        }
        kept.sort_unstable();
        kept.dedup();
        Some(kept)
    }
}

/// All but the begin of the block.
fn events_of(goal: &Goal) -> Vec<EventId> {
    let waiting = match &goal.shows {
        Shows::Deadlock { waiting } => &waiting[..],
        Shows::Violation { .. } | Shows::Race => &[],
    };
    goal.order.iter().chain(waiting).flat_map(|&(one, other)| [one, other]).collect()
}
