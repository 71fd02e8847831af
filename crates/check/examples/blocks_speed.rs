//! Measures the block-based checkers on traces that keep their locking discipline and on random ones:
//! `cargo run --release -p atomvet-check --example blocks_speed`.
#![expect(clippy::print_stdout, reason = "a measurement is printed")]

use std::time::Instant;

use atomvet_check::Config;
use atomvet_check::predictive::blocks::Blocks;
use atomvet_check::predictive::blocks_exact::BlocksExact;
use atomvet_check::predictive::{Effort, Judge, Predicted, record};
use atomvet_trace::r#gen::{Config as Trace, Generator, Kind};

fn main() {
    let large = Trace { variables: 10_000, threads: 16, ..Trace::default() };
    for (kind, events) in
        [(Kind::TwoPhaseLocking, 100_000), (Kind::TwoPhaseLocking, 1_000_000), (Kind::Random, 100_000)]
    {
        measure(&Trace { kind, events, ..large.clone() });
    }
}

fn measure(config: &Trace) {
    let mut generator = Generator::new(config).expect("the parameters are in range");
    let (mut block, mut events) = (Vec::new(), Vec::new());
    while generator.next_block(&mut block) {
        events.append(&mut block);
    }
    let start = Instant::now();
    let execution = record(&Config::default(), &events);
    println!("{:?}, {} events: recorded in {:.2?}", config.kind, events.len(), start.elapsed());
    for judge in ["blocks", "blocks-exact"] {
        let start = Instant::now();
        let (mut effort, mut out) = (Effort::default(), Predicted::default());
        let stats = match judge {
            "blocks" => Blocks.judge(&execution, &mut effort, &mut out),
            _ => BlocksExact.judge(&execution, &mut effort, &mut out),
        };
        let (time, found, steps) = (start.elapsed(), out.violations.len(), effort.spent());
        println!("  {judge}: {time:.2?}, {found} violations, {steps} steps, {:?}", stats.0);
    }
}
