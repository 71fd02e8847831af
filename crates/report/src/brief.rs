//! Reports without what explains: verdicts and findings stay, for tables of many traces.

use crate::model::{Checker, Figures, Trace};

/// Leaves out the witnesses, the blocks that were entered and the algorithms' figures.
pub fn brief(trace: Trace) -> Trace {
    let brief = |checker: Checker| match checker {
        Checker::Observed(mut observed) => {
            for violation in &mut observed.violations {
                violation.witness.clear();
                violation.data_witness = None;
                violation.events.clear();
            }
            observed.stats = Figures::default();
            Checker::Observed(observed)
        }
        Checker::Predictive(mut predictive) => {
            predictive.stats = Figures::default();
            Checker::Predictive(predictive)
        }
    };
    Trace { entered: Vec::new(), checkers: trace.checkers.into_iter().map(brief).collect(), ..trace }
}
