//! The hooks for plain accesses of up to 8 bytes: one load and one compare, in some dozen instructions that call nothing and
//! save no register. The access repeats one of the same epoch if the granule's word agrees with the thread's `now` in
//! its epoch, the bytes at hand and, for a write, in that nobody has read since (`atomvet_live::rule`). Everything else goes on
//! in Rust, with the place it was called from.

use core::arch::naked_asm;
use core::mem::offset_of;

use atomvet_live::engine::Config;
use atomvet_live::epoch::{Bytes, Stamp};
use atomvet_live::rule::{fast_mask_of_read, fast_mask_of_write};
use atomvet_live::shadow::GRANULE;
use atomvet_live::thread::{Hot, Thread};

/// The offset of a granule's word in its plane is the granule's address, in so many bits: a word is as long as a granule.
const WORD_OF_ADDRESS: u64 = (1 << Config::PROGRAM.address_bits) - GRANULE;
const _: () = assert!(GRANULE == 8 && offset_of!(Thread, hot) == 0);

/// The bits that do not depend on which bytes of the granule are accessed.
const READ_KEY: u64 = fast_mask_of_read(Bytes(0));
const WRITE_KEY: u64 = fast_mask_of_write(Bytes(0));

macro_rules! accesses {
    ($($hook:ident $slow:literal: $size:literal in $plane:ident, $key:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $hook(address: usize) {
                naked_asm!(
                    ".p2align 6",
                    "mov rax, qword ptr [rip + atomvet_live_thread@GOTTPOFF]",
                    "movabs rdx, {word}",
                    "mov rax, qword ptr fs:[rax]",
                    "and rdx, rdi",
                    "test rax, rax",
                    "jz 3f",
                    "add rdx, qword ptr [rax + {plane}]",
                    "mov rdx, qword ptr [rdx]",
                    "xor rdx, qword ptr [rax + {now}]",
                    // The bytes at hand, where the stamp has them.
                    "mov ecx, edi",
                    "mov esi, {bytes}",
                    "and ecx, 7",
                    "shl rsi, cl",
                    "movabs rax, {key}",
                    "shl rsi, {bytes_shift}",
                    "or rax, rsi",
                    "test rdx, rax",
                    "jnz 2f",
                    "3:",
                    "ret",
                    "2:",
                    concat!("mov rsi, qword ptr [rsp]\n jmp ", $slow),
                    word = const WORD_OF_ADDRESS,
                    plane = const offset_of!(Hot, $plane),
                    now = const offset_of!(Hot, now),
                    bytes = const (1 << $size) - 1,
                    key = const $key,
                    bytes_shift = const Stamp::BYTES_SHIFT,
                )
            }
        )*
    };
}

accesses! {
    __tsan_read1 "atomvet_read1": 1 in reads, READ_KEY;
    __tsan_read2 "atomvet_read2": 2 in reads, READ_KEY;
    __tsan_read4 "atomvet_read4": 4 in reads, READ_KEY;
    __tsan_read8 "atomvet_read8": 8 in reads, READ_KEY;
    __tsan_volatile_read1 "atomvet_read1": 1 in reads, READ_KEY;
    __tsan_volatile_read2 "atomvet_read2": 2 in reads, READ_KEY;
    __tsan_volatile_read4 "atomvet_read4": 4 in reads, READ_KEY;
    __tsan_volatile_read8 "atomvet_read8": 8 in reads, READ_KEY;
    __tsan_write1 "atomvet_write1": 1 in writes, WRITE_KEY;
    __tsan_write2 "atomvet_write2": 2 in writes, WRITE_KEY;
    __tsan_write4 "atomvet_write4": 4 in writes, WRITE_KEY;
    __tsan_write8 "atomvet_write8": 8 in writes, WRITE_KEY;
    __tsan_volatile_write1 "atomvet_write1": 1 in writes, WRITE_KEY;
    __tsan_volatile_write2 "atomvet_write2": 2 in writes, WRITE_KEY;
    __tsan_volatile_write4 "atomvet_write4": 4 in writes, WRITE_KEY;
    __tsan_volatile_write8 "atomvet_write8": 8 in writes, WRITE_KEY;
    __tsan_vptr_read "atomvet_read8": 8 in reads, READ_KEY;
}
