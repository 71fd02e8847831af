//! The specification: which blocks are meant to be atomic, as `configuration/` reads it and `refine` writes it.
//!
//! ```toml
//! atomic = ["Account.deposit", "@bank.c:12"]
//! not-atomic = ["Account.audit"]
//! ```
//!
//! A block is named by its label, or by `@` and the site of its begin if it has none. In a name, `*` stands for
//! anything; `file:NAME` means all blocks that begin in such a file, `library:NAME` all functions of such a library. Blocks
//! that `not-atomic` or `exclude` lists, and those that `atomic` does not list if it is there, are ignored: their begin and
//! end are taken out of the trace, after its discipline was checked. So are accesses of `ignore-variables`.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use atomvet_trace::{Event, Names, Op, RegionId, SiteId, VarId};

/// Which blocks are meant to be atomic.
#[derive(Debug, Default)]
pub(crate) struct Spec {
    /// Blocks that should be atomic, by name, without repetition.
    pub(crate) atomic: Vec<String>,
    others: Others,
    index: HashMap<String, usize>,
    /// Those of `atomic` that stand for several, by their place in it.
    patterns: Vec<usize>,
    /// Blocks that are ignored whatever `atomic` says.
    not_atomic: Vec<String>,
    ignored_variables: Vec<String>,
    /// Per entry of `atomic`: a function of the program that runs is meant by it.
    met: Vec<AtomicBool>,
    applied: Applied,
}

/// What becomes of blocks that no entry means.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Others {
    /// They count as without a specification: it has no `atomic`.
    #[default]
    AsAlways,
    /// They are ignored.
    Ignored,
}

/// Who takes blocks out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Applied {
    /// The [`Filter`], from names and sites.
    #[default]
    Here,
    /// Whoever makes the events and knows more, such as libraries.
    Before,
}

/// What a specification says, as it is written.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Lists {
    /// If it is there, nothing else is atomic.
    pub(crate) atomic: Option<Vec<String>>,
    /// What is not, `exclude` included.
    pub(crate) not_atomic: Vec<String>,
    /// Variables whose accesses do not count.
    pub(crate) ignored_variables: Vec<String>,
}

/// What a specification means for a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meant {
    /// It should be atomic.
    Atomic,
    /// It is ignored.
    Ignored,
    /// Nothing was said about it.
    Unsaid,
}

/// What a block is known by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Where it begins; empty if that is not known.
    pub(crate) site: &'a str,
    /// The file of the program or library that it is in, if that is known.
    pub(crate) library: Option<&'a str>,
}

impl Spec {
    /// A specification that says this.
    pub(crate) fn new(lists: Lists) -> Spec {
        let mut spec = Spec {
            others: if lists.atomic.is_some() { Others::Ignored } else { Others::AsAlways },
            not_atomic: lists.not_atomic,
            ignored_variables: lists.ignored_variables,
            ..Spec::default()
        };
        for name in lists.atomic.unwrap_or_default() {
            spec.index.entry(name.clone()).or_insert_with(|| {
                spec.atomic.push(name);
                spec.atomic.len() - 1
            });
        }
        let is_pattern = |name: &String| name.contains('*') || prefixed(name);
        spec.patterns = (0..spec.atomic.len()).filter(|&i| is_pattern(&spec.atomic[i])).collect();
        spec.met.resize_with(spec.atomic.len(), AtomicBool::default);
        spec
    }

    /// The same, for events out of which blocks were taken already.
    pub(crate) fn applied_before(self) -> Spec {
        Spec { applied: Applied::Before, ..self }
    }

    /// What it means for a block of a program that runs.
    pub(crate) fn meant(&self, block: &Known<'_>) -> Meant {
        if self.is_taken_out(block) {
            return Meant::Ignored;
        }
        match (self.entry(block), self.others) {
            (Some(entry), _) => {
                self.met[entry].store(true, Ordering::Relaxed);
                Meant::Atomic
            }
            (None, Others::Ignored) => Meant::Ignored,
            (None, Others::AsAlways) => Meant::Unsaid,
        }
    }

    /// Whether accesses are to be taken out.
    pub(crate) fn ignores_variables(&self) -> bool {
        !self.ignored_variables.is_empty()
    }

    /// Per entry of `atomic`, whether a function of the program that runs is meant by it.
    pub(crate) fn met(&self) -> Vec<bool> {
        self.met.iter().map(|met| met.load(Ordering::Relaxed)).collect()
    }

    fn is_taken_out(&self, block: &Known<'_>) -> bool {
        self.not_atomic.iter().any(|pattern| means(pattern, block))
    }

    /// The entry of `atomic` that means a block.
    fn entry(&self, block: &Known<'_>) -> Option<usize> {
        let pattern = || self.patterns.iter().copied().find(|&i| means(&self.atomic[i], block));
        self.index.get(block.name).copied().or_else(pattern)
    }
}

fn prefixed(pattern: &str) -> bool {
    pattern.starts_with("file:") || pattern.starts_with("library:")
}

/// Whether an entry means such a block.
fn means(pattern: &str, block: &Known<'_>) -> bool {
    if let Some(file) = pattern.strip_prefix("file:") {
        is_in_file(file, block.site)
    } else if let Some(library) = pattern.strip_prefix("library:") {
        // Where no line is known, the site is `module+0x…`.
        let module = block.site.rsplit_once("+0x").map(|(module, _)| module);
        block.library.or(module).is_some_and(|path| is_path(library, path))
    } else {
        fits(pattern, block.name)
    }
}

/// Whether a site, `file:line` or `file:line:column`, is in a file as a pattern says.
pub(crate) fn is_in_file(pattern: &str, site: &str) -> bool {
    let without = |site: &str| {
        let (path, number) = site.rsplit_once(':')?;
        number.bytes().all(|digit| digit.is_ascii_digit()).then(|| path.to_owned())
    };
    let Some(path) = without(site) else { return is_path(pattern, site) };
    is_path(pattern, &path) || without(&path).is_some_and(|path| is_path(pattern, &path))
}

/// Whether a path, or the last part of it, is as a pattern says.
fn is_path(pattern: &str, path: &str) -> bool {
    let last = path.rsplit_once('/').map_or(path, |(_, last)| last);
    !path.is_empty() && (fits(pattern, path) || fits(pattern, last))
}

/// Whether a text is as a pattern says, in which `*` stands for anything. Time is at most the product of both lengths,
/// however many stars there are: a star takes as little as it can, and only the last one is ever asked to take more.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut in_text) = (0, 0);
    // Behind the last star, and where in the text what follows it was tried.
    let mut star: Option<(usize, usize)> = None;
    while in_text < text.len() {
        if pattern.get(at) == Some(&b'*') {
            at += 1;
            star = Some((at, in_text));
        } else if pattern.get(at) == Some(&text[in_text]) {
            (at, in_text) = (at + 1, in_text + 1);
        } else if let Some((behind, tried)) = star {
            (at, in_text) = (behind, tried + 1);
            star = Some((behind, tried + 1));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Takes what a specification leaves out, out of a trace.
#[derive(Debug)]
pub(crate) struct Filter<'a> {
    spec: &'a Spec,
    /// Per label and, for blocks without one, per site: whether such blocks stay. Not yet asked
    /// for is `None`.
    labelled: Vec<Option<bool>>,
    unlabelled: Vec<Option<bool>>,
    /// Per thread, its open blocks, outermost first: whether each stays.
    open: Vec<Vec<bool>>,
    /// Per variable: whether its accesses stay.
    variables: Vec<Option<bool>>,
    /// Per entry of the specification, whether such a block was entered.
    used: Vec<bool>,
    /// Accesses that were taken out.
    pub(crate) ignored_accesses: u64,
}

impl<'a> Filter<'a> {
    /// At the start of a trace.
    pub(crate) fn new(spec: &'a Spec) -> Self {
        let (labelled, unlabelled, open, variables) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let used = vec![false; spec.atomic.len()];
        Filter { spec, labelled, unlabelled, open, variables, used, ignored_accesses: 0 }
    }

    /// Per entry of the specification, whether such a block was entered.
    pub(crate) fn used(self) -> Vec<bool> {
        self.used.iter().zip(self.spec.met()).map(|(used, met)| *used || met).collect()
    }

    /// Replaces the begins and ends of blocks, and the accesses, that are left out.
    pub(crate) fn apply(&mut self, block: &mut [Event], names: &Names) {
        let all_variables_count = self.spec.ignored_variables.is_empty();
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
                Op::Read(variable, _) | Op::Write(variable, _) | Op::Update(variable, _)
                    if !all_variables_count && !self.counts(variable, names) =>
                {
                    self.ignored_accesses += 1;
                    event.op = Op::Local;
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
            let block = Known { name: &names.block(region, site), site: place, library: None };
            let entry = self.spec.entry(&block);
            if let Some(entry) = entry {
                self.used[entry] = true;
            }
            self.spec.applied == Applied::Before
                || !self.spec.is_taken_out(&block)
                    && (entry.is_some() || self.spec.others == Others::AsAlways)
        })
    }

    fn counts(&mut self, variable: VarId, names: &Names) -> bool {
        if variable.index() >= self.variables.len() {
            self.variables.resize(variable.index() + 1, None);
        }
        *self.variables[variable.index()].get_or_insert_with(|| {
            let name = names.variables.get(variable);
            !self.spec.ignored_variables.iter().any(|pattern| fits(pattern, name))
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

/// A name as TOML has it.
pub(crate) fn quoted(name: &str) -> String {
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
        let file = crate::configuration::parse::parse("spec.toml", &text);
        let file = file.unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(file.lists.atomic.as_deref(), Some(&names.map(str::to_owned)[..]));
    }

    #[test]
    fn an_entry_may_stand_for_several_blocks() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let spec = Spec::new(Lists {
            atomic: Some(list(&["get", "Account::*", "file:bank.c", "file:src/*", "library:libbank.so*"])),
            not_atomic: list(&["*::audit", "file:*.h"]),
            ignored_variables: Vec::new(),
        });
        let entry = |name, site| {
            let block = Known { name, site, library: None };
            spec.entry(&block).filter(|_| !spec.is_taken_out(&block))
        };
        assert_eq!(entry("get", ""), Some(0));
        assert_eq!(entry("getter", ""), None);
        assert_eq!(entry("Account::deposit", "a.cpp:3"), Some(1));
        assert_eq!(entry("Account::audit", "a.cpp:3"), None);
        assert_eq!(entry("f", "lib/bank.c:3"), Some(2));
        assert_eq!(entry("f", "lib/bank.c:3:9"), Some(2));
        assert_eq!(entry("f", "src/x/y.c:3"), Some(3));
        assert_eq!(entry("f", "src/y.h:3"), None);
        assert_eq!(entry("f", "libbank.so.1+0x12"), Some(4));
        let in_library = |library| spec.meant(&Known { name: "f", site: "x.c:1", library: Some(library) });
        assert_eq!(in_library("/usr/lib/libbank.so.1"), Meant::Atomic);
        assert_eq!(in_library("/usr/lib/libother.so"), Meant::Ignored);
    }

    #[test]
    fn stars_stand_for_anything_in_bounded_time() {
        for (pattern, text, fit) in [
            ("a*b*c", "aXbbYc", true),
            ("a*b*c", "aXc", false),
            ("*", "", true),
            ("", "a", false),
            ("**a", "ba", true),
            ("ü*", "über", true),
            ("a*", "b", false),
            ("*ab", "aab", true),
        ] {
            assert_eq!(fits(pattern, text), fit, "{pattern} {text}");
        }
        assert!(!fits(&"*a".repeat(50), &"b".repeat(10_000)));
        assert!(!fits(&format!("{}b", "*a".repeat(50)), &"a".repeat(10_000)));
    }
}
