//! `atomvet man`: the manual pages, made of what `--help` says.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap_mangen::Man;

use crate::output::Output;
use crate::status::Status;
use crate::suggest::did_you_mean;

/// Options of `man`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The page of this command; none is that of atomvet itself
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
    /// Write all pages to this directory, which is made if necessary
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    output: Option<PathBuf>,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let pages = pages()?;
    let Some(directory) = &args.output else {
        let wanted = args.command.as_ref().map_or("atomvet".to_owned(), |name| format!("atomvet-{name}"));
        let Some((_, page)) = pages.iter().find(|(name, _)| *name == wanted) else {
            let asked_for = args.command.as_deref().unwrap_or_default();
            let known = pages.iter().filter_map(|(name, _)| name.strip_prefix("atomvet-"));
            let suggestion = did_you_mean(asked_for, known);
            bail!("no command is called {asked_for:?}; {suggestion}`atomvet --help` lists them");
        };
        Output::stdout().write_all_of(page)?;
        return Ok(Status::Clean);
    };
    let shown = directory.display();
    std::fs::create_dir_all(directory).with_context(|| format!("{shown}: cannot be made"))?;
    let nothing: [&PathBuf; 0] = [];
    for (name, page) in &pages {
        Output::create(Some(&directory.join(format!("{name}.1"))), &nothing)?.write_all_of(page)?;
    }
    Output::stdout().write_all_of(&format!("{} pages written to {shown}\n", pages.len()))?;
    Ok(Status::Clean)
}

/// The pages, with their names.
fn pages() -> anyhow::Result<Vec<(String, String)>> {
    let command = crate::command();
    let subcommands: Vec<clap::Command> =
        command.get_subcommands().filter(|sub| sub.get_name() != "help").cloned().collect();
    let mut pages = vec![("atomvet".to_owned(), page(command)?)];
    for sub in subcommands {
        pages.push((format!("atomvet-{}", sub.get_name()), page(sub)?));
    }
    Ok(pages)
}

fn page(command: clap::Command) -> anyhow::Result<String> {
    let after = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let main = command.get_name() == "atomvet";
    let man = Man::new(command).source(concat!("atomvet ", env!("CARGO_PKG_VERSION"))).manual("atomvet");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if main {
        man.render_subcommands_section(&mut page)?;
    }
    let mut page = String::from_utf8(page)?;
    page.push_str(&section(
        "EXAMPLES",
        after.trim_start_matches("Examples:\n").trim_start_matches("Example:\n"),
    ));
    let statuses: Vec<String> =
        Status::ALL.iter().map(|(status, what)| format!("{}  {what}", status.code())).collect();
    page.push_str(&section("EXIT STATUS", &statuses.join("\n")));
    if !main {
        page.push_str(".SH SEE ALSO\n\\fBatomvet\\fR(1)\n");
    }
    Ok(page.chars().map(plain).collect())
}

/// A section. Lines that belong together, as examples do, stay lines; a paragraph of one line is filled.
fn section(heading: &str, text: &str) -> String {
    let mut section = format!(".SH \"{heading}\"\n");
    for paragraph in text.split("\n\n") {
        let (before, after) = if paragraph.contains('\n') { (".nf\n", ".fi\n") } else { (".PP\n", "") };
        section.push_str(before);
        for line in paragraph.lines() {
            // What begins with a dot or an apostrophe would be a request; the escape in front is nothing.
            let line = line.replace('\\', "\\e").replace('-', "\\-");
            section.push_str(&format!("\\&{line}\n"));
        }
        section.push_str(after);
    }
    section
}

/// A character as every formatter reads it, whatever it takes the encoding to be.
fn plain(character: char) -> String {
    if character.is_ascii() { character.to_string() } else { format!("\\[u{:04X}]", u32::from(character)) }
}
