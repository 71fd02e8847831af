//! `atomvet java`, and `atomvet run` of a JVM: finds the JVM and gives it the agent.
//!
//! ```text
//! atomvet java -jar app.jar     java -agentpath:…  -jar app.jar
//! atomvet run -- java -jar …    the same
//! atomvet run -- mvn test       JAVA_TOOL_OPTIONS=-agentpath:… mvn test
//! ```
//!
//! The agent stands on the command line where it can, because a JVM that takes options from the environment says so on
//! standard error, which is the program's. JVMs that it starts get it from the environment all the same, where it is put
//! by the agent, when the first JVM has read it. In JVMs that are not ours to watch (no directory for rings in the
//! environment) it does nothing.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use crate::bounded;
use crate::run::library::Library;
use crate::run::mode::Mode;

/// Whether JVMs judge themselves, as native programs do: for those who work on the agent that does (`crates/agent-live`). It finds
/// what the other one misses, but takes twice its time on large programs.
pub(crate) fn judge_themselves() -> bool {
    std::env::var_os("ATOMVET_JAVA_LIVE").is_some_and(|value| !value.is_empty())
}

/// The oldest JVM that the agent is made for.
const OLDEST: u32 = 17;

/// Which methods of a JVM's program are blocks where nothing else is said.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Blocks {
    /// Every method of the application's classes, but for the entry of a thread
    All,
    /// As in the papers: methods that are not private, or that are synchronized; not run and call
    Papers,
}

/// Options of `java`, and of `run` for JVMs.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Options {
    /// Also watch these classes of the JDK or of an excluded library
    ///
    /// Examples: java.util.Vector, java.util.*
    #[arg(long, value_name = "CLASS", value_delimiter = ',', help_heading = "Java")]
    pub(crate) include: Vec<String>,
    /// Do not watch these classes, for example org.junit.*
    #[arg(long, value_name = "CLASS", value_delimiter = ',', help_heading = "Java")]
    pub(crate) exclude: Vec<String>,
    /// Which methods should be atomic without a specification: all, or papers
    ///
    /// all: every method of the application except the entry methods of threads. papers: the non-private ones, as in the papers.
    /// [default: all]
    #[arg(long, value_name = "WHICH", hide_possible_values = true, help_heading = "Java")]
    pub(crate) blocks: Option<Blocks>,
    /// Watch only the first N elements of each array [default: all]
    #[arg(long, value_name = "N", help_heading = "Java")]
    pub(crate) elements: Option<u32>,
}

/// Whether a program is a JVM's launcher.
pub(crate) fn is_launcher(program: &OsStr) -> bool {
    Path::new(program).file_name().is_some_and(|name| name == "java")
}

/// The command line of a JVM with its agent.
pub(crate) fn command(
    launcher: &OsStr,
    arguments: &[OsString],
    options: &Options,
    library: &Library,
    mode: Mode,
) -> anyhow::Result<Command> {
    let found = find(launcher)?;
    ensure_suitable(&found)?;
    let mut command = Command::new(&found);
    command.args(agent_options(options, library, mode)?).args(arguments);
    command.env(FOR_CHILDREN, tool_options(options, library, mode)?);
    Ok(command)
}

/// What makes JVMs among the children of a program load the agent: all that the user has in that variable, and ours.
pub(crate) fn tool_options(options: &Options, library: &Library, mode: Mode) -> anyhow::Result<OsString> {
    let mut all = std::env::var_os(TOOL_OPTIONS).unwrap_or_default();
    for option in agent_options(options, library, mode)? {
        if !all.is_empty() {
            all.push(" ");
        }
        // A JVM splits the variable at blanks that are not in quotes.
        let blank = option.to_string_lossy().contains(char::is_whitespace);
        if blank {
            all.push("\"");
        }
        all.push(&option);
        if blank {
            all.push("\"");
        }
    }
    Ok(all)
}

/// The environment variable from which every JVM takes options.
pub(crate) const TOOL_OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// What the agent puts there for the JVMs that its own one starts.
const FOR_CHILDREN: &str = "ATOMVET_TOOL_OPTIONS";

fn agent_options(options: &Options, library: &Library, mode: Mode) -> anyhow::Result<Vec<OsString>> {
    let mut agent = OsString::from("-agentpath:");
    agent.push(library.agent(mode));
    let mut separator = "=";
    for (key, patterns) in [("include", &options.include), ("exclude", &options.exclude)] {
        for pattern in patterns {
            ensure_pattern(key, pattern)?;
            agent.push(format!("{separator}{key}={pattern}"));
            separator = ",";
        }
    }
    if options.blocks == Some(Blocks::Papers) {
        agent.push(format!("{separator}blocks=papers"));
        separator = ",";
    }
    if let Some(most) = options.elements {
        agent.push(format!("{separator}elements={most}"));
    }
    // Hooks make methods longer. Long ones are not compiled otherwise; and compilers would repeat, in those that call them, so many
    // that are compiled already that it takes them half as long again (bench/).
    Ok(vec![agent, "-XX:-DontCompileHugeMethods".into(), "-XX:InlineSmallCode=800".into()])
}

/// A pattern is the name of a class or of a package, with stars.
fn ensure_pattern(key: &str, pattern: &str) -> anyhow::Result<()> {
    let is_part = |c: char| c.is_alphanumeric() || "_$.*".contains(c);
    if pattern.is_empty() || !pattern.chars().all(is_part) {
        let slashes = if pattern.contains('/') { "; dots stand between packages" } else { "" };
        bail!(
            "--{key} {pattern:?}: not the name of a class{slashes}; give one such as java.util.Vector, or several with a star, java.util.*"
        );
    }
    Ok(())
}

/// The launcher that `java` means: that of JAVA_HOME, as for build tools, or else the first in PATH. A launcher that is
/// given with its directory is that one.
fn find(launcher: &OsStr) -> anyhow::Result<PathBuf> {
    if Path::new(launcher).components().count() > 1 {
        return Ok(launcher.into());
    }
    if let Some(home) = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty()) {
        let java = Path::new(&home).join("bin/java");
        ensure!(
            is_executable(&java),
            "no JVM: JAVA_HOME is {}, which has no bin/java; set it to a JRE or JDK of version {OLDEST} or later, or unset it",
            Path::new(&home).display()
        );
        return Ok(java);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|directory| directory.join("java")).find(|java| is_executable(java)).context(
        format!("no JVM: there is no java in PATH, and JAVA_HOME is not set; install a JRE of version {OLDEST} or later, or set JAVA_HOME to one"),
    )
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Whether the agent can be loaded, as far as files tell. What they do not tell, the JVM and the agent will.
fn ensure_suitable(java: &Path) -> anyhow::Result<()> {
    let real = java.canonicalize().with_context(|| {
        format!("{}: cannot be run; check its name, or set JAVA_HOME to a JRE or JDK", java.display())
    })?;
    let mut start = [0; 20];
    let is_elf = std::fs::File::open(&real).is_ok_and(|mut file| file.read_exact(&mut start).is_ok())
        && start.starts_with(b"\x7fELF");
    // Class of the file: 2 is 64 bits. Machine: 62 is x86-64.
    ensure!(
        !is_elf || start[4] == 2 && start[18..20] == [62, 0],
        "{}: not a JVM for 64-bit x86, which the agent is made for; set JAVA_HOME to one that is",
        java.display()
    );
    let release = real.parent().and_then(Path::parent).map(|home| home.join("release"));
    let release = release.and_then(|file| bounded::text(&file)).unwrap_or_default();
    if let Some(version) = major_version(&release) {
        ensure!(
            version >= OLDEST,
            "{}: Java {version} is too old; the agent needs {OLDEST} or later: set JAVA_HOME to one",
            java.display()
        );
    }
    Ok(())
}

/// The version that the file `release` of a JRE gives: 8 for 1.8.0_292, 17 for 17.0.15.
fn major_version(release: &str) -> Option<u32> {
    let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?.trim_matches('"');
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    match numbers.next()?.ok()? {
        1 => numbers.next()?.ok(),
        version => Some(version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let of = |version: &str| major_version(&format!("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"{version}\"\n"));
        assert_eq!(of("1.8.0_292"), Some(8));
        assert_eq!(of("17.0.15"), Some(17));
        assert_eq!(of("25"), Some(25));
        assert_eq!(of("26-ea"), Some(26));
        assert_eq!(of("none"), None);
        assert_eq!(major_version(""), None);
    }

    #[test]
    fn launchers() {
        assert!(is_launcher(OsStr::new("java")));
        assert!(is_launcher(OsStr::new("/usr/lib/jvm/x/bin/java")));
        assert!(!is_launcher(OsStr::new("javac")));
        assert!(!is_launcher(OsStr::new("./java.sh")));
    }

    #[test]
    fn patterns_are_names_of_classes() {
        for good in ["java.util.Vector", "java.util.*", "*", "a.B$C"] {
            assert!(ensure_pattern("include", good).is_ok(), "{good}");
        }
        for bad in ["", "java/util/Vector", "a b", "a=b"] {
            assert!(ensure_pattern("include", bad).is_err(), "{bad}");
        }
    }
}
