//! What the code is that records speak of: the blocks that they announce, and the places where they were made.
//!
//! A program has few of either, and its records name them again and again: each is asked for once, and those of late are
//! found without hashing.

use std::collections::HashMap;
use std::sync::Arc;

use atomvet_ring::{Block, LOW};
use atomvet_trace::{Names, RegionId, SiteId};
use rustc_hash::FxHashMap;

use super::jvm::Role;
use super::ring::{Record, flavour};
use super::symbols::{Meaning, Owner, is_outlined};
use crate::spec::{self, Meant, Spec};

/// The blocks and places met so far.
pub(crate) struct Code {
    spec: Option<Arc<Spec>>,
    /// Per block word of a record.
    blocks: FxHashMap<u64, Known>,
    /// The last of them that had a place in this table.
    recent_blocks: Box<[(u64, Known); RECENT]>,
    /// Per return address.
    places: FxHashMap<u64, Site>,
    /// The last of them that had a place in this table.
    recent_places: Box<[(u64, Site); RECENT]>,
    /// The texts of labels, by their hashes.
    labels: HashMap<u64, Vec<u8>>,
    /// Labels whose texts are on their way, per thread.
    half_labels: HashMap<(u32, u64), Vec<u8>>,
}

/// What a block word means.
#[derive(Clone, Copy)]
pub(crate) enum Known {
    /// Never a block.
    System,
    /// Nor is this, what a compiler makes of the body of a parallel region; but it is the user's code.
    Outlined,
    /// `main`: a block only where a specification says so.
    Main(RegionId, SiteId, Meant),
    /// A function of the user's.
    Function(RegionId, SiteId, Meant),
    /// A method of a JVM's, or a synchronized statement.
    Method(RegionId, SiteId, Meant, Role),
    /// A label, whose place is the annotation's.
    Label(RegionId),
}

/// What a return address means.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    /// Its name.
    pub(crate) site: SiteId,
    /// Reads here only choose between ways to do the same thing.
    pub(crate) reads_are_hints: bool,
    /// What is done here is done only while there is one thread.
    pub(crate) is_alone: bool,
}

/// How many places and functions are found without a search.
const RECENT: usize = 1024;

/// Where a word would be among those.
#[inline]
fn recent(word: u64) -> usize {
    (word ^ word >> 10) as usize % RECENT
}

const NO_SITE: Site = Site { site: SiteId::NONE, reads_are_hints: false, is_alone: false };

impl Code {
    /// Of which nothing is known yet but what is said of its blocks.
    pub(crate) fn new(spec: Option<Arc<Spec>>) -> Code {
        Code {
            spec,
            blocks: FxHashMap::default(),
            recent_blocks: Box::new([(0, Known::System); RECENT]),
            places: FxHashMap::default(),
            recent_places: Box::new([(0, NO_SITE); RECENT]),
            labels: HashMap::new(),
            half_labels: HashMap::new(),
        }
    }

    /// What a block word means.
    #[inline]
    pub(crate) fn block(&mut self, block: u64, names: &mut Names, symbols: &mut Meaning) -> Known {
        match self.recent_blocks[recent(block)] {
            (known_block, known) if known_block == block => known,
            _ => self.find_block(block, names, symbols),
        }
    }

    fn find_block(&mut self, block: u64, names: &mut Names, symbols: &mut Meaning) -> Known {
        let known = match self.blocks.get(&block) {
            Some(known) => *known,
            None => self.learn(block, names, symbols),
        };
        self.recent_blocks[recent(block)] = (block, known);
        known
    }

    /// What a block word means, asked for the first time.
    #[cold]
    fn learn(&mut self, block: u64, names: &mut Names, symbols: &mut Meaning) -> Known {
        let function = match flavour(block) {
            Block::Function => symbols.function_at(block & LOW),
            Block::Inside => symbols.function_around(block & LOW),
            Block::Label | Block::None => {
                let text = self.labels.get(&(block & LOW)).map(Vec::as_slice).unwrap_or(b"?");
                let text = String::from_utf8_lossy(text);
                let text = if text.is_empty() { "(unnamed)" } else { &*text };
                let known = Known::Label(names.regions.intern(text));
                self.blocks.insert(block, known);
                return known;
            }
        };
        let known = match function.owner {
            Owner::System if is_outlined(&function.name) => Known::Outlined,
            Owner::System => Known::System,
            Owner::User => {
                let region = names.regions.intern(&function.name);
                let site = names.sites.intern(&function.site);
                let meant = self.meant(region, site, Some(&function.library), names);
                if symbols.jvm().is_some() {
                    Known::Method(region, site, meant, function.role)
                } else if function.name == "main" {
                    Known::Main(region, site, meant)
                } else {
                    Known::Function(region, site, meant)
                }
            }
        };
        self.blocks.insert(block, known);
        known
    }

    /// What the specification says about a block.
    pub(crate) fn meant(
        &self,
        region: RegionId,
        site: SiteId,
        library: Option<&str>,
        names: &Names,
    ) -> Meant {
        match &self.spec {
            Some(spec) if region != RegionId::NONE && site != SiteId::NONE => {
                let (name, site) = (names.regions.get(region), names.sites.get(site));
                spec.meant(&spec::Known { name, site, library })
            }
            _ => Meant::Unsaid,
        }
    }

    /// Tells the specification of methods that it may name and that are never announced, since nothing can be wrong with
    /// them: they are not among those that were never entered.
    pub(crate) fn simple_methods(&self, methods: &[String]) {
        if let Some(spec) = &self.spec {
            for name in methods {
                spec.meant(&spec::Known { name, site: "", library: None });
            }
        }
    }

    /// What a return address means.
    #[inline]
    pub(crate) fn site(&mut self, returns_to: u64, names: &mut Names, symbols: &mut Meaning) -> Site {
        match self.recent_places[recent(returns_to)] {
            (place, site) if place == returns_to => site,
            _ => self.find_site(returns_to, names, symbols),
        }
    }

    fn find_site(&mut self, returns_to: u64, names: &mut Names, symbols: &mut Meaning) -> Site {
        let site = self.known_site(returns_to, names, symbols);
        self.recent_places[recent(returns_to)] = (returns_to, site);
        site
    }

    fn known_site(&mut self, returns_to: u64, names: &mut Names, symbols: &mut Meaning) -> Site {
        if returns_to == 0 {
            return NO_SITE;
        }
        if let Some(site) = self.places.get(&returns_to) {
            return *site;
        }
        let place = symbols.place(returns_to);
        let site = Site {
            site: names.sites.intern(&place.site),
            // libstdc++ looks at both counts of a shared pointer to save work if it is the only one.
            reads_are_hints: place.function.contains("_Sp_counted_base")
                && place.function.ends_with("_M_release"),
            // It counts without atomics as long as no other thread was started.
            is_alone: place.function.ends_with("__exchange_and_add_single")
                || place.function.ends_with("__atomic_add_single"),
        };
        self.places.insert(returns_to, site);
        site
    }

    /// Takes a part of a label's text.
    pub(crate) fn label(&mut self, record: &Record) {
        let length = usize::from(record.size).min(16);
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&record.place.to_le_bytes());
        bytes[8..].copy_from_slice(&record.block.to_le_bytes());
        let key = (record.thread, record.operand);
        self.half_labels.entry(key).or_default().extend_from_slice(&bytes[..length]);
        if length < 16
            && let Some(text) = self.half_labels.remove(&key)
        {
            self.labels.insert(record.operand, text);
        }
    }

    /// Knows the text of a label.
    pub(crate) fn know_label(&mut self, hash: u64, text: Vec<u8>) {
        self.labels.insert(hash, text);
    }

    /// Other code may stand anywhere.
    pub(crate) fn forget(&mut self) {
        self.unloaded(0, u64::MAX);
    }

    /// Other code comes to stand between two addresses.
    pub(crate) fn unloaded(&mut self, start: u64, end: u64) {
        // Where a call returns to may be just behind.
        self.places.retain(|place, _| !(start..=end).contains(place));
        self.recent_places.fill((0, NO_SITE));
        let is_code = |block: u64| matches!(flavour(block), Block::Function | Block::Inside);
        self.blocks.retain(|&block, _| !is_code(block) || !(start..=end).contains(&(block & LOW)));
        self.recent_blocks.fill((0, Known::System));
    }
}
