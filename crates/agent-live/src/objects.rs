//! What is at a synthetic address: objects, static fields, entries of maps.
//!
//! The hook class writes the number of each object's class where its base is, into memory that only this process has. When something was
//! found, the objects of its steps are written to the file of names, as they are then: later others may be in their places.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use atomvet_live::engine::Config;
use atomvet_live::found::Finding;

use crate::jni::{self, Env, Object};
use crate::{names, sys, thread, vm};

/// In the number of a class: its static fields, and not one of its objects.
const STATICS: u32 = 1 << 31;

/// By address, a word for each granule: the class of what begins there, 0 if nothing does.
static CLASSES: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());

/// Reserves the words. False if there is no room.
pub(crate) fn reserve() -> bool {
    let words = sys::reserve(1 << Config::PROGRAM.address_bits);
    CLASSES.store(words.cast(), Ordering::Release);
    !words.is_null()
}

/// Where the words are.
pub(crate) fn classes() -> i64 {
    CLASSES.load(Ordering::Acquire) as i64
}

/// What begins at an address or before: where, and its class.
fn around(address: u64) -> Option<(u64, u32)> {
    let words = CLASSES.load(Ordering::Acquire);
    let mut granules = (0..=address >> 2).rev().map(|granule| {
        // SAFETY: there is a word for each address that shadow memory has room for, and stamps are of no others.
        (granule << 2, unsafe { &*words.add(granule as usize) }.load(Ordering::Relaxed))
    });
    granules.find(|&(_, class)| class != 0)
}

/// Objects that were named: by address, which of their class they are.
#[derive(Default)]
struct Named {
    numbers: BTreeMap<u64, u32>,
    of_class: HashMap<u32, u32>,
}

static NAMED: Mutex<Option<Named>> = Mutex::new(None);

fn with_named<R>(act: impl FnOnce(&mut Named) -> R) -> R {
    act(NAMED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// Writes down what the addresses and threads of a finding mean.
pub(crate) fn name(finding: &Finding) {
    let mut lines = String::new();
    let mut threads = vec![finding.thread];
    let mut bases = BTreeMap::new();
    for step in &finding.steps {
        threads.extend([step.from.index(), step.to]);
        for access in [step.from_access, step.to_access] {
            if access.bytes != 0 && access.address >> Config::PROGRAM.address_bits == 0 {
                bases.extend(around(access.address));
            }
        }
    }
    let number = finding.number;
    for (base, class) in bases {
        // A text in memory can be written.
        let _ = if class & STATICS != 0 {
            writeln!(lines, "j {number} {base} {} 0", class & !STATICS)
        } else {
            writeln!(lines, "j {number} {base} {class} {}", number_of(base, class))
        };
    }
    threads.sort_unstable();
    threads.dedup();
    for index in threads {
        if let Some(name) = thread::name(index) {
            let _ = writeln!(lines, "h {number} {index} {name}");
        }
    }
    names::write(&lines);
}

/// Which of its class an object is.
fn number_of(base: u64, class: u32) -> u32 {
    with_named(|named| {
        let Named { numbers, of_class } = named;
        *numbers.entry(base).or_insert_with(|| {
            let count = of_class.entry(class).or_default();
            *count += 1;
            *count
        })
    })
}

/// Other objects will be at these addresses.
pub(crate) fn forget(base: u64, bytes: u64) {
    with_named(|named| {
        let gone: Vec<u64> = named.numbers.range(base..base + bytes).map(|(&base, _)| base).collect();
        for base in gone {
            named.numbers.remove(&base);
        }
    });
}

/// Gives a class a number.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_describe")]
extern "system" fn describe(_: Env, _: Object, class: Object, parent: i32) -> i32 {
    let number = next_class();
    match names::type_name(&jni::class_signature(vm::ti(), class)) {
        (name, Some(_)) => names::write(&format!("r {number} {name}\n")),
        (name, None) => names::write(&format!("c {number} {parent} {name}\n")),
    }
    number
}

fn next_class() -> i32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed) as i32
}

/// The name of what is at a displacement in the objects of a class, or among its static fields.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_named")]
extern "system" fn named(env: Env, _: Object, class: i32, displacement: i32, field: Object, is_static: u8) {
    let kind = if is_static != 0 { 'g' } else { 'i' };
    let name = names::text(&jni::string(env, field));
    names::write(&format!("{kind} {class} {displacement} {name}\n"));
}

/// Gives the entries of a map that have this key a number, as if they were objects of a class.
#[unsafe(export_name = "Java_java_lang_AtomvetHooks_describeKey")]
extern "system" fn describe_key(env: Env, _: Object, map: Object, key: Object) -> i32 {
    if key.is_null() {
        return 0;
    }
    let (map, _) = names::type_name(&jni::class_signature(vm::ti(), map));
    let number = next_class();
    names::write(&format!("c {number} 0 {map}[{}]\n", names::text(&jni::string(env, key))));
    number
}
