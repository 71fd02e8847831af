//! Runs programs under `atomvet java`, many in one JVM: which executions of their methods are blamed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, ensure};

use super::execute::execute;
use super::live;
use super::program::Program;
use super::source;
use crate::blamed::{Counts, blamed};
use crate::truth::{Commuting, Conventions};

/// What is used to run programs.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The command that is tried.
    pub atomvet: PathBuf,
    /// A Java compiler.
    pub javac: PathBuf,
    /// The home of the JVM that programs run with, if it is not that of the environment.
    pub java_home: Option<PathBuf>,
    /// The agent on the live checker, if that is tried instead of the command.
    pub agent: Option<PathBuf>,
}

/// How programs are checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Live.
    Live,
    /// Everything is recorded, and `atomvet check` judges the recording.
    Recording,
}

/// What programs of one JVM have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// How they are judged.
    pub conventions: Conventions,
    /// An option of the JVM that chooses its garbage collector: some move objects more often than others.
    pub collector: &'static str,
}

/// Programs that were compiled together.
pub(crate) struct Compiled {
    directory: PathBuf,
    programs: usize,
}

/// Compiles programs that run to their end.
pub(crate) fn compile(tools: &Tools, directory: &Path, programs: &[Program]) -> anyhow::Result<Compiled> {
    let names: Vec<String> = (0..programs.len()).map(class).collect();
    let mut files =
        vec![("Turn".to_owned(), source::TURN.to_owned()), ("Main".to_owned(), source::main(&names))];
    for (program, name) in programs.iter().zip(&names) {
        let execution = execute(program).context("a program does not end")?;
        files.push((name.clone(), source::source(program, name, &execution.order)));
    }
    let mut list = String::new();
    for (name, text) in files {
        let path = directory.join(&name).with_extension("java");
        std::fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
        list += &format!("{name}.java\n");
    }
    std::fs::write(directory.join("list"), list)?;
    let mut command = Command::new(&tools.javac);
    command.args(["-g", "-nowarn", "-proc:none", "-d", "classes", "@list"]).current_dir(directory);
    let output = run(&mut command)?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(Compiled { directory: directory.to_owned(), programs: programs.len() })
}

/// The name of a program's class.
pub(crate) fn class(number: usize) -> String {
    format!("P{number}")
}

fn run(command: &mut Command) -> anyhow::Result<Output> {
    command.output().with_context(|| format!("{command:?} cannot be run"))
}

impl Compiled {
    /// Per program, how many executions of its methods are blamed.
    pub(crate) fn blamed(&self, tools: &Tools, way: Way, setting: Setting) -> anyhow::Result<Vec<Counts>> {
        let Setting { conventions, collector } = setting;
        // Programs are too short for the better compiler.
        let jvm = [collector, "-XX:TieredStopAtLevel=1", "-cp"];
        if let Some(agent) = &tools.agent {
            let home = tools.java_home.clone().or_else(|| std::env::var_os("JAVA_HOME").map(PathBuf::from));
            let mut command = Command::new(home.map_or("java".into(), |home| home.join("bin/java")));
            command.args(jvm).arg(self.directory.join("classes")).arg("Main");
            return self.per_program(live::blamed(agent, &mut command, &self.directory.join("run"))?);
        }
        let report = self.directory.join("report.json");
        let recording = self.directory.join("recording.atv");
        let mut command = Command::new(&tools.atomvet);
        command.envs(tools.java_home.iter().map(|home| ("JAVA_HOME", home)));
        command.args(["java", "--no-config", "--format", "json", "--all-instances", "-o"]).arg(&report);
        command.args(options(conventions));
        if way == Way::Recording {
            command.arg("--record-all").arg("--record").arg(&recording);
        }
        command.args(jvm).arg(self.directory.join("classes")).arg("Main");
        let output = run(&mut command)?;
        let said = String::from_utf8_lossy(&output.stderr);
        let status = output.status.code();
        let is_over = !said.contains("ended with ");
        ensure!(matches!(status, Some(0 | 1)) && is_over, "{command:?}: {status:?}\n{said}");
        let mut counts = self.counts(&report)?;
        if way == Way::Recording {
            let mut command = Command::new(&tools.atomvet);
            command.args(["check", "--no-config", "--format", "json", "--all-instances", "-o"]).arg(&report);
            command.args(options(conventions)).arg(&recording);
            let output = run(&mut command)?;
            let said = String::from_utf8_lossy(&output.stderr);
            ensure!(matches!(output.status.code(), Some(0 | 1)), "{command:?}: {said}");
            let checked = self.counts(&report)?;
            ensure!(
                checked == counts,
                "{command:?} finds something else in the recording than the run that made it"
            );
            counts = checked;
        }
        Ok(counts)
    }

    fn counts(&self, report: &Path) -> anyhow::Result<Vec<Counts>> {
        self.per_program(blamed(&std::fs::read(report).context("there is no report")?)?)
    }

    fn per_program(&self, blamed: Counts) -> anyhow::Result<Vec<Counts>> {
        let mut counts = vec![Counts::new(); self.programs];
        for (label, count) in blamed {
            // Other methods are there to run the program.
            if let Some((program, method)) = block(&label)
                && let Some(counts) = counts.get_mut(program)
            {
                counts.insert(format!("b{method}"), count);
            }
        }
        Ok(counts)
    }
}

/// The program and the method that a label names: `P7.b3`, or `P7$B3.<init>` for a constructor.
fn block(label: &str) -> Option<(usize, usize)> {
    let label = label.strip_prefix('P')?;
    let (program, method) = label
        .split_once(".b")
        .or_else(|| label.strip_suffix(".<init>").and_then(|label| label.split_once("$B")))?;
    Some((program.parse().ok()?, method.parse().ok()?))
}

/// The conventions as options.
fn options(conventions: Conventions) -> [&'static str; 2] {
    [
        if conventions.split_at_waits { "--split-at-waits" } else { "--strict-waits" },
        match conventions.commuting {
            Commuting::Never => "--strict-atomics",
            Commuting::UntilFirstRead => "--commuting-updates",
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::block;

    #[test]
    fn labels_name_programs_and_methods() {
        assert_eq!(block("P7.b3"), Some((7, 3)));
        assert_eq!(block("P70$B13.<init>"), Some((70, 13)));
        for other in ["Main.main", "P7.thread3", "P7.lambda$play$0", "P7$O.<init>", "P7.b3x"] {
            assert_eq!(block(other), None, "{other}");
        }
    }
}
