//! JUnit XML, as continuous integration reads it: a suite per trace; a failing case per mistake; and one case for
//! everything else, which passes, is skipped where nothing was observed, or errs where the trace could not be read.

use std::fmt::Write;

use crate::digest::{Digest, Summary};
use crate::finding::Finding;

/// Writing to a string does not fail.
macro_rules! put {
    ($text:expr, $($rest:tt)*) => {{ let _ = writeln!($text, $($rest)*); }};
}

/// The report as JUnit XML. A mistake found in several traces is a case of each.
pub fn render(digest: &Digest) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let failing = digest.findings.iter().filter(|finding| finding.counts);
    let failures: usize = failing.map(|finding| finding.traces.len()).sum();
    let errors = digest.traces.iter().filter(|trace| trace.error.is_some()).count();
    put!(
        text,
        "<testsuites name=\"atomvet\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\">",
        failures + digest.traces.len()
    );
    for (position, trace) in digest.traces.iter().enumerate() {
        let here = |finding: &&Finding| finding.traces.contains(&position);
        suite(&mut text, trace, digest.findings.iter().filter(here).collect());
    }
    text.push_str("</testsuites>\n");
    text
}

fn suite(text: &mut String, trace: &Summary, findings: Vec<&Finding>) {
    let (failing, others): (Vec<&Finding>, Vec<&Finding>) = findings.into_iter().partition(|f| f.counts);
    let name = quoted(&trace.name);
    let skipped = trace.coverage.as_ref().is_some_and(|coverage| !coverage.observed);
    put!(
        text,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.6}\">",
        failing.len() + 1,
        failing.len(),
        u8::from(trace.error.is_some()),
        u8::from(skipped),
        trace.seconds
    );
    for finding in &failing {
        let file = finding.files().first().map(|file| quoted(&crate::words::short(file)));
        let line = finding.site.as_ref().and_then(|site| site.line);
        let place = match (file, line) {
            (Some(file), Some(line)) => format!(" file=\"{file}\" line=\"{line}\""),
            _ => String::new(),
        };
        put!(
            text,
            "    <testcase classname=\"{name}\" name=\"{} [{}]\"{place}>",
            quoted(&finding.subject),
            quoted(&finding.fingerprint)
        );
        put!(
            text,
            "      <failure type=\"{}\" message=\"{} ({})\">{}</failure>",
            quoted(&finding.rule.id),
            quoted(&finding.title),
            quoted(&finding.strength),
            quoted(&finding.lines().join("\n"))
        );
        text.push_str("    </testcase>\n");
    }
    let case = match &trace.coverage {
        Some(coverage) if failing.is_empty() => format!("all {} blocks entered", coverage.blocks),
        Some(_) => "everything else".to_owned(),
        None => "the trace can be read".to_owned(),
    };
    put!(text, "    <testcase classname=\"{name}\" name=\"{case}\" time=\"{:.6}\">", trace.seconds);
    if let Some(error) = &trace.error {
        put!(text, "      <error type=\"unreadable\" message=\"{}\"/>", quoted(error));
    } else if skipped {
        put!(text, "      <skipped message=\"{}\"/>", quoted(&trace.warnings.join("; ")));
    }
    let mut said: Vec<String> =
        trace.verdicts.iter().map(|(name, verdict)| format!("{name}: {verdict}")).collect();
    said.extend(trace.warnings.iter().cloned());
    for finding in others {
        said.push(format!("{} ({}): {}", finding.title, finding.strength, finding.lines().join(" ")));
    }
    if !said.is_empty() {
        put!(text, "      <system-out>{}</system-out>", quoted(&said.join("\n")));
    }
    text.push_str("    </testcase>\n  </testsuite>\n");
}

/// Text as XML takes it, in attributes and between tags. Names were made visible before; what XML forbids even as
/// a reference is left out all the same.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => quoted.push_str("&amp;"),
            '<' => quoted.push_str("&lt;"),
            '>' => quoted.push_str("&gt;"),
            '"' => quoted.push_str("&quot;"),
            '\'' => quoted.push_str("&apos;"),
            '\n' => quoted.push('\n'),
            '\u{fffe}' | '\u{ffff}' => quoted.push('\u{fffd}'),
            c if c.is_control() => quoted.push('\u{fffd}'),
            c => quoted.push(c),
        }
    }
    quoted
}
