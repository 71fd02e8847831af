//! Tests of both forms of AeroDrome: the papers' traces, the oracle, and each other.

use atomvet_trace::{Event, EventId, LockId, Mode, Op, RegionId, SiteId, ThreadId, UpdateKind, VarId};

use super::AeroDrome;
use crate::lower::Lowered;
use crate::notation;
use crate::observed::aerodrome_basic::AeroDromeBasic;
use crate::oracle::random::{self, Random};
use crate::{Checker, Config, Finding, Findings, Observed, Stats, oracle};

const PLAIN: Config =
    Config { commuting_updates: false, split_at_waits: false, conflicts: atomvet_trace::Conflicts::Locks };

const CONFIGS: [Config; 4] = [
    PLAIN,
    Config { commuting_updates: true, split_at_waits: false, conflicts: atomvet_trace::Conflicts::Locks },
    Config { commuting_updates: false, split_at_waits: true, conflicts: atomvet_trace::Conflicts::Locks },
    Config { commuting_updates: true, split_at_waits: true, conflicts: atomvet_trace::Conflicts::Locks },
];

struct Outcome {
    list: Vec<Finding>,
    first: Option<u64>,
    /// Whether something was found before the end of the trace.
    before_the_end: bool,
    stats: Stats,
}

fn run<R: Observed>(config: &Config, events: &[Event]) -> Outcome {
    let mut checker = Lowered::with(R::new(config), config);
    let mut out = Findings::all_instances(config);
    for (at, &event) in events.iter().enumerate() {
        checker.event(EventId(at as u64), event, &mut out);
    }
    let before_the_end = out.first_cycle.is_some();
    let stats = checker.finish(&mut out);
    Outcome { list: out.list, first: out.first_cycle.map(|at| at.0), before_the_end, stats }
}

/// Runs both forms, which must find the same, and gives what the optimised one found.
#[track_caller]
fn both(config: &Config, events: &[Event]) -> Outcome {
    let basic = run::<AeroDromeBasic>(config, events);
    let fast = run::<AeroDrome>(config, events);
    if basic.first != fast.first || basic.list != fast.list {
        let names = atomvet_trace::Names::default();
        panic!(
            "the forms differ: {:?} and {:?} on {}",
            basic.list,
            fast.list,
            notation::show(events, &names)
        );
    }
    fast
}

#[track_caller]
fn check_with(config: &Config, trace: &str, first: Option<u64>) {
    assert_eq!(both(config, &notation::parse(trace).0).first, first, "{trace}");
}

#[track_caller]
fn check(trace: &str, first: Option<u64>) {
    check_with(&PLAIN, trace, first);
}

#[test]
fn the_papers_traces() {
    check("1:b 1:w(x) 2:b 2:r(x) 2:e 3:b 3:w(z) 3:e 1:r(z) 1:e", None);
    check("1:b 2:b 1:w(x) 2:r(x) 2:w(y) 1:r(y) 1:e 2:e", Some(5));
    check("1:b 2:b 1:w(x) 2:w(y) 1:r(y) 2:r(x) 1:e 2:e", Some(6));
    check("1:b 1:w(x) 2:b 2:w(y) 2:r(x) 2:e 3:b 3:r(y) 3:w(z) 3:e 1:r(z) 1:e", Some(10));
    let alpha1 = "1:b 1:w(x) 2:b 2:w(y) 2:r(x) 3:b 3:r(y) 3:r(q) 2:e 2:b 3:e 3:b 3:w(z) 1:r(z) 1:e 2:e 3:e";
    check(alpha1, Some(13));
    let alpha3 = "1:b 1:r(x) 2:b 2:w(y) 2:w(x) 3:b 3:r(y) 3:r(x) 2:e 2:b 3:e 3:b 3:w(z) 1:r(z) 1:e 2:e 3:e";
    check(alpha3, Some(13));
}

#[test]
fn where_the_print_needs_care() {
    // A thread's events outside blocks are transactions of their own.
    check("1:b 1:w(a) 0:w(b) 0:r(a) 1:r(b) 1:e", None);
    check("1:b 1:r(x) 2:w(x) 1:w(x) 1:e", Some(3));
    check("0:b 0:fork(1) 0:join(1) 0:e", None);
    check("0:b 0:fork(1) 1:r(x) 0:join(1) 0:e", Some(3));
    // Cut off: the cycle has two transactions that never end.
    check("1:b 2:b 1:w(x) 2:w(y) 1:r(y) 2:r(x)", Some(5));
    check("1:b 2:b 1:w(x) 2:r(x)", None);
}

#[test]
fn groups_and_channels() {
    // Two readers that do not know each other, then a writer that read before.
    check("1:b 1:r(x) 2:r(x) 1:w(x) 1:e", None);
    check("1:b 1:w(y) 1:r(x) 2:r(y) 2:r(x) 1:w(x) 1:e", Some(5));
    // An own shared release is no reason to complain; another's is, if it knows the block.
    check("1:b 1:racq(l) 1:rrel(l) 2:racq(l) 2:rrel(l) 1:acq(l) 1:rel(l) 1:e", None);
    check("1:b 1:w(x) 1:racq(l) 1:rrel(l) 2:r(x) 2:racq(l) 2:rrel(l) 1:acq(l) 1:rel(l) 1:e", Some(7));
    // A shared acquire is after exclusive releases only.
    check("1:b 1:racq(l) 1:rrel(l) 2:acq(l) 2:rel(l) 1:racq(l) 1:rrel(l) 1:e", Some(5));
    check("1:b 1:w(x) 2:racq(l) 2:r(x) 2:rrel(l) 1:racq(l) 1:rrel(l) 1:e", None);
    // A new life is a new variable.
    check("1:b 1:alloc(x) 1:r(x) 2:w(x) 1:w(x) 1:e", Some(4));
    check("1:b 1:r(x) 2:w(x) 2:free(x) 1:w(x) 1:e", None);
    let commuting = CONFIGS[1];
    check("1:b 1:add(x) 2:add(x) 1:add(x) 1:e", Some(3));
    check_with(&commuting, "1:b 1:add(x) 2:add(x) 1:add(x) 1:e", None);
    check_with(&commuting, "1:b 1:add(x) 2:add(x) 2:r(x) 1:add(x) 1:e", Some(4));
    check_with(&commuting, "1:b 1:add(x) 2:or(x) 1:add(x) 1:e", Some(3));
    check_with(&commuting, "1:b 1:rmw(x) 2:rmw(x) 1:rmw(x) 1:e", Some(3));
}

#[test]
fn every_transaction_is_reported_once() {
    let (events, _) =
        notation::parse("1:b 1:r(x) 2:w(x) 1:w(x) 2:w(x) 1:w(x) 1:e 1:b 1:r(x) 2:w(x) 1:w(x) 1:e");
    let found: Vec<_> =
        both(&PLAIN, &events).list.iter().map(|f| (f.transaction.begin.0, f.event.at.0)).collect();
    assert_eq!(found, [(0, 3), (7, 10)]);
}

#[test]
fn random_traces_have_the_oracles_verdict() {
    let mut random = Random(0xae40_d407);
    let mut not_serializable = 0;
    let mut at_the_end = 0;
    for round in 0..20_000 {
        let length = 4 + random.below(if round % 10 == 0 { 40 } else { 20 });
        let events = random::trace(&mut random, length);
        let config = CONFIGS[round % 4];
        let outcome = both(&config, &events);
        let verdict = oracle::judge(&config, &events);
        let text = || notation::show(&events, &atomvet_trace::Names::default());
        assert_eq!(outcome.first.is_none(), verdict.serializable, "{config:?} {}", text());
        assert!(outcome.first >= verdict.first_cycle_event.map(|at| at.0), "{config:?} {}", text());
        not_serializable += u32::from(!verdict.serializable);
        at_the_end += u32::from(!verdict.serializable && !outcome.before_the_end);
    }
    // The comparison means something only if both verdicts are frequent.
    assert!((3_000..17_000).contains(&not_serializable), "{not_serializable} of 20000");
    assert!(at_the_end > 20, "{at_the_end} found at the end");
}

/// A long trace of up to 40 threads, most of whose accesses are under locks, so that violations are
/// rare and most knowledge is old. Threads appear one by one.
fn long_trace(random: &mut Random, length: usize) -> Vec<Event> {
    let most_threads = 2 + random.below(39);
    let (variables, locks) = (1 + random.below(40), 1 + random.below(6));
    let careless = random.below(40);
    let mut holder: Vec<Option<usize>> = vec![None; locks];
    let mut threads: Vec<(usize, Option<usize>)> = vec![(0, None); most_threads];
    let mut events = Vec::new();
    while events.len() < length {
        let thread = random.below((1 + events.len() * 2 * most_threads / length).min(most_threads));
        let (depth, held) = threads[thread];
        let x = random.below(variables);
        let guarded = held.is_some_and(|lock| x % locks == lock) || random.below(1000) < careless;
        let op = match (random.below(10), held) {
            (0, _) if depth < 2 => {
                threads[thread].0 += 1;
                Op::Begin(RegionId::NONE)
            }
            (1 | 2, None) if depth > 0 => {
                threads[thread].0 -= 1;
                Op::End
            }
            (1..=3, None) if holder[x % locks].is_none() => {
                (holder[x % locks], threads[thread].1) = (Some(thread), Some(x % locks));
                Op::Acquire(LockId((x % locks) as u32), Mode::Exclusive)
            }
            (3, Some(lock)) => {
                (holder[lock], threads[thread].1) = (None, None);
                Op::Release(LockId(lock as u32), Mode::Exclusive)
            }
            // Variables that nobody writes are read without locks.
            (4, _) => Op::read(VarId((variables + x % 4) as u32)),
            (5, _) => Op::Update(VarId((variables + 4) as u32), UpdateKind::Add),
            (6 | 7, _) if guarded => Op::write(VarId(x as u32)),
            _ if guarded => Op::read(VarId(x as u32)),
            _ => continue,
        };
        events.push(Event { thread: ThreadId(thread as u32), op, site: SiteId::NONE });
    }
    events
}

#[test]
fn both_forms_agree_on_long_traces() {
    let mut random = Random(0x70_4e55);
    let (mut quiet, mut transactions, mut found) = (0, 0, 0);
    for round in 0..300 {
        let length = 200 + random.below(2_000);
        let events = long_trace(&mut random, length);
        let outcome = both(&CONFIGS[round % 2], &events);
        quiet += usize::from(outcome.list.is_empty());
        found += outcome.list.len() as u64;
        transactions += figure(&outcome.stats, "transactions");
        assert_eq!(figure(&outcome.stats, "ends"), figure(&outcome.stats, "transactions"));
    }
    // Else the clocks say no more than "everything knows everything".
    assert!(found > 1_000 && found * 4 < transactions, "{found} of {transactions}, {quiet} quiet");
}

#[track_caller]
fn figure(stats: &Stats, name: &str) -> u64 {
    stats.0.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no figure {name}")).1
}

/// A long trace over few variables holds few clocks, also while a transaction runs that all others
/// know, and where groups of readers come and go.
#[test]
fn memory_is_bounded_by_live_state() {
    let round = "1:b 1:acq(l) 1:w(x) 1:rel(l) 1:r(z) 1:e 2:b 2:acq(l) 2:w(x) 2:rel(l) 2:r(z) 2:e 2:alloc(z)";
    for begin in ["", "0:b 0:w(x)"] {
        let trace = format!("{begin} {}", format!("{round} ").repeat(500));
        let (events, _) = notation::parse(&trace);
        let outcome = both(&PLAIN, &events);
        assert_eq!(outcome.first, None);
        let most = figure(&outcome.stats, "most clocks held");
        assert!(most < 40, "{most} clocks held");
    }
}
