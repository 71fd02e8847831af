//! The native methods of the hook class: the way from there into the checker. The JVM finds them by their names; to
//! register them instead makes it say so on standard output.

use core::mem::offset_of;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use atomvet_live::access::{Access, Operation};
use atomvet_live::blocks::{Call, DEEPEST};
use atomvet_live::engine::Engine;
use atomvet_live::entered;
use atomvet_live::epoch::{Bytes, INDEXES};
use atomvet_live::rule::{fast_mask_of_read, fast_mask_of_write};
use atomvet_live::thread::{Hot, Thread};

use crate::jni::{self, Env, Object};
use crate::process::Found;
use crate::ring::{Block, ELSEWHERE};
use crate::{names, objects, plan, process, stripes, sys, thread, vm};

/// How many sites there can be: what the hook class has room for.
pub(crate) const MOST_SITES: usize = 1 << 26;
/// Bytes of a variable: one granule.
pub(crate) const VARIABLE: u64 = atomvet_live::shadow::GRANULE;

/// A word per site; see the hook class.
static SITE_WORDS: AtomicPtr<i64> = AtomicPtr::new(core::ptr::null_mut());
/// Where the next objects go.
static NEXT_BASE: AtomicU64 = AtomicU64::new(1 << 16);

/// Reserves what is shared with the hook class. False if there is no room.
pub(crate) fn reserve() -> bool {
    let words = sys::reserve(MOST_SITES * size_of::<i64>());
    SITE_WORDS.store(words.cast(), Ordering::Release);
    !words.is_null() && objects::reserve()
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

/// What the hook class has to know of the checker, to do without it what can be done so.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_constant")]
extern "system" fn constant(_: Env, _: Object, which: i32) -> i64 {
    match which {
        0 => SITE_WORDS.load(Ordering::Acquire) as i64,
        1 => vm::options().elements.map_or(i64::MAX >> 32, |most| i64::from(most.min(i32::MAX as u32))),
        2 => i64::from(vm::options().empty),
        3 => fast_mask_of_read(Bytes::ALL) as i64,
        4 => fast_mask_of_write(Bytes::ALL) as i64,
        5 => (offset_of!(Thread, hot) + offset_of!(Hot, now)) as i64,
        6 => (offset_of!(Thread, hot) + offset_of!(Hot, reads)) as i64,
        7 => (offset_of!(Thread, hot) + offset_of!(Hot, writes)) as i64,
        8 => &raw const NEXT_BASE as i64,
        9 => objects::classes(),
        10 => entered::HASH as i64,
        11 => i64::from(u64::BITS - entered::RECENT_BITS),
        12 => FUNCTION as i64,
        13 => ELSEWHERE as i64,
        _ => 0,
    }
}

/// Makes the running thread known; 0 if it cannot be followed.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_attach")]
extern "system" fn attach(env: Env, _: Object, key: i64, name: Object) -> i64 {
    let name = if name.is_null() { String::new() } else { names::text(&jni::string(env, name)) };
    thread::attach(key, name).map_or(0, |thread| &raw const *thread as i64)
}

#[unsafe(export_name = "Java_java_lang_AtomvetHooks_isSilent")]
extern "system" fn is_silent(_: Env, _: Object) -> u8 {
    u8::from(process::engine().is_none())
}

/// Memory for the open blocks of a thread, by its index; it stays with that.
static OPEN_BLOCKS: [AtomicPtr<u32>; INDEXES] = [const { AtomicPtr::new(core::ptr::null_mut()) }; INDEXES];

#[unsafe(export_name = "Java_java_lang_AtomvetHooks_blocksOf")]
extern "system" fn blocks_of(_: Env, _: Object, checked: i64) -> i64 {
    let Some((_, thread)) = of(checked) else { return 0 };
    let place = &OPEN_BLOCKS[thread.index()];
    if place.load(Ordering::Acquire).is_null() {
        place.store(sys::reserve(DEEPEST * size_of::<u32>()).cast(), Ordering::Release);
    }
    place.load(Ordering::Acquire) as i64
}

/// Where a thread counts the blocks that it enters.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_countsOf")]
extern "system" fn counts_of(_: Env, _: Object, checked: i64) -> i64 {
    of(checked).map_or(0, |(engine, thread)| engine.findings.0.recent(thread) as i64)
}

/// A thread enters a block that it does not count by itself, below so many open ones.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_count")]
extern "system" fn count(_: Env, _: Object, checked: i64, block: i64, depth: i32) {
    if let Some((engine, thread)) = of(checked) {
        engine.findings.0.count_anew(thread, depth as usize, block as u64, 0);
    }
}

/// Something ran that is not checked. It is said once.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_unwatched")]
extern "system" fn unwatched(env: Env, _: Object, what: Object) {
    static SAID: Mutex<BTreeSet<Vec<u8>>> = Mutex::new(BTreeSet::new());
    if what.is_null() {
        return;
    }
    let what = jni::string(env, what);
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(what.clone()) {
        names::write(&format!("u {}\n", names::text(&what)));
    }
}

/// The checker, and the thread that the hook class gives; none if it is 0.
fn of(checked: i64) -> Option<(&'static Engine<Found>, &'static Thread)> {
    // SAFETY: what `attach` returned, which lives for ever, or null.
    Some((process::engine()?, unsafe { (checked as *const Thread).as_ref()? }))
}

/// What an access is, in the numbers of the hook class: a read or a write, and whether to a volatile field.
const WRITES: i32 = 1;
const VOLATILE: i32 = 2;

/// An access that repeats none, about to be made, in blocks of which some are news. Returns what is to be set to 0 when it is over.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_access")]
extern "system" fn access(
    _: Env,
    _: Object,
    checked: i64,
    address: i64,
    site: i32,
    what: i32,
    blocks: i64,
    from: i32,
    to: i32,
) -> i64 {
    let Some((engine, thread)) = of(checked) else { return 0 };
    tell_blocks(engine, thread, blocks, from, to);
    let operation = if what & WRITES != 0 { Operation::Write } else { Operation::Read };
    let access = Access { address: address as u64, bytes: VARIABLE, site: site as u64, operation };
    if what & VOLATILE != 0 {
        let held = stripes::hold(address);
        engine.atomic(thread, &access, || operation, || ());
        return held;
    }
    if operation == Operation::Write {
        engine.write(thread, &access);
    } else {
        engine.read(thread, &access);
    }
    0
}

/// In the site of an open block: the initialiser of a class. Whoever comes first does what it does, whatever its block. So
/// blocks are split where it begins and ends. The checker knows it as a block without a name.
const INITIALISER: u32 = 1 << 31;
const NO_BLOCK: u64 = 0;

/// Above the site of a block.
const FUNCTION: u64 = (Block::Function as u64) << 48;

/// Of the open blocks, whose sites are at `memory`, the checker knows `from`; now there are `to`.
fn tell_blocks(engine: &Engine<Found>, thread: &Thread, memory: i64, from: i32, to: i32) {
    while thread.blocks().depth() > from as usize {
        let left = thread.blocks().innermost().map(|call| call.function);
        engine.end(thread);
        if left == Some(NO_BLOCK) {
            engine.split(thread);
        }
    }
    for depth in from..to {
        // SAFETY: the hook class has written so many.
        let site = unsafe { *(memory as *const u32).add(depth as usize) };
        let mut function = FUNCTION | thread::elsewhere() | u64::from(site);
        if site & INITIALISER != 0 {
            engine.split(thread);
            function = NO_BLOCK;
        }
        engine.begin(thread, &Call { function, site: 0, stack: 0 });
    }
}

#[unsafe(export_name = "Java_java_lang_AtomvetHooks_tell")]
extern "system" fn tell(_: Env, _: Object, checked: i64, memory: i64, from: i32, to: i32) {
    if let Some((engine, thread)) = of(checked) {
        tell_blocks(engine, thread, memory, from, to);
    }
}

/// The thread waits, or has waited.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_split")]
extern "system" fn split(_: Env, _: Object, checked: i64) {
    if let Some((engine, thread)) = of(checked) {
        engine.split(thread);
    }
}

#[unsafe(export_name = "Java_java_lang_AtomvetHooks_fork")]
extern "system" fn fork(_: Env, _: Object, checked: i64, key: i64) {
    if let Some((_, thread)) = of(checked) {
        thread::fork(thread, key);
    }
}

#[unsafe(export_name = "Java_java_lang_AtomvetHooks_isNotStarted")]
extern "system" fn is_not_started(_: Env, _: Object, key: i64) {
    thread::is_not_started(key);
}

#[unsafe(export_name = "Java_java_lang_AtomvetHooks_join")]
extern "system" fn join(_: Env, _: Object, checked: i64, key: i64, site: i32) {
    if let Some((_, thread)) = of(checked) {
        thread::join(thread, key, site);
    }
}

/// The running thread ends.
pub(crate) fn thread_ends() {
    thread::end();
}

/// Other objects are from now on where some were that are gone.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_newLife")]
extern "system" fn new_life(_: Env, _: Object, base: i64, bytes: i64) {
    if let Some(engine) = process::engine() {
        objects::forget(base as u64, bytes as u64);
        engine.new_life(base as u64, bytes as u64);
    }
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
