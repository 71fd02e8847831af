//! Compiles the libraries that watched programs and JVMs load, so that the command can carry them with it.
//!
//! The runtime is a library of its own kind: its name is that of ThreadSanitizer's runtime, it must not unwind, and it is
//! always optimised, however the command is built. Like the agent it depends on crates
//! of ours and no others, so the compiler alone does it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("libtsan.so.2");
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let agent = out.with_file_name("libatomvet_agent.so");
    let agent_live = out.with_file_name("libatomvet_agent_live.so");
    let hooks = HOOKS.map(|(file, _)| out.with_file_name(file));
    println!("cargo::rerun-if-changed=../agent/src");
    println!("cargo::rerun-if-changed=../agent-live/src");
    println!("cargo::rerun-if-changed=../jvm/src");
    println!("cargo::rerun-if-changed=../runtime/src");
    println!("cargo::rerun-if-changed=../recorder/src");
    println!("cargo::rerun-if-changed=../ring/src");
    println!("cargo::rerun-if-changed=../live/src");
    println!("cargo::rerun-if-changed=../runtime-live/src");
    println!("cargo::rerun-if-changed=../../include/atomvet.h");
    let target = std::env::var("TARGET").unwrap_or_default();
    if !target.starts_with("x86_64") || !target.contains("linux") {
        // Traces can be checked everywhere; programs can be run on Linux for x86-64 only.
        for library in [out, agent, agent_live].into_iter().chain(hooks) {
            std::fs::write(library, []).expect("the output directory can be written");
        }
        println!("cargo::rustc-env=ATOMVET_LIBRARY_VERSION=none");
        return;
    }
    let [ring, recorder, jvm, live] =
        ["ring", "recorder", "jvm", "live"].map(|name| out.with_file_name(format!("libatomvet_{name}.rlib")));
    let source = |name: &str| crates.join(name).join("src/lib.rs");
    compile("atomvet_ring", "rlib", &source("ring"), &ring, &[]);
    compile("atomvet_recorder", "rlib", &source("recorder"), &recorder, &["--extern", "atomvet_ring"]);
    compile("atomvet_live", "rlib", &source("live"), &live, &[]);
    let options = [
        "--extern",
        "atomvet_live",
        "--extern",
        "atomvet_ring",
        "-C",
        "lto=fat",
        "-C",
        "link-arg=-Wl,-soname,libtsan.so.2",
    ];
    compile("atomvet_runtime_live", "cdylib", &source("runtime-live"), &out, &options);
    for (object, (_, kind)) in hooks.iter().zip(HOOKS) {
        let options = [
            "--extern",
            "atomvet_live",
            "--cfg",
            "linked",
            "--cfg",
            kind,
            "--emit",
            "obj",
            "-C",
            "relocation-model=pic",
        ];
        compile("atomvet_hooks", "rlib", &crates.join("runtime-live/src/linked/mod.rs"), object, &options);
    }
    compile("atomvet_jvm", "rlib", &source("jvm"), &jvm, &[]);
    let options = ["--extern", "atomvet_recorder", "--extern", "atomvet_jvm", "-C", "lto=fat"];
    compile("atomvet_agent", "cdylib", &source("agent"), &agent, &options);
    let externs =
        ["--extern", "atomvet_live", "--extern", "atomvet_ring", "--extern", "atomvet_jvm", "-C", "lto=fat"];
    compile("atomvet_agent_live", "cdylib", &source("agent-live"), &agent_live, &externs);
    let header = crates.join("../include/atomvet.h");
    tell_version(&[&[agent, agent_live, out, header], &hooks[..]].concat());
}

/// The objects that `atomvet cc` links into programs, into shared libraries and into static programs, and which kind of
/// `crates/runtime-live/src/linked` each is.
const HOOKS: [(&str, &str); 3] =
    [("hooks.o", "program"), ("hooks-shared.o", "shared"), ("hooks-static.o", "alone")];

/// Where the command unpacks these files goes by what is in them. Told here, so that it need not read them all whenever it runs.
fn tell_version(files: &[PathBuf]) {
    let mut hasher = DefaultHasher::new();
    for file in files {
        std::fs::read(file).expect("what was compiled can be read").hash(&mut hasher);
    }
    println!("cargo::rustc-env=ATOMVET_LIBRARY_VERSION={:016x}", hasher.finish());
}

/// Calls the compiler; crates find each other in the directory that they are put in.
fn compile(name: &str, kind: &str, source: &Path, out: &Path, options: &[&str]) {
    let status = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition", "2024", "--crate-name", name, "--crate-type", kind])
        .args(["-C", "opt-level=3", "-C", "panic=abort", "-C", "codegen-units=1", "-C", "strip=debuginfo"])
        .args(["--cap-lints", "allow", "-L"])
        .arg(out.parent().expect("it is in the output directory"))
        .args(options)
        .arg(source)
        .arg("-o")
        .arg(out)
        .env_remove("RUSTFLAGS")
        .status()
        .expect("the compiler can be run");
    assert!(status.success(), "{name} does not compile: {status}");
}
