//! Lanes: the components of vector clocks, shared by threads that come one after the other.
//!
//! A thread that was joined has no more events. A thread forked by one that knows all of these comes after
//! it, just as if the two were one: it can take over its lane. So clocks are as wide as there are threads at a
//! time, not as there ever were, and 10,000 short-lived threads cost no more than two.
//!
//! A joined thread may be forked again, by whoever. Its new life comes after the old by program order; so if
//! its lane is taken by then, it gets another one and learns what it knew from its [`Past`].

use atomvet_trace::ThreadId;

use crate::history::Time;

/// All that a thread did and knew when it was joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Past {
    pub(super) lane: usize,
    pub(super) time: Time,
}

/// Which thread has which lane.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// By thread. `NONE` before its first event or fork, and after its join.
    of: Vec<u32>,
    /// By thread: what it was, if it was joined.
    past: Vec<Option<Past>>,
    /// Lanes that nobody has, with the past of their last thread.
    free: Vec<Past>,
    /// By lane: its place in `free`, or `NONE`.
    free_at: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// How many free lanes are tried, the one that was freed last first. A thread for which none of them will do gets
/// a new one: clocks are a little wider then, and forks do not cost more the more threads there were.
const TRIED: usize = 32;

impl Lanes {
    /// The lane of a thread, if it has one.
    #[inline(always)]
    pub(super) fn get(&self, thread: ThreadId) -> Option<usize> {
        self.of.get(thread.index()).filter(|&&lane| lane != NONE).map(|&lane| lane as usize)
    }

    /// Gives a lane to a thread that has none: its former one, or a free one with a past that its forker
    /// `knows`, or a new one. Tells also what the thread still has to learn.
    pub(super) fn take(&mut self, thread: ThreadId, knows: impl Fn(Past) -> bool) -> (usize, Option<Past>) {
        if thread.index() >= self.of.len() {
            self.of.resize(thread.index() + 1, NONE);
            self.past.resize(thread.index() + 1, None);
        }
        let past = self.past[thread.index()].take();
        let place = past.map_or(NONE, |past| self.free_at[past.lane]);
        let own = self.free.get(place as usize).filter(|&&free| Some(free) == past).map(|_| place as usize);
        let known =
            || (self.free.len().saturating_sub(TRIED)..self.free.len()).rev().find(|&i| knows(self.free[i]));
        let lane = match own.or_else(known) {
            Some(place) => self.take_free(place),
            None => {
                self.free_at.push(NONE);
                self.free_at.len() - 1
            }
        };
        self.of[thread.index()] = lane as u32;
        (lane, past.filter(|_| own.is_none()))
    }

    fn take_free(&mut self, place: usize) -> usize {
        let lane = self.free.swap_remove(place).lane;
        self.free_at[lane] = NONE;
        if let Some(moved) = self.free.get(place) {
            self.free_at[moved.lane] = place as u32;
        }
        lane
    }

    /// A thread was joined: its lane is free.
    pub(super) fn give_back(&mut self, thread: ThreadId, past: Past) {
        self.of[thread.index()] = NONE;
        self.past[thread.index()] = Some(past);
        self.free_at[past.lane] = self.free.len() as u32;
        self.free.push(past);
    }

    /// Lanes that nobody has.
    pub(super) fn free(&self) -> impl Iterator<Item = usize> {
        self.free.iter().map(|past| past.lane)
    }

    /// All times that are kept here.
    pub(super) fn pasts(&mut self) -> impl Iterator<Item = &mut Past> {
        self.past.iter_mut().flatten().chain(&mut self.free)
    }
}
