//! Columns of text that line up.

/// How a column is filled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Renders rows under a heading, two spaces apart, each line indented by `indent`.
pub(crate) fn grid(indent: usize, columns: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    let widths: Vec<usize> = (columns.iter().enumerate())
        .map(|(i, (heading, _))| {
            let cells = rows.iter().filter_map(|row| row.get(i)).map(|cell| cell.chars().count());
            cells.chain([heading.chars().count()]).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut padded = " ".repeat(indent);
        for ((cell, (_, align)), &width) in cells.zip(columns).zip(&widths) {
            let fill = " ".repeat(width.saturating_sub(cell.chars().count()));
            match align {
                Align::Left => padded.extend([cell, &fill, "  "]),
                Align::Right => padded.extend([&fill, cell, "  "]),
            }
        }
        text.push_str(padded.trim_end());
        text.push('\n');
    };
    if columns.iter().any(|(heading, _)| !heading.is_empty()) {
        line(&mut columns.iter().map(|(heading, _)| *heading));
    }
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    text
}

/// Words in lines of at most 100 characters: `first` stands before the first line, as many spaces
/// before the others.
pub(crate) fn paragraph(first: &str, words: &str) -> String {
    const WIDTH: usize = 100;
    let indent = first.chars().count();
    let (mut text, mut line, mut length) = (String::new(), first.to_owned(), indent);
    for word in words.split_whitespace() {
        let word_length = word.chars().count();
        if length > indent && length + word_length > WIDTH {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(indent);
            length = indent;
        }
        line.push_str(word);
        line.push(' ');
        length += word_length + 1;
    }
    text.push_str(line.trim_end());
    text.push('\n');
    text
}

/// A number with its digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 block`, `2 blocks`.
pub(crate) fn plural(number: u64, one: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {one}{s}", grouped(number))
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
    fn columns_line_up() {
        let rows = vec![vec!["a".into(), "1".into()], vec!["bbb".into(), "20".into()]];
        assert_eq!(
            grid(1, &[("x", Align::Left), ("n", Align::Right)], &rows),
            " x     n\n a     1\n bbb  20\n"
        );
    }

    #[test]
    fn paragraphs_wrap() {
        let text = paragraph("  a  ", &"word ".repeat(40));
        assert!(text.lines().all(|line| line.chars().count() <= 100 && line.len() > 5), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("     word")), "{text}");
        assert_eq!(paragraph("  ", "b"), "  b\n");
    }

    #[test]
    fn figures_are_readable() {
        assert_eq!((grouped(0).as_str(), grouped(1_234_567).as_str()), ("0", "1,234,567"));
        assert_eq!((bytes(12), bytes(1536)), ("12 B".into(), "1.5 KiB".into()));
        assert_eq!(
            (seconds(0.0000123), seconds(0.25), seconds(2.0)),
            ("12 µs".into(), "250.0 ms".into(), "2.00 s".into())
        );
    }
}
