//! What programs tell ThreadSanitizer about their own synchronisation, and the rest of its interface.

use core::arch::naked_asm;
use core::ffi::{c_char, c_int, c_void};

use super::synchronise;
use crate::ring::Kind;
use crate::shadow::{self, Access};
use crate::thread::Thread;

const TRY_LOCK_FAILED: u32 = 1 << 5;
const READ_LOCK: u32 = 1 << 3;

#[unsafe(no_mangle)]
extern "C" fn __tsan_acquire(object: usize) {
    synchronise(Kind::Observe, object, 0);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_release(object: usize) {
    synchronise(Kind::Publish, object, 0);
}

fn ignore(more: bool) {
    if let Some(thread) = Thread::recording() {
        thread.ignore(more);
    }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_create(_lock: usize, _flags: u32) {}

#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_destroy(_lock: usize, _flags: u32) {}

/// What a lock does to its own memory between these two is no data.
#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_pre_lock(_lock: usize, _flags: u32) {
    ignore(true);
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn __tsan_mutex_post_lock(lock: usize, flags: u32, recursion: c_int) {
    naked_asm!("mov rcx, [rsp]", "jmp {}", sym post_lock)
}

extern "C" fn post_lock(lock: usize, flags: u32, _recursion: c_int, place: usize) {
    ignore(false);
    if flags & TRY_LOCK_FAILED == 0 {
        let kind = if flags & READ_LOCK == 0 { Kind::Acquire } else { Kind::AcquireShared };
        synchronise(kind, lock, place);
    }
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn __tsan_mutex_pre_unlock(lock: usize, flags: u32) -> c_int {
    naked_asm!("mov rdx, [rsp]", "jmp {}", sym pre_unlock)
}

extern "C" fn pre_unlock(lock: usize, _flags: u32, place: usize) -> c_int {
    synchronise(Kind::Release, lock, place);
    ignore(true);
    0
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_post_unlock(_lock: usize, _flags: u32) {
    ignore(false);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_pre_signal(_lock: usize, _flags: u32) {
    ignore(true);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_post_signal(_lock: usize, _flags: u32) {
    ignore(false);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_pre_divert(_lock: usize, _flags: u32) {
    ignore(false);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_post_divert(_lock: usize, _flags: u32) {
    ignore(true);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_ignore_thread_begin() {
    ignore(true);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_ignore_thread_end() {
    ignore(false);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_external_read(object: usize, caller: usize, _tag: *mut c_void) {
    shadow::access(Access::Read, object, 1, caller);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_external_write(object: usize, caller: usize, _tag: *mut c_void) {
    shadow::access(Access::Write, object, 1, caller);
}

/// The dynamic annotations of older programs: file, line and an object.
macro_rules! annotations {
    ($($function:ident: $kind:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $function(_file: *const c_char, _line: c_int, object: usize) {
                synchronise(Kind::$kind, object, 0);
            }
        )*
    };
}

annotations! {
    AnnotateHappensBefore: Publish;
    AnnotateHappensAfter: Observe;
}

/// Locks that say themselves when they are held.
#[unsafe(no_mangle)]
extern "C" fn AnnotateRWLockAcquired(_file: *const c_char, _line: c_int, lock: usize, exclusive: usize) {
    let kind = if exclusive == 0 { Kind::AcquireShared } else { Kind::Acquire };
    synchronise(kind, lock, 0);
}

#[unsafe(no_mangle)]
extern "C" fn AnnotateRWLockReleased(_file: *const c_char, _line: c_int, lock: usize, _exclusive: usize) {
    synchronise(Kind::Release, lock, 0);
}

/// Annotations that switch recording off and on for the running thread.
macro_rules! switches {
    ($($function:ident: $more:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $function(_file: *const c_char, _line: c_int) {
                ignore($more);
            }
        )*
    };
}

switches! {
    AnnotateIgnoreReadsBegin: true;
    AnnotateIgnoreReadsEnd: false;
    AnnotateIgnoreWritesBegin: true;
    AnnotateIgnoreWritesEnd: false;
    AnnotateIgnoreSyncBegin: true;
    AnnotateIgnoreSyncEnd: false;
}

/// Functions of the interface that have nothing to do here.
macro_rules! without_effect {
    ($($function:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $function() -> usize {
                0
            }
        )*
    };
}

without_effect! {
    __tsan_flush_memory;
    __tsan_get_current_fiber;
    __tsan_create_fiber;
    __tsan_destroy_fiber;
    __tsan_switch_to_fiber;
    __tsan_set_fiber_name;
    __tsan_external_register_tag;
    __tsan_external_register_header;
    __tsan_external_assign_tag;
    __tsan_testonly_shadow_stack_current_size;
    __tsan_get_current_report;
    __tsan_get_report_data;
    __tsan_get_report_tag;
    __tsan_get_report_stack;
    __tsan_get_report_mop;
    __tsan_get_report_loc;
    __tsan_get_report_loc_object_type;
    __tsan_get_report_mutex;
    __tsan_get_report_thread;
    __tsan_get_report_unique_tid;
    __tsan_locate_address;
    __tsan_get_alloc_stack;
    AnnotateRWLockCreate;
    AnnotateRWLockCreateStatic;
    AnnotateRWLockDestroy;
    AnnotateBenignRace;
    AnnotateBenignRaceSized;
    AnnotateCondVarSignal;
    AnnotateCondVarSignalAll;
    AnnotateCondVarWait;
    AnnotateEnableRaceDetection;
    AnnotateExpectRace;
    AnnotateFlushExpectedRaces;
    AnnotateFlushState;
    AnnotateMutexIsNotPHB;
    AnnotateMutexIsUsedAsCondVar;
    AnnotateNewMemory;
    AnnotateNoOp;
    AnnotatePCQCreate;
    AnnotatePCQDestroy;
    AnnotatePCQGet;
    AnnotatePCQPut;
    AnnotatePublishMemoryRange;
    AnnotateThreadName;
    AnnotateTraceMemory;
    AnnotateUnpublishMemoryRange;
    RunningOnValgrind;
    ValgrindSlowdown;
    __sanitizer_set_death_callback;
    __sanitizer_set_report_path;
    __sanitizer_set_report_fd;
    __sanitizer_print_stack_trace;
}
