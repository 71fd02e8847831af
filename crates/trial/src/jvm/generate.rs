//! Random programs that run to their end.

use super::declarations::ELEMENTS;
use super::execute::execute;
use super::known::Feature;
use super::program::{
    Atomic, Collection, Executor, Kind, Lock, Map, Method, Mode, Program, Queue, Slot, Statement, Type,
    Variable,
};
use super::vocabulary::{Effect, needs_order, vocabulary};
use crate::random::Random;

/// How variables are shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// Each plain variable has a lock that is held around its accesses; the others are accessed anywhere.
    Ordered,
    /// Plain variables are accessed anywhere.
    Racy,
}

/// A random program, to be judged with or without splits at waits, for the live checker or for the recorder. Executions that
/// would not end are thrown away.
pub(crate) fn generate(random: &mut Random, style: Style, split_at_waits: bool, is_live: bool) -> Program {
    let has_initialisers = !split_at_waits || Feature::SplitsAtInitialisers.is_on(is_live);
    loop {
        let program = Generator { has_initialisers, is_live, ..Generator::new(random, style) }.program();
        if execute(&program).is_some() {
            return program;
        }
    }
}

struct Generator<'r> {
    random: &'r mut Random,
    style: Style,
    program: Program,
    /// Per variable, the lock that is held around its accesses.
    guards: Vec<Option<usize>>,
    /// What is in this program at all, besides accesses, calls and locks.
    extras: Vec<Extra>,
    /// Locks that the statement at hand is inside of.
    held: Vec<(usize, Mode)>,
    /// Methods from this one on can be called.
    callable: usize,
    in_task: bool,
    /// Which has no object from whoever started its thread.
    in_initialiser: bool,
    has_tried: bool,
    has_initialisers: bool,
    is_live: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Extra {
    Wait,
    Exceptions,
    Queue,
    Semaphore,
    Latch,
    Barrier,
    Executor,
    Threads,
    Initialiser,
    Collection,
}

const EXTRAS: [Extra; 10] = [
    Extra::Wait,
    Extra::Exceptions,
    Extra::Queue,
    Extra::Semaphore,
    Extra::Latch,
    Extra::Barrier,
    Extra::Executor,
    Extra::Threads,
    Extra::Initialiser,
    Extra::Collection,
];

impl Generator<'_> {
    fn new(random: &mut Random, style: Style) -> Generator<'_> {
        Generator {
            random,
            style,
            program: Program::default(),
            guards: Vec::new(),
            extras: Vec::new(),
            held: Vec::new(),
            callable: 0,
            in_task: false,
            in_initialiser: false,
            has_tried: false,
            has_initialisers: true,
            is_live: false,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.below(end as u64) as usize
    }

    fn one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn has(&self, extra: Extra) -> bool {
        self.extras.contains(&extra)
    }

    fn program(mut self) -> Program {
        for _ in 0..self.below(4) {
            let extra = self.pick(&EXTRAS);
            if extra != Extra::Initialiser || self.has_initialisers {
                self.extras.push(extra);
            }
        }
        self.things();
        let methods = 2 + self.below(4);
        self.program.methods = vec![Method::default(); methods];
        // A method calls those after it only.
        for method in (0..methods).rev() {
            self.callable = method + 1;
            self.method(method);
        }
        self.callable = 0;
        let threads = 2 + self.below(3);
        let started_inside = if self.has(Extra::Threads) { 1 } else { 0 };
        for _ in 0..threads + started_inside {
            let body = self.thread_body();
            self.program.threads.push(body);
        }
        if self.has(Extra::Executor) {
            for _ in 0..1 + self.below(3) {
                self.in_task = true;
                let body = self.body(1);
                self.in_task = false;
                self.program.tasks.push(body);
            }
        }
        self.place_special(threads);
        self.rescue();
        self.order();
        self.program
    }

    fn things(&mut self) {
        for _ in 0..1 + self.below(3) {
            let lock = self.pick(&[
                Lock::Monitor,
                Lock::Monitor,
                Lock::This,
                Lock::Class,
                Lock::Reentrant,
                Lock::Reentrant,
                Lock::ReadWrite,
                Lock::Stamped,
            ]);
            // There is one object and one class only.
            if !matches!(lock, Lock::This | Lock::Class) || !self.program.locks.contains(&lock) {
                self.program.locks.push(lock);
            }
        }
        for _ in 0..2 + self.below(5) {
            self.variable();
        }
        if self.has(Extra::Queue) {
            let queue = self.pick(&[
                Queue::LinkedBlocking,
                Queue::ArrayBlocking,
                Queue::ConcurrentLinked,
                Queue::LinkedBlockingDeque,
                Queue::LinkedTransfer,
            ]);
            self.program.queues.push(queue);
        }
        if self.has(Extra::Semaphore) {
            let permits = self.below(3);
            self.program.semaphores.push(permits);
        }
        if self.has(Extra::Latch) {
            let count = 1 + self.below(2);
            self.program.latches.push(count);
        }
        if self.has(Extra::Executor) {
            let executor = self.pick(&[
                Executor::ThreadPool,
                Executor::Scheduled,
                Executor::ForkJoin,
                Executor::CompletableFuture,
            ]);
            self.program.executors.push(executor);
        }
        if self.has(Extra::Initialiser) {
            self.in_initialiser = true;
            let mut body: Vec<Statement> =
                (0..1 + self.below(2)).filter_map(|_| self.initialising_access()).collect();
            if self.one_in(3) {
                body.extend(self.hold(2));
            }
            self.in_initialiser = false;
            self.program.classes.push(body);
        }
    }

    /// One more variable, with what it needs.
    fn variable(&mut self) {
        let of = self.pick(&Type::ALL);
        let volatile = self.one_in(3);
        let variable = match self.below(17) {
            0..3 => Variable::Field { object: self.below(2), of, volatile },
            3 | 4 => Variable::Static { of, volatile },
            5 | 6 => Variable::Element { of, index: self.below(ELEMENTS) },
            14 => {
                let slot = self.add(Variable::Slot(Slot::Array));
                Variable::ItemElement { slot, index: self.below(2) }
            }
            15 | 16 => Variable::Captured { of: self.pick(&[Type::Int, of]), volatile },
            7 | 8 => {
                let through_reference =
                    Feature::ObjectsInAtomicReferences.is_on(self.is_live) && self.one_in(4);
                let slot = match through_reference {
                    true => Slot::AtomicReference,
                    false => self.pick(&[Slot::Plain, Slot::Volatile, Slot::Volatile]),
                };
                let slot = self.add(Variable::Slot(slot));
                Variable::Item { slot, of: self.pick(&[Type::Int, Type::Long, of]), volatile }
            }
            9 => {
                let atomic = self.pick(&[Atomic::Integer, Atomic::Long, Atomic::Boolean, Atomic::Reference]);
                Variable::Atomic(atomic)
            }
            10 => {
                let of = self.pick(&[Atomic::Integer, Atomic::Long, Atomic::Reference]);
                Variable::AtomicElement { of, index: self.below(2) }
            }
            11 => Variable::Adder,
            12 => {
                let map = self.pick(&[Map::Concurrent, Map::SkipList, Map::Hashtable, Map::Synchronized]);
                Variable::Key { map, key: self.below(2) }
            }
            _ => Variable::Collection(self.pick(&[
                Collection::Vector,
                Collection::CopyOnWrite,
                Collection::SynchronizedList,
                Collection::StringBuffer,
            ])),
        };
        self.add(variable);
    }

    fn add(&mut self, variable: Variable) -> usize {
        // These are told apart by what they are, the others by their place.
        let is_same = matches!(
            variable,
            Variable::Field { .. }
                | Variable::Element { .. }
                | Variable::AtomicElement { .. }
                | Variable::Key { .. }
                | Variable::Item { .. }
                | Variable::ItemElement { .. }
                | Variable::Captured { .. }
        );
        if let Some(at) = self.program.variables.iter().position(|&other| is_same && other == variable) {
            return at;
        }
        // An object that is published has the lock of what refers to it.
        let guard = match variable {
            Variable::Item { slot, .. } if self.guards[slot].is_some() => self.guards[slot],
            _ => Some(self.below(self.program.locks.len())),
        };
        self.program.variables.push(variable);
        self.guards.push(guard.filter(|_| needs_order(variable)));
        self.program.variables.len() - 1
    }

    fn method(&mut self, method: usize) {
        let own = (0..self.program.locks.len())
            .find(|&lock| matches!(self.program.locks[lock], Lock::This | Lock::Class));
        let synchronized = own.filter(|_| self.one_in(3));
        self.held.extend(synchronized.map(|lock| (lock, Mode::Exclusive)));
        let body = self.body(0);
        self.held.clear();
        let kind = self.pick(&[Kind::Public, Kind::Public, Kind::Private, Kind::Static, Kind::Constructor]);
        self.program.methods[method] = Method { kind, synchronized, body };
    }

    fn thread_body(&mut self) -> Vec<Statement> {
        let mut body = Vec::new();
        for _ in 0..2 + self.below(4) {
            match self.below(6) {
                0 => body.extend(self.statement(1)),
                _ => {
                    let method = self.below(self.program.methods.len());
                    body.push(self.call(method));
                }
            }
        }
        body
    }

    /// A call, with somebody who catches what may be thrown.
    fn call(&mut self, method: usize) -> Statement {
        let call = Statement::Call { method };
        // In a method, its callers may do that.
        let catches = self.callable == 0 || self.one_in(2);
        if catches && self.may_throw(&self.program.methods[method].body) {
            return Statement::Try { body: vec![call] };
        }
        call
    }

    fn may_throw(&self, body: &[Statement]) -> bool {
        body.iter().any(|statement| match statement {
            Statement::Throw => true,
            Statement::Call { method } => self.may_throw(&self.program.methods[*method].body),
            Statement::Try { .. } => false,
            _ => statement.inside().is_some_and(|body| self.may_throw(body)),
        })
    }

    fn body(&mut self, depth: usize) -> Vec<Statement> {
        let mut body = Vec::new();
        for _ in 0..1 + self.below(4) {
            body.extend(self.statement(depth));
        }
        body
    }

    fn statement(&mut self, depth: usize) -> Option<Statement> {
        match self.below(20) {
            0..6 if depth < 3 => self.hold(depth),
            10 if depth < 3 => self.hold_item(depth),
            6 | 7 if depth < 2 && self.callable > 0 && self.callable < self.program.methods.len() => {
                let method = self.callable + self.below(self.program.methods.len() - self.callable);
                (!self.in_task).then(|| self.call(method))
            }
            8 | 9 => self.extra(depth),
            _ => self.access(),
        }
    }

    /// Inside of the monitor of an object that a slot refers to.
    fn hold_item(&mut self, depth: usize) -> Option<Statement> {
        let slot = self.below(self.program.variables.len());
        let is_slot = matches!(self.program.variables[slot], Variable::Slot(Slot::Plain | Slot::Volatile));
        if !is_slot || self.style == Style::Ordered && !self.may_access(slot, Mode::Shared) {
            return None;
        }
        Some(Statement::HoldItem { slot, body: self.body(depth + 1) })
    }

    fn hold(&mut self, depth: usize) -> Option<Statement> {
        let lock = self.below(self.program.locks.len());
        let kind = self.program.locks[lock];
        let mode = if kind.has_shared_mode() && self.one_in(3) { Mode::Shared } else { Mode::Exclusive };
        let held_before = self.held.iter().any(|&(held, _)| held == lock);
        let has_shared = self.held.contains(&(lock, Mode::Shared));
        // A thread would wait for itself.
        if held_before && kind == Lock::Stamped || has_shared && mode == Mode::Exclusive {
            return None;
        }
        self.held.push((lock, mode));
        let body = self.body(depth + 1);
        self.held.pop();
        Some(Statement::Hold { lock, mode, body })
    }

    fn is_held(&self, lock: usize, mode: Mode) -> bool {
        self.held.iter().any(|&(held, how)| held == lock && (how == Mode::Exclusive || mode == Mode::Shared))
    }

    fn access(&mut self) -> Option<Statement> {
        for _ in 0..8 {
            let variable = self.below(self.program.variables.len());
            let words = vocabulary(self.program.variables[variable]);
            let operation = self.below(words.len());
            let is_off = words[operation].needs.is_some_and(|feature| !feature.is_on(self.is_live));
            let is_missing =
                self.in_initialiser && matches!(self.program.variables[variable], Variable::Captured { .. });
            if is_off || is_missing || words[operation].is_loop && !self.one_in(30) {
                continue;
            }
            let only_reads = words[operation].effects.iter().all(|&effect| effect == Effect::Read);
            let mode = if only_reads { Mode::Shared } else { Mode::Exclusive };
            if self.style == Style::Racy || self.may_access(variable, mode) {
                return Some(Statement::Access { variable, operation });
            }
        }
        None
    }

    /// Whether this is no race, as far as locks tell.
    fn may_access(&self, variable: usize, mode: Mode) -> bool {
        let is_guarded = self.guards[variable].is_none_or(|lock| self.is_held(lock, mode));
        match self.program.variables[variable] {
            Variable::Item { slot, .. } | Variable::ItemElement { slot, .. } => {
                is_guarded && self.may_access(slot, Mode::Shared)
            }
            _ => is_guarded,
        }
    }

    /// An access that a class initialiser may make.
    fn initialising_access(&mut self) -> Option<Statement> {
        let access = self.access();
        let Some(Statement::Access { variable, operation }) = access else { return None };
        let kind = self.program.variables[variable];
        let effects = vocabulary(kind)[operation].effects;
        let is_static =
            matches!(kind, Variable::Static { .. } | Variable::Slot(Slot::Plain | Slot::Volatile));
        let writes_static = is_static && effects.iter().any(|&effect| effect != Effect::Read);
        access.filter(|_| !writes_static || Feature::InitialiserWritesStatics.is_on(self.is_live))
    }

    fn extra(&mut self, depth: usize) -> Option<Statement> {
        if self.extras.is_empty() {
            return None;
        }
        let first = 0;
        let sends = self.one_in(2);
        let at = self.below(self.extras.len());
        match self.extras[at] {
            Extra::Wait => {
                let &(lock, mode) = self.held.last()?;
                let can = mode == Mode::Exclusive && self.program.locks[lock].has_condition();
                can.then_some(if sends { Statement::Notify { lock } } else { Statement::Wait { lock } })
            }
            Extra::Exceptions if depth > 0 && !self.has_tried && !self.in_task => {
                self.has_tried = true;
                let inner = self.hold(1);
                self.has_tried = false;
                let Some(Statement::Hold { lock, mode, mut body }) = inner else { return None };
                body.push(Statement::Throw);
                Some(Statement::Try { body: vec![Statement::Hold { lock, mode, body }] })
            }
            // The method throws, and its callers catch it.
            Extra::Exceptions => (depth == 0 && !self.in_task).then_some(Statement::Throw),
            Extra::Queue if sends => Some(Statement::Put { queue: first }),
            Extra::Queue => Some(Statement::Take { queue: first }),
            Extra::Semaphore if sends => Some(Statement::Release { semaphore: first }),
            Extra::Semaphore => Some(Statement::Acquire { semaphore: first }),
            Extra::Latch if sends => Some(Statement::CountDown { latch: first }),
            Extra::Latch => Some(Statement::AwaitLatch { latch: first }),
            // Not in an initialiser.
            Extra::Initialiser => {
                (!self.program.methods.is_empty()).then_some(Statement::Initialise { class: first })
            }
            Extra::Collection => Some(Statement::Collect),
            Extra::Barrier | Extra::Executor | Extra::Threads => None,
        }
    }

    /// What happens once in a program, in a method of its own or outside of methods.
    fn place_special(&mut self, threads: usize) {
        for task in 0..self.program.tasks.len() {
            let by = self.below(threads);
            self.place(by, vec![Statement::Submit { executor: 0, task }, Statement::Get { task }]);
        }
        if self.has(Extra::Threads) {
            let by = self.below(threads);
            self.place(by, vec![Statement::Start { thread: threads }, Statement::Join { thread: threads }]);
        }
        if self.has(Extra::Barrier) {
            for thread in 0..threads {
                let at = self.below(self.program.threads[thread].len() + 1);
                self.program.threads[thread].insert(at, Statement::Barrier);
            }
        }
    }

    /// Puts statements into a thread, with others in between.
    fn place(&mut self, thread: usize, statements: Vec<Statement>) {
        self.callable = self.program.methods.len();
        let mut body = Vec::new();
        for statement in statements {
            body.extend(self.access());
            body.extend(self.hold(1));
            body.push(statement);
        }
        body.extend(self.access());
        body.extend(self.hold(1));
        let at = self.below(self.program.threads[thread].len() + 1);
        if self.one_in(4) {
            self.program.threads[thread].splice(at..at, body);
        } else {
            self.program.methods.push(Method { kind: Kind::Public, synchronized: None, body });
            let method = self.program.methods.len() - 1;
            self.program.threads[thread].insert(at, Statement::Call { method });
        }
    }

    /// One more thread, which comes last and lets others go on that would wait for ever.
    fn rescue(&mut self) {
        const OFTEN: usize = 6;
        let mut body = Vec::new();
        for lock in 0..self.program.locks.len() {
            if self.program.has(|statement| *statement == Statement::Wait { lock }) {
                let notify = vec![Statement::Notify { lock }];
                let hold = Statement::Hold { lock, mode: Mode::Exclusive, body: notify };
                body.extend(vec![hold; OFTEN]);
            }
        }
        let often = |number: usize, statement: Statement| vec![statement; number];
        if self.has(Extra::Queue) {
            body.extend(often(OFTEN, Statement::Put { queue: 0 }));
        }
        if self.has(Extra::Semaphore) {
            body.extend(often(OFTEN, Statement::Release { semaphore: 0 }));
        }
        if self.has(Extra::Latch) {
            body.extend(often(self.program.latches[0], Statement::CountDown { latch: 0 }));
        }
        if !body.is_empty() {
            self.program.threads.push(body);
        }
    }

    /// Threads go on for a while, most of the time.
    fn order(&mut self) {
        let actors = self.program.threads.len() + self.program.executors.len();
        let mut thread = 0;
        let stays = 2 + self.below(3);
        for _ in 0..150 {
            if self.one_in(stays) {
                thread = self.below(actors);
            }
            self.program.preferred.push(thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_end_and_a_seed_gives_one_program() {
        for seed in 0..300 {
            let style = if seed % 2 == 0 { Style::Ordered } else { Style::Racy };
            let program = generate(&mut Random::new(seed), style, false, false);
            let execution = execute(&program).expect("it ends");
            assert_eq!(execution.order.len(), execution.within.len());
            assert_eq!(program, generate(&mut Random::new(seed), style, false, false));
        }
    }
}
