//! The rule: what an access does to the stamps of a granule, on plain values.
//!
//! Words go in, words and an action come out; nothing here touches memory. Every fast path (the assembly hooks, the
//! library, Java) is one case of this file, [`Step::Repeats`], and is tested against it.
//!
//! A granule has the stamp of its last write and one read stamp per slot. Stamps that do not fit are *displaced*; the caller
//! keeps them aside (`older.rs`), so that none is lost:
//!
//! ```text
//! bytes   0 1 2 3
//! write   T1 at 5 ───────      T2 writes bytes 2 and 3 at its time 9
//!         T1 at 5 T2 at 9      the word takes T2 at 9; T1 at 5 for bytes 0 and 1 is displaced
//! ```
//!
//! Why a repetition may be dropped: the stamp says that this thread did the same in the same epoch. A conflicting access
//! that came between has changed the word: a write of another thread clears read stamps and replaces the write stamp, and
//! a read of another thread sets its slot's bit in the word of the last write. A bit is set whether or not the dependence
//! was known; otherwise an edge would be lost:
//!
//! ```text
//! T1: [ w(y) w(x)                  w(x) ]     the second w(x) must not be dropped: T2 read x before it
//! T2:              [ r(y) r(x) ]              r(x) is no news to T2, which knows T1 by r(y)
//! ```

use crate::epoch::{Bytes, Epoch, MARKS, SLOTS, Stamp};

/// The thread that accesses, as far as the rule needs it.
#[derive(Clone, Copy, Debug)]
pub struct Accessor<K, B> {
    /// Its epoch.
    pub now: Epoch,
    /// Its earliest time that no verdict can tell from the present one: no block that is still open began since, and it
    /// has learned of no other thread since.
    pub since: u64,
    /// The same for the time before the present one.
    pub before_since: B,
    /// Whether an epoch of another thread happens before the present event as far as the thread knows.
    pub knows: K,
}

/// What the access asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<T> {
    /// The access repeats one that is stamped: nothing to do.
    Repeats,
    /// It depends on this epoch, which the thread does not know yet: join it, then take the step again.
    Join(Epoch),
    /// All dependences are known: store these words.
    Stamp(T),
}

/// What a read stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AfterRead {
    /// The slot's new read stamp.
    pub read: Stamp,
    /// What no longer fits into the slot; empty mostly.
    pub displaced: Stamp,
    /// Whether the slot's mark has to be set in the word of the last write.
    pub mark: bool,
}

/// What a write stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AfterWrite {
    /// The new write stamp, with the marks of slots that still have a read stamp of another thread.
    pub write: Stamp,
    /// What no longer fits into the write word; empty mostly.
    pub displaced: Stamp,
    /// The read stamps, without what this write comes after.
    pub reads: [Stamp; SLOTS],
}

impl<K: Fn(Epoch) -> bool, B: Fn() -> u64> Accessor<K, B> {
    /// The slot in which this thread's reads are stamped.
    #[inline(always)]
    pub fn slot(&self) -> usize {
        slot_of(self.now.index())
    }

    /// A read of some bytes of a granule with these stamps; `own` is the stamp in the thread's slot.
    #[inline(always)]
    pub fn read(&self, write: Stamp, own: Stamp, bytes: Bytes) -> Step<AfterRead> {
        // A write in the same epoch stands for the read, too: whatever conflicts with the read conflicts with the write.
        // That is so only while nobody else has updated the value, and updates are kept aside.
        let written = !write.has_older() && write.covers_read(self.now, bytes);
        if own.covers_read(self.now, bytes) || written {
            return Step::Repeats;
        }
        if let Some(epoch) = self.news(write, bytes) {
            return Step::Join(epoch);
        }
        let (read, displaced) = self.restamp(own, bytes);
        let mark = write.index() != self.now.index() && write.0 & Stamp::mark_of(self.slot()) == 0;
        Step::Stamp(AfterRead { read, displaced, mark })
    }

    /// A write of some bytes. Of `reads` only those have to be given that [`slots_to_check`] names; others may be empty.
    #[inline(always)]
    pub fn write(&self, write: Stamp, reads: &[Stamp; SLOTS], bytes: Bytes) -> Step<AfterWrite> {
        if write.covers_write(self.now, bytes) {
            return Step::Repeats;
        }
        if let Some(epoch) = self.news(write, bytes) {
            return Step::Join(epoch);
        }
        let mut left = *reads;
        let mut marks = 0;
        for (slot, read) in left.iter_mut().enumerate() {
            if read.is_empty() || read.index() == self.now.index() {
                continue;
            }
            if let Some(epoch) = self.news(*read, bytes) {
                return Step::Join(epoch);
            }
            *read = read.without(bytes);
            marks |= u32::from(!read.is_empty()) << (slot % MARKS);
        }
        // The own read stamps have no mark as long as the write is the thread's own; see `slots_to_check`.
        let (stamp, displaced) = self.restamp(write.plain(), bytes);
        let older = write.0 & Stamp::OLDER;
        Step::Stamp(AfterWrite { write: Stamp(stamp.with_marks(marks).0 | older), displaced, reads: left })
    }

    /// The epoch of `stamp`, if it is another thread's, speaks for one of the bytes, and is not known yet.
    #[inline(always)]
    pub fn news(&self, stamp: Stamp, bytes: Bytes) -> Option<Epoch> {
        let epoch = if stamp.bytes().overlaps(bytes) {
            stamp.epoch()
        } else if stamp.earlier().overlaps(bytes) {
            Epoch::new(stamp.index(), stamp.epoch().time() - 1)
        } else {
            return None;
        };
        (epoch.index() != self.now.index() && !(self.knows)(epoch)).then_some(epoch)
    }

    /// The stamp that replaces `old` in its word, and what of `old` still has to be kept.
    ///
    /// Other bytes of the thread's own stamp take the present time, or the time before that, where no verdict can tell that from
    /// their own. A known stamp of another thread in a shared slot needs no keeping for the same bytes: whoever depends on
    /// the new stamp learns of the old one.
    #[inline(always)]
    pub fn restamp(&self, old: Stamp, bytes: Bytes) -> (Stamp, Stamp) {
        let stamp = Stamp::new(self.now, bytes);
        if old.index() != self.now.index() {
            return (stamp, if (self.knows)(old.epoch()) { old.without(bytes) } else { old });
        }
        let left = old.without(bytes);
        if left.is_empty() {
            return (stamp, Stamp::NONE);
        }
        let (all, time) = (left.all_bytes(), left.epoch().time());
        let earliest = if left.earlier() == Bytes(0) { time } else { time - 1 };
        if earliest >= self.since {
            (Stamp::new(self.now, Bytes(bytes.0 | all.0)), Stamp::NONE)
        } else if time >= self.since {
            // The present time would do for a part of them; the stamp's own time does for all.
            let latest = Stamp::new(left.epoch(), Bytes(bytes.0 | left.bytes().0));
            (latest.with_earlier(left.earlier()), Stamp::NONE)
        } else if earliest >= (self.before_since)() {
            (stamp.with_earlier(all), Stamp::NONE)
        } else {
            (stamp, left)
        }
    }
}

/// The slot of a thread index.
#[inline(always)]
pub fn slot_of(index: usize) -> usize {
    index % SLOTS
}

/// The slots that a thread has to look at before it writes, of those that are in use: those marked in the write stamp, and that
/// of the last writer, whose own reads set no mark.
#[inline(always)]
pub fn slots_to_check(write: Stamp, in_use: u32) -> u32 {
    const OF_MARK: [u32; 1 << MARKS] = [0, 0x55, 0xaa, 0xff];
    const _: () = assert!(SLOTS == 8);
    (OF_MARK[write.marks() as usize] | 1 << slot_of(write.index())) & in_use
}

/// What hooks compare words with: the present epoch with all bytes, no mark, no flag.
#[inline(always)]
pub fn fast_now(now: Epoch) -> u64 {
    Stamp::new(now, Bytes::ALL).0
}

/// A read of `bytes` repeats if the slot's read stamp (or the write stamp) agrees with [`fast_now`] in these bits.
#[inline(always)]
pub const fn fast_mask_of_read(bytes: Bytes) -> u64 {
    Stamp::EPOCH | (bytes.0 as u64) << Stamp::BYTES_SHIFT
}

/// A write of `bytes` repeats if the write stamp agrees with [`fast_now`] in these bits.
#[inline(always)]
pub const fn fast_mask_of_write(bytes: Bytes) -> u64 {
    fast_mask_of_read(bytes) | Stamp::MARKS
}

#[cfg(test)]
mod tests;
