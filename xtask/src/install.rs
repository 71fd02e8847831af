//! Installs what the tests need besides Rust and a C compiler, where that is missing and can be installed.

use std::path::PathBuf;
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
    let packages: Vec<&str> = missing.iter().flat_map(|(_, packages)| packages.iter().copied()).collect();
    install(&packages)?;
    for (program, _) in missing {
        ensure!(is_there(program), "{program} is not there even now");
    }
    // The classes of the agent are compared with what this version makes of their source.
    if !has_java_compiler("17.") {
        install(&["openjdk-17-jdk-headless"])?;
        ensure!(has_java_compiler("17."), "there is no JDK 17 even now");
    }
    // Debian has clang without its own ThreadSanitizer, which a test runs beside ours.
    if !clang_says("-print-resource-dir")?.join("lib/linux/libclang_rt.tsan-x86_64.a").is_file() {
        let version = clang_says("-dumpversion")?.display().to_string();
        let major = version.split('.').next().unwrap_or_default();
        install(&[&format!("libclang-rt-{major}-dev")])?;
    }
    // Debian's Python makes environments only with a package of its own.
    let has_venv = || {
        let asked =
            Command::new("python3").args(["-c", "import ensurepip, venv"]).stderr(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    };
    if !has_venv() {
        install(&["python3", "python3-venv"])?;
        ensure!(has_venv(), "python3 cannot make virtual environments even now");
    }
    println!("all there");
    Ok(())
}

fn install(packages: &[&str]) -> anyhow::Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    println!("installing {}", packages.join(" "));
    apt_get(&["update", "--quiet=2"])?;
    apt_get(&[&["install", "--quiet=2", "--yes", "--no-install-recommends"], packages].concat())
}

fn clang_says(option: &str) -> anyhow::Result<PathBuf> {
    let output = Command::new("clang").arg(option).output().context("clang: cannot be run")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}

/// Whether some JDK has this version.
fn has_java_compiler(version: &str) -> bool {
    let installed = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|jdk| jdk.path());
    let homes = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().chain(installed);
    homes.map(|home| home.join("bin/javac")).chain([PathBuf::from("javac")]).any(|compiler| {
        let output = Command::new(compiler).arg("-version").output();
        output
            .is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(&format!("javac {version}")))
    })
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
