//! Atomic operations on 16 bytes. Compiled twice, as `plain.rs` is: the runtime and `linked/` both perform them.

/// 16 bytes that are changed as one. Stable Rust has no such type, so the instruction is called by its name.
#[repr(C, align(16))]
pub(crate) struct Wide([u64; 2]);

/// Their value.
pub(crate) type Halves = u128;

/// Puts `new` there if `expected` is there; returns what was there.
#[inline(always)]
pub(crate) fn compare_exchange_wide(address: &Wide, expected: Halves, new: Halves) -> Halves {
    let (low, high): (u64, u64);
    // SAFETY: the caller's object, aligned as the instruction demands. `rbx` is the compiler's and put back.
    unsafe {
        core::arch::asm!(
            "xchg rsi, rbx",
            "lock cmpxchg16b [rdi]",
            "mov rbx, rsi",
            in("rdi") address,
            inout("rsi") new as u64 => _,
            in("rcx") (new >> 64) as u64,
            inout("rax") expected as u64 => low,
            inout("rdx") (expected >> 64) as u64 => high,
            options(nostack),
        );
    }
    Halves::from(high) << 64 | Halves::from(low)
}

/// Does something to 16 bytes, as often as it takes; returns what was there.
#[inline(always)]
pub(crate) fn update_wide(address: &Wide, change: impl Fn(Halves) -> Halves) -> Halves {
    let mut seen = compare_exchange_wide(address, 0, 0);
    loop {
        let found = compare_exchange_wide(address, seen, change(seen));
        if found == seen {
            return seen;
        }
        seen = found;
    }
}
