//! The definition, by brute force: which blocks have an event of another thread between their begin and one of their events.

use std::collections::BTreeSet;

use atomvet_live::access::Operation;

use crate::execution::{Event, Execution, Op};
use crate::replay::Shown;

/// The begin events of all violated blocks.
pub(crate) fn violated(execution: &Execution, lock_conflicts: bool) -> BTreeSet<usize> {
    let events = &execution.events;
    let before = happens_before(events, lock_conflicts);
    let mut violated = BTreeSet::new();
    for (block, piece) in pieces(events) {
        let first = piece[0];
        let interleaves = |x: usize, m: usize| {
            events[x].thread != events[m].thread && before[m] >> x & 1 == 1 && before[x] >> first & 1 == 1
        };
        if piece.iter().any(|&m| (first..m).any(|x| interleaves(x, m))) {
            violated.insert(block);
        }
    }
    violated
}

/// Per event, the events that happen before it, and itself: bit i stands for event i.
fn happens_before(events: &[Event], lock_conflicts: bool) -> Vec<u128> {
    let lives = lives(events);
    assert!(events.len() <= 128, "a set of events is a number here");
    let mut before: Vec<u128> = Vec::new();
    for j in 0..events.len() {
        let mut all = 1 << j;
        for i in (0..j).rev() {
            if all >> i & 1 == 0 && ordered(events, &lives, i, j, lock_conflicts) {
                all |= before[i];
            }
        }
        before.push(all);
    }
    before
}

/// What is wrong with a witness for a block, if anything: each dependence must be one, what a thread receives must happen
/// before what it hands on (in the same thread, or in a later one with the same index), and the way must lead out of the
/// block and back into it.
pub(crate) fn objection(execution: &Execution, lock_conflicts: bool, shown: &Shown) -> Option<String> {
    let (block, steps) = shown;
    let events = &execution.events;
    let lives = lives(events);
    let before = happens_before(events, lock_conflicts);
    let mut later: Option<usize> = None;
    for &(from, to) in steps {
        // Without a site, the event is the start of a thread.
        let (Some(from), Some(to)) = (from, to) else { return None };
        if from >= to || events[from].thread == events[to].thread {
            return Some(format!("{from} to {to} leads to no other thread"));
        }
        // A site may be that of an access in the same epoch to an earlier variable at the same address (`sites.rs`).
        let earlier_life = lives[from] != lives[to];
        if !earlier_life && !ordered(events, &lives, from, to, lock_conflicts) {
            return Some(format!("{from} and {to} do not conflict"));
        }
        if let Some(hands_on) = later
            && before[hands_on] >> to & 1 == 0
        {
            return Some(format!("{to} does not happen before {hands_on}"));
        }
        later = Some(from);
    }
    let (first, closing) = (steps.last()?.0?, steps[0].1?);
    let inside = |event: usize| events[event].thread == events[*block].thread && event > *block;
    (!inside(first) || !inside(closing) || first >= closing)
        .then(|| format!("{first} to {closing} is not a way out of block {block} and back"))
}

/// Per event, the life of every byte then.
fn lives(events: &[Event]) -> Vec<Vec<usize>> {
    let mut lives = vec![0; 64];
    let mut all = Vec::new();
    for event in events {
        if let Op::NewLife { address, bytes } = event.op {
            (address..address + bytes).for_each(|byte| lives[byte as usize] += 1);
        }
        all.push(lives.clone());
    }
    all
}

fn same_life(lives: &[Vec<usize>], i: usize, j: usize, byte: u64) -> bool {
    lives[i][byte as usize] == lives[j][byte as usize]
}

fn conflict(a: Operation, b: Operation) -> bool {
    match (a, b) {
        (Operation::Read, Operation::Read) => false,
        (Operation::Write, _) | (_, Operation::Write) => true,
        (a, b) => a != b,
    }
}

/// What an access counts as for one of its bytes: an update of a value that somebody has read is a write.
fn kind_of(events: &[Event], lives: &[Vec<usize>], at: usize, byte: u64) -> Operation {
    let Op::Access { kind, .. } = events[at].op else { return Operation::Unknown };
    let is_update = !matches!(kind, Operation::Read | Operation::Write);
    let reads = |before: usize| match events[before].op {
        Op::Access { kind: Operation::Read, address, bytes, .. } => {
            (address..address + bytes).contains(&byte) && same_life(lives, before, at, byte)
        }
        _ => false,
    };
    if is_update && (0..at).any(reads) { Operation::Write } else { kind }
}

fn ordered(events: &[Event], lives: &[Vec<usize>], i: usize, j: usize, lock_conflicts: bool) -> bool {
    let (a, b) = (events[i], events[j]);
    if a.thread == b.thread {
        return true;
    }
    match (a.op, b.op) {
        (Op::Access { address: x, bytes: n, .. }, Op::Access { address: y, bytes: m, .. }) => {
            let kind = |at: usize, byte: u64| kind_of(events, lives, at, byte);
            let at = |byte: u64| same_life(lives, i, j, byte) && conflict(kind(i, byte), kind(j, byte));
            (x.max(y)..(x + n).min(y + m)).any(at)
        }
        (
            Op::Lock { lock: x, shared: r } | Op::Unlock { lock: x, shared: r },
            Op::Lock { lock: y, shared: s } | Op::Unlock { lock: y, shared: s },
        ) => lock_conflicts && x == y && !(r && s),
        (Op::Fork(u), _) if u == b.thread => true,
        (_, Op::Join(u)) if u == a.thread => true,
        _ => false,
    }
}

/// The blocks, by their begin events, and the events of each piece of them.
fn pieces(events: &[Event]) -> Vec<(usize, Vec<usize>)> {
    let mut done = Vec::new();
    let threads = events.iter().map(|event| event.thread).max().unwrap_or(0) + 1;
    let mut open: Vec<Vec<(usize, Vec<usize>)>> = vec![Vec::new(); threads];
    for (i, event) in events.iter().enumerate() {
        let open = &mut open[event.thread];
        if event.op == Op::Begin {
            open.push((i, Vec::new()));
        }
        for (_, piece) in open.iter_mut() {
            piece.push(i);
        }
        match event.op {
            Op::End => done.extend(open.pop()),
            Op::Split => {
                for (block, piece) in open.iter_mut() {
                    done.push((*block, std::mem::take(piece)));
                }
            }
            _ => {}
        }
    }
    done.extend(open.into_iter().flatten());
    done.retain(|(_, piece)| !piece.is_empty());
    done
}
