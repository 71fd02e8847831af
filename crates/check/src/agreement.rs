//! Every checker against the oracle, every witness against the verifier: on one small trace, all
//! that this crate promises. Tests, `cargo xtask oracle` and the fuzzer call this.

mod foreseen;

pub use foreseen::foresee;

use std::collections::BTreeSet;

use atomvet_trace::{Event, EventId, Op, VarId};

use crate::oracle::{self, Division, Order, Verdict};
use crate::registry::{self, Entry};
use crate::verify::{self, Verifier};
use crate::witness::{Because, Explanation, Replay, Request, SerialOrder, Witness};
use crate::{Blame, Block, Config, Finding, Findings, Kind};

/// Checks everything on a well-formed trace; an error says what does not hold.
pub fn agree(config: &Config, events: &[Event]) -> Result<Verdict, String> {
    let verdict = oracle::judge(config, events);
    let order = Order::new(config, events);
    for entry in registry::of_kind(Kind::Observed) {
        let findings = run(entry, config, events, 1, Findings::all_instances);
        (verdicts_agree(entry, &verdict, &findings))
            .and_then(|()| innermost_blocks_are_told(&findings.list))
            .and_then(|()| witnesses_hold(config, events, &order, &findings.list))
            .and_then(|()| folding_agrees(&run(entry, config, events, 1, Findings::folded), &findings))
            .and_then(|()| {
                let in_objects = run(entry, config, events, 2, Findings::all_instances);
                verdicts_agree(entry, &verdict, &in_objects)
            })
            .map_err(|problem| format!("{}: {problem}", entry.info.name))?;
        if entry.info.blame == Blame::Exact {
            refinement_agrees(config, events, &findings.list)?;
        }
    }
    serial_order_holds(config, events, &verdict)?;
    Ok(verdict)
}

/// What a checker finds, where so many variables belong to each object.
fn run(
    entry: &Entry,
    config: &Config,
    events: &[Event],
    variables_per_object: u32,
    findings: fn(&Config) -> Findings,
) -> Findings {
    let mut findings = findings(config);
    let mut checker = (entry.new)(config);
    let variable = |event: &Event| match event.op {
        Op::Read(x, _) | Op::Write(x, _) | Op::Update(x, _) | Op::Alloc(x) | Op::Free(x) | Op::Escape(x) => {
            x.0 + 1
        }
        _ => 0,
    };
    let variables = events.iter().map(variable).max().unwrap_or(0);
    let objects: Vec<_> = (0..variables).map(|x| VarId(x - x % variables_per_object)).collect();
    checker.objects(VarId(0), &objects);
    checker.events(EventId(0), events, &mut findings);
    let _ = checker.finish(&mut findings);
    findings
}

fn verdicts_agree(entry: &Entry, verdict: &Verdict, findings: &Findings) -> Result<(), String> {
    let serializable = findings.first_cycle.is_none();
    if serializable != verdict.serializable || serializable != findings.list.is_empty() {
        return Err(format!("serializable: {serializable}, the oracle says {}", verdict.serializable));
    }
    if entry.info.tells_first_event && findings.first_cycle != verdict.first_cycle_event {
        let (ours, theirs) = (findings.first_cycle, verdict.first_cycle_event);
        return Err(format!("first cycle event {ours:?}, the oracle says {theirs:?}"));
    }
    let listed: Vec<EventId> = findings.list.iter().filter_map(|f| Some(f.block?.begin)).collect();
    let blamed: BTreeSet<EventId> = listed.iter().copied().collect();
    if blamed.len() != listed.len() {
        return Err(format!("a block is reported twice: {listed:?}"));
    }
    let blocks: BTreeSet<EventId> = verdict.violated_blocks.iter().copied().collect();
    let transactions: BTreeSet<EventId> = verdict.violated_transactions.iter().copied().collect();
    let right = match entry.info.blame {
        Blame::Exact => blamed == blocks,
        Blame::Some => blamed.is_subset(&transactions),
        Blame::More => blamed.is_superset(&transactions),
        Blame::None => blamed.is_empty(),
    };
    match right {
        true => Ok(()),
        false => Err(format!("blames {blamed:?}; violated are {blocks:?}, outermost {transactions:?}")),
    }
}

/// A block is the innermost if the event that completed its violation violated none inside it.
fn innermost_blocks_are_told(findings: &[Finding]) -> Result<(), String> {
    for finding in findings {
        let Some(block) = finding.block else { continue };
        let is_inside = |other: &Finding| {
            other.event == finding.event
                && other.block.is_some_and(|other| other.thread == block.thread && other.begin > block.begin)
        };
        if finding.innermost == findings.iter().any(is_inside) {
            return Err(format!("innermost is wrong in {finding:?}"));
        }
    }
    Ok(())
}

/// Folding leaves out findings that are like an earlier one, and counts them.
fn folding_agrees(folded: &Findings, all: &Findings) -> Result<(), String> {
    let mut instances = all.list.iter();
    let are_instances = folded.list.iter().all(|finding| {
        let first = Finding { count: 1, ..finding.clone() };
        instances.any(|instance| *instance == first)
    });
    let count: u64 = folded.list.iter().map(|finding| finding.count).sum();
    match are_instances && count == all.list.len() as u64 && folded.first_cycle == all.first_cycle {
        true => Ok(()),
        false => Err(format!("{:?} folded are {:?}", all.list, folded.list)),
    }
}

fn witnesses_hold(
    config: &Config,
    events: &[Event],
    order: &Order,
    findings: &[Finding],
) -> Result<(), String> {
    let requests: Vec<Request> = findings.iter().map(Request::from).collect();
    let (mut witnesses, mut clearer) = (Vec::new(), Vec::new());
    let explanations = replay(config, events, &requests);
    // What is passed over while nothing is looked for makes no difference but between ways that are as good.
    if let (Some(&request), Some(found)) = (requests.last(), explanations.last()) {
        let alone = replay(config, events, &[request]).remove(0);
        if alone.as_ref().map(costs) != found.as_ref().map(costs) {
            return Err(format!("asked for alone, {request:?} has {alone:?} and not {found:?}"));
        }
    }
    for (request, found) in requests.iter().zip(explanations) {
        let again = || replay(config, events, &[Request { block: None, ..*request }]).remove(0);
        let found = found.or_else(again).ok_or_else(|| format!("no witness for {request:?}"))?;
        let ends_late = found.witness.steps.last().is_none_or(|last| last.to > request.event);
        if ends_late && found.witness.block.is_some() {
            return Err(format!("the witness ends after its event: {found:?}"));
        }
        witnesses.push(found.witness);
        clearer.extend(found.by_data);
    }
    let by_data = |witness: &Witness| witness.steps.iter().all(|step| is_data(step.because));
    if let Some(witness) = clearer.iter().find(|witness| !by_data(witness)) {
        return Err(format!("synchronization in a cycle of data: {witness:?}"));
    }
    judge_witnesses(config, events, &clearer)?;
    judge_witnesses(config, events, &witnesses)?;
    let division = Division::new(config, events, &BTreeSet::new());
    for (request, witness) in requests.iter().zip(&witnesses) {
        let fewest = match witness.block {
            // The pieces of split blocks have fewer events than is assumed there.
            Some(_) if config.split_at_waits => continue,
            Some(block) => shortest_way_back(events, order, block, request.event),
            None => shortest_cycle(events, order, &division, *request),
        };
        let shown = witness.steps.iter().filter(|step| step.because.is_between_threads()).count();
        if fewest != Some(shown) {
            return Err(format!(
                "a witness has {shown} steps between threads instead of {fewest:?}: {witness:?}"
            ));
        }
    }
    Ok(())
}

/// How many steps between threads there are, and how many of these only synchronization orders.
fn costs(explanation: &Explanation) -> [Option<(usize, usize)>; 2] {
    let cost = |witness: &Witness| {
        let between = witness.steps.iter().filter(|step| step.because.is_between_threads());
        (between.clone().count(), between.filter(|step| !is_data(step.because)).count())
    };
    [Some(&explanation.witness), explanation.by_data.as_ref()].map(|witness| witness.map(cost))
}

fn is_data(because: Because) -> bool {
    matches!(because, Because::Access(..) | Because::ProgramOrder(_))
}

fn judge_witnesses(config: &Config, events: &[Event], witnesses: &[Witness]) -> Result<(), String> {
    let mut verifier = Verifier::new(config, witnesses);
    verifier.events(EventId(0), events);
    for (witness, judgement) in witnesses.iter().zip(verifier.finish()) {
        judgement.map_err(|problem| format!("{problem}: {witness:?}"))?;
    }
    Ok(())
}

fn replay(config: &Config, events: &[Event], requests: &[Request]) -> Vec<Option<Explanation>> {
    let mut replay = Replay::new(config, requests);
    replay.events(EventId(0), events);
    replay.finish()
}

/// The fewest steps between threads from a block to an event of it that another thread is before.
fn shortest_way_back(events: &[Event], order: &Order, block: Block, last: EventId) -> Option<usize> {
    let (begin, last) = (block.begin.0 as usize, last.0 as usize);
    // steps[e]: the fewest steps between threads from the block to event e, at least one.
    let mut steps: Vec<Option<usize>> = vec![None; events.len()];
    for to in begin..=last {
        for from in begin..to {
            if !order.directly_before(from, to) {
                continue;
            }
            let within = events[from].thread == events[to].thread;
            let leaves = events[from].thread == block.thread;
            let so_far = match (leaves, within) {
                (true, true) => continue,
                (true, false) => Some(1),
                (false, _) => steps[from].map(|steps| steps + usize::from(!within)),
            };
            steps[to] = [steps[to], so_far].into_iter().flatten().min();
        }
    }
    steps[last]
}

/// The fewest steps between threads of a cycle through the request's transaction, up to its event. From
/// an event, other events of its transaction and later ones of its thread are reached without a step.
fn shortest_cycle(events: &[Event], order: &Order, division: &Division, request: Request) -> Option<usize> {
    let prefix = 0..=request.event.0 as usize;
    let transaction_of = &division.transaction_of;
    let thread = request.transaction.thread;
    let is_of_thread = |&e: &usize| events[e].thread == thread && transaction_of[e].is_some();
    let start = transaction_of[prefix.clone().rfind(is_of_thread)?];
    // steps[e]: the fewest steps from the transaction to event e of another, or back to one of its own.
    let mut steps: Vec<Option<usize>> = vec![None; events.len()];
    loop {
        let before = steps.clone();
        for (from, to) in prefix.clone().flat_map(|from| prefix.clone().map(move |to| (from, to))) {
            let leaves = transaction_of[from] == start;
            let so_far = if leaves { Some(0) } else { steps[from] };
            let together = transaction_of[from].is_some() && transaction_of[from] == transaction_of[to];
            let ordered = order.directly_before(from, to);
            let more = match events[from].thread == events[to].thread {
                _ if leaves && transaction_of[to] == start => continue,
                true if together || ordered => 0,
                false if ordered => 1,
                _ => continue,
            };
            let steps_here = so_far.map(|steps| steps + more);
            steps[to] = [steps[to], steps_here].into_iter().flatten().min();
        }
        if steps == before {
            return prefix.filter(|&e| transaction_of[e] == start).filter_map(|e| steps[e]).min();
        }
    }
}

fn refinement_agrees(config: &Config, events: &[Event], findings: &[Finding]) -> Result<(), String> {
    let name = |finding: &Finding| oracle::block_name(&events[finding.block?.begin.0 as usize]);
    let refined: BTreeSet<_> = findings.iter().filter_map(name).collect();
    let expected = oracle::refine_by_iteration(config, events);
    match refined == expected {
        true => Ok(()),
        false => Err(format!("one pass refines to {refined:?}, iteration to {expected:?}")),
    }
}

fn serial_order_holds(config: &Config, events: &[Event], verdict: &Verdict) -> Result<(), String> {
    let mut search = SerialOrder::new(config);
    search.events(EventId(0), events);
    match search.finish() {
        Some(order) if verdict.serializable => verify::serial_order(config, events, &order),
        Some(_) => Err("a serial order of a trace that has none".to_owned()),
        None if verdict.serializable => Err("no serial order of a serializable trace".to_owned()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use atomvet_trace::Conflicts;

    use super::*;
    use crate::notation;
    use crate::oracle::random::{Random, trace};

    #[test]
    fn on_random_traces() {
        let mut not_serializable = 0;
        for seed in 0..20_000 {
            let events = trace(&mut Random(seed), 8 + seed as usize % 30);
            let config = Config {
                commuting_updates: seed % 2 == 1,
                split_at_waits: seed % 4 >= 2,
                conflicts: if seed % 8 >= 4 { Conflicts::Data } else { Conflicts::Locks },
            };
            match agree(&config, &events) {
                Ok(verdict) => not_serializable += usize::from(!verdict.serializable),
                Err(problem) => panic!("seed {seed}, {config:?}: {problem}\n{events:?}"),
            }
        }
        assert!(not_serializable > 2_000, "only {not_serializable} traces were not serializable");
    }

    #[test]
    fn a_wrong_verdict_is_noticed() {
        let (events, _) = notation::parse("1:b 1:r(x) 2:w(x) 1:w(x) 1:e");
        let config = Config::default();
        let (right, entry) = (oracle::judge(&config, &events), &registry::CHECKERS[0]);
        let findings = run(entry, &config, &events, 1, Findings::all_instances);
        assert_eq!(verdicts_agree(entry, &right, &findings), Ok(()));
        let wrong = Verdict { violated_blocks: vec![], ..right.clone() };
        assert!(verdicts_agree(entry, &wrong, &findings).is_err());
        let wrong = Verdict { first_cycle_event: Some(EventId(4)), ..right };
        assert!(verdicts_agree(entry, &wrong, &findings).is_err());
    }
}
