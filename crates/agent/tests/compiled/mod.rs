//! Compiles hook classes anew with a JDK 17 (`cargo xtask install`). `BLESS=1` writes them again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version whose classes are committed: the oldest that the agent runs in.
const VERSION: &str = "javac 17.";

/// The compiler of a JDK of the right version.
fn compiler() -> Option<PathBuf> {
    let installed = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let homes = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter();
    let homes = homes.chain(installed.map(|entry| entry.path())).map(|home| home.join("bin/javac"));
    homes.chain([PathBuf::from("javac")]).find(|javac| {
        let version = Command::new(javac).arg("-version").output();
        version.is_ok_and(|version| String::from_utf8_lossy(&version.stdout).starts_with(VERSION))
    })
}

fn classes(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let classes = files.filter(|file| file.extension().is_some_and(|ending| ending == "class"));
    classes
        .map(|file| (file.file_name().unwrap().to_string_lossy().into_owned(), fs::read(file).unwrap()))
        .collect()
}

/// Compares the classes of this package with their source. `others` are sources of other packages that they need.
pub(super) fn check(package: &str, others: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/hooks");
    let committed = classes(&source);
    // Each is defined by its name.
    let list = fs::read_to_string(source.join("../hook_classes.rs")).unwrap();
    for name in committed.keys() {
        assert!(
            list.contains(&format!("include_bytes!(\"hooks/{name}\")")),
            "{name} is not in hook_classes.rs"
        );
    }
    let compiler =
        compiler().expect("a JDK 17 in /usr/lib/jvm, JAVA_HOME or PATH: `cargo xtask install` installs one");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hooks");
    if out.exists() {
        fs::remove_dir_all(&out).unwrap();
    }
    let files = fs::read_dir(&source).unwrap().map(|entry| entry.unwrap().path());
    let sources = files.filter(|file| file.extension().is_some_and(|ending| ending == "java"));
    let sources = sources.chain(others.iter().map(|file| source.join(file)));
    let mut patch = std::ffi::OsString::from("java.base=");
    patch.push(&source);
    let compiled = Command::new(compiler)
        .args(["-nowarn", "-g:none", "--patch-module"])
        .arg(patch)
        .arg("-d")
        .arg(&out)
        .args(sources)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut made = classes(&out.join("java/lang"));
    let is_other = |name: &str| {
        let mut stems = others.iter().filter_map(|other| Path::new(other).file_stem()?.to_str());
        stems.any(|stem| name.split(['.', '$']).next() == Some(stem))
    };
    made.retain(|name, _| !is_other(name));
    if std::env::var_os("BLESS").is_some() {
        for name in committed.keys() {
            fs::remove_file(source.join(name)).unwrap();
        }
        for (name, bytes) in &made {
            fs::write(source.join(name), bytes).unwrap();
        }
        return;
    }
    assert_eq!(made.keys().collect::<Vec<_>>(), committed.keys().collect::<Vec<_>>());
    for (name, bytes) in &made {
        assert!(committed[name] == *bytes, "{name} differs: BLESS=1 cargo test -p {package} writes it again");
    }
}
