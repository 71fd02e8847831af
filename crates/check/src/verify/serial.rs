//! Whether an order of the transactions keeps the order of all directly ordered events.

use atomvet_trace::{Conflicts, Event, EventId, Mode, Op, UpdateKind};

use super::walk::{Situation, Walk, entry};
use crate::Config;

/// The latest place in the serial order, so far, of a transaction with an event of some kind.
///
/// An order is right if for every event `f`, every `e` directly before it has a transaction whose
/// place is not later than that of `f`'s. That is so if and only if it holds for the one
/// with the latest place: one maximum per kind of event stands for all pairs.
#[derive(Clone, Copy, Debug, Default)]
struct Latest(Option<(usize, EventId)>);

impl Latest {
    fn add(&mut self, place: usize, at: EventId) {
        if self.0.is_none_or(|(latest, _)| latest < place) {
            self.0 = Some((place, at));
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Variable {
    life: u64,
    reads: Latest,
    writes: Latest,
    /// By what the update does.
    updates: [Latest; 8],
}

#[derive(Clone, Copy, Debug, Default)]
struct Lock {
    exclusive: Latest,
    shared: Latest,
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    own: Latest,
    forks: Latest,
}

/// See [`super::serial_order`]. Cost: O(1) per event.
pub(super) fn check(config: &Config, events: &[Event], order: &[EventId]) -> Result<(), String> {
    let mut place_of: Vec<Option<usize>> = vec![None; events.len()];
    for (place, first) in order.iter().enumerate() {
        let slot = usize::try_from(first.0).ok().and_then(|at| place_of.get_mut(at));
        let slot = slot.ok_or_else(|| format!("the order lists {first:?}, which is not in the trace"))?;
        if slot.replace(place).is_some() {
            return Err(format!("the order lists {first:?} twice"));
        }
    }
    let mut walk = Walk::new(config);
    let mut keeper = Keeper { config: *config, ..Keeper::default() };
    let mut transactions = 0;
    for (i, &event) in events.iter().enumerate() {
        let at = EventId(i as u64);
        let Some(situation) = walk.step(at, event) else { continue };
        let place = place_of[situation.transaction.0 as usize].ok_or_else(|| {
            format!("the order does not list the transaction that starts with {:?}", situation.transaction)
        })?;
        transactions += usize::from(situation.transaction == at);
        if let Some((_, before)) = keeper.later_in_order(place, at, &situation) {
            return Err(format!(
                "{before:?} is directly before {at:?}, but the order puts the transaction of {at:?} first"
            ));
        }
    }
    if transactions < order.len() {
        // Every transaction was found in the list, so something else is in it too.
        return Err(format!(
            "the order lists {} events, but only {transactions} transactions start",
            order.len()
        ));
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Keeper {
    config: Config,
    variables: Vec<Variable>,
    locks: Vec<Lock>,
    threads: Vec<Thread>,
    /// Arrivals, per barrier episode.
    episodes: Vec<Latest>,
}

impl Keeper {
    /// An event directly before this one (at `place` of the order) whose transaction has a later
    /// place; then remembers this one.
    fn later_in_order(
        &mut self,
        place: usize,
        at: EventId,
        situation: &Situation,
    ) -> Option<(usize, EventId)> {
        let mut worst = Latest::default();
        let mut after = |earlier: Latest| {
            if let Some((place, at)) = earlier.0 {
                worst.add(place, at);
            }
        };
        let event = situation.event;
        if let Op::Join(child) = event.op {
            after(entry(&mut self.threads, child.index()).own);
        }
        if let Op::Fork(child) = event.op {
            entry(&mut self.threads, child.index()).forks.add(place, at);
        }
        let thread = entry(&mut self.threads, event.thread.index());
        after(thread.own);
        after(thread.forks);
        thread.own.add(place, at);

        let regains = situation.regains.map(|lock| (lock, Mode::Exclusive));
        let operates = match event.op {
            _ if self.config.conflicts == Conflicts::Data => None,
            Op::Acquire(lock, mode) | Op::Release(lock, mode) => Some((lock, mode)),
            Op::Wait(lock) => Some((lock, Mode::Exclusive)),
            _ => None,
        };
        for (lock, mode) in [regains, operates].into_iter().flatten() {
            let lock = entry(&mut self.locks, lock.index());
            after(lock.exclusive);
            match mode {
                Mode::Exclusive => {
                    after(lock.shared);
                    lock.exclusive.add(place, at);
                }
                Mode::Shared => lock.shared.add(place, at),
            }
        }

        // Nobody arrives in an episode that somebody has left, so that all arrivals are known.
        if let Some(episode) = situation.leaves {
            after(*entry(&mut self.episodes, episode as usize));
        }
        if let Some(episode) = situation.arrives {
            entry(&mut self.episodes, episode as usize).add(place, at);
        }

        if let Op::Read(x, _) | Op::Write(x, _) | Op::Update(x, _) = event.op {
            let variable = entry(&mut self.variables, x.index());
            if variable.life != situation.life {
                *variable = Variable { life: situation.life, ..Variable::default() };
            }
            after(variable.writes);
            let mine = match event.op {
                Op::Read(..) => &mut variable.reads,
                Op::Update(_, kind) => &mut variable.updates[index_of(kind)],
                _ => &mut variable.writes,
            };
            mine.add(place, at);
            if !matches!(event.op, Op::Read(..)) {
                after(variable.reads);
            }
            for (index, &updates) in variable.updates.iter().enumerate() {
                let swaps = self.config.commuting_updates
                    && matches!(event.op, Op::Update(_, kind) if kind.commutes() && index_of(kind) == index);
                if !swaps {
                    after(updates);
                }
            }
        }
        worst.0.filter(|&(latest, _)| latest > place)
    }
}

fn index_of(kind: UpdateKind) -> usize {
    match kind {
        UpdateKind::Other => 0,
        UpdateKind::Add => 1,
        UpdateKind::Or => 2,
        UpdateKind::And => 3,
        UpdateKind::Xor => 4,
        UpdateKind::Min => 5,
        UpdateKind::Max => 6,
        UpdateKind::Same => 7,
    }
}
