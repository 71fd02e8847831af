//! What `run` tells: the findings, as `check` tells them, and how much of the program was seen.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::ExitStatus;

use atomvet_report::model::{self, Entry, Report};
use serde_json::{Value, json};

use super::silence::why_silent;
use super::{Args, Watched, trouble};
use crate::check::judge;
use crate::examine::Examined;
use crate::grid::{grouped, plural};
use crate::output::Output;
use crate::spec::{Seen, Spec, render};
use crate::status::Status;
use crate::{Format, json as contract, say, text};

/// Writes the report and says what the process ends with.
pub(crate) fn report(
    args: &Args,
    watched: &mut [Watched],
    ended: ExitStatus,
    spec: Option<&Spec>,
    output: Option<Output>,
) -> anyhow::Result<Status> {
    if let Some(path) = &args.refine {
        write_specification(path, watched)?;
    }
    for process in watched.iter_mut() {
        if let Ok(examined) = &mut process.result {
            for verdict in &mut examined.verdicts {
                verdict.violations.sort_by_key(|violation| !violation.finding.innermost);
            }
        }
    }
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
                        let (innermost, callers) = callers(examined);
                        let mut text = text::report(examined, args.max_findings.min(innermost));
                        text += &callers;
                        text += &program_line(process);
                        texts.push(text);
                    }
                    Format::Json => {
                        let mut entry = serde_json::to_value(contract::trace(examined, spec))?;
                        entry["program"] = program_entry(process, ended);
                        entries.push(Entry::Whole(entry));
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
        say::note(format!("{program}: nothing was observed: {}", why_silent(&args.program[0])));
    }
    let report = match args.format {
        Format::Text => texts.join("\n"),
        Format::Json => model::write(&Report { schema: model::SCHEMA.to_owned(), traces: entries }),
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

/// How many findings are about innermost blocks, and a line on the others: callers that are violated by what they call.
fn callers(examined: &Examined) -> (usize, String) {
    let names = &examined.pass.names;
    let violations = || examined.verdicts.iter().flat_map(|verdict| &verdict.violations);
    let innermost = violations().filter(|violation| violation.finding.innermost).count();
    let others = violations().filter(|violation| !violation.finding.innermost);
    let called: BTreeSet<String> =
        others.filter_map(|violation| Some(text::name(violation.finding.block?, names))).collect();
    if called.is_empty() {
        return (innermost.max(1), String::new());
    }
    let called: Vec<String> = called.into_iter().collect();
    (innermost.max(1), format!("callers, not atomic because of the above: {}\n", called.join(", ")))
}

/// What was seen atomic, and what was not.
fn write_specification(path: &Path, watched: &[Watched]) -> anyhow::Result<()> {
    let mut known: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for seen in watched.iter().flat_map(|process| &process.learned) {
        let (entered, violated) = known.entry(&seen.name).or_default();
        *entered += seen.entered;
        *violated += seen.violated;
    }
    let seen = known.into_iter().map(|(name, (entered, violated))| Seen {
        name: name.to_owned(),
        entered,
        violated,
    });
    let heading = [
        "Blocks that should be atomic, for `atomvet run --spec`. Made by `atomvet run --refine`.".to_owned(),
        "Never seen violated means just that. Entries of blocks in which nothing shared happened are not counted."
            .to_owned(),
    ];
    let nothing: [&Path; 0] = [];
    Output::create(Some(path), &nothing)?.write_all_of(&render(&seen.collect::<Vec<_>>(), &heading))
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
