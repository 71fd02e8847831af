//! Records of all that happens, in a ring that the command reads, if it asks for them ([`RECORD_ALL`](crate::ring::RECORD_ALL)).
//!
//! The checker judges as it always does. Nothing is left out: the fast paths are given a thread whose epoch no stamp has, so that
//! every access comes by here, and no test for this mode stands in them.
//!
//! **Order.** A record of an access is made before the access, that of a release before it, that of an acquire behind it. So
//! records of accesses that do not race are in the order of the accesses. An atomic operation is recorded under the stripe of
//! its granule, which the thread holds until the operation is done.
//!
//! **Blocks.** A begin is recorded at once. Every record says how many blocks are open around it, which tells the ends.

use core::mem::offset_of;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use atomvet_live::access::Operation;
use atomvet_live::epoch::{Bytes, Epoch, LAST_TIME, Stamp};
use atomvet_live::thread::{Hot, Thread as Checked};

use crate::ring::writer::{Refused, Writer, create, place as place_of, what};
use crate::ring::{ATOMIC, Header, Kind};
use crate::thread::{self, Thread};

static WRITER: Writer = Writer::new();

/// How many blocks a record can count. What is entered deeper belongs to the innermost of them.
const DEEPEST: usize = u16::MAX as usize;
/// The longest access whose length is its record's size.
const LONGEST: usize = 16;

/// As [`Hot`], with an epoch that no stamp has: index 0 is nobody's. The planes are those of any thread.
#[repr(C)]
struct Never {
    now: AtomicU64,
    reads: AtomicPtr<AtomicU64>,
    writes: AtomicPtr<AtomicU64>,
}

const _: () = assert!(
    size_of::<Never>() == size_of::<Hot>()
        && offset_of!(Never, now) == offset_of!(Hot, now)
        && offset_of!(Never, reads) == offset_of!(Hot, reads)
        && offset_of!(Never, writes) == offset_of!(Hot, writes)
);

static NEVER: Never = Never {
    now: AtomicU64::new(0),
    reads: AtomicPtr::new(core::ptr::null_mut()),
    writes: AtomicPtr::new(core::ptr::null_mut()),
};

/// Whether everything is recorded.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    WRITER.header().is_some()
}

/// What the fast paths are to compare with: the thread, or in a recording what nothing compares equal with.
pub(crate) fn seen_by_fast_paths(thread: &Checked) -> *const Checked {
    if !is_on() {
        return thread;
    }
    NEVER.now.store(Stamp::new(Epoch::new(0, LAST_TIME), Bytes::ALL).0, Ordering::Relaxed);
    NEVER.reads.store(thread.hot.reads.cast_mut(), Ordering::Relaxed);
    NEVER.writes.store(thread.hot.writes.cast_mut(), Ordering::Relaxed);
    // The fast paths look at nothing but `hot`, which is the first field.
    (&raw const NEVER).cast()
}

/// Makes the ring in a file of this name, for this reader.
pub(crate) fn open(file: &core::ffi::CStr, reader: u32) -> Result<(), Refused> {
    create(file, reader).map(|ring| WRITER.open(ring))
}

/// In a new process: the ring is the parent's.
pub(crate) fn forget() {
    WRITER.open(core::ptr::null_mut());
}

#[inline(always)]
fn put(header: &Header, thread: &Thread, what: u64, place: usize, second: u64) {
    let depth = thread.checked().blocks().depth().min(DEEPEST);
    WRITER.put(header, thread.serial(), what, place_of(depth, place), second);
}

/// An access that is about to be made. The thread is busy.
#[inline(always)]
pub(crate) fn accessed(thread: &Thread, operation: Operation, address: usize, bytes: usize, place: usize) {
    if let Some(header) = WRITER.header() {
        record_access(header, thread, kind(operation), (address, bytes, 0), place);
    }
}

/// The same for an atomic operation, under the stripe of its granule.
#[inline(always)]
pub(crate) fn atomic(thread: &Thread, operation: Operation, address: usize, bytes: usize, place: usize) {
    if let Some(header) = WRITER.header() {
        record_access(header, thread, kind(operation), (address, bytes, ATOMIC), place);
    }
}

#[inline(never)]
fn record_access(
    header: &Header,
    thread: &Thread,
    kind: Kind,
    (address, bytes, flag): (usize, usize, u8),
    place: usize,
) {
    let (size, second) = if bytes <= LONGEST { (bytes as u8, 0) } else { (0, bytes as u64) };
    if bytes > 0 {
        put(header, thread, what(kind, size | flag, address as u64), place, second);
    }
}

fn kind(operation: Operation) -> Kind {
    match operation {
        Operation::Read => Kind::Read,
        Operation::Write => Kind::Write,
        Operation::Update => Kind::Update,
        Operation::Add => Kind::Add,
        Operation::Or => Kind::Or,
        Operation::And => Kind::And,
        Operation::Xor => Kind::Xor,
        Operation::Min => Kind::Min,
        Operation::Max => Kind::Max,
        Operation::Unknown | Operation::Lock | Operation::SharedLock | Operation::Fork | Operation::Join => {
            Kind::Nothing
        }
    }
}

/// A synchronisation. The thread is busy.
#[inline]
pub(crate) fn synchronised(thread: &Thread, kind: Kind, object: usize, place: usize) {
    if let Some(header) = WRITER.header() {
        put(header, thread, what(kind, 0, object as u64), place, 0);
    }
}

/// Something with two operands that is not about any block. The thread is busy.
pub(crate) fn pair(thread: &Thread, kind: Kind, first: u64, second: u64) {
    if let Some(header) = WRITER.header() {
        WRITER.put(header, thread.serial(), what(kind, 0, first), 0, second);
    }
}

/// A block that is about to be entered. The thread is busy.
#[inline(always)]
pub(crate) fn entering(thread: &Thread, block: u64, place: usize) {
    if let Some(header) = WRITER.header() {
        record_block(header, thread, block, place);
    }
}

#[inline(never)]
fn record_block(header: &Header, thread: &Thread, block: u64, place: usize) {
    if thread.checked().blocks().depth() < DEEPEST {
        put(header, thread, what(Kind::Nothing, 0, 0), place, block);
    }
}

/// The text of a label.
pub(crate) fn label(hash: u64, text: &[u8]) {
    if let (Some(header), Some(thread)) = (WRITER.header(), thread::current()) {
        thread.at_work(|thread| WRITER.put_label(header, thread.serial(), hash, text));
    }
}

/// A thread that could not be followed.
pub(crate) fn count_lost_thread() {
    count(|header| &header.lost_threads);
}

/// An access in a signal handler that interrupted this library.
pub(crate) fn count_lost_in_handler() {
    count(|header| &header.lost_in_handlers);
}

/// A join of a thread that started unseen.
pub(crate) fn count_unknown_join() {
    count(|header| &header.unknown_joins);
}

fn count(counter: impl FnOnce(&Header) -> &AtomicU64) {
    if let Some(header) = WRITER.header() {
        counter(header).fetch_add(1, Ordering::Relaxed);
    }
}
