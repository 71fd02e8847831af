//! `check --predict`: what is foretold, how sure, and the schedules that show it.

use serde_json::{Value, json};

use crate::common::{Files, atomvet, atomvet_with, trace};
use crate::schema::satisfies;

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
        .prints("1. a deadlock is possible over l, m (predicted, with schedule)");
}

/// `take` reads and writes under a lock, but not under one: two threads, one after the other.
const TAKE: &str = "T1|begin(take)|1 T1|acq(l)|2 T1|r(stock)|2 T1|rel(l)|2 T1|acq(l)|3 T1|w(stock)|3 T1|rel(l)|3 T1|end|4 \
                    T2|begin(take)|1 T2|acq(l)|2 T2|r(stock)|2 T2|rel(l)|2 T2|acq(l)|3 T2|w(stock)|3 T2|rel(l)|3 T2|end|4";

#[test]
fn a_lost_update_in_a_run_that_went_well_is_shown_with_its_condition() {
    let input = trace(TAKE);
    let condition = "predicted, if take does the same with another value of stock";
    atomvet_with(&["check", "--predict", "-"], input.as_bytes())
        .ends_with(1)
        .prints(&format!("1. take is not atomic ({condition}"))
        .prints("these reads see another write than in this run: stock at");
    for (format, holds) in
        [("sarif", condition), ("junit", condition), ("html", "predicted, with other values")]
    {
        atomvet_with(&["check", "--predict", "--format", format, "-"], input.as_bytes())
            .ends_with(1)
            .prints(holds);
    }
    let report =
        atomvet_with(&["check", "--predict", "--format", "json", "-"], input.as_bytes()).ends_with(1).json();
    let violation = &checker(&report, "commit-node")["violations"][0];
    assert_eq!(violation["strength"], "predicted, with other values");
    assert_eq!(violation["search"], "relaxed");
    assert_eq!(
        (&violation["relaxed"][0]["on"], &violation["relaxed"][0]["block"]),
        (&json!("stock"), &json!("take"))
    );
}

#[test]
fn a_relaxed_schedule_marks_the_reads_that_see_other_values() {
    let files = Files::new(&[("t.std", &trace(TAKE))]);
    let shown = files.at("shown");
    let arguments = ["check", "--schedules", &shown, "--format", "json", &files.at("t.std")];
    let report = atomvet(&arguments).ends_with(1).json();
    let schedule =
        checker(&report, "commit-node")["violations"][0]["schedule"].as_str().expect("a path").to_owned();
    let text = std::fs::read_to_string(&schedule).expect("a schedule");
    let marked = "# relaxed: the next read saw another write in the recording\nT2|r(stock)|2\n";
    assert_eq!(text.matches(marked).count(), 1, "{text}");
    atomvet(&["check", &schedule]).ends_with(1).prints("1. take is not atomic (observed");
}

#[test]
fn what_locks_alone_allow_is_counted_and_listed_on_demand() {
    // What thread 2 does depends on what the block has done.
    let input = trace(
        "T1|begin(a)|1 T1|r(x)|2 T1|w(x)|3 T1|w(flag)|4 T1|end|5 T2|begin(b)|6 T2|r(flag)|7 T2|w(x)|8 T2|end|9",
    );
    let run = atomvet_with(&["check", "--predict", "-"], input.as_bytes()).ends_with(0);
    run.prints("left out: 2 violations, 2 data races that locks alone would allow, but no schedule shows;");
    let report =
        atomvet_with(&["check", "--predict", "--format", "json", "-"], input.as_bytes()).ends_with(0).json();
    let left_out = json!({"violations": 2, "deadlocks": 0, "races": 2, "undecided": 0});
    assert_eq!(checker(&report, "commit-node")["left_out"], left_out);
    satisfies(&report);
    for all in [["--predict=locks"], ["--algo=commit-node"]] {
        let run = atomvet_with(&["check", all[0], "-"], input.as_bytes()).ends_with(1);
        run.prints("1. a is not atomic (predicted)")
            .prints("Schedule: none exists for these events, all were tried: the locks allow");
    }
    atomvet_with(&["check", "--predict=lock", "-"], input.as_bytes()).ends_with(2).complains("locks");
}

#[test]
fn what_locks_forbid_is_said_to_be_a_false_alarm() {
    // RV'03's example (10): the paper shows that the locks do not allow it.
    let path = corpus("rv03_10");
    atomvet(&["check", "--predict=locks", &path])
        .ends_with(1)
        .prints("locks and the order of threads do not");
    // The deadlock is real.
    atomvet(&["check", "--predict", &path])
        .ends_with(1)
        .prints("1. a deadlock is possible")
        .prints("left out: 1 violation");
}

#[test]
fn a_wait_splits_blocks_in_prediction() {
    // A consumer that waits for its turn under the lock, in a block.
    let input = trace(
        "T2|begin(get)|1 T2|acq(l)|2 T2|r(n)|3 T2|wait(l)|4 T1|begin(put)|5 T1|acq(l)|6 T1|w(n)|7 T1|rel(l)|8 T1|end|9 \
         T2|r(n)|3 T2|w(n)|10 T2|rel(l)|11 T2|end|12",
    );
    atomvet_with(&["check", "--no-config", "-"], input.as_bytes()).ends_with(1);
    let run = atomvet_with(&["check", "--predict=locks", "--format", "json", "-"], input.as_bytes());
    assert_eq!(checker(&run.json(), "commit-node")["atomic"], true);
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
