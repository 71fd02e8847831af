//! Makes a failing program smaller, as long as it fails. A JVM takes longer to start than a program to run, so all programs with
//! one thing less are tried at once.

use super::execute::{address, execute};
use super::program::{Program, Statement};

/// How often programs are tried.
const ROUNDS: usize = 60;
/// How many at once.
const AT_ONCE: usize = 80;

/// The smallest program that was found to fail. `failing` says which ones of some programs do.
pub(crate) fn shrink(
    program: Program,
    mut failing: impl FnMut(&[Program]) -> anyhow::Result<Vec<bool>>,
) -> anyhow::Result<Program> {
    let mut smallest = program;
    for _ in 0..ROUNDS {
        let mut candidates = smaller(&smallest);
        candidates.retain(|candidate| execute(candidate).is_some() && size(candidate) < size(&smallest));
        candidates.sort_by_key(size);
        let mut found = None;
        for candidates in candidates.chunks(AT_ONCE) {
            let fails = failing(candidates)?;
            found =
                candidates.iter().zip(fails).find(|(_, fails)| *fails).map(|(program, _)| program.clone());
            if found.is_some() {
                break;
            }
        }
        match found {
            Some(program) => smallest = program,
            None => break,
        }
    }
    Ok(smallest)
}

fn size(program: &Program) -> usize {
    fn statements(body: &[Statement]) -> usize {
        body.iter().map(|statement| 1 + statement.inside().map_or(0, |body| statements(body))).sum()
    }
    let steps = execute(program).map_or(0, |execution| execution.order.len());
    program.bodies().map(|body| statements(body)).sum::<usize>() + steps
}

/// The program without one of its bodies or statements, or with what is in a statement instead of it. The other steps keep
/// their order.
fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let Some(execution) = execute(program) else { return all };
    let addresses: Vec<Vec<usize>> = program.bodies().map(|body| addresses(body)).collect();
    let steps = || execution.order.iter().zip(&execution.within);
    for (number, addresses) in addresses.iter().enumerate() {
        let mut change = |keep: Option<Keep>, at: usize| {
            let mut changed = program.clone();
            let stays = |within: &Vec<usize>| match keep {
                None => !within.iter().any(|address| addresses.contains(address)),
                Some(Keep::Nothing) => !within.contains(&addresses[at]),
                Some(Keep::Inside) => within.last() != Some(&addresses[at]),
            };
            changed.preferred =
                steps().filter(|(_, within)| stays(within)).map(|(&thread, _)| thread).collect();
            let body = changed.bodies_mut().nth(number);
            match (body, keep) {
                (Some(body), None) => body.clear(),
                (Some(body), Some(keep)) => {
                    remove(body, &mut at.clone(), keep);
                }
                (None, _) => return,
            }
            all.push(changed);
        };
        if !addresses.is_empty() {
            change(None, 0);
        }
        for at in 0..addresses.len() {
            change(Some(Keep::Nothing), at);
            change(Some(Keep::Inside), at);
        }
    }
    for method in 0..program.methods.len() {
        if program.methods[method].synchronized.is_some() {
            let mut changed = program.clone();
            changed.methods[method].synchronized = None;
            all.push(changed);
        }
    }
    all
}

/// All statements, those inside of others behind them.
fn addresses(body: &[Statement]) -> Vec<usize> {
    let mut all = Vec::new();
    for statement in body {
        all.push(address(statement));
        all.extend(statement.inside().map(|body| addresses(body)).unwrap_or_default());
    }
    all
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Nothing,
    Inside,
}

/// Removes a statement, counted from 0 through all that is inside of others.
fn remove(body: &mut Vec<Statement>, at: &mut usize, keep: Keep) -> bool {
    for place in 0..body.len() {
        if *at == 0 {
            let removed = body.remove(place);
            let inside = removed.inside().filter(|_| keep == Keep::Inside).cloned();
            body.splice(place..place, inside.unwrap_or_default());
            return true;
        }
        *at -= 1;
        if body[place].inside_mut().is_some_and(|body| remove(body, at, keep)) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::generate::{Style, generate};
    use super::super::happening::Happening;
    use super::*;
    use crate::random::Random;

    /// Whether a value of one thread comes to another through a queue.
    fn hands_over(program: &Program) -> bool {
        let execution = execute(program).expect("only programs that end are tried");
        let puts = |&(thread, happening): &_| match happening {
            Happening::Send(sent) => Some((thread, sent)),
            _ => None,
        };
        let sent: Vec<(usize, usize)> = execution.happenings.iter().filter_map(puts).collect();
        program.has(|statement| matches!(statement, Statement::Take { .. }))
            && execution.happenings.iter().any(|&(thread, happening)| match happening {
                Happening::Receive(signal) => sent.iter().any(|&(by, sent)| sent == signal && by != thread),
                _ => false,
            })
    }

    #[test]
    fn what_is_not_needed_goes() {
        let mut tried = 0;
        for seed in 0..80 {
            let program = generate(&mut Random::new(seed), Style::Ordered, false, false);
            if hands_over(&program) {
                tried += 1;
                let fails = |programs: &[Program]| Ok(programs.iter().map(hands_over).collect());
                let smallest = shrink(program, fails).expect("nothing can go wrong");
                // One puts, one takes.
                let order = execute(&smallest).expect("it ends").order;
                assert_eq!(order.len(), 2, "{smallest:#?}");
            }
        }
        assert!(tried > 2, "only {tried} programs hand something over");
    }
}
