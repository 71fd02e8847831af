//! `atomvet refine`: which blocks were atomic in what was seen, as a specification file.
//!
//! Whether a block is violated does not depend on which other blocks are declared atomic, so one
//! pass of the exact algorithm gives what iterative refinement needs many runs for.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

use atomvet_check::registry::CHECKERS;
use atomvet_check::{Config, Findings};
use atomvet_report::model::Entry;
use atomvet_trace::wellformed::Discipline;
use atomvet_trace::{Error, Event, Names, Op, RegionId, SiteId};

use crate::check::{Understanding, coverage_status};
use crate::configuration::Where;
use crate::conventions::InForce;
use crate::grid::plural;
use crate::output::Output;
use crate::pipeline::{self, Pass, Reading, Told};
use crate::spec::{Seen, render};
use crate::spool::{Again, Source, called};
use crate::status::Status;
use crate::traces;

/// Options of `refine`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Traces, text or binary, plain or compressed; - is standard input
    ///
    /// Several traces make one specification.
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    understanding: Understanding,
    #[command(flatten)]
    place: Where,
    /// Write the specification to a file
    #[arg(short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    // What is seen does not depend on what should be: of the configuration, only how events are understood matters.
    let configuration = args.place.read()?;
    let inputs: Vec<&PathBuf> = args.traces.iter().chain(&configuration.files).collect();
    let output = Output::create(args.output.as_deref(), &inputs)?;
    let discipline = args.understanding.discipline();
    let (entries, worst) = traces::each(&args.traces, Again::No, |source| {
        let in_force = args.understanding.in_force(source, &configuration)?;
        let (pass, seen) = learn(source, &in_force.config, discipline)?;
        let status = coverage_status(&source.given, &pass);
        let observed = pass.tally.nothing_observed().is_none();
        Ok((Learned { from: from(&source.given, in_force, &pass), seen, observed }, status))
    });
    let mut known: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut heading = vec![
        "Blocks that should be atomic, for `atomvet check --spec`. Made by `atomvet refine` from:".to_owned(),
    ];
    let mut observed = false;
    for (path, entry) in args.traces.iter().zip(entries) {
        let Entry::Whole(learned) = entry else {
            heading.push(format!("  not from {}, which was not read", path.display()));
            continue;
        };
        heading.push(learned.from);
        observed |= learned.observed;
        for seen in learned.seen {
            let (entered, violated) = known.entry(seen.name).or_default();
            *entered += seen.entered;
            *violated += seen.violated;
        }
    }
    heading.push("Never seen violated means just that: other executions may show more.".to_owned());
    let seen: Vec<Seen> =
        known.into_iter().map(|(name, (entered, violated))| Seen { name, entered, violated }).collect();
    output.write_all_of(&render(&seen, &heading))?;
    // One trace that shows nothing does not spoil what others show.
    Ok(if worst == Status::NothingObserved && observed { Status::Clean } else { worst })
}

/// What one trace shows.
struct Learned {
    from: String,
    seen: Vec<Seen>,
    observed: bool,
}

/// A line on a trace that was read, with what is not as it should be.
fn from(given: &str, in_force: InForce, pass: &Pass) -> String {
    let mut line = format!("  {} ({})", called(given), in_force.model().words());
    if pass.repairs.total > 0 {
        line += &format!(" ({})", plural(pass.repairs.total, "repair"));
    }
    if let Some(partial) = &pass.partial {
        line += &format!(" (PARTIAL: {})", partial.reason());
    }
    line
}

/// One pass: how often each block was entered and violated.
pub(crate) fn learn(
    source: &mut Source,
    config: &Config,
    discipline: Discipline,
) -> Result<(Pass, Vec<Seen>), Error> {
    // The registry has the exact algorithm first.
    let mut analysis = (CHECKERS[0].new)(config);
    let mut findings = Findings::folded(config);
    let mut entered = Entered::default();
    let objects = Told::to(std::iter::once(&*analysis));
    let commuting = Told::if_asked(config.commuting_updates);
    let reading = Reading { discipline, objects, commuting, ..Reading::default() };
    let pass = pipeline::run(source, reading, |slice| {
        if !slice.objects.is_empty() {
            analysis.objects(slice.first_variable, slice.objects);
        }
        analysis.events(slice.first, slice.events, &mut findings);
        entered.count(slice.events);
        ControlFlow::Continue(())
    })?;
    analysis.finish(&mut findings);
    let mut seen = BTreeMap::new();
    for (name, number) in entered.by_name(&pass.names) {
        seen.insert(name.clone(), Seen { name, entered: number, violated: 0 });
    }
    for finding in &findings.list {
        if let Some(block) = finding.block
            && let Some(seen) = seen.get_mut(&pass.names.block(block.region, block.site))
        {
            seen.violated += finding.count;
        }
    }
    Ok((pass, seen.into_values().collect()))
}

/// How often each kind of block was entered.
#[derive(Default)]
pub(crate) struct Entered {
    /// Per label.
    labelled: Vec<u64>,
    /// Per site, for blocks without a label; the first entry is for those without a site as well.
    unlabelled: Vec<u64>,
}

impl Entered {
    /// Counts the begins among these events.
    pub(crate) fn count(&mut self, events: &[Event]) {
        for event in events {
            if let Op::Begin(region) = event.op {
                self.add(region, event.site, 1);
            }
        }
    }

    /// Counts entries of one kind of block.
    pub(crate) fn add(&mut self, region: RegionId, site: SiteId, number: u64) {
        let (table, index) = match (region, site) {
            (RegionId::NONE, SiteId::NONE) => (&mut self.unlabelled, 0),
            (RegionId::NONE, site) => (&mut self.unlabelled, site.index() + 1),
            (region, _) => (&mut self.labelled, region.index()),
        };
        if index >= table.len() {
            table.resize(index + 1, 0);
        }
        table[index] += number;
    }

    /// The counts by the blocks' names.
    pub(crate) fn by_name(&self, names: &Names) -> BTreeMap<String, u64> {
        let mut by_name = BTreeMap::new();
        let labelled = self.labelled.iter().zip(0..).map(|(n, i)| (RegionId(i), SiteId::NONE, *n));
        let unlabelled = self.unlabelled.iter().enumerate().map(|(i, n)| {
            let site = i.checked_sub(1).map_or(SiteId::NONE, |site| SiteId(site as u32));
            (RegionId::NONE, site, *n)
        });
        for (region, site, number) in labelled.chain(unlabelled).filter(|(.., number)| *number > 0) {
            *by_name.entry(names.block(region, site)).or_default() += number;
        }
        by_name
    }
}
