//! Which accesses of a trace the idioms name: one pass.

use atomvet_trace::{Event, EventId, LockId, Op, SiteId, ThreadId, UpdateKind, VarId};

use super::{Accesses, Idiom, Lives, NUMBER};

/// Reads that are remembered per thread and idiom while it does nothing but read. A round of a retry loop and the code
/// between a hint and its lock are much shorter.
const MOST_READS: usize = 4096;

/// How often a counter is counted up at least. (A flag that is tested and then set once looks the same.)
const LEAST_INCREMENTS: u32 = 2;

/// The search.
#[derive(Debug)]
pub struct Search {
    /// What is looked for, by index of the idiom.
    wanted: [bool; NUMBER],
    threads: Vec<Thread>,
    /// Per variable, its present life, if counters are looked for.
    variables: Vec<Variable>,
    lives: Lives,
    found: Accesses,
}

/// A thread of the trace.
#[derive(Clone, Default, Debug)]
struct Thread {
    /// Open blocks.
    depth: u32,
    /// The locks that it holds, with the events at which it took them. Inner pairs of re-entered ones are left out.
    held: Vec<(LockId, EventId)>,
    /// Reads in the outermost block that may turn out to be hints: it has done nothing since that others could see,
    /// but take and give back locks.
    hints: Vec<Read>,
    /// Reads in the outermost block since it has last done anything but read.
    round: Vec<Read>,
    /// What it read with its latest event.
    just_read: Option<VarId>,
}

#[derive(Clone, Copy, Debug)]
struct Read {
    at: EventId,
    variable: VarId,
    life: u32,
    site: SiteId,
}

/// How a variable was used in this life.
#[derive(Clone, Copy, Default, Debug)]
struct Variable {
    /// Who accessed it first.
    owner: Option<ThreadId>,
    /// Somebody else has, too.
    shared: bool,
    /// Who counts it up.
    writer: Option<ThreadId>,
    increments: u32,
    /// It is no counter.
    other: bool,
}

impl Search {
    /// A search for these idioms.
    pub fn new(idioms: &[Idiom]) -> Search {
        let mut wanted = [false; NUMBER];
        idioms.iter().for_each(|idiom| wanted[idiom.index()] = true);
        let found = Accesses {
            updates: wanted[Idiom::CommutingUpdates.index()],
            same_values: wanted[Idiom::SameValueWrites.index()],
            ..Accesses::default()
        };
        Search { wanted, threads: Vec::new(), variables: Vec::new(), lives: Lives::default(), found }
    }

    /// Takes the events from position `first` on.
    pub fn events(&mut self, first: EventId, events: &[Event]) {
        for (at, &event) in (first.0..).zip(events) {
            if event.op != Op::Skip {
                self.event(EventId(at), event);
            }
        }
    }

    /// What was found.
    pub fn finish(mut self) -> Accesses {
        for index in 0..self.variables.len() {
            self.end_life(VarId(index as u32));
        }
        self.found
    }

    fn event(&mut self, at: EventId, event: Event) {
        let index = event.thread.index();
        if index >= self.threads.len() {
            self.threads.resize_with(index + 1, Thread::default);
        }
        match event.op {
            Op::Read(x, _) | Op::Write(x, _) | Op::Update(x, _) => self.count(x, event),
            Op::Alloc(x) | Op::Free(x) => {
                self.end_life(x);
                self.lives.end(x);
            }
            _ => {}
        }
        let thread = &mut self.threads[index];
        thread.just_read = None;
        match event.op {
            Op::Read(variable, _) => {
                self.confirm_hints(index, variable);
                let thread = &mut self.threads[index];
                thread.just_read = Some(variable);
                if thread.depth > 0 {
                    let read = Read { at, variable, life: self.lives.of(variable), site: event.site };
                    remember(&mut thread.hints, read);
                    remember(&mut thread.round, read);
                }
            }
            Op::Update(variable, kind) => {
                self.confirm_hints(index, variable);
                if kind == UpdateKind::Other {
                    self.confirm_rounds(index, variable, event.site);
                }
                self.threads[index].acts();
            }
            Op::Acquire(lock, _) => {
                thread.held.push((lock, at));
                thread.round.clear();
            }
            Op::Release(lock, _) => {
                if let Some(place) = thread.held.iter().rposition(|(held, _)| *held == lock) {
                    thread.held.remove(place);
                }
                thread.round.clear();
            }
            Op::Wait(lock) => {
                // It holds the lock again, as of now.
                thread.held.iter_mut().filter(|(held, _)| *held == lock).for_each(|(_, since)| *since = at);
                thread.acts();
            }
            Op::Write(..) | Op::Fork(_) | Op::Join(_) | Op::Barrier(_) => thread.acts(),
            Op::Begin(_) => thread.depth += 1,
            Op::End => {
                thread.depth = thread.depth.saturating_sub(1);
                if thread.depth == 0 {
                    thread.acts();
                }
            }
            Op::Reacquire(..)
            | Op::Rerelease(..)
            | Op::Alloc(_)
            | Op::Free(_)
            | Op::Escape(_)
            | Op::Local
            | Op::Skip => {}
        }
    }

    /// The thread reads a variable: earlier reads of it, from before a lock that it holds now, were hints.
    fn confirm_hints(&mut self, thread: usize, variable: VarId) {
        let life = self.lives.of(variable);
        let Thread { held, hints, .. } = &mut self.threads[thread];
        let Some(since) = held.iter().map(|(_, since)| *since).max() else { return };
        if !self.wanted[Idiom::HintReads.index()] {
            return;
        }
        hints.retain(|read| {
            let is_hint = read.variable == variable && read.life == life && read.at < since;
            if is_hint {
                self.found.named[Idiom::HintReads.index()].set(read.at.0);
            }
            !is_hint
        });
    }

    /// The thread succeeds in a compare-exchange: rounds that ended at the same place had failed.
    fn confirm_rounds(&mut self, thread: usize, variable: VarId, site: SiteId) {
        if !self.wanted[Idiom::RetryLoops.index()] || site == SiteId::NONE {
            return;
        }
        let life = self.lives.of(variable);
        let round = &self.threads[thread].round;
        let of_it = |read: &Read| read.variable == variable && read.life == life;
        let Some(last) = round.iter().rposition(|read| of_it(read) && read.site == site) else { return };
        let start = round.iter().position(of_it).unwrap_or(last);
        for read in &round[start..=last] {
            self.found.named[Idiom::RetryLoops.index()].set(read.at.0);
        }
    }

    /// Keeps account of whether a variable is a counter.
    fn count(&mut self, x: VarId, Event { thread, op, .. }: Event) {
        if !self.wanted[Idiom::SingleWriterCounters.index()] {
            return;
        }
        if x.index() >= self.variables.len() {
            self.variables.resize(x.index() + 1, Variable::default());
        }
        let variable = &mut self.variables[x.index()];
        variable.shared |= *variable.owner.get_or_insert(thread) != thread;
        let counts_up = match op {
            Op::Read(..) => return,
            Op::Write(..) => self.threads[thread.index()].just_read == Some(x),
            _ => matches!(op, Op::Update(_, UpdateKind::Add)),
        };
        if counts_up {
            variable.other |= *variable.writer.get_or_insert(thread) != thread;
            variable.increments += 1;
        } else {
            // Before others know it, its owner may set it as he likes.
            variable.other |= variable.shared;
        }
    }

    fn end_life(&mut self, x: VarId) {
        let Some(variable) = self.variables.get_mut(x.index()) else { return };
        let Variable { shared, writer, increments, other, .. } = std::mem::take(variable);
        if let Some(writer) = writer.filter(|_| shared && !other && increments >= LEAST_INCREMENTS) {
            self.found.counters.insert((x, self.lives.of(x)), writer);
        }
    }
}

impl Thread {
    /// It does something that others can see.
    fn acts(&mut self) {
        self.hints.clear();
        self.round.clear();
    }
}

fn remember(reads: &mut Vec<Read>, read: Read) {
    if reads.len() == MOST_READS {
        reads.drain(..MOST_READS / 2);
    }
    reads.push(read);
}
