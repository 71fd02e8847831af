//! One HTML file for a browser: no network, light and dark, printable.
//!
//! The file has the findings as a block of data (numbers and indices into one table of strings) and a script that makes
//! the overview, the drawings and the excerpts of it as they are asked for: that is what keeps 5,000 findings below 5 MB and
//! quick to open; large data is compressed, and the browser unpacks it. The script puts text into the page as text, never as markup, and the data block cannot end early
//! because it has no `<`; so names from a trace cannot become anything else. Without scripts the page is a plain list.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::io::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::digest::Digest;
use crate::finding::{Finding, Level, Site};
use crate::rules;
use crate::sources::Sources;

/// Data up to this size is written as it is, so that people can search in it; more is compressed.
const MOST_PLAIN_DATA: usize = 1_000_000;
/// What the data may take in the page.
const MOST_DATA: usize = 4_300_000;
/// Once the data, not compressed, is larger, further findings come without details. Those that are known by name only may
/// take a fifth besides; what is more is only counted. A browser takes this much without effort.
const MOST_DETAILS: usize = 24_000_000;
/// Source text in bytes.
const MOST_SOURCE: usize = 400_000;
/// Findings in the plain list for browsers without scripts.
const MOST_PLAIN: usize = 100;
/// Lines of source around an event.
const AROUND: u32 = 2;

/// Writing to a string does not fail.
macro_rules! put {
    ($text:expr, $($rest:tt)*) => {{ let _ = writeln!($text, $($rest)*); }};
}

/// The report as a page.
pub fn render(digest: &Digest, sources: &mut Sources) -> String {
    let (data, element) = data(digest, sources);
    let total = digest.findings.len();
    let mut text = String::new();
    let heading = match total {
        0 => "No findings".to_owned(),
        1 => "1 finding".to_owned(),
        total => format!("{} findings", grouped(total)),
    };
    text.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    text.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n");
    text.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    put!(text, "<title>atomvet: {heading}</title>");
    put!(text, "<style>{}</style>\n</head>\n<body>", include_str!("html/style.css").trim_end());
    put!(text, "<header><h1>atomvet: {heading}</h1>");
    for trace in &digest.traces {
        summary(&mut text, trace);
    }
    text.push_str(HOW_TO_READ);
    text.push_str("</header>\n<main>\n");
    if total == 0 {
        let observed = digest.traces.iter().all(|trace| trace.error.is_none() && trace.warnings.is_empty());
        if observed {
            put!(text, "<p class=\"good\">Every block that was checked is atomic in what was recorded.</p>");
        }
    }
    folded(&mut text, &data, total);
    text.push_str("<section id=\"findings\" aria-label=\"Findings\"></section>\n<noscript>\n");
    plain(&mut text, digest);
    text.push_str("</noscript>\n</main>\n");
    put!(
        text,
        "<footer>Made by atomvet {}. Every finding can be linked to by its fingerprint, which stays the same from run to run.</footer>",
        env!("CARGO_PKG_VERSION")
    );
    put!(text, "{element}");
    put!(text, "<script>{}</script>\n</body>\n</html>", include_str!("html/script.js").trim_end());
    text
}

/// The data and the element that holds it: as much of it as fits.
fn data(digest: &Digest, sources: &mut Sources) -> (Data, String) {
    let mut most = MOST_DETAILS;
    loop {
        let data = Data::new(digest, most, sources);
        let text = script_safe(&data);
        let element = if text.len() <= MOST_PLAIN_DATA {
            format!("<script type=\"application/json\" id=\"data\">{text}</script>")
        } else {
            format!("<script type=\"application/gzip\" id=\"data\">{}</script>", compressed(&text))
        };
        if element.len() <= MOST_DATA || most == 0 {
            return (data, element);
        }
        most /= 2;
    }
}

const HOW_TO_READ: &str = "<details><summary>How to read this</summary>\n\
<p>A block of code is <em>atomic</em> if it always behaves as if it ran alone, from its begin to its end, with nothing of other \
threads in between. A lock around each single access is not enough for that: another thread can still come between two of \
them.</p>\n\
<p>Each finding shows such an interleaving. In the drawing every thread is a column and time runs down. A tinted panel is a block; the red \
one is the block that is not atomic. A numbered arrow says that one event has to come before another, and the sentence \
with the same number says why. The arrows leave the block and come back into it: whatever runs in between would have to run both \
before and after the block, so no order of running them one after the other explains what is shown.</p>\n\
</details>\n";

fn summary(text: &mut String, trace: &crate::digest::Summary) {
    let name = escaped(&trace.name);
    if let Some(error) = &trace.error {
        put!(text, "<p class=\"warn\">{name} could not be read: {}</p>", escaped(error));
        return;
    }
    let figures = trace.coverage.as_ref().map(|coverage| {
        let count = |number: u64, one: &str| {
            format!("{} {one}{}", grouped(number), if number == 1 { "" } else { "s" })
        };
        [
            count(coverage.events, "event"),
            count(coverage.threads, "thread"),
            count(coverage.blocks, "block"),
            count(coverage.variables, "variable"),
            count(coverage.locks, "lock"),
        ]
        .join(", ")
    });
    let verdicts: Vec<String> =
        trace.verdicts.iter().map(|(name, verdict)| format!("{name}: {verdict}")).collect();
    put!(
        text,
        "<p class=\"figures\"><strong>{name}</strong>: {}. {}.</p>",
        figures.unwrap_or_default(),
        escaped(&verdicts.join("; "))
    );
    for warning in &trace.warnings {
        put!(text, "<p class=\"warn\">{name}: {}</p>", escaped(warning));
    }
}

/// Says what is left out.
fn folded(text: &mut String, data: &Data, total: usize) {
    let brief = data.findings.iter().filter(|finding| finding.d.is_none()).count();
    let missing = total - data.findings.len();
    if brief + missing > 0 {
        let missing =
            if missing > 0 { format!("; {} more are not listed", grouped(missing)) } else { String::new() };
        put!(
            text,
            "<p class=\"warn\">To keep this file small, {} are listed without details{missing}. The JSON report has all of them.</p>",
            grouped(brief)
        );
    }
}

/// The findings for browsers without scripts.
fn plain(text: &mut String, digest: &Digest) {
    text.push_str("<p>The table and the drawings need scripts. These are the findings as text.</p>\n<ol>\n");
    for finding in digest.findings.iter().take(MOST_PLAIN) {
        put!(
            text,
            "<li><strong>{}</strong> ({})<br>{}</li>",
            escaped(&finding.title),
            escaped(&finding.strength),
            finding.lines().iter().map(|line| escaped(line)).collect::<Vec<_>>().join("<br>")
        );
    }
    text.push_str("</ol>\n");
    if digest.findings.len() > MOST_PLAIN {
        put!(text, "<p>And {} more.</p>", grouped(digest.findings.len() - MOST_PLAIN));
    }
}

/// What the script reads. Strings are indices into `strings`, places into `sites`; -1 is none.
#[derive(Serialize)]
struct Data {
    strings: Vec<String>,
    /// Shown text, file, line.
    sites: Vec<(usize, i64, u32)>,
    rules: Vec<Named>,
    strengths: Vec<Named>,
    traces: Vec<String>,
    findings: Vec<Row>,
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
/// level, subject, place, count, traces, algorithms, variables, files, details.
#[derive(Serialize)]
struct Row {
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
    d: Option<Details>,
}

/// Meaning, reasons, conclusion, remedy, notes; then the drawing: threads, rows, bars, arrows.
#[derive(Serialize)]
struct Details {
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
    /// Thread, name, first row, last row, begins there, blamed.
    #[serde(rename = "B")]
    bars: Vec<[usize; 6]>,
    /// From, to, label, reason.
    #[serde(rename = "A")]
    arrows: Vec<(usize, usize, usize, i64)>,
}

impl Data {
    fn new(digest: &Digest, most: usize, sources: &mut Sources) -> Data {
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
            [bar.thread, name, bar.first, bar.last, usize::from(bar.begins), usize::from(bar.blamed)]
        });
        let bars = bars.collect();
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
        }
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
fn script_safe(data: &Data) -> String {
    let text = serde_json::to_string(data).unwrap_or_else(|_| Value::Null.to_string());
    // These appear in strings only.
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Compressed, in base64.
fn compressed(text: &str) -> String {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    // Writing to memory does not fail.
    let bytes = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()).unwrap_or_default();
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut base64 = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, i| bits << 8 | usize::from(chunk.get(i).copied().unwrap_or(0)));
        for digit in 0..4 {
            let is_filled = digit <= chunk.len();
            base64.push(if is_filled { char::from(DIGITS[bits >> (18 - 6 * digit) & 63]) } else { '=' });
        }
    }
    base64
}

/// Text between tags and in quoted attributes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

fn grouped(number: impl TryInto<u64>) -> String {
    let digits = number.try_into().unwrap_or(u64::MAX).to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
