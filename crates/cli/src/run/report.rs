//! What `run` tells: the findings, as `check` tells them, and how much of the program was seen.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitStatus;

use anyhow::anyhow;
use atomvet_report::model::{self, Entry, Report};
use serde_json::{Value, json};

use super::feed::Summary;
use super::silence::why_silent;
use super::{Args, Ended, Watched, half_watched, trouble};
use crate::aside::Count;
use crate::check::judge;
use crate::configuration::Configuration;
use crate::grid::plural;
use crate::output::Output;
use crate::report::Renderings;
use crate::spec::{Seen, Spec, render};
use crate::status::Status;
use crate::tally::listed;
use crate::{java, json as contract, say};

/// What was said before the program was started.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    /// What is atomic.
    pub(crate) spec: Option<&'a Spec>,
    /// Everything else.
    pub(crate) configuration: &'a Configuration,
}

/// Writes the report and says what the process ends with.
pub(crate) fn report(
    args: &Args,
    Ended { watched, failed, plain_programs, ended }: &Ended,
    Told { spec, configuration }: Told<'_>,
    renderings: Renderings,
) -> anyhow::Result<Status> {
    let program = args.program[0].to_string_lossy();
    let shown: Vec<&Watched> = worth_showing(watched);
    let ended = *ended;
    let mut worst = Status::Clean;
    for error in failed {
        worst = Status::BadInput;
        say::error(format!("{error:#}"));
    }
    let mut entries = Vec::new();
    let mut count = Count::default();
    for process in &shown {
        match &process.result {
            Ok(examined) => {
                worst = worst.max(judge(examined, spec));
                worst =
                    worst.max(unwatched(&program, &process.summary).max(partial(&program, &process.summary)));
                count.add(examined);
                let program = Some(program_entry(process, plain_programs, ended));
                entries.push(Entry::Whole(model::Trace { program, ..contract::trace(examined, spec) }));
            }
            Err(error) => {
                worst = Status::BadInput;
                say::error(error);
            }
        }
    }
    if watched.iter().any(|process| process.summary.failure.is_some()) {
        // Why, the agent has said.
        worst = Status::BadInput;
    }
    if watched.is_empty() && failed.is_empty() {
        if java::is_launcher(&args.program[0]) {
            worst = Status::BadInput;
            say::error(format!(
                "{program}: nothing was observed: the agent was not loaded; what the JVM says to that stands above"
            ));
        } else {
            worst = Status::NothingObserved;
            say::note(format!("{program}: nothing was observed: {}", why_silent(&args.program[0])));
        }
    }
    for problem in watched.iter().filter_map(|process| process.summary.not_recorded.as_deref()) {
        worst = Status::BadInput;
        say::error(problem);
    }
    half_watched::say(&program, watched, &shown, plain_programs);
    let set_aside = count.finish(&configuration.known, &configuration.idioms);
    let written = renderings.write(&Report { schema: model::SCHEMA.to_owned(), traces: entries, set_aside });
    if let Some(trouble) = trouble(ended) {
        say::note(format!("{program}: ended with {trouble}"));
        if worst == Status::Clean {
            // Never a silent green.
            worst = Status::BadInput;
        }
    }
    if let Some(path) = &args.refine {
        write_specification(path, watched)?;
    }
    written.map(|()| worst)
}

/// What ran and was not recorded may have interfered with anything: that is said, and nothing found is not clean.
fn unwatched(program: &str, Summary { unwatched, .. }: &Summary) -> Status {
    if unwatched.is_empty() {
        return Status::Clean;
    }
    say::note(format!(
        "{program}: NOT WATCHED: {}: what they did is not recorded, and nothing is said about it; run the program \
         without them to have it checked as a whole",
        unwatched.join(", ")
    ));
    Status::NothingObserved
}

/// A verdict on a part of what ran is not clean, either.
fn partial(program: &str, summary: &Summary) -> Status {
    let mut parts = Vec::new();
    if summary.lost_threads > 0 {
        parts.push(format!("{} were not recorded", plural(summary.lost_threads, "thread")));
    }
    if summary.lost_orders > 0 {
        parts.push(format!("{} between threads were forgotten", plural(summary.lost_orders, "order")));
    }
    if let Some(live) = &summary.live {
        if live.lost_findings > 0 {
            parts.push(format!(
                "{} had no room in the table of findings",
                plural(live.lost_findings, "violated execution")
            ));
        }
        if live.lost_functions > 0 {
            parts.push(format!(
                "{} of functions had no room in the table of functions",
                plural(live.lost_functions, "entry")
            ));
        }
        if !live.off_trial.is_empty() {
            parts.push(format!(
                "some executions of these blocks were open for too long to be judged as a whole: {}; list those that are not \
                 meant to be atomic under `not-atomic` in atomvet.toml",
                listed(&live.off_trial)
            ));
        }
    }
    if summary.cut_off {
        parts.push("a process still runs, and is judged up to here".to_owned());
    }
    if parts.is_empty() {
        return Status::Clean;
    }
    say::note(format!(
        "{program}: partial: {}; check a shorter run, or one with fewer threads",
        parts.join("; ")
    ));
    Status::NothingObserved
}

/// What was seen atomic, and what was not.
fn write_specification(path: &Path, watched: &[Watched]) -> anyhow::Result<()> {
    let mut known: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for process in watched {
        let learned = process.learned.as_ref();
        let learned = learned.map_err(|why| anyhow!("{}: is not written: {why}", path.display()))?;
        for seen in learned {
            let (entered, violated) = known.entry(&seen.name).or_default();
            *entered += seen.entered;
            *violated += seen.violated;
        }
    }
    let seen = known.into_iter().map(|(name, (entered, violated))| Seen {
        name: name.to_owned(),
        entered,
        violated,
    });
    let heading = [
        "Blocks that should be atomic, for `atomvet run --spec`. Made by `atomvet run --refine`.".to_owned(),
        "Never seen violated means just that: other executions may show more.".to_owned(),
    ];
    let nothing: [&Path; 0] = [];
    Output::create(Some(path), &nothing)?.write_all_of(&render(&seen.collect::<Vec<_>>(), &heading))
}

/// All processes in which something could have been wrong; if there is none, one with several threads or else the first.
fn worth_showing(watched: &[Watched]) -> Vec<&Watched> {
    let is_worth =
        |process: &&Watched| process.nothing_observed().is_none() || !process.summary.unwatched.is_empty();
    let mut shown: Vec<&Watched> = watched.iter().filter(is_worth).collect();
    if shown.is_empty() {
        shown.extend(watched.iter().find(|process| process.has_threads()).or(watched.first()));
    }
    shown
}

fn program_entry(process: &Watched, plain_programs: &[String], ended: ExitStatus) -> Value {
    let summary = &process.summary;
    let mut unwatched = summary.unwatched.clone();
    for (what, names) in
        [("code without hooks", &summary.not_instrumented[..]), ("programs without hooks", plain_programs)]
    {
        if !names.is_empty() {
            unwatched.push(format!("{what}: {}", listed(names)));
        }
    }
    let mut entry = json!({
        "process": process.process,
        "ended": trouble(ended).unwrap_or_else(|| "exit status 0".to_owned()),
        "waits_that_split": summary.seen.splits,
        "lost_in_handlers": summary.lost_in_handlers,
        "lost_threads": summary.lost_threads,
        "unwatched": unwatched,
        "not_instrumented": summary.not_instrumented,
        "plain_programs": plain_programs,
        "thread_entries": summary.thread_entries,
        "cut_off": summary.cut_off,
    });
    let figures = match &summary.live {
        Some(live) => json!({
            "off_trial": live.off_trial,
            "lost_findings": live.lost_findings,
            "lost_functions": live.lost_functions,
        }),
        None => json!({
            "accesses": summary.accesses,
            "accesses_recorded": summary.seen.accesses,
            "commuting_updates": summary.commuting_updates,
            "repairs": summary.repairs,
            "unknown_joins": summary.unknown_joins,
            "lost_orders": summary.lost_orders,
        }),
    };
    if let (Value::Object(entry), Value::Object(figures)) = (&mut entry, figures) {
        entry.extend(figures);
    }
    entry
}
