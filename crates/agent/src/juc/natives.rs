//! The native methods of `AtomvetCalls`: what calls of the JDK's methods record.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::jni::{self, Env, Object};
use crate::ring::Kind;
use crate::shadow::Access;
use crate::{juc, names, natives, stream, thread, under_way, vm};

/// What `AtomvetCalls` can record, by its numbers.
const KINDS: [Kind; 14] = [
    Kind::Read,
    Kind::Write,
    Kind::Update,
    Kind::Add,
    Kind::Acquire,
    Kind::AcquireShared,
    Kind::ReleaseExclusive,
    Kind::Release,
    Kind::Wait,
    Kind::Barrier,
    Kind::Post,
    Kind::Take,
    Kind::Publish,
    Kind::Observe,
];

#[unsafe(export_name = "Java_java_lang_AtomvetCalls_record")]
extern "system" fn record(_: Env, _: Object, what: i32, operand: i64, site: i32) {
    if let Some(&kind) = KINDS.get(what as usize) {
        natives::record(kind, operand as u64, site);
    }
}

/// A semaphore is seen for the first time.
#[unsafe(export_name = "Java_java_lang_AtomvetCalls_permits")]
extern "system" fn permits(_: Env, _: Object, base: i64, number: i32) {
    if let Some(thread) = thread::current() {
        stream::record_pair(thread, Kind::SemaphoreInit, base as u64, number.max(0) as u64);
    }
}

/// Begins an access to a variable that may write, of a kind that is known before or not: where its end is to be told. The hook class sees there
/// whether a record has yet to be made.
#[unsafe(export_name = "Java_java_lang_AtomvetCalls_begin")]
extern "system" fn begin(_: Env, _: Object, what: i32, address: i64, size: i32, site: i32) -> i64 {
    let again = KINDS.get(what as usize).and_then(|&kind| {
        let kind = if kind == Kind::Write { kind } else { Kind::Update };
        natives::begin_again(kind, address as usize, size as usize, site as usize)
    });
    if let Some(end) = again {
        return end;
    }
    let held = under_way::hold(address);
    // What is called may write to a variable that others access plainly, or again.
    if let Some(thread) = thread::current() {
        under_way::stop_others(thread, Access::Write, address as usize & !7, 8);
        under_way::stop_repeating(thread, Access::Write, address as usize);
    }
    held
}

/// Holds a variable again after a function of the program's has run; below 0 if it cannot be had soon.
#[unsafe(export_name = "Java_java_lang_AtomvetCalls_holdOrHolder")]
extern "system" fn hold_or_holder(_: Env, _: Object, address: i64) -> i64 {
    match under_way::hold_briefly(address) {
        0 => -1,
        held => held,
    }
}

/// A method of this class was called that is not seen. It is said once.
#[unsafe(export_name = "Java_java_lang_AtomvetCalls_unseen")]
extern "system" fn unseen(_: Env, _: Object, class: Object, name: i32) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let (class, _) = names::type_name(&jni::class_signature(vm::ti(), class));
    let Some(method) = juc::name(name) else { return };
    let call = format!("{class}.{method}");
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(call.clone()) {
        names::write(&format!("x {call}: what its calls do is not seen\n"));
    }
}

/// What was begun as a write was none.
#[unsafe(export_name = "Java_java_lang_AtomvetCalls_wasRead")]
extern "system" fn was_read(_: Env, _: Object, address: i64) {
    if let Some(thread) = thread::current() {
        under_way::was_read(thread, address as usize);
    }
}

#[unsafe(export_name = "Java_java_lang_AtomvetCalls_access")]
extern "system" fn access(_: Env, _: Object, what: i32, address: i64, size: i32, site: i32) {
    if let Some(&kind) = KINDS.get(what as usize) {
        natives::access_atomic(kind, address as usize, size as usize, site as usize);
    }
}

/// A number for the entries of a map with this key, as for a class.
#[unsafe(export_name = "Java_java_lang_AtomvetKeys_describeKey")]
extern "system" fn describe_key(env: Env, _: Object, map: Object, key: Object) -> i32 {
    let (map, _) = names::type_name(&jni::class_signature(vm::ti(), map));
    let number = natives::next_class();
    names::write(&format!("c {number} 0 {map}[{}]\n", names::text(&jni::string(env, key))));
    number
}

#[cfg(test)]
mod tests {
    use super::KINDS;

    #[test]
    fn the_hook_class_has_the_same_numbers() {
        let last = format!("private static final int R_OBSERVE = {};", KINDS.len() - 1);
        assert!(include_str!("../hooks/AtomvetCalls.java").contains(&last));
    }
}
