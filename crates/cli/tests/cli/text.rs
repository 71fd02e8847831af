//! What people see on a terminal: every shape at several widths, with and without source text and colours; and that
//! nothing a trace holds gets a line wider than the terminal.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Files, LOST, atomvet, atomvet_with, command, trace};
use crate::report::{corpus, kept, stories};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// Holds a text to what it was.
#[track_caller]
fn is_as_it_was(name: &str, now: &str) {
    let path = golden(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, now).expect("written");
    }
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(before == now, "look at this, then run with BLESS=1: {}\n{now}", path.display());
}

/// The folder with the source text of the bank.
fn sources() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources").display().to_string()
}

fn text(report: &str, options: &[&str]) -> String {
    let arguments: Vec<&str> =
        ["report", "--format", "text", "-"].into_iter().chain(options.iter().copied()).collect();
    atomvet_with(&arguments, report.as_bytes()).ends_with(0).out
}

/// Columns that a terminal needs, for what is in these tests: some characters take two.
fn columns(line: &str) -> usize {
    line.chars().map(|c| if ('\u{1100}'..'\u{fff0}').contains(&c) && c > '\u{2e80}' { 2 } else { 1 }).sum()
}

#[test]
fn every_story_at_every_width() {
    for (name, story, algorithm) in stories() {
        let report = kept(&story, algorithm);
        for width in ["60", "160"] {
            let shown = text(&report, &["--width", width]);
            is_as_it_was(&format!("{name}.{width}.txt"), &shown);
            let most: usize = width.parse().expect("a number");
            assert!(shown.lines().all(|line| columns(line) <= most), "{shown}");
        }
    }
}

#[test]
fn source_text_is_shown_with_what_happens_there() {
    let report = kept(&corpus("demo-bank"), "regiontrack");
    let root = sources();
    for width in ["40", "60", "100", "160"] {
        let shown = text(&report, &["--source-root", &root, "--width", width]);
        is_as_it_was(&format!("lost_update.source.{width}.txt"), &shown);
    }
    is_as_it_was(
        "lost_update.source.colour.txt",
        &text(&report, &["--source-root", &root, "--color", "always"]),
    );
}

#[test]
fn a_report_reads_as_it_did_when_it_was_printed() {
    for (name, story, algorithm) in stories() {
        let files = Files::new(&[]);
        let path = files.add("story.std", story.as_bytes());
        for options in [&[][..], &["--all-instances", "--verify"], &["--max-findings", "0"]] {
            let check = |formats: &[&str]| {
                let mut arguments = vec!["check", "--algo", algorithm];
                arguments.extend(options.iter().filter(|_| !options.contains(&"--max-findings")));
                arguments.extend(formats);
                arguments.push(&path);
                atomvet(&arguments).ends_with(1).out
            };
            let shown: &[&str] = if options.contains(&"--max-findings") { options } else { &[] };
            let printed = check(shown);
            let later = text(&check(&["--format", "json"]), shown);
            assert_eq!(printed, later, "{name} {options:?}");
        }
    }
}

#[test]
fn colours_are_for_terminals() {
    let input = trace(LOST);
    let run = |options: &[&str], variables: &[(&str, &str)]| {
        let files = Files::new(&[]);
        let path = files.add("lost.std", input.as_bytes());
        let arguments: Vec<&str> =
            ["check"].into_iter().chain(options.iter().copied()).chain([&*path]).collect();
        let mut command = command(&arguments);
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied());
        let output = command.output().expect("atomvet runs");
        String::from_utf8(output.stdout).expect("UTF-8").contains('\u{1b}')
    };
    assert!(!run(&[], &[]), "plain when piped");
    assert!(run(&["--color", "always"], &[]) && run(&["--color", "always"], &[("NO_COLOR", "1")]));
    assert!(run(&[], &[("CLICOLOR_FORCE", "1")]) && !run(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!run(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    atomvet(&["check", "--color", "sometimes", "x"])
        .ends_with(2)
        .complains("possible values: auto, always, never");
    atomvet(&["check", "--width", "12", "x"]).ends_with(2).complains("--width");
}

#[test]
fn no_name_makes_a_line_too_wide() {
    let wide = "世界".repeat(40);
    let marks = "e\u{301}\u{302}\u{303}".repeat(30);
    let names = ["L".repeat(10_000), wide, marks, "a/b/c/".repeat(30), "\u{1b}[31m".repeat(20)];
    for name in &names {
        let mut value: Value = serde_json::from_str(&kept(&trace(LOST), "regiontrack")).expect("JSON");
        let report = value.to_string();
        let quoted = serde_json::to_string(name).expect("a string");
        let quoted = &quoted[1..quoted.len() - 1];
        for part in ["deposit", "T1", "\"x\"", "b.c", "\"lost update\"", "\"a5eb8bc7c01c91a6\""] {
            let with = if part.starts_with('"') { format!("\"{quoted}\"") } else { quoted.to_owned() };
            assert!(report.contains(part), "{part} not in {report}");
            value = serde_json::from_str(&report.replace(part, &with)).expect("JSON");
            for width in [40, 60, 100] {
                let shown = text(&value.to_string(), &["--width", &width.to_string()]);
                assert!(!shown.contains('\u{1b}'));
                for line in shown.lines() {
                    let marks = line.chars().filter(|c| ('\u{300}'..'\u{370}').contains(c)).count();
                    assert!(columns(line) - marks <= width, "{part} in {width}: {line}");
                }
            }
        }
    }
}

#[test]
fn many_threads_are_shown_below_each_other() {
    let number = 30;
    let mut story = String::from("T0|begin(first)|a.c:1\nT0|w(v0)|a.c:2\n");
    for i in 1..number {
        story += &format!(
            "T{i}|begin(b{i})|a.c:3\nT{i}|r(v{})|a.c:4\nT{i}|w(v{i})|a.c:5\nT{i}|end|a.c:6\n",
            i - 1
        );
    }
    story += &format!("T0|r(v{})|a.c:7\nT0|end|a.c:8\n", number - 1);
    let shown = text(&kept(&story, "regiontrack"), &[]);
    assert!(shown.lines().all(|line| columns(line) <= 100), "{shown}");
    assert!(shown.contains("\n   thread T1\n") && shown.contains("\n   …\n"), "{shown}");
}
