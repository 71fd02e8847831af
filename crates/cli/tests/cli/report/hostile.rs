//! Names, places and bytes that try to be something else.

use serde_json::{Value, json};

use super::{FORMATS, data_of, kept, rendered};
use crate::common::{Files, LOST, atomvet, atomvet_with, trace};

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
        // No line is wider than it may be. (What takes two columns is another test's concern.)
        "text" => assert_eq!(text.lines().find(|line| line.chars().count() > 100), None),
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

#[test]
fn what_is_not_utf8_is_an_error_that_every_rendering_can_tell() {
    let files = Files::new(&[("good.std", &trace(LOST))]);
    let (good, binary) = (files.at("good.std"), files.at("good.atv"));
    atomvet(&["convert", &good, "-o", &binary]).ends_with(0);
    let mut text = trace(LOST).into_bytes();
    text[10] = 0xff;
    let mut bytes = std::fs::read(&binary).expect("written");
    // Wherever a name is spoilt in a binary trace, it is an error and no name.
    let spoilt: Vec<Vec<u8>> = (0..bytes.len())
        .step_by(7)
        .map(|at| {
            let before = std::mem::replace(&mut bytes[at], 0xff);
            let copy = bytes.clone();
            bytes[at] = before;
            copy
        })
        .collect();
    for bytes in spoilt.iter().take(40).chain([&text]) {
        let bad = files.add("bad", bytes);
        assert!(matches!(atomvet(&["check", &bad]).status, Some(0..=3)));
    }
    let bad = files.add("bad.std", &text);
    for (format, _) in FORMATS {
        let shown = atomvet(&["check", "--format", format, &bad, &good]).ends_with(2).complains("0xff").out;
        // A graph and a trace of steps have findings only.
        assert!(["dot", "perfetto"].contains(&format) || shown.contains("which is not UTF-8"), "{format}");
        if format != "json" {
            well_formed(&shown, format);
        }
    }
}

#[test]
fn source_text_is_text_too() {
    let files = Files::new(&[]);
    std::fs::create_dir(files.path("root")).expect("made");
    files.add("root/b.c", b"int a;\n</script><img src=x>\xff\xfe\x1b[31m\n".repeat(10).as_slice());
    let report = kept(&trace(LOST), "regiontrack");
    let arguments = ["report", "--format", "html", "--source-root", &files.at("root"), "-"];
    let page = atomvet_with(&arguments, report.as_bytes()).ends_with(0).out;
    well_formed(&page, "html");
    let data = data_of(&page);
    assert!(data.contains("\\u003c/script\\u003e\\u003cimg src=x\\u003e\u{fffd}\u{fffd}\\\\e[31m"), "{data}");
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out_of_the_source_root() {
    let files = Files::new(&[("secret.c", &"the secret\n".repeat(30))]);
    std::fs::create_dir(files.path("root")).expect("made");
    std::os::unix::fs::symlink(files.path("secret.c"), files.path("root/b.c")).expect("linked");
    std::os::unix::fs::symlink(files.path(""), files.path("root/up")).expect("linked");
    for file in ["b.c", "up/secret.c", "root/../secret.c", "./up/../b.c"] {
        let report = kept(&trace(LOST).replace("b.c", file), "regiontrack");
        for (format, _) in FORMATS {
            let arguments = ["report", "--format", format, "--source-root", &files.at("root"), "-"];
            let shown = atomvet_with(&arguments, report.as_bytes()).ends_with(0).out;
            assert!(!shown.contains("the secret"), "{format} {file}");
        }
    }
}

#[test]
fn what_was_said_about_findings_is_text_too() {
    let mut report: Value = serde_json::from_str(&kept(&trace(LOST), "regiontrack")).expect("JSON");
    for name in HOSTILE {
        let long = format!("{name}{}", "L".repeat(10_000));
        let violation = &mut report["traces"][0]["checkers"][0]["violations"][0];
        violation["suppression"] = json!({"by": long, "reason": long});
        report["traces"][0]["entered"] =
            json!([{"block": long, "executions": 2, "violated": 0, "predicted": 0}]);
        report["set_aside"] = json!({
            "suppressed": 1, "in_baseline": 0, "by_idiom": {}, "baseline_not_found": 0,
            "unused_suppressions": [{"at": long, "what": long, "reason": long}],
        });
        for (format, _) in &FORMATS[1..] {
            let shown = rendered(&report.to_string(), format);
            assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{format}");
            assert!(shown.len() < 70_000, "{format} has {} bytes", shown.len());
            well_formed(&shown, format);
        }
    }
}
