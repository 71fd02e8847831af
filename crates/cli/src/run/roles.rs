//! What a native function is in its thread: what the thread was started for, or something called by the user's code.
//!
//! A thread's entry function is no block by default: it is the thread. Nor is a task, which such a function calls
//! without naming it, through a pointer or `std::function`. See docs/native.md.

use atomvet_ring::{Block, LOW};
use rustc_hash::FxHashMap;

use super::ring::flavour;
use super::symbols::Meaning;

/// What a function is in its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// What the thread was started for.
    Entry,
    /// Called by the user's code.
    Called,
    /// Of the system, or no function.
    NotUsers,
}

/// A call of a function: its block word, and where it returns to.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) block: u64,
    pub(crate) returns_to: u64,
}

/// Finds entry functions and tasks.
#[derive(Default)]
pub(crate) struct Roles {
    /// Whether functions are tasks of those that call them, by addresses in both.
    tasks: FxHashMap<(u64, u64), bool>,
}

impl Roles {
    /// Whether a function of the user's is what its thread was started for: the outermost one, or a task. `open` are the
    /// role and an address in the code of the functions around it, the outermost first.
    pub(crate) fn is_entry(
        &mut self,
        symbols: &mut Meaning,
        open: impl DoubleEndedIterator<Item = (Role, u64)> + Clone,
        call: Call,
    ) -> bool {
        let callee = address_in(call.block);
        let Some((role, caller)) = open.clone().rev().find(|(role, _)| *role != Role::NotUsers) else {
            // The entry function may be inlined where this one is called.
            let is_called_by_user = flavour(call.block) == Block::Inside
                && call.returns_to != 0
                && symbols.is_users(call.returns_to);
            return !is_called_by_user || self.is_task(symbols, call.returns_to.wrapping_sub(1), callee);
        };
        // A task may be inlined in a function of the C++ library that calls it; then this one is called by the task.
        let library = open.last().filter(|&(role, code)| role == Role::NotUsers && code != 0);
        role == Role::Entry
            && !library.is_some_and(|(_, code)| symbols.has_users_code(code))
            && self.is_task(symbols, caller, callee)
    }

    /// Whether a function is a task of the one that calls it: that knows neither its name nor what to give it.
    fn is_task(&mut self, symbols: &mut Meaning, caller: u64, callee: u64) -> bool {
        let find = || !symbols.is_named_by(caller, callee) && symbols.may_be_task(callee);
        *self.tasks.entry((caller, callee)).or_insert_with(find)
    }

    /// Other code comes to stand somewhere.
    pub(crate) fn forget(&mut self) {
        self.tasks.clear();
    }
}

/// An address in the code of a function, from its block word; 0 if that is none.
pub(crate) fn address_in(block: u64) -> u64 {
    match flavour(block) {
        Block::Function => block & LOW,
        // A return address, which may be just behind.
        Block::Inside => (block & LOW).wrapping_sub(1),
        Block::Label | Block::None => 0,
    }
}
