//! Who judges a program: the checker inside it, or this process, from records of all that happens.

use atomvet_check::Kind;
use atomvet_check::registry::{CHECKERS, Entry};
use atomvet_trace::Conflicts;

use super::Args;
use crate::configuration::Configuration;
use crate::conventions::InForce;
use crate::java;

/// How a program is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// By the checker inside it (`live`).
    Live,
    /// By this process, from records of everything.
    Recorded,
}

impl Mode {
    /// The checker inside a program has one algorithm and its conventions, keeps no accesses, and counts the executions of a
    /// finding. Whatever needs more needs records.
    pub(crate) fn of(
        args: &Args,
        algorithms: &[&'static Entry],
        in_force: InForce,
        configuration: &Configuration,
    ) -> Mode {
        // The agent of JVMs records what is needed for everything but prediction, and the one that judges does not tell of locks.
        let is_jvm = java::is_launcher(&args.program[0]);
        let judges_itself = !is_jvm || java::judge_themselves();
        let is_recorded = args.record_all
            || judges_itself && args.record.is_some()
            || algorithms.iter().any(|entry| entry.info.kind == Kind::Predictive);
        let spec = configuration.spec.as_ref();
        let needs_accesses = algorithms.iter().any(|entry| entry.info.name != CHECKERS[0].info.name)
            || !in_force.config.split_at_waits
            || !in_force.config.commuting_updates
            || !configuration.idioms.is_empty()
            || spec.is_some_and(|spec| spec.ignores_variables())
            || args.all_instances
            || args.verify
            || args.whole_trace
            || is_jvm && in_force.config.conflicts == Conflicts::Locks;
        if is_recorded || judges_itself && needs_accesses { Mode::Recorded } else { Mode::Live }
    }
}
