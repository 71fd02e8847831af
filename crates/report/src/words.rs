//! Events and orders in plain words, for readers who do not know the notation of traces.

use crate::model::Block;
use crate::visible::visible;

/// Names are cut to this many characters; JSON has them whole.
const LONGEST_NAME: usize = 100;

/// A name from a trace, safe to show. What is too long is cut in the middle: both ends of a name tell more.
pub(crate) fn short(name: &str) -> String {
    let name = visible(name);
    let number = name.chars().count();
    if number <= LONGEST_NAME {
        return name.into_owned();
    }
    let tail = LONGEST_NAME / 2 - 1;
    let head = LONGEST_NAME - tail - 1;
    name.chars().take(head).chain(['…']).chain(name.chars().skip(number - tail)).collect()
}

/// Several names.
pub(crate) fn list(names: &[impl AsRef<str>]) -> String {
    names.iter().map(|name| short(name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// A block's name: its label, or where it begins.
pub(crate) fn block(block: &Block) -> String {
    match (&block.label, &block.site) {
        (Some(label), _) => short(label),
        (None, Some(site)) => format!("the block at {}", short(site)),
        (None, None) => format!("the block from event {}", block.begin_event),
    }
}

/// An operation as the text format writes it.
pub(crate) fn op(op: &str, on: Option<&str>) -> String {
    match on {
        Some(on) => format!("{}({})", short(op), short(on)),
        None => short(op),
    }
}

/// How the names of variables begin that stand for locks and atomics without a record of their own. A thread's name follows, and a
/// number that tells the variables apart.
pub const HANDED_OVER: &str = "a lock or atomic of ";

/// What is handed over, if a variable stands for that.
fn handed_over(on: &str) -> Option<String> {
    let (name, _number) = on.starts_with(HANDED_OVER).then(|| on.rsplit_once(" ("))??;
    Some(short(name))
}

/// An operation that belongs to a thread: `T1's w(x)`.
pub(crate) fn deed(op: &str, on: Option<&str>) -> String {
    match on.and_then(handed_over) {
        Some(lock) => format!("{} of {lock}", if op == "r" { "taking over" } else { "handing over" }),
        None => self::op(op, on),
    }
}

/// An operation as a sentence without its subject.
pub(crate) fn what(op: &str, on: Option<&str>) -> String {
    if let Some(lock) = on.and_then(handed_over) {
        return format!("{} {lock}", if op == "r" { "takes over" } else { "hands over" });
    }
    let verb = match op {
        "r" | "ar" => "reads",
        "w" | "aw" => "writes",
        "rmw" | "add" | "or" | "and" | "xor" | "min" | "max" => "updates",
        "same" => "writes the same to",
        "acq" => "takes lock",
        "rel" => "gives back lock",
        "racq" => "takes (shared) lock",
        "rrel" => "gives back (shared) lock",
        "wait" => "waits with lock",
        "fork" => "starts thread",
        "join" => "waits for the end of thread",
        "barrier" => "arrives at barrier",
        "begin" => "begins",
        "end" => "ends the block",
        "alloc" => "allocates",
        "free" => "frees",
        _ => return self::op(op, on),
    };
    match on {
        Some(on) => format!("{verb} {}", short(on)),
        None if op == "begin" => "begins the block".to_owned(),
        None => verb.to_owned(),
    }
}

/// Whether what is told happened or could happen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tense {
    Happened,
    Could,
}

/// Two things that a reason puts in order: as they are called at first and then in short.
pub(crate) struct Pair<'a> {
    pub(crate) first: (&'a str, &'a str),
    pub(crate) second: (&'a str, &'a str),
}

/// `deposit (T1) must come before withdraw (T2), because withdraw wrote balance, which deposit had read before.`
pub(crate) fn reason(pair: &Pair<'_>, because: &str, on: &str, tense: Tense) -> String {
    let (a, b, lock, on) = (pair.first.1, pair.second.1, handed_over(on), short(on));
    let had = if tense == Tense::Happened { "had" } else { "has" };
    let why = match (because, lock) {
        ("write-read", Some(lock)) => format!("{b} took over {lock}, which {a} had handed over"),
        _ => why(because, (a, b, &on), had, tense),
    };
    format!("{} must come before {}, because {why}.", pair.first.0, pair.second.0)
}

fn why(because: &str, (a, b, on): (&str, &str, &str), had: &str, tense: Tense) -> String {
    match because {
        "write-read" => format!("{b} {} {on}, which {a} {had} written", did("read", tense)),
        "write-write" => format!("{b} {} {on}, which {a} {had} written", did("overwrite", tense)),
        "release-acquire" => format!("{b} took lock {on} after {a} had held it"),
        "fork" => format!("{a} started thread {on}"),
        "join" => format!("{b} waited for the end of thread {on}"),
        "barrier" => format!("{b} left barrier {on}, at which {a} had arrived"),
        "program-order" | "same-transaction" => format!("thread {on} ran them in this order"),
        other => match other.split_once('-') {
            Some((before, after)) => {
                format!("{b} {} {on}, which {a} {had} {} before", did(after, tense), done(before))
            }
            None => format!("{on} orders them ({})", short(other)),
        },
    }
}

/// An access as a finite verb.
fn did(access: &str, tense: Tense) -> String {
    let (past, present) = match access {
        "read" => ("read", "reads"),
        "write" => ("wrote", "writes"),
        "overwrite" => ("overwrote", "overwrites"),
        "update" => ("updated", "updates"),
        other => return short(other),
    };
    if tense == Tense::Happened { past } else { present }.to_owned()
}

/// An access as a participle.
fn done(access: &str) -> String {
    match access {
        "read" => "read".to_owned(),
        "write" => "written".to_owned(),
        "update" => "updated".to_owned(),
        other => short(other),
    }
}

/// A step in a few words, for the label of an arrow.
pub(crate) fn label(because: &str, on: &str) -> String {
    if let Some(lock) = handed_over(on) {
        return format!("{lock}: handed over");
    }
    let on = short(on);
    match because {
        "release-acquire" => format!("lock {on}: given back, then taken"),
        "fork" => format!("starts thread {on}"),
        "join" => format!("end of thread {on}"),
        "barrier" => format!("barrier {on}"),
        "program-order" => format!("order of thread {on}"),
        "same-transaction" => "one block".to_owned(),
        other => match other.split_once('-') {
            Some((before, after)) => format!("{on}: {}, then {}", done(before), done(after)),
            None => format!("{on} ({})", short(other)),
        },
    }
}

/// What an access does to its variable: `read`, `write` or `update`.
pub(crate) fn access(op: &str) -> &'static str {
    match op {
        "r" => "read",
        "w" => "write",
        _ => "update",
    }
}

/// What follows from reasons that go in a circle through these.
pub(crate) fn conclusion(actors: &[String], tense: Tense) -> String {
    let result = match tense {
        Tense::Happened => "what happened",
        Tense::Could => "what would happen",
    };
    match actors {
        [a, b] => format!(
            "So {a} would have to run both before and after {b}: no order of running them one after the other explains {result}."
        ),
        _ => format!(
            "So each would have to run before the next, and the last before the first: no order of running them one after the other explains {result}."
        ),
    }
}

/// A text that begins a sentence.
pub(crate) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
