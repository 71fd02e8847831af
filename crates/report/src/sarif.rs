//! SARIF 2.1.0, for code scanning. Rules with help, a result per finding with a thread flow per thread, and partial
//! fingerprints that do not change with lines of unrelated code. What was set aside is there too, as suppressed.
//!
//! GitHub takes 25,000 results in a run (and shows 5,000), 1,000 locations of thread flows and 100 related locations in a
//! result, and 10 MB after compression. What is more than that is cut, the least grave first, and a notification says so.
//!
//! A result is one line, so that two logs can be compared; indented, 5,000 results took 34 MB instead of 17.

mod log;

use std::collections::HashMap;
use std::io::Write;

use serde_json::{Value, json};

use self::log::{
    ArtifactLocation, CodeFlow, Location, LogicalLocation, Message, PartialFingerprints, PhysicalLocation,
    Properties, Region, SarifResult, Suppression, ThreadFlow, ThreadFlowLocation,
};
use crate::digest::Digest;
use crate::finding::{Aside, Finding, Level, Site};
use crate::rules::{self, Rule};
use crate::sources::Sources;
use crate::words::capitalised;

/// Results in a run.
const MOST_RESULTS: usize = 25_000;
/// Locations in the code flows of a result.
const MOST_FLOW_LOCATIONS: usize = 1_000;
/// Related locations of a result.
const MOST_RELATED: usize = 100;
/// Bytes of a compressed upload, with a reserve for the reader's other compressor.
const LARGEST_UPLOAD: usize = 9_500_000;

/// The report as SARIF.
pub fn render(digest: &Digest, sources: &mut Sources) -> String {
    render_within(digest, sources, MOST_RESULTS, LARGEST_UPLOAD)
}

fn render_within(digest: &Digest, sources: &mut Sources, most: usize, largest: usize) -> String {
    let rules = rules::all();
    let paths = Paths::new(digest, sources);
    let line = |finding: &Finding, flows: Flows| {
        // These types have string keys only and no failing serializers, so this does not fail.
        serde_json::to_string(&Telling::new(finding, &paths).result(&rules, flows)).unwrap_or_default()
    };
    // The gravest come first, so the least grave are cut.
    let kept = digest.findings.len().min(most);
    let mut results: Vec<String> =
        digest.findings[..kept].iter().map(|finding| line(finding, Flows::Shown)).collect();
    // A half of the code flows at a time, then a half of the results, until it fits.
    let mut flows = kept;
    loop {
        let text = log(digest, &rules, &results, flows);
        let smallest = results.is_empty() || text.len() <= largest;
        if smallest || compressed(&text) <= largest {
            return text;
        }
        if flows > 0 {
            let half = flows / 2;
            for (result, finding) in results.iter_mut().zip(&digest.findings).take(flows).skip(half) {
                *result = line(finding, Flows::Cut);
            }
            flows = half;
        } else {
            results.truncate(results.len() / 2);
        }
    }
}

/// Whether a result has code flows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flows {
    Shown,
    Cut,
}

/// The log around the results, the first `flows` of which have code flows.
fn log(digest: &Digest, rules: &[Rule], results: &[String], flows: usize) -> String {
    let broken = digest.traces.iter().any(|trace| trace.error.is_some());
    let run = json!({
        "tool": { "driver": {
            "name": "atomvet",
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "rules": rules.iter().map(rule).collect::<Vec<_>>(),
        }},
        "columnKind": "unicodeCodePoints",
        "invocations": [{
            "executionSuccessful": !broken,
            "toolExecutionNotifications": notifications(digest, results.len(), flows),
        }],
    });
    let run = run.to_string();
    let mut text =
        String::with_capacity(run.len() + 200 + results.iter().map(|r| r.len() + 2).sum::<usize>());
    text.push_str(
        "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[\n",
    );
    text.push_str(run.strip_suffix('}').unwrap_or(&run));
    text.push_str(",\"results\":[\n");
    for (i, result) in results.iter().enumerate() {
        text.push_str(if i == 0 { "" } else { ",\n" });
        text.push_str(result);
    }
    text.push_str("\n]}]}\n");
    text
}

fn notifications(digest: &Digest, number: usize, flows: usize) -> Vec<Value> {
    let mut said: Vec<(&str, String)> = Vec::new();
    let all = digest.findings.len();
    if number < all {
        said.push(("warning", format!(
            "{} of {all} findings are left out, the least grave ones, to keep the limits of code scanning; the JSON report has all of them",
            all - number
        )));
    }
    if flows < number {
        said.push(("warning", format!(
            "{} of {number} results have no code flows, to keep the limits of code scanning; the JSON report has all of them",
            number - flows
        )));
    }
    for trace in &digest.traces {
        said.extend(trace.error.iter().map(|error| ("error", error.clone())));
        said.extend(trace.warnings.iter().map(|warning| ("warning", format!("{}: {warning}", trace.name))));
    }
    said.extend(digest.remarks.iter().map(|remark| ("note", remark.clone())));
    said.into_iter().map(|(level, text)| json!({ "level": level, "message": { "text": text } })).collect()
}

fn rule(rule: &Rule) -> Value {
    let (level, weakness) = match rule.id.as_str() {
        "data-race" => (Level::Note, "366"),
        "not-reducible" => (Level::Note, "362"),
        "potential-deadlock" => (Level::Warning, "833"),
        _ => (Level::Error, "362"),
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
            "tags": ["concurrency", "atomicity", format!("external/cwe/cwe-{weakness}")],
            "precision": if level == Level::Error { "very-high" } else { "medium" },
            "problem.severity": match level { Level::Error => "error", Level::Warning => "warning", Level::Note => "recommendation" },
        },
    })
}

/// The texts of a result, which the result borrows.
struct Telling<'a> {
    finding: &'a Finding,
    paths: &'a Paths,
    message: String,
    /// Per row of the scene.
    rows: Vec<String>,
    justification: Option<String>,
}

impl<'a> Telling<'a> {
    fn new(finding: &'a Finding, paths: &'a Paths) -> Telling<'a> {
        let mut message = format!(
            "{} ({}). {}: {}.",
            finding.title,
            finding.sure(),
            capitalised(finding.rule.name),
            finding.meaning
        );
        for line in finding.reasons.iter().chain(Some(&finding.conclusion)).filter(|line| !line.is_empty()) {
            message.push(' ');
            message.push_str(line);
        }
        message.push_str(" Remedy: ");
        message.push_str(&finding.remedy);
        message.push('.');
        let scene = &finding.scene;
        let told = scene.rows.iter().take(MOST_FLOW_LOCATIONS).map(|row| {
            let thread = scene.threads.get(row.thread).map_or("", String::as_str);
            format!("thread {thread} {} (event {})", row.what, row.event)
        });
        let rows = told.collect();
        Telling { finding, paths, message, rows, justification: finding.aside.as_ref().map(Aside::line) }
    }

    fn result(&self, rules: &'a [Rule], flows: Flows) -> SarifResult<'_> {
        let finding = self.finding;
        // A finding without a place of its own is shown at its first event that has one.
        let mut places =
            finding.site.iter().chain(finding.scene.rows.iter().filter_map(|row| row.site.as_ref()));
        let kind = match finding.rule.id.as_str() {
            "data-race" | "potential-deadlock" => "variable",
            _ => "function",
        };
        let place = Location {
            id: None,
            physical_location: places.find_map(|site| self.paths.physical(site)),
            logical_locations: Some([LogicalLocation { name: &finding.subject, kind }]),
            message: None,
        };
        let related =
            (finding.scene.rows.iter().zip(&self.rows).enumerate()).filter_map(|(i, (row, told))| {
                let physical = self.paths.physical(row.site.as_ref()?)?;
                Some(Location { id: Some(i), ..at(Some(physical), told) })
            });
        SarifResult {
            rule_id: &finding.rule.id,
            rule_index: rules.iter().position(|rule| rule.id == finding.rule.id).unwrap_or(0),
            level: word(finding.level),
            kind: "fail",
            message: Message { text: &self.message },
            locations: [place],
            partial_fingerprints: PartialFingerprints { fingerprint: &finding.fingerprint },
            occurrence_count: finding.count.max(1),
            suppressions: self
                .justification
                .as_deref()
                .map(|justification| [Suppression { kind: "external", status: "accepted", justification }]),
            properties: Properties {
                strength: &finding.strength,
                algorithms: &finding.checkers,
                variables: &finding.variables,
            },
            related_locations: related.take(MOST_RELATED).collect(),
            code_flows: (flows == Flows::Shown && !self.rows.is_empty()).then(|| [self.code_flow()]),
        }
    }

    fn code_flow(&self) -> CodeFlow<'_> {
        let scene = &self.finding.scene;
        let flows = scene.threads.iter().enumerate().map(|(column, thread)| {
            let rows = scene.rows.iter().zip(&self.rows).enumerate();
            let locations = rows.filter(|(_, (row, _))| row.thread == column).map(|(order, (row, told))| {
                let physical = row.site.as_ref().and_then(|site| self.paths.physical(site));
                ThreadFlowLocation {
                    location: at(physical, told),
                    // What nothing orders has the same place in the order.
                    execution_order: if self.finding.is_ordered() { order + 1 } else { 1 },
                    importance: "essential",
                }
            });
            ThreadFlow { id: format!("thread {thread}"), locations: locations.collect() }
        });
        let told = Some(&self.finding.conclusion).filter(|text| !text.is_empty());
        CodeFlow {
            message: Message { text: told.unwrap_or(&self.finding.title) },
            thread_flows: flows.filter(|flow| !flow.locations.is_empty()).collect(),
        }
    }
}

fn at<'a>(physical_location: Option<PhysicalLocation<'a>>, told: &'a str) -> Location<'a> {
    Location { id: None, physical_location, logical_locations: None, message: Some(Message { text: told }) }
}

/// The files of a report as references.
struct Paths(HashMap<String, String>);

impl Paths {
    fn new(digest: &Digest, sources: &mut Sources) -> Paths {
        let mut paths = HashMap::new();
        for file in digest.findings.iter().flat_map(Finding::files) {
            if !paths.contains_key(file) {
                let below = sources.relative(file).map(|below| below.to_string_lossy().into_owned());
                paths.insert(file.to_owned(), uri(below.as_deref().unwrap_or(file)));
            }
        }
        Paths(paths)
    }

    fn physical(&self, site: &Site) -> Option<PhysicalLocation<'_>> {
        let uri = self.0.get(site.file.as_deref()?)?;
        let region = site.line.map(|start_line| Region { start_line });
        Some(PhysicalLocation { artifact_location: ArtifactLocation { uri }, region })
    }
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
