//! Measures what threads cost the observed checkers: time per event, and peak memory of the process.
//! `cargo run --release -p atomvet-check --example many_threads -- regiontrack blocks 4096 1000000`.
#![expect(clippy::print_stdout, reason = "a measurement is printed")]

use std::time::Instant;

use atomvet_check::{Config, Findings, registry};
use atomvet_trace::r#gen::{Config as Trace, Features, Generator, Kind, Start};
use atomvet_trace::{Event, EventId, Op, RegionId, SiteId, ThreadId, VarId};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [algorithm, shape, threads, events] = arguments.as_slice() else {
        println!("usage: many_threads ALGORITHM SHAPE THREADS EVENTS");
        return;
    };
    let entry = registry::find(algorithm).expect("an algorithm's name");
    let threads: u32 = threads.parse().expect("a number of threads");
    let count: u64 = events.parse().expect("a number of events");
    let events = trace(shape, threads, count);
    let before = peak();
    let config = Config::default();
    let mut out = Findings::folded(&config);
    let mut checker = (entry.new)(&config);
    let start = Instant::now();
    for (i, block) in events.chunks(1024).enumerate() {
        checker.events(EventId(i as u64 * 1024), block, &mut out);
    }
    let stats = checker.finish(&mut out);
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{algorithm} {shape} {threads} threads: {seconds:.3} s, {:.0} ns per event, {} MiB more, {} found, {:?}",
        seconds * 1e9 / events.len() as f64,
        (peak() - before) >> 10,
        out.list.len(),
        stats.0
    );
}

fn trace(shape: &str, threads: u32, count: u64) -> Vec<Event> {
    let realistic = Trace { threads, events: count, variables: 100_000, ..Trace::default() };
    match shape {
        "two-phase" => generate(&realistic),
        "together" => generate(&Trace { start: Start::Together, ..realistic }),
        "many-locks" => generate(&Trace { locks: threads, start: Start::Together, ..realistic }),
        "global-lock" => generate(&Trace { kind: Kind::GlobalLock, ..realistic }),
        "random" => generate(&Trace { kind: Kind::Random, features: Features::NONE, ..realistic }),
        // Single events in turn, each of which depends on another thread's.
        "unary" => (0..count)
            .map(|i| {
                let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                event((mixed % u64::from(threads)) as u32, Op::write(VarId((mixed / 7 % 1000) as u32)))
            })
            .collect(),
        // Every thread has a block open all the time, and writes what others write.
        "open" => {
            let begins = (0..threads).map(|thread| event(thread, Op::Begin(RegionId::NONE)));
            begins.chain(trace("unary", threads, count.saturating_sub(u64::from(threads)))).collect()
        }
        // Every thread opens a block and writes one variable once.
        "chain" => (0..threads)
            .flat_map(|t| [event(t, Op::Begin(RegionId::NONE)), event(t, Op::write(VarId(0)))])
            .collect(),
        // Every thread writes a variable of its own once.
        "named" => (0..threads).map(|t| event(t, Op::write(VarId(t)))).collect(),
        _ => panic!("no such shape"),
    }
}

fn event(thread: u32, op: Op) -> Event {
    Event { thread: ThreadId(thread), op, site: SiteId::NONE }
}

fn generate(config: &Trace) -> Vec<Event> {
    let mut generator = Generator::new(config).expect("the parameters are in range");
    let (mut block, mut events) = (Vec::new(), Vec::new());
    while generator.next_block(&mut block) {
        events.append(&mut block);
    }
    events
}

/// In KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}
