//! Measures what generating events, and checking their discipline, costs:
//! `cargo run --release -p atomvet-trace --example speed`.
#![expect(clippy::print_stdout, reason = "a measurement is printed")]

use std::time::Instant;

use atomvet_trace::r#gen::{Config, Generator, Kind};
use atomvet_trace::wellformed::{Discipline, Wellformed};
use atomvet_trace::{Event, EventId, LockId, Mode, Names, Op, RegionId, SiteId, ThreadId, VarId};

const BLOCK: usize = 8192;

fn main() {
    wellformed("accesses only", accesses());
    let mut mixed = accesses();
    for (i, part) in mixed.chunks_exact_mut(8).enumerate() {
        let i = i as u32;
        part.iter_mut().for_each(|event| event.thread = ThreadId(i % 4));
        part[0].op = Op::Begin(RegionId(0));
        part[1].op = Op::Acquire(LockId(i % 2), Mode::Exclusive);
        part[6].op = Op::Release(LockId(i % 2), Mode::Exclusive);
        part[7].op = Op::End;
    }
    wellformed("4 accesses in a block under a lock", mixed);
    for kind in [Kind::TwoPhaseLocking, Kind::GlobalLock, Kind::ThreadLocal, Kind::Random] {
        generate(Config { kind, events: 20_000_000, ..Config::default() });
    }
    for threads in [64, 1024] {
        generate(Config { threads, events: 20_000_000, ..Config::default() });
    }
}

fn generate(config: Config) {
    let mut generator = Generator::new(&config).expect("the parameters are in range");
    let (mut block, mut events) = (Vec::new(), 0);
    let start = Instant::now();
    while generator.next_block(&mut block) {
        events += block.len();
    }
    let millions = events as f64 / start.elapsed().as_secs_f64() / 1e6;
    println!("{:?}, {} threads: {millions:.0} million events per second", config.kind, config.threads);
}

/// One block of accesses by four threads, in no order that a processor could learn.
fn accesses() -> Vec<Event> {
    let mut state = 1_u64;
    let mut event = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let (variable, thread) = (VarId((state >> 40) as u32 % 1000), ThreadId((state >> 62) as u32));
        let op = if state >> 61 & 1 == 0 { Op::read(variable) } else { Op::write(variable) };
        Event { thread, op, site: SiteId::NONE }
    };
    (0..BLOCK).map(|_| event()).collect()
}

fn wellformed(name: &str, mut block: Vec<Event>) {
    const ROUNDS: u64 = 20_000;
    let (mut wellformed, names) = (Wellformed::new(Discipline::Strict), Names::default());
    let start = Instant::now();
    for round in 0..ROUNDS {
        let first = EventId(round * BLOCK as u64);
        wellformed.check(first, &mut block, &names).expect("the block keeps the rules");
    }
    let nanos = start.elapsed().as_nanos() as f64 / (ROUNDS * BLOCK as u64) as f64;
    println!("wellformed, {name}: {nanos:.2} ns per event");
}
