//! What a trace says about itself: the conventions it was recorded under, and whether it has all accesses.
//!
//! The same words in both formats, `key=value` with blanks between: in text on the first line, behind `#atomvet `; in binary
//! behind the file header (`docs/trace-formats.md`). A trace need not say anything. A key or a value that is not known here is an
//! error and not passed over: whoever judged the trace without it might judge it wrongly.

use std::fmt;

/// What the first line of a text trace starts with, if the trace says anything.
pub const DIRECTIVE: &str = "#atomvet ";

/// The longest text of a [`Conventions`] that is read, in bytes.
pub const LONGEST: usize = 1024;

/// What a trace says about itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conventions {
    /// Whether waits split blocks.
    pub waits: Option<Waits>,
    /// Whether like updates commute.
    pub updates: Option<Updates>,
    /// What conflicts.
    pub conflicts: Option<Conflicts>,
    /// Which accesses are in the trace.
    pub accesses: Option<Accesses>,
}

/// What a wait, join or barrier does to the open blocks of its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// It splits them: the pieces are judged.
    Split,
    /// Nothing: blocks are judged as a whole.
    Whole,
}

/// Whether two updates of one kind conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Updates {
    /// They do not.
    Commute,
    /// They do.
    Conflict,
}

/// Which events conflict.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Conflicts {
    /// Accesses, and operations on the same lock: the relation of the papers.
    #[default]
    Locks,
    /// Accesses only: locks are a means, and two executions with the same order of these have the same effect.
    Data,
}

/// Which accesses of the program are in its trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accesses {
    /// All.
    All,
    /// Those that the verdict on the recorded execution needs. What other executions would do cannot be told from them.
    Filtered,
}

/// The words for the values of one key.
trait Value: Copy + PartialEq + 'static {
    const KEY: &'static str;
    const WORDS: &'static [(&'static str, Self)];

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

impl Value for Waits {
    const KEY: &'static str = "waits";
    const WORDS: &'static [(&'static str, Self)] = &[("split", Waits::Split), ("whole", Waits::Whole)];
}

impl Value for Updates {
    const KEY: &'static str = "updates";
    const WORDS: &'static [(&'static str, Self)] =
        &[("commute", Updates::Commute), ("conflict", Updates::Conflict)];
}

impl Value for Conflicts {
    const KEY: &'static str = "conflicts";
    const WORDS: &'static [(&'static str, Self)] = &[("locks", Conflicts::Locks), ("data", Conflicts::Data)];
}

impl Value for Accesses {
    const KEY: &'static str = "accesses";
    const WORDS: &'static [(&'static str, Self)] =
        &[("all", Accesses::All), ("filtered", Accesses::Filtered)];
}

/// What is wrong with the text of a [`Conventions`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Unknown {
    /// Bytes from its start.
    pub(crate) at: usize,
    /// What was found and expected.
    pub(crate) problem: String,
}

/// What to do about an [`Unknown`].
pub(crate) const HELP: &str = "upgrade atomvet: a newer version wrote this";

impl Conventions {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Conventions::default()
    }

    /// Reads `key=value` with blanks between; the inverse of [`fmt::Display`].
    pub(crate) fn parse(text: &str) -> Result<Conventions, Unknown> {
        let mut conventions = Conventions::default();
        let mut at = 0;
        for pair in text.split(' ') {
            if !pair.is_empty() {
                conventions.take(pair).map_err(|problem| Unknown { at, problem })?;
            }
            at += pair.len() + 1;
        }
        Ok(conventions)
    }

    fn take(&mut self, pair: &str) -> Result<(), String> {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(format!("found `{}`, expected key=value", pair.escape_debug()));
        };
        match key {
            Waits::KEY => set(&mut self.waits, value),
            Updates::KEY => set(&mut self.updates, value),
            Conflicts::KEY => set(&mut self.conflicts, value),
            Accesses::KEY => set(&mut self.accesses, value),
            _ => {
                let keys = [Waits::KEY, Updates::KEY, Conflicts::KEY, Accesses::KEY];
                Err(format!("found the key `{}`, expected one of {}", key.escape_debug(), keys.join(" ")))
            }
        }
    }
}

fn set<V: Value>(slot: &mut Option<V>, word: &str) -> Result<(), String> {
    let Some((_, value)) = V::WORDS.iter().find(|(known, _)| *known == word) else {
        let known: Vec<&str> = V::WORDS.iter().map(|(known, _)| *known).collect();
        let expected = known.join(" or ");
        return Err(format!("found {}={}, expected {expected}", V::KEY, word.escape_debug()));
    };
    match slot.replace(*value) {
        None => Ok(()),
        Some(_) => Err(format!("found the key `{}` twice, expected it once", V::KEY)),
    }
}

impl fmt::Display for Conventions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = [pair(self.waits), pair(self.updates), pair(self.conflicts), pair(self.accesses)];
        f.write_str(&pairs.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

fn pair<V: Value>(value: Option<V>) -> Option<String> {
    value.map(|value| format!("{}={}", V::KEY, value.word()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for waits in [None, Some(Waits::Split), Some(Waits::Whole)] {
            for updates in [None, Some(Updates::Commute), Some(Updates::Conflict)] {
                for accesses in [None, Some(Accesses::All), Some(Accesses::Filtered)] {
                    for conflicts in [None, Some(Conflicts::Locks), Some(Conflicts::Data)] {
                        let said = Conventions { waits, updates, conflicts, accesses };
                        assert_eq!(Conventions::parse(&said.to_string()), Ok(said));
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_not_known_is_not_passed_over() {
        let at = |text: &str| Conventions::parse(text).map_err(|unknown| unknown.at);
        assert_eq!(at(""), Ok(Conventions::default()));
        assert_eq!(at("waits=split colour=red"), Err(12));
        assert_eq!(at("waits=perhaps"), Err(0));
        assert_eq!(at("waits=split waits=split"), Err(12));
        assert_eq!(at("conflicts=all"), Err(0));
        assert_eq!(at("waits"), Err(0));
    }
}
