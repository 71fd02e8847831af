//! How text for people looks here: as wide as the terminal, and coloured if there is one. What it says is made in
//! `atomvet_report::text`.

use std::io::IsTerminal;

use atomvet_report::text::{Colours, LEAST_WIDTH, Options, USUAL_WIDTH};
use clap::ColorChoice;

/// Options of every command that prints a report.
#[derive(clap::Args, Debug, Clone, Copy)]
pub(crate) struct Looks {
    /// Show so many findings in detail (text only) [default: 20]
    #[arg(long, value_name = "N", help_heading = "What is shown")]
    pub(crate) max_findings: Option<usize>,
    /// When to colour text; auto is on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value_t = ColorChoice::Auto, help_heading = "What is shown")]
    color: ColorChoice,
    /// Make lines of text at most so many columns wide [default: as the terminal, 100 elsewhere]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(LEAST_WIDTH as i64..), help_heading = "What is shown")]
    width: Option<u16>,
}

/// Where text goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Onto {
    /// Where results go.
    Stdout,
    /// Where a program's results must not be disturbed.
    Stderr,
    /// A file: no terminal.
    File,
}

impl Looks {
    /// As `atomvet_report` takes them.
    pub(crate) fn options(&self, onto: Onto) -> Options {
        let usual = terminal_width(onto).map_or(USUAL_WIDTH, |width| width.max(LEAST_WIDTH));
        Options {
            width: self.width.map_or(usual, usize::from),
            colours: colours(self.color, terminal_width(onto).is_some(), |name| std::env::var(name).ok()),
            most: self.max_findings.unwrap_or(Options::default().most),
        }
    }
}

/// The width of the terminal; none if it is none.
fn terminal_width(onto: Onto) -> Option<usize> {
    let (is_terminal, size) = match onto {
        Onto::Stdout => (std::io::stdout().is_terminal(), terminal_size::terminal_size_of(std::io::stdout())),
        Onto::Stderr => (std::io::stderr().is_terminal(), terminal_size::terminal_size_of(std::io::stderr())),
        Onto::File => (false, None),
    };
    // A terminal that does not know its size is one all the same.
    is_terminal.then(|| size.map_or(USUAL_WIDTH, |(width, _)| usize::from(width.0)))
}

/// As no-color.org and bixense.com/clicolors have it: what the command line says comes first, then NO_COLOR.
fn colours(choice: ColorChoice, is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> Colours {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let forced = || variable("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
    let refused = || variable("CLICOLOR").is_some_and(|value| value == "0");
    let dumb = || variable("TERM").is_some_and(|value| value == "dumb");
    match choice {
        ColorChoice::Always => Colours::Ansi,
        ColorChoice::Never => Colours::None,
        ColorChoice::Auto if is_set("NO_COLOR") => Colours::None,
        ColorChoice::Auto if forced() || (is_terminal && !refused() && !dumb()) => Colours::Ansi,
        ColorChoice::Auto => Colours::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_heard_where_the_command_line_is_silent() {
        let check = |choice, is_terminal, set: &[(&str, &str)], expect| {
            let variable = |name: &str| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(colours(choice, is_terminal, variable), expect, "{choice:?} {is_terminal} {set:?}");
        };
        check(ColorChoice::Auto, true, &[], Colours::Ansi);
        check(ColorChoice::Auto, false, &[], Colours::None);
        check(ColorChoice::Auto, true, &[("NO_COLOR", "1")], Colours::None);
        check(ColorChoice::Auto, true, &[("NO_COLOR", "")], Colours::Ansi);
        check(ColorChoice::Auto, true, &[("TERM", "dumb")], Colours::None);
        check(ColorChoice::Auto, true, &[("CLICOLOR", "0")], Colours::None);
        check(ColorChoice::Auto, false, &[("CLICOLOR_FORCE", "1")], Colours::Ansi);
        check(ColorChoice::Auto, false, &[("CLICOLOR_FORCE", "0")], Colours::None);
        check(ColorChoice::Auto, false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], Colours::None);
        check(ColorChoice::Always, false, &[("NO_COLOR", "1")], Colours::Ansi);
        check(ColorChoice::Never, true, &[("CLICOLOR_FORCE", "1")], Colours::None);
    }
}
