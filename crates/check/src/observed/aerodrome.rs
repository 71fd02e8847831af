//! AeroDrome, made fast: the findings of `aerodrome_basic.rs`, event for event.
//!
//! Computes whether the trace is serializable, after Umang Mathur and Mahesh Viswanathan,
//! "Atomicity Checking in Linear Time using Vector Clocks" (ASPLOS 2020): Algorithm 1 with the
//! reduced read clocks of section 4.3. What the clocks mean, what is guaranteed and which repairs
//! the print needs is said in `aerodrome_basic.rs`. What is different here:
//!
//! - **Snapshots.** Until `C_t` changes, all that thread t records is the same clock. So variables
//!   and channels hold a reference to a shared *snapshot* of `C_t`, taken when it is first needed
//!   after a change.
//! - **Times.** `C_t(t)` advances at every change of `C_t`, not only at begins. Then a time names a
//!   snapshot, and two comparisons of one component replace those of whole clocks:
//!   a clock c with `c(s) ≥ n` knows all that snapshot (s, n) knows, now and after every later
//!   end, so there is nothing to check or to learn; and it knows the begin of the running
//!   transaction of s if and only if `c(s)` is not below the time of that begin.
//! - **Ends.** Each running transaction has the list of clocks that know its begin. A clock enters
//!   it when it is made or when it learns of the begin. An end updates the clocks of its list,
//!   in place, instead of looking at every variable; as all holders of a snapshot hold the same
//!   value, that is the same.
//! - **Groups.** A group of accesses that do not conflict is one snapshot as long as each new
//!   member knows the members before it. Otherwise it becomes a pair of clocks: `R_x`, what any of
//!   them knows, and `chR_x` → `check`, the same without what each of them knows of its own
//!   thread. A thread that conflicts with the group checks `check` and learns `R_x`.
//! - **Spent clocks.** A clock that knows the begin of no running transaction never will, and can
//!   neither fail a check nor teach anything that could. A reference to it is as good as none.
//! - **Memory.** Clocks that are spent or that nothing refers to are found by a mark pass over
//!   variables, channels and threads, run whenever the clocks have doubled, or taken as much memory
//!   as what the pass looks at. So memory is bounded by live state, and the pass costs O(threads)
//!   per clock taken.
//!
//! *Why a transaction may learn what knows its begin unchecked*: where a member of a group is left
//! out because a newer one knows it, or `check` misses a component, the transaction that would
//! have failed the check knows the clock in question already, and was reported when it learned it.
//!
//! *Cost*: O(1) for an event that learns nothing; O(threads) for one that does; O(threads) for an
//! end and for each clock that knows its begin. With 16 threads, 100,000 variables and transactions
//! of 20 events under 2 to 4 locks: 29 ns per event on a busy 2-core machine, 10 MiB resident after
//! 1 million events and after 20 million (`cargo run --release -p atomvet-check --example
//! two_phase_locking -- aerodrome 20`). Memory O(variables + locks), plus O(threads) for each clock
//! that knows a running transaction, of which each variable and lock has at most four.

mod group;
#[cfg(test)]
mod tests;

use atomvet_trace::{Mode, ThreadId, VarId};

use self::group::{ChannelClocks, EMPTY, Group, NEW_CHANNEL, NEW_VARIABLE, NOBODY, SEVERAL, Variable, WRITE};
use crate::clock::{self, Rows};
use crate::{Access, Blame, Block, Channel, Config, Findings, Here, Info, Kind, Observed, Rules, Stats};

/// The optimised form of AeroDrome.
#[derive(Debug, Default)]
pub struct AeroDrome {
    threads: Vec<Thread>,
    /// Row t is `C_t`.
    clocks: Rows,
    /// Per thread the time of the begin of its running transaction, [`NOT_RUNNING`] if there is
    /// none. As long as a row is wide.
    begins: Vec<u64>,
    /// Values that some `C_t` had, brought up to date at ends.
    snapshots: Rows,
    /// Per snapshot, the number of running transactions whose begin it knows. At 0 it is spent.
    running_known: Vec<u32>,
    /// The clocks of groups that no single snapshot stands for.
    pairs: Pairs,
    variables: Vec<Variable>,
    channels: Vec<ChannelClocks>,
    /// The next mark pass runs when so many rows are held.
    collect_at: usize,
    figures: Figures,
}

#[derive(Debug, Default)]
struct Thread {
    /// `C_t(t)`.
    now: u64,
    /// The snapshot with time `now`, if it was taken. It equals `C_t`.
    snapshot: Option<u32>,
    /// The transaction that runs.
    running: Option<Block>,
    /// Whether that transaction was reported.
    reported: bool,
    /// The snapshots that know the begin of the running transaction, each once.
    knowing_snapshots: Vec<u32>,
    /// The pairs whose `R_x` knows it, each once.
    knowing_pairs: Vec<u32>,
}

/// Clocks of groups: row i of the one and row i of the other belong together.
#[derive(Debug, Default)]
struct Pairs {
    /// `R_x`: the join of what the members know.
    known: Rows,
    /// `chR_x`: the same, but each member without what it knows of its own thread.
    check: Rows,
}

#[derive(Debug, Default)]
struct Figures {
    transactions: u64,
    checks: u64,
    joins: u64,
    ends: u64,
    updated: u64,
    most_held: usize,
    collections: u64,
}

/// Above every time: no clock knows the begin of a transaction that does not run.
const NOT_RUNNING: u64 = u64::MAX;
/// Fewer rows than this are not worth a mark pass, but in tests of small traces.
const LEAST_COLLECTED: usize = if cfg!(test) { 2 } else { 256 };

impl Observed for AeroDrome {
    const INFO: Info = Info {
        name: "aerodrome",
        kind: Kind::Observed,
        paper: "Mathur, Viswanathan: Atomicity Checking in Linear Time using Vector Clocks, ASPLOS 2020, \
                section 4.3, with shared clocks",
        guarantee: "exact: reports a cycle if and only if the trace is not serializable; names the transaction \
                    whose check failed, no block to blame",
        blame: Blame::None,
        tells_first_event: false,
        cost: "O(1) per event that learns nothing new, else O(threads); O(threads) per end and clock that knows \
               its begin; memory O(variables + locks + threads · clocks that know a running transaction)",
    };

    fn new(_config: &Config) -> Self {
        AeroDrome { collect_at: LEAST_COLLECTED, ..AeroDrome::default() }
    }

    fn finish(mut self, open: &[Block], last: Here, out: &mut Findings) -> Stats {
        for block in open {
            self.end_transaction(block.thread.index(), last, out);
        }
        let figures = &self.figures;
        let held = self.snapshots.held() + 2 * self.pairs.known.held();
        let rows = [&self.clocks, &self.snapshots, &self.pairs.known, &self.pairs.check];
        Stats(vec![
            ("transactions", figures.transactions),
            ("clock checks", figures.checks),
            ("clock joins", figures.joins),
            ("ends", figures.ends),
            ("clocks updated at ends", figures.updated),
            ("most clocks held", figures.most_held.max(held) as u64),
            ("mark passes", figures.collections),
            ("bytes in clocks", rows.map(Rows::bytes).iter().sum()),
        ])
    }
}

impl Rules for AeroDrome {
    fn begin(&mut self, here: Here, block: Block, _out: &mut Findings) {
        let t = self.thread(here.thread);
        self.advance(t);
        let thread = &mut self.threads[t];
        thread.running = Some(block);
        thread.reported = false;
        self.begins[t] = thread.now;
        self.figures.transactions += 1;
    }

    fn end(&mut self, here: Here, out: &mut Findings) {
        let t = self.thread(here.thread);
        self.end_transaction(t, here, out);
    }

    #[inline]
    fn access(&mut self, here: Here, variable: VarId, access: Access, out: &mut Findings) {
        let t = self.thread(here.thread);
        let x = variable.index();
        if x >= self.variables.len() {
            self.add_variables(x + 1);
        }
        let kind = group::kind_of(access);
        let Variable { current, previous } = self.variables[x];
        if current.thread == t as u32
            && current.time() == self.threads[t].now
            && (current.kind() == kind || current.kind() == WRITE)
        {
            // The same clock again. After an own write it says all that another access would.
            return;
        }
        // Recording may start a mark pass, which may empty groups: they are read again afterwards.
        if kind == WRITE || current.kind() != kind {
            self.learn(t, current, here, out);
            let mine = self.record(t, kind);
            let variable = &mut self.variables[x];
            // Nobody joins a write: who comes next looks at the write only.
            variable.previous = if kind == WRITE { EMPTY } else { variable.current };
            variable.current = mine;
        } else if self.knows(t, current) {
            // Whoever knows the group knows the one before it.
            self.variables[x].current = self.record(t, kind);
        } else {
            self.learn(t, previous, here, out);
            self.variables[x].current = self.enter(t, current, kind);
        }
    }

    fn send(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        let t = self.thread(here.thread);
        let slot = self.channel(channel);
        match mode {
            Mode::Exclusive => {
                let exclusive = self.record(t, WRITE);
                self.channels[slot] = ChannelClocks { exclusive, shared: EMPTY };
            }
            Mode::Shared => {
                let shared = self.channels[slot].shared;
                self.channels[slot].shared = self.enter(t, shared, WRITE);
            }
        }
    }

    #[inline]
    fn receive(&mut self, here: Here, channel: Channel, mode: Mode, out: &mut Findings) {
        let t = self.thread(here.thread);
        let slot = self.channel(channel);
        let ChannelClocks { exclusive, shared } = self.channels[slot];
        self.learn(t, exclusive, here, out);
        if mode == Mode::Exclusive {
            self.learn(t, shared, here, out);
        }
    }

    fn join(&mut self, here: Here, child: ThreadId, out: &mut Findings) {
        let t = self.thread(here.thread);
        let child = self.thread(child);
        self.figures.checks += 1;
        if child != t && self.clocks.get(t as u32, child) < self.threads[child].now {
            self.check(t, self.clocks.get(child as u32, t), here, out);
            let (mine, theirs) = self.clocks.two(t as u32, child as u32);
            clock::join(mine, theirs);
            self.advance(t);
            self.figures.joins += 1;
        }
    }

    fn new_life(&mut self, variable: VarId) {
        if let Some(variable) = self.variables.get_mut(variable.index()) {
            *variable = NEW_VARIABLE;
        }
    }

    fn close(&mut self, channel: Channel) {
        let slot = self.channel(channel);
        self.channels[slot] = NEW_CHANNEL;
    }

    #[inline(always)]
    fn prefetch(&self, variable: VarId) {
        crate::prefetch::read(&self.variables, variable.index());
    }
}

impl AeroDrome {
    #[inline(always)]
    fn thread(&mut self, thread: ThreadId) -> usize {
        let t = thread.index();
        if t >= self.threads.len() {
            self.add_threads(t + 1);
        }
        t
    }

    #[cold]
    fn add_threads(&mut self, count: usize) {
        self.clocks.widen(count);
        self.snapshots.widen(count);
        self.pairs.known.widen(count);
        self.pairs.check.widen(count);
        self.begins.resize(self.clocks.width(), NOT_RUNNING);
        while self.threads.len() < count {
            self.clocks.add();
            self.threads.push(Thread::default());
        }
    }

    #[cold]
    fn add_variables(&mut self, count: usize) {
        self.variables.resize(count, NEW_VARIABLE);
    }

    #[cold]
    fn add_channels(&mut self, count: usize) {
        self.channels.resize(count, NEW_CHANNEL);
    }

    #[inline(always)]
    fn channel(&mut self, channel: Channel) -> usize {
        let slot = channel.slot as usize;
        if slot >= self.channels.len() {
            self.add_channels(slot + 1);
        }
        slot
    }

    /// `C_t` is about to be another clock, or just became one: it gets a new time.
    fn advance(&mut self, t: usize) {
        let thread = &mut self.threads[t];
        thread.now += 1;
        thread.snapshot = None;
        self.clocks.row_mut(t as u32)[t] = thread.now;
    }

    /// Whether `t` knows all that a group knows, as far as it matters to anybody. May be wrong about
    /// pairs, in saying no.
    #[inline(always)]
    fn knows(&self, t: usize, group: Group) -> bool {
        match group.thread {
            NOBODY => true,
            SEVERAL => false,
            // A thread knows its own past, and that comparison says so too.
            thread => {
                self.clocks.get(t as u32, thread as usize) >= group.time()
                    || self.running_known[group.clock as usize] == 0
            }
        }
    }

    /// CHECKANDGET of the paper: thread `t` conflicts with a group.
    #[inline(always)]
    fn learn(&mut self, t: usize, group: Group, here: Here, out: &mut Findings) {
        self.figures.checks += 1;
        if !self.knows(t, group) {
            self.learn_new(t, group, here, out);
        }
    }

    #[inline(never)]
    fn learn_new(&mut self, t: usize, group: Group, here: Here, out: &mut Findings) {
        let (known, checked) = if group.thread == SEVERAL {
            (self.pairs.known.row(group.clock), self.pairs.check.get(group.clock, t))
        } else {
            let known = self.snapshots.row(group.clock);
            (known, known[t])
        };
        let changed = clock::join(self.clocks.row_mut(t as u32), known);
        self.check(t, checked, here, out);
        if changed {
            self.advance(t);
        }
        self.figures.joins += 1;
    }

    /// Thread `t` learns what knows `t` itself up to `time`. If that reaches the begin of the
    /// transaction that `t` runs, there is a cycle.
    #[inline]
    fn check(&mut self, t: usize, time: u64, here: Here, out: &mut Findings) {
        if time >= self.begins[t] {
            self.report(t, here, out);
        }
    }

    #[cold]
    fn report(&mut self, t: usize, here: Here, out: &mut Findings) {
        let thread = &mut self.threads[t];
        if let Some(block) = thread.running
            && !thread.reported
        {
            thread.reported = true;
            out.cycle(block, here);
        }
    }

    /// A group of thread `t` alone, now.
    #[inline(always)]
    fn record(&mut self, t: usize, kind: u64) -> Group {
        let clock = match self.threads[t].snapshot {
            Some(snapshot) => snapshot,
            None => self.take_snapshot(t),
        };
        Group::of_one(t, self.threads[t].now, kind, clock)
    }

    #[inline(never)]
    fn take_snapshot(&mut self, t: usize) -> u32 {
        self.make_room();
        let snapshot = self.snapshots.take();
        self.running_known.resize(self.snapshots.len(), 0);
        let mut running_known = 0;
        let threads = &mut self.threads;
        clock::copy_over(
            self.snapshots.row_mut(snapshot),
            self.clocks.row(t as u32),
            &self.begins,
            |running| {
                threads[running].knowing_snapshots.push(snapshot);
                running_known += 1;
            },
        );
        self.running_known[snapshot as usize] = running_known;
        self.threads[t].snapshot = Some(snapshot);
        snapshot
    }

    /// The group with thread `t` as a new member, or as an old one that knows more now.
    #[inline(never)]
    fn enter(&mut self, t: usize, group: Group, kind: u64) -> Group {
        if self.knows(t, group) {
            return self.record(t, kind);
        }
        let pair = if group.thread == SEVERAL {
            // If a member knows t's present, R_x has it, and so has `check` as far as it matters.
            if self.pairs.known.get(group.clock, t) >= self.threads[t].now {
                return group;
            }
            group.clock
        } else {
            self.make_room();
            let pair = self.pairs.take();
            let first = self.snapshots.row(group.clock);
            self.pairs.enter(pair, group.thread as usize, first, &self.begins, &mut self.threads);
            pair
        };
        self.pairs.enter(pair, t, self.clocks.row(t as u32), &self.begins, &mut self.threads);
        Group::of_several(kind, pair)
    }

    /// Whatever knows the begin of the transaction that `t` runs learns all of it.
    fn end_transaction(&mut self, t: usize, here: Here, out: &mut Findings) {
        self.figures.ends += 1;
        self.threads[t].running = None;
        let begin = std::mem::replace(&mut self.begins[t], NOT_RUNNING);
        for u in 0..self.threads.len() {
            // No new time for u: its snapshot is in the list below, if it has one.
            if u != t && self.clocks.get(u as u32, t) >= begin {
                self.figures.checks += 1;
                self.figures.updated += 1;
                self.check(u, self.clocks.get(t as u32, u), here, out);
                let (theirs, mine) = self.clocks.two(u as u32, t as u32);
                clock::join(theirs, mine);
            }
        }
        let end = self.clocks.row(t as u32);
        let mut snapshots = std::mem::take(&mut self.threads[t].knowing_snapshots);
        for &snapshot in &snapshots {
            clock::join_over(self.snapshots.row_mut(snapshot), end, &self.begins, |running| {
                self.threads[running].knowing_snapshots.push(snapshot);
                self.running_known[snapshot as usize] += 1;
            });
            self.running_known[snapshot as usize] -= 1;
        }
        let mut pairs = std::mem::take(&mut self.threads[t].knowing_pairs);
        for &pair in &pairs {
            self.pairs.enter(pair, t, end, &self.begins, &mut self.threads);
        }
        self.figures.updated += (snapshots.len() + pairs.len()) as u64;
        snapshots.clear();
        pairs.clear();
        // The lists go back for their memory.
        self.threads[t].knowing_snapshots = snapshots;
        self.threads[t].knowing_pairs = pairs;
    }

    /// Called before a clock is taken.
    #[inline]
    fn make_room(&mut self) {
        let held = self.snapshots.held() + 2 * self.pairs.known.held();
        if held >= self.collect_at {
            self.collect(held);
        }
    }

    /// Gives back the clocks that are spent or that nothing refers to.
    #[cold]
    fn collect(&mut self, held: usize) {
        let mut pair_lives = vec![false; self.pairs.known.len()];
        for &pair in self.threads.iter().flat_map(|thread| &thread.knowing_pairs) {
            pair_lives[pair as usize] = true;
        }
        let mut snapshots = vec![false; self.snapshots.len()];
        let mut pairs = vec![false; self.pairs.known.len()];
        let in_variables = self.variables.iter_mut().flat_map(|v| [&mut v.current, &mut v.previous]);
        let in_channels = self.channels.iter_mut().flat_map(|c| [&mut c.exclusive, &mut c.shared]);
        for group in in_variables.chain(in_channels) {
            let clock = group.clock as usize;
            match group.thread {
                NOBODY => {}
                SEVERAL if pair_lives[clock] => pairs[clock] = true,
                SEVERAL => *group = EMPTY,
                _ if self.running_known[clock] > 0 => snapshots[clock] = true,
                _ => *group = EMPTY,
            }
        }
        for snapshot in self.threads.iter().filter_map(|thread| thread.snapshot) {
            snapshots[snapshot as usize] = true;
        }
        for thread in &mut self.threads {
            thread.knowing_snapshots.retain(|&snapshot| snapshots[snapshot as usize]);
            thread.knowing_pairs.retain(|&pair| pairs[pair as usize]);
        }
        self.snapshots.keep_only(&snapshots);
        self.pairs.known.keep_only(&pairs);
        self.pairs.check.keep_only(&pairs);
        self.figures.collections += 1;
        self.figures.most_held = self.figures.most_held.max(held);
        let live = self.snapshots.held() + 2 * self.pairs.known.held();
        let scanned = size_of_val(&*self.variables) + size_of_val(&*self.channels);
        let as_much = scanned / (self.clocks.width() * size_of::<u64>());
        self.collect_at = live + live.max(as_much).max(LEAST_COLLECTED);
    }
}

impl Pairs {
    /// A pair of clocks that know nothing.
    fn take(&mut self) -> u32 {
        let pair = self.known.take();
        let check = self.check.take();
        debug_assert_eq!(pair, check, "both tables give the same rows out and take the same back");
        self.known.row_mut(pair).fill(0);
        self.check.row_mut(pair).fill(0);
        pair
    }

    /// A member's clock joins a pair, and the pair is entered into the lists of the running
    /// transactions whose begin it learns of. The clock with which a transaction ends joins in the
    /// same way: if the thread is a member, as its last word; if not, `check` may lack the
    /// thread's own time, but that concerns nobody once the transaction is over.
    fn enter(&mut self, pair: u32, member: usize, clock: &[u64], begins: &[u64], threads: &mut [Thread]) {
        clock::join_over(self.known.row_mut(pair), clock, begins, |running| {
            threads[running].knowing_pairs.push(pair);
        });
        let check = self.check.row_mut(pair);
        let own = check[member];
        clock::join(check, clock);
        check[member] = own;
    }
}
