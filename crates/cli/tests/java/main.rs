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
//! of the name. The JVM is that of JAVA_HOME, or the first in PATH; a JDK is needed (`cargo xtask install`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock};

use serde_json::Value;

const ATOMVET: &str = env!("CARGO_BIN_EXE_atomvet");

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

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// A command of the JDK that the tests use.
fn jdk(command: &str) -> PathBuf {
    match std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty()) {
        Some(home) => Path::new(&home).join("bin").join(command),
        None => command.into(),
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/java")
}

/// Where the compiled programs are.
fn classes() -> &'static Path {
    static CLASSES: OnceLock<tempfile::TempDir> = OnceLock::new();
    let directory = CLASSES.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = Command::new(jdk("javac"));
        command.args(["-g", "-d"]).arg(directory.path()).arg("-sourcepath").arg(sources());
        command.args(programs());
        let output = command
            .output()
            .unwrap_or_else(|error| panic!("no javac ({error}): install a JDK with `cargo xtask install`"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        directory
    });
    directory.path()
}

fn programs() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(sources()).expect("programs").map(|entry| entry.expect("a file").path());
    let mut programs: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "java")).collect();
    programs.sort();
    assert!(!programs.is_empty(), "no programs");
    programs
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

/// The file and the line of a place.
fn place(site: &Value) -> (&str, u64) {
    let (file, line) = site.as_str().and_then(|site| site.rsplit_once(':')).unwrap_or_default();
    (file, line.parse().unwrap_or(0))
}

/// The right blocks are blamed, on the right lines.
fn blames(program: &Program, report: &Value, context: &str) {
    let mut blamed = BTreeSet::new();
    let file = format!("{}.java", program.name);
    for violation in violations(report) {
        assert_ne!(violation["verified"], false, "{context}\n{violation:#}");
        if violation["innermost"] == false {
            continue;
        }
        blamed.insert(violation["block"]["label"].as_str().unwrap_or("no block").to_owned());
        if !program.begins.is_empty() {
            let (in_file, line) = place(&violation["block"]["site"]);
            assert!(in_file == file && program.begins.contains(&line), "begins: {context}\n{violation:#}");
        }
        if !program.returns.is_empty() {
            let (in_file, line) = place(&violation["site"]);
            assert!(in_file == file && program.returns.contains(&line), "returns: {context}\n{violation:#}");
        }
    }
    assert_eq!(blamed, program.blamed, "{context}\n{report:#}");
}

fn fingerprints(report: &Value) -> BTreeSet<String> {
    violations(report).iter().map(|v| v["fingerprint"].to_string()).collect()
}

fn check(program: &Program, directory: &Path, runs: usize) {
    let plain = run(Command::new(jdk("java")).arg("-cp").arg(classes()).arg(&program.name));
    let report_path = directory.join(&program.name).with_extension("json");
    let trace = directory.join(&program.name).with_extension("atv");
    for number in 1..=runs {
        let mut command = Command::new(ATOMVET);
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
        assert_eq!(stderr, "", "{context}");
        blames(program, &report, &context);
        let expected = i32::from(!program.blamed.is_empty());
        assert_eq!(output.status.code(), Some(expected), "{context}\n{report:#}");
        same_from_trace(&trace, &report);
    }
}

/// The recorded trace gives the same findings.
fn same_from_trace(trace: &Path, report: &Value) {
    let mut command = Command::new(ATOMVET);
    command.args(["check", "--format", "json", "--split-at-waits", "--commuting-updates"]).arg(trace);
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

/// Runs the command in an environment of its own and gives its status and what it says.
fn says(arguments: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(ATOMVET);
    command.args(arguments).env_remove("JAVA_HOME").envs(environment.iter().copied());
    let output = run(&mut command);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_cannot_be_run_is_told_in_one_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path();
    std::fs::create_dir(home.join("bin")).expect("a directory");
    let java = home.join("bin/java");
    let home = home.to_str().expect("a name");
    let told = |environment: &[(&str, &str)], what: &[&str]| {
        let (status, text) = says(&["java", "-version"], environment);
        assert_eq!(status, Some(2), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(what.iter().all(|what| text.contains(what)), "{text}");
    };
    told(&[("PATH", "/nowhere")], &["no java in PATH", "set JAVA_HOME"]);
    told(&[("JAVA_HOME", home)], &["has no bin/java", "unset it"]);
    let executable = |bytes: &[u8]| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(&java, bytes).expect("a file");
        std::fs::set_permissions(&java, std::fs::Permissions::from_mode(0o755)).expect("a file");
    };
    executable(b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x03\0");
    told(&[("JAVA_HOME", home)], &["not a JVM for 64-bit x86", "set JAVA_HOME"]);
    executable(b"#!/bin/sh\n");
    std::fs::write(Path::new(home).join("release"), "JAVA_VERSION=\"1.8.0_292\"\n").expect("a file");
    told(&[("JAVA_HOME", home)], &["Java 8 is too old", "17 or later"]);
    let (status, text) = says(&["java", "--include", "java/util/Vector", "-version"], &[]);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("dots stand between packages"), "{text}");
}

#[test]
fn a_jvm_without_its_agent_is_not_clean() {
    let (status, text) = says(&["java", "-version"], &[("ATOMVET_AGENT", "/nowhere/agent.so")]);
    assert!(matches!(status, Some(2 | 3)), "{text}");
    assert!(text.contains("the agent was not loaded"), "{text}");
}

#[test]
fn run_knows_a_jvm_when_it_sees_one() {
    let mut command = Command::new(ATOMVET);
    command.args(["run", "--"]).arg(jdk("java")).arg("-cp").arg(classes()).arg("BankBad");
    let output = run(&mut command);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("BankBad$Account.deposit"), "{text}");
    assert!(!text.contains("JAVA_TOOL_OPTIONS"), "{text}");
}

/// As a build tool does it: the JVM is somebody's child.
#[test]
fn jvms_that_others_start_are_watched() {
    let mut command = Command::new(ATOMVET);
    let script = format!("{} -cp {} BankBad; exit 0", jdk("java").display(), classes().display());
    command.args(["run", "--", "sh", "-c", &script]).env("JAVA_TOOL_OPTIONS", "-Duser.of=options");
    let output = run(&mut command);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("BankBad$Account.deposit"), "{text}");
    assert!(text.contains("-Duser.of=options -agentpath:"), "{text}");
}
