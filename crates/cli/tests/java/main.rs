//! Java programs under `atomvet java`: what is blamed, and that they behave as without us.
//!
//! Each program of `tests/programs/java` says at its top what is to be found, and marks lines in its text:
//!
//! ```text
//! // expect: violated Account.deposit   this block is not atomic, and no other one that does not call it
//! // expect: clean                      nothing is wrong
//! // options: --include java.util.Vector   for `atomvet java`
//! … // begins                           the first line of the blamed block
//! … // returns                          where the event that completes the violation may be
//! ```
//!
//! Its output and status are those of a run without any of this; the recorded trace gives `atomvet check` the same
//! findings. ATOMVET_TEST_RUNS says how often each is run [default: once], ATOMVET_TEST_ONLY which ones, by a part
//! of the name. Which JVM that is, see `support.rs`.

mod behaviour;
mod command;
mod effects;
mod support;
mod trial;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

use serde_json::Value;
use support::{atomvet, classes, java, programs, run};

/// What a program says about itself.
#[derive(Default)]
struct Program {
    name: String,
    blamed: BTreeSet<String>,
    options: Vec<String>,
    begins: BTreeSet<u64>,
    returns: BTreeSet<u64>,
}

impl Program {
    fn read(path: &Path) -> Program {
        let text = std::fs::read_to_string(path).expect("a program");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let mut program = Program { name, ..Program::default() };
        let mut expects = 0;
        for (number, line) in (1..).zip(text.lines()) {
            if let Some((key, value)) = line.strip_prefix("// ").and_then(|line| line.split_once(": ")) {
                match (key, value.strip_prefix("violated ")) {
                    ("expect", Some(block)) => {
                        expects += 1;
                        program.blamed.insert(block.to_owned());
                    }
                    ("expect", None) => {
                        assert_eq!(value, "clean", "{}: an unknown expectation", program.name);
                        expects += 1;
                    }
                    ("options", _) => program.options = value.split(' ').map(str::to_owned).collect(),
                    _ => {}
                }
            } else if line.ends_with("// begins") {
                program.begins.insert(number);
            } else if line.ends_with("// returns") {
                program.returns.insert(number);
            }
        }
        assert!(expects > 0, "{}: says nothing about what to expect", program.name);
        program
    }
}

fn violations(report: &Value) -> Vec<&Value> {
    let list = |value: &'static str, of: &'_ Value| of[value].as_array().map_or(0, Vec::len);
    let mut found = Vec::new();
    for trace in 0..list("traces", report) {
        for checker in 0..list("checkers", &report["traces"][trace]) {
            let violations = &report["traces"][trace]["checkers"][checker]["violations"];
            found.extend(violations.as_array().into_iter().flatten());
        }
    }
    found
}

/// The blocks that are blamed and call no other one that is.
fn innermost(report: &Value) -> BTreeSet<String> {
    let innermost = violations(report).into_iter().filter(|violation| violation["innermost"] != false);
    innermost.map(|v| v["block"]["label"].as_str().unwrap_or("no block").to_owned()).collect()
}

/// The file and the line of a place.
fn place(site: &Value) -> (&str, u64) {
    let (file, line) = site.as_str().and_then(|site| site.rsplit_once(':')).unwrap_or_default();
    (file, line.parse().unwrap_or(0))
}

/// The right blocks are blamed, on the right lines.
fn blames(program: &Program, report: &Value, context: &str) {
    let file = format!("{}.java", program.name);
    for violation in violations(report) {
        assert_ne!(violation["verified"], false, "{context}\n{violation:#}");
        if violation["innermost"] == false {
            continue;
        }
        if !program.begins.is_empty() {
            let (in_file, line) = place(&violation["block"]["site"]);
            assert!(in_file == file && program.begins.contains(&line), "begins: {context}\n{violation:#}");
        }
        if !program.returns.is_empty() {
            let (in_file, line) = place(&violation["site"]);
            assert!(in_file == file && program.returns.contains(&line), "returns: {context}\n{violation:#}");
        }
    }
    assert_eq!(innermost(report), program.blamed, "{context}\n{report:#}");
}

fn fingerprints(report: &Value) -> BTreeSet<String> {
    violations(report).iter().map(|v| v["fingerprint"].to_string()).collect()
}

fn check(program: &Program, directory: &Path, runs: usize) {
    let plain = run(java().arg("-cp").arg(classes()).arg(&program.name));
    let report_path = directory.join(&program.name).with_extension("json");
    let trace = directory.join(&program.name).with_extension("atv");
    for number in 1..=runs {
        let mut command = atomvet();
        command.args(["java", "--format", "json", "--verify", "-o"]).arg(&report_path);
        command.arg("--record").arg(&trace).args(&program.options);
        command.arg("-cp").arg(classes()).arg(&program.name);
        let output = run(&mut command);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let context = format!("run {number}: {command:?}: {}\n{stderr}", output.status);
        let report = std::fs::read_to_string(&report_path).unwrap_or_else(|e| panic!("{e}: {context}"));
        let report: Value = serde_json::from_str(&report).unwrap_or_else(|e| panic!("{e}: {context}"));
        let texts = [&output.stdout, &plain.stdout].map(|text| String::from_utf8_lossy(text));
        assert_eq!(texts[0], texts[1], "{context}");
        assert_eq!(stderr, String::from_utf8_lossy(&plain.stderr), "{context}");
        blames(program, &report, &context);
        let expected = i32::from(!program.blamed.is_empty());
        assert_eq!(output.status.code(), Some(expected), "{context}\n{report:#}");
        same_from_trace(&trace, &report);
    }
}

/// The recorded trace, which says how it was recorded, gives the same findings.
fn same_from_trace(trace: &Path, report: &Value) {
    let mut command = atomvet();
    command.args(["check", "--format", "json"]).arg(trace);
    let output = run(&mut command);
    let again: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{command:?}: {e}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(fingerprints(&again), fingerprints(report), "{command:?}");
}

#[test]
fn java_programs() {
    let runs = std::env::var("ATOMVET_TEST_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1);
    let only = std::env::var("ATOMVET_TEST_ONLY").unwrap_or_default();
    let chosen = programs().into_iter().filter(|path| path.to_string_lossy().contains(&only));
    let waiting = Mutex::new(chosen.collect::<Vec<_>>());
    let directory = tempfile::tempdir().expect("a directory");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(path) = waiting.lock().expect("nobody panics with it").pop() else { return };
                    check(&Program::read(&path), directory.path(), runs);
                }
            });
        }
    });
}
