//! How a violated unit could be broken, as events: the way out of it and back, in accesses.
//!
//! A *sketch* is the conflicts of such a way in their order: the first leaves the unit, the last comes back to it.
//!
//! ```text
//! t:  e1                 e2        (e1, f1), (f2, e2)
//! u:      f1 … f2
//! ```

use std::ops::Range;

use crate::predictive::Execution;
use crate::predictive::execution::{Access, UnitId};
use crate::predictive::predicted::Pattern;

use super::search::{Candidate, Found, Search};

/// Conflicting accesses, the earlier one first.
pub(in crate::predictive) type Sketch = Vec<(u32, u32)>;

/// So many sketches are made of a unit.
const MOST_SKETCHES: usize = 24;
/// The best of so many that were tried.
const MOST_TRIED: usize = 64;
/// So many accesses of a node are tried, and lists of partners for each.
const TRIED: usize = 4;
const LISTS: usize = 32;
/// So many pairs of nodes are tried.
const PAIRS: usize = 64;

/// Who tells the partners of an access: lists of accesses of a thread at the other ends of the inter-edges
/// that the access gives to a node, in program order.
pub(in crate::predictive) trait Partners {
    /// The lists of an access for the `node`th node of the candidate; none is empty.
    fn lists(&mut self, candidate: &Candidate, node: usize, access: u32, thread: u32) -> Vec<Range<u32>>;
    /// The accesses of a list.
    fn members(&self, list: &Range<u32>) -> &[u32];
}

/// Ways out of a unit and back through one other thread, those through one unit and nearby ones first.
pub(in crate::predictive) fn direct(
    execution: &Execution,
    candidate: &Candidate,
    partners: &mut impl Partners,
) -> Vec<Sketch> {
    let mut sketches: Vec<(Score, Sketch)> = Vec::new();
    let mut pairs = 0;
    'all: for later in candidate.by_start() {
        let start = candidate.nodes[later].steps.start;
        for span in candidate.spans(later) {
            // The node that ends last before it is the one whose pattern breaks the innermost block.
            let ended = candidate.nodes.partition_point(|node| node.steps.end <= start);
            for earlier in (0..ended).rev() {
                let mut spans = candidate.spans(earlier).iter();
                if spans.any(|other| other.thread == span.thread && other.first <= span.last) {
                    nearest(execution, candidate, partners, (earlier, later, span.thread), &mut sketches);
                }
                pairs += 1;
                if sketches.len() >= MOST_TRIED || pairs >= PAIRS {
                    break 'all;
                }
            }
        }
    }
    sketches.sort_by_key(|&(score, _)| score);
    sketches.truncate(MOST_SKETCHES);
    sketches.into_iter().map(|(_, sketch)| sketch).collect()
}

/// How good a sketch is, less is better: the other thread goes forwards, in one unit, with one access of it, not
/// far away.
type Score = (bool, bool, bool, u64);

/// Sketches with an access of the earlier and one of the later node, through nearby accesses of a thread.
fn nearest(
    execution: &Execution,
    candidate: &Candidate,
    partners: &mut impl Partners,
    (earlier, later, thread): (usize, usize, u32),
    sketches: &mut Vec<(Score, Sketch)>,
) {
    let access = |index: u32| &execution.accesses[index as usize];
    let mut entries = Vec::new();
    for &own in candidate.owns(later).iter().take(TRIED) {
        for list in partners.lists(candidate, later, own, thread).into_iter().take(LISTS) {
            entries.push((own, list));
        }
    }
    for &e1 in candidate.owns(earlier).iter().rev().take(TRIED) {
        let here = access(e1).at;
        for exits in partners.lists(candidate, earlier, e1, thread).iter().take(LISTS) {
            let exits = partners.members(exits);
            for (e2, entry) in &entries {
                let entry = partners.members(entry);
                // Partners come back from the unit that they were entered at, or from a later one.
                let possible = entry.partition_point(|&f2| access(f2).unit < access(exits[0]).unit);
                let next = possible + entry[possible..].partition_point(|&f2| access(f2).at < here);
                let around = possible.max(next.saturating_sub(2))..entry.len().min(next + 2);
                for &f2 in &entry[around] {
                    let not_later = exits.partition_point(|&f1| access(f1).unit <= access(f2).unit);
                    // In the same unit, one that comes first in it is more natural.
                    let before = exits[..not_later].partition_point(|&f1| f1 <= f2);
                    let f1 = exits[if before > 0 { before - 1 } else { not_later - 1 }];
                    let away = access(f1).at.0.abs_diff(here.0) + access(f2).at.0.abs_diff(here.0);
                    let is_backwards = f1 > f2 && access(f1).unit == access(f2).unit;
                    let score = (is_backwards, access(f1).unit != access(f2).unit, f1 != f2, away);
                    let sketch = vec![(e1, f1), (f2, *e2)];
                    if sketches.len() < MOST_TRIED && !sketches.iter().any(|(_, known)| *known == sketch) {
                        sketches.push((score, sketch));
                    }
                }
            }
        }
    }
}

/// The way that a search found.
pub(in crate::predictive) fn found(
    execution: &Execution,
    candidate: &Candidate,
    search: &Search,
    found: Found,
    partners: &mut impl Partners,
) -> Option<Sketch> {
    let unit = |index: u32| execution.accesses[index as usize].unit;
    let (node, thread, links) = search.way(found.way);
    // The last partner from whose unit the way goes on; the first of all, if no access tells.
    let goes_on = links.first().and_then(|link| link.conflict()).map(|(out, _)| unit(out));
    let mut leaving: Option<(u32, u32)> = None;
    for &own in candidate.owns(node) {
        for list in partners.lists(candidate, node, own, thread as u32) {
            let list = partners.members(&list);
            let possible = goes_on.map_or(1, |last| list.partition_point(|&f| unit(f) <= last));
            let Some(&f) = list[..possible].last() else { continue };
            if leaving.is_none_or(|(_, best)| if goes_on.is_some() { f >= best } else { f < best }) {
                leaving = Some((own, f));
            }
        }
    }
    // The first partner to whose unit the way has come; the last of all, if no access tells.
    let came = links.last().and_then(|link| link.conflict()).map(|(_, into)| unit(into));
    let mut entering: Option<(u32, u32)> = None;
    for &own in candidate.owns(found.node) {
        for list in partners.lists(candidate, found.node, own, found.thread as u32) {
            let list = partners.members(&list);
            let first = came.map_or(list.len() - 1, |first| list.partition_point(|&f| unit(f) < first));
            let Some(&f) = list.get(first) else { continue };
            if entering.is_none_or(|(best, _)| if came.is_some() { f < best } else { f > best }) {
                entering = Some((f, own));
            }
        }
    }
    let between = links.iter().filter_map(|link| link.conflict());
    Some(leaving.into_iter().chain(between).chain([entering?]).collect())
}

/// A sketch as findings show it.
pub(in crate::predictive) fn pattern(
    execution: &Execution,
    broken: UnitId,
    sketch: &Sketch,
) -> Option<Pattern> {
    let access = |index: u32| &execution.accesses[index as usize];
    let (&(e1, _), &(_, e2)) = (sketch.first()?, sketch.last()?);
    let mut moments = vec![execution.moment(access(e1))];
    let mut order = Vec::new();
    let mut out = 0;
    for pair in sketch.windows(2) {
        let (into, next) = (pair[0].1, pair[1].0);
        let at = moments.len();
        moments.push(execution.moment(access(into)));
        if into == next {
            order.push((out, at));
            out = at;
            continue;
        }
        moments.push(execution.moment(access(next)));
        let Access { unit, step, .. } = *access(into);
        if access(next).unit == unit && access(next).step < step {
            moments.swap(at, at + 1);
            order.push((out, at + 1));
            out = at;
        } else {
            order.push((out, at));
            out = at + 1;
        }
    }
    order.push((out, moments.len()));
    moments.push(execution.moment(access(e2)));
    let transaction = execution.unit(broken).block;
    let block = execution.innermost(access(e1), access(e2)).unwrap_or(transaction);
    Some(Pattern { block, transaction, moments, order })
}
