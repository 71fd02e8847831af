//! The native methods of `AtomvetCalls`: what calls of the JDK's methods mean to the checker.
//!
//! Only accesses conflict: of locks, semaphores, queues, tasks and the like nothing matters but that who gets something from
//! others may have waited for it, which splits blocks.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use atomvet_live::access::{Access, Operation};

use crate::jni::{self, Env, Object};
use crate::{juc, names, natives, process, stripes, thread, vm};

/// The operations that `AtomvetCalls` numbers from 0.
const OPERATIONS: [Operation; 4] = [Operation::Read, Operation::Write, Operation::Update, Operation::Add];

/// What it numbers otherwise, if that splits blocks.
const WAIT: i32 = 8;
const BARRIER: i32 = 9;
const TAKE: i32 = 11;

#[unsafe(export_name = "Java_java_lang_AtomvetCalls_record")]
extern "system" fn record(_: Env, _: Object, what: i32, _operand: i64, _site: i32) {
    if let (WAIT | BARRIER | TAKE, Some(thread), Some(engine)) = (what, thread::current(), process::engine())
    {
        engine.split(thread);
    }
}

/// A semaphore is seen for the first time.
#[unsafe(export_name = "Java_java_lang_AtomvetCalls_permits")]
extern "system" fn permits(_: Env, _: Object, _base: i64, _number: i32) {}

/// Begins an access to a variable that no lock has to protect: what is to be set to 0 when it is over.
#[unsafe(export_name = "Java_java_lang_AtomvetCalls_begin")]
extern "system" fn begin(_: Env, _: Object, _what: i32, address: i64, _size: i32, _site: i32) -> i64 {
    stripes::hold(address)
}

/// Holds a variable again after a function of the program's has run; or who has it, negated.
#[unsafe(export_name = "Java_java_lang_AtomvetCalls_holdOrHolder")]
extern "system" fn hold_or_holder(_: Env, _: Object, address: i64) -> i64 {
    stripes::hold_or_holder(address)
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

#[unsafe(export_name = "Java_java_lang_AtomvetCalls_wasRead")]
extern "system" fn was_read(_: Env, _: Object, _address: i64) {}

/// The access itself. The thread holds the stripe of the variable, or of the map that it is part of.
#[unsafe(export_name = "Java_java_lang_AtomvetCalls_access")]
extern "system" fn access(_: Env, _: Object, what: i32, address: i64, _size: i32, site: i32) {
    let (Some(&operation), Some(thread), Some(engine)) =
        (OPERATIONS.get(what as usize), thread::current(), process::engine())
    else {
        return;
    };
    let access = Access { address: address as u64, bytes: natives::VARIABLE, site: site as u64, operation };
    engine.atomic(thread, &access, || operation, || ());
}
