//! A share of `cargo xtask trial native`: random C programs under `atomvet run`, judged by brute force.

use std::path::{Path, PathBuf};
use std::process::Command;

use atomvet_trial::native::{Engine, Mode, Options, PER_PROCESS, Tally, live, run};

const ATOMVET: &str = env!("CARGO_BIN_EXE_atomvet");

fn engine() -> Engine {
    Engine { atomvet: ATOMVET.into(), runtime: None, is_live: false }
}

#[track_caller]
fn passes(engine: &Engine, options: Options) {
    let tallies = run(engine, &options).unwrap_or_else(|error| panic!("{error:?}"));
    for (mode, tally) in tallies {
        let Tally { violated, blamed, .. } = tally;
        assert!(violated > options.programs / 2, "{mode}: the programs show too little: {tally}");
        // Of races, nearly all that is violated is seen.
        assert!(mode != Mode::Racy || blamed * 10 > violated * 8, "{mode}: too much is missed: {tally}");
    }
}

#[test]
fn violated_blocks_are_blamed_and_no_others() {
    passes(&engine(), Options { programs: 500, seed: 1, per_process: PER_PROCESS });
}

#[test]
fn numbers_of_periods_that_run_out_change_no_verdict() {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = Some(build_with_few_periods(folder.path()));
    // After some programs in one process no numbers are left, and the checker says that it lost threads.
    passes(&Engine { runtime, ..engine() }, Options { programs: 30, seed: 2, per_process: 2 });
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
        &Engine { atomvet, runtime: None, is_live: false },
        &Options { programs: 200, seed: 3, per_process: PER_PROCESS },
    );
    let error = format!("{:?}", error.expect_err("the checker is wrong"));
    let reduced = error.split_once("reduced:").expect("a program is shown").1;
    let steps = reduced.lines().filter(|line| line.trim_start().starts_with('T')).count();
    // Another thread comes between, after a step of the block and before another: with begin, end and a wait.
    assert!((1..=8).contains(&steps), "{error}");
}

/// A runtime in which the numbers of periods run out all the time, compiled as the command's own is.
fn build_with_few_periods(folder: &Path) -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let compile = |name: &str, kind: &str, options: &[&str]| {
        let mut command = Command::new("rustc");
        command.args(["--edition", "2024", "--crate-type", kind, "--crate-name"]);
        command.arg(format!("atomvet_{name}")).args(["--cap-lints", "allow", "--cfg", "few_periods"]);
        command.args(["-C", "opt-level=1", "-C", "panic=abort", "-L"]).arg(folder).args(options);
        command.arg(crates.join(name).join("src/lib.rs")).arg("--out-dir").arg(folder);
        assert!(command.status().expect("it can be run").success(), "{name} does not compile");
    };
    compile("ring", "rlib", &[]);
    compile("recorder", "rlib", &["--extern", "atomvet_ring"]);
    let soname = "link-arg=-Wl,-soname,libtsan.so.2";
    compile("runtime", "cdylib", &["--extern", "atomvet_recorder", "-C", soname]);
    folder.join("libatomvet_runtime.so")
}

#[test]
fn the_runtime_on_the_live_checker_is_exact() {
    let folder = tempfile::tempdir().expect("a folder");
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let runtime = Some(live::build(&crates, folder.path()).expect("it compiles"));
    let options = Options { programs: 300, seed: 4, per_process: PER_PROCESS };
    let tallies = run(&Engine { runtime, is_live: true, ..engine() }, &options);
    let [(_, race_free), (_, racy), _] = tallies.unwrap_or_else(|error| panic!("{error:?}"));
    assert!(race_free.violated > options.programs / 10, "the programs show too little: {race_free}");
    assert!(
        racy.violated > options.programs && racy.blamed * 10 > racy.violated * 8,
        "too much is missed: {racy}"
    );
}
