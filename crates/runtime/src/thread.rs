//! What is known about the running thread, in thread-local memory that costs one instruction to reach.
//!
//! `thread_local!` in a shared library calls a function per access, 1.7 ns; the initial-exec model, which is
//! right for a library that is there from the start, needs no call. Stable Rust has no switch for it, so the
//! variable is defined in assembler.
//!
//! # Periods
//!
//! Whether an access needs a record depends on what the thread has recorded *in this period*. A period starts
//! when a block begins and when the thread receives something from another (a lock, a join, a value that
//! another wrote). When a block ends, the period of the block around it is current again, unless something
//! was received meanwhile: what the inner block recorded was recorded inside the outer one as well. So an
//! access is covered by any record of the thread whose period is *at least* the current one; see `shadow.rs`.
//!
//! ```text
//! key   = index of the thread (14 bits) | period (32) | flags and bytes (18), all zero
//! ```
//!
//! Numbers of periods never come back: an index that is given to a new thread counts on, and one that is used up
//! is retired.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::ring::COUNTERS;
use crate::{process, shadow, stream, sys};

/// Everything the runtime keeps per thread. All zero before the thread's first event.
#[repr(C)]
pub(crate) struct Thread {
    /// Records of at least this key are of the current period of the current block.
    pub(crate) key: u64,
    /// Where the filter keeps this thread's records; 0 before the first event and while nothing is recorded.
    pub(crate) plane: usize,
    /// Accesses seen.
    pub(crate) seen: u64,
    /// The open blocks: `depth` of them, but no more than [`FRAMES`] are kept.
    pub(crate) frames: *mut Frame,
    pub(crate) depth: usize,
    /// How many of the open blocks, from the outermost, have been announced in a record.
    pub(crate) announced: usize,
    /// How many announced blocks ended since the last record.
    pub(crate) ended: u64,
    /// The largest key in use.
    pub(crate) newest: u64,
    /// The key of the period that began when the thread last received something.
    pub(crate) received: u64,
    /// The first key of this thread: smaller ones were another's of the same index.
    pub(crate) birth: u64,
    /// Keys of the creating thread up to the creation: all of this comes before this thread.
    pub(crate) parent_birth: u64,
    pub(crate) parent_last: u64,
    /// The number of this thread in the records.
    pub(crate) serial: u32,
    /// The number of this thread in the filter.
    pub(crate) index: u32,
    /// The runtime is at work in this thread: what a signal handler does now is not recorded.
    pub(crate) busy: u32,
    /// Accesses are not to be recorded: hint reads, annotations.
    pub(crate) ignoring: u32,
    /// How often the destructor of this thread was put off.
    pub(crate) farewells: u32,
    pub(crate) state: u32,
    /// The thread's own stack.
    pub(crate) stack_low: usize,
    pub(crate) stack_high: usize,
}

/// A thread that records. See [`Thread::state`].
pub(crate) const RECORDS: u32 = 1;
/// A thread that was given up: nothing it does is recorded.
pub(crate) const SILENT: u32 = 2;

/// An open block.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    /// As in a record's `block`.
    pub(crate) block: u64,
    /// The stack pointer where it was entered.
    pub(crate) stack: usize,
    /// For an annotation, where it stands; for a function, where it returns to, if known.
    pub(crate) place: usize,
    /// The key to go back to when it ends.
    pub(crate) key: u64,
}

/// How deep calls are followed; what is deeper belongs to the deepest.
pub(crate) const FRAMES: usize = 1 << 16;

/// The step from one period to the next.
pub(crate) const STEP: u64 = 1 << 18;
const INDEX_SHIFT: u32 = 50;
const INDEXES: usize = 1 << 14;

const THREAD_BYTES: usize = 256;
const _: () = assert!(size_of::<Thread>() <= THREAD_BYTES);

global_asm!(
    ".section .tbss.atomvet_thread,\"awT\",@nobits",
    ".balign 64",
    ".globl atomvet_thread",
    ".hidden atomvet_thread",
    ".type atomvet_thread,@object",
    ".size atomvet_thread,256",
    "atomvet_thread:",
    ".zero 256",
    ".text",
);

/// The running thread.
#[inline(always)]
pub(crate) fn current() -> *mut Thread {
    let thread: *mut Thread;
    // SAFETY: the address of a thread-local variable in the initial-exec model, as the ABI says.
    unsafe {
        asm!("mov {0}, qword ptr fs:[0]", "add {0}, qword ptr [rip + atomvet_thread@GOTTPOFF]", out(reg) thread,
            options(nostack, readonly, pure));
    }
    thread
}

static NEXT_SERIAL: AtomicU32 = AtomicU32::new(0);

/// Indexes that were given back, as a stack of numbers above 0.
static FREE_INDEXES: crate::lock::Guarded<Indexes> =
    crate::lock::Guarded::new(Indexes { free: [0; INDEXES], count: 0, fresh: 1 });

struct Indexes {
    free: [u16; INDEXES],
    count: usize,
    /// The first index that was never given out. 0 is nobody's.
    fresh: usize,
}

/// Per index, the last key that was used.
static LAST_KEYS: [AtomicU64; INDEXES] = [const { AtomicU64::new(0) }; INDEXES];

/// A new number for a thread in the records.
pub(crate) fn new_serial() -> u32 {
    NEXT_SERIAL.fetch_add(1, Ordering::Relaxed)
}

/// The next numbers start over: this is a new process.
pub(crate) fn restart_serials() {
    NEXT_SERIAL.store(0, Ordering::Relaxed);
}

/// What a thread that is being created has to know about its creator.
#[derive(Clone, Copy)]
pub(crate) struct Heritage {
    pub(crate) serial: u32,
    pub(crate) parent_birth: u64,
    pub(crate) parent_last: u64,
}

impl Thread {
    /// The running thread as one that can record; nothing if it cannot.
    #[inline]
    pub(crate) fn recording() -> Option<&'static mut Thread> {
        // SAFETY: the memory is this thread's and lives as long as it does; no two references are used at the
        // same time but by signal handlers, which `busy` keeps out.
        let thread = unsafe { &mut *current() };
        if thread.state == RECORDS || thread.start() { Some(thread) } else { None }
    }

    /// Makes a thread known at its first event.
    #[cold]
    #[inline(never)]
    fn start(&mut self) -> bool {
        if self.state == SILENT || !process::is_recording() || self.busy != 0 {
            return false;
        }
        self.busy = 1;
        let heritage = Heritage { serial: new_serial(), parent_birth: 0, parent_last: 0 };
        let started = self.start_as(heritage);
        self.busy = 0;
        started
    }

    /// Makes a thread known under a number that was announced.
    pub(crate) fn start_as(&mut self, heritage: Heritage) -> bool {
        let frames = sys::reserve(FRAMES * size_of::<Frame>());
        let index = take_index();
        if frames.is_null() || index == 0 {
            self.state = SILENT;
            stream::count_lost_thread();
            return false;
        }
        self.frames = frames.cast();
        self.serial = heritage.serial;
        self.parent_birth = heritage.parent_birth;
        self.parent_last = heritage.parent_last;
        self.be_index(index);
        self.birth = self.key;
        self.seen = stream::seen_before(index as usize % COUNTERS);
        (self.stack_low, self.stack_high) = crate::interpose::threads::stack_bounds();
        self.state = RECORDS;
        self.plane = shadow::plane(index);
        crate::interpose::threads::say_farewell_later();
        true
    }

    fn be_index(&mut self, index: usize) {
        self.index = index as u32;
        self.newest = LAST_KEYS[index].load(Ordering::Relaxed).max((index as u64) << INDEX_SHIFT);
        self.new_period();
        self.received = self.key;
    }

    /// Another period begins.
    #[inline(always)]
    pub(crate) fn new_period(&mut self) {
        self.newest += STEP;
        self.key = self.newest;
        if self.newest >> INDEX_SHIFT != u64::from(self.index) {
            self.use_up_index();
        }
    }

    /// The thread has received something from another: what it recorded before covers nothing any more.
    #[inline(always)]
    pub(crate) fn receive(&mut self) {
        self.new_period();
        self.received = self.key;
    }

    /// All periods of an index are over: go on under another.
    #[cold]
    #[inline(never)]
    fn use_up_index(&mut self) {
        let index = take_index();
        if index == 0 {
            self.fall_silent();
            return;
        }
        self.be_index(index);
        self.birth = self.key;
        self.plane = shadow::plane(index);
        for i in 0..self.depth.min(FRAMES) {
            // SAFETY: the first `depth` frames are there.
            unsafe { (*self.frames.add(i)).key = self.key };
        }
    }

    fn fall_silent(&mut self) {
        self.state = SILENT;
        self.plane = 0;
        stream::count_lost_thread();
    }

    /// The thread is over: its index goes to another.
    pub(crate) fn end(&mut self) {
        let index = self.index as usize;
        self.state = SILENT;
        self.plane = 0;
        LAST_KEYS[index].store(self.newest, Ordering::Relaxed);
        sys::call(sys::MUNMAP, [self.frames as usize, FRAMES * size_of::<Frame>(), 0, 0, 0, 0]);
        self.frames = core::ptr::null_mut();
        let mut indexes = FREE_INDEXES.lock();
        let count = indexes.count;
        indexes.free[count] = index as u16;
        indexes.count += 1;
    }

    /// After a fork of the process: the same thread, alone, at the start of a new stream.
    pub(crate) fn start_over(&mut self) {
        self.announced = 0;
        self.ended = 0;
        self.serial = new_serial();
        (self.parent_birth, self.parent_last) = (0, 0);
        self.receive();
    }
}

fn take_index() -> usize {
    let mut indexes = FREE_INDEXES.lock();
    if indexes.count > 0 {
        indexes.count -= 1;
        return usize::from(indexes.free[indexes.count]);
    }
    if indexes.fresh == INDEXES {
        return 0;
    }
    indexes.fresh += 1;
    indexes.fresh - 1
}

/// Whether `record` is of the same thread as `key` and not of an earlier period. Indexes that share a plane
/// differ by at least 4, so that no other thread's record comes this close.
#[inline(always)]
pub(crate) fn is_since(record: u64, key: u64) -> bool {
    record.wrapping_sub(key) >> INDEX_SHIFT == 0
}

/// In a new process: nobody holds anything.
pub(crate) fn reset_locks() {
    FREE_INDEXES.reset();
}
