//! The directory of a run's rings, `atomvet-PROCESS-…`, and those of runs that were killed.
//!
//! Nobody but the user can look into it. A run that ends removes its own. One that is killed cannot, and memory would fill up with what is left behind; so every run
//! looks for directories whose process is over. Since such a number may be another's by now, or of another container that
//! shares the place, whoever uses a directory holds a lock on it, which ends with its process.

use std::fs::{DirEntry, File, Permissions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;

/// A directory for rings. Goes when it is dropped.
pub(crate) struct Directory {
    directory: TempDir,
    /// Open and locked, so that nobody takes it for one that was left behind.
    _in_use: Option<File>,
}

/// What its name begins with. Programs look there for who reads the rings, to go on alone when that is no more.
const PREFIX: &str = "atomvet-";

/// A file system in memory, on most systems.
const IN_MEMORY: &str = "/dev/shm";

impl Directory {
    /// A new one, in memory if there is such a place. Removes those that were left behind.
    pub(crate) fn new() -> anyhow::Result<Directory> {
        for place in [PathBuf::from(IN_MEMORY), std::env::temp_dir()] {
            remove_left_behind(&place);
        }
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let mut builder = tempfile::Builder::new();
        // What a program does is nobody else's business. A name that is taken, by a link or anything else, is not used.
        builder.prefix(&prefix).permissions(Permissions::from_mode(0o700));
        let in_memory = builder.tempdir_in(IN_MEMORY).ok().filter(|directory| has_room(directory.path()));
        let directory = match in_memory {
            Some(directory) => directory,
            None => builder
                .tempdir()
                .context("cannot make a temporary directory; set TMPDIR to one that can be written")?,
        };
        // Where files cannot be locked, the number of the process has to do.
        let in_use = File::open(directory.path()).ok().filter(|opened| opened.try_lock().is_ok());
        Ok(Directory { directory, _in_use: in_use })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes the directories of processes that are over. What cannot be removed is another user's, or gone already.
fn remove_left_behind(place: &Path) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        if was_left_behind(&entry) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn was_left_behind(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok());
    process.is_some_and(is_over) && open_own(&entry.path()).is_some_and(|opened| opened.try_lock().is_ok())
}

/// Opens a directory of this user's that is no link.
fn open_own(path: &Path) -> Option<File> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let opened = File::options().read(true).custom_flags(flags).open(path).ok()?;
    // SAFETY: asks for a number.
    let user = unsafe { libc::geteuid() };
    (opened.metadata().ok()?.uid() == user).then_some(opened)
}

/// Whether a process has ended, though perhaps nobody has waited for it yet.
pub(crate) fn is_over(process: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat")).map_or(true, |stat| is_told_over(&stat))
}

/// The same, by what Linux tells of it: `PID (NAME) STATE …`, and a name may have anything in it.
fn is_told_over(stat: &str) -> bool {
    let mut fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let (state, threads) = (fields.next(), fields.nth(16));
    match state {
        // Its first thread may have ended before the others, which count with it.
        Some("Z") => matches!(threads, Some("0" | "1")),
        state => matches!(state, None | Some("" | "X")),
    }
}

/// Whether a few rings fit there: a file system in memory may be very small.
fn has_room(directory: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let Ok(path) = std::ffi::CString::new(directory.as_os_str().as_bytes()) else { return false };
    let mut figures = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the path ends with a zero; the figures are plain numbers, which the call writes.
    let figures = unsafe {
        if libc::statvfs(path.as_ptr(), figures.as_mut_ptr()) != 0 {
            return false;
        }
        figures.assume_init()
    };
    figures.f_bavail.saturating_mul(figures.f_frsize) >= 8 * atomvet_ring::FILE_BYTES as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_ended_processes_are_removed() {
        let place = tempfile::tempdir().expect("a directory");
        let at = |name: &str| place.path().join(name);
        // No process has this number.
        let [left, linked, kept, running] = [
            format!("{PREFIX}4294967295-a"),
            format!("{PREFIX}4294967295-b"),
            "kept".to_owned(),
            format!("{PREFIX}1-a"),
        ];
        for name in [&left, &kept, &running] {
            std::fs::create_dir(at(name)).expect("made");
            std::fs::write(at(name).join("file"), "").expect("written");
        }
        std::os::unix::fs::symlink(at(&kept), at(&linked)).expect("linked");
        remove_left_behind(place.path());
        assert!(!at(&left).exists());
        assert!(at(&linked).is_symlink() && at(&kept).join("file").exists() && at(&running).exists());
    }

    #[test]
    fn a_process_is_over_with_its_last_thread() {
        let stat = |state: &str, threads: u32| {
            format!("7 (a) b) {state} 1 7 7 0 -1 4194560 142 0 0 0 3 1 0 0 20 0 {threads} 0 5747859 0 0")
        };
        let over = [("R", 1), ("S", 3), ("Z", 3), ("Z", 1), ("X", 0)]
            .map(|(state, threads)| is_told_over(&stat(state, threads)));
        assert_eq!(over, [false, false, false, true, true]);
        assert!(is_told_over(""));
    }
}
