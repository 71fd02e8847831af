//! Which variables belong together: the fields of an object, the elements of an array.
//!
//! A checker that keeps state per object instead of per variable needs to know, before a
//! variable is used, which object it is a part of. An object is named by the first of its
//! variables that the trace mentions. Each variable costs one hash of its object's name, once.

use crate::names::Table;
use crate::{Names, VarId};

/// Tells the objects of new variables, as `Checker::objects` wants them.
#[derive(Default, Debug)]
pub struct Objects {
    /// The names of the objects met so far, numbered in order of first appearance.
    objects: Table<VarId>,
    /// The first variable of each object.
    first_variable: Vec<VarId>,
    /// How many variables were asked for already.
    told: u32,
    /// The answer to the last question.
    answer: Vec<VarId>,
}

impl Objects {
    /// The variables not told before, as the first of them and, for it and each one after it,
    /// the first variable of the same object.
    pub fn new_variables(&mut self, names: &Names) -> (VarId, &[VarId]) {
        let first = VarId(self.told);
        self.answer.clear();
        while self.told as usize != names.variables.len() {
            let variable = VarId(self.told);
            let object = self.objects.intern(names.object(variable));
            if object.index() == self.first_variable.len() {
                self.first_variable.push(variable);
            }
            self.answer.push(self.first_variable[object.index()]);
            self.told += 1;
        }
        (first, &self.answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_named_by_its_first_variable() {
        let mut names = Names::default();
        let mut objects = Objects::default();
        assert_eq!(objects.new_variables(&names), (VarId(0), &[][..]));
        for name in ["a.x", "b", "a.y", "v[0]", "v[1]"] {
            names.variables.intern(name);
        }
        let expected = [0, 1, 0, 3, 3].map(VarId);
        assert_eq!(objects.new_variables(&names), (VarId(0), &expected[..]));
        for name in ["v[2]", "a", "b.x", "c"] {
            names.variables.intern(name);
        }
        assert_eq!(objects.new_variables(&names), (VarId(5), &[3, 0, 1, 8].map(VarId)[..]));
        assert_eq!(objects.new_variables(&names), (VarId(9), &[][..]));
    }
}
