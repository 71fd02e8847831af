//! The hooks for plain accesses of up to 8 bytes. An access that is covered by a record (`shadow.rs`) is found to be so in some 20
//! instructions that call nothing and save no register. One that is late where its word is quiet takes some 25 more: programs with
//! short functions have as many of those. Everything else goes on in Rust, with the place it was called from.

use core::arch::naked_asm;
use core::mem::offset_of;

use atomvet_recorder::thread::{BARE, INDEX_SHIFT, RECENT, Thread};
use atomvet_recorder::{planes, shadow};

const _: () = assert!(shadow::KEPT_BY_LATE[1] < shadow::QUIET + (1 << shadow::QUIET_SHIFT));

/// The same as [`shadow::access`], which says what is done here and why.
macro_rules! accesses {
    ($($hook:ident $slow:literal: $size:literal in $plane:ident, $late:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $hook(address: usize) {
                naked_asm!(
                    // In two lines of the cache, up to where it returns.
                    ".p2align 6",
                    "mov rax, qword ptr [rip + atomvet_thread@GOTTPOFF]",
                    "movabs rdx, {mask}",
                    "mov rax, qword ptr fs:[rax]",
                    "and rdx, rdi",
                    "shr rdx",
                    "test rax, rax",
                    "jz 2f",
                    "add rdx, qword ptr [rax + {plane}]",
                    "mov rsi, qword ptr [rdx]",
                    "inc qword ptr [rax + {seen}]",
                    // Is the word of this thread and this period?
                    "mov r8, rsi",
                    "sub r8, qword ptr [rax + {key}]",
                    "mov ecx, edi",
                    "shr r8, {index_shift}",
                    "jnz 3f",
                    // Has it all bytes? They are turned to where those of the first address would be.
                    "ror si, cl",
                    "not esi",
                    "test sil, {bytes}",
                    "jnz 4f",
                    "ret",
                    // Everything else, in Rust.
                    "2:",
                    concat!("mov rsi, qword ptr [rsp]\n jmp ", $slow),
                    // Not of this period: of this thread at all?
                    "3:",
                    "mov r8, rsi",
                    "sub r8, qword ptr [rax + {birth}]",
                    "shr r8, {index_shift}",
                    "jnz 2b",
                    // What is on record of an earlier period is not to be forgotten, which takes more than this.
                    "test esi, {is_late}",
                    "jz 2b",
                    "and esi, {kept_of_earlier}",
                    // Is it quiet everywhere? Nothing that is kept is above those bits.
                    "cmp esi, {quiet}",
                    "jb 7f",
                    "5:",
                    // Is the access to be ignored, or to be kept in `bare`?
                    "cmp dword ptr [rax + {ignoring}], 0",
                    "jne 2b",
                    "cmp dword ptr [rax + {bare_count}], {bare}",
                    "jae 6f",
                    "cmp dword ptr [rax + {locks}], 0",
                    "jne 6f",
                    // Not on the thread's own stack.
                    "cmp rdi, qword ptr [rax + {stack_low}]",
                    "jb 2b",
                    "cmp rdi, qword ptr [rax + {stack_high}]",
                    "jae 2b",
                    // It is of this period from now on, and late.
                    "6:",
                    "mov r8d, {bytes}",
                    "rol r8w, cl",
                    "lea r8d, [r8 + {late}]",
                    "or esi, r8d",
                    "or rsi, qword ptr [rax + {key}]",
                    "mov qword ptr [rdx], rsi",
                    // And this is where.
                    "mov rcx, qword ptr [rsp]",
                    "mov edx, edi",
                    "and edx, {recent_mask}",
                    "mov qword ptr [rax + rdx * 2 + {recent}], rdi",
                    "mov qword ptr [rax + rdx * 2 + {recent} + 8], rcx",
                    "ret",
                    // Of this period, but not of all bytes.
                    "4:",
                    "mov rsi, qword ptr [rdx]",
                    "and esi, {kept_of_this}",
                    "cmp esi, {quiet}",
                    "jae 5b",
                    // Not quiet everywhere, but in the quarters at hand? They are turned to where the first ones would be.
                    "7:",
                    "test dil, {misaligned}",
                    "jnz 2b",
                    "shr ecx, 2",
                    "and ecx, 3",
                    "mov r8d, esi",
                    "not r8d",
                    "shr r8d, cl",
                    "mov ecx, edi",
                    "test r8d, {quiet_here}",
                    "jz 5b",
                    "jmp 2b",
                    mask = const planes::ADDRESS_MASK,
                    plane = const offset_of!(Thread, $plane),
                    key = const offset_of!(Thread, key),
                    seen = const offset_of!(Thread, seen),
                    birth = const offset_of!(Thread, birth),
                    index_shift = const INDEX_SHIFT,
                    bytes = const (1 << $size) - 1,
                    kept_of_earlier = const shadow::KEPT_BY_LATE[0],
                    kept_of_this = const shadow::KEPT_BY_LATE[1],
                    quiet = const shadow::QUIET,
                    misaligned = const $size - 1,
                    quiet_here = const (if $size > 4 { 3 } else { 1 }) << shadow::QUIET_SHIFT,
                    is_late = const shadow::LATE_READ,
                    ignoring = const offset_of!(Thread, ignoring),
                    bare_count = const offset_of!(Thread, bare_count),
                    bare = const BARE,
                    locks = const offset_of!(Thread, locks),
                    stack_low = const offset_of!(Thread, stack_low),
                    stack_high = const offset_of!(Thread, stack_high),
                    late = const shadow::$late,
                    recent = const offset_of!(Thread, recent),
                    recent_mask = const (RECENT - 1) * 8,
                )
            }
        )*
    };
}

accesses! {
    __tsan_read1 "atomvet_rest_read1": 1 in plane, LATE_READ;
    __tsan_read2 "atomvet_rest_read2": 2 in plane, LATE_READ;
    __tsan_read4 "atomvet_rest_read4": 4 in plane, LATE_READ;
    __tsan_read8 "atomvet_rest_read8": 8 in plane, LATE_READ;
    __tsan_volatile_read1 "atomvet_rest_read1": 1 in plane, LATE_READ;
    __tsan_volatile_read2 "atomvet_rest_read2": 2 in plane, LATE_READ;
    __tsan_volatile_read4 "atomvet_rest_read4": 4 in plane, LATE_READ;
    __tsan_volatile_read8 "atomvet_rest_read8": 8 in plane, LATE_READ;
    __tsan_write1 "atomvet_rest_write1": 1 in write_plane, LATE_WRITE;
    __tsan_write2 "atomvet_rest_write2": 2 in write_plane, LATE_WRITE;
    __tsan_write4 "atomvet_rest_write4": 4 in write_plane, LATE_WRITE;
    __tsan_write8 "atomvet_rest_write8": 8 in write_plane, LATE_WRITE;
    __tsan_volatile_write1 "atomvet_rest_write1": 1 in write_plane, LATE_WRITE;
    __tsan_volatile_write2 "atomvet_rest_write2": 2 in write_plane, LATE_WRITE;
    __tsan_volatile_write4 "atomvet_rest_write4": 4 in write_plane, LATE_WRITE;
    __tsan_volatile_write8 "atomvet_rest_write8": 8 in write_plane, LATE_WRITE;
    __tsan_vptr_read "atomvet_rest_read8": 8 in plane, LATE_READ;
}
