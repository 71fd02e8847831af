//! `cargo xtask python`: installs the Python package into a fresh virtual environment, as a user would, and runs its tests and
//! type checks there. `cargo xtask cluster` adds Ray and runs the heavy test of the distributed runner.
//!
//! The command inside the wheel is built with the profile of the tests, from the same target directory: nothing is compiled twice.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// The package.
const PACKAGE: &str = "python";
/// Where its environment is.
const ENVIRONMENT: &str = "target/python";

/// Options of `cargo xtask cluster`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Small traces to check
    #[arg(long, default_value_t = 100_000)]
    small: u32,
    /// Large traces to check
    #[arg(long, default_value_t = 20)]
    large: u32,
    /// Events of a large trace
    #[arg(long, default_value_t = 2_000_000)]
    events: u64,
}

pub(crate) fn run() -> anyhow::Result<()> {
    install("dev", "test")?;
    python(&["-m", "mypy", "--config-file", "python/pyproject.toml", "python/src/atomvet"], &[])?;
    python(&["-m", "pytest", "-q", "-p", "no:cacheprovider", "python/tests", "-m", "not cluster"], &[])
}

/// The distributed runner on a Ray cluster of this machine, with a worker that is killed; then how fast it is.
pub(crate) fn cluster(options: &Options) -> anyhow::Result<()> {
    install("release", "test,cluster")?;
    python(&["-m", "pytest", "-q", "-p", "no:cacheprovider", "python/tests", "-m", "cluster"], &[])?;
    let (small, large, events) =
        (options.small.to_string(), options.large.to_string(), options.events.to_string());
    python(&["python/tests/throughput.py", "--small", &small, "--large", &large, "--events", &events], &[])
}

/// Makes the environment anew, with the package and what its tests need.
fn install(profile: &str, extras: &str) -> anyhow::Result<()> {
    if Path::new(ENVIRONMENT).exists() {
        std::fs::remove_dir_all(ENVIRONMENT).context("cannot remove the old environment")?;
    }
    done(Command::new("python3").args(["-m", "venv", ENVIRONMENT]), "python3 -m venv")?;
    let target = std::env::current_dir()?.join("target");
    let target = target.to_str().context("the path of this directory is not UTF-8")?;
    let build = format!("--profile={profile}");
    let package = format!("./{PACKAGE}[{extras}]");
    let environment = [("MATURIN_PEP517_ARGS", build.as_str()), ("CARGO_TARGET_DIR", target)];
    python(&["-m", "pip", "install", "--quiet", "--disable-pip-version-check", &package], &environment)
}

fn python(arguments: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<()> {
    let mut command = Command::new(format!("{ENVIRONMENT}/bin/python"));
    // The tests are to find the command and the package that were installed, and no others.
    command.args(arguments).envs(environment.iter().copied()).env_remove("ATOMVET").env_remove("PYTHONPATH");
    done(&mut command, &format!("python {}", arguments.join(" ")))
}

fn done(command: &mut Command, what: &str) -> anyhow::Result<()> {
    println!("== {what}");
    let status =
        command.status().with_context(|| format!("cannot run {what}; install Python 3.9 or newer"))?;
    ensure!(status.success(), "{what} failed");
    Ok(())
}
