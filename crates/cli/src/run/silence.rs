//! Why a program said nothing, from what its file says about how it was built.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol};

use super::symbols::map;
use super::unhooked::is_hook;

/// What to do about a program without hooks.
pub(crate) const REBUILD: &str =
    "build it with CC=\"atomvet cc\" CXX=\"atomvet c++\", or with gcc -fsanitize=thread -g";

/// The reason, and what to do about it.
pub(crate) fn why_silent(program: &OsStr) -> String {
    let path = find(program);
    let bytes = map(&path);
    let bytes = bytes.as_deref().unwrap_or_default();
    if bytes.starts_with(b"#!") {
        return format!(
            "it is a script, and no program that it ran calls hooks; for each of them, {REBUILD}"
        );
    }
    let Ok(file) = object::File::parse(bytes) else { return format!("it calls no hooks; {REBUILD}") };
    let symbols = || file.symbols().chain(file.dynamic_symbols());
    let hooks = || symbols().filter(|symbol| symbol.name().is_ok_and(|name| name.starts_with("__tsan_")));
    let is_linked_by_us = has_note(&file);
    if !is_linked_by_us && hooks().any(|hook| hook.is_definition() && hook.name() == Ok("__tsan_init")) {
        return "it contains ThreadSanitizer's own runtime, as clang links it; link it again with \
            ATOMVET_CC=clang CC=\"atomvet cc\" (ATOMVET_CXX=clang++ CXX=\"atomvet c++\"); objects need no rebuild"
            .to_owned();
    }
    if file.section_by_name(".interp").is_none() {
        return format!(
            "it is linked statically, so that no runtime can be loaded; without -static, {REBUILD}"
        );
    }
    let is_privileged = |rights: std::fs::Metadata| rights.permissions().mode() & 0o6000 != 0;
    if std::fs::metadata(&path).is_ok_and(is_privileged) {
        return "it runs with the rights of another user, so that no runtime can be loaded; \
            take away its set-user-ID and set-group-ID bits for the test"
            .to_owned();
    }
    if is_linked_by_us || hooks().next().is_some() {
        return "it is built for it, but came to no instrumented code; see how it ended".to_owned();
    }
    format!("it calls no hooks; {REBUILD}")
}

/// Whether a program or library was built with hooks. False if it cannot be read.
pub(crate) fn has_hooks(path: &Path) -> bool {
    let Some(bytes) = map(path) else { return false };
    let Ok(file) = object::File::parse(&*bytes) else { return false };
    let symbols = || file.symbols().chain(file.dynamic_symbols());
    has_note(&file) || symbols().any(|symbol| symbol.name().is_ok_and(is_hook))
}

/// Whether `atomvet cc` has linked a file: then it has a note, which nobody strips.
pub(crate) fn has_note(file: &object::File<'_>) -> bool {
    file.section_by_name(".note.atomvet").is_some()
}

/// The file that is run under this name.
fn find(program: &OsStr) -> PathBuf {
    let named = Path::new(program);
    if named.components().count() > 1 {
        return named.to_owned();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there =
        std::env::split_paths(&path).map(|directory| directory.join(named)).find(|file| file.is_file());
    there.unwrap_or_else(|| named.to_owned())
}
