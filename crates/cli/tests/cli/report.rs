//! Renderings of reports: golden outputs for every shape, the same findings in every format, hostile names, many findings,
//! and a look at the page with a browser's eyes.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

pub(crate) fn rendered(report: &str, format: &str) -> String {
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

#[test]
fn every_rendering_of_every_story_is_as_it_was() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut different = Vec::new();
    for (name, text, algorithm) in stories() {
        let report = kept(&text, algorithm);
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
pub(crate) fn fingerprints(text: &str) -> BTreeSet<String> {
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
    let arguments = ["check", "--format", "json", "--algo", "all,predictive"];
    let arguments: Vec<&str> = arguments.into_iter().chain(paths.iter().map(String::as_str)).collect();
    // The status is another test's concern.
    let report = atomvet(&arguments).out;
    let expected = fingerprints(&report);
    assert!(expected.len() > 12, "{expected:?}");
    for (format, _) in FORMATS {
        assert_eq!(fingerprints(&rendered(&report, format)), expected, "{format}");
    }
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
            assert_eq!(order, (1..=order.len() as u64).collect::<Vec<_>>());
        }
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

const HOSTILE: [&str; 7] = [
    "<script>alert(1)</script>",
    "</script><img_src=x_onerror=alert(2)>",
    "\"'`&<!--]]>{{7*7}}${7*7}",
    "\u{1b}[31mred\u{7}\u{202e}txet",
    "a\\\"];evil[label=\"x",
    "javascript:alert(1)//",
    "%00%0d%0a..%2f..",
];

#[test]
fn hostile_names_are_text_in_every_rendering() {
    let long = "L".repeat(10_000);
    let mut names: Vec<String> = HOSTILE.iter().map(|&name| name.to_owned()).collect();
    names.push(long);
    let files = Files::new(&[("secret.c", "the secret\n")]);
    std::fs::create_dir(files.path("root")).expect("made");
    for name in &names {
        let name = name.replace(['(', ')', '|'], "!");
        for site in [format!("{name}:1"), "../secret.c:1".to_owned(), format!("{}:1", files.at("secret.c"))] {
            let text = trace(LOST).replace("deposit", &name).replace("T1", &format!("{name}1"));
            let text =
                text.replace("(x)", &format!("({name})")).replace("b.c:12", &site).replace("b.c:10", &site);
            let report = atomvet_with(&["check", "--format", "json", "-"], text.as_bytes());
            if report.status == Some(2) {
                // The text format itself refuses some names; a report may still be made by hand.
                continue;
            }
            for (format, _) in &FORMATS[1..] {
                let root = files.at("root");
                let arguments = ["report", "--format", format, "--source-root", &root, "-"];
                let shown = atomvet_with(&arguments, report.out.as_bytes()).ends_with(0).out;
                assert!(!shown.contains("the secret"), "{format}");
                assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{format}");
                assert!(shown.len() < 60_000, "{format} has {} bytes", shown.len());
                well_formed(&shown, format);
            }
        }
    }
}

/// What a reader of the format would trip over.
fn well_formed(text: &str, format: &str) {
    match format {
        "html" => {
            let scripts = text.matches("<script").count();
            assert_eq!((scripts, text.matches("</script").count()), (2, 2));
            assert!(!text.contains("<img") && !text.contains("<!--"));
            serde_json::from_str::<Value>(&data_of(text)).expect("the data is JSON");
        }
        "sarif" | "perfetto" => {
            let value: Value = serde_json::from_str(text).expect("JSON");
            let uri = &value["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
                ["uri"];
            let plain = |c: char| c.is_ascii_alphanumeric() || "-._~/%".contains(c);
            let uri = uri.as_str().unwrap_or("");
            assert!(uri.strip_prefix("file:").unwrap_or(uri).chars().all(plain), "{uri}");
        }
        "text" => {
            let wide = text.lines().find(|line| line.chars().count() > 100);
            assert_eq!(wide, None);
        }
        "junit" => xml(text),
        "dot" => quotes_match(text),
        other => panic!("{other}"),
    }
}

/// Tags match, and nothing else looks like one.
fn xml(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    for part in text.split('<').skip(1) {
        let (tag, _) = part.split_once('>').expect("a tag ends");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.split([' ', '/', '?']).find(|word| !word.is_empty()).expect("a name");
        match () {
            () if tag.starts_with('?') || tag.ends_with('/') => {}
            () if tag.starts_with('/') => assert_eq!(open.pop(), Some(name)),
            () => open.push(name),
        }
        assert!(
            ["xml", "testsuites", "testsuite", "testcase", "failure", "system-out", "skipped", "error"]
                .contains(&name),
            "{name}"
        );
    }
    assert!(open.is_empty());
    for reference in text.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "quot;", "apos;"];
        assert!(known.iter().any(|known| reference.starts_with(known)), "{reference}");
    }
}

/// Outside of strings, a graph has only what we write.
fn quotes_match(text: &str) {
    let (mut inside, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            c if !inside => {
                assert!(c.is_ascii_alphanumeric() || " \n{}[]=,;_->#\"".contains(c), "{c:?} in {text}")
            }
            _ => {}
        }
    }
    assert!(!inside);
}

#[test]
fn an_unknown_report_may_hold_anything() {
    // A report may be made by hand, with what no trace could hold.
    let report = kept(&trace(LOST), "regiontrack");
    for name in HOSTILE {
        let quoted = serde_json::to_string(name).expect("a string");
        let quoted = &quoted[1..quoted.len() - 1];
        let mut value: Value = serde_json::from_str(&report.replace("deposit", quoted)).expect("JSON");
        value["traces"][0]["trace"] = name.into();
        let violation = &mut value["traces"][0]["checkers"][0]["violations"][0];
        for field in ["strength", "shape", "fingerprint", "op"] {
            violation[field] = name.into();
        }
        violation["witness"][0]["because"] = name.into();
        violation["witness"][1]["from"] = json!(u64::MAX);
        for (format, _) in &FORMATS[1..] {
            let shown = rendered(&value.to_string(), format);
            assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{format}");
            well_formed(&shown, format);
        }
    }
}

/// A trace with so many different mistakes.
pub(crate) fn many(number: usize) -> String {
    let mut text = String::new();
    for i in 0..number {
        text.push_str(
            &trace(LOST)
                .replace("deposit", &format!("Account.deposit_{i}"))
                .replace("b.c", &format!("src/bank_{}.c", i / 50))
                .replace("(x)", &format!("(account[{i}].balance)")),
        );
    }
    text
}

#[test]
fn five_thousand_findings_make_a_page_below_five_megabytes_and_sarif_that_github_takes() {
    let report = atomvet_with(&["check", "--format", "json", "-"], many(5000).as_bytes()).ends_with(1).out;
    let expected = fingerprints(&report);
    assert_eq!(expected.len(), 5000);
    for (format, _) in FORMATS {
        assert_eq!(fingerprints(&rendered(&report, format)), expected, "{format}");
    }
    let page = rendered(&report, "html");
    assert!(page.len() < 5_000_000 && !page.contains("To keep this file small"), "{}", page.len());
    let log: Value = serde_json::from_str(&rendered(&report, "sarif")).expect("JSON");
    assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), Some(5000));
}

#[test]
fn what_is_folded_is_counted() {
    // Long names that nothing compresses make a large page.
    let mut seed = 7_u64;
    let mut noise = || {
        let mut text = String::new();
        while text.len() < 90 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            text.push_str(&format!("{:x}", seed >> 8));
        }
        text
    };
    let text: String = (0..30_000)
        .map(|_| trace(LOST).replace("deposit", &noise()).replace("(x)", &format!("({})", noise())))
        .collect();
    let report = atomvet_with(&["check", "--format", "json", "-"], text.as_bytes()).ends_with(1).out;
    let page = rendered(&report, "html");
    assert!(page.len() < 5_000_000, "{}", page.len());
    assert!(page.contains("To keep this file small"), "{}", page.len());
}

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|candidate| candidate.is_file())
}

/// Opens a page, lets a script use it, and returns what that says.
fn used(browser: &Path, page: &str, script: &str) -> Value {
    let files = Files::new(&[]);
    // The script stands for a user; it is added to the page because nothing else can be.
    let page = page.replace("</body>", &format!("<script>{script}</script></body>"));
    let path = files.add("page.html", page.as_bytes());
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=10000"])
        .arg(format!("--user-data-dir={}", files.at("profile")))
        .arg(format!("file://{path}"))
        .stderr(Stdio::null())
        .output()
        .expect("the browser runs");
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = dom.split("<pre id=\"said\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    let said = said.unwrap_or_else(|| panic!("the script did not end: {}", &dom[..dom.len().min(2000)]));
    serde_json::from_str(&said.replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")).expect("JSON")
}

const USER: &str = r##"
function use() {
const said = { errors: [] };
addEventListener("error", e => said.errors.push(String(e.message)));
const rows = () => document.querySelectorAll("table.overview > tbody > tr:not(.detail)").length;
const first = () => document.querySelector(".open").textContent;
said.rows = rows(); said.first = first();
const heads = [...document.querySelectorAll("table.overview > thead th")];
heads[0].querySelector("button").click(); heads[0].querySelector("button").click();
said.sort = heads[0].getAttribute("aria-sort"); said.last = first();
const input = document.getElementById("filter-variable");
input.value = "[17]"; input.dispatchEvent(new Event("input"));
said.filtered = rows(); said.found = first();
input.value = ""; input.dispatchEvent(new Event("input"));
document.querySelector(".open").click();
said.expanded = document.querySelector(".open").getAttribute("aria-expanded");
said.svg = document.querySelectorAll("article svg .dot").length; said.arrows = document.querySelectorAll("article svg .arrow").length;
const pre = document.createElement("pre"); pre.id = "said"; pre.textContent = JSON.stringify(said); document.body.append(pre);
}
// The data is unpacked a moment after the page is there.
(function wait() { document.querySelector(".open") ? use() : setTimeout(wait, 10); })();
"##;

#[test]
fn a_browser_sorts_filters_and_opens() {
    let Some(browser) = browser() else {
        // Not a failure: who has no browser can still work on the rest. Continuous integration has one.
        return assert!(std::env::var_os("ATOMVET_NEEDS_BROWSER").is_none(), "no browser was found");
    };
    let report = atomvet_with(&["check", "--format", "json", "-"], many(5000).as_bytes()).ends_with(1).out;
    let said = used(&browser, &rendered(&report, "html"), USER);
    assert_eq!(said["errors"], json!([]));
    assert_eq!((&said["rows"], &said["first"]), (&json!(50), &json!("Account.deposit_0 is not atomic")));
    assert_eq!(
        (&said["sort"], &said["last"]),
        (&json!("descending"), &json!("Account.deposit_999 is not atomic"))
    );
    assert_eq!((&said["filtered"], &said["found"]), (&json!(1), &json!("Account.deposit_17 is not atomic")));
    assert_eq!((&said["expanded"], &said["svg"], &said["arrows"]), (&json!("true"), &json!(4), &json!(2)));
}

#[test]
fn a_browser_runs_nothing_that_a_name_says() {
    let Some(browser) = browser() else {
        return assert!(std::env::var_os("ATOMVET_NEEDS_BROWSER").is_none(), "no browser was found");
    };
    let mut value: Value = serde_json::from_str(&kept(&trace(LOST), "regiontrack")).expect("JSON");
    let text = value.to_string().replace("deposit", "<img src=x onerror=evil()><script>evil()</script>");
    value = serde_json::from_str(&text).expect("JSON");
    let script = r#"
      let ran = 0; globalThis.evil = () => ran++;
      setTimeout(() => { const pre = document.createElement("pre"); pre.id = "said";
        pre.textContent = JSON.stringify({ ran, images: document.images.length, shown: document.querySelector(".open").textContent.includes("<img") });
        document.body.append(pre); }, 50);"#;
    let said = used(&browser, &rendered(&value.to_string(), "html"), script);
    assert_eq!(said, json!({"ran": 0, "images": 0, "shown": true}));
}
