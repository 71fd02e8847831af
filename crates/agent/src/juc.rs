//! `java.util.concurrent`, and the JDK's synchronized collections, as what they guarantee.
//!
//! The methods in this table are watched where they are, in the JDK, whoever calls them through whatever interface. What
//! these classes do inside (locks of queues, compare-and-set loops of maps) is not the program's business and is never
//! recorded: their other methods have no hooks.
//!
//! Most of them the JDK uses for itself, too: a `PrintStream` has a lock, a `Random` an atomic seed. To take those for the
//! program's would order what it does not order, and blame blocks for it. So where a row says [`Who::Program`], a call
//! counts only if the program made it: before each call in application code of a method with a name in this table stands a
//! hook (`calling`), which leaves the place with the thread, and the first watched method of that name takes it. That
//! also gives the records the program's own lines. What is handed over by identity (a task, a future) is exact whoever
//! does it: [`Who::Anybody`].
//!
//! What an [`Action`] does stands in `hooks/AtomvetCalls.java`, which has the same numbers.

// The paths make this file fit for other crates as well.
#[path = "juc/table.rs"]
mod table;
#[cfg(test)]
#[path = "juc/unseen.rs"]
mod unseen;

use std::sync::OnceLock;

use atomvet_jvm::Wanted;

/// Whose calls count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Who {
    /// Only those that stand in application code.
    Program,
    /// The same, and the object is guarded by its monitor: what is done to it is recorded inside.
    ProgramWithMonitor,
    /// All.
    Anybody,
    /// Only those that stand in application code, and the variable is what this `VarHandle` is for.
    ProgramByHandle,
    /// The same, and the variable is in the argument, as far from its start as the next one says.
    ProgramByOffset,
}

/// What a call means. "Enters" and "returns" say when something is recorded: what a thread gives to others before the call does
/// anything, what it gets from others when it is over.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// Returns: an exclusive lock is held. With a truth value or a stamp, only if it is not false or 0.
    Lock = 1,
    /// Enters: it is given back.
    Unlock = 2,
    /// Returns: a shared lock is held, as above.
    LockShared = 3,
    /// Enters: it is given back.
    UnlockShared = 4,
    /// Enters: a lock with stamps is given back, in the mode in which it is held.
    UnlockStamped = 5,
    /// Enters: the lock of a condition is given back until the thread goes on.
    Await = 6,
    /// Enters: arrives at a barrier. Returns: knows what its action did.
    Barrier = 7,
    /// Enters: what a barrier does when all are there is done.
    AllArrived = 8,
    /// Enters: makes known what the thread did.
    Publish = 9,
    /// Returns: has waited for what others made known. With a truth value only if it is true.
    Observe = 10,
    /// Both: a phaser's arrival that waits for the others.
    PublishAndObserve = 11,
    /// Enters: permits of a semaphore, as many as the argument says.
    Release = 12,
    /// Returns: the same, as above.
    Acquire = 13,
    /// Enters: the argument is handed over to whoever gets it from this queue.
    Put = 14,
    /// Returns: got the result from this queue, unless it is null.
    Take = 15,
    /// Both: gives the argument, gets the result.
    Exchange = 16,
    /// Enters: the argument is a task that somebody will run.
    Submit = 17,
    /// Returns: the result is a task that this thread will run.
    GetTask = 18,
    /// Enters: this worker's first task begins.
    FirstTask = 19,
    /// Enters: this task begins. Returns: it is done.
    RunTask = 20,
    /// Enters: this future is about to have its result.
    Complete = 21,
    /// Returns: has waited for this future's result.
    Join = 22,
    /// Enters: this completion uses the results of its sources.
    Fire = 23,
    /// Enters: lets the argument, a thread, go on.
    Unpark = 24,
    /// Returns: was let go on.
    Park = 25,
    /// Enters: something will depend on this future's result, which is known if it is there already.
    Depend = 26,
    /// Returns: as many permits of a semaphore are taken as the result says.
    Drain = 27,
    /// Enters: a lock with stamps that is held with this one is given back, if it is exclusive. Returns: with a stamp that is
    /// not 0, it is held exclusively, …
    ConvertToWrite = 28,
    /// … or shared, …
    ConvertToRead = 29,
    /// … or not any more.
    ConvertToOptimistic = 30,
    /// Returns: has waited for the result of the argument, a task.
    Invoke = 31,
    /// A variable is read, between enter and return.
    Read = 32,
    /// It is written.
    Write = 33,
    /// It is exchanged.
    Update = 34,
    /// It is exchanged if the result is true, or if a compare-and-exchange found what it expected; otherwise read.
    UpdateIf = 35,
    /// Something is added.
    Add = 36,
    /// Exchanged by a function of the program's, so nothing can be held meanwhile.
    UpdateBy = 37,
    /// It is written, unless the result is false or 0: then it is read.
    WriteIf = 38,
    /// The element of an array of atomics that the argument numbers is read, …
    ReadElement = 39,
    /// … written, …
    WriteElement = 40,
    /// … exchanged, …
    UpdateElement = 41,
    /// … exchanged if the result is true, otherwise read, …
    UpdateElementIf = 42,
    /// … added to.
    AddElement = 43,
    /// The entry of a map that the argument is the key of is read, …
    ReadKey = 44,
    /// … written, …
    WriteKey = 45,
    /// … exchanged unless the result is null or false, otherwise read, …
    UpdateKeyIf = 46,
    /// … exchanged if the result is null, otherwise read, …
    UpdateKeyIfNull = 47,
    /// … exchanged by a function of the program's, if it has a value now or the map has changed; otherwise read, …
    ComputeKey = 48,
    /// … the same, if the map has changed, …
    InsertKey = 49,
    /// … the same in any case.
    MergeKey = 50,
    /// Inside of such a call: the map gets or loses a key.
    KeyChanged = 51,
    /// The field of the argument that an updater is for is read, …
    ReadField = 52,
    /// … written, …
    WriteField = 53,
    /// … exchanged, …
    UpdateField = 54,
    /// … exchanged if the result is true, otherwise read, …
    UpdateFieldIf = 55,
    /// … added to.
    AddField = 56,
    /// It is made of calls of other watched methods of the same object, which count as if the program had made them.
    Several = 57,
    /// All entries of a map are exchanged, while its monitor is held.
    UpdateKeys = 58,
    /// The same for the keys of the argument, a map.
    WriteKeysOf = 59,
    /// The entry is exchanged that the result has, or is, the key of, unless it is null.
    PollKey = 60,
    /// All entries of a map are read, and its set of keys, which is a variable of its own.
    ReadKeys = 61,
    /// The entry is read that the result has, or is, the key of, and the set of keys.
    PeekKey = 62,
    /// It is not known how to tell what this does: the report says that it was called.
    Unseen = 63,
}

use Action::*;
use table::{Row, TABLE};

/// Stands for the classes whose static methods do what a handle is asked to do, one for each type and kind of variable.
const HANDLES: &str = "java/lang/invoke/VarHandle";

/// The name under which a class is in the table.
fn listed(class: &[u8]) -> &[u8] {
    const TYPES: [&str; 9] =
        ["Booleans", "Bytes", "Shorts", "Chars", "Ints", "Longs", "Floats", "Doubles", "References"];
    const KINDS: [&str; 5] = [
        "FieldInstanceReadOnly",
        "FieldInstanceReadWrite",
        "FieldStaticReadOnly",
        "FieldStaticReadWrite",
        "Array",
    ];
    let parts = class.strip_prefix(HANDLES.as_bytes()).and_then(|rest| {
        let at = rest.iter().position(|&byte| byte == b'$')?;
        Some((&rest[..at], &rest[at + 1..]))
    });
    match parts {
        Some((of_type, kind))
            if TYPES.iter().any(|name| name.as_bytes() == of_type)
                && KINDS.iter().any(|name| name.as_bytes() == kind) =>
        {
            HANDLES.as_bytes()
        }
        _ => class,
    }
}

/// What a call of a watched method means; nothing if it is not watched.
pub(crate) fn action(class: &[u8], method: &[u8], descriptor: &[u8]) -> Option<Action> {
    let (_, _, actions) = row(class)?;
    let has = |names: &str| names.split(' ').any(|name| name.as_bytes() == method);
    let (action, _) = actions.iter().find(|(_, names)| has(names))?;
    let result = descriptor.iter().rposition(|&byte| byte == b')').and_then(|end| descriptor.get(end + 1));
    match (action, result) {
        (Write, Some(b'Z' | b'I')) => Some(WriteIf),
        _ => Some(*action),
    }
}

/// The word of the site of a watched method, which is all that `AtomvetCalls` knows of it; nothing if it is not watched.
pub(crate) fn meaning(class: &[u8], method: &[u8], descriptor: &[u8], is_synchronized: bool) -> Option<i64> {
    let (_, who, _) = row(class)?;
    let action = action(class, method, descriptor)?;
    let flags = i64::from(*who != Who::Anybody) << 8
        | i64::from(is_synchronized) << 9
        | i64::from(*who == Who::ProgramWithMonitor) << 10
        | i64::from(is_brief(class, method)) << 13
        | i64::from(is_view(class)) << 14
        | i64::from(is_by_element(class, method)) << 15;
    Some(action as i64 | flags | way(*who) | i64::from(number_of_name(method)?) << 16)
}

/// Whether an object is a view of another one, or guarded by it: what is done to it is done to that.
fn is_view(class: &[u8]) -> bool {
    const VIEWS: [&str; 12] = [
        "java/util/Collections$SynchronizedCollection",
        "java/util/Collections$SynchronizedList",
        "java/util/Collections$SynchronizedSet",
        "java/util/concurrent/ConcurrentHashMap$CollectionView",
        "java/util/concurrent/ConcurrentHashMap$EntrySetView",
        "java/util/concurrent/ConcurrentHashMap$KeySetView",
        "java/util/concurrent/ConcurrentHashMap$ValuesView",
        "java/util/concurrent/ConcurrentSkipListMap$EntrySet",
        "java/util/concurrent/ConcurrentSkipListMap$KeySet",
        "java/util/concurrent/ConcurrentSkipListMap$Values",
        "java/util/concurrent/ConcurrentSkipListSet",
        "java/util/concurrent/CopyOnWriteArrayList$COWSubList",
    ];
    VIEWS.iter().any(|view| view.as_bytes() == class)
}

/// Whether a method of what may be a view of a map with a monitor is about one element.
fn is_by_element(class: &[u8], method: &[u8]) -> bool {
    class.starts_with(b"java/util/Collections$")
        && is_view(class)
        && matches!(method, b"contains" | b"remove")
}

/// What the hooks of a watched method are given.
pub(crate) fn wanted(class: &[u8], method: &[u8], descriptor: &[u8]) -> Wanted {
    let Some(action) = action(class, method, descriptor) else { return Wanted::default() };
    Wanted {
        call: true,
        argument: true,
        number: row(class).is_some_and(|(_, who, _)| way(*who) != 0),
        monitors: class.starts_with(b"java/util/Collections$"),
        int_result: matches!(action, WriteIf | Drain),
        long_argument: matches!(action, ConvertToWrite | ConvertToRead | ConvertToOptimistic),
        exchange: method.starts_with(b"compareAndExchange"),
        functions: matches!(action, UpdateBy | ComputeKey | InsertKey | MergeKey),
        ..Wanted::default()
    }
}

/// Whether a method does one thing to an atomic and calls nothing of the program's.
fn is_brief(class: &[u8], method: &[u8]) -> bool {
    let takes_function =
        matches!(method, b"updateAndGet" | b"getAndUpdate" | b"accumulateAndGet" | b"getAndAccumulate");
    class.starts_with(b"java/util/concurrent/atomic/Atomic") && !takes_function
}

/// The bits that a call and what is called have to have in common.
fn way(who: Who) -> i64 {
    i64::from(who == Who::ProgramByHandle) << 11 | i64::from(who == Who::ProgramByOffset) << 12
}

fn row(class: &[u8]) -> Option<&'static Row> {
    let class = listed(class);
    TABLE.iter().find(|(name, ..)| name.as_bytes() == class)
}

/// Whether any method of this class is watched.
pub(crate) fn is_watched(class: &[u8]) -> bool {
    row(class).is_some()
}

/// The word of a place in application code where a method is called, if what is called may be watched: a method with a name
/// that is in the table, of a class that is, or of something that such a class may be to the program.
pub(crate) fn calling(owner: &[u8], method: &[u8]) -> Option<i64> {
    const ALSO: &[&str] = &[
        "java/util/Collection",
        "java/util/Deque",
        "java/util/Dictionary",
        "java/util/List",
        "java/util/Map",
        "java/util/NavigableMap",
        "java/util/NavigableSet",
        "java/util/Queue",
        "java/util/Set",
        "java/util/SortedMap",
        "java/util/SortedSet",
        "java/util/SequencedCollection",
        "java/util/SequencedMap",
        "java/util/AbstractCollection",
        "java/util/AbstractList",
        "java/util/AbstractMap",
    ];
    // Whatever is known by an interface has this method of its class.
    let is_text = owner == b"java/lang/Object" && method == b"toString";
    let may_be_watched = is_text
        || owner.starts_with(b"java/util/concurrent/")
        || is_watched(owner)
        || ALSO.iter().any(|name| name.as_bytes() == owner);
    let number = if may_be_watched { number_of_name(method)? } else { return None };
    Some(i64::from(number) << 16 | row(owner).map_or(0, |(_, who, _)| way(*who)))
}

/// How the accesses of a class are called that are made by calls of this method and not seen, if they are.
pub(crate) fn unseen(owner: &[u8], method: &[u8]) -> Option<&'static str> {
    match (owner, method) {
        (b"java/lang/invoke/MethodHandles", b"byteArrayViewVarHandle" | b"byteBufferViewVarHandle") => {
            Some("views of bytes")
        }
        (b"java/lang/invoke/VarHandle", b"toMethodHandle") => Some("method handles"),
        (b"sun/misc/Unsafe", b"copyMemory" | b"setMemory") => Some("Unsafe"),
        _ => None,
    }
}

/// The names of watched methods, in the order of the alphabet.
fn names() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let actions = TABLE.iter().flat_map(|(_, _, actions)| actions.iter());
        let mut names: Vec<&str> = actions.flat_map(|(_, names)| names.split(' ')).collect();
        names.sort_unstable();
        names.dedup();
        names
    })
}

/// A watched method's name by its number.
pub(crate) fn name(number: i32) -> Option<&'static str> {
    names().get(usize::try_from(number - 1).ok()?).copied()
}

/// They are numbered from 1.
fn number_of_name(method: &[u8]) -> Option<u16> {
    let at = names().binary_search_by(|name| name.as_bytes().cmp(method)).ok()?;
    u16::try_from(at + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hook_class_has_the_same_numbers() {
        let java = include_str!("hooks/AtomvetCalls.java");
        let number = |name: &str| {
            let line = java
                .lines()
                .find_map(|line| line.trim().strip_prefix(&format!("private static final int {name} = ")));
            line.and_then(|rest| rest.trim_end_matches(';').parse::<u8>().ok())
        };
        for (action, name) in [
            (Lock, "LOCK"),
            (UnlockStamped, "UNLOCK_STAMPED"),
            (PublishAndObserve, "PUBLISH_AND_OBSERVE"),
            (Exchange, "EXCHANGE"),
            (Park, "PARK"),
            (Depend, "DEPEND"),
            (ConvertToOptimistic, "CONVERT_TO_OPTIMISTIC"),
            (Read, "READ"),
            (WriteIf, "WRITE_IF"),
            (MergeKey, "MERGE_KEY"),
            (AddElement, "ADD_ELEMENT"),
            (ReadKey, "READ_KEY"),
            (KeyChanged, "KEY_CHANGED"),
            (AddField, "ADD_FIELD"),
            (PollKey, "POLL_KEY"),
            (Unseen, "UNSEEN"),
        ] {
            assert_eq!(number(name), Some(action as u8), "{name}");
        }
        for (who, name) in [(Who::ProgramByHandle, "BY_HANDLE"), (Who::ProgramByOffset, "BY_OFFSET")] {
            let line = format!("private static final int {name} = 1 << {};", way(who).trailing_zeros());
            assert!(java.contains(&line), "{line}");
        }
    }

    #[test]
    fn calls_are_recognised_by_class_and_name() {
        let lock = meaning(b"java/util/concurrent/locks/ReentrantLock", b"lock", b"()V", false).unwrap();
        assert_eq!(lock & 0xff, Lock as i64);
        assert_eq!(calling(b"java/util/concurrent/locks/Lock", b"lock"), Some(lock >> 16 << 16));
        assert_eq!(
            meaning(b"java/util/concurrent/locks/ReentrantLock", b"toString", b"()Ljava/lang/String;", false),
            None
        );
        assert_eq!(calling(b"java/util/ArrayList", b"get"), None);
        assert!(calling(b"java/util/Map", b"get").is_some());
        let handle = meaning(b"java/lang/invoke/VarHandleInts$Array", b"get", b"()I", false).unwrap();
        let call = calling(b"java/lang/invoke/VarHandle", b"get").unwrap();
        assert_eq!((handle ^ call) >> 11, 0);
        assert_ne!((handle ^ calling(b"java/util/Map", b"get").unwrap()) >> 11, 0);
        assert_eq!(
            meaning(b"java/lang/invoke/VarHandleByteArrayAsInts$ArrayHandle", b"get", b"()I", false),
            None
        );
    }
}
