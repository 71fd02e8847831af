//! A serial order of the transactions that explains the trace.
//!
//! One node per transaction, one edge per direct dependence that does not follow from others and program
//! order, then a topological sort that prefers what began first. Memory grows with the number of
//! transactions: the order itself does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use atomvet_trace::{Event, EventId, Mode, ThreadId, VarId};

use super::places::Places;
use super::sources::Sources;
use crate::graph::slot;
use crate::lower::Lowered;
use crate::{Access, Block, Channel, Config, Findings, Here, Rules};

/// Finds a serial order of the transactions, in one pass. Memory grows with their number.
#[derive(Debug)]
pub struct SerialOrder {
    lowered: Lowered<Graph>,
}

impl SerialOrder {
    /// At the start of a trace.
    pub fn new(config: &Config) -> Self {
        SerialOrder { lowered: Lowered::with(Graph::default(), config) }
    }

    /// Takes the next events.
    pub fn events(&mut self, first: EventId, block: &[Event]) {
        let mut nothing = Findings::default();
        for (i, &event) in block.iter().enumerate() {
            let at = EventId(first.0 + i as u64);
            let graph = self.lowered.rules_mut();
            if graph.places.is_unary(event) {
                graph.add(at, event.thread);
            }
            self.lowered.event(at, event, &mut nothing);
        }
    }

    /// The transactions in an equivalent serial order, each by its first event; none if there is
    /// no such order.
    pub fn finish(self) -> Option<Vec<EventId>> {
        self.lowered.into_rules().sort()
    }
}

#[derive(Debug, Default)]
struct Graph {
    /// The first event of each transaction; increasing.
    first: Vec<EventId>,
    edges: Edges,
    /// Each thread's last transaction.
    last: Vec<Option<u32>>,
    places: Places,
    /// Noted with the transaction that did it.
    sources: Sources<u32>,
}

/// Which transaction comes before which, up to what follows by program order.
#[derive(Debug, Default)]
struct Edges {
    list: Vec<(u32, u32)>,
    /// Per thread, and per other thread, the latest transaction of the other that an edge into the
    /// first leads from. All earlier ones come before the thread's present by program order.
    latest: Vec<Vec<Option<u32>>>,
}

impl Edges {
    /// A transaction `from` of one thread comes before the latest transaction `to` of another.
    fn add(&mut self, (from_thread, from): (ThreadId, u32), (to_thread, to): (ThreadId, u32)) {
        let latest = slot(slot(&mut self.latest, to_thread.index()), from_thread.index());
        if *latest < Some(from) {
            *latest = Some(from);
            self.list.push((from, to));
        }
    }
}

impl Graph {
    fn last(&mut self, thread: ThreadId) -> &mut Option<u32> {
        slot(&mut self.last, thread.index())
    }

    fn add(&mut self, at: EventId, thread: ThreadId) {
        let new = self.first.len() as u32;
        self.first.push(at);
        if let Some(before) = self.last(thread).replace(new) {
            self.edges.list.push((before, new));
        }
    }

    /// The transaction of the event at hand: every event is in one.
    fn here(&mut self, here: Here) -> u32 {
        self.last(here.thread).unwrap_or_default()
    }

    fn sort(self) -> Option<Vec<EventId>> {
        let count = self.first.len();
        let mut edges = self.edges.list;
        edges.sort_unstable();
        let mut incoming = vec![0_u32; count];
        let mut outgoing = vec![0_usize; count + 1];
        for &(from, to) in &edges {
            incoming[to as usize] += 1;
            outgoing[from as usize + 1] += 1;
        }
        for i in 0..count {
            outgoing[i + 1] += outgoing[i];
        }
        let mut ready: BinaryHeap<_> = (0..count).filter(|&i| incoming[i] == 0).map(Reverse).collect();
        let mut order = Vec::with_capacity(count);
        while let Some(Reverse(next)) = ready.pop() {
            order.push(self.first[next]);
            for &(_, to) in &edges[outgoing[next]..outgoing[next + 1]] {
                incoming[to as usize] -= 1;
                if incoming[to as usize] == 0 {
                    ready.push(Reverse(to as usize));
                }
            }
        }
        (order.len() == count).then_some(order)
    }
}

impl Rules for Graph {
    fn begin(&mut self, here: Here, _block: Block, _out: &mut Findings) {
        *self.places.inside(here.thread) = true;
        self.add(here.at, here.thread);
    }

    fn end(&mut self, here: Here, _out: &mut Findings) {
        *self.places.inside(here.thread) = false;
    }

    fn access(&mut self, here: Here, variable: VarId, access: Access, _out: &mut Findings) {
        let node = self.here(here);
        let Graph { sources, edges, .. } = self;
        sources.access(here, variable, access, node, |source| {
            edges.add((source.thread, source.note), (here.thread, node));
        });
    }

    fn send(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        let node = self.here(here);
        self.sources.send(here, channel, mode, node);
    }

    fn receive(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        let node = self.here(here);
        let Graph { sources, edges, .. } = self;
        sources.receive(here, channel, mode, |source| {
            edges.add((source.thread, source.note), (here.thread, node));
        });
    }

    fn join(&mut self, here: Here, child: ThreadId, _out: &mut Findings) {
        let node = self.here(here);
        if let Some(last) = *self.last(child) {
            self.edges.add((child, last), (here.thread, node));
        }
    }

    fn new_life(&mut self, variable: VarId) {
        self.sources.new_life(variable);
    }

    fn close(&mut self, channel: Channel) {
        self.sources.close(channel);
    }
}
