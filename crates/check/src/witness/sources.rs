//! Which earlier events of other threads an event directly depends on, and why.
//!
//! For every variable and channel the last access or send of each thread is kept, per kind. That is
//! enough for the fewest steps between threads: an earlier one of the same thread comes before the last
//! by program order.

use atomvet_trace::{EventId, Mode, Op, ThreadId, VarId};
use smallvec::SmallVec;

use super::{Because, Touch};
use crate::graph::slot;
use crate::{Access, Channel, ChannelKind, Here};

/// An earlier event that directly comes before the one at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<T> {
    pub(super) thread: ThreadId,
    pub(super) at: EventId,
    pub(super) because: Because,
    /// What was noted with it.
    pub(super) note: T,
}

/// What a way between events costs: a [`STEP`] for each step between threads, and one more for each
/// of these that only synchronization orders, since a reader learns more from the data.
pub(super) type Cost = u64;

/// So large that fewer steps are cheaper, whatever orders them.
pub(super) const STEP: Cost = 1 << 32;

/// What a step between threads costs.
pub(super) fn cost(because: Because) -> Cost {
    if matches!(because, Because::Access(..)) { STEP } else { STEP + 1 }
}

/// The last accesses and sends, each with a note of type `T`.
#[derive(Debug)]
pub(super) struct Sources<T> {
    variables: Vec<SmallVec<[Entry<Kind, T>; 2]>>,
    channels: Vec<SmallVec<[Entry<Mode, T>; 2]>>,
}

/// How a variable was accessed: accesses with the same [`Access`] may touch it differently.
type Kind = (Access, Touch);

#[derive(Clone, Copy, Debug)]
struct Entry<K, T> {
    thread: ThreadId,
    kind: K,
    at: EventId,
    note: T,
}

impl<T> Default for Sources<T> {
    fn default() -> Self {
        Sources { variables: Vec::new(), channels: Vec::new() }
    }
}

impl<T: Copy> Sources<T> {
    /// Tells `found` what an access directly depends on, then notes the access itself.
    pub(super) fn access(
        &mut self,
        here: Here,
        variable: VarId,
        access: Access,
        note: T,
        found: impl FnMut(Source<T>),
    ) {
        let touch = match here.op {
            Op::Read(..) => Touch::Read,
            Op::Update(..) => Touch::Update,
            _ => Touch::Write,
        };
        let entries = slot(&mut self.variables, variable.index());
        (entries.iter())
            .filter(|entry| entry.thread != here.thread && !(entry.kind.0 == access && access.shares()))
            .map(|entry| Source {
                thread: entry.thread,
                at: entry.at,
                because: Because::Access(variable, entry.kind.1, touch),
                note: entry.note,
            })
            .for_each(found);
        put(entries, Entry { thread: here.thread, kind: (access, touch), at: here.at, note });
    }

    /// Notes a send.
    pub(super) fn send(&mut self, here: Here, channel: Channel, mode: Mode, note: T) {
        let entries = slot(&mut self.channels, channel.slot as usize);
        put(entries, Entry { thread: here.thread, kind: mode, at: here.at, note });
    }

    /// Tells `found` what a receive directly depends on.
    pub(super) fn receive(&self, here: Here, channel: Channel, mode: Mode, found: impl FnMut(Source<T>)) {
        let because = match channel.kind {
            ChannelKind::Lock(lock) => Because::Lock(lock),
            ChannelKind::Start(thread) => Because::Fork(thread),
            ChannelKind::Barrier(barrier) => Because::Barrier(barrier),
        };
        (self.channels.get(channel.slot as usize).into_iter().flatten())
            .filter(|entry| entry.thread != here.thread)
            .filter(|entry| mode == Mode::Exclusive || entry.kind == Mode::Exclusive)
            .map(|entry| Source { thread: entry.thread, at: entry.at, because, note: entry.note })
            .for_each(found);
    }

    /// See [`crate::Rules::new_life`].
    pub(super) fn new_life(&mut self, variable: VarId) {
        slot(&mut self.variables, variable.index()).clear();
    }

    /// See [`crate::Rules::close`].
    pub(super) fn close(&mut self, channel: Channel) {
        slot(&mut self.channels, channel.slot as usize).clear();
    }
}

fn put<K: PartialEq, T>(entries: &mut SmallVec<[Entry<K, T>; 2]>, new: Entry<K, T>) {
    match entries.iter_mut().find(|entry| entry.thread == new.thread && entry.kind == new.kind) {
        Some(entry) => *entry = new,
        None => entries.push(new),
    }
}
