//! Accesses to data: the rule of `rule.rs` applied to shadow memory.
//!
//! Three paths, each for what the one before it leaves: words that can be stamped without a look at anything else
//! (`*_at_once`), whole granules without the granule's stripe (`*_alone`), everything with it (`*_held`).
//!
//! An access of up to 16 bytes is one event. A longer one is one event per granule, in one loop.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use crate::access::{Access, Operation};
use crate::engine::{Engine, Findings};
use crate::epoch::{Bytes, Epoch, SLOTS, Stamp};
use crate::rule::{Step, slot_of, slots_to_check};
use crate::shadow::{GRANULE, STRIPE, Shadow};
use crate::thread::Thread;

/// The longest access that is one event.
const ONE_EVENT: u64 = 16;

impl<F: Findings> Engine<F> {
    /// A read.
    #[inline(always)]
    pub fn read(&self, thread: &Thread, access: &Access) {
        if access.bytes > ONE_EVENT {
            self.read_range(thread, access);
        } else if !self.all_at_once(thread, access, |granule, now| self.read_at_once(thread, granule, now)) {
            self.read_one(thread, access);
        }
    }

    /// A write.
    #[inline(always)]
    pub fn write(&self, thread: &Thread, access: &Access) {
        if access.bytes > ONE_EVENT {
            self.write_range(thread, access);
        } else if !self.all_at_once(thread, access, |granule, now| self.write_at_once(thread, granule, now)) {
            self.write_one(thread, access);
        }
    }

    #[inline(never)]
    fn read_one(&self, thread: &Thread, access: &Access) {
        if is_within_stripe(access) {
            // Before any lock: text that is read byte by byte is mostly read again. Then one lock for all.
            if self.repeats_load(thread, access) {
                return;
            }
            let _held = self.data.lock(self.data.granule(access.address));
            return self.one_event(thread, access, |granule, bytes, access| {
                self.read_held(thread, &self.data, granule, bytes, access);
            });
        }
        self.one_event(thread, access, |granule, bytes, access| {
            self.read_granule(thread, &self.data, granule, bytes, access);
        });
    }

    #[inline(never)]
    fn write_one(&self, thread: &Thread, access: &Access) {
        self.one_event(thread, access, |granule, bytes, access| {
            self.write_granule(thread, &self.data, granule, bytes, access);
        });
    }

    /// Stamps an access to whole granules that needs nothing but stamping; false if there is more to it.
    #[inline(always)]
    fn all_at_once(
        &self,
        thread: &Thread,
        access: &Access,
        at_once: impl Fn(usize, u64) -> Option<AtOnce>,
    ) -> bool {
        if !(access.address | access.bytes).is_multiple_of(GRANULE) || self.threads().shares_slot(thread) {
            return false;
        }
        let now = thread.hot.now.load(Relaxed);
        let mut is_remembered = false;
        for at in (0..access.bytes).step_by(GRANULE as usize) {
            match at_once(self.data.granule(access.address + at), now) {
                Some(AtOnce::Repeats) => {}
                Some(AtOnce::Stamps) if is_remembered => {}
                Some(AtOnce::Stamps) => {
                    self.remember(thread, access);
                    is_remembered = true;
                }
                None => return false,
            }
        }
        true
    }

    /// A read of a whole granule by a thread that shares its slot with nobody. `now` is the word to stamp.
    #[inline(always)]
    fn read_at_once(&self, thread: &Thread, granule: usize, now: u64) -> Option<AtOnce> {
        let own = self.data.read(slot_of(thread.index()), granule);
        let stamp = load(own);
        // While the own stamp is there, nobody else has written.
        if !stamp.differs_in_time_only(now) {
            let write = load(self.data.write(granule));
            if write.has_older() {
                return None;
            }
            if write.covers_read(thread.now(), Bytes::ALL) {
                return Some(AtOnce::Repeats);
            }
            if write.index() != thread.index() {
                if !thread.clock.knows(write.epoch()) {
                    return None;
                }
                mark(self.data.write(granule), Stamp::mark_of(slot_of(thread.index())));
            }
        } else if stamp.0 == now {
            return Some(AtOnce::Repeats);
        }
        own.store(now, Relaxed);
        Some(AtOnce::Stamps)
    }

    /// A write of a whole granule by such a thread.
    #[inline(always)]
    fn write_at_once(&self, thread: &Thread, granule: usize, now: u64) -> Option<AtOnce> {
        let write = self.data.write(granule);
        let stamp = load(write);
        if stamp.0 == now {
            return Some(AtOnce::Repeats);
        }
        // Whoever has read since has left a mark, in an empty word too.
        if stamp != Stamp::NONE && !stamp.differs_in_time_only(now) {
            self.take_over(thread, granule, stamp)?;
        }
        write.store(now, Relaxed);
        Some(AtOnce::Stamps)
    }

    /// Clears the read stamps that a write of the whole granule comes after, if the thread knows of all of them and of the last
    /// write.
    #[inline(always)]
    fn take_over(&self, thread: &Thread, granule: usize, write: Stamp) -> Option<()> {
        let is_known = |stamp: Stamp| stamp.index() == thread.index() || thread.clock.knows(stamp.epoch());
        if write.has_older() || !is_known(write) {
            return None;
        }
        let mut slots = slots_to_check(write, self.threads().slots_in_use());
        while slots != 0 {
            let read = self.data.read(slots.trailing_zeros() as usize, granule);
            let stamp = load(read);
            if !is_known(stamp) {
                return None;
            }
            if stamp.index() != thread.index() && stamp != Stamp::NONE {
                read.store(0, Relaxed);
            }
            slots &= slots - 1;
        }
        Some(())
    }

    #[inline(never)]
    fn read_range(&self, thread: &Thread, access: &Access) {
        self.range(
            thread,
            access,
            |granule, now| self.read_at_once(thread, granule, now),
            |granule, bytes, access| self.read_granule(thread, &self.data, granule, bytes, access),
        );
    }

    #[inline(never)]
    fn write_range(&self, thread: &Thread, access: &Access) {
        self.range(
            thread,
            access,
            |granule, now| self.write_at_once(thread, granule, now),
            |granule, bytes, access| self.write_granule(thread, &self.data, granule, bytes, access),
        );
    }

    /// An access of more than 16 bytes.
    #[inline(always)]
    fn range(
        &self,
        thread: &Thread,
        access: &Access,
        at_once: impl Fn(usize, u64) -> Option<AtOnce>,
        granule: impl Fn(usize, Bytes, &Access),
    ) {
        let end = access.address + access.bytes;
        let (first, last) = (access.address.next_multiple_of(GRANULE), end / GRANULE * GRANULE);
        let part = |from: u64, to: u64| Access { address: from, bytes: to - from, ..*access };
        each_granule(&self.data, &part(access.address, first), &granule);
        let shares_slot = self.threads().shares_slot(thread);
        let mut now = thread.hot.now.load(Relaxed);
        let mut is_remembered = false;
        for at in (first..last).step_by(GRANULE as usize) {
            let done = if shares_slot { None } else { at_once(self.data.granule(at), now) };
            match done {
                Some(AtOnce::Repeats) => {}
                Some(AtOnce::Stamps) if is_remembered => {}
                Some(AtOnce::Stamps) => {
                    thread.sites.remember_range(&part(at, last), thread.stamp().time());
                    is_remembered = true;
                }
                None => {
                    granule(self.data.granule(at), Bytes::ALL, &part(at, at + GRANULE));
                    if thread.hot.now.load(Relaxed) != now {
                        now = thread.hot.now.load(Relaxed);
                        is_remembered = false;
                    }
                }
            }
        }
        each_granule(&self.data, &part(last, end), &granule);
    }

    /// Does something for each granule of an access of up to 16 bytes, which is one event: if the thread learned something at a
    /// later granule, those before are stamped again with the new time. Longer accesses are one event per granule.
    #[inline(always)]
    pub(crate) fn one_event(
        &self,
        thread: &Thread,
        access: &Access,
        mut each: impl FnMut(usize, Bytes, &Access),
    ) {
        let spans = access.address % GRANULE + access.bytes > GRANULE && access.bytes <= 16;
        loop {
            let before = thread.now();
            each_granule(&self.data, access, &mut each);
            if !spans || thread.now() == before {
                return;
            }
        }
    }

    pub(crate) fn read_granule(
        &self,
        thread: &Thread,
        shadow: &Shadow,
        granule: usize,
        bytes: Bytes,
        access: &Access,
    ) {
        let alone = bytes == Bytes::ALL && !self.threads().shares_slot(thread);
        if !alone || !self.read_alone(thread, shadow, granule, access) {
            let _held = shadow.lock(granule);
            self.read_held(thread, shadow, granule, bytes, access);
        }
    }

    /// A read, with the granule's stripe held.
    pub(crate) fn read_held(
        &self,
        thread: &Thread,
        shadow: &Shadow,
        granule: usize,
        bytes: Bytes,
        access: &Access,
    ) {
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
                    let mut marks = if after.mark { Stamp::mark_of(accessor.slot()) } else { 0 };
                    if !after.displaced.is_empty() {
                        shadow.older().add_both(granule, Operation::Read, after.displaced);
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
                    mark(write, if after.mark { Stamp::mark_of(accessor.slot()) } else { 0 });
                    return true;
                }
            }
        }
    }

    pub(crate) fn write_granule(
        &self,
        thread: &Thread,
        shadow: &Shadow,
        granule: usize,
        bytes: Bytes,
        access: &Access,
    ) {
        if load(shadow.write(granule)).covers_write(thread.now(), bytes) {
            return;
        }
        // As in `read_alone`. A write of the whole granule displaces nothing.
        let alone = bytes == Bytes::ALL && !load(shadow.write(granule)).has_older();
        let _held = (!alone).then(|| shadow.lock(granule));
        self.write_held(thread, shadow, granule, bytes, access);
    }

    /// A write, with the granule's stripe held unless nobody else can be there.
    pub(crate) fn write_held(
        &self,
        thread: &Thread,
        shadow: &Shadow,
        granule: usize,
        bytes: Bytes,
        access: &Access,
    ) {
        let write = shadow.write(granule);
        loop {
            let accessor = thread.accessor();
            let stamp = load(write);
            if stamp.covers_write(accessor.now, bytes) {
                return;
            }
            let reads = read_stamps(shadow, granule, slots_to_check(stamp, self.threads().slots_in_use()));
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
                        shadow.older().add_both(granule, Operation::Write, after.displaced);
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
                flags |= Stamp::OLDER | if marks { Stamp::mark_of(slot_of(left.index())) } else { 0 };
            }
            left
        });
        Stamp(write.0 & !Stamp::OLDER | flags)
    }

    /// The access is stamped with the present epoch.
    #[inline(always)]
    pub(crate) fn remember(&self, thread: &Thread, access: &Access) {
        thread.sites.remember(access, thread.stamp().time());
    }

    /// An unknown epoch of a stamp kept aside that conflicts with an access of this kind.
    pub(crate) fn news_aside(
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
}

/// How an access to a granule went that needed a look at its words only.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtOnce {
    Repeats,
    Stamps,
}

/// Whether an access touches parts of granules that have one stripe.
#[inline(always)]
fn is_within_stripe(access: &Access) -> bool {
    let last = access.address + access.bytes - 1;
    !(access.address | access.bytes).is_multiple_of(GRANULE) && access.address / STRIPE == last / STRIPE
}

#[inline(always)]
pub(crate) fn load(word: &AtomicU64) -> Stamp {
    Stamp(word.load(Relaxed))
}

/// Sets flags in the word of the last write, if they are not set.
#[inline(always)]
pub(crate) fn mark(write: &AtomicU64, flags: u64) {
    if write.load(Relaxed) & flags != flags {
        write.fetch_or(flags, Relaxed);
    }
}

#[inline(always)]
pub(crate) fn read_stamps(shadow: &Shadow, granule: usize, mut slots: u32) -> [Stamp; SLOTS] {
    let mut reads = [Stamp::NONE; SLOTS];
    while slots != 0 {
        let slot = slots.trailing_zeros() as usize;
        reads[slot] = load(shadow.read(slot, granule));
        slots &= slots - 1;
    }
    reads
}

/// Divides an access into its granules.
#[inline(always)]
pub(crate) fn each_granule(shadow: &Shadow, access: &Access, mut each: impl FnMut(usize, Bytes, &Access)) {
    let (mut at, end) = (access.address, access.address + access.bytes);
    while at < end {
        let offset = at % GRANULE;
        let bytes = (GRANULE - offset).min(end - at);
        let part = Access { address: at, bytes, ..*access };
        each(shadow.granule(at), Bytes::range(offset as usize, bytes as usize), &part);
        at += bytes;
    }
}
