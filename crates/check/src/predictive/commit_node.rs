//! Commit nodes over the conflict forest (PPoPP 2006).

use crate::predictive::{Effort, Execution, Judge, Predicted};
use crate::{Blame, Config, Info, Kind, Stats};

/// The checker `commit-node`.
#[derive(Debug)]
pub struct CommitNode;

impl Judge for CommitNode {
    const INFO: Info = Info {
        name: "commit-node",
        kind: Kind::Predictive,
        paper: "",
        guarantee: "",
        blame: Blame::More,
        tells_first_event: false,
        cost: "",
    };

    fn new(_config: &Config) -> Self {
        CommitNode
    }

    fn judge(self, _execution: &Execution, _effort: &mut Effort, _out: &mut Predicted) -> Stats {
        Stats::default()
    }
}
