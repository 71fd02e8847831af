//! The runtime that the command carries with it, as files that a linker and a loader can use.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::mode::Mode;
use crate::java;

static RUNTIME: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libtsan.so.2"));
static HOOKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hooks.o"));
static HOOKS_SHARED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hooks-shared.o"));
static HOOKS_STATIC: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hooks-static.o"));
static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libatomvet_agent.so"));
static AGENT_LIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libatomvet_agent_live.so"));
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
        for home in homes() {
            match unpack_below(&home.join(VERSION)) {
                Ok(library) => return Ok(library),
                Err(error) => problem = Some(error),
            }
        }
        Err(problem.unwrap_or_else(|| anyhow::anyhow!("no directory to unpack the runtime in")))
            .context("the runtime cannot be unpacked; set XDG_CACHE_HOME to a directory that can be written")
    }

    /// The library that programs load.
    pub(crate) fn file(&self) -> PathBuf {
        // For those who work on the runtime.
        if let Some(other) = std::env::var_os("ATOMVET_RUNTIME").filter(|path| !path.is_empty()) {
            return other.into();
        }
        // Programs that are built for ThreadSanitizer ask for a library of this name.
        self.directory.join("libtsan.so.2")
    }

    /// The agent of JVMs.
    pub(crate) fn agent(&self, mode: Mode) -> PathBuf {
        // For those who work on the agent.
        if let Some(other) = std::env::var_os("ATOMVET_AGENT").filter(|path| !path.is_empty()) {
            return other.into();
        }
        let is_live = mode == Mode::Live && java::judge_themselves();
        self.directory.join(if is_live { "libatomvet_agent_live.so" } else { "libatomvet_agent.so" })
    }
}

/// The directories to unpack in, the best first. In a directory that all users share, each user has one.
fn homes() -> impl Iterator<Item = PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let own = [cache, home].into_iter().flatten().map(|root| root.join("atomvet"));
    let shared = [std::env::temp_dir(), "/tmp".into()].map(|root| root.join(format!("atomvet-{}", user())));
    own.chain(shared).filter(|home| is_usable(home))
}

/// Whether the loader and linkers can be told such a path: `LD_PRELOAD` is split at spaces and colons, `-Wl` at commas.
fn is_usable(root: &Path) -> bool {
    !root.as_os_str().as_encoded_bytes().iter().any(|byte| b" :,\t\n".contains(byte))
}

#[cfg(unix)]
fn user() -> u32 {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() }
}

#[cfg(not(unix))]
fn user() -> u32 {
    0
}

/// Makes a directory that no other user can change or replace: what others can write is not to be loaded into programs.
#[cfg(unix)]
fn make_ours(directory: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    let made = fs::DirBuilder::new().mode(0o700).create(directory);
    let there = fs::symlink_metadata(directory).or_else(|error| made.and(Err(error)))?;
    let is_ours = there.is_dir() && there.uid() == user() && there.mode() & 0o002 == 0;
    ensure!(is_ours, "{}: belongs to another user, or everybody can write there", directory.display());
    Ok(())
}

#[cfg(not(unix))]
fn make_ours(directory: &Path) -> anyhow::Result<()> {
    Ok(fs::create_dir_all(directory)?)
}

fn unpack_below(directory: &Path) -> anyhow::Result<Library> {
    let files: [(&str, &[u8]); 8] = [
        ("libtsan.so.2", RUNTIME),
        ("hooks.o", HOOKS),
        ("hooks-shared.o", HOOKS_SHARED),
        ("hooks-static.o", HOOKS_STATIC),
        // What gcc links for ThreadSanitizer: nothing, so that no program depends on a library of ours.
        ("libtsan.a", EMPTY_ARCHIVE),
        ("libatomvet_agent.so", AGENT),
        ("libatomvet_agent_live.so", AGENT_LIVE),
        ("atomvet.h", HEADER),
    ];
    let home = directory.parent().context("a directory in another")?;
    home.parent().map_or(Ok(()), fs::create_dir_all)?;
    make_ours(home)?;
    make_ours(directory)?;
    make_ours(&directory.join("live"))?;
    for (name, bytes) in files {
        let file = directory.join(name);
        if fs::read(&file).is_ok_and(|there| there == bytes) {
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

    #[cfg(unix)]
    #[test]
    fn what_others_can_write_is_not_trusted() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let root = tempfile::tempdir().expect("a directory");
        let home = root.path().join("home");
        let version = home.join("1");
        let runtime = unpack_below(&version).expect("unpacked").directory.join("libtsan.so.2");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!([mode(&home), mode(&version)], [0o700; 2]);
        // Of the same length, and other bytes.
        fs::write(&runtime, vec![0; RUNTIME.len()]).expect("written");
        unpack_below(&version).expect("unpacked again");
        assert!(fs::read(&runtime).expect("there") == RUNTIME);
        for open in [&home, &version] {
            fs::set_permissions(open, fs::Permissions::from_mode(0o777)).expect("opened");
            assert!(unpack_below(&version).is_err(), "{}", open.display());
            fs::set_permissions(open, fs::Permissions::from_mode(0o700)).expect("closed");
        }
        let elsewhere = root.path().join("elsewhere");
        symlink(&home, &elsewhere).expect("a link");
        assert!(unpack_below(&elsewhere.join("1")).is_err());
    }

    #[test]
    fn a_path_that_the_loader_would_split_is_not_used() {
        assert!(is_usable(Path::new("/home/one/.cache")));
        assert!(["/home/a b", "/home/a:b", "/home/a,b"].iter().all(|path| !is_usable(Path::new(path))));
    }
}
