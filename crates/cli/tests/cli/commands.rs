//! The commands besides `check`.

use crate::common::{CLEAN, Files, LOST, atomvet, atomvet_with, trace};
use serde_json::json;

#[test]
fn compare_holds_all_algorithms_to_the_exact_one() {
    let run = atomvet_with(&["compare", "-"], trace(LOST).as_bytes()).ends_with(1);
    for entry in atomvet_check::registry::CHECKERS {
        let name = entry.info.name;
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
fn groups_of_algorithms_are_what_they_are_called() {
    use atomvet_check::Kind;
    let of = |kind: Option<Kind>| -> Vec<&str> {
        let entries = atomvet_check::registry::CHECKERS.iter();
        entries.filter(|entry| kind.is_none_or(|kind| entry.info.kind == kind)).map(|e| e.info.name).collect()
    };
    let groups = [("all", None), ("observed", Some(Kind::Observed)), ("predictive", Some(Kind::Predictive))];
    for (group, kind) in groups {
        let arguments = ["check", "--format", "json", "--algo", group, "-"];
        let report = atomvet_with(&arguments, trace(LOST).as_bytes()).ends_with(1).json();
        let checkers = report["traces"][0]["checkers"].as_array().expect("an array");
        let names: Vec<&str> = checkers.iter().filter_map(|checker| checker["name"].as_str()).collect();
        assert_eq!(names, of(kind), "{group}");
        // The exact one is there to be compared with.
        let arguments = ["compare", "--format", "json", "--algo", group, "-"];
        let report = atomvet_with(&arguments, trace(LOST).as_bytes()).ends_with(1).json();
        let number = |what: &str| report["traces"][0][what].as_array().expect("an array").len();
        let observed = of(Some(Kind::Observed)).len();
        assert_eq!(number("algorithms"), if group == "predictive" { 1 } else { observed });
        assert_eq!(
            number("predictive"),
            if group == "observed" { 0 } else { of(Some(Kind::Predictive)).len() }
        );
    }
}

#[test]
fn printed_baselines_are_compared_and_never_judge() {
    // Serializable; the printed form merges T0's two events into one transaction.
    let merged = trace("1|begin(f)|1 1|w(a)|2 0|w(b)|3 0|r(a)|4 1|r(b)|5 1|end|6");
    let arguments = ["compare", "--format", "json", "--algo", "printed", "-"];
    let report = atomvet_with(&arguments, merged.as_bytes()).ends_with(0).json();
    let algorithms = report["traces"][0]["algorithms"].as_array().expect("an array");
    let verdicts: Vec<_> = algorithms.iter().map(|row| json!([row["name"], row["serializable"]])).collect();
    assert_eq!(verdicts, [json!(["regiontrack", true]), json!(["regiontrack-printed", false])]);
    let run = atomvet_with(&["check", "--algo", "regiontrack-printed", "-"], merged.as_bytes()).ends_with(2);
    assert!(run.err.contains("use it with compare and experiment"), "{}", run.err);
    let list = atomvet(&["list"]).ends_with(0);
    assert!(
        list.out.contains("regiontrack-printed (observed, as printed, with known errors)"),
        "{}",
        list.out
    );
}

#[test]
fn compare_takes_the_options_of_check() {
    let files = Files::new(&[("t.std", &trace(LOST)), ("spec.toml", "not-atomic = [\"deposit\"]\n")]);
    let (path, spec) = (files.at("t.std"), files.at("spec.toml"));
    atomvet(&["compare", "--algo", "aerodrome", &path])
        .ends_with(1)
        .prints("  regiontrack ")
        .prints("  aerodrome ");
    let run = atomvet(&["compare", "--algo", "aerodrome", "--predict", "--budget", "10", &path]).ends_with(1);
    run.prints("  commit-node ");
    atomvet(&["compare", "--algo", "observed", "--spec", &spec, &path]).ends_with(0);
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
fn convert_reads_logs_of_other_tools() {
    let files = Files::new(&[
        ("log.csv", "enter(deposit),,\nr(x),,\n,w(x)\nw(x),,\nexit(deposit),,\n"),
        (
            "log.rr",
            "## RoadRunner\n@ Enter(0,D.go()V)\n@ Rd(0,x) - D.java:1:2\n@ Wr(1,x) - D.java:9:2\n@ Wr(0,x) - D.java:3:2\n@ Exit(0,D.go()V)\n",
        ),
        ("bad.csv", "enter(f),\nr(x),w(x)\n"),
    ]);
    atomvet(&["convert", "--from", "csv", &files.at("log.csv"), "-o", &files.at("csv.atv")]).ends_with(0);
    atomvet(&["check", &files.at("csv.atv")]).ends_with(1).prints("deposit is not atomic");
    atomvet(&["convert", "--from", "roadrunner", &files.at("log.rr"), "-o", &files.at("rr.std")])
        .ends_with(0);
    atomvet(&["check", &files.at("rr.std")]).ends_with(1).prints("D.java:3");
    let run = atomvet(&["convert", "--from", "csv", &files.at("bad.csv"), "-o", &files.at("bad.std")]);
    run.ends_with(2).complains("bad.csv:2:6: found a second event");
    assert!(!files.path("bad.std").exists());
}

#[test]
fn convert_writes_what_rapid_reads() {
    let text = trace(
        "main|begin(f)|a.c:7 main|acq(m)|0 main|wait(m)|0 main|aw(x_y)|a.c:8 main|alloc(x_y)|0 main|add(x_y)|a.c:8 \
         main|fork(t)|0 main|rel(m)|0 main|end|0",
    );
    let text = format!("#atomvet waits=split\n{}", text.replace("x_y", "x y"));
    let run = atomvet_with(&["convert", "--rapid", "-", "-o", "-"], text.as_bytes()).ends_with(0);
    let expected = trace(
        "T0|begin|1 T0|acq(L0)|0 T0|rel(L0)|0 T0|acq(L0)|2 T0|w(V0)|2 T0|r(V0.1)|2 T0|w(V0.1)|2 T0|fork(T1)|0 T0|rel(L0)|0 T0|end|0",
    );
    assert_eq!(run.out, expected);
    let shared = atomvet_with(&["convert", "--rapid", "-", "-o", "-"], b"1|racq(m)|1\n");
    shared.ends_with(2).complains("RAPID has no read locks");
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
    atomvet(&["explain", "lost", "update"]).ends_with(0).prints("remedy").prints("atomvet demo lost-update");
    atomvet(&["explain", "exit-code"]).ends_with(0).prints("3  nothing was observed");
    atomvet(&["explain", "exit", "status", "3"]).ends_with(0).prints("atomvet stats TRACE");
    let suspected = atomvet(&["explain", "suspected"]).ends_with(0).out;
    assert!(suspected.starts_with("suspected\n") && !suspected.contains("observed"), "{suspected}");
    atomvet(&["explain", "hint reads"]).ends_with(0).prints("--idiom hint-reads");
    atomvet(&["explain", "deadlock"]).ends_with(0).prints("wait for each other").prints("guarantee");
    atomvet(&["explain", "lots-update"]).ends_with(2).complains("did you mean lost-update?");
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

/// The demos: name, files, what their report has to say.
const DEMOS: &[(&str, &str, &str, &str)] = &[
    ("lost-update", "bank", "deposit is not atomic (observed)", "lost update:"),
    ("check-then-act", "coupon", "redeem is not atomic (observed)", "lost update:"),
    ("non-repeatable-read", "stack", "top_if_any is not atomic (observed)", "non-repeatable read:"),
    ("dirty-read", "recount", "recount is not atomic (observed)", "dirty read:"),
    ("stale-write", "ticket", "take_ticket is not atomic (observed)", "stale write:"),
    ("dirty-write", "engine", "work_once is not atomic (observed)", "dirty write:"),
    ("write-skew", "tunnel", "enter_from_west is not atomic (observed)", "write skew:"),
    ("read-skew", "wealth", "wealth is not atomic (observed)", "read skew:"),
    ("torn-update", "point", "move is not atomic (observed)", "torn update:"),
    ("split-critical-section", "ledger", "book is not atomic (observed)", "split critical section:"),
    ("thread-inside", "helper", "sum_up is not atomic (observed)", "thread inside a block:"),
    ("three-threads", "order", "buy is not atomic (observed)", "longer cycle:"),
    ("no-serial-order", "doctors", "no single block is to blame", "no serial order:"),
    (
        "predicted",
        "vector",
        "Vector(Collection) is not atomic (predicted, with schedule)",
        "non-repeatable read:",
    ),
    (
        "deadlock",
        "forks",
        "a deadlock is possible over left_fork, right_fork",
        "remedy: take these locks in one order",
    ),
];

#[test]
fn every_demo_shows_its_anomaly_live_and_recorded() {
    let list = atomvet(&["demo", "--list"]).ends_with(0).out;
    let listed: Vec<&str> = list.lines().skip(2).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(listed, DEMOS.iter().map(|demo| demo.0).collect::<Vec<_>>());
    for (name, stem, finding, shape) in DEMOS {
        let run =
            atomvet(&["demo", name]).ends_with(0).prints(finding).prints(shape).prints("What to try next");
        assert_eq!(run.err, "");
        if *name != "predicted" {
            run.prints(&format!("$ atomvet cc {stem}.c -o {stem}\n"));
        }
        let recorded = atomvet(&["demo", name, "--recorded"]).ends_with(0);
        recorded.prints(finding).prints(shape).prints(&format!("{stem}.std\n"));
    }
    let predicted = atomvet(&["demo", "--predict"]).ends_with(0).out;
    assert_eq!(predicted, atomvet(&["demo", "predicted"]).ends_with(0).out);
}

#[test]
fn a_mended_demo_is_clean() {
    for (name, stem, ..) in DEMOS.iter().filter(|demo| demo.0 != "predicted") {
        let files = Files::new(&[]);
        let (source, program) = (files.at(&format!("{stem}.c")), files.at("fixed"));
        atomvet(&["demo", name, "-o", &files.at(".")]).ends_with(0).prints(&format!("{stem}.std\n"));
        atomvet(&["cc", "-DFIXED", &source, "-o", &program]).ends_with(0);
        atomvet(&["run", "--strict-waits", "--", &program]).ends_with(0);
    }
}

#[test]
fn without_a_compiler_the_recorded_run_is_shown() {
    let output =
        crate::common::command(&["demo"]).env("ATOMVET_CC", "/no/such/compiler").output().expect("runs");
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{out}");
    for part in
        ["no C compiler was found here", "$ atomvet check bank.std\n", "deposit is not atomic (observed)"]
    {
        assert!(out.contains(part), "{part}: {out}");
    }
    let bank = atomvet(&["demo", "--trace"]).ends_with(0).out;
    atomvet_with(&["check", "-"], bank.as_bytes()).ends_with(1).prints("deposit is not atomic");
    atomvet(&["demo", "lost-updat"]).ends_with(2).complains("'lost-update'");
}

#[test]
fn bash_completes_commands_options_and_values() {
    let script = atomvet(&["completions", "bash"]).ends_with(0).out;
    let complete = |words: &str| {
        // What bash does when Tab is pressed behind the last word.
        let ask = format!(
            "COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=()\n\
             _atomvet atomvet \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let bash = std::process::Command::new("bash").args(["-c", &format!("{script}\n{ask}")]).output();
        String::from_utf8(bash.expect("bash runs").stdout).expect("UTF-8").trim().to_owned()
    };
    assert_eq!(complete("atomvet dem"), "demo");
    assert_eq!(complete("atomvet check --sche"), "--schedules");
    assert_eq!(complete("atomvet check --algo region"), "regiontrack");
    assert_eq!(complete("atomvet check --idiom hint"), "hint-reads");
    assert_eq!(complete("atomvet demo write"), "write-skew");
    assert_eq!(complete("atomvet explain lost"), "lost-update");
    for shell in ["zsh", "fish"] {
        let script = atomvet(&["completions", shell]).ends_with(0).out;
        assert!(script.contains("schedules") && script.contains("regiontrack"), "{shell}");
        let files = Files::new(&[("script", &script)]);
        // Read by the shell itself where it is there.
        if let Ok(read) = std::process::Command::new(shell).args(["-n", &files.at("script")]).output() {
            assert!(read.status.success(), "{shell}: {}", String::from_utf8_lossy(&read.stderr));
        }
    }
    atomvet(&["completions", "bsh"]).ends_with(2).complains("'bash'");
}

#[test]
fn manual_pages_are_there_for_every_command() {
    let files = Files::new(&[]);
    atomvet(&["man", "--output", &files.at("man1")]).ends_with(0);
    let help = atomvet(&["--help"]).ends_with(0).out;
    let pages: Vec<_> =
        std::fs::read_dir(files.path("man1")).expect("lists").map(|e| e.expect("entry").path()).collect();
    assert!(pages.len() >= 16, "{pages:?}");
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page");
        for heading in ["NAME", "SYNOPSIS", "OPTIONS", "EXAMPLES", "EXIT STATUS"] {
            assert!(
                text.contains(&format!(".SH {heading}\n")) || text.contains(&format!(".SH \"{heading}\"\n")),
                "{text}"
            );
        }
        assert!(text.is_ascii(), "{text}");
        let command =
            page.file_stem().and_then(|stem| stem.to_str()?.strip_prefix("atomvet-")).unwrap_or("demo");
        assert!(help.contains(&format!("\n  {command} ")), "{command}");
        if let Ok(read) =
            std::process::Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]).arg(&page).output()
        {
            assert_eq!(String::from_utf8_lossy(&read.stderr), "", "{}", page.display());
        }
    }
    atomvet(&["man", "check"]).ends_with(0).prints("atomvet\\-check").prints("zcat trace.gz");
    atomvet(&["man", "chekc"]).ends_with(2).complains("did you mean check?");
}

#[test]
fn help_and_version_and_wrong_use() {
    atomvet(&["--version"]).ends_with(0).prints("atomvet 0.");
    atomvet(&["--help"]).ends_with(0).prints("Exit status").prints("atomvet demo");
    for name in
        ["run", "check", "compare", "refine", "stats", "convert", "gen", "explain", "list", "demo", "man"]
    {
        atomvet(&[name, "--help"]).ends_with(0).prints("Usage:").prints("Example");
    }
    atomvet(&["check"]).ends_with(2).complains("atomvet: error: ");
    atomvet(&["chekc", "x"]).ends_with(2).complains("'check'");
    atomvet(&["check", "--formt", "json", "x"]).ends_with(2).complains("'--format'");
    atomvet(&["check", "--format", "jsn", "x"]).ends_with(2).complains("'json'");
    atomvet(&["check", "--algo", "velodrom", "x"]).ends_with(2).complains("did you mean velodrome?");
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
        // The findings may come first: they are not lost.
        let told =
            err.lines().any(|line| line.starts_with("atomvet: error: ") && line.contains("No space left"));
        assert!(told, "{arguments:?}: {err}");
    }
}

#[test]
fn the_c_header_writes_traces() {
    const SOURCE: &str = r##"#include "atomvet_trace.h"
int main(void) {
    static const char *events[][4] = {
        {" #1", "begin", "deposit|x", "b.c:1"}, {" #1", "r", "a\\b\nc", "b.c:2"}, {"T2", "w", "a\\b\nc", NULL},
        {" #1", "w", "a\\b\nc", "b.c:3"}, {" #1", "end", NULL, "b.c:4"},
    };
    for (unsigned i = 0; i < 5; i++)
        if (atomvet_trace_event(stdout, events[i][0], events[i][1], events[i][2], events[i][3]))
            return 1;
    return atomvet_trace_event(stdout, "", "r", "x", NULL) == -1 ? 0 : 1;
}
"##;
    let files = Files::new(&[("main.c", SOURCE)]);
    let include = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    for language in ["c", "c++"] {
        let program = files.at("main");
        let mut compiler = std::process::Command::new("cc");
        compiler
            .args(["-Wall", "-Wextra", "-Wno-write-strings", "-Werror", "-x", language, "-I"])
            .arg(&include);
        let built = compiler.args([&files.at("main.c"), "-o", &program]).status().expect("a C compiler");
        assert!(built.success(), "{language}");
        let out = std::process::Command::new(&program).output().expect("runs");
        assert!(out.status.success());
        let canonical = atomvet_with(&["convert", "-", "-o", "-"], &out.stdout).ends_with(0).out;
        assert_eq!(canonical.as_bytes(), out.stdout);
        atomvet_with(&["check", "-"], &out.stdout).ends_with(1).prints("deposit|x is not atomic");
    }
}
