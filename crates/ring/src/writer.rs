//! Puts records into a ring, inside the program.
//!
//! A full ring makes the program wait, as long as somebody reads: a reader that has closed the ring or has died is noticed, and
//! the program goes on without records. What is in the ring outlives the program, however that ends. A child of `fork` takes
//! another ring. Nothing here allocates, unwinds or changes `errno`.
//!
//! A slot that was reserved is filled before the thread does anything else: the reader waits for it. So a signal handler that
//! interrupts [`Writer::put`] must not make records, since it might wait for room behind that slot: callers keep it from doing so.

use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::{CAPACITY, FILE_BYTES, HEADER_BYTES, Header, Kind, LOW, MAGIC, Slot, sys};

/// How long to sleep while the ring is full, in microseconds: at first, and at most. Only after the longest is asked
/// whether anybody reads it at all.
const NAP: usize = 50;
const LONGEST_NAP: usize = 3200;
/// After how many such questions a ring that nobody has opened stays unread: at least half a minute.
const DOUBTS: u32 = 10_000;

/// Where a process puts its records.
#[derive(Debug)]
pub struct Writer(AtomicPtr<Header>);

impl Default for Writer {
    fn default() -> Self {
        Writer::new()
    }
}

impl Writer {
    /// Nowhere.
    pub const fn new() -> Writer {
        Writer(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// Into this ring from now on, which stays mapped for ever; null for nowhere.
    pub fn open(&self, ring: *mut Header) {
        self.0.store(ring, Ordering::Release);
    }

    /// The ring, if there is one.
    #[inline(always)]
    pub fn header(&self) -> Option<&'static Header> {
        // SAFETY: a ring stays mapped for ever.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Appends a record of a thread: [`what`], [`place`], and the block or second operand.
    #[inline(always)]
    pub fn put(&self, header: &Header, thread: u32, what: u64, place: u64, block: u64) {
        let number = header.head.0.fetch_add(1, Ordering::Relaxed);
        if !self.has_no_room(header, number) {
            fill(header, number, thread, what, place, block);
        }
    }

    /// Appends the text of a label in as many records as it takes.
    pub fn put_label(&self, header: &Header, thread: u32, hash: u64, text: &[u8]) {
        let mut rest = text;
        loop {
            let length = rest.len().min(16);
            let mut part = [0; 16];
            part[..length].copy_from_slice(&rest[..length]);
            rest = &rest[length..];
            let (a, b) = part.split_at(8);
            let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            self.put(header, thread, what(Kind::Label, length as u8, hash), word(a), word(b));
            if length < 16 {
                return;
            }
        }
    }

    /// Whether nobody will ever read a slot that was reserved. Waits until there is room for it.
    #[inline(always)]
    pub fn has_no_room(&self, header: &Header, number: u64) -> bool {
        number >= header.tail.0.load(Ordering::Acquire) + CAPACITY && !self.wait_for_room(header, number)
    }

    /// False if nobody reads any more: then nothing is recorded any more, and the program goes on.
    #[cold]
    #[inline(never)]
    fn wait_for_room(&self, header: &Header, number: u64) -> bool {
        let (mut nap, mut doubts) = (NAP, 0);
        while number >= header.tail.0.load(Ordering::Acquire) + CAPACITY {
            let mut is_read = header.closed.load(Ordering::Acquire) == 0;
            if nap == LONGEST_NAP {
                doubts += 1;
                is_read &= match header.reader.load(Ordering::Acquire) {
                    0 => doubts < DOUBTS,
                    reader => sys::exists(reader),
                };
            }
            if !is_read {
                self.open(core::ptr::null_mut());
                return false;
            }
            sys::sleep(nap);
            nap = (nap * 2).min(LONGEST_NAP);
        }
        true
    }
}

/// What a record says: the first word of a slot.
#[inline(always)]
pub const fn what(kind: Kind, size: u8, operand: u64) -> u64 {
    (kind as u64) << 56 | (size as u64) << 48 | operand & LOW
}

/// How many announced blocks are open around a record, and where it happened: the second word.
#[inline(always)]
pub const fn place(depth: usize, place: usize) -> u64 {
    (depth as u64) << 48 | place as u64 & LOW
}

/// Writes a slot that was reserved.
#[inline(always)]
pub fn fill(header: &Header, number: u64, thread: u32, what: u64, place: u64, block: u64) {
    // SAFETY: the slots follow the header, and the number is taken modulo how many there are.
    let slot = unsafe {
        let slots = (&raw const *header).byte_add(HEADER_BYTES).cast::<Slot>();
        &*slots.add((number % CAPACITY) as usize)
    };
    slot.what.store(what, Ordering::Relaxed);
    slot.place.store(place, Ordering::Relaxed);
    slot.block.store(block, Ordering::Relaxed);
    slot.turn.store((number / CAPACITY + 1) << 32 | u64::from(thread), Ordering::Release);
}

/// Why there is no ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There is a file of that name.
    Taken,
    /// In words, with what to do about it.
    Because(&'static CStr),
}

/// Why memory cannot be mapped.
pub const NO_ADDRESS_SPACE: &CStr =
    c"its shadow memory cannot be mapped: there is no address space left; raise the limit (ulimit -v)";

/// Makes a ring in a new file, under a name that nobody looks for yet.
///
/// # Errors
/// If the file is there already or cannot be made.
pub fn create(file: &CStr, reader: u32) -> Result<*mut Header, Refused> {
    const READ_WRITE_CREATE_EXCLUSIVE_CLOEXEC: usize = 0o2 | 0o100 | 0o200 | 0o2_000_000;
    const NO_DESCRIPTOR: isize = -24;
    const ALREADY_THERE: isize = -17;
    let path = file.as_ptr() as usize;
    let file = sys::call(sys::OPEN, [path, READ_WRITE_CREATE_EXCLUSIVE_CLOEXEC, 0o600, 0, 0, 0]);
    if file < 0 {
        return Err(match file {
            ALREADY_THERE => Refused::Taken,
            NO_DESCRIPTOR => {
                Refused::Because(c"no file descriptor is left for its ring; raise the limit (ulimit -n)")
            }
            _ => Refused::Because(
                c"its ring cannot be made in the run directory; set TMPDIR to a directory that it may write to",
            ),
        });
    }
    let file = file as usize;
    let room = make_room(file);
    let ring =
        if room.is_ok() { sys::map_shared(file, FILE_BYTES).cast() } else { core::ptr::null_mut::<Header>() };
    sys::call(sys::CLOSE, [file, 0, 0, 0, 0, 0]);
    if ring.is_null() {
        sys::call(sys::UNLINK, [path, 0, 0, 0, 0, 0]);
        return Err(Refused::Because(room.err().unwrap_or(NO_ADDRESS_SPACE)));
    }
    // SAFETY: the file is as long as this and nobody else knows it yet.
    unsafe {
        (*ring).magic = MAGIC;
        (*ring).program.store(sys::process(), Ordering::Relaxed);
        (*ring).reader.store(reader, Ordering::Relaxed);
    }
    Ok(ring)
}

/// Makes a file as long as a ring. Without room behind each byte, the program would die of writing to it.
fn make_room(file: usize) -> Result<(), &'static CStr> {
    const FILE_SIZE: usize = 1;
    const NOT_SUPPORTED: isize = -95;
    let mut limit = [u64::MAX; 2];
    sys::call(sys::GETRLIMIT, [FILE_SIZE, limit.as_mut_ptr() as usize, 0, 0, 0, 0]);
    if limit[0] < FILE_BYTES as u64 {
        // To try would end the program with SIGXFSZ.
        return Err(c"its files may not be as large as a ring; raise the limit (ulimit -f)");
    }
    let made = match sys::call(sys::FALLOCATE, [file, 0, 0, FILE_BYTES, 0, 0]) {
        NOT_SUPPORTED => sys::call(sys::FTRUNCATE, [file, FILE_BYTES, 0, 0, 0, 0]),
        made => made,
    };
    if made < 0 {
        Err(c"there is no room for its ring; make some in /dev/shm, or set TMPDIR to a directory with room")
    } else {
        Ok(())
    }
}

/// The process that reads the rings of a directory `…/atomvet-PROCESS-…`; 0 if the name does not say.
pub fn reader(directory: &[u8]) -> u32 {
    let name = directory.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let Some(number) = name.strip_prefix(b"atomvet-") else { return 0 };
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0u32, |number, digit| number.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')))
}
