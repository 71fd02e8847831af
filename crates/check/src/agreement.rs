//! Every checker against the oracle, every witness against the verifier: on one small trace, all
//! that this crate promises. Tests, `cargo xtask oracle` and the fuzzer call this.

use std::collections::BTreeSet;

use atomvet_trace::{Event, EventId};

use crate::oracle::{self, Order, Verdict};
use crate::registry::{CHECKERS, Entry};
use crate::verify::{self, Verifier};
use crate::witness::{Because, Explanation, Replay, Request, SerialOrder, Witness};
use crate::{Blame, Config, Finding, Findings, Kind};

/// Checks everything on a well-formed trace; an error says what does not hold.
pub fn agree(config: &Config, events: &[Event]) -> Result<Verdict, String> {
    let verdict = oracle::judge(config, events);
    let order = Order::new(config, events);
    for entry in CHECKERS.iter().filter(|entry| entry.info.kind == Kind::Observed) {
        let findings = run(entry, config, events);
        (verdicts_agree(entry, &verdict, &findings))
            .and_then(|()| witnesses_hold(config, events, &order, &findings.list))
            .map_err(|problem| format!("{}: {problem}", entry.info.name))?;
        if entry.info.blame == Blame::Exact {
            refinement_agrees(config, events, &findings.list)?;
        }
    }
    serial_order_holds(config, events, &verdict)?;
    Ok(verdict)
}

fn run(entry: &Entry, config: &Config, events: &[Event]) -> Findings {
    let mut findings = Findings::all_instances(config);
    let mut checker = (entry.new)(config);
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

fn witnesses_hold(
    config: &Config,
    events: &[Event],
    order: &Order,
    findings: &[Finding],
) -> Result<(), String> {
    let requests: Vec<Request> = findings.iter().map(Request::from).collect();
    let (mut witnesses, mut clearer) = (Vec::new(), Vec::new());
    for (request, found) in requests.iter().zip(replay(config, events, &requests)) {
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
    // The pieces of split blocks have fewer events than is assumed there.
    let judged = if config.split_at_waits { 0 } else { witnesses.len() };
    (requests.iter().zip(&witnesses).take(judged))
        .try_for_each(|(request, witness)| is_shortest(events, order, *request, witness))
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

/// A way out of a block and back has the fewest steps between threads.
fn is_shortest(events: &[Event], order: &Order, request: Request, witness: &Witness) -> Result<(), String> {
    let Some(block) = witness.block else { return Ok(()) };
    let (begin, last) = (block.begin.0 as usize, request.event.0 as usize);
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
    let shown = witness.steps.iter().filter(|step| step.because.is_between_threads()).count();
    match steps[last] {
        Some(fewest) if fewest == shown => Ok(()),
        fewest => {
            Err(format!("a witness has {shown} steps between threads instead of {fewest:?}: {witness:?}"))
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
    use super::*;
    use crate::notation;
    use crate::oracle::random::{Random, trace};

    #[test]
    fn on_random_traces() {
        let mut not_serializable = 0;
        for seed in 0..20_000 {
            let events = trace(&mut Random(seed), 8 + seed as usize % 30);
            let config = Config { commuting_updates: seed % 2 == 1, split_at_waits: seed % 4 >= 2 };
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
        let (right, entry) = (oracle::judge(&config, &events), &CHECKERS[0]);
        let findings = run(entry, &config, &events);
        assert_eq!(verdicts_agree(entry, &right, &findings), Ok(()));
        let wrong = Verdict { violated_blocks: vec![], ..right.clone() };
        assert!(verdicts_agree(entry, &wrong, &findings).is_err());
        let wrong = Verdict { first_cycle_event: Some(EventId(4)), ..right };
        assert!(verdicts_agree(entry, &wrong, &findings).is_err());
    }
}
