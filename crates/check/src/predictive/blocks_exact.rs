//! Every interleaving of uninitialised reads and final writes (TSE 2006, Theorem 4.4).

use crate::predictive::{Effort, Execution, Judge, Predicted};
use crate::{Blame, Config, Info, Kind, Stats};

/// The checker `blocks-exact`.
#[derive(Debug)]
pub struct BlocksExact;

impl Judge for BlocksExact {
    const INFO: Info = Info {
        name: "blocks-exact",
        kind: Kind::Predictive,
        paper: "",
        guarantee: "",
        blame: Blame::More,
        tells_first_event: false,
        cost: "",
    };

    fn new(_config: &Config) -> Self {
        BlocksExact
    }

    fn judge(self, _execution: &Execution, _effort: &mut Effort, _out: &mut Predicted) -> Stats {
        Stats::default()
    }
}
