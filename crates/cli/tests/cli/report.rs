//! Renderings of reports: golden outputs for every shape, the same findings in every format, what is set aside; then hostile
//! names, many findings, and a look at the page with a browser's eyes.

pub(crate) mod browser;
mod hostile;
mod many;

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Files, LOST, UNBLAMED, atomvet, atomvet_with, trace};

const FORMATS: [(&str, &str); 7] = [
    ("json", "json"),
    ("text", "txt"),
    ("html", "html"),
    ("sarif", "sarif"),
    ("junit", "junit.xml"),
    ("dot", "dot"),
    ("perfetto", "perfetto.json"),
];

const DEADLOCK: &str = "T1|begin(a)|a.c:1 T1|acq(l)|a.c:2 T1|acq(m)|a.c:3 T1|rel(m)|a.c:4 T1|rel(l)|a.c:5 T1|end|a.c:6 \
     T2|begin(b)|a.c:7 T2|acq(m)|a.c:8 T2|acq(l)|a.c:9 T2|rel(l)|a.c:10 T2|rel(m)|a.c:11 T2|end|a.c:12";

const THREE_THREADS: &str = "T1|begin(first)|a.c:1 T1|w(x)|a.c:2 T2|begin(second)|a.c:3 T2|r(x)|a.c:4 T2|w(y)|a.c:5 T2|end|a.c:6 \
     T3|begin(third)|a.c:7 T3|r(y)|a.c:8 T3|w(z)|a.c:9 T3|end|a.c:10 T1|r(z)|a.c:11 T1|end|a.c:12";

pub(crate) fn corpus(name: &str) -> String {
    let path = format!("{}/../../tests/corpus/{name}.std", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the trace exists")
}

/// Every kind of story: its name, the trace, and the algorithm that tells it.
pub(crate) fn stories() -> Vec<(&'static str, String, &'static str)> {
    vec![
        ("lost_update", corpus("demo-bank"), "regiontrack"),
        ("non_repeatable_read", corpus("shape_non_repeatable_read"), "regiontrack"),
        ("dirty_read", corpus("shape_dirty_read"), "regiontrack"),
        ("write_skew", corpus("shape_write_skew"), "regiontrack"),
        ("three_threads", trace(THREE_THREADS), "regiontrack"),
        ("no_blame", trace(UNBLAMED), "regiontrack"),
        ("predicted_with_schedule", corpus("predict/vector_remove_all_elements"), "commit-node"),
        ("deadlock", trace(DEADLOCK), "deadlock"),
        ("suspected", corpus("predict/modcount"), "reduction"),
    ]
}

/// A report on a story, without what differs from run to run.
pub(crate) fn kept(text: &str, algorithm: &str) -> String {
    let arguments = ["check", "--format", "json", "--algo", algorithm, "-"];
    let mut report = atomvet_with(&arguments, text.as_bytes()).ends_with(1).json();
    for entry in report["traces"].as_array_mut().expect("an array") {
        entry["seconds"] = json!(0.5);
        for checker in entry["checkers"].as_array_mut().expect("an array") {
            checker["seconds"] = json!(0.25);
            checker["peak_bytes"] = json!(0);
        }
    }
    serde_json::to_string(&report).expect("it was JSON before")
}

fn rendered(report: &str, format: &str) -> String {
    atomvet_with(&["report", "--format", format, "-"], report.as_bytes()).ends_with(0).out
}

/// What a golden file holds: the parts that speak of the findings.
fn told(text: &str, format: &str) -> String {
    match format {
        "html" => {
            let data: Value = serde_json::from_str(&data_of(text)).expect("the data is JSON");
            let shown =
                ["strings", "sites", "findings", "strengths", "source"].map(|name| (name, &data[name]));
            let shown: Vec<String> = shown.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
            let body =
                text.split("</style>").nth(1).and_then(|rest| rest.split("<script").next()).expect("a body");
            format!("{body}{}", shown.concat()).replace(env!("CARGO_PKG_VERSION"), "VERSION")
        }
        "sarif" => {
            let log: Value = serde_json::from_str(text).expect("SARIF is JSON");
            let run = &log["runs"][0];
            let told = json!({"invocations": run["invocations"], "results": run["results"]});
            serde_json::to_string_pretty(&told).expect("it was JSON before")
        }
        _ => text.to_owned(),
    }
}

/// The data block of a page, unpacked.
fn data_of(page: &str) -> String {
    let (kind, data) = page.split_once(" id=\"data\">").expect("the page has data");
    let data = data.split("</script>").next().expect("it ends");
    if kind.ends_with("<script type=\"application/json\"") {
        return data.to_owned();
    }
    assert!(kind.ends_with("<script type=\"application/gzip\""));
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for four in data.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = (0..4).fold(0, |bits, i| bits << 6 | u32::from(four.get(i).copied().map_or(0, digit)));
        bytes.extend(&bits.to_be_bytes()[1..four.len()]);
    }
    let mut text = String::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("it is compressed text");
    text
}

/// Findings that do not count for every reason there is, and one that does.
fn set_aside() -> String {
    let stories = stories();
    let mut report: Value = serde_json::from_str(&kept(&stories[0].1, stories[0].2)).expect("JSON");
    for (_, text, algorithm) in [1, 2, 4, 5].map(|story| &stories[story]) {
        let mut other: Value = serde_json::from_str(&kept(text, algorithm)).expect("JSON");
        let traces = report["traces"].as_array_mut().expect("an array");
        traces.push(other["traces"][0].take());
    }
    let entry = |trace: &mut Value| trace["checkers"][0]["violations"][0].take();
    let mut mark = |trace: usize, name: &str, why: Value| {
        let mut violation = entry(&mut report["traces"][trace]);
        violation[name] = why;
        report["traces"][trace]["checkers"][0]["violations"][0] = violation;
    };
    mark(1, "suppression", json!({"by": "atomvet.toml:12", "reason": "a <hint> only; see issue 7"}));
    mark(2, "suppression", json!({"by": "baseline", "reason": ""}));
    mark(
        3,
        "idiom",
        json!({"name": "double-checked", "meaning": "the read is checked again", "accesses": [1]}),
    );
    report["set_aside"] = json!({
        "suppressed": 1, "in_baseline": 1, "by_idiom": {"double-checked": 1}, "baseline_not_found": 2,
        "unused_suppressions": [{"at": "atomvet.toml:20", "what": "block = \"gone\"", "reason": "was slow"}],
    });
    report.to_string()
}

#[test]
fn every_rendering_of_every_story_is_as_it_was() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut different = Vec::new();
    let mut reports: Vec<(&str, String)> =
        stories().into_iter().map(|(name, text, algorithm)| (name, kept(&text, algorithm))).collect();
    reports.push(("set_aside", set_aside()));
    for (name, report) in reports {
        for (format, extension) in FORMATS {
            let path = folder.join(format!("{name}.{extension}"));
            let now = told(&rendered(&report, format), format);
            if std::env::var_os("BLESS").is_some() {
                std::fs::create_dir_all(&folder).expect("made");
                std::fs::write(&path, &now).expect("written");
            } else if std::fs::read_to_string(&path).ok().as_deref() != Some(&now) {
                different.push(path);
            }
        }
    }
    assert!(different.is_empty(), "look at these, then run with BLESS=1: {different:?}");
}

/// Runs of 16 hexadecimal digits: fingerprints, wherever they are.
fn fingerprints(text: &str) -> BTreeSet<String> {
    let data = if text.contains("id=\"data\"") { data_of(text) } else { String::new() };
    let plain = text.split("id=\"data\"").next().unwrap_or_default();
    let words = plain
        .split(|c: char| !c.is_ascii_alphanumeric())
        .chain(data.split(|c: char| !c.is_ascii_alphanumeric()));
    let is = |word: &&str| word.len() == 16 && word.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    words.filter(is).map(str::to_owned).collect()
}

#[test]
fn every_rendering_carries_the_same_fingerprints() {
    let mut all: Vec<String> = stories().into_iter().map(|(_, text, _)| text).collect();
    all.push(trace("T1|w(x)|a.c:1 T2|begin(b)|a.c:2 T2|w(x)|a.c:3 T2|end|a.c:4"));
    let files = Files::new(&[]);
    let paths: Vec<String> =
        all.iter().enumerate().map(|(i, text)| files.add(&format!("{i}.std"), text.as_bytes())).collect();
    let arguments = ["check", "--format", "json", "--algo", "all"];
    let arguments: Vec<&str> = arguments.into_iter().chain(paths.iter().map(String::as_str)).collect();
    // The status is another test's concern.
    let report = atomvet(&arguments).out;
    let expected = fingerprints(&report);
    assert!(expected.len() > 12, "{expected:?}");
    for (format, _) in FORMATS {
        assert_eq!(fingerprints(&rendered(&report, format)), expected, "{format}");
    }
    let report = set_aside();
    for (format, _) in FORMATS {
        assert_eq!(fingerprints(&rendered(&report, format)), fingerprints(&report), "{format}");
    }
}

#[test]
fn what_is_set_aside_is_told_and_does_not_fail() {
    let report = set_aside();
    let log: Value = serde_json::from_str(&rendered(&report, "sarif")).expect("JSON");
    let results = log["runs"][0]["results"].as_array().expect("results");
    let said: Vec<&Value> =
        results.iter().map(|result| &result["suppressions"][0]["justification"]).collect();
    assert!(said[0].is_null() && said[1].is_null(), "{said:?}");
    assert_eq!(said[2], "suppressed by atomvet.toml:12: a <hint> only; see issue 7");
    assert_eq!(said[3], "in the baseline");
    assert_eq!(said[4], "benign by the idiom double-checked: the read is checked again");
    let junit = rendered(&report, "junit");
    let number = |name: &str| junit.matches(&format!("<{name}")).count();
    assert_eq!((number("failure "), number("skipped ")), (2, 3), "{junit}");
    let first = junit.lines().nth(1).expect("a line");
    assert_eq!(
        first,
        format!(
            "<testsuites name=\"atomvet\" tests=\"{}\" failures=\"2\" errors=\"0\" skipped=\"3\">",
            number("testcase ")
        )
    );
    let page = rendered(&report, "html");
    assert!(page.contains("<title>atomvet: 2 findings, and 3 set aside</title>"));
    assert!(page.contains("No finding needed the suppression at atomvet.toml:20"), "{page}");
    assert!(rendered(&report, "dot").matches("style=dashed").count() == 3);
}

#[test]
fn junit_has_a_passing_case_per_clean_block() {
    let text = format!("{}{}", trace(LOST), trace("T1|begin(fine)|9 T1|end|9 T2|begin(fine)|9 T2|end|9"));
    let report = kept(&text, "regiontrack");
    let value: Value = serde_json::from_str(&report).expect("JSON");
    let entered = json!([
        {"block": "deposit", "executions": 1, "violated": 1, "predicted": 0},
        {"block": "fine", "executions": 2, "violated": 0, "predicted": 0},
        {"block": "withdraw", "executions": 1, "violated": 0, "predicted": 0},
    ]);
    assert_eq!(value["traces"][0]["entered"], entered);
    let junit = rendered(&report, "junit");
    assert!(junit.contains("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"0\""), "{junit}");
    assert!(
        junit.contains("name=\"fine\">\n      <system-out>entered 2 times, and no violation was found"),
        "{junit}"
    );
    assert!(!junit.contains("name=\"deposit\""), "{junit}");
}

#[test]
fn what_plays_no_part_is_counted_and_told() {
    let words = "T1|begin(b)|1 T1|r(p)|2 T1|r(x)|3 T2|w(x)|4 T1|r(q1)|5 T1|r(q2)|6 T1|r(q3)|7 T1|r(q4)|8 T1|r(q5)|9 \
         T1|r(q6)|10 T1|r(q7)|11 T1|r(x)|12 T1|end|13";
    let value: Value = serde_json::from_str(&kept(&trace(words), "regiontrack")).expect("JSON");
    let events =
        value["traces"][0]["checkers"][0]["violations"][0]["events"].as_array().expect("events").clone();
    let told: Vec<(u64, u64, usize)> = events
        .iter()
        .map(|event| {
            let number = |name: &str| event[name].as_u64().unwrap_or(0);
            (number("event"), number("skipped"), event["before"].as_array().map_or(0, Vec::len))
        })
        .collect();
    assert_eq!(told, [(0, 0, 0), (2, 1, 1), (3, 0, 0), (11, 7, 6)]);
    assert_eq!(events[3]["before"][0], json!({"event": 5, "op": "r", "on": "q2", "site": "6"}));
}

#[test]
fn a_report_of_a_program_that_was_run_can_be_rendered() {
    let mut report: Value = serde_json::from_str(&kept(&trace(LOST), "regiontrack")).expect("JSON");
    report["traces"][0]["program"] = json!({"process": 7, "ended": "with status 3", "modules": ["a", "b"]});
    let report = report.to_string();
    for (format, _) in FORMATS {
        assert_eq!(fingerprints(&rendered(&report, format)), fingerprints(&report), "{format}");
    }
    assert!(rendered(&report, "json").contains("with status 3"));
}

#[test]
fn a_kept_report_is_written_again_as_it_was() {
    for (_, text, algorithm) in stories() {
        let arguments = ["check", "--format", "json", "--serial-order", "--algo", algorithm, "-"];
        let report = atomvet_with(&arguments, text.as_bytes()).ends_with(1).out;
        assert_eq!(rendered(&report, "json"), report);
    }
}

#[test]
fn several_formats_go_to_files_of_one_name_and_text_to_standard_output() {
    let files = Files::new(&[("lost.std", &trace(LOST))]);
    let (path, base) = (files.at("lost.std"), files.at("out"));
    let run =
        atomvet(&["check", "--format", "text", "--format", "html", "--format", "junit", "-o", &base, &path]);
    run.ends_with(1).prints("1. deposit is not atomic (observed)");
    let there = |name: &str| std::fs::read_to_string(files.path(name)).expect(name);
    assert!(there("out.html").starts_with("<!DOCTYPE html>") && there("out.junit.xml").starts_with("<?xml"));
    atomvet(&["check", "--format", "sarif", "-o", &files.at("one"), &path]).ends_with(1);
    assert!(there("one").contains("\"2.1.0\""));
    atomvet(&["check", "--format", "html", "--format", "sarif", &path])
        .ends_with(2)
        .complains("give -o NAME");
    atomvet(&["check", "--format", "pdf", &path]).ends_with(2).complains("possible values: text, json, html");
    atomvet(&["report", "--format", "html", &path]).ends_with(2).complains("is not a report");
    atomvet(&["report", "--format", "html", &files.at("none")]).ends_with(2).complains("cannot be read");
    let no = files.at("nowhere");
    atomvet(&["check", "--format", "html", "--source-root", &no, &path])
        .ends_with(2)
        .complains("--source-root");
    for (text, problem) in [
        (r#"{"schema": "atomvet-report/2", "traces": []}"#, "only atomvet-report/1 can be rendered"),
        (r#"{"schema": "atomvet-report/1"}"#, "missing field `traces`"),
        (r#"{"schema": "atomvet-report/1", "traces": [{"trace": "t"}]}"#, "t: missing field"),
        ("[]", "is not a report"),
    ] {
        atomvet_with(&["report", "--format", "html", "-"], text.as_bytes()).ends_with(2).complains(problem);
    }
}

/// The rules of SARIF 2.1.0 for what we write: required properties, enumerations, indices, and GitHub's limits.
#[test]
fn sarif_keeps_the_rules() {
    for (_, text, algorithm) in stories() {
        let log: Value = serde_json::from_str(&rendered(&kept(&text, algorithm), "sarif")).expect("JSON");
        assert_eq!((&log["version"], log["runs"].as_array().map(Vec::len)), (&json!("2.1.0"), Some(1)));
        let run = &log["runs"][0];
        let driver = &run["tool"]["driver"];
        assert_eq!(driver["name"], "atomvet");
        let rules = driver["rules"].as_array().expect("rules");
        let ids: BTreeSet<&str> = rules.iter().map(|rule| rule["id"].as_str().expect("an id")).collect();
        assert_eq!(ids.len(), rules.len());
        for rule in rules {
            assert!(rule["shortDescription"]["text"].as_str().is_some_and(|text| text.len() > 4), "{rule}");
            assert!(rule["fullDescription"]["text"].is_string() && rule["help"]["text"].is_string());
            assert!(
                rule["name"].as_str().is_some_and(|name| name.chars().all(char::is_alphanumeric)),
                "{rule}"
            );
        }
        assert_eq!(run["invocations"][0]["executionSuccessful"], true);
        known_properties(&log, "log");
        let results = run["results"].as_array().expect("results");
        assert!(!results.is_empty());
        for result in results {
            let index = result["ruleIndex"].as_u64().expect("an index") as usize;
            assert_eq!(rules[index]["id"], result["ruleId"]);
            assert!(matches!(result["level"].as_str(), Some("error" | "warning" | "note")));
            assert_eq!(result["kind"], "fail");
            assert!(result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()));
            assert_eq!(
                result["partialFingerprints"]["atomvetFingerprint/v1"].as_str().map(str::len),
                Some(16)
            );
            let flows = result["codeFlows"][0]["threadFlows"].as_array().expect("thread flows");
            let mut order: Vec<u64> = Vec::new();
            for flow in flows {
                assert!(flow["id"].is_string());
                let locations = flow["locations"].as_array().expect("locations");
                assert!(!locations.is_empty());
                order.extend(
                    locations.iter().map(|location| location["executionOrder"].as_u64().expect("a number")),
                );
                for location in locations {
                    let physical = &location["location"]["physicalLocation"];
                    assert!(physical.is_null() || physical["region"]["startLine"].as_u64() > Some(0));
                }
            }
            order.sort_unstable();
            // Nothing orders the accesses of a race.
            let ordered = result["ruleId"] != "data-race";
            let expected = (1..=order.len() as u64).map(|place| if ordered { place } else { 1 });
            assert_eq!(order, expected.collect::<Vec<_>>());
        }
    }
}

/// The properties that the standard gives to an object, as far as we use them, and what kind of object each of them is; `-`
/// is no object, or one that may have any properties.
const PROPERTIES: &[(&str, &str)] = &[
    ("log", "$schema:- version:- runs:run"),
    ("run", "tool:tool columnKind:- invocations:invocation results:result"),
    ("tool", "driver:driver"),
    ("driver", "name:- semanticVersion:- rules:rule"),
    (
        "rule",
        "id:- name:- shortDescription:text fullDescription:text help:text defaultConfiguration:configuration properties:-",
    ),
    ("text", "text:- markdown:-"),
    ("configuration", "level:-"),
    ("invocation", "executionSuccessful:- toolExecutionNotifications:notification"),
    ("notification", "level:- message:text"),
    (
        "result",
        "ruleId:- ruleIndex:- level:- kind:- message:text locations:location relatedLocations:location codeFlows:codeFlow \
         partialFingerprints:- occurrenceCount:- suppressions:suppression properties:-",
    ),
    ("suppression", "kind:- status:- justification:-"),
    ("location", "id:- physicalLocation:physical logicalLocations:logical message:text"),
    ("physical", "artifactLocation:artifact region:region"),
    ("artifact", "uri:-"),
    ("region", "startLine:-"),
    ("logical", "name:- kind:-"),
    ("codeFlow", "message:text threadFlows:threadFlow"),
    ("threadFlow", "id:- locations:flowLocation"),
    ("flowLocation", "location:location executionOrder:- importance:-"),
];

fn known_properties(value: &Value, kind: &str) {
    let known = PROPERTIES.iter().find(|(name, _)| *name == kind).map_or("", |(_, known)| *known);
    match value {
        Value::Array(items) => items.iter().for_each(|item| known_properties(item, kind)),
        Value::Object(fields) if kind != "-" => {
            for (name, field) in fields {
                let inner =
                    known.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
                known_properties(field, inner.unwrap_or_else(|| panic!("{kind} has no {name}")));
            }
        }
        _ => {}
    }
}

#[test]
fn sarif_names_files_below_the_source_root_relative_to_it() {
    let files = Files::new(&[("b.c", "int x;\n")]);
    let root = files.at("");
    let text = trace(LOST).replace("b.c", &files.at("b.c"));
    let uris = |root: &str| {
        let arguments = ["check", "--format", "sarif", "--source-root", root, "-"];
        let log = atomvet_with(&arguments, text.as_bytes()).ends_with(1).json();
        log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].clone()
    };
    assert_eq!(uris(&root), "b.c");
    let other = Files::new(&[]);
    assert!(
        uris(&other.at("")).as_str().is_some_and(|uri| uri.starts_with("file:///") && uri.ends_with("/b.c"))
    );
}
