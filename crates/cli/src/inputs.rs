//! Which traces are meant: files, folders, patterns and lists of them.
//!
//! | given | traces |
//! |---|---|
//! | a file, a pipe, `-` | itself |
//! | a folder | every file below it, sorted by path; hidden ones (`.name`) and links to folders are left out |
//! | a pattern such as `runs/**/*.atv` that is no file's name | every file it matches, sorted; a folder it matches counts as above |
//! | `--files-from LIST` | each line of LIST (or each NUL-terminated name), as above |
//!
//! What means no trace at all (an empty folder, a pattern without a match) is an error of its own row: a mistyped name must not
//! look like a clean run. A trace that is named twice is looked at once.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use atomvet_trace::{Error, ErrorKind, Place};

/// What is to be looked at, or why that cannot be found out.
pub(crate) type Given = Result<PathBuf, Error>;

/// Traces as given on the command line.
#[derive(clap::Args, Debug)]
pub(crate) struct Inputs {
    /// Traces, text or binary, plain or compressed; folders of them; patterns such as 'runs/**/*.atv'; - is standard input
    #[arg(required_unless_present = "files_from", value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// Also take the traces, folders and patterns that this file lists, one per line (- is standard input)
    #[arg(long, value_name = "LIST")]
    pub(crate) files_from: Option<PathBuf>,
}

impl Inputs {
    /// All traces, in the order given.
    pub(crate) fn expand(&self) -> anyhow::Result<Vec<Given>> {
        let mut given = Vec::new();
        let listed = self.files_from.as_deref().map(list).transpose()?.unwrap_or_default();
        for path in self.traces.iter().chain(&listed) {
            expand(path, &mut given);
        }
        if let (true, Some(list)) = (given.is_empty(), &self.files_from) {
            bail!("{}: names no trace; put one on each line", list.display());
        }
        let mut seen = HashSet::new();
        // Standard input cannot be read twice, and says so itself.
        given.retain(|given| match given {
            Ok(path) => path.as_os_str() == "-" || seen.insert(path.clone()),
            Err(_) => true,
        });
        Ok(given)
    }
}

fn list(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut text = String::new();
    let read = match path.as_os_str() == "-" {
        true => std::io::stdin().read_to_string(&mut text),
        false => fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text)),
    };
    read.with_context(|| format!("{}: the list of traces cannot be read", path.display()))?;
    let end = if text.contains('\0') { '\0' } else { '\n' };
    let names = text.split(end).map(|name| if end == '\n' { name.trim_end_matches('\r') } else { name });
    Ok(names.filter(|name| !name.is_empty()).map(PathBuf::from).collect())
}

fn expand(path: &Path, given: &mut Vec<Given>) {
    if path.is_dir() {
        let before = given.len();
        folder(path, given);
        if given.len() == before {
            given.push(Err(nothing(path, "has no files in it", "give a folder of traces")));
        }
        return;
    }
    let text = path.to_string_lossy();
    if path.exists() || !text.contains(['*', '?', '[']) {
        return given.push(Ok(path.to_owned()));
    }
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::new() };
    let matches = match glob::glob_with(&text, options) {
        Ok(matches) => matches,
        Err(error) => {
            let problem = format!("is no pattern: {error}");
            return given.push(Err(nothing(path, &problem, "use *, **, ? and [a-z]")));
        }
    };
    let before = given.len();
    for found in matches {
        match found {
            // `**` matches folders besides what is in them.
            Ok(found) if found.is_dir() && text.contains("**") => {}
            Ok(found) => expand_found(&found, given),
            Err(error) => given.push(Err(io_error(error.path(), error.error()))),
        }
    }
    if given.len() == before {
        given.push(Err(nothing(path, "matches no file", "check the pattern and the folder it starts from")));
    }
}

fn expand_found(path: &Path, given: &mut Vec<Given>) {
    if path.is_dir() { folder(path, given) } else { given.push(Ok(path.to_owned())) }
}

/// The files below a folder, sorted.
fn folder(path: &Path, given: &mut Vec<Given>) {
    let entries = match fs::read_dir(path).and_then(Iterator::collect::<std::io::Result<Vec<_>>>) {
        Ok(entries) => entries,
        Err(error) => return given.push(Err(io_error(path, &error))),
    };
    let mut entries: Vec<_> = entries
        .into_iter()
        .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
        .map(|entry| (entry.path(), entry.file_type()))
        .collect();
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (path, kind) in entries {
        match kind {
            Ok(kind) if kind.is_dir() => folder(&path, given),
            Ok(kind) if kind.is_symlink() && path.is_dir() => {}
            Ok(_) => given.push(Ok(path)),
            Err(error) => given.push(Err(io_error(&path, &error))),
        }
    }
}

fn io_error(path: &Path, error: &std::io::Error) -> Error {
    nothing(path, &format!("cannot be read: {error}"), "check its permissions")
}

fn nothing(path: &Path, problem: &str, help: &str) -> Error {
    Error {
        file: path.to_string_lossy().into_owned(),
        place: Place::Whole,
        kind: ErrorKind::Io,
        problem: problem.to_owned(),
        help: help.to_owned(),
    }
}
