//! The checker against the definition: random executions, one event at a time, and brute force on the same events.
//!
//! `ATOMVET_TEST_SECONDS=600 cargo test -p atomvet-live --test model` looks longer. A failure is reduced and printed.

mod execution;
mod replay;
mod truth;

use std::time::{Duration, Instant};

use atomvet_live::engine::Config;
use execution::{Execution, Shape};

/// Runs random executions of one shape for some time and returns how many there were, and how many had a violated block.
fn hold(name: &str, config: Config, shape: impl Fn(&mut execution::Random) -> Shape) {
    let seconds = std::env::var("ATOMVET_TEST_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let (started, mut seed, mut violated, mut witnesses, mut not_judged) = (Instant::now(), 0, 0, 0, 0);
    while started.elapsed() < Duration::from_secs(seconds) {
        seed += 1;
        let mut random = execution::Random(seed);
        let shape = shape(&mut random);
        let execution = Execution::random(&mut random, &shape);
        match problem(&execution, &config) {
            Judged::Not => not_judged += 1,
            Judged::Right { violated: any, shown } => {
                violated += usize::from(any);
                witnesses += shown;
            }
            Judged::Wrong(_) => {
                let wrong = |smaller: &Execution| matches!(problem(smaller, &config), Judged::Wrong(_));
                let smallest = execution.reduced(wrong);
                let Judged::Wrong(problem) = problem(&smallest, &config) else { unreachable!() };
                panic!("{name}, seed {seed}: {problem} in\n{smallest}");
            }
        }
    }
    #[expect(clippy::print_stdout, reason = "figures of a trial, shown with --nocapture")]
    {
        println!(
            "{name}: {seed} executions, {violated} with a violated block, {witnesses} witnesses, {not_judged} not judged"
        );
    }
    assert!(
        violated > seed as usize / 20 && not_judged < seed as usize / 2,
        "{name}: the executions are too dull"
    );
}

/// How an execution was judged.
enum Judged {
    /// Not all of it could be.
    Not,
    Right {
        violated: bool,
        shown: usize,
    },
    Wrong(String),
}

fn problem(execution: &Execution, config: &Config) -> Judged {
    let expected = truth::violated(execution, config.lock_conflicts);
    let Some(verdict) = replay::verdict(execution, *config) else { return Judged::Not };
    if verdict.violated != expected {
        return Judged::Wrong(format!("violated are {expected:?}, found were {:?}", verdict.violated));
    }
    let objection = |shown| truth::objection(execution, config.lock_conflicts, shown);
    match verdict.witnesses.iter().find_map(objection) {
        Some(objection) => Judged::Wrong(format!("{objection}, in {:?}", verdict.witnesses)),
        None => Judged::Right { violated: !expected.is_empty(), shown: verdict.witnesses.len() },
    }
}

fn config() -> Config {
    Config {
        address_bits: 12,
        threads: 20,
        history: 64,
        news: 4096,
        older_nodes: 1024,
        sites: 256,
        lock_conflicts: false,
        split_at_waits: true,
        commuting_updates: true,
    }
}

#[test]
fn data_conflicts() {
    hold("data", config(), Shape::any);
}

#[test]
fn lock_conflicts() {
    hold("locks", Config { lock_conflicts: true, ..config() }, Shape::any);
}

#[test]
fn more_threads_than_slots() {
    hold("many threads", config(), |random| Shape { threads: 6 + random.below(10), ..Shape::any(random) });
}

#[test]
fn histories_cut_short() {
    let config = Config { history: 2, ..config() };
    hold("short histories", config, Shape::any);
}

#[test]
fn indexes_used_again() {
    let config = Config { threads: 5, ..config() };
    hold("few indexes", config, |random| Shape { threads: 4, forks: 60, ..Shape::any(random) });
}
