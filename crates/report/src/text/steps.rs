//! The steps of a finding, in the order in which they happen: a column per thread, a row per step, and a line wherever
//! another thread goes on.
//!
//! ```text
//! step  event   thread T1                 thread T2
//!    2     10   │ reads balance   b.c:12
//!               └────────────────────────►┐
//!    3     15                             │ writes balance  b.c:23
//! ```
//!
//! What does not fit beside each other in the width is put below each other: first the places, then the threads.

use super::page::{Page, Piece, Style};
use crate::finding::{Finding, Row, Scene};
use crate::layout::{fill, fit, grouped, plural, shortened, shortened_place, width};

/// Of a longer story, so many steps are shown at the start and at the end.
const ENDS: usize = 20;
/// Headings and what is done are not wider than this, unless they are alone.
const WIDEST: usize = 40;
/// A narrower column tells nothing.
const NARROWEST: usize = 14;
/// How far everything is indented.
const INDENT: usize = 3;

/// The steps that are shown: all, or both ends of a long story.
pub(super) fn shown_rows(scene: &Scene) -> Vec<usize> {
    let number = scene.rows.len();
    if number <= 2 * ENDS {
        return (0..number).collect();
    }
    (0..ENDS).chain(number - ENDS..number).collect()
}

/// Whether a step is not one of the block that is to blame, where there is one.
pub(super) fn is_of_others(finding: &Finding, row: usize) -> bool {
    let mut blamed = finding.scene.bars.iter().filter(|bar| bar.blamed).peekable();
    let thread = finding.scene.rows.get(row).map(|row| row.thread);
    blamed.peek().is_some() && blamed.all(|bar| Some(bar.thread) != thread)
}

/// Writes the steps.
pub(super) fn steps(page: &mut Page, finding: &Finding) {
    let scene = &finding.scene;
    let shown = shown_rows(scene);
    if shown.is_empty() {
        return;
    }
    match Columns::new(scene, &shown, page.width) {
        Some(columns) => beside(page, finding, &shown, &columns),
        None => below(page, finding, &shown),
    }
}

/// Where columns are, and how their cells are made.
struct Columns {
    /// The width of the numbers of events; 0 if there is no room for them.
    event: usize,
    /// Per thread, where its column starts, and how wide it is without the bar.
    threads: Vec<(usize, usize)>,
    /// Whether places stand below what is done.
    two_lines: bool,
    /// Per thread, the width of what is done, for places beside it to line up.
    done: Vec<usize>,
    /// Where the locks are told, and in how many columns; none if none are known.
    locks: Option<(usize, usize)>,
}

impl Columns {
    /// The best ones for the width; none if there is no room for columns at all.
    fn new(scene: &Scene, shown: &[usize], room: usize) -> Option<Columns> {
        let rows = || shown.iter().map(|&row| &scene.rows[row]);
        let of = |thread: usize| rows().filter(move |row| row.thread == thread);
        let number = scene.threads.len();
        let done: Vec<usize> = (0..number)
            .map(|thread| of(thread).map(|row| width(&row.what)).max().unwrap_or(0).min(WIDEST))
            .collect();
        let place = |row: &Row| row.site.as_ref().map_or(0, |site| width(&site.shown).min(WIDEST));
        let heading = |thread: usize| (width("thread ") + width(&scene.threads[thread])).min(WIDEST / 2);
        let natural = |two_lines: bool| -> Vec<usize> {
            let cell = |thread: usize| {
                let widest = of(thread).map(place).max().unwrap_or(0);
                match (widest, two_lines) {
                    (0, _) => done[thread],
                    (_, false) => done[thread] + 2 + widest,
                    (_, true) => done[thread].max(2 + widest),
                }
            };
            // Every column has a bar and a space in front, and two spaces behind.
            (0..number).map(|thread| cell(thread).max(heading(thread)) + 4).collect()
        };
        let event = rows().map(|row| width(&grouped(row.event))).max().unwrap_or(0).max(width("event"));
        let locks = rows().map(|row| width(&row.locks.join(", "))).max().unwrap_or(0);
        let locks = if locks == 0 { 0 } else { locks.max(width("locks held")).min(WIDEST / 2) };
        let make = |event: usize, mut widths: Vec<usize>, two_lines: bool| {
            let before = INDENT + width("step") + 2 + if event == 0 { 0 } else { event + 2 };
            let left = room.checked_sub(before + locks)?;
            let least: Vec<usize> = widths.iter().map(|&width| width.min(NARROWEST + 4)).collect();
            if least.iter().sum::<usize>() > left {
                return None;
            }
            let whole = widths.iter().sum::<usize>() <= left;
            fit(&mut widths, &least, left);
            let mut at = before;
            let threads = widths.iter().map(|width| {
                at += width;
                (at - width, width - 4)
            });
            let threads = threads.collect();
            let locks = (locks > 0).then_some((at, locks));
            Some((whole, Columns { event, threads, two_lines, done: done.clone(), locks }))
        };
        let whole = |made: Option<(bool, Columns)>| made.filter(|(whole, _)| *whole);
        whole(make(event, natural(false), false))
            .or_else(|| whole(make(0, natural(false), false)))
            .or_else(|| whole(make(event, natural(true), true)))
            .or_else(|| make(0, natural(true), true))
            .map(|(_, columns)| columns)
    }
}

fn beside(page: &mut Page, finding: &Finding, shown: &[usize], columns: &Columns) {
    let scene = &finding.scene;
    headings(page, scene, columns);
    let mut before: Option<usize> = None;
    for &row in shown {
        let at = &scene.rows[row];
        if let Some(before) = before {
            if before + 1 != row {
                let left_out =
                    format!("{}… {} steps", " ".repeat(INDENT), grouped((row - before - 1) as u64));
                page.line(&[(Style::Faint, &left_out)]);
            }
            switch(page, columns, scene.rows[before].thread, at.thread);
            if scene.rows[before].thread == at.thread {
                folded(page, finding, columns, row);
            }
        }
        before = Some(row);
        let style = style(finding, row);
        let (start, room) = columns.threads[at.thread];
        let mut numbers = format!("{}{:>4}", " ".repeat(INDENT), row + 1);
        if columns.event > 0 {
            numbers.push_str(&format!("  {:>1$}", grouped(at.event), columns.event));
        }
        let place = at.site.as_ref().map_or("", |site| site.shown.as_str());
        let cell = if columns.two_lines || place.is_empty() {
            shortened(&at.what, room)
        } else {
            let done = columns.done[at.thread].min(room);
            let what = shortened(&at.what, done);
            let fill = fill(&what, done);
            format!("{what}{fill}  {}", shortened_place(place, room.saturating_sub(done + 2)))
        };
        let before_bar = fill(&numbers, start);
        let locks = columns.locks.map(|(to, room)| {
            let told = if at.locks.is_empty() { "none".to_owned() } else { at.locks.join(", ") };
            (" ".repeat(to.saturating_sub(start + 2 + width(&cell))), shortened(&told, room))
        });
        let (gap, told) = locks.unwrap_or_default();
        page.line(&[
            (Style::Faint, &numbers),
            (Style::Plain, &before_bar),
            (style, "│ "),
            (Style::Plain, &cell),
            (Style::Plain, &gap),
            (Style::Plain, &told),
        ]);
        if columns.two_lines && !place.is_empty() {
            let place = shortened_place(place, room.saturating_sub(2));
            page.line(&[
                (Style::Plain, &" ".repeat(start)),
                (style, "│ "),
                (Style::Faint, &format!("  {place}")),
            ]);
        }
    }
}

fn style(finding: &Finding, row: usize) -> Style {
    if is_of_others(finding, row) { Style::Other } else { Style::Grave(finding.level) }
}

/// What a thread does between two of its steps while nobody else goes on: it plays no part.
fn folded(page: &mut Page, finding: &Finding, columns: &Columns, row: usize) {
    let Some(fold) = finding.scene.folds.iter().find(|fold| fold.row == row) else { return };
    let (start, room) = columns.threads[finding.scene.rows[row].thread];
    let words = shortened(&format!("⋮ {}", plural(fold.number, "event")), room);
    page.line(&[(Style::Plain, &" ".repeat(start)), (style(finding, row), "│ "), (Style::Faint, &words)]);
}

fn headings(page: &mut Page, scene: &Scene, columns: &Columns) {
    let mut line = format!("{}step", " ".repeat(INDENT));
    if columns.event > 0 {
        line.push_str(&format!("  {:>1$}", "event", columns.event));
    }
    for (thread, &(start, room)) in scene.threads.iter().zip(&columns.threads) {
        line.push_str(&fill(&line, start));
        // Above the text, not above the bar.
        line.push_str(&format!("  {}", shortened(&format!("thread {thread}"), room)));
    }
    if let Some((start, _)) = columns.locks {
        line.push_str(&fill(&line, start));
        line.push_str("locks held");
    }
    page.line(&[(Style::Lead, &line)]);
}

/// The line between steps of two threads.
fn switch(page: &mut Page, columns: &Columns, from: usize, to: usize) {
    if from == to {
        return;
    }
    let (left, right) = (columns.threads[from.min(to)].0, columns.threads[from.max(to)].0);
    let between = right.saturating_sub(left + 2);
    let arrow = match from < to {
        true => format!("└{}►┐", "─".repeat(between)),
        false => format!("┌◄{}┘", "─".repeat(between)),
    };
    page.line(&[(Style::Plain, &" ".repeat(left)), (Style::Frame, &arrow)]);
}

/// Too many threads for columns: each gets a heading where it goes on.
fn below(page: &mut Page, finding: &Finding, shown: &[usize]) {
    let scene = &finding.scene;
    let mut before: Option<usize> = None;
    let indent = " ".repeat(INDENT);
    for &row in shown {
        let at = &scene.rows[row];
        if before.is_some_and(|before| before + 1 != row) {
            page.line(&[(Style::Faint, &indent), (Style::Faint, "…")]);
        }
        if before.is_none_or(|before| scene.rows[before].thread != at.thread) {
            let thread = scene.threads.get(at.thread).map_or("", String::as_str);
            let heading = shortened(&format!("thread {thread}"), page.width.saturating_sub(INDENT));
            page.line(&[(Style::Plain, &indent), (Style::Lead, &heading)]);
        }
        before = Some(row);
        let number = format!("{indent}{:>4}  ", row + 1);
        let first: Piece<'_> = (Style::Faint, &number);
        let mut words = at.what.clone();
        if let Some(site) = &at.site {
            words.push_str(&format!("  {}", site.shown));
        }
        if !at.locks.is_empty() {
            words.push_str(&format!(" (holding {})", at.locks.join(", ")));
        }
        page.hanging(first, Style::Plain, &words);
    }
}
