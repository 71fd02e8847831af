//! Calls of the JDK of which it is known what they do.
//!
//! A method that makes no others, and accesses memory once at most, is atomic by itself and need not be a block: many that ask an
//! `AtomicReference` for what it has, compare two strings or throw an exception are like that. And a call that only reads an atomic
//! has its hooks where it is, as the read of a field has.
//!
//! What is said here holds in whichever class a call ends, because the methods are static, final, constructors, or of final classes;
//! and they call nothing of the program's, which they could get only from an argument. What is watched in place
//! (`--include`) does more than that.

use atomvet_jvm::{Effect, MemberRef};

use crate::plan::{self, Owner, Treatment};

const ATOMICS: [&str; 4] = ["AtomicBoolean", "AtomicInteger", "AtomicLong", "AtomicReference"];
/// Their methods that read: not watched in the JDK.
const READS: [&str; 4] = ["get", "getPlain", "getOpaque", "getAcquire"];
/// Their other final ones.
const CHANGES: [&str; 11] = [
    "set",
    "lazySet",
    "getAndSet",
    "compareAndSet",
    "getAndAdd",
    "getAndIncrement",
    "getAndDecrement",
    "addAndGet",
    "incrementAndGet",
    "decrementAndGet",
    "setRelease",
];

/// Classes that are values, or make some.
const VALUES: [&str; 11] = [
    "Boolean",
    "Byte",
    "Character",
    "Double",
    "Float",
    "Integer",
    "Long",
    "Math",
    "Short",
    "String",
    "StringBuilder",
];

/// What calls of a method do.
pub(crate) fn effect(method: &MemberRef<'_>) -> Effect {
    let treatment = || plan::treatment(method.owner, Owner::Jdk);
    if let Some(class) = method.owner.strip_prefix(ATOMIC_PACKAGE) {
        return match treatment() {
            Some(Treatment::Library) if !is_among(&ATOMICS, class) => Effect::Anything,
            Some(Treatment::Library) if is_among(&READS, method.name) => Effect::Read,
            Some(Treatment::Library) if is_among(&CHANGES, method.name) => Effect::Access,
            _ => Effect::Anything,
        };
    }
    match is_about_values(method) && treatment().is_none() {
        true => Effect::Nothing,
        false => Effect::Anything,
    }
}

const ATOMIC_PACKAGE: &[u8] = b"java/util/concurrent/atomic/";

fn is_among(names: &[&str], name: &[u8]) -> bool {
    names.iter().any(|other| other.as_bytes() == name)
}

/// Whether calls of a method are seen where they are made, as reads of an atomic.
#[cfg(test)]
pub(crate) fn is_atomic_read(class: &[u8], method: &[u8]) -> bool {
    class.strip_prefix(ATOMIC_PACKAGE).is_some_and(|class| is_among(&ATOMICS, class))
        && is_among(&READS, method)
}

/// Whether a method gets nothing but primitive values and strings, and does nothing but compute with them.
fn is_about_values(method: &MemberRef<'_>) -> bool {
    let Some(class) = method.owner.strip_prefix(b"java/lang/") else { return false };
    let is_value = VALUES.iter().any(|value| value.as_bytes() == class);
    // These ask what the program may have put there: properties, character sets.
    let asks = matches!(method.name, b"getBoolean" | b"getInteger" | b"getLong" | b"getBytes");
    // These compare with what has the same class and nothing else.
    let is_comparison = method.name == b"equals" && class != b"StringBuilder";
    let is_thrown = class.ends_with(b"Exception") || class.ends_with(b"Error");
    is_value && !asks && (is_comparison || has_simple_arguments(method.descriptor))
        || is_thrown && method.name == b"<init>" && has_simple_arguments(method.descriptor)
}

fn has_simple_arguments(descriptor: &[u8]) -> bool {
    let mut rest = descriptor.strip_prefix(b"(").unwrap_or_default();
    loop {
        rest = match rest {
            [b')', ..] => return true,
            [b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z', rest @ ..] => rest,
            _ => match rest.strip_prefix(b"Ljava/lang/String;") {
                Some(rest) => rest,
                None => return false,
            },
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent(owner: &str, name: &str, descriptor: &str) -> bool {
        is_about_values(&MemberRef {
            owner: owner.as_bytes(),
            name: name.as_bytes(),
            descriptor: descriptor.as_bytes(),
        })
    }

    #[test]
    fn what_computes_with_values_does_nothing() {
        assert!(silent("java/lang/Math", "max", "(II)I"));
        assert!(silent("java/lang/String", "equals", "(Ljava/lang/Object;)Z"));
        assert!(silent("java/lang/StringBuilder", "append", "(Ljava/lang/String;)Ljava/lang/StringBuilder;"));
        assert!(silent("java/lang/IllegalStateException", "<init>", "(Ljava/lang/String;)V"));
    }

    #[test]
    fn what_may_call_the_program_may_do_anything() {
        // They ask the argument for its text.
        assert!(!silent(
            "java/lang/StringBuilder",
            "append",
            "(Ljava/lang/Object;)Ljava/lang/StringBuilder;"
        ));
        assert!(!silent("java/lang/String", "contains", "(Ljava/lang/CharSequence;)Z"));
        assert!(!silent(
            "java/lang/String",
            "format",
            "(Ljava/lang/String;[Ljava/lang/Object;)Ljava/lang/String;"
        ));
        // This one calls a method that any exception may have.
        assert!(!silent("java/lang/Exception", "printStackTrace", "()V"));
        assert!(!silent("org/example/Math", "max", "(II)I"));
        assert!(!silent("java/lang/Integer", "max", ""));
        assert!(!silent("java/lang/Integer", "getInteger", "(Ljava/lang/String;)Ljava/lang/Integer;"));
    }
}
