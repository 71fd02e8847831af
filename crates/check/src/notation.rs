//! Traces in one line: the notation of tests, corpus and documentation.
//!
//! ```text
//! 1:b 1:r(x) 2:w(x) 1:w(x) 1:e           thread 1 begins a block, reads x, …
//! 1:b(transfer)@bank.c:12 1:e            a label and a source site, where they matter
//! ```
//!
//! Words are separated by blanks or line breaks; a word that starts with `#` hides the rest of its
//! line. Threads are small numbers, and the number is the [`ThreadId`]; all other names get ids in
//! order of first appearance. The operations are those of `docs/event-model.md` with `b` and `e` for
//! begin and end, and besides them what the checkers see behind the well-formedness check: `reacq(l)`,
//! `rerel(l)`, `reracq(l)`, `rerrel(l)` for re-entrant acquires and releases (exclusive, then
//! shared), `local` and `skip`. Nothing is checked beyond syntax: whether the trace is well-formed is the
//! author's business.

use std::fmt::Write as _;

use atomvet_trace::{AccessKind, Event, Mode, Names, Op, RegionId, SiteId, ThreadId, UpdateKind};

/// Thread numbers stay below this, so that tables indexed by thread stay small.
const MOST_THREADS: u32 = 1 << 16;

/// Reads a trace, for tests.
///
/// # Panics
///
/// If it is not in this notation. Use [`try_parse`] for text that comes from outside.
#[track_caller]
pub fn parse(text: &str) -> (Vec<Event>, Names) {
    match try_parse(text) {
        Ok(parsed) => parsed,
        Err(problem) => panic!("{problem}"),
    }
}

/// Reads a trace; an error names the word that is not in this notation.
pub fn try_parse(text: &str) -> Result<(Vec<Event>, Names), String> {
    let mut names = Names::default();
    let mut events = Vec::new();
    for line in text.lines() {
        for word in line.split_whitespace().take_while(|word| !word.starts_with('#')) {
            match event(word, &mut names) {
                Some(event) => events.push(event),
                None => {
                    return Err(format!(
                        "event {} `{word}` is not of the form thread:operation(name)@site",
                        events.len()
                    ));
                }
            }
        }
    }
    Ok((events, names))
}

/// Writes a trace so that [`parse`] reads it. Ids without a name are written as numbers.
pub fn show(events: &[Event], names: &Names) -> String {
    let mut text = String::new();
    for event in events {
        if !text.is_empty() {
            text.push(' ');
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{}:", event.thread.0);
        show_op(&mut text, event.op, names);
        if event.site != SiteId::NONE {
            let _ = write!(text, "@{}", name_of(&names.sites, event.site));
        }
    }
    text
}

fn show_op(text: &mut String, op: Op, names: &Names) {
    use AccessKind::{Atomic, Plain};
    let (word, name) = match op {
        Op::Read(x, Plain) => ("r", name_of(&names.variables, x)),
        Op::Read(x, Atomic) => ("ar", name_of(&names.variables, x)),
        Op::Write(x, Atomic) => ("aw", name_of(&names.variables, x)),
        Op::Write(x, Plain) => ("w", name_of(&names.variables, x)),
        Op::Update(x, kind) => (update_word(kind), name_of(&names.variables, x)),
        Op::Acquire(l, Mode::Exclusive) => ("acq", name_of(&names.locks, l)),
        Op::Acquire(l, Mode::Shared) => ("racq", name_of(&names.locks, l)),
        Op::Release(l, Mode::Exclusive) => ("rel", name_of(&names.locks, l)),
        Op::Release(l, Mode::Shared) => ("rrel", name_of(&names.locks, l)),
        Op::Reacquire(l, Mode::Exclusive) => ("reacq", name_of(&names.locks, l)),
        Op::Reacquire(l, Mode::Shared) => ("reracq", name_of(&names.locks, l)),
        Op::Rerelease(l, Mode::Exclusive) => ("rerel", name_of(&names.locks, l)),
        Op::Rerelease(l, Mode::Shared) => ("rerrel", name_of(&names.locks, l)),
        Op::Wait(l) => ("wait", name_of(&names.locks, l)),
        Op::Fork(u) => ("fork", u.0.to_string()),
        Op::Join(u) => ("join", u.0.to_string()),
        Op::Barrier(b) => ("barrier", name_of(&names.barriers, b)),
        Op::Begin(RegionId::NONE) => return text.push('b'),
        Op::Begin(region) => ("b", name_of(&names.regions, region)),
        Op::End => return text.push('e'),
        Op::Alloc(x) => ("alloc", name_of(&names.variables, x)),
        Op::Free(x) => ("free", name_of(&names.variables, x)),
        Op::Escape(x) => ("escape", name_of(&names.variables, x)),
        Op::Local => return text.push_str("local"),
        Op::Skip => return text.push_str("skip"),
    };
    let _ = write!(text, "{word}({name})");
}

fn name_of<I: atomvet_trace::names::Id>(table: &atomvet_trace::names::Table<I>, id: I) -> String {
    if id.to_index() < table.len() { table.get(id).to_owned() } else { id.to_index().to_string() }
}

fn update_word(kind: UpdateKind) -> &'static str {
    match kind {
        UpdateKind::Other => "rmw",
        UpdateKind::Add => "add",
        UpdateKind::Or => "or",
        UpdateKind::And => "and",
        UpdateKind::Xor => "xor",
        UpdateKind::Min => "min",
        UpdateKind::Max => "max",
        UpdateKind::Same => "same",
    }
}

fn event(word: &str, names: &mut Names) -> Option<Event> {
    let (thread_word, rest) = word.split_once(':')?;
    let thread = thread(thread_word, names)?;
    let (op_word, name, site_part) = match rest.find('(') {
        // A site may contain brackets too; those do not open a name.
        Some(open) if !rest[..open].contains('@') => {
            let close = match rest.rfind(")@") {
                Some(close) => close,
                None => rest.strip_suffix(')')?.len(),
            };
            if close <= open + 1 {
                return None;
            }
            (&rest[..open], Some(&rest[open + 1..close]), &rest[close + 1..])
        }
        _ => {
            let end = rest.find('@').unwrap_or(rest.len());
            (&rest[..end], None, &rest[end..])
        }
    };
    let op = op(op_word, name, names)?;
    let site = match site_part {
        "" => SiteId::NONE,
        "@" => return None,
        at => names.sites.intern(&at[1..]),
    };
    Some(Event { thread, op, site })
}

fn thread(word: &str, names: &mut Names) -> Option<ThreadId> {
    let number: u32 = word.parse().ok().filter(|&number| number < MOST_THREADS)?;
    for missing in names.threads.len()..=number as usize {
        names.threads.intern(&missing.to_string());
    }
    Some(ThreadId(number))
}

fn op(word: &str, name: Option<&str>, names: &mut Names) -> Option<Op> {
    use UpdateKind::{Add, And, Max, Min, Or, Other, Same, Xor};
    let (exclusive, shared) = (Mode::Exclusive, Mode::Shared);
    Some(match (word, name) {
        ("b" | "begin", None) => Op::Begin(RegionId::NONE),
        ("b" | "begin", Some(label)) => Op::Begin(names.regions.intern(label)),
        ("e" | "end", None) => Op::End,
        ("local", None) => Op::Local,
        ("skip", None) => Op::Skip,
        ("r", Some(x)) => Op::read(names.variables.intern(x)),
        ("w", Some(x)) => Op::write(names.variables.intern(x)),
        ("ar", Some(x)) => Op::Read(names.variables.intern(x), AccessKind::Atomic),
        ("aw", Some(x)) => Op::Write(names.variables.intern(x), AccessKind::Atomic),
        ("rmw", Some(x)) => Op::Update(names.variables.intern(x), Other),
        ("add", Some(x)) => Op::Update(names.variables.intern(x), Add),
        ("or", Some(x)) => Op::Update(names.variables.intern(x), Or),
        ("and", Some(x)) => Op::Update(names.variables.intern(x), And),
        ("xor", Some(x)) => Op::Update(names.variables.intern(x), Xor),
        ("min", Some(x)) => Op::Update(names.variables.intern(x), Min),
        ("max", Some(x)) => Op::Update(names.variables.intern(x), Max),
        ("same", Some(x)) => Op::Update(names.variables.intern(x), Same),
        ("alloc", Some(x)) => Op::Alloc(names.variables.intern(x)),
        ("free", Some(x)) => Op::Free(names.variables.intern(x)),
        ("escape", Some(x)) => Op::Escape(names.variables.intern(x)),
        ("acq", Some(l)) => Op::Acquire(names.locks.intern(l), exclusive),
        ("rel", Some(l)) => Op::Release(names.locks.intern(l), exclusive),
        ("racq", Some(l)) => Op::Acquire(names.locks.intern(l), shared),
        ("rrel", Some(l)) => Op::Release(names.locks.intern(l), shared),
        ("reacq", Some(l)) => Op::Reacquire(names.locks.intern(l), exclusive),
        ("rerel", Some(l)) => Op::Rerelease(names.locks.intern(l), exclusive),
        ("reracq", Some(l)) => Op::Reacquire(names.locks.intern(l), shared),
        ("rerrel", Some(l)) => Op::Rerelease(names.locks.intern(l), shared),
        ("wait", Some(l)) => Op::Wait(names.locks.intern(l)),
        ("fork", Some(u)) => Op::Fork(thread(u, names)?),
        ("join", Some(u)) => Op::Join(thread(u, names)?),
        ("barrier", Some(b)) => Op::Barrier(names.barriers.intern(b)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use atomvet_trace::{LockId, VarId};

    use super::*;

    #[test]
    fn every_operation_is_read_and_written() {
        let text = "1:b 1:b(l)@f.c:3 0:r(x) 0:w(y) 0:ar(x) 0:aw(y) 1:rmw(x) 1:add(x) 1:or(x) 1:and(x) 1:xor(x) 1:min(x) 1:max(x) 1:same(x) \
                    1:acq(m) 1:reacq(m) 1:rerel(m) 1:wait(m) 1:rel(m) 2:racq(n) 2:reracq(n) 2:rerrel(n) 2:rrel(n) \
                    1:fork(4) 4:barrier(q) 1:join(4) 0:alloc(a[0].(f))@g(h).c:1 0:free(x) 0:escape(x) 2:skip 1:e@9 1:e";
        let (events, names) = parse(text);
        assert_eq!(show(&events, &names), text);
        assert_eq!(names.variables.get(VarId(2)), "a[0].(f)");
        assert_eq!(names.threads.len(), 5);
    }

    #[test]
    fn the_thread_number_is_its_id_and_names_get_dense_ids() {
        let (events, names) = parse("# a comment 1:b\n 3:w(x) # 1:w(z)\n 3:acq(x)");
        let site = SiteId::NONE;
        let thread = ThreadId(3);
        assert_eq!(
            events,
            [
                Event { thread, op: Op::write(VarId(0)), site },
                Event { thread, op: Op::Acquire(LockId(0), Mode::Exclusive), site }
            ]
        );
        assert_eq!(names.threads.get(thread), "3");
        assert_eq!(parse("2:begin 2:end").0, parse("2:b 2:e").0);
    }

    #[test]
    fn other_words_are_refused_by_name() {
        let words = [
            "b",
            "x:b",
            ":b",
            "1:",
            "1:q(x)",
            "1:r",
            "1:r()",
            "1:r(x",
            "1:e(x)",
            "1:b@",
            "1:fork(a)",
            "70000:b",
        ];
        for word in words {
            let problem = try_parse(&format!("1:b {word} 1:e")).unwrap_err();
            assert!(problem.contains("event 1 ") && problem.contains(word), "{problem}");
        }
    }
}
