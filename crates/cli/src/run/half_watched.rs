//! What has to be said of a run besides its verdicts, because they do not speak of everything that ran: code and programs without
//! hooks, processes in which nothing could be observed, threads in which nothing was checked.

use std::collections::{BTreeMap, BTreeSet};

use super::Watched;
use super::silence::REBUILD;
use crate::say;
use crate::tally::{Nothing, atomic_line, listed};

/// Says it. `shown` are the processes that the report is about, `plain_programs` the programs without hooks that were started.
pub(crate) fn say(program: &str, watched: &[Watched], shown: &[&Watched], plain_programs: &[String]) {
    let without_hooks: BTreeSet<&String> =
        watched.iter().flat_map(|process| &process.summary.not_instrumented).collect();
    if !without_hooks.is_empty() {
        let files: Vec<String> = without_hooks.into_iter().cloned().collect();
        say::note(format!(
            "{program}: not all code was watched: no hooks in {}; what happens there is not part of the verdict",
            listed(&files)
        ));
    }
    if !plain_programs.is_empty() {
        say::note(format!(
            "{program}: programs without hooks were started, and are not part of the verdict: {}; for each of them, {REBUILD}",
            listed(plain_programs)
        ));
    }
    let is_shown = |process: &Watched| shown.iter().any(|other| std::ptr::eq(*other, process));
    let mut others: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (at, process) in watched.iter().enumerate().filter(|(_, process)| !is_shown(process)) {
        let Some(nothing) = process.nothing_observed() else { continue };
        // A forked process that did nothing but execute a program.
        let is_prelude = nothing == Nothing::NoEvents
            && watched[at + 1..].iter().any(|next| next.process == process.process);
        if !is_prelude {
            let reason = if process.has_threads() { nothing } else { Nothing::OneThread };
            others.entry(reason.name()).or_default().push(process.process.to_string());
        }
    }
    for (reason, processes) in others {
        say::note(format!(
            "{program}: nothing was observed in {} more of its processes: {reason}: {}",
            processes.len(),
            listed(&processes)
        ));
    }
    for process in shown.iter().filter(|process| process.nothing_observed().is_none()) {
        let entries = &process.summary.thread_entries;
        if !entries.is_empty() && !process.summary.seen.blocks_in_threads {
            say::note(format!(
                "{program}: only functions of the main thread were checked: the other threads did everything in their entry \
                 functions, which are not checked by default: {}; to check those, put this line into atomvet.toml: {}",
                listed(entries),
                atomic_line(entries)
            ));
        }
    }
}
