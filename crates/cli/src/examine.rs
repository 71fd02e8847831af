//! Everything there is to say about one trace, as data: which blocks are violated according to
//! which algorithm, and why.
//!
//! ```text
//! pass 1   all checkers at once (and the serial order, if asked for)
//!          (and again without what idioms name: idioms.rs)
//! pass 2   Replay: a witness for each finding that will be shown        only if there are any,
//! pass 3   what the events of the witnesses are; Verifier, if asked for  and only as far as needed
//! ```

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::time::Instant;

use atomvet_check::idioms::Idiom;
use atomvet_check::registry::{self, Entry};
use atomvet_check::verify;
use atomvet_check::witness::{Explanation, SerialOrder};
use atomvet_check::{Analysis, Block, Finding, Findings, Info, Kind, Stats};
use atomvet_trace::wellformed::Discipline;
use atomvet_trace::{Error, Event, EventId, LockId, Names, Op, SiteId};
use xxhash_rust::xxh3::xxh3_64;

use crate::aside::{Aside, Rules};
use crate::budget::Explaining;
use crate::conventions::InForce;
use crate::meter::Meter;
use crate::pipeline::{self, Partial, Pass, Reading, Told, Until};
use crate::predicted::{self, Foreseen, Predicting, Proof, Shown};
use crate::refine::Entered;
use crate::spec::Spec;
use crate::spool::Source;
use crate::{idioms, interrupt, memory, why};

/// What to look for, and how.
#[derive(Clone)]
pub(crate) struct Options<'a> {
    /// The algorithms, in the order in which they are shown.
    pub(crate) algorithms: Vec<&'static Entry>,
    /// How events are understood.
    pub(crate) in_force: InForce,
    /// What to do with broken discipline.
    pub(crate) discipline: Discipline,
    /// Which blocks count.
    pub(crate) spec: Option<&'a Spec>,
    /// Which findings are kept.
    pub(crate) instances: Instances,
    /// For which findings a witness is wanted.
    pub(crate) witnesses: Wanted,
    /// Whether an independent judge looks at what is shown.
    pub(crate) verify: Verify,
    /// Whether an equivalent serial order is wanted.
    pub(crate) serial_order: Serial,
    /// How prediction is done.
    pub(crate) predicting: Predicting,
    /// How much time there is to explain findings.
    pub(crate) explaining: Explaining,
    /// Which findings do not count.
    pub(crate) aside: Rules<'a>,
}

impl<'a> Options<'a> {
    /// How to read a trace.
    pub(crate) fn reading(&self, until: Until, objects: Told) -> Reading<'a> {
        let idiom = self.aside.idioms.contains(&Idiom::CommutingUpdates);
        let commuting = Told::if_asked(idiom || self.in_force.config.commuting_updates);
        Reading { discipline: self.discipline, spec: self.spec, until, objects, commuting }
    }
}

/// Which findings are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instances {
    /// One per fingerprint, with a count.
    Folded,
    /// Every one.
    All,
}

/// For which findings a witness is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// None.
    None,
    /// All.
    All,
}

/// Whether an independent judge looks at what is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verify {
    /// No.
    No,
    /// Yes.
    Yes,
}

/// Whether an equivalent serial order is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Serial {
    /// No.
    No,
    /// Yes.
    Yes,
}

/// What was found in one trace.
pub(crate) struct Examined {
    /// The trace as the user named it.
    pub(crate) trace: String,
    /// What was read.
    pub(crate) pass: Pass,
    /// What each algorithm says.
    pub(crate) verdicts: Vec<Verdict>,
    /// The events of all witnesses.
    pub(crate) scene: Scene,
    /// The conventions under which it was judged.
    pub(crate) in_force: InForce,
    /// How often each block was entered.
    pub(crate) entered: Entered,
    /// The serial order, if it was asked for.
    pub(crate) serial_order: Option<SerialResult>,
    /// Seconds for all of it.
    pub(crate) seconds: f64,
}

/// What one algorithm says about a trace.
pub(crate) struct Verdict {
    /// The algorithm.
    pub(crate) info: &'static Info,
    /// The first event at which it knew that the trace is not serializable.
    pub(crate) first_cycle: Option<EventId>,
    /// What it found, in the order of the trace.
    pub(crate) violations: Vec<Violation>,
    /// What it found and does not count.
    pub(crate) set_aside: Vec<Violation>,
    /// What it predicts.
    pub(crate) foreseen: Foreseen,
    /// The figures of its paper.
    pub(crate) stats: Stats,
    /// Seconds of its own work.
    pub(crate) seconds: f64,
    /// Its own peak memory.
    pub(crate) peak_bytes: u64,
}

impl Verdict {
    /// Takes out what does not count.
    fn set_aside(&mut self) {
        (self.set_aside, self.violations) =
            std::mem::take(&mut self.violations).into_iter().partition(|violation| violation.aside.is_some());
    }
}

/// What the independent judge says; an error says what does not hold.
pub(crate) type Judgement = Result<(), String>;

/// A finding and what is known about it.
pub(crate) struct Violation {
    /// What the checker said.
    pub(crate) finding: Finding,
    /// The same for the same mistake in every run.
    pub(crate) fingerprint: u64,
    /// The cycle, if it was wanted and found.
    pub(crate) explanation: Option<Explanation>,
    /// What the independent judge says about the explanation, if it was asked.
    pub(crate) judgement: Option<Judgement>,
    /// The begins of the blocks that it stands for, none for a cycle without one; only the first, if no idiom is asked for.
    pub(crate) instances: Vec<Option<EventId>>,
    /// Why it does not count.
    pub(crate) aside: Option<Aside>,
}

impl Violation {
    /// A finding of which nothing else is known yet.
    pub(crate) fn new(finding: Finding, fingerprint: u64) -> Violation {
        Violation {
            instances: vec![finding.block.map(|block| block.begin)],
            finding,
            fingerprint,
            explanation: None,
            judgement: None,
            aside: None,
        }
    }
}

/// An equivalent serial order.
pub(crate) struct SerialResult {
    /// The transactions by their first events, with those; none if there is no such order.
    pub(crate) order: Option<Vec<(EventId, Event)>>,
    /// What the independent judge says about it, if it was asked.
    pub(crate) judgement: Option<Judgement>,
}

/// What the events of witnesses are, and in which outermost block; and what comes before each of them in that block.
#[derive(Default)]
pub(crate) struct Scene(
    pub(crate) BTreeMap<EventId, (Event, Option<Block>)>,
    pub(crate) HashMap<EventId, Before>,
);

/// What comes before an event in its outermost block.
#[derive(Default)]
pub(crate) struct Before {
    /// How many events, the begin included.
    pub(crate) number: u64,
    /// The last few of them, without the begin.
    pub(crate) last: Vec<(EventId, Event)>,
    /// The locks that its thread alone holds there.
    pub(crate) locks: Vec<LockId>,
}

impl Examined {
    /// Whether any algorithm found anything that counts. What a baseline with known errors says does not.
    pub(crate) fn violated(&self) -> bool {
        self.verdicts.iter().filter(|verdict| !registry::is_printed(verdict.info)).any(|verdict| {
            let unexplained = verdict.first_cycle.is_some() && verdict.set_aside.is_empty();
            unexplained || !verdict.violations.is_empty() || verdict.foreseen.is_bad()
        })
    }

    /// Judgements that must not be: the tool contradicts itself.
    pub(crate) fn internal_errors(&self) -> Vec<String> {
        let mut errors = Vec::new();
        for verdict in &self.verdicts {
            for violation in verdict.violations.iter().chain(&verdict.set_aside) {
                let at = violation.finding.event.at.0;
                if let Some(Err(problem)) = &violation.judgement {
                    errors
                        .push(format!("{}: the witness for event {at} fails: {problem}", verdict.info.name));
                }
            }
            let foreseen = &verdict.foreseen;
            let violations = foreseen.violations.iter().map(|found| (&found.proof, found.fingerprint));
            let deadlocks = foreseen.deadlocks.iter().map(|told| (&told.proof, told.fingerprint));
            let races = foreseen.races.iter().map(|told| (&told.proof, told.fingerprint));
            for (proof, fingerprint) in violations.chain(deadlocks).chain(races) {
                if let Proof { judgement: Some(Err(problem)), .. } = proof {
                    errors.push(format!(
                        "{}: the schedule for {fingerprint:016x} fails: {problem}",
                        verdict.info.name
                    ));
                }
            }
        }
        if let Some(Err(problem)) = self.serial_order.as_ref().and_then(|s| s.judgement.as_ref()) {
            errors.push(format!("the serial order fails: {problem}"));
        }
        errors
    }
}

/// Checks a trace.
pub(crate) fn examine(source: &mut Source, options: &Options<'_>) -> Result<Examined, Error> {
    let started = Instant::now();
    let mut running: Vec<Running> = options
        .algorithms
        .iter()
        .enumerate()
        .map(|(account, entry)| Running::new(account, entry, options))
        .collect();
    let objects = Told::to(running.iter().filter_map(|checker| checker.analysis.as_deref()));
    let reading = options.reading(Until::End, objects);
    let mut serial = (options.serial_order == Serial::Yes)
        .then(|| (SerialOrder::new(&options.in_force.config), Vec::new()));
    let mut entered = Entered::default();
    let mut stopped_at = None;
    let mut pass = pipeline::run(source, reading, |slice| {
        stopped_at = running.iter_mut().filter_map(|checker| checker.take(slice)).min();
        if stopped_at.is_some() {
            running.iter_mut().for_each(Running::stop);
            return ControlFlow::Break(());
        }
        entered.count(slice.events);
        if let Some((order, kept)) = &mut serial {
            order.events(slice.first, slice.events);
            kept.extend_from_slice(slice.events);
        }
        ControlFlow::Continue(())
    })?;
    if let Some(at) = stopped_at {
        (pass.tally.events, pass.partial) = (at.0, Some(Partial::OutOfMemory));
    }
    if pass.partial == Some(Partial::OutOfMemory) {
        running.iter_mut().for_each(Running::stop);
        serial = None;
    }
    if interrupt::requested() && pass.tally.events > MOST_IN_A_HURRY {
        let predictive = running.iter_mut().filter(|checker| checker.info.kind == Kind::Predictive);
        predictive.for_each(Running::stop);
        serial = None;
    }
    let mut verdicts: Vec<Verdict> = running.into_iter().map(|r| r.finish(options, &pass.names)).collect();
    let serial_order = serial.map(|(order, events)| finish_serial(order, &events, options));
    if let Some(known) = options.aside.known {
        verdicts.iter_mut().for_each(|verdict| known.before_witnesses(verdict, &pass.names));
    }
    let benign = idioms::find(source, options, &mut pass, &mut verdicts)?;
    let limit = options.explaining.limit(started.elapsed());
    let scene = why::explain(source, options, limit, &mut pass, &mut verdicts)?;
    for verdict in &mut verdicts {
        if let Some(known) = options.aside.known {
            known.after_witnesses(verdict, &pass.names);
        }
        verdict.violations.iter_mut().for_each(|violation| benign.label(violation));
        verdict.set_aside();
        verdict.foreseen.set_benign_aside(&benign);
    }
    predicted::schedules(source, options, limit, &pass, &mut verdicts)?;
    if options.predicting.shown == Shown::WithSchedule {
        verdicts.iter_mut().for_each(|verdict| verdict.foreseen.leave_out_what_locks_alone_allow());
    }
    let seconds = started.elapsed().as_secs_f64();
    let (trace, in_force) = (source.given.clone(), options.in_force);
    Ok(Examined { trace, pass, in_force, verdicts, scene, entered, serial_order, seconds })
}

/// The same for a program that has judged itself: `events` are what its findings need for being explained.
pub(crate) fn told(
    mut pass: Pass,
    mut verdict: Verdict,
    entered: Entered,
    events: &[Event],
    options: &Options<'_>,
) -> Examined {
    if let Some(known) = options.aside.known {
        known.before_witnesses(&mut verdict, &pass.names);
    }
    let scene = why::explain_told(events, options, &mut pass, &mut verdict);
    if let Some(known) = options.aside.known {
        known.after_witnesses(&mut verdict, &pass.names);
    }
    verdict.set_aside();
    let (trace, in_force, seconds) = (String::new(), options.in_force, 0.0);
    Examined { trace, pass, in_force, verdicts: vec![verdict], scene, entered, serial_order: None, seconds }
}

/// Why nothing is predicted from a trace.
const ACCESSES_LEFT_OUT: &str =
    "the trace leaves out accesses that its own verdict does not need; record it with --record-all";

/// Predictive algorithms judge at the end, and a serial order is made there. After a signal there is no time for more events than
/// this: to prepare 10 million takes seconds.
const MOST_IN_A_HURRY: u64 = 1_000_000;

/// A checker at work.
struct Running {
    info: &'static Info,
    /// Whether what it would say holds: otherwise it is not asked.
    asked: bool,
    /// None once there was no memory to go on.
    analysis: Option<Box<dyn Analysis>>,
    findings: Findings,
    stats: Stats,
    meter: Meter,
}

/// A checker is asked how much memory it has taken after so many events.
const BETWEEN_LOOKS: usize = 64;

impl Running {
    fn new(account: usize, entry: &Entry, options: &Options<'_>) -> Running {
        let mut meter = Meter::new(account);
        let in_force = match entry.info.kind {
            Kind::Observed => options.in_force,
            Kind::Predictive => options.in_force.for_prediction(),
        };
        let config = in_force.config;
        let analysis = meter.measure(|| (entry.new)(&config));
        let mut findings = match options.instances {
            Instances::Folded if options.aside.idioms.is_empty() => Findings::folded(&config),
            Instances::Folded => Findings::block_instances(&config),
            Instances::All => Findings::all_instances(&config),
        };
        findings.effort = options.predicting.effort(entry.info.name);
        let asked = entry.info.kind == Kind::Observed || options.in_force.allow_prediction();
        Running {
            info: entry.info,
            asked,
            analysis: Some(analysis),
            findings,
            stats: Stats::default(),
            meter,
        }
    }

    /// Takes events. If they do not fit into the memory that there is: up to which one they did.
    fn take(&mut self, slice: &pipeline::Slice<'_>) -> Option<EventId> {
        let Running { asked: true, analysis, findings, meter, .. } = self else { return None };
        let analysis = analysis.as_mut()?;
        meter.measure(|| {
            if !slice.objects.is_empty() {
                analysis.objects(slice.first_variable, slice.objects);
            }
            let mut first = slice.first;
            for events in slice.events.chunks(BETWEEN_LOOKS) {
                analysis.events(first, events, findings);
                first.0 += events.len() as u64;
                if memory::is_exceeded() {
                    return Some(first);
                }
            }
            None
        })
    }

    /// Keeps what was found, and gives back the memory.
    fn stop(&mut self) {
        let Running { analysis, findings, stats, meter, .. } = self;
        if let Some(analysis) = analysis.take() {
            *stats = meter.measure(|| analysis.stop(findings));
        }
    }

    fn finish(self, options: &Options<'_>, names: &Names) -> Verdict {
        let Running { info, asked, analysis, mut findings, mut stats, mut meter } = self;
        if let Some(analysis) = analysis {
            stats = meter.measure(|| analysis.finish(&mut findings));
        }
        let mut violations: Vec<Violation> = Vec::new();
        let mut by_fingerprint = HashMap::new();
        for finding in std::mem::take(&mut findings.list) {
            let fingerprint = fingerprint(&finding, names);
            let first = *by_fingerprint.entry(fingerprint).or_insert(violations.len());
            match violations.get_mut(first) {
                Some(same) if options.instances == Instances::Folded => {
                    same.finding.count += finding.count;
                    if !options.aside.idioms.is_empty() {
                        same.instances.push(finding.block.map(|block| block.begin));
                    }
                }
                _ => violations.push(Violation::new(finding, fingerprint)),
            }
        }
        let folded = options.instances == Instances::Folded;
        let first_cycle = findings.first_cycle;
        let foreseen = if asked {
            Foreseen::new(findings, &stats, folded, names)
        } else {
            Foreseen::not_judged(ACCESSES_LEFT_OUT)
        };
        let (seconds, peak_bytes) = (meter.seconds(), meter.peak_bytes());
        let set_aside = Vec::new();
        Verdict { info, first_cycle, violations, set_aside, foreseen, stats, seconds, peak_bytes }
    }
}

/// The same for the same mistake in every run: it knows neither threads nor positions.
pub(crate) fn fingerprint(finding: &Finding, names: &Names) -> u64 {
    let (rule, block) = match finding.block {
        Some(block) => ("block-not-serializable", block),
        None => ("trace-not-serializable", finding.transaction),
    };
    let parts = [
        rule,
        &names.block(block.region, block.site),
        site(names, block.site).unwrap_or(""),
        word(finding.event.op),
        site(names, finding.event.site).unwrap_or(""),
    ];
    let mut text = String::new();
    for part in parts {
        // With its length in front, no part can pretend to be two.
        text.push_str(&format!("{}:{part}", part.len()));
    }
    xxh3_64(text.as_bytes())
}

/// A site's name, if the place is known.
pub(crate) fn site(names: &Names, site: SiteId) -> Option<&str> {
    (site != SiteId::NONE).then(|| names.sites.get(site))
}

/// An operation's word in the text format, for those that it has none for as well.
pub(crate) fn word(op: Op) -> &'static str {
    op.keyword().unwrap_or(if op == Op::Skip { "skip" } else { "local" })
}

fn finish_serial(order: SerialOrder, events: &[Event], options: &Options<'_>) -> SerialResult {
    let order = order.finish();
    let judgement = match (&order, options.verify) {
        (Some(order), Verify::Yes) => Some(verify::serial_order(&options.in_force.config, events, order)),
        _ => None,
    };
    let order = order.map(|order| {
        let with_event = |at: EventId| Some((at, *events.get(usize::try_from(at.0).ok()?)?));
        order.into_iter().filter_map(with_event).collect()
    });
    SerialResult { order, judgement }
}
