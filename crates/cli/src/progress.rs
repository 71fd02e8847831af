//! A bar for work that takes more than a moment, on a terminal's standard error and nowhere else.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::status::Status;
use crate::visible::visible_within;

/// Work shorter than this shows no bar.
const MOMENT: Duration = Duration::from_secs(1);

/// How far the reading of one trace is.
pub(crate) struct Progress {
    what: String,
    length: Option<u64>,
    started: Instant,
    terminal: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Reading starts now. `length` is the number of bytes to read, if that is known.
    pub(crate) fn new(what: &str, length: Option<u64>) -> Progress {
        let terminal = std::io::stderr().is_terminal() && !MANY.load(Ordering::Relaxed);
        Progress { what: visible_within(what, 40), length, started: Instant::now(), terminal, bar: None }
    }

    /// So many bytes and events were read.
    pub(crate) fn at(&mut self, bytes: u64, events: u64) {
        if !self.terminal || self.started.elapsed() < MOMENT {
            return;
        }
        let (what, length) = (&self.what, self.length);
        let bar = self.bar.get_or_insert_with(|| {
            let (bar, template) = match length {
                Some(length) => {
                    (ProgressBar::new(length), "{prefix} {wide_bar} {bytes}/{total_bytes} {msg} {eta}")
                }
                None => (ProgressBar::new_spinner(), "{prefix} {spinner} {bytes} {msg} {elapsed}"),
            };
            // A bar without our template is still a bar.
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.set_prefix(what.clone());
            bar
        });
        bar.set_position(bytes);
        bar.set_message(format!("{} events", crate::grid::grouped(events)));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// How far some counted work is.
pub(crate) struct Work {
    who: &'static str,
    started: Option<Instant>,
    terminal: bool,
    bar: Option<ProgressBar>,
}

impl Work {
    /// Nothing is done yet.
    pub(crate) fn new(who: &'static str) -> Work {
        let terminal = std::io::stderr().is_terminal() && !MANY.load(Ordering::Relaxed);
        Work { who, started: None, terminal, bar: None }
    }

    /// So many are done, out of so many.
    pub(crate) fn at(&mut self, what: impl Into<Cow<'static, str>>, done: u64, of: u64) {
        let started = *self.started.get_or_insert_with(Instant::now);
        if !self.terminal || started.elapsed() < MOMENT {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(of);
            // A bar without our template is still a bar.
            if let Ok(style) = ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len} {msg} {elapsed}")
            {
                bar.set_style(style);
            }
            bar
        });
        bar.set_prefix(self.who);
        bar.set_length(of);
        bar.set_position(done);
        bar.set_message(what);
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// One bar stands for all traces: each has none of its own.
static MANY: AtomicBool = AtomicBool::new(false);

/// How many of several traces are done.
pub(crate) struct Many(Mutex<(Work, Tally)>);

/// What became of the traces so far.
#[derive(Default)]
struct Tally {
    all: u64,
    done: u64,
    violated: u64,
    unreadable: u64,
}

impl Many {
    /// None of so many.
    pub(crate) fn new(all: usize) -> Many {
        let work = Work::new("traces");
        MANY.store(true, Ordering::Relaxed);
        Many(Mutex::new((work, Tally { all: all as u64, ..Tally::default() })))
    }

    /// One more, with this outcome.
    pub(crate) fn one_more(&self, status: Status) {
        let Ok(mut inner) = self.0.lock() else { return };
        let (work, tally) = &mut *inner;
        tally.done += 1;
        tally.violated += u64::from(status == Status::Violations);
        tally.unreadable += u64::from(status == Status::BadInput);
        let words = format!("{} violated, {} bad", tally.violated, tally.unreadable);
        // One that did not fit into memory is looked at twice.
        work.at(words, tally.done.min(tally.all), tally.all);
    }
}

impl Drop for Many {
    fn drop(&mut self) {
        MANY.store(false, Ordering::Relaxed);
    }
}
