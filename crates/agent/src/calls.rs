//! Methods of the JDK whose calls synchronise, and what each call means.
//!
//! The methods get hooks where they begin, where they return and where they throw (`Wanted::call`), and nothing else. What
//! a call means is told by its `Call`; the object it is called on has a base like every shared object.

use crate::ring::Kind;

/// What a call means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Starts the thread.
    Fork,
    /// Waits for its end.
    Join,
    /// Records something when it begins.
    Before(Kind),
    /// Records something when it returns.
    After(Kind),
    /// Records something when it returns true, or an object.
    IfTrue(Kind),
}

/// How a call is begun or left, as the hook class says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Enters,
    Returns,
    ReturnsNo,
    ReturnsYes,
    Throws,
}

impl Way {
    pub(crate) fn from_number(number: i32) -> Way {
        match number {
            0 => Way::Enters,
            1 => Way::Returns,
            2 => Way::ReturnsNo,
            3 => Way::ReturnsYes,
            _ => Way::Throws,
        }
    }
}

impl Call {
    /// What is recorded, if anything.
    pub(crate) fn record(self, way: Way) -> Option<Kind> {
        match (self, way) {
            (Call::Before(kind), Way::Enters) => Some(kind),
            (Call::After(kind), Way::Returns | Way::ReturnsNo | Way::ReturnsYes) => Some(kind),
            (Call::IfTrue(kind), Way::ReturnsYes) => Some(kind),
            _ => None,
        }
    }

    /// Numbers that the hook class knows are 1 and 2; the others are indexes of [`CALLS`], and 3.
    pub(crate) fn number(self) -> i64 {
        match self {
            Call::Fork => 1,
            Call::Join => 2,
            _ => CALLS.iter().position(|(.., call)| *call == self).map_or(-1, |at| at as i64 + 3),
        }
    }

    pub(crate) fn from_number(number: i64) -> Option<Call> {
        CALLS.get(usize::try_from(number - 3).ok()?).map(|(.., call)| *call)
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
