//! Graphviz: a cluster per finding with its transaction graph: a box per block or lone event that has to be put in order, an
//! arrow per reason. What is not atomic is drawn thick; its arrows make the cycle. What was set aside is dashed.

use std::fmt::Write;

use crate::digest::Digest;
use crate::finding::Finding;

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
    let mut heading =
        format!("{}\n{} ({})\n{}", finding.title, finding.rule.name, finding.strength, finding.fingerprint);
    if let Some(aside) = &finding.aside {
        let _ = write!(heading, "\n{}", aside.line());
        text.push_str("    style=dashed;\n");
    }
    put!(text, "    label={};", quoted(&heading));
    put!(text, "    id={};", quoted(&finding.fingerprint));
    let scene = &finding.scene;
    let graph = finding.graph();
    for (position, node) in graph.nodes.iter().enumerate() {
        let thread = scene.threads.get(node.thread).map_or("", String::as_str);
        let thick = if node.blamed { ", penwidth=3, color=\"#c0392b\"" } else { "" };
        let label = format!("{}\nthread {thread}", node.name);
        put!(text, "    n{number}_{position} [label={}{thick}];", quoted(&label));
    }
    if graph.nodes.is_empty() {
        put!(text, "    n{number}_0 [label={}];", quoted(&finding.subject));
    }
    let both = if finding.is_ordered() { "" } else { ", dir=both" };
    for arrow in &scene.arrows {
        let ends = (graph.node_of_row.get(arrow.from), graph.node_of_row.get(arrow.to));
        let (Some(from), Some(to)) = ends else { continue };
        if from != to {
            let why = arrow.reason.and_then(|reason| finding.reasons.get(reason));
            put!(
                text,
                "    n{number}_{from} -> n{number}_{to} [label={}, tooltip={}{both}];",
                quoted(&arrow.label),
                quoted(why.unwrap_or(&arrow.label))
            );
        }
    }
    text.push_str("  }\n");
}

/// A string as Graphviz takes it. It knows no way to quote a backslash besides doubling it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
