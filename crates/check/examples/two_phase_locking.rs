//! What a checker costs per event on a serializable run, and whether its memory grows.
//!
//! `cargo run --release -p atomvet-check --example two_phase_locking -- aerodrome 20 16 100000 1000`
//! runs the named checker over 20 million events of 16 threads, 100,000 variables and 1,000 locks.
//! Transactions take 2 to 4 locks, access the variables under them and release all at the end.
//! Time is the median over blocks of events, so that a busy machine does not spoil it.
#![expect(clippy::print_stdout, reason = "an example, run by hand")]

use std::time::Instant;

use atomvet_check::{Config, Findings, Stats, registry};
use atomvet_trace::{Event, EventId, LockId, Mode, Op, RegionId, SiteId, ThreadId, VarId};

const BLOCK: usize = 4096;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "aerodrome".to_owned());
    let mut number = |default: u64| arguments.next().and_then(|word| word.parse().ok()).unwrap_or(default);
    let (millions, threads, variables, locks) = (number(20), number(16), number(100_000), number(1_000));
    let Some(entry) = registry::find(&name) else {
        println!("no checker is called {name}");
        return;
    };
    let config = Config::default();
    let mut checker = (entry.new)(&config);
    let mut out = Findings::folded(&config);
    let mut program = Program::new(threads, variables, locks);
    let mut block = Vec::with_capacity(BLOCK);
    let (mut events, mut spent, mut show_at) = (0, Vec::new(), 1_000_000);
    while events < millions * 1_000_000 {
        program.fill(&mut block);
        let start = Instant::now();
        checker.events(EventId(events), &block, &mut out);
        spent.push(start.elapsed().as_nanos() as f64 / block.len() as f64);
        events += block.len() as u64;
        if events >= show_at {
            show_at *= 2;
            let each = median(&mut spent);
            println!("{name}: {events} events, {each:.1} ns each, {} KiB resident", resident());
        }
    }
    println!("{name}: {events} events, {} KiB resident", resident());
    let Stats(figures) = checker.finish(&mut out);
    for (figure, value) in figures {
        println!("  {figure}: {value}");
    }
    println!("  findings: {}", out.list.len());
}

fn median(values: &mut Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values[values.len() / 2];
    values.clear();
    middle
}

/// The memory of this process, where the system tells.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).map_or(0, |pages: u64| pages * 4)
}

struct Program {
    random: u64,
    threads: Vec<Vec<Op>>,
    held: Vec<bool>,
    variables: u64,
}

impl Program {
    fn new(threads: u64, variables: u64, locks: u64) -> Self {
        Program {
            random: 1,
            threads: vec![Vec::new(); threads as usize],
            held: vec![false; locks as usize],
            variables,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % bound
    }

    /// What a thread does next, in reverse.
    fn transaction(&mut self) -> Vec<Op> {
        let count = self.held.len() as u64;
        let mut locks: Vec<u64> = (0..2 + self.below(3)).map(|_| self.below(count)).collect();
        // One order for all threads, so that nobody waits forever.
        locks.sort_unstable();
        locks.dedup();
        let mut ops = vec![Op::Begin(RegionId::NONE)];
        for &lock in &locks {
            ops.push(Op::Acquire(LockId(lock as u32), Mode::Exclusive));
            for _ in 0..12 / locks.len() {
                let x = VarId((lock + count * self.below(self.variables / count)) as u32);
                ops.push(if self.below(3) == 0 { Op::write(x) } else { Op::read(x) });
            }
        }
        ops.extend(locks.iter().map(|&lock| Op::Release(LockId(lock as u32), Mode::Exclusive)));
        ops.push(Op::End);
        ops.reverse();
        ops
    }

    fn fill(&mut self, block: &mut Vec<Event>) {
        block.clear();
        while block.len() < BLOCK {
            let thread = self.below(self.threads.len() as u64) as usize;
            for _ in 0..1 + self.below(8) {
                let op = match self.threads[thread].pop() {
                    Some(op) => op,
                    None => {
                        self.threads[thread] = self.transaction();
                        continue;
                    }
                };
                match op {
                    Op::Acquire(lock, _) if self.held[lock.index()] => {
                        self.threads[thread].push(op);
                        break;
                    }
                    Op::Acquire(lock, _) => self.held[lock.index()] = true,
                    Op::Release(lock, _) => self.held[lock.index()] = false,
                    _ => {}
                }
                block.push(Event { thread: ThreadId(thread as u32), op, site: SiteId::NONE });
            }
        }
    }
}
