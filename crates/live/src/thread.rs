//! A thread of the program: its epoch, its clock, its open blocks and its join history.
//!
//! Only the thread itself changes these, through relaxed atomics, which cost what plain loads and stores do. Others read
//! its history, its epoch and when its outermost block began.
//!
//! Time is lazy: it advances when a block begins or a join takes effect, and only if something carries the present time
//! already. The end of a block needs no new time: an epoch is only ever compared with the starts of blocks that are
//! still open.

use core::sync::atomic::Ordering::{Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU64};

use crate::blocks::Blocks;
use crate::clock::Clock;
use crate::engine::Config;
use crate::epoch::{Epoch, Stamp};
use crate::history::History;
use crate::rule::{self, Accessor};
use crate::shadow::Shadow;
use crate::sites::Sites;

/// What the fast paths of the hooks look at, at fixed offsets.
#[derive(Debug)]
#[repr(C)]
pub struct Hot {
    /// The present epoch, as the fast paths compare it.
    pub now: AtomicU64,
    /// Where the read stamps of the thread's slot begin.
    pub reads: *const AtomicU64,
    /// Where the write stamps begin.
    pub writes: *const AtomicU64,
}

// SAFETY: the pointers are to words of the shadow, which all threads may use.
unsafe impl Send for Thread {}
// SAFETY: as above; everything else is atomic.
unsafe impl Sync for Thread {}

/// What is known about one thread. When it ends, its index, history and time go on in another thread (`threads.rs`).
#[derive(Debug)]
#[repr(C)]
pub struct Thread {
    /// What the fast paths look at.
    pub hot: Hot,
    index: usize,
    /// Whether something carries the present time: a stamp, a started thread.
    stamped: AtomicBool,
    /// The time of the last join.
    joined: AtomicU64,
    /// Blocks that started at this time or before are off trial: history that could show them violated was dropped.
    off_trial: AtomicU64,
    /// How many threads had ended when the outermost open block began; `u64::MAX` while none is open.
    opened: AtomicU64,
    pub(crate) clock: Clock,
    pub(crate) blocks: Blocks,
    pub(crate) history: History,
    pub(crate) sites: Sites,
}

impl Thread {
    /// A new index, whose times start at 1.
    pub(crate) fn new(index: usize, config: &Config, shadow: &Shadow) -> Option<Thread> {
        Some(Thread {
            hot: Hot {
                now: AtomicU64::new(rule::fast_now(Epoch::new(index, 1))),
                reads: shadow.read(rule::slot_of(index), 0),
                writes: shadow.write(0),
            },
            index,
            stamped: AtomicBool::new(false),
            joined: AtomicU64::new(0),
            off_trial: AtomicU64::new(0),
            opened: AtomicU64::new(u64::MAX),
            clock: Clock::new()?,
            blocks: Blocks::new()?,
            history: History::new(config.history, config.news)?,
            sites: Sites::new(config.sites)?,
        })
    }

    /// The thread's number in epochs.
    #[inline(always)]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The present epoch.
    #[inline(always)]
    pub fn now(&self) -> Epoch {
        Stamp(self.hot.now.load(Relaxed)).epoch()
    }

    /// The open blocks.
    #[inline(always)]
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// Whether a block is open.
    pub fn has_open_blocks(&self) -> bool {
        self.blocks.depth() > 0
    }

    /// The present epoch, for something that will carry it.
    #[inline(always)]
    pub(crate) fn stamp(&self) -> Epoch {
        self.stamped.store(true, Relaxed);
        self.now()
    }

    /// The present time, which nothing carries yet.
    #[inline(always)]
    pub(crate) fn fresh_time(&self) -> u64 {
        if self.stamped.load(Relaxed) {
            self.stamped.store(false, Relaxed);
            self.hot.now.store(self.hot.now.load(Relaxed) + 1, Relaxed);
        }
        self.now().time()
    }

    /// The thread as the rule sees it.
    #[inline(always)]
    pub(crate) fn accessor(&self) -> Accessor<impl Fn(Epoch) -> bool, impl Fn() -> u64> {
        let since = self.blocks.innermost_start().max(self.joined.load(Relaxed));
        let before_since = || {
            let (now, joined) = (self.now().time(), self.joined.load(Relaxed));
            // When the join before that was is not known.
            if joined == now { now - 1 } else { joined.max(self.blocks.last_start_before(now)) }
        };
        Accessor { now: self.now(), since, before_since, knows: |epoch| self.clock.knows(epoch) }
    }

    /// A join takes effect at this time.
    pub(crate) fn joined_at(&self, time: u64) {
        self.joined.store(time, Relaxed);
    }

    /// See the field.
    pub(crate) fn off_trial(&self) -> u64 {
        self.off_trial.load(Relaxed)
    }

    /// Another thread dropped history in which this one's time `time` was learned.
    pub(crate) fn take_off_trial(&self, time: u64) {
        self.off_trial.fetch_max(time, Relaxed);
    }

    /// The outermost block begins when so many threads have ended.
    #[inline(always)]
    pub(crate) fn opened_after(&self, ended: u64) {
        self.opened.store(ended, Relaxed);
    }

    /// The outermost block has ended.
    #[inline(always)]
    pub(crate) fn closed(&self) {
        self.opened.store(u64::MAX, Release);
    }

    /// How many threads had ended when the outermost open block began; `u64::MAX` while none is open.
    pub(crate) fn opened(&self) -> u64 {
        self.opened.load(Relaxed)
    }
}
