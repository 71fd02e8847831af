//! How long work may take that adds to the findings but does not find any: explaining them, and searching for schedules.

use std::time::{Duration, Instant};

use crate::interrupt::{self, Overdue};

/// A time by which work stops, of its own or because of a signal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// When the time is spent, if it is limited.
    until: Option<Instant>,
    overdue: Overdue,
}

impl Budget {
    /// Limited by signals alone.
    pub(crate) const UNLIMITED: Budget = Budget { until: None, overdue: Overdue::AtLast };

    /// Work that starts now and has to leave time for more if a signal comes.
    pub(crate) fn first(limit: Duration) -> Budget {
        Budget { until: Instant::now().checked_add(limit), overdue: Overdue::WithMoreToCome }
    }

    /// Work that starts now and is the last.
    pub(crate) fn last(limit: Duration) -> Budget {
        Budget { until: Instant::now().checked_add(limit), overdue: Overdue::AtLast }
    }

    /// Whether to stop.
    pub(crate) fn is_spent(self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until) || interrupt::is_overdue(self.overdue)
    }
}

/// How much time there is to explain findings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Explaining {
    /// Ten seconds, and twice as long as it took to find them.
    AsUsual,
    /// As the user says.
    Seconds(f64),
}

/// The least that is usual: nobody notices that short runs are explained.
const LEAST: Duration = Duration::from_secs(10);

impl Explaining {
    /// As an option says.
    pub(crate) fn from_option(seconds: Option<f64>) -> Explaining {
        seconds.map_or(Explaining::AsUsual, Explaining::Seconds)
    }

    /// The limit of each of the two passes of explaining, where finding took so long.
    pub(crate) fn limit(self, finding: Duration) -> Duration {
        match self {
            Explaining::AsUsual => LEAST + 2 * finding,
            Explaining::Seconds(seconds) => Duration::from_secs_f64(seconds),
        }
    }
}

/// Parses a number of seconds.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "is no number of seconds".to_owned())?;
    if (0.0..=MOST_SECONDS).contains(&seconds) {
        Ok(seconds)
    } else {
        Err(format!("must be from 0 to {MOST_SECONDS}"))
    }
}

/// More is as good as no limit.
const MOST_SECONDS: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_numbers_within_bounds() {
        assert_eq!(seconds("0.25"), Ok(0.25));
        for wrong in ["", "x", "-1", "NaN", "inf", "1e9"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_time_is_spent_at_once() {
        assert!(Budget::first(Duration::ZERO).is_spent());
        assert!(!Budget::last(Duration::from_secs(1000)).is_spent());
        assert!(!Budget::UNLIMITED.is_spent());
    }
}
