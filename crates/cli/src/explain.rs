//! `atomvet explain`: what the words in a report mean.

use anyhow::bail;
use atomvet_check::Strength;
use atomvet_check::idioms::Idiom;
use atomvet_check::registry::CHECKERS;
use atomvet_check::witness::Shape;

use crate::demo::stories::of_shape;
use crate::grid::{self, Align};
use crate::list;
use crate::output::Output;
use crate::status::Status;
use crate::suggest::did_you_mean;

/// Options of `explain`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// What to explain; without it, all topics are listed
    #[arg(value_name = "TOPIC")]
    topic: Vec<String>,
}

/// Words that are explained in a paragraph.
const WORDS: &[(&str, &str)] = &[
    (
        "atomic",
        "A block is atomic if every execution looks as if it ran alone, from begin to end, with nothing of other\n\
         threads in between. That is stronger than free of races: two critical sections in a row are race-free\n\
         and still let others in between. Checked here is what was observed: a block for which nothing was\n\
         found was atomic in this execution; another schedule may show more.",
    ),
    (
        "barrier",
        "A point that threads leave only after others have arrived. What was done before arriving is ordered before\n\
         what is done after leaving.",
    ),
    (
        "baseline",
        "A file with the fingerprints of findings that are known. `atomvet check --baseline FILE` fails only on those\n\
         that are not in it: how to start with a program that has many.",
    ),
    (
        "block",
        "Begin to matching end of one thread: code that should be atomic. Blocks nest, and each one is judged on\n\
         its own. A block is known by its label, or by @ and the place of its begin if it has none.\n\
         Verdict on a block: it is NOT serializable if an event of another thread comes after its begin and before\n\
         one of its events, in the order that the trace's conflicts give. This speaks of that block alone,\n\
         whatever else is declared atomic.",
    ),
    (
        "conflict",
        "Two events whose order matters: of one thread; accesses of one variable, not both reads; operations on one\n\
         lock, not both shared; a fork and the new thread's events; a thread's events and its join; arrival at a\n\
         barrier and what follows it. docs/event-model.md has the whole list.",
    ),
    (
        "coverage",
        "The last line of a report: how many threads, blocks and events the verdict rests on, and what was not seen.\n\
         A block that was never entered, or never by two threads at a time, was not put to the test.",
    ),
    (
        "deadlock",
        "Threads that wait for each other for ever. One is possible if locks are taken in opposite orders, by threads\n\
         that can be there at the same time and hold no common lock (gate) that keeps them apart.",
    ),
    (
        "fingerprint",
        "16 digits that are the same for the same mistake in every run: made of the block's name and place and of\n\
         the kind and place of the event that completed the violation, not of threads or event numbers. Findings\n\
         with one fingerprint are shown once, with a count (--all-instances shows each).",
    ),
    (
        "innermost",
        "A violated block inside which no other block was violated by the same event: the smallest piece of code to\n\
         look at.",
    ),
    (
        "lenient",
        "Traces must keep the discipline of locks, threads and blocks (a release has an acquire, an end a begin, …).\n\
         One that does not is refused with the place; with --lenient it is repaired as docs/event-model.md says, and\n\
         every output counts the repairs. A verdict after repairs is about the repaired trace.",
    ),
    (
        "partial",
        "The verdict is about a part of the trace only: reading was interrupted, or the input is cut off. Violations\n\
         that were found are there all the same; that none was found says nothing about the rest. Or the verdict is\n\
         complete, and the time for explaining was spent (--explain-seconds) before every finding had a witness.",
    ),
    (
        "race",
        "Two accesses of one variable by different threads, not both reads, that no lock and no order of threads keeps\n\
         apart, and that a schedule brings next to each other. For information only.",
    ),
    (
        "remedy",
        "What would mend the finding: the lock to hold and from which line to which, or the atomic operation to use.\n\
         It is worked out from the witness; whether the program still does what it should is for you to say.",
    ),
    (
        "schedule",
        "A reordering of a recorded execution that shows a predicted violation: the same events in each thread, as\n\
         far as they go, in another order between threads. Every read sees the write that it saw; in a relaxed\n\
         schedule, the blocks of the pattern may see other values of the pattern's own variables.\n\
         `atomvet check --schedules DIR` writes each as a trace, in which the violation can be observed.",
    ),
    (
        "serializable",
        "A trace is serializable if its transactions can be put one after the other, each whole, so that every\n\
         conflict keeps its order: then the execution is equivalent to one in which nothing interleaves. It is not\n\
         if the transactions form a cycle, each having to come before the next. --serial-order shows such an order.",
    ),
    (
        "specification",
        "atomvet.toml, in the working directory or above it: which blocks are atomic and which are not, suppressions,\n\
         idioms, options. `atomvet refine` writes a first one from traces, `atomvet run --refine` from a run;\n\
         --spec FILE names another. docs/specification.md has the whole.",
    ),
    (
        "suppression",
        "An entry in atomvet.toml that accepts a finding, by its block, variable, file or fingerprint, with the reason:\n\
         it is counted and no longer fails the check. One that matches nothing is reported.",
    ),
    (
        "trace",
        "A recorded execution, event by event. Verdict on a trace: serializable or not, which speaks of all its\n\
         transactions together. A trace can be not serializable although no single block is violated; a violated\n\
         block always makes its trace not serializable.",
    ),
    (
        "transaction",
        "An outermost block, or a single event outside every block (a unary transaction). What a serial order puts\n\
         in order.",
    ),
    (
        "unary",
        "An event outside every block, which is a transaction of its own. It can break a block of another thread.",
    ),
    (
        "wait",
        "Waiting gives a lock back and takes it again, so a block that waits is open to others by design.\n\
         --split-at-waits judges the pieces before and after instead of the whole.",
    ),
    (
        "witness",
        "The proof of a finding: a shortest cycle of events, each ordered before the next by a named conflict, that\n\
         starts and ends in the blamed block. --verify has every witness confirmed by code that shares nothing with\n\
         the algorithms that found it.",
    ),
];

/// Topics that are made of tables.
const TABLES: &[(&str, &str)] = &[
    ("algorithms", "the algorithms, what each guarantees and costs"),
    ("exit", "the exit statuses; `exit 3` is one of them"),
    ("idioms", "what is not atomic by the letter and fine all the same, if you say so"),
    ("shapes", "the names of anomalies"),
    ("strengths", "how sure a finding is"),
    ("verdicts", "the two verdicts, on the trace and on blocks"),
];

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let topic = args.topic.join(" ").trim().to_lowercase();
    let text = if topic.is_empty() { topics() } else { text(&topic)? };
    Output::stdout().write_all_of(&text)?;
    Ok(Status::Clean)
}

/// All topics, each in one word.
pub(crate) fn names() -> Vec<String> {
    let tables_and_words = TABLES.iter().chain(WORDS).map(|(name, _)| *name);
    let shapes = Shape::ALL.iter().map(|shape| shape.name());
    let strengths = STRENGTHS.iter().map(|(strength, _)| strength.name());
    let algorithms = CHECKERS.iter().map(|entry| entry.info.name);
    let idioms = Idiom::ALL.iter().map(|idiom| idiom.name());
    let all = tables_and_words.chain(shapes).chain(strengths).chain(idioms).chain(algorithms);
    all.map(|name| name.replace(", ", "-").replace(' ', "-")).collect()
}

fn topics() -> String {
    let mut text = "atomvet explain TOPIC, where TOPIC is one of\n\n".to_owned();
    let mut line = |name: &str, what: &str| text.push_str(&grid::paragraph(&format!("  {name:<14}"), what));
    for (name, what) in TABLES {
        line(name, what);
    }
    let listed = |names: Vec<&str>| names.join("; ");
    line("a word", &listed(WORDS.iter().map(|(word, _)| *word).collect()));
    line("a shape", &listed(Shape::ALL.iter().map(|shape| shape.name()).collect()));
    line("a strength", &listed(STRENGTHS.iter().map(|(strength, _)| strength.name()).collect()));
    line("an idiom", &listed(Idiom::ALL.iter().map(|idiom| idiom.name()).collect()));
    line("an algorithm", &listed(CHECKERS.iter().map(|entry| entry.info.name).collect()));
    text
}

fn text(topic: &str) -> anyhow::Result<String> {
    let word = |word: &str| WORDS.iter().find(|(name, _)| *name == word).map_or("", |(_, text)| text);
    // `lost update` and `lost-update`, `exit status 3` and `exit-code-3` are the same.
    let simple = topic.replace(['-', '_', ','], " ");
    let simple = simple.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(text) = exit(&simple) {
        return Ok(text);
    }
    Ok(match simple.as_str() {
        "algorithms" | "algorithm" => list::table(),
        "idioms" | "idiom" | "benign" => Idiom::ALL.iter().map(idiom).collect(),
        "shapes" | "shape" | "anomalies" | "anomaly" => {
            Shape::ALL.iter().map(shape).collect::<Vec<_>>().join("\n")
        }
        "strengths" | "strength" => STRENGTHS.iter().map(strength).collect(),
        "verdicts" | "verdict" => format!("{}\n\n{}\n", word("trace"), word("block")),
        _ => {
            // A word can be the name of an algorithm as well: deadlock is.
            let found = [
                WORDS.iter().find(|(name, _)| *name == simple).map(|(_, text)| format!("{text}\n")),
                Shape::ALL.iter().find(|s| s.name().replace('-', " ") == simple).map(shape),
                STRENGTHS.iter().find(|s| s.0.name().replace(',', "") == simple).map(strength),
                Idiom::ALL.iter().find(|i| i.name().replace('-', " ") == simple).map(idiom),
                list::one(&simple.replace(' ', "-")),
            ];
            let found: Vec<String> = found.into_iter().flatten().collect();
            if found.is_empty() {
                bail!("{}", unknown(topic));
            }
            found.join("\n")
        }
    })
}

fn unknown(topic: &str) -> String {
    let suggestion = did_you_mean(&topic.replace(' ', "-"), names().iter().map(String::as_str));
    format!("nothing is known about {topic:?}; {suggestion}`atomvet explain` lists the topics")
}

fn shape(shape: &Shape) -> String {
    let remedy = format!("remedy: {}", shape.remedy());
    let demos: Vec<String> = of_shape(*shape).map(|name| format!("`atomvet demo {name}`")).collect();
    let demos = format!("see it: {}", demos.join(", "));
    let lines = [shape.meaning(), &remedy, &demos].map(|line| grid::paragraph("  ", line)).concat();
    format!("{}\n{lines}", shape.name())
}

fn idiom(idiom: &Idiom) -> String {
    let use_it = format!(
        "say so: --idiom {}, or in [idioms] of atomvet.toml; docs/benign.md has it in full",
        idiom.name()
    );
    let lines = [idiom.meaning(), &use_it].map(|line| grid::paragraph("  ", line)).concat();
    format!("{}\n{lines}", idiom.name())
}

/// The exit statuses, or one of them, if that is what is asked for.
fn exit(topic: &str) -> Option<String> {
    let mut rest = topic;
    for word in ["exit", "status", "statuses", "code", "codes"] {
        rest = rest.strip_prefix(word).map_or(rest, |rest| rest.trim_start());
    }
    if rest.is_empty() {
        return Some(statuses());
    }
    let number: u8 = rest.parse().ok()?;
    let &(status, what) = Status::ALL.iter().find(|(status, _)| status.code() == number)?;
    Some(format!("{number}\n{}{}", grid::paragraph("  ", what), grid::paragraph("  ", next(status))))
}

/// What to do about a status.
fn next(status: Status) -> &'static str {
    match status {
        Status::Clean => {
            "Another schedule may show more: run it again, or ask for other schedules with `atomvet check --predict`. The \
             coverage line says what the verdict rests on."
        }
        Status::Violations => {
            "Each finding says what would mend it. What is meant to be so goes into a suppression, what is to be mended \
             later into a baseline (`atomvet explain suppression`, `atomvet explain baseline`)."
        }
        Status::BadInput => "The message on standard error names the place and what to do.",
        Status::NothingObserved => {
            "A check of nothing is not green. Was the program built with `atomvet cc` or -fsanitize=thread? Does the trace have \
             begin and end? Did the test start a second thread? `atomvet stats TRACE` shows what there is. Where not everything was judged, the message on standard error says what to do."
        }
    }
}

fn statuses() -> String {
    let rows: Vec<Vec<String>> = Status::ALL
        .iter()
        .map(|(status, what)| vec![status.code().to_string(), (*what).to_owned()])
        .collect();
    let table = grid::grid(2, &[("", Align::Right), ("", Align::Left)], &rows);
    format!(
        "{table}\nWith several traces 2 wins over 1, 1 over 3, and 3 over 0. `atomvet explain exit 3` says what to do.\n"
    )
}

const STRENGTHS: &[(Strength, &str)] = &[
    (
        Strength::Observed,
        "It happened in the recorded execution: no prediction, no heuristic, and no false alarm about this run.",
    ),
    (
        Strength::Scheduled,
        "It did not happen in this run, but a reordering of it in which it happens was found and verified: every \
         thread does what it did, locks, fork, join and barriers are respected, and every read sees the write \
         that it saw, up to the point where the pattern is complete.",
    ),
    (
        Strength::Relaxed,
        "It did not happen in this run, but a reordering of it in which it happens was found and verified, if the blocks of \
         the pattern do the same with another value of the pattern's own variables: their reads of those see another write \
         than in this run, all other reads see what they saw. The finding says which block and which variables. A lost update \
         in a run that went well can have no better proof: each block read what the one before it wrote.",
    ),
    (
        Strength::Predicted,
        "Locks and the order of threads allow it in another schedule. The values that the program reads might \
         steer it elsewhere, so it can be a false alarm.",
    ),
    (
        Strength::Suspected,
        "Reduction found nothing that rules it out. Often a false alarm; commit-node tells more.",
    ),
];

fn strength((strength, what): &(Strength, &str)) -> String {
    format!("{}\n{}", strength.name(), grid::paragraph("  ", what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_is_offered_is_explained() {
        for name in names().iter().map(String::as_str).chain(["exit-code 0", "exit status 1", "exit 2", "3"])
        {
            assert!(text(name).is_ok_and(|text| text.len() > 40), "{name}");
        }
    }

    #[test]
    fn words_are_sorted_and_texts_fit_a_terminal() {
        assert!(WORDS.is_sorted_by_key(|(word, _)| *word));
        for line in WORDS.iter().flat_map(|(_, text)| text.lines()) {
            assert!(line.chars().count() <= 112, "{line}");
        }
    }
}
