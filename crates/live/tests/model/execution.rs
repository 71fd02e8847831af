//! Random executions: a total order of events of several threads, well-formed by construction.

use std::fmt;

use atomvet_live::access::Operation;

/// A small generator of numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
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

    fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// What an event does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Begin,
    End,
    /// An access to `bytes` bytes from `address` on; an update is of a kind that commutes with itself.
    Access {
        kind: Operation,
        address: u64,
        bytes: u64,
        atomic: bool,
    },
    Lock {
        lock: u64,
        shared: bool,
    },
    Unlock {
        lock: u64,
        shared: bool,
    },
    /// Starts the thread with this number, which no other thread ever had.
    Fork(usize),
    /// The thread ends.
    Exit,
    /// Waits for the end of a thread that has exited.
    Join(usize),
    /// All open blocks start anew.
    Split,
    /// These bytes are other variables from here on.
    NewLife {
        address: u64,
        bytes: u64,
    },
}

/// One event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Event {
    pub(crate) thread: usize,
    pub(crate) op: Op,
}

/// How executions are drawn.
pub(crate) struct Shape {
    pub(crate) events: usize,
    /// How many threads live at the same time, at most. The first one is there from the start.
    pub(crate) threads: usize,
    /// How many of 100 steps fork, exit or join.
    pub(crate) forks: usize,
    /// Granules of 8 bytes.
    pub(crate) granules: usize,
    /// How many of 100 accesses are to a whole granule.
    pub(crate) whole: usize,
    /// How many of 100 accesses write or update.
    pub(crate) writes: usize,
    /// How many of 100 of those update, in granules that are accessed by atomic operations only.
    pub(crate) updates: usize,
    /// How many granules, from the first on, are accessed by atomic operations only.
    pub(crate) atomic: usize,
    /// How many of 1000 steps split blocks, or begin a new life.
    pub(crate) rare: usize,
}

impl Shape {
    pub(crate) fn any(random: &mut Random) -> Shape {
        Shape {
            events: random.pick(&[12, 20, 35, 60]),
            threads: 2 + random.below(3),
            forks: random.pick(&[4, 10]),
            granules: 1 + random.below(3),
            whole: random.pick(&[0, 50, 100]),
            writes: random.pick(&[10, 40, 60]),
            updates: random.pick(&[10, 50, 90]),
            atomic: random.below(4),
            rare: random.pick(&[0, 20]),
        }
    }
}

/// A total order of events.
#[derive(Clone)]
pub(crate) struct Execution {
    pub(crate) events: Vec<Event>,
}

/// Two locks in one granule, and one alone.
const LOCKS: [u64; 3] = [64, 68, 80];

#[derive(Default, Clone)]
struct Thread {
    forked: bool,
    exited: bool,
    joined: bool,
    open: usize,
    held: Vec<(u64, bool)>,
}

impl Execution {
    pub(crate) fn random(random: &mut Random, shape: &Shape) -> Execution {
        let mut events = Vec::new();
        let mut threads = vec![Thread { forked: true, ..Thread::default() }];
        // The other threads start at once, mostly.
        for _ in 1..shape.threads {
            if random.percent(70) {
                events.push(Event { thread: 0, op: Op::Fork(threads.len()) });
                threads.push(Thread { forked: true, ..Thread::default() });
            }
        }
        while events.len() < shape.events {
            let running: Vec<usize> = (0..threads.len()).filter(|&i| !threads[i].exited).collect();
            let thread = random.pick(&running);
            if let Some(op) = propose(random, shape, &threads, thread, running.len()) {
                if let Op::Fork(_) = op {
                    threads.push(Thread::default());
                }
                apply(&mut threads, thread, op);
                events.push(Event { thread, op });
            }
        }
        Execution { events }
    }

    /// The smallest execution found that is still wrong, by leaving out events.
    pub(crate) fn reduced(&self, wrong: impl Fn(&Execution) -> bool) -> Execution {
        let mut smallest = self.clone();
        loop {
            let count = smallest.events.len();
            let mut index = 0;
            while index < smallest.events.len() {
                let mut candidate = smallest.clone();
                let gone = candidate.events.remove(index);
                // A begin goes with its end.
                if gone.op == Op::Begin
                    && let Some(end) = matching_end(&candidate.events[index..], gone.thread)
                {
                    candidate.events.remove(index + end);
                }
                if candidate.is_well_formed() && wrong(&candidate) {
                    smallest = candidate;
                } else {
                    index += 1;
                }
            }
            if smallest.events.len() == count {
                return smallest;
            }
        }
    }

    fn is_well_formed(&self) -> bool {
        let count = 1 + self.events.iter().filter(|event| matches!(event.op, Op::Fork(_))).count();
        let highest = self.events.iter().map(|event| event.thread).max().unwrap_or(0);
        let mut threads = vec![Thread::default(); (count + highest + 64).max(64)];
        threads[0].forked = true;
        for event in &self.events {
            if !is_legal(&threads, event.thread, event.op) {
                return false;
            }
            apply(&mut threads, event.thread, event.op);
        }
        true
    }
}

fn matching_end(events: &[Event], thread: usize) -> Option<usize> {
    let mut depth = 0;
    for (i, event) in events.iter().enumerate().filter(|(_, event)| event.thread == thread) {
        match event.op {
            Op::Begin => depth += 1,
            Op::End if depth == 0 => return Some(i),
            Op::End => depth -= 1,
            _ => {}
        }
    }
    None
}

fn propose(
    random: &mut Random,
    shape: &Shape,
    threads: &[Thread],
    thread: usize,
    running: usize,
) -> Option<Op> {
    let op = if random.percent(shape.forks) {
        match random.below(3) {
            0 if running < shape.threads => Op::Fork(threads.len()),
            1 if running > 1 => Op::Exit,
            _ => Op::Join(random.below(threads.len())),
        }
    } else if random.below(1000) < shape.rare {
        if random.percent(50) {
            Op::Split
        } else {
            {
                let address = random.below(8 * shape.granules) as u64;
                Op::NewLife {
                    address,
                    bytes: 1 + random.below((8 * shape.granules) - address as usize) as u64,
                }
            }
        }
    } else {
        match random.below(100) {
            0..18 => Op::Begin,
            18..32 => Op::End,
            32..40 => Op::Lock { lock: random.pick(&LOCKS), shared: random.percent(30) },
            40..50 => {
                let &(lock, shared) = threads[thread].held.last()?;
                Op::Unlock { lock, shared }
            }
            _ => access(random, shape),
        }
    };
    let forks_legally = matches!(op, Op::Fork(_)) || is_legal(threads, thread, op);
    forks_legally.then_some(op)
}

fn access(random: &mut Random, shape: &Shape) -> Op {
    let all = 8 * shape.granules as u64;
    if random.percent(shape.whole) {
        let address = 8 * random.below(shape.granules) as u64;
        let atomic = (address / 8) < shape.atomic as u64;
        return Op::Access { kind: kind(random, shape, atomic), address, bytes: 8, atomic };
    }
    let bytes = random.pick(&[1, 2, 4, 4, 4, 8, 16]).min(all);
    let step = if random.percent(80) { bytes } else { 1 };
    let address = random.below(((all - bytes) / step + 1) as usize) as u64 * step;
    let atomic = (address / 8) < shape.atomic as u64;
    // Atomic operations are aligned, and not longer than a granule here.
    let (address, bytes) =
        if atomic { (address / bytes.min(8) * bytes.min(8), bytes.min(8)) } else { (address, bytes) };
    Op::Access { kind: kind(random, shape, atomic), address, bytes, atomic }
}

fn kind(random: &mut Random, shape: &Shape, atomic: bool) -> Operation {
    match () {
        () if !random.percent(shape.writes) => Operation::Read,
        () if !atomic || !random.percent(shape.updates) => Operation::Write,
        () => random.pick(&[Operation::Add, Operation::Add, Operation::Or]),
    }
}

fn is_legal(threads: &[Thread], thread: usize, op: Op) -> bool {
    let this = &threads[thread];
    if !this.forked || this.exited {
        return false;
    }
    let held_by = |other: &Thread, lock| other.held.iter().any(|held| held.0 == lock);
    let held_exclusively = |other: &Thread, lock| other.held.contains(&(lock, false));
    match op {
        Op::End => this.open > 0,
        Op::Lock { lock, shared: false } => !threads.iter().any(|other| held_by(other, lock)),
        Op::Lock { lock, shared: true } => {
            !held_by(this, lock) && !threads.iter().any(|other| held_exclusively(other, lock))
        }
        Op::Unlock { lock, shared } => this.held.contains(&(lock, shared)),
        Op::Fork(other) => other < threads.len() && !threads[other].forked,
        Op::Exit => thread != 0 && this.open == 0 && this.held.is_empty(),
        Op::Join(other) => threads[other].exited && !threads[other].joined,
        Op::Begin | Op::Access { .. } | Op::Split | Op::NewLife { .. } => true,
    }
}

fn apply(threads: &mut [Thread], thread: usize, op: Op) {
    match op {
        Op::Begin => threads[thread].open += 1,
        Op::End => threads[thread].open -= 1,
        Op::Lock { lock, shared } => threads[thread].held.push((lock, shared)),
        Op::Unlock { lock, shared } => threads[thread].held.retain(|&held| held != (lock, shared)),
        Op::Fork(other) => threads[other].forked = true,
        Op::Exit => threads[thread].exited = true,
        Op::Join(other) => threads[other].joined = true,
        Op::Access { .. } | Op::Split | Op::NewLife { .. } => {}
    }
}

impl fmt::Display for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, event) in self.events.iter().enumerate() {
            writeln!(f, "{i:3} T{}: {:?}", event.thread, event.op)?;
        }
        Ok(())
    }
}
