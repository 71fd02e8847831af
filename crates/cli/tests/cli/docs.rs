//! What the documents show is what the command does: their `console` examples are run.
//!
//! In an example, a line `$ …` is a command for the shell, the lines below it are what it prints. `...` on a line of
//! its own stands for any lines, at the end of a line for the rest of it; `[exit N]` is the status, 0 if missing.

use std::path::Path;
use std::process::Command;

#[test]
fn readme() {
    run("README.md", 5);
}

#[test]
fn documentation() {
    run("docs/commands.md", 1);
    run("docs/json.md", 1);
    run("docs/prediction.md", 1);
    run("docs/reports.md", 1);
    run("docs/specification.md", 4);
    run("docs/trace-formats.md", 1);
}

/// Runs the examples of a document, at least so many, all in one new folder.
fn run(document: &str, least: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(document)).expect("the document exists");
    let folder = tempfile::tempdir().expect("a folder");
    let mut examples = 0;
    for example in text.split("```console\n").skip(1) {
        let example = example.split("```").next().unwrap_or_default();
        for part in format!("\n{example}").split("\n$ ").skip(1) {
            let (command, expected) = part.split_once('\n').unwrap_or((part, ""));
            check(document, command, expected, folder.path());
        }
        examples += 1;
    }
    assert!(examples >= least, "{document} has {examples} examples");
}

fn check(document: &str, command: &str, expected: &str, folder: &Path) {
    let bin = Path::new(env!("CARGO_BIN_EXE_atomvet")).parent().expect("a folder");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh").arg("-c").arg(command).current_dir(folder).env("PATH", path).output();
    let output = output.expect("a shell");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut expected: Vec<&str> = expected.trim_end().lines().collect();
    let status = expected.pop_if(|last| last.starts_with("[exit "));
    let wanted: i32 = status.map_or(0, |s| s["[exit ".len()..s.len() - 1].parse().expect("a status"));
    let context = format!("{document}: `{command}`\n{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(wanted), "{context}");
    assert!(
        matches(&expected, &printed.lines().collect::<Vec<_>>()),
        "{context}\nis not\n{}",
        expected.join("\n")
    );
}

fn matches(expected: &[&str], printed: &[&str]) -> bool {
    match (expected.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((&"...", rest)), _) => (0..=printed.len()).any(|skip| matches(rest, &printed[skip..])),
        (Some((line, rest)), Some((first, others))) => {
            let same = match line.strip_suffix("...") {
                Some(start) => first.starts_with(start.trim_end()),
                None => line == first,
            };
            same && matches(rest, others)
        }
        _ => false,
    }
}

#[test]
fn an_example_that_is_not_so_is_noticed() {
    assert!(matches(&["a", "...", "c ..."], &["a", "b", "b", "c d"]));
    assert!(!matches(&["a", "b"], &["a", "c"]));
    assert!(!matches(&["a"], &["a", "b"]));
    assert!(!matches(&["a", "b"], &["a"]));
}
