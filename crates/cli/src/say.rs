//! What goes to standard error: one line, saying who speaks.

use std::fmt::Display;
use std::io::Write;

use crate::visible::visible_lines;

/// Something is wrong.
pub(crate) fn error(message: impl Display) {
    say("error", &message.to_string());
}

/// Something deserves attention.
pub(crate) fn note(message: impl Display) {
    say("note", &message.to_string());
}

fn say(what: &str, message: &str) {
    // If standard error is gone there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "atomvet: {what}: {}", visible_lines(message));
}
