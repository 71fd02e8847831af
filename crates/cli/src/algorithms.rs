//! Which checkers a user asks for.

use anyhow::bail;
use atomvet_check::Kind;
use atomvet_check::registry::{self, CHECKERS, Entry};

use crate::suggest::did_you_mean;

/// The name that stands for all checkers.
const ALL: &str = "all";

/// The checkers of these names, each once, in the order given.
pub(crate) fn select(names: &[String]) -> anyhow::Result<Vec<&'static Entry>> {
    if names.is_empty() {
        return Ok(CHECKERS.iter().take(1).collect());
    }
    let mut selected: Vec<&'static Entry> = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        let found: Vec<&'static Entry> = if name == ALL {
            registry::of_kind(Kind::Observed).collect()
        } else if let Some(entry) = registry::find(name) {
            vec![entry]
        } else {
            let known: Vec<&str> = CHECKERS.iter().map(|entry| entry.info.name).chain([ALL]).collect();
            let suggestion = did_you_mean(name, known.iter().copied());
            bail!("no algorithm is called {name:?}; {suggestion}there are {}", known.join(", "));
        };
        for entry in found {
            if !selected.iter().any(|other| other.info.name == entry.info.name) {
                selected.push(entry);
            }
        }
    }
    Ok(selected)
}
