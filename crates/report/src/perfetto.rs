//! Chrome's trace format, for ui.perfetto.dev and chrome://tracing: a process per finding, a track per thread, blocks and
//! events as slices, reasons as flow arrows. A step of the witness lasts a millisecond; real times are not recorded.

use serde_json::{Value, json};

use crate::digest::Digest;
use crate::finding::Finding;

/// A row's length, in the format's microseconds.
const STEP: usize = 1000;

/// The report as a Chrome trace.
pub fn render(digest: &Digest) -> String {
    let mut events: Vec<Value> = Vec::new();
    let mut flows = 0;
    for (number, finding) in digest.findings.iter().enumerate() {
        process(&mut events, &mut flows, number + 1, finding);
    }
    crate::model::write(&json!({ "displayTimeUnit": "ms", "traceEvents": events }))
}

fn process(events: &mut Vec<Value>, flows: &mut usize, pid: usize, finding: &Finding) {
    let scene = &finding.scene;
    let name = format!("{} ({})", finding.title, finding.strength);
    let told = json!({ "name": name, "fingerprint": finding.fingerprint, "rule": finding.rule.id });
    events.push(json!({ "ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": told }));
    events.push(json!({ "ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": { "sort_index": pid } }));
    for (column, thread) in scene.threads.iter().enumerate() {
        let name = format!("thread {thread}");
        events.push(
            json!({ "ph": "M", "name": "thread_name", "pid": pid, "tid": column + 1, "args": { "name": name } }),
        );
    }
    for bar in &scene.bars {
        events.push(json!({
            "ph": "X", "cat": "block", "name": bar.name, "pid": pid, "tid": bar.thread + 1,
            "ts": bar.first * STEP, "dur": (bar.last - bar.first + 1) * STEP,
            "args": { "not atomic": bar.blamed },
        }));
    }
    for (row, event) in scene.rows.iter().enumerate() {
        events.push(json!({
            "ph": "X", "cat": "event", "name": event.what, "pid": pid, "tid": event.thread + 1,
            "ts": row * STEP + STEP / 10, "dur": STEP * 8 / 10,
            "args": {
                "event": event.event, "op": event.op,
                "site": event.site.as_ref().map(|site| &site.shown), "locks": event.locks,
            },
        }));
    }
    for arrow in &scene.arrows {
        let (Some(from), Some(to)) = (scene.rows.get(arrow.from), scene.rows.get(arrow.to)) else { continue };
        *flows += 1;
        let why = arrow.reason.and_then(|reason| finding.reasons.get(reason)).unwrap_or(&arrow.label);
        let end = |phase: &str, row: usize, thread: usize| {
            json!({
                "ph": phase, "bp": "e", "cat": "because", "name": arrow.label, "id": flows, "pid": pid, "tid": thread + 1,
                "ts": row * STEP + STEP / 2, "args": { "because": why },
            })
        };
        events.push(end("s", arrow.from, from.thread));
        events.push(end("f", arrow.to, to.thread));
    }
}
