//! What `run` tells: the findings, as `check` tells them, and how much of the program was seen.

use std::io::Write;
use std::process::ExitStatus;

use serde_json::{Value, json};

use super::{Args, Watched, trouble};
use crate::check::judge;
use crate::grid::{grouped, plural};
use crate::output::Output;
use crate::spec::Spec;
use crate::status::Status;
use crate::{Format, json as contract, say, text};

/// Writes the report and says what the process ends with.
pub(crate) fn report(
    args: &Args,
    watched: &[Watched],
    ended: ExitStatus,
    spec: Option<&Spec>,
    output: Option<Output>,
) -> anyhow::Result<Status> {
    let program = args.program[0].to_string_lossy();
    let shown: Vec<&Watched> = worth_showing(watched);
    let mut worst = Status::Clean;
    let mut texts = Vec::new();
    let mut entries = Vec::new();
    for process in &shown {
        match &process.result {
            Ok(examined) => {
                worst = worst.max(judge(examined, spec));
                match args.format {
                    Format::Text => {
                        let mut text = text::report(examined, args.max_findings);
                        text += &program_line(process);
                        texts.push(text);
                    }
                    Format::Json => {
                        let mut entry = serde_json::to_value(contract::TraceEntry::new(examined, spec))?;
                        entry["program"] = program_entry(process, ended);
                        entries.push(entry);
                    }
                }
            }
            Err(error) => {
                worst = Status::BadInput;
                say::error(error);
            }
        }
    }
    if watched.is_empty() {
        worst = Status::NothingObserved;
        say::note(format!(
            "{program}: nothing was observed: it calls no hooks; build it with CC=\"atomvet cc\" CXX=\"atomvet c++\", or with gcc -fsanitize=thread -g"
        ));
    }
    let report = match args.format {
        Format::Text => texts.join("\n"),
        Format::Json => contract::render(&contract::Report { schema: contract::SCHEMA, traces: entries })?,
    };
    match output {
        Some(output) => output.write_all_of(&report)?,
        // Standard output is the program's. If standard error is gone there is nobody left to tell.
        None => drop(std::io::stderr().write_all(report.as_bytes())),
    }
    if let Some(trouble) = trouble(ended) {
        say::note(format!("{program}: ended with {trouble}"));
        if worst == Status::Clean {
            // Never a silent green.
            worst = Status::BadInput;
        }
    }
    Ok(worst)
}

/// All processes in which something could have been wrong; if there is none, the first.
fn worth_showing(watched: &[Watched]) -> Vec<&Watched> {
    let observed = |process: &&Watched| match &process.result {
        Ok(examined) => examined.pass.tally.nothing_observed().is_none(),
        Err(_) => true,
    };
    let mut shown: Vec<&Watched> = watched.iter().filter(observed).collect();
    if shown.is_empty() {
        shown.extend(watched.first());
    }
    shown
}

/// How much of the program was seen.
fn program_line(process: &Watched) -> String {
    let summary = &process.summary;
    let recorded = summary.seen.accesses;
    let mut parts = vec![
        format!("process {}", process.process),
        format!(
            "{} accesses seen, {} recorded and the others covered by those",
            grouped(summary.accesses),
            grouped(recorded)
        ),
        format!("blocks split at {}", plural(summary.seen.splits, "wait")),
        plural(summary.seen.commuting, "commuting update"),
    ];
    let mut unless_zero = |number: u64, what: &str| {
        if number > 0 {
            parts.push(format!("{} {what}", grouped(number)));
        }
    };
    unless_zero(summary.repairs, "repairs of what was seen in part");
    unless_zero(summary.unknown_joins, "joins of threads that started unseen");
    unless_zero(summary.lost_in_handlers, "accesses in signal handlers lost");
    unless_zero(summary.lost_threads, "threads not recorded");
    if !summary.not_instrumented.is_empty() {
        parts.push(format!("not instrumented: {}", summary.not_instrumented.join(" ")));
    }
    if summary.cut_off {
        parts.push("it still runs: judged up to here".to_owned());
    }
    format!("program: {}\n", parts.join(", "))
}

fn program_entry(process: &Watched, ended: ExitStatus) -> Value {
    let summary = &process.summary;
    json!({
        "process": process.process,
        "ended": trouble(ended).unwrap_or_else(|| "exit status 0".to_owned()),
        "accesses": summary.accesses,
        "accesses_recorded": summary.seen.accesses,
        "waits_that_split": summary.seen.splits,
        "commuting_updates": summary.seen.commuting,
        "repairs": summary.repairs,
        "unknown_joins": summary.unknown_joins,
        "lost_in_handlers": summary.lost_in_handlers,
        "lost_threads": summary.lost_threads,
        "not_instrumented": summary.not_instrumented,
        "cut_off": summary.cut_off,
    })
}
