//! The accesses of a variable that later ones may depend on, in two words.

use crate::Access;
use crate::history::Time;

/// The accesses of a variable (or the sends on a channel) that later ones may depend on.
///
/// Accesses that do not conflict with each other form a group. An access that conflicts with the current
/// group depends on all its members, which depend on everything before: nothing older matters to it. An access
/// that joins the group depends on the one before.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slot {
    pub(super) previous: Group,
    pub(super) current: Group,
}

/// A group of accesses: what they are, and one epoch per thread, in one word.
///
/// ```text
/// 63   56 55    32 31           0
/// [ kind ][ thread][    time    ]      one member
/// [ kind ][ MANY  ][   crowd    ]      several: a row of `Crowds`
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Group(u64);

pub(super) const MANY: u64 = 0xff_ffff;
pub(super) const WRITES: u64 = 1;
pub(super) const READS: u64 = 2;
/// The first kind of commuting updates.
const UPDATES: u64 = 3;

impl Group {
    pub(super) const EMPTY: Group = Group(0);

    #[inline(always)]
    pub(super) fn one(kind: u64, thread: usize, time: Time) -> Group {
        Group(kind << 56 | (thread as u64) << 32 | u64::from(time))
    }

    #[inline(always)]
    pub(super) fn many(kind: u64, crowd: u32) -> Group {
        Group(kind << 56 | MANY << 32 | u64::from(crowd))
    }

    /// 0 if empty.
    #[inline(always)]
    pub(super) fn kind(self) -> u64 {
        self.0 >> 56
    }

    #[inline(always)]
    pub(super) fn thread(self) -> u64 {
        self.0 >> 32 & MANY
    }

    #[inline(always)]
    pub(super) fn low(self) -> u32 {
        self.0 as u32
    }
}

/// Groups with several members: rows with a time per thread, 0 for those that are not in it.
#[derive(Debug, Default)]
pub(super) struct Crowds {
    pub(super) rows: Vec<Time>,
    free: Vec<u32>,
}

impl Crowds {
    pub(super) fn new_row(&mut self, width: usize) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.rows.resize(self.rows.len() + width, 0);
            (self.rows.len() / width - 1) as u32
        })
    }

    pub(super) fn drop_row(&mut self, width: usize, crowd: u32) {
        self.row(width, crowd).fill(0);
        self.free.push(crowd);
    }

    pub(super) fn row(&mut self, width: usize, crowd: u32) -> &mut [Time] {
        &mut self.rows[crowd as usize * width..][..width]
    }
}

#[inline(always)]
pub(super) fn kind(access: Access) -> u64 {
    match access {
        Access::Write => WRITES,
        Access::Read => READS,
        Access::Commuting(kind) => UPDATES + kind as u64,
    }
}
