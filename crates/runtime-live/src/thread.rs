//! The running thread, in thread-local memory that costs one instruction to reach.
//!
//! `thread_local!` in a shared library calls a function per access, 1.7 ns; the initial-exec model, which is right for a
//! library that is there from the start, needs no call. Stable Rust has no switch for it, so the variable is defined in
//! assembler.
//!
//! `fast` is what the hooks for plain accesses look at. It is null while accesses need nothing: before the first thread is
//! started (whatever was written then happens before it; a recording has it all the same), while the program asks to ignore them, and when the thread is over.

use core::arch::{asm, global_asm};
use core::ops::Range;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, compiler_fence};

use atomvet_live::epoch::Epoch;
use atomvet_live::table::Counter;
use atomvet_live::thread::Thread as Checked;

use crate::{interpose, process, recording, stream};

/// What this library keeps per thread.
#[repr(C)]
pub(crate) struct Thread {
    /// The thread for the fast paths; null if accesses need nothing.
    fast: AtomicPtr<Checked>,
    /// The thread for everything else; null before its first event and after its last.
    checked: AtomicPtr<Checked>,
    stack_low: AtomicUsize,
    stack_high: AtomicUsize,
    /// This library is at work in the thread: what a signal handler does now is lost, and counted.
    busy: AtomicBool,
    /// It could not be followed, or is over.
    is_over: AtomicBool,
    /// How often somebody asked not to look at accesses: hint reads, annotations.
    ignoring: AtomicU32,
    /// How often the destructor of this thread was put off.
    farewells: AtomicU32,
    /// Its number in records, which no other thread of the process ever has.
    serial: AtomicU32,
}

global_asm!(
    ".section .tbss.atomvet_live_thread,\"awT\",@nobits",
    ".balign 64",
    ".globl atomvet_live_thread",
    ".hidden atomvet_live_thread",
    ".type atomvet_live_thread,@object",
    ".size atomvet_live_thread,64",
    "atomvet_live_thread:",
    ".zero 64",
    ".text",
);

const _: () = assert!(size_of::<Thread>() <= 64);

/// Whether a second thread was ever started.
static MANY: AtomicBool = AtomicBool::new(false);
/// The next thread's number in records.
static SERIALS: AtomicU32 = AtomicU32::new(0);

#[inline(always)]
fn local() -> &'static Thread {
    let local: *const Thread;
    // SAFETY: the address of a thread-local variable in the initial-exec model, as the ABI says: zeroed, which is a value of
    // atomics and null pointers, and there as long as the thread runs, which keeps no reference to it.
    unsafe {
        asm!("mov {0}, qword ptr fs:[0]", "add {0}, qword ptr [rip + atomvet_live_thread@GOTTPOFF]", out(reg) local,
            options(nostack, readonly, pure));
        &*local
    }
}

/// Where [`Thread`] is in the thread-local memory of any thread.
pub(crate) fn offset() -> usize {
    let offset;
    // SAFETY: reads an entry of the table that the dynamic linker has filled.
    unsafe {
        asm!("mov {}, qword ptr [rip + atomvet_live_thread@GOTTPOFF]", out(reg) offset, options(nostack, readonly, pure));
    }
    offset
}

/// The running thread, if it has had an event.
#[inline(always)]
pub(crate) fn current() -> Option<&'static Thread> {
    Some(local()).filter(|thread| !thread.checked.load(Relaxed).is_null())
}

/// The running thread, if its accesses are looked at.
#[inline(always)]
pub(crate) fn watched() -> Option<&'static Thread> {
    Some(local()).filter(|thread| !thread.fast.load(Relaxed).is_null())
}

/// A thread that is about to be started, or has ended.
#[derive(Clone, Copy)]
pub(crate) struct Child {
    checked: *const Checked,
    /// Its number in records.
    pub(crate) serial: u32,
}

// SAFETY: the checker's threads live for ever and may be shared.
unsafe impl Send for Child {}

impl Child {
    /// None.
    pub(crate) const NONE: Child = Child { checked: core::ptr::null(), serial: 0 };

    /// A new one, created by this one if that is known.
    fn of(parent: Option<&Checked>) -> Child {
        let checked = process::engine().and_then(|engine| engine.start(parent));
        let checked = checked.map_or(core::ptr::null(), |thread| &raw const *thread);
        Child { checked, serial: SERIALS.fetch_add(1, Relaxed) }
    }

    /// It was not started after all.
    pub(crate) fn is_not_started(self) {
        // SAFETY: null, or a thread of the checker, which lives for ever.
        if let (Some(engine), Some(child)) = (process::engine(), unsafe { self.checked.as_ref() }) {
            engine.finish(child);
        }
    }
}

impl Thread {
    /// The running thread as one that is followed; nothing if it is not.
    #[inline]
    pub(crate) fn recording() -> Option<&'static Thread> {
        let thread = local();
        if thread.checked.load(Relaxed).is_null() { thread.attach(None) } else { Some(thread) }
    }

    /// For the checker.
    #[inline(always)]
    pub(crate) fn checked(&self) -> &'static Checked {
        // SAFETY: not null in a thread that `current`, `watched` or `recording` returned; it lives for ever.
        unsafe { &*self.checked.load(Relaxed) }
    }

    /// Follows the thread from now on: as the child that its creator announced, or as one of which nothing is known.
    #[cold]
    #[inline(never)]
    fn attach(&'static self, child: Option<Child>) -> Option<&'static Thread> {
        if self.is_over.load(Relaxed) || !process::is_recording() {
            return None;
        }
        // What is called from here on may have hooks itself.
        self.is_over.store(true, Relaxed);
        let Child { checked, serial } = child.unwrap_or_else(|| Child::of(None));
        if checked.is_null() {
            stream::count_lost_thread();
            return None;
        }
        stream::count(Counter::Threads);
        let (low, high) = interpose::threads::stack_bounds();
        self.stack_low.store(low, Relaxed);
        self.stack_high.store(high, Relaxed);
        self.serial.store(serial, Relaxed);
        self.checked.store(checked.cast_mut(), Relaxed);
        self.is_over.store(false, Relaxed);
        self.look_at_accesses();
        interpose::threads::say_farewell_later();
        Some(self)
    }

    /// In a new thread, before anything else.
    pub(crate) fn begin(child: Child) -> Option<&'static Thread> {
        local().attach(Some(child))
    }

    /// A thread that this one is about to start.
    pub(crate) fn start_child(&self) -> Child {
        if !MANY.swap(true, Relaxed) {
            self.look_at_accesses();
        }
        Child::of(Some(self.checked()))
    }

    fn look_at_accesses(&self) {
        let wanted = self.ignoring.load(Relaxed) == 0 && (MANY.load(Relaxed) || recording::is_on());
        let fast = if wanted { recording::seen_by_fast_paths(self.checked()) } else { core::ptr::null() };
        self.fast.store(fast.cast_mut(), Relaxed);
    }

    /// Accesses are ignored as long as this was asked for more often than taken back.
    pub(crate) fn ignore(&self, more: bool) {
        let ignoring = self.ignoring.load(Relaxed);
        self.ignoring.store(if more { ignoring + 1 } else { ignoring.saturating_sub(1) }, Relaxed);
        self.look_at_accesses();
    }

    /// Whether this library is at work in the thread.
    #[inline(always)]
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Relaxed)
    }

    /// Does something as this library's work, which the thread's signal handlers leave alone; none if this is such a handler.
    #[inline(always)]
    pub(crate) fn at_work<T>(&self, something: impl FnOnce(&Thread) -> T) -> Option<T> {
        if self.is_busy() { None } else { Some(self.work(something)) }
    }

    /// The same in a thread that is known not to be at work.
    #[inline(always)]
    pub(crate) fn work<T>(&self, something: impl FnOnce(&Thread) -> T) -> T {
        self.busy.store(true, Relaxed);
        compiler_fence(SeqCst);
        let result = something(self);
        compiler_fence(SeqCst);
        self.busy.store(false, Relaxed);
        result
    }

    /// A signal handler has left for a place before this library's work began: that is not done any more.
    pub(crate) fn abandon_work(&self) {
        self.busy.store(false, Relaxed);
    }

    /// Its number in records.
    #[inline(always)]
    pub(crate) fn serial(&self) -> u32 {
        self.serial.load(Relaxed)
    }

    /// Its own stack.
    pub(crate) fn stack(&self) -> Range<usize> {
        self.stack_low.load(Relaxed)..self.stack_high.load(Relaxed)
    }

    /// Its destructor was called: how often so far.
    pub(crate) fn count_farewell(&self) -> u32 {
        let farewells = self.farewells.load(Relaxed) + 1;
        self.farewells.store(farewells, Relaxed);
        farewells
    }

    /// The thread is over: its last epoch.
    pub(crate) fn end(&self) -> Option<Epoch> {
        let last = process::engine().map(|engine| engine.finish(self.checked()));
        self.is_over.store(true, Relaxed);
        self.forget();
        last
    }

    fn forget(&self) {
        self.fast.store(core::ptr::null_mut(), Relaxed);
        self.checked.store(core::ptr::null_mut(), Relaxed);
    }
}

/// Whether this library is at work in the running thread.
pub(crate) fn is_at_work() -> bool {
    local().is_busy()
}

/// In a new process: there is one thread, of which nothing is known.
pub(crate) fn forget_others() {
    MANY.store(false, Relaxed);
    SERIALS.store(0, Relaxed);
    local().forget();
    local().abandon_work();
}
