//! Which blocks are violated, straight from the definition: verdict 2 of `docs/event-model.md`.
//!
//! Block B is violated if an event x of another thread has `B.begin → x → m` for an event m of B. The order → is computed
//! as a whole, pair by pair: n events cost n² comparisons and n³/64 steps for the closure. Programs of some hundred events
//! take milliseconds.
//!
//! Every event is explicit, so that no rule speaks of "the next event" of a thread:
//!
//! ```text
//! wait(l)      Release(l) Split … Acquire(l)        the second part where the thread goes on
//! barrier(b)   Arrive(e)  Split … Leave(e)          e is the episode, not the barrier
//! join(u)      Split Join(u)
//! sem_wait     Split Receive(s)                     s: the post whose permit it takes; none for an initial permit
//! ```
//!
//! A re-entrant lock appears with its outermost acquire and release only.

use std::collections::{BTreeMap, BTreeSet};

/// A thread. Each execution of a thread has a number of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Thread(pub u32);

/// A lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Lock(pub u32);

/// One time that all parties of a barrier meet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Episode(pub u32);

/// What one thread tells others: a post of a semaphore, a task that is submitted, an initialisation that is done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Signal(pub u32);

/// What a block is reported as: a function or a name. Blocks with one label are counted together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Label(pub u32);

/// Bytes of memory, or of any space of numbers that stands for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bytes {
    /// The first one.
    pub address: u64,
    /// How many.
    pub length: u64,
}

/// Read-modify-writes of which two of the same kind give the same result in either order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Update {
    /// Addition and subtraction.
    Add,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
}

/// What is done to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// A load; also a compare-exchange that fails.
    Read,
    /// A store.
    Write,
    /// A read-modify-write that commutes with nothing: an exchange, a compare-exchange that succeeds.
    ReadWrite,
    /// A read-modify-write that may commute with its like.
    Update {
        /// With which others.
        kind: Update,
        /// The program is seen to use its result, which counts as a read.
        is_result_used: bool,
    },
}

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Accesses these bytes.
    Access(Access, Bytes),
    /// These bytes are other variables from here on: they were allocated or freed.
    NewLife(Bytes),
    /// Takes a lock exclusively.
    Acquire(Lock),
    /// Releases it.
    Release(Lock),
    /// Takes the read side of a read-write lock.
    AcquireShared(Lock),
    /// Releases it.
    ReleaseShared(Lock),
    /// Orders everything before it ahead of each `Receive` of the same signal.
    Send(Signal),
    /// See `Send`.
    Receive(Signal),
    /// Arrives at a barrier.
    Arrive(Episode),
    /// Leaves it: after all arrivals of this episode.
    Leave(Episode),
    /// Starts a thread.
    Fork(Thread),
    /// Has waited for the end of a thread.
    Join(Thread),
    /// A block begins.
    Begin(Label),
    /// The innermost open block ends.
    End,
    /// Every open block of the thread ends here and starts anew with this event, where waits split blocks.
    Split,
}

/// A thread does something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Who.
    pub thread: Thread,
    /// What.
    pub operation: Operation,
}

/// Which operations order threads, besides fork and join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conflicts {
    /// Accesses, locks, signals and barriers: the papers' relation.
    Locks,
    /// Accesses alone.
    Data,
}

/// When two updates of the same kind do not conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Commuting {
    /// They always conflict.
    Never,
    /// Until the value is first read.
    UntilFirstRead,
}

/// The conventions under which a trace is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conventions {
    /// What conflicts.
    pub conflicts: Conflicts,
    /// Whether waiting splits blocks.
    pub split_at_waits: bool,
    /// Whether updates commute.
    pub commuting: Commuting,
}

impl Conventions {
    /// What `atomvet run` does unless told otherwise.
    pub const LIVE: Conventions = Conventions {
        conflicts: Conflicts::Locks,
        split_at_waits: true,
        commuting: Commuting::UntilFirstRead,
    };
    /// The papers' definition: what `run --strict-waits --strict-atomics` does.
    pub const STRICT: Conventions =
        Conventions { conflicts: Conflicts::Locks, split_at_waits: false, commuting: Commuting::Never };
}

/// How many executions of the blocks with each label are violated. Labels without any are absent.
pub fn violated(events: &[Event], conventions: Conventions) -> BTreeMap<Label, usize> {
    let order = HappensBefore::new(events, conventions);
    let mut counts = BTreeMap::new();
    for block in blocks(events, conventions.split_at_waits) {
        if block.pieces.iter().any(|piece| is_violated(piece, events, &order)) {
            *counts.entry(block.label).or_default() += 1;
        }
    }
    counts
}

/// One execution of a block.
struct Block {
    label: Label,
    /// The events of each piece, in their order; there is one piece unless waits split it.
    pieces: Vec<Vec<usize>>,
}

/// All blocks. One that is open at the end of the trace is a block all the same.
fn blocks(events: &[Event], split_at_waits: bool) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: BTreeMap<Thread, Vec<usize>> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        let open = open.entry(event.thread).or_default();
        if let Operation::Begin(label) = event.operation {
            open.push(blocks.len());
            blocks.push(Block { label, pieces: vec![Vec::new()] });
        }
        for &block in open.iter() {
            let pieces = &mut blocks[block].pieces;
            if event.operation == Operation::Split && split_at_waits {
                pieces.push(Vec::new());
            }
            if let Some(piece) = pieces.last_mut() {
                piece.push(at);
            }
        }
        if event.operation == Operation::End {
            open.pop();
        }
    }
    blocks
}

/// Verdict 2 on the events of one thread from the first of `piece` to its last.
fn is_violated(piece: &[usize], events: &[Event], order: &HappensBefore) -> bool {
    let (Some(&begin), Some(&end)) = (piece.first(), piece.last()) else { return false };
    let between = begin + 1..end;
    let others = between.filter(|&x| events[x].thread != events[begin].thread && order.holds(begin, x));
    // The last event comes after every other one of the piece: what reaches any of them reaches it.
    others.into_iter().any(|x| order.holds(x, end))
}

/// The order of events: for each one, the set of those before it.
struct HappensBefore {
    before: Vec<BitSet>,
}

impl HappensBefore {
    fn new(events: &[Event], conventions: Conventions) -> HappensBefore {
        let touched = touched(events);
        let mut before: Vec<BitSet> = Vec::with_capacity(events.len());
        for later in 0..events.len() {
            let mut set = BitSet::new(events.len());
            for earlier in (0..later).rev() {
                // What is known to come before adds nothing that is not known already.
                if !set.has(earlier) && is_directly_before(events, &touched, earlier, later, conventions) {
                    set.insert(earlier);
                    set.unite(&before[earlier]);
                }
            }
            before.push(set);
        }
        HappensBefore { before }
    }

    fn holds(&self, earlier: usize, later: usize) -> bool {
        self.before[later].has(earlier)
    }
}

fn is_directly_before(
    events: &[Event],
    touched: &[Vec<Touched>],
    earlier: usize,
    later: usize,
    conventions: Conventions,
) -> bool {
    use Operation::{
        Access, Acquire, AcquireShared, Arrive, Fork, Join, Leave, Receive, Release, ReleaseShared, Send,
    };
    let (e, f) = (events[earlier], events[later]);
    if e.thread == f.thread {
        return true;
    }
    let locks = conventions.conflicts == Conflicts::Locks;
    match (e.operation, f.operation) {
        (Fork(thread), _) if thread == f.thread => true,
        (_, Join(thread)) if thread == e.thread => true,
        (Access(first, _), Access(second, _)) => (touched[earlier].iter()).any(|a| {
            let same = touched[later].iter().find(|b| (a.address, a.life) == (b.address, b.life));
            same.is_some_and(|b| conflict(first, second, b.was_read, conventions.commuting))
        }),
        (Acquire(a) | Release(a), Acquire(b) | Release(b) | AcquireShared(b) | ReleaseShared(b))
        | (AcquireShared(a) | ReleaseShared(a), Acquire(b) | Release(b)) => locks && a == b,
        (Send(a), Receive(b)) => locks && a == b,
        (Arrive(a), Leave(b)) => locks && a == b,
        _ => false,
    }
}

/// Whether two accesses of one byte in one life conflict. `was_read`: somebody has read the value before the second access
/// took effect, or the second one reads it.
///
/// This is the only place that says when updates commute: it follows `docs/event-model.md`.
fn conflict(first: Access, second: Access, was_read: bool, commuting: Commuting) -> bool {
    match (first, second) {
        (Access::Read, Access::Read) => false,
        (Access::Update { kind: a, .. }, Access::Update { kind: b, .. }) if a == b => {
            commuting == Commuting::Never || was_read
        }
        _ => true,
    }
}

/// A byte that an access touches.
struct Touched {
    address: u64,
    life: u32,
    /// See `conflict`.
    was_read: bool,
}

/// The bytes that each event touches.
fn touched(events: &[Event]) -> Vec<Vec<Touched>> {
    let mut lives: BTreeMap<u64, u32> = BTreeMap::new();
    let mut read: BTreeSet<(u64, u32)> = BTreeSet::new();
    let mut all = Vec::with_capacity(events.len());
    for event in events {
        let mut touched = Vec::new();
        match event.operation {
            Operation::NewLife(bytes) => {
                for address in bytes.addresses() {
                    *lives.entry(address).or_default() += 1;
                }
            }
            Operation::Access(access, bytes) => {
                for address in bytes.addresses() {
                    let life = lives.get(&address).copied().unwrap_or_default();
                    if access.reads_the_value() {
                        read.insert((address, life));
                    }
                    touched.push(Touched { address, life, was_read: read.contains(&(address, life)) });
                }
            }
            _ => {}
        }
        all.push(touched);
    }
    all
}

impl Access {
    /// Whether the program learns the value.
    fn reads_the_value(self) -> bool {
        match self {
            Access::Read | Access::ReadWrite => true,
            Access::Write => false,
            Access::Update { is_result_used, .. } => is_result_used,
        }
    }
}

impl Bytes {
    fn addresses(self) -> std::ops::Range<u64> {
        self.address..self.address + self.length
    }
}

/// A set of events by their numbers.
struct BitSet(Vec<u64>);

impl BitSet {
    fn new(length: usize) -> BitSet {
        BitSet(vec![0; length.div_ceil(64)])
    }

    fn has(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    fn unite(&mut self, other: &BitSet) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trace in the notation of the papers' tables: `1:b 1:w(x) 2:r(x) 1:e`. A block's label is its number, from 0.
    fn events(trace: &str) -> Vec<Event> {
        let mut blocks = 0;
        let parse = |word: &str| {
            let (thread, operation) = word.split_once(':').expect("a thread");
            let (name, argument) = operation.split_once('(').unwrap_or((operation, ")"));
            let argument = argument.strip_suffix(')').expect("it is closed");
            let number = || argument.parse().expect("a number");
            let bytes = || Bytes { address: u64::from(argument.as_bytes()[0]), length: 1 };
            let update = |is_result_used| Access::Update { kind: Update::Add, is_result_used };
            let operation = match name {
                "b" => {
                    blocks += 1;
                    Operation::Begin(Label(blocks - 1))
                }
                "e" => Operation::End,
                "r" => Operation::Access(Access::Read, bytes()),
                "w" => Operation::Access(Access::Write, bytes()),
                // Two bytes: the second is that of the next letter.
                "w2" => Operation::Access(Access::Write, Bytes { length: 2, ..bytes() }),
                "x" => Operation::Access(Access::ReadWrite, bytes()),
                "add" => Operation::Access(update(false), bytes()),
                "get+add" => Operation::Access(update(true), bytes()),
                "new" => Operation::NewLife(bytes()),
                "acq" => Operation::Acquire(Lock(number())),
                "rel" => Operation::Release(Lock(number())),
                "racq" => Operation::AcquireShared(Lock(number())),
                "rrel" => Operation::ReleaseShared(Lock(number())),
                "send" => Operation::Send(Signal(number())),
                "receive" => Operation::Receive(Signal(number())),
                "arrive" => Operation::Arrive(Episode(number())),
                "leave" => Operation::Leave(Episode(number())),
                "fork" => Operation::Fork(Thread(number())),
                "join" => Operation::Join(Thread(number())),
                "split" => Operation::Split,
                _ => panic!("{word} is unknown"),
            };
            Event { thread: Thread(thread.parse().expect("a number")), operation }
        };
        trace.split_whitespace().map(parse).collect()
    }

    #[track_caller]
    fn check(trace: &str, conventions: Conventions, expected: &[u32]) {
        let found: Vec<u32> = violated(&events(trace), conventions).keys().map(|label| label.0).collect();
        assert_eq!(found, expected, "in {trace}");
    }

    #[track_caller]
    fn strict(trace: &str, expected: &[u32]) {
        check(trace, Conventions::STRICT, expected);
    }

    const DATA: Conventions = Conventions { conflicts: Conflicts::Data, ..Conventions::STRICT };

    /// The rebuilt traces of the RegionTrack and AeroDrome papers, with the blocks that are violated in each.
    #[test]
    fn the_papers_traces() {
        strict("1:b 1:w(x) 2:b 2:r(x) 2:e 3:b 3:w(z) 3:e 1:r(z) 1:e", &[]);
        strict("1:b 2:b 1:w(x) 2:r(x) 2:w(y) 1:r(y) 1:e 2:e", &[0]);
        strict("1:b 2:b 1:w(x) 2:w(y) 1:r(y) 2:r(x) 1:e 2:e", &[]);
        strict("1:b 1:w(x) 2:b 2:w(y) 2:r(x) 2:e 3:b 3:r(y) 3:w(z) 3:e 1:r(z) 1:e", &[]);
        strict(
            "1:b 1:w(x) 2:b 2:w(y) 2:r(x) 3:b 3:r(y) 3:r(q) 2:e 2:b 3:e 3:b 3:w(z) 1:r(z) 1:e 2:e 3:e",
            &[],
        );
        strict(
            "1:b 1:r(x) 2:b 2:w(y) 2:w(x) 3:b 3:r(y) 3:r(x) 2:e 2:b 3:e 3:b 3:w(z) 1:r(z) 1:e 2:e 3:e",
            &[0],
        );
        strict("1:b 1:w(a) 0:w(b) 0:r(a) 1:r(b) 1:e", &[]);
        strict("0:b 0:fork(1) 0:join(1) 0:e", &[]);
        strict("1:b 1:r(x) 2:w(x) 1:w(x) 1:e", &[0]);
    }

    #[test]
    fn nested_blocks_are_judged_one_by_one() {
        strict("1:b 1:r(x) 1:b 1:r(x) 1:e 2:w(x) 1:b 1:r(x) 1:e 1:e", &[0]);
        strict("1:b 1:b 1:r(x) 2:w(x) 1:r(x) 1:e 1:e", &[0, 1]);
    }

    #[test]
    fn executions_are_counted() {
        let block = "1:b 1:r(x) 2:w(x) 1:r(x) 1:e ";
        let mut events = events(&block.repeat(3));
        for event in &mut events {
            if let Operation::Begin(label) = &mut event.operation {
                *label = Label(7);
            }
        }
        assert_eq!(violated(&events, Conventions::STRICT), BTreeMap::from([(Label(7), 3)]));
    }

    #[test]
    fn locks_order_unless_data_alone_does() {
        let trace = "1:b 1:acq(1) 1:rel(1) 2:acq(1) 2:rel(1) 1:acq(1) 1:rel(1) 1:e";
        strict(trace, &[0]);
        check(trace, DATA, &[]);
        let readers = "1:b 1:racq(1) 1:rrel(1) 2:racq(1) 2:rrel(1) 1:racq(1) 1:rrel(1) 1:e";
        strict(readers, &[]);
        let writer = "1:b 1:racq(1) 1:rrel(1) 2:acq(1) 2:rel(1) 1:racq(1) 1:rrel(1) 1:e";
        strict(writer, &[0]);
    }

    #[test]
    fn signals_barriers_and_threads_order() {
        strict("1:b 1:send(1) 2:receive(1) 2:send(2) 1:receive(2) 1:e", &[0]);
        strict("1:b 1:receive(1) 2:receive(1) 1:e", &[]);
        strict("1:b 1:arrive(1) 2:arrive(1) 1:leave(1) 2:leave(1) 1:e", &[]);
        strict("1:b 1:w(x) 2:r(x) 1:arrive(1) 2:arrive(1) 1:leave(1) 2:leave(1) 1:e", &[0]);
        strict("1:b 1:fork(2) 2:w(x) 1:join(2) 1:e", &[0]);
        strict("1:b 1:fork(2) 2:w(x) 1:r(x) 1:e", &[0]);
    }

    #[test]
    fn waits_split_blocks_where_asked_to() {
        let trace = "1:b 1:r(x) 1:split 2:w(x) 1:r(x) 1:e";
        strict(trace, &[0]);
        check(trace, Conventions::LIVE, &[]);
        check("1:b 1:r(x) 1:split 1:r(x) 2:w(x) 1:r(x) 1:e", Conventions::LIVE, &[0]);
        check("1:b 1:fork(2) 2:w(x) 1:split 1:join(2) 1:e", Conventions::LIVE, &[]);
    }

    #[test]
    fn updates_commute_until_the_value_is_read() {
        let trace = "1:b 1:add(x) 2:add(x) 1:add(x) 1:e";
        strict(trace, &[0]);
        check(trace, Conventions::LIVE, &[]);
        check("1:r(x) 1:b 1:add(x) 2:add(x) 1:add(x) 1:e", Conventions::LIVE, &[0]);
        check("1:b 1:add(x) 2:add(x) 1:get+add(x) 1:e", Conventions::LIVE, &[]);
        check("1:b 1:add(x) 2:get+add(x) 1:add(x) 1:e", Conventions::LIVE, &[0]);
        check("1:b 1:add(x) 2:x(x) 1:add(x) 1:e", Conventions::LIVE, &[0]);
    }

    #[test]
    fn bytes_overlap_and_have_lives() {
        strict("1:b 1:r(b) 2:w2(a) 1:r(b) 1:e", &[0]);
        strict("1:b 1:r(c) 2:w2(a) 1:r(c) 1:e", &[]);
        strict("1:b 1:r(b) 2:w2(a) 2:new(b) 1:r(b) 1:e", &[]);
        strict("1:b 1:r(b) 2:w2(a) 2:new(a) 1:r(b) 1:e", &[0]);
    }
}
