//! Runs the command as a user does.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// What a run of the command gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// Its standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Holds the run to a status.
    #[track_caller]
    pub(crate) fn ends_with(self, status: i32) -> Run {
        assert_eq!(self.status, Some(status), "{}\n{}", self.out, self.err);
        self
    }

    /// Holds the run to a part of its standard error.
    #[track_caller]
    pub(crate) fn complains(self, part: &str) -> Run {
        assert!(self.err.contains(part), "{part:?} not in {:?}", self.err);
        self
    }

    /// The same, wherever its lines were broken.
    #[track_caller]
    pub(crate) fn says(self, part: &str) -> Run {
        let words = self.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(part), "{part:?} not in {}", self.out);
        self
    }

    /// Holds the run to a part of its standard output.
    #[track_caller]
    pub(crate) fn prints(self, part: &str) -> Run {
        assert!(self.out.contains(part), "{part:?} not in {}", self.out);
        self
    }
}

/// The command, to be run with these words as its arguments.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atomvet"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the command.
pub(crate) fn atomvet(arguments: &[&str]) -> Run {
    atomvet_with(arguments, b"")
}

/// Runs the command with this on its standard input.
pub(crate) fn atomvet_with(arguments: &[&str], input: &[u8]) -> Run {
    let mut child = command(arguments).stdin(Stdio::piped()).spawn().expect("atomvet starts");
    // A command that does not read its standard input closes it: that is its right.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    let output = child.wait_with_output().expect("atomvet ends");
    Run {
        status: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap_or_else(|error| format!("{:?}", error.as_bytes())),
        err: String::from_utf8(output.stderr).expect("messages are UTF-8"),
    }
}

/// A directory with these files.
pub(crate) struct Files(TempDir);

impl Files {
    pub(crate) fn new(files: &[(&str, &str)]) -> Files {
        let directory = Files(tempfile::tempdir().expect("a temporary directory"));
        for (name, text) in files {
            directory.add(name, text.as_bytes());
        }
        directory
    }

    pub(crate) fn add(&self, name: &str, bytes: &[u8]) -> String {
        std::fs::write(self.path(name), bytes).expect("writes");
        self.at(name)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        Path::new(self.0.path()).join(name)
    }

    /// The path of a file as an argument.
    pub(crate) fn at(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_owned()
    }
}

/// One line per word: `T1|begin(a)|x.c:1 T1|end|x.c:2`.
pub(crate) fn trace(words: &str) -> String {
    words.split_whitespace().map(|word| format!("{word}\n")).collect()
}

/// Not serializable; the block `deposit` is violated at event 4: a lost update.
pub(crate) const LOST: &str = "T1|begin(deposit)|b.c:10 T1|r(x)|b.c:11 T2|begin(withdraw)|b.c:20 \
     T2|w(x)|b.c:21 T1|w(x)|b.c:12 T1|end|b.c:13 T2|end|b.c:22";

/// Serializable: two blocks, one after the other.
pub(crate) const CLEAN: &str = "T1|begin(a)|1 T1|w(x)|2 T1|end|3 T2|begin(b)|4 T2|r(x)|5 T2|end|6";

/// Not serializable at event 5, and no block is violated.
pub(crate) const UNBLAMED: &str =
    "T1|begin(a)|1 T2|begin(b)|2 T1|w(x)|3 T2|w(y)|4 T1|r(y)|5 T2|r(x)|6 T1|end|7 T2|end|8";
