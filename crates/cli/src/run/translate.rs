//! From records to events, as `docs/event-model.md` knows them.
//!
//! | record | events |
//! |---|---|
//! | begin | `begin`, if the function counts as a block |
//! | read, write, updates | the same on each variable that the bytes make up; several are one event, see `pieces.rs` |
//! | lock, wait, barrier, fork, join | the same |
//! | post, take | the n-th take reads a variable that the n-th post wrote: it comes after that post and nothing else. A take also is an arrival at a barrier of its own, so that it splits blocks like every wait |
//! | publish, observe | an observer reads what each publisher wrote last, once; every publication is a new life of its variable, so that nothing comes before it |
//! | await | the same, and if there was anything to read, blocks are split before: the thread has waited for others, or would have |
//! | mark, behind | a write, and a read of what was written: see `marks.rs` |
//! | split | an arrival at a barrier of the thread's own |
//! | suspend, resume | the ends of all open blocks, and their begins again |
//! | thread end | in a JVM, of a thread that has worked and left no other record, the same: it has been there |
//! | new life | `alloc` of each variable in that memory before it is accessed again; locks there are new ones |
//! | maps, unloaded | none: libraries come and go, and with them what addresses mean |

use std::ops::Range;
use std::sync::Arc;

use atomvet_report::HANDED_OVER;
use atomvet_ring::{Block, INITIALISED, INITIALISES, Kind};
use atomvet_trace::{
    AccessKind, BarrierId, Event, LockId, Mode, Names, Op, RegionId, SiteId, ThreadId, UpdateKind, VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};
use xxhash_rust::xxh3::xxh3_64;

use super::code::{Code, Known, Site};
use super::jvm;
use super::locks::Locks;
use super::marks::{Before, Marks, Room};
use super::pieces::as_one;
use super::ring::{Record, flavour};
use super::roles::{Call, Role, Roles, address_in};
use super::signals::{Keep, Signals};
use super::symbols::Meaning;
use super::variables::{Cuts, New, Variables};
use crate::spec::{Meant, Spec};

/// What is known about a program from its records.
pub(crate) struct Translator {
    /// All names met.
    pub(crate) names: Names,
    /// What its addresses mean.
    pub(crate) symbols: Meaning,
    code: Code,
    locks: Locks,
    signals: Signals,
    marks: Marks,
    variables: Variables,
    /// Per variable: whether it is data of the program.
    memory: Vec<Memory>,
    /// Per serial number.
    threads: Vec<Thread>,
    /// The sum of their idle initialisers.
    idle_initialisers: u32,
    /// How many records there were.
    now: u64,
    /// Kept for its memory.
    found: Vec<VarId>,
    /// Where libraries were that are gone.
    unloaded: Vec<Range<u64>>,
    /// Hashes of variables' names that are symbols.
    named: FxHashSet<u64>,
    /// Names of pieces of variables that were cut.
    pieces: FxHashMap<VarId, String>,
    /// Functions that were entered and are no blocks by default, because threads start with them.
    thread_entries: FxHashSet<RegionId>,
    roles: Roles,
    /// Figures for the coverage line.
    pub(crate) seen: Seen,
}

/// What could not be understood, and how much there was.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Seen {
    /// Records of accesses.
    pub(crate) accesses: u64,
    /// Waits, joins, barriers and semaphores taken inside a block.
    pub(crate) splits: u64,
    /// Locks that were taken so long after they had been given back that it is not known any more after what.
    pub(crate) lost_orders: u64,
    /// A thread other than the first has entered a block.
    pub(crate) blocks_in_threads: bool,
}

#[derive(Default)]
struct Thread {
    id: Option<ThreadId>,
    /// Announced blocks, outermost first: whether each is a block to the checkers.
    open: Vec<Frame>,
    /// The barrier that only this thread arrives at.
    own_barrier: Option<BarrierId>,
    /// Some event is its own.
    has_events: bool,
    /// Initialisers of classes that it is in and has done nothing in yet.
    idle_initialisers: u32,
}

/// What a variable is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// Data of the program: accesses to it are events.
    Data,
    /// The same, and a new life has begun since it was accessed.
    NewLife,
    /// Part of a synchronisation object, in every life: accesses to it are not events.
    Synchronisation,
}

#[derive(Clone, Copy)]
struct Frame {
    /// It is a block to the checkers, and this is how it begins.
    block: Option<(RegionId, SiteId)>,
    /// When it was announced.
    since: u64,
    /// It is suspended, by so many of the thread's suspensions.
    suspended_by: u32,
    /// An address in its code, if it is a function.
    code: u64,
    role: Role,
}

impl Frame {
    /// Whether what happens now is in it.
    fn is_judged(&self) -> bool {
        self.block.is_some() && self.suspended_by == 0
    }
}

impl Translator {
    /// Of a program whose records come from now on.
    pub(crate) fn new(symbols: Meaning, spec: Option<Arc<Spec>>) -> Translator {
        Translator {
            names: Names::default(),
            symbols,
            code: Code::new(spec),
            locks: Locks::default(),
            signals: Signals::default(),
            marks: Marks::default(),
            variables: Variables::default(),
            memory: Vec::new(),
            threads: Vec::new(),
            idle_initialisers: 0,
            now: 0,
            found: Vec::new(),
            unloaded: Vec::new(),
            named: FxHashSet::default(),
            pieces: FxHashMap::default(),
            thread_entries: FxHashSet::default(),
            roles: Roles::default(),
            seen: Seen::default(),
        }
    }

    /// Appends the events of a record.
    #[inline]
    pub(crate) fn record(&mut self, record: &Record, events: &mut Vec<Event>) {
        match record.kind {
            Kind::Label => return self.code.label(record),
            Kind::NewLife => return self.new_life(record),
            Kind::Maps => return self.symbols.renewed(record.operand),
            Kind::Unloaded => return self.unloaded(record),
            Kind::Object => {
                if let Some(names) = self.symbols.jvm() {
                    names.object(record.operand, record.block);
                }
                return;
            }
            Kind::SemaphoreInit => return self.signals.initialise(record.operand, record.block),
            _ => {}
        }
        self.now += 1;
        let (thread, before) = (self.thread(record.thread), events.len());
        while self.threads[record.thread as usize].open.len() > record.depth() {
            self.end(record.thread, thread, events);
        }
        if flavour(record.block) != Block::None {
            self.begin(record, thread, events);
        }
        // Every other record of a JVM only announces a block.
        if record.kind != Kind::Nothing {
            self.event(record, thread, events);
        }
        self.threads[record.thread as usize].has_events |= events.len() > before;
    }

    /// There are no more records.
    pub(crate) fn finish(&mut self) {
        if let Some(names) = self.symbols.jvm() {
            self.code.simple_methods(names.simple_methods());
        }
    }

    /// The variables that were cut, and the names of pieces that begin where no variable did before.
    pub(crate) fn cuts(&self) -> (&Cuts, &FxHashMap<VarId, String>) {
        (&self.variables.cuts, &self.pieces)
    }

    /// Whether some variables could not be told apart any more: then what was found is not to be relied upon.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.variables.is_exhausted
    }

    /// The functions that were entered and are no blocks by default, because threads start with them, in the order of their names.
    pub(crate) fn thread_entries(&self) -> Vec<String> {
        let names = self.thread_entries.iter().map(|&region| self.names.regions.get(region).to_owned());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        names
    }

    #[inline]
    fn thread(&mut self, serial: u32) -> ThreadId {
        match self.threads.get(serial as usize) {
            Some(Thread { id: Some(thread), .. }) => *thread,
            _ => self.new_thread(serial),
        }
    }

    #[cold]
    fn new_thread(&mut self, serial: u32) -> ThreadId {
        let serial = serial as usize;
        if serial >= self.threads.len() {
            self.threads.resize_with(serial + 1, Thread::default);
        }
        let (names, symbols) = (&mut self.names, &mut self.symbols);
        *self.threads[serial].id.get_or_insert_with(|| {
            let called = symbols.jvm().and_then(|names| names.thread(serial as u32));
            let name =
                called.unwrap_or_else(|| if serial == 0 { "main".to_owned() } else { format!("T{serial}") });
            let (known, thread) = (names.threads.len(), names.threads.intern(&name));
            // A JVM's threads may all have one name.
            let is_new = names.threads.len() > known;
            if is_new { thread } else { names.threads.intern(&format!("{name}#{serial}")) }
        })
    }

    fn end(&mut self, serial: u32, thread: ThreadId, events: &mut Vec<Event>) {
        let state = &mut self.threads[serial as usize];
        let Some(frame) = state.open.pop() else { return };
        if frame.is_judged() {
            events.push(Event { thread, op: Op::End, site: SiteId::NONE });
        }
    }

    fn begin(&mut self, record: &Record, thread: ThreadId, events: &mut Vec<Event>) {
        let known = self.code.block(record.block, &mut self.names, &mut self.symbols);
        let (region, site, meant, counts, role) = match known {
            Known::System => (RegionId::NONE, SiteId::NONE, Meant::Unsaid, false, Role::NotUsers),
            Known::Outlined => (RegionId::NONE, SiteId::NONE, Meant::Unsaid, false, Role::Called),
            Known::Label(region) => {
                let site = self.site(record.address()).site;
                (region, site, self.code.meant(region, site, None, &self.names), true, Role::NotUsers)
            }
            Known::Main(region, site, meant) => (region, site, meant, false, Role::Called),
            Known::Method(region, site, meant, role) => {
                let around = self.threads[record.thread as usize].open.last();
                if role == jvm::Role::UnlessEntry && record.depth() == 0 && meant == Meant::Unsaid {
                    self.thread_entries.insert(region);
                }
                let counts = match role {
                    jvm::Role::Block => true,
                    jvm::Role::UnlessEntry => record.depth() > 0,
                    jvm::Role::NoBlock => false,
                    jvm::Role::Statement => around.is_some_and(|method| method.block.is_none()),
                };
                (region, site, meant, counts, Role::NotUsers)
            }
            Known::Function(region, site, meant) => {
                let is_entry = record.thread != 0 && self.is_entry(record);
                if is_entry && meant == Meant::Unsaid {
                    self.thread_entries.insert(region);
                }
                let role = if is_entry { Role::Entry } else { Role::Called };
                (region, site, meant, !is_entry, role)
            }
        };
        let is_block = match meant {
            Meant::Atomic => true,
            Meant::Ignored => false,
            Meant::Unsaid => counts,
        };
        let state = &mut self.threads[record.thread as usize];
        // Blocks whose announcement was overtaken by what another thread said on behalf of this one: their ends count.
        let since = self.now;
        let nothing = Frame { block: None, since, suspended_by: 0, code: 0, role: Role::NotUsers };
        state.open.resize(record.depth().max(state.open.len()), nothing);
        let block = is_block.then_some((region, site));
        state.open.push(Frame { block, since, suspended_by: 0, code: address_in(record.block), role });
        if is_block {
            self.seen.blocks_in_threads |= record.thread != 0;
            events.push(Event { thread, op: Op::Begin(region), site });
        }
    }

    /// Whether a function of the user's is what a thread was started for.
    fn is_entry(&mut self, record: &Record) -> bool {
        let Translator { roles, symbols, threads, .. } = self;
        let open = threads[record.thread as usize].open.iter().map(|frame| (frame.role, frame.code));
        // An event announces the block, and is not where that is called.
        let returns_to = if record.kind == Kind::Nothing { record.address() } else { 0 };
        roles.is_entry(symbols, open, Call { block: record.block, returns_to })
    }

    #[inline]
    fn site(&mut self, returns_to: u64) -> Site {
        self.code.site(returns_to, &mut self.names, &mut self.symbols)
    }

    fn event(&mut self, record: &Record, thread: ThreadId, events: &mut Vec<Event>) {
        let Site { site, reads_are_hints, is_alone } = self.site(record.address());
        let operand = record.operand;
        if self.idle_initialisers > 0 && !matches!(record.kind, Kind::Nothing | Kind::Split) {
            self.end_idleness(record, thread, site, events);
        }
        let mut put = |op| events.push(Event { thread, op, site });
        let update = match record.kind {
            Kind::Read if reads_are_hints => return,
            Kind::Read | Kind::Write if is_alone => return,
            Kind::Read => {
                let kind = record.access_kind();
                return self.access(record, thread, site, |variable| Op::Read(variable, kind), events);
            }
            Kind::Write => {
                let kind = record.access_kind();
                return self.access(record, thread, site, |variable| Op::Write(variable, kind), events);
            }
            Kind::Update => UpdateKind::Other,
            Kind::Add => UpdateKind::Add,
            Kind::Or => UpdateKind::Or,
            Kind::And => UpdateKind::And,
            Kind::Xor => UpdateKind::Xor,
            Kind::Min => UpdateKind::Min,
            Kind::Max => UpdateKind::Max,
            Kind::Acquire => return put(Op::Acquire(self.lock(operand), Mode::Exclusive)),
            Kind::AcquireShared => {
                let lock = self.lock(operand);
                self.locks.taken_shared(lock, thread);
                return put(Op::Acquire(lock, Mode::Shared));
            }
            Kind::Release => {
                let lock = self.lock(operand);
                return put(Op::Release(lock, self.locks.given_back(lock, thread)));
            }
            Kind::ReleaseExclusive => return put(Op::Release(self.lock(operand), Mode::Exclusive)),
            Kind::Wait => {
                self.count_split(record.thread);
                return put(Op::Wait(self.lock(operand)));
            }
            Kind::Fork => return put(Op::Fork(self.thread(operand as u32))),
            Kind::Join => {
                self.count_split(record.thread);
                return put(Op::Join(self.thread(operand as u32)));
            }
            Kind::Barrier => {
                self.count_split(record.thread);
                return put(Op::Barrier(self.locks.barrier(operand, &mut self.names, &mut self.symbols)));
            }
            Kind::Post => {
                let variable = self.fresh(thread, events);
                events.push(Event { thread, op: Op::Write(variable, AccessKind::Atomic), site });
                self.signals.post(operand, variable);
                return;
            }
            Kind::Take => return self.take(record, thread, site, events),
            Kind::Mark => return self.mark(operand, thread, site, events),
            Kind::Behind => return self.behind(operand, thread, site, events),
            Kind::Split if self.is_idle(record) => return,
            Kind::Split => return self.split(record, thread, site, events),
            Kind::Suspend => return self.suspend(record.thread, thread, events),
            Kind::Resume => return self.resume(record.thread, thread, events),
            Kind::Publish => {
                let variable = self.fresh(thread, events);
                events.push(Event { thread, op: Op::Write(variable, AccessKind::Atomic), site });
                let keep = if self.symbols.jvm().is_some() { Keep::Latest } else { Keep::All };
                self.signals.publish(operand, thread, variable, keep);
                return;
            }
            Kind::Observe => return self.observe(operand, thread, site, events),
            Kind::Await => return self.wait_for(record, thread, site, events),
            Kind::NotData => return self.is_not_data(operand),
            Kind::ThreadEnd if record.size > 0 && !self.threads[record.thread as usize].has_events => {
                return self.split(record, thread, site, events);
            }
            Kind::ThreadEnd
            | Kind::Nothing
            | Kind::Label
            | Kind::NewLife
            | Kind::SemaphoreInit
            | Kind::Object
            | Kind::Maps
            | Kind::Unloaded => return,
        };
        self.access(record, thread, site, |variable| Op::Update(variable, update), events);
    }

    #[inline]
    fn access(
        &mut self,
        record: &Record,
        thread: ThreadId,
        site: SiteId,
        op: impl Fn(VarId) -> Op,
        events: &mut Vec<Event>,
    ) {
        self.seen.accesses += 1;
        match self.variables.find_only(record.operand, record.length()) {
            Some(variable) if self.memory[variable.index()] == Memory::Data => {
                events.push(Event { thread, op: op(variable), site });
            }
            _ => self.access_any(record, thread, site, op, events),
        }
    }

    /// An access to bytes that are not one variable yet, or several, or no data.
    #[inline(never)]
    fn access_any(
        &mut self,
        record: &Record,
        thread: ThreadId,
        site: SiteId,
        op: impl Fn(VarId) -> Op,
        events: &mut Vec<Event>,
    ) {
        self.find(record.operand, record.length());
        if self.found.iter().any(|variable| self.memory[variable.index()] == Memory::Synchronisation) {
            // The guard of a static variable, which others may have initialised.
            self.wait_for(record, thread, site, events);
        }
        let Translator { found, memory, .. } = self;
        found.retain(|variable| memory[variable.index()] != Memory::Synchronisation);
        for variable in &*found {
            if std::mem::replace(&mut memory[variable.index()], Memory::Data) == Memory::NewLife {
                events.push(Event { thread, op: Op::Alloc(*variable), site: SiteId::NONE });
            }
        }
        as_one(found, |variable| events.push(Event { thread, op: op(variable), site }));
    }

    /// The variables of some bytes, in `found`.
    fn find(&mut self, address: u64, length: u64) {
        let Translator { names, symbols, memory, variables, unloaded, named, pieces, found, .. } = self;
        found.clear();
        let end = address.saturating_add(length);
        let mut at = address;
        while at < end {
            let next = ((at | 7) + 1).min(end);
            variables.find(at, next - at, found, |new| {
                let name = symbols.variable(new.address);
                memory.push(match new.cut {
                    Some(cut) => memory[cut.variable.index()],
                    None if name.as_ref().is_some_and(|name| name.starts_with("guard variable for ")) => {
                        Memory::Synchronisation
                    }
                    None => Memory::Data,
                });
                let name = unique_name(name, &new, unloaded, named);
                if new.cut.is_some_and(|cut| !cut.same_start) {
                    pieces.insert(new.variable, name.clone());
                }
                let number = names.variables.append(&name);
                debug_assert_eq!(number, new.variable);
            });
            at = next;
        }
    }

    /// A variable that no event so far concerns, for one to come.
    fn fresh(&mut self, thread: ThreadId, events: &mut Vec<Event>) -> VarId {
        if let Some(spare) = self.signals.spare() {
            events.push(Event { thread, op: Op::Alloc(spare), site: SiteId::NONE });
            return spare;
        }
        let variable = self.variables.artificial();
        let named = self.names.variables.append(&format!("signal {}", variable.0));
        debug_assert_eq!(named, variable);
        self.memory.push(Memory::Data);
        variable
    }

    /// A barrier at which the thread meets nobody.
    fn split(&mut self, record: &Record, thread: ThreadId, site: SiteId, events: &mut Vec<Event>) {
        self.count_split(record.thread);
        let names = &mut self.names;
        let barrier = *self.threads[record.thread as usize].own_barrier.get_or_insert_with(|| {
            let thread = names.threads.get(thread).to_owned();
            names.barriers.intern(&format!("waits of {thread}"))
        });
        events.push(Event { thread, op: Op::Barrier(barrier), site });
    }

    /// What others have published at an address comes before what the thread does now.
    fn observe(&mut self, address: u64, thread: ThreadId, site: SiteId, events: &mut Vec<Event>) {
        let read = |variable| Event { thread, op: Op::Read(variable, AccessKind::Atomic), site };
        events.extend(self.signals.observe(address, thread).map(read));
    }

    /// The same, where the thread may have waited for it. It did if there is something that it did not know.
    fn wait_for(&mut self, record: &Record, thread: ThreadId, site: SiteId, events: &mut Vec<Event>) {
        if self.signals.is_news(record.operand, thread) {
            self.split(record, thread, site, events);
            self.observe(record.operand, thread, site, events);
        }
    }

    fn suspend(&mut self, serial: u32, thread: ThreadId, events: &mut Vec<Event>) {
        self.count_split(serial);
        for frame in self.threads[serial as usize].open.iter_mut().rev() {
            if frame.is_judged() {
                events.push(Event { thread, op: Op::End, site: SiteId::NONE });
            }
            frame.suspended_by += 1;
        }
    }

    fn resume(&mut self, serial: u32, thread: ThreadId, events: &mut Vec<Event>) {
        for frame in &mut self.threads[serial as usize].open {
            let was_judged = frame.is_judged();
            frame.suspended_by = frame.suspended_by.saturating_sub(1);
            if let Some((region, site)) = frame.block.filter(|_| !was_judged && frame.is_judged()) {
                events.push(Event { thread, op: Op::Begin(region), site });
            }
        }
    }

    /// Whether the initialiser of a class begins here, or ends in which nothing was done. Most do nothing that others see,
    /// and to split blocks there would hide violations of blocks that are entered once.
    fn is_idle(&mut self, record: &Record) -> bool {
        let idle = &mut self.threads[record.thread as usize].idle_initialisers;
        match record.size {
            INITIALISES => {
                *idle += 1;
                self.idle_initialisers += 1;
                true
            }
            INITIALISED if *idle > 0 => {
                *idle -= 1;
                self.idle_initialisers -= 1;
                true
            }
            _ => false,
        }
    }

    /// Something is done in an initialiser: it did begin where the thread did the last thing before.
    #[cold]
    fn end_idleness(&mut self, record: &Record, thread: ThreadId, site: SiteId, events: &mut Vec<Event>) {
        let idle = std::mem::take(&mut self.threads[record.thread as usize].idle_initialisers);
        self.idle_initialisers -= idle;
        if idle > 0 {
            self.split(record, thread, site, events);
        }
    }

    fn take(&mut self, record: &Record, thread: ThreadId, site: SiteId, events: &mut Vec<Event>) {
        self.split(record, thread, site, events);
        if let Some(variable) = self.signals.take(record.operand) {
            events.push(Event { thread, op: Op::Read(variable, AccessKind::Atomic), site });
        }
    }

    fn mark(&mut self, period: u64, thread: ThreadId, site: SiteId, events: &mut Vec<Event>) {
        let (variables, names, memory) = (&mut self.variables, &mut self.names, &mut self.memory);
        let oldest_open = || oldest_open(&self.threads);
        self.marks.make((period, self.now), thread, oldest_open, |room| {
            let variable = match room {
                Room::Own(variable, _) => variable,
                Room::Used(variable) => {
                    events.push(Event { thread, op: Op::Alloc(variable), site: SiteId::NONE });
                    variable
                }
                Room::None => {
                    let variable = variables.artificial();
                    let name = format!("{HANDED_OVER}{} ({})", names.threads.get(thread), variable.0);
                    names.variables.append(&name);
                    memory.push(Memory::Data);
                    variable
                }
            };
            events.push(Event { thread, op: Op::Write(variable, AccessKind::Atomic), site });
            variable
        });
    }

    fn behind(&mut self, period: u64, thread: ThreadId, site: SiteId, events: &mut Vec<Event>) {
        match self.marks.first_since(period) {
            Before::Mark(variable) => {
                events.push(Event { thread, op: Op::Read(variable, AccessKind::Atomic), site })
            }
            Before::Nothing => {}
            Before::Lost => self.seen.lost_orders += 1,
        }
    }

    fn count_split(&mut self, serial: u32) {
        let in_block = self.threads[serial as usize].open.iter().any(Frame::is_judged);
        self.seen.splits += u64::from(in_block);
    }

    #[inline]
    fn lock(&mut self, address: u64) -> LockId {
        self.locks.at(address, &mut self.names, &mut self.symbols)
    }

    fn is_not_data(&mut self, address: u64) {
        self.find(address & !7, 8);
        for variable in &self.found {
            self.memory[variable.index()] = Memory::Synchronisation;
        }
    }

    fn new_life(&mut self, record: &Record) {
        let (start, end) = (record.operand, record.operand.saturating_add(record.block));
        self.found.clear();
        self.variables.between(start, end, &mut self.found);
        for &variable in &self.found {
            if self.memory[variable.index()] == Memory::Data {
                self.memory[variable.index()] = Memory::NewLife;
            }
        }
        self.locks.forget(start, end);
        self.signals.forget(start, end);
    }

    /// A library is gone: what comes to stand there has other names.
    fn unloaded(&mut self, record: &Record) {
        self.new_life(record);
        let (start, end) = (record.operand, record.operand.saturating_add(record.block));
        self.symbols.unloaded(start, end);
        self.variables.forget(start, end);
        self.unloaded.push(start..end);
        self.locks.forget_lives(start, end);
        self.code.unloaded(start, end);
        self.roles.forget();
    }
}

/// When the oldest block was announced that is open now.
fn oldest_open(threads: &[Thread]) -> u64 {
    let blocks = threads.iter().filter_map(|thread| thread.open.iter().find(|frame| frame.block.is_some()));
    blocks.map(|frame| frame.since).min().unwrap_or(u64::MAX)
}

/// A name that no other variable has. Names of symbols are told apart by their hashes: two of one hash are taken for two of one
/// name.
fn unique_name(
    symbol: Option<String>,
    new: &New,
    unloaded: &[Range<u64>],
    named: &mut FxHashSet<u64>,
) -> String {
    let New { address, variable, cut } = *new;
    let name = match symbol {
        Some(name) if named.insert(xxh3_64(name.as_bytes())) => name,
        Some(name) => format!("{name} at {address:#x}"),
        None => format!("{address:#x}"),
    };
    if cut.is_some_and(|cut| cut.same_start) {
        // It gets the name of what was cut when the recording is complete.
        return format!("{name} ({})", variable.0);
    }
    match unloaded.iter().filter(|library| library.contains(&address)).count() {
        0 => name,
        libraries => format!("{name}#{}", libraries + 1),
    }
}
