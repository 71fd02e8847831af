//! The demos: one small program per anomaly, with a recorded run of it for where programs cannot be built.
//!
//! The programs force their interleaving (`demo/demo.h`), so each one shows its anomaly in every run. Compiled with
//! `-DFIXED` they are mended, and clean.

use atomvet_check::witness::Shape;

/// A demo.
pub(super) struct Story {
    /// What it is asked for by.
    pub(super) name: &'static str,
    /// The anomaly that it shows; none if it shows something else.
    pub(super) shape: Option<Shape>,
    /// What happens, in one line.
    pub(super) summary: &'static str,
    /// What happens, at length, if the program does not say so itself.
    at_length: Option<&'static str>,
    /// The name of its files, without endings.
    pub(super) stem: &'static str,
    /// Its program; none if there is just a trace.
    pub(super) program: Option<&'static str>,
    /// A recorded run of it.
    pub(super) trace: &'static str,
    /// What is special about looking at it.
    pub(super) looked_at: LookedAt,
}

/// How a demo is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LookedAt {
    /// As everything is.
    Plainly,
    /// With operations on locks as conflicts.
    WithLocks,
    /// As an execution, besides block by block.
    AsAWhole,
    /// With blocks that wait judged as a whole.
    WithStrictWaits,
    /// For what could have happened: in this run nothing went wrong.
    ForOtherSchedules,
}

impl LookedAt {
    /// The options of `run` for it.
    pub(super) fn options(self) -> &'static [&'static str] {
        match self {
            LookedAt::Plainly => &[],
            LookedAt::WithLocks => &["--conflicts", "locks"],
            LookedAt::AsAWhole => &["--whole-trace"],
            LookedAt::WithStrictWaits => &["--strict-waits"],
            LookedAt::ForOtherSchedules => &["--record", "run.atv"],
        }
    }
}

/// The header that the programs share.
pub(super) const HEADER: (&str, &str) = ("demo.h", include_str!("../../demo/demo.h"));

/// A demo whose program and trace are in `demo/`.
macro_rules! story {
    ($name:literal, $shape:expr, $stem:literal, $looked_at:ident, $summary:literal) => {
        story!($name, $shape, $stem, $looked_at, $summary, concat!("../../demo/", $stem, ".std"))
    };
    ($name:literal, $shape:expr, $stem:literal, $looked_at:ident, $summary:literal, $trace:expr) => {
        Story {
            name: $name,
            shape: $shape,
            summary: $summary,
            at_length: None,
            stem: $stem,
            program: Some(include_str!(concat!("../../demo/", $stem, ".c"))),
            trace: include_str!($trace),
            looked_at: LookedAt::$looked_at,
        }
    };
}

/// All of them, the first one for those who ask for none.
pub(super) const STORIES: &[Story] = &[
    story!(
        "lost-update",
        Some(Shape::LostUpdate),
        "bank",
        Plainly,
        "a deposit that takes the lock twice: a withdrawal gets lost",
        "../../../../tests/corpus/demo-bank.std"
    ),
    story!(
        "check-then-act",
        Some(Shape::LostUpdate),
        "coupon",
        Plainly,
        "an atomic flag that is tested first and set later: a coupon is used twice"
    ),
    story!(
        "non-repeatable-read",
        Some(Shape::NonRepeatableRead),
        "stack",
        Plainly,
        "a stack that is looked at twice: meanwhile it has become empty"
    ),
    story!(
        "dirty-read",
        Some(Shape::DirtyRead),
        "recount",
        Plainly,
        "a total that is set to zero while it is counted: somebody sees the zero"
    ),
    story!(
        "stale-write",
        Some(Shape::StaleWrite),
        "ticket",
        Plainly,
        "a number that is written and read back: it is another customer's"
    ),
    story!(
        "dirty-write",
        Some(Shape::DirtyWrite),
        "engine",
        Plainly,
        "a state that is set to busy and back to idle: an emergency stop is wiped away"
    ),
    story!(
        "write-skew",
        Some(Shape::WriteSkew),
        "tunnel",
        Plainly,
        "two trains that look for each other's signals: both of them go"
    ),
    story!(
        "read-skew",
        Some(Shape::ReadSkew),
        "wealth",
        Plainly,
        "two accounts that are read one after the other: money is counted twice"
    ),
    story!(
        "torn-update",
        Some(Shape::TornUpdate),
        "point",
        Plainly,
        "two fields that belong together: somebody sees the one changed and the other not yet"
    ),
    story!(
        "split-critical-section",
        Some(Shape::SplitCriticalSection),
        "ledger",
        WithLocks,
        "a lock that is given back and taken again: another thread had it in between"
    ),
    story!(
        "thread-inside",
        Some(Shape::ThreadInside),
        "helper",
        WithStrictWaits,
        "a function that waits for a thread: it cannot be one step"
    ),
    story!(
        "three-threads",
        Some(Shape::LongerCycle),
        "order",
        Plainly,
        "an order that comes back through two other threads: no two of them alone are a problem"
    ),
    story!(
        "no-serial-order",
        Some(Shape::NoSerialOrder),
        "doctors",
        AsAWhole,
        "two doctors who each rely on the other: no block alone is to blame"
    ),
    Story {
        name: "predicted",
        shape: Some(Shape::NonRepeatableRead),
        summary: "a run in which nothing went wrong, and the schedule in which it does",
        at_length: Some(
            "One thread copied a vector, then another one emptied it. The constructor asks for the size under the\n\
             vector's lock, gives the lock back, and takes it again to copy the elements. This time nobody came in between.",
        ),
        stem: "vector",
        program: None,
        trace: include_str!("../../../../tests/corpus/predict/vector_remove_all_elements.std"),
        looked_at: LookedAt::ForOtherSchedules,
    },
    story!(
        "deadlock",
        None,
        "forks",
        ForOtherSchedules,
        "two philosophers, two forks, opposite orders: this time nobody starved"
    ),
];

/// The demo of that name.
pub(super) fn find(name: &str) -> Option<&'static Story> {
    STORIES.iter().find(|story| story.name == name)
}

/// The names of the demos that show an anomaly, for those who explain it.
pub(crate) fn of_shape(shape: Shape) -> impl Iterator<Item = &'static str> {
    STORIES.iter().filter(move |story| story.shape == Some(shape)).map(|story| story.name)
}

impl Story {
    /// What happens, at length: the first comment of the program.
    pub(super) fn intro(&self) -> String {
        let comment = self.program.and_then(|program| program.split("*/").next()).unwrap_or_default();
        let lines = comment.trim_start_matches("/*").lines().map(|line| line.trim().trim_start_matches("* "));
        self.at_length.map_or_else(|| lines.collect::<Vec<_>>().join("\n"), str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_demo_of_every_anomaly() {
        for shape in Shape::ALL {
            assert!(of_shape(*shape).next().is_some(), "{}", shape.name());
        }
        for story in STORIES {
            assert!(story.intro().len() > 80, "{}: {}", story.name, story.intro());
        }
    }
}
