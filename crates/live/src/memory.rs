//! Memory of the checker's own: zeroed words, mapped from the system, that take room only where they are touched.
//!
//! Nothing is taken from the program's heap: its allocator may be the one that is calling us.

use core::ops::Deref;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU64};

/// Zeroed words. They are released when this is dropped; the checker of a program under test never is.
#[derive(Debug)]
pub struct Words {
    first: *mut AtomicU64,
    count: usize,
}

// SAFETY: the memory is reached as `&[AtomicU64]` only, which may be shared.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// So many words; none if the address space or a limit on it does not allow that.
    pub fn reserve(count: usize) -> Option<Words> {
        Words::reserve_near(0, count)
    }

    /// The same, at an address if that is free.
    pub fn reserve_near(address: usize, count: usize) -> Option<Words> {
        let first: *mut AtomicU64 = system::map(address, count.checked_mul(8)?)?.cast();
        Some(Words { first, count })
    }

    /// Words that somebody else has mapped.
    ///
    /// # Safety
    /// So many words are mapped there, for reading and writing, and stay mapped until this is dropped, which unmaps them.
    pub unsafe fn from_mapped(first: *mut AtomicU64, count: usize) -> Words {
        Words { first, count }
    }

    /// Forgets what is in `count` words from `first` on: they are zero afterwards. Long ranges give their memory back.
    pub fn clear(&self, first: usize, count: usize) {
        const PAGE: usize = 4096 / 8;
        const LONG: usize = 64 * PAGE;
        let words = &self[first..first + count];
        let (start, end) = (first.next_multiple_of(PAGE), (first + count) / PAGE * PAGE);
        if count < LONG || !self.first.addr().is_multiple_of(4096) {
            return zero(words);
        }
        zero(&self[first..start]);
        // SAFETY: whole pages inside this memory, which is private and anonymous: they read as zeros afterwards.
        unsafe { system::forget(self.first.add(start).cast(), (end - start) * 8) };
        zero(&self[end..first + count]);
    }
}

fn zero(words: &[AtomicU64]) {
    for word in words {
        word.store(0, Relaxed);
    }
}

impl Deref for Words {
    type Target = [AtomicU64];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `count` zeroed words are mapped at `first` as long as this lives, and atomics may be shared.
        unsafe { core::slice::from_raw_parts(self.first, self.count) }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: mapped by `reserve`, and nobody has a reference any more.
        unsafe { system::unmap(self.first.cast(), self.count * 8) };
    }
}

/// A place for one value, filled at most once and mapped like [`Words`]: what many threads look at and nobody moves.
#[derive(Debug)]
pub struct Place<T>(AtomicPtr<T>);

impl<T> Place<T> {
    /// An empty one.
    pub const fn new() -> Place<T> {
        Place(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// The value, if it is there.
    #[inline(always)]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: null, or what `fill` has put there, which stays as long as this does.
        unsafe { self.0.load(Acquire).as_ref() }
    }

    /// Puts the value there; none if there is no memory. Only one thread at a time may do this, and only once.
    pub fn fill(&self, value: T) -> Option<&T> {
        debug_assert!(self.get().is_none() && align_of::<T>() <= 4096);
        let memory: *mut T = system::map(0, size_of::<T>())?.cast();
        // SAFETY: fresh memory, large enough and aligned to pages.
        unsafe { memory.write(value) };
        self.0.store(memory, Release);
        self.get()
    }
}

impl<T> Default for Place<T> {
    fn default() -> Self {
        Place::new()
    }
}

impl<T> Drop for Place<T> {
    fn drop(&mut self) {
        let memory = *self.0.get_mut();
        if !memory.is_null() {
            // SAFETY: filled by `fill`, and nobody has a reference any more.
            unsafe {
                memory.drop_in_place();
                system::unmap(memory.cast(), size_of::<T>());
            }
        }
    }
}

/// System calls without libc: they leave `errno` alone and cannot be interposed.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod system {
    use core::arch::asm;

    fn call(number: usize, arguments: [usize; 6]) -> isize {
        let result: isize;
        let [a, b, c, d, e, f] = arguments;
        // SAFETY: the kernel changes the result and the two named registers only; what it does to memory is the concern
        // of the callers below.
        unsafe {
            asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c,
                in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
        }
        result
    }

    pub(super) fn map(address: usize, bytes: usize) -> Option<*mut u8> {
        const MMAP: usize = 9;
        const READ_WRITE: usize = 3;
        const PRIVATE_ANONYMOUS_NORESERVE: usize = 0x4022;
        let address = call(MMAP, [address, bytes, READ_WRITE, PRIVATE_ANONYMOUS_NORESERVE, usize::MAX, 0]);
        (address > 0).then(|| core::ptr::with_exposed_provenance_mut(address as usize))
    }

    pub(super) unsafe fn forget(pages: *mut u8, bytes: usize) {
        const MADVISE: usize = 28;
        const DONT_NEED: usize = 4;
        call(MADVISE, [pages.expose_provenance(), bytes, DONT_NEED, 0, 0, 0]);
    }

    pub(super) unsafe fn unmap(address: *mut u8, bytes: usize) {
        const MUNMAP: usize = 11;
        call(MUNMAP, [address.expose_provenance(), bytes, 0, 0, 0, 0]);
    }
}

/// Elsewhere programs cannot be watched; the checker can still be tested.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod system {
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    fn layout(bytes: usize) -> Option<Layout> {
        Layout::from_size_align(bytes.max(8), 4096).ok()
    }

    pub(super) fn map(_address: usize, bytes: usize) -> Option<*mut u8> {
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc_zeroed(layout(bytes)?) };
        (!memory.is_null()).then_some(memory)
    }

    pub(super) unsafe fn forget(pages: *mut u8, bytes: usize) {
        // SAFETY: the caller owns these bytes.
        unsafe { pages.write_bytes(0, bytes) };
    }

    pub(super) unsafe fn unmap(address: *mut u8, bytes: usize) {
        if let Some(layout) = layout(bytes) {
            // SAFETY: allocated by `map` with the same layout.
            unsafe { dealloc(address, layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_short_ranges_are_cleared_exactly() {
        for (first, count) in [(3, 10), (511, 2), (100, 64 * 512), (1, 70 * 512 + 7)] {
            let words = Words::reserve(128 * 512).expect("memory");
            words.iter().for_each(|word| word.store(7, Relaxed));
            words.clear(first, count);
            for (i, word) in words.iter().enumerate() {
                let inside = (first..first + count).contains(&i);
                assert_eq!(word.load(Relaxed), if inside { 0 } else { 7 }, "word {i}");
            }
        }
    }
}
