//! A goal in terms of a recording, with what follows from it; and a cheap proof that it is impossible.
//!
//! If an event in a critical section must come before one in a section of the same lock in another thread, then
//! the first section must end before the second begins:
//!
//! ```text
//! T1:  l{ a    c }              a · b · c is impossible: b must come after the release, which comes after c
//! T2:       l{ b }
//! ```
//!
//! Such pairs of release and acquire join the goal's, and so on until nothing new follows: they guide the search,
//! and often leave it nothing to do. For then the events that every schedule must have are gone through in any
//! order that respects the pairs, threads, forks, joins and barriers, and the writes before their reads,
//! without locks and without a look at what is overwritten. What is not reached even so, no schedule reaches.

use atomvet_trace::{EventId, Mode, Op};

use super::recorded::{NEVER, Recorded, index};
use super::window::Required;
use super::{Goal, Shows, Values};

/// What a schedule has to reach.
#[derive(Debug)]
pub(super) struct Pattern {
    /// The events that have to happen, sorted.
    pub(super) events: Vec<u32>,
    /// Pairs of them: the first happens before the second.
    pub(super) pairs: Vec<(u32, u32)>,
    /// A race: these two end the schedule, one right after the other.
    pub(super) last: Option<(u32, u32)>,
    /// Events that must not happen, though their threads get there: what comes before them may not diverge.
    pub(super) never: Vec<u32>,
    relaxed: Relaxed,
}

/// Reads that may see any write.
#[derive(Debug)]
enum Relaxed {
    None,
    /// Of these locations, in these units (each known by its thread and its first event).
    Own {
        locations: Vec<u32>,
        units: Vec<(u32, u32)>,
    },
    /// Between these two events of a thread.
    Between(Vec<(u32, u32)>),
    All,
}

impl Pattern {
    /// None if the goal speaks of events that were not recorded, or is impossible already for its locks.
    pub(super) fn new(recorded: &Recorded<'_>, goal: &Goal) -> Option<Pattern> {
        let known = |id: EventId| u32::try_from(id.0).ok().filter(|&event| recorded.is_event(event));
        let mut pairs = Vec::with_capacity(goal.order.len());
        for &(first, second) in &goal.order {
            pairs.push((known(first)?, known(second)?));
        }
        let relaxed = Relaxed::new(recorded, goal, &pairs);
        let (mut events, mut never, mut last) = (Vec::new(), Vec::new(), None);
        match &goal.shows {
            Shows::Violation { block } => events.push(known(*block)?),
            Shows::Race => {
                let &[(first, second)] = &pairs[..] else { return None };
                // Nothing but the second access itself is left of its thread when the first one happens.
                pairs.extend(recorded.previous(second).map(|previous| (previous, first)));
                last = Some((first, second));
            }
            Shows::Deadlock { waiting } => {
                for &(_, wants) in waiting {
                    never.push(known(wants)?);
                    events.push(recorded.previous(known(wants)?)?);
                }
            }
        }
        let mut from = 0;
        while let Some(&(first, second)) = pairs.get(from) {
            from += 1;
            for (release, acquire) in sections_in_order(recorded, first, second) {
                if release == NEVER {
                    return None;
                }
                if !pairs.contains(&(release, acquire)) {
                    pairs.push((release, acquire));
                }
            }
        }
        events.extend(pairs.iter().flat_map(|&(first, second)| [first, second]));
        events.sort_unstable();
        events.dedup();
        (!events.is_empty()).then_some(Pattern { events, pairs, last, never, relaxed })
    }

    /// The write that an access has to see; `NEVER` if it need not see any certain one, or has to see the initial value.
    pub(super) fn sees(&self, recorded: &Recorded<'_>, event: u32) -> u32 {
        match recorded.op(event) {
            Op::Read(..) | Op::Update(..) if !self.is_relaxed(recorded, event) => recorded.seen[index(event)],
            _ => NEVER,
        }
    }

    /// Whether an access may see any write.
    pub(super) fn is_relaxed(&self, recorded: &Recorded<'_>, event: u32) -> bool {
        match &self.relaxed {
            Relaxed::None => false,
            Relaxed::All => true,
            Relaxed::Own { locations, units } => {
                locations.contains(&recorded.location[index(event)])
                    && units.contains(&(recorded.thread(event), recorded.unit[index(event)]))
            }
            Relaxed::Between(pairs) => pairs.iter().any(|&(from, to)| {
                (from..to).contains(&event) && recorded.thread(event) == recorded.thread(from)
            }),
        }
    }

    /// The firsts of the pairs whose second is `event`.
    pub(super) fn before(&self, event: u32) -> impl Iterator<Item = u32> {
        self.pairs.iter().filter(move |&&(_, second)| second == event).map(|&(first, _)| first)
    }

    /// Whether it is known that no schedule reaches this. Takes what it uses from `steps`.
    pub(super) fn is_impossible(&self, recorded: &Recorded<'_>, steps: &mut u64) -> bool {
        let Some(Required { mut done, end }) = Required::new(recorded, self, self.events[0], steps) else {
            return false;
        };
        loop {
            let mut moved = false;
            for thread in 0..recorded.threads() {
                while done[index(thread)] < end[index(thread)] {
                    let at = done[index(thread)];
                    let event = recorded.of_thread(thread)[index(at)];
                    let last = at + 1 == end[index(thread)];
                    if !self.may_happen(recorded, &done, event, last) {
                        break;
                    }
                    done[index(thread)] += 1;
                    moved = true;
                }
            }
            if !moved {
                return (0..recorded.threads()).any(|thread| {
                    let (done, end) = (done[index(thread)], end[index(thread)]);
                    // What must not happen is only there because what comes before it may not be the last.
                    let next = recorded.of_thread(thread).get(index(done));
                    done != end && !(done + 1 == end && next.is_some_and(|next| self.never.contains(next)))
                });
            }
        }
    }

    /// `last`: it may be the last event of its thread, and see what it likes.
    fn may_happen(&self, recorded: &Recorded<'_>, done: &[u32], event: u32, last: bool) -> bool {
        let happened = |event: u32| recorded.happened(done, event);
        let location = recorded.locations.get(index(recorded.location[index(event)]));
        !self.never.contains(&event)
            && (last || happened(self.sees(recorded, event)))
            && location.is_none_or(|location| location.begin == event || happened(location.begin))
            && self.before(event).all(happened)
            && recorded.gate_is_open(done, event)
    }
}

impl Relaxed {
    fn new(recorded: &Recorded<'_>, goal: &Goal, pairs: &[(u32, u32)]) -> Relaxed {
        match (goal.values, &goal.shows) {
            (Values::AsRecorded, _) => Relaxed::None,
            (Values::Any, _) => Relaxed::All,
            (Values::Relaxed, Shows::Deadlock { waiting }) => {
                // Events that were not recorded make no pattern.
                let number = |id: EventId| u32::try_from(id.0).unwrap_or(NEVER);
                Relaxed::Between(waiting.iter().map(|&(has, wants)| (number(has), number(wants))).collect())
            }
            (Values::Relaxed, Shows::Violation { .. } | Shows::Race) => {
                let events = || pairs.iter().flat_map(|&(first, second)| [first, second]);
                let location = |event: u32| recorded.location[index(event)];
                let locations = events().map(location).filter(|&location| location != NEVER).collect();
                let units =
                    events().map(|event| (recorded.thread(event), recorded.unit[index(event)])).collect();
                Relaxed::Own { locations, units }
            }
        }
    }
}

/// The releases and acquires that are in the order of two events of different threads: those of the sections around
/// them that exclude each other.
fn sections_in_order(recorded: &Recorded<'_>, first: u32, second: u32) -> Vec<(u32, u32)> {
    if recorded.thread(first) == recorded.thread(second) {
        return Vec::new();
    }
    let around = |event: u32| {
        // A release is in the section that it ends.
        let (thread, position) = (recorded.thread(event), recorded.position[index(event)]);
        let ended = recorded.sections_after(thread, position).filter(move |section| section.release == event);
        recorded.sections_after(thread, position + 1).chain(ended)
    };
    let mut pairs = Vec::new();
    for one in around(first) {
        for other in around(second).filter(|other| other.lock == one.lock) {
            if one.mode == Mode::Exclusive || other.mode == Mode::Exclusive {
                pairs.push((one.release, other.acquire));
            }
        }
    }
    pairs
}
