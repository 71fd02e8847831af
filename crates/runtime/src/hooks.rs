//! The hooks for plain accesses. An access that is covered by a record (`shadow.rs`) is found to be so in 21 instructions that
//! call nothing and save no register; the compiler's own version of the same took 30 and two jumps, which was a third
//! of matrix multiplication's time. Everything else goes on in Rust, with the place it was called from.

use core::arch::naked_asm;
use core::mem::offset_of;

use crate::shadow::{self, Access};
use crate::thread::{INDEX_SHIFT, Thread};

/// The same as [`shadow::access`], which says what is done here and why.
macro_rules! accesses {
    ($($hook:ident $body:ident: $access:ident of $size:literal in $plane:ident times $scale:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $hook(address: usize) {
                naked_asm!(
                    "mov rax, qword ptr [rip + atomvet_thread@GOTTPOFF]",
                    "mov rax, qword ptr fs:[rax]",
                    "test rax, rax",
                    "jz 2f",
                    "inc qword ptr [rax + {seen}]",
                    // Where the word for this address is.
                    "mov rdx, rdi",
                    "shl rdx, {address_shift}",
                    "shr rdx, {address_shift}",
                    "and rdx, -8",
                    "mov rcx, qword ptr [rax + {plane}]",
                    "mov rdx, qword ptr [rcx + rdx * {scale}]",
                    // Is it of this thread and this period?
                    "mov rcx, rdx",
                    "sub rcx, qword ptr [rax + {key}]",
                    "shr rcx, {index_shift}",
                    "jnz 2f",
                    // Has it all bytes? The bit behind the last is never set: what crosses a word is not covered.
                    "mov ecx, edi",
                    "and ecx, 7",
                    "shr edx, cl",
                    "not edx",
                    "test edx, {bytes}",
                    "jnz 2f",
                    "ret",
                    "2:",
                    "mov rsi, qword ptr [rsp]",
                    "jmp {body}",
                    seen = const offset_of!(Thread, seen),
                    address_shift = const 64 - shadow::ADDRESS_BITS,
                    plane = const offset_of!(Thread, $plane),
                    scale = const $scale,
                    key = const offset_of!(Thread, key),
                    index_shift = const INDEX_SHIFT,
                    bytes = const (1 << $size) - 1,
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
    __tsan_read1 read1: Read of 1 in plane times 1;
    __tsan_read2 read2: Read of 2 in plane times 1;
    __tsan_read4 read4: Read of 4 in plane times 1;
    __tsan_read8 read8: Read of 8 in plane times 1;
    __tsan_write1 write1: Write of 1 in write_plane times 4;
    __tsan_write2 write2: Write of 2 in write_plane times 4;
    __tsan_write4 write4: Write of 4 in write_plane times 4;
    __tsan_write8 write8: Write of 8 in write_plane times 4;
    __tsan_volatile_read1 volatile_read1: Read of 1 in plane times 1;
    __tsan_volatile_read2 volatile_read2: Read of 2 in plane times 1;
    __tsan_volatile_read4 volatile_read4: Read of 4 in plane times 1;
    __tsan_volatile_read8 volatile_read8: Read of 8 in plane times 1;
    __tsan_volatile_write1 volatile_write1: Write of 1 in write_plane times 4;
    __tsan_volatile_write2 volatile_write2: Write of 2 in write_plane times 4;
    __tsan_volatile_write4 volatile_write4: Write of 4 in write_plane times 4;
    __tsan_volatile_write8 volatile_write8: Write of 8 in write_plane times 4;
    __tsan_vptr_read vptr_read: Read of 8 in plane times 1;
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
