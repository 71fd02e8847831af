//! The results as tables: one row per cell for programs (CSV, Parquet), one row per subject and algorithm, over all
//! repetitions, for people (text, Markdown, LaTeX).
//!
//! Of the repetitions the median counts. Missed and wrong are held to the exact algorithm on the same subject, by the names
//! of blocks (of outermost ones, for an algorithm that knows those only); missed instances compare the numbers of blamed
//! instances of each name.

use std::collections::BTreeMap;

use atomvet_check::Blame;
use atomvet_check::registry::{self, CHECKERS};
use serde_json::Value;

use super::record::{Measure, Outcome, Record};
use super::runner::is_checker;
use crate::grid::{Align, bytes, grid, grouped, seconds};
use crate::visible::visible_within;

/// All results, and what is told from several of them.
pub(crate) struct Table {
    /// One per cell.
    pub(crate) records: Vec<Record>,
    /// One per subject and algorithm.
    pub(crate) rows: Vec<Row>,
    /// The algorithm that speed-up is relative to.
    pub(crate) reference: Option<String>,
}

/// A subject and an algorithm, over all repetitions.
pub(crate) struct Row {
    pub(crate) subject: String,
    pub(crate) algorithm: String,
    /// The worst of the repetitions.
    pub(crate) outcome: Outcome,
    /// Of the first repetition that was done.
    pub(crate) measure: Option<Measure>,
    /// The medians: of the checker on a trace, of the whole process for a program.
    pub(crate) seconds: Option<f64>,
    pub(crate) peak: Option<u64>,
    pub(crate) resident: Option<u64>,
    /// Seconds of the reference by its own.
    pub(crate) speed_up: Option<f64>,
    /// Against the exact algorithm.
    pub(crate) held: Option<Held>,
}

/// What an algorithm says beside the exact one.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    /// Names that the exact one blames and this one does not.
    pub(crate) missed: Vec<String>,
    /// Instances fewer than the exact one has, summed over names.
    pub(crate) missed_instances: u64,
    /// Names that this one blames and the exact one does not.
    pub(crate) wrong: Vec<String>,
}

impl Table {
    /// Tells what the records say together. `reference` is what speed-up is relative to.
    pub(crate) fn new(records: Vec<Record>, reference: Option<&str>) -> Table {
        let mut rows: Vec<Row> = Vec::new();
        let mut groups: Vec<((&str, &str), Vec<&Record>)> = Vec::new();
        let mut index: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for record in &records {
            let key = (&record.subject[..], &record.algorithm[..]);
            let at = *index.entry(key).or_insert(groups.len());
            if at == groups.len() {
                groups.push((key, Vec::new()));
            }
            groups[at].1.push(record);
        }
        for ((subject, algorithm), same) in groups {
            let done = || same.iter().filter(|record| record.outcome == Outcome::Done);
            let own = |record: &&Record| match &record.measure {
                Some(measure) if is_checker(algorithm) && measure.seconds > 0.0 => measure.seconds,
                _ => record.wall,
            };
            let worst = same.iter().find(|record| record.outcome != Outcome::Done);
            rows.push(Row {
                subject: subject.to_owned(),
                algorithm: algorithm.to_owned(),
                outcome: worst.map_or(Outcome::Done, |record| record.outcome),
                measure: done().find_map(|record| record.measure.clone()),
                seconds: median(done().map(own).collect()),
                peak: done().filter_map(|record| Some(record.measure.as_ref()?.peak)).max(),
                resident: done().map(|record| record.resident).max(),
                speed_up: None,
                held: None,
            });
        }
        let exact = CHECKERS[0].info.name;
        let find = |rows: &[Row], subject: &str, name: &str| -> Option<usize> {
            rows.iter().position(|row| row.subject == subject && row.algorithm == name)
        };
        for at in 0..rows.len() {
            let base = reference
                .and_then(|name| find(&rows, &rows[at].subject, name))
                .and_then(|at| rows[at].seconds);
            rows[at].speed_up = base.zip(rows[at].seconds).map(|(base, own)| base / own.max(1e-9));
            let truth = find(&rows, &rows[at].subject, exact).and_then(|at| rows[at].measure.clone());
            if let Some(entry) = registry::find(&rows[at].algorithm) {
                let held = truth.zip(rows[at].measure.as_ref());
                rows[at].held = held.and_then(|(truth, own)| Held::new(&truth, own, entry.info.blame));
            }
        }
        Table { records, rows, reference: reference.map(str::to_owned) }
    }

    /// The algorithms that are checkers, in the order of the results.
    pub(crate) fn algorithms(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in self.rows.iter().filter(|row| is_checker(&row.algorithm)) {
            if !names.contains(&&row.algorithm[..]) {
                names.push(&row.algorithm);
            }
        }
        names
    }

    /// The subjects, in the order of the results.
    pub(crate) fn subjects(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !names.contains(&&row.subject[..]) {
                names.push(&row.subject);
            }
        }
        names
    }

    /// The row of a subject and an algorithm.
    pub(crate) fn row(&self, subject: &str, algorithm: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.subject == subject && row.algorithm == algorithm)
    }

    /// Columns that line up.
    pub(crate) fn text(&self) -> String {
        let columns: Vec<(&str, Align)> =
            HEADINGS.iter().enumerate().map(|(i, name)| (*name, align(i))).collect();
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| {
                let mut cells = row.cells();
                cells[0] = visible_within(&cells[0], 40);
                cells
            })
            .collect();
        grid(0, &columns, &rows)
    }

    /// A table in Markdown.
    pub(crate) fn markdown(&self) -> String {
        let rows = self.rows.iter().map(Row::cells);
        markdown(&HEADINGS.map(str::to_owned), rows)
    }

    /// A table in LaTeX, for `\usepackage{booktabs}`.
    pub(crate) fn latex(&self) -> String {
        latex(&HEADINGS.map(str::to_owned), self.rows.iter().map(Row::cells))
    }

    /// One line per cell, in the quoting of RFC 4180.
    pub(crate) fn csv(&self) -> String {
        let mut text = COLUMNS.map(|(name, _)| name.to_owned()).join(",") + "\r\n";
        for record in self.flat() {
            let line: Vec<String> = record
                .iter()
                .map(|value| match value {
                    Value::Null => String::new(),
                    Value::String(word) => quoted(word),
                    other => other.to_string(),
                })
                .collect();
            text += &(line.join(",") + "\r\n");
        }
        text
    }

    /// One row of plain values per cell, in the order of [`COLUMNS`].
    pub(crate) fn flat(&self) -> impl Iterator<Item = Vec<Value>> {
        self.records.iter().map(|record| {
            let row = self.row(&record.subject, &record.algorithm);
            let held = row.and_then(|row| row.held.as_ref());
            let measure = record.measure.as_ref();
            let number = |value: fn(&Measure) -> u64| measure.map(value);
            let checker = measure.filter(|_| is_checker(&record.algorithm));
            vec![
                record.subject.clone().into(),
                record.algorithm.clone().into(),
                record.repetition.into(),
                record.outcome.short().into(),
                record.message.clone().into(),
                measure.map(|m| m.seconds).into(),
                record.wall.into(),
                record.cpu.into(),
                number(|m| m.peak).into(),
                record.resident.into(),
                number(|m| m.events).into(),
                number(|m| m.threads).into(),
                number(|m| m.locks).into(),
                number(|m| m.variables).into(),
                number(|m| m.blocks).into(),
                number(|m| m.transactions).into(),
                checker.and_then(|m| m.serializable).into(),
                checker.and_then(|m| m.first_event).into(),
                checker.map(|m| m.blamed.len() as u64).into(),
                checker.map(Measure::instances).into(),
                checker.map(|m| m.unblamed).into(),
                checker.map(|m| m.races).into(),
                checker.map(|m| m.deadlocks).into(),
                held.map(|held| held.missed.len() as u64).into(),
                held.map(|held| held.missed_instances).into(),
                held.map(|held| held.wrong.len() as u64).into(),
                measure.map(|m| serde_json::to_string(&m.figures).unwrap_or_default()).into(),
            ]
        })
    }
}

/// What a column of [`Table::flat`] holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    /// Text.
    Text,
    /// A number of things.
    Count,
    /// A measure.
    Real,
    /// Yes or no.
    Flag,
}

/// The columns of [`Table::flat`].
pub(crate) const COLUMNS: [(&str, Type); 27] = [
    ("subject", Type::Text),
    ("algorithm", Type::Text),
    ("repetition", Type::Count),
    ("outcome", Type::Text),
    ("message", Type::Text),
    ("seconds", Type::Real),
    ("wall_seconds", Type::Real),
    ("cpu_seconds", Type::Real),
    ("peak_bytes", Type::Count),
    ("resident_bytes", Type::Count),
    ("events", Type::Count),
    ("threads", Type::Count),
    ("locks", Type::Count),
    ("variables", Type::Count),
    ("blocks", Type::Count),
    ("transactions", Type::Count),
    ("serializable", Type::Flag),
    ("first_event", Type::Count),
    ("methods", Type::Count),
    ("instances", Type::Count),
    ("cycles_without_blame", Type::Count),
    ("races", Type::Count),
    ("deadlocks", Type::Count),
    ("missed_methods", Type::Count),
    ("missed_instances", Type::Count),
    ("wrong_methods", Type::Count),
    ("figures", Type::Text),
];

/// Of the table for people.
pub(crate) const HEADINGS: [&str; 12] = [
    "subject",
    "algorithm",
    "events",
    "atomic?",
    "first event",
    "methods",
    "instances",
    "missed",
    "wrong",
    "time",
    "speed-up",
    "memory",
];

fn align(column: usize) -> Align {
    if column < 2 { Align::Left } else { Align::Right }
}

impl Row {
    /// In the order of the headings.
    pub(crate) fn cells(&self) -> Vec<String> {
        let dash = || "-".to_owned();
        let measure = self.measure.as_ref();
        let checker = measure.filter(|_| is_checker(&self.algorithm));
        let blames =
            checker.filter(|_| registry::find(&self.algorithm).is_some_and(|e| e.info.blame != Blame::None));
        let atomic = checker.map(|m| match (m.serializable, m.blamed.is_empty()) {
            (Some(true), _) | (None, true) => "yes",
            _ => "no",
        });
        let held = |what: fn(&Held) -> &Vec<String>| {
            self.held.as_ref().map_or_else(dash, |held| grouped(what(held).len() as u64))
        };
        let time = match (self.outcome, self.seconds) {
            (Outcome::Done, Some(own)) => seconds(own),
            (outcome, _) => outcome.short().to_owned(),
        };
        vec![
            self.subject.clone(),
            self.algorithm.clone(),
            measure.filter(|m| m.events > 0).map_or_else(dash, |m| grouped(m.events)),
            atomic.map_or_else(dash, str::to_owned),
            checker.and_then(|m| m.first_event).map_or_else(dash, grouped),
            blames.map_or_else(dash, |m| grouped(m.blamed.len() as u64)),
            blames.map_or_else(dash, |m| grouped(m.instances())),
            held(|held| &held.missed),
            held(|held| &held.wrong),
            time,
            self.speed_up
                .filter(|_| is_checker(&self.algorithm))
                .map_or_else(dash, |ratio| format!("{ratio:.2}")),
            self.memory().map_or_else(dash, bytes),
        ]
    }

    /// Of the checker on a trace, of the process for a program.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.peak.filter(|peak| *peak > 0).or(self.resident)
    }
}

impl Held {
    /// None for an algorithm that judges no blocks.
    fn new(truth: &Measure, own: &Measure, blame: Blame) -> Option<Held> {
        let expected = match blame {
            Blame::None => return None,
            Blame::Exact => &truth.blamed,
            Blame::Some | Blame::More => &truth.outermost,
        };
        let missed = |(name, number): (&String, &u64)| {
            number.saturating_sub(own.blamed.get(name).copied().unwrap_or(0))
        };
        let not_in = |names: &BTreeMap<String, u64>, others: &BTreeMap<String, u64>| -> Vec<String> {
            names.keys().filter(|name| !others.contains_key(*name)).cloned().collect()
        };
        Some(Held {
            missed: not_in(expected, &own.blamed),
            missed_instances: expected.iter().map(missed).sum(),
            wrong: not_in(&own.blamed, &truth.blamed),
        })
    }
}

/// The middle one; of two, their mean.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// A table in Markdown, numbers to the right.
pub(crate) fn markdown(headings: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| {
        let cells: Vec<String> =
            cells.iter().map(|cell| cell.replace('|', "\\|").replace(['\n', '\r'], " ")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule: Vec<String> =
        (0..headings.len()).map(|i| if i < 2 { "---" } else { "---:" }.to_owned()).collect();
    line(headings.to_vec()) + &line(rule) + &rows.map(line).collect::<String>()
}

/// A table in LaTeX.
pub(crate) fn latex(headings: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| {
        cells.iter().map(|cell| escaped(cell)).collect::<Vec<_>>().join(" & ") + " \\\\\n"
    };
    let columns: String = (0..headings.len()).map(|i| if i < 2 { 'l' } else { 'r' }).collect();
    let body: String = rows.map(line).collect();
    format!(
        "\\begin{{tabular}}{{{columns}}}\n\\toprule\n{}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n",
        line(headings.to_vec())
    )
}

/// Text that LaTeX prints as it is.
fn escaped(text: &str) -> String {
    let mut result = String::new();
    for letter in text.chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => result.extend(['\\', letter]),
            '\\' => result.push_str("\\textbackslash{}"),
            '~' => result.push_str("\\textasciitilde{}"),
            '^' => result.push_str("\\textasciicircum{}"),
            'µ' => result.push_str("$\\mu$"),
            '✓' => result.push_str("$\\checkmark$"),
            '✗' => result.push_str("$\\times$"),
            other => result.push(other),
        }
    }
    result
}

fn quoted(word: &str) -> String {
    if word.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", word.replace('"', "\"\""))
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
    }

    #[test]
    fn names_are_text_in_every_format() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(escaped("a_b%\\"), "a\\_b\\%\\textbackslash{}");
        assert_eq!(markdown(&["a|b".to_owned()], std::iter::empty()), "| a\\|b |\n| --- |\n");
    }

    #[test]
    fn an_algorithm_is_held_to_the_exact_one() {
        let blamed = |names: &[(&str, u64)]| Measure {
            blamed: names.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect(),
            ..Measure::default()
        };
        let (mut truth, own) = (blamed(&[("a", 3), ("b", 1)]), blamed(&[("a", 1), ("c", 9)]));
        let expected =
            Held { missed: vec!["b".to_owned()], missed_instances: 3, wrong: vec!["c".to_owned()] };
        assert_eq!(Held::new(&truth, &own, Blame::Exact), Some(expected.clone()));
        assert_eq!(Held::new(&truth, &own, Blame::None), None);
        truth.outermost = blamed(&[("a", 2)]).blamed;
        let expected = Held { missed: vec![], missed_instances: 1, ..expected };
        assert_eq!(Held::new(&truth, &own, Blame::Some), Some(expected));
    }
}
