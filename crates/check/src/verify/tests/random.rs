//! Random traces, and brute force with the oracle's order.

use std::collections::{BTreeSet, VecDeque};

use super::*;
use crate::notation::show;
use crate::oracle::random::{Random, trace};
use crate::oracle::{Division, Order, judge};

const BOTH: Config = Config { commuting_updates: true, split_at_waits: true, conflicts: Conflicts::Locks };

/// A reason, and which pairs of events it orders.
struct Reason {
    because: Because,
    pairs: Vec<Vec<bool>>,
}

/// Every reason there can be in traces of [`trace`], each judged by the oracle on the trace in which
/// nothing else orders anything: other operations are made into inner releases, which stay events.
fn reasons(config: Config, events: &[Event]) -> Vec<Reason> {
    const NOTHING: Op = Op::Rerelease(LockId(9), Mode::Shared);
    let touch_of = |event: &Event| match event.op {
        Op::Read(..) => Some(Touch::Read),
        Op::Write(..) => Some(Touch::Write),
        Op::Update(..) => Some(Touch::Update),
        _ => None,
    };
    let mut reasons = Vec::new();
    let mut add = |keep: &dyn Fn(Op) -> bool, becauses: &[Because]| {
        let mut stripped = events.to_vec();
        for event in &mut stripped {
            if event.op != Op::Skip && !keep(event.op) {
                event.op = NOTHING;
            }
        }
        let order = Order::new(&config, &stripped);
        for &because in becauses {
            let right = |e: usize, f: usize| {
                let one_thread = events[e].thread == events[f].thread;
                order.directly_before(e, f)
                    && match because {
                        Because::ProgramOrder(thread) => one_thread && events[e].thread == thread,
                        Because::Access(_, first, second) => {
                            !one_thread
                                && touch_of(&events[e]) == Some(first)
                                && touch_of(&events[f]) == Some(second)
                        }
                        _ => !one_thread,
                    }
            };
            let row = |e| (0..events.len()).map(|f| right(e, f)).collect();
            reasons.push(Reason { because, pairs: (0..events.len()).map(row).collect() });
        }
    };
    let touches = [Touch::Read, Touch::Write, Touch::Update];
    for id in 0..4 {
        let (x, l, u, q) = (VarId(id), LockId(id), ThreadId(id), BarrierId(id));
        let accesses: Vec<Because> =
            touches.iter().flat_map(|&a| touches.map(|b| Because::Access(x, a, b))).collect();
        let of_x = |op| matches!(op, Op::Read(y, _) | Op::Write(y, _) | Op::Update(y, _) | Op::Alloc(y) | Op::Free(y) if x == y);
        add(&of_x, &accesses);
        let of_l = |op| matches!(op, Op::Acquire(m, _) | Op::Release(m, _) | Op::Wait(m) if l == m);
        add(&of_l, &[Because::Lock(l)]);
        add(&|op| op == Op::Fork(u), &[Because::Fork(u)]);
        add(&|op| op == Op::Join(u), &[Because::Join(u)]);
        add(&|op| op == Op::Barrier(q), &[Because::Barrier(q)]);
        add(&|_| false, &[Because::ProgramOrder(u)]);
    }
    reasons
}

#[test]
fn a_step_is_accepted_if_and_only_if_the_oracle_orders_it() {
    let mut random = Random(11);
    let (mut accepted, mut direct) = (0, 0);
    for _ in 0..200 {
        let length = 10 + random.below(15);
        let events = trace(&mut random, length);
        let config = random.pick(&[PLAIN, COMMUTING]);
        let order = Order::new(&config, &events);
        let everything: Vec<(u64, u64, Because)> =
            (0..events.len() as u64).map(|e| (e, e, Because::Lock(L))).collect();
        let mut verifier = Verifier::new(&config, &[witness(None, &everything)]);
        verifier.events(EventId(0), &events);
        let reasons = reasons(config, &events);
        for e in 0..events.len() {
            for f in 0..events.len() {
                let mut ordered = false;
                for reason in &reasons {
                    let because = reason.because;
                    let step = Step { from: EventId(e as u64), to: EventId(f as u64), because };
                    let judged = verifier.step(&step);
                    assert_eq!(judged.is_ok(), reason.pairs[e][f], "{step:?} {judged:?}: {}", text(&events));
                    ordered |= judged.is_ok();
                    accepted += usize::from(judged.is_ok());
                }
                assert_eq!(ordered, order.directly_before(e, f), "{e} {f}: {}", text(&events));
                direct += usize::from(ordered);
            }
        }
    }
    assert!(accepted > direct && direct > 10_000, "{accepted} {direct}");
}

fn text(events: &[Event]) -> String {
    show(events, &Default::default())
}

/// A random shortest walk from one event to another of `goals`, through an event of `through`.
fn walk(
    random: &mut Random,
    moves: &dyn Fn(usize, usize) -> Vec<Because>,
    size: usize,
    start: usize,
    through: &dyn Fn(usize) -> bool,
    goal: &dyn Fn(usize) -> bool,
) -> Option<Vec<(u64, u64, Because)>> {
    // States: an event, and whether the walk has been where it has to go.
    let mut reached: Vec<Option<(usize, bool, Because)>> = vec![None; size * 2];
    let mut queue = VecDeque::from([(start, false)]);
    while let Some((at, been)) = queue.pop_front() {
        if been && goal(at) {
            let mut steps = Vec::new();
            let (mut at, mut been) = (at, been);
            while let Some((from, from_been, because)) = reached[at * 2 + usize::from(been)] {
                steps.push((from as u64, at as u64, because));
                (at, been) = (from, from_been);
            }
            steps.reverse();
            return Some(steps);
        }
        let offset = random.below(size);
        for to in (0..size).map(|i| (i + offset) % size) {
            let becauses = moves(at, to);
            let now = been || through(to);
            let slot = &mut reached[to * 2 + usize::from(now)];
            if !becauses.is_empty() && slot.is_none() && (to, now) != (start, false) {
                *slot = Some((at, been, random.pick(&becauses)));
                queue.push_back((to, now));
            }
        }
    }
    None
}

/// What the documentation of witnesses says, with the oracle's tables.
fn is_right(witness: &Witness, events: &[Event], reasons: &[Reason], division: &Division) -> bool {
    let index = |at: EventId| (at.0 < events.len() as u64).then_some(at.0 as usize);
    let transaction = |at: usize| division.transaction_of[at];
    let in_block = |at: usize| division.pieces.iter().any(|piece| piece.members.contains(&at));
    for (number, step) in witness.steps.iter().enumerate() {
        let (Some(from), Some(to)) = (index(step.from), index(step.to)) else { return false };
        let ordered = match step.because {
            Because::SameTransaction(thread) => {
                witness.block.is_none()
                    && (events[from].thread, events[to].thread) == (thread, thread)
                    && transaction(from).is_some()
                    && transaction(from) == transaction(to)
                    && in_block(from)
            }
            because => reasons.iter().any(|reason| reason.because == because && reason.pairs[from][to]),
        };
        if !ordered || number > 0 && witness.steps[number - 1].to != step.from {
            return false;
        }
    }
    let (Some(first), Some(last)) = (witness.steps.first(), witness.steps.last()) else { return false };
    let (start, end) = (first.from.0 as usize, last.to.0 as usize);
    let visited = || witness.steps.iter().map(|step| step.to.0 as usize);
    match witness.block {
        None => {
            in_block(start)
                && transaction(start) == transaction(end)
                && visited().any(|at| transaction(at) != transaction(start))
        }
        Some(block) => {
            index(block.begin).is_some_and(|begin| {
                let Event { thread, op, site } = events[begin];
                (thread, op, site) == (block.thread, Op::Begin(block.region), block.site)
            }) && division.pieces.iter().any(|piece| {
                piece.begin as u64 == block.begin.0
                    && piece.members.contains(&start)
                    && piece.members.contains(&end)
            }) && visited().any(|at| events[at].thread != block.thread)
        }
    }
}

fn mutate(random: &mut Random, witness: &mut Witness, events: &[Event], reasons: &[Reason]) {
    let some_event = |random: &mut Random| EventId(random.below(events.len() + 1) as u64);
    let step = random.below(witness.steps.len());
    match random.below(9) {
        0 => witness.steps[step].from = some_event(random),
        1 => witness.steps[step].to = some_event(random),
        2 => witness.steps[step].because = reasons[random.below(reasons.len())].because,
        3 => drop(witness.steps.remove(step)),
        4 => {
            let begins: Vec<usize> =
                (0..events.len()).filter(|&i| matches!(events[i].op, Op::Begin(_))).collect();
            witness.block = Some(block_at(random.pick(&begins), events));
        }
        5 => witness.block = None,
        6 => {
            // A detour that may well be right.
            let (at, via) = (witness.steps[step].from, some_event(random));
            let because = together(random.below(4) as u32);
            let detour = [Step { from: at, to: via, because }, Step { from: via, to: at, because }];
            witness.steps.splice(step..step, detour);
        }
        7 => {
            // The same as a step in program order.
            let (at, via) = (witness.steps[step].from, some_event(random));
            let because = po(random.below(4) as u32);
            witness.steps.insert(step, Step { from: at, to: via, because });
            witness.steps[step + 1].from = via;
        }
        _ => witness.steps[step].because = together(random.below(4) as u32),
    }
}

#[test]
fn right_witnesses_are_accepted_and_wrong_ones_refused() {
    let mut random = Random(12);
    // Blocks and cycles witnessed; mutants accepted and refused.
    let (mut blocks, mut cycles, mut still_right, mut wrong) = (0, 0, 0, 0);
    for _ in 0..1_500 {
        let length = 8 + random.below(15);
        let events = trace(&mut random, length);
        let config = random.pick(&[PLAIN, COMMUTING, SPLIT, BOTH]);
        let verdict = judge(&config, &events);
        if verdict.serializable {
            continue;
        }
        let division = Division::new(&config, &events, &BTreeSet::new());
        let reasons = reasons(config, &events);
        let ordered = |e: usize, f: usize| -> Vec<Because> {
            reasons.iter().filter(|reason| reason.pairs[e][f]).map(|reason| reason.because).collect()
        };
        let transaction = |at: usize| division.transaction_of[at];
        let in_block = |at: usize| division.pieces.iter().any(|piece| piece.members.contains(&at));
        let ordered_or_together = |e: usize, f: usize| {
            let mut becauses = ordered(e, f);
            if e != f && in_block(e) && transaction(e) == transaction(f) {
                becauses.push(together(events[e].thread.0));
            }
            becauses
        };
        let mut witnesses = Vec::new();
        let mut witnessed = BTreeSet::new();
        for piece in division.pieces.iter().filter(|piece| !piece.members.is_empty()) {
            let elsewhere = |at: usize| events[at].thread != events[piece.begin].thread;
            let inside = |at: usize| piece.members.contains(&at);
            let start = piece.members[0];
            if let Some(steps) = walk(&mut random, &ordered, events.len(), start, &elsewhere, &inside) {
                witnesses.push(witness(Some(block_at(piece.begin, &events)), &steps));
                witnessed.insert(EventId(piece.begin as u64));
                blocks += 1;
            }
            let another = |at: usize| transaction(at) != transaction(start);
            let back = |at: usize| transaction(at) == transaction(start);
            if piece.depth == 0
                && let Some(steps) =
                    walk(&mut random, &ordered_or_together, events.len(), start, &another, &back)
            {
                witnesses.push(witness(None, &steps));
                cycles += 1;
            }
        }
        assert_eq!(witnessed.into_iter().collect::<Vec<_>>(), verdict.violated_blocks, "{}", text(&events));
        for witness in witnesses {
            assert_eq!(verify(config, &events, &witness), Ok(()), "{witness:?}: {}", text(&events));
            for _ in 0..20 {
                let mut mutant = witness.clone();
                mutate(&mut random, &mut mutant, &events, &reasons);
                let right = is_right(&mutant, &events, &reasons, &division);
                let judged = verify(config, &events, &mutant);
                assert_eq!(judged.is_ok(), right, "{judged:?} {mutant:?}: {}", text(&events));
                still_right += usize::from(right);
                wrong += usize::from(!right);
            }
        }
    }
    assert!(
        blocks > 300 && cycles > 300 && still_right > 1_000 && wrong > 1_000,
        "{blocks} {cycles} {still_right} {wrong}"
    );
}

#[test]
fn serial_orders_are_accepted_if_and_only_if_all_pairs_are_kept() {
    let mut random = Random(13);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..4_000 {
        let length = 5 + random.below(20);
        let events = trace(&mut random, length);
        let config = random.pick(&[PLAIN, COMMUTING, SPLIT, BOTH]);
        let order = Order::new(&config, &events);
        let transaction_of = &Division::new(&config, &events, &BTreeSet::new()).transaction_of;
        let verdict = judge(&config, &events);
        let keeps = |serial: &[EventId]| {
            let place =
                |at: usize| serial.iter().position(|first| Some(first.0 as usize) == transaction_of[at]);
            (0..events.len()).all(|f| (0..f).all(|e| !order.directly_before(e, f) || place(e) <= place(f)))
        };
        // Takes out, again and again, a random transaction that no other one has to precede.
        let mut left = verdict.transactions.clone();
        let mut serial = Vec::new();
        let members = |first: EventId| {
            (0..events.len()).filter(move |&at| transaction_of[at] == Some(first.0 as usize))
        };
        let leads = |from: EventId, to: EventId| {
            members(from).any(|e| members(to).any(|f| order.directly_before(e, f)))
        };
        loop {
            let free: Vec<usize> = (0..left.len())
                .filter(|&i| !(0..left.len()).any(|j| i != j && leads(left[j], left[i])))
                .collect();
            if free.is_empty() {
                break;
            }
            serial.push(left.remove(random.pick(&free)));
        }
        assert_eq!(left.is_empty(), verdict.serializable, "{}", text(&events));
        // Without a serial order, any will do: it has to be refused.
        serial.extend(left);
        let judged = serial_order(&config, &events, &serial);
        assert_eq!(judged.is_ok(), verdict.serializable, "{judged:?} {serial:?}: {}", text(&events));
        for _ in 0..10 {
            if serial.is_empty() {
                break;
            }
            let (a, b) = (random.below(serial.len()), random.below(serial.len()));
            serial.swap(a, b);
            let judged = serial_order(&config, &events, &serial);
            assert_eq!(judged.is_ok(), keeps(&serial), "{judged:?} {serial:?}: {}", text(&events));
            accepted += usize::from(judged.is_ok());
            refused += usize::from(judged.is_err());
        }
    }
    assert!(accepted > 1_000 && refused > 1_000, "{accepted} {refused}");
}
