//! The JSON contract `atomvet-report/1` as types that write it and read it. `docs/json.md` says what each field
//! means and how the version changes; `docs/report.schema.json` says the same for programs.
//!
//! Every rendering is made from this and nothing else, so that a report that was kept can be rendered later and
//! elsewhere. Reading heeds what the contract promises: unknown fields are ignored, unknown words are kept, and fields
//! that were added later may be missing.

use std::fmt;

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name and version of the contract.
pub const SCHEMA: &str = "atomvet-report/1";

/// A whole report. (Other commands have reports of the same form with other entries.)
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
#[serde(bound(deserialize = "T: serde::de::DeserializeOwned"))]
pub struct Report<T = Trace> {
    /// Always first, so that a reader knows what it reads.
    pub schema: String,
    /// One entry per trace, in the order given.
    pub traces: Vec<Entry<T>>,
    /// What was found and does not count; absent if nobody said that anything should not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<SetAside>,
}

/// How many findings do not count, and what was said about findings that do not exist. Findings are counted by
/// fingerprint, over all traces.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
pub struct SetAside {
    /// Suppressed by the configuration.
    pub suppressed: u64,
    /// Listed in the baseline.
    pub in_baseline: u64,
    /// Benign by an idiom, per idiom.
    pub by_idiom: Figures,
    /// Suppressions that no finding needed.
    pub unused_suppressions: Vec<UnusedSuppression>,
    /// Entries of the baseline that were not found.
    pub baseline_not_found: u64,
}

/// A suppression that no finding needed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct UnusedSuppression {
    /// Where it stands: `atomvet.toml:12`.
    pub at: String,
    /// What it asks for, in one line: `block = "deposit"`.
    pub what: String,
    /// The reason given there.
    pub reason: String,
}

/// Why a finding does not count: somebody said so.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Suppression {
    /// Where that is said: `atomvet.toml:12`, or `baseline`.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// Why a finding does not count: it would not be one without accesses that an idiom names.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Idiom {
    /// As in `--idiom`.
    pub name: String,
    /// What the idiom means, in a sentence.
    pub meaning: String,
    /// Accesses of this finding's witness that do not count.
    pub accesses: Vec<u64>,
}

/// One trace: checked, or not readable.
#[derive(Clone, PartialEq, Serialize, Debug)]
#[serde(untagged)]
pub enum Entry<T = Trace> {
    /// It was read.
    Whole(T),
    /// It was not.
    Failed(Box<Failed>),
}

impl<T> Entry<T> {
    /// Whether it was not readable.
    pub fn is_failed(&self) -> bool {
        matches!(self, Entry::Failed(_))
    }
}

/// A trace that could not be read.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Failed {
    /// The path as given.
    pub trace: String,
    /// What is wrong with it.
    pub error: ErrorEntry,
}

/// What is wrong with a trace, and where.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct ErrorEntry {
    /// `io`, `syntax`, `version`, `truncated`, `discipline` or `interrupted`.
    pub kind: String,
    /// The whole message, as on standard error.
    pub message: String,
    /// Which file.
    pub file: String,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// From 1, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// Bytes from the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Events before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<u64>,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub help: String,
}

/// A trace that was checked.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Trace {
    /// The path as given; `-` is standard input.
    pub trace: String,
    /// What the verdicts speak of.
    #[serde(flatten)]
    pub coverage: Coverage,
    /// The exit status of a check of this trace alone. Added later; absent if the report is not of `check`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u8>,
    /// How its events were understood. Added later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conventions: Option<Conventions>,
    /// If it is of a program that was run: how much of it was seen, and how it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Value>,
    /// All passes together.
    pub seconds: f64,
    /// Names that the specification lists and that were never entered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unused_spec: Option<Vec<String>>,
    /// The blocks that were entered, by name. Added later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entered: Vec<Entered>,
    /// What each algorithm says, in the order asked for.
    pub checkers: Vec<Checker>,
    /// The transactions in an equivalent order; null if there is none, absent if nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "null_is_there")]
    pub serial_order: Option<Option<Vec<Transaction>>>,
    /// What the independent judge says about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial_order_verified: Option<bool>,
}

/// What the verdicts speak of.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct Coverage {
    /// All events, repaired and left-out ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
    /// Threads that did something.
    pub threads: u64,
    /// Different variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<u64>,
    /// Different locks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locks: Option<u64>,
    /// Blocks entered.
    pub blocks: u64,
    /// Those that are inside no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outermost_blocks: Option<u64>,
    /// Events outside every block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unary: Option<u64>,
    /// Outermost blocks and unary events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions: Option<u64>,
    /// Accesses that the specification leaves out, because it ignores their variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored_accesses: Option<u64>,
    /// Repairs made by `--lenient`.
    pub repairs: u64,
    /// The same by kind.
    pub repaired: Figures,
    /// The verdicts speak of a part of the trace only, or witnesses are missing.
    pub partial: bool,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_reason: Option<String>,
    /// False if nothing could be observed.
    pub observed: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How the events of a trace were understood (`docs/event-model.md`), and who said so: `option`, `trace` (as it was recorded),
/// `configuration` or `default`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Conventions {
    /// `split`, if waits split blocks, or `whole`.
    pub waits: String,
    /// Who said so.
    pub waits_by: String,
    /// `commute`, if like updates do until the value is read, or `conflict`.
    pub updates: String,
    /// Who said so.
    pub updates_by: String,
    /// `locks`: operations on the same lock conflict, besides accesses; or `data`: accesses only.
    pub conflicts: String,
    /// Who said so.
    #[serde(default)]
    pub conflicts_by: String,
    /// `all`, or `filtered` if accesses were left out that the verdict on this execution does not need. Absent if the trace
    /// does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accesses: Option<String>,
}

impl Conventions {
    /// In a few words.
    pub fn words(&self) -> String {
        let by = |by: &str| match by {
            "option" => " by option",
            "trace" => " as recorded",
            "configuration" => " by configuration",
            _ => "",
        };
        let waits = if self.waits == "split" { "blocks split at waits" } else { "blocks whole across waits" };
        let updates = if self.updates == "commute" { "updates commute" } else { "updates conflict" };
        let left_out = if self.leaves_out() { ", accesses left out" } else { "" };
        let conflicts = match (self.conflicts.as_str(), self.conflicts_by.as_str()) {
            ("data", said) => format!(", data conflicts{}", by(said)),
            (_, "option") => ", lock conflicts by option".to_owned(),
            _ => String::new(),
        };
        format!("{waits}{}, {updates}{}{conflicts}{left_out}", by(&self.waits_by), by(&self.updates_by))
    }

    /// Whether accesses were left out.
    pub fn leaves_out(&self) -> bool {
        self.accesses.as_deref() == Some("filtered")
    }
}

/// A block that was entered, however often, and what was found about it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Entered {
    /// Its label, or `@` and the place where it begins.
    pub block: String,
    /// How often it was entered.
    pub executions: u64,
    /// How many of these were seen violated, by the algorithm that counted most.
    pub violated: u64,
    /// How many violations are predicted for it, by the algorithm that predicts most.
    pub predicted: u64,
}

impl Entered {
    /// Whether nothing is known against it.
    pub fn is_clean(&self) -> bool {
        self.violated == 0 && self.predicted == 0
    }
}

/// What an algorithm says, in the words of its world.
#[derive(Clone, PartialEq, Serialize, Debug)]
#[serde(untagged)]
pub enum Checker {
    /// About the recorded execution.
    Observed(Observed),
    /// About other schedules of it.
    Predictive(Predictive),
}

/// An algorithm that judges the recorded execution.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Observed {
    /// As in `--algo`.
    pub name: String,
    /// `observed`.
    pub kind: String,
    /// Verdict on the trace; none if blocks alone were judged, as in a program that judges itself.
    pub serializable: Option<bool>,
    /// The event at which the prefix stops being serializable.
    pub first_cycle_event: Option<u64>,
    /// Verdicts on blocks, and cycles for which no block is blamed.
    pub violations: Vec<Violation>,
    /// The figures of its paper.
    pub stats: Figures,
    /// Its own work.
    pub seconds: f64,
    /// The most memory it had in use at once.
    pub peak_bytes: u64,
}

/// A block that was not atomic, or a cycle without one to blame.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Violation {
    /// How sure: `observed`.
    pub strength: String,
    /// The block that is not atomic.
    pub block: Option<Block>,
    /// No block inside this one was violated by the same event.
    pub innermost: bool,
    /// The outermost block around it, or the transaction that completed the cycle.
    pub transaction: Block,
    /// The event that completed the violation.
    pub event: u64,
    /// What it does.
    pub op: String,
    /// Where.
    pub site: Option<String>,
    /// The name of the anomaly.
    pub shape: Option<String>,
    /// The shortest cycle, step by step.
    pub witness: Vec<Step>,
    /// A cycle of accesses alone, where synchronization closes the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_witness: Option<Vec<Step>>,
    /// What the events are that the rest names by number, in the order of the trace. Added later: reports of the first
    /// versions have none.
    #[serde(default)]
    pub events: Vec<SceneEvent>,
    /// What the independent verifier says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// What it objects to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify_error: Option<String>,
    /// The same for the same mistake in every run.
    pub fingerprint: String,
    /// How many instances this entry stands for.
    pub count: u64,
    /// Why it does not count: somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppression: Option<Suppression>,
    /// Why it does not count: it is benign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idiom: Option<Idiom>,
}

impl Violation {
    /// The cycle that is easier to understand.
    pub fn clearest(&self) -> &[Step] {
        self.data_witness.as_deref().unwrap_or(&self.witness)
    }
}

/// A block, known by where it begins.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Block {
    /// Its identity.
    pub begin_event: u64,
    /// Its thread.
    pub thread: String,
    /// What the program calls it.
    pub label: Option<String>,
    /// Where it begins.
    pub site: Option<String>,
}

/// Why one event comes before another.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Step {
    /// The earlier one.
    pub from: u64,
    /// The later one.
    pub to: u64,
    /// `write-read`, `release-acquire`, `program-order`, …
    pub because: String,
    /// The variable, lock, thread or barrier.
    pub on: String,
}

/// An event that a witness names.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct SceneEvent {
    /// Its number.
    pub event: u64,
    /// Its thread.
    pub thread: String,
    /// Its word in the text format.
    pub op: String,
    /// The variable, lock, thread, barrier or label.
    pub on: Option<String>,
    /// Where.
    pub site: Option<String>,
    /// The outermost block that it is in.
    pub block: Option<Block>,
    /// The locks that its thread alone holds there, by the order of the events, as it took them. Added later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
    /// Events of that block that come before it, and after the one listed before it (or the block's begin), and that
    /// play no part. Added later.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: u64,
    /// The last few of those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<LocalEvent>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// An event that plays no part in a witness, of the thread and block of the event that it is listed with.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct LocalEvent {
    /// Its number.
    pub event: u64,
    /// Its word in the text format.
    pub op: String,
    /// The variable, lock, thread, barrier or label.
    pub on: Option<String>,
    /// Where.
    pub site: Option<String>,
}

/// A transaction of a serial order.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Transaction {
    /// Its first event.
    pub event: u64,
    /// Its thread.
    pub thread: String,
    /// False for a single event outside every block.
    pub block: bool,
    /// The block's label.
    pub label: Option<String>,
    /// Where.
    pub site: Option<String>,
}

/// An algorithm that judges other schedules.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Predictive {
    /// As in `--algo`.
    pub name: String,
    /// `predictive`.
    pub kind: String,
    /// No violation is predicted.
    pub atomic: bool,
    /// Everything was judged.
    pub complete: bool,
    /// Why nothing was judged. Added later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_judged: Option<String>,
    /// Blocks that are not atomic in some schedule.
    pub violations: Vec<Prediction>,
    /// Conflicting accesses that nothing keeps apart.
    pub races: Vec<Race>,
    /// Threads that could wait for each other for ever.
    pub deadlocks: Vec<Deadlock>,
    /// What locks alone allow and no schedule shows, if that was not asked for. Added later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// The figures of its paper.
    pub stats: Figures,
    /// Its own work.
    pub seconds: f64,
    /// The most memory it had in use at once.
    pub peak_bytes: u64,
}

/// How much is not listed, because locks alone allow it and no schedule shows it.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct LeftOut {
    /// Violations.
    pub violations: u64,
    /// Deadlocks.
    pub deadlocks: u64,
    /// Races.
    pub races: u64,
    /// Violations and deadlocks of which it is not known whether there is a schedule: the search was cut off.
    pub undecided: u64,
}

/// A read that sees another write in a schedule than it saw in the recording.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct RelaxedRead {
    /// Its number.
    pub event: u64,
    /// Its thread.
    pub thread: String,
    /// The variable.
    pub on: String,
    /// Where.
    pub site: Option<String>,
    /// The outermost block that it is in.
    pub block: Option<String>,
}

/// A block that is not atomic in some schedule.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Prediction {
    /// How sure.
    pub strength: String,
    /// `pattern` or `movers`.
    pub reason: String,
    /// The innermost block that has the first and the last event.
    pub block: Block,
    /// The outermost block around it.
    pub transaction: Block,
    /// The name of the anomaly; null for `movers`.
    pub shape: Option<String>,
    /// What it is about.
    pub variables: Vec<String>,
    /// The pattern, in the order of the bad schedule.
    pub events: Vec<Moment>,
    /// Which of them conflict, the first before the second.
    pub order: Vec<(usize, usize)>,
    /// Holding one of these throughout would prevent it.
    pub locks: Vec<String>,
    /// The trace that shows it.
    pub schedule: Option<String>,
    /// What became of the search for a schedule.
    pub search: String,
    /// The reads that see other values in the schedule. Added later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relaxed: Vec<RelaxedRead>,
    /// What is wrong with the schedule: an internal error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify_error: Option<String>,
    /// The same for the same mistake in every run.
    pub fingerprint: String,
    /// How many instances this entry stands for.
    pub count: u64,
    /// Why it does not count: somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppression: Option<Suppression>,
    /// Why it does not count: it is benign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idiom: Option<Idiom>,
}

/// An event and the locks held there.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Moment {
    /// Its number.
    pub event: u64,
    /// Its thread.
    pub thread: String,
    /// Its word in the text format.
    pub op: String,
    /// The variable or lock.
    pub on: Option<String>,
    /// Where.
    pub site: Option<String>,
    /// In the order in which they were taken.
    pub locks: Vec<String>,
}

/// Two conflicting accesses that nothing keeps apart.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Race {
    /// Of what.
    pub variable: String,
    /// The two.
    pub events: [Moment; 2],
    /// What became of the search for a schedule that brings them next to each other. Added later.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub search: String,
    /// The same for the same mistake in every run.
    pub fingerprint: String,
    /// How many instances this entry stands for.
    pub count: u64,
    /// Why it does not count: somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppression: Option<Suppression>,
}

/// Threads that could wait for each other for ever.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Deadlock {
    /// Each wants what the next one has.
    pub cycle: Vec<Waiting>,
    /// How sure. Added later: empty in older reports.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub strength: String,
    /// The trace that shows it. Added later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// What became of the search for a schedule. Added later.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub search: String,
    /// The reads that see other values in the schedule. Added later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relaxed: Vec<RelaxedRead>,
    /// What is wrong with the schedule: an internal error. Added later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_error: Option<String>,
    /// The same for the same mistake in every run.
    pub fingerprint: String,
    /// How many instances this entry stands for.
    pub count: u64,
    /// Why it does not count: somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppression: Option<Suppression>,
}

/// A thread that has a lock and wants another.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Waiting {
    /// Which.
    pub thread: String,
    /// The acquire of the lock that it has.
    pub has: Moment,
    /// The acquire of the lock that it wants.
    pub wants: Moment,
    /// What it holds besides.
    pub gates: Vec<String>,
}

/// Named figures: an object that keeps its order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Figures(pub Vec<(String, u64)>);

impl<N: Into<String>> FromIterator<(N, u64)> for Figures {
    fn from_iter<I: IntoIterator<Item = (N, u64)>>(figures: I) -> Self {
        Figures(figures.into_iter().map(|(name, figure)| (name.into(), figure)).collect())
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, figure) in &self.0 {
            map.serialize_entry(name, figure)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Figures {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Figures;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of numbers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Figures, A::Error> {
                let mut figures = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    figures.push(entry);
                }
                Ok(Figures(figures))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

// Which of two forms an entry has is told by a field. (Trying one after the other, as serde would, ends in a
// message that names no field.)

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for Entry<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let name = value["trace"].as_str().unwrap_or("a trace").to_owned();
        let entry = match value.get("error") {
            Some(_) => serde_json::from_value(value).map(Entry::Failed),
            None => serde_json::from_value(value).map(Entry::Whole),
        };
        entry.map_err(|problem| D::Error::custom(format!("{name}: {problem}")))
    }
}

impl<'de> Deserialize<'de> for Checker {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let name = value["name"].as_str().unwrap_or("a checker").to_owned();
        let checker = match value.get("atomic") {
            Some(_) => serde_json::from_value(value).map(Checker::Predictive),
            None => serde_json::from_value(value).map(Checker::Observed),
        };
        checker.map_err(|problem| D::Error::custom(format!("{name}: {problem}")))
    }
}

/// A field that is there and null is not the same as one that is absent.
fn null_is_there<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

/// Reads a report; the error says what is wrong with it, and what to do.
pub fn read(text: &str) -> Result<Report, String> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    let help = "give a file that `atomvet check --format json` has written";
    let head: Head =
        serde_json::from_str(text).map_err(|error| format!("is not a report: {error}; {help}"))?;
    match head.schema.as_deref() {
        Some(SCHEMA) => {}
        Some(other) => {
            return Err(format!("has the schema {other:?}, and only {SCHEMA} can be rendered; {help}"));
        }
        None => return Err(format!("is not a report: it has no schema; {help}")),
    }
    serde_json::from_str(text).map_err(|error| format!("is not a whole report: {error}; {help}"))
}

/// Reports longer than this are written without indentation, which would be two thirds of the text.
const MOST_INDENTED: usize = 1 << 20;

/// The text of a report.
pub fn write(report: &impl Serialize) -> String {
    // These types have string keys only and no failing serializers, so this does not fail.
    let mut text = serde_json::to_string(report).unwrap_or_default();
    if text.len() <= MOST_INDENTED {
        text = serde_json::to_string_pretty(report).unwrap_or_default();
    }
    text.push('\n');
    text
}
