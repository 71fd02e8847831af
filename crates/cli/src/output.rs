//! Where results go: standard output, or a file that appears whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};

use crate::interrupt;
use crate::text::Onto;

/// A result being written.
pub(crate) struct Output {
    /// What errors call it.
    shown: String,
    to: To,
}

enum To {
    Stdout(BufWriter<io::Stdout>),
    /// Where nobody is left to tell if it fails.
    Stderr,
    /// Something that is no regular file, such as a named pipe.
    Device(BufWriter<File>),
    /// A file of another name, which gets this name at the end.
    Temporary(BufWriter<tempfile::NamedTempFile>, PathBuf),
}

const BUFFER: usize = 256 * 1024;

impl Output {
    /// What errors call it.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Whether people may be looking.
    pub(crate) fn onto(&self) -> Onto {
        match self.to {
            To::Stdout(_) => Onto::Stdout,
            To::Stderr => Onto::Stderr,
            To::Device(_) | To::Temporary(..) => Onto::File,
        }
    }

    /// Standard output.
    pub(crate) fn stdout() -> Output {
        let to = To::Stdout(BufWriter::with_capacity(BUFFER, io::stdout()));
        Output { shown: "standard output".to_owned(), to }
    }

    /// Standard error, for a command whose standard output belongs to another program.
    pub(crate) fn stderr() -> Output {
        Output { shown: "standard error".to_owned(), to: To::Stderr }
    }

    /// Standard output for none and for `-`. No path may be one of `inputs`.
    pub(crate) fn create(path: Option<&Path>, inputs: &[impl AsRef<Path>]) -> anyhow::Result<Output> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Output::stdout());
        };
        let shown = path.display().to_string();
        if let Ok(there) = path.canonicalize()
            && inputs.iter().any(|input| input.as_ref().canonicalize().is_ok_and(|input| input == there))
        {
            bail!("{shown}: is an input as well, and would be overwritten; give -o another name");
        }
        let to = match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                bail!("{shown}: is a directory; give -o the name of a file in it");
            }
            Ok(metadata) if !metadata.is_file() => {
                let file = File::options().write(true).open(path);
                let file = file.with_context(|| format!("{shown}: cannot be written"))?;
                To::Device(BufWriter::with_capacity(BUFFER, file))
            }
            existing => {
                let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let mut builder = tempfile::Builder::new();
                builder.prefix(".atomvet-");
                // The rights of an existing file are kept; a new one gets the user's usual ones.
                let permissions = existing.ok().map(|m| m.permissions()).or_else(usual_permissions);
                if let Some(permissions) = permissions {
                    builder.permissions(permissions);
                }
                let file = builder.tempfile_in(directory).map_err(|error| {
                    // Its text names the temporary file, which is nobody's concern.
                    let error = io::Error::from(error.kind());
                    anyhow!(
                        "{shown}: cannot be written: {error}; check the directory {}",
                        directory.display()
                    )
                })?;
                interrupt::half_written(file.path().to_owned());
                To::Temporary(BufWriter::with_capacity(BUFFER, file), path.to_owned())
            }
        };
        Ok(Output { shown, to })
    }

    /// Everything is written: now the file appears.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let result = match self.to {
            To::Stdout(mut out) => out.flush(),
            To::Stderr => Ok(()),
            To::Device(mut out) => out.flush(),
            To::Temporary(out, path) => {
                let temporary = out.get_ref().path().to_owned();
                let renamed = (out.into_inner().map_err(io::IntoInnerError::into_error))
                    .and_then(|file| file.persist(path).map(drop).map_err(|error| error.error));
                interrupt::whole(&temporary);
                renamed
            }
        };
        not_written(&self.shown, result)
    }

    /// Writes a whole text and finishes.
    pub(crate) fn write_all_of(self, text: &str) -> anyhow::Result<()> {
        self.write_bytes(text.as_bytes())
    }

    /// Writes all bytes and finishes.
    pub(crate) fn write_bytes(mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let written = self.write_all(bytes);
        not_written(&self.shown, written)?;
        self.finish()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            To::Stdout(out) => out.write(bytes),
            To::Stderr => io::stderr().write(bytes).or(Ok(bytes.len())),
            To::Device(out) => out.write(bytes),
            To::Temporary(out, _) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Stdout(out) => out.flush(),
            To::Stderr => Ok(()),
            To::Device(out) => out.flush(),
            To::Temporary(out, _) => out.flush(),
        }
    }
}

fn not_written(shown: &str, result: io::Result<()>) -> anyhow::Result<()> {
    // Its text may name the temporary file, which is nobody's concern.
    ended_early(result).map_err(|error| {
        let plain = error.raw_os_error().map_or(error.kind().into(), io::Error::from_raw_os_error);
        anyhow!("{shown}: cannot be written: {plain}")
    })
}

/// Has a write beyond `ulimit -f` fail instead of ending the process. (Programs that are started from here are ended as usual:
/// unlike what is ignored, a handler does not outlive `exec`.)
#[cfg(unix)]
pub(crate) fn survive_file_size_limit() {
    extern "C" fn ignore(_signal: libc::c_int) {}
    let handler: extern "C" fn(libc::c_int) = ignore;
    // SAFETY: the handler does nothing.
    unsafe { libc::signal(libc::SIGXFSZ, handler as libc::sighandler_t) };
}

#[cfg(not(unix))]
pub(crate) fn survive_file_size_limit() {}

/// A reader that has seen enough (`| head`) is no error.
pub(crate) fn ended_early(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// What `open` would give a new file: read and write, less the process's mask.
#[cfg(unix)]
fn usual_permissions() -> Option<std::fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(std::fs::Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn usual_permissions() -> Option<std::fs::Permissions> {
    None
}
