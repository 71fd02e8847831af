//! The name of an anomaly, read off its witness.

use atomvet_trace::VarId;

use super::{Because, Step, Touch, Witness};

/// A named anomaly.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// read, other write, write of one variable.
    LostUpdate,
    /// read, other write, read of one variable.
    NonRepeatableRead,
    /// write, other read, write of one variable.
    DirtyRead,
    /// write, other write, read of one variable.
    StaleWrite,
    /// write, other write, write of one variable.
    DirtyWrite,
    /// Two variables: each side reads what the other writes.
    WriteSkew,
    /// Two variables, read on both sides of another's writes.
    ReadSkew,
    /// Two variables, written on both sides of another's reads.
    TornUpdate,
    /// Only locks order the steps.
    SplitCriticalSection,
    /// The block starts a thread or waits for one.
    ThreadInside,
    /// Any other way out of the block and back.
    LongerCycle,
    /// No block is violated, yet no serial order exists.
    NoSerialOrder,
}

impl Shape {
    /// All of them, for documentation.
    pub const ALL: &[Shape] = &[
        Shape::LostUpdate,
        Shape::NonRepeatableRead,
        Shape::DirtyRead,
        Shape::StaleWrite,
        Shape::DirtyWrite,
        Shape::WriteSkew,
        Shape::ReadSkew,
        Shape::TornUpdate,
        Shape::SplitCriticalSection,
        Shape::ThreadInside,
        Shape::LongerCycle,
        Shape::NoSerialOrder,
    ];

    /// Its name, as in every output.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// What happens, in a sentence.
    pub fn meaning(self) -> &'static str {
        self.words().1
    }

    /// What usually mends it, in a sentence.
    pub fn remedy(self) -> &'static str {
        self.words().2
    }

    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Shape::LostUpdate => (
                "lost update",
                "the block read the variable, another thread wrote it, and the block wrote over that with a \
                 value computed from what it had read",
                "hold one lock from the read to the write, or make it one atomic read-modify-write",
            ),
            Shape::NonRepeatableRead => (
                "non-repeatable read",
                "the block read the variable twice, and another thread wrote it in between",
                "hold one lock over both reads, or read once into a local and use that",
            ),
            Shape::DirtyRead => (
                "dirty read",
                "the block wrote the variable twice, and another thread saw the value in between",
                "hold one lock over both writes, or compute in a local and write once",
            ),
            Shape::StaleWrite => (
                "stale write",
                "the block wrote the variable and read it back, but another thread had written it in between",
                "hold one lock from the write to the read, or go on with the value that was written",
            ),
            Shape::DirtyWrite => (
                "dirty write",
                "the block wrote the variable twice, and another thread's write fell in between and was lost",
                "hold one lock over both writes",
            ),
            Shape::WriteSkew => (
                "write skew",
                "the block and the other thread each read what the other was about to change: both decided on \
                 values that did not last",
                "let both hold the same lock from their reads to their writes",
            ),
            Shape::ReadSkew => (
                "read skew",
                "the block read two variables that belong together, one before and one after another thread \
                 changed them",
                "hold the lock that guards both variables over both reads",
            ),
            Shape::TornUpdate => (
                "torn update",
                "the block changed two variables that belong together, and another thread saw the one changed \
                 and the other not yet",
                "hold the lock that guards both variables over both writes",
            ),
            Shape::SplitCriticalSection => (
                "split critical section",
                "the block released a lock and took it again, and another thread held it in between",
                "hold the lock over the whole block, or, if what is done in between is independent, make two \
                 blocks of it",
            ),
            Shape::ThreadInside => (
                "thread inside a block",
                "the block started a thread, waited for one or met others at a barrier, and so cannot be one \
                 indivisible step",
                "take the wait out of the block, or judge its pieces with --split-at-waits",
            ),
            Shape::LongerCycle => (
                "longer cycle",
                "the block's effects came back to it through several steps of other threads",
                "hold one lock over the block and the steps shown, or narrow the block to what must be atomic",
            ),
            Shape::NoSerialOrder => (
                "no serial order",
                "each block taken alone could be atomic, but the blocks wait for each other in a circle: no order \
                 of executing them one after the other explains what was observed",
                "let the blocks shown hold one common lock from their first to their last shared access",
            ),
        }
    }
}

impl Witness {
    /// The name of the anomaly.
    pub fn shape(&self) -> Shape {
        if self.block.is_none() {
            return Shape::NoSerialOrder;
        }
        let between: Vec<&Step> =
            self.steps.iter().filter(|step| step.because.is_between_threads()).collect();
        let [out, back] = between[..] else { return several(&between) };
        let (
            Because::Access(left, ours_before, theirs_first),
            Because::Access(right, theirs_last, ours_after),
        ) = (out.because, back.because)
        else {
            return several(&between);
        };
        Shape::of((left, ours_before, theirs_first), (right, theirs_last, ours_after))
    }
}

impl Shape {
    /// Of two conflicts with another transaction: the one that leads out of the block and the one that leads
    /// back into it, each with its variable and what the first and the second access do.
    pub(crate) fn of(out: (VarId, Touch, Touch), back: (VarId, Touch, Touch)) -> Shape {
        use Touch::{Read, Update, Write};
        let ((left, ours_before, theirs_first), (right, theirs_last, ours_after)) = (out, back);
        if left == right {
            return match (ours_before, theirs_first, ours_after) {
                (Read | Update, _, Write | Update) => Shape::LostUpdate,
                (Read | Update, _, Read) => Shape::NonRepeatableRead,
                (Write, _, Read) => Shape::StaleWrite,
                (Write, Read | Update, _) => Shape::DirtyRead,
                (Write, Write, _) => Shape::DirtyWrite,
            };
        }
        match (ours_before, theirs_last, ours_after) {
            (Read, Read, _) => Shape::WriteSkew,
            (Read, _, Read) => Shape::ReadSkew,
            (_, Read, _) if theirs_first == Read => Shape::TornUpdate,
            _ => Shape::LongerCycle,
        }
    }
}

fn several(between: &[&Step]) -> Shape {
    let is = |test: fn(Because) -> bool| between.iter().any(|step| test(step.because));
    if between.iter().all(|step| matches!(step.because, Because::Lock(_))) {
        Shape::SplitCriticalSection
    } else if is(|b| matches!(b, Because::Fork(_) | Because::Join(_) | Because::Barrier(_))) {
        Shape::ThreadInside
    } else {
        Shape::LongerCycle
    }
}

impl Because {
    /// Whether the step leads from one thread to another.
    pub fn is_between_threads(self) -> bool {
        !matches!(self, Because::ProgramOrder(_) | Because::SameTransaction(_))
    }
}
