//! Several traces, one after the other or several at once. A bad one is reported, with its place, and the others are looked at
//! all the same; after Ctrl-C, those that were not looked at are named.
//!
//! ```text
//! worker:  next trace, the largest first ──► look ──► slot of that trace ──► messages of all traces before are said
//! ```
//!
//! Entries and messages come in the order given, however many workers there are. Each worker reads and checks on one thread.
//! The memory limit is one for all workers: a trace that did not fit beside others is looked at again, alone.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use atomvet_report::model::Entry;
use atomvet_trace::Error;

use crate::inputs::Given;
use crate::progress::Many;
use crate::spool::{Again, Source, called};
use crate::status::Status;
use crate::{interrupt, json, say};

/// What `look` says about each trace, and the status that wins.
pub(crate) fn each<T>(
    paths: &[PathBuf],
    again: Again,
    mut look: impl FnMut(&mut Source) -> Result<(T, Status), Error>,
) -> (Vec<Entry<T>>, Status) {
    interrupt::keep_findings();
    let mut worst = Status::Clean;
    let entry = |path: &PathBuf| {
        let (entry, status) = entry(path, again, Company::Alone, |source| {
            look(source).map(|(whole, status)| Looked::Done(whole, status))
        });
        worst = worst.max(status);
        entry
    };
    let entries = paths.iter().filter_map(entry).collect();
    (entries, worst)
}

/// Whether other traces are looked at at the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    /// No.
    Alone,
    /// Yes.
    Others,
}

/// What came of looking at a trace.
pub(crate) enum Looked<T> {
    /// This.
    Done(T, Status),
    /// There was not enough memory beside the others.
    NeedsMemory,
}

/// The same as [`each`] with so many workers.
pub(crate) fn each_at_once<T: Send>(
    given: &[Given],
    again: Again,
    jobs: usize,
    look: impl Fn(&mut Source, Company) -> Result<Looked<T>, Error> + Sync,
) -> (Vec<Entry<T>>, Status) {
    interrupt::keep_findings();
    let workers = jobs.min(given.len()).max(1);
    let company = if workers > 1 { Company::Others } else { Company::Alone };
    let order = largest_first(given, company);
    let progress = (given.len() > 1).then(|| Many::new(given.len()));
    let (next, slots) = (AtomicUsize::new(0), Mutex::new(Slots::new(given.len())));
    let one = |position: usize, company: Company| {
        let work = || match &given[position] {
            Ok(path) => entry(path, again, company, |source| look(source, company)),
            Err(error) => (Some(failed(&error.file, error)), Status::BadInput),
        };
        let (outcome, said) = if workers > 1 { say::captured(work) } else { (work(), Vec::new()) };
        progress.iter().for_each(|progress| progress.one_more(outcome.1));
        slots.lock().unwrap_or_else(|poison| poison.into_inner()).fill(position, outcome, said);
    };
    let work = || {
        while let Some(&position) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            one(position, company);
        }
    };
    if workers == 1 {
        work();
    } else {
        std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    }
    let hungry = std::mem::take(&mut slots.lock().unwrap_or_else(|poison| poison.into_inner()).hungry);
    hungry.into_iter().for_each(|position| one(position, Company::Alone));
    drop(progress);
    slots.into_inner().unwrap_or_else(|poison| poison.into_inner()).finish()
}

/// With several workers, a large trace that comes last would keep one busy while the others have nothing to do.
fn largest_first(given: &[Given], company: Company) -> Vec<usize> {
    let mut order: Vec<usize> = (0..given.len()).collect();
    if company == Company::Others {
        let size = |position: &usize| {
            let path = given[*position].as_ref().ok()?;
            std::fs::metadata(path).ok().map(|metadata| metadata.len())
        };
        order.sort_by_cached_key(|position| std::cmp::Reverse(size(position)));
    }
    order
}

/// Looks at one trace; no entry if it is to be looked at again.
fn entry<T>(
    path: &Path,
    again: Again,
    company: Company,
    look: impl FnOnce(&mut Source) -> Result<Looked<T>, Error>,
) -> (Option<Entry<T>>, Status) {
    let given = path.to_string_lossy();
    if interrupt::requested() {
        say::note(format!("{}: was not looked at: interrupted", called(&given)));
        return (Some(Entry::Failed(Box::new(json::interrupted(&given)))), Status::BadInput);
    }
    let source = Source::new(path, again).map(|source| source.in_company(company));
    match source.and_then(|mut source| look(&mut source)) {
        Ok(Looked::Done(whole, status)) => (Some(Entry::Whole(whole)), status),
        Ok(Looked::NeedsMemory) => (None, Status::Clean),
        Err(error) => (Some(failed(&given, &error)), Status::BadInput),
    }
}

fn failed<T>(given: &str, error: &Error) -> Entry<T> {
    say::error(error);
    Entry::Failed(Box::new(json::failed(given, error)))
}

/// What is known of each trace so far.
struct Slots<T> {
    entries: Vec<Option<(Entry<T>, Vec<String>)>>,
    worst: Status,
    /// Messages of the traces before this one were said.
    said: usize,
    /// To be looked at again, alone.
    hungry: Vec<usize>,
}

impl<T> Slots<T> {
    fn new(number: usize) -> Slots<T> {
        let entries = std::iter::repeat_with(|| None).take(number).collect();
        Slots { entries, worst: Status::Clean, said: 0, hungry: Vec::new() }
    }

    fn fill(&mut self, position: usize, (entry, status): (Option<Entry<T>>, Status), said: Vec<String>) {
        self.worst = self.worst.max(status);
        match entry {
            Some(entry) => self.entries[position] = Some((entry, said)),
            None => self.hungry.push(position),
        }
        while let Some(Some((_, said))) = self.entries.get_mut(self.said) {
            said.drain(..).for_each(say::again);
            self.said += 1;
        }
    }

    fn finish(self) -> (Vec<Entry<T>>, Status) {
        let entries: Vec<Entry<T>> = self.entries.into_iter().flatten().map(|(entry, _)| entry).collect();
        (entries, self.worst)
    }
}

/// The texts on the traces that could be read.
pub(crate) fn texts<T>(entries: &[Entry<T>], text: impl Fn(&T) -> String) -> String {
    let texts = entries.iter().filter_map(|entry| match entry {
        Entry::Whole(whole) => Some(text(whole)),
        Entry::Failed(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
