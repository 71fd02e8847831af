//! Checkers of what could have happened: does some other interleaving of the recorded execution
//! break a block?
//!
//! ```text
//! Event ──► lower ──► Recorder ──► Execution ──► judge (one file per algorithm) ──► Predicted
//!                                  units, sections, periods, locations
//! ```
//!
//! All algorithms but the Atomizer are off-line: they judge the whole [`Execution`] once the trace is
//! over. What they take into account is locks, fork, join and barriers; the values that a program
//! reads might steer it elsewhere, so a prediction that no [`schedule`] shows is no proof.

pub mod atomizer;
pub mod blocks;
pub mod blocks_exact;
pub mod commit_node;
pub mod commit_node_view;
pub mod deadlock;
pub mod effort;
pub mod execution;
pub mod lockset;
pub mod movers;
pub mod periods;
pub mod predicted;
pub mod race_hb;
pub mod race_sync_preserving;
#[cfg(test)]
mod race_tests;
pub mod races;
pub mod recorder;
pub mod reduction;
pub mod schedule;
pub mod stacks;

use atomvet_trace::{Event, EventId, Mode, ThreadId, VarId};

use crate::lower::{Access, Channel, Lowered};
use crate::{Block, Config, Findings, Here, Info, Observed, Rules, Stats};

pub use effort::Effort;
pub use execution::Execution;
pub use predicted::Predicted;
use recorder::Recorder;

/// What the author of an off-line algorithm writes.
pub trait Judge: Sized + Send + 'static {
    /// What this checker is.
    const INFO: Info;
    /// A judge who has heard nothing.
    fn new(config: &Config) -> Self;
    /// Looks at the whole execution. Stops when the effort is spent, and says so in the figures.
    fn judge(self, execution: &Execution, effort: &mut Effort, out: &mut Predicted) -> Stats;
}

/// Records a whole trace, which is well-formed.
pub fn record(config: &Config, events: &[Event]) -> Execution {
    let mut out = Findings::all_instances(config);
    let mut lowered = Lowered::with(Offline { judge: (), recorder: Recorder::default() }, config);
    for (at, &event) in (0..).map(EventId).zip(events) {
        lowered.event(at, event, &mut out);
    }
    lowered.into_rules().recorder.finish()
}

/// A [`Judge`] behind the interface of the checkers: records, and judges at the end.
#[derive(Debug)]
pub struct Offline<J> {
    judge: J,
    recorder: Recorder,
}

impl<J: Judge> Observed for Offline<J> {
    const INFO: Info = J::INFO;

    fn new(config: &Config) -> Self {
        Offline { judge: J::new(config), recorder: Recorder::default() }
    }

    fn finish(self, _open: &[Block], _last: Here, out: &mut Findings) -> Stats {
        let execution = self.recorder.finish();
        self.judge.judge(&execution, &mut out.effort, &mut out.predicted)
    }

    /// Only a whole execution can be judged.
    fn stop(self, _last: Here, out: &mut Findings) -> Stats {
        out.effort.stop();
        Stats::default()
    }
}

impl<J: Send + 'static> Rules for Offline<J> {
    fn begin(&mut self, here: Here, block: Block, _out: &mut Findings) {
        self.recorder.begin(here, block);
    }
    fn end(&mut self, here: Here, _out: &mut Findings) {
        self.recorder.end(here);
    }
    fn nest(&mut self, here: Here, block: Block) {
        self.recorder.nest(here, block);
    }
    fn unnest(&mut self, here: Here) {
        self.recorder.unnest(here);
    }
    fn access(&mut self, here: Here, variable: VarId, access: Access, _out: &mut Findings) {
        self.recorder.access(here, variable, access);
    }
    fn send(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        self.recorder.send(here, channel, mode);
    }
    fn receive(&mut self, here: Here, channel: Channel, mode: Mode, _out: &mut Findings) {
        self.recorder.receive(here, channel, mode);
    }
    fn join(&mut self, here: Here, child: ThreadId, _out: &mut Findings) {
        self.recorder.join(here, child);
    }
    fn new_life(&mut self, variable: VarId) {
        self.recorder.new_life(variable);
    }
    fn escape(&mut self, variable: VarId) {
        self.recorder.escape(variable);
    }
    fn close(&mut self, channel: Channel) {
        self.recorder.close(channel);
    }
}
