//! The JSON contract: names and types of fields, null against absent.

use crate::common::{CLEAN, Files, LOST, UNBLAMED, atomvet, atomvet_with, trace};
use serde_json::{Value, json};

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn a_report_has_the_fields_of_the_contract() {
    let files = Files::new(&[("lost.std", &trace(LOST))]);
    let path = files.at("lost.std");
    let report = atomvet(&["check", "--format", "json", &path]).ends_with(1).json();
    assert_eq!(report["schema"], "atomvet-report/1");
    let entry = &report["traces"][0];
    assert_eq!(entry["trace"], json!(path));
    let figures =
        ["events", "threads", "variables", "locks", "blocks", "transactions", "repairs"].map(|f| &entry[f]);
    assert_eq!(json!(figures), json!([7, 2, 1, 0, 2, 2, 0]));
    assert_eq!((&entry["outermost_blocks"], &entry["unary"]), (&json!(2), &json!(0)));
    assert_eq!(
        (&entry["partial"], &entry["observed"], &entry["repaired"]),
        (&json!(false), &json!(true), &json!({}))
    );
    for absent in ["partial_reason", "reason", "unused_spec", "serial_order", "error"] {
        assert_eq!(entry.get(absent), None);
    }
    let checker = &entry["checkers"][0];
    let expected =
        ["first_cycle_event", "kind", "name", "peak_bytes", "seconds", "serializable", "stats", "violations"];
    assert_eq!(keys(checker), expected);
    assert_eq!((&checker["name"], &checker["kind"]), (&json!("regiontrack"), &json!("observed")));
    assert_eq!((&checker["serializable"], &checker["first_cycle_event"]), (&json!(false), &json!(4)));
    assert!(
        checker["seconds"].is_f64()
            && checker["peak_bytes"].as_u64() > Some(0)
            && checker["stats"].is_object()
    );
    let violation = &checker["violations"][0];
    assert_eq!(checker["violations"].as_array().map(Vec::len), Some(1));
    let block = json!({"begin_event": 0, "thread": "T1", "label": "deposit", "site": "b.c:10"});
    assert_eq!((&violation["block"], &violation["transaction"]), (&block, &block));
    let scalars = ["strength", "innermost", "event", "op", "site", "shape", "count"].map(|f| &violation[f]);
    assert_eq!(json!(scalars), json!(["observed", true, 4, "w", "b.c:12", "lost update", 1]));
    assert_eq!(
        violation["witness"],
        json!([
            {"from": 1, "to": 3, "because": "read-write", "on": "x"},
            {"from": 3, "to": 4, "because": "write-write", "on": "x"},
        ])
    );
    let fingerprint = violation["fingerprint"].as_str().expect("a string");
    assert!(fingerprint.len() == 16 && fingerprint.bytes().all(|b| b.is_ascii_hexdigit()));
    assert_eq!(violation.get("verified"), None);
}

#[test]
fn what_is_unknown_is_null() {
    let entry = |text: &str| {
        atomvet_with(&["check", "--format", "json", "-"], text.as_bytes()).json()["traces"][0].clone()
    };
    let clean = entry(&trace(CLEAN));
    assert_eq!(clean["trace"], "-");
    assert_eq!(
        (&clean["checkers"][0]["first_cycle_event"], &clean["checkers"][0]["serializable"]),
        (&json!(null), &json!(true))
    );
    assert_eq!(clean["checkers"][0]["violations"], json!([]));
    let unblamed = entry(&trace(UNBLAMED));
    let violation = &unblamed["checkers"][0]["violations"][0];
    assert_eq!((&violation["block"], &violation["shape"]), (&json!(null), &json!("no serial order")));
    assert_eq!(violation["transaction"]["label"].as_str().map(str::len), Some(1));
    let unlabelled = entry(&trace(&LOST.replace("(deposit)", "")));
    assert_eq!(unlabelled["checkers"][0]["violations"][0]["block"]["label"], json!(null));
}

#[test]
fn nothing_observed_says_why() {
    for (text, reason) in [
        (String::new(), "no events"),
        (trace("T1|w(x)|1 T2|w(x)|2"), "no block"),
        (trace("T1|begin|1 T1|end|2"), "one thread only"),
    ] {
        let report = atomvet_with(&["check", "--format", "json", "-"], text.as_bytes()).ends_with(3).json();
        let entry = &report["traces"][0];
        assert_eq!((&entry["observed"], &entry["reason"]), (&json!(false), &json!(reason)));
    }
}

#[test]
fn a_bad_trace_has_an_error_entry_among_the_others() {
    let files = Files::new(&[("lost.std", &trace(LOST)), ("bad.std", "T1|begin(a)|1\nT1|jump(x)|2\n")]);
    let (bad, lost) = (files.at("bad.std"), files.at("lost.std"));
    let report =
        atomvet(&["check", "--format", "json", &bad, &lost]).ends_with(2).complains("bad.std:2:").json();
    let [first, second] = &report["traces"].as_array().expect("an array")[..] else { panic!("{report}") };
    assert_eq!(keys(first), ["error", "trace"]);
    assert_eq!((&first["error"]["kind"], &first["error"]["line"]), (&json!("syntax"), &json!(2)));
    assert!(first["error"]["column"].is_u64() && first["error"]["message"].is_string());
    assert_eq!(second["checkers"][0]["serializable"], json!(false));
}

#[test]
fn the_fingerprint_knows_the_mistake_and_not_the_run() {
    let fingerprint = |text: &str| {
        let report = atomvet_with(&["check", "--format", "json", "-"], text.as_bytes()).json();
        report["traces"][0]["checkers"][0]["violations"][0]["fingerprint"]
            .as_str()
            .expect("a finding")
            .to_owned()
    };
    let same = trace(LOST);
    let other_run =
        format!("T9|w(unrelated)|1\n{}", same.replace("T1", "Z").replace("T2", "A").replace("(x)", "(y)"));
    assert_eq!(fingerprint(&same), fingerprint(&other_run));
    assert_ne!(fingerprint(&same), fingerprint(&same.replace("deposit", "other")));
    assert_ne!(fingerprint(&same), fingerprint(&same.replace("b.c:12", "b.c:14")));
    assert_ne!(fingerprint(&same), fingerprint(&same.replace("b.c:10", "b.c:9")));
}

#[test]
fn every_algorithm_reports_and_every_witness_is_verified() {
    for text in [trace(LOST), trace(UNBLAMED)] {
        let run = atomvet_with(
            &["check", "--format", "json", "--algo", "observed", "--verify", "-"],
            text.as_bytes(),
        );
        let report = run.ends_with(1).json();
        let checkers = report["traces"][0]["checkers"].as_array().expect("an array");
        assert_eq!(checkers.len(), 5);
        for checker in checkers {
            assert_eq!(checker["serializable"], json!(false), "{checker}");
            for violation in checker["violations"].as_array().expect("an array") {
                assert_eq!(violation["verified"], json!(true), "{checker}");
            }
        }
    }
}

#[test]
fn folding_counts_and_all_instances_lists() {
    let text = trace(LOST).repeat(3);
    let violations = |arguments: &[&str]| {
        let report = atomvet_with(arguments, text.as_bytes()).ends_with(1).json();
        let violations =
            report["traces"][0]["checkers"][0]["violations"].as_array().expect("an array").clone();
        violations.iter().map(|v| (v["count"].as_u64(), v["event"].as_u64())).collect::<Vec<_>>()
    };
    assert_eq!(violations(&["check", "--format", "json", "-"]), [(Some(3), Some(4))]);
    let each = [4, 11, 18].map(|event| (Some(1), Some(event)));
    assert_eq!(violations(&["check", "--format", "json", "--all-instances", "-"]), each);
}

#[test]
fn a_serial_order_is_a_list_of_transactions() {
    let text = format!("T3|w(z)|9\n{}", trace(CLEAN));
    let run =
        atomvet_with(&["check", "--format", "json", "--serial-order", "--verify", "-"], text.as_bytes());
    let entry = &run.ends_with(0).json()["traces"][0];
    assert_eq!(entry["serial_order"].as_array().map(Vec::len), Some(3));
    assert_eq!(entry["serial_order_verified"], json!(true));
    let lone = json!({"event": 0, "thread": "T3", "block": false, "label": null, "site": "9"});
    assert!(entry["serial_order"].as_array().is_some_and(|order| order.contains(&lone)), "{entry}");
    let run = atomvet_with(&["check", "--format", "json", "--serial-order", "-"], trace(LOST).as_bytes());
    assert_eq!(run.ends_with(1).json()["traces"][0].get("serial_order"), Some(&json!(null)));
}

#[test]
fn repairs_are_counted_by_kind() {
    let text = format!("T1|rel(m)|9\nT1|rel(m)|9\nT1|end|9\n{}", trace(LOST));
    let report =
        atomvet_with(&["check", "--format", "json", "--lenient", "-"], text.as_bytes()).ends_with(1).json();
    let entry = &report["traces"][0];
    assert_eq!((&entry["repairs"], &entry["events"]), (&json!(3), &json!(10)));
    assert_eq!(entry["repaired"], json!({"release-not-held": 2, "end-without-begin": 1}));
}

#[test]
fn an_update_goes_by_its_own_word() {
    let adds = trace("T1|begin(a)|1 T1|add(x)|2 T2|xor(x)|3 T1|max(x)|4 T1|end|5");
    let report = atomvet_with(&["check", "--format", "json", "-"], adds.as_bytes()).ends_with(1).json();
    assert_eq!(report["traces"][0]["checkers"][0]["violations"][0]["op"], json!("max"));
}

#[test]
fn brief_reports_have_verdicts_and_findings_only() {
    let report = atomvet_with(&["check", "--format", "json", "--brief", "-"], trace(LOST).as_bytes())
        .ends_with(1)
        .json();
    let entry = &report["traces"][0];
    let violation = &entry["checkers"][0]["violations"][0];
    assert_eq!((&entry["status"], &entry["entered"]), (&json!(1), &json!(null)));
    assert_eq!((&violation["shape"], &violation["witness"]), (&json!("lost update"), &json!([])));
    let run = atomvet_with(&["check", "--brief", "-"], trace(LOST).as_bytes()).ends_with(2);
    assert!(run.err.contains("--format json"), "{}", run.err);
}
