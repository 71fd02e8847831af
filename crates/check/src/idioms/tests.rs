//! Each idiom on a minimal trace and its near misses; the search against a naive reading of the definitions; labels
//! against the oracle.

use std::collections::BTreeSet;

use atomvet_trace::{SiteId, UpdateKind};

use super::*;
use crate::notation::parse;
use crate::oracle::random::{Random, trace};
use crate::{Findings, oracle};

/// The events that are taken out.
fn named(idioms: &[Idiom], events: &[Event]) -> Vec<usize> {
    let reduced = without(idioms, events).0;
    (0..events.len()).filter(|&i| reduced[i] != events[i]).collect()
}

fn without(idioms: &[Idiom], events: &[Event]) -> (Vec<Event>, Accesses) {
    let mut search = Search::new(idioms);
    search.events(EventId(0), events);
    let mut accesses = search.finish();
    let mut reduced = events.to_vec();
    accesses.take_out(EventId(0), &mut reduced);
    (reduced, accesses)
}

#[track_caller]
fn check(idiom: Idiom, text: &str, expected: &[usize]) {
    assert_eq!(named(&[idiom], &parse(text).0), expected, "{text}");
}

#[test]
fn hints_are_read_again_under_a_lock() {
    let check = |text: &str, expected: &[usize]| check(Idiom::HintReads, text, expected);
    check("1:b 1:r(x) 1:acq(l) 1:r(x) 1:w(x) 1:rel(l) 1:e", &[1]);
    check("1:b 1:r(x) 1:r(y) 1:acq(l) 1:r(x) 1:rel(l) 1:e", &[1]);
    check("1:b 1:r(x) 1:acq(l) 1:rmw(x) 1:rel(l) 1:e", &[1]);
    check("1:b 1:acq(m) 1:r(x) 1:rel(m) 1:acq(l) 1:r(x) 1:rel(l) 1:e", &[2]);
    // Not read again; not under a lock; under one that was held before; after an effect; in another block; outside.
    check("1:b 1:r(x) 1:acq(l) 1:w(x) 1:rel(l) 1:e", &[]);
    check("1:b 1:r(x) 1:r(x) 1:w(x) 1:e", &[]);
    check("1:b 1:acq(l) 1:r(x) 1:r(x) 1:w(x) 1:rel(l) 1:e", &[]);
    check("1:b 1:r(x) 1:w(y) 1:acq(l) 1:r(x) 1:rel(l) 1:e", &[]);
    check("1:b 1:r(x) 1:e 1:b 1:acq(l) 1:r(x) 1:rel(l) 1:e", &[]);
    check("1:r(x) 1:acq(l) 1:r(x) 1:rel(l)", &[]);
}

/// A trace in which events of a name have one site per name: `@s` behind an event.
fn with_sites(text: &str) -> Vec<Event> {
    let words: Vec<(&str, Option<&str>)> = text
        .split_whitespace()
        .map(|word| word.split_once('@').map_or((word, None), |(w, s)| (w, Some(s))))
        .collect();
    let plain: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let mut events = parse(&plain.join(" ")).0;
    for (event, (_, site)) in events.iter_mut().zip(&words) {
        event.site = site.map_or(SiteId::NONE, |site| SiteId(u32::from(site.as_bytes()[0])));
    }
    events
}

#[test]
fn failed_rounds_of_a_retry_loop() {
    let check = |text: &str, expected: &[usize]| {
        assert_eq!(named(&[Idiom::RetryLoops], &with_sites(text)), expected, "{text}");
    };
    check("1:b 1:r(x)@l 1:r(x)@c 1:rmw(x)@c 1:e", &[1, 2]);
    check("1:b 1:r(q)@a 1:r(x)@l 1:r(y)@m 1:r(x)@c 1:r(x)@l 1:r(y)@m 1:rmw(x)@c 1:e", &[2, 3, 4]);
    // No failed round; another place; no place; an effect, or a lock, in the round; a commuting update is no exchange.
    check("1:b 1:r(x)@l 1:rmw(x)@c 1:e", &[]);
    check("1:b 1:r(x)@l 1:r(x)@d 1:rmw(x)@c 1:e", &[]);
    check("1:b 1:r(x) 1:r(x) 1:rmw(x) 1:e", &[]);
    check("1:b 1:r(x)@l 1:r(x)@c 1:w(y)@m 1:rmw(x)@c 1:e", &[]);
    check("1:b 1:r(x)@l 1:r(x)@c 1:acq(m)@m 1:rmw(x)@c 1:rel(m)@m 1:e", &[]);
    check("1:b 1:r(x)@l 1:r(x)@c 1:add(x)@c 1:e", &[]);
}

#[test]
fn others_look_at_a_counter() {
    let check = |text: &str, expected: &[usize]| check(Idiom::SingleWriterCounters, text, expected);
    check("1:r(x) 1:w(x) 2:r(x) 1:r(x) 1:w(x) 2:r(x)", &[2, 5]);
    check("0:w(x) 1:add(x) 2:r(x) 1:add(x)", &[2]);
    // Counted once; set while shared; two writers; read by nobody else; a flag; another life.
    check("1:r(x) 1:w(x) 2:r(x)", &[]);
    check("1:r(x) 1:w(x) 2:r(x) 1:w(x) 1:r(x) 1:w(x)", &[]);
    check("1:add(x) 2:add(x) 1:add(x) 2:r(x)", &[]);
    check("1:add(x) 1:add(x) 1:r(x)", &[]);
    check("1:r(x) 1:r(y) 1:w(x) 2:r(x) 1:r(x) 1:w(x)", &[]);
    check("1:add(x) 1:alloc(x) 1:add(x) 2:r(x)", &[]);
}

#[test]
fn writes_that_change_nothing() {
    let check = |text: &str, expected: &[usize]| check(Idiom::SameValueWrites, text, expected);
    check("1:b 1:same(x) 2:r(x) 1:w(x) 2:rmw(x) 2:add(x) 1:same(y) 1:e", &[1, 6]);
}

#[test]
fn commuting_updates_change_how_a_trace_is_understood() {
    let (events, _) = parse("1:b 1:add(x) 2:add(x) 1:add(x) 1:e");
    let (reduced, accesses) = without(&[Idiom::CommutingUpdates], &events);
    assert_eq!(reduced, events);
    assert!(accesses.config(&Config::default()).commuting_updates);
    assert_eq!(accesses.idiom_of(EventId(1)), Some(Idiom::CommutingUpdates));
    assert_eq!(accesses.idiom_of(EventId(0)), None);
}

/// The definitions, word for word.
struct Naive<'a>(&'a [Event]);

impl Naive<'_> {
    fn is_named(&self, idiom: Idiom, i: usize) -> bool {
        match (idiom, self.0[i].op) {
            (Idiom::HintReads, Op::Read(x, _)) => {
                (i + 1..self.0.len()).any(|j| self.repeats_under_lock(i, j, x))
            }
            (Idiom::RetryLoops, Op::Read(..)) => (i + 1..self.0.len()).any(|j| self.ends_loop(i, j)),
            (Idiom::SingleWriterCounters, Op::Read(x, _)) => self.looks_at_counter(i, x),
            (Idiom::SameValueWrites, Op::Update(_, kind)) => kind == UpdateKind::Same,
            _ => false,
        }
    }

    fn same_thread(&self, i: usize, j: usize) -> bool {
        self.0[i].thread == self.0[j].thread
    }

    /// The begin of the outermost block that an event is inside of.
    fn block(&self, i: usize) -> Option<usize> {
        let (mut depth, mut outermost) = (0, None);
        for j in (0..i).filter(|&j| self.same_thread(i, j)) {
            match self.0[j].op {
                Op::Begin(_) => {
                    outermost = outermost.or(Some(j));
                    depth += 1;
                }
                Op::End => {
                    depth -= 1;
                    outermost = outermost.filter(|_| depth > 0);
                }
                _ => {}
            }
        }
        outermost
    }

    fn life(&self, x: VarId, i: usize) -> usize {
        self.0[..i].iter().filter(|e| matches!(e.op, Op::Alloc(y) | Op::Free(y) if y == x)).count()
    }

    /// Events of the same thread in between.
    fn between(&self, i: usize, j: usize) -> impl Iterator<Item = Op> {
        (i + 1..j).filter(move |&k| self.same_thread(i, k)).map(|k| self.0[k].op)
    }

    fn repeats_under_lock(&self, i: usize, j: usize, x: VarId) -> bool {
        let reads = matches!(self.0[j].op, Op::Read(y, _) | Op::Update(y, _) if y == x);
        let acts = |op| {
            matches!(
                op,
                Op::Write(..) | Op::Update(..) | Op::Fork(_) | Op::Join(_) | Op::Barrier(_) | Op::Wait(_)
            )
        };
        // Locks taken since, and not given back.
        let mut taken = Vec::new();
        for op in self.between(i, j) {
            match op {
                Op::Acquire(l, _) => taken.push(l),
                Op::Release(l, _) => {
                    if let Some(at) = taken.iter().rposition(|taken| *taken == l) {
                        taken.remove(at);
                    }
                }
                _ => {}
            }
        }
        reads
            && self.same_thread(i, j)
            && self.block(i).is_some()
            && self.block(i) == self.block(j)
            && self.life(x, i) == self.life(x, j)
            && !self.between(i, j).any(acts)
            && !taken.is_empty()
    }

    /// `j` is a successful compare-exchange, and `i` a read of one of the failed rounds before it.
    fn ends_loop(&self, i: usize, j: usize) -> bool {
        let Op::Update(x, UpdateKind::Other) = self.0[j].op else { return false };
        let of_it = |k: usize| {
            matches!(self.0[k].op, Op::Read(y, _) if y == x)
                && self.same_thread(k, j)
                && self.life(x, k) == self.life(x, j)
        };
        let only_reads = |k: usize| {
            let inert = |op| {
                !matches!(
                    op,
                    Op::Write(..)
                        | Op::Update(..)
                        | Op::Fork(_)
                        | Op::Join(_)
                        | Op::Barrier(_)
                        | Op::Wait(_)
                        | Op::Acquire(..)
                        | Op::Release(..)
                )
            };
            self.between(k, j).all(inert) && self.block(k).is_some() && self.block(k) == self.block(j)
        };
        self.0[j].site != SiteId::NONE
            && self.same_thread(i, j)
            && (0..=i).any(|start| of_it(start) && only_reads(start))
            && (i..j).any(|last| of_it(last) && self.0[last].site == self.0[j].site && only_reads(last))
    }

    fn looks_at_counter(&self, i: usize, x: VarId) -> bool {
        let touches = |op| match op {
            Op::Read(y, _) | Op::Write(y, _) | Op::Update(y, _) => y == x,
            _ => false,
        };
        let life: Vec<usize> = (0..self.0.len())
            .filter(|&j| touches(self.0[j].op) && self.life(x, j) == self.life(x, i))
            .collect();
        let counts_up = |j: usize| {
            let before = (0..j).rev().find(|&k| self.same_thread(j, k) && self.0[k].op != Op::Skip);
            match self.0[j].op {
                Op::Write(..) => before.is_some_and(|k| matches!(self.0[k].op, Op::Read(y, _) if y == x)),
                op => op == Op::Update(x, UpdateKind::Add),
            }
        };
        let is_shared =
            |j: usize| life.iter().take_while(|&&k| k <= j).any(|&k| !self.same_thread(k, life[0]));
        let ups: Vec<usize> = life.iter().copied().filter(|&j| counts_up(j)).collect();
        let others_write_alone =
            life.iter().all(|&j| matches!(self.0[j].op, Op::Read(..)) || counts_up(j) || !is_shared(j));
        ups.len() >= 2
            && ups.iter().all(|&j| self.same_thread(j, ups[0]))
            && is_shared(*life.last().expect("at least the read"))
            && others_write_alone
            && !self.same_thread(i, ups[0])
    }
}

fn random_trace(random: &mut Random) -> Vec<Event> {
    let length = 6 + random.below(30);
    let mut events = trace(random, length);
    for event in &mut events {
        if !matches!(event.op, Op::Begin(_)) {
            event.site = random.pick(&[SiteId::NONE, SiteId(0), SiteId(0), SiteId(1)]);
        }
        // The generator makes few successful compare-exchanges and few repeated reads.
        if let Op::Write(x, _) = event.op
            && random.below(3) == 0
        {
            event.op = Op::Update(x, random.pick(&[UpdateKind::Other, UpdateKind::Add, UpdateKind::Same]));
        }
    }
    events
}

#[test]
fn the_search_names_what_the_definitions_name() {
    let mut random = Random(5);
    let mut times = [0; 4];
    for _ in 0..40_000 {
        let events = random_trace(&mut random);
        for (idiom, times) in Idiom::ALL[..4].iter().zip(&mut times) {
            let naive = Naive(&events);
            let expected: Vec<usize> = (0..events.len()).filter(|&i| naive.is_named(*idiom, i)).collect();
            assert_eq!(named(&[*idiom], &events), expected, "{idiom:?} {events:#?}");
            *times += usize::from(!expected.is_empty());
        }
    }
    assert!(times.iter().all(|&times| times > 100), "{times:?}");
}

/// The blocks that the exact algorithm finds violated, by their begins.
fn violated(config: &Config, events: &[Event]) -> BTreeSet<EventId> {
    let mut out = Findings::all_instances(config);
    let mut checker = (crate::registry::CHECKERS[0].new)(config);
    checker.events(EventId(0), events, &mut out);
    checker.finish(&mut out);
    out.list.iter().filter_map(|finding| Some(finding.block?.begin)).collect()
}

#[test]
fn labels_are_what_the_oracle_says() {
    let mut random = Random(6);
    let (mut labelled, mut kept) = (0, 0);
    for _ in 0..25_000 {
        let events = random_trace(&mut random);
        let config =
            Config { commuting_updates: false, split_at_waits: random.below(2) == 0, ..Config::default() };
        let idioms: Vec<Idiom> = Idiom::ALL.iter().copied().filter(|_| random.below(2) == 0).collect();
        let (reduced, accesses) = without(&idioms, &events);
        let found = violated(&config, &events);
        let left = violated(&accesses.config(&config), &reduced);
        let benign: BTreeSet<EventId> = found.difference(&left).copied().collect();

        let naive = Naive(&events);
        let is_named = |i: usize| idioms.iter().any(|idiom| naive.is_named(*idiom, i));
        let taken_out: Vec<Event> = (0..events.len())
            .map(|i| if is_named(i) { Event { op: Op::Local, ..events[i] } } else { events[i] })
            .collect();
        let commuting = idioms.contains(&Idiom::CommutingUpdates);
        let judged = |config: &Config, events: &[Event]| oracle::judge(config, events).violated_blocks;
        let without = judged(&Config { commuting_updates: commuting, ..config }, &taken_out);
        let expected: BTreeSet<EventId> =
            judged(&config, &events).into_iter().filter(|block| !without.contains(block)).collect();
        assert_eq!(benign, expected, "{idioms:?} {events:#?}");
        // Nothing new appears: fewer conflicts order less.
        assert!(left.is_subset(&found), "{idioms:?} {events:#?}");
        labelled += usize::from(!benign.is_empty());
        kept += usize::from(!left.is_empty());
    }
    assert!(labelled > 100 && kept > 100, "{labelled} {kept}");
}
