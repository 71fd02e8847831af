//! The transaction graph of a finding: what has to be put in order, and what says so. Its cycle is why no serial order exists.
//!
//! A block is one node, whatever its thread does in it; an event outside every block is one by itself. What was predicted tells
//! of other threads only what they do and not in which block, so there a thread is a node.

use crate::finding::{Bar, Finding, Scene};

/// The transactions of a finding.
pub(crate) struct Graph {
    /// In the order of their first rows.
    pub(crate) nodes: Vec<Node>,
    /// The node that each row of the scene belongs to.
    pub(crate) node_of_row: Vec<usize>,
}

/// A transaction.
pub(crate) struct Node {
    /// What it is called.
    pub(crate) name: String,
    /// Its column in the scene.
    pub(crate) thread: usize,
    /// Whether it is, or has in it, the block that is not atomic.
    pub(crate) blamed: bool,
}

impl Finding {
    /// Its transaction graph.
    pub(crate) fn graph(&self) -> Graph {
        let mut graph = Graph { nodes: Vec::new(), node_of_row: Vec::new() };
        let others = if self.strength == "observed" { Others::AreUnary } else { Others::AreThreads };
        // What makes two rows one node.
        let mut keys: Vec<Key> = Vec::new();
        for (row, event) in self.scene.rows.iter().enumerate() {
            let key = key(&self.scene, row, others);
            if let Some(node) = keys.iter().position(|known| *known == key) {
                graph.node_of_row.push(node);
                if let Key::Thread(_) = key {
                    let name = &mut graph.nodes[node].name;
                    name.push_str(", ");
                    name.push_str(&event.what);
                }
            } else {
                graph.node_of_row.push(keys.len());
                keys.push(key);
                graph.nodes.push(node(&self.scene, row));
            }
        }
        graph
    }
}

/// What rows outside every bar are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    /// Transactions of their own.
    AreUnary,
    /// Parts of what their thread does.
    AreThreads,
}

#[derive(PartialEq)]
enum Key {
    Bar(usize),
    Thread(usize),
    Row(usize),
}

fn around(scene: &Scene, row: usize) -> impl Iterator<Item = (usize, &Bar)> {
    let thread = scene.rows[row].thread;
    let holds = move |bar: &Bar| bar.thread == thread && (bar.first..=bar.last).contains(&row);
    scene.bars.iter().enumerate().filter(move |(_, bar)| holds(bar))
}

fn key(scene: &Scene, row: usize, others: Others) -> Key {
    // Outer blocks come first, and the outermost is the transaction.
    match (around(scene, row).next(), others) {
        (Some((bar, _)), _) => Key::Bar(bar),
        (None, Others::AreThreads) => Key::Thread(scene.rows[row].thread),
        (None, Others::AreUnary) => Key::Row(row),
    }
}

fn node(scene: &Scene, row: usize) -> Node {
    let at = &scene.rows[row];
    let Some((_, outermost)) = around(scene, row).next() else {
        return Node { name: at.what.clone(), thread: at.thread, blamed: false };
    };
    // A blamed block inside the transaction gives it its name.
    let inside = |bar: &&Bar| {
        bar.blamed && bar.thread == at.thread && outermost.first <= bar.first && bar.last <= outermost.last
    };
    let blamed = scene.bars.iter().find(inside);
    Node { name: blamed.unwrap_or(outermost).name.clone(), thread: at.thread, blamed: blamed.is_some() }
}
