//! What a report says, once: findings folded by fingerprint over traces and algorithms, the gravest first, and what is
//! to be said about each trace.

use std::collections::HashMap;

use crate::finding::{Aside, AsideKind, Finding};
use crate::model::{Checker, Coverage, Entered, Entry, Idiom, Observed, Report, Suppression, Trace};
use crate::words::short;
use crate::{observed, predicted};

/// What a report says.
#[derive(Debug)]
pub struct Digest {
    /// One per fingerprint, the gravest first and what was set aside last, otherwise in the order of the report.
    pub findings: Vec<Finding>,
    /// One per trace, in the order of the report.
    pub traces: Vec<Summary>,
    /// What is to be said about the report as a whole: suppressions that nobody needed, and the like.
    pub remarks: Vec<String>,
}

/// What is to be said about a trace besides its findings.
#[derive(Debug)]
pub struct Summary {
    /// Safe to show.
    pub name: String,
    /// What was read; none if it could not be.
    pub coverage: Option<Coverage>,
    /// Why it could not be read.
    pub error: Option<String>,
    /// What keeps a clean verdict from being one.
    pub warnings: Vec<String>,
    /// What ran and was not recorded: the verdict does not speak of it.
    pub unwatched: Vec<String>,
    /// What each algorithm says: its name, and its verdict.
    pub verdicts: Vec<(String, String)>,
    /// All passes together.
    pub seconds: f64,
    /// Blocks that were entered and about which nothing was found.
    pub clean: Vec<Clean>,
}

/// A block about which nothing was found.
#[derive(Debug)]
pub struct Clean {
    /// Safe to show.
    pub name: String,
    /// How often it was entered.
    pub executions: u64,
}

impl Digest {
    /// Folds and sorts.
    pub fn new(report: &Report) -> Digest {
        let mut fold = Fold::default();
        let mut traces = Vec::new();
        for (position, entry) in report.traces.iter().enumerate() {
            match entry {
                Entry::Whole(trace) => {
                    for checker in &trace.checkers {
                        fold.checker(checker, position);
                    }
                    fold.end_of_trace();
                    traces.push(summary(trace));
                }
                Entry::Failed(failed) => traces.push(Summary {
                    name: short(&failed.trace),
                    coverage: None,
                    error: Some(crate::visible::visible_within(&failed.error.message, 1000)),
                    warnings: Vec::new(),
                    unwatched: Vec::new(),
                    verdicts: Vec::new(),
                    seconds: 0.0,
                    clean: Vec::new(),
                }),
            }
        }
        let mut findings = fold.findings;
        findings.sort_by_key(|finding| {
            (finding.aside.as_ref().map(|aside| aside.kind), finding.level, rank(&finding.strength))
        });
        for finding in &mut findings {
            finding.counts &= finding.aside.is_none();
        }
        Digest { findings, traces, remarks: remarks(report) }
    }

    /// How many findings are shown as such, and how many are set aside.
    pub fn numbers(&self) -> (usize, usize) {
        let aside = self.findings.iter().filter(|finding| finding.aside.is_some()).count();
        (self.findings.len() - aside, aside)
    }
}

/// So many entries of a list are named in a sentence.
const MOST_NAMED: usize = 20;

fn remarks(report: &Report) -> Vec<String> {
    let mut remarks = Vec::new();
    let Some(aside) = &report.set_aside else { return remarks };
    for unused in aside.unused_suppressions.iter().take(MOST_NAMED) {
        remarks.push(format!(
            "no finding needed the suppression at {} ({}): {}",
            short(&unused.at),
            short(&unused.what),
            short(&unused.reason)
        ));
    }
    let more = aside.unused_suppressions.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        remarks.push(format!("no finding needed {more} other suppressions"));
    }
    if aside.baseline_not_found > 0 {
        remarks.push(format!("{} of the baseline were not found this time", aside.baseline_not_found));
    }
    remarks
}

fn aside(suppression: Option<&Suppression>, idiom: Option<&Idiom>) -> Option<Aside> {
    match (suppression, idiom) {
        (Some(said), _) => Some(Aside {
            kind: if said.by == "baseline" { AsideKind::Known } else { AsideKind::Suppressed },
            by: short(&said.by),
            reason: crate::visible::visible_within(&said.reason, LONGEST_REASON),
        }),
        (None, Some(idiom)) => Some(Aside {
            kind: AsideKind::Benign,
            by: short(&idiom.name),
            reason: crate::visible::visible_within(&idiom.meaning, LONGEST_REASON),
        }),
        (None, None) => None,
    }
}

/// Reasons are sentences, so they may be longer than names.
const LONGEST_REASON: usize = 400;

/// Within a level, what is surer comes first.
fn rank(strength: &str) -> usize {
    const SURE: [&str; 5] =
        ["observed", "predicted, with schedule", "predicted, with other values", "predicted", "suspected"];
    SURE.iter().position(|known| *known == strength).unwrap_or(SURE.len())
}

#[derive(Default)]
struct Fold {
    findings: Vec<Finding>,
    index: HashMap<String, usize>,
    /// How often each was found in this trace: the most that an algorithm counted.
    here: HashMap<usize, u64>,
}

impl Fold {
    fn checker(&mut self, checker: &Checker, trace: usize) {
        let mut counted: HashMap<usize, u64> = HashMap::new();
        let mut add = |finding: Finding, aside: Option<Aside>| {
            let count = finding.count;
            *counted.entry(self.add(Finding { aside, ..finding })).or_default() += count;
        };
        match checker {
            Checker::Observed(checker) => {
                for found in &checker.violations {
                    let aside = aside(found.suppression.as_ref(), found.idiom.as_ref());
                    add(observed::finding(found, &checker.name, trace), aside);
                }
            }
            Checker::Predictive(checker) => {
                let name = &checker.name;
                for found in &checker.violations {
                    let aside = aside(found.suppression.as_ref(), found.idiom.as_ref());
                    add(predicted::violation(found, name, trace), aside);
                }
                for found in &checker.deadlocks {
                    add(predicted::deadlock(found, name, trace), aside(found.suppression.as_ref(), None));
                }
                for found in &checker.races {
                    add(predicted::race(found, name, trace), aside(found.suppression.as_ref(), None));
                }
            }
        }
        for (finding, count) in counted {
            let most = self.here.entry(finding).or_default();
            *most = count.max(*most);
        }
    }

    fn add(&mut self, mut finding: Finding) -> usize {
        finding.count = 0;
        let next = self.findings.len();
        let position = *self.index.entry(finding.fingerprint.clone()).or_insert(next);
        let Some(known) = self.findings.get_mut(position) else {
            self.findings.push(finding);
            return next;
        };
        for trace in &finding.traces {
            // Traces come in order.
            if known.traces.last() != Some(trace) {
                known.traces.push(*trace);
            }
        }
        for checker in &finding.checkers {
            if !known.checkers.contains(checker) {
                known.checkers.push(checker.clone());
            }
        }
        // A second entry of one algorithm and trace is another instance; another algorithm's may be the same one.
        if known.checkers.first() == finding.checkers.first() && known.traces.last() == finding.traces.first()
        {
            known.instances.append(&mut finding.instances);
        }
        // What counts anywhere counts.
        if finding.aside.is_none() {
            known.aside = None;
        }
        let aside = known.aside.clone();
        // The surer of two tells the story, and one with a story before one without.
        let told = |finding: &Finding| (finding.level, rank(&finding.strength), finding.reasons.is_empty());
        if told(&finding) < told(known) {
            let (traces, checkers) = (std::mem::take(&mut known.traces), std::mem::take(&mut known.checkers));
            let instances = std::mem::take(&mut known.instances);
            *known = Finding { count: known.count, traces, checkers, instances, aside, ..finding };
        }
        position
    }

    fn end_of_trace(&mut self) {
        for (finding, count) in self.here.drain() {
            self.findings[finding].count += count;
        }
    }
}

fn summary(trace: &Trace) -> Summary {
    let coverage = &trace.coverage;
    let mut warnings = Vec::new();
    if coverage.partial {
        let reason = coverage.partial_reason.as_deref().unwrap_or("for an unknown reason");
        warnings.push(format!("partial: {}", short(reason)));
    }
    if !coverage.observed {
        let reason = coverage.reason.as_deref().unwrap_or("for an unknown reason");
        warnings.push(format!("nothing was observed: {}", short(reason)));
    }
    let unwatched = trace.program.as_ref().and_then(|program| program.get("unwatched")?.as_array());
    let unwatched: Vec<String> =
        unwatched.into_iter().flatten().filter_map(|what| what.as_str()).map(short).collect();
    if !unwatched.is_empty() {
        warnings.push(format!("not watched: {}", crate::words::list(&unwatched)));
    }
    if coverage.repairs > 0 {
        warnings.push(format!("{} repairs were made to the trace", coverage.repairs));
    }
    if let Some(unused) = trace.unused_spec.as_ref().filter(|unused| !unused.is_empty()) {
        warnings.push(format!(
            "never entered, though the specification lists them: {}",
            crate::words::list(&unused[..unused.len().min(20)])
        ));
    }
    for checker in &trace.checkers {
        if let Checker::Predictive(checker) = checker
            && let Some(why) = &checker.not_judged
        {
            warnings.push(format!("not judged by {}: {}", short(&checker.name), short(why)));
        }
    }
    // A block that no algorithm judged is not clean.
    let is_judged =
        |checker: &Checker| !matches!(checker, Checker::Predictive(checker) if checker.not_judged.is_some());
    let judged = trace.checkers.iter().any(is_judged);
    let verdicts = trace.checkers.iter().map(|checker| {
        let (name, verdict) = match checker {
            Checker::Observed(checker) => (&checker.name, verdict_on_trace(checker)),
            Checker::Predictive(checker) => {
                let cut = match &checker.not_judged {
                    Some(why) => format!(": {}", short(why)),
                    None if checker.complete => String::new(),
                    None => ", but not everything was judged".to_owned(),
                };
                let verdict = match (checker.atomic, checker.deadlocks.is_empty()) {
                    _ if checker.not_judged.is_some() => "not judged",
                    (true, true) => "no violation predicted",
                    (true, false) => "a deadlock is predicted",
                    (false, _) => "violations are predicted",
                };
                (&checker.name, format!("{verdict}{cut}"))
            }
        };
        (short(name), verdict)
    });
    Summary {
        name: short(if trace.trace == "-" { "standard input" } else { &trace.trace }),
        coverage: Some(coverage.clone()),
        error: None,
        warnings,
        unwatched,
        verdicts: verdicts.collect(),
        seconds: trace.seconds,
        clean: if judged {
            trace.entered.iter().filter(|block| block.is_clean()).map(clean).collect()
        } else {
            Vec::new()
        },
    }
}

fn clean(block: &Entered) -> Clean {
    let name = match block.block.strip_prefix('@') {
        Some(site) => format!("the block at {}", short(site)),
        None => short(&block.block),
    };
    Clean { name, executions: block.executions }
}

fn verdict_on_trace(checker: &Observed) -> String {
    match checker.first_cycle_event {
        None if checker.serializable.is_none() => "the execution was not judged as a whole".to_owned(),
        None => "the trace is serializable".to_owned(),
        Some(event) => format!("the trace is not serializable, known at event {event}"),
    }
}
