//! Many traces: folders, patterns, lists, several at once, one report.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::common::{CLEAN, Files, LOST, Run, atomvet, atomvet_with, command, trace};

/// A folder with traces in it and below it, one of them broken, one cut off, one hidden.
fn folder() -> Files {
    let files = Files::new(&[("a.std", &trace(LOST)), ("b.std", &trace(CLEAN)), (".hidden", "nonsense")]);
    std::fs::create_dir(files.path("sub")).expect("a directory");
    atomvet(&["convert", &files.at("a.std"), "-o", &files.at("sub/c.atv")]).ends_with(0);
    let bytes = std::fs::read(files.path("sub/c.atv")).expect("bytes");
    files.add("sub/cut.atv", &bytes[..bytes.len() - 60]);
    files.add("sub/wrong.std", b"T1|w(x)\n");
    files
}

fn names(run: &Run) -> Vec<String> {
    let report = run.json();
    let traces = report["traces"].as_array().expect("traces");
    let last = |entry: &Value| {
        let name = entry["trace"].as_str().expect("a name");
        name.rsplit('/').next().unwrap_or_default().to_owned()
    };
    traces.iter().map(last).collect()
}

#[test]
fn folders_patterns_and_lists_mean_their_traces() {
    let files = folder();
    let at = |name: &str| files.at(name);
    let all = ["a.std", "b.std", "c.atv", "cut.atv", "wrong.std"];
    let check = |arguments: &[&str]| names(&atomvet(&[&["check", "--format", "json"], arguments].concat()));
    assert_eq!(check(&[&at("")]), all);
    assert_eq!(check(&[&at("*.std")]), ["a.std", "b.std"]);
    assert_eq!(check(&[&at("**/*.atv")]), ["c.atv", "cut.atv"]);
    assert_eq!(check(&[&at("**/*")]), all);
    assert_eq!(check(&[&at("s?b")]), all[2..]);
    // Each once, in the order given.
    assert_eq!(check(&[&at("b.std"), &at("*.std"), &at("b.std")]), ["b.std", "a.std"]);
    let list = files.add("list", format!("{}\r\n\n{}\n", at("b.std"), at("sub")).as_bytes());
    assert_eq!(check(&["--files-from", &list]), ["b.std", "c.atv", "cut.atv", "wrong.std"]);
    let nul = files.add("nul", format!("{}\0{}\0", at("b.std"), at("a.std")).as_bytes());
    assert_eq!(check(&["--files-from", &nul]), ["b.std", "a.std"]);
    let run = atomvet_with(&["check", "--format", "json", "--files-from", "-"], at("a.std").as_bytes());
    assert_eq!(names(&run.ends_with(1)), ["a.std"]);
    // A name with the characters of a pattern is a name.
    files.add("odd[1].std", trace(LOST).as_bytes());
    assert_eq!(check(&[&at("odd[1].std")]), ["odd[1].std"]);
}

#[test]
fn nothing_to_check_is_never_clean() {
    let files = Files::new(&[("b.std", &trace(CLEAN))]);
    std::fs::create_dir(files.path("empty")).expect("a directory");
    let good = files.at("b.std");
    atomvet(&["check", &good]).ends_with(0);
    for (bad, part) in [
        ("empty", "empty: has no files in it"),
        ("*.atv", "*.atv: matches no file"),
        ("[", "is no pattern"),
        ("missing.std", "cannot be opened"),
    ] {
        let run = atomvet(&["check", "--format", "json", &good, &files.at(bad)]).ends_with(2).complains(part);
        assert_eq!(run.json()["traces"].as_array().map(Vec::len), Some(2), "{run:?}");
    }
    atomvet(&["check"]).ends_with(2);
    atomvet(&["check", "--files-from", &files.at("missing")]).ends_with(2).complains("list of traces");
    let empty = files.add("empty-list", b"\n");
    atomvet(&["check", "--files-from", &empty]).ends_with(2).complains("names no trace");
    atomvet(&["check", "-j", "0", &good]).ends_with(2);
}

/// A report without what differs from run to run.
fn without_seconds(mut report: Value) -> Value {
    for entry in report["traces"].as_array_mut().expect("traces") {
        entry["seconds"] = json!(0);
        for checker in entry["checkers"].as_array_mut().into_iter().flatten() {
            checker["seconds"] = json!(0);
        }
    }
    report
}

#[test]
fn several_at_once_say_the_same_in_the_same_order() {
    let files = folder();
    for seed in 0..40 {
        let name = files.at(&format!("random{seed}.std"));
        atomvet(&["gen", "--seed", &seed.to_string(), "--events", "80", "-o", &name]).ends_with(0);
    }
    let check = |jobs: &str| {
        atomvet(&["check", "--predict", "--format", "json", "-j", jobs, &files.at("")]).ends_with(2)
    };
    let one = check("1");
    for jobs in ["2", "7", "100"] {
        let several = check(jobs);
        assert_eq!(several.err, one.err, "-j {jobs}");
        assert_eq!(without_seconds(several.json()), without_seconds(one.json()), "-j {jobs}");
    }
}

#[test]
fn a_bad_trace_is_a_row_in_every_format() {
    let files = folder();
    for format in ["text", "json", "html", "sarif", "junit", "dot", "perfetto"] {
        let run = atomvet(&["check", "--format", format, &files.at("")]).ends_with(2);
        assert!(run.out.contains("deposit"), "{format}: {}", run.out);
        if !["dot", "perfetto"].contains(&format) {
            let bad = ["wrong.std", "cut.atv"].iter().all(|name| run.out.contains(name));
            assert!(bad, "{format}: {}", run.out);
        }
        run.complains("wrong.std:1:").complains("cut.atv: byte ");
    }
}

#[test]
fn a_mistake_of_many_traces_is_one_finding() {
    let files = folder();
    for number in 0..30 {
        files.add(&format!("lost{number:02}.std"), trace(LOST).as_bytes());
    }
    let run = atomvet(&["check", &files.at("")]).ends_with(2);
    run.says("1. deposit is not atomic (observed, seen 32 times)")
        .says("and 12 more traces")
        .says("verdicts on 35 traces: 32 with findings, 2 NOT READ, 1 clean")
        .says("… and 12 more with findings")
        .says("summary: 1 finding")
        .says("coverage of 33 traces: 230 events");
}

/// Each needs about 20 MB to predict, and all at once do not fit.
#[test]
fn a_trace_that_does_not_fit_beside_others_is_checked_alone() {
    let files = Files::new(&[]);
    for seed in ["1", "2", "3", "4"] {
        let name = files.at(&format!("{seed}.atv"));
        atomvet(&["gen", "--mode", "two-phase", "--events", "200000", "--seed", seed, "-o", &name]);
    }
    let arguments = ["check", "--predict", "--memory", "40M", "--format", "json", &files.at("")];
    let one = atomvet(&[&arguments[..], &["-j1"]].concat());
    let four = atomvet(&[&arguments[..], &["-j4"]].concat());
    assert_eq!((four.status, &four.err), (one.status, &one.err));
    assert_eq!(without_seconds(four.json()), without_seconds(one.json()));
    assert!(four.json()["traces"].as_array().expect("traces").iter().all(|t| t["partial"] == json!(false)));
}

#[test]
fn ctrl_c_keeps_what_the_other_traces_showed() {
    let files = Files::new(&[("a.std", &trace(LOST)), ("z.std", &trace(CLEAN))]);
    let pipe = files.at("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    for jobs in ["1", "2"] {
        let arguments = ["check", "--format", "json", "-j", jobs, &files.at("a.std"), &pipe];
        let mut child = command(&arguments).stdin(Stdio::null()).spawn().expect("starts");
        // It is opened once the command has come to it, which one worker does after the first trace.
        let mut input = std::fs::OpenOptions::new().write(true).open(&pipe).expect("opens");
        input.write_all(trace(CLEAN).as_bytes()).expect("writes");
        if jobs == "2" {
            // The other worker needs a moment for the first trace: much more than all buffers hold is read meanwhile.
            let filler = trace("T1|begin(a)|1 T1|r(x)|2 T1|end|3").repeat(1000);
            (0..800).for_each(|_| input.write_all(filler.as_bytes()).expect("writes"));
        }
        let number = i32::try_from(child.id()).expect("a process number");
        let sent = Command::new("kill").args(["-INT", &number.to_string()]).status().expect("kill runs");
        assert!(sent.success());
        let mut out = String::new();
        std::io::Read::read_to_string(&mut child.stdout.take().expect("a pipe"), &mut out).expect("reads");
        drop(input);
        assert_eq!(child.wait().expect("ends").code(), Some(2), "{out}");
        let report: Value = serde_json::from_str(&out).expect("JSON");
        assert_eq!(report["traces"][0]["checkers"][0]["violations"][0]["shape"], json!("lost update"));
        assert_eq!(report["traces"][1]["partial_reason"], json!("interrupted"), "{out}");
    }
}
