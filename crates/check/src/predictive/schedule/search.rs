//! Depth-first search for a schedule in a window, with memory of the states that lead nowhere.
//!
//! Free steps are made as soon as they are possible. Where only choices are left, they are tried in the recorded
//! order, but those last that look wrong: a write over something that others still want to see, a critical
//! section in which the thread would have to wait for an event of the goal, a read that diverges. A
//! state that was seen before, however it was reached, is not tried again.
//!
//! Exhaustive: without a budget it finds a schedule in the window if there is one. Two states are told apart by 128
//! bits of hash. Cost: a step for every event tried; per choice, a look at every thread of the window.

use rustc_hash::FxHashSet;

use super::machine::{Machine, Ready};
use super::pattern::Pattern;
use super::recorded::{Recorded, index};
use super::window::{Action, Step, Window};

/// What a search in a window came to.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The events of the window, in order.
    Found(Vec<u32>),
    Exhausted,
    OutOfBudget,
}

/// A state with several ways to go on.
struct Crossing {
    /// How many steps lead to it.
    made: usize,
    /// Where its lanes start among all that are to be tried.
    lanes: usize,
}

/// Searches, and takes what it uses from `steps`.
pub(super) fn search(
    recorded: &Recorded<'_>,
    window: &Window,
    pattern: &Pattern,
    steps: &mut u64,
) -> Verdict {
    let mut machine = Machine::new(recorded, window, pattern);
    let lanes = 0..window.lanes.len() as u32;
    let waits = waits_inside(recorded, pattern);
    let mut crossings: Vec<Crossing> = Vec::new();
    // Lanes to be tried at the crossings, the best last.
    let mut to_try: Vec<u32> = Vec::new();
    let mut ranked: Vec<(Rank, u32, u32)> = Vec::new();
    let mut seen: FxHashSet<u128> = FxHashSet::default();
    loop {
        if !run_free(&mut machine, lanes.clone(), steps) {
            return Verdict::OutOfBudget;
        }
        if machine.goal_is_reached() {
            return Verdict::Found(machine.schedule());
        }
        crossings.push(Crossing { made: machine.made(), lanes: to_try.len() });
        if seen.insert(machine.key()) {
            ranked.clear();
            ranked.extend(lanes.clone().filter_map(|lane| {
                let step = machine.next(lane)?;
                Some((rank(&machine, lane, step, &waits)?, step.event, lane))
            }));
            ranked.sort_unstable_by(|a, b| b.cmp(a));
            to_try.extend(ranked.iter().map(|&(_, _, lane)| lane));
        }
        loop {
            let Some(crossing) = crossings.last() else { return Verdict::Exhausted };
            while machine.made() > crossing.made {
                machine.undo();
            }
            if to_try.len() > crossing.lanes {
                break;
            }
            crossings.pop();
        }
        let Some(lane) = to_try.pop() else { return Verdict::Exhausted };
        if *steps == 0 {
            return Verdict::OutOfBudget;
        }
        *steps -= 1;
        machine.step(lane);
    }
}

/// Makes free steps until there are none, or the goal is reached. False if there are too few steps.
fn run_free(machine: &mut Machine<'_>, lanes: std::ops::Range<u32>, steps: &mut u64) -> bool {
    loop {
        let before = machine.made();
        for lane in lanes.clone() {
            while !machine.goal_is_reached() && machine.ready(lane) == Ready::Free {
                if *steps == 0 {
                    return false;
                }
                *steps -= 1;
                machine.step(lane);
            }
        }
        if machine.made() == before {
            return true;
        }
    }
}

/// How soon a choice is tried.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Good,
    Doubtful,
    Last,
}

/// None if the step is not possible.
fn rank(machine: &Machine<'_>, lane: u32, step: &Step, waits: &[(u32, u32)]) -> Option<Rank> {
    Some(match machine.ready(lane) {
        Ready::Blocked => return None,
        Ready::Diverges if !step.in_goal => Rank::Last,
        _ if machine.hides_something(step) => Rank::Doubtful,
        _ if enters(step)
            && waits.iter().any(|&(enter, first)| enter == step.event && !machine.happened(first)) =>
        {
            Rank::Doubtful
        }
        _ => Rank::Good,
    })
}

fn enters(step: &Step) -> bool {
    matches!(step.action, Action::Acquire { .. }) || step.retakes != super::recorded::NEVER
}

/// Pairs (acquire, event): a thread that makes the acquire cannot leave the section before the event of another.
fn waits_inside(recorded: &Recorded<'_>, pattern: &Pattern) -> Vec<(u32, u32)> {
    let mut waits = Vec::new();
    for &(first, second) in &pattern.pairs {
        let (thread, position) = (recorded.thread(second), recorded.position[index(second)]);
        if recorded.thread(first) != thread {
            let sections = recorded.sections_after(thread, position + 1);
            waits.extend(sections.map(|section| (section.acquire, first)));
        }
    }
    waits
}
