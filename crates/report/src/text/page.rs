//! A page of text being written: lines of pieces, each in its own colour if there are colours, and paragraphs that
//! keep to the width.

use crate::finding::Level;
use crate::layout::{width, wrapped};

/// Whether text is coloured.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Colours {
    /// Plain text.
    #[default]
    None,
    /// With the escapes of ANSI terminals.
    Ansi,
}

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    Plain,
    /// What stands before an explanation: `remedy:`.
    Lead,
    /// What frames other text: line numbers, bars, arrows of switches.
    Frame,
    /// The headline of a finding, and what its block does.
    Grave(Level),
    /// What others do.
    Other,
    /// What matters less.
    Faint,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Lead => "1",
            Style::Frame => "1;34",
            Style::Grave(Level::Error) => "1;31",
            Style::Grave(Level::Warning) => "1;33",
            Style::Grave(Level::Note) => "1;36",
            Style::Other => "1;36",
            Style::Faint => "2",
        }
    }
}

/// A piece of a line.
pub(super) type Piece<'a> = (Style, &'a str);

/// The text so far.
pub(super) struct Page {
    pub(super) text: String,
    /// No line gets wider.
    pub(super) width: usize,
    pub(super) colours: Colours,
}

impl Page {
    /// A line. Spaces at its end are left out.
    pub(super) fn line(&mut self, pieces: &[Piece<'_>]) {
        let last = pieces.iter().rposition(|(_, words)| !words.trim_end().is_empty());
        for (i, &(style, words)) in pieces[..last.map_or(0, |last| last + 1)].iter().enumerate() {
            self.piece(style, if Some(i) == last { words.trim_end() } else { words });
        }
        self.text.push('\n');
    }

    fn piece(&mut self, style: Style, words: &str) {
        let code = style.code();
        if self.colours == Colours::None || code.is_empty() || words.trim().is_empty() {
            self.text.push_str(words);
        } else {
            self.text.extend(["\u{1b}[", code, "m", words, "\u{1b}[0m"]);
        }
    }

    /// An empty line.
    pub(super) fn gap(&mut self) {
        self.text.push('\n');
    }

    /// Words after a lead, in lines that are all indented alike.
    pub(super) fn paragraph(&mut self, indent: usize, lead: Piece<'_>, words: &str) {
        self.after(lead, words, indent, indent);
    }

    /// The same at the margin, with only its first line there.
    pub(super) fn entry(&mut self, lead: Piece<'_>, words: &str) {
        self.after(lead, words, 0, 3);
    }

    fn after(&mut self, lead: Piece<'_>, words: &str, first: usize, others: usize) {
        let all = if lead.1.is_empty() { words.to_owned() } else { format!("{} {words}", lead.1) };
        for (i, line) in wrapped(&all, self.width.saturating_sub(others)).iter().enumerate() {
            let space = " ".repeat(if i == 0 { first } else { others });
            // The first line has the lead, unless the lead itself was too long for it.
            match line.strip_prefix(lead.1).filter(|_| i == 0) {
                Some(rest) => self.line(&[(Style::Plain, &space), lead, (Style::Plain, rest)]),
                None => self.line(&[(Style::Plain, &space), (Style::Plain, line)]),
            }
        }
    }

    /// Words in one style, which start behind `first` and stay to the right of it.
    pub(super) fn hanging(&mut self, first: Piece<'_>, style: Style, words: &str) {
        let indent = width(first.1);
        let space = " ".repeat(indent);
        for (i, line) in wrapped(words, self.width.saturating_sub(indent)).iter().enumerate() {
            let before = if i == 0 { first } else { (Style::Plain, space.as_str()) };
            self.line(&[before, (style, line)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_coloured_only_if_there_are_colours() {
        let page = |colours| {
            let mut page = Page { text: String::new(), width: 20, colours };
            page.line(&[(Style::Frame, "a "), (Style::Plain, "b"), (Style::Lead, "  "), (Style::Plain, " ")]);
            page.paragraph(2, (Style::Lead, "lead:"), "words that do not fit");
            page.text
        };
        assert_eq!(page(Colours::None), "a b\n  lead: words that\n  do not fit\n");
        assert_eq!(
            page(Colours::Ansi),
            "\u{1b}[1;34ma \u{1b}[0mb\n  \u{1b}[1mlead:\u{1b}[0m words that\n  do not fit\n"
        );
    }
}
