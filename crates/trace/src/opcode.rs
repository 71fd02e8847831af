//! The one table of operations that both trace formats read and write: a code, a keyword, and
//! what kind of name the operation is about.
//!
//! Codes are part of the binary format: never renumber them, only add.

use crate::names::{Id, Table};
use crate::{AccessKind, BarrierId, LockId, Mode, Names, Op, RegionId, ThreadId, UpdateKind, VarId};

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
const READ: u8 = 2;
const WRITE: u8 = 3;
/// From the code of a plain access to that of an atomic one.
const ATOMIC: u8 = 22;

/// All operations, by code.
pub(crate) const OPERATIONS: [Operation; 26] = [
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
    Operation { keyword: "ar", target: Target::Variable },
    Operation { keyword: "aw", target: Target::Variable },
];

/// The code of an operation and the index of its target. What the formats do not tell apart is
/// made equal: a re-entrant acquire is an acquire. Nothing for what only checkers are given.
///
/// No jump depends on which of the common operations it is, as in [`decode`].
#[inline]
pub(crate) fn encode(op: Op) -> Option<(u8, u32)> {
    let code = CODES[ordinal(op)];
    if code == SEVERAL {
        return encode_several(op);
    }
    let target = target(op);
    let is_atomic = matches!(op, Op::Read(_, AccessKind::Atomic) | Op::Write(_, AccessKind::Atomic));
    let code = code + ATOMIC * u8::from(is_atomic);
    let is_nameless = (code == BEGIN_LABELLED) & (target == RegionId::NONE.0);
    Some(if is_nameless { (BEGIN, 0) } else { (code, target) })
}

/// The place of an operation in [`Op`]: what the compiler numbers them by, so that this is no work at all.
#[inline(always)]
const fn ordinal(op: Op) -> usize {
    match op {
        Op::Read(..) => 0,
        Op::Write(..) => 1,
        Op::Update(..) => 2,
        Op::Acquire(..) => 3,
        Op::Release(..) => 4,
        Op::Reacquire(..) => 5,
        Op::Rerelease(..) => 6,
        Op::Wait(_) => 7,
        Op::Fork(_) => 8,
        Op::Join(_) => 9,
        Op::Barrier(_) => 10,
        Op::Begin(_) => 11,
        Op::End => 12,
        Op::Alloc(_) => 13,
        Op::Free(_) => 14,
        Op::Escape(_) => 15,
        Op::Local => 16,
        Op::Skip => 17,
    }
}

/// It has not exactly one code.
const SEVERAL: u8 = u8::MAX;

/// By [`ordinal`], the codes of operations that have one. (A match would become a jump for each.)
const CODES: [u8; 18] = {
    let mut codes = [SEVERAL; 18];
    codes[ordinal(Op::End)] = END;
    codes[ordinal(Op::read(VarId(0)))] = READ;
    codes[ordinal(Op::write(VarId(0)))] = WRITE;
    codes[ordinal(Op::Wait(LockId(0)))] = 15;
    codes[ordinal(Op::Fork(ThreadId(0)))] = 16;
    codes[ordinal(Op::Join(ThreadId(0)))] = 17;
    codes[ordinal(Op::Barrier(BarrierId(0)))] = 18;
    codes[ordinal(Op::Begin(RegionId(0)))] = BEGIN_LABELLED;
    codes[ordinal(Op::Alloc(VarId(0)))] = 20;
    codes[ordinal(Op::Free(VarId(0)))] = 21;
    codes[ordinal(Op::Escape(VarId(0)))] = 22;
    codes
};

/// Operations with several codes, or none.
fn encode_several(op: Op) -> Option<(u8, u32)> {
    let code = match op {
        Op::Update(_, UpdateKind::Other) => 4,
        Op::Update(_, UpdateKind::Add) => 5,
        Op::Update(_, UpdateKind::Or) => 6,
        Op::Update(_, UpdateKind::And) => 7,
        Op::Update(_, UpdateKind::Xor) => 8,
        Op::Update(_, UpdateKind::Min) => 9,
        Op::Update(_, UpdateKind::Max) => 10,
        Op::Update(_, UpdateKind::Same) => 23,
        Op::Acquire(_, Mode::Exclusive) | Op::Reacquire(_, Mode::Exclusive) => 11,
        Op::Release(_, Mode::Exclusive) | Op::Rerelease(_, Mode::Exclusive) => 12,
        Op::Acquire(_, Mode::Shared) | Op::Reacquire(_, Mode::Shared) => 13,
        Op::Release(_, Mode::Shared) | Op::Rerelease(_, Mode::Shared) => 14,
        _ => return None,
    };
    Some((code, target(op)))
}

/// The index of an operation's target; 0 if it has none.
#[inline(always)]
fn target(mut op: Op) -> u32 {
    target_of(&mut op).map_or(0, |id| *id)
}

/// Where an operation has the index of its target, if it has one.
#[inline(always)]
fn target_of(op: &mut Op) -> Option<&mut u32> {
    match op {
        Op::Read(VarId(id), _)
        | Op::Write(VarId(id), _)
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
        | Op::Escape(VarId(id)) => Some(id),
        Op::End | Op::Local | Op::Skip => None,
    }
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
    templates[READ as usize] = Op::read(VarId(0));
    templates[WRITE as usize] = Op::write(VarId(0));
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
    templates[(READ + ATOMIC) as usize] = Op::Read(VarId(0), AccessKind::Atomic);
    templates[(WRITE + ATOMIC) as usize] = Op::Write(VarId(0), AccessKind::Atomic);
    templates
};

/// The operation of a code and its target: the inverse of [`encode`]. The caller checks both.
///
/// A template is filled in, and all templates have their target at the same place, so that no
/// jump depends on the operation: a plain match over codes mispredicts on most events.
#[inline(always)]
pub(crate) fn decode(code: u8, target: u32) -> Op {
    let mut op = TEMPLATES[usize::from(code)];
    if let Some(id) = target_of(&mut op) {
        // The target is 0 where there is no label, which stays the largest id there is.
        *id |= target;
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
        assert_eq!(decode(26, 0), Op::Skip);
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
