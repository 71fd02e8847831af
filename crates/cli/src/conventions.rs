//! Under which conventions a trace is judged, and who says so.
//!
//! For each convention: an option of the command line wins over what the trace says, that over the configuration, and
//! that over the default. So `check` judges a recording as `run` judged the program, unless it is told otherwise.

use atomvet_check::Config;
use atomvet_report::model;
use atomvet_trace::{Accesses, Conflicts, Updates, Waits};

use crate::configuration::Configuration;

/// What waits and atomic updates mean. Of two contrary options the last one wins.
#[derive(clap::Args, Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// Judge a block that waits as the pieces before and after each wait
    ///
    /// Waits are condition variables, joins, barriers and semaphores. [default: as the trace was recorded; `run` splits]
    #[arg(long, overrides_with = "strict_waits", help_heading = "Event semantics")]
    split_at_waits: bool,
    /// Judge a block that waits as one piece
    ///
    /// [default for a trace that does not say how it was recorded]
    #[arg(long, overrides_with = "split_at_waits", help_heading = "Event semantics")]
    strict_waits: bool,
    /// Two atomic updates of one kind, such as two additions, do not conflict
    ///
    /// The kinds are add, or, and, xor, min and max. [default: as the trace was recorded; `run` lets updates commute]
    #[arg(long, overrides_with = "strict_atomics", help_heading = "Event semantics")]
    commuting_updates: bool,
    /// Two atomic updates of one kind conflict like two writes
    ///
    /// [default for a trace that does not say how it was recorded]
    #[arg(long, overrides_with = "commuting_updates", help_heading = "Event semantics")]
    strict_atomics: bool,
    /// What conflicts: accesses to data, or operations on locks as well, as in the papers. With data, a block is not to blame for
    /// taking a lock twice [default: as the trace was recorded; `run` takes data, and a trace that does not say, locks]
    #[arg(long, value_name = "data|locks", value_parser = conflicts, help_heading = "Event semantics")]
    conflicts: Option<Conflicts>,
}

fn conflicts(text: &str) -> Result<Conflicts, String> {
    match text {
        "data" => Ok(Conflicts::Data),
        "locks" => Ok(Conflicts::Locks),
        _ => Err("expected data or locks".to_owned()),
    }
}

/// Who decided on a convention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// Nobody.
    Default,
    /// `atomvet.toml`.
    Configuration,
    /// The trace, which says how it was recorded.
    Trace,
    /// The command line.
    Option,
}

impl By {
    /// As in JSON.
    fn name(self) -> &'static str {
        match self {
            By::Default => "default",
            By::Configuration => "configuration",
            By::Trace => "trace",
            By::Option => "option",
        }
    }
}

/// The conventions under which a trace is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InForce {
    /// For the checkers.
    pub(crate) config: Config,
    /// Who decided on waits.
    waits: By,
    /// Who decided on updates.
    updates: By,
    /// Who decided on conflicts.
    conflicts: By,
    /// Which accesses the trace has, if it says so.
    pub(crate) accesses: Option<Accesses>,
}

impl Asked {
    /// As options for another process.
    pub(crate) fn arguments(self) -> Vec<String> {
        let conflicts = self.conflicts.map(|conflicts| format!("--conflicts={}", word(conflicts)));
        let options = [
            (self.split_at_waits, "--split-at-waits"),
            (self.strict_waits, "--strict-waits"),
            (self.commuting_updates, "--commuting-updates"),
            (self.strict_atomics, "--strict-atomics"),
        ];
        options
            .iter()
            .filter(|(asked, _)| *asked)
            .map(|(_, option)| (*option).to_owned())
            .chain(conflicts)
            .collect()
    }

    /// What is in force for a trace that says this about itself; where nobody decides, `unsaid` is.
    pub(crate) fn in_force(
        self,
        recorded: atomvet_trace::Conventions,
        configuration: &Configuration,
        unsaid: Config,
    ) -> InForce {
        let (split_at_waits, waits) = decide(
            (self.split_at_waits, self.strict_waits),
            recorded.waits.map(|waits| waits == Waits::Split),
            configuration.strict_waits,
            unsaid.split_at_waits,
        );
        let (commuting_updates, updates) = decide(
            (self.commuting_updates, self.strict_atomics),
            recorded.updates.map(|updates| updates == Updates::Commute),
            configuration.strict_atomics,
            unsaid.commuting_updates,
        );
        let (conflicts, conflicts_by) = match (self.conflicts, recorded.conflicts) {
            (Some(asked), _) => (asked, By::Option),
            (None, Some(recorded)) => (recorded, By::Trace),
            (None, None) => (unsaid.conflicts, By::Default),
        };
        let config = Config { split_at_waits, commuting_updates, conflicts };
        InForce { config, waits, updates, conflicts: conflicts_by, accesses: recorded.accesses }
    }
}

fn decide((yes, no): (bool, bool), recorded: Option<bool>, strict: Option<bool>, unsaid: bool) -> (bool, By) {
    match (recorded, strict) {
        _ if yes || no => (yes, By::Option),
        (Some(recorded), _) => (recorded, By::Trace),
        (None, Some(strict)) => (!strict, By::Configuration),
        (None, None) => (unsaid, By::Default),
    }
}

/// As options, traces and JSON have it.
fn word(conflicts: Conflicts) -> &'static str {
    match conflicts {
        Conflicts::Data => "data",
        Conflicts::Locks => "locks",
    }
}

impl InForce {
    /// The conventions of the papers, for a trace of which nobody says anything.
    pub(crate) fn papers() -> InForce {
        InForce {
            config: Config::default(),
            waits: By::Default,
            updates: By::Default,
            conflicts: By::Default,
            accesses: None,
        }
    }

    /// The same for prediction, where waits split blocks unless an option says otherwise: what others do while a block waits for
    /// them is no violation that anybody wants to hear of.
    pub(crate) fn for_prediction(mut self) -> InForce {
        self.config.split_at_waits |= self.waits != By::Option;
        // Which orders locks allow is what is predicted from.
        self.config.conflicts = Conflicts::Locks;
        self
    }

    /// What a trace says about itself that is recorded, or made, under these.
    pub(crate) fn to_record(self) -> atomvet_trace::Conventions {
        atomvet_trace::Conventions {
            waits: Some(if self.config.split_at_waits { Waits::Split } else { Waits::Whole }),
            updates: Some(if self.config.commuting_updates { Updates::Commute } else { Updates::Conflict }),
            conflicts: Some(self.config.conflicts),
            accesses: self.accesses,
        }
    }

    /// Whether other executions can be told from the trace.
    pub(crate) fn allow_prediction(self) -> bool {
        self.accesses != Some(Accesses::Filtered)
    }

    /// As every output has it.
    pub(crate) fn model(self) -> model::Conventions {
        model::Conventions {
            waits: if self.config.split_at_waits { "split" } else { "whole" }.to_owned(),
            waits_by: self.waits.name().to_owned(),
            updates: if self.config.commuting_updates { "commute" } else { "conflict" }.to_owned(),
            updates_by: self.updates.name().to_owned(),
            conflicts: word(self.config.conflicts).to_owned(),
            conflicts_by: self.conflicts.name().to_owned(),
            accesses: self.accesses.map(|accesses| match accesses {
                Accesses::All => "all".to_owned(),
                Accesses::Filtered => "filtered".to_owned(),
            }),
        }
    }
}
