//! `cargo xtask bench-native`: what it costs to run a program under the checker.
//!
//! Each program of `bench/native` is built three times: as it is, with gcc's ThreadSanitizer, and by `atomvet cc`, and run
//! in turn, several times; the best wall time and the largest memory of each count, so that everything is a ratio
//! within one run. For atomvet both processes count: the program and the command that judges it live.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Runs of which the best counts
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Write nothing to bench/
    #[arg(long)]
    dry: bool,
}

/// How much slower than ThreadSanitizer we may be: this part of its slowdown.
const GOAL: f64 = 0.6;

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let built =
        Command::new(cargo).args(["build", "--release", "--quiet", "--package", "atomvet"]).status()?;
    ensure!(built.success(), "the command does not build");
    let atomvet = PathBuf::from("target/release/atomvet").canonicalize()?;
    let folder = PathBuf::from("target/bench-native");
    std::fs::create_dir_all(&folder)?;
    let date = crate::bench::today()?;
    let mut report = format!(
        "# {date}: `cargo xtask bench-native --runs {}`\n\n\
        Wall seconds (best of {} runs) and peak memory; slowdowns are ratios to the plain program.\n\
        atomvet: `atomvet run` with every function a block, program and judge together.\n\n\
        | program | plain | ThreadSanitizer | atomvet | of its slowdown | MiB: plain | ThreadSanitizer | atomvet |\n\
        |---|---|---|---|---|---|---|---|\n",
        options.runs, options.runs
    );
    let mut slow = Vec::new();
    for source in ["matmul.c", "hashtable.c", "queue.cpp"] {
        let path = Path::new("bench/native").join(source);
        let is_cpp = source.ends_with(".cpp");
        let compiler = if is_cpp { "g++" } else { "gcc" };
        let stem = path.file_stem().context("a name")?.to_string_lossy().into_owned();
        let binary = |kind: &str| folder.join(format!("{stem}-{kind}"));
        let (plain, tsan, ours) = (binary("plain"), binary("tsan"), binary("atomvet"));
        compile(Command::new(compiler), &path, &plain)?;
        let mut sanitized = Command::new(compiler);
        sanitized.arg("-fsanitize=thread");
        compile(sanitized, &path, &tsan)?;
        let mut wrapped = Command::new(&atomvet);
        wrapped.arg(if is_cpp { "c++" } else { "cc" });
        compile(wrapped, &path, &ours)?;
        let mut watched = Command::new(&atomvet);
        watched.args(["run", "--"]).arg(&ours);
        let mut commands = [Command::new(&plain), Command::new(&tsan), watched];
        let mut costs = [Cost::WORST; 3];
        for _ in 0..options.runs {
            for (command, cost) in commands.iter_mut().zip(&mut costs) {
                cost.add(measure(command)?);
            }
        }
        let [plain, tsan, ours] = costs;
        let slowdown = |cost: Cost| cost.wall.as_secs_f64() / plain.wall.as_secs_f64();
        let part = slowdown(ours) / slowdown(tsan);
        if part > GOAL {
            slow.push(format!("{stem} takes {part:.2} of ThreadSanitizer's slowdown"));
        }
        writeln!(
            report,
            "| {stem} | {:.3} s | {:.3} s ({:.1}×) | {:.3} s ({:.1}×) | {part:.2} | {:.0} | {:.0} | {:.0} |",
            plain.wall.as_secs_f64(),
            tsan.wall.as_secs_f64(),
            slowdown(tsan),
            ours.wall.as_secs_f64(),
            slowdown(ours),
            plain.mebibytes,
            tsan.mebibytes,
            ours.mebibytes,
        )?;
    }
    println!("{report}");
    if !options.dry {
        let path = format!("bench/{date}-native.md");
        std::fs::write(&path, &report)?;
        println!("written to {path}");
    }
    ensure!(slow.is_empty(), "more than {GOAL}: {}", slow.join("; "));
    Ok(())
}

fn compile(mut compiler: Command, source: &Path, binary: &Path) -> anyhow::Result<()> {
    let status = compiler.args(["-O2", "-g", "-pthread"]).arg(source).arg("-o").arg(binary).status()?;
    ensure!(status.success(), "{} does not compile", source.display());
    Ok(())
}

#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    mebibytes: f64,
}

impl Cost {
    const WORST: Cost = Cost { wall: Duration::MAX, mebibytes: 0.0 };

    fn add(&mut self, other: Cost) {
        self.wall = self.wall.min(other.wall);
        self.mebibytes = self.mebibytes.max(other.mebibytes);
    }
}

/// Runs a command to its end. Its memory is the largest of its processes' so far, which is why programs are run in the
/// order of their needs.
fn measure(command: &mut Command) -> anyhow::Result<Cost> {
    let started = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    let mut status = 0;
    // SAFETY: the child is ours and was not waited for; both results are written before they are read.
    let (waited, usage) = unsafe {
        let waited = libc::wait4(child.id() as libc::pid_t, &raw mut status, 0, usage.as_mut_ptr());
        (waited, usage.assume_init())
    };
    let wall = started.elapsed();
    ensure!(waited == child.id() as libc::pid_t, "cannot wait for {command:?}");
    // It is gone; this only frees the handle.
    let _ = child.try_wait();
    Ok(Cost { wall, mebibytes: usage.ru_maxrss as f64 / 1024.0 })
}
