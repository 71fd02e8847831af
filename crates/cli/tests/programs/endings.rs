//! How a run ends: by signals to the command or to the program, by `kill -9` of either, and where the system has nothing left to
//! give: no room, no address space, no file descriptors. Sources are in `tests/programs/surroundings`.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::surroundings::{atomvet_cc, atomvet_run};
use super::{ATOMVET, blamed, run, violations, workplace};

/// After so long, what should have happened has not: far longer than it takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// A command that watches a program, which says the numbers of its processes.
struct Running {
    command: Child,
    printed: BufReader<ChildStdout>,
}

impl Running {
    /// The command in a process group of its own, as a shell and `timeout` start it.
    fn start(command: &mut Command) -> Running {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut command = command.spawn().expect("the command");
        let printed = BufReader::new(command.stdout.take().expect("a pipe"));
        Running { command, printed }
    }

    /// The next number that is printed.
    fn process(&mut self) -> i32 {
        let mut line = String::new();
        self.printed.read_line(&mut line).expect("a line");
        line.trim().parse().unwrap_or_else(|_| panic!("no process number: {line:?}"))
    }

    fn end(self) -> Output {
        self.command.wait_with_output().expect("it ends")
    }
}

fn signal(process: i32, signal: i32) {
    // SAFETY: plain numbers; the process runs, or has not been waited for, so the number is its own.
    assert_eq!(unsafe { libc::kill(process, signal) }, 0, "{process}");
}

/// Whether a process runs: neither gone nor waiting to be waited for.
fn runs(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !matches!(stat.rsplit(") ").next().and_then(|rest| rest.chars().next()), None | Some('Z' | 'X'))
}

fn await_end(process: i32) {
    let deadline = Instant::now() + DEADLINE;
    while runs(process) {
        assert!(Instant::now() < deadline, "{process} still runs");
        std::thread::yield_now();
    }
}

/// The report on standard error, and the notes around it.
fn report_and_notes(output: &Output) -> (Value, String) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let start = stderr.find("{\n").unwrap_or_else(|| panic!("no report: {stderr}"));
    let end = start + stderr[start..].rfind("\n}\n").expect("an end") + 3;
    let report = serde_json::from_str(&stderr[start..end]).unwrap_or_else(|e| panic!("{e}: {stderr}"));
    (report, [&stderr[..start], &stderr[end..]].concat())
}

/// `timeout` signals its child and then its group; a terminal signals the group. The program ignores it all.
#[test]
fn signals_to_the_command_and_its_group_keep_the_report() {
    let directory = workplace();
    let binary = atomvet_cc(directory.path(), "surroundings/stubborn.c", "stubborn");
    for signal_sent in [libc::SIGTERM, libc::SIGINT] {
        let mut running = Running::start(&mut atomvet_run(&binary));
        let program = running.process();
        let command = running.command.id() as i32;
        signal(command, signal_sent);
        signal(-command, signal_sent);
        signal(command, signal_sent);
        let output = running.end();
        let (report, notes) = report_and_notes(&output);
        assert_eq!(blamed(&report), [("increment".to_owned(), 16)].into(), "{report:#}");
        assert_eq!(output.status.code(), Some(1), "{notes}");
        assert!(notes.contains("killed: it did not end within 0.4 s"), "{notes}");
        assert!(!runs(program), "{program} still runs");
    }
}

#[test]
fn no_process_outlives_the_command_unless_it_is_detached() {
    let directory = workplace();
    let binary = atomvet_cc(directory.path(), "surroundings/stubborn.c", "stubborn");
    for (child, script) in [("attached", false), ("attached", true), ("detached", false)] {
        let mut command = atomvet_run(if script { Path::new("sh") } else { &binary });
        if script {
            // The shell dies of the signal, and what it has started does not.
            command.arg("-c").arg(format!("{} {child}; :", binary.display()));
        } else {
            command.arg(child);
        }
        let mut running = Running::start(&mut command);
        let (child_process, program) = (running.process(), running.process());
        signal(running.command.id() as i32, libc::SIGTERM);
        if child == "detached" {
            await_end(program);
            assert!(runs(child_process), "{child_process} was ended");
            signal(child_process, libc::SIGKILL);
        }
        let output = running.end();
        let (report, notes) = report_and_notes(&output);
        assert_eq!(blamed(&report), [("increment".to_owned(), 16)].into(), "{report:#}");
        assert_eq!(output.status.code(), Some(1), "{notes}");
        assert!(!runs(program), "{program} still runs: {child}, {script}");
        assert!(!runs(child_process), "{child_process} still runs: {child}, {script}");
    }
}

/// A program that ends by itself when it is asked to has all of the grace period for it.
#[test]
fn a_program_that_heeds_a_signal_is_not_killed() {
    let directory = workplace();
    let binary = atomvet_cc(directory.path(), "surroundings/lives_on.c", "lives_on");
    let mut command = Command::new(ATOMVET);
    command.args(["run", "--format", "json", "--grace", "1000", "--"]).arg(&binary);
    let mut running = Running::start(&mut command);
    running.process();
    let command = running.command.id() as i32;
    signal(command, libc::SIGTERM);
    signal(-command, libc::SIGTERM);
    let output = running.end();
    let (report, notes) = report_and_notes(&output);
    assert_eq!(blamed(&report), [("increment".to_owned(), 12)].into(), "{report:#}");
    assert!(notes.contains("ended with signal 15") && !notes.contains("killed"), "{notes}");
}

#[test]
fn the_program_is_killed_with_the_command() {
    let directory = workplace();
    let binary = atomvet_cc(directory.path(), "surroundings/stubborn.c", "stubborn");
    let mut running = Running::start(atomvet_run(&binary).arg("detached"));
    let (detached, program) = (running.process(), running.process());
    running.command.kill().expect("it runs");
    assert_eq!(running.command.wait().expect("it ended").signal(), Some(libc::SIGKILL));
    await_end(program);
    assert!(runs(detached), "{detached} was killed");
    signal(detached, libc::SIGKILL);
}

/// Starts `lives_on`; the running command, and the number of the program's process.
fn start_lives_on(directory: &Path) -> (Running, i32) {
    let binary = atomvet_cc(directory, "surroundings/lives_on.c", "lives_on");
    let mut running = Running::start(&mut atomvet_run(&binary));
    let process = running.process();
    (running, process)
}

/// The directory of the rings of a running program, from its environment.
fn ring_directory(process: i32) -> PathBuf {
    let environment = std::fs::read(format!("/proc/{process}/environ")).expect("it runs");
    let mut variables = environment.split(|&byte| byte == 0).filter_map(|v| std::str::from_utf8(v).ok());
    let directory = variables.find_map(|v| v.strip_prefix("ATOMVET_RING_DIRECTORY=")).expect("it is watched");
    PathBuf::from(directory)
}

#[test]
fn what_a_killed_command_leaves_behind_is_removed_by_the_next() {
    let directory = workplace();
    let (mut killed, process) = start_lives_on(directory.path());
    let left_behind = ring_directory(process);
    killed.command.kill().expect("it runs");
    killed.command.wait().expect("it ended");
    assert!(left_behind.is_dir(), "{left_behind:?}");
    let (mut running, process) = start_lives_on(directory.path());
    assert!(!left_behind.exists(), "{left_behind:?}");
    // One that is in use stays, and serves.
    let in_use = ring_directory(process);
    run(Command::new(ATOMVET).args(["run", "--", "true"]));
    assert!(in_use.is_dir(), "{in_use:?}");
    running.command.stdin.take().expect("a pipe").write_all(b"\n").expect("the program reads");
    let mut rest = String::new();
    running.printed.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "400001\n");
    assert_eq!(running.command.wait().expect("it ends").code(), Some(1));
    assert!(!in_use.exists(), "{in_use:?}");
}

#[test]
fn a_program_that_is_terminated_keeps_its_findings() {
    for signal_sent in [libc::SIGTERM, libc::SIGKILL] {
        let directory = workplace();
        let (running, process) = start_lives_on(directory.path());
        signal(process, signal_sent);
        let output = running.end();
        let (report, notes) = report_and_notes(&output);
        assert_eq!(blamed(&report), [("increment".to_owned(), 12)].into(), "{report:#}");
        assert_eq!(output.status.code(), Some(1), "{notes}");
        assert!(notes.contains(&format!("ended with signal {signal_sent}")), "{notes}");
    }
}

#[test]
fn two_runs_at_once_do_not_disturb_each_other() {
    let directory = workplace();
    let binary = atomvet_cc(directory.path(), "surroundings/lives_on.c", "lives_on");
    let mut runs: Vec<(Running, i32)> = (0..2)
        .map(|_| {
            let mut running = Running::start(&mut atomvet_run(&binary));
            let process = running.process();
            (running, process)
        })
        .collect();
    assert_ne!(ring_directory(runs[0].1), ring_directory(runs[1].1));
    for (running, _) in &mut runs {
        running.command.stdin.take().expect("a pipe").write_all(b"\n").expect("the program reads");
    }
    for (running, process) in runs {
        let output = running.end();
        let (report, notes) = report_and_notes(&output);
        assert_eq!(output.status.code(), Some(1), "{notes}");
        assert_eq!(blamed(&report), [("increment".to_owned(), 12)].into(), "{report:#}");
        assert_eq!(report["traces"][0]["program"]["process"], process, "{report:#}");
    }
}

/// Whatever the user's mask lets others do.
#[test]
fn nobody_else_can_look_into_the_run_directory() {
    let directory = workplace();
    let binary = atomvet_cc(directory.path(), "surroundings/lives_on.c", "lives_on");
    let mut command = Command::new("sh");
    command.args(["-c", "umask 0; exec \"$0\" run -- \"$1\"", ATOMVET]).arg(&binary);
    let mut running = Running::start(&mut command);
    let process = running.process();
    let rings = ring_directory(process);
    let mode =
        |path: &Path| std::fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&rings), 0o700, "{rings:?}");
    signal(process, libc::SIGKILL);
    running.end();
}

/// `script` in a shell, with the command as `$0` and its arguments behind it.
fn limited(script: &str, arguments: &[&str]) -> Output {
    run(Command::new("sh").args(["-c", &format!("{script}; exec \"$0\" \"$@\""), ATOMVET]).args(arguments))
}

/// The program runs, and the command says what was in its way.
fn check_not_recorded(output: &Output, why: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("was not checked: ") && stderr.contains(why), "{stderr}");
    assert!(!stderr.contains("nothing was observed"), "{stderr}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "balance 150, expected 200\n");
}

#[test]
fn what_the_system_denies_is_named() {
    let directory = workplace();
    let binary = atomvet_cc(directory.path(), "c/bank_bad.c", "bank");
    let binary = binary.to_str().expect("UTF-8");
    let shadow =
        "its shadow memory cannot be mapped: there is no address space left; raise the limit (ulimit -v)";
    check_not_recorded(&limited("ulimit -v 200000", &["run", "--", binary]), shadow);
    // A limit of the program's alone.
    let inside = format!("ulimit -v 200000; {binary}");
    check_not_recorded(&limited(":", &["run", "--", "sh", "-c", &inside]), shadow);
    check_not_recorded(&limited("ulimit -f 100", &["run", "--", binary]), "raise the limit (ulimit -f)");
}

#[test]
fn few_file_descriptors_are_enough() {
    let directory = workplace();
    let binary = atomvet_cc(directory.path(), "c/bank_bad.c", "bank");
    let binary = binary.to_str().expect("UTF-8");
    let output = limited("ulimit -n 16", &["run", "--format", "json", "--", binary]);
    let (report, notes) = report_and_notes(&output);
    assert_eq!(output.status.code(), Some(1), "{notes}");
    assert_eq!(blamed(&report), [("deposit".to_owned(), 23)].into(), "{report:#}");
}

/// With file systems of its own, of which one is as good as full.
#[test]
fn a_full_file_system_in_memory_is_not_used() {
    let directory = workplace();
    let binary = atomvet_cc(directory.path(), "c/bank_bad.c", "bank");
    let unshared = |temporary: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
        command.arg(format!(
            "set -e; mount -t tmpfs -o size=64k full /dev/shm; {temporary} exec \"$0\" run --format json -- \"$1\""
        ));
        run(command.arg(ATOMVET).arg(&binary))
    };
    let output = unshared("");
    let (report, notes) = report_and_notes(&output);
    assert_eq!(output.status.code(), Some(1), "{notes}");
    assert_eq!(blamed(&report), [("deposit".to_owned(), 23)].into(), "{report:#}");
    check_not_recorded(&unshared("TMPDIR=/dev/shm"), "there is no room for its findings");
}

#[test]
fn a_recording_that_cannot_be_written_costs_no_findings() {
    let directory = workplace();
    let binary = atomvet_cc(directory.path(), "c/bank_bad.c", "bank");
    let record = |file: &str| {
        let mut command = Command::new(ATOMVET);
        run(command.args(["run", "--format", "json", "--verify", "--record", file, "--"]).arg(&binary))
    };
    let output = record("/dev/full");
    let (report, notes) = report_and_notes(&output);
    assert_eq!(output.status.code(), Some(2), "{notes}");
    assert!(notes.contains("/dev/full: cannot be written: No space left on device"), "{notes}");
    assert_eq!(blamed(&report), [("deposit".to_owned(), 23)].into(), "{report:#}");
    assert_eq!(violations(&report)[0]["verified"], true, "{report:#}");
    // One that can be seen to be impossible is not even tried.
    let output = record("/nowhere/run.atv");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    // A specification that cannot be written costs none either.
    let mut command = Command::new(ATOMVET);
    let output = run(command.args(["run", "--format", "json", "--refine", "/dev/full", "--"]).arg(&binary));
    let (report, notes) = report_and_notes(&output);
    assert_eq!(output.status.code(), Some(2), "{notes}");
    assert!(notes.contains("/dev/full: cannot be written: "), "{notes}");
    assert_eq!(blamed(&report), [("deposit".to_owned(), 23)].into(), "{report:#}");
}

/// Where records are judged, they have to be kept.
#[test]
fn without_room_for_a_copy_records_are_not_judged() {
    let directory = workplace();
    let binary = atomvet_cc(directory.path(), "c/bank_bad.c", "bank");
    let mut command = Command::new(ATOMVET);
    command.args(["run", "--format", "json", "--all-instances", "--"]).arg(&binary);
    let output = run(command.env("TMPDIR", directory.path().join("nowhere")));
    let notes = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{notes}");
    assert!(notes.contains("set TMPDIR to a directory with room"), "{notes}");
}
