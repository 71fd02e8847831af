//! The object that `atomvet cc` links into every program and shared library: the hooks that compilers call.
//!
//! What was built by `atomvet cc` runs anywhere the plain build would, whether or not the runtime is there. So nothing depends
//! on the runtime's library. Every hook jumps through a slot. A slot holds what the hook does alone: an atomic
//! operation is performed, everything else returns at once. Under `atomvet run` the runtime is preloaded; [`init`], which runs
//! before the constructors of the program, finds it and has it fill the slots (`attach.rs`).
//!
//! ```text
//! call __tsan_write_range ──► jmp [slot] ──► ret                       alone
//!                                      └──► the runtime's hook         under `atomvet run`
//! call __tsan_write4 ──► [thread slot] = 0 ──► jmp [slot]              alone, or under a runtime with another layout
//!                                      └──► one load, one compare      under `atomvet run` (`hooks/plain.rs`)
//! ```
//!
//! Alone, a hook costs a call, a jump and a return. All hooks are hidden, so that programs and libraries keep to their own, and
//! weak, so that a program that defines one itself keeps that.
//!
//! Compiled in three ways by `crates/cli/build.rs`:
//!
//! | `cfg` | linked into | |
//! |---|---|---|
//! | `program` | programs | |
//! | `shared` | shared libraries | |
//! | `alone` | programs with `-static` | no runtime can be loaded there, so none is looked for: no fast paths |
#![no_std]

#[cfg(not(alone))]
#[path = "../hooks/plain.rs"]
mod plain;
#[path = "../../../runtime/src/hooks/wide.rs"]
mod wide;

mod atomic;

#[cfg(not(alone))]
use core::arch::asm;
use core::arch::global_asm;
#[cfg(not(alone))]
use core::ffi::{c_char, c_void};
#[cfg(not(alone))]
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// A slot, and the name under which the runtime knows its hook.
#[cfg(not(alone))]
#[repr(C)]
struct Slot {
    function: AtomicPtr<c_void>,
    name: *const c_char,
}

/// The name of a slot's hook for the runtime, and what the slot holds at first.
macro_rules! slot {
    ($label:expr, $name:expr, $alone:literal $(, $body:path)?) => {
        core::arch::global_asm!(
            ".pushsection .rodata.atomvet_names,\"a\",@progbits",
            "7:",
            concat!(".asciz \"", $name, "\""),
            ".popsection",
            ".pushsection atomvet_slots,\"aw\",@progbits",
            concat!($label, ":"),
            concat!(".quad ", $alone),
            ".quad 7b",
            ".popsection",
            $(sym $body)?
        );
    };
}
use slot;

/// A hook that jumps through its slot. Alone it does what the function says, or nothing.
macro_rules! hook {
    ($hook:expr $(, $body:path)?) => {
        core::arch::global_asm!(
            ".pushsection .text.atomvet_hooks,\"ax\",@progbits",
            ".p2align 4",
            concat!(".weak ", $hook),
            concat!(".hidden ", $hook),
            concat!(".type ", $hook, ",@function"),
            concat!($hook, ":"),
            concat!("jmp qword ptr [rip + ", $hook, "_slot]"),
            concat!(".size ", $hook, ",.-", $hook),
            ".popsection",
        );
        $crate::hook!(@slot $hook $(, $body)?);
    };
    (@slot $hook:expr) => {
        $crate::slot!(concat!($hook, "_slot"), $hook, "atomvet_nothing");
    };
    (@slot $hook:expr, $body:path) => {
        $crate::slot!(concat!($hook, "_slot"), $hook, "{}", $body);
    };
}
use hook;

global_asm!(
    // The linker knows where a section of such a name begins and ends; in every module by itself.
    ".hidden __start_atomvet_slots",
    ".hidden __stop_atomvet_slots",
    // What a hook returns that has something to return: 0, of any kind.
    ".pushsection .text.atomvet_hooks,\"ax\",@progbits",
    ".p2align 4",
    "atomvet_nothing:",
    "xor eax, eax",
    "pxor xmm0, xmm0",
    "ret",
    ".popsection",
    // Survives `strip`: what has this note has hooks.
    ".pushsection .note.atomvet,\"a\",@note",
    ".p2align 2",
    ".long 8, 4, 1",
    ".asciz \"atomvet\"",
    ".long 1",
    ".popsection",
);

/// Hooks that do nothing alone.
macro_rules! silent_hooks {
    ($($hook:ident;)*) => {
        $(hook!(stringify!($hook));)*
    };
}

silent_hooks! {
    AnnotateBenignRace;
    AnnotateBenignRaceSized;
    AnnotateCondVarSignal;
    AnnotateCondVarSignalAll;
    AnnotateCondVarWait;
    AnnotateEnableRaceDetection;
    AnnotateExpectRace;
    AnnotateFlushExpectedRaces;
    AnnotateFlushState;
    AnnotateHappensAfter;
    AnnotateHappensBefore;
    AnnotateIgnoreReadsBegin;
    AnnotateIgnoreReadsEnd;
    AnnotateIgnoreSyncBegin;
    AnnotateIgnoreSyncEnd;
    AnnotateIgnoreWritesBegin;
    AnnotateIgnoreWritesEnd;
    AnnotateMutexIsNotPHB;
    AnnotateMutexIsUsedAsCondVar;
    AnnotateNewMemory;
    AnnotateNoOp;
    AnnotatePCQCreate;
    AnnotatePCQDestroy;
    AnnotatePCQGet;
    AnnotatePCQPut;
    AnnotatePublishMemoryRange;
    AnnotateRWLockAcquired;
    AnnotateRWLockCreate;
    AnnotateRWLockCreateStatic;
    AnnotateRWLockDestroy;
    AnnotateRWLockReleased;
    AnnotateThreadName;
    AnnotateTraceMemory;
    AnnotateUnpublishMemoryRange;
    RunningOnValgrind;
    ValgrindSlowdown;
    __cyg_profile_func_enter;
    __cyg_profile_func_exit;
    __sanitizer_print_stack_trace;
    __sanitizer_set_death_callback;
    __sanitizer_set_report_fd;
    __sanitizer_set_report_path;
    __tsan_acquire;
    __tsan_create_fiber;
    __tsan_destroy_fiber;
    __tsan_external_assign_tag;
    __tsan_external_read;
    __tsan_external_register_header;
    __tsan_external_register_tag;
    __tsan_external_write;
    __tsan_flush_memory;
    __tsan_func_entry;
    __tsan_func_exit;
    __tsan_get_alloc_stack;
    __tsan_get_current_fiber;
    __tsan_get_current_report;
    __tsan_get_report_data;
    __tsan_get_report_loc;
    __tsan_get_report_loc_object_type;
    __tsan_get_report_mop;
    __tsan_get_report_mutex;
    __tsan_get_report_stack;
    __tsan_get_report_tag;
    __tsan_get_report_thread;
    __tsan_get_report_unique_tid;
    __tsan_ignore_thread_begin;
    __tsan_ignore_thread_end;
    __tsan_locate_address;
    __tsan_mutex_create;
    __tsan_mutex_destroy;
    __tsan_mutex_post_divert;
    __tsan_mutex_post_lock;
    __tsan_mutex_post_signal;
    __tsan_mutex_post_unlock;
    __tsan_mutex_pre_divert;
    __tsan_mutex_pre_lock;
    __tsan_mutex_pre_signal;
    __tsan_mutex_pre_unlock;
    __tsan_read16;
    __tsan_read16_pc;
    __tsan_read1_pc;
    __tsan_read2_pc;
    __tsan_read4_pc;
    __tsan_read8_pc;
    __tsan_read_range;
    __tsan_read_range_pc;
    __tsan_read_write1;
    __tsan_read_write16;
    __tsan_read_write2;
    __tsan_read_write4;
    __tsan_read_write8;
    __tsan_release;
    __tsan_set_fiber_name;
    __tsan_switch_to_fiber;
    __tsan_testonly_shadow_stack_current_size;
    __tsan_unaligned_read1;
    __tsan_unaligned_read16;
    __tsan_unaligned_read2;
    __tsan_unaligned_read4;
    __tsan_unaligned_read8;
    __tsan_unaligned_read_write1;
    __tsan_unaligned_read_write16;
    __tsan_unaligned_read_write2;
    __tsan_unaligned_read_write4;
    __tsan_unaligned_read_write8;
    __tsan_unaligned_volatile_read1;
    __tsan_unaligned_volatile_read16;
    __tsan_unaligned_volatile_read2;
    __tsan_unaligned_volatile_read4;
    __tsan_unaligned_volatile_read8;
    __tsan_unaligned_volatile_write1;
    __tsan_unaligned_volatile_write16;
    __tsan_unaligned_volatile_write2;
    __tsan_unaligned_volatile_write4;
    __tsan_unaligned_volatile_write8;
    __tsan_unaligned_write1;
    __tsan_unaligned_write16;
    __tsan_unaligned_write2;
    __tsan_unaligned_write4;
    __tsan_unaligned_write8;
    __tsan_volatile_read16;
    __tsan_volatile_write16;
    __tsan_vptr_update;
    __tsan_write16;
    __tsan_write16_pc;
    __tsan_write1_pc;
    __tsan_write2_pc;
    __tsan_write4_pc;
    __tsan_write8_pc;
    __tsan_write_range;
    __tsan_write_range_pc;
    atomvet_begin;
    atomvet_end;
    atomvet_hint_begin;
    atomvet_hint_end;
}

#[cfg(alone)]
silent_hooks! {
    __tsan_read1;
    __tsan_read2;
    __tsan_read4;
    __tsan_read8;
    __tsan_write1;
    __tsan_write2;
    __tsan_write4;
    __tsan_write8;
    __tsan_volatile_read1;
    __tsan_volatile_read2;
    __tsan_volatile_read4;
    __tsan_volatile_read8;
    __tsan_volatile_write1;
    __tsan_volatile_write2;
    __tsan_volatile_write4;
    __tsan_volatile_write8;
    __tsan_vptr_read;
}

/// Where the hooks of `plain.rs` go on.
#[cfg(not(alone))]
macro_rules! slow_paths {
    ($($rest:ident)*) => {
        $(slot!(concat!(stringify!($rest), "_slot"), stringify!($rest), "atomvet_nothing");)*
    };
}
#[cfg(not(alone))]
slow_paths! {
    atomvet_read1 atomvet_read2 atomvet_read4 atomvet_read8
    atomvet_write1 atomvet_write2 atomvet_write4 atomvet_write8
}

// Where the fast paths find the running thread. A runtime that goes by another layout leaves it 0.
#[cfg(not(alone))]
global_asm!(
    ".pushsection .rodata.atomvet_names,\"a\",@progbits",
    "7:",
    ".asciz \"atomvet_thread_{layout}\"",
    ".popsection",
    ".pushsection atomvet_slots,\"aw\",@progbits",
    "atomvet_thread_slot:",
    ".quad 0",
    ".quad 7b",
    ".popsection",
    layout = const plain::LAYOUT,
);

unsafe extern "C" {
    fn memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8;
    fn memmove(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8;
    fn memset(to: *mut u8, byte: i32, bytes: usize) -> *mut u8;
}

unsafe extern "C" fn copy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    // SAFETY: the caller's arguments.
    unsafe { memcpy(to, from, bytes) }
}

unsafe extern "C" fn copy_overlapping(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    // SAFETY: the caller's arguments.
    unsafe { memmove(to, from, bytes) }
}

unsafe extern "C" fn fill(to: *mut u8, byte: i32, bytes: usize) -> *mut u8 {
    // SAFETY: the caller's arguments.
    unsafe { memset(to, byte, bytes) }
}

hook!("__tsan_memcpy", copy);
hook!("__tsan_memmove", copy_overlapping);
hook!("__tsan_memset", fill);

#[cfg(alone)]
hook!("__tsan_init");
#[cfg(not(alone))]
hook!("__tsan_init", init);

// Before all constructors; a library cannot be that early, but comes before its own.
#[cfg(program)]
global_asm!(".pushsection .preinit_array,\"aw\",@preinit_array", ".p2align 3", ".quad {}", ".popsection", sym init);
#[cfg(shared)]
global_asm!(".pushsection .init_array.00000,\"aw\",@init_array", ".p2align 3", ".quad {}", ".popsection", sym init);

#[cfg(not(alone))]
unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *mut c_char;
}

/// Has the runtime fill the slots, if it is loaded. What is called instead of this from then on is the runtime's own.
#[cfg(not(alone))]
unsafe extern "C" fn init() {
    static ASKED: AtomicBool = AtomicBool::new(false);
    if ASKED.swap(true, Ordering::AcqRel) {
        return;
    }
    // SAFETY: the first argument stands for all libraries; the name ends with a zero. The function is the runtime's and
    // declared there like this. The slots live as long as the module.
    unsafe {
        let attach = dlsym(core::ptr::null_mut(), c"atomvet_attach".as_ptr());
        if attach.is_null() {
            // The program may ask for errors of its own.
            dlerror();
            return;
        }
        let attach: unsafe extern "C" fn(*mut Slot, *mut Slot) = core::mem::transmute(attach);
        let (first, end): (*mut Slot, *mut Slot);
        asm!("lea {}, [rip + __start_atomvet_slots]", out(reg) first, options(pure, nomem, nostack));
        asm!("lea {}, [rip + __stop_atomvet_slots]", out(reg) end, options(pure, nomem, nostack));
        attach(first, end);
    }
}
