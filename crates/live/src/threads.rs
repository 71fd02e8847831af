//! The threads of the program, by index, and when an index may be used again.
//!
//! Shadow words name threads by index long after they ended. An index with its times, its history and its stamps may go on in
//! a new thread in two cases:
//!
//! 1. The creator of the new thread knows the last epoch of the old one (it was joined, say). Then everything the old
//!    thread did happens before the new one, as if they were one thread.
//! 2. Every block that is open now began after the old thread had ended. Then nothing the old thread did or knew can be part
//!    of a violation any more, so it does not matter whom its stamps seem to belong to.
//!
//! ```text
//! T1: [ w(x) … ]  ends           T3 takes over the index of T1 while no block is open
//! T2:               [ … ]   [ w(x) … r(x) ]
//! T3:                         w(x)               T2's block is violated by T3, never by T1
//! ```

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::engine::Config;
use crate::epoch::{INDEXES, LAST_TIME, SLOTS};
use crate::memory::{Place, Words};
use crate::shadow::Shadow;
use crate::spin;
use crate::thread::Thread;

/// An index whose times are nearly used up is not used again.
const LATE: u64 = LAST_TIME - (1 << 32);

/// The table.
#[derive(Debug)]
pub struct Threads {
    table: [Place<Thread>; INDEXES],
    /// Per index: 0 while its thread runs; otherwise how many threads had ended when it did, counting itself.
    ended: Words,
    /// How many threads have ended.
    ends: AtomicU64,
    /// The first index that was never used. 0 is nobody's.
    fresh: AtomicU64,
    /// Held by a thread that takes an index.
    taking: AtomicU64,
    config: Config,
}

impl Threads {
    /// An empty table; none if there is no memory.
    pub fn new(config: &Config) -> Option<Threads> {
        Some(Threads {
            table: [const { Place::new() }; INDEXES],
            ended: Words::reserve(INDEXES)?,
            ends: AtomicU64::new(0),
            fresh: AtomicU64::new(1),
            taking: AtomicU64::new(0),
            config: *config,
        })
    }

    /// The thread that has the index, or had it last.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<&Thread> {
        self.table[index].get()
    }

    /// Indexes ever used are below this.
    pub fn end(&self) -> usize {
        self.fresh.load(Acquire) as usize
    }

    /// The slots that any thread ever had, as a bit set.
    #[inline(always)]
    pub fn slots_in_use(&self) -> u32 {
        let fresh = self.fresh.load(Relaxed);
        if fresh > SLOTS as u64 { (1 << SLOTS) - 1 } else { (1 << fresh) - 2 }
    }

    /// Whether the thread may have to share its slot with another.
    #[inline(always)]
    pub fn shares_slot(&self, thread: &Thread) -> bool {
        let next = thread.index() + SLOTS;
        next >= 2 * SLOTS || self.fresh.load(Relaxed) > next as u64
    }

    /// How many threads have ended.
    #[inline(always)]
    pub fn ends(&self) -> u64 {
        self.ends.load(Relaxed)
    }

    /// An index for a thread that `parent` creates; none if all are taken.
    pub fn take(&self, parent: Option<&Thread>, shadow: &Shadow) -> Option<&Thread> {
        let _held = spin::lock(&self.taking);
        let thread = self.known_to(parent).or_else(|| self.forgotten()).or_else(|| self.fresh(shadow))?;
        self.ended[thread.index()].store(0, Relaxed);
        Some(thread)
    }

    /// The thread has ended: its index may be used again.
    pub fn give_back(&self, thread: &Thread) {
        let ends = self.ends.fetch_add(1, AcqRel) + 1;
        self.ended[thread.index()].store(ends, Release);
    }

    /// Threads that have ended and have times left.
    fn over(&self) -> impl Iterator<Item = (&Thread, u64)> {
        let ended = (1..self.end()).map(|index| (index, self.ended[index].load(Acquire)));
        let over = ended.filter(|&(_, ended)| ended != 0);
        over.filter_map(|(index, ended)| Some((self.get(index)?, ended)))
            .filter(|(thread, _)| thread.now().time() < LATE)
    }

    fn known_to(&self, parent: Option<&Thread>) -> Option<&Thread> {
        let parent = parent?;
        self.over().map(|(thread, _)| thread).find(|thread| parent.clock.knows(thread.now()))
    }

    fn fresh(&self, shadow: &Shadow) -> Option<&Thread> {
        let index = self.end();
        if index > self.config.threads.min(INDEXES - 1) {
            return None;
        }
        let thread = self.table[index].fill(Thread::new(index, &self.config, shadow)?)?;
        self.fresh.store(index as u64 + 1, Release);
        Some(thread)
    }

    fn forgotten(&self) -> Option<&Thread> {
        let oldest_open = (1..self.end()).filter_map(|index| self.get(index)).map(Thread::opened).min()?;
        self.over().find(|&(_, ended)| ended <= oldest_open).map(|(thread, _)| thread)
    }
}
