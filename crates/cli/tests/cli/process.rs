//! Inputs and the process around the command: bad files, compression, pipes, Ctrl-C.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Files, LOST, atomvet, atomvet_with, command, trace};
use serde_json::json;

#[test]
fn bad_inputs_are_refused_with_their_place() {
    let files = Files::new(&[("good.std", &trace(LOST))]);
    let binary = files.at("good.atv");
    atomvet(&["convert", &files.at("good.std"), "-o", &binary]).ends_with(0);
    let bytes = std::fs::read(&binary).expect("bytes");
    files.add("cut.atv", &bytes[..bytes.len() - 3]);
    let mut flipped = bytes.clone();
    let middle = bytes.len() / 2;
    flipped[middle] ^= 0x10;
    files.add("flipped.atv", &flipped);
    files.add("latin1.std", b"T1|begin(a)|1\nT1|w(\xe4)|2\n");
    files.add("field.std", b"T1|begin(a)|1\nT1\n");
    files.add("held.std", trace("T1|acq(m)|1 T2|acq(m)|2").as_bytes());
    for (name, part) in [
        ("missing.std", "missing.std: cannot be opened"),
        (".", "is a directory"),
        ("cut.atv", "cut.atv: "),
        ("flipped.atv", "flipped.atv: "),
        ("latin1.std", "latin1.std:2:"),
        ("field.std", "field.std:2:"),
        ("held.std", "held.std:2:"),
    ] {
        for command in ["check", "compare", "refine", "stats"] {
            if (command, name) == ("check", ".") {
                // A folder of traces: see many.rs.
                continue;
            }
            let run = atomvet(&[command, &files.at(name)]).ends_with(2).complains(part);
            assert!(
                run.err.starts_with("atomvet: error: ") && run.err.contains("; "),
                "{command}: {}",
                run.err
            );
            assert!(!run.err.contains("panicked") && !run.out.contains("serializable"), "{run:?}");
        }
    }
}

#[test]
fn standard_input_is_read_once() {
    atomvet_with(&["check", "-", "-"], trace(LOST).as_bytes())
        .ends_with(2)
        .prints("deposit is not atomic")
        .complains("give - once only");
}

#[test]
fn a_named_pipe_is_read_like_standard_input() {
    let files = Files::new(&[("lost.std", &trace(LOST))]);
    let pipe = files.at("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let child = command(&["check", "--verify", &pipe]).spawn().expect("starts");
    std::fs::write(&pipe, trace(LOST)).expect("writes");
    let (status, out, err) = end(child);
    assert_eq!(status, Some(1), "{err}");
    assert!(out.contains("lost update") && out.contains("verified"), "{out}");
}

#[test]
fn a_newer_version_is_named() {
    let files = Files::new(&[("good.std", &trace(LOST))]);
    let binary = files.at("good.atv");
    atomvet(&["convert", &files.at("good.std"), "-o", &binary]).ends_with(0);
    let mut bytes = std::fs::read(&binary).expect("bytes");
    let version = VERSION_OFFSET;
    bytes[version] = 3;
    let newer = files.add("newer.atv", &bytes);
    let run = atomvet(&["check", "--format", "json", &newer]).ends_with(2).complains("version");
    assert_eq!(run.json()["traces"][0]["error"]["kind"], json!("version"));
}

/// Where the version stands in a binary trace, after the magic bytes.
const VERSION_OFFSET: usize = 8;

#[test]
fn a_cut_off_file_is_partial_when_lenient() {
    let files = Files::new(&[]);
    let whole = files.at("whole.atv");
    atomvet(&["gen", "--mode", "two-phase", "--events", "300000", "--inject-at", "100", "-o", &whole])
        .ends_with(0);
    let bytes = std::fs::read(&whole).expect("bytes");
    let cut = files.add("cut.atv", &bytes[..bytes.len() * 9 / 10]);
    let run = atomvet(&["check", "--format", "json", &cut]).ends_with(2);
    assert_eq!(run.json()["traces"][0]["error"]["kind"], json!("truncated"));
    let run = atomvet(&["check", "--format", "json", "--lenient", &cut]).ends_with(1).complains("partial");
    let entry = &run.json()["traces"][0];
    assert_eq!(entry["partial"], json!(true));
    assert!(entry["events"].as_u64() > Some(100_000) && entry["events"].as_u64() < Some(300_000), "{entry}");
    atomvet(&["convert", &cut, "-o", &files.at("salvaged.std")]).ends_with(2);
    assert!(!files.path("salvaged.std").exists());
    atomvet(&["convert", "--lenient", &cut, "-o", &files.at("salvaged.std")])
        .ends_with(0)
        .complains("not the whole");
    assert!(files.path("salvaged.std").exists());
}

#[test]
fn compressed_traces_are_recognised_by_content() {
    let files = Files::new(&[]);
    let text = trace(LOST);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text.as_bytes()).expect("compresses");
    let gzip = gzip.finish().expect("compresses");
    let zstd = zstd::encode_all(text.as_bytes(), 3).expect("compresses");
    for bytes in [&gzip, &zstd] {
        atomvet(&["check", &files.add("named-anyhow", bytes)]).ends_with(1).prints("deposit is not atomic");
        atomvet_with(&["check", "-"], bytes).ends_with(1).prints("deposit is not atomic");
    }
    atomvet(&["check", &files.add("cut.gz", &gzip[..gzip.len() - 9])]).ends_with(2);
    atomvet_with(&["check", "-"], &gzip[..5]).ends_with(2).complains("standard input: byte 5: ");
    let members = [&gzip[..], &gzip[..]].concat();
    atomvet_with(&["check", "-"], &members).ends_with(1).prints("coverage: 14 events");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    for arguments in
        [&["gen", "--mode", "two-phase", "--events", "3000000"][..], &["list"], &["explain", "shapes"]]
    {
        let mut child = command(arguments).spawn().expect("starts");
        let mut line = String::new();
        let mut out = BufReader::with_capacity(16, child.stdout.take().expect("a pipe"));
        out.read_line(&mut line).expect("reads");
        drop(out);
        let run = child.wait_with_output().expect("ends");
        let err = String::from_utf8(run.stderr).expect("UTF-8");
        assert_eq!((run.status.code(), err.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn ctrl_c_reports_what_was_found_so_far() {
    for format in ["text", "json"] {
        let mut child =
            command(&["check", "--format", format, "-"]).stdin(Stdio::piped()).spawn().expect("starts");
        let mut input = child.stdin.take().expect("a pipe");
        // Much more than all buffers hold: when it is written, the violation has been read.
        input.write_all(trace(LOST).as_bytes()).expect("writes");
        let filler = trace("T1|begin(a)|1 T1|r(x)|2 T1|end|3").repeat(1000);
        for _ in 0..800 {
            input.write_all(filler.as_bytes()).expect("writes");
        }
        signal(&child);
        // The pipe stays open and silent.
        let (status, out, err) = end(child);
        drop(input);
        assert_eq!(status, Some(1), "{err}");
        assert!(err.contains("partial: interrupted"), "{err}");
        if format == "json" {
            let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
            let entry = &report["traces"][0];
            assert_eq!((&entry["partial"], &entry["partial_reason"]), (&json!(true), &json!("interrupted")));
            assert_eq!(entry["checkers"][0]["violations"][0]["shape"], json!("lost update"));
        } else {
            assert!(out.contains("PARTIAL, interrupted") && out.contains("deposit is not atomic"), "{out}");
        }
    }
}

#[test]
fn an_interrupted_check_without_findings_is_not_clean() {
    let mut child = command(&["check", "-"]).stdin(Stdio::piped()).spawn().expect("starts");
    let mut input = child.stdin.take().expect("a pipe");
    let filler = trace("T1|begin(a)|1 T1|r(x)|2 T1|end|3 T2|r(x)|4").repeat(1000);
    for _ in 0..200 {
        input.write_all(filler.as_bytes()).expect("writes");
    }
    signal(&child);
    let (status, out, err) = end(child);
    drop(input);
    assert_eq!(status, Some(2), "{err}");
    assert!(out.contains("PARTIAL, interrupted"), "{out}");
}

/// What a command says after a signal, when it has read [`LOST`] and more than `events` further events.
fn interrupted_after(arguments: &[&str], events: usize) -> (Option<i32>, String, String) {
    let mut child = command(arguments).stdin(Stdio::piped()).spawn().expect("starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(trace(LOST).as_bytes()).expect("writes");
    let filler = trace("T1|begin(a)|1 T1|r(x)|2 T1|end|3 T2|r(x)|4").repeat(1000);
    // Much more than all buffers hold.
    for _ in 0..events / 4000 + 800 {
        input.write_all(filler.as_bytes()).expect("writes");
    }
    signal(&child);
    let ended = end(child);
    drop(input);
    ended
}

#[test]
fn an_interrupted_baseline_is_not_good() {
    let (status, out, err) = interrupted_after(&["baseline", "-"], 0);
    assert_eq!(status, Some(2), "{err}");
    assert!(out.contains("deposit is not atomic") && err.contains("partial: interrupted"), "{out}{err}");
}

/// To judge so many would take seconds.
#[test]
fn an_interrupted_prediction_does_not_judge_millions_of_events() {
    let (status, out, err) = interrupted_after(&["check", "--predict", "--serial-order", "-"], 1_200_000);
    assert_eq!(status, Some(1), "{err}");
    assert!(
        out.contains("deposit is not atomic") && err.contains("not everything was judged by commit-node"),
        "{err}"
    );
}

#[test]
fn ctrl_c_does_not_wait_for_what_was_read_ahead() {
    // With so many threads an event costs the textbook algorithm milliseconds, and all are in one block. Sites are
    // such that it does not get too small for the test.
    let mut text = trace("T0|begin(main)|1");
    for i in 1..8000_u32 {
        let site = i.wrapping_mul(2_654_435_761);
        text += &trace(&format!(
            "T0|fork(T{i})|{site} T{i}|begin(w)|a:{site} T{i}|w(x)|b:{site} T{i}|end|c:{site} T0|join(T{i})|d:{site}"
        ));
    }
    let events = text.lines().count() as u64;
    let files = Files::new(&[("slow.std", &text), ("other.std", &trace(LOST))]);
    let (slow, other) = (files.at("slow.atv"), files.at("other.std"));
    atomvet(&["convert", &files.at("slow.std"), "-o", &slow]).ends_with(0);
    let mut child = command(&["check", "-j1", "--algo", "aerodrome-basic", "--format", "json", "-", &other])
        .stdin(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut input = child.stdin.take().expect("a pipe");
    // More than a pipe holds: when it is written, the command reads.
    let bytes = std::fs::read(slow).expect("bytes");
    assert!(bytes.len() > 1 << 17);
    input.write_all(&bytes).expect("writes");
    signal(&child);
    let (_, out, err) = end(child);
    drop(input);
    let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let [slow, other] = &report["traces"].as_array().expect("an array")[..] else { panic!("{report}") };
    assert_eq!(slow["partial"], json!(true), "{err}");
    assert!(slow["events"].as_u64() < Some(events), "{slow}");
    assert_eq!(other["error"]["kind"], json!("interrupted"));
}

#[test]
fn findings_that_there_is_no_time_to_explain_are_reported() {
    let files = Files::new(&[("lost.std", &trace(LOST))]);
    let check = |more: &[&str]| {
        let lost = files.at("lost.std");
        atomvet(&[&["check", "--explain-seconds", "0", &lost], more].concat()).ends_with(1)
    };
    let why =
        "1 of 1 finding not explained: the time for explaining was spent (0 s; --explain-seconds sets it)";
    check(&[]).prints("deposit is not atomic").says(why).complains(why);
    check(&["--verify"]).prints("deposit is not atomic").says(why).complains(why);
    let report = check(&["--format", "json"]).json();
    let entry = &report["traces"][0];
    assert_eq!((&entry["partial"], &entry["partial_reason"]), (&json!(true), &json!(why)));
    assert_eq!(entry["checkers"][0]["violations"][0]["witness"], json!([]));
    let predict = check(&["--predict"]);
    assert!(predict.err.contains("not every schedule was looked for"), "{}", predict.err);
}

#[test]
fn a_file_without_an_end_is_refused() {
    let files = Files::new(&[("lost.std", &trace(LOST))]);
    let lost = files.at("lost.std");
    for (arguments, problem) in [
        (&["report", "--format", "text", "/dev/zero"][..], "/dev/zero: is not a report"),
        (&["check", "--spec", "/dev/zero", &lost], "/dev/zero: cannot be read: it is larger than 16.0 MiB"),
        (&["check", "--config", "/dev/zero", &lost], "/dev/zero: cannot be read: it is larger than 16.0 MiB"),
        (
            &["check", "--baseline", "/dev/zero", &lost],
            "/dev/zero: cannot be read: it is larger than 64.0 MiB",
        ),
        (&["check", "/dev/zero"], "a line of more than 1048576 bytes"),
    ] {
        let (status, out, err) = end(command(arguments).spawn().expect("starts"));
        assert_eq!((status, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.contains(problem), "{arguments:?}: {err}");
    }
    // The start of a report that never ends.
    let mut child =
        command(&["report", "--format", "text", "-"]).stdin(Stdio::piped()).spawn().expect("starts");
    let mut input = child.stdin.take().expect("a pipe");
    let spaces = vec![b' '; 1 << 20];
    // The command closes the pipe when it has read enough.
    input.write_all(b"{").expect("writes");
    while input.write_all(&spaces).is_ok() {}
    let (status, _, err) = end(child);
    assert_eq!(status, Some(2), "{err}");
    assert!(err.contains("standard input: cannot be read: it is larger than 512.0 MiB"), "{err}");
}

#[test]
fn findings_whose_file_cannot_be_written_are_shown() {
    let files = Files::new(&[("lost.std", &trace(LOST))]);
    let lost = files.at("lost.std");
    for format in ["json", "html", "text"] {
        atomvet(&["check", "--format", format, "-o", "/dev/full", &lost])
            .ends_with(2)
            .prints("1. deposit is not atomic")
            .complains("/dev/full: cannot be written: ");
    }
    let limited = |limit: &str, arguments: &[&str]| {
        let script = format!("ulimit -f {limit}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_atomvet")]).args(arguments);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        end(child.expect("starts"))
    };
    let report = files.at("report");
    let formats =
        ["check", "--format", "text", "--format", "json", "--format", "sarif", "-o", &report, &lost];
    let (status, out, err) = limited("1", &formats);
    assert_eq!(status, Some(2), "{err}");
    assert_eq!(out.matches("1. deposit is not atomic").count(), 1, "{out}");
    for ending in ["json", "sarif"] {
        assert!(err.contains(&format!("report.{ending}: cannot be written: ")), "{err}");
    }
    let left: Vec<_> = std::fs::read_dir(files.path("")).expect("a directory").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    // Where standard output is full, standard error may not be.
    let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    let run = command(&["check", &lost]).stdout(full).output().expect("runs");
    let err = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{err}");
    assert!(err.contains("1. deposit is not atomic"), "{err}");
    assert!(err.contains("standard output: cannot be written: "), "{err}");
}

/// 5,000 blocks that are open from the start and violated in the end: each costs a step per event, and explaining them minutes.
#[test]
fn a_signal_ends_explaining_and_keeps_the_findings() {
    let mut text = String::new();
    for block in 0..5000 {
        text += &format!("T{}|begin(b{block})|n.c:{block}\n", block % 8);
    }
    let guarded = |thread: &str, variable: &str| {
        trace(&format!("{thread}|acq(m)|1 {thread}|w({variable})|2 {thread}|rel(m)|3"))
    };
    for thread in 0..8 {
        text += &guarded(&format!("T{thread}"), "x");
    }
    text += &(guarded("T8", "y") + &guarded("T9", "y")).repeat(300_000);
    for thread in 0..8 {
        text += &guarded(&format!("T{thread}"), "x");
    }
    let files = Files::new(&[("open.std", &text)]);
    let arguments = ["check", "--explain-seconds", "1000", "--format", "json", &files.at("open.std")];
    let mut child = command(&arguments).spawn().expect("starts");
    let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    err.read_line(&mut line).expect("reads");
    assert!(line.contains("open.std: explaining 5,000 findings"), "{line}");
    signal(&child);
    let run = child.wait_with_output().expect("ends");
    err.read_to_string(&mut line).expect("reads");
    assert_eq!(run.status.code(), Some(1), "{line}");
    assert!(line.contains("5,000 of 5,000 findings not explained: interrupted"), "{line}");
    let report: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let found = report["traces"][0]["checkers"][0]["violations"].as_array().expect("an array").len();
    assert_eq!(found, 5000);
}

/// A named pipe that nobody writes to, wherever a file is expected.
#[test]
fn a_signal_ends_a_command_that_waits_for_a_file() {
    let files = Files::new(&[("lost.std", &trace(LOST))]);
    let (pipe, lost) = (files.at("pipe"), files.at("lost.std"));
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    for (arguments, status) in [
        (&["check", &pipe][..], 2),
        (&["report", "--format", "text", &pipe], 130),
        (&["check", "--spec", &pipe, &lost], 130),
        (&["check", "--baseline", &pipe, &lost], 130),
        (&["convert", &pipe, "-o", &files.at("converted.std")], 130),
    ] {
        let child = command(arguments).spawn().expect("starts");
        await_waiting(&child);
        signal(&child);
        let (ended, out, err) = end(child);
        assert_eq!(ended, Some(status), "{arguments:?}: {out}{err}");
    }
}

/// Waits until a thread of the command sleeps in `openat`: only a pipe makes it do so, and by then the command listens for signals.
fn await_waiting(child: &Child) {
    let deadline = Instant::now() + Duration::from_secs(30);
    let sleeps_in_open = |task: std::fs::DirEntry| {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        // 257 is openat.
        read("syscall").starts_with("257 ") && read("stat").contains(") S ")
    };
    let tasks = || std::fs::read_dir(format!("/proc/{}/task", child.id())).into_iter().flatten().flatten();
    while !tasks().any(sleeps_in_open) {
        assert!(Instant::now() < deadline, "the command does not wait");
        std::thread::yield_now();
    }
}

fn signal(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
}

/// Waits for the end, but not for ever.
fn end(mut child: Child) -> (Option<i32>, String, String) {
    let (mut out, mut err) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        out.read_to_string(&mut text).expect("reads");
        text
    });
    let deadline = Instant::now() + Duration::from_secs(30);
    let status = loop {
        match child.try_wait().expect("waits") {
            Some(status) => break status.code(),
            None if Instant::now() > deadline => {
                child.kill().expect("ends");
                panic!("still running after Ctrl-C");
            }
            None => std::thread::yield_now(),
        }
    };
    let mut text = String::new();
    err.read_to_string(&mut text).expect("reads");
    (status, reader.join().expect("reads"), text)
}
