//! The shortest way out of a violated block and back into it.
//!
//! All of it lies between the block's begin and the event that completed the violation, since events
//! only come before later ones. So one pass finds it: from the begin on, keep for every thread the
//! cheapest way in which the block reaches it. An event improves its thread's way if a source of it
//! (the last conflicting access of another thread, …) had a cheaper one at the time.
//!
//! Fewer steps between threads are cheaper, then fewer that only synchronization orders. Where the way
//! back is known by synchronization first (an acquire tells before the access that it guards), the search
//! goes on for a way of data alone, to the end of the block, but over [`FURTHER`] events at most: a block
//! that is open all the time would otherwise cost every event of the trace. Ways only get cheaper, so each
//! thread has few of them. Searches of several blocks run side by side, one for each open block and event
//! that is asked about; an event costs a step for each of them.

use std::cmp::{Ordering, Reverse};

use atomvet_trace::{EventId, Mode, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::sources::{Cost, STEP, Source, Sources, cost};
use super::{Because, Explanation, Request, Step, Witness};
use crate::{Access, Block, Channel, Findings, Here, Rules};

/// For how many events after a way back is known by synchronization one of data is looked for. With 1,200
/// open blocks and 1 million events, explaining took 10 s of processor time without a bound.
const FURTHER: u64 = 1 << 14;

/// Finds the witnesses of violated blocks.
#[derive(Debug, Default)]
pub(super) struct BlockPaths {
    requests: Vec<Request>,
    /// The latest event of a request.
    last: Option<EventId>,
    found: Vec<Option<Explanation>>,
    /// The requests of each block, by its begin.
    wanted: FxHashMap<EventId, Vec<usize>>,
    /// Those begins, the next one last.
    to_come: Vec<EventId>,
    sources: Sources<()>,
    active: Vec<Search>,
    /// No active search is settled before or at this event; none if there is no search.
    unsettled_until: Option<EventId>,
    /// The begins of each thread's open blocks, outermost first; not of those from before a search.
    open: Vec<Vec<EventId>>,
    /// Where the search for a way of the event at hand is left for all active searches.
    sources_here: Vec<Source<()>>,
}

#[derive(Debug)]
struct Search {
    request: usize,
    begin: EventId,
    thread: ThreadId,
    /// Events of the block are those of its thread from this one on.
    since: EventId,
    /// Per thread, ever cheaper ways to reach it.
    ways: Vec<Vec<Way>>,
    /// The cheapest way back into the block, by the event that completes the violation.
    back: Option<Way>,
    /// The cheapest way back of data alone, by a later event.
    back_by_data: Option<Way>,
}

/// The last step of a way from the block to a thread.
#[derive(Clone, Copy, Debug)]
struct Way {
    cost: Cost,
    step: Step,
    /// The way to the thread where that step starts; none if it starts in the block.
    before: Option<(ThreadId, usize)>,
}

impl Way {
    /// Only accesses of variables order its steps.
    fn is_data(self) -> bool {
        self.cost.is_multiple_of(STEP)
    }
}

impl BlockPaths {
    pub(super) fn new(requests: Vec<Request>) -> Self {
        let mut wanted = FxHashMap::<_, Vec<usize>>::default();
        for (i, request) in requests.iter().enumerate() {
            if let Some(block) = request.block {
                wanted.entry(block.begin).or_default().push(i);
            }
        }
        let last = requests.iter().map(|request| request.event).max();
        let mut to_come: Vec<EventId> = wanted.keys().copied().collect();
        to_come.sort_unstable_by_key(|&begin| Reverse(begin));
        BlockPaths {
            found: vec![None; requests.len()],
            last,
            requests,
            wanted,
            to_come,
            ..Default::default()
        }
    }

    pub(super) fn into_explanations(mut self) -> Vec<Option<Explanation>> {
        self.active.drain(..).for_each(|search| search.explain(&self.requests, &mut self.found));
        self.found
    }

    /// Whether nothing more is to be found after `at`.
    pub(super) fn is_done(&self, at: EventId) -> bool {
        self.active.is_empty() && self.last <= Some(at)
    }

    /// Whether nothing is looked for up to and with the event at this position. What accesses and blocks there were until then,
    /// no search asks: all of a way comes after the begin of its block.
    #[inline]
    pub(super) fn is_idle(&mut self, at: EventId) -> bool {
        self.active.is_empty() && self.to_come.last().is_none_or(|&begin| at < begin)
    }

    /// See [`BlockPaths::is_idle`].
    pub(super) fn forget_blocks(&mut self) {
        self.open.iter_mut().for_each(Vec::clear);
    }

    fn start(&mut self, here: Here, block: Block) {
        self.to_come.pop_if(|begin| *begin == block.begin);
        for &request in self.wanted.get(&block.begin).into_iter().flatten() {
            let completing = self.requests[request].event;
            if here.at < completing {
                self.unsettled_until =
                    Some(self.unsettled_until.map_or(completing, |until| until.min(completing)));
                self.active.push(Search {
                    request,
                    begin: block.begin,
                    thread: block.thread,
                    since: here.at,
                    ways: Vec::new(),
                    back: None,
                    back_by_data: None,
                });
            }
        }
    }

    /// A block ends. (Where waits split blocks, one piece ends, and a search that has found nothing is
    /// started again for the next.)
    fn stop(&mut self, here: Here) {
        let Some(begin) = self.open.get_mut(here.thread.index()).and_then(Vec::pop) else { return };
        let BlockPaths { active, requests, found, .. } = self;
        for search in active.extract_if(.., |search| search.begin == begin) {
            search.explain(requests, found);
        }
    }

    /// Continues all searches with what was found to come directly before the event at hand.
    fn advance(&mut self, here: Here) {
        if !self.sources_here.is_empty() {
            for search in &mut self.active {
                let completing = self.requests[search.request].event;
                self.sources_here.iter().for_each(|source| search.take(here, *source, completing));
            }
            self.sources_here.clear();
        }
        if self.unsettled_until.is_none_or(|until| here.at <= until) {
            return;
        }
        let BlockPaths { active, requests, found, .. } = self;
        for search in active.extract_if(.., |search| search.is_settled(here.at, requests)) {
            search.explain(requests, found);
        }
        self.unsettled_until = self.active.iter().map(|search| self.requests[search.request].event).min();
    }
}

impl Search {
    /// The cheapest way to an event of a thread: its cost, and its index unless it is in the block.
    fn way(&self, thread: ThreadId, at: EventId) -> Option<(Cost, Option<usize>)> {
        if thread == self.thread {
            return (at >= self.since).then_some((0, None));
        }
        let ways = self.ways.get(thread.index())?;
        let i = ways.iter().rposition(|way| way.step.to <= at)?;
        Some((ways[i].cost, Some(i)))
    }

    fn take(&mut self, here: Here, source: Source<()>, completing: EventId) {
        let Some((so_far, index)) = self.way(source.thread, source.at) else { return };
        let way = Way {
            cost: so_far + cost(source.because),
            step: Step { from: source.at, to: here.at, because: source.because },
            before: index.map(|index| (source.thread, index)),
        };
        if here.thread == self.thread {
            let back = match here.at.cmp(&completing) {
                Ordering::Less => return,
                Ordering::Equal => &mut self.back,
                Ordering::Greater if way.is_data() => &mut self.back_by_data,
                Ordering::Greater => return,
            };
            if back.is_none_or(|back| way.cost < back.cost) {
                *back = Some(way);
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

    /// Whether nothing that comes after can change the answer.
    fn is_settled(&self, at: EventId, requests: &[Request]) -> bool {
        let completed = requests[self.request].event;
        at > completed && (self.back.is_none_or(Way::is_data) || at.0 - completed.0 > FURTHER)
    }

    fn explain(self, requests: &[Request], found: &mut [Option<Explanation>]) {
        let Some(back) = self.back else { return };
        let block = requests[self.request].block;
        let by_data = self.back_by_data.filter(|_| !back.is_data());
        found[self.request] = Some(Explanation {
            witness: Witness { block, steps: self.steps(back) },
            by_data: by_data.map(|way| Witness { block, steps: self.steps(way) }),
        });
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
        self.nest(here, block);
    }

    fn nest(&mut self, here: Here, block: Block) {
        if self.open.len() <= here.thread.index() {
            self.open.resize_with(here.thread.index() + 1, Vec::new);
        }
        self.open[here.thread.index()].push(block.begin);
        self.start(here, block);
    }

    fn unnest(&mut self, here: Here) {
        self.stop(here);
    }

    fn end(&mut self, here: Here, _out: &mut Findings) {
        self.stop(here);
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
        for search in &mut self.active {
            let completing = self.requests[search.request].event;
            let reached = search.ways.get(child.index()).and_then(|ways| ways.last()).map(|way| way.step.to);
            let at = if child == search.thread { Some(search.since) } else { reached };
            if let Some(at) = at {
                let because = Because::Join(child);
                search.take(here, Source { thread: child, at, because, note: () }, completing);
            }
        }
    }

    fn new_life(&mut self, variable: VarId) {
        self.sources.new_life(variable);
    }

    fn close(&mut self, channel: Channel) {
        self.sources.close(channel);
    }
}

#[cfg(test)]
mod tests {
    use atomvet_trace::RegionId;

    use super::*;
    use crate::Config;
    use crate::notation::parse;
    use crate::witness::Replay;

    /// A block that `acq(m)`, event 7, completes the violation of by synchronization, and `w(x)` by data after so many events.
    #[test]
    fn a_way_of_data_is_looked_for_within_bounds() {
        let (violated, _) =
            parse("1:b 1:acq(m) 1:w(x) 1:rel(m) 2:acq(m) 2:w(x) 2:rel(m) 1:acq(m) 3:r(y) 1:w(x)");
        let [start @ .., filler, by_data] = &violated[..] else { panic!("it has events") };
        for (further, is_found) in [(3, true), (FURTHER as usize - 1, true), (FURTHER as usize + 1, false)] {
            let mut events = start.to_vec();
            events.resize(start.len() + further, *filler);
            events.push(*by_data);
            let block = Block {
                begin: EventId(0),
                thread: start[0].thread,
                region: RegionId(0),
                site: start[0].site,
            };
            let request = Request { block: Some(block), transaction: block, event: EventId(7) };
            let mut replay = Replay::new(&Config::default(), &[request]);
            replay.events(EventId(0), &events[..events.len() - 1]);
            // The block is open, but nothing more is looked for.
            assert_eq!(replay.is_done(EventId(events.len() as u64 - 2)), !is_found, "{further}");
            replay.events(EventId(events.len() as u64 - 1), &events[events.len() - 1..]);
            let explanation = replay.finish().remove(0).expect("it is violated");
            assert_eq!(explanation.by_data.is_some(), is_found, "{further}: {explanation:?}");
        }
    }
}
