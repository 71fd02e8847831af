//! Atomic operations as the program means them, for hooks without a runtime. Everything is at least as strong as asked for:
//! sequentially consistent.

use core::ffi::c_int;
use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, compiler_fence, fence};

use crate::hook;

macro_rules! operations {
    ($width:ident, $value:ty, $atomic:ty) => {
        mod $width {
            use super::*;

            pub(super) extern "C" fn load(address: &$atomic, _order: c_int) -> $value {
                address.load(SeqCst)
            }
            pub(super) extern "C" fn store(address: &$atomic, value: $value, _order: c_int) {
                address.store(value, SeqCst);
            }
            operations!(@updates $value, $atomic: exchange swap, fetch_add fetch_add, fetch_sub fetch_sub,
                fetch_and fetch_and, fetch_or fetch_or, fetch_xor fetch_xor, fetch_nand fetch_nand);
            pub(super) extern "C" fn compare_exchange_strong(
                address: &$atomic, expected: &mut $value, new: $value, _order: c_int, _failure: c_int,
            ) -> c_int {
                match address.compare_exchange(*expected, new, SeqCst, SeqCst) {
                    Ok(_) => 1,
                    Err(found) => {
                        *expected = found;
                        0
                    }
                }
            }
            pub(super) extern "C" fn compare_exchange_val(
                address: &$atomic, expected: $value, new: $value, _order: c_int, _failure: c_int,
            ) -> $value {
                address.compare_exchange(expected, new, SeqCst, SeqCst).unwrap_or_else(|found| found)
            }
        }
    };
    (@updates $value:ty, $atomic:ty: $($operation:ident $method:ident),*) => {
        $(
            pub(super) extern "C" fn $operation(address: &$atomic, value: $value, _order: c_int) -> $value {
                address.$method(value, SeqCst)
            }
        )*
    };
}

operations!(atomic8, u8, AtomicU8);
operations!(atomic16, u16, AtomicU16);
operations!(atomic32, u32, AtomicU32);
operations!(atomic64, u64, AtomicU64);

mod atomic128 {
    use core::ffi::c_int;

    use crate::wide::{Halves, Wide, compare_exchange_wide, update_wide};

    pub(super) extern "C" fn load(address: &Wide, _order: c_int) -> Halves {
        compare_exchange_wide(address, 0, 0)
    }

    pub(super) extern "C" fn store(address: &Wide, value: Halves, _order: c_int) {
        update_wide(address, |_| value);
    }

    macro_rules! updates {
        ($($operation:ident |$old:ident, $value:ident| $new:expr;)*) => {
            $(
                pub(super) extern "C" fn $operation(address: &Wide, $value: Halves, _order: c_int) -> Halves {
                    update_wide(address, |$old| $new)
                }
            )*
        };
    }

    updates! {
        exchange |_old, value| value;
        fetch_add |old, value| old.wrapping_add(value);
        fetch_sub |old, value| old.wrapping_sub(value);
        fetch_and |old, value| old & value;
        fetch_or |old, value| old | value;
        fetch_xor |old, value| old ^ value;
        fetch_nand |old, value| !(old & value);
    }

    pub(super) extern "C" fn compare_exchange_strong(
        address: &Wide,
        expected: &mut Halves,
        new: Halves,
        _order: c_int,
        _failure: c_int,
    ) -> c_int {
        let found = compare_exchange_wide(address, *expected, new);
        let is_done = found == *expected;
        *expected = found;
        c_int::from(is_done)
    }

    pub(super) extern "C" fn compare_exchange_val(
        address: &Wide,
        expected: Halves,
        new: Halves,
        _order: c_int,
        _failure: c_int,
    ) -> Halves {
        compare_exchange_wide(address, expected, new)
    }
}

extern "C" fn thread_fence(_order: c_int) {
    fence(SeqCst);
}

extern "C" fn signal_fence(_order: c_int) {
    compiler_fence(SeqCst);
}

hook!("__tsan_atomic_thread_fence", thread_fence);
hook!("__tsan_atomic_signal_fence", signal_fence);

hook!("__tsan_atomic8_load", atomic8::load);
hook!("__tsan_atomic8_store", atomic8::store);
hook!("__tsan_atomic8_exchange", atomic8::exchange);
hook!("__tsan_atomic8_fetch_add", atomic8::fetch_add);
hook!("__tsan_atomic8_fetch_sub", atomic8::fetch_sub);
hook!("__tsan_atomic8_fetch_and", atomic8::fetch_and);
hook!("__tsan_atomic8_fetch_or", atomic8::fetch_or);
hook!("__tsan_atomic8_fetch_xor", atomic8::fetch_xor);
hook!("__tsan_atomic8_fetch_nand", atomic8::fetch_nand);
hook!("__tsan_atomic8_compare_exchange_strong", atomic8::compare_exchange_strong);
hook!("__tsan_atomic8_compare_exchange_weak", atomic8::compare_exchange_strong);
hook!("__tsan_atomic8_compare_exchange_val", atomic8::compare_exchange_val);
hook!("__tsan_atomic16_load", atomic16::load);
hook!("__tsan_atomic16_store", atomic16::store);
hook!("__tsan_atomic16_exchange", atomic16::exchange);
hook!("__tsan_atomic16_fetch_add", atomic16::fetch_add);
hook!("__tsan_atomic16_fetch_sub", atomic16::fetch_sub);
hook!("__tsan_atomic16_fetch_and", atomic16::fetch_and);
hook!("__tsan_atomic16_fetch_or", atomic16::fetch_or);
hook!("__tsan_atomic16_fetch_xor", atomic16::fetch_xor);
hook!("__tsan_atomic16_fetch_nand", atomic16::fetch_nand);
hook!("__tsan_atomic16_compare_exchange_strong", atomic16::compare_exchange_strong);
hook!("__tsan_atomic16_compare_exchange_weak", atomic16::compare_exchange_strong);
hook!("__tsan_atomic16_compare_exchange_val", atomic16::compare_exchange_val);
hook!("__tsan_atomic32_load", atomic32::load);
hook!("__tsan_atomic32_store", atomic32::store);
hook!("__tsan_atomic32_exchange", atomic32::exchange);
hook!("__tsan_atomic32_fetch_add", atomic32::fetch_add);
hook!("__tsan_atomic32_fetch_sub", atomic32::fetch_sub);
hook!("__tsan_atomic32_fetch_and", atomic32::fetch_and);
hook!("__tsan_atomic32_fetch_or", atomic32::fetch_or);
hook!("__tsan_atomic32_fetch_xor", atomic32::fetch_xor);
hook!("__tsan_atomic32_fetch_nand", atomic32::fetch_nand);
hook!("__tsan_atomic32_compare_exchange_strong", atomic32::compare_exchange_strong);
hook!("__tsan_atomic32_compare_exchange_weak", atomic32::compare_exchange_strong);
hook!("__tsan_atomic32_compare_exchange_val", atomic32::compare_exchange_val);
hook!("__tsan_atomic64_load", atomic64::load);
hook!("__tsan_atomic64_store", atomic64::store);
hook!("__tsan_atomic64_exchange", atomic64::exchange);
hook!("__tsan_atomic64_fetch_add", atomic64::fetch_add);
hook!("__tsan_atomic64_fetch_sub", atomic64::fetch_sub);
hook!("__tsan_atomic64_fetch_and", atomic64::fetch_and);
hook!("__tsan_atomic64_fetch_or", atomic64::fetch_or);
hook!("__tsan_atomic64_fetch_xor", atomic64::fetch_xor);
hook!("__tsan_atomic64_fetch_nand", atomic64::fetch_nand);
hook!("__tsan_atomic64_compare_exchange_strong", atomic64::compare_exchange_strong);
hook!("__tsan_atomic64_compare_exchange_weak", atomic64::compare_exchange_strong);
hook!("__tsan_atomic64_compare_exchange_val", atomic64::compare_exchange_val);
hook!("__tsan_atomic128_load", atomic128::load);
hook!("__tsan_atomic128_store", atomic128::store);
hook!("__tsan_atomic128_exchange", atomic128::exchange);
hook!("__tsan_atomic128_fetch_add", atomic128::fetch_add);
hook!("__tsan_atomic128_fetch_sub", atomic128::fetch_sub);
hook!("__tsan_atomic128_fetch_and", atomic128::fetch_and);
hook!("__tsan_atomic128_fetch_or", atomic128::fetch_or);
hook!("__tsan_atomic128_fetch_xor", atomic128::fetch_xor);
hook!("__tsan_atomic128_fetch_nand", atomic128::fetch_nand);
hook!("__tsan_atomic128_compare_exchange_strong", atomic128::compare_exchange_strong);
hook!("__tsan_atomic128_compare_exchange_weak", atomic128::compare_exchange_strong);
hook!("__tsan_atomic128_compare_exchange_val", atomic128::compare_exchange_val);
