//! The baseline: findings that are known, so that a check fails only on what is new. `atomvet baseline` writes it.
//!
//! ```text
//! # atomvet-baseline/1: …
//! 3f2ab4c5d6e7f809 deposit is not atomic (observed), bank.c:10
//! ```
//!
//! A line has a fingerprint and, for people, what it was. Empty lines and those that start with `#` are ignored, but for
//! the first, which says what the file is.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use atomvet_report::digest::Digest;
use atomvet_report::model::{self, Checker, Entry, Report};

use crate::aside::Rules;
use crate::budget::Explaining;
use crate::check::{Understanding, judge};
use crate::configuration::{Configuration, Given};
use crate::conventions::InForce;
use crate::examine::{Instances, Options, Serial, Verify, Wanted, examine};
use crate::grid::plural;
use crate::output::Output;
use crate::pipeline::Partial;
use crate::predicted::{self, Predict, Predicting};
use crate::spool::Again;
use crate::status::Status;
use crate::{algorithms, bounded, json, say, traces};

/// What the first line of a baseline starts with.
const HEAD: &str = "# atomvet-baseline/1";

/// Who says that a finding of a baseline does not count.
pub(crate) const BY: &str = "baseline";

/// A baseline that was read.
#[derive(Debug)]
pub(crate) struct Baseline {
    shown: String,
    /// By fingerprint: the line, and whether it was found.
    entries: HashMap<u64, (usize, AtomicBool)>,
}

impl Baseline {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Baseline> {
        let shown = path.display().to_string();
        let bytes = bounded::file(path, bounded::BASELINE).map_err(|error| {
            anyhow!("{shown}: cannot be read: {error}; `atomvet baseline TRACE -o FILE` makes such a file")
        })?;
        let text = String::from_utf8_lossy(&bytes);
        let entries = parse(&text).map_err(|(line, problem)| anyhow!("{shown}:{line}:1: {problem}"))?;
        Ok(Baseline { shown, entries })
    }

    /// Whether a file is a baseline.
    pub(crate) fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(HEAD.as_bytes())
    }

    /// The entries of a baseline, and what they are in words. An error has the line and the problem.
    pub(crate) fn listed(text: &str) -> Result<Vec<(String, String)>, (usize, String)> {
        parse(text)?;
        let entries = text.lines().filter_map(|line| line.trim_start().split_once(char::is_whitespace));
        let entries = entries.filter(|(word, _)| !word.starts_with('#'));
        Ok(entries.map(|(fingerprint, what)| (fingerprint.to_owned(), what.trim().to_owned())).collect())
    }

    /// Why a finding does not count, if it is listed.
    pub(crate) fn lists(&self, fingerprint: u64) -> Option<model::Suppression> {
        let (line, found) = self.entries.get(&fingerprint)?;
        found.store(true, Ordering::Relaxed);
        Some(model::Suppression { by: BY.to_owned(), reason: format!("known: {}:{line}", self.shown) })
    }

    /// How many entries were not found.
    pub(crate) fn not_found(&self) -> u64 {
        self.entries.values().filter(|(_, found)| !found.load(Ordering::Relaxed)).count() as u64
    }
}

fn parse(text: &str) -> Result<HashMap<u64, (usize, AtomicBool)>, (usize, String)> {
    if !text.starts_with(HEAD) {
        return Err((
            1,
            format!(
                "is no baseline: its first line does not start with `{HEAD}`; `atomvet baseline` makes one"
            ),
        ));
    }
    let mut entries = HashMap::new();
    for (line, text) in (1..).zip(text.lines()) {
        let Some(word) = text.split_whitespace().next().filter(|word| !word.starts_with('#')) else {
            continue;
        };
        let fingerprint =
            u64::from_str_radix(word, 16).ok().filter(|_| word.len() == 16 && !word.starts_with('+'));
        let fingerprint = fingerprint.ok_or_else(|| {
            (
                line,
                format!("{word:?} is no fingerprint; expected 16 hexadecimal digits, or # before a remark"),
            )
        })?;
        entries.entry(fingerprint).or_insert((line, AtomicBool::new(false)));
    }
    Ok(entries)
}

/// Options of `baseline`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Traces, or reports that `--format json` wrote; - is a trace on standard input
    #[arg(required = true, value_name = "TRACE|FINDINGS")]
    inputs: Vec<PathBuf>,
    /// Use these algorithms [default: regiontrack]
    ///
    /// Names as in `atomvet list`, or all, observed, predictive.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "What is checked")]
    algo: Vec<String>,
    /// Also list predicted violations, as `check --predict` does
    #[arg(long, help_heading = "What is checked")]
    predict: bool,
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    understanding: Understanding,
    /// Write the baseline to a file
    #[arg(short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let configuration = args.given.read(None)?;
    let inputs: Vec<&PathBuf> = args.inputs.iter().chain(&configuration.files).collect();
    let output = Output::create(args.output.as_deref(), &inputs)?;
    let (reports, paths): (Vec<&PathBuf>, Vec<&PathBuf>) = args.inputs.iter().partition(|path| is_json(path));
    let (mut all, mut status) = checked(args, &configuration, paths.into_iter().cloned().collect())?;
    for path in reports {
        let text =
            bounded::report(path).map_err(|error| anyhow!("{}: cannot be read: {error}", path.display()))?;
        let report = model::read(&String::from_utf8_lossy(&text))
            .map_err(|problem| anyhow!("{}: {problem}", path.display()))?;
        if report.traces.iter().any(|entry| matches!(entry, Entry::Failed(_))) {
            say::note(format!(
                "{}: a trace of it could not be read: what is in that is not listed",
                path.display()
            ));
            status = Status::BadInput;
        }
        all.extend(report.traces);
    }
    let mut report = Report { schema: model::SCHEMA.to_owned(), traces: all, set_aside: None };
    forget_what_does_not_count(&mut report);
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    for finding in Digest::new(&report).findings.iter().filter(|finding| finding.counts) {
        let place = finding.site.as_ref().map(|site| format!(", {}", site.shown)).unwrap_or_default();
        lines.insert(finding.fingerprint.clone(), format!("{} ({}){place}", finding.title, finding.strength));
    }
    // What belongs together stands together, whatever the fingerprints are.
    let mut lines: Vec<(String, String)> = lines.into_iter().collect();
    lines.sort_by(|a, b| (&a.1, &a.0).cmp(&(&b.1, &b.0)));
    let mut text = format!(
        "{HEAD}: known findings, for `atomvet check --baseline FILE`, which fails on others only.\n\
         # Made by `atomvet baseline`. Per line a fingerprint, and what it was; a line that is deleted counts again.\n"
    );
    for (fingerprint, what) in &lines {
        text += &format!("{fingerprint} {what}\n");
    }
    output.write_all_of(&text)?;
    say::note(format!("the baseline lists {}", plural(lines.len() as u64, "finding")));
    Ok(if status == Status::Violations { Status::Clean } else { status })
}

/// Checks the traces as `check` would.
fn checked(
    args: &Args,
    configuration: &Configuration,
    paths: Vec<PathBuf>,
) -> anyhow::Result<(Vec<Entry>, Status)> {
    let names = if args.algo.is_empty() { &configuration.algorithm } else { &args.algo };
    let mut algorithms = algorithms::select(names)?;
    let shown = predicted::shown(args.predict.then_some(Predict::Schedules), &algorithms);
    if args.predict {
        algorithms::add_predictive(&mut algorithms);
    }
    let spec = configuration.spec.as_ref();
    let options = Options {
        algorithms,
        in_force: InForce::papers(),
        discipline: args.understanding.discipline(),
        spec,
        instances: Instances::Folded,
        witnesses: Wanted::None,
        verify: Verify::No,
        serial_order: Serial::No,
        predicting: Predicting { shown, ..Predicting::default() },
        explaining: Explaining::AsUsual,
        aside: Rules { known: Some(&configuration.known), idioms: &configuration.idioms },
    };
    let (entries, status) = traces::each(&paths, Again::Yes, |source| {
        let in_force = args.understanding.in_force(source, configuration)?;
        let examined = examine(source, &Options { in_force, ..options.clone() })?;
        let judged = judge(&examined, spec);
        // What was not looked at would count as new for ever.
        let is_part = examined.pass.partial == Some(Partial::Interrupted);
        let status = if is_part { Status::BadInput } else { judged };
        Ok((json::trace(&examined, spec), status))
    });
    Ok((entries, status))
}

/// Whether a file is a report rather than a trace. Pipes are never looked into: that would take from them.
fn is_json(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let mut start = [0; 64];
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut start)).unwrap_or(0);
    start[..read].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

/// What is suppressed or benign needs no baseline; what an earlier one lists stays known.
fn forget_what_does_not_count(report: &mut Report) {
    let counts = |suppression: &Option<model::Suppression>, idiom: &Option<model::Idiom>| {
        idiom.is_none() && suppression.as_ref().is_none_or(|suppression| suppression.by == BY)
    };
    for entry in &mut report.traces {
        let Entry::Whole(trace) = entry else { continue };
        for checker in &mut trace.checkers {
            match checker {
                Checker::Observed(observed) => {
                    observed.violations.retain(|v| counts(&v.suppression, &v.idiom))
                }
                Checker::Predictive(predictive) => {
                    predictive.violations.retain(|v| counts(&v.suppression, &v.idiom));
                    predictive.deadlocks.retain(|d| counts(&d.suppression, &None));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_mistakes_have_their_place() {
        let text = format!(
            "{HEAD}: known\n\n# a remark\n00000000000000ab deposit is not atomic\n00000000000000ab again\n"
        );
        let entries = parse(&text).expect("a baseline");
        assert_eq!(entries.keys().collect::<Vec<_>>(), [&0xab]);
        assert_eq!(parse("00000000000000ab x").expect_err("no head").0, 1);
        for wrong in ["ab x", "+0000000000000ab x", "deposit", "00000000000000abc x"] {
            assert_eq!(parse(&format!("{HEAD}\n\n{wrong}\n")).expect_err("no fingerprint").0, 3, "{wrong}");
        }
    }
}
