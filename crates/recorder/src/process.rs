//! The process: whether it is watched, since when, and what becomes of that in a fork.
//!
//! Everything starts at the first hook that is reached, because hooks run before any constructor of ours may.

use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicU8, Ordering};

use crate::ring::writer::{NO_ADDRESS_SPACE, Refused, create, reader};
use crate::ring::{DIRECTORY, NO_PATIENCE, RECORD_ALL};
use crate::thread;
use crate::{atomics, blocks, handover, planes, shadow, stream, sys};

static STATE: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = 0;
const DECIDING: u8 = 1;
const WATCHED: u8 = 2;
const ALONE: u8 = 3;

/// A path, zero-terminated.
pub type Path = [u8; 1024];

/// The directory of the rings and the name of this process's, without its ending.
static PATHS: crate::lock::Guarded<Paths> =
    crate::lock::Guarded::new(Paths { directory: [0; 1024], name: [0; 1024] });

struct Paths {
    directory: Path,
    name: Path,
}

unsafe extern "C" {
    fn pthread_atfork(
        before: Option<extern "C" fn()>,
        in_parent: Option<extern "C" fn()>,
        in_child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// What the library that this is part of has to do with processes and threads.
pub struct Host {
    /// Before the ring is opened.
    pub before: fn(),
    /// When recording has begun.
    pub after: fn(),
    /// In a child of `fork`, before it has a ring: nobody holds anything.
    pub in_child: fn(),
    /// The running thread's stack.
    pub stack_bounds: fn() -> (usize, usize),
    /// The running thread is known from now on: [`thread::Thread::end`] is to be called when it ends.
    pub thread_started: fn(),
}

unsafe extern "Rust" {
    /// The library defines it.
    safe static ATOMVET_HOST: Host;
}

pub(crate) fn host() -> &'static Host {
    &ATOMVET_HOST
}

/// Whether what happens is recorded. Decides that when asked for the first time.
#[inline]
pub fn is_recording() -> bool {
    match STATE.load(Ordering::Acquire) {
        WATCHED => true,
        ALONE => false,
        _ => decide(),
    }
}

/// Whether it is certain already that what happens is recorded: for what concerns nobody before that.
#[inline(always)]
pub fn has_started() -> bool {
    STATE.load(Ordering::Acquire) == WATCHED
}

#[cold]
#[inline(never)]
fn decide() -> bool {
    if STATE.compare_exchange(UNDECIDED, DECIDING, Ordering::AcqRel, Ordering::Acquire).is_err() {
        // Another thread is at it, or this one, further up.
        return STATE.load(Ordering::Acquire) == WATCHED;
    }
    let watched = start();
    STATE.store(if watched { WATCHED } else { ALONE }, Ordering::Release);
    watched
}

fn start() -> bool {
    if !find_variable(DIRECTORY, &mut PATHS.lock().directory) {
        return false;
    }
    if find_variable(NO_PATIENCE, &mut [0; 1024]) {
        handover::have_no_patience();
        atomics::have_no_patience();
    }
    if find_variable(RECORD_ALL, &mut [0; 1024]) {
        shadow::record_all();
    }
    if !planes::reserve() {
        refuse(NO_ADDRESS_SPACE);
        return false;
    }
    let host = host();
    (host.before)();
    if !open_ring() {
        return false;
    }
    // SAFETY: the handlers are safe to call at any fork.
    unsafe { pthread_atfork(None, None, Some(after_fork)) };
    (host.after)();
    true
}

/// Looks for a variable in the environment that the process was started with; false if it is not there, or empty. The first
/// hook may come before libc knows its environment, so the kernel is asked.
pub fn find_variable(name: &str, value: &mut Path) -> bool {
    let file = sys::call(sys::OPEN, [c"/proc/self/environ".as_ptr() as usize, 0o2_000_000, 0, 0, 0, 0]);
    if file < 0 {
        return false;
    }
    /// How much of a variable `NAME=value` was looked at.
    enum At {
        Name(usize),
        Value(usize),
        Other,
    }
    let mut buffer = [0u8; 4096];
    let mut at = At::Name(0);
    'reading: loop {
        let length =
            sys::call(sys::READ, [file as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0]);
        if length <= 0 {
            break;
        }
        for &byte in &buffer[..length as usize] {
            at = match at {
                At::Value(_) if byte == 0 => break 'reading,
                // Names of files in it have to fit as well.
                At::Value(length) if length < 900 => {
                    value[length] = byte;
                    At::Value(length + 1)
                }
                _ if byte == 0 => At::Name(0),
                At::Name(length) if length == name.len() && byte == b'=' => At::Value(0),
                At::Name(length) if name.as_bytes().get(length) == Some(&byte) => At::Name(length + 1),
                _ => At::Other,
            };
        }
    }
    sys::call(sys::CLOSE, [file as usize, 0, 0, 0, 0, 0]);
    matches!(at, At::Value(1..))
}

/// Tells the command why this process cannot be recorded. If that is impossible, it is said on standard error.
fn refuse(reason: &CStr) {
    let mut link = PATHS.lock().directory;
    let mut end = text_length(&link);
    for part in [b"/" as &[u8], &decimal(sys::process()), b".failed"] {
        append(&mut link, &mut end, part);
    }
    let made = sys::call(sys::SYMLINK, [reason.as_ptr() as usize, link.as_ptr() as usize, 0, 0, 0, 0]);
    if made < 0 {
        sys::complain(reason.to_str().unwrap_or("nothing is recorded"));
    }
}

/// Makes the file that the command will find and read; says if it cannot.
fn open_ring() -> bool {
    match make_ring() {
        Ok(()) => true,
        Err(reason) => {
            refuse(reason);
            false
        }
    }
}

fn make_ring() -> Result<(), &'static CStr> {
    let mut paths = PATHS.lock();
    let process = sys::process();
    for number in 0..10_000 {
        let mut name = paths.directory;
        let mut end = text_length(&name);
        for part in [b"/" as &[u8], &decimal(process), b".", &decimal(number)] {
            append(&mut name, &mut end, part);
        }
        let (hidden, visible) = (with_ending(&name, b".new"), with_ending(&name, b".ring"));
        // The visible name is taken by an earlier program of this process, if it executed this one.
        let taken = sys::call(sys::OPEN, [visible.as_ptr() as usize, 0o2_000_000, 0, 0, 0, 0]);
        if taken >= 0 {
            sys::call(sys::CLOSE, [taken as usize, 0, 0, 0, 0, 0]);
            continue;
        }
        let directory = &paths.directory[..text_length(&paths.directory)];
        let ring = match create(as_text(&hidden), reader(directory)) {
            Ok(ring) => ring,
            Err(Refused::Taken) => continue,
            Err(Refused::Because(reason)) => return Err(reason),
        };
        paths.name = name;
        drop(paths);
        stream::open(ring);
        renew_maps();
        sys::call(sys::RENAME, [hidden.as_ptr() as usize, visible.as_ptr() as usize, 0, 0, 0, 0]);
        return Ok(());
    }
    Err(c"the process has executed too many programs")
}

fn as_text(path: &Path) -> &CStr {
    CStr::from_bytes_until_nul(path).unwrap_or(c"")
}

/// Copies the memory map for the command, which needs it when this process is gone, or its libraries are. Says which copy it
/// is; the first is 0, and has no number in its name.
pub fn renew_maps() -> u32 {
    let name = PATHS.lock().name;
    let number = stream::header().map_or(0, |header| header.maps_renewed.load(Ordering::Relaxed));
    let (hidden, mut visible) = (with_ending(&name, b".some"), with_ending(&name, b".maps"));
    if number > 0 {
        visible = with_ending(&visible, &decimal(number));
    }
    let from = sys::call(sys::OPEN, [c"/proc/self/maps".as_ptr() as usize, 0o2_000_000, 0, 0, 0, 0]);
    let to =
        sys::call(sys::OPEN, [hidden.as_ptr() as usize, 0o1 | 0o100 | 0o1000 | 0o2_000_000, 0o600, 0, 0, 0]);
    if from >= 0 && to >= 0 {
        let mut buffer = [0u8; 4096];
        loop {
            let length =
                sys::call(sys::READ, [from as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0]);
            if length <= 0 {
                break;
            }
            sys::call(sys::WRITE, [to as usize, buffer.as_ptr() as usize, length as usize, 0, 0, 0]);
        }
        sys::call(sys::RENAME, [hidden.as_ptr() as usize, visible.as_ptr() as usize, 0, 0, 0, 0]);
    }
    for file in [from, to] {
        if file >= 0 {
            sys::call(sys::CLOSE, [file as usize, 0, 0, 0, 0, 0]);
        }
    }
    if let Some(header) = stream::header() {
        header.maps_renewed.store(number + 1, Ordering::Release);
    }
    number
}

/// A child of `fork` has one thread, and its own ring. What it shares with its parent is only what the
/// parent did before.
extern "C" fn after_fork() {
    if !has_started() {
        return;
    }
    stream::open(core::ptr::null_mut());
    shadow::reset_locks();
    planes::forget_silence();
    thread::reset_locks();
    thread::forget_others();
    (host().in_child)();
    PATHS.reset();
    thread::restart_serials();
    blocks::forget_labels();
    let thread = thread::current();
    if open_ring()
        && let Some(thread) = thread
    {
        thread.busy = 0;
        thread.start_over();
    }
}

/// The path of a file beside this process's ring, zero-terminated.
pub fn file_beside(ending: &[u8]) -> [u8; 1024] {
    with_ending(&PATHS.lock().name, ending)
}

/// How long a path is.
pub fn text_length(path: &Path) -> usize {
    path.iter().position(|&byte| byte == 0).unwrap_or(path.len())
}

/// Appends to a path, without zeros.
pub fn append(path: &mut Path, end: &mut usize, part: &[u8]) {
    for &byte in part.iter().filter(|&&byte| byte != 0) {
        path[*end] = byte;
        *end += 1;
    }
}

fn with_ending(name: &Path, ending: &[u8]) -> Path {
    let mut path = *name;
    let mut end = text_length(name);
    append(&mut path, &mut end, ending);
    path
}

/// The digits, behind zeros that [`append`] leaves out.
pub fn decimal(number: u32) -> [u8; 10] {
    let mut digits = [0; 10];
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    digits
}
