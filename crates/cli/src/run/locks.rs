//! The locks and barriers at a program's addresses, and who holds which locks shared.
//!
//! Memory is used again: what stands at an address after that has begun a new life is another lock, with another name.

use std::collections::{BTreeMap, HashMap};

use atomvet_trace::names::{Id, Table};
use atomvet_trace::{BarrierId, LockId, Mode, Names, ThreadId};
use rustc_hash::FxHashMap;

use super::symbols::Meaning;

/// All that are known.
pub(crate) struct Locks {
    locks: BTreeMap<u64, LockId>,
    /// Those used lately, by address.
    recent: Box<[(u64, LockId); RECENT]>,
    barriers: BTreeMap<u64, BarrierId>,
    /// How many locks and barriers there were at an address.
    lives: HashMap<u64, u32>,
    /// How often each thread holds a lock shared; never 0.
    shared: FxHashMap<(LockId, ThreadId), u32>,
}

/// How many locks are found without a search.
const RECENT: usize = 1024;
const NO_LOCK: (u64, LockId) = (u64::MAX, LockId(0));

/// Where an address would be among those.
#[inline]
fn recent(address: u64) -> usize {
    ((address ^ address >> 10) >> 3) as usize % RECENT
}

impl Default for Locks {
    fn default() -> Self {
        Locks {
            locks: BTreeMap::new(),
            recent: Box::new([NO_LOCK; RECENT]),
            barriers: BTreeMap::new(),
            lives: HashMap::new(),
            shared: FxHashMap::default(),
        }
    }
}

impl Locks {
    /// The lock at an address.
    #[inline]
    pub(crate) fn at(&mut self, address: u64, names: &mut Names, symbols: &mut Meaning) -> LockId {
        match self.recent[recent(address)] {
            (known, lock) if known == address => lock,
            _ => self.find(address, names, symbols),
        }
    }

    fn find(&mut self, address: u64, names: &mut Names, symbols: &mut Meaning) -> LockId {
        let lives = &mut self.lives;
        let lock = *self.locks.entry(address).or_insert_with(|| {
            intern_new(&mut names.locks, symbols.variable(address), address, next_life(lives, address))
        });
        self.recent[recent(address)] = (address, lock);
        lock
    }

    /// The barrier at an address.
    pub(crate) fn barrier(&mut self, address: u64, names: &mut Names, symbols: &mut Meaning) -> BarrierId {
        let lives = &mut self.lives;
        *self.barriers.entry(address).or_insert_with(|| {
            intern_new(&mut names.barriers, symbols.variable(address), address, next_life(lives, address))
        })
    }

    /// A thread has taken a lock shared.
    pub(crate) fn taken_shared(&mut self, lock: LockId, thread: ThreadId) {
        *self.shared.entry((lock, thread)).or_default() += 1;
    }

    /// How a thread that gives a lock back has held it.
    pub(crate) fn given_back(&mut self, lock: LockId, thread: ThreadId) -> Mode {
        match self.shared.get_mut(&(lock, thread)) {
            Some(1) => {
                self.shared.remove(&(lock, thread));
                Mode::Shared
            }
            Some(times) => {
                *times -= 1;
                Mode::Shared
            }
            None => Mode::Exclusive,
        }
    }

    /// What comes to stand between two addresses is new.
    pub(crate) fn forget(&mut self, start: u64, end: u64) {
        forget(&mut self.locks, start, end, |_| self.recent.fill(NO_LOCK));
        forget(&mut self.barriers, start, end, |_| {});
    }

    /// The same, and what comes has nothing to do with what was there: its lives are counted anew.
    pub(crate) fn forget_lives(&mut self, start: u64, end: u64) {
        self.lives.retain(|address, _| !(start..end).contains(address));
    }
}

/// Takes out what stands between two addresses.
pub(super) fn forget<T>(objects: &mut BTreeMap<u64, T>, start: u64, end: u64, mut each: impl FnMut(T)) {
    // Memory is allocated much more often than there is anything of the kind.
    while !objects.is_empty()
        && let Some((&address, _)) = objects.range(start..end).next()
    {
        if let Some(object) = objects.remove(&address) {
            each(object);
        }
    }
}

fn next_life(lives: &mut HashMap<u64, u32>, address: u64) -> u32 {
    let life = lives.entry(address).or_default();
    *life += 1;
    *life
}

/// A new thing at an address, under a name that nothing else has: two files may have variables of one name, two loaders classes
/// of one, and an address several things after each other, of which this is number `life`.
pub(super) fn intern_new<I: Id>(names: &mut Table<I>, symbol: Option<String>, address: u64, life: u32) -> I {
    let name = symbol.unwrap_or_else(|| format!("{address:#x}"));
    let new = if life > 1 { try_new(names, &format!("{name}#{life}")) } else { try_new(names, &name) };
    new.unwrap_or_else(|| intern_at(names, &name, address, life))
}

/// The id of a name, if nothing has it.
fn try_new<I: Id>(names: &mut Table<I>, name: &str) -> Option<I> {
    let known = names.len();
    let id = names.intern(name);
    (names.len() > known).then_some(id)
}

/// The same where something has the name: with its address, and as many lives as are needed.
#[cold]
fn intern_at<I: Id>(names: &mut Table<I>, name: &str, address: u64, life: u32) -> I {
    let at = format!("{name} at {address:#x}");
    let first = if life > 1 { format!("{at}#{life}") } else { at.clone() };
    let further = (life + 1..).map(|number| format!("{at}#{number}"));
    let mut all = std::iter::once(first).chain(further);
    all.find_map(|name| try_new(names, &name)).unwrap_or_else(|| names.intern(&at))
}
