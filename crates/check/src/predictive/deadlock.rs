//! Potential deadlocks: goodlock.

use crate::predictive::{Effort, Execution, Judge, Predicted};
use crate::{Blame, Config, Info, Kind, Stats};

/// The checker `deadlock`.
#[derive(Debug)]
pub struct Deadlock;

impl Judge for Deadlock {
    const INFO: Info = Info {
        name: "deadlock",
        kind: Kind::Predictive,
        paper: "",
        guarantee: "",
        blame: Blame::More,
        tells_first_event: false,
        cost: "",
    };

    fn new(_config: &Config) -> Self {
        Deadlock
    }

    fn judge(self, _execution: &Execution, _effort: &mut Effort, _out: &mut Predicted) -> Stats {
        Stats::default()
    }
}
