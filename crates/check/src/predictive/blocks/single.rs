//! Blocks of one variable: two accesses of a unit, and what must not come between them.
//!
//! ```text
//! A   e1 = last write of x before e2, else last read of x before e2
//!       W r W   bad if the read in the middle is uninitialised in its unit
//!       R w R, W w R   bad
//! B   e1 = any uninitialised read of x, e2 = the final write of x
//!       R w W   bad if the write in the middle is final in its unit, or its run
//! ```
//!
//! R w W of rule A is left out: what is between a read and a write is also between the read and the final write.
//! An update is both a read and a write. In the middle of R w W it is bad also where it is not final but
//! reads what the unit did not write: it must then come before e2's unit, and after e1's.
//! Updates that commute are passed over by both rules, besides being taken as they are.

use atomvet_trace::EventId;
use rustc_hash::FxHashMap;

use super::accesses::{Accesses, Class, Partner, touch_code};
use super::locksets::LockSetId;
use super::{MOST_PATTERNS, Sketch};
use crate::predictive::execution::{Access, LocationId, Touch, Unit, UnitId};
use crate::predictive::periods::PeriodId;

/// By which rule a pair is a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Rule {
    A,
    B,
}

/// What the verdict about a block depends on.
type Key = (LocationId, PeriodId, LockSetId, Rule, u8, u8);

/// How many classes of middle events are kept of a block.
const MOST_CLASSES: usize = 8;
/// How many blocks of a unit are shown.
const MOST_BLOCKS: usize = 4;

/// What was found out about blocks.
#[derive(Debug, Default)]
pub(super) struct Single {
    verdicts: Verdicts,
    /// Per location, what the rules need of the accesses of the unit at work.
    seen: Vec<Seen>,
}

#[derive(Debug, Default)]
struct Verdicts {
    /// The bad classes of each block that was judged.
    bad: FxHashMap<Key, Vec<u32>>,
    steps: u64,
}

/// The accesses of one location so far.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Of which unit; another one starts anew.
    unit: Option<UnitId>,
    uninitialised: Vec<u32>,
    last_write: Option<u32>,
    last_read: Option<u32>,
    last: Option<u32>,
    /// The last one that differs in touch from `last`.
    last_other: Option<u32>,
}

/// A block that can be broken.
struct Broken {
    first: u32,
    second: u32,
    key: Key,
}

impl Single {
    pub(super) fn new(accesses: &Accesses<'_>) -> Single {
        let seen = vec![Seen::default(); accesses.execution.locations.len()];
        Single { verdicts: Verdicts::default(), seen }
    }

    /// How many different blocks were judged.
    pub(super) fn judged(&self) -> u64 {
        self.verdicts.bad.len() as u64
    }

    /// How many steps were taken since this was asked last.
    pub(super) fn take_steps(&mut self) -> u64 {
        std::mem::take(&mut self.verdicts.steps)
    }

    /// The ways in which a unit can be broken by one variable, nearest partner first.
    pub(super) fn judge(&mut self, accesses: &mut Accesses<'_>, unit: &Unit) -> Vec<Sketch> {
        let mut broken = Vec::new();
        for number in unit.accesses.clone() {
            let access = accesses.access(number);
            if accesses.execution.location(access.location).is_local() {
                continue;
            }
            let seen = &mut self.seen[access.location.0 as usize];
            seen.start(access.unit);
            for first in seen.firsts(accesses).into_iter().flatten() {
                self.verdicts.judge(accesses, first, number, Rule::A, &mut broken);
            }
            if accesses.role(number).is_last_write() {
                for &first in &seen.uninitialised {
                    self.verdicts.judge(accesses, first, number, Rule::B, &mut broken);
                }
            }
            seen.add(accesses, number);
            self.verdicts.steps += std::mem::take(&mut accesses.steps);
        }
        self.verdicts.sketches(accesses, &broken)
    }
}

impl Seen {
    fn start(&mut self, unit: UnitId) {
        if self.unit.replace(unit) != Some(unit) {
            self.uninitialised.clear();
            (self.last_write, self.last_read, self.last, self.last_other) = (None, None, None, None);
        }
    }

    /// Those with which rule A makes a block.
    fn firsts(&self, accesses: &Accesses<'_>) -> [Option<u32>; 2] {
        let first = self.last_write.or(self.last_read);
        // After updates that commute, the last access of another kind counts as well.
        let commutes = |number: u32| matches!(accesses.access(number).touch, Touch::Commuting(_));
        let across = if self.last.is_some_and(commutes) { self.last_other } else { None };
        [first, across]
    }

    fn add(&mut self, accesses: &Accesses<'_>, number: u32) {
        let Access { touch, stack, .. } = *accesses.access(number);
        if accesses.role(number).is_uninitialised_read() {
            // What is held from the first of several with one stack on is held from all of them on.
            let same_stack = |&other: &u32| accesses.access(other).stack == stack;
            if !self.uninitialised.last().is_some_and(same_stack) {
                self.uninitialised.push(number);
            }
        }
        if touch.writes() {
            self.last_write = Some(number);
        } else {
            self.last_read = Some(number);
        }
        if self.last.is_some_and(|last| accesses.access(last).touch != touch) {
            self.last_other = self.last;
        }
        self.last = Some(number);
    }
}

impl Verdicts {
    fn judge(
        &mut self,
        accesses: &mut Accesses<'_>,
        first: u32,
        second: u32,
        rule: Rule,
        broken: &mut Vec<Broken>,
    ) {
        let (e1, e2) = (accesses.access(first), accesses.access(second));
        self.steps += 1;
        if rule == Rule::A && e1.touch == Touch::Read && e2.touch == Touch::Write {
            return;
        }
        let period = accesses.unit_of(first).period;
        for holding in accesses.gaps(first, second) {
            let key = (e1.location, period, holding, rule, touch_code(e1.touch), touch_code(e2.touch));
            self.steps += 4;
            let bad = (self.bad.entry(key))
                .or_insert_with(|| bad_classes(accesses, e1, e2, holding, rule, &mut self.steps));
            if !bad.is_empty() {
                broken.push(Broken { first, second, key });
            }
        }
    }

    fn sketches(&self, accesses: &Accesses<'_>, broken: &[Broken]) -> Vec<Sketch> {
        let mut found = Vec::new();
        for &Broken { first, second, key } in broken.iter().take(MOST_BLOCKS) {
            let here = accesses.access(first).at;
            for &class in &self.bad[&key] {
                let middle = nearest(accesses, &accesses.classes[class as usize], here);
                let distance = accesses.access(middle).at.0.abs_diff(here.0);
                found.push((distance, Sketch::between(first, middle, second)));
            }
        }
        found.sort_by_key(|&(distance, _)| distance);
        found.dedup();
        found.into_iter().map(|(_, sketch)| sketch).take(MOST_PATTERNS).collect()
    }
}

/// The classes of which each access breaks the block, some of them.
fn bad_classes(
    accesses: &Accesses<'_>,
    e1: &Access,
    e2: &Access,
    holding: LockSetId,
    rule: Rule,
    steps: &mut u64,
) -> Vec<u32> {
    let unit = accesses.execution.unit(e1.unit);
    let kinds: &[Partner] = match rule {
        Rule::A if e1.touch.writes() && e2.touch == Touch::Write => &[Partner::UninitialisedRead],
        Rule::A if e1.touch.writes() && e2.touch.writes() => &[Partner::UninitialisedRead, Partner::Write],
        Rule::A if e2.touch.reads() => &[Partner::Write],
        Rule::A => &[],
        Rule::B => &[Partner::LastWrite, Partner::UninitialisedRead],
    };
    let mut bad = Vec::new();
    if !kinds.iter().any(|&kind| accesses.is_open_somewhere(e1.location, kind, holding)) {
        return bad;
    }
    for group in accesses.groups(e1.location) {
        *steps += 2;
        if group.thread == unit.thread || !kinds.iter().any(|&kind| accesses.is_open(group, kind, holding)) {
            continue;
        }
        let classes = accesses.concurrent_classes(group, unit.period);
        *steps += classes.len() as u64;
        for class in classes {
            if breaks(class, e1.touch, e2.touch, rule) && !accesses.locksets.exclude(holding, class.locks) {
                bad.push(class_number(accesses, class));
                if bad.len() == MOST_CLASSES {
                    return bad;
                }
            }
        }
    }
    bad
}

/// Whether an access of this class must not come between the two.
fn breaks(class: &Class, e1: Touch, e2: Touch, rule: Rule) -> bool {
    let Class { touch, role, .. } = class;
    let bad = match rule {
        Rule::A => e2.reads() && touch.writes() || e1.writes() && e2.writes() && role.is_uninitialised_read(),
        Rule::B => role.is_final_write() || touch.writes() && role.is_uninitialised_read(),
    };
    bad && touch.conflicts(e1) && touch.conflicts(e2)
}

fn class_number(accesses: &Accesses<'_>, class: &Class) -> u32 {
    // Classes have disjoint ranges of members, in order.
    accesses.classes.partition_point(|other| other.members.start < class.members.start) as u32
}

/// The access of a class that is nearest in the trace.
fn nearest(accesses: &Accesses<'_>, class: &Class, here: EventId) -> u32 {
    let members = &accesses.by_class[class.members.start as usize..class.members.end as usize];
    let at = |number: u32| accesses.access(number).at;
    let after = members.partition_point(|&number| at(number) < here);
    let around = [after.checked_sub(1), Some(after)].into_iter().flatten().filter_map(|i| members.get(i));
    around.copied().min_by_key(|&number| at(number).0.abs_diff(here.0)).unwrap_or(members[0])
}
