//! The developers' commands.

mod bench;
mod bench_jvm;
mod bench_native;
mod ci;
mod guide;
mod install;
mod jars;
mod jdks;
mod oracle;
mod predict;
mod python;
mod real_programs;
mod schedules;
mod trial;

use clap::Parser;

/// The developers' commands.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Command {
    /// The one check: format, lints, dependencies, licences, documentation, tests, a share of the oracle
    Ci,
    /// The user guide as a site in target/guide; fails if a link or an anchor leads nowhere
    Guide,
    /// Installs what the tests need and is not there: compilers, a JDK, a browser
    Install,
    /// All checkers, witnesses, orders and formats on random small traces, judged by the oracle
    Oracle(oracle::Options),
    /// The predictive checkers on random small programs, judged by all of their interleavings
    Predict(predict::Options),
    /// Speed and memory, as ratios in one run; writes a dated result to bench/
    Bench(bench::Options),
    /// The class-file rewriter on every class of these jars and of a JDK, judged by a JVM
    Jars(jars::Options),
    /// The tests with Java programs on JREs of other versions, which are fetched
    Jdks(jdks::Options),
    /// What it costs to run C and C++ programs under the checker, beside ThreadSanitizer; writes to bench/
    BenchNative(bench_native::Options),
    /// What it costs to run Java programs under the checker, beside empty hooks; writes to bench/
    BenchJvm(bench_jvm::Options),
    /// Random programs in forced orders under the live checker, judged by brute force
    #[command(subcommand)]
    Trial(trial::Kind),
    /// The Python package: installed into a fresh environment, type-checked and tested
    Python,
    /// The distributed runner on a Ray cluster of this machine, with a worker that is killed, and its speed. Takes long
    Cluster(python::Options),
    /// Programs of Debian under the checker: they must do what they do without it. Downloads and builds for long
    RealPrograms(real_programs::Options),
}

fn main() -> anyhow::Result<()> {
    match Command::parse() {
        Command::Ci => ci::run(),
        Command::Guide => guide::run(),
        Command::Install => install::run(),
        Command::Oracle(options) => oracle::run(&options),
        Command::Predict(options) => predict::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Jars(options) => jars::run(&options),
        Command::Jdks(options) => jdks::run(&options),
        Command::BenchNative(options) => bench_native::run(&options),
        Command::BenchJvm(options) => bench_jvm::run(&options),
        Command::Trial(kind) => trial::run(&kind),
        Command::Python => python::run(),
        Command::Cluster(options) => python::cluster(&options),
        Command::RealPrograms(options) => real_programs::run(&options),
    }
}
