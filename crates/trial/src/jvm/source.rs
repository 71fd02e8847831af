//! A program as Java source: one class, whose methods `b0`, `b1`, … are the blocks.

use std::fmt::Write as _;

use super::declarations::{declarations, map_name};
use super::program::{Atomic, Executor, Kind, Lock, Mode, Program, Queue, Slot, Statement, Type, Variable};
use super::vocabulary::vocabulary;

/// The class that forces the order.
pub(crate) const TURN: &str = include_str!("Turn.java");

/// The source of a class with this name. Its method `play` runs the program, in this order.
pub(crate) fn source(program: &Program, class: &str, order: &[usize]) -> String {
    let mut writer = Writer { program, class, text: String::new(), locals: 0, variants: 0, depth: 1 };
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
    /// How often there was more than one way to write something.
    variants: usize,
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
        let (inherited, own) = Type::ALL.split_at(5);
        for (name, types) in [("Base", inherited), ("O extends Base", own)] {
            self.open(format_args!("static class {name}"));
            for java in types.iter().map(|of| of.java()) {
                self.line(format_args!("{java} f_{java}; volatile {java} g_{java};"));
            }
            self.close();
        }
        self.line(format_args!("static final {class} self = new {class}();"));
        declarations(program).into_iter().for_each(|line| self.line(line));
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
            self.open(format_args!("{kind}{number}(O c) throws Exception"));
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
            self.open(format_args!("private static void task{number}(O c) throws Exception"));
            self.body(body);
            self.step("");
            self.close();
        }
        for (number, body) in program.threads.iter().enumerate() {
            self.open(format_args!("private static void thread{number}(O c) throws Exception"));
            self.line(format_args!("Turn.enter({number});"));
            self.body(body);
            self.close();
        }
        self.play(order);
        let _ = writeln!(self.text, "}}");
    }

    fn play(&mut self, order: &[usize]) {
        let program = self.program;
        let steps: String = order.iter().map(|&thread| char::from(b'A' + thread as u8)).collect();
        let (class, threads) = (self.class, program.threads.len());
        let actors = threads + program.executors.len();
        self.open("public static void play() throws Exception");
        self.line(format_args!("Turn.begin(\"{class}\", \"{steps}\", {actors});"));
        self.line(format_args!("Thread[] threads = new Thread[{threads}];"));
        self.line("O c = new O();");
        let mine = |thread: &usize| !program.is_started_inside(*thread);
        for thread in (0..threads).filter(mine) {
            self.thread(thread, &format!("threads[{thread}]"), "c");
        }
        for thread in (0..threads).filter(mine) {
            self.line(format_args!("threads[{thread}].start();"));
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

    /// Makes a thread with an object, and keeps it for those who wait for its end.
    fn thread(&mut self, thread: usize, place: &str, object: &str) {
        self.line(format_args!(
            "{place} = new Thread(() -> {{ try {{ thread{thread}({object}); }} catch (Exception e) {{ throw new Error(e); }} }});"
        ));
        self.line(format_args!("Turn.keep({thread}, {place});"));
    }

    /// One of several ways to write something, taken by turns.
    fn variant(&mut self, ways: usize) -> usize {
        self.variants += 1;
        self.variants % ways
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
                    true => format!("new B{method}(c)"),
                    false => format!("self.b{method}(c)"),
                };
                self.line(format_args!("{before}{called};{after}"));
            }
            Statement::Hold { lock, mode, ref body } => self.hold(lock, mode, body),
            Statement::HoldItem { slot, ref body } => {
                let (object, ..) = self.place(slot);
                self.monitor(&object, body);
            }
            Statement::Wait { lock } => {
                let name = self.lock(lock);
                let wait = match (self.program.locks[lock], self.variant(2)) {
                    (Lock::Reentrant, 0) => format!("c{lock}.await()"),
                    (Lock::Reentrant, _) => format!("c{lock}.await(1, TimeUnit.MINUTES)"),
                    (_, 0) => format!("{name}.wait()"),
                    _ => format!("{name}.wait(60000)"),
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
                    _ if self.variant(2) == 0 => format!("q{queue}.offer(it)"),
                    _ => format!("q{queue}.add(it)"),
                };
                self.step(&format!("{{ O it = new O(); it.f_int = 1; {put}; }}"));
            }
            Statement::Take { queue } => {
                let take = match self.program.queues[queue] {
                    Queue::ConcurrentLinked => format!("q{queue}.poll()"),
                    _ if self.variant(2) == 0 => {
                        format!("((BlockingQueue<O>) q{queue}).poll(1, TimeUnit.MINUTES)")
                    }
                    _ => format!("((BlockingQueue<O>) q{queue}).take()"),
                };
                self.step(&format!("{{ O it = {take}; it.f_int++; }}"));
            }
            Statement::Acquire { semaphore } => {
                let acquire = ["m.acquire();", "Turn.expect(m.tryAcquire());"][self.variant(2)];
                self.step(&acquire.replace("m.", &format!("m{semaphore}.")));
            }
            Statement::Release { semaphore } => self.step(&format!("m{semaphore}.release();")),
            Statement::CountDown { latch } => self.step(&format!("d{latch}.countDown();")),
            Statement::AwaitLatch { latch } => {
                let wait = ["d.await();", "Turn.expect(d.await(1, TimeUnit.MINUTES));"][self.variant(2)];
                self.step(&wait.replace("d.", &format!("d{latch}.")));
            }
            Statement::Barrier => self.line("Turn.await(); Turn.done(); barrier.await();"),
            Statement::Submit { executor, task } => {
                let worker = self.program.threads.len() + executor;
                self.locals += 1;
                let object = format!("k{}", self.locals);
                let runs = format!("Turn.enter({worker}); task{task}({object});");
                let submits = match self.program.executors[executor] {
                    Executor::CompletableFuture => format!(
                        "CompletableFuture.runAsync(() -> {{ try {{ {runs} }} catch (Exception e) {{ throw new Error(e); }} }}, e{executor})"
                    ),
                    _ => format!("e{executor}.submit(() -> {{ {runs} return null; }})"),
                };
                self.line(format_args!("final O {object} = c;"));
                self.step(&format!("Turn.keep({}, {submits});", 32 + task));
            }
            Statement::Get { task } => {
                let arguments = ["", "1, TimeUnit.MINUTES"][self.variant(2)];
                self.step(&format!("Turn.future({}).get({arguments});", 32 + task));
            }
            Statement::Start { thread } => {
                self.line("Turn.await();");
                self.locals += 1;
                let (local, object) = (format!("t{}", self.locals), format!("k{}", self.locals));
                self.line(format_args!(
                    "Thread {local}; final O {object} = new O(); {object}.f_int = 7; c = {object};"
                ));
                self.thread(thread, &local, &object);
                self.line(format_args!("{local}.start(); Turn.done();"));
            }
            Statement::Join { thread } => {
                let arguments = ["", "60000"][self.variant(2)];
                self.step(&format!("Turn.thread({thread}).join({arguments});"));
            }
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
        let variant = self.variant(3);
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
            _ if variant == 1 => (format!("{name}.lockInterruptibly()"), format!("{name}.unlock()")),
            _ if variant == 2 => {
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
            Variable::AtomicElement { of, index } => (String::new(), format!("a{of:?}"), index.to_string()),
            Variable::ItemElement { slot, index } => {
                (format!("v{slot}[{index}]"), format!("v{slot}"), index.to_string())
            }
            Variable::Captured { of, volatile } => field("c".to_owned(), of, volatile),
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
            | Variable::Captured { of, .. }
            | Variable::Element { of, .. } => match of {
                Type::Boolean => "true".to_owned(),
                Type::Object => "\"x\"".to_owned(),
                Type::Int => "7".to_owned(),
                of => format!("({}) 7", of.java()),
            },
            Variable::Atomic(Atomic::Boolean) => "true".to_owned(),
            Variable::Atomic(Atomic::Reference) | Variable::AtomicElement { of: Atomic::Reference, .. } => {
                "\"x\"".to_owned()
            }
            _ => "7".to_owned(),
        };
        let java = vocabulary(kind)[operation].java;
        java.replace('@', &name).replace('$', &object).replace('%', &index).replace('#', &value)
    }
}
