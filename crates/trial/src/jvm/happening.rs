//! What happens when a program is executed, in one order for all threads.

use super::program::{Mode, Type};
use super::vocabulary::Effect;

/// A variable of an execution: fields of objects that come and go are told apart by object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Location {
    /// A variable of the program.
    Variable(usize),
    /// A field of an object, which has a number.
    Item { object: usize, of: Type, volatile: bool },
    /// An element of an array, which has a number.
    Element { array: usize, index: usize },
}

/// What happens, as an order of all threads has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Happening {
    Begin(usize),
    End,
    Access(Location, Effect),
    Acquire(usize, Mode),
    Release(usize, Mode),
    /// Gives a lock back until the thread's next event.
    Wait(usize),
    Fork(usize),
    Join(usize),
    /// Something that other threads may receive is sent.
    Send(usize),
    /// It is received, after a wait: blocks are split before.
    Receive(usize),
    /// The thread has waited, and nothing came of it: blocks are split.
    Split,
    /// Arrives where all meet.
    Arrive,
}

/// What came of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Execution {
    /// Per step, its thread.
    pub(crate) order: Vec<usize>,
    /// Per step, the statements that its thread is in, outermost first, by `execute::address`.
    pub(crate) within: Vec<Vec<usize>>,
    pub(crate) happenings: Vec<(usize, Happening)>,
}
