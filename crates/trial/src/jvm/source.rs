//! A program as Java source: one class, whose methods `b0`, `b1`, … are the blocks.

use std::fmt::Write as _;

use super::program::{
    Atomic, Collection, Executor, Kind, Lock, Map, Mode, Program, Queue, Slot, Statement, Type, Variable,
};
use super::vocabulary::vocabulary;

/// The class that forces the order.
pub(crate) const TURN: &str = include_str!("Turn.java");
/// How many elements arrays have, and how many keys maps.
pub(crate) const ELEMENTS: usize = 4;

/// The source of a class with this name. Its method `play` runs the program, in this order.
pub(crate) fn source(program: &Program, class: &str, order: &[usize]) -> String {
    let mut writer = Writer { program, class, text: String::new(), locals: 0, depth: 1 };
    writer.class(order);
    writer.text
}

/// The source of a class `Main` that runs these programs one after the other.
pub(crate) fn main(classes: &[String]) -> String {
    let mut text =
        "public class Main {\n    public static void main(String[] arguments) throws Exception {\n"
            .to_owned();
    for class in classes {
        let _ = writeln!(text, "        {class}.play();");
    }
    text + "    }\n}\n"
}

struct Writer<'p> {
    program: &'p Program,
    class: &'p str,
    text: String,
    /// Names of local variables so far.
    locals: usize,
    depth: usize,
}

impl Writer<'_> {
    fn line(&mut self, line: impl std::fmt::Display) {
        let _ = writeln!(self.text, "{:1$}{line}", "", 4 * self.depth);
    }

    fn open(&mut self, line: impl std::fmt::Display) {
        self.line(format_args!("{line} {{"));
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    fn class(&mut self, order: &[usize]) {
        let (program, class) = (self.program, self.class);
        for import in ["atomvet.steps.Turn", "java.lang.invoke.*", "java.util.*", "java.util.concurrent.*"] {
            let _ = writeln!(self.text, "import {import};");
        }
        self.text += "import java.util.concurrent.atomic.*;\nimport java.util.concurrent.locks.*;\n\n";
        let _ = writeln!(self.text, "public class {class} {{");
        self.open("static class O");
        for of in Type::ALL {
            let java = of.java();
            self.line(format_args!("{java} f_{java}; volatile {java} g_{java};"));
        }
        self.close();
        self.line(format_args!("static final {class} self = new {class}();"));
        self.things();
        for (number, body) in program.classes.iter().enumerate() {
            self.open(format_args!("static class C{number}"));
            self.open("static");
            if !body.is_empty() {
                self.line("Turn.done();");
                self.open("try");
                self.body(body);
                self.depth -= 1;
                self.line("} catch (Exception e) { throw new Error(e); }");
                self.line("Turn.await();");
            }
            self.close();
            self.line("static void touch() {}");
            self.close();
        }
        for (number, method) in program.methods.iter().enumerate() {
            let kind = match (method.synchronized.map(|lock| program.locks[lock]), method.kind) {
                (Some(Lock::This), _) => "synchronized void b",
                (Some(_), _) => "static synchronized void b",
                (None, Kind::Public) => "public void b",
                (None, Kind::Private) => "private void b",
                (None, Kind::Static) => "protected static void b",
                (None, Kind::Constructor) => {
                    self.open(format_args!("static class B{number}"));
                    "B"
                }
            };
            self.open(format_args!("{kind}{number}() throws Exception"));
            if method.synchronized.is_some() {
                self.line("Turn.done();");
            }
            self.body(&method.body);
            if method.synchronized.is_some() {
                self.line("Turn.await();");
            }
            self.close();
            if method.is_constructor() {
                self.close();
            }
        }
        for (number, body) in program.tasks.iter().enumerate() {
            self.open(format_args!("private static void task{number}() throws Exception"));
            self.body(body);
            self.step("");
            self.close();
        }
        for (number, body) in program.threads.iter().enumerate() {
            self.open(format_args!("private static void thread{number}() throws Exception"));
            self.line(format_args!("Turn.enter({number});"));
            self.body(body);
            self.close();
        }
        self.play(order);
        let _ = writeln!(self.text, "}}");
    }

    /// Static fields for all that is shared.
    fn things(&mut self) {
        let program = self.program;
        let has = |kind: &dyn Fn(&Variable) -> bool| program.variables.iter().any(kind);
        for object in 0..4 {
            if has(&|v| matches!(v, Variable::Field { object: of, .. } if *of == object)) {
                self.line(format_args!("static final O o{object} = new O();"));
            }
        }
        for of in Type::ALL {
            if has(&|v| matches!(v, Variable::Element { of: element, .. } if *element == of)) {
                let java = of.java();
                self.line(format_args!("static final {java}[] a_{java} = new {java}[{ELEMENTS}];"));
            }
        }
        for map in [Map::Concurrent, Map::SkipList, Map::Hashtable, Map::Synchronized] {
            if has(&|v| matches!(v, Variable::Key { map: of, .. } if *of == map)) {
                let (name, kind) = (map_name(map), map_kind(map));
                self.line(format_args!(
                    "static final Map<String, Integer> {name} = Turn.filled({kind}, {ELEMENTS});"
                ));
            }
        }
        if has(&|v| matches!(v, Variable::AtomicElement { .. })) {
            self.line(format_args!(
                "static final AtomicIntegerArray aa = new AtomicIntegerArray({ELEMENTS});"
            ));
        }
        self.line("static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(int[].class);");
        self.line("static final VarHandle FIELD = Turn.handle(MethodHandles.lookup(), O.class, \"g_int\", int.class);");
        self.line("static final AtomicIntegerFieldUpdater<O> UPDATER = AtomicIntegerFieldUpdater.newUpdater(O.class, \"g_int\");");
        for (number, variable) in program.variables.iter().enumerate() {
            let declaration = match *variable {
                Variable::Static { of, volatile } => {
                    format!("static {}{} v{number};", if volatile { "volatile " } else { "" }, of.java())
                }
                Variable::Slot(Slot::Plain) => format!("static O v{number} = new O();"),
                Variable::Slot(Slot::Volatile) => format!("static volatile O v{number} = new O();"),
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
                | Variable::AtomicElement { .. }
                | Variable::Key { .. } => continue,
            };
            self.line(declaration);
        }
        for (number, lock) in program.locks.iter().enumerate() {
            match lock {
                Lock::Monitor => self.line(format_args!("static final Object l{number} = new Object();")),
                Lock::Reentrant => {
                    self.line(format_args!("static final ReentrantLock l{number} = new ReentrantLock();"));
                    self.line(format_args!("static final Condition c{number} = l{number}.newCondition();"));
                }
                Lock::ReadWrite => self.line(format_args!(
                    "static final ReentrantReadWriteLock l{number} = new ReentrantReadWriteLock();"
                )),
                Lock::Stamped => {
                    self.line(format_args!("static final StampedLock l{number} = new StampedLock();"));
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
            };
            self.line(format_args!("static final Queue<O> q{number} = new {new};"));
        }
        for (number, permits) in program.semaphores.iter().enumerate() {
            self.line(format_args!("static final Semaphore m{number} = new Semaphore({permits});"));
        }
        for (number, count) in program.latches.iter().enumerate() {
            self.line(format_args!("static final CountDownLatch d{number} = new CountDownLatch({count});"));
        }
        if program.parties() > 0 {
            self.line(format_args!(
                "static final CyclicBarrier barrier = new CyclicBarrier({});",
                program.parties()
            ));
        }
        for (number, executor) in program.executors.iter().enumerate() {
            let new = match executor {
                Executor::ThreadPool | Executor::CompletableFuture => "Executors.newFixedThreadPool(1)",
                Executor::Scheduled => "Executors.newScheduledThreadPool(1)",
                Executor::ForkJoin => "new ForkJoinPool(1)",
            };
            self.line(format_args!("static final ExecutorService e{number} = {new};"));
        }
    }

    fn play(&mut self, order: &[usize]) {
        let program = self.program;
        let steps: String = order.iter().map(|&thread| char::from(b'A' + thread as u8)).collect();
        let (class, threads) = (self.class, program.threads.len());
        let actors = threads + program.executors.len();
        self.open("public static void play() throws Exception");
        self.line(format_args!("Turn.begin(\"{class}\", \"{steps}\", {actors});"));
        self.line(format_args!("Thread[] threads = new Thread[{threads}];"));
        let mine = |thread: &usize| !program.is_started_inside(*thread);
        for thread in (0..threads).filter(mine) {
            self.start(thread, &format!("threads[{thread}]"));
        }
        for thread in (0..threads).filter(mine) {
            self.line(format_args!("threads[{thread}].join();"));
        }
        for executor in 0..program.executors.len() {
            self.line(format_args!("e{executor}.shutdown();"));
            self.line(format_args!("e{executor}.awaitTermination(1, TimeUnit.MINUTES);"));
        }
        for thread in (0..threads).filter(|thread| !mine(thread)) {
            self.line(format_args!("Turn.thread({thread}).join();"));
        }
        self.line("Turn.end();");
        self.close();
    }

    /// Makes a thread, keeps it somewhere and starts it.
    fn start(&mut self, thread: usize, place: &str) {
        self.line(format_args!(
            "{place} = new Thread(() -> {{ try {{ thread{thread}(); }} catch (Exception e) {{ throw new Error(e); }} }});"
        ));
        self.line(format_args!("{place}.start();"));
    }

    /// A step by itself.
    fn step(&mut self, java: &str) {
        let space = if java.is_empty() { "" } else { " " };
        self.line(format_args!("Turn.await(); {java}{space}Turn.done();"));
    }

    fn body(&mut self, body: &[Statement]) {
        body.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Statement) {
        match *statement {
            Statement::Access { variable, operation } => {
                let java = self.access(variable, operation);
                self.line(format_args!("Turn.await(); {{ {java} }} Turn.done();"));
            }
            Statement::Call { method } => {
                let is_step = self.program.methods[method].synchronized.is_some();
                let (before, after) = if is_step { ("Turn.await(); ", " Turn.done();") } else { ("", "") };
                let called = match self.program.methods[method].is_constructor() {
                    true => format!("new B{method}()"),
                    false => format!("self.b{method}()"),
                };
                self.line(format_args!("{before}{called};{after}"));
            }
            Statement::Hold { lock, mode, ref body } => self.hold(lock, mode, body),
            Statement::HoldItem { slot, ref body } => {
                let (object, ..) = self.place(slot);
                self.monitor(&object, body);
            }
            Statement::Wait { lock } => {
                let wait = match self.program.locks[lock] {
                    Lock::Reentrant => format!("c{lock}.await()"),
                    _ => format!("{}.wait()", self.lock(lock)),
                };
                self.line(format_args!(
                    "Turn.await(); if (Turn.take({lock})) Turn.done(); else {{ Turn.done(); do {wait}; while (!Turn.take({lock})); }}"
                ));
            }
            Statement::Notify { lock } => {
                let notify = match self.program.locks[lock] {
                    Lock::Reentrant => format!("c{lock}.signal()"),
                    _ => format!("{}.notifyAll()", self.lock(lock)),
                };
                self.step(&format!("Turn.signal({lock}); {notify};"));
            }
            Statement::Try { ref body } => {
                self.open("try");
                self.body(body);
                self.depth -= 1;
                self.line("} catch (Turn.Thrown e) { Turn.done(); }");
            }
            Statement::Throw => self.line("Turn.await(); if (Turn.yes()) throw new Turn.Thrown();"),
            Statement::Put { queue } => {
                let put = match self.program.queues[queue] {
                    Queue::LinkedBlocking => format!("((BlockingQueue<O>) q{queue}).put(it)"),
                    _ => format!("q{queue}.add(it)"),
                };
                self.step(&format!("{{ O it = new O(); it.f_int = 1; {put}; }}"));
            }
            Statement::Take { queue } => {
                let take = match self.program.queues[queue] {
                    Queue::ConcurrentLinked => format!("q{queue}.poll()"),
                    _ => format!("((BlockingQueue<O>) q{queue}).take()"),
                };
                self.step(&format!("{{ O it = {take}; it.f_int++; }}"));
            }
            Statement::Acquire { semaphore } => self.step(&format!("m{semaphore}.acquire();")),
            Statement::Release { semaphore } => self.step(&format!("m{semaphore}.release();")),
            Statement::CountDown { latch } => self.step(&format!("d{latch}.countDown();")),
            Statement::AwaitLatch { latch } => self.step(&format!("d{latch}.await();")),
            Statement::Barrier => self.line("Turn.await(); Turn.done(); barrier.await();"),
            Statement::Submit { executor, task } => {
                let worker = self.program.threads.len() + executor;
                let runs = format!("Turn.enter({worker}); task{task}();");
                let submits = match self.program.executors[executor] {
                    Executor::CompletableFuture => format!(
                        "CompletableFuture.runAsync(() -> {{ try {{ {runs} }} catch (Exception e) {{ throw new Error(e); }} }}, e{executor})"
                    ),
                    _ => format!("e{executor}.submit(() -> {{ {runs} return null; }})"),
                };
                self.step(&format!("Turn.keep({}, {submits});", 32 + task));
            }
            Statement::Get { task } => self.step(&format!("Turn.future({}).get();", 32 + task)),
            Statement::Start { thread } => {
                self.line("Turn.await();");
                self.locals += 1;
                let local = format!("t{}", self.locals);
                self.line(format_args!("Thread {local};"));
                self.start(thread, &local);
                self.line(format_args!("Turn.keep({thread}, {local}); Turn.done();"));
            }
            Statement::Join { thread } => self.step(&format!("Turn.thread({thread}).join();")),
            Statement::Initialise { class } => self.step(&format!("C{class}.touch();")),
            Statement::Collect => self.step("System.gc();"),
        }
    }

    fn hold(&mut self, lock: usize, mode: Mode, body: &[Statement]) {
        let name = self.lock(lock);
        if self.program.locks[lock].is_monitor() {
            return self.monitor(&name, body);
        }
        self.locals += 1;
        let stamp = format!("s{}", self.locals);
        let (takes, releases) = match (self.program.locks[lock], mode) {
            (Lock::ReadWrite, Mode::Exclusive) => {
                (format!("{name}.writeLock().lock()"), format!("{name}.writeLock().unlock()"))
            }
            (Lock::ReadWrite, Mode::Shared) => {
                (format!("{name}.readLock().lock()"), format!("{name}.readLock().unlock()"))
            }
            (Lock::Stamped, Mode::Exclusive) => {
                (format!("long {stamp} = {name}.writeLock()"), format!("{name}.unlockWrite({stamp})"))
            }
            (Lock::Stamped, Mode::Shared) => {
                (format!("long {stamp} = {name}.readLock()"), format!("{name}.unlockRead({stamp})"))
            }
            // Whoever waits for a notification may not have released it yet.
            _ if self.locals.is_multiple_of(3) => {
                (format!("Turn.expect({name}.tryLock(1, TimeUnit.MINUTES))"), format!("{name}.unlock()"))
            }
            _ => (format!("{name}.lock()"), format!("{name}.unlock()")),
        };
        self.line(format_args!("Turn.await(); {takes}; Turn.done();"));
        self.open("try");
        self.body(body);
        self.depth -= 1;
        self.line(format_args!("}} finally {{ Turn.await(); {releases}; Turn.done(); }}"));
    }

    fn monitor(&mut self, object: &str, body: &[Statement]) {
        self.line("Turn.await();");
        self.open(format_args!("synchronized ({object})"));
        self.line("Turn.done();");
        self.body(body);
        self.line("Turn.await();");
        self.close();
        self.line("Turn.done();");
    }

    fn lock(&self, lock: usize) -> String {
        match self.program.locks[lock] {
            Lock::This => "self".to_owned(),
            Lock::Class => format!("{}.class", self.class),
            _ => format!("l{lock}"),
        }
    }

    /// The variable, what it is part of, and its index or key.
    fn place(&self, variable: usize) -> (String, String, String) {
        let kind = self.program.variables[variable];
        let field = |object: String, of: Type, volatile: bool| {
            let field = format!("{object}.{}_{}", if volatile { 'g' } else { 'f' }, of.java());
            (field, object, String::new())
        };
        match kind {
            Variable::Field { object, of, volatile } => field(format!("o{object}"), of, volatile),
            Variable::Item { slot, of, volatile } => {
                let get = match self.program.variables[slot] {
                    Variable::Slot(Slot::AtomicReference) => ".get()",
                    _ => "",
                };
                field(format!("v{slot}{get}"), of, volatile)
            }
            Variable::Element { of, index } => {
                let array = format!("a_{}", of.java());
                (format!("{array}[{index}]"), array, index.to_string())
            }
            Variable::AtomicElement { index } => (String::new(), "aa".to_owned(), index.to_string()),
            Variable::Key { map, key } => (String::new(), map_name(map).to_owned(), format!("\"k{key}\"")),
            _ => (format!("v{variable}"), String::new(), String::new()),
        }
    }

    fn access(&self, variable: usize, operation: usize) -> String {
        let kind = self.program.variables[variable];
        let (name, object, index) = self.place(variable);
        let value = match kind {
            Variable::Field { of, .. }
            | Variable::Static { of, .. }
            | Variable::Item { of, .. }
            | Variable::Element { of, .. } => match of {
                Type::Boolean => "true".to_owned(),
                Type::Object => "\"x\"".to_owned(),
                Type::Int => "7".to_owned(),
                of => format!("({}) 7", of.java()),
            },
            Variable::Atomic(Atomic::Boolean) => "true".to_owned(),
            Variable::Atomic(Atomic::Reference) => "\"x\"".to_owned(),
            _ => "7".to_owned(),
        };
        let java = vocabulary(kind)[operation].java;
        java.replace('@', &name).replace('$', &object).replace('%', &index).replace('#', &value)
    }
}

fn map_name(map: Map) -> &'static str {
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
