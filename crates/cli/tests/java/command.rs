//! The command around the programs: which JVM it finds, what it gives it, and what it says if that is not to be.

use std::path::Path;

use crate::support::{atomvet, classes, java_path, run};

/// Runs the command in an environment of its own and gives its status and what it says.
fn says(arguments: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = atomvet();
    command.args(arguments).env_remove("JAVA_HOME").envs(environment.iter().copied());
    let output = run(&mut command);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_cannot_be_run_is_told_in_one_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path();
    std::fs::create_dir(home.join("bin")).expect("a directory");
    let java = home.join("bin/java");
    let home = home.to_str().expect("a name");
    let told = |environment: &[(&str, &str)], what: &[&str]| {
        let (status, text) = says(&["java", "-version"], environment);
        assert_eq!(status, Some(2), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(what.iter().all(|what| text.contains(what)), "{text}");
    };
    told(&[("PATH", "/nowhere")], &["no java in PATH", "set JAVA_HOME"]);
    told(&[("JAVA_HOME", home)], &["has no bin/java", "unset it"]);
    let executable = |bytes: &[u8]| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(&java, bytes).expect("a file");
        std::fs::set_permissions(&java, std::fs::Permissions::from_mode(0o755)).expect("a file");
    };
    executable(b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x03\0");
    told(&[("JAVA_HOME", home)], &["not a JVM for 64-bit x86", "set JAVA_HOME"]);
    executable(b"#!/bin/sh\n");
    std::fs::write(Path::new(home).join("release"), "JAVA_VERSION=\"1.8.0_292\"\n").expect("a file");
    told(&[("JAVA_HOME", home)], &["Java 8 is too old", "17 or later"]);
    let (status, text) = says(&["java", "--include", "java/util/Vector", "-version"], &[]);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("dots stand between packages"), "{text}");
}

#[test]
fn a_jvm_without_its_agent_is_not_clean() {
    let (status, text) = says(&["java", "-version"], &[("ATOMVET_AGENT", "/nowhere/agent.so")]);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("the agent was not loaded"), "{text}");
}

#[test]
fn run_knows_a_jvm_when_it_sees_one() {
    let mut command = atomvet();
    command.args(["run", "--"]).arg(java_path()).arg("-cp").arg(classes()).arg("BankBad");
    let output = run(&mut command);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("BankBad$Account.deposit"), "{text}");
    assert!(!text.contains("JAVA_TOOL_OPTIONS"), "{text}");
}

/// As a build tool does it: the JVM is somebody's child.
#[test]
fn jvms_that_others_start_are_watched() {
    let mut command = atomvet();
    let script = format!("{} -cp {} BankBad; exit 0", java_path().display(), classes().display());
    command.args(["run", "--", "sh", "-c", &script]).env("JAVA_TOOL_OPTIONS", "-Duser.of=options");
    let output = run(&mut command);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("BankBad$Account.deposit"), "{text}");
    assert!(text.contains("-Duser.of=options -agentpath:"), "{text}");
}

/// Runs a program under a configuration, and gives the status and what is said.
fn says_under(configuration: &str, options: &[&str], program: &str) -> (Option<i32>, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("atomvet.toml");
    std::fs::write(&file, configuration).expect("a file");
    let mut command = atomvet();
    command.args(["java", "--config"]).arg(&file).args(options);
    command.arg("-cp").arg(classes()).arg(program);
    let output = run(&mut command);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_specification_names_any_method() {
    for (block, program) in [
        ("PrivateMethodBad.deposit", "PrivateMethodBad"),
        ("CalledTasksBad.lambda$addLooking$0", "CalledTasksBad"),
        // The entry of a thread, which is no block otherwise.
        ("CalledTasksBad$Worker.run", "CalledTasksBad"),
        ("CalledTasksBad.lambda$main$1", "CalledTasksBad"),
    ] {
        let (status, text) = says_under(&format!("atomic = [\"{block}\"]"), &[], program);
        assert_eq!(status, Some(1), "{text}");
        assert!(text.contains(&format!("1. {block} is not atomic")), "{text}");
        assert!(text.contains("summary: 1 finding\n"), "{text}");
        assert!(!text.contains("never entered"), "{text}");
    }
    let specification =
        "atomic = [\"PrivateMethodBad.deposit\", \"Settings.<init>\", \"InitialisesAnotherBad$Plugin.load\"]";
    let (_, text) = says_under(specification, &[], "InitialisesAnotherBad");
    // What makes no access at all is not announced; it is not among what was never entered.
    let never = text.lines().find(|line| line.contains("never entered")).unwrap_or_default();
    assert!(never.ends_with(": PrivateMethodBad.deposit, Settings.<init>"), "{text}");
}

#[test]
fn the_papers_rule_can_be_configured() {
    let papers = "[options]\nblocks = \"papers\"\n";
    let (status, text) = says_under(papers, &[], "PrivateMethodBad");
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("nothing found"), "{text}");
    let (status, text) = says_under(papers, &["--blocks", "all"], "PrivateMethodBad");
    assert_eq!(status, Some(1), "{text}");
    let (status, text) = says_under("[options]\nblocks = \"some\"\n", &[], "PrivateMethodBad");
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("`blocks` expects \"all\" or \"papers\""), "{text}");
}

#[test]
fn a_predictive_algorithm_has_everything_recorded() {
    let directory = tempfile::tempdir().expect("a directory");
    let [report, trace] = ["report.json", "trace.atv"].map(|name| directory.path().join(name));
    let watch = |options: &[&str]| {
        let mut command = atomvet();
        command.args(["java", "--format", "json", "-o"]).arg(&report).args(options);
        run(command.arg("--record").arg(&trace).arg("-cp").arg(classes()).arg("BankFixed"));
        let text = std::fs::read_to_string(&report).expect("a report");
        let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        report["traces"][0]["conventions"]["accesses"].clone()
    };
    let predict = || run(atomvet().args(["check", "--predict"]).arg(&trace)).status.code();
    assert_eq!(watch(&[]), "filtered");
    assert_eq!(predict(), Some(3));
    assert_eq!(watch(&["--algo", "commit-node"]), "all");
    assert_ne!(predict(), Some(3));
}
