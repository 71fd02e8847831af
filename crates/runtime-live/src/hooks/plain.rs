//! The hooks for plain accesses of up to 8 bytes: one load and one compare, in some dozen instructions that call nothing and
//! save no register. The access repeats one of the same epoch if the granule's word agrees with the thread's `now` in
//! its epoch, the bytes at hand and, for a write, in that nobody has read since (`atomvet_live::rule`). Everything else goes on
//! in Rust, with the place it was called from.
//!
//! This file is compiled twice. As a part of the runtime it serves programs that were built for ThreadSanitizer. It is also part of the
//! object that `atomvet cc` links into programs and libraries (`linked/`): calls go straight there, not through the tables of the
//! loader, which would take as long as the hook itself. Such an object has a slot that says where the runtime keeps the running thread,
//! if both go by the same [`LAYOUT`]: programs may be older than the runtime.

use core::arch::naked_asm;
use core::mem::offset_of;

use atomvet_live::engine::Config;
use atomvet_live::epoch::{Bytes, Stamp};
use atomvet_live::rule::{fast_mask_of_read, fast_mask_of_write};
use atomvet_live::shadow::GRANULE;
use atomvet_live::thread::{Hot, Thread};

/// A granule's word is in its plane at twice the granule's address, in so many bits: a word is twice as long as a granule.
const ADDRESS_MASK: u64 = (1 << Config::PROGRAM.address_bits) - GRANULE;
const _: () = assert!(GRANULE == 4 && offset_of!(Thread, hot) == 0);

/// The bits that do not depend on which bytes of the granule are accessed.
const READ_KEY: u64 = fast_mask_of_read(Bytes(0));
const WRITE_KEY: u64 = fast_mask_of_write(Bytes(0));

/// What the hooks take for granted about the thread and the shadow, in one number.
pub(crate) const LAYOUT: u32 = {
    /// To be changed with the meaning of anything below.
    const REVISION: u64 = 1;
    let facts = [
        REVISION,
        offset_of!(Hot, now) as u64,
        offset_of!(Hot, reads) as u64,
        offset_of!(Hot, writes) as u64,
        ADDRESS_MASK,
        READ_KEY,
        WRITE_KEY,
        Stamp::BYTES_SHIFT as u64,
    ];
    let (mut hash, mut i) = (0u64, 0);
    while i < facts.len() {
        hash = (hash ^ facts[i]).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        i += 1;
    }
    (hash >> 33) as u32
};

/// The running thread's [`Thread`], or null, from the runtime's thread-local variable. The offset of that in the block of
/// thread-local variables is the same in all threads.
#[cfg(not(linked))]
macro_rules! load_thread {
    () => {
        "mov rax, qword ptr [rip + atomvet_live_thread@GOTTPOFF]"
    };
}
/// No offset is 0: such variables are below the address that `fs` has.
#[cfg(linked)]
macro_rules! load_thread {
    () => {
        "mov rax, qword ptr [rip + atomvet_thread_slot]\n test rax, rax\n jz 2f"
    };
}

#[cfg(not(linked))]
macro_rules! the_rest {
    ($slow:literal) => {
        concat!("mov rsi, qword ptr [rsp]\n jmp ", $slow)
    };
}
#[cfg(linked)]
macro_rules! the_rest {
    ($slow:literal) => {
        concat!("mov rsi, qword ptr [rsp]\n jmp qword ptr [rip + ", $slow, "_slot]")
    };
}

/// Every module has hooks of its own.
#[cfg(not(linked))]
macro_rules! visibility {
    ($hook:ident) => {
        ""
    };
}
#[cfg(linked)]
macro_rules! visibility {
    ($hook:ident) => {
        concat!(".hidden ", stringify!($hook))
    };
}

/// How the words of an access are compared: its bytes are in one word, are one word, or are two words.
macro_rules! compare {
    (part) => {
        concat!(
            "xor rdx, qword ptr [rax + {now}]\n",
            // The bytes at hand, where the stamp has them.
            "and ecx, 3\n",
            "mov esi, {bytes}\n",
            "shl esi, cl\n",
            "movabs rax, {key}\n",
            "shl rsi, {bytes_shift}\n",
            "or rax, rsi\n",
            "test rdx, rax\n",
        )
    };
    (whole) => {
        concat!(
            "xor rdx, qword ptr [rax + {now}]\n",
            "movabs rcx, {key} + ({bytes} << {bytes_shift})\n",
            "test rdx, rcx\n",
        )
    };
    (two) => {
        concat!(
            "mov rax, qword ptr [rax + {now}]\n",
            "xor rdx, rax\n",
            "xor rax, qword ptr [rsi + 8]\n",
            "movabs rcx, {key} + ({bytes} << {bytes_shift})\n",
            "or rdx, rax\n",
            "test rdx, rcx\n",
        )
    };
}

macro_rules! accesses {
    ($($hook:ident $slow:literal: $size:literal $how:ident in $plane:ident, $key:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $hook(address: usize) {
                naked_asm!(
                    visibility!($hook),
                    ".p2align 6",
                    load_thread!(),
                    "movabs rdx, {mask}",
                    "mov rax, qword ptr fs:[rax]",
                    "and rdx, rdi",
                    "test rax, rax",
                    "jz 3f",
                    "mov rsi, qword ptr [rax + {plane}]",
                    "mov ecx, edi",
                    "lea rsi, [rsi + rdx * 2]",
                    "mov rdx, qword ptr [rsi]",
                    compare!($how),
                    "jnz 2f",
                    "3:",
                    "ret",
                    "2:",
                    the_rest!($slow),
                    mask = const ADDRESS_MASK,
                    plane = const offset_of!(Hot, $plane),
                    now = const offset_of!(Hot, now),
                    bytes = const if $size < 4 { (1u64 << $size) - 1 } else { Bytes::ALL.0 as u64 },
                    key = const $key,
                    bytes_shift = const Stamp::BYTES_SHIFT,
                )
            }
        )*
    };
}

accesses! {
    __tsan_read1 "atomvet_read1": 1 part in reads, READ_KEY;
    __tsan_read2 "atomvet_read2": 2 part in reads, READ_KEY;
    __tsan_read4 "atomvet_read4": 4 whole in reads, READ_KEY;
    __tsan_read8 "atomvet_read8": 8 two in reads, READ_KEY;
    __tsan_volatile_read1 "atomvet_read1": 1 part in reads, READ_KEY;
    __tsan_volatile_read2 "atomvet_read2": 2 part in reads, READ_KEY;
    __tsan_volatile_read4 "atomvet_read4": 4 whole in reads, READ_KEY;
    __tsan_volatile_read8 "atomvet_read8": 8 two in reads, READ_KEY;
    __tsan_write1 "atomvet_write1": 1 part in writes, WRITE_KEY;
    __tsan_write2 "atomvet_write2": 2 part in writes, WRITE_KEY;
    __tsan_write4 "atomvet_write4": 4 whole in writes, WRITE_KEY;
    __tsan_write8 "atomvet_write8": 8 two in writes, WRITE_KEY;
    __tsan_volatile_write1 "atomvet_write1": 1 part in writes, WRITE_KEY;
    __tsan_volatile_write2 "atomvet_write2": 2 part in writes, WRITE_KEY;
    __tsan_volatile_write4 "atomvet_write4": 4 whole in writes, WRITE_KEY;
    __tsan_volatile_write8 "atomvet_write8": 8 two in writes, WRITE_KEY;
    __tsan_vptr_read "atomvet_read8": 8 two in reads, READ_KEY;
}
