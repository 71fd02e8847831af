//! The second phase of DoubleChecker (its PCD): replays the logs of one component of the imprecise
//! graph in the order of the events, with exact conflicts, and says which transactions complete
//! true cycles.
//!
//! A cycle of the trace lies within one component, and two accesses of members conflict whatever
//! happened between them elsewhere: the logs of the members are all that is needed.
//!
//! Reachability is kept up to date instead of being searched for: each transaction knows which
//! of the transactions that run right now reach it. A dependence of a running transaction on one
//! that it reaches completes a cycle. Since program order leads from a transaction to all later
//! ones of its thread, one edge per thread, to the first transaction reached, is enough. So n
//! transactions of k threads need O(n·k) memory, every dependence one comparison, every new edge
//! O(k), and the marks of one transaction are spread at most once over what it reaches: O(n²·k) if
//! many transactions reach a long one while they run. Somebody who is waiting can end that.

use atomvet_trace::{EventId, Mode, Op, SiteId, ThreadId, VarId};
use rustc_hash::FxHashMap;

use crate::graph::{LastAccesses, LastSends};
use crate::predictive::Effort;
use crate::predictive::effort::{Done, Keep};
use crate::{Access, Block, Here};

/// What a transaction did, or several unary ones of one thread between which it learnt nothing new.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) thread: ThreadId,
    /// The block, if it is one transaction; otherwise every event is a transaction of its own.
    pub(super) block: Option<Block>,
    /// Orders logs of one thread, where one event ends a piece of a block and begins the next.
    pub(super) serial: u64,
    pub(super) entries: Vec<Entry>,
}

impl Default for Log {
    fn default() -> Self {
        Log { thread: ThreadId(0), block: None, serial: 0, entries: Vec::new() }
    }
}

/// One logged action.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) at: EventId,
    pub(super) op: Op,
    pub(super) site: SiteId,
    pub(super) action: Action,
}

/// What was done.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// A block began. Logged only where it is all that the block did before its thread was joined.
    Begin,
    /// A life of a variable was accessed.
    Access(VarId, u32, Access),
    /// Something was sent on a channel: its slot and how often the slot was reused.
    Send(u32, u32, Mode),
    /// Something was received from a channel.
    Receive(u32, u32, Mode),
    /// A thread was joined.
    Join(ThreadId),
}

/// Finds the blocks that complete a cycle, each with the first event that does so; some of them, if somebody ends
/// the effort.
pub(super) fn blamed(logs: &[Log], effort: &mut Effort) -> Vec<(Block, Here)> {
    let mut order: Vec<(EventId, u64, u32, u32)> = Vec::new();
    for (i, log) in logs.iter().enumerate() {
        let keys = log.entries.iter().enumerate();
        order.extend(keys.map(|(j, entry)| (entry.at, log.serial, i as u32, j as u32)));
    }
    order.sort_unstable();
    let mut replay = Replay::new(logs);
    let of = order.len() as u64;
    for (done, (_, _, log, entry)) in (0..).zip(order) {
        let (log, entry) = (log as usize, entry as usize);
        let steps = 1 + std::mem::take(&mut replay.steps);
        let done = Done { what: "logged accesses replayed", done, of };
        if effort.go_on(steps, done) == Keep::Stop {
            break;
        }
        replay.entry(log, &logs[log], logs[log].entries[entry]);
        if entry + 1 == logs[log].entries.len() {
            replay.end(log);
        }
    }
    replay.blamed
}

/// A transaction of the replay.
type Transaction = u32;

const NONE: Transaction = u32::MAX;

struct Replay {
    /// The threads of the logs, densely.
    threads: FxHashMap<ThreadId, usize>,
    /// Per log, its transaction; for unary events, that of the latest.
    of_log: Vec<Transaction>,
    /// Per log, the event that its transaction is for, where it is unary.
    unary: Vec<Option<EventId>>,
    /// Per thread, its latest transaction.
    latest: Vec<Transaction>,
    /// Per thread, its latest transaction if that is a block that has not ended.
    running: Vec<Transaction>,
    /// Per transaction, its thread.
    thread_of: Vec<usize>,
    /// Per transaction and thread, the first transaction of the thread that an edge leads to.
    sinks: Vec<Transaction>,
    /// Per transaction, whether it has a sink: most get their marks before they do.
    has_sinks: Vec<bool>,
    /// Per transaction and thread, the latest block of the thread that reaches the transaction.
    reached_by: Vec<Transaction>,
    variables: FxHashMap<(VarId, u32), LastAccesses<Transaction>>,
    channels: FxHashMap<(u32, u32), LastSends<Transaction>>,
    is_blamed: Vec<bool>,
    blamed: Vec<(Block, Here)>,
    /// Transactions that a mark was just spread to.
    stack: Vec<Transaction>,
    /// Work that was done since somebody asked.
    steps: u64,
}

impl Replay {
    fn new(logs: &[Log]) -> Self {
        let mut threads = FxHashMap::default();
        for log in logs {
            let next = threads.len();
            threads.entry(log.thread).or_insert(next);
        }
        Replay {
            of_log: vec![NONE; logs.len()],
            unary: vec![None; logs.len()],
            latest: vec![NONE; threads.len()],
            running: vec![NONE; threads.len()],
            threads,
            thread_of: Vec::new(),
            sinks: Vec::new(),
            has_sinks: Vec::new(),
            reached_by: Vec::new(),
            variables: FxHashMap::default(),
            channels: FxHashMap::default(),
            is_blamed: Vec::new(),
            blamed: Vec::new(),
            stack: Vec::new(),
            steps: 0,
        }
    }

    /// A log is over. What its block reaches is of no interest any more: the block completes no cycle.
    fn end(&mut self, log: usize) {
        let this = self.of_log[log];
        let thread = self.thread_of[this as usize];
        if self.running[thread] == this {
            self.running[thread] = NONE;
        }
    }

    fn entry(&mut self, index: usize, log: &Log, entry: Entry) {
        let is_new = match log.block {
            Some(_) => self.of_log[index] == NONE,
            None => self.unary[index].replace(entry.at) != Some(entry.at),
        };
        if is_new {
            self.of_log[index] = self.begin(self.threads[&log.thread], log.block);
        }
        let this = self.of_log[index];
        let mut sources: smallvec::SmallVec<[Transaction; 8]> = smallvec::SmallVec::new();
        match entry.action {
            Action::Begin => {}
            Action::Access(variable, life, access) => {
                let last = self.variables.entry((variable, life)).or_default();
                sources.extend(last.before(access).iter().map(|(_, source)| *source));
                last.record(log.thread, access, this);
            }
            Action::Send(slot, reuse, mode) => {
                self.channels.entry((slot, reuse)).or_default().record(log.thread, mode, this);
            }
            Action::Receive(slot, reuse, mode) => {
                let last = self.channels.entry((slot, reuse)).or_default();
                sources.extend(last.before(mode).map(|(_, source)| *source));
            }
            Action::Join(child) => {
                let child = self.threads.get(&child).map(|&child| self.latest[child]);
                sources.extend(child.filter(|&latest| latest != NONE));
            }
        }
        for source in sources {
            self.depend(source, this, log, entry);
        }
    }

    fn begin(&mut self, thread: usize, block: Option<Block>) -> Transaction {
        let this = self.thread_of.len() as Transaction;
        let width = self.latest.len();
        self.thread_of.push(thread);
        self.is_blamed.push(false);
        self.has_sinks.push(false);
        self.sinks.resize(self.sinks.len() + width, NONE);
        self.reached_by.resize(self.reached_by.len() + width, NONE);
        self.running[thread] = if block.is_some() { this } else { NONE };
        let before = std::mem::replace(&mut self.latest[thread], this);
        if before != NONE {
            self.connect(before, this);
        }
        this
    }

    /// Every dependence counts, also one between transactions that have an edge: what the sink
    /// reaches may have grown since.
    fn depend(&mut self, source: Transaction, sink: Transaction, log: &Log, entry: Entry) {
        let thread = self.thread_of[sink as usize];
        if self.thread_of[source as usize] == thread {
            return;
        }
        if let Some(block) = log.block
            && self.reached_by[self.at(source, thread)] == sink
            && !std::mem::replace(&mut self.is_blamed[sink as usize], true)
        {
            let Entry { at, op, site, .. } = entry;
            self.blamed.push((block, Here { at, thread: log.thread, op, site }));
        }
        self.connect(source, sink);
    }

    /// An edge, and what follows from it for who is reached by whom.
    fn connect(&mut self, source: Transaction, sink: Transaction) {
        let edge = self.at(source, self.thread_of[sink as usize]);
        if self.sinks[edge] != NONE {
            return;
        }
        self.sinks[edge] = sink;
        self.has_sinks[source as usize] = true;
        for thread in 0..self.latest.len() {
            let running = self.running[thread];
            let reaches_source = source == running || self.reached_by[self.at(source, thread)] == running;
            if running != NONE && reaches_source {
                self.spread(running, thread, sink);
            }
        }
    }

    /// `running` reaches `transaction`, and so all that this one reaches.
    fn spread(&mut self, running: Transaction, thread: usize, transaction: Transaction) {
        self.stack.push(transaction);
        while let Some(transaction) = self.stack.pop() {
            let mark = self.at(transaction, thread);
            if transaction == running || self.reached_by[mark] == running {
                continue;
            }
            self.reached_by[mark] = running;
            if !self.has_sinks[transaction as usize] {
                continue;
            }
            self.steps += self.latest.len() as u64;
            let edges = self.at(transaction, 0);
            let sinks = &self.sinks[edges..edges + self.latest.len()];
            self.stack.extend(sinks.iter().filter(|sink| **sink != NONE));
        }
    }

    fn at(&self, transaction: Transaction, thread: usize) -> usize {
        transaction as usize * self.latest.len() + thread
    }
}
