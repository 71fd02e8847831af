//! The one table of operations that both trace formats read and write: a code, a keyword, and
//! what kind of name the operation is about.
//!
//! Codes are part of the binary format: never renumber them, only add.

use crate::names::{Id, Table};
use crate::{BarrierId, LockId, Mode, Names, Op, RegionId, ThreadId, UpdateKind, VarId};

/// What an operation is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// Nothing: its target is 0.
    Nothing,
    Variable,
    Lock,
    Thread,
    Barrier,
    Region,
}

impl Target {
    /// What an error calls it, with its article.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Target::Nothing => "nothing",
            Target::Variable => "a variable",
            Target::Lock => "a lock",
            Target::Thread => "a thread",
            Target::Barrier => "a barrier",
            Target::Region => "a label",
        }
    }
}

/// An operation as the formats see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) keyword: &'static str,
    pub(crate) target: Target,
}

pub(crate) const BEGIN: u8 = 0;
pub(crate) const END: u8 = 1;
pub(crate) const BEGIN_LABELLED: u8 = 19;

/// All operations, by code.
pub(crate) const OPERATIONS: [Operation; 24] = [
    Operation { keyword: "begin", target: Target::Nothing },
    Operation { keyword: "end", target: Target::Nothing },
    Operation { keyword: "r", target: Target::Variable },
    Operation { keyword: "w", target: Target::Variable },
    Operation { keyword: "rmw", target: Target::Variable },
    Operation { keyword: "add", target: Target::Variable },
    Operation { keyword: "or", target: Target::Variable },
    Operation { keyword: "and", target: Target::Variable },
    Operation { keyword: "xor", target: Target::Variable },
    Operation { keyword: "min", target: Target::Variable },
    Operation { keyword: "max", target: Target::Variable },
    Operation { keyword: "acq", target: Target::Lock },
    Operation { keyword: "rel", target: Target::Lock },
    Operation { keyword: "racq", target: Target::Lock },
    Operation { keyword: "rrel", target: Target::Lock },
    Operation { keyword: "wait", target: Target::Lock },
    Operation { keyword: "fork", target: Target::Thread },
    Operation { keyword: "join", target: Target::Thread },
    Operation { keyword: "barrier", target: Target::Barrier },
    Operation { keyword: "begin", target: Target::Region },
    Operation { keyword: "alloc", target: Target::Variable },
    Operation { keyword: "free", target: Target::Variable },
    Operation { keyword: "escape", target: Target::Variable },
    Operation { keyword: "same", target: Target::Variable },
];

/// The code of an operation and the index of its target. What the formats do not tell apart is
/// made equal: a re-entrant acquire is an acquire. Nothing for what only checkers are given.
#[inline]
pub(crate) fn encode(op: Op) -> Option<(u8, u32)> {
    let coded = match op {
        Op::Begin(RegionId::NONE) => (BEGIN, 0),
        Op::End => (END, 0),
        Op::Read(x) => (2, x.0),
        Op::Write(x) => (3, x.0),
        Op::Update(x, UpdateKind::Other) => (4, x.0),
        Op::Update(x, UpdateKind::Add) => (5, x.0),
        Op::Update(x, UpdateKind::Or) => (6, x.0),
        Op::Update(x, UpdateKind::And) => (7, x.0),
        Op::Update(x, UpdateKind::Xor) => (8, x.0),
        Op::Update(x, UpdateKind::Min) => (9, x.0),
        Op::Update(x, UpdateKind::Max) => (10, x.0),
        Op::Acquire(lock, Mode::Exclusive) | Op::Reacquire(lock, Mode::Exclusive) => (11, lock.0),
        Op::Release(lock, Mode::Exclusive) | Op::Rerelease(lock, Mode::Exclusive) => (12, lock.0),
        Op::Acquire(lock, Mode::Shared) | Op::Reacquire(lock, Mode::Shared) => (13, lock.0),
        Op::Release(lock, Mode::Shared) | Op::Rerelease(lock, Mode::Shared) => (14, lock.0),
        Op::Wait(lock) => (15, lock.0),
        Op::Fork(thread) => (16, thread.0),
        Op::Join(thread) => (17, thread.0),
        Op::Barrier(barrier) => (18, barrier.0),
        Op::Begin(region) => (BEGIN_LABELLED, region.0),
        Op::Alloc(x) => (20, x.0),
        Op::Free(x) => (21, x.0),
        Op::Escape(x) => (22, x.0),
        Op::Update(x, UpdateKind::Same) => (23, x.0),
        Op::Local | Op::Skip => return None,
    };
    Some(coded)
}

/// The name of an operation's target, if it has one.
#[inline]
pub(crate) fn target_name(names: &Names, target: Target, index: u32) -> Option<&str> {
    fn name<I: Id>(table: &Table<I>, index: u32) -> Option<&str> {
        Some(table.get(I::from_index(index)))
    }
    match target {
        Target::Nothing => None,
        Target::Variable => name(&names.variables, index),
        Target::Lock => name(&names.locks, index),
        Target::Thread => name(&names.threads, index),
        Target::Barrier => name(&names.barriers, index),
        Target::Region => name(&names.regions, index),
    }
}

impl Op {
    /// Its word in the text format; nothing for what only checkers are given.
    pub fn keyword(self) -> Option<&'static str> {
        encode(self).map(|(code, _)| OPERATIONS[usize::from(code)].keyword)
    }

    /// The name of what it is about, if it is about anything.
    pub fn target_name(self, names: &Names) -> Option<&str> {
        let (code, index) = encode(self)?;
        target_name(names, OPERATIONS[usize::from(code)].target, index)
    }
}

/// The operation of each code, about target 0. A code that does not exist is a [`Op::Skip`].
const TEMPLATES: [Op; 256] = {
    let mut templates = [Op::Skip; 256];
    templates[0] = Op::Begin(RegionId::NONE);
    templates[1] = Op::End;
    templates[2] = Op::Read(VarId(0));
    templates[3] = Op::Write(VarId(0));
    templates[4] = Op::Update(VarId(0), UpdateKind::Other);
    templates[5] = Op::Update(VarId(0), UpdateKind::Add);
    templates[6] = Op::Update(VarId(0), UpdateKind::Or);
    templates[7] = Op::Update(VarId(0), UpdateKind::And);
    templates[8] = Op::Update(VarId(0), UpdateKind::Xor);
    templates[9] = Op::Update(VarId(0), UpdateKind::Min);
    templates[10] = Op::Update(VarId(0), UpdateKind::Max);
    templates[11] = Op::Acquire(LockId(0), Mode::Exclusive);
    templates[12] = Op::Release(LockId(0), Mode::Exclusive);
    templates[13] = Op::Acquire(LockId(0), Mode::Shared);
    templates[14] = Op::Release(LockId(0), Mode::Shared);
    templates[15] = Op::Wait(LockId(0));
    templates[16] = Op::Fork(ThreadId(0));
    templates[17] = Op::Join(ThreadId(0));
    templates[18] = Op::Barrier(BarrierId(0));
    templates[19] = Op::Begin(RegionId(0));
    templates[20] = Op::Alloc(VarId(0));
    templates[21] = Op::Free(VarId(0));
    templates[22] = Op::Escape(VarId(0));
    templates[23] = Op::Update(VarId(0), UpdateKind::Same);
    templates
};

/// The operation of a code and its target: the inverse of [`encode`]. The caller checks both.
///
/// A template is filled in, and all templates have their target at the same place, so that no
/// jump depends on the operation: a plain match over codes mispredicts on most events.
#[inline(always)]
pub(crate) fn decode(code: u8, target: u32) -> Op {
    let mut op = TEMPLATES[usize::from(code)];
    match &mut op {
        Op::Read(VarId(id))
        | Op::Write(VarId(id))
        | Op::Update(VarId(id), _)
        | Op::Acquire(LockId(id), _)
        | Op::Release(LockId(id), _)
        | Op::Reacquire(LockId(id), _)
        | Op::Rerelease(LockId(id), _)
        | Op::Wait(LockId(id))
        | Op::Fork(ThreadId(id))
        | Op::Join(ThreadId(id))
        | Op::Barrier(BarrierId(id))
        | Op::Begin(RegionId(id))
        | Op::Alloc(VarId(id))
        | Op::Free(VarId(id))
        // The target is 0 where there is no label, which stays the largest id there is.
        | Op::Escape(VarId(id)) => *id |= target,
        Op::End | Op::Local | Op::Skip => {}
    }
    op
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_comes_back() {
        for (code, operation) in OPERATIONS.iter().enumerate() {
            let target = if operation.target == Target::Nothing { 0 } else { 7 };
            let code = code as u8;
            assert_eq!(encode(decode(code, target)), Some((code, target)));
        }
        assert_eq!(decode(24, 0), Op::Skip);
    }

    #[test]
    fn what_wellformedness_adds_is_taken_back() {
        let lock = LockId(3);
        for mode in [Mode::Exclusive, Mode::Shared] {
            assert_eq!(encode(Op::Reacquire(lock, mode)), encode(Op::Acquire(lock, mode)));
            assert_eq!(encode(Op::Rerelease(lock, mode)), encode(Op::Release(lock, mode)));
        }
        assert_eq!(encode(Op::Skip), None);
    }
}
