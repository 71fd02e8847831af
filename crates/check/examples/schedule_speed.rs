//! What the search for schedules costs on a long trace.
//!
//! `cargo run --release -p atomvet-check --example schedule_speed -- 1000000 16 10000 1000 1000 100000`
//! records a million events of 16 threads, 10,000 variables and 1,000 locks, and asks for 1,000 goals with a budget of
//! 100,000 steps each. A block has a few critical sections, one after the other, so that it is not atomic. A goal is
//! e1 · f · e2 with e1 and e2 of one block and f the nearest conflicting access of another thread.
#![expect(clippy::print_stdout, reason = "an example, run by hand")]

use std::time::{Duration, Instant};

use atomvet_check::Config;
use atomvet_check::predictive::schedule::{Goal, Outcome, Recorded, Shows, Values};
use atomvet_trace::{Event, EventId, LockId, Mode, Op, RegionId, SiteId, ThreadId, VarId};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().and_then(|word| word.parse().ok()).unwrap_or(default);
    let (events, threads, variables) = (number(1_000_000), number(16), number(10_000));
    let (locks, goals, budget) = (number(1_000), number(1_000), number(100_000));
    let mut random = Random(1);
    let events = record(&mut random, events as usize, threads as usize, variables, locks);
    let config = Config::default();
    let start = Instant::now();
    let recorded = Recorded::new(&config, &events);
    println!("{} events, tables made in {:?}", events.len(), start.elapsed());

    let (mut asked, mut judged, mut judging) = (0, 0, Duration::ZERO);
    let mut results: [Vec<(Duration, u64)>; 3] = Default::default();
    while asked < goals {
        let Some(goal) = goal(&mut random, &events) else { continue };
        asked += 1;
        let start = Instant::now();
        let (outcome, steps) = recorded.search(&goal, budget);
        let spent = start.elapsed();
        let which = match &outcome {
            Outcome::Found(_) => 0,
            Outcome::None => 1,
            Outcome::OutOfBudget => 2,
        };
        results[which].push((spent, steps));
        // Judging takes longer than searching.
        if let Outcome::Found(schedule) = outcome
            && judged < 20
        {
            judged += 1;
            let start = Instant::now();
            if let Err(problem) = recorded.verify(&config, &schedule, &goal) {
                println!("refused: {problem}, {goal:?}");
            }
            judging += start.elapsed();
        }
    }
    if judged > 0 {
        println!("{judged} schedules judged, {:?} each", judging / judged);
    }
    for (name, mut results) in ["found", "none", "out of budget"].into_iter().zip(results) {
        results.sort_unstable();
        let count = results.len();
        if let (Some(middle), Some(late), Some(last)) =
            (results.get(count / 2), results.get(count * 9 / 10), results.last())
        {
            println!("{name}: {count}; median {middle:?}, of 10 the ninth {late:?}, longest {last:?}");
        }
    }
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// A block of some critical sections, the last operation first. Variable x is under lock x modulo `locks`.
fn block(random: &mut Random, variables: u64, locks: u64) -> Vec<Op> {
    let mut ops = vec![Op::Begin(RegionId::NONE)];
    let first = random.below(locks);
    for section in 0..2 + random.below(3) {
        // The first lock comes back in the next section.
        let lock = if section < 2 { first } else { random.below(locks) };
        ops.push(Op::Acquire(LockId(lock as u32), Mode::Exclusive));
        for _ in 0..1 + random.below(4) {
            let x = VarId((lock + locks * random.below(variables / locks)) as u32);
            ops.push(if random.below(3) == 0 { Op::write(x) } else { Op::read(x) });
        }
        ops.push(Op::Release(LockId(lock as u32), Mode::Exclusive));
    }
    ops.push(Op::End);
    ops.reverse();
    ops
}

fn record(random: &mut Random, length: usize, threads: usize, variables: u64, locks: u64) -> Vec<Event> {
    let mut to_do = vec![Vec::new(); threads];
    let mut held = vec![false; locks as usize];
    let mut events = Vec::with_capacity(length);
    while events.len() < length {
        let thread = random.below(threads as u64) as usize;
        for _ in 0..1 + random.below(16) {
            let Some(op) = to_do[thread].pop() else {
                to_do[thread] = block(random, variables, locks);
                continue;
            };
            match op {
                Op::Acquire(lock, _) if held[lock.index()] => {
                    to_do[thread].push(op);
                    break;
                }
                Op::Acquire(lock, _) => held[lock.index()] = true,
                Op::Release(lock, _) => held[lock.index()] = false,
                _ => {}
            }
            events.push(Event { thread: ThreadId(thread as u32), op, site: SiteId::NONE });
        }
    }
    events
}

/// A goal somewhere in the trace; none if there is none at the place that was picked.
fn goal(random: &mut Random, events: &[Event]) -> Option<Goal> {
    let from = random.below(events.len() as u64) as usize;
    let block = (from..events.len()).find(|&e| matches!(events[e].op, Op::Begin(_)))?;
    let thread = events[block].thread;
    let mut accesses = Vec::new();
    let mut section = 0;
    for (e, event) in events.iter().enumerate().skip(block).filter(|(_, event)| event.thread == thread) {
        match event.op {
            Op::Read(x, _) => accesses.push((e, x, false, section)),
            Op::Write(x, _) => accesses.push((e, x, true, section)),
            Op::Release(..) => section += 1,
            Op::End => break,
            _ => {}
        }
    }
    for &(e1, x, writes1, section1) in &accesses {
        let later =
            |&&(e2, y, _, section2): &&(usize, VarId, bool, i32)| e2 > e1 && y == x && section2 > section1;
        if let Some(&(e2, _, writes2, _)) = accesses.iter().find(later) {
            let conflicts = |f: usize| {
                let other = events[f].thread != thread;
                other && (events[f].op == Op::write(x) || events[f].op == Op::read(x) && writes1 && writes2)
            };
            let near = (1..events.len()).flat_map(|d| [block.checked_sub(d), block.checked_add(d)]);
            let f = near.flatten().filter(|&f| f < events.len()).find(|&f| conflicts(f))?;
            let [block, e1, f, e2] = [block, e1, f, e2].map(|e| EventId(e as u64));
            let (shows, values) = (Shows::Violation { block }, Values::AsRecorded);
            return Some(Goal { shows, order: vec![(e1, f), (f, e2)], values });
        }
    }
    None
}
