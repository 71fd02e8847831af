//! A finding as every rendering shows it: in words, and as a drawing that is still data.

use crate::rules::Rule;
use crate::words::short;

/// How much a finding matters, the gravest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// It happened, or a verified schedule shows that it can.
    Error,
    /// It is thought possible.
    Warning,
    /// Good to know.
    Note,
}

/// A mistake, however often and by however many algorithms it was found.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The same for the same mistake in every run.
    pub fingerprint: String,
    /// What kind of mistake.
    pub rule: Rule,
    /// How sure, in the words of every output.
    pub strength: String,
    /// Under which condition it can happen, if under one: "if take does the same with another value of stock".
    pub condition: Option<String>,
    /// How much it matters.
    pub level: Level,
    /// Whether it makes a check fail. (A data race does not, nor does what is set aside.)
    pub counts: bool,
    /// Why it does not count, if it was set aside.
    pub aside: Option<Aside>,
    /// `deposit is not atomic`.
    pub title: String,
    /// The block, or the locks or variable that it is about.
    pub subject: String,
    /// Where the block begins, or the first of the events.
    pub site: Option<Site>,
    /// The anomaly, in a sentence.
    pub meaning: String,
    /// Why, a step each; [`Arrow::reason`] refers to them.
    pub reasons: Vec<String>,
    /// What follows from the reasons.
    pub conclusion: String,
    /// What would mend it.
    pub remedy: String,
    /// What else there is to say.
    pub notes: Vec<String>,
    /// Instances in all traces.
    pub count: u64,
    /// The traces that it was found in, by position in the report.
    pub traces: Vec<usize>,
    /// The algorithms that found it.
    pub checkers: Vec<String>,
    /// The variables that it is about.
    pub variables: Vec<String>,
    /// What happened, as a drawing.
    pub scene: Scene,
    /// The instance of the block that is shown; none for what is not about a block.
    pub origin: Option<Origin>,
    /// False for a caller that is violated by what it calls: a block inside it was violated by the same event.
    pub innermost: bool,
    /// Where each instance was completed, if all instances were asked for; else one of them.
    pub instances: Vec<Origin>,
}

/// A moment of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Safe to show.
    pub thread: String,
    /// The number of the event.
    pub event: u64,
    /// Where that is; safe to show.
    pub site: Option<String>,
}

/// Why a finding does not count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Aside {
    /// Who said so.
    pub kind: AsideKind,
    /// Where that is said, or the name of the idiom; safe to show.
    pub by: String,
    /// Why; safe to show.
    pub reason: String,
}

/// Who said that a finding does not count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AsideKind {
    /// A suppression of the configuration.
    Suppressed,
    /// The baseline.
    Known,
    /// An idiom.
    Benign,
}

impl AsideKind {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            AsideKind::Suppressed => "suppressed",
            AsideKind::Known => "in the baseline",
            AsideKind::Benign => "benign",
        }
    }
}

impl Aside {
    /// In a line: `suppressed by atomvet.toml:12: a hint only`.
    pub fn line(&self) -> String {
        let mut line = match self.kind {
            AsideKind::Suppressed => format!("suppressed by {}", self.by),
            AsideKind::Known => "in the baseline".to_owned(),
            AsideKind::Benign => format!("benign by the idiom {}", self.by),
        };
        if !self.reason.is_empty() {
            line.push_str(": ");
            line.push_str(&self.reason);
        }
        line
    }
}

impl Finding {
    /// How sure, with the condition in place of its class.
    pub fn sure(&self) -> String {
        match &self.condition {
            Some(condition) => format!("predicted, {condition}"),
            None => self.strength.clone(),
        }
    }

    /// Whether its arrows say that one of two events comes first. Nothing orders those of a data race.
    pub fn is_ordered(&self) -> bool {
        self.rule.id != "data-race"
    }

    /// The files that its events are in, each once.
    pub fn files(&self) -> Vec<&str> {
        let mut files: Vec<&str> = Vec::new();
        let sites = self.site.iter().chain(self.scene.rows.iter().filter_map(|row| row.site.as_ref()));
        for file in sites.filter_map(|site| site.file.as_deref()) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        files
    }

    /// The whole explanation as plain lines.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{}: {}", self.rule.name, self.meaning)];
        lines.extend(self.reasons.iter().cloned());
        lines.extend(Some(self.conclusion.clone()).filter(|text| !text.is_empty()));
        lines.push(format!("remedy: {}", self.remedy));
        lines.extend(self.notes.iter().cloned());
        lines.extend(self.aside.as_ref().map(Aside::line));
        lines.push(format!("fingerprint {}", self.fingerprint));
        lines
    }
}

/// A place in the source, as a trace names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// Safe to show.
    pub shown: String,
    /// The file as the trace names it, not safe to show.
    pub file: Option<String>,
    /// From 1.
    pub line: Option<u32>,
}

/// Longer paths name no file that anybody has.
const LONGEST_PATH: usize = 4096;

impl Site {
    /// Reads `file:line` and `file:line:column`; anything else is a place without a file.
    pub fn new(text: &str) -> Site {
        let number = |text: &str| text.parse::<u32>().ok().filter(|&line| line > 0);
        let split = |text: &str| text.rsplit_once(':').map(|(file, line)| (file.to_owned(), number(line)));
        let mut place = split(text).filter(|(_, line)| line.is_some());
        if let Some((before, _)) = &place
            && let Some((file, Some(line))) = split(before)
        {
            place = Some((file, Some(line)));
        }
        let place = place.filter(|(file, _)| !file.trim().is_empty() && file.len() <= LONGEST_PATH);
        let (file, line) = place.unzip();
        Site { shown: short(text), file, line: line.flatten() }
    }
}

/// Threads as columns, events as rows, blocks as bars, reasons as arrows.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Scene {
    /// The columns.
    pub threads: Vec<String>,
    /// From the earliest to the latest.
    pub rows: Vec<Row>,
    /// Blocks, outer ones before inner ones.
    pub bars: Vec<Bar>,
    /// What orders the events.
    pub arrows: Vec<Arrow>,
    /// Events that play no part, by the row that they come before.
    pub folds: Vec<Fold>,
}

/// Events of a block that play no part.
#[derive(Clone, PartialEq, Debug)]
pub struct Fold {
    /// They come before this row, which is of the same block.
    pub row: usize,
    /// How many there are.
    pub number: u64,
    /// Some of them, from the earliest to the latest.
    pub events: Vec<Local>,
}

/// An event that plays no part.
#[derive(Clone, PartialEq, Debug)]
pub struct Local {
    /// Its number in the trace.
    pub event: u64,
    /// In words.
    pub what: String,
    /// Where; safe to show.
    pub site: Option<String>,
}

/// An event.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Its number in the trace.
    pub event: u64,
    /// Its column.
    pub thread: usize,
    /// In words: `reads balance`.
    pub what: String,
    /// As in the text format: `r(balance)`.
    pub op: String,
    /// Where.
    pub site: Option<Site>,
    /// The locks held there, if that is known.
    pub locks: Vec<String>,
}

/// A block, as far as the rows show it.
#[derive(Clone, PartialEq, Debug)]
pub struct Bar {
    /// Its column.
    pub thread: usize,
    /// What it is called.
    pub name: String,
    /// The first of its rows.
    pub first: usize,
    /// The last of its rows.
    pub last: usize,
    /// Whether the first row is its begin.
    pub begins: bool,
    /// Whether it is the one that is not atomic.
    pub blamed: bool,
}

/// What orders two rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Arrow {
    /// The one that comes first.
    pub from: usize,
    /// The one that comes later.
    pub to: usize,
    /// `balance: read, then written`.
    pub label: String,
    /// Which of the finding's reasons says why.
    pub reason: Option<usize>,
}

impl Scene {
    /// The column of a thread.
    pub(crate) fn column(&mut self, thread: &str) -> usize {
        let name = short(thread);
        self.threads.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.threads.push(name);
            self.threads.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_read_as_far_as_they_are_places() {
        let read = |text: &str| {
            let site = Site::new(text);
            (site.file, site.line)
        };
        let place = |file: &str, line| (Some(file.to_owned()), Some(line));
        assert_eq!(read("bank.c:12"), place("bank.c", 12));
        assert_eq!(read("src/a b.c:12:7"), place("src/a b.c", 12));
        assert_eq!(read(r"C:\a.c:12"), place(r"C:\a.c", 12));
        for nowhere in ["12", "bank.c", "", ":3", "a.c:0", "a.c:-1", "a.c:99999999999"] {
            assert_eq!(read(nowhere), (None, None), "{nowhere}");
        }
        assert_eq!(Site::new("a\u{1b}[2J.c:1").shown, "a\\e[2J.c:1");
    }
}
