//! `atomvet completions`: scripts that complete commands, options and values in a shell.

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

/// Names that the command looks up itself, because its own error messages say more than a parser's: made known.
fn with_values(mut command: clap::Command) -> clap::Command {
    let algorithms = || CHECKERS.iter().map(|entry| entry.info.name).chain(["all", "predictive"]);
    let with_algorithms: Vec<String> = (command.get_subcommands())
        .filter(|sub| sub.get_arguments().any(|argument| argument.get_id() == "algo"))
        .map(|sub| sub.get_name().to_owned())
        .collect();
    for name in with_algorithms {
        command = command.mut_subcommand(name, |sub| {
            sub.mut_arg("algo", |argument| argument.value_parser(PossibleValuesParser::new(algorithms())))
        });
    }
    command.mut_subcommand("explain", |sub| {
        sub.mut_arg("topic", |argument| argument.value_parser(PossibleValuesParser::new(explain::names())))
    })
}
