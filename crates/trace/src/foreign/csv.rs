//! RAPID's CSV: the column of the event is its thread, which is called T0, T1, and so on.

use super::{Event, Fault, Names, Op, SiteId, operation};
use crate::Mode;

const HELP: &str = "write one of acq rel r w start join enter exit sync with its target, as in ,,acq(l)";

/// Appends the events of a line. Blank lines have none.
pub(super) fn line(line: &str, names: &mut Names, block: &mut Vec<Event>) -> Result<(), Fault> {
    if line.trim().is_empty() {
        return Ok(());
    }
    let mut at = 0;
    let mut event = None;
    for (column, cell) in line.split(',').enumerate() {
        if !cell.is_empty() {
            if event.is_some() {
                return Err((
                    at,
                    "found a second event, expected one per line".to_owned(),
                    "put it on a line of its own",
                ));
            }
            event = Some((column, cell, at));
        }
        at += cell.len() + 1;
    }
    let Some((column, cell, at)) = event else {
        return Err((0, "found no event in any column, expected one".to_owned(), HELP));
    };
    let parts = cell.split_once('(').and_then(|(word, rest)| Some((word, rest.strip_suffix(')')?)));
    let whole = parts.filter(|(_, target)| !target.is_empty() && !target.contains(char::is_whitespace));
    let Some((word, target)) = whole else {
        return Err((
            at,
            format!("found `{cell}`, expected an operation with its target in parentheses"),
            HELP,
        ));
    };
    let thread = names.threads.intern(&format!("T{column}"));
    let mut add = |op| block.push(Event { thread, op, site: SiteId::NONE });
    if word == "sync" {
        // An indivisible read and write, in RAPID's way.
        let lock = names.locks.intern(&format!("VARLOCK-{target}-KCOLRAV"));
        let variable = names.variables.intern(target);
        add(Op::Acquire(lock, Mode::Exclusive));
        add(Op::read(variable));
        add(Op::write(variable));
        add(Op::Release(lock, Mode::Exclusive));
        return Ok(());
    }
    match operation(word, target, names) {
        Some(op) => add(op),
        None => return Err((at, format!("found the operation `{word}`, expected another"), HELP)),
    }
    Ok(())
}
