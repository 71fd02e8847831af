//! Which updates commute: those of a value that nobody has read yet. Implements "Commuting updates" of
//! `docs/event-model.md`.
//!
//! From the first read of a variable's life on, its updates count as `rmw`, whatever they do. They are rewritten here, once in
//! front of all checkers, the oracle and the verifier; for those, two updates of one commuting kind never conflict.
//!
//! **Cost per event.** An access to one bit per variable for reads and updates, nothing for the others.

use crate::{Event, Op, UpdateKind, VarId};

/// Which values were read so far.
#[derive(Debug, Default)]
pub struct Commuting {
    /// A bit per variable: its value was read in its present life.
    read: Vec<u64>,
    /// How many updates were left as ones that commute.
    pub updates: u64,
}

impl Commuting {
    /// Rewrites the updates among the next events of the trace that do not commute.
    pub fn resolve(&mut self, block: &mut [Event]) {
        for event in block {
            match event.op {
                Op::Read(x, _) | Op::Update(x, UpdateKind::Other) => *self.word(x) |= bit(x),
                Op::Update(x, kind) if kind.commutes() => {
                    if *self.word(x) & bit(x) == 0 {
                        self.updates += 1;
                    } else {
                        event.op = Op::Update(x, UpdateKind::Other);
                    }
                }
                Op::Alloc(x) | Op::Free(x) => *self.word(x) &= !bit(x),
                _ => {}
            }
        }
    }

    #[inline]
    fn word(&mut self, variable: VarId) -> &mut u64 {
        let index = variable.index() / 64;
        if index >= self.read.len() {
            self.read.resize(index + 1, 0);
        }
        &mut self.read[index]
    }
}

#[inline]
fn bit(variable: VarId) -> u64 {
    1 << (variable.index() % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SiteId, ThreadId};

    const ADD: fn(VarId) -> Op = |x| Op::Update(x, UpdateKind::Add);
    const OR: fn(VarId) -> Op = |x| Op::Update(x, UpdateKind::Or);
    const RMW: fn(VarId) -> Op = |x| Op::Update(x, UpdateKind::Other);
    const SAME: fn(VarId) -> Op = |x| Op::Update(x, UpdateKind::Same);

    fn check(ops: &[Op], expected: &[Op]) {
        let event = |&op: &Op| Event { thread: ThreadId(0), op, site: SiteId::NONE };
        let mut events: Vec<Event> = ops.iter().map(event).collect();
        let mut commuting = Commuting::default();
        // Whatever the blocks are.
        let (one, other) = events.split_at_mut(ops.len() / 2);
        commuting.resolve(one);
        commuting.resolve(other);
        assert_eq!(events.iter().map(|event| event.op).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn updates_commute_until_the_value_is_read() {
        let (x, y) = (VarId(3), VarId(64));
        check(&[ADD(x), Op::read(x), ADD(x)], &[ADD(x), Op::read(x), RMW(x)]);
        check(&[ADD(x), RMW(x), ADD(x)], &[ADD(x), RMW(x), RMW(x)]);
        check(&[Op::read(y), ADD(x), ADD(y)], &[Op::read(y), ADD(x), RMW(y)]);
    }

    #[test]
    fn writes_and_other_updates_do_not_read() {
        let x = VarId(0);
        let ops = [Op::write(x), ADD(x), Op::write(x), OR(x), SAME(x), ADD(x)];
        check(&ops, &ops);
    }

    #[test]
    fn a_new_life_was_not_read() {
        let x = VarId(200);
        for new_life in [Op::Alloc(x), Op::Free(x)] {
            check(&[Op::read(x), ADD(x), new_life, ADD(x)], &[Op::read(x), RMW(x), new_life, ADD(x)]);
        }
    }
}
