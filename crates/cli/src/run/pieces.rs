//! Completes a recording in which variables were cut (`variables.rs`): events of a variable become events of the pieces that it
//! was cut into later.
//!
//! ```text
//! recorded    T1: [ r(x)          r(b) ]     x is 8 bytes; b, its upper half, is known from T2's write on
//!             T2:        w(b)
//! completed   T1: [ r(a) r(b) r(a)   r(b) ]
//! ```
//!
//! **An access to several variables is one event.** What comes before one of its parts comes before all that one of its parts
//! comes before. In a trace it is a sequence, and the first parts stand behind the last once more: so each part is
//! followed by all others.

use std::fs::File;
use std::io::{self, Write};

use atomvet_trace::binary::Writer;
use atomvet_trace::names::{Id, Table};
use atomvet_trace::{Event, Input, Names, Op, VarId};
use rustc_hash::FxHashMap;

use super::variables::Cuts;

/// Appends an operation on each of some variables, as one event.
#[inline]
pub(super) fn as_one(variables: &[VarId], mut each: impl FnMut(VarId)) {
    let again = variables.len().saturating_sub(1);
    variables.iter().chain(&variables[..again]).for_each(|&variable| each(variable));
}

/// Writes a complete recording. Only variables that have events keep their names. `piece_names` are those of pieces that begin
/// where no variable did before: the recording has them only from there on where they were cut off.
pub(super) fn complete(
    recorded: File,
    cuts: &Cuts,
    piece_names: &FxHashMap<VarId, String>,
    to: &mut File,
) -> io::Result<()> {
    let invalid = |error: atomvet_trace::Error| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
    let mut input = Input::from_reader("the recording", Box::new(recorded)).map_err(invalid)?;
    let mut writer = Writer::with_block_size(to, &input.conventions(), super::feed::COPIED)?;
    let mut completed = Completed::default();
    let mut block = Vec::new();
    while input.next_block(&mut block).map_err(invalid)? {
        let recorded = input.names();
        take_over(&mut completed.names, recorded);
        completed.events.clear();
        for &event in &block {
            completed.add(event, cuts, |variable| {
                let piece = piece_names.get(&variable).map(String::as_str);
                piece.unwrap_or_else(|| recorded.variables.get(variable))
            });
        }
        writer.write(&completed.names, &completed.events)?;
    }
    writer.finish()?.flush()
}

/// What is to be written.
#[derive(Default)]
struct Completed {
    names: Names,
    events: Vec<Event>,
    /// The new numbers of variables, by their old ones.
    numbers: Vec<Option<VarId>>,
    /// Kept for its memory.
    pieces: Vec<VarId>,
}

impl Completed {
    fn add<'n>(&mut self, event: Event, cuts: &Cuts, name: impl Fn(VarId) -> &'n str) {
        let Completed { names, events, numbers, pieces } = self;
        let Some(variable) = variable(event.op) else { return events.push(event) };
        pieces.clear();
        cuts.last_pieces(variable, pieces);
        for piece in &mut *pieces {
            let old = *piece;
            if old.index() >= numbers.len() {
                numbers.resize(old.index() + 1, None);
            }
            *piece =
                *numbers[old.index()].get_or_insert_with(|| names.variables.append(name(cuts.named_as(old))));
        }
        as_one(pieces, |piece| events.push(Event { op: with_variable(event.op, piece), ..event }));
    }
}

/// The variable that an operation concerns.
fn variable(op: Op) -> Option<VarId> {
    match op {
        Op::Read(variable, _)
        | Op::Write(variable, _)
        | Op::Update(variable, _)
        | Op::Alloc(variable)
        | Op::Free(variable)
        | Op::Escape(variable) => Some(variable),
        _ => None,
    }
}

fn with_variable(op: Op, variable: VarId) -> Op {
    match op {
        Op::Read(_, kind) => Op::Read(variable, kind),
        Op::Write(_, kind) => Op::Write(variable, kind),
        Op::Update(_, kind) => Op::Update(variable, kind),
        Op::Alloc(_) => Op::Alloc(variable),
        Op::Free(_) => Op::Free(variable),
        Op::Escape(_) => Op::Escape(variable),
        other => other,
    }
}

/// All names but those of variables keep their numbers.
fn take_over(names: &mut Names, all: &Names) {
    fn append<I: Id>(names: &mut Table<I>, all: &Table<I>) {
        for number in names.len()..all.len() {
            names.append(all.get(I::from_index(number as u32)));
        }
    }
    append(&mut names.threads, &all.threads);
    append(&mut names.locks, &all.locks);
    append(&mut names.barriers, &all.barriers);
    append(&mut names.regions, &all.regions);
    append(&mut names.sites, &all.sites);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_followed_by_all_others() {
        let parts = |count: u32| {
            let mut sequence = Vec::new();
            as_one(&(0..count).map(VarId).collect::<Vec<_>>(), |variable| sequence.push(variable.0));
            sequence
        };
        assert_eq!([parts(0), parts(1), parts(2)], [vec![], vec![0], vec![0, 1, 0]]);
        assert_eq!(parts(3), [0, 1, 2, 0, 1]);
    }
}
