//! What goes to standard error: one line, saying who speaks.

use std::cell::RefCell;
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

thread_local! {
    /// What this thread has said since [`captured`] began, if it did.
    static CAPTURED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Does some work and keeps what it says, for [`again`].
pub(crate) fn captured<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
    CAPTURED.set(Some(Vec::new()));
    let result = work();
    (result, CAPTURED.take().unwrap_or_default())
}

/// Something is so wrong that the process ends: nobody would say it later.
pub(crate) fn last_words(message: impl Display) {
    again(format!("atomvet: error: {message}"));
}

/// Says what was captured.
pub(crate) fn again(line: String) {
    // If standard error is gone there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn say(what: &str, message: &str) {
    let line = format!("atomvet: {what}: {}", visible_lines(message));
    let kept = CAPTURED.with_borrow_mut(|captured| captured.as_mut().map(|lines| lines.push(line.clone())));
    if kept.is_none() {
        again(line);
    }
}
