//! What a checker blames: its JSON report, and how it compares with the truth.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use serde_json::Value;

/// Violated executions per block, by the names that the report has.
pub type Counts = BTreeMap<String, usize>;

/// The violated executions that a report (`atomvet-report/1`, made with `--all-instances`) has, per block. Those of several
/// processes are added up.
///
/// # Errors
/// If it is no such report, or one of a trace that could not be read, or its parts disagree.
pub fn blamed(report: &[u8]) -> anyhow::Result<Counts> {
    let report: Value = serde_json::from_slice(report).context("the report is no JSON")?;
    let traces = report["traces"].as_array().context("the report has no traces")?;
    let mut counts = Counts::new();
    for trace in traces {
        ensure!(trace.get("error").is_none(), "a trace could not be read: {}", trace["error"]);
        let mut here = Counts::new();
        let checkers = trace["checkers"].as_array().context("the report has no checkers")?;
        for violation in checkers.iter().filter_map(|checker| checker["violations"].as_array()).flatten() {
            if let Some(label) = violation["block"]["label"].as_str() {
                let count = violation["count"].as_u64().context("a violation has no count")?;
                *here.entry(label.to_owned()).or_default() += count as usize;
            }
        }
        for block in trace["entered"].as_array().context("the report does not say what was entered")? {
            let (name, violated) = (block["block"].as_str(), block["violated"].as_u64());
            let (name, violated) = name.zip(violated).context("a block has no name or number")?;
            let blamed = here.get(name).copied().unwrap_or_default();
            ensure!(violated as usize == blamed, "{name}: {blamed} findings, but {violated} counted");
        }
        for (name, count) in here {
            *counts.entry(name).or_default() += count;
        }
    }
    Ok(counts)
}

/// How findings differ from the truth.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Difference {
    /// Blamed more often than violated: (blamed, violated).
    pub in_vain: BTreeMap<String, (usize, usize)>,
    /// Blamed less often than violated: (blamed, violated).
    pub missed: BTreeMap<String, (usize, usize)>,
}

impl Difference {
    /// Compares the two.
    pub fn between(blamed: &Counts, violated: &Counts) -> Difference {
        let mut difference = Difference::default();
        let names = blamed.keys().chain(violated.keys());
        for name in names {
            let of = |counts: &Counts| counts.get(name).copied().unwrap_or_default();
            let numbers = (of(blamed), of(violated));
            if numbers.0 > numbers.1 {
                difference.in_vain.insert(name.clone(), numbers);
            } else if numbers.0 < numbers.1 {
                difference.missed.insert(name.clone(), numbers);
            }
        }
        difference
    }

    /// No difference at all.
    pub fn is_none(&self) -> bool {
        self.in_vain.is_empty() && self.missed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(entries: &[(&str, usize)]) -> Counts {
        entries.iter().map(|&(name, count)| (name.to_owned(), count)).collect()
    }

    #[test]
    fn a_report_is_counted() {
        let report =
            br#"{"traces": [{"entered": [{"block": "f", "violated": 3}, {"block": "g", "violated": 0}],
            "checkers": [{"violations": [{"block": {"label": "f"}, "count": 2}, {"block": null, "count": 1},
                {"block": {"label": "f"}, "count": 1}]}]}]}"#;
        assert_eq!(blamed(report).expect("a report"), counts(&[("f", 3)]));
        assert!(blamed(br#"{"traces": [{"error": {"message": "cut off"}}]}"#).is_err());
    }

    #[test]
    fn differences_go_both_ways() {
        let difference = Difference::between(&counts(&[("f", 3), ("g", 1)]), &counts(&[("f", 2), ("h", 1)]));
        assert_eq!(difference.in_vain, BTreeMap::from([("f".to_owned(), (3, 2)), ("g".to_owned(), (1, 0))]));
        assert_eq!(difference.missed, BTreeMap::from([("h".to_owned(), (0, 1))]));
    }
}
