//! A share of `cargo xtask trial jvm`: random Java programs in forced orders, judged by brute force.

use atomvet_trial::jvm::{Tools, Trial};

use crate::support::{jdk, jre};

#[test]
fn random_programs_are_judged_as_by_brute_force() {
    let directory = tempfile::tempdir().expect("a directory");
    let tools =
        Tools { atomvet: env!("CARGO_BIN_EXE_atomvet").into(), javac: jdk("javac"), java_home: jre() };
    // Two batches: the conventions of the command, and strict ones.
    let trial = Trial { tools, directory: directory.path().to_owned(), seed: 150, programs: 100 };
    let (outcome, failures) = trial.run(|_| {}).expect("they run");
    if let Some(failure) = failures.first() {
        let smaller = trial.reduce(failure).expect("smaller ones run");
        let more = failures.len() - 1;
        panic!("{failure}, and {more} more (`cargo xtask trial jvm --seed {}`)\n{smaller}", failure.seed);
    }
    assert!(outcome.violated > 100, "the programs show too little: {outcome}");
}
