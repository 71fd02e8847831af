//! The process: whether it is under test, since when, and what becomes of that in a fork.
//!
//! Everything starts at the first hook that is reached, because hooks run before any constructor of ours may.

use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};

use atomvet_live::engine::{Config, Engine};
use atomvet_live::memory::{Place, Words};
use atomvet_live::table::{Counter, MAGIC, Table, WORDS};

use crate::interpose::{libraries, threads};
use crate::lock::Guarded;
use crate::ring::writer::{Refused, reader};
use crate::ring::{DIRECTORY, LIVE_CONFLICTS, LIVE_STRICT_ATOMICS, LIVE_STRICT_WAITS, RECORD_ALL};
use crate::{blocks, real, recording, sys, thread};

static STATE: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = 0;
const DECIDING: u8 = 1;
const WATCHED: u8 = 2;
const ALONE: u8 = 3;

/// A path, zero-terminated.
pub(crate) type Path = [u8; 1024];

/// The run directory and the name of this process's files, without their endings.
static PATHS: Guarded<Paths> = Guarded::new(Paths { directory: [0; 1024], name: [0; 1024] });

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

/// The checker; null before the program is under test. A child of whatever fork finds null, too: the kernel wipes the page. (A child
/// of `vfork` is in its parent's memory, and goes on there.)
static ENGINE: OwnPage = OwnPage(AtomicPtr::new(core::ptr::null_mut()));
/// The same in children, until they have a checker of their own.
static INHERITED: AtomicPtr<Engine<Table>> = AtomicPtr::new(core::ptr::null_mut());
/// The process whose checker it is.
static PROCESS: AtomicU32 = AtomicU32::new(0);

#[repr(align(4096))]
struct OwnPage(AtomicPtr<Engine<Table>>);

/// The checker.
#[inline(always)]
pub(crate) fn engine() -> Option<&'static Engine<Table>> {
    // SAFETY: null, or what `open` has put there, which lives for ever.
    let engine = unsafe { ENGINE.0.load(Ordering::Acquire).as_ref() };
    if engine.is_none() {
        notice_fork();
    }
    engine
}

/// Gives a child of a fork that libc does not know of (`_Fork`, `clone`, the system call) its own checker. The event at hand is
/// its parent's last.
#[cold]
#[inline(never)]
fn notice_fork() {
    if has_started() && PROCESS.load(Ordering::Relaxed) != sys::process() {
        after_fork();
    }
}

/// Has the kernel wipe [`ENGINE`] in children.
fn wipe_in_children() {
    const WIPE_ON_FORK: usize = 18;
    sys::call(sys::MADVISE, [(&raw const ENGINE).addr(), size_of::<OwnPage>(), WIPE_ON_FORK, 0, 0, 0]);
}

/// Whether the program is under test. Decides that when asked for the first time.
#[inline]
pub(crate) fn is_recording() -> bool {
    match STATE.load(Ordering::Acquire) {
        WATCHED => true,
        ALONE => false,
        _ => decide(),
    }
}

/// Whether it is certain already that the program is under test.
#[inline(always)]
pub(crate) fn has_started() -> bool {
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
    real::resolve_all();
    if !open() {
        return false;
    }
    // SAFETY: the handler is safe to call at any fork.
    unsafe { pthread_atfork(None, None, Some(after_fork)) };
    threads::prepare();
    libraries::notice();
    true
}

/// Makes the checker, whose findings the command will see.
fn open() -> bool {
    let words = match open_table() {
        Ok(words) => words,
        Err(reason) => return refuse(&PATHS.lock().directory, reason),
    };
    let is_set = |name| find_variable(name, &mut [0; 1024]);
    let config = Config {
        lock_conflicts: is_set(LIVE_CONFLICTS),
        split_at_waits: !is_set(LIVE_STRICT_WAITS),
        commuting_updates: !is_set(LIVE_STRICT_ATOMICS),
        ..Config::PROGRAM
    };
    let table = Table(words);
    table.counter(Counter::Process).store(u64::from(sys::process()), Ordering::Relaxed);
    let Some(engine) = Engine::new(&config, table) else {
        return refuse(&PATHS.lock().directory, NO_ADDRESS_SPACE);
    };
    let place = Place::new();
    let Some(engine) = place.fill(engine) else { return refuse(&PATHS.lock().directory, NO_ADDRESS_SPACE) };
    engine.findings.counter(Counter::Magic).store(MAGIC, Ordering::Release);
    wipe_in_children();
    PROCESS.store(sys::process(), Ordering::Relaxed);
    INHERITED.store((&raw const *engine).cast_mut(), Ordering::Relaxed);
    ENGINE.0.store((&raw const *engine).cast_mut(), Ordering::Release);
    // It lives for ever.
    core::mem::forget(place);
    renew_maps();
    if find_variable(RECORD_ALL, &mut [0; 1024]) && !open_ring() {
        return false;
    }
    show()
}

const NO_ADDRESS_SPACE: &CStr =
    c"its shadow memory cannot be mapped: there is no address space left; raise the limit (ulimit -v)";

/// Makes the ring of a program that is recorded, under the name that the command looks for. Says so if it cannot.
fn open_ring() -> bool {
    let Paths { directory, name } = &*PATHS.lock();
    let (hidden, visible) = (with_ending(name, b".ring-new"), with_ending(name, b".ring"));
    match recording::open(as_text(&hidden), reader(&directory[..text_length(directory)])) {
        Ok(()) => {
            let names = [hidden.as_ptr() as usize, visible.as_ptr() as usize, 0, 0, 0, 0];
            sys::call(sys::RENAME, names) == 0
        }
        Err(Refused::Taken) => false,
        Err(Refused::Because(reason)) => refuse(directory, reason),
    }
}

/// Tells the command why this process is not checked, or not recorded. If that is impossible, it is said on standard error.
fn refuse(directory: &Path, reason: &CStr) -> bool {
    let mut link = *directory;
    let mut end = text_length(&link);
    for part in [b"/" as &[u8], &decimal(sys::process()), b".failed"] {
        append(&mut link, &mut end, part);
    }
    let made = sys::call(sys::SYMLINK, [reason.as_ptr() as usize, link.as_ptr() as usize, 0, 0, 0, 0]);
    if made < 0 {
        sys::complain(reason.to_str().unwrap_or("the program is not checked"));
    }
    false
}

fn as_text(path: &Path) -> &CStr {
    CStr::from_bytes_until_nul(path).unwrap_or(c"")
}

/// Creates the file of findings under a name that nobody looks at yet.
fn open_table() -> Result<Words, &'static CStr> {
    let mut paths = PATHS.lock();
    let process = sys::process();
    for number in 0..10_000 {
        let mut name = paths.directory;
        let mut end = text_length(&name);
        for part in [b"/" as &[u8], &decimal(process), b".", &decimal(number)] {
            append(&mut name, &mut end, part);
        }
        let (hidden, visible) = (with_ending(&name, b".new"), with_ending(&name, b".live"));
        const READ_WRITE_CREATE_EXCLUSIVE_CLOEXEC: usize = 0o2 | 0o100 | 0o200 | 0o2_000_000;
        const ALREADY_THERE: isize = -17;
        // The visible name is taken by an earlier program of this process, if it executed this one.
        let taken = sys::call(sys::OPEN, [visible.as_ptr() as usize, 0o2_000_000, 0, 0, 0, 0]);
        if taken >= 0 {
            sys::call(sys::CLOSE, [taken as usize, 0, 0, 0, 0, 0]);
            continue;
        }
        let flags = READ_WRITE_CREATE_EXCLUSIVE_CLOEXEC;
        let file = sys::call(sys::OPEN, [hidden.as_ptr() as usize, flags, 0o600, 0, 0, 0]);
        if file == ALREADY_THERE {
            continue;
        }
        if file < 0 {
            const NO_DESCRIPTOR: isize = -24;
            return Err(match file {
                NO_DESCRIPTOR => c"no file descriptor is left for its findings; raise the limit (ulimit -n)",
                _ => c"its findings have no place in the run directory; set TMPDIR to a directory that it may write to",
            });
        }
        let file = file as usize;
        let room = make_room(file);
        let memory = if room.is_ok() { sys::map_shared(file, WORDS * 8) } else { core::ptr::null_mut() };
        sys::call(sys::CLOSE, [file, 0, 0, 0, 0, 0]);
        if memory.is_null() {
            sys::call(sys::UNLINK, [hidden.as_ptr() as usize, 0, 0, 0, 0, 0]);
            return Err(room.err().unwrap_or(NO_ADDRESS_SPACE));
        }
        paths.name = name;
        // SAFETY: mapped for ever, zeroed, and as long as this.
        return Ok(unsafe { Words::from_mapped(memory.cast(), WORDS) });
    }
    Err(c"the process has executed too many programs")
}

/// Makes a file as long as a table.
fn make_room(file: usize) -> Result<(), &'static CStr> {
    const FILE_SIZE: usize = 1;
    let mut limit = [u64::MAX; 2];
    sys::call(sys::GETRLIMIT, [FILE_SIZE, limit.as_mut_ptr() as usize, 0, 0, 0, 0]);
    if limit[0] < WORDS as u64 * 8 {
        // To try would end the program with SIGXFSZ.
        return Err(c"its files may not be as large as a table of findings; raise the limit (ulimit -f)");
    }
    // Pages take room only once they are written. If there is none by then, the program dies of it; so there has to be enough
    // for all of them now.
    let mut figures = [0u64; 16];
    let known = sys::call(sys::FSTATFS, [file, figures.as_mut_ptr() as usize, 0, 0, 0, 0]) == 0;
    let [_, block, _, _, available, ..] = figures;
    if known && available.saturating_mul(block) < WORDS as u64 * 8 {
        return Err(NO_ROOM);
    }
    match sys::call(sys::FTRUNCATE, [file, WORDS * 8, 0, 0, 0, 0]) {
        0 => Ok(()),
        _ => Err(NO_ROOM),
    }
}

const NO_ROOM: &CStr =
    c"there is no room for its findings; make some in /dev/shm, or set TMPDIR to a directory with room";

/// Gives the file of findings the name that the command looks for.
fn show() -> bool {
    let name = PATHS.lock().name;
    let (hidden, visible) = (with_ending(&name, b".new"), with_ending(&name, b".live"));
    sys::call(sys::RENAME, [hidden.as_ptr() as usize, visible.as_ptr() as usize, 0, 0, 0, 0]) == 0
}

/// Copies the memory map for the command, which needs it when this process is gone, or its libraries are. Returns the number
/// of the copy; the first is 0, and has no number in its name.
pub(crate) fn renew_maps() -> u32 {
    let Some(engine) = engine() else { return 0 };
    let name = PATHS.lock().name;
    let number = engine.findings.counter(Counter::Maps).fetch_add(1, Ordering::AcqRel) as u32;
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
    number
}

/// A child of `fork` has one thread, and a checker of its own that knows nothing.
extern "C" fn after_fork() {
    if !has_started() {
        return;
    }
    PROCESS.store(sys::process(), Ordering::Relaxed);
    ENGINE.0.store(core::ptr::null_mut(), Ordering::Release);
    if thread::is_at_work() {
        // The handler of a signal has interrupted the parent's checker, which goes on in the child after it, for the last time.
        STATE.store(ALONE, Ordering::Release);
        return sys::complain("a signal handler forked in the middle of a check; its child is not checked");
    }
    // What the parent's other threads held, nobody holds here.
    PATHS.reset();
    threads::reset_locks();
    libraries::reset_locks();
    thread::forget_others();
    blocks::forget_labels();
    recording::forget();
    let inherited = INHERITED.swap(core::ptr::null_mut(), Ordering::Relaxed);
    if !inherited.is_null() {
        // The address space has no room for the shadow memory of two.
        // SAFETY: the only thread there is has just forgotten its place in it, and nothing else refers to it.
        unsafe { inherited.drop_in_place() };
    }
    if !open() {
        STATE.store(ALONE, Ordering::Release);
    }
}

/// Looks for a variable in the environment that the process was started with; false if it is not there, or empty. The first
/// hook may come before libc knows its environment, so the kernel is asked.
pub(crate) fn find_variable(name: &str, value: &mut Path) -> bool {
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
pub(crate) fn text_length(path: &Path) -> usize {
    path.iter().position(|&byte| byte == 0).unwrap_or(path.len())
}

pub(crate) fn append(path: &mut Path, end: &mut usize, part: &[u8]) {
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
pub(crate) fn decimal(number: u32) -> [u8; 10] {
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
