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

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64};

use crate::access::{Access, Operation};
use crate::blocks::{Call, Root};
use crate::epoch::{Bytes, Epoch, INDEXES, SLOTS, Stamp};
use crate::history::Join;
use crate::rule::{Step, slot_of, slots_to_check};
use crate::shadow::{GRANULE, Shadow};
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
}

impl Config {
    /// For a program under test: 42 address bits, 8,192 joins per thread, stamps aside for at most 4 GiB.
    pub const PROGRAM: Config = Config {
        address_bits: 42,
        threads: INDEXES - 1,
        history: 1 << 13,
        news: 1 << 15,
        older_nodes: 1 << 26,
        sites: 1 << 14,
        lock_conflicts: false,
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
    fn off_trial(&self, function: u64);
    /// A block was entered.
    fn entered(&self, thread: &Thread);
    /// Open blocks were split.
    fn split(&self);
}

/// The checker of one process.
#[derive(Debug)]
pub struct Engine<F> {
    threads: Threads,
    data: Shadow,
    /// Locks and other synchronisation objects as variables: taking or releasing one exclusively is a write, shared a read.
    objects: Shadow,
    /// Whether any of them was ever stamped.
    has_objects: AtomicBool,
    lock_conflicts: bool,
    /// Where violations go.
    pub findings: F,
}

impl<F: Findings> Engine<F> {
    /// A checker; none if the address space or a limit on it is too small.
    pub fn new(config: &Config, findings: F) -> Option<Engine<F>> {
        /// Between low programs and the others.
        const DATA: usize = 0x1000_0000_0000;
        const OBJECTS: usize = 0x4000_0000_0000;
        let data = Shadow::new(DATA, config.address_bits, config.older_nodes)?;
        let objects = Shadow::new(OBJECTS, config.address_bits - OBJECT_SHIFT, config.older_nodes)?;
        let lock_conflicts = config.lock_conflicts;
        let (threads, has_objects) = (Threads::new(config)?, AtomicBool::new(lock_conflicts));
        Some(Engine { threads, data, objects, has_objects, lock_conflicts, findings })
    }

    /// The threads.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// A thread starts; `parent` creates it. None if there are too many threads at once.
    pub fn start(&self, parent: Option<&Thread>) -> Option<&Thread> {
        let thread = self.threads.take(parent, &self.data)?;
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
        if let Some((function, start)) = thread.blocks.pop()
            && start <= thread.off_trial()
        {
            self.findings.off_trial(function);
        }
        if thread.blocks.depth() == 0 {
            thread.closed();
        }
    }

    /// The thread waits: its open blocks start anew.
    pub fn split(&self, thread: &Thread) {
        thread.blocks.each_started_by(thread.off_trial(), |function| self.findings.off_trial(function));
        thread.blocks.split(thread.fresh_time());
        if thread.blocks.depth() > 0 {
            self.findings.split();
            thread.opened_after(self.threads.ends());
        }
    }

    /// A read.
    pub fn read(&self, thread: &Thread, access: &Access) {
        self.one_event(thread, access, |granule, bytes, access| {
            self.read_granule(thread, &self.data, granule, bytes, access);
        });
    }

    /// A write.
    pub fn write(&self, thread: &Thread, access: &Access) {
        self.one_event(thread, access, |granule, bytes, access| {
            self.write_granule(thread, &self.data, granule, bytes, access);
        });
    }

    /// An atomic operation on up to 16 aligned bytes. It is stamped before it takes effect, and nobody else who calls this
    /// comes between the two. `expected` says what the operation is going to be, `operate` performs it.
    ///
    pub fn atomic<T>(
        &self,
        thread: &Thread,
        access: &Access,
        expected: impl FnOnce() -> Operation,
        operate: impl FnOnce() -> T,
    ) -> T {
        let _held = self.data.lock(self.data.granule(access.address));
        let mut access = Access { operation: expected(), ..*access };
        if matches!(access.operation, Operation::Read | Operation::Update) {
            each_granule(&self.data, &access, |granule, bytes, _| {
                self.data.older().note_read(granule, bytes)
            });
        } else if access.operation.commutes() && self.was_read(&access) {
            access.operation = Operation::Update;
        }
        self.one_event(thread, &access, |granule, bytes, access| match access.operation {
            Operation::Read => self.read_held(thread, &self.data, granule, bytes, access),
            operation if operation.commutes() => self.update_held(thread, granule, bytes, access),
            _ => self.write_held(thread, &self.data, granule, bytes, access),
        });
        operate()
    }

    /// Whether an atomic load by the thread repeats one that is stamped. If it is asked after the load, the load saw no later
    /// write: a writer takes the stamp away before its write takes effect.
    #[inline(always)]
    pub fn repeats_load(&self, thread: &Thread, access: &Access) -> bool {
        let (slot, now) = (slot_of(thread.index()), thread.now());
        let mut repeats = true;
        each_granule(&self.data, access, |granule, bytes, _| {
            repeats &= load(self.data.read(slot, granule)).covers_read(now, bytes);
        });
        repeats
    }

    /// Does something for each granule of an access of up to 16 bytes, which is one event: if the thread learned something at a
    /// later granule, those before are stamped again with the new time. Longer accesses are one event per granule.
    #[inline(always)]
    fn one_event(&self, thread: &Thread, access: &Access, mut each: impl FnMut(usize, Bytes, &Access)) {
        let spans = access.address % GRANULE + access.bytes > GRANULE && access.bytes <= 16;
        loop {
            let before = thread.now();
            each_granule(&self.data, access, &mut each);
            if !spans || thread.now() == before {
                return;
            }
        }
    }

    /// A lock was taken or is about to be released, exclusively.
    pub fn lock(&self, thread: &Thread, lock: u64, site: u64) {
        if self.lock_conflicts {
            let (granule, bytes) = self.object(lock);
            let access = object_access(lock, site, Operation::Lock);
            self.write_granule(thread, &self.objects, granule, bytes, &access);
        }
    }

    /// A lock was taken or is about to be released, shared with others.
    pub fn lock_shared(&self, thread: &Thread, lock: u64, site: u64) {
        if self.lock_conflicts {
            let (granule, bytes) = self.object(lock);
            let access = object_access(lock, site, Operation::SharedLock);
            self.read_granule(thread, &self.objects, granule, bytes, &access);
        }
    }

    /// The thread finds done what was to be done once. If it did not know that, it may have waited, and its blocks start anew.
    pub fn finds_done(&self, thread: &Thread, once: u64, site: u64) {
        let (granule, bytes) = self.object(once);
        let _held = self.objects.lock(granule);
        let own = |stamp: Stamp| stamp.index() == thread.index() && stamp.bytes().overlaps(bytes);
        let read = load(self.objects.read(slot_of(thread.index()), granule));
        if !own(read) && !self.objects.older().all(granule).any(|(_, stamp)| own(stamp)) {
            self.split(thread);
            self.has_objects.store(true, Relaxed);
            let access = object_access(once, site, Operation::SharedLock);
            self.read_held(thread, &self.objects, granule, bytes, &access);
        }
    }

    fn object(&self, address: u64) -> (usize, Bytes) {
        let byte = address >> OBJECT_SHIFT;
        (self.objects.granule(byte), Bytes::range((byte % GRANULE) as usize, 1))
    }

    /// Memory is allocated or freed: other variables begin there.
    pub fn new_life(&self, address: u64, bytes: u64) {
        self.data.clear(address, bytes);
        if self.has_objects.load(Relaxed) {
            self.objects.clear(address >> OBJECT_SHIFT, bytes >> OBJECT_SHIFT);
        }
    }

    fn read_granule(&self, thread: &Thread, shadow: &Shadow, granule: usize, bytes: Bytes, access: &Access) {
        let alone = bytes == Bytes::ALL && !self.threads.share_slots();
        if !alone || !self.read_alone(thread, shadow, granule, access) {
            let _held = shadow.lock(granule);
            self.read_held(thread, shadow, granule, bytes, access);
        }
    }

    /// A read, with the granule's stripe held.
    fn read_held(&self, thread: &Thread, shadow: &Shadow, granule: usize, bytes: Bytes, access: &Access) {
        let (write, own) = (shadow.write(granule), shadow.read(slot_of(thread.index()), granule));
        loop {
            let accessor = thread.accessor();
            let stamps = (load(write), load(own));
            let kept = || shadow.older().all(granule);
            if stamps.0.has_older() {
                let mut reads = kept().filter(|(operation, _)| *operation == Operation::Read);
                if reads.any(|(_, stamp)| stamp.covers_read(accessor.now, bytes)) {
                    return;
                }
                let conflicting = kept().filter(|(operation, _)| operation.conflicts(Operation::Read));
                if let Some(epoch) = conflicting.filter_map(|(_, stamp)| accessor.news(stamp, bytes)).next() {
                    self.depend(thread, epoch, access);
                    continue;
                }
            }
            match accessor.read(stamps.0, stamps.1, bytes) {
                Step::Repeats => return,
                Step::Join(epoch) => self.depend(thread, epoch, access),
                Step::Stamp(after) => {
                    self.remember(thread, access);
                    own.store(after.read.0, Relaxed);
                    let mut marks = if after.mark { Stamp::reader_bit(accessor.slot()) } else { 0 };
                    if !after.displaced.is_empty() {
                        shadow.older().add(granule, Operation::Read, after.displaced);
                        marks |= Stamp::OLDER;
                    }
                    mark(write, marks);
                    return;
                }
            }
        }
    }

    /// A read of a whole granule by a thread that shares its slot with nobody needs no stripe: in a program without races,
    /// nobody else changes the words it stores. False if there are stamps kept aside, or will be.
    #[inline(always)]
    fn read_alone(&self, thread: &Thread, shadow: &Shadow, granule: usize, access: &Access) -> bool {
        let (write, own) = (shadow.write(granule), shadow.read(slot_of(thread.index()), granule));
        loop {
            let accessor = thread.accessor();
            let stamp = load(write);
            if stamp.has_older() {
                return false;
            }
            match accessor.read(stamp, load(own), Bytes::ALL) {
                Step::Repeats => return true,
                Step::Join(epoch) => self.depend(thread, epoch, access),
                Step::Stamp(after) => {
                    self.remember(thread, access);
                    own.store(after.read.0, Relaxed);
                    mark(write, if after.mark { Stamp::reader_bit(accessor.slot()) } else { 0 });
                    return true;
                }
            }
        }
    }

    fn write_granule(&self, thread: &Thread, shadow: &Shadow, granule: usize, bytes: Bytes, access: &Access) {
        // As in `read_alone`. A write of the whole granule displaces nothing.
        let alone = bytes == Bytes::ALL && !load(shadow.write(granule)).has_older();
        let _held = (!alone).then(|| shadow.lock(granule));
        self.write_held(thread, shadow, granule, bytes, access);
    }

    /// A write, with the granule's stripe held unless nobody else can be there.
    fn write_held(&self, thread: &Thread, shadow: &Shadow, granule: usize, bytes: Bytes, access: &Access) {
        let write = shadow.write(granule);
        loop {
            let accessor = thread.accessor();
            let stamp = load(write);
            if stamp.covers_write(accessor.now, bytes) {
                return;
            }
            let reads = read_stamps(shadow, granule, slots_to_check(stamp));
            let step = match stamp.has_older() {
                true => self.news_aside(thread, shadow, granule, Operation::Write, bytes).map(Step::Join),
                false => None,
            };
            match step.unwrap_or_else(|| accessor.write(stamp, &reads, bytes)) {
                Step::Repeats => return,
                Step::Join(epoch) => self.depend(thread, epoch, access),
                Step::Stamp(mut after) => {
                    self.remember(thread, access);
                    for (slot, (old, new)) in reads.iter().zip(after.reads).enumerate() {
                        if *old != new {
                            shadow.read(slot, granule).store(new.0, Relaxed);
                        }
                    }
                    if stamp.has_older() {
                        after.write = self.remove_aside(thread, shadow, granule, bytes, after.write);
                    }
                    if !after.displaced.is_empty() {
                        shadow.older().add(granule, Operation::Write, after.displaced);
                        after.write.0 |= Stamp::OLDER;
                    }
                    write.store(after.write.0, Relaxed);
                    return;
                }
            }
        }
    }

    /// Removes the bytes that are written from the stamps kept aside, and returns the write stamp with what is left of them
    /// in its flags: a read or an update of other bytes by another thread keeps its mark.
    fn remove_aside(
        &self,
        thread: &Thread,
        shadow: &Shadow,
        granule: usize,
        bytes: Bytes,
        write: Stamp,
    ) -> Stamp {
        let mut flags = 0;
        shadow.older().change(granule, |operation, kept| {
            let left = kept.without(bytes);
            if !left.is_empty() {
                let marks = operation != Operation::Write && left.index() != thread.index();
                flags |= Stamp::OLDER | if marks { Stamp::reader_bit(slot_of(left.index())) } else { 0 };
            }
            left
        });
        Stamp(write.0 & !Stamp::OLDER | flags)
    }

    /// Updates of one kind do not conflict with each other until somebody reads the value (`docs/event-model.md`): until then
    /// each thread's last one is kept aside, and from then on they are writes.
    fn update_held(&self, thread: &Thread, granule: usize, bytes: Bytes, access: &Access) {
        let shadow = &self.data;
        let write = shadow.write(granule);
        loop {
            let accessor = thread.accessor();
            let news = accessor.news(load(write), bytes);
            let news = news.or_else(|| self.news_aside(thread, shadow, granule, access.operation, bytes));
            if let Some(epoch) = news {
                self.depend(thread, epoch, access);
                continue;
            }
            self.remember(thread, access);
            shadow.older().add(granule, access.operation, Stamp::new(thread.now(), bytes));
            // The mark makes the last writer's next write look at the updates.
            mark(write, Stamp::OLDER | Stamp::reader_bit(accessor.slot()));
            return;
        }
    }

    /// Whether the value of any of these bytes was read since they began their life: by a load, or by a plain read that
    /// is still stamped.
    fn was_read(&self, access: &Access) -> bool {
        let shadow = &self.data;
        let mut was_read = false;
        each_granule(shadow, access, |granule, bytes, _| {
            let stamped = |stamp: Stamp| stamp.bytes().overlaps(bytes);
            let slots = slots_to_check(load(shadow.write(granule)));
            let aside = || shadow.older().all(granule).filter(|(operation, _)| *operation == Operation::Read);
            if shadow.older().was_read(granule, bytes) {
                was_read = true;
            } else if read_stamps(shadow, granule, slots).into_iter().any(stamped)
                || aside().any(|(_, stamp)| stamped(stamp))
            {
                shadow.older().note_read(granule, bytes);
                was_read = true;
            }
        });
        was_read
    }

    /// The access is stamped with the present epoch.
    #[inline(always)]
    fn remember(&self, thread: &Thread, access: &Access) {
        thread.sites.remember(access, thread.stamp().time());
    }

    /// An unknown epoch of a stamp kept aside that conflicts with an access of this kind.
    fn news_aside(
        &self,
        thread: &Thread,
        shadow: &Shadow,
        granule: usize,
        operation: Operation,
        bytes: Bytes,
    ) -> Option<Epoch> {
        let accessor = thread.accessor();
        let conflicting = shadow.older().all(granule).filter(|(other, _)| other.conflicts(operation));
        conflicting.filter_map(|(_, stamp)| accessor.news(stamp, bytes)).next()
    }

    /// The thread's present event depends on an epoch of another thread.
    #[cold]
    #[inline(never)]
    fn depend(&self, thread: &Thread, source: Epoch, access: &Access) {
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
        let function = if thread.has_open_blocks() { thread.blocks.function(0) } else { 0 };
        thread.history.append(&Join::new(time, source, *access, function), dropped);
        thread.joined_at(time);
    }
}

#[inline(always)]
fn load(word: &AtomicU64) -> Stamp {
    Stamp(word.load(Relaxed))
}

/// Sets flags in the word of the last write, if they are not set.
#[inline(always)]
fn mark(write: &AtomicU64, flags: u64) {
    if write.load(Relaxed) & flags != flags {
        write.fetch_or(flags, Relaxed);
    }
}

#[inline(always)]
fn read_stamps(shadow: &Shadow, granule: usize, mut slots: u32) -> [Stamp; SLOTS] {
    let mut reads = [Stamp::NONE; SLOTS];
    while slots != 0 {
        let slot = slots.trailing_zeros() as usize;
        reads[slot] = load(shadow.read(slot, granule));
        slots &= slots - 1;
    }
    reads
}

fn object_access(address: u64, site: u64, operation: Operation) -> Access {
    Access { address, bytes: 1, site, operation }
}

/// Two synchronisation objects are at least so many bytes apart: one byte of their shadow stands for each.
const OBJECT_SHIFT: u32 = 2;

/// Divides an access into its granules.
#[inline(always)]
fn each_granule(shadow: &Shadow, access: &Access, mut each: impl FnMut(usize, Bytes, &Access)) {
    let (mut at, end) = (access.address, access.address + access.bytes);
    while at < end {
        let offset = at % GRANULE;
        let bytes = (GRANULE - offset).min(end - at);
        let part = Access { address: at, bytes, ..*access };
        each(shadow.granule(at), Bytes::range(offset as usize, bytes as usize), &part);
        at += bytes;
    }
}
