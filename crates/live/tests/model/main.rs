//! The checker against the definition: random executions, one event at a time, and brute force on the same events.
//!
//! `ATOMVET_TEST_SECONDS=600 cargo test -p atomvet-live --test model` looks longer. A failure is reduced and printed.

mod execution;
mod replay;
mod truth;

use std::time::{Duration, Instant};

use execution::{Execution, Shape};

/// Runs random executions of one shape for some time and returns how many there were, and how many had a violated block.
fn hold(name: &str, config: atomvet_live::engine::Config, shape: impl Fn(&mut execution::Random) -> Shape) {
    let seconds = std::env::var("ATOMVET_TEST_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let (started, mut seed, mut violated, mut not_judged) = (Instant::now(), 0, 0, 0);
    while started.elapsed() < Duration::from_secs(seconds) {
        seed += 1;
        let mut random = execution::Random(seed);
        let shape = shape(&mut random);
        let execution = Execution::random(&mut random, &shape);
        let expected = truth::violated(&execution, config.lock_conflicts);
        match replay::violated(&execution, config) {
            None => not_judged += 1,
            Some(found) if found == expected => violated += usize::from(!expected.is_empty()),
            Some(_) => {
                let wrong = |smaller: &Execution| {
                    replay::violated(smaller, config)
                        .is_some_and(|found| found != truth::violated(smaller, config.lock_conflicts))
                };
                let smallest = execution.reduced(wrong);
                let expected = truth::violated(&smallest, config.lock_conflicts);
                let found = replay::violated(&smallest, config);
                panic!("{name}, seed {seed}: violated are {expected:?}, found were {found:?} in\n{smallest}");
            }
        }
    }
    #[expect(clippy::print_stdout, reason = "figures of a trial, shown with --nocapture")]
    {
        println!("{name}: {seed} executions, {violated} with a violated block, {not_judged} not judged");
    }
    assert!(
        violated > seed as usize / 20 && not_judged < seed as usize / 2,
        "{name}: the executions are too dull"
    );
}

fn config() -> atomvet_live::engine::Config {
    atomvet_live::engine::Config {
        address_bits: 12,
        threads: 12,
        history: 64,
        news: 4096,
        older_nodes: 1024,
        lock_conflicts: false,
    }
}

#[test]
fn data_conflicts() {
    hold("data", config(), Shape::any);
}

#[test]
fn lock_conflicts() {
    hold("locks", atomvet_live::engine::Config { lock_conflicts: true, ..config() }, Shape::any);
}

#[test]
fn more_threads_than_slots() {
    hold("many threads", config(), |random| Shape { threads: 6 + random.below(5), ..Shape::any(random) });
}

#[test]
fn histories_cut_short() {
    let config = atomvet_live::engine::Config { history: 2, ..config() };
    hold("short histories", config, Shape::any);
}

#[test]
fn indexes_used_again() {
    let config = atomvet_live::engine::Config { threads: 5, ..config() };
    hold("few indexes", config, |random| Shape { threads: 4, forks: 60, ..Shape::any(random) });
}
