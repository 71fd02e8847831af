//! SARIF 2.1.0, for code scanning. Rules with help, a result per finding with a thread flow per thread, and partial
//! fingerprints that do not change with lines of unrelated code.
//!
//! GitHub takes 25,000 results in a run (and shows 5,000), 1,000 locations of thread flows and 100 related locations in a
//! result, and 10 MB after compression. What is more than that is cut, the least grave first, and a notification says so.

use std::io::Write;

use serde_json::{Value, json};

use crate::digest::Digest;
use crate::finding::{Finding, Level, Row, Site};
use crate::rules;
use crate::sources::Sources;

/// Results in a run.
const MOST_RESULTS: usize = 25_000;
/// Locations in the code flows of a result.
const MOST_FLOW_LOCATIONS: usize = 1_000;
/// Related locations of a result.
const MOST_RELATED: usize = 100;
/// Bytes of a compressed upload, with a reserve for the reader's other compressor.
const LARGEST_UPLOAD: usize = 9_500_000;

/// What fingerprints are called: the number changes if they are made of other parts.
pub const FINGERPRINT: &str = "atomvetFingerprint/v1";

/// The report as SARIF.
pub fn render(digest: &Digest, sources: &mut Sources) -> String {
    render_within(digest, sources, MOST_RESULTS, LARGEST_UPLOAD)
}

fn render_within(digest: &Digest, sources: &mut Sources, most: usize, largest: usize) -> String {
    let rules = rules::all();
    // The gravest come first, so the least grave are cut.
    let kept = digest.findings.len().min(most);
    let results = |number: usize, flows: usize, sources: &mut Sources| -> Vec<Value> {
        let findings = digest.findings.iter().take(number).enumerate();
        findings
            .map(|(i, finding)| {
                result(finding, &rules, sources, if i < flows { Flows::Shown } else { Flows::Cut })
            })
            .collect()
    };
    // A half of the code flows at a time, then a half of the results, until it fits.
    let (mut number, mut flows) = (kept, kept);
    loop {
        let results = results(number, flows, sources);
        let text = crate::model::write(&log(digest, &rules, results, Cut { number, flows }));
        let smallest = number == 0 || text.len() <= largest;
        if smallest || compressed(&text) <= largest {
            return text;
        }
        if flows > 0 {
            flows /= 2;
        } else {
            number /= 2;
        }
    }
}

/// Whether a result has code flows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flows {
    Shown,
    Cut,
}

/// How many findings are results, and how many of them have code flows.
#[derive(Clone, Copy)]
struct Cut {
    number: usize,
    flows: usize,
}

fn log(digest: &Digest, rules: &[rules::Rule], results: Vec<Value>, cut: Cut) -> Value {
    let broken = digest.traces.iter().any(|trace| trace.error.is_some());
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "atomvet",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": !broken,
                "toolExecutionNotifications": notifications(digest, cut),
            }],
            "results": results,
        }],
    })
}

fn notifications(digest: &Digest, cut: Cut) -> Vec<Value> {
    let mut said: Vec<(&str, String)> = Vec::new();
    let all = digest.findings.len();
    if cut.number < all {
        said.push(("warning", format!(
            "{} of {all} findings are left out, the least grave ones, to keep the limits of code scanning; the JSON report has all of them",
            all - cut.number
        )));
    }
    if cut.flows < cut.number {
        said.push(("warning", format!(
            "{} of {} results have no code flows, to keep the limits of code scanning; the JSON report has all of them",
            cut.number - cut.flows, cut.number
        )));
    }
    for trace in &digest.traces {
        said.extend(trace.error.iter().map(|error| ("error", error.clone())));
        said.extend(trace.warnings.iter().map(|warning| ("warning", format!("{}: {warning}", trace.name))));
    }
    said.into_iter().map(|(level, text)| json!({ "level": level, "message": { "text": text } })).collect()
}

fn rule(rule: &rules::Rule) -> Value {
    let level = match rule.id.as_str() {
        "data-race" | "not-reducible" => Level::Note,
        "potential-deadlock" => Level::Warning,
        _ => Level::Error,
    };
    let sentence = |text: &str| format!("{}.", capitalised(text));
    let (meaning, remedy) = (sentence(rule.meaning), sentence(rule.remedy));
    json!({
        "id": rule.id,
        "name": pascal(rule.name),
        "shortDescription": { "text": capitalised(rule.name) },
        "fullDescription": { "text": meaning },
        "help": {
            "text": format!("{meaning}\n\nWhat usually mends it: {remedy}"),
            "markdown": format!("**What happens.** {meaning}\n\n**What usually mends it.** {remedy}"),
        },
        "defaultConfiguration": { "level": word(level) },
        "properties": {
            "tags": ["concurrency", "atomicity"],
            "precision": if level == Level::Error { "very-high" } else { "medium" },
            "problem.severity": match level { Level::Error => "error", Level::Warning => "warning", Level::Note => "recommendation" },
        },
    })
}

fn result(finding: &Finding, rules: &[rules::Rule], sources: &mut Sources, flows: Flows) -> Value {
    let mut message = format!(
        "{} ({}). {}: {}.",
        finding.title,
        finding.strength,
        capitalised(finding.rule.name),
        finding.meaning
    );
    for line in finding.reasons.iter().chain(Some(&finding.conclusion)).filter(|line| !line.is_empty()) {
        message.push(' ');
        message.push_str(line);
    }
    message.push_str(&format!(" Remedy: {}.", finding.remedy));
    let mut location = json!({ "logicalLocations": [{ "name": finding.subject, "kind": "function" }] });
    // A finding without a place of its own is shown at its first event that has one.
    let places = finding.site.iter().chain(finding.scene.rows.iter().filter_map(|row| row.site.as_ref()));
    if let Some(physical) = places.into_iter().find_map(|site| physical(site, sources)) {
        location["physicalLocation"] = physical;
    }
    let mut value = json!({
        "ruleId": finding.rule.id,
        "ruleIndex": rules.iter().position(|rule| rule.id == finding.rule.id),
        "level": word(finding.level),
        "kind": "fail",
        "message": { "text": message },
        "locations": [location],
        "partialFingerprints": { FINGERPRINT: finding.fingerprint },
        "occurrenceCount": finding.count.max(1),
        "properties": {
            "strength": finding.strength,
            "algorithms": finding.checkers,
            "variables": finding.variables,
        },
    });
    let related: Vec<Value> = (finding.scene.rows.iter().enumerate())
        .filter_map(|(i, row)| {
            let physical = physical(row.site.as_ref()?, sources)?;
            Some(json!({ "id": i, "physicalLocation": physical, "message": { "text": told(finding, row) } }))
        })
        .take(MOST_RELATED)
        .collect();
    if !related.is_empty() {
        value["relatedLocations"] = json!(related);
    }
    if flows == Flows::Shown && !finding.scene.rows.is_empty() {
        value["codeFlows"] = json!([code_flow(finding, sources)]);
    }
    value
}

fn code_flow(finding: &Finding, sources: &mut Sources) -> Value {
    let scene = &finding.scene;
    let mut flows: Vec<Value> = Vec::new();
    for (column, thread) in scene.threads.iter().enumerate() {
        let rows =
            scene.rows.iter().take(MOST_FLOW_LOCATIONS).enumerate().filter(|(_, row)| row.thread == column);
        let locations: Vec<Value> = rows
            .map(|(order, row)| {
                let mut location = json!({ "message": { "text": told(finding, row) } });
                if let Some(physical) = row.site.as_ref().and_then(|site| physical(site, sources)) {
                    location["physicalLocation"] = physical;
                }
                json!({ "location": location, "executionOrder": order + 1, "importance": "essential" })
            })
            .collect();
        if !locations.is_empty() {
            flows.push(json!({
                "id": format!("thread {thread}"),
                "message": { "text": format!("what thread {thread} did") },
                "locations": locations,
            }));
        }
    }
    let told = if finding.conclusion.is_empty() { &finding.title } else { &finding.conclusion };
    json!({ "message": { "text": told }, "threadFlows": flows })
}

fn told(finding: &Finding, row: &Row) -> String {
    let thread = finding.scene.threads.get(row.thread).map_or("", String::as_str);
    format!("thread {thread} {} (event {})", row.what, row.event)
}

fn physical(site: &Site, sources: &mut Sources) -> Option<Value> {
    let file = site.file.as_deref()?;
    let uri = match sources.relative(file) {
        Some(below) => uri(&below.to_string_lossy()),
        None => uri(file),
    };
    let mut physical = json!({ "artifactLocation": { "uri": uri } });
    if let Some(line) = site.line {
        physical["region"] = json!({ "startLine": line });
    }
    Some(physical)
}

/// A path as a reference: relative to the repository, or a file of this machine. Whatever is not plain is quoted, so
/// that no path can be another kind of address.
fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    let mut uri = String::new();
    if drive {
        uri.push_str("file:///");
    } else if path.starts_with('/') {
        uri.push_str("file://");
    }
    let slashes_only_once =
        if path.starts_with('/') { format!("/{}", path.trim_start_matches('/')) } else { path };
    for byte in slashes_only_once.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte))
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn pascal(name: &str) -> String {
    name.split([' ', '-']).map(capitalised).collect()
}

/// How long a text is once it is compressed.
fn compressed(text: &str) -> usize {
    let mut encoder = flate2::write::GzEncoder::new(Counter(0), flate2::Compression::fast());
    // Counting does not fail.
    let _ = encoder.write_all(text.as_bytes());
    encoder.finish().map_or(usize::MAX, |counter| counter.0)
}

struct Counter(usize);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many(number: usize) -> Digest {
        let violation = |i: usize| {
            let block = json!({"begin_event": 0, "thread": "T", "label": format!("b{i}"), "site": "a.c:1"});
            json!({
                "strength": "observed", "block": block, "innermost": true, "transaction": block, "event": 1, "op": "w",
                "site": "a.c:2", "shape": "lost update", "witness": [], "fingerprint": format!("{i:016x}"), "count": 1,
                "events": [{"event": 0, "thread": "T", "op": "begin", "on": null, "site": "a.c:1", "block": block}],
            })
        };
        let violations: Vec<Value> = (0..number).map(violation).collect();
        let checker = json!({
            "name": "regiontrack", "kind": "observed", "serializable": false, "first_cycle_event": 1,
            "violations": violations, "stats": {}, "seconds": 0.0, "peak_bytes": 0,
        });
        let mut trace = json!({
            "trace": "t", "repaired": {}, "partial": false, "observed": true, "seconds": 0.0, "checkers": [checker],
        });
        let figures = [
            "events",
            "threads",
            "variables",
            "locks",
            "blocks",
            "outermost_blocks",
            "unary",
            "transactions",
            "repairs",
        ];
        figures.iter().for_each(|figure| trace[*figure] = json!(0));
        let report = json!({ "schema": crate::model::SCHEMA, "traces": [trace] });
        Digest::new(&crate::model::read(&report.to_string()).expect("a report"))
    }

    /// The number of results, that of those with code flows, and what is said.
    fn cut(number: usize, most: usize, largest: usize) -> (usize, usize, String) {
        let text = render_within(&many(number), &mut Sources::none(), most, largest);
        assert!(compressed(&text) <= largest);
        let log: Value = serde_json::from_str(&text).expect("JSON");
        let run = &log["runs"][0];
        let results = run["results"].as_array().expect("results");
        let flows = results.iter().filter(|result| result.get("codeFlows").is_some()).count();
        (results.len(), flows, run["invocations"][0]["toolExecutionNotifications"].to_string())
    }

    #[test]
    fn limits_are_kept_and_what_is_cut_is_told() {
        assert_eq!(cut(30, 30, LARGEST_UPLOAD), (30, 30, "[]".to_owned()));
        let (results, flows, said) = cut(31, 30, LARGEST_UPLOAD);
        assert_eq!((results, flows), (30, 30));
        assert!(said.contains("1 of 31 findings are left out"), "{said}");
        let whole = compressed(&render(&many(500), &mut Sources::none()));
        let (results, flows, said) = cut(500, 500, whole - 1);
        assert!(results == 500 && flows < 500, "{results} {flows}");
        assert!(said.contains("results have no code flows"), "{said}");
        let (results, flows, said) = cut(500, 500, whole / 3);
        assert!(results < 500 && flows == 0 && said.contains("are left out"), "{results} {flows} {said}");
    }

    #[test]
    fn a_path_is_never_another_kind_of_address() {
        assert_eq!(uri("src/a b.c"), "src/a%20b.c");
        assert_eq!(uri("/usr/a.c"), "file:///usr/a.c");
        assert_eq!(uri("//host/a.c"), "file:///host/a.c");
        assert_eq!(uri(r"C:\a.c"), "file:///C%3A/a.c");
        assert_eq!(uri("javascript:alert(1)"), "javascript%3Aalert%281%29");
        assert_eq!(uri("é"), "%C3%A9");
    }
}
