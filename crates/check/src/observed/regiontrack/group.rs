//! The accesses of a variable that later ones may depend on, in two words.

use std::collections::BTreeMap;

use atomvet_trace::UpdateKind;

use crate::Access;
use crate::history::{Time, widen};

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
/// 63   60 59    32 31           0
/// [ kind ][ lane  ][    time    ]      one member
/// [ kind ][ MANY  ][   crowd    ]      several: a row of `Crowds`
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Group(u64);

pub(super) const MANY: u64 = 0xfff_ffff;
pub(super) const WRITES: u64 = 1;
pub(super) const READS: u64 = 2;
/// The first kind of commuting updates.
const UPDATES: u64 = 3;
const _: () = assert!(UPDATES + (UpdateKind::Same as u64) < 16);

impl Group {
    pub(super) const EMPTY: Group = Group(0);

    #[inline(always)]
    pub(super) fn one(kind: u64, thread: usize, time: Time) -> Group {
        Group(kind << 60 | (thread as u64) << 32 | u64::from(time))
    }

    #[inline(always)]
    pub(super) fn many(kind: u64, crowd: u32) -> Group {
        Group(kind << 60 | MANY << 32 | u64::from(crowd))
    }

    /// 0 if empty.
    #[inline(always)]
    pub(super) fn kind(self) -> u64 {
        self.0 >> 60
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

/// Groups with several members.
#[derive(Debug, Default)]
pub(super) struct Crowds {
    /// Rows with a time per lane, 0 for those that are not in the crowd; `width` components each.
    dense: Vec<Time>,
    width: usize,
    /// With many lanes: the times of the members.
    sparse: Option<Vec<BTreeMap<u32, Time>>>,
    free: Vec<u32>,
}

impl Crowds {
    /// A new one without members.
    pub(super) fn add(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| match &mut self.sparse {
            None => {
                self.dense.resize(self.dense.len() + self.width, 0);
                (self.dense.len() / self.width - 1) as u32
            }
            Some(crowds) => {
                crowds.push(BTreeMap::new());
                (crowds.len() - 1) as u32
            }
        })
    }

    pub(super) fn release(&mut self, crowd: u32) {
        match &mut self.sparse {
            None => self.dense[crowd as usize * self.width..][..self.width].fill(0),
            Some(crowds) => crowds[crowd as usize].clear(),
        }
        self.free.push(crowd);
    }

    pub(super) fn contains(&self, crowd: u32, lane: usize) -> bool {
        match &self.sparse {
            None => self.dense[crowd as usize * self.width + lane] != 0,
            Some(crowds) => crowds[crowd as usize].contains_key(&(lane as u32)),
        }
    }

    /// Lane `lane` is a member, lately at `time`.
    pub(super) fn put(&mut self, crowd: u32, lane: usize, time: Time) {
        match &mut self.sparse {
            None => self.dense[crowd as usize * self.width + lane] = time,
            Some(crowds) => _ = crowds[crowd as usize].insert(lane as u32, time),
        }
    }

    /// Puts the members and their times into `list`, in ascending order.
    pub(super) fn members(&self, crowd: u32, list: &mut Vec<(usize, Time)>) {
        list.clear();
        match &self.sparse {
            None => {
                let row = self.dense[crowd as usize * self.width..][..self.width].iter().copied();
                list.extend(row.enumerate().filter(|(_, time)| *time != 0));
            }
            Some(crowds) => {
                list.extend(crowds[crowd as usize].iter().map(|(&lane, &time)| (lane as usize, time)));
            }
        }
    }

    /// Makes rows of `width` components or, if that is 0, sparse ones.
    pub(super) fn grow(&mut self, width: usize) {
        if width == 0 && self.sparse.is_none() {
            let member = |(lane, time): (usize, &Time)| (*time != 0).then_some((lane as u32, *time));
            let crowd = |row: &[Time]| row.iter().enumerate().filter_map(member).collect();
            self.sparse = Some(self.dense.chunks_exact(self.width.max(1)).map(crowd).collect());
            self.dense = Vec::new();
        } else if width > 0 && width != self.width {
            self.dense = widen(&self.dense, self.width.max(1), width, 0);
        }
        self.width = width;
    }

    /// How many times are kept here, roughly.
    pub(super) fn words(&self) -> usize {
        self.sparse.as_ref().map_or(self.dense.len(), |crowds| crowds.iter().map(BTreeMap::len).sum())
    }

    /// Calls `visit` with the lane of every time that is kept here, and replaces the time.
    pub(super) fn visit(&mut self, visit: &mut dyn FnMut(usize, &mut Time)) {
        for (i, time) in self.dense.iter_mut().enumerate().filter(|(_, time)| **time != 0) {
            visit(i % self.width, time);
        }
        for (lane, time) in self.sparse.iter_mut().flatten().flatten() {
            visit(*lane as usize, time);
        }
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
