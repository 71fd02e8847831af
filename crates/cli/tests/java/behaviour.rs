//! The programs of `tests/programs/java/behaviour`: whatever they do to their JVM, they do it as without us, and what was
//! found so far is reported.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::innermost;
use crate::support::{atomvet, classes, java, jdk, run, version};

/// What came of a run under the command.
pub(crate) struct Outcome {
    /// Its own.
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The innermost blocks that are blamed, and the whole report.
    pub(crate) blamed: BTreeSet<String>,
    pub(crate) report: Value,
}

/// Runs a program with options for the JVM before it.
fn watched(jvm: &[&str], program: &[&str]) -> Outcome {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("report.json");
    let mut command = atomvet();
    command.args(["java", "--format", "json", "--verify", "-o"]).arg(&path);
    command.args(jvm).arg("-cp").arg(classes()).args(program);
    let output = run(&mut command);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{command:?}: {e}: {stderr}"));
    let report = serde_json::from_str(&report).unwrap_or_else(|e| panic!("{command:?}: {e}: {report}"));
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    Outcome { status: output.status.code(), stdout, stderr, blamed: innermost(&report), report }
}

/// A program that ends by itself with this status, and prints what it prints without us.
fn check(jvm: &[&str], program: &[&str], status: i32, blamed: &[&str]) -> Outcome {
    let plain = run(java().args(jvm).arg("-cp").arg(classes()).args(program));
    assert_eq!(plain.status.code(), Some(status), "{program:?}: {}", String::from_utf8_lossy(&plain.stderr));
    let outcome = watched(jvm, program);
    let context =
        format!("{jvm:?} {program:?}: {:?}\n{}\n{:#}", outcome.status, outcome.stderr, outcome.report);
    assert_eq!(outcome.stdout, String::from_utf8_lossy(&plain.stdout), "{context}");
    assert_eq!(outcome.blamed, blamed.iter().map(|block| (*block).to_owned()).collect(), "{context}");
    let expected = match (blamed, status) {
        ([], 0) => 0,
        ([], _) => 2,
        _ => 1,
    };
    assert_eq!(outcome.status, Some(expected), "{context}");
    let told = format!("ended with exit status {status}");
    assert_eq!(outcome.stderr.contains(&told), status != 0, "{context}");
    outcome
}

/// What a JVM that judges itself finds.
fn check_live(program: &str, blamed: &[&str]) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("report.json");
    let mut command = atomvet();
    command.env("ATOMVET_JAVA_LIVE", "1").args(["java", "--format", "json", "-o"]).arg(&path);
    let output = run(command.arg("-cp").arg(classes()).arg(program));
    let report = std::fs::read_to_string(&path).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let blamed = blamed.iter().map(|block| (*block).to_owned()).collect();
    assert_eq!(innermost(&report), blamed, "{program}: {output:?}\n{report:#}");
}

/// Nothing but two accesses orders the threads, in every execution.
#[test]
fn a_race_in_every_run_is_found_live() {
    check_live("RaceInEveryRun", &["RaceInEveryRun.search"]);
}

/// Who is the first to use an object need not have made it.
#[test]
fn objects_that_the_jdk_keeps_are_followed_live() {
    let blamed = ["byList", "byReference", "byMap", "byOptional", "byField"];
    let blamed = blamed.map(|method| format!("ThroughCollections.{method}"));
    check_live("ThroughCollections", &blamed.each_ref().map(String::as_str));
}

#[test]
fn programs_end_as_without_us() {
    for (way, status) in
        [("exit", 4), ("halt", 5), ("exit-in-block", 6), ("daemon", 0), ("exception", 1), ("overflow", 0)]
    {
        check(&[], &["Ends", way], status, &["Ends.deposit"]);
    }
}

/// The JVM tells nobody that it crashes; the records are in memory that outlives it.
#[test]
fn a_crash_does_not_lose_what_was_found() {
    let quiet = ["-XX:-CreateCoredumpOnCrash", "-XX:ErrorFile=/dev/null"];
    for way in [&["Ends", "crash"][..], &["Ends", "kill", "SEGV"]] {
        let outcome = watched(&quiet, way);
        let context = format!("{way:?}: {:?}\n{}", outcome.status, outcome.stderr);
        assert_eq!(outcome.status, Some(1), "{context}");
        assert!(outcome.stdout.contains("fatal error"), "{context}\n{}", outcome.stdout);
        assert_eq!(outcome.blamed, BTreeSet::from(["Ends.deposit".to_owned()]), "{context}");
        assert!(outcome.stderr.contains("ended with "), "{context}");
    }
    let outcome = watched(&[], &["Ends", "kill", "KILL"]);
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    assert_eq!(outcome.blamed, BTreeSet::from(["Ends.deposit".to_owned()]));
    assert!(outcome.stderr.contains("ended with signal 9"), "{}", outcome.stderr);
}

/// Whether the JVM takes an option.
fn has(option: &str) -> bool {
    run(java().args(["-XX:+UnlockExperimentalVMOptions", option, "-version"])).status.success()
}

#[test]
fn objects_stay_the_same_when_a_collector_moves_them() {
    let mut tried = 0;
    for collector in
        ["UseSerialGC", "UseParallelGC", "UseG1GC", "UseZGC", "UseShenandoahGC", "UseCompactObjectHeaders"]
    {
        let option = format!("-XX:+{collector}");
        if !has(&option) {
            continue;
        }
        tried += 1;
        let options = ["-XX:+UnlockExperimentalVMOptions", "-Xmx96m", &option];
        check(&options, &["Moving"], 0, &["Moving$Account.deposit", "Moving.add"]);
        check(&options, &["Moving", "exchanges"], 0, &[]);
    }
    assert!(tried >= 3, "only {tried} collectors");
}

/// Plain accesses to objects that one thread alone uses, or that are only read, are not even looked at after a while. What is found when
/// that changes is the same as if they were.
#[test]
fn what_settles_can_be_disturbed() {
    for kind in ["field", "static", "volatile", "atomic", "element", "content"] {
        for (way, blamed) in [
            ("alone", &["Settles.addInTwo"][..]),
            ("read", &["Settles.lookTwice"]),
            ("race", &["Settles$Race.addInTwo"]),
            ("handed", &["Settles.increase"]),
            ("clean", &[]),
            ("once", &[]),
        ] {
            let outcome = check(&[], &["Settles", kind, way], 0, blamed);
            let seen = outcome.report["traces"][0]["program"]["accesses"].as_u64().expect("a number");
            // Those to what needs no lock do not settle, nor do static fields that are written.
            let others = match kind {
                "volatile" | "atomic" => 200_000,
                "static" if way != "read" && way != "once" => 200_000,
                _ => 0,
            };
            assert!(seen < others + 50_000, "{kind} {way}: {seen} of {}", 400_000 + others);
        }
    }
}

/// What is published when there were enough accesses has settled from the start. Its volatile fields are followed, and those that threads
/// contend for in others; an atomic that a thread has to itself is followed, too, and not taken for written where it was not.
#[test]
fn what_has_settled_from_the_start_is_followed() {
    check(&[], &["Settles", "field", "inside"], 0, &["Settles.increase"]);
    check(&[], &["Settles", "field", "met"], 0, &["Settles.increase"]);
    check(&[], &["Settles", "field", "row"], 0, &["Settles.increase"]);
    check(&[], &["Settles", "field", "handle"], 0, &["Settles.increaseElement"]);
    check(&[], &["Settles", "field", "contended"], 0, &["Settles$Race.addInTwo"]);
    check(&[], &["Settles", "field", "tried"], 0, &[]);
}

/// Where an object was that is gone, there are others after it, so that there are never more variables than there are objects at a time; and what
/// was done to it is not done to them.
#[test]
fn what_comes_after_an_object_is_another_one() {
    for (way, blamed) in [("clean", &[][..]), ("bad", &["Recycles.fill"])] {
        for kind in ["element", "lock"] {
            check(&[], &["Recycles", kind, way], 0, blamed);
        }
        // There are twice 20,000, of which 7,000 are left when it is found out that atomics are gone.
        for (kind, most) in [("field", 22_000), ("atomic", 36_000)] {
            let outcome = check(&[], &["Recycles", kind, way], 0, blamed);
            let variables = outcome.report["traces"][0]["variables"].as_u64().expect("a number");
            assert!(variables < most, "{kind} {way}: {variables}");
        }
    }
}

/// A copy that the JDK makes of an object is not where the object was, and nobody else is where the copy is.
#[test]
fn a_copy_is_another_object() {
    check(&[], &["Copies"], 0, &[]);
}

#[test]
fn elements_beyond_a_cutoff_are_not_watched() {
    let blamed = |most: &str| watched(&["--elements", most], &["Settles", "element", "race"]).blamed;
    assert_eq!(blamed("3"), BTreeSet::from(["Settles$Race.addInTwo".to_owned()]));
    assert_eq!(blamed("2"), BTreeSet::new());
}

#[test]
fn classes_of_two_loaders_are_two_classes() {
    check(&[], &["Loaders", "one"], 0, &["Loaders$Counter.add"]);
    check(&[], &["Loaders", "two"], 0, &[]);
}

#[test]
fn another_agent_may_be_there() {
    let directory = tempfile::tempdir().expect("a directory");
    let manifest = directory.path().join("manifest");
    std::fs::write(&manifest, "Premain-Class: OtherAgent\nCan-Retransform-Classes: true\n").expect("a file");
    let jar = directory.path().join("agent.jar");
    let mut command = std::process::Command::new(jdk("jar"));
    command.arg("cfm").arg(&jar).arg(&manifest).arg("-C").arg(classes()).arg("OtherAgent.class");
    command.arg("-C").arg(classes()).arg("OtherAgent$1.class");
    assert!(run(&mut command).status.success(), "{command:?}");
    let option = format!("-javaagent:{}", jar.display());
    let outcome = check(&[&option], &["Ends", "return"], 0, &["Ends.deposit"]);
    assert!(outcome.stdout.contains("transformed 2 times"), "{}", outcome.stdout);
}

/// What virtual threads do is not recorded. That is said beside what was found; without findings the run is not clean.
#[test]
fn virtual_threads_are_never_green() {
    let has_virtual = version() >= 21;
    for (way, found) in [("beside", true), ("interfering", !has_virtual)] {
        let outcome = watched(&[], &["VirtualThreads", way]);
        let context = format!("{way}: {:?}\n{}\n{:#}", outcome.status, outcome.stderr, outcome.report);
        assert_eq!(outcome.status, Some(if found { 1 } else { 3 }), "{context}");
        assert_eq!(outcome.blamed.contains("VirtualThreads.deposit"), found, "{context}");
        assert_eq!(outcome.stderr.contains("NOT WATCHED: virtual threads"), has_virtual, "{context}");
        let unwatched = &outcome.report["traces"][0]["program"]["unwatched"];
        assert_eq!(unwatched.as_array().is_some_and(|what| !what.is_empty()), has_virtual, "{context}");
    }
}

/// The field that the agent adds to objects is not there for reflection.
#[test]
fn reflection_sees_the_programs_own_fields_only() {
    check(&[], &["Reflects"], 0, &[]);
}

/// Methods that threads start with are named where nothing else was checked; so named in a specification, they are checked.
#[test]
fn entries_that_were_left_out_are_named() {
    let outcome = watched(&[], &["OnlyEntries"]);
    let context = format!("{:?}\n{}\n{:#}", outcome.status, outcome.stderr, outcome.report);
    assert_eq!(outcome.status, Some(3), "{context}");
    assert!(
        outcome.stderr.contains("left out: OnlyEntries$Depositor.run, OnlyEntries.lambda$main$0;"),
        "{context}"
    );
    let line = "atomic = [\"OnlyEntries$Depositor.run\", \"OnlyEntries.lambda$main$0\"]";
    assert!(outcome.stderr.contains(line), "{context}");
    let directory = tempfile::tempdir().expect("a directory");
    let specification = directory.path().join("atomvet.toml");
    std::fs::write(&specification, line).expect("a file");
    let specification = specification.to_str().expect("a name");
    let outcome = watched(&["--spec", specification], &["OnlyEntries"]);
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    assert_eq!(outcome.blamed, BTreeSet::from(["OnlyEntries$Depositor.run".to_owned()]));
}

#[test]
fn jvms_that_a_jvm_starts_are_watched() {
    let outcome = watched(&[], &["Starts", "Ends", "exit"]);
    let context = format!("{:?}\n{}\n{:#}", outcome.status, outcome.stderr, outcome.report);
    assert_eq!(outcome.status, Some(1), "{context}");
    assert_eq!(outcome.blamed, BTreeSet::from(["Ends.deposit".to_owned()]), "{context}");
    // The first JVM says nothing; the other one says that it takes options from the environment.
    assert_eq!(outcome.stderr.matches("Picked up JAVA_TOOL_OPTIONS").count(), 1, "{context}");
}

/// The result of a task is published before others can have it: none of 2,000 calls is taken for one that did not wait for its task.
#[test]
fn no_result_of_a_fork_join_task_is_missed() {
    let outcome = watched(&["--strict-waits"], &["ForkJoinResults"]);
    let entered = outcome.report["traces"][0]["entered"].as_array().expect("blocks");
    let ask = entered.iter().find(|block| block["block"] == "ForkJoinResults.ask").expect("a block");
    assert_eq!((&ask["executions"], &ask["violated"]), (&2000.into(), &2000.into()), "{:#}", outcome.report);
}

/// Conversions of a stamped lock are seen: none is given back that was not taken in that mode.
#[test]
fn locks_change_their_mode() {
    let outcome = check(&[], &["Converts"], 0, &[]);
    let trace = &outcome.report["traces"][0];
    assert_eq!(trace["program"]["repairs"], 0, "{trace:#}");
}

/// Threads that share nothing that is written are counted, and the entry that they did everything in is named.
#[test]
fn threads_that_share_nothing_are_counted() {
    let outcome = check(&[], &["Partitioned"], 0, &[]);
    let trace = &outcome.report["traces"][0];
    assert_eq!(trace["threads"], 4, "{trace:#}");
    assert!(!outcome.stderr.contains("one thread only"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("atomic = [\"Partitioned$Part.run\"]"), "{}", outcome.stderr);
}

/// What a function of the program's changes in a map or an atomic is on record before anybody else is said to have seen it.
#[test]
fn changes_by_functions_are_in_order() {
    check(&[], &["Computes"], 0, &["Computes.rounds"]);
}

/// What is done to a queue as a whole is not seen, but that it is done is said.
#[test]
fn calls_that_are_not_seen_are_named() {
    let outcome = check(&[], &["LooksAtQueues"], 0, &[]);
    for method in ["size", "spliterator"] {
        let call =
            format!("java.util.concurrent.LinkedBlockingQueue.{method}: what its calls do is not seen");
        assert!(outcome.stderr.contains(&call), "{}", outcome.stderr);
        let unwatched = &outcome.report["traces"][0]["program"]["unwatched"];
        assert!(unwatched.to_string().contains(&call), "{:#}", outcome.report);
    }
}
