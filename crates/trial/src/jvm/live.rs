//! What the agent on the live checker (`crates/agent-live`) blames: its table of findings, read without the command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use atomvet_live::table::{Counter, Table};

use crate::blamed::Counts;
use crate::library::compile;

/// A function's word has its site below this.
const SITE: u64 = (1 << 31) - 1;

/// Compiles the agent, as the command's own is compiled.
///
/// # Errors
/// If it does not compile.
pub fn build(crates: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let compile = |name, source, kind, options| compile(crates, folder, name, source, kind, options);
    compile("atomvet_live", "live", "rlib", &[])?;
    compile("atomvet_ring", "ring", "rlib", &[])?;
    compile("atomvet_jvm", "jvm", "rlib", &[])?;
    let externs =
        ["--extern", "atomvet_live", "--extern", "atomvet_ring", "--extern", "atomvet_jvm", "-C", "lto=fat"];
    compile("atomvet_agent_live", "agent-live", "cdylib", &externs)?;
    Ok(folder.join("libatomvet_agent_live.so"))
}

/// Runs a JVM with the agent and counts violated executions per method.
pub(super) fn blamed(agent: &Path, command: &mut Command, run: &Path) -> anyhow::Result<Counts> {
    std::fs::create_dir(run)?;
    let mut load = std::ffi::OsString::from("-agentpath:");
    load.push(agent);
    command.env("JAVA_TOOL_OPTIONS", load).env("ATOMVET_RING_DIRECTORY", run);
    let output = command.output().with_context(|| format!("{command:?} cannot be run"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}: {errors}", output.status);
    let mut counts = Counts::new();
    let files =
        std::fs::read_dir(run)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    let mut tables = files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "live"));
    let (Some(path), None) = (tables.next(), tables.next()) else {
        anyhow::bail!("{command:?}: not one table of findings: {errors}");
    };
    let table = Table::read(&std::fs::read(path)?).context("no table of findings")?;
    ensure!(table.get(Counter::LostFindings) == 0, "the table is full");
    let methods = methods(&std::fs::read_to_string(path.with_extension("names"))?);
    for finding in table.findings() {
        let site = finding.frames.first().map(|&(function, _)| function & SITE);
        if let Some(name) = site.and_then(|site| methods.get(&site)) {
            *counts.entry(name.clone()).or_default() += finding.count as usize;
        }
    }
    std::fs::remove_dir_all(run)?;
    Ok(counts)
}

/// The methods, by site: lines `b SITE LINE ROLE NAME`.
fn methods(names: &str) -> BTreeMap<u64, String> {
    let method = |line: &str| {
        let mut words = line.strip_prefix("b ")?.splitn(4, ' ');
        Some((words.next()?.parse().ok()?, words.nth(2)?.to_owned()))
    };
    names.lines().filter_map(method).collect()
}
