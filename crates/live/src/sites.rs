//! Where a thread accessed what lately: a ring, so that a finding can say where the other thread was.
//!
//! A stamp has no room for a site. The first access to a granule in an epoch leaves 16 bytes here; a finding looks for the
//! epoch and the granule of the stamp that it depends on. If the ring has turned over since, the site is not known, and
//! the report says so. If memory was freed and used again within one epoch of the accessing thread, the site may be that of
//! the access to the earlier variable.
//!
//! ```text
//! word 0   operation (4) | length (4) | time, low bits (8)       | address (48)
//! word 1                                   time, next bits (16)  | site (48)
//! ```

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use crate::access::{Access, Operation};
use crate::memory::Words;

const LOW: u64 = (1 << 48) - 1;
/// Lengths up to this are told exactly: 0 is one byte. From there on each number is twice as long as the one before.
const EXACT: u64 = 8;
const LONGEST: u64 = EXACT << 8;

fn length(code: u64) -> u64 {
    if code < EXACT { code + 1 } else { EXACT << (code - EXACT + 1) }
}

/// The ring. Only its thread writes.
#[derive(Debug)]
pub struct Sites {
    ring: Words,
    next: AtomicU64,
}

impl Sites {
    /// A ring of so many accesses, a power of two; none if there is no memory.
    pub fn new(accesses: usize) -> Option<Sites> {
        debug_assert!(accesses.is_power_of_two());
        Some(Sites { ring: Words::reserve(accesses * 2)?, next: AtomicU64::new(0) })
    }

    /// Remembers an access of up to 16 bytes at a time.
    #[inline(always)]
    pub fn remember(&self, access: &Access, time: u64) {
        if access.bytes <= EXACT {
            self.add(access, access.bytes - 1, time);
        } else {
            self.remember_range(access, time);
        }
    }

    /// Remembers an access of any length: as pieces whose lengths are powers of two.
    #[inline(never)]
    pub fn remember_range(&self, access: &Access, time: u64) {
        let (mut at, end) = (access.address, access.address + access.bytes);
        while at < end {
            let left = end - at;
            let (code, bytes) = if left <= EXACT {
                (left - 1, left)
            } else {
                let power = u64::from(left.ilog2()).min(LONGEST.ilog2().into());
                (EXACT + power - 4, 1 << power)
            };
            self.add(&Access { address: at, ..*access }, code, time);
            at += bytes;
        }
    }

    #[inline(always)]
    fn add(&self, access: &Access, length: u64, time: u64) {
        let next = self.next.load(Relaxed) as usize;
        let what = (access.operation as u64) << 60 | length << 56;
        let pair = &self.ring[next..next + 2];
        pair[0].store(access.address & LOW | (time & 0xff) << 48 | what, Relaxed);
        pair[1].store(access.site & LOW | (time >> 8 & 0xffff) << 48, Relaxed);
        self.next.store(((next + 2) & (self.ring.len() - 1)) as u64, Relaxed);
    }

    /// The first access at that time that `later` conflicts with, if it is still known.
    ///
    /// The first, because a later one of the same epoch may have come after `later`. So the ring must reach back beyond the
    /// epoch. Times that differ by a multiple of 2^24 are taken for the same; the ring does not last so long.
    pub fn find(&self, later: &Access, time: u64) -> Option<Access> {
        let (next, words) = (self.next.load(Relaxed) as usize, self.ring.len());
        let newest_first = (1..=words / 2).map(|back| (next + words - 2 * back) & (words - 1));
        let mut found = None;
        for at in newest_first {
            let (first, second) = (self.ring[at].load(Relaxed), self.ring[at + 1].load(Relaxed));
            if first == 0 {
                return found;
            }
            let remembered = (first >> 48 & 0xff) | (second >> 48) << 8;
            // Within 2^23, smaller is earlier.
            if remembered.wrapping_sub(time) & 0xff_ffff > 0x80_0000 {
                return found;
            }
            let access = Access {
                address: first & LOW,
                bytes: length(first >> 56 & 0xf),
                site: second & LOW,
                operation: Operation::from_word(first >> 60),
            };
            if remembered == time & 0xff_ffff && conflict(&access, later) {
                found = Some(access);
            }
        }
        None
    }
}

fn conflict(earlier: &Access, later: &Access) -> bool {
    let address = later.address & LOW;
    let overlap = earlier.address < address + later.bytes && address < earlier.address + earlier.bytes;
    overlap && earlier.operation.conflicts(later.operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: u64, site: u64, operation: Operation) -> Access {
        Access { address, bytes: 4, site, operation }
    }

    #[test]
    fn a_long_access_is_remembered_byte_by_byte() {
        for bytes in [1, 7, 8, 9, 15, 16, 17, 2047, 2048, 2049, 5000] {
            let sites = Sites::new(64).expect("memory");
            sites.remember(&Access { bytes, ..access(0x1000, 3, Operation::Write) }, 5);
            for at in 0x0ff0..0x1000 + bytes + 16 {
                let byte = Access { bytes: 1, ..access(at, 0, Operation::Read) };
                assert_eq!(sites.find(&byte, 5).is_some(), (0x1000..0x1000 + bytes).contains(&at), "{bytes}");
            }
        }
    }

    #[test]
    fn the_first_conflicting_access_of_a_time_is_found_until_the_ring_turns_over() {
        use Operation::{Read, Write};
        let sites = Sites::new(8).expect("memory");
        sites.remember(&access(0x100, 1, Write), 0x12344);
        sites.remember(&access(0x100, 2, Read), 0x12345);
        sites.remember(&access(0x104, 3, Write), 0x12345);
        sites.remember(&access(0x100, 4, Write), 0x12345);
        sites.remember(&access(0x100, 5, Write), 0x12346);
        let find = |address, operation, time| {
            sites.find(&access(address, 0, operation), time).map(|access| access.site)
        };
        assert_eq!(find(0x100, Write, 0x12345), Some(2));
        assert_eq!(find(0x100, Read, 0x12345), Some(4));
        assert_eq!(find(0x104, Read, 0x12345), Some(3));
        assert_eq!(find(0x108, Write, 0x12345), None);
        assert_eq!(find(0x100, Write, 0x12346), Some(5));
        (0..5).for_each(|_| sites.remember(&access(0x200, 6, Read), 0x12347));
        assert_eq!(find(0x100, Write, 0x12345), None, "the ring no longer reaches back to its start");
        assert_eq!(find(0x100, Write, 0x12346), Some(5));
    }
}
