//! One HTML file for a browser: no network, light and dark, printable.
//!
//! The file has the findings as a block of data (numbers and indices into one table of strings) and a script that makes
//! the overview, the drawings and the excerpts of it as they are asked for: that is what keeps 5,000 findings below 5 MB and
//! quick to open; large data is compressed, and the browser unpacks it. The script puts text into the page as text, never as markup, and the data block cannot end early
//! because it has no `<`; so names from a trace cannot become anything else. Without scripts the page is a plain list.

mod data;

use std::fmt::Write;
use std::io::Write as _;

use flate2::Compression;

use self::data::{Data, script_safe};
use crate::digest::{Digest, Summary};
use crate::sources::Sources;
use crate::words::capitalised;

/// Data up to this size is written as it is, so that people can search in it; more is compressed.
const MOST_PLAIN_DATA: usize = 1_000_000;
/// What the data may take in the page.
const MOST_DATA: usize = 4_300_000;
/// Once the data, not compressed, is larger, further findings come without details. Those that are known by name only may
/// take a fifth besides; what is more is only counted. A browser takes this much without effort.
const MOST_DETAILS: usize = 24_000_000;
/// So many traces are told one by one; more are folded.
const MOST_SUMMARIES: usize = 3;
/// Findings in the plain list for browsers without scripts.
const MOST_PLAIN: usize = 100;

/// Writing to a string does not fail.
macro_rules! put {
    ($text:expr, $($rest:tt)*) => {{ let _ = writeln!($text, $($rest)*); }};
}

/// The report as a page.
pub fn render(digest: &Digest, sources: &mut Sources) -> String {
    let (data, element) = data(digest, sources);
    let (counting, aside) = digest.numbers();
    let mut text = String::new();
    let mut heading = match counting {
        0 => "No findings".to_owned(),
        1 => "1 finding".to_owned(),
        number => format!("{} findings", grouped(number)),
    };
    if aside > 0 {
        let _ = write!(heading, ", and {} set aside", grouped(aside));
    }
    text.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    text.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n");
    text.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    put!(text, "<title>atomvet: {heading}</title>");
    put!(text, "<style>{}</style>\n</head>\n<body>", include_str!("html/style.css").trim_end());
    text.push_str("<a class=\"skip\" href=\"#findings\">Skip to the findings</a>\n");
    put!(text, "<header><h1>atomvet: {heading}</h1>");
    let many = digest.traces.len() > MOST_SUMMARIES;
    if many {
        put!(text, "<details><summary>{} traces</summary>", grouped(digest.traces.len()));
    }
    digest.traces.iter().for_each(|trace| summary(&mut text, trace));
    if many {
        text.push_str("</details>\n");
    }
    digest.traces.iter().for_each(|trace| warnings(&mut text, trace));
    for remark in &digest.remarks {
        put!(text, "<p class=\"figures\">{}.</p>", escaped(&capitalised(remark)));
    }
    text.push_str(HOW_TO_READ);
    text.push_str("</header>\n<main>\n");
    if counting == 0 {
        let observed = digest.traces.iter().all(|trace| trace.error.is_none() && trace.warnings.is_empty());
        if observed {
            put!(
                text,
                "<p class=\"good\">{}</p>",
                if aside > 0 {
                    "Nothing counts: all that was found is set aside."
                } else {
                    "Every block that was checked is atomic in what was recorded."
                }
            );
        }
    }
    folded(&mut text, &data, digest.findings.len());
    text.push_str(
        "<section id=\"findings\" tabindex=\"-1\" aria-label=\"Findings\"></section>\n<noscript>\n",
    );
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
fn data<'a>(digest: &'a Digest, sources: &mut Sources) -> (Data<'a>, String) {
    let mut most = MOST_DETAILS;
    loop {
        let data = Data::new(digest, most, sources);
        let text = script_safe(&data);
        if text.len() <= MOST_PLAIN_DATA {
            return (data, format!("<script type=\"application/json\" id=\"data\">{text}</script>"));
        }
        // Fast compression makes a page a third larger in a fifth of the time.
        for level in [Compression::fast(), Compression::default()] {
            let packed = compressed(&text, level);
            if packed.len() <= MOST_DATA || (most == 0 && level == Compression::default()) {
                return (data, format!("<script type=\"application/gzip\" id=\"data\">{packed}</script>"));
            }
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
before and after the block, so no order of running them one after the other explains what is shown. The graph below the drawing \
has a box for each block, or thread, and the same arrows: they go round in a circle.</p>\n\
<p>An arrow with two tips joins two accesses that nothing orders: a data race. Point at an event, or walk through the events with \
the arrow keys, to see what it is.</p>\n\
</details>\n";

fn summary(text: &mut String, trace: &Summary) {
    let name = escaped(&trace.name);
    if trace.error.is_some() {
        return;
    }
    let figures = trace.coverage.as_ref().map(|coverage| {
        let count = |number: u64, one: &str| {
            format!("{} {one}{}", grouped(number), if number == 1 { "" } else { "s" })
        };
        let figures = [
            (coverage.events, "event"),
            (Some(coverage.threads), "thread"),
            (Some(coverage.blocks), "block"),
            (coverage.variables, "variable"),
            (coverage.locks, "lock"),
        ];
        let known = figures.into_iter().filter_map(|(number, one)| Some(count(number?, one)));
        known.collect::<Vec<_>>().join(", ")
    });
    // Algorithms that say the same say it once.
    let mut verdicts: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, verdict) in &trace.verdicts {
        match verdicts.iter_mut().find(|(known, _)| known == verdict) {
            Some((_, names)) => names.push(name),
            None => verdicts.push((verdict, vec![name])),
        }
    }
    let verdicts: Vec<String> =
        verdicts.into_iter().map(|(verdict, names)| format!("{}: {verdict}", names.join(", "))).collect();
    put!(
        text,
        "<p class=\"figures\"><strong>{name}</strong>: {}. {}.</p>",
        figures.unwrap_or_default(),
        escaped(&verdicts.join("; "))
    );
}

/// What must not be overlooked about a trace.
fn warnings(text: &mut String, trace: &Summary) {
    let name = escaped(&trace.name);
    if let Some(error) = &trace.error {
        put!(text, "<p class=\"warn\">{name} could not be read: {}</p>", escaped(error));
    }
    for warning in &trace.warnings {
        put!(text, "<p class=\"warn\">{name}: {}</p>", escaped(warning));
    }
}

/// Says what is left out.
fn folded(text: &mut String, data: &Data<'_>, total: usize) {
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
            "<li id=\"plain-{}\"><strong>{}</strong> ({})<br>{}</li>",
            escaped(&finding.fingerprint),
            escaped(&finding.title),
            escaped(&finding.sure()),
            finding.lines().iter().map(|line| escaped(line)).collect::<Vec<_>>().join("<br>")
        );
    }
    text.push_str("</ol>\n");
    if digest.findings.len() > MOST_PLAIN {
        put!(text, "<p>And {} more.</p>", grouped(digest.findings.len() - MOST_PLAIN));
    }
}

/// Compressed, in base64.
fn compressed(text: &str, level: Compression) -> String {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
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
