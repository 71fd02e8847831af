//! What `docs/event-model.md` says about the place of one event in its trace, in one pass.

use atomvet_trace::{Conflicts, Event, EventId, LockId, Op, ThreadId, VarId};

use crate::Config;

/// A pass over a trace. Memory: a few words per thread, open block, variable that was ever allocated
/// or freed, and barrier.
#[derive(Debug)]
pub(super) struct Walk {
    split_at_waits: bool,
    conflicts: Conflicts,
    threads: Vec<Thread>,
    /// Per variable, how many lives ended or began.
    lives: Vec<u64>,
    /// Per barrier, the episode that nobody has left yet.
    gathering: Vec<Option<u64>>,
    /// How many episodes there were, of all barriers.
    episodes: u64,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    /// What its last event did. Some operations go on until the next one.
    last: Option<Op>,
    /// If that was an arrival at a barrier, in which episode.
    episode: u64,
    /// The begins of its open blocks, outermost first.
    open: Vec<EventId>,
    /// How often its blocks were cut into pieces.
    cuts: u64,
    /// The first event of the running transaction, once it has one.
    transaction: Option<EventId>,
}

/// The place of an event in its trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    pub(super) event: Event,
    /// The first event of its transaction.
    pub(super) transaction: EventId,
    /// Its transaction is a block (or a piece of one), not the event alone.
    pub(super) in_block: bool,
    /// Two events of a block are in the same piece of it if this is equal.
    pub(super) cuts: u64,
    /// Its thread waited, and holds this lock again.
    pub(super) regains: Option<LockId>,
    /// It is an arrival in this barrier episode.
    pub(super) arrives: Option<u64>,
    /// Its thread leaves this barrier episode.
    pub(super) leaves: Option<u64>,
    /// For an access: which life of the variable.
    pub(super) life: u64,
}

impl Walk {
    pub(super) fn new(config: &Config) -> Walk {
        Walk {
            split_at_waits: config.split_at_waits,
            conflicts: config.conflicts,
            threads: Vec::new(),
            lives: Vec::new(),
            gathering: Vec::new(),
            episodes: 0,
        }
    }

    /// Takes the next event; says nothing about one that was taken out.
    pub(super) fn step(&mut self, at: EventId, event: Event) -> Option<Situation> {
        if event.op == Op::Skip {
            return None;
        }
        let thread = entry(&mut self.threads, event.thread.index());
        let (mut regains, mut arrives, mut leaves) = (None, None, None);
        match thread.last {
            Some(Op::Wait(lock)) => {
                regains = Some(lock);
                thread.cut_if(self.split_at_waits);
            }
            Some(Op::Barrier(barrier)) => {
                leaves = Some(thread.episode);
                // The first to leave closes the episode.
                entry(&mut self.gathering, barrier.index()).take_if(|episode| *episode == thread.episode);
                thread.cut_if(self.split_at_waits);
            }
            Some(Op::End) => {
                thread.open.pop();
                if thread.open.is_empty() {
                    thread.transaction = None;
                }
            }
            _ => {}
        }
        thread.last = Some(event.op);
        match event.op {
            Op::Begin(_) => thread.open.push(at),
            Op::Join(_) => thread.cut_if(self.split_at_waits),
            Op::Alloc(x) | Op::Free(x) => *entry(&mut self.lives, x.index()) += 1,
            Op::Barrier(barrier) => {
                let gathering = entry(&mut self.gathering, barrier.index());
                thread.episode = *gathering.get_or_insert_with(|| {
                    self.episodes += 1;
                    self.episodes
                });
                arrives = Some(thread.episode);
            }
            _ => {}
        }
        if self.conflicts == Conflicts::Data {
            (regains, arrives, leaves) = (None, None, None);
        }
        let in_block = !thread.open.is_empty();
        let transaction = if in_block { *thread.transaction.get_or_insert(at) } else { at };
        let cuts = thread.cuts;
        let life = match event.op {
            Op::Read(x, _) | Op::Write(x, _) | Op::Update(x, _) => self.life(x),
            _ => 0,
        };
        Some(Situation { event, transaction, in_block, cuts, regains, arrives, leaves, life })
    }

    /// The begins of the blocks that the last event of `thread` is in.
    pub(super) fn blocks(&self, thread: ThreadId) -> &[EventId] {
        self.threads.get(thread.index()).map_or(&[], |thread| &thread.open)
    }

    fn life(&self, x: VarId) -> u64 {
        self.lives.get(x.index()).copied().unwrap_or(0)
    }
}

impl Thread {
    /// Ends the running pieces of all open blocks; the next ones start with the next event.
    fn cut_if(&mut self, split_at_waits: bool) {
        if split_at_waits {
            self.cuts += 1;
            self.transaction = None;
        }
    }
}

/// The entry at `index` of a table that grows as ids appear.
pub(super) fn entry<T: Clone + Default>(table: &mut Vec<T>, index: usize) -> &mut T {
    if index >= table.len() {
        table.resize(index + 1, T::default());
    }
    &mut table[index]
}
