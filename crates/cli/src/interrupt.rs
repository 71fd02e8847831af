//! Ctrl-C: the first one asks for what was found so far, the second one ends the process.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Files that are half written, to be removed if the process has to end at once.
static HALF_WRITTEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The status of a process that was told twice: 128 plus the number of the signal.
const ENDED_AT_ONCE: i32 = 130;

/// Starts listening.
pub(crate) fn install() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            if let Ok(mut half_written) = HALF_WRITTEN.try_lock() {
                for path in half_written.drain(..) {
                    // The process ends anyway: nobody is left who could act on a failure.
                    let _ = std::fs::remove_file(path);
                }
            }
            std::process::exit(ENDED_AT_ONCE);
        }
    })
    .context("cannot listen for Ctrl-C")
}

/// Whether to stop reading.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed) && !PUT_OFF.load(Ordering::Relaxed)
}

/// While a program runs, Ctrl-C is its concern, and all that it does until it ends is read.
static PUT_OFF: AtomicBool = AtomicBool::new(false);

/// From now on the first Ctrl-C stops no reading.
pub(crate) fn put_off() {
    PUT_OFF.store(true, Ordering::Relaxed);
}

/// Whether Ctrl-C was pressed, put off or not.
pub(crate) fn pressed() -> bool {
    REQUESTED.load(Ordering::Relaxed)
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
