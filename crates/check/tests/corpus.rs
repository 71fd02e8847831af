//! Every checker on every trace of `tests/corpus`, the way a trace takes through the program:
//!
//! ```text
//! NAME.std ──► Input ──► Wellformed ──► each checker ──► Replay ──► Verifier      NAME.toml says what comes out
//! ```
//!
//! The oracle then confirms what NAME.toml says, so that neither a wrong expectation nor a
//! wrong checker passes. `tests/corpus/README.md` says how to add a trace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use atomvet_check::registry::{self, CHECKERS, Entry};
use atomvet_check::verify::Verifier;
use atomvet_check::witness::{Explanation, Replay, Request, Shape, Witness};
use atomvet_check::{Config, Findings, Kind, agreement};
use atomvet_trace::objects::Objects;
use atomvet_trace::wellformed::{Discipline, Wellformed};
use atomvet_trace::{Error, ErrorKind, Event, EventId, Input, Names, Op, VarId};
use serde::Deserialize;

/// A NAME.toml. Blocks are given by their begin events.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Expectation {
    serializable: bool,
    /// Where the shortest prefix ends that is not serializable.
    first_cycle_event: Option<u64>,
    /// All blocks that are violated, nested ones included.
    violated: BTreeSet<u64>,
    /// Of the first witness of the default checker.
    shape: Option<String>,
    #[serde(default)]
    options: Options,
    /// Per checker, the blocks it blames.
    blames: BTreeMap<String, BTreeSet<u64>>,
    /// For each checker that cannot tell at the first cycle event: where it can.
    #[serde(default)]
    tells_at: BTreeMap<String, u64>,
    /// Checkers that are not run on this trace, and why.
    #[serde(default)]
    skip: BTreeMap<String, String>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
struct Options {
    commuting_updates: bool,
    split_at_waits: bool,
}

/// A trace as checkers get it.
struct Trace {
    names: Names,
    /// As read from the file, in the blocks that the reader made of it.
    blocks: Vec<Vec<Event>>,
}

impl Trace {
    fn events(&self) -> Vec<Event> {
        self.blocks.concat()
    }

    /// Hands the blocks on, each with the position of its first event.
    fn replay(&self, mut take: impl FnMut(EventId, &[Event])) {
        let mut first = 0;
        for block in &self.blocks {
            take(EventId(first), block);
            first += block.len() as u64;
        }
    }
}

#[test]
fn every_checker_says_what_is_expected() {
    let mut problems = Vec::new();
    let mut shapes = BTreeSet::new();
    let mut operations = BTreeSet::new();
    let names = pairs(&corpus(), "toml");
    for name in &names {
        let (trace, expected) = match load(name) {
            Ok(loaded) => loaded,
            Err(problem) => {
                problems.push(format!("{name}: {problem}"));
                continue;
            }
        };
        shapes.extend(expected.shape.clone());
        operations.extend(trace.events().iter().map(|event| keyword(event.op)));
        problems.extend(check(&trace, &expected).into_iter().map(|problem| format!("{name}: {problem}")));
    }
    for shape in Shape::ALL.iter().filter(|shape| !shapes.contains(shape.name())) {
        problems.push(format!("no trace shows the shape `{}`", shape.name()));
    }
    for operation in OPERATIONS.iter().filter(|operation| !operations.contains(*operation)) {
        problems.push(format!("no trace has the operation `{operation}`"));
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
    assert!(names.len() >= 60, "only {} traces were found", names.len());
}

#[test]
fn every_broken_trace_is_refused_in_these_words() {
    let folder = corpus().join("bad");
    let mut problems = Vec::new();
    let names = pairs(&folder, "err");
    for name in &names {
        let file = format!("{name}.std");
        let expected = fs::read_to_string(folder.join(format!("{name}.err"))).expect("it was listed");
        let found = match read(&file, fs::read(folder.join(&file)).expect("it was listed")) {
            Ok(_) => "nothing is wrong with it".to_owned(),
            Err(error) => error.to_string(),
        };
        if found != expected.trim_end() {
            problems.push(format!("{file}\n   expected {}\n      found {found}", expected.trim_end()));
        }
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
    assert!(names.len() >= 30, "only {} broken traces were found", names.len());
}

/// What does not hold for one trace.
fn check(trace: &Trace, expected: &Expectation) -> Vec<String> {
    let config = Config {
        commuting_updates: expected.options.commuting_updates,
        split_at_waits: expected.options.split_at_waits,
        ..Config::default()
    };
    let mut problems = is_complete(expected);
    for entry in
        registry::of_kind(Kind::Observed).filter(|entry| !expected.skip.contains_key(entry.info.name))
    {
        let found = run(entry, &config, trace);
        problems.extend(compare(entry, expected, &found, &explanations(&config, trace, &found)));
    }
    match agreement::agree(&config, &trace.events()) {
        Err(problem) => problems.push(problem),
        Ok(verdict) => {
            let first = verdict.first_cycle_event.map(|event| event.0);
            let violated: BTreeSet<u64> = verdict.violated_blocks.iter().map(|begin| begin.0).collect();
            let oracle = (verdict.serializable, first, &violated);
            if oracle != (expected.serializable, expected.first_cycle_event, &expected.violated) {
                problems.push(format!("the oracle says {oracle:?}"));
            }
        }
    }
    problems
}

/// An expectation speaks of every checker, and of no others.
fn is_complete(expected: &Expectation) -> Vec<String> {
    let mut problems = Vec::new();
    let all: BTreeSet<&str> = registry::of_kind(Kind::Observed).map(|entry| entry.info.name).collect();
    let spoken_of: BTreeSet<&str> =
        expected.blames.keys().chain(expected.skip.keys()).map(|s| &**s).collect();
    if spoken_of != all {
        problems.push(format!("expectations are for {spoken_of:?}, the checkers are {all:?}"));
    }
    for (checker, reason) in &expected.skip {
        if reason.trim().is_empty() {
            problems.push(format!("{checker} is skipped without a reason"));
        }
    }
    let late: BTreeSet<&str> = (registry::of_kind(Kind::Observed).filter(|_| !expected.serializable))
        .filter(|entry| !entry.info.tells_first_event)
        .map(|entry| entry.info.name)
        .filter(|name| !expected.skip.contains_key(*name))
        .collect();
    let told: BTreeSet<&str> = expected.tells_at.keys().map(|s| &**s).collect();
    if told != late {
        problems.push(format!("`tells_at` has {told:?} instead of {late:?}"));
    }
    problems
}

fn compare(
    entry: &Entry,
    expected: &Expectation,
    found: &Findings,
    explanations: &Result<Vec<Explanation>, String>,
) -> Vec<String> {
    let name = entry.info.name;
    let mut problems = Vec::new();
    let blames: BTreeSet<u64> = found.list.iter().filter_map(|f| Some(f.block?.begin.0)).collect();
    if expected.blames.get(name) != Some(&blames) {
        problems.push(format!("{name} blames {blames:?} instead of {:?}", expected.blames.get(name)));
    }
    let tells_at = found.first_cycle.map(|event| event.0);
    let should_tell = expected.tells_at.get(name).copied().or(expected.first_cycle_event);
    if tells_at != should_tell {
        problems.push(format!("{name} can tell at {tells_at:?} instead of {should_tell:?}"));
    }
    match explanations {
        Err(problem) => problems.push(format!("{name}: {problem}")),
        Ok(explanations) if name == CHECKERS[0].info.name => {
            let shape = explanations.first().map(|explanation| explanation.shape().name());
            if shape != expected.shape.as_deref() {
                problems.push(format!("the first finding is a {shape:?}: {:?}", explanations.first()));
            }
        }
        Ok(_) => {}
    }
    problems
}

fn run(entry: &Entry, config: &Config, trace: &Trace) -> Findings {
    let mut findings = Findings::all_instances(config);
    let mut objects = Objects::default();
    let mut checker = (entry.new)(config);
    let (first, of_variables): (VarId, &[VarId]) = objects.new_variables(&trace.names);
    checker.objects(first, of_variables);
    trace.replay(|first, block| checker.events(first, block, &mut findings));
    let _ = checker.finish(&mut findings);
    findings
}

/// A verified explanation for each finding.
fn explanations(config: &Config, trace: &Trace, findings: &Findings) -> Result<Vec<Explanation>, String> {
    let requests: Vec<Request> = findings.list.iter().map(Request::from).collect();
    let mut found = replay(config, trace, &requests);
    for (explanation, request) in found.iter_mut().zip(&requests) {
        // A block that is blamed for completing a cycle need not be violated: then the cycle is shown.
        if explanation.is_none() {
            *explanation = replay(config, trace, &[Request { block: None, ..*request }]).remove(0);
        }
    }
    let found: Option<Vec<Explanation>> = found.into_iter().collect();
    let found = found.ok_or("there is a finding without a witness")?;
    let by_data = found.iter().filter_map(|explanation| explanation.by_data.as_ref());
    let witnesses: Vec<Witness> = found.iter().map(|e| &e.witness).chain(by_data).cloned().collect();
    let mut verifier = Verifier::new(config, &witnesses);
    trace.replay(|first, block| verifier.events(first, block));
    let judged: Result<(), String> = verifier.finish().into_iter().collect();
    judged.map_err(|problem| format!("a witness does not verify: {problem}"))?;
    Ok(found)
}

fn replay(config: &Config, trace: &Trace, requests: &[Request]) -> Vec<Option<Explanation>> {
    let mut replay = Replay::new(config, requests);
    trace.replay(|first, block| replay.events(first, block));
    replay.finish()
}

fn load(name: &str) -> Result<(Trace, Expectation), String> {
    let text = fs::read_to_string(corpus().join(format!("{name}.toml"))).map_err(|e| e.to_string())?;
    let expected: Expectation = toml::from_str(&text).map_err(|error| error.to_string())?;
    let file = format!("{name}.std");
    let bytes = fs::read(corpus().join(&file)).map_err(|error| error.to_string())?;
    if !bytes.starts_with(b"# ") {
        return Err("the first line should be a comment that says what the trace shows".to_owned());
    }
    let trace = read(&file, bytes).map_err(|error| error.to_string())?;
    if trace.blocks.is_empty() {
        return Err("the trace has no event".to_owned());
    }
    Ok((trace, expected))
}

/// Reads a trace strictly.
fn read(file: &str, bytes: Vec<u8>) -> Result<Trace, Error> {
    let mut input = Input::from_reader(file, Box::new(Cursor::new(bytes)))?;
    let mut wellformed = Wellformed::new(Discipline::Strict);
    let (mut block, mut blocks, mut first) = (Vec::new(), Vec::new(), 0);
    while input.next_block(&mut block)? {
        wellformed.check(EventId(first), &mut block, input.names()).map_err(|broken| Error {
            file: file.to_owned(),
            place: input.place(broken.index),
            kind: ErrorKind::Discipline,
            problem: broken.problem,
            help: broken.help,
        })?;
        first += block.len() as u64;
        blocks.push(block.clone());
    }
    Ok(Trace { names: input.into_names(), blocks })
}

/// The names of all traces in a folder, each with its other file.
fn pairs(folder: &Path, other: &str) -> Vec<String> {
    let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in fs::read_dir(folder).expect("the corpus is a part of the repository") {
        let path = file.expect("the folder can be read").path();
        let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let (name, extension) = (part(path.file_stem()), part(path.extension()));
        if path.is_dir() || (&*name, &*extension) == ("README", "md") {
            continue;
        }
        let size = fs::metadata(&path).expect("the file can be read").len();
        assert!(size > 0, "{} is empty", path.display());
        files.entry(name).or_default().insert(extension);
    }
    let both = BTreeSet::from(["std".to_owned(), other.to_owned()]);
    for (name, extensions) in &files {
        assert_eq!(*extensions, both, "{name} in {} lacks a file, or has one too many", folder.display());
    }
    files.into_keys().collect()
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus")
}

const OPERATIONS: [&str; 14] = [
    "read",
    "write",
    "update",
    "acquire",
    "release",
    "reacquire",
    "rerelease",
    "wait",
    "fork",
    "join",
    "barrier",
    "begin",
    "end",
    "life",
];

fn keyword(op: Op) -> &'static str {
    match op {
        Op::Read(..) => "read",
        Op::Write(..) => "write",
        Op::Update(..) => "update",
        Op::Acquire(..) => "acquire",
        Op::Release(..) => "release",
        Op::Reacquire(..) => "reacquire",
        Op::Rerelease(..) => "rerelease",
        Op::Wait(_) => "wait",
        Op::Fork(_) => "fork",
        Op::Join(_) => "join",
        Op::Barrier(_) => "barrier",
        Op::Begin(_) => "begin",
        Op::End => "end",
        Op::Alloc(_) | Op::Free(_) | Op::Escape(_) => "life",
        Op::Local | Op::Skip => "not in a file",
    }
}
