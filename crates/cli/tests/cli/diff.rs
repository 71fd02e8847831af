//! `atomvet diff`: findings that are new, gone, or still there.

use crate::common::{CLEAN, Files, LOST, atomvet, trace};

/// `deposit` is atomic this time, and `audit` is not.
const OTHER: &str = "T1|begin(deposit)|b.c:10 T1|r(x)|b.c:11 T1|w(x)|b.c:12 T1|end|b.c:13 \
     T1|begin(audit)|a.c:5 T1|r(y)|a.c:6 T2|w(y)|b.c:31 T1|r(y)|a.c:7 T1|end|a.c:8";

/// Reports of two traces, and a baseline of the first.
fn files() -> Files {
    let files =
        Files::new(&[("old.std", &trace(LOST)), ("new.std", &trace(OTHER)), ("none.std", &trace(CLEAN))]);
    for (name, status) in [("old", 1), ("new", 1), ("none", 0)] {
        let (from, to) = (files.at(&format!("{name}.std")), files.at(&format!("{name}.json")));
        atomvet(&["check", "--format", "json", "-o", &to, &from]).ends_with(status);
    }
    atomvet(&["baseline", &files.at("old.json"), "-o", &files.at("baseline")]).ends_with(0);
    files
}

#[test]
fn new_and_gone_findings_are_told_apart() {
    let files = files();
    for old in ["old.json", "baseline"] {
        let run = atomvet(&["diff", &files.at(old), &files.at("new.json")]).ends_with(1);
        let run = run.prints("1 new, 1 gone, 0 still there\n").prints("audit: non-repeatable read");
        run.prints("executed once without it");
        atomvet(&["diff", &files.at(old), &files.at("old.json")])
            .ends_with(0)
            .prints("0 new, 0 gone, 1 still there");
        atomvet(&["diff", &files.at(old), &files.at("none.json")]).ends_with(0).prints("not executed");
    }
}

#[test]
fn a_difference_is_data_too() {
    let files = files();
    let run =
        atomvet(&["diff", "--format", "json", &files.at("old.json"), &files.at("new.json")]).ends_with(1);
    let json = run.json();
    assert_eq!(json["schema"], "atomvet-diff/1");
    assert_eq!(json["new"][0]["what"], "audit: non-repeatable read");
    assert_eq!(json["gone"][0]["why"], "executed once without it");
}

#[test]
fn a_report_in_which_nothing_was_observed_is_not_clean() {
    let files = files();
    let alone = files.add("alone.std", trace("T1|begin(a)|1 T1|r(x)|2 T1|end|3").as_bytes());
    atomvet(&["check", "--format", "json", "-o", &files.at("alone.json"), &alone]).ends_with(3);
    let run = atomvet(&["diff", &files.at("old.json"), &files.at("alone.json")]).ends_with(3);
    run.prints("0 new, 1 gone").complains("one thread only");
}

#[test]
fn what_is_no_report_is_an_error() {
    let files = files();
    let (trace, report) = (files.at("old.std"), files.at("old.json"));
    atomvet(&["diff", &trace, &report]).ends_with(2).complains("old.std");
    atomvet(&["diff", &report, &files.at("baseline")]).ends_with(2).complains("baseline");
    atomvet(&["diff", &report, &files.at("missing.json")])
        .ends_with(2)
        .complains("missing.json: cannot be read");
    let broken = files.add("broken.json", br#"{"schema": "atomvet-report/1", "traces": [{"trace": "x", "error": {"kind": "io", "message": "m", "file": "x", "problem": "p", "help": "h"}}]}"#);
    atomvet(&["diff", &report, &broken]).ends_with(2).complains("1 trace could not be read");
}
