//! What the documents show is what the command does: their `console` examples are run.
//!
//! In an example, a line `$ …` is a command for the shell, lines `> …` below it go on with it, the lines below that are what
//! it prints: on standard output, or there and then on standard error. `...` on a line of its own stands for any lines, at the
//! end of a line for the rest of it; `[exit N]` is the status, 0 if missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value};

use crate::common::{Files, atomvet};

#[test]
fn readme() {
    run("README.md", 5);
}

#[test]
fn reference_pages() {
    for page in pages("docs") {
        run(&page, 0);
    }
    for page in ["commands", "json", "prediction", "reports", "specification", "trace-formats"] {
        assert!(text(&format!("docs/{page}.md")).contains("```console\n"), "{page}");
    }
}

#[test]
fn guide() {
    for page in pages("docs/guide") {
        run(&page, 0);
        // Nothing that looks like a command may go unrun.
        for shell in ["```sh\n", "```bash\n", "```shell\n"] {
            assert!(!text(&page).contains(shell), "{page} has a block {shell:?}: make it ```console");
        }
    }
}

/// The workflow that people copy: its own commands make the file that it uploads.
#[test]
fn the_workflow_in_the_guide_works() {
    let workflow = text("docs/guide/github-actions.yml");
    let workflow = yaml(&workflow);
    assert_eq!(workflow["permissions"]["security-events"].as_str(), Some("write"));
    let steps = workflow["jobs"]["atomicity"]["steps"].as_array().expect("steps");
    let step = |name: &str| steps.iter().find(|step| step["name"].as_str() == Some(name)).expect(name);
    let files = Files::new(&[("Makefile", "tests: bank.c\n\t$(CC) -pthread bank.c -o tests\n")]);
    atomvet(&["demo", "-o", &files.at(".")]).ends_with(0);
    for (name, status) in [("Build", 0), ("Run", 1)] {
        let command = step(name)["run"].as_str().expect("a command");
        let output = shell(command, &files.path("."));
        assert_eq!(output.status.code(), Some(status), "{name}: {output:?}");
    }
    let uploaded = step("Upload")["with"]["sarif_file"].as_str().expect("a file");
    let sarif = std::fs::read_to_string(files.path(uploaded)).expect("it was made");
    assert!(sarif.contains("deposit is not atomic"), "{sarif}");
    for name in ["Upload", "Keep"] {
        assert_eq!(step(name)["if"].as_str(), Some("${{ !cancelled() }}"), "{name}");
    }
    for kept in step("Keep")["with"]["path"].as_str().expect("files").lines() {
        assert!(files.path(kept).exists(), "{kept}");
    }
}

/// Reads YAML as plain as workflows are: mappings, lists of mappings, words, and text behind `|`. Panics at all else, so
/// that what it reads means what it seems to.
fn yaml(text: &str) -> Value {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for line in text.lines() {
        let line = line.split(" #").next().unwrap_or_default().trim_end();
        let words = line.trim_start();
        if words.is_empty() || words.starts_with('#') {
            continue;
        }
        let indent = line.len() - words.len();
        match words.strip_prefix("- ") {
            // An item is a mapping that begins two columns further right.
            Some(first) => lines.extend([(indent, "-".to_owned()), (indent + 2, first.to_owned())]),
            None => lines.push((indent, words.to_owned())),
        }
    }
    let mut rest = &lines[..];
    let value = node(&mut rest, 0);
    assert!(rest.is_empty(), "wrongly indented: {:?}", rest.first());
    value
}

fn node(rest: &mut &[(usize, String)], indent: usize) -> Value {
    let (mut mapping, mut list) = (Map::new(), Vec::new());
    while let Some(((at, words), others)) = rest.split_first()
        && *at == indent
    {
        *rest = others;
        if words == "-" {
            list.push(node(rest, indent + 2));
            continue;
        }
        let (key, value) = words.split_once(':').unwrap_or_else(|| panic!("no key: {words}"));
        let inner = rest.first().map_or(0, |(inner, _)| *inner);
        let value = match value.trim() {
            "|" => {
                let length = rest.iter().take_while(|(inner, _)| *inner > indent).count();
                let (block, others) = rest.split_at(length);
                *rest = others;
                Value::from(block.iter().map(|(_, line)| format!("{line}\n")).collect::<String>())
            }
            "" if inner > indent => node(rest, inner),
            "" => Value::Null,
            value => Value::from(value),
        };
        assert!(mapping.insert(key.to_owned(), value).is_none(), "{key} is there twice");
    }
    assert!(mapping.is_empty() || list.is_empty(), "a list and a mapping in one: {list:?} {mapping:?}");
    if list.is_empty() { Value::Object(mapping) } else { Value::Array(list) }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(document: &str) -> String {
    std::fs::read_to_string(root().join(document)).unwrap_or_else(|error| panic!("{document}: {error}"))
}

/// The documents of a folder.
fn pages(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(folder)).expect(folder);
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut pages: Vec<String> =
        names.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}/{name}")).collect();
    pages.sort();
    assert!(pages.len() >= 7, "{pages:?}");
    pages
}

/// Runs the examples of a document, at least so many, all in one new folder.
fn run(document: &str, least: usize) {
    let text = text(document);
    let folder = tempfile::tempdir().expect("a folder");
    let mut examples = 0;
    for example in text.split("```console\n").skip(1) {
        let example = example.split("```").next().unwrap_or_default();
        for part in format!("\n{example}").split("\n$ ").skip(1) {
            let mut lines = part.lines().peekable();
            let mut command = lines.next().unwrap_or_default().to_owned();
            while let Some(more) = lines.next_if(|line| *line == ">" || line.starts_with("> ")) {
                command.push('\n');
                command.push_str(more.strip_prefix("> ").unwrap_or_default());
            }
            check(document, &command, &lines.collect::<Vec<_>>().join("\n"), folder.path());
        }
        examples += 1;
    }
    assert!(examples >= least, "{document} has {examples} examples");
}

/// Runs a command of the shell in a folder, with this atomvet on the path.
fn shell(command: &str, folder: &Path) -> std::process::Output {
    let bin = Path::new(env!("CARGO_BIN_EXE_atomvet")).parent().expect("a folder");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh").arg("-c").arg(command).current_dir(folder).env("PATH", path).output();
    output.expect("a shell")
}

fn check(document: &str, command: &str, expected: &str, folder: &Path) {
    let output = shell(command, folder);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let with_errors = format!("{printed}{}", String::from_utf8_lossy(&output.stderr));
    let mut expected: Vec<&str> = expected.trim_end().lines().collect();
    let status = expected.pop_if(|last| last.starts_with("[exit "));
    let wanted: i32 = status.map_or(0, |s| s["[exit ".len()..s.len() - 1].parse().expect("a status"));
    let context = format!("{document}: `{command}`\n{with_errors}");
    assert_eq!(output.status.code(), Some(wanted), "{context}");
    let same = |printed: &str| matches(&expected, &printed.lines().collect::<Vec<_>>());
    assert!(same(&printed) || same(&with_errors), "{context}\nis not\n{}", expected.join("\n"));
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
