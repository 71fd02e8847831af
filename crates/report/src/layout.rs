//! Text in lines and columns: how wide it is on a terminal, and how it is made to fit.
//!
//! Widths are those of terminals: a Chinese character takes two columns, a combining mark none. Names from traces
//! may be anything and of any length, so whatever does not fit is cut, and no line gets wider than it may.

use unicode_width::UnicodeWidthChar;

/// How a column is filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// How many columns a terminal needs for a text.
pub fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(width_of).sum() }
}

fn width_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The longest start of a text that fits.
fn start(text: &str, most: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += width_of(*c);
        used > most
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// The longest end of a text that fits.
fn end(text: &str, most: usize) -> &str {
    let mut used = 0;
    let start = text.char_indices().rev().find(|(_, c)| {
        used += width_of(*c);
        used > most
    });
    &text[start.map_or(0, |(at, c)| at + c.len_utf8())..]
}

/// A name in at most so many columns, cut in the middle: both ends of a name tell more than its middle.
pub fn shortened(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(1);
    let mark = if most == 0 { "" } else { "…" };
    [start(text, room - room / 2), mark, end(text, room / 2)].concat()
}

/// A place in at most so many columns: the file's own name and the line are kept, folders go first.
pub fn shortened_place(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    match text.rsplit_once('/') {
        Some((_, name)) if width(name) + 2 <= most => {
            // As many whole folders as fit.
            let rest = end(text, most - 1);
            let whole = rest.split_once('/').map_or(name, |(_, whole)| whole);
            format!("…/{whole}")
        }
        _ => shortened(text, most),
    }
}

/// The start of a text in at most so many columns, with a mark where it was cut.
pub fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    format!("{}…", start(text, most.saturating_sub(1)))
}

/// As many spaces as a text lacks.
pub fn fill(text: &str, to: usize) -> String {
    " ".repeat(to.saturating_sub(width(text)))
}

/// Makes the widest columns narrower until all fit into `room`, or all have their least width.
pub fn fit(widths: &mut [usize], least: &[usize], room: usize) {
    while widths.iter().sum::<usize>() > room {
        let shrinks = widths.iter_mut().zip(least).filter(|(width, least)| **width > **least);
        match shrinks.map(|(width, _)| width).max() {
            Some(widest) => *widest -= 1,
            None => return,
        }
    }
}

/// Words in lines of at most `most` columns. A word that no line has room for is cut.
pub fn wrapped(words: &str, most: usize) -> Vec<String> {
    let most = most.max(1);
    let (mut lines, mut line, mut length) = (Vec::new(), String::new(), 0);
    for word in words.split_whitespace() {
        let word = shortened(word, most);
        let size = width(&word);
        if length > 0 && length + 1 + size > most {
            lines.push(std::mem::take(&mut line));
            length = 0;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        line.push_str(&word);
        length += size;
    }
    lines.push(line);
    lines
}

/// Words in lines of at most `most` columns: `first` stands before the first line, as many spaces before the others.
pub fn paragraph(first: &str, words: &str, most: usize) -> String {
    let indent = width(first);
    let mut text = String::new();
    for (i, line) in wrapped(words, most.saturating_sub(indent)).iter().enumerate() {
        let before = if i == 0 { first.to_owned() } else { " ".repeat(indent) };
        text.push_str((before + line).trim_end());
        text.push('\n');
    }
    text
}

/// Renders rows under a heading, two spaces apart, each line indented by `indent`.
pub fn grid(indent: usize, columns: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    let widths: Vec<usize> = (columns.iter().enumerate())
        .map(|(i, (heading, _))| {
            let cells = rows.iter().filter_map(|row| row.get(i)).map(|cell| width(cell));
            cells.chain([width(heading)]).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut padded = " ".repeat(indent);
        for ((cell, (_, align)), &width) in cells.zip(columns).zip(&widths) {
            let fill = fill(cell, width);
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

/// A number with its digits in groups of three.
pub fn grouped(number: u64) -> String {
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
pub fn plural(number: u64, one: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {one}{s}", grouped(number))
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
    fn widths_are_those_of_a_terminal() {
        assert_eq!((width("abc"), width("世界"), width("e\u{301}"), width("")), (3, 4, 1, 0));
        assert_eq!(shortened("Account.deposit", 20), "Account.deposit");
        assert_eq!(shortened("Account.deposit", 9), "Acco…osit");
        assert_eq!(shortened("世界世界世界", 6), "世…界");
        assert_eq!((shortened("abc", 1).as_str(), shortened("abc", 0).as_str()), ("…", ""));
        assert_eq!(shortened_place("src/main/java/Vector.java:267", 24), "…/java/Vector.java:267");
        assert_eq!(shortened_place("src/main/java/Vector.java:267", 11), "src/m…a:267");
        assert_eq!((cut("abcdef", 4), cut("abcd", 4)), ("abc…".to_owned(), "abcd".to_owned()));
    }

    #[test]
    fn nothing_gets_wider_than_it_may() {
        let names =
            ["x".repeat(300), "世".repeat(80), "a b".repeat(50), "e\u{301}".repeat(90), String::new()];
        for name in &names {
            for most in 0..40 {
                assert!(width(&shortened(name, most)) <= most, "{name} in {most}");
                assert!(width(&shortened_place(name, most)) <= most, "{name} in {most}");
                let lines = paragraph("  ", name, most + 3);
                assert!(lines.lines().all(|line| width(line) <= most + 3), "{lines} in {most}");
            }
        }
    }

    #[test]
    fn paragraphs_wrap() {
        let text = paragraph("  a  ", &"word ".repeat(40), 100);
        assert!(text.lines().all(|line| line.chars().count() <= 100 && line.len() > 5), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("     word")), "{text}");
        assert_eq!(paragraph("  ", "b", 100), "  b\n");
    }

    #[test]
    fn columns_share_the_room() {
        let mut widths = [10, 30, 50];
        fit(&mut widths, &[8, 8, 8], 40);
        assert_eq!(widths, [10, 15, 15]);
        fit(&mut widths, &[8, 8, 8], 5);
        assert_eq!(widths, [8, 8, 8]);
    }

    #[test]
    fn figures_are_readable() {
        assert_eq!((grouped(0).as_str(), grouped(1_234_567).as_str()), ("0", "1,234,567"));
        assert_eq!((plural(1, "block").as_str(), plural(2, "block").as_str()), ("1 block", "2 blocks"));
    }
}
