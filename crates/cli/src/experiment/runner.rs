//! Runs cells, each in a process of its own: what takes too long, needs too much memory or crashes is a cell like any other.
//!
//! The processes are in process groups of their own, so that a program that `atomvet run` started ends with it.

use std::collections::VecDeque;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::Context;
use atomvet_report::model;

use super::plan::{BASE, Cell, EMPTY, Plan, Program, Subject, TRACE};
use super::record::{Measure, Outcome, Record};
use crate::interrupt;
use crate::run::library::Library;
use crate::run::mode::Mode;
use crate::status::Status;

/// How soon a signal ends a cell.
const LOOK: Duration = Duration::from_millis(100);

/// Runs cells, so many at once, and hands each to `done`. Stops after Ctrl-C, or once `done` fails.
pub(crate) fn run(
    plan: &Plan,
    cells: Vec<Cell>,
    at_once: usize,
    mut done: impl FnMut(Record) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let waiting = Mutex::new(VecDeque::from(cells));
    let stopped = AtomicBool::new(false);
    let (send, receive) = channel();
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            let (send, waiting, stopped) = (send.clone(), &waiting, &stopped);
            scope.spawn(move || {
                while let Some(cell) = next(waiting) {
                    let measured = measure(plan, &cell, stopped);
                    if stopped.load(Ordering::Relaxed)
                        || interrupt::requested()
                        || send.send(measured).is_err()
                    {
                        return;
                    }
                }
            });
        }
        drop(send);
        for measured in receive {
            let result = measured.and_then(&mut done);
            if result.is_err() {
                stopped.store(true, Ordering::Relaxed);
                return result;
            }
        }
        Ok(())
    })
}

fn next(waiting: &Mutex<VecDeque<Cell>>) -> Option<Cell> {
    waiting.lock().ok()?.pop_front()
}

/// Measures one cell.
fn measure(plan: &Plan, cell: &Cell, stopped: &AtomicBool) -> anyhow::Result<Record> {
    let subject = &plan.subjects[cell.subject];
    let report = tempfile::NamedTempFile::new().context("no temporary file can be made")?;
    let command = match subject {
        Subject::Trace(path) => on_trace(plan, cell, path)?,
        Subject::Program(program) => on_program(plan, cell, program, report.path())?,
    };
    let ended = process(command, plan.timeout, stopped)?;
    let mut record = Record {
        key: cell.key.clone(),
        subject: subject.name(),
        algorithm: cell.algorithm.to_owned(),
        repetition: cell.repetition,
        outcome: Outcome::Failed,
        message: None,
        wall: ended.wall,
        cpu: ended.cpu,
        resident: ended.resident,
        measure: None,
    };
    let measured = match subject {
        Subject::Trace(_) => serde_json::from_str(&ended.out).ok(),
        Subject::Program(_) if [BASE, EMPTY].contains(&cell.algorithm) => Some(Measure::default()),
        Subject::Program(_) => of_report(report.path(), cell.algorithm),
    };
    let status = ended.status;
    let fine = match subject {
        Subject::Trace(_) => status == Some(0),
        // Nothing is observed with empty hooks; and what is found is no failure.
        Subject::Program(_) if cell.algorithm == BASE => status == Some(0),
        Subject::Program(_) => status.is_some_and(|status| status != i32::from(Status::BadInput.code())),
    };
    record.outcome = match measured {
        _ if ended.timed_out => Outcome::Timeout,
        Some(measure) if fine => {
            record.measure = Some(measure);
            Outcome::Done
        }
        _ if ended.err.contains("memory limit") || ended.err.contains("out of memory") => Outcome::Memory,
        _ => Outcome::Failed,
    };
    if record.outcome != Outcome::Done && !ended.timed_out {
        let last = ended.err.lines().rfind(|line| line.contains("error")).or(ended.err.lines().last());
        let how =
            status.map_or("ended by a signal".to_owned(), |status| format!("ended with status {status}"));
        record.message =
            Some(last.map_or(how, |line| line.trim_start_matches("atomvet: error: ").to_owned()));
    }
    Ok(record)
}

fn on_trace(plan: &Plan, cell: &Cell, trace: &Path) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["experiment", "--cell", "--algo", cell.algorithm]);
    command.args(plan.memory.iter().flat_map(|size| ["--memory", size]));
    command.args(plan.spec.iter().flat_map(|spec| [Path::new("--spec"), spec]));
    command.args(&plan.understanding);
    command.args(["--budget", &(plan.steps / 1_000_000).to_string()]);
    if plan.first_violation {
        command.arg("--first-violation");
    }
    command.arg("--").arg(trace);
    Ok(command)
}

fn on_program(plan: &Plan, cell: &Cell, program: &Program, report: &Path) -> anyhow::Result<Command> {
    let alone = |words: &[String]| {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    };
    if cell.algorithm == BASE {
        return Ok(alone(if program.base.is_empty() { &program.command } else { &program.base }));
    }
    // The hooks that `atomvet cc` links into a program do nothing without `atomvet run`.
    if cell.algorithm == EMPTY && !program.is_java() {
        return Ok(alone(&program.command));
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(if program.is_java() { "java" } else { "run" }).args([
        "--no-config",
        "--format",
        "json",
        "-o",
    ]);
    command.arg(report);
    command.args(plan.memory.iter().flat_map(|size| ["--memory", size]));
    command.args(plan.spec.iter().flat_map(|spec| [Path::new("--spec"), spec]));
    command.args(plan.understanding.iter().filter(|word| *word != "--lenient"));
    if cell.algorithm == EMPTY {
        let agent = Library::unpack()?.agent(Mode::Live);
        command.env("ATOMVET_AGENT", format!("{}=empty", agent.display()));
    } else {
        command.args(["--algo", cell.algorithm]);
    }
    match program.is_java() {
        true => command.args(&program.command[1..]),
        false => command.arg("--").args(&program.command),
    };
    Ok(command)
}

/// What a report of `atomvet run` says.
fn of_report(path: &Path, algorithm: &str) -> Option<Measure> {
    let bytes = std::fs::read(path).ok()?;
    let report: model::Report = serde_json::from_slice(&bytes).ok()?;
    let mut sum = Measure { serializable: Some(true), ..Measure::default() };
    for entry in &report.traces {
        let model::Entry::Whole(trace) = entry else { return None };
        let coverage = &trace.coverage;
        sum.events += coverage.events.unwrap_or_default();
        sum.threads += coverage.threads;
        sum.locks += coverage.locks.unwrap_or_default();
        sum.variables += coverage.variables.unwrap_or_default();
        sum.blocks += coverage.blocks;
        sum.transactions += coverage.transactions.unwrap_or_default();
        for checker in &trace.checkers {
            let model::Checker::Observed(observed) = checker else { continue };
            if observed.name != algorithm {
                continue;
            }
            sum.seconds += observed.seconds;
            sum.peak = sum.peak.max(observed.peak_bytes);
            sum.serializable = match (sum.serializable, observed.serializable) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (before, now) => before.and(now),
            };
            sum.first_event = sum.first_event.or(observed.first_cycle_event);
            for violation in &observed.violations {
                let Some(block) = &violation.block else {
                    sum.unblamed += violation.count;
                    continue;
                };
                if block.begin_event == violation.transaction.begin_event {
                    *sum.outermost.entry(block_name(block)).or_default() += violation.count;
                }
                *sum.blamed.entry(block_name(block)).or_default() += violation.count;
            }
            for (name, number) in &observed.stats.0 {
                *sum.figures.entry(name.clone()).or_default() += number;
            }
        }
    }
    Some(sum)
}

fn block_name(block: &model::Block) -> String {
    let site = || block.site.as_ref().map(|site| format!("@{site}"));
    block.label.clone().or_else(site).unwrap_or_else(|| "(unnamed block)".to_owned())
}

/// How a process ended.
struct Ended {
    /// None after a signal.
    status: Option<i32>,
    timed_out: bool,
    out: String,
    err: String,
    wall: f64,
    cpu: f64,
    resident: u64,
}

/// How much of a process's output is looked at.
const MOST_OUTPUT: u64 = 64 << 20;

/// Runs a process to its end, or until its time is over.
fn process(mut command: Command, timeout: Option<f64>, stopped: &AtomicBool) -> anyhow::Result<Ended> {
    let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(err.try_clone()?).process_group(0);
    let started = Instant::now();
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let name = command.get_program().display().to_string();
            let err = format!("error: {name}: cannot be started: {error}");
            return Ok(Ended {
                status: None,
                timed_out: false,
                out: String::new(),
                err,
                wall: 0.0,
                cpu: 0.0,
                resident: 0,
            });
        }
    };
    let group = libc::pid_t::try_from(child.id()).context("a process number")?;
    let timed_out = AtomicBool::new(false);
    let (status, usage) = std::thread::scope(|scope| {
        let (ended, watch) = channel::<()>();
        let watcher = scope.spawn({
            let timed_out = &timed_out;
            move || loop {
                match watch.recv_timeout(LOOK) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
                }
                let late = timeout.is_some_and(|timeout| started.elapsed().as_secs_f64() > timeout);
                timed_out.fetch_or(late, Ordering::Relaxed);
                if late || interrupt::requested() || stopped.load(Ordering::Relaxed) {
                    // SAFETY: it sends a signal to a group whose leader was not waited for yet.
                    unsafe { libc::kill(-group, libc::SIGKILL) };
                }
            }
        });
        wait_for_end(group);
        drop(ended);
        // Nobody signals a number that another process may have.
        let _ = watcher.join();
        reap(group)
    });
    let wall = started.elapsed().as_secs_f64();
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let text = |file: &mut std::fs::File| -> anyhow::Result<String> {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.take(MOST_OUTPUT).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Ended {
        status,
        timed_out: timed_out.load(Ordering::Relaxed),
        out: text(&mut out)?,
        err: text(&mut err)?,
        wall,
        cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        resident: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
    })
}

/// Waits until a process has ended, and leaves its number in use.
fn wait_for_end(process: libc::pid_t) {
    // SAFETY: a structure of numbers.
    let mut information: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let child = libc::id_t::try_from(process).unwrap_or_default();
    // SAFETY: it writes to the structure that it is given.
    while unsafe { libc::waitid(libc::P_PID, child, &raw mut information, libc::WEXITED | libc::WNOWAIT) }
        != 0
        && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
    {}
}

/// The status of a process that has ended, and what it used.
fn reap(process: libc::pid_t) -> (Option<i32>, libc::rusage) {
    // SAFETY: a structure of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let mut status = 0;
    // SAFETY: it writes to the structures that it is given.
    let reaped = unsafe { libc::wait4(process, &raw mut status, 0, &raw mut usage) };
    ((reaped == process && libc::WIFEXITED(status)).then(|| libc::WEXITSTATUS(status)), usage)
}

/// Whether a name stands for a checker.
pub(crate) fn is_checker(algorithm: &str) -> bool {
    ![TRACE, BASE, EMPTY].contains(&algorithm)
}
