use crate::enumerate::programs::{Column, Operations, program};
use crate::enumerate::{Limits, enumerate};
use crate::predictive::{Effort, Judge, Predicted, record};
use crate::{Config, notation};
use atomvet_trace::Event;

fn is_broken(events: &[Event]) -> bool {
    let execution = record(&Config::default(), events);
    let mut out = Predicted::default();
    super::Blocks.judge(&execution, &mut Effort::default(), &mut out);
    !out.violations.is_empty()
}

#[test]
fn measure() {
    let n: u64 = std::env::var("N").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let show = std::env::var("SHOW").is_ok();
    for ops in [Operations::Plain, Operations::Rich] {
        for column in Column::ALL {
            let (mut atomic, mut bad, mut missed, mut alarms, mut dead) = (0, 0, 0, 0, 0);
            for seed in 0..n {
                let events = program(column, ops, seed);
                let Some(truth) = enumerate(&events, &Limits { states: 300_000 }) else { continue };
                if truth.deadlock_possible {
                    dead += 1;
                }
                let found = is_broken(&events);
                if truth.view_atomic {
                    atomic += 1
                } else {
                    bad += 1
                }
                if truth.view_atomic && found {
                    alarms += 1;
                    if show && alarms < 4 {
                        eprintln!(
                            "ALARM {} dead {} {}",
                            column.name(),
                            truth.deadlock_possible,
                            notation::show(&events, &names(&events))
                        );
                    }
                }
                if !truth.view_atomic && !found {
                    missed += 1;
                    if show && missed < 4 {
                        eprintln!(
                            "MISSED {} dead {} {}",
                            column.name(),
                            truth.deadlock_possible,
                            notation::show(&events, &names(&events))
                        );
                    }
                }
            }
            eprintln!(
                "{ops:?} {} atomic {atomic} bad {bad} missed {missed} alarms {alarms} ({:.2}%) dead {dead}",
                column.name(),
                100.0 * f64::from(alarms) / f64::from(atomic)
            );
        }
    }
}

fn names(_events: &[Event]) -> atomvet_trace::Names {
    let mut names = atomvet_trace::Names::default();
    for i in 0..30 {
        names.variables.intern(&format!("x{i}"));
        names.locks.intern(&format!("l{i}"));
        names.barriers.intern(&format!("b{i}"));
        names.regions.intern(&format!("r{i}"));
        names.threads.intern(&format!("{i}"));
    }
    names
}
