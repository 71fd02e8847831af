//! From a predicted violation to its proof: a *schedule*, a reordering of the recorded events that shows it.
//!
//! A schedule takes a prefix of each thread's events and merges them, so that the program could have run
//! like this:
//!
//! - locks, waits, forks, joins and barriers allow it. A join waits for all that its thread had done at the
//!   recorded join. The members of a recorded barrier episode meet again: all arrive before one leaves, and the next
//!   episode of the barrier opens only after that;
//! - variables live the same lives: allocs and frees of a variable keep their order, and an access happens in
//!   the life in which it was recorded;
//! - every read, and the read part of every update, sees the write that it saw in the recording, so that its
//!   thread goes on as recorded. A read that sees anything else *diverges*: it must be the last of its thread,
//!   because nobody knows what the thread would do next. What a diverging update writes is seen by nobody as recorded.
//!
//! ```text
//! recorded   T1: [ l{r(x)} l{w(x)} ]                 a schedule    T1: [ l{r(x)}         l{w(x)
//!            T2:                      l{w(x)}                      T2:            l{w(x)}
//! ```
//!
//! Where the blamed block is a critical section outside every block, the [trace](Recorded::trace) of a schedule has a
//! begin right before the acquire and an end right after the release that goes with it (right before, if that is
//! a wait), so that an observed checker can judge it.
//!
//! **Guarantee.** What is found keeps all of the above and the goal: [`verify`], which shares no code with the
//! search, says so of every schedule in the tests, and is to be asked before one is shown. [`Outcome::None`]
//! means that there is none. Only traces that lenient reading had to repair may have schedules that [`verify`] refuses.
//!
//! **How.** The recording is replayed up to a cut a little before the events of the goal, and the search starts
//! there (`search.rs`), with the events that can matter (`window.rs`). If that fails, the cut moves back, in the end to
//! the start of the trace. So proofs near their goal are cheap wherever they are, and only
//! "there is none" needs the whole trace.
//!
//! **Cost.** [`Recorded::new`]: one pass, 28 bytes per event. A search: at most its budget, in steps; a step is an event
//! that is tried, or taken into account for a cut.

use atomvet_trace::{Event, EventId, Op, RegionId};

use self::pattern::Pattern;
use self::recorded::index;
use self::search::Verdict;
use self::window::Window;
use super::predicted;

mod judge;
mod machine;
mod pattern;
mod recorded;
mod search;
#[cfg(test)]
mod tests;
mod window;

pub use judge::verify;
pub use recorded::Recorded;

/// What a schedule has to show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Goal {
    /// Where the blamed block begins: its begin event; or, for a critical section outside every block, the acquire.
    pub block: EventId,
    /// Pairs of recorded events: both must happen, in this order. For the pattern e1 · f · e2: (e1, f), (f, e2).
    /// That this violates the block is up to whoever asks; [`verify`] tells.
    pub order: Vec<(EventId, EventId)>,
}

/// What a search came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The events of a schedule, in its order. It ends when the goal is reached.
    Found(Vec<EventId>),
    /// There is no schedule.
    None,
    /// There may be one.
    OutOfBudget,
}

/// How far the cut moves back the first time; later times it is [`FARTHER`] times as far as the time before.
const FIRST_RETREAT: u32 = 64;
const FARTHER: u32 = 4;
/// A unit that is longer than this is first cut in two.
const LONG_UNIT: u32 = 1024;

impl Recorded<'_> {
    /// What a schedule of a predicted pattern has to show. Nothing if no order of its events shows it, or if no schedule could
    /// be judged by its block.
    pub fn goal(&self, pattern: &predicted::Pattern) -> Option<Goal> {
        let at = |i: usize| pattern.moments.get(i).map(|moment| moment.event.at);
        let order = pattern.order.iter().filter_map(|&(first, second)| at(first).zip(at(second))).collect();
        let goal = Goal { block: pattern.block.begin, order };
        (pattern.is_chain() && self.is_judgeable(&goal)).then_some(goal)
    }

    /// Whether a schedule could be judged by the goal's block. What is left of a critical section after a block, a
    /// wait or the release of its first lock has no begin to judge it by.
    fn is_judgeable(&self, goal: &Goal) -> bool {
        let event = |at: EventId| self.events.get(at.0 as usize);
        let Some(first) = event(goal.block) else { return false };
        let Op::Acquire(lock, mode) = first.op else { return matches!(first.op, Op::Begin(_)) };
        let own = |at: &EventId| event(*at).is_some_and(|event| event.thread == first.thread);
        let last = goal.order.iter().flat_map(|&(one, other)| [one, other]).filter(own).max();
        let inside =
            &self.events[goal.block.0 as usize..=last.unwrap_or(goal.block).0.max(goal.block.0) as usize];
        let ends = |op: Op| matches!(op, Op::Wait(_)) || op == Op::Release(lock, mode);
        !inside.iter().any(|event| event.thread == first.thread && ends(event.op))
    }

    /// Searches a schedule in at most `budget` steps. Also says how many were made.
    pub fn search(&self, goal: &Goal, budget: u64) -> (Outcome, u64) {
        let Some(pattern) = Pattern::new(self, goal) else { return (Outcome::None, 0) };
        let mut left = budget;
        if self.is_impossible(&pattern, &mut left) {
            return (Outcome::None, budget - left);
        }
        let mut outcome = Outcome::OutOfBudget;
        for cut in self.cuts(&pattern) {
            // The last cut gets all that is left, any other leaves most of it to those after it.
            let mut share = if cut == 0 { left } else { left / 4 };
            left -= share;
            let verdict = self.search_from(cut, &pattern, &mut share);
            left += share;
            match verdict {
                Verdict::Found(found) => {
                    outcome = Outcome::Found(self.replayed(cut).chain(found).map(id).collect());
                    break;
                }
                Verdict::Exhausted if cut == 0 => outcome = Outcome::None,
                Verdict::Exhausted | Verdict::OutOfBudget => {}
            }
        }
        (outcome, budget - left)
    }

    fn is_impossible(&self, pattern: &Pattern, left: &mut u64) -> bool {
        let mut share = *left / 4;
        *left -= share;
        let impossible = pattern.is_impossible(self, &mut share);
        *left += share;
        impossible
    }

    fn search_from(&self, cut: u32, pattern: &Pattern, steps: &mut u64) -> Verdict {
        match Window::new(self, pattern, cut, steps) {
            Some(window) => search::search(self, &window, pattern, steps),
            None => Verdict::OutOfBudget,
        }
    }

    /// The events of a schedule as a trace of their own: see the head of this file.
    pub fn trace(&self, schedule: &[EventId], goal: &Goal) -> Vec<Event> {
        as_trace(self.events, schedule, goal).0
    }

    /// Where to cut, best first, the start of the trace last.
    fn cuts(&self, pattern: &Pattern) -> Vec<u32> {
        let first = pattern.events[0];
        let unit = pattern.events.iter().map(|&event| self.unit[index(event)]).fold(first, u32::min);
        let mut cuts = Vec::new();
        if first - unit > LONG_UNIT {
            cuts.push(first);
        }
        let (mut cut, mut retreat) = (unit, FIRST_RETREAT);
        while cut > 0 {
            cuts.push(cut);
            cut = cut.saturating_sub(retreat);
            retreat = retreat.saturating_mul(FARTHER);
        }
        cuts.push(0);
        cuts
    }

    /// What happened before a cut.
    fn replayed(&self, cut: u32) -> impl Iterator<Item = u32> {
        (0..cut).filter(|&event| self.is_event(event))
    }
}

fn id(event: u32) -> EventId {
    EventId(event.into())
}

/// The events of a schedule, and where the goal's block begins among them, if it does. Events that were not
/// recorded are left out.
fn as_trace(events: &[Event], schedule: &[EventId], goal: &Goal) -> (Vec<Event>, Option<EventId>) {
    let recorded = |id: EventId| usize::try_from(id.0).ok().and_then(|id| events.get(id)).copied();
    let section = match recorded(goal.block) {
        Some(Event { thread, op: Op::Acquire(lock, mode), .. }) => Some((thread, lock, mode)),
        _ => None,
    };
    let mut trace = Vec::with_capacity(schedule.len() + 2);
    let (mut begins, mut inside) = (None, false);
    for &id in schedule {
        let Some(event) = recorded(id) else { continue };
        let mut add = |op: Op| trace.push(Event { op, ..event });
        let of_section = |(thread, lock, mode)| {
            event.thread == thread && (event.op == Op::Release(lock, mode) || event.op == Op::Wait(lock))
        };
        let ends = inside && section.is_some_and(of_section);
        inside &= !ends;
        let waits = matches!(event.op, Op::Wait(_));
        if ends && waits {
            add(Op::End);
        }
        if id == goal.block && section.is_some() {
            add(Op::Begin(RegionId::NONE));
            inside = true;
        }
        add(event.op);
        if ends && !waits {
            add(Op::End);
        }
        if id == goal.block {
            // One back from the acquire, or the begin itself.
            let back = if section.is_some() { 2 } else { 1 };
            begins = Some(EventId((trace.len() - back) as u64));
        }
    }
    (trace, begins)
}
