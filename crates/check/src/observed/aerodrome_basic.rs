//! AeroDrome as printed: vector clocks instead of a graph of transactions.
//!
//! Computes whether the trace is serializable, after Umang Mathur and Mahesh Viswanathan,
//! "Atomicity Checking in Linear Time using Vector Clocks" (ASPLOS 2020), Algorithm 1. This is
//! the reference for `aerodrome.rs`, which gives the same findings faster.
//!
//! A clock stands for a set of events and says, for each thread, up to which of its transactions
//! they know it. When a transaction ends, whatever knows its begin learns all of it, for in a
//! serial order it comes after all of it. A transaction that is about to learn something that
//! knows its own begin is on a cycle.
//!
//! ```text
//! T1: [ w(x)            r(y) ]     W_y knows T1's begin when T1 is about to learn it: cycle.
//! T2:       [ r(x) w(y) ]
//! ```
//!
//! *Guarantee*: reports something if and only if the trace is not serializable. It says so at the
//! first event after which some cycle has at most one transaction that still runs, which may be
//! later than where the cycle closes. It knows the transaction whose check failed, not the block
//! to blame.
//!
//! *Where it differs from the print*: transactions still open at the end of the trace are ended
//! there, or cycles with two of them would be missed; a join does not look at a thread that did
//! nothing (`lower.rs` sees to that), or `begin fork(u) join(u)` would be reported. Reads and
//! writes are two cases of *groups*: successive accesses of a variable that do not conflict with
//! each other. `W_x` is a group of one, `R_t,x` for all t a group of reads, and updates that
//! commute form groups too. Releases of a read lock are a group as well. The search goes on after
//! the first violation, one report for each transaction.
//!
//! *Cost*: an event costs O(threads) per member of the group that it conflicts with; an end costs
//! O(threads · (variables + locks)), and O(threads² · variables) where all threads read all.

use atomvet_trace::{Mode, ThreadId, VarId};

use crate::clock::Clock;
use crate::{Access, Blame, Block, Channel, Config, Findings, Here, Info, Kind, Observed, Rules, Stats};

/// Algorithm 1 of the AeroDrome paper.
#[derive(Debug, Default)]
pub struct AeroDromeBasic {
    threads: Vec<Thread>,
    variables: Vec<Variable>,
    channels: Vec<ChannelClocks>,
    transactions: u64,
    checks: u64,
    ends: u64,
    updated: u64,
}

#[derive(Debug, Default)]
struct Thread {
    /// `C_t`: what the thread's last event knows.
    clock: Clock,
    /// `C▷_t`: what the begin of its last transaction knew.
    begin: Clock,
    /// The transaction that runs.
    running: Option<Block>,
    /// Whether that transaction was reported.
    reported: bool,
}

/// Accesses that do not conflict with each other: the last one of each thread, and its clock.
type Group = Vec<(usize, Clock)>;

#[derive(Debug)]
struct Variable {
    /// How the members of `current` access the variable.
    access: Access,
    /// The latest accesses that do not conflict with each other.
    current: Group,
    /// The group before it. All of `current` knows all of it.
    previous: Group,
}

/// `L_l`, in two parts.
#[derive(Debug, Default)]
struct ChannelClocks {
    /// The last exclusive send.
    exclusive: Group,
    /// The shared sends since then.
    shared: Group,
}

impl Observed for AeroDromeBasic {
    const INFO: Info = Info {
        name: "aerodrome-basic",
        kind: Kind::Observed,
        paper: "Mathur, Viswanathan: Atomicity Checking in Linear Time using Vector Clocks, ASPLOS 2020, Algorithm 1",
        guarantee: "exact: reports a cycle if and only if the trace is not serializable; names the transaction \
                    whose check failed, no block to blame",
        blame: Blame::None,
        tells_first_event: false,
        cost: "O(threads) per event, O(threads · (variables + locks)) per end of a transaction; memory \
               O(threads² · variables + threads · locks)",
    };

    fn new(_config: &Config) -> Self {
        AeroDromeBasic::default()
    }

    fn finish(mut self, open: &[Block], last: Here, out: &mut Findings) -> Stats {
        for block in open {
            self.end_transaction(block.thread.index(), last, out);
        }
        let in_variables = self.variables.iter().flat_map(|v| v.current.iter().chain(&v.previous));
        let in_channels = self.channels.iter().flat_map(|c| c.exclusive.iter().chain(&c.shared));
        let in_threads = self.threads.iter().flat_map(|thread| [&thread.clock, &thread.begin]);
        let clocks = in_threads.chain(in_variables.chain(in_channels).map(|(_, clock)| clock));
        let (count, bytes) = clocks.fold((0, 0), |(count, bytes), c| (count + 1, bytes + c.bytes()));
        Stats(vec![
            ("transactions", self.transactions),
            // Algorithm 1 joins wherever it checks.
            ("clock checks", self.checks),
            ("clock joins", self.checks),
            ("ends", self.ends),
            ("clocks updated at ends", self.updated),
            ("clocks at the end of the trace", count),
            ("bytes in them", bytes),
        ])
    }
}

impl Rules for AeroDromeBasic {
    fn begin(&mut self, here: Here, block: Block, _out: &mut Findings) {
        let t = self.thread(here.thread);
        let thread = &mut self.threads[t];
        thread.clock.increment(t);
        thread.begin = thread.clock.clone();
        thread.running = Some(block);
        thread.reported = false;
        self.transactions += 1;
    }

    fn end(&mut self, here: Here, out: &mut Findings) {
        let t = self.thread(here.thread);
        self.end_transaction(t, here, out);
    }

    fn access(&mut self, here: Here, variable: VarId, access: Access, out: &mut Findings) {
        let t = self.thread(here.thread);
        if variable.index() >= self.variables.len() {
            self.variables.resize_with(variable.index() + 1, Variable::new);
        }
        let mut cell = std::mem::replace(&mut self.variables[variable.index()], Variable::new());
        if cell.access != access || !access.shares() {
            cell = Variable { access, previous: cell.current, current: Group::new() };
        }
        self.check_and_get_all(t, &cell.previous, here, out);
        set(&mut cell.current, t, &self.threads[t].clock);
        self.variables[variable.index()] = cell;
    }

    fn send(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        let t = self.thread(here.thread);
        let channel = channel_at(&mut self.channels, channel);
        let clock = &self.threads[t].clock;
        match mode {
            Mode::Exclusive => {
                channel.exclusive = vec![(t, clock.clone())];
                channel.shared.clear();
            }
            Mode::Shared => set(&mut channel.shared, t, clock),
        }
    }

    fn receive(&mut self, here: Here, channel: Channel, mode: Mode, out: &mut Findings) {
        let t = self.thread(here.thread);
        let held = std::mem::take(channel_at(&mut self.channels, channel));
        self.check_and_get_all(t, &held.exclusive, here, out);
        if mode == Mode::Exclusive {
            self.check_and_get_all(t, &held.shared, here, out);
        }
        *channel_at(&mut self.channels, channel) = held;
    }

    fn join(&mut self, here: Here, child: ThreadId, out: &mut Findings) {
        let t = self.thread(here.thread);
        let child = self.thread(child);
        let clock = self.threads[child].clock.clone();
        self.check_and_get(t, &clock, here, out);
    }

    fn new_life(&mut self, variable: VarId) {
        if let Some(variable) = self.variables.get_mut(variable.index()) {
            *variable = Variable::new();
        }
    }

    fn close(&mut self, channel: Channel) {
        *channel_at(&mut self.channels, channel) = ChannelClocks::default();
    }
}

impl AeroDromeBasic {
    fn thread(&mut self, thread: ThreadId) -> usize {
        let t = thread.index();
        while t >= self.threads.len() {
            let mut new = Thread::default();
            new.clock.increment(self.threads.len());
            self.threads.push(new);
        }
        t
    }

    /// The procedure of that name: thread `t` learns `clock`, and if that knows the begin of the
    /// transaction that `t` runs, there is a cycle.
    fn check_and_get(&mut self, t: usize, clock: &Clock, here: Here, out: &mut Findings) {
        self.checks += 1;
        let thread = &mut self.threads[t];
        if let Some(block) = thread.running
            && !thread.reported
            && thread.begin.is_before(clock)
        {
            thread.reported = true;
            out.cycle(block, here);
        }
        thread.clock.join(clock);
    }

    /// Learns from every member of a group but the thread itself.
    fn check_and_get_all(&mut self, t: usize, group: &Group, here: Here, out: &mut Findings) {
        for (_, clock) in group.iter().filter(|(member, _)| *member != t) {
            self.check_and_get(t, clock, here, out);
        }
    }

    /// Whatever knows the begin of the transaction learns all of it.
    fn end_transaction(&mut self, t: usize, here: Here, out: &mut Findings) {
        self.ends += 1;
        self.threads[t].running = None;
        let begin = self.threads[t].begin.clone();
        let end = self.threads[t].clock.clone();
        for u in 0..self.threads.len() {
            if u != t && begin.is_before(&self.threads[u].clock) {
                self.updated += 1;
                self.check_and_get(u, &end, here, out);
            }
        }
        let in_variables =
            self.variables.iter_mut().flat_map(|v| v.current.iter_mut().chain(&mut v.previous));
        let in_channels = self.channels.iter_mut().flat_map(|c| c.exclusive.iter_mut().chain(&mut c.shared));
        for (_, clock) in in_variables.chain(in_channels) {
            if begin.is_before(clock) {
                self.updated += 1;
                clock.join(&end);
            }
        }
    }
}

impl Variable {
    fn new() -> Self {
        Variable { access: Access::Write, current: Group::new(), previous: Group::new() }
    }
}

/// The clock of member `t` of a group is `clock` now.
fn set(group: &mut Group, t: usize, clock: &Clock) {
    match group.iter_mut().find(|(member, _)| *member == t) {
        Some((_, old)) => old.clone_from(clock),
        None => group.push((t, clock.clone())),
    }
}

fn channel_at(channels: &mut Vec<ChannelClocks>, channel: Channel) -> &mut ChannelClocks {
    let slot = channel.slot as usize;
    if slot >= channels.len() {
        channels.resize_with(slot + 1, ChannelClocks::default);
    }
    &mut channels[slot]
}
