//! The end of the report: what each algorithm says about each trace, a line per finding, and what the verdicts
//! speak of.

use atomvet_check::{Blame, registry};
use serde_json::Value;

use super::page::{Page, Piece, Style};
use crate::digest::Digest;
use crate::finding::{Finding, Level};
use crate::layout::{fill, fit, grouped, plural, shortened, shortened_place, width};
use crate::model::{Checker, Coverage, Entry, LeftOut, Observed, Predictive, Report, SetAside, Trace};
use crate::visible::visible_within;
use crate::words::short;

/// Findings in the order in which they are numbered.
pub(super) struct Order<'a> {
    /// Those that are told in detail.
    pub(super) told: Vec<&'a Finding>,
    /// Those that are not: callers that are not atomic because of what they call, and what only algorithms found that do
    /// not tell the story.
    brief: Vec<&'a Finding>,
    /// Data races.
    pub(super) races: Vec<&'a Finding>,
    /// Those that do not count.
    aside: Vec<&'a Finding>,
}

impl<'a> Order<'a> {
    pub(super) fn new(report: &Report, digest: &'a Digest) -> Order<'a> {
        let tellers = tellers(report);
        let tells = |finding: &Finding| finding.checkers.iter().any(|name| tellers.contains(name));
        let mut order = Order { told: Vec::new(), brief: Vec::new(), races: Vec::new(), aside: Vec::new() };
        for finding in &digest.findings {
            let place = match finding {
                _ if finding.aside.is_some() => &mut order.aside,
                _ if !finding.is_ordered() => &mut order.races,
                _ if !finding.innermost || !tells(finding) => &mut order.brief,
                _ => &mut order.told,
            };
            place.push(finding);
        }
        if order.told.is_empty() {
            // What they call is set aside.
            order.told.append(&mut order.brief);
        }
        order
    }

    /// All of them, each with what stands in front of it.
    fn all(&self) -> impl Iterator<Item = (String, &'a Finding)> {
        let numbered = self.told.iter().chain(&self.brief).chain(&self.races).enumerate();
        let aside = self.aside.iter().map(|finding| ("-".to_owned(), *finding));
        numbered.map(|(i, finding)| (format!("{}.", i + 1), *finding)).chain(aside)
    }

    /// The number of the first data race.
    pub(super) fn first_race(&self) -> usize {
        self.told.len() + self.brief.len() + 1
    }
}

/// The algorithms that tell the story: of each trace, the first of each world that found something. The others often
/// find the same in other words.
fn tellers(report: &Report) -> Vec<String> {
    let mut tellers: Vec<String> = Vec::new();
    for entry in &report.traces {
        let Entry::Whole(trace) = entry else { continue };
        let observed = trace.checkers.iter().find_map(|checker| match checker {
            Checker::Observed(checker) if !checker.violations.is_empty() => Some(&checker.name),
            _ => None,
        });
        let predictive = trace.checkers.iter().find_map(|checker| match checker {
            Checker::Predictive(checker)
                if !checker.violations.is_empty() || !checker.deadlocks.is_empty() =>
            {
                Some(&checker.name)
            }
            _ => None,
        });
        tellers.extend([observed, predictive].into_iter().flatten().map(|name| short(name)));
    }
    tellers.sort_unstable();
    tellers.dedup();
    tellers
}

/// What each algorithm says.
pub(super) fn verdicts(page: &mut Page, report: &Report) {
    for entry in &report.traces {
        match entry {
            Entry::Whole(trace) => of_trace(page, trace),
            Entry::Failed(failed) => {
                let error = visible_within(&failed.error.message, 1000);
                let lead = format!("verdicts on {}: none,", called(&failed.trace));
                page.entry((Style::Lead, &lead), &format!("because it could not be read: {error}"));
            }
        }
    }
    if !report.traces.is_empty() {
        page.gap();
    }
}

pub(super) fn called(trace: &str) -> String {
    short(if trace == "-" { "standard input" } else { trace })
}

pub(super) fn of_trace(page: &mut Page, trace: &Trace) {
    let coverage = &trace.coverage;
    let is_live = coverage.events.is_none();
    let mut about =
        if is_live { "observed: on this execution" } else { "observed: on this execution, as recorded" }
            .to_owned();
    if coverage.partial {
        let reason = coverage.partial_reason.as_deref().unwrap_or("for an unknown reason");
        about.push_str(&format!("; PARTIAL, {}", short(reason)));
    }
    if !coverage.observed {
        about.push_str(&format!("; NOTHING OBSERVED, {}", nothing(coverage)));
    }
    let lead = format!("verdicts on {}", called(&trace.trace));
    page.entry((Style::Lead, &lead), &format!("({about})"));
    let rows: Vec<[String; 3]> = trace
        .checkers
        .iter()
        .map(|checker| match checker {
            Checker::Observed(checker) => observed(checker),
            Checker::Predictive(checker) => predictive(checker),
        })
        .collect();
    let widest = |i: usize| rows.iter().map(|row| width(&row[i])).max().unwrap_or(0);
    let (names, middle) = (widest(0), widest(1));
    let beside = 3 + names + 2 + middle + 2 + widest(2) <= page.width;
    for [name, about, blocks] in &rows {
        let name = format!("   {name}{}  ", fill(name, names));
        let words = if beside { format!("{about}{}", fill(about, middle)) } else { format!("{about};") };
        match beside {
            true => page.line(&[
                (Style::Plain, &name),
                (Style::Plain, &words),
                (Style::Plain, "  "),
                (Style::Plain, blocks),
            ]),
            false => page.hanging((Style::Plain, &name), Style::Plain, &format!("{words} {blocks}")),
        }
    }
    left_out(page, trace);
}

/// What is not shown, because no schedule shows it.
fn left_out(page: &mut Page, trace: &Trace) {
    for checker in &trace.checkers {
        let Checker::Predictive(Predictive { left_out: Some(out), .. }) = checker else { continue };
        let parts: Vec<String> =
            [(out.violations, "violation"), (out.deadlocks, "deadlock"), (out.races, "data race")]
                .into_iter()
                .filter(|(number, _)| *number > 0)
                .map(|(number, what)| plural(number, what))
                .collect();
        let cut = match out.undecided {
            0 => String::new(),
            number => {
                format!(" (for {}, the search was cut off: --budget raises its limit)", grouped(number))
            }
        };
        let words = format!(
            "{} that locks alone would allow, but no schedule shows{cut}; --predict=locks lists them",
            parts.join(", ")
        );
        page.entry((Style::Lead, "left out:"), &words);
    }
}

/// A list of names in what is known of a program, cut short.
fn listed(program: &Value, name: &str) -> Vec<String> {
    const MOST: usize = 10;
    let all: Vec<&str> =
        program.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut shown: Vec<String> = all.iter().take(MOST).map(|name| short(name)).collect();
    if all.len() > MOST {
        shown.push(format!("{} more", all.len() - MOST));
    }
    shown
}

fn nothing(coverage: &Coverage) -> String {
    short(coverage.reason.as_deref().unwrap_or("for an unknown reason"))
}

fn observed(checker: &Observed) -> [String; 3] {
    let trace = match checker.first_cycle_event {
        None if checker.serializable.is_none() => "trace: not judged as a whole".to_owned(),
        None => "trace: serializable".to_owned(),
        Some(at) => format!("trace: NOT serializable, known at event {}", grouped(at)),
    };
    let blamed: u64 =
        checker.violations.iter().filter(|found| found.block.is_some()).map(|found| found.count).sum();
    let known = registry::find(&checker.name);
    let blocks = match (blamed, checker.first_cycle_event) {
        _ if known.is_some_and(|entry| entry.info.blame == Blame::None) => "blocks: not judged".to_owned(),
        (0, None) => "blocks: no violation".to_owned(),
        (0, Some(_)) => "blocks: none blamed".to_owned(),
        (number, _) => format!("blocks: {} violated", grouped(number)),
    };
    [short(&checker.name), trace, blocks]
}

fn predictive(checker: &Predictive) -> [String; 3] {
    let number: u64 = checker.violations.iter().map(|found| found.count).sum();
    if let Some(why) = &checker.not_judged {
        return [short(&checker.name), "other schedules".to_owned(), format!("NOT JUDGED: {}", short(why))];
    }
    let cut = if checker.complete { "" } else { " so far, NOT ALL WAS JUDGED" };
    let mut blocks = match number {
        0 => format!("blocks: no violation predicted{cut}"),
        number => format!("blocks: {} not atomic{cut}", grouped(number)),
    };
    for (number, what) in
        [(checker.deadlocks.len(), "potential deadlock"), (checker.races.len(), "data race")]
    {
        if number > 0 {
            blocks.push_str(&format!(", {}", plural(number as u64, what)));
        }
    }
    [short(&checker.name), "other schedules".to_owned(), blocks]
}

/// The summary has a line for so many findings, or for as many as are shown in detail.
const MOST_LINES: usize = 5_000;

/// A line per finding. `most` are shown in detail.
pub(super) fn findings(page: &mut Page, report: &Report, digest: &Digest, order: &Order<'_>, most: usize) {
    if digest.traces.iter().all(|trace| trace.coverage.is_none()) {
        return;
    }
    heading(page, report, digest, order);
    let lines = MOST_LINES.max(most);
    let rows: Vec<Line<'_>> =
        order.all().take(lines).map(|(number, finding)| Line::new(number, finding)).collect();
    let widest = |of: &dyn Fn(&Line<'_>) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let numbers = widest(&|line| width(&line.number));
    let prints = widest(&|line| width(&line.finding.fingerprint)).min(16);
    let sure = widest(&|line| width(&line.sure)).min(40);
    let room = page.width.saturating_sub(3 + numbers + 2 + prints + 2);
    // How sure, what, where: in a narrow page the first two share the line, and the place is left to the details.
    let mut widths = [sure, widest(&|line| width(&line.what)), widest(&|line| width(line.place()))];
    if room < 60 {
        widths[2] = 0;
    }
    let gaps = if widths[2] == 0 { 2 } else { 4 };
    fit(&mut widths, &[sure.min(4), 8, 16], room.saturating_sub(gaps));
    for line in &rows {
        let number = format!("   {}{}  ", fill(&line.number, numbers), line.number);
        let print = shortened(&line.finding.fingerprint, prints);
        let sure = shortened(&line.sure, widths[0]);
        let what = shortened(&line.what, widths[1]);
        let style =
            if line.finding.aside.is_some() { Style::Faint } else { Style::Grave(line.finding.level) };
        let behind = |text: &str, to: usize| format!("{}  ", fill(text, to));
        let pieces: [Piece<'_>; 8] = [
            (Style::Plain, &number),
            (Style::Faint, &print),
            (Style::Plain, &behind(&print, prints)),
            (style, &sure),
            (Style::Plain, &behind(&sure, widths[0])),
            (Style::Plain, &what),
            (Style::Plain, &behind(&what, widths[1])),
            (Style::Plain, &shortened_place(line.place(), widths[2])),
        ];
        page.line(&pieces);
    }
    let left = order.all().count() - rows.len();
    if left > 0 {
        let words = format!("   … and {} more; --format json has all of them", grouped(left as u64));
        page.line(&[(Style::Faint, &words)]);
    }
    if let Some(aside) = &report.set_aside {
        set_aside(page, aside);
    }
    page.gap();
}

/// What the summary says about a finding.
struct Line<'a> {
    number: String,
    finding: &'a Finding,
    sure: String,
    what: String,
}

impl<'a> Line<'a> {
    fn new(number: String, finding: &'a Finding) -> Line<'a> {
        let times = if finding.count > 1 { format!(" {}×", grouped(finding.count)) } else { String::new() };
        let sure = match &finding.aside {
            Some(aside) => aside.line(),
            None => format!("{}{times}", finding.strength),
        };
        let called = if finding.innermost { "" } else { ", because of what it calls" };
        Line { number, finding, sure, what: format!("{}: {}{called}", finding.subject, finding.rule.name) }
    }

    fn place(&self) -> &str {
        self.finding.site.as_ref().map_or("", |site| &site.shown)
    }
}

fn heading(page: &mut Page, report: &Report, digest: &Digest, order: &Order<'_>) {
    let mut parts = Vec::new();
    let counted = order.told.len() + order.brief.len();
    if counted > 0 {
        parts.push(plural(counted as u64, "finding"));
    }
    if !order.races.is_empty() {
        parts.push(plural(order.races.len() as u64, "data race"));
    }
    if !order.aside.is_empty() {
        parts.push(format!("{} set aside", grouped(order.aside.len() as u64)));
    }
    if parts.is_empty() {
        let coverage = digest.traces.iter().filter_map(|trace| trace.coverage.as_ref());
        let any = coverage.into_iter().any(|coverage| coverage.observed);
        let is_whole = digest.traces.iter().all(|trace| trace.unwatched.is_empty());
        let nothing = match (any, is_whole) {
            (false, _) => "nothing was observed",
            (true, _) if report.traces.iter().any(is_partly_judged) => {
                "nothing found, but NOT ALL WAS JUDGED"
            }
            (true, true) => "nothing found",
            (true, false) => "nothing found in what was watched",
        };
        parts.push(nothing.to_owned());
    }
    page.entry((Style::Lead, "summary:"), &parts.join(", "));
    for trace in digest.traces.iter().filter(|trace| !trace.unwatched.is_empty()) {
        let what = format!("{}: the verdict does not speak of what they did", trace.unwatched.join(", "));
        page.entry((Style::Grave(Level::Error), "NOT WATCHED:"), &what);
    }
}

/// Whether a verdict does not speak of all of a trace.
fn is_partly_judged(entry: &Entry) -> bool {
    let Entry::Whole(trace) = entry else { return true };
    let undecided = |out: &Option<LeftOut>| out.as_ref().is_some_and(|out| out.undecided > 0);
    let is_cut = |checker: &Checker| matches!(checker, Checker::Predictive(checker) if !checker.complete || undecided(&checker.left_out));
    trace.coverage.partial || trace.checkers.iter().any(is_cut)
}

/// What does not count, and what was said about findings that do not exist.
fn set_aside(page: &mut Page, aside: &SetAside) {
    let mut parts = Vec::new();
    let mut add = |number: u64, what: &str| {
        if number > 0 {
            parts.push(format!("{} {what}", plural(number, "finding")));
        }
    };
    add(aside.suppressed, "suppressed");
    add(aside.in_baseline, "in the baseline");
    for (idiom, number) in &aside.by_idiom.0 {
        add(*number, &format!("benign by {}", short(idiom)));
    }
    if aside.baseline_not_found > 0 {
        let number = grouped(aside.baseline_not_found);
        parts.push(format!("{number} of the baseline did not occur (mended, or not exercised)"));
    }
    if !parts.is_empty() {
        page.entry((Style::Lead, "set aside:"), &parts.join(", "));
    }
    for unused in &aside.unused_suppressions {
        let words = format!("at {}: {} ({})", short(&unused.at), short(&unused.what), short(&unused.reason));
        page.entry((Style::Lead, "unused suppression"), &words);
    }
}

/// What the verdicts speak of.
pub(super) fn coverage(page: &mut Page, report: &Report) {
    for entry in &report.traces {
        let Entry::Whole(trace) = entry else { continue };
        let lead = match &report.traces[..] {
            [_] => "coverage:".to_owned(),
            _ => format!("coverage of {}:", called(&trace.trace)),
        };
        page.entry((Style::Lead, &lead), &counted(&trace.coverage));
        if let Some(conventions) = &trace.conventions {
            page.entry((Style::Lead, "conventions:"), &short(&conventions.words()));
        }
        if let Some(program) = &trace.program {
            page.entry((Style::Lead, "program:"), &seen(program));
        }
    }
}

pub(super) fn counted(coverage: &Coverage) -> String {
    let known = |figure: Option<u64>, what: &str| figure.map(|number| plural(number, what));
    let outermost = coverage.outermost_blocks.map(|number| format!(" ({} outermost)", grouped(number)));
    let mut parts: Vec<String> = [
        known(coverage.events, "event"),
        Some(plural(coverage.threads, "thread")),
        Some(plural(coverage.blocks, "block") + &outermost.unwrap_or_default()),
        known(coverage.unary, "unary event"),
        known(coverage.variables, "variable"),
        known(coverage.locks, "lock"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if coverage.repairs > 0 {
        parts.push(plural(coverage.repairs, "repair"));
    }
    for (kind, number) in &coverage.repaired.0 {
        parts.push(format!("{} {}", grouped(*number), short(kind)));
    }
    parts.join(", ")
}

/// How much of a program was seen.
fn seen(program: &Value) -> String {
    let known = |name: &str| program.get(name).and_then(Value::as_u64);
    let figure = |name: &str| known(name).unwrap_or(0);
    let mut parts = vec![format!("process {}", figure("process"))];
    if let Some((accesses, recorded)) = known("accesses").zip(known("accesses_recorded")) {
        parts.push(match accesses - recorded.min(accesses) {
            0 => format!("{} accesses recorded", grouped(recorded)),
            rest => format!("{} accesses recorded; {} add no new ordering", grouped(recorded), grouped(rest)),
        });
    }
    parts.push(format!("blocks split at {}", plural(figure("waits_that_split"), "wait")));
    if let Some(updates) = known("commuting_updates") {
        parts.push(plural(updates, "commuting update"));
    }
    for (name, what) in [
        ("repairs", "repairs of what was seen in part"),
        ("unknown_joins", "joins of threads that started unseen"),
        ("lost_in_handlers", "accesses in signal handlers lost"),
        ("lost_threads", "threads not recorded"),
        ("lost_orders", "orders between threads forgotten"),
        ("lost_findings", "violated executions without room"),
        ("lost_functions", "entries of functions without room"),
    ] {
        if figure(name) > 0 {
            parts.push(format!("{} {what}", grouped(figure(name))));
        }
    }
    let entries = listed(program, "thread_entries");
    if !entries.is_empty() {
        parts.push(format!("not checked, as threads start there: {}", entries.join(", ")));
    }
    let off_trial = listed(program, "off_trial");
    if !off_trial.is_empty() {
        parts.push(format!("open for too long to be judged as a whole: {}", off_trial.join(", ")));
    }
    if program.get("cut_off").and_then(Value::as_bool) == Some(true) {
        parts.push("it still runs: judged up to here".to_owned());
    }
    parts.join(", ")
}
