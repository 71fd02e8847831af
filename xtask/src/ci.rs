//! `cargo xtask ci`: the same command locally and in continuous integration.

use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

pub(crate) fn run() -> anyhow::Result<()> {
    println!("== what the tests need");
    crate::install::run()?;
    step("format", &["fmt", "--all", "--check"], &[])?;
    step("lints", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"], &[])?;
    println!("== dependencies and licences");
    dependencies()?;
    step(
        "documentation",
        &["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"],
        &[("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links")],
    )?;
    println!("== guide");
    crate::guide::run()?;
    step("tests", &["test", "--workspace"], &[])?;
    println!("== the Python package");
    crate::python::run()?;
    println!("== a share of `cargo xtask jars`");
    crate::jars::share()?;
    println!("== a share of `cargo xtask oracle`");
    crate::oracle::run(&crate::oracle::Options { traces: 1_000_000, seconds: Some(60), seed: 1, jobs: 2 })?;
    println!("== a share of `cargo xtask predict`");
    crate::predict::run(&crate::predict::Options {
        programs: 25_000,
        seconds: Some(45),
        seed: 1,
        rich: false,
    })
}

fn step(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<()> {
    println!("== {name}: cargo {}", arguments.join(" "));
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = Command::new(cargo)
        .args(arguments)
        .envs(environment.iter().copied())
        .status()
        .with_context(|| format!("cannot run cargo for the step {name:?}"))?;
    ensure!(status.success(), "the step {name:?} failed");
    Ok(())
}

/// What a crate of ours may depend on, directly and not only for tests. Everything else is a decision to be
/// made here.
const ALLOWED: &[(&str, &[&str])] = &[
    ("atomvet-trace", &["flate2", "hashbrown", "memchr", "xxhash-rust", "zstd"]),
    // Embeds in a live process: pure, and nothing that does I/O.
    ("atomvet-check", &["atomvet-trace", "rustc-hash", "smallvec"]),
    // Rewrites classes inside a JVM that is not ours: nothing but the standard library.
    ("atomvet-jvm", &[]),
    // The checker inside a program under test: nothing but the standard library.
    ("atomvet-live", &[]),
    // A layout.
    ("atomvet-ring", &[]),
    // These live in other people's programs, and are compiled by themselves.
    ("atomvet-recorder", &["atomvet-ring"]),
    ("atomvet-runtime", &["atomvet-recorder"]),
    ("atomvet-runtime-live", &["atomvet-live", "atomvet-ring"]),
    ("atomvet-agent", &["atomvet-jvm", "atomvet-recorder"]),
    ("atomvet-agent-live", &["atomvet-jvm", "atomvet-live", "atomvet-ring"]),
    // Renders: flate2 only to know how large an upload is once it is compressed.
    ("atomvet-report", &["atomvet-check", "flate2", "rustc-hash", "serde", "serde_json", "unicode-width"]),
    // Judges the live side: it shares no code with what it judges.
    ("atomvet-trial", &["atomvet-live", "anyhow", "serde_json", "tempfile"]),
];

/// Licences that go with `MIT OR Apache-2.0`.
const LICENCES: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "Unicode-3.0",
    "Zlib",
    "CC0-1.0",
    "Unlicense",
    "0BSD",
];

fn dependencies() -> anyhow::Result<()> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo).args(["metadata", "--format-version", "1"]).output()?;
    ensure!(output.status.success(), "cargo metadata failed");
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let name = |package: &Value| package["name"].as_str().unwrap_or_default().to_owned();
    for (ours, allowed) in ALLOWED {
        let package =
            packages.iter().find(|p| name(p) == *ours).with_context(|| format!("no crate {ours}"))?;
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let for_tests = dependency["kind"] == "dev";
            if !for_tests && !allowed.contains(&name(dependency).as_str()) {
                bail!("{ours} must not depend on {}: see ALLOWED in xtask/src/ci.rs", name(dependency));
            }
        }
    }
    for package in packages {
        let licence = package["license"].as_str().unwrap_or("none");
        // A choice is fine if one alternative is; a conjunction, if all parts are.
        let fine = licence.replace('/', " OR ").split(" OR ").any(|alternative| {
            alternative.split(" AND ").all(|part| LICENCES.contains(&part.trim_matches(['(', ')', ' '])))
        });
        ensure!(
            fine,
            "{} has the licence {licence:?}, which is not in LICENCES in xtask/src/ci.rs",
            name(package)
        );
    }
    println!("{} packages are fine", packages.len());
    Ok(())
}
