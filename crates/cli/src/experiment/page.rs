//! The results as one HTML page that needs no other file: plots, who misses what, and the table.

use std::fmt::Write as _;

use super::plots::{Axis, Plot, Scale, Series, escape};
use super::record::Outcome;
use super::table::{HEADINGS, Row, Table};

const STYLE: &str = include_str!("page.css");

/// The page.
pub(crate) fn html(table: &Table, more: &str) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>atomvet experiment</title><style>{STYLE}</style></head><body>\n<h1>atomvet experiment</h1>\n<p>{}</p>\n",
        escape(&summary(table))
    );
    for svg in plots(table).iter().filter_map(Plot::svg) {
        let _ = writeln!(page, "<figure>{svg}</figure>");
    }
    page += &misses(table);
    page += more;
    page += "<h2>All results</h2>\n";
    page += &rows_of(&HEADINGS, table.rows.iter().map(Row::cells));
    page += &failures(table);
    page + "</body></html>\n"
}

/// What there is, in a sentence.
fn summary(table: &Table) -> String {
    let not_done = |outcome: Outcome| table.records.iter().filter(|record| record.outcome == outcome).count();
    format!(
        "{} subjects, {} algorithms, {} cells: {} done, {} timed out, {} out of memory, {} failed.",
        table.subjects().len(),
        table.algorithms().len(),
        table.records.len(),
        not_done(Outcome::Done),
        not_done(Outcome::Timeout),
        not_done(Outcome::Memory),
        not_done(Outcome::Failed)
    )
}

/// All plots that make sense for the results.
pub(crate) fn plots(table: &Table) -> Vec<Plot> {
    let of = |value: &dyn Fn(&Row) -> Option<(f64, f64)>| -> Vec<Series> {
        let series = table.algorithms().into_iter().map(|name| {
            let mut points: Vec<(f64, f64)> =
                table.rows.iter().filter(|row| row.algorithm == name).filter_map(value).collect();
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            Series { name: name.to_owned(), points }
        });
        series.collect()
    };
    let log = |label| Axis { label, scale: Scale::Log };
    let events = |row: &Row| Some(row.measure.as_ref()?.events as f64);
    let cactus = of(&|row| Some((0.0, row.seconds.filter(|_| row.outcome == Outcome::Done)?)));
    let cactus = cactus.into_iter().map(|mut series| {
        series.points.sort_by(|one, other| one.1.total_cmp(&other.1));
        series.points.iter_mut().zip(1..).for_each(|(point, number)| point.0 = f64::from(number));
        series
    });
    let mut speed_up = of(&|row| events(row).zip(row.speed_up));
    let is_reference = |series: &&mut Series| Some(&series.name) == table.reference.as_ref();
    speed_up.iter_mut().filter(is_reference).for_each(|series| series.points.clear());
    vec![
        Plot {
            title: "Time over length",
            x: log("events"),
            y: log("seconds"),
            series: of(&|row| events(row).zip(row.seconds)),
            joined: true,
        },
        Plot {
            title: "Memory over length",
            x: log("events"),
            y: log("bytes"),
            series: of(&|row| events(row).zip(row.memory().map(|bytes| bytes as f64))),
            joined: true,
        },
        Plot {
            title: "Speed-up over the reference",
            x: log("events"),
            y: log("times as fast"),
            series: speed_up,
            joined: false,
        },
        Plot {
            title: "Cactus plot: subjects done, each within so many seconds",
            x: Axis { label: "subjects", scale: Scale::Linear },
            y: log("seconds"),
            series: cactus.collect(),
            joined: true,
        },
    ]
}

/// Who misses what, and who is wrong about what.
fn misses(table: &Table) -> String {
    let algorithms = table.algorithms();
    let mut rows = String::new();
    for subject in table.subjects() {
        let held: Vec<Option<_>> = algorithms
            .iter()
            .map(|name| table.row(subject, name).and_then(|row| row.held.as_ref()))
            .collect();
        if held.iter().flatten().all(|held| held.missed.is_empty() && held.wrong.is_empty()) {
            continue;
        }
        let _ = write!(rows, "<tr><th>{}</th>", escape(subject));
        for held in held {
            let Some(held) = held else {
                rows.push_str("<td>-</td>");
                continue;
            };
            let names = |names: &[String], word: &str| match names.len() {
                0 => String::new(),
                number => format!(
                    "<details><summary>{number} {word}</summary>{}</details>",
                    escape(&names.join(", "))
                ),
            };
            let class = match (held.missed.is_empty(), held.wrong.is_empty()) {
                (true, true) => "right",
                (false, _) => "missed",
                (true, false) => "wrong",
            };
            let _ = write!(
                rows,
                "<td class=\"{class}\">{}{}</td>",
                names(&held.missed, "missed"),
                names(&held.wrong, "wrong")
            );
        }
        rows.push_str("</tr>\n");
    }
    if rows.is_empty() {
        return String::new();
    }
    let heads: String = algorithms.iter().map(|name| format!("<th>{}</th>", escape(name))).collect();
    format!(
        "<h2>Who misses what</h2>\n<p>Blocks by name, against regiontrack, which is exact. Subjects on which all agree are left out.</p>\n\
         <div class=\"wide\"><table class=\"misses\"><tr><th>subject</th>{heads}</tr>\n{rows}</table></div>\n"
    )
}

/// Why cells are not done.
fn failures(table: &Table) -> String {
    let failed = table.records.iter().filter_map(|record| Some((record, record.message.as_ref()?)));
    let items: String = failed
        .map(|(record, message)| {
            format!(
                "<li>{}, {}: {}</li>\n",
                escape(&record.subject),
                escape(&record.algorithm),
                escape(message)
            )
        })
        .collect();
    if items.is_empty() { items } else { format!("<h2>Not done</h2>\n<ul>{items}</ul>\n") }
}

/// A table of text.
pub(crate) fn rows_of(headings: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let cells = |cells: &[String], tag: &str| -> String {
        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
    };
    let headings: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
    let body: String = rows.map(|row| format!("<tr>{}</tr>\n", cells(&row, "td"))).collect();
    format!("<div class=\"wide\"><table><tr>{}</tr>\n{body}</table></div>\n", cells(&headings, "th"))
}
