//! Data races by happens-before: conflicting accesses that no synchronization of this execution orders.
//!
//! Lamport's order on the recorded events, with Djit⁺'s vector clocks: Pozniansky and Schuster, *Efficient On-the-Fly Data Race
//! Detection in Multithreaded C++ Programs*, PPoPP 2003; Flanagan and Freund, *FastTrack*, PLDI 2009, whose epochs the last accesses are.
//!
//! ```text
//! T1: w(x) rel(m)                     the lock orders w(x) before r(x) here, though it need not: no race by
//! T2:              acq(m) r(x)        happens-before. Locksets, or another order of the critical sections, may show one
//! ```
//!
//! *Guarantee*: of the pairs that it reports, the first one can happen: both accesses can be next to each other. Later pairs may be a
//! consequence of an earlier one. It misses races that the observed order of critical sections hides.
//!
//! *Deviation*: an access is compared with the last one of each other thread and kind, and all pairs are reported; FastTrack keeps one epoch
//! and reports the first race of a variable. Atomic accesses do not race with each other, and an atomic read comes after the atomic writes
//! before it, whatever their memory order.
//!
//! *Cost*: O(threads) per synchronization, O(threads that accessed the variable) per access. Memory O(threads · (variables + locks)).

use atomvet_trace::{LockId, Mode, Op, ThreadId, VarId};

use super::predicted::Moment;
use crate::clock::Clock;
use crate::graph::slot;
use crate::{
    Access, Blame, Block, Channel, ChannelKind, Config, Findings, Here, Info, Kind, Observed, Rules, Stats,
};

/// The checker `race-hb`.
#[derive(Debug, Default)]
pub struct RaceHb {
    threads: Vec<Thread>,
    channels: Vec<Sent>,
    variables: Vec<Variable>,
    accesses: u64,
    races: u64,
}

#[derive(Debug, Default)]
struct Thread {
    /// What it knows. Its own component counts what it published.
    clock: Clock,
    started: bool,
    held: Vec<LockId>,
}

/// What a channel holds.
#[derive(Debug, Default)]
struct Sent {
    exclusive: Clock,
    /// That, and all shared sends since.
    all: Clock,
}

#[derive(Debug, Default)]
struct Variable {
    /// The last access of each thread in each way.
    last: Vec<Last>,
    /// What atomic writes and updates published; atomic reads and updates learn it.
    published: Clock,
}

#[derive(Debug)]
struct Last {
    access: Access,
    time: u64,
    moment: Moment,
}

impl Observed for RaceHb {
    const INFO: Info = Info {
        name: "race-hb",
        kind: Kind::Predictive,
        paper: "Pozniansky, Schuster: Djit+, PPoPP 2003; Flanagan, Freund: FastTrack, PLDI 2009 (happens-before)",
        guarantee: "reports conflicting accesses that no synchronization of this execution orders: the first pair can happen, later ones \
                    may be its consequence; misses races that the observed order of critical sections hides; blames no block",
        blame: Blame::None,
        tells_first_event: false,
        cost: "O(threads) per synchronization, O(threads that accessed the variable) per access; memory \
               O(threads · (variables + locks))",
    };

    fn new(_config: &Config) -> Self {
        RaceHb::default()
    }

    fn finish(self, _open: &[Block], _last: Here, _out: &mut Findings) -> Stats {
        Stats(vec![("accesses", self.accesses), ("racy pairs", self.races)])
    }
}

impl Rules for RaceHb {
    fn begin(&mut self, here: Here, _block: Block, _out: &mut Findings) {
        self.thread(here.thread);
    }

    fn end(&mut self, here: Here, _out: &mut Findings) {
        self.thread(here.thread);
    }

    fn access(&mut self, here: Here, variable: VarId, access: Access, out: &mut Findings) {
        let is_atomic = here.op.is_atomic();
        let reads = is_atomic && !matches!(here.op, Op::Write(..));
        let published = &slot(&mut self.variables, variable.index()).published;
        let thread = slot(&mut self.threads, here.thread.index());
        if reads {
            thread.clock.join(published);
        }
        let thread = self.thread(here.thread);
        let own = Last {
            access,
            time: thread.clock.get(here.thread.index()),
            moment: Moment { event: here, held: thread.held.clone() },
        };
        self.accesses += 1;
        let clock = &self.threads[here.thread.index()].clock;
        let known = &mut self.variables[variable.index()];
        for last in &known.last {
            let conflict = last.access != access || !access.shares();
            let races = conflict && !(is_atomic && last.moment.event.op.is_atomic());
            if races && last.time > clock.get(last.moment.event.thread.index()) {
                self.races += 1;
                out.predicted.race(variable, last.moment.clone(), own.moment.clone());
            }
        }
        let same = |last: &&mut Last| {
            let event = &last.moment.event;
            event.thread == here.thread && last.access == access && event.op.is_atomic() == is_atomic
        };
        match known.last.iter_mut().find(same) {
            Some(last) => *last = own,
            None => known.last.push(own),
        }
        if is_atomic && access != Access::Read {
            known.published.join(clock);
            self.threads[here.thread.index()].clock.increment(here.thread.index());
        }
    }

    fn send(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        let thread = self.thread(here.thread);
        if let ChannelKind::Lock(lock) = channel.kind
            && let Some(at) = thread.held.iter().rposition(|&held| held == lock)
        {
            thread.held.remove(at);
        }
        let clock = &self.threads[here.thread.index()].clock;
        let sent = slot(&mut self.channels, channel.slot as usize);
        match mode {
            Mode::Exclusive => *sent = Sent { exclusive: clock.clone(), all: clock.clone() },
            Mode::Shared => sent.all.join(clock),
        }
        self.threads[here.thread.index()].clock.increment(here.thread.index());
    }

    fn receive(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        let thread = self.thread(here.thread);
        if let ChannelKind::Lock(lock) = channel.kind {
            thread.held.push(lock);
        }
        let sent = slot(&mut self.channels, channel.slot as usize);
        let known = if mode == Mode::Exclusive { &sent.all } else { &sent.exclusive };
        self.threads[here.thread.index()].clock.join(known);
    }

    fn join(&mut self, here: Here, child: ThreadId, _out: &mut Findings) {
        let known = self.thread(child).clock.clone();
        self.thread(here.thread).clock.join(&known);
        // The child may be forked again: what it does then is not known here.
        self.thread(child).clock.increment(child.index());
    }

    fn new_life(&mut self, variable: VarId) {
        *slot(&mut self.variables, variable.index()) = Variable::default();
    }

    fn escape(&mut self, variable: VarId) {
        slot(&mut self.variables, variable.index()).last.clear();
    }

    fn close(&mut self, channel: Channel) {
        *slot(&mut self.channels, channel.slot as usize) = Sent::default();
    }
}

impl RaceHb {
    fn thread(&mut self, id: ThreadId) -> &mut Thread {
        let thread = slot(&mut self.threads, id.index());
        if !std::mem::replace(&mut thread.started, true) {
            thread.clock.increment(id.index());
        }
        thread
    }
}
