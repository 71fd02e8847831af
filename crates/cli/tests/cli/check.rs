//! `check`: verdicts, exit statuses, what is shown.

use crate::common::{CLEAN, Files, LOST, UNBLAMED, atomvet, atomvet_with, trace};

#[test]
fn each_status() {
    let files = Files::new(&[
        ("clean.std", &trace(CLEAN)),
        ("lost.std", &trace(LOST)),
        ("bad.std", "T1|begin(a)|1\nT1|jump(x)|2\n"),
        ("empty.std", ""),
        ("no-block.std", &trace("T1|w(x)|1 T2|w(x)|2")),
        ("one-thread.std", &trace("T1|begin(a)|1 T1|w(x)|2 T1|end|3")),
    ]);
    let check = |names: &[&str]| {
        let paths: Vec<String> = names.iter().map(|name| files.at(name)).collect();
        let mut arguments = vec!["check"];
        arguments.extend(paths.iter().map(String::as_str));
        atomvet(&arguments)
    };
    check(&["clean.std"]).ends_with(0).prints("trace: serializable").prints("blocks: no violation");
    check(&["lost.std"]).ends_with(1).prints("NOT serializable");
    check(&["bad.std"]).ends_with(2).complains("bad.std:2:");
    check(&["empty.std"]).ends_with(3).complains("no events");
    check(&["no-block.std"]).ends_with(3).complains("no block");
    check(&["one-thread.std"])
        .ends_with(3)
        .complains("one thread only")
        .says("NOTHING OBSERVED, one thread only");
    // 2 wins over 1 over 3 over 0, in any order, and the others are still checked.
    check(&["clean.std", "empty.std"]).ends_with(3);
    check(&["lost.std", "empty.std", "clean.std"]).ends_with(1);
    check(&["bad.std", "lost.std", "empty.std"]).ends_with(2).prints("deposit is not atomic");
}

#[test]
fn a_finding_is_explained() {
    let run = atomvet_with(&["check", "--verify", "-"], trace(LOST).as_bytes()).ends_with(1);
    assert_eq!(run.err, "");
    for part in [
        "1. deposit is not atomic (observed)\n   thread T1, begins at b.c:10 (event 0); against thread T2\n",
        "   lost update: ",
        "   step  event    thread T1                 thread T2\n",
        "      2      1  │ reads x         b.c:11\n",
        "                └────────────────────────►┐\n",
        "      3      3                            │ writes x  b.c:21\n",
        "                ┌◄────────────────────────┘\n",
        "      4      4  │ writes x        b.c:12\n",
        "   2 → 3  deposit (thread T1) must come before withdraw (thread T2), because withdraw wrote x, which\n          deposit had read before.\n",
        "   So deposit would have to run both before and after withdraw",
        "   remedy: ",
        "   The witness was verified independently.\n",
        "      [[suppress]]\n      fingerprint = \"",
        "   regiontrack  trace: NOT serializable, known at event 4  blocks: 1 violated\n",
    ] {
        assert!(run.out.contains(part), "{part:?} not in\n{}", run.out);
    }
    let end = "coverage: 7 events, 2 threads, 2 blocks (2 outermost), 0 unary events, 1 variable, 0 locks\n\
               conventions: blocks whole across waits, updates conflict\n";
    assert!(run.out.ends_with(end), "{}", run.out);
}

#[test]
fn a_cycle_without_a_blamed_block_is_told() {
    atomvet_with(&["check", "--verify", "-"], trace(UNBLAMED).as_bytes())
        .ends_with(1)
        .prints("no single block is to blame")
        .prints("blocks: none blamed");
}

#[test]
fn algorithms_are_chosen_by_name() {
    let input = trace(LOST);
    let run = atomvet_with(&["check", "--algo", "observed", "-"], input.as_bytes()).ends_with(1);
    for name in ["regiontrack", "aerodrome", "aerodrome-basic", "velodrome", "doublechecker"] {
        assert!(run.out.contains(&format!("\n   {name} ")), "{name} not in\n{}", run.out);
    }
    // The story is told once.
    assert_eq!(run.out.matches("remedy:").count(), 1);
    atomvet_with(&["check", "--algo", "velodrome,regiontrack,velodrome", "-"], input.as_bytes()).ends_with(1);
    atomvet(&["check", "--algo", "areodrome", "x"])
        .ends_with(2)
        .complains("did you mean aerodrome?")
        .complains("regiontrack");
}

#[test]
fn names_cannot_play_tricks_on_a_terminal() {
    let input = trace(LOST).replace("deposit", "\u{1b}[31mred\u{202e}").replace("T2", "T\u{7}");
    let run = atomvet_with(&["check", "-"], input.as_bytes());
    // A reader may refuse such names; neither its message nor a report may send them on.
    for text in [&run.out, &run.err] {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    }
    let missing = atomvet(&["check", "no\u{1b}such"]).ends_with(2);
    assert!(!missing.err.contains('\u{1b}'), "{missing:?}");
}

#[test]
fn many_findings_are_cut_and_counted() {
    let mut text = String::new();
    for i in 0..30 {
        text += &trace(&LOST.replace("deposit", &format!("d{i}")));
    }
    let run = atomvet_with(&["check", "-"], text.as_bytes()).ends_with(1).prints("… and 10 more findings");
    // All of them have a line in the summary.
    assert_eq!(run.out.matches("  observed  d").count(), 30);
    assert_eq!(run.out.matches("remedy:").count(), 20);
    let run = atomvet_with(&["check", "--max-findings", "30", "-"], text.as_bytes()).ends_with(1);
    assert_eq!(run.out.matches("remedy:").count(), 30);
}

#[test]
fn instances_fold_unless_asked() {
    let text = trace(LOST).repeat(3);
    atomvet_with(&["check", "-"], text.as_bytes()).ends_with(1).prints("(observed, seen 3 times)");
    let run = atomvet_with(&["check", "--all-instances", "-"], text.as_bytes()).ends_with(1);
    run.says("completed by the events 4 (T1), 11 (T1), 18 (T1)");
}

#[test]
fn a_serial_order_is_shown_and_verified() {
    let run =
        atomvet_with(&["check", "--serial-order", "--verify", "-"], trace(CLEAN).as_bytes()).ends_with(0);
    let run = run.prints("an equivalent serial order of the 2 transactions, verified independently:");
    let (a, b) = (run.out.find("   a (T1, event 0)"), run.out.find("   b (T2, event 3)"));
    assert!(a.is_some() && a < b, "{}", run.out);
    atomvet_with(&["check", "--serial-order", "-"], trace(LOST).as_bytes())
        .ends_with(1)
        .prints("no serial order");
}

#[test]
fn lenient_reading_counts_its_repairs() {
    let broken = format!("T1|rel(m)|9\n{}", trace(LOST));
    atomvet_with(&["check", "-"], broken.as_bytes())
        .ends_with(2)
        .complains("standard input:1:")
        .complains("--lenient");
    let run = atomvet_with(&["check", "--lenient", "-"], broken.as_bytes()).ends_with(1);
    run.says("1 repair, 1 release-not-held");
    for command in ["compare", "refine"] {
        let run = atomvet_with(&[command, "--lenient", "-"], broken.as_bytes());
        assert!(run.out.contains("1 repair"), "{command}: {}", run.out);
    }
}

#[test]
fn options_change_what_events_mean() {
    let adds = trace("T1|begin(a)|1 T1|add(x)|2 T2|add(x)|3 T1|add(x)|4 T1|end|5");
    atomvet_with(&["check", "-"], adds.as_bytes()).ends_with(1);
    atomvet_with(&["check", "--commuting-updates", "-"], adds.as_bytes()).ends_with(0);
    let waits = trace(
        "T1|acq(m)|0 T1|begin(a)|1 T1|w(x)|2 T1|wait(m)|3 T2|acq(m)|4 T2|w(x)|5 T2|rel(m)|6 T1|r(x)|7 T1|end|8",
    );
    atomvet_with(&["check", "-"], waits.as_bytes()).ends_with(1);
    atomvet_with(&["check", "--split-at-waits", "--verify", "-"], waits.as_bytes()).ends_with(0);
}

#[test]
fn updates_commute_until_somebody_reads_the_value() {
    let check = |events: &str, status: i32| {
        let run = atomvet_with(&["check", "--commuting-updates", "--verify", "-"], trace(events).as_bytes());
        run.ends_with(status)
    };
    let counts = "T1|begin(count)|1 T1|add(x)|2 T2|add(x)|3 T1|add(x)|4 T1|end|5";
    check(counts, 0);
    check(&format!("{counts} T3|r(x)|9"), 0);
    check(&format!("T3|w(x)|9 {counts}"), 0);
    check(&format!("T3|r(x)|9 T3|alloc(x)|9 {counts}"), 0);
    for read in ["r", "rmw"] {
        check(&format!("T3|{read}(x)|9 {counts}"), 1).says("count is not atomic");
    }
    // A ticket that is sold twice: each has read before the other's update.
    let sold =
        "T1|begin(sell)|1 T1|r(x)|2 T2|begin(sell)|1 T2|r(x)|2 T2|add(x)|3 T2|end|4 T1|add(x)|3 T1|end|4";
    check(sold, 1).says("sell is not atomic");
}

#[test]
fn the_report_goes_to_a_file() {
    let files = Files::new(&[("lost.std", &trace(LOST))]);
    let run = atomvet(&["check", "-o", &files.at("report.txt"), &files.at("lost.std")]).ends_with(1);
    assert_eq!(run.out, "");
    let report = std::fs::read_to_string(files.path("report.txt")).expect("a report");
    assert!(report.contains("deposit is not atomic"));
    atomvet(&["check", "-o", &files.at("lost.std"), &files.at("lost.std")])
        .ends_with(2)
        .complains("is an input as well");
    assert_eq!(std::fs::read_to_string(files.path("lost.std")).expect("still there"), trace(LOST));
    let spec = files.add("spec.toml", b"atomic = []");
    atomvet(&["check", "--spec", &spec, "-o", &spec, &files.at("lost.std")])
        .ends_with(2)
        .complains("is an input as well");
    atomvet(&["check", "-o", &files.at("nowhere/report.txt"), &files.at("lost.std")])
        .ends_with(2)
        .complains("nowhere/report.txt: cannot be written: entity not found; check the directory");
}

#[test]
fn findings_name_their_trace() {
    let files = Files::new(&[("a.std", &trace(LOST)), ("b.std", &trace(LOST))]);
    let run = atomvet(&["check", &files.at("a.std"), &files.at("b.std")]).ends_with(1);
    // The mistake is told once, with both.
    let both = format!("in {}, {}", files.at("a.std"), files.at("b.std"));
    let mut run = run.says(&both);
    for name in ["a.std", "b.std"] {
        for part in ["verdicts on", "coverage of"] {
            run = run.says(&format!("{part} {}", files.at(name)));
        }
    }
    assert_eq!(run.out.matches("deposit is not atomic (observed, seen 2 times)").count(), 1);
    let alone = atomvet_with(&["check", "-"], trace(LOST).as_bytes()).ends_with(1);
    assert!(!alone.out.contains("; in "), "{}", alone.out);
    assert!(alone.out.contains("verdicts on standard input"), "{}", alone.out);
}
