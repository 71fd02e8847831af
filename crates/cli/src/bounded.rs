//! Files that are read whole, but never more of them than such a file may have: a device or a pipe may have no end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::grid;

/// A configuration, a specification, a response file of a compiler.
pub(crate) const SETTINGS: u64 = 16 << 20;

/// A baseline: some 80 bytes per finding.
pub(crate) const BASELINE: u64 = 64 << 20;

/// A report as JSON: some 3 kB per finding.
pub(crate) const REPORT: u64 = 512 << 20;

/// The bytes of a file, if there are no more than `most`.
pub(crate) fn file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    all(File::open(path)?, most, |_| true)
}

/// The same as text; none if it cannot be read, or is none.
pub(crate) fn text(path: &Path) -> Option<String> {
    String::from_utf8(file(path, SETTINGS).ok()?).ok()
}

/// The bytes of a report in a file, or on standard input for `-`. If its first bytes show that it is none, those alone.
pub(crate) fn report(path: &Path) -> io::Result<Vec<u8>> {
    let is_report =
        |start: &[u8]| start.iter().find(|byte| !byte.is_ascii_whitespace()).is_none_or(|byte| *byte == b'{');
    if path == Path::new("-") {
        all(io::stdin(), REPORT, is_report)
    } else {
        all(File::open(path)?, REPORT, is_report)
    }
}

/// How much is read before it is looked at.
const START: u64 = 4096;

fn all(mut from: impl Read, most: u64, is_worth_it: impl Fn(&[u8]) -> bool) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.by_ref().take(START).read_to_end(&mut bytes)?;
    if !is_worth_it(&bytes) {
        return Ok(bytes);
    }
    from.take(most.saturating_sub(START).saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it is larger than {}", grid::bytes(most))));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_there_may_be() {
        for (length, most, is_read) in [(0, 9000, true), (9000, 9000, true), (9001, 9000, false)] {
            let read = all(io::repeat(b'x').take(length), most, |_| true);
            assert_eq!(read.ok().map(|bytes| bytes.len() as u64), is_read.then_some(length), "{length}");
        }
        assert!(all(io::repeat(0), 9000, |_| true).is_err());
        assert_eq!(all(io::repeat(0), 9000, |_| false).expect("reads").len() as u64, START);
    }
}
