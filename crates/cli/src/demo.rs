//! `atomvet demo`: small programs that ship with the command, built, run under the checker and explained.
//!
//! It does what a user does, and shows how: `atomvet cc`, `atomvet run`, `atomvet check`, each as a process of its own in a
//! temporary directory. Where there is no compiler or no runtime, a recorded run is checked instead.

pub(crate) mod stories;

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use clap::builder::PossibleValuesParser;

use self::stories::{HEADER, LookedAt, STORIES, Story, find};
use crate::grid::{self, Align};
use crate::output::Output;
use crate::run::library::Library;
use crate::status::Status;

/// Options of `demo`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The demo, as in --list [default: lost-update]
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(STORIES.iter().map(|story| story.name)), hide_possible_values = true)]
    name: Option<String>,
    /// List the demos: one per anomaly, a prediction, a deadlock
    #[arg(long, conflicts_with_all = ["name", "trace", "predict", "recorded", "output"])]
    list: bool,
    /// Print the recorded run, and check nothing
    #[arg(long)]
    trace: bool,
    /// A run that went well, and the violation it predicts: `demo predicted`
    #[arg(long, conflicts_with = "name")]
    predict: bool,
    /// Check the recorded run even if the program could be built
    #[arg(long, conflicts_with = "trace")]
    recorded: bool,
    /// Write the program and the recorded run to this directory
    #[arg(short, long, value_name = "DIR", conflicts_with_all = ["trace", "recorded"])]
    output: Option<PathBuf>,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let asked_for = if args.predict { Some("predicted") } else { args.name.as_deref() };
    let story = asked_for.and_then(find).unwrap_or(&STORIES[0]);
    if args.list {
        say(&list())?;
    } else if args.trace {
        say(story.trace)?;
    } else if let Some(directory) = &args.output {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("{}: cannot be made", directory.display()))?;
        for path in story.write(directory)? {
            say(&format!("{}\n", path.display()))?;
        }
    } else {
        tell(story, if args.recorded { Way::Recorded } else { Way::Live })?;
    }
    Ok(Status::Clean)
}

/// How a demo is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// Its program is built and run, if that is possible here.
    Live,
    /// A recorded run is checked.
    Recorded,
}

fn say(text: &str) -> anyhow::Result<()> {
    Output::stdout().write_all_of(text)
}

fn list() -> String {
    let rows: Vec<Vec<String>> =
        STORIES.iter().map(|story| vec![story.name.to_owned(), story.summary.to_owned()]).collect();
    let table = grid::grid(2, &[("", Align::Left), ("", Align::Left)], &rows);
    format!("atomvet demo NAME, where NAME is one of\n\n{table}")
}

fn tell(story: &Story, way: Way) -> anyhow::Result<()> {
    let folder = tempfile::Builder::new().prefix("atomvet-demo-").tempdir();
    let folder = folder.context("no temporary directory; set TMPDIR to one that can be written")?;
    story.write(folder.path())?;
    say(&format!("{}: {}\n\n{}\n\n", story.name, story.summary, story.intro()))?;
    if way == Way::Recorded || story.program.is_none() {
        recorded(story, folder.path())?;
    } else if let Some(why_not) = live(story, folder.path())? {
        say(&format!("({why_not}; so this is a recorded run)\n\n"))?;
        recorded(story, folder.path())?;
    }
    say(&format!("\nWhat to try next:\n{}", story.next()))
}

/// Builds and runs the program; says why not if that is impossible here.
fn live(story: &Story, folder: &Path) -> anyhow::Result<Option<String>> {
    if let Err(error) = Library::unpack() {
        return Ok(Some(format!("{error:#}")));
    }
    let Some(compiler) = compiler() else {
        return Ok(Some("no C compiler was found here; ATOMVET_CC names one".to_owned()));
    };
    let (source, program, run) = (format!("{}.c", story.stem), story.stem, format!("./{}", story.stem));
    let build = ["cc", &source, "-o", program];
    let built = atomvet(&build, folder)?.env("ATOMVET_CC", compiler).output()?;
    if !built.status.success() {
        let complaint = String::from_utf8_lossy(&built.stderr).into_owned();
        return Ok(Some(format!("the program cannot be compiled here: {}", complaint.trim_end())));
    }
    show(&build)?;
    let options = story.looked_at.options();
    let command = [&["run"], options, &["--", &run]].concat();
    let as_planned = if story.looked_at == LookedAt::ForOtherSchedules {
        goes_as_planned(&command, folder, Status::Clean)?
            && goes_as_planned(&["check", "--predict", "run.atv"], folder, Status::Violations)?
    } else {
        goes_as_planned(&command, folder, Status::Violations)?
    };
    Ok((!as_planned).then(|| "that did not go as planned".to_owned()))
}

/// Checks the recorded run, which is shown first if there is no source to show.
fn recorded(story: &Story, folder: &Path) -> anyhow::Result<()> {
    if story.program.is_none() {
        let events = story.trace.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        say(&events.map(|line| format!("   {line}\n")).chain(["\n".to_owned()]).collect::<String>())?;
    }
    let trace = format!("{}.std", story.stem);
    let command: &[&str] = match story.looked_at {
        LookedAt::ForOtherSchedules => &["check", "--predict", &trace],
        LookedAt::Plainly | LookedAt::WithLocks | LookedAt::AsAWhole | LookedAt::WithStrictWaits => {
            &["check", &trace]
        }
    };
    if !goes_as_planned(command, folder, Status::Violations)? {
        bail!("the demo did not go as planned; this is a bug in atomvet");
    }
    Ok(())
}

/// Shows a command and runs it, with everything that it says on standard output; whether it ended as it should.
fn goes_as_planned(arguments: &[&str], folder: &Path, expected: Status) -> anyhow::Result<bool> {
    show(arguments)?;
    let shown = std::io::stdout().as_fd().try_clone_to_owned().context("cannot use standard output")?;
    let mut command = atomvet(arguments, folder)?;
    let status = command.stdin(Stdio::null()).stderr(shown).status().context("cannot run atomvet")?;
    Ok(status.code() == Some(i32::from(expected.code())))
}

fn show(arguments: &[&str]) -> anyhow::Result<()> {
    say(&format!("$ atomvet {}\n", arguments.join(" ")))
}

/// This very command, to be run there.
fn atomvet(arguments: &[&str], folder: &Path) -> anyhow::Result<Command> {
    let ourselves = std::env::current_exe().context("cannot find the atomvet command itself")?;
    let mut command = Command::new(ourselves);
    command.args(arguments).current_dir(folder);
    Ok(command)
}

/// The compiler that `atomvet cc` is to use.
fn compiler() -> Option<OsString> {
    let wanted = std::env::var_os("ATOMVET_CC").filter(|name| !name.is_empty());
    let candidates =
        wanted.map_or_else(|| vec!["gcc".into(), "clang".into(), "cc".into()], |name| vec![name]);
    candidates.into_iter().find(|name: &OsString| {
        let version =
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    })
}

impl Story {
    /// Writes its files, and says which.
    fn write(&self, directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = vec![(format!("{}.std", self.stem), self.trace)];
        if let Some(program) = self.program {
            files.push((format!("{}.c", self.stem), program));
            files.push((HEADER.0.to_owned(), HEADER.1));
        }
        let mut written = Vec::new();
        for (name, text) in files {
            let path = directory.join(name);
            std::fs::write(&path, text).with_context(|| format!("{}: cannot be written", path.display()))?;
            written.push(path);
        }
        Ok(written)
    }

    /// What to try next.
    fn next(&self) -> String {
        let Story { name, stem, .. } = self;
        let mut commands: Vec<(String, &str)> = Vec::new();
        let mut add = |command: &str, what| commands.push((command.to_owned(), what));
        let options: String = self.looked_at.options().iter().flat_map(|option| [" ", option]).collect();
        add(&format!("atomvet demo {name} -o {stem} && cd {stem}"), "keep what is needed for the following");
        if self.program.is_some() && self.looked_at != LookedAt::ForOtherSchedules {
            add(
                &format!("atomvet cc -DFIXED {stem}.c -o fixed && atomvet run{options} -- ./fixed"),
                "the mended program: exit status 0",
            );
        }
        if self.looked_at == LookedAt::ForOtherSchedules {
            add(&format!("atomvet check {stem}.std"), "what happened was serializable: exit status 0");
            if self.shape.is_some() {
                add(
                    &format!("atomvet check --predict --schedules shown {stem}.std"),
                    "what could have happened, and a trace that shows it",
                );
            }
            add(&format!("atomvet check --algo predictive {stem}.std"), "every algorithm that predicts");
        } else {
            add(
                &format!("atomvet check --format html -o {stem}.html {stem}.std"),
                "the recorded run, as a page for a browser",
            );
            add(&format!("atomvet compare {stem}.std"), "every algorithm on it");
            add(&format!("atomvet refine {stem}.std"), "which blocks were atomic and which not");
        }
        match self.shape {
            Some(shape) => add(&format!("atomvet explain {}", shape.name()), "what the name means"),
            None => add(&format!("atomvet explain {name}"), "what the name means"),
        }
        add("atomvet demo --list", "one demo per anomaly");
        add("make CC=\"atomvet cc\" && atomvet run -- ./PROGRAM", "your own program");
        let rows: Vec<Vec<String>> =
            commands.into_iter().map(|(command, what)| vec![command, what.to_owned()]).collect();
        grid::grid(3, &[("", Align::Left), ("", Align::Left)], &rows)
    }
}
