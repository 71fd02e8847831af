//! `atomvet completions`: scripts that complete commands, options and values in a shell.

use atomvet_check::idioms::Idiom;
use atomvet_check::registry::CHECKERS;
use clap::builder::PossibleValuesParser;
use clap_complete::{Generator, Shell};

use crate::explain;
use crate::output::Output;
use crate::status::Status;

/// Options of `completions`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let mut command = with_values(crate::command());
    command.set_bin_name("atomvet");
    command.build();
    let mut script = Vec::new();
    args.shell.try_generate(&command, &mut script)?;
    Output::stdout().write_all_of(&String::from_utf8_lossy(&script))?;
    Ok(Status::Clean)
}

/// Names that the command looks up itself, because its own error messages say more than a parser's, made known.
fn with_values(mut command: clap::Command) -> clap::Command {
    let algorithms: Vec<&str> =
        CHECKERS.iter().map(|entry| entry.info.name).chain(["all", "predictive"]).collect();
    let idioms: Vec<&str> = Idiom::ALL.iter().map(|idiom| idiom.name()).collect();
    let topics = explain::names();
    let topics = topics.iter().map(String::as_str).collect();
    let values = [("algo", algorithms), ("idiom", idioms.clone()), ("no_idiom", idioms), ("topic", topics)];
    let commands: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in commands {
        command = command.mut_subcommand(name, |mut sub| {
            for (argument, values) in &values {
                if sub.get_arguments().any(|known| known.get_id() == argument) {
                    let values = values.iter().map(|value| (*value).to_owned());
                    sub =
                        sub.mut_arg(argument, |known| known.value_parser(PossibleValuesParser::new(values)));
                }
            }
            sub
        });
    }
    command
}
