//! DoubleChecker, single-run mode: a cheap imprecise graph first, a precise look at its cycles after.
//!
//! Biswas, Huang, Sengupta, Bond: *DoubleChecker: Efficient Sound and Precise Atomicity Checking*,
//! PLDI 2014.
//!
//! **Computes**, in phase 1 (the paper's ICD): a graph of transactions that has a path wherever the
//! trace orders two of them, and more. What orders is not an access but a change of the ownership of
//! an object (as in Octet), and the edge comes from whatever transaction the old owner is in:
//!
//! ```text
//! state      t reads                        t writes
//! free       RdEx(t)                        WrEx(t)
//! WrEx(u)    RdEx(t), edge from u           WrEx(t), edge from u
//! RdEx(u)    RdSh, edge from u              WrEx(t), edge from u
//! RdSh       RdSh, edge from its maker      WrEx(t), edges from all readers
//! ```
//!
//! (without an edge where u = t). All that transactions do is logged. When one ends, its strongly
//! connected component among the finished ones is looked for. Phase 2 (the paper's PCD, [`replay`])
//! replays the logs of a component and keeps the true cycles.
//!
//! **Guarantee**: exact about whether the trace is serializable and about the first event at which it
//! is not. Every outermost block that is not atomic is blamed. Some blamed blocks are atomic:
//! they complete a cycle that is not increasing.
//!
//! **Deviations**: The paper replays a component whenever it is found, and again when it has grown.
//! Here a component becomes one node of the graph, and is replayed once: when no running transaction
//! leads to it any more, so that it cannot grow; the findings are the same. Then it is
//! collected. Readers of a shared object are known by name, so that a write need not
//! ask all threads, and each object remembers who made it shared, where the paper has one
//! chain for all objects. A variable without an object is an object; so is a channel: sends write
//! it and receives read it. Commuting updates count as writes in phase 1.
//! Unary events share a node and a log as long as nothing new reaches them; phase 2 takes each as a
//! transaction of its own.
//!
//! **Cost**: O(1) where ownership does not change; O(readers) where it does; at an end, a walk over
//! the finished transactions that the ended one reaches. Memory: objects and variables, and the
//! logs (32 bytes per entry; what a transaction repeats undisturbed is logged once) of all
//! transactions that a running one reaches. An edge from the transaction that the old owner is in
//! *now* often closes a false cycle with one that runs, and chains of those keep logs for long: of
//! a million events of two-phase locking, serializable all of them, on 8 threads and 64 variables
//! 17,838 entries were alive at once (0.5 s in release mode), on 16 threads and 10,000 variables 909,923
//! (1.1 s, 80 MB). The replay of a component takes 8 bytes per transaction and thread of it: on 512
//! threads, most of 1.1 GB for a million events. Findings are kept until the end of the trace, to be
//! reported in its order.

mod replay;
#[cfg(test)]
mod tests;

use atomvet_trace::{EventId, Mode, ThreadId, VarId};
use smallvec::SmallVec;

use self::replay::{Action, Entry, Log};
use crate::graph::{Graph, NodeId, NodeRef, slot};
use crate::predictive::Effort;
use crate::{Access, Blame, Block, Channel, Config, Findings, Here, Info, Kind, Observed, Rules, Stats};

/// See the head of this file.
#[derive(Debug)]
pub struct DoubleChecker {
    core: Core,
    /// Ownership of the objects, by the first variable of each.
    objects: Vec<Object>,
    /// The object of each variable, as far as told; otherwise the variable itself.
    object_of: Vec<VarId>,
    variables: Vec<Variable>,
    channels: Vec<ChannelState>,
}

#[derive(Debug, Default)]
struct Variable {
    /// Which life it is in.
    life: u32,
    logged: Logged,
}

#[derive(Debug, Default)]
struct ChannelState {
    object: Object,
    /// How often its slot was used for another channel before.
    reuse: u32,
}

/// The latest entry about a variable in any log.
#[derive(Clone, Copy, Debug)]
struct Logged {
    node: NodeRef,
    /// What its thread had learnt by then.
    learned: u64,
    access: Access,
    /// The version of the object at that time. If it is still the same, no other thread made a
    /// conflicting access since.
    version: u64,
}

impl Default for Logged {
    fn default() -> Self {
        Logged { node: NodeRef::NONE, learned: 0, access: Access::Read, version: 0 }
    }
}

#[derive(Debug)]
struct Object {
    state: State,
    /// The threads that read it since it became shared, in order.
    readers: SmallVec<[ThreadId; 4]>,
    /// The transaction that made it shared: it comes after the last write.
    maker: NodeRef,
    /// Counts changes of the state.
    version: u64,
}

impl Default for Object {
    fn default() -> Self {
        Object { state: State::Free, readers: SmallVec::new(), maker: NodeRef::NONE, version: 0 }
    }
}

/// Who may do what to an object without a word to others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Nobody used it.
    Free,
    /// One thread may read and write.
    WriteExclusive(ThreadId),
    /// One thread may read.
    ReadExclusive(ThreadId),
    /// The object's readers may read.
    ReadShared,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    Read,
    Write,
}

#[derive(Debug)]
struct Core {
    graph: Graph<Log, ()>,
    threads: Vec<Thread>,
    /// What phase 2 found: blocks, each with the event that completed the cycle.
    blamed: Vec<(Block, Here)>,
    /// Logs made so far.
    serial: u64,
    transactions: u64,
    searches: u64,
    components: u64,
    false_components: u64,
    members: u64,
    logged: u64,
    logged_now: u64,
    most_logged: u64,
}

#[derive(Debug)]
struct Thread {
    /// The node of its running block, or of the last block or unary events. Stale if that was
    /// collected: then nothing that could be on a cycle reaches the thread.
    past: NodeRef,
    /// The event with which the block that runs, or the present piece of it, began.
    began: Option<Here>,
    /// The unary event for which the node of `past` was made: it may receive edges while that
    /// event lasts.
    unary: Option<EventId>,
    /// How many of its unary events were logged that may depend on others. (The log does not say
    /// so by itself: an edge is made where an *object* changes hands, and dependences on its
    /// other variables may follow without one.)
    learned: u64,
}

impl Default for Thread {
    fn default() -> Self {
        Thread { past: NodeRef::NONE, began: None, unary: None, learned: 0 }
    }
}

impl Observed for DoubleChecker {
    const INFO: Info = Info {
        name: "doublechecker",
        kind: Kind::Observed,
        paper: "Biswas, Huang, Sengupta, Bond: DoubleChecker, PLDI 2014; single-run mode",
        guarantee: "exact about whether the trace is serializable and about the first event at which it is not; \
                    every outermost block that is not atomic is blamed, and with them blocks that complete a \
                    cycle but are atomic",
        blame: Blame::More,
        tells_first_event: true,
        cost: "O(1) where the ownership of an object does not change; at the end of a transaction, a walk over the \
               finished ones that it reaches. Memory grows with the accesses (32 bytes each) of all transactions \
               that a running one reaches in the imprecise graph: where threads often take objects from each other, \
               that can be most of the trace, whether it is serializable or not; their replay takes 8 bytes per \
               transaction and thread",
    };

    fn new(_config: &Config) -> Self {
        let core = Core {
            graph: Graph::new(),
            threads: Vec::new(),
            blamed: Vec::new(),
            serial: 0,
            transactions: 0,
            searches: 0,
            components: 0,
            false_components: 0,
            members: 0,
            logged: 0,
            logged_now: 0,
            most_logged: 0,
        };
        DoubleChecker {
            core,
            objects: Vec::new(),
            object_of: Vec::new(),
            variables: Vec::new(),
            channels: Vec::new(),
        }
    }

    fn finish(mut self, open: &[Block], _last: Here, out: &mut Findings) -> Stats {
        for block in open {
            self.core.end(block.thread, &mut out.effort);
        }
        let core = self.core;
        let mut blamed = core.blamed;
        blamed.sort_unstable_by_key(|(_, event)| event.at);
        for &(block, event) in &blamed {
            out.violation(block, true, block, event);
        }
        let counts = core.graph.counts();
        Stats(vec![
            ("transactions", core.transactions),
            ("imprecise edges", counts.edges),
            ("imprecise cross-thread edges", counts.cross_thread_edges),
            ("component searches", core.searches),
            ("nodes visited", counts.visited),
            ("imprecise components", core.components),
            ("transactions in components", core.members),
            ("false components", core.false_components),
            ("blocks that complete a precise cycle", blamed.len() as u64),
            ("logged accesses", core.logged),
            ("most logged accesses at once", core.most_logged),
            ("most live nodes", counts.most_live),
            ("nodes collected", counts.collected),
        ])
    }
}

impl Rules for DoubleChecker {
    const HEEDS_OBJECTS: bool = true;

    fn begin(&mut self, here: Here, block: Block, _out: &mut Findings) {
        self.core.transactions += 1;
        self.core.new_node(here, Some(block));
    }

    fn end(&mut self, here: Here, out: &mut Findings) {
        self.core.end(here.thread, &mut out.effort);
    }

    fn access(&mut self, here: Here, variable: VarId, access: Access, _out: &mut Findings) {
        let object = self.object_of.get(variable.index()).map_or(variable, |object| *object);
        let object = slot(&mut self.objects, object.index());
        self.core.touch(here, object, if access == Access::Read { Use::Read } else { Use::Write });
        let Some(node) = self.core.log_node(here) else { return };
        let variable_state = slot(&mut self.variables, variable.index());
        let logged = &mut variable_state.logged;
        // Done before, and nobody came in between: then this access depends on nobody. If moreover
        // its thread has the past it had then, whatever comes after this comes after that.
        let covered = logged.access == access || logged.access == Access::Write;
        let undisturbed = covered && logged.node == node && logged.version == object.version;
        if undisturbed && logged.learned == self.core.learned(here) {
            return;
        }
        if !undisturbed {
            self.core.learn(here);
        }
        *logged = Logged { node, learned: self.core.learned(here), access, version: object.version };
        self.core.log(here, node, Action::Access(variable, variable_state.life, access));
    }

    fn send(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        let state = slot(&mut self.channels, channel.slot as usize);
        self.core.touch(here, &mut state.object, Use::Write);
        if let Some(node) = self.core.log_node(here) {
            self.core.log(here, node, Action::Send(channel.slot, state.reuse, mode));
        }
    }

    fn receive(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        let state = slot(&mut self.channels, channel.slot as usize);
        self.core.touch(here, &mut state.object, Use::Read);
        if let Some(node) = self.core.log_node(here) {
            self.core.learn(here);
            self.core.log(here, node, Action::Receive(channel.slot, state.reuse, mode));
        }
    }

    fn join(&mut self, here: Here, child: ThreadId, _out: &mut Findings) {
        self.core.show_begin(child);
        self.core.depend_on_thread(here, child);
        if let Some(node) = self.core.log_node(here) {
            self.core.learn(here);
            self.core.log(here, node, Action::Join(child));
        }
    }

    fn new_life(&mut self, variable: VarId) {
        // The object keeps its owner: too many edges do no harm.
        let state = slot(&mut self.variables, variable.index());
        *state = Variable { life: state.life.wrapping_add(1), logged: Logged::default() };
    }

    fn close(&mut self, channel: Channel) {
        let state = slot(&mut self.channels, channel.slot as usize);
        *state = ChannelState { object: Object::default(), reuse: state.reuse.wrapping_add(1) };
    }

    fn objects(&mut self, first: VarId, objects: &[VarId]) {
        while self.object_of.len() < first.index() {
            self.object_of.push(VarId(self.object_of.len() as u32));
        }
        self.object_of.truncate(first.index());
        self.object_of.extend_from_slice(objects);
    }
}

impl Core {
    /// The thread uses the object: what Octet's state says about who comes before.
    #[inline]
    fn touch(&mut self, here: Here, object: &mut Object, how: Use) {
        match (object.state, how) {
            (State::WriteExclusive(owner), _) if owner == here.thread => {}
            (State::ReadExclusive(owner), Use::Read) if owner == here.thread => {}
            (State::ReadShared, Use::Read) => {
                if let Err(place) = object.readers.binary_search(&here.thread) {
                    object.readers.insert(place, here.thread);
                    self.depend(here, object.maker);
                }
            }
            _ => self.change_owner(here, object, how),
        }
    }

    fn change_owner(&mut self, here: Here, object: &mut Object, how: Use) {
        object.version += 1;
        match object.state {
            State::Free => {}
            State::WriteExclusive(owner) | State::ReadExclusive(owner) => self.depend_on_thread(here, owner),
            State::ReadShared => {
                for &reader in &object.readers {
                    self.depend_on_thread(here, reader);
                }
            }
        }
        object.state = match (object.state, how) {
            (State::ReadExclusive(owner), Use::Read) => {
                object.readers.clear();
                object.readers.extend([owner.min(here.thread), owner.max(here.thread)]);
                // If the event is unary and nothing reaches it, no write that matters came before.
                object.maker = slot(&mut self.threads, here.thread.index()).past;
                State::ReadShared
            }
            (_, Use::Read) => State::ReadExclusive(here.thread),
            (_, Use::Write) => State::WriteExclusive(here.thread),
        };
    }

    /// The event comes after all that another thread did. What counts is the transaction that
    /// this thread is in now: program order leads there from the one that is really meant.
    fn depend_on_thread(&mut self, here: Here, source: ThreadId) {
        if source != here.thread {
            let past = slot(&mut self.threads, source.index()).past;
            self.depend(here, past);
        }
    }

    /// The event comes after a transaction.
    fn depend(&mut self, here: Here, source: NodeRef) {
        let Some(source) = self.graph.live(source) else { return };
        let from = self.graph.representative(source);
        // Program order leads to the thread's present from all its earlier transactions, and so
        // from everything that has an edge to one of them.
        if self.graph.thread(source) == here.thread || self.graph.newest_sink(from, here.thread).is_some() {
            return;
        }
        let thread = slot(&mut self.threads, here.thread.index());
        let past = self.graph.live(thread.past);
        let receives = thread.began.is_some() || thread.unary == Some(here.at);
        let to = past.filter(|_| receives).or_else(|| {
            let node = self.new_node(here, None);
            self.graph.live(node)
        });
        if let Some(to) = to {
            self.graph.connect(from, to, ());
        }
    }

    /// A node for a block that begins, or for a unary event and those that will follow it. Its
    /// thread's past comes before it.
    fn new_node(&mut self, here: Here, block: Option<Block>) -> NodeRef {
        self.serial += 1;
        let log = Log { thread: here.thread, block, serial: self.serial, entries: Vec::new() };
        let node = self.graph.add(here.thread, log);
        let thread = slot(&mut self.threads, here.thread.index());
        thread.began = block.map(|_| here);
        thread.unary = block.is_none().then_some(here.at);
        let past = std::mem::replace(&mut thread.past, node);
        let past = self.graph.live(past).map(|past| self.graph.representative(past));
        if let (Some(past), Some(node)) = (past, self.graph.live(node)) {
            self.graph.connect(past, node, ());
        }
        if let Some(node) = self.graph.live(node).filter(|_| block.is_none()) {
            self.graph.finish(node);
        }
        node
    }

    /// Whose log takes what the event does. None if it will never be on a cycle.
    #[inline]
    fn log_node(&mut self, here: Here) -> Option<NodeRef> {
        let thread = slot(&mut self.threads, here.thread.index());
        let past = thread.past;
        if thread.began.is_some() {
            return Some(past);
        }
        let id = self.graph.live(past)?;
        let after_block = self.graph.payload(id).block.is_some();
        Some(if after_block { self.new_node(here, None) } else { past })
    }

    /// See [`Thread::learned`].
    #[inline]
    fn learned(&mut self, here: Here) -> u64 {
        slot(&mut self.threads, here.thread.index()).learned
    }

    /// The event may depend on others. The events of a block are one transaction: there it does not
    /// matter when it learnt something.
    #[inline]
    fn learn(&mut self, here: Here) {
        let thread = slot(&mut self.threads, here.thread.index());
        thread.learned += u64::from(thread.began.is_none());
    }

    /// The thread is joined inside a block. (It may be forked again and go on in it.) If all it did
    /// there is to begin, even that matters now.
    fn show_begin(&mut self, thread: ThreadId) {
        let thread = slot(&mut self.threads, thread.index());
        let (Some(began), name) = (thread.began, thread.past) else { return };
        if self.graph.live(name).is_some_and(|node| self.graph.payload(node).entries.is_empty()) {
            self.log(began, name, Action::Begin);
        }
    }

    fn log(&mut self, here: Here, node: NodeRef, action: Action) {
        let Some(node) = self.graph.live(node) else { return };
        let Here { at, op, site, .. } = here;
        self.graph.payload(node).entries.push(Entry { at, op, site, action });
        self.logged += 1;
        self.logged_now += 1;
        self.most_logged = self.most_logged.max(self.logged_now);
    }

    fn end(&mut self, thread: ThreadId, effort: &mut Effort) {
        let thread = slot(&mut self.threads, thread.index());
        thread.began = None;
        let Some(node) = self.graph.live(thread.past) else { return };
        self.graph.finish(node);
        self.searches += 1;
        let component = self.graph.component(node);
        self.graph.contract(&component);
        self.collect(node, effort);
    }

    /// Drops what no running transaction leads to any more, after a precise look at it.
    fn collect(&mut self, node: NodeId, effort: &mut Effort) {
        let node = self.graph.representative(node);
        self.graph.collect(node, |logs| {
            self.logged_now -= logs.iter().map(|log| log.entries.len() as u64).sum::<u64>();
            if logs.len() > 1 {
                self.components += 1;
                self.members += logs.len() as u64;
                let blamed = replay::blamed(logs, effort);
                self.false_components += u64::from(blamed.is_empty());
                self.blamed.extend(blamed);
            }
        });
    }
}

const _: () = assert!(size_of::<Entry>() == 32);
