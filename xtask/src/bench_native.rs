//! `cargo xtask bench-native`: what it costs to run a program under the checker.
//!
//! Each program of `bench/native` is built three times: as it is, with gcc's ThreadSanitizer, and by `atomvet cc`, and they
//! are run in turn, in several rounds, of which the medians count: everything is a ratio within one run, and beside ThreadSanitizer within
//! one round, because a machine that is slow for a while is slow for both.
//!
//! - *Time* is told twice. Processor time (user and system, of the program and the command that judges it live) is what
//!   the goal is about: it means the same on a busy machine. Wall time is what people wait for on an idle one.
//! - *Memory* is the peak of what is resident, of the program and of the command; the goal is about the sum, in which the
//!   ring that both map counts twice.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

/// What this benchmark and that of the JVM are told.
#[derive(clap::Args)]
#[group(skip)]
pub(crate) struct Options {
    /// Rounds, of which the medians count
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// The command to measure, instead of one that is built for it
    #[arg(long, value_name = "FILE")]
    atomvet: Option<PathBuf>,
    /// Write nothing to bench/
    #[arg(long)]
    dry: bool,
}

impl Options {
    /// The command to measure.
    pub(crate) fn command(&self) -> anyhow::Result<PathBuf> {
        match &self.atomvet {
            Some(path) => path.canonicalize().with_context(|| format!("{}: cannot be found", path.display())),
            None => build_command(),
        }
    }

    /// What was asked for, in words that can be run, but for where the command is.
    pub(crate) fn words(&self, benchmark: &str) -> String {
        let mut words = format!("cargo xtask {benchmark} --rounds {}", self.rounds);
        if let Some(name) = self.atomvet.as_ref().and_then(|path| path.file_name()) {
            words += &format!(" --atomvet {}", name.display());
        }
        words
    }

    /// Shows a report and, unless nothing is to be written, keeps it.
    pub(crate) fn tell(&self, report: &str, path: &str) -> anyhow::Result<()> {
        println!("{report}");
        if !self.dry {
            std::fs::write(path, report)?;
            println!("written to {path}");
        }
        Ok(())
    }
}

/// How busy the machine is.
pub(crate) fn load() -> anyhow::Result<String> {
    let load = std::fs::read_to_string("/proc/loadavg")?;
    Ok(load.split(' ').next().unwrap_or_default().to_owned())
}

/// How much slower than ThreadSanitizer we may be: this part of its slowdown.
const GOAL: f64 = 0.6;

const PROGRAMS: [&str; 4] = ["matmul.c", "queue.cpp", "hashtable.c", "compressor.c"];

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let atomvet = options.command()?;
    let folder = PathBuf::from("target/bench-native");
    std::fs::create_dir_all(&folder)?;
    let date = crate::bench::today()?;
    let cores = std::thread::available_parallelism()?;
    let load = load()?;
    let mut report = format!(
        "# {date}: `{}`\n\n\
        Medians of {} rounds on {cores} cores at a load of {load}. Slowdowns are ratios to the plain program;\n\
        processor time is user and system, atomvet's that of the program and of the command that judges it, with every\n\
        function a block. What part of ThreadSanitizer's that is, is the median of what it is in each round. Memory is what was resident at most, in MiB, atomvet's of program + command.\n\n\
        | program | plain: cpu, wall | ThreadSanitizer | atomvet | of its slowdown: cpu, wall | MiB: plain | ThreadSanitizer | atomvet |\n\
        |---|---|---|---|---|---|---|---|\n",
        options.words("bench-native"),
        options.rounds
    );
    let mut missed = Vec::new();
    for source in PROGRAMS {
        let (name, mut commands) = build(source, &folder, &atomvet)?;
        let mut costs: [Vec<Cost>; 3] = Default::default();
        for _ in 0..options.rounds {
            for (command, costs) in commands.iter_mut().zip(&mut costs) {
                costs.push(measure(command)?);
            }
        }
        let [_, tsan, ours] = &costs;
        let part =
            |of: fn(&Cost) -> f64| median(ours.iter().zip(tsan).map(|(ours, tsan)| of(ours) / of(tsan)));
        let (cpu, wall) = (part(|cost| cost.cpu), part(|cost| cost.wall));
        let [plain, tsan, ours] = costs.map(|costs| Cost::median(&costs));
        if cpu > GOAL {
            missed.push(format!("{name} takes {cpu:.2} of ThreadSanitizer's time"));
        }
        if ours.program + ours.command > tsan.program {
            missed.push(format!("{name} takes more memory than with ThreadSanitizer"));
        }
        let slowdown = |cost: Cost| {
            format!(
                "{:.2} s ({:.1}×), {:.2} s ({:.1}×)",
                cost.cpu,
                cost.cpu / plain.cpu,
                cost.wall,
                cost.wall / plain.wall
            )
        };
        writeln!(
            report,
            "| {name} | {:.3} s, {:.3} s | {} | {} | **{cpu:.2}**, {wall:.2} | {:.0} | {:.0} | {:.0} + {:.0} |",
            plain.cpu,
            plain.wall,
            slowdown(tsan),
            slowdown(ours),
            plain.program,
            tsan.program,
            ours.program,
            ours.command,
        )?;
    }
    options.tell(&report, &format!("bench/{date}-native.md"))?;
    ensure!(missed.is_empty(), "goals missed ({GOAL} of its time, all of its memory): {}", missed.join("; "));
    Ok(())
}

/// Builds the command as it is released.
fn build_command() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let built =
        Command::new(cargo).args(["build", "--release", "--quiet", "--package", "atomvet"]).status()?;
    ensure!(built.success(), "the command does not build");
    Ok(PathBuf::from("target/release/atomvet").canonicalize()?)
}

/// Builds a program three times; its name, and the commands that run it.
fn build(source: &str, folder: &Path, atomvet: &Path) -> anyhow::Result<(String, [Command; 3])> {
    let path = Path::new("bench/native").join(source);
    let name = path.file_stem().context("a name")?.to_string_lossy().into_owned();
    let (compiler, wrapper) = if source.ends_with(".cpp") { ("g++", "c++") } else { ("gcc", "cc") };
    let [plain, tsan, ours] = ["plain", "tsan", "atomvet"].map(|kind| folder.join(format!("{name}-{kind}")));
    compile(Command::new(compiler), &path, &plain)?;
    let mut sanitized = Command::new(compiler);
    sanitized.arg("-fsanitize=thread");
    compile(sanitized, &path, &tsan)?;
    let mut wrapped = Command::new(atomvet);
    wrapped.arg(wrapper);
    compile(wrapped, &path, &ours)?;
    let mut watched = Command::new(atomvet);
    watched.args(["run", "--"]).arg(&ours);
    Ok((name, [Command::new(&plain), Command::new(&tsan), watched]))
}

fn compile(mut compiler: Command, source: &Path, binary: &Path) -> anyhow::Result<()> {
    let status = compiler.args(["-O2", "-g", "-pthread"]).arg(source).arg("-o").arg(binary).status()?;
    ensure!(status.success(), "{} does not compile", source.display());
    Ok(())
}

/// Seconds and MiB. For what runs alone, `command` is 0.
#[derive(Clone, Copy, Default)]
struct Cost {
    cpu: f64,
    wall: f64,
    program: f64,
    command: f64,
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

impl Cost {
    fn median(costs: &[Cost]) -> Cost {
        let median = |field: fn(&Cost) -> f64| median(costs.iter().map(field));
        Cost {
            cpu: median(|cost| cost.cpu),
            wall: median(|cost| cost.wall),
            program: median(|cost| cost.program),
            command: median(|cost| cost.command),
        }
    }
}

/// Runs a command to its end, and looks at the memory of it and its child meanwhile.
fn measure(command: &mut Command) -> anyhow::Result<Cost> {
    let started = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut peaks = [0.0_f64; 2];
    let usage = loop {
        let id = child.id();
        for (peak, process) in peaks.iter_mut().zip([Some(id), child_of(id)]) {
            *peak = peak.max(process.and_then(peak_of).unwrap_or_default());
        }
        if let Some((usage, _)) = ended(&mut child)? {
            break usage;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let wall = started.elapsed().as_secs_f64();
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    let [outer, inner] = peaks;
    let (program, command) = if inner > 0.0 { (inner, outer) } else { (outer, 0.0) };
    Ok(Cost { cpu, wall, program, command })
}

/// What a child has used up, with all its own children, and its status, if it has ended.
pub(crate) fn ended(child: &mut Child) -> anyhow::Result<Option<(libc::rusage, i32)>> {
    let id = child.id() as libc::pid_t;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    let mut status = 0;
    // SAFETY: the child is ours and was not waited for; a zeroed result is one.
    let (waited, usage) =
        unsafe { (libc::wait4(id, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()), usage.assume_init()) };
    ensure!(waited == id || waited == 0, "cannot wait for a program");
    Ok((waited == id).then_some((usage, status)))
}

/// The first child of a process.
pub(crate) fn child_of(process: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?;
    children.split_ascii_whitespace().next()?.parse().ok()
}

/// The most memory that a process had resident, in MiB.
pub(crate) fn peak_of(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? / 1024.0)
}
