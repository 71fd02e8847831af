//! Several traces, one after the other. A bad one is reported, with its place, and the others are looked at
//! all the same; after Ctrl-C, those that were not looked at are named.

use std::path::PathBuf;

use atomvet_report::model::Entry;
use atomvet_trace::Error;

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
        let given = path.to_string_lossy();
        if interrupt::requested() {
            worst = Status::BadInput;
            say::note(format!("{}: was not looked at: interrupted", called(&given)));
            return Entry::Failed(Box::new(json::interrupted(&given)));
        }
        match Source::new(path, again).and_then(|mut source| look(&mut source)) {
            Ok((whole, status)) => {
                worst = worst.max(status);
                Entry::Whole(whole)
            }
            Err(error) => {
                worst = Status::BadInput;
                say::error(&error);
                Entry::Failed(Box::new(json::failed(&given, &error)))
            }
        }
    };
    let entries = paths.iter().map(entry).collect();
    (entries, worst)
}

/// The texts on the traces that could be read.
pub(crate) fn texts<T>(entries: &[Entry<T>], text: impl Fn(&T) -> String) -> String {
    let texts = entries.iter().filter_map(|entry| match entry {
        Entry::Whole(whole) => Some(text(whole)),
        Entry::Failed(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
