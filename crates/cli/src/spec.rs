//! The specification: which blocks are meant to be atomic.
//!
//! ```toml
//! atomic = ["Account.deposit", "@bank.c:12"]
//! not-atomic = ["Account.audit"]
//! ```
//!
//! A block is named by its label, or by `@` and the site of its begin if it has none. In a name, `*` stands for
//! anything; `file:NAME` means all blocks that begin in such a file. Blocks that `atomic` does not list, and those
//! that `exclude` does, are ignored: their begin and end are taken out of the trace, after its
//! discipline was checked. `not-atomic` is there for people and for merging; nothing reads it.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{anyhow, bail};
use atomvet_trace::{Event, Names, Op, RegionId, SiteId};
use serde::Deserialize;

/// A specification file.
#[derive(Debug)]
pub(crate) struct Spec {
    /// Blocks that should be atomic, by name, without repetition.
    pub(crate) atomic: Vec<String>,
    index: HashMap<String, usize>,
    /// Those of them that stand for several, by their place in `atomic`.
    patterns: Vec<usize>,
    /// Blocks that are ignored whatever `atomic` says.
    exclude: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    atomic: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
    #[serde(default)]
    #[expect(dead_code, reason = "read only so that its type is checked")]
    not_atomic: Vec<String>,
}

impl Spec {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Spec> {
        let shown = path.display();
        let bytes = std::fs::read(path).map_err(|error| {
            anyhow!("{shown}: cannot be read: {error}; `atomvet refine` makes such a file")
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let (line, column) = position(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
            anyhow!("{shown}:{line}:{column}: is not UTF-8; a specification is a TOML text")
        })?;
        Spec::parse(&text).or_else(|error| bail!("{shown}:{error}"))
    }

    /// The entry by which blocks of this name, which begin at this site, are meant to be atomic.
    pub(crate) fn entry(&self, name: &str, site: &str) -> Option<usize> {
        if self.exclude.iter().any(|pattern| means(pattern, name, site)) {
            return None;
        }
        let pattern = || self.patterns.iter().copied().find(|&i| means(&self.atomic[i], name, site));
        self.index.get(name).copied().or_else(pattern)
    }

    /// Parses a text; an error starts with `line:column`.
    pub(crate) fn parse(text: &str) -> Result<Spec, String> {
        let file: File = toml::from_str(text).map_err(|error| {
            let (line, column) =
                position(text.get(..error.span().map_or(0, |s| s.start)).unwrap_or("").as_bytes());
            let problem = error.message().replace('\n', ", ");
            format!(
                "{line}:{column}: {problem}; expected `atomic = [\"name\", …]` and perhaps `not-atomic = […]`"
            )
        })?;
        let (atomic, index, patterns) = (Vec::new(), HashMap::new(), Vec::new());
        let mut spec = Spec { atomic, index, patterns, exclude: file.exclude };
        for name in file.atomic {
            spec.index.entry(name.clone()).or_insert_with(|| {
                spec.atomic.push(name);
                spec.atomic.len() - 1
            });
        }
        let is_pattern = |name: &String| name.contains('*') || name.starts_with("file:");
        spec.patterns = (0..spec.atomic.len()).filter(|&i| is_pattern(&spec.atomic[i])).collect();
        Ok(spec)
    }
}

/// Whether an entry means such a block.
fn means(pattern: &str, name: &str, site: &str) -> bool {
    match pattern.strip_prefix("file:") {
        Some(file) => {
            let (path, _) = site.rsplit_once(':').unwrap_or((site, ""));
            let ends = path.rsplit_once('/').map_or(path, |(_, last)| last);
            fits(file, path) || fits(file, ends)
        }
        None => fits(pattern, name),
    }
}

/// Whether a text is as a pattern says, in which `*` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    (0..=text.len()).any(|skip| text.is_char_boundary(skip) && fits(rest, &text[skip..]))
}

/// Line and column, both from 1, after these bytes.
fn position(before: &[u8]) -> (usize, usize) {
    let before = String::from_utf8_lossy(before);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

/// Takes the blocks that a specification leaves out of a trace.
#[derive(Debug)]
pub(crate) struct Filter<'a> {
    spec: &'a Spec,
    /// Per label and, for blocks without one, per site: whether such blocks stay. Not yet asked
    /// for is `None`.
    labelled: Vec<Option<bool>>,
    unlabelled: Vec<Option<bool>>,
    /// Per thread, its open blocks, outermost first: whether each stays.
    open: Vec<Vec<bool>>,
    /// Per entry of the specification, whether such a block was entered.
    pub(crate) used: Vec<bool>,
}

impl<'a> Filter<'a> {
    /// At the start of a trace.
    pub(crate) fn new(spec: &'a Spec) -> Self {
        let used = vec![false; spec.atomic.len()];
        Filter { spec, labelled: Vec::new(), unlabelled: Vec::new(), open: Vec::new(), used }
    }

    /// Replaces the begins and ends of blocks that are left out.
    pub(crate) fn apply(&mut self, block: &mut [Event], names: &Names) {
        for event in block {
            match event.op {
                Op::Begin(region) => {
                    let stays = self.stays(region, event.site, names);
                    let thread = event.thread.index();
                    if thread >= self.open.len() {
                        self.open.resize_with(thread + 1, Vec::new);
                    }
                    self.open[thread].push(stays);
                    if !stays {
                        event.op = Op::Local;
                    }
                }
                Op::End => {
                    let open = self.open.get_mut(event.thread.index()).and_then(Vec::pop);
                    if open == Some(false) {
                        event.op = Op::Local;
                    }
                }
                _ => {}
            }
        }
    }

    fn stays(&mut self, region: RegionId, site: SiteId, names: &Names) -> bool {
        let (table, index) = match (region, site) {
            // The entry before all sites stands for blocks with neither label nor site.
            (RegionId::NONE, SiteId::NONE) => (&mut self.unlabelled, 0),
            (RegionId::NONE, site) => (&mut self.unlabelled, site.index() + 1),
            (region, _) => (&mut self.labelled, region.index()),
        };
        if index >= table.len() {
            table.resize(index + 1, None);
        }
        *table[index].get_or_insert_with(|| {
            let place = if site == SiteId::NONE { "" } else { names.sites.get(site) };
            let entry = self.spec.entry(&names.block(region, site), place);
            if let Some(entry) = entry {
                self.used[entry] = true;
            }
            entry.is_some()
        })
    }
}

/// What is known about the blocks of one name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    /// Its name, as in [`Names::block`].
    pub(crate) name: String,
    /// How often it was entered.
    pub(crate) entered: u64,
    /// How many of these were violated.
    pub(crate) violated: u64,
}

/// A specification file of what was seen: violated blocks are not atomic.
pub(crate) fn render(seen: &[Seen], heading: &[String]) -> String {
    let mut text = String::new();
    for line in heading {
        text.push_str(&format!("# {line}").trim_end().replace(|c: char| c.is_control(), "?"));
        text.push('\n');
    }
    let mut array = |key: &str, wanted: &dyn Fn(&Seen) -> bool| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{key} = [");
        for seen in seen.iter().filter(|seen| wanted(seen)) {
            let _ = write!(text, "  {}, # entered {}", quoted(&seen.name), times(seen.entered));
            let _ = match seen.violated {
                0 => writeln!(text),
                violated => writeln!(text, ", violated {}", times(violated)),
            };
        }
        text.push_str("]\n");
    };
    array("atomic", &|seen| seen.violated == 0);
    array("not-atomic", &|seen| seen.violated > 0);
    text
}

fn quoted(name: &str) -> String {
    toml::Value::String(name.to_owned()).to_string()
}

fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        _ => format!("{number} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strange_names_survive() {
        let names = [
            "a\"b",
            "c\\d",
            "e'f\"g",
            "tab\there",
            "two\nlines",
            "\u{1b}[0m",
            "ü€",
            "'''",
            "\"\"\"",
            "",
            "]",
            "#",
        ];
        let seen: Vec<Seen> =
            names.iter().map(|n| Seen { name: (*n).to_owned(), entered: 1, violated: 0 }).collect();
        let text = render(&seen, &["made by\na test".to_owned()]);
        let spec = Spec::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(spec.atomic, names);
    }

    #[test]
    fn an_entry_may_stand_for_several_blocks() {
        let spec = Spec::parse(
            "atomic = ['get', 'Account::*', 'file:bank.c', 'file:src/*']\nexclude = ['*::audit', 'file:*.h']",
        );
        let spec = spec.expect("a specification");
        let entry = |name, site| spec.entry(name, site);
        assert_eq!(entry("get", ""), Some(0));
        assert_eq!(entry("getter", ""), None);
        assert_eq!(entry("Account::deposit", "a.cpp:3"), Some(1));
        assert_eq!(entry("Account::audit", "a.cpp:3"), None);
        assert_eq!(entry("f", "lib/bank.c:3"), Some(2));
        assert_eq!(entry("f", "src/x/y.c:3"), Some(3));
        assert_eq!(entry("f", "src/y.h:3"), None);
        assert!(fits("a*b*c", "aXbbYc") && !fits("a*b*c", "aXc") && fits("*", "") && !fits("", "a"));
    }

    #[test]
    fn errors_name_line_and_column() {
        let place =
            |text: &str| Spec::parse(text).expect_err("an error").split(": ").next().map(str::to_owned);
        assert_eq!(place("atomic = [\n  \"a\",\n  3 ]").as_deref(), Some("3:3"));
        assert_eq!(place("atomic = []\natomik = []").as_deref(), Some("2:1"));
        assert_eq!(place("atomic = [").as_deref(), Some("1:11"));
    }
}
