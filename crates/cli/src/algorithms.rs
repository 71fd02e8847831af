//! Which checkers a user asks for.

use anyhow::bail;
use atomvet_check::Kind;
use atomvet_check::registry::{self, CHECKERS, Entry, PRINTED};

use crate::suggest::did_you_mean;

/// The names that stand for several checkers: all, or those of one world.
const GROUPS: &[(&str, Option<Kind>)] =
    &[("all", None), ("observed", Some(Kind::Observed)), ("predictive", Some(Kind::Predictive))];

/// The name that stands for the baselines.
const PRINTED_ONES: &str = "printed";

/// The checkers of these names, each once, in the order given.
pub(crate) fn select(names: &[String]) -> anyhow::Result<Vec<&'static Entry>> {
    let selected = select_to_compare(names)?;
    if let Some(printed) = selected.iter().find(|entry| registry::is_printed(entry.info)) {
        let name = printed.info.name;
        bail!(
            "{name} is a baseline as printed, with known errors (atomvet explain {name}); use it with compare and experiment"
        );
    }
    Ok(selected)
}

/// The same, and baselines as printed.
pub(crate) fn select_to_compare(names: &[String]) -> anyhow::Result<Vec<&'static Entry>> {
    if names.is_empty() {
        return Ok(CHECKERS.iter().take(1).collect());
    }
    let mut selected: Vec<&'static Entry> = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        let group = GROUPS.iter().find(|(group, _)| *group == name);
        let found: Vec<&'static Entry> = if let Some(&(_, kind)) = group {
            CHECKERS.iter().filter(|entry| kind.is_none_or(|kind| entry.info.kind == kind)).collect()
        } else if name == PRINTED_ONES {
            PRINTED.iter().collect()
        } else if let Some(entry) = registry::find(name) {
            vec![entry]
        } else {
            let groups = GROUPS.iter().map(|(name, _)| *name);
            let known: Vec<&str> = CHECKERS.iter().map(|entry| entry.info.name).chain(groups).collect();
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

/// Prediction is wanted: adds the recommended checker for it, unless one was chosen.
pub(crate) fn add_predictive(selected: &mut Vec<&'static Entry>) {
    if !selected.iter().any(|entry| entry.info.kind == Kind::Predictive) {
        selected.extend(registry::of_kind(Kind::Predictive).take(1));
    }
}
