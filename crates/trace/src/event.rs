//! One step of a recorded execution: who, what, where. 16 bytes, `Copy`.
//!
//! The operations are those of the papers (read, write, acquire, release, fork, join, begin, end)
//! and what a real program needs beyond them. What each one means for the order of events is
//! written down once, in `docs/event-model.md`.

use std::fmt;

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a dense table.
            #[inline(always)]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", stringify!($name).trim_end_matches("Id"), self.0)
            }
        }
    };
}

dense_id!(/// A thread.
    ThreadId);
dense_id!(/// A variable: whatever the trace reads and writes under one name.
    VarId);
dense_id!(/// A lock.
    LockId);
dense_id!(/// A barrier.
    BarrierId);
dense_id!(/// The label of a block that should be atomic, such as a function's name.
    RegionId);
dense_id!(/// A place in the program's source: `file:line`, or a number.
    SiteId);

impl RegionId {
    /// A block that the trace gives no label. It is known by the site of its begin.
    pub const NONE: RegionId = RegionId(u32::MAX);
}

impl SiteId {
    /// No place is known.
    pub const NONE: SiteId = SiteId(u32::MAX);
}

/// The position of an event in its trace, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub u64);

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// By one thread, nobody else in any mode: a mutex, or a write lock.
    Exclusive,
    /// Together with other shared holders: a read lock.
    Shared,
}

/// Whether the program makes an access with an atomic operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessKind {
    /// It does not: a conflicting access that is not ordered with this one races with it.
    Plain,
    /// An atomic load or store, or an access of a `volatile` field in Java. Atomic accesses never race with each other.
    Atomic,
}

/// What an atomic read-modify-write does to the value. Two updates of one commuting kind leave
/// the same value in either order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UpdateKind {
    /// Exchange, successful compare-exchange, anything whose order matters.
    Other,
    /// Addition and subtraction.
    Add,
    /// Bitwise or.
    Or,
    /// Bitwise and.
    And,
    /// Bitwise exclusive or.
    Xor,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
    /// A write, atomic or not, of the value that is there already. It conflicts as every write does, unless the
    /// user says that such writes do not count.
    Same,
}

impl UpdateKind {
    /// Whether two updates of this kind may be swapped.
    #[inline]
    pub fn commutes(self) -> bool {
        !matches!(self, UpdateKind::Other | UpdateKind::Same)
    }
}

/// What an event does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Reads a variable.
    Read(VarId, AccessKind),
    /// Writes a variable.
    Write(VarId, AccessKind),
    /// Reads and writes a variable in one indivisible step. (A failed compare-exchange is a read.)
    Update(VarId, UpdateKind),
    /// Takes a lock.
    Acquire(LockId, Mode),
    /// Gives a lock back.
    Release(LockId, Mode),
    /// An acquire of a lock that its thread holds already, in the same mode. It orders nothing.
    /// Only [`wellformed`](crate) makes these, from plain acquires.
    Reacquire(LockId, Mode),
    /// The release that goes with a [`Op::Reacquire`].
    Rerelease(LockId, Mode),
    /// Gives an exclusively held lock back, however often it was re-entered, and waits; the
    /// thread holds it again, just as often, from its next event on.
    Wait(LockId),
    /// Starts a thread.
    Fork(ThreadId),
    /// Waits for the end of a thread.
    Join(ThreadId),
    /// Arrives at a barrier; the thread leaves it with its next event.
    Barrier(BarrierId),
    /// Enters a block that should be atomic.
    Begin(RegionId),
    /// Leaves the innermost open block.
    End,
    /// A new life of a variable starts: what came before does not concern it.
    Alloc(VarId),
    /// The life of a variable ends.
    Free(VarId),
    /// From here on other threads can reach a variable: what was done to it before in this life
    /// was done in private. Orders nothing.
    Escape(VarId),
    /// A step that concerns only its own thread: the begin or end of a block that the specification
    /// leaves out.
    Local,
    /// No event: what stood at this position was taken out by a lenient repair. Keeps the numbering.
    Skip,
}

impl Op {
    /// A plain read.
    #[inline(always)]
    pub const fn read(variable: VarId) -> Op {
        Op::Read(variable, AccessKind::Plain)
    }

    /// A plain write.
    #[inline(always)]
    pub const fn write(variable: VarId) -> Op {
        Op::Write(variable, AccessKind::Plain)
    }

    /// Whether this is known to be an atomic operation. (Of a write of the same value that is not known.)
    pub fn is_atomic(self) -> bool {
        matches!(self, Op::Read(_, AccessKind::Atomic) | Op::Write(_, AccessKind::Atomic) | Op::Update(..))
    }
}

/// One step of a recorded execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Event {
    /// Who.
    pub thread: ThreadId,
    /// What.
    pub op: Op,
    /// Where in the source.
    pub site: SiteId,
}

const _: () = assert!(size_of::<Event>() == 16);
