//! SIGINT, SIGTERM and SIGHUP: the command reports what was found so far and ends within about a second.
//!
//! ```text
//! the first signal ──► reading stops ──► explaining stops ──► the report is written
//!                      at once           0.35 s later          a further signal after 1 s ends at once, with status 130
//! ```
//!
//! While `run` watches a program, all of that counts from the program's end, which the first signal asks for (`run/grace.rs`).
//! Further signals until then change nothing: `timeout` signals its child and then the whole group, and a terminal
//! may do so as well.
//!
//! Commands that have nothing to keep (`report`, `list`, …), and all others until they start to read traces, end at the first signal.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use anyhow::Context;

/// When the first signal came.
static ASKED: OnceLock<Instant> = OnceLock::new();

/// A signal is to be answered with what was found so far.
static KEEPS_FINDINGS: AtomicBool = AtomicBool::new(false);

/// A program is watched; once it has ended, when.
static WATCHES: AtomicBool = AtomicBool::new(false);
static PROGRAM_ENDED: OnceLock<Instant> = OnceLock::new();

/// Files that are half written, to be removed if the process has to end at once.
static HALF_WRITTEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The status of a process that ends at once: 128 plus the number of SIGINT.
const ENDED_AT_ONCE: i32 = 130;

/// For how long the last records of a program that has ended are read.
const READING: Duration = Duration::from_millis(150);

/// For how long findings are explained.
const EXPLAINING: Duration = Duration::from_millis(350);

/// For how long further signals change nothing.
const DEAF: Duration = Duration::from_secs(1);

/// Starts listening.
pub(crate) fn install() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        let first = ASKED.set(Instant::now()).is_ok();
        let at_once = if KEEPS_FINDINGS.load(Ordering::Relaxed) {
            !first && since().is_some_and(|since| since > DEAF)
        } else {
            true
        };
        if at_once {
            end_at_once();
        }
    })
    .context("cannot listen for Ctrl-C")
}

fn end_at_once() -> ! {
    remove_half_written();
    std::process::exit(ENDED_AT_ONCE);
}

/// The process ends now: removes the files that must not stay behind.
pub(crate) fn remove_half_written() {
    if let Ok(mut half_written) = HALF_WRITTEN.try_lock() {
        for path in half_written.drain(..) {
            // Nobody is left who could act on a failure.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// From now on a signal is answered with what was found so far.
pub(crate) fn keep_findings() {
    KEEPS_FINDINGS.store(true, Ordering::Relaxed);
}

/// From now on a program is watched. Until [`program_ended`], everything that it does is read.
pub(crate) fn watch_program() {
    WATCHES.store(true, Ordering::Relaxed);
    keep_findings();
}

/// The program has ended, or is given up.
pub(crate) fn program_ended() {
    PROGRAM_ENDED.get_or_init(Instant::now);
}

/// How long ago the first signal came, whether or not a program is watched.
pub(crate) fn asked() -> Option<Duration> {
    ASKED.get().map(Instant::elapsed)
}

/// For how long the command itself has been asked to end.
fn since() -> Option<Duration> {
    let asked = ASKED.get()?;
    match PROGRAM_ENDED.get() {
        Some(ended) => Some(asked.max(ended).elapsed()),
        None if WATCHES.load(Ordering::Relaxed) => None,
        None => Some(asked.elapsed()),
    }
}

/// Whether to stop reading.
pub(crate) fn requested() -> bool {
    let allowed = if WATCHES.load(Ordering::Relaxed) { READING } else { Duration::ZERO };
    since().is_some_and(|since| since >= allowed)
}

/// Whether work that comes after reading has to leave time for more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Overdue {
    /// It has.
    WithMoreToCome,
    /// It is the last before the report is written.
    AtLast,
}

/// Whether to stop explaining what was found.
pub(crate) fn is_overdue(overdue: Overdue) -> bool {
    let allowed = match overdue {
        Overdue::WithMoreToCome => EXPLAINING / 2,
        Overdue::AtLast => EXPLAINING,
    };
    since().is_some_and(|since| since >= allowed)
}

/// Names a file that must not stay behind.
pub(crate) fn half_written(path: PathBuf) {
    if let Ok(mut half_written) = HALF_WRITTEN.lock() {
        half_written.push(path);
    }
}

/// The file has its own name now, or is gone.
pub(crate) fn whole(path: &Path) {
    if let Ok(mut half_written) = HALF_WRITTEN.lock() {
        half_written.retain(|other| other != path);
    }
}
