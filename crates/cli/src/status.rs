//! What the process tells its caller, and which of several things it tells.

use std::process::ExitCode;

/// The outcome of a command. Later ones win when several traces are looked at: bad input over
/// violations, violations over nothing seen, and only if all is well, all is well.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Status {
    /// Everything was looked at and nothing is wrong.
    Clean,
    /// Nothing, or not everything, was judged: no events, no block, one thread only, a trace that is cut off or leaves
    /// accesses out, a budget that was spent.
    NothingObserved,
    /// Something is not atomic.
    Violations,
    /// Wrong use, bad input, or a result that is not about the whole input.
    BadInput,
}

impl Status {
    /// All of them, with the number the process ends with and what it means.
    pub(crate) const ALL: &[(Status, &str)] = &[
        (Status::Clean, "clean: everything was checked and no violation was found"),
        (Status::Violations, "violations: a block is not atomic, or the trace is not serializable"),
        (Status::BadInput, "wrong use, bad input, or interrupted before a violation was found"),
        (
            Status::NothingObserved,
            "nothing was observed (no events, no block, or one thread only), or not everything was judged (a trace that is cut off; prediction over a trace that leaves accesses out, or whose budget was spent)",
        ),
    ];

    /// The number the process ends with.
    pub(crate) fn code(self) -> u8 {
        match self {
            Status::Clean => 0,
            Status::Violations => 1,
            Status::BadInput => 2,
            Status::NothingObserved => 3,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status.code())
    }
}
