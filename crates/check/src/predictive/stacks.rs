//! The locks that a thread holds, as a stack of critical sections.
//!
//! Two views of one thing. A [`Stack`] is made of *sections*, that is of instances: two events that
//! have a section in common are inside the same execution of a critical section (`held12`). A
//! [`Path`] is made of lock names and is hash-consed: two accesses with the same path hold the same locks,
//! taken in the same order, so whatever holds for one pair of paths is found out once.
//!
//! Locks that are not released in the reverse order of their acquisition are allowed: releasing one
//! from the middle makes a new stack of those above it, with the same sections.

use atomvet_trace::{EventId, LockId, Mode, SiteId, ThreadId};
use rustc_hash::FxHashMap;

use super::periods::PeriodId;
use crate::Here;

/// A critical section: one acquire to its release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section {
    /// Its lock.
    pub lock: LockId,
    /// How that is held.
    pub mode: Mode,
    /// Its thread.
    pub thread: ThreadId,
    /// The period of its thread in which it was entered.
    pub period: PeriodId,
    /// The acquire, in the trace.
    pub acquired: EventId,
    /// The acquire, in the source.
    pub site: SiteId,
    /// What was held already.
    pub outer: StackId,
    /// The acquire, among the steps of its thread.
    pub start: u32,
    /// The release, or the largest number if there is none.
    pub end: u32,
    /// The release in the trace, if there is one; the acquire otherwise.
    pub released: EventId,
    /// The release in the source, if there is one; the acquire otherwise.
    pub release_site: SiteId,
}

/// A section of an execution.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SectionId(pub u32);

/// A stack of sections; empty by default.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct StackId(pub u32);

/// A stack of lock names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PathId(pub u32);

impl StackId {
    /// Nothing is held.
    pub const EMPTY: StackId = StackId(0);
}

impl PathId {
    /// Nothing is held.
    pub const EMPTY: PathId = PathId(0);
}

#[derive(Clone, Copy, Debug)]
struct Stack {
    below: StackId,
    top: SectionId,
    path: PathId,
}

#[derive(Clone, Copy, Debug)]
struct Path {
    below: PathId,
    lock: LockId,
    mode: Mode,
    depth: u32,
}

/// All sections and stacks of an execution.
#[derive(Debug)]
pub struct Stacks {
    sections: Vec<Section>,
    /// The first stands for the empty stack.
    stacks: Vec<Stack>,
    /// The first stands for the empty path.
    paths: Vec<Path>,
    path_of: FxHashMap<(PathId, LockId, Mode), PathId>,
}

impl Default for Stacks {
    fn default() -> Self {
        let stack = Stack { below: StackId::EMPTY, top: SectionId(u32::MAX), path: PathId::EMPTY };
        let path = Path { below: PathId::EMPTY, lock: LockId(u32::MAX), mode: Mode::Exclusive, depth: 0 };
        Stacks { sections: Vec::new(), stacks: vec![stack], paths: vec![path], path_of: FxHashMap::default() }
    }
}

/// Where two paths exclude each other: see [`Stacks::meet`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meet {
    /// The outermost lock of the first path that excludes the second, counted from 0, outermost first.
    pub level: u32,
    /// The outermost place of the same lock in the second path that excludes the first.
    pub other_level: u32,
}

impl Stacks {
    /// A section is entered on top of a stack.
    pub(super) fn enter(&mut self, section: Section) -> StackId {
        let id = SectionId(self.sections.len() as u32);
        self.sections.push(section);
        self.push(section.outer, id)
    }

    /// The innermost section of `lock` in this mode is left; gives the stack without it and the section.
    pub(super) fn leave(
        &mut self,
        stack: StackId,
        lock: LockId,
        mode: Mode,
        end: u32,
        here: Here,
    ) -> Option<(StackId, SectionId)> {
        let mut above = Vec::new();
        let mut at = stack;
        while at != StackId::EMPTY {
            let Stack { below, top, .. } = self.stacks[at.0 as usize];
            let section = &mut self.sections[top.0 as usize];
            if section.lock == lock && section.mode == mode {
                section.end = end;
                (section.released, section.release_site) = (here.at, here.site);
                let rest = above.iter().rev().fold(below, |stack, &section| self.push(stack, section));
                return Some((rest, top));
            }
            above.push(top);
            at = below;
        }
        None
    }

    fn push(&mut self, below: StackId, top: SectionId) -> StackId {
        let Section { lock, mode, .. } = self.sections[top.0 as usize];
        let under = self.path(below);
        let depth = self.depth(under) + 1;
        let next = PathId(self.paths.len() as u32);
        let path = *self.path_of.entry((under, lock, mode)).or_insert(next);
        if path == next {
            self.paths.push(Path { below: under, lock, mode, depth });
        }
        self.stacks.push(Stack { below, top, path });
        StackId(self.stacks.len() as u32 - 1)
    }

    /// All sections, in the order of their acquires.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// A section.
    #[inline]
    pub fn section(&self, id: SectionId) -> &Section {
        &self.sections[id.0 as usize]
    }

    /// The lock names of a stack.
    #[inline]
    pub fn path(&self, stack: StackId) -> PathId {
        self.stacks[stack.0 as usize].path
    }

    /// How many paths there are; their ids are dense.
    pub fn path_count(&self) -> usize {
        self.paths.len()
    }

    /// How many locks a path has.
    #[inline]
    pub fn depth(&self, path: PathId) -> u32 {
        self.paths[path.0 as usize].depth
    }

    /// The sections of a stack, innermost first.
    pub fn held(&self, stack: StackId) -> impl Iterator<Item = SectionId> + '_ {
        let mut at = stack;
        std::iter::from_fn(move || {
            let Stack { below, top, .. } = self.stacks[at.0 as usize];
            let here = (at != StackId::EMPTY).then_some(top);
            at = below;
            here
        })
    }

    /// The locks of a path, innermost first.
    pub fn locks(&self, path: PathId) -> impl Iterator<Item = (LockId, Mode)> + '_ {
        let mut at = path;
        std::iter::from_fn(move || {
            let Path { below, lock, mode, .. } = self.paths[at.0 as usize];
            let here = (at != PathId::EMPTY).then_some((lock, mode));
            at = below;
            here
        })
    }

    /// The section of a stack at a level, 0 for the outermost.
    pub fn at_level(&self, stack: StackId, level: u32) -> Option<SectionId> {
        let depth = self.depth(self.path(stack));
        let up = depth.checked_sub(level + 1)?;
        self.held(stack).nth(up as usize)
    }

    /// The sections that two events of one thread have in common: what was held continuously from the
    /// one to the other.
    pub fn held12(&self, first: StackId, second: StackId) -> impl Iterator<Item = SectionId> + '_ {
        // Stacks are short, and common sections are the same ids.
        self.held(first).filter(move |&section| self.held(second).any(|other| other == section))
    }

    /// Whether somebody who holds the first path keeps out whoever needs the second.
    pub fn exclude(&self, path: PathId, other: PathId) -> bool {
        self.locks(path).any(|(lock, mode)| self.excludes(other, lock, mode))
    }

    /// Whether a path has a lock that cannot be held while another thread has this one.
    pub fn excludes(&self, path: PathId, lock: LockId, mode: Mode) -> bool {
        self.locks(path).any(|(other, other_mode)| other == lock && exclusive(mode, other_mode))
    }

    /// The outermost lock that keeps the holders of two paths apart, and where it is in each; none if they
    /// do not exclude each other.
    pub fn meet(&self, path: PathId, other: PathId) -> Option<Meet> {
        let depth = self.depth(path);
        let (up, (lock, mode)) = (self.locks(path).enumerate())
            .filter(|&(_, (lock, mode))| self.excludes(other, lock, mode))
            .last()?;
        let other_depth = self.depth(other);
        let (other_up, _) = (self.locks(other).enumerate())
            .filter(|&(_, (found, found_mode))| found == lock && exclusive(mode, found_mode))
            .last()?;
        Some(Meet { level: depth - 1 - up as u32, other_level: other_depth - 1 - other_up as u32 })
    }
}

/// Whether two threads cannot hold one lock in these modes at once.
pub fn exclusive(mode: Mode, other: Mode) -> bool {
    !(mode == Mode::Shared && other == Mode::Shared)
}
