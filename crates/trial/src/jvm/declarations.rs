//! The static fields of a program's class: all that its threads share.

use super::program::{Atomic, Collection, Executor, Lock, Map, Program, Queue, Slot, Type, Variable};

/// How many elements arrays have, and how many keys maps.
pub(crate) const ELEMENTS: usize = 4;

/// The declarations, a line each.
pub(crate) fn declarations(program: &Program) -> Vec<String> {
    let mut lines = Vec::new();
    let has = |kind: &dyn Fn(&Variable) -> bool| program.variables.iter().any(kind);
    for object in 0..4 {
        if has(&|v| matches!(v, Variable::Field { object: of, .. } if *of == object)) {
            lines.push(format!("static final O o{object} = new O();"));
        }
    }
    for of in Type::ALL {
        if has(&|v| matches!(v, Variable::Element { of: element, .. } if *element == of)) {
            let java = of.java();
            lines.push(format!("static final {java}[] a_{java} = new {java}[{ELEMENTS}];"));
        }
    }
    for map in [Map::Concurrent, Map::SkipList, Map::Hashtable, Map::Synchronized] {
        if has(&|v| matches!(v, Variable::Key { map: of, .. } if *of == map)) {
            let (name, kind) = (map_name(map), map_kind(map));
            lines
                .push(format!("static final Map<String, Integer> {name} = Turn.filled({kind}, {ELEMENTS});"));
        }
    }
    for of in [Atomic::Integer, Atomic::Long, Atomic::Reference] {
        if has(&|v| matches!(v, Variable::AtomicElement { of: element, .. } if *element == of)) {
            let (class, parameters, diamond, name) = match of {
                Atomic::Integer => ("AtomicIntegerArray", "", "", "aInteger"),
                Atomic::Long => ("AtomicLongArray", "", "", "aLong"),
                _ => ("AtomicReferenceArray", "<Object>", "<>", "aReference"),
            };
            lines
                .push(format!("static final {class}{parameters} {name} = new {class}{diamond}({ELEMENTS});"));
        }
    }
    lines.push(
        "static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(int[].class);".to_owned(),
    );
    lines.push(
        "static final VarHandle FIELD = Turn.handle(MethodHandles.lookup(), O.class, \"g_int\", int.class);"
            .to_owned(),
    );
    lines.push("static final AtomicIntegerFieldUpdater<Base> UPDATER = AtomicIntegerFieldUpdater.newUpdater(Base.class, \"g_int\");".to_owned());
    for (number, variable) in program.variables.iter().enumerate() {
        let declaration = match *variable {
            Variable::Static { of, volatile } => {
                format!("static {}{} v{number};", if volatile { "volatile " } else { "" }, of.java())
            }
            Variable::Slot(Slot::Plain) => format!("static O v{number} = new O();"),
            Variable::Slot(Slot::Volatile) => format!("static volatile O v{number} = new O();"),
            Variable::Slot(Slot::Array) => {
                format!("static volatile int[] v{number} = new int[{ELEMENTS}];")
            }
            Variable::Slot(Slot::AtomicReference) => {
                format!("static final AtomicReference<O> v{number} = new AtomicReference<>(new O());")
            }
            Variable::Atomic(kind) => {
                let (of, new) = match kind {
                    Atomic::Integer => ("AtomicInteger", "AtomicInteger"),
                    Atomic::Long => ("AtomicLong", "AtomicLong"),
                    Atomic::Boolean => ("AtomicBoolean", "AtomicBoolean"),
                    Atomic::Reference => ("AtomicReference<Object>", "AtomicReference<>"),
                };
                format!("static final {of} v{number} = new {new}();")
            }
            Variable::Adder => format!("static final LongAdder v{number} = new LongAdder();"),
            Variable::Collection(Collection::StringBuffer) => {
                format!("static final StringBuffer v{number} = new StringBuffer().append('a');")
            }
            Variable::Collection(kind) => {
                let new = match kind {
                    Collection::Vector => "new Vector<>()",
                    Collection::CopyOnWrite => "new CopyOnWriteArrayList<>()",
                    _ => "Collections.synchronizedList(new ArrayList<>())",
                };
                format!("static final List<Integer> v{number} = Turn.filled({new});")
            }
            Variable::Field { .. }
            | Variable::Element { .. }
            | Variable::Item { .. }
            | Variable::ItemElement { .. }
            | Variable::Captured { .. }
            | Variable::AtomicElement { .. }
            | Variable::Key { .. } => continue,
        };
        lines.push(declaration);
    }
    for (number, lock) in program.locks.iter().enumerate() {
        match lock {
            Lock::Monitor => lines.push(format!("static final Object l{number} = new Object();")),
            Lock::Reentrant => {
                lines.push(format!("static final ReentrantLock l{number} = new ReentrantLock();"));
                lines.push(format!("static final Condition c{number} = l{number}.newCondition();"));
            }
            Lock::ReadWrite => lines.push(format!(
                "static final ReentrantReadWriteLock l{number} = new ReentrantReadWriteLock();"
            )),
            Lock::Stamped => {
                lines.push(format!("static final StampedLock l{number} = new StampedLock();"));
            }
            Lock::This | Lock::Class => {}
        }
    }
    for (number, queue) in program.queues.iter().enumerate() {
        let new = match queue {
            Queue::LinkedBlocking => "LinkedBlockingQueue<>()",
            Queue::ArrayBlocking => "ArrayBlockingQueue<>(100)",
            Queue::ConcurrentLinked => "ConcurrentLinkedQueue<>()",
            Queue::LinkedBlockingDeque => "LinkedBlockingDeque<>()",
            Queue::LinkedTransfer => "LinkedTransferQueue<>()",
        };
        lines.push(format!("static final Queue<O> q{number} = new {new};"));
    }
    for (number, permits) in program.semaphores.iter().enumerate() {
        lines.push(format!("static final Semaphore m{number} = new Semaphore({permits});"));
    }
    for (number, count) in program.latches.iter().enumerate() {
        lines.push(format!("static final CountDownLatch d{number} = new CountDownLatch({count});"));
    }
    if program.parties() > 0 {
        lines.push(format!("static final CyclicBarrier barrier = new CyclicBarrier({});", program.parties()));
    }
    for (number, executor) in program.executors.iter().enumerate() {
        let new = match executor {
            Executor::ThreadPool | Executor::CompletableFuture => "Executors.newFixedThreadPool(1)",
            Executor::Scheduled => "Executors.newScheduledThreadPool(1)",
            Executor::ForkJoin => "new ForkJoinPool(1)",
        };
        lines.push(format!("static final ExecutorService e{number} = {new};"));
    }
    lines
}

/// The field that has a map.
pub(crate) fn map_name(map: Map) -> &'static str {
    match map {
        Map::Concurrent => "concurrent",
        Map::SkipList => "skipList",
        Map::Hashtable => "hashtable",
        Map::Synchronized => "synchronized_",
    }
}

fn map_kind(map: Map) -> &'static str {
    match map {
        Map::Concurrent => "new ConcurrentHashMap<>()",
        Map::SkipList => "new ConcurrentSkipListMap<>()",
        Map::Hashtable => "new Hashtable<>()",
        Map::Synchronized => "Collections.synchronizedMap(new HashMap<>())",
    }
}
