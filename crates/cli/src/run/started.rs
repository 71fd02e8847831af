//! The programs that a run has started, and those of them of which nothing was heard: a script may run one program with hooks
//! and another one without.
//!
//! Every program says where it is when the runtime is loaded into it (`crates/runtime/src/presence.rs`). Programs of the system
//! are not counted: shells and their tools have no hooks. Programs into which nothing can be preloaded, such as static
//! ones, are not heard of at all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::silence::has_hooks;

/// How much is read of what programs say: more than a run with a hundred thousand of them.
const MOST_BYTES: u64 = 16 << 20;

/// Where the programs of the system are.
const OF_SYSTEM: [&str; 8] =
    ["/bin", "/sbin", "/lib", "/lib64", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec"];

/// The programs that say in `directory` that they were started and of which nothing else is known, as people want to read their
/// names. `rings` has how many programs of a process were recorded.
pub(crate) fn unwatched(directory: &Path, rings: &BTreeMap<u32, usize>) -> Vec<String> {
    let mut told = Vec::new();
    // If nobody has said anything, there is no such file.
    let _ = File::open(directory.join(atomvet_ring::PROGRAMS))
        .and_then(|file| file.take(MOST_BYTES).read_to_end(&mut told));
    let mut processes: BTreeMap<u32, Vec<PathBuf>> = BTreeMap::new();
    for line in told.split(|&byte| byte == b'\n') {
        let mut parts = line.splitn(2, |&byte| byte == b' ');
        let process = parts.next().and_then(|number| std::str::from_utf8(number).ok()?.parse().ok());
        if let (Some(process), Some(file)) = (process, parts.next()) {
            processes.entry(process).or_default().push(std::ffi::OsStr::from_bytes(file).into());
        }
    }
    let here = std::env::current_dir().unwrap_or_default();
    let mut known: BTreeMap<PathBuf, bool> = BTreeMap::new();
    let mut unwatched = BTreeSet::new();
    for (process, programs) in processes {
        // A process may execute one program after another: those with hooks are the recorded ones, unless more are.
        let recorded = rings.get(&process).copied().unwrap_or(0);
        let of_user =
            programs.into_iter().filter(|file| !OF_SYSTEM.iter().any(|place| file.starts_with(place)));
        let (hooked, others): (Vec<_>, Vec<_>) =
            of_user.partition(|file| *known.entry(file.clone()).or_insert_with(|| has_hooks(file)));
        if recorded <= hooked.len() {
            unwatched.extend(others.into_iter().map(|file| {
                let near = file.strip_prefix(&here).map(|rest| Path::new(".").join(rest));
                near.unwrap_or(file).display().to_string()
            }));
        }
    }
    unwatched.into_iter().collect()
}
