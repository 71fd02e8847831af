//! From a prediction, a race and a potential deadlock to findings in words.

use crate::finding::{Arrow, Bar, Finding, Level, Origin, Row, Scene, Site};
use crate::model::{Block, Deadlock, Moment, Prediction, Race, RelaxedRead};
use crate::rules;
use crate::words::{self, Pair, Tense, list, short};

/// A predicted violation in words. `trace` is its trace's position in the report.
pub(crate) fn violation(prediction: &Prediction, checker: &str, trace: usize) -> Finding {
    let block = &prediction.block;
    let name = name(block);
    let origin = Origin {
        thread: short(&block.thread),
        event: block.begin_event,
        site: block.site.as_deref().map(short),
    };
    let is_pattern = prediction.reason != "movers";
    let rule = if is_pattern { rules::named(prediction.shape.as_deref()) } else { rules::not_reducible() };
    let (level, may) = match prediction.strength.as_str() {
        "predicted, with schedule" => (Level::Error, "is not"),
        "suspected" => (Level::Note, "may not be"),
        _ => (Level::Warning, "is not"),
    };
    let (reasons, arrows) = conflicts(prediction, &name);
    let mut scene = scene(prediction.events.iter());
    scene.arrows = arrows;
    scene.bars.extend(bar(block, &name, &prediction.events, &scene));
    Finding {
        fingerprint: short(&prediction.fingerprint),
        strength: short(&prediction.strength),
        condition: condition(&prediction.relaxed),
        level,
        counts: true,
        aside: None,
        title: format!("{name} {may} atomic"),
        site: block.site.as_deref().map(Site::new).or_else(|| first_site(&scene)),
        meaning: rule.meaning.to_owned(),
        conclusion: match reasons.len() {
            0 => String::new(),
            _ if prediction.search == "impossible" => String::new(),
            _ => "So in this order, which locks and threads allow, the block is not one indivisible step."
                .to_owned(),
        },
        reasons,
        remedy: if is_pattern { remedy(prediction, rule.remedy) } else { rule.remedy.to_owned() },
        rule,
        notes: notes(prediction),
        count: prediction.count,
        traces: vec![trace],
        checkers: vec![short(checker)],
        variables: prediction.variables.iter().map(|variable| short(variable)).collect(),
        scene,
        origin: Some(origin.clone()),
        innermost: true,
        instances: vec![origin],
        subject: name,
    }
}

/// A critical section outside every block has no name.
fn name(block: &Block) -> String {
    match (&block.label, &block.site) {
        (None, None) => format!("the code from event {}", block.begin_event),
        _ => words::block(block),
    }
}

fn conflicts(prediction: &Prediction, name: &str) -> (Vec<String>, Vec<Arrow>) {
    let called = |moment: &Moment| {
        let thread = short(&moment.thread);
        if moment.thread == prediction.block.thread {
            (format!("{name} (thread {thread})"), name.to_owned())
        } else {
            (format!("thread {thread}"), format!("thread {thread}"))
        }
    };
    let (mut reasons, mut arrows) = (Vec::new(), Vec::new());
    for &(from, to) in &prediction.order {
        let (Some(first), Some(second)) = (prediction.events.get(from), prediction.events.get(to)) else {
            continue;
        };
        let (a, b) = (called(first), called(second));
        let because = format!("{}-{}", words::access(&first.op), words::access(&second.op));
        let on = second.on.as_deref().unwrap_or("it");
        let pair = Pair { first: (&a.0, &a.1), second: (&b.0, &b.1) };
        arrows.push(Arrow { from, to, label: words::label(&because, on), reason: Some(reasons.len()) });
        reasons.push(words::reason(&pair, &because, on, Tense::Could));
    }
    (reasons, arrows)
}

fn remedy(prediction: &Prediction, usual: &str) -> String {
    let (Some(first), Some(last)) = (prediction.events.first(), prediction.events.last()) else {
        return usual.to_owned();
    };
    match prediction.locks.first() {
        Some(lock) => {
            let known = if first.locks.contains(lock) && last.locks.contains(lock) {
                ", which is held at both but not throughout"
            } else {
                ""
            };
            format!("hold lock {}{known}, from {} to {}", short(lock), place(first), place(last))
        }
        None => format!(
            "the other side holds no lock where it comes in: let both hold one, here from {} to {}; or: {usual}",
            place(first),
            place(last)
        ),
    }
}

fn place(moment: &Moment) -> String {
    moment.site.as_deref().map_or_else(|| format!("event {}", moment.event), short)
}

fn notes(prediction: &Prediction) -> Vec<String> {
    let mut notes = Vec::new();
    if prediction.block.begin_event != prediction.transaction.begin_event {
        notes.push(format!("It is inside {}.", name(&prediction.transaction)));
    }
    notes.extend(proof(&prediction.search, prediction.schedule.as_deref(), &prediction.relaxed));
    notes.extend(contradiction(prediction.verify_error.as_deref()));
    notes
}

/// Under which condition a relaxed schedule is one.
fn condition(relaxed: &[RelaxedRead]) -> Option<String> {
    let mut who: Vec<String> = Vec::new();
    let mut what: Vec<String> = Vec::new();
    for read in relaxed {
        let block = read.block.as_deref().map(|block| match block.strip_prefix('@') {
            Some(site) => format!("the block at {}", short(site)),
            None => short(block),
        });
        let block = block.unwrap_or_else(|| format!("thread {}", short(&read.thread)));
        let variable = short(&read.on);
        if !who.contains(&block) {
            who.push(block);
        }
        if !what.contains(&variable) {
            what.push(variable);
        }
    }
    let verb = if who.len() == 1 { "does" } else { "do" };
    let value = if what.len() == 1 { "another value" } else { "other values" };
    (!who.is_empty())
        .then(|| format!("if {} {verb} the same with {value} of {}", joined(&who), joined(&what)))
}

fn joined(names: &[String]) -> String {
    match names {
        [names @ .., last] if !names.is_empty() => format!("{} and {last}", names.join(", ")),
        _ => names.concat(),
    }
}

/// What the search for a schedule came to, in words.
fn proof(search: &str, schedule: Option<&str>, relaxed: &[RelaxedRead]) -> Option<String> {
    let found = match schedule {
        Some(path) => format!("{}, a reordering of this execution in which it happens; verified.", short(path)),
        None => "found and verified, a reordering of this execution in which it happens (check --schedules DIR writes it)."
            .to_owned(),
    };
    Some(match search {
        "found" => format!("Schedule: {found}"),
        "relaxed" => {
            let reads = |read: &RelaxedRead| {
                let place = read.site.as_deref().map_or_else(|| format!("event {}", read.event), short);
                format!("{} at {place}", short(&read.on))
            };
            let mut reads: Vec<String> = relaxed.iter().map(reads).collect();
            reads.dedup();
            const MOST: usize = 4;
            if reads.len() > MOST {
                let more = reads.len() - MOST;
                reads.truncate(MOST);
                reads.push(format!("{more} more"));
            }
            format!("Schedule: {found} There, these reads see another write than in this run: {}.", joined(&reads))
        }
        "none" => "Schedule: none exists for these events, all were tried: the locks allow their order, but not with the values that \
                   the program reads."
            .to_owned(),
        "impossible" => "Schedule: none exists for these events, all were tried: locks and the order of threads do not allow their \
                         order. This is a false alarm of the algorithm."
            .to_owned(),
        "out of budget" => "Schedule: none found within the budget (check --budget raises it).".to_owned(),
        _ => return None,
    })
}

fn contradiction(problem: Option<&str>) -> Option<String> {
    let problem = short(problem?);
    Some(format!("INTERNAL ERROR: the independent judge does not accept the schedule: {problem}"))
}

fn scene<'a>(moments: impl Iterator<Item = &'a Moment>) -> Scene {
    let mut scene = Scene::default();
    for moment in moments {
        let thread = scene.column(&moment.thread);
        let on = moment.on.as_deref();
        scene.rows.push(Row {
            event: moment.event,
            thread,
            what: words::what(&moment.op, on),
            op: words::op(&moment.op, on),
            site: moment.site.as_deref().map(Site::new),
            locks: moment.locks.iter().map(|lock| short(lock)).collect(),
        });
    }
    scene
}

fn bar(block: &Block, name: &str, events: &[Moment], scene: &Scene) -> Option<Bar> {
    let inside = |moment: &Moment| moment.thread == block.thread && moment.event >= block.begin_event;
    let first = events.iter().position(inside)?;
    let last = events.iter().rposition(inside)?;
    let begins = events[first].event == block.begin_event;
    Some(Bar {
        thread: scene.rows.get(first)?.thread,
        name: name.to_owned(),
        first,
        last,
        begins,
        blamed: true,
    })
}

fn first_site(scene: &Scene) -> Option<Site> {
    scene.rows.iter().find_map(|row| row.site.clone())
}

/// A potential deadlock in words.
pub(crate) fn deadlock(deadlock: &Deadlock, checker: &str, trace: usize) -> Finding {
    let rule = rules::deadlock();
    let cycle = &deadlock.cycle;
    let next = |i: usize| (i + 1) % cycle.len().max(1);
    let locks: Vec<String> = cycle.iter().filter_map(|waiting| waiting.has.on.clone()).collect();
    let lock = |moment: &Moment| moment.on.as_deref().map_or_else(|| "a lock".to_owned(), short);
    let mut scene =
        scene(cycle.iter().map(|waiting| &waiting.has).chain(cycle.iter().map(|waiting| &waiting.wants)));
    for (row, waiting) in scene.rows[cycle.len()..].iter_mut().zip(cycle) {
        row.what = format!("wants lock {}", lock(&waiting.wants));
    }
    let (mut reasons, mut notes) = (Vec::new(), Vec::new());
    for (i, waiting) in cycle.iter().enumerate() {
        let holder = &cycle[next(i)];
        scene.arrows.push(Arrow {
            from: cycle.len() + i,
            to: next(i),
            label: format!("wants lock {}", lock(&waiting.wants)),
            reason: Some(reasons.len()),
        });
        reasons.push(format!(
            "Thread {} holds lock {} (since {}) and wants lock {} (at {}), which thread {} holds.",
            short(&waiting.thread),
            lock(&waiting.has),
            place(&waiting.has),
            lock(&waiting.wants),
            place(&waiting.wants),
            short(&holder.thread)
        ));
        if !waiting.gates.is_empty() {
            notes.push(format!("Thread {} holds besides: {}.", short(&waiting.thread), list(&waiting.gates)));
        }
    }
    let subject = list(&locks);
    notes.extend(proof(&deadlock.search, deadlock.schedule.as_deref(), &deadlock.relaxed));
    notes.extend(contradiction(deadlock.verify_error.as_deref()));
    let strength = if deadlock.strength.is_empty() { "predicted" } else { &deadlock.strength };
    Finding {
        fingerprint: short(&deadlock.fingerprint),
        strength: short(strength),
        condition: condition(&deadlock.relaxed),
        level: if deadlock.search == "found" { Level::Error } else { Level::Warning },
        counts: true,
        aside: None,
        title: format!("a deadlock is possible over {subject}"),
        site: cycle.first().and_then(|waiting| waiting.wants.site.as_deref()).map(Site::new),
        meaning: rule.meaning.to_owned(),
        reasons,
        conclusion: match deadlock.search.as_str() {
            "found" | "relaxed" => "So none of them can go on.".to_owned(),
            "impossible" => String::new(),
            _ => "So none of them can go on. No lock is held by all of them: as far as locks tell, they can get there at the \
                  same time."
                .to_owned(),
        },
        remedy: rule.remedy.to_owned(),
        rule,
        notes,
        count: deadlock.count,
        traces: vec![trace],
        checkers: vec![short(checker)],
        variables: Vec::new(),
        scene,
        origin: None,
        innermost: true,
        instances: Vec::new(),
        subject,
    }
}

/// A data race in words.
pub(crate) fn race(race: &Race, checker: &str, trace: usize) -> Finding {
    let rule = rules::data_race();
    let mut scene = scene(race.events.iter());
    let variable = short(&race.variable);
    scene.arrows.push(Arrow { from: 0, to: 1, label: "nothing orders these".to_owned(), reason: Some(0) });
    let [first, second] = &race.events;
    let did = |moment: &Moment| {
        format!(
            "thread {}'s {} at {}",
            short(&moment.thread),
            words::op(&moment.op, moment.on.as_deref()),
            place(moment)
        )
    };
    Finding {
        fingerprint: short(&race.fingerprint),
        strength: "predicted".to_owned(),
        condition: None,
        level: Level::Note,
        counts: false,
        aside: None,
        title: format!("data race on {variable}"),
        site: first_site(&scene),
        meaning: rule.meaning.to_owned(),
        reasons: vec![format!("Nothing orders {} and {}.", did(first), did(second))],
        conclusion: String::new(),
        remedy: rule.remedy.to_owned(),
        rule,
        notes: Vec::new(),
        count: race.count,
        traces: vec![trace],
        checkers: vec![short(checker)],
        variables: vec![variable.clone()],
        scene,
        origin: None,
        innermost: true,
        instances: Vec::new(),
        subject: variable,
    }
}
