//! What `run` tells: the findings, as `check` tells them, and how much of the program was seen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitStatus;

use atomvet_report::model::{self, Entry, Report};
use serde_json::{Value, json};

use super::{Args, Watched, trouble};
use crate::aside::Count;
use crate::check::judge;
use crate::configuration::Configuration;
use crate::examine::Examined;
use crate::grid::{grouped, plural};
use crate::output::Output;
use crate::report::Renderings;
use crate::spec::{Seen, Spec, render};
use crate::status::Status;
use crate::{aside, json as contract, say, text};

/// What was said before the program was started.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    /// What is atomic.
    pub(crate) spec: Option<&'a Spec>,
    /// Everything else.
    pub(crate) configuration: &'a Configuration,
    /// Findings that are shown in detail.
    pub(crate) max_findings: usize,
}

/// Writes the report and says what the process ends with.
pub(crate) fn report(
    args: &Args,
    watched: &mut [Watched],
    ended: ExitStatus,
    Told { spec, configuration, max_findings }: Told<'_>,
    renderings: Renderings,
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
    let mut count = Count::default();
    for process in &shown {
        match &process.result {
            Ok(examined) => {
                worst = worst.max(judge(examined, spec));
                count.add(examined);
                if renderings.has_text() {
                    let (innermost, callers) = callers(examined);
                    let mut text = text::report(examined, max_findings.min(innermost));
                    text += &callers;
                    text += &program_line(process);
                    texts.push(text);
                }
                if renderings.has_others() {
                    let program = Some(program_entry(process, ended));
                    entries.push(Entry::Whole(model::Trace { program, ..contract::trace(examined, spec) }));
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
    let set_aside = count.finish(&configuration.known, &configuration.idioms);
    let mut text = texts.join("\n");
    if let Some(set_aside) = &set_aside {
        text += &aside::sentence(set_aside).unwrap_or_default();
        aside::say_unused(set_aside);
    }
    renderings.write(&text, || Report { schema: model::SCHEMA.to_owned(), traces: entries, set_aside })?;
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
