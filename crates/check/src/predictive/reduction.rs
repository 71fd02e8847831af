//! Reduction, off-line (RV 2003, TSE 2006).

use crate::predictive::{Effort, Execution, Judge, Predicted};
use crate::{Blame, Config, Info, Kind, Stats};

/// The checker `reduction`.
#[derive(Debug)]
pub struct Reduction;

impl Judge for Reduction {
    const INFO: Info = Info {
        name: "reduction",
        kind: Kind::Predictive,
        paper: "",
        guarantee: "",
        blame: Blame::More,
        tells_first_event: false,
        cost: "",
    };

    fn new(_config: &Config) -> Self {
        Reduction
    }

    fn judge(self, _execution: &Execution, _effort: &mut Effort, _out: &mut Predicted) -> Stats {
        Stats::default()
    }
}

/// The checker `reduction-multi-lockset`.
#[derive(Debug)]
pub struct ReductionMultiLockset;

impl Judge for ReductionMultiLockset {
    const INFO: Info = Info {
        name: "reduction-multi-lockset",
        kind: Kind::Predictive,
        paper: "",
        guarantee: "",
        blame: Blame::More,
        tells_first_event: false,
        cost: "",
    };

    fn new(_config: &Config) -> Self {
        ReductionMultiLockset
    }

    fn judge(self, _execution: &Execution, _effort: &mut Effort, _out: &mut Predicted) -> Stats {
        Stats::default()
    }
}

/// The checker `reduction-common-lock`.
#[derive(Debug)]
pub struct ReductionCommonLock;

impl Judge for ReductionCommonLock {
    const INFO: Info = Info {
        name: "reduction-common-lock",
        kind: Kind::Predictive,
        paper: "",
        guarantee: "",
        blame: Blame::More,
        tells_first_event: false,
        cost: "",
    };

    fn new(_config: &Config) -> Self {
        ReductionCommonLock
    }

    fn judge(self, _execution: &Execution, _effort: &mut Effort, _out: &mut Predicted) -> Stats {
        Stats::default()
    }
}
