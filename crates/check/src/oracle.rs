//! The judge of the checkers: slow, and obviously right.
//!
//! Both verdicts of `docs/event-model.md`, straight from the definitions: which pairs of events are
//! directly ordered, the transitive closure of that, a graph of transactions, its closure.
//! Nothing here is clever and nothing is shared with `lower`, the checkers, the witnesses or the
//! verifier, so that an agreement with them means something.
//!
//! Input is a well-formed trace in which re-entrant lock operations are marked. Cost: O(n³ / 64)
//! time and O(n²) bits for n events, meant for tens to a few hundreds of events.

use std::collections::BTreeSet;

use atomvet_trace::{
    BarrierId, Conflicts, Event, EventId, LockId, Mode, Op, RegionId, SiteId, ThreadId, VarId,
};

use crate::Config;

#[cfg(test)]
pub(crate) mod random;
#[cfg(test)]
mod tests;

/// Everything that can be said about the atomicity of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Whether the graph of transactions has no cycle.
    pub serializable: bool,
    /// The event with which the shortest non-serializable prefix ends.
    pub first_cycle_event: Option<EventId>,
    /// The blocks, of any depth, that are not serializable: their begin events, in order.
    pub violated_blocks: Vec<EventId>,
    /// Those of them that no other block is around.
    pub violated_transactions: Vec<EventId>,
    /// All transactions (pieces of them, where waits split), each by its first event, in order.
    pub transactions: Vec<EventId>,
}

/// What a user calls a block: its label; or, without one, the site of its begin.
pub type BlockName = (RegionId, SiteId);

/// The name of the block that `event` begins; none if it begins none.
pub fn block_name(event: &Event) -> Option<BlockName> {
    match event.op {
        Op::Begin(RegionId::NONE) => Some((RegionId::NONE, event.site)),
        Op::Begin(region) => Some((region, SiteId::NONE)),
        _ => None,
    }
}

/// Judges a trace.
pub fn judge(config: &Config, events: &[Event]) -> Verdict {
    judge_blocks(config, events, &BTreeSet::new())
}

/// The names of blocks of which at least one execution is violated.
pub fn violated_names(config: &Config, events: &[Event]) -> BTreeSet<BlockName> {
    names_at(events, &judge(config, events).violated_blocks)
}

/// The names that are left out in the end, if one starts with all blocks as the specification, leaves
/// out the names of violated *outermost* blocks, and repeats that until no block is violated: what
/// the users of checkers for transactions do by hand. Equal to [`violated_names`].
///
/// A block that is left out is no block any more, but its begin and end stay events of their thread. (Were
/// they gone, a thread that does nothing else would have nothing for a join to wait for, and the
/// next event after a barrier would be another one: the order itself would depend on the
/// specification.)
pub fn refine_by_iteration(config: &Config, events: &[Event]) -> BTreeSet<BlockName> {
    let mut left_out = BTreeSet::new();
    loop {
        let verdict = judge_blocks(config, events, &left_out);
        if verdict.violated_transactions.is_empty() {
            return left_out;
        }
        left_out.extend(names_at(events, &verdict.violated_transactions));
    }
}

fn names_at(events: &[Event], begins: &[EventId]) -> BTreeSet<BlockName> {
    begins.iter().filter_map(|begin| block_name(&events[begin.0 as usize])).collect()
}

fn judge_blocks(config: &Config, events: &[Event], left_out: &BTreeSet<BlockName>) -> Verdict {
    let order = Order::new(config, events);
    let division = Division::new(config, events, left_out);
    let first_cycle_event = first_cycle(&order, &division.transaction_of);
    let mut violated_blocks = BTreeSet::new();
    let mut violated_transactions = BTreeSet::new();
    for piece in &division.pieces {
        if piece_is_violated(&order, events, piece) {
            violated_blocks.insert(id(piece.begin));
            if piece.depth == 0 {
                violated_transactions.insert(id(piece.begin));
            }
        }
    }
    let transactions: BTreeSet<EventId> = division.transaction_of.iter().flatten().copied().map(id).collect();
    Verdict {
        serializable: first_cycle_event.is_none(),
        first_cycle_event: first_cycle_event.map(id),
        violated_blocks: violated_blocks.into_iter().collect(),
        violated_transactions: violated_transactions.into_iter().collect(),
        transactions: transactions.into_iter().collect(),
    }
}

fn id(index: usize) -> EventId {
    EventId(index as u64)
}

/// Verdict 2: the piece's first event → x → m, with x of another thread and m of the piece.
fn piece_is_violated(order: &Order, events: &[Event], piece: &Piece) -> bool {
    let Some(&first) = piece.members.first() else { return false };
    piece.members.iter().any(|&member| {
        (first + 1..member).any(|other| {
            events[other].thread != events[first].thread
                && order.before.has(first, other)
                && order.before.has(other, member)
        })
    })
}

/// The last event of the shortest prefix whose graph of transactions has a cycle. A prefix that has
/// a cycle keeps it when events are added, so that the shortest is found by bisection.
fn first_cycle(order: &Order, transaction_of: &[Option<usize>]) -> Option<usize> {
    let (mut acyclic, mut cyclic) = (0, transaction_of.len());
    if !has_cycle(order, &transaction_of[..cyclic]) {
        return None;
    }
    while cyclic - acyclic > 1 {
        let middle = usize::midpoint(acyclic, cyclic);
        if has_cycle(order, &transaction_of[..middle]) {
            cyclic = middle;
        } else {
            acyclic = middle;
        }
    }
    Some(acyclic)
}

/// Whether T ⇝* T' ⇝* T for some T ≠ T'. A transaction is known by the index of its first event.
fn has_cycle(order: &Order, transaction_of: &[Option<usize>]) -> bool {
    let mut leads = Relation::new(transaction_of.len());
    for (later, later_transaction) in transaction_of.iter().enumerate() {
        for (earlier, earlier_transaction) in transaction_of[..later].iter().enumerate() {
            if let (Some(from), Some(to)) = (*earlier_transaction, *later_transaction)
                && from != to
                && order.before.has(earlier, later)
            {
                leads.add(from, to);
            }
        }
    }
    let nodes = 0..transaction_of.len();
    for through in nodes.clone() {
        for from in nodes.clone() {
            if leads.has(from, through) {
                leads.add_all(from, through);
            }
        }
    }
    nodes.into_iter().any(|node| leads.has(node, node))
}

/// Happens before, as a table.
#[derive(Debug)]
pub struct Order {
    config: Config,
    facts: Vec<Facts>,
    /// `before.has(e, f)` if e happens before f.
    before: Relation,
}

/// What the order needs to know about an event.
#[derive(Clone, Copy, Debug)]
struct Facts {
    thread: ThreadId,
    op: Op,
    /// Of the variable it accesses: how many allocations and frees came before.
    life: usize,
    /// It is the next event of its thread after a wait for this lock.
    regains: Option<LockId>,
    /// The barrier episode it is an arrival in.
    arrives: Option<usize>,
    /// The barrier episode in which its thread's last event was an arrival.
    leaves: Option<usize>,
}

impl Order {
    /// Orders the events of a trace.
    pub fn new(config: &Config, events: &[Event]) -> Order {
        let mut order = Order { config: *config, facts: facts(events), before: Relation::new(events.len()) };
        // In a table of rows "what comes after", a new column would touch every row. So build "what
        // comes before f" row by row, and turn it around in the end.
        let mut past = Relation::new(events.len());
        for f in 0..events.len() {
            for e in (0..f).rev() {
                if !past.has(f, e) && order.directly_before(e, f) {
                    past.add(f, e);
                    past.add_all(f, e);
                }
            }
            for e in 0..f {
                if past.has(f, e) {
                    order.before.add(e, f);
                }
            }
        }
        order
    }

    /// Whether `e` happens before `f`, both events of the trace.
    pub fn happens_before(&self, e: EventId, f: EventId) -> bool {
        self.before.has(e.0 as usize, f.0 as usize)
    }

    /// Whether event number `e` comes directly before event number `f`: the definition.
    pub fn directly_before(&self, e: usize, f: usize) -> bool {
        let (e_facts, f_facts) = (&self.facts[e], &self.facts[f]);
        if e >= f || e_facts.op == Op::Skip || f_facts.op == Op::Skip {
            return false;
        }
        let program_order = e_facts.thread == f_facts.thread;
        let fork = e_facts.op == Op::Fork(f_facts.thread);
        let join = f_facts.op == Op::Join(e_facts.thread);
        let locks_count = self.config.conflicts == Conflicts::Locks;
        let barrier = locks_count && e_facts.arrives.is_some() && e_facts.arrives == f_facts.leaves;
        program_order
            || fork
            || join
            || barrier
            || accesses_conflict(&self.config, e_facts, f_facts)
            || locks_count && lock_operations_conflict(e_facts, f_facts)
    }
}

fn accesses_conflict(config: &Config, e: &Facts, f: &Facts) -> bool {
    let (Some(e_variable), Some(f_variable)) = (accessed(e.op), accessed(f.op)) else { return false };
    if (e_variable, e.life) != (f_variable, f.life) {
        return false;
    }
    match (e.op, f.op) {
        (Op::Read(..), Op::Read(..)) => false,
        (Op::Update(_, e_kind), Op::Update(_, f_kind)) => {
            !(config.commuting_updates && e_kind == f_kind && e_kind.commutes())
        }
        _ => true,
    }
}

fn accessed(op: Op) -> Option<VarId> {
    match op {
        Op::Read(x, _) | Op::Write(x, _) | Op::Update(x, _) => Some(x),
        _ => None,
    }
}

fn lock_operations_conflict(e: &Facts, f: &Facts) -> bool {
    for (e_lock, e_mode) in lock_operations(e).into_iter().flatten() {
        for (f_lock, f_mode) in lock_operations(f).into_iter().flatten() {
            if e_lock == f_lock && !(e_mode == Mode::Shared && f_mode == Mode::Shared) {
                return true;
            }
        }
    }
    false
}

/// The lock operation that an event is, and the one that it counts as besides.
fn lock_operations(facts: &Facts) -> [Option<(LockId, Mode)>; 2] {
    let own = match facts.op {
        Op::Acquire(lock, mode) | Op::Release(lock, mode) => Some((lock, mode)),
        Op::Wait(lock) => Some((lock, Mode::Exclusive)),
        _ => None,
    };
    [own, facts.regains.map(|lock| (lock, Mode::Exclusive))]
}

fn facts(events: &[Event]) -> Vec<Facts> {
    let mut facts: Vec<Facts> = Vec::with_capacity(events.len());
    // Episodes that nobody has left yet: barrier, number, members.
    let mut gathering: Vec<(BarrierId, usize, Vec<ThreadId>)> = Vec::new();
    let mut episodes = 0;
    for (i, event) in events.iter().enumerate() {
        let last = facts[..i].iter().rfind(|last| last.thread == event.thread && last.op != Op::Skip);
        let mut fact = Facts {
            thread: event.thread,
            op: event.op,
            life: 0,
            regains: None,
            arrives: None,
            leaves: last.and_then(|last| last.arrives),
        };
        if event.op != Op::Skip {
            gathering.retain(|(_, _, members)| !members.contains(&event.thread));
        }
        if let Some(Op::Wait(lock)) = last.map(|last| last.op) {
            fact.regains = Some(lock);
        }
        if let Some(x) = accessed(event.op) {
            fact.life = facts
                .iter()
                .filter(|earlier| matches!(earlier.op, Op::Alloc(y) | Op::Free(y) if x == y))
                .count();
        }
        if let Op::Barrier(barrier) = event.op {
            match gathering.iter_mut().find(|(gathers_at, _, _)| *gathers_at == barrier) {
                Some((_, episode, members)) => {
                    fact.arrives = Some(*episode);
                    members.push(event.thread);
                }
                None => {
                    fact.arrives = Some(episodes);
                    gathering.push((barrier, episodes, vec![event.thread]));
                    episodes += 1;
                }
            }
        }
        facts.push(fact);
    }
    facts
}

/// How a trace divides into blocks and transactions.
#[derive(Debug)]
pub(crate) struct Division {
    /// Blocks of all depths, or the pieces of them.
    pub(crate) pieces: Vec<Piece>,
    /// For each event, the first event of its transaction; none where there is no event.
    pub(crate) transaction_of: Vec<Option<usize>>,
}

/// A block, or what lies between two waits of it.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The begin event of the block, also if this is a later piece of it.
    pub(crate) begin: usize,
    /// How many blocks are around it.
    pub(crate) depth: usize,
    /// Its events. May be none, after a wait that is the last event of its thread.
    pub(crate) members: Vec<usize>,
}

impl Division {
    pub(crate) fn new(config: &Config, events: &[Event], left_out: &BTreeSet<BlockName>) -> Division {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut transaction_of = Vec::with_capacity(events.len());
        // Per thread that had a begin: for each of its open blocks, outermost first, the running piece;
        // none for a block that is left out.
        let mut threads: Vec<(ThreadId, Vec<Option<usize>>)> = Vec::new();
        for (i, event) in events.iter().enumerate() {
            if event.op == Op::Skip {
                transaction_of.push(None);
                continue;
            }
            let known = threads.iter().position(|(thread, _)| *thread == event.thread);
            let at = known.unwrap_or_else(|| {
                threads.push((event.thread, Vec::new()));
                threads.len() - 1
            });
            let open = &mut threads[at].1;
            if let Some(name) = block_name(event) {
                let depth = open.iter().flatten().count();
                let piece = (!left_out.contains(&name)).then_some(pieces.len());
                if piece.is_some() {
                    pieces.push(Piece { begin: i, depth, members: Vec::new() });
                }
                open.push(piece);
            }
            if config.split_at_waits && matches!(event.op, Op::Join(_)) {
                restart(&mut pieces, open);
            }
            for &piece in open.iter().flatten() {
                pieces[piece].members.push(i);
            }
            let outermost = open.iter().flatten().next();
            transaction_of.push(Some(outermost.map_or(i, |&piece| pieces[piece].members[0])));
            if config.split_at_waits && matches!(event.op, Op::Wait(_) | Op::Barrier(_)) {
                restart(&mut pieces, open);
            }
            if event.op == Op::End {
                open.pop();
            }
        }
        Division { pieces, transaction_of }
    }
}

/// Ends every open piece of a thread and starts the next piece of the same block.
fn restart(pieces: &mut Vec<Piece>, open: &mut [Option<usize>]) {
    for piece in open.iter_mut().flatten() {
        let Piece { begin, depth, .. } = pieces[*piece];
        pieces.push(Piece { begin, depth, members: Vec::new() });
        *piece = pieces.len() - 1;
    }
}

/// A set of pairs of small numbers, as rows of bits.
#[derive(Debug)]
struct Relation {
    words_per_row: usize,
    words: Vec<u64>,
}

impl Relation {
    fn new(size: usize) -> Relation {
        let words_per_row = size.div_ceil(64);
        Relation { words_per_row, words: vec![0; size * words_per_row] }
    }

    fn has(&self, from: usize, to: usize) -> bool {
        self.words[from * self.words_per_row + to / 64] >> (to % 64) & 1 == 1
    }

    fn add(&mut self, from: usize, to: usize) {
        self.words[from * self.words_per_row + to / 64] |= 1 << (to % 64);
    }

    /// Whatever `to` is related to, `from` is related to as well.
    fn add_all(&mut self, from: usize, to: usize) {
        for word in 0..self.words_per_row {
            self.words[from * self.words_per_row + word] |= self.words[to * self.words_per_row + word];
        }
    }
}
