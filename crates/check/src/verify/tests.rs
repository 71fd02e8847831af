use atomvet_trace::{BarrierId, RegionId, SiteId, ThreadId};

use super::*;
use crate::notation::parse;

mod random;

const PLAIN: Config = Config { commuting_updates: false, split_at_waits: false, conflicts: Conflicts::Locks };
const COMMUTING: Config =
    Config { commuting_updates: true, split_at_waits: false, conflicts: Conflicts::Locks };
const SPLIT: Config = Config { commuting_updates: false, split_at_waits: true, conflicts: Conflicts::Locks };

const X: VarId = VarId(0);
const L: LockId = LockId(0);
const Q: BarrierId = BarrierId(0);
const R_W: Because = Because::Access(X, Touch::Read, Touch::Write);
const W_W: Because = Because::Access(X, Touch::Write, Touch::Write);
const W_R: Because = Because::Access(X, Touch::Write, Touch::Read);
const UPDATES: Because = Because::Access(X, Touch::Update, Touch::Update);

fn po(thread: u32) -> Because {
    Because::ProgramOrder(ThreadId(thread))
}

fn together(thread: u32) -> Because {
    Because::SameTransaction(ThreadId(thread))
}

fn block_at(begin: usize, events: &[Event]) -> Block {
    let Event { thread, op, site } = events[begin];
    let Op::Begin(region) = op else { panic!("no block begins there") };
    Block { begin: EventId(begin as u64), thread, region, site }
}

fn witness(block: Option<Block>, steps: &[(u64, u64, Because)]) -> Witness {
    let step = |&(from, to, because): &_| Step { from: EventId(from), to: EventId(to), because };
    Witness { block, steps: steps.iter().map(step).collect() }
}

fn verify(config: Config, events: &[Event], witness: &Witness) -> Result<(), String> {
    let mut verifier = Verifier::new(&config, std::slice::from_ref(witness));
    // In two parts, as it comes from a file.
    let (start, rest) = events.split_at(events.len() / 2);
    verifier.events(EventId(0), start);
    verifier.events(EventId(start.len() as u64), rest);
    verifier.finish().remove(0)
}

/// `block` is the event where the block begins that the witness blames.
#[track_caller]
fn check(config: Config, text: &str, block: Option<usize>, steps: &[(u64, u64, Because)], reason: &str) {
    let (events, _) = parse(text);
    let witness = witness(block.map(|begin| block_at(begin, &events)), steps);
    match verify(config, &events, &witness) {
        Ok(()) => assert_eq!(reason, "", "accepted: {text}"),
        Err(problem) => assert!(!reason.is_empty() && problem.contains(reason), "{text}: {problem}"),
    }
}

const LOST: &str = "1:b 1:r(x) 2:w(x) 1:w(x) 1:e";
const LOST_STEPS: [(u64, u64, Because); 2] = [(1, 2, R_W), (2, 3, W_W)];

#[test]
fn a_lost_update() {
    check(PLAIN, LOST, Some(0), &LOST_STEPS, "");
    check(PLAIN, LOST, Some(0), &[(0, 1, po(1)), (1, 2, R_W), (2, 3, W_W), (3, 4, po(1))], "");
    check(PLAIN, LOST, None, &LOST_STEPS, "");
}

#[test]
fn a_path_has_to_be_one() {
    check(PLAIN, LOST, Some(0), &[], "no steps");
    check(PLAIN, LOST, None, &[], "no steps");
    check(PLAIN, LOST, Some(0), &[(1, 2, R_W), (1, 3, po(1))], "step 1 (#1 → #3): it does not start where");
    check(PLAIN, LOST, Some(0), &[(1, 2, R_W), (2, 9, W_W)], "step 1 (#2 → #9): the trace has no event #9");
    check(
        PLAIN,
        "1:b 1:r(x) 2:w(x) 1:w(x) 1:skip 1:e",
        Some(0),
        &[(1, 4, po(1))],
        "the trace has no event #4",
    );
}

#[test]
fn a_step_has_to_be_ordered_by_its_reason() {
    let steps = |because| [(1, 2, because), (2, 3, W_W)];
    check(PLAIN, LOST, Some(0), &steps(W_W), "step 0 (#1 → #2): the first event does not touch");
    check(PLAIN, LOST, Some(0), &steps(W_R), "step 0 (#1 → #2): the first event does not touch");
    let two_reads = Because::Access(X, Touch::Read, Touch::Read);
    check(PLAIN, LOST, Some(0), &steps(two_reads), "step 0 (#1 → #2): the second event does not touch");
    let other = Because::Access(VarId(1), Touch::Read, Touch::Write);
    check(PLAIN, LOST, Some(0), &steps(other), "the first event does not touch");
    check(PLAIN, LOST, Some(0), &steps(po(1)), "an event is of another thread");
    check(PLAIN, LOST, Some(0), &steps(Because::Lock(L)), "no outermost operation");
    check(PLAIN, LOST, Some(0), &steps(Because::Fork(ThreadId(2))), "does not fork");
    check(PLAIN, LOST, Some(0), &steps(Because::Join(ThreadId(1))), "does not join");
    check(PLAIN, LOST, Some(0), &steps(Because::Barrier(Q)), "does not arrive");
    check(PLAIN, LOST, Some(0), &[(1, 3, R_W)], "only program order");
    check(PLAIN, LOST, Some(0), &[(3, 2, W_W)], "step 0 (#3 → #2): the first event is not earlier");
    check(PLAIN, LOST, Some(0), &[(1, 1, po(1))], "the first event is not earlier");
    check(PLAIN, "1:b 1:r(x) 2:r(x) 1:w(x) 1:e", Some(0), &[(1, 2, two_reads)], "two reads");
}

#[test]
fn a_witness_has_to_blame_a_block_that_is_there() {
    let (events, _) = parse("1:b(a)@1 1:r(x) 2:w(x) 1:w(x) 1:e 2:b 2:e");
    let good = block_at(0, &events);
    let judged = |block| verify(PLAIN, &events, &witness(Some(block), &LOST_STEPS));
    assert_eq!(judged(good), Ok(()));
    let refused = |block, reason| assert!(judged(block).unwrap_err().contains(reason));
    refused(Block { thread: ThreadId(2), ..good }, "#0 does not begin the block");
    refused(Block { region: RegionId::NONE, ..good }, "#0 does not begin the block");
    refused(Block { site: SiteId::NONE, ..good }, "#0 does not begin the block");
    refused(Block { begin: EventId(1), ..good }, "#1 does not begin the block");
    refused(Block { begin: EventId(77), ..good }, "no event #77");
    refused(block_at(5, &events), "starts outside the block that begins with #5");
}

#[test]
fn a_block_witness_starts_and_ends_in_the_block_and_leaves_its_thread() {
    check(PLAIN, "1:r(x) 1:b 2:w(x) 1:w(x) 1:e", Some(1), &[(0, 2, R_W), (2, 3, W_W)], "starts outside");
    check(PLAIN, "1:b 1:r(x) 2:w(x) 1:e 1:w(x)", Some(0), &[(1, 2, R_W), (2, 4, W_W)], "ends outside");
    check(PLAIN, LOST, Some(0), &[(1, 2, R_W)], "ends outside");
    check(PLAIN, LOST, Some(0), &[(0, 1, po(1)), (1, 3, po(1))], "no event of another thread");
    // The inner block begins after the read: only the outer one is violated.
    let nested = "1:b 1:r(x) 1:b 2:w(x) 1:w(x) 1:e 1:e";
    check(PLAIN, nested, Some(0), &[(1, 3, R_W), (3, 4, W_W)], "");
    check(PLAIN, nested, Some(2), &[(1, 3, R_W), (3, 4, W_W)], "starts outside");
    // The end is an event of the block.
    let ended = "1:b 1:b 1:r(x) 2:w(x) 1:w(x) 1:e 1:e";
    check(PLAIN, ended, Some(1), &[(2, 3, R_W), (3, 4, W_W), (4, 5, po(1))], "");
    check(PLAIN, ended, Some(1), &[(2, 3, R_W), (3, 4, W_W), (4, 6, po(1))], "ends outside");
    check(PLAIN, LOST, Some(0), &[(1, 2, R_W), (2, 3, W_W), (3, 1, together(1))], "all ordered");
}

#[test]
fn a_cycle_may_enter_and_leave_a_transaction_in_any_order() {
    // T1: [      w(x)       r(y) ]        T1 → T2 by x, T2 → T1 by y
    // T2:    [        w(y)       r(x) ]
    let text = "1:b 2:b 1:w(x) 2:w(y) 1:r(y) 2:r(x) 1:e 2:e";
    let y = Because::Access(VarId(1), Touch::Write, Touch::Read);
    let good = [(2, 5, W_R), (5, 3, together(2)), (3, 4, y)];
    check(PLAIN, text, None, &good, "");
    check(PLAIN, text, Some(0), &good, "step 1 (#5 → #3): the events of a block's witness are all ordered");
    check(PLAIN, text, None, &[good[0], (5, 3, po(2)), good[2]], "not earlier");
    check(PLAIN, text, None, &[good[0], (5, 3, together(1)), good[2]], "of another thread");
    check(PLAIN, text, None, &good[..2], "ends in another transaction");
    check(PLAIN, text, None, &[(2, 4, together(1)), (4, 2, together(1))], "no event of another transaction");
    // T1's two events outside blocks are two transactions.
    let unary = "1:b 1:w(a) 0:w(b) 0:r(a) 1:r(b) 1:e";
    let (a, b) = (W_R, Because::Access(VarId(1), Touch::Write, Touch::Read));
    check(PLAIN, unary, None, &[(1, 3, a), (3, 2, together(0)), (2, 4, b)], "outside every block");
    check(PLAIN, "2:w(x) 1:w(x) 2:w(x)", None, &[(0, 1, W_W), (1, 2, W_W)], "starts at an event outside");
    check(PLAIN, "1:b 1:e 1:b 1:e", None, &[(0, 2, po(1)), (2, 0, together(1))], "two transactions");
}

#[test]
fn locks_order_outermost_operations_unless_shared() {
    let lock = Because::Lock(L);
    let exclusive = "1:b 1:acq(l) 1:rel(l) 2:acq(l) 2:rel(l) 1:acq(l) 1:e";
    check(PLAIN, exclusive, Some(0), &[(2, 3, lock), (3, 5, lock)], "");
    check(PLAIN, exclusive, Some(0), &[(1, 4, lock), (4, 5, lock)], "");
    check(
        PLAIN,
        exclusive,
        Some(0),
        &[(2, 3, Because::Lock(LockId(1))), (3, 5, lock)],
        "no outermost operation",
    );
    let shared = "1:b 1:racq(l) 1:rrel(l) 2:racq(l) 2:rrel(l) 1:racq(l) 1:e";
    check(PLAIN, shared, Some(0), &[(2, 3, lock), (3, 5, lock)], "both hold the lock shared");
    let mixed = "1:b 1:racq(l) 1:rrel(l) 2:acq(l) 2:rel(l) 1:racq(l) 1:e";
    check(PLAIN, mixed, Some(0), &[(2, 3, lock), (3, 5, lock)], "");
    let inner = "1:b 1:acq(l) 1:reacq(l) 1:rerel(l) 1:rel(l) 2:acq(l) 2:rel(l) 1:acq(l) 1:e";
    check(PLAIN, inner, Some(0), &[(4, 5, lock), (5, 7, lock)], "");
    check(PLAIN, inner, Some(0), &[(3, 5, lock), (5, 7, lock)], "no outermost operation");
}

#[test]
fn waits_release_and_acquire_and_may_split() {
    let lock = Because::Lock(L);
    let text = "1:b 1:acq(l) 1:wait(l) 2:acq(l) 2:rel(l) 1:r(y) 1:r(y) 1:e";
    check(PLAIN, text, Some(0), &[(2, 3, lock), (3, 5, lock)], "");
    check(PLAIN, text, Some(0), &[(2, 3, lock), (3, 6, lock)], "no outermost operation");
    check(SPLIT, text, Some(0), &[(2, 3, lock), (3, 5, lock)], "two pieces");
    check(SPLIT, text, None, &[(2, 3, lock), (3, 5, lock)], "ends in another transaction");
    let in_piece = "1:b 1:acq(l) 1:wait(l) 1:r(x) 2:w(x) 1:w(x) 1:rel(l) 1:e";
    check(SPLIT, in_piece, Some(0), &[(3, 4, R_W), (4, 5, W_W)], "");
    check(SPLIT, in_piece, None, &[(3, 4, R_W), (4, 5, W_W)], "");
}

#[test]
fn forks_joins_and_barriers() {
    let (fork, join) = (Because::Fork(ThreadId(1)), Because::Join(ThreadId(1)));
    let child = "0:b 0:fork(1) 1:w(x) 2:w(x) 0:join(1) 0:e";
    check(PLAIN, child, Some(0), &[(1, 2, fork), (2, 4, join)], "");
    check(PLAIN, child, Some(0), &[(1, 3, fork), (3, 4, join)], "not of the forked thread");
    check(PLAIN, child, Some(0), &[(1, 2, fork), (2, 3, W_W), (3, 4, join)], "not of the joined thread");
    check(SPLIT, child, Some(0), &[(1, 2, fork), (2, 4, join)], "two pieces");

    let barrier = Because::Barrier(Q);
    let met = "1:b 1:barrier(q) 2:barrier(q) 2:w(x) 1:r(x) 1:r(x) 1:e";
    check(PLAIN, met, Some(0), &[(1, 3, barrier), (3, 4, W_R)], "");
    check(PLAIN, met, Some(0), &[(1, 2, barrier), (2, 4, barrier)], "does not leave a barrier");
    check(PLAIN, met, Some(0), &[(1, 3, barrier), (3, 5, barrier)], "does not arrive");
    check(SPLIT, met, Some(0), &[(1, 3, barrier), (3, 4, W_R)], "two pieces");
    let missed = "1:b 1:barrier(q) 1:r(y) 2:barrier(q) 2:w(x) 1:r(x) 1:e";
    check(PLAIN, missed, Some(0), &[(1, 4, barrier), (4, 5, W_R)], "two episodes");
}

#[test]
fn lives_and_commuting_updates() {
    let lives = "1:b 1:r(x) 2:free(x) 2:w(x) 1:w(x) 1:e";
    check(PLAIN, lives, Some(0), &[(1, 3, R_W), (3, 4, W_W)], "new life");
    let adds = "1:b 1:add(x) 2:add(x) 1:add(x) 1:e";
    check(PLAIN, adds, Some(0), &[(1, 2, UPDATES), (2, 3, UPDATES)], "");
    check(COMMUTING, adds, Some(0), &[(1, 2, UPDATES), (2, 3, UPDATES)], "commute");
    let kinds = "1:b 1:add(x) 2:max(x) 1:add(x) 1:e";
    check(COMMUTING, kinds, Some(0), &[(1, 2, UPDATES), (2, 3, UPDATES)], "");
    let others = "1:b 1:rmw(x) 2:rmw(x) 1:rmw(x) 1:e";
    check(COMMUTING, others, Some(0), &[(1, 2, UPDATES), (2, 3, UPDATES)], "");
}

#[test]
fn each_witness_is_judged_for_itself() {
    let (events, _) = parse(LOST);
    let block = Some(block_at(0, &events));
    let good = witness(block, &LOST_STEPS);
    let bad = witness(block, &LOST_STEPS[..1]);
    let mut verifier = Verifier::new(&PLAIN, &[good.clone(), bad, good]);
    verifier.events(EventId(0), &events);
    let judged: Vec<bool> = verifier.finish().iter().map(Result::is_ok).collect();
    assert_eq!(judged, [true, false, true]);
}

#[test]
fn serial_orders() {
    let check = |text: &str, order: &[u64], reason: &str| {
        let (events, _) = parse(text);
        let order: Vec<EventId> = order.iter().copied().map(EventId).collect();
        match serial_order(&PLAIN, &events, &order) {
            Ok(()) => assert_eq!(reason, "", "accepted: {text}"),
            Err(problem) => assert!(!reason.is_empty() && problem.contains(reason), "{text}: {problem}"),
        }
    };
    // T1: [ w(x)      r(z) ]         T2 reads x, T3's z is read: T3 T1 T2
    // T2:       r(x)
    // T3:            w(z)
    let text = "1:b 1:w(x) 2:r(x) 3:w(z) 1:r(z) 1:e 1:skip";
    check(text, &[3, 0, 2], "");
    check(text, &[0, 3, 2], "#3 is directly before #4");
    check(text, &[3, 2, 0], "#1 is directly before #2");
    check(text, &[3, 0], "does not list the transaction that starts with #2");
    check(text, &[3, 0, 2, 0], "lists #0 twice");
    check(text, &[3, 0, 2, 1], "lists 4 events, but only 3");
    check(text, &[3, 0, 2, 6], "lists 4 events, but only 3");
    check(text, &[3, 0, 2, 7], "lists #7, which is not in the trace");
    check(text, &[3, 0, 2, u64::MAX], "which is not in the trace");
    check("", &[], "");
    // A read-locked section and the write-locked one behind it; then two read-locked ones.
    let locked = "1:racq(l) 1:rrel(l) 2:acq(l) 2:rel(l) 1:racq(l)";
    check(locked, &[0, 1, 2, 3, 4], "");
    check(locked, &[2, 3, 0, 1, 4], "#1 is directly before #2");
    check(locked, &[0, 1, 4, 2, 3], "#3 is directly before #4");
    check("1:racq(l) 1:rrel(l) 2:racq(l) 2:rrel(l)", &[2, 3, 0, 1], "");
}
