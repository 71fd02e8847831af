//! Installs what the tests need besides Rust and a C compiler, where that is missing and can be installed.

use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// A program, and the Debian packages that bring it.
const NEEDED: &[(&str, &[&str])] = &[
    ("gcc", &["gcc", "libc6-dev"]),
    ("g++", &["g++"]),
    ("clang", &["clang"]),
    ("javac", &["openjdk-17-jdk-headless"]),
    ("chromium", &["chromium"]),
    ("strip", &["binutils"]),
];

/// Everything that is not there. Where it cannot be installed, says what to install by hand.
pub(crate) fn run() -> anyhow::Result<()> {
    let missing: Vec<_> = NEEDED.iter().filter(|(program, _)| !is_there(program)).collect();
    if missing.is_empty() {
        println!("all there");
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().flat_map(|(_, packages)| packages.iter().copied()).collect();
    println!("installing {}", packages.join(" "));
    apt_get(&["update", "--quiet=2"]).and_then(|()| {
        apt_get(
            &[&["install", "--quiet=2", "--yes", "--no-install-recommends"], packages.as_slice()].concat(),
        )
    })?;
    for (program, _) in missing {
        ensure!(is_there(program), "{program} is not there even now");
    }
    Ok(())
}

fn is_there(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|directory| directory.join(program).is_file())
}

fn apt_get(arguments: &[&str]) -> anyhow::Result<()> {
    let by_hand = || format!("install these by hand, or run this as root: apt-get {}", arguments.join(" "));
    let status = Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .status()
        .with_context(by_hand)?;
    ensure!(status.success(), by_hand());
    Ok(())
}
