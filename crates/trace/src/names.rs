//! Names ↔ dense ids, once for all readers, checkers and reports.
//!
//! Ids are given in order of first appearance, so that tables indexed by id stay dense and two
//! readings of one trace agree. Looking a name up costs one hash of its bytes; nothing is
//! allocated for a name seen before.

use std::marker::PhantomData;

use hashbrown::HashTable;

use crate::event::{BarrierId, LockId, RegionId, SiteId, ThreadId, VarId};

/// Everything a trace calls by name.
#[derive(Default, Clone, Debug)]
pub struct Names {
    /// Threads.
    pub threads: Table<ThreadId>,
    /// Variables.
    pub variables: Table<VarId>,
    /// Locks.
    pub locks: Table<LockId>,
    /// Barriers.
    pub barriers: Table<BarrierId>,
    /// Labels of blocks.
    pub regions: Table<RegionId>,
    /// Source sites, as text: `bank.c:12`, or `12`.
    pub sites: Table<SiteId>,
}

impl Names {
    /// What a block is called: its label, or where it begins if it has none.
    pub fn block(&self, region: RegionId, site: SiteId) -> String {
        match (region, site) {
            (RegionId::NONE, SiteId::NONE) => "(unnamed block)".to_owned(),
            (RegionId::NONE, site) => format!("@{}", self.sites.get(site)),
            (region, _) => self.regions.get(region).to_owned(),
        }
    }

    /// The object a variable belongs to: what stands before the last `.` or `[` of its name, the
    /// whole name if there is none.
    pub fn object(&self, variable: VarId) -> &str {
        let name = self.variables.get(variable);
        match name.rfind(['.', '[']) {
            Some(at) if at > 0 => &name[..at],
            _ => name,
        }
    }
}

/// An id that a [`Table`] hands out.
pub trait Id: Copy {
    /// The id at an index.
    fn from_index(index: u32) -> Self;
    /// The index of an id.
    fn to_index(self) -> usize;
}

macro_rules! ids {
    ($($name:ident),*) => {
        $(impl Id for $name {
            #[inline]
            fn from_index(index: u32) -> Self {
                $name(index)
            }
            #[inline]
            fn to_index(self) -> usize {
                self.index()
            }
        })*
    };
}
ids!(ThreadId, VarId, LockId, BarrierId, RegionId, SiteId);

/// Names of one kind and their ids.
#[derive(Clone, Debug)]
pub struct Table<I> {
    /// How many names were forgotten.
    forgotten: usize,
    /// All other names, one behind the other.
    text: String,
    /// Where name `i` ends in `text`; it starts where its predecessor ends.
    ends: Vec<usize>,
    /// Found by the name's hash.
    index: HashTable<Entry>,
    id: PhantomData<I>,
}

/// A name's id, with as much of the name as fits: most names are compared without a look at `text`, which
/// with many names would be two more cache misses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    id: u32,
    /// `LONG` if the name does not fit.
    length: u8,
    start: [u8; FITS],
}

const FITS: usize = 19;
const LONG: u8 = u8::MAX;
const _: () = assert!(size_of::<Entry>() == 24);

impl Entry {
    #[inline(always)]
    fn new(id: u32, name: &str) -> Entry {
        let fits = name.len().min(FITS);
        let mut start = [0; FITS];
        start[..fits].copy_from_slice(&name.as_bytes()[..fits]);
        Entry { id, length: if fits == name.len() { fits as u8 } else { LONG }, start }
    }
}

impl<I> Default for Table<I> {
    fn default() -> Self {
        Table {
            forgotten: 0,
            text: String::new(),
            ends: Vec::new(),
            index: HashTable::new(),
            id: PhantomData,
        }
    }
}

impl<I: Id> Table<I> {
    /// The id of `name`, a new one if it was never seen.
    #[inline]
    pub fn intern(&mut self, name: &str) -> I {
        let hash = hash(name);
        match self.lookup(name, hash) {
            Some(found) => found,
            None => self.add(name, hash),
        }
    }

    #[inline]
    fn lookup(&self, name: &str, hash: u64) -> Option<I> {
        let wanted = Entry::new(0, name);
        let is_it = |entry: &Entry| {
            entry.start == wanted.start
                && entry.length == wanted.length
                && (entry.length != LONG || slice(&self.text, &self.ends, entry.id as usize) == name)
        };
        self.index.find(hash, is_it).map(|entry| I::from_index(entry.id))
    }

    #[cold]
    fn add(&mut self, name: &str, hash: u64) -> I {
        let new = self.append(name);
        let (text, ends) = (&self.text, &self.ends);
        // While the table grows, a look at `text` would be a cache miss per name: half of the time that 10 million
        // names took.
        let rehash = |entry: &Entry| match entry.start.get(..usize::from(entry.length)) {
            Some(name) => hash_bytes(name),
            None => crate::names::hash(slice(text, ends, entry.id as usize)),
        };
        self.index.insert_unique(hash, Entry::new(new.to_index() as u32, name), rehash);
        new
    }

    /// Gives an id to a name that nothing else has or will have and that nobody looks up: [`Table::find`] does not know it. Takes
    /// a third of the memory.
    pub fn append(&mut self, name: &str) -> I {
        let id = u32::try_from(self.len()).ok().filter(|&id| id < u32::MAX);
        // 4 billion names need more memory than any machine this runs on gives a trace.
        let id = id.expect("fewer than 2^32 - 1 names of one kind");
        self.text.push_str(name);
        self.ends.push(self.text.len());
        I::from_index(id)
    }

    /// Forgets the texts of names that were appended, which keep their ids: their [`Table::get`] is empty from now on. For those who
    /// hand names on and never ask again. Not for tables with names that were interned.
    pub fn forget_texts(&mut self) {
        self.forgotten = self.len();
        self.text.clear();
        self.ends.clear();
    }

    /// The id of `name`, if it was ever seen.
    pub fn find(&self, name: &str) -> Option<I> {
        self.lookup(name, hash(name))
    }

    /// The name of an id that this table gave out.
    #[inline]
    pub fn get(&self, id: I) -> &str {
        match id.to_index().checked_sub(self.forgotten) {
            Some(at) => slice(&self.text, &self.ends, at),
            None => "",
        }
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.forgotten + self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All names, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|i| self.get(I::from_index(i as u32)))
    }
}

#[inline]
fn slice<'a>(text: &'a str, ends: &[usize], i: usize) -> &'a str {
    let start = if i == 0 { 0 } else { ends[i - 1] };
    &text[start..ends[i]]
}

#[inline]
fn hash(name: &str) -> u64 {
    hash_bytes(name.as_bytes())
}

#[inline]
fn hash_bytes(name: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_dense_and_stable() {
        let mut table = Table::<VarId>::default();
        let a = table.intern("a");
        let b = table.intern("bb");
        assert_eq!((a, b, table.intern("a")), (VarId(0), VarId(1), VarId(0)));
        assert_eq!((table.get(a), table.get(b), table.len()), ("a", "bb", 2));
        assert_eq!(table.find("bb"), Some(b));
        assert_eq!(table.find("c"), None);
        for i in 0..1000 {
            assert_eq!(table.intern(&format!("v{i}")), VarId(2 + i));
        }
        assert_eq!(table.get(VarId(1001)), "v999");
        // Around the length that is kept in the index, with a common start.
        for length in FITS - 2..FITS + 3 {
            let name = "x".repeat(length);
            assert_eq!(table.find(&name), None);
            let id = table.intern(&name);
            assert_eq!((table.find(&name), table.get(id)), (Some(id), name.as_str()));
        }
        assert_eq!(table.find("x\0"), None);
        let hidden = table.append("hidden");
        assert_eq!((table.find("hidden"), table.get(hidden)), (None, "hidden"));
        let next = table.intern("next");
        assert_eq!((next.0, table.find("next")), (hidden.0 + 1, Some(next)));
    }

    #[test]
    fn a_table_whose_texts_are_forgotten_goes_on() {
        let mut table = Table::<VarId>::default();
        let first = table.append("first");
        table.forget_texts();
        let second = table.append("second");
        assert_eq!((first, second, table.len()), (VarId(0), VarId(1), 2));
        assert_eq!(table.iter().collect::<Vec<_>>(), ["", "second"]);
    }

    #[test]
    fn a_field_belongs_to_its_object() {
        let mut names = Names::default();
        let mut object = |name: &str| {
            let id = names.variables.intern(name);
            names.object(id).to_owned()
        };
        assert_eq!(object("account.balance"), "account");
        assert_eq!(object("a[3]"), "a");
        assert_eq!(object("x"), "x");
        assert_eq!(object(".x"), ".x");
    }
}
