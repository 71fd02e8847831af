//! Traces that would take the machine: every command stays within its memory and says so.

use std::fmt::Write;

use crate::common::{Files, LOST, atomvet, trace};

/// Blocks of many threads, all open at once, each of which comes after all before it: clocks of quadratic size.
fn open_blocks(threads: usize) -> String {
    let mut text = trace(LOST);
    for thread in 0..threads {
        let _ = writeln!(text, "U{thread}|begin(b)|1\nU{thread}|w(z)|2");
    }
    text
}

/// Writes of many variables with long names.
fn many_names(variables: usize) -> String {
    let mut text = trace(LOST);
    for i in 0..variables {
        let _ = writeln!(text, "T{}|w(a_variable_with_a_name_that_takes_some_room_{i})|2", i % 2);
    }
    text
}

#[test]
fn a_check_beyond_its_memory_keeps_what_it_found_and_says_what_to_do() {
    let files = Files::new(&[("open.std", &open_blocks(20_000))]);
    atomvet(&["check", "--memory", "40M", &files.at("open.std")])
        .ends_with(2)
        .prints("deposit is not atomic")
        .says("PARTIAL, the memory limit of 40.0 MiB was reached")
        .complains("give more with --memory SIZE")
        .complains("regiontrack took");
}

#[test]
fn every_command_and_every_algorithm_has_the_limit() {
    let files = Files::new(&[("names.std", &many_names(400_000))]);
    let names = files.at("names.std");
    let commands: [&[&str]; 9] = [
        &["check"],
        &["check", "--algo", "aerodrome"],
        &["check", "--algo", "aerodrome-basic"],
        &["check", "--algo", "velodrome"],
        &["check", "--algo", "doublechecker"],
        &["check", "--predict"],
        &["compare"],
        &["refine"],
        &["stats"],
    ];
    for arguments in commands {
        let arguments = [arguments, &["--memory", "30M", &names]].concat();
        atomvet(&arguments).ends_with(2).complains("the memory limit of 30.0 MiB was reached");
    }
}

#[test]
fn a_prediction_beyond_its_memory_is_not_clean() {
    let files = Files::new(&[("names.std", &many_names(400_000))]);
    atomvet(&["check", "--predict", "--memory", "30M", &files.at("names.std")])
        .ends_with(2)
        .prints("NOT ALL WAS JUDGED")
        .complains("prediction keeps the whole execution");
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_system_refuses_ends_with_one_line() {
    let files = Files::new(&[("open.std", &open_blocks(20_000))]);
    let limited = format!(
        "ulimit -v 400000; exec '{}' check --memory 8G '{}'",
        env!("CARGO_BIN_EXE_atomvet"),
        files.at("open.std")
    );
    let ended = std::process::Command::new("sh").args(["-c", &limited]).output().expect("sh runs");
    let err = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{err}");
    assert!(err.starts_with("atomvet: error: out of memory: ") && err.lines().count() == 1, "{err}");
}

#[test]
fn sizes_are_checked() {
    atomvet(&["check", "--memory", "lots", "x.std"]).ends_with(2).complains("is no size");
}

/// Every thread lives on and acts once: 200,000 of them took 24 GB.
#[test]
fn threads_that_do_not_communicate_cost_little() {
    let mut text = trace(LOST);
    for thread in 0..200_000 {
        let _ = writeln!(text, "U{thread}|w(z)|2");
    }
    let files = Files::new(&[("threads.std", &text)]);
    for algorithm in ["regiontrack", "velodrome", "doublechecker"] {
        atomvet(&["check", "--memory", "256M", "--algo", algorithm, &files.at("threads.std")]).ends_with(1);
    }
}

/// Blocks in blocks, all of them violated by one event: each is a finding of its own.
#[test]
fn a_hundred_thousand_nested_blocks_make_a_short_report() {
    let mut text = String::new();
    for i in 0..100_000 {
        let _ = writeln!(text, "T1|begin(a{i})|{i}");
    }
    text += "T1|r(y)|1\nT2|w(y)|1\nT1|w(y)|1\n";
    let files = Files::new(&[("nested.std", &text)]);
    let nested = files.at("nested.std");
    let run = atomvet(&["check", "--memory", "512M", "--max-findings", "3", &nested])
        .ends_with(1)
        .says("100,000 findings, of which the first 10,000 are explained")
        .says("… and 95,000 more; --format json has all of them");
    assert!(run.out.len() < 1 << 20, "{}", run.out.len());
    let json = atomvet(&["check", "--memory", "1G", "--format", "json", &nested]).ends_with(1);
    assert!(json.out.len() < 80 << 20, "{}", json.out.len());
    let findings = &json.json()["traces"][0]["checkers"][0]["violations"];
    assert_eq!(findings.as_array().map(Vec::len), Some(100_000));
}
