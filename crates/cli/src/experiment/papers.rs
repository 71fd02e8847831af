//! The papers' tables for whatever was measured, with their published figures beside ours where a subject has the name of a
//! program of theirs. Times are of other machines, and of other recordings of the program: compare shapes, not seconds.

use std::path::Path;

use super::record::{Measure, Outcome};
use super::table::{Row, Table, markdown};
use crate::grid::grouped;

/// The columns of AeroDrome's tables.
const HEADINGS: [&str; 11] = [
    "Program",
    "whose",
    "Events",
    "Threads",
    "Locks",
    "Variables",
    "Transactions",
    "Atomic?",
    "Velodrome (s)",
    "AeroDrome (s)",
    "Speed-up",
];

/// Mathur, Viswanathan, ASPLOS 2020, Tables 1 and 2. TO is ten hours.
const AERODROME: [[&str; 10]; 21] = [
    ["avrora", "2.4B", "7", "7", "1079K", "498M", "no", "TO", "1.5", "> 24000"],
    ["elevator", "280K", "5", "50", "725", "22.6K", "yes", "162", "1.7", "97"],
    ["hedc", "9.8K", "7", "13", "1694", "84", "no", "0.07", "0.06", "1.16"],
    ["luindex", "570M", "3", "65", "2.5M", "86M", "no", "581", "674", "0.86"],
    ["lusearch", "2.0B", "14", "772", "38M", "306M", "no", "TO", "5.5", "> 6545"],
    ["moldyn", "1.7B", "4", "1", "121K", "1.4M", "no", "TO", "54.9", "> 650"],
    ["montecarlo", "494M", "4", "1", "30.5M", "812K", "no", "TO", "0.75", "> 48000"],
    ["philo", "613", "6", "1", "24", "0", "yes", "0.02", "0.02", "1"],
    ["pmd", "367M", "13", "223", "12.9M", "81M", "no", "3.1", "3.8", "0.82"],
    ["raytracer", "2.8B", "4", "1", "12.6M", "277M", "yes", "TO", "3340", "> 10.7"],
    ["sor", "608M", "4", "2", "1M", "637K", "no", "6.9", "9.6", "0.72"],
    ["sunflow", "16.8M", "16", "9", "1.2M", "2.5M", "no", "67.9", "0.65", "104.5"],
    ["tsp", "312M", "9", "2", "181M", "9", "no", "4.2", "5.7", "0.73"],
    ["xalan", "1.0B", "13", "8624", "31M", "214M", "no", "1.6", "2.0", "0.8"],
    ["batik", "186M", "7", "1916", "4.9M", "15M", "no", "52.7", "65.5", "0.81"],
    ["crypt", "126M", "7", "1", "9M", "50", "no", "92.1", "104", "0.88"],
    ["fop", "96M", "1", "115", "5M", "25M", "yes", "88.3", "92.5", "0.95"],
    ["lufact", "135M", "4", "1", "252K", "642M", "no", "2.4", "2.9", "0.82"],
    ["series", "40M", "4", "1", "20K", "20M", "no", "61.0", "15.3", "3.98"],
    ["sparsematmult", "726M", "4", "1", "1.6M", "25", "no", "1210", "1197", "1.01"],
    ["tomcat", "726M", "4", "1", "1.6M", "25", "no", "3.4", "4.5", "0.75"],
];

/// The tables, in Markdown.
pub(crate) fn tables(table: &Table) -> String {
    let rows = table.subjects().into_iter().flat_map(|subject| {
        let name = program(subject);
        let published = AERODROME.iter().find(|row| row[0] == name).map(|row| {
            let cells = row.iter().skip(1).map(|cell| (*cell).to_owned());
            [row[0].to_owned(), "published".to_owned()].into_iter().chain(cells).collect()
        });
        [Some(ours(table, subject)), published].into_iter().flatten()
    });
    format!(
        "AeroDrome (ASPLOS 2020), Tables 1 and 2. Published: a 2.6 GHz machine, traces of RoadRunner, both tools stop at the first violation \
         (here with --first-violation); TO is ten hours.\n\n{}",
        markdown(&HEADINGS.map(str::to_owned), rows)
    )
}

/// The name by which a paper may know a subject: that of the file, up to the first point.
fn program(subject: &str) -> String {
    let file = Path::new(subject).file_name().unwrap_or_default().to_string_lossy();
    file.split('.').next().unwrap_or_default().to_lowercase()
}

fn ours(table: &Table, subject: &str) -> Vec<String> {
    let measure = table.rows.iter().filter(|row| row.subject == subject).find_map(|row| row.measure.as_ref());
    let count =
        |number: fn(&Measure) -> u64| measure.map_or("-".to_owned(), |measure| grouped(number(measure)));
    let (velodrome, aerodrome) = (table.row(subject, "velodrome"), table.row(subject, "aerodrome"));
    let serializable = |row: Option<&Row>| row.and_then(|row| row.measure.as_ref()?.serializable);
    let atomic = serializable(aerodrome).or(serializable(velodrome));
    let done = |row: Option<&Row>| row.filter(|row| row.outcome == Outcome::Done).and_then(|row| row.seconds);
    let time = |row: Option<&Row>| match (row, done(row)) {
        (_, Some(seconds)) => format!("{seconds:.3}"),
        (Some(row), None) => row.outcome.short().to_owned(),
        (None, None) => "-".to_owned(),
    };
    let ratio = done(velodrome).zip(done(aerodrome));
    vec![
        program(subject),
        "here".to_owned(),
        count(|m| m.events),
        count(|m| m.threads),
        count(|m| m.locks),
        count(|m| m.variables),
        count(|m| m.transactions),
        atomic.map_or("-", |atomic| if atomic { "yes" } else { "no" }).to_owned(),
        time(velodrome),
        time(aerodrome),
        ratio.map_or("-".to_owned(), |(slow, fast)| format!("{:.2}", slow / fast.max(1e-9))),
    ]
}
