//! Atomic operations. They run inside the runtime: each is stamped before it takes effect, under the stripe of its granule, so that
//! stamps are in the order in which operations took effect.
//!
//! A load that repeats a stamped one needs no stripe: it is done first, and the stamp is looked at afterwards. A store by
//! another thread takes the stamp away before it takes effect, so a load that saw the store finds no stamp.
//!
//! Everything is done at least as strongly as asked for: sequentially consistent.

use core::arch::naked_asm;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};

use atomvet_live::access::{Access, Operation};

use super::wide::{Halves, Wide, compare_exchange_wide, update_wide};
use crate::interpose::checking;
use crate::{guards, process, recording, stream, thread};

/// A load.
#[inline(always)]
fn load<T>(address: usize, size: usize, place: usize, load: impl Fn() -> T) -> T {
    let value = load();
    let Some(thread) = thread::watched() else { return value };
    let Some(engine) = process::engine() else { return value };
    let access = access(address, size, place);
    if !recording::is_on() && engine.repeats_load(thread.checked(), &access) {
        return value;
    }
    if size == 1 && guards::is_one(address) {
        checking(|engine, thread| engine.finds_done(thread.checked(), address as u64, place as u64));
    }
    recorded(|| Operation::Read, address, size, place, load)
}

fn access(address: usize, size: usize, place: usize) -> Access {
    Access { address: address as u64, bytes: size as u64, site: place as u64, operation: Operation::Unknown }
}

/// Does something to memory, which is going to be what `expected` says when it is asked.
#[inline(always)]
fn recorded<T>(
    expected: impl FnOnce() -> Operation,
    address: usize,
    size: usize,
    place: usize,
    operate: impl FnOnce() -> T,
) -> T {
    let Some(thread) = thread::watched() else { return operate() };
    let Some(engine) = process::engine() else { return operate() };
    if thread.is_busy() {
        stream::count_lost_in_handler();
        return operate();
    }
    thread.work(|thread| {
        let expected = || {
            let operation = expected();
            recording::atomic(thread, operation, address, size, place);
            operation
        };
        engine.atomic(thread.checked(), &access(address, size, place), expected, operate)
    })
}

macro_rules! atomics {
    ($type:ty, $atomic:ty, $size:literal: $load:ident $load_body:ident, $store:ident $store_body:ident,
     $exchange_strong:ident $exchange_strong_body:ident, $exchange_weak:ident,
     $exchange_value:ident $exchange_value_body:ident,
     $($update:ident $update_body:ident $method:ident $kind:ident),*) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $load(address: &$atomic, order: c_int) -> $type {
            naked_asm!("mov rdx, [rsp]", "jmp {}", sym $load_body)
        }
        extern "C" fn $load_body(address: &$atomic, _order: c_int, place: usize) -> $type {
            load(&raw const *address as usize, $size, place, || address.load(SeqCst))
        }
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $store(address: &$atomic, value: $type, order: c_int) {
            naked_asm!("mov rcx, [rsp]", "jmp {}", sym $store_body)
        }
        extern "C" fn $store_body(address: &$atomic, value: $type, _order: c_int, place: usize) {
            recorded(|| Operation::Write, &raw const *address as usize, $size, place, || {
                address.store(value, SeqCst)
            });
        }
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $exchange_strong(a: &$atomic, expected: &mut $type, new: $type, o: c_int, f: c_int) -> c_int {
            naked_asm!("mov r9, [rsp]", "jmp {}", sym $exchange_strong_body)
        }
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $exchange_weak(a: &$atomic, expected: &mut $type, new: $type, o: c_int, f: c_int) -> c_int {
            naked_asm!("mov r9, [rsp]", "jmp {}", sym $exchange_strong_body)
        }
        extern "C" fn $exchange_strong_body(
            address: &$atomic, expected: &mut $type, new: $type, _order: c_int, _failure: c_int, place: usize,
        ) -> c_int {
            let found = $exchange_value_body(address, *expected, new, 0, 0, place);
            let done = found == *expected;
            *expected = found;
            c_int::from(done)
        }
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $exchange_value(a: &$atomic, expected: $type, new: $type, o: c_int, f: c_int) -> $type {
            naked_asm!("mov r9, [rsp]", "jmp {}", sym $exchange_value_body)
        }
        extern "C" fn $exchange_value_body(
            address: &$atomic, expected: $type, new: $type, _order: c_int, _failure: c_int, place: usize,
        ) -> $type {
            let expects = || if address.load(SeqCst) == expected { Operation::Update } else { Operation::Read };
            recorded(expects, &raw const *address as usize, $size, place, || {
                match address.compare_exchange(expected, new, SeqCst, SeqCst) {
                    Ok(found) | Err(found) => found,
                }
            })
        }
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $update(address: &$atomic, value: $type, order: c_int) -> $type {
                naked_asm!("mov rcx, [rsp]", "jmp {}", sym $update_body)
            }
            extern "C" fn $update_body(address: &$atomic, value: $type, _order: c_int, place: usize) -> $type {
                recorded(|| Operation::$kind, &raw const *address as usize, $size, place, || {
                    address.$method(value, SeqCst)
                })
            }
        )*
    };
}

atomics!(u8, AtomicU8, 1: __tsan_atomic8_load load8, __tsan_atomic8_store store8,
    __tsan_atomic8_compare_exchange_strong compare_exchange8, __tsan_atomic8_compare_exchange_weak,
    __tsan_atomic8_compare_exchange_val compare_exchange_value8,
    __tsan_atomic8_exchange exchange8 swap Update,
    __tsan_atomic8_fetch_add fetch_add8 fetch_add Add,
    __tsan_atomic8_fetch_sub fetch_sub8 fetch_sub Add,
    __tsan_atomic8_fetch_and fetch_and8 fetch_and And,
    __tsan_atomic8_fetch_or fetch_or8 fetch_or Or,
    __tsan_atomic8_fetch_xor fetch_xor8 fetch_xor Xor,
    __tsan_atomic8_fetch_nand fetch_nand8 fetch_nand Update);

atomics!(u16, AtomicU16, 2: __tsan_atomic16_load load16, __tsan_atomic16_store store16,
    __tsan_atomic16_compare_exchange_strong compare_exchange16, __tsan_atomic16_compare_exchange_weak,
    __tsan_atomic16_compare_exchange_val compare_exchange_value16,
    __tsan_atomic16_exchange exchange16 swap Update,
    __tsan_atomic16_fetch_add fetch_add16 fetch_add Add,
    __tsan_atomic16_fetch_sub fetch_sub16 fetch_sub Add,
    __tsan_atomic16_fetch_and fetch_and16 fetch_and And,
    __tsan_atomic16_fetch_or fetch_or16 fetch_or Or,
    __tsan_atomic16_fetch_xor fetch_xor16 fetch_xor Xor,
    __tsan_atomic16_fetch_nand fetch_nand16 fetch_nand Update);

atomics!(u32, AtomicU32, 4: __tsan_atomic32_load load32, __tsan_atomic32_store store32,
    __tsan_atomic32_compare_exchange_strong compare_exchange32, __tsan_atomic32_compare_exchange_weak,
    __tsan_atomic32_compare_exchange_val compare_exchange_value32,
    __tsan_atomic32_exchange exchange32 swap Update,
    __tsan_atomic32_fetch_add fetch_add32 fetch_add Add,
    __tsan_atomic32_fetch_sub fetch_sub32 fetch_sub Add,
    __tsan_atomic32_fetch_and fetch_and32 fetch_and And,
    __tsan_atomic32_fetch_or fetch_or32 fetch_or Or,
    __tsan_atomic32_fetch_xor fetch_xor32 fetch_xor Xor,
    __tsan_atomic32_fetch_nand fetch_nand32 fetch_nand Update);

atomics!(u64, AtomicU64, 8: __tsan_atomic64_load load64, __tsan_atomic64_store store64,
    __tsan_atomic64_compare_exchange_strong compare_exchange64, __tsan_atomic64_compare_exchange_weak,
    __tsan_atomic64_compare_exchange_val compare_exchange_value64,
    __tsan_atomic64_exchange exchange64 swap Update,
    __tsan_atomic64_fetch_add fetch_add64 fetch_add Add,
    __tsan_atomic64_fetch_sub fetch_sub64 fetch_sub Add,
    __tsan_atomic64_fetch_and fetch_and64 fetch_and And,
    __tsan_atomic64_fetch_or fetch_or64 fetch_or Or,
    __tsan_atomic64_fetch_xor fetch_xor64 fetch_xor Xor,
    __tsan_atomic64_fetch_nand fetch_nand64 fetch_nand Update);

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(_order: c_int) {
    core::sync::atomic::fence(SeqCst);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_order: c_int) {
    core::sync::atomic::compiler_fence(SeqCst);
}

/// The hooks of 16 bytes. Their last arguments say how strongly an operation is meant, which nobody asks here: the first of
/// those registers takes the place instead.
macro_rules! wide_hooks {
    ($($hook:ident $body:ident $register:literal ($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $hook($($argument: $type,)* order: c_int) $(-> $result)? {
                naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {}", sym $body)
            }
        )*
    };
}

wide_hooks! {
    __tsan_atomic128_load load128 "rsi" (address: &Wide) -> Halves;
    __tsan_atomic128_store store128 "rcx" (address: &Wide, value: Halves);
    __tsan_atomic128_exchange exchange128 "rcx" (address: &Wide, value: Halves) -> Halves;
    __tsan_atomic128_fetch_add fetch_add128 "rcx" (address: &Wide, value: Halves) -> Halves;
    __tsan_atomic128_fetch_sub fetch_sub128 "rcx" (address: &Wide, value: Halves) -> Halves;
    __tsan_atomic128_fetch_and fetch_and128 "rcx" (address: &Wide, value: Halves) -> Halves;
    __tsan_atomic128_fetch_or fetch_or128 "rcx" (address: &Wide, value: Halves) -> Halves;
    __tsan_atomic128_fetch_xor fetch_xor128 "rcx" (address: &Wide, value: Halves) -> Halves;
    __tsan_atomic128_fetch_nand fetch_nand128 "rcx" (address: &Wide, value: Halves) -> Halves;
    __tsan_atomic128_compare_exchange_strong compare_exchange128 "r8"
        (address: &Wide, expected: &mut Halves, new: Halves) -> c_int;
    __tsan_atomic128_compare_exchange_weak compare_exchange128 "r8"
        (address: &Wide, expected: &mut Halves, new: Halves) -> c_int;
    __tsan_atomic128_compare_exchange_val compare_exchange_value128 "r9"
        (address: &Wide, expected: Halves, new: Halves) -> Halves;
}

extern "C" fn load128(address: &Wide, place: usize) -> Halves {
    recorded(
        || Operation::Read,
        &raw const *address as usize,
        16,
        place,
        || compare_exchange_wide(address, 0, 0),
    )
}

extern "C" fn store128(address: &Wide, value: Halves, place: usize) {
    recorded(
        || Operation::Write,
        &raw const *address as usize,
        16,
        place,
        || update_wide(address, |_| value),
    );
}

macro_rules! wide_updates {
    ($($body:ident $kind:ident |$old:ident, $value:ident| $new:expr;)*) => {
        $(
            extern "C" fn $body(address: &Wide, $value: Halves, place: usize) -> Halves {
                recorded(|| Operation::$kind, &raw const *address as usize, 16, place, || {
                    update_wide(address, |$old| $new)
                })
            }
        )*
    };
}

wide_updates! {
    exchange128 Update |_old, value| value;
    fetch_add128 Add |old, value| old.wrapping_add(value);
    fetch_sub128 Add |old, value| old.wrapping_sub(value);
    fetch_and128 And |old, value| old & value;
    fetch_or128 Or |old, value| old | value;
    fetch_xor128 Xor |old, value| old ^ value;
    fetch_nand128 Update |old, value| !(old & value);
}

extern "C" fn compare_exchange_value128(
    address: &Wide,
    expected: Halves,
    new: Halves,
    place: usize,
) -> Halves {
    let succeeds = || compare_exchange_wide(address, 0, 0) == expected;
    let expects = || if succeeds() { Operation::Update } else { Operation::Read };
    recorded(expects, &raw const *address as usize, 16, place, || {
        compare_exchange_wide(address, expected, new)
    })
}

extern "C" fn compare_exchange128(address: &Wide, expected: &mut Halves, new: Halves, place: usize) -> c_int {
    let found = compare_exchange_value128(address, *expected, new, place);
    let done = found == *expected;
    *expected = found;
    c_int::from(done)
}
