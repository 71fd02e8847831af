//! What the tests share: the programs, compiled, and the commands that run them.
//!
//! A JDK is needed, that of JAVA_HOME or else the first in PATH (`cargo xtask install`). ATOMVET_TEST_JRE is the home of
//! another JVM to run the programs with (`cargo xtask jdks`).

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

pub(crate) fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// The home of a JVM that the environment names.
fn home(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// A command of the JDK.
pub(crate) fn jdk(command: &str) -> PathBuf {
    home("JAVA_HOME").map_or_else(|| command.into(), |home| home.join("bin").join(command))
}

/// The home of the JVM that programs are run with, if it is not that of the environment.
pub(crate) fn jre() -> Option<PathBuf> {
    home("ATOMVET_TEST_JRE")
}

/// The JVM that the programs are run with.
pub(crate) fn java_path() -> PathBuf {
    let home = jre().or_else(|| home("JAVA_HOME"));
    home.map_or_else(|| "java".into(), |home| home.join("bin/java"))
}

/// That JVM, to be given its arguments.
pub(crate) fn java() -> Command {
    Command::new(java_path())
}

/// The command that is tested, which runs programs with that JVM.
pub(crate) fn atomvet() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atomvet"));
    if let Some(home) = jre() {
        command.env("JAVA_HOME", home);
    }
    command
}

/// The version of that JVM: 17, 21, …
pub(crate) fn version() -> u32 {
    let output = run(java().arg("-version"));
    let text = String::from_utf8_lossy(&output.stderr);
    let quoted = text.split('"').nth(1).expect("a version");
    quoted.split('.').next().and_then(|number| number.parse().ok()).expect("a number")
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/java")
}

/// Where the compiled programs are.
pub(crate) fn classes() -> &'static Path {
    static CLASSES: OnceLock<tempfile::TempDir> = OnceLock::new();
    let directory = CLASSES.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = Command::new(jdk("javac"));
        command.args(["-g", "-d"]).arg(directory.path()).arg("-sourcepath").arg(sources());
        command.args(programs()).args(in_directory(&sources().join("behaviour")));
        let output = command
            .output()
            .unwrap_or_else(|error| panic!("no javac ({error}): install a JDK with `cargo xtask install`"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        directory
    });
    directory.path()
}

/// Programs that say what is to be found in them.
pub(crate) fn programs() -> Vec<PathBuf> {
    in_directory(&sources())
}

fn in_directory(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("programs").map(|entry| entry.expect("a file").path());
    let mut programs: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "java")).collect();
    programs.sort();
    assert!(!programs.is_empty(), "no programs");
    programs
}
