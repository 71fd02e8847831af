//! The source lines of a finding's steps, each marked with what happens there:
//!
//! ```text
//!     --> bank.c:12
//!      |
//!   12 |     int old = balance;
//!      |               ^^^^^^^ 2: T1 reads balance
//!  ...
//! ```
//!
//! The block that is not atomic is marked with `^`, others with `-`. Lines come from [`Sources`], which alone decides
//! what may be read; a step without source text is in the table of steps only.

use super::page::{Page, Style};
use super::steps::{is_of_others, shown_rows};
use crate::finding::{Finding, Row};
use crate::layout::{cut, shortened, shortened_place, width};
use crate::sources::Sources;
use crate::visible::visible;

/// So many unmarked lines between two marked ones are shown, and not left out.
const BRIDGED: u32 = 2;
/// An indentation that all lines have is reduced to this.
const INDENTATION: usize = 4;
/// Thread names in labels are cut to this.
const THREAD: usize = 24;

/// What is said about a line.
struct Mark {
    line: u32,
    style: Style,
    under: char,
    label: String,
    /// What the step is about, as the source may call it.
    name: Option<String>,
}

/// Writes the excerpts, and an empty line after them, if there is source text for any step.
pub(super) fn excerpts(page: &mut Page, finding: &Finding, sources: &mut Sources) {
    let scene = &finding.scene;
    let mut files: Vec<(&str, Vec<Mark>)> = Vec::new();
    for row in shown_rows(scene) {
        let at = &scene.rows[row];
        let Some((file, line)) = at.site.as_ref().and_then(|site| Some((site.file.as_deref()?, site.line?)))
        else {
            continue;
        };
        if sources.line(file, line).is_none() {
            continue;
        }
        let thread = scene.threads.get(at.thread).map_or("", String::as_str);
        let (style, under) = match is_of_others(finding, row) {
            true => (Style::Other, '-'),
            false => (Style::Grave(finding.level), '^'),
        };
        let label = format!("{}: {} {}", row + 1, shortened(thread, THREAD), at.what);
        let mark = Mark { line, style, under, label, name: name(at) };
        match files.iter_mut().find(|(known, _)| *known == file) {
            Some((_, marks)) => marks.push(mark),
            None => files.push((file, vec![mark])),
        }
    }
    for (file, marks) in &mut files {
        marks.sort_by_key(|mark| mark.line);
        excerpt(page, file, marks, sources);
    }
    if !files.is_empty() {
        page.gap();
    }
}

fn excerpt(page: &mut Page, file: &str, marks: &[Mark], sources: &mut Sources) {
    let last = marks.last().map_or(0, |mark| mark.line);
    let digits = last.to_string().len();
    let margin = format!("   {}", " ".repeat(digits));
    let room = page.width.saturating_sub(margin.len() + 3);
    let shown = sources.relative(file).map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    let first = marks.first().map_or(0, |mark| mark.line);
    let shown = shortened_place(&format!("{}:{first}", visible(&shown)), room);
    page.line(&[(Style::Frame, &format!("{margin}--> ")), (Style::Plain, &shown)]);
    page.line(&[(Style::Frame, &format!("{margin} |"))]);
    let lines = marks.iter().map(|mark| mark.line);
    let common = lines.filter_map(|line| sources.line(file, line).map(indentation)).min().unwrap_or(0);
    let dedent = common.saturating_sub(INDENTATION);
    let mut before: Option<u32> = None;
    for mark in marks {
        if before != Some(mark.line) {
            if let Some(before) = before {
                if mark.line - before > BRIDGED + 1 {
                    page.line(&[(Style::Frame, &margin[..3]), (Style::Frame, "...")]);
                } else {
                    for between in before + 1..mark.line {
                        source(page, digits, between, sources.line(file, between), dedent, room);
                    }
                }
            }
            source(page, digits, mark.line, sources.line(file, mark.line), dedent, room);
        }
        before = Some(mark.line);
        let text = cut(dedented(sources.line(file, mark.line).unwrap_or(""), dedent), room);
        label(page, &margin, &text, mark, room);
    }
}

fn source(page: &mut Page, digits: usize, line: u32, text: Option<&str>, dedent: usize, room: usize) {
    let text = cut(dedented(text.unwrap_or(""), dedent), room);
    page.line(&[(Style::Frame, &format!("   {line:>digits$} | ")), (Style::Plain, &text)]);
}

/// The underline and what it says; below each other if there is no room beside each other.
fn label(page: &mut Page, margin: &str, text: &str, mark: &Mark, room: usize) {
    let (start, length) = place(text, mark.name.as_deref());
    let start = start.min(room.saturating_sub(1));
    let beside = room.saturating_sub(start + width(&mark.label) + 1);
    let bar = format!("{margin} | ");
    let space = " ".repeat(start);
    if beside > 0 {
        let under = mark.under.to_string().repeat(length.clamp(1, beside));
        let words = format!("{under} {}", mark.label);
        page.line(&[(Style::Frame, &bar), (Style::Plain, &space), (mark.style, &words)]);
        return;
    }
    let under = mark.under.to_string().repeat(length.clamp(1, room.saturating_sub(start).max(1)));
    page.line(&[(Style::Frame, &bar), (Style::Plain, &space), (mark.style, &under)]);
    let words = shortened(&mark.label, room);
    let space = " ".repeat(start.min(room - width(&words)));
    page.line(&[(Style::Frame, &bar), (Style::Plain, &space), (mark.style, &words)]);
}

/// Where on a line a step is, and how wide that is: where its name is, if that is clear, else the whole line.
fn place(text: &str, name: Option<&str>) -> (usize, usize) {
    if let Some(name) = name
        && let Some(at) = only_word(text, name)
    {
        return (width(&text[..at]), width(name));
    }
    let trimmed = text.trim();
    (indentation(text), width(trimmed).max(1))
}

/// Where a name stands in a text as a word of its own, if it does so once.
fn only_word(text: &str, name: &str) -> Option<usize> {
    let part = |c: Option<char>| c.is_some_and(is_part_of_a_name);
    let is_word =
        |at: &usize| !part(text[..*at].chars().next_back()) && !part(text[at + name.len()..].chars().next());
    let mut places = text.match_indices(name).map(|(at, _)| at).filter(is_word);
    let first = places.next()?;
    places.next().is_none().then_some(first)
}

fn is_part_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What the source may call what a step is about: the last name in `r(accounts[3].balance)`, and for the begin of
/// a block the last one before its parameters.
fn name(row: &Row) -> Option<String> {
    let (op, on) = row.op.strip_suffix(')')?.split_once('(')?;
    let on = if op == "begin" { on.split('(').next()? } else { on };
    let names = on.rsplit(|c: char| !is_part_of_a_name(c));
    let is_name = |name: &&str| name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    names.into_iter().find(is_name).map(str::to_owned)
}

fn indentation(text: &str) -> usize {
    text.len() - text.trim_start_matches(' ').len()
}

fn dedented(text: &str, by: usize) -> &str {
    &text[by.min(indentation(text))..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_where_its_name_is_if_that_is_clear() {
        assert_eq!(place("    int old = balance;", Some("balance")), (14, 7));
        assert_eq!(place("    balance = balance - 1;", Some("balance")), (4, 22));
        assert_eq!(place("    old_balance = 1;", Some("balance")), (4, 16));
        assert_eq!(place("  世界 = balance;", Some("balance")), (9, 7));
        assert_eq!((place("", Some("x")), place("  f();", None)), ((0, 1), (2, 4)));
    }
}
