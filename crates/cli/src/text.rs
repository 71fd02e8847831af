//! The report for people: each finding with its interleaving, the reason for every step, what it
//! is called and what mends it; then the verdicts; then what they speak of.

use std::fmt::Write;

use atomvet_check::witness::{Because, Step, Touch, Witness};
use atomvet_check::{Blame, Block, Kind};
use atomvet_trace::{Event, EventId, Names, Op, ThreadId};

use crate::examine::{Examined, Scene, Verdict, Violation, site, word};
use crate::grid::{Align, grid, grouped, paragraph, plural};
use crate::predicted;
use crate::spool::called;
use crate::visible::{visible, visible_within};

/// Names are cut to this many characters in tables.
pub(crate) const NAME_WIDTH: usize = 40;

/// The report on one trace, the first `most` findings in detail.
pub(crate) fn report(examined: &Examined, most: usize) -> String {
    let mut text = String::new();
    // The first algorithm of each world that found something tells the story; the others say what they blame.
    let (mut number, mut told, mut foretold) = (1, false, false);
    for verdict in &examined.verdicts {
        if verdict.info.kind == Kind::Predictive {
            if foretold {
                predicted::text::brief(&mut text, verdict, &examined.pass.names, most);
            } else {
                number = predicted::text::details(&mut text, verdict, &examined.pass.names, most, number);
                foretold = verdict.foreseen.is_bad();
            }
        } else if verdict.violations.is_empty() {
        } else if told {
            blamed(&mut text, examined, verdict, most);
        } else {
            details(&mut text, examined, verdict, most);
            number += verdict.violations.len().min(most);
            told = true;
        }
    }
    serial_order(&mut text, examined);
    verdicts(&mut text, examined);
    coverage(&mut text, examined);
    text
}

/// Writing to a string does not fail.
macro_rules! put {
    ($text:expr, $($rest:tt)*) => {{ let _ = writeln!($text, $($rest)*); }};
}

fn details(text: &mut String, examined: &Examined, verdict: &Verdict, most: usize) {
    let number = verdict.violations.len();
    for (i, violation) in verdict.violations.iter().take(most).enumerate() {
        put!(text, "{}", headline(i + 1, violation, examined));
        detail(text, violation, examined);
        text.push('\n');
    }
    if number > most {
        put!(
            text,
            "… and {}; --max-findings {number} shows them all, --format json lists them all\n",
            plural((number - most) as u64, "more finding")
        );
    }
}

fn headline(number: usize, violation: &Violation, examined: &Examined) -> String {
    let finding = &violation.finding;
    let names = &examined.pass.names;
    let seen = match finding.count {
        1 => String::new(),
        count => format!(", seen {} times", grouped(count)),
    };
    let strength = finding.strength.name();
    match finding.block {
        Some(block) => format!("{number}. {} is not atomic ({strength}{seen})", name(block, names)),
        None => format!(
            "{number}. the trace is not serializable, and no single block is to blame ({strength}{seen}): cycle through {}",
            name(finding.transaction, names)
        ),
    }
}

fn detail(text: &mut String, violation: &Violation, examined: &Examined) {
    let finding = &violation.finding;
    let names = &examined.pass.names;
    let block = finding.block.unwrap_or(finding.transaction);
    let begins = match site(names, block.site) {
        Some(site) => format!(", begins at {}", visible(site)),
        None => String::new(),
    };
    put!(text, "   thread {}{begins} (event {})", thread(block.thread, names), grouped(block.begin.0));
    if finding.block.is_some() && block.begin != finding.transaction.begin {
        put!(
            text,
            "   inside {} (event {})",
            name(finding.transaction, names),
            grouped(finding.transaction.begin.0)
        );
    }
    if let Some(Err(problem)) = &violation.judgement {
        put!(
            text,
            "   INTERNAL ERROR: the independent verifier does not accept this witness: {}",
            visible(problem)
        );
    }
    let Some(explanation) = &violation.explanation else {
        put!(text, "   completed by event {}, {}", grouped(finding.event.at.0), op(finding.event.op, names));
        put!(text, "   fingerprint {:016x}", violation.fingerprint);
        return;
    };
    let witness = explanation.clearest();
    if finding.block.is_some() && witness.block.is_none() {
        put!(text, "   (this algorithm blames the block for completing a cycle; alone it could be atomic)");
    }
    let shape = witness.shape();
    text.push_str(&paragraph("   ", &format!("{}: {}", shape.name(), shape.meaning())));
    text.push('\n');
    text.push_str(&interleaving(witness, violation, examined));
    text.push('\n');
    for sentence in sentences(witness, violation, examined) {
        text.push_str(&paragraph("   ", &sentence));
    }
    put!(text, "   So no serial order of these exists.");
    if explanation.by_data.is_some() {
        let at = grouped(finding.event.at.0);
        put!(
            text,
            "   (Synchronization fixes this order since event {at}, {}.)",
            op(finding.event.op, names)
        );
    }
    text.push_str(&paragraph("   ", &format!("remedy: {}", shape.remedy())));
    let verified = if violation.judgement == Some(Ok(())) { "; witness verified independently" } else { "" };
    put!(text, "   fingerprint {:016x}{verified}", violation.fingerprint);
}

/// A table of the witness's events: a column per thread, a row per event.
fn interleaving(witness: &Witness, violation: &Violation, examined: &Examined) -> String {
    let names = &examined.pass.names;
    let begin = violation.finding.block.unwrap_or(violation.finding.transaction).begin;
    let mut events: Vec<EventId> = witness.steps.iter().flat_map(|step| [step.from, step.to]).collect();
    events.push(begin);
    events.sort_unstable();
    events.dedup();
    let mut threads: Vec<ThreadId> = Vec::new();
    let rows: Vec<(EventId, Event)> =
        events.iter().filter_map(|at| Some((*at, examined.scene.0.get(at)?.0))).collect();
    for (_, event) in &rows {
        if !threads.contains(&event.thread) {
            threads.push(event.thread);
        }
    }
    let headings: Vec<String> = threads
        .iter()
        .map(|t| format!("thread {}", visible_within(names.threads.get(*t), NAME_WIDTH)))
        .collect();
    let mut columns = vec![("event", Align::Right)];
    columns.extend(headings.iter().map(|heading| (heading.as_str(), Align::Left)));
    // Per thread, so that sites line up below each other.
    let width = |thread: ThreadId| {
        let of_thread = rows.iter().filter(|(_, event)| event.thread == thread);
        of_thread.map(|(_, event)| op(event.op, names).chars().count()).max().unwrap_or(0)
    };
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|(at, event)| {
            let mut row = vec![String::new(); threads.len() + 1];
            row[0] = grouped(at.0);
            if let Some(column) = threads.iter().position(|t| *t == event.thread) {
                let operation = op(event.op, names);
                row[column + 1] = match site(names, event.site) {
                    Some(site) => {
                        let width = width(event.thread);
                        format!("{operation:width$}  {}", visible_within(site, NAME_WIDTH))
                    }
                    None => operation,
                };
            }
            row
        })
        .collect();
    grid(3, &columns, &cells)
}

/// One sentence per step that orders two different transactions.
fn sentences(witness: &Witness, violation: &Violation, examined: &Examined) -> Vec<String> {
    let stage = Cast { violation, names: &examined.pass.names, scene: &examined.scene };
    witness.steps.iter().filter_map(|step| stage.sentence(step)).collect()
}

/// Who does what in a witness.
struct Cast<'a> {
    violation: &'a Violation,
    names: &'a Names,
    scene: &'a Scene,
}

/// One of the things that have to be put in order.
#[derive(PartialEq, Eq)]
struct Actor {
    full: String,
    short: String,
    /// The first event of its transaction.
    identity: EventId,
}

impl Cast<'_> {
    fn actor(&self, at: EventId) -> Actor {
        let Some(&(event, outermost)) = self.scene.0.get(&at) else {
            let full = format!("event {}", at.0);
            return Actor { short: full.clone(), full, identity: at };
        };
        let who = thread(event.thread, self.names);
        let finding = &self.violation.finding;
        match outermost {
            Some(outermost) => {
                let ours = |block: &Block| {
                    outermost.begin == finding.transaction.begin
                        && at >= block.begin
                        && event.thread == block.thread
                };
                let block = finding.block.filter(ours).unwrap_or(outermost);
                let short = name(block, self.names);
                Actor { full: format!("{short} ({who})"), short, identity: outermost.begin }
            }
            None => {
                let place =
                    site(self.names, event.site).map(|s| format!(" at {}", visible(s))).unwrap_or_default();
                let full = format!("{who}'s {}{place}", op(event.op, self.names));
                Actor { full, short: who, identity: at }
            }
        }
    }

    fn sentence(&self, step: &Step) -> Option<String> {
        let (first, second) = (self.actor(step.from), self.actor(step.to));
        let (a, b) = (&first.short, &second.short);
        let on = visible(crate::json::on(step.because, self.names));
        let why = match step.because {
            Because::ProgramOrder(_) | Because::SameTransaction(_) if first.identity == second.identity => {
                return None;
            }
            Because::Access(_, Touch::Write, Touch::Read) => format!("{b} read {on}, which {a} had written"),
            Because::Access(_, Touch::Read, Touch::Write) => {
                format!("{b} wrote {on}, which {a} had read before")
            }
            Because::Access(_, Touch::Write, Touch::Write) => {
                format!("{b} overwrote {on}, which {a} had written")
            }
            Because::Access(_, before, after) => {
                let past = |touch| match touch {
                    Touch::Read => "read",
                    Touch::Write => "written",
                    Touch::Update => "updated",
                };
                let did = if after == Touch::Write { "wrote" } else { past(after) };
                format!("{b} {did} {on}, which {a} had {} before", past(before))
            }
            Because::Lock(_) => format!("{b} took lock {on} after {a} had held it"),
            Because::Fork(_) => format!("{a} started thread {on}"),
            Because::Join(_) => format!("{b} waited for the end of thread {on}"),
            Because::Barrier(_) => format!("{b} left barrier {on}, at which {a} had arrived"),
            Because::ProgramOrder(_) | Because::SameTransaction(_) => {
                format!("thread {on} ran them in this order")
            }
        };
        Some(format!("{} must come before {}, because {why}.", first.full, second.full))
    }
}

fn blamed(text: &mut String, examined: &Examined, verdict: &Verdict, most: usize) {
    let names = &examined.pass.names;
    put!(text, "{} finds:", verdict.info.name);
    for violation in verdict.violations.iter().take(most) {
        let finding = &violation.finding;
        let count =
            if finding.count > 1 { format!(", {} times", grouped(finding.count)) } else { String::new() };
        let (what, block) = match finding.block {
            Some(block) => ("is not atomic", block),
            None => ("is in a cycle for which no block is blamed", finding.transaction),
        };
        let event = grouped(finding.event.at.0);
        put!(
            text,
            "   {} ({}) {what}, shown by event {event}{count}; fingerprint {:016x}",
            name(block, names),
            thread(block.thread, names),
            violation.fingerprint
        );
        if let Some(Err(problem)) = &violation.judgement {
            put!(
                text,
                "   INTERNAL ERROR: the independent verifier does not accept this witness: {}",
                visible(problem)
            );
        }
    }
    if verdict.violations.len() > most {
        put!(text, "   … and {} more", grouped((verdict.violations.len() - most) as u64));
    }
    text.push('\n');
}

fn serial_order(text: &mut String, examined: &Examined) {
    let Some(serial) = &examined.serial_order else { return };
    let names = &examined.pass.names;
    let Some(order) = &serial.order else {
        put!(text, "no serial order: the trace is not serializable\n");
        return;
    };
    let verified = match &serial.judgement {
        None => "",
        Some(Ok(())) => ", verified independently",
        Some(Err(_)) => ", NOT ACCEPTED by the independent verifier: an internal error",
    };
    put!(text, "an equivalent serial order of the {}{verified}:", plural(order.len() as u64, "transaction"));
    for &(at, event) in order {
        let what = match event.op {
            Op::Begin(region) => visible(&names.block(region, event.site)).into_owned(),
            other => op(other, names),
        };
        put!(text, "   {what} ({}, event {})", thread(event.thread, names), grouped(at.0));
    }
    text.push('\n');
}

fn verdicts(text: &mut String, examined: &Examined) {
    let partial = match &examined.pass.partial {
        None => String::new(),
        Some(partial) => format!("; PARTIAL, {}", visible(&partial.reason())),
    };
    let nothing = match examined.pass.tally.nothing_observed() {
        None => String::new(),
        Some(nothing) => format!("; NOTHING OBSERVED, {}", nothing.name()),
    };
    let trace = visible(called(&examined.trace));
    put!(text, "verdicts on {trace} (observed: on this execution, as recorded{partial}{nothing})");
    let rows: Vec<Vec<String>> = (examined.verdicts.iter())
        .map(|verdict| {
            if verdict.info.kind == Kind::Predictive {
                return predicted::text::row(verdict);
            }
            let trace = match verdict.first_cycle {
                None => "trace: serializable".to_owned(),
                Some(at) => format!("trace: NOT serializable, known at event {}", grouped(at.0)),
            };
            let blocks = match (verdict.blocks_blamed(), verdict.first_cycle) {
                _ if verdict.info.blame == Blame::None => "blocks: not judged".to_owned(),
                (0, None) => "blocks: no violation".to_owned(),
                (0, Some(_)) => "blocks: none blamed".to_owned(),
                (number, _) => format!("blocks: {} violated", grouped(number)),
            };
            vec![verdict.info.name.to_owned(), trace, blocks]
        })
        .collect();
    text.push_str(&grid(3, &[("", Align::Left), ("", Align::Left), ("", Align::Left)], &rows));
}

/// The line that says how much the verdicts speak of.
fn coverage(text: &mut String, examined: &Examined) {
    let tally = &examined.pass.tally;
    let names = &examined.pass.names;
    let mut parts = vec![
        plural(tally.events, "event"),
        plural(tally.threads, "thread"),
        format!("{} ({} outermost)", plural(tally.blocks, "block"), grouped(tally.outermost_blocks)),
        plural(tally.unary, "unary event"),
        plural(names.variables.len() as u64, "variable"),
        plural(names.locks.len() as u64, "lock"),
        plural(examined.pass.repairs.total, "repair"),
    ];
    for (kind, number) in &examined.pass.repairs.kinds {
        parts.push(format!("{} ({})", grouped(*number), kind.describe()));
    }
    put!(text, "coverage: {}", parts.join(", "));
}

/// A block's name, safe to show.
pub(crate) fn name(block: Block, names: &Names) -> String {
    visible(&names.block(block.region, block.site)).into_owned()
}

/// A thread's name, safe to show.
pub(crate) fn thread(thread: ThreadId, names: &Names) -> String {
    visible(names.threads.get(thread)).into_owned()
}

/// An operation as the text format writes it, safe to show.
pub(crate) fn op(op: Op, names: &Names) -> String {
    match op.target_name(names) {
        Some(on) => format!("{}({})", word(op), visible_within(on, NAME_WIDTH)),
        None => word(op).to_owned(),
    }
}
