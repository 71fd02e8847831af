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

use std::sync::OnceLock;

use crate::jni::{self, Env, Object};
use crate::ring::Kind;
use crate::shadow::Access;
use crate::{names, natives, stream, thread, under_way, vm};

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
    /// A variable is read, between enter and return.
    Read = 32,
    /// It is written.
    Write = 33,
    /// It is exchanged.
    Update = 34,
    /// It is exchanged if the result is true, otherwise read.
    UpdateIf = 35,
    /// Something is added.
    Add = 36,
    /// Exchanged by a function of the program's, so nothing can be held meanwhile.
    UpdateBy = 37,
    /// The element of an array of atomics that the argument numbers is read, …
    ReadElement = 38,
    /// … written, …
    WriteElement = 39,
    /// … exchanged, …
    UpdateElement = 40,
    /// … exchanged if the result is true, otherwise read, …
    UpdateElementIf = 41,
    /// … added to.
    AddElement = 42,
    /// The entry of a map that the argument is the key of is read, …
    ReadKey = 43,
    /// … written, …
    WriteKey = 44,
    /// … exchanged, …
    UpdateKey = 45,
    /// … exchanged if the result is null, otherwise read, …
    UpdateKeyIfNull = 46,
    /// … exchanged by a function of the program's: read, unless [`Action::KeyChanged`] happens meanwhile.
    UpdateKeyBy = 47,
    /// Inside of such a call: the map changes.
    KeyChanged = 48,
    /// The field of the argument that an updater is for is read, …
    ReadField = 49,
    /// … written, …
    WriteField = 50,
    /// … exchanged, …
    UpdateField = 51,
    /// … exchanged if the result is true, otherwise read, …
    UpdateFieldIf = 52,
    /// … added to.
    AddField = 53,
}

use Action::*;

type Row = (&'static str, Who, &'static [(Action, &'static str)]);

macro_rules! juc {
    ($name:literal) => {
        concat!("java/util/concurrent/", $name)
    };
}

const QUEUE: &[(Action, &str)] = &[
    (Put, "put offer add transfer tryTransfer offerLast addLast putLast offerFirst addFirst putFirst push"),
    (Take, "take poll remove takeFirst takeLast pollFirst pollLast removeFirst removeLast pop"),
];
const MAP: &[(Action, &str)] = &[
    (ReadKey, "get containsKey getOrDefault"),
    (WriteKey, "put"),
    (UpdateKey, "remove replace"),
    (UpdateKeyIfNull, "putIfAbsent"),
    (UpdateKeyBy, "computeIfAbsent computeIfPresent compute merge"),
    (KeyChanged, "addCount"),
];
const SYNCHRONIZED_MAP: &[(Action, &str)] = &[
    (ReadKey, "get containsKey getOrDefault"),
    (WriteKey, "put"),
    (UpdateKey, "remove replace putIfAbsent computeIfAbsent computeIfPresent compute merge"),
];
const NUMBER: &[(Action, &str)] = &[
    // Those that may not be overridden are seen where they are called: see `effects.rs`.
    (Read, "intValue longValue floatValue doubleValue"),
    (Write, "set lazySet setPlain setOpaque setRelease"),
    (Update, "getAndSet compareAndExchange compareAndExchangeAcquire compareAndExchangeRelease"),
    (
        UpdateIf,
        "compareAndSet weakCompareAndSet weakCompareAndSetPlain weakCompareAndSetVolatile weakCompareAndSetAcquire weakCompareAndSetRelease",
    ),
    (Add, "getAndAdd addAndGet getAndIncrement incrementAndGet getAndDecrement decrementAndGet"),
    (UpdateBy, "getAndUpdate updateAndGet getAndAccumulate accumulateAndGet"),
];
const NUMBERS: &[(Action, &str)] = &[
    (ReadElement, "get getPlain getOpaque getAcquire"),
    (WriteElement, "set lazySet setPlain setOpaque setRelease"),
    (
        UpdateElement,
        "getAndSet compareAndExchange compareAndExchangeAcquire compareAndExchangeRelease getAndUpdate updateAndGet getAndAccumulate accumulateAndGet",
    ),
    (
        UpdateElementIf,
        "compareAndSet weakCompareAndSet weakCompareAndSetPlain weakCompareAndSetVolatile weakCompareAndSetAcquire weakCompareAndSetRelease",
    ),
    (AddElement, "getAndAdd addAndGet getAndIncrement incrementAndGet getAndDecrement decrementAndGet"),
];
const FIELD: &[(Action, &str)] = &[
    (ReadField, "get"),
    (WriteField, "set lazySet"),
    (UpdateField, "getAndSet getAndUpdate updateAndGet getAndAccumulate accumulateAndGet"),
    (UpdateFieldIf, "compareAndSet weakCompareAndSet"),
    (AddField, "getAndAdd addAndGet getAndIncrement incrementAndGet getAndDecrement decrementAndGet"),
];
const HANDLE: &[(Action, &str)] = &[
    (Read, "get getVolatile getOpaque getAcquire"),
    (Write, "set setVolatile setOpaque setRelease"),
    (
        Update,
        "getAndSet getAndSetAcquire getAndSetRelease compareAndExchange compareAndExchangeAcquire compareAndExchangeRelease \
         getAndBitwiseOr getAndBitwiseOrAcquire getAndBitwiseOrRelease getAndBitwiseAnd getAndBitwiseAndAcquire \
         getAndBitwiseAndRelease getAndBitwiseXor getAndBitwiseXorAcquire getAndBitwiseXorRelease",
    ),
    (
        UpdateIf,
        "compareAndSet weakCompareAndSet weakCompareAndSetPlain weakCompareAndSetAcquire weakCompareAndSetRelease",
    ),
    (Add, "getAndAdd getAndAddAcquire getAndAddRelease"),
];
const OFFSET: &[(Action, &str)] = &[
    (
        Read,
        "getInt getLong getObject getBoolean getByte getShort getChar getFloat getDouble getIntVolatile getLongVolatile \
         getObjectVolatile getBooleanVolatile getByteVolatile getShortVolatile getCharVolatile getFloatVolatile getDoubleVolatile",
    ),
    (
        Write,
        "putInt putLong putObject putBoolean putByte putShort putChar putFloat putDouble putIntVolatile putLongVolatile \
         putObjectVolatile putBooleanVolatile putByteVolatile putShortVolatile putCharVolatile putFloatVolatile putDoubleVolatile \
         putOrderedInt putOrderedLong putOrderedObject",
    ),
    (Update, "getAndSetInt getAndSetLong getAndSetObject"),
    (UpdateIf, "compareAndSwapInt compareAndSwapLong compareAndSwapObject"),
    (Add, "getAndAddInt getAndAddLong"),
];
const ADDER: &[(Action, &str)] = &[
    (Add, "add increment decrement"),
    (Read, "sum sumThenReset intValue longValue doubleValue"),
    (Write, "reset"),
];
const COLLECTION: &[(Action, &str)] = &[
    (
        Read,
        "size isEmpty contains containsAll toArray get indexOf lastIndexOf hashCode equals toString elementAt firstElement lastElement peek empty search copyInto capacity",
    ),
    (
        Write,
        "add addAll remove removeAll removeIf retainAll clear set addElement removeElement removeElementAt removeAllElements insertElementAt setElementAt setSize push pop sort replaceAll",
    ),
];
const TEXT: &[(Action, &str)] = &[
    (Read, "length charAt codePointAt substring subSequence indexOf lastIndexOf toString compareTo getChars"),
    (Write, "append insert delete deleteCharAt replace reverse setLength setCharAt appendCodePoint"),
];

/// Every watched class of the JDK with its methods, of all descriptors.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    (juc!("locks/ReentrantLock"), Who::Program, &[(Lock, "lock lockInterruptibly tryLock"), (Unlock, "unlock")]),
    (juc!("locks/ReentrantReadWriteLock$WriteLock"), Who::Program, &[(Lock, "lock lockInterruptibly tryLock"), (Unlock, "unlock")]),
    (juc!("locks/ReentrantReadWriteLock$ReadLock"), Who::Program, &[(LockShared, "lock lockInterruptibly tryLock"), (UnlockShared, "unlock")]),
    (juc!("locks/StampedLock"), Who::Program, &[
        (Lock, "writeLock tryWriteLock writeLockInterruptibly"), (Unlock, "unlockWrite tryUnlockWrite"),
        (LockShared, "readLock tryReadLock readLockInterruptibly"), (UnlockShared, "unlockRead tryUnlockRead"),
        (UnlockStamped, "unlock"),
    ]),
    (juc!("locks/StampedLock$WriteLockView"), Who::Program, &[(Lock, "lock lockInterruptibly tryLock"), (Unlock, "unlock")]),
    (juc!("locks/StampedLock$ReadLockView"), Who::Program, &[(LockShared, "lock lockInterruptibly tryLock"), (UnlockShared, "unlock")]),
    (juc!("locks/AbstractQueuedSynchronizer$ConditionObject"), Who::Program, &[(Await, "await awaitNanos awaitUntil awaitUninterruptibly")]),
    (juc!("locks/LockSupport"), Who::Program, &[(Unpark, "unpark"), (Park, "park parkNanos parkUntil")]),
    (juc!("CyclicBarrier"), Who::Anybody, &[(Barrier, "await"), (AllArrived, "nextGeneration")]),
    (juc!("CountDownLatch"), Who::Anybody, &[(Publish, "countDown"), (Observe, "await")]),
    (juc!("Phaser"), Who::Anybody, &[(Publish, "arrive arriveAndDeregister"), (Observe, "awaitAdvance awaitAdvanceInterruptibly"), (PublishAndObserve, "arriveAndAwaitAdvance")]),
    (juc!("Semaphore"), Who::Anybody, &[(Release, "release"), (Acquire, "acquire acquireUninterruptibly tryAcquire")]),
    (juc!("Exchanger"), Who::Anybody, &[(Exchange, "exchange")]),
    (juc!("ThreadPoolExecutor"), Who::Anybody, &[(Submit, "execute"), (GetTask, "getTask")]),
    (juc!("ThreadPoolExecutor$Worker"), Who::Anybody, &[(FirstTask, "run")]),
    (juc!("ScheduledThreadPoolExecutor"), Who::Anybody, &[(Submit, "delayedExecute reExecutePeriodic")]),
    (juc!("FutureTask"), Who::Anybody, &[(Complete, "set setException cancel"), (Join, "get resultNow")]),
    (juc!("ForkJoinPool$WorkQueue"), Who::Anybody, &[(Submit, "push lockedPush")]),
    (juc!("ForkJoinTask"), Who::Anybody, &[(RunTask, "doExec"), (Complete, "setDone trySetThrown trySetCancelled"), (Join, "join get invoke quietlyJoin quietlyInvoke")]),
    (juc!("CompletableFuture"), Who::Anybody, &[
        (Complete, "internalComplete completeNull completeValue completeThrowable completeRelay"),
        (Join, "get join"),
        (Depend, "getNow resultNow thenApply thenAccept thenRun thenCompose handle whenComplete exceptionally thenCombine thenAcceptBoth runAfterBoth"),
    ]),
    (juc!("CompletableFuture$UniApply"), Who::Anybody, FIRE), (juc!("CompletableFuture$UniAccept"), Who::Anybody, FIRE),
    (juc!("CompletableFuture$UniRun"), Who::Anybody, FIRE), (juc!("CompletableFuture$UniWhenComplete"), Who::Anybody, FIRE),
    (juc!("CompletableFuture$UniHandle"), Who::Anybody, FIRE), (juc!("CompletableFuture$UniExceptionally"), Who::Anybody, FIRE),
    (juc!("CompletableFuture$UniCompose"), Who::Anybody, FIRE), (juc!("CompletableFuture$UniRelay"), Who::Anybody, FIRE),
    (juc!("CompletableFuture$BiApply"), Who::Anybody, FIRE), (juc!("CompletableFuture$BiAccept"), Who::Anybody, FIRE),
    (juc!("CompletableFuture$BiRun"), Who::Anybody, FIRE), (juc!("CompletableFuture$BiRelay"), Who::Anybody, FIRE),
    (juc!("CompletableFuture$OrApply"), Who::Anybody, FIRE), (juc!("CompletableFuture$OrAccept"), Who::Anybody, FIRE),
    (juc!("CompletableFuture$OrRun"), Who::Anybody, FIRE), (juc!("CompletableFuture$AnyOf"), Who::Anybody, FIRE),
    (juc!("LinkedBlockingQueue"), Who::Program, QUEUE), (juc!("LinkedBlockingDeque"), Who::Program, QUEUE),
    (juc!("ArrayBlockingQueue"), Who::Program, QUEUE), (juc!("PriorityBlockingQueue"), Who::Program, QUEUE),
    (juc!("SynchronousQueue"), Who::Program, QUEUE), (juc!("LinkedTransferQueue"), Who::Program, QUEUE),
    (juc!("DelayQueue"), Who::Program, QUEUE), (juc!("ConcurrentLinkedQueue"), Who::Program, QUEUE),
    (juc!("ConcurrentLinkedDeque"), Who::Program, QUEUE), ("java/util/AbstractQueue", Who::Program, QUEUE),
    (juc!("ConcurrentHashMap"), Who::Program, MAP), (juc!("ConcurrentSkipListMap"), Who::Program, MAP),
    (juc!("CopyOnWriteArrayList"), Who::Program, COLLECTION), (juc!("CopyOnWriteArraySet"), Who::Program, COLLECTION),
    (juc!("atomic/AtomicInteger"), Who::Program, NUMBER), (juc!("atomic/AtomicLong"), Who::Program, NUMBER),
    (juc!("atomic/AtomicBoolean"), Who::Program, NUMBER), (juc!("atomic/AtomicReference"), Who::Program, NUMBER),
    (juc!("atomic/AtomicIntegerArray"), Who::Program, NUMBERS), (juc!("atomic/AtomicLongArray"), Who::Program, NUMBERS),
    (juc!("atomic/AtomicReferenceArray"), Who::Program, NUMBERS),
    (juc!("atomic/AtomicIntegerFieldUpdater$AtomicIntegerFieldUpdaterImpl"), Who::Program, FIELD),
    (juc!("atomic/AtomicLongFieldUpdater$CASUpdater"), Who::Program, FIELD),
    (juc!("atomic/AtomicReferenceFieldUpdater$AtomicReferenceFieldUpdaterImpl"), Who::Program, FIELD),
    (juc!("atomic/AtomicIntegerFieldUpdater"), Who::Program, FIELD), (juc!("atomic/AtomicLongFieldUpdater"), Who::Program, FIELD),
    (juc!("atomic/AtomicReferenceFieldUpdater"), Who::Program, FIELD),
    (juc!("atomic/LongAdder"), Who::Program, ADDER), (juc!("atomic/DoubleAdder"), Who::Program, ADDER),
    (HANDLES, Who::ProgramByHandle, HANDLE),
    ("sun/misc/Unsafe", Who::ProgramByOffset, OFFSET),
    ("java/util/Collections$SynchronizedCollection", Who::ProgramWithMonitor, COLLECTION),
    ("java/util/Collections$SynchronizedList", Who::ProgramWithMonitor, COLLECTION),
    ("java/util/Collections$SynchronizedSet", Who::ProgramWithMonitor, COLLECTION),
    ("java/util/Collections$SynchronizedMap", Who::ProgramWithMonitor, SYNCHRONIZED_MAP),
    ("java/util/Hashtable", Who::ProgramWithMonitor, SYNCHRONIZED_MAP),
    ("java/util/Vector", Who::ProgramWithMonitor, COLLECTION), ("java/util/Stack", Who::ProgramWithMonitor, COLLECTION),
    ("java/lang/StringBuffer", Who::ProgramWithMonitor, TEXT),
];

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

const FIRE: &[(Action, &str)] = &[(Fire, "tryFire")];

/// The word of the site of a watched method, which is all that `AtomvetCalls` knows of it; nothing if it is not watched.
pub(crate) fn meaning(class: &[u8], method: &[u8], is_synchronized: bool) -> Option<i64> {
    let (_, who, actions) = row(class)?;
    let has = |names: &str| names.split(' ').any(|name| name.as_bytes() == method);
    let (action, _) = actions.iter().find(|(_, names)| has(names))?;
    let flags = i64::from(*who != Who::Anybody) << 8
        | i64::from(is_synchronized) << 9
        | i64::from(*who == Who::ProgramWithMonitor) << 10
        | i64::from(is_brief(class, method)) << 13;
    Some(*action as i64 | flags | way(*who) | i64::from(number_of_name(method)?) << 16)
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

/// Whether a number among the arguments says which variable is meant.
pub(crate) fn is_numbered(class: &[u8]) -> bool {
    row(class).is_some_and(|(_, who, _)| way(*who) != 0)
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
        "java/util/Queue",
        "java/util/Set",
        "java/util/SortedMap",
        "java/util/AbstractCollection",
        "java/util/AbstractList",
        "java/util/AbstractMap",
    ];
    let may_be_watched = owner.starts_with(b"java/util/concurrent/")
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

/// Names are numbered from 1 in the order of the alphabet.
fn number_of_name(method: &[u8]) -> Option<u16> {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let actions = TABLE.iter().flat_map(|(_, _, actions)| actions.iter());
        let mut names: Vec<&str> = actions.flat_map(|(_, names)| names.split(' ')).collect();
        names.sort_unstable();
        names.dedup();
        names
    });
    let at = names.binary_search_by(|name| name.as_bytes().cmp(method)).ok()?;
    u16::try_from(at + 1).ok()
}

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
#[unsafe(export_name = "Java_java_lang_AtomvetCalls_describeKey")]
extern "system" fn describe_key(env: Env, _: Object, map: Object, key: Object) -> i32 {
    let (map, _) = names::type_name(&jni::class_signature(vm::ti(), map));
    let number = natives::next_class();
    names::write(&format!("c {number} 0 {map}[{}]\n", names::text(&jni::string(env, key))));
    number
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
            (Read, "READ"),
            (AddElement, "ADD_ELEMENT"),
            (ReadKey, "READ_KEY"),
            (KeyChanged, "KEY_CHANGED"),
            (AddField, "ADD_FIELD"),
        ] {
            assert_eq!(number(name), Some(action as u8), "{name}");
        }
        assert_eq!(number("R_OBSERVE"), Some(KINDS.len() as u8 - 1));
        for (who, name) in [(Who::ProgramByHandle, "BY_HANDLE"), (Who::ProgramByOffset, "BY_OFFSET")] {
            let line = format!("private static final int {name} = 1 << {};", way(who).trailing_zeros());
            assert!(java.contains(&line), "{line}");
        }
    }

    #[test]
    fn calls_are_recognised_by_class_and_name() {
        let lock = meaning(b"java/util/concurrent/locks/ReentrantLock", b"lock", false).unwrap();
        assert_eq!(lock & 0xff, Lock as i64);
        assert_eq!(calling(b"java/util/concurrent/locks/Lock", b"lock"), Some(lock >> 16 << 16));
        assert_eq!(meaning(b"java/util/concurrent/locks/ReentrantLock", b"toString", false), None);
        assert_eq!(calling(b"java/util/ArrayList", b"get"), None);
        assert!(calling(b"java/util/Map", b"get").is_some());
        let handle = meaning(b"java/lang/invoke/VarHandleInts$Array", b"get", false).unwrap();
        let call = calling(b"java/lang/invoke/VarHandle", b"get").unwrap();
        assert_eq!((handle ^ call) >> 11, 0);
        assert_ne!((handle ^ calling(b"java/util/Map", b"get").unwrap()) >> 11, 0);
        assert_eq!(meaning(b"java/lang/invoke/VarHandleByteArrayAsInts$ArrayHandle", b"get", false), None);
    }
}
