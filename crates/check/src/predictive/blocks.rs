//! Blocks: pairs of events of a transaction (RV 2003, TSE 2006).

use crate::predictive::{Effort, Execution, Judge, Predicted};
use crate::{Blame, Config, Info, Kind, Stats};

/// The checker `blocks`.
#[derive(Debug)]
pub struct Blocks;

impl Judge for Blocks {
    const INFO: Info = Info {
        name: "blocks",
        kind: Kind::Predictive,
        paper: "",
        guarantee: "",
        blame: Blame::More,
        tells_first_event: false,
        cost: "",
    };

    fn new(_config: &Config) -> Self {
        Blocks
    }

    fn judge(self, _execution: &Execution, _effort: &mut Effort, _out: &mut Predicted) -> Stats {
        Stats::default()
    }
}
