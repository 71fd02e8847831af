use atomvet_trace::{Event, EventId};

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
        let config = Config { commuting_updates: seed % 2 == 1, split_at_waits: seed % 4 >= 2 };
        let verdict = judge(&config, &events);
        let expected = (verdict.first_cycle_event, verdict.violated_blocks);
        for history in [History::new(), History::with_budget(24)] {
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
