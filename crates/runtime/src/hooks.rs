//! The hooks for plain accesses. An access that is covered by a record (`shadow.rs`) is found to be so in 20 instructions
//! that call nothing and save no register. One that is late where its word is quiet takes 22 more: programs with short
//! functions have as many of those. Everything else goes on in Rust, with the place it was called from.

use core::arch::naked_asm;
use core::mem::offset_of;

use crate::shadow::{self, Access};
use crate::thread::{BARE, INDEX_SHIFT, RECENT, Thread};

/// The same as [`shadow::access`], which says what is done here and why.
macro_rules! accesses {
    ($($hook:ident $body:ident: $access:ident of $size:literal in $plane:ident, $late:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $hook(address: usize) {
                naked_asm!(
                    "mov rax, qword ptr [rip + atomvet_thread@GOTTPOFF]",
                    "movabs rdx, {mask}",
                    "mov rax, qword ptr fs:[rax]",
                    "and rdx, rdi",
                    "shr rdx",
                    "test rax, rax",
                    "jz 2f",
                    "inc qword ptr [rax + {seen}]",
                    "add rdx, qword ptr [rax + {plane}]",
                    "mov rsi, qword ptr [rdx]",
                    // Is the word of this thread and this period?
                    "mov r8, rsi",
                    "sub r8, qword ptr [rax + {key}]",
                    "mov ecx, edi",
                    "shr r8, {index_shift}",
                    "jnz 3f",
                    // Has it all bytes? They are turned to where those of the first address would be.
                    "mov r8d, esi",
                    "ror r8w, cl",
                    "not r8d",
                    "test r8b, {bytes}",
                    "jnz 4f",
                    "ret",
                    // Everything else, in Rust.
                    "2:",
                    "mov rsi, qword ptr [rsp]",
                    "jmp {body}",
                    // Not of this period: of this thread at all?
                    "3:",
                    "mov r8, rsi",
                    "sub r8, qword ptr [rax + {birth}]",
                    "shr r8, {index_shift}",
                    "jnz 2b",
                    "and esi, {kept_of_earlier}",
                    "jmp 5f",
                    // Of this period, but not of all bytes.
                    "4:",
                    "and esi, {kept_of_this}",
                    "5:",
                    "test esi, {quiet}",
                    "jz 2b",
                    // Is the access to be ignored, or to be kept in `bare`?
                    "cmp dword ptr [rax + {ignoring}], 0",
                    "jne 2b",
                    "cmp dword ptr [rax + {bare_count}], {bare}",
                    "jae 6f",
                    "cmp dword ptr [rax + {locks}], 0",
                    "je 2b",
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
                    mask = const shadow::ADDRESS_MASK,
                    plane = const offset_of!(Thread, $plane),
                    key = const offset_of!(Thread, key),
                    seen = const offset_of!(Thread, seen),
                    birth = const offset_of!(Thread, birth),
                    index_shift = const INDEX_SHIFT,
                    bytes = const (1 << $size) - 1,
                    kept_of_earlier = const shadow::KEPT_BY_LATE[0],
                    kept_of_this = const shadow::KEPT_BY_LATE[1],
                    quiet = const shadow::QUIET,
                    ignoring = const offset_of!(Thread, ignoring),
                    bare_count = const offset_of!(Thread, bare_count),
                    bare = const BARE,
                    locks = const offset_of!(Thread, locks),
                    late = const shadow::$late,
                    recent = const offset_of!(Thread, recent),
                    recent_mask = const (RECENT - 1) * 8,
                    body = sym $body,
                )
            }
            extern "C" fn $body(address: usize, place: usize) {
                shadow::uncovered(Access::$access, address, $size, place);
            }
        )*
    };
}

accesses! {
    __tsan_read1 read1: Read of 1 in plane, LATE_READ;
    __tsan_read2 read2: Read of 2 in plane, LATE_READ;
    __tsan_read4 read4: Read of 4 in plane, LATE_READ;
    __tsan_read8 read8: Read of 8 in plane, LATE_READ;
    __tsan_volatile_read1 volatile_read1: Read of 1 in plane, LATE_READ;
    __tsan_volatile_read2 volatile_read2: Read of 2 in plane, LATE_READ;
    __tsan_volatile_read4 volatile_read4: Read of 4 in plane, LATE_READ;
    __tsan_volatile_read8 volatile_read8: Read of 8 in plane, LATE_READ;
    __tsan_write1 write1: Write of 1 in write_plane, LATE_WRITE;
    __tsan_write2 write2: Write of 2 in write_plane, LATE_WRITE;
    __tsan_write4 write4: Write of 4 in write_plane, LATE_WRITE;
    __tsan_write8 write8: Write of 8 in write_plane, LATE_WRITE;
    __tsan_volatile_write1 volatile_write1: Write of 1 in write_plane, LATE_WRITE;
    __tsan_volatile_write2 volatile_write2: Write of 2 in write_plane, LATE_WRITE;
    __tsan_volatile_write4 volatile_write4: Write of 4 in write_plane, LATE_WRITE;
    __tsan_volatile_write8 volatile_write8: Write of 8 in write_plane, LATE_WRITE;
    __tsan_vptr_read vptr_read: Read of 8 in plane, LATE_READ;
}

/// Hooks for accesses that may cross a word.
macro_rules! ranges {
    ($($hook:ident $body:ident: $($access:ident),+ of $size:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $hook(address: usize) {
                naked_asm!("mov rsi, [rsp]", "jmp {}", sym $body)
            }
            extern "C" fn $body(address: usize, place: usize) {
                $(shadow::access_range(Access::$access, address, $size, place);)+
            }
        )*
    };
}

ranges! {
    __tsan_read16 read16: Read of 16;
    __tsan_write16 write16: Write of 16;
    __tsan_volatile_read16 volatile_read16: Read of 16;
    __tsan_volatile_write16 volatile_write16: Write of 16;
    __tsan_unaligned_read1 unaligned_read1: Read of 1;
    __tsan_unaligned_read2 unaligned_read2: Read of 2;
    __tsan_unaligned_read4 unaligned_read4: Read of 4;
    __tsan_unaligned_read8 unaligned_read8: Read of 8;
    __tsan_unaligned_read16 unaligned_read16: Read of 16;
    __tsan_unaligned_write1 unaligned_write1: Write of 1;
    __tsan_unaligned_write2 unaligned_write2: Write of 2;
    __tsan_unaligned_write4 unaligned_write4: Write of 4;
    __tsan_unaligned_write8 unaligned_write8: Write of 8;
    __tsan_unaligned_write16 unaligned_write16: Write of 16;
    __tsan_unaligned_volatile_read1 unaligned_volatile_read1: Read of 1;
    __tsan_unaligned_volatile_read2 unaligned_volatile_read2: Read of 2;
    __tsan_unaligned_volatile_read4 unaligned_volatile_read4: Read of 4;
    __tsan_unaligned_volatile_read8 unaligned_volatile_read8: Read of 8;
    __tsan_unaligned_volatile_read16 unaligned_volatile_read16: Read of 16;
    __tsan_unaligned_volatile_write1 unaligned_volatile_write1: Write of 1;
    __tsan_unaligned_volatile_write2 unaligned_volatile_write2: Write of 2;
    __tsan_unaligned_volatile_write4 unaligned_volatile_write4: Write of 4;
    __tsan_unaligned_volatile_write8 unaligned_volatile_write8: Write of 8;
    __tsan_unaligned_volatile_write16 unaligned_volatile_write16: Write of 16;
    __tsan_read_write1 read_write1: Read, Write of 1;
    __tsan_read_write2 read_write2: Read, Write of 2;
    __tsan_read_write4 read_write4: Read, Write of 4;
    __tsan_read_write8 read_write8: Read, Write of 8;
    __tsan_read_write16 read_write16: Read, Write of 16;
    __tsan_unaligned_read_write1 unaligned_read_write1: Read, Write of 1;
    __tsan_unaligned_read_write2 unaligned_read_write2: Read, Write of 2;
    __tsan_unaligned_read_write4 unaligned_read_write4: Read, Write of 4;
    __tsan_unaligned_read_write8 unaligned_read_write8: Read, Write of 8;
    __tsan_unaligned_read_write16 unaligned_read_write16: Read, Write of 16;
}

/// Hooks that are told the place.
macro_rules! placed {
    ($($hook:ident: $access:ident of $size:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $hook(address: usize, place: usize) {
                shadow::access_range(Access::$access, address, $size, place);
            }
        )*
    };
}

placed! {
    __tsan_read1_pc: Read of 1;
    __tsan_read2_pc: Read of 2;
    __tsan_read4_pc: Read of 4;
    __tsan_read8_pc: Read of 8;
    __tsan_read16_pc: Read of 16;
    __tsan_write1_pc: Write of 1;
    __tsan_write2_pc: Write of 2;
    __tsan_write4_pc: Write of 4;
    __tsan_write8_pc: Write of 8;
    __tsan_write16_pc: Write of 16;
}

/// Hooks with two arguments.
macro_rules! pairs {
    ($($hook:ident $body:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $hook(first: usize, second: usize) {
                naked_asm!("mov rdx, [rsp]", "jmp {}", sym $body)
            }
        )*
    };
}

pairs! {
    __tsan_read_range __tsan_read_range_pc;
    __tsan_write_range __tsan_write_range_pc;
    __tsan_vptr_update vptr_update;
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_read_range_pc(address: usize, bytes: usize, place: usize) {
    shadow::access_range(Access::Read, address, bytes, place);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_write_range_pc(address: usize, bytes: usize, place: usize) {
    shadow::access_range(Access::Write, address, bytes, place);
}

/// An object gets its virtual table. Destructors set the one it has already: that changes nothing.
unsafe extern "C" fn vptr_update(address: usize, table: usize, place: usize) {
    // SAFETY: the object is being constructed or destroyed at this address.
    if unsafe { *(address as *const usize) } != table {
        shadow::access(Access::Write, address, 8, place);
    }
}
