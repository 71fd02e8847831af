//! Which of the functions that the live checker counts are blocks, and what they are called.
//!
//! The checker knows functions by path (`crates/live/src/blocks.rs`): near the bottom of a stack, a path leads to those around it.
//! There, functions may be what their thread was started for (`roles.rs`).

use std::collections::BTreeSet;

use atomvet_live::blocks::{Blocks, Root};
use atomvet_live::entered::Entered;
use atomvet_live::found::{Finding as Found, MOST_FRAMES};
use atomvet_trace::{Names, RegionId, SiteId};
use rustc_hash::FxHashMap;

use crate::run::code::{Code, Known};
use crate::run::jvm;
use crate::run::roles::{Call, Role, Roles, address_in};
use crate::run::symbols::Meaning;
use crate::spec::Meant;

/// The index of a program's first thread.
pub(super) const FIRST_THREAD: usize = 1;

/// Paths are no longer than this; a table that says otherwise is broken.
const DEEPEST: usize = 32;

/// A function that was entered.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// It is a block, and this is how it begins.
    pub(super) block: Option<(RegionId, SiteId)>,
    role: Role,
    code: u64,
}

/// The functions of a program.
pub(super) struct Frames {
    pub(super) names: Names,
    pub(super) symbols: Meaning,
    pub(super) code: Code,
    roles: Roles,
    entered: FxHashMap<u64, Entered>,
    /// Per path, the functions from the bottom of the stack on as far as they are told, and in which kind of thread.
    stacks: FxHashMap<u64, (Option<Root>, Vec<Frame>)>,
    /// Functions that were entered and are no blocks by default, because threads start with them.
    entries: BTreeSet<RegionId>,
    /// How many copies of the memory map were read.
    maps: u64,
}

impl Frames {
    pub(super) fn new(symbols: Meaning, code: Code, entered: &[Entered]) -> Frames {
        Frames {
            names: Names::default(),
            symbols,
            code,
            roles: Roles::default(),
            entered: entered.iter().map(|entered| (entered.path, *entered)).collect(),
            stacks: FxHashMap::default(),
            entries: BTreeSet::new(),
            maps: 1,
        }
    }

    /// From here on, addresses mean what they did when there were so many copies of the memory map.
    pub(super) fn renew(&mut self, maps: u64) {
        if self.maps < maps {
            (self.maps..maps).for_each(|copy| self.symbols.renewed(copy));
            self.maps = maps;
            self.code.forget();
            self.roles.forget();
        }
    }

    /// The functions that a path leads to, the innermost last, and the kind of their thread.
    pub(super) fn stack(&mut self, path: u64) -> (Option<Root>, Vec<Frame>) {
        self.stack_within(path, DEEPEST)
    }

    fn stack_within(&mut self, path: u64, most: usize) -> (Option<Root>, Vec<Frame>) {
        if let Some(known) = self.stacks.get(&path) {
            return known.clone();
        }
        let Some(entered) = self.entered.get(&path).copied() else { return (None, Vec::new()) };
        let call = Call { block: entered.function, returns_to: entered.site };
        let (root, mut stack) = match Root::from_path(entered.caller) {
            Some(root) => (Some(root), Vec::new()),
            None if Blocks::is_whole(path) && most > 0 => self.stack_within(entered.caller, most - 1),
            None => (None, Vec::new()),
        };
        let frame = self.frame(root, &stack, call);
        stack.push(frame);
        self.stacks.insert(path, (root, stack.clone()));
        (root, stack)
    }

    /// The functions that were open around a violated one, which comes last.
    pub(super) fn open(&mut self, found: &Found) -> Vec<Frame> {
        if Blocks::is_whole(found.path) {
            return self.stack(found.path).1;
        }
        let root = if found.thread == FIRST_THREAD { Root::Main } else { Root::Other };
        let reaches_bottom = found.frames.len() < MOST_FRAMES;
        let mut stack = Vec::new();
        for &(block, returns_to) in found.frames.iter().rev() {
            let is_near_bottom = reaches_bottom && (stack.len() as u64) < root.near_bottom();
            let call = Call { block, returns_to };
            let frame = self.frame(is_near_bottom.then_some(root), &stack, call);
            stack.push(frame);
        }
        stack
    }

    /// A function that is called by those of `stack`; if no thread is named, further up in a stack that is not known.
    pub(super) fn frame(&mut self, root: Option<Root>, stack: &[Frame], call: Call) -> Frame {
        if call.block == 0 {
            // The initialiser of a JVM's class: whoever comes first runs it.
            return Frame { block: None, role: Role::NotUsers, code: 0 };
        }
        let known = self.code.block(call.block, &mut self.names, &mut self.symbols);
        let is_outermost = root.is_some() && stack.is_empty();
        let mut role = Role::NotUsers;
        let (region, site, meant, counts) = match known {
            Known::System => (RegionId::NONE, SiteId::NONE, Meant::Unsaid, false),
            Known::Outlined => {
                role = Role::Called;
                (RegionId::NONE, SiteId::NONE, Meant::Unsaid, false)
            }
            Known::Label(region) => {
                let site = self.code.site(call.returns_to, &mut self.names, &mut self.symbols).site;
                (region, site, self.code.meant(region, site, None, &self.names), true)
            }
            Known::Main(region, site, meant) => {
                role = Role::Called;
                (region, site, meant, false)
            }
            Known::Method(region, site, meant, method) => {
                let counts = match method {
                    jvm::Role::Block => true,
                    jvm::Role::UnlessEntry => !is_outermost,
                    jvm::Role::NoBlock => false,
                    jvm::Role::Statement => match stack.last() {
                        Some(method) => method.block.is_none(),
                        // The agent announces those of methods that are none by themselves.
                        None => !self.is_in_block(region, site),
                    },
                };
                if method == jvm::Role::UnlessEntry && is_outermost && meant == Meant::Unsaid {
                    self.entries.insert(region);
                }
                (region, site, meant, counts)
            }
            Known::Function(region, site, meant) => {
                let open = stack.iter().map(|frame| (frame.role, frame.code));
                let is_entry =
                    root == Some(Root::Other) && self.roles.is_entry(&mut self.symbols, open, call);
                if is_entry && meant == Meant::Unsaid {
                    self.entries.insert(region);
                }
                role = if is_entry { Role::Entry } else { Role::Called };
                (region, site, meant, !is_entry)
            }
        };
        let is_block = match meant {
            Meant::Atomic => true,
            Meant::Ignored => false,
            Meant::Unsaid => counts,
        };
        Frame { block: is_block.then_some((region, site)), role, code: address_in(call.block) }
    }

    /// Whether the specification makes a block of the method that a synchronized statement is in.
    fn is_in_block(&mut self, statement: RegionId, site: SiteId) -> bool {
        let method = self.names.regions.get(statement).strip_suffix(" synchronized").map(str::to_owned);
        method.is_some_and(|method| {
            let region = self.names.regions.intern(&method);
            self.code.meant(region, site, None, &self.names) == Meant::Atomic
        })
    }

    /// The block around an access of another thread, which came there by `path`: the outermost, or else the function itself.
    pub(super) fn around(&mut self, path: u64, place: u64) -> Option<(RegionId, SiteId)> {
        let (_, stack) = self.stack(path);
        let outermost = stack.iter().find_map(|frame| frame.block);
        outermost.or_else(|| {
            if place == 0 {
                return None;
            }
            let call = Call { block: (atomvet_ring::Block::Inside as u64) << 48 | place, returns_to: 0 };
            let block = self.frame(None, &[], call).block;
            block.filter(|(region, _)| !self.entries.contains(region))
        })
    }

    /// The names of functions that are no blocks because threads start with them, in order.
    pub(super) fn thread_entries(&self) -> Vec<String> {
        let names = self.entries.iter().map(|&region| self.names.regions.get(region).to_owned());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        names
    }
}
