//! A small concurrent Java program as data: what it has, what its threads do, and in which order.
//!
//! `source.rs` writes it as Java, `execute.rs` says which events it makes.

/// A type that variables have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Type {
    Boolean,
    Byte,
    Char,
    Short,
    Int,
    Long,
    Float,
    Double,
    Object,
}

impl Type {
    pub(crate) const ALL: [Type; 9] = [
        Type::Boolean,
        Type::Byte,
        Type::Char,
        Type::Short,
        Type::Int,
        Type::Long,
        Type::Float,
        Type::Double,
        Type::Object,
    ];

    pub(crate) fn java(self) -> &'static str {
        match self {
            Type::Boolean => "boolean",
            Type::Byte => "byte",
            Type::Char => "char",
            Type::Short => "short",
            Type::Int => "int",
            Type::Long => "long",
            Type::Float => "float",
            Type::Double => "double",
            Type::Object => "Object",
        }
    }
}

/// Where objects are published for other threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Slot {
    Plain,
    Volatile,
    AtomicReference,
    /// A volatile field that refers to an array of `int`.
    Array,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Atomic {
    Integer,
    Long,
    Boolean,
    Reference,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Map {
    Concurrent,
    SkipList,
    Hashtable,
    Synchronized,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Collection {
    Vector,
    CopyOnWrite,
    SynchronizedList,
    StringBuffer,
}

/// What threads access. Objects, arrays and maps are numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Variable {
    /// A field of an object that is there from the start.
    Field {
        object: usize,
        of: Type,
        volatile: bool,
    },
    /// A static field, told apart by its place in the list of variables.
    Static {
        of: Type,
        volatile: bool,
    },
    /// An element of the array for this type.
    Element {
        of: Type,
        index: usize,
    },
    /// What refers to an object that others come to know by it.
    Slot(Slot),
    /// A field of the object that a slot (a variable, by its place in the list) refers to at the time.
    Item {
        slot: usize,
        of: Type,
        volatile: bool,
    },
    /// An element of the array that a slot refers to at the time.
    ItemElement {
        slot: usize,
        index: usize,
    },
    /// A field of the object that a thread has got from the one that started it.
    Captured {
        of: Type,
        volatile: bool,
    },
    Atomic(Atomic),
    /// An element of the only array of such atomics: not `Boolean`.
    AtomicElement {
        of: Atomic,
        index: usize,
    },
    /// A `LongAdder`.
    Adder,
    /// The entry of a key that is in the map from the start.
    Key {
        map: Map,
        key: usize,
    },
    Collection(Collection),
}

/// A lock, told apart by its place in the list of locks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Lock {
    /// The monitor of an object that has no other purpose.
    Monitor,
    /// The monitor of the object whose methods are called.
    This,
    /// The monitor of the program's class.
    Class,
    Reentrant,
    ReadWrite,
    Stamped,
}

impl Lock {
    pub(crate) fn is_monitor(self) -> bool {
        matches!(self, Lock::Monitor | Lock::This | Lock::Class)
    }

    /// Whether threads can wait for a notification.
    pub(crate) fn has_condition(self) -> bool {
        self.is_monitor() || self == Lock::Reentrant
    }

    pub(crate) fn has_shared_mode(self) -> bool {
        matches!(self, Lock::ReadWrite | Lock::Stamped)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Queue {
    LinkedBlocking,
    ArrayBlocking,
    ConcurrentLinked,
    LinkedBlockingDeque,
    LinkedTransfer,
}

/// Who runs tasks: one thread each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Executor {
    ThreadPool,
    Scheduled,
    ForkJoin,
    /// A thread pool with tasks from `CompletableFuture.runAsync`.
    CompletableFuture,
}

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Mode {
    Exclusive,
    Shared,
}

/// What a thread does. Numbers are places in the lists of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Statement {
    /// The operation is a place in the variable's vocabulary.
    Access {
        variable: usize,
        operation: usize,
    },
    Call {
        method: usize,
    },
    Hold {
        lock: usize,
        mode: Mode,
        body: Vec<Statement>,
    },
    /// Holds the monitor of the object that a slot refers to.
    HoldItem {
        slot: usize,
        body: Vec<Statement>,
    },
    /// Waits for a notification, unless there was one that nobody has used.
    Wait {
        lock: usize,
    },
    Notify {
        lock: usize,
    },
    /// Catches what the body throws.
    Try {
        body: Vec<Statement>,
    },
    Throw,
    /// Puts a new object, with a field that was written.
    Put {
        queue: usize,
    },
    /// Takes one, reads the field and writes it.
    Take {
        queue: usize,
    },
    Acquire {
        semaphore: usize,
    },
    Release {
        semaphore: usize,
    },
    CountDown {
        latch: usize,
    },
    AwaitLatch {
        latch: usize,
    },
    /// Meets all threads that come here, each once.
    Barrier,
    Submit {
        executor: usize,
        task: usize,
    },
    Get {
        task: usize,
    },
    /// Starts a thread, with a new object that both have from now on.
    Start {
        thread: usize,
    },
    Join {
        thread: usize,
    },
    /// Uses a class, which is initialised the first time.
    Initialise {
        class: usize,
    },
    /// Asks for a garbage collection.
    Collect,
}

impl Statement {
    /// The statements inside of it, if it has such.
    pub(crate) fn inside(&self) -> Option<&Vec<Statement>> {
        match self {
            Statement::Hold { body, .. } | Statement::HoldItem { body, .. } | Statement::Try { body } => {
                Some(body)
            }
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn inside_mut(&mut self) -> Option<&mut Vec<Statement>> {
        match self {
            Statement::Hold { body, .. } | Statement::HoldItem { body, .. } | Statement::Try { body } => {
                Some(body)
            }
            _ => None,
        }
    }
}

/// How a method is declared.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Kind {
    #[default]
    Public,
    Private,
    Static,
    /// The constructor of a class of its own.
    Constructor,
}

/// A method, which is checked as a block.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Method {
    pub(crate) kind: Kind,
    /// The lock that it holds as a synchronized method: `This` or `Class`.
    pub(crate) synchronized: Option<usize>,
    pub(crate) body: Vec<Statement>,
}

impl Method {
    /// Constructors cannot be synchronized.
    pub(crate) fn is_constructor(&self) -> bool {
        self.kind == Kind::Constructor && self.synchronized.is_none()
    }
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Program {
    pub(crate) variables: Vec<Variable>,
    pub(crate) locks: Vec<Lock>,
    pub(crate) queues: Vec<Queue>,
    /// Permits that they have at first.
    pub(crate) semaphores: Vec<usize>,
    /// Their counts at first.
    pub(crate) latches: Vec<usize>,
    pub(crate) executors: Vec<Executor>,
    /// What the initialisers of classes do.
    pub(crate) classes: Vec<Vec<Statement>>,
    pub(crate) methods: Vec<Method>,
    pub(crate) threads: Vec<Vec<Statement>>,
    pub(crate) tasks: Vec<Vec<Statement>>,
    /// Which thread goes on, step by step, if it can: workers of executors come after the threads.
    pub(crate) preferred: Vec<usize>,
}

impl Program {
    /// Everything that has statements in it.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = &Vec<Statement>> {
        let methods = self.methods.iter().map(|method| &method.body);
        methods.chain(&self.threads).chain(&self.tasks).chain(&self.classes)
    }

    /// The same, to be changed.
    pub(crate) fn bodies_mut(&mut self) -> impl Iterator<Item = &mut Vec<Statement>> {
        let methods = self.methods.iter_mut().map(|method| &mut method.body);
        methods.chain(&mut self.threads).chain(&mut self.tasks).chain(&mut self.classes)
    }

    /// Whether a statement that fits is anywhere in it.
    pub(crate) fn has(&self, fits: impl Fn(&Statement) -> bool) -> bool {
        fn any(body: &[Statement], fits: &dyn Fn(&Statement) -> bool) -> bool {
            body.iter()
                .any(|statement| statement.inside().is_some_and(|body| any(body, fits)) || fits(statement))
        }
        self.bodies().any(|body| any(body, &fits))
    }

    /// Threads that a statement starts. The others are started by the main thread.
    pub(crate) fn is_started_inside(&self, thread: usize) -> bool {
        self.has(|statement| *statement == Statement::Start { thread })
    }

    /// How many threads meet at the barrier.
    pub(crate) fn parties(&self) -> usize {
        self.threads.iter().filter(|body| body.contains(&Statement::Barrier)).count()
    }
}
