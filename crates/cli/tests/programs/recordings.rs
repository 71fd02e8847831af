//! What a recording says about itself, and what may be said about it. Sources are in `tests/programs/recorded`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::surroundings::atomvet_cc;
use super::{ATOMVET, run, workplace};

/// The exit status, what is said on standard error, and the report.
fn atomvet(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, Value) {
    let report = directory.join("report.json");
    let mut command = Command::new(ATOMVET);
    command.current_dir(directory).arg(arguments[0]).args(["--format", "json", "-o"]).arg(&report);
    let output = run(command.args(&arguments[1..]));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = std::fs::read_to_string(report).unwrap_or_else(|error| panic!("{error}: {said}"));
    (output.status.code(), said, serde_json::from_str(&report).expect("JSON"))
}

/// Whether a predictive algorithm names the block.
fn predicts(report: &Value, block: &str) -> bool {
    let checkers = report["traces"][0]["checkers"].as_array().expect("checkers");
    let predictive = checkers.iter().filter(|checker| checker["kind"] == "predictive");
    predictive
        .flat_map(|checker| checker["violations"].as_array().expect("violations"))
        .any(|violation| violation["block"]["label"] == block)
}

#[test]
fn prediction_needs_every_access() {
    let directory = workplace();
    let directory = directory.path();
    atomvet_cc(directory, "recorded/two_sections.c", "two_sections");
    let program = ["--", "./two_sections"];

    // A predictive algorithm has everything recorded.
    let (status, said, report) =
        atomvet(directory, &[&["run", "--algo", "commit-node"][..], &program].concat());
    assert_eq!(status, Some(1), "{said}");
    assert!(predicts(&report, "deposit"), "{report:#}");
    assert_eq!(report["traces"][0]["conventions"]["accesses"], "all", "{report:#}");

    // So does a recording.
    let (status, said, _) = atomvet(directory, &[&["run", "--record", "all.atv"][..], &program].concat());
    assert_eq!(status, Some(0), "{said}");
    let (status, said, report) = atomvet(directory, &["check", "--predict", "all.atv"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(predicts(&report, "deposit"), "{report:#}");
}

#[test]
fn a_recording_is_judged_as_the_run_was() {
    let directory = workplace();
    let directory = directory.path();
    atomvet_cc(directory, "c/producer_consumer_fixed.c", "buffer");
    for options in [&[][..], &["--strict-waits"], &["--strict-waits", "--strict-atomics"]] {
        let arguments = [&["run", "--record", "run.atv"], options, &["--", "./buffer"]].concat();
        let (lived, said, live) = atomvet(directory, &arguments);
        let (checked, also_said, recorded) = atomvet(directory, &["check", "run.atv"]);
        assert_eq!(lived, checked, "{options:?}: {said}{also_said}");
        let [live, recorded] = [live, recorded].map(|report| report["traces"][0]["conventions"].clone());
        for what in ["waits", "updates", "conflicts", "accesses"] {
            assert_eq!(live[what], recorded[what], "{options:?}");
        }
        assert_eq!(recorded["waits_by"], "trace");
    }
}

#[test]
fn a_process_that_lives_on_is_judged_in_part() {
    let directory = workplace();
    let directory = directory.path();
    atomvet_cc(directory, "recorded/outlived.c", "outlived");
    let output = run(Command::new(ATOMVET).current_dir(directory).args(["run", "--", "./outlived"]));
    let child: i32 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a process");
    // SAFETY: it was started by this test and waits for this.
    unsafe { libc::kill(child, libc::SIGKILL) };
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("partial: a process still runs, and is judged up to here"), "{said}");
}
