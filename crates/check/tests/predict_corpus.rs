//! Every predictive checker on every trace of `tests/corpus/predict`: the worked examples of the papers, each
//! recorded in a run in which nothing went wrong. NAME.toml says what is true, what each checker blames (its
//! false alarms and what it misses included), and for which blocks a schedule is found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use atomvet_check::enumerate::{Limits, enumerate};
use atomvet_check::predictive::predicted::{Pattern, Predicted, Reason};
use atomvet_check::predictive::schedule::{self, Outcome, Recorded};
use atomvet_check::registry::{self, Entry};
use atomvet_check::{Blame, Block, Config, Findings, Kind};
use atomvet_trace::wellformed::{Discipline, Wellformed};
use atomvet_trace::{Event, EventId, Input, Names};
use serde::Deserialize;

/// A NAME.toml.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Expectation {
    /// Where the example is from.
    from: String,
    /// What it is about.
    about: String,
    conflict_atomic: bool,
    view_atomic: bool,
    /// A deadlock is possible, and found.
    deadlock: bool,
    /// The blocks for which commit-node's finding gets a schedule; not looked at if absent.
    scheduled: Option<BTreeSet<String>>,
    /// Per checker, the blocks it blames.
    blames: BTreeMap<String, BTreeSet<String>>,
}

#[test]
fn every_checker_says_what_is_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/predict");
    let mut traces: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the corpus")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "std"))
        .collect();
    traces.sort();
    let problems: Vec<String> = traces.iter().flat_map(|path| check(path)).collect();
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
    assert!(traces.len() >= 28, "only {} traces were found", traces.len());
}

fn check(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path.with_extension("toml")).expect("what is expected");
    let expected: Expectation =
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (events, names) = read(path);
    let mut problems = Vec::new();
    if expected.from.is_empty() || expected.about.is_empty() {
        problems.push("it does not say what it is".to_owned());
    }
    let truth = enumerate(&events, &Limits::default()).expect("it is small");
    for (what, expected, found) in [
        ("conflict-atomic", expected.conflict_atomic, truth.conflict_atomic),
        ("view-atomic", expected.view_atomic, truth.view_atomic),
        ("deadlock", expected.deadlock, truth.deadlock_possible),
    ] {
        if expected != found {
            problems.push(format!("{what}: expected {expected}, found {found}"));
        }
    }
    for entry in registry::of_kind(Kind::Predictive) {
        let predicted = run(entry, &events);
        if entry.info.name == "deadlock" && predicted.deadlocks.is_empty() == expected.deadlock {
            problems.push(format!("deadlock found: expected {}", expected.deadlock));
        }
        let Some(blamed) = expected.blames.get(entry.info.name) else {
            if entry.info.blame != Blame::None {
                problems.push(format!("nothing is expected of {}", entry.info.name));
            }
            continue;
        };
        let found: BTreeSet<String> =
            predicted.violations.iter().map(|violation| label(violation.transaction, &names)).collect();
        if found != *blamed {
            problems.push(format!("{}: expected {blamed:?}, found {found:?}", entry.info.name));
        }
        if entry.info.name == "commit-node"
            && let Some(scheduled) = &expected.scheduled
        {
            let found = scheduled_blocks(&predicted, &events, &names);
            if found != *scheduled {
                problems.push(format!("schedules: expected {scheduled:?}, found {found:?}"));
            }
        }
    }
    let name = path.file_stem().unwrap_or_default().display().to_string();
    problems.into_iter().map(|problem| format!("{name}: {problem}")).collect()
}

fn run(entry: &Entry, events: &[Event]) -> Predicted {
    let config = Config::default();
    entry.run(&config, events, Findings::folded(&config)).predicted
}

/// The blocks for which a schedule is found and verified.
fn scheduled_blocks(predicted: &Predicted, events: &[Event], names: &Names) -> BTreeSet<String> {
    let config = Config::default();
    let recorded = Recorded::new(&config, events);
    let is_shown = |pattern: &Pattern| {
        let Some(goal) = recorded.goal(pattern) else { return false };
        let (Outcome::Found(schedule), _) = recorded.search(&goal, 1_000_000) else { return false };
        schedule::verify(&config, events, &schedule, &goal).expect("a schedule that holds");
        true
    };
    (predicted.violations.iter())
        .filter(|violation| violation.reason == Reason::Pattern && violation.patterns.iter().any(is_shown))
        .map(|violation| label(violation.transaction, names))
        .collect()
}

fn label(block: Block, names: &Names) -> String {
    names.block(block.region, block.site)
}

fn read(path: &Path) -> (Vec<Event>, Names) {
    let bytes = fs::read(path).expect("a trace");
    let mut input =
        Input::from_reader(&path.display().to_string(), Box::new(Cursor::new(bytes))).expect("a trace");
    let mut wellformed = Wellformed::new(Discipline::Strict);
    let (mut events, mut block) = (Vec::new(), Vec::new());
    while input.next_block(&mut block).expect("a trace") {
        let first = EventId(events.len() as u64);
        if wellformed.check(first, &mut block, input.names()).is_err() {
            panic!("{}: not well-formed", path.display());
        }
        events.append(&mut block);
    }
    (events, input.into_names())
}
