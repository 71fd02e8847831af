//! Graphviz: a cluster per finding, a box per block or lone event that has to be put in order, an arrow per reason.
//! What is not atomic is drawn thick; its arrows make the cycle.

use std::fmt::Write;

use crate::digest::Digest;
use crate::finding::{Finding, Scene};

/// Writing to a string does not fail.
macro_rules! put {
    ($text:expr, $($rest:tt)*) => {{ let _ = writeln!($text, $($rest)*); }};
}

/// The report as a graph.
pub fn render(digest: &Digest) -> String {
    let mut text = String::from(
        "digraph atomvet {\n  rankdir=LR;\n  fontname=\"sans-serif\";\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n  \
         edge [fontname=\"sans-serif\", fontsize=10];\n",
    );
    for (number, finding) in digest.findings.iter().enumerate() {
        cluster(&mut text, number, finding);
    }
    text.push_str("}\n");
    text
}

fn cluster(text: &mut String, number: usize, finding: &Finding) {
    put!(text, "  subgraph cluster_{number} {{");
    let heading =
        format!("{}\n{} ({})\n{}", finding.title, finding.rule.name, finding.strength, finding.fingerprint);
    put!(text, "    label={};", quoted(&heading));
    put!(text, "    id={};", quoted(&finding.fingerprint));
    let scene = &finding.scene;
    let nodes: Vec<Node> = (0..scene.rows.len()).map(|row| node(scene, row)).collect();
    for (row, node) in nodes.iter().enumerate() {
        if node.row == row {
            let thick = if node.blamed { ", penwidth=3, color=\"#c0392b\"" } else { "" };
            put!(text, "    n{number}_{row} [label={}{thick}];", quoted(&node.label));
        }
    }
    if nodes.is_empty() {
        put!(text, "    n{number}_0 [label={}];", quoted(&finding.subject));
    }
    for arrow in &scene.arrows {
        let (Some(from), Some(to)) = (nodes.get(arrow.from), nodes.get(arrow.to)) else { continue };
        if from.row != to.row {
            let why = arrow.reason.and_then(|reason| finding.reasons.get(reason));
            put!(
                text,
                "    n{number}_{} -> n{number}_{} [label={}, tooltip={}];",
                from.row,
                to.row,
                quoted(&arrow.label),
                quoted(why.unwrap_or(&arrow.label))
            );
        }
    }
    text.push_str("  }\n");
}

/// A box, known by its first row.
struct Node {
    row: usize,
    label: String,
    blamed: bool,
}

fn node(scene: &Scene, row: usize) -> Node {
    let at = &scene.rows[row];
    let thread = scene.threads.get(at.thread).map_or("", String::as_str);
    let around =
        |bar: &&crate::finding::Bar| bar.thread == at.thread && (bar.first..=bar.last).contains(&row);
    // The outermost block is the transaction; a blamed block inside it counts as a part of it.
    match scene.bars.iter().find(around) {
        Some(bar) => {
            let blamed = scene.bars.iter().filter(around).find(|bar| bar.blamed);
            let name = blamed.map_or(&bar.name, |blamed| &blamed.name);
            Node { row: bar.first, label: format!("{name}\nthread {thread}"), blamed: blamed.is_some() }
        }
        None => {
            let first = scene
                .rows
                .iter()
                .position(|other| other.thread == at.thread && !in_a_bar(scene, other.event));
            // Without a block, a thread's steps are one box where it waits for a lock, and a box each otherwise.
            let row = if scene.bars.is_empty() { first.unwrap_or(row) } else { row };
            Node { row, label: format!("{}\nthread {thread}", scene.rows[row].what), blamed: false }
        }
    }
}

fn in_a_bar(scene: &Scene, event: u64) -> bool {
    scene.bars.iter().any(|bar| {
        scene.rows[bar.first..=bar.last].iter().any(|row| row.event == event && row.thread == bar.thread)
    })
}

/// A string as Graphviz takes it. It knows no way to quote a backslash besides doubling it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
