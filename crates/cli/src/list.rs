//! `atomvet list`: the algorithms there are.

use atomvet_check::registry::{self, CHECKERS, PRINTED};
use atomvet_check::{Info, Kind};
use serde::Serialize;

use crate::output::Output;
use crate::status::Status;
use crate::{Format, grid, json};

/// Options of `list`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Format of the list
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Serialize)]
struct List {
    schema: &'static str,
    algorithms: Vec<Algorithm>,
}

#[derive(Serialize)]
struct Algorithm {
    name: &'static str,
    kind: &'static str,
    default: bool,
    as_printed: bool,
    paper: &'static str,
    guarantee: &'static str,
    cost: &'static str,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let text = match args.format {
        Format::Text => table(),
        Format::Json => {
            let algorithms = (CHECKERS.iter().chain(PRINTED).enumerate())
                .map(|(i, entry)| Algorithm {
                    name: entry.info.name,
                    kind: json::kind(entry.info.kind),
                    default: i == 0,
                    as_printed: registry::is_printed(entry.info),
                    paper: entry.info.paper,
                    guarantee: entry.info.guarantee,
                    cost: entry.info.cost,
                })
                .collect();
            atomvet_report::model::write(&List { schema: "atomvet-list/1", algorithms })
        }
    };
    Output::stdout().write_all_of(&text)?;
    Ok(Status::Clean)
}

/// All algorithms, one paragraph each: the texts are too long for columns.
pub(crate) fn table() -> String {
    CHECKERS.iter().chain(PRINTED).map(|entry| paragraph(entry.info)).collect()
}

/// The algorithm of that name.
pub(crate) fn one(name: &str) -> Option<String> {
    let info = registry::find(name)?.info;
    let option = match info.kind {
        _ if registry::is_printed(info) => "atomvet compare --algo",
        Kind::Observed => "atomvet check --algo",
        Kind::Predictive => "atomvet check --predict --algo",
    };
    Some(format!("{}  {:<11}{option} {} TRACE\n", paragraph(info), "use it", info.name))
}

fn paragraph(info: &Info) -> String {
    let predicts = registry::of_kind(Kind::Predictive).next().map(|entry| entry.info.name);
    let default = match info.name {
        name if name == CHECKERS[0].info.name => ", the default",
        name if Some(name) == predicts => ", the default of --predict",
        _ if registry::is_printed(info) => ", as printed, with known errors",
        _ => "",
    };
    let mut text = format!("{} ({}{default})\n", info.name, json::kind(info.kind));
    for (what, value) in [("paper", info.paper), ("guarantee", info.guarantee), ("cost", info.cost)] {
        text.push_str(&grid::paragraph(&format!("  {what:<11}"), value));
    }
    text
}
