//! Where libraries are, as they come and go.
//!
//! `dlopen` itself stays libc's, because what it finds depends on who calls it; instrumented libraries call `__tsan_init`
//! when they are loaded. `dlclose` is watched: memory of a library that is gone may soon be another's, with other variables
//! and functions. The command is told in the stream of records, so that it gives names to what was recorded by
//! what was loaded at that time.
//!
//! What is known here also says which accesses of string functions concern nobody ([`concerns_nobody`]). Every such call
//! asks, so the answer takes no lock: a search among the libraries, believed if none came or went meanwhile.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

use crate::lock::Guarded;
use crate::planes;
use crate::real::real;
use crate::ring::Kind;
use crate::shadow::Access;
use crate::thread::Thread;
use crate::{process, stream};

/// libc's `struct dl_phdr_info`.
#[repr(C)]
struct Loaded {
    address: usize,
    name: *const c_char,
    segments: *const Segment,
    segment_count: u16,
    times_loaded: u64,
    times_unloaded: u64,
}

/// A program header, as the ABI has it.
#[repr(C)]
struct Segment {
    kind: u32,
    flags: u32,
    offset: usize,
    address: usize,
    physical: usize,
    in_file: usize,
    in_memory: usize,
    alignment: usize,
}

unsafe extern "C" {
    fn dl_iterate_phdr(
        callback: unsafe extern "C" fn(*const Loaded, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

/// A library, or the program itself.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Library {
    start: usize,
    /// Before this, nothing of it can be written.
    writable: usize,
    end: usize,
    /// What it does to memory is its own business.
    keeps_to_itself: bool,
}

/// How many libraries are known. What others are like is not asked, and nobody notices that they go.
const MOST: usize = 512;

/// The libraries, by their addresses.
#[derive(Clone, Copy)]
struct Libraries {
    known: [Library; MOST],
    count: usize,
}

const NONE: Libraries =
    Libraries { known: [Library { start: 0, writable: 0, end: 0, keeps_to_itself: false }; MOST], count: 0 };

/// What was there at the last look, and room for the next.
struct Looks {
    libraries: [Libraries; 2],
    last: usize,
}

static LOOKS: Guarded<Looks> = Guarded::new(Looks { libraries: [NONE; 2], last: 0 });

/// How often libraries were loaded and unloaded until then.
static TIMES: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// The same again for those who ask without a lock: what cannot be written, start and end, in order.
static READ_ONLY: [[AtomicUsize; 2]; MOST] = [const { [const { AtomicUsize::new(0) }; 2] }; MOST];
static READ_ONLY_COUNT: AtomicUsize = AtomicUsize::new(0);
/// The code of libraries that keep to themselves: the unwinder, the dynamic linker, OpenMP's and this one.
static THEIR_OWN: [[AtomicUsize; 2]; 4] = [const { [const { AtomicUsize::new(0) }; 2] }; 4];
/// Odd while it is being written.
static VERSION: AtomicU32 = AtomicU32::new(0);
/// How many threads are about to unload something.
static UNLOADING: AtomicU32 = AtomicU32::new(0);

/// Whether an access that a string function makes for its caller at `place` is to be left out:
///
/// - Nobody can write what is not writable: texts in quotes, tables of the unwinder. To read it orders nothing, and would
///   take the place of reads that might race (`bare` in `shadow.rs`).
/// - What the unwinder and the dynamic linker read and write is theirs, also on the stacks of those who throw. OpenMP's
///   library hands memory from thread to thread by synchronisation of its own.
///
/// All other libraries act for the program: what libstdc++ copies is the program's text.
#[inline]
pub(crate) fn concerns_nobody(access: Access, address: usize, place: usize) -> bool {
    let version = VERSION.load(Ordering::Acquire);
    if !version.is_multiple_of(2) || UNLOADING.load(Ordering::Relaxed) != 0 {
        return false;
    }
    let holds = |stretch: &[AtomicUsize; 2], address: usize| {
        (stretch[0].load(Ordering::Relaxed)..stretch[1].load(Ordering::Relaxed)).contains(&address)
    };
    let read_only = &READ_ONLY[..READ_ONLY_COUNT.load(Ordering::Relaxed).min(MOST)];
    let is_read_only = || {
        let after = read_only.partition_point(|stretch| stretch[0].load(Ordering::Relaxed) <= address);
        after > 0 && holds(&read_only[after - 1], address)
    };
    let concerns_nobody =
        THEIR_OWN.iter().any(|library| holds(library, place)) || access == Access::Read && is_read_only();
    fence(Ordering::Acquire);
    concerns_nobody && VERSION.load(Ordering::Relaxed) == version
}

unsafe extern "C" fn count(library: *const Loaded, _: usize, times: *mut c_void) -> c_int {
    // SAFETY: libc gives a library, and `times_changed` two numbers.
    unsafe { *times.cast::<[u64; 2]>() = [(*library).times_loaded, (*library).times_unloaded] };
    1
}

unsafe extern "C" fn collect(library: *const Loaded, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: libc gives a library, and `look` room for all.
    let (library, found) = unsafe { (&*library, &mut *found.cast::<Libraries>()) };
    // SAFETY: so many headers are there.
    let segments =
        unsafe { core::slice::from_raw_parts(library.segments, usize::from(library.segment_count)) };
    const LOAD: u32 = 1;
    const WRITABLE: u32 = 2;
    let mapped = || segments.iter().filter(|segment| segment.kind == LOAD);
    let start = mapped().map(|segment| segment.address).min();
    let end = mapped().map(|segment| segment.address + segment.in_memory).max();
    let writable = mapped().filter(|segment| segment.flags & WRITABLE != 0).map(|s| s.address).min();
    let (Some(start), Some(end)) = (start, end) else { return 0 };
    if found.count == MOST {
        return 1;
    }
    found.known[found.count] = Library {
        start: library.address + start,
        writable: library.address + writable.unwrap_or(end),
        end: library.address + end,
        keeps_to_itself: keeps_to_itself(library.name),
    };
    found.count += 1;
    0
}

fn keeps_to_itself(name: *const c_char) -> bool {
    if name.is_null() {
        return false;
    }
    // SAFETY: a text of the dynamic linker's.
    let path = unsafe { core::ffi::CStr::from_ptr(name) }.to_bytes();
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let those = [b"libgcc_s.so" as &[u8], b"ld-linux-x86-64.so", b"libgomp.so", b"libtsan.so"];
    those.iter().any(|library| name.starts_with(library))
}

/// Looks at the libraries if any came or went since the last time.
pub(crate) fn notice() {
    let mut times = [0u64; 2];
    // SAFETY: the callback gets the numbers' address back.
    unsafe { dl_iterate_phdr(count, (&raw mut times).cast()) };
    let changed = |(before, now): (&AtomicU64, u64)| before.swap(now, Ordering::Relaxed) != now;
    if TIMES.iter().zip(times).map(changed).fold(false, |any, one| any | one) {
        // Nobody, if recording is about to begin.
        let told = Thread::recording().and_then(|thread| {
            thread.at_work(|thread| {
                look(|kind, first, second| stream::record_pair(thread, kind, first as u64, second as u64));
            })
        });
        if told.is_none() {
            look(|_, _, _| {});
        }
    }
}

/// Takes note of what came and went: what was in memory that is no longer a library's is over.
#[cold]
fn look(mut tell: impl FnMut(Kind, usize, usize)) {
    let mut looks = LOOKS.lock();
    let next = 1 - looks.last;
    let [one, other] = &mut looks.libraries;
    let (before, now) = if next == 0 { (other, one) } else { (one, other) };
    now.count = 0;
    // SAFETY: the callback gets the room's address back.
    unsafe { dl_iterate_phdr(collect, (&raw mut *now).cast()) };
    now.known[..now.count].sort_unstable_by_key(|library| library.start);
    let is_among =
        |libraries: &Libraries, library: &Library| libraries.known[..libraries.count].contains(library);
    for gone in before.known[..before.count].iter().filter(|library| !is_among(now, library)) {
        tell(Kind::Unloaded, gone.start, gone.end - gone.start);
        planes::forget(gone.start, gone.end - gone.start);
    }
    // The first look is at what the first copy of the memory map has.
    if before.count > 0 && now.known[..now.count].iter().any(|library| !is_among(before, library)) {
        tell(Kind::Maps, process::renew_maps() as usize, 0);
    }
    publish(now);
    looks.last = next;
}

fn publish(libraries: &Libraries) {
    let known = &libraries.known[..libraries.count];
    // Who wrote it last may have been lost in a fork.
    let being_written = VERSION.load(Ordering::Relaxed) | 1;
    VERSION.store(being_written, Ordering::Relaxed);
    fence(Ordering::Release);
    let store = |stretch: &[AtomicUsize; 2], start: usize, end: usize| {
        stretch[0].store(start, Ordering::Relaxed);
        stretch[1].store(end, Ordering::Relaxed);
    };
    for (stretch, library) in READ_ONLY.iter().zip(known) {
        store(stretch, library.start, library.writable);
    }
    READ_ONLY_COUNT.store(known.len(), Ordering::Relaxed);
    let mut theirs = known.iter().filter(|library| library.keeps_to_itself);
    for stretch in &THEIR_OWN {
        let (start, end) = theirs.next().map_or((0, 0), |library| (library.start, library.writable));
        store(stretch, start, end);
    }
    VERSION.store(being_written.wrapping_add(1), Ordering::Release);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dlclose(library: *mut c_void) -> c_int {
    let real = real!(c"dlclose": fn(*mut c_void) -> c_int);
    if !process::has_started() {
        // SAFETY: the caller's argument.
        return unsafe { real(library) };
    }
    UNLOADING.fetch_add(1, Ordering::SeqCst);
    // SAFETY: the caller's argument.
    let result = unsafe { real(library) };
    notice();
    UNLOADING.fetch_sub(1, Ordering::SeqCst);
    result
}

/// In a new process: nobody holds anything.
pub(crate) fn reset_locks() {
    LOOKS.reset();
    UNLOADING.store(0, Ordering::Relaxed);
}
