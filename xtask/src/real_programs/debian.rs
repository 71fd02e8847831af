//! Sources and packages of Debian in a folder of our own: nothing is installed, and nobody's lists are touched.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use super::succeed;

/// The release whose packages the documentation speaks of.
const RELEASE: &str = "bookworm";
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

pub(super) struct Debian {
    /// Where everything is.
    pub(super) folder: PathBuf,
}

impl Debian {
    /// Fetches the lists.
    pub(super) fn prepare(folder: &Path) -> anyhow::Result<Debian> {
        for part in ["apt/lists/partial", "apt/cache/archives/partial", "sources", "packages", "root"] {
            std::fs::create_dir_all(folder.join(part))?;
        }
        let debian = Debian { folder: folder.canonicalize()? };
        ensure!(Path::new(KEYS).exists(), "{KEYS} is missing: apt-get install debian-archive-keyring");
        let entry = format!("[signed-by={KEYS}] http://deb.debian.org/debian {RELEASE} main");
        std::fs::write(debian.folder.join("apt/sources.list"), format!("deb {entry}\ndeb-src {entry}\n"))?;
        succeed(debian.apt().arg("update"))?;
        Ok(debian)
    }

    fn apt(&self) -> Command {
        let mut command = Command::new("apt-get");
        let apt = self.folder.join("apt");
        for (option, path) in [
            ("Dir::Etc::SourceList", apt.join("sources.list")),
            ("Dir::Etc::SourceParts", PathBuf::from("/dev/null")),
            ("Dir::State::Lists", apt.join("lists")),
            ("Dir::Cache", apt.join("cache")),
        ] {
            command.arg("-o").arg(format!("{option}={}", path.display()));
        }
        // Downloads go to our folder, which another user may not be able to reach.
        command.args(["-qq", "-o", "APT::Sandbox::User=root"]);
        command
    }

    /// The unpacked source of a package.
    pub(super) fn source(&self, package: &str) -> anyhow::Result<PathBuf> {
        let sources = self.folder.join("sources").join(package);
        std::fs::create_dir_all(&sources)?;
        let unpacked = || {
            let entries = std::fs::read_dir(&sources).ok()?.flatten().map(|entry| entry.path());
            entries.into_iter().find(|path| path.is_dir())
        };
        if let Some(there) = unpacked() {
            return Ok(there);
        }
        succeed(self.apt().args(["source", package]).current_dir(&sources))?;
        unpacked().with_context(|| format!("{package}: no source was unpacked"))
    }

    /// Unpacks binary packages, named with spaces between, below `root`.
    pub(super) fn unpack(&self, packages: &str) -> anyhow::Result<()> {
        let to = self.folder.join("packages");
        succeed(self.apt().arg("download").args(packages.split_whitespace()).current_dir(&to))?;
        for file in std::fs::read_dir(&to)? {
            succeed(Command::new("dpkg-deb").arg("-x").arg(file?.path()).arg(self.root()))?;
        }
        Ok(())
    }

    /// Where packages are unpacked.
    pub(super) fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    /// Lets a command, its compilers and what it runs find what was unpacked.
    pub(super) fn add_to(&self, command: &mut Command) {
        let root = self.root().join("usr");
        let libraries = root.join("lib/x86_64-linux-gnu");
        let headers = root.join("include");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:{}", root.join("bin").display()));
        command.env("LD_LIBRARY_PATH", &libraries).env("LIBRARY_PATH", &libraries);
        for variable in ["C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"] {
            command.env(variable, format!("{}:{}/x86_64-linux-gnu", headers.display(), headers.display()));
        }
    }
}
