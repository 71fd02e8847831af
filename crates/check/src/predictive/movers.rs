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
//! the lock; it is always taken inside one other lock, held exclusively throughout; or (beyond the
//! paper) nobody ever takes it exclusively. Re-entrant operations do not get here at all.
//!
//! Locks taken before the unit began: their release inside it is a left-mover like any other.
//! Locks need not be nested. A section is dropped only if nothing but what is dropped is inside it.
//!
//! *Cost*: linear in the steps of a unit; the both-movers O(locks held) for each acquire.

use atomvet_trace::{Mode, ThreadId};

use super::execution::{Execution, Unit};
use super::races::Races;
use super::stacks::{Section, SectionId};

/// The locks whose operations commute with everything that can happen beside them.
#[derive(Debug)]
pub struct BothMovers {
    /// Per lock.
    both: Vec<bool>,
}

/// What is known of all sections of a lock.
#[derive(Clone, Debug)]
struct Use {
    thread: ThreadId,
    several_threads: bool,
    exclusive: bool,
    /// The locks that were held exclusively around all sections.
    around: Vec<u32>,
}

impl BothMovers {
    /// Looks at all sections of an execution.
    pub fn new(execution: &Execution) -> BothMovers {
        let mut uses: Vec<Option<Use>> = Vec::new();
        for section in execution.stacks.sections() {
            if section.lock.index() >= uses.len() {
                uses.resize(section.lock.index() + 1, None);
            }
            let slot = &mut uses[section.lock.index()];
            let around = || {
                let outer = execution.stacks.held(section.outer).map(|id| execution.stacks.section(id));
                outer.filter(|outer| is_around(outer, section)).map(|outer| outer.lock.0)
            };
            let exclusive = section.mode == Mode::Exclusive;
            match slot {
                None => {
                    let around = around().collect();
                    *slot = Some(Use { thread: section.thread, several_threads: false, exclusive, around });
                }
                Some(known) => {
                    known.several_threads |= known.thread != section.thread;
                    known.exclusive |= exclusive;
                    known.around.retain(|&lock| around().any(|other| other == lock));
                }
            }
        }
        let meets_nobody = |known: &Option<Use>| {
            known
                .as_ref()
                .is_none_or(|known| !known.several_threads || !known.exclusive || !known.around.is_empty())
        };
        BothMovers { both: uses.iter().map(meets_nobody).collect() }
    }

    /// How many locks these are.
    pub fn count(&self) -> u64 {
        self.both.iter().filter(|both| **both).count() as u64
    }

    fn has(&self, section: &Section) -> bool {
        self.both.get(section.lock.index()).is_some_and(|&both| both)
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
            if both_movers.has(section) {
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
