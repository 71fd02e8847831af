//! The commands besides `check`.

use crate::common::{CLEAN, Files, LOST, atomvet, atomvet_with, trace};
use serde_json::json;

#[test]
fn compare_holds_all_algorithms_to_the_exact_one() {
    let run = atomvet_with(&["compare", "-"], trace(LOST).as_bytes()).ends_with(1);
    for name in ["regiontrack", "aerodrome", "aerodrome-basic", "velodrome", "doublechecker"] {
        assert!(run.out.contains(&format!("\n  {name} ")), "{name} not in\n{}", run.out);
    }
    // The design page's trace α3: T1's block is violated, and Velodrome misses it.
    let alpha3 = trace(
        "1|begin|1 1|r(x)|2 2|begin|3 2|w(y)|4 2|w(x)|5 3|begin|6 3|r(y)|7 3|r(x)|8 2|end|9 2|begin|10 \
         3|end|11 3|begin|12 3|w(z)|13 1|r(z)|14 1|end|15 2|end|16 3|end|17",
    );
    let report = atomvet_with(&["compare", "--format", "json", "-"], alpha3.as_bytes()).ends_with(1).json();
    assert_eq!(report["schema"], "atomvet-compare/1");
    let algorithms = report["traces"][0]["algorithms"].as_array().expect("an array");
    let row = |name: &str| {
        let row = algorithms.iter().find(|row| row["name"] == name).expect(name);
        json!([row["serializable"], row["blocks_blamed"], row["missed"], row["wrong"]])
    };
    assert_eq!(row("regiontrack"), json!([false, 1, 0, 0]));
    assert_eq!(row("velodrome"), json!([false, 0, 1, 0]));
    assert_eq!(row("doublechecker")[2], json!(0));
}

#[test]
fn a_refined_specification_leaves_no_violation() {
    let second = trace(
        "T1|begin(outer)|c.c:1 T1|begin(in\"ner)|c.c:2 T1|r(y)|c.c:3 T1|end|c.c:4 T2|w(y)|c.c:9 T1|w(y)|c.c:5 T1|end|c.c:6 \
         T2|begin|c.c:20 T2|w(q)|c.c:21 T2|end|c.c:22",
    );
    let files = Files::new(&[("a.std", &trace(LOST)), ("b.std", &second)]);
    let (a, b, spec) = (files.at("a.std"), files.at("b.std"), files.at("spec.toml"));
    let run = atomvet(&["refine", &a, &b, "-o", &spec]).ends_with(0);
    assert_eq!(run.out, "");
    let text = std::fs::read_to_string(&spec).expect("a specification");
    let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(table["atomic"], toml::Value::from(vec!["@c.c:20", "in\"ner", "withdraw"]));
    assert_eq!(table["not-atomic"], toml::Value::from(vec!["deposit", "outer"]));
    assert!(text.contains("\"deposit\", # entered once, violated once\n"), "{text}");
    atomvet(&["check", &a, &b]).ends_with(1);
    let run = atomvet(&["check", "--format", "json", "--spec", &spec, &a, &b])
        .ends_with(0)
        .complains("never entered");
    let report = run.json();
    assert_eq!(report["traces"][0]["unused_spec"], json!(["@c.c:20", "in\"ner"]));
    assert_eq!((&report["traces"][0]["blocks"], &report["traces"][1]["blocks"]), (&json!(1), &json!(2)));
}

#[test]
fn a_bad_specification_is_refused_with_its_place() {
    let files = Files::new(&[("a.std", &trace(LOST))]);
    for (text, place) in [
        ("atomic = [\n  \"a\",\n  3 ]", ":3:3:"),
        ("atomic = []\natomik = []", ":2:1:"),
        ("atomic = [", ":1:11:"),
        ("", ":1:1:"),
    ] {
        let spec = files.add("spec.toml", text.as_bytes());
        atomvet(&["check", "--spec", &spec, &files.at("a.std")])
            .ends_with(2)
            .complains(&format!("spec.toml{place}"));
    }
    let spec = files.add("spec.toml", b"atomic = [\n\"\xff\"]");
    atomvet(&["check", "--spec", &spec, &files.at("a.std")])
        .ends_with(2)
        .complains("spec.toml:2:2: is not UTF-8");
    atomvet(&["check", "--spec", &files.at("none.toml"), &files.at("a.std")])
        .ends_with(2)
        .complains("cannot be read");
}

#[test]
fn stats_count() {
    let run = atomvet_with(&["stats", "--format", "json", "-"], trace(LOST).as_bytes()).ends_with(0);
    let entry = &run.json()["traces"][0];
    assert_eq!(entry["operations"], json!({"begin": 2, "end": 2, "w": 2, "r": 1}));
    assert_eq!((&entry["nesting_depth"], &entry["longest_transaction"]), (&json!(1), &json!(4)));
    assert_eq!(entry["top_labels"][0], json!({"label": "deposit", "entered": 1}));
    assert!(entry["input_format"].as_str().is_some_and(|format| format.contains("text")), "{entry}");
    atomvet_with(&["stats", "--top", "1", "-"], trace(LOST).as_bytes()).ends_with(0).prints("… and 1 more");
    atomvet_with(&["stats", "-"], b"").ends_with(0).prints("events");
    atomvet_with(&["stats", "-"], b"nonsense\n").ends_with(2);
}

#[test]
fn convert_goes_there_and_back() {
    let files = Files::new(&[("a.std", &trace(LOST))]);
    let (text, binary, back) = (files.at("a.std"), files.at("a.atv"), files.at("back.txt"));
    atomvet(&["convert", &text, "-o", &binary]).ends_with(0);
    atomvet(&["convert", &binary, "-o", &back]).ends_with(0);
    assert_eq!(std::fs::read_to_string(&back).expect("text"), trace(LOST));
    atomvet(&["check", &binary]).ends_with(1).prints("deposit is not atomic");
    let run = atomvet(&["convert", &binary, "-o", "-"]).ends_with(0);
    assert_eq!(run.out, trace(LOST));
    let bytes = std::fs::read(&binary).expect("bytes");
    assert_eq!(
        atomvet_with(&["convert", "--to", "text", "-", "-o", "-"], &bytes).ends_with(0).out,
        trace(LOST)
    );
}

#[test]
fn convert_is_careful() {
    let files = Files::new(&[
        ("a.std", &trace(LOST)),
        ("bad.std", "T1|w(x)|1\nrubbish\n"),
        ("free.std", "T1|rel(m)|1\n"),
    ]);
    let a = files.at("a.std");
    atomvet(&["convert", &a, "-o", &a]).ends_with(2).complains("is an input as well");
    atomvet(&["convert", &a, "-o", &files.at("a.xyz")]).ends_with(2).complains("--to text");
    atomvet(&["convert", &files.at("bad.std"), "-o", &files.at("bad.atv")])
        .ends_with(2)
        .complains("bad.std:2:");
    assert!(!files.path("bad.atv").exists());
    // Syntax only, unless asked.
    atomvet(&["convert", &files.at("free.std"), "-o", &files.at("free.atv")]).ends_with(0);
    atomvet(&["convert", "--check", &files.at("free.std"), "-o", &files.at("no.atv")])
        .ends_with(2)
        .complains("free.std:1:");
    let left: Vec<_> =
        std::fs::read_dir(files.path(".")).expect("lists").map(|e| e.expect("entry").file_name()).collect();
    assert_eq!(left.len(), 4, "{left:?}");
}

#[test]
fn gen_repeats_itself_and_injects() {
    let run = |arguments: &[&str]| atomvet(arguments).ends_with(0).out;
    let first = run(&["gen", "--seed", "7", "--events", "200"]);
    assert_eq!(first.lines().count(), 200);
    assert_eq!(first, run(&["gen", "--seed", "7", "--events", "200"]));
    assert_ne!(first, run(&["gen", "--seed", "8", "--events", "200"]));
    let files = Files::new(&[]);
    for mode in ["two-phase", "global-lock", "thread-local"] {
        let (clean, broken) = (files.at("clean.atv"), files.at("broken.std"));
        let shared = [
            "gen",
            "--mode",
            mode,
            "--events",
            "20000",
            "--threads",
            "4",
            "--variables",
            "100",
            "--locks",
            "8",
        ];
        atomvet(&[&shared[..], &["-o", &clean]].concat()).ends_with(0);
        atomvet(&[&shared[..], &["--inject", "2", "-o", &broken]].concat()).ends_with(0);
        atomvet(&["check", &clean]).ends_with(0);
        let report = atomvet(&["check", "--format", "json", "--all-instances", "--verify", &broken])
            .ends_with(1)
            .json();
        let violations = report["traces"][0]["checkers"][0]["violations"].as_array().expect("an array");
        assert_eq!(
            violations.iter().filter(|v| v["shape"] == "lost update").count(),
            2,
            "{mode}: {violations:?}"
        );
    }
    atomvet(&["gen", "--threads", "0"]).ends_with(2).complains("threads");
    atomvet(&["gen", "--features", "wiat"]).ends_with(2).complains("did you mean wait?");
    atomvet(&["gen", "-o", &files.at("x.unknown")]).ends_with(2).complains("--format");
}

#[test]
fn explain_knows_its_words() {
    let topics = atomvet(&["explain"]).ends_with(0).out;
    assert!(topics.contains("serializable") && topics.contains("lost update"), "{topics}");
    let topics = [
        "shapes",
        "strengths",
        "algorithms",
        "exit",
        "verdicts",
        "trace",
        "block",
        "serializable",
        "transaction",
        "velodrome",
    ];
    for topic in topics {
        assert!(atomvet(&["explain", topic]).ends_with(0).out.len() > 40, "{topic}");
    }
    atomvet(&["explain", "lost", "update"]).ends_with(0).prints("remedy");
    let run = atomvet(&["explain", "serialisable"]).ends_with(2).complains("did you mean serializable?");
    assert_eq!(run.out, "");
}

#[test]
fn list_shows_the_registry() {
    let run = atomvet(&["list"]).ends_with(0).prints("regiontrack (observed, the default)");
    let list = atomvet(&["list", "--format", "json"]).ends_with(0).json();
    let algorithms = list["algorithms"].as_array().expect("an array");
    assert_eq!(run.out.matches("guarantee").count(), algorithms.len(), "{}", run.out);
    for kind in ["observed", "predictive"] {
        assert!(algorithms.iter().filter(|algorithm| algorithm["kind"] == kind).count() >= 5, "{kind}");
    }
    assert_eq!(list["algorithms"][0]["default"], json!(true));
}

#[test]
fn demo_finds_the_bug_in_the_bank() {
    let run = atomvet(&["demo"]).ends_with(0);
    for part in ["deposit is not atomic", "verified independently", "What to try next"] {
        assert!(run.out.contains(part), "{}", run.out);
    }
    let bank = atomvet(&["demo", "--trace"]).ends_with(0).out;
    atomvet_with(&["check", "-"], bank.as_bytes()).ends_with(1).prints("deposit is not atomic");
}

#[test]
fn help_and_version_and_wrong_use() {
    atomvet(&["--version"]).ends_with(0).prints("atomvet 0.");
    atomvet(&["--help"]).ends_with(0).prints("Exit status").prints("atomvet demo");
    for name in ["check", "compare", "refine", "stats", "convert", "gen", "explain", "list", "demo"] {
        atomvet(&[name, "--help"]).ends_with(0).prints("Usage:");
    }
    atomvet(&["check"]).ends_with(2).complains("atomvet: error: ");
    atomvet(&["chekc", "x"]).ends_with(2).complains("check");
    atomvet(&["check", "--format", "xml", "x"]).ends_with(2).complains("json");
    let nothing = atomvet(&[]).ends_with(2).complains("Usage:");
    assert_eq!(nothing.out, "");
    atomvet_with(&["check", "--max-findings", "-1", "-"], trace(CLEAN).as_bytes()).ends_with(2);
}

#[test]
fn gen_refuses_what_would_have_no_effect() {
    atomvet(&["gen", "--burst", "3"]).ends_with(2).complains("--burst has no effect in this mode");
    atomvet(&["gen", "--mode", "two-phase", "--features", "locks"]).ends_with(2).complains("--features");
    let beyond = ["gen", "--mode", "two-phase", "--events", "1000", "--inject-at", "1001"];
    atomvet(&beyond).ends_with(2).complains("the place of an injection is 1001, expected 0 to 1000");
    atomvet(&["gen", "--mode", "two-phase", "--inject-at-percent", "101"]).ends_with(2).complains("0..=100");
}

#[test]
fn a_full_disk_is_an_error() {
    let files = Files::new(&[("a.std", &trace(LOST))]);
    let path = files.at("a.std");
    for arguments in [
        &["check", &path][..],
        &["convert", &path, "-o", "-"],
        &["gen", "--mode", "two-phase", "--events", "100000"],
        &["--help"],
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a full device");
        let output = crate::common::command(arguments).stdout(full).output().expect("runs");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {err}");
        assert!(err.starts_with("atomvet: error: ") && err.contains("No space left"), "{arguments:?}: {err}");
    }
}
