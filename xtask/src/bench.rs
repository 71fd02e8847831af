//! `cargo xtask bench`: the speed and memory that we promise, as ratios in one run.
//!
//! Everything is measured with the release command as a user runs it, best of several runs, on
//! generated two-phase-locking traces; "decoding" is the same reader without a checker, in this
//! process. Raw figures go to `bench/`, dated.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use atomvet_trace::Input;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Also 100 million events: is time linear, does memory stay?
    #[arg(long)]
    long: bool,
    /// The predictive algorithms instead: how time and memory grow with the trace
    #[arg(long)]
    predict: bool,
    /// Runs of which the best counts
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Already built with optimisation: measure
    #[arg(long, hide = true)]
    inner: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if !options.inner {
        let mut again: Vec<String> =
            ["run", "--release", "--quiet", "--package", "xtask", "--", "bench", "--inner"]
                .map(str::to_owned)
                .to_vec();
        again.push(format!("--runs={}", options.runs));
        again.extend(options.long.then(|| "--long".to_owned()));
        again.extend(options.predict.then(|| "--predict".to_owned()));
        cargo(&["build", "--release", "--quiet", "--package", "atomvet"])?;
        return cargo(&again.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let bench = Bench {
        folder: PathBuf::from("target/bench"),
        atomvet: PathBuf::from("target/release/atomvet"),
        runs: options.runs,
    };
    std::fs::create_dir_all(&bench.folder)?;
    let date = today()?;
    if options.predict {
        let mut report = format!("# {date}: `cargo xtask bench --predict`\n\n");
        bench.prediction(&mut report)?;
        return write(&format!("bench/{date}-predict.md"), &report);
    }
    let mut report =
        format!("# {date}: `cargo xtask bench{}`\n\n", if options.long { " --long" } else { "" });
    bench.against_decoding(&mut report)?;
    bench.algorithms(&mut report)?;
    bench.velodrome(&mut report)?;
    if options.long {
        bench.length(&mut report)?;
    }
    write(&format!("bench/{date}.md"), &report)
}

fn write(path: &str, report: &str) -> anyhow::Result<()> {
    std::fs::write(path, report)?;
    println!("{report}written to {path}");
    Ok(())
}

struct Bench {
    folder: PathBuf,
    atomvet: PathBuf,
    runs: u32,
}

/// The sizes that the promises speak of: threads, variables, locks.
const SMALL: (u32, u32, u32) = (4, 1_000, 64);
const LARGE: (u32, u32, u32) = (16, 100_000, 1_000);

const PREDICTED: (u32, u32, u32) = (16, 10_000, 1_000);

/// The predictive algorithms that are measured.
const PREDICTIVE: [&str; 8] = [
    "commit-node",
    "commit-node-view",
    "blocks",
    "blocks-exact",
    "reduction",
    "reduction-pairwise",
    "atomizer",
    "deadlock",
];

/// What a predictive algorithm took.
struct Predictive {
    seconds: f64,
    peak_mib: f64,
    complete: bool,
}

/// What a run of the command took.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    peak_mib: f64,
}

impl Bench {
    /// Checking takes at most 3 times as long as decoding.
    fn against_decoding(&self, report: &mut String) -> anyhow::Result<()> {
        writeln!(report, "## The default engine against decoding (two-phase locking, 10 million events)\n")?;
        writeln!(
            report,
            "| threads, variables | format | decode, s | check, s | ratio | events/s of check | peak MiB |"
        )?;
        writeln!(report, "|---|---|---|---|---|---|---|")?;
        for size in [SMALL, LARGE] {
            for format in ["binary", "text"] {
                let trace = self.trace(10_000_000, size, format)?;
                let decode = self.best(|| decode(&trace))?;
                let check = self.best_cost(&["check", "--format", "json", text(&trace)])?;
                let ratio = check.wall.as_secs_f64() / decode.as_secs_f64();
                writeln!(
                    report,
                    "| {}, {} | {format} | {:.3} | {:.3} | {ratio:.2} | {:.1} M | {:.0} |",
                    size.0,
                    size.1,
                    decode.as_secs_f64(),
                    check.wall.as_secs_f64(),
                    10.0 / check.wall.as_secs_f64(),
                    check.peak_mib
                )?;
            }
        }
        writeln!(report)?;
        Ok(())
    }

    /// The algorithms beside each other, by the time that each spends itself.
    fn algorithms(&self, report: &mut String) -> anyhow::Result<()> {
        writeln!(report, "## The algorithms, own time in one pass (binary, 3 million events)\n")?;
        writeln!(report, "| threads, variables | algorithm | s | against regiontrack | peak KiB |")?;
        writeln!(report, "|---|---|---|---|---|")?;
        for size in [SMALL, LARGE] {
            let trace = self.trace(3_000_000, size, "binary")?;
            let names = "regiontrack,aerodrome,velodrome,doublechecker";
            let out = self.output(&["check", "--format", "json", "--algo", names, text(&trace)])?;
            let out: serde_json::Value = serde_json::from_slice(&out)?;
            let checkers = out["traces"][0]["checkers"].as_array().context("no checkers in the report")?;
            let seconds = |i: usize| checkers[i]["seconds"].as_f64().unwrap_or(f64::NAN);
            for (i, checker) in checkers.iter().enumerate() {
                let name = checker["name"].as_str().unwrap_or_default();
                let peak = checker["peak_bytes"].as_u64().unwrap_or_default() / 1024;
                let ratio = seconds(i) / seconds(0);
                writeln!(
                    report,
                    "| {}, {} | {name} | {:.3} | {ratio:.2} | {peak} |",
                    size.0,
                    size.1,
                    seconds(i)
                )?;
            }
        }
        writeln!(report)?;
        Ok(())
    }

    /// Velodrome's curve.
    fn velodrome(&self, report: &mut String) -> anyhow::Result<()> {
        writeln!(report, "## Velodrome (16 threads, 100,000 variables, binary)\n")?;
        writeln!(report, "| events | own time, s | most live transactions |\n|---|---|---|")?;
        for events in [125_000, 250_000, 500_000, 1_000_000, 2_000_000, 4_000_000] {
            let trace = self.trace(events, LARGE, "binary")?;
            let out = self.output(&["check", "--format", "json", "--algo", "velodrome", text(&trace)])?;
            let out: serde_json::Value = serde_json::from_slice(&out)?;
            let checker = &out["traces"][0]["checkers"][0];
            let live = checker["stats"].as_object().and_then(|stats| {
                stats.iter().find(|(name, _)| name.contains("live")).and_then(|(_, value)| value.as_u64())
            });
            let seconds = checker["seconds"].as_f64().unwrap_or(f64::NAN);
            writeln!(report, "| {events} | {seconds:.3} | {} |", live.unwrap_or_default())?;
        }
        writeln!(report)?;
        Ok(())
    }

    /// Ten times the events take ten times as long, and no more memory.
    fn length(&self, report: &mut String) -> anyhow::Result<()> {
        writeln!(report, "## Length (binary, default engine)\n")?;
        writeln!(
            report,
            "| threads, variables | events | check, s | ns/event | against 10 million | peak MiB |"
        )?;
        writeln!(report, "|---|---|---|---|---|---|")?;
        for size in [SMALL, LARGE] {
            let mut first = None;
            for events in [10_000_000, 30_000_000, 100_000_000] {
                let trace = self.trace(events, size, "binary")?;
                let cost = self.best_cost(&["check", "--format", "json", text(&trace)])?;
                let each = cost.wall.as_nanos() as f64 / events as f64;
                let ratio = each / *first.get_or_insert(each);
                writeln!(
                    report,
                    "| {}, {} | {events} | {:.2} | {each:.1} | {ratio:.2} | {:.0} |",
                    size.0,
                    size.1,
                    cost.wall.as_secs_f64(),
                    cost.peak_mib
                )?;
            }
        }
        writeln!(report)?;
        Ok(())
    }

    /// The off-line algorithms on 100,000 and on 1 million events.
    fn prediction(&self, report: &mut String) -> anyhow::Result<()> {
        writeln!(report, "## Own time of the predictive algorithms (two-phase locking, binary)\n")?;
        writeln!(
            report,
            "| threads, variables | algorithm | 100,000 events, s | 1 million, s | growth | peak MiB | judged |"
        )?;
        writeln!(report, "|---|---|---|---|---|---|---|")?;
        for size in [SMALL, PREDICTED] {
            let [short, long] = [100_000, 1_000_000].map(|events| self.trace(events, size, "binary"));
            let (short, long) = (short?, long?);
            for name in PREDICTIVE {
                let one = self.predictive(name, &short)?;
                let ten = self.predictive(name, &long)?;
                let all = if ten.complete { "all" } else { "until the budget was spent" };
                let (threads, variables, _) = size;
                writeln!(
                    report,
                    "| {threads}, {variables} | {name} | {:.3} | {:.3} | {:.1} | {:.0} | {all} |",
                    one.seconds,
                    ten.seconds,
                    ten.seconds / one.seconds,
                    ten.peak_mib
                )?;
            }
        }
        writeln!(report)?;
        Ok(())
    }

    /// The best of several runs of a predictive algorithm.
    fn predictive(&self, name: &str, trace: &Path) -> anyhow::Result<Predictive> {
        let mut best: Option<Predictive> = None;
        for _ in 0..self.runs {
            let output = Command::new(&self.atomvet)
                .args(["check", "--format", "json", "--max-findings", "0", "--algo", name, text(trace)])
                .output()?;
            // Not all was judged, which is status 2, is a result too; no report is none.
            let out: serde_json::Value = serde_json::from_slice(&output.stdout)
                .with_context(|| format!("{name}: {}", String::from_utf8_lossy(&output.stderr)))?;
            let checker = &out["traces"][0]["checkers"][0];
            let run = Predictive {
                seconds: checker["seconds"].as_f64().context("no time")?,
                peak_mib: checker["peak_bytes"].as_f64().context("no memory")? / (1024.0 * 1024.0),
                complete: checker["complete"] == true,
            };
            best = Some(best.filter(|best| best.seconds < run.seconds).unwrap_or(run));
        }
        best.context("no run")
    }

    /// A trace, generated once.
    fn trace(
        &self,
        events: u64,
        (threads, variables, locks): (u32, u32, u32),
        format: &str,
    ) -> anyhow::Result<PathBuf> {
        let path = self
            .folder
            .join(format!("{events}-{threads}-{variables}.{}", if format == "text" { "std" } else { "atv" }));
        if !path.exists() {
            let half = path.with_extension("tmp");
            let output = Command::new(&self.atomvet)
                .args(["gen", "--mode", "two-phase", "--seed", "1", "--format", format])
                .args(["--events", &events.to_string(), "--threads", &threads.to_string()])
                .args(["--variables", &variables.to_string(), "--locks", &locks.to_string()])
                .arg("-o")
                .arg(&half)
                .output()?;
            ensure!(output.status.success(), "gen failed: {}", String::from_utf8_lossy(&output.stderr));
            std::fs::rename(half, &path)?;
        }
        // Read once, so that every run finds it in memory.
        std::io::copy(&mut File::open(&path)?, &mut std::io::sink())?;
        Ok(path)
    }

    fn best(&self, mut once: impl FnMut() -> anyhow::Result<Duration>) -> anyhow::Result<Duration> {
        (0..self.runs).map(|_| once()).try_fold(Duration::MAX, |best, run| Ok(best.min(run?)))
    }

    fn best_cost(&self, arguments: &[&str]) -> anyhow::Result<Cost> {
        let mut best: Option<Cost> = None;
        for _ in 0..self.runs {
            let cost = self.cost(arguments)?;
            best = Some(best.filter(|best| best.wall < cost.wall).unwrap_or(cost));
        }
        best.context("no run")
    }

    fn cost(&self, arguments: &[&str]) -> anyhow::Result<Cost> {
        let start = Instant::now();
        let child = Command::new(&self.atomvet).args(arguments).stdout(Stdio::null()).spawn()?;
        let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
        let pid = libc::pid_t::try_from(child.id())?;
        // SAFETY: both pointers are to live, writable memory of the right types, and the child is ours.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        ensure!(
            waited == pid && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
            "{arguments:?} failed"
        );
        // SAFETY: zeroes are a valid `rusage`, and `wait4` has filled it in.
        let usage = unsafe { usage.assume_init() };
        Ok(Cost { wall: start.elapsed(), peak_mib: usage.ru_maxrss as f64 / 1024.0 })
    }

    fn output(&self, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
        let output = Command::new(&self.atomvet).args(arguments).output()?;
        ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(output.stdout)
    }
}

/// Reads and decodes a trace, and does nothing with it.
fn decode(trace: &Path) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let mut input = Input::open(trace)?;
    let (mut block, mut events) = (Vec::new(), 0);
    while input.next_block(&mut block)? {
        events += block.len();
    }
    ensure!(events > 0, "an empty trace");
    Ok(start.elapsed())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

fn cargo(arguments: &[&str]) -> anyhow::Result<()> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    ensure!(Command::new(cargo).args(arguments).status()?.success(), "cargo {} failed", arguments.join(" "));
    Ok(())
}

pub(crate) fn today() -> anyhow::Result<String> {
    let output = Command::new("date").arg("+%Y-%m-%d").output().context("cannot run `date`")?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
