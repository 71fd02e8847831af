//! From a predicted violation to its proof: a *schedule*, a reordering of the recorded events that shows it.
//!
//! A schedule takes a prefix of each thread's events and merges them, so that the program could have run
//! like this:
//!
//! - locks, waits, forks, joins and barriers allow it. A join waits for all that its thread had done at the
//!   recorded join. The members of a recorded barrier episode meet again: all arrive before one leaves, and the next
//!   episode of the barrier opens only after that;
//! - each life of a variable is a variable of its own: an access comes after the alloc that began its life, and before the free
//!   that ended it. Two lives may overlap, since the allocator could have given them different addresses;
//! - every read, and the read part of every update, sees the write that it saw in the recording, so that its
//!   thread goes on as recorded. A read that sees anything else *diverges*: it must be the last of its thread,
//!   because nobody knows what the thread would do next. What a diverging update writes is seen by nobody as recorded.
//!
//! ```text
//! recorded   T1: [ l{r(x)} l{w(x)} ]                 a schedule    T1: [ l{r(x)}         l{w(x)
//!            T2:                      l{w(x)}                      T2:            l{w(x)}
//! ```
//!
//! A *relaxed* schedule ([`Values::Relaxed`]) is one if the blocks of the pattern do the same with other values: reads of the
//! pattern's own variables, in the outermost blocks of the pattern's events, may see any write. All other reads see what they
//! saw, so that queues, flags and published pointers keep their order. A lost update in a run that went well has no other
//! schedule: each thread read what the one before it wrote.
//!
//! ```text
//! recorded   T1: [ r(x) w(x) ]                       relaxed       T1: [ r(x)           w(x)
//!            T2:               [ r(x) w(x) ]                       T2:        [ r(x) w(x) ]        r(x) saw T1's write
//! ```
//!
//! A race is shown by a schedule that ends with the two accesses, one right after the other; a deadlock by one after which each
//! thread of the cycle can only take the lock that it wants, and another one of them holds it.
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
//! **Cost.** [`Recorded::new`]: one pass, 32 bytes per event. A search: at most its budget, in steps; a step is an event
//! that is tried, or taken into account for a cut.

use atomvet_trace::{EventId, Op, RegionId, SiteId, VarId};

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
mod tail;
#[cfg(test)]
mod tests;
mod trace;
mod window;

pub use judge::verify;
pub use recorded::Recorded;
pub use trace::Trace;

/// What a schedule has to show, and how close to the recording it must be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Goal {
    /// What it shows.
    pub shows: Shows,
    /// Pairs of recorded events: both must happen, in this order. For the pattern e1 · f · e2: (e1, f), (f, e2).
    pub order: Vec<(EventId, EventId)>,
    /// What reads may see.
    pub values: Values,
}

/// What a schedule shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shows {
    /// A block is not atomic. That the order violates it is up to whoever asks; [`verify`] tells.
    Violation {
        /// Where the block begins: its begin event; or, for a critical section outside every block, the acquire.
        block: EventId,
    },
    /// The two events of the only pair happen one right after the other, at the end.
    Race,
    /// Each of some threads holds a lock and can only go on with another one that one of the others holds.
    Deadlock {
        /// Per thread: the acquire of the lock that it has, and the event with which it takes the one that it wants.
        waiting: Vec<(EventId, EventId)>,
    },
}

/// What reads may see in a schedule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Values {
    /// What they saw, unless their thread stops there.
    AsRecorded,
    /// The same, but for reads of the pattern's own variables in the outermost blocks of the pattern's events. For a deadlock:
    /// but for reads of its threads between the acquire of the lock that they have and that of the one that they want.
    Relaxed,
    /// Anything: what locks, forks, joins and barriers allow.
    Any,
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

impl Goal {
    /// Two accesses that race.
    pub fn race(race: &predicted::Race) -> Goal {
        let order = vec![(race.first.event.at, race.second.event.at)];
        Goal { shows: Shows::Race, order, values: Values::AsRecorded }
    }

    /// Threads that wait for each other. Nothing if one of them takes back the lock that it has, after a wait, with the same event
    /// with which it takes the one that it wants: no schedule stops in between.
    pub fn deadlock(deadlock: &predicted::Deadlock) -> Option<Goal> {
        let waiting: Vec<_> = deadlock.cycle.iter().map(|it| (it.has.event.at, it.wants.event.at)).collect();
        let stops = waiting.iter().all(|(has, wants)| has != wants);
        let shows = Shows::Deadlock { waiting };
        stops.then_some(Goal { shows, order: Vec::new(), values: Values::AsRecorded })
    }

    /// The same with other demands on values.
    pub fn with(&self, values: Values) -> Goal {
        Goal { values, ..self.clone() }
    }
}

impl Recorded<'_> {
    /// What a schedule of a predicted pattern has to show. Nothing if no order of its events shows it, or if no schedule could
    /// be judged by its block.
    pub fn goal(&self, pattern: &predicted::Pattern) -> Option<Goal> {
        let at = |i: usize| pattern.moments.get(i).map(|moment| moment.event.at);
        let order: Vec<_> =
            pattern.order.iter().filter_map(|&(first, second)| at(first).zip(at(second))).collect();
        let block = pattern.block.begin;
        let judgeable = pattern.is_chain() && self.is_judgeable(block, &order);
        judgeable.then_some(Goal { shows: Shows::Violation { block }, order, values: Values::AsRecorded })
    }

    /// The outermost block that an event is in.
    pub fn outermost_block(&self, event: EventId) -> Option<(RegionId, SiteId)> {
        let event = u32::try_from(event.0).ok().filter(|&event| self.is_event(event))?;
        let (mut closed, mut outermost) = (0, None);
        for &before in self.of_thread(self.thread(event))[..index(self.position[index(event)])].iter().rev() {
            match self.op(before) {
                Op::End => closed += 1,
                Op::Begin(_) if closed > 0 => closed -= 1,
                Op::Begin(region) => outermost = Some((region, self.events[index(before)].site)),
                _ => {}
            }
        }
        outermost
    }

    /// Whether a schedule could be judged by the goal's block. What is left of a critical section after a block, a
    /// wait or the release of its first lock has no begin to judge it by.
    fn is_judgeable(&self, block: EventId, order: &[(EventId, EventId)]) -> bool {
        let event = |at: EventId| self.events.get(at.0 as usize);
        let Some(first) = event(block) else { return false };
        let Op::Acquire(lock, mode) = first.op else { return matches!(first.op, Op::Begin(_)) };
        let own = |at: &EventId| event(*at).is_some_and(|event| event.thread == first.thread);
        let last = order.iter().flat_map(|&(one, other)| [one, other]).filter(own).max();
        let inside = &self.events[block.0 as usize..=last.unwrap_or(block).0.max(block.0) as usize];
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

    /// The events of a schedule as a trace of their own: see the head of this file. Ids from `first_new` on are new variables.
    pub fn trace(&self, schedule: &[EventId], goal: &Goal, first_new: VarId) -> Trace {
        trace::of_schedule(self.events, schedule, goal, first_new)
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
