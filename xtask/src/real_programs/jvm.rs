//! Programs for the JVM: javac, a database, and a library's own JUnit tests. Nothing is built twice: the agent is all the
//! difference.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use super::{Build, Work, quiet, same_files, succeed, timed};

/// The sources below a folder, in the order of their names.
fn sources(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "java") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

impl Work {
    /// Jars that packages have, as a class path, behind a folder of our own.
    fn class_path(&self, classes: &Path, jars: &[&str]) -> String {
        let jars = jars.iter().map(|jar| self.debian.root().join("usr/share/java").join(jar));
        let parts = std::iter::once(classes.to_owned()).chain(jars).map(|path| path.display().to_string());
        parts.collect::<Vec<_>>().join(":")
    }

    /// Runs a class alone and watched; what it prints, without lines that are not to be compared, has to be the same.
    fn compare(
        &self,
        name: &str,
        class_path: &str,
        arguments: &[&str],
        is_compared: fn(&str) -> bool,
    ) -> anyhow::Result<String> {
        let (mut seconds, mut printed) = ([0.0; 2], Vec::new());
        for (build, seconds) in Build::BOTH.into_iter().zip(&mut seconds) {
            let mut command = self.runner(name, Path::new("java"), build);
            command.args(["-cp", class_path]).args(arguments);
            let output = self.debian.folder.join(format!("{name}.{}", build.name()));
            command.stdout(std::fs::File::create(&output)?);
            *seconds = timed(&mut command, build)?;
            let text = std::fs::read_to_string(output)?;
            printed.push(text.lines().filter(|line| is_compared(line)).collect::<Vec<_>>().join("\n"));
        }
        ensure!(printed[0] == printed[1], "{name}: prints\n{}\ninstead of\n{}", printed[1], printed[0]);
        self.tell(name, seconds[0], seconds[1])?;
        Ok(printed.swap_remove(0))
    }
}

/// Transfers between accounts by four threads, in H2.
pub(super) fn h2(work: &Work) -> anyhow::Result<()> {
    work.debian.unpack("libh2-java")?;
    let folder = work.debian.folder.join("h2");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("Load.java"), include_str!("Load.java"))?;
    let class_path = work.class_path(&folder, &["h2.jar"]);
    succeed(
        Command::new("javac").args(["-cp", &class_path, "-d"]).arg(&folder).arg(folder.join("Load.java")),
    )?;
    let printed = work.compare("h2-load", &class_path, &["Load", "400"], |_| true)?;
    ensure!(printed.starts_with("50000 50 "), "money was lost:\n{printed}");
    Ok(())
}

/// The tests of Apache Commons Pool that do not mostly sleep.
pub(super) fn commons_pool(work: &Work) -> anyhow::Result<()> {
    const TESTS: [&str; 7] = [
        "TestBaseObjectPool",
        "TestBaseKeyedObjectPool",
        "TestPoolUtils",
        "impl.TestSoftReferenceObjectPool",
        "impl.TestStackKeyedObjectPool",
        "impl.TestStackObjectPool",
        "impl.TestGenericObjectPool",
    ];
    let source = work.debian.source("libcommons-pool-java")?;
    work.debian.unpack("junit4 libhamcrest-java")?;
    let classes = work.debian.folder.join("commons-pool");
    let class_path = work.class_path(&classes, &["junit4.jar", "hamcrest-core.jar"]);
    let mut javac = Command::new("javac");
    javac.args(["-nowarn", "-g", "-encoding", "UTF-8", "-cp", &class_path, "-d"]).arg(&classes);
    succeed(quiet(javac.args(sources(&source.join("src"))?)))?;
    let tests: Vec<String> = TESTS.iter().map(|test| format!("org.apache.commons.pool.{test}")).collect();
    let mut arguments = vec!["org.junit.runner.JUnitCore"];
    arguments.extend(tests.iter().map(String::as_str));
    let printed =
        work.compare("commons-pool", &class_path, &arguments, |line| !line.starts_with("Time: "))?;
    ensure!(printed.contains("OK ("), "its own tests fail:\n{printed}");
    println!("    {}", printed.lines().find(|line| line.starts_with("OK (")).unwrap_or_default());
    Ok(())
}

/// javac, of which all but a few classes are application classes: its output has to be the same, byte for byte. It has one
/// thread, so that nothing can be found.
pub(super) fn javac(work: &Work) -> anyhow::Result<()> {
    let source = work.debian.source("libcommons-pool-java")?;
    let sources = sources(&source.join("src/java"))?;
    let [plain, watched] = Build::BOTH.map(|build| work.folder("javac", build));
    for (build, folder) in Build::BOTH.into_iter().zip([&plain, &watched]) {
        std::fs::create_dir_all(folder)?;
        let mut command = work.runner("javac", Path::new("java"), build);
        command.args([
            "-m",
            "jdk.compiler/com.sun.tools.javac.Main",
            "-nowarn",
            "-g",
            "-encoding",
            "UTF-8",
            "-d",
        ]);
        let output = command.arg(folder).args(&sources).output()?;
        let nothing_observed = build == Build::Watched && output.status.code() == Some(3);
        ensure!(
            output.status.success() || nothing_observed,
            "javac: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let mut classes = Vec::new();
    crate::jars::find_classes(&plain, &mut classes)?;
    ensure!(!classes.is_empty(), "javac wrote nothing");
    for class in &classes {
        same_files(class, &watched.join(class.strip_prefix(&plain)?))?;
    }
    println!("javac: {} classes, the same bytes", classes.len());
    Ok(())
}
