//! RoadRunner's textual log, as its tool for RAPID prints it: `@  Rd(THREAD,TARGET)  NOTE  FILE:LINE:COLUMN`.

use super::{Event, Fault, Names, SiteId, operation};

const HELP: &str =
    "write one of Acquire Release Rd Wr ARd AWr VolRd VolWr Start Join Enter Exit, as in @  Rd(1,x)";

/// Appends the event of a line. Lines that do not begin with @ have none.
pub(super) fn line(line: &str, names: &mut Names, block: &mut Vec<Event>) -> Result<(), Fault> {
    let Some(rest) = line.strip_prefix('@') else { return Ok(()) };
    let event = rest.trim_start();
    let at = line.len() - event.len();
    let mut words = event.split_whitespace();
    let Some(what) = words.next() else {
        return Err((at, "found nothing behind @, expected an event".to_owned(), HELP));
    };
    let inside = what.split_once('(').and_then(|(word, rest)| Some((word, rest.strip_suffix(')')?)));
    let parts = inside.and_then(|(word, inside)| Some((word, inside.split_once(',')?)));
    let whole = parts.filter(|(_, (thread, target))| !thread.is_empty() && !target.is_empty());
    let Some((word, (thread, target))) = whole else {
        return Err((at, format!("found `{what}`, expected OPERATION(THREAD,TARGET)"), HELP));
    };
    let Some(op) = operation(word, target, names) else {
        return Err((at, format!("found the operation `{word}`, expected another"), HELP));
    };
    let thread = names.threads.intern(thread);
    let site = words.last().and_then(|place| file_and_line(place)).map(|place| names.sites.intern(place));
    block.push(Event { thread, op, site: site.unwrap_or(SiteId::NONE) });
    Ok(())
}

/// A place without its column; none if it is not known.
fn file_and_line(place: &str) -> Option<&str> {
    let ends_in_number = |place: &str| {
        let (file, number) = place.rsplit_once(':')?;
        let is_number =
            !number.is_empty() && number.len() < 19 && number.bytes().all(|byte| byte.is_ascii_digit());
        (is_number && !file.is_empty()).then_some(file.len())
    };
    let file = ends_in_number(place)?;
    Some(if ends_in_number(&place[..file]).is_some() { &place[..file] } else { place })
}
