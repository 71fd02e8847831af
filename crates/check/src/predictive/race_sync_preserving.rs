//! Sync-preserving data races: pairs that can be brought next to each other without exchanging critical sections.
//!
//! Mathur, Pavlogiannis, Viswanathan: *Optimal Prediction of Synchronization-Preserving Races*, POPL 2021.
//!
//! ```text
//! T1: w(x)  acq(m) rel(m)                      ordered by happens-before, but a schedule may leave T1's section
//! T2:                      acq(m) rel(m) r(x)  out: then w(x) and r(x) are next to each other
//! ```
//!
//! A schedule is a prefix of each thread, in which every read sees the write that it saw, and those critical sections of a lock that
//! are in it come in the recorded order. The smallest set of events that such a schedule needs to reach both accesses is their *ideal*:
//! what the threads did before them, the writes that those events read from, and the release of each critical section that a later one
//! of the same lock follows. The two race if neither is in it.
//!
//! *Guarantee*: every reported pair can happen, with the recorded values. For each access, and each other thread and way of
//! accessing, the earliest conflicting access that races with it is reported; none that is left has no reported partner.
//!
//! *Deviations*: off-line instead of streaming; read-write locks (two shared sections need no order); fork, join and barriers order as
//! they did. Atomic accesses do not race with each other. A commuting update is taken to read the write before it.
//!
//! *Cost*: one step of the ideal per access and candidate, each O(threads · locks · log); memory O(threads) per access and acquire.

use atomvet_trace::{LockId, Mode, Op, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::effort::{Done, Keep};
use super::predicted::Moment;
use crate::clock::Clock;
use crate::graph::slot;
use crate::{
    Access, Blame, Block, Channel, ChannelKind, Config, Findings, Here, Info, Kind, Observed, Rules, Stats,
};

/// The checker `race-sync-preserving`.
#[derive(Debug, Default)]
pub struct RaceSyncPreserving {
    threads: Vec<Thread>,
    /// What goes before those that receive from it, by its slot; locks have nothing here.
    channels: Vec<Clock>,
    locks: Vec<Lock>,
    /// The location that each variable is now, and who wrote it last.
    variables: Vec<Option<Variable>>,
    locations: Vec<Location>,
    accesses: u64,
}

/// What a thread depends on by its own order, by what it read from, and by forks, joins and barriers. Its own component counts steps:
/// whatever it does is one, or several if an event does several things.
#[derive(Debug, Default)]
struct Thread {
    clock: Clock,
    held: Vec<LockId>,
}

#[derive(Debug)]
struct Variable {
    location: usize,
    /// What the last write depends on, itself included.
    written: Option<Clock>,
}

/// A thread, how it accesses, and whether by an atomic operation.
type Way = (usize, Access, bool);

/// A variable in one of its lives, from when on other threads can reach it.
#[derive(Debug)]
struct Location {
    variable: VarId,
    /// Of each thread in each way of accessing, in program order.
    accesses: FxHashMap<Way, Vec<Touched>>,
}

#[derive(Debug)]
struct Touched {
    step: u64,
    /// What goes before the access: what it reads from does not.
    before: Clock,
    moment: Moment,
}

/// The critical sections of a lock: per thread and mode, in program order.
#[derive(Debug, Default)]
struct Lock {
    sections: Vec<(usize, Mode, Vec<Section>)>,
}

#[derive(Debug)]
struct Section {
    /// The step of the acquire.
    step: u64,
    /// The position of the acquire among those of all threads.
    at: u64,
    /// What the release depends on, itself included; none if there is none.
    release: Option<Clock>,
}

impl Observed for RaceSyncPreserving {
    const INFO: Info = Info {
        name: "race-sync-preserving",
        kind: Kind::Predictive,
        paper: "Mathur, Pavlogiannis, Viswanathan: Optimal Prediction of Synchronization-Preserving Races, POPL 2021",
        guarantee: "reports conflicting accesses that some schedule with the recorded values brings next to each other without exchanging \
                    critical sections of a lock: no false alarms; misses races that need them exchanged; blames no block",
        blame: Blame::None,
        tells_first_event: false,
        cost: "O(threads · locks · log) per access and candidate; memory O(threads) per access and acquire",
    };

    fn new(_config: &Config) -> Self {
        RaceSyncPreserving::default()
    }

    fn finish(self, _open: &[Block], _last: Here, out: &mut Findings) -> Stats {
        let mut figures = Figures::default();
        for location in &self.locations {
            if self.judge(location, &mut figures, out) == Keep::Stop {
                break;
            }
        }
        Stats(vec![
            ("accesses", self.accesses),
            ("candidates", figures.candidates),
            ("racy pairs", figures.races),
        ])
    }

    fn stop(self, _last: Here, out: &mut Findings) -> Stats {
        out.effort.stop();
        Stats::default()
    }
}

#[derive(Default)]
struct Figures {
    candidates: u64,
    races: u64,
}

impl Rules for RaceSyncPreserving {
    fn begin(&mut self, _here: Here, _block: Block, _out: &mut Findings) {}

    fn end(&mut self, _here: Here, _out: &mut Findings) {}

    fn access(&mut self, here: Here, variable: VarId, access: Access, _out: &mut Findings) {
        self.accesses += 1;
        let thread = slot(&mut self.threads, here.thread.index());
        let before = thread.clock.clone();
        thread.clock.increment(here.thread.index());
        let current = slot(&mut self.variables, variable.index()).get_or_insert_with(|| {
            self.locations.push(Location { variable, accesses: FxHashMap::default() });
            Variable { location: self.locations.len() - 1, written: None }
        });
        let reads = !matches!(here.op, Op::Write(..));
        if let Some(written) = current.written.as_ref().filter(|_| reads) {
            thread.clock.join(written);
        }
        if access != Access::Read {
            current.written = Some(thread.clock.clone());
        }
        let step = thread.clock.get(here.thread.index());
        let moment = Moment { event: here, held: thread.held.clone() };
        let accesses = &mut self.locations[current.location].accesses;
        let way = (here.thread.index(), access, here.op.is_atomic());
        accesses.entry(way).or_default().push(Touched { step, before, moment });
    }

    fn send(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        let thread = slot(&mut self.threads, here.thread.index());
        thread.clock.increment(here.thread.index());
        let ChannelKind::Lock(lock) = channel.kind else {
            return slot(&mut self.channels, channel.slot as usize).join(&thread.clock);
        };
        if let Some(at) = thread.held.iter().rposition(|&held| held == lock) {
            thread.held.remove(at);
        }
        let of_thread = slot(&mut self.locks, lock.index()).of(here.thread.index(), mode);
        if let Some(section) = of_thread.iter_mut().rev().find(|section| section.release.is_none()) {
            section.release = Some(thread.clock.clone());
        }
    }

    fn receive(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        let thread = slot(&mut self.threads, here.thread.index());
        thread.clock.increment(here.thread.index());
        let ChannelKind::Lock(lock) = channel.kind else {
            return thread.clock.join(slot(&mut self.channels, channel.slot as usize));
        };
        thread.held.push(lock);
        let step = thread.clock.get(here.thread.index());
        let of_thread = slot(&mut self.locks, lock.index()).of(here.thread.index(), mode);
        of_thread.push(Section { step, at: here.at.0, release: None });
    }

    fn join(&mut self, here: Here, child: ThreadId, _out: &mut Findings) {
        let known = slot(&mut self.threads, child.index()).clock.clone();
        let clock = &mut slot(&mut self.threads, here.thread.index()).clock;
        clock.join(&known);
        clock.increment(here.thread.index());
    }

    fn new_life(&mut self, variable: VarId) {
        *slot(&mut self.variables, variable.index()) = None;
    }

    fn escape(&mut self, variable: VarId) {
        if let Some(current) = slot(&mut self.variables, variable.index()) {
            // What was written in private is still read.
            self.locations.push(Location { variable, accesses: FxHashMap::default() });
            current.location = self.locations.len() - 1;
        }
    }

    fn close(&mut self, channel: Channel) {
        *slot(&mut self.channels, channel.slot as usize) = Clock::default();
    }
}

impl Lock {
    fn of(&mut self, thread: usize, mode: Mode) -> &mut Vec<Section> {
        let at = self.sections.iter().position(|&(t, m, _)| (t, m) == (thread, mode)).unwrap_or_else(|| {
            self.sections.push((thread, mode, Vec::new()));
            self.sections.len() - 1
        });
        &mut self.sections[at].2
    }
}

impl RaceSyncPreserving {
    /// Finds the races of a location: for each pair of threads and ways, one walk over the accesses of both. What is in the ideal of one
    /// access is in those of all later ones, so no candidate is looked at again once it is in it.
    fn judge(&self, location: &Location, figures: &mut Figures, out: &mut Findings) -> Keep {
        let mut ways: Vec<&Way> = location.accesses.keys().collect();
        ways.sort_by_key(|&&way| location.accesses[&way][0].moment.event.at);
        for &one in &ways {
            for &other in &ways {
                if one.0 == other.0 || (one.1 == other.1 && one.1.shares()) || (one.2 && other.2) {
                    continue;
                }
                if self.judge_ways(location, *one, *other, figures, out) == Keep::Stop {
                    return Keep::Stop;
                }
            }
        }
        Keep::Going
    }

    /// The accesses `other`, each with the earliest of `one` before it that it races with.
    fn judge_ways(
        &self,
        location: &Location,
        one: Way,
        other: Way,
        figures: &mut Figures,
        out: &mut Findings,
    ) -> Keep {
        let mut ideal = Clock::default();
        let mut candidates = location.accesses[&one].iter().peekable();
        for later in &location.accesses[&other] {
            ideal.join(&later.before);
            while let Some(earlier) = candidates.peek() {
                if earlier.moment.event.at > later.moment.event.at {
                    break;
                }
                let done = Done { what: "candidates examined", done: figures.candidates, of: self.accesses };
                if out.effort.spend(1 + self.locks.len() as u64, done) == Keep::Stop {
                    return Keep::Stop;
                }
                figures.candidates += 1;
                ideal.join(&earlier.before);
                self.complete(&mut ideal);
                if ideal.get(one.0) >= earlier.step {
                    candidates.next();
                    continue;
                }
                if ideal.get(other.0) < later.step {
                    figures.races += 1;
                    out.predicted.race(location.variable, earlier.moment.clone(), later.moment.clone());
                }
                break;
            }
        }
        Keep::Going
    }

    /// Adds what a schedule with these events needs besides: a critical section that another one of the same lock follows is left.
    fn complete(&self, ideal: &mut Clock) {
        loop {
            let mut changed = false;
            for lock in &self.locks {
                let last = |(thread, _, sections): &'_ (usize, Mode, Vec<Section>)| {
                    let inside = sections.partition_point(|section| section.step <= ideal.get(*thread));
                    inside.checked_sub(1)
                };
                let entered: Vec<(usize, Mode, &Section)> =
                    (lock.sections.iter()).filter_map(|of| Some((of.0, of.1, &of.2[last(of)?]))).collect();
                for &(thread, mode, section) in &entered {
                    let is_followed = entered.iter().any(|&(by, its_mode, follower)| {
                        let excludes = mode == Mode::Exclusive || its_mode == Mode::Exclusive;
                        by != thread && excludes && follower.at > section.at
                    });
                    if let Some(release) = section.release.as_ref().filter(|_| is_followed)
                        && !release.is_before(ideal)
                    {
                        ideal.join(release);
                        changed = true;
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }
}
