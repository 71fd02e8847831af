//! Predictions for people: what could happen, in which order, with which locks held, and what would keep it
//! from happening.

use std::fmt::Write;

use atomvet_check::predictive::predicted::{Deadlock, Moment, Pattern, Race, Reason};
use atomvet_check::{Block, Strength};
use atomvet_trace::{LockId, Names, Op, RegionId, ThreadId};

use super::{Foreboding, Search};
use crate::examine::{Verdict, site};
use crate::grid::{Align, grid, grouped, paragraph, plural};
use crate::text::{NAME_WIDTH, name, op, thread};
use crate::visible::{visible, visible_within};

/// Writing to a string does not fail.
macro_rules! put {
    ($text:expr, $($rest:tt)*) => {{ let _ = writeln!($text, $($rest)*); }};
}

/// What an algorithm predicts, the first `most` of each kind in detail. `number` is that of the first finding.
pub(crate) fn details(
    text: &mut String,
    verdict: &Verdict,
    names: &Names,
    most: usize,
    number: usize,
) -> usize {
    let foreseen = &verdict.foreseen;
    let mut number = number;
    for foreboding in foreseen.violations.iter().take(most) {
        violation(text, foreboding, names, number);
        number += 1;
    }
    more(text, foreseen.violations.len(), most);
    for (deadlock, fingerprint) in foreseen.deadlocks.iter().take(most) {
        self::deadlock(text, deadlock, *fingerprint, names, number);
        number += 1;
    }
    more(text, foreseen.deadlocks.len(), most);
    races(text, &foreseen.races, names, most);
    number
}

/// What another algorithm predicts besides, a line each.
pub(crate) fn brief(text: &mut String, verdict: &Verdict, names: &Names, most: usize) {
    let foreseen = &verdict.foreseen;
    if !foreseen.is_bad() {
        return;
    }
    put!(text, "{} finds:", verdict.info.name);
    for Foreboding { prediction, fingerprint, .. } in foreseen.violations.iter().take(most) {
        let Some(shown) = prediction.patterns.first() else { continue };
        put!(
            text,
            "   {} is not atomic ({}{}); fingerprint {fingerprint:016x}",
            block_name(shown.block, names),
            prediction.strength.name(),
            times(prediction.count)
        );
    }
    for (deadlock, fingerprint) in foreseen.deadlocks.iter().take(most) {
        put!(
            text,
            "   a deadlock is possible over {}; fingerprint {fingerprint:016x}",
            locks(&cycle(deadlock), names)
        );
    }
    let left = foreseen.violations.len().saturating_sub(most) + foreseen.deadlocks.len().saturating_sub(most);
    if left > 0 {
        put!(text, "   … and {} more", grouped(left as u64));
    }
    text.push('\n');
}

/// The verdict in one row of the table.
pub(crate) fn row(verdict: &Verdict) -> Vec<String> {
    let foreseen = &verdict.foreseen;
    let number: u64 = foreseen.violations.iter().map(|foreboding| foreboding.prediction.count).sum();
    let cut = if foreseen.complete { "" } else { " so far, NOT ALL WAS JUDGED" };
    let blocks = match number {
        0 => format!("blocks: no violation predicted{cut}"),
        number => format!("blocks: {} not atomic{cut}", grouped(number)),
    };
    let mut others = Vec::new();
    if !foreseen.deadlocks.is_empty() {
        others.push(plural(foreseen.deadlocks.len() as u64, "potential deadlock"));
    }
    if !foreseen.races.is_empty() {
        others.push(plural(foreseen.races.len() as u64, "data race"));
    }
    let others = if others.is_empty() { String::new() } else { format!(", {}", others.join(", ")) };
    vec![verdict.info.name.to_owned(), "other schedules".to_owned(), format!("{blocks}{others}")]
}

fn violation(text: &mut String, foreboding: &Foreboding, names: &Names, number: usize) {
    let Foreboding { prediction, fingerprint, search, schedule, judgement, .. } = foreboding;
    let Some(shown) = prediction.patterns.first() else { return };
    let block = shown.block;
    let may = if prediction.strength == Strength::Suspected { "may not be" } else { "is not" };
    put!(
        text,
        "{number}. {} {may} atomic ({}{})",
        block_name(block, names),
        prediction.strength.name(),
        times(prediction.count)
    );
    let begins =
        site(names, block.site).map(|site| format!(", begins at {}", visible(site))).unwrap_or_default();
    put!(text, "   thread {}{begins} (event {})", thread(block.thread, names), grouped(block.begin.0));
    if block.begin != prediction.transaction.begin {
        put!(
            text,
            "   inside {} (event {})",
            block_name(prediction.transaction, names),
            grouped(prediction.transaction.begin.0)
        );
    }
    match prediction.reason {
        Reason::Pattern => pattern(text, shown, names),
        Reason::Movers => movers(text, shown, names),
    }
    if let Some(Err(problem)) = judgement {
        put!(
            text,
            "   INTERNAL ERROR: the independent judge does not accept the schedule: {}",
            visible(problem)
        );
    }
    let sure = match (search, schedule) {
        (Search::Found, Some(path)) => {
            format!("schedule: {}, a reordering of this execution in which it happens; verified", visible(&path.display().to_string()))
        }
        (Search::Found, None) => {
            "schedule: found and verified, a reordering of this execution in which it happens (--schedules DIR writes it)".to_owned()
        }
        (Search::None, _) => {
            "schedule: none in which the program reads what it read in this run; the locks allow it, the values may not".to_owned()
        }
        (Search::OutOfBudget, _) => "schedule: none found within the budget (--budget raises it)".to_owned(),
        (Search::NotTried, _) => String::new(),
    };
    if !sure.is_empty() {
        text.push_str(&paragraph("   ", &sure));
    }
    put!(text, "   fingerprint {fingerprint:016x}\n");
}

fn pattern(text: &mut String, pattern: &Pattern, names: &Names) {
    let shape = pattern.shape();
    text.push_str(&paragraph("   ", &format!("{}: {}", shape.name(), shape.meaning())));
    put!(text, "   What the locks and the order of threads allow:\n");
    text.push_str(&table(&pattern.moments, names));
    text.push('\n');
    let missing = pattern.missing_locks();
    let (Some(first), Some(last)) = (pattern.moments.first(), pattern.moments.last()) else { return };
    let remedy = match missing.first() {
        Some(&lock) => {
            let uses = if first.held.contains(&lock) && last.held.contains(&lock) {
                ", which is held at both but not throughout"
            } else {
                ""
            };
            format!(
                "remedy: hold lock {}{uses}, from {} to {}",
                visible(names.locks.get(lock)),
                place(first, names),
                place(last, names)
            )
        }
        None => {
            let who = others(pattern, names);
            format!(
                "remedy: {who} {} no lock where it comes in: let both hold one, here from {} to {}; or: {}",
                if who.contains(" and ") { "hold" } else { "holds" },
                place(first, names),
                place(last, names),
                shape.remedy()
            )
        }
    };
    text.push_str(&paragraph("   ", &remedy));
}

fn movers(text: &mut String, pattern: &Pattern, names: &Names) {
    text.push_str(&paragraph(
        "   ",
        "reduction cannot show that it is atomic: after the first of these two steps others may have seen its effects, \
         and the second one still depends on them. Whether a violation is possible, commit-node can tell.",
    ));
    text.push('\n');
    text.push_str(&table(&pattern.moments, names));
    text.push('\n');
}

/// A row per moment, a column per thread, and the locks held.
fn table(moments: &[Moment], names: &Names) -> String {
    let mut threads: Vec<ThreadId> = Vec::new();
    for moment in moments {
        if !threads.contains(&moment.event.thread) {
            threads.push(moment.event.thread);
        }
    }
    let headings: Vec<String> = (threads.iter())
        .map(|id| format!("thread {}", visible_within(names.threads.get(*id), NAME_WIDTH)))
        .collect();
    let mut columns = vec![("event", Align::Right)];
    columns.extend(headings.iter().map(|heading| (heading.as_str(), Align::Left)));
    columns.push(("locks held", Align::Left));
    let rows: Vec<Vec<String>> = (moments.iter())
        .map(|moment| {
            let mut row = vec![String::new(); threads.len() + 2];
            row[0] = grouped(moment.event.at.0);
            if let Some(column) = threads.iter().position(|id| *id == moment.event.thread) {
                row[column + 1] = what(moment, names);
            }
            row[threads.len() + 1] =
                if moment.held.is_empty() { "none".to_owned() } else { locks(&moment.held, names) };
            row
        })
        .collect();
    grid(3, &columns, &rows)
}

fn deadlock(text: &mut String, deadlock: &Deadlock, fingerprint: u64, names: &Names, number: usize) {
    put!(
        text,
        "{number}. a deadlock is possible over {} ({}{})",
        locks(&cycle(deadlock), names),
        Strength::Predicted.name(),
        times(deadlock.count)
    );
    text.push('\n');
    let columns = [
        ("thread", Align::Left),
        ("holds, since", Align::Left),
        ("wants, at", Align::Left),
        ("gates", Align::Left),
    ];
    let rows: Vec<Vec<String>> = (deadlock.cycle.iter())
        .map(|waiting| {
            let gates = waiting.gates();
            vec![
                thread(waiting.thread, names),
                what(&waiting.has, names),
                what(&waiting.wants, names),
                if gates.is_empty() { "none".to_owned() } else { locks(&gates, names) },
            ]
        })
        .collect();
    text.push_str(&grid(3, &columns, &rows));
    text.push('\n');
    text.push_str(&paragraph(
        "   ",
        "Each wants what the next one holds. No gate is common to all, so they can be there at the same time.",
    ));
    put!(text, "   remedy: take these locks in one order everywhere, or under one common lock");
    put!(text, "   fingerprint {fingerprint:016x}\n");
}

fn races(text: &mut String, races: &[(Race, u64)], names: &Names, most: usize) {
    if races.is_empty() {
        return;
    }
    put!(
        text,
        "data races (no lock and no order of threads keeps the two apart; fine for atomic operations):"
    );
    let rows: Vec<Vec<String>> = (races.iter().take(most))
        .map(|(race, _)| {
            let who =
                |moment: &Moment| format!("{}: {}", thread(moment.event.thread, names), what(moment, names));
            let times = if race.count > 1 { format!("{} times", grouped(race.count)) } else { String::new() };
            vec![who(&race.first), who(&race.second), times]
        })
        .collect();
    text.push_str(&grid(3, &[("", Align::Left), ("", Align::Left), ("", Align::Left)], &rows));
    if races.len() > most {
        put!(text, "   … and {} more", grouped((races.len() - most) as u64));
    }
    text.push('\n');
}

fn more(text: &mut String, number: usize, most: usize) {
    if number > most {
        put!(
            text,
            "… and {}; --max-findings {number} shows them all, --format json lists them all\n",
            plural((number - most) as u64, "more finding")
        );
    }
}

/// The locks of a deadlock, each once.
fn cycle(deadlock: &Deadlock) -> Vec<LockId> {
    (deadlock.cycle.iter())
        .filter_map(|waiting| match waiting.has.event.op {
            Op::Acquire(lock, _) => Some(lock),
            _ => None,
        })
        .collect()
}

fn locks(locks: &[LockId], names: &Names) -> String {
    let names: Vec<String> = locks.iter().map(|&l| visible_within(names.locks.get(l), NAME_WIDTH)).collect();
    names.join(", ")
}

/// A block's name; a critical section outside every block has none.
fn block_name(block: Block, names: &Names) -> String {
    if block.region == RegionId::NONE && site(names, block.site).is_none() {
        return format!("the code from event {}", grouped(block.begin.0));
    }
    name(block, names)
}

fn what(moment: &Moment, names: &Names) -> String {
    let operation = op(moment.event.op, names);
    match site(names, moment.event.site) {
        Some(site) => format!("{operation}  {}", visible_within(site, NAME_WIDTH)),
        None => operation,
    }
}

fn place(moment: &Moment, names: &Names) -> String {
    match site(names, moment.event.site) {
        Some(site) => visible_within(site, NAME_WIDTH),
        None => format!("event {}", grouped(moment.event.at.0)),
    }
}

fn others(pattern: &Pattern, names: &Names) -> String {
    let ours = pattern.moments.first().map(|moment| moment.event.thread);
    let mut threads: Vec<ThreadId> = Vec::new();
    for moment in &pattern.moments {
        let id = moment.event.thread;
        if Some(id) != ours && !threads.contains(&id) {
            threads.push(id);
        }
    }
    let names: Vec<String> = threads.iter().map(|&id| format!("thread {}", thread(id, names))).collect();
    names.join(" and ")
}

fn times(count: u64) -> String {
    if count > 1 { format!(", {} times", grouped(count)) } else { String::new() }
}
