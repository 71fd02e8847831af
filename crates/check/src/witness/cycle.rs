//! The shortest cycle of transactions, where no block can be blamed.
//!
//! Unlike the way out of a block and back, such a cycle can pass through transactions that began and
//! ended long before. So the graph of transactions is kept, each edge with the two events that make it.
//! When a request's event comes, the cheapest cycle through its transaction is looked for. Fewer steps
//! between threads are cheaper, then fewer that only synchronization orders; program order is free.
//!
//! Older cycles stay in the graph, so counting incoming edges would not do: what no running transaction
//! reaches is found by a mark pass whenever the graph has doubled. Memory is bounded by what a running
//! transaction reaches.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;

use atomvet_trace::{Event, EventId, Mode, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::places::Places;
use super::sources::{Cost, Source, Sources, cost};
use super::{Because, Explanation, Request, Step, Witness};
use crate::graph::slot;
use crate::{Access, Block, Channel, Findings, Here, Rules};

/// Finds cycles through transactions.
#[derive(Debug, Default)]
pub(super) struct Cycles {
    requests: Vec<Request>,
    found: Vec<Option<Explanation>>,
    /// Requests that have yet to be answered, the next one last.
    waiting: Vec<usize>,
    /// The event of that one.
    next: Option<EventId>,
    nodes: Vec<Node>,
    free: Vec<u32>,
    /// The next mark pass runs when there are so many nodes and none is free.
    collect_at: usize,
    /// The events behind each edge, by the slots of its nodes. The best kind seen is kept.
    edges: FxHashMap<(u32, u32), Step>,
    /// Each thread's last transaction.
    last: Vec<Option<Ref>>,
    places: Places,
    sources: Sources<Ref>,
    sources_here: Vec<Source<Ref>>,
}

/// A transaction, unless it has been forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ref {
    slot: u32,
    generation: u32,
}

#[derive(Debug)]
struct Node {
    generation: u32,
    thread: ThreadId,
    begin: EventId,
    /// Where its edges lead; each target once.
    outgoing: Vec<u32>,
    /// The next transaction of its thread.
    next: Option<u32>,
}

/// Fewer nodes than this are not worth a mark pass, but in tests of small traces.
const LEAST_COLLECTED: usize = if cfg!(test) { 2 } else { 1024 };

impl Cycles {
    pub(super) fn new(requests: Vec<Request>) -> Self {
        let mut waiting: Vec<usize> = (0..requests.len()).collect();
        waiting.sort_by_key(|&i| Reverse(requests[i].event));
        let mut cycles =
            Cycles { found: vec![None; requests.len()], requests, waiting, ..Default::default() };
        cycles.next = cycles.next_event();
        cycles
    }

    fn next_event(&self) -> Option<EventId> {
        self.waiting.last().map(|&i| self.requests[i].event)
    }

    pub(super) fn is_done(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Sees every event before the rules do.
    #[inline]
    pub(super) fn enter(&mut self, at: EventId, event: Event) {
        if self.places.is_unary(event) {
            self.add(at, event.thread);
        }
    }

    /// Sees every event after the rules did.
    #[inline]
    pub(super) fn leave(&mut self, at: EventId) {
        if self.next.is_some_and(|next| next <= at) {
            self.answer(at);
        }
    }

    #[cold]
    fn answer(&mut self, at: EventId) {
        while let Some(request) = self.waiting.pop_if(|&mut i| self.requests[i].event <= at) {
            self.found[request] = self.search(self.requests[request]);
        }
        self.next = self.next_event();
    }

    pub(super) fn into_explanations(self) -> Vec<Option<Explanation>> {
        self.found
    }

    fn last(&mut self, thread: ThreadId) -> &mut Option<Ref> {
        slot(&mut self.last, thread.index())
    }

    fn alive(&self, node: Ref) -> bool {
        self.nodes[node.slot as usize].generation == node.generation
    }

    fn add(&mut self, at: EventId, thread: ThreadId) {
        if self.free.is_empty() && self.nodes.len() >= self.collect_at {
            self.collect();
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(Node { generation: 0, thread, begin: at, outgoing: Vec::new(), next: None });
            (self.nodes.len() - 1) as u32
        });
        let node = &mut self.nodes[slot as usize];
        (node.thread, node.begin) = (thread, at);
        let new = Ref { slot, generation: node.generation };
        if let Some(before) = self.last(thread).replace(new)
            && self.alive(before)
        {
            self.nodes[before.slot as usize].next = Some(slot);
        }
    }

    /// Forgets all that no running transaction reaches: a new cycle passes through one.
    #[cold]
    fn collect(&mut self) {
        let mut reached = vec![false; self.nodes.len()];
        let mut work: Vec<u32> = Vec::new();
        for (thread, last) in self.last.iter().enumerate() {
            let running = *self.places.inside(ThreadId(thread as u32));
            work.extend(last.filter(|last| running && self.alive(*last)).map(|last| last.slot));
        }
        while let Some(slot) = work.pop() {
            if !std::mem::replace(&mut reached[slot as usize], true) {
                let node = &self.nodes[slot as usize];
                work.extend(node.outgoing.iter().chain(&node.next));
            }
        }
        self.free.clear();
        for (slot, node) in (0..).zip(&mut self.nodes).filter(|(slot, _)| !reached[*slot as usize]) {
            for target in node.outgoing.drain(..) {
                self.edges.remove(&(slot, target));
            }
            node.next = None;
            node.generation = node.generation.wrapping_add(1);
            self.free.push(slot);
        }
        self.collect_at = LEAST_COLLECTED.max(2 * (self.nodes.len() - self.free.len()));
    }

    /// Adds the edges that [`Sources`] found for the event at hand.
    fn connect(&mut self, here: Here) {
        let Some(sink) = *self.last(here.thread) else { return };
        // Taken out for the borrow checker, and put back for its memory.
        let mut sources = std::mem::take(&mut self.sources_here);
        for source in sources.drain(..) {
            if source.note == sink || !self.alive(source.note) {
                continue;
            }
            let step = Step { from: source.at, to: here.at, because: source.because };
            match self.edges.entry((source.note.slot, sink.slot)) {
                Entry::Vacant(entry) => {
                    entry.insert(step);
                    self.nodes[source.note.slot as usize].outgoing.push(sink.slot);
                }
                Entry::Occupied(mut entry) => {
                    if cost(step.because) < cost(entry.get().because) {
                        entry.insert(step);
                    }
                }
            }
        }
        self.sources_here = sources;
    }

    /// The cheapest cycle through the transaction of a request, which runs.
    fn search(&self, request: Request) -> Option<Explanation> {
        let start = (*self.last.get(request.transaction.thread.index())?)?.slot;
        // By slot: the cost of the cheapest way there, and where its last move came from.
        let mut best: FxHashMap<u32, (Cost, u32)> = FxHashMap::default();
        let mut queue = BinaryHeap::from([(Reverse(0), start)]);
        while let Some((Reverse(so_far), slot)) = queue.pop() {
            if best.get(&slot).is_some_and(|&(cheapest, _)| cheapest < so_far) {
                continue;
            }
            if slot == start && so_far > 0 {
                return Some(self.steps(start, &best).into());
            }
            let node = &self.nodes[slot as usize];
            let onward = node.next.map(|next| (next, 0));
            let across = node.outgoing.iter().map(|&to| (to, cost(self.edges[&(slot, to)].because)));
            for (to, more) in onward.into_iter().chain(across) {
                let total = so_far + more;
                if best.get(&to).is_none_or(|&(cheapest, _)| total < cheapest) {
                    best.insert(to, (total, slot));
                    queue.push((Reverse(total), to));
                }
            }
        }
        None
    }

    fn steps(&self, start: u32, best: &FxHashMap<u32, (Cost, u32)>) -> Witness {
        let mut path = vec![start];
        loop {
            let before = best[&path[path.len() - 1]].1;
            path.push(before);
            if before == start {
                break;
            }
        }
        path.reverse();
        let mut steps: Vec<Step> = Vec::new();
        let mut entered: Option<EventId> = None;
        for pair in path.windows(2) {
            let node = &self.nodes[pair[0] as usize];
            let Some(&step) = self.edges.get(&(pair[0], pair[1])) else {
                // On to the next transaction of the same thread: the step is made from where this
                // one was entered, once it is known where the thread is left.
                entered.get_or_insert(node.begin);
                continue;
            };
            if let Some(entered) = entered
                && entered != step.from
            {
                let because = if entered < step.from {
                    Because::ProgramOrder(node.thread)
                } else {
                    Because::SameTransaction(node.thread)
                };
                steps.push(Step { from: entered, to: step.from, because });
            }
            steps.push(step);
            entered = Some(step.to);
        }
        let start = &self.nodes[start as usize];
        if let (Some(from), Some(first)) = (entered, steps.first())
            && from < start.begin
        {
            // Back into the transaction from one before it.
            let because = Because::ProgramOrder(start.thread);
            steps.push(Step { from, to: first.from, because });
        }
        Witness { block: None, steps }
    }
}

impl Rules for Cycles {
    fn begin(&mut self, here: Here, _block: Block, _out: &mut Findings) {
        *self.places.inside(here.thread) = true;
        self.add(here.at, here.thread);
    }

    fn end(&mut self, here: Here, _out: &mut Findings) {
        *self.places.inside(here.thread) = false;
    }

    fn access(&mut self, here: Here, variable: VarId, access: Access, _out: &mut Findings) {
        let Some(node) = *self.last(here.thread) else { return };
        let Cycles { sources, sources_here, .. } = self;
        sources.access(here, variable, access, node, |source| sources_here.push(source));
        self.connect(here);
    }

    fn send(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        let Some(node) = *self.last(here.thread) else { return };
        self.sources.send(here, channel, mode, node);
    }

    fn receive(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        let Cycles { sources, sources_here, .. } = self;
        sources.receive(here, channel, mode, |source| sources_here.push(source));
        self.connect(here);
    }

    fn join(&mut self, here: Here, child: ThreadId, _out: &mut Findings) {
        let Some(note) = *self.last(child) else { return };
        if self.alive(note) {
            let at = self.nodes[note.slot as usize].begin;
            self.sources_here.push(Source { thread: child, at, because: Because::Join(child), note });
            self.connect(here);
        }
    }

    fn new_life(&mut self, variable: VarId) {
        self.sources.new_life(variable);
    }

    fn close(&mut self, channel: Channel) {
        self.sources.close(channel);
    }
}
