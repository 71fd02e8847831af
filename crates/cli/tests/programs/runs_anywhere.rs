//! What `atomvet cc` makes runs anywhere the plain build would: under another user, after everything of ours is gone, copied
//! elsewhere, and still under `atomvet run`.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{ATOMVET, clang, programs, run, succeed, workplace};

/// `nobody`, on every Linux.
const ANOTHER_USER: u32 = 65534;

/// Calls `atomvet cc` with a cache of its own.
fn atomvet_cc(directory: &Path, compiler: &str, arguments: &str) {
    let mut command = Command::new(ATOMVET);
    command.arg("cc").args(arguments.split(' ')).arg("-I").arg(programs()).env("ATOMVET_CC", compiler);
    command.env("HOME", directory).env("XDG_CACHE_HOME", directory.join("cache"));
    succeed(command.current_dir(directory));
}

/// Moves a program to a place that all users can read, and takes away what it was built with.
fn move_away(directory: &Path, files: &[&str]) -> tempfile::TempDir {
    let elsewhere = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(elsewhere.path(), std::fs::Permissions::from_mode(0o755)).expect("ours");
    for file in files {
        std::fs::copy(directory.join(file), elsewhere.path().join(file)).expect("it is there");
    }
    std::fs::remove_dir_all(directory.join("cache")).expect("it was made");
    elsewhere
}

/// What it prints with no environment at all, as this user and, if that is possible, as another one.
fn prints_everywhere(binary: &Path, argument: Option<&Path>, expected: &str) {
    // SAFETY: asks for a number.
    let may_change_users = unsafe { libc::geteuid() } == 0;
    for user in [None, Some(ANOTHER_USER)] {
        let mut command = Command::new(binary);
        command.env_clear().current_dir("/").args(argument);
        match user {
            Some(user) if may_change_users => command.uid(user).gid(user),
            Some(_) => continue,
            None => &mut command,
        };
        let output = run(&mut command);
        let printed = (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned());
        assert_eq!(
            printed,
            (Some(0), expected.to_owned()),
            "{command:?} as {user:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// The exit status of `atomvet run`, and its report.
fn watch(directory: &Path, binary: &Path, argument: Option<&Path>) -> (Option<i32>, String) {
    let mut command = Command::new(ATOMVET);
    command
        .env("HOME", directory)
        .env("XDG_CACHE_HOME", directory.join("another cache"))
        .args(["run", "--"])
        .arg(binary)
        .args(argument);
    let output = run(&mut command);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_program_runs_without_everything_of_ours() {
    for compiler in ["gcc", clang(false)] {
        let directory = workplace();
        let directory = directory.path();
        let source = programs().join("c/bank_bad.c");
        atomvet_cc(directory, compiler, &format!("-O1 {} choreography.o -pthread -o bank", source.display()));
        let elsewhere = move_away(directory, &["bank"]);
        let bank = elsewhere.path().join("bank");
        prints_everywhere(&bank, None, "balance 150, expected 200\n");
        let (status, report) = watch(directory, &bank, None);
        assert_eq!(status, Some(1), "{report}");
        assert!(report.contains("deposit: lost update"), "{report}");
    }
}

#[test]
fn a_shared_library_runs_without_everything_of_ours() {
    for compiler in ["gcc", clang(false)] {
        let directory = workplace();
        let directory = directory.path();
        let source = |name: &str| programs().join("surroundings").join(name).display().to_string();
        atomvet_cc(directory, compiler, &format!("-O1 -fPIC -shared {} -o plugin.so", source("plugin.c")));
        let host = source("host.c");
        atomvet_cc(directory, compiler, &format!("{host} choreography.o -rdynamic -pthread -ldl -o host"));
        let plain = format!("gcc {host} choreography.o -rdynamic -pthread -ldl -o plain_host -I");
        let mut words = plain.split(' ');
        let mut command = Command::new(words.next().expect("a compiler"));
        succeed(command.args(words).arg(programs()).current_dir(directory));
        let elsewhere = move_away(directory, &["host", "plain_host", "plugin.so"]);
        let there = |name: &str| elsewhere.path().join(name);
        let plugin = there("plugin.so");
        // What a thread of the plain host does first that can be seen is taken for its entry function.
        for (host, expected, told) in
            [("host", 1, "deposit: lost update"), ("plain_host", 3, "left out: deposit;")]
        {
            prints_everywhere(&there(host), Some(&plugin), "150\n");
            let (status, report) = watch(directory, &there(host), Some(&plugin));
            assert_eq!(status, Some(expected), "{host}: {report}");
            assert!(report.contains(told), "{host}: {report}");
        }
    }
}

/// Every atomic operation does what it should when nobody watches.
#[test]
fn atomic_operations_work_alone() {
    for compiler in ["gcc", clang(false)] {
        let directory = workplace();
        let directory = directory.path();
        let source = programs().join("surroundings/atomic_operations.c").display().to_string();
        atomvet_cc(directory, compiler, &format!("-O1 -mcx16 {source} -pthread -latomic -o operations"));
        let elsewhere = move_away(directory, &["operations"]);
        prints_everywhere(&elsewhere.path().join("operations"), None, "all as expected\n");
    }
}

/// Objects with hooks can be linked with `-static`. Nothing can be observed of the result, and both commands say so.
#[test]
fn a_static_program_runs_and_says_why_it_cannot_be_watched() {
    let directory = workplace();
    let directory = directory.path();
    let source = programs().join("c/bank_bad.c").display().to_string();
    atomvet_cc(directory, "gcc", &format!("-O1 -c {source} -o bank.o"));
    let mut command = Command::new(ATOMVET);
    command.args(["cc", "-static", "bank.o", "choreography.o", "-pthread", "-o", "bank"]);
    let output = run(command.env("XDG_CACHE_HOME", directory.join("cache")).current_dir(directory));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("no runtime can be loaded into a static program"), "{said}");
    let elsewhere = move_away(directory, &["bank"]);
    let bank: PathBuf = elsewhere.path().join("bank");
    prints_everywhere(&bank, None, "balance 150, expected 200\n");
    let (status, report) = watch(directory, &bank, None);
    assert_eq!(status, Some(3), "{report}");
    assert!(report.contains("it is linked statically"), "{report}");
}
