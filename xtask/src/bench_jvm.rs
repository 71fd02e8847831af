//! `cargo xtask bench-jvm`: what it costs to run a Java program under the checker.
//!
//! Each program of `bench/jvm` is run in three ways, in turn, in several rounds: as it is, with an agent whose hooks are
//! called and do nothing, and under `atomvet java`. Everything is a ratio within one round, of which the medians count.
//! What the program prints must be the same in all of them.
//!
//! - *Work* is the program's own wall time for what it is there to do, without the start of the JVM and of the program. It is
//!   what people wait for, on an idle machine.
//! - *Processor time* is user and system of the whole run, of the JVM with its compilers and collectors and of the command
//!   that judges it live.
//! - *Memory* is the peak of what is resident, of the JVM and of the command.
//!
//! The jar of H2 is that of Debian's package libh2-java: where that is not installed, it is downloaded and unpacked below
//! `target`.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::bench_native::{self, child_of, ended, load, peak_of};

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    common: bench_native::Options,
    /// Only these of database, locks and compute
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
}

/// A program of `bench/jvm`, and how much it is to do: some seconds.
struct Program {
    name: &'static str,
    class: &'static str,
    amount: &'static str,
    goal: Option<Goal>,
}

/// How many times as much processor time as something else checking may take.
struct Goal {
    native: f64,
    empty: f64,
}

const PROGRAMS: [Program; 3] = [
    Program {
        name: "database",
        class: "Database",
        amount: "10000",
        goal: Some(Goal { native: 6.0, empty: 2.0 }),
    },
    Program { name: "locks", class: "Locks", amount: "3000000", goal: None },
    Program { name: "compute", class: "Compute", amount: "1000", goal: None },
];

const INSTALLED_H2: &str = "/usr/share/java/h2.jar";

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    for name in &options.only {
        ensure!(PROGRAMS.iter().any(|program| program.name == name), "{name}: no such program");
    }
    let atomvet = options.common.command()?;
    let folder = PathBuf::from("target/bench-jvm");
    std::fs::create_dir_all(&folder)?;
    let folder = folder.canonicalize()?;
    let ways = Ways::prepare(&atomvet, &folder)?;
    let date = crate::bench::today()?;
    let cores = std::thread::available_parallelism()?;
    let load = load()?;
    let jdk = jdk()?;
    let rounds = options.common.rounds;
    let mut words = options.common.words("bench-jvm");
    if !options.only.is_empty() {
        words += &format!(" --only {}", options.only.join(","));
    }
    let mut report = format!(
        "# {date}: `{words}`\n\n\
        Medians of {rounds} rounds on {cores} cores at a load of {load}, {jdk}. Ratios are those of one round.\n\
        *Work* is the program's own wall time; *cpu* is user and system of the whole run, of the JVM and of the command that\n\
        judges it. Empty hooks are called wherever ours are, are not inlined, and do nothing. Memory is what was resident at\n\
        most, in MiB, of JVM + command. All printed the same results.\n\n\
        | program | native: work, cpu | empty hooks | checking | checking / empty: work, cpu | MiB: native | empty | checking |\n\
        |---|---|---|---|---|---|---|---|\n"
    );
    let mut missed = Vec::new();
    for program in &PROGRAMS {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == program.name) {
            continue;
        }
        let rounds = (0..rounds).map(|_| ways.round(program)).collect::<anyhow::Result<Vec<_>>>()?;
        tell(&mut report, program, &rounds, &mut missed)?;
    }
    options.common.tell(&report, &format!("bench/{date}-jvm.md"))?;
    ensure!(missed.is_empty(), "goals missed: {}", missed.join("; "));
    Ok(())
}

/// One line of the table.
fn tell(
    report: &mut String,
    program: &Program,
    rounds: &[Round],
    missed: &mut Vec<String>,
) -> anyhow::Result<()> {
    let slowdown = |cost: fn(&Round) -> Cost| {
        format!(
            "{:.1} s ({:.1}×), {:.1} s (**{:.1}×**)",
            median(rounds, |round| cost(round).work),
            median(rounds, |round| cost(round).work / round.native.work),
            median(rounds, |round| cost(round).cpu),
            median(rounds, |round| cost(round).cpu / round.native.cpu),
        )
    };
    let memory = |cost: fn(&Round) -> Cost| {
        let [jvm, command] = [median(rounds, |r| cost(r).jvm), median(rounds, |r| cost(r).command)];
        format!("{jvm:.0} + {command:.0}")
    };
    let of_empty = median(rounds, |round| round.checked.cpu / round.empty.cpu);
    writeln!(
        report,
        "| {} | {:.2} s, {:.2} s | {} | {} | {:.1}, **{of_empty:.1}** | {:.0} | {} | {} |",
        program.name,
        median(rounds, |round| round.native.work),
        median(rounds, |round| round.native.cpu),
        slowdown(|round| round.empty),
        slowdown(|round| round.checked),
        median(rounds, |round| round.checked.work / round.empty.work),
        median(rounds, |round| round.native.jvm),
        memory(|round| round.empty),
        memory(|round| round.checked),
    )?;
    if let Some(Goal { native, empty }) = program.goal {
        let of_native = median(rounds, |round| round.checked.cpu / round.native.cpu);
        for (name, ratio, goal) in [("native", of_native, native), ("empty hooks", of_empty, empty)] {
            if ratio > goal {
                missed.push(format!("{} takes {ratio:.1} times {name}, more than {goal}", program.name));
            }
        }
    }
    Ok(())
}

/// What the three ways to run a program cost, right after each other.
struct Round {
    native: Cost,
    empty: Cost,
    checked: Cost,
}

/// Seconds and MiB. For what runs alone, `command` is 0.
#[derive(Clone, Copy)]
struct Cost {
    work: f64,
    cpu: f64,
    jvm: f64,
    command: f64,
}

fn median(rounds: &[Round], value: impl Fn(&Round) -> f64) -> f64 {
    let mut values: Vec<f64> = rounds.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// How programs are run.
struct Ways {
    atomvet: PathBuf,
    folder: PathBuf,
    class_path: String,
    /// The agent that the command carries.
    agent: PathBuf,
}

impl Ways {
    /// Compiles the programs, and finds the jar and the agent.
    fn prepare(atomvet: &Path, folder: &Path) -> anyhow::Result<Ways> {
        let classes = folder.join("classes");
        std::fs::create_dir_all(&classes)?;
        let sources =
            PROGRAMS.iter().map(|program| Path::new("bench/jvm").join(format!("{}.java", program.class)));
        let compiled = Command::new("javac").arg("-d").arg(&classes).args(sources).status();
        ensure!(compiled.context("javac: cannot be run")?.success(), "the programs do not compile");
        let class_path = format!("{}:{}", classes.display(), h2(folder)?.display());
        // The command unpacks its agent when it starts a JVM.
        let cache = folder.join("cache");
        if cache.exists() {
            std::fs::remove_dir_all(&cache)?;
        }
        let mut unpacks = Command::new(atomvet);
        unpacks.args(["java", "-version"]).env("XDG_CACHE_HOME", &cache);
        unpacks.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        let agent = std::fs::read_dir(cache.join("atomvet"))?.flatten();
        let agent =
            agent.map(|version| version.path().join("libatomvet_agent.so")).find(|file| file.exists());
        let agent = agent.context("the command has unpacked no agent")?;
        Ok(Ways { atomvet: atomvet.to_owned(), folder: folder.to_owned(), class_path, agent })
    }

    /// Runs a program in all three ways.
    fn round(&self, program: &Program) -> anyhow::Result<Round> {
        let watched = || {
            let mut command = Command::new(&self.atomvet);
            command.args(["java", "-o"]).arg(self.folder.join(format!("{}.txt", program.name)));
            command.env("XDG_CACHE_HOME", self.folder.join("cache"));
            command
        };
        let mut with_empty_hooks = watched();
        with_empty_hooks.env("ATOMVET_AGENT", format!("{}=empty", self.agent.display()));
        // Nothing is observed with empty hooks; what is found is no failure.
        let (native, told) = self.measure(Command::new("java"), program, &[0])?;
        let (empty, told_with_empty) = self.measure(with_empty_hooks, program, &[3])?;
        let (checked, told_checked) = self.measure(watched(), program, &[0, 1])?;
        for (way, other) in [("with empty hooks", told_with_empty), ("when it is checked", told_checked)] {
            ensure!(told == other, "{} prints {other:?} {way} instead of {told:?}", program.name);
        }
        Ok(Round { native, empty, checked })
    }

    /// Runs a JVM with a program to its end, and looks at its memory and that of its child meanwhile. What it cost, and what
    /// it printed as its results.
    fn measure(
        &self,
        mut command: Command,
        program: &Program,
        expected: &[i32],
    ) -> anyhow::Result<(Cost, String)> {
        command.arg("-cp").arg(&self.class_path).args([program.class, program.amount]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut peaks = [0.0_f64; 2];
        let patience = Instant::now() + Duration::from_secs(600);
        let (usage, status) = loop {
            let id = child.id();
            for (peak, process) in peaks.iter_mut().zip([Some(id), child_of(id)]) {
                *peak = peak.max(process.and_then(peak_of).unwrap_or_default());
            }
            if let Some(ended) = ended(&mut child)? {
                break ended;
            }
            if Instant::now() > patience {
                child.kill()?;
                anyhow::bail!("{command:?}: takes longer than ten minutes");
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        // Some lines, which fit into a pipe.
        let mut printed = String::new();
        child.stdout.take().context("a pipe")?.read_to_string(&mut printed)?;
        ensure!(
            libc::WIFEXITED(status) && expected.contains(&libc::WEXITSTATUS(status)),
            "{command:?}: ends with status {status:#x}, after\n{printed}"
        );
        let (results, worked) = printed.split_once("worked ").context("how long the work took")?;
        let work = worked.trim().strip_suffix(" ms").context("milliseconds")?.parse::<f64>()? / 1000.0;
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        let cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
        let [outer, inner] = peaks;
        let (jvm, command) = if inner > 0.0 { (inner, outer) } else { (outer, 0.0) };
        Ok((Cost { work, cpu, jvm, command }, results.to_owned()))
    }
}

/// The jar of H2.
fn h2(folder: &Path) -> anyhow::Result<PathBuf> {
    if Path::new(INSTALLED_H2).exists() {
        return Ok(INSTALLED_H2.into());
    }
    let unpacked = folder.join("root").join(INSTALLED_H2.trim_start_matches('/'));
    if unpacked.exists() {
        return Ok(unpacked);
    }
    let remedy = "the jar of H2 is missing: install Debian's package libh2-java";
    let downloaded =
        Command::new("apt-get").args(["-qq", "download", "libh2-java"]).current_dir(folder).status();
    ensure!(downloaded.context(remedy)?.success(), remedy);
    for file in std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()) {
        if file.extension().is_some_and(|ending| ending == "deb") {
            let done = Command::new("dpkg-deb").arg("-x").arg(file).arg(folder.join("root")).status();
            ensure!(done.context(remedy)?.success(), remedy);
        }
    }
    ensure!(unpacked.exists(), remedy);
    Ok(unpacked)
}

/// Which JVM runs the programs, as it says itself.
fn jdk() -> anyhow::Result<String> {
    let output = Command::new("java").arg("-version").output().context("java: cannot be run")?;
    let text = String::from_utf8_lossy(&output.stderr);
    Ok(text.lines().nth(1).unwrap_or_default().to_owned())
}
