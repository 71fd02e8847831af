//! Thousands of findings: what it takes, in bytes and in time.

#[cfg(unix)]
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{FORMATS, fingerprints, rendered};
#[cfg(unix)]
use crate::common::{Files, command};
use crate::common::{LOST, atomvet_with, trace};

/// A trace with so many different mistakes.
pub(super) fn many(number: usize) -> String {
    let mut text = String::new();
    for i in 0..number {
        text.push_str(
            &trace(LOST)
                .replace("deposit", &format!("Account.deposit_{i}"))
                .replace("b.c", &format!("src/bank_{}.c", i / 50))
                .replace("(x)", &format!("(account[{i}].balance)")),
        );
    }
    text
}

#[test]
fn five_thousand_findings_make_a_page_below_five_megabytes_and_sarif_that_github_takes() {
    let report = atomvet_with(&["check", "--format", "json", "-"], many(5000).as_bytes()).ends_with(1).out;
    let expected = fingerprints(&report);
    assert_eq!(expected.len(), 5000);
    for (format, _) in FORMATS {
        assert_eq!(fingerprints(&rendered(&report, format)), expected, "{format}");
    }
    let page = rendered(&report, "html");
    assert!(page.len() < 5_000_000 && !page.contains("To keep this file small"), "{}", page.len());
    let log: Value = serde_json::from_str(&rendered(&report, "sarif")).expect("JSON");
    assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), Some(5000));
}

#[test]
fn what_is_folded_is_counted() {
    // Long names that nothing compresses make a large page.
    let mut seed = 7_u64;
    let mut noise = || {
        let mut text = String::new();
        while text.len() < 90 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            text.push_str(&format!("{:x}", seed >> 8));
        }
        text
    };
    let text: String = (0..30_000)
        .map(|_| trace(LOST).replace("deposit", &noise()).replace("(x)", &format!("({})", noise())))
        .collect();
    let report = atomvet_with(&["check", "--format", "json", "-"], text.as_bytes()).ends_with(1).out;
    let page = rendered(&report, "html");
    assert!(page.len() < 5_000_000, "{}", page.len());
    assert!(page.contains("To keep this file small"), "{}", page.len());
}

/// The same mistakes in a trace of a million events.
pub(super) fn in_a_million_events() -> String {
    let rest = 1_000_000 / 5000 - 7;
    let mut text = String::with_capacity(20_000_000);
    for (i, line) in many(5000).lines().enumerate() {
        text.push_str(line);
        text.push('\n');
        if i % 7 == 6 {
            for k in 0..rest / 5 {
                let thread = k % 4 + 1;
                for what in ["begin(fine)", "acq(m)", "w(shared)", "rel(m)", "end"] {
                    text.push_str(&format!("T{thread}|{what}|fine.c:{k}\n"));
                }
            }
        }
    }
    text
}

/// Processor time that a command takes: what else the machine does hardly matters.
#[cfg(unix)]
#[expect(clippy::zombie_processes, reason = "wait4 waits for it, and tells what it took")]
fn processor_seconds(mut command: Command) -> f64 {
    // Nobody reads what it says.
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut status = 0;
    // SAFETY: an all-zero `rusage` is a valid one; it has numbers only.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let process = libc::pid_t::try_from(child.id()).expect("a process");
    // SAFETY: both pointers are to live variables of the right types, and nobody else waits for this child.
    let ended = unsafe { libc::wait4(process, &mut status, 0, &mut usage) };
    assert_eq!(ended, process);
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// In the build that people use, a rendering takes less time than checking (bench/ has figures). In this one neither
/// is optimised as it is there, and the two grow differently; what is held here is that nothing gets out of hand.
#[cfg(unix)]
#[test]
fn rendering_takes_no_longer_than_two_checks() {
    let files = Files::new(&[("million.std", &in_a_million_events())]);
    let (trace, out) = (files.at("million.std"), files.at("out"));
    let check = |formats: &[&str]| {
        let mut arguments = vec!["check", "-o", &out, &trace];
        formats.iter().for_each(|format| arguments.extend(["--format", format]));
        // The best of a few: caches are shared with whatever else runs.
        let tries = (0..3).map(|_| processor_seconds(command(&arguments)));
        tries.fold(f64::INFINITY, f64::min)
    };
    // The contract is what a check ends with; each rendering is made of it.
    let checking = check(&["json"]);
    for (format, _) in &FORMATS[1..] {
        let rendering = check(&["json", format]) - checking;
        assert!(rendering < 2.0 * checking, "{format}: {rendering:.3} s, checking: {checking:.3} s");
    }
}
