//! The same verdicts, one interleaving after the other, straight from the definitions: the judge of the judge.
//! Shares nothing with the search. For programs of a dozen events.

use atomvet_trace::{Event, EventId, Mode, Op};

use super::Truth;

/// None if there are more than so many interleavings that go as far as they can.
pub(super) fn naive(events: &[Event], most: usize) -> Option<Truth> {
    let program = Program::new(events);
    let mut all = Vec::new();
    program.interleavings(&mut Vec::new(), Values::Any, most, &mut all)?;
    let mut faithful = Vec::new();
    program.interleavings(&mut Vec::new(), Values::AsRecorded, most, &mut faithful)?;
    let is_complete = |order: &Vec<usize>| order.len() == events.len();
    let complete: Vec<&Vec<usize>> = all.iter().filter(|order| is_complete(order)).collect();
    let serial: Vec<Looks> =
        program.serial_orders(&mut Vec::new(), most)?.iter().map(|order| program.looks(order)).collect();
    let units: Vec<usize> =
        program.unit_of.iter().enumerate().filter(|(i, unit)| i == *unit).map(|(i, _)| i).collect();
    let violated_in =
        |orders: &[Vec<usize>], unit: usize| orders.iter().any(|order| program.violates(order, unit));
    let violable: Vec<usize> = units.iter().copied().filter(|&unit| violated_in(&all, unit)).collect();
    let schedulable = violable.iter().filter(|&&unit| violated_in(&faithful, unit));
    Some(Truth {
        deadlock_possible: complete.len() < all.len(),
        conflict_atomic: !complete.iter().any(|order| program.has_cycle(order)),
        view_atomic: complete.iter().all(|order| serial.contains(&program.looks(order))),
        schedulable: schedulable.map(|&unit| EventId(unit as u64)).collect(),
        violable: violable.into_iter().map(|unit| EventId(unit as u64)).collect(),
    })
}

/// Per reading event its writer, by events; then the last writer of each event's variable.
type Looks = (Vec<Option<usize>>, Vec<Option<usize>>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    Any,
    AsRecorded,
}

struct Program<'a> {
    events: &'a [Event],
    /// Per event, the first event of its unit.
    unit_of: Vec<usize>,
    /// Per event, what comes before it in every interleaving, directly.
    fixed: Vec<Vec<usize>>,
    recorded: Vec<Option<usize>>,
}

impl<'a> Program<'a> {
    fn new(events: &'a [Event]) -> Self {
        let mut program =
            Program { events, unit_of: unit_of(events), fixed: fixed(events), recorded: Vec::new() };
        program.recorded = program.looks(&(0..events.len()).collect::<Vec<_>>()).0;
        program
    }

    /// All orders that cannot be continued. With recorded values, a thread whose last event has seen another
    /// value than recorded goes no further.
    fn interleavings(
        &self,
        order: &mut Vec<usize>,
        values: Values,
        most: usize,
        all: &mut Vec<Vec<usize>>,
    ) -> Option<()> {
        let mut stuck = true;
        for event in 0..self.events.len() {
            if self.is_possible(order, event) && (values == Values::Any || self.may_go_on(order, event)) {
                stuck = false;
                order.push(event);
                self.interleavings(order, values, most, all)?;
                order.pop();
            }
        }
        if stuck {
            all.push(order.clone());
        }
        (all.len() <= most).then_some(())
    }

    /// Unit after unit, as fork, join and barriers allow; locks are ignored.
    fn serial_orders(&self, order: &mut Vec<usize>, most: usize) -> Option<Vec<Vec<usize>>> {
        if order.len() == self.events.len() {
            return Some(vec![order.clone()]);
        }
        let mut all = Vec::new();
        for unit in 0..self.events.len() {
            if self.unit_of[unit] != unit || order.contains(&unit) {
                continue;
            }
            let before = order.len();
            let members: Vec<usize> =
                (unit..self.events.len()).filter(|&event| self.unit_of[event] == unit).collect();
            let possible = members.iter().all(|&event| {
                let possible = self.fixed[event].iter().all(|earlier| order.contains(earlier));
                order.push(event);
                possible
            });
            if possible {
                all.extend(self.serial_orders(order, most)?);
            }
            order.truncate(before);
        }
        (all.len() <= most).then_some(all)
    }

    fn is_possible(&self, order: &[usize], event: usize) -> bool {
        let thread = self.events[event].thread;
        if order.contains(&event) || !self.fixed[event].iter().all(|earlier| order.contains(earlier)) {
            return false;
        }
        let others_hold = |lock, mode| {
            let mut others: Vec<_> = self.events.iter().map(|event| event.thread).collect();
            others.retain(|&other| other != thread);
            others.into_iter().any(|other| {
                let did: Vec<Op> = order
                    .iter()
                    .map(|&e| self.events[e])
                    .filter(|e| e.thread == other)
                    .map(|e| e.op)
                    .collect();
                let count = |wanted| did.iter().filter(|&&op| op == wanted).count();
                let waits = did.last() == Some(&Op::Wait(lock));
                !waits && count(Op::Acquire(lock, mode)) > count(Op::Release(lock, mode))
            })
        };
        let previous = (0..event).rfind(|&earlier| self.events[earlier].thread == thread);
        let regained = match previous.map(|previous| self.events[previous].op) {
            Some(Op::Wait(lock)) => !others_hold(lock, Mode::Exclusive) && !others_hold(lock, Mode::Shared),
            _ => true,
        };
        let taken = match self.events[event].op {
            Op::Acquire(lock, Mode::Exclusive) => {
                !others_hold(lock, Mode::Exclusive) && !others_hold(lock, Mode::Shared)
            }
            Op::Acquire(lock, Mode::Shared) => !others_hold(lock, Mode::Exclusive),
            _ => true,
        };
        regained && taken
    }

    /// The thread has seen what was recorded so far. What an update wrote counts only if it read what was
    /// recorded.
    fn may_go_on(&self, order: &[usize], event: usize) -> bool {
        let sources = self.looks(order).0;
        let mut right = vec![true; self.events.len()];
        for &done in order {
            right[done] =
                sources[done] == self.recorded[done] && sources[done].is_none_or(|source| right[source]);
        }
        order.iter().all(|&done| self.events[done].thread != self.events[event].thread || right[done])
    }

    fn looks(&self, order: &[usize]) -> Looks {
        let mut sources = vec![None; self.events.len()];
        for (i, &event) in order.iter().enumerate() {
            if reads(self.events[event].op) {
                sources[event] = self.last_write(&order[..i], event);
            }
        }
        let last = (0..self.events.len()).map(|event| self.last_write(order, event)).collect();
        (sources, last)
    }

    fn last_write(&self, order: &[usize], event: usize) -> Option<usize> {
        order
            .iter()
            .copied()
            .rfind(|&other| writes(self.events[other].op) && self.same_variable(other, event))
    }

    fn same_variable(&self, one: usize, other: usize) -> bool {
        let variable = |event: usize| {
            let (Op::Read(x, _) | Op::Write(x, _) | Op::Update(x, _)) = self.events[event].op else {
                return None;
            };
            let ends_life = |e: &&Event| e.op == Op::Alloc(x) || e.op == Op::Free(x);
            Some((x, self.events[..event].iter().filter(ends_life).count()))
        };
        variable(one).is_some() && variable(one) == variable(other)
    }

    /// Per position: whether the event there happens before the one at another position.
    fn happens_before(&self, order: &[usize]) -> Vec<Vec<bool>> {
        let mut before = vec![vec![false; order.len()]; order.len()];
        for later in 0..order.len() {
            for earlier in 0..later {
                let (e, f) = (order[earlier], order[later]);
                let conflict =
                    self.same_variable(e, f) && (writes(self.events[e].op) || writes(self.events[f].op));
                if conflict || self.fixed[f].contains(&e) {
                    before[earlier][later] = true;
                }
            }
        }
        close(&mut before);
        before
    }

    fn violates(&self, order: &[usize], unit: usize) -> bool {
        let before = self.happens_before(order);
        let inside: Vec<bool> = order.iter().map(|&event| self.unit_of[event] == unit).collect();
        let all = || 0..order.len();
        all().any(|e| {
            inside[e] && all().any(|x| !inside[x] && before[e][x] && all().any(|f| inside[f] && before[x][f]))
        })
    }

    fn has_cycle(&self, order: &[usize]) -> bool {
        let before = self.happens_before(order);
        let mut edges = vec![vec![false; self.events.len()]; self.events.len()];
        for e in 0..order.len() {
            for f in 0..order.len() {
                let (from, to) = (self.unit_of[order[e]], self.unit_of[order[f]]);
                edges[from][to] |= from != to && before[e][f];
            }
        }
        close(&mut edges);
        (0..edges.len()).any(|unit| edges[unit][unit])
    }
}

fn close(relation: &mut [Vec<bool>]) {
    for through in 0..relation.len() {
        for from in 0..relation.len() {
            if relation[from][through] {
                let further = relation[through].clone();
                relation[from].iter_mut().zip(further).for_each(|(reaches, further)| *reaches |= further);
            }
        }
    }
}

fn reads(op: Op) -> bool {
    matches!(op, Op::Read(..) | Op::Update(..))
}

fn writes(op: Op) -> bool {
    matches!(op, Op::Write(..) | Op::Update(..))
}

/// Program order, fork, join and barriers, directly. Threads are forked at most once, and each barrier has
/// one episode: the programs that this is for are like that.
fn fixed(events: &[Event]) -> Vec<Vec<usize>> {
    let mut fixed = vec![Vec::new(); events.len()];
    for (f, later) in events.iter().enumerate() {
        let previous = (0..f).rfind(|&e| events[e].thread == later.thread);
        for (e, earlier) in events[..f].iter().enumerate() {
            let leaves = previous
                .is_some_and(|p| matches!(events[p].op, Op::Barrier(_)) && events[p].op == earlier.op);
            let forks_joined = matches!((earlier.op, later.op), (Op::Fork(u), Op::Join(v)) if u == v);
            if earlier.thread == later.thread
                || earlier.op == Op::Fork(later.thread)
                || later.op == Op::Join(earlier.thread)
                || leaves
                || forks_joined
            {
                fixed[f].push(e);
            }
        }
    }
    fixed
}

/// By looking back from each event for the first one of its unit.
fn unit_of(events: &[Event]) -> Vec<usize> {
    let mut unit_of = Vec::new();
    for (i, event) in events.iter().enumerate() {
        let own: Vec<usize> = (0..i).filter(|&j| events[j].thread == event.thread).collect();
        let count = |wanted: fn(Op) -> bool| own.iter().filter(|&&j| wanted(events[j].op)).count();
        let in_block = count(|op| matches!(op, Op::Begin(_))) > count(|op| op == Op::End);
        let sections = count(|op| matches!(op, Op::Acquire(..))) - count(|op| matches!(op, Op::Release(..)));
        // A wait leaves one of them, up to the next event.
        let waits = own.last().is_some_and(|&last| matches!(events[last].op, Op::Wait(_)));
        let in_section = sections > usize::from(waits);
        let starts = match event.op {
            Op::Join(_) => true,
            Op::Begin(_) if !in_block => true,
            _ => match own.last() {
                None => true,
                Some(&last) if matches!(events[last].op, Op::Fork(_) | Op::Barrier(_)) => true,
                Some(&last) if events[last].op == Op::End => !in_block,
                Some(_) => !in_block && !in_section,
            },
        };
        let unit = if starts { i } else { own.last().map_or(i, |&last| unit_of[last]) };
        unit_of.push(unit);
    }
    unit_of
}
