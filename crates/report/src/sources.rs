//! Source text, for excerpts. Sites come from traces, so they may name any file: only regular files below the given
//! folders are read, whatever dots, links or roots a path has.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Files larger than this are not source text.
const LARGEST_FILE: u64 = 4 << 20;
/// So many files are read for one report.
const MOST_FILES: usize = 500;
/// Lines are cut to so many characters.
const LONGEST_LINE: usize = 200;

/// The source files below some folders.
#[derive(Default, Debug)]
pub struct Sources {
    /// Without links and dots.
    roots: Vec<PathBuf>,
    /// What was asked for before: its path below a root, and its lines.
    files: HashMap<String, Option<SourceFile>>,
}

#[derive(Debug)]
struct SourceFile {
    below: PathBuf,
    lines: Vec<String>,
}

impl Sources {
    /// None.
    pub fn none() -> Sources {
        Sources::default()
    }

    /// Those below these folders, which are looked at in this order. A folder that does not exist has none.
    pub fn below(roots: &[PathBuf]) -> Sources {
        let roots = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
        Sources { roots, files: HashMap::new() }
    }

    /// A line of a file as a trace names it, from 1, safe to show.
    pub fn line(&mut self, file: &str, line: u32) -> Option<&str> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        self.file(file)?.lines.get(index).map(String::as_str)
    }

    /// The path of a file relative to the folder that it was found below.
    pub fn relative(&mut self, file: &str) -> Option<&Path> {
        self.file(file).map(|found| found.below.as_path())
    }

    fn file(&mut self, name: &str) -> Option<&SourceFile> {
        if !self.files.contains_key(name) {
            let read = self.files.values().flatten().count();
            let found = if read < MOST_FILES { self.find(name) } else { None };
            self.files.insert(name.to_owned(), found);
        }
        self.files.get(name)?.as_ref()
    }

    fn find(&self, name: &str) -> Option<SourceFile> {
        let path = Path::new(name);
        if name.contains('\0') || path.components().any(|part| matches!(part, Component::ParentDir)) {
            return None;
        }
        // What was built elsewhere has other leading folders: the longest rest that exists is taken.
        let parts: Vec<Component<'_>> =
            path.components().filter(|part| matches!(part, Component::Normal(_))).collect();
        let rests = if path.is_absolute() { parts.len() } else { 1 };
        for root in &self.roots {
            let whole = path.is_absolute().then(|| path.to_owned());
            let below =
                (0..rests).map(|skip| root.join(parts[skip.min(parts.len())..].iter().collect::<PathBuf>()));
            if let Some(found) = whole.into_iter().chain(below).find_map(|candidate| read(root, &candidate)) {
                return Some(found);
            }
        }
        None
    }
}

fn read(root: &Path, path: &Path) -> Option<SourceFile> {
    // Without links: what is checked is what is read.
    let path = path.canonicalize().ok()?;
    let below = path.strip_prefix(root).ok()?.to_owned();
    let metadata = path.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST_FILE {
        return None;
    }
    let bytes = std::fs::read(&path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let shown = |line: &str| crate::visible::visible_within(&line.replace('\t', "    "), LONGEST_LINE);
    Some(SourceFile { below, lines: text.lines().map(shown).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_below_the_roots_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("root/src")).expect("made");
        std::fs::write(at("secret.c"), "secret\n").expect("written");
        std::fs::write(at("root/src/a.c"), "one\n\ttwo\u{1b}[2J\n").expect("written");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("secret.c"), at("root/link.c")).expect("linked");
            std::os::unix::fs::symlink(folder.path(), at("root/up")).expect("linked");
        }
        let mut sources = Sources::below(&[at("nowhere"), at("root")]);
        assert_eq!(sources.line("src/a.c", 2), Some("    two\\e[2J"));
        assert_eq!(sources.line(&at("root/src/a.c").display().to_string(), 1), Some("one"));
        assert_eq!(sources.line("/built/elsewhere/src/a.c", 1), Some("one"));
        assert_eq!(sources.relative("/built/elsewhere/src/a.c"), Some(Path::new("src/a.c")));
        for line in [0, 3, u32::MAX] {
            assert_eq!(sources.line("src/a.c", line), None);
        }
        let secret = at("secret.c").display().to_string();
        let outside = [
            "../secret.c",
            "src/../../secret.c",
            &secret,
            "link.c",
            "up/secret.c",
            "src",
            "",
            "\0",
            "/",
            ".",
        ];
        for name in outside {
            assert_eq!(sources.line(name, 1), None, "{name}");
        }
        assert_eq!(Sources::none().line(&secret, 1), None);
    }
}
