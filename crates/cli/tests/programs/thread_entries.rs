//! Functions that threads start with: no blocks by default, and never left out without a word. Sources are in
//! `tests/programs/entries`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{ATOMVET, blamed, clang, programs, run, succeed, workplace};

/// Builds a program as `compiler` says, in words.
fn build(directory: &Path, compiler: &str, source: &str) -> std::path::PathBuf {
    let binary = directory.join("program");
    let mut words = compiler.split(' ');
    let mut command = Command::new(words.next().expect("a compiler"));
    command.args(words).arg("-I").arg(programs()).arg(programs().join("entries").join(source));
    succeed(command.arg(directory.join("choreography.o")).args(["-pthread", "-o"]).arg(&binary));
    binary
}

/// The exit status, what is said on standard error, and the report.
fn watch(directory: &Path, binary: &Path) -> (Option<i32>, String, Value) {
    let report = directory.join("report.json");
    let mut command = Command::new(ATOMVET);
    command.current_dir(directory).args(["run", "--format", "json", "-o"]).arg(&report).arg("--").arg(binary);
    let output = run(&mut command);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = std::fs::read_to_string(report).unwrap_or_else(|error| panic!("{error}: {said}"));
    (output.status.code(), said, serde_json::from_str(&report).expect("JSON"))
}

#[test]
fn entry_functions_are_named_and_the_line_that_checks_them_works() {
    for compiler in [format!("{ATOMVET} cc -O1"), "gcc -g -fsanitize=thread".to_owned()] {
        let directory = workplace();
        let directory = directory.path();
        let binary = build(directory, &compiler, "only_entries.c");
        let (status, said, report) = watch(directory, &binary);
        assert_eq!(status, Some(3), "{said}");
        assert!(said.contains("left out: increment, reset;"), "{said}");
        assert_eq!(
            report["traces"][0]["program"]["thread_entries"],
            serde_json::json!(["increment", "reset"])
        );
        let (_, line) = said.split_once("put this line into atomvet.toml: ").expect("a line to put there");
        let line = line.lines().next().expect("a line");
        std::fs::write(directory.join("atomvet.toml"), line).expect("a file");
        let (status, said, report) = watch(directory, &binary);
        assert_eq!(status, Some(1), "{said}");
        assert_eq!(blamed(&report), [("increment".to_owned(), 14)].into(), "{report:#}");
    }
}

/// The ways to build a program of a language.
fn compilers(source: &str) -> [String; 5] {
    let is_cpp = source.ends_with("cpp");
    let (ours, gcc) = if is_cpp { ("c++", "g++") } else { ("cc", "gcc") };
    let variable = if is_cpp { "ATOMVET_CXX" } else { "ATOMVET_CC" };
    [
        format!("{ATOMVET} {ours} -O0"),
        format!("{ATOMVET} {ours} -O2"),
        format!("env {variable}={} {ATOMVET} {ours} -O1", clang(is_cpp)),
        format!("{gcc} -g -O0 -fsanitize=thread"),
        format!("{gcc} -g -O2 -fsanitize=thread"),
    ]
}

fn names(report: &Value) -> BTreeSet<String> {
    blamed(report).into_iter().map(|(name, _)| name).collect()
}

/// Wrappers do not make blocks of what threads are started for: neither a thread library of the program's own, nor a pool.
#[test]
fn tasks_that_an_entry_function_runs_are_entry_functions() {
    let programs: [(&str, &[&str]); 2] =
        [("launch.c", &["compress", "ignition", "write_out"]), ("pool.cpp", &["Pool::work"])];
    for (source, entries) in programs {
        for compiler in compilers(source) {
            let directory = workplace();
            let binary = build(directory.path(), &compiler, source);
            let (status, said, report) = watch(directory.path(), &binary);
            assert_eq!(names(&report), ["deposit".to_owned()].into(), "{compiler}: {report:#}");
            assert_eq!(status, Some(1), "{compiler}: {said}");
            let left_out = report["traces"][0]["program"]["thread_entries"].as_array().expect("a list");
            // Where functions are inlined without hooks, some are not known.
            if !compiler.contains("-O2 -fsanitize") {
                for entry in entries {
                    assert!(left_out.iter().any(|name| name == entry), "{compiler}: {entry}: {left_out:?}");
                }
            }
            let is_wrong = |name: &Value| name == "deposit" || name == "count";
            assert!(!left_out.iter().any(is_wrong), "{compiler}: {left_out:?}");
        }
    }
}

#[test]
fn operations_that_an_entry_function_does_not_name_are_checked() {
    for compiler in compilers("operations.cpp") {
        let directory = workplace();
        let binary = build(directory.path(), &compiler, "operations.cpp");
        let (status, said, report) = watch(directory.path(), &binary);
        assert_eq!(names(&report), ["Account::increment".to_owned()].into(), "{compiler}: {report:#}");
        assert_eq!(status, Some(1), "{compiler}: {said}");
        let left_out = &report["traces"][0]["program"]["thread_entries"];
        assert_eq!(*left_out, serde_json::json!(["first_worker", "second_worker"]), "{compiler}");
    }
}
