//! The running thread, in thread-local memory that costs one instruction to reach.
//!
//! `thread_local!` in a shared library calls a function per access, 1.7 ns; the initial-exec model, which is right for a
//! library that is there from the start, needs no call. Stable Rust has no switch for it, so the variable is defined in
//! assembler.
//!
//! `fast` is what the hooks for plain accesses look at. It is null while accesses need nothing: before the first thread is
//! started (whatever was written then happens before it; a recording has it all the same), while the program asks to ignore them, and when the thread is over.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use atomvet_live::epoch::Epoch;
use atomvet_live::table::Counter;
use atomvet_live::thread::Thread as Checked;

use crate::{interpose, process, recording, stream};

/// What this library keeps per thread.
#[repr(C)]
pub(crate) struct Thread {
    /// The thread for the fast paths; null if accesses need nothing.
    fast: *const Checked,
    /// The thread for everything else; null before its first event and after its last.
    checked: *const Checked,
    pub(crate) stack_low: usize,
    pub(crate) stack_high: usize,
    /// This library is at work in the thread: what a signal handler does now is lost, and counted.
    pub(crate) busy: u32,
    /// Accesses are not to be looked at: hint reads, annotations.
    pub(crate) ignoring: u32,
    /// How often the destructor of this thread was put off.
    pub(crate) farewells: u32,
    /// Its number in records, which no other thread of the process ever has.
    pub(crate) serial: u32,
    /// It could not be followed, or is over.
    is_over: bool,
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
fn local() -> &'static mut Thread {
    let local: *mut Thread;
    // SAFETY: the address of a thread-local variable in the initial-exec model, as the ABI says. It is the running thread's
    // alone; its signal handlers keep off while `busy` is set.
    unsafe {
        asm!("mov {0}, qword ptr fs:[0]", "add {0}, qword ptr [rip + atomvet_live_thread@GOTTPOFF]", out(reg) local,
            options(nostack, readonly, pure));
        &mut *local
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
pub(crate) fn current() -> Option<&'static mut Thread> {
    Some(local()).filter(|thread| !thread.checked.is_null())
}

/// The running thread, if its accesses are looked at.
#[inline(always)]
pub(crate) fn watched() -> Option<&'static mut Thread> {
    Some(local()).filter(|thread| !thread.fast.is_null())
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
        Child { checked, serial: SERIALS.fetch_add(1, Ordering::Relaxed) }
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
    pub(crate) fn recording() -> Option<&'static mut Thread> {
        let thread = local();
        if thread.checked.is_null() { thread.attach(None) } else { Some(thread) }
    }

    /// For the checker.
    #[inline(always)]
    pub(crate) fn checked(&self) -> &'static Checked {
        // SAFETY: not null in a thread that `current`, `watched` or `recording` returned; it lives for ever.
        unsafe { &*self.checked }
    }

    /// Follows the thread from now on: as the child that its creator announced, or as one of which nothing is known.
    #[cold]
    #[inline(never)]
    fn attach(&'static mut self, child: Option<Child>) -> Option<&'static mut Thread> {
        if self.is_over || !process::is_recording() {
            return None;
        }
        // What is called from here on may have hooks itself.
        self.is_over = true;
        let Child { checked, serial } = child.unwrap_or_else(|| Child::of(None));
        if checked.is_null() {
            stream::count_lost_thread();
            return None;
        }
        stream::count(Counter::Threads);
        (self.stack_low, self.stack_high) = interpose::threads::stack_bounds();
        (self.checked, self.serial) = (checked, serial);
        self.is_over = false;
        self.look_at_accesses();
        interpose::threads::say_farewell_later();
        Some(self)
    }

    /// In a new thread, before anything else.
    pub(crate) fn begin(child: Child) -> Option<&'static mut Thread> {
        local().attach(Some(child))
    }

    /// A thread that this one is about to start.
    pub(crate) fn start_child(&mut self) -> Child {
        if !MANY.swap(true, Ordering::Relaxed) {
            self.look_at_accesses();
        }
        Child::of(Some(self.checked()))
    }

    fn look_at_accesses(&mut self) {
        let wanted = self.ignoring == 0 && (MANY.load(Ordering::Relaxed) || recording::is_on());
        self.fast = if wanted { recording::seen_by_fast_paths(self.checked()) } else { core::ptr::null() };
    }

    /// Accesses are ignored, or looked at again.
    pub(crate) fn ignore(&mut self, ignoring: u32) {
        self.ignoring = ignoring;
        self.look_at_accesses();
    }

    /// The thread is over: its last epoch.
    pub(crate) fn end(&mut self) -> Option<Epoch> {
        let last = process::engine().map(|engine| engine.finish(self.checked()));
        self.is_over = true;
        (self.fast, self.checked) = (core::ptr::null(), core::ptr::null());
        last
    }

    /// In a new process: nothing is known of this thread.
    pub(crate) fn start_over(&mut self) {
        (self.fast, self.checked, self.busy) = (core::ptr::null(), core::ptr::null(), 0);
    }
}

/// In a new process: there is one thread.
pub(crate) fn forget_others() {
    MANY.store(false, Ordering::Relaxed);
    SERIALS.store(0, Ordering::Relaxed);
    local().start_over();
}
