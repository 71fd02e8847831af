//! Commit nodes over the view forest (PPoPP 2006).

use crate::predictive::{Effort, Execution, Judge, Predicted};
use crate::{Blame, Config, Info, Kind, Stats};

/// The checker `commit-node-view`.
#[derive(Debug)]
pub struct CommitNodeView;

impl Judge for CommitNodeView {
    const INFO: Info = Info {
        name: "commit-node-view",
        kind: Kind::Predictive,
        paper: "",
        guarantee: "",
        blame: Blame::More,
        tells_first_event: false,
        cost: "",
    };

    fn new(_config: &Config) -> Self {
        CommitNodeView
    }

    fn judge(self, _execution: &Execution, _effort: &mut Effort, _out: &mut Predicted) -> Stats {
        Stats::default()
    }
}
