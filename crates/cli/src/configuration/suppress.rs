//! Findings that somebody has decided not to count: `[[suppress]]` of a configuration.
//!
//! An entry means the findings that fit everything it says. Block, file and fingerprint are known as soon as a checker has
//! found something; what they suppress gets no witness and no schedule, and no source is read for it. Which variables an
//! observed finding is about is known from its witness only, so entries with a variable are matched after that.

use std::sync::atomic::{AtomicBool, Ordering};

use atomvet_report::model;

use crate::spec::{fits, is_in_file};

/// An entry.
#[derive(Default, Debug)]
pub(crate) struct Suppress {
    /// Where it stands: `atomvet.toml:12`.
    pub(crate) at: String,
    /// A pattern for the block's name.
    pub(crate) block: Option<String>,
    /// A pattern for a variable, or for a lock of a deadlock.
    pub(crate) variable: Option<String>,
    /// A pattern for the file that the block begins in.
    pub(crate) file: Option<String>,
    /// A pattern for the fingerprint.
    pub(crate) fingerprint: Option<String>,
    /// Why.
    pub(crate) reason: String,
    /// Whether a finding needed it.
    used: AtomicBool,
}

/// What an entry is held against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits<'a> {
    /// The name of the block; none for a race or a deadlock.
    pub(crate) block: Option<&'a str>,
    /// Where it begins, or where the events are.
    pub(crate) sites: &'a [&'a str],
    /// What it is about; none if that is not known yet.
    pub(crate) variables: Option<&'a [&'a str]>,
    /// The same for the same mistake in every run.
    pub(crate) fingerprint: u64,
}

impl Suppress {
    /// An entry that says nothing yet.
    pub(crate) fn at(at: String) -> Suppress {
        Suppress { at, ..Suppress::default() }
    }

    /// What it asks for, in one line.
    pub(crate) fn what(&self) -> String {
        let parts = [
            ("block", &self.block),
            ("variable", &self.variable),
            ("file", &self.file),
            ("fingerprint", &self.fingerprint),
        ];
        let parts = parts.iter().filter_map(|(key, value)| Some(format!("{key} = {:?}", value.as_ref()?)));
        parts.collect::<Vec<_>>().join(", ")
    }

    fn means(&self, found: &Traits<'_>) -> bool {
        let said = |pattern: &Option<String>, fit: &dyn Fn(&str) -> bool| pattern.as_deref().is_none_or(fit);
        said(&self.block, &|pattern| found.block.is_some_and(|block| fits(pattern, block)))
            && said(&self.file, &|pattern| found.sites.iter().any(|site| is_in_file(pattern, site)))
            && said(&self.fingerprint, &|pattern| {
                fits(&pattern.to_ascii_lowercase(), &format!("{:016x}", found.fingerprint))
            })
            && said(&self.variable, &|pattern| {
                found.variables.is_some_and(|all| all.iter().any(|variable| fits(pattern, variable)))
            })
    }

    /// What the report says about an entry that no finding needed.
    pub(crate) fn unused(&self) -> Option<model::UnusedSuppression> {
        (!self.used.load(Ordering::Relaxed)).then(|| model::UnusedSuppression {
            at: self.at.clone(),
            what: self.what(),
            reason: self.reason.clone(),
        })
    }
}

/// The first entry that means a finding. All that do are used.
pub(crate) fn suppressed(entries: &[Suppress], found: &Traits<'_>) -> Option<model::Suppression> {
    let mut first = None;
    for entry in entries.iter().filter(|entry| entry.means(found)) {
        entry.used.store(true, Ordering::Relaxed);
        first.get_or_insert(entry);
    }
    first.map(|entry| model::Suppression { by: entry.at.clone(), reason: entry.reason.clone() })
}

/// Whether an entry can be matched only when variables are known.
pub(crate) fn needs_variables(entries: &[Suppress]) -> bool {
    entries.iter().any(|entry| entry.variable.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_an_entry_says_has_to_fit() {
        let entry = |block: &str, file: &str, variable: &str| {
            let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let (block, file, variable) = (said(block), said(file), said(variable));
            Suppress { block, file, variable, reason: "because".to_owned(), ..Suppress::default() }
        };
        let found = Traits {
            block: Some("Account::deposit"),
            sites: &["src/bank.c:12"],
            variables: Some(&["balance"]),
            fingerprint: 0xab,
        };
        assert!(entry("Account::*", "", "").means(&found));
        assert!(entry("Account::*", "bank.c", "bal*").means(&found));
        assert!(!entry("Account::*", "other.c", "").means(&found));
        assert!(!entry("deposit", "", "").means(&found));
        let early = Traits { variables: None, ..found };
        assert!(!entry("Account::*", "", "balance").means(&early) && entry("", "src/*", "").means(&early));
        let fingerprint = Some("00000000000000AB".to_owned());
        let by_print = Suppress { fingerprint, ..Suppress::default() };
        assert!(by_print.means(&found) && by_print.means(&Traits { block: None, ..early }));
        assert!(by_print.unused().is_some());
        let all = [entry("no", "", ""), by_print, entry("*", "", "")];
        assert!(suppressed(&all, &found).is_some());
        let unused: Vec<bool> = all.iter().map(|entry| entry.unused().is_some()).collect();
        assert_eq!(unused, [true, false, false]);
    }
}
