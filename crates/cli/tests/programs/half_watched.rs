//! Programs that are watched in part: objects without hooks in one with hooks, programs without hooks beside one with hooks,
//! processes in which nothing can be observed. The verdict stands, and what it does not cover is named. Sources are in
//! `tests/programs/half`.

use std::path::Path;
use std::process::Command;

use super::{ATOMVET, clang, programs, run, succeed};

fn source(name: &str) -> String {
    programs().join("half").join(name).display().to_string()
}

/// Calls a compiler, in words.
fn compile(directory: &Path, command: &str) {
    let mut words = command.split(' ');
    succeed(Command::new(words.next().expect("a compiler")).args(words).current_dir(directory));
}

/// The exit status of `atomvet run`, and what it says in one line.
fn watch(directory: &Path, program: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(ATOMVET);
    command.current_dir(directory).args(["run", "--width", "1000", "--", program]).args(arguments);
    let output = run(&mut command);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn an_object_without_hooks_is_named() {
    let cc = format!("{ATOMVET} cc");
    let with_clang = format!("env ATOMVET_CC={} {ATOMVET} cc", clang(false));
    for (hooked, plain) in [
        (format!("{cc} -O1"), "gcc -O1"),
        (format!("{cc} -O1"), "gcc -O1 -g"),
        (format!("{cc} -O2 -g0"), "gcc -O2"),
        (format!("{with_clang} -O1"), "gcc -O1"),
        ("gcc -g -fsanitize=thread".to_owned(), "gcc -g"),
        ("gcc -fsanitize=thread".to_owned(), "gcc"),
    ] {
        let directory = tempfile::tempdir().expect("a directory");
        let directory = directory.path();
        let (main, account) = (source("main.c"), source("account.c"));
        compile(directory, &format!("{plain} -c {account} -o account.o"));
        compile(directory, &format!("{hooked} {main} account.o -pthread -o half"));
        let (status, said) = watch(directory, "./half", &[]);
        assert_eq!(status, Some(0), "{hooked}, {plain}: {said}");
        let note = "note: ./half: not all code was watched: no hooks in ";
        let (_, note) = said.split_once(note).unwrap_or_else(|| panic!("{hooked}, {plain}: {said}"));
        let (named, _) = note.split_once(';').expect("what follows");
        assert!(named.ends_with("account.c") && !named.contains(", "), "{hooked}, {plain}: {said}");
        assert!(said.contains("NOT WATCHED: code without hooks: "), "{hooked}, {plain}: {said}");
        assert!(said.contains("nothing found in what was watched"), "{hooked}, {plain}: {said}");
        // With hooks in both, there is nothing to name.
        compile(directory, &format!("{hooked} {main} {account} -pthread -o whole"));
        let (_, said) = watch(directory, "./whole", &[]);
        assert!(!said.contains("hooks") && !said.contains("WATCHED"), "{hooked}: {said}");
    }
}

/// The functions that compilers take from the C++ library are not the user's.
#[test]
fn templates_of_the_library_are_not_named() {
    let with_clang = format!("env ATOMVET_CXX={} {ATOMVET} c++ -O1", clang(true));
    for compiler in [
        format!("{ATOMVET} c++ -O0"),
        format!("{ATOMVET} c++ -O2 -static-libstdc++ -static-libgcc"),
        "g++ -g -O0 -fsanitize=thread".to_owned(),
        "g++ -g -O2 -fsanitize=thread".to_owned(),
        with_clang,
    ] {
        let directory = tempfile::tempdir().expect("a directory");
        compile(directory.path(), &format!("{compiler} {} -pthread -o map", source("map.cpp")));
        let (status, said) = watch(directory.path(), "./map", &[]);
        assert_eq!(status, Some(0), "{compiler}: {said}");
        assert!(!said.contains("hooks"), "{compiler}: {said}");
    }
}

#[test]
fn a_program_without_hooks_beside_one_with_hooks_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path();
    let sources = format!("{} {}", source("main.c"), source("account.c"));
    compile(directory, &format!("{ATOMVET} cc {sources} -pthread -o hooked"));
    compile(directory, &format!("gcc {sources} -pthread -o plain"));
    let named = "programs without hooks were started, and are not part of the verdict: ./plain;";
    for script in
        ["./hooked; ./plain", "./plain; ./hooked", "./plain; exec ./hooked", "./hooked; exec ./plain"]
    {
        let (status, said) = watch(directory, "sh", &["-c", script]);
        assert_eq!(status, Some(0), "{script}: {said}");
        assert!(said.contains(named), "{script}: {said}");
        assert!(said.contains("NOT WATCHED: programs without hooks: ./plain"), "{script}: {said}");
    }
    let (status, said) = watch(directory, "sh", &["-c", "./plain; ./plain"]);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains(named), "{said}");
    let (status, said) = watch(directory, "sh", &["-c", "./hooked; ls; ./hooked"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(!said.contains("without hooks"), "{said}");
}

/// A test runner with one thread, whose children do the work.
#[test]
fn children_in_which_nothing_was_observed_are_not_hidden_by_their_parent() {
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path();
    compile(directory, &format!("{ATOMVET} cc {} -pthread -o runner", source("runner.c")));
    // Of the runner and two children, a child with threads is the one to look at.
    let (status, said) = watch(directory, "./runner", &["entries"]);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("atomic = [\"work\"]"), "{said}");
    assert!(said.contains("nothing was observed in 1 more of its processes: no block:"), "{said}");
    assert!(said.contains("nothing was observed in 1 more of its processes: one thread only:"), "{said}");
    // Here the children have something to check.
    let (status, said) = watch(directory, "./runner", &["blocks"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("nothing was observed in 1 more of its processes: one thread only:"), "{said}");
}

/// Something is checked, but not what the threads do.
#[test]
fn threads_in_which_nothing_is_checked_are_told() {
    let directory = tempfile::tempdir().expect("a directory");
    compile(directory.path(), &format!("{ATOMVET} cc {} -pthread -o prepared", source("prepared.c")));
    let (status, said) = watch(directory.path(), "./prepared", &[]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("only functions of the main thread were checked"), "{said}");
    assert!(said.contains("atomic = [\"work\"]"), "{said}");
}
