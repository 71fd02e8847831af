//! The one table of all checkers. The command, the documentation, the tests and the benchmarks
//! read it; nothing else lists them.

use atomvet_trace::{Event, EventId};

use crate::lower::Lowered;
use crate::observed::{
    aerodrome, aerodrome_basic, doublechecker, regiontrack, regiontrack_printed, velodrome,
};
use crate::predictive::{Judge, Offline};
use crate::predictive::{atomizer, blocks, blocks_exact, commit_node, commit_node_view, deadlock, reduction};
use crate::predictive::{race_hb, race_sync_preserving};
use crate::{Analysis, Checker, Config, Findings, Info, Kind, Observed};

/// A checker that can be asked for by name.
#[derive(Clone, Copy)]
pub struct Entry {
    /// What it is.
    pub info: &'static Info,
    /// Makes one.
    pub new: fn(&Config) -> Box<dyn Analysis>,
}

impl Entry {
    /// What a new one finds in a whole trace, put into `out`.
    pub fn run(&self, config: &Config, events: &[Event], mut out: Findings) -> Findings {
        let mut checker = (self.new)(config);
        checker.events(EventId(0), events, &mut out);
        let _ = checker.finish(&mut out);
        out
    }
}

/// All checkers, the default one first.
pub const CHECKERS: &[Entry] = &[
    observed::<regiontrack::RegionTrack>(),
    observed::<aerodrome::AeroDrome>(),
    observed::<aerodrome_basic::AeroDromeBasic>(),
    observed::<velodrome::Velodrome>(),
    observed::<doublechecker::DoubleChecker>(),
    predictive::<commit_node::CommitNode>(),
    predictive::<commit_node_view::CommitNodeView>(),
    predictive::<blocks::Blocks>(),
    predictive::<blocks_exact::BlocksExact>(),
    predictive::<reduction::Reduction>(),
    predictive::<reduction::ReductionPairwise>(),
    predictive::<reduction::ReductionCommonLock>(),
    observed::<atomizer::Atomizer>(),
    predictive::<deadlock::Deadlock>(),
    observed::<race_hb::RaceHb>(),
    observed::<race_sync_preserving::RaceSyncPreserving>(),
];

/// Baselines for comparisons, as printed: with known errors, which their guarantee names. Nothing else in this crate uses them.
pub const PRINTED: &[Entry] = &[observed::<regiontrack_printed::RegionTrackPrinted>()];

/// Whether this is a baseline with known errors.
pub fn is_printed(info: &Info) -> bool {
    PRINTED.iter().any(|entry| entry.info.name == info.name)
}

/// The checkers of one world.
pub fn of_kind(kind: Kind) -> impl Iterator<Item = &'static Entry> {
    CHECKERS.iter().filter(move |entry| entry.info.kind == kind)
}

/// The checker of that name, a baseline or not.
pub fn find(name: &str) -> Option<&'static Entry> {
    CHECKERS.iter().chain(PRINTED).find(|entry| entry.info.name == name)
}

const fn predictive<J: Judge>() -> Entry {
    observed::<Offline<J>>()
}

const fn observed<R: Observed>() -> Entry {
    Entry { info: &Lowered::<R>::INFO, new: |config| Box::new(Lowered::<R>::new(config)) }
}
