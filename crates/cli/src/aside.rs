//! Findings that were found and do not count: suppressed, in the baseline, or benign. They stay in the report, marked, and
//! are counted; the exit status does not heed them.

use std::collections::BTreeMap;

use atomvet_check::idioms::Idiom;
use atomvet_check::witness::Because;
use atomvet_report::model;
use atomvet_trace::{Names, Op};

use crate::baseline::Baseline;
use crate::configuration::suppress::{Suppress, Traits, needs_variables, suppressed};
use crate::examine::{Examined, Verdict, Violation, site};
use crate::predicted::Foreseen;

/// Why a finding does not count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Aside {
    /// Somebody said so.
    Suppressed(model::Suppression),
    /// It is benign; by which idiom is said once its witness is known.
    Benign(Option<model::Idiom>),
}

impl Aside {
    /// As in the JSON contract.
    pub(crate) fn parts(&self) -> (Option<model::Suppression>, Option<model::Idiom>) {
        match self {
            Aside::Suppressed(suppression) => (Some(suppression.clone()), None),
            Aside::Benign(idiom) => (None, idiom.clone()),
        }
    }
}

/// Which findings do not count.
#[derive(Clone, Copy, Default)]
pub(crate) struct Rules<'a> {
    /// Those that somebody has decided about.
    pub(crate) known: Option<&'a Known>,
    /// Those that are benign by these.
    pub(crate) idioms: &'a [Idiom],
}

/// Findings that somebody has decided about.
#[derive(Default, Debug)]
pub(crate) struct Known {
    /// Of the configuration.
    pub(crate) suppress: Vec<Suppress>,
    /// Those that were there before.
    pub(crate) baseline: Option<Baseline>,
}

impl Known {
    /// Whether a finding's variables have to be known.
    pub(crate) fn needs_variables(&self) -> bool {
        needs_variables(&self.suppress)
    }

    fn decide(&self, found: &Traits<'_>) -> Option<Aside> {
        // A suppression comes before the baseline, also one that waits for the variables.
        let is_early = found.variables.is_none() && self.needs_variables();
        let by_baseline = || self.baseline.as_ref().filter(|_| !is_early)?.lists(found.fingerprint);
        suppressed(&self.suppress, found).or_else(by_baseline).map(Aside::Suppressed)
    }

    /// Marks what can be decided before witnesses are looked for, and sets predictions aside.
    pub(crate) fn before_witnesses(&self, verdict: &mut Verdict, names: &Names) {
        for violation in &mut verdict.violations {
            violation.aside = self.observed(violation, None, names);
        }
        self.predicted(&mut verdict.foreseen, names);
    }

    /// Marks what the variables of witnesses decide.
    pub(crate) fn after_witnesses(&self, verdict: &mut Verdict, names: &Names) {
        if !self.needs_variables() {
            return;
        }
        for violation in verdict.violations.iter_mut() {
            if matches!(violation.aside, Some(Aside::Suppressed(_))) {
                continue;
            }
            let explanation = violation.explanation.iter();
            let witnesses = explanation.flat_map(|e| [Some(&e.witness), e.by_data.as_ref()]).flatten();
            let variables =
                witnesses.flat_map(|witness| &witness.steps).filter_map(|step| match step.because {
                    Because::Access(variable, ..) => Some(names.variables.get(variable)),
                    _ => None,
                });
            let variables: Vec<&str> = variables.collect();
            if let Some(aside) = self.observed(violation, Some(&variables), names) {
                violation.aside = Some(aside);
            }
        }
    }

    fn observed(&self, violation: &Violation, variables: Option<&[&str]>, names: &Names) -> Option<Aside> {
        let finding = &violation.finding;
        let block = finding.block.unwrap_or(finding.transaction);
        let name = names.block(block.region, block.site);
        let begins = site(names, block.site).or(site(names, finding.event.site));
        self.decide(&Traits {
            block: Some(&name),
            sites: begins.as_slice(),
            variables,
            fingerprint: violation.fingerprint,
        })
    }

    fn predicted(&self, foreseen: &mut Foreseen, names: &Names) {
        for foreboding in std::mem::take(&mut foreseen.violations) {
            let prediction = &foreboding.prediction;
            let shown = prediction.patterns.first();
            let block = shown.map_or(prediction.transaction, |pattern| pattern.block);
            let name = names.block(block.region, block.site);
            let first = shown.and_then(|pattern| pattern.moments.first()).map(|moment| moment.event.site);
            let begins = site(names, block.site).or(first.and_then(|first| site(names, first)));
            let variables = shown.iter().flat_map(|pattern| pattern.variables());
            let variables: Vec<&str> = variables.map(|variable| names.variables.get(variable)).collect();
            let found = Traits {
                block: Some(&name),
                sites: begins.as_slice(),
                variables: Some(&variables),
                fingerprint: foreboding.fingerprint,
            };
            match self.decide(&found) {
                Some(aside) => foreseen.aside.violations.push((foreboding, aside)),
                None => foreseen.violations.push(foreboding),
            }
        }
        for told in std::mem::take(&mut foreseen.races) {
            let (race, fingerprint) = (&told.what, told.fingerprint);
            let sites = [&race.first, &race.second].map(|moment| site(names, moment.event.site));
            let sites: Vec<&str> = sites.into_iter().flatten().collect();
            let variables = [names.variables.get(race.variable)];
            let found = Traits { block: None, sites: &sites, variables: Some(&variables), fingerprint };
            match self.decide(&found) {
                Some(aside) => foreseen.aside.races.push((told, aside)),
                None => foreseen.races.push(told),
            }
        }
        for told in std::mem::take(&mut foreseen.deadlocks) {
            let (deadlock, fingerprint) = (&told.what, told.fingerprint);
            let wants = || deadlock.cycle.iter().map(|waiting| &waiting.wants.event);
            let sites: Vec<&str> = wants().filter_map(|event| site(names, event.site)).collect();
            let locks = wants().filter_map(|event| match event.op {
                Op::Acquire(lock, _) => Some(names.locks.get(lock)),
                _ => None,
            });
            let locks: Vec<&str> = locks.collect();
            let found = Traits { block: None, sites: &sites, variables: Some(&locks), fingerprint };
            match self.decide(&found) {
                Some(aside) => foreseen.aside.deadlocks.push((told, aside)),
                None => foreseen.deadlocks.push(told),
            }
        }
    }
}

/// What was set aside in all traces, by fingerprint.
#[derive(Default)]
pub(crate) struct Count(BTreeMap<u64, Aside>);

impl Count {
    /// Adds those of a trace.
    pub(crate) fn add(&mut self, examined: &Examined) {
        for verdict in &examined.verdicts {
            for violation in &verdict.set_aside {
                self.one(violation.fingerprint, violation.aside.as_ref());
            }
            let aside = &verdict.foreseen.aside;
            aside.violations.iter().for_each(|(found, aside)| self.one(found.fingerprint, Some(aside)));
            aside.races.iter().for_each(|(told, aside)| self.one(told.fingerprint, Some(aside)));
            aside.deadlocks.iter().for_each(|(told, aside)| self.one(told.fingerprint, Some(aside)));
        }
    }

    fn one(&mut self, fingerprint: u64, aside: Option<&Aside>) {
        if let Some(aside) = aside {
            self.0.entry(fingerprint).or_insert_with(|| aside.clone());
        }
    }

    /// For the report; nothing if nobody said that anything should not count.
    pub(crate) fn finish(self, known: &Known, idioms: &[Idiom]) -> Option<model::SetAside> {
        if known.suppress.is_empty() && known.baseline.is_none() && idioms.is_empty() {
            return None;
        }
        let mut result = model::SetAside {
            unused_suppressions: known.suppress.iter().filter_map(Suppress::unused).collect(),
            baseline_not_found: known.baseline.as_ref().map_or(0, Baseline::not_found),
            ..model::SetAside::default()
        };
        let mut by_idiom: Vec<(String, u64)> =
            idioms.iter().map(|idiom| (idiom.name().to_owned(), 0)).collect();
        for aside in self.0.into_values() {
            match aside {
                Aside::Suppressed(suppression) if suppression.by == crate::baseline::BY => {
                    result.in_baseline += 1
                }
                Aside::Suppressed(_) => result.suppressed += 1,
                Aside::Benign(idiom) => {
                    let name = idiom.map(|idiom| idiom.name);
                    by_idiom
                        .iter_mut()
                        .filter(|(known, _)| Some(known) == name.as_ref())
                        .for_each(|(_, n)| *n += 1);
                }
            }
        }
        result.by_idiom = by_idiom.into_iter().collect();
        Some(result)
    }
}

/// What deserves attention: suppressions that no finding needed.
pub(crate) fn say_unused(set_aside: &model::SetAside) {
    for unused in &set_aside.unused_suppressions {
        crate::say::note(format!(
            "{}: no finding needs this suppression: {} ({}); remove it if the cause is gone",
            unused.at, unused.what, unused.reason
        ));
    }
}
