//! Which accesses to atomics need a record: those by which a thread learns something from another.
//!
//! Atomics need no lock to be shared, so nothing but the accesses themselves tells their order, and none of it may be lost. All the
//! same, most of them are a thread's own for long, or are read by many and written by nobody. Such an access is *silent*, like
//! a lock that stays in one hand: if it is ever asked about, it is where the next mark of its thread is (`handover.rs`).
//! For every 8 bytes, words of the filter's memory say who did something last:
//!
//! ```text
//! of writes = index (12) | period (28) | (4) | overtaken (1) | update (1) | always (1) | alone (1) | unnoted (1) | silenced (1)
//!                                      | read by (4) | variable (6) | recorded (1)
//! of reads  = index (12) | period (28) |  exclusive (1) | repeatable (1) | variable (6) | recorded (1)
//! ```
//!
//! - A write comes after the last write and after all reads since; a read after the last write. What the thread is behind
//!   already needs nothing. Otherwise the access is recorded, and so is the other one before, on behalf of its thread, if that is
//!   still where it was (`late.rs`) and no record has *overtaken* it. If not, the thread comes behind the other's mark.
//! - A thread notes its reads in the word of its index modulo 4. If another has that, the read is recorded, and the next write knows that it
//!   has to be recorded, too (*unnoted*).
//! - Words are about one variable. Should another one be in the same 8 bytes, it is recorded like all others, by the rules of
//!   `shadow.rs`, and so are those that are always to be recorded: updates that commute with each other, of which the
//!   command has to know every one, and what is no data.
//! - Where reads may be no more than hints, which only the command can tell, a variable has words from its first write on. Up to
//!   that all reads are recorded.
//! - A thread that reads a variable again, before anybody else has written to it, has nothing to come after, and only its own word of reads to
//!   change: where that is *repeatable*, it does so without the lock of the stripe ([`access_again`]). Where nobody else has even read it since
//!   the thread's own write, its word is *exclusive*, and it may write so, too. Others who come take these marks away first.
//! - The same memory may be accessed plainly. An atomic is *alone* from an access that has taken it over from all plain ones up to the
//!   next plain one.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::planes::{self, READERS, word_of_atomic, word_of_reader};
use crate::ring::Kind;
use crate::shadow::{self, Access, Comes, Need, WHEN};
use crate::thread::{self, Thread};
use crate::{handover, late, stream};

/// The access has a record of its own.
const RECORDED: u64 = 1;
/// Where in the 8 bytes the variable is, and the logarithm of how many bytes it has.
const VARIABLE: u64 = 0x3f << 1;
/// Of a word of reads: its thread may read again without the lock of the stripe.
const REPEATABLE: u64 = 1 << 7;
/// It may write again.
const EXCLUSIVE: u64 = 1 << 8;
const READ_BY: u64 = 0xf << 7;
const FIRST_READER: u64 = 1 << 7;
/// The command has not heard of all that was done to it.
const SILENCED: u64 = 1 << 11;
/// There is a recorded read that no word tells of.
const UNNOTED: u64 = 1 << 12;
/// Nobody has accessed the memory plainly since it was last taken over.
const ALONE: u64 = 1 << 13;
/// Never to be silent.
const ALWAYS: u64 = 1 << 14;
/// The last write was an update.
const UPDATE: u64 = 1 << 15;
/// Others that conflict with what the words tell of are on record.
const OVERTAKEN: u64 = 1 << 16;

/// Whether every read is meant.
static READS_ARE_MEANT: AtomicBool = AtomicBool::new(false);

/// No read is a hint that the command leaves out.
pub fn mean_all_reads() {
    READS_ARE_MEANT.store(true, Ordering::Relaxed);
}

/// So many accesses of a program are recorded in any case: reports about small programs tell of variables, not of marks.
static PATIENCE: AtomicU64 = AtomicU64::new(10_000);

/// Accesses may be silent from the start: for tests, which are short.
pub fn have_no_patience() {
    PATIENCE.store(0, Ordering::Relaxed);
}

/// How many accesses are recorded from now on, whatever they are.
pub fn patience() -> u64 {
    PATIENCE.load(Ordering::Relaxed)
}

#[inline(always)]
fn variable(address: usize, size: usize) -> u64 {
    ((address & 7) as u64) << 1 | u64::from(size.trailing_zeros()) << 4
}

/// Which of 8 bytes the variable of a word has.
#[inline(always)]
fn bytes_of(word: u64) -> u64 {
    bytes((word >> 1 & 7) as usize, 1 << (word >> 4 & 7))
}

#[inline(always)]
fn bytes(address: usize, size: usize) -> u64 {
    ((1 << size) - 1) << (address & 7)
}

/// Whether the variable of a word has a byte in common with another of the same 8 bytes.
#[inline(always)]
fn overlaps(word: u64, address: usize, size: usize) -> bool {
    word != 0 && bytes_of(word) & bytes(address, size) != 0
}

/// Whether an atomic has been taken over from all plain accesses, and there was none since.
#[inline(always)]
pub fn is_never_plain(address: usize, size: usize) -> bool {
    writes_to(address) & (ALONE | VARIABLE) == ALONE | variable(address, size)
}

/// Whether an access of this period covers a read.
#[inline(always)]
pub fn is_covered(thread: &Thread, address: usize, size: usize) -> bool {
    let this = variable(address, size);
    if writes_to(address) & (VARIABLE | ALONE | ALWAYS | SILENCED) == this | ALONE | SILENCED {
        let read = word_of_reader(thread.index as usize, address).load(Ordering::Relaxed);
        thread::is_since(read, thread.key) && read & VARIABLE == this
    } else {
        shadow::is_covered(thread, Access::Read, address, size)
    }
}

/// Under the lock of its stripe: what an access counts as. Updates commute until the value is read, and where a read
/// was left out, nobody but these words knows of it.
#[inline(always)]
pub fn as_used(kind: Kind, address: usize, size: usize) -> Kind {
    let word = if commutes(kind) { writes_to(address) } else { 0 };
    let is_used_otherwise = word & (SILENCED | ALWAYS | VARIABLE) == SILENCED | variable(address, size);
    if is_used_otherwise { Kind::Update } else { kind }
}

/// Under the lock of its stripe, before an access to at most 8 bytes takes effect: what it comes after is recorded, and it is
/// noted. True if it is to be recorded itself.
pub fn take_over(thread: &mut Thread, kind: Kind, address: usize, size: usize, place: usize) -> bool {
    if shadow::records_all() {
        return true;
    }
    let access = if kind == Kind::Read { Access::Read } else { Access::Write };
    if (address & 7) + size > 8 {
        return take_over_plainly(thread, kind, access, address, size);
    }
    let (writes, this) = (word_of_atomic(address), variable(address, size));
    let mut word = writes_to(address);
    let may_be_silent = !commutes(kind) && word & ALWAYS == 0;
    let is_this = word == 0 || word & VARIABLE == this;
    if may_be_silent && is_this && word & ALONE != 0 && is_noted(thread, access, word, address) {
        if word & SILENCED == 0 && kind != Kind::Write {
            writes.store(word | SILENCED, Ordering::Relaxed);
        }
        return false;
    }
    if !is_this {
        meet(thread, access, address, size, place);
        return take_over_plainly(thread, kind, access, address, size);
    }
    let mut is_recorded = word != 0 && come_after(thread, access, &mut word, address, place);
    if !may_be_silent || word & ALONE == 0 {
        is_recorded |= take_over_plainly(thread, kind, access, address, size);
    }
    if word == 0 && access == Access::Read && !READS_ARE_MEANT.load(Ordering::Relaxed) {
        return is_recorded;
    }
    planes::summarise_atomic(address);
    if !may_be_silent {
        if word & SILENCED != 0 {
            stream::record(thread, Kind::Read, size as u8, address as u64, place);
        }
        // What was silent so far stays noted.
        let kept = word & !(SILENCED | ALONE | VARIABLE);
        writes.store(kept | OVERTAKEN | ALWAYS | this, Ordering::Relaxed);
        return is_recorded;
    }
    if word & ALONE == 0 && shadow::leave_to_atomics(thread, access, address, size) {
        word |= ALONE;
    }
    if !is_recorded && !has_patience() {
        // A write does not keep updates from commuting.
        word |= if kind == Kind::Write { 0 } else { SILENCED };
    } else {
        is_recorded = true;
    }
    let is_recorded = note(thread, access, word & !VARIABLE | this, address, place, is_recorded);
    if !is_recorded {
        late::remember_place(thread, address, place);
        if kind == Kind::Update {
            writes.fetch_or(UPDATE, Ordering::Relaxed);
        }
    }
    is_recorded
}

/// Accesses a variable again that the running thread has accessed before, if nobody has done anything since that this would come after: see
/// *repeatable* and *exclusive*. False if it is not like that. From `begin` on, which is told what the word of writes says before and after, whoever
/// takes the mark away waits until the access is over.
#[inline(always)]
pub fn access_again(
    thread: &mut Thread,
    kind: Kind,
    address: usize,
    size: usize,
    place: usize,
    begin: impl FnOnce(u64, u64),
) -> bool {
    let this = variable(address, size);
    let before = writes_to(address);
    if before & (VARIABLE | ALONE | ALWAYS | SILENCED) != this | ALONE | SILENCED {
        return false;
    }
    let mark = if kind == Kind::Read { REPEATABLE } else { EXCLUSIVE };
    let reads = word_of_reader(thread.index as usize, address);
    let known = reads.load(Ordering::Relaxed);
    if known & (mark | VARIABLE) != mark | this || !thread.owns(known) {
        return false;
    }
    let update = if kind == Kind::Write { 0 } else { UPDATE };
    let written = thread.key | ALONE | SILENCED | read_by(thread) | update | this;
    begin(before, written);
    // Who sees the word may ask for the mark.
    handover::leave_out(thread, place);
    late::remember_place(thread, address, place);
    let noted = thread.key | known & (REPEATABLE | EXCLUSIVE) | this;
    reads.compare_exchange(known, noted, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        && (kind == Kind::Read || change(address, before, written))
}

/// A write that was made again was none, but a read. It is still under way.
pub fn was_read(address: usize, before: u64, written: u64) {
    change(address, written, before);
}

/// Changes what the word of writes says, unless somebody else has done so, who had waited in vain for the end of an access.
fn change(address: usize, from: u64, to: u64) -> bool {
    word_of_atomic(address).compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// Under the lock of the stripe, after an access: the thread may access the variable again without.
#[inline(always)]
pub fn let_repeat(thread: &Thread, address: usize) {
    let word = writes_to(address);
    if word & read_by(thread) == 0 {
        return;
    }
    let reads = word_of_reader(thread.index as usize, address);
    let known = reads.load(Ordering::Relaxed);
    if thread.owns(known) {
        let is_alone = thread.owns(word) && word & (READ_BY & !read_by(thread) | UNNOTED) == 0;
        let marks = if is_alone { REPEATABLE | EXCLUSIVE } else { REPEATABLE };
        reads.store(known & !EXCLUSIVE | marks, Ordering::Relaxed);
    }
}

/// The words of other threads' reads that an access would change or has to come after, and the marks that allow them not to wait for it.
pub fn marks_in_the_way(
    thread: &Thread,
    access: Access,
    address: usize,
) -> impl Iterator<Item = (&'static AtomicU64, u64)> {
    let word = writes_to(address);
    let own = thread.index as usize % READERS;
    let is_changed = move |reader| access == Access::Write || reader == own;
    // Where several have read, nobody's word is exclusive.
    let may_be_exclusive = (word & READ_BY).count_ones() == 1;
    let readers = (0..READERS).filter(move |&reader| {
        word & FIRST_READER << reader != 0 && (may_be_exclusive || is_changed(reader))
    });
    let words = readers.map(move |reader| {
        let marks = if is_changed(reader) { REPEATABLE | EXCLUSIVE } else { EXCLUSIVE };
        (word_of_reader(reader, address), marks)
    });
    words.filter(|(word, marks)| {
        let known = word.load(Ordering::Relaxed);
        known & marks != 0 && !thread.owns(known)
    })
}

/// Whether it is an update that may commute with others of its kind.
fn commutes(kind: Kind) -> bool {
    !matches!(kind, Kind::Read | Kind::Write | Kind::Update)
}

/// By the rules for all other accesses, of which none is silent.
fn take_over_plainly(thread: &mut Thread, kind: Kind, access: Access, address: usize, size: usize) -> bool {
    let comes = if commutes(kind) { Comes::Perhaps } else { Comes::After };
    let is_covered = shadow::take_over(thread, comes, access, address, size) == Need::None;
    if comes == Comes::Perhaps {
        // It does not stand for a read or a write, which would come after other updates.
        shadow::forget_own(thread, address, size);
    }
    // An update is more than the read and the write that may be covered.
    !is_covered || !matches!(kind, Kind::Read | Kind::Write)
}

#[inline]
fn has_patience() -> bool {
    let left = PATIENCE.load(Ordering::Relaxed);
    if left > 0 {
        PATIENCE.store(left - 1, Ordering::Relaxed);
    }
    left > 0
}

/// Whether the thread has done the same in this period, and nobody anything since that matters.
#[inline(always)]
fn is_noted(thread: &Thread, access: Access, word: u64, address: usize) -> bool {
    let read = word_of_reader(thread.index as usize, address).load(Ordering::Relaxed);
    match access {
        Access::Read => thread::is_since(read, thread.key),
        // A write is noted as a read as well, which others of the same group take over.
        Access::Write => {
            thread.owns(word)
                && word >= thread.key
                && thread.owns(read)
                && word & (READ_BY & !read_by(thread) | UNNOTED) == 0
        }
    }
}

/// The bit of a thread's group of readers.
#[inline(always)]
fn read_by(thread: &Thread) -> u64 {
    FIRST_READER << (thread.index as usize % READERS)
}

/// Notes an access, as recorded or not. True if it has to be recorded after all.
fn note(
    thread: &mut Thread,
    access: Access,
    word: u64,
    address: usize,
    place: usize,
    is_recorded: bool,
) -> bool {
    let (writes, reads) = (word_of_atomic(address), word_of_reader(thread.index as usize, address));
    let has_room = word & read_by(thread) == 0 || !is_new(thread, reads.load(Ordering::Relaxed));
    let is_recorded = is_recorded || access == Access::Read && !has_room;
    if !is_recorded {
        handover::leave_out(thread, place);
    }
    let noted = thread.key | word & VARIABLE | u64::from(is_recorded);
    let mut kept = word;
    if access == Access::Write {
        forget_reads(word, address);
        kept = noted | word & (ALONE | SILENCED);
    } else if is_recorded {
        kept |= OVERTAKEN;
    }
    if has_room || access == Access::Write {
        reads.store(noted, Ordering::Relaxed);
        kept |= read_by(thread);
    } else {
        kept |= UNNOTED;
    }
    writes.store(kept, Ordering::Relaxed);
    is_recorded
}

/// What was read before a write is before it, and nobody may take it for covered any more.
fn forget_reads(word: u64, address: usize) {
    for reader in (0..READERS).filter(|reader| word & FIRST_READER << reader != 0) {
        word_of_reader(reader, address).store(0, Ordering::Relaxed);
    }
}

/// What the word for 8 bytes says about writes. Where there are no atomics nobody looks: a page that is read before it is first
/// written to costs two faults, the second of which stops all other threads.
#[inline(always)]
pub fn writes_to(address: usize) -> u64 {
    if planes::may_have_atomics(address) { word_of_atomic(address).load(Ordering::Relaxed) } else { 0 }
}

/// A write was noted, after what the words had said before, and was none. What the thread did do is recorded, and all reads that are
/// forgotten come before that.
pub fn take_back(address: usize, before: u64) {
    word_of_atomic(address).store(before | UNNOTED | OVERTAKEN, Ordering::Relaxed);
}

/// Whether a thread does not come after what a word tells of.
#[inline(always)]
fn is_new(thread: &Thread, word: u64) -> bool {
    thread::index_of(word) != 0 && !thread.owns(word) && !shadow::is_after(thread, word & WHEN)
}

/// The thread comes after what conflicts with an access of its. True if there is anything that it did not come after before.
fn come_after(thread: &mut Thread, access: Access, word: &mut u64, address: usize, place: usize) -> bool {
    let readers = if access == Access::Write { *word & READ_BY } else { 0 };
    let readers = (0..READERS).filter(|reader| readers & FIRST_READER << reader != 0);
    let reads = readers.map(|reader| word_of_reader(reader, address).load(Ordering::Relaxed));
    let mut has_received = access == Access::Write && *word & UNNOTED != 0;
    let written = if *word & UPDATE == 0 { Kind::Write } else { Kind::Update };
    let accesses = core::iter::once((written, *word)).chain(reads.map(|read| (Kind::Read, read)));
    if has_received {
        receive(thread);
    }
    for (kind, other) in accesses {
        if !is_new(thread, other) {
            continue;
        }
        let by_record = other & RECORDED != 0 || record_for(other, kind, *word, address);
        if !has_received {
            has_received = true;
            receive(thread);
        }
        if by_record && kind != Kind::Read {
            *word |= RECORDED;
        }
        handover::come_behind_period(thread, other & WHEN, by_record, place);
    }
    has_received
}

fn receive(thread: &mut Thread) {
    late::record_bare(thread);
    thread.receive();
}

/// Records a silent access to the variable of a word on behalf of its thread. False if that has gone on, or others have.
fn record_for(other: u64, kind: Kind, word: u64, address: usize) -> bool {
    if word & OVERTAKEN != 0 {
        return false;
    }
    let (address, size) = ((address & !7) + (word >> 1 & 7) as usize, 1 << (word >> 4 & 7));
    late::act_for(other, kind, address, shadow::bytes_of(address, size))
}

/// Something is about to be done, under the lock of its stripe, that may be about another variable: a plain access, or one to other
/// bytes. True if it concerns the atomic: then it is to be recorded.
pub(crate) fn meet(thread: &mut Thread, access: Access, address: usize, size: usize, place: usize) -> bool {
    let writes = word_of_atomic(address);
    let mut word = writes.load(Ordering::Relaxed);
    if !overlaps(word, address, size) {
        return false;
    }
    // Whoever accesses it again from now on has to wait for this.
    marks_in_the_way(thread, access, address).for_each(|(reads, marks)| {
        reads.fetch_and(!marks, Ordering::AcqRel);
    });
    come_after(thread, access, &mut word, address, place);
    let left = if access == Access::Write && bytes_of(word) & !bytes(address, size) == 0 {
        // All that came before comes before this write, which is on record.
        forget_reads(word, address);
        word & (VARIABLE | ALWAYS | SILENCED)
    } else {
        word & !ALONE | OVERTAKEN
    };
    writes.store(left, Ordering::Relaxed);
    true
}

/// Whether any of these bytes, of one word of the filter, is part of an atomic, and whether there is one anywhere in that word.
#[inline(always)]
pub(crate) fn are_at(address: usize, size: usize) -> (bool, bool) {
    if !planes::may_have_atomics(address) {
        return (false, false);
    }
    let [this, next] = [address, address ^ 8].map(|address| word_of_atomic(address).load(Ordering::Relaxed));
    (overlaps(this, address, size), this | next != 0)
}

/// Accesses to what is at an address are always to be recorded from now on.
pub fn always_record(address: usize) {
    let stripe = shadow::stripe(address);
    stripe.lock();
    planes::summarise_atomic(address);
    word_of_atomic(address).fetch_or(ALWAYS, Ordering::Relaxed);
    stripe.unlock();
}
