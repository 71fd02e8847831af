//! The text of a configuration, read: the only parser of it, for `atomvet.toml`, `--config` and `--spec` alike.
//!
//! Every error names line and column, shows the line, and says what to write instead. What nobody knows is an error: a
//! misspelt key that is ignored would silently change what is checked.

use std::fmt::Display;
use std::ops::Range;

use atomvet_report::Format;
use atomvet_report::visible::visible_within;
use clap::ValueEnum;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::suppress::Suppress;
use crate::algorithms;
use crate::idioms::Named;
use crate::java::Blocks;
use crate::report::format_named;
use crate::spec::Lists;
use crate::suggest::did_you_mean;

/// What a configuration file says.
#[derive(Default, Debug)]
pub(crate) struct File {
    /// What is atomic and what is not.
    pub(crate) lists: Lists,
    /// As on the command line.
    pub(crate) options: Options,
    /// Idioms that are switched on or off.
    pub(crate) idioms: Vec<(Named, bool)>,
    /// Findings that do not count.
    pub(crate) suppress: Vec<Suppress>,
}

/// Options as on the command line, which wins.
#[derive(Default, Debug)]
pub(crate) struct Options {
    /// `--algo`.
    pub(crate) algorithm: Vec<String>,
    /// `--format`.
    pub(crate) format: Vec<Format>,
    /// `-o`, from the file's directory.
    pub(crate) output: Option<String>,
    /// `--source-root`, from the file's directory.
    pub(crate) source_roots: Vec<String>,
    /// `--baseline`, from the file's directory.
    pub(crate) baseline: Option<String>,
    /// `--strict-waits`, or its contrary.
    pub(crate) strict_waits: Option<bool>,
    /// `--strict-atomics`, or its contrary.
    pub(crate) strict_atomics: Option<bool>,
    /// `--max-findings`.
    pub(crate) max_findings: Option<usize>,
    /// `--blocks`.
    pub(crate) blocks: Option<Blocks>,
}

const KEYS: &[&str] =
    &["atomic", "not-atomic", "exclude", "ignore-variables", "options", "idioms", "suppress"];
const OPTIONS: &[&str] = &[
    "algorithm",
    "format",
    "output",
    "source-roots",
    "baseline",
    "strict-waits",
    "strict-atomics",
    "max-findings",
    "blocks",
];
const SUPPRESS: &[&str] = &["block", "variable", "file", "fingerprint", "reason"];

/// What is wrong with a text, with its place.
type Wrong = String;

/// Reads the text of a file that errors call `shown`.
pub(crate) fn parse(shown: &str, text: &str) -> Result<File, Wrong> {
    let source = Source { shown, text };
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        if let Some((span, word)) = source.bare_word(&span) {
            return source.wrong(
                &span,
                format!(
                    "`{word}` is no value: texts stand in quotation marks, lists in brackets, and other values are numbers, \
                     true and false; to leave a key unset, leave out its line"
                ),
            );
        }
        let problem = error.message().replace('\n', ", ");
        source.wrong(&span, format!("{problem}; a configuration is a TOML text"))
    })?;
    let mut file = File::default();
    for (key, value) in in_order(table.get_ref()) {
        match &**key.get_ref() {
            "atomic" => file.lists.atomic = Some(source.strings(key, value)?),
            "not-atomic" | "exclude" => file.lists.not_atomic.extend(source.strings(key, value)?),
            "ignore-variables" => file.lists.ignored_variables = source.strings(key, value)?,
            "options" => source.options(key, value, &mut file.options)?,
            "idioms" => source.idioms(key, value, &mut file.idioms)?,
            "suppress" => source.suppressions(key, value, &mut file.suppress)?,
            _ => return Err(source.unknown("key", key, KEYS)),
        }
    }
    Ok(file)
}

type Key<'i> = Spanned<std::borrow::Cow<'i, str>>;
type Value<'i> = Spanned<DeValue<'i>>;

/// As they stand in the text, so that the first mistake is the one that is told.
fn in_order<'a, 'i>(table: &'a DeTable<'i>) -> Vec<(&'a Key<'i>, &'a Value<'i>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

struct Source<'a> {
    shown: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn options(&self, key: &Key<'_>, value: &Value<'_>, options: &mut Options) -> Result<(), Wrong> {
        for (key, value) in in_order(self.table(key, value)?) {
            match &**key.get_ref() {
                "algorithm" => {
                    for (name, span) in self.one_or_several(key, value)? {
                        algorithms::select(std::slice::from_ref(&name))
                            .map_err(|error| self.wrong(&span, error))?;
                        options.algorithm.push(name);
                    }
                }
                "format" => {
                    for (name, span) in self.one_or_several(key, value)? {
                        let format = format_named(&name).ok_or_else(|| {
                            let known: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
                            let near = did_you_mean(&name, known.iter().copied());
                            self.wrong(
                                &span,
                                format!("no format is called {name:?}; {near}there are {}", known.join(", ")),
                            )
                        })?;
                        options.format.push(format);
                    }
                }
                "output" => options.output = Some(self.string(key, value)?),
                "source-roots" => options.source_roots = self.strings(key, value)?,
                "baseline" => options.baseline = Some(self.string(key, value)?),
                "strict-waits" => options.strict_waits = Some(self.boolean(key, value)?),
                "strict-atomics" => options.strict_atomics = Some(self.boolean(key, value)?),
                "max-findings" => options.max_findings = Some(self.number(key, value)?),
                "blocks" => {
                    let blocks = Blocks::from_str(&self.string(key, value)?, false);
                    options.blocks =
                        Some(blocks.map_err(|_| self.expected(key, value, "\"all\" or \"papers\""))?);
                }
                _ => return Err(self.unknown("option", key, OPTIONS)),
            }
        }
        Ok(())
    }

    fn idioms(&self, key: &Key<'_>, value: &Value<'_>, idioms: &mut Vec<(Named, bool)>) -> Result<(), Wrong> {
        for (key, value) in in_order(self.table(key, value)?) {
            let name: Named =
                key.get_ref().parse().map_err(|problem: String| self.wrong(&key.span(), problem))?;
            idioms.push((name, self.boolean(key, value)?));
        }
        Ok(())
    }

    fn suppressions(&self, key: &Key<'_>, value: &Value<'_>, all: &mut Vec<Suppress>) -> Result<(), Wrong> {
        let DeValue::Array(entries) = value.get_ref() else {
            return Err(self.wrong(&key.span(), "`suppress` is a list; write [[suppress]] above each entry"));
        };
        for entry in entries.iter() {
            let DeValue::Table(table) = entry.get_ref() else {
                return Err(self.wrong(
                    &entry.span(),
                    "is no suppression; write [[suppress]] above block = \"…\" and reason = \"…\"",
                ));
            };
            let (line, _) = self.position(entry.span().start);
            let mut suppress = Suppress::at(format!("{}:{line}", self.shown));
            for (key, value) in in_order(table) {
                let text = self.string(key, value)?;
                match &**key.get_ref() {
                    "block" => suppress.block = Some(text),
                    "variable" => suppress.variable = Some(text),
                    "file" => suppress.file = Some(text),
                    "fingerprint" => suppress.fingerprint = Some(text),
                    "reason" => suppress.reason = text,
                    _ => return Err(self.unknown("key of a suppression", key, SUPPRESS)),
                }
            }
            if suppress.what().is_empty() {
                return Err(self.wrong(
                    &entry.span(),
                    "a suppression needs at least one of block, variable, file and fingerprint",
                ));
            }
            if suppress.reason.trim().is_empty() {
                return Err(self.wrong(
                    &entry.span(),
                    "a suppression needs a reason = \"…\": who reads it later wants to know why",
                ));
            }
            all.push(suppress);
        }
        Ok(())
    }

    /// The word without quotation marks that stands around a place, where a value should be.
    fn bare_word(&self, span: &Range<usize>) -> Option<(Range<usize>, &str)> {
        let is_part =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':' | b'*');
        let bytes = self.text.as_bytes();
        let start = (0..span.start.min(bytes.len())).rev().take_while(|&at| is_part(bytes[at])).last();
        let start = start.unwrap_or(span.start);
        let end = (start..bytes.len()).find(|&at| !is_part(bytes[at])).unwrap_or(bytes.len());
        let word = self.text.get(start..end)?;
        let before = self.text.get(..start)?.trim_end_matches([' ', '\t', '\n']);
        // A bracket at the start of a line begins the name of a table.
        let is_name = before.rsplit('\n').next().is_some_and(|line| line.trim_start().starts_with('['));
        let is_value = before.ends_with(['=', '[', ',']) && !is_name;
        let is_word = word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '*');
        (is_value && is_word && !matches!(word, "true" | "false")).then_some((start..end, word))
    }

    fn table<'a, 'i>(&self, key: &Key<'_>, value: &'a Value<'i>) -> Result<&'a DeTable<'i>, Wrong> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.expected(
                key,
                value,
                &format!("a table: write [{}] above its entries", key.get_ref()),
            )),
        }
    }

    fn string(&self, key: &Key<'_>, value: &Value<'_>) -> Result<String, Wrong> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.expected(key, value, "a text, in quotation marks")),
        }
    }

    fn boolean(&self, key: &Key<'_>, value: &Value<'_>) -> Result<bool, Wrong> {
        match value.get_ref() {
            DeValue::Boolean(is) => Ok(*is),
            _ => Err(self.expected(key, value, "true or false")),
        }
    }

    fn number(&self, key: &Key<'_>, value: &Value<'_>) -> Result<usize, Wrong> {
        match value.get_ref() {
            DeValue::Integer(number) => usize::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        }
        .ok_or_else(|| self.expected(key, value, "a number from 0 on"))
    }

    fn strings(&self, key: &Key<'_>, value: &Value<'_>) -> Result<Vec<String>, Wrong> {
        let DeValue::Array(entries) = value.get_ref() else {
            return Err(self.expected(key, value, "a list: [\"…\", …]"));
        };
        entries.iter().map(|entry| self.string(key, entry)).collect()
    }

    /// A text, or a list of texts, each with its place.
    fn one_or_several(&self, key: &Key<'_>, value: &Value<'_>) -> Result<Vec<(String, Range<usize>)>, Wrong> {
        let one = |value: &Value<'_>| Ok((self.string(key, value)?, value.span()));
        match value.get_ref() {
            DeValue::Array(entries) => entries.iter().map(one).collect(),
            _ => Ok(vec![one(value)?]),
        }
    }

    fn expected(&self, key: &Key<'_>, value: &Value<'_>, what: &str) -> Wrong {
        self.wrong(&value.span(), format!("`{}` expects {what}", key.get_ref()))
    }

    fn unknown(&self, what: &str, key: &Key<'_>, known: &[&str]) -> Wrong {
        let name = key.get_ref();
        let near = did_you_mean(name, known.iter().copied());
        self.wrong(&key.span(), format!("no {what} is called {name:?}; {near}there are {}", known.join(", ")))
    }

    /// `file:line:column: problem`, and the line, with a mark below.
    fn wrong(&self, span: &Range<usize>, problem: impl Display) -> Wrong {
        let (line, column) = self.position(span.start);
        let text = self.text.lines().nth(line - 1).unwrap_or("");
        // A line may be long: what stands around the place is enough.
        let skip = (column - 1).saturating_sub(60);
        let shown: String = text.chars().skip(skip).map(|c| if c == '\t' { ' ' } else { c }).collect();
        let left = shown.chars().count().saturating_sub(column - 1 - skip);
        let length =
            self.text.get(span.clone()).map_or(1, |s| s.lines().next().unwrap_or("").chars().count());
        let marks = "^".repeat(length.min(left).clamp(1, 60));
        let margin = " ".repeat(line.to_string().len());
        format!(
            "{}:{line}:{column}: {problem}\n{margin} |\n{line} | {}\n{margin} | {}{marks}",
            self.shown,
            visible_within(&shown, 120),
            " ".repeat(column - 1 - skip)
        )
    }

    fn position(&self, offset: usize) -> (usize, usize) {
        position(self.text.get(..offset).unwrap_or(self.text))
    }
}

/// Line and column, both from 1, after this text.
pub(crate) fn position(before: &str) -> (usize, usize) {
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_read() {
        let text = r#"
atomic = ["a", "file:b.c"]
not-atomic = ["c"]
exclude = ["d"]
ignore-variables = ["stats.*"]

[options]
algorithm = "velodrome"
format = ["text", "sarif"]
output = "report"
source-roots = ["src"]
strict-waits = true
strict-atomics = false
max-findings = 3

[idioms]
hint-reads = true
retry-loops = false

[[suppress]]
block = "deposit"
file = "bank.c"
reason = "known"
"#;
        let file = parse("atomvet.toml", text).expect("a configuration");
        assert_eq!(file.lists.atomic.as_deref(), Some(&["a".to_owned(), "file:b.c".to_owned()][..]));
        assert_eq!(file.lists.not_atomic, ["c", "d"]);
        assert_eq!(file.lists.ignored_variables, ["stats.*"]);
        assert_eq!(file.options.algorithm, ["velodrome"]);
        assert_eq!(file.options.format, [Format::Text, Format::Sarif]);
        assert_eq!((file.options.strict_waits, file.options.strict_atomics), (Some(true), Some(false)));
        assert_eq!(file.options.max_findings, Some(3));
        assert_eq!(file.idioms.iter().map(|(_, on)| *on).collect::<Vec<_>>(), [true, false]);
        assert_eq!(file.suppress[0].what(), "block = \"deposit\", file = \"bank.c\"");
        assert_eq!(file.suppress[0].at, "atomvet.toml:20");
    }

    #[track_caller]
    fn wrong(text: &str, start: &str) {
        let error = parse("f", text).expect_err("an error");
        assert!(error.starts_with(start), "{start:?} is not the start of {error:?}");
    }

    #[test]
    fn errors_name_line_and_column_and_what_is_near() {
        wrong("atomic = [\n  \"a\",\n  3 ]", "f:3:3: `atomic` expects a text");
        wrong("atomic = []\natomik = []", "f:2:1: no key is called \"atomik\"; did you mean atomic?");
        wrong("atomic = [", "f:1:11: ");
        wrong("atomic = 'a'", "f:1:10: `atomic` expects a list");
        wrong(
            "[options]\nstrict_waits = true",
            "f:2:1: no option is called \"strict_waits\"; did you mean strict-waits?",
        );
        wrong("[options]\nstrict-waits = 1", "f:2:16: `strict-waits` expects true or false");
        wrong(
            "[options]\nalgorithm = 'velo'",
            "f:2:13: no algorithm is called \"velo\"; did you mean velodrome?",
        );
        wrong(
            "[options]\nformat = ['text', 'htm']",
            "f:2:19: no format is called \"htm\"; did you mean html?",
        );
        wrong("[options]\nmax-findings = -1", "f:2:16: `max-findings` expects a number");
        wrong(
            "[idioms]\nhint-read = true",
            "f:2:1: no idiom is called \"hint-read\"; did you mean hint-reads?",
        );
        wrong("idioms = true", "f:1:10: `idioms` expects a table");
        wrong(
            "[[suppress]]\nblok = 'a'",
            "f:2:1: no key of a suppression is called \"blok\"; did you mean block?",
        );
        wrong("[[suppress]]\nblock = 'a'", "f:1:1: a suppression needs a reason");
        wrong("[[suppress]]\nreason = 'a'", "f:1:1: a suppression needs at least one of");
        wrong("[suppress]\nblock = 'a'", "f:1:2: `suppress` is a list");
        wrong("a = 1\na = 2", "f:2:1: ");
        wrong("[options\n", "f:1:9: ");
        wrong("atomic = null", "f:1:10: `null` is no value: texts stand in quotation marks");
        wrong("atomic = None\n", "f:1:10: `None` is no value");
        wrong("atomic = [deposit]", "f:1:11: `deposit` is no value");
        wrong("atomic = [\n  'a',\n  Account::*,\n]", "f:3:3: `Account::*` is no value");
        wrong("[options]\nstrict-waits = yes", "f:2:16: `yes` is no value");
        wrong("[options]\nstrict-waits = True", "f:2:16: `True` is no value");
    }

    #[test]
    fn the_line_is_shown_with_a_mark() {
        let error = parse("f", "x = 1\n\tatomik = []\n").expect_err("an error");
        assert!(error.contains("f:1:1: "), "{error}");
        let error = parse("f", "\tatomik = []\n").expect_err("an error");
        assert!(error.ends_with("\n  |\n1 |  atomik = []\n  |  ^^^^^^"), "{error}");
    }
}
