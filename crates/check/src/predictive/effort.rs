//! How much work a prediction may take. Off-line algorithms are polynomial at best, so each counts its
//! steps, stops when they are spent, and says so.
//!
//! Steps and not seconds: the same trace gives the same answer on every machine.

use std::fmt;
use std::sync::Arc;

/// Asked now and then during long work: how much is done, of how much.
pub type Watch = Arc<dyn Fn(Done) -> Keep + Send + Sync>;

/// How far some work is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// What is being done, such as "transactions judged".
    pub what: &'static str,
    /// So many of them.
    pub done: u64,
    /// Out of so many.
    pub of: u64,
}

/// Whether to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// Go on.
    Going,
    /// Stop, and report what was found.
    Stop,
}

/// What is left of the steps that were granted.
#[derive(Clone)]
pub struct Effort {
    granted: u64,
    left: u64,
    watch: Option<Watch>,
    /// Steps until the watch is asked again.
    until_asked: u64,
    stopped: bool,
}

/// How many steps an algorithm may take unless told otherwise: about ten seconds.
pub const DEFAULT_STEPS: u64 = 2_000_000_000;

/// The watch is asked after so many steps, some hundred times a second.
const ASKED_EVERY: u64 = 1 << 20;

impl Default for Effort {
    fn default() -> Self {
        Effort::new(DEFAULT_STEPS, None)
    }
}

impl Effort {
    /// So many steps, and somebody who is told how it goes.
    pub fn new(steps: u64, watch: Option<Watch>) -> Effort {
        Effort { granted: steps, left: steps, watch, until_asked: 0, stopped: false }
    }

    /// Spends steps. Stop means: they are used up, or somebody wants the work to end.
    #[inline]
    #[must_use]
    pub fn spend(&mut self, steps: u64, done: Done) -> Keep {
        if self.left < steps || self.stopped {
            self.left = 0;
            self.stopped = true;
            return Keep::Stop;
        }
        self.left -= steps;
        match self.until_asked.checked_sub(steps) {
            Some(rest) => self.until_asked = rest,
            None => self.ask(done),
        }
        if self.stopped { Keep::Stop } else { Keep::Going }
    }

    /// Like [`Effort::spend`] for work that has no bound of its own: Stop means that somebody wants it to end.
    #[inline]
    #[must_use]
    pub fn go_on(&mut self, steps: u64, done: Done) -> Keep {
        match self.until_asked.checked_sub(steps) {
            Some(rest) => self.until_asked = rest,
            None => self.ask(done),
        }
        if self.stopped { Keep::Stop } else { Keep::Going }
    }

    /// The work ends here.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// How many steps were spent.
    pub fn spent(&self) -> u64 {
        self.granted - self.left
    }

    /// How many steps are left.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The work was cut short.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    #[cold]
    fn ask(&mut self, done: Done) {
        self.until_asked = ASKED_EVERY;
        if let Some(watch) = &self.watch
            && watch(done) == Keep::Stop
        {
            self.stopped = true;
        }
    }
}

impl fmt::Debug for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Effort({} of {} steps left)", self.left, self.granted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DONE: Done = Done { what: "", done: 0, of: 0 };

    #[test]
    fn work_stops_when_the_steps_are_used_up_and_stays_stopped() {
        let mut effort = Effort::new(10, None);
        assert_eq!(effort.spend(9, DONE), Keep::Going);
        assert_eq!(effort.spend(2, DONE), Keep::Stop);
        assert_eq!(effort.spend(0, DONE), Keep::Stop);
        assert!(effort.is_stopped());
    }

    #[test]
    fn work_stops_when_somebody_wants_it_to() {
        let mut effort = Effort::new(u64::MAX, Some(Arc::new(|_| Keep::Stop)));
        assert_eq!(effort.spend(1, DONE), Keep::Stop);
        let mut effort = Effort::new(0, Some(Arc::new(|_| Keep::Stop)));
        assert_eq!(effort.go_on(1, DONE), Keep::Stop);
        let mut effort = Effort::new(0, None);
        assert_eq!(effort.go_on(u64::MAX, DONE), Keep::Going);
    }
}
