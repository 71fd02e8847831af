//! Functions that threads start with: no blocks by default, and never left out without a word. Sources are in
//! `tests/programs/entries`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{ATOMVET, blamed, programs, run, succeed, workplace};

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
