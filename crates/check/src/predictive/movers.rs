//! Right-movers, left-movers, non-movers: whether a unit can always be pushed together.
//!
//! A unit of the form `right* non? left*` can (Lipton; RV'03 Theorem 4.1, TSE'06 Theorems 3.1 to 3.4): in every
//! interleaving its events before the non-mover can be swapped to the right, those after it to the left,
//! until nobody else's event is between them.
//!
//! ```text
//! acquire → right      release → left      racy access → non      anything else → both
//! first drop, repeatedly:  acquire l · accesses of local variables · release l
//! phase 1; a non or left starts phase 2; there, a right or non breaks the unit
//! ```
//!
//! An operation on a lock is a both-mover as well if nobody can meet it (TSE'06 §3.5): only one thread uses
//! the lock; it is always taken inside one other lock, held exclusively throughout; or, beyond the
//! paper, nobody ever takes it exclusively, or nobody uses it in a period that can run beside the operation (what a
//! main thread does before it starts the others). Re-entrant operations do not get here at all.
//!
//! Locks taken before the unit began: their release inside it is a left-mover like any other.
//! Locks need not be nested. A section is dropped only if nothing but what is dropped is inside it.
//!
//! *Cost*: linear in the steps of a unit; the both-movers O(locks held) for each acquire.

use atomvet_trace::{LockId, Mode, ThreadId};
use smallvec::SmallVec;

use super::execution::{Execution, Unit};
use super::lockset::Common;
use super::periods::{PeriodId, Periods};
use super::races::{Races, beside};
use super::stacks::{Section, SectionId};

/// The operations on locks that commute with everything that can happen beside them.
#[derive(Debug)]
pub struct BothMovers {
    /// Per lock.
    locks: Vec<Moves>,
}

/// Which operations on a lock are both-movers.
#[derive(Debug)]
enum Moves {
    /// All of them.
    Both,
    /// Those of these threads in these periods, sorted.
    BothDuring(Vec<(ThreadId, PeriodId)>),
}

/// What is known of all sections of a lock.
#[derive(Clone, Debug, Default)]
struct Use {
    thread: Option<ThreadId>,
    several_threads: bool,
    exclusive: bool,
    /// The locks that were held exclusively around all sections.
    around: Common,
    /// Its operations inside units.
    when: Vec<(ThreadId, PeriodId)>,
    /// Its operations, less those.
    between_units: usize,
}

impl BothMovers {
    /// Looks at all sections of an execution.
    pub fn new(execution: &Execution) -> BothMovers {
        let stacks = &execution.stacks;
        let locks = stacks.sections().iter().map(|section| section.lock.index() + 1).max().unwrap_or(0);
        let mut uses = vec![Use::default(); locks];
        for section in stacks.sections() {
            let known = &mut uses[section.lock.index()];
            known.several_threads |= *known.thread.get_or_insert(section.thread) != section.thread;
            known.exclusive |= section.mode == Mode::Exclusive;
            let outer = stacks.held(section.outer).map(|id| stacks.section(id));
            let around: SmallVec<[LockId; 4]> =
                outer.filter(|outer| is_around(outer, section)).map(|outer| outer.lock).collect();
            known.around.narrow(around.iter().copied());
            known.between_units += if section.end == u32::MAX { 1 } else { 2 };
        }
        for (_, unit) in execution.units() {
            let sections = execution.entered_in(unit).iter().copied().chain(stacks.held(unit.root));
            for section in sections.map(|id| stacks.section(id)) {
                let inside =
                    [section.start, section.end].into_iter().filter(|step| unit.steps.contains(step));
                let known = &mut uses[section.lock.index()];
                for _ in inside {
                    known.when.push((unit.thread, unit.period));
                    known.between_units -= 1;
                }
            }
        }
        BothMovers { locks: uses.into_iter().map(|known| known.moves(&execution.periods)).collect() }
    }

    /// How many locks nobody can ever meet.
    pub fn count(&self) -> u64 {
        self.locks.iter().filter(|moves| matches!(moves, Moves::Both)).count() as u64
    }

    /// Whether the operations of a section in a unit are both-movers.
    fn has(&self, section: &Section, unit: &Unit) -> bool {
        match &self.locks[section.lock.index()] {
            Moves::Both => true,
            Moves::BothDuring(alone) => alone.binary_search(&(unit.thread, unit.period)).is_ok(),
        }
    }
}

impl Use {
    fn moves(mut self, periods: &Periods) -> Moves {
        if !self.several_threads || !self.exclusive || !self.around.is_empty() {
            return Moves::Both;
        }
        // Who operates between units, that is when nothing is recorded, may do so beside anything.
        if self.between_units > 0 {
            return Moves::BothDuring(Vec::new());
        }
        self.when.sort_unstable();
        self.when.dedup();
        let is_alone = |&&(_, period): &&(ThreadId, PeriodId)| {
            beside(periods, period, &self.when, |when| *when).next().is_none()
        };
        Moves::BothDuring(self.when.iter().filter(is_alone).copied().collect())
    }
}

/// Whether a section keeps others out during all of another section of its thread.
fn is_around(outer: &Section, inner: &Section) -> bool {
    outer.mode == Mode::Exclusive && outer.lock != inner.lock && outer.end >= inner.end
}

/// A step of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Of no concern to other threads.
    Local,
    /// A both-mover: an access that does not race.
    Both,
    /// A right-mover: the acquire of this section.
    Acquire(SectionId),
    /// A left-mover: the release of this section.
    Release(SectionId),
    /// A non-mover: this access, by its index, which races.
    Racy(u32),
}

/// Two places of a unit that break its form: the first begins phase 2, the second does not belong there.
pub type Break = (Step, Step);

/// Judges units, one after the other.
#[derive(Debug, Default)]
pub struct Automaton {
    /// The steps of the unit, in order.
    steps: Vec<Step>,
    /// What is left of them.
    kept: Vec<Step>,
    /// Critical sections that were dropped, over all units.
    pub dropped: u64,
}

impl Automaton {
    /// All breaks of a unit, in program order: after each one, the form starts anew with its second place.
    pub fn breaks<'a>(
        &'a mut self,
        execution: &Execution,
        unit: &Unit,
        races: &Races,
        both_movers: &BothMovers,
    ) -> impl Iterator<Item = Break> + 'a {
        self.list(execution, unit, races, both_movers);
        self.drop_sections();
        let mut committed: Option<Step> = None;
        self.kept.iter().filter_map(move |&step| {
            let broken = match step {
                Step::Local | Step::Both => return None,
                Step::Release(_) => {
                    committed.get_or_insert(step);
                    return None;
                }
                Step::Acquire(_) => committed.take(),
                Step::Racy(_) => committed.replace(step),
            };
            broken.map(|first| (first, step))
        })
    }

    /// Fills in the steps. All steps of the thread between the unit's begin and end are the unit's.
    fn list(&mut self, execution: &Execution, unit: &Unit, races: &Races, both_movers: &BothMovers) {
        self.steps.clear();
        self.steps.resize(unit.steps.len(), Step::Local);
        let index = |step: u32| unit.steps.contains(&step).then(|| (step - unit.steps.start) as usize);
        for access in unit.accesses.clone() {
            let found = &execution.accesses[access as usize];
            if let Some(at) = index(found.step)
                && !execution.location(found.location).is_local()
            {
                self.steps[at] = if races.is_racy(access) { Step::Racy(access) } else { Step::Both };
            }
        }
        let entered = execution.entered_in(unit).iter().copied();
        for id in entered.chain(execution.stacks.held(unit.root)) {
            let section = execution.stacks.section(id);
            if both_movers.has(section, unit) {
                continue;
            }
            if let Some(at) = index(section.start) {
                self.steps[at] = Step::Acquire(id);
            }
            if let Some(at) = index(section.end) {
                self.steps[at] = Step::Release(id);
            }
        }
    }

    /// A release whose acquire is the last step that is left has nothing of concern in its section.
    fn drop_sections(&mut self) {
        self.kept.clear();
        for &step in &self.steps {
            match (step, self.kept.last()) {
                (Step::Local, _) | (Step::Both, Some(Step::Both)) => {}
                (Step::Release(section), Some(&Step::Acquire(last))) if section == last => {
                    self.kept.pop();
                    self.dropped += 1;
                }
                _ => self.kept.push(step),
            }
        }
    }
}
