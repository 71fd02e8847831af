//! From an observed violation to a finding in words.

use atomvet_check::witness::Shape;

use crate::finding::{Arrow, Bar, Finding, Fold, Level, Local, Origin, Row, Scene, Site};
use crate::model::{Block, SceneEvent, Step, Violation};
use crate::rules;
use crate::words::{self, HANDED_OVER, Pair, Tense, short};

/// One of the things that have to be put in order.
struct Actor {
    full: String,
    short: String,
    /// The first event of its transaction.
    identity: u64,
}

/// A violation in words. `trace` is its trace's position in the report.
pub(crate) fn finding(violation: &Violation, checker: &str, trace: usize) -> Finding {
    let blamed = violation.block.as_ref();
    let block = blamed.unwrap_or(&violation.transaction);
    let name = words::block(block);
    let rule = rules::named(violation.shape.as_deref());
    let steps = violation.clearest();
    let (reasons, which, conclusion) = reasons(violation, steps);
    Finding {
        fingerprint: short(&violation.fingerprint),
        strength: short(&violation.strength),
        condition: None,
        level: Level::Error,
        counts: true,
        aside: None,
        title: match blamed {
            Some(_) => format!("{name} is not atomic"),
            None => {
                format!("no serial order exists, and no single block is to blame: a cycle through {name}")
            }
        },
        site: block.site.as_deref().or(violation.site.as_deref()).map(Site::new),
        meaning: rule.meaning.to_owned(),
        remedy: remedy(violation, steps).unwrap_or_else(|| rule.remedy.to_owned()),
        rule,
        reasons,
        conclusion,
        notes: notes(violation, block),
        count: violation.count,
        traces: vec![trace],
        checkers: vec![short(checker)],
        variables: variables(steps),
        scene: scene(violation, block, steps, &which),
        origin: Some(Origin {
            thread: short(&block.thread),
            event: block.begin_event,
            site: block.site.as_deref().map(short),
        }),
        innermost: violation.innermost,
        instances: vec![Origin {
            thread: short(&block.thread),
            event: violation.event,
            site: violation.site.as_deref().map(short),
        }],
        subject: name,
    }
}

/// Which lock over which lines would do. Nothing, if the places of the steps or the block to blame are not known.
///
/// ```text
/// T1: [ acq(m) r(x) rel(m)               acq(m) w(x) rel(m) ]    hold lock m from r(x) to w(x)
/// T2:                       acq(m) w(x) rel(m)
/// ```
///
/// What is said holds even where a recording has an access later than it happened, outside of its critical section: a
/// lock that is not held there is never said to be missing.
fn remedy(violation: &Violation, steps: &[Step]) -> Option<String> {
    let (first, last) = ends(violation, steps)?;
    let by_lock = [steps.last()?, steps.first()?].into_iter().find(|step| step.because == "release-acquire");
    // Who waits for a condition has to give the lock back.
    if let Some(step) = by_lock.filter(|_| [first, last].iter().all(|event| event.op != "wait")) {
        let (from, to) = (place(first), place(last));
        return Some(format!(
            "keep lock {} from {from} to {to} instead of giving it back in between",
            short(&step.on)
        ));
    }
    // Which locks others held is not known where locks have no records.
    let is_handed_over =
        |event: &SceneEvent| event.on.as_deref().is_some_and(|on| on.starts_with(HANDED_OVER));
    if is_handed_over(first) && is_handed_over(last) {
        let (from, to) = (place(first), place(last));
        return Some(format!("hold one lock from {from} to {to} instead of giving it back in between"));
    }
    let mut others: Vec<&SceneEvent> =
        steps.iter().flat_map(|step| [step.from, step.to]).filter_map(|event| at(violation, event)).collect();
    others.retain(|event| !is_inside(violation, event) && is_access(event));
    others.sort_by_key(|event| event.event);
    others.dedup_by_key(|event| event.event);
    if others.is_empty() || !is_access(first) || !is_access(last) {
        return None;
    }
    let lines = format!("from {} to {}", place(first), place(last));
    let mut elsewhere: Vec<String> =
        others.iter().map(|event| format!("{} (thread {})", place(event), short(&event.thread))).collect();
    elsewhere.dedup();
    let elsewhere = elsewhere.join(", ");
    let holds = |event: &SceneEvent, lock: &String| event.locks.contains(lock);
    let theirs = others[0].locks.iter().filter(|lock| others.iter().all(|other| holds(other, lock)));
    let theirs: Vec<&String> = theirs.collect();
    let ours = |lock: &&&String| holds(first, lock) && holds(last, lock);
    let mut advice = if let Some(lock) = theirs.iter().find(ours) {
        format!("hold lock {} {lines} without giving it back in between", short(lock))
    } else if let Some(lock) = theirs.first() {
        format!("hold lock {} {lines}, as at {elsewhere}", short(lock))
    } else if let Some(lock) = first.locks.iter().find(|lock| holds(last, lock)) {
        format!(
            "hold lock {} {lines} without giving it back in between, and also at {elsewhere}",
            short(lock)
        )
    } else {
        format!("hold one lock {lines}, and also at {elsewhere}")
    };
    if let Some(other_way) = other_way(violation) {
        advice.push_str(&format!("; or {other_way}"));
    }
    Some(advice)
}

/// Where a cycle leaves the block that is to blame and where it comes back; nothing if there is no such block, or if
/// the cycle goes through transactions as wholes and comes back before it leaves.
fn ends<'a>(violation: &'a Violation, steps: &[Step]) -> Option<(&'a SceneEvent, &'a SceneEvent)> {
    let (first, last) = (at(violation, steps.first()?.from)?, at(violation, steps.last()?.to)?);
    let is_path = is_inside(violation, first) && is_inside(violation, last) && first.event < last.event;
    is_path.then_some((first, last))
}

/// Whether an event is inside the block that is to blame.
fn is_inside(violation: &Violation, event: &SceneEvent) -> bool {
    violation.block.as_ref().is_some_and(|block| {
        event.thread == block.thread
            && event.event >= block.begin_event
            && event.block.as_ref().is_some_and(|b| b.begin_event == violation.transaction.begin_event)
    })
}

/// What would do without a lock.
fn other_way(violation: &Violation) -> Option<&'static str> {
    let shape = Shape::ALL.iter().find(|known| Some(known.name()) == violation.shape.as_deref())?;
    match shape {
        Shape::LostUpdate => Some(
            "make the read and the write one atomic operation (fetch-and-add, or compare-and-exchange in a loop)",
        ),
        Shape::NonRepeatableRead => Some("read once into a local and use that"),
        Shape::DirtyRead | Shape::DirtyWrite => Some("compute in a local and write once"),
        Shape::StaleWrite => Some("go on with the value that was written instead of reading it back"),
        _ => None,
    }
}

fn is_access(event: &SceneEvent) -> bool {
    matches!(
        event.op.as_str(),
        "r" | "w" | "ar" | "aw" | "rmw" | "add" | "or" | "and" | "xor" | "min" | "max"
    )
}

fn place(event: &SceneEvent) -> String {
    event.site.as_deref().map_or_else(|| format!("event {}", event.event), short)
}

fn closing(violation: &Violation) -> Option<&SceneEvent> {
    violation.events.iter().find(|event| event.event == violation.event)
}

fn closing_words(violation: &Violation) -> String {
    words::op(&violation.op, closing(violation).and_then(|event| event.on.as_deref()))
}

fn notes(violation: &Violation, block: &Block) -> Vec<String> {
    let mut notes = Vec::new();
    if block.begin_event != violation.transaction.begin_event {
        notes.push(format!("It is inside {}.", words::block(&violation.transaction)));
    }
    if violation.data_witness.is_some() {
        let op = closing_words(violation);
        notes.push(format!("Synchronization fixes this order since event {}, {op}.", violation.event));
    }
    let steps = violation.clearest();
    if violation.block.is_some() && !steps.is_empty() && ends(violation, steps).is_none() {
        let words = "This algorithm blames the block for completing a cycle; alone it could be atomic.";
        notes.push(words.to_owned());
    }
    if violation.witness.is_empty() {
        notes.push(if closing(violation).is_some() {
            format!(
                "Completed by {}; how other threads came in between is not known.",
                closing_words(violation)
            )
        } else {
            format!("Completed by event {}; no witness was looked for.", violation.event)
        });
    }
    match (violation.verified, &violation.verify_error) {
        (Some(true), _) => notes.push("The witness was verified independently.".to_owned()),
        (Some(false), problem) => notes.push(format!(
            "INTERNAL ERROR: the independent verifier does not accept this witness: {}",
            short(problem.as_deref().unwrap_or("no reason given"))
        )),
        (None, _) => {}
    }
    notes
}

/// The variables that a cycle is about, each once.
fn variables(steps: &[Step]) -> Vec<String> {
    let mut variables: Vec<String> = Vec::new();
    for step in steps {
        let is_access = step.because.split_once('-').is_some_and(|(first, second)| {
            [first, second].iter().all(|access| matches!(*access, "read" | "write" | "update"))
        });
        let name = short(&step.on);
        if is_access && !variables.contains(&name) {
            variables.push(name);
        }
    }
    variables
}

fn at(violation: &Violation, event: u64) -> Option<&SceneEvent> {
    violation.events.binary_search_by_key(&event, |scene| scene.event).ok().map(|i| &violation.events[i])
}

fn actor(violation: &Violation, event: u64) -> Actor {
    let Some(scene) = at(violation, event) else {
        let full = format!("event {event}");
        return Actor { short: full.clone(), full, identity: event };
    };
    let thread = short(&scene.thread);
    match &scene.block {
        Some(outermost) => {
            let ours = |block: &&Block| {
                outermost.begin_event == violation.transaction.begin_event
                    && event >= block.begin_event
                    && scene.thread == block.thread
            };
            let name = words::block(violation.block.as_ref().filter(ours).unwrap_or(outermost));
            Actor { full: format!("{name} (thread {thread})"), short: name, identity: outermost.begin_event }
        }
        None => {
            let place = scene.site.as_deref().map(|site| format!(" at {}", short(site))).unwrap_or_default();
            let op = words::deed(&scene.op, scene.on.as_deref());
            Actor {
                full: format!("thread {thread}'s {op}{place}"),
                short: format!("thread {thread}"),
                identity: event,
            }
        }
    }
}

/// A sentence per step that orders two transactions, which step has which, and what follows.
fn reasons(violation: &Violation, steps: &[Step]) -> (Vec<String>, Vec<Option<usize>>, String) {
    let (mut reasons, mut which, mut cast) = (Vec::new(), Vec::new(), Vec::<(u64, String)>::new());
    for step in steps {
        let (first, second) = (actor(violation, step.from), actor(violation, step.to));
        let inside = matches!(step.because.as_str(), "program-order" | "same-transaction")
            && first.identity == second.identity;
        if inside {
            which.push(None);
            continue;
        }
        // Two blocks of the same name are told apart by their threads.
        let alike = first.short == second.short;
        let called = |actor: &Actor| if alike { actor.full.clone() } else { actor.short.clone() };
        let (a, b) = (called(&first), called(&second));
        let pair = Pair { first: (&first.full, &a), second: (&second.full, &b) };
        which.push(Some(reasons.len()));
        reasons.push(words::reason(&pair, &step.because, &step.on, Tense::Happened));
        for (actor, name) in [(&first, a), (&second, b)] {
            if !cast.iter().any(|(known, _)| *known == actor.identity) {
                cast.push((actor.identity, name));
            }
        }
    }
    let names: Vec<String> = cast.into_iter().map(|(_, name)| name).collect();
    let conclusion =
        if reasons.is_empty() { String::new() } else { words::conclusion(&names, Tense::Happened) };
    (reasons, which, conclusion)
}

fn scene(violation: &Violation, block: &Block, steps: &[Step], which: &[Option<usize>]) -> Scene {
    let mut wanted: Vec<u64> = steps.iter().flat_map(|step| [step.from, step.to]).collect();
    wanted.push(block.begin_event);
    if steps.is_empty() {
        wanted.push(violation.event);
    }
    wanted.sort_unstable();
    wanted.dedup();
    let events: Vec<&SceneEvent> = wanted.iter().filter_map(|&event| at(violation, event)).collect();
    let mut scene = Scene::default();
    for event in &events {
        let thread = scene.column(&event.thread);
        let on = event.on.as_deref();
        scene.rows.push(Row {
            event: event.event,
            thread,
            what: words::what(&event.op, on),
            op: words::op(&event.op, on),
            site: event.site.as_deref().map(Site::new),
            // Recordings of native programs have some accesses later than they happened, so "none" could be wrong.
            locks: Vec::new(),
        });
    }
    let blamed = violation.block.as_ref().map(|block| block.begin_event);
    let mut seen: Vec<u64> = Vec::new();
    for event in &events {
        let Some(outermost) = &event.block else { continue };
        if seen.contains(&outermost.begin_event) {
            continue;
        }
        seen.push(outermost.begin_event);
        let inside = |event: &SceneEvent| {
            event.block.as_ref().is_some_and(|block| block.begin_event == outermost.begin_event)
        };
        scene.bars.extend(bar(outermost, blamed, &events, &scene.rows, inside));
    }
    if let Some(nested) = violation.block.as_ref().filter(|nested| !seen.contains(&nested.begin_event)) {
        let inside = |event: &SceneEvent| {
            event.event >= nested.begin_event
                && event.block.as_ref().is_some_and(|b| b.begin_event == violation.transaction.begin_event)
        };
        scene.bars.extend(bar(nested, blamed, &events, &scene.rows, inside));
    }
    let row = |event: u64| events.iter().position(|shown| shown.event == event);
    scene.arrows = (steps.iter().zip(which))
        .filter_map(|(step, reason)| {
            let (from, to) = (row(step.from)?, row(step.to)?);
            Some(Arrow { from, to, label: words::label(&step.because, &step.on), reason: *reason })
        })
        .collect();
    scene.folds = (0..events.len()).filter_map(|row| fold(violation, &events, row)).collect();
    scene
}

/// What comes before a row in its block and after the row before it of the same block.
fn fold(violation: &Violation, rows: &[&SceneEvent], row: usize) -> Option<Fold> {
    let begin = |event: &SceneEvent| event.block.as_ref().map(|block| block.begin_event);
    let block = begin(rows[row])?;
    let last = rows[..row].iter().rev().find(|other| begin(other) == Some(block));
    let since = last.map_or(block, |last| last.event);
    let (mut number, mut events) = (0, Vec::new());
    let mut add = |event: u64, op: &str, on: Option<&str>, site: Option<&str>| {
        events.push(Local { event, what: words::what(op, on), site: site.map(short) });
    };
    // What is listed and not shown plays no part here either.
    for listed in violation.events.iter().filter(|listed| begin(listed) == Some(block)) {
        if listed.event <= since || listed.event > rows[row].event {
            continue;
        }
        number += listed.skipped;
        for local in &listed.before {
            add(local.event, &local.op, local.on.as_deref(), local.site.as_deref());
        }
        if listed.event < rows[row].event {
            number += 1;
            add(listed.event, &listed.op, listed.on.as_deref(), listed.site.as_deref());
        }
    }
    (number > 0).then_some(Fold { row, number: number.max(events.len() as u64), events })
}

fn bar(
    block: &Block,
    blamed: Option<u64>,
    events: &[&SceneEvent],
    rows: &[Row],
    inside: impl Fn(&SceneEvent) -> bool,
) -> Option<Bar> {
    let first = events.iter().position(|event| inside(event))?;
    let last = events.iter().rposition(|event| inside(event))?;
    Some(Bar {
        thread: rows.get(first)?.thread,
        name: words::block(block),
        first,
        last,
        begins: events[first].event == block.begin_event,
        blamed: blamed == Some(block.begin_event),
    })
}
