//! C and C++ programs under `atomvet run`: what is blamed, and that they behave as without us.
//!
//! Each program of `tests/programs` says at its top what is to be found. The pairs are described in the README there; the
//! programs in `traps` say it so:
//!
//! ```text
//! // expect: deposit 24      the block `deposit`, which begins on line 24, is not atomic
//! // expect: clean           nothing is wrong
//! // expect: nothing         nothing can be observed (one thread only, say)
//! // flags: -fopenmp         for the compiler
//! // compilers: gcc          not for the others
//! // options: --strict-waits for `atomvet run`
//! // exit: 7, signal: 6      how it ends by itself
//! ```
//!
//! It is built by `atomvet cc` with gcc and clang, and by gcc alone with `-fsanitize=thread`. Its output and status are
//! those of a build without any of this; recorded, it is blamed for the same, also by `atomvet check`. The
//! environment variable ATOMVET_TEST_RUNS says how often each is run [default: once].

mod endings;
mod half_watched;
mod recordings;
mod runs_anywhere;
mod surroundings;
mod thread_entries;
mod thread_sanitizer;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use serde_json::Value;

const ATOMVET: &str = env!("CARGO_BIN_EXE_atomvet");

/// What a program says about itself.
#[derive(Default)]
struct Program {
    path: PathBuf,
    /// Blocks by name and line; line 0 is any.
    blamed: BTreeSet<(String, u64)>,
    /// Lines on which the event that completes a violation may be; any, if there are none.
    returns: Vec<u64>,
    nothing: bool,
    flags: Vec<String>,
    options: Vec<String>,
    compilers: Option<String>,
    /// ThreadSanitizer has nothing to say.
    race_free: bool,
}

impl Program {
    fn read(path: &Path) -> Program {
        let text = std::fs::read_to_string(path).expect("a program");
        let mut program = Program { path: path.to_owned(), ..Program::default() };
        let mut expects = 0;
        for line in text.lines().take_while(|line| line.starts_with("//")) {
            let Some((key, value)) = line.trim_start_matches('/').trim().split_once(": ") else { continue };
            let words: Vec<String> = value.split_whitespace().map(str::to_owned).collect();
            match key {
                "expect" => {
                    expects += 1;
                    match &words[..] {
                        [word] if word == "clean" => {}
                        [word] if word == "nothing" => program.nothing = true,
                        [word, name] if word == "violated" => {
                            program.blamed.insert((name.clone(), 0));
                        }
                        [name @ .., line] => {
                            program.blamed.insert((name.join(" "), line.parse().expect("a line")));
                        }
                        [] => panic!("{}: an empty expectation", path.display()),
                    }
                }
                "flags" | "links" => program.flags = words,
                "returns" => {
                    program.returns = words.iter().map(|line| line.parse().expect("a line")).collect()
                }
                "options" => program.options = words,
                "compilers" => program.compilers = Some(value.to_owned()),
                "race-free" => program.race_free = value == "yes",
                _ => {}
            }
        }
        assert!(expects > 0, "{}: says nothing about what to expect", path.display());
        program
    }

    fn is_cpp(&self) -> bool {
        self.path.extension().is_some_and(|e| e == "cpp")
    }

    fn status(&self) -> i32 {
        match (self.nothing, self.blamed.is_empty()) {
            (true, _) => 3,
            (_, true) => 0,
            _ => 1,
        }
    }
}

/// A way to build a program.
struct Build {
    name: &'static str,
    compiler: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

fn builds(cpp: bool) -> Vec<Build> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let (wrapped, gcc) = if cpp { ("c++", "g++") } else { ("cc", "gcc") };
    let ours = |rest: &str| {
        let mut compiler = vec![ATOMVET.to_owned(), wrapped.to_owned()];
        compiler.extend(words(rest));
        compiler
    };
    let mut builds = vec![
        Build { name: "gcc-O0", compiler: ours("-O0"), environment: vec![] },
        Build { name: "gcc-O2", compiler: ours("-O2"), environment: vec![] },
        Build {
            name: "tsan-O0",
            compiler: words(&format!("{gcc} -g -O0 -fsanitize=thread")),
            environment: vec![],
        },
        Build {
            name: "tsan-O2",
            compiler: words(&format!("{gcc} -g -O2 -fsanitize=thread")),
            environment: vec![],
        },
    ];
    let variable = if cpp { "ATOMVET_CXX" } else { "ATOMVET_CC" };
    builds.push(Build {
        name: "clang-O1",
        compiler: ours("-O1"),
        environment: vec![(variable, clang(cpp).to_owned())],
    });
    builds
}

/// A clang. `cargo xtask install` gets one where there is none.
fn clang(cpp: bool) -> &'static str {
    let names = if cpp { ["clang++", "clang++-14", "clang++-19"] } else { ["clang", "clang-14", "clang-19"] };
    let there = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    names.into_iter().find(there).expect("clang is needed to test `atomvet cc`: run `cargo xtask install`")
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Runs what has to succeed; what it printed.
fn succeed(command: &mut Command) -> String {
    let output = run(command);
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn compile(program: &Program, build: &Build, directory: &Path) -> PathBuf {
    let stem = program.path.file_stem().expect("a name").to_string_lossy();
    let binary = directory.join(format!("{stem}-{}", build.name));
    let [compiler, arguments @ ..] = &build.compiler[..] else { panic!("no compiler") };
    let mut command = Command::new(compiler);
    command.args(arguments).arg(&program.path).args(&program.flags).arg("-o").arg(&binary);
    command.arg("-I").arg(programs()).arg("-I").arg(programs().join("../../include"));
    command.arg(directory.join("choreography.o"));
    command.args(["-pthread", "-ldl"]).envs(build.environment.iter().map(|(k, v)| (k, v)));
    succeed(&mut command);
    binary
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs")
}

/// A directory for what is built, with what every program is linked with.
fn workplace() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let object = directory.path().join("choreography.o");
    let source = programs().join("choreography.c");
    succeed(Command::new("gcc").args(["-O2", "-fPIC", "-c"]).arg(source).arg("-o").arg(object));
    directory
}

/// Blocks that a report blames, by name and line: the innermost ones.
fn blamed(report: &Value) -> BTreeSet<(String, u64)> {
    let mut blamed = BTreeSet::new();
    for violation in violations(report) {
        if violation["innermost"] == true {
            let name = violation["block"]["label"].as_str().unwrap_or("no block").to_owned();
            let site = violation["block"]["site"].as_str().unwrap_or(":0");
            let line = site.rsplit(':').next().and_then(|line| line.parse().ok()).unwrap_or(0);
            blamed.insert((name, line));
        }
        assert_ne!(violation["verified"], false, "{violation}");
    }
    blamed
}

fn violations(report: &Value) -> Vec<&Value> {
    let list = |value: &'static str, of: &Value| of[value].as_array().cloned().unwrap_or_default().len();
    let mut found = Vec::new();
    for trace in 0..list("traces", report) {
        for checker in 0..list("checkers", &report["traces"][trace]) {
            let violations = &report["traces"][trace]["checkers"][checker]["violations"];
            found.extend(violations.as_array().into_iter().flatten());
        }
    }
    found
}

fn fingerprints(report: &Value) -> BTreeSet<String> {
    violations(report).iter().map(|v| v["fingerprint"].to_string()).collect()
}

fn check(program: &Program, directory: &Path, runs: usize) {
    let native = Build {
        name: "native",
        compiler: vec![if program.is_cpp() { "g++" } else { "gcc" }.to_owned(), "-O1".to_owned()],
        environment: vec![],
    };
    let native = run(&mut Command::new(compile(program, &native, directory)));
    for build in builds(program.is_cpp()) {
        if program.compilers.as_deref().is_some_and(|only| build.name.starts_with("clang") && only != "clang")
        {
            continue;
        }
        let binary = compile(program, &build, directory);
        let report_path = binary.with_extension("json");
        let trace = binary.with_extension("atv");
        for run_number in 0..=runs {
            let mut command = Command::new(ATOMVET);
            command.args(["run", "--format", "json", "-o"]).arg(&report_path);
            // Once it is recorded; else it judges itself.
            let is_recorded = run_number == 0;
            if is_recorded {
                command.arg("--verify").arg("--record").arg(&trace);
            }
            command.args(&program.options).arg("--").arg(&binary);
            let output = run(&mut command);
            let stderr = String::from_utf8_lossy(&output.stderr);
            let context = format!("{command:?}: {}\n{stderr}", output.status);
            let report = std::fs::read_to_string(&report_path).unwrap_or_else(|e| panic!("{e}: {context}"));
            let report: Value = serde_json::from_str(&report).unwrap_or_else(|e| panic!("{e}: {context}"));
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&native.stdout),
                "{context}"
            );
            let mut blamed = blamed(&report);
            if program.blamed.iter().any(|(_, line)| *line == 0) {
                blamed = blamed.into_iter().map(|(name, _)| (name, 0)).collect();
                completed_in_time(program, &report, &context);
            }
            assert_eq!(blamed, program.blamed, "{context}\n{report:#}");
            let expected =
                if program.status() == 0 && !native.status.success() { 2 } else { program.status() };
            assert_eq!(output.status.code(), Some(expected), "{context}\n{report:#}");
            if !native.status.success() {
                use std::os::unix::process::ExitStatusExt;
                let ended = match (native.status.code(), native.status.signal()) {
                    (Some(code), _) => format!("ended with exit status {code}"),
                    (_, signal) => format!("ended with signal {}", signal.unwrap_or(0)),
                };
                assert!(stderr.contains(&ended), "{context}: not {ended}");
            }
            if is_recorded
                && program.options.is_empty()
                && report["traces"].as_array().is_some_and(|t| t.len() == 1)
            {
                // A child's trace is beside that of its parent.
                let of_child =
                    report["traces"][0]["trace"].as_str().is_some_and(|name| name.contains("(process "));
                same_from_trace(
                    &if of_child { trace.with_extension("atv.2") } else { trace.clone() },
                    &report,
                );
            }
        }
    }
}

/// The event that completes a violation is on one of the lines that the program names. In a build in which the library's locks
/// are not inlined, it is in the library's header.
fn completed_in_time(program: &Program, report: &Value, context: &str) {
    for violation in violations(report) {
        let (file, line) =
            violation["site"].as_str().and_then(|site| site.rsplit_once(':')).unwrap_or(("", "0"));
        let in_program = Path::new(file).file_name() == program.path.file_name();
        let line: u64 = line.parse().unwrap_or(0);
        assert!(!in_program || program.returns.contains(&line), "line {line}: {context}\n{report:#}");
    }
}

/// The recorded trace, which says how it was recorded, gives the same findings.
fn same_from_trace(trace: &Path, report: &Value) {
    let mut command = Command::new(ATOMVET);
    command.args(["check", "--format", "json"]).arg(trace);
    let output = run(&mut command);
    let again: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{command:?}: {e}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(fingerprints(&again), fingerprints(report), "{command:?}");
}

/// The programs of a folder, or those that the environment asks for.
fn sources(folder: &str) -> Vec<PathBuf> {
    let folder = programs().join(folder);
    let only = std::env::var("ATOMVET_TEST_ONLY").unwrap_or_default();
    let entries = std::fs::read_dir(&folder).expect("programs").map(|entry| entry.expect("a file").path());
    let sources = entries.filter(|path| path.extension().is_some_and(|e| e == "c" || e == "cpp"));
    let mut sources: Vec<PathBuf> = sources.filter(|path| path.to_string_lossy().contains(&only)).collect();
    sources.sort();
    assert!(!sources.is_empty() || !only.is_empty(), "no programs in {}", folder.display());
    sources
}

fn check_all(folder: &str) {
    let runs = std::env::var("ATOMVET_TEST_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1);
    let waiting = Mutex::new(sources(folder));
    let failed = Mutex::new(Vec::new());
    let directory = workplace();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(path) = waiting.lock().expect("nobody panics with it").pop() else { return };
                    // The others are of interest all the same.
                    let check = || check(&Program::read(&path), directory.path(), runs);
                    if std::panic::catch_unwind(check).is_err() {
                        failed.lock().expect("nobody panics with it").push(path);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("nobody panics with it");
    assert!(failed.is_empty(), "not as they say: {failed:?}");
}

#[test]
fn c_programs() {
    check_all("c");
}

#[test]
fn cpp_programs() {
    check_all("cpp");
}

#[test]
fn traps() {
    check_all("traps");
}

/// The path of an access that is covered by a record: no call, no lock, up to its return.
#[test]
fn the_hot_path_is_a_leaf() {
    for file in ["libtsan.so.2", "hooks.o"] {
        hooks_are_leaves(&Path::new(env!("OUT_DIR")).join(file));
    }
}

fn hooks_are_leaves(file: &Path) {
    let output = run(Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(file));
    let text = String::from_utf8_lossy(&output.stdout);
    for hook in ["__tsan_read1", "__tsan_read4", "__tsan_read8", "__tsan_write4", "__tsan_write8"] {
        // `address <name>:`, then `address:\tinstruction operands` in order.
        let from_start = text.lines().skip_while(|line| !line.ends_with(&format!("<{hook}>:"))).skip(1);
        let instructions = from_start.filter_map(|line| Some(line.split_once(":\t")?.1.trim()));
        let path: Vec<&str> = instructions.take_while(|i| !i.starts_with("ret")).collect();
        assert!((5..60).contains(&path.len()), "{hook}: {path:#?}");
        for forbidden in ["call", "lock", "xchg", "mfence", "syscall"] {
            assert!(!path.iter().any(|i| i.starts_with(forbidden)), "{hook} has a {forbidden}: {path:#?}");
        }
    }
}
