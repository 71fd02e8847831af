//! Which accesses race: three tests, from exact to cheap.
//!
//! ```text
//! pairwise       a conflicting access can run at the same time, and no lock keeps the two apart
//! multi-lockset  W = locks held exclusively at all writes; racy unless every read holds one of W
//! common lock    racy unless one lock is held at every access, exclusively at the writes
//! ```
//!
//! Pairwise is RV'03 Theorem 4.3, multi-lockset TSE'06 §3.4, common lock RV'03 Theorem 4.4 (Eraser).
//! The two lockset tests speak of a variable: if they fail, all of its accesses race.
//!
//! *Guarantee*: each test calls every access racy that pairwise does, and pairwise is exact with respect to
//! locks, fork, join and barriers.
//!
//! *Beyond the papers*: an access counts only if fork, join and barriers let one of another thread run beside
//! it: pairwise, one that conflicts; for the lockset tests, any, if two of the variable conflict at all. TSE'06
//! leaves out only what the first thread does before there is another.
//!
//! *Cost*: sorts the accesses, then O(threads · log periods) for each class of accesses that agree in location,
//! lockset, touch (and whether they are atomic), site and period. Pairs are looked at only for a location that fails the
//! multi-lockset test, pairs of classes and not of accesses, and for each those with few locks first.

use std::ops::Range;

use atomvet_trace::{SiteId, ThreadId};
use rustc_hash::FxHashMap;

use super::commit_node::classes::{kind, rank};
use super::effort::{Done, Keep};
use super::execution::{Access, LocationId, Touch};
use super::lockset::{Common, LocksetId, Locksets, exclusively, in_any_mode};
use super::periods::{PeriodId, Periods};
use super::{Effort, Execution, Predicted};

/// Which accesses are thought to race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RaceTest {
    /// Every pair.
    Pairwise,
    /// One set of locks for the writes, one for each read.
    MultiLockset,
    /// One lock for all.
    CommonLock,
}

/// The verdict on every access.
#[derive(Debug)]
pub struct Races {
    /// Per access of the execution.
    racy: Vec<bool>,
    /// Locations that more than one thread accesses and some thread writes.
    pub shared_locations: u64,
    /// Classes of accesses of those.
    pub classes: u64,
    /// Accesses that race.
    pub racy_accesses: u64,
}

impl Races {
    /// Whether an access, given by its index, races.
    #[inline]
    pub fn is_racy(&self, access: u32) -> bool {
        self.racy[access as usize]
    }
}

/// Accesses that differ only in when they happened.
#[derive(Debug)]
struct Shape {
    lockset: LocksetId,
    touch: Touch,
    atomic: bool,
    site: SiteId,
    /// Its classes, sorted by thread and period.
    classes: Range<usize>,
}

impl Shape {
    /// Whether a pair of accesses that nothing keeps apart is a data race. (For movers it does not matter whether both are atomic.)
    fn is_race_with(&self, other: &Shape) -> bool {
        self.touch.conflicts(other.touch) && !(self.atomic && other.atomic)
    }
}

/// The accesses of one shape in one period.
#[derive(Debug)]
struct Class {
    thread: ThreadId,
    period: PeriodId,
    /// A range of the sorted keys.
    keys: Range<usize>,
    /// The test takes it into account.
    counts: bool,
    racy: bool,
}

/// What accesses are sorted by; the last is the index of the access.
type Key = (LocationId, LocksetId, u32, SiteId, ThreadId, PeriodId, u32);

/// Two accesses, by their indices, and how far apart they are in the trace.
type Pair = (u64, u32, u32);

/// A shape that is known to race looks at so many partners, for the reports, before it stops.
const PARTNERS_LOOKED_AT: usize = 256;

/// Finds the accesses that race, and reports pairs of them. None if the effort was spent before that.
pub fn races(
    execution: &Execution,
    locksets: &Locksets,
    test: RaceTest,
    effort: &mut Effort,
    out: &mut Predicted,
) -> Option<Races> {
    let keys = sorted_keys(execution, locksets);
    let mut races = Races {
        racy: vec![false; execution.accesses.len()],
        shared_locations: 0,
        classes: 0,
        racy_accesses: 0,
    };
    let locations = execution.locations.len() as u64;
    for keys in keys.chunk_by(|one, other| one.0 == other.0) {
        let mut location = Accesses::new(execution, locksets, keys);
        location.find_those_that_count(test);
        let done = Done { what: "variables examined", done: races.shared_locations, of: locations };
        let kept = location.judge(test, done, effort, out);
        races.shared_locations += 1;
        races.classes += location.classes.len() as u64;
        for class in location.classes.iter().filter(|class| class.racy) {
            races.racy_accesses += class.keys.len() as u64;
            for &(.., access) in &keys[class.keys.clone()] {
                races.racy[access as usize] = true;
            }
        }
        if kept == Keep::Stop {
            return None;
        }
    }
    Some(races)
}

fn sorted_keys(execution: &Execution, locksets: &Locksets) -> Vec<Key> {
    let shared = (0..).zip(&execution.accesses);
    let shared = shared.filter(|(_, access)| !execution.location(access.location).is_local());
    let keys = shared.map(|(index, access)| {
        let unit = execution.unit(access.unit);
        let lockset = locksets.of_path(execution.stacks.path(access.stack));
        (access.location, lockset, kind(access), access.site, unit.thread, unit.period, index)
    });
    let mut keys: Vec<Key> = keys.collect();
    keys.sort_unstable();
    keys
}

/// All accesses of one location.
struct Accesses<'a> {
    execution: &'a Execution,
    locksets: &'a Locksets,
    keys: &'a [Key],
    shapes: Vec<Shape>,
    classes: Vec<Class>,
    /// Steps that were not yet spent.
    steps: u64,
}

impl<'a> Accesses<'a> {
    fn new(execution: &'a Execution, locksets: &'a Locksets, keys: &'a [Key]) -> Self {
        let (mut shapes, mut classes) = (Vec::new(), Vec::new());
        let mut start = 0;
        for of_shape in keys.chunk_by(|one, other| (one.1, one.2, one.3) == (other.1, other.2, other.3)) {
            let first_class = classes.len();
            for of_class in of_shape.chunk_by(|one, other| one.5 == other.5) {
                let (.., thread, period, _) = of_class[0];
                let keys = start..start + of_class.len();
                start = keys.end;
                classes.push(Class { thread, period, keys, counts: false, racy: false });
            }
            let (_, lockset, _, site, _, _, access) = of_shape[0];
            let Access { touch, atomic, .. } = execution.accesses[access as usize];
            shapes.push(Shape { lockset, touch, atomic, site, classes: first_class..classes.len() });
        }
        Accesses { execution, locksets, keys, shapes, classes, steps: keys.len() as u64 }
    }

    /// Marks the classes that count.
    fn find_those_that_count(&mut self, test: RaceTest) {
        let mut touches: Vec<(Touch, Vec<(ThreadId, PeriodId)>)> = Vec::new();
        for shape in &self.shapes {
            let seen = touches.iter().position(|(touch, _)| *touch == shape.touch);
            let index = seen.unwrap_or_else(|| {
                touches.push((shape.touch, Vec::new()));
                touches.len() - 1
            });
            let classes = &self.classes[shape.classes.clone()];
            touches[index].1.extend(classes.iter().map(|class| (class.thread, class.period)));
        }
        for (_, when) in &mut touches {
            when.sort_unstable();
            when.dedup();
        }
        self.mark_beside(&touches, Touch::conflicts);
        if test != RaceTest::Pairwise && self.classes.iter().any(|class| class.counts) {
            self.mark_beside(&touches, |_, _| true);
        }
    }

    /// Marks the classes that something of a touch that matters can run beside.
    fn mark_beside(
        &mut self,
        touches: &[(Touch, Vec<(ThreadId, PeriodId)>)],
        matters: impl Fn(Touch, Touch) -> bool,
    ) {
        let periods = &self.execution.periods;
        for shape in &self.shapes {
            for class in &mut self.classes[shape.classes.clone()] {
                self.steps += 1;
                let mut others = touches.iter().filter(|(touch, _)| matters(shape.touch, *touch));
                class.counts = others
                    .any(|(_, when)| beside(periods, class.period, when, |when| *when).next().is_some());
            }
        }
    }

    fn judge(&mut self, test: RaceTest, done: Done, effort: &mut Effort, out: &mut Predicted) -> Keep {
        let (mut at_writes, mut at_all) = (Common::All, Common::All);
        for shape in self.counting() {
            let locks = self.locksets.locks(shape.lockset);
            if shape.touch.writes() {
                at_writes.narrow(exclusively(locks));
                at_all.narrow(exclusively(locks));
            } else {
                at_all.narrow(in_any_mode(locks));
            }
        }
        let protected = |shape: &Shape| {
            let locks = self.locksets.locks(shape.lockset);
            match shape.touch.writes() {
                true => at_all.has_any(exclusively(locks)),
                false => at_writes.has_any(in_any_mode(locks)),
            }
        };
        let reads_or_writes_fail =
            at_writes.is_empty() || self.counting().any(|shape| !shape.touch.writes() && !protected(shape));
        match test {
            RaceTest::CommonLock if at_all.is_empty() => self.all_race(out),
            RaceTest::MultiLockset if reads_or_writes_fail => self.all_race(out),
            RaceTest::Pairwise if reads_or_writes_fail => {
                let open: Vec<bool> = self.shapes.iter().map(|shape| !protected(shape)).collect();
                if self.pairs(&open, done, effort, out) == Keep::Stop {
                    return Keep::Stop;
                }
            }
            _ => {}
        }
        effort.spend(std::mem::take(&mut self.steps), done)
    }

    fn counting(&self) -> impl Iterator<Item = &Shape> {
        self.shapes.iter().filter(|shape| self.classes[shape.classes.clone()].iter().any(|c| c.counts))
    }

    /// A lockset test failed: every access that counts is racy. Shows one pair that conflicts, apart if possible.
    fn all_race(&mut self, out: &mut Predicted) {
        for class in &mut self.classes {
            class.racy = class.counts;
        }
        let mut shapes: Vec<&Shape> = self.counting().collect();
        // Whatever is beside a write conflicts with it, unless both are updates that commute.
        shapes.sort_by_key(|shape| (!shape.touch.writes(), self.locksets.locks(shape.lockset).len()));
        let shown = shapes.iter().find_map(|shape| {
            let pairs = shapes.iter().filter(|other| other.is_race_with(shape)).filter_map(|other| {
                let mut classes = self.classes[shape.classes.clone()].iter();
                let pair = classes.find_map(|class| self.nearest(class, other))?;
                Some((self.locksets.exclude(shape.lockset, other.lockset), pair))
            });
            pairs.min()
        });
        if let Some((_, pair)) = shown {
            self.report(pair, out);
        }
    }

    /// Looks for a partner of every class of the shapes that are open to one.
    fn pairs(&mut self, open: &[bool], done: Done, effort: &mut Effort, out: &mut Predicted) -> Keep {
        // Those with few locks race with most.
        let mut partners: Vec<usize> = (0..self.shapes.len()).collect();
        partners.sort_by_key(|&index| self.locksets.locks(self.shapes[index].lockset).len());
        let mut nearest: FxHashMap<[(u32, SiteId); 2], Pair> = FxHashMap::default();
        let mut kept = Keep::Going;
        for (index, _) in open.iter().enumerate().filter(|(_, open)| **open) {
            let shape = &self.shapes[index];
            let mut unknown: Vec<usize> =
                shape.classes.clone().filter(|&class| self.classes[class].counts).collect();
            let Some(&shown) = unknown.first() else { continue };
            for (looked_at, &partner) in partners.iter().enumerate() {
                if unknown.is_empty() && looked_at >= PARTNERS_LOOKED_AT {
                    break;
                }
                let (shape, partner) = (&self.shapes[index], &self.shapes[partner]);
                self.steps += 1;
                if !shape.touch.conflicts(partner.touch)
                    || self.locksets.exclude(shape.lockset, partner.lockset)
                {
                    continue;
                }
                self.steps += unknown.len() as u64;
                if shape.is_race_with(partner)
                    && let Some(pair) = self.nearest(&self.classes[shown], partner)
                {
                    let mut key = [shape, partner].map(|shape| (rank(shape.touch), shape.site));
                    key.sort_unstable();
                    let best = nearest.entry(key).or_insert(pair);
                    *best = pair.min(*best);
                }
                let found =
                    unknown.extract_if(.., |class| self.nearest(&self.classes[*class], partner).is_some());
                let found: Vec<usize> = found.collect();
                found.into_iter().for_each(|class| self.classes[class].racy = true);
            }
            kept = effort.spend(std::mem::take(&mut self.steps), done);
            if kept == Keep::Stop {
                break;
            }
        }
        let mut nearest: Vec<Pair> = nearest.into_values().collect();
        nearest.sort_unstable_by_key(|&(_, one, other)| (one, other));
        nearest.into_iter().for_each(|pair| self.report(pair, out));
        kept
    }

    /// The access of a shape that can run beside those of a class and is nearest to them in the trace, as far
    /// as the first and last access of each class tell.
    fn nearest(&self, class: &Class, partner: &Shape) -> Option<Pair> {
        let others = &self.classes[partner.classes.clone()];
        let runs =
            beside(&self.execution.periods, class.period, others, |other| (other.thread, other.period));
        let first = self.ends(class)[0];
        let nearest_of_thread = runs.flat_map(|run| {
            let after = run.partition_point(|other| self.ends(other)[0].1.at < first.1.at);
            &run[after.saturating_sub(1)..run.len().min(after + 1)]
        });
        let pairs = nearest_of_thread.flat_map(|other| {
            let ends = self.ends(class).into_iter();
            ends.flat_map(|one| {
                self.ends(other).map(|other| (one.1.at.0.abs_diff(other.1.at.0), one.0, other.0))
            })
        });
        pairs.min()
    }

    /// The first and the last access of a class.
    fn ends(&self, class: &Class) -> [(u32, &'a Access); 2] {
        [class.keys.start, class.keys.end - 1].map(|key| {
            let (.., access) = self.keys[key];
            (access, &self.execution.accesses[access as usize])
        })
    }

    fn report(&self, (_, one, other): Pair, out: &mut Predicted) {
        let [one, other] = [one, other].map(|access| &self.execution.accesses[access as usize]);
        let variable = self.execution.location(one.location).variable;
        out.race(variable, self.execution.moment(one), self.execution.moment(other));
    }
}

/// Those of a list, sorted by thread and period, that can run beside a period: one slice per thread that has any.
pub(super) fn beside<'a, T>(
    periods: &'a Periods,
    period: PeriodId,
    mut sorted: &'a [T],
    key: impl Fn(&T) -> (ThreadId, PeriodId) + 'a,
) -> impl Iterator<Item = &'a [T]> {
    std::iter::from_fn(move || {
        loop {
            let (thread, _) = key(sorted.first()?);
            let (of_thread, rest) = sorted.split_at(sorted.partition_point(|item| key(item).0 <= thread));
            sorted = rest;
            let concurrent = periods.concurrent_with(period, thread);
            let index = |item: &T| periods.index(key(item).1);
            let start = of_thread.partition_point(|item| index(item) < concurrent.start);
            let end = of_thread.partition_point(|item| index(item) < concurrent.end);
            if start < end {
                return Some(&of_thread[start..end]);
            }
        }
    })
}
