use atomvet_trace::RegionId;

use super::random::{Random, trace};
use super::*;
use crate::notation::{parse, show};

const PLAIN: Config = Config { commuting_updates: false, split_at_waits: false, conflicts: Conflicts::Locks };
const COMMUTING: Config =
    Config { commuting_updates: true, split_at_waits: false, conflicts: Conflicts::Locks };
const SPLIT: Config = Config { commuting_updates: false, split_at_waits: true, conflicts: Conflicts::Locks };
const BOTH: Config = Config { commuting_updates: true, split_at_waits: true, conflicts: Conflicts::Locks };

#[track_caller]
fn check(config: Config, text: &str, first_cycle_event: Option<u64>, violated_blocks: &[u64]) {
    let (events, _) = parse(text);
    let verdict = judge(&config, &events);
    assert_eq!(verdict.first_cycle_event, first_cycle_event.map(EventId), "{text}");
    assert_eq!(verdict.serializable, first_cycle_event.is_none(), "{text}");
    let expected: Vec<EventId> = violated_blocks.iter().copied().map(EventId).collect();
    assert_eq!(verdict.violated_blocks, expected, "{text}");
}

#[test]
fn the_traces_of_the_papers() {
    let rho1 = "1:b 1:w(x) 2:b 2:r(x) 2:e 3:b 3:w(z) 3:e 1:r(z) 1:e";
    check(PLAIN, rho1, None, &[]);
    let rho2 = "1:b 2:b 1:w(x) 2:r(x) 2:w(y) 1:r(y) 1:e 2:e";
    check(PLAIN, rho2, Some(5), &[0]);
    let rho3 = "1:b 2:b 1:w(x) 2:w(y) 1:r(y) 2:r(x) 1:e 2:e";
    check(PLAIN, rho3, Some(5), &[]);
    let rho1_changed = "1:b 1:w(x) 2:b 2:w(y) 2:r(x) 2:e 3:b 3:r(y) 3:w(z) 3:e 1:r(z) 1:e";
    check(PLAIN, rho1_changed, Some(10), &[]);
    let alpha1 = "1:b 1:w(x) 2:b 2:w(y) 2:r(x) 3:b 3:r(y) 3:r(q) 2:e 2:b 3:e 3:b 3:w(z) 1:r(z) 1:e 2:e 3:e";
    check(PLAIN, alpha1, Some(13), &[]);
    let alpha3 = "1:b 1:r(x) 2:b 2:w(y) 2:w(x) 3:b 3:r(y) 3:r(x) 2:e 2:b 3:e 3:b 3:w(z) 1:r(z) 1:e 2:e 3:e";
    check(PLAIN, alpha3, Some(13), &[0]);
    let unary = "1:b 1:w(a) 0:w(b) 0:r(a) 1:r(b) 1:e";
    check(PLAIN, unary, None, &[]);
    let idle_child = "0:b 0:fork(1) 0:join(1) 0:e";
    check(PLAIN, idle_child, None, &[]);
    let lone_write = "1:b 1:r(x) 2:w(x) 1:w(x) 1:e";
    check(PLAIN, lone_write, Some(3), &[0]);
}

#[test]
fn an_open_block_is_a_transaction() {
    check(PLAIN, "1:b 1:r(x) 2:w(x) 1:w(x)", Some(3), &[0]);
    check(PLAIN, "1:b 2:b 1:w(x) 2:w(y) 1:r(y) 2:r(x)", Some(5), &[]);
}

#[test]
fn nested_blocks_are_judged_each_for_itself() {
    // T1: [ r(x) [        w(x) ] ]       the inner block begins after the read
    // T2:            w(x)
    check(PLAIN, "1:b 1:r(x) 1:b 2:w(x) 1:w(x) 1:e 1:e", Some(4), &[0]);
    check(PLAIN, "1:b 1:b 1:r(x) 2:w(x) 1:w(x) 1:e 1:e", Some(4), &[0, 1]);
    let (events, _) = parse("1:b 1:b 1:r(x) 2:w(x) 1:w(x) 1:e 1:e");
    let verdict = judge(&PLAIN, &events);
    assert_eq!(verdict.violated_transactions, [EventId(0)]);
    assert_eq!(verdict.transactions, [EventId(0), EventId(3)]);
}

#[test]
fn two_read_locked_sections_are_not_ordered() {
    // T1: [ racq rrel            racq rrel ]
    // T2:             racq rrel                 with acq and rel: T1 → T2 → T1
    check(PLAIN, "1:b 1:racq(l) 1:rrel(l) 2:racq(l) 2:rrel(l) 1:racq(l) 1:rrel(l) 1:e", None, &[]);
    check(PLAIN, "1:b 1:racq(l) 1:rrel(l) 2:acq(l) 2:rel(l) 1:racq(l) 1:rrel(l) 1:e", Some(5), &[0]);
    check(PLAIN, "1:b 1:acq(l) 1:rel(l) 2:racq(l) 2:rrel(l) 1:acq(l) 1:rel(l) 1:e", Some(5), &[0]);
    check(PLAIN, "1:b 1:acq(l) 1:rel(l) 2:acq(m) 2:rel(m) 1:acq(l) 1:rel(l) 1:e", None, &[]);
}

#[test]
fn a_wait_releases_and_the_next_event_acquires() {
    // T1: [ acq(l) wait(l)                r(y) ]      r(y) is after T2's release
    // T2:                  acq(l) rel(l)
    check(PLAIN, "1:b 1:acq(l) 1:wait(l) 2:acq(l) 2:rel(l) 1:r(y) 1:e", Some(5), &[0]);
    // A place where an event was taken out is not the next event.
    check(PLAIN, "1:b 1:acq(l) 1:wait(l) 1:skip 2:acq(l) 2:rel(l) 1:r(y) 1:e", Some(6), &[0]);
    // The next event is also what it is itself, here another wait.
    check(PLAIN, "1:acq(l) 1:wait(l) 2:b 2:acq(l) 2:rel(l) 1:wait(l) 2:acq(l) 2:e", Some(6), &[2]);
    // Without T2's lock operations there is nothing to be after.
    check(PLAIN, "1:b 1:acq(l) 1:wait(l) 2:w(x) 1:r(y) 1:e", None, &[]);
}

#[test]
fn fork_and_join_order_parent_and_child() {
    // T0: [ fork(1)      join(1) ]
    // T1:           w(x)
    check(PLAIN, "0:b 0:fork(1) 1:w(x) 0:join(1) 0:e", Some(3), &[0]);
    check(PLAIN, "0:fork(1) 0:b 1:w(x) 0:join(1) 0:e", None, &[]);
    check(PLAIN, "0:b 0:fork(1) 1:w(x) 0:e 0:join(1)", None, &[]);
    // A thread's number is used again: the second child comes after the first.
    check(PLAIN, "0:fork(1) 1:b 1:w(x) 0:join(1) 0:fork(1) 1:w(x) 1:e", Some(5), &[1]);
}

#[test]
fn arrivals_go_before_departures_of_one_episode() {
    // T1: [ barrier                     r(x) ]      T1's arrival → w(x) → r(x)
    // T2:           barrier   w(x)
    check(PLAIN, "1:b 1:barrier(q) 2:barrier(q) 2:w(x) 1:r(x) 1:e", Some(4), &[0]);
    // Arrivals are not ordered with each other.
    check(PLAIN, "1:b 1:barrier(q) 2:barrier(q) 1:r(x) 1:e", None, &[]);
    check(PLAIN, "1:b 1:barrier(q) 2:barrier(p) 2:w(x) 1:r(x) 1:e", None, &[]);
    // T1: [ barrier          r(y)                     r(x) ]    T1 has left when T3 arrives:
    // T2:            barrier                                    T3 is in another episode
    // T3:                          barrier    w(x)
    check(PLAIN, "1:b 1:barrier(q) 2:barrier(q) 1:r(y) 3:barrier(q) 3:w(x) 1:r(x) 1:e", None, &[]);
    check(PLAIN, "1:b 1:barrier(q) 2:barrier(q) 3:barrier(q) 1:r(y) 3:w(x) 1:r(x) 1:e", Some(6), &[0]);
    // The next event may be the arrival in the next episode.
    check(PLAIN, "1:b 1:barrier(q) 1:barrier(q) 2:barrier(q) 2:w(x) 1:r(x) 1:e", Some(5), &[0]);
    check(PLAIN, "1:barrier(q) 2:barrier(q) 1:b 1:barrier(q) 2:w(x) 1:r(x) 1:e", None, &[]);
    // The next event of another thread is not the next event of a member.
    check(PLAIN, "1:b 1:barrier(q) 3:r(y) 2:barrier(q) 2:w(x) 1:r(x) 1:e", Some(5), &[0]);
}

#[test]
fn updates_conflict_unless_they_commute() {
    // T1: [ add(x)         add(x) ]
    // T2:          add(x)
    let adds = "1:b 1:add(x) 2:add(x) 1:add(x) 1:e";
    check(PLAIN, adds, Some(3), &[0]);
    check(COMMUTING, adds, None, &[]);
    for other in ["rmw", "or", "r", "w"] {
        let text = format!("1:b 1:add(x) 2:{other}(x) 1:add(x) 1:e");
        check(PLAIN, &text, Some(3), &[0]);
        check(COMMUTING, &text, Some(3), &[0]);
    }
    check(COMMUTING, "1:b 1:rmw(x) 2:rmw(x) 1:rmw(x) 1:e", Some(3), &[0]);
    check(COMMUTING, "1:b 1:r(x) 2:r(x) 1:r(x) 1:e", None, &[]);
    for kind in ["or", "and", "xor", "min", "max"] {
        check(COMMUTING, &format!("1:b 1:{kind}(x) 2:{kind}(x) 1:{kind}(x) 1:e"), None, &[]);
    }
}

#[test]
fn a_new_life_is_a_new_variable() {
    // T1: [ w(x)                        w(x) ]
    // T2:         free(x) alloc(x) w(x)            T2's x is not the one that T1 wrote first
    check(PLAIN, "1:b 1:w(x) 2:free(x) 2:alloc(x) 2:w(x) 1:w(x) 1:e", None, &[]);
    check(PLAIN, "1:b 1:w(x) 2:free(x) 2:w(x) 1:w(x) 1:e", None, &[]);
    check(PLAIN, "1:b 1:w(x) 2:alloc(x) 2:w(x) 1:w(x) 1:e", None, &[]);
    check(PLAIN, "1:b 1:w(x) 2:free(y) 2:w(x) 1:w(x) 1:e", Some(4), &[0]);
    // Allocating and freeing are not accesses.
    check(PLAIN, "1:b 1:alloc(x) 2:alloc(x) 2:free(x) 1:free(x) 1:e", None, &[]);
}

#[test]
fn only_outermost_lock_operations_count() {
    let (events, _) = parse("1:acq(l) 1:reacq(l) 1:rerel(l) 1:rel(l) 2:acq(l)");
    let order = Order::new(&PLAIN, &events);
    let direct: Vec<bool> = (0..4).map(|e| order.directly_before(e, 4)).collect();
    assert_eq!(direct, [true, false, false, true]);
    assert!(order.happens_before(EventId(1), EventId(4)));
    // A wait gives back what was taken twice; the next event, an inner release, acquires.
    // T1: [ acq(l) reacq(l) wait(l)                rerel(l) rel(l) ]
    // T2:                           acq(l) rel(l)
    check(
        PLAIN,
        "1:b 1:acq(l) 1:reacq(l) 1:wait(l) 2:acq(l) 2:rel(l) 1:rerel(l) 1:rel(l) 1:e",
        Some(6),
        &[0],
    );
}

#[test]
fn where_asked_a_wait_splits_the_block() {
    // T1: [ r(x) acq(l) wait(l) |      w(x) .. ]     the read and the write are in two pieces
    // T2:                         w(x)
    let across = "1:b 1:r(x) 1:acq(l) 1:wait(l) 2:w(x) 1:w(x) 1:rel(l) 1:e";
    check(PLAIN, across, Some(5), &[0]);
    check(SPLIT, across, None, &[]);
    // What the wait receives, it receives in the new piece.
    check(SPLIT, "1:b 1:acq(l) 1:wait(l) 2:acq(l) 2:rel(l) 1:r(y) 1:e", None, &[]);
    // A block is violated if a piece is.
    check(SPLIT, "1:b 1:acq(l) 1:wait(l) 1:r(x) 2:w(x) 1:w(x) 1:rel(l) 1:e", Some(5), &[0]);
    // T1: [ [ acq(l) wait(l) | r(x) ]      w(x) ]     the outer block's second piece only
    // T2:                             w(x)
    check(SPLIT, "1:b 1:b 1:acq(l) 1:wait(l) 1:r(x) 1:e 2:w(x) 1:w(x) 1:rel(l) 1:e", Some(7), &[0]);
    // Pieces are transactions: T1's two and T2's.
    let (events, _) = parse(across);
    assert_eq!(judge(&SPLIT, &events).transactions, [EventId(0), EventId(4), EventId(5)]);
}

#[test]
fn where_asked_a_join_splits_the_block() {
    // T0: [ fork(1)      | join(1) ]     the join is in the new piece
    // T1:           w(x)
    let across = "0:b 0:fork(1) 1:w(x) 0:join(1) 0:e";
    check(PLAIN, across, Some(3), &[0]);
    check(SPLIT, across, None, &[]);
    // T0: [ .. | join(1) r(x)      w(x) ]     the new piece is judged
    // T2:                     w(x)
    check(SPLIT, "0:b 0:fork(1) 1:w(y) 0:join(1) 0:r(x) 2:w(x) 0:w(x) 0:e", Some(6), &[0]);
    let (events, _) = parse(across);
    assert_eq!(judge(&SPLIT, &events).transactions, [EventId(0), EventId(2), EventId(3)]);
}

#[test]
fn where_asked_a_barrier_splits_the_block() {
    // T1: [ barrier |                   r(x) ]
    // T2:             barrier   w(x)
    let across = "1:b 1:barrier(q) 2:barrier(q) 2:w(x) 1:r(x) 1:e";
    check(PLAIN, across, Some(4), &[0]);
    check(SPLIT, across, None, &[]);
    check(SPLIT, "1:b 1:barrier(q) 2:barrier(q) 1:r(x) 2:w(x) 1:r(x) 1:e", Some(5), &[0]);
    let (events, _) = parse(across);
    assert_eq!(judge(&SPLIT, &events).transactions, [EventId(0), EventId(2), EventId(3), EventId(4)]);
}

#[test]
fn blocks_are_called_by_label_or_site() {
    let (events, names) = parse("1:b(l)@7 1:b@8 1:r(x) 2:w(x) 1:w(x) 1:e 1:e 1:b@9 1:e");
    let l = names.regions.find("l").unwrap();
    let eight = names.sites.find("8").unwrap();
    let expected = BTreeSet::from([(l, SiteId::NONE), (RegionId::NONE, eight)]);
    assert_eq!(violated_names(&PLAIN, &events), expected);
    assert_eq!(refine_by_iteration(&PLAIN, &events), expected);
}

/// Why refinement keeps the events of a block that it leaves out: with `left`'s begin and end taken out of
/// the trace, T2 would have no event, and the join nothing to come after.
#[test]
fn refinement_does_not_change_the_order() {
    // T1: [ [ fork(2)                       join(2) ] .. ]    the inner block is violated by T2's
    // T2:            [left end]                               block, which is left out in round one
    let (events, names) = parse(
        "1:b(outer) 1:b(inner) 1:fork(2) 2:b(left) 2:e 1:join(2) 1:e 1:e \
         3:b(left) 3:r(x) 1:w(x) 3:w(x) 3:e",
    );
    let refined = refine_by_iteration(&PLAIN, &events);
    let called = |name| (names.regions.find(name).unwrap(), SiteId::NONE);
    assert_eq!(refined, BTreeSet::from([called("outer"), called("inner"), called("left")]));
    assert_eq!(refined, violated_names(&PLAIN, &events));
}

#[test]
fn refinement_ends_where_one_judgement_does() {
    let mut random = Random(1);
    let mut more_than_one_round = 0;
    for _ in 0..30_000 {
        let length = 5 + random.below(25);
        let events = trace(&mut random, length);
        let config = random.pick(&[PLAIN, COMMUTING, SPLIT, BOTH]);
        let at_once = violated_names(&config, &events);
        assert_eq!(refine_by_iteration(&config, &events), at_once, "{}", show(&events, &Default::default()));
        let outermost = names_at(&events, &judge(&config, &events).violated_transactions);
        more_than_one_round += usize::from(outermost != at_once);
    }
    assert!(more_than_one_round > 500, "{more_than_one_round} traces try the claim");
}

#[test]
fn verdicts_fit_together() {
    let mut random = Random(2);
    let (mut cycles, mut blamed) = (0, 0);
    for _ in 0..5_000 {
        let length = 5 + random.below(25);
        let events = trace(&mut random, length);
        let text = show(&events, &Default::default());
        let config = random.pick(&[PLAIN, COMMUTING, SPLIT, BOTH]);
        let verdict = judge(&config, &events);
        assert!(verdict.serializable || verdict.first_cycle_event.is_some(), "{text}");
        assert!(!verdict.serializable || verdict.violated_blocks.is_empty(), "{text}");
        cycles += usize::from(!verdict.serializable);
        blamed += usize::from(!verdict.violated_blocks.is_empty());
        // Every prefix, judged as a trace of its own, says the same about where the cycle closes.
        for end in 0..=events.len() {
            let closed = verdict.first_cycle_event.is_some_and(|first| first.0 < end as u64);
            assert_eq!(judge(&config, &events[..end]).serializable, !closed, "first {end} of {text}");
        }
    }
    assert!(cycles > 1_000 && blamed > 500 && cycles > blamed, "{cycles} {blamed}");
}

#[test]
fn random_traces_have_every_operation() {
    let mut random = Random(3);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..1_000 {
        seen.extend(trace(&mut random, 40).iter().map(|event| std::mem::discriminant(&event.op)));
    }
    let (all, _) = parse(
        "1:r(x) 1:w(x) 1:add(x) 1:acq(l) 1:rel(l) 1:reacq(l) 1:rerel(l) 1:wait(l) 1:fork(2) 1:join(2) \
         1:barrier(q) 1:b 1:e 1:alloc(x) 1:free(x) 1:skip",
    );
    for event in all {
        assert!(seen.contains(&std::mem::discriminant(&event.op)), "{:?} never occurs", event.op);
    }
}
