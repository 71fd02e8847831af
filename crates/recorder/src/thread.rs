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
//! key   = index of the thread (12 bits) | period (28) | flags and bytes (24), all zero
//! ```
//!
//! Numbers of periods never come back: an index that is given to a new thread counts on, and one that is used up
//! is retired.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::lock::Spin;
use crate::periods::Periods;
use crate::{handover, planes, process, stream, sys};

/// Everything the runtime keeps per thread. Lives as long as the process: other threads may look at it, and its next
/// owner is the next thread of the same index.
///
/// In lines of the cache: what every access changes, and nobody else looks at; what others look at and hardly ever changes; what
/// they look at when they act on behalf of the thread, in two; what they change each time; the rest.
#[repr(C, align(64))]
pub struct Thread {
    /// Records of at least this key are of the current period of the current block.
    pub key: u64,
    /// Accesses seen.
    pub seen: u64,
    /// Where the filter keeps this thread's reads, and its writes.
    pub plane: usize,
    /// Where it keeps its writes.
    pub write_plane: usize,
    /// Accesses are not to be recorded: hint reads, annotations.
    pub ignoring: u32,
    /// How many late accesses there are in `bare`.
    pub bare_count: u32,
    /// How many locks the thread holds.
    pub locks: u32,
    /// How many of them it took without a record.
    pub silent_count: u32,
    /// The runtime is at work in this thread: what a signal handler does now is not recorded.
    pub busy: u32,
    /// Whether a block of it was announced that may have no events.
    pub introduced: u32,
    /// How often the destructor of this thread was put off.
    pub farewells: u32,
    /// How many reasons the thread has to hold `on_behalf`.
    pub(crate) holds: u32,

    /// The first key of this thread: smaller ones were another's of the same index.
    pub birth: u64,
    /// The open blocks: `depth` of them, but no more than [`FRAMES`] are kept.
    pub frames: *mut Frame,
    /// Keys of the creating thread up to the creation: all of this comes before this thread.
    pub parent_birth: u64,
    /// The last such key.
    pub parent_last: u64,
    /// The thread's own stack.
    pub stack_low: usize,
    /// Its end.
    pub stack_high: usize,
    /// The number of this thread in the records.
    pub serial: u32,
    /// The number of this thread in the filter.
    pub index: u32,
    /// The next is the first of its line.
    _line: u64,

    /// The largest key in use.
    pub newest: u64,
    /// How many blocks are open.
    pub depth: usize,
    /// How many of the open blocks, from the outermost, have been announced in a record.
    pub announced: usize,
    /// What others have announced on behalf of this one: the blocks that were entered up to this key, of those that are open.
    pub announced_by_other: u64,
    /// The key of the period that began when the thread last received something.
    pub received: u64,
    /// Up to which period there is a mark for everything.
    pub marked: u64,
    /// Where the thread did last what the last mark that is missing will stand for.
    pub left_out_at: usize,
    /// How many periods in `unmarked`.
    pub unmarked_count: u32,
    /// How often it took a lock over and said in which block, until that was often enough.
    pub(crate) handovers: u32,

    /// Periods in which it gave locks back without a record and that have no mark yet, older ones first; no two with the same
    /// blocks open, but for the last.
    pub unmarked: [u64; UNMARKED],

    /// Held by the thread while it announces blocks or changes what it has yet to record, and by others who do that on its
    /// behalf.
    pub(crate) on_behalf: Spin,
    /// The same as `marked`, by the care of others: some of those in `unmarked`, or none that `marked` is not beyond.
    pub marked_by_other: AtomicU64,
    /// Nothing that the thread looks at in every block or lock is to be in the same line.
    _room: [u64; 6],

    /// The locks that it took without a record; see `handover.rs`.
    pub silent: [usize; SILENT],
    /// Per thread that this one comes after by a lock, the last key for which it does.
    pub behind: Periods,
    /// Late accesses that no lock protected, since the thread last received something; see `shadow.rs`.
    pub bare: [Bare; BARE],
    /// Per thread that this one comes after by some record, the last key for which it does.
    pub heard: Periods,
    /// Per thread whose words it met without a record to come after, the last key for which it did.
    pub met: Periods,
    /// Where the latest accesses were that have no record of their own, by address.
    pub recent: [(usize, usize); RECENT],
}

const _: () = {
    assert!(core::mem::offset_of!(Thread, birth) == 64);
    assert!(core::mem::offset_of!(Thread, newest) == 128);
    assert!(core::mem::offset_of!(Thread, unmarked) == 192);
    assert!(core::mem::offset_of!(Thread, on_behalf) == 320);
    assert!(core::mem::offset_of!(Thread, silent) == 384);
};

/// A late access.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Bare {
    /// What is accessed.
    pub address: usize,
    /// From where.
    pub place: usize,
    /// In which period.
    pub key: u64,
    /// How many bytes.
    pub size: u32,
    /// Whether they are written.
    pub writes: bool,
}

/// How many late accesses are kept to be recorded before something is received.
pub const BARE: usize = 8;
/// How many locks a thread may hold silently.
pub const SILENT: usize = 16;
/// How many marks may be missing.
pub const UNMARKED: usize = 16;
/// How many places of accesses without a record are remembered.
pub const RECENT: usize = 256;

/// An open block.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Frame {
    /// As in a record's `block`.
    pub block: u64,
    /// The stack pointer where it was entered.
    pub stack: usize,
    /// For an annotation, where it stands; for a function, where it returns to, if known.
    pub place: usize,
    /// The key to go back to when it ends.
    pub key: u64,
    /// The first key inside: no other block has the same.
    pub entered: u64,
    /// How many accesses were in `bare` when it was entered. As long as the others, so that it is read as it was written: a processor
    /// waits for what it has to put together.
    pub bare_count: u64,
}

/// How deep calls are followed; what is deeper belongs to the deepest.
pub const FRAMES: usize = 0xffff;

/// The step from one period to the next.
pub const STEP: u64 = 1 << 24;
/// Where the index is in a key.
pub const INDEX_SHIFT: u32 = 52;
/// The period before the first of an index. `crates/cli/tests/native_trial` compiles a runtime that is always about to run out.
#[expect(unexpected_cfgs, reason = "no crate of the workspace is compiled so")]
const FIRST_PERIOD: u64 = if cfg!(few_periods) { (1 << 28) - 6 } else { 0 };
const INDEXES: usize = 1 << 12;

global_asm!(
    ".section .tbss.atomvet_thread,\"awT\",@nobits",
    ".balign 16",
    ".globl atomvet_thread",
    ".hidden atomvet_thread",
    ".type atomvet_thread,@object",
    ".size atomvet_thread,16",
    "atomvet_thread:",
    ".zero 16",
    ".text",
);

/// The running thread's own words.
#[repr(C)]
struct Local {
    /// What is known about it; null before its first event and after its last.
    thread: *mut Thread,
    /// It was given up, or is over: nothing it does is recorded.
    silent: bool,
}

#[inline(always)]
fn local() -> *mut Local {
    let local: *mut Local;
    // SAFETY: the address of a thread-local variable in the initial-exec model, as the ABI says.
    unsafe {
        asm!("mov {0}, qword ptr fs:[0]", "add {0}, qword ptr [rip + atomvet_thread@GOTTPOFF]", out(reg) local,
            options(nostack, readonly, pure));
    }
    local
}

/// The running thread, if it has had an event.
#[inline(always)]
pub fn current() -> Option<&'static mut Thread> {
    let thread: *mut Thread;
    // SAFETY: as in `local`. What it points to lives for ever, and no two references to it are used at the same time
    // but by signal handlers, which `busy` keeps out.
    unsafe {
        asm!("mov {0}, qword ptr [rip + atomvet_thread@GOTTPOFF]", "mov {0}, qword ptr fs:[{0}]", out(reg) thread,
            options(nostack, readonly, pure));
        thread.as_mut()
    }
}

/// What is known about the thread of an index, now or once.
pub fn of_index(index: usize) -> *const Thread {
    THREADS[index].load(Ordering::Acquire)
}

/// The first key of the present or last owner of an index, if that has not gone on under another.
pub(crate) fn birth_of(index: usize) -> u64 {
    // SAFETY: what is known about threads lives for ever.
    unsafe { of_index(index).as_ref() }
        .map_or(u64::MAX, |thread| unsafe { (&raw const thread.birth).read_volatile() })
}

static THREADS: [AtomicPtr<Thread>; INDEXES] = [const { AtomicPtr::new(core::ptr::null_mut()) }; INDEXES];

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
pub fn new_serial() -> u32 {
    NEXT_SERIAL.fetch_add(1, Ordering::Relaxed)
}

/// The next numbers start over: this is a new process.
pub fn restart_serials() {
    NEXT_SERIAL.store(0, Ordering::Relaxed);
}

/// What a thread that is being created has to know about its creator.
#[derive(Clone, Copy)]
pub struct Heritage {
    /// The number that the new thread gets.
    pub serial: u32,
    /// The first key of the creator.
    parent_birth: u64,
    /// Its last one so far.
    parent_last: u64,
    /// What the creator comes after.
    heard: Periods,
}

impl Heritage {
    /// That of a thread whose creator is not known.
    pub const NONE: Heritage = Heritage { serial: 0, parent_birth: 0, parent_last: 0, heard: Periods::NONE };

    /// What `creator` leaves to a new thread.
    pub fn of(creator: &Thread) -> Heritage {
        let (parent_birth, parent_last) = (creator.birth, creator.newest + STEP);
        Heritage { serial: new_serial(), parent_birth, parent_last, heard: creator.heard }
    }
}

/// What threads that have ended leave to those who wait for their end, by serial number. One that nobody has asked for after
/// so many others is forgotten, which costs those who ask some needless records.
static ESTATES: crate::lock::Guarded<[Estate; 256]> =
    crate::lock::Guarded::new([const { Estate { serial: 0, birth: 0, last: 0, heard: Periods::NONE } }; 256]);

struct Estate {
    serial: u32,
    /// The first key of the thread.
    birth: u64,
    /// The last key of the thread; 0 in an entry that nobody has used.
    last: u64,
    /// What it came after.
    heard: Periods,
}

impl Thread {
    /// The running thread as one that can record; nothing if it cannot.
    #[inline]
    pub fn recording() -> Option<&'static mut Thread> {
        match current() {
            Some(thread) => Some(thread),
            None => Thread::start(),
        }
    }

    /// Makes a thread known at its first event.
    #[cold]
    #[inline(never)]
    fn start() -> Option<&'static mut Thread> {
        // SAFETY: the memory is this thread's.
        let local = unsafe { &mut *local() };
        if local.silent || !process::is_recording() {
            return None;
        }
        // What is called from here on may have hooks itself.
        local.silent = true;
        Thread::start_as(&Heritage { serial: new_serial(), ..Heritage::NONE })
    }

    /// Makes a thread known under a number that was announced.
    pub fn start_as(heritage: &Heritage) -> Option<&'static mut Thread> {
        // SAFETY: the memory is this thread's.
        let local = unsafe { &mut *local() };
        if let Some(thread) = current() {
            // A signal handler was faster: it is the same thread all the same.
            thread.inherit(heritage);
            return Some(thread);
        }
        local.silent = true;
        let index = take_index();
        let memory = if index == 0 { core::ptr::null_mut() } else { memory_of(index) };
        if memory.is_null() {
            stream::count_lost_thread();
            return None;
        }
        let (stack_low, stack_high) = (process::host().stack_bounds)();
        // SAFETY: it is this thread's alone now; that of a former owner is over.
        let thread = unsafe { &mut *memory };
        thread.inherit(heritage);
        (thread.depth, thread.announced, thread.announced_by_other) = (0, 0, 0);
        (thread.busy, thread.ignoring, thread.farewells) = (0, 0, 0);
        (thread.stack_low, thread.stack_high) = (stack_low, stack_high);
        (thread.locks, thread.bare_count, thread.introduced, thread.handovers) = (0, 0, 0, 0);
        (thread.silent_count, thread.unmarked_count) = (0, 0);
        thread.behind = Periods::NONE;
        thread.met = Periods::NONE;
        thread.be_index(index);
        thread.seen = stream::seen_before(index);
        local.thread = memory;
        local.silent = false;
        (process::host().thread_started)();
        Some(thread)
    }

    /// Accesses are ignored as long as this was asked for more often than taken back.
    pub fn ignore(&mut self, more: bool) {
        self.ignoring = if more { self.ignoring + 1 } else { self.ignoring.saturating_sub(1) };
    }

    /// Whether this library is at work in the thread.
    pub fn is_busy(&self) -> bool {
        self.busy != 0
    }

    /// Does something as this library's work; none if the thread is at such work already.
    pub fn at_work<T>(&mut self, something: impl FnOnce(&mut Thread) -> T) -> Option<T> {
        if self.is_busy() {
            return None;
        }
        self.busy = 1;
        let result = something(self);
        self.busy = 0;
        Some(result)
    }

    /// Keeps others from recording anything on behalf of this thread, until [`Thread::let_others`].
    #[inline]
    pub(crate) fn keep_others_out(&mut self) {
        if self.holds == 0 {
            self.on_behalf.lock();
        }
        self.holds += 1;
    }

    #[inline]
    pub(crate) fn let_others(&mut self) {
        self.holds -= 1;
        if self.holds == 0 {
            self.on_behalf.unlock();
        }
    }

    /// Whether a word of the filter, of any plane, or of a lock is this thread's.
    #[inline(always)]
    pub(crate) fn owns(&self, word: u64) -> bool {
        index_of(word) == self.index as usize && word >= self.birth
    }

    /// How many blocks have been announced, by this thread or on its behalf.
    pub(crate) fn announced_in_effect(&self) -> usize {
        self.announced_on_behalf(self.announced)
    }

    /// The same, given how many it has announced itself.
    pub(crate) fn announced_on_behalf(&self, announced: usize) -> usize {
        // SAFETY: another thread writes it.
        let until = unsafe { (&raw const self.announced_by_other).read_volatile() };
        let depth = self.depth.min(FRAMES);
        // Inner blocks were entered later: those that are open now and were entered by then are the outer ones.
        // SAFETY: the first `depth` frames are there.
        let is_announced = |&at: &usize| unsafe { (*self.frames.add(at)).entered } <= until;
        announced + (announced..depth).take_while(is_announced).count()
    }

    fn inherit(&mut self, heritage: &Heritage) {
        self.serial = heritage.serial;
        (self.parent_birth, self.parent_last) = (heritage.parent_birth, heritage.parent_last);
        self.heard = heritage.heard;
    }

    /// The thread has waited for the end of another: it comes after all that the other did, and came after.
    pub fn has_joined(&mut self, serial: u32) {
        let estates = ESTATES.lock();
        let estate = &estates[serial as usize % estates.len()];
        if estate.serial != serial || estate.last == 0 {
            return;
        }
        self.heard.note_all(&estate.heard);
        self.heard.note_life(estate.birth, estate.last);
    }

    fn be_index(&mut self, index: usize) {
        self.index = index as u32;
        planes::join_group(index);
        let first = ((index as u64) << INDEX_SHIFT) + FIRST_PERIOD * STEP;
        self.newest = LAST_KEYS[index].load(Ordering::Relaxed).max(first) + STEP;
        self.key = self.newest;
        self.received = self.key;
        self.birth = self.key;
        self.plane = planes::plane(index);
        self.write_plane = planes::plane_of_writes(index);
    }

    /// Another period begins.
    #[inline(always)]
    pub fn new_period(&mut self) {
        match self.next_key() {
            Some(key) => self.key = key,
            None => self.use_up_index(),
        }
    }

    /// The first key of another period. Nothing if no numbers are left: then the index is used up.
    #[inline(always)]
    pub(crate) fn next_key(&mut self) -> Option<u64> {
        let mut before = STEP;
        // One instruction: a signal handler comes before or after it, and no number is given out twice.
        // SAFETY: the thread's own field.
        unsafe {
            asm!("xadd qword ptr [{}], {}", in(reg) &raw mut self.newest, inout(reg) before, options(nostack));
        }
        let key = before + STEP;
        (key >> INDEX_SHIFT == before >> INDEX_SHIFT).then_some(key)
    }

    /// The thread has received something from another: what it recorded before covers nothing any more.
    #[inline(always)]
    pub fn receive(&mut self) {
        if self.unmarked_count > 0 {
            handover::mark(self);
        }
        self.new_period();
        self.received = self.key;
        self.bare_count = 0;
    }

    /// All periods of an index are over: go on under one that nobody has had, and that is larger than all that were given out.
    /// So the keys of a thread never become smaller: blocks that are open were entered earlier, and what they go back to
    /// is older than what the thread receives here.
    #[cold]
    #[inline(never)]
    pub(crate) fn use_up_index(&mut self) {
        let was_busy = core::mem::replace(&mut self.busy, 1);
        handover::mark(self);
        self.busy = was_busy;
        let index = FREE_INDEXES.lock().take_fresh();
        if index == 0 {
            // Everything is of one period from now on, which records too little, and that is counted.
            self.newest -= STEP;
            self.key = self.newest;
            stream::count_lost_thread();
            return;
        }
        let counter = stream::counter(self.index);
        counter.inspect(|counter| counter.store(self.seen, Ordering::Relaxed));
        self.be_index(index);
        self.seen = stream::seen_before(index);
        self.bare_count = 0;
        THREADS[index].store(self, Ordering::Release);
    }

    /// The thread is over: its index goes to another.
    pub fn end(&mut self) {
        handover::mark(self);
        // SAFETY: the memory is this thread's.
        let local = unsafe { &mut *local() };
        local.silent = true;
        local.thread = core::ptr::null_mut();
        let index = self.index as usize;
        LAST_KEYS[index].store(self.newest, Ordering::Relaxed);
        let mut estates = ESTATES.lock();
        let place = self.serial as usize % estates.len();
        estates[place] =
            Estate { serial: self.serial, birth: self.birth, last: self.newest, heard: self.heard };
        drop(estates);
        self.received = u64::MAX;
        if is_nearly_used_up(self.newest) {
            return;
        }
        let mut indexes = FREE_INDEXES.lock();
        let count = indexes.count;
        indexes.free[count] = index as u16;
        indexes.count += 1;
    }

    /// After a fork of the process: the same thread, alone, at the start of a new stream.
    pub fn start_over(&mut self) {
        (self.announced, self.announced_by_other, self.unmarked_count) = (0, 0, 0);
        self.on_behalf.reset();
        self.holds = 0;
        self.serial = new_serial();
        self.inherit(&Heritage { serial: self.serial, ..Heritage::NONE });
        self.receive();
    }
}

/// The memory of the threads of an index, which stays for ever.
fn memory_of(index: usize) -> *mut Thread {
    let there = THREADS[index].load(Ordering::Acquire);
    if !there.is_null() {
        return there;
    }
    let memory: *mut Thread = sys::reserve(size_of::<Thread>()).cast();
    let frames: *mut Frame = sys::reserve(FRAMES * size_of::<Frame>()).cast();
    if memory.is_null() || frames.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: fresh memory of the right size, which nobody else knows.
    unsafe { (*memory).frames = frames };
    THREADS[index].store(memory, Ordering::Release);
    memory
}

fn take_index() -> usize {
    let mut indexes = FREE_INDEXES.lock();
    if indexes.count > 0 {
        indexes.count -= 1;
        return usize::from(indexes.free[indexes.count]);
    }
    indexes.take_fresh()
}

impl Indexes {
    /// An index that was never given out; 0 if there is none.
    fn take_fresh(&mut self) -> usize {
        if self.fresh == INDEXES {
            return 0;
        }
        self.fresh += 1;
        self.fresh - 1
    }
}

/// Whether `record`, of the plane of the thread of `key`, is of that thread and not of an earlier period. Indexes that share a plane
/// differ by at least 4, so that no other thread's record comes this close. In another plane one might.
#[inline(always)]
pub fn is_since(record: u64, key: u64) -> bool {
    record.wrapping_sub(key) >> INDEX_SHIFT == 0
}

/// Whether an index has had more than half of its periods: it goes to no other thread.
fn is_nearly_used_up(key: u64) -> bool {
    key >> (INDEX_SHIFT - 1) & 1 != 0
}

/// In a new process: there is no other thread that anything could be recorded for.
pub fn forget_others() {
    let own = current().map_or(0, |thread| thread.index as usize);
    for (_, thread) in THREADS.iter().enumerate().filter(|&(index, _)| index != own) {
        thread.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
    if let Some(thread) = current() {
        thread.on_behalf.reset();
    }
}

/// In a new process: nobody holds anything.
pub fn reset_locks() {
    FREE_INDEXES.reset();
    ESTATES.reset();
}

/// Whose a key is.
#[inline(always)]
pub fn index_of(key: u64) -> usize {
    (key >> INDEX_SHIFT) as usize
}
