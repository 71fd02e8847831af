//! Chrome's trace format, for ui.perfetto.dev and chrome://tracing: a process per finding, a track per thread, blocks and
//! events as slices, reasons as flow arrows. A step of the witness lasts a millisecond; real times are not recorded. What
//! nothing orders happens at the same time, and has no arrow.

use serde::Serialize;

use crate::digest::Digest;
use crate::finding::{Aside, Finding};

/// A row's length, in the format's microseconds.
const STEP: usize = 1000;

/// The report as a Chrome trace, an event per line.
pub fn render(digest: &Digest) -> String {
    let mut trace = Trace { text: "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n".to_owned(), flows: 0 };
    for (number, finding) in digest.findings.iter().enumerate() {
        trace.process(number + 1, finding);
    }
    trace.text.truncate(trace.text.trim_end_matches(",\n").len());
    trace.text.push_str("\n]}\n");
    trace.text
}

/// An event of the format.
#[derive(Default, Serialize)]
struct Entry<'a> {
    ph: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    pid: usize,
    tid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<usize>,
    args: Args<'a>,
}

/// What is shown of an event when it is chosen.
#[derive(Default, Serialize)]
struct Args<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    #[serde(rename = "set aside", skip_serializing_if = "Option::is_none")]
    aside: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sort_index: Option<usize>,
    #[serde(rename = "not atomic", skip_serializing_if = "Option::is_none")]
    blamed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    op: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    site: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    locks: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'a str>,
}

fn meta<'a>(name: &'a str, pid: usize, tid: usize, args: Args<'a>) -> Entry<'a> {
    Entry { ph: "M", name, pid, tid, args, ..Entry::default() }
}

struct Trace {
    text: String,
    flows: usize,
}

impl Trace {
    fn push(&mut self, entry: &Entry<'_>) {
        // This type has string keys only and no failing serializers, so this does not fail.
        self.text.push_str(&serde_json::to_string(entry).unwrap_or_default());
        self.text.push_str(",\n");
    }

    fn process(&mut self, pid: usize, finding: &Finding) {
        let scene = &finding.scene;
        let name = format!("{} ({})", finding.title, finding.strength);
        let aside = finding.aside.as_ref().map(Aside::line);
        let told = Args {
            name: Some(&name),
            fingerprint: Some(&finding.fingerprint),
            rule: Some(&finding.rule.id),
            aside: aside.as_deref(),
            ..Args::default()
        };
        self.push(&meta("process_name", pid, 0, told));
        self.push(&meta("process_sort_index", pid, 0, Args { sort_index: Some(pid), ..Args::default() }));
        for (column, thread) in scene.threads.iter().enumerate() {
            let name = format!("thread {thread}");
            self.push(&meta("thread_name", pid, column + 1, Args { name: Some(&name), ..Args::default() }));
        }
        let slice = |cat, name, thread: usize, ts, dur, args| Entry {
            ph: "X",
            cat: Some(cat),
            name,
            pid,
            tid: thread + 1,
            ts: Some(ts),
            dur: Some(dur),
            args,
            ..Entry::default()
        };
        for bar in &scene.bars {
            let args = Args { blamed: Some(bar.blamed), ..Args::default() };
            let length = (bar.last - bar.first + 1) * STEP;
            self.push(&slice("block", &bar.name, bar.thread, bar.first * STEP, length, args));
        }
        for (row, event) in scene.rows.iter().enumerate() {
            let row = if finding.is_ordered() { row } else { 0 };
            let args = Args {
                event: Some(event.event),
                op: Some(&event.op),
                site: event.site.as_ref().map(|site| site.shown.as_str()),
                locks: &event.locks,
                ..Args::default()
            };
            self.push(&slice(
                "event",
                &event.what,
                event.thread,
                row * STEP + STEP / 10,
                STEP * 8 / 10,
                args,
            ));
        }
        for arrow in scene.arrows.iter().filter(|_| finding.is_ordered()) {
            let (Some(from), Some(to)) = (scene.rows.get(arrow.from), scene.rows.get(arrow.to)) else {
                continue;
            };
            self.flows += 1;
            let why = arrow.reason.and_then(|reason| finding.reasons.get(reason)).unwrap_or(&arrow.label);
            // Flows go forward in time. A wish for a lock that is held already is shown from the holder on.
            let mut ends = [(arrow.from, from.thread), (arrow.to, to.thread)];
            ends.sort_by_key(|(row, _)| *row);
            for (ph, (row, thread)) in ["s", "f"].into_iter().zip(ends) {
                self.push(&Entry {
                    ph,
                    bp: Some("e"),
                    cat: Some("because"),
                    name: &arrow.label,
                    id: Some(self.flows),
                    pid,
                    tid: thread + 1,
                    ts: Some(row * STEP + STEP / 2),
                    dur: None,
                    args: Args { because: Some(why), ..Args::default() },
                });
            }
        }
    }
}
