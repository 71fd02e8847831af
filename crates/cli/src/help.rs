//! The texts of `--help` besides those of the options: commands in groups, and examples.
//!
//! `-h` shows the options, a line each where that is enough, and [`MORE`]. `--help` teaches: it has examples and the rest of each
//! option's text. A paragraph is one line here (`\` joins them), so that it is as wide as the terminal.

use clap::Command;

/// The commands, in the order in which people need them. One that is in no group is shown at the end.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start here", &["demo", "explain"]),
    ("Programs", &["run", "cc", "c++", "cargo", "java"]),
    ("Recorded runs", &["check", "compare", "refine", "experiment"]),
    ("Findings", &["report", "baseline", "diff"]),
    ("Traces", &["stats", "convert", "gen"]),
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

/// Hides the options for JVMs, which `run` takes as well.
pub(crate) fn without_java(arg: clap::Arg) -> clap::Arg {
    if arg.get_help_heading() == Some("Java") { arg.hide(true) } else { arg }
}

/// Behind the options of `-h`.
pub(crate) const MORE: &str = "--help has the details and examples.";

/// Behind the overview.
pub(crate) const AFTER: &str = "\
Examples:
  atomvet demo                                     a bug in a small bank, found and explained
  make CC=\"atomvet cc\" && atomvet run -- ./tests   your own program, live
  atomvet check trace.std                          a recorded run: is every block atomic?
  atomvet check --predict trace.std                would another schedule break a block?
  atomvet check --format html -o out.html t.atv    a report for the browser; sarif and junit for CI
  atomvet refine a.std b.std -o spec.toml && atomvet check --spec spec.toml c.std

Exit status:
  0  clean
  1  violations
  2  wrong use or bad input
  3  nothing was observed (no events, no block, or one thread only), or not everything was judged

`atomvet explain` explains the words of a report.";

/// Behind the options of run.
pub(crate) const RUN: &str = "\
Examples:
  gcc -g -fsanitize=thread bank.c -o bank && atomvet run -- ./bank
  make CC=\"atomvet cc\" CXX=\"atomvet c++\" && atomvet run -- ./test_suite
  atomvet run --refine spec.toml -- ./test_suite && atomvet run --spec spec.toml -- ./test_suite
  atomvet run --record run.atv -- ./prog && atomvet check run.atv

By default every function of your own code should be atomic, except main and the functions that threads start with. A \
specification or the annotations of atomvet.h say otherwise.

The report is written to standard error; standard output belongs to the program. If the program fails by itself and \
nothing else is wrong, the exit status is 2.

Ctrl-C, `kill` and `timeout` end the program and report what was found so far; see --grace.

JVMs that the program starts are checked too; they take the options under \"Java\" of `atomvet java --help`.

docs/native.md says what is watched, what is not, and what it costs.";

/// Behind the options of cc and c++.
pub(crate) const CC: &str = "\
Examples:
  make CC=\"atomvet cc\" CXX=\"atomvet c++\"
  ATOMVET_CC=clang-14 atomvet cc -O2 -o prog prog.c

ATOMVET_CC and ATOMVET_CXX name the compiler [default: gcc and g++]. Without `atomvet run` the program behaves as if it had \
been built by that compiler alone.";

/// Behind the options of check.
pub(crate) const CHECK: &str = "\
Examples:
  atomvet check trace.std
  atomvet check --predict --schedules shown trace.std    what could happen in another schedule
  atomvet check --algo regiontrack,velodrome --verify trace.atv
  atomvet check --spec spec.toml --format json -o report.json run1.atv run2.atv
  atomvet check --baseline atomvet.baseline --idiom hint-reads trace.atv    only new findings
  atomvet check --format html --format sarif -o report trace.atv    report.html, report.sarif
  zcat trace.gz | atomvet check -
  atomvet check runs/ 'nightly/**/*.atv'                 every trace in a folder, or that matches
  find . -name '*.atv' | atomvet check -j 8 --files-from - --format json -o all.json

Several traces make one report, in which a mistake that several traces show is one finding. A trace that cannot be read is \
reported, the others are still checked, and the exit status is 2. An empty folder or a pattern without a match is an error, too.

Ctrl-C, `kill` and `timeout` report within about a second what was found so far, marked partial.";

/// Behind the options of compare.
pub(crate) const COMPARE: &str = "\
Examples:
  atomvet compare trace.std
  atomvet compare --algo observed --format json trace.atv

The columns \"missed\" and \"wrong\" count block instances against the exact algorithm. For a predictive algorithm, \"missed\" counts \
blocks that were observed violated and that it does not predict.";

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

/// Behind the options of diff.
pub(crate) const DIFF: &str = "\
Examples:
  atomvet diff yesterday.json today.json
  atomvet diff atomvet.baseline today.json && echo nothing new

The reports are those of --format json. A finding that is gone was set aside, was not executed, or was executed without the \
violation; the last column says which. The exit status is 1 if there is a new finding, 3 if there is none but the later run \
observed nothing or a part only, and 0 otherwise.";

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
  atomvet demo --trace > bank.std       only the recorded run

A demo is built with `atomvet cc` in a temporary directory and run under `atomvet run`. Where that is impossible, a recorded run \
is checked instead. The exit status is 0 although the demo has findings.";

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
  atomvet java --include java.util.Vector -cp classes Main       a class of the JDK, too
  atomvet run -- mvn test                                        every JVM that a build tool starts

By default every method of the application should be atomic, private methods and lambdas included. Exceptions are main and \
the run, call or lambda that a thread or an executor starts with; --blocks and a specification change that.

Options of atomvet come before those of the JVM. The JVM is that of JAVA_HOME or the first java in PATH, version 17 or later. \
The report is written to standard error.

docs/jvm.md says what is watched and what is not.";

/// Behind the options of experiment.
pub(crate) const EXPERIMENT: &str = "\
Examples:
  atomvet experiment a.std b.std --algo velodrome,aerodrome --repetitions 5
  atomvet experiment plan.toml --timeout 60 --memory 4G --format csv --format markdown -o results
  atomvet experiment plan.toml -j 4                  several cells at once; run it again to resume

Each cell is a process of its own: a timeout, an exceeded memory limit or a crash is a cell of the table. A cell whose inputs have \
not changed is not measured again. The exit status is 0 if all cells were measured, whatever they say.

docs/experiment.md describes plans and results.";

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
            let after = sub.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            assert!(after.contains("Example"), "{}", sub.get_name());
        }
    }
}
