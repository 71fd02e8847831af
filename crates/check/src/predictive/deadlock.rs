//! Potential deadlocks: threads that could wait for each other's locks for ever.
//!
//! Havelund's goodlock, as RV'03 §5.1 and TSE'06 §3.2 use it, for any number of threads and for read-write locks:
//!
//! ```text
//! T1: a{ … acq(b)        T1 has a and wants b
//! T2: b{ … acq(a)        T2 has b and wants a; a lock that both hold meanwhile (a gate) would rule it out
//! ```
//!
//! Every acquire with a lock held is a *want*. A cycle of wants, each of a lock that the next one holds in a
//! mode that excludes it, is reported if the wants can be of different threads, in periods that can run at the same
//! time, and if no lock of one excludes a lock of another: then all of them can be reached at once, as far
//! as locks, fork, join and barriers tell. A lock taken back after a wait is wanted like any other. A thread that
//! has a lock shared and wants it exclusively waits for every other thread that does the same.
//!
//! *Guarantee*: misses no deadlock in which all threads of a cycle wait for locks. Does not see those in which
//! somebody waits for a join, a barrier or a condition, and does not know which acquires the values allow.
//!
//! *Deviation*: the print looks at two threads only. A cycle that has a shorter one inside it (that takes shared
//! locks) is not reported besides that.
//!
//! *Cost*: linear in the acquires, until only those are left that could be on a cycle. From there a search
//! that is exponential in the worst case, shortest cycles first, one report per cycle of wants that differ in the locks
//! held or wanted (not in thread, place or time); it stops at [`MOST_CYCLES`] or when the effort is spent, and
//! says so. A want is judged when all cycles that begin with it are known.

use std::ops::{Range, RangeInclusive};

use atomvet_trace::{LockId, Mode, ThreadId};

use super::effort::{Done, Keep};
use super::lockset::{LocksetId, Locksets};
use super::periods::{PeriodId, Periods};
use super::predicted::Waiting;
use super::stacks::{SectionId, StackId, exclusive};
use super::{Effort, Execution, Judge, Predicted};
use crate::{Blame, Config, Info, Kind, Stats};

/// So many cycles are enough for anybody.
pub const MOST_CYCLES: usize = 1000;

/// The checker `deadlock`.
#[derive(Debug)]
pub struct Deadlock;

impl Judge for Deadlock {
    const INFO: Info = Info {
        name: "deadlock",
        kind: Kind::Predictive,
        paper: "Havelund: Using Runtime Analysis to Guide Model Checking of Java Programs, SPIN 2000 (goodlock), for any \
                number of threads and read-write locks",
        guarantee: "reports every way in which threads could wait for each other's locks, given locks, fork, join and \
                    barriers; the values read might rule it out; does not see waits for conditions, joins and \
                    barriers; blames no block",
        blame: Blame::None,
        tells_first_event: false,
        cost: "O(acquires · locks held), plus a bounded search where locks are taken in opposite orders; memory \
               O(events)",
    };

    fn new(_config: &Config) -> Self {
        Deadlock
    }

    fn judge(self, execution: &Execution, effort: &mut Effort, out: &mut Predicted) -> Stats {
        find(execution, effort, out)
    }
}

/// Reports the potential deadlocks of an execution.
pub(super) fn find(execution: &Execution, effort: &mut Effort, out: &mut Predicted) -> Stats {
    let locksets = Locksets::new(&execution.stacks);
    let mut search = Search::new(execution, &locksets);
    search.trim();
    let wants = search.wants.len() as u64;
    let entangled = search.wants.iter().filter(|want| want.alive).count() as u64;
    let not_judged = search.run(effort, out);
    let mut stats = Stats(vec![
        ("nested acquires", search.instances.len() as u64),
        ("different wants", wants),
        ("wants that could be on a cycle", entangled),
        ("cycles", search.cycles),
    ]);
    if not_judged > 0 {
        stats.0.push(("not judged", not_judged));
    }
    stats
}

/// Some locks are held and another is wanted.
#[derive(Debug)]
struct Want {
    held: LocksetId,
    lock: LockId,
    mode: Mode,
    /// Who wanted it and when: a range of the instances.
    instances: Range<usize>,
    /// The thread, if there is only one.
    only_thread: Option<ThreadId>,
    /// It could be on a cycle.
    alive: bool,
}

/// An acquire. Only the first of each period is kept.
type Instance = (ThreadId, PeriodId, SectionId);

struct Search<'a> {
    execution: &'a Execution,
    locksets: &'a Locksets,
    wants: Vec<Want>,
    /// Want by want, each by thread and period.
    instances: Vec<Instance>,
    /// Per lock, the wants that hold it.
    holders: Vec<Vec<u32>>,
    cycles: u64,
}

/// How a search for cycles of one length that begin with one want went.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Searched {
    /// There are none that are longer.
    Exhausted,
    /// There may be longer ones.
    Cut,
    /// The effort is spent.
    Stopped,
}

impl<'a> Search<'a> {
    fn new(execution: &'a Execution, locksets: &'a Locksets) -> Self {
        let stacks = &execution.stacks;
        let nested = (0..).map(SectionId).zip(stacks.sections());
        let nested = nested.filter(|(_, section)| section.outer != StackId::EMPTY);
        let mut acquires: Vec<_> = nested
            .map(|(id, section)| {
                let held = locksets.of_path(stacks.path(section.outer));
                let shared = section.mode == Mode::Shared;
                ((held, section.lock, shared), (section.thread, section.period, id))
            })
            .collect();
        acquires.sort_unstable();
        acquires.dedup_by_key(|&mut (want, (thread, period, _))| (want, thread, period));

        let mut wants = Vec::new();
        let mut instances: Vec<Instance> = Vec::with_capacity(acquires.len());
        let mut holders: Vec<Vec<u32>> = Vec::new();
        for group in acquires.chunk_by(|one, other| one.0 == other.0) {
            let ((held, lock, _), (thread, _, section)) = group[0];
            let start = instances.len();
            instances.extend(group.iter().map(|&(_, instance)| instance));
            let same_thread = group.iter().all(|&(_, instance)| instance.0 == thread);
            for &(lock, _) in locksets.locks(held) {
                if lock.index() >= holders.len() {
                    holders.resize_with(lock.index() + 1, Vec::new);
                }
                holders[lock.index()].push(wants.len() as u32);
            }
            wants.push(Want {
                held,
                lock,
                mode: stacks.section(section).mode,
                instances: start..instances.len(),
                only_thread: same_thread.then_some(thread),
                alive: true,
            });
        }
        Search { execution, locksets, wants, instances, holders, cycles: 0 }
    }

    /// Takes out, repeatedly, wants of what nobody holds and wants that hold nothing that is wanted.
    fn trim(&mut self) {
        let locks = self.wants.iter().map(|want| want.lock.index() + 1).max().unwrap_or(0);
        self.holders.resize_with(self.holders.len().max(locks), Vec::new);
        let mut wanters: Vec<Vec<u32>> = vec![Vec::new(); self.holders.len()];
        for (index, want) in (0..).zip(&self.wants) {
            wanters[want.lock.index()].push(index);
        }
        let mut holding: Vec<usize> = self.holders.iter().map(Vec::len).collect();
        let mut wanting: Vec<usize> = wanters.iter().map(Vec::len).collect();
        let mut to_look_at: Vec<u32> = (0..self.wants.len() as u32).collect();
        while let Some(index) = to_look_at.pop() {
            let want = &mut self.wants[index as usize];
            let held = self.locksets.locks(want.held);
            let is_met =
                holding[want.lock.index()] > 0 && held.iter().any(|(lock, _)| wanting[lock.index()] > 0);
            if is_met || !want.alive {
                continue;
            }
            want.alive = false;
            wanting[want.lock.index()] -= 1;
            if wanting[want.lock.index()] == 0 {
                to_look_at.extend(&self.holders[want.lock.index()]);
            }
            for (lock, _) in held {
                holding[lock.index()] -= 1;
                if holding[lock.index()] == 0 {
                    to_look_at.extend(&wanters[lock.index()]);
                }
            }
        }
        for holders in &mut self.holders {
            holders.retain(|&want| self.wants[want as usize].alive);
        }
    }

    /// Reports all cycles, the short ones first. Gives the number of wants that are not judged.
    fn run(&mut self, effort: &mut Effort, out: &mut Predicted) -> u64 {
        let mut roots: Vec<u32> =
            (0..self.wants.len() as u32).filter(|&want| self.wants[want as usize].alive).collect();
        let threads = self.execution.periods.threads();
        let mut lengths = 2..=2;
        while !roots.is_empty() && *lengths.start() <= threads {
            let mut longer = Vec::new();
            for (done, &root) in roots.iter().enumerate() {
                let progress =
                    Done { what: "lock orders examined", done: done as u64, of: roots.len() as u64 };
                match self.cycles_from(root, &lengths, progress, effort, out) {
                    Searched::Exhausted => {}
                    Searched::Cut => longer.push(root),
                    Searched::Stopped => return (longer.len() + roots.len() - done) as u64,
                }
            }
            roots = longer;
            lengths = lengths.end() + 1..=(lengths.end() * 2).min(threads);
        }
        0
    }

    /// Reports the cycles of some lengths whose smallest want is `root`.
    fn cycles_from(
        &mut self,
        root: u32,
        lengths: &RangeInclusive<usize>,
        done: Done,
        effort: &mut Effort,
        out: &mut Predicted,
    ) -> Searched {
        let mut searched = Searched::Exhausted;
        let mut path = vec![root];
        // Per want of the path, how many of the holders of its lock were tried.
        let mut tried = vec![0];
        while let (Some(&last), Some(next)) = (path.last(), tried.last_mut()) {
            let candidate = self.holders[self.wants[last as usize].lock.index()].get(*next).copied();
            *next += 1;
            if effort.spend(1 + path.len() as u64, done) == Keep::Stop {
                return Searched::Stopped;
            }
            let Some(candidate) = candidate else {
                path.pop();
                tried.pop();
                continue;
            };
            if candidate < root || !self.continues(&path, candidate) {
                continue;
            }
            path.push(candidate);
            if self.waits_for(candidate, root) {
                let mut chosen = Vec::new();
                let fits = !lengths.contains(&path.len()) || self.choose(&path, &mut chosen, done, effort);
                if effort.is_stopped() || (fits && !self.report(&path, &chosen, out)) {
                    return Searched::Stopped;
                }
                path.pop();
            } else if path.len() == *lengths.end() {
                searched = Searched::Cut;
                path.pop();
            } else {
                tried.push(0);
            }
        }
        searched
    }

    /// Whether a path of wants, of which each waits for the next, can go on with this one, and no shorter path
    /// leads to it.
    fn continues(&self, path: &[u32], candidate: u32) -> bool {
        let Some((&last, before)) = path.split_last() else { return false };
        let want = &self.wants[candidate as usize];
        self.waits_for(last, candidate)
            && !before.iter().any(|&earlier| self.waits_for(earlier, candidate))
            && path.iter().all(|&earlier| {
                let other = &self.wants[earlier as usize];
                (want.only_thread.is_none() || want.only_thread != other.only_thread)
                    && !self.locksets.exclude(want.held, other.held)
            })
    }

    fn waits_for(&self, want: u32, holder: u32) -> bool {
        let Want { lock, mode, .. } = self.wants[want as usize];
        let held = self.locksets.mode(self.wants[holder as usize].held, lock);
        held.is_some_and(|held| exclusive(mode, held))
    }

    /// Chooses an instance of each want of a path, all of different threads and in periods that can run at the same
    /// time. False if there are none, or the effort is spent.
    fn choose(&self, path: &[u32], chosen: &mut Vec<Instance>, done: Done, effort: &mut Effort) -> bool {
        let Some(&next) = path.get(chosen.len()) else { return true };
        let instances = &self.instances[self.wants[next as usize].instances.clone()];
        let mut rest = instances;
        while let Some(&(thread, ..)) = rest.first() {
            let (of_thread, others) = rest.split_at(rest.partition_point(|instance| instance.0 <= thread));
            rest = others;
            for &instance in beside(&self.execution.periods, chosen, thread, of_thread) {
                if effort.spend(1 + chosen.len() as u64, done) == Keep::Stop {
                    return false;
                }
                chosen.push(instance);
                if self.choose(path, chosen, done, effort) {
                    return true;
                }
                chosen.pop();
            }
        }
        false
    }

    /// Reports a cycle. False: there are too many.
    fn report(&mut self, path: &[u32], chosen: &[Instance], out: &mut Predicted) -> bool {
        if chosen.is_empty() {
            return true;
        }
        let waiting = chosen.iter().enumerate().map(|(index, &(thread, _, section))| {
            let previous = path[(index + path.len() - 1) % path.len()];
            let Want { lock, mode, .. } = self.wants[previous as usize];
            let stacks = &self.execution.stacks;
            let section = stacks.section(section);
            let mut held = stacks.held(section.outer).map(|id| stacks.section(id));
            let has = held.find(|held| held.lock == lock && exclusive(held.mode, mode))?;
            let [has, wants] = [has, section].map(|section| self.execution.entering(section));
            Some(Waiting { thread, has, wants })
        });
        if let Some(cycle) = waiting.collect() {
            self.cycles += 1;
            out.deadlock(cycle);
        }
        out.deadlocks.len() < MOST_CYCLES
    }
}

/// Those instances of a thread that can run beside all that are chosen. They are sorted by period.
fn beside<'a>(
    periods: &Periods,
    chosen: &[Instance],
    thread: ThreadId,
    of_thread: &'a [Instance],
) -> &'a [Instance] {
    let mut during = 0..u32::MAX;
    for &(_, period, _) in chosen {
        let concurrent = periods.concurrent_with(period, thread);
        during = during.start.max(concurrent.start)..during.end.min(concurrent.end);
    }
    let first = of_thread.partition_point(|&(_, period, _)| periods.index(period) < during.start);
    let end = of_thread.partition_point(|&(_, period, _)| periods.index(period) < during.end);
    &of_thread[first..end.max(first)]
}

#[cfg(test)]
mod tests;
