//! Why the findings hold: passes 2 and 3 over a trace.
//!
//! An algorithm that blames more than what is violated ([`Blame::More`]) may be wrong about a block
//! and still right that it completes a cycle; such a finding gets the cycle as its witness.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use atomvet_check::verify::Verifier;
use atomvet_check::witness::{Explanation, Replay, Request, Step, Witness};
use atomvet_check::{Blame, Block, Finding, Info};
use atomvet_trace::{Error, ErrorKind, Event, EventId, LockId, Mode, Op, Place, SiteId, ThreadId};

use crate::aside::{Aside, Known};
use crate::budget::Budget;
use crate::examine::{Before, Judgement, Options, Scene, Verdict, Verify, Wanted};
use crate::grid::{grouped, plural};
use crate::pipeline::{self, Partial, Pass, Reading, Told, Until};
use crate::spool::{NO_ROOM, Source, called};
use crate::{footprint, interrupt, say};

/// Fewer events leave nothing behind that is worth giving back.
const SMALL_TRACE: u64 = 100_000;

/// Gives every violation that is shown its witness, and tells what the events of those are. Each of the passes may take as long
/// as `limit`; findings that are not explained by then stay without a witness, and the pass says so.
pub(crate) fn explain(
    source: &mut Source,
    options: &Options<'_>,
    limit: Duration,
    pass: &mut Pass,
    verdicts: &mut [Verdict],
) -> Result<Scene, Error> {
    let mut requests = Requests::default();
    for verdict in verdicts.iter() {
        for place in wanted(verdict, options) {
            let finding = &verdict.violations[place].finding;
            possible(verdict.info, finding).for_each(|request| requests.add(request));
        }
    }
    let Some(last) = requests.list.iter().map(|request| request.event.0).max() else {
        return Ok(Scene::default());
    };
    if let Err(error) = source.ensure_kept() {
        let why = format!("no finding is explained: the events could not be copied: {error}; {NO_ROOM}");
        pass.partial.get_or_insert(Partial::Unexplained(why));
        return Ok(Scene::default());
    }
    mark_left_out(verdicts, options, pass);
    // The checkers are done. After one of many small traces, it would take longer than to check the trace.
    if pass.tally.events > SMALL_TRACE || !source.is_file() {
        footprint::shrink();
    }
    let slow = Slow::new(&source.given, requests.list.len());

    let (mut found, searched) = search(source, options, &requests.list, limit, pass, &slow)?;
    if searched.partial.is_none() && searched.tally.events <= last {
        return Err(changed_error(&source.given, last + 1));
    }
    let few = &requests.list[..requests.list.len().min(FEW)];
    let has_no_time = searched.partial == Some(Partial::Interrupted) && interrupt::asked().is_none();
    if has_no_time && found[..few.len()].iter().any(Option::is_none) {
        let (found_now, _) = search(source, options, few, limit, pass, &slow)?;
        found.iter_mut().zip(found_now).for_each(|(found, now)| *found = found.take().or(now));
    }
    let mut results: Vec<Answer> = found.into_iter().map(|explanation| (explanation, None)).collect();

    let found = witnesses(results.iter().map(|(explanation, _)| explanation));
    let mut verifier =
        (options.verify == Verify::Yes).then(|| Verifier::new(&options.in_force.config, &found));
    let mut stage = Stage::new(&found, &requests.list);
    let end = stage.wanted.last().map_or(0, |at| at.0 + 1);
    let looking = Budget::last(limit);
    let reading = reading(options, end, looking);
    let looked = pipeline::run_again(source, reading, &mut pass.names, |slice| {
        stage.events(slice.first, slice.events);
        slow.say_once();
        if let Some(verifier) = &mut verifier {
            verifier.events(slice.first, slice.events);
        }
        ControlFlow::Continue(())
    })?;
    if looked.partial.is_some() {
        // A witness whose events are not known says nothing.
        let is_known = |step: &Step| step.from.0.max(step.to.0) < looked.tally.events;
        let is_whole = |witness: &Witness| witness.steps.iter().all(is_known);
        for (explanation, _) in &mut results {
            explanation.take_if(|explanation| !is_whole(&explanation.witness));
            if let Some(explanation) = explanation {
                explanation.by_data.take_if(|witness| !is_whole(witness));
            }
        }
    } else if let Some(verifier) = verifier {
        let mut judgements = verifier.finish().into_iter();
        for (explanation, result) in &mut results {
            let Some(explanation) = explanation else { continue };
            let shown = 1 + usize::from(explanation.by_data.is_some());
            *result = Some(judgements.by_ref().take(shown).collect());
        }
    }

    let all_looked_at = searched.partial.is_none() && looked.partial.is_none();
    let (mut all, mut unexplained) = (0, 0);
    for verdict in verdicts.iter_mut() {
        for place in wanted(verdict, options) {
            let violation = &mut verdict.violations[place];
            let found = possible(verdict.info, &violation.finding)
                .filter_map(|request| results.get(requests.position(&request)?))
                .find(|(explanation, _)| explanation.is_some());
            all += 1;
            (violation.explanation, violation.judgement) = match (found, options.verify) {
                (Some(found), _) => found.clone(),
                (None, Verify::Yes) if all_looked_at => (None, Some(Err("no witness was found".to_owned()))),
                (None, _) => {
                    unexplained += 1;
                    (None, None)
                }
            };
        }
    }
    let partial = searched.partial.or(looked.partial);
    if unexplained > 0 && !all_looked_at {
        let why = if interrupt::asked().is_some() {
            "interrupted".to_owned()
        } else if partial == Some(Partial::OutOfMemory) {
            format!("{}; --memory raises it", Partial::OutOfMemory.reason())
        } else {
            let limit = limit.as_secs_f64();
            format!("the time for explaining was spent ({limit:.0} s; --explain-seconds sets it)")
        };
        let of = format!("{} of {} not explained", grouped(unexplained), plural(all, "finding"));
        pass.partial.get_or_insert(Partial::Unexplained(format!("{of}: {why}")));
    }
    Ok(stage.scene)
}

/// The same for a live program, whose findings have all of their events at hand. What happened in between of some is not known
/// any more; they stay without a witness.
pub(crate) fn explain_told(
    events: &[Event],
    options: &Options<'_>,
    pass: &mut Pass,
    verdict: &mut Verdict,
) -> Scene {
    mark_left_out(std::slice::from_ref(verdict), options, pass);
    let wanted = wanted(verdict, options);
    let requests: Vec<Request> =
        wanted.iter().map(|&place| Request::from(&verdict.violations[place].finding)).collect();
    let mut replay = Replay::new(&options.in_force.config, &requests);
    replay.events(EventId(0), events);
    let explanations = replay.finish();
    let mut stage = Stage::new(&witnesses(explanations.iter()), &requests);
    stage.events(EventId(0), events);
    for (place, explanation) in wanted.into_iter().zip(explanations) {
        verdict.violations[place].explanation = explanation;
    }
    stage.scene
}

/// All witnesses of these explanations.
fn witnesses<'a>(explanations: impl Iterator<Item = &'a Option<Explanation>>) -> Vec<Witness> {
    let found = explanations.flatten();
    found
        .flat_map(|explanation| [Some(&explanation.witness), explanation.by_data.as_ref()])
        .flatten()
        .cloned()
        .collect()
}

/// Where there is no time to explain all findings, so many are tried once more by themselves: a report without any reason is of
/// little use.
const FEW: usize = 20;

/// Looks for the witnesses of these requests, for no longer than `limit`; with what was read.
fn search(
    source: &mut Source,
    options: &Options<'_>,
    requests: &[Request],
    limit: Duration,
    pass: &mut Pass,
    slow: &Slow,
) -> Result<(Vec<Option<Explanation>>, Pass), Error> {
    let mut replay = Replay::new(&options.in_force.config, requests);
    let reading = reading(options, pass.tally.events, Budget::first(limit));
    let searched = pipeline::run_again(source, reading, &mut pass.names, |slice| {
        replay.events(slice.first, slice.events);
        slow.say_once();
        let last = EventId((slice.first.0 + slice.events.len() as u64).saturating_sub(1));
        if replay.is_done(last) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok((replay.finish(), searched))
}

/// What is known about a request: why it holds, and whether the verifier agrees.
type Answer = (Option<Explanation>, Option<Judgement>);

fn reading<'a>(options: &Options<'a>, end: u64, budget: Budget) -> Reading<'a> {
    let until = Until::Event(EventId(end), budget);
    options.reading(until, Told::No)
}

/// Says once that explaining takes long, where no bar shows it.
struct Slow {
    what: String,
    findings: usize,
    started: Instant,
    said: Cell<bool>,
}

/// What takes longer than this is told.
const MOMENT: Duration = Duration::from_secs(5);

impl Slow {
    fn new(given: &str, findings: usize) -> Slow {
        let said = Cell::new(std::io::stderr().is_terminal());
        Slow { what: called(given).to_owned(), findings, started: Instant::now(), said }
    }

    fn say_once(&self) {
        if !self.said.get() && self.started.elapsed() >= MOMENT {
            self.said.set(true);
            let findings = plural(self.findings as u64, "finding");
            say::note(format!("{}: explaining {findings}; a signal ends it, and keeps them", self.what));
        }
    }
}

/// Which violations get a witness, by their place: those that will be shown, and those whose witness decides whether they
/// count.
fn wanted(verdict: &Verdict, options: &Options<'_>) -> Vec<usize> {
    let by_variable = options.aside.known.is_some_and(Known::needs_variables);
    let mut places = Vec::new();
    for (place, violation) in verdict.violations.iter().enumerate() {
        let wants = match violation.aside {
            Some(Aside::Suppressed(_)) => false,
            Some(Aside::Benign(_)) => true,
            None => by_variable || (options.witnesses == Wanted::All && place < MOST_EXPLAINED),
        };
        places.extend(wants.then_some(place));
    }
    places
}

/// Of each algorithm, so many findings get a witness: nobody reads the others, and witnesses take most of the memory
/// of a finding and most of the text of a report.
const MOST_EXPLAINED: usize = 10_000;

/// Says how many findings got no witness because there are so many.
fn mark_left_out(verdicts: &[Verdict], options: &Options<'_>, pass: &mut Pass) {
    let most = verdicts.iter().map(|verdict| verdict.violations.len()).max().unwrap_or(0);
    if options.witnesses == Wanted::All && most > MOST_EXPLAINED {
        let (all, most) = (plural(most as u64, "finding"), grouped(MOST_EXPLAINED as u64));
        pass.partial
            .get_or_insert(Partial::Unexplained(format!("{all}, of which the first {most} are explained")));
    }
}

/// What could be the witness of a finding, the better first.
fn possible(info: &Info, finding: &Finding) -> impl Iterator<Item = Request> {
    let Finding { block, transaction, event, .. } = *finding;
    let first = Request { block, transaction, event: event.at };
    let cycle = (info.blame == Blame::More && block.is_some()).then_some(Request { block: None, ..first });
    [first].into_iter().chain(cycle)
}

/// What is asked for. Algorithms often find the same; each request is made once.
#[derive(Default)]
struct Requests {
    list: Vec<Request>,
    index: HashMap<Key, usize>,
}

/// Two requests with the same blocks and event are the same.
type Key = (Option<EventId>, EventId, EventId);

impl Requests {
    fn key(request: &Request) -> Key {
        (request.block.map(|block| block.begin), request.transaction.begin, request.event)
    }

    fn add(&mut self, request: Request) {
        self.index.entry(Self::key(&request)).or_insert_with(|| {
            self.list.push(request);
            self.list.len() - 1
        });
    }

    fn position(&self, request: &Request) -> Option<usize> {
        self.index.get(&Self::key(request)).copied()
    }
}

fn changed_error(file: &str, expected: u64) -> Error {
    Error {
        file: file.to_owned(),
        place: Place::Whole,
        kind: ErrorKind::Io,
        problem: format!("has fewer than {expected} events now: it changed while it was checked"),
        help: "check it again once nobody writes to it".to_owned(),
    }
}

/// So many of the events before one of a witness are told, for drawings that unfold them.
const LAST: usize = 6;
/// So many are kept: a power of two, since every event of a trace gets a place among them.
const ROOM: usize = LAST.next_power_of_two();
/// They are told for so many events of witnesses, not to make reports of thousands of findings twice as long.
const MOST_TOLD: usize = 2_000;

/// Collects what witnesses speak of.
struct Stage {
    wanted: Vec<EventId>,
    next: usize,
    open: Vec<Open>,
    scene: Scene,
}

/// The outermost block of a thread.
#[derive(Clone)]
struct Open {
    outermost: Option<Block>,
    /// How many blocks are open.
    depth: u32,
    /// Events of the block so far.
    number: u64,
    /// The locks that the thread alone holds, in the order in which it took them.
    held: Vec<LockId>,
    /// Its last events, in a ring, where event `n` of the block has the place `n % ROOM`; the begin is event 0. Of those that the
    /// block has not had, there is anything.
    last: [(EventId, Event); ROOM],
}

impl Default for Open {
    fn default() -> Self {
        let nothing = Event { thread: ThreadId(0), op: Op::Skip, site: SiteId::NONE };
        Open { outermost: None, depth: 0, number: 0, held: Vec::new(), last: [(EventId(0), nothing); ROOM] }
    }
}

impl Open {
    /// What came before the event at hand.
    fn before(&self, told: usize) -> Before {
        let known = self.number.saturating_sub(1).min(if told < MOST_TOLD { LAST as u64 } else { 0 });
        let last = (self.number - known..self.number).map(|n| self.last[n as usize % ROOM]);
        Before { number: self.number, last: last.collect(), locks: self.held.clone() }
    }
}

impl Stage {
    fn new(witnesses: &[Witness], requests: &[Request]) -> Stage {
        let steps = witnesses.iter().flat_map(|w| &w.steps).flat_map(|step| [step.from, step.to]);
        let ends = requests
            .iter()
            .flat_map(|r| r.block.map(|b| b.begin).into_iter().chain([r.transaction.begin, r.event]));
        let mut wanted: Vec<EventId> = steps.chain(ends).collect();
        wanted.sort_unstable();
        wanted.dedup();
        Stage { wanted, next: 0, open: Vec::new(), scene: Scene::default() }
    }

    fn events(&mut self, first: EventId, events: &[Event]) {
        let mut next_wanted = self.wanted.get(self.next).copied();
        for (at, &event) in (first.0..).map(EventId).zip(events) {
            let thread = event.thread.index();
            if thread >= self.open.len() {
                self.open.resize(thread + 1, Open::default());
            }
            let open = &mut self.open[thread];
            if open.depth == 0
                && let Op::Begin(region) = event.op
            {
                let block = Block { begin: at, thread: event.thread, region, site: event.site };
                (open.outermost, open.number) = (Some(block), 0);
            }
            // Begins and ends come in no order that a branch predictor could learn: they are counted without a jump.
            open.depth += u32::from(matches!(event.op, Op::Begin(_)));
            if next_wanted == Some(at) {
                self.scene.0.insert(at, (event, open.outermost));
                self.scene.1.insert(at, open.before(self.scene.1.len()));
                self.next += 1;
                next_wanted = self.wanted.get(self.next).copied();
            }
            match event.op {
                Op::Acquire(lock, Mode::Exclusive) => open.held.push(lock),
                Op::Release(lock, Mode::Exclusive) => open.held.retain(|held| *held != lock),
                _ => {}
            }
            if open.depth > 0 {
                open.last[open.number as usize % ROOM] = (at, event);
                open.number += u64::from(!matches!(event.op, Op::Skip));
                open.depth -= u32::from(matches!(event.op, Op::End));
                if open.depth == 0 {
                    (open.outermost, open.number) = (None, 0);
                }
            }
        }
    }
}
