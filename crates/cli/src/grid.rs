//! Columns of text that line up, and figures that can be read.

pub(crate) use atomvet_report::layout::{Align, grid, grouped, plural};
use atomvet_report::text::USUAL_WIDTH;

/// Words in lines of at most 100 columns: `first` stands before the first line, as many spaces before the others.
pub(crate) fn paragraph(first: &str, words: &str) -> String {
    atomvet_report::layout::paragraph(first, words, USUAL_WIDTH)
}

/// A number of bytes, to three digits or so.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{number} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// A time, to three digits or so.
pub(crate) fn seconds(value: f64) -> String {
    if value < 0.001 {
        format!("{:.0} µs", value * 1e6)
    } else if value < 1.0 {
        format!("{:.1} ms", value * 1e3)
    } else {
        format!("{value:.2} s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_readable() {
        assert_eq!((bytes(12), bytes(1536)), ("12 B".into(), "1.5 KiB".into()));
        assert_eq!(
            (seconds(0.0000123), seconds(0.25), seconds(2.0)),
            ("12 µs".into(), "250.0 ms".into(), "2.00 s".into())
        );
    }
}
