//! Whatever small trace the bytes describe, every checker agrees with the oracle, every witness and
//! every serial order verifies, and one pass refines as iteration does: all that
//! `atomvet_check::agreement` knows to ask.
//! `cargo +nightly fuzz run checkers -- -max_len=257`
//!
//! The bytes are choices, not text, so that a changed byte changes one event:
//!
//! ```text
//! byte 0        bit 0 commuting updates, bit 1 split at waits, bit 2 repairs instead of leaving out,
//!               bits 3-4 threads (2 to 5), bits 5-6 variables (1 to 4), bit 7 one lock or two
//! every 2 more  thread and target in the first byte; operation, and its kind, in the second
//! ```
//!
//! An event that would break the discipline of `docs/event-model.md` does not happen; with bit 2, it is
//! repaired as by `--lenient`. One repair is never asked for: a thread that goes on after a wait
//! without its lock. Such a trace has no order of critical sections, and the event model
//! does not say how the holder's later release relates to that thread.
#![no_main]

use atomvet_check::{Config, agreement};
use atomvet_trace::wellformed::{Discipline, Repair, Wellformed};
use atomvet_trace::{BarrierId, Event, EventId, LockId, Mode, Names, Op, RegionId, SiteId, ThreadId};
use atomvet_trace::{UpdateKind, VarId};
use libfuzzer_sys::fuzz_target;

/// The oracle takes cubic time.
const MOST_EVENTS: usize = 48;

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let config = Config { commuting_updates: first & 1 != 0, split_at_waits: first & 2 != 0, ..Config::default() };
    let discipline = if first & 4 != 0 { Discipline::Lenient } else { Discipline::Strict };
    let size = Size {
        threads: 2 + u32::from(first >> 3 & 3),
        variables: 1 + u32::from(first >> 5 & 3),
        locks: 1 + u32::from(first >> 7),
    };
    let events = trace(discipline, &size, rest);
    let agreed = agreement::agree(&config, &events).and_then(|_| agreement::foresee(&config, &events));
    if let Err(problem) = agreed {
        panic!("{config:?}: {problem}\n{}", atomvet_check::notation::show(&events, &Names::default()));
    }
});

struct Size {
    threads: u32,
    variables: u32,
    locks: u32,
}

fn trace(discipline: Discipline, size: &Size, bytes: &[u8]) -> Vec<Event> {
    let names = names();
    let mut asked_for: Vec<Event> = Vec::new();
    let mut events = Vec::new();
    for &[who, what] in bytes.as_chunks::<2>().0.iter().take(4 * MOST_EVENTS) {
        if asked_for.len() == MOST_EVENTS {
            break;
        }
        asked_for.push(event(size, who, what));
        // From the start each time: a broken rule leaves the state behind that broke it.
        match wellformed(discipline, &asked_for, &names) {
            Some(checked) => events = checked,
            None => drop(asked_for.pop()),
        }
    }
    events
}

/// The events as checkers get them, if the discipline can be kept.
fn wellformed(discipline: Discipline, events: &[Event], names: &Names) -> Option<Vec<Event>> {
    let mut wellformed = Wellformed::new(discipline);
    let mut checked = events.to_vec();
    wellformed.check(EventId(0), &mut checked, names).ok()?;
    let lost = wellformed.repairs_by_kind().any(|(repair, _)| repair == Repair::WaitLostLock);
    (!lost).then_some(checked)
}

fn event(size: &Size, who: u8, what: u8) -> Event {
    use Mode::{Exclusive, Shared};
    let thread = ThreadId(u32::from(who) % size.threads);
    let target = u32::from(who) / size.threads;
    let kind = usize::from(what >> 5);
    let x = VarId(target % size.variables);
    let lock = LockId(target % size.locks);
    let other = ThreadId(target % size.threads);
    let op = match what & 31 {
        0..=3 => Op::read(x),
        4..=7 => Op::write(x),
        8..=10 => Op::Begin([RegionId::NONE, RegionId(0), RegionId(1)][kind % 3]),
        11..=13 => Op::End,
        14 | 15 => Op::Update(x, UPDATES[kind]),
        16 | 17 => Op::Acquire(lock, Exclusive),
        18 | 19 => Op::Release(lock, Exclusive),
        20 => Op::Acquire(lock, Shared),
        21 => Op::Release(lock, Shared),
        22 | 23 => Op::Wait(lock),
        24 | 25 => Op::Fork(other),
        26 | 27 => Op::Join(other),
        28 if target % 3 == 0 => Op::Escape(x),
        28 => Op::Barrier(BarrierId(target % 2)),
        29 => Op::Alloc(x),
        30 => Op::Free(x),
        _ => [Op::Local, Op::Skip][kind % 2],
    };
    let site = match op {
        Op::Begin(RegionId::NONE) => SiteId(target % 2),
        _ => SiteId::NONE,
    };
    Event { thread, op, site }
}

const UPDATES: [UpdateKind; 8] = [
    UpdateKind::Other,
    UpdateKind::Add,
    UpdateKind::Or,
    UpdateKind::And,
    UpdateKind::Xor,
    UpdateKind::Min,
    UpdateKind::Max,
    UpdateKind::Same,
];

/// For the words of errors, which nobody reads here.
fn names() -> Names {
    let mut names = Names::default();
    for number in ["0", "1", "2", "3", "4"] {
        names.threads.intern(number);
        names.locks.intern(number);
    }
    names
}
