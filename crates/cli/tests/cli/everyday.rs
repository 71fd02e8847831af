//! Everyday use: the configuration, suppressions, the baseline, idioms; and the formats of `run`.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{CLEAN, Files, LOST, Run, atomvet, command, trace};
use crate::schema::satisfies;

/// Two mistakes: `deposit` loses an update of x, `audit` reads y twice and differently.
const TWO: &str = "T1|begin(deposit)|bank.c:10 T1|r(x)|bank.c:11 T2|w(x)|bank.c:30 T1|w(x)|bank.c:12 T1|end|bank.c:13 \
     T1|begin(audit)|src/audit.c:5 T1|r(y)|src/audit.c:6 T2|w(y)|bank.c:31 T1|r(y)|src/audit.c:7 T1|end|src/audit.c:8";

/// What `docs/benign.md` says about an idiom.
struct Documented {
    name: String,
    /// A violation, but for the idiom.
    benign: String,
    /// A violation all the same.
    reported: String,
}

fn idioms() -> Vec<Documented> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benign.md");
    let text = std::fs::read_to_string(path).expect("the document exists");
    let block = |section: &str, kind: &str| {
        let (_, rest) = section.split_once(&format!("```text {kind}\n"))?;
        Some(rest.split("```").next().unwrap_or_default().to_owned())
    };
    let documented = text.split("\n## ").filter_map(|section| {
        let name = section.lines().next().unwrap_or_default().to_owned();
        Some(Documented { name, benign: block(section, "benign")?, reported: block(section, "reported")? })
    });
    documented.collect()
}

/// A folder with a trace `t.std`, perhaps with a configuration, and a folder below it.
struct Folder(Files);

impl Folder {
    fn new(words: &str, configuration: &str) -> Folder {
        let files = Files::new(&[("t.std", &trace(words))]);
        if !configuration.is_empty() {
            files.add("atomvet.toml", configuration.as_bytes());
        }
        std::fs::create_dir(files.path("below")).expect("a folder");
        Folder(files)
    }

    /// Runs the command there.
    fn run(&self, arguments: &[&str]) -> Run {
        self.run_in("", arguments)
    }

    fn run_in(&self, below: &str, arguments: &[&str]) -> Run {
        let output = command(arguments).current_dir(self.0.path(below)).output().expect("atomvet starts");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Run { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let all: Vec<&str> = arguments.iter().copied().chain(["--format", "json"]).collect();
        let report = self.run(&all).json();
        satisfies(&report);
        report
    }
}

fn violations(report: &Value) -> &Vec<Value> {
    report["traces"][0]["checkers"][0]["violations"].as_array().expect("violations")
}

const DEPOSIT: &str = "[[suppress]]\nblock = 'depo*'\nreason = 'known'\n";

#[test]
fn the_configuration_is_found_upward() {
    let folder = Folder::new(LOST, DEPOSIT);
    folder.run(&["check", "t.std"]).ends_with(0).complains("note: configuration: atomvet.toml");
    folder.run_in("below", &["check", "../t.std"]).ends_with(0).complains("configuration: ../atomvet.toml");
    folder.run(&["check", "--no-config", "t.std"]).ends_with(1);
    folder.0.add("other.toml", b"[[suppress]]\nblock = 'x'\nreason = 'y'\n");
    let run = folder.run(&["check", "--config", "other.toml", "t.std"]).ends_with(1);
    assert!(!run.err.contains("configuration:"), "{}", run.err);
    folder
        .run(&["check", "--config", "none.toml", "t.std"])
        .ends_with(2)
        .complains("none.toml: cannot be read");
    folder.run(&["check", "--config", "other.toml", "--no-config", "t.std"]).ends_with(2);
    folder
        .run(&["check", "--config", "other.toml", "-o", "other.toml", "t.std"])
        .ends_with(2)
        .complains("is an input");
}

#[test]
fn the_command_line_wins_over_the_specification_and_that_over_the_configuration() {
    let folder = Folder::new(LOST, "[options]\nalgorithm = 'velodrome'\nformat = 'json'\n");
    let algorithm = |arguments: &[&str]| {
        let all: Vec<&str> = ["check", "t.std"].iter().chain(arguments).copied().collect();
        folder.run(&all).ends_with(1).json()["traces"][0]["checkers"][0]["name"].clone()
    };
    assert_eq!(algorithm(&[]), "velodrome");
    assert_eq!(algorithm(&["--algo", "aerodrome"]), "aerodrome");
    folder.0.add("spec.toml", b"atomic = ['deposit']\n[options]\nalgorithm = ['doublechecker']\n");
    assert_eq!(algorithm(&["--spec", "spec.toml"]), "doublechecker");
    assert_eq!(algorithm(&["--spec", "spec.toml", "--algo", "aerodrome"]), "aerodrome");
    folder.run(&["check", "--format", "text", "t.std"]).ends_with(1).prints("verdicts on t.std");
}

#[test]
fn formats_and_where_they_go_are_configured_from_the_folder_of_the_file() {
    let configuration =
        "[options]\nformat = ['text', 'sarif', 'json']\noutput = 'report'\nsource-roots = ['below']\n";
    let folder = Folder::new(LOST, configuration);
    folder.run_in("below", &["check", "../t.std"]).ends_with(1).prints("verdicts");
    assert!(folder.0.path("report.sarif").exists() && folder.0.path("report.json").exists());
    // What is said about other formats on the command line does not go there.
    folder.run(&["check", "t.std", "--format", "json"]).ends_with(1).json();
    folder.0.add("atomvet.toml", b"[options]\nsource-roots = ['nowhere']\n");
    folder.run(&["check", "t.std"]).ends_with(2).complains("nowhere: is no directory");
}

#[test]
fn conventions_are_configured() {
    // A wait in the block lets the other thread in.
    let waits = "T1|begin(take)|1 T1|acq(m)|2 T1|r(x)|3 T1|wait(m)|4 T2|begin(put)|9 T2|acq(m)|10 T2|w(x)|11 \
                 T2|rel(m)|12 T2|end|13 T1|r(x)|5 T1|rel(m)|6 T1|end|7";
    let folder = Folder::new(waits, "");
    folder.run(&["check", "t.std"]).ends_with(1);
    folder.run(&["check", "--split-at-waits", "t.std"]).ends_with(0);
    folder.run(&["check", "--split-at-waits", "--strict-waits", "t.std"]).ends_with(1);
    folder.0.add("atomvet.toml", b"[options]\nstrict-waits = false\n");
    folder.run(&["check", "t.std"]).ends_with(0);
    folder.run(&["check", "--strict-waits", "t.std"]).ends_with(1);
    folder.run(&["refine", "t.std"]).ends_with(0).prints("\"take\", # entered once\n");
    folder.run(&["refine", "--no-config", "t.std"]).ends_with(0).prints("violated once");
    let folder = Folder::new(&idioms()[4].benign, "[options]\nstrict-atomics = false\n");
    folder.run(&["check", "t.std"]).ends_with(0);
    folder.run(&["check", "--strict-atomics", "t.std"]).ends_with(1);
    folder.run(&["check", "--no-config", "--commuting-updates", "t.std"]).ends_with(0);
}

#[test]
fn what_is_atomic_and_what_is_not() {
    for (configuration, status) in [
        ("atomic = ['deposit', 'audit']", 1),
        ("atomic = ['with*']", 3),
        ("not-atomic = ['deposit']", 1),
        ("not-atomic = ['deposit', 'audit']", 3),
        ("exclude = ['file:bank.c', 'file:src/*']", 3),
        ("atomic = ['*']\nnot-atomic = ['deposit', 'file:audit.c']", 3),
        ("ignore-variables = ['x']", 1),
        ("ignore-variables = ['x', 'y*']", 0),
    ] {
        Folder::new(TWO, configuration).run(&["check", "t.std"]).ends_with(status);
    }
    let folder = Folder::new(TWO, "ignore-variables = ['x', 'y']");
    folder.run(&["check", "t.std"]).complains("6 accesses are left out");
    assert_eq!(folder.json(&["check", "t.std"])["traces"][0]["ignored_accesses"], 6);
    let refined = folder.run(&["refine", "--no-config", "t.std", "-o", "atomvet.toml"]).ends_with(0);
    assert_eq!(refined.out, "");
    folder.run(&["check", "t.std"]).ends_with(3).complains("no block");
}

#[test]
fn mistakes_in_a_configuration_are_shown_with_their_place() {
    for (configuration, message) in [
        ("\natomik = []", "atomvet.toml:2:1: no key is called \"atomik\"; did you mean atomic?"),
        ("\natomik = []", "\n2 | atomik = []\n  | ^^^^^^\n"),
        (
            "[options]\nstrict_waits = true",
            "atomvet.toml:2:1: no option is called \"strict_waits\"; did you mean strict-waits?",
        ),
        ("[options]\nalgorithm = 'velodrom'", "atomvet.toml:2:13: no algorithm is called"),
        ("[[suppress]]\nblock = 'a'", "atomvet.toml:1:1: a suppression needs a reason"),
        ("[[suppress]]\nreason = 'a'", "atomvet.toml:1:1: a suppression needs at least one of block"),
        ("[idioms]\nhint-reads = 1", "atomvet.toml:2:14: `hint-reads` expects true or false"),
        ("[options\n", "atomvet.toml:1:9: "),
    ] {
        let folder = Folder::new(LOST, configuration);
        for arguments in
            [&["check", "t.std"][..], &["baseline", "t.std"], &["refine", "t.std"], &["run", "true"]]
        {
            let run = folder.run(arguments).ends_with(2).complains(message);
            assert_eq!(run.out, "");
        }
    }
    let folder = Folder::new(LOST, "");
    folder.0.add("atomvet.toml", b"# \xff");
    folder.run(&["check", "t.std"]).ends_with(2).complains("atomvet.toml:1:3: is not UTF-8");
    folder
        .run(&["check", "--no-config", "--idiom", "hint-red", "t.std"])
        .ends_with(2)
        .complains("did you mean hint-reads?");
}

#[test]
fn findings_are_suppressed_by_everything_they_are_known_by() {
    let folder = Folder::new(TWO, "");
    let all = folder.json(&["check", "t.std"]);
    assert_eq!((violations(&all).len(), all.get("set_aside")), (2, None));
    let print = violations(&all)[0]["fingerprint"].as_str().expect("a fingerprint").to_owned();
    for what in [
        "block = 'deposit'".to_owned(),
        "variable = 'x'".to_owned(),
        "file = 'bank.c'".to_owned(),
        "file = '*.c'\nvariable = 'x'".to_owned(),
        format!("fingerprint = '{print}'"),
    ] {
        folder
            .0
            .add("atomvet.toml", format!("# first\n[[suppress]]\n{what}\nreason = 'told you'\n").as_bytes());
        let run = folder.run(&["check", "t.std"]).ends_with(1).prints("set aside: 1 finding suppressed\n");
        assert!(
            run.out.contains("audit is not atomic") && !run.out.contains("deposit is not atomic"),
            "{}",
            run.out
        );
        let report = folder.json(&["check", "t.std"]);
        let [left, suppressed] = &violations(&report)[..] else { panic!("{report}") };
        assert_eq!((&left["block"]["label"], left.get("suppression")), (&json!("audit"), None));
        assert_eq!(suppressed["block"]["label"], "deposit");
        assert_eq!(suppressed["suppression"], json!({"by": "atomvet.toml:2", "reason": "told you"}));
        assert_eq!(report["set_aside"]["suppressed"], 1);
        assert_eq!(report["set_aside"]["unused_suppressions"], json!([]));
    }
    folder.0.add("atomvet.toml", b"[[suppress]]\nfile = '*'\nreason = 'all of it'\n");
    folder.run(&["check", "t.std"]).ends_with(0).prints("set aside: 2 findings suppressed\n");
    // What is not told apart by patterns is not suppressed.
    folder.0.add("atomvet.toml", b"[[suppress]]\nblock = 'deposit'\nvariable = 'y'\nreason = 'no'\n");
    folder.run(&["check", "t.std"]).ends_with(1);
}

#[test]
fn suppressions_that_nobody_needs_are_reported() {
    let folder = Folder::new(LOST, &format!("{DEPOSIT}\n[[suppress]]\nblock = 'gone'\nreason = 'bug 7'\n"));
    let told = folder.run(&["check", "t.std"]).ends_with(0);
    let told = told.prints("unused suppression at atomvet.toml:5: block = \"gone\" (bug 7)\n");
    assert!(!told.err.contains("gone"), "it is told once");
    folder
        .run(&["check", "--format", "json", "t.std"])
        .ends_with(0)
        .complains("atomvet.toml:5: no finding needs this suppression: block = \"gone\" (bug 7)");
    let report = folder.json(&["check", "t.std"]);
    let unused = json!([{"at": "atomvet.toml:5", "what": "block = \"gone\"", "reason": "bug 7"}]);
    assert_eq!(report["set_aside"]["unused_suppressions"], unused);
    // Over several traces, one that needs it is enough; a finding is counted once.
    folder.0.add("u.std", trace(LOST).replace("deposit", "gone").as_bytes());
    let run = folder.run(&["check", "t.std", "u.std", "t.std"]).ends_with(0);
    assert!(!run.err.contains("needs"), "{}", run.err);
    run.prints("set aside: 2 findings suppressed\n");
}

#[test]
fn predictions_races_and_deadlocks_are_suppressed_too() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/predict");
    let mut kinds = [false; 3];
    for entry in std::fs::read_dir(corpus).expect("the corpus") {
        let path = entry.expect("an entry").path();
        let path = path.to_str().expect("UTF-8");
        if !path.ends_with(".std") {
            continue;
        }
        let folder = Folder::new(CLEAN, "[[suppress]]\nfingerprint = '*'\nreason = 'all'\n");
        let arguments = ["check", "--algo", "commit-node,deadlock", "--format", "json", path];
        let before = atomvet(&arguments);
        let after = folder.run(&arguments);
        if before.status == Some(1) {
            assert_eq!(after.status, Some(0), "{path}: {}", after.err);
        }
        let report = after.json();
        satisfies(&report);
        for checker in report["traces"][0]["checkers"].as_array().into_iter().flatten() {
            for (kind, name) in kinds.iter_mut().zip(["violations", "races", "deadlocks"]) {
                for found in checker[name].as_array().expect("a list") {
                    assert_eq!(found["suppression"]["by"], "atomvet.toml:1");
                    *kind = true;
                }
            }
        }
    }
    assert_eq!(kinds, [true; 3]);
}

#[test]
fn a_baseline_fails_on_what_is_new_only() {
    let folder = Folder::new(TWO, "");
    let run = folder.run(&["baseline", "t.std", "-o", "known"]).ends_with(0).complains("lists 2 findings");
    assert_eq!(run.out, "");
    let text = std::fs::read_to_string(folder.0.path("known")).expect("a baseline");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines[0].ends_with(" audit is not atomic (observed), src/audit.c:5"), "{text}");
    assert!(lines[1].ends_with(" deposit is not atomic (observed), bank.c:10"), "{text}");

    folder
        .run(&["check", "--baseline", "known", "t.std"])
        .ends_with(0)
        .prints("set aside: 2 findings in the baseline\n");
    let report = folder.json(&["check", "--baseline", "known", "t.std"]);
    assert_eq!(violations(&report)[0]["suppression"], json!({"by": "baseline", "reason": "known: known:4"}));
    assert_eq!(
        (&report["set_aside"]["in_baseline"], &report["set_aside"]["baseline_not_found"]),
        (&json!(2), &json!(0))
    );

    // One is deleted from the baseline; one is mended; one is new.
    folder.0.add("less", format!("{}\n{}\n", text.lines().next().expect("a head"), lines[0]).as_bytes());
    let run = folder
        .run(&["check", "--baseline", "less", "t.std"])
        .ends_with(1)
        .prints("1 finding in the baseline");
    assert!(
        run.out.contains("deposit is not atomic") && !run.out.contains("audit is not atomic"),
        "{}",
        run.out
    );
    folder.0.add("mended.std", trace(CLEAN).as_bytes());
    folder
        .run(&["check", "--baseline", "known", "mended.std"])
        .ends_with(0)
        .prints("2 of the baseline did not occur");
    folder.0.add("new.std", idioms()[0].benign.as_bytes());
    folder
        .run(&["check", "--baseline", "known", "t.std", "new.std"])
        .ends_with(1)
        .prints("get is not atomic");

    // From a report, and from one that knew a baseline already, the same.
    folder.run(&["check", "t.std", "--format", "json", "-o", "found.json"]).ends_with(1);
    assert_eq!(folder.run(&["baseline", "found.json"]).ends_with(0).out, text);
    folder
        .run(&["check", "--baseline", "known", "t.std", "--format", "json", "-o", "found.json"])
        .ends_with(0);
    assert_eq!(folder.run(&["baseline", "found.json", "t.std"]).ends_with(0).out, text);

    // Named by the configuration; what that suppresses needs no baseline.
    folder.0.add("atomvet.toml", format!("[options]\nbaseline = 'known'\n{DEPOSIT}").as_bytes());
    folder
        .run_in("below", &["check", "../t.std"])
        .ends_with(0)
        .prints("1 finding suppressed, 1 finding in the baseline, 1 of");
    folder.run(&["baseline", "t.std"]).ends_with(0).complains("lists 1 finding");
    folder
        .0
        .add("atomvet.toml", b"[options]\nbaseline = 'known'\n[[suppress]]\nvariable = 'x'\nreason = 'r'\n");
    let run = folder
        .run(&["check", "t.std"])
        .ends_with(0)
        .prints("1 finding suppressed, 1 finding in the baseline");
    assert!(!run.err.contains("needs"), "{}", run.err);
}

#[test]
fn a_bad_baseline_is_refused_with_its_place() {
    let folder = Folder::new(LOST, "");
    folder
        .run(&["check", "--baseline", "none", "t.std"])
        .ends_with(2)
        .complains("`atomvet baseline TRACE -o FILE` makes");
    folder.0.add("known", b"deposit\n");
    folder
        .run(&["check", "--baseline", "known", "t.std"])
        .ends_with(2)
        .complains("known:1:1: is no baseline");
    folder.0.add("known", b"# atomvet-baseline/1\n\nxyz deposit\n");
    folder
        .run(&["check", "--baseline", "known", "t.std"])
        .ends_with(2)
        .complains("known:3:1: \"xyz\" is no fingerprint");
    folder.run(&["baseline", "nowhere.std"]).ends_with(2);
    folder.0.add("found.json", b"{}");
    folder.run(&["baseline", "found.json"]).ends_with(2).complains("is not a report");
    folder.run(&["baseline", "t.std", "-o", "t.std"]).ends_with(2).complains("is an input");
}

#[test]
fn idioms_set_aside_what_is_benign_as_documented() {
    let idioms = idioms();
    assert_eq!(idioms.len(), 5);
    for Documented { name, benign, reported } in &idioms {
        let folder = Folder::new(benign, "");
        folder.0.add("reported.std", reported.as_bytes());
        folder.run(&["check", "t.std"]).ends_with(1);
        let sentence = format!("set aside: 1 finding benign by {name}\n");
        folder.run(&["check", "--idiom", name, "t.std"]).ends_with(0).prints(&sentence);
        folder.run(&["check", "--idiom", name, "reported.std"]).ends_with(1);
        let others: Vec<&str> =
            idioms.iter().map(|other| &*other.name).filter(|other| other != name).collect();
        folder.run(&["check", "--idiom", &others.join(","), "t.std"]).ends_with(1);
        let report = folder.json(&["check", "--idiom", name, "--verify", "t.std"]);
        let idiom = &violations(&report)[0]["idiom"];
        assert_eq!((&idiom["name"], &report["set_aside"]["by_idiom"][name]), (&json!(name), &json!(1)));
        assert!(!idiom["accesses"].as_array().expect("accesses").is_empty());

        folder.0.add("atomvet.toml", format!("[idioms]\n{name} = true\n").as_bytes());
        folder.run(&["check", "t.std"]).ends_with(0);
        folder.run(&["check", "--all-instances", "t.std"]).ends_with(0);
        folder.run(&["check", "--no-idiom", name, "t.std"]).ends_with(1);
        folder.run(&["check", "--algo", "observed", "t.std"]).ends_with(0);
    }
}

#[test]
fn an_idiom_does_not_hide_what_is_wrong_besides() {
    let hint = &idioms()[0].benign;
    // The block is violated by the hint, and by z as well.
    let both = hint
        .replace("T1|r(instance)|single.c:11", "T1|r(instance)|single.c:11\nT1|r(z)|single.c:11")
        .replace("T2|w(instance)", "T2|w(z)|single.c:14\nT2|w(instance)")
        .replace("T1|rel(building)", "T1|w(z)|single.c:14\nT1|rel(building)");
    Folder::new(&both, "").run(&["check", "--idiom", "hint-reads", "t.std"]).ends_with(1);
    // One instance of a finding is benign and one is not: the finding counts.
    let again = "T1|begin(get)|single.c:10 T1|r(instance)|single.c:11 T1|acq(building)|single.c:12 T1|rel(building)|single.c:15 \
                 T2|acq(building)|single.c:12 T2|w(instance)|single.c:14 T2|rel(building)|single.c:15 \
                 T1|acq(building)|single.c:12 T1|r(instance)|single.c:13 T1|rel(building)|single.c:15 T1|end|single.c:16";
    let twice = format!("{hint}{}", trace(again));
    let folder = Folder::new(&twice, "");
    let report = folder.json(&["check", "--idiom", "hint-reads", "t.std"]);
    assert_eq!(
        (violations(&report)[0]["count"].clone(), violations(&report)[0].get("idiom")),
        (json!(2), None)
    );
}

#[test]
fn predictions_are_benign_without_the_accesses_of_an_idiom() {
    let serial = "T1|begin(get)|s.c:10 T1|r(p)|s.c:11 T1|acq(m)|s.c:12 T1|r(p)|s.c:13 T1|w(p)|s.c:14 T1|rel(m)|s.c:15 \
                  T1|end|s.c:16 T2|begin(get)|s.c:10 T2|r(p)|s.c:11 T2|acq(m)|s.c:12 T2|r(p)|s.c:13 T2|rel(m)|s.c:15 T2|end|s.c:16";
    let folder = Folder::new(serial, "");
    folder.run(&["check", "--predict", "t.std"]).ends_with(1);
    folder
        .run(&["check", "--predict", "--idiom", "hint-reads", "t.std"])
        .ends_with(0)
        .prints("set aside: 1 finding benign by hint-reads\n");
}

/// Builds a C program, here, as users do.
fn build(folder: &Folder, arguments: &[&str]) {
    let run = folder.run(&[&["cc", "-g", "-pthread"], arguments].concat());
    assert_eq!(run.status, Some(0), "{}", run.err);
}

#[test]
fn run_takes_formats_configuration_and_baseline_as_check_does() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let folder = Folder::new(CLEAN, "");
    let object = folder.0.at("choreography.o");
    let compiled =
        Command::new("gcc").args(["-c", "-o", &object]).arg(programs.join("choreography.c")).status();
    assert!(compiled.expect("gcc").success());
    std::fs::copy(programs.join("c/bank_bad.c"), folder.0.path("bank.c")).expect("a program");
    build(&folder, &["-I", programs.to_str().expect("UTF-8"), "bank.c", &object, "-o", "bank"]);

    let formats = ["--format", "text", "--format", "json", "--format", "sarif"];
    folder
        .run(&[&["run"][..], &formats, &["--", "./bank"]].concat())
        .ends_with(2)
        .complains("several formats need files");
    let run = folder.run(&[&["run", "-o", "found"][..], &formats, &["--", "./bank"]].concat()).ends_with(1);
    assert!(run.err.contains("is not atomic") && !run.out.contains("atomic"), "{run:?}");
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.0.path("found.json")).expect("JSON"))
            .expect("JSON");
    satisfies(&report);
    assert_eq!(report["traces"][0]["program"]["ended"], "exit status 0");
    assert!(folder.0.path("found.sarif").exists());
    let run = folder.run(&["report", "found.json", "--format", "json"]).ends_with(0);
    assert_eq!(run.json(), report);
    let block = violations(&report)[0]["block"]["label"].as_str().expect("a label").to_owned();

    folder.run(&["baseline", "found.json", "-o", "known"]).ends_with(0);
    folder.run(&["run", "--baseline", "known", "--", "./bank"]).ends_with(0).complains("in the baseline");
    folder.0.add(
        "atomvet.toml",
        format!("[[suppress]]\nblock = '{block}'\nfile = 'bank.c'\nreason = 'r'\n").as_bytes(),
    );
    folder.run(&["run", "--", "./bank"]).ends_with(0).complains("set aside: 1 finding suppressed");
    folder.run(&["run", "--no-config", "--", "./bank"]).ends_with(1);
    folder.0.add("atomvet.toml", format!("not-atomic = ['{block}']\n").as_bytes());
    folder.run(&["run", "--", "./bank"]).ends_with(3).complains("no block");
}

#[test]
fn libraries_are_listed_by_their_names() {
    let folder = Folder::new(CLEAN, "");
    folder.0.add("work.c", b"int shared; void work(void) { shared++; }\n");
    let main = b"#include <pthread.h>\nvoid work(void);\nstatic void own(void) { work(); }\n\
                 static void *thread(void *u) { own(); return u; }\n\
                 int main(void) { pthread_t t; pthread_create(&t, 0, thread, 0); pthread_join(t, 0); own(); return 0; }\n";
    folder.0.add("main.c", main);
    build(&folder, &["-shared", "-fPIC", "work.c", "-o", "libwork.so"]);
    build(&folder, &["main.c", "./libwork.so", "-o", "main"]);
    let entered = |spec: &str, status| {
        folder.0.add("spec.toml", spec.as_bytes());
        let arguments = ["run", "--spec", "spec.toml", "--format", "json", "-o", "-", "--", "./main"];
        let report = folder.run(&arguments).ends_with(status).json();
        let trace = &report["traces"][0];
        let blocks = trace["entered"].as_array().into_iter().flatten();
        let names: Vec<Value> = blocks.map(|block| block["block"].clone()).collect();
        (Value::from(names), trace["unused_spec"].clone())
    };
    assert_eq!(entered("not-atomic = ['nothing']", 0).0, json!(["own", "work"]));
    assert_eq!(entered("atomic = ['library:libwork.so*']", 0), (json!(["work"]), json!([])));
    assert_eq!(entered("not-atomic = ['library:libwork.so']", 0).0, json!(["own"]));
    assert_eq!(entered("atomic = ['library:libother.so']", 3), (json!([]), json!(["library:libother.so"])));
}
