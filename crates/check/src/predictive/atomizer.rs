//! Reduction, on-line: the Atomizer.
//!
//! After Flanagan and Freund's tool as described in Wang and Stoller, IEEE TSE 2006, §3.4, §3.5 and §8: each event is
//! classified when it happens, by what has been seen so far, and a unit must be right-movers, at most
//! one non-mover, left-movers (Theorem 3.2; nothing is dropped, unlike in `reduction.rs`).
//!
//! ```text
//! variable   one thread's ─► handed to a second thread ─► shared: two locksets are refined at each access
//!            racy read     it holds none of the locks held exclusively at all writes
//!            racy write    no such lock was held at all accesses
//! lock       both-mover while one thread uses it, or while it is always taken inside the same other lock
//! ```
//!
//! Ownership is that of von Praun and Gross: the second thread owns the variable too, and locksets are refined from
//! the access on that takes it from its second owner.
//!
//! *Guarantee*: none in either direction. It raises the false alarms of reduction, and it misses what only the whole
//! execution would show: an event that was classified before its race was seen, the accesses of both owners, a lock
//! that becomes shared later.
//!
//! *Deviations*: units are those of the off-line checkers, so critical sections outside every block are judged, and
//! fork, join and barrier end a unit. An unlocked variable that is only updated in ways that commute does
//! not race. Each variable has its own locksets, array elements too.
//!
//! *Cost*: O(locks held) per access and acquire, O(locks held · their protectors) per release. Memory O(variables · locks
//! held at their accesses + locks · locks held around them + threads).

use atomvet_trace::{LockId, Mode, RegionId, ThreadId, VarId};

use super::lockset::{Common, Held, exclusively, in_any_mode};
use super::predicted::{Moment, Pattern, Reason};
use crate::{
    Access, Blame, Block, Channel, ChannelKind, Config, Findings, Here, Info, Kind, Observed, Rules, Stats,
    Strength,
};

/// The checker `atomizer`.
#[derive(Debug, Default)]
pub struct Atomizer {
    threads: Vec<Thread>,
    variables: Vec<Variable>,
    locks: Vec<Lock>,
    figures: Figures,
}

#[derive(Debug, Default)]
struct Thread {
    /// In the order in which they were taken, each mode of a lock for itself.
    held: Vec<Held>,
    /// Its open blocks, outermost first.
    open: Vec<Block>,
    /// The critical section outside every block that runs.
    section: Option<Block>,
    /// The event that began phase 2 of the unit.
    committed: Option<Here>,
    /// What was held at that.
    committed_held: Vec<LockId>,
    /// The outermost block that runs was reported.
    reported: bool,
}

/// Who has accessed a variable in this life.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Owner {
    #[default]
    Nobody,
    First(ThreadId),
    Second(ThreadId),
    /// It is shared.
    Several,
}

#[derive(Debug, Default)]
struct Variable {
    owner: Owner,
    /// The kind of all accesses; none, if they differ or there was none.
    alike: Option<Access>,
    /// Since it is shared: the locks held at every access.
    at_all: Common,
    /// Since it is shared: the locks held exclusively at every write.
    at_writes: Common,
}

#[derive(Debug, Default)]
struct Lock {
    /// The thread that used it first.
    user: Option<ThreadId>,
    /// Another thread used it too.
    several_users: bool,
    /// The locks that were held exclusively around all of its sections.
    around: Common,
}

#[derive(Debug, Default)]
struct Figures {
    units: u64,
    broken: u64,
    racy: u64,
}

impl Observed for Atomizer {
    const INFO: Info = Info {
        name: "atomizer",
        kind: Kind::Predictive,
        paper: "Flanagan, Freund: Atomizer, POPL 2004, as described in Wang, Stoller: Runtime Analysis of Atomicity for \
                Multithreaded Programs, IEEE TSE 2006 (on-line reduction, Theorem 3.2)",
        guarantee: "a heuristic: judges each event by what was seen before it, so it misses what only the whole \
                    execution shows; what it finds is a suspicion, often false",
        blame: Blame::More,
        tells_first_event: false,
        cost: "O(locks held) per event; memory O(variables and locks, each times the locks held at it)",
    };

    fn new(_config: &Config) -> Self {
        Atomizer::default()
    }

    fn finish(self, _open: &[Block], _last: Here, _out: &mut Findings) -> Stats {
        let Figures { units, broken, racy } = self.figures;
        Stats(vec![("units", units), ("racy accesses", racy), ("units without the form", broken)])
    }
}

impl Rules for Atomizer {
    fn begin(&mut self, here: Here, block: Block, _out: &mut Findings) {
        let thread = self.thread(here.thread);
        thread.section = None;
        thread.open.push(block);
        self.figures.units += 1;
        self.new_unit(here.thread);
    }

    fn end(&mut self, here: Here, _out: &mut Findings) {
        let thread = self.thread(here.thread);
        thread.open.clear();
        // Critical sections around the block, or begun in it, go on.
        thread.section = (!thread.held.is_empty()).then(|| outside(here));
        self.new_unit(here.thread);
    }

    fn nest(&mut self, here: Here, block: Block) {
        self.thread(here.thread).open.push(block);
    }

    fn unnest(&mut self, here: Here) {
        self.thread(here.thread).open.pop();
    }

    fn access(&mut self, here: Here, variable: VarId, access: Access, out: &mut Findings) {
        if variable.index() >= self.variables.len() {
            self.variables.resize_with(variable.index() + 1, Variable::default);
        }
        if here.thread.index() >= self.threads.len() {
            self.thread(here.thread);
        }
        let held = &self.threads[here.thread.index()].held;
        if self.variables[variable.index()].races(here.thread, access, held) {
            self.figures.racy += 1;
            self.breaks_unit(here, out);
            self.commit(here);
        }
    }

    fn send(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        match channel.kind {
            ChannelKind::Lock(lock) => self.release(here, lock, mode),
            ChannelKind::Start(_) | ChannelKind::Barrier(_) => self.new_unit(here.thread),
        }
    }

    fn receive(&mut self, here: Here, channel: Channel, mode: Mode, out: &mut Findings) {
        match channel.kind {
            ChannelKind::Lock(lock) => self.acquire(here, lock, mode, out),
            ChannelKind::Start(_) | ChannelKind::Barrier(_) => self.new_unit(here.thread),
        }
    }

    fn join(&mut self, here: Here, _child: ThreadId, _out: &mut Findings) {
        self.new_unit(here.thread);
    }

    fn new_life(&mut self, variable: VarId) {
        if let Some(variable) = self.variables.get_mut(variable.index()) {
            *variable = Variable::default();
        }
    }

    fn escape(&mut self, variable: VarId) {
        self.new_life(variable);
    }

    fn close(&mut self, _channel: Channel) {}
}

impl Atomizer {
    fn acquire(&mut self, here: Here, lock: LockId, mode: Mode, out: &mut Findings) {
        let id = here.thread;
        let thread = self.thread(id);
        if thread.open.is_empty() && thread.held.is_empty() {
            thread.section = Some(outside(here));
            self.figures.units += 1;
            self.new_unit(id);
        }
        if lock.index() >= self.locks.len() {
            self.locks.resize_with(lock.index() + 1, Lock::default);
        }
        let known = &mut self.locks[lock.index()];
        let held = &self.threads[id.index()].held;
        known.several_users |= *known.user.get_or_insert(id) != id;
        known.around.narrow(exclusively(held).filter(|&outer| outer != lock));
        if known.meets_others() {
            self.breaks_unit(here, out);
        }
        self.threads[id.index()].held.push((lock, mode));
    }

    fn release(&mut self, here: Here, lock: LockId, mode: Mode) {
        if self.locks.get(lock.index()).is_some_and(Lock::meets_others) {
            self.commit(here);
        }
        let thread = self.thread(here.thread);
        let Some(last) = thread.held.iter().rposition(|&held| held == (lock, mode)) else { return };
        thread.held.remove(last);
        if thread.held.is_empty() && thread.open.is_empty() {
            thread.section = None;
        }
        // What was taken inside this section and is held longer is not protected by it.
        for (inner, _) in &self.threads[here.thread.index()].held[last..] {
            self.locks[inner.index()].around.lose(lock);
        }
    }

    /// An event that may be in phase 1 only: in phase 2 it breaks the unit. The form starts anew with it.
    fn breaks_unit(&mut self, here: Here, out: &mut Findings) {
        let thread = self.thread(here.thread);
        let Some(committed) = thread.committed.take() else { return };
        let Some(&transaction) = thread.open.first().or(thread.section.as_ref()) else { return };
        if std::mem::replace(&mut thread.reported, true) {
            return;
        }
        let inside = thread.open.iter().rev().find(|block| block.begin < committed.at);
        let block = inside.copied().unwrap_or(transaction);
        let held = thread.held.iter().map(|held| held.0).collect();
        let first = Moment { event: committed, held: thread.committed_held.clone() };
        let moments = vec![first, Moment { event: here, held }];
        let pattern = Pattern { block, transaction, moments, order: Vec::new() };
        out.predicted.violation(Strength::Suspected, Reason::Movers, transaction, vec![pattern]);
        self.figures.broken += 1;
    }

    /// An event that begins phase 2, if that has not begun.
    fn commit(&mut self, here: Here) {
        let thread = self.thread(here.thread);
        if thread.committed.is_none() {
            thread.committed = Some(here);
            thread.committed_held.clear();
            thread.committed_held.extend(thread.held.iter().map(|held| held.0));
        }
    }

    fn new_unit(&mut self, thread: ThreadId) {
        let thread = self.thread(thread);
        thread.committed = None;
        thread.reported = false;
    }

    #[inline]
    fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        if thread.index() >= self.threads.len() {
            self.threads.resize_with(thread.index() + 1, Thread::default);
        }
        &mut self.threads[thread.index()]
    }
}

/// A critical section outside every block, as a block that begins here.
fn outside(here: Here) -> Block {
    Block { begin: here.at, thread: here.thread, region: RegionId::NONE, site: here.site }
}

impl Lock {
    /// Its operations may come next to those of another thread: they are not both-movers.
    fn meets_others(&self) -> bool {
        self.several_users && self.around.is_empty()
    }
}

impl Variable {
    /// Takes an access in, and tells whether it races as far as is known.
    fn races(&mut self, thread: ThreadId, access: Access, held: &[Held]) -> bool {
        self.alike = match self.owner {
            Owner::Nobody => Some(access),
            _ => self.alike.filter(|&kind| kind == access),
        };
        self.owner = match self.owner {
            Owner::Nobody => Owner::First(thread),
            Owner::First(owner) if owner != thread => Owner::Second(thread),
            Owner::Second(owner) if owner != thread => Owner::Several,
            same => same,
        };
        if self.owner != Owner::Several {
            return false;
        }
        self.at_all.narrow(in_any_mode(held));
        if access == Access::Read {
            return !self.at_writes.has_any(in_any_mode(held));
        }
        self.at_writes.narrow(exclusively(held));
        !self.alike.is_some_and(Access::shares) && !self.at_writes.has_any(self.at_all.known())
    }
}

#[cfg(test)]
mod tests;
