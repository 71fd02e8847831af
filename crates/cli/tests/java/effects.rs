//! What the JDK's table (`crates/agent/src/juc.rs`) says that methods do is what they do: a call that changes its object is
//! recorded as a write or an update, one that does not as a read. `tests/programs/java/behaviour/Effects.java` makes the
//! calls and prints what became of each object.

use crate::support::{atomvet, classes, run};

/// What was recorded between two marks: operation and line.
fn recorded(trace: &str) -> Vec<Vec<(&str, &str)>> {
    let mut steps: Vec<Vec<(&str, &str)>> = Vec::new();
    for event in trace.lines() {
        let mut parts = event.split('|').skip(1);
        let (Some(what), Some(site)) = (parts.next(), parts.next()) else { continue };
        let Some((operation, on)) = what.split_once('(') else { continue };
        if on.starts_with("Effects.marker") {
            steps.push(Vec::new());
        } else if let (Some(step), Some((_, line))) = (steps.last_mut(), site.rsplit_once(':')) {
            step.push((operation, line));
        }
    }
    steps
}

#[test]
fn calls_of_the_jdk_are_recorded_as_what_they_do() {
    let directory = tempfile::tempdir().expect("a directory");
    let [trace, text] = ["effects.atv", "effects.std"].map(|name| directory.path().join(name));
    let mut command = atomvet();
    command.args(["java", "--record-all", "--record"]).arg(&trace);
    command.arg("-cp").arg(classes()).arg("Effects");
    let output = run(&mut command);
    let said = String::from_utf8_lossy(&output.stderr);
    let converted = run(atomvet().arg("convert").arg(&trace).arg("-o").arg(&text));
    assert!(converted.status.success(), "{said}");
    let text = std::fs::read_to_string(&text).expect("a trace");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let steps = recorded(&text);
    assert_eq!(printed.lines().count(), steps.len(), "{said}");
    let mut wrong = Vec::new();
    for (said, step) in printed.lines().zip(steps) {
        let line = said.split(' ').next().expect("a line");
        let is_changed = said.ends_with(" changed");
        let here = step.iter().filter(|(_, at)| *at == line).map(|(operation, _)| *operation);
        let accesses: Vec<&str> =
            here.filter(|operation| matches!(*operation, "r" | "w" | "rmw" | "add")).collect();
        let is_recorded_as_change = accesses.iter().any(|operation| *operation != "r");
        if accesses.is_empty() || is_changed != is_recorded_as_change {
            wrong.push(format!("Effects.java:{said}, recorded {accesses:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
