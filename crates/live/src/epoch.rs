//! Epochs and stamps: what a shadow word holds.
//!
//! An *epoch* is a thread index and a time of that thread. A *stamp* is an epoch with the bytes of the granule that it
//! speaks for. Bytes that the same thread accessed at the time before may be in the same word. The word of the last write also
//! has marks of those who have read since, and says whether other stamps of the granule are kept aside (`older.rs`).
//!
//! ```text
//! bit   63..62   61..58    57..54   53      52..41   40..0
//!       marks    earlier   bytes    older   index    time      bytes at the time, earlier ones at the time before
//! ```
//!
//! Index 0 belongs to no thread, so the empty word 0 is no stamp. The time is in the low bits: a new time is an addition.

/// Bits of a time. A thread that began a block every 20 ns would use them up in 12 hours; see [`LAST_TIME`].
pub const TIME_BITS: u32 = 41;
/// The last time. A thread that gets there is no longer followed (`thread.rs`).
pub const LAST_TIME: u64 = (1 << TIME_BITS) - 1;
/// Bits of a thread index.
pub const INDEX_BITS: u32 = 12;
/// How many thread indexes there are, including 0, which is nobody's.
pub const INDEXES: usize = 1 << INDEX_BITS;
/// Read words per granule: threads share them by index.
pub const SLOTS: usize = 8;
/// Marks in the word of the last write: slots share them by number.
pub const MARKS: usize = 2;

const TIME: u64 = (1 << TIME_BITS) - 1;
const EPOCH: u64 = (1 << (TIME_BITS + INDEX_BITS)) - 1;
const OLDER: u64 = 1 << (TIME_BITS + INDEX_BITS);
const BYTES_SHIFT: u32 = TIME_BITS + INDEX_BITS + 1;
const BYTES: u64 = 0xf << BYTES_SHIFT;
const EARLIER_SHIFT: u32 = BYTES_SHIFT + 4;
const EARLIER: u64 = 0xf << EARLIER_SHIFT;
const MARKS_SHIFT: u32 = EARLIER_SHIFT + 4;
const ALL_MARKS: u64 = ((1 << MARKS) - 1) << MARKS_SHIFT;

const _: () = assert!(MARKS_SHIFT as usize + MARKS == 64);

/// A thread index and a time of that thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Epoch(u64);

impl Epoch {
    /// The epoch of thread `index` at `time`.
    #[inline(always)]
    pub fn new(index: usize, time: u64) -> Epoch {
        debug_assert!(index < INDEXES && time <= TIME);
        Epoch((index as u64) << TIME_BITS | time)
    }

    /// An epoch from the word that [`Epoch::word`] gave.
    #[inline(always)]
    pub fn from_word(word: u64) -> Epoch {
        Epoch(word & EPOCH)
    }

    /// The epoch as a number.
    #[inline(always)]
    pub fn word(self) -> u64 {
        self.0
    }

    /// The thread.
    #[inline(always)]
    pub fn index(self) -> usize {
        (self.0 >> TIME_BITS) as usize
    }

    /// The time.
    #[inline(always)]
    pub fn time(self) -> u64 {
        self.0 & TIME
    }
}

impl core::fmt::Debug for Epoch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}@{}", self.index(), self.time())
    }
}

/// A set of bytes of one granule, the byte at the lowest address in the lowest bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bytes(pub u8);

impl Bytes {
    /// The whole granule.
    pub const ALL: Bytes = Bytes(0xf);

    /// `length` bytes from `offset` on; both within the granule.
    #[inline(always)]
    pub fn range(offset: usize, length: usize) -> Bytes {
        debug_assert!(length >= 1 && offset + length <= 4);
        Bytes((0xfu8 >> (4 - length)) << offset)
    }

    /// Whether the two have a byte in common.
    #[inline(always)]
    pub fn overlaps(self, other: Bytes) -> bool {
        self.0 & other.0 != 0
    }
}

impl core::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:04b}", self.0)
    }
}

/// What a shadow word holds: an epoch, the bytes it speaks for, and flags.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Stamp(pub u64);

impl Stamp {
    /// The empty word: nobody has accessed the granule.
    pub const NONE: Stamp = Stamp(0);

    /// A stamp without flags.
    #[inline(always)]
    pub fn new(epoch: Epoch, bytes: Bytes) -> Stamp {
        Stamp(epoch.0 | (bytes.0 as u64) << BYTES_SHIFT)
    }

    /// Who, and when.
    #[inline(always)]
    pub fn epoch(self) -> Epoch {
        Epoch(self.0 & EPOCH)
    }

    /// The thread; 0 if there is none.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.epoch().index()
    }

    /// The bytes it speaks for at its time.
    #[inline(always)]
    pub fn bytes(self) -> Bytes {
        Bytes((self.0 >> BYTES_SHIFT) as u8 & 0xf)
    }

    /// The bytes it speaks for at the time before.
    #[inline(always)]
    pub fn earlier(self) -> Bytes {
        Bytes((self.0 >> EARLIER_SHIFT) as u8 & 0xf)
    }

    /// The same stamp with these bytes at the time before.
    #[inline(always)]
    pub fn with_earlier(self, bytes: Bytes) -> Stamp {
        Stamp(self.0 & !EARLIER | (bytes.0 as u64) << EARLIER_SHIFT)
    }

    /// The bytes of both times.
    #[inline(always)]
    pub fn all_bytes(self) -> Bytes {
        Bytes(self.bytes().0 | self.earlier().0)
    }

    /// The stamp for each time alone: two at most that are not empty.
    pub fn single(self) -> [Stamp; 2] {
        let latest = Stamp(self.0 & (EPOCH | BYTES));
        [if latest.is_empty() { Stamp::NONE } else { latest }, self.without(self.bytes()).plain()]
    }

    /// Whether it speaks for no byte.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.0 & (BYTES | EARLIER) == 0
    }

    /// The same without some bytes; empty if none is left.
    #[inline(always)]
    pub fn without(self, bytes: Bytes) -> Stamp {
        let left = self.0 & !((bytes.0 as u64) << BYTES_SHIFT | (bytes.0 as u64) << EARLIER_SHIFT);
        if left & (BYTES | EARLIER) == 0 {
            Stamp::NONE
        } else if left & BYTES == 0 {
            // Only the time before is left: it becomes the stamp's.
            Stamp((left & !EARLIER | (left & EARLIER) >> (EARLIER_SHIFT - BYTES_SHIFT)) - 1)
        } else {
            Stamp(left)
        }
    }

    /// In the word of the last write: who has read since.
    #[inline(always)]
    pub fn marks(self) -> u32 {
        (self.0 >> MARKS_SHIFT) as u32
    }

    /// The same stamp with these marks.
    #[inline(always)]
    pub fn with_marks(self, marks: u32) -> Stamp {
        Stamp(self.0 & !ALL_MARKS | (marks as u64) << MARKS_SHIFT)
    }

    /// The mark of a slot in the word of the last write.
    #[inline(always)]
    pub fn mark_of(slot: usize) -> u64 {
        1 << (MARKS_SHIFT as usize + slot % MARKS)
    }

    /// Whether other stamps of the granule are kept aside.
    #[inline(always)]
    pub fn has_older(self) -> bool {
        self.0 & OLDER != 0
    }

    /// The bit of [`Stamp::has_older`].
    pub const OLDER: u64 = OLDER;
    /// The bits of [`Stamp::epoch`].
    pub const EPOCH: u64 = EPOCH;
    /// The bits of [`Stamp::marks`].
    pub const MARKS: u64 = ALL_MARKS;
    /// Where the bits of [`Stamp::bytes`] begin.
    pub const BYTES_SHIFT: u32 = BYTES_SHIFT;

    /// The stamp alone: no mark, no flag.
    #[inline(always)]
    pub fn plain(self) -> Stamp {
        Stamp(self.0 & (EPOCH | BYTES | EARLIER))
    }

    /// The marks and the flag alone.
    #[inline(always)]
    pub fn flags(self) -> u64 {
        self.0 & (ALL_MARKS | OLDER)
    }

    /// Whether this word is `now`, the stamp of a whole granule, but for the time: an earlier stamp of the same thread for the same
    /// bytes, with no flag.
    #[inline(always)]
    pub fn differs_in_time_only(self, now: u64) -> bool {
        (self.0 ^ now) >> TIME_BITS == 0
    }

    /// Whether this read stamp already stands for a read of `bytes` in the epoch `now`.
    #[inline(always)]
    pub fn covers_read(self, now: Epoch, bytes: Bytes) -> bool {
        let wanted = Stamp::new(now, bytes).0;
        (self.0 ^ wanted) & EPOCH == 0 && self.0 & wanted & BYTES == wanted & BYTES
    }

    /// Whether this write stamp already stands for a write of `bytes` in the epoch `now`, and nobody has read since.
    #[inline(always)]
    pub fn covers_write(self, now: Epoch, bytes: Bytes) -> bool {
        self.covers_read(now, bytes) && self.0 & ALL_MARKS == 0
    }
}

impl core::fmt::Debug for Stamp {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.0 == 0 {
            return f.write_str("-");
        }
        write!(f, "{:?}:{:?}", self.epoch(), self.bytes())?;
        if self.earlier().0 != 0 {
            write!(f, " before {:?}", self.earlier())?;
        }
        if self.marks() != 0 {
            write!(f, " read by {:02b}", self.marks())?;
        }
        if self.has_older() { f.write_str(" +older") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_keeps_its_parts_apart() {
        let stamp = Stamp::new(Epoch::new(INDEXES - 1, TIME), Bytes(0b1010)).with_marks(0b10);
        assert_eq!((stamp.index(), stamp.epoch().time()), (INDEXES - 1, TIME));
        assert_eq!((stamp.bytes(), stamp.marks()), (Bytes(0b1010), 0b10));
        assert!(!stamp.has_older());
        assert!(Stamp(stamp.0 | OLDER).has_older());
        assert_eq!(stamp.without(Bytes(0b1100)).bytes(), Bytes(0b0010));
        assert_eq!(stamp.without(Bytes::ALL), Stamp::NONE);
        assert_eq!(Stamp(stamp.0 | OLDER).plain(), Stamp::new(stamp.epoch(), stamp.bytes()));
    }

    #[test]
    fn bytes_of_two_times_fit_into_one_stamp() {
        let [now, before] = [7, 6].map(|time| Epoch::new(3, time));
        let both = Stamp::new(now, Bytes(0b0011)).with_earlier(Bytes(0b1000));
        assert_eq!(both.single(), [Stamp::new(now, Bytes(0b0011)), Stamp::new(before, Bytes(0b1000))]);
        assert_eq!(both.without(Bytes(0b1001)), Stamp::new(now, Bytes(0b0010)));
        assert_eq!(both.without(Bytes(0b0011)), Stamp::new(before, Bytes(0b1000)));
        assert_eq!(both.without(Bytes::ALL), Stamp::NONE);
    }

    #[test]
    fn ranges_of_bytes_start_at_the_lowest_address() {
        assert_eq!(Bytes::range(0, 4), Bytes::ALL);
        assert_eq!(Bytes::range(1, 2), Bytes(0b0110));
        assert_eq!(Bytes::range(3, 1), Bytes(0b1000));
    }
}
