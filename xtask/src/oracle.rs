//! `cargo xtask oracle`: everything that small traces can show, on as many of them as one likes.
//!
//! Each trace is generated from its seed, written and read back in both formats, checked for
//! well-formedness, and then put through [`atomvet_check::agreement`]. A failure is shrunk before it is shown.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use atomvet_check::{Config, agreement};
use atomvet_trace::r#gen::{self, Features, Generator};
use atomvet_trace::wellformed::{Discipline, Wellformed};
use atomvet_trace::{Conventions, Event, EventId, Format, Input, Names, Output};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many traces
    #[arg(long, default_value_t = 100_000)]
    pub(crate) traces: u64,
    /// Stop after so many seconds, whatever was reached
    #[arg(long)]
    pub(crate) seconds: Option<u64>,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Threads to use
    #[arg(long, default_value_t = 2)]
    pub(crate) jobs: u64,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let start = Instant::now();
    let (done, not_serializable, violated) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let stop = AtomicBool::new(false);
    let deadline = options.seconds.map(|seconds| start + Duration::from_secs(seconds));
    let worker = |job: u64| -> anyhow::Result<()> {
        for seed in
            (options.seed..options.seed + options.traces).skip(job as usize).step_by(options.jobs as usize)
        {
            let late = deadline.is_some_and(|deadline| Instant::now() > deadline);
            if late || stop.load(Ordering::Relaxed) {
                break;
            }
            let (events, names) = trace(seed)?;
            let config = Config {
                commuting_updates: seed.is_multiple_of(3),
                split_at_waits: seed.is_multiple_of(4),
                ..Config::default()
            };
            let verdict = round_trips(&events, &names)
                .and_then(|()| judge(&config, &events))
                .inspect_err(|_| stop.store(true, Ordering::Relaxed))
                .map_err(|problem| report(seed, &config, &events, &names, &problem))?;
            done.fetch_add(1, Ordering::Relaxed);
            not_serializable.fetch_add(u64::from(!verdict.serializable), Ordering::Relaxed);
            violated.fetch_add(verdict.violated_blocks.len() as u64, Ordering::Relaxed);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..options.jobs).map(|job| scope.spawn(move || worker(job))).collect();
        jobs.into_iter().try_for_each(|job| job.join().map_err(|_| anyhow!("a checker panicked"))?)
    })?;
    let (done, not_serializable) = (done.into_inner(), not_serializable.into_inner());
    println!(
        "{done} traces, {not_serializable} not serializable, {} violated blocks: all checkers, witnesses, serial \
         orders and formats agree ({:.1} s)",
        violated.into_inner(),
        start.elapsed().as_secs_f64()
    );
    ensure!(done > 1000 && not_serializable > done / 20, "too few traces to mean anything");
    Ok(())
}

/// A small trace: what it is made of depends on the seed as well.
fn trace(seed: u64) -> anyhow::Result<(Vec<Event>, Names)> {
    let pick = |from: u64, to: u64, salt: u64| from + (seed / salt) % (to - from + 1);
    let features = match seed {
        _ if seed.is_multiple_of(5) => Features::PAPER,
        // Threads that come and go take over from each other.
        _ if seed.is_multiple_of(7) => Features::UNARY.with(Features::FORK_JOIN).with(Features::FORK_AGAIN),
        _ => Features::ALL,
    };
    let mut config = r#gen::Config::small_random(features);
    config.seed = seed;
    config.events = pick(6, 36, 1);
    config.threads = pick(2, 6, 13) as u32;
    config.variables = pick(1, 4, 3) as u32;
    config.locks = pick(1, 3, 11) as u32;
    let mut generator = Generator::new(&config).map_err(|problem| anyhow!(problem))?;
    let events = generator.collect();
    Ok((events, generator.names().clone()))
}

fn judge(config: &Config, events: &[Event]) -> Result<atomvet_check::oracle::Verdict, String> {
    let mut events = events.to_vec();
    let mut discipline = Wellformed::new(Discipline::Strict);
    (discipline.check(EventId(0), &mut events, &Names::default()))
        .map_err(|broken| format!("refused as not well-formed at {}", broken.index))?;
    agreement::agree(config, &events)
}

/// Text → binary → text is the identity, and the events stay what they are.
fn round_trips(events: &[Event], names: &Names) -> Result<(), String> {
    let text = write(Format::Text, events, names)?;
    let (read, read_names) = read(&text)?;
    let binary = write(Format::Binary, &read, &read_names)?;
    let (again, again_names) = self::read(&binary)?;
    let text_again = write(Format::Text, &again, &again_names)?;
    match text == text_again && read.len() == events.len() && read == again {
        true => Ok(()),
        false => Err(format!("text → binary → text differs:\n{}", String::from_utf8_lossy(&text_again))),
    }
}

fn write(format: Format, events: &[Event], names: &Names) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut output = Output::new(format, &Conventions::default(), &mut bytes).map_err(|e| e.to_string())?;
    output.write(names, events).map_err(|e| e.to_string())?;
    output.finish().map_err(|e| e.to_string())?;
    Ok(bytes)
}

fn read(bytes: &[u8]) -> Result<(Vec<Event>, Names), String> {
    let mut input = Input::from_reader("trace", Box::new(std::io::Cursor::new(bytes.to_vec())))
        .map_err(|e| e.to_string())?;
    let (mut all, mut block) = (Vec::new(), Vec::new());
    while input.next_block(&mut block).map_err(|e| e.to_string())? {
        all.extend_from_slice(&block);
    }
    Ok((all, input.into_names()))
}

/// The smallest trace found, by leaving out one event after the other, on which something still fails.
fn report(seed: u64, config: &Config, events: &[Event], names: &Names, problem: &str) -> anyhow::Error {
    let fails = |events: &[Event]| match judge(config, events) {
        Err(problem) if !problem.starts_with("refused") => Some(problem),
        _ => None,
    };
    let (mut events, mut problem) = (events.to_vec(), problem.to_owned());
    let mut i = 0;
    while i < events.len() {
        let mut fewer = events.clone();
        fewer.remove(i);
        match fails(&fewer) {
            Some(new) => (events, problem, i) = (fewer, new, 0),
            None => i += 1,
        }
    }
    let text = write(Format::Text, &events, names).unwrap_or_default();
    anyhow!("seed {seed}, {config:?}: {problem}\n{}", String::from_utf8_lossy(&text))
}
