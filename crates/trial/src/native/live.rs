//! What the live checker (`crates/live`) blames: its table of findings, read without the command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use atomvet_live::table::Table;

use crate::blamed::Counts;
use crate::library::compile;

/// How a block's word says what it is: see `atomvet_ring::Block`.
const FUNCTION: u64 = 1;
const INSIDE: u64 = 2;
const LABEL: u64 = 3;
const LOW: u64 = (1 << 48) - 1;

/// Compiles the runtime on the live checker, as the command's own is compiled.
///
/// # Errors
/// If it does not compile.
pub fn build(crates: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let compile = |name, source, kind, options| compile(crates, folder, name, source, kind, options);
    compile("atomvet_live", "live", "rlib", &[])?;
    compile("atomvet_ring", "ring", "rlib", &[])?;
    let soname = "link-arg=-Wl,-soname,libtsan.so.2";
    let externs = ["--extern", "atomvet_live", "--extern", "atomvet_ring", "-C", soname];
    compile("atomvet_runtime_live", "runtime-live", "cdylib", &externs)?;
    Ok(folder.join("libatomvet_runtime_live.so"))
}

/// Runs a program under a runtime and counts violated executions per block, by name.
pub(super) fn blamed(runtime: &Path, command: &mut Command, run: &Path) -> anyhow::Result<Counts> {
    if run.exists() {
        std::fs::remove_dir_all(run)?;
    }
    std::fs::create_dir(run)?;
    command.env("LD_PRELOAD", runtime).env("ATOMVET_RING_DIRECTORY", run);
    let output = command.output().with_context(|| format!("{command:?} cannot be run"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.stdout == b"done\n", "the walker did not come to its end: {}: {errors}", output.status);
    let symbols = symbols(Path::new(command.get_program()))?;
    let mut counts = Counts::new();
    for entry in std::fs::read_dir(run)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "live") {
            let table = Table::read(&std::fs::read(&path)?).context("no table of findings")?;
            let base = base(&path.with_extension("maps"), Path::new(command.get_program()))?;
            for finding in table.findings() {
                let block = finding.frames.first().map(|&(function, _)| function);
                if let Some(name) = block.and_then(|block| name(block, &table, &symbols, base)) {
                    *counts.entry(name).or_default() += finding.count as usize;
                }
            }
        }
    }
    Ok(counts)
}

/// The functions of a program, by where they begin in its file.
fn symbols(program: &Path) -> anyhow::Result<BTreeMap<u64, String>> {
    let output = Command::new("nm").arg(program).output().context("nm cannot be run; install binutils")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let function = |line: &str| {
        let mut words = line.split_whitespace();
        let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
        let address = u64::from_str_radix(address, 16).ok()?;
        matches!(kind, "t" | "T").then(|| (address, name.to_owned()))
    };
    Ok(text.lines().filter_map(function).collect())
}

/// Where a program was loaded.
fn base(maps: &Path, program: &Path) -> anyhow::Result<u64> {
    let text = std::fs::read_to_string(maps)?;
    let line = text.lines().find(|line| line.ends_with(&*program.to_string_lossy()));
    let start =
        line.and_then(|line| line.split('-').next()).context("the program is not in its memory map")?;
    Ok(u64::from_str_radix(start, 16)?)
}

fn name(block: u64, table: &Table, symbols: &BTreeMap<u64, String>, base: u64) -> Option<String> {
    let address = (block & LOW).wrapping_sub(base);
    match block >> 48 {
        FUNCTION => symbols.get(&address).cloned(),
        INSIDE => symbols.range(..address).next_back().map(|(_, name)| name.clone()),
        LABEL => Some(String::from_utf8_lossy(&table.label(block & LOW)?).into_owned()),
        _ => None,
    }
}
