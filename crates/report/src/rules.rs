//! What kinds of findings there are, each with what it means and what usually mends it: SARIF's rules, and the
//! words that every rendering uses.

use atomvet_check::witness::Shape;

/// A kind of finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Stable, for machines: `lost-update`.
    pub id: String,
    /// For people: `lost update`.
    pub name: &'static str,
    /// What happens, in a sentence.
    pub meaning: &'static str,
    /// What usually mends it, in a sentence.
    pub remedy: &'static str,
}

/// A violation without a witness, or one with a name that this version does not know.
const NOT_ATOMIC: (&str, &str, &str) = (
    "not atomic",
    "the block should behave as if nothing ran in between, but no such order explains what was recorded",
    "hold one lock over the whole block, or narrow the block to what must be atomic",
);

const NOT_REDUCIBLE: (&str, &str, &str) = (
    "not reducible",
    "reduction cannot show that the block is atomic: after the first of two steps others may have seen its effects, and \
     the second one still depends on them; whether a violation is possible, commit-node can tell",
    "check it with --predict; if it is confirmed, hold one lock over both steps",
);

const DEADLOCK: (&str, &str, &str) = (
    "potential deadlock",
    "each of these threads can hold a lock that the next one wants, so that they wait for each other for ever",
    "take these locks in one order everywhere, or under one common lock",
);

const DATA_RACE: (&str, &str, &str) = (
    "data race",
    "no lock and no order of threads keeps these two accesses of one variable apart, and not both are atomic, as far as the \
     trace tells",
    "guard both with one lock, or make them atomic operations",
);

/// Every kind of finding.
pub fn all() -> Vec<Rule> {
    let shapes = Shape::ALL.iter().map(|&shape| of_shape(shape));
    shapes.chain([rule(NOT_ATOMIC), not_reducible(), deadlock(), data_race()]).collect()
}

/// The rule of a violation, by the name of its anomaly.
pub(crate) fn named(shape: Option<&str>) -> Rule {
    let known = Shape::ALL.iter().find(|known| Some(known.name()) == shape);
    known.map_or_else(|| rule(NOT_ATOMIC), |&shape| of_shape(shape))
}

pub(crate) fn not_reducible() -> Rule {
    rule(NOT_REDUCIBLE)
}

pub(crate) fn deadlock() -> Rule {
    rule(DEADLOCK)
}

pub(crate) fn data_race() -> Rule {
    rule(DATA_RACE)
}

fn of_shape(shape: Shape) -> Rule {
    rule((shape.name(), shape.meaning(), shape.remedy()))
}

fn rule((name, meaning, remedy): (&'static str, &'static str, &'static str)) -> Rule {
    Rule { id: name.replace(' ', "-"), name, meaning, remedy }
}

/// What the words say that tell how sure a finding is.
pub(crate) fn strength_meaning(strength: &str) -> &'static str {
    match strength {
        "observed" => "it happened in the recorded execution",
        "predicted, with schedule" => {
            "a reordering of the recorded execution in which it happens was found and verified"
        }
        "predicted, with other values" => {
            "a reordering of the recorded execution in which it happens was found and verified, if the blocks of the pattern \
             do the same with another value of its variables"
        }
        "predicted" => "locks and the order of threads allow it; the values that the program reads might not",
        "suspected" => "nothing was found that rules it out; often a false alarm",
        _ => "",
    }
}
