//! `atomvet demo`: a trace that ships with the program, checked, and what to try next.

use std::fmt::Write;

use atomvet_check::Config;
use atomvet_report::model::{self, Entry, Report};
use atomvet_report::sources::Sources;
use atomvet_report::text;
use atomvet_trace::wellformed::Discipline;

use crate::aside::Rules;
use crate::examine::{Instances, Options, Serial, Verify, Wanted, examine};
use crate::output::Output;
use crate::predicted::Predicting;
use crate::spool::Source;
use crate::status::Status;
use crate::text::{Looks, Onto};
use crate::{algorithms, json};

/// A trace with its story.
struct Story {
    /// What errors and reports call the trace.
    name: &'static str,
    trace: &'static str,
    intro: &'static str,
    next: &'static str,
}

/// A violation that happened.
const BANK: Story = Story {
    name: "demo-bank.std",
    trace: include_str!("../../../tests/corpus/demo-bank.std"),
    intro: "\
A bank with three tellers, recorded while it ran. Every access of the balance is under the lock, so
there is no data race. But deposit takes the lock twice, once to read and once to write:
",
    next: "   atomvet demo --trace > bank.std               keep the trace
   atomvet check bank.std                        check it: exit status 1, because something is not atomic
   atomvet check --algo all --verify bank.std    every algorithm, every witness confirmed independently
   atomvet compare bank.std                      the algorithms side by side
   atomvet refine bank.std                       which blocks were atomic and which not: a specification
   atomvet demo --predict                        a run in which nothing went wrong, and what could have
   atomvet explain serializable                  what the words mean",
};

/// A violation that did not happen.
const VECTOR: Story = Story {
    name: "demo-vector.std",
    trace: include_str!("../../../tests/corpus/predict/vector_remove_all_elements.std"),
    intro: "\
A run in which nothing went wrong: one thread copied a vector, then another one emptied it. The constructor
asks for the size under the vector's lock, gives the lock back, and takes it again to copy the elements:
",
    next: "   atomvet demo --predict --trace > vector.std            keep the trace
   atomvet check vector.std                               what happened was serializable: exit status 0
   atomvet check --predict --schedules shown vector.std   what could have happened, and a trace that shows it
   atomvet check shown/*.std                              the same block, observed
   atomvet check --algo predictive vector.std             every algorithm that predicts
   atomvet explain strengths                              how sure a finding is",
};

/// Options of `demo`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Print the trace itself instead of checking it
    #[arg(long)]
    trace: bool,
    /// A run in which nothing went wrong, and what could have
    #[arg(long)]
    predict: bool,
    #[command(flatten)]
    looks: Looks,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let story = if args.predict { &VECTOR } else { &BANK };
    let text = if args.trace { story.trace.to_owned() } else { tell(story, args.predict, &args.looks)? };
    Output::stdout().write_all_of(&text)?;
    Ok(Status::Clean)
}

fn tell(story: &Story, predict: bool, looks: &Looks) -> anyhow::Result<String> {
    let mut algorithms = algorithms::select(&[])?;
    if predict {
        algorithms::add_predictive(&mut algorithms);
    }
    let options = Options {
        algorithms,
        config: Config::default(),
        discipline: Discipline::Strict,
        spec: None,
        instances: Instances::Folded,
        witnesses: Wanted::All,
        verify: Verify::Yes,
        serial_order: Serial::No,
        predicting: Predicting::default(),
        aside: Rules::default(),
    };
    let examined = examine(&mut Source::embedded(story.name, story.trace.as_bytes()), &options)?;
    let mut text = format!("{}\n", story.intro);
    for line in story.trace.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "   {line}");
    }
    let command = if predict { "atomvet check --predict" } else { "atomvet check" };
    let _ = writeln!(text, "\nThis is what `{command}` says about it:\n");
    let report = Report {
        schema: model::SCHEMA.to_owned(),
        traces: vec![Entry::Whole(json::trace(&examined, None))],
        set_aside: None,
    };
    text.push_str(&text::render(&report, &mut Sources::none(), &looks.options(Onto::Stdout)));
    let _ = writeln!(text, "\nWhat to try next:\n{}", story.next);
    Ok(text)
}
