//! The texts of `--help` besides those of the options: commands in groups, and examples.

use clap::Command;

/// The commands, in the order in which people need them. One that is in no group is shown at the end.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start here", &["demo", "explain"]),
    ("Programs", &["run", "cc", "c++", "cargo", "java"]),
    ("Recorded runs", &["check", "compare", "experiment", "refine", "stats", "convert", "gen"]),
    ("Findings", &["report", "baseline"]),
    ("About atomvet", &["list", "completions", "man", "help"]),
];

/// Shows the commands in groups.
pub(crate) fn grouped(mut command: Command) -> Command {
    // Only a command that has been built knows of its `help`.
    command.build();
    let mut commands = String::new();
    let known = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others: Vec<&str> =
        command.get_subcommands().map(Command::get_name).filter(|name| !known(name)).collect();
    for (heading, names) in GROUPS.iter().chain([&("Others", &others[..])]) {
        let named = names.iter().filter_map(|name| command.find_subcommand(name));
        let lines: String = named
            .map(|sub| format!("  {:<12} {}\n", sub.get_name(), sub.get_about().cloned().unwrap_or_default()))
            .collect();
        if !lines.is_empty() {
            commands.push_str(&format!("{heading}:\n{lines}\n"));
        }
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{commands}Options:\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

/// Behind the overview.
pub(crate) const AFTER: &str = "\
Examples:
  atomvet demo                                     a bug in a small bank, found and explained
  make CC=\"atomvet cc\" && atomvet run -- ./tests   a program of yours, live
  atomvet check trace.std                          a recorded run: is every block atomic?
  atomvet check --predict trace.std                would another schedule break a block?
  atomvet check --format html -o out.html t.atv    a report for the browser; sarif and junit for CI
  atomvet refine a.std b.std -o spec.toml && atomvet check --spec spec.toml c.std

Exit status: 0 clean; 1 violations; 2 wrong use or bad input; 3 nothing was observed
(no events, no block, or one thread only), or not everything was judged. `atomvet explain` says what the words mean,
`atomvet COMMAND --help` has the options and more examples.";

/// Behind the options of run.
pub(crate) const RUN: &str = "\
Examples:
  gcc -g -fsanitize=thread bank.c -o bank && atomvet run -- ./bank
  make CC=\"atomvet cc\" CXX=\"atomvet c++\" && atomvet run -- ./test_suite
  atomvet run --refine spec.toml -- ./test_suite && atomvet run --spec spec.toml -- ./test_suite
  atomvet run --record run.atv -- ./prog && atomvet check run.atv

Every function of your own code should be atomic, but for main and what threads are started with, unless
a specification or annotations (atomvet.h) say otherwise. The report goes to standard error: standard output is the
program's. If the program fails by itself and nothing else is wrong, the exit status is 2. Ctrl-C, `kill` and
`timeout` end the program, see --grace, and report what was found.
docs/native.md says what is seen, what is not, and what it costs.";

/// Behind the options of cc and c++.
pub(crate) const CC: &str = "\
Examples:
  make CC=\"atomvet cc\" CXX=\"atomvet c++\"
  ATOMVET_CC=clang-14 atomvet cc -O2 -o prog prog.c

ATOMVET_CC and ATOMVET_CXX name the compiler [default: gcc and g++]. What is made runs as usual without
`atomvet run`.";

/// Behind the options of check.
pub(crate) const CHECK: &str = "\
Examples:
  atomvet check trace.std
  atomvet check --predict --schedules shown trace.std    what could happen in another schedule
  atomvet check --algo regiontrack,velodrome --verify trace.atv
  atomvet check --spec spec.toml --format json -o report.json run1.atv run2.atv
  atomvet check --baseline atomvet.baseline --idiom hint-reads trace.atv    what counts no more
  atomvet check --format html --format sarif -o report trace.atv    report.html, report.sarif
  zcat trace.gz | atomvet check -
  atomvet check runs/ 'nightly/**/*.atv'                 every trace in a folder, or that matches
  find . -name '*.atv' | atomvet check -j 8 --files-from - --format json -o all.json

Several traces have one report; a mistake that several have in common is one finding. A bad trace among them is reported and
the others are still checked; the status is then 2, whatever else was found. Nothing to check (an empty folder, a pattern
without a match) is status 2, too.
Ctrl-C, `kill` and `timeout` report what was found so far, marked partial, within about a second.";

/// Behind the options of compare.
pub(crate) const COMPARE: &str = "\
Examples:
  atomvet compare trace.std
  atomvet compare --algo observed --format json trace.atv

Missed and wrong count blocks by instance, against the exact algorithm; of those that predict, missed counts
blocks that were seen violated and that they do not predict to be.";

/// Behind the options of report.
pub(crate) const REPORT: &str = "\
Examples:
  atomvet check --format json -o findings.json trace.std
  atomvet report findings.json --format html -o findings.html
  atomvet report findings.json --format sarif --format junit -o findings
  atomvet report findings.json --format dot | dot -Tsvg > cycles.svg";

/// Behind the options of refine.
pub(crate) const REFINE: &str = "\
Example:
  atomvet refine run1.atv run2.atv -o spec.toml
  atomvet check --spec spec.toml run3.atv";

/// Behind the options of convert.
pub(crate) const CONVERT: &str = "\
Examples:
  atomvet convert trace.std -o trace.atv
  atomvet convert trace.atv -o - | head
  atomvet convert --to text - -o trace.txt < trace.atv";

/// Behind the options of gen.
pub(crate) const GEN: &str = "\
Examples:
  atomvet gen --seed 7 -o small.std
  atomvet gen --mode two-phase --events 10000000 --threads 16 -o big.atv

The same options and seed give the same bytes.";

/// Behind the options of stats.
pub(crate) const STATS: &str = "\
Examples:
  atomvet stats trace.atv
  atomvet stats --top 20 --format json trace.atv";

/// Behind the options of explain.
pub(crate) const EXPLAIN: &str = "\
Examples:
  atomvet explain                  all topics
  atomvet explain lost update      an anomaly: what happens, what mends it, a demo
  atomvet explain suspected        how sure a finding is
  atomvet explain velodrome        an algorithm: paper, guarantee, cost
  atomvet explain exit 3           an exit status, and what to do about it";

/// Behind the options of list.
pub(crate) const LIST: &str = "\
Examples:
  atomvet list
  atomvet list --format json
  atomvet explain regiontrack      one of them";

/// Behind the options of demo.
pub(crate) const DEMO: &str = "\
Examples:
  atomvet demo                          a lost update in a small bank
  atomvet demo --list                   all demos: one per anomaly, a prediction, a deadlock
  atomvet demo write-skew
  atomvet demo write-skew -o skew       keep its program and a recorded run
  atomvet demo --trace > bank.std       just the recorded run

The programs are built with `atomvet cc` (gcc, clang, or what ATOMVET_CC names) in a temporary directory and run under
`atomvet run`. Where that is impossible, a recorded run is checked. The exit status is 0 although something is found.";

/// Behind the options of completions.
pub(crate) const COMPLETIONS: &str = "\
Examples:
  atomvet completions bash > ~/.local/share/bash-completion/completions/atomvet
  atomvet completions zsh > ~/.zfunc/_atomvet          with ~/.zfunc in fpath
  atomvet completions fish > ~/.config/fish/completions/atomvet.fish
  source <(atomvet completions bash)                   for this shell only";

/// Behind the options of man.
pub(crate) const MAN: &str = "\
Examples:
  atomvet man | man -l -
  atomvet man check | man -l -
  atomvet man --output ~/.local/share/man/man1";

/// Behind the options of java.
pub(crate) const JAVA: &str = "\
Examples:
  atomvet java -jar app.jar
  atomvet java -cp classes:lib/* com.acme.Main arguments
  atomvet java --include java.util.Vector -cp classes Main       a class of the JDK, watched in place
  atomvet run -- mvn test                                        every JVM that a build tool starts

Every method of the application's classes should be atomic, private ones and lambdas included; not main, and not the run,
call or lambda that a thread or an executor starts with (--blocks and a specification say otherwise). Options for atomvet stand before those for the JVM, which is that of
JAVA_HOME or the first java in PATH, version 17 or later. The report goes to standard error. docs/jvm.md says what is
seen and what is not.";

/// Behind the options of experiment.
pub(crate) const EXPERIMENT: &str = "\
Examples:
  atomvet experiment a.std b.std --algo velodrome,aerodrome --repetitions 5
  atomvet experiment plan.toml --timeout 60 --memory 4G --format csv --format markdown -o results
  atomvet experiment plan.toml -j 4                  several cells at once; run it again to go on after a stop

Each cell is a process of its own: a timeout, too little memory or a crash is a cell of the table. A cell whose inputs have
not changed is not measured again. The exit status is 0 if all cells were measured, whatever they say. docs/experiment.md
says what stands in a plan and in the results.";

/// Behind the options of baseline.
pub(crate) const BASELINE: &str = "\
Examples:
  atomvet baseline run1.atv run2.atv -o atomvet.baseline && atomvet check --baseline atomvet.baseline run3.atv
  atomvet baseline findings.json -o atomvet.baseline        from a report in JSON";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_has_examples() {
        let command = crate::command();
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&sub.get_name())).count();
            assert_eq!(groups, 1, "{}", sub.get_name());
            let after = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(after.contains("Example"), "{}", sub.get_name());
        }
    }
}
