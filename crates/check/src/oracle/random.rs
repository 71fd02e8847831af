//! Random well-formed traces with every operation, for tests that compare with the oracle.

use atomvet_trace::{
    AccessKind, BarrierId, Event, LockId, Mode, Op, RegionId, SiteId, ThreadId, UpdateKind, VarId,
};

/// A tiny generator of numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

const LOCKS: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    /// Never forked, may start by itself.
    Initial,
    /// Waits for its first fork, or was joined.
    Away,
    Running,
}

struct Thread {
    life: Life,
    depth: usize,
    /// How often it holds each lock exclusively and shared.
    held: [[usize; 2]; LOCKS],
    /// A lock that it waits for, and how often it will hold it.
    waits: Option<(usize, usize)>,
}

/// A trace of `length` events. Which kinds of operations occur is part of the dice, so that simple
/// traces are frequent.
pub(crate) fn trace(random: &mut Random, length: usize) -> Vec<Event> {
    let mut threads: Vec<Thread> = (0..2 + random.below(3))
        .map(|i| Thread {
            life: if i > 0 && random.below(3) == 0 { Life::Away } else { Life::Initial },
            depth: 0,
            held: [[0; 2]; LOCKS],
            waits: None,
        })
        .collect();
    let variables = 1 + random.below(3);
    // Every other trace is about one extension only, the rest mix them.
    let kinds: Vec<usize> = match random.below(2) {
        0 => vec![2 + random.below(7)],
        _ => (0..9).filter(|&kind| kind < 2 || random.below(3) == 0).collect(),
    };
    let mut events = Vec::with_capacity(length);
    // Nobody may be able to go on (all wait for a held lock), so the number of trials is bounded.
    for _ in 0..length * 20 {
        if events.len() == length {
            break;
        }
        let thread = random.below(threads.len());
        let Some(op) = propose(random, &threads, thread, variables, &kinds) else { continue };
        let site = match op {
            Op::Begin(RegionId::NONE) => SiteId(random.below(2) as u32),
            _ => SiteId::NONE,
        };
        events.push(Event { thread: ThreadId(thread as u32), op, site });
        if op != Op::Skip {
            apply(&mut threads, thread, op);
        }
    }
    events
}

fn propose(
    random: &mut Random,
    threads: &[Thread],
    me: usize,
    variables: usize,
    kinds: &[usize],
) -> Option<Op> {
    let this = &threads[me];
    if this.life == Life::Away {
        return None;
    }
    let others_hold = |lock: usize, modes: &[usize]| {
        threads
            .iter()
            .enumerate()
            .any(|(other, thread)| other != me && modes.iter().any(|&mode| thread.held[lock][mode] > 0))
    };
    let mut held = this.held;
    if let Some((lock, count)) = this.waits {
        if others_hold(lock, &[0, 1]) {
            return None;
        }
        held[lock][0] = count;
    }
    let x = VarId(random.below(variables) as u32);
    let lock = random.below(LOCKS);
    let l = LockId(lock as u32);
    let other = random.below(threads.len());
    let (mode, mode_index) = random.pick(&[(Mode::Exclusive, 0), (Mode::Shared, 1)]);
    // Accesses and block boundaries are more frequent than the rest.
    let kind = if random.below(2) == 0 { random.below(2) } else { random.pick(kinds) };
    match kind {
        0 => {
            let kind = random.pick(&[AccessKind::Plain, AccessKind::Plain, AccessKind::Atomic]);
            Some(if random.below(2) == 0 { Op::Read(x, kind) } else { Op::Write(x, kind) })
        }
        1 if this.depth > 0 && random.below(2) == 0 => Some(Op::End),
        1 if this.depth < 3 => Some(Op::Begin(random.pick(&[RegionId::NONE, RegionId(0), RegionId(1)]))),
        2 => Some(Op::Update(
            x,
            random.pick(&[UpdateKind::Other, UpdateKind::Add, UpdateKind::Max, UpdateKind::Same]),
        )),
        3 | 4 if held[lock][mode_index] > 0 && random.below(3) > 0 => {
            let last = held[lock][mode_index] == 1;
            Some(if last { Op::Release(l, mode) } else { Op::Rerelease(l, mode) })
        }
        3 if held[lock][mode_index] > 0 => Some(Op::Reacquire(l, mode)),
        3 if mode == Mode::Exclusive && !others_hold(lock, &[0, 1]) => Some(Op::Acquire(l, mode)),
        3 if mode == Mode::Shared && !others_hold(lock, &[0]) => Some(Op::Acquire(l, mode)),
        4 if held[lock][0] > 0 && held[lock][1] == 0 => Some(Op::Wait(l)),
        4 if held[lock] == [0, 0] && !others_hold(lock, &[0, 1]) => Some(Op::Acquire(l, Mode::Exclusive)),
        5 if other != me && threads[other].life == Life::Away => Some(Op::Fork(ThreadId(other as u32))),
        5 if other != me && threads[other].life == Life::Running => Some(Op::Join(ThreadId(other as u32))),
        6 => Some(Op::Barrier(BarrierId(random.below(2) as u32))),
        7 => Some(random.pick(&[Op::Alloc(x), Op::Free(x), Op::Escape(x)])),
        8 => Some(if random.below(2) == 0 { Op::Skip } else { Op::Local }),
        _ => None,
    }
}

fn apply(threads: &mut [Thread], me: usize, op: Op) {
    let this = &mut threads[me];
    this.life = Life::Running;
    if let Some((lock, count)) = this.waits.take() {
        this.held[lock][0] = count;
    }
    let index = |mode| usize::from(mode == Mode::Shared);
    match op {
        Op::Begin(_) => this.depth += 1,
        Op::End => this.depth -= 1,
        Op::Acquire(l, mode) | Op::Reacquire(l, mode) => this.held[l.index()][index(mode)] += 1,
        Op::Release(l, mode) | Op::Rerelease(l, mode) => this.held[l.index()][index(mode)] -= 1,
        Op::Wait(l) => this.waits = Some((l.index(), std::mem::take(&mut this.held[l.index()][0]))),
        Op::Fork(u) => threads[u.index()].life = Life::Running,
        Op::Join(u) => threads[u.index()].life = Life::Away,
        _ => {}
    }
}
