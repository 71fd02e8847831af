//! With which events transactions start.

use atomvet_trace::{Event, Op, ThreadId};

use crate::{Block, Here};

/// Where each thread is between two events.
#[derive(Debug, Default)]
pub(super) struct Places(Vec<Place>);

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Place {
    /// Outside every block: its next event is a transaction of its own.
    #[default]
    Outside,
    /// In its last transaction.
    Inside,
    /// In a block that a wait has split: its next event starts a transaction.
    Split,
}

impl Places {
    fn of(&mut self, thread: ThreadId) -> &mut Place {
        if thread.index() >= self.0.len() {
            self.0.resize(thread.index() + 1, Place::default());
        }
        &mut self.0[thread.index()]
    }

    /// To be told of every event before the rules are: whether it starts a transaction. (If a
    /// transaction starts with a block or a join, [`Places::begin`] says so.)
    pub(super) fn starts(&mut self, event: Event) -> bool {
        let place = self.of(event.thread);
        match place {
            Place::Inside => false,
            Place::Outside => !matches!(event.op, Op::Begin(_)),
            Place::Split => {
                *place = Place::Inside;
                true
            }
        }
    }

    /// An outermost block begins, or begins anew at a wait: whether a transaction starts with the
    /// event at hand.
    pub(super) fn begin(&mut self, here: Here, block: Block) -> bool {
        let starts = block.begin == here.at || matches!(here.op, Op::Join(_));
        *self.of(here.thread) = if starts { Place::Inside } else { Place::Split };
        starts
    }

    /// An outermost block ends.
    pub(super) fn end(&mut self, here: Here) {
        *self.of(here.thread) = Place::Outside;
    }

    /// Whether the thread is outside every block.
    pub(super) fn is_outside(&mut self, thread: ThreadId) -> bool {
        *self.of(thread) == Place::Outside
    }
}
