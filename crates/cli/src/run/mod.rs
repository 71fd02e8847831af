//! `atomvet run`: a program under the checker, live.
//!
//! ```text
//! program ──► ring ──► feed (translate, discipline) ──► examine: as for a trace ──► report
//! ```
//!
//! The program loads the runtime (`crates/runtime`) in place of ThreadSanitizer's and writes records; this process
//! reads and judges them. So whatever becomes of the program, what was found is reported; and whatever becomes of
//! this process, the program goes on. Every process that the program starts has a ring of its own and is
//! judged by itself.

mod calls;
mod code;
pub(crate) mod copy;
mod directory;
mod dwarf;
mod ending;
mod feed;
mod grace;
mod half_watched;
mod jvm;
pub(crate) mod library;
mod live;
mod locks;
mod marks;
pub(crate) mod mode;
mod pieces;
mod report;
mod ring;
mod roles;
mod signals;
mod signature;
mod silence;
mod started;
mod symbols;
mod translate;
mod unhooked;
mod variables;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use atomvet_check::Config;
use atomvet_report::Format;
use atomvet_trace::wellformed::Discipline;
use atomvet_trace::{Accesses, Conflicts, Conventions, Error};

use self::copy::Copy;
use self::directory::Directory;
use self::ending::Ending;
use self::feed::{Feed, Summary};
use self::grace::Grace;
use self::library::Library;
use self::mode::Mode;
use self::ring::Ring;
use self::symbols::Meaning;
use self::translate::Translator;
use crate::aside::Rules;
use crate::budget::{self, Explaining};
use crate::configuration::{Given, Since};
use crate::conventions;
use crate::examine::{Examined, Instances, Options, Serial, Verify, Wanted, examine};
use crate::predicted::Predicting;
use crate::refine::learn;
use crate::report::{Destination, Renderings, Voice, formats};
use crate::spec::{Seen, Spec};
use crate::spool::Source;
use crate::status::Status;
use crate::tally::Nothing;
use crate::{algorithms, footprint, interrupt, java, say};

/// Options of `run`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The program and its arguments
    #[arg(required = true, value_name = "PROGRAM", trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
    /// Use these algorithms [default: regiontrack]
    ///
    /// Names as in `atomvet list`, or all, observed, predictive. Any but the default records the run.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "What is checked")]
    algo: Vec<String>,
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    since: Since,
    #[command(flatten)]
    conventions: conventions::Asked,
    /// Format of the report [default: text]
    ///
    /// May be given several times together with -o.
    #[arg(long, value_name = "FORMAT", value_parser = formats(), help_heading = "What is shown")]
    format: Vec<Format>,
    /// Report every violated block instance, not one per mistake
    #[arg(long, help_heading = "What is shown")]
    all_instances: bool,
    /// Have independent code verify every witness shown
    #[arg(long, help_heading = "What is shown")]
    verify: bool,
    /// Also judge the execution as a whole, not only each function
    ///
    /// Finds executions without a serial order for which no single function is to blame. Records the run, which costs more than a
    /// live check.
    #[arg(long, help_heading = "What is checked")]
    whole_trace: bool,
    #[command(flatten)]
    destination: Destination,
    /// Explain findings for at most N seconds
    ///
    /// The remaining findings are reported without a witness. [default: 10 plus twice the program's time]
    #[arg(long, value_name = "N", value_parser = budget::seconds, help_heading = "What is shown")]
    explain_seconds: Option<f64>,
    /// Seconds that the program has to end after Ctrl-C or SIGTERM
    ///
    /// It gets SIGTERM after half of them, and SIGKILL after all.
    #[arg(long, value_name = "SECONDS", default_value = "0.4", value_parser = budget::seconds, help_heading = "The program")]
    grace: f64,
    /// Record the run in this trace, for `atomvet check`
    ///
    /// Further processes are recorded in files with .2, .3, … appended.
    #[arg(long, value_name = "FILE", help_heading = "What is kept")]
    record: Option<PathBuf>,
    /// Record every access of a JVM, as `check --predict` needs it; native programs are always recorded whole
    #[arg(long, requires = "record", help_heading = "What is kept")]
    record_all: bool,
    /// Write a specification: the blocks that were seen atomic, and those that were not
    #[arg(long, value_name = "FILE", help_heading = "What is kept")]
    refine: Option<PathBuf>,
    #[command(flatten)]
    java: java::Options,
}

/// How events are understood where nobody says otherwise: real programs would drown in noise.
const UNSAID: Config = Config { commuting_updates: true, split_at_waits: true, conflicts: Conflicts::Data };

/// How often to look for new processes: seldom after a while, since a look costs 100 µs, and the others can wait for it.
const BETWEEN_LOOKS: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(64)];

/// One process that was watched.
pub(crate) struct Watched {
    process: u32,
    result: Result<Examined, Error>,
    summary: Summary,
    /// What becomes of it in a specification, if one is wanted; or why nothing does.
    learned: Result<Vec<Seen>, String>,
}

/// A program that has ended.
pub(crate) struct Ended {
    /// Its processes.
    watched: Vec<Watched>,
    /// Why others could not be watched.
    failed: Vec<anyhow::Error>,
    /// Programs without hooks that it has started.
    plain_programs: Vec<String>,
    /// How it ended.
    ended: ExitStatus,
}

impl Watched {
    /// Why nothing could be wrong in it, if nothing could.
    fn nothing_observed(&self) -> Option<Nothing> {
        self.result.as_ref().ok().and_then(|examined| examined.pass.tally.nothing_observed())
    }

    /// Whether several threads did something in it.
    fn has_threads(&self) -> bool {
        self.result.as_ref().is_ok_and(|examined| examined.pass.tally.threads > 1)
    }
}

/// Runs `atomvet java`: the arguments are those of the JVM.
pub(crate) fn run_java(mut args: Box<Args>) -> anyhow::Result<Status> {
    args.program.insert(0, "java".into());
    run(&args)
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let mut configuration = args.given.read(Some(&args.since))?;
    let names = if args.algo.is_empty() { &configuration.algorithm } else { &args.algo };
    let algorithms = algorithms::select(names)?;
    // The agent of JVMs leaves out what locks order anyway.
    let is_filtered = java::is_launcher(&args.program[0]) && !java::judge_themselves();
    let conflicts = if is_filtered { Conflicts::Locks } else { Conflicts::Data };
    let unsaid = Config { conflicts, ..UNSAID };
    let mut in_force = args.conventions.in_force(Conventions::default(), &configuration, unsaid);
    let mode = Mode::of(args, &algorithms, in_force, &configuration);
    if mode == Mode::Recorded {
        in_force.accesses = Some(Accesses::All);
    }
    // Blocks are taken out where their libraries are known as well.
    let spec = configuration.spec.take().map(|spec| Arc::new(spec.applied_before()));
    let inputs: Vec<&Path> = configuration.files.iter().map(PathBuf::as_path).collect();
    let renderings =
        Renderings::open(&args.format, &args.destination, &configuration, &inputs, Voice::Error)?;
    if let Some(path) = &args.record {
        copy::ensure_writable(path)?;
    }
    let library = Library::unpack()?;
    let rings = Directory::new()?;
    interrupt::watch_program();
    let java = java::Options { blocks: args.java.blocks.or(configuration.blocks), ..args.java.clone() };
    let mut child = start(args, &java, (mode, in_force.config.conflicts), &library, rings.path())?;
    footprint::shrink();
    let options = Options {
        algorithms,
        in_force,
        discipline: Discipline::Lenient,
        spec: spec.as_deref(),
        instances: if args.all_instances { Instances::All } else { Instances::Folded },
        witnesses: Wanted::All,
        verify: if args.verify { Verify::Yes } else { Verify::No },
        serial_order: Serial::No,
        predicting: Predicting::default(),
        explaining: Explaining::from_option(args.explain_seconds),
        aside: Rules { known: Some(&configuration.known), idioms: &configuration.idioms },
    };
    let mut ended = watch(&mut child, rings.path(), (args, mode), &options, spec.as_ref())?;
    footprint::shrink();
    let told = report::Told { spec: spec.as_deref(), configuration: &configuration };
    let mut recorded: BTreeMap<u32, usize> = BTreeMap::new();
    ended.watched.iter().for_each(|process| *recorded.entry(process.process).or_default() += 1);
    ended.plain_programs = started::unwatched(rings.path(), &recorded);
    report::report(args, &ended, told, renderings)
}

fn start(
    args: &Args,
    java: &java::Options,
    (mode, conflicts): (Mode, Conflicts),
    library: &Library,
    rings: &Path,
) -> anyhow::Result<Child> {
    let [name, arguments @ ..] = &args.program[..] else { bail!("no program to run") };
    let mut command = if java::is_launcher(name) {
        java::command(name, arguments, java, library, mode)?
    } else {
        native(name, arguments, java, library, mode)?
    };
    command.env(atomvet_ring::DIRECTORY, rings);
    if conflicts == Conflicts::Locks {
        command.env(atomvet_ring::LIVE_CONFLICTS, "1");
    }
    if mode == Mode::Recorded {
        command.env(atomvet_ring::RECORD_ALL, "1");
    }
    end_with_us(&mut command);
    command.spawn().map_err(|error| {
        let help = match error.kind() {
            std::io::ErrorKind::NotFound => "check its name; one in this directory is called ./NAME",
            _ => "check that it can be executed",
        };
        anyhow!("{}: cannot be run: {error}; {help}", Path::new(name).display())
    })
}

/// Has the program killed if this process is.
fn end_with_us(command: &mut Command) {
    let ourselves = std::process::id();
    let ask = move || {
        // SAFETY: plain numbers. The signal comes when the thread ends that started the program: the main thread, which waits for it.
        let asked = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        if asked != 0 || std::os::unix::process::parent_id() != ourselves {
            return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(())
    };
    // SAFETY: `prctl` and `getppid` may be called between fork and exec, and nothing is allocated.
    unsafe { command.pre_exec(ask) };
}

/// A program that loads the runtime, and whose JVMs, if it starts any, load the agent.
fn native(
    name: &OsString,
    arguments: &[OsString],
    java: &java::Options,
    library: &Library,
    mode: Mode,
) -> anyhow::Result<Command> {
    let mut preload = library.file().into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    let mut command = Command::new(name);
    command.args(arguments).env("LD_PRELOAD", preload);
    command.env(java::TOOL_OPTIONS, java::tool_options(java, library, mode)?);
    // What clang links in by itself can be told nothing, but asked not to end the program with a status of its own.
    command.arg0(name);
    Ok(command)
}

/// Judges every process that turns up, until the program has ended.
fn watch(
    child: &mut Child,
    rings: &Path,
    (args, mode): (&Args, Mode),
    options: &Options<'_>,
    spec: Option<&Arc<Spec>>,
) -> anyhow::Result<Ended> {
    let give_up = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        let mut known = BTreeSet::new();
        let mut judges = Vec::new();
        let mut grace = Grace::new(child.id(), Duration::from_secs_f64(args.grace));
        let ending = Ending::of(child);
        let mut pause = BETWEEN_LOOKS[0];
        let ended = loop {
            let ended = child.try_wait().context("cannot wait for the program")?;
            // Looked for after the question, so that no ring of a program that has ended is missed.
            for path in new_rings(rings, mode, &mut known) {
                pause = BETWEEN_LOOKS[0];
                let place = judges.len();
                let give_up = Arc::clone(&give_up);
                let spec = spec.cloned();
                judges.push(scope.spawn(move || judge(&path, place, args, options, spec, give_up)));
            }
            grace.pursue();
            match ended {
                Some(ended) if !grace.has_others() => break ended,
                None if grace.is_hopeless() => break ExitStatus::from_raw(libc::SIGKILL),
                _ => {}
            }
            ending.wait(pause);
            pause = (pause * 5 / 4).min(BETWEEN_LOOKS[1]);
        };
        if grace.was_killed() {
            say::note(format!(
                "{}: killed: it did not end within {} s of the signal; --grace gives it more time",
                Path::new(&args.program[0]).display(),
                args.grace
            ));
        }
        // Processes that outlive the program are judged by what they did so far.
        give_up.store(true, Ordering::Relaxed);
        interrupt::program_ended();
        let mut watched = Vec::new();
        let mut failed: Vec<_> = not_recorded(rings, args).collect();
        for judge in judges {
            match judge.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                Ok(process) => watched.push(process),
                // The others are of interest all the same.
                Err(error) => failed.push(error),
            }
        }
        Ok(Ended { watched, failed, plain_programs: Vec::new(), ended })
    })
}

/// What has appeared since the last look, in the order of the processes: rings, and the tables of those that judge themselves.
fn new_rings(directory: &Path, mode: Mode, known: &mut BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    // Who is recorded judges itself as well, but by other conventions.
    let is_wanted = |ending: &OsStr| ending == "ring" || ending == live::ENDING && mode == Mode::Live;
    let rings = entries.filter(|path| path.extension().is_some_and(is_wanted));
    let mut new: Vec<PathBuf> = rings.filter(|path| known.insert(path.clone())).collect();
    new.sort();
    new
}

/// Why processes could not be recorded, as they say themselves.
fn not_recorded(directory: &Path, args: &Args) -> impl Iterator<Item = anyhow::Error> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "failed")).map(|path| {
        let reason = std::fs::read_link(&path).unwrap_or_default();
        let process = path.file_stem().unwrap_or_default();
        anyhow!(
            "{} (process {}): was not checked: {}",
            Path::new(&args.program[0]).display(),
            process.to_string_lossy(),
            reason.display()
        )
    })
}

/// Reads one ring to its end and judges what it says.
fn judge(
    path: &Path,
    place: usize,
    args: &Args,
    options: &Options<'_>,
    spec: Option<Arc<Spec>>,
    give_up: Arc<AtomicBool>,
) -> anyhow::Result<Watched> {
    let name = Path::new(&args.program[0]).display().to_string();
    let named = |process| if place == 0 { name.clone() } else { format!("{name} (process {process})") };
    if path.extension().is_some_and(|ending| ending == live::ENDING) {
        return live::judge(path, named, options, spec, &give_up);
    }
    // The agent of JVMs leaves accesses out that the verdict on this run does not need.
    let mut options = options.clone();
    if options.in_force.accesses.is_none() {
        options.in_force.accesses = Some(Accesses::Filtered);
        options.in_force.config.conflicts = Conflicts::Locks;
    }
    let options = &options;
    let ring = Ring::open(path)?;
    let process = ring.header().program.load(Ordering::Relaxed);
    let name = named(process);
    let translator = Translator::new(Meaning::new(process, path), spec);
    let copy = Copy::new(recording(args.record.as_deref(), place).as_deref());
    let readable = copy.readable();
    let (sender, receiver) = channel();
    let feed = Feed::new(&name, ring, translator, &options.in_force.to_record(), copy, give_up, sender)
        .map_err(|error| anyhow!("{error}"))?;
    // What different accesses have in common is known when all are there.
    let (mut source, recorded) = if options.in_force.accesses == Some(Accesses::All) {
        (Source::recorded(&name, readable), feed.record())
    } else {
        (Source::running(&name, Box::new(feed), readable), Ok(()))
    };
    let mut result = recorded.and_then(|()| examine(&mut source, options));
    let learned = match (&args.refine, &result) {
        (Some(_), Ok(_)) => match learn(&mut source, &options.in_force.config, options.discipline) {
            Ok((pass, _)) if pass.partial.is_some() => Err(format!("{name}: interrupted")),
            Ok((_, seen)) => Ok(seen),
            Err(error) => Err(error.to_string()),
        },
        _ => Ok(Vec::new()),
    };
    let summary = summary(&receiver);
    if let Ok(examined) = &mut result {
        examined.pass.thread_entries.clone_from(&summary.thread_entries);
    }
    Ok(Watched { process, result, summary, learned })
}

fn summary(receiver: &Receiver<Summary>) -> Summary {
    receiver.try_recv().unwrap_or_default()
}

/// Where `--record` puts the trace of a process: the first, the second, …
fn recording(record: Option<&Path>, place: usize) -> Option<PathBuf> {
    let mut path = record?.as_os_str().to_owned();
    if place > 0 {
        path.push(format!(".{}", place + 1));
    }
    Some(path.into())
}

/// How a program ended, in words; nothing if all was well.
fn trouble(ended: ExitStatus) -> Option<String> {
    match (ended.code(), ended.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("exit status {code}")),
        (None, Some(signal)) => Some(format!("signal {signal}")),
        (None, None) => Some("an unknown status".to_owned()),
    }
}
