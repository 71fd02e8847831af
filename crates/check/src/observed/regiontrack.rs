//! RegionTrack with epochs: exact for both verdicts, nested blocks included. The default engine.
//!
//! Paper: Ma, Wu, Pobee, Mei, Zhang, Jiang, Chan, "RegionTrack: a trace-based sound and complete checker to debug
//! transactional atomicity violations and non-serializable traces", TOSEM 2021, Algorithms 1, 3, 4.
//!
//! Guarantee: reports a block if and only if it is not serializable in the observed trace (an event
//! x of another thread has begin → x → m for an event m of the block), and knows the first event at
//! which the trace stops being serializable.
//!
//! Deviations. Variables hold epochs instead of vector clocks; the clock that goes with an epoch is
//! looked up in the [`History`] only when a dependence is new. Unary transactions are never merged, and
//! "no sink yet" is larger than every time: both repair the print. Verdict 2 is checked for every open
//! block of the thread, not only the outermost, since it does not depend on what else is atomic.
//!
//! ```text
//!            violated block                      cycle without one
//! T1: [ w(x)          r(y) ]         T1: [ w(x)               r(z) ]
//! T2:       [r(x) w(y)]              T2:  [ w(y)   r(x) ] [ .. ]
//!  begin → r(x) → r(y)               T3:    [  r(y)  ] [ w(z) ]
//! ```
//!
//! Cost: one comparison for an access that its thread repeats or whose dependence it knows; for a
//! dependence that is new, one row join and, per running transaction that reaches its source, one row
//! minimum: O(k²) for k threads at worst. Memory: k words per epoch that a variable or lock still names.
//!
//! k is the number of threads at a time ([`lanes`]) if that is small. With many threads, rows are sparse, and k
//! is the number of running transactions that the epoch comes after. Nothing else is kept, since nothing else
//! decides a verdict: a block is violated by a dependence that comes after its begin, and a cycle needs a running
//! transaction that reaches what the dependence comes from ([`reach`]).

#[cfg(test)]
mod tests;

use atomvet_trace::{Mode, ThreadId, VarId};

use self::group::{Crowds, Group, MANY, READS, Slot, WRITES, kind};
use self::lanes::{Lanes, Past};
use self::reach::{Dependence, Reach};
use crate::history::{History, Time};
use crate::{
    Access, Blame, Block, Channel, ChannelKind, Config, Findings, Here, Info, Kind, Observed, Rules, Stats,
};

mod group;
mod lanes;
mod reach;

/// The checker's state.
#[derive(Debug)]
pub struct RegionTrack {
    /// Everything below that is said of a thread goes by its lane.
    lanes: Lanes,
    threads: Vec<Thread>,
    /// What each thread knows, now and at every epoch that is named below.
    history: History,
    reach: Reach,
    variables: Vec<Slot>,
    /// By the channel's slot. Exclusive sends are like writes, shared ones like reads.
    channels: Vec<Slot>,
    crowds: Crowds,
    /// A copy of a crowd.
    members: Vec<(usize, Time)>,
    most_running: usize,
    transactions: u64,
    joins: u64,
}

/// An event in its lane.
#[derive(Clone, Copy)]
struct At {
    lane: usize,
    here: Here,
}

#[derive(Debug, Default, Clone)]
struct Thread {
    /// Open blocks, outermost first; their starts do not decrease.
    open: Vec<Open>,
    /// A cycle through the running transaction, for which no block is to blame, was reported.
    cycle_reported: bool,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    /// A time of its thread: all that happens in the block has this time or a later one.
    start: Time,
    block: Block,
    reported: bool,
}

impl Observed for RegionTrack {
    const INFO: Info = Info {
        name: "regiontrack",
        kind: Kind::Observed,
        paper: "Ma, Wu, Pobee, Mei, Zhang, Jiang, Chan: RegionTrack, TOSEM 2021; with epochs",
        guarantee: "exact: reports a block if and only if it is not serializable in the observed trace, nested \
                    blocks included; a trace if and only if it is not serializable, at the first event",
        blame: Blame::Exact,
        tells_first_event: true,
        cost: "one comparison for most events, O(threads) to O(threads²) for a new dependence between threads; \
               memory bounded by live state",
    };

    fn new(_config: &Config) -> Self {
        RegionTrack::with_history(History::new())
    }

    fn finish(self, _open: &[Block], _last: Here, _out: &mut Findings) -> Stats {
        Stats(vec![
            ("transactions", self.transactions),
            ("joins", self.joins),
            ("subregions", self.history.subregions),
            ("most running transactions", self.most_running as u64),
            ("history compactions", self.history.compactions),
        ])
    }
}

impl Rules for RegionTrack {
    #[inline]
    fn begin(&mut self, here: Here, block: Block, _out: &mut Findings) {
        let t = self.enter(here).lane;
        self.transactions += 1;
        self.threads[t].cycle_reported = false;
        self.open(t, block);
        self.reach.begin(t, self.threads[t].open[0].start);
        self.most_running = self.most_running.max(self.reach.running());
    }

    #[inline]
    fn end(&mut self, here: Here, _out: &mut Findings) {
        let t = self.enter(here).lane;
        self.threads[t].open.pop();
        self.reach.end(t);
        self.history.advance(t);
    }

    #[inline]
    fn nest(&mut self, here: Here, block: Block) {
        let t = self.enter(here).lane;
        self.open(t, block);
    }

    #[inline]
    fn unnest(&mut self, here: Here) {
        let t = self.enter(here).lane;
        self.threads[t].open.pop();
    }

    #[inline(always)]
    fn access(&mut self, here: Here, variable: VarId, access: Access, out: &mut Findings) {
        let at = self.enter(here);
        let (t, kind) = (at.lane, kind(access));
        // By far the most common case: one access or none to depend on, and it is known. (There is no
        // thread `MANY`.) Nothing in here jumps by what the access is.
        if let Some(slot) = self.variables.get_mut(variable.index())
            && let Some(known) = self.history.known(t, slot.current.thread() as usize)
            && slot.current.low() <= known
            && slot.previous.thread() != MANY
        {
            let joins = slot.current.kind() == kind;
            let before = if joins { slot.previous } else { slot.current };
            slot.previous = if access.shares() { before } else { Group::EMPTY };
            slot.current = Group::one(kind, t, self.history.stamp(t));
            return;
        }
        self.access_unknown(at, variable, access, out);
    }

    #[inline]
    fn send(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        let t = self.enter(here).lane;
        if let ChannelKind::Start(child) = channel.kind
            && self.lanes.get(child).is_none()
        {
            self.take_lane(child, Some(t));
        }
        let slot = *self.channel(channel);
        let time = self.history.stamp(t);
        *self.channel(channel) = match mode {
            Mode::Exclusive => {
                self.drop_group(slot.previous);
                self.drop_group(slot.current);
                Slot { previous: Group::EMPTY, current: Group::one(WRITES, t, time) }
            }
            Mode::Shared if slot.current.kind() == READS => {
                Slot { current: self.add_member(slot.current, t, time), ..slot }
            }
            Mode::Shared => Slot { previous: slot.current, current: Group::one(READS, t, time) },
        };
    }

    #[inline]
    fn receive(&mut self, here: Here, channel: Channel, mode: Mode, out: &mut Findings) {
        let at = self.enter(here);
        let Slot { previous, current } = *self.channel(channel);
        if mode == Mode::Exclusive || current.kind() == WRITES {
            self.depend_on_all(at, current, out);
        }
        self.depend_on_all(at, previous, out);
    }

    fn join(&mut self, here: Here, child: ThreadId, out: &mut Findings) {
        let at = self.enter(here);
        let Some(lane) = self.lanes.get(child) else { return };
        let time = self.history.stamp(lane);
        // A block that it left open may go on, should it be forked again.
        let is_over = self.threads[lane].open.is_empty();
        if is_over {
            // Who knows of its end may take its lane.
            self.reach.keep_all(lane);
        }
        self.depend(at, lane, time, out);
        if is_over {
            self.lanes.give_back(child, Past { lane, time });
        }
    }

    fn new_life(&mut self, variable: VarId) {
        if let Some(slot) = self.variables.get_mut(variable.index()) {
            let slot = std::mem::take(slot);
            self.drop_group(slot.previous);
            self.drop_group(slot.current);
        }
    }

    fn close(&mut self, channel: Channel) {
        let slot = std::mem::take(self.channel(channel));
        self.drop_group(slot.previous);
        self.drop_group(slot.current);
    }

    #[inline(always)]
    fn prefetch(&self, variable: VarId) {
        crate::prefetch::read(&self.variables, variable.index());
    }
}

impl RegionTrack {
    fn with_history(history: History) -> Self {
        RegionTrack {
            lanes: Lanes::default(),
            threads: Vec::new(),
            history,
            reach: Reach::default(),
            variables: Vec::new(),
            channels: Vec::new(),
            crowds: Crowds::default(),
            members: Vec::new(),
            most_running: 0,
            transactions: 0,
            joins: 0,
        }
    }

    /// Puts an event into its lane. Between events nothing holds on to a time, so this is where they
    /// may be renumbered.
    #[inline(always)]
    fn enter(&mut self, here: Here) -> At {
        let lane = match self.lanes.get(here.thread) {
            Some(lane) if !self.history.is_full() => lane,
            _ => self.make_room(here.thread),
        };
        At { lane, here }
    }

    #[cold]
    fn make_room(&mut self, thread: ThreadId) -> usize {
        if self.history.is_full() {
            self.compact();
        }
        self.lanes.get(thread).unwrap_or_else(|| self.take_lane(thread, None))
    }

    fn take_lane(&mut self, thread: ThreadId, forker: Option<usize>) -> usize {
        let RegionTrack { lanes, history, .. } = self;
        let knows = |past: Past| {
            forker.and_then(|forker| history.known(forker, past.lane)).is_some_and(|known| known >= past.time)
        };
        let (lane, past) = lanes.take(thread, knows);
        if lane >= self.threads.len() {
            let was_dense = self.history.width() > 0;
            self.history.grow(lane + 1);
            let width = self.history.width();
            self.reach.grow(lane + 1, width);
            self.crowds.grow(width);
            self.threads.resize_with(lane + 1, Thread::default);
            if was_dense && width == 0 {
                self.renew_reach();
            }
        }
        self.history.advance(lane);
        if let Some(past) = past
            && self.history.known(lane, past.lane).is_some_and(|known| known < past.time)
        {
            self.learn(lane, past.lane, past.time);
        }
        lane
    }

    fn open(&mut self, t: usize, block: Block) {
        self.history.advance(t);
        let start = self.history.now(t);
        self.threads[t].open.push(Open { start, block, reported: false });
    }

    /// When the running transaction of `t` started, if it runs one.
    #[inline]
    fn started(&self, t: usize) -> Option<Time> {
        self.threads[t].open.first().map(|outermost| outermost.start)
    }

    fn channel(&mut self, channel: Channel) -> &mut Slot {
        let slot = channel.slot as usize;
        if slot >= self.channels.len() {
            self.channels.resize(slot + 1, Slot::default());
        }
        &mut self.channels[slot]
    }

    /// An access that depends on something new, or on more than one access.
    fn access_unknown(&mut self, at: At, variable: VarId, access: Access, out: &mut Findings) {
        let (t, x) = (at.lane, variable.index());
        if x >= self.variables.len() {
            self.variables.resize(x + 1, Slot::default());
        }
        let slot = self.variables[x];
        let kind = kind(access);
        self.variables[x] = if access.shares() && slot.current.kind() == kind {
            self.join_group(at, slot, out)
        } else {
            self.depend_on_all(at, slot.current, out);
            self.drop_group(slot.previous);
            let previous = if access.shares() {
                slot.current
            } else {
                self.drop_group(slot.current);
                Group::EMPTY
            };
            Slot { previous, current: Group::one(kind, t, self.history.stamp(t)) }
        };
    }

    /// An access that does not conflict with the current group joins it.
    fn join_group(&mut self, at: At, slot: Slot, out: &mut Findings) -> Slot {
        let t = at.lane;
        // A member already has taken in the group before.
        if !self.is_member(slot.current, t) {
            self.depend_on_all(at, slot.previous, out);
        }
        let time = self.history.stamp(t);
        Slot { current: self.add_member(slot.current, t, time), ..slot }
    }

    fn is_member(&self, group: Group, t: usize) -> bool {
        match group.thread() {
            MANY => self.crowds.contains(group.low(), t),
            thread => thread == t as u64,
        }
    }

    fn add_member(&mut self, group: Group, t: usize, time: Time) -> Group {
        match group.thread() {
            MANY => {
                self.crowds.put(group.low(), t, time);
                group
            }
            // What comes after the new member also comes after one that the new member knows.
            thread if self.knows(t, thread as usize, group.low()) => Group::one(group.kind(), t, time),
            thread => {
                let crowd = self.crowds.add();
                self.crowds.put(crowd, thread as usize, group.low());
                self.crowds.put(crowd, t, time);
                Group::many(group.kind(), crowd)
            }
        }
    }

    #[inline]
    fn drop_group(&mut self, group: Group) {
        if group.thread() == MANY {
            self.crowds.release(group.low());
        }
    }

    #[inline]
    fn depend_on_all(&mut self, at: At, group: Group, out: &mut Findings) {
        match (group.kind(), group.thread()) {
            (0, _) => {}
            (_, MANY) => {
                let mut members = std::mem::take(&mut self.members);
                self.crowds.members(group.low(), &mut members);
                members.iter().for_each(|&(s, time)| self.depend(at, s, time, out));
                self.members = members;
            }
            (_, s) => self.depend(at, s as usize, group.low(), out),
        }
    }

    /// Whether lane `t` knows what was done in lane `s` up to `time`, as far as that is of use.
    #[inline]
    fn knows(&self, t: usize, s: usize, time: Time) -> bool {
        self.history.known(t, s).is_some_and(|known| known >= time)
            || (self.reach.keep_from().get(s).is_some_and(|&keep| time < keep)
                && self.history.knows_row(t, s, time))
    }

    /// What was done in lane `s` up to `time` comes before this event.
    #[inline]
    fn depend(&mut self, at: At, s: usize, time: Time, out: &mut Findings) {
        if !self.knows(at.lane, s, time) {
            self.new_dependence(at, s, time, out);
        }
    }

    fn new_dependence(&mut self, at: At, s: usize, time: Time, out: &mut Findings) {
        let known_of_us = self.history.known_at(s, time, at.lane);
        if let Some(start) = self.started(at.lane) {
            if start <= known_of_us {
                self.report_blocks(at, known_of_us, out);
            } else if self.reach.reaches(at.lane, s, time) {
                self.report_cycle(at, out);
            }
        }
        self.learn(at.lane, s, time);
    }

    /// Lane `t` learns what `s` knew at `time`.
    fn learn(&mut self, t: usize, s: usize, time: Time) {
        self.joins += 1;
        if self.history.width() > 0 {
            self.history.learn(t, s, time);
        } else {
            self.history.learn_sparse(t, s, time, self.reach.keep_from());
        }
        let started = self.started(t);
        let sink_started = started.unwrap_or_else(|| self.history.now(t));
        let source_started = self.started(s);
        self.reach
            .spread(Dependence { source: s, time, sink: t, source_started, sink_started }, started.is_some());
    }

    /// Verdict 2: the source of a dependence comes after our own time `known_of_us`, so every block
    /// that was open by then has an event of another thread between its begin and this event.
    #[cold]
    fn report_blocks(&mut self, At { lane, here }: At, known_of_us: Time, out: &mut Findings) {
        let open = &mut self.threads[lane].open;
        let transaction = open[0].block;
        let violated = open.iter_mut().rev().skip_while(|open| open.start > known_of_us);
        for (outwards, open) in violated.enumerate() {
            if !open.reported {
                open.reported = true;
                out.violation(open.block, outwards == 0, transaction, here);
            } else if outwards > 0 {
                // Perhaps by another dependence of this very event, that no inner block was violated by.
                out.not_innermost(open.block, here);
            }
        }
    }

    /// Verdict 1 only: this event closes a cycle, and no block of its thread is violated by it.
    #[cold]
    fn report_cycle(&mut self, At { lane, here }: At, out: &mut Findings) {
        let thread = &mut self.threads[lane];
        if !thread.open[0].reported && !thread.cycle_reported {
            thread.cycle_reported = true;
            out.cycle(thread.open[0].block, here);
        }
    }

    /// Visits every time that is stored anywhere outside the history.
    fn compact(&mut self) {
        self.renew_reach();
        let walk = self.variables.len() + self.channels.len() + self.crowds.words() + self.reach.words();
        let RegionTrack { lanes, history, threads, reach, variables, channels, crowds, .. } = self;
        let keep_from = reach.keep_from().to_vec();
        history.compact(walk, &keep_from, |visit| {
            for slot in variables.iter_mut().chain(channels.iter_mut()) {
                for group in [&mut slot.previous, &mut slot.current] {
                    if group.kind() != 0 && group.thread() != MANY {
                        let mut time = group.low();
                        visit(group.thread() as usize, &mut time);
                        *group = Group::one(group.kind(), group.thread() as usize, time);
                    }
                }
            }
            crowds.visit(visit);
            lanes.pasts().for_each(|past| visit(past.lane, &mut past.time));
            for (t, thread) in threads.iter_mut().enumerate() {
                thread.open.iter_mut().for_each(|open| visit(t, &mut open.start));
            }
            reach.visit(visit);
        });
        self.renew_reach();
    }

    /// Finds out again which epochs are still of use.
    fn renew_reach(&mut self) {
        let RegionTrack { reach, threads, lanes, .. } = self;
        reach.renew(|lane| threads[lane].open.first().map(|open| open.start), lanes.free());
    }
}
