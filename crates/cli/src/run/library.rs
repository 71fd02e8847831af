//! The runtime that the command carries with it, as files that a linker and a loader can use.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

static RUNTIME: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libtsan.so.2"));
static HOOKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hooks.o"));
static HOOKS_SHARED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hooks-shared.o"));
static HOOKS_STATIC: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hooks-static.o"));
static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libatomvet_agent.so"));
static HEADER: &[u8] = include_bytes!("../../../../include/atomvet.h");

/// An archive of no objects.
const EMPTY_ARCHIVE: &[u8] = b"!<arch>\n";

/// The same for the same files.
const VERSION: &str = env!("ATOMVET_LIBRARY_VERSION");

/// Where the runtime and its header are.
pub(crate) struct Library {
    /// The directory with the runtime, what `atomvet cc` links, the agent and `atomvet.h`.
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
    let temporary = std::env::temp_dir();
    [cache, home, Some(temporary), Some("/tmp".into())].into_iter().flatten().filter(|root| is_usable(root))
}

/// Whether the loader and linkers can be told such a path: `LD_PRELOAD` is split at spaces and colons, `-Wl` at commas.
fn is_usable(root: &Path) -> bool {
    !root.as_os_str().as_encoded_bytes().iter().any(|byte| b" :,\t\n".contains(byte))
}

/// What others can write is not to be loaded into programs.
#[cfg(unix)]
fn ensure_ours(directory: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let there = fs::symlink_metadata(directory)?;
    // SAFETY: asks for a number.
    let user = unsafe { libc::geteuid() };
    let is_ours = there.is_dir() && there.uid() == user && there.mode() & 0o002 == 0;
    ensure!(is_ours, "{}: belongs to another user, or everybody can write there", directory.display());
    Ok(())
}

fn unpack_below(directory: &Path) -> anyhow::Result<Library> {
    let files: [(&str, &[u8]); 7] = [
        ("libtsan.so.2", RUNTIME),
        ("hooks.o", HOOKS),
        ("hooks-shared.o", HOOKS_SHARED),
        ("hooks-static.o", HOOKS_STATIC),
        // What gcc links for ThreadSanitizer: nothing, so that no program depends on a library of ours.
        ("libtsan.a", EMPTY_ARCHIVE),
        ("libatomvet_agent.so", AGENT),
        ("atomvet.h", HEADER),
    ];
    fs::create_dir_all(directory)?;
    #[cfg(unix)]
    ensure_ours(directory)?;
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
    Ok(Library { directory: directory.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use object::{Object, ObjectSymbol};

    use super::*;

    /// The hooks that a file defines.
    fn hooks(file: &[u8]) -> BTreeSet<String> {
        let file = object::File::parse(file).expect("an object");
        let symbols = file.symbols().chain(file.dynamic_symbols()).filter(|symbol| symbol.is_definition());
        let names = symbols.filter_map(|symbol| Some(symbol.name().ok()?.to_owned()));
        let is_hook = |name: &String| {
            let starts =
                ["__tsan_", "__cyg_profile_", "__sanitizer_", "Annotate", "atomvet_begin", "atomvet_hint_"];
            (starts.iter().any(|start| name.starts_with(start)) || name == "atomvet_end")
                && !name.ends_with("_slot")
        };
        names.filter(is_hook).collect()
    }

    #[test]
    fn programs_carry_every_hook_of_the_runtime() {
        let wanted = hooks(RUNTIME);
        assert!(wanted.len() > 200, "{wanted:?}");
        for linked in [HOOKS, HOOKS_SHARED, HOOKS_STATIC] {
            assert_eq!(hooks(linked), wanted);
        }
    }

    #[test]
    fn a_path_that_the_loader_would_split_is_not_used() {
        assert!(is_usable(Path::new("/home/one/.cache")));
        assert!(["/home/a b", "/home/a:b", "/home/a,b"].iter().all(|path| !is_usable(Path::new(path))));
    }
}
