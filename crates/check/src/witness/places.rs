//! With which events transactions start.

use atomvet_trace::{Event, Op, ThreadId};

use crate::graph::slot;

/// Whether each thread is inside a block.
#[derive(Debug, Default)]
pub(super) struct Places(Vec<bool>);

impl Places {
    /// Whether the thread is inside a block.
    #[inline]
    pub(super) fn inside(&mut self, thread: ThreadId) -> &mut bool {
        slot(&mut self.0, thread.index())
    }

    /// Whether an event that the rules have yet to see is a transaction of its own.
    #[inline]
    pub(super) fn is_unary(&mut self, event: Event) -> bool {
        !matches!(event.op, Op::Begin(_) | Op::Skip) && !*self.inside(event.thread)
    }
}
