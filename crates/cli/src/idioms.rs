//! Findings that are benign by an idiom: found by checking once more, without the accesses that the idioms name.
//!
//! ```text
//! pass 1      all checkers ──► findings          only if there are any:
//! one more    Search ──► which accesses are named
//! one more    the exact algorithm, and those that predict, without them ──► what is still wrong
//! ```
//!
//! A finding is benign if *every* block instance that it stands for is violated no more; a cycle without a block to blame, if
//! the trace is serializable then; a prediction, if nothing is predicted any more for blocks of its name. Whatever cannot be
//! told, because of Ctrl-C or a spent budget, counts.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::str::FromStr;

use atomvet_check::idioms::{Accesses, Idiom, Search};
use atomvet_check::registry::CHECKERS;
use atomvet_check::{Analysis, Blame, Findings, Kind};
use atomvet_report::model;
use atomvet_trace::{Error, Event, EventId, RegionId, SiteId};

use crate::aside::Aside;
use crate::budget::Budget;
use crate::examine::{Options, Verdict, Violation};
use crate::interrupt;
use crate::pipeline::{self, Pass, Told, Until};
use crate::predicted::{Foreboding, all_judged};
use crate::spool::Source;
use crate::suggest::did_you_mean;

/// An idiom as users name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Named(pub(crate) Idiom);

impl FromStr for Named {
    type Err = String;

    fn from_str(name: &str) -> Result<Named, String> {
        if let Some(idiom) = Idiom::ALL.iter().find(|idiom| idiom.name() == name) {
            return Ok(Named(*idiom));
        }
        let known: Vec<&str> = Idiom::ALL.iter().map(|idiom| idiom.name()).collect();
        let near = did_you_mean(name, known.iter().copied());
        Err(format!("no idiom is called {name:?}; {near}there are {}", known.join(", ")))
    }
}

/// Marks the findings that are benign. Which idiom each owes it to is told by [`Benign::label`], once there are witnesses.
pub(crate) fn find(
    source: &mut Source,
    options: &Options<'_>,
    pass: &mut Pass,
    verdicts: &mut [Verdict],
) -> Result<Benign, Error> {
    let found = verdicts.iter().any(|verdict| {
        verdict.violations.iter().any(|violation| violation.aside.is_none())
            || !verdict.foreseen.violations.is_empty()
    });
    if options.aside.idioms.is_empty() || !found || interrupt::requested() || source.ensure_kept().is_err() {
        return Ok(Benign::default());
    }
    let until = Until::Event(EventId(pass.tally.events), Budget::UNLIMITED);
    let mut reading = options.reading(until, Told::No);
    let mut search = Search::new(options.aside.idioms);
    let searched = pipeline::run_again(source, reading, &mut pass.names, |slice| {
        search.events(slice.first, slice.events);
        ControlFlow::Continue(())
    })?;
    let mut accesses = search.finish();
    let mut again = Again::new(&accesses, options, verdicts);
    reading.objects = Told::to(again.all().map(|(analysis, _)| &**analysis));
    let mut kept: Vec<Event> = Vec::new();
    let checked = pipeline::run_again(source, reading, &mut pass.names, |slice| {
        kept.clear();
        kept.extend_from_slice(slice.events);
        accesses.take_out(slice.first, &mut kept);
        for (analysis, findings) in again.all() {
            if !slice.objects.is_empty() {
                analysis.objects(slice.first_variable, slice.objects);
            }
            analysis.events(slice.first, &kept, findings);
        }
        ControlFlow::Continue(())
    })?;
    // Of a part of the trace, nothing follows.
    if searched.partial.is_none() && checked.partial.is_none() {
        again.finish(verdicts);
    }
    Ok(Benign { accesses })
}

/// What is known about the accesses that idioms name.
#[derive(Default)]
pub(crate) struct Benign {
    accesses: Accesses,
}

impl Benign {
    /// Says for a marked finding which idiom it owes that to; without a witness nothing can be said, and it counts.
    pub(crate) fn label(&self, violation: &mut Violation) {
        let Some(Aside::Benign(None)) = violation.aside else { return };
        let explanation = violation.explanation.iter();
        let witnesses = explanation.flat_map(|e| [Some(&e.witness), e.by_data.as_ref()]).flatten();
        let steps = witnesses.flat_map(|witness| &witness.steps).flat_map(|step| [step.from, step.to]);
        violation.aside = self.idiom(steps).map(|idiom| Aside::Benign(Some(idiom)));
    }

    /// The same for a prediction, whose events are known.
    pub(crate) fn label_prediction(&self, foreboding: &Foreboding) -> Option<model::Idiom> {
        let patterns = foreboding.prediction.patterns.iter();
        self.idiom(patterns.flat_map(|pattern| &pattern.moments).map(|moment| moment.event.at))
    }

    fn idiom(&self, events: impl Iterator<Item = EventId>) -> Option<model::Idiom> {
        let mut named: Vec<(EventId, Idiom)> =
            events.filter_map(|at| Some((at, self.accesses.idiom_of(at)?))).collect();
        named.sort_unstable_by_key(|(at, _)| *at);
        named.dedup();
        let (_, idiom) = *named.first()?;
        Some(model::Idiom {
            name: idiom.name().to_owned(),
            meaning: idiom.meaning().to_owned(),
            accesses: named.iter().map(|(at, _)| at.0).collect(),
        })
    }
}

/// The checkers that look once more.
struct Again {
    exact: (Box<dyn Analysis>, Findings),
    /// With the place of its first verdict.
    predictive: Vec<(usize, Box<dyn Analysis>, Findings)>,
}

impl Again {
    fn new(accesses: &Accesses, options: &Options<'_>, verdicts: &[Verdict]) -> Again {
        let config = accesses.config(&options.in_force.config);
        // The registry has the exact algorithm first.
        let exact = ((CHECKERS[0].new)(&config), Findings::all_instances(&config));
        let config = accesses.config(&options.in_force.for_prediction().config);
        let predictive =
            verdicts.iter().enumerate().filter(|(_, verdict)| verdict.info.kind == Kind::Predictive);
        let predictive = predictive.filter_map(|(place, verdict)| {
            let entry = options.algorithms.iter().find(|entry| entry.info.name == verdict.info.name)?;
            let mut findings = Findings::folded(&config);
            findings.effort = options.predicting.effort(entry.info.name);
            Some((place, (entry.new)(&config), findings))
        });
        Again { exact, predictive: predictive.collect() }
    }

    fn all(&mut self) -> impl Iterator<Item = (&mut Box<dyn Analysis>, &mut Findings)> {
        let (analysis, findings) = &mut self.exact;
        let predictive = self.predictive.iter_mut().map(|(_, analysis, findings)| (analysis, findings));
        std::iter::once((analysis, findings)).chain(predictive)
    }

    /// Marks what is gone.
    fn finish(self, verdicts: &mut [Verdict]) {
        let (analysis, mut findings) = self.exact;
        analysis.finish(&mut findings);
        let is_serializable = findings.first_cycle.is_none();
        let violated: HashSet<EventId> = findings.list.iter().filter_map(|f| Some(f.block?.begin)).collect();
        for verdict in verdicts.iter_mut() {
            // An algorithm that blames blocks which are not violated is right about the cycle at least.
            let blames_violated = verdict.info.blame != Blame::More;
            for violation in verdict.violations.iter_mut().filter(|violation| violation.aside.is_none()) {
                let is_gone = |begin: &Option<EventId>| match begin {
                    Some(begin) if blames_violated => !violated.contains(begin),
                    _ => is_serializable,
                };
                if violation.instances.iter().all(is_gone) {
                    violation.aside = Some(Aside::Benign(None));
                }
            }
        }
        for (place, analysis, mut findings) in self.predictive {
            let stats = analysis.finish(&mut findings);
            if !all_judged(&findings, &stats) {
                continue;
            }
            let left: HashSet<(RegionId, SiteId)> = findings
                .predicted
                .violations
                .iter()
                .flat_map(|p| &p.patterns)
                .map(|p| name(&p.block))
                .collect();
            for foreboding in &mut verdicts[place].foreseen.violations {
                let blocks = foreboding.prediction.patterns.iter().map(|pattern| name(&pattern.block));
                foreboding.is_benign = blocks.into_iter().all(|block| !left.contains(&block));
            }
        }
    }
}

/// What blocks of one kind have in common.
fn name(block: &atomvet_check::Block) -> (RegionId, SiteId) {
    (block.region, if block.region == RegionId::NONE { block.site } else { SiteId::NONE })
}
