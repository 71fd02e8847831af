//! `check --predict`: what is foretold, how sure, and the schedules that show it.

use serde_json::{Value, json};

use crate::common::{Files, atomvet, atomvet_with, trace};

/// A trace of the corpus.
fn corpus(name: &str) -> String {
    format!("{}/../../tests/corpus/predict/{name}.std", env!("CARGO_MANIFEST_DIR"))
}

fn checker<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checkers = report["traces"][0]["checkers"].as_array().expect("an array");
    checkers.iter().find(|checker| checker["name"] == name).expect(name)
}

#[test]
fn a_run_in_which_nothing_went_wrong_tells_what_could_and_a_schedule_shows_it() {
    let files = Files::new(&[]);
    let directory = files.at("shown");
    let path = corpus("vector_remove_all_elements");
    let run =
        atomvet(&["check", "--format", "json", "--predict", "--schedules", &directory, &path]).ends_with(1);
    let report = run.json();
    assert_eq!(checker(&report, "regiontrack")["serializable"], true);
    let predicted = checker(&report, "commit-node");
    assert_eq!((&predicted["kind"], &predicted["atomic"]), (&json!("predictive"), &json!(false)));
    let violation = &predicted["violations"][0];
    assert_eq!(violation["strength"], "predicted, with schedule");
    assert_eq!(violation["block"]["label"], "Vector(Collection)");
    assert_eq!(violation["locks"], json!(["v1"]));
    let schedule = violation["schedule"].as_str().expect("a path");
    let shown = atomvet(&["check", "--format", "json", "--verify", schedule]).ends_with(1).json();
    let observed = checker(&shown, "regiontrack");
    assert_eq!(observed["violations"][0]["block"]["label"], "Vector(Collection)");
    assert_eq!(observed["violations"][0]["verified"], true);
}

#[test]
fn the_text_says_what_the_json_says() {
    atomvet(&["check", "--predict", &corpus("vector_remove_all_elements")])
        .ends_with(1)
        .prints("1. Vector(Collection) is not atomic (predicted, with schedule)")
        .prints("thread thread_1, begins at Vector.java:154")
        .prints("remedy: hold lock v1, which is held at both but not throughout, from Vector.java:267 to\n")
        .prints("Schedule: found and verified")
        .prints("regiontrack  trace: serializable")
        .prints("commit-node  other schedules");
}

#[test]
fn a_false_alarm_of_reduction_is_one_of_reduction_only() {
    let path = corpus("modcount");
    let clean = ["commit-node", "commit-node-view", "blocks", "blocks-exact"];
    let run = atomvet(&["check", "--format", "json", "--algo", &clean.join(","), &path]).ends_with(0);
    for name in clean {
        assert_eq!(checker(&run.json(), name)["atomic"], true, "{name}");
    }
    let run = atomvet(&["check", "--format", "json", "--algo", "reduction", &path]).ends_with(1).json();
    let violation = &checker(&run, "reduction")["violations"][0];
    assert_eq!((&violation["strength"], &violation["reason"]), (&json!("suspected"), &json!("movers")));
    assert_eq!(violation["events"].as_array().map(Vec::len), Some(2));
    assert_eq!(violation["schedule"], Value::Null);
}

#[test]
fn a_deadlock_is_a_finding_of_its_own() {
    let input = trace(
        "T1|begin(a)|1 T1|acq(l)|2 T1|acq(m)|3 T1|rel(m)|4 T1|rel(l)|5 T1|end|6 \
         T2|begin(b)|7 T2|acq(m)|8 T2|acq(l)|9 T2|rel(l)|10 T2|rel(m)|11 T2|end|12",
    );
    for algorithm in ["deadlock", "commit-node"] {
        let arguments = ["check", "--format", "json", "--algo", algorithm, "-"];
        let report = atomvet_with(&arguments, input.as_bytes()).ends_with(1).json();
        let found = checker(&report, algorithm);
        assert_eq!(found["atomic"], true);
        let cycle = found["deadlocks"][0]["cycle"].as_array().expect("a cycle");
        let wants: Vec<&Value> = cycle.iter().map(|waiting| &waiting["wants"]["on"]).collect();
        assert_eq!(wants, [&json!("m"), &json!("l")]);
    }
    atomvet_with(&["check", "--predict", "-"], input.as_bytes())
        .ends_with(1)
        .prints("1. a deadlock is possible over l, m (predicted)");
}

#[test]
fn what_the_budget_leaves_unjudged_is_not_clean() {
    let input = atomvet(&["gen", "--mode", "global-lock", "--events", "50000", "--variables", "100"]);
    let arguments = ["check", "--format", "json", "--algo", "commit-node-view", "--budget", "1", "-"];
    let run = atomvet_with(&arguments, input.ends_with(0).out.as_bytes()).ends_with(3);
    assert_eq!(checker(&run.json(), "commit-node-view")["complete"], false);
    run.complains("--budget raises it");
}

#[test]
fn bad_options_are_refused() {
    let files = Files::new(&[("file", "")]);
    let path = corpus("modcount");
    atomvet(&["check", "--predict", "--budget", "0", &path]).ends_with(2).complains("--budget");
    atomvet(&["check", "--schedules", &files.at("file"), &path]).ends_with(2).complains("--schedules");
    atomvet(&["check", "--algo", "comit-node", &path]).ends_with(2).complains("did you mean commit-node?");
}
