//! A share of `cargo xtask trial native`: random C programs under `atomvet run`, judged by brute force.

use std::process::Command;

use atomvet_trial::native::{Engine, Mode, Options, PER_PROCESS, Tally, run};

const ATOMVET: &str = env!("CARGO_BIN_EXE_atomvet");

fn engine() -> Engine {
    Engine { atomvet: ATOMVET.into(), runtime: None }
}

#[track_caller]
fn passes(engine: &Engine, options: Options) {
    let tallies = run(engine, &options).unwrap_or_else(|error| panic!("{error:?}"));
    for (mode, tally) in tallies {
        let Tally { violated, blamed, .. } = tally;
        assert!(violated > options.programs / 10, "{mode}: the programs show too little: {tally}");
        // Of races, nearly all that is violated is seen.
        assert!(mode != Mode::Racy || blamed * 10 > violated * 8, "{mode}: too much is missed: {tally}");
    }
}

#[test]
fn violated_blocks_are_blamed_and_no_others() {
    passes(&engine(), Options { programs: 500, seed: 1, per_process: PER_PROCESS });
}

/// A checker that splits blocks at waits although it was told not to is found out, by a program that cannot be smaller.
#[test]
fn a_wrong_checker_is_found_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let atomvet = folder.path().join("atomvet");
    let script = format!(
        "#!/bin/sh\nfor argument; do shift; [ \"$argument\" = --strict-waits ] || set -- \"$@\" \"$argument\"; done\n\
         exec {ATOMVET} \"$@\"\n"
    );
    std::fs::write(&atomvet, script).expect("written");
    let made = Command::new("chmod").arg("+x").arg(&atomvet).status().expect("it can be run");
    assert!(made.success());
    let error = run(
        &Engine { atomvet, runtime: None },
        &Options { programs: 200, seed: 3, per_process: PER_PROCESS },
    );
    let error = format!("{:?}", error.expect_err("the checker is wrong"));
    let reduced = error.split_once("reduced:").expect("a program is shown").1;
    let steps = reduced.lines().filter(|line| line.trim_start().starts_with('T')).count();
    // Another thread comes between, after a step of the block and before another: with begin, end and a wait. At a barrier,
    // every thread has to arrive.
    assert!((1..=12).contains(&steps), "{error}");
}
