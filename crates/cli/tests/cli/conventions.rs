//! What a trace says about itself: how it was recorded, and whether accesses were left out.

use serde_json::json;

use crate::common::{Files, atomvet, atomvet_with, trace};

/// Two adds around another thread's, and a write before a wait during which another thread writes.
const COUNTS_AND_WAITS: &str = "T1|acq(m)|0 T1|begin(put)|1 T1|add(n)|2 T2|add(n)|6 T1|add(n)|3 T1|w(x)|4 T1|wait(m)|5 \
    T2|acq(m)|7 T2|w(x)|8 T2|rel(m)|9 T1|r(x)|10 T1|end|11";

const RECORDED: &str = "#atomvet waits=split updates=commute conflicts=locks accesses=filtered\n";

fn recorded() -> String {
    RECORDED.to_owned() + &trace(COUNTS_AND_WAITS)
}

#[test]
fn a_trace_is_judged_as_it_was_recorded_unless_told_otherwise() {
    let plain = trace(COUNTS_AND_WAITS);
    let said = recorded();
    let check = |options: &[&str], text: &str, status: i32| {
        let arguments = [&["check", "--no-config", "-"], options].concat();
        atomvet_with(&arguments, text.as_bytes()).ends_with(status)
    };
    check(&[], &plain, 1).says("conventions: blocks whole across waits, updates conflict");
    check(&[], &said, 0).says(
        "conventions: blocks split at waits as recorded, updates commute as recorded, accesses left out",
    );
    for option in ["--strict-waits", "--strict-atomics"] {
        check(&[option], &said, 1).says(" by option, ");
    }
    check(&["--split-at-waits", "--commuting-updates"], &plain, 0);
    check(&["--format", "json", "--strict-waits"], &said, 1);
    let report = atomvet_with(&["check", "--format", "json", "--strict-waits", "-"], said.as_bytes()).json();
    assert_eq!(
        report["traces"][0]["conventions"],
        json!({ "waits": "whole", "waits_by": "option", "updates": "commute", "updates_by": "trace",
                "conflicts": "locks", "conflicts_by": "trace", "accesses": "filtered" })
    );
}

#[test]
fn the_configuration_speaks_for_traces_that_say_nothing() {
    let files = Files::new(&[
        ("plain.std", &trace(COUNTS_AND_WAITS)),
        ("said.std", &recorded()),
        ("c.toml", "[options]\nstrict-waits = false\nstrict-atomics = false\n"),
        ("strict.toml", "[options]\nstrict-waits = true\nstrict-atomics = true\n"),
    ]);
    let check = |config: &str, name: &str, status: i32| {
        atomvet(&["check", "--config", &files.at(config), &files.at(name)]).ends_with(status)
    };
    check("c.toml", "plain.std", 0).says("split at waits by configuration");
    check("strict.toml", "plain.std", 1);
    check("strict.toml", "said.std", 0).says("split at waits as recorded");
}

#[test]
fn every_command_heeds_what_a_trace_says() {
    let files = Files::new(&[("said.std", &recorded()), ("plain.std", &trace(COUNTS_AND_WAITS))]);
    let (said, plain, binary, again) =
        (files.at("said.std"), files.at("plain.std"), files.at("said.atv"), files.at("again.std"));
    atomvet(&["convert", &said, "-o", &binary]).ends_with(0);
    atomvet(&["convert", &binary, "-o", &again]).ends_with(0);
    assert_eq!(std::fs::read_to_string(&again).expect("a trace"), recorded());
    for path in [&said, &binary] {
        atomvet(&["check", path]).ends_with(0);
        let compared = atomvet(&["compare", "--algo", "observed", path]).ends_with(0);
        compared.says("blocks split at waits as recorded, updates commute as recorded");
        atomvet(&["refine", path]).ends_with(0).says("as recorded").prints("\natomic = [\n  \"put\"");
        atomvet(&["stats", path]).ends_with(0).says("recorded with waits").says("filtered");
        let stats = atomvet(&["stats", "--format", "json", path]).ends_with(0).json();
        assert_eq!(stats["traces"][0]["recorded"], RECORDED["#atomvet ".len()..].trim_end());
    }
    atomvet(&["compare", "--algo", "observed", &plain]).ends_with(1);
    atomvet(&["refine", &plain]).ends_with(0).prints("not-atomic = [\n  \"put\"");
    assert!(atomvet(&["stats", "--format", "json", &plain]).json()["traces"][0]["recorded"].is_null());
}

#[test]
fn what_is_not_known_of_a_recording_is_refused() {
    let text = format!("#atomvet waits=split colour=red\n{}", trace(COUNTS_AND_WAITS));
    let run = atomvet_with(&["check", "-"], text.as_bytes()).ends_with(2);
    run.complains("standard input:1:22: found the key `colour`").complains("upgrade atomvet");
    let text = format!("{}#atomvet waits=split\n", trace(COUNTS_AND_WAITS));
    atomvet_with(&["check", "-"], text.as_bytes()).ends_with(2).complains(":13:1: found `#atomvet`");
}

/// `deposit` reads and writes in two critical sections, and nobody interfered.
const TWO_SECTIONS: &str = "T1|begin(deposit)|1 T1|acq(m)|2 T1|r(x)|3 T1|rel(m)|4 T1|acq(m)|5 T1|w(x)|6 T1|rel(m)|7 T1|end|8 \
    T2|begin(deposit)|1 T2|acq(m)|2 T2|r(x)|3 T2|rel(m)|4 T2|acq(m)|5 T2|w(x)|6 T2|rel(m)|7 T2|end|8";

#[test]
fn nothing_is_predicted_from_a_trace_that_leaves_accesses_out() {
    let events = trace(TWO_SECTIONS);
    for (said, predicted) in [("", 1), ("#atomvet accesses=all\n", 1), ("#atomvet accesses=filtered\n", 3)] {
        let text = said.to_owned() + &events;
        atomvet_with(&["check", "-"], text.as_bytes()).ends_with(0);
        for options in [["--predict", "-"], ["--algo=commit-node", "-"], ["--algo=all", "-"]] {
            let arguments = [&["check"][..], &options].concat();
            let run = atomvet_with(&arguments, text.as_bytes()).ends_with(predicted);
            if predicted == 3 {
                let run = run.complains("not judged by commit-node").complains("record it with --record-all");
                run.says("NOT JUDGED").says("nothing found, but NOT ALL WAS JUDGED");
            }
        }
        let run = atomvet_with(&["compare", "-"], text.as_bytes()).ends_with(predicted);
        assert_eq!(
            run.out.contains("not judged: the trace leaves out accesses"),
            predicted == 3,
            "{}",
            run.out
        );
    }
    // What was observed was observed.
    let text = "#atomvet accesses=filtered\n".to_owned() + &trace(COUNTS_AND_WAITS);
    atomvet_with(&["check", "--predict", "-"], text.as_bytes()).ends_with(1);
    // No test case passes that nobody judged.
    let text = "#atomvet accesses=filtered\n".to_owned() + &events;
    let run =
        atomvet_with(&["check", "--algo=commit-node", "--format=junit", "-"], text.as_bytes()).ends_with(3);
    assert!(!run.out.contains("no violation was found"), "{}", run.out);
}

#[test]
fn a_verdict_on_a_part_of_a_trace_is_not_clean() {
    let files = Files::new(&[("whole.std", &trace(TWO_SECTIONS))]);
    let (text, binary, cut) = (files.at("whole.std"), files.at("whole.atv"), files.at("cut.atv"));
    atomvet(&["convert", &text, "-o", &binary]).ends_with(0);
    let bytes = std::fs::read(&binary).expect("a trace");
    // Without its end marker.
    std::fs::write(&cut, &bytes[..bytes.len() - 48]).expect("written");
    atomvet(&["check", &binary]).ends_with(0);
    atomvet(&["check", &cut]).ends_with(2);
    let run = atomvet(&["check", "--lenient", &cut]).ends_with(3);
    let run = run.complains("partial: the input is cut off").complains("is not judged");
    run.says("PARTIAL").says("nothing found, but NOT ALL WAS JUDGED");
    atomvet(&["compare", "--lenient", "--algo", "observed", &cut]).ends_with(3);
    atomvet(&["check", "--lenient", "--predict", &cut]).ends_with(1);
}
