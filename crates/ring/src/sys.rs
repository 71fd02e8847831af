//! System calls without libc: they leave `errno` alone, cannot be interposed, and work at any time.

use core::arch::asm;

/// Reads from a file.
pub const READ: usize = 0;
/// Writes to a file.
pub const WRITE: usize = 1;
/// Closes a file.
pub const CLOSE: usize = 3;
/// Maps memory.
pub const MMAP: usize = 9;
/// Lets others run.
pub const SCHED_YIELD: usize = 24;
/// Says how memory is going to be used.
pub const MADVISE: usize = 28;
/// Sleeps.
pub const NANOSLEEP: usize = 35;
/// Asks for the process.
pub const GETPID: usize = 39;
/// Sends a signal.
pub const KILL: usize = 62;
/// Changes the length of a file.
pub const FTRUNCATE: usize = 77;
/// Gives a file another name.
pub const RENAME: usize = 82;
/// Deletes a file.
pub const UNLINK: usize = 87;
/// Makes a symbolic link.
pub const SYMLINK: usize = 88;
/// `fstatfs`.
pub const FSTATFS: usize = 138;
/// Asks for a limit.
pub const GETRLIMIT: usize = 97;
/// Opens a file.
pub const OPEN: usize = 2;
/// Reads where a symbolic link leads.
pub const READLINK: usize = 89;
/// Makes room for a file.
pub const FALLOCATE: usize = 285;

const ESRCH: isize = -3;

/// Any system call. A negative result is an error number.
#[inline]
pub fn call(number: usize, arguments: [usize; 6]) -> isize {
    let result: isize;
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the kernel changes the result and the two named registers only; what it does to memory is the
    // concern of the callers below.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// Fresh zeroed memory that takes room only where it is touched; null if there is none.
pub fn reserve(bytes: usize) -> *mut u8 {
    reserve_at(0, bytes)
}

/// The same, at an address if that is free.
pub fn reserve_at(address: usize, bytes: usize) -> *mut u8 {
    const PRIVATE_ANONYMOUS_NORESERVE: usize = 0x4022;
    map(address, bytes, PRIVATE_ANONYMOUS_NORESERVE, usize::MAX)
}

/// A file's memory, shared with whoever else maps it; null if that cannot be.
pub fn map_shared(file: usize, bytes: usize) -> *mut u8 {
    map(0, bytes, 1, file)
}

fn map(address: usize, bytes: usize, flags: usize, file: usize) -> *mut u8 {
    const READ_WRITE: usize = 3;
    let address = call(MMAP, [address, bytes, READ_WRITE, flags, file, 0]);
    if (-4095..0).contains(&address) { core::ptr::null_mut() } else { address as *mut u8 }
}

/// Forgets what is in whole pages, which read as zeros afterwards.
pub fn forget_pages(address: usize, bytes: usize) {
    const DONT_NEED: usize = 4;
    call(MADVISE, [address, bytes, DONT_NEED, 0, 0, 0]);
}

/// From now on, pages that are touched get memory as parts of large ones, where the system has them.
pub fn prefer_large_pages(address: usize, bytes: usize) {
    const HUGE_PAGE: usize = 14;
    call(MADVISE, [address, bytes, HUGE_PAGE, 0, 0, 0]);
}

/// Gives memory to whole pages that will be written to soon, at once instead of one by one.
/// Kernels before 5.14 do not know how; then they get it when they are written to.
pub fn populate_pages(address: usize, bytes: usize) {
    const POPULATE_WRITE: usize = 23;
    call(MADVISE, [address, bytes, POPULATE_WRITE, 0, 0, 0]);
}

/// Lets others run.
pub fn pause() {
    call(SCHED_YIELD, [0; 6]);
}

/// Sleeps for some microseconds.
pub fn sleep(microseconds: usize) {
    let time = [0usize, microseconds * 1000];
    call(NANOSLEEP, [time.as_ptr() as usize, 0, 0, 0, 0, 0]);
}

/// This process.
pub fn process() -> u32 {
    call(GETPID, [0; 6]) as u32
}

/// Whether a process exists.
pub fn exists(process: u32) -> bool {
    call(KILL, [process as usize, 0, 0, 0, 0, 0]) != ESRCH && !is_dead(process)
}

/// Whether a process has ended, but nobody has waited for it yet.
fn is_dead(process: u32) -> bool {
    let mut path = *b"/proc/__________/stat\0";
    let digits = &mut path[6..16];
    let mut rest = process;
    for digit in digits.iter_mut().rev() {
        // Digits that are not there become slashes, of which several are as good as one.
        *digit = if rest == 0 { b'/' } else { b'0' + (rest % 10) as u8 };
        rest /= 10;
    }
    let file = call(OPEN, [path.as_ptr() as usize, 0o2_000_000, 0, 0, 0, 0]);
    if file < 0 {
        return false;
    }
    let mut text = [0u8; 512];
    let length = call(READ, [file as usize, text.as_mut_ptr() as usize, text.len(), 0, 0, 0]);
    call(CLOSE, [file as usize, 0, 0, 0, 0, 0]);
    // `PID (NAME) STATE …`, and a name may have anything in it.
    let text = &text[..length.max(0) as usize];
    let name_end = text.windows(2).rposition(|two| two == b") ");
    name_end.is_some_and(|end| matches!(text.get(end + 2), Some(b'Z' | b'X')))
}

/// One line on standard error.
pub fn complain(message: &str) {
    for part in ["atomvet: ", message, "\n"] {
        call(WRITE, [2, part.as_ptr() as usize, part.len(), 0, 0, 0]);
    }
}
