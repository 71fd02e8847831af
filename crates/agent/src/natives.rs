//! The native methods of the hook class: the way from there into the recorder. The JVM finds them by their names; to
//! register them instead makes it say so on standard output.
//!
//! An access that is not covered holds its *stripe* from here until it is over, see `under_way.rs`.

use core::mem::offset_of;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::jni::{self, Env, Object};
use crate::ring::{Block, INITIALISED, INITIALISES, Kind, LOW};
use crate::shadow::{self, Access};
use crate::thread::{self, Bare, Frame, Heritage, Thread};
use crate::{atomics, blocks, handover, late, names, plan, planes, process, stream, sys, under_way, vm};

/// How many sites there can be: what the hook class has room for.
pub(crate) const MOST_SITES: usize = 1 << 26;
/// A word per site; see the hook class.
static SITE_WORDS: AtomicPtr<i64> = AtomicPtr::new(core::ptr::null_mut());
/// Behind the words, a bit per site for executions inside of others, and then one for those that are outermost.
const TO_SITE_BITS: usize = MOST_SITES * size_of::<i64>();
const SITE_BITS_BYTES: usize = MOST_SITES / 8;

/// Where the next objects go that are shared. Bases are addresses that the filter can tell apart.
static NEXT_BASE: AtomicU64 = AtomicU64::new(1 << 16);

/// Whose objects are that have no number in them; see the hook class.
static OWNERS: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
const OWNERS_BYTES: usize = 1 << 20;

/// Reserves what is shared with the hook class. False if there is no room.
pub(crate) fn reserve() -> bool {
    let (words, owners) = (sys::reserve(TO_SITE_BITS + 2 * SITE_BITS_BYTES), sys::reserve(OWNERS_BYTES));
    SITE_WORDS.store(words.cast(), Ordering::Release);
    OWNERS.store(owners, Ordering::Release);
    planes::be_dense();
    !words.is_null() && !owners.is_null() && under_way::reserve()
}

/// Sets the word of a site before anybody reaches it. False if there are too many.
pub(crate) fn set_site(site: u32, word: i64) -> bool {
    let words = SITE_WORDS.load(Ordering::Acquire);
    if words.is_null() || site as usize >= MOST_SITES {
        return false;
    }
    // SAFETY: inside the reserved memory.
    unsafe { words.add(site as usize).write_volatile(word) };
    true
}

/// What the hook class has to know of the recorder, to do without it what can be done so.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_constant")]
extern "system" fn constant(_: Env, _: Object, which: i32) -> i64 {
    (match which {
        0 => SITE_WORDS.load(Ordering::Acquire) as usize,
        1 => &raw const NEXT_BASE as usize,
        2 => OWNERS.load(Ordering::Acquire) as usize,
        3 => vm::options().elements.map_or(i32::MAX, |most| i32::try_from(most).unwrap_or(i32::MAX)) as usize,
        4 => usize::from(vm::options().empty),
        5 => SITE_WORDS.load(Ordering::Acquire) as usize + TO_SITE_BITS,
        6 => OWNERS_BYTES,
        7 => SITE_BITS_BYTES,
        10 => thread::INDEX_SHIFT as usize,
        11 => granule(),
        12 => shift(Access::Read) as usize,
        13 => shift(Access::Write) as usize,
        20 => offset_of!(Thread, key),
        21 => offset_of!(Thread, plane),
        22 => offset_of!(Thread, write_plane),
        23 => offset_of!(Thread, depth),
        24 => offset_of!(Thread, announced),
        25 => offset_of!(Thread, received),
        26 => offset_of!(Thread, bare_count),
        27 => offset_of!(Thread, frames),
        28 => offset_of!(Thread, newest),
        29 => offset_of!(Thread, birth),
        30 => size_of::<Frame>(),
        31 => offset_of!(Frame, key),
        32 => offset_of!(Frame, bare_count),
        33 => offset_of!(Frame, block),
        36 => offset_of!(Frame, entered),
        37 => ((Block::Function as u64) << 48) as usize,
        40 => offset_of!(Thread, locks),
        41 => offset_of!(Thread, bare),
        42 => size_of::<Bare>(),
        43 => offset_of!(Bare, address),
        44 => offset_of!(Bare, place),
        45 => offset_of!(Bare, key),
        46 => offset_of!(Bare, size),
        47 => offset_of!(Bare, writes),
        48 => offset_of!(Thread, recent),
        49 => thread::RECENT - 1,
        50 => thread::BARE,
        51 => offset_of!(Thread, seen),
        52 => offset_of!(Thread, announced_by_other),
        60 => under_way::stripes().0,
        61 => under_way::stripes().1,
        62 => thread::STEP as usize,
        63 => shadow::QUIET_SHIFT as usize,
        64 => shadow::LATE_READ as usize,
        65 => shadow::LATE_WRITE as usize,
        66 => shadow::KEPT_BY_LATE[0] as usize,
        67 => shadow::KEPT_BY_LATE[1] as usize,
        68 => under_way::STRIPE_SHIFT,
        69 => under_way::cells().0,
        70 => under_way::cells().1,
        71 => planes::summaries(),
        72 => shadow::QUIET as usize,
        // Where every access is recorded, nothing settles.
        73 if shadow::records_all() => isize::MAX as usize,
        73 => atomics::patience() as usize,
        _ => 0,
    }) as i64
}

/// How far the word for an address is behind that for address 0.
fn distance(access: Access, address: usize) -> usize {
    let place =
        |address| Thread::recording().map_or(0, |thread| shadow::place_of_word(thread, access, address));
    place(address) - place(0)
}

/// How many bytes a word of the filter is about.
fn granule() -> usize {
    (3..12).map(|bits| 1 << bits).find(|&size| distance(Access::Read, size) != 0).unwrap_or(8)
}

/// How many bits an address is shifted to the left to tell where its word is.
fn shift(access: Access) -> isize {
    let far = 1 << 40;
    distance(access, far).trailing_zeros() as isize - far.trailing_zeros() as isize
}

/// Threads that were started and have not been heard of yet, and all that were started, by the hook class's number.
struct Threads {
    unborn: HashMap<i64, Heritage>,
    serials: HashMap<i64, u32>,
}

static THREADS: Mutex<Option<Threads>> = Mutex::new(None);

fn with_threads<R>(act: impl FnOnce(&mut Threads) -> R) -> R {
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    act(threads.get_or_insert_with(|| Threads { unborn: HashMap::new(), serials: HashMap::new() }))
}

fn name_thread(env: Env, serial: u32, name: Object) {
    if !name.is_null() {
        names::write(&format!("t {serial} {}\n", names::text(&jni::string(env, name))));
    }
}

/// Makes the running thread known; 0 if it cannot be recorded.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_attach")]
extern "system" fn attach(env: Env, _: Object, number: i64, name: Object) -> i64 {
    if !process::has_started() {
        return 0;
    }
    let heritage = with_threads(|threads| threads.unborn.remove(&number));
    let is_new = heritage.is_none();
    let thread = match heritage {
        Some(heritage) => Thread::start_as(&heritage),
        None => Thread::recording(),
    };
    match thread {
        Some(thread) => {
            if is_new {
                name_thread(env, thread.serial, name);
            }
            with_threads(|threads| threads.serials.insert(number, thread.serial));
            under_way::begins(thread, number);
            &raw mut *thread as i64
        }
        None => 0,
    }
}

#[unsafe(export_name = "Java_java_lang_AtomvetHooks_isSilent")]
extern "system" fn is_silent(_: Env, _: Object) -> u8 {
    u8::from(!process::has_started())
}

/// Memory for the open blocks of a thread, by its index; it stays with that.
static OPEN_BLOCKS: [AtomicPtr<u32>; 1 << 14] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 1 << 14];

#[unsafe(export_name = "Java_java_lang_AtomvetHooks_blocksOf")]
extern "system" fn blocks_of(_: Env, _: Object, recorder: i64) -> i64 {
    // SAFETY: what `attach` gave.
    let index = unsafe { (*(recorder as *const Thread)).index } as usize;
    let mut memory = OPEN_BLOCKS[index].load(Ordering::Acquire);
    if memory.is_null() {
        memory = sys::reserve(thread::FRAMES * size_of::<u32>()).cast();
        OPEN_BLOCKS[index].store(memory, Ordering::Release);
    }
    if !memory.is_null() {
        // SAFETY: it has room for many, and nobody else uses it now. Site 0 is none.
        unsafe { memory.write_volatile(0) };
    }
    memory as i64
}

/// Whether a thread has ever entered a method of the application's.
fn has_entered(thread: &Thread) -> bool {
    let memory = OPEN_BLOCKS[thread.index as usize].load(Ordering::Acquire);
    // SAFETY: as above; the thread itself asks.
    !memory.is_null() && unsafe { memory.read_volatile() } != 0
}

/// What a thread needs to know to find out that it is the first one at an address: the bits of a summary for reads, and for writes
/// (its own, and those of others above), or where the number of those is that share its words.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_firstOf")]
extern "system" fn first_of(_: Env, _: Object, recorder: i64, which: i32) -> i64 {
    // SAFETY: what `attach` gave.
    let thread = unsafe { &*(recorder as *const Thread) };
    let bits = |access| {
        let (own, others) = planes::first_bits(thread, access);
        i64::from(own) | i64::from(others) << 16
    };
    match which {
        0 => bits(Access::Read),
        1 => bits(Access::Write),
        _ => &raw const *planes::members(thread) as i64,
    }
}

#[unsafe(export_name = "Java_java_lang_AtomvetHooks_countVirtual")]
extern "system" fn count_virtual(_: Env, _: Object) {
    static TOLD: AtomicU32 = AtomicU32::new(0);
    if TOLD.swap(1, Ordering::Relaxed) == 0 {
        names::write("u virtual threads\n");
    }
}

#[unsafe(export_name = "Java_java_lang_AtomvetHooks_countUnfollowed")]
extern "system" fn count_unfollowed(_: Env, _: Object) {
    static TOLD: AtomicU32 = AtomicU32::new(0);
    if TOLD.swap(1, Ordering::Relaxed) == 0 {
        names::write(
            "x objects behind very large structures: recorded only when a second thread uses them\n",
        );
    }
}

/// What an access is, in the numbers of the hook class: a read or a write, and whether to a volatile field.
const WRITES: i32 = 1;
const VOLATILE: i32 = 2;

/// An access that is not covered, about to be made, in blocks of which some are news. Gives the stripe that it holds.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_access")]
extern "system" fn access(
    env: Env,
    class: Object,
    address: i64,
    bytes: i32,
    site: i32,
    what: i32,
    blocks: i64,
    from: i32,
    to: i32,
) -> i64 {
    tell(env, class, blocks, from, to);
    if bytes == 0 {
        return 0;
    }
    let (size, place) = (bytes.count_ones() as usize, site as usize);
    let (access, kind) = match what & WRITES {
        0 => (Access::Read, Kind::Read),
        _ => (Access::Write, Kind::Write),
    };
    if what & VOLATILE != 0
        && let Some(end) = begin_again(kind, address as usize, size, place)
    {
        return end;
    }
    let held = under_way::hold(address);
    let address = address as usize;
    if what & VOLATILE != 0 {
        access_atomic(kind, address, size, place);
    } else if let Some(thread) = thread::current()
        && !shadow::is_covered(thread, access, address, size)
    {
        // First: whoever is here for the first time looks whether anybody else has been.
        planes::summarise(thread, access, address);
        under_way::stop_others(thread, access, address, size);
        under_way::stop_repeating(thread, access, address);
        shadow::uncovered(access, address, size, place);
    }
    held
}

/// An access to a volatile field or an atomic object, about to be made, that needs neither a record nor a stripe: where its end is to be told.
pub(crate) fn begin_again(kind: Kind, address: usize, size: usize, place: usize) -> Option<i64> {
    let thread = thread::current()?;
    if !shadow::enter(thread) {
        return None;
    }
    let begun = under_way::begin_again(thread, kind, address, size, place);
    thread.seen += u64::from(begun.is_some());
    thread.busy = 0;
    begun
}

/// Records an access to a volatile field or an atomic object, as far as that is needed. The thread holds its stripe.
pub(crate) fn access_atomic(kind: Kind, address: usize, size: usize, place: usize) {
    let Some(thread) = thread::current() else { return };
    thread.seen += 1;
    if kind == Kind::Read && atomics::is_covered(thread, address, size) || !shadow::enter(thread) {
        return;
    }
    let access = if kind == Kind::Read { Access::Read } else { Access::Write };
    if !atomics::is_never_plain(address, size) {
        under_way::stop_others(thread, access, address, size);
    }
    let stripe = under_way::lock_atomic(thread, access, address);
    let kind = atomics::as_used(kind, address, size);
    if atomics::take_over(thread, kind, address, size, place) {
        stream::record(thread, kind, size as u8, address as u64, place);
    }
    atomics::let_repeat(thread, address);
    stripe.unlock();
    thread.busy = 0;
}

/// Whether the running thread is alone in the memory of an object, in the lowest bit, and what tells who has written to it, in the others.
#[unsafe(export_name = "Java_java_lang_AtomvetSettled_company")]
extern "system" fn company(_: Env, _: Object, base: i64, bytes: i64) -> i64 {
    let Some(thread) = thread::current() else { return 0 };
    let (base, bytes) = (base as usize, bytes as usize);
    (planes::written(base, bytes) << 1 | u64::from(planes::is_alone(thread, base, bytes))) as i64
}

/// Has the recorder take an outermost execution of a method for another one, so that each is announced once: only one of
/// them may be a block. The command does not look at it.
const OUTERMOST: u64 = 1 << 32;

/// Blocks that were entered since the recorder was last told: their sites are at `memory`.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_tell")]
extern "system" fn tell(_: Env, _: Object, memory: i64, from: i32, to: i32) {
    for depth in from..to {
        // SAFETY: the hook class has written so many.
        let site = unsafe { *(memory as *const u32).add(depth as usize) };
        let outermost = if depth == 0 { OUTERMOST } else { 0 };
        blocks::enter((Block::Function as u64) << 48 | outermost | u64::from(site), 0, 0);
    }
}

/// So many blocks are open now.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_leave")]
extern "system" fn leave(_: Env, _: Object, depth: i32) {
    let Some(thread) = thread::current() else { return };
    while thread.depth > depth as usize {
        blocks::leave(thread);
    }
}

/// Records something about an object that synchronises.
pub(crate) fn record(kind: Kind, operand: u64, site: i32) {
    recording(|thread| record_of(thread, kind, operand, site));
}

/// Does something with the running thread that may make records.
fn recording(something: impl FnOnce(&mut Thread)) {
    if let Some(thread) = thread::current().filter(|thread| thread.busy == 0) {
        thread.busy = 1;
        something(thread);
        thread.busy = 0;
    }
}

fn record_of(thread: &mut Thread, kind: Kind, operand: u64, site: i32) {
    use Kind::{Acquire, AcquireShared, Barrier, Fork, Join, Observe, Post, Publish, Take, Wait};
    use Kind::{Release, ReleaseExclusive};
    if matches!(kind, Acquire | AcquireShared | Barrier | Join | Observe | Take | Wait) {
        late::record_bare(thread);
        thread.receive();
    } else if matches!(kind, Fork | Post | Publish) {
        // What no lock protects may be protected by this: others come after it, and after the accesses before it.
        late::record_bare(thread);
    }
    stream::record(thread, kind, 0, operand, site as usize);
    match kind {
        Acquire | AcquireShared => thread.locks += 1,
        Release | ReleaseExclusive => thread.locks = thread.locks.saturating_sub(1),
        _ => {}
    }
}

#[unsafe(export_name = "Java_java_lang_AtomvetHooks_synchronise")]
extern "system" fn synchronise(_: Env, _: Object, what: i32, base: i64, site: i32) {
    let (monitor, place) = (base as usize, site as usize);
    recording(|thread| match what {
        0 => handover::taken(thread, monitor, place),
        1 => handover::given_back(thread, monitor, place),
        2 => {
            // Nobody tells when it is over.
            handover::waits(thread, monitor, place);
            handover::always_record(monitor);
            record_of(thread, Kind::Wait, base as u64, site);
        }
        _ => {}
    });
}

#[unsafe(export_name = "Java_java_lang_AtomvetHooks_fork")]
extern "system" fn fork(env: Env, _: Object, number: i64, name: Object, site: i32) {
    let Some(thread) = thread::current().filter(|_| number >= 0) else { return };
    let heritage = Heritage::of(thread);
    let serial = heritage.serial;
    with_threads(|threads| threads.unborn.insert(number, heritage));
    name_thread(env, serial, name);
    record(Kind::Fork, u64::from(serial), site);
    // Records that the creator makes from now on do not come before the new thread.
    thread.receive();
}

#[unsafe(export_name = "Java_java_lang_AtomvetHooks_join")]
extern "system" fn join(_: Env, _: Object, number: i64, site: i32) {
    // Unless it did nothing that was seen, or was joined before.
    if let Some(serial) = with_threads(|threads| threads.serials.remove(&number)) {
        record(Kind::Join, u64::from(serial), site);
        if let Some(thread) = thread::current() {
            thread.has_joined(serial);
        }
    }
}

/// The running thread initialises a class from now on, or has done so.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_initialises")]
extern "system" fn initialises(_: Env, _: Object, is_over: i32, site: i32) {
    let Some(thread) = thread::current().filter(|thread| thread.busy == 0) else { return };
    thread.busy = 1;
    late::record_bare(thread);
    thread.receive();
    let size = if is_over == 0 { INITIALISES } else { INITIALISED };
    stream::record(thread, Kind::Split, size, 0, site as usize);
    thread.busy = 0;
}

/// The running thread ends.
pub(crate) fn thread_ends() {
    let Some(thread) = thread::current() else { return };
    thread.busy = 1;
    let has_entered = has_entered(thread);
    blocks::leave_all(thread);
    stream::record(thread, Kind::ThreadEnd, u8::from(has_entered), 0, 0);
    thread.end();
}

/// Gives a class a number.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_describe")]
extern "system" fn describe(_: Env, _: Object, class: Object, parent: i32) -> i32 {
    let number = next_class();
    match names::type_name(&jni::class_signature(vm::ti(), class)) {
        (name, Some(shift)) => names::write(&format!("a {number} {shift} {name}\n")),
        (name, None) => names::write(&format!("c {number} {parent} {name}\n")),
    }
    number
}

/// A number for a class.
pub(crate) fn next_class() -> i32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed) as i32
}

/// The fields that a class declares: name, descriptor and modifiers of each.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_fields")]
extern "system" fn fields(env: Env, _: Object, class: Object) -> Object {
    let fields = jni::class_fields(vm::ti(), class);
    let texts = fields
        .into_iter()
        .flat_map(|(name, descriptor, modifiers)| [name, descriptor, modifiers.to_string().into_bytes()]);
    jni::new_strings(env, &texts.collect::<Vec<_>>())
}

/// What the filter knows is kept for so many bytes of objects, the newest; older ones begin anew, once. Where objects are gone there are others
/// (`AtomvetBases`), so that few programs come that far: those that share millions between two collections. There it costs an order or
/// two of objects that were there first.
const REMEMBERED: u64 = 512 << 20;
const FORGOTTEN_AT_ONCE: u64 = 16 << 20;

#[cold]
fn forget_old(base: u64) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut from = NEXT.load(Ordering::Relaxed);
    while from + FORGOTTEN_AT_ONCE + REMEMBERED < base {
        let to = from + FORGOTTEN_AT_ONCE;
        match NEXT.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                planes::forget_accesses(from as usize, FORGOTTEN_AT_ONCE as usize);
                from = to;
            }
            Err(now) => from = now,
        }
    }
}

/// Another object is from now on where one was that is gone.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_newLife")]
extern "system" fn new_life(_: Env, _: Object, base: i64, bytes: i64) {
    if bytes > 0 {
        shadow::begin_anew(base as usize, bytes as usize);
        // Whether or not there were words: locks and barriers of the JDK have none.
        recording(|thread| stream::record_pair(thread, Kind::NewLife, base as u64, bytes as u64));
    }
}

/// Objects that the running thread shares will be there.
#[unsafe(export_name = "Java_java_lang_AtomvetObjects_prepare")]
extern "system" fn prepare(_: Env, _: Object, base: i64, bytes: i64) {
    if let Some(thread) = thread::current() {
        planes::expect_accesses(thread, base as usize, bytes as usize);
    }
}

/// An object is shared from now on.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_announce")]
extern "system" fn announce(_: Env, _: Object, base: i64, class: i32, is_class: i32) {
    let Some(thread) = thread::current().filter(|_| base != 0) else { return };
    if base as u64 > REMEMBERED {
        forget_old(base as u64);
    }
    let what = u64::from(class as u32) | u64::from(is_class as u32) << 32;
    stream::record_pair(thread, Kind::Object, base as u64 & LOW, what);
}

/// The name of what is at a displacement in the objects of a class, or among its static fields.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_named")]
extern "system" fn named(env: Env, _: Object, class: i32, displacement: i64, field: Object, is_static: i32) {
    let kind = if is_static != 0 { 'g' } else { 'i' };
    let name = names::text(&jni::string(env, field));
    names::write(&format!("{kind} {class} {displacement} {name}\n"));
}

#[unsafe(export_name = "Java_java_lang_AtomvetHooks_fieldOf")]
extern "system" fn field_of(env: Env, _: Object, site: i32) -> Object {
    let field = plan::field_of(site).unwrap_or_default();
    jni::new_strings(env, &field)
}

#[unsafe(export_name = "Java_java_lang_AtomvetHooks_loaderOf")]
extern "system" fn loader_of(env: Env, _: Object, site: i32) -> Object {
    let weak = plan::loader_of(site);
    if weak.is_null() { weak } else { jni::new_local(env, weak) }
}
