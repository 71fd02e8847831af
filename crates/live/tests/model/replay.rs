//! An execution, event by event, through the checker.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use atomvet_live::access::{Access, Operation};
use atomvet_live::blocks::Call;
use atomvet_live::engine::{Config, Engine, Findings, Violation};
use atomvet_live::epoch::Epoch;
use atomvet_live::thread::Thread;
use atomvet_live::witness::Witness;

use crate::execution::{Execution, Op};

#[derive(Default)]
struct Found {
    violated: RefCell<BTreeSet<usize>>,
    off_trial: RefCell<BTreeSet<usize>>,
    /// A violated block, and the dependences that show it, the closing one first: earlier event, later event.
    witnesses: RefCell<Vec<Shown>>,
}

impl Findings for Found {
    fn violated(&self, engine: &Engine<Self>, thread: &Thread, violation: &Violation) {
        let block = thread.blocks().function(violation.frame);
        let new = self.violated.borrow_mut().insert(block as usize);
        assert!(new, "an instance is told once");
        let witness = Witness::of(engine, thread, violation);
        if witness.is_whole {
            // A site is the number of its event, from 1 on; forks have none.
            let event = |access: &Access| (access.site as usize).checked_sub(1);
            let steps = witness.steps().map(|step| (event(&step.from_access), event(&step.to_access)));
            self.witnesses.borrow_mut().push((block as usize, steps.collect()));
        }
    }

    fn off_trial(&self, function: u64) {
        self.off_trial.borrow_mut().insert(function as usize);
    }

    fn entered(&self, _thread: &Thread) {}

    fn split(&self) {}
}

/// A violated block, by its begin event, and its witness: dependences, the closing one first, each from an earlier event to a
/// later one where those are known.
pub(crate) type Shown = (usize, Vec<(Option<usize>, Option<usize>)>);

/// What the checker says.
pub(crate) struct Verdict {
    pub(crate) violated: BTreeSet<usize>,
    pub(crate) witnesses: Vec<Shown>,
}

/// The begin events of the blocks that the checker finds violated; none if it could not judge all of them.
pub(crate) fn verdict(execution: &Execution, config: Config) -> Option<Verdict> {
    let engine = Engine::new(&config, Found::default()).expect("memory");
    let mut threads = BTreeMap::from([(0, engine.start(None).expect("a thread"))]);
    let mut ended: BTreeMap<usize, Epoch> = BTreeMap::new();
    for (i, event) in execution.events.iter().enumerate() {
        let thread = threads[&event.thread];
        let site = i as u64 + 1;
        match event.op {
            // The block is known by its begin event.
            Op::Begin => engine.begin(thread, &Call { function: i as u64, ..Call::default() }),
            Op::End => engine.end(thread),
            Op::Access { kind, address, bytes, atomic } => {
                let access = Access { address, bytes, site, operation: kind };
                match kind {
                    _ if atomic => engine.atomic(thread, &access, || kind, || {}),
                    Operation::Read => engine.read(thread, &access),
                    _ => engine.write(thread, &access),
                }
            }
            Op::Lock { lock, shared } | Op::Unlock { lock, shared } => match shared {
                false => engine.lock(thread, lock, site),
                true => engine.lock_shared(thread, lock, site),
            },
            Op::Fork(child) => {
                threads.insert(child, engine.start(Some(thread))?);
            }
            Op::Exit => {
                ended.insert(event.thread, engine.finish(thread));
            }
            Op::Join(child) => engine.join(thread, ended[&child], site),
            Op::Split => engine.split(thread),
            Op::NewLife { address, bytes } => engine.new_life(address, bytes),
        }
    }
    for (number, thread) in threads {
        if !ended.contains_key(&number) {
            while thread.has_open_blocks() {
                engine.end(thread);
            }
        }
    }
    let found = &engine.findings;
    let verdict = || Verdict { violated: found.violated.take(), witnesses: found.witnesses.take() };
    found.off_trial.borrow().is_empty().then(verdict)
}
