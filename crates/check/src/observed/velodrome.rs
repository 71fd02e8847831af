//! Velodrome: a graph of transactions, searched for a cycle at every new edge.
//!
//! Flanagan, Freund, Yi: *Velodrome: A Sound and Complete Dynamic Atomicity Checker for
//! Multithreaded Programs*, PLDI 2008.
//!
//! **Computes**: the happens-before graph of the transactions. An edge that would close a cycle is
//! reported at the event that asks for it, and not added, so that the graph stays acyclic and the
//! analysis goes on.
//!
//! **Guarantee**: exact about whether the trace is serializable and about the first event at which it
//! is not. A blamed block is not atomic. Not every block that is not atomic is blamed: of all
//! dependences between two transactions only the first is kept.
//!
//! ```text
//! T1: [ r(x)                         r(z) ]     T1 → T2 (on x) → T3 (on x) → T1 (on z) blames T1's
//! T2:    [ w(y)      w(x) ]                     block, but T2 → T3 is known by y, whose tail w(y)
//! T3:         [ r(y)      r(x)  w(z) ]          comes before w(x): a cycle that blames nobody.
//! ```
//!
//! **Blame**: the transaction that completes the cycle, if the cycle is *increasing*: every other
//! transaction on it is entered before, or with the event at which, it is left. All cycles
//! that the edge would close are searched for an increasing one.
//!
//! **Deviations**: a unary event becomes no node of its own where one finished node has the same
//! past (the paper's merge; see [`Core::depend_unary`]); finished nodes are reclaimed by
//! counting their incoming edges.
//!
//! **Cost**: O(1) for an event that depends on collected transactions only or on pairs that have
//! their edge (a lookup among the threads that the source has edges to); a search over all that
//! the running transaction reaches for every other dependence, unless it reaches nothing yet.
//! Memory: variables, channels, and all transactions that a running one reaches. In release mode, a
//! million events of two-phase locking on 8 threads take 0.1 s with at most 13 nodes; a million
//! events in which all transactions read what an open one wrote, 0.2 s and 250,000 nodes (45 MB); if
//! the open one makes 4,500 new dependences meanwhile, 200,000 events take 2 s.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use atomvet_trace::{EventId, Mode, ThreadId, VarId};

use crate::graph::{Graph, LastAccesses, LastSends, NodeId, NodeRef, slot};
use crate::{Access, Blame, Block, Channel, Config, Findings, Here, Info, Kind, Observed, Rules, Stats};

/// See the head of this file.
#[derive(Debug)]
pub struct Velodrome {
    core: Core,
    variables: Vec<LastAccesses<Step>>,
    channels: Vec<LastSends<Step>>,
}

/// Up to where in a transaction something came before: all of its events up to `at` did.
#[derive(Clone, Copy, Debug)]
struct Step {
    node: NodeRef,
    at: EventId,
}

/// Where an edge leaves its source and where it enters its sink.
#[derive(Clone, Copy, Debug)]
struct Span {
    tail: EventId,
    head: EventId,
}

#[derive(Debug)]
struct Core {
    graph: Graph<(), Span>,
    threads: Vec<Thread>,
    increasing: IncreasingSearch,
    transactions: u64,
    unary_nodes: u64,
    checks: u64,
    cycles: u64,
    increasing_cycles: u64,
}

#[derive(Debug)]
struct Thread {
    /// The thread's past. While a block runs, its node; otherwise a finished node that has the
    /// same past as the thread: what reaches the one reaches the other. Stale if nothing that
    /// could be on a cycle reaches the thread.
    past: Step,
    /// The transaction that runs, if it is a block.
    block: Option<Block>,
    /// The unary event for which the node of `past` was made: it may receive edges while that
    /// event lasts.
    unary: Option<EventId>,
    /// What was reported about the running block.
    reported: Reported,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Reported {
    Nothing,
    Cycle,
    Blamed,
}

impl Default for Thread {
    fn default() -> Self {
        let past = Step { node: NodeRef::NONE, at: EventId(0) };
        Thread { past, block: None, unary: None, reported: Reported::Nothing }
    }
}

impl Observed for Velodrome {
    const INFO: Info = Info {
        name: "velodrome",
        kind: Kind::Observed,
        paper: "Flanagan, Freund, Yi: Velodrome, PLDI 2008",
        guarantee: "exact about whether the trace is serializable and about the first event at which it is not; \
                    a blamed block is not atomic, but of the blocks that are not atomic some are not blamed, \
                    because only the first dependence between two transactions is kept",
        blame: Blame::Some,
        tells_first_event: true,
        cost: "O(1) for an event without a new dependence; a new one between two transactions searches all that \
               the later one reaches. Memory grows with the transactions that a running one reaches: few where \
               transactions are short, but while one that others depend on stays open, none of these is \
               collected (about 180 bytes each), and if it goes on to depend on others, it searches them all \
               each time: quadratic",
    };

    fn new(_config: &Config) -> Self {
        let core = Core {
            graph: Graph::new(),
            threads: Vec::new(),
            increasing: IncreasingSearch::default(),
            transactions: 0,
            unary_nodes: 0,
            checks: 0,
            cycles: 0,
            increasing_cycles: 0,
        };
        Velodrome { core, variables: Vec::new(), channels: Vec::new() }
    }

    fn finish(self, _open: &[Block], _last: Here, _out: &mut Findings) -> Stats {
        let core = self.core;
        let counts = core.graph.counts();
        Stats(vec![
            ("transactions", core.transactions),
            ("unary nodes", core.unary_nodes),
            ("edges", counts.edges),
            ("cross-thread edges", counts.cross_thread_edges),
            ("cycle checks", core.checks),
            ("nodes visited", counts.visited + core.increasing.visited),
            ("most live nodes", counts.most_live),
            ("nodes collected", counts.collected),
            ("cycles", core.cycles),
            ("increasing cycles", core.increasing_cycles),
        ])
    }
}

impl Rules for Velodrome {
    fn begin(&mut self, here: Here, block: Block, _out: &mut Findings) {
        self.core.begin(here, block);
    }

    fn end(&mut self, here: Here, _out: &mut Findings) {
        self.core.end(here);
    }

    #[inline]
    fn access(&mut self, here: Here, variable: VarId, access: Access, out: &mut Findings) {
        let last = slot(&mut self.variables, variable.index());
        for &(_, source) in last.before(access) {
            self.core.depend(here, source, out);
        }
        last.record(here.thread, access, self.core.now(here));
    }

    fn send(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        let now = self.core.now(here);
        slot(&mut self.channels, channel.slot as usize).record(here.thread, mode, now);
    }

    fn receive(&mut self, here: Here, channel: Channel, mode: Mode, out: &mut Findings) {
        for &(_, source) in slot(&mut self.channels, channel.slot as usize).before(mode) {
            self.core.depend(here, source, out);
        }
    }

    fn join(&mut self, here: Here, child: ThreadId, out: &mut Findings) {
        let mut source = slot(&mut self.core.threads, child.index()).past;
        if slot(&mut self.core.threads, child.index()).block.is_some() {
            // All of the running block so far, whatever its last event was.
            source.at = here.at;
        }
        self.core.depend(here, source, out);
    }

    fn new_life(&mut self, variable: VarId) {
        *slot(&mut self.variables, variable.index()) = LastAccesses::default();
    }

    fn close(&mut self, channel: Channel) {
        *slot(&mut self.channels, channel.slot as usize) = LastSends::default();
    }
}

impl Core {
    fn begin(&mut self, here: Here, block: Block) {
        self.transactions += 1;
        let node = self.graph.add(here.thread, ());
        let thread = slot(&mut self.threads, here.thread.index());
        let past = std::mem::replace(&mut thread.past, Step { node, at: here.at });
        thread.block = Some(block);
        thread.unary = None;
        thread.reported = Reported::Nothing;
        self.connect(past, node, here.at);
    }

    fn end(&mut self, here: Here) {
        let thread = slot(&mut self.threads, here.thread.index());
        thread.block = None;
        thread.past.at = here.at;
        if let Some(node) = self.graph.live(thread.past.node) {
            self.graph.finish(node);
            self.graph.collect(node, |_| {});
        }
    }

    /// What those who depend on this event depend on.
    #[inline]
    fn now(&mut self, here: Here) -> Step {
        let thread = slot(&mut self.threads, here.thread.index());
        if thread.block.is_some() {
            thread.past.at = here.at;
        }
        thread.past
    }

    /// The event comes after `source`.
    #[inline]
    fn depend(&mut self, here: Here, source: Step, out: &mut Findings) {
        let Some(from) = self.graph.live(source.node) else { return };
        let thread = slot(&mut self.threads, here.thread.index());
        match thread.block {
            Some(_) if source.node == thread.past.node => {}
            // Program order leads here from every earlier transaction of the thread.
            Some(_) if self.graph.thread(from) == here.thread => {}
            Some(block) => self.depend_in_block(here, block, source, from, out),
            None => self.depend_unary(here, source, from),
        }
    }

    fn depend_in_block(&mut self, here: Here, block: Block, source: Step, from: NodeId, out: &mut Findings) {
        let thread = &mut self.threads[here.thread.index()];
        let Some(to) = self.graph.live(thread.past.node) else { return };
        if self.graph.newest_sink(from, here.thread) == Some(to) {
            return;
        }
        self.checks += 1;
        if self.graph.edges(to).is_empty() || !self.graph.reaches(to, from) {
            self.graph.connect(from, to, Span { tail: source.at, head: here.at });
            return;
        }
        self.cycles += 1;
        if thread.reported == Reported::Blamed {
            return;
        }
        if self.increasing.exists(&self.graph, to, from, source.at) {
            self.increasing_cycles += 1;
            thread.reported = Reported::Blamed;
            out.violation(block, true, block, here);
        } else if thread.reported == Reported::Nothing {
            thread.reported = Reported::Cycle;
            out.cycle(block, here);
        }
    }

    /// A unary event is a transaction of its own, but it needs no node where a *finished* node has
    /// the same past. Nothing is lost then: the event gets no more incoming edges and
    /// neither does the node, so what reaches one will always be what reaches the other. (A running
    /// node will not do: it may come to depend on the event, and that cycle must be seen.)
    ///
    /// No node can complete a cycle here, since nothing depends on the event yet.
    fn depend_unary(&mut self, here: Here, source: Step, from: NodeId) {
        let thread = &mut self.threads[here.thread.index()];
        let Some(past) = self.graph.live(thread.past.node) else {
            // Nothing reaches the thread but this.
            if self.graph.is_finished(from) {
                thread.past = source;
            } else {
                self.new_unary(here, source);
            }
            return;
        };
        if past == from {
            thread.past.at = thread.past.at.max(source.at);
        } else if self.graph.newest_sink(from, self.graph.thread(past)) == Some(past) {
            // The thread's past contains the source already.
        } else if thread.unary == Some(here.at) {
            self.graph.connect(from, past, Span { tail: source.at, head: here.at });
        } else if self.graph.is_finished(from)
            && self.graph.newest_sink(past, self.graph.thread(from)) == Some(from)
        {
            // The source contains the thread's past.
            thread.past = source;
        } else {
            self.new_unary(here, source);
        }
    }

    /// A node for a unary event that comes after its thread's past and after `source`.
    fn new_unary(&mut self, here: Here, source: Step) {
        self.unary_nodes += 1;
        let node = self.graph.add(here.thread, ());
        let thread = &mut self.threads[here.thread.index()];
        let past = std::mem::replace(&mut thread.past, Step { node, at: here.at });
        thread.unary = Some(here.at);
        self.connect(past, node, here.at);
        self.connect(source, node, here.at);
        if let Some(id) = self.graph.live(node) {
            self.graph.finish(id);
        }
    }

    /// An edge to a new node.
    fn connect(&mut self, source: Step, to: NodeRef, head: EventId) {
        if let (Some(from), Some(to)) = (self.graph.live(source.node), self.graph.live(to)) {
            self.graph.connect(from, to, Span { tail: source.at, head });
        }
    }
}

/// Looks for an increasing path, earliest arrivals first: to enter a node early is never worse.
#[derive(Default, Debug)]
struct IncreasingSearch {
    /// Nodes entered and not yet left, by when they are entered.
    entered: BinaryHeap<Reverse<(EventId, NodeId)>>,
    /// Per node, the number of the search that left it last.
    left: Vec<u64>,
    search: u64,
    visited: u64,
}

impl IncreasingSearch {
    /// Whether a path leads from `start` to `goal`, enters `goal` no later than `deadline`, and
    /// enters every node between them no later than it leaves it.
    fn exists(&mut self, graph: &Graph<(), Span>, start: NodeId, goal: NodeId, deadline: EventId) -> bool {
        self.search += 1;
        self.left.resize(graph.capacity(), 0);
        self.entered.clear();
        self.leave(graph, start, EventId(0), deadline);
        while let Some(Reverse((at, id))) = self.entered.pop() {
            if id == goal {
                return true;
            }
            self.leave(graph, id, at, deadline);
        }
        false
    }

    fn leave(&mut self, graph: &Graph<(), Span>, id: NodeId, entered: EventId, deadline: EventId) {
        if std::mem::replace(&mut self.left[id.index()], self.search) == self.search {
            return;
        }
        self.visited += 1;
        for edge in graph.edges(id) {
            if edge.label.tail >= entered && edge.label.head <= deadline {
                self.entered.push(Reverse((edge.label.head, edge.to)));
            }
        }
    }
}

#[cfg(test)]
mod tests;
