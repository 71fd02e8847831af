//! What can be done to a variable: Java text, and the accesses that it makes.
//!
//! In the text, `@` is the variable, `$` the object or array that it is part of, `%` its index or key, and `#` a value of its
//! type. `Turn` is not watched.

use super::known::Feature;
use super::program::{Atomic, Collection, Map, Slot, Type, Variable};

/// An access to one variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    Read,
    Write,
    /// Reads and writes in one step.
    Update,
    /// An addition in one step.
    Add,
    /// A key is removed if it is there (an update), and put otherwise (a write).
    Toggle,
    /// The value of a key is replaced if it is there (an update), and put otherwise (a write).
    Replace,
    /// A new object is referred to, one field of which has been written.
    New,
}

/// A statement about a variable.
pub(crate) struct Operation {
    pub(crate) java: &'static str,
    pub(crate) effects: &'static [Effect],
    /// What must be switched on.
    pub(crate) needs: Option<Feature>,
    /// It repeats its effects many times. That takes long, and is done seldom.
    pub(crate) is_loop: bool,
}

use Effect::{Add, New, Read, Replace, Toggle, Update, Write};

const fn plain(java: &'static str, effects: &'static [Effect]) -> Operation {
    Operation { java, effects, needs: None, is_loop: false }
}

const fn computation(java: &'static str) -> Operation {
    let needs = Some(Feature::ReplacingComputations);
    Operation { java, effects: &[Replace], needs, is_loop: false }
}

/// After so many accesses of a thread, the checker may look at some of them no more.
const fn often(java: &'static str, effects: &'static [Effect]) -> Operation {
    Operation { java, effects, needs: None, is_loop: true }
}

const VALUE: &[Operation] = &[
    plain("Turn.use(@);", &[Read]),
    plain("@ = #;", &[Write]),
    often("for (int i = 0; i < 15000; i++) Turn.use(@);", &[Read]),
];
const NUMBER: &[Operation] = &[
    plain("Turn.use(@);", &[Read]),
    plain("@ = #;", &[Write]),
    plain("@++;", &[Read, Write]),
    plain("@ += 3;", &[Read, Write]),
    often("for (int i = 0; i < 15000; i++) Turn.use(@);", &[Read]),
    often("for (int i = 0; i < 15000; i++) @ = #;", &[Write]),
    often("for (int i = 0; i < 8000; i++) @++;", &[Read, Write]),
];
/// For `int` elements: by a handle as well.
const ELEMENT: &[Operation] = &[
    plain("Turn.use(@);", &[Read]),
    plain("@ = #;", &[Write]),
    plain("@++;", &[Read, Write]),
    plain("Turn.use((int) ELEMENT.getVolatile($, %));", &[Read]),
    plain("ELEMENT.setVolatile($, %, #);", &[Write]),
];
/// For volatile `int` fields: by an updater and a handle as well.
const VOLATILE: &[Operation] = &[
    plain("Turn.use(@);", &[Read]),
    plain("@ = #;", &[Write]),
    plain("@++;", &[Read, Write]),
    plain("Turn.use(UPDATER.get($));", &[Read]),
    plain("UPDATER.set($, #);", &[Write]),
    plain("UPDATER.getAndAdd($, 3);", &[Add]),
    plain("UPDATER.getAndSet($, #);", &[Update]),
    plain("UPDATER.compareAndSet($, -1, #);", &[Read]),
    plain("Turn.use((int) FIELD.getVolatile($));", &[Read]),
    plain("FIELD.setVolatile($, #);", &[Write]),
    plain("Turn.use((int) FIELD.getAndSet($, #));", &[Update]),
    plain("Turn.expect(FIELD.compareAndSet($, Turn.peek(FIELD, $), #));", &[Update]),
];
const SLOT: &[Operation] =
    &[plain("Turn.use(@);", &[Read]), plain("O it = new O(); it.f_int = #; @ = it;", &[New])];
const REFERENCE_SLOT: &[Operation] =
    &[plain("Turn.use(@.get());", &[Read]), plain("O it = new O(); it.f_int = #; @.set(it);", &[New])];
const ARRAY_SLOT: &[Operation] =
    &[plain("Turn.use(@);", &[Read]), plain("int[] it = new int[4]; it[0] = #; @ = it;", &[New])];
const INTEGER: &[Operation] = &[
    plain("Turn.use(@.get());", &[Read]),
    plain("Turn.use(@.getAcquire());", &[Read]),
    plain("@.set(#);", &[Write]),
    plain("@.lazySet(#);", &[Write]),
    plain("@.getAndSet(#);", &[Update]),
    plain("Turn.expect(@.compareAndSet(Turn.peek(@), #));", &[Update]),
    plain("Turn.expect(!@.compareAndSet(-1, #));", &[Read]),
    plain("@.updateAndGet(x -> x + 1);", &[Update]),
    plain("@.getAndAdd(3);", &[Add]),
    plain("@.incrementAndGet();", &[Add]),
    plain("Turn.use(@.addAndGet(3));", &[Add]),
];
const BOOLEAN: &[Operation] = &[
    plain("Turn.use(@.get());", &[Read]),
    plain("@.set(#);", &[Write]),
    plain("@.getAndSet(#);", &[Update]),
    plain("Turn.expect(@.compareAndSet(Turn.peek(@), #));", &[Update]),
    plain("Turn.expect(!@.compareAndSet(!Turn.peek(@), #));", &[Read]),
];
const REFERENCE: &[Operation] = &[
    plain("Turn.use(@.get());", &[Read]),
    plain("@.set(#);", &[Write]),
    plain("@.getAndSet(#);", &[Update]),
    plain("Turn.expect(@.compareAndSet(Turn.peek(@), #));", &[Update]),
    plain("Turn.expect(!@.compareAndSet(Turn.class, #));", &[Read]),
    plain("@.getAndUpdate(x -> #);", &[Update]),
];
const ATOMIC_ELEMENT: &[Operation] = &[
    plain("Turn.use($.get(%));", &[Read]),
    plain("$.set(%, #);", &[Write]),
    plain("$.getAndSet(%, #);", &[Update]),
    plain("Turn.expect($.compareAndSet(%, Turn.peek($, %), #));", &[Update]),
    plain("Turn.expect(!$.compareAndSet(%, -1, #));", &[Read]),
    plain("$.getAndIncrement(%);", &[Add]),
];
const REFERENCE_ELEMENT: &[Operation] = &[
    plain("Turn.use($.get(%));", &[Read]),
    plain("$.set(%, #);", &[Write]),
    plain("$.getAndSet(%, #);", &[Update]),
    plain("Turn.expect(!$.compareAndSet(%, Turn.class, #));", &[Read]),
    plain("$.updateAndGet(%, x -> #);", &[Update]),
];
const ADDER: &[Operation] =
    &[plain("@.add(3);", &[Add]), plain("@.increment();", &[Add]), plain("Turn.use(@.sum());", &[Read])];
const CONCURRENT_MAP: &[Operation] = &[
    plain("Turn.use($.get(%));", &[Read]),
    plain("Turn.use($.containsKey(%));", &[Read]),
    plain("$.put(%, #);", &[Write]),
    plain("if (Turn.has($, %)) $.remove(%); else $.put(%, #);", &[Toggle]),
    computation("if (Turn.has($, %)) $.compute(%, (k, v) -> #); else $.put(%, #);"),
    computation("if (Turn.has($, %)) $.merge(%, #, (a, b) -> #); else $.put(%, #);"),
];
const SYNCHRONIZED_MAP: &[Operation] = &[
    plain("Turn.use($.get(%));", &[Read]),
    plain("Turn.use($.containsKey(%));", &[Read]),
    plain("$.put(%, #);", &[Write]),
    plain("if (Turn.has($, %)) $.remove(%); else $.put(%, #);", &[Toggle]),
];
const LIST: &[Operation] = &[
    plain("Turn.use(@.size());", &[Read]),
    plain("Turn.use(@.get(0));", &[Read]),
    plain("Turn.use(@.contains(1));", &[Read]),
    plain("@.add(#);", &[Write]),
    plain("@.set(0, #);", &[Write]),
];
const TEXT: &[Operation] = &[
    plain("Turn.use(@.length());", &[Read]),
    plain("Turn.use(@.charAt(0));", &[Read]),
    plain("@.append('x');", &[Write]),
    plain("@.setCharAt(0, 'y');", &[Write]),
];

/// What can be done to a variable.
pub(crate) fn vocabulary(variable: Variable) -> &'static [Operation] {
    let typed = |of: Type| if matches!(of, Type::Boolean | Type::Object) { VALUE } else { NUMBER };
    match variable {
        Variable::Field { of: Type::Int, volatile: true, .. } => VOLATILE,
        Variable::Item { of: Type::Int, volatile: true, .. } => VOLATILE,
        Variable::Captured { of: Type::Int, volatile: true } => VOLATILE,
        Variable::Field { of, .. }
        | Variable::Static { of, .. }
        | Variable::Item { of, .. }
        | Variable::Captured { of, .. } => typed(of),
        Variable::Element { of: Type::Int, .. } | Variable::ItemElement { .. } => ELEMENT,
        Variable::Element { of, .. } => typed(of),
        Variable::Slot(Slot::AtomicReference) => REFERENCE_SLOT,
        Variable::Slot(Slot::Array) => ARRAY_SLOT,
        Variable::Slot(_) => SLOT,
        Variable::Atomic(Atomic::Integer | Atomic::Long) => INTEGER,
        Variable::Atomic(Atomic::Boolean) => BOOLEAN,
        Variable::Atomic(Atomic::Reference) => REFERENCE,
        Variable::AtomicElement { of: Atomic::Reference, .. } => REFERENCE_ELEMENT,
        Variable::AtomicElement { .. } => ATOMIC_ELEMENT,
        Variable::Adder => ADDER,
        Variable::Key { map: Map::Concurrent | Map::SkipList, .. } => CONCURRENT_MAP,
        Variable::Key { .. } => SYNCHRONIZED_MAP,
        Variable::Collection(Collection::StringBuffer) => TEXT,
        Variable::Collection(_) => LIST,
    }
}

/// Whether accesses of a variable race if nothing orders them.
pub(crate) fn needs_order(variable: Variable) -> bool {
    match variable {
        Variable::Field { volatile, .. }
        | Variable::Static { volatile, .. }
        | Variable::Item { volatile, .. }
        | Variable::Captured { volatile, .. } => !volatile,
        Variable::Element { .. } | Variable::ItemElement { .. } | Variable::Slot(Slot::Plain) => true,
        _ => false,
    }
}
