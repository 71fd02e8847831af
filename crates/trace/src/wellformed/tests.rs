use super::*;
use crate::{BarrierId, RegionId, SiteId, UpdateKind, VarId};

/// Reads `T1 acq(m)` and so on, separated by `;`. Threads, locks and variables are interned.
fn parse(text: &str) -> (Vec<Event>, Names) {
    let mut names = Names::default();
    let mut events = Vec::new();
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let (thread, op) = part.split_once(' ').unwrap();
        let (verb, object) = op.split_once('(').unwrap_or((op, ")"));
        let object = object.strip_suffix(')').unwrap();
        let thread = names.threads.intern(thread);
        let op = match verb {
            "r" => Op::read(names.variables.intern(object)),
            "acq" => Op::Acquire(names.locks.intern(object), Mode::Exclusive),
            "rel" => Op::Release(names.locks.intern(object), Mode::Exclusive),
            "racq" => Op::Acquire(names.locks.intern(object), Mode::Shared),
            "rrel" => Op::Release(names.locks.intern(object), Mode::Shared),
            "acq+" => Op::Reacquire(names.locks.intern(object), Mode::Exclusive),
            "rel+" => Op::Rerelease(names.locks.intern(object), Mode::Exclusive),
            "racq+" => Op::Reacquire(names.locks.intern(object), Mode::Shared),
            "rrel+" => Op::Rerelease(names.locks.intern(object), Mode::Shared),
            "wait" => Op::Wait(names.locks.intern(object)),
            "fork" => Op::Fork(names.threads.intern(object)),
            "join" => Op::Join(names.threads.intern(object)),
            "barrier" => Op::Barrier(names.barriers.intern(object)),
            "begin" => Op::Begin(RegionId::NONE),
            "end" => Op::End,
            "skip" => Op::Skip,
            other => panic!("no operation {other}"),
        };
        events.push(Event { thread, op, site: SiteId::NONE });
    }
    (events, names)
}

/// The trace is good, and what was re-entrant is marked: `becomes` is the same trace, marked.
#[track_caller]
fn good(trace: &str, becomes: &str) {
    for discipline in [Discipline::Strict, Discipline::Lenient] {
        let (mut events, names) = parse(trace);
        let mut wellformed = Wellformed::new(discipline);
        assert_eq!(wellformed.check(EventId(0), &mut events, &names), Ok(()));
        assert_eq!(wellformed.repairs, 0);
        // Parsed on top of the same names, so that ids agree.
        assert_eq!(events, parse_like(becomes, trace));
    }
}

/// The last event is broken: the strict message, and what lenient reading makes of the trace
/// followed by more events. `repairs` starts with the repair of that event.
#[track_caller]
fn bad(trace: &str, problem: &str, more: &str, becomes: &str, repairs: &[(Repair, u64)]) {
    let (mut events, names) = parse(trace);
    let last = events.len() - 1;
    let broken = Wellformed::new(Discipline::Strict).check(EventId(0), &mut events, &names).unwrap_err();
    assert_eq!((broken.index, broken.problem.as_str()), (last, problem));
    assert_eq!(broken.help, repairs[0].0.help());

    let whole = format!("{trace}; {more}");
    let (mut events, names) = parse(&whole);
    let mut wellformed = Wellformed::new(Discipline::Lenient);
    // One event at a time: state carries over from block to block, and numbers count on.
    for (at, event) in events.iter_mut().enumerate() {
        wellformed.check(EventId(at as u64), std::slice::from_mut(event), &names).unwrap();
    }
    assert_eq!(events, parse_like(becomes, &whole));
    let mut made: Vec<_> = wellformed.repairs_by_kind().collect();
    made.sort_by_key(|&made| repairs.iter().position(|&expected| expected == made));
    assert_eq!(made, repairs);
    assert_eq!(wellformed.repairs, repairs.iter().map(|&(_, count)| count).sum::<u64>());
}

/// Parses `becomes` with the ids that `trace` gives its names.
fn parse_like(becomes: &str, trace: &str) -> Vec<Event> {
    let (original, _) = parse(trace);
    let (both, _) = parse(&format!("{trace};{becomes}"));
    both[original.len()..].to_vec()
}

#[test]
fn acquire_of_a_held_lock() {
    bad(
        "T1 acq(m); T2 acq(m)",
        "T2 acquires m, which T1 holds since event 0",
        "T2 rel(m); T1 rel(m); T2 acq(m)",
        "T1 acq(m); T2 skip; T2 skip; T1 rel(m); T2 acq(m)",
        &[(Repair::AcquireHeld, 1), (Repair::ReleaseNotHeld, 1)],
    );
    bad(
        "T1 r(x); T1 acq(m); T2 racq(m)",
        "T2 acquires m shared, which T1 holds since event 1",
        "",
        "T1 r(x); T1 acq(m); T2 skip",
        &[(Repair::AcquireHeld, 1)],
    );
    bad(
        "T2 racq(m); T1 racq(m); T2 acq(m)",
        "T2 acquires m, which T1 holds shared since event 1",
        "T1 rrel(m); T2 acq(m)",
        "T2 racq(m); T1 racq(m); T2 skip; T1 rrel(m); T2 acq(m)",
        &[(Repair::AcquireHeld, 1)],
    );
}

#[test]
fn release_of_a_lock_not_held() {
    bad(
        "T1 r(x); T1 rel(m)",
        "T1 releases m, which nobody holds",
        "T1 acq(m)",
        "T1 r(x); T1 skip; T1 acq(m)",
        &[(Repair::ReleaseNotHeld, 1)],
    );
    bad(
        "T1 acq(m); T2 rel(m)",
        "T2 releases m, which T1 holds since event 0",
        "T1 rel(m)",
        "T1 acq(m); T2 skip; T1 rel(m)",
        &[(Repair::ReleaseNotHeld, 1)],
    );
    bad(
        "T2 racq(m); T1 racq(m); T1 rel(m)",
        "T1 releases m, which it holds shared since event 1",
        "T1 rrel(m)",
        "T2 racq(m); T1 racq(m); T1 skip; T1 rrel(m)",
        &[(Repair::ReleaseNotHeld, 1)],
    );
    bad(
        "T1 acq(m); T1 rrel(m)",
        "T1 releases m shared, which it holds since event 0",
        "",
        "T1 acq(m); T1 skip",
        &[(Repair::ReleaseNotHeld, 1)],
    );
    bad(
        "T1 acq(m); T1 acq(m); T1 rel(m); T1 rel(m); T1 rel(m)",
        "T1 releases m, which nobody holds",
        "",
        "T1 acq(m); T1 acq+(m); T1 rel+(m); T1 rel(m); T1 skip",
        &[(Repair::ReleaseNotHeld, 1)],
    );
}

#[test]
fn wait_without_the_lock() {
    bad(
        "T1 wait(m)",
        "T1 waits on m, which nobody holds",
        "T2 acq(m); T1 r(x)",
        "T1 skip; T2 acq(m); T1 r(x)",
        &[(Repair::WaitNotHeld, 1)],
    );
    bad(
        "T2 acq(m); T1 wait(m)",
        "T1 waits on m, which T2 holds since event 0",
        "",
        "T2 acq(m); T1 skip",
        &[(Repair::WaitNotHeld, 1)],
    );
    bad(
        "T1 acq(m); T1 racq(m); T1 wait(m)",
        "T1 waits on m, which it holds shared since event 1",
        "T1 rrel(m); T1 wait(m)",
        "T1 acq(m); T1 racq(m); T1 skip; T1 rrel(m); T1 wait(m)",
        &[(Repair::WaitNotHeld, 1)],
    );
}

#[test]
fn a_wait_ends_while_another_holds_the_lock() {
    bad(
        "T1 acq(m); T1 wait(m); T2 acq(m); T1 r(x)",
        "T1 goes on after its wait on m, which T2 holds since event 2",
        "T1 rel(m); T2 rel(m); T1 acq(m)",
        "T1 acq(m); T1 wait(m); T2 acq(m); T1 r(x); T1 skip; T2 rel(m); T1 acq(m)",
        &[(Repair::WaitLostLock, 1), (Repair::ReleaseNotHeld, 1)],
    );
    bad(
        "T1 acq(m); T1 wait(m); T2 racq(m); T1 rel(m)",
        "T1 goes on after its wait on m, which T2 holds shared since event 2",
        "",
        "T1 acq(m); T1 wait(m); T2 racq(m); T1 skip",
        &[(Repair::WaitLostLock, 1), (Repair::ReleaseNotHeld, 1)],
    );
    // The lock is held again from the next event on, and "since" says so.
    bad(
        "T1 acq(m); T1 wait(m); T1 r(x); T2 acq(m)",
        "T2 acquires m, which T1 holds since event 2",
        "",
        "T1 acq(m); T1 wait(m); T1 r(x); T2 skip",
        &[(Repair::AcquireHeld, 1)],
    );
    // A left-out event ends the wait as well.
    bad(
        "T1 acq(m); T1 wait(m); T1 end",
        "T1 ends a block, but has none open",
        "T2 acq(m); T1 rel(m)",
        "T1 acq(m); T1 wait(m); T1 skip; T2 skip; T1 rel(m)",
        &[(Repair::EndWithoutBegin, 1), (Repair::AcquireHeld, 1)],
    );
}

#[test]
fn end_without_begin() {
    bad(
        "T1 begin; T1 begin; T1 end; T2 end",
        "T2 ends a block, but has none open",
        "T1 end; T1 end",
        "T1 begin; T1 begin; T1 end; T2 skip; T1 end; T1 skip",
        &[(Repair::EndWithoutBegin, 2)],
    );
}

#[test]
fn bad_forks() {
    let fork = &[(Repair::BadFork, 1)];
    bad("T1 fork(T1)", "T1 forks itself", "T1 r(x)", "T1 skip; T1 r(x)", fork);
    bad(
        "T2 r(x); T1 fork(T2)",
        "T1 forks T2, which runs since event 0",
        "T2 r(x)",
        "T2 r(x); T1 skip; T2 r(x)",
        fork,
    );
    bad(
        "T1 fork(T2); T3 fork(T2)",
        "T3 forks T2, which runs since event 0",
        "",
        "T1 fork(T2); T3 skip",
        fork,
    );
    // The event of T2 was left out: it had none, and may be forked.
    bad(
        "T2 end",
        "T2 ends a block, but has none open",
        "T1 fork(T2); T2 r(x)",
        "T2 skip; T1 fork(T2); T2 r(x)",
        &[(Repair::EndWithoutBegin, 1)],
    );
}

#[test]
fn bad_joins() {
    let join = &[(Repair::BadJoin, 1)];
    bad("T1 r(x); T1 join(T1)", "T1 joins itself", "T1 r(x)", "T1 r(x); T1 skip; T1 r(x)", join);
    bad(
        "T1 join(T2)",
        "T1 joins T2, which was not forked and has had no event",
        "T1 fork(T2); T1 join(T2)",
        "T1 skip; T1 fork(T2); T1 join(T2)",
        join,
    );
    bad(
        "T1 fork(T2); T1 join(T2); T3 join(T2)",
        "T3 joins T2, which event 1 joined already",
        "",
        "T1 fork(T2); T1 join(T2); T3 skip",
        join,
    );
}

#[test]
fn events_after_the_join() {
    bad(
        "T2 r(x); T1 join(T2); T2 r(x)",
        "T2 has an event, but event 1 joined it",
        "T2 r(x); T1 fork(T2); T1 join(T2)",
        "T2 r(x); T1 join(T2); T2 r(x); T2 r(x); T1 skip; T1 join(T2)",
        &[(Repair::AfterJoin, 1), (Repair::BadFork, 1)],
    );
    // A left-out event does not make the thread run again.
    let (mut events, names) = parse("T2 r(x); T1 join(T2); T2 end; T1 fork(T2)");
    let mut wellformed = Wellformed::new(Discipline::Lenient);
    wellformed.check(EventId(0), &mut events, &names).unwrap();
    assert_eq!(wellformed.repairs_by_kind().collect::<Vec<_>>(), [(Repair::EndWithoutBegin, 1)]);
}

#[test]
fn legal_corner_cases() {
    let unchanged = |trace| good(trace, trace);
    // An idle child; a child forked again; a thread from the start that is joined and forked.
    unchanged("T1 fork(T2); T1 join(T2)");
    unchanged("T1 fork(T2); T2 r(x); T1 join(T2); T3 fork(T2); T2 r(x); T3 join(T2)");
    unchanged("T2 r(x); T1 join(T2); T1 fork(T2); T2 r(x)");
    // Threads from the start fork each other's children.
    unchanged("T1 r(x); T2 r(x); T1 fork(T3); T2 join(T3)");
    // Downgrade: exclusive, shared as well, then only shared. Others may share then.
    unchanged("T1 acq(m); T1 racq(m); T1 rel(m); T2 racq(m); T1 rrel(m); T2 rrel(m); T1 acq(m)");
    // Upgrade by the only reader.
    unchanged("T1 racq(m); T1 acq(m); T1 rel(m); T1 rrel(m)");
    unchanged("T1 racq(m); T1 acq(m); T1 rrel(m); T1 wait(m); T1 rel(m)");
    // Locks held and blocks open at the end, and at a join.
    unchanged("T1 begin; T1 acq(m); T2 racq(n)");
    unchanged("T2 begin; T2 acq(m); T1 join(T2); T1 fork(T2); T2 rel(m); T2 end");
    // Locks need no nesting.
    unchanged("T1 acq(m); T1 acq(n); T1 rel(m); T2 acq(m); T1 rel(n)");
    // The lock is free during a wait, and even the end of the block takes it back.
    unchanged(
        "T1 begin; T1 acq(m); T1 wait(m); T2 acq(m); T2 wait(m); T1 end; T1 rel(m); T2 wait(m); T2 rel(m)",
    );
    unchanged("T1 barrier(b); T2 barrier(b); T1 r(x)");
    unchanged("T1 skip; T2 fork(T1)");
    unchanged("");
}

#[test]
fn re_entrant_operations_are_marked() {
    good(
        "T1 acq(m); T1 acq(m); T1 wait(m); T2 acq(m); T2 rel(m); T1 r(x); T1 rel(m); T1 rel(m); T2 acq(m)",
        "T1 acq(m); T1 acq+(m); T1 wait(m); T2 acq(m); T2 rel(m); T1 r(x); T1 rel+(m); T1 rel(m); T2 acq(m)",
    );
    good(
        "T1 racq(m); T2 racq(m); T1 racq(m); T1 rrel(m); T1 rrel(m); T2 acq(m); T2 racq(m)",
        "T1 racq(m); T2 racq(m); T1 racq+(m); T1 rrel+(m); T1 rrel(m); T2 acq(m); T2 racq+(m)",
    );
    // Checking what was checked changes nothing.
    let marked = "T1 acq(m); T1 acq+(m); T1 rel+(m); T1 rel(m)";
    good(marked, marked);
}

/// The rules of `docs/event-model.md` again, each as a question to the whole prefix.
fn legal(prefix: &[Event], event: Event) -> bool {
    let me = event.thread;
    let past = |t: ThreadId| prefix.iter().filter(move |e| e.thread == t);
    let threads = || prefix.iter().map(|e| e.thread);
    let count = |t, op| past(t).filter(|e| e.op == op).count();
    // How often `t` holds `l`, where `t` is in no wait on it.
    let depth = |t, l, mode| count(t, Op::Acquire(l, mode)) - count(t, Op::Release(l, mode));
    let waits = |t, l| past(t).next_back().is_some_and(|e| e.op == Op::Wait(l));
    let holds = |t, l, mode| depth(t, l, mode) > 0 && !(mode == Mode::Exclusive && waits(t, l) && t != me);
    let others_hold = |l, mode| threads().any(|t| t != me && holds(t, l, mode));
    let joined = |t: ThreadId| {
        let last = prefix.iter().rev().find(|e| e.op == Op::Fork(t) || e.op == Op::Join(t));
        last.is_some_and(|e| e.op == Op::Join(t))
    };
    let known = |t| past(t).next().is_some() || prefix.iter().any(|e| e.op == Op::Fork(t));
    if joined(me) {
        return false;
    }
    if let Some(Event { op: Op::Wait(l), .. }) = past(me).next_back()
        && (others_hold(*l, Mode::Exclusive) || others_hold(*l, Mode::Shared))
    {
        return false;
    }
    match event.op {
        Op::Acquire(l, Mode::Exclusive) => !others_hold(l, Mode::Exclusive) && !others_hold(l, Mode::Shared),
        Op::Acquire(l, Mode::Shared) => !others_hold(l, Mode::Exclusive),
        Op::Release(l, mode) => holds(me, l, mode),
        Op::Wait(l) => holds(me, l, Mode::Exclusive) && !holds(me, l, Mode::Shared),
        Op::End => past(me).filter(|e| matches!(e.op, Op::Begin(_))).count() > count(me, Op::End),
        Op::Fork(u) => u != me && (!known(u) || joined(u)),
        Op::Join(u) => u != me && known(u) && !joined(u),
        _ => true,
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (((self.0 >> 33) * u64::from(n)) >> 31) as u32
    }

    fn event(&mut self) -> Event {
        let mode = if self.below(3) == 0 { Mode::Shared } else { Mode::Exclusive };
        let lock = LockId(self.below(2));
        let op = match self.below(16) {
            0 => Op::read(VarId(0)),
            1 => Op::Update(VarId(0), UpdateKind::Add),
            2 => Op::Barrier(BarrierId(0)),
            3 => Op::Alloc(VarId(0)),
            4 => Op::Fork(ThreadId(self.below(4))),
            5 => Op::Join(ThreadId(self.below(4))),
            6 => Op::Begin(RegionId(0)),
            7 => Op::End,
            8 | 9 => Op::Wait(lock),
            10..13 => Op::Acquire(lock, mode),
            _ => Op::Release(lock, mode),
        };
        Event { thread: ThreadId(self.below(4)), op, site: SiteId::NONE }
    }
}

fn four_threads_two_locks() -> Names {
    let mut names = Names::default();
    for thread in ["T0", "T1", "T2", "T3"] {
        names.threads.intern(thread);
    }
    for lock in ["l0", "l1"] {
        names.locks.intern(lock);
    }
    names
}

#[test]
fn agrees_with_the_rules_asked_naively() {
    let names = four_threads_two_locks();
    let (mut broken, mut random) = (0, Random(1));
    for round in 0..20_000 {
        // Most wrong events are dropped, so that traces grow long before they break.
        let tolerance = [2, 20, 200][round % 3];
        let mut trace: Vec<Event> = Vec::new();
        let mut expected = None;
        for _ in 0..40 {
            let event = random.event();
            if legal(&trace, event) {
                trace.push(event);
            } else if random.below(tolerance) == 0 {
                expected = Some(trace.len());
                trace.push(event);
                break;
            }
        }
        broken += usize::from(expected.is_some());
        let mut checked = trace.clone();
        let got = Wellformed::new(Discipline::Strict).check(EventId(0), &mut checked, &names);
        assert_eq!(got.err().map(|broken| broken.index), expected, "{trace:?}");
    }
    assert!((5_000..15_000).contains(&broken), "{broken} of 20000 broken");
}

/// The figures of a trace, one by one.
fn counted(events: &[Event]) -> Figures {
    let kept: Vec<&Event> = events.iter().filter(|event| event.op != Op::Skip).collect();
    let is_begin = |event: &Event| matches!(event.op, Op::Begin(_));
    let is_outside = |at: usize| {
        let before = kept[..at].iter().filter(|event| event.thread == kept[at].thread);
        let (begins, ends): (Vec<&Event>, Vec<&Event>) =
            before.filter(|event| is_begin(event) || event.op == Op::End).partition(|event| is_begin(event));
        begins.len() == ends.len()
    };
    let number = |counts: &dyn Fn(usize) -> bool| (0..kept.len()).filter(|&at| counts(at)).count() as u64;
    Figures {
        blocks: number(&|at| is_begin(kept[at])),
        outermost_blocks: number(&|at| is_begin(kept[at]) && is_outside(at)),
        unary: number(&|at| !is_begin(kept[at]) && is_outside(at)),
        threads: number(&|at| kept[..at].iter().all(|event| event.thread != kept[at].thread)),
    }
}

#[test]
fn what_lenient_reading_leaves_is_well_formed() {
    let names = four_threads_two_locks();
    let (mut random, mut compared) = (Random(2), 0);
    for _ in 0..20_000 {
        let raw: Vec<Event> = (0..25).map(|_| random.event()).collect();
        let mut repaired = raw.clone();
        let mut lenient = Wellformed::new(Discipline::Lenient);
        lenient.check(EventId(0), &mut repaired, &names).unwrap();
        assert_eq!(lenient.figures, counted(&repaired), "{raw:?}");
        let first_repair = (0..raw.len()).find(|&i| !legal(&raw[..i], raw[i]));
        assert_eq!(first_repair.is_some(), lenient.repairs > 0, "{raw:?}");
        // The two repairs that keep an event cannot be said in a trace.
        let kept = |repair: &(Repair, u64)| matches!(repair.0, Repair::WaitLostLock | Repair::AfterJoin);
        if lenient.repairs_by_kind().any(|repair| kept(&repair)) {
            continue;
        }
        compared += 1;
        let skipped = repaired.iter().filter(|event| event.op == Op::Skip).count();
        assert_eq!(skipped as u64, lenient.repairs, "{raw:?}");
        let before = repaired.clone();
        let strict = Wellformed::new(Discipline::Strict).check(EventId(0), &mut repaired, &names);
        assert_eq!((strict, &repaired), (Ok(()), &before), "{raw:?}");
    }
    assert!(compared > 2_000, "{compared}");
}
