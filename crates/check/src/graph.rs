//! A graph of transactions, as Velodrome and DoubleChecker keep it, and who used a variable or a
//! channel last.
//!
//! A node is a transaction. New edges lead only into transactions that still run, so a finished
//! node without incoming edges will never be on a cycle: it is collected, then its successors
//! are looked at in the same way. Names of nodes ([`NodeRef`]) may be kept anywhere and for any
//! time: whoever holds the name of a collected node holds nothing.
//!
//! ```text
//! node 7, generation 3      variable x: (7, 3)   alive
//! collected; reused as      variable x: (7, 3)   stale: no dependence
//! node 7, generation 4
//! ```
//!
//! All walks are loops over an explicit stack, so that a long chain of transactions costs heap
//! and not stack.

use atomvet_trace::{Mode, ThreadId};
use smallvec::SmallVec;

use crate::Access;

/// A node, as long as it is known to be alive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct NodeId(u32);

impl NodeId {
    /// The id as an index into a dense table.
    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The name of a node that may have been collected since.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodeRef {
    id: NodeId,
    generation: u32,
}

impl NodeRef {
    /// Names no node, ever: there is no node of this id.
    pub(crate) const NONE: NodeRef = NodeRef { id: NodeId(u32::MAX), generation: 0 };
}

/// An edge, kept at its source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge<L> {
    /// The sink; see [`Graph::representative`].
    pub(crate) to: NodeId,
    /// What the algorithm wants to know about it.
    pub(crate) label: L,
}

/// Figures that both algorithms report.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) edges: u64,
    pub(crate) cross_thread_edges: u64,
    pub(crate) visited: u64,
    pub(crate) collected: u64,
    pub(crate) live: u64,
    pub(crate) most_live: u64,
}

/// Transactions with a payload `P` each and edges with a label `L` each.
#[derive(Debug)]
pub(crate) struct Graph<P, L> {
    nodes: Vec<Node<P, L>>,
    /// Collected nodes, to be used again.
    free: Vec<NodeId>,
    /// The number of the latest search; a node was seen by it if it carries this stamp.
    search: u64,
    /// What a search still has to follow: a node and how many of its edges were followed.
    stack: Vec<(NodeId, usize)>,
    /// What a collection still has to look at.
    to_collect: Vec<NodeId>,
    /// The payloads of one collected node and of all that were contracted into it.
    disposed: Vec<P>,
    counts: Counts,
}

#[derive(Debug)]
struct Node<P, L> {
    /// Changes whenever the node is collected, so that older names become stale.
    generation: u32,
    /// How many edges lead here from living nodes.
    incoming: u32,
    stage: Stage,
    thread: ThreadId,
    /// Itself, or a node that this one was contracted into.
    merged_into: NodeId,
    /// The latest search that came here.
    stamp: u64,
    /// The latest search that found this node to lead back to where it started.
    cyclic: u64,
    /// One edge per sink, in the order in which they were added.
    out: SmallVec<[Edge<L>; 2]>,
    /// Per thread that an edge leads into, the sink of the newest one. Edges lead into running
    /// transactions only, so this answers whether a pair has its edge already without a look at
    /// all edges. A sink lives as long as its source.
    newest: SmallVec<[(ThreadId, NodeId); 2]>,
    /// Nodes that were contracted into this one.
    members: Vec<NodeId>,
    payload: P,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Not in use.
    Free,
    /// May still receive edges.
    Running,
    /// Receives no more edges.
    Finished,
}

impl<P: Default, L: Copy> Graph<P, L> {
    pub(crate) fn new() -> Self {
        Graph {
            nodes: Vec::new(),
            free: Vec::new(),
            search: 0,
            stack: Vec::new(),
            to_collect: Vec::new(),
            disposed: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// A new transaction, which runs.
    pub(crate) fn add(&mut self, thread: ThreadId, payload: P) -> NodeRef {
        self.counts.live += 1;
        self.counts.most_live = self.counts.most_live.max(self.counts.live);
        let id = self.free.pop().unwrap_or_else(|| {
            // 4 billion live transactions need more memory than any machine has.
            let id = u32::try_from(self.nodes.len()).ok().filter(|&id| id < u32::MAX);
            let id = NodeId(id.expect("fewer than 2^32 - 1 live transactions"));
            self.nodes.push(Node {
                generation: 1,
                incoming: 0,
                stage: Stage::Free,
                thread,
                merged_into: id,
                stamp: 0,
                cyclic: 0,
                out: SmallVec::new(),
                newest: SmallVec::new(),
                members: Vec::new(),
                payload: P::default(),
            });
            id
        });
        let node = &mut self.nodes[id.index()];
        node.stage = Stage::Running;
        node.thread = thread;
        node.payload = payload;
        NodeRef { id, generation: node.generation }
    }

    /// The node of that name, unless it was collected.
    #[inline]
    pub(crate) fn live(&self, name: NodeRef) -> Option<NodeId> {
        let node = self.nodes.get(name.id.index())?;
        (node.generation == name.generation).then_some(name.id)
    }

    /// Whose transaction a node is.
    #[inline]
    pub(crate) fn thread(&self, id: NodeId) -> ThreadId {
        self.nodes[id.index()].thread
    }

    /// What the algorithm keeps with a node.
    #[inline]
    pub(crate) fn payload(&mut self, id: NodeId) -> &mut P {
        &mut self.nodes[id.index()].payload
    }

    /// Whether a node can receive no more edges.
    #[inline]
    pub(crate) fn is_finished(&self, id: NodeId) -> bool {
        self.nodes[id.index()].stage == Stage::Finished
    }

    /// The edges that leave a node.
    #[inline]
    pub(crate) fn edges(&self, id: NodeId) -> &[Edge<L>] {
        &self.nodes[id.index()].out
    }

    /// How many ids were ever in use at once: the size of a table over all nodes.
    pub(crate) fn capacity(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// The newest transaction of `thread` that an edge from `from` leads to.
    #[inline]
    pub(crate) fn newest_sink(&self, from: NodeId, thread: ThreadId) -> Option<NodeId> {
        let newest = &self.nodes[from.index()].newest;
        newest.iter().find(|(sink_thread, _)| *sink_thread == thread).map(|(_, sink)| *sink)
    }

    /// A new edge between nodes that represent themselves. The caller knows that there is none
    /// between the two and that the sink still runs.
    pub(crate) fn connect(&mut self, from: NodeId, to: NodeId, label: L) {
        let thread = self.nodes[to.index()].thread;
        self.nodes[to.index()].incoming += 1;
        let source = &mut self.nodes[from.index()];
        self.counts.edges += 1;
        self.counts.cross_thread_edges += u64::from(source.thread != thread);
        source.out.push(Edge { to, label });
        match source.newest.iter_mut().find(|(sink_thread, _)| *sink_thread == thread) {
            Some((_, sink)) => *sink = to,
            None => source.newest.push((thread, to)),
        }
    }

    /// The node receives no more edges.
    #[inline]
    pub(crate) fn finish(&mut self, id: NodeId) {
        self.nodes[id.index()].stage = Stage::Finished;
    }

    /// Collects the node if it is finished and has no incoming edge, and then in the same way
    /// what its edges led to. `dispose` gets the payloads of each collected node together with
    /// those of the nodes that were contracted into it.
    pub(crate) fn collect(&mut self, id: NodeId, mut dispose: impl FnMut(&mut Vec<P>)) {
        self.to_collect.push(id);
        while let Some(id) = self.to_collect.pop() {
            let node = &mut self.nodes[id.index()];
            if node.stage != Stage::Finished || node.incoming > 0 {
                continue;
            }
            let members = std::mem::take(&mut node.members);
            let out = std::mem::take(&mut node.out);
            self.release(id);
            for member in members {
                self.release(member);
            }
            dispose(&mut self.disposed);
            self.disposed.clear();
            for edge in out {
                let sink = self.representative(edge.to);
                self.nodes[sink.index()].incoming -= 1;
                self.to_collect.push(sink);
            }
        }
    }

    fn release(&mut self, id: NodeId) {
        self.counts.live -= 1;
        self.counts.collected += 1;
        let node = &mut self.nodes[id.index()];
        self.disposed.push(std::mem::take(&mut node.payload));
        node.newest.clear();
        node.merged_into = id;
        node.stage = Stage::Free;
        node.generation = node.generation.wrapping_add(1);
        // A node whose generations are used up is never used again: a name of its first life
        // would come alive.
        if node.generation != 0 {
            self.free.push(id);
        }
    }

    /// Whether a path leads from one node to another. Asked before the edge `to` → `from` is
    /// added: then it would close a cycle.
    pub(crate) fn reaches(&mut self, from: NodeId, to: NodeId) -> bool {
        if self.newest_sink(from, self.thread(to)) == Some(to) {
            return true;
        }
        self.search += 1;
        self.stack.clear();
        self.stack.push((from, 0));
        while let Some((id, _)) = self.stack.pop() {
            self.counts.visited += 1;
            for i in 0..self.nodes[id.index()].out.len() {
                let sink = self.nodes[id.index()].out[i].to;
                if sink == to {
                    return true;
                }
                let node = &mut self.nodes[sink.index()];
                if node.stamp != self.search {
                    node.stamp = self.search;
                    self.stack.push((sink, 0));
                }
            }
        }
        false
    }
}

/// Contraction of cycles, for an algorithm that lets them into its graph.
impl<P: Default, L: Copy> Graph<P, L> {
    /// The node that now stands for this one: itself, unless it was contracted.
    #[inline]
    pub(crate) fn representative(&mut self, mut id: NodeId) -> NodeId {
        loop {
            let parent = self.nodes[id.index()].merged_into;
            if parent == id {
                return id;
            }
            let grandparent = self.nodes[parent.index()].merged_into;
            self.nodes[id.index()].merged_into = grandparent;
            id = grandparent;
        }
    }

    /// The strongly connected component of a node that has just finished, over finished nodes
    /// only, provided that all older components were contracted; empty if it is the node alone.
    ///
    /// So without this node the finished ones have no cycle, and one walk tells, for every node
    /// that it leaves for good, whether it leads back to the start.
    pub(crate) fn component(&mut self, start: NodeId) -> Vec<NodeId> {
        let mut component = Vec::new();
        if self.nodes[start.index()].incoming == 0 || self.nodes[start.index()].out.is_empty() {
            return component;
        }
        self.search += 1;
        self.stack.clear();
        self.stack.push((start, 0));
        while let Some((id, followed)) = self.stack.pop() {
            if let Some(edge) = self.nodes[id.index()].out.get(followed) {
                let sink = self.representative(edge.to);
                self.stack.push((id, followed + 1));
                let node = &mut self.nodes[sink.index()];
                if sink == start || node.cyclic == self.search {
                    self.nodes[id.index()].cyclic = self.search;
                } else if node.stage == Stage::Finished && node.stamp != self.search {
                    node.stamp = self.search;
                    self.stack.push((sink, 0));
                }
                continue;
            }
            self.counts.visited += 1;
            if self.nodes[id.index()].cyclic == self.search {
                component.push(id);
                if let Some((below, _)) = self.stack.last() {
                    self.nodes[below.index()].cyclic = self.search;
                }
            }
        }
        component
    }

    /// Makes one node of a component of finished nodes. Each keeps its payload, its name and its
    /// thread; the edges between them disappear, all other edges are now the one node's.
    pub(crate) fn contract(&mut self, component: &[NodeId]) {
        // The one with the most to move stays where it is.
        let size = |id: &NodeId| {
            let node = &self.nodes[id.index()];
            node.out.len() + node.newest.len() + node.members.len()
        };
        let Some(kept) = component.iter().copied().max_by_key(size) else { return };
        for &id in component {
            self.nodes[id.index()].merged_into = kept;
        }
        let mut incoming = 0;
        for &id in component {
            let node = &mut self.nodes[id.index()];
            incoming += std::mem::take(&mut node.incoming);
            if id != kept {
                let (out, newest) = (std::mem::take(&mut node.out), std::mem::take(&mut node.newest));
                let members = std::mem::take(&mut node.members);
                let kept = &mut self.nodes[kept.index()];
                kept.out.extend(out);
                kept.members.push(id);
                kept.members.extend(members);
                for (thread, sink) in newest {
                    if !kept.newest.iter().any(|(known, _)| *known == thread) {
                        kept.newest.push((thread, sink));
                    }
                }
            }
        }
        let mut out = std::mem::take(&mut self.nodes[kept.index()].out);
        let all = out.len();
        out.retain(|edge| self.representative(edge.to) != kept);
        let inside = u32::try_from(all - out.len()).expect("as many as were counted as incoming");
        let kept = &mut self.nodes[kept.index()];
        kept.out = out;
        kept.incoming = incoming - inside;
    }
}

/// Who accessed a variable last: as much as a new access can directly depend on.
///
/// Accesses come in groups of accesses that do not conflict with each other (reads; updates of
/// one commuting kind; a single write). An access that does not conflict with the current group
/// conflicts with all of the previous one and joins the current; any other access conflicts
/// with all of the current one, which becomes the previous one. Older groups come before these.
#[derive(Clone, Debug)]
pub(crate) struct LastAccesses<R> {
    /// Of which kind the current group is; none before the first access.
    kind: Option<Access>,
    /// The last access of each thread in the group, in the order of the threads.
    current: SmallVec<[(ThreadId, R); 1]>,
    previous: SmallVec<[(ThreadId, R); 1]>,
}

impl<R> Default for LastAccesses<R> {
    fn default() -> Self {
        LastAccesses { kind: None, current: SmallVec::new(), previous: SmallVec::new() }
    }
}

impl<R: Copy> LastAccesses<R> {
    /// What an access depends on.
    #[inline]
    pub(crate) fn before(&self, access: Access) -> &[(ThreadId, R)] {
        if self.is_joined_by(access) { &self.previous } else { &self.current }
    }

    /// The access has happened.
    #[inline]
    pub(crate) fn record(&mut self, thread: ThreadId, access: Access, by: R) {
        if !self.is_joined_by(access) {
            std::mem::swap(&mut self.previous, &mut self.current);
            self.current.clear();
            self.kind = Some(access);
        }
        put(&mut self.current, thread, by);
    }

    #[inline]
    fn is_joined_by(&self, access: Access) -> bool {
        self.kind == Some(access) && access.shares()
    }
}

/// What a channel holds: the last exclusive send and the shared ones after it.
#[derive(Clone, Debug)]
pub(crate) struct LastSends<R> {
    exclusive: Option<(ThreadId, R)>,
    /// The last of each thread, in the order of the threads.
    shared: SmallVec<[(ThreadId, R); 1]>,
}

impl<R> Default for LastSends<R> {
    fn default() -> Self {
        LastSends { exclusive: None, shared: SmallVec::new() }
    }
}

impl<R: Copy> LastSends<R> {
    /// What a receive depends on.
    #[inline]
    pub(crate) fn before(&self, mode: Mode) -> impl Iterator<Item = &(ThreadId, R)> {
        let shared = if mode == Mode::Exclusive { &self.shared[..] } else { &[] };
        self.exclusive.iter().chain(shared)
    }

    /// The send has happened.
    #[inline]
    pub(crate) fn record(&mut self, thread: ThreadId, mode: Mode, by: R) {
        match mode {
            Mode::Exclusive => {
                self.exclusive = Some((thread, by));
                self.shared.clear();
            }
            Mode::Shared => put(&mut self.shared, thread, by),
        }
    }
}

fn put<R>(last: &mut SmallVec<[(ThreadId, R); 1]>, thread: ThreadId, by: R) {
    match last.binary_search_by_key(&thread, |(other, _)| *other) {
        Ok(at) => last[at].1 = by,
        Err(at) => last.insert(at, (thread, by)),
    }
}

/// The entry at an index of a dense table, which grows as needed.
#[inline]
pub(crate) fn slot<T: Default>(table: &mut Vec<T>, index: usize) -> &mut T {
    if index >= table.len() {
        table.resize_with(index + 1, T::default);
    }
    &mut table[index]
}
