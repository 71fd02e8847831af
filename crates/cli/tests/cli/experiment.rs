//! `experiment`: cells that are done, fail, take too long or need too much memory; and going on after a stop.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{CLEAN, Files, LOST, atomvet, command, trace};
use crate::report::browser::{browser, used};

/// The values of one column of CSV, for rows that `wanted` accepts.
fn column(csv: &str, name: &str, wanted: impl Fn(&[&str]) -> bool) -> Vec<String> {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let at = lines.next().expect("a heading").iter().position(|heading| *heading == name).expect("a column");
    lines.filter(|line| wanted(line)).map(|line| line[at].to_owned()).collect()
}

#[test]
fn every_algorithm_on_every_trace() {
    let files =
        Files::new(&[("lost.std", &trace(LOST)), ("clean.std", &trace(CLEAN)), ("bad.std", "T1|nonsense\n")]);
    let (lost, clean, bad) = (files.at("lost.std"), files.at("clean.std"), files.at("bad.std"));
    let results = files.at("r.jsonl");
    let run = |format: &str| {
        let algorithms = "regiontrack,aerodrome,commit-node";
        let words = [
            "experiment",
            &lost,
            &clean,
            &bad,
            "--algo",
            algorithms,
            "--results",
            &results,
            "--format",
            format,
        ];
        atomvet(&words).ends_with(0)
    };
    let csv = run("csv").out;
    let of = |subject: &str, name: &str| column(&csv, name, |line| line[0] == subject && line[1] != "trace");
    assert_eq!(of(&lost, "methods"), ["1", "0", "1"]);
    assert_eq!(of(&lost, "first_event"), ["4", "4", ""]);
    assert_eq!(of(&lost, "serializable"), ["false", "false", ""]);
    assert_eq!(of(&clean, "serializable"), ["true", "true", ""]);
    // A trace that cannot be read is a cell, with the reason.
    assert_eq!(of(&bad, "outcome"), ["failed"; 3]);
    assert!(of(&bad, "message")[0].contains("bad.std:1"), "{csv}");
    assert_eq!(column(&csv, "events", |line| line[1] == "trace"), ["7", "6", ""]);
    run("text").prints("failed").prints("missed").complains("12 of 12 cells are there already");
    run("markdown").prints("| subject | algorithm | events |");
    run("latex").prints("\\begin{tabular}").prints("\\bottomrule");
}

#[test]
fn the_papers_tables_have_their_figures_beside_ours() {
    let files = Files::new(&[("philo.std", &trace(CLEAN)), ("mine.std", &trace(LOST))]);
    let (philo, mine, results) = (files.at("philo.std"), files.at("mine.std"), files.at("r.jsonl"));
    let table = atomvet(&["experiment", "--papers", &philo, &mine, "--results", &results]).ends_with(0).out;
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows[2].starts_with("| philo | here | 6 | 2 | 0 | 1 | 2 | yes | 0.00"), "{table}");
    assert_eq!(rows[3], "| philo | published | 613 | 6 | 1 | 24 | 0 | yes | 0.02 | 0.02 | 1 |");
    assert!(rows[4].starts_with("| mine | here | 7 | 2 | 0 | 1 | 2 | no | 0.00"), "{table}");
    assert_eq!(rows.len(), 5, "{table}");
}

#[test]
fn a_rerun_measures_what_is_missing_or_has_changed() {
    let files = Files::new(&[("a.std", &trace(LOST)), ("b.std", &trace(CLEAN))]);
    let (a, b, results) = (files.at("a.std"), files.at("b.std"), files.at("r.jsonl"));
    let run = || {
        atomvet(&["experiment", &a, &b, "--algo", "regiontrack", "--repetitions", "2", "--results", &results])
    };
    let lines = || std::fs::read_to_string(&results).expect("results").lines().count();
    run().ends_with(0);
    // Two cells and what the trace consists of, for each trace.
    assert_eq!(lines(), 6);
    run().ends_with(0).complains("6 of 6 cells are there already");
    files.add("b.std", trace(LOST).as_bytes());
    run().ends_with(0).complains("3 of 6 cells");
    assert_eq!(lines(), 9);
    // A crash in the middle of a line costs that cell.
    let text = std::fs::read_to_string(&results).expect("results");
    files.add("r.jsonl", &text.as_bytes()[..text.len() - 20]);
    run().ends_with(0).complains("the last line is cut off").complains("5 of 6 cells");
    assert_eq!(lines(), 9);
    files.add("r.jsonl", b"something else\n");
    run().ends_with(2).complains("r.jsonl:1: is no cell");
}

#[test]
fn time_and_memory_that_run_out_are_cells() {
    let files = Files::new(&[(
        "plan.toml",
        "timeout = 0.3\n[[program]]\nname = \"slow\"\ncommand = [\"sleep\", \"9\"]\n",
    )]);
    let big = files.at("big.atv");
    atomvet(&["gen", "--mode", "two-phase", "--events", "600000", "-o", &big]).ends_with(0);
    let results = files.at("r.jsonl");
    let started = Instant::now();
    let csv = atomvet(&["experiment", &files.at("plan.toml"), "--algo", "regiontrack", "--format", "csv"])
        .ends_with(0)
        .out;
    assert!(started.elapsed() < Duration::from_secs(8), "programs outlive their time");
    assert_eq!(column(&csv, "outcome", |_| true), ["TO"; 2]);
    let words = [
        "experiment",
        &big,
        "--algo",
        "commit-node",
        "--memory",
        "16M",
        "--results",
        &results,
        "--format",
        "csv",
    ];
    let csv = atomvet(&words).ends_with(0).out;
    assert_eq!(column(&csv, "outcome", |line| line[1] == "commit-node"), ["OOM"], "{csv}");
}

#[test]
fn a_signal_ends_an_experiment_that_goes_on_later() {
    let plan = "[[program]]\nname = \"slow\"\nbase = [\"true\"]\ncommand = [\"sleep\", \"1\"]\n";
    let files = Files::new(&[("plan.toml", plan)]);
    let words = ["experiment", &files.at("plan.toml"), "--algo", "regiontrack", "--format", "csv"];
    let child = command(&words).spawn().expect("starts");
    while std::fs::read_to_string(files.path("plan.jsonl")).is_ok_and(|text| text.is_empty())
        || !files.path("plan.jsonl").exists()
    {
        std::thread::yield_now();
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("run the same command again"), "{output:?}");
    // What is no program for `run` is a failure of that cell.
    let again = atomvet(&words).ends_with(0);
    assert_eq!(column(&again.out, "outcome", |_| true)[..2], ["done", "done"]);
    assert!(again.err.contains("cells are there already"), "{}", again.err);
}

#[test]
fn a_plan_says_where_it_is_wrong() {
    let files =
        Files::new(&[("a.std", &trace(LOST)), ("plan.toml", "traces = [\"a.std\"]\nrepetition = 3\n")]);
    atomvet(&["experiment", &files.at("plan.toml")])
        .ends_with(2)
        .complains("plan.toml:2: unknown field `repetition`");
    files.add("plan.toml", b"traces = [\"a.std\", \"a.std\"]\n");
    atomvet(&["experiment", &files.at("plan.toml")]).ends_with(2).complains("given twice");
    files.add("plan.toml", b"traces = [\"a.std\"]\nalgorithms = [\"velodrom\"]\n");
    atomvet(&["experiment", &files.at("plan.toml")]).ends_with(2).complains("did you mean velodrome?");
    files.add(
        "plan.toml",
        b"traces = [\"a.std\"]\nfirst-violation = true\nalgorithms = [\"regiontrack\"]\nmemory = \"1X\"\n",
    );
    atomvet(&["experiment", &files.at("plan.toml")]).ends_with(2).complains("memory \"1X\"");
}

/// Python with pyarrow, in a virtual environment below `target/`, which is made once.
fn python_with_pyarrow() -> PathBuf {
    let environment = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pyarrow");
    let python = environment.join("bin/python");
    let works = || {
        Command::new(&python)
            .args(["-c", "import pyarrow.parquet"])
            .output()
            .is_ok_and(|o| o.status.success())
    };
    if !works() {
        let run =
            |command: &mut Command| assert!(command.status().expect("python3 runs").success(), "{command:?}");
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment));
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "pyarrow"]));
        assert!(works(), "pyarrow is installed and cannot be imported");
    }
    python
}

#[test]
fn parquet_is_what_pyarrow_reads() {
    let files = Files::new(&[("lost,\"é\".std", &trace(LOST)), ("bad.std", "T1|nonsense\n")]);
    for number in 0..9 {
        files.add(&format!("{number}.std"), trace(CLEAN).as_bytes());
    }
    let traces: Vec<String> = (0..9).map(|number| files.at(&format!("{number}.std"))).collect();
    let (lost, bad, results, out) =
        (files.at("lost,\"é\".std"), files.at("bad.std"), files.at("r"), files.at("out"));
    let mut words =
        vec!["experiment", &lost, &bad, "--algo", "regiontrack,commit-node", "--results", &results];
    words.extend(traces.iter().map(String::as_str));
    words.extend(["--format", "csv", "--format", "parquet", "-o", &out]);
    atomvet(&words).ends_with(0);
    // The same table by two ways: each value of the CSV file is that of the Parquet file.
    let script = r#"
import csv, sys
import pyarrow.parquet as parquet
table = parquet.read_table(sys.argv[1] + ".parquet")
rows = list(csv.DictReader(open(sys.argv[1] + ".csv", encoding="utf-8", newline="")))
assert table.num_rows == len(rows) == 33, table.num_rows
assert table.column_names == list(rows[0])
for got, row in zip(table.to_pylist(), rows):
    for name, text in row.items():
        value = got[name]
        if value is None: assert text == "", (name, text)
        elif isinstance(value, bool): assert text == str(value).lower(), (name, text)
        elif isinstance(value, float): assert float(text) == value, (name, text)
        else: assert text == str(value), (name, text, value)
print({name: str(table.schema.field(name).type) for name in ("subject", "seconds", "events", "serializable")})
"#;
    let output =
        Command::new(python_with_pyarrow()).args(["-c", script, &out]).output().expect("python runs");
    assert!(output.status.success(), "{output:?}");
    let types = "{'subject': 'string', 'seconds': 'double', 'events': 'int64', 'serializable': 'bool'}\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), types);
}

#[test]
fn a_browser_shows_the_page() {
    let files = Files::new(&[("clean.std", &trace(CLEAN)), ("bad.std", "x\n")]);
    let named = files.path("<b>lost<").join("b>.std");
    std::fs::create_dir_all(named.parent().expect("a folder")).expect("a folder");
    std::fs::write(&named, trace(LOST)).expect("writes");
    let (lost, clean, bad, results) =
        (named.to_str().expect("UTF-8"), files.at("clean.std"), files.at("bad.std"), files.at("r"));
    let algorithms = "regiontrack,velodrome,aerodrome,commit-node";
    let words =
        ["experiment", lost, &clean, &bad, "--algo", algorithms, "--results", &results, "--format", "html"];
    let page = atomvet(&words).ends_with(0).out;
    assert!(
        !page.contains("http")
            || page.matches("http").count() == page.matches("http://www.w3.org/2000/svg").count()
    );
    let script = r#"
      const all = selector => document.querySelectorAll(selector);
      const box = all("svg")[0].getBoundingClientRect();
      const pre = document.createElement("pre"); pre.id = "said";
      pre.textContent = JSON.stringify({ plots: all("svg").length, bold: all("b").length, rows: all("table:not(.misses) tr").length,
        failed: all("li").length, wide: box.width > 300, high: box.height > 150,
        inside: [...all("svg")].every(svg => [...svg.querySelectorAll("circle, text")].every(e => e.getBBox().x >= -400 && e.getBBox().x <= 760)) });
      document.body.append(pre);"#;
    let said = used(&browser(), &page, script);
    let expected = serde_json::json!({"plots": 4, "bold": 0, "rows": 16, "failed": 5, "wide": true, "high": true, "inside": true});
    assert_eq!(said, expected);
}
