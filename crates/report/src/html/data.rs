//! The data block of the page: numbers, and indices into one table of strings, because there may be thousands of
//! findings. What does not fit is listed without details, and then not at all.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::Value;

use crate::digest::Digest;
use crate::finding::{AsideKind, Finding, Level, Scene, Site};
use crate::rules;
use crate::sources::Sources;

/// Source text in bytes.
const MOST_SOURCE: usize = 400_000;
/// Lines of source around an event.
const AROUND: u32 = 2;

/// What the script reads. Strings are indices into `strings`, places into `sites`; -1 is none.
#[derive(Serialize)]
pub(super) struct Data {
    strings: Vec<String>,
    /// Shown text, file, line.
    sites: Vec<(usize, i64, u32)>,
    rules: Vec<Named>,
    strengths: Vec<Named>,
    traces: Vec<String>,
    pub(super) findings: Vec<Row>,
    /// By file and line.
    source: BTreeMap<usize, BTreeMap<u32, String>>,
}

#[derive(Serialize)]
struct Named {
    id: String,
    name: String,
    meaning: String,
}

/// A finding in the overview. The names are short because there may be thousands: fingerprint, title, rule, strength,
/// level, subject, place, count, traces, algorithms, variables, files, why it was set aside (the kind and a line), details.
#[derive(Serialize)]
pub(super) struct Row {
    p: String,
    t: usize,
    r: usize,
    s: usize,
    l: u8,
    u: usize,
    w: i64,
    k: u64,
    x: Vec<usize>,
    a: Vec<usize>,
    v: Vec<usize>,
    f: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    z: Option<(u8, usize)>,
    pub(super) d: Option<Details>,
}

/// Meaning, reasons, conclusion, remedy, notes; then the drawing: threads, rows, bars, arrows, what is folded; then the
/// graph: nodes, and the node of each row.
#[derive(Serialize)]
pub(super) struct Details {
    m: usize,
    y: Vec<usize>,
    c: i64,
    h: usize,
    n: Vec<usize>,
    #[serde(rename = "T")]
    threads: Vec<usize>,
    /// Event, thread, words, operation, place, locks.
    #[serde(rename = "R")]
    rows: Vec<Vec<i64>>,
    /// Thread, name, first row, last row, how it begins ([`BEGAN_BEFORE`] and the like), blamed.
    #[serde(rename = "B")]
    bars: Vec<[usize; 6]>,
    /// From, to, label, reason.
    #[serde(rename = "A")]
    arrows: Vec<(usize, usize, usize, i64)>,
    /// Row, how many events are folded before it, and for those that are told: event, words, place as a string.
    #[serde(rename = "F", skip_serializing_if = "Vec::is_empty")]
    folds: Vec<Folded>,
    /// Name, thread, blamed.
    #[serde(rename = "N")]
    nodes: Vec<[usize; 3]>,
    #[serde(rename = "M")]
    node_of_row: Vec<usize>,
    /// The arrows have no direction.
    #[serde(rename = "U", skip_serializing_if = "is_false")]
    unordered: bool,
}

type Folded = (usize, u64, Vec<(u64, usize, i64)>);

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The bar's first row is not where its block begins.
const BEGAN_BEFORE: usize = 0;
/// It is.
const BEGINS: usize = 1;
/// The bar is no block: a thread holds a lock.
const HOLDS: usize = 2;

impl Data {
    pub(super) fn new(digest: &Digest, most: usize, sources: &mut Sources) -> Data {
        let mut making = Making { most, ..Making::default() };
        let rules = rules::all();
        let mut strengths: Vec<Named> = Vec::new();
        let mut findings = Vec::new();
        for finding in &digest.findings {
            if making.size > most + most / 5 {
                break;
            }
            let strength =
                strengths.iter().position(|known| known.name == finding.strength).unwrap_or_else(|| {
                    let meaning = rules::strength_meaning(&finding.strength).to_owned();
                    strengths.push(Named { id: String::new(), name: finding.strength.clone(), meaning });
                    strengths.len() - 1
                });
            let rule = rules.iter().position(|rule| rule.id == finding.rule.id).unwrap_or(0);
            findings.push(making.row(finding, rule, strength, sources));
        }
        let named = |rule: rules::Rule| Named {
            id: rule.id,
            name: rule.name.to_owned(),
            meaning: rule.meaning.to_owned(),
        };
        Data {
            strings: making.strings,
            sites: making.sites,
            rules: rules.into_iter().map(named).collect(),
            strengths,
            traces: digest.traces.iter().map(|trace| trace.name.clone()).collect(),
            findings,
            source: making.source,
        }
    }
}

/// The data so far.
#[derive(Default)]
struct Making {
    strings: Vec<String>,
    index: HashMap<String, usize>,
    sites: Vec<(usize, i64, u32)>,
    site_index: HashMap<String, usize>,
    source: BTreeMap<usize, BTreeMap<u32, String>>,
    source_size: usize,
    /// About how long it is as JSON.
    size: usize,
    /// How long it may be.
    most: usize,
}

impl Making {
    fn string(&mut self, text: &str) -> usize {
        // An index has some five digits and a comma.
        self.size += 6;
        if let Some(&known) = self.index.get(text) {
            return known;
        }
        self.size += json_length(text) + 1;
        self.strings.push(text.to_owned());
        self.index.insert(text.to_owned(), self.strings.len() - 1);
        self.strings.len() - 1
    }

    fn strings(&mut self, texts: &[String]) -> Vec<usize> {
        texts.iter().map(|text| self.string(text)).collect()
    }

    fn site(&mut self, site: Option<&Site>, sources: &mut Sources) -> i64 {
        self.size += 6;
        let Some(site) = site else { return -1 };
        if let Some(&known) = self.site_index.get(&site.shown) {
            return number(known);
        }
        self.size += 16;
        let shown = self.string(&site.shown);
        let mut entry = (shown, -1, 0);
        if let (Some(file), Some(line)) = (&site.file, site.line) {
            let name = self.string(&crate::words::short(file));
            entry = (shown, number(name), line);
            self.excerpt(name, file, line, sources);
        }
        self.sites.push(entry);
        self.site_index.insert(site.shown.clone(), self.sites.len() - 1);
        number(self.sites.len() - 1)
    }

    fn excerpt(&mut self, name: usize, file: &str, line: u32, sources: &mut Sources) {
        if sources.line(file, line).is_none() {
            return;
        }
        for line in line.saturating_sub(AROUND)..=line.saturating_add(AROUND) {
            let Some(text) = sources.line(file, line) else { continue };
            let length = json_length(text) + 8;
            if self.source_size + length > MOST_SOURCE {
                return;
            }
            let lines = self.source.entry(name).or_default();
            if lines.insert(line, text.to_owned()).is_none() {
                self.source_size += length;
                self.size += length;
            }
        }
    }

    fn row(&mut self, finding: &Finding, rule: usize, strength: usize, sources: &mut Sources) -> Row {
        self.size += 130;
        let files: Vec<String> = finding.files().iter().map(|file| crate::words::short(file)).collect();
        Row {
            p: finding.fingerprint.clone(),
            t: self.string(&finding.title),
            r: rule,
            s: strength,
            l: match finding.level {
                Level::Error => 0,
                Level::Warning => 1,
                Level::Note => 2,
            },
            u: self.string(&finding.subject),
            w: self.site(finding.site.as_ref(), sources),
            k: finding.count,
            x: finding.traces.clone(),
            a: self.strings(&finding.checkers),
            v: self.strings(&finding.variables),
            f: self.strings(&files),
            z: finding.aside.as_ref().map(|aside| {
                let kind = match aside.kind {
                    AsideKind::Suppressed => 1,
                    AsideKind::Known => 2,
                    AsideKind::Benign => 3,
                };
                (kind, self.string(&aside.line()))
            }),
            d: (self.size < self.most).then(|| self.details(finding, sources)),
        }
    }

    fn details(&mut self, finding: &Finding, sources: &mut Sources) -> Details {
        self.size += 60;
        let scene = &finding.scene;
        let rows = scene.rows.iter().map(|row| {
            let mut cells = vec![
                i64::try_from(row.event).unwrap_or(i64::MAX),
                number(row.thread),
                number(self.string(&row.what)),
                number(self.string(&row.op)),
                self.site(row.site.as_ref(), sources),
            ];
            self.size += 12;
            cells.extend(row.locks.iter().map(|lock| number(self.string(lock))));
            cells
        });
        let rows = rows.collect();
        let bars = scene.bars.iter().map(|bar| {
            self.size += 16;
            let name = self.string(&bar.name);
            let begins = if bar.begins { BEGINS } else { BEGAN_BEFORE };
            [bar.thread, name, bar.first, bar.last, begins, usize::from(bar.blamed)]
        });
        let mut bars: Vec<[usize; 6]> = bars.collect();
        if finding.rule.id == rules::deadlock().id {
            bars = self.holdings(scene);
        }
        let folds = scene.folds.iter().map(|fold| {
            self.size += 12 + 20 * fold.events.len();
            let events = fold.events.iter().map(|local| {
                let site = local.site.as_deref().map_or(-1, |site| number(self.string(site)));
                (local.event, self.string(&local.what), site)
            });
            (fold.row, fold.number, events.collect())
        });
        let folds = folds.collect();
        let graph = finding.graph();
        self.size += 3 * graph.node_of_row.len();
        let nodes = graph.nodes.iter().map(|node| {
            self.size += 10;
            [self.string(&node.name), node.thread, usize::from(node.blamed)]
        });
        let nodes = nodes.collect();
        let arrows = scene.arrows.iter().map(|arrow| {
            self.size += 14;
            (arrow.from, arrow.to, self.string(&arrow.label), arrow.reason.map_or(-1, number))
        });
        Details {
            arrows: arrows.collect(),
            m: self.string(&finding.meaning),
            y: self.strings(&finding.reasons),
            c: if finding.conclusion.is_empty() { -1 } else { number(self.string(&finding.conclusion)) },
            h: self.string(&finding.remedy),
            n: self.strings(&finding.notes),
            threads: self.strings(&scene.threads),
            rows,
            bars,
            folds,
            nodes,
            node_of_row: graph.node_of_row,
            unordered: !finding.is_ordered(),
        }
    }

    /// In a deadlock, each thread holds a lock from its first row to its last.
    fn holdings(&mut self, scene: &Scene) -> Vec<[usize; 6]> {
        let threads = 0..scene.threads.len();
        let bars = threads.filter_map(|thread| {
            let first = scene.rows.iter().position(|row| row.thread == thread)?;
            let last = scene.rows.iter().rposition(|row| row.thread == thread)?;
            let what = &scene.rows[first].what;
            let name = match what.strip_prefix("takes ") {
                Some(lock) => format!("holds {lock}"),
                None => what.clone(),
            };
            Some([thread, self.string(&name), first, last, HOLDS, 0])
        });
        bars.collect()
    }
}

fn number(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(-1)
}

/// How long a text is as JSON in a script: `<` and the like take six bytes.
fn json_length(text: &str) -> usize {
    2 + text
        .chars()
        .map(|c| if matches!(c, '<' | '>' | '&' | '"' | '\\') { 6 } else { c.len_utf8() })
        .sum::<usize>()
}

/// JSON that cannot end the script element it is in, nor begin a comment there.
pub(super) fn script_safe(data: &Data) -> String {
    let text = serde_json::to_string(data).unwrap_or_else(|_| Value::Null.to_string());
    // These appear in strings only.
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
