//! `cargo xtask jars`: the class-file rewriter on all the classes that can be found.
//!
//! Every class is read and written, taken apart and put together with nothing inserted (both must give the same bytes),
//! and rewritten with all hooks. Then a JVM verifies what came out, and nothing that it accepts before may be rejected
//! after. The classes of jars are linked by a class loader of their own; those of a JDK take the place of its own,
//! and it runs on with them.

mod zip;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use atomvet_jvm::{
    ClassFile, Effect, Fault, MemberRef, Method, Options as Hooks, Order, Plan, Site, Wanted, rewrite,
    unchanged,
};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Jars, modules of a JDK (its jmods), and folders with them; by default where Debian's packages put jars
    paths: Vec<PathBuf>,
    /// Also the JDK of this folder, with all its own classes rewritten
    #[arg(long)]
    jdk: Option<PathBuf>,
    /// The command that runs Java
    #[arg(long, default_value = "java")]
    java: PathBuf,
    /// Change some bytes of some classes first, chosen by this number
    #[arg(long)]
    mutate: Option<u64>,
    /// No more jars than these
    #[arg(long)]
    limit: Option<usize>,
}

/// How many classes a JVM gets at once.
const CLASSES_PER_RUN: usize = 20_000;

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let folder = PathBuf::from("target/jars");
    fs::create_dir_all(&folder)?;
    let mut report = Report { mutated: options.mutate.is_some(), ..Report::default() };
    let paths = match &options.paths[..] {
        [] => vec!["/usr/share/java".into(), "/usr/share/maven-repo".into()],
        paths => paths.to_vec(),
    };
    let mut jars = BTreeSet::new();
    for path in &paths {
        find_jars(path, &mut jars)?;
    }
    let jars: Vec<PathBuf> = jars.into_iter().take(options.limit.unwrap_or(usize::MAX)).collect();
    check_jars(&jars, &folder, options, &mut report)?;
    if let Some(jdk) = &options.jdk {
        println!("the JDK in {}", jdk.display());
        check_jdk(jdk, &folder, &mut report)?;
    }
    report.print();
    ensure!(report.is_fine(), "the rewriter is wrong somewhere");
    Ok(())
}

/// What is on every machine with a JDK: some thousands of its own classes as they are, and thousands of mutants.
pub(crate) fn share() -> anyhow::Result<()> {
    const MODULES: [&str; 6] =
        ["java.desktop", "java.net.http", "java.xml", "jdk.compiler", "jdk.javadoc", "jdk.jshell"];
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let java = std::env::split_paths(&paths).map(|path| path.join("java")).find(|java| java.is_file());
    let java = java.and_then(|java| java.canonicalize().ok()).context("no java in PATH")?;
    let home = java.parent().and_then(Path::parent).context("java is not in a JDK")?;
    let paths: Vec<PathBuf> =
        MODULES.iter().map(|module| home.join(format!("jmods/{module}.jmod"))).collect();
    for path in &paths {
        ensure!(path.exists(), "{}: missing; install openjdk-17-jdk-headless", path.display());
    }
    for mutate in [None, Some(1), Some(2)] {
        run(&Options { paths: paths.clone(), jdk: None, java: java.clone(), mutate, limit: None })?;
    }
    Ok(())
}

/// All hooks everywhere, with numbers of every size.
struct Everywhere {
    next: u32,
}

impl Plan for Everywhere {
    fn method(&mut self, _: &Method<'_>) -> Wanted {
        Wanted::ALL
    }

    fn site(&mut self, _: &Site<'_>) -> Option<u32> {
        // In steps, so that small numbers, large ones and very large ones all come.
        self.next = (self.next + 97) % (1 << 20);
        Some(self.next)
    }

    fn effect(&self, method: &MemberRef<'_>) -> Effect {
        // Whatever they do: there are many of them, and none of them may be in the way.
        if matches!(method.name, b"get" | b"size") { Effect::Read } else { Effect::Anything }
    }
}

/// Changes bytes, most of them in method bodies, a few at a time, so that some classes are still accepted.
struct Mutator {
    state: u64,
}

impl Mutator {
    fn below(&mut self, bound: usize) -> usize {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % bound.max(1)
    }

    /// One of some classes, because a class whose superclass is rejected is rejected as well. It keeps its name, or else
    /// the JVM would take the parent's class of that name in its place.
    fn mutate(&mut self, file: &mut Vec<u8>) {
        if self.below(6) > 0 {
            return;
        }
        let name_of = |file: &[u8]| {
            let class = ClassFile::parse(file).ok()?;
            Some(class.name().ok()?.to_vec())
        };
        let (before, name) = (file.clone(), name_of(file));
        self.change(file);
        if name_of(file) != name {
            *file = before;
        }
    }

    fn change(&mut self, file: &mut [u8]) {
        let Ok(class) = ClassFile::parse(file) else { return };
        let bodies = class.methods.iter().flat_map(|method| &method.attributes);
        let bodies: Vec<_> = bodies
            .filter(|body| !body.content.is_empty())
            .map(|body| (body.offset, body.content.len()))
            .collect();
        for _ in 0..=self.below(2) {
            let whole = (0, file.len());
            let body = bodies.get(self.below(bodies.len())).unwrap_or(&whole);
            let (offset, length) = if self.below(4) == 0 { whole } else { *body };
            if length > 0 {
                let at = offset + self.below(length);
                let byte = match self.below(3) {
                    0 => file[at].wrapping_add(1),
                    1 => file[at].wrapping_sub(1),
                    _ => self.below(256) as u8,
                };
                file[at] = byte;
            }
        }
    }
}

#[derive(Default)]
struct Report {
    /// Methods that cannot be rewritten are many then, and of no interest.
    mutated: bool,
    jars: usize,
    classes: usize,
    unreadable: BTreeMap<String, usize>,
    not_the_same: Vec<String>,
    bodies_not_taken_apart: usize,
    classes_rewritten: usize,
    methods: usize,
    /// Of the classes that have hooks now: before and after.
    bytes: [usize; 2],
    /// In `rewrite`.
    time: Duration,
    left_alone: BTreeMap<String, Vec<String>>,
    linked: usize,
    /// Classes that the JVM does not take as they are.
    notes: BTreeMap<String, usize>,
    errors: Vec<String>,
}

impl Report {
    /// Everything that needs no JVM; gives the class's own name and the rewritten class.
    fn class(
        &mut self,
        file: &[u8],
        hook_class: &str,
        plan: &mut Everywhere,
    ) -> Option<(String, Option<Vec<u8>>)> {
        self.classes += 1;
        let class = match ClassFile::parse(file) {
            Ok(class) => class,
            Err(error) => {
                *self.unreadable.entry(error.what.to_string()).or_default() += 1;
                return None;
            }
        };
        let name = String::from_utf8_lossy(class.name().unwrap_or_default()).into_owned();
        if class.write().as_deref() != Ok(file) {
            self.not_the_same.push(name.clone());
        }
        match unchanged(file) {
            Ok((bytes, errors)) => {
                self.bodies_not_taken_apart += errors.len();
                if bytes != file {
                    self.not_the_same.push(format!("{name}, taken apart"));
                }
            }
            Err(_) if self.mutated => {}
            Err(error) => self.errors.push(format!("{name}: {error}")),
        }
        let options = Hooks { hook_class, order: Order::Around };
        let begin = Instant::now();
        let outcome = rewrite(file, options, plan);
        self.time += begin.elapsed();
        match outcome {
            Ok(rewritten) => {
                self.methods += rewritten.methods;
                for left in rewritten.left_alone {
                    let why = match left.why.what {
                        Fault::MethodTooLarge(_) => "too large".to_owned(),
                        Fault::Target(_) => "a target that is none".to_owned(),
                        Fault::ConstantIndex(_) => "a constant that is none".to_owned(),
                        Fault::Opcode(_) => "an instruction that is none".to_owned(),
                        what => what.to_string(),
                    };
                    let method = format!("{name}.{}: {}", String::from_utf8_lossy(&left.name), left.why);
                    self.left_alone.entry(why).or_default().push(method);
                }
                if let Some(bytes) = &rewritten.bytes {
                    self.classes_rewritten += 1;
                    self.bytes[0] += file.len();
                    self.bytes[1] += bytes.len();
                }
                Some((name, rewritten.bytes))
            }
            // What the agent cannot rewrite stays as it is.
            Err(_) if self.mutated => Some((name, None)),
            Err(error) => {
                self.errors.push(format!("{name}: {error}"));
                None
            }
        }
    }

    fn is_fine(&self) -> bool {
        self.not_the_same.is_empty() && self.errors.is_empty()
    }

    fn print(&self) {
        println!("{} jars, {} classes", self.jars, self.classes);
        for (why, count) in &self.unreadable {
            println!("  {count} unreadable: {why}");
        }
        println!("round trips that differ: {}", self.not_the_same.len());
        self.not_the_same.iter().take(20).for_each(|name| println!("  {name}"));
        println!("bodies that could not be taken apart: {}", self.bodies_not_taken_apart);
        let growth = self.bytes[1] as f64 / self.bytes[0].max(1) as f64;
        println!(
            "rewritten: {} classes, {} methods, {growth:.2} times the bytes",
            self.classes_rewritten, self.methods
        );
        println!("  in {:.1} µs per class", self.time.as_secs_f64() * 1e6 / self.classes.max(1) as f64);
        let examples = if self.mutated { 0 } else { 20 };
        for (why, methods) in &self.left_alone {
            println!("  left alone: {} methods: {why}", methods.len());
            methods.iter().take(examples).for_each(|method| println!("    {method}"));
        }
        println!("linked by the JVM after rewriting: {} classes", self.linked);
        self.notes.iter().for_each(|(note, count)| println!("  {note}: {count} classes"));
        println!("errors beyond the baseline: {}", self.errors.len());
        self.errors.iter().take(50).for_each(|error| println!("  {error}"));
    }

    /// Takes what `Link` printed.
    fn outcome(&mut self, line: &str) {
        match line.split_once('\t') {
            Some(("linked", count)) => self.linked += count.parse().unwrap_or(0),
            Some(("error", what)) => self.errors.push(what.replace('\t', ": ")),
            Some((note, _)) => *self.notes.entry(note.to_owned()).or_default() += 1,
            None => println!("{line}"),
        }
    }
}

fn find_jars(path: &Path, jars: &mut BTreeSet<PathBuf>) -> anyhow::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            find_jars(&entry?.path(), jars)?;
        }
    } else if path.extension().is_some_and(|ending| ending == "jar" || ending == "jmod") {
        // Debian's packages have several names for one file, some of which lead nowhere.
        jars.extend(path.canonicalize().ok());
    }
    Ok(())
}

fn check_jars(jars: &[PathBuf], folder: &Path, options: &Options, report: &mut Report) -> anyhow::Result<()> {
    let is_module = |jar: &Path| jar.extension() == Some(OsStr::new("jmod"));
    let list: Vec<String> =
        jars.iter().filter(|jar| !is_module(jar)).map(|jar| jar.display().to_string()).collect();
    fs::write(folder.join("jars.txt"), list.join("\n"))?;
    for source in [("Link.java", include_str!("Link.java").to_owned()), ("Hooks.java", hooks_of("atomvet"))] {
        fs::write(folder.join(source.0), source.1)?;
    }
    let classes = folder.join("classes");
    let javac = options.java.with_file_name("javac");
    let mut compile = Command::new(javac);
    compile.arg("-d").arg(&classes).arg(folder.join("Link.java")).arg(folder.join("Hooks.java"));
    ensure!(compile.status().context("cannot run javac")?.success(), "javac failed");

    let mut plan = Everywhere { next: 0 };
    let mut mutator = options.mutate.map(|seed| Mutator { state: seed });
    let (mut files, mut waiting) = (Vec::new(), 0);
    for jar in jars {
        report.jars += 1;
        let mut pairs = Vec::new();
        let mut count = 0;
        let bytes = fs::read(jar)?;
        // A module is a jar behind four bytes, with its classes in a folder.
        let (bytes, root) =
            if is_module(jar) { (bytes.get(4..).unwrap_or_default(), "classes/") } else { (&bytes[..], "") };
        let read = zip::classes(bytes, |path, mut file| {
            if let Some(mutator) = &mut mutator {
                mutator.mutate(&mut file);
            }
            if let Some((name, rewritten)) = report.class(&file, "atomvet/Hooks", &mut plan) {
                // Other versions of classes, for other JDKs, and modules are read and rewritten but not linked.
                if path.strip_prefix(root).and_then(|path| path.strip_suffix(".class")) == Some(&name) {
                    count += 1;
                    put_pair(&mut pairs, &name, &file, rewritten.as_deref().unwrap_or_default());
                }
            }
        });
        if let Err(error) = read {
            println!("{}: {error}", jar.display());
        }
        if count > 0 {
            let file = folder.join(format!("{}.pairs", files.len()));
            fs::write(&file, pairs)?;
            files.push(file);
            waiting += count;
        }
        if waiting >= CLASSES_PER_RUN {
            link(options, &classes, folder, &files, report)?;
            files.clear();
            waiting = 0;
        }
    }
    link(options, &classes, folder, &files, report)
}

fn hooks_of(package: &str) -> String {
    format!("package {package};\n{}", include_str!("Hooks.java"))
}

fn link(
    options: &Options,
    classes: &Path,
    folder: &Path,
    files: &[PathBuf],
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut command = Command::new(&options.java);
    command.args(["-Xverify:all", "-Xshare:off", "-Xmx3g", "-XX:TieredStopAtLevel=1", "-cp"]).arg(classes);
    // What is wrong with a mutated class may be found in another order after rewriting.
    command.args(["Link", if options.mutate.is_some() { "mutants" } else { "pairs" }]);
    command.arg(folder.join("jars.txt")).args(files);
    outcomes(command, report)?;
    for file in files {
        fs::remove_file(file)?;
    }
    println!("{} jars, {} classes, {} linked", report.jars, report.classes, report.linked);
    std::io::stdout().flush()?;
    Ok(())
}

fn outcomes(mut command: Command, report: &mut Report) -> anyhow::Result<()> {
    let output = command.stderr(Stdio::inherit()).output().context("cannot run java")?;
    String::from_utf8_lossy(&output.stdout).lines().for_each(|line| report.outcome(line));
    ensure!(output.status.success(), "java ended with {}", output.status);
    Ok(())
}

/// Rewrites all classes of a JDK and has it run with them.
fn check_jdk(jdk: &Path, folder: &Path, report: &mut Report) -> anyhow::Result<()> {
    let (image, base, agent) = (folder.join("image"), folder.join("base"), folder.join("link.jar"));
    for stale in [&image, &base] {
        if stale.exists() {
            fs::remove_dir_all(stale)?;
        }
    }
    let run = |command: &mut Command| {
        let name = command.get_program().display().to_string();
        ensure!(command.status().with_context(|| format!("cannot run {name}"))?.success(), "{name} failed");
        Ok(())
    };
    run(Command::new(jdk.join("bin/jimage"))
        .args(["extract", "--dir"])
        .arg(&image)
        .arg(jdk.join("lib/modules")))?;
    let (mut paths, mut pairs) = (Vec::new(), Vec::new());
    find_classes(&image, &mut paths)?;
    let mut plan = Everywhere { next: 0 };
    for path in paths {
        let file = fs::read(&path)?;
        if let Some((name, Some(rewritten))) = report.class(&file, "java/lang/Hooks", &mut plan) {
            put_pair(&mut pairs, &name, &file, &rewritten);
        }
    }
    fs::write(folder.join("jdk.pairs"), pairs)?;

    // The hooks have to be in java.base, so that everything sees them.
    let source = folder.join("Hooks.java");
    fs::write(&source, hooks_of("java.lang"))?;
    let patch = format!("java.base={}", folder.display());
    run(Command::new(jdk.join("bin/javac")).args(["--patch-module", &patch, "-d"]).arg(&base).arg(source))?;
    let manifest = folder.join("manifest");
    fs::write(&manifest, "Premain-Class: Link\nCan-Redefine-Classes: true\n")?;
    let classes = folder.join("classes");
    run(Command::new(jdk.join("bin/jar"))
        .arg("cfm")
        .arg(&agent)
        .arg(manifest)
        .arg("-C")
        .arg(&classes)
        .arg("."))?;
    let mut command = Command::new(jdk.join("bin/java"));
    command.args(["-Xverify:all", "-Xmx3g", "-XX:TieredStopAtLevel=1", "--add-modules", "ALL-SYSTEM"]);
    command.arg(format!("--patch-module=java.base={}", base.display()));
    command.arg(format!("-javaagent:{}", agent.display())).arg("-cp").arg(&agent);
    command.args(["Link", "redefine"]).arg(folder.join("jdk.pairs"));
    outcomes(command, report)
}

fn put_pair(pairs: &mut Vec<u8>, name: &str, before: &[u8], after: &[u8]) {
    for block in [name.as_bytes(), before, after] {
        pairs.extend_from_slice(&(block.len() as u32).to_be_bytes());
        pairs.extend_from_slice(block);
    }
}

/// The class files below a folder.
pub(crate) fn find_classes(path: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            find_classes(&entry?.path(), files)?;
        }
    } else if path.extension() == Some(OsStr::new("class")) {
        files.push(path.to_owned());
    }
    Ok(())
}
