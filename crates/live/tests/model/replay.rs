//! An execution, event by event, through the checker.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use atomvet_live::engine::{Access, Config, Engine, Findings, Violation};
use atomvet_live::epoch::Epoch;
use atomvet_live::older::Kind;
use atomvet_live::thread::Thread;

use crate::execution::{Execution, Op};

#[derive(Default)]
struct Found {
    violated: RefCell<BTreeSet<usize>>,
    off_trial: RefCell<BTreeSet<usize>>,
}

impl Findings for Found {
    fn violated(&self, _: &Engine<Self>, _: &Thread, violation: &Violation) {
        let new = self.violated.borrow_mut().insert(violation.function as usize);
        assert!(new, "an instance is told once");
    }

    fn off_trial(&self, function: u64) {
        self.off_trial.borrow_mut().insert(function as usize);
    }
}

/// The begin events of the blocks that the checker finds violated; none if it could not judge all of them.
pub(crate) fn violated(execution: &Execution, config: Config) -> Option<BTreeSet<usize>> {
    let engine = Engine::new(&config, Found::default()).expect("memory");
    let mut threads = BTreeMap::from([(0, engine.start(None).expect("a thread"))]);
    let mut ended: BTreeMap<usize, Epoch> = BTreeMap::new();
    for (i, event) in execution.events.iter().enumerate() {
        let thread = threads[&event.thread];
        let site = i as u64;
        match event.op {
            // The block is known by its begin event.
            Op::Begin => engine.begin(thread, i as u64),
            Op::End => engine.end(thread),
            Op::Access { kind, address, bytes } => {
                let access = Access { address, bytes, site };
                match kind {
                    Kind::Read => engine.read(thread, &access),
                    Kind::Write => engine.write(thread, &access),
                    kind => engine.update(thread, kind, &access),
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
            Op::NewLife { address } => engine.new_life(address, 8),
        }
    }
    for (number, thread) in threads {
        if !ended.contains_key(&number) {
            while thread.has_open_blocks() {
                engine.end(thread);
            }
        }
    }
    engine.findings.off_trial.borrow().is_empty().then(|| engine.findings.violated.take())
}
