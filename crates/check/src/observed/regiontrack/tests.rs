use atomvet_trace::r#gen::{Config as Trace, Features, Generator, Kind as TraceKind};
use atomvet_trace::{Conflicts, Event, EventId, Op, RegionId, SiteId};

use super::*;
use crate::Checker;
use crate::lower::Lowered;
use crate::notation;
use crate::oracle::{judge, random};

fn run(config: &Config, history: History, events: &[Event]) -> (Option<EventId>, Vec<EventId>) {
    let mut out = Findings::all_instances(config);
    let mut checker = Lowered::with(RegionTrack::with_history(history), config);
    for (i, &event) in events.iter().enumerate() {
        checker.event(EventId(i as u64), event, &mut out);
    }
    let _ = checker.finish(&mut out);
    let mut blocks: Vec<_> = out.list.iter().filter_map(|f| Some(f.block?.begin)).collect();
    blocks.sort();
    (out.first_cycle, blocks)
}

#[test]
fn equals_the_oracle_with_and_without_compaction() {
    let mut not_serializable = 0;
    for seed in 0..20_000 {
        let events = random::trace(&mut random::Random(seed), 8 + seed as usize % 30);
        let config = Config {
            commuting_updates: seed % 2 == 1,
            split_at_waits: seed % 4 >= 2,
            conflicts: if seed % 8 >= 4 { Conflicts::Data } else { Conflicts::Locks },
        };
        let verdict = judge(&config, &events);
        let expected = (verdict.first_cycle_event, verdict.violated_blocks);
        // With and without compaction, with dense rows, sparse ones, and such that become sparse.
        let histories = [(24, 64), (1 << 16, 0), (24, 0), (1 << 16, 2), (40, 3)];
        let histories = histories.map(|(budget, dense_lanes)| History::with(budget, dense_lanes));
        for history in histories.into_iter().chain([History::new()]) {
            assert_eq!(run(&config, history, &events), expected, "seed {seed}: {events:?}");
        }
        not_serializable += usize::from(!verdict.serializable);
    }
    assert!(not_serializable > 2_000, "{not_serializable} traces were not serializable");
}

#[test]
fn only_the_innermost_block_that_an_event_violates_is_said_to_be_so() {
    // T1: [ w(y) [ w(z)             w(x) ] ]     by T2 the write violates the outer block only, by T3 both
    // T2:               r(y) r(x)
    // T3:               r(z) r(x)
    let trace = "1:b 1:w(y) 1:b 1:w(z) 2:r(y) 2:r(x) 3:r(z) 3:r(x) 1:w(x)";
    let (events, _) = notation::parse(trace);
    let config = Config::default();
    let mut out = Findings::all_instances(&config);
    let mut checker = Lowered::with(RegionTrack::new(&config), &config);
    for (i, &event) in events.iter().enumerate() {
        checker.event(EventId(i as u64), event, &mut out);
    }
    let mut blocks: Vec<_> =
        out.list.iter().filter_map(|finding| Some((finding.block?.begin.0, finding.innermost))).collect();
    blocks.sort_unstable();
    assert_eq!(blocks, [(0, false), (2, true)]);
}

#[test]
fn threads_that_come_after_each_other_share_a_lane() {
    let config = Config::default();
    let mut checker = Lowered::with(RegionTrack::with_history(History::new()), &config);
    let mut out = Findings::all_instances(&config);
    let mut at = 0;
    for child in 1..=1000 {
        let work = format!(
            "0:fork({child}) {child}:b {child}:acq(m) {child}:w(x) {child}:rel(m) {child}:e 0:join({child})"
        );
        for event in notation::parse(&work).0 {
            checker.event(EventId(at), event, &mut out);
            at += 1;
        }
    }
    assert!(out.list.is_empty());
    assert_eq!(checker.into_rules().threads.len(), 2);
}

/// Random traces with more threads than dense rows have components.
#[test]
fn equals_the_oracle_with_many_threads() {
    let mut not_serializable = 0;
    for seed in 0..120 {
        let trace = Trace {
            kind: TraceKind::Random,
            seed,
            events: 300,
            threads: 60 + seed as u32,
            variables: 2 + seed as u32 % 40,
            locks: 1 + seed as u32 % 20,
            features: if seed % 3 == 0 { Features::PAPER } else { Features::ALL },
            ..Trace::default()
        };
        let mut generator = Generator::new(&trace).expect("the parameters are in range");
        let (mut block, mut events) = (Vec::new(), Vec::new());
        while generator.next_block(&mut block) {
            events.append(&mut block);
        }
        let config = Config {
            commuting_updates: seed % 2 == 1,
            split_at_waits: seed % 4 >= 2,
            conflicts: if seed % 8 >= 4 { Conflicts::Data } else { Conflicts::Locks },
        };
        let verdict = judge(&config, &events);
        let expected = (verdict.first_cycle_event, verdict.violated_blocks);
        for history in [History::new(), History::with(500, 64), History::with(500, 0)] {
            assert_eq!(run(&config, history, &events), expected, "seed {seed}");
        }
        not_serializable += usize::from(!verdict.serializable);
    }
    assert!((20..100).contains(&not_serializable), "{not_serializable} traces were not serializable");
}

/// How many words of clocks are left after these events.
fn words_after(events: impl Iterator<Item = (u32, Op)>) -> usize {
    let config = Config::default();
    let mut checker = Lowered::with(RegionTrack::with_history(History::new()), &config);
    let mut out = Findings::all_instances(&config);
    for (at, (thread, op)) in events.enumerate() {
        let event = Event { thread: ThreadId(thread), op, site: SiteId::NONE };
        checker.event(EventId(at as u64), event, &mut out);
    }
    let RegionTrack { history, reach, .. } = checker.into_rules();
    history.words() + reach.words()
}

const CROWD: u32 = 50_000;

#[test]
fn threads_without_blocks_cost_a_few_words_each() {
    let writes = (0..2 * CROWD).map(|i| (i % CROWD, Op::write(VarId(i % 7))));
    let words = words_after(writes);
    assert!(words < 8 * CROWD as usize, "{words} words");
}

#[test]
fn threads_with_blocks_that_have_ended_cost_a_few_words_each() {
    let blocks = (0..CROWD).flat_map(|thread| {
        let block = [Op::Begin(RegionId::NONE), Op::read(VarId(0)), Op::write(VarId(0)), Op::End];
        block.map(|op| (thread, op))
    });
    let words = words_after(blocks);
    assert!(words < 16 * CROWD as usize, "{words} words");
}

#[test]
fn threads_after_one_open_block_cost_a_few_words_each() {
    let open = [(0, Op::Begin(RegionId::NONE)), (0, Op::write(VarId(0)))];
    let words = words_after(open.into_iter().chain((1..CROWD).map(|thread| (thread, Op::write(VarId(0))))));
    assert!(words < 96 * CROWD as usize, "{words} words");
}
