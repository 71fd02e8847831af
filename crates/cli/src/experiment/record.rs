//! A measured cell, and the file of them: one line of JSON per cell, written when the cell is done. A rerun skips cells whose
//! key is in the file, so an experiment that was stopped goes on where it was.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use crate::say;

/// How a cell ended.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    /// It was measured.
    Done,
    /// It took longer than it may.
    Timeout,
    /// It needed more memory than it may have.
    Memory,
    /// The input is bad, the process crashed, or it ended with a status that means a failure.
    Failed,
}

impl Outcome {
    /// As in tables.
    pub(crate) fn short(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Timeout => "TO",
            Outcome::Memory => "OOM",
            Outcome::Failed => "failed",
        }
    }
}

/// A cell as it was measured.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Record {
    /// The same for the same cell with the same inputs.
    pub(crate) key: String,
    /// The trace or program.
    pub(crate) subject: String,
    /// The algorithm, or what stands for one.
    pub(crate) algorithm: String,
    /// From 1.
    pub(crate) repetition: u32,
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// Why it is not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// Seconds of the whole process.
    pub(crate) wall: f64,
    /// Processor time of the process and all that it waited for.
    pub(crate) cpu: f64,
    /// The most resident memory of one process, in bytes.
    pub(crate) resident: u64,
    /// What the checker says, if it came to an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) measure: Option<Measure>,
}

/// What a checker says about a subject, and what it took.
#[derive(Serialize, Deserialize, Clone, Default, Debug)]
pub(crate) struct Measure {
    /// Seconds of the checker's own work.
    pub(crate) seconds: f64,
    /// Bytes of the checker's own memory, at most.
    pub(crate) peak: u64,
    /// Events, up to where it stopped.
    pub(crate) events: u64,
    /// Threads that did something.
    pub(crate) threads: u64,
    /// Different locks.
    pub(crate) locks: u64,
    /// Different variables.
    pub(crate) variables: u64,
    /// Blocks entered.
    pub(crate) blocks: u64,
    /// Outermost blocks and single events.
    pub(crate) transactions: u64,
    /// Whether the trace is serializable; none for checkers that predict.
    pub(crate) serializable: Option<bool>,
    /// The event at which it is known not to be.
    pub(crate) first_event: Option<u64>,
    /// Blamed blocks by name, with how many instances of each.
    pub(crate) blamed: BTreeMap<String, u64>,
    /// Those of them that are inside no other block.
    #[serde(default)]
    pub(crate) outermost: BTreeMap<String, u64>,
    /// Cycles for which no block is blamed.
    pub(crate) unblamed: u64,
    /// Data races.
    pub(crate) races: u64,
    /// Potential deadlocks.
    pub(crate) deadlocks: u64,
    /// Not everything was judged: a budget was spent.
    pub(crate) incomplete: bool,
    /// The figures of its paper.
    pub(crate) figures: BTreeMap<String, u64>,
}

impl Measure {
    /// How many instances of blocks are blamed.
    pub(crate) fn instances(&self) -> u64 {
        self.blamed.values().sum()
    }
}

/// The results file.
pub(crate) struct Results {
    file: File,
    path: PathBuf,
}

impl Results {
    /// Opens the file, and reads the cells that it has. A last line that is cut off, as after a crash, does not count.
    pub(crate) fn open(path: &Path) -> anyhow::Result<(Results, HashMap<String, Record>)> {
        let shown = path.display();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => bail!("{shown}: cannot be read: {error}; --results names another file"),
        };
        let mut known = HashMap::new();
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        for (index, line) in text[..whole].lines().enumerate() {
            let record: Record = serde_json::from_str(line).with_context(|| {
                format!("{shown}:{}: is no cell of an experiment; --results names another file", index + 1)
            })?;
            known.insert(record.key.clone(), record);
        }
        if whole < text.len() {
            say::note(format!("{shown}: the last line is cut off; its cell is measured again"));
        }
        let file = File::options().create(true).append(true).open(path);
        let file =
            file.with_context(|| format!("{shown}: cannot be written; --results names another file"))?;
        file.set_len(whole as u64).with_context(|| format!("{shown}: cannot be written"))?;
        Ok((Results { file, path: path.to_owned() }, known))
    }

    /// Adds a cell that is done.
    pub(crate) fn add(&mut self, record: &Record) -> anyhow::Result<()> {
        let line = serde_json::to_string(record)? + "\n";
        // One write per line: a crash leaves whole lines, or a last one that is cut off.
        self.file
            .write_all(line.as_bytes())
            .with_context(|| format!("{}: cannot be written", self.path.display()))
    }
}
