//! The public methods of watched classes that are not watched, each group with the reason; and the test that there are no others,
//! in whichever JDK runs it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use super::table::TABLE;
use super::{Action, HANDLES, action};
use crate::effects;

/// Classes (all that begin like this) and methods; a star is all.
const UNSEEN: &[(&str, &str)] = &[
    // Nobody outside of the JDK has one of these.
    ("java/util/concurrent/ThreadPoolExecutor$Worker", "*"),
    ("java/util/concurrent/CompletableFuture$", "*"),
    // They ask about the state of a synchroniser, or make an object that stands for it. Who signals has the
    // lock.
    (
        "java/util/concurrent/locks/",
        "asReadLock asReadWriteLock asWriteLock getHoldCount getQueueLength getReadLockCount \
         getWaitQueueLength hasQueuedThread hasQueuedThreads hasWaiters isFair isHeldByCurrentThread isLocked \
         isReadLocked isWriteLocked newCondition signal signalAll toString tryOptimisticRead validate",
    ),
    ("java/util/concurrent/CountDownLatch", "getCount toString"),
    ("java/util/concurrent/CyclicBarrier", "getNumberWaiting getParties isBroken reset"),
    ("java/util/concurrent/Semaphore", "availablePermits getQueueLength hasQueuedThreads isFair toString"),
    (
        "java/util/concurrent/Phaser",
        "bulkRegister getArrivedParties getParent getPhase getRegisteredParties getRoot getUnarrivedParties \
         isTerminated register toString",
    ),
    // They ask about an executor, or change how it works. What it runs goes through `execute` or a work queue.
    (
        "java/util/concurrent/ThreadPoolExecutor",
        "allowCoreThreadTimeOut allowsCoreThreadTimeOut close getActiveCount getCompletedTaskCount \
         getCorePoolSize getKeepAliveTime getLargestPoolSize getMaximumPoolSize getPoolSize getQueue \
         getRejectedExecutionHandler getTaskCount getThreadFactory invokeAll invokeAny isShutdown \
         isTerminated isTerminating prestartAllCoreThreads prestartCoreThread purge remove setCorePoolSize \
         setKeepAliveTime setMaximumPoolSize setRejectedExecutionHandler setThreadFactory shutdown \
         shutdownNow submit toString",
    ),
    (
        "java/util/concurrent/ScheduledThreadPoolExecutor",
        "allowCoreThreadTimeOut allowsCoreThreadTimeOut close execute getActiveCount getCompletedTaskCount \
         getContinueExistingPeriodicTasksAfterShutdownPolicy getCorePoolSize \
         getExecuteExistingDelayedTasksAfterShutdownPolicy getKeepAliveTime getLargestPoolSize \
         getMaximumPoolSize getPoolSize getQueue getRejectedExecutionHandler getRemoveOnCancelPolicy \
         getTaskCount getThreadFactory invokeAll invokeAny isShutdown isTerminated isTerminating \
         prestartAllCoreThreads prestartCoreThread purge remove schedule scheduleAtFixedRate \
         scheduleWithFixedDelay setContinueExistingPeriodicTasksAfterShutdownPolicy setCorePoolSize \
         setExecuteExistingDelayedTasksAfterShutdownPolicy setKeepAliveTime setMaximumPoolSize \
         setRejectedExecutionHandler setRemoveOnCancelPolicy setThreadFactory shutdown shutdownNow submit \
         toString",
    ),
    (
        "java/util/concurrent/ForkJoinPool",
        "cancelDelayedTasksOnShutdown execute externalSubmit getActiveThreadCount getAsyncMode \
         getDelayedTaskCount getFactory getParallelism getPoolSize getQueuedSubmissionCount \
         getQueuedTaskCount getRunningThreadCount getStealCount getUncaughtExceptionHandler \
         hasQueuedSubmissions invokeAll invokeAllUninterruptibly invokeAny isQuiescent isShutdown \
         isTerminated isTerminating lazySubmit schedule scheduleAtFixedRate scheduleWithFixedDelay \
         setParallelism shutdown shutdownNow submit submitWithTimeout toString",
    ),
    // They ask without waiting, or get there by methods that are watched: asynchronous stages by `execute` and
    // `tryFire`, results by `internalComplete` and the like.
    (
        "java/util/concurrent/CompletableFuture",
        "acceptEitherAsync applyToEitherAsync cancel complete completeAsync completeExceptionally \
         completeOnTimeout copy defaultExecutor exceptionallyAsync exceptionallyComposeAsync \
         getNumberOfDependents handleAsync isCancelled isCompletedExceptionally isDone minimalCompletionStage \
         newIncompleteFuture orTimeout runAfterBothAsync runAfterEitherAsync state thenAcceptAsync \
         thenAcceptBothAsync thenApplyAsync thenCombineAsync thenComposeAsync thenRunAsync \
         toCompletableFuture toString whenCompleteAsync",
    ),
    ("java/util/concurrent/FutureTask", "isCancelled isDone run state toString"),
    (
        "java/util/concurrent/ForkJoinTask",
        "cancel compareAndSetForkJoinTaskTag fork getException getForkJoinTaskTag getRawResult isCancelled \
         isCompletedAbnormally isCompletedNormally isDone reinitialize setForkJoinTaskTag state tryUnfork",
    ),
    // What only throws; and what a part of a map leaves to the map, by a method of the same name.
    ("java/util/concurrent/ConcurrentHashMap$CollectionView", "add remove"),
    ("java/util/concurrent/ConcurrentHashMap$EntrySetView", "add"),
    ("java/util/concurrent/ConcurrentHashMap$ValuesView", "add"),
    ("java/util/concurrent/ConcurrentSkipListMap$EntrySet", "add"),
    ("java/util/concurrent/ConcurrentSkipListMap$KeySet", "add"),
    ("java/util/concurrent/ConcurrentSkipListMap$Values", "add remove"),
    (
        "java/util/concurrent/ConcurrentSkipListMap$SubMap",
        "compute computeIfAbsent computeIfPresent containsKey get getOrDefault merge put putIfAbsent remove replace",
    ),
    // They make views, whose methods are watched, or copies; or they ask about what never changes.
    (
        "java/util/concurrent/ConcurrentHashMap",
        "addAll contains entrySet forEach getMap getMappedValue iterator keySet removeIf spliterator values",
    ),
    (
        "java/util/concurrent/ConcurrentSkipList",
        "addFirst addLast clone comparator descendingKeySet descendingMap descendingSet entrySet getFirst getLast headMap headSet keySet \
         navigableKeySet putFirst putLast reversed sequencedEntrySet sequencedKeySet sequencedValues subMap subSet tailMap tailSet values",
    ),
    ("java/util/Hashtable", "clone entrySet keySet values"),
    ("java/util/Collections$SynchronizedMap", "entrySet keySet values"),
    ("java/util/Collections$Synchronized", "reversed subList"),
    ("java/util/Vector", "ensureCapacity reversed subList trimToSize"),
    ("java/util/Stack", "ensureCapacity reversed subList trimToSize"),
    ("java/util/concurrent/CopyOnWrite", "reversed subList"),
    ("java/util/concurrent/LinkedBlockingDeque", "reversed"),
    ("java/util/concurrent/ConcurrentLinkedDeque", "reversed"),
    ("java/util/concurrent/PriorityBlockingQueue", "comparator"),
    ("java/util/concurrent/LinkedTransferQueue", "getWaitingConsumerCount hasWaitingConsumer"),
    // Those that have code are watched.
    ("java/util/AbstractQueue", "iterator offer peek poll size spliterator"),
    // Its spliterator has an iterator, made when it is used.
    ("java/util/concurrent/DelayQueue", "spliterator"),
    // By other methods of the map.
    ("java/util/concurrent/ConcurrentSkipListMap$SubMap", "equals forEach replaceAll"),
    // The length never changes; the text of a whole array is none of its elements. The implementations of
    // updaters are watched. Streams of a text are as iterators; its capacity is not its content.
    ("java/util/concurrent/atomic/Atomic", "compareAndSet get lazySet length set toString weakCompareAndSet"),
    ("java/lang/", "chars codePoints ensureCapacity trimToSize"),
    // They ask about layouts, or are about memory that no object has; docs/jvm.md names those that copy objects.
    (
        "sun/misc/Unsafe",
        "addressSize allocateInstance allocateMemory arrayBaseOffset arrayIndexScale copyMemory \
         ensureClassInitialized freeMemory fullFence getAddress getLoadAverage invokeCleaner loadFence \
         objectFieldOffset pageSize park putAddress reallocateMemory setMemory shouldBeInitialized \
         staticFieldBase staticFieldOffset storeFence throwException unpark",
    ),
];

/// Prints the public methods of the classes that it is given: class, the class whose code is run, method.
const LISTER: &str = r#"
import java.lang.reflect.*;
import java.util.*;

public class Methods {
    public static void main(String[] names) {
        for (String name : names) {
            Class<?> type;
            try {
                type = Class.forName(name.replace('/', '.'));
            } catch (ClassNotFoundException none) {
                continue;
            }
            Set<String> methods = new TreeSet<>();
            for (Class<?> above = type; above != Object.class; above = above.getSuperclass()) {
                for (Method method : above.getDeclaredMethods()) {
                    add(method, methods);
                }
            }
            for (Method method : type.getMethods()) {
                add(method, methods);
            }
            for (String method : methods) {
                System.out.println(name + " " + code(type, method).replace('.', '/') + " " + method);
            }
        }
    }

    private static void add(Method method, Set<String> methods) {
        int modifiers = method.getModifiers();
        boolean isOfObject = method.getDeclaringClass() == Object.class;
        if (Modifier.isPublic(modifiers) && !Modifier.isStatic(modifiers) && !method.isSynthetic() && !isOfObject) {
            methods.add(method.getName());
        }
    }

    /** The class or interface that has the code of a method. */
    private static String code(Class<?> type, String name) {
        for (Class<?> above = type; above != null; above = above.getSuperclass()) {
            for (Method method : above.getDeclaredMethods()) {
                boolean hasCode = !Modifier.isAbstract(method.getModifiers()) && !method.isSynthetic();
                if (hasCode && method.getName().equals(name)) {
                    return above.getName();
                }
            }
        }
        for (Method method : type.getMethods()) {
            if (method.isDefault() && method.getName().equals(name)) {
                return method.getDeclaringClass().getName();
            }
        }
        return "nobody";
    }
}
"#;

/// A command of the JDK, or of the JRE that programs are to be run with.
fn jdk(command: &str, homes: &[&str]) -> Command {
    let home = homes.iter().filter_map(std::env::var_os).find(|home| !home.is_empty());
    Command::new(home.map_or_else(|| command.into(), |home| PathBuf::from(home).join("bin").join(command)))
}

fn succeed(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}: install a JDK with `cargo xtask install`"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn is_unseen(class: &str, method: &str) -> bool {
    let names = |(classes, methods): &(&str, &str)| {
        class.starts_with(classes) && methods.split_whitespace().any(|name| name == method || name == "*")
    };
    UNSEEN.iter().any(names)
}

#[test]
fn every_public_method_is_watched_or_known_not_to_be() {
    let directory = std::env::temp_dir().join(format!("atomvet-methods-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let source = directory.join("Methods.java");
    std::fs::write(&source, LISTER).unwrap();
    succeed(jdk("javac", &["JAVA_HOME"]).arg("-d").arg(&directory).arg(&source));
    // Those that are there for what others inherit from them have methods of all kinds of classes.
    let is_for_heirs =
        |actions: &[(Action, &str)]| actions.iter().all(|(action, _)| *action == Action::Several);
    let rows = TABLE.iter().filter(|(class, _, actions)| *class != HANDLES && !is_for_heirs(actions));
    let classes = rows.map(|(class, ..)| *class);
    let mut java = jdk("java", &["ATOMVET_TEST_JRE", "JAVA_HOME"]);
    let listed = succeed(java.arg("-cp").arg(&directory).arg("Methods").args(classes));
    std::fs::remove_dir_all(&directory).unwrap();
    let mut unknown = BTreeSet::new();
    for line in listed.lines() {
        let mut parts = line.split(' ');
        let (Some(class), Some(code), Some(method)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let is_watched = action(code.as_bytes(), method.as_bytes(), b"()V").is_some()
            || effects::is_atomic_read(class.as_bytes(), method.as_bytes());
        if !is_watched && !is_unseen(class, method) {
            unknown.insert(line);
        }
    }
    let unknown: Vec<&str> = unknown.into_iter().collect();
    assert!(unknown.is_empty(), "neither watched nor known not to be:\n{}", unknown.join("\n"));
}
