//! What surrounds a program: how it was linked and stripped, where its debug information is, what it loads later.
//! Sources are in `tests/programs/surroundings`.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{ATOMVET, blamed, programs, run, succeed, violations, workplace};

fn source(name: &str) -> PathBuf {
    programs().join(name)
}

/// `compiler arguments… source choreography.o -o binary`, by words.
pub(crate) fn build(directory: &Path, compiler: &str, from: &str, binary: &str) -> PathBuf {
    let binary = directory.join(binary);
    let mut words = compiler.split(' ');
    let mut command = Command::new(words.next().expect("a compiler"));
    command.args(words).arg("-I").arg(programs()).arg(source(from)).arg(directory.join("choreography.o"));
    succeed(command.args(["-pthread", "-ldl", "-o"]).arg(&binary));
    binary
}

pub(crate) fn atomvet_cc(directory: &Path, from: &str, binary: &str) -> PathBuf {
    build(directory, &format!("{ATOMVET} cc -O1"), from, binary)
}

/// The report on a program, and what it printed.
pub(crate) fn watch(command: &mut Command) -> (Value, String) {
    let output = run(command);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    // The choreography has no hooks, which is noted every time.
    let report: String = stderr.lines().filter(|line| !line.starts_with("atomvet: note: ")).collect();
    let report =
        serde_json::from_str(&report).unwrap_or_else(|error| panic!("{command:?}: {error}: {stderr}"));
    (report, String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(crate) fn atomvet_run(binary: &Path) -> Command {
    let mut command = Command::new(ATOMVET);
    command.args(["run", "--format", "json", "--"]).arg(binary);
    command
}

/// The lines, without the names of files, of the event that completes each violation.
fn completed_at(report: &Value) -> Vec<String> {
    let site = |v: &&Value| v["site"].as_str().unwrap_or("").rsplit('/').next().unwrap_or("").to_owned();
    violations(report).iter().map(site).collect()
}

#[test]
fn a_library_that_is_loaded_later_has_blocks_and_lines() {
    let directory = workplace();
    let directory = directory.path();
    for compiler in [format!("{ATOMVET} cc"), "gcc -g -fsanitize=thread".to_owned()] {
        let host = build(directory, &format!("{compiler} -rdynamic"), "surroundings/host.c", "host");
        let library = directory.join("plugin.so");
        let mut words = compiler.split(' ');
        let mut command = Command::new(words.next().expect("a compiler"));
        command.args(words).args(["-shared", "-fPIC", "-o"]).arg(&library);
        succeed(command.arg(source("surroundings/plugin.c")));
        let (report, printed) = watch(atomvet_run(&host).arg(&library));
        assert_eq!(printed, "150\n");
        assert_eq!(blamed(&report), [("deposit".to_owned(), 10)].into(), "{compiler}: {report:#}");
        assert_eq!(completed_at(&report), ["plugin.c:16"], "{compiler}: {report:#}");
        let names = report.to_string();
        assert!(names.contains("plugin_balance"), "{compiler}: {report:#}");
    }
}

/// `library.so` of `from`, compiled with these definitions.
fn build_library(
    directory: &Path,
    compiler: &str,
    from: &str,
    definitions: &[&str],
    library: &str,
) -> PathBuf {
    let library = directory.join(library);
    let mut words = compiler.split(' ');
    let mut command = Command::new(words.next().expect("a compiler"));
    command
        .args(words)
        .args(["-shared", "-fPIC"])
        .args(definitions.iter().map(|define| format!("-D{define}")));
    succeed(command.arg(source(from)).arg("-o").arg(&library));
    library
}

#[test]
fn libraries_that_are_loaded_where_others_were_have_their_own_names() {
    let directory = workplace();
    let directory = directory.path();
    for compiler in [format!("{ATOMVET} cc"), "gcc -g -fsanitize=thread".to_owned()] {
        let reload = build(directory, &format!("{compiler} -rdynamic"), "surroundings/reload.c", "reload");
        let library = |function: &str| {
            let definitions = [
                format!("FUNCTION={function}"),
                format!("VARIABLE={function}_total"),
                format!("LOCK={function}_lock"),
            ];
            let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
            let library = format!("{function}.so");
            build_library(directory, &compiler, "surroundings/reloaded.c", &definitions, &library)
        };
        let mut command = atomvet_run(&reload);
        for function in ["deposit", "withdraw", "deposit"] {
            command.arg(library(function)).arg(function);
        }
        let (report, printed) = watch(&mut command);
        assert_eq!(printed, "here\nhere\nhere\n", "libraries do not take each other's places");
        let blamed: Vec<_> = blamed(&report).into_iter().map(|(name, _)| name).collect();
        assert_eq!(blamed, ["deposit", "withdraw"], "{compiler}: {report:#}");
        let found = violations(&report);
        // One is of two instances, of which each has its own variable.
        let counts: BTreeSet<_> = found.iter().map(|v| v["count"].as_u64()).collect();
        assert_eq!(counts, [Some(1), Some(2)].into(), "{compiler}: {report:#}");
        for violation in found {
            let block = violation["block"]["label"].as_str().unwrap_or_default();
            let other = if block == "deposit" { "withdraw" } else { "deposit" };
            let text = violation.to_string();
            assert!(text.contains(&format!("{block}_total")), "{compiler}: {report:#}");
            assert!(!text.contains(other), "{compiler}: {report:#}");
        }
    }
}

#[test]
fn libraries_can_be_named_in_a_specification() {
    let directory = workplace();
    let directory = directory.path();
    let compiler = format!("{ATOMVET} cc");
    let host = build(directory, &format!("{compiler} -rdynamic"), "surroundings/host.c", "host");
    let library = build_library(directory, &compiler, "surroundings/plugin.c", &[], "plugin.so");
    let [deposit, worker] = ["deposit", "first_worker"].map(|name| (name.to_owned(), 10));
    let cases = [
        ("atomic = [\"library:plugin.so\"]", &deposit),
        ("atomic = [\"library:*/plugin.*\"]", &deposit),
        ("exclude = [\"library:host\"]", &deposit),
        // What threads are started with as well, since it is named.
        ("atomic = [\"library:host\"]", &worker),
        ("atomic = [\"library:*\"]\nexclude = [\"library:plugin.so\"]", &worker),
    ];
    for (text, expected) in cases {
        let spec = directory.join("spec.toml");
        std::fs::write(&spec, text).expect("a file");
        let mut command = Command::new(ATOMVET);
        command.args(["run", "--format", "json", "--spec"]).arg(&spec).arg("--").arg(&host).arg(&library);
        let (report, printed) = watch(&mut command);
        assert_eq!(printed, "150\n");
        assert_eq!(blamed(&report), [expected.clone()].into(), "{text}: {report:#}");
    }
}

/// The events of a run in which every access is recorded, as text.
fn all_events(binary: &Path) -> String {
    let (trace, text) = (binary.with_extension("atv"), binary.with_extension("std"));
    let mut command = Command::new(ATOMVET);
    command.args(["run", "--format", "json", "--record-all", "--record"]).arg(&trace).arg("--").arg(binary);
    watch(&mut command);
    succeed(Command::new(ATOMVET).arg("convert").arg(&trace).arg("-o").arg(&text));
    std::fs::read_to_string(text).expect("a trace")
}

#[test]
fn what_concerns_nobody_is_no_access() {
    let directory = workplace();
    let compiler = "g++ -g -fsanitize=thread";
    let events = all_events(&build(directory.path(), compiler, "surroundings/unwinds.cpp", "unwinds"));
    // The program copies a text in quotes, and libstdc++ copies it from there.
    let is_at = |event: &str, access: &str, place: &str| {
        let mut parts = event.split('|').skip(1);
        parts.next().is_some_and(|a| a.starts_with(access)) && parts.next().is_some_and(|p| p.contains(place))
    };
    let count =
        |access: &str, place: &str| events.lines().filter(|event| is_at(event, access, place)).count();
    // An access to two variables is recorded as an event of one, of the other, and of the first again.
    assert_eq!(count("w(copied", "unwinds.cpp:11"), 6, "{events}");
    assert!(count("r(copied", "libstdc++") > 0, "{events}");
    assert_eq!(count("r(", "unwinds.cpp:11"), count("r(quoted)", "unwinds.cpp:11"), "{events}");
    for place in ["libgcc_s", "libtsan", "ld-linux"] {
        assert_eq!(count("", place), 0, "{events}");
    }
}

#[test]
fn a_stripped_program_has_places() {
    let directory = workplace();
    for compiler in [format!("{ATOMVET} cc -O1"), "gcc -O1 -fsanitize=thread".to_owned()] {
        let binary = build(directory.path(), &compiler, "c/bank_bad.c", "bank");
        succeed(Command::new("strip").arg(&binary));
        let (report, _) = watch(&mut atomvet_run(&binary));
        let names: Vec<_> = blamed(&report).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), 1, "{compiler}: {report:#}");
        assert!(names[0].starts_with("bank+0x"), "{compiler}: {report:#}");
        assert!(completed_at(&report)[0].starts_with("bank+0x"), "{compiler}: {report:#}");
    }
}

/// Where the debug information of a program can be, by what leads to it.
#[derive(Clone, Copy, Debug)]
enum Debug {
    /// A `.gnu_debuglink` to a file beside it.
    Link,
    /// The same, in a folder `.debug`.
    LinkBelow,
    /// The build id, below a directory that the environment names.
    BuildId,
}

#[test]
fn debug_information_in_a_file_of_its_own_is_found() {
    for place in [Debug::Link, Debug::LinkBelow, Debug::BuildId] {
        let directory = workplace();
        let directory = directory.path();
        let binary = build(directory, &format!("{ATOMVET} cc -Wl,--build-id"), "c/bank_bad.c", "bank");
        let debug = directory.join("bank.debug");
        succeed(Command::new("objcopy").arg("--only-keep-debug").arg(&binary).arg(&debug));
        succeed(Command::new("strip").arg(&binary));
        let mut command = atomvet_run(&binary);
        match place {
            Debug::Link | Debug::LinkBelow => {
                let option = format!("--add-gnu-debuglink={}", debug.display());
                succeed(Command::new("objcopy").arg(option).arg(&binary));
                if matches!(place, Debug::LinkBelow) {
                    std::fs::create_dir(directory.join(".debug")).expect("a directory");
                    std::fs::rename(&debug, directory.join(".debug/bank.debug")).expect("the file");
                }
            }
            Debug::BuildId => {
                let notes = succeed(Command::new("readelf").arg("-n").arg(&binary));
                let id = notes.split("Build ID: ").nth(1).expect("a build id").split_whitespace().next();
                let (first, rest) = id.expect("a build id").split_at(2);
                let root = directory.join("symbols");
                let folder = root.join(".build-id").join(first);
                std::fs::create_dir_all(&folder).expect("a directory");
                std::fs::rename(&debug, folder.join(format!("{rest}.debug"))).expect("the file");
                command.env("ATOMVET_DEBUG_PATH", format!("/nowhere:{}", root.display()));
            }
        }
        let (report, _) = watch(&mut command);
        assert_eq!(blamed(&report), [("deposit".to_owned(), 23)].into(), "{place:?}: {report:#}");
        assert!(report.to_string().contains("\"balance\""), "{place:?}: {report:#}");
    }
}

/// What is said about a program of which nothing can be observed.
fn check_nothing_observed(binary: &Path, told: &str, printed: &str) {
    let output = run(Command::new(ATOMVET).arg("run").arg("--").arg(binary));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains(told), "{stderr}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), printed, "{stderr}");
}

#[test]
fn what_cannot_be_observed_is_told_with_the_remedy() {
    let directory = workplace();
    let directory = directory.path();
    let balance = "balance 150, expected 200\n";
    let plain = build(directory, "gcc", "c/bank_bad.c", "plain");
    check_nothing_observed(&plain, "it calls no hooks; build it with CC=\"atomvet cc\"", balance);
    let missing = build_library(directory, "gcc", "surroundings/plugin.c", &[], "missing.so");
    let compiler = format!("{ATOMVET} cc -Wl,--no-as-needed {}", missing.display());
    let lacking = build(directory, &compiler, "c/bank_bad.c", "lacking");
    std::fs::remove_file(missing).expect("it is there");
    check_nothing_observed(&lacking, "it is built for it, but came to no instrumented code", "");
    let static_one = build(directory, "gcc -static", "c/bank_bad.c", "static");
    check_nothing_observed(&static_one, "it is linked statically", balance);
    let clang = super::clang(false);
    let own = build(directory, &format!("{clang} -fsanitize=thread"), "c/bank_bad.c", "own");
    check_nothing_observed(&own, "it contains ThreadSanitizer's own runtime", balance);
}

#[test]
fn a_record_of_all_accesses_is_a_ground_for_prediction() {
    let directory = workplace();
    let directory = directory.path();
    let binary = atomvet_cc(directory, "surroundings/in_turn.c", "in_turn");
    let trace = directory.join("in_turn.atv");
    let mut command = Command::new(ATOMVET);
    command.args(["run", "--format", "json", "--record-all", "--record"]).arg(&trace).arg("--").arg(&binary);
    let (report, printed) = watch(&mut command);
    assert_eq!(printed, "2\n");
    assert_eq!(blamed(&report), [].into(), "{report:#}");
    let program = &report["traces"][0]["program"];
    assert_eq!(program["accesses"], program["accesses_recorded"], "{report:#}");
    let mut command = Command::new(ATOMVET);
    command.args(["check", "--predict", "--format", "json"]).arg(&trace);
    let output = run(&mut command);
    let predicted = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{predicted}");
    assert!(predicted.contains("\"increment\""), "{predicted}");
}

/// In steps, as build systems do it: objects, a shared library, response files, standard input, what is only asked.
#[test]
fn the_compiler_is_a_drop_in() {
    for compiler in ["gcc", super::clang(false)] {
        let directory = workplace();
        let directory = directory.path();
        let cc = || {
            let mut command = Command::new(ATOMVET);
            command.arg("cc").env("ATOMVET_CC", compiler).current_dir(directory).arg("-I").arg(programs());
            command
        };
        succeed(cc().args(["-O1", "-fPIC", "-c", "-o", "plugin.o"]).arg(source("surroundings/plugin.c")));
        succeed(cc().args(["-shared", "-o", "plugin.so", "plugin.o"]));
        std::fs::write(directory.join("objects"), "host.o\nchoreography.o '-rdynamic' -pthread -ldl")
            .expect("a file");
        succeed(cc().args(["-c", "-o", "host.o"]).arg(source("surroundings/host.c")));
        succeed(cc().args(["@objects", "-o", "host"]));
        let (report, printed) = watch(atomvet_run(&directory.join("host")).arg(directory.join("plugin.so")));
        assert_eq!(printed, "150\n", "{compiler}");
        assert_eq!(blamed(&report), [("deposit".to_owned(), 10)].into(), "{compiler}: {report:#}");
        // What it makes runs alone as well.
        let printed = succeed(Command::new(directory.join("host")).arg(directory.join("plugin.so")));
        assert_eq!(printed, "150\n", "{compiler}");
        // As a configure script asks.
        let mut command = cc();
        let mut child = command
            .args(["-x", "c", "-", "-o", "answer"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("the compiler");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(b"int main(void) { return 42; }").expect("it reads");
        drop(input);
        assert!(child.wait().expect("it ends").success(), "{compiler}");
        assert_eq!(run(&mut Command::new(directory.join("answer"))).status.code(), Some(42), "{compiler}");
        assert!(succeed(cc().arg("--version")).to_lowercase().contains(compiler), "{compiler}");
        assert!(
            succeed(cc().args(["-E", "-dM", "-x", "c", "/dev/null"])).contains("__x86_64__"),
            "{compiler}"
        );
        let refused = run(cc().args(["-c", "no_such_file.c"]));
        assert_eq!(refused.status.code(), Some(1), "{compiler}");
    }
}

/// The hooks that a program carries say by a number in a name how threads are laid out. With another one, as an older `atomvet cc`
/// may have put there, they leave everything to the runtime.
#[test]
fn hooks_of_another_layout_are_served() {
    const NAME: &[u8] = b"atomvet_thread_";
    let directory = workplace();
    let binary = atomvet_cc(directory.path(), "c/bank_bad.c", "bank");
    let (right, _) = watch(&mut atomvet_run(&binary));
    let mut bytes = std::fs::read(&binary).expect("the program");
    let at = bytes.windows(NAME.len()).position(|window| window == NAME).expect("the name") + NAME.len();
    bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
    std::fs::write(&binary, bytes).expect("the program");
    let (other, _) = watch(&mut atomvet_run(&binary));
    assert_eq!(blamed(&other), blamed(&right));
    assert_eq!(blamed(&other).len(), 1, "{other:#}");
    let blocks = |report: &Value| report["traces"][0]["blocks"].clone();
    assert_eq!(blocks(&other), blocks(&right));
}
