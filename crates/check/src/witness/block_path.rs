//! The shortest way out of a violated block and back into it.
//!
//! All of it lies between the block's begin and the event that completed the violation, since events
//! only come before later ones. So one pass finds it: from the begin on, keep for every thread the
//! cheapest way in which the block reaches it. An event improves its thread's way if a source of it
//! (the last conflicting access of another thread, …) had a cheaper one at the time.
//!
//! A step between threads costs 1, and a trifle more if only synchronization orders it: a reader
//! learns more from the data. Ways only get cheaper, so each thread has few of them. Searches of
//! several blocks run side by side; at most as many are active as there are open blocks.

use atomvet_trace::{EventId, Mode, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::sources::{Source, Sources};
use super::{Because, Request, Step, Witness};
use crate::{Access, Block, Channel, Findings, Here, Rules, Stats};

/// Finds the witnesses of violated blocks.
#[derive(Debug, Default)]
pub(super) struct BlockPaths {
    requests: Vec<Request>,
    found: Vec<Option<Witness>>,
    /// The requests of each block, by its begin.
    wanted: FxHashMap<EventId, Vec<usize>>,
    sources: Sources<()>,
    active: Vec<Search>,
    /// Where the search for a way of the event at hand is left for all active searches.
    sources_here: Vec<Source<()>>,
}

#[derive(Debug)]
struct Search {
    request: usize,
    thread: ThreadId,
    /// Events of the block are those of its thread from this one on.
    since: EventId,
    /// Per thread, ever cheaper ways to reach it.
    ways: Vec<Vec<Way>>,
    /// The cheapest way back into the block, by the event that completes the violation.
    back: Option<Way>,
}

/// The last step of a way from the block to a thread.
#[derive(Clone, Copy, Debug)]
struct Way {
    cost: u32,
    step: Step,
    /// The way to the thread where that step starts; none if it starts in the block.
    before: Option<(ThreadId, usize)>,
}

const STEP: u32 = 1 << 12;

fn cost(because: Because) -> u32 {
    if matches!(because, Because::Access(..)) { STEP } else { STEP + 1 }
}

impl BlockPaths {
    pub(super) fn new(requests: Vec<Request>) -> Self {
        let mut wanted = FxHashMap::<_, Vec<usize>>::default();
        for (i, request) in requests.iter().enumerate() {
            if let Some(block) = request.block {
                wanted.entry(block.begin).or_default().push(i);
            }
        }
        BlockPaths { found: vec![None; requests.len()], requests, wanted, ..Default::default() }
    }

    pub(super) fn into_witnesses(self) -> Vec<Option<Witness>> {
        self.found
    }

    fn start(&mut self, here: Here, block: Block) {
        for &request in self.wanted.get(&block.begin).into_iter().flatten() {
            // Where waits split blocks, the new piece replaces the old one.
            self.active.retain(|search| search.request != request);
            if here.at < self.requests[request].event {
                self.active.push(Search {
                    request,
                    thread: block.thread,
                    since: here.at,
                    ways: Vec::new(),
                    back: None,
                });
            }
        }
    }

    /// Continues all searches with what was found to come directly before the event at hand.
    fn advance(&mut self, here: Here) {
        let mut done = false;
        let requests = &self.requests;
        self.active.retain(|search| requests[search.request].event >= here.at);
        for search in &mut self.active {
            let completing = here.at == self.requests[search.request].event;
            for source in &self.sources_here {
                search.take(here, *source, completing);
            }
            done |= completing;
        }
        self.sources_here.clear();
        if done {
            self.collect(here.at);
        }
    }

    /// Takes in the results of searches whose last event this is. Several sources of one event are told
    /// in several calls, so a result may be replaced by a better one.
    fn collect(&mut self, at: EventId) {
        for search in &self.active {
            let request = self.requests[search.request];
            if request.event == at
                && let Some(back) = search.back
            {
                let steps = search.steps(back);
                self.found[search.request] = Some(Witness { block: request.block, steps });
            }
        }
    }
}

impl Search {
    /// The cheapest way to an event of a thread: its cost, and its index unless it is in the block.
    fn way(&self, thread: ThreadId, at: EventId) -> Option<(u32, Option<usize>)> {
        if thread == self.thread {
            return (at >= self.since).then_some((0, None));
        }
        let ways = self.ways.get(thread.index())?;
        let i = ways.iter().rposition(|way| way.step.to <= at)?;
        Some((ways[i].cost, Some(i)))
    }

    fn take(&mut self, here: Here, source: Source<()>, completing: bool) {
        let Some((so_far, index)) = self.way(source.thread, source.at) else { return };
        let way = Way {
            cost: so_far + cost(source.because),
            step: Step { from: source.at, to: here.at, because: source.because },
            before: index.map(|index| (source.thread, index)),
        };
        if here.thread == self.thread {
            if completing && self.back.is_none_or(|back| way.cost < back.cost) {
                self.back = Some(way);
            }
            return;
        }
        if self.ways.len() <= here.thread.index() {
            self.ways.resize_with(here.thread.index() + 1, Vec::new);
        }
        let ways = &mut self.ways[here.thread.index()];
        if ways.last().is_none_or(|best| way.cost < best.cost) {
            ways.push(way);
        }
    }

    /// From the block along the way and back, with the steps inside threads filled in.
    fn steps(&self, back: Way) -> Vec<Step> {
        let mut steps = vec![back.step];
        let mut way = back;
        while let Some((thread, index)) = way.before {
            way = self.ways[thread.index()][index];
            let (from, to) = (way.step.to, steps[steps.len() - 1].from);
            if from != to {
                steps.push(Step { from, to, because: Because::ProgramOrder(thread) });
            }
            steps.push(way.step);
        }
        steps.reverse();
        steps
    }
}

impl Rules for BlockPaths {
    fn begin(&mut self, here: Here, block: Block, _out: &mut Findings) {
        self.start(here, block);
    }

    fn nest(&mut self, here: Here, block: Block) {
        self.start(here, block);
    }

    fn end(&mut self, here: Here, _out: &mut Findings) {
        let requests = &self.requests;
        self.active.retain(|search| requests[search.request].event > here.at);
    }

    fn access(&mut self, here: Here, variable: VarId, access: Access, _out: &mut Findings) {
        if !self.active.is_empty() {
            let BlockPaths { sources, sources_here, .. } = self;
            sources.access(here, variable, access, (), |source| sources_here.push(source));
            self.advance(here);
        }
    }

    fn send(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        if !self.active.is_empty() {
            self.sources.send(here, channel, mode, ());
        }
    }

    fn receive(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        if !self.active.is_empty() {
            let BlockPaths { sources, sources_here, .. } = self;
            sources.receive(here, channel, mode, |source| sources_here.push(source));
            self.advance(here);
        }
    }

    fn join(&mut self, here: Here, child: ThreadId, _out: &mut Findings) {
        // Every event of the child comes directly before the join: take one where the block began, or
        // where it reached the child.
        let mut completing = false;
        for search in &mut self.active {
            let is_last = here.at == self.requests[search.request].event;
            completing |= is_last;
            let reached = search.ways.get(child.index()).and_then(|ways| ways.last()).map(|way| way.step.to);
            let at = if child == search.thread { Some(search.since) } else { reached };
            if let Some(at) = at {
                let because = Because::Join(child);
                search.take(here, Source { thread: child, at, because, note: () }, is_last);
            }
        }
        if completing {
            self.collect(here.at);
        }
    }

    fn new_life(&mut self, variable: VarId) {
        self.sources.new_life(variable);
    }

    fn close(&mut self, channel: Channel) {
        self.sources.close(channel);
    }

    fn finish(self, _open: &[Block], _last: Here, _out: &mut Findings) -> Stats {
        Stats::default()
    }
}
