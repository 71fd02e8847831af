//! JUnit XML, as continuous integration reads it: a suite per trace; a failing case per mistake, a skipped one per mistake that
//! was set aside, a passing one per block about which nothing was found; and one case for everything else, which passes, is
//! skipped where nothing was observed, or errs where the trace could not be read.

use std::fmt::Write;

use crate::digest::{Digest, Summary};
use crate::finding::Finding;

/// Writing to a string does not fail.
macro_rules! put {
    ($text:expr, $($rest:tt)*) => {{ let _ = writeln!($text, $($rest)*); }};
}

/// How many cases there are, and of which kinds.
#[derive(Default)]
struct Numbers {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

/// The report as JUnit XML. A mistake found in several traces is a case of each.
pub fn render(digest: &Digest) -> String {
    let mut per_trace: Vec<Vec<&Finding>> = vec![Vec::new(); digest.traces.len()];
    for finding in &digest.findings {
        for &trace in &finding.traces {
            per_trace[trace].push(finding);
        }
    }
    let (mut suites, mut all) = (String::new(), Numbers::default());
    for (trace, findings) in digest.traces.iter().zip(per_trace) {
        let (cases, numbers) = cases(trace, &findings);
        put!(
            suites,
            "  <testsuite name=\"{}\" {} time=\"{:.6}\">\n{cases}  </testsuite>",
            quoted(&trace.name),
            attributes(&numbers),
            trace.seconds
        );
        all.tests += numbers.tests;
        all.failures += numbers.failures;
        all.errors += numbers.errors;
        all.skipped += numbers.skipped;
    }
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    put!(text, "<testsuites name=\"atomvet\" {}>\n{suites}</testsuites>", attributes(&all));
    text
}

fn attributes(numbers: &Numbers) -> String {
    let Numbers { tests, failures, errors, skipped } = numbers;
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
}

/// The cases of a trace, and how many there are.
fn cases(trace: &Summary, findings: &[&Finding]) -> (String, Numbers) {
    let (mut text, mut numbers) = (String::new(), Numbers::default());
    let class = quoted(&trace.name);
    for finding in findings.iter().filter(|finding| finding.counts || finding.aside.is_some()) {
        open(&mut text, &class, finding);
        match &finding.aside {
            Some(aside) => {
                put!(text, "      <skipped message=\"{}\"/>", quoted(&aside.line()));
                put!(text, "      <system-out>{}</system-out>", quoted(&finding.lines().join("\n")));
                numbers.skipped += 1;
            }
            None => {
                put!(
                    text,
                    "      <failure type=\"{}\" message=\"{} ({})\">{}</failure>",
                    quoted(&finding.rule.id),
                    quoted(&finding.title),
                    quoted(&finding.sure()),
                    quoted(&finding.lines().join("\n"))
                );
                numbers.failures += 1;
            }
        }
        text.push_str("    </testcase>\n");
        numbers.tests += 1;
    }
    for block in &trace.clean {
        let times = match block.executions {
            1 => "once".to_owned(),
            number => format!("{number} times"),
        };
        put!(text, "    <testcase classname=\"{class}\" name=\"{}\">", quoted(&block.name));
        put!(
            text,
            "      <system-out>entered {times}, and no violation was found</system-out>\n    </testcase>"
        );
        numbers.tests += 1;
    }
    rest(&mut text, &class, trace, findings, &mut numbers);
    (text, numbers)
}

fn open(text: &mut String, class: &str, finding: &Finding) {
    let file = finding.files().first().map(|file| quoted(&crate::words::short(file)));
    let line = finding.site.as_ref().and_then(|site| site.line);
    let place = match (file, line) {
        (Some(file), Some(line)) => format!(" file=\"{file}\" line=\"{line}\""),
        _ => String::new(),
    };
    put!(
        text,
        "    <testcase classname=\"{class}\" name=\"{} [{}]\"{place}>",
        quoted(&finding.subject),
        quoted(&finding.fingerprint)
    );
}

/// The case that says what there is to say about the trace as a whole.
fn rest(text: &mut String, class: &str, trace: &Summary, findings: &[&Finding], numbers: &mut Numbers) {
    let case = match &trace.coverage {
        Some(_) => "everything else",
        None => "the trace can be read",
    };
    put!(text, "    <testcase classname=\"{class}\" name=\"{case}\" time=\"{:.6}\">", trace.seconds);
    numbers.tests += 1;
    if let Some(error) = &trace.error {
        put!(text, "      <error type=\"unreadable\" message=\"{}\"/>", quoted(error));
        numbers.errors += 1;
    } else if trace.coverage.as_ref().is_some_and(|coverage| !coverage.observed) {
        put!(text, "      <skipped message=\"{}\"/>", quoted(&trace.warnings.join("; ")));
        numbers.skipped += 1;
    }
    let mut said: Vec<String> =
        trace.verdicts.iter().map(|(name, verdict)| format!("{name}: {verdict}")).collect();
    said.extend(trace.warnings.iter().cloned());
    for finding in findings.iter().filter(|finding| !finding.counts && finding.aside.is_none()) {
        said.push(format!("{} ({}): {}", finding.title, finding.sure(), finding.lines().join(" ")));
    }
    if !said.is_empty() {
        put!(text, "      <system-out>{}</system-out>", quoted(&said.join("\n")));
    }
    text.push_str("    </testcase>\n");
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
