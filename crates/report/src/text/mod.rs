//! The report for people, on a terminal: each finding with its source lines, its steps, the reason for every order and
//! what mends it; then what each algorithm says; last, a line per finding and what the verdicts speak of.
//!
//! ```text
//! report ──► digest ──► finding: headline, excerpt, steps, reasons, remedy ──► verdicts ──► summary, coverage
//! ```
//!
//! It is made from the report alone, so that what was kept reads as it did at first. Names are made visible and short
//! by [`Digest`]; here they are cut again to what a column has room for. No line is wider than the width given.

mod excerpt;
mod many;
mod page;
mod steps;
mod summary;

pub use self::page::Colours;
use self::page::{Page, Style};
use crate::digest::Digest;
use crate::finding::{Finding, Row};
use crate::layout::{grouped, plural, shortened, width};
use crate::model::{Checker, Entry, Report, Transaction};
use crate::sources::Sources;
use crate::words::short;

/// How wide text is that nobody says the width of.
pub const USUAL_WIDTH: usize = 100;
/// In less no table can be drawn.
pub const LEAST_WIDTH: usize = 40;

/// How a report is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// In columns of a terminal; at least [`LEAST_WIDTH`].
    pub width: usize,
    /// Whether text is coloured.
    pub colours: Colours,
    /// So many findings are shown in detail. All have their line in the summary.
    pub most: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { width: USUAL_WIDTH, colours: Colours::None, most: 20 }
    }
}

/// A report as text.
pub fn render(report: &Report, sources: &mut Sources, options: &Options) -> String {
    let digest = Digest::new(report);
    let mut page =
        Page { text: String::new(), width: options.width.max(LEAST_WIDTH), colours: options.colours };
    let order = summary::Order::new(report, &digest);
    let told = Told { digest: &digest, several_checkers: has_several_checkers(report) };
    for (number, finding) in order.told.iter().take(options.most).enumerate() {
        told.finding(&mut page, number + 1, finding, sources);
        page.gap();
    }
    if order.told.len() > options.most {
        let left = plural((order.told.len() - options.most) as u64, "more finding");
        let words = format!(
            "{left}, in the summary below; --max-findings {} shows them all in detail",
            order.told.len()
        );
        page.paragraph(0, (Style::Lead, "… and"), &words);
        page.gap();
    }
    races(&mut page, &order, options.most);
    for entry in &report.traces {
        if let Entry::Whole(trace) = entry
            && let Some(order) = &trace.serial_order
        {
            serial_order(&mut page, order.as_deref(), trace.serial_order_verified);
        }
    }
    let is_many = report.traces.len() > many::MOST_TRACES;
    if is_many {
        many::verdicts(&mut page, report)
    } else {
        summary::verdicts(&mut page, report)
    };
    summary::findings(&mut page, report, &digest, &order, options.most);
    if is_many {
        many::coverage(&mut page, report)
    } else {
        summary::coverage(&mut page, report)
    };
    page.text
}

/// Whether it has to be said who found something: several algorithms looked for the same.
fn has_several_checkers(report: &Report) -> bool {
    let several = |entry: &Entry| match entry {
        Entry::Whole(trace) => {
            let observed = trace.checkers.iter().filter(|checker| matches!(checker, Checker::Observed(_)));
            let observed = observed.count();
            observed > 1 || trace.checkers.len() - observed > 1
        }
        Entry::Failed(_) => false,
    };
    report.traces.iter().any(several)
}

/// Instances of one finding that are listed.
const MOST_INSTANCES: usize = 50;

/// What findings are told with.
struct Told<'a> {
    digest: &'a Digest,
    several_checkers: bool,
}

impl Told<'_> {
    fn finding(&self, page: &mut Page, number: usize, finding: &Finding, sources: &mut Sources) {
        let seen = match finding.count {
            1 => String::new(),
            count => format!(", seen {} times", grouped(count)),
        };
        let headline = format!("{} ({}{seen})", finding.title, finding.sure());
        let grave = Style::Grave(finding.level);
        page.hanging((grave, &format!("{number}. ")), grave, &headline);
        page.paragraph(3, (Style::Plain, ""), &self.whereabouts(finding));
        let lead = format!("{}:", finding.rule.name);
        page.paragraph(3, (Style::Lead, &lead), &finding.meaning);
        page.gap();
        excerpt::excerpts(page, finding, sources);
        if finding.strength != "observed" && !finding.reasons.is_empty() {
            page.paragraph(
                3,
                (Style::Lead, "in another schedule:"),
                match finding.strength.as_str() {
                    "predicted, with schedule" | "predicted, with other values" => "what can happen",
                    _ => "what locks and the order of threads allow",
                },
            );
        }
        steps::steps(page, finding);
        page.gap();
        reasons(page, finding);
        for note in &finding.notes {
            match note.split_once(": ") {
                Some((lead @ ("INTERNAL ERROR" | "Schedule"), rest)) => {
                    page.paragraph(3, (Style::Lead, &format!("{lead}:")), rest);
                }
                _ => page.paragraph(3, (Style::Plain, ""), note),
            }
        }
        page.paragraph(3, (Style::Lead, "remedy:"), &finding.remedy);
        suppression(page, finding);
    }

    /// In which threads and traces, and by whom it was found.
    fn whereabouts(&self, finding: &Finding) -> String {
        let mut parts = Vec::new();
        let mut others: Vec<&str> = finding.scene.threads.iter().map(String::as_str).collect();
        match &finding.origin {
            Some(origin) => {
                others.retain(|thread| *thread != origin.thread);
                let begins = origin.site.as_ref().map(|site| format!(", begins at {site}"));
                parts.push(format!(
                    "thread {}{} (event {})",
                    origin.thread,
                    begins.unwrap_or_default(),
                    grouped(origin.event)
                ));
                if !others.is_empty() {
                    parts.push(format!("against {}", named("thread", &others)));
                }
            }
            None => parts.push(named("thread", &others)),
        }
        if self.digest.traces.len() > 1 {
            let names = finding.traces.iter().filter_map(|&trace| self.digest.traces.get(trace));
            let names: Vec<&str> = names.map(|trace| trace.name.as_str()).collect();
            let listed = names[..names.len().min(many::MOST_TRACES)].join(", ");
            let more = match names.len().saturating_sub(many::MOST_TRACES) {
                0 => String::new(),
                more => format!(" and {}", plural(more as u64, "more trace")),
            };
            parts.push(format!("in {listed}{more}"));
        }
        if self.several_checkers {
            parts.push(format!("found by {}", finding.checkers.join(", ")));
        }
        if finding.instances.len() > 1 {
            let listed = finding.instances.iter().take(MOST_INSTANCES);
            let listed: Vec<String> =
                listed.map(|instance| format!("{} ({})", grouped(instance.event), instance.thread)).collect();
            let more = if finding.instances.len() > MOST_INSTANCES { ", …" } else { "" };
            parts.push(format!("completed by the events {}{more}", listed.join(", ")));
        }
        parts.join("; ")
    }
}

/// Why, a step each, with the numbers of the steps that it is about; and what follows.
fn reasons(page: &mut Page, finding: &Finding) {
    let arrows = &finding.scene.arrows;
    let about = |reason: usize| {
        let arrow = arrows.iter().find(|arrow| arrow.reason == Some(reason))?;
        Some(format!("{} → {}", arrow.from + 1, arrow.to + 1))
    };
    let about: Vec<String> =
        (0..finding.reasons.len()).map(|reason| about(reason).unwrap_or_default()).collect();
    let widest = about.iter().map(|steps| steps.chars().count()).max().unwrap_or(0);
    for (reason, about) in finding.reasons.iter().zip(&about) {
        page.hanging((Style::Faint, &format!("   {about:widest$}  ")), Style::Plain, reason);
    }
    if !finding.conclusion.is_empty() {
        page.paragraph(3, (Style::Lead, ""), &finding.conclusion);
    }
}

/// What to copy into the configuration for a finding that is all right.
fn suppression(page: &mut Page, finding: &Finding) {
    page.paragraph(3, (Style::Lead, "suppress:"), "if this is as it should be, put into atomvet.toml");
    let room = page.width.saturating_sub(width("      fingerprint = \"\""));
    let quoted = shortened(&finding.fingerprint, room).replace(['\\', '"'], "?");
    for line in ["[[suppress]]", &format!("fingerprint = \"{quoted}\""), "reason = \"…\""] {
        page.line(&[(Style::Plain, "      "), (Style::Faint, line)]);
    }
}

/// `thread T1`, `threads T1, T2`.
fn named(what: &str, names: &[&str]) -> String {
    const MOST: usize = 8;
    let s = if names.len() == 1 { "" } else { "s" };
    let more = if names.len() > MOST { format!(" and {} more", names.len() - MOST) } else { String::new() };
    format!("{what}{s} {}{more}", names[..names.len().min(MOST)].join(", "))
}

/// Data races, briefly: they make no check fail.
fn races(page: &mut Page, order: &summary::Order<'_>, most: usize) {
    let races = &order.races;
    if races.is_empty() {
        return;
    }
    let meaning = "no lock and no order of threads keeps the two apart; not both are atomic";
    page.paragraph(0, (Style::Lead, "data races"), &format!("({meaning}):"));
    for (number, race) in (order.first_race()..).zip(races.iter().take(most)) {
        let threads = &race.scene.threads;
        let who = |row: &Row| {
            let thread = threads.get(row.thread).map_or("", String::as_str);
            let place = row.site.as_ref().map(|site| format!(" at {}", site.shown)).unwrap_or_default();
            format!("thread {thread} {}{place}", row.what)
        };
        let both: Vec<String> = race.scene.rows.iter().map(who).collect();
        let times = if race.count > 1 { format!(", {} times", grouped(race.count)) } else { String::new() };
        page.hanging(
            (Style::Plain, &format!("   {number}. ")),
            Style::Plain,
            &format!("{}{times}", both.join("; ")),
        );
    }
    if races.len() > most {
        page.line(&[(Style::Faint, &format!("   … and {} more", grouped((races.len() - most) as u64)))]);
    }
    page.gap();
}

fn serial_order(page: &mut Page, order: Option<&[Transaction]>, verified: Option<bool>) {
    let Some(order) = order else {
        page.line(&[(Style::Plain, "no serial order: the trace is not serializable")]);
        page.gap();
        return;
    };
    let verified = match verified {
        None => "",
        Some(true) => ", verified independently",
        Some(false) => ", NOT ACCEPTED by the independent verifier: an internal error",
    };
    let number = plural(order.len() as u64, "transaction");
    page.paragraph(0, (Style::Plain, ""), &format!("an equivalent serial order of the {number}{verified}:"));
    for transaction in order {
        let what = match (&transaction.label, &transaction.site) {
            (Some(label), _) => short(label),
            (None, Some(site)) if transaction.block => format!("the block at {}", short(site)),
            (None, Some(site)) => format!("an event at {}", short(site)),
            (None, None) if transaction.block => "a block".to_owned(),
            (None, None) => "an event".to_owned(),
        };
        let place = format!("{what} ({}, event {})", short(&transaction.thread), grouped(transaction.event));
        page.hanging((Style::Plain, "   "), Style::Plain, &place);
    }
    page.gap();
}
