//! Why a block is violated: the way out of it, through other threads, and back, one dependence at a time.
//!
//! ```text
//! t: [ w(x)                    r(y) ]      the closing dependence: t reads y, which s wrote at 9
//! s:         r(x)  w(y)                    s learned of t's time when it joined t at 4: s read x, which t wrote
//! ```
//!
//! The walk starts at the closing dependence and goes back through join histories: which join taught the other thread
//! that the block had begun? It ends where that join is a dependence on the block's own thread. No second pass, and
//! each step has a variable and two sites. Steps whose history was dropped or whose site was overwritten say so.

use crate::access::Access;
use crate::engine::{Engine, Findings, Violation};
use crate::epoch::Epoch;
use crate::thread::Thread;

/// Longer ways are cut.
pub const MOST_STEPS: usize = 8;

/// One dependence: `to` comes after `from`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The earlier event's epoch.
    pub from: Epoch,
    /// What it did; unknown if the ring of sites has turned over.
    pub from_access: Access,
    /// The later event's thread.
    pub to: usize,
    /// What it did.
    pub to_access: Access,
    /// How its thread came there, see [`crate::blocks::Blocks::way_in`]; 0 if no block was open.
    pub to_path: u64,
}

/// The steps, the closing one first, and whether they lead all the way back to the block.
#[derive(Clone, Copy, Debug)]
pub struct Witness {
    steps: [Option<Step>; MOST_STEPS],
    /// Whether the way is whole.
    pub is_whole: bool,
}

impl Witness {
    /// The steps, the closing one first.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().flatten()
    }

    /// Walks back from a violation.
    pub fn of<F: Findings>(engine: &Engine<F>, thread: &Thread, violation: &Violation) -> Witness {
        let mut witness = Witness { steps: [None; MOST_STEPS], is_whole: false };
        let started = thread.blocks().start(violation.frame);
        let (mut to, mut to_access, mut to_path) =
            (thread.index(), violation.access, thread.blocks().way_in());
        let mut from = violation.source;
        for place in &mut witness.steps {
            let Some(source) = engine.threads().get(from.index()) else { break };
            let from_access = source.sites.find(&to_access, from.time()).unwrap_or(Access::NONE);
            *place = Some(Step { from, from_access, to, to_access, to_path });
            if from.index() == thread.index() {
                witness.is_whole = true;
                break;
            }
            let Some(join) = source.history.join_that_learned(thread.index(), started, from.time()) else {
                break;
            };
            (to, to_access, to_path) = (from.index(), join.access, join.path);
            from = join.source;
        }
        witness
    }
}
