//! Every watched class of the JDK with its methods, and what calls of them mean: see `juc.rs`. `unseen.rs` has the public
//! methods of these classes that are not here.

use super::Action::{self, *};
use super::{HANDLES, Who};

/// A class, whose calls count, and per action the names of methods, of all descriptors.
pub(super) type Row = (&'static str, Who, &'static [(Action, &'static str)]);

macro_rules! juc {
    ($name:literal) => {
        concat!("java/util/concurrent/", $name)
    };
}

const QUEUE: &[(Action, &str)] = &[
    (Put, "put offer add transfer tryTransfer offerLast addLast putLast offerFirst addFirst putFirst push"),
    (Take, "take poll remove takeFirst takeLast pollFirst pollLast removeFirst removeLast pop"),
    // What looks at elements and leaves them there, or takes several at a time.
    (
        Unseen,
        "addAll clear contains containsAll descendingIterator drainTo element forEach getFirst getLast isEmpty iterator peek peekFirst \
         peekLast remainingCapacity removeAll removeFirstOccurrence removeIf removeLastOccurrence retainAll size spliterator toArray toString",
    ),
];
const MAP: &[(Action, &str)] = &[
    (ReadKey, "get containsKey getOrDefault"),
    (WriteKey, "put"),
    (UpdateKeyIf, "remove replace"),
    (UpdateKeyIfNull, "putIfAbsent"),
    (ComputeKey, "compute computeIfPresent"),
    (InsertKey, "computeIfAbsent"),
    (MergeKey, "merge"),
    // Of concurrent maps only. It is told of others by their sizes.
    (KeyChanged, "addCount"),
];
const CONCURRENT_HASH_MAP: &[(Action, &str)] = &[
    MAP[0],
    MAP[1],
    MAP[2],
    MAP[3],
    MAP[4],
    MAP[5],
    MAP[6],
    MAP[7],
    (Several, "putAll replaceAll"),
    // What those call.
    (WriteKey, "putVal"),
    (UpdateKeyIf, "replaceNode"),
    (
        Read,
        "size isEmpty mappingCount keys forEachKey searchKeys reduceKeys reduceKeysToDouble reduceKeysToInt reduceKeysToLong",
    ),
    (
        ReadKeys,
        "contains containsValue elements equals hashCode toString forEach forEachEntry forEachValue search searchEntries searchValues reduce \
         reduceToDouble reduceToInt reduceToLong reduceEntries reduceEntriesToDouble reduceEntriesToInt reduceEntriesToLong reduceValues \
         reduceValuesToDouble reduceValuesToInt reduceValuesToLong",
    ),
    (UpdateKeys, "clear"),
];
const SKIP_LIST_MAP: &[(Action, &str)] = &[
    MAP[0],
    MAP[1],
    MAP[2],
    MAP[3],
    MAP[4],
    MAP[5],
    MAP[6],
    MAP[7],
    (PollKey, "pollFirstEntry pollLastEntry"),
    (Read, "size isEmpty"),
    (ReadKeys, "containsValue equals forEach"),
    (
        PeekKey,
        "firstEntry firstKey lastEntry lastKey ceilingEntry ceilingKey floorEntry floorKey higherEntry higherKey lowerEntry lowerKey",
    ),
    (UpdateKeys, "clear"),
    (Unseen, "replaceAll"),
];
/// A part of such a map. What is about one key its methods leave to the map, by methods of the same name.
const PART_OF_SKIP_LIST_MAP: &[(Action, &str)] = &[(
    Unseen,
    "size isEmpty clear containsValue firstEntry firstKey lastEntry lastKey ceilingEntry ceilingKey floorEntry floorKey higherEntry \
     higherKey lowerEntry lowerKey pollFirstEntry pollLastEntry",
)];
const SYNCHRONIZED_MAP: &[(Action, &str)] = &[
    MAP[0],
    MAP[1],
    MAP[2],
    MAP[3],
    MAP[4],
    MAP[5],
    MAP[6],
    (UpdateKeys, "clear replaceAll"),
    (WriteKeysOf, "putAll"),
    (Read, "size isEmpty keys"),
    (ReadKeys, "contains containsValue elements equals hashCode toString forEach"),
];
/// Sets that are maps inside.
const KEYS: &[(Action, &str)] = &[
    (ReadKey, "contains"),
    (UpdateKeyIf, "add remove"),
    (PollKey, "pollFirst pollLast"),
    (PeekKey, "first last ceiling floor higher lower"),
    (Read, "size isEmpty iterator descendingIterator spliterator forEach hashCode equals toArray"),
    (UpdateKeys, "clear"),
    (Several, "addAll removeAll"),
];
/// Views of concurrent maps. Iterators read the set of keys when they are made.
const VIEW: &[(Action, &str)] = &[
    (Read, "size isEmpty iterator spliterator"),
    (ReadKeys, "toArray toString forEach hashCode equals"),
    (UpdateKeys, "clear"),
    (Several, "contains containsAll remove removeAll removeIf retainAll"),
];
const VALUES: &[(Action, &str)] = &[VIEW[0], VIEW[1], VIEW[2], (ReadKeys, "contains"), VIEW[3]];
const COMPARE_AND_SET: &str = "compareAndSet weakCompareAndSet weakCompareAndSetPlain weakCompareAndSetVolatile weakCompareAndSetAcquire \
     weakCompareAndSetRelease compareAndExchange compareAndExchangeAcquire compareAndExchangeRelease";
const NUMBER: &[(Action, &str)] = &[
    // Those that may not be overridden are seen where they are called: see `effects.rs`.
    (Read, "intValue longValue floatValue doubleValue toString"),
    (Write, "set lazySet setPlain setOpaque setRelease"),
    (Update, "getAndSet"),
    (UpdateIf, COMPARE_AND_SET),
    (Add, "getAndAdd addAndGet getAndIncrement incrementAndGet getAndDecrement decrementAndGet"),
    (UpdateBy, "getAndUpdate updateAndGet getAndAccumulate accumulateAndGet"),
];
const NUMBERS: &[(Action, &str)] = &[
    (ReadElement, "get getPlain getOpaque getAcquire"),
    (WriteElement, "set lazySet setPlain setOpaque setRelease"),
    (UpdateElement, "getAndSet getAndUpdate updateAndGet getAndAccumulate accumulateAndGet"),
    (UpdateElementIf, COMPARE_AND_SET),
    (AddElement, "getAndAdd addAndGet getAndIncrement incrementAndGet getAndDecrement decrementAndGet"),
];
/// References with a stamp or a mark, which are one variable.
const PAIR: &[(Action, &str)] = &[
    (Read, "get getReference getStamp isMarked"),
    (Write, "set"),
    (UpdateIf, "compareAndSet weakCompareAndSet attemptStamp attemptMark"),
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
        "getAndSet getAndSetAcquire getAndSetRelease \
         getAndBitwiseOr getAndBitwiseOrAcquire getAndBitwiseOrRelease getAndBitwiseAnd getAndBitwiseAndAcquire \
         getAndBitwiseAndRelease getAndBitwiseXor getAndBitwiseXorAcquire getAndBitwiseXorRelease",
    ),
    (UpdateIf, COMPARE_AND_SET),
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
/// Adders and accumulators, whose function commutes with itself.
const ADDER: &[(Action, &str)] = &[
    (Add, "add increment decrement accumulate"),
    (Read, "sum get intValue longValue floatValue doubleValue toString"),
    (Update, "sumThenReset getThenReset"),
    (Write, "reset"),
];
/// What returns a truth value or a number says whether it has changed anything. Iterators read all when they are made.
const COLLECTION: &[(Action, &str)] = &[
    (
        Read,
        "size isEmpty contains containsAll toArray get getFirst getLast indexOf lastIndexOf hashCode equals toString elementAt firstElement \
         lastElement peek empty search copyInto capacity forEach clone \
         iterator listIterator spliterator elements stream parallelStream",
    ),
    (
        Write,
        "add addAll addFirst addLast remove removeAll removeIf removeFirst removeLast retainAll clear set addElement removeElement \
         removeElementAt removeAllElements removeRange insertElementAt setElementAt setSize push pop sort replaceAll addIfAbsent \
         addAllAbsent bulkRemove",
    ),
];
const FIRE: &[(Action, &str)] = &[(Fire, "tryFire")];

const TEXT: &[(Action, &str)] = &[
    (
        Read,
        "length charAt codePointAt codePointBefore codePointCount offsetByCodePoints substring subSequence indexOf lastIndexOf toString \
         compareTo getChars capacity",
    ),
    (Write, "append insert delete deleteCharAt replace reverse setLength setCharAt appendCodePoint repeat"),
];

/// Every watched class of the JDK with its methods, of all descriptors.
#[rustfmt::skip]
pub(super) const TABLE: &[Row] = &[
    (juc!("locks/ReentrantLock"), Who::Program, &[(Lock, "lock lockInterruptibly tryLock"), (Unlock, "unlock")]),
    (juc!("locks/ReentrantReadWriteLock$WriteLock"), Who::Program, &[(Lock, "lock lockInterruptibly tryLock"), (Unlock, "unlock")]),
    (juc!("locks/ReentrantReadWriteLock$ReadLock"), Who::Program, &[(LockShared, "lock lockInterruptibly tryLock"), (UnlockShared, "unlock")]),
    (juc!("locks/StampedLock"), Who::Program, &[
        (Lock, "writeLock tryWriteLock writeLockInterruptibly"), (Unlock, "unlockWrite tryUnlockWrite"),
        (LockShared, "readLock tryReadLock readLockInterruptibly"), (UnlockShared, "unlockRead tryUnlockRead"),
        (UnlockStamped, "unlock"),
        (ConvertToWrite, "tryConvertToWriteLock"), (ConvertToRead, "tryConvertToReadLock"),
        (ConvertToOptimistic, "tryConvertToOptimisticRead"),
    ]),
    (juc!("locks/StampedLock$WriteLockView"), Who::Program, &[(Lock, "lock lockInterruptibly tryLock"), (Unlock, "unlock")]),
    (juc!("locks/StampedLock$ReadLockView"), Who::Program, &[(LockShared, "lock lockInterruptibly tryLock"), (UnlockShared, "unlock")]),
    (juc!("locks/AbstractQueuedSynchronizer$ConditionObject"), Who::Program, &[(Await, "await awaitNanos awaitUntil awaitUninterruptibly")]),
    (juc!("locks/LockSupport"), Who::Program, &[(Unpark, "unpark"), (Park, "park parkNanos parkUntil")]),
    (juc!("CyclicBarrier"), Who::Anybody, &[(Barrier, "await"), (AllArrived, "nextGeneration")]),
    (juc!("CountDownLatch"), Who::Anybody, &[(Publish, "countDown"), (Observe, "await")]),
    (juc!("Phaser"), Who::Anybody, &[(Publish, "arrive arriveAndDeregister forceTermination"), (Observe, "awaitAdvance awaitAdvanceInterruptibly"), (PublishAndObserve, "arriveAndAwaitAdvance")]),
    (juc!("Semaphore"), Who::Anybody, &[(Release, "release"), (Acquire, "acquire acquireUninterruptibly tryAcquire"), (Drain, "drainPermits")]),
    (juc!("Exchanger"), Who::Anybody, &[(Exchange, "exchange")]),
    (juc!("ThreadPoolExecutor"), Who::Anybody, &[
        (Submit, "execute"), (GetTask, "getTask"), (Publish, "processWorkerExit"), (Observe, "awaitTermination"),
    ]),
    (juc!("ForkJoinPool"), Who::Anybody, &[(Observe, "awaitTermination awaitQuiescence close"), (Invoke, "invoke")]),
    (juc!("ThreadPoolExecutor$Worker"), Who::Anybody, &[(FirstTask, "run")]),
    (juc!("ScheduledThreadPoolExecutor"), Who::Anybody, &[(Submit, "delayedExecute reExecutePeriodic")]),
    (juc!("FutureTask"), Who::Anybody, &[(Complete, "set setException cancel"), (Join, "get resultNow exceptionNow")]),
    (juc!("ForkJoinPool$WorkQueue"), Who::Anybody, &[(Submit, "push lockedPush")]),
    (juc!("ForkJoinTask"), Who::Anybody, &[
        (RunTask, "doExec"), (Complete, "setDone trySetThrown trySetCancelled"), (Join, "join get invoke quietlyJoin quietlyInvoke quietlyJoinUninterruptibly resultNow exceptionNow"),
        (Complete, "complete completeExceptionally quietlyComplete"),
    ]),
    (juc!("CompletableFuture"), Who::Anybody, &[
        (Complete, "internalComplete completeNull completeValue completeThrowable completeRelay obtrudeValue obtrudeException"),
        (Join, "get join"),
        (Depend, "getNow resultNow thenApply thenAccept thenRun thenCompose handle whenComplete exceptionally thenCombine thenAcceptBoth runAfterBoth \
                  applyToEither acceptEither runAfterEither exceptionNow exceptionallyCompose"),
    ]),
    (juc!("CompletableFuture$UniApply"), Who::Anybody, FIRE), (juc!("CompletableFuture$UniAccept"), Who::Anybody, FIRE),
    (juc!("CompletableFuture$UniRun"), Who::Anybody, FIRE), (juc!("CompletableFuture$UniWhenComplete"), Who::Anybody, FIRE),
    (juc!("CompletableFuture$UniHandle"), Who::Anybody, FIRE), (juc!("CompletableFuture$UniExceptionally"), Who::Anybody, FIRE),
    (juc!("CompletableFuture$UniCompose"), Who::Anybody, FIRE), (juc!("CompletableFuture$UniComposeExceptionally"), Who::Anybody, FIRE), (juc!("CompletableFuture$UniRelay"), Who::Anybody, FIRE),
    (juc!("CompletableFuture$BiApply"), Who::Anybody, FIRE), (juc!("CompletableFuture$BiAccept"), Who::Anybody, FIRE),
    (juc!("CompletableFuture$BiRun"), Who::Anybody, FIRE), (juc!("CompletableFuture$BiRelay"), Who::Anybody, FIRE),
    (juc!("CompletableFuture$OrApply"), Who::Anybody, FIRE), (juc!("CompletableFuture$OrAccept"), Who::Anybody, FIRE),
    (juc!("CompletableFuture$OrRun"), Who::Anybody, FIRE), (juc!("CompletableFuture$AnyOf"), Who::Anybody, FIRE),
    (juc!("LinkedBlockingQueue"), Who::Program, QUEUE), (juc!("LinkedBlockingDeque"), Who::Program, QUEUE),
    (juc!("ArrayBlockingQueue"), Who::Program, QUEUE), (juc!("PriorityBlockingQueue"), Who::Program, QUEUE),
    (juc!("SynchronousQueue"), Who::Program, QUEUE), (juc!("LinkedTransferQueue"), Who::Program, QUEUE),
    (juc!("DelayQueue"), Who::Program, QUEUE), (juc!("ConcurrentLinkedQueue"), Who::Program, QUEUE),
    (juc!("ConcurrentLinkedDeque"), Who::Program, QUEUE), ("java/util/AbstractQueue", Who::Program, &[QUEUE[0], QUEUE[1], (Several, "addAll clear"), (Several, "element")]),
    (juc!("ConcurrentHashMap"), Who::Program, CONCURRENT_HASH_MAP), (juc!("ConcurrentSkipListMap"), Who::Program, SKIP_LIST_MAP),
    (juc!("ConcurrentHashMap$KeySetView"), Who::Program, KEYS), (juc!("ConcurrentSkipListSet"), Who::Program, KEYS),
    (juc!("ConcurrentHashMap$CollectionView"), Who::Program, VIEW), (juc!("ConcurrentHashMap$EntrySetView"), Who::Program, VIEW),
    (juc!("ConcurrentHashMap$ValuesView"), Who::Program, VALUES), (juc!("ConcurrentSkipListMap$KeySet"), Who::Program, KEYS),
    (juc!("ConcurrentSkipListMap$EntrySet"), Who::Program, VIEW), (juc!("ConcurrentSkipListMap$Values"), Who::Program, VALUES),
    (juc!("ConcurrentSkipListMap$SubMap"), Who::Program, PART_OF_SKIP_LIST_MAP),
    (juc!("CopyOnWriteArrayList"), Who::Program, COLLECTION), (juc!("CopyOnWriteArraySet"), Who::Program, COLLECTION),
    (juc!("CopyOnWriteArrayList$COWSubList"), Who::Program, COLLECTION),
    (juc!("atomic/AtomicInteger"), Who::Program, NUMBER), (juc!("atomic/AtomicLong"), Who::Program, NUMBER),
    (juc!("atomic/AtomicBoolean"), Who::Program, NUMBER), (juc!("atomic/AtomicReference"), Who::Program, NUMBER),
    (juc!("atomic/AtomicIntegerArray"), Who::Program, NUMBERS), (juc!("atomic/AtomicLongArray"), Who::Program, NUMBERS),
    (juc!("atomic/AtomicReferenceArray"), Who::Program, NUMBERS),
    (juc!("atomic/AtomicStampedReference"), Who::Program, PAIR), (juc!("atomic/AtomicMarkableReference"), Who::Program, PAIR),
    (juc!("atomic/AtomicIntegerFieldUpdater$AtomicIntegerFieldUpdaterImpl"), Who::Program, FIELD),
    (juc!("atomic/AtomicLongFieldUpdater$CASUpdater"), Who::Program, FIELD),
    (juc!("atomic/AtomicReferenceFieldUpdater$AtomicReferenceFieldUpdaterImpl"), Who::Program, FIELD),
    (juc!("atomic/AtomicIntegerFieldUpdater"), Who::Program, FIELD), (juc!("atomic/AtomicLongFieldUpdater"), Who::Program, FIELD),
    (juc!("atomic/AtomicReferenceFieldUpdater"), Who::Program, FIELD),
    (juc!("atomic/LongAdder"), Who::Program, ADDER), (juc!("atomic/DoubleAdder"), Who::Program, ADDER),
    (juc!("atomic/LongAccumulator"), Who::Program, ADDER), (juc!("atomic/DoubleAccumulator"), Who::Program, ADDER),
    (HANDLES, Who::ProgramByHandle, HANDLE),
    ("sun/misc/Unsafe", Who::ProgramByOffset, OFFSET),
    ("java/util/Collections$SynchronizedCollection", Who::ProgramWithMonitor, COLLECTION),
    ("java/util/Collections$SynchronizedList", Who::ProgramWithMonitor, COLLECTION),
    ("java/util/Collections$SynchronizedSet", Who::ProgramWithMonitor, COLLECTION),
    ("java/util/Collections$SynchronizedMap", Who::ProgramWithMonitor, SYNCHRONIZED_MAP),
    ("java/util/Hashtable", Who::ProgramWithMonitor, SYNCHRONIZED_MAP),
    ("java/util/Vector", Who::ProgramWithMonitor, COLLECTION), ("java/util/Stack", Who::ProgramWithMonitor, COLLECTION),
    ("java/lang/StringBuffer", Who::ProgramWithMonitor, TEXT),
    // What these classes inherit.
    ("java/lang/CharSequence", Who::Program, &[(Several, "isEmpty")]), ("java/lang/Number", Who::Program, &[(Several, "byteValue shortValue")]),
    ("java/util/AbstractMap", Who::Program, &[(Several, "putAll hashCode toString")]),
    ("java/util/AbstractSet", Who::Program, &[(Several, "hashCode equals removeAll")]),
    ("java/util/List", Who::Program, &[(Several, "addFirst addLast removeFirst removeLast getFirst getLast")]),
    ("java/util/AbstractCollection", Who::Program, &[(Several, "addAll contains containsAll isEmpty removeAll retainAll toArray toString")]),
    ("java/util/Collection", Who::Program, &[(Several, "removeIf stream parallelStream")]),
    ("java/lang/Iterable", Who::Program, &[(Several, "forEach")]),
    ("java/util/NavigableSet", Who::Program, &[(Several, "removeFirst removeLast")]),
];
