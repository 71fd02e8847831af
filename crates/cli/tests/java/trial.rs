//! A share of `cargo xtask trial jvm`: random Java programs in forced orders, judged by brute force.

use std::path::{Path, PathBuf};

use atomvet_trial::jvm::{Tools, Trial, live};

use crate::support::{jdk, jre};

#[test]
fn random_programs_are_judged_as_by_brute_force() {
    let atomvet = env!("CARGO_BIN_EXE_atomvet").into();
    // Two batches: the conventions of the command, and strict ones.
    judge(Tools { atomvet, javac: jdk("javac"), java_home: jre(), agent: None }, 150);
}

/// The same for the agent on the live checker.
#[test]
fn random_programs_are_judged_live_as_by_brute_force() {
    let directory = tempfile::tempdir().expect("a directory");
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let agent = Some(live::build(&crates, directory.path()).expect("the agent compiles"));
    judge(Tools { atomvet: PathBuf::new(), javac: jdk("javac"), java_home: jre(), agent }, 0);
}

fn judge(tools: Tools, seed: u64) {
    let is_live = if tools.agent.is_some() { " --live" } else { "" };
    let directory = tempfile::tempdir().expect("a directory");
    let trial = Trial { tools, directory: directory.path().to_owned(), seed, programs: 130 };
    let (outcome, failures) = trial.run(|_| {}).expect("they run");
    if let Some(failure) = failures.first() {
        let smaller = trial.reduce(failure).expect("smaller ones run");
        let (more, seed) = (failures.len() - 1, failure.seed);
        panic!("{failure}, and {more} more (`cargo xtask trial jvm{is_live} --seed {seed}`)\n{smaller}");
    }
    assert!(outcome.violated > 100, "the programs show too little: {outcome}");
}
