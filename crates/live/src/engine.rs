//! The checker: what each operation of the program does to threads, shadow and findings.
//!
//! The rulebook is `rule.rs`; this file loads the words, joins what the rule asks for, and stores what it returns.
//!
//! **Joins.** A dependence on `(s, n)` that the thread `t` does not know yet brings it everything `s` had learned up to
//! time `n`. If that includes `t`'s own time `k`, every open block of `t` that started at or before `k` is violated: its
//! begin happens before an event of another thread, which happens before its present event.
//!
//! ```text
//! t: [ w(x)                    r(y) ]      t began at 4, and learns from s at 9 that s knew t at 4
//! s:         r(x)  w(y)                    s joined t at 4 when it read x
//! ```
//!
//! **Dropped history.** A join of `s` that is dropped from its history may be the one that made `s` learn of `u` at time
//! `k`. It could show only those blocks of `u` violated that started at or before `k`: these are taken off trial, so no
//! verdict rests on what was dropped. Blocks that stay open so long (event loops) are no units anyway.

use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use crate::access::{Access, Operation};
use crate::accesses::load;
use crate::blocks::{Call, Root, SUSPENDED};
use crate::epoch::{Bytes, Epoch, INDEXES, Stamp};
use crate::history::Join;
use crate::rule::slot_of;
use crate::shadow::{GRANULE, Shadow};
use crate::signals::{Kind, Signals};
use crate::thread::Thread;
use crate::threads::Threads;

/// Sizes of what the checker keeps.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Addresses are told apart by so many bits.
    pub address_bits: u32,
    /// How many thread indexes are used at most.
    pub threads: usize,
    /// Joins that each thread keeps; a power of two.
    pub history: usize,
    /// Epochs learned by them that each thread keeps; a power of two, at least the number of thread indexes.
    pub news: usize,
    /// Nodes of stamps kept aside.
    pub older_nodes: usize,
    /// Accesses whose sites each thread remembers; a power of two.
    pub sites: usize,
    /// Whether operations on locks conflict, too, as in the papers; otherwise only accesses to data do.
    pub lock_conflicts: bool,
    /// Whether a wait splits the open blocks.
    pub split_at_waits: bool,
    /// Whether atomic updates of one kind commute.
    pub commuting_updates: bool,
}

impl Config {
    /// For a program under test: 42 address bits, 8,192 joins per thread, stamps aside for at most 4 GiB.
    pub const PROGRAM: Config = Config {
        address_bits: 42,
        threads: INDEXES - 1,
        history: 1 << 13,
        news: 1 << 15,
        older_nodes: 1 << 27,
        sites: 1 << 14,
        lock_conflicts: false,
        split_at_waits: true,
        commuting_updates: true,
    };
}

/// A block instance that is not serializable, and the dependence that shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which of the thread's open blocks, counted from the outermost.
    pub frame: usize,
    /// Whether it is the innermost of the blocks that this dependence violates.
    pub innermost: bool,
    /// The epoch that the block's thread depends on, and that knows the block's start.
    pub source: Epoch,
    /// What the block's thread is about to do.
    pub access: Access,
}

/// Where violations go, as they happen, in the thread that they happen in.
pub trait Findings {
    /// A block instance is violated: told once for each instance.
    fn violated(&self, engine: &Engine<Self>, thread: &Thread, violation: &Violation)
    where
        Self: Sized;
    /// A block instance, or a piece of one, ended that was off trial for a part of its time.
    fn off_trial(&self, path: u64);
    /// A thread starts, or another thread in its index.
    fn started(&self, _thread: &Thread) {}
    /// A block was entered.
    fn entered(&self, thread: &Thread);
    /// Open blocks were split.
    fn split(&self);
}

/// The checker of one process.
#[derive(Debug)]
pub struct Engine<F> {
    threads: Threads,
    pub(crate) data: Shadow,
    /// Locks and other synchronisation objects as variables: taking or releasing one exclusively is a write, shared a read.
    objects: Shadow,
    /// Whether any of them was ever stamped.
    has_objects: AtomicBool,
    /// What semaphores, barriers and publications order, if operations on locks conflict.
    signals: Option<Signals>,
    split_at_waits: bool,
    pub(crate) commuting_updates: bool,
    /// Where violations go.
    pub findings: F,
}

impl<F: Findings> Engine<F> {
    /// A checker; none if the address space or a limit on it is too small.
    pub fn new(config: &Config, findings: F) -> Option<Engine<F>> {
        /// Ten planes of 2^43 bytes between low programs and the others, ten of 2^41 between those and libraries.
        const DATA: usize = 0x0500_0000_0000;
        const OBJECTS: usize = 0x5800_0000_0000;
        let data = Shadow::new(DATA, config.address_bits, config.older_nodes)?;
        let objects = Shadow::new(OBJECTS, config.address_bits - OBJECT_SHIFT, config.older_nodes)?;
        Some(Engine {
            threads: Threads::new(config)?,
            data,
            objects,
            has_objects: AtomicBool::new(config.lock_conflicts),
            signals: if config.lock_conflicts { Some(Signals::new()?) } else { None },
            split_at_waits: config.split_at_waits,
            commuting_updates: config.commuting_updates,
            findings,
        })
    }

    /// The threads.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// A thread starts; `parent` creates it. None if there are too many threads at once.
    pub fn start(&self, parent: Option<&Thread>) -> Option<&Thread> {
        let thread = self.threads.take(parent, &self.data)?;
        self.findings.started(thread);
        let is_first = parent.is_none() && thread.index() == 1;
        thread.blocks.start_over(if is_first { Root::Main } else { Root::Other });
        thread.closed();
        thread.clock.clear();
        if let Some(parent) = parent {
            let source = parent.stamp();
            parent.clock.known(self.threads.end()).for_each(|epoch| thread.clock.learn(epoch));
            thread.clock.learn(source);
            self.append_join(thread, source, &Access { operation: Operation::Fork, ..Access::NONE });
        } else {
            thread.fresh_time();
        }
        Some(thread)
    }

    /// A thread ends: its last epoch.
    pub fn finish(&self, thread: &Thread) -> Epoch {
        thread.blocks.clear();
        thread.closed();
        let last = thread.stamp();
        self.threads.give_back(thread);
        last
    }

    /// The thread has waited for the end of another, whose last epoch this is.
    pub fn join(&self, thread: &Thread, last: Epoch, site: u64) {
        self.depend(thread, last, &Access { site, operation: Operation::Join, ..Access::NONE });
    }

    /// A block begins.
    #[inline]
    pub fn begin(&self, thread: &Thread, call: &Call) {
        if thread.blocks.depth() == 0 {
            thread.opened_after(self.threads.ends());
        }
        thread.blocks.push(call, thread.fresh_time());
        self.findings.entered(thread);
    }

    /// The innermost open block ends. Nothing happens if none is open.
    #[inline]
    pub fn end(&self, thread: &Thread) {
        if let Some((path, start)) = thread.blocks.pop()
            && start <= thread.off_trial()
        {
            self.findings.off_trial(path);
        }
        if thread.blocks.depth() == 0 {
            thread.closed();
        }
    }

    /// From here on the thread works beside its own open blocks, until it resumes them. This may nest.
    pub fn suspend(&self, thread: &Thread, stack: u64) {
        thread.blocks.push(&Call { function: SUSPENDED, site: 0, stack }, thread.fresh_time());
    }

    /// The thread goes on with the blocks that it has suspended last; what it did meanwhile, it did not do in them.
    pub fn resume(&self, thread: &Thread) {
        let is_suspended = |call: Call| call.function == SUSPENDED;
        while let Some(is_last) = thread.blocks.innermost().map(is_suspended) {
            thread.blocks.pop();
            if is_last {
                break;
            }
        }
        self.split(thread);
    }

    /// The thread has waited: its open blocks start anew, unless waits do not split.
    pub fn split(&self, thread: &Thread) {
        if !self.split_at_waits {
            return;
        }
        thread.blocks.each_started_by(thread.off_trial(), |path| self.findings.off_trial(path));
        thread.blocks.split(thread.fresh_time());
        if thread.blocks.depth() > 0 {
            self.findings.split();
            thread.opened_after(self.threads.ends());
        }
    }

    /// A lock was taken or is about to be released, exclusively.
    pub fn lock(&self, thread: &Thread, lock: u64, site: u64) {
        if self.signals.is_some() {
            let (granule, bytes) = self.object(lock);
            let access = object_access(lock, site, Operation::Lock);
            self.write_granule(thread, &self.objects, granule, bytes, &access);
        }
    }

    /// A lock was taken or is about to be released, shared with others.
    pub fn lock_shared(&self, thread: &Thread, lock: u64, site: u64) {
        if self.signals.is_some() {
            let (granule, bytes) = self.object(lock);
            let access = object_access(lock, site, Operation::SharedLock);
            self.read_granule(thread, &self.objects, granule, bytes, &access);
        }
    }

    /// The thread finds done what was to be done once. If it did not know that, it may have waited, and its blocks start anew.
    pub fn finds_done(&self, thread: &Thread, once: u64, site: u64) {
        let (granule, bytes) = self.object(once);
        let _held = self.objects.lock(granule);
        let own = |stamp: Stamp| stamp.index() == thread.index() && stamp.all_bytes().overlaps(bytes);
        let read = load(self.objects.read(slot_of(thread.index()), granule));
        if !own(read) && !self.objects.older().all(granule).any(|(_, stamp)| own(stamp)) {
            self.split(thread);
            self.has_objects.store(true, Relaxed);
            let access = object_access(once, site, Operation::SharedLock);
            self.read_held(thread, &self.objects, granule, bytes, &access);
        }
        self.observe(thread, once, site);
    }

    /// A semaphore begins its life with so many counts.
    pub fn semaphore(&self, semaphore: u64, counts: u64) {
        if let Some(signals) = &self.signals {
            signals.initialise(semaphore, Kind::Semaphore, counts);
        }
    }

    /// A semaphore is about to be counted up.
    pub fn post(&self, thread: &Thread, semaphore: u64) {
        if let Some(signals) = &self.signals {
            signals.post(semaphore, thread.stamp());
        }
    }

    /// A semaphore was counted down, for which the thread may have waited.
    pub fn take(&self, thread: &Thread, semaphore: u64, site: u64) {
        self.split(thread);
        if let Some(epoch) = self.signals.as_ref().and_then(|signals| signals.take(semaphore)) {
            self.depend(thread, epoch, &object_access(semaphore, site, Operation::Lock));
        }
    }

    /// A barrier begins its life, for so many threads.
    pub fn barrier(&self, barrier: u64, threads: u64) {
        if let Some(signals) = &self.signals {
            signals.initialise(barrier, Kind::Barrier, threads);
        }
    }

    /// The thread arrives at a barrier: the episode, for [`Engine::leave`].
    pub fn arrive(&self, thread: &Thread, barrier: u64) -> u64 {
        self.signals.as_ref().map_or(0, |signals| signals.arrive(barrier, thread.stamp()))
    }

    /// The thread goes on after an episode of a barrier.
    pub fn leave(&self, thread: &Thread, barrier: u64, episode: u64, site: u64) {
        self.split(thread);
        if let Some(signals) = &self.signals {
            let access = object_access(barrier, site, Operation::Lock);
            signals.leave(barrier, episode, |epoch| self.depend(thread, epoch, &access));
        }
    }

    /// What the thread has done so far is made known under this address.
    pub fn publish(&self, thread: &Thread, address: u64) {
        if let Some(signals) = &self.signals {
            signals.publish(address, thread.stamp());
        }
    }

    /// The thread comes to know what was made known under this address.
    pub fn observe(&self, thread: &Thread, address: u64, site: u64) {
        if let Some(signals) = &self.signals {
            let access = object_access(address, site, Operation::Lock);
            signals.published(address, |epoch| self.depend(thread, epoch, &access));
        }
    }

    fn object(&self, address: u64) -> (usize, Bytes) {
        let byte = address >> OBJECT_SHIFT;
        (self.objects.granule(byte), Bytes::range((byte % GRANULE) as usize, 1))
    }

    /// Memory is allocated or freed: other variables begin there.
    pub fn new_life(&self, address: u64, bytes: u64) {
        if let Some(signals) = &self.signals {
            signals.forget(address, bytes);
        }
        let slots = self.threads.slots_in_use();
        self.data.clear(address, bytes, slots);
        if self.has_objects.load(Relaxed) {
            self.objects.clear(address >> OBJECT_SHIFT, bytes >> OBJECT_SHIFT, slots);
        }
    }

    /// The thread's present event depends on an epoch of another thread.
    #[cold]
    #[inline(never)]
    pub(crate) fn depend(&self, thread: &Thread, source: Epoch, access: &Access) {
        if source.index() == thread.index() || thread.clock.knows(source) {
            return;
        }
        let mut known = 0;
        if let Some(other) = self.threads.get(source.index()) {
            let already = thread.clock.of(source.index());
            other.history.learned(already, source.time(), |epoch| {
                if epoch.index() == thread.index() {
                    known = known.max(epoch.time());
                } else {
                    thread.clock.learn(epoch);
                }
            });
        }
        thread.clock.learn(source);
        let mut innermost = true;
        thread.blocks.violate(thread.off_trial(), known, |frame| {
            let violation = Violation { frame, innermost, source, access: *access };
            innermost = false;
            self.findings.violated(self, thread, &violation);
        });
        self.append_join(thread, source, access);
    }

    fn append_join(&self, thread: &Thread, source: Epoch, access: &Access) {
        let dropped = |epoch: Epoch| {
            if let Some(other) = self.threads.get(epoch.index()) {
                other.take_off_trial(epoch.time());
            }
        };
        thread.clock.take_news(|epoch| {
            if epoch.index() != thread.index() {
                thread.history.add_news(epoch, dropped);
            }
        });
        let time = thread.fresh_time();
        thread.history.append(&Join::new(time, source, *access, thread.blocks.way_in()), dropped);
        thread.joined_at(time);
    }
}

fn object_access(address: u64, site: u64, operation: Operation) -> Access {
    Access { address, bytes: 1, site, operation }
}

/// Two synchronisation objects are at least so many bytes apart: one byte of their shadow stands for each.
const OBJECT_SHIFT: u32 = 2;
