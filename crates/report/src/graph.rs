//! The transaction graph of a finding: what has to be put in order, and what says so. Its cycle is why no serial order exists.
//!
//! A block is one node, whatever its thread does in it; an event outside every block is one by itself. Where a scene has no
//! blocks at all (threads that wait for each other's locks), a thread is a node.

use crate::finding::{Bar, Finding, Scene};

/// The transactions of a finding.
pub(crate) struct Graph<'a> {
    /// In the order of their first rows.
    pub(crate) nodes: Vec<Node<'a>>,
    /// The node that each row of the scene belongs to.
    pub(crate) node_of_row: Vec<usize>,
}

/// A transaction.
pub(crate) struct Node<'a> {
    /// What it is called.
    pub(crate) name: &'a str,
    /// Its column in the scene.
    pub(crate) thread: usize,
    /// Whether it is, or has in it, the block that is not atomic.
    pub(crate) blamed: bool,
}

impl Finding {
    /// Its transaction graph.
    pub(crate) fn graph(&self) -> Graph<'_> {
        let mut graph = Graph { nodes: Vec::new(), node_of_row: Vec::new() };
        // What makes two rows one node.
        let mut keys: Vec<Key> = Vec::new();
        for row in 0..self.scene.rows.len() {
            let key = key(&self.scene, row);
            let node = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                graph.nodes.push(node(&self.scene, row));
                keys.len() - 1
            });
            graph.node_of_row.push(node);
        }
        graph
    }
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

fn key(scene: &Scene, row: usize) -> Key {
    // Outer blocks come first, and the outermost is the transaction.
    match around(scene, row).next() {
        Some((bar, _)) => Key::Bar(bar),
        None if scene.bars.is_empty() => Key::Thread(scene.rows[row].thread),
        None => Key::Row(row),
    }
}

fn node(scene: &Scene, row: usize) -> Node<'_> {
    let at = &scene.rows[row];
    let Some((_, outermost)) = around(scene, row).next() else {
        return Node { name: &at.what, thread: at.thread, blamed: false };
    };
    // A blamed block inside the transaction gives it its name.
    let inside = |bar: &&Bar| {
        bar.blamed && bar.thread == at.thread && outermost.first <= bar.first && bar.last <= outermost.last
    };
    let blamed = scene.bars.iter().find(inside);
    Node { name: &blamed.unwrap_or(outermost).name, thread: at.thread, blamed: blamed.is_some() }
}
