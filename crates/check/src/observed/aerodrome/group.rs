//! What variables and channels hold: groups of accesses that do not conflict, in 16 bytes each.

use atomvet_trace::UpdateKind;

use crate::Access;

/// Accesses or sends that do not conflict with each other, and the clock that stands for them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// The time of the snapshot (0 for a pair) and, in the lowest bits, the kind of access.
    stamp: u64,
    /// The only thread in it, or the last, which knows the others; or [`SEVERAL`] or [`NOBODY`].
    pub(super) thread: u32,
    /// A row of `snapshots`, or the number of a pair.
    pub(super) clock: u32,
}

/// One variable: 32 bytes that never straddle cache lines, as this is what an access waits for.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Variable {
    /// The latest accesses that do not conflict with each other.
    pub(super) current: Group,
    /// The group before it, if somebody may join the current one. All of `current` knows it.
    pub(super) previous: Group,
}

const _: () = assert!(size_of::<Variable>() == 32);

/// `L_l`, in two parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChannelClocks {
    /// The last exclusive send.
    pub(super) exclusive: Group,
    /// The shared sends since then.
    pub(super) shared: Group,
}

/// In place of a thread: the group is a pair.
pub(super) const SEVERAL: u32 = u32::MAX - 1;
/// In place of a thread: the group is empty.
pub(super) const NOBODY: u32 = u32::MAX;

/// Bits of a stamp that hold the kind of access.
const KIND_BITS: u32 = 3;
const KIND: u64 = (1 << KIND_BITS) - 1;
pub(super) const WRITE: u64 = 0;

pub(super) const EMPTY: Group = Group { stamp: WRITE, thread: NOBODY, clock: 0 };
pub(super) const NEW_VARIABLE: Variable = Variable { current: EMPTY, previous: EMPTY };
pub(super) const NEW_CHANNEL: ChannelClocks = ChannelClocks { exclusive: EMPTY, shared: EMPTY };

impl Group {
    /// Thread `t` alone, with its snapshot `clock` of time `now`.
    #[inline(always)]
    pub(super) fn of_one(t: usize, now: u64, kind: u64, clock: u32) -> Group {
        Group { stamp: now << KIND_BITS | kind, thread: t as u32, clock }
    }

    /// Threads that do not know each other, with the pair of clocks that stands for them.
    #[inline(always)]
    pub(super) fn of_several(kind: u64, pair: u32) -> Group {
        Group { stamp: kind, thread: SEVERAL, clock: pair }
    }

    /// When its snapshot was taken.
    #[inline(always)]
    pub(super) fn time(self) -> u64 {
        self.stamp >> KIND_BITS
    }

    /// How it accesses the variable.
    #[inline(always)]
    pub(super) fn kind(self) -> u64 {
        self.stamp & KIND
    }
}

#[inline(always)]
pub(super) fn kind_of(access: Access) -> u64 {
    match access {
        // Updates of a kind that does not commute conflict with everything, as writes do.
        Access::Write | Access::Commuting(UpdateKind::Other | UpdateKind::Same) => WRITE,
        Access::Read => 1,
        Access::Commuting(UpdateKind::Add) => 2,
        Access::Commuting(UpdateKind::Or) => 3,
        Access::Commuting(UpdateKind::And) => 4,
        Access::Commuting(UpdateKind::Xor) => 5,
        Access::Commuting(UpdateKind::Min) => 6,
        Access::Commuting(UpdateKind::Max) => 7,
    }
}
