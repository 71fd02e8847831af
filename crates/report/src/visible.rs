//! Names come from traces, and traces from anywhere. Whatever could move the cursor, colour the
//! screen, ring the bell or turn text around is made visible before it reaches a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` with control and formatting characters written as escapes.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// The same for a message of several lines: its own line ends stay.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n')
}

fn escaped(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(|c| dangerous(c) && !keep(c)) {
        return Cow::Borrowed(text);
    }
    let mut result = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            _ if !dangerous(c) || keep(c) => result.push(c),
            '\n' => result.push_str("\\n"),
            '\r' => result.push_str("\\r"),
            '\t' => result.push_str("\\t"),
            '\u{1b}' => result.push_str("\\e"),
            _ => {
                // Writing to a string does not fail.
                let _ = write!(result, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    Cow::Owned(result)
}

fn dangerous(c: char) -> bool {
    // Besides control characters: marks that are invisible or change the direction of text.
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// `text`, made visible and cut to at most `width` characters, with a mark where it was cut.
pub fn visible_within(text: &str, width: usize) -> String {
    // Nearly every name is short and plain.
    if text.len() <= width && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let text = visible(text);
    if text.chars().count() <= width {
        return text.into_owned();
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_shown_and_not_sent() {
        assert_eq!(visible("Account.deposit<ü>"), "Account.deposit<ü>");
        assert_eq!(visible("\u{1b}[31mred\n\u{7}"), "\\e[31mred\\n\\u{7}");
        assert_eq!(visible("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(visible_lines("a\nb\r"), "a\nb\\r");
        assert_eq!(visible_within("abcdef", 4), "abc…");
    }
}
