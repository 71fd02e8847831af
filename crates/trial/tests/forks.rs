//! Children of programs under the live checker, in every way that there is to make one: each has a checker of its own, and writes
//! nothing as its parent's threads.

use std::path::Path;
use std::process::Command;

use atomvet_live::table::{Counter, Table};
use atomvet_trial::native::live;

/// Per process, how many threads it had and how many calls of functions were counted.
fn run(program: &Path, runtime: &Path, way: &str) -> Vec<(u64, u64)> {
    let run = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(program);
    command.arg(way).env("LD_PRELOAD", runtime).env("ATOMVET_RING_DIRECTORY", run.path());
    let status = command.status().expect("it runs");
    assert_eq!(status.code(), Some(7), "{way}");
    let files =
        std::fs::read_dir(run.path()).expect("it is there").map(|entry| entry.expect("a file").path());
    let mut tables: Vec<(u64, u64)> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "live"))
        .map(|path| Table::read(&std::fs::read(path).expect("it is there")).expect("a table"))
        .map(|table| (table.get(Counter::Threads), table.entered().iter().map(|entered| entered.count).sum()))
        .collect();
    tables.sort_unstable_by_key(|&(threads, _)| std::cmp::Reverse(threads));
    tables
}

#[test]
fn every_child_has_a_checker_of_its_own() {
    let folder = tempfile::tempdir().expect("a directory");
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let runtime = live::build(&crates, folder.path()).expect("the runtime");
    let program = folder.path().join("forks");
    let source = crates.join("trial/tests/forks.c");
    let status = Command::new("gcc")
        .args(["-g", "-O1", "-fsanitize=thread"])
        .arg(source)
        .arg("-o")
        .arg(&program)
        .status();
    assert!(status.expect("gcc; install it").success());

    let calls = |way| match run(&program, &runtime, way)[..] {
        [(2, in_parent), (1, in_child)] => (in_parent, in_child),
        ref tables => panic!("{way}: {tables:?}"),
    };
    // In the child `child` and ten calls.
    let (in_parent, in_child) = calls("fork");
    assert_eq!(in_child, 11);
    for way in ["_Fork", "syscall", "instruction", "clone"] {
        let found = calls(way);
        // Nobody told us of these: the child's first event is still its parent's, and lost.
        assert!(found == (in_parent, 10) || found == (in_parent, 11), "{way}: {found:?}, not {in_parent}");
    }
    // The child is its parent's thread, which goes on behind it: its calls are counted there.
    assert_eq!(run(&program, &runtime, "vfork"), [(2, in_parent + 11)]);
}
