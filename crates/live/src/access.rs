//! An access of the program: what it does, to what, and from where.

/// What an event does to the variable, lock or thread that it names. Updates are named that commute with their own kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Operation {
    /// Nothing is known.
    #[default]
    Unknown = 0,
    /// Reads data.
    Read = 1,
    /// Writes data.
    Write = 2,
    /// Adds or subtracts, in one indivisible step.
    Add = 3,
    /// The same for or.
    Or = 4,
    /// The same for and.
    And = 5,
    /// The same for exclusive or.
    Xor = 6,
    /// The same for the minimum.
    Min = 7,
    /// The same for the maximum.
    Max = 8,
    /// Takes or releases a lock.
    Lock = 9,
    /// Takes or releases a lock that others may share.
    SharedLock = 10,
    /// Starts a thread, or is its first event.
    Fork = 11,
    /// Waits for the end of a thread.
    Join = 12,
    /// Reads and writes data in one indivisible step, in a way that commutes with nothing.
    Update = 13,
}

impl Operation {
    const ALL: [Operation; 14] = {
        use Operation::{
            Add, And, Fork, Join, Lock, Max, Min, Or, Read, SharedLock, Unknown, Update, Write, Xor,
        };
        [Unknown, Read, Write, Add, Or, And, Xor, Min, Max, Lock, SharedLock, Fork, Join, Update]
    };

    /// The operation of a number; unknown if there is none.
    pub fn from_word(word: u64) -> Operation {
        Operation::ALL.get(word as usize).copied().unwrap_or_default()
    }

    /// Whether it is an update of a kind that commutes with itself.
    pub fn commutes(self) -> bool {
        use Operation::{Add, And, Max, Min, Or, Xor};
        matches!(self, Add | Or | And | Xor | Min | Max)
    }

    /// Whether two such operations on the same variable or lock conflict.
    pub fn conflicts(self, other: Operation) -> bool {
        let commutes = self.commutes() || matches!(self, Operation::Read | Operation::SharedLock);
        self != other || !commutes
    }
}

/// Something the program accesses, and where it does so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// The first byte.
    pub address: u64,
    /// How many bytes.
    pub bytes: u64,
    /// The place in the program.
    pub site: u64,
    /// What is done.
    pub operation: Operation,
}

impl Access {
    /// Nothing known.
    pub const NONE: Access = Access { address: 0, bytes: 0, site: 0, operation: Operation::Unknown };
}
