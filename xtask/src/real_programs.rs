//! `cargo xtask real-programs`: programs that others wrote, from Debian's source packages, under the checker.
//!
//! Each is built twice, as it is and by `atomvet cc` (for the JVM once), and run twice, alone and under `atomvet run`: what it
//! does must be the same. What was found is left in the folder as text and as JSON, to be read; `docs/real-programs.md` has what we
//! read there. Nothing is installed: sources, and packages that the builds need, are unpacked below the folder.
//!
//! Needs Debian or what is made of it, its compilers, and the network. Takes about a quarter of an hour, so CI leaves it out.

mod debian;
mod jvm;
mod memcached;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail, ensure};

use self::debian::Debian;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these of pbzip2, memcached, leveldb, javac, h2 and commons-pool
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Where sources are unpacked and everything is built
    #[arg(long, value_name = "FOLDER", default_value = "target/real-programs")]
    folder: PathBuf,
    /// The command to try [default: a release build of this one]
    #[arg(long, value_name = "FILE")]
    atomvet: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let atomvet = match &options.atomvet {
        Some(path) => path.clone(),
        None => {
            let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
            succeed(Command::new(cargo).args(["build", "--release", "--quiet", "--package", "atomvet"]))?;
            PathBuf::from("target/release/atomvet")
        }
    };
    let debian = Debian::prepare(&options.folder)?;
    let work = Work { atomvet: atomvet.canonicalize()?, debian };
    let programs: [(&str, Trial); 6] = [
        ("pbzip2", pbzip2),
        ("memcached", memcached::run),
        ("leveldb", leveldb),
        ("javac", jvm::javac),
        ("h2", jvm::h2),
        ("commons-pool", jvm::commons_pool),
    ];
    for name in &options.only {
        ensure!(programs.iter().any(|(known, _)| known == name), "{name}: no such program");
    }
    for (name, run) in programs {
        if options.only.is_empty() || options.only.iter().any(|only| only == name) {
            run(&work).with_context(|| name)?;
        }
    }
    println!("\nreports are in {}", work.debian.folder.display());
    Ok(())
}

/// Builds and runs a program in both ways.
type Trial = fn(&Work) -> anyhow::Result<()>;

/// What every program needs.
struct Work {
    atomvet: PathBuf,
    debian: Debian,
}

/// One of the two builds of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Build {
    Plain,
    Watched,
}

impl Build {
    const BOTH: [Build; 2] = [Build::Plain, Build::Watched];

    fn name(self) -> &'static str {
        match self {
            Build::Plain => "plain",
            Build::Watched => "watched",
        }
    }
}

impl Work {
    /// A command whose programs find what the packages have.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        self.debian.add_to(&mut command);
        command
    }

    /// A command that builds, with the compilers of that build in its environment.
    fn builder(&self, program: &str, build: Build) -> Command {
        let mut command = self.command(program);
        if build == Build::Watched {
            let atomvet = self.atomvet.display();
            command.env("CC", format!("{atomvet} cc")).env("CXX", format!("{atomvet} c++"));
        }
        command
    }

    /// The folder of one build of a program.
    fn folder(&self, program: &str, build: Build) -> PathBuf {
        self.debian.folder.join(format!("{program}-{}", build.name()))
    }

    /// `program`, alone or under `atomvet run` with reports beside it.
    fn runner(&self, name: &str, program: &Path, build: Build) -> Command {
        match build {
            Build::Plain => self.command(program),
            Build::Watched => {
                let mut command = self.command(&self.atomvet);
                command.args(["run", "--max-findings", "1000", "-o"]).arg(self.report(name));
                command.arg("--").arg(program);
                command
            }
        }
    }

    fn report(&self, name: &str) -> PathBuf {
        self.debian.folder.join(format!("{name}.txt"))
    }

    /// Says what was found: how many findings, of which functions.
    fn tell(&self, name: &str, plain: f64, watched: f64) -> anyhow::Result<()> {
        let report = std::fs::read_to_string(self.report(name))?;
        let mut blamed: BTreeMap<String, u32> = BTreeMap::new();
        for line in report.lines() {
            if let Some((number, rest)) = line.split_once(". ")
                && number.parse::<u32>().is_ok()
            {
                let block = rest.split_once(" is not atomic").map_or("(no single block)", |(block, _)| block);
                *blamed.entry(block.to_owned()).or_default() += 1;
            }
        }
        println!("{name}: same results; {plain:.1} s alone, {watched:.1} s watched; findings by function:");
        for (block, times) in blamed {
            println!("    {times:4}  {block}");
        }
        Ok(())
    }
}

/// Compresses a text and decompresses it again. The compressor itself is a library that is not instrumented.
fn pbzip2(work: &Work) -> anyhow::Result<()> {
    let source = work.debian.source("pbzip2")?;
    let folder = &work.debian.folder;
    let input = folder.join("input");
    std::fs::write(&input, text(8_000_000))?;
    for build in Build::BOTH {
        let here = work.folder("pbzip2", build);
        copy(&source, &here)?;
        // Its Makefile takes the compiler from the command line only.
        let mut make = work.builder("make", Build::Plain);
        if build == Build::Watched {
            make.arg(format!("CXX={} c++", work.atomvet.display()));
        }
        succeed(quiet(make.current_dir(&here)))?;
    }
    for (name, arguments) in [("pbzip2-compress", "-k -c -p4 -b1"), ("pbzip2-decompress", "-d -c -p4")] {
        let from =
            if name.ends_with("-compress") { input.clone() } else { folder.join("pbzip2-compress.plain") };
        let mut seconds = [0.0; 2];
        for (build, seconds) in Build::BOTH.into_iter().zip(&mut seconds) {
            let binary = work.folder("pbzip2", build).join("pbzip2");
            let mut command = work.runner(name, &binary, build);
            command.args(arguments.split(' ')).arg(&from);
            let output = folder.join(format!("{name}.{}", build.name()));
            command.stdout(std::fs::File::create(output)?);
            *seconds = timed(&mut command, build)?;
        }
        same_files(&folder.join(format!("{name}.plain")), &folder.join(format!("{name}.watched")))?;
        work.tell(name, seconds[0], seconds[1])?;
    }
    same_files(&input, &folder.join("pbzip2-decompress.watched"))
}

/// Builds the library with CMake and runs its own tests that have threads.
fn leveldb(work: &Work) -> anyhow::Result<()> {
    let source = work.debian.source("leveldb")?;
    work.debian.unpack(
        "cmake cmake-data libarchive13 libjsoncpp25 librhash0 libuv1 libgtest-dev libgmock-dev libbenchmark-dev \
        libbenchmark1debian",
    )?;
    for build in Build::BOTH {
        let here = work.folder("leveldb", build);
        std::fs::create_dir_all(&here)?;
        let mut cmake = work.builder("cmake", build);
        cmake
            .args(["-DCMAKE_BUILD_TYPE=Release", "-DLEVELDB_BUILD_BENCHMARKS=OFF"])
            .arg(source.canonicalize()?);
        succeed(quiet(cmake.current_dir(&here)))?;
        let mut make = work.builder("make", build);
        make.args(["-j2", "db_test", "env_test", "skiplist_test"]);
        succeed(quiet(make.current_dir(&here)))?;
    }
    let tests = [
        ("leveldb-env", "env_test", "*"),
        ("leveldb-db", "db_test", "*MultiThreaded*"),
        (
            "leveldb-skiplist",
            "skiplist_test",
            "-SkipTest.Concurrent2:SkipTest.Concurrent3:SkipTest.Concurrent4:SkipTest.Concurrent5",
        ),
    ];
    for (name, test, filter) in tests {
        let mut seconds = [0.0; 2];
        let mut printed = Vec::new();
        for (build, seconds) in Build::BOTH.into_iter().zip(&mut seconds) {
            let here = work.folder("leveldb", build);
            let files = here.join("files");
            std::fs::create_dir_all(&files)?;
            let mut command = work.runner(name, &here.join(test), build);
            command.arg(format!("--gtest_filter={filter}")).env("TEST_TMPDIR", files);
            let output = work.debian.folder.join(format!("{name}.{}", build.name()));
            command.stdout(std::fs::File::create(&output)?);
            // What they say about their progress.
            command.stderr(std::fs::File::create(output.with_extension(format!("{}.log", build.name())))?);
            *seconds = timed(&mut command, build)?;
            printed.push(without_times(&std::fs::read_to_string(output)?));
        }
        ensure!(printed[0].contains("[  PASSED  ]"), "{name}: its own tests fail:\n{}", printed[0]);
        ensure!(printed[0] == printed[1], "{name}: prints\n{}\ninstead of\n{}", printed[1], printed[0]);
        work.tell(name, seconds[0], seconds[1])?;
    }
    Ok(())
}

/// What a test prints, but for how long it took and what it says about its progress.
fn without_times(text: &str) -> String {
    let lines = text.lines().filter(|line| line.starts_with('['));
    let lines = lines
        .map(|line| line.rsplit_once(" (").filter(|(_, end)| end.contains(" ms")).map_or(line, |(l, _)| l));
    lines.collect::<Vec<_>>().join("\n")
}

/// Runs to the end; the seconds that took. Findings are no failure.
fn timed(command: &mut Command, build: Build) -> anyhow::Result<f64> {
    let started = Instant::now();
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("{command:?}"))?;
    let as_expected = status.success() || build == Build::Watched && status.code() == Some(1);
    ensure!(as_expected, "{command:?}: {status}");
    Ok(started.elapsed().as_secs_f64())
}

/// A text that is the same every time and can be compressed.
fn text(bytes: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let letters = b"abcdefghijklmnop";
    let words: Vec<Vec<u8>> =
        (0..2000).map(|_| (0..next() % 8 + 2).map(|_| letters[next() % letters.len()]).collect()).collect();
    let mut text = Vec::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.extend_from_slice(&words[next() % words.len()]);
        text.push(if next() % 12 == 0 { b'\n' } else { b' ' });
    }
    text
}

fn same_files(one: &Path, other: &Path) -> anyhow::Result<()> {
    let (one_is, other_is) = (std::fs::read(one)?, std::fs::read(other)?);
    ensure!(one_is == other_is, "{} and {} differ", one.display(), other.display());
    Ok(())
}

/// A copy with the times of its files, on which Makefiles depend; what was there goes.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    if to.exists() {
        std::fs::remove_dir_all(to)?;
    }
    succeed(Command::new("cp").arg("-a").arg(from).arg(to))
}

/// What a build prints is of no interest but for its errors, which [`succeed`] shows.
fn quiet(command: &mut Command) -> &mut Command {
    command.stdout(Stdio::null())
}

fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().with_context(|| format!("{command:?}: cannot be run"))?;
    if !output.status.success() {
        bail!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
