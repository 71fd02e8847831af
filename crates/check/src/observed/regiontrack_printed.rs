//! RegionTrack as printed, with vector clocks: a baseline for comparisons, and wrong in known ways. The repaired algorithm is
//! [`regiontrack`](super::regiontrack).
//!
//! Paper: Ma, Wu, Pobee, Mei, Zhang, Jiang, Chan, "RegionTrack: a trace-based sound and complete checker to debug
//! transactional atomicity violations and non-serializable traces", TOSEM 2021, Algorithms 1, 3, 4, line by line.
//!
//! Known errors:
//!
//! ```text
//! T1: [     w(a)             r(b) ]    false alarm: T0's two events are merged into one transaction, as §2 says. That has
//! T0:            w(b) r(a)             both dependences, and a cycle is reported; apart, they are on none
//! ```
//!
//! In a transactional clock, 0 means "no sink yet", but Algorithm 3 compares it as a time. Line 5 keeps a 0 (`0 > sink` is false), so the
//! second thread that a transaction reaches is forgotten, and cycles through it are missed. Lines 20 and 32, and line 9 of Algorithm 4,
//! taken literally, would let a thread that reaches nothing reach everything: nearly every trace with two dependences would be
//! reported. The paper's worked example (§4.3) does not do that, and neither does this file: there, 0 is below no time.
//!
//! What the print does not have: nested blocks are not judged; shared acquires, forks, joins and barriers are joins like the others;
//! updates are a read and a write, commuting or not.
//!
//! Cost: a comparison per event that does not join, O(threads) per join for the clock and up to O(threads³) for the transactional
//! clocks. Memory: a clock per variable and thread that read it since its last write.

use std::sync::Arc;

use atomvet_trace::{Mode, Op, RegionId, ThreadId, VarId};

use crate::graph::slot;
use crate::{Access, Blame, Block, Channel, Config, Findings, Here, Info, Kind, Observed, Rules, Stats};

/// See the head of this file.
#[derive(Debug, Default)]
pub struct RegionTrackPrinted {
    threads: Vec<Thread>,
    /// `W(x)` and `R(t, x)`.
    variables: Vec<Variable>,
    /// `L(m)`, and what shared sends added to it.
    channels: Vec<Vec<Shadow>>,
    /// `TV(t)`.
    transactional: Vec<Vec<u64>>,
    transactions: u64,
    joins: u64,
    copies: u64,
}

/// A clock that several variables share, with the thread whose event it belongs to.
#[derive(Clone, Debug)]
struct Shadow {
    thread: usize,
    clock: Arc<Vec<u64>>,
}

#[derive(Debug, Default)]
struct Thread {
    /// `V(t)`.
    clock: Vec<u64>,
    /// `C(t).currVC`.
    current: Arc<Vec<u64>>,
    /// `C(t)`, with `V(C(t).begin)[t]`.
    transaction: Option<(Block, u64)>,
    /// It is no block, but events outside of one, merged.
    is_unary: bool,
    /// A violation, or a cycle without one, was reported.
    blamed: bool,
    reported: bool,
}

#[derive(Debug, Default)]
struct Variable {
    written: Option<Shadow>,
    /// By thread.
    read: Vec<Option<Shadow>>,
}

impl Observed for RegionTrackPrinted {
    const INFO: Info = Info {
        name: "regiontrack-printed",
        kind: Kind::Observed,
        paper: "Ma, Wu, Pobee, Mei, Zhang, Jiang, Chan: RegionTrack, TOSEM 2021, Algorithms 1, 3 and 4 as printed, with vector clocks",
        guarantee: "none: reports cycles in serializable traces, because consecutive events outside blocks are merged into one \
                    transaction; misses cycles, because 0 stands for \"no sink yet\" and is compared as a time; judges outermost \
                    blocks only",
        blame: Blame::More,
        tells_first_event: false,
        cost: "O(threads) to O(threads³) per dependence between threads; memory O(threads · variables) clocks",
    };

    fn new(_config: &Config) -> Self {
        RegionTrackPrinted::default()
    }

    fn finish(self, _open: &[Block], _last: Here, _out: &mut Findings) -> Stats {
        Stats(vec![
            ("transactions", self.transactions),
            ("joins", self.joins),
            ("clocks copied", self.copies),
        ])
    }
}

impl Rules for RegionTrackPrinted {
    fn begin(&mut self, here: Here, block: Block, _out: &mut Findings) {
        self.start(here.thread.index(), block, false);
    }

    fn end(&mut self, here: Here, _out: &mut Findings) {
        slot(&mut self.threads, here.thread.index()).transaction = None;
    }

    fn access(&mut self, here: Here, variable: VarId, access: Access, out: &mut Findings) {
        let t = self.enter(here);
        if access == Access::Read || matches!(here.op, Op::Update(..)) {
            self.read(here, t, variable, out);
        }
        if access != Access::Read {
            self.write(here, t, variable, out);
        }
    }

    fn send(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        let t = self.enter(here);
        let own = Shadow { thread: t, clock: self.threads[t].current.clone() };
        let sent = slot(&mut self.channels, channel.slot as usize);
        if mode == Mode::Exclusive {
            sent.clear();
        }
        sent.push(own);
    }

    fn receive(&mut self, here: Here, channel: Channel, _mode: Mode, out: &mut Findings) {
        let t = self.enter(here);
        for sent in slot(&mut self.channels, channel.slot as usize).clone() {
            if sent.thread != t {
                self.join_clock(here, t, &sent, out);
            }
        }
        self.subregion(t);
    }

    fn join(&mut self, here: Here, child: ThreadId, out: &mut Findings) {
        let t = self.enter(here);
        let child = child.index();
        let ended = Shadow { thread: child, clock: slot(&mut self.threads, child).current.clone() };
        self.join_clock(here, t, &ended, out);
        self.subregion(t);
    }

    fn new_life(&mut self, variable: VarId) {
        *slot(&mut self.variables, variable.index()) = Variable::default();
    }

    fn close(&mut self, channel: Channel) {
        slot(&mut self.channels, channel.slot as usize).clear();
    }
}

/// Algorithm 1.
impl RegionTrackPrinted {
    /// An event outside every block begins a transaction, or is merged into the one that such an event began.
    fn enter(&mut self, here: Here) -> usize {
        let t = here.thread.index();
        if slot(&mut self.threads, t).transaction.is_none() {
            let block =
                Block { begin: here.at, thread: here.thread, region: RegionId::NONE, site: here.site };
            self.start(t, block, true);
        }
        t
    }

    fn start(&mut self, t: usize, block: Block, is_unary: bool) {
        self.transactions += 1;
        self.copies += 1;
        let thread = slot(&mut self.threads, t);
        *slot(&mut thread.clock, t) += 1;
        thread.current = Arc::new(thread.clock.clone());
        thread.transaction = Some((block, thread.clock[t]));
        thread.is_unary = is_unary;
        (thread.blamed, thread.reported) = (false, false);
    }

    fn read(&mut self, here: Here, t: usize, variable: VarId, out: &mut Findings) {
        let known = slot(&mut self.variables, variable.index());
        let is_first = slot(&mut known.read, t).is_none();
        if let Some(written) = known.written.clone().filter(|written| is_first && written.thread != t) {
            self.join_clock(here, t, &written, out);
            self.subregion(t);
        }
        let own = Shadow { thread: t, clock: self.threads[t].current.clone() };
        self.variables[variable.index()].read[t] = Some(own);
    }

    fn write(&mut self, here: Here, t: usize, variable: VarId, out: &mut Findings) {
        let known = std::mem::take(slot(&mut self.variables, variable.index()));
        if known.read.iter().any(Option::is_some) {
            for read in known.read.iter().flatten().filter(|read| read.thread != t) {
                self.join_clock(here, t, read, out);
            }
        } else if let Some(written) = known.written.filter(|written| written.thread != t) {
            self.join_clock(here, t, &written, out);
        }
        self.subregion(t);
        let own = Shadow { thread: t, clock: self.threads[t].current.clone() };
        self.variables[variable.index()].written = Some(own);
    }

    /// `subRegion(C(t))`.
    fn subregion(&mut self, t: usize) {
        let thread = &mut self.threads[t];
        if *thread.current != thread.clock {
            self.copies += 1;
            thread.current = Arc::new(thread.clock.clone());
        }
    }

    /// `join(V(e_x), C(t))` of Algorithm 4: an event of `before.thread` comes before this one.
    fn join_clock(&mut self, here: Here, t: usize, before: &Shadow, out: &mut Findings) {
        self.joins += 1;
        let clock = &mut self.threads[t].clock;
        for (s, &time) in before.clock.iter().enumerate() {
            let own = slot(clock, s);
            *own = time.max(*own);
        }
        let (source, sink) = (at(&before.clock, before.thread), clock[t]);
        self.update_transactional(before.thread, t, source, sink);
        self.check(here, t, before, out);
    }

    /// `checkHB` of Algorithm 4.
    fn check(&mut self, here: Here, t: usize, before: &Shadow, out: &mut Findings) {
        let thread = &mut self.threads[t];
        let Some((block, begin)) = thread.transaction else { return };
        let sinks = &self.transactional[t];
        let violated = begin <= at(&before.clock, t);
        let cycle =
            at(sinks, t) == begin && reaches(at(sinks, before.thread), at(&before.clock, before.thread));
        if violated && !thread.is_unary {
            if !std::mem::replace(&mut thread.blamed, true) {
                out.violation(block, true, block, here);
            }
        } else if (violated || cycle) && !std::mem::replace(&mut thread.reported, true) {
            out.cycle(block, here);
        }
    }
}

/// Algorithm 3. Sets of threads are flags, and what no clock has is 0, as in print.
impl RegionTrackPrinted {
    fn update_transactional(&mut self, s: usize, t: usize, source: u64, sink: u64) {
        let all = vec![true; self.threads.len()];
        for thread in 0..self.threads.len() {
            slot(&mut self.transactional, thread).resize(all.len(), 0);
        }
        let of_source = &mut self.transactional[s];
        if of_source[s] == source {
            if of_source[t] > sink {
                of_source[t] = sink;
            }
            self.forward(&all, s, t);
        } else if of_source[s] < source {
            of_source.fill(0);
            of_source[s] = source;
            of_source[t] = sink;
            self.forward(&all, s, t);
        }
        self.back(&all, s, t, source, sink);
    }

    /// `backPropagate`. Tells the threads that are left to look at.
    fn back(&mut self, among: &[bool], t1: usize, t2: usize, source: u64, sink: u64) -> Vec<bool> {
        let mut left = among.to_vec();
        (left[t1], left[t2]) = (false, false);
        for t in 0..left.len() {
            if left[t] && reaches(self.transactional[t][t1], source) {
                let own = &mut self.transactional[t][t2];
                if *own > sink || *own == 0 {
                    *own = sink;
                }
                self.forward(among, t, t1);
                let time = self.transactional[t][t];
                left = self.back(&left, t, t2, time, sink);
            }
        }
        left
    }

    /// `forwardPropagate`. Tells the threads that are left to look at.
    fn forward(&mut self, among: &[bool], t1: usize, t2: usize) -> Vec<bool> {
        let mut left = among.to_vec();
        (left[t1], left[t2]) = (false, false);
        if reaches(self.transactional[t1][t2], self.transactional[t2][t2]) {
            for t in (0..left.len()).filter(|&t| t != t1) {
                let (own, others) = (self.transactional[t1][t], self.transactional[t2][t]);
                if own > others || (own == 0 && others > 0) {
                    self.transactional[t1][t] = others;
                    if left[t] {
                        left = self.forward(&left, t1, t);
                    }
                }
            }
        }
        left
    }
}

/// Whether a first sink is no later than a time. See the head of this file about 0.
fn reaches(sink: u64, time: u64) -> bool {
    sink != 0 && sink <= time
}

fn at(clock: &[u64], thread: usize) -> u64 {
    clock.get(thread).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::random::{Random, trace};
    use crate::{notation, oracle, registry};

    fn serializable(text: &str) -> bool {
        let (events, _) = notation::parse(text);
        run(&events).first_cycle.is_none()
    }

    fn run(events: &[atomvet_trace::Event]) -> Findings {
        let config = Config::default();
        let [entry] = registry::PRINTED else { panic!("another printed form") };
        entry.run(&config, events, Findings::all_instances(&config))
    }

    #[test]
    fn the_examples_of_the_paper() {
        assert!(serializable("1:b 1:w(x) 2:b 2:r(x) 2:e 3:b 3:w(z) 3:e 1:r(z) 1:e"));
        assert!(!serializable("1:b 2:b 1:w(x) 2:r(x) 2:w(y) 1:r(y) 1:e 2:e"));
        assert!(!serializable("1:b 2:b 1:w(x) 2:w(y) 1:r(y) 2:r(x) 1:e 2:e"));
        let alpha1 =
            "1:b 1:w(x) 2:b 2:w(y) 2:r(x) 3:b 3:r(y) 3:r(q) 2:e 2:b 3:e 3:b 3:w(z) 1:r(z) 1:e 2:e 3:e";
        assert!(!serializable(alpha1));
    }

    #[test]
    fn its_known_errors_are_there() {
        assert!(!serializable("1:b 1:w(a) 0:w(b) 0:r(a) 1:r(b) 1:e"), "unary events are merged");
        let forgotten = "1:b 1:w(x) 2:b 2:r(x) 2:e 3:b 3:w(y) 3:r(x) 1:r(y) 1:e 3:e";
        let (events, _) = notation::parse(forgotten);
        assert!(!oracle::judge(&Config::default(), &events).serializable);
        assert!(
            run(&events).first_cycle.is_none(),
            "the second thread that a transaction reaches is forgotten"
        );
    }

    #[test]
    fn its_verdicts_on_blocks_are_exact() {
        let mut blamed = 0;
        for seed in 0..5_000 {
            let events = trace(&mut Random(seed), 8 + seed as usize % 30);
            let truth = oracle::judge(&Config::default(), &events).violated_transactions;
            let found: Vec<_> =
                run(&events).list.iter().filter_map(|finding| Some(finding.block?.begin)).collect();
            assert!(
                truth.iter().all(|block| found.contains(block)),
                "{}",
                notation::show(&events, &Default::default())
            );
            blamed += truth.len();
        }
        assert!(blamed > 500, "{blamed} blocks");
    }
}
