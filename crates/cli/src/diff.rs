//! `atomvet diff`: what changed between two runs: findings that are new, gone, or still there.
//!
//! Findings are compared by fingerprint. A finding that is gone may be fixed or merely not executed, so the report of the
//! new run is asked whether the block was entered.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use atomvet_report::digest::Digest;
use atomvet_report::model::{self, Entry, Report};
use serde::Serialize;

use crate::Format;
use crate::baseline::Baseline;
use crate::bounded;
use crate::grid::{Align, grid, grouped, plural};
use crate::output::Output;
use crate::say;
use crate::status::Status;
use crate::visible::visible;

/// Options of `diff`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The earlier report (from --format json), or a baseline; - is standard input
    old: PathBuf,
    /// The later report (from --format json); - is standard input
    new: PathBuf,
    /// Format of the comparison
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the comparison to a file
    #[arg(short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A finding that counts.
#[derive(Clone, Serialize, Debug)]
struct Known {
    fingerprint: String,
    what: String,
    strength: String,
    site: Option<String>,
    /// Instances; none for what only a baseline lists.
    count: Option<u64>,
}

/// One that is no longer there.
#[derive(Serialize, Debug)]
struct Gone {
    #[serde(flatten)]
    known: Known,
    why: String,
}

#[derive(Serialize, Debug)]
struct Difference {
    schema: &'static str,
    new: Vec<Known>,
    gone: Vec<Gone>,
    still_there: Vec<Known>,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let output = Output::create(args.output.as_deref(), &[&args.old, &args.new])?;
    let (old, report) = (earlier(&args.old)?, later(&args.new)?);
    let difference = Difference::between(old, &report);
    output.write_all_of(&match args.format {
        Format::Text => difference.text(),
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&difference)?),
    })?;
    match not_judged(&report) {
        _ if !difference.new.is_empty() => Ok(Status::Violations),
        None => Ok(Status::Clean),
        Some(why) => {
            say::note(format!("{}: {why}, so that \"0 new\" does not mean much", args.new.display()));
            Ok(Status::NothingObserved)
        }
    }
}

/// Why a report without findings is not clean, if it is not.
fn not_judged(report: &Report) -> Option<String> {
    let whole = report.traces.iter().filter_map(|entry| match entry {
        Entry::Whole(trace) => Some(&trace.coverage),
        Entry::Failed(_) => None,
    });
    let mut reasons = whole.filter(|coverage| coverage.partial || !coverage.observed).map(|coverage| {
        let reason = coverage.partial_reason.as_ref().or(coverage.reason.as_ref());
        reason.map_or_else(|| "not everything was judged".to_owned(), |reason| visible(reason).into_owned())
    });
    if report.traces.is_empty() { Some("nothing was observed".to_owned()) } else { reasons.next() }
}

/// The findings of a report or baseline, by fingerprint.
fn earlier(path: &Path) -> anyhow::Result<BTreeMap<String, Known>> {
    let bytes = bytes(path)?;
    if !Baseline::is_one(&bytes) {
        return Ok(counting(&Digest::new(&report(path, &bytes)?)));
    }
    let listed = Baseline::listed(&String::from_utf8_lossy(&bytes))
        .map_err(|(line, problem)| anyhow!("{}:{line}:1: {problem}", path.display()))?;
    let known = |(fingerprint, what): (String, String)| {
        let known = Known {
            fingerprint: fingerprint.clone(),
            what,
            strength: String::new(),
            site: None,
            count: None,
        };
        (fingerprint, known)
    };
    Ok(listed.into_iter().map(known).collect())
}

fn later(path: &Path) -> anyhow::Result<Report> {
    report(path, &bytes(path)?)
}

fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    let most = bounded::REPORT;
    let bytes = if path == Path::new("-") { bounded::report(path) } else { bounded::file(path, most) };
    bytes.map_err(|error| anyhow!("{}: cannot be read: {error}", path.display()))
}

fn report(path: &Path, bytes: &[u8]) -> anyhow::Result<Report> {
    let report = model::read(&String::from_utf8_lossy(bytes))
        .map_err(|problem| anyhow!("{}: {problem}", path.display()))?;
    let failed = report.traces.iter().filter(|entry| entry.is_failed()).count();
    if failed > 0 {
        return Err(anyhow!(
            "{}: {} could not be read, so that nothing can be said about their findings; repeat that run",
            path.display(),
            plural(failed as u64, "trace")
        ));
    }
    Ok(report)
}

/// The findings of a report that count.
fn counting(digest: &Digest) -> BTreeMap<String, Known> {
    let known = digest.findings.iter().filter(|finding| finding.counts).map(|finding| Known {
        fingerprint: finding.fingerprint.clone(),
        what: format!("{}: {}", finding.subject, finding.rule.name),
        strength: finding.strength.clone(),
        site: finding.site.as_ref().map(|site| site.shown.clone()),
        count: Some(finding.count),
    });
    known.map(|known| (known.fingerprint.clone(), known)).collect()
}

impl Difference {
    fn between(mut old: BTreeMap<String, Known>, report: &Report) -> Difference {
        let digest = Digest::new(report);
        let (still_there, new): (Vec<Known>, Vec<Known>) =
            counting(&digest).into_values().partition(|known| old.remove(&known.fingerprint).is_some());
        let gone = old.into_values().map(|known| Gone { why: why_gone(&known, &digest, report), known });
        let mut difference = Difference { schema: "atomvet-diff/1", new, gone: gone.collect(), still_there };
        difference.new.sort_by(|a, b| a.what.cmp(&b.what));
        difference.gone.sort_by(|a, b| a.known.what.cmp(&b.known.what));
        difference.still_there.sort_by(|a, b| a.what.cmp(&b.what));
        difference
    }

    fn text(&self) -> String {
        let numbers = [
            format!("{} new", grouped(self.new.len() as u64)),
            format!("{} gone", grouped(self.gone.len() as u64)),
            format!("{} still there", grouped(self.still_there.len() as u64)),
        ];
        let mut text = format!("{}\n", numbers.join(", "));
        let mut table = |heading: &str, rows: Vec<Vec<String>>| {
            if !rows.is_empty() {
                text.push_str(&format!("\n{heading}:\n{}", grid(2, &[("", Align::Left); 5], &rows)));
            }
        };
        table("new", self.new.iter().map(Known::row).collect());
        let gone = |gone: &Gone| {
            let mut row = gone.known.row();
            row[4] = gone.why.clone();
            row
        };
        table("gone", self.gone.iter().map(gone).collect());
        table("still there", self.still_there.iter().map(Known::row).collect());
        text
    }
}

impl Known {
    fn row(&self) -> Vec<String> {
        let count = self.count.filter(|count| *count > 1).map(|count| format!("{} times", grouped(count)));
        vec![
            self.fingerprint.clone(),
            visible(&self.strength).into_owned(),
            visible(&self.what).into_owned(),
            visible(self.site.as_deref().unwrap_or_default()).into_owned(),
            count.unwrap_or_default(),
        ]
    }
}

/// Why a finding is not in a report: set aside, not executed, or executed without it.
fn why_gone(known: &Known, digest: &Digest, report: &Report) -> String {
    let same = digest.findings.iter().find(|finding| finding.fingerprint == known.fingerprint);
    if let Some(aside) = same.and_then(|finding| finding.aside.as_ref()) {
        return aside.line();
    }
    // What a baseline lists says in words which block it is about.
    let is_meant = |block: &str| {
        let rest = known.what.strip_prefix(block);
        rest.is_some_and(|rest| rest.starts_with(": ") || rest.starts_with(" is not atomic"))
    };
    let traces = report.traces.iter().filter_map(|entry| match entry {
        Entry::Whole(trace) => Some(trace),
        Entry::Failed(_) => None,
    });
    let entered = traces.flat_map(|trace| &trace.entered).filter(|entered| is_meant(&entered.block));
    match entered.map(|entered| entered.executions).sum() {
        0 => "not executed".to_owned(),
        1 => "executed once without it".to_owned(),
        times => format!("executed {} times without it", grouped(times)),
    }
}
