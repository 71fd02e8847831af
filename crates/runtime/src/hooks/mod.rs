//! The compiler's hooks for plain accesses: those of up to 8 bytes are in `plain.rs`.

use core::arch::naked_asm;

use crate::shadow::{self, Access};

mod atomic;
mod plain;
mod wide;

/// Where the hooks go on that are part of the runtime, and those that programs carry: these have not looked at the shadow.
macro_rules! rests {
    ($($rest:ident $carried:ident: $access:ident of $size:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $rest(address: usize, place: usize) {
                shadow::uncovered(Access::$access, address, $size, place);
            }
            #[unsafe(no_mangle)]
            extern "C" fn $carried(address: usize, place: usize) {
                shadow::access(Access::$access, address, $size, place);
            }
        )*
    };
}

rests! {
    atomvet_rest_read1 atomvet_read1: Read of 1;
    atomvet_rest_read2 atomvet_read2: Read of 2;
    atomvet_rest_read4 atomvet_read4: Read of 4;
    atomvet_rest_read8 atomvet_read8: Read of 8;
    atomvet_rest_write1 atomvet_write1: Write of 1;
    atomvet_rest_write2 atomvet_write2: Write of 2;
    atomvet_rest_write4 atomvet_write4: Write of 4;
    atomvet_rest_write8 atomvet_write8: Write of 8;
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
