//! What threads do to each other: `Thread.start` and `join`, and what the JVM does for the first that needs a class: its
//! initialiser. (What the rest of the JDK does is in `juc.rs`.)
//!
//! The methods get hooks where they begin, where they return and where they throw (`Wanted::call`), and nothing else. What
//! a call means the hook class knows.

/// What a call means. The hook class has the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Starts the thread.
    Fork = 1,
    /// Waits for its end.
    Join = 2,
    /// A class is initialised. Whoever comes first does that, whatever its block: what is done there is not the block's.
    Initialise = 3,
}

impl Call {
    /// The word of its site.
    pub(crate) fn number(self) -> i64 {
        self as i64
    }
}

/// Class, method, descriptor (empty for any), and what a call of it means.
pub(crate) const CALLS: &[(&str, &str, &str, Call)] =
    &[("java/lang/Thread", "start", "", Call::Fork), ("java/lang/Thread", "join", "(J)V", Call::Join)];

/// Whether calls of some method of this class are watched.
pub(crate) fn concerns(class: &[u8]) -> bool {
    CALLS.iter().any(|(owner, ..)| owner.as_bytes() == class)
}

/// What calls of a method mean.
pub(crate) fn meaning(class: &[u8], method: &[u8], descriptor: &[u8]) -> Option<Call> {
    let found = CALLS.iter().find(|(owner, name, parameters, _)| {
        owner.as_bytes() == class
            && name.as_bytes() == method
            && (parameters.is_empty() || parameters.as_bytes() == descriptor)
    });
    found.map(|(.., call)| *call)
}
