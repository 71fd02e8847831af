//! Compiles libraries that programs under test load, as the command's own are compiled.

use std::path::Path;
use std::process::Command;

use anyhow::ensure;

/// Compiles a crate, whose dependencies are in the folder, into the folder.
pub(crate) fn compile(
    crates: &Path,
    folder: &Path,
    name: &str,
    source: &str,
    kind: &str,
    options: &[&str],
) -> anyhow::Result<()> {
    let mut command = Command::new("rustc");
    command.args(["--edition", "2024", "--crate-type", kind, "--crate-name", name]);
    command.args(["-C", "opt-level=3", "-C", "panic=abort", "-C", "codegen-units=1", "--cap-lints", "allow"]);
    command.arg("-L").arg(folder).args(options).arg(crates.join(source).join("src/lib.rs"));
    let status = command.arg("--out-dir").arg(folder).status()?;
    ensure!(status.success(), "{name} does not compile");
    Ok(())
}
