//! From what programs do to what the papers speak of.
//!
//! The papers know read, write, acquire, release, fork, join, begin and end. Programs also wait,
//! meet at barriers, share read locks, re-enter locks and reuse memory. This file says once, for
//! every observed checker, what those mean in terms of [`Rules`]:
//!
//! ```text
//! fork(u)      send on u's start channel;     u's first event receives from it
//! wait(l)      send on l, as a release;       the thread's next event receives, as an acquire
//! barrier(b)   send on the episode's channel; the thread's next event receives from all of it
//! rrel, racq   a shared send; a shared receive (which is after exclusive sends only)
//! ```
//!
//! What is received "at the next event" is received inside that event's block: after a begin,
//! before an end. A barrier episode is the arrivals up to the first departure.
//! The oracle and the verifier do not use this file; they have the definitions of
//! `docs/event-model.md` in their own, naive words.

use atomvet_trace::{
    BarrierId, Conflicts, Event, EventId, LockId, Mode, Op, SiteId, ThreadId, UpdateKind, VarId,
};

use crate::{Block, Checker, Config, Findings, Here, Info, Stats};

/// How a variable is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Does not conflict with other reads.
    Read,
    /// Conflicts with every access.
    Write,
    /// A read-modify-write that may be swapped with others of the same kind. Conflicts with
    /// every other access. (Updates that conflict with their own kind arrive as writes.)
    Commuting(UpdateKind),
}

impl Access {
    /// Whether two accesses of this one and the same kind do not conflict.
    #[inline]
    pub fn shares(self) -> bool {
        self != Access::Write
    }
}

/// Something through which one thread's past reaches another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channel {
    /// A dense index; reused once the channel is closed.
    pub slot: u32,
    /// What it is.
    pub kind: ChannelKind,
}

/// What a [`Channel`] stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ChannelKind {
    /// A lock: releases send, acquires receive.
    Lock(LockId),
    /// The start of a thread: the fork sends, the thread's first event receives.
    Start(ThreadId),
    /// One episode of a barrier.
    Barrier(BarrierId),
}

impl Channel {
    #[inline(always)]
    fn lock(lock: LockId) -> Channel {
        Channel { slot: lock.0 * 2, kind: ChannelKind::Lock(lock) }
    }
}

/// What the author of an algorithm for observed traces writes.
///
/// A *transaction* is an outermost block, or a single event outside every block.
pub trait Rules: Sized + Send + 'static {
    /// See [`Checker::HEEDS_OBJECTS`].
    const HEEDS_OBJECTS: bool = false;
    /// An outermost block begins; or, where waits split blocks, its next piece begins, with an event
    /// that is in it.
    fn begin(&mut self, here: Here, block: Block, out: &mut Findings);
    /// The outermost block of a thread ends.
    fn end(&mut self, here: Here, out: &mut Findings);
    /// A block begins inside another.
    #[inline(always)]
    fn nest(&mut self, _here: Here, _block: Block) {}
    /// The innermost of several open blocks ends.
    #[inline(always)]
    fn unnest(&mut self, _here: Here) {}
    /// A variable is accessed.
    fn access(&mut self, here: Here, variable: VarId, access: Access, out: &mut Findings);
    /// What the thread did so far goes before all that receives from the channel later. An
    /// exclusive send replaces what the channel held; a shared one joins it.
    fn send(&mut self, here: Here, channel: Channel, mode: Mode, out: &mut Findings);
    /// What was sent goes before this: everything, or with [`Mode::Shared`] only the last
    /// exclusive send.
    fn receive(&mut self, here: Here, channel: Channel, mode: Mode, out: &mut Findings);
    /// Everything that `child`, which has had events, did so far goes before this.
    fn join(&mut self, here: Here, child: ThreadId, out: &mut Findings);
    /// From now on `variable` is another one.
    fn new_life(&mut self, variable: VarId);
    /// What was done to `variable` in this life so far was done in private.
    #[inline(always)]
    fn escape(&mut self, _variable: VarId) {}
    /// Nothing will be received from what the channel holds.
    fn close(&mut self, channel: Channel);
    /// See [`Checker::prefetch`].
    #[inline(always)]
    fn prefetch(&self, _variable: VarId) {}
    /// See [`Checker::objects`].
    fn objects(&mut self, _first: VarId, _objects: &[VarId]) {}
}

/// [`Rules`] that make a checker of their own.
pub trait Observed: Rules {
    /// What this checker is.
    const INFO: Info;
    /// A checker that has seen nothing.
    fn new(config: &Config) -> Self;
    /// The trace is over. `open` are the outermost blocks still running; `last` stands for the end, at the
    /// position of the last event.
    fn finish(self, open: &[Block], last: Here, out: &mut Findings) -> Stats;
    /// There is no memory to go on: reports what is known without much work.
    fn stop(self, last: Here, out: &mut Findings) -> Stats {
        self.finish(&[], last, out)
    }
}

/// A [`Rules`] behind the [`Checker`] interface.
#[derive(Debug)]
pub struct Lowered<R> {
    rules: R,
    config: Config,
    threads: Vec<Thread>,
    /// The position of the last event.
    last: EventId,
    /// Per barrier, the episode that threads still arrive at.
    gathering: Vec<Option<usize>>,
    /// Barrier episodes that somebody has yet to leave.
    episodes: Vec<Episode>,
    free_episodes: Vec<usize>,
    /// Channels that are not locks take odd slots.
    free_slots: Vec<u32>,
    next_slot: u32,
}

#[derive(Debug, Default)]
struct Thread {
    /// Its open blocks, outermost first.
    open: Vec<Block>,
    /// What its next event receives.
    pending: Vec<Pending>,
    /// Its open blocks start anew with its next event.
    split: bool,
    /// Something is pending.
    due: bool,
    /// It has had an event.
    seen: bool,
}

impl Thread {
    fn receive_next(&mut self, pending: Pending) {
        self.pending.push(pending);
        self.due = true;
    }
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    channel: Channel,
    /// For a barrier, the episode to leave.
    episode: usize,
}

#[derive(Debug)]
struct Episode {
    slot: u32,
    inside: u32,
}

impl<R: Observed> Checker for Lowered<R> {
    const INFO: Info = R::INFO;
    const HEEDS_OBJECTS: bool = R::HEEDS_OBJECTS;

    fn new(config: &Config) -> Self {
        Lowered::with(R::new(config), config)
    }

    #[inline]
    fn event(&mut self, at: EventId, event: Event, out: &mut Findings) {
        Lowered::event(self, at, event, out);
    }

    #[inline(always)]
    fn prefetch(&self, event: Event) {
        if let Op::Read(x, _) | Op::Write(x, _) | Op::Update(x, _) = event.op {
            self.rules.prefetch(x);
        }
    }

    fn objects(&mut self, first: VarId, objects: &[VarId]) {
        self.rules.objects(first, objects);
    }

    fn finish(self, out: &mut Findings) -> Stats {
        let open: Vec<_> = self.threads.iter().filter_map(|thread| thread.open.first().copied()).collect();
        let last = self.last_event();
        self.rules.finish(&open, last, out)
    }

    fn stop(self, out: &mut Findings) -> Stats {
        let last = self.last_event();
        self.rules.stop(last, out)
    }
}

impl<R: Rules> Lowered<R> {
    /// At the start of a trace.
    pub fn with(rules: R, config: &Config) -> Self {
        Lowered {
            rules,
            config: *config,
            threads: Vec::new(),
            last: EventId(0),
            gathering: Vec::new(),
            episodes: Vec::new(),
            free_episodes: Vec::new(),
            free_slots: Vec::new(),
            next_slot: 1,
        }
    }

    /// Stands for the end of the trace, at the position of the last event.
    fn last_event(&self) -> Here {
        Here { at: self.last, thread: ThreadId(0), op: Op::Skip, site: SiteId::NONE }
    }

    /// The rules, to be told more than [`Rules`] does.
    pub fn rules_mut(&mut self) -> &mut R {
        &mut self.rules
    }

    /// Whether something is to be done at a thread's next event, whatever that is.
    pub(crate) fn is_due(&self, thread: ThreadId) -> bool {
        self.threads.get(thread.index()).is_some_and(|thread| thread.due)
    }

    /// Forgets which blocks are open, for rules that follow but some of them: the ends of the others have no begins then.
    pub(crate) fn forget_blocks(&mut self) {
        self.threads.iter_mut().for_each(|thread| thread.open.clear());
    }

    /// The rules, with what they have gathered.
    pub fn into_rules(self) -> R {
        self.rules
    }

    /// Takes the next event.
    #[inline]
    pub fn event(&mut self, at: EventId, event: Event, out: &mut Findings) {
        let Event { thread, op, site } = event;
        if matches!(op, Op::Skip) {
            return;
        }
        let here = Here { at, thread, op, site };
        self.last = at;
        let state = self.thread(thread);
        state.seen = true;
        let due = state.due;
        if due {
            state.due = false;
            if matches!(op, Op::Join(_)) {
                self.split(thread);
            }
            self.restart_if_split(here, out);
            // A begin receives inside its block.
            if !matches!(op, Op::Begin(_)) {
                self.receive_pending(here, out);
            }
        }
        // Most events are reads and writes, in no order that a branch predictor could learn: one path.
        if let Op::Read(x, _) | Op::Write(x, _) = op {
            let access = if matches!(op, Op::Read(..)) { Access::Read } else { Access::Write };
            return self.rules.access(here, x, access, out);
        }
        let rules = &mut self.rules;
        match op {
            Op::Update(x, kind) if self.config.commuting_updates && kind.commutes() => {
                rules.access(here, x, Access::Commuting(kind), out);
            }
            Op::Update(x, _) => rules.access(here, x, Access::Write, out),
            Op::Read(..) | Op::Write(..) => {}
            Op::Acquire(..) | Op::Release(..) if self.config.conflicts == Conflicts::Data => {}
            Op::Wait(_) | Op::Barrier(_) if self.config.conflicts == Conflicts::Data => {
                self.split(thread);
                self.threads[thread.index()].due = true;
            }
            Op::Acquire(lock, mode) => rules.receive(here, Channel::lock(lock), mode, out),
            Op::Release(lock, mode) => rules.send(here, Channel::lock(lock), mode, out),
            Op::Begin(region) => {
                let block = Block { begin: at, thread, region, site };
                let state = &mut self.threads[thread.index()];
                if state.open.is_empty() {
                    rules.begin(here, block, out);
                } else {
                    rules.nest(here, block);
                }
                state.open.push(block);
                if due {
                    self.receive_pending(here, out);
                }
            }
            Op::End => {
                let state = &mut self.threads[thread.index()];
                state.open.pop();
                if state.open.is_empty() {
                    rules.end(here, out);
                } else {
                    rules.unnest(here);
                }
            }
            Op::Alloc(x) | Op::Free(x) => rules.new_life(x),
            Op::Escape(x) => rules.escape(x),
            Op::Fork(child) => {
                let channel = self.start(child);
                self.rules.send(here, channel, Mode::Shared, out);
            }
            Op::Join(child) => {
                if !due {
                    self.split(thread);
                    self.restart_if_split(here, out);
                }
                if self.thread(child).seen {
                    self.rules.join(here, child, out);
                }
            }
            Op::Wait(lock) => {
                let channel = Channel::lock(lock);
                rules.send(here, channel, Mode::Exclusive, out);
                self.split(thread);
                self.thread(thread).receive_next(Pending { channel, episode: 0 });
            }
            Op::Barrier(barrier) => {
                let pending = self.arrive(barrier);
                self.rules.send(here, pending.channel, Mode::Shared, out);
                self.split(thread);
                self.thread(thread).receive_next(pending);
            }
            Op::Reacquire(..) | Op::Rerelease(..) | Op::Local | Op::Skip => {}
        }
    }

    #[inline]
    fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        if thread.index() >= self.threads.len() {
            self.threads.resize_with(thread.index() + 1, Thread::default);
        }
        &mut self.threads[thread.index()]
    }

    #[cold]
    fn receive_pending(&mut self, here: Here, out: &mut Findings) {
        for pending in std::mem::take(&mut self.thread(here.thread).pending) {
            let channel = pending.channel;
            self.rules.receive(here, channel, Mode::Exclusive, out);
            match channel.kind {
                ChannelKind::Lock(_) => {}
                ChannelKind::Start(_) => self.close(channel),
                ChannelKind::Barrier(barrier) => {
                    // The first to leave ends the episode for those who arrive later.
                    let gathering = &mut self.gathering[barrier.index()];
                    gathering.take_if(|episode| *episode == pending.episode);
                    let episode = &mut self.episodes[pending.episode];
                    episode.inside -= 1;
                    if episode.inside == 0 {
                        self.free_episodes.push(pending.episode);
                        self.close(channel);
                    }
                }
            }
        }
    }

    /// The start channel of a thread that is forked. A child that is joined and forked again without
    /// an event in between has one already, and its first event receives from all forks.
    fn start(&mut self, child: ThreadId) -> Channel {
        let kind = ChannelKind::Start(child);
        let forked = self.thread(child).pending.iter().find(|pending| pending.channel.kind == kind);
        if let Some(pending) = forked {
            return pending.channel;
        }
        let channel = Channel { slot: self.new_slot(), kind };
        self.thread(child).receive_next(Pending { channel, episode: 0 });
        channel
    }

    fn arrive(&mut self, barrier: BarrierId) -> Pending {
        if barrier.index() >= self.gathering.len() {
            self.gathering.resize(barrier.index() + 1, None);
        }
        let episode = self.gathering[barrier.index()].unwrap_or_else(|| {
            let new = Episode { slot: self.new_slot(), inside: 0 };
            match self.free_episodes.pop() {
                Some(free) => {
                    self.episodes[free] = new;
                    free
                }
                None => {
                    self.episodes.push(new);
                    self.episodes.len() - 1
                }
            }
        });
        self.gathering[barrier.index()] = Some(episode);
        self.episodes[episode].inside += 1;
        let slot = self.episodes[episode].slot;
        Pending { channel: Channel { slot, kind: ChannelKind::Barrier(barrier) }, episode }
    }

    /// Where waits split blocks: a new piece of every open block starts at the next
    /// [`Lowered::restart_if_split`].
    fn split(&mut self, thread: ThreadId) {
        let state = &mut self.threads[thread.index()];
        state.split = self.config.split_at_waits && !state.open.is_empty();
    }

    fn restart_if_split(&mut self, here: Here, out: &mut Findings) {
        let state = &mut self.threads[here.thread.index()];
        if !std::mem::take(&mut state.split) {
            return;
        }
        let Some((&outermost, inner)) = state.open.split_first() else { return };
        for _ in inner {
            self.rules.unnest(here);
        }
        self.rules.end(here, out);
        self.rules.begin(here, outermost, out);
        for &block in inner {
            self.rules.nest(here, block);
        }
    }

    fn new_slot(&mut self) -> u32 {
        self.free_slots.pop().unwrap_or_else(|| {
            self.next_slot += 2;
            self.next_slot - 2
        })
    }

    fn close(&mut self, channel: Channel) {
        self.rules.close(channel);
        self.free_slots.push(channel.slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed::regiontrack::RegionTrack;

    #[test]
    fn a_thread_that_never_runs_may_be_forked_for_ever() {
        let (events, _) = crate::notation::parse(&"0:fork(1) 0:join(1) ".repeat(100));
        let config = Config::default();
        let mut out = Findings::all_instances(&config);
        let mut lowered = Lowered::<RegionTrack>::with(RegionTrack::new(&config), &config);
        for (i, &event) in events.iter().enumerate() {
            lowered.event(EventId(i as u64), event, &mut out);
        }
        assert_eq!((lowered.threads[1].pending.len(), lowered.next_slot), (1, 3));
    }
}
