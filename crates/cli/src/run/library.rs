//! The runtime that the command carries with it, as files that a linker and a loader can use.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

static RUNTIME: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libtsan.so.2"));
static HOOKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hooks.o"));
static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libatomvet_agent.so"));
static HEADER: &[u8] = include_bytes!("../../../../include/atomvet.h");

/// The same for the same files.
const VERSION: &str = env!("ATOMVET_LIBRARY_VERSION");

/// Where the runtime and its header are.
pub(crate) struct Library {
    /// The directory with `libtsan.so.2`, `libtsan.so`, `hooks.o`, `libatomvet_agent.so` and `atomvet.h`.
    pub(crate) directory: PathBuf,
}

impl Library {
    /// Unpacks it, unless this very version is there already.
    pub(crate) fn unpack() -> anyhow::Result<Library> {
        ensure!(
            !RUNTIME.is_empty(),
            "programs can be run on Linux for x86-64 only; traces can be checked here"
        );
        let mut problem = None;
        for root in roots() {
            match unpack_below(&root.join("atomvet").join(VERSION)) {
                Ok(library) => return Ok(library),
                Err(error) => problem = Some(error),
            }
        }
        Err(problem.unwrap_or_else(|| anyhow::anyhow!("no directory to unpack the runtime in")))
            .context("the runtime cannot be unpacked; set XDG_CACHE_HOME to a directory that can be written")
    }

    /// The library itself.
    pub(crate) fn file(&self) -> PathBuf {
        // For those who work on the runtime.
        if let Some(other) = std::env::var_os("ATOMVET_RUNTIME").filter(|path| !path.is_empty()) {
            return other.into();
        }
        self.directory.join("libtsan.so.2")
    }

    /// The agent of JVMs.
    pub(crate) fn agent(&self) -> PathBuf {
        // For those who work on the agent.
        if let Some(other) = std::env::var_os("ATOMVET_AGENT").filter(|path| !path.is_empty()) {
            return other.into();
        }
        self.directory.join("libatomvet_agent.so")
    }
}

/// Where to unpack, the best first.
fn roots() -> impl Iterator<Item = PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let temporary = Some(std::env::temp_dir());
    [cache, home, temporary].into_iter().flatten()
}

fn unpack_below(directory: &Path) -> anyhow::Result<Library> {
    let files: [(&str, &[u8]); 4] = [
        ("libtsan.so.2", RUNTIME),
        ("hooks.o", HOOKS),
        ("libatomvet_agent.so", AGENT),
        ("atomvet.h", HEADER),
    ];
    fs::create_dir_all(directory)?;
    for (name, bytes) in files {
        let file = directory.join(name);
        if fs::metadata(&file).is_ok_and(|there| there.len() == bytes.len() as u64) {
            continue;
        }
        // Others may do the same at this moment: a file appears whole.
        let new = tempfile::Builder::new().prefix(".new-").tempfile_in(directory)?;
        fs::write(new.path(), bytes)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(new.path(), fs::Permissions::from_mode(0o755))?;
        }
        new.persist(&file)?;
    }
    // Names under which linkers look for it: gcc's, and clang's for `-shared-libsan`.
    for name in ["libtsan.so", "libclang_rt.tsan-x86_64.so"] {
        let link = directory.join(name);
        #[cfg(unix)]
        if fs::symlink_metadata(&link).is_err() {
            // Another process may have made it meanwhile.
            let _ = std::os::unix::fs::symlink("libtsan.so.2", &link);
        }
    }
    Ok(Library { directory: directory.to_owned() })
}
