//! Which object is where, which keys are there, and so which accesses an operation makes.

use std::collections::{BTreeMap, BTreeSet};

use super::happening::Location;
use super::program::{Program, Slot, Type, Variable};
use super::vocabulary::{Effect, vocabulary};

/// The object that the main thread passes to those that it starts.
pub(crate) const CAPTURED: usize = usize::MAX;

/// What variables have.
pub(crate) struct Memory {
    /// Per variable that is a slot, the object.
    objects: BTreeMap<usize, usize>,
    /// Keys that are not there, by their variables.
    absent: BTreeSet<usize>,
    numbers: usize,
}

/// The field that objects come with.
pub(crate) fn field(object: usize) -> Location {
    Location::Item { object, of: Type::Int, volatile: false }
}

impl Memory {
    /// At the start of a program, a slot has an object with the slot's own number.
    pub(crate) fn new(program: &Program) -> Memory {
        let slots = (0..program.variables.len())
            .filter(|&variable| matches!(program.variables[variable], Variable::Slot(_)));
        Memory {
            objects: slots.map(|slot| (slot, slot)).collect(),
            absent: BTreeSet::new(),
            numbers: program.variables.len(),
        }
    }

    /// A number that nothing has.
    pub(crate) fn number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }

    /// The object in a slot.
    pub(crate) fn object(&self, slot: usize) -> usize {
        self.objects[&slot]
    }

    /// The accesses of an operation in a method that has got an object from its caller.
    pub(crate) fn access(
        &mut self,
        program: &Program,
        variable: usize,
        operation: usize,
        captured: usize,
    ) -> Vec<(Location, Effect)> {
        let kind = program.variables[variable];
        let operation = &vocabulary(kind)[operation];
        let mut accesses = Vec::new();
        // More rounds add no order.
        for _ in 0..if operation.is_loop { 2 } else { 1 } {
            let location = match kind {
                Variable::Item { slot, of, volatile } => {
                    accesses.push((Location::Variable(slot), Effect::Read));
                    Location::Item { object: self.objects[&slot], of, volatile }
                }
                Variable::ItemElement { slot, index } => {
                    accesses.push((Location::Variable(slot), Effect::Read));
                    Location::Element { array: self.objects[&slot], index }
                }
                Variable::Captured { of, volatile } => Location::Item { object: captured, of, volatile },
                _ => Location::Variable(variable),
            };
            for &effect in operation.effects {
                if effect == Effect::New {
                    let object = self.number();
                    self.objects.insert(variable, object);
                    let part = match kind {
                        Variable::Slot(Slot::Array) => Location::Element { array: object, index: 0 },
                        _ => field(object),
                    };
                    accesses.push((part, Effect::Write));
                }
                accesses.push((location, self.resolved(variable, effect)));
            }
        }
        accesses
    }

    /// What an effect is with the memory as it is.
    fn resolved(&mut self, variable: usize, effect: Effect) -> Effect {
        match effect {
            Effect::New => Effect::Write,
            Effect::Toggle | Effect::Replace => {
                let was_there = !self.absent.remove(&variable);
                if was_there && effect == Effect::Toggle {
                    self.absent.insert(variable);
                }
                if was_there { Effect::Update } else { Effect::Write }
            }
            Effect::Write => {
                self.absent.remove(&variable);
                effect
            }
            Effect::Read | Effect::Update | Effect::Add => effect,
        }
    }
}
