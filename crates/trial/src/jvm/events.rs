//! What happened in an execution, as events for `truth.rs`.

use std::collections::BTreeMap;

use super::happening::{Execution, Happening, Location};
use super::program::{Mode, Program};
use super::vocabulary::Effect;
use crate::truth::{Access, Bytes, Episode, Event, Label, Lock, Operation, Signal, Thread, Update};

/// The main thread, which starts the others.
const MAIN: Thread = Thread(0);

fn thread(number: usize) -> Thread {
    Thread(number as u32 + 1)
}

/// The events of an execution. A block's label is the number of its method.
pub(crate) fn events(program: &Program, execution: &Execution) -> Vec<Event> {
    let mut events = Vec::new();
    for started in (0..program.threads.len()).filter(|&number| !program.is_started_inside(number)) {
        events.push(Event { thread: MAIN, operation: Operation::Fork(thread(started)) });
    }
    let mut addresses: BTreeMap<Location, u64> = BTreeMap::new();
    // What a thread does first when it goes on.
    let mut next: BTreeMap<usize, Operation> = BTreeMap::new();
    for &(number, happening) in &execution.happenings {
        let mut put = |operation| events.push(Event { thread: thread(number), operation });
        if let Some(operation) = next.remove(&number) {
            put(operation);
        }
        match happening {
            Happening::Begin(method) => put(Operation::Begin(Label(method as u32))),
            Happening::End => put(Operation::End),
            Happening::Access(location, effect) => {
                let address = 8 * addresses.len() as u64;
                let address = *addresses.entry(location).or_insert(address);
                put(Operation::Access(access(effect), Bytes { address, length: 8 }));
            }
            Happening::Acquire(lock, Mode::Exclusive) => put(Operation::Acquire(Lock(lock as u32))),
            Happening::Acquire(lock, Mode::Shared) => put(Operation::AcquireShared(Lock(lock as u32))),
            Happening::Release(lock, Mode::Exclusive) => put(Operation::Release(Lock(lock as u32))),
            Happening::Release(lock, Mode::Shared) => put(Operation::ReleaseShared(Lock(lock as u32))),
            Happening::Wait(lock) => {
                put(Operation::Release(Lock(lock as u32)));
                put(Operation::Split);
                next.insert(number, Operation::Acquire(Lock(lock as u32)));
            }
            Happening::Arrive => {
                put(Operation::Arrive(Episode(0)));
                put(Operation::Split);
                next.insert(number, Operation::Leave(Episode(0)));
            }
            Happening::Fork(started) => put(Operation::Fork(thread(started))),
            Happening::Join(ended) => {
                put(Operation::Split);
                put(Operation::Join(thread(ended)));
            }
            Happening::Send(signal) => put(Operation::Send(Signal(signal as u32))),
            Happening::Receive(signal) => {
                put(Operation::Split);
                put(Operation::Receive(Signal(signal as u32)));
            }
            Happening::Split => put(Operation::Split),
        }
    }
    events
}

fn access(effect: Effect) -> Access {
    match effect {
        Effect::Read => Access::Read,
        Effect::Write => Access::Write,
        // Whether its result is used is not looked at: see docs/event-model.md.
        Effect::Add => Access::Update { kind: Update::Add, is_result_used: false },
        // The other ones were resolved when they were executed.
        Effect::Update | Effect::Toggle | Effect::Replace | Effect::New => Access::ReadWrite,
    }
}
