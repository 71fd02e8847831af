//! `cargo xtask trial`: random programs in forced orders under the live checker, judged by brute force.
//!
//! A failure is made smaller before it is shown, and its seed gives the same program again.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use atomvet_trial::{jvm, native};

#[derive(clap::Subcommand)]
pub(crate) enum Kind {
    /// Java programs, many in one JVM
    Jvm(Options),
    /// C programs, many in one process
    Native {
        /// How many programs of each kind: race-free, racy, recorded in full
        #[arg(long, default_value_t = 1000)]
        programs: usize,
        /// The first seed
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// How many of them run in one process
        #[arg(long, default_value_t = native::PER_PROCESS)]
        per_process: usize,
        /// Judge the runtime alone, without the command
        #[arg(long)]
        live: bool,
    },
}

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many programs
    #[arg(long, default_value_t = 1000)]
    programs: usize,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many of the programs that fail are made smaller and shown
    #[arg(long, default_value_t = 3)]
    shown: usize,
    /// Judge the agent on the live checker instead of the command
    #[arg(long)]
    live: bool,
}

pub(crate) fn run(kind: &Kind) -> anyhow::Result<()> {
    match kind {
        Kind::Jvm(options) => java(options),
        &Kind::Native { programs, seed, per_process, live } => {
            c(native::Options { programs, seed, per_process }, live)
        }
    }
}

/// The command, built as the tests build it.
fn atomvet() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = Command::new(cargo).args(["build", "--package", "atomvet"]).status()?;
    ensure!(status.success(), "atomvet does not compile");
    std::fs::canonicalize("target/debug/atomvet").context("run this at the root of the repository")
}

fn c(options: native::Options, is_live: bool) -> anyhow::Result<()> {
    let since = Instant::now();
    let folder = PathBuf::from("target/trial-native");
    std::fs::create_dir_all(&folder)?;
    let folder = folder.canonicalize()?;
    let runtime = if is_live { Some(native::live::build("crates".as_ref(), &folder)?) } else { None };
    let engine = native::Engine { atomvet: atomvet()?, runtime };
    for (mode, tally) in native::run(&engine, &options)? {
        println!("{mode}: {tally}");
    }
    println!("{:.0} s", since.elapsed().as_secs_f64());
    Ok(())
}

fn java(options: &Options) -> anyhow::Result<()> {
    let since = Instant::now();
    let javac = std::env::var_os("JAVA_HOME").map(|home| PathBuf::from(home).join("bin/javac"));
    let javac = javac.unwrap_or_else(|| "javac".into());
    let directory = PathBuf::from("target/trial-jvm");
    let tools = if options.live {
        std::fs::create_dir_all(&directory)?;
        let agent = Some(jvm::live::build("crates".as_ref(), &directory.canonicalize()?)?);
        jvm::Tools { atomvet: PathBuf::new(), javac, java_home: None, agent }
    } else {
        jvm::Tools { atomvet: atomvet()?, javac, java_home: None, agent: None }
    };
    let trial = jvm::Trial { tools, directory, seed: options.seed, programs: options.programs };
    let (outcome, failures) = trial.run(|outcome| println!("{outcome}"))?;
    println!("{:.0} s", since.elapsed().as_secs_f64());
    for failure in failures.iter().take(options.shown) {
        println!("\n{failure}: making it smaller");
        println!("{}", trial.reduce(failure)?);
    }
    for failure in &failures {
        let live = if options.live { " --live" } else { "" };
        println!("{failure}; again: cargo xtask trial jvm{live} --programs 1 --seed {}", failure.seed);
    }
    ensure!(failures.is_empty(), "{} verdicts on {} programs are wrong", failures.len(), outcome.programs);
    Ok(())
}
