//! Threads: their start, their end, and who waited for it.

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use atomvet_live::epoch::Epoch;

use super::{checking, new_life};
use crate::lock::Guarded;
use crate::real::real;
use crate::ring::Kind;
use crate::thread::{self, Child, Thread};
use crate::{blocks, process, recording, sys};

type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

unsafe extern "C" {
    fn pthread_self() -> usize;
    fn pthread_getattr_np(thread: usize, attributes: *mut [u64; 16]) -> c_int;
    fn pthread_attr_getstack(attributes: *const [u64; 16], low: *mut usize, bytes: *mut usize) -> c_int;
    fn pthread_attr_destroy(attributes: *mut [u64; 16]) -> c_int;
    fn pthread_key_create(key: *mut u32, destructor: Option<unsafe extern "C" fn(*mut c_void)>) -> c_int;
    fn __errno_location() -> *mut c_int;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
}

/// What a thread needs to know when it starts. Its creator makes it, the thread takes it away.
#[derive(Clone, Copy)]
pub(crate) struct Birth {
    start: usize,
    argument: usize,
    child: Child,
    taken: bool,
}

/// What is known of a thread.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    handle: usize,
    /// Its number in records.
    serial: u32,
    /// Its last epoch; 0 while it runs.
    last: u64,
}

/// Births under way.
static NURSERY: Guarded<[Birth; 4096]> =
    Guarded::new([const { Birth { start: 0, argument: 0, child: Child::NONE, taken: false } }; 4096]);

/// Threads by their handles, which libc uses again.
static HANDLES: Guarded<[Known; HANDLE_ROOM]> =
    Guarded::new([Known { handle: 0, serial: 0, last: 0 }; HANDLE_ROOM]);
const HANDLE_ROOM: usize = 1 << 14;

/// Announces a thread that is about to be created: its place in the nursery. Nothing if the program is not checked.
pub(crate) fn announce(start: usize, argument: usize, place: usize) -> Option<(usize, u32)> {
    if !process::has_started() {
        return None;
    }
    let child = Thread::recording()?.at_work(|thread| {
        let child = thread.start_child();
        recording::synchronised(thread, Kind::Fork, child.serial as usize, place);
        child
    })?;
    let room = loop {
        let mut nursery = NURSERY.lock();
        if let Some(room) = nursery.iter().position(|birth| !birth.taken) {
            nursery[room] = Birth { start, argument, child, taken: true };
            break room;
        }
        drop(nursery);
        sys::sleep(50);
    };
    Some((room, child.serial))
}

/// Takes a birth out of the nursery.
pub(crate) fn born(room: usize) -> Birth {
    let mut nursery = NURSERY.lock();
    let birth = nursery[room];
    nursery[room].taken = false;
    birth
}

/// In the new thread, before anything else.
pub(crate) fn begin(birth: &Birth) {
    let Some(thread) = Thread::begin(birth.child) else { return };
    // SAFETY: always possible.
    remember(unsafe { pthread_self() }, birth.child.serial, 0);
    // The stack may have been another thread's.
    new_life(thread.stack().start, thread.stack().len());
}

impl Birth {
    pub(crate) fn start_and_argument(&self) -> (usize, usize) {
        (self.start, self.argument)
    }
}

unsafe extern "C" fn first_function(room: *mut c_void) -> *mut c_void {
    let birth = born(room as usize);
    begin(&birth);
    // SAFETY: what the creator asked for.
    unsafe { core::mem::transmute::<usize, Start>(birth.start)(birth.argument as *mut c_void) }
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn pthread_create(
    handle: *mut usize,
    attributes: usize,
    start: usize,
    argument: usize,
) -> c_int {
    naked_asm!("mov r8, [rsp]", "jmp {}", sym create)
}

extern "C" fn create(
    handle: *mut usize,
    attributes: usize,
    start: usize,
    argument: usize,
    place: usize,
) -> c_int {
    let real = real!(c"pthread_create": fn(*mut usize, usize, usize, usize) -> c_int);
    let Some((room, serial)) = announce(start, argument, place) else {
        // SAFETY: the caller's arguments.
        return unsafe { real(handle, attributes, start, argument) };
    };
    // SAFETY: the caller's arguments, but for the function, which calls the caller's.
    let result = unsafe { real(handle, attributes, first_function as *const () as usize, room) };
    created(room, serial, result, handle);
    result
}

/// After `create`: the creator knows the new thread's handle before anybody else does.
pub(crate) fn created(room: usize, serial: u32, result: c_int, handle: *mut usize) {
    if result == 0 {
        let mut handles = HANDLES.lock();
        // SAFETY: a successful creation has written it.
        let handle = unsafe { *handle };
        // It may have ended already: then its last epoch stays.
        if find_in(&handles, handle).is_none_or(|known| known.serial != serial) {
            remember_in(&mut handles, Known { handle, serial, last: 0 });
        }
    } else {
        born(room).child.is_not_started();
    }
}

/// Functions that wait for the end of a thread.
macro_rules! joining {
    ($($function:ident $body:ident $name:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $function(handle: usize, value: usize, a: usize, b: usize) -> c_int {
                naked_asm!("mov r8, [rsp]", "jmp {}", sym $body)
            }
            extern "C" fn $body(handle: usize, value: usize, a: usize, b: usize, place: usize) -> c_int {
                // Once it is joined, its handle may be another's.
                let serial = find(handle);
                // SAFETY: the caller's arguments, for the function that the caller meant.
                let result = unsafe { real!($name: fn(usize, usize, usize, usize) -> c_int)(handle, value, a, b) };
                if result == 0 {
                    joined(serial, place);
                }
                result
            }
        )*
    };
}

joining! {
    pthread_join join c"pthread_join";
    pthread_tryjoin_np tryjoin c"pthread_tryjoin_np";
    pthread_timedjoin_np timedjoin c"pthread_timedjoin_np";
    pthread_clockjoin_np clockjoin c"pthread_clockjoin_np";
}

/// A thread's end was waited for: open blocks are split there, and the thread comes after all that the other did.
pub(crate) fn joined(other: Option<Known>, place: usize) {
    let now = other.and_then(|other| find_in(&HANDLES.lock(), other.handle));
    checking(|engine, thread| {
        match other {
            Some(other) => recording::synchronised(thread, Kind::Join, other.serial as usize, place),
            None => recording::count_unknown_join(),
        }
        engine.split(thread.checked());
        if let Some(Known { last, .. }) = now.filter(|known| known.last != 0) {
            engine.join(thread.checked(), Epoch::from_word(last), place as u64);
        }
    });
}

fn remember(handle: usize, serial: u32, last: u64) {
    remember_in(&mut HANDLES.lock(), Known { handle, serial, last });
}

fn remember_in(handles: &mut [Known; HANDLE_ROOM], known: Known) {
    let start = known.handle / 64 % HANDLE_ROOM;
    for i in 0..HANDLE_ROOM {
        let entry = &mut handles[(start + i) % HANDLE_ROOM];
        if entry.handle == 0 || entry.handle == known.handle {
            *entry = known;
            return;
        }
    }
}

fn find_in(handles: &[Known; HANDLE_ROOM], handle: usize) -> Option<Known> {
    let start = handle / 64 % HANDLE_ROOM;
    let from_start = (0..HANDLE_ROOM).map(|i| handles[(start + i) % HANDLE_ROOM]);
    from_start.take_while(|known| known.handle != 0).find(|known| known.handle == handle)
}

/// The thread with this handle, if it is known.
pub(crate) fn find(handle: usize) -> Option<Known> {
    if process::has_started() { find_in(&HANDLES.lock(), handle) } else { None }
}

/// The running thread's stack; empty if it cannot be told.
pub(crate) fn stack_bounds() -> (usize, usize) {
    let mut attributes = [0u64; 16];
    let (mut low, mut bytes) = (0, 0);
    // SAFETY: libc's attributes take less than this.
    unsafe {
        let errno = *__errno_location();
        if pthread_getattr_np(pthread_self(), &raw mut attributes) == 0 {
            pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut bytes);
            pthread_attr_destroy(&raw mut attributes);
        }
        *__errno_location() = errno;
    }
    (low, low + bytes)
}

/// The key whose destructor tells that a thread ends, by whatever way.
static FAREWELL: AtomicU32 = AtomicU32::new(u32::MAX);
/// libc calls destructors again as long as one asks for it, this often. Others may use memory until the last.
const ROUNDS: u32 = 3;

pub(crate) fn prepare() {
    let mut key = 0;
    // SAFETY: the destructor lives as long as the process.
    if unsafe { pthread_key_create(&raw mut key, Some(farewell)) } == 0 {
        FAREWELL.store(key, Ordering::Release);
    }
}

/// The running thread will say when it ends.
pub(crate) fn say_farewell_later() {
    let key = FAREWELL.load(Ordering::Acquire);
    if key != u32::MAX {
        // SAFETY: the key was created. Any value will do, but for null.
        unsafe { pthread_setspecific(key, core::ptr::dangling::<c_void>()) };
    }
}

unsafe extern "C" fn farewell(_: *mut c_void) {
    let Some(thread) = thread::current() else { return };
    if thread.count_farewell() <= ROUNDS {
        return say_farewell_later();
    }
    blocks::leave_all(thread);
    thread.at_work(|thread| {
        recording::synchronised(thread, Kind::ThreadEnd, 0, 0);
        if let Some(last) = thread.end() {
            // SAFETY: always possible.
            remember(unsafe { pthread_self() }, thread.serial(), last.word());
        }
    });
}

/// In a new process: nobody holds anything.
pub(crate) fn reset_locks() {
    NURSERY.reset();
    HANDLES.reset();
}
