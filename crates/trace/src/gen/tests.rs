use std::collections::BTreeSet;

use super::*;
use crate::wellformed::{Discipline, Wellformed};
use crate::{LockId, Mode, Op, ThreadId};

const KINDS: [Kind; 3] = [Kind::TwoPhaseLocking, Kind::GlobalLock, Kind::ThreadLocal];

/// The whole trace; it is well-formed, as long as asked for, and every id has a name.
#[track_caller]
fn generate(config: &Config) -> (Vec<Event>, Generator) {
    let mut generator = Generator::new(config).unwrap();
    let events = generator.collect();
    assert_eq!(events.len() as u64, config.events, "{config:?}");
    assert_well_formed(&events, &generator);
    (events, generator)
}

#[track_caller]
fn assert_well_formed(events: &[Event], generator: &Generator) {
    let names = generator.names();
    for event in events {
        assert!(event.thread.index() < names.threads.len() && event.site.index() < names.sites.len());
        let (id, known) = match event.op {
            Op::Read(x, _) | Op::Write(x, _) | Op::Update(x, _) | Op::Alloc(x) | Op::Free(x) => {
                (x.index(), names.variables.len())
            }
            Op::Acquire(l, _) | Op::Release(l, _) | Op::Wait(l) => (l.index(), names.locks.len()),
            Op::Fork(t) | Op::Join(t) => (t.index(), names.threads.len()),
            Op::Barrier(b) => (b.index(), names.barriers.len()),
            Op::Begin(label) if label != RegionId::NONE => (label.index(), names.regions.len()),
            Op::Begin(_) | Op::End => continue,
            other => panic!("a generator made {other:?}"),
        };
        assert!(id < known, "{event:?} has no name");
    }
    let mut checked = events.to_vec();
    let result = Wellformed::new(Discipline::Strict).check(EventId(0), &mut checked, names);
    assert_eq!(result, Ok(()), "{events:?}");
}

fn hash(events: &[Event]) -> u64 {
    // As events were shown when the numbers below were taken.
    let shown = |event: &Event| format!("{event:?}").replace(", Plain", "");
    let bytes = events.iter().flat_map(|event| shown(event).into_bytes());
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}

#[test]
fn the_same_seed_gives_the_same_events_for_ever() {
    // A change of these numbers breaks whoever refers to a generated trace by its parameters.
    let mut hashes = vec![hash(&generate(&Config::small_random(Features::ALL)).0)];
    for kind in KINDS {
        let mut config = Config { kind, events: 20_000, seed: 42, ..Config::default() };
        config.inject_evenly(2);
        hashes.push(hash(&generate(&config).0));
    }
    assert_eq!(hashes, [6992010338674140113, 4341640914721957548, 16526335079794672756, 4514933113296946397]);
}

#[test]
fn reset_is_as_good_as_new() {
    let mut realistic = Config { events: 5_000, ..Config::default() };
    realistic.inject_at_percent(50);
    for mut config in [Config::small_random(Features::ALL), realistic] {
        let mut generator = Generator::new(&config).unwrap();
        let mut traces = BTreeSet::new();
        for seed in [3, 1, 3, 2] {
            generator.reset(seed);
            config.seed = seed;
            let events = generator.collect();
            let (fresh, other) = generate(&config);
            assert_eq!((&events, generator.injected()), (&fresh, other.injected()));
            traces.insert(hash(&events));
        }
        assert_eq!(traces.len(), 3);
    }
}

#[test]
fn random_traces_are_well_formed_and_keep_to_their_features() {
    use Features as F;
    let sets = [F::NONE, F::PAPER, F::ALL, F::ALL.without(F::LOCKS), F::ALL.without(F::UNARY), F::LOCKS];
    for features in sets {
        let config = Config { events: 60, ..Config::small_random(features) };
        let mut generator = Generator::new(&config).unwrap();
        let mut seen = BTreeSet::new();
        for seed in 0..2000 {
            generator.reset(seed);
            let events = generator.collect();
            assert_eq!(events.len(), 60);
            assert_well_formed(&events, &generator);
            let mut open = [0; 3];
            for event in &events {
                let open = &mut open[event.thread.index()];
                let (name, needs) = match event.op {
                    Op::Read(..) => ("r", F::NONE),
                    Op::Write(..) => ("w", F::NONE),
                    Op::Begin(RegionId::NONE) => ("begin", F::UNLABELLED),
                    Op::Begin(_) if *open > 0 => ("nested begin", F::NESTING),
                    Op::Begin(_) => ("begin(m)", F::NONE),
                    Op::End => ("end", F::NONE),
                    Op::Update(..) => ("rmw", F::UPDATE),
                    Op::Acquire(_, Mode::Exclusive) => ("acq", F::LOCKS),
                    Op::Release(_, Mode::Exclusive) => ("rel", F::LOCKS),
                    Op::Acquire(_, Mode::Shared) => ("racq", F::SHARED),
                    Op::Release(_, Mode::Shared) => ("rrel", F::SHARED),
                    Op::Wait(_) => ("wait", F::WAIT),
                    Op::Barrier(_) => ("barrier", F::BARRIER),
                    Op::Fork(_) => ("fork", F::FORK_JOIN),
                    Op::Join(_) => ("join", F::FORK_JOIN),
                    Op::Alloc(_) => ("alloc", F::LIVES),
                    Op::Free(_) => ("free", F::LIVES),
                    other => panic!("{other:?}"),
                };
                assert!(features.has(needs), "{name} without its feature");
                seen.insert(name);
                match event.op {
                    Op::Begin(_) => *open += 1,
                    Op::End => *open -= 1,
                    _ => assert!(*open > 0 || features.has(F::UNARY), "{event:?} outside of blocks"),
                }
                assert!(*open <= 3);
            }
        }
        let expected = match features {
            F::NONE => 4,
            F::LOCKS => 6,
            F::PAPER => 9,
            _ if features.has(F::LOCKS) => 17,
            _ => 14,
        };
        assert_eq!(seen.len(), expected, "{features:?}: {seen:?}");
    }
}

#[test]
fn the_rare_things_happen_in_random_traces() {
    let mut generator =
        Generator::new(&Config { events: 30, ..Config::small_random(Features::ALL) }).unwrap();
    let mut seen = BTreeSet::new();
    for seed in 0..3000 {
        generator.reset(seed);
        let mut events = generator.collect();
        let raw = events.clone();
        Wellformed::new(Discipline::Strict).check(EventId(0), &mut events, generator.names()).unwrap();
        let had = |t: ThreadId| raw.iter().any(|event| event.thread == t);
        for (i, event) in events.iter().enumerate() {
            let before = &raw[..i];
            let held = |mode| {
                let count = |op| before.iter().filter(|e| e.thread == event.thread && e.op == op).count();
                move |l: LockId| count(Op::Acquire(l, mode)) > count(Op::Release(l, mode))
            };
            match event.op {
                Op::Fork(t) if before.iter().any(|e| e.op == Op::Join(t)) => seen.insert("forked again"),
                Op::Fork(t) if !had(t) && raw[i..].iter().any(|e| e.op == Op::Join(t)) => seen.insert("idle"),
                Op::Reacquire(..) => seen.insert("re-entered"),
                Op::Acquire(l, Mode::Shared) if held(Mode::Exclusive)(l) => seen.insert("downgrade"),
                Op::Acquire(l, Mode::Exclusive) if held(Mode::Shared)(l) => seen.insert("upgrade"),
                Op::Wait(l) => {
                    let rest = || raw[i + 1..].iter();
                    let back = rest().position(|e| e.thread == event.thread).unwrap_or(raw.len());
                    let taken = |e: &Event| e.op == Op::Acquire(l, Mode::Exclusive);
                    rest().take(back).any(taken) && seen.insert("lock taken during a wait")
                }
                _ => false,
            };
        }
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
}

#[test]
fn a_fair_share_of_small_random_traces_is_not_serializable() {
    for features in [Features::PAPER, Features::ALL] {
        for (events, threads, locks, variables) in [(10, 3, 1, 2), (20, 3, 2, 2), (30, 4, 2, 3)] {
            let config = Config { events, threads, locks, variables, ..Config::small_random(features) };
            let mut generator = Generator::new(&config).unwrap();
            let mut cyclic = 0;
            for seed in 0..1000 {
                generator.reset(seed);
                cyclic += u32::from(Order::new(&generator.collect()).has_cycle());
            }
            assert!((150..=600).contains(&cyclic), "{cyclic} of 1000 with {events} events, {features:?}");
        }
    }
}

fn small_realistic(kind: Kind, seed: u64) -> Config {
    let pick = |shift: u32, n: u32| (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as u32 % n;
    let (threads, locks) = (2 + pick(20, 4), 1 + pick(30, 4));
    Config {
        kind,
        seed,
        events: 150 + seed % 200,
        threads,
        locks,
        variables: locks + threads + pick(40, 8),
        labels: 1 + pick(10, 5),
        nesting: 1 + pick(15, 4),
        shortest_transaction: 1 + pick(50, 3),
        longest_transaction: 4 + pick(25, 6),
        read_percent: 40,
        unary_percent: [0, 30, 60, 100][pick(33, 4) as usize],
        burst: 1 + pick(45, 4),
        start: if seed.is_multiple_of(2) { Start::Together } else { Start::ForkJoin },
        ..Config::default()
    }
}

#[test]
fn realistic_traces_are_serializable() {
    for kind in KINDS {
        for seed in 0..150 {
            let config = small_realistic(kind, seed);
            let order = Order::new(&generate(&config).0);
            assert!(!order.has_cycle() && order.violated().is_empty(), "{config:?}");
        }
    }
}

#[test]
fn exactly_the_injected_blocks_are_violated() {
    use Violation::*;
    for kind in KINDS {
        for seed in 0..200 {
            let mut config = small_realistic(kind, seed);
            config.violation =
                [LostUpdate, UnrepeatableRead, IntermediateRead, OverwrittenWrite][seed as usize % 4];
            match seed % 5 {
                0 => config.inject_at_percent((seed / 2) as u32),
                count => config.inject_evenly(count as u32),
            }
            let (events, generator) = generate(&config);
            let injected = generator.injected();
            assert_eq!(injected.len(), config.inject.len());
            let order = Order::new(&events);
            assert!(order.has_cycle());
            let expected: Vec<_> =
                injected.iter().map(|i| (i.begin.0 as usize, i.event.0 as usize)).collect();
            assert_eq!(order.violated(), expected, "{config:?}");
            for (injected, &asked) in injected.iter().zip(&config.inject) {
                assert_eq!(events[injected.begin.0 as usize].op, Op::Begin(injected.label));
                // At the place, or at the end of all transactions, if that comes first.
                assert!(injected.begin.0 >= asked.min(config.events * 3 / 5), "{config:?}");
            }
        }
    }
}

#[test]
fn an_injection_in_a_large_trace_is_near_its_place() {
    for kind in KINDS {
        let mut config = Config { kind, events: 100_000, ..Config::default() };
        config.inject_at_percent(30);
        let (_, generator) = generate(&config);
        let [injected] = generator.injected() else { panic!("one injection") };
        assert!((30_000..31_000).contains(&injected.begin.0), "{injected:?}");
        assert!(injected.event.0 - injected.begin.0 < 1_000, "{injected:?}");
        assert_eq!(generator.names().variables.get(injected.variable), "injected.f0");
    }
}

#[test]
fn realistic_traces_keep_to_their_parameters() {
    for kind in KINDS {
        let config = Config {
            kind,
            events: 200_000,
            shortest_transaction: 3,
            longest_transaction: 9,
            nesting: 3,
            read_percent: 60,
            unary_percent: 20,
            ..Config::default()
        };
        let (events, generator) = generate(&config);
        let threads = config.threads as usize;
        assert_eq!(generator.names().variables.len(), config.variables as usize);
        let forks = events.iter().take_while(|event| matches!(event.op, Op::Fork(_))).count();
        let joins = events.iter().rev().take_while(|event| matches!(event.op, Op::Join(_))).count();
        assert_eq!((forks, joins), (threads - 1, threads - 1));
        let (mut open, mut length) = (vec![0; threads], vec![0; threads]);
        let (mut reads, mut unary, mut accesses, mut deepest, mut odd) = (0, 0, 0, 0, 0);
        let (mut busy, mut switches) = (vec![0; threads], 0);
        for (i, event) in events.iter().enumerate() {
            let thread = event.thread.index();
            busy[thread] += 1;
            switches += usize::from(i > 0 && events[i - 1].thread != event.thread);
            match event.op {
                Op::Begin(_) => open[thread] += 1,
                Op::End => {
                    open[thread] -= 1;
                    if open[thread] == 0 {
                        odd += usize::from(!(3..=9).contains(&std::mem::take(&mut length[thread])));
                    }
                }
                Op::Read(..) | Op::Write(..) => {
                    accesses += 1;
                    reads += usize::from(matches!(event.op, Op::Read(..)));
                    unary += usize::from(open[thread] == 0);
                    length[thread] += usize::from(open[thread] > 0);
                }
                _ => {}
            }
            deepest = deepest.max(open[thread]);
        }
        assert!(odd <= 1, "{odd} transactions out of range");
        assert_eq!(deepest, 3);
        assert_eq!((reads * 100 + accesses / 2) / accesses, 60);
        assert!((18..=22).contains(&(unary * 100 / accesses)), "{}", unary * 100 / accesses);
        assert!(busy.iter().all(|&busy| busy > 200_000 / threads / 2), "{busy:?}");
        // With one lock for everything, most threads wait while its holder goes on.
        let longest = if kind == Kind::GlobalLock { 30 } else { 12 };
        assert!((3..=longest).contains(&(events.len() / switches)), "{switches} switches");
        // Everything is closed at the end.
        assert!(open.iter().all(|&open| open == 0));
    }
}

#[test]
fn a_site_belongs_to_one_operation_of_one_label() {
    let (events, generator) = generate(&Config { events: 50_000, labels: 9, ..Config::default() });
    let mut operations = vec![BTreeSet::new(); generator.names().sites.len()];
    let mut inside = vec![Vec::new(); 8];
    for event in &events {
        let labels = &mut inside[event.thread.index()];
        if let Op::Begin(label) = event.op {
            labels.push(label);
        }
        let kind = match event.op {
            Op::Read(..) => 0,
            Op::Write(..) => 1,
            Op::Acquire(..) | Op::Fork(_) => 2,
            Op::Release(..) | Op::Join(_) => 3,
            Op::Begin(_) => 4,
            _ => 5,
        };
        operations[event.site.index()].insert((labels.last().copied(), kind));
        if event.op == Op::End {
            labels.pop();
        }
    }
    assert!(operations.iter().all(|uses| uses.len() <= 1), "{operations:?}");
    assert!(operations.iter().filter(|uses| uses.len() == 1).count() > 100);
    assert_eq!(generator.names().regions.get(RegionId(8)), "Class1.method0");
    assert_eq!(generator.names().sites.get(events[20].site).split(':').count(), 2);
}

#[test]
fn the_smallest_traces_are_possible() {
    for kind in KINDS {
        for (threads, start, injections) in [
            (1, Start::Together, 0),
            (3, Start::ForkJoin, 0),
            (2, Start::Together, 2),
            (4, Start::ForkJoin, 1),
        ] {
            let mut config = Config { kind, threads, start, ..Config::default() };
            config.inject_evenly(injections);
            config.inject.fill(3);
            for more in 0..30 {
                config.events = realistic::fewest_events(&config) + more;
                let (_, generator) = generate(&config);
                assert_eq!(generator.injected().len(), injections as usize);
            }
        }
    }
    for events in 0..3 {
        generate(&Config { events, ..Config::small_random(Features::ALL) });
    }
    generate(&Config { threads: 1, locks: 0, ..Config::small_random(Features::ALL) });
}

#[test]
fn bad_parameters_are_named() {
    let check = |change: fn(&mut Config), problem: &str| {
        let mut config = Config::default();
        change(&mut config);
        assert_eq!(Generator::new(&config).map(|_| ()), Err(problem.to_owned()));
    };
    check(|c| c.threads = 0, "threads is 0, expected 1 to 65536");
    check(|c| c.locks = 0, "locks is 0, expected 1 to 16777216");
    check(|c| c.variables = 63, "variables is 63, expected 64 to 268435456");
    check(|c| c.labels = 0, "labels is 0, expected 1 to 65536");
    check(|c| c.nesting = 65, "nesting is 65, expected 1 to 64");
    check(|c| c.shortest_transaction = 0, "shortest transaction is 0, expected 1 to 1048576");
    check(|c| c.longest_transaction = 1, "longest transaction is 1, expected 2 to 1048576");
    check(|c| c.read_percent = 101, "read percent is 101, expected 0 to 100");
    check(|c| c.unary_percent = 101, "unary percent is 101, expected 0 to 100");
    check(|c| c.burst = 0, "burst is 0, expected 1 to 1048576");
    check(|c| c.events = 18, "events is 18, expected 19 to 9223372036854775807");
    check(|c| c.inject = vec![2, 1], "injections are not in ascending order");
    check(
        |c| (c.threads, c.inject) = (1, vec![0]),
        "threads is 1, expected 2 to 65536: an injected violation takes two",
    );
    check(
        |c| (c.kind, c.inject) = (Kind::Random, vec![0]),
        "injections is 1, expected 0 to 0: a random trace takes none",
    );
    check(|c| (c.kind, c.threads) = (Kind::Random, 257), "threads is 257, expected 1 to 256");
}

/// What happens before what, by the definitions, for small traces. Waits and barriers are left
/// out: what is found not serializable here is so with them all the more.
struct Order {
    /// Per event, the set of events that happen before it.
    before: Vec<Vec<u64>>,
    /// Per event, the begin of its outermost block, or the event itself.
    transaction: Vec<usize>,
    /// Per block, its events.
    blocks: Vec<Vec<usize>>,
    threads: Vec<ThreadId>,
}

impl Order {
    fn new(events: &[Event]) -> Order {
        let mut marked = events.to_vec();
        let mut names = Names::default();
        for thread in 0..256 {
            names.threads.intern(&thread.to_string());
        }
        Wellformed::new(Discipline::Strict).check(EventId(0), &mut marked, &names).unwrap();
        // Accesses carry the life of their variable.
        let mut lives = vec![0; 256];
        let mut life = Vec::new();
        for event in &marked {
            life.push(match event.op {
                Op::Alloc(x) | Op::Free(x) => {
                    lives[x.index()] += 1;
                    None
                }
                Op::Read(x, _) | Op::Write(x, _) | Op::Update(x, _) => Some((x, lives[x.index()])),
                _ => None,
            });
        }
        let words = events.len().div_ceil(64);
        let mut before: Vec<Vec<u64>> = Vec::new();
        for (j, f) in marked.iter().enumerate() {
            let mut set = vec![0; words];
            for (i, e) in marked[..j].iter().enumerate() {
                let conflict = life[i].is_some()
                    && life[i] == life[j]
                    && !(matches!(e.op, Op::Read(..)) && matches!(f.op, Op::Read(..)));
                if e.thread == f.thread || conflict || synchronize(*e, *f) {
                    (0..words).for_each(|w| set[w] |= before[i][w]);
                    set[i / 64] |= 1 << (i % 64);
                }
            }
            before.push(set);
        }
        let (mut open, mut blocks) = (vec![Vec::new(); 256], Vec::<Vec<usize>>::new());
        let mut transaction = Vec::new();
        for (i, event) in events.iter().enumerate() {
            let open = &mut open[event.thread.index()];
            if matches!(event.op, Op::Begin(_)) {
                open.push(blocks.len());
                blocks.push(Vec::new());
            }
            open.iter().for_each(|&block| blocks[block].push(i));
            transaction.push(open.first().map_or(i, |&block: &usize| blocks[block][0]));
            if event.op == Op::End {
                open.pop();
            }
        }
        let threads = events.iter().map(|event| event.thread).collect();
        Order { before, transaction, blocks, threads }
    }

    fn before(&self, e: usize, f: usize) -> bool {
        self.before[f][e / 64] >> (e % 64) & 1 == 1
    }

    /// The begins of violated blocks, and which of their events completes each violation.
    fn violated(&self) -> Vec<(usize, usize)> {
        let completes = |block: &Vec<usize>| {
            let begin = block[0];
            let outside = |x: &usize| self.threads[*x] != self.threads[begin] && self.before(begin, *x);
            let between: Vec<usize> = (0..self.before.len()).filter(outside).collect();
            let completing = block.iter().find(|&&m| between.iter().any(|&x| self.before(x, m)));
            completing.map(|&m| (begin, m))
        };
        self.blocks.iter().filter_map(completes).collect()
    }

    /// Whether the transactions are in a cycle: some can never be taken away as the first.
    fn has_cycle(&self) -> bool {
        let n = self.before.len();
        let mut follows = vec![BTreeSet::new(); n];
        for f in 0..n {
            let ahead = (0..f).filter(|&e| self.before(e, f)).map(|e| self.transaction[e]);
            follows[self.transaction[f]].extend(ahead.filter(|&t| t != self.transaction[f]));
        }
        let mut left: BTreeSet<usize> = self.transaction.iter().copied().collect();
        loop {
            let first = left.iter().copied().find(|&t| follows[t].is_disjoint(&left));
            match first {
                Some(first) => left.remove(&first),
                None => return !left.is_empty(),
            };
        }
    }
}

/// Order by locks, fork and join.
fn synchronize(e: Event, f: Event) -> bool {
    let lock = |op| match op {
        Op::Acquire(l, mode) | Op::Release(l, mode) => Some((l, mode)),
        _ => None,
    };
    let locks = match (lock(e.op), lock(f.op)) {
        (Some((l, a)), Some((m, b))) => l == m && !(a == Mode::Shared && b == Mode::Shared),
        _ => false,
    };
    locks || e.op == Op::Fork(f.thread) || f.op == Op::Join(e.thread)
}
