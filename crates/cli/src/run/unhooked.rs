//! Source files whose code is part of a watched program or library and calls no hook: they were compiled without them, and
//! what they do is not seen.
//!
//! Compilers put hooks into nearly every function, and gcc adds a function that calls `__tsan_init` to every object. So a
//! source file was compiled without if no function calls a hook that was compiled with it, be it from a header. Which file that is
//! is said by the debug information. Code without that is named by the source files in the symbol table that no hooked function is from, or
//! else by its functions. Of a stripped program nothing can be said.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use super::calls::{Calls, Function};
use super::dwarf::CompilationUnits;
use super::symbols::{demangle, is_system};

/// How many functions stand for code of which no source file is known.
const FUNCTIONS: usize = 3;

/// The source files without hooks in a program or library that has some; `debug` is the same file or its debug file. What was
/// found is kept: a test runner starts the same program again and again.
pub(crate) fn sources(path: &Path, debug: &Path) -> Vec<String> {
    type Key = (PathBuf, Option<SystemTime>);
    static KNOWN: Mutex<BTreeMap<Key, Vec<String>>> = Mutex::new(BTreeMap::new());
    let changed = std::fs::metadata(path).and_then(|there| there.modified()).ok();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let find = || Some(without_hooks(&Calls::read(path, debug)?, &CompilationUnits::read(debug)));
    known.entry((path.to_owned(), changed)).or_insert_with(|| find().unwrap_or_default()).clone()
}

fn without_hooks(calls: &Calls, units: &CompilationUnits) -> Vec<String> {
    let of_user = calls.functions().iter().filter(|function| !comes_with_toolchain(function));
    let (hooked, silent): (Vec<&Function>, Vec<&Function>) =
        of_user.partition(|function| calls.named_by(function).into_iter().any(is_hook));
    if hooked.is_empty() {
        return Vec::new();
    }
    let mut files = BTreeSet::new();
    let mut of_unknown_file = Vec::new();
    for function in silent {
        match units.at(function.start) {
            Some(file) if is_system(Path::new(file)) => {}
            Some(file) => drop(files.insert(file.to_owned())),
            None if is_reserved(&function.name) => {}
            None => of_unknown_file.push(function),
        }
    }
    let mut hooked_sources: BTreeSet<&str> = BTreeSet::new();
    for function in hooked {
        hooked_sources.extend(function.source.as_deref().map(last_part));
        if let Some(file) = units.at(function.start) {
            hooked_sources.insert(last_part(file));
            files.remove(file);
        }
    }
    files.extend(unknown_files(calls, &of_unknown_file, &hooked_sources));
    files.into_iter().collect()
}

/// What to call code without debug information.
fn unknown_files(calls: &Calls, functions: &[&Function], hooked_sources: &BTreeSet<&str>) -> Vec<String> {
    if functions.is_empty() {
        return Vec::new();
    }
    let is_left = |source: &&str| !hooked_sources.contains(last_part(source)) && !is_of_toolchain(source);
    let left: BTreeSet<&str> = calls.sources().filter(is_left).collect();
    if !left.is_empty() {
        return left.into_iter().map(str::to_owned).collect();
    }
    // Those whose source is known share it with hooked functions.
    let nameless = functions.iter().filter(|function| function.source.is_none());
    let names: Vec<String> = nameless.map(|function| demangle(&function.name)).collect();
    let mut shown = names[..names.len().min(FUNCTIONS)].join(", ");
    if names.len() > FUNCTIONS {
        shown.push_str(&format!(" and {} more functions", names.len() - FUNCTIONS));
    }
    if names.is_empty() { Vec::new() } else { vec![shown] }
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether compilers call a function of this name as a hook.
pub(crate) fn is_hook(name: &str) -> bool {
    name.starts_with("__tsan_") || name.starts_with("__cyg_profile_") || name.starts_with("atomvet_")
}

/// Whether a function was not written by the user: what starts a program, and the hooks that `atomvet cc` links.
fn comes_with_toolchain(function: &Function) -> bool {
    const START: [&str; 9] = [
        "_start",
        "_init",
        "_fini",
        "deregister_tm_clones",
        "register_tm_clones",
        "frame_dummy",
        "atexit",
        "at_quick_exit",
        "pthread_atfork",
    ];
    is_hook(&function.name)
        || START.contains(&&*function.name)
        || function.source.as_deref().is_some_and(is_of_toolchain)
        || function.name.starts_with("Annotate")
        || matches!(&*function.name, "RunningOnValgrind" | "ValgrindSlowdown")
}

/// Objects that every program has, by their names in the symbol table.
fn is_of_toolchain(source: &str) -> bool {
    matches!(source, "crtstuff.c" | "tsan_preinit.cpp" | "tsan_preinit.cc")
        || source.ends_with(".o")
        || source.starts_with("atomvet_hooks.")
}

/// Names that no program may give to functions of its own: those of the C and C++ libraries, which may be linked statically.
fn is_reserved(name: &str) -> bool {
    if name.starts_with("_Z") { is_of_cpp_library(name) } else { name.starts_with('_') }
}

/// Whether a mangled name is one of the C++ library.
pub(crate) fn is_of_cpp_library(name: &str) -> bool {
    let name = demangle(name);
    // What is in braces says what was made of a function.
    if name.starts_with('{') {
        return name.contains(" std::");
    }
    let name = name.strip_prefix("transaction clone for ").unwrap_or(&name);
    // Names with an underscore in front are the library's, too.
    ["std::", "_", "operator "].iter().any(|start| name.starts_with(start))
}
