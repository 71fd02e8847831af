//! Nanoseconds per event of each checker on generated two-phase-locking traces, without reading.
use std::time::Instant;
use atomvet_check::{Config, Findings, registry::CHECKERS};
use atomvet_trace::{EventId, r#gen};
fn main() {
    let mut args = std::env::args().skip(1);
    let only = args.next().unwrap_or_default();
    let count: u64 = args.next().and_then(|a| a.parse().ok()).unwrap_or(10_000_000);
    for (threads, variables) in [(4, 1000), (16, 100_000)] {
        let mut config = r#gen::Config { events: count, threads, variables, ..Default::default() };
        config.kind = r#gen::Kind::TwoPhaseLocking;
        config.seed = 1;
        if let Some(locks) = std::env::args().nth(3) { config.locks = locks.parse().unwrap(); }
        let mut generator = r#gen::Generator::new(&config).unwrap();
        let events = generator.collect();
        for entry in CHECKERS.iter().filter(|e| only.is_empty() || e.info.name == only) {
            let mut out = Findings::folded(&Config::default());
            let mut checker = (entry.new)(&Config::default());
            let start = Instant::now();
            for (i, block) in events.chunks(8192).enumerate() {
                checker.events(EventId(i as u64 * 8192), block, &mut out);
            }
            let stats = checker.finish(&mut out);
            println!("{threads} {variables} {}: {:.1} ns/event, {} findings {:?}", entry.info.name, start.elapsed().as_nanos() as f64 / events.len() as f64, out.list.len(), stats.0);
        }
    }
}
