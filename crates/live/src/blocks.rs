//! The open blocks of a thread, innermost last, each with the time at which it began.
//!
//! A wait that splits blocks starts all of them anew: one word, `split`, says when that was, and a block's *start* is the
//! later of the two. A dependence that comes back to a thread with knowledge of its time `n` violates every open block
//! that started at or before `n`. Starts never decrease from the outermost block inwards.
//!
//! Each frame also has a *path*, by which calls are counted: the function and, near the bottom of the stack, how it was reached.
//! There a function may be what its thread was started for, and the report treats it as such.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use crate::memory::Words;

/// How many open blocks are told apart. What is called deeper belongs to the innermost of them.
pub const DEEPEST: usize = 1 << 16;

const FUNCTION: usize = 0;
const START: usize = 1;
const SITE: usize = 2;
const STACK: usize = 3;
const PATH: usize = 4;
const WORDS: usize = 5;

/// The top bit of a frame's start: this instance is known to be violated.
const VIOLATED: u64 = 1 << 63;

/// What stands in place of a function where a thread begins to work beside its own open blocks, as the master of a team does.
///
/// ```text
/// outermost ──► round ──► SUSPENDED ──► square      only `square` is judged until the team is done
/// ```
pub const SUSPENDED: u64 = u64::MAX;

/// How a block is entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Call {
    /// The function, or whatever else identifies the block.
    pub function: u64,
    /// Where it is called from.
    pub site: u64,
    /// The stack pointer then: blocks may be left without a word (`longjmp`).
    pub stack: u64,
}

/// The kind of thread that a stack belongs to: what the path of its outermost block starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Root {
    /// The program's first thread.
    Main = 1,
    /// Any other.
    Other = 2,
}

impl Root {
    /// The path that the outermost block starts from, back as what it was.
    pub fn from_path(path: u64) -> Option<Root> {
        [Root::Main, Root::Other].into_iter().find(|&root| root as u64 == path)
    }

    /// How many frames of such a stack have a path that says how they were reached: of the first thread, only the outermost. (A
    /// thread of the C++ library calls the user's function through seven of its own.)
    pub fn near_bottom(self) -> u64 {
        NEAR_BOTTOM[self as usize]
    }
}

/// By the number of a root, see [`Root::near_bottom`].
const NEAR_BOTTOM: [u64; 3] = [0, 1, 10];

/// A path that says how a function was reached, and not only the function.
const WHOLE: u64 = 1 << 63;

/// A stack of open blocks. Only its thread changes it.
#[derive(Debug)]
pub struct Blocks {
    frames: Words,
    depth: AtomicU64,
    split: AtomicU64,
    root: AtomicU64,
}

impl Blocks {
    /// An empty stack; none if there is no memory.
    pub fn new() -> Option<Blocks> {
        Some(Blocks {
            frames: Words::reserve(DEEPEST * WORDS)?,
            depth: AtomicU64::new(0),
            split: AtomicU64::new(0),
            root: AtomicU64::new(Root::Other as u64),
        })
    }

    /// How many blocks are open.
    #[inline(always)]
    pub fn depth(&self) -> usize {
        self.depth.load(Relaxed) as usize
    }

    #[inline(always)]
    fn word(&self, frame: usize, word: usize) -> &AtomicU64 {
        &self.frame(frame)[word]
    }

    #[inline(always)]
    fn frame(&self, frame: usize) -> &[AtomicU64; WORDS] {
        let words = &self.frames[frame * WORDS..][..WORDS];
        // SAFETY: so many words in a row.
        unsafe { &*words.as_ptr().cast() }
    }

    /// How many of the open blocks are told apart.
    #[inline(always)]
    fn told_apart(&self) -> usize {
        self.depth().min(DEEPEST)
    }

    /// Opens a block.
    #[inline(always)]
    pub fn push(&self, call: &Call, start: u64) {
        let depth = self.depth();
        if depth < DEEPEST {
            let path = self.path_of(call.function, depth);
            let frame = self.frame(depth);
            frame[FUNCTION].store(call.function, Relaxed);
            frame[START].store(start, Relaxed);
            frame[SITE].store(call.site, Relaxed);
            frame[STACK].store(call.stack, Relaxed);
            frame[PATH].store(path, Relaxed);
        }
        self.depth.store(depth as u64 + 1, Relaxed);
    }

    /// By what the calls of a function are counted that is entered below so many open blocks.
    #[inline(always)]
    pub fn path_of(&self, function: u64, depth: usize) -> u64 {
        if depth as u64 >= NEAR_BOTTOM[self.root.load(Relaxed) as usize] {
            return function;
        }
        if function == SUSPENDED {
            return self.caller_path(depth);
        }
        (self.caller_path(depth).rotate_left(13) ^ function).wrapping_mul(0xff51_afd7_ed55_8ccd) | WHOLE
    }

    /// The path of a frame's caller, or of the thread for the outermost.
    #[inline(always)]
    pub fn caller_path(&self, frame: usize) -> u64 {
        frame.checked_sub(1).map_or(self.root.load(Relaxed), |caller| self.path(caller))
    }

    /// By what the calls of a frame's function are counted.
    #[inline(always)]
    pub fn path(&self, frame: usize) -> u64 {
        self.word(frame, PATH).load(Relaxed)
    }

    /// The path of the innermost frame that tells those further out, or of the function that `main` calls; 0 if no block is
    /// open. By it a report names what another thread was doing.
    pub fn way_in(&self) -> u64 {
        let root = self.root.load(Relaxed) as usize;
        let most = if root == Root::Main as usize { 2 } else { NEAR_BOTTOM[root] as usize };
        self.depth().min(most).checked_sub(1).map_or(0, |frame| self.path(frame))
    }

    /// Whether a path says how a function was reached: then its callers' paths do, too.
    #[inline(always)]
    pub fn is_whole(path: u64) -> bool {
        path & WHOLE != 0
    }

    /// Closes the innermost block: its path and start. None if no block is open, or it was too deep to be told apart.
    #[inline(always)]
    pub fn pop(&self) -> Option<(u64, u64)> {
        let depth = self.depth().checked_sub(1)?;
        self.depth.store(depth as u64, Relaxed);
        (depth < DEEPEST).then(|| (self.path(depth), self.start(depth)))
    }

    /// Closes all blocks.
    pub fn clear(&self) {
        self.depth.store(0, Relaxed);
    }

    /// The stack is that of another thread from now on.
    pub fn start_over(&self, root: Root) {
        self.clear();
        self.root.store(root as u64, Relaxed);
    }

    /// The paths of the open blocks that started at this time or before, the outermost first.
    pub fn each_started_by(&self, time: u64, each: impl FnMut(u64)) {
        let started = (0..self.told_apart()).take_while(|&frame| self.start(frame) <= time);
        started.map(|frame| self.path(frame)).for_each(each);
    }

    /// Starts all open blocks anew.
    pub fn split(&self, time: u64) {
        self.split.store(time, Relaxed);
    }

    /// The function of an open block, counted from the outermost.
    pub fn function(&self, frame: usize) -> u64 {
        self.word(frame, FUNCTION).load(Relaxed)
    }

    /// How an open block was entered.
    #[inline(always)]
    pub fn call(&self, frame: usize) -> Call {
        let word = |word| self.word(frame, word).load(Relaxed);
        Call { function: word(FUNCTION), site: word(SITE), stack: word(STACK) }
    }

    /// Which frame is the innermost; none if no block is open, or it is too deep to be told apart.
    #[inline(always)]
    pub fn innermost_frame(&self) -> Option<usize> {
        self.depth().checked_sub(1).filter(|&frame| frame < DEEPEST)
    }

    /// The stack pointer with which the innermost open block was entered; the highest address if none is open, or it is too deep to be told apart.
    #[inline(always)]
    pub fn innermost_stack(&self) -> u64 {
        self.innermost_frame().map_or(u64::MAX, |frame| self.word(frame, STACK).load(Relaxed))
    }

    /// How the innermost open block was entered; none if no block is open, or it is too deep to be told apart.
    #[inline(always)]
    pub fn innermost(&self) -> Option<Call> {
        self.innermost_frame().map(|frame| self.call(frame))
    }

    /// When an open block started, or was last split.
    #[inline(always)]
    pub fn start(&self, frame: usize) -> u64 {
        (self.word(frame, START).load(Relaxed) & !VIOLATED).max(self.split.load(Relaxed))
    }

    /// When the innermost open block started; 0 if none is open.
    #[inline(always)]
    pub fn innermost_start(&self) -> u64 {
        self.told_apart().checked_sub(1).map_or(0, |frame| self.start(frame))
    }

    /// When the innermost of the open blocks that started before `time` did; 0 if there is none. Nearly `time` where it would
    /// take long to tell.
    pub fn last_start_before(&self, time: u64) -> u64 {
        const FRAMES: usize = 8;
        let mut starts = (0..self.told_apart()).rev().map(|frame| self.start(frame));
        match starts.by_ref().take(FRAMES).find(|&start| start < time) {
            Some(start) => start,
            None if starts.next().is_none() => 0,
            None => time - 1,
        }
    }

    /// When the outermost open block started; `u64::MAX` if none is open.
    pub fn outermost_start(&self) -> u64 {
        if self.depth() == 0 { u64::MAX } else { self.start(0) }
    }

    /// Marks as violated every open block with `after < start <= until`, and hands each to `found`, the innermost first,
    /// unless it was marked before.
    pub fn violate(&self, after: u64, until: u64, mut found: impl FnMut(usize)) {
        for frame in (0..self.told_apart()).rev() {
            if self.function(frame) == SUSPENDED {
                return;
            }
            let start = self.start(frame);
            if start > until {
                continue;
            }
            let word = self.word(frame, START);
            let marked = word.load(Relaxed);
            // Blocks further out started earlier: they are off trial as well, or were marked at the same time.
            if start <= after || marked & VIOLATED != 0 {
                return;
            }
            word.store(marked | VIOLATED, Relaxed);
            found(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(blocks: &Blocks, function: u64, start: u64) {
        blocks.push(&Call { function, ..Call::default() }, start);
    }

    #[test]
    fn paths_tell_callers_apart_near_the_bottom_only() {
        let paths = |root, calls: &[u64]| {
            let blocks = Blocks::new().expect("memory");
            blocks.start_over(root);
            calls.iter().for_each(|&function| push(&blocks, function, 1));
            let path = blocks.path(calls.len() - 1);
            (path, Blocks::is_whole(path))
        };
        assert_ne!(paths(Root::Other, &[5]), paths(Root::Main, &[5]));
        assert_ne!(paths(Root::Other, &[5, 6]), paths(Root::Other, &[7, 6]));
        assert_eq!(paths(Root::Main, &[5, 6]), (6, false));
        assert_eq!(paths(Root::Other, &[5; 11]), (5, false));
        assert!(paths(Root::Other, &[5; 10]).1);
    }

    fn violated(blocks: &Blocks, after: u64, until: u64) -> Vec<u64> {
        let mut found = Vec::new();
        blocks.violate(after, until, |frame| found.push(blocks.function(frame)));
        found
    }

    #[test]
    fn blocks_that_started_in_time_are_violated_once() {
        let blocks = Blocks::new().expect("memory");
        push(&blocks, 100, 1);
        push(&blocks, 200, 4);
        push(&blocks, 300, 9);
        assert_eq!(violated(&blocks, 0, 0), []);
        assert_eq!(violated(&blocks, 0, 5), [200, 100]);
        assert_eq!(violated(&blocks, 0, 5), []);
        assert_eq!(violated(&blocks, 0, 9), [300]);
        assert_eq!(
            [blocks.pop(), blocks.pop()].map(|popped| popped.map(|(_, start)| start)),
            [Some(9), Some(4)]
        );
    }

    #[test]
    fn a_split_starts_all_blocks_anew() {
        let blocks = Blocks::new().expect("memory");
        push(&blocks, 100, 1);
        push(&blocks, 200, 4);
        blocks.split(7);
        assert_eq!((blocks.outermost_start(), blocks.innermost_start()), (7, 7));
        assert_eq!(violated(&blocks, 0, 6), []);
        assert_eq!(violated(&blocks, 0, 7), [200, 100]);
    }

    #[test]
    fn suspended_blocks_are_not_violated() {
        let blocks = Blocks::new().expect("memory");
        push(&blocks, 100, 1);
        push(&blocks, SUSPENDED, 4);
        push(&blocks, 300, 9);
        assert_eq!(violated(&blocks, 0, 9), [300]);
        blocks.pop();
        blocks.pop();
        assert_eq!(violated(&blocks, 0, 9), [100]);
    }

    #[test]
    fn blocks_off_trial_are_not_violated() {
        let blocks = Blocks::new().expect("memory");
        push(&blocks, 100, 1);
        push(&blocks, 200, 4);
        assert_eq!(violated(&blocks, 3, 5), [200]);
    }

    #[test]
    fn what_is_too_deep_belongs_to_the_innermost_that_is_told_apart() {
        let blocks = Blocks::new().expect("memory");
        for depth in 0..DEEPEST as u64 + 3 {
            push(&blocks, depth, depth + 1);
        }
        assert_eq!(blocks.innermost_start(), DEEPEST as u64);
        assert_eq!([blocks.pop(), blocks.pop(), blocks.pop()], [None; 3]);
        assert_eq!(blocks.pop(), Some((DEEPEST as u64 - 1, DEEPEST as u64)));
    }
}
