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

mod feed;
mod jvm;
pub(crate) mod library;
mod report;
mod ring;
mod symbols;
mod translate;
mod variables;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use atomvet_check::Config;
use atomvet_trace::Error;
use atomvet_trace::wellformed::Discipline;

use self::feed::{Feed, Summary};
use self::library::Library;
use self::ring::Ring;
use self::symbols::Meaning;
use self::translate::Translator;
use crate::examine::{Examined, Instances, Options, Serial, Verify, Wanted, examine};
use crate::output::Output;
use crate::predicted::Predicting;
use crate::refine::learn;
use crate::spec::{Seen, Spec};
use crate::spool::{Source, temporary};
use crate::status::Status;
use crate::{Format, algorithms, interrupt, java};

/// Options of `run`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The program and its arguments
    #[arg(required = true, value_name = "PROGRAM", trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
    /// Algorithms, by name and with commas between, or all (see `atomvet list`) [default: regiontrack]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "What is checked")]
    algo: Vec<String>,
    /// Check only the blocks that this specification lists (`--refine` makes one)
    #[arg(long, value_name = "FILE", help_heading = "What is checked")]
    spec: Option<PathBuf>,
    /// Judge a block that waits (condition, join, barrier, semaphore) as a whole, instead of the pieces before and
    /// after the wait
    #[arg(long, help_heading = "How events are understood")]
    strict_waits: bool,
    /// Let atomic updates of one commuting kind (add, or, and, xor, min, max) conflict with each other
    #[arg(long, help_heading = "How events are understood")]
    strict_atomics: bool,
    /// For people or for programs
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "What is shown")]
    format: Format,
    /// One finding per violating block instance instead of one per mistake with a count
    #[arg(long, help_heading = "What is shown")]
    all_instances: bool,
    /// Show so many findings in detail (text only)
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "What is shown")]
    max_findings: usize,
    /// Have an independent verifier confirm every witness that is shown
    #[arg(long, help_heading = "What is shown")]
    verify: bool,
    /// Write the report to a file, or to standard output for - [default: standard error]
    #[arg(short, value_name = "FILE", help_heading = "What is shown")]
    output: Option<PathBuf>,
    /// Write what happened to a trace that `atomvet check` reads; for further processes, .2, .3, … is appended
    #[arg(long, value_name = "FILE", help_heading = "What is kept")]
    record: Option<PathBuf>,
    /// Write the blocks that were seen atomic and those that were not to a specification
    #[arg(long, value_name = "FILE", help_heading = "What is kept")]
    refine: Option<PathBuf>,
    #[command(flatten)]
    java: java::Options,
}

impl Args {
    /// How events are understood.
    fn config(&self) -> Config {
        Config { commuting_updates: !self.strict_atomics, split_at_waits: !self.strict_waits }
    }
}

/// How often to look for new processes.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// How long a program may take to end after Ctrl-C before it is told once more.
const PATIENCE: Duration = Duration::from_secs(3);

/// One process that was watched.
pub(crate) struct Watched {
    process: u32,
    result: Result<Examined, Error>,
    summary: Summary,
    /// What becomes of it in a specification, if one is wanted.
    learned: Vec<Seen>,
}

/// Runs `atomvet java`: the arguments are those of the JVM.
pub(crate) fn run_java(mut args: Box<Args>) -> anyhow::Result<Status> {
    args.program.insert(0, "java".into());
    run(&args)
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Status> {
    let algorithms = algorithms::select(&args.algo)?;
    let spec = args.spec.as_deref().map(Spec::read).transpose()?.map(Arc::new);
    let inputs: Vec<&Path> = args.spec.iter().map(PathBuf::as_path).collect();
    let output = args.output.as_deref().map(|path| Output::create(Some(path), &inputs)).transpose()?;
    let library = Library::unpack()?;
    let rings = ring_directory()?;
    interrupt::put_off();
    let mut child = start(args, &library, rings.path())?;
    let options = Options {
        algorithms,
        config: args.config(),
        discipline: Discipline::Lenient,
        spec: spec.as_deref(),
        instances: if args.all_instances { Instances::All } else { Instances::Folded },
        witnesses: match args.format {
            // Some of them may turn out to be callers of others, which are not shown in detail.
            Format::Text => Wanted::Shown(args.max_findings.saturating_mul(2)),
            Format::Json => Wanted::All,
        },
        verify: if args.verify { Verify::Yes } else { Verify::No },
        serial_order: Serial::No,
        predicting: Predicting::default(),
    };
    let (mut watched, ended) = watch(&mut child, rings.path(), args, &options, spec.as_ref())?;
    report::report(args, &mut watched, ended, spec.as_deref(), output)
}

/// A directory for rings, in memory if there is such a place.
fn ring_directory() -> anyhow::Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("atomvet-");
    let in_memory = Path::new("/dev/shm");
    if let Ok(directory) = builder.tempdir_in(in_memory)
        && has_room(directory.path())
    {
        return Ok(directory);
    }
    builder.tempdir().context("cannot make a temporary directory; set TMPDIR to one that can be written")
}

/// Whether a few rings fit there: a file system in memory may be very small.
fn has_room(directory: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let Ok(path) = std::ffi::CString::new(directory.as_os_str().as_bytes()) else { return false };
    let mut figures = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the path ends with a zero; the figures are plain numbers, which the call writes.
    let figures = unsafe {
        if libc::statvfs(path.as_ptr(), figures.as_mut_ptr()) != 0 {
            return false;
        }
        figures.assume_init()
    };
    figures.f_bavail.saturating_mul(figures.f_frsize) >= 8 * atomvet_ring::FILE_BYTES as u64
}

fn start(args: &Args, library: &Library, rings: &Path) -> anyhow::Result<Child> {
    let [name, arguments @ ..] = &args.program[..] else { bail!("no program to run") };
    let mut command = if java::is_launcher(name) {
        java::command(name, arguments, &args.java, library)?
    } else {
        native(name, arguments, &args.java, library)?
    };
    command.env(atomvet_ring::DIRECTORY, rings);
    command.spawn().map_err(|error| {
        let help = match error.kind() {
            std::io::ErrorKind::NotFound => "check its name; one in this directory is called ./NAME",
            _ => "check that it can be executed",
        };
        anyhow!("{}: cannot be run: {error}; {help}", Path::new(name).display())
    })
}

/// A program that loads the runtime, and whose JVMs, if it starts any, load the agent.
fn native(
    name: &OsString,
    arguments: &[OsString],
    java: &java::Options,
    library: &Library,
) -> anyhow::Result<Command> {
    let mut preload = library.file().into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    let mut command = Command::new(name);
    command.args(arguments).env("LD_PRELOAD", preload);
    command.env(java::TOOL_OPTIONS, java::tool_options(java, library)?);
    // What clang links in by itself can be told nothing, but asked not to end the program with a status of its own.
    command.arg0(name);
    Ok(command)
}

/// Judges every process that turns up, until the program has ended.
fn watch(
    child: &mut Child,
    rings: &Path,
    args: &Args,
    options: &Options<'_>,
    spec: Option<&Arc<Spec>>,
) -> anyhow::Result<(Vec<Watched>, ExitStatus)> {
    let give_up = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        let mut known = BTreeSet::new();
        let mut judges = Vec::new();
        let mut told = None;
        let ended = loop {
            let ended = child.try_wait().context("cannot wait for the program")?;
            // Looked for after the question, so that no ring of a program that has ended is missed.
            for path in new_rings(rings, &mut known) {
                let place = judges.len();
                let give_up = Arc::clone(&give_up);
                let spec = spec.cloned();
                judges.push(scope.spawn(move || judge(&path, place, args, options, spec, give_up)));
            }
            if let Some(ended) = ended {
                break ended;
            }
            if interrupt::pressed() {
                let since: &mut Instant = told.get_or_insert_with(Instant::now);
                if since.elapsed() > PATIENCE {
                    *since = Instant::now();
                    // SAFETY: the child has not been waited for, so the number is still its own.
                    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
                }
            }
            std::thread::sleep(BETWEEN_LOOKS);
        };
        // Processes that outlive the program are judged by what they did so far.
        give_up.store(true, Ordering::Relaxed);
        let mut watched = Vec::new();
        for judge in judges {
            watched.push(judge.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok((watched, ended))
    })
}

/// The rings that have appeared since the last look, in the order of their processes.
fn new_rings(directory: &Path, known: &mut BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let rings = entries.filter(|path| path.extension().is_some_and(|ending| ending == "ring"));
    let mut new: Vec<PathBuf> = rings.filter(|path| known.insert(path.clone())).collect();
    new.sort();
    new
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
    let ring = Ring::open(path)?;
    let process = ring.header().program.load(Ordering::Relaxed);
    let name = Path::new(&args.program[0]).display().to_string();
    let name = if place == 0 { name } else { format!("{name} (process {process})") };
    let translator = Translator::new(Meaning::new(process, path), spec);
    let (write, read) = copy(args.record.as_deref(), place)?;
    let (sender, receiver) = channel();
    let feed =
        Feed::new(&name, ring, translator, write, give_up, sender).map_err(|error| anyhow!("{error}"))?;
    let mut source = Source::running(&name, Box::new(feed), read);
    let result = examine(&mut source, options);
    let learned = match (&args.refine, &result) {
        (Some(_), Ok(_)) => {
            learn(&mut source, &options.config, options.discipline).map_err(|error| anyhow!("{error}"))?.1
        }
        _ => Vec::new(),
    };
    Ok(Watched { process, result, summary: summary(&receiver), learned })
}

fn summary(receiver: &Receiver<Summary>) -> Summary {
    receiver.try_recv().unwrap_or_default()
}

/// The file that gets a copy of the events, to write and to read.
fn copy(record: Option<&Path>, place: usize) -> anyhow::Result<(File, File)> {
    let Some(record) = record else {
        return temporary().context("no temporary file for the events; set TMPDIR to a directory with room");
    };
    let mut path = record.as_os_str().to_owned();
    if place > 0 {
        path.push(format!(".{}", place + 1));
    }
    let path = PathBuf::from(path);
    let shown = path.display();
    let write = File::create(&path).with_context(|| format!("{shown}: cannot be written"))?;
    let read = File::open(&path).with_context(|| format!("{shown}: cannot be read"))?;
    Ok((write, read))
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
