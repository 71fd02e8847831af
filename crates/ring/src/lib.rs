//! The shared memory between a watched program and the command: its layout, and how the program writes it (`writer.rs`).
//!
//! ```text
//! program, many threads                                     command, one thread
//!   reserve a slot: head += 1  ─── the order of all events ───►  read it once its turn is up
//!   write it, then its turn                                      tail += n, now and then
//! ```
//!
//! A ring is a file that both map. The place of a record in it is its place in the recorded execution. A slot
//! is whole once its `turn` names the lap in which it is read; slots of a process that died before that are
//! left out. The program waits while the ring is full, as long as somebody reads it.
//!
//! The file stands in the directory that [`DIRECTORY`] names and appears under its name,
//! `PID.NUMBER.ring`, when its header is whole. Beside it, `PID.NUMBER.maps` is a copy of the process's
//! memory map; whenever a library is loaded, another is made, `PID.NUMBER.maps1` and so on, and a record says so.
//!
//! A process that cannot be recorded makes a symbolic link `PID.failed` there, whose target is the reason in words: that takes
//! neither a file descriptor nor room on a disk.

use std::sync::atomic::{AtomicU32, AtomicU64};

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod sys;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod writer;

/// The environment variable that names the directory of the rings. Without it the runtime does nothing. The directory's own
/// name is `atomvet-PROCESS-…`, after the process that reads them.
pub const DIRECTORY: &str = "ATOMVET_RING_DIRECTORY";

/// The file in that directory to which every program that loads the runtime appends a line: its process and where it is.
pub const PROGRAMS: &str = "programs";

/// The environment variable that, if set to anything, asks for a record of every access.
pub const RECORD_ALL: &str = "ATOMVET_RECORD_ALL";

/// The environment variable that, if set to anything, lets locks be silent from the start: for tests.
pub const NO_PATIENCE: &str = "ATOMVET_NO_PATIENCE";

/// The environment variable that, if set to anything, lets operations on locks conflict in the checker of `crates/live`.
pub const LIVE_CONFLICTS: &str = "ATOMVET_LIVE_LOCK_CONFLICTS";

/// The same for waits, which then do not split blocks there.
pub const LIVE_STRICT_WAITS: &str = "ATOMVET_LIVE_STRICT_WAITS";

/// The same for atomic updates of one kind, which then do not commute there.
pub const LIVE_STRICT_ATOMICS: &str = "ATOMVET_LIVE_STRICT_ATOMICS";

/// The first word of a ring. Changes with the layout.
pub const MAGIC: u64 = 0x3430_676e_6972_7661;

/// How many records a ring holds: 1 MiB, a few milliseconds of the busiest programs.
pub const CAPACITY: u64 = 1 << 15;

/// Bytes before the first slot.
pub const HEADER_BYTES: usize = 16 << 10;

/// How large the file is.
pub const FILE_BYTES: usize = HEADER_BYTES + CAPACITY as usize * size_of::<Slot>();

/// How many counters there are for accesses that were seen; threads take turns with them.
pub const COUNTERS: usize = 1024;

/// A word that two processes write, alone in its cache lines.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Apart(pub AtomicU64);

/// The start of a ring.
#[repr(C)]
#[derive(Debug)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: u64,
    /// The process that writes.
    pub program: AtomicU32,
    /// The process that reads: from the directory's name at first, then as it says itself once it has opened the ring.
    pub reader: AtomicU32,
    /// Set by the reader when it reads no more: the program goes on alone.
    pub closed: AtomicU32,
    /// How often the copy of the memory map was renewed.
    pub maps_renewed: AtomicU32,
    /// Accesses in signal handlers that interrupted the runtime: not recorded.
    pub lost_in_handlers: AtomicU64,
    /// Threads beyond what the filter can tell apart: not recorded.
    pub lost_threads: AtomicU64,
    /// Joins of threads whose start was not seen.
    pub unknown_joins: AtomicU64,
    /// Locks that changed hands while it could not be told after what.
    pub lost_orders: AtomicU64,
    /// How many slots were reserved since the start.
    pub head: Apart,
    /// How many records were read since the start.
    pub tail: Apart,
    /// Accesses seen, recorded or not, per group of threads. Brought up to date at each record.
    pub seen: [AtomicU64; COUNTERS],
}

const _: () = assert!(size_of::<Header>() <= HEADER_BYTES);

/// One record.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Slot {
    /// The lap in the upper half, counted from 1; below, the thread's serial number. Written last.
    pub turn: AtomicU64,
    /// [`Kind`] (8 bits), size (8), address or another operand (48).
    pub what: AtomicU64,
    /// How many announced blocks are open around this event, without one that it announces itself (16 bits); where it
    /// happened (48).
    pub place: AtomicU64,
    /// A block that begins before this event, see [`Block`]; for some kinds, another operand.
    pub block: AtomicU64,
}

const _: () = assert!(size_of::<Slot>() == 32);

/// The lower 48 bits of a word: addresses of programs fit.
pub const LOW: u64 = (1 << 48) - 1;

/// The size of a [`Kind::Split`] where an initialiser begins that may do nothing others see.
pub const INITIALISES: u8 = 1;
/// And where it ends.
pub const INITIALISED: u8 = 2;

/// The bit of a size that says that an access is atomic.
pub const ATOMIC: u8 = 0x80;

/// In the word of a JVM's method, in the table of findings: it was not the JVM's first thread that entered it.
pub const ELSEWHERE: u64 = 1 << 47;

/// How a block is identified, in the upper 16 bits of a word; the rest says which.
#[repr(u16)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Block {
    /// No block begins.
    None = 0,
    /// A function, by its address.
    Function = 1,
    /// A function, by a return address inside it.
    Inside = 2,
    /// An annotation, by the hash of its label, which a [`Kind::Label`] gave.
    Label = 3,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// What a record says.
        #[repr(u8)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Kind {
            $($(#[$doc])* $name,)*
        }

        impl Kind {
            /// All kinds, by number.
            pub const ALL: &[Kind] = &[$(Kind::$name),*];
        }
    };
}

kinds! {
    /// Nothing but what the record says about blocks.
    Nothing,
    /// Bytes are read: up to 16, by the size, which may have the flag [`ATOMIC`]; or with size 0 as many as `block` says.
    Read,
    /// They are written.
    Write,
    /// An exchange, or a successful compare-exchange.
    Update,
    /// An atomic addition or subtraction.
    Add,
    /// An atomic or.
    Or,
    /// An atomic and.
    And,
    /// An atomic exclusive or.
    Xor,
    /// An atomic minimum.
    Min,
    /// An atomic maximum.
    Max,
    /// A lock was taken exclusively.
    Acquire,
    /// A lock was taken shared.
    AcquireShared,
    /// A lock is given back, in whatever mode it is held.
    Release,
    /// A lock is given back until the thread goes on.
    Wait,
    /// The thread with this serial number is about to start.
    Fork,
    /// The thread with this serial number has ended.
    Join,
    /// A thread ends. The size is 1 if it has entered a method of a JVM's application.
    ThreadEnd,
    /// The thread arrives at a barrier.
    Barrier,
    /// A semaphore gets a new value, given by `block`.
    SemaphoreInit,
    /// A semaphore is counted up.
    Post,
    /// A semaphore was counted down.
    Take,
    /// What the thread did so far is made known under this address.
    Publish,
    /// All that was made known under this address is known to the thread.
    Observe,
    /// The same, and the thread may have waited for it.
    Await,
    /// A stretch of memory, as long as `block` says, begins a new life.
    NewLife,
    /// Up to 16 bytes, in `place` and `block`, of the label with this hash; the last part is shorter.
    Label,
    /// This address is part of a synchronisation object and never data.
    NotData,
    /// An object of a JVM's is at this address from now on; `block` says of which class (lower half), and whether it is
    /// that class itself (upper half).
    Object,
    /// A lock that is held exclusively is given back, whether or not it is also held shared.
    ReleaseExclusive,
    /// A library was loaded: what was recorded from here on is in the copy of the memory map with this number.
    Maps,
    /// A library is gone from a stretch of memory, as long as `block` says: what comes there has other names.
    Unloaded,
    /// The thread's open blocks are split here, as a wait splits them. With size [`INITIALISES`] only if something else
    /// is recorded before the thread's next one with size [`INITIALISED`], which splits them under the same condition.
    Split,
    /// What the thread does from here on is not done in its open blocks, until the next `Resume`. These may nest.
    Suspend,
    /// It is again.
    Resume,
    /// Whoever takes a lock that the thread gave back silently, up to this period, comes after this.
    Mark,
    /// The thread comes after the first mark for this period, or a later one, of the period's thread.
    Behind,
}
